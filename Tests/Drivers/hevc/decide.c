/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Coding trees: which coding units there are, and what becomes of each.
 *
 * With Qstep, the quantiser's step (1 at QP 4, doubling every 6):
 * - Merge skip is taken without looking further where its squared error is at most Qstep^2 / 12 per sample, what the
 *   quantiser would leave anyway.
 * - A unit that may be split is split unless the lowest frequencies of its transform units can give either the source
 *   or its difference from the best prediction, but for Qstep^2 / 6 per sample; or if in the end it has more than
 *   Qstep^2 / 3 of error.
 * - Else the candidate with the least error + bits * Qstep^2 / 8 is taken: skip, the best prediction from references
 *   with residual, intra 2Nx2N and, where units are smallest, NxN. Bits are estimated.
 * A unit that must be intra has the last two candidates only; the QP wished for takes the place of the slice's. */
#include "coder_parts.h"

#include <stddef.h>
#include <string.h>

/* References of each list that are tried. */
#define MOST_TRIED 4

/* The block that a unit is sought for. */
struct block {
    uint32_t x, y;
    unsigned log2_size, depth;
    bool may_split;
    int qp;
    uint64_t squared_step; /* times 16 */
};

/* The candidate for the unit that costs least so far. */
struct choice {
    uint64_t cost; /* UINT64_MAX: none yet */
    uint64_t error;
};

/* The best prediction from references. */
struct found {
    struct motion candidates[MOST_CANDIDATES];
    struct motion motion;
    uint64_t error;     /* UINT64_MAX: there is none */
    unsigned merge_idx; /* of the candidate with the least error */
    uint64_t merge_error;
};

/* The wish for the block of wishes at a place; NULL: none. */
static const struct wish *wish_at(const struct hevc_coder *coder, const struct slice *slice, uint32_t x,
                                       uint32_t y)
{
    unsigned log2_size = slice->request->wish_log2_size;
    if (!slice->request->wishes)
        return NULL;
    uint32_t columns = (coder->width + (1u << log2_size) - 1) >> log2_size;
    return &slice->request->wishes[(y >> log2_size) * columns + (x >> log2_size)];
}

/* The first offset that is wished for in a quantization group, raster order; 0: none. */
static int wished_offset(const struct hevc_coder *coder, const struct slice *slice, uint32_t x, uint32_t y)
{
    uint32_t step = 1u << slice->request->wish_log2_size, size = 1u << coder->group_log2;
    int offset = 0;
    for (uint32_t row = y; slice->request->wishes && row < y + size && row < coder->height; row += step)
        for (uint32_t column = x; offset == 0 && column < x + size && column < coder->width; column += step)
            offset = wish_at(coder, slice, column, row)->qp_offset;
    return offset;
}

/* 8.6.1: qPY_PRED, and what the group is to have. */
void begin_quantization_group(struct hevc_coder *coder, const struct slice *slice, uint32_t x, uint32_t y)
{
    struct quantization *group = &coder->quantization;
    uint32_t mask = (1u << coder->ctb_log2) - 1;
    int left = x & mask ? unit_at(coder, x - 1, y)->qp : group->previous;
    int above = y & mask ? unit_at(coder, x, y - 1)->qp : group->previous;
    int offset = wished_offset(coder, slice, x, y);
    group->predicted = (left + above + 1) >> 1;
    group->value = 0;
    group->delta_coded = false;
    group->wanted = slice->request->qp;
    if (offset)
        group->wanted = clip3(slice->least_qp, slice->most_qp, group->wanted + offset);
    if (!coder->pps.cu_qp_delta_enabled_flag)
        group->wanted = slice->slice_qp;
}

/* Whether a block of 1 << log2_size has more than one wish, where it could be split for them; `intra`: whether one of
 * them is for intra. */
static bool wishes_differ(const struct hevc_coder *coder, const struct slice *slice, uint32_t x, uint32_t y,
                          unsigned log2_size, bool *intra)
{
    const struct wish *first = wish_at(coder, slice, x, y);
    uint32_t step = 1u << slice->request->wish_log2_size, size = 1u << log2_size;
    bool differ = false;
    *intra = first && first->intra;
    for (uint32_t row = y; first && row < y + size; row += step)
        for (uint32_t column = x; column < x + size; column += step) {
            const struct wish *wish = wish_at(coder, slice, column, row);
            *intra |= wish->intra;
            differ |= wish->intra != first->intra ||
                      (wish->qp_offset != first->qp_offset && log2_size > coder->group_log2);
        }
    return differ;
}

