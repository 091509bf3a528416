/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slices of HEVC_EFFORT_SKIP: coding units as large as can be, merge skip in P and B slices, intra without residual in
 * I slices. Neither samples nor records are touched. */
#include "coder_parts.h"

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
