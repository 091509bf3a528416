/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The software decoder: libavcodec, one thread, through its public functions. */
#include "software.h"

#include <libavcodec/avcodec.h>
#include <libavutil/pixdesc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the memory of a picture is filled with before it is decoded, over and over: what nothing was decoded into keeps
 * it. No picture has blocks of such noise. */
#define NOISE 64
static const uint8_t noise[2 * NOISE] = {
#define SOME_NOISE \
    0xd7, 0x1b, 0x8e, 0xf2, 0x64, 0xa9, 0x35, 0xc0, 0x5a, 0xe3, 0x07, 0x9c, 0xb8, 0x46, 0xfd, 0x21, 0x90, 0x6f, 0xcb, \
    0x12, 0xe8, 0x3d, 0x77, 0xb4, 0x09, 0xdc, 0x52, 0xaf, 0xf6, 0x83, 0x2e, 0xc5, 0x19, 0xea, 0x70, 0x9b, 0x44, 0xd1, \
    0x8a, 0xf9, 0x36, 0xa3, 0xee, 0x5d, 0xc2, 0x7b, 0x98, 0xe1, 0x0f, 0xb6, 0x61, 0xdf, 0x2a, 0x85, 0xfc, 0x4b, 0x93, \
    0xce, 0x58, 0xbd, 0xf0, 0x17, 0xa6, 0xe9
    SOME_NOISE, SOME_NOISE};

#define BLOCK 16 /* luma samples that are looked at together for what was left out */

struct software {
    AVCodecContext *codec;
    AVPacket *packet;
    AVFrame *output;  /* pictures in their order of output, which nobody wants */
    AVFrame *current; /* the one whose memory was asked for last */
    unsigned asked;   /* how often that was, since the unit began */
};

/* Called once for each frame, when its decoding begins. */
static int provide_memory(AVCodecContext *codec, AVFrame *frame, int flags)
{
    struct software *software = codec->opaque;
    int failure = avcodec_default_get_buffer2(codec, frame, flags | AV_GET_BUFFER_FLAG_REF);
    if (failure < 0)
        return failure;
    for (unsigned i = 0; i < AV_NUM_DATA_POINTERS && frame->buf[i]; i++)
        for (size_t at = 0; at < (size_t)frame->buf[i]->size; at += NOISE)
            memcpy(frame->buf[i]->data + at, noise,
                   frame->buf[i]->size - at < NOISE ? frame->buf[i]->size - at : NOISE);
    software->asked++;
    av_frame_unref(software->current);
    return av_frame_ref(software->current, frame);
}

/* No hardware. */
static enum AVPixelFormat choose_format(AVCodecContext *codec, const enum AVPixelFormat *formats)
{
    (void)codec;
    for (; *formats != AV_PIX_FMT_NONE; formats++)
        if (!(av_pix_fmt_desc_get(*formats)->flags & AV_PIX_FMT_FLAG_HWACCEL))
            return *formats;
    return AV_PIX_FMT_NONE;
}

static bool open_codec(struct software *software, bool hevc)
{
    const AVCodec *codec = avcodec_find_decoder(hevc ? AV_CODEC_ID_HEVC : AV_CODEC_ID_H264);
    software->codec = codec ? avcodec_alloc_context3(codec) : NULL;
    if (!software->codec)
        return false;
    AVCodecContext *context = software->codec;
    context->thread_count = 1;
    context->thread_type = 0;
    context->opaque = software;
    context->get_buffer2 = provide_memory;
    context->get_format = choose_format;
    context->err_recognition = AV_EF_EXPLODE | AV_EF_BITSTREAM | AV_EF_BUFFER;
    context->error_concealment = 0;
    context->flags |= AV_CODEC_FLAG_OUTPUT_CORRUPT;
    /* Its words would go to the client's log, for libavcodec may be the client's, too. (Levels have 8 bits.) */
    context->log_level_offset = 100;
    return avcodec_open2(context, codec, NULL) == 0;
}

static void destroy(struct software *software)
{
    if (!software)
        return;
    avcodec_free_context(&software->codec);
    av_packet_free(&software->packet);
    av_frame_free(&software->output);
    av_frame_free(&software->current);
    free(software);
}

static struct software *create(bool hevc)
{
    struct software *software = calloc(1, sizeof(*software));
    if (!software)
        return NULL;
    software->packet = av_packet_alloc();
    software->output = av_frame_alloc();
    software->current = av_frame_alloc();
    if (software->packet && software->output && software->current && open_codec(software, hevc))
        return software;
    destroy(software);
    return NULL;
}

