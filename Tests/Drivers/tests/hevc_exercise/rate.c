/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exercise.h"

#include <stdlib.h>
#include <string.h>

static void draw(struct random *random, const struct hevc_sps *sps, struct hevc_frame *frame, bool flat)
{
    for (unsigned component = 0; component < 3; component++) {
        uint32_t scale = component == 0 ? 1 : 2, block = 16 / scale;
        unsigned values[48];
        for (unsigned i = 0; i < 48; i++)
            values[i] = random_below(random, 256);
        for (uint32_t y = 0; y < 96 / scale; y++)
            for (uint32_t x = 0; x < 128 / scale; x++)
                exercise_put(sps, frame, component, x, y,
                             flat ? values[y / block * 8 + x / block]
                                  : component == 0 ? x + y + random_below(random, 32)
                                                   : 100 + y / 2 + random_below(random, 12));
    }
}

static uint64_t squared_error(const struct hevc_sps *sps, const struct hevc_frame *a, const struct hevc_frame *b)
{
    uint64_t sum = 0;
    for (unsigned component = 0; component < 3; component++)
        for (uint32_t y = 0; y < (component == 0 ? 96 : 48); y++)
            for (uint32_t x = 0; x < (component == 0 ? 128 : 64); x++) {
                int difference = exercise_get(sps, a, component, x, y) - exercise_get(sps, b, component, x, y);
                sum += (uint64_t)(difference * difference);
            }
    return sum;
}

/* A source of 128x96 in 32x32 blocks, an I picture made of it, and room for a P picture that refers to that. */
struct studio {
    struct hevc_sps sps;
    struct hevc_pps pps;
    struct hevc_slice_header header;
    struct hevc_coder *coder;
    struct hevc_frame source, frames[2];
    uint8_t *samples[3];
    struct bits out;
};

static struct studio *open_studio(bool flat)
{
    struct random random = {.state = 5};
    struct studio *studio = calloc(1, sizeof *studio);
    if (!studio || !(studio->coder = hevc_coder_create()))
        abort();
    studio->pps = (struct hevc_pps){.cu_qp_delta_enabled_flag = 1, .pps_deblocking_filter_disabled_flag = 1,
                                    .deblocking_filter_control_present_flag = 1};
    struct hevc_sps *sps = &studio->sps;
    sps->chroma_format_idc = 1;
    sps->log2_diff_max_min_luma_coding_block_size = 2;
    sps->log2_diff_max_min_luma_transform_block_size = 3;
    sps->max_transform_hierarchy_depth_intra = 1;
    sps->pic_width_in_luma_samples = 128;
    sps->pic_height_in_luma_samples = 96;
    studio->samples[0] = exercise_allocate_frame(sps, &studio->source, 0, 0);
    studio->samples[1] = exercise_allocate_frame(sps, &studio->frames[0], 0, 0);
    studio->samples[2] = exercise_allocate_frame(sps, &studio->frames[1], 0, 0);
    studio->frames[1].picture_order_count = 1;
    draw(&random, sps, &studio->source, flat);
    return studio;
}

static void close_studio(struct studio *studio)
{
    hevc_coder_destroy(studio->coder);
    for (unsigned index = 0; index < 2; index++)
        hevc_frame_release(&studio->frames[index]);
    for (unsigned index = 0; index < 3; index++)
        free(studio->samples[index]);
    bits_release(&studio->out);
    free(studio);
}

