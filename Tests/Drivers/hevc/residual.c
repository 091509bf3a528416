/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Transforms and quantisation, of the 16 lowest frequencies only. */
#include "coder_parts.h"

#include <stdlib.h>
#include <string.h>

/* transMatrix (8.6.4.2) of a transform of 1 << log2_size points: row is the frequency, column the place. */
static int coefficient(unsigned log2_size, bool sine, unsigned row, unsigned column)
{
    if (sine)
        return hevc_sine[row][column];
    unsigned angle = (row << (5 - log2_size)) * (2 * column + 1) & 127;
    if (angle > 64)
        angle = 128 - angle;
    if (angle == 32)
        return 0;
    return angle < 32 ? hevc_cosine[angle] : -hevc_cosine[64 - angle];
}

/* The four rows of lowest frequency. */
static void rows_of(unsigned log2_size, bool sine, int16_t rows[4][32])
{
    for (unsigned row = 0; row < 4; row++)
        for (unsigned column = 0; column < 1u << log2_size; column++)
            rows[row][column] = (int16_t)coefficient(log2_size, sine, row, column);
}

/* The forward transform without rounding: 4096 * size times the orthonormal one. */
static void transform(const int16_t *difference, unsigned log2_size, bool sine, int64_t out[16])
{
    int16_t rows[4][32];
    int32_t partial[4][32]; /* by horizontal frequency and line */
    unsigned size = 1u << log2_size;
    rows_of(log2_size, sine, rows);
    for (unsigned y = 0; y < size; y++)
        for (unsigned u = 0; u < 4; u++) {
            int32_t sum = 0;
            for (unsigned x = 0; x < size; x++)
                sum += difference[y * size + x] * rows[u][x];
            partial[u][y] = sum;
        }
    for (unsigned v = 0; v < 4; v++)
        for (unsigned u = 0; u < 4; u++) {
            int64_t sum = 0;
            for (unsigned y = 0; y < size; y++)
                sum += (int64_t)partial[u][y] * rows[v][y];
            out[4 * v + u] = sum;
        }
}

/* How a level is to change so that its sum's parity is the hidden sign: by least error. */
struct adjustment {
    int64_t cost;
    int index, change;
};

/* 7.4.9.11 and 7.3.8.11: with sign data hiding the first coefficient's sign is the parity of the sum of magnitudes.
 * `error` is magnitude wanted minus magnitude coded, in 1/65536. */
static void hide_sign(int16_t levels[16], const int32_t error[16])
{
    int first = -1, last = -1, sum = 0;
    for (int scan = 0; scan < 16; scan++) {
        int level = levels[hevc_scan[scan]];
        if (level == 0)
            continue;
        if (first < 0)
            first = scan;
        last = scan;
        sum += abs(level);
    }
    if (last - first <= 3 || (sum & 1) == (levels[hevc_scan[first]] < 0))
        return;
    struct adjustment best = {.cost = INT64_MAX};
    for (int scan = first; scan <= last; scan++) {
        int index = hevc_scan[scan], magnitude = abs(levels[index]);
        bool end = scan == first || scan == last;
        for (int change = -1; change <= 1; change += 2) {
            /* The first and the last stay what they are; a coefficient that is 0 takes no sign here. */
            if (magnitude == 0 || (magnitude + change == 0 && end))
                continue;
            int64_t left = (int64_t)error[index] - change * 65536;
            int64_t cost = left * left - (int64_t)error[index] * error[index];
            if (cost < best.cost)
                best = (struct adjustment){.cost = cost, .index = index, .change = change};
        }
    }
    levels[best.index] = (int16_t)(levels[best.index] + (levels[best.index] < 0 ? -best.change : best.change));
}

