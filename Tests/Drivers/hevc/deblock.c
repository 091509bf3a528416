/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The deblocking filter process (8.7.2) where all motion vectors are zero. */
#include "coder_parts.h"

#include <stdlib.h>

/* Four luma samples along an edge, or the chroma beside them: what one boundary strength holds for. */
struct edge {
    const struct hevc_samples *samples;
    uint8_t *q0;             /* first sample on the side of the current unit */
    ptrdiff_t along, across; /* in bytes */
    unsigned lines;
    int beta, tc;
    unsigned depth;
    int most; /* largest sample */
};

static inline int get(const struct edge *edge, const uint8_t *at)
{
    return (int)hevc_sample_get(edge->samples, edge->depth, at);
}

static inline void put(const struct edge *edge, uint8_t *at, int value)
{
    hevc_sample_put(edge->samples, edge->depth, at, (unsigned)value);
}

/* The samples on both sides of a line across the edge: p[0] and q[0] touch it. */
struct line {
    int p[4], q[4];
};

static struct line load_line(const struct edge *edge, unsigned index, unsigned count)
{
    struct line line = {{0}, {0}};
    const uint8_t *at = edge->q0 + (ptrdiff_t)index * edge->along;
    for (unsigned i = 0; i < count; i++) {
        line.q[i] = get(edge, at + (ptrdiff_t)i * edge->across);
        line.p[i] = get(edge, at - (ptrdiff_t)(i + 1) * edge->across);
    }
    return line;
}

static void store_line(const struct edge *edge, unsigned index, const struct line *line, unsigned count)
{
    uint8_t *at = edge->q0 + (ptrdiff_t)index * edge->along;
    for (unsigned i = 0; i < count; i++) {
        put(edge, at + (ptrdiff_t)i * edge->across, line->q[i]);
        put(edge, at - (ptrdiff_t)(i + 1) * edge->across, line->p[i]);
    }
}

/* 8.7.2.5.6: dSam of a line whose dpq is given. */
static bool is_strong(const struct edge *edge, const struct line *line, int dpq)
{
    return 2 * dpq < edge->beta >> 2 &&
           abs(line->p[3] - line->p[0]) + abs(line->q[0] - line->q[3]) < edge->beta >> 3 &&
           abs(line->p[0] - line->q[0]) < (5 * edge->tc + 1) >> 1;
}

/* 8.7.2.5.7 with dE equal to 2, for the side a; b is the other. */
static void smooth_strongly(const struct edge *edge, const int a[4], const int b[4], int out[3])
{
    int limit = 2 * edge->tc;
    out[0] = clip3(a[0] - limit, a[0] + limit, (a[2] + 2 * a[1] + 2 * a[0] + 2 * b[0] + b[1] + 4) >> 3);
    out[1] = clip3(a[1] - limit, a[1] + limit, (a[2] + a[1] + a[0] + b[0] + 2) >> 2);
    out[2] = clip3(a[2] - limit, a[2] + limit, (2 * a[3] + 3 * a[2] + a[1] + a[0] + b[0] + 4) >> 3);
}

static void filter_strongly(const struct edge *edge, unsigned index)
{
    struct line line = load_line(edge, index, 4), result = line;
    smooth_strongly(edge, line.p, line.q, result.p);
    smooth_strongly(edge, line.q, line.p, result.q);
    store_line(edge, index, &result, 3);
}

/* 8.7.2.5.7 with dE equal to 1 */
static void filter_weakly(const struct edge *edge, unsigned index, bool second_p, bool second_q)
{
    struct line line = load_line(edge, index, 3), result = line;
    int tc = edge->tc, delta = (9 * (line.q[0] - line.p[0]) - 3 * (line.q[1] - line.p[1]) + 8) >> 4;
    if (abs(delta) >= tc * 10)
        return;
    delta = clip3(-tc, tc, delta);
    result.p[0] = clip3(0, edge->most, line.p[0] + delta);
    result.q[0] = clip3(0, edge->most, line.q[0] - delta);
    if (second_p) {
        int change = (((line.p[2] + line.p[0] + 1) >> 1) - line.p[1] + delta) >> 1;
        result.p[1] = clip3(0, edge->most, line.p[1] + clip3(-(tc >> 1), tc >> 1, change));
    }
    if (second_q) {
        int change = (((line.q[2] + line.q[0] + 1) >> 1) - line.q[1] - delta) >> 1;
        result.q[1] = clip3(0, edge->most, line.q[1] + clip3(-(tc >> 1), tc >> 1, change));
    }
    store_line(edge, index, &result, 2);
}

/* 8.7.2.5.3: decisions for four lines of luma, and their filtering. */
static void filter_luma(const struct edge *edge)
{
    struct line first = load_line(edge, 0, 4), last = load_line(edge, 3, 4);
    int p0 = abs(first.p[2] - 2 * first.p[1] + first.p[0]), p3 = abs(last.p[2] - 2 * last.p[1] + last.p[0]);
    int q0 = abs(first.q[2] - 2 * first.q[1] + first.q[0]), q3 = abs(last.q[2] - 2 * last.q[1] + last.q[0]);
    if (p0 + q0 + p3 + q3 >= edge->beta)
        return;
    bool strong = is_strong(edge, &first, p0 + q0) && is_strong(edge, &last, p3 + q3);
    int side = (edge->beta + (edge->beta >> 1)) >> 3;
    for (unsigned index = 0; index < 4; index++) {
        if (strong)
            filter_strongly(edge, index);
        else
            filter_weakly(edge, index, p0 + p3 < side, q0 + q3 < side);
    }
}

