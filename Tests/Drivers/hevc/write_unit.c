/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slice segment data: coding quadtrees, coding units, transform trees (7.3.8). */
#include "coder_parts.h"

#include <stdlib.h>
#include <string.h>

void write_bin(struct hevc_coder *coder, struct slice *slice, unsigned context, unsigned bin)
{
    arithmetic_encode(&coder->engine, &coder->contexts[context], bin, &slice->bits);
}

void write_bypass(struct hevc_coder *coder, struct slice *slice, uint32_t value, unsigned count)
{
    while (count-- > 0)
        arithmetic_encode_bypass(&coder->engine, value >> count & 1, &slice->bits);
}

/* initType (9.3.2.2) */
static unsigned initialisation_type(const struct hevc_slice_header *header)
{
    if (header->slice_type == HEVC_SLICE_I)
        return 0;
    return (header->slice_type == HEVC_SLICE_P) != (header->cabac_init_flag != 0) ? 1 : 2;
}

/* 7.3.2.9 byte_alignment, 9.3.1 */
void write_begin_segment(struct hevc_coder *coder, struct slice *slice)
{
    bits_trail(&slice->bits);
    arithmetic_start(&coder->engine);
    if (slice->header->dependent_slice_segment_flag) {
        memcpy(coder->contexts, coder->kept_contexts, sizeof coder->contexts);
        return;
    }
    const uint8_t *values = hevc_context_initialisation[initialisation_type(slice->header)];
    int qp = clip3(0, 51, slice->slice_qp);
    for (unsigned context = 0; context < HEVC_CONTEXTS; context++) {
        int slope = (values[context] >> 4) * 5 - 45, offset = ((values[context] & 15) << 3) - 16;
        coder->contexts[context] = arithmetic_state(((slope * qp) >> 4) + offset);
    }
}

/* 7.3.8.1. After the segment's last block only zero bits to the byte's end are missing. */
void write_end_of_segment_flag(struct hevc_coder *coder, struct slice *slice, bool end)
{
    arithmetic_encode_terminate(&coder->engine, end, &slice->bits);
    if (!end)
        return;
    bits_put(&slice->bits, 0, (unsigned)(-slice->bits.count & 7));
    memcpy(coder->kept_contexts, coder->contexts, sizeof coder->contexts);
}

/* Whether the coding tree block is in the slice and coded already. */
static bool ctb_available(const struct hevc_coder *coder, const struct slice *slice, int64_t address)
{
    return address >= coder->slices[slice->number - 1].address;
}

/* 7.3.8.3 */
void write_sao(struct hevc_coder *coder, struct slice *slice, uint32_t address)
{
    const struct hevc_slice_header *header = slice->header;
    if (!header->slice_sao_luma_flag && !header->slice_sao_chroma_flag)
        return;
    if (address % coder->ctb_columns > 0 && ctb_available(coder, slice, (int64_t)address - 1))
        write_bin(coder, slice, CTX_SAO_MERGE_FLAG, 0);
    if (address >= coder->ctb_columns && ctb_available(coder, slice, (int64_t)address - coder->ctb_columns))
        write_bin(coder, slice, CTX_SAO_MERGE_FLAG, 0);
    if (header->slice_sao_luma_flag)
        write_bin(coder, slice, CTX_SAO_TYPE_IDX, 0);
    if (header->slice_sao_chroma_flag)
        write_bin(coder, slice, CTX_SAO_TYPE_IDX, 0);
}

/* What is to the left of and above a block, for the contexts of split_cu_flag and cu_skip_flag (9.3.4.2.2). */
struct around {
    bool left, above; /* available */
    unsigned left_index, above_index;
};

static struct around around(const struct hevc_coder *coder, const struct slice *slice, uint32_t x, uint32_t y)
{
    int64_t address = (int64_t)(y >> coder->ctb_log2) * coder->ctb_columns + (x >> coder->ctb_log2);
    uint32_t mask = (1u << coder->ctb_log2) - 1;
    return (struct around){
        .left = (x & mask) || (x > 0 && ctb_available(coder, slice, address - 1)),
        .above = (y & mask) || (y > 0 && ctb_available(coder, slice, address - coder->ctb_columns)),
        .left_index = (y & mask) >> 3,
        .above_index = x >> 3,
    };
}