bool residual_quantise(const int16_t *difference, unsigned log2_size, int qp, bool sine, bool intra, bool hide_signs,
                       int16_t levels[16])
{
    int64_t coefficients[16];
    int32_t error[16];
    bool any = false;
    transform(difference, log2_size, sine, coefficients);
    /* 14 bits of the quantiser's scale, and 4096 * size of the transform above; the bit depth is in qp. */
    unsigned shift = 14 + (unsigned)qp / 6 + 12 + log2_size;
    for (unsigned index = 0; index < 16; index++) {
        int64_t scaled = llabs(coefficients[index]) * hevc_quantiser_scale[qp % 6];
        int64_t level = (scaled + ((int64_t)1 << shift) / (intra ? 3 : 6)) >> shift;
        if (level > INT16_MAX - 1)
            level = INT16_MAX - 1;
        int64_t rest = scaled - (level << shift);
        error[index] = (int32_t)(rest >> (shift - 16));
        levels[index] = (int16_t)(coefficients[index] < 0 ? -level : level);
        any |= level != 0;
    }
    if (any && hide_signs)
        hide_sign(levels, error);
    return any;
}

/* 8.6.3 */
static int scale(int level, unsigned log2_size, unsigned depth_bits, int qp)
{
    unsigned shift = depth_bits + log2_size - 5;
    int64_t value = (int64_t)level * 16 * hevc_level_scale[qp % 6] * ((int64_t)1 << (qp / 6));
    value = (value + ((int64_t)1 << (shift - 1))) >> shift;
    return value < INT16_MIN ? INT16_MIN : value > INT16_MAX ? INT16_MAX : (int)value;
}

void residual_restore(const int16_t levels[16], unsigned log2_size, unsigned depth_bits, int qp, bool sine,
                      int16_t *difference)
{
    int16_t rows[4][32];
    int coefficients[16], columns[32][4]; /* the first stage, by line and horizontal frequency */
    unsigned size = 1u << log2_size, shift = 20 - depth_bits;
    rows_of(log2_size, sine, rows);
    for (unsigned index = 0; index < 16; index++)
        coefficients[index] = levels[index] ? scale(levels[index], log2_size, depth_bits, qp) : 0;
    for (unsigned y = 0; y < size; y++)
        for (unsigned u = 0; u < 4; u++) {
            int sum = 64;
            for (unsigned v = 0; v < 4; v++)
                sum += coefficients[4 * v + u] * rows[v][y];
            columns[y][u] = clip3(INT16_MIN, INT16_MAX, sum >> 7);
        }
    for (unsigned y = 0; y < size; y++)
        for (unsigned x = 0; x < size; x++) {
            int sum = 1 << (shift - 1);
            for (unsigned u = 0; u < 4; u++)
                sum += columns[y][u] * rows[u][x];
            difference[y * size + x] = (int16_t)(sum >> shift);
        }
}

uint32_t hevc_estimate_bits(const int16_t levels[16])
{
    uint32_t bits = 4;
    bool after = false;
    for (unsigned scan = 16; scan-- > 0;) {
        unsigned magnitude = (unsigned)abs(levels[hevc_scan[scan]]);
        if (magnitude)
            bits += 1 + 2 * (32 - (unsigned)__builtin_clz(magnitude));
        after |= magnitude != 0;
        bits += after;
    }
    return bits;
}

uint64_t residual_lost(const int16_t *difference, unsigned log2_size)
{
    int64_t coefficients[16];
    uint64_t total = 0, kept = 0;
    unsigned size = 1u << log2_size;
    transform(difference, log2_size, false, coefficients);
    for (unsigned index = 0; index < size * size; index++)
        total += (uint64_t)(difference[index] * difference[index]);
    for (unsigned index = 0; index < 16; index++) {
        int64_t value = coefficients[index] >> 6;
        kept += (uint64_t)(value * value) >> (12 + 2 * log2_size);
    }
    return total > kept ? total - kept : 0;
}

int residual_qp(const struct hevc_coder *coder, const struct slice *slice, unsigned component, int qp)
{
    if (component == LUMA)
        return qp + coder->qp_offset;
    int index = clip3(-coder->qp_offset, 57, qp + slice->chroma_offset[component - 1]);
    return hevc_chroma_qp(coder->chroma_format, index) + coder->qp_offset;
}

uint64_t residual_squared_step(int qp)
{
    /* 2^((qp - 4) / 3) * 16 * 2^4 before the last shift, to keep fractions. */
    static const uint16_t thirds[3] = {256, 323, 406};
    int power = qp - 4 + 12;
    uint64_t step = (uint64_t)thirds[power % 3] << (power / 3);
    return step >> 8;
}
