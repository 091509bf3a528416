/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waves of intra refresh over pictures: VAEncMiscParameterRIR names the columns or rows of one picture, and only a
 * whole wave renews everything. */
#include "checker.h"

#include <string.h>

#define CLAUSE "va.h VAEncMiscParameterRIR"

static bool is_covered(const struct wave *wave, uint32_t block)
{
    return wave->covered[block / 32] >> block % 32 & 1;
}

static uint32_t first_left_out(const struct wave *wave)
{
    uint32_t block = 0;
    while (block < wave->length && is_covered(wave, block))
        block++;
    return block;
}

static bool adds_nothing(const struct wave *wave, const struct refreshed_blocks *blocks)
{
    for (uint32_t block = blocks->first; block < blocks->end; block++)
        if (!is_covered(wave, block))
            return false;
    return true;
}

static void add(struct wave *wave, const struct refreshed_blocks *blocks)
{
    if (!wave->running)
        *wave = (struct wave){.running = true, .by_column = blocks->by_column, .length = blocks->length};
    for (uint32_t block = blocks->first; block < blocks->end; block++)
        wave->covered[block / 32] |= 1u << block % 32;
    wave->running = first_left_out(wave) < wave->length;
}

/* Whether the picture predicts from anything but the reference picture that was coded last: what the wave has renewed
 * since then is not renewed there. */
static bool refers_behind(const struct checker *checker)
{
    for (uint32_t i = 0; i < checker->picture.slice_count; i++) {
        const struct understood_slice *slice = &checker->picture.slices[i];
        for (unsigned list = 0; list < 2; list++)
            for (uint32_t n = 0; n < slice->reference_count[list]; n++)
                if (slice->references[list][n].surface != checker->history.latest_reference)
                    return true;
    }
    return false;
}

/* Whether the picture's part is where a wave starts again and does not go on. */
static bool starts_again(const struct wave *wave, const struct refreshed_blocks *blocks)
{
    return wave->by_column != blocks->by_column || wave->length != blocks->length || adds_nothing(wave, blocks);
}

void check_intra_refresh(struct checker *checker)
{
    const struct wave *wave = &checker->history.wave;
    const struct refreshed_blocks *blocks = &checker->collected.refreshed;
    if (!wave->running || blocks->first == blocks->end || picture_type(checker) == CODED_I)
        return;
    bool behind = refers_behind(checker);
    if (starts_again(wave, blocks) && !behind)
        finding(checker, "intra-refresh-gap", CLAUSE, "a new wave starts though the last one has left out %s %u of %u",
                wave->by_column ? "column" : "row", first_left_out(wave), wave->length);
    else if (!starts_again(wave, blocks) && behind)
        finding(checker, "intra-refresh-reference", CLAUSE,
                "the wave goes on in a picture that predicts from pictures before the last reference picture");
}

void remember_intra_refresh(struct checker *checker)
{
    struct wave *wave = &checker->history.wave;
    const struct refreshed_blocks *blocks = &checker->collected.refreshed;
    if (picture_type(checker) == CODED_I) {
        wave->running = false;
    } else if (blocks->first < blocks->end) {
        if (wave->running && (starts_again(wave, blocks) || refers_behind(checker)))
            wave->running = false;
        add(wave, blocks);
    }
    if (checker->picture.reference)
        checker->history.latest_reference = checker->picture.reconstruction;
}
