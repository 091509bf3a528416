/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The transform units of a coding unit: split where that costs less. Cost is squared error plus bits times a factor
 * that follows the quantiser's step, as decide.c states. */
#include "coder_parts.h"

#include <string.h>

/* A coding unit's tree as it is being coded. */
struct tree {
    struct hevc_coder *coder;
    struct slice *slice;
    struct coding *coding;
    const struct samples *prediction; /* or NULL: intra */
    unsigned most_depth;
    uint64_t squared_step;            /* of luma, times 16 */
};

/* What a part of the tree comes to. */
struct outcome {
    uint64_t error;
    uint32_t bits;
};

static uint64_t cost_of(const struct tree *tree, struct outcome outcome)
{
    return outcome.error * 128 + outcome.bits * tree->squared_step;
}

/* Source minus prediction; returns its squared sum. */
static uint64_t subtract(const struct tree *tree, unsigned component, uint32_t x, uint32_t y, unsigned size,
                         const uint16_t *prediction, int16_t *difference)
{
    struct hevc_coder *coder = tree->coder;
    unsigned pitch = component_size(component, MOST_CTB), mask = component_size(component, 1u << coder->ctb_log2) - 1;
    const uint16_t *source = component_samples(&coder->ctb_source, component) + (y & mask) * pitch + (x & mask);
    uint64_t sum = 0;
    for (unsigned j = 0; j < size; j++, source += pitch)
        for (unsigned i = 0; i < size; i++) {
            int value = source[i] - prediction[j * size + i];
            difference[j * size + i] = (int16_t)value;
            sum += (uint64_t)(value * value);
        }
    return sum;
}

/* What the levels make of the prediction, in place; returns the squared error that is left. */
static uint64_t reconstruct(const struct tree *tree, const int16_t levels[16], unsigned log2_size, int qp, bool sine,
                            const int16_t *difference, uint16_t *samples)
{
    int16_t restored[32 * 32];
    int most = (1 << tree->coder->depth_bits) - 1;
    uint64_t error = 0;
    residual_restore(levels, log2_size, tree->coder->depth_bits, qp, sine, restored);
    for (unsigned i = 0; i < 1u << (2 * log2_size); i++) {
        int value = clip3(0, most, samples[i] + restored[i]), rest = samples[i] + difference[i] - value;
        error += (uint64_t)(rest * rest);
        samples[i] = (uint16_t)value;
    }
    return error;
}

/* One component of a transform unit, whose place is given in its own samples. */
static struct outcome code_component(const struct tree *tree, struct node *node, unsigned component, uint32_t x,
                                     uint32_t y, unsigned log2_size)
{
    struct hevc_coder *coder = tree->coder;
    uint16_t predicted[32 * 32], samples[32 * 32];
    int16_t difference[32 * 32];
    unsigned size = 1u << log2_size;
    bool intra = !tree->prediction, sine = intra && component == LUMA && log2_size == 2;
    int qp = residual_qp(coder, tree->slice, component, tree->coding->qp);
    if (intra) {
        hevc_predict_intra(coder, tree->slice, component, x, y, size, predicted);
    } else {
        unsigned pitch = component_size(component, 1u << tree->coding->log2_size);
        uint32_t left = component_size(component, tree->coding->x), top = component_size(component, tree->coding->y);
        const uint16_t *from = tree->prediction->luma;
        if (component != LUMA)
            from = tree->prediction->chroma[component - 1];
        for (unsigned j = 0; j < size; j++)
            memcpy(predicted + j * size, from + (y - top + j) * pitch + (x - left), size * sizeof *from);
    }
    struct outcome outcome = {.error = subtract(tree, component, x, y, size, predicted, difference)};
    int16_t *levels = node->levels[component];
    node->cbf[component] = false;
    memcpy(samples, predicted, size * size * sizeof *samples);
    if (residual_quantise(difference, log2_size, qp, sine, intra, coder->pps.sign_data_hiding_enabled_flag, levels)) {
        struct outcome coded = {.bits = hevc_estimate_bits(levels)};
        coded.error = reconstruct(tree, levels, log2_size, qp, sine, difference, samples);
        node->cbf[component] = cost_of(tree, coded) < cost_of(tree, outcome);
        if (node->cbf[component])
            outcome = coded;
    }
    frame_store(coder, coder->reconstruction, component, x, y, size, node->cbf[component] ? samples : predicted);
    outcome.bits++;
    return outcome;
}

static void accumulate(struct outcome *sum, struct outcome part)
{
    sum->error += part.error;
    sum->bits += part.bits;
}

/* Both chroma components of a unit whose luma is `luma_log2`. */
static void code_chroma(const struct tree *tree, struct node *node, uint32_t x, uint32_t y, unsigned luma_log2,
                        struct outcome *outcome)
{
    for (unsigned component = CB; component <= CR; component++)
        accumulate(outcome, code_component(tree, node, component, x / 2, y / 2, luma_log2 - 1));
}

