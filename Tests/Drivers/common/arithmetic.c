/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "arithmetic.h"

/* H.264 table 9-44, H.265 table 9-52. */
static const uint8_t range_lps[64][4] = {
    {128, 176, 208, 240}, {128, 167, 197, 227}, {128, 158, 187, 216}, {123, 150, 178, 205}, {116, 142, 169, 195},
    {111, 135, 160, 185}, {105, 128, 152, 175}, {100, 122, 144, 166}, {95, 116, 137, 158}, {90, 110, 130, 150},
    {85, 104, 123, 142}, {81, 99, 117, 135}, {77, 94, 111, 128}, {73, 89, 105, 122}, {69, 85, 100, 116},
    {66, 80, 95, 110}, {62, 76, 90, 104}, {59, 72, 86, 99}, {56, 69, 81, 94}, {53, 65, 77, 89}, {51, 62, 73, 85},
    {48, 59, 69, 80}, {46, 56, 66, 76}, {43, 53, 63, 72}, {41, 50, 59, 69}, {39, 48, 56, 65}, {37, 45, 54, 62},
    {35, 43, 51, 59}, {33, 41, 48, 56}, {32, 39, 46, 53}, {30, 37, 43, 50}, {29, 35, 41, 48}, {27, 33, 39, 45},
    {26, 31, 37, 43}, {24, 30, 35, 41}, {23, 28, 33, 39}, {22, 27, 32, 37}, {21, 26, 30, 35}, {20, 24, 29, 33},
    {19, 23, 27, 31}, {18, 22, 26, 30}, {17, 21, 25, 28}, {16, 20, 23, 27}, {15, 19, 22, 25}, {14, 18, 21, 24},
    {14, 17, 20, 23}, {13, 16, 19, 22}, {12, 15, 18, 21}, {12, 14, 17, 20}, {11, 14, 16, 19}, {11, 13, 15, 18},
    {10, 12, 15, 17}, {10, 12, 14, 16}, {9, 11, 13, 15}, {9, 11, 12, 14}, {8, 10, 12, 14}, {8, 9, 11, 13},
    {7, 9, 11, 12}, {7, 9, 10, 12}, {7, 8, 10, 11}, {6, 8, 9, 11}, {6, 7, 9, 10}, {6, 7, 8, 9}, {2, 2, 2, 2},
};

/* transIdxLPS: H.264 table 9-45, H.265 table 9-53. */
static const uint8_t next_state_lps[64] = {
    0, 0, 1, 2, 2, 4, 4, 5, 6, 7, 8, 9, 9, 11, 11, 12, 13, 13, 15, 15, 16, 16, 18, 18, 19, 19, 21, 21, 22, 22, 23,
    24, 24, 25, 26, 26, 27, 27, 28, 29, 29, 30, 30, 30, 31, 32, 32, 33, 33, 33, 34, 34, 35, 35, 35, 36, 36, 36, 37,
    37, 37, 38, 38, 63,
};

uint8_t arithmetic_state(int preliminary)
{
    int state = preliminary < 1 ? 1 : preliminary > 126 ? 126 : preliminary;
    return (uint8_t)(state <= 63 ? (63 - state) << 1 : (state - 64) << 1 | 1);
}

void arithmetic_start(struct arithmetic *engine)
{
    *engine = (struct arithmetic){.range = 510, .first = true};
}

/* PutBit */
static void put_bit(struct arithmetic *engine, struct bits *bits, unsigned bit)
{
    if (engine->first)
        engine->first = false;
    else
        bits_put(bits, bit, 1);
    for (; engine->outstanding > 0; engine->outstanding--)
        bits_put(bits, !bit, 1);
}

/* RenormE */
static void renormalise(struct arithmetic *engine, struct bits *bits)
{
    while (engine->range < 256) {
        if (engine->low < 256) {
            put_bit(engine, bits, 0);
        } else if (engine->low >= 512) {
            engine->low -= 512;
            put_bit(engine, bits, 1);
        } else {
            engine->low -= 256;
            engine->outstanding++;
        }
        engine->range <<= 1;
        engine->low <<= 1;
    }
}

void arithmetic_encode(struct arithmetic *engine, uint8_t *context, unsigned bin, struct bits *bits)
{
    unsigned state = *context >> 1, most_probable = *context & 1;
    uint32_t least = range_lps[state][engine->range >> 6 & 3];
    engine->range -= least;
    if (bin == most_probable) {
        if (state < 62)
            state++;
    } else {
        engine->low += engine->range;
        engine->range = least;
        if (state == 0)
            most_probable = !most_probable;
        state = next_state_lps[state];
    }
    *context = (uint8_t)(state << 1 | most_probable);
    renormalise(engine, bits);
}

void arithmetic_encode_bypass(struct arithmetic *engine, unsigned bin, struct bits *bits)
{
    engine->low <<= 1;
    if (bin)
        engine->low += engine->range;
    if (engine->low >= 1024) {
        put_bit(engine, bits, 1);
        engine->low -= 1024;
    } else if (engine->low < 512) {
        put_bit(engine, bits, 0);
    } else {
        engine->low -= 512;
        engine->outstanding++;
    }
}

void arithmetic_encode_terminate(struct arithmetic *engine, unsigned bin, struct bits *bits)
{
    engine->range -= 2;
    if (!bin) {
        renormalise(engine, bits);
        return;
    }
    engine->low += engine->range;
    engine->range = 2;
    renormalise(engine, bits);
    put_bit(engine, bits, engine->low >> 9 & 1);
    bits_put(bits, (engine->low >> 7 & 3) | 1, 2);
}
