/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The deblocking filter process (8.7) for frames whose macroblocks have 4x4 transforms, no motion, and residual in
 * intra macroblocks only: all edges within an inter macroblock have bS 0, and all samples along one side of a
 * macroblock have the same bS. */
#include "coder_parts.h"

#include <stdlib.h>

/* Samples to be filtered: from one sample of the edge to the next, and from one side of it to the other. */
struct edge {
    uint8_t *q0;          /* first sample on the current macroblock's side */
    ptrdiff_t along, across; /* in bytes */
    unsigned length;      /* in samples */
    bool chroma;          /* chromaStyleFilteringFlag */
};

/* 8.7.2.2: the thresholds of an edge. */
struct thresholds {
    int alpha, beta, tc0;
};

/* 8.7.2.3: bS below 4. */
static void filter_normally(const struct edge *edge, uint8_t *q, const struct thresholds *thresholds)
{
    ptrdiff_t across = edge->across;
    int p0 = q[-across], p1 = q[-2 * across], q0 = q[0], q1 = q[across];
    int tc = thresholds->tc0 + 1;
    if (!edge->chroma) {
        int p2 = q[-3 * across], q2 = q[2 * across], middle = (p0 + q0 + 1) >> 1, tc0 = thresholds->tc0;
        bool smooth_p = abs(p2 - p0) < thresholds->beta, smooth_q = abs(q2 - q0) < thresholds->beta;
        if (smooth_p)
            q[-2 * across] = (uint8_t)(p1 + clip3(-tc0, tc0, (p2 + middle - (p1 << 1)) >> 1));
        if (smooth_q)
            q[across] = (uint8_t)(q1 + clip3(-tc0, tc0, (q2 + middle - (q1 << 1)) >> 1));
        tc = tc0 + smooth_p + smooth_q;
    }
    int delta = clip3(-tc, tc, (((q0 - p0) * 4) + (p1 - q1) + 4) >> 3);
    q[-across] = clip_sample(p0 + delta);
    q[0] = clip_sample(q0 - delta);
}

/* 8.7.2.4 for one side, whose samples from the edge on are a0, a1 and so on, b being the other side. */
static void filter_side_strongly(uint8_t *a, ptrdiff_t away, int b0, int b1, bool strong)
{
    int a0 = a[0], a1 = a[away];
    if (!strong) {
        a[0] = (uint8_t)((2 * a1 + a0 + b1 + 2) >> 2);
        return;
    }
    int a2 = a[2 * away], a3 = a[3 * away];
    a[0] = (uint8_t)((a2 + 2 * a1 + 2 * a0 + 2 * b0 + b1 + 4) >> 3);
    a[away] = (uint8_t)((a2 + a1 + a0 + b0 + 2) >> 2);
    a[2 * away] = (uint8_t)((2 * a3 + 3 * a2 + a1 + a0 + b0 + 4) >> 3);
}

/* 8.7.2.4: bS 4. */
static void filter_strongly(const struct edge *edge, uint8_t *q, const struct thresholds *thresholds)
{
    ptrdiff_t across = edge->across;
    int p0 = q[-across], p1 = q[-2 * across], q0 = q[0], q1 = q[across];
    bool near = !edge->chroma && abs(p0 - q0) < (thresholds->alpha >> 2) + 2;
    bool strong_p = near && abs(q[-3 * across] - p0) < thresholds->beta;
    bool strong_q = near && abs(q[2 * across] - q0) < thresholds->beta;
    filter_side_strongly(q - across, -across, q0, q1, strong_p);
    filter_side_strongly(q, across, p0, p1, strong_q);
}

/* 8.7.1 and 8.7.2: a set of samples across the edge for each sample along it. `qp` is qPav. */
static void filter_edge(const struct edge *edge, unsigned strength, int qp, const struct slice_filter *filter)
{
    int index_a = clip3(0, 51, qp + filter->offset_a), index_b = clip3(0, 51, qp + filter->offset_b);
    struct thresholds thresholds = {.alpha = h264_alpha[index_a], .beta = h264_beta[index_b]};
    if (thresholds.alpha == 0 || thresholds.beta == 0)
        return;
    if (strength < 4)
        thresholds.tc0 = h264_tc0[index_a][strength - 1];
    uint8_t *q = edge->q0;
    ptrdiff_t across = edge->across;
    for (unsigned index = 0; index < edge->length; index++, q += edge->along) {
        int p0 = q[-across], q0 = q[0];
        if (abs(p0 - q0) >= thresholds.alpha || abs(q[-2 * across] - p0) >= thresholds.beta ||
            abs(q[across] - q0) >= thresholds.beta)
            continue;
        if (strength < 4)
            filter_normally(edge, q, &thresholds);
        else
            filter_strongly(edge, q, &thresholds);
    }
}

