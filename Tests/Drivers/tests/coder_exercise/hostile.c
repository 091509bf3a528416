/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exercise.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOSTILE_FRAMES 4

/* What every request starts from: pictures of 4 by 3 macroblocks that are coded already. */
struct victim {
    struct random random;
    struct h264_coder *coder;
    struct h264_sps sps;
    struct h264_pps pps;
    struct h264_slice_header header;
    struct h264_slice_request request;
    struct h264_frame frames[HOSTILE_FRAMES]; /* the last is the picture to be coded */
    struct h264_frame source, uncoded;
    uint8_t *samples[HOSTILE_FRAMES + 2];
    struct bits out;
};

static void damage_reference(struct victim *victim)
{
    const struct h264_frame *choices[] = {NULL, &victim->uncoded, &victim->frames[HOSTILE_FRAMES - 1]};
    unsigned list = random_below(&victim->random, 2), index = random_below(&victim->random, 4);
    victim->request.references[list][index] = choices[random_below(&victim->random, 3)];
}

static void damage(struct victim *victim)
{
    struct random *random = &victim->random;
    uint32_t width = victim->sps.pic_width_in_mbs_minus1, height = victim->sps.pic_height_in_map_units_minus1;
    switch (random_below(random, 8)) {
    case 0:
        random_damage(random, &victim->sps, sizeof victim->sps);
        /* A size that fits the coder but not the frames would be the caller's fault. */
        if (victim->sps.pic_width_in_mbs_minus1 < 1024)
            victim->sps.pic_width_in_mbs_minus1 = width;
        if (victim->sps.pic_height_in_map_units_minus1 < 1024)
            victim->sps.pic_height_in_map_units_minus1 = height;
        break;
    case 1:
    case 2:
        random_damage(random, &victim->pps, sizeof victim->pps);
        break;
    case 3:
        victim->request.macroblock_count = random_edge(random);
        break;
    case 4:
        *(random_chance(random, 50)   ? &victim->request.qp
          : random_chance(random, 50) ? &victim->request.least_qp
                                      : &victim->request.most_qp) = (int)random_edge(random);
        break;
    case 5:
        damage_reference(victim);
        victim->frames[random_below(random, HOSTILE_FRAMES)].picture_order_count = (int32_t)random_edge(random);
        break;
    default:
        random_damage(random, &victim->header, sizeof victim->header);
        break;
    }
}

/* A false result must come with a reason. */
static bool explained(const struct victim *victim, bool result)
{
    if (!result && h264_coder_failure(victim->coder)[0] == 0) {
        fprintf(stderr, "a failure without a reason\n");
        exit(1);
    }
    return result;
}

static bool code_picture(struct victim *victim, struct h264_frame *picture)
{
    victim->out.count = 0;
    victim->header.nal_ref_idc = 1;
    enum h264_effort effort = random_chance(&victim->random, 50) ? H264_EFFORT_SKIP : H264_EFFORT_TRUTHFUL;
    return explained(victim, h264_coder_begin(victim->coder, &victim->sps, &victim->pps, &victim->source, picture,
                                              effort)) &&
           explained(victim, h264_coder_slice(victim->coder, &victim->request, &victim->out)) &&
           explained(victim, h264_coder_end(victim->coder));
}

/* Sane parameter sets, header and request: an I slice, or P or B slices with the frames given as references. */
static void make_sane(struct victim *victim, enum h264_slice_type type)
{
    struct random *random = &victim->random;
    memset(&victim->sps, 0, sizeof victim->sps);
    memset(&victim->pps, 0, sizeof victim->pps);
    memset(&victim->header, 0, sizeof victim->header);
    victim->sps.profile_idc = 100;
    victim->sps.chroma_format_idc = 1;
    victim->sps.frame_mbs_only_flag = 1;
    victim->sps.pic_width_in_mbs_minus1 = 3;
    victim->sps.pic_height_in_map_units_minus1 = 2;
    victim->pps.entropy_coding_mode_flag = random_below(random, 2);
    victim->pps.weighted_pred_flag = random_below(random, 2);
    victim->pps.weighted_bipred_idc = random_below(random, 3);
    victim->pps.extension_present = random_below(random, 2);
    victim->header.nal_unit_type = H264_NAL_SLICE;
    victim->header.slice_type = type;
    victim->header.direct_spatial_mv_pred_flag = random_below(random, 2);
    struct bits nal = victim->request.nal;
    victim->request = (struct h264_slice_request){.header = &victim->header, .nal = nal, .macroblock_count = 12,
                                                  .qp = random_between(random, 0, 51)};
    for (unsigned list = 0; list < 2; list++) {
        victim->header.num_ref_idx_active_minus1[list] = random_below(random, 4);
        for (unsigned index = 0; index < 4; index++)
            victim->request.references[list][index] = &victim->frames[random_below(random, HOSTILE_FRAMES - 1)];
    }
}

static void prepare(struct victim *victim, uint64_t seed)
{
    memset(victim, 0, sizeof *victim);
    victim->random.state = seed;
    victim->coder = h264_coder_create();
    if (!victim->coder)
        abort();
    bits_put(&victim->request.nal, 0x41, 8);
    bits_put(&victim->request.nal, 0x1234, 21);
    make_sane(victim, H264_SLICE_I);
    victim->samples[0] = exercise_allocate_frame(&victim->sps, &victim->source, 50, 16);
    victim->samples[1] = exercise_allocate_frame(&victim->sps, &victim->uncoded, 60, 0);
    for (unsigned index = 0; index < HOSTILE_FRAMES; index++) {
        struct h264_frame *frame = &victim->frames[index];
        victim->samples[2 + index] = exercise_allocate_frame(&victim->sps, frame, 70, 8);
        frame->picture_order_count = 2 * (int32_t)index;
        if (!code_picture(victim, frame))
            exit(1);
    }
}

static void finish(struct victim *victim)
{
    for (unsigned index = 0; index < HOSTILE_FRAMES; index++)
        h264_frame_release(&victim->frames[index]);
    for (unsigned index = 0; index < HOSTILE_FRAMES + 2; index++)
        free(victim->samples[index]);
    bits_release(&victim->request.nal);
    bits_release(&victim->out);
    h264_coder_destroy(victim->coder);
}

unsigned exercise_hostile(uint64_t seed, unsigned count)
{
    struct victim *victim = malloc(sizeof *victim);
    if (!victim)
        abort();
    prepare(victim, seed);
    unsigned taken = 0;
    for (unsigned index = 0; index < count; index++) {
        make_sane(victim, (enum h264_slice_type)random_below(&victim->random, 3));
        for (unsigned damages = random_below(&victim->random, 3); damages > 0; damages--)
            damage(victim);
        taken += code_picture(victim, &victim->frames[HOSTILE_FRAMES - 1]);
    }
    finish(victim);
    free(victim);
    return taken;
}
