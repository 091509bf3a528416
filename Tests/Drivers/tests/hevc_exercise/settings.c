/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exercise.h"

/* Table A.2: the nine flags from general_max_12bit_constraint_flag on. */
static uint32_t extension_constraints(struct exercise_format format)
{
    bool ten = format.depth <= 10, eight = format.depth == 8 && format.chroma == 3;
    return 1u << 10 | ten << 9 | eight << 8 | (format.chroma < 3) << 7 | (format.chroma < 2) << 6 | 1u << 2;
}

/* 7.3.3 of a Main or Main 10 stream without constraints worth naming, or of a range extensions profile */
static void draw_profile(struct hevc_profile_tier_level *v, struct exercise_format format)
{
    unsigned depth = format.depth;
    v->general.profile_idc = depth == 8 ? 1 : 2;
    v->general.profile_compatibility_flags = depth == 8 ? 3u << 29 : 1u << 29;
    v->general.progressive_source_flag = 1;
    v->general.frame_only_constraint_flag = 1;
    v->general.level_idc = 153;
    if (format.chroma == 1 && depth <= 10)
        return;
    v->general.profile_idc = 4;
    v->general.profile_compatibility_flags = 1u << 27;
    v->general.constraint_bits[0] = extension_constraints(format);
}

static void draw_blocks(struct exercise *exercise)
{
    struct random *random = &exercise->random;
    struct hevc_sps *sps = &exercise->sps;
    uint32_t ctb = 4 + random_below(random, 3);
    uint32_t min_cb = random_chance(random, 60) ? 3 : 3 + random_below(random, ctb - 2);
    uint32_t min_tb = 2 + random_below(random, random_chance(random, 60) ? 1 : min_cb - 2);
    uint32_t most_tb = ctb < 5 ? ctb : 5;
    sps->log2_min_luma_coding_block_size_minus3 = min_cb - 3;
    sps->log2_diff_max_min_luma_coding_block_size = ctb - min_cb;
    sps->log2_min_luma_transform_block_size_minus2 = min_tb - 2;
    sps->log2_diff_max_min_luma_transform_block_size =
        random_chance(random, 50) ? most_tb - min_tb : random_below(random, most_tb - min_tb + 1);
    sps->max_transform_hierarchy_depth_inter = random_below(random, ctb - min_tb + 1);
    sps->max_transform_hierarchy_depth_intra = random_below(random, ctb - min_tb + 1);
    if (exercise->neutral) {
        /* libde265 has no context variable for cbf_cb and cbf_cr at depth 4, which 4:4:4 reaches. */
        sps->max_transform_hierarchy_depth_inter = random_below(random, most_tb - min_tb + 1) % 3;
        sps->max_transform_hierarchy_depth_intra = random_below(random, most_tb - min_tb + 1) % 3;
    }
    uint32_t most = (160u >> min_cb) - 1;
    sps->pic_width_in_luma_samples = (1 + random_below(random, most + 1)) << min_cb;
    sps->pic_height_in_luma_samples = (1 + random_below(random, most + 1)) << min_cb;
    sps->conformance_window_flag = random_chance(random, 50);
    if (sps->conformance_window_flag) {
        sps->conf_win_right_offset = random_below(random, 4);
        sps->conf_win_bottom_offset = random_below(random, 4);
    }
}

/* A set of pictures just before, and sometimes some after; sets after the first may be predicted. */
static void draw_sps_sets(struct exercise *exercise)
{
    struct random *random = &exercise->random;
    struct hevc_sps *sps = &exercise->sps;
    sps->num_short_term_ref_pic_sets = random_chance(random, 60) ? 1 + random_below(random, 5) : 0;
    for (unsigned set = 0; set < sps->num_short_term_ref_pic_sets; set++) {
        struct hevc_short_term_rps *v = &sps->short_term_ref_pic_set[set];
        struct hevc_rps from;
        if (set > 0 && random_chance(random, 50) && hevc_sps_rps(sps, set - 1, &from)) {
            v->inter_ref_pic_set_prediction_flag = 1;
            v->delta_rps_sign = random_below(random, 2);
            int32_t delta = v->delta_rps_sign ? -1 : 1;
            for (unsigned j = 0; j <= from.negative_count + from.positive_count; j++) {
                /* libavcodec keeps the picture itself in the set when it is not left out. */
                bool itself = (j < from.negative_count && from.delta_s0[j] + delta == 0) ||
                              (j >= from.negative_count && j < from.negative_count + from.positive_count &&
                               from.delta_s1[j - from.negative_count] + delta == 0);
                v->used_by_curr_pic_flag[j] = !itself && random_below(random, 2);
                v->use_delta_flag[j] = v->used_by_curr_pic_flag[j] || (!itself && random_chance(random, 50));
            }
            continue;
        }
        v->num_negative_pics = 1 + random_below(random, 2);
        v->num_positive_pics = random_below(random, 2);
        for (unsigned i = 0; i < 2; i++) {
            v->delta_poc_s0_minus1[i] = random_below(random, 3);
            v->used_by_curr_pic_s0_flag[i] = v->used_by_curr_pic_s1_flag[i] = 1;
        }
    }
}

/* How many pictures may precede one in decoding order and follow it in output order. */
static uint32_t reordering(const struct exercise *exercise)
{
    uint32_t depth = exercise->b_pictures > 0;
    for (unsigned between = exercise->b_pictures; exercise->pyramid && between > 1; between /= 2)
        depth++;
    return depth;
}

