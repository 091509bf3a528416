/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mutations_state.h"

#include "fields.h"

#include <va/va.h>

#include <stdlib.h>
#include <string.h>

/* One NAL unit in the bytes of a packed header. */
struct unit {
    size_t start, size; /* from its header byte on, in the buffer as sent; size counts a cut last byte */
    uint8_t *bytes;     /* owned, emulation prevention removed */
    size_t bits;        /* in `bytes` */
    const char *name;   /* "sps", "pps", "slice", "sei", … */
    bool slice;         /* ends without trailing bits */
};

#define MOST_UNITS 32

struct packed {
    const uint8_t *data;
    size_t bits; /* bit_length, at most what the buffer holds */
    bool escaped;
    struct unit units[MOST_UNITS];
    size_t count;
};

static const char *unit_name(unsigned type)
{
    switch (type) {
    case H264_NAL_SLICE:
    case H264_NAL_IDR_SLICE: return "slice";
    case H264_NAL_SEI: return "sei";
    case H264_NAL_SPS: return "sps";
    case H264_NAL_PPS: return "pps";
    case H264_NAL_AUD: return "aud";
    case H264_NAL_FILLER: return "filler";
    case H264_NAL_PREFIX: return "prefix";
    default: return "unit";
    }
}

static const char *hevc_unit_name(unsigned type)
{
    if (hevc_is_slice(type)) return "slice";
    switch (type) {
    case HEVC_NAL_VPS: return "vps";
    case HEVC_NAL_SPS: return "sps";
    case HEVC_NAL_PPS: return "pps";
    case HEVC_NAL_AUD: return "aud";
    case HEVC_NAL_FILLER: return "filler";
    case HEVC_NAL_PREFIX_SEI:
    case HEVC_NAL_SUFFIX_SEI: return "sei";
    default: return "unit";
    }
}

/* Where the next start code's three bytes begin; `size` when there is none. */
static size_t next_start(const uint8_t *data, size_t size, size_t from)
{
    for (size_t i = from; i + 3 <= size; i++)
        if (data[i] == 0 && data[i + 1] == 0 && data[i + 2] == 1) return i;
    return size;
}

static void add_unit(struct packed *packed, bool hevc, size_t start, size_t end, bool last)
{
    if (packed->count == MOST_UNITS || start >= end) return;
    struct unit *unit = &packed->units[packed->count++];
    uint8_t first = packed->data[start];
    *unit = (struct unit){.start = start, .size = end - start,
                          .name = hevc ? hevc_unit_name(first >> 1 & 63u) : unit_name(first & 31u)};
    unit->slice = strcmp(unit->name, "slice") == 0;
    unit->bytes = memcpy(trace_allocate(unit->size, 1), packed->data + start, unit->size);
    size_t bytes = packed->escaped ? bits_remove_emulation(unit->bytes, unit->bytes, unit->size) : unit->size;
    unit->bits = 8 * bytes - (last ? (8 - packed->bits % 8) % 8 : 0);
}

/* Takes a packed header apart. False when its parameters or bytes are not known. */
static bool take_apart(const struct walk *walk, const struct walked_buffer *data, struct packed *packed)
{
    if (!walk->have_packed || walk->packed.filled == NO_CALL || data->filled == NO_CALL) return false;
    const struct trace_call *call = &walk->trace->calls[data->filled];
    const struct trace_call *parameters = &walk->trace->calls[walk->packed.filled];
    VAEncPackedHeaderParameterBuffer header;
    if (parameters->size < sizeof(header)) return false;
    memcpy(&header, parameters->data, sizeof(header));
    *packed = (struct packed){.data = call->data, .escaped = header.has_emulation_bytes};
    packed->bits = header.bit_length < 8 * call->size ? header.bit_length : 8 * call->size;
    size_t size = (packed->bits + 7) / 8, start = next_start(call->data, size, 0);
    if (start == size) add_unit(packed, walk->hevc, 0, size, true);
    while (start < size) {
        size_t next = next_start(call->data, size, start + 3), end = next;
        while (next < size && end > start + 3 && call->data[end - 1] == 0) end--; /* the longer start code's zero */
        add_unit(packed, walk->hevc, start + 3, end, next == size);
        start = next;
    }
    return packed->count > 0;
}

static void release(struct packed *packed)
{
    for (size_t i = 0; i < packed->count; i++) free(packed->units[i].bytes);
}

/* What a unit turns out to be. */
union read_set {
    struct h264_sps h264_sps;
    struct h264_pps h264_pps;
    struct hevc_vps hevc_vps;
    struct hevc_sps hevc_sps;
    struct hevc_pps hevc_pps;
};

