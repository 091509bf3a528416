/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Changes of HEVC slice parameters, packed headers and SEI; see change_runner.h. */
#include "hevc_changes.h"

#define SLICE(k) PIC(k)->slices[0]
#define HEADER(k) PIC(k)->headers[0]

static bool slice_changes(unsigned n, struct scene *s, enum base *base, const char **expected, const char **what)
{
    CHANGE(PACKED, "slice-segment-address slice-address slice-ctus-total", PIC(1)->slices[1].slice_segment_address = 9)
    CHANGE(PACKED, "slice-ctus-total slice-structure picture-not-codable",
           PIC(1)->slices[1].num_ctu_in_slice = 3; END(1))
    CHANGE(PACKED, "slice-ctus-zero slice-ctus-total picture-not-codable",
           PIC(1)->slices[1].num_ctu_in_slice = 0; END(1))
    CHANGE(PACKED, "slice-count-beyond-limit", s->config.limits.maximum_slices = 1)
    CHANGE(PACKED, "slice-type", SLICE(1).slice_type = HEVC_SLICE_I)
    CHANGE(PACKED, "slice-type slice-type-range", SLICE(1).slice_type = 3)
    CHANGE(PACKED, "slice-pps-id", SLICE(1).slice_pic_parameter_set_id = 1)
    CHANGE(PACKED, "slice-num-ref-idx-l0", SLICE(1).num_ref_idx_l0_active_minus1 = 1)
    CHANGE(PACKED, "slice-num-ref-idx-without-override", SLICE(4).num_ref_idx_l0_active_minus1 = 0)
    CHANGE(PACKED, "slice-num-ref-idx-override slice-num-ref-idx-l0 slice-num-ref-idx-without-override",
           SLICE(1).slice_fields.bits.num_ref_idx_active_override_flag = 0)
    CHANGE(PACKED, "slice-merge-candidates", SLICE(1).max_num_merge_cand = 5)
    CHANGE(PACKED, "slice-merge-candidates slice-merge-candidates-range", SLICE(1).max_num_merge_cand = 6)
    CHANGE(PACKED, "slice-qp-delta", SLICE(1).slice_qp_delta = 3)
    CHANGE(PACKED, "slice-cb-qp-offset", SLICE(1).slice_cb_qp_offset = 0)
    CHANGE(PACKED, "slice-cr-qp-offset", SLICE(1).slice_cr_qp_offset = 0)
    CHANGE(PACKED, "slice-deblocking-beta", SLICE(1).slice_beta_offset_div2 = 0)
    CHANGE(PACKED, "slice-deblocking-tc", SLICE(1).slice_tc_offset_div2 = 0)
    CHANGE(PACKED, "slice-last-of-picture", SLICE(1).slice_fields.bits.last_slice_of_pic_flag = 1)
    CHANGE(PACKED, "slice-dependent", PIC(1)->slices[1].slice_fields.bits.dependent_slice_segment_flag = 1)
    CHANGE(PACKED, "slice-colour-plane", SLICE(1).slice_fields.bits.colour_plane_id = 1)
    CHANGE(PACKED, "slice-temporal-mvp", SLICE(1).slice_fields.bits.slice_temporal_mvp_enabled_flag = 0)
    CHANGE(PACKED, "slice-sao-luma", SLICE(1).slice_fields.bits.slice_sao_luma_flag = 1)
    CHANGE(PACKED, "slice-sao-chroma", SLICE(1).slice_fields.bits.slice_sao_chroma_flag = 1)
    CHANGE(PACKED, "slice-mvd-l1-zero", SLICE(2).slice_fields.bits.mvd_l1_zero_flag = 1)
    CHANGE(PACKED, "slice-cabac-init", SLICE(1).slice_fields.bits.cabac_init_flag = 1)
    CHANGE(PACKED, "slice-deblocking-disabled",
           SLICE(1).slice_fields.bits.slice_deblocking_filter_disabled_flag = 1)
    CHANGE(PACKED, "slice-loop-filter-across",
           SLICE(1).slice_fields.bits.slice_loop_filter_across_slices_enabled_flag = 0)
    CHANGE(PACKED, "slice-collocated-from-l0", SLICE(2).slice_fields.bits.collocated_from_l0_flag = 0)
    CHANGE(PACKED, "slice-fields-unknown-bits", SLICE(2).slice_fields.value |= 1u << 20)
    CHANGE(PACKED, "slice-weights-without-table", SLICE(1).delta_luma_weight_l0[3] = 1)
    CHANGE(PACKED, "slice-weights-without-table", SLICE(1).chroma_offset_l1[3][1] = 1)
    CHANGE(PACKED, "slice-weights-without-table", SLICE(1).luma_log2_weight_denom = 1)
    CHANGE(PACKED, "slice-weight-table-offset", SLICE(1).pred_weight_table_bit_offset = 1)
    CHANGE(PACKED, "slice-weight-table-length", SLICE(1).pred_weight_table_bit_length = 1)
    CHANGE(PACKED, "slice-reserved", SLICE(1).va_reserved[2] = 1)
    CHANGE(PACKED, "slice-references-l0-beyond-limit", s->config.limits.maximum_references[0] = 1)
    CHANGE(PACKED, "slice-b-not-advertised slice-future-not-advertised",
           s->config.limits.maximum_references[1] = 0;
           s->config.limits.prediction_directions = VA_PREDICTION_DIRECTION_PREVIOUS)
    CHANGE(LOW_DELAY, "slice-references-l1-beyond-limit", s->config.limits.maximum_references[1] = 1)
    CHANGE(PACKED, "slice-p-not-advertised picture-not-codable",
           s->config.limits.prediction_directions |= VA_PREDICTION_DIRECTION_BI_NOT_EMPTY; END(1))
    return false;
}

