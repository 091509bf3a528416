/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Coefficients of a transform unit whose only coded sub-block is the first. */
#include "coder_parts.h"

#include <stdlib.h>

/* A block's coefficients that are not 0, from the highest frequency down. */
struct significant {
    unsigned count;
    unsigned magnitudes[16];
    uint32_t signs;  /* one bit each, the first one on top */
    unsigned last;   /* scan position of the first of them, and of the last */
    unsigned first;
};

static struct significant collect(const int16_t levels[16])
{
    struct significant found = {0};
    for (unsigned scan = 16; scan-- > 0;) {
        int level = levels[hevc_scan[scan]];
        if (level == 0)
            continue;
        if (found.count == 0)
            found.last = scan;
        found.first = scan;
        found.magnitudes[found.count++] = (unsigned)abs(level);
        found.signs = found.signs << 1 | (level < 0);
    }
    return found;
}

/* last_sig_coeff_x_prefix or last_sig_coeff_y_prefix (9.3.4.2.3); within the first sub-block there is no suffix. */
static void write_last(struct hevc_coder *coder, struct slice *slice, unsigned base, unsigned component,
                       unsigned log2_size, unsigned value)
{
    unsigned offset = component == LUMA ? 3 * (log2_size - 2) + ((log2_size - 1) >> 2) : 15;
    unsigned shift = component == LUMA ? (log2_size + 1) >> 2 : log2_size - 2;
    for (unsigned bin = 0; bin < value; bin++)
        write_bin(coder, slice, base + offset + (bin >> shift), 1);
    if (value < 2 * log2_size - 1)
        write_bin(coder, slice, base + offset + (value >> shift), 0);
}

/* ctxInc of sig_coeff_flag (9.3.4.2.5) in the first sub-block, no other being coded. */
static unsigned significance_context(unsigned component, unsigned log2_size, unsigned index)
{
    static const uint8_t smallest[15] = {0, 1, 4, 5, 2, 3, 4, 5, 6, 6, 8, 8, 7, 7, 8};
    unsigned x = index & 3, y = index >> 2, context;
    if (log2_size == 2)
        context = smallest[index];
    else if (index == 0)
        context = 0;
    else
        context = (x + y < 3) + (component == LUMA ? (log2_size == 3 ? 9 : 21) : (log2_size == 3 ? 9 : 12));
    return component == LUMA ? context : 27 + context;
}

/* coeff_abs_level_remaining (9.3.3.11) */
static void write_remaining(struct hevc_coder *coder, struct slice *slice, unsigned value, unsigned rice)
{
    unsigned prefix = value >> rice;
    if (prefix < 4) {
        write_bypass(coder, slice, (1u << (prefix + 1)) - 2, prefix + 1);
        write_bypass(coder, slice, value & ((1u << rice) - 1), rice);
        return;
    }
    /* Exp-Golomb of order rice + 1, behind four ones. */
    unsigned rest = value - (4u << rice), length = rice + 1, ones = 4;
    for (; rest >= 1u << length; length++, ones++)
        rest -= 1u << length;
    write_bypass(coder, slice, (1u << ones) - 1, ones);
    write_bypass(coder, slice, 0, 1);
    write_bypass(coder, slice, rest, length);
}

/* coeff_abs_level_greater1_flag and coeff_abs_level_greater2_flag (9.3.4.2.6, 9.3.4.2.7). Returns the index of the
 * coefficient that has the latter. */
static unsigned write_greater(struct hevc_coder *coder, struct slice *slice, unsigned component,
                              const struct significant *found)
{
    unsigned context = 1, second = 16;
    for (unsigned index = 0; index < found->count && index < 8; index++) {
        bool greater = found->magnitudes[index] > 1;
        write_bin(coder, slice, CTX_COEFF_ABS_LEVEL_GREATER1_FLAG + (component == LUMA ? 0 : 16) + context, greater);
        if (greater && second == 16)
            second = index;
        context = greater || context == 0 ? 0 : context < 3 ? context + 1 : 3;
    }
    if (second < 16)
        write_bin(coder, slice, CTX_COEFF_ABS_LEVEL_GREATER2_FLAG + (component == LUMA ? 0 : 4),
                  found->magnitudes[second] > 2);
    return second;
}

void write_residual(struct hevc_coder *coder, struct slice *slice, unsigned component, unsigned log2_size,
                    const int16_t levels[16])
{
    struct significant found = collect(levels);
    if (coder->pps.transform_skip_enabled_flag && log2_size == 2)
        write_bin(coder, slice, CTX_TRANSFORM_SKIP_FLAG + (component != LUMA), 0);
    write_last(coder, slice, CTX_LAST_SIG_COEFF_X_PREFIX, component, log2_size, hevc_scan[found.last] & 3);
    write_last(coder, slice, CTX_LAST_SIG_COEFF_Y_PREFIX, component, log2_size, hevc_scan[found.last] >> 2);
    for (unsigned scan = found.last; scan-- > 0;) {
        unsigned index = hevc_scan[scan];
        write_bin(coder, slice, CTX_SIG_COEFF_FLAG + significance_context(component, log2_size, index),
                  levels[index] != 0);
    }
    unsigned second = write_greater(coder, slice, component, &found);
    bool hidden = coder->pps.sign_data_hiding_enabled_flag && found.last - found.first > 3;
    write_bypass(coder, slice, hidden ? found.signs >> 1 : found.signs, found.count - hidden);
    unsigned rice = 0;
    for (unsigned index = 0; index < found.count; index++) {
        /* What the flags before say already. */
        unsigned base = index >= 8 ? 1 : index == second ? 3 : 2;
        if (found.magnitudes[index] < base)
            continue;
        write_remaining(coder, slice, found.magnitudes[index] - base, rice);
        if (found.magnitudes[index] > 3u << rice && rice < 4)
            rice++;
    }
}
