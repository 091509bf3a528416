/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parameter sets of the rebuilt HEVC stream. */
#include "rebuild_hevc.h"

#include <string.h>

static void profile(struct hevc_profile_tier_level *v, unsigned depth)
{
    v->general = (struct hevc_profile){
        .profile_idc = depth > 8 ? 2 : 1,
        .profile_compatibility_flags = depth > 8 ? 1u << 29 : 3u << 29,
        .tier_flag = 1,
        .level_idc = 186, /* 6.2, the highest */
    };
}

static struct hevc_sub_layer_ordering ordering(void)
{
    return (struct hevc_sub_layer_ordering){.max_dec_pic_buffering_minus1 = 15};
}

static void rebuild_vps(struct hevc_vps *vps, unsigned depth)
{
    vps->vps_base_layer_internal_flag = vps->vps_base_layer_available_flag = 1;
    vps->vps_temporal_id_nesting_flag = 1;
    vps->vps_sub_layer_ordering_info_present_flag = 1;
    vps->ordering[0] = ordering();
    profile(&vps->profile_tier_level, depth);
}

static void rebuild_sps(struct hevc_sps *sps, const VAPictureParameterBufferHEVC *picture)
{
    sps->sps_temporal_id_nesting_flag = 1;
    profile(&sps->profile_tier_level, picture->bit_depth_luma_minus8 + 8u);
    sps->chroma_format_idc = picture->pic_fields.bits.chroma_format_idc;
    sps->separate_colour_plane_flag = picture->pic_fields.bits.separate_colour_plane_flag;
    sps->pic_width_in_luma_samples = picture->pic_width_in_luma_samples;
    sps->pic_height_in_luma_samples = picture->pic_height_in_luma_samples;
    sps->bit_depth_luma_minus8 = picture->bit_depth_luma_minus8;
    sps->bit_depth_chroma_minus8 = picture->bit_depth_chroma_minus8;
    sps->log2_max_pic_order_cnt_lsb_minus4 = HEVC_ORDER_BITS - 4;
    sps->sps_sub_layer_ordering_info_present_flag = 1;
    sps->ordering[0] = ordering();
    sps->log2_min_luma_coding_block_size_minus3 = picture->log2_min_luma_coding_block_size_minus3;
    sps->log2_diff_max_min_luma_coding_block_size = picture->log2_diff_max_min_luma_coding_block_size;
    sps->log2_min_luma_transform_block_size_minus2 = picture->log2_min_transform_block_size_minus2;
    sps->log2_diff_max_min_luma_transform_block_size = picture->log2_diff_max_min_transform_block_size;
    sps->max_transform_hierarchy_depth_inter = picture->max_transform_hierarchy_depth_inter;
    sps->max_transform_hierarchy_depth_intra = picture->max_transform_hierarchy_depth_intra;
    sps->scaling_list_enabled_flag = picture->pic_fields.bits.scaling_list_enabled_flag;
    sps->amp_enabled_flag = picture->pic_fields.bits.amp_enabled_flag;
    sps->sample_adaptive_offset_enabled_flag = picture->slice_parsing_fields.bits.sample_adaptive_offset_enabled_flag;
    sps->pcm_enabled_flag = picture->pic_fields.bits.pcm_enabled_flag;
    if (sps->pcm_enabled_flag) {
        sps->pcm_sample_bit_depth_luma_minus1 = picture->pcm_sample_bit_depth_luma_minus1;
        sps->pcm_sample_bit_depth_chroma_minus1 = picture->pcm_sample_bit_depth_chroma_minus1;
        sps->log2_min_pcm_luma_coding_block_size_minus3 = picture->log2_min_pcm_luma_coding_block_size_minus3;
        sps->log2_diff_max_min_pcm_luma_coding_block_size = picture->log2_diff_max_min_pcm_luma_coding_block_size;
        sps->pcm_loop_filter_disabled_flag = picture->pic_fields.bits.pcm_loop_filter_disabled_flag;
    }
    sps->long_term_ref_pics_present_flag = 1;
    sps->sps_temporal_mvp_enabled_flag = picture->slice_parsing_fields.bits.sps_temporal_mvp_enabled_flag;
    sps->strong_intra_smoothing_enabled_flag = picture->pic_fields.bits.strong_intra_smoothing_enabled_flag;
}