static bool header_changes(unsigned n, struct scene *s, enum base *base, const char **expected, const char **what)
{
    CHANGE(PACKED, "packed-slice-unreadable picture-not-codable", END(1);
           PIC(1)->headers[1].slice_segment_address = 12)
    CHANGE(PACKED, "slices-differ-nal-unit-type", PIC(1)->headers[1].nal.nal_unit_type = HEVC_NAL_TRAIL_N)
    CHANGE(PACKED, "slices-differ-temporal-id", PIC(1)->headers[1].nal.nuh_temporal_id_plus1 = 2)
    CHANGE(TEN, "slice-temporal-id", HEADER(2).nal.nuh_temporal_id_plus1 = 2)
    CHANGE(TEN, "pps-temporal-id", PIC(0)->pps.nal.nuh_temporal_id_plus1 = 2; END(0))
    CHANGE(PACKED, "slices-differ-poc-lsb", PIC(1)->headers[1].slice_pic_order_cnt_lsb = 5)
    CHANGE(PACKED, "slices-differ-short-term-set",
           PIC(4)->headers[1].short_term_ref_pic_set.used_by_curr_pic_s0_flag[1] = 0;
           PIC(4)->headers[1].num_ref_idx_active_minus1[0] = 1)
    CHANGE(PACKED, "slices-differ-no-output-of-prior", PIC(8)->headers[1].no_output_of_prior_pics_flag = 1)
    CHANGE(PACKED, "slices-differ-temporal-mvp slice-temporal-mvp picture-collocated-unused",
           PIC(1)->headers[1].slice_temporal_mvp_enabled_flag = 0)
    CHANGE(PACKED, "slices-differ-collocated picture-collocated", PIC(4)->headers[1].collocated_ref_idx = 1)
    CHANGE(TEN, "picture-collocated", HEADER(4).collocated_ref_idx = 1)
    CHANGE(TEN, "picture-nal-unit-type picture-reference-flag reference-non-reference", END(2);
           HEADER(1).nal.nal_unit_type = HEVC_NAL_TRAIL_N)
    CHANGE(TEN, "picture-nal-unit-type nal-type-trailing nal-type-leading-late reference-not-decodable", END(2);
           HEADER(2).nal.nal_unit_type = HEVC_NAL_RADL_N)
    CHANGE(TEN, "picture-nal-unit-type nal-type-trailing nal-type-leading-late nal-type-radl-after-idr "
           "reference-not-decodable", END(2); PIC(0)->picture.nal_unit_type = HEVC_NAL_IDR_N_LP;
           HEADER(0).nal.nal_unit_type = HEVC_NAL_IDR_N_LP; HEADER(2).nal.nal_unit_type = HEVC_NAL_RADL_N)
    CHANGE(TEN, "picture-nal-unit-type nal-type-trailing nal-type-leading-late nal-type-rasl-after-idr", END(2);
           HEADER(2).nal.nal_unit_type = HEVC_NAL_RASL_N)
    CHANGE(OPEN, "nal-type-irap-order picture-curr-poc poc-repeated", END(4);
           HEADER(4).slice_pic_order_cnt_lsb = 2; PIC(4)->picture.reference_frames[1].flags = 0x20;
           HEADER(4).short_term_ref_pic_set = (struct hevc_short_term_rps){.num_negative_pics = 1,
               .num_positive_pics = 1, .delta_poc_s0_minus1 = {1}, .used_by_curr_pic_s0_flag = {1},
               .used_by_curr_pic_s1_flag = {1}})
    CHANGE(OPEN, "picture-nal-unit-type nal-type-leading reference-before-irap", END(5);
           HEADER(5).nal.nal_unit_type = HEVC_NAL_TRAIL_N)
    CHANGE(OPEN, "picture-nal-unit-type reference-not-decodable", END(5);
           HEADER(5).nal.nal_unit_type = HEVC_NAL_RADL_N)
    CHANGE(TEN, "picture-curr-poc reference-set-wrong reference-frames-not-in-dpb reference-list-0-no-picture", END(1);
           HEADER(1).slice_pic_order_cnt_lsb = 4)
    CHANGE(TEN, "slice-output-flag", for (uint32_t i = 0; i < s->count; i++) {
               PIC(i)->pps.output_flag_present_flag = 1;
               HEADER(i).pic_output_flag = i != 2;
           })
    CHANGE(TEN, "packed-slice-unreadable picture-not-codable", HEADER(1).slice_qp_delta = 22; END(1))
    CHANGE(TEN, "packed-slice-unreadable picture-not-codable", HEADER(1).slice_qp_delta = -43; END(1))
    CHANGE(TEN, "slice-qp-delta", HEADER(1).slice_qp_delta = -42)
    CHANGE(TEN, "slice-cb-qp-offset slice-chroma-qp-offset-range", HEADER(1).slice_cb_qp_offset = -11)
    CHANGE(TEN, "slice-mvd-l1-zero", HEADER(2).mvd_l1_zero_flag = 1)
    CHANGE(TEN, "slice-cabac-init", HEADER(2).cabac_init_flag = 1)
    CHANGE(TEN, "slice-merge-candidates", HEADER(2).five_minus_max_num_merge_cand = 0)
    CHANGE(TEN, "slice-deblocking-disabled", HEADER(2).slice_deblocking_filter_disabled_flag = 1)
    CHANGE(TEN, "feature-deblocking-disable-not-advertised slice-deblocking-disabled",
           s->config.limits.hevc_features.bits.deblocking_filter_disable = 0;
           HEADER(2).slice_deblocking_filter_disabled_flag = 1)
    CHANGE(TEN, "feature-temporal-mvp-not-advertised", s->config.limits.hevc_features.bits.temporal_mvp = 0)
    return false;
}

