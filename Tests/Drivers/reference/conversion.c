/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "conversion.h"

#include <stdlib.h>

#define WHITE (255 << 8) /* of red, green and blue */
#define CENTRE (128 << 8)
#define WHOLE 10000 /* of Kr + Kg + Kb */

/* round(numerator / denominator), the greater one of two that are as near. */
static int64_t divide(int64_t numerator, int64_t denominator)
{
    int64_t doubled = 2 * numerator + denominator, divisor = 2 * denominator;
    return doubled >= 0 ? doubled / divisor : -((-doubled + divisor - 1) / divisor);
}

bool conversion_is_rgb(const struct pixel_format *format)
{
    return format->rt_format == VA_RT_FORMAT_RGB32;
}

static unsigned depth_of(const struct pixel_format *format)
{
    return format->rt_format == VA_RT_FORMAT_YUV420_10 ? 10 : 8;
}

/* Numbers of a YCbCr colour space on the scale of 16 bits. */
struct space {
    int64_t red, green, blue; /* Kr, Kg, Kb */
    int64_t start, span, chroma_span;
};

static struct space space_of(const struct conversion_colour *colour, unsigned depth)
{
    static const int64_t reds[] = {[MATRIX_BT601] = 2990, [MATRIX_BT709] = 2126, [MATRIX_BT2020] = 2627};
    static const int64_t blues[] = {[MATRIX_BT601] = 1140, [MATRIX_BT709] = 722, [MATRIX_BT2020] = 593};
    int64_t red = reds[colour->matrix], blue = blues[colour->matrix];
    int64_t peak = (int64_t)((1u << depth) - 1) << (16 - depth);
    struct space space = {red, WHOLE - red - blue, blue, 0, peak, peak};
    if (!colour->full_range) {
        space.start = 16 << 8;
        space.span = 219 << 8;
        space.chroma_span = 224 << 8;
    }
    return space;
}

static bool same_space(const struct space *a, const struct space *b)
{
    return a->red == b->red && a->blue == b->blue && a->start == b->start && a->span == b->span &&
           a->chroma_span == b->chroma_span;
}

/* Components of a pixel: Y, Cb, Cr or R, G, B. */
struct pixel {
    int64_t first, second, third;
};

static struct pixel to_rgb(const struct space *space, struct pixel in)
{
    const int64_t chroma = WHOLE * space->chroma_span;
    int64_t luma = divide((in.first - space->start) * WHITE, space->span);
    struct pixel out;
    out.first = luma + divide(2 * (WHOLE - space->red) * (in.third - CENTRE) * WHITE, chroma);
    out.third = luma + divide(2 * (WHOLE - space->blue) * (in.second - CENTRE) * WHITE, chroma);
    out.second = divide(WHOLE * luma - space->red * out.first - space->blue * out.third, space->green);
    return out;
}

static struct pixel from_rgb(const struct space *space, struct pixel in)
{
    int64_t luma = space->red * in.first + space->green * in.second + space->blue * in.third;
    return (struct pixel){
        space->start + divide(luma * space->span, WHOLE * (int64_t)WHITE),
        CENTRE + divide((WHOLE * in.third - luma) * space->chroma_span, 2 * (WHOLE - space->blue) * WHITE),
        CENTRE + divide((WHOLE * in.first - luma) * space->chroma_span, 2 * (WHOLE - space->red) * WHITE),
    };
}

/* How pixels of one direction are made of those of the source: `count` weights from `first` on. */
struct weights {
    uint32_t first, count;
    uint64_t *values; /* into a list that all share */
};

struct axis {
    struct weights *of; /* per pixel of the target's region */
    uint64_t *values;
    uint64_t sum; /* of the weights of each */
};

static void cover(struct weights *weights, uint32_t index, uint32_t from, uint32_t to)
{
    uint64_t start = (uint64_t)index * from, end = start + from; /* in parts of `to` per source pixel */
    weights->first = (uint32_t)(start / to);
    weights->count = (uint32_t)((end + to - 1) / to) - weights->first;
    for (uint32_t i = 0; i < weights->count; i++) {
        uint64_t left = (uint64_t)(weights->first + i) * to, right = left + to;
        weights->values[i] = (right < end ? right : end) - (left > start ? left : start);
    }
}

static void surround(struct weights *weights, uint32_t index, uint32_t from, uint32_t to)
{
    const int64_t unit = 2 * (int64_t)to;
    int64_t place = (2 * (int64_t)index + 1) * from - to; /* of the centre, beyond that of the first source pixel */
    if (place < 0)
        place = 0;
    if (place > (from - 1) * unit)
        place = (from - 1) * unit;
    weights->first = (uint32_t)(place / unit);
    weights->count = place % unit ? 2 : 1;
    weights->values[0] = (uint64_t)(unit - place % unit);
    weights->values[1] = (uint64_t)(place % unit);
}

