/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads every parameter set and slice header of an Annex B stream, writes it again and compares bit by bit; then
 * damages each in many ways and reads that (sanitizers watch). With "trace", prints each element instead.
 *
 *     syntax_round_trip check|trace FILE    HEVC where the name ends in .265, else H.264
 *     syntax_round_trip framing SEED */
#include "syntax_round_trip/codec.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct codec *codec;
static unsigned read_units, damaged_units, damaged_accepted;
static bool tracing;

static void die(const char *reason)
{
    fprintf(stderr, "%s\n", reason);
    exit(1);
}

static void print_element(void *token, const char *name, size_t first_bit, size_t bit_count, int64_t value)
{
    (void)token;
    printf("%s %zu %zu %" PRId64 "\n", name, first_bit, bit_count, value);
}

/* Elements must follow each other without gap from the first bit to the last. */
static void follow_element(void *token, const char *name, size_t first_bit, size_t bit_count, int64_t value)
{
    size_t *next = token;
    (void)value;
    if (first_bit != *next) {
        fprintf(stderr, "%s starts at bit %zu, but the element before ended at %zu\n", name, first_bit, *next);
        exit(1);
    }
    *next += bit_count;
}

static bool same_bits(const struct bits *bits, const uint8_t *bytes, size_t count)
{
    if (bits->count != count || memcmp(bits->bytes, bytes, count / 8))
        return false;
    return count % 8 == 0 || !((bits->bytes[count / 8] ^ bytes[count / 8]) >> (8 - count % 8));
}

/* Reads a damaged unit: it may be refused, or be read; what was read must survive being written and read. */
static void visit_damaged(const uint8_t *nal, size_t bit_count)
{
    /* A copy of exactly the size, so that the sanitizer sees a read behind the end. */
    size_t size = (bit_count + 7) / 8;
    uint8_t *copy = malloc(size ? size : 1);
    memcpy(copy, nal, size);
    struct bits first = {0}, second = {0};
    struct syntax_error error;
    size_t end = 0, end_again = 0;
    damaged_units++;
    if (codec->visit(copy, bit_count, &end, &first, &error, NULL, false)) {
        damaged_accepted++;
        if (!same_bits(&first, copy, end))
            die("a damaged unit that could be read was not written as it was");
        bits_trail(&first);
        if (!codec->visit(first.bytes, first.count, &end_again, &second, &error, NULL, false) || end != end_again)
            die("a damaged unit that could be read was not read again");
    }
    bits_release(&first);
    bits_release(&second);
    free(copy);
}

static void damage(const uint8_t *nal, size_t bit_count, size_t end)
{
    size_t size = (bit_count + 7) / 8;
    uint8_t *copy = malloc(size);
    for (size_t count = 0; count < end; count++) {
        struct syntax_error error;
        struct bits again = {0};
        size_t stop;
        if (codec->visit(nal, count, &stop, &again, &error, NULL, false) && !codec->may_be_cut(nal))
            die("a unit that was cut off could be read");
        bits_release(&again);
        visit_damaged(nal, count);
        memcpy(copy, nal, size);
        copy[count / 8] ^= (uint8_t)(0x80 >> (count % 8));
        visit_damaged(copy, bit_count);
    }
    for (unsigned round = 0; round < 50; round++) {
        memcpy(copy, nal, size);
        for (unsigned hit = 0; hit <= round % 6; hit++)
            copy[(size_t)rand() % size] = (uint8_t)(rand() % 3 ? rand() : rand() % 2 * 255);
        visit_damaged(copy, bit_count);
    }
    free(copy);
}

static void round_trip(uint8_t *nal, size_t size)
{
    if (!codec->is_known(nal))
        return;
    struct bits again = {0};
    struct syntax_error error = {0};
    size_t end = 0, next = 0;
    struct syntax_options trace = {print_element, NULL}, follow = {follow_element, &next};
    if (tracing)
        printf("unit %u\n", codec->type(nal));
    if (!codec->visit(nal, size * 8, &end, &again, &error, tracing ? &trace : &follow, true)) {
        fprintf(stderr, "unit type %u: %s at bit %zu %s\n", codec->type(nal), error.element, error.bit, error.reason);
        exit(1);
    }
    if (!tracing && next != end)
        die("the elements do not reach the end");
    if (!same_bits(&again, nal, end))
        die("what was written is not what was read");
    if (codec->is_parameter_set(nal)) {
        bits_trail(&again);
        if (again.count != size * 8 || memcmp(again.bytes, nal, size))
            die("the trailing bits are not where the structure ends");
    }
    bits_release(&again);
    read_units++;
    /* Slice headers resemble each other: some are enough. */
    size_t head = size < 160 ? size : 160;
    if (!tracing && (read_units < 40 || read_units % 16 == 0))
        damage(nal, head * 8, end);
}