/* A picture of level 1's size, with more pictures in the DPB than six. */
static void use_large_picture(struct scene *s)
{
    struct planned_picture *first = PIC(0);
    s->context_width = first->input_width = first->sps.pic_width_in_luma_samples = 256;
    s->context_height = first->input_height = first->sps.pic_height_in_luma_samples = 144;
    first->sequence.pic_width_in_luma_samples = 256;
    first->sequence.pic_height_in_luma_samples = 144;
    first->slices[0].num_ctu_in_slice = 16 * 9;
    s->coded_buffer_size = 16 * 9 * 400;
    first->vps.ordering[0].max_dec_pic_buffering_minus1 = first->sps.ordering[0].max_dec_pic_buffering_minus1 = 15;
    first->sps.profile_tier_level.general.level_idc = 30;
}

static bool set_changes(unsigned n, struct scene *s, enum base *base, const char **expected, const char **what)
{
    CHANGE(TEN, "sps-profile-idc sequence-profile-idc vps-profile-tier-level sps-profile-compatibility-main",
           PIC(0)->sps.profile_tier_level.general.profile_idc = 1;
           PIC(0)->sps.profile_tier_level.general.profile_compatibility_flags = 3u << 29)
    CHANGE(TEN, "sps-profile-compatibility vps-profile-tier-level",
           PIC(0)->sps.profile_tier_level.general.profile_compatibility_flags = 0)
    CHANGE(PACKED, "sps-profile-compatibility-main-10 vps-profile-tier-level",
           PIC(0)->sps.profile_tier_level.general.profile_compatibility_flags = 1u << 30)
    CHANGE(TEN, "sps-profile-space vps-profile-tier-level", PIC(0)->sps.profile_tier_level.general.profile_space = 1)
    CHANGE(TEN, "sps-source-flags vps-profile-tier-level",
           PIC(0)->sps.profile_tier_level.general.progressive_source_flag = 0)
    CHANGE(TEN, "sps-frame-only vps-profile-tier-level",
           PIC(0)->sps.profile_tier_level.general.frame_only_constraint_flag = 0)
    CHANGE(TEN, "sps-reserved-constraints vps-profile-tier-level",
           PIC(0)->sps.profile_tier_level.general.constraint_bits[1] = 1)
    CHANGE(TWELVE, "sps-profile-constraints vps-profile-tier-level",
           PIC(0)->sps.profile_tier_level.general.constraint_bits[0] &= ~4u)
    CHANGE(TEN, "sequence-level-idc level-unknown vps-profile-tier-level",
           PIC(0)->sps.profile_tier_level.general.level_idc = 91)
    CHANGE(PACKED, "sequence-level-idc vps-profile-tier-level level-bit-rate level-cpb-size level-hrd-bit-rate "
           "level-hrd-cpb-size", PIC(0)->sps.profile_tier_level.general.level_idc = 30)
    CHANGE(TEN, "level-max-dec-pic-buffering level-luma-rate sequence-level-idc vps-profile-tier-level", END(0);
           use_large_picture(s))
    CHANGE(TEN, "sequence-level-idc vps-profile-tier-level level-tree-block",
           PIC(0)->sps.profile_tier_level.general.level_idc = 150)
    CHANGE(TEN, "vps-max-dec-pic-buffering", PIC(0)->vps.ordering[0].max_dec_pic_buffering_minus1 = 3)
    CHANGE(TEN, "vps-max-num-reorder", PIC(0)->vps.ordering[0].max_num_reorder_pics = 0)
    CHANGE(TEN, "vps-max-latency", PIC(0)->vps.ordering[0].max_latency_increase_plus1 = 3)
    CHANGE(TEN, "vps-num-units-in-tick", PIC(0)->vps.vps_num_units_in_tick = 2)
    CHANGE(TEN, "vps-time-scale", PIC(0)->vps.vps_time_scale = 30)
    CHANGE(TEN, "vps-max-layer-id", PIC(0)->vps.vps_max_layer_id = 1)
    CHANGE(TEN, "vps-poc-proportional", PIC(0)->vps.vps_poc_proportional_to_timing_flag = 1)
    CHANGE(TEN, "vps-ticks-poc-diff", PIC(0)->vps.vps_poc_proportional_to_timing_flag = 1;
           PIC(0)->sps.vui.vui_poc_proportional_to_timing_flag = 1; PIC(0)->vps.vps_num_ticks_poc_diff_one_minus1 = 1)
    CHANGE(TEN, "vui-fields-not-advertised sequence-field-seq", PIC(0)->sps.vui.field_seq_flag = 1; END(0))
    CHANGE(TEN, "vps-base-layer", PIC(0)->vps.vps_base_layer_available_flag = 0)
    CHANGE(TEN, "vps-id-not-sent vps-max-dec-pic-buffering vps-max-num-reorder", END(0);
           PIC(0)->vps.vps_video_parameter_set_id = 1)
    CHANGE(TEN, "packed-vps-missing vps-max-dec-pic-buffering vps-max-num-reorder", PIC(0)->send_vps = false; END(0))
    CHANGE(TEN, "packed-sequence-missing vps-max-dec-pic-buffering vps-max-num-reorder", END(0);
           PIC(0)->send_sps = false)
    CHANGE(TEN, "packed-picture-missing", PIC(0)->send_pps = false; END(0))
    CHANGE(TEN, "poc-reorder-depth vps-max-num-reorder", PIC(0)->sps.ordering[0].max_num_reorder_pics = 0)
    CHANGE(TEN, "reference-set-wrong dpb-overfull vps-max-dec-pic-buffering",
           PIC(0)->sps.ordering[0].max_dec_pic_buffering_minus1 = 1; END(2))
    CHANGE(TEN, "poc-latency vps-max-latency", PIC(0)->sps.ordering[0].max_latency_increase_plus1 = 1)
    CHANGE(TEN, "cropping-beyond-macroblock", PIC(0)->sps.conf_win_left_offset = 7)
    CHANGE(TEN, "cropping-empty", PIC(0)->sps.conf_win_right_offset = PIC(0)->sps.conf_win_bottom_offset = 0)
    CHANGE(TEN, "cropping-differs-from-context", s->context_width = 59; END(0))
    CHANGE(TEN, "sequence-bit-depth-luma sequence-bit-depth-chroma profile-bit-depth-luma profile-bit-depth-chroma "
           "input-format reconstruction-format", END(0);
           PIC(0)->sps.bit_depth_luma_minus8 = PIC(0)->sps.bit_depth_chroma_minus8 = 0)
    CHANGE(TEN, "sequence-sao", PIC(0)->sps.sample_adaptive_offset_enabled_flag = 1; END(0))
    CHANGE(TEN, "feature-amp-not-advertised", s->config.limits.hevc_features.bits.amp = 0)
    CHANGE(TEN, "feature-strong-intra-not-advertised", s->config.limits.hevc_features.bits.strong_intra_smoothing = 0)
    CHANGE(TEN, "feature-cu-qp-delta-not-advertised", s->config.limits.hevc_features.bits.cu_qp_delta = 0)
    CHANGE(TEN, "feature-sign-hiding-required", s->config.limits.hevc_features.bits.sign_data_hiding = 2)
    CHANGE(TEN, "feature-sign-hiding-not-advertised picture-sign-data-hiding",
           PIC(0)->pps.sign_data_hiding_enabled_flag = 1; END(0))
    CHANGE(TEN, "feature-constrained-intra-not-advertised picture-constrained-intra",
           PIC(0)->pps.constrained_intra_pred_flag = 1; END(0))
    CHANGE(TEN, "feature-transform-skip-not-advertised picture-transform-skip",
           PIC(0)->pps.transform_skip_enabled_flag = 1; END(0))
    CHANGE(TEN, "feature-weighted-prediction-not-advertised picture-weighted-pred",
           PIC(0)->pps.weighted_pred_flag = 1; END(0))
    CHANGE(TEN, "feature-transquant-bypass-not-advertised picture-transquant-bypass",
           PIC(0)->pps.transquant_bypass_enabled_flag = 1; END(0))
    CHANGE(TEN, "block-size-tree", s->config.limits.hevc_block_sizes.bits.log2_min_coding_tree_block_size_minus3 = 2)
    CHANGE(TEN, "block-size-coding", s->config.limits.hevc_block_sizes.bits.log2_min_luma_coding_block_size_minus3 = 1)
    CHANGE(TEN, "block-size-transform-smallest",
           s->config.limits.hevc_block_sizes.bits.log2_min_luma_transform_block_size_minus2 = 1)
    CHANGE(TEN, "block-size-transform-largest",
           s->config.limits.hevc_block_sizes.bits.log2_max_luma_transform_block_size_minus2 = 1)
    CHANGE(TEN, "block-depth-inter",
           s->config.limits.hevc_block_sizes.bits.max_max_transform_hierarchy_depth_inter = 0)
    CHANGE(TEN, "block-depth-intra",
           s->config.limits.hevc_block_sizes.bits.min_max_transform_hierarchy_depth_intra = 2)
    CHANGE(PACKED, "rate-without-cu-qp-delta picture-cu-qp-delta",
           PIC(0)->pps.cu_qp_delta_enabled_flag = 0)
    CHANGE(PACKED, "hrd-bit-rate", PIC(0)->sps.vui.hrd.sub_layers[0].nal.bit_rate_value_minus1[0] -= 100; END(0))
    CHANGE(PACKED, "hrd-cpb-size", PIC(0)->sps.vui.hrd.sub_layers[0].nal.cpb_size_value_minus1[0] -= 100)
    CHANGE(PACKED, "hrd-cbr-flag-clear", PIC(0)->sps.vui.hrd.sub_layers[0].nal.cbr_flag[0] = 0)
    CHANGE(PACKED, "sequence-time-scale vps-time-scale frame-rate-differs-from-vui",
           PIC(0)->sps.vui.vui_time_scale = 50)
    CHANGE(PACKED, "sps-changed-outside-irap sequence-sar-width", PIC(1)->send_sps = true;
           PIC(1)->sps.vui.picture.sar_width = 5)
    CHANGE(PACKED, "", PIC(1)->send_sps = PIC(1)->send_vps = true)
    return false;
}