/* 8.7.2.1 for inter macroblocks: whether they differ in the pictures they refer to, or in how many. */
static bool references_differ(const uint64_t p[2], const uint64_t q[2])
{
    return !(p[0] == q[0] && p[1] == q[1]) && !(p[0] == q[1] && p[1] == q[0]);
}

/* A macroblock being deblocked. */
struct target {
    const struct h264_coder *coder;
    uint32_t address, column, row;
    const struct macroblock *macroblock;
    const struct slice_filter *filter;
};

/* 8.7.2.1: bS between the macroblock and its neighbour at `other` to the left or above. */
static unsigned boundary_strength(const struct target *target, uint32_t other)
{
    const struct h264_coder *coder = target->coder;
    const uint64_t(*references)[2] = (const uint64_t(*)[2])coder->reconstruction->motion->references;
    if (macroblock_is_intra(target->macroblock) || macroblock_is_intra(&coder->macroblocks[other]))
        return 4;
    return references_differ(references[other], references[target->address]);
}

/* 8.7: filterLeftMbEdgeFlag or filterTopMbEdgeFlag. */
static bool filters_boundary(const struct target *target, bool inside, uint32_t other)
{
    return inside && (target->filter->disable_deblocking_filter_idc != 2 ||
                      target->coder->macroblocks[other].slice == target->macroblock->slice);
}

/* The edge `offset` samples from the macroblock's left or upper side, in one component: 0 luma, 1 Cb, 2 Cr. */
static struct edge edge_at(const struct target *target, unsigned component, bool vertical, unsigned offset)
{
    const struct h264_frame *frame = target->coder->reconstruction;
    bool chroma = component != 0;
    ptrdiff_t pitch = (ptrdiff_t)(chroma ? frame->chroma_pitch : frame->luma_pitch), step = chroma ? 2 : 1;
    uint8_t *origin = chroma ? frame->chroma + (ptrdiff_t)target->row * 8 * pitch + target->column * 16 + component - 1
                             : frame->luma + (ptrdiff_t)target->row * 16 * pitch + target->column * 16;
    return (struct edge){
        .q0 = origin + (ptrdiff_t)offset * (vertical ? step : pitch),
        .along = vertical ? pitch : step,
        .across = vertical ? step : pitch,
        .length = chroma ? 8 : 16,
        .chroma = chroma,
    };
}

/* qP of a macroblock in one component (8.7.2.2). */
static int component_qp(const struct h264_coder *coder, const struct macroblock *macroblock, unsigned component)
{
    return component == 0 ? macroblock->qp
                          : residual_chroma_qp(macroblock->qp, coder->chroma_offset[component - 1]);
}

/* 8.7: the edges of one direction in one component; `outer` is bS of the macroblock's side, 0 where not filtered. */
static void filter_direction(const struct target *target, unsigned component, bool vertical, unsigned outer,
                             uint32_t other)
{
    const struct h264_coder *coder = target->coder;
    int qp = component_qp(coder, target->macroblock, component);
    if (outer > 0) {
        int other_qp = component_qp(coder, &coder->macroblocks[other], component);
        struct edge edge = edge_at(target, component, vertical, 0);
        filter_edge(&edge, outer, (other_qp + qp + 1) >> 1, target->filter);
    }
    if (!macroblock_is_intra(target->macroblock))
        return;
    unsigned size = component == 0 ? 16 : 8;
    for (unsigned offset = 4; offset < size; offset += 4) {
        struct edge edge = edge_at(target, component, vertical, offset);
        filter_edge(&edge, 3, qp, target->filter);
    }
}

/* 8.7: one macroblock; vertical edges before horizontal ones. */
static void deblock_macroblock(const struct target *target)
{
    uint32_t left = target->address - 1, above = target->address - target->coder->width;
    unsigned left_strength = 0, above_strength = 0;
    if (filters_boundary(target, target->column > 0, left))
        left_strength = boundary_strength(target, left);
    if (filters_boundary(target, target->row > 0, above))
        above_strength = boundary_strength(target, above);
    if (left_strength == 0 && above_strength == 0 && !macroblock_is_intra(target->macroblock))
        return;
    for (unsigned component = 0; component < 3; component++) {
        filter_direction(target, component, true, left_strength, left);
        filter_direction(target, component, false, above_strength, above);
    }
}

void deblock_picture(struct h264_coder *coder)
{
    for (uint32_t address = 0; address < coder->macroblock_count; address++) {
        const struct macroblock *macroblock = &coder->macroblocks[address];
        struct target target = {
            .coder = coder,
            .address = address,
            .column = address % coder->width,
            .row = address / coder->width,
            .macroblock = macroblock,
            .filter = &coder->filters[macroblock->slice - 1],
        };
        if (target.filter->disable_deblocking_filter_idc != 1)
            deblock_macroblock(&target);
    }
}
