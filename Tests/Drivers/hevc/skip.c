/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slices of HEVC_EFFORT_SKIP: coding units as large as can be, merge skip in P and B slices, intra without residual in
 * I slices. Neither samples nor records are touched, so that the data of a slice depend on little: those coded before
 * are joined to later headers. */
#include "coder_parts.h"

#include <string.h>

/* A transform tree without coefficients: only the splits that the largest transform forces. */
static void add_nodes(const struct hevc_coder *coder, struct coding *coding, unsigned log2_size)
{
    bool split = log2_size > coder->max_tb_log2;
    coding->nodes[coding->node_count++] = (struct node){.split = split, .log2_size = (uint8_t)log2_size};
    for (unsigned child = 0; child < 4 && split; child++)
        add_nodes(coder, coding, log2_size - 1);
}

static void skip_tree(struct hevc_coder *coder, struct slice *slice, uint32_t x, uint32_t y, unsigned log2_size,
                      unsigned depth)
{
    uint32_t size = 1u << log2_size, half = size / 2;
    if (x + size > coder->width || y + size > coder->height) {
        for (unsigned child = 0; child < 4; child++) {
            uint32_t left = x + (child & 1) * half, top = y + (child >> 1) * half;
            if (left < coder->width && top < coder->height)
                skip_tree(coder, slice, left, top, log2_size - 1, depth + 1);
        }
        return;
    }
    if (log2_size > coder->min_cb_log2)
        write_split_cu_flag(coder, slice, x, y, depth, false);
    if (slice->header->slice_type != HEVC_SLICE_I) {
        write_skipped(coder, slice, x, y, 0);
        note_unit(coder, x, y, size, depth, true);
        return;
    }
    struct coding *coding = &coder->coding;
    coding->x = x;
    coding->y = y;
    coding->log2_size = log2_size;
    coding->depth = depth;
    coding->kind = UNIT_INTRA;
    coding->skip = coding->merge = coding->nxn = coding->root_cbf = false;
    coding->node_count = 0;
    add_nodes(coder, coding, log2_size);
    write_unit(coder, slice, coding);
}

void skip_ctb(struct hevc_coder *coder, struct slice *slice, uint32_t address)
{
    write_sao(coder, slice, address);
    skip_tree(coder, slice, address % coder->ctb_columns << coder->ctb_log2,
              address / coder->ctb_columns << coder->ctb_log2, coder->ctb_log2, 0);
}

static struct skipped_key key_of(const struct hevc_coder *coder, const struct slice *slice)
{
    const struct hevc_slice_header *header = slice->header;
    bool pcm = header->slice_type == HEVC_SLICE_I && coder->sps.pcm_enabled_flag;
    return (struct skipped_key){
        .width = coder->width,
        .height = coder->height,
        .chroma_format = coder->chroma_format,
        .ctb_log2 = coder->ctb_log2,
        .min_cb_log2 = coder->min_cb_log2,
        .min_tb_log2 = coder->min_tb_log2,
        .max_tb_log2 = coder->max_tb_log2,
        .intra_depth = coder->sps.max_transform_hierarchy_depth_intra,
        .address = header->slice_segment_address,
        .ctb_count = slice->request->ctb_count,
        .slice_type = header->slice_type,
        .cabac_init_flag = header->cabac_init_flag,
        .candidate_count = slice->candidate_count,
        .sao_luma = header->slice_sao_luma_flag,
        .sao_chroma = header->slice_sao_chroma_flag,
        .transquant_bypass = coder->pps.transquant_bypass_enabled_flag,
        .pcm = pcm,
        .pcm_least = pcm ? coder->sps.log2_min_pcm_luma_coding_block_size_minus3 : 0,
        .pcm_difference = pcm ? coder->sps.log2_diff_max_min_pcm_luma_coding_block_size : 0,
        .slice_qp = slice->slice_qp,
    };
}

/* Context variables pass from one segment to a dependent one: such slices are coded each time. */
static struct skipped_slice *find(struct hevc_coder *coder, const struct skipped_key *key)
{
    for (unsigned index = 0; index < coder->skipped_count && !coder->pps.dependent_slice_segments_enabled_flag; index++)
        if (memcmp(&coder->skipped[index].key, key, sizeof *key) == 0)
            return &coder->skipped[index];
    return NULL;
}

bool skip_recall(struct hevc_coder *coder, struct slice *slice)
{
    struct skipped_key key = key_of(coder, slice);
    const struct skipped_slice *known = find(coder, &key);
    if (!known)
        return false;
    bits_trail(&slice->bits);
    bits_append(&slice->bits, known->data.bytes, 0, known->data.count);
    return true;
}

void skip_learn(struct hevc_coder *coder, const struct slice *slice, size_t start)
{
    struct bits data = {.bytes = NULL};
    if (slice->bits.failed || coder->pps.dependent_slice_segments_enabled_flag)
        return;
    bits_append(&data, slice->bits.bytes, start, slice->bits.count - start);
    if (data.failed) {
        bits_release(&data);
        return;
    }
    unsigned place = coder->skipped_count < SKIPPED_KEPT ? coder->skipped_count++
                                                         : coder->next_skipped++ % SKIPPED_KEPT;
    bits_release(&coder->skipped[place].data);
    coder->skipped[place] = (struct skipped_slice){.key = key_of(coder, slice), .data = data};
}

void skip_release(struct hevc_coder *coder)
{
    for (unsigned index = 0; index < coder->skipped_count; index++)
        bits_release(&coder->skipped[index].data);
    coder->skipped_count = 0;
}