static bool message_changes(unsigned n, struct scene *s, enum base *base, const char **expected, const char **what)
{
    CHANGE(PACKED, "access-unit-delimiter-type", PIC(1)->aud_type = 0)
    CHANGE(PACKED, "", PIC(1)->aud_type = 1)
    CHANGE(PACKED, "access-unit-delimiter-type", PIC(1)->aud_type = 3)
    CHANGE(PACKED, "sei-sps-id", PIC(0)->sei.sps_id = 1)
    CHANGE(PACKED, "sei-initial-cpb-removal-delay sei-delay-differs-from-fullness", PIC(0)->sei.initial_delay = 0)
    CHANGE(PACKED, "sei-delay-differs-from-fullness", PIC(0)->sei.initial_delay = 60000)
    CHANGE(PACKED, "sei-cpb-removal-delay", PIC(3)->sei.removal_delay = 2)
    CHANGE(PACKED, "sei-buffering-period-missing sei-cpb-removal-delay", PIC(8)->sei.buffering = false; END(8))
    CHANGE(PACKED, "sei-pic-timing-missing", PIC(2)->sei.send = false)
    CHANGE(PACKED, "sei-mastering-primaries", PIC(0)->sei.primaries[2] = 50001)
    CHANGE(PACKED, "sei-mastering-luminance", PIC(0)->sei.least_luminance = 10000000)
    CHANGE(PACKED, "sei-content-light", PIC(0)->sei.average_light = 1001)
    CHANGE(PACKED, "", PIC(0)->sei.content_light = 0)
    CHANGE(PACKED, "sei-colour-volume-place", PIC(1)->sei.colour = true)
    CHANGE(PACKED, "sei-type-reserved sei-pic-timing-missing", PIC(2)->sei.timing_type = 210)
    CHANGE(PACKED, "sei-type-in-prefix sei-pic-timing-missing", PIC(2)->sei.timing_type = 132)
    CHANGE(TEN, "sei-pic-timing-unexpected sei-pic-timing-size", PIC(2)->sei.send = true)
    CHANGE(TEN, "stream-starts-without-irap picture-not-codable picture-nal-unit-type picture-idr-flag", END(0);
           HEADER(0).nal.nal_unit_type = HEVC_NAL_TRAIL_R)
    return false;
}

int main(void)
{
    return run_changes(slice_changes) | run_changes(header_changes) | run_changes(set_changes) |
           run_changes(message_changes);
}