static bool read_hevc_unit(const struct walk *walk, const struct unit *unit, const struct syntax_options *options,
                           union read_set *set, size_t *end)
{
    static struct hevc_slice_header header;
    const uint8_t *bytes = unit->bytes;
    if (strcmp(unit->name, "vps") == 0) return hevc_read_vps(&set->hevc_vps, bytes, unit->bits, end, options, NULL);
    if (strcmp(unit->name, "sps") == 0) return hevc_read_sps(&set->hevc_sps, bytes, unit->bits, end, options, NULL);
    if (strcmp(unit->name, "pps") == 0) return hevc_read_pps(&set->hevc_pps, bytes, unit->bits, end, options, NULL);
    if (!unit->slice || !walk->have_sps || !walk->have_pps) return false;
    return hevc_read_slice_header(&header, &walk->sps.hevc, &walk->pps.hevc, NULL, bytes, unit->bits, end, options,
                                  NULL);
}

/* Reads a unit, with or without a tracer. `end` is the bit after its last element. */
static bool read_unit(const struct walk *walk, const struct unit *unit, const struct syntax_options *options,
                      union read_set *set, size_t *end)
{
    if (walk->hevc) return read_hevc_unit(walk, unit, options, set, end);
    struct h264_sps *sps = &set->h264_sps;
    struct h264_pps *pps = &set->h264_pps;
    struct syntax_error error;
    static struct h264_slice_header header;
    if (strcmp(unit->name, "sps") == 0) return h264_read_sps(sps, unit->bytes, unit->bits, end, options, &error);
    if (strcmp(unit->name, "pps") == 0) return h264_read_pps(pps, unit->bytes, unit->bits, end, options, &error);
    if (!unit->slice || !walk->have_sps || !walk->have_pps) return false;
    return h264_read_slice_header(&header, &walk->sps.h264, &walk->pps.h264, unit->bytes, unit->bits, end, options,
                                  &error);
}

void walk_parameter_sets(struct walk *walk, const struct walked_buffer *data)
{
    struct packed packed;
    if (!take_apart(walk, data, &packed)) return;
    for (size_t i = 0; i < packed.count; i++) {
        static union read_set set;
        size_t end;
        const struct unit *unit = &packed.units[i];
        if (unit->slice || !read_unit(walk, unit, NULL, &set, &end)) continue;
        bool is_sps = strcmp(unit->name, "sps") == 0, is_pps = strcmp(unit->name, "pps") == 0;
        if (is_sps && walk->hevc) walk->sps.hevc = set.hevc_sps;
        else if (is_sps) walk->sps.h264 = set.h264_sps;
        if (is_pps && walk->hevc) walk->pps.hevc = set.hevc_pps;
        else if (is_pps) walk->pps.h264 = set.h264_pps;
        walk->have_sps |= is_sps;
        walk->have_pps |= is_pps;
    }
    release(&packed);
}

/* Appends `bits` as a NAL unit, with emulation prevention where the packed header has it (7.4.1). */
static void append_unit(struct bits *out, const struct bits *unit, bool escape)
{
    unsigned zeros = 0;
    for (size_t bit = 0; bit < unit->count; bit += 8) {
        uint8_t byte = unit->bytes[bit / 8];
        if (escape && zeros >= 2 && byte <= 3) {
            bits_put(out, 3, 8);
            zeros = 0;
        }
        zeros = byte ? 0 : zeros + 1;
        unsigned count = unit->count - bit < 8 ? (unsigned)(unit->count - bit) : 8;
        bits_put(out, (uint32_t)byte >> (8 - count), count);
    }
}

struct mutator {
    struct walk *walk;
    const struct walked_buffer *data;
    const struct packed *packed;
    const struct unit *unit;
    size_t end; /* of what is kept when an element changes its length, in bits */
    bool trail; /* trailing bits follow there */
};

/* Makes a mutation of the packed header with the unit replaced by `changed`, or left out when that is NULL. */
static void replace_unit(const struct mutator *mutator, const struct bits *changed, const char *element,
                         const char *label)
{
    const struct packed *packed = mutator->packed;
    const struct unit *unit = mutator->unit;
    struct bits out = {0};
    size_t after = unit->start + unit->size;
    bits_append(&out, packed->data, 0, 8 * unit->start);
    if (changed) append_unit(&out, changed, packed->escaped);
    if (8 * after < packed->bits) bits_append(&out, packed->data, 8 * after, packed->bits - 8 * after);
    struct walk *walk = mutator->walk;
    struct trace_call data = trace_call_copy(&walk->trace->calls[mutator->data->filled]);
    free(data.data);
    data.size = (out.count + 7) / 8;
    data.data = memcpy(trace_allocate(data.size, 1), out.bytes, data.size);
    if (mutator->data->filled == mutator->data->created) { /* else the size was given in another call */
        data.in[2] = data.size;
        data.in[3] = 1;
    }
    struct mutation *mutation =
        walk_replace(walk, mutator->data->filled, data, "packed.%s.%s=%s", unit->name, element, label);
    struct trace_call parameters = trace_call_copy(&walk->trace->calls[walk->packed.filled]);
    ((VAEncPackedHeaderParameterBuffer *)parameters.data)->bit_length = (uint32_t)out.count;
    mutation->changes[mutation->change_count++] =
        (struct change){.call = walk->packed.filled, .kind = CHANGE_REPLACE, .replacement = parameters};
    bits_release(&out);
}