/* Tiles are always stated by their sizes. */
static void rebuild_tiles(struct hevc_pps *pps, const VAPictureParameterBufferHEVC *picture)
{
    pps->loop_filter_across_tiles_enabled_flag = 1;
    pps->uniform_spacing_flag = 1;
    pps->tiles_enabled_flag = picture->pic_fields.bits.tiles_enabled_flag;
    if (!pps->tiles_enabled_flag)
        return;
    pps->num_tile_columns_minus1 = picture->num_tile_columns_minus1;
    pps->num_tile_rows_minus1 = picture->num_tile_rows_minus1;
    pps->uniform_spacing_flag = 0;
    for (unsigned i = 0; i < HEVC_MAXIMUM_TILE_COLUMNS - 1; i++)
        pps->column_width_minus1[i] = picture->column_width_minus1[i];
    for (unsigned i = 0; i < HEVC_MAXIMUM_TILE_ROWS - 1; i++)
        pps->row_height_minus1[i] = picture->row_height_minus1[i];
    pps->loop_filter_across_tiles_enabled_flag = picture->pic_fields.bits.loop_filter_across_tiles_enabled_flag;
}

/* 7.4.5: a list with its elements in coded order (6.5.3: diagonals from bottom left to top right) from one in raster
 * order, `side` wide. */
static void rebuild_list(int32_t *deltas, int32_t first, const uint8_t *raster, unsigned side)
{
    int32_t previous = first;
    unsigned at = 0;
    for (unsigned diagonal = 0; diagonal < 2 * side - 1; diagonal++)
        for (unsigned x = diagonal < side ? 0 : diagonal - side + 1; x <= diagonal && x < side; x++) {
            int32_t value = raster[(diagonal - x) * side + x];
            deltas[at++] = (value - previous + 128 + 256) % 256 - 128;
            previous = value;
        }
}

static void rebuild_lists(struct hevc_scaling_lists *lists, const VAIQMatrixBufferHEVC *matrix)
{
    for (unsigned size = 0; size < 4; size++)
        for (unsigned id = 0; id < 6; id++)
            lists->scaling_list_pred_mode_flag[size][id] = 1;
    for (unsigned id = 0; id < 6; id++) {
        rebuild_list(lists->scaling_list_delta_coef[0][id], 8, matrix->ScalingList4x4[id], 4);
        rebuild_list(lists->scaling_list_delta_coef[1][id], 8, matrix->ScalingList8x8[id], 8);
        lists->scaling_list_dc_coef_minus8[0][id] = matrix->ScalingListDC16x16[id] - 8;
        rebuild_list(lists->scaling_list_delta_coef[2][id], matrix->ScalingListDC16x16[id],
                     matrix->ScalingList16x16[id], 8);
    }
    for (unsigned i = 0; i < 2; i++) {
        lists->scaling_list_dc_coef_minus8[1][3 * i] = matrix->ScalingListDC32x32[i] - 8;
        rebuild_list(lists->scaling_list_delta_coef[3][3 * i], matrix->ScalingListDC32x32[i],
                     matrix->ScalingList32x32[i], 8);
    }
}

