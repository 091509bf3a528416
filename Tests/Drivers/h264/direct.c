/* SPDX-License-Identifier: GPL-2.0-or-later */
/* References of direct prediction (8.4.1.2). Motion vectors of zero make the rest of that clause vanish: colZeroFlag
 * and the scaling of vectors have nothing to change, and 8x8 blocks of a macroblock do not differ. */
#include "coder_parts.h"

/* 8.4.1.2.2, MinPositive. */
static int8_t least_reference(int8_t x, int8_t y)
{
    return x >= 0 && y >= 0 ? (x < y ? x : y) : x > y ? x : y;
}

static int8_t reference_of(const struct macroblock *macroblock, unsigned list)
{
    return macroblock ? macroblock->ref_idx[list] : -1;
}

/* 8.4.1.2.2: spatial direct prediction; D stands in for C (8.4.1.3.2). */
static void spatial_references(const struct neighbours *near, int8_t ref_idx[2])
{
    for (unsigned list = 0; list < 2; list++) {
        int8_t c = reference_of(near->c ? near->c : near->d, list);
        ref_idx[list] = least_reference(reference_of(near->a, list), least_reference(reference_of(near->b, list), c));
    }
    if (ref_idx[0] < 0 && ref_idx[1] < 0)
        ref_idx[0] = ref_idx[1] = 0;
}

/* 8.4.1.2.3: temporal direct prediction. refIdxL0 is the lowest index of the picture that the co-located macroblock
 * refers to, 0 where that is intra. */
static bool temporal_references(const struct slice *slice, uint32_t address, int8_t ref_idx[2])
{
    const uint64_t *co_located = slice->request->references[1][0]->motion->references[address];
    uint64_t picture = co_located[0] != 0 ? co_located[0] : co_located[1];
    ref_idx[0] = ref_idx[1] = 0;
    if (picture == 0)
        return true;
    for (unsigned index = 0; index < slice->active[0]; index++) {
        if (slice->pictures[0][index] != picture)
            continue;
        ref_idx[0] = (int8_t)index;
        return true;
    }
    return false;
}

bool direct_references(const struct slice *slice, const struct neighbours *near, uint32_t address, int8_t ref_idx[2])
{
    if (!slice->header->direct_spatial_mv_pred_flag)
        return temporal_references(slice, address, ref_idx);
    spatial_references(near, ref_idx);
    return true;
}
