/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Merge candidates where all vectors are zero and coding units are 2Nx2N. */
#include "coder_parts.h"

/* The block that candidates are sought for, and those found so far. */
struct search {
    const struct hevc_coder *coder;
    const struct slice *slice;
    uint32_t x, y;
    unsigned size;
    struct motion *candidates;
    unsigned count;
};

static bool same(const struct motion *one, const struct motion *other)
{
    return one->ref_idx[0] == other->ref_idx[0] && one->ref_idx[1] == other->ref_idx[1];
}

static void add(struct search *search, struct motion motion)
{
    if (search->count < search->slice->candidate_count)
        search->candidates[search->count++] = motion;
}

/* 8.5.3.2.3: the motion of a neighbour; NULL where it does not count. */
static const struct motion *neighbour(const struct search *search, int64_t x, int64_t y)
{
    unsigned level = search->coder->pps.log2_parallel_merge_level_minus2 + 2;
    if (search->x >> level == x >> level && search->y >> level == y >> level)
        return NULL;
    const struct unit *unit = available_unit(search->coder, search->slice, x, y);
    return unit && unit->kind == UNIT_INTER ? &unit->motion : NULL;
}

/* 8.5.3.2.3 */
static void add_spatial(struct search *search)
{
    int64_t x = search->x, y = search->y, size = search->size;
    const struct motion *a1 = neighbour(search, x - 1, y + size - 1), *b1 = neighbour(search, x + size - 1, y - 1);
    const struct motion *b0 = neighbour(search, x + size, y - 1), *a0 = neighbour(search, x - 1, y + size);
    const struct motion *b2 = neighbour(search, x - 1, y - 1);
    const struct motion *found[4];
    unsigned count = 0;
    if (a1)
        found[count++] = a1;
    if (b1 && !(a1 && same(a1, b1)))
        found[count++] = b1;
    if (b0 && !(b1 && same(b1, b0)))
        found[count++] = b0;
    if (a0 && !(a1 && same(a1, a0)))
        found[count++] = a0;
    if (count < 4 && b2 && !(a1 && same(a1, b2)) && !(b1 && same(b1, b2)))
        found[count++] = b2;
    for (unsigned index = 0; index < count; index++)
        add(search, *found[index]);
}

/* 8.5.3.2.9: whether list `list` has a vector from the co-located picture at a place; a long-term reference goes with a
 * long-term one only. */
static bool collocated_vector(const struct search *search, const struct hevc_motion *motion, unsigned list, uint32_t x,
                              uint32_t y)
{
    const struct slice *slice = search->slice;
    unsigned block = motion->blocks[(y >> 4) * motion->columns + (x >> 4)];
    if ((block & 3) == 0)
        return false;
    unsigned from = (block & 3) == 3 ? (slice->no_backward_prediction ? list : slice->header->collocated_from_l0_flag)
                                     : (block & 3) - 1;
    return (block >> (2 + from) & 1) == slice->request->references[list][0]->long_term;
}

/* 8.5.3.2.8 */
static bool temporal(const struct search *search, const struct hevc_motion *motion, unsigned list)
{
    const struct hevc_coder *coder = search->coder;
    uint32_t right = search->x + search->size, below = search->y + search->size;
    uint32_t middle = search->size / 2;
    if (search->y >> coder->ctb_log2 == below >> coder->ctb_log2 && below < coder->height && right < coder->width &&
        collocated_vector(search, motion, list, right, below))
        return true;
    return collocated_vector(search, motion, list, search->x + middle, search->y + middle);
}

static void add_temporal(struct search *search)
{
    const struct slice *slice = search->slice;
    const struct hevc_slice_header *header = slice->header;
    if (!header->slice_temporal_mvp_enabled_flag)
        return;
    unsigned list = header->slice_type == HEVC_SLICE_B && !header->collocated_from_l0_flag;
    const struct hevc_motion *motion = slice->request->references[list][header->collocated_ref_idx]->motion;
    struct motion found = {{temporal(search, motion, 0) ? 0 : -1, -1}};
    if (header->slice_type == HEVC_SLICE_B && temporal(search, motion, 1))
        found.ref_idx[1] = 0;
    if (found.ref_idx[0] >= 0 || found.ref_idx[1] >= 0)
        add(search, found);
}

/* 8.5.3.2.4 */
static void add_combined(struct search *search)
{
    static const uint8_t pairs[12][2] = {{0, 1}, {1, 0}, {0, 2}, {2, 0}, {1, 2}, {2, 1},
                                         {0, 3}, {3, 0}, {1, 3}, {3, 1}, {2, 3}, {3, 2}};
    const struct hevc_slice_request *request = search->slice->request;
    unsigned original = search->count;
    for (unsigned pair = 0; original > 1 && pair < original * (original - 1); pair++) {
        if (search->count == search->slice->candidate_count)
            return;
        int first = search->candidates[pairs[pair][0]].ref_idx[0];
        int second = search->candidates[pairs[pair][1]].ref_idx[1];
        if (first >= 0 && second >= 0 && request->references[0][first]->picture_order_count !=
                                             request->references[1][second]->picture_order_count)
            add(search, (struct motion){{(int8_t)first, (int8_t)second}});
    }
}

/* 8.5.3.2.5 */
static void add_zero(struct search *search)
{
    const struct slice *slice = search->slice;
    bool b = slice->header->slice_type == HEVC_SLICE_B;
    unsigned count = b && slice->active[1] < slice->active[0] ? slice->active[1] : slice->active[0];
    for (unsigned index = 0; search->count < slice->candidate_count; index++) {
        int8_t ref_idx = (int8_t)(index < count ? index : 0);
        add(search, (struct motion){{ref_idx, b ? ref_idx : -1}});
    }
}

void merge_candidates(const struct hevc_coder *coder, const struct slice *slice, uint32_t x, uint32_t y, unsigned size,
                      struct motion candidates[MOST_CANDIDATES])
{
    struct search search = {.coder = coder, .slice = slice, .x = x, .y = y, .size = size, .candidates = candidates};
    add_spatial(&search);
    add_temporal(&search);
    if (slice->header->slice_type == HEVC_SLICE_B && search.count < slice->candidate_count)
        add_combined(&search);
    add_zero(&search);
}
