/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "codecs.h"

#include <stdlib.h>

#define WISH_LOG2_SIZE 4 /* of job->wishes */

/* The coder, and the current picture's source as it takes it. */
struct coder {
    struct hevc_coder *coder;
    struct hevc_frame source;
};

static void destroy(void *token)
{
    struct coder *coder = token;
    if (coder->coder)
        hevc_coder_destroy(coder->coder);
    free(coder);
}

static void *create(void)
{
    struct coder *coder = calloc(1, sizeof(*coder));
    if (coder)
        coder->coder = hevc_coder_create();
    if (!coder || coder->coder)
        return coder;
    destroy(coder);
    return NULL;
}

static int header_qp(const struct job *job, const struct job_slice *slice)
{
    return 26 + job->pps.hevc.init_qp_minus26 + slice->header.hevc.slice_qp_delta;
}

static bool begin(void *token, const struct job *job, const struct coding_source *source, enum effort effort)
{
    struct coder *coder = token;
    coder->source = (struct hevc_frame){.motion = NULL};
    pixel_lay_out(source->format, source->planes, source->pitches, coder->source.samples);
    struct hevc_frame *reconstruction = &job->reconstruction->hevc_frame;
    reconstruction->picture_order_count = job->order_count;
    reconstruction->long_term = false;
    return hevc_coder_begin(coder->coder, &job->sps.hevc, &job->pps.hevc, &coder->source, reconstruction,
                            effort == EFFORT_SKIP ? HEVC_EFFORT_SKIP : HEVC_EFFORT_TRUTHFUL);
}

/* The frames that a slice predicts from, as they are when its picture's turn has come. */
struct slice_references {
    struct hevc_frame frames[2][HEVC_MAXIMUM_REFERENCES];
};

static void open_references(const struct job_slice *slice, struct slice_references *references,
                            struct hevc_slice_request *request)
{
    for (unsigned list = 0; list < 2; list++) {
        for (unsigned i = 0; i < HEVC_MAXIMUM_REFERENCES && slice->references[list][i].surface; i++) {
            struct hevc_frame *frame = &references->frames[list][i];
            *frame = slice->references[list][i].surface->hevc_frame;
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
    bool bounded = job->rate.maximum_qp >= job->rate.minimum_qp && job->rate.maximum_qp;
    struct hevc_slice_request request = {
        .header = &slice->header.hevc,
        .nal = slice->nal,
        .ctb_count = slice->block_count,
        .qp = qp >= 0 ? qp : header_qp(job, slice),
        .wishes = job->wishes,
        .wish_log2_size = WISH_LOG2_SIZE,
        .least_qp = (int)job->rate.minimum_qp,
        .most_qp = bounded ? (int)job->rate.maximum_qp : job->rate.minimum_qp ? 51 : 0,
    };
    open_references(slice, &references, &request);
    return hevc_coder_slice(coder->coder, &request, stream);
}

static bool end(void *token)
{
    return hevc_coder_end(((struct coder *)token)->coder);
}

static struct coding_figures figures(const void *token)
{
    struct hevc_figures of_coder = hevc_coder_figures(((const struct coder *)token)->coder);
    return (struct coding_figures){of_coder.intra_samples / 256, of_coder.least_qp, of_coder.most_qp};
}

static const char *failure(const void *token)
{
    return hevc_coder_failure(((const struct coder *)token)->coder);
}

static uint8_t filler[] = {0, 0, 0, 1, HEVC_NAL_FILLER << 1, 1};

const struct codec_coding hevc_coding = {
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