static void rebuild_pps(struct hevc_pps *pps, const VAPictureParameterBufferHEVC *picture,
                        const VAIQMatrixBufferHEVC *matrix)
{
    pps->dependent_slice_segments_enabled_flag =
        picture->slice_parsing_fields.bits.dependent_slice_segments_enabled_flag;
    pps->sign_data_hiding_enabled_flag = picture->pic_fields.bits.sign_data_hiding_enabled_flag;
    pps->cabac_init_present_flag = 1;
    pps->init_qp_minus26 = picture->init_qp_minus26;
    pps->constrained_intra_pred_flag = picture->pic_fields.bits.constrained_intra_pred_flag;
    pps->transform_skip_enabled_flag = picture->pic_fields.bits.transform_skip_enabled_flag;
    pps->cu_qp_delta_enabled_flag = picture->pic_fields.bits.cu_qp_delta_enabled_flag;
    if (pps->cu_qp_delta_enabled_flag)
        pps->diff_cu_qp_delta_depth = picture->diff_cu_qp_delta_depth;
    pps->pps_cb_qp_offset = picture->pps_cb_qp_offset;
    pps->pps_cr_qp_offset = picture->pps_cr_qp_offset;
    pps->pps_slice_chroma_qp_offsets_present_flag = 1;
    pps->weighted_pred_flag = picture->pic_fields.bits.weighted_pred_flag;
    pps->weighted_bipred_flag = picture->pic_fields.bits.weighted_bipred_flag;
    pps->transquant_bypass_enabled_flag = picture->pic_fields.bits.transquant_bypass_enabled_flag;
    pps->entropy_coding_sync_enabled_flag = picture->pic_fields.bits.entropy_coding_sync_enabled_flag;
    rebuild_tiles(pps, picture);
    pps->pps_loop_filter_across_slices_enabled_flag =
        picture->pic_fields.bits.pps_loop_filter_across_slices_enabled_flag;
    pps->deblocking_filter_control_present_flag = pps->deblocking_filter_override_enabled_flag = 1;
    pps->lists_modification_present_flag = 1;
    pps->log2_parallel_merge_level_minus2 = picture->log2_parallel_merge_level_minus2;
    if (matrix && picture->pic_fields.bits.scaling_list_enabled_flag) {
        pps->pps_scaling_list_data_present_flag = 1;
        rebuild_lists(&pps->scaling_lists, matrix);
    }
}

void hevc_rebuild_sets(struct hevc_rebuilt_sets *sets, const VAPictureParameterBufferHEVC *picture,
                       const VAIQMatrixBufferHEVC *matrix)
{
    memset(sets, 0, sizeof(*sets));
    rebuild_vps(&sets->vps, picture->bit_depth_luma_minus8 + 8u);
    rebuild_sps(&sets->sps, picture);
    rebuild_pps(&sets->pps, picture, matrix);
}

/* Where a column or row of tiles begins, in coding tree blocks; the one after the last at the picture's end. */
static uint32_t tile_start(const uint32_t *sizes_minus1, uint32_t last, uint32_t index, uint32_t end)
{
    uint32_t start = 0;
    for (uint32_t i = 0; i < index && i < last; i++)
        start += sizes_minus1[i] + 1;
    return index > last ? end : start;
}

/* The tile that holds a column or row of coding tree blocks. */
static uint32_t tile_of(const uint32_t *sizes_minus1, uint32_t last, uint32_t position)
{
    uint32_t tile = 0;
    while (tile < last && position >= tile_start(sizes_minus1, last, tile + 1, 0))
        tile++;
    return tile;
}

uint32_t hevc_tile_scan_address(const struct hevc_rebuilt_sets *sets, uint32_t raster_address)
{
    const struct hevc_pps *pps = &sets->pps;
    if (!pps->tiles_enabled_flag)
        return raster_address;
    uint32_t width = hevc_width_in_ctbs(&sets->sps), height = hevc_height_in_ctbs(&sets->sps);
    uint32_t x = raster_address % width, y = raster_address / width;
    uint32_t columns = pps->num_tile_columns_minus1, rows = pps->num_tile_rows_minus1;
    uint32_t column = tile_of(pps->column_width_minus1, columns, x), row = tile_of(pps->row_height_minus1, rows, y);
    uint32_t left = tile_start(pps->column_width_minus1, columns, column, width);
    uint32_t right = tile_start(pps->column_width_minus1, columns, column + 1, width);
    uint32_t top = tile_start(pps->row_height_minus1, rows, row, height);
    uint32_t bottom = tile_start(pps->row_height_minus1, rows, row + 1, height);
    return top * width + left * (bottom - top) + (y - top) * (right - left) + x - left;
}
