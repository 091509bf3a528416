/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exercise.h"

#include "../support/allocations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One picture of 2 by 2 macroblocks in two slices, from creating the coder on. */
static bool code_picture(const struct h264_frame *source, struct h264_frame *reconstruction,
                         const struct h264_sps *sps, const struct bits *nal, struct bits *out, char *failure)
{
    struct h264_pps pps = {.entropy_coding_mode_flag = 1};
    struct h264_slice_header header = {.slice_type = H264_SLICE_I};
    struct h264_slice_request request = {.header = &header, .nal = *nal, .macroblock_count = 2, .qp = 10};
    struct h264_coder *coder = h264_coder_create();
    if (!coder)
        return false;
    bool coded = h264_coder_begin(coder, sps, &pps, source, reconstruction, H264_EFFORT_TRUTHFUL);
    for (; coded && header.first_mb_in_slice < 4; header.first_mb_in_slice += 2)
        coded = h264_coder_slice(coder, &request, out);
    coded = coded && h264_coder_end(coder);
    snprintf(failure, 100, "%s", h264_coder_failure(coder));
    h264_coder_destroy(coder);
    return coded;
}

unsigned exercise_memory(void)
{
    struct h264_sps sps = {.profile_idc = 77, .chroma_format_idc = 1, .frame_mbs_only_flag = 1,
                           .pic_width_in_mbs_minus1 = 1, .pic_height_in_map_units_minus1 = 1};
    struct h264_frame source, reconstruction;
    struct bits nal = {0};
    uint8_t *samples[2] = {exercise_allocate_frame(&sps, &source, 0, 0),
                           exercise_allocate_frame(&sps, &reconstruction, 0, 0)};
    for (size_t index = 0; index < source.luma_pitch * 32; index++)
        source.luma[index] = (uint8_t)(index * index >> 3);
    bits_put(&nal, 0x651234, 24);
    unsigned failures = 0;
    for (bool coded = false; !coded; failures += !coded) {
        struct bits out = {0};
        char failure[100] = "out of memory";
        allocations_fail(failures + 1);
        coded = code_picture(&source, &reconstruction, &sps, &nal, &out, failure);
        bool failed = allocations_failed();
        allocations_fail(0);
        if (coded == failed || strcmp(failure, coded ? "" : "out of memory") != 0) {
            fprintf(stderr, "allocation %u: \"%s\"\n", failures + 1, failure);
            exit(1);
        }
        bits_release(&out);
        h264_frame_release(&reconstruction);
    }
    bits_release(&nal);
    free(samples[0]);
    free(samples[1]);
    return failures;
}
