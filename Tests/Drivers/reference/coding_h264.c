/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "codecs.h"

#include <stdlib.h>

/* The coder, and the current picture's source as it takes it. */
struct coder {
    struct h264_coder *coder;
    struct h264_frame source;
};

static void destroy(void *token)
{
    struct coder *coder = token;
    if (coder->coder)
        h264_coder_destroy(coder->coder);
    free(coder);
}

static void *create(void)
{
    struct coder *coder = calloc(1, sizeof(*coder));
    if (coder)
        coder->coder = h264_coder_create();
    if (!coder || coder->coder)
        return coder;
    destroy(coder);
    return NULL;
}

static int header_qp(const struct job *job, const struct job_slice *slice)
{
    return 26 + job->pps.h264.pic_init_qp_minus26 + slice->header.h264.slice_qp_delta;
}

static bool begin(void *token, const struct job *job, const struct coding_source *source, enum effort effort)
{
    struct coder *coder = token;
    coder->source = (struct h264_frame){
        .luma = source->planes[0], .chroma = source->planes[1],
        .luma_pitch = source->pitches[0], .chroma_pitch = source->pitches[1],
    };
    struct h264_frame *reconstruction = &job->reconstruction->h264_frame;
    reconstruction->picture_order_count = job->order_count;
    reconstruction->long_term = job->long_term;
    return h264_coder_begin(coder->coder, &job->sps.h264, &job->pps.h264, &coder->source, reconstruction,
                            effort == EFFORT_SKIP ? H264_EFFORT_SKIP : H264_EFFORT_TRUTHFUL);
}

/* The frames that a slice predicts from, as they are when its picture's turn has come. */
struct slice_references {
    struct h264_frame frames[2][H264_MAXIMUM_REFERENCES];
};

static void open_references(const struct job_slice *slice, struct slice_references *references,
                            struct h264_slice_request *request)
{
    for (unsigned list = 0; list < 2; list++) {
        for (unsigned i = 0; i < H264_MAXIMUM_REFERENCES && slice->references[list][i].surface; i++) {
            struct h264_frame *frame = &references->frames[list][i];
            *frame = slice->references[list][i].surface->h264_frame;
            frame->picture_order_count = slice->references[list][i].order_count;
            frame->long_term = slice->references[list][i].long_term;
            request->references[list][i] = frame;
        }
    }
}

static bool code_slice(void *token, const struct job *job, const struct job_slice *slice, int qp, struct bits *stream)
{
    struct coder *coder = token;
    struct slice_references references;
    struct h264_slice_request request = {
        .header = &slice->header.h264,
        .nal = slice->nal,
        .macroblock_count = slice->block_count,
        .qp = qp >= 0 ? qp : header_qp(job, slice),
        .wishes = job->wishes,
        .least_qp = (int)job->rate.minimum_qp,
        .most_qp = job->rate.maximum_qp < job->rate.minimum_qp ? 0 : (int)job->rate.maximum_qp,
    };
    open_references(slice, &references, &request);
    return h264_coder_slice(coder->coder, &request, stream);
}

static bool end(void *token)
{
    return h264_coder_end(((struct coder *)token)->coder);
}

static struct coding_figures figures(const void *token)
{
    struct h264_figures of_coder = h264_coder_figures(((const struct coder *)token)->coder);
    return (struct coding_figures){of_coder.intra_macroblocks, of_coder.least_qp, of_coder.most_qp};
}

static const char *failure(const void *token)
{
    return h264_coder_failure(((const struct coder *)token)->coder);
}

static uint8_t filler[] = {0, 0, 0, 1, H264_NAL_FILLER};

const struct codec_coding h264_coding = {
    .filler = {.bytes = filler, .count = 8 * sizeof(filler)},
    .create = create,
    .destroy = destroy,
    .header_qp = header_qp,
    .begin = begin,
    .slice = code_slice,
    .end = end,
    .figures = figures,
    .failure = failure,
};
