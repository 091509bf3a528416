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
    const struct hevc_coder *coder = tree->coder;
    unsigned pitch = component_width(coder, component, MOST_CTB), ctb = 1u << coder->ctb_log2;
    const uint16_t *source = coder->ctb_source.of[component] +
                             (y & (component_height(coder, component, ctb) - 1)) * pitch +
                             (x & (component_width(coder, component, ctb) - 1));
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

/* Where a transform block lies, in samples of its component. */
struct place {
    unsigned component, block; /* of the component's blocks in the node */
    uint32_t x, y;
    unsigned log2_size;
};

/* What the unit's prediction has of a block. */
static void predict(const struct tree *tree, const struct place *place, uint16_t *predicted)
{
    const struct hevc_coder *coder = tree->coder;
    unsigned component = place->component, size = 1u << place->log2_size;
    if (!tree->prediction) {
        hevc_predict_intra(coder, tree->slice, component, place->x, place->y, size, predicted);
        return;
    }
    unsigned pitch = component_width(coder, component, 1u << tree->coding->log2_size);
    uint32_t left = place->x - component_width(coder, component, tree->coding->x);
    uint32_t top = place->y - component_height(coder, component, tree->coding->y);
    const uint16_t *from = tree->prediction->of[component] + top * pitch + left;
    for (unsigned j = 0; j < size; j++)
        memcpy(predicted + j * size, from + j * pitch, size * sizeof *from);
}

static struct outcome code_block(const struct tree *tree, struct node *node, const struct place *place)
{
    const unsigned component = place->component, log2_size = place->log2_size;
    struct hevc_coder *coder = tree->coder;
    uint16_t predicted[32 * 32], samples[32 * 32];
    int16_t difference[32 * 32];
    unsigned size = 1u << log2_size;
    bool intra = !tree->prediction, sine = intra && component == LUMA && log2_size == 2;
    int qp = residual_qp(coder, tree->slice, component, tree->coding->qp);
    predict(tree, place, predicted);
    struct outcome outcome = {.error = subtract(tree, component, place->x, place->y, size, predicted, difference)};
    int16_t *levels = node->levels[component][place->block];
    bool has_levels = false;
    memcpy(samples, predicted, size * size * sizeof *samples);
    if (residual_quantise(difference, log2_size, qp, sine, intra, coder->pps.sign_data_hiding_enabled_flag, levels)) {
        struct outcome coded = {.bits = hevc_estimate_bits(levels)};
        coded.error = reconstruct(tree, levels, log2_size, qp, sine, difference, samples);
        has_levels = cost_of(tree, coded) < cost_of(tree, outcome);
        if (has_levels)
            outcome = coded;
    }
    node->cbf[component] = (uint8_t)((node->cbf[component] & ~(1u << place->block)) | has_levels << place->block);
    frame_store(coder, coder->reconstruction, component, (struct area){place->x, place->y, size, size},
                has_levels ? samples : predicted);
    outcome.bits++;
    return outcome;
}

static void accumulate(struct outcome *sum, struct outcome part)
{
    sum->error += part.error;
    sum->bits += part.bits;
}

/* Both chroma components of a unit whose luma is `luma_log2`, or whose parts' luma is 4x4. */
static void code_chroma(const struct tree *tree, struct node *node, uint32_t x, uint32_t y, unsigned luma_log2,
                        struct outcome *outcome)
{
    const struct hevc_coder *coder = tree->coder;
    for (unsigned component = CB; component <= CR; component++) {
        struct place place = {.component = component, .x = component_width(coder, component, x),
                              .y = component_height(coder, component, y),
                              .log2_size = chroma_transform_log2(coder, luma_log2)};
        accumulate(outcome, code_block(tree, node, &place));
        if (coder->chroma_format != 2)
            continue;
        place.block = 1;
        place.y += 1u << place.log2_size;
        accumulate(outcome, code_block(tree, node, &place));
    }
}

static struct outcome code_leaf(const struct tree *tree, struct node *node, uint32_t x, uint32_t y, unsigned log2_size)
{
    const struct place luma = {.component = LUMA, .x = x, .y = y, .log2_size = log2_size};
    struct outcome outcome = code_block(tree, node, &luma);
    /* The lower chroma block of 4:2:2 is predicted from the upper one. */
    mark_reconstructed(tree->coder, x, y, 1u << log2_size, tree->slice->number);
    if (log2_size > 2 || tree->coder->chroma_format == 3)
        code_chroma(tree, node, x, y, log2_size, &outcome);
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
            node->cbf[component] |= coding->nodes[first].cbf[component] != 0;
    }
    if (log2_size == 3 && tree->coder->chroma_format != 3)
        code_chroma(tree, node, x, y, log2_size, &outcome);
    return outcome;
}

/* The frame's samples of a block, out or back. */
static void keep_samples(const struct tree *tree, struct samples *kept, uint32_t x, uint32_t y, unsigned log2_size)
{
    for (unsigned component = LUMA; component <= CR; component++) {
        struct area area = component_area(tree->coder, component, x, y, 1u << log2_size);
        frame_load(tree->coder, tree->coder->reconstruction, component, area, kept->of[component], area.width);
    }
}

static void put_samples_back(const struct tree *tree, struct samples *kept, uint32_t x, uint32_t y, unsigned log2_size)
{
    for (unsigned component = LUMA; component <= CR; component++)
        frame_store(tree->coder, tree->coder->reconstruction, component,
                    component_area(tree->coder, component, x, y, 1u << log2_size), kept->of[component]);
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
    /* What the quantiser would leave anyway is good enough: Qstep^2 / 12 per sample, chroma included. */
    if (leaf.error * 16 * 24 <= samples_of_two(coder) * (tree->squared_step << (2 * log2_size)))
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
