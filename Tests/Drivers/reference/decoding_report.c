/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is kept of a decoded picture for whoever compares. */
#include "decoding.h"

#include "../common/md5.h"

#include <stdio.h>
#include <unistd.h>

/* Calls `use` with each row of the surface. */
static void for_rows(const struct surface *surface, void (*use)(void *token, const void *bytes, size_t size),
                     void *token)
{
    const struct surface_memory *memory = &surface->memory;
    for (unsigned plane = 0; plane < memory->format->plane_count; plane++) {
        const struct pixel_plane *samples = &memory->format->planes[plane];
        for (uint32_t row = 0; row < pixel_rows(samples, surface->height); row++)
            use(token, memory_plane(memory, plane) + (size_t)row * memory->plane_pitch[plane],
                pixel_bytes(samples, surface->width));
    }
}

static void add_to_md5(void *token, const void *bytes, size_t size)
{
    md5_add(token, bytes, size);
}

static void write_to_file(void *token, const void *bytes, size_t size)
{
    fwrite(bytes, 1, size, token);
}

static void dump(const struct driver *driver, const struct decode_job *job)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%08x-%06u-decoded-%ux%u.%s", driver->dump_folder, job->picture.place.context,
             job->picture.place.picture, job->target->width, job->target->height, job->target->memory.format->name);
    FILE *file = fopen(path, "wbe");
    if (!file) {
        fprintf(stderr, "reference driver: %s: %m\n", path);
        return;
    }
    for_rows(job->target, write_to_file, file);
    fclose(file);
}

static void list_references(const struct decode_job *job, char *text, size_t size)
{
    size_t used = 0;
    text[0] = 0;
    for (unsigned i = 0; i < REBUILD_MAXIMUM_REFERENCES; i++) {
        const struct rebuild_surface *reference = &job->picture.references[i];
        if (reference->surface.id != VA_INVALID_SURFACE)
            used += (size_t)snprintf(text + used, size - used, "%s%u", used ? "," : "", reference->surface.id);
    }
}

void decoding_report(const struct driver *driver, const struct decode_job *job, const struct decode_result *result)
{
    static const char *const fields[] = {"frame", "top", "bottom"};
    const struct rebuild_picture *picture = &job->picture;
    char references[16 * REBUILD_MAXIMUM_REFERENCES], hash[64] = "";
    if (result->tried && driver->dump_folder)
        dump(driver, job);
    if (!journal_is_kept())
        return;
    if (result->tried) {
        struct md5 md5;
        char text[MD5_TEXT_SIZE];
        md5_begin(&md5);
        for_rows(job->target, add_to_md5, &md5);
        md5_end(&md5, text);
        snprintf(hash, sizeof(hash), ",\"md5\":\"%s\"", text);
    }
    list_references(job, references, sizeof(references));
    journal_event("decoded",
                  "\"process\":%d,\"context\":%u,\"picture\":%u,\"number\":%llu,\"codec\":\"%s\",\"surface\":%u,"
                  "\"fields\":\"%s\",\"poc\":%d,\"references\":[%s],\"units\":%u,\"failed\":%s,\"width\":%u,"
                  "\"height\":%u,\"submitted_us\":%llu,\"started_us\":%llu,\"ended_us\":%llu%s",
                  (int)getpid(), picture->place.context, picture->place.picture, (unsigned long long)picture->number,
                  codec_of(picture->profile) == CODEC_HEVC ? "HEVC" : "H.264", job->target->object.id,
                  fields[picture->fields], picture->order_count, references, result->units,
                  result->failed ? "true" : "false", job->target->width, job->target->height,
                  (unsigned long long)job->submitted, (unsigned long long)result->started,
                  (unsigned long long)result->ended, hash);
}