void note_unit(struct hevc_coder *coder, uint32_t x, uint32_t y, unsigned size, unsigned depth, bool skip)
{
    uint32_t row = (y & ((1u << coder->ctb_log2) - 1)) >> 3;
    memset(coder->depth_above + (x >> 3), (int)depth, size >> 3);
    memset(coder->skip_above + (x >> 3), skip, size >> 3);
    memset(coder->depth_left + row, (int)depth, size >> 3);
    memset(coder->skip_left + row, skip, size >> 3);
}

void write_split_cu_flag(struct hevc_coder *coder, struct slice *slice, uint32_t x, uint32_t y, unsigned depth,
                         bool split)
{
    struct around near = around(coder, slice, x, y);
    unsigned context = (near.left && coder->depth_left[near.left_index] > depth) +
                       (near.above && coder->depth_above[near.above_index] > depth);
    write_bin(coder, slice, CTX_SPLIT_CU_FLAG + context, split);
}

static void write_cu_skip_flag(struct hevc_coder *coder, struct slice *slice, uint32_t x, uint32_t y, bool skip)
{
    struct around near = around(coder, slice, x, y);
    unsigned context = (near.left && coder->skip_left[near.left_index]) +
                       (near.above && coder->skip_above[near.above_index]);
    write_bin(coder, slice, CTX_CU_SKIP_FLAG + context, skip);
}

static void write_merge_idx(struct hevc_coder *coder, struct slice *slice, unsigned merge_idx)
{
    unsigned last = slice->candidate_count - 1;
    for (unsigned bin = 0; bin < last && bin <= merge_idx; bin++) {
        if (bin == 0)
            write_bin(coder, slice, CTX_MERGE_IDX, merge_idx > 0);
        else
            write_bypass(coder, slice, merge_idx > bin, 1);
    }
}

static void write_transquant_bypass_flag(struct hevc_coder *coder, struct slice *slice)
{
    if (coder->pps.transquant_bypass_enabled_flag)
        write_bin(coder, slice, CTX_CU_TRANSQUANT_BYPASS_FLAG, 0);
}

void write_skipped(struct hevc_coder *coder, struct slice *slice, uint32_t x, uint32_t y, unsigned merge_idx)
{
    write_transquant_bypass_flag(coder, slice);
    write_cu_skip_flag(coder, slice, x, y, true);
    write_merge_idx(coder, slice, merge_idx);
}

static void write_ref_idx(struct hevc_coder *coder, struct slice *slice, unsigned list, unsigned ref_idx)
{
    unsigned last = slice->active[list] - 1;
    for (unsigned bin = 0; bin < last && bin <= ref_idx; bin++) {
        if (bin < 2)
            write_bin(coder, slice, CTX_REF_IDX + bin, ref_idx > bin);
        else
            write_bypass(coder, slice, ref_idx > bin, 1);
    }
}

/* 7.3.8.6 after merge_flag 0: both lists' references, with no vector difference and the first predictor. */
static void write_references(struct hevc_coder *coder, struct slice *slice, const struct coding *coding)
{
    const int8_t *ref_idx = coding->motion.ref_idx;
    bool both = ref_idx[0] >= 0 && ref_idx[1] >= 0;
    if (slice->header->slice_type == HEVC_SLICE_B) {
        write_bin(coder, slice, CTX_INTER_PRED_IDC + coding->depth, both);
        if (!both)
            write_bin(coder, slice, CTX_INTER_PRED_IDC + 4, ref_idx[1] >= 0);
    }
    for (unsigned list = 0; list < 2; list++) {
        if (ref_idx[list] < 0)
            continue;
        write_ref_idx(coder, slice, list, (unsigned)ref_idx[list]);
        if (!(list == 1 && both && slice->header->mvd_l1_zero_flag)) {
            write_bin(coder, slice, CTX_ABS_MVD_GREATER0_FLAG, 0);
            write_bin(coder, slice, CTX_ABS_MVD_GREATER0_FLAG, 0);
        }
        write_bin(coder, slice, CTX_MVP_FLAG, 0);
    }
}