static bool restart(struct software *software)
{
    avcodec_flush_buffers(software->codec);
    av_frame_unref(software->current);
    return true;
}

static const uint8_t *describe(const struct software *software, struct software_picture *picture)
{
    const AVFrame *frame = software->current;
    *picture = (struct software_picture){.columns = 0};
    if (!frame->buf[0])
        return NULL;
    const AVPixFmtDescriptor *format = av_pix_fmt_desc_get(frame->format);
    if (!format || format->nb_components != 3 || format->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_BE))
        return NULL;
    *picture = (struct software_picture){
        .columns = (uint32_t)frame->width,
        .rows = (uint32_t)frame->height,
        .chroma = format->log2_chroma_h ? 1 : format->log2_chroma_w ? 2 : 3,
        .depth = (unsigned)format->comp[0].depth,
    };
    for (unsigned i = 0; i < 3; i++) {
        picture->planes[i] = frame->data[i];
        picture->pitches[i] = (size_t)frame->linesize[i];
    }
    return frame->data[0];
}

/* Whether all samples of the block, of which the picture may have a part, have kept what was there before. Every
 * `step`th row from `first` on is looked at. */
static bool is_untouched(const struct software *software, const struct software_picture *picture, uint32_t column,
                         uint32_t row, uint32_t first, uint32_t step)
{
    const size_t bytes = picture->depth > 8 ? 2 : 1;
    const uint32_t columns = picture->columns - column < BLOCK ? picture->columns - column : BLOCK;
    for (uint32_t y = row + first; y < row + BLOCK && y < picture->rows; y += step) {
        const uint8_t *samples = picture->planes[0] + y * picture->pitches[0] + column * bytes;
        if (memcmp(samples, noise + (samples - software->current->buf[0]->data) % NOISE, columns * bytes) != 0)
            return false;
    }
    return true;
}

static void find_missing(const struct software *software, struct software_picture *picture, enum software_fields fields)
{
    const uint32_t first = fields == SOFTWARE_BOTTOM_FIELD, step = fields == SOFTWARE_FRAME ? 1 : 2;
    uint32_t number = 0;
    for (uint32_t row = 0; row < picture->rows; row += BLOCK)
        for (uint32_t column = 0; column < picture->columns; column += BLOCK, number++) {
            if (!is_untouched(software, picture, column, row, first, step))
                continue;
            if (picture->missing == 0)
                picture->first_missing = number;
            picture->last_missing = number;
            picture->missing++;
        }
}

/* Takes what is to be output, so that there is room. */
static int drain(struct software *software)
{
    int status;
    while ((status = avcodec_receive_frame(software->codec, software->output)) == 0)
        av_frame_unref(software->output);
    return status == AVERROR(EAGAIN) ? 0 : status;
}

static bool decode(struct software *software, const uint8_t *bytes, size_t size, enum software_fields fields,
                   struct software_picture *picture, char *problem, size_t problem_size)
{
    *picture = (struct software_picture){.columns = 0};
    snprintf(problem, problem_size, "out of memory");
    if (size > INT32_MAX || av_new_packet(software->packet, (int)size) < 0)
        return false;
    memcpy(software->packet->data, bytes, size);
    software->asked = 0;
    int status = avcodec_send_packet(software->codec, software->packet);
    av_packet_unref(software->packet);
    int drained = drain(software);
    if (status == 0)
        status = drained;
    const bool described = describe(software, picture);
    if (status < 0) {
        char text[AV_ERROR_MAX_STRING_SIZE] = "";
        av_strerror(status, text, sizeof(text));
        snprintf(problem, problem_size, "libavcodec: %s", text);
        return false;
    }
    if (!described || software->asked > 1) {
        snprintf(problem, problem_size, described ? "libavcodec made up a reference" : "libavcodec gave no picture");
        return false;
    }
    find_missing(software, picture, fields);
    snprintf(problem, problem_size, "%u blocks of 16x16 samples, from %u to %u, were not decoded", picture->missing,
             picture->first_missing, picture->last_missing);
    return picture->missing == 0;
}

extern const struct software_functions reference_decoding_functions;

__attribute__((visibility("default"))) const struct software_functions reference_decoding_functions = {
    .create = create,
    .destroy = destroy,
    .restart = restart,
    .decode = decode,
};
