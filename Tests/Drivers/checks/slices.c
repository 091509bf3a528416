/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How slices lie in the picture, by the slice parameters. */
#include "checker.h"

/* Blocks follow each other from slice to slice, up to the picture's last. */
static void check_coverage(struct checker *checker, uint64_t total)
{
    const struct codec_checks *codec = checker->codec;
    uint64_t next = 0;
    for (uint32_t i = 0; i < checker->picture.slice_count; i++) {
        struct slice_extent extent = codec->slice_extent(&checker->picture.slices[i].parameters);
        if (extent.first != next)
            slice_finding(checker, i, codec->slice_address_finding, codec->slice_buffer,
                          "begins at %u, the slices before end at %llu", extent.first, (unsigned long long)next);
        if (extent.count == 0)
            slice_finding(checker, i, codec->slice_empty_finding, codec->slice_buffer, "has no blocks");
        next = (uint64_t)extent.first + extent.count;
    }
    if (next != total)
        finding(checker, codec->slice_total_finding, codec->slice_buffer,
                "the last slice ends at block %llu, the picture at %llu", (unsigned long long)next,
                (unsigned long long)total);
}

/* Whether the slices are whole rows in one of the ways that the driver advertises. */
static bool structure_allowed(const struct checker *checker, uint32_t columns)
{
    const struct codec_checks *codec = checker->codec;
    uint32_t allowed = checker->config.limits.slice_structures, count = checker->picture.slice_count;
    uint32_t first = codec->slice_extent(&checker->picture.slices[0].parameters).count;
    bool equal = true;
    if (count <= 1 || allowed & VA_ENC_SLICE_STRUCTURE_ARBITRARY_MACROBLOCKS)
        return true;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t blocks = codec->slice_extent(&checker->picture.slices[i].parameters).count;
        if (columns == 0 || blocks % columns != 0)
            return false;
        equal = equal && (blocks == first || (i == count - 1 && blocks < first));
    }
    uint32_t rows = first / columns;
    return allowed & VA_ENC_SLICE_STRUCTURE_ARBITRARY_ROWS ||
           (allowed & VA_ENC_SLICE_STRUCTURE_EQUAL_MULTI_ROWS && equal) ||
           (allowed & VA_ENC_SLICE_STRUCTURE_EQUAL_ROWS && equal) ||
           (allowed & VA_ENC_SLICE_STRUCTURE_POWER_OF_TWO_ROWS && equal && (rows & (rows - 1)) == 0);
}

bool check_slice_buffers(struct checker *checker)
{
    uint32_t count = checker->picture.slice_count, most = checker->config.limits.maximum_slices;
    if (!checker->collected.picture)
        finding(checker, "picture-buffer-missing", checker->codec->picture_buffer, "none came");
    if (count == 0) {
        finding(checker, "slice-buffer-missing", checker->codec->slice_buffer, "none came");
        return false;
    }
    if (count > most || checker->collected.slices_ignored)
        finding(checker, "slice-count-beyond-limit", "va.h VAConfigAttribEncMaxSlices", "%u slices, allowed are %u",
                count, most);
    return true;
}

void check_slice_layout(struct checker *checker, uint32_t columns, uint32_t rows)
{
    check_coverage(checker, (uint64_t)columns * rows);
    if (!structure_allowed(checker, columns))
        finding(checker, "slice-structure", "va.h VAConfigAttribEncSliceStructure",
                "the slices are none of the structures 0x%x", checker->config.limits.slice_structures);
}
