/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "md5.h"

#include <stdio.h>
#include <string.h>

/* RFC 1321 3.4: the integer part of 2^32 * |sin(i + 1)|. */
static const uint32_t sines[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};

static const uint8_t rotations[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

static uint32_t little_endian(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static uint32_t rotated(uint32_t value, unsigned count)
{
    return value << count | value >> (32 - count);
}

/* One operation of round `round` with word `k` and sine `i`: a = b + ((a + F(b, c, d) + X[k] + T[i]) <<< s). */
#define OPERATION(a, b, c, d, function, k, i) \
    a = b + rotated(a + (function) + words[k] + sines[i], rotations[(i) / 16][(i) % 4])

static void md5_block(uint32_t state[4], const uint8_t *block)
{
    uint32_t words[16];
    for (unsigned i = 0; i < 16; i++)
        words[i] = little_endian(block + 4 * i);
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    for (unsigned i = 0; i < 16; i += 4) {
        OPERATION(a, b, c, d, (b & c) | (~b & d), i, i);
        OPERATION(d, a, b, c, (a & b) | (~a & c), i + 1, i + 1);
        OPERATION(c, d, a, b, (d & a) | (~d & b), i + 2, i + 2);
        OPERATION(b, c, d, a, (c & d) | (~c & a), i + 3, i + 3);
    }
    for (unsigned i = 16; i < 32; i += 4) {
        OPERATION(a, b, c, d, (b & d) | (c & ~d), (5 * i + 1) % 16, i);
        OPERATION(d, a, b, c, (a & c) | (b & ~c), (5 * (i + 1) + 1) % 16, i + 1);
        OPERATION(c, d, a, b, (d & b) | (a & ~b), (5 * (i + 2) + 1) % 16, i + 2);
        OPERATION(b, c, d, a, (c & a) | (d & ~a), (5 * (i + 3) + 1) % 16, i + 3);
    }
    for (unsigned i = 32; i < 48; i += 4) {
        OPERATION(a, b, c, d, b ^ c ^ d, (3 * i + 5) % 16, i);
        OPERATION(d, a, b, c, a ^ b ^ c, (3 * (i + 1) + 5) % 16, i + 1);
        OPERATION(c, d, a, b, d ^ a ^ b, (3 * (i + 2) + 5) % 16, i + 2);
        OPERATION(b, c, d, a, c ^ d ^ a, (3 * (i + 3) + 5) % 16, i + 3);
    }
    for (unsigned i = 48; i < 64; i += 4) {
        OPERATION(a, b, c, d, c ^ (b | ~d), (7 * i) % 16, i);
        OPERATION(d, a, b, c, b ^ (a | ~c), (7 * (i + 1)) % 16, i + 1);
        OPERATION(c, d, a, b, a ^ (d | ~b), (7 * (i + 2)) % 16, i + 2);
        OPERATION(b, c, d, a, d ^ (c | ~a), (7 * (i + 3)) % 16, i + 3);
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

void md5_begin(struct md5 *md5)
{
    *md5 = (struct md5){.state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476}};
}

void md5_add(struct md5 *md5, const void *bytes, size_t size)
{
    const uint8_t *next = bytes;
    size_t kept = md5->length % 64;
    md5->length += size;
    if (kept) {
        size_t taken = size < 64 - kept ? size : 64 - kept;
        memcpy(md5->block + kept, next, taken);
        next += taken;
        size -= taken;
        if (kept + taken < 64)
            return;
        md5_block(md5->state, md5->block);
    }
    for (; size >= 64; next += 64, size -= 64)
        md5_block(md5->state, next);
    if (size)
        memcpy(md5->block, next, size);
}

void md5_end(struct md5 *md5, char text[MD5_TEXT_SIZE])
{
    static const uint8_t padding[64] = {0x80};
    uint64_t bits = md5->length * 8;
    uint8_t length[8];
    for (unsigned i = 0; i < 8; i++)
        length[i] = (uint8_t)(bits >> 8 * i);
    md5_add(md5, padding, 1 + (119 - md5->length % 64) % 64);
    md5_add(md5, length, sizeof(length));
    for (unsigned i = 0; i < 16; i++)
        snprintf(text + 2 * i, 3, "%02x", (unsigned)(md5->state[i / 4] >> 8 * (i % 4) & 0xff));
}