/* Whether an error is at most a squared one per sample of Qstep^2 / divisor, in a block with its chroma. */
static bool is_within(const struct hevc_coder *coder, const struct block *block, uint64_t error, unsigned divisor)
{
    return error * 32 * divisor <= samples_of_two(coder) * (block->squared_step << (2 * block->log2_size));
}

/* The block's source; `area` receives its place in the component. */
static const uint16_t *source_of(const struct hevc_coder *coder, unsigned component, const struct block *block,
                                 struct area *area)
{
    uint32_t mask = (1u << coder->ctb_log2) - 1;
    *area = component_area(coder, component, block->x, block->y, 1u << block->log2_size);
    return coder->ctb_source.of[component] +
           component_height(coder, component, block->y & mask) * component_width(coder, component, MOST_CTB) +
           component_width(coder, component, block->x & mask);
}

static void predict_block(const struct hevc_coder *coder, const struct slice *slice, const struct block *block,
                          struct motion motion, struct samples *out)
{
    for (unsigned component = LUMA; component <= CR; component++)
        hevc_predict_inter(coder, slice, motion, component,
                           component_area(coder, component, block->x, block->y, 1u << block->log2_size),
                           out->of[component]);
}

/* Squared error of a prediction, over all components. */
static uint64_t error_of(const struct hevc_coder *coder, const struct block *block, const struct samples *prediction)
{
    uint64_t sum = 0;
    for (unsigned component = LUMA; component <= CR; component++) {
        struct area area;
        unsigned pitch = component_width(coder, component, MOST_CTB);
        const uint16_t *source = source_of(coder, component, block, &area), *samples = prediction->of[component];
        for (unsigned j = 0; j < area.height; j++)
            for (unsigned i = 0; i < area.width; i++) {
                int difference = source[j * pitch + i] - samples[j * area.width + i];
                sum += (uint64_t)(difference * difference);
            }
    }
    return sum;
}

/* Tries one motion; returns its error. */
static uint64_t try_motion(const struct hevc_coder *coder, const struct slice *slice, const struct block *block,
                           struct motion motion, struct found *found)
{
    struct samples prediction;
    predict_block(coder, slice, block, motion, &prediction);
    uint64_t error = error_of(coder, block, &prediction);
    if (error < found->error) {
        found->error = error;
        found->motion = motion;
    }
    return error;
}

static bool same_motion(struct motion one, struct motion other)
{
    return one.ref_idx[0] == other.ref_idx[0] && one.ref_idx[1] == other.ref_idx[1];
}

/* Whether one of the first `count` candidates is the motion; `index` receives which. */
static bool find_candidate(const struct found *found, unsigned count, struct motion motion, unsigned *index)
{
    for (*index = 0; *index < count; (*index)++)
        if (same_motion(found->candidates[*index], motion))
            return true;
    return false;
}

/* The best of the merge candidates. */
static void try_candidates(const struct hevc_coder *coder, const struct slice *slice, const struct block *block,
                           struct found *found)
{
    merge_candidates(coder, slice, block->x, block->y, 1u << block->log2_size, found->candidates);
    for (unsigned index = 0; index < slice->candidate_count; index++) {
        unsigned earlier;
        if (find_candidate(found, index, found->candidates[index], &earlier))
            continue;
        uint64_t error = try_motion(coder, slice, block, found->candidates[index], found);
        if (error < found->merge_error) {
            found->merge_error = error;
            found->merge_idx = index;
        }
    }
}

/* The best of single references, and of the best of both lists together. */
static void try_references(const struct hevc_coder *coder, const struct slice *slice, const struct block *block,
                           struct found *found)
{
    struct motion both = {{-1, -1}};
    for (unsigned list = 0; list < 2; list++) {
        uint64_t least = UINT64_MAX;
        for (unsigned index = 0; index < slice->active[list] && index < MOST_TRIED; index++) {
            struct motion motion = {{-1, -1}};
            motion.ref_idx[list] = (int8_t)index;
            uint64_t error = try_motion(coder, slice, block, motion, found);
            if (error < least) {
                least = error;
                both.ref_idx[list] = (int8_t)index;
            }
        }
    }
    if (both.ref_idx[0] >= 0 && both.ref_idx[1] >= 0)
        try_motion(coder, slice, block, both, found);
}