/* Whether pcm_flag is coded (7.3.8.5). */
static bool has_pcm_flag(const struct hevc_coder *coder, const struct coding *coding)
{
    const struct hevc_sps *sps = &coder->sps;
    unsigned least = sps->log2_min_pcm_luma_coding_block_size_minus3 + 3;
    return sps->pcm_enabled_flag && !coding->nxn && coding->log2_size >= least &&
           coding->log2_size <= least + sps->log2_diff_max_min_pcm_luma_coding_block_size;
}

/* 7.3.8.5, intra: DC is second of the most probable modes, DC being all that there is around (8.4.2). */
static void write_intra_modes(struct hevc_coder *coder, struct slice *slice, const struct coding *coding)
{
    unsigned parts = coding->nxn ? 4 : 1;
    if (has_pcm_flag(coder, coding))
        arithmetic_encode_terminate(&coder->engine, 0, &slice->bits);
    for (unsigned part = 0; part < parts; part++)
        write_bin(coder, slice, CTX_PREV_INTRA_LUMA_PRED_FLAG, 1);
    for (unsigned part = 0; part < parts; part++)
        write_bypass(coder, slice, 2, 2);
    for (unsigned part = 0; part < (coder->chroma_format == 3 ? parts : 1); part++)
        write_bin(coder, slice, CTX_INTRA_CHROMA_PRED_MODE, 0);
}

/* 7.3.8.14 and 9.3.3.10; the group's QpY is settled with it. */
static void write_qp_delta(struct hevc_coder *coder, struct slice *slice, int qp)
{
    struct quantization *group = &coder->quantization;
    int range = 52 + coder->qp_offset, delta = qp - group->predicted;
    if (delta < -(26 + coder->qp_offset / 2))
        delta += range;
    else if (delta > 25 + coder->qp_offset / 2)
        delta -= range;
    unsigned magnitude = (unsigned)abs(delta), prefix = magnitude < 5 ? magnitude : 5;
    for (unsigned bin = 0; bin < 5 && bin <= prefix; bin++)
        write_bin(coder, slice, CTX_CU_QP_DELTA_ABS + (bin > 0), bin < prefix);
    if (magnitude >= 5) {
        unsigned rest = magnitude - 5, length = 0;
        for (; rest >= 1u << length; length++) {
            rest -= 1u << length;
            write_bypass(coder, slice, 1, 1);
        }
        write_bypass(coder, slice, 0, 1);
        write_bypass(coder, slice, rest, length);
    }
    if (magnitude > 0)
        write_bypass(coder, slice, delta < 0, 1);
    group->delta_coded = true;
    group->value = delta;
}

/* What a transform tree is written with. */
struct tree {
    struct hevc_coder *coder;
    struct slice *slice;
    const struct coding *coding;
    unsigned next; /* node */
    unsigned most_depth;
};

/* 7.3.8.10. `parent` has the chroma of a node of 4x4 luma. */
static void write_transform_unit(struct tree *tree, const struct node *node, const struct node *parent,
                                 unsigned blk_idx)
{
    struct hevc_coder *coder = tree->coder;
    bool has_chroma = node->log2_size > 2 || coder->chroma_format == 3;
    const struct node *chroma = has_chroma ? node : parent;
    if (!node->cbf[LUMA] && !chroma->cbf[CB] && !chroma->cbf[CR])
        return;
    if (coder->pps.cu_qp_delta_enabled_flag && !coder->quantization.delta_coded)
        write_qp_delta(coder, tree->slice, tree->coding->qp);
    if (node->cbf[LUMA])
        write_residual(coder, tree->slice, LUMA, node->log2_size, node->levels[LUMA][0]);
    if (!has_chroma && blk_idx != 3)
        return;
    unsigned log2_size = chroma_transform_log2(coder, node->log2_size);
    for (unsigned component = CB; component <= CR; component++)
        for (unsigned block = 0; block < 2; block++)
            if (chroma->cbf[component] >> block & 1)
                write_residual(coder, tree->slice, component, log2_size, chroma->levels[component][block]);
}