static bool axis_open(struct axis *axis, uint32_t from, uint32_t to)
{
    uint32_t most = to > from ? 2 : from / to + 2;
    axis->of = malloc(to * sizeof(axis->of[0]));
    axis->values = malloc((size_t)to * most * sizeof(axis->values[0]));
    axis->sum = to > from ? 2 * (uint64_t)to : from;
    for (uint32_t i = 0; axis->of && axis->values && i < to; i++) {
        axis->of[i].values = axis->values + (size_t)i * most;
        (to > from ? surround : cover)(&axis->of[i], i, from, to);
    }
    return axis->of && axis->values;
}

static void axis_close(struct axis *axis)
{
    free(axis->of);
    free(axis->values);
}

/* What a conversion works with. */
struct work {
    const struct conversion *conversion;
    struct space source_space, target_space;
    bool keeps_colour; /* components stay as they are */
    struct pixel background; /* red, green, blue */
    struct axis columns, rows;
    struct pixel *unpacked; /* a row of the source's region */
    struct pixel *sums;     /* a row of the target's region */
    struct pixel *lines[2]; /* whole rows of the target */
};

static int64_t blend(uint8_t component, int64_t background, uint8_t alpha)
{
    return divide((int64_t)alpha * (component << 8) + (255 - alpha) * background, 255);
}

static struct pixel unpack_rgb(const struct work *work, const uint8_t *bytes)
{
    enum pixel_kind kind = pixel_kind(work->conversion->source.format);
    bool blue_first = kind == PIXEL_BGRA || kind == PIXEL_BGRX;
    uint8_t alpha = kind == PIXEL_BGRA || kind == PIXEL_RGBA ? bytes[3] : 255;
    return (struct pixel){
        blend(bytes[blue_first ? 2 : 0], work->background.first, alpha),
        blend(bytes[1], work->background.second, alpha),
        blend(bytes[blue_first ? 0 : 2], work->background.third, alpha),
    };
}

/* The 10 bits that count of a little-endian word. */
static int64_t ten_bits(const uint8_t *bytes)
{
    return (bytes[0] & 0xc0) | bytes[1] << 8;
}

static struct pixel unpack(const struct work *work, uint32_t x, uint32_t y)
{
    const struct conversion_picture *source = &work->conversion->source;
    const uint8_t *first = source->planes[0] + (size_t)y * source->pitches[0];
    const uint8_t *chroma = source->format->plane_count > 1 ? source->planes[1] + (size_t)(y / 2) * source->pitches[1]
                                                            : NULL;
    switch (pixel_kind(source->format)) {
    case PIXEL_NV12:
        chroma += x / 2 * 2;
        return (struct pixel){first[x] << 8, chroma[0] << 8, chroma[1] << 8};
    case PIXEL_P010:
        chroma += x / 2 * 4;
        return (struct pixel){ten_bits(first + 2 * (size_t)x), ten_bits(chroma), ten_bits(chroma + 2)};
    case PIXEL_YUY2:
        chroma = first + x / 2 * 4;
        return (struct pixel){first[2 * (size_t)x] << 8, chroma[1] << 8, chroma[3] << 8};
    default:
        return unpack_rgb(work, first + 4 * (size_t)x);
    }
}

/* Adds a row of the source, brought to the target's columns, to the sums. */
static void add_row(const struct work *work, uint32_t y, uint64_t weight)
{
    const struct conversion_region *from = &work->conversion->from;
    for (uint32_t x = 0; x < from->width; x++)
        work->unpacked[x] = unpack(work, from->x + x, from->y + y);
    for (uint32_t x = 0; x < work->conversion->to.width; x++) {
        const struct weights *weights = &work->columns.of[x];
        struct pixel *sum = &work->sums[x];
        for (uint32_t i = 0; i < weights->count; i++) {
            const struct pixel *pixel = &work->unpacked[weights->first + i];
            int64_t share = (int64_t)(weights->values[i] * weight);
            sum->first += share * pixel->first;
            sum->second += share * pixel->second;
            sum->third += share * pixel->third;
        }
    }
}

static struct pixel in_target_colour(const struct work *work, struct pixel pixel)
{
    if (work->keeps_colour)
        return pixel;
    if (work->conversion->source_colour.matrix != MATRIX_RGB)
        pixel = to_rgb(&work->source_space, pixel);
    return from_rgb(&work->target_space, pixel);
}