/* Whether the lowest frequencies of the block's transform units are all that it has, of the source or, with a
 * prediction, of its difference. */
static bool is_smooth(const struct hevc_coder *coder, const struct block *block, const struct samples *prediction)
{
    unsigned luma_log2 = block->log2_size < coder->max_tb_log2 ? block->log2_size : coder->max_tb_log2;
    uint64_t lost = 0;
    for (unsigned component = LUMA; component <= CR; component++) {
        struct area area;
        unsigned pitch = component_width(coder, component, MOST_CTB);
        unsigned log2_size = component == LUMA ? luma_log2 : chroma_transform_log2(coder, luma_log2);
        unsigned part = 1u << log2_size;
        const uint16_t *source = source_of(coder, component, block, &area);
        const uint16_t *samples = prediction ? prediction->of[component] : NULL;
        for (unsigned top = 0; top < area.height; top += part)
            for (unsigned left = 0; left < area.width; left += part) {
                int16_t difference[32 * 32];
                for (unsigned i = 0; i < part * part; i++) {
                    unsigned y = top + (i >> log2_size), x = left + (i & (part - 1));
                    difference[i] = (int16_t)(source[y * pitch + x] - (samples ? samples[y * area.width + x] : 0));
                }
                lost += residual_lost(difference, log2_size);
                if (!is_within(coder, block, lost, 6))
                    return false;
            }
    }
    return true;
}

/* A candidate for the block's coding unit, in coder->coding. */
static struct coding *begin_candidate(struct hevc_coder *coder, const struct block *block, enum unit_kind kind)
{
    struct coding *coding = &coder->coding;
    coding->x = block->x;
    coding->y = block->y;
    coding->log2_size = block->log2_size;
    coding->depth = block->depth;
    coding->kind = kind;
    coding->skip = coding->merge = coding->nxn = coding->root_cbf = false;
    coding->merge_idx = 0;
    coding->motion = (struct motion){{-1, -1}};
    coding->qp = block->qp;
    coding->node_count = 0;
    /* Intra prediction may ask of what kind the unit's own samples are. */
    for (uint32_t y = block->y; y < block->y + (1u << block->log2_size); y += 8)
        for (uint32_t x = block->x; x < block->x + (1u << block->log2_size); x += 8)
            unit_at(coder, x, y)->kind = (uint8_t)kind;
    return coding;
}

/* Keeps the candidate, whose samples are in the frame, where it costs least so far. */
static void end_candidate(struct hevc_coder *coder, const struct block *block, uint64_t error, uint32_t bits,
                          struct choice *choice)
{
    uint64_t cost = error * 128 + bits * block->squared_step;
    if (cost >= choice->cost)
        return;
    *choice = (struct choice){.cost = cost, .error = error};
    memcpy(&coder->best, &coder->coding,
           offsetof(struct coding, nodes) + coder->coding.node_count * sizeof(struct node));
    for (unsigned component = LUMA; component <= CR; component++) {
        struct area area = component_area(coder, component, block->x, block->y, 1u << block->log2_size);
        frame_load(coder, coder->reconstruction, component, area, coder->best_samples.of[component], area.width);
    }
}

static void store_samples(struct hevc_coder *coder, const struct block *block, struct samples *samples)
{
    for (unsigned component = LUMA; component <= CR; component++)
        frame_store(coder, coder->reconstruction, component,
                    component_area(coder, component, block->x, block->y, 1u << block->log2_size),
                    samples->of[component]);
}

static void try_skip(struct hevc_coder *coder, const struct slice *slice, const struct block *block,
                     const struct found *found, struct choice *choice)
{
    struct samples prediction;
    struct coding *coding = begin_candidate(coder, block, UNIT_INTER);
    coding->skip = coding->merge = true;
    coding->merge_idx = found->merge_idx;
    coding->motion = found->candidates[found->merge_idx];
    predict_block(coder, slice, block, coding->motion, &prediction);
    store_samples(coder, block, &prediction);
    end_candidate(coder, block, found->merge_error, 1 + found->merge_idx, choice);
}

