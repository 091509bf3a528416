/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is kept of a coded picture for whoever compares: a line of the journal, and frames where asked. */
#include "jobs.h"

#include "../common/md5.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* NV12 and P010 are kept as they lie in memory, the others in planes: no pixel format of ffmpeg has all of them. */
static bool is_kept_planar(const struct pixel_format *format)
{
    return format->chroma && pixel_kind(format) != PIXEL_NV12 && pixel_kind(format) != PIXEL_P010;
}

/* Calls `use` with each row of Y, then Cb, then Cr of the part that the stream shows: samples of 8 bits, or 16-bit
 * little-endian words of more in their lower bits. */
static void for_shown_components(const struct job *job, const struct surface *surface,
                                 void (*use)(void *token, const void *bytes, size_t size), void *token)
{
    const struct pixel_format *format = surface->memory.format;
    const unsigned bytes = format->depth > 8 ? 2 : 1;
    for (unsigned component = 0; component < 3; component++) {
        const struct hevc_samples *samples = &surface->hevc_frame.samples[component];
        const unsigned right = component > 0 && format->chroma < 3, down = component > 0 && format->chroma < 2;
        const uint32_t width = job->width >> right, height = job->height >> down;
        for (uint32_t row = 0; row < height; row++)
            for (uint32_t column = 0; column < width; column++) {
                const uint32_t x = (job->left >> right) + column, y = (job->top >> down) + row;
                const bool present = x < surface->memory.columns >> right && y < surface->memory.rows >> down;
                const unsigned value =
                    present ? hevc_sample_get(samples, format->depth, hevc_sample_at(samples, x, y)) : 0;
                const uint8_t little[2] = {(uint8_t)value, (uint8_t)(value >> 8)};
                use(token, little, bytes);
            }
    }
}

/* Calls `use` with each row of the part of the surface that the stream shows: luma, then interleaved chroma. Rows and
 * columns that the surface does not have read as the poison that was coded for them. */
static void for_shown_rows(const struct job *job, const struct surface *surface,
                           void (*use)(void *token, const void *bytes, size_t size), void *token)
{
    const struct surface_memory *memory = &surface->memory;
    if (is_kept_planar(memory->format)) {
        for_shown_components(job, surface, use, token);
        return;
    }
    for (unsigned plane = 0; plane < memory->format->plane_count; plane++) {
        const struct pixel_plane *samples = &memory->format->planes[plane];
        size_t first = pixel_rows(samples, job->top), rows = pixel_rows(samples, job->height);
        size_t available = pixel_rows(samples, memory->rows);
        size_t left_bytes = pixel_bytes(samples, job->left), bytes = pixel_bytes(samples, job->width);
        size_t readable = pixel_bytes(samples, memory->columns);
        readable = readable > left_bytes ? readable - left_bytes : 0;
        if (readable > bytes)
            readable = bytes;
        for (size_t row = first; row < first + rows; row++) {
            uint8_t poison[64];
            size_t present = row < available ? readable : 0;
            if (present)
                use(token, memory_plane(memory, plane) + row * memory->plane_pitch[plane] + left_bytes, present);
            pixel_poison(samples, poison, sizeof(poison));
            for (size_t left = bytes - present; left;) {
                size_t part = left < sizeof(poison) ? left : sizeof(poison);
                use(token, poison, part);
                left -= part;
            }
        }
    }
}

static void add_to_md5(void *token, const void *bytes, size_t size)
{
    md5_add(token, bytes, size);
}

static void surface_md5(const struct job *job, const struct surface *surface, char text[MD5_TEXT_SIZE])
{
    struct md5 md5;
    md5_begin(&md5);
    for_shown_rows(job, surface, add_to_md5, &md5);
    md5_end(&md5, text);
}

static void write_to_file(void *token, const void *bytes, size_t size)
{
    fwrite(bytes, 1, size, token);
}

static void dump(const struct driver *driver, const struct job *job, const struct surface *surface, const char *what)
{
    char path[4096];
    static const char *const chroma[] = {"", "yuv420p", "yuv422p", "yuv444p"};
    static const char *const depths[] = {[8] = "", [10] = "10le", [12] = "12le"};
    const struct pixel_format *format = surface->memory.format;
    const bool planar = is_kept_planar(format);
    snprintf(path, sizeof(path), "%s/%08x-%06u-%s-%ux%u.%s%s", driver->dump_folder, job->place.context,
             job->place.picture, what, job->width, job->height, planar ? chroma[format->chroma] : format->name,
             planar ? depths[format->depth] : "");
    FILE *file = fopen(path, "wbe");
    if (!file) {
        fprintf(stderr, "reference driver: %s: %s\n", path, strerror(errno));
        return;
    }
    for_shown_rows(job, surface, write_to_file, file);
    fclose(file);
}