/* Codes the source as the I picture or as the P picture; the stream is what comes out. */
static struct hevc_figures code(struct studio *studio, enum hevc_slice_type type, struct hevc_slice_request request)
{
    unsigned index = type == HEVC_SLICE_P;
    studio->header = (struct hevc_slice_header){
        .nal.nal_unit_type = type == HEVC_SLICE_P ? HEVC_NAL_TRAIL_R : HEVC_NAL_IDR_N_LP,
        .first_slice_segment_in_pic_flag = 1,
        .slice_type = type,
        .slice_pic_order_cnt_lsb = index,
        .short_term_ref_pic_set = {.num_negative_pics = 1, .used_by_curr_pic_s0_flag = {1}},
        .slice_deblocking_filter_disabled_flag = 1,
    };
    request.header = &studio->header;
    request.ctb_count = 12;
    request.references[0][0] = &studio->frames[0];
    studio->out.count = 0;
    hevc_write_slice_header(&request.nal, &studio->header, &studio->sps, &studio->pps);
    if (!hevc_coder_begin(studio->coder, &studio->sps, &studio->pps, &studio->source, &studio->frames[index],
                          HEVC_EFFORT_TRUTHFUL) ||
        !hevc_coder_slice(studio->coder, &request, &studio->out) || !hevc_coder_end(studio->coder))
        abort();
    bits_release(&request.nal);
    return hevc_coder_figures(studio->coder);
}

struct exercise_rate exercise_measure_rate(bool flat, int qp)
{
    struct studio *studio = open_studio(flat);
    code(studio, HEVC_SLICE_I, (struct hevc_slice_request){.qp = qp});
    struct exercise_rate rate = {.bytes = studio->out.count / 8,
                                 .squared_error = squared_error(&studio->sps, &studio->source, &studio->frames[0])};
    close_studio(studio);
    return rate;
}

/* Whether two requests give the same I picture, bit for bit. */
static bool same_stream(struct studio *studio, struct hevc_slice_request one, struct hevc_slice_request other)
{
    struct bits kept = {0};
    code(studio, HEVC_SLICE_I, one);
    bits_append(&kept, studio->out.bytes, 0, studio->out.count);
    code(studio, HEVC_SLICE_I, other);
    bool same = kept.count == studio->out.count && memcmp(kept.bytes, studio->out.bytes, kept.count / 8) == 0;
    bits_release(&kept);
    return same;
}

struct exercise_wishes exercise_measure_wishes(void)
{
    struct studio *studio = open_studio(false);
    struct exercise_wishes result = {.same = 0};
    struct wish everywhere[48], half[12] = {{0}}, one[12] = {{0}}, last[48] = {{0}};
    for (unsigned i = 0; i < 48; i++)
        everywhere[i] = (struct wish){.qp_offset = 7};
    for (unsigned i = 0; i < 12; i++)
        half[i].qp_offset = i % 4 < 2 ? -9 : 0;
    last[47].qp_offset = 5;
    one[6].intra = true;
    for (int qp = 10; qp < 40; qp++)
        result.same += same_stream(studio, (struct hevc_slice_request){.qp = qp},
                                   (struct hevc_slice_request){.qp = qp - 7, .wishes = everywhere,
                                                               .wish_log2_size = 4});
    result.clipped = same_stream(studio, (struct hevc_slice_request){.qp = 24},
                                 (struct hevc_slice_request){.qp = 20, .wishes = everywhere, .wish_log2_size = 4,
                                                             .least_qp = 10, .most_qp = 24});
    struct hevc_figures figures = code(studio, HEVC_SLICE_I, (struct hevc_slice_request){.qp = 30, .wishes = half,
                                                                                        .wish_log2_size = 5});
    result.least_qp = figures.least_qp;
    result.most_qp = figures.most_qp;
    figures = code(studio, HEVC_SLICE_I, (struct hevc_slice_request){.qp = 20, .wishes = last, .wish_log2_size = 4});
    result.last_qp = figures.most_qp;
    code(studio, HEVC_SLICE_I, (struct hevc_slice_request){.qp = 20});
    figures = code(studio, HEVC_SLICE_P, (struct hevc_slice_request){.qp = 30});
    result.skipped_samples = figures.skipped_samples;
    figures = code(studio, HEVC_SLICE_P, (struct hevc_slice_request){.qp = 30, .wishes = one, .wish_log2_size = 5});
    result.intra_ctbs = figures.intra_ctbs;
    result.intra_samples = figures.intra_samples;
    close_studio(studio);
    return result;
}