/* cbf_cb or cbf_cr of a node, one for each block that it has itself. */
static void write_chroma_flags(struct tree *tree, const struct node *node, unsigned component, unsigned depth)
{
    struct hevc_coder *coder = tree->coder;
    unsigned blocks = coder->chroma_format == 2 && (!node->split || node->log2_size == 3) ? 2 : 1;
    for (unsigned block = 0; block < blocks; block++)
        write_bin(coder, tree->slice, CTX_CBF_CHROMA + depth, node->cbf[component] >> block & 1);
}

/* 7.3.8.8 */
static void write_transform_tree(struct tree *tree, const struct node *parent, unsigned depth, unsigned blk_idx)
{
    struct hevc_coder *coder = tree->coder;
    const struct coding *coding = tree->coding;
    const struct node *node = &coding->nodes[tree->next++];
    if (node->log2_size <= coder->max_tb_log2 && node->log2_size > coder->min_tb_log2 && depth < tree->most_depth &&
        !(coding->nxn && depth == 0))
        write_bin(coder, tree->slice, CTX_SPLIT_TRANSFORM_FLAG + 5 - node->log2_size, node->split);
    for (unsigned component = CB; component <= CR && (node->log2_size > 2 || coder->chroma_format == 3); component++)
        if (!parent || parent->cbf[component])
            write_chroma_flags(tree, node, component, depth);
    if (node->split) {
        for (unsigned child = 0; child < 4; child++)
            write_transform_tree(tree, node, depth + 1, child);
        return;
    }
    if (coding->kind == UNIT_INTRA || depth != 0 || node->cbf[CB] || node->cbf[CR])
        write_bin(coder, tree->slice, CTX_CBF_LUMA + (depth == 0), node->cbf[LUMA]);
    write_transform_unit(tree, node, parent, blk_idx);
}

/* 7.3.8.5 of a unit that is not skipped */
static void write_coded(struct hevc_coder *coder, struct slice *slice, struct coding *coding)
{
    bool intra = coding->kind == UNIT_INTRA;
    write_transquant_bypass_flag(coder, slice);
    if (slice->header->slice_type != HEVC_SLICE_I) {
        write_cu_skip_flag(coder, slice, coding->x, coding->y, false);
        write_bin(coder, slice, CTX_PRED_MODE_FLAG, intra);
    }
    if (!intra || coding->log2_size == coder->min_cb_log2)
        write_bin(coder, slice, CTX_PART_MODE, !coding->nxn);
    if (intra) {
        write_intra_modes(coder, slice, coding);
    } else {
        write_bin(coder, slice, CTX_MERGE_FLAG, coding->merge);
        if (coding->merge)
            write_merge_idx(coder, slice, coding->merge_idx);
        else
            write_references(coder, slice, coding);
    }
    if (!intra && !coding->merge)
        write_bin(coder, slice, CTX_RQT_ROOT_CBF, coding->root_cbf);
    if (!intra && !coding->root_cbf)
        return;
    struct tree tree = {
        .coder = coder,
        .slice = slice,
        .coding = coding,
        .most_depth = intra ? coder->sps.max_transform_hierarchy_depth_intra + coding->nxn
                            : coder->sps.max_transform_hierarchy_depth_inter,
    };
    write_transform_tree(&tree, NULL, 0, 0);
}

void write_unit(struct hevc_coder *coder, struct slice *slice, struct coding *coding)
{
    struct quantization *group = &coder->quantization;
    if (coding->skip)
        write_skipped(coder, slice, coding->x, coding->y, coding->merge_idx);
    else
        write_coded(coder, slice, coding);
    /* 8-283; without a difference the unit has what is predicted. */
    int range = 52 + coder->qp_offset;
    coding->qp = (group->predicted + group->value + 52 + 2 * coder->qp_offset) % range - coder->qp_offset;
    group->previous = coding->qp;
    note_unit(coder, coding->x, coding->y, 1u << coding->log2_size, coding->depth, coding->skip);
}