static struct outcome code_leaf(const struct tree *tree, struct node *node, uint32_t x, uint32_t y, unsigned log2_size)
{
    struct outcome outcome = code_component(tree, node, LUMA, x, y, log2_size);
    if (log2_size > 2)
        code_chroma(tree, node, x, y, log2_size, &outcome);
    mark_reconstructed(tree->coder, x, y, 1u << log2_size, tree->slice->number);
    return outcome;
}

static struct outcome code_node(struct tree *tree, uint32_t x, uint32_t y, unsigned log2_size, unsigned depth);

static struct outcome code_children(struct tree *tree, unsigned index, uint32_t x, uint32_t y, unsigned log2_size,
                                    unsigned depth)
{
    struct coding *coding = tree->coding;
    struct node *node = &coding->nodes[index];
    struct outcome outcome = {0};
    unsigned half = 1u << (log2_size - 1);
    mark_reconstructed(tree->coder, x, y, 2 * half, 0);
    *node = (struct node){.split = true, .log2_size = (uint8_t)log2_size};
    coding->node_count = index + 1;
    for (unsigned child = 0; child < 4; child++) {
        unsigned first = coding->node_count;
        uint32_t left = x + (child & 1) * half, top = y + (child >> 1) * half;
        accumulate(&outcome, code_node(tree, left, top, log2_size - 1, depth + 1));
        for (unsigned component = CB; component <= CR; component++)
            node->cbf[component] |= coding->nodes[first].cbf[component];
    }
    if (log2_size == 3)
        code_chroma(tree, node, x, y, log2_size, &outcome);
    return outcome;
}

/* The frame's samples of a block, out or back. */
static void keep_samples(const struct tree *tree, struct samples *kept, uint32_t x, uint32_t y, unsigned log2_size)
{
    for (unsigned component = LUMA; component <= CR; component++) {
        unsigned size = component_size(component, 1u << log2_size);
        frame_load(tree->coder, tree->coder->reconstruction, component, component_size(component, x),
                   component_size(component, y), size, size, component_samples(kept, component), size);
    }
}

static void put_samples_back(const struct tree *tree, struct samples *kept, uint32_t x, uint32_t y, unsigned log2_size)
{
    for (unsigned component = LUMA; component <= CR; component++)
        frame_store(tree->coder, tree->coder->reconstruction, component, component_size(component, x),
                    component_size(component, y), component_size(component, 1u << log2_size),
                    component_samples(kept, component));
    mark_reconstructed(tree->coder, x, y, 1u << log2_size, tree->slice->number);
}

static struct outcome code_node(struct tree *tree, uint32_t x, uint32_t y, unsigned log2_size, unsigned depth)
{
    struct hevc_coder *coder = tree->coder;
    struct coding *coding = tree->coding;
    unsigned index = coding->node_count++;
    struct node *node = &coding->nodes[index];
    if (log2_size > coder->max_tb_log2 || (coding->nxn && depth == 0))
        return code_children(tree, index, x, y, log2_size, depth);
    *node = (struct node){.log2_size = (uint8_t)log2_size};
    struct outcome leaf = code_leaf(tree, node, x, y, log2_size);
    bool may_split = log2_size > coder->min_tb_log2 && depth < tree->most_depth;
    if (!may_split)
        return leaf;
    leaf.bits++;
    /* What the quantiser would leave anyway is good enough: Qstep^2 / 12 per sample, of 3 / 2 * size^2 samples. */
    if (leaf.error * 16 * 8 <= tree->squared_step << (2 * log2_size))
        return leaf;
    struct node kept = *node;
    keep_samples(tree, &coder->kept_samples[depth], x, y, log2_size);
    struct outcome split = code_children(tree, index, x, y, log2_size, depth);
    split.bits++;
    if (cost_of(tree, split) < cost_of(tree, leaf))
        return split;
    *node = kept;
    coding->node_count = index + 1;
    put_samples_back(tree, &coder->kept_samples[depth], x, y, log2_size);
    return leaf;
}

uint64_t transform_tree_code(struct hevc_coder *coder, struct slice *slice, const struct samples *prediction,
                             uint32_t *bits)
{
    struct coding *coding = &coder->coding;
    bool intra = coding->kind == UNIT_INTRA;
    struct tree tree = {
        .coder = coder,
        .slice = slice,
        .coding = coding,
        .prediction = intra ? NULL : prediction,
        .most_depth = intra ? coder->sps.max_transform_hierarchy_depth_intra + coding->nxn
                            : coder->sps.max_transform_hierarchy_depth_inter,
        .squared_step = residual_squared_step(coding->qp + coder->qp_offset),
    };
    coding->node_count = 0;
    mark_reconstructed(coder, coding->x, coding->y, 1u << coding->log2_size, 0);
    struct outcome outcome = code_node(&tree, coding->x, coding->y, coding->log2_size, 0);
    *bits = outcome.bits;
    return outcome.error;
}