static const char *type_name(const struct job *job)
{
    switch (job_type(job)) {
    case CODED_B:
        return "B";
    case CODED_P:
        return "P";
    default:
        return "I";
    }
}

/* Numbers of the pictures that this one predicts from, each once, as a list in JSON. */
static void list_references(const struct job *job, char *text, size_t size)
{
    uint32_t numbers[2 * CHECKS_MAXIMUM_REFERENCES], count = 0;
    for (uint32_t i = 0; i < job->slice_count; i++)
        for (unsigned list = 0; list < 2; list++)
            for (unsigned n = 0; n < CHECKS_MAXIMUM_REFERENCES && job->slices[i].references[list][n].surface; n++) {
                uint32_t number = job->slices[i].references[list][n].picture, k = 0;
                while (k < count && numbers[k] != number)
                    k++;
                if (k == count && count < 2 * CHECKS_MAXIMUM_REFERENCES)
                    numbers[count++] = number;
            }
    size_t used = 0;
    text[0] = 0;
    for (uint32_t k = 0; k < count && used < size; k++)
        used += (size_t)snprintf(text + used, size - used, k ? ",%u" : "%u", numbers[k]);
}

/* Of H.264; HEVC has none. */
static uint32_t frame_num(const struct job *job)
{
    return job->codec == CODEC_H264 ? job->slices[0].header.h264.frame_num : 0;
}

static uint32_t nal_unit_type(const struct job *job)
{
    const union slice_header *header = &job->slices[0].header;
    return job->codec == CODEC_H264 ? header->h264.nal_unit_type : header->hevc.nal.nal_unit_type;
}

void job_report(const struct driver *driver, const struct job *job, const struct job_result *result, uint32_t stored)
{
    char hashes[160] = "", references[12 * 2 * CHECKS_MAXIMUM_REFERENCES];
    if (!journal_is_kept() && !driver->dump_folder)
        return;
    list_references(job, references, sizeof(references));
    bool truthful = driver->effort == EFFORT_TRUTHFUL && !result->failed;
    if (truthful && journal_is_kept()) {
        char source[MD5_TEXT_SIZE], reconstruction[MD5_TEXT_SIZE];
        surface_md5(job, job->input, source);
        surface_md5(job, job->reconstruction, reconstruction);
        snprintf(hashes, sizeof(hashes), ",\"source_md5\":\"%s\",\"reconstruction_md5\":\"%s\"", source,
                 reconstruction);
    }
    if (truthful && driver->dump_folder) {
        dump(driver, job, job->input, "source");
        dump(driver, job, job->reconstruction, "reconstruction");
    }
    if (result->failed)
        journal_event("coding-failure", "\"context\":%u,\"picture\":%u,\"reason\":\"%s\"", job->place.context,
                      job->place.picture, result->failure ? result->failure : "");
    journal_event("picture",
                  "\"process\":%d,\"context\":%u,\"picture\":%u,\"codec\":\"%s\",\"chroma_format\":%u,\"bit_depth\":%u,"
                  "\"nal_unit_type\":%u,\"type\":\"%s\",\"idr\":%s,\"reference\":%s,\"poc\":%d,"
                  "\"references\":[%s],\"frame_num\":%u,\"slices\":%u,\"width\":%u,\"height\":%u,\"qp\":%d,"
                  "\"qp_least\":%d,\"qp_most\":%d,\"intra_macroblocks\":%u,\"passes\":%u,"
                  "\"bits_per_second\":%u,\"size\":%u,\"filler\":%u,\"status\":%u,\"coded_buffer\":%u,"
                  "\"input\":%u,\"reconstruction\":%u%s,"
                  "\"submitted_us\":%llu,\"started_us\":%llu,\"ended_us\":%llu",
                  (int)getpid(), job->place.context, job->place.picture,
                  job->codec == CODEC_HEVC ? "HEVC" : "H.264", job->chroma_format, job->bit_depth, nal_unit_type(job),
                  type_name(job),
                  job->idr ? "true" : "false", job->reference ? "true" : "false", job->order_count,
                  references, frame_num(job),
                  job->slice_count, job->width, job->height, result->qp, result->figures.least_qp,
                  result->figures.most_qp, result->figures.intra_macroblocks, result->passes,
                  job->rate.bits_per_second, stored, result->filler, job->coded->segment.status,
                  job->coded->object.id, job->input->object.id, job->reconstruction->object.id, hashes,
                  (unsigned long long)job->submitted, (unsigned long long)result->started,
                  (unsigned long long)result->ended);
}