static void try_inter(struct hevc_coder *coder, struct slice *slice, const struct block *block,
                      const struct found *found, struct choice *choice)
{
    struct samples prediction;
    uint32_t bits;
    struct coding *coding = begin_candidate(coder, block, UNIT_INTER);
    coding->motion = found->motion;
    predict_block(coder, slice, block, coding->motion, &prediction);
    uint64_t error = transform_tree_code(coder, slice, &prediction, &bits);
    const struct node *root = &coding->nodes[0];
    for (unsigned index = 0; index < coding->node_count; index++)
        coding->root_cbf |= coding->nodes[index].cbf[LUMA];
    coding->root_cbf |= root->cbf[CB] || root->cbf[CR];
    coding->merge = find_candidate(found, slice->candidate_count, coding->motion, &coding->merge_idx);
    coding->skip = coding->merge && !coding->root_cbf;
    if (!coding->root_cbf)
        bits = 0;
    bits += coding->skip ? 1 + coding->merge_idx : coding->merge ? 4 + coding->merge_idx : 8;
    end_candidate(coder, block, error, bits, choice);
}

static void try_intra(struct hevc_coder *coder, struct slice *slice, const struct block *block, bool nxn,
                      struct choice *choice)
{
    uint32_t bits;
    struct coding *coding = begin_candidate(coder, block, UNIT_INTRA);
    coding->nxn = nxn;
    uint64_t error = transform_tree_code(coder, slice, NULL, &bits);
    end_candidate(coder, block, error, bits + (nxn ? 16 : 7), choice);
}

/* Where transform units begin, and which have luma coefficients: the node's part of the records. */
static void record_node(struct hevc_coder *coder, const struct coding *coding, unsigned *next, uint32_t x, uint32_t y)
{
    const struct node *node = &coding->nodes[(*next)++];
    uint32_t size = 1u << node->log2_size;
    if (node->split) {
        for (unsigned child = 0; child < 4; child++)
            record_node(coder, coding, next, x + (child & 1) * size / 2, y + (child >> 1) * size / 2);
        return;
    }
    if (size == 4) {
        struct unit *unit = unit_at(coder, x, y);
        unit->left_edge = unit->top_edge = true;
        unit->coded |= (uint8_t)(node->cbf[LUMA] << (2 * (y >> 2 & 1) + (x >> 2 & 1)));
        return;
    }
    for (uint32_t row = y; row < y + size; row += 8)
        for (uint32_t column = x; column < x + size; column += 8) {
            struct unit *unit = unit_at(coder, column, row);
            unit->left_edge |= column == x;
            unit->top_edge |= row == y;
            unit->coded = node->cbf[LUMA] ? 15 : 0;
        }
}

/* What later blocks, later pictures and the deblocking filter need of the unit. */
static void record(struct hevc_coder *coder, const struct slice *slice, const struct coding *coding)
{
    uint32_t size = 1u << coding->log2_size;
    for (uint32_t y = coding->y; y < coding->y + size; y += 8)
        for (uint32_t x = coding->x; x < coding->x + size; x += 8)
            *unit_at(coder, x, y) = (struct unit){
                .slice = slice->number,
                .kind = (uint8_t)coding->kind,
                .qp = (int8_t)coding->qp,
                .motion = coding->motion,
                .left_edge = x == coding->x,
                .top_edge = y == coding->y,
            };
    unsigned next = 0;
    if (coding->kind == UNIT_INTRA || coding->root_cbf)
        record_node(coder, coding, &next, coding->x, coding->y);
    mark_reconstructed(coder, coding->x, coding->y, size, slice->number);
}

/* Writes the best candidate and makes it the block's coding unit. */
static void finish_unit(struct hevc_coder *coder, struct slice *slice, const struct block *block)
{
    struct coding *best = &coder->best;
    struct hevc_figures *figures = &coder->figures;
    store_samples(coder, block, &coder->best_samples);
    if (block->may_split)
        write_split_cu_flag(coder, slice, block->x, block->y, block->depth, false);
    write_unit(coder, slice, best);
    record(coder, slice, best);
    if (best->kind == UNIT_INTRA)
        figures->intra_samples += 1u << (2 * best->log2_size);
    if (best->skip)
        figures->skipped_samples += 1u << (2 * best->log2_size);
    coder->ctb_intra &= best->kind == UNIT_INTRA;
    figures->least_qp = block->qp < figures->least_qp ? block->qp : figures->least_qp;
    figures->most_qp = block->qp > figures->most_qp ? block->qp : figures->most_qp;
}

