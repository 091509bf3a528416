/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exercise.h"

#include <stdlib.h>

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

struct exercise_rate exercise_measure_rate(bool flat, int qp)
{
    struct random random = {.state = 5};
    struct hevc_sps *sps = calloc(1, sizeof *sps);
    struct hevc_pps pps = {.cu_qp_delta_enabled_flag = 1, .pps_deblocking_filter_disabled_flag = 1,
                           .deblocking_filter_control_present_flag = 1};
    struct hevc_frame source, reconstruction;
    struct bits out = {0};
    struct hevc_slice_header *header = calloc(1, sizeof *header);
    struct hevc_coder *coder = hevc_coder_create();
    if (!sps || !header || !coder)
        abort();
    sps->chroma_format_idc = 1;
    sps->log2_diff_max_min_luma_coding_block_size = 2;
    sps->log2_diff_max_min_luma_transform_block_size = 3;
    sps->max_transform_hierarchy_depth_intra = 1;
    sps->pic_width_in_luma_samples = 128;
    sps->pic_height_in_luma_samples = 96;
    uint8_t *samples[2] = {exercise_allocate_frame(sps, &source, 0, 0),
                           exercise_allocate_frame(sps, &reconstruction, 0, 0)};
    draw(&random, sps, &source, flat);
    header->nal.nal_unit_type = HEVC_NAL_IDR_N_LP;
    header->first_slice_segment_in_pic_flag = 1;
    header->slice_type = HEVC_SLICE_I;
    header->slice_deblocking_filter_disabled_flag = 1;
    struct hevc_slice_request request = {.header = header, .ctb_count = 12, .qp = qp};
    hevc_write_slice_header(&request.nal, header, sps, &pps);
    if (!hevc_coder_begin(coder, sps, &pps, &source, &reconstruction, HEVC_EFFORT_TRUTHFUL) ||
        !hevc_coder_slice(coder, &request, &out) || !hevc_coder_end(coder))
        abort();
    struct exercise_rate rate = {.bytes = out.count / 8,
                                 .squared_error = squared_error(sps, &source, &reconstruction)};
    bits_release(&request.nal);
    bits_release(&out);
    hevc_frame_release(&reconstruction);
    hevc_coder_destroy(coder);
    free(header);
    free(sps);
    free(samples[0]);
    free(samples[1]);
    return rate;
}