/* Replaces bits of the unit by `code`, and aligns again what is to be aligned. */
static void replace_bits(const struct mutator *mutator, size_t first, size_t count, const struct bits *code,
                         const char *element, const char *label)
{
    const struct unit *unit = mutator->unit;
    struct bits changed = {0};
    bits_append(&changed, unit->bytes, 0, first);
    bits_append(&changed, code->bytes, 0, code->count);
    bits_append(&changed, unit->bytes, first + count, mutator->end - first - count);
    if (mutator->trail) bits_trail(&changed);
    replace_unit(mutator, &changed, element, label);
    bits_release(&changed);
}

static uint64_t bits_of(const uint8_t *bytes, size_t first, size_t count)
{
    uint64_t value = 0;
    for (size_t i = first; i < first + count; i++) value = value << 1 | (bytes[i / 8] >> (7 - i % 8) & 1u);
    return value;
}

static void flip(const struct mutator *mutator, size_t first, size_t count, const char *element)
{
    for (size_t i = 0; i < count; i++) {
        if (count > 8 && i != 0 && i != count / 2 && i != count - 1) continue;
        struct bits code = {0};
        bits_append(&code, mutator->unit->bytes, first, count);
        code.bytes[i / 8] ^= (uint8_t)(0x80 >> i % 8);
        char label[24];
        snprintf(label, sizeof(label), "flip-%zu", i);
        replace_bits(mutator, first, count, &code, element, label);
        bits_release(&code);
    }
}

static void code_golomb(const struct mutator *mutator, size_t first, size_t count, const char *element,
                        uint32_t code_number)
{
    const struct candidate candidates[] = {
        {"next-code", code_number + 1}, {"previous-code", code_number - 1}, {"huge-code", 0x00fffff7}};
    for (size_t i = 0; i < 3; i++) {
        if (i == 1 && code_number == 0) continue;
        struct bits code = {0};
        bits_put_ue(&code, (uint32_t)candidates[i].value);
        replace_bits(mutator, first, count, &code, element, candidates[i].label);
        bits_release(&code);
    }
}

/* u(n) reads as its own value; an Exp-Golomb code reads as its code number plus one, which no value of it equals:
 * so the coding shows in the bits. ue(v) and se(v) need not be told apart to write a neighbouring code. */
static void mutate_element(void *token, const char *element, size_t first, size_t count, int64_t value)
{
    const struct mutator *mutator = token;
    uint64_t bits = bits_of(mutator->unit->bytes, first, count);
    if (value < 0 || bits != (uint64_t)value) {
        code_golomb(mutator, first, count, element, (uint32_t)(bits - 1));
        flip(mutator, first, count, element);
        return;
    }
    struct candidate candidates[MOST_CANDIDATES];
    size_t candidate_count = candidates_of(bits, (unsigned)count, candidates);
    for (size_t i = 0; i < candidate_count; i++) {
        struct bits code = {0};
        bits_put(&code, (uint32_t)candidates[i].value, (unsigned)count);
        replace_bits(mutator, first, count, &code, element, candidates[i].label);
        bits_release(&code);
    }
    if (count > 1) flip(mutator, first, count, element);
}

/* Units without a description here: bit by bit at their start (header, payload type and size of an SEI), then one bit
 * per byte. */
static void flip_all(const struct mutator *mutator)
{
    const size_t start = 3;
    for (size_t byte = 0; 8 * byte < mutator->unit->bits; byte++) {
        char name[32];
        snprintf(name, sizeof(name), byte < start ? "start[%zu]" : "byte[%zu]", byte);
        size_t left = mutator->unit->bits - 8 * byte, count = left < 8 ? left : 8;
        if (byte < start) flip(mutator, 8 * byte, count, name);
        else flip(mutator, 8 * byte + byte % count, 1, name);
    }
}

void mutate_packed(struct walk *walk, const struct walked_buffer *data)
{
    struct packed packed;
    if (!take_apart(walk, data, &packed)) return;
    walk_parameter_sets(walk, data);
    for (size_t i = 0; i < packed.count; i++) {
        const struct unit *unit = &packed.units[i];
        struct mutator mutator = {walk, data, &packed, unit, unit->bits, false};
        static union read_set set;
        const struct syntax_options options = {mutate_element, &mutator};
        size_t end;
        if (read_unit(walk, unit, NULL, &set, &end)) {
            mutator.trail = !unit->slice;
            if (mutator.trail) mutator.end = end;
            read_unit(walk, unit, &options, &set, &end);
        } else {
            flip_all(&mutator);
        }
        replace_unit(&mutator, NULL, "unit", "dropped");
    }
    release(&packed);
}