/* Codes the block as one coding unit; false: it is to be split. */
static bool code_unit(struct hevc_coder *coder, struct slice *slice, const struct block *block, bool intra_only)
{
    struct found found = {.error = UINT64_MAX, .merge_error = UINT64_MAX};
    struct choice choice = {.cost = UINT64_MAX};
    bool inter = slice->header->slice_type != HEVC_SLICE_I && !intra_only, intra = true;
    if (inter) {
        try_candidates(coder, slice, block, &found);
        if (is_within(coder, block, found.merge_error, 12)) {
            try_skip(coder, slice, block, &found, &choice);
            finish_unit(coder, slice, block);
            return true;
        }
        try_references(coder, slice, block, &found);
    }
    if (block->may_split) {
        struct samples prediction;
        if (inter) {
            predict_block(coder, slice, block, found.motion, &prediction);
            inter = is_smooth(coder, block, &prediction);
        }
        intra = is_smooth(coder, block, NULL);
        if (!inter && !intra)
            return false;
    }
    if (inter) {
        try_skip(coder, slice, block, &found, &choice);
        try_inter(coder, slice, block, &found, &choice);
    }
    if (intra)
        try_intra(coder, slice, block, false, &choice);
    if (intra && block->log2_size == coder->min_cb_log2)
        try_intra(coder, slice, block, true, &choice);
    if (block->may_split && !is_within(coder, block, choice.error, 3)) {
        mark_reconstructed(coder, block->x, block->y, 1u << block->log2_size, 0);
        return false;
    }
    finish_unit(coder, slice, block);
    return true;
}

/* 7.3.8.4 */
static void code_tree(struct hevc_coder *coder, struct slice *slice, uint32_t x, uint32_t y, unsigned log2_size,
                      unsigned depth)
{
    uint32_t size = 1u << log2_size, half = size / 2;
    bool inside = x + size <= coder->width && y + size <= coder->height, intra_only = false;
    bool may_split = log2_size > coder->min_cb_log2;
    if (log2_size >= coder->group_log2)
        begin_quantization_group(coder, slice, x, y);
    if (inside && !(wishes_differ(coder, slice, x, y, log2_size, &intra_only) && may_split)) {
        const struct quantization *group = &coder->quantization;
        int range = 52 + coder->qp_offset;
        int qp = group->delta_coded
                     ? (group->predicted + group->value + 52 + 2 * coder->qp_offset) % range - coder->qp_offset
                     : group->wanted;
        struct block block = {.x = x, .y = y, .log2_size = log2_size, .depth = depth, .may_split = may_split, .qp = qp,
                              .squared_step = residual_squared_step(qp + coder->qp_offset)};
        if (code_unit(coder, slice, &block, intra_only))
            return;
    }
    if (inside)
        write_split_cu_flag(coder, slice, x, y, depth, true);
    for (unsigned child = 0; child < 4; child++) {
        uint32_t left = x + (child & 1) * half, top = y + (child >> 1) * half;
        if (left < coder->width && top < coder->height)
            code_tree(coder, slice, left, top, log2_size - 1, depth + 1);
    }
}

void code_ctb(struct hevc_coder *coder, struct slice *slice, uint32_t address)
{
    uint32_t x = address % coder->ctb_columns << coder->ctb_log2, y = address / coder->ctb_columns << coder->ctb_log2;
    uint32_t size = 1u << coder->ctb_log2;
    uint32_t width = coder->width - x < size ? coder->width - x : size;
    uint32_t height = coder->height - y < size ? coder->height - y : size;
    for (unsigned component = LUMA; component <= CR; component++)
        frame_load(coder, coder->source, component,
                   (struct area){component_width(coder, component, x), component_height(coder, component, y),
                                 component_width(coder, component, width),
                                 component_height(coder, component, height)},
                   coder->ctb_source.of[component], component_width(coder, component, MOST_CTB));
    coder->ctb_intra = true;
    write_sao(coder, slice, address);
    code_tree(coder, slice, x, y, coder->ctb_log2, 0);
    coder->figures.intra_ctbs += coder->ctb_intra;
}