static void draw_sps(struct exercise *exercise, struct exercise_format format)
{
    const unsigned depth = format.depth;
    struct random *random = &exercise->random;
    struct hevc_sps *sps = &exercise->sps;
    *sps = (struct hevc_sps){.sps_temporal_id_nesting_flag = 1, .chroma_format_idc = format.chroma};
    draw_profile(&sps->profile_tier_level, format);
    draw_blocks(exercise);
    sps->bit_depth_luma_minus8 = sps->bit_depth_chroma_minus8 = depth - 8;
    sps->log2_max_pic_order_cnt_lsb_minus4 = 2 + random_below(random, 3);
    sps->sps_sub_layer_ordering_info_present_flag = random_below(random, 2);
    sps->ordering[0].max_num_reorder_pics = reordering(exercise);
    sps->ordering[0].max_dec_pic_buffering_minus1 = exercise->most_references + reordering(exercise);
    sps->amp_enabled_flag = random_below(random, 2);
    sps->sample_adaptive_offset_enabled_flag = random_below(random, 2);
    sps->pcm_enabled_flag = random_chance(random, 30);
    sps->pcm_sample_bit_depth_luma_minus1 = sps->pcm_sample_bit_depth_chroma_minus1 = depth - 1;
    uint32_t ctb = hevc_ctb_log2(sps), least = hevc_min_cb_log2(sps);
    uint32_t most_pcm = ctb < 5 ? ctb : 5;
    if (least > most_pcm)
        sps->pcm_enabled_flag = 0;
    else
        sps->log2_min_pcm_luma_coding_block_size_minus3 = least - 3;
    if (sps->pcm_enabled_flag)
        sps->log2_diff_max_min_pcm_luma_coding_block_size = random_below(random, most_pcm - least + 1);
    draw_sps_sets(exercise);
    sps->long_term_ref_pics_present_flag = random_chance(random, 40);
    sps->sps_temporal_mvp_enabled_flag = random_chance(random, 70);
    sps->strong_intra_smoothing_enabled_flag = random_below(random, 2);
    sps->vui_parameters_present_flag = random_below(random, 2);
    sps->vui.vui_timing_info_present_flag = 1;
    sps->vui.vui_num_units_in_tick = 1;
    sps->vui.vui_time_scale = 25;
}

static void draw_pps(struct exercise *exercise)
{
    struct random *random = &exercise->random;
    struct hevc_sps *sps = &exercise->sps;
    struct hevc_pps *pps = &exercise->pps;
    *pps = (struct hevc_pps){.uniform_spacing_flag = 1, .loop_filter_across_tiles_enabled_flag = 1};
    pps->dependent_slice_segments_enabled_flag = random_chance(random, 40);
    pps->output_flag_present_flag = random_chance(random, 20);
    pps->num_extra_slice_header_bits = random_chance(random, 20) ? random_below(random, 3) : 0;
    pps->sign_data_hiding_enabled_flag = random_chance(random, 50);
    pps->cabac_init_present_flag = random_below(random, 2);
    pps->num_ref_idx_l0_default_active_minus1 = random_below(random, 3);
    pps->num_ref_idx_l1_default_active_minus1 = random_below(random, 3);
    pps->init_qp_minus26 = random_between(random, -10, 10);
    pps->constrained_intra_pred_flag = !exercise->plain && random_chance(random, 30);
    pps->transform_skip_enabled_flag = random_chance(random, 30);
    pps->cu_qp_delta_enabled_flag = random_chance(random, 70);
    if (pps->cu_qp_delta_enabled_flag)
        pps->diff_cu_qp_delta_depth = random_below(random, sps->log2_diff_max_min_luma_coding_block_size + 1);
    int most_offset = exercise->plain ? 6 : 8;
    pps->pps_cb_qp_offset = random_chance(random, 50) ? random_between(random, -8, most_offset) : 0;
    pps->pps_cr_qp_offset = random_chance(random, 50) ? random_between(random, -8, most_offset) : 0;
    pps->pps_slice_chroma_qp_offsets_present_flag = random_chance(random, 30) && !exercise->neutral;
    if (exercise->neutral)
        pps->pps_cb_qp_offset = pps->pps_cr_qp_offset = 0;
    pps->transquant_bypass_enabled_flag = random_chance(random, 20);
    pps->pps_loop_filter_across_slices_enabled_flag = random_below(random, 2);
    pps->deblocking_filter_control_present_flag = random_chance(random, 70);
    if (pps->deblocking_filter_control_present_flag) {
        pps->deblocking_filter_override_enabled_flag = random_below(random, 2);
        pps->pps_deblocking_filter_disabled_flag = random_chance(random, 25);
        if (!pps->pps_deblocking_filter_disabled_flag) {
            pps->pps_beta_offset_div2 = random_between(random, -6, 6);
            pps->pps_tc_offset_div2 = random_between(random, -6, 6);
        }
    }
    pps->lists_modification_present_flag = random_below(random, 2);
    if (random_chance(random, 40))
        pps->log2_parallel_merge_level_minus2 = random_below(random, hevc_ctb_log2(sps) - 1);
    pps->slice_segment_header_extension_present_flag = random_chance(random, 20);
}

void exercise_draw_parameter_sets(struct exercise *exercise, struct exercise_format format)
{
    struct hevc_vps *vps = &exercise->vps;
    draw_sps(exercise, format);
    draw_pps(exercise);
    *vps = (struct hevc_vps){
        .vps_base_layer_internal_flag = 1,
        .vps_base_layer_available_flag = 1,
        .vps_temporal_id_nesting_flag = 1,
        .profile_tier_level = exercise->sps.profile_tier_level,
        .vps_sub_layer_ordering_info_present_flag = 1,
    };
    vps->ordering[0] = exercise->sps.ordering[0];
}