/* 8.7.2.5.8 */
static void filter_chroma(const struct edge *edge)
{
    for (unsigned index = 0; index < edge->lines; index++) {
        struct line line = load_line(edge, index, 2);
        int delta = clip3(-edge->tc, edge->tc, (((line.q[0] - line.p[0]) * 4) + line.p[1] - line.q[1] + 4) >> 3);
        line.p[0] = clip3(0, edge->most, line.p[0] + delta);
        line.q[0] = clip3(0, edge->most, line.q[0] - delta);
        store_line(edge, index, &line, 1);
    }
}

/* The pictures that a unit is predicted from. */
static void pictures_of(const struct hevc_coder *coder, const struct unit *unit, const struct hevc_motion *pictures[2])
{
    const struct slice_record *slice = &coder->slices[unit->slice - 1];
    for (unsigned list = 0; list < 2; list++)
        pictures[list] = unit->motion.ref_idx[list] < 0 ? NULL : slice->pictures[list][unit->motion.ref_idx[list]];
}

/* 8.7.2.4: bS of a part of an edge; `p_bit` and `q_bit` choose the 4x4 luma blocks that touch it. */
static unsigned boundary_strength(const struct hevc_coder *coder, const struct unit *p, const struct unit *q,
                                  unsigned p_bit, unsigned q_bit)
{
    if (p->kind == UNIT_INTRA || q->kind == UNIT_INTRA)
        return 2;
    if ((p->coded >> p_bit & 1) || (q->coded >> q_bit & 1))
        return 1;
    const struct hevc_motion *of_p[2], *of_q[2];
    pictures_of(coder, p, of_p);
    pictures_of(coder, q, of_q);
    return !(of_p[0] == of_q[0] && of_p[1] == of_q[1]) && !(of_p[0] == of_q[1] && of_p[1] == of_q[0]);
}

/* Table 8-12: beta' */
static int beta_of(int q)
{
    return q < 16 ? 0 : q < 29 ? q - 10 : 2 * q - 38;
}

/* A 4-sample part of an edge on the 8x8 grid, in luma samples, and what is known of its sides. */
struct part {
    uint32_t x, y;
    bool vertical;
    unsigned strength;
    int qp; /* QpL */
    const struct slice_record *slice;
};

static struct edge edge_at(const struct hevc_coder *coder, const struct part *part, unsigned component)
{
    const struct hevc_samples *samples = &coder->reconstruction->samples[component];
    ptrdiff_t step = samples->step, pitch = (ptrdiff_t)samples->pitch;
    return (struct edge){
        .samples = samples,
        .q0 = hevc_sample_at(samples, component_width(coder, component, part->x),
                             component_height(coder, component, part->y)),
        .along = part->vertical ? pitch : step,
        .across = part->vertical ? step : pitch,
        .lines = part->vertical ? component_height(coder, component, 4) : component_width(coder, component, 4),
        .depth = coder->depth_bits,
        .most = (1 << coder->depth_bits) - 1,
    };
}

/* 8.7.2.5.3 and 8.7.2.5.5: thresholds, then the filters. */
static void filter_part(const struct hevc_coder *coder, const struct part *part)
{
    unsigned scale = coder->depth_bits - 8;
    int tc_index = 2 * ((int)part->strength - 1) + part->slice->tc_offset;
    struct edge edge = edge_at(coder, part, LUMA);
    edge.beta = beta_of(clip3(0, 51, part->qp + part->slice->beta_offset)) << scale;
    edge.tc = hevc_tc[clip3(0, 53, part->qp + tc_index)] << scale;
    filter_luma(&edge);
    /* Chroma has edges on its own 8x8 grid, and only between intra units. */
    unsigned place = part->vertical ? component_width(coder, CB, part->x) : component_height(coder, CB, part->y);
    if (part->strength < 2 || (place & 7))
        return;
    for (unsigned component = CB; component <= CR; component++) {
        int offset = component == CB ? coder->pps.pps_cb_qp_offset : coder->pps.pps_cr_qp_offset;
        edge = edge_at(coder, part, component);
        edge.tc = hevc_tc[clip3(0, 53, hevc_chroma_qp(coder->chroma_format, part->qp + offset) + tc_index)] << scale;
        filter_chroma(&edge);
    }
}

/* 8.7.2.3: the left or the upper edge of 8x8 luma samples. */
static void filter_edge(const struct hevc_coder *coder, uint32_t x, uint32_t y, bool vertical)
{
    const struct unit *q = unit_at(coder, x, y);
    const struct slice_record *slice = &coder->slices[q->slice - 1];
    if (slice->deblocking_disabled || (vertical ? x == 0 || !q->left_edge : y == 0 || !q->top_edge))
        return;
    const struct unit *p = vertical ? q - 1 : q - coder->unit_columns;
    if (p->slice != q->slice && !slice->across_slices)
        return;
    for (unsigned half = 0; half < 2; half++) {
        unsigned q_bit = vertical ? 2 * half : half, p_bit = vertical ? 2 * half + 1 : 2 + half;
        struct part part = {
            .x = vertical ? x : x + 4 * half,
            .y = vertical ? y + 4 * half : y,
            .vertical = vertical,
            .strength = boundary_strength(coder, p, q, p_bit, q_bit),
            .qp = (p->qp + q->qp + 1) >> 1,
            .slice = slice,
        };
        if (part.strength > 0)
            filter_part(coder, &part);
    }
}

void hevc_deblock_picture(struct hevc_coder *coder)
{
    for (unsigned direction = 0; direction < 2; direction++)
        for (uint32_t y = 0; y < coder->height; y += 8)
            for (uint32_t x = 0; x < coder->width; x += 8)
                filter_edge(coder, x, y, direction == 0);
}