static void check_stream(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        die("cannot open the stream");
    fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(size + 1);
    if (fread(bytes, 1, size, file) != size)
        die("cannot read the stream");
    fclose(file);
    size_t unit = SIZE_MAX;
    for (size_t at = 0; at <= size; at++) {
        bool code = at + 3 <= size && bytes[at] == 0 && bytes[at + 1] == 0 && bytes[at + 2] == 1;
        if (!code && at != size)
            continue;
        if (unit != SIZE_MAX) {
            size_t length = at - unit;
            while (length && bytes[unit + length - 1] == 0)
                length--;
            round_trip(bytes + unit, bits_remove_emulation(bytes + unit, bytes + unit, length));
        }
        unit = at + 3;
        at += 2;
    }
    free(bytes);
}

/* The framing against a naive one that looks at each three bytes of the output. */
static void check_framing(unsigned seed)
{
    srand(seed);
    for (unsigned round = 0; round < 20000; round++) {
        uint8_t raw[96], naive[320];
        size_t size = 1 + (size_t)rand() % 64, length = 4;
        for (size_t i = 0; i < size; i++)
            raw[i] = (uint8_t)(rand() % 4 ? 0 : rand() % 3 ? rand() % 5 : rand());
        /* An RBSP ends in its stop bit, or behind that in pairs of zeros (cabac_zero_word). */
        raw[size - 1] |= 1;
        for (unsigned words = (unsigned)rand() % 4; words; words--, size += 2)
            memset(raw + size, 0, 2);
        memcpy(naive, "\0\0\0\1", 4);
        for (size_t i = 0; i < size; i++) {
            if (length >= 6 && !naive[length - 1] && !naive[length - 2] && raw[i] <= 3)
                naive[length++] = 3;
            naive[length++] = raw[i];
        }
        if (!raw[size - 1])
            naive[length++] = 3;
        struct bits nal = {0}, framed = {0};
        bits_append(&nal, raw, 0, size * 8);
        bits_frame_nal_unit(&framed, &nal);
        if (framed.count != length * 8 || memcmp(framed.bytes, naive, length))
            die("framing differs from the naive one");
        uint8_t back[320];
        if (bits_remove_emulation(back, framed.bytes + 4, length - 4) != size || memcmp(back, raw, size))
            die("removing emulation prevention does not give the bytes back");
        struct bits shifted = {0};
        size_t first = (size_t)rand() % (size * 8), count = (size_t)rand() % (size * 8 - first + 1);
        bits_put(&shifted, 0x5a5a5a5a, (unsigned)rand() % 33);
        size_t before = shifted.count;
        bits_append(&shifted, raw, first, count);
        for (size_t i = 0; i < count; i++)
            if ((raw[(first + i) / 8] >> (7 - (first + i) % 8) & 1) !=
                (shifted.bytes[(before + i) / 8] >> (7 - (before + i) % 8) & 1))
                die("bits_append copied a wrong bit");
        bits_release(&nal);
        bits_release(&framed);
        bits_release(&shifted);
    }
}

int main(int count, char **arguments)
{
    if (count != 3)
        die("usage: syntax_round_trip check|trace FILE | framing SEED");
    if (!strcmp(arguments[1], "framing")) {
        check_framing((unsigned)atoi(arguments[2]));
        return 0;
    }
    tracing = !strcmp(arguments[1], "trace");
    size_t length = strlen(arguments[2]);
    codec = length > 4 && !strcmp(arguments[2] + length - 4, ".265") ? &hevc_codec : &h264_codec;
    check_stream(arguments[2]);
    if (!tracing)
        printf("%u %u %u\n", read_units, damaged_units, damaged_accepted);
    return 0;
}