/* A row of the region, in the target's size and colour. */
static void make_row(const struct work *work, uint32_t y, struct pixel *line)
{
    const uint32_t width = work->conversion->to.width;
    const struct weights *weights = &work->rows.of[y];
    const int64_t whole = (int64_t)(work->columns.sum * work->rows.sum);
    for (uint32_t x = 0; x < width; x++)
        work->sums[x] = (struct pixel){0, 0, 0};
    for (uint32_t i = 0; i < weights->count; i++)
        add_row(work, weights->first + i, weights->values[i]);
    for (uint32_t x = 0; x < width; x++) {
        struct pixel sum = work->sums[x];
        struct pixel mean = {divide(sum.first, whole), divide(sum.second, whole), divide(sum.third, whole)};
        line[x] = in_target_colour(work, mean);
    }
}

static void make_line(const struct work *work, uint32_t y, struct pixel *line)
{
    const struct conversion_region *to = &work->conversion->to;
    struct pixel background = from_rgb(&work->target_space, work->background);
    for (uint32_t x = 0; x < work->conversion->target.width; x++)
        line[x] = background;
    if (y >= to->y && y - to->y < to->height)
        make_row(work, y - to->y, line + to->x);
}

/* Writes sample number `index` of a row. */
static void put(uint8_t *row, uint32_t index, int64_t component, unsigned depth)
{
    int64_t most = (1 << depth) - 1, sample = divide(component, 1 << (16 - depth));
    sample = sample < 0 ? 0 : sample > most ? most : sample;
    if (depth == 8) {
        row[index] = (uint8_t)sample;
        return;
    }
    row[2 * (size_t)index] = (uint8_t)(sample << 6);
    row[2 * (size_t)index + 1] = (uint8_t)(sample >> 2);
}

static void put_chroma(const struct work *work, uint32_t y, uint32_t line_count)
{
    const struct conversion_picture *target = &work->conversion->target;
    unsigned depth = depth_of(target->format);
    uint8_t *row = target->planes[1] + (size_t)(y / 2) * target->pitches[1];
    for (uint32_t x = 0; x < target->width; x += 2) {
        uint32_t pair = x + 1 < target->width ? 2 : 1;
        int64_t blue = 0, red = 0;
        for (uint32_t line = 0; line < line_count; line++) {
            for (uint32_t i = 0; i < pair; i++) {
                blue += work->lines[line][x + i].second;
                red += work->lines[line][x + i].third;
            }
        }
        put(row, x, divide(blue, pair * line_count), depth);
        put(row, x + 1, divide(red, pair * line_count), depth);
    }
}

static void write_target(const struct work *work)
{
    const struct conversion_picture *target = &work->conversion->target;
    unsigned depth = depth_of(target->format);
    for (uint32_t y = 0; y < target->height; y += 2) {
        uint32_t line_count = y + 1 < target->height ? 2 : 1;
        for (uint32_t line = 0; line < line_count; line++) {
            make_line(work, y + line, work->lines[line]);
            for (uint32_t x = 0; x < target->width; x++)
                put(target->planes[0] + (size_t)(y + line) * target->pitches[0], x, work->lines[line][x].first, depth);
        }
        put_chroma(work, y, line_count);
    }
}

bool conversion_run(const struct conversion *conversion)
{
    const uint32_t back = conversion->background;
    const struct conversion_region *from = &conversion->from, *to = &conversion->to;
    struct work work = {
        .conversion = conversion,
        .target_space = space_of(&conversion->target_colour, depth_of(conversion->target.format)),
        .background = {(back >> 16 & 0xff) << 8, (back >> 8 & 0xff) << 8, (back & 0xff) << 8},
        .unpacked = malloc(from->width * sizeof(struct pixel)),
        .sums = malloc(to->width * sizeof(struct pixel)),
    };
    if (conversion->source_colour.matrix != MATRIX_RGB) {
        work.source_space = space_of(&conversion->source_colour, depth_of(conversion->source.format));
        work.keeps_colour = same_space(&work.source_space, &work.target_space);
    }
    bool ready = axis_open(&work.columns, from->width, to->width) && axis_open(&work.rows, from->height, to->height) &&
                 work.unpacked && work.sums;
    for (unsigned i = 0; i < 2; i++) {
        work.lines[i] = malloc(conversion->target.width * sizeof(struct pixel));
        ready = ready && work.lines[i];
    }
    if (ready)
        write_target(&work);
    axis_close(&work.columns);
    axis_close(&work.rows);
    free(work.unpacked);
    free(work.sums);
    free(work.lines[0]);
    free(work.lines[1]);
    return ready;
}
