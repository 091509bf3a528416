/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "visitor.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *indexed(struct syntax *s, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(s->name, sizeof s->name, format, arguments);
    va_end(arguments);
    return s->name;
}

static size_t place(const struct syntax *s)
{
    return s->out ? s->out->count - s->start : s->position;
}

void refuse(struct syntax *s, const char *name, const char *format, ...)
{
    if (s->failed)
        return;
    s->failed = true;
    if (!s->error)
        return;
    snprintf(s->error->element, sizeof s->error->element, "%s%s", s->scope, name);
    s->error->bit = s->first;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(s->error->reason, sizeof s->error->reason, format, arguments);
    va_end(arguments);
}

static void report(struct syntax *s, const char *name, int64_t value)
{
    if (s->failed || !s->options || !s->options->tracer)
        return;
    char full[128];
    snprintf(full, sizeof full, "%s%s", s->scope, name);
    s->options->tracer(s->options->token, full, s->first, place(s) - s->first, value);
}

/* Reads `count` bits (0 to 32); false when fewer are left. */
static bool take(struct syntax *s, unsigned count, uint32_t *value)
{
    if (count > s->count - s->position)
        return false;
    uint64_t result = 0;
    while (count > 0) {
        unsigned available = 8 - (s->position & 7);
        unsigned now = available < count ? available : count;
        result = result << now | (s->bytes[s->position >> 3] >> (available - now) & ((1u << now) - 1));
        s->position += now;
        count -= now;
    }
    *value = (uint32_t)result;
    return true;
}

/* H.264 9.1, values 0 to 2^32 - 2; states the failure when there is none. */
static bool take_ue(struct syntax *s, const char *name, uint32_t *value)
{
    unsigned zeros = 0;
    uint32_t bit = 0, rest = 0;
    for (;;) {
        if (!take(s, 1, &bit)) {
            refuse(s, name, "cut off: ends after %zu bits", s->count);
            return false;
        }
        if (bit)
            break;
        if (++zeros > 31) {
            refuse(s, name, "more than 31 leading zeros in an Exp-Golomb code");
            return false;
        }
    }
    if (!take(s, zeros, &rest)) {
        refuse(s, name, "cut off: ends after %zu bits", s->count);
        return false;
    }
    *value = (uint32_t)(((uint64_t)1 << zeros) - 1 + rest);
    return true;
}

void u_in(struct syntax *s, const char *name, uint32_t *value, unsigned count, uint32_t minimum, uint32_t maximum)
{
    if (s->failed)
        return;
    s->first = place(s);
    if (s->out) {
        bits_put(s->out, *value, count);
    } else {
        uint32_t got;
        if (!take(s, count, &got)) {
            refuse(s, name, "cut off: ends after %zu bits", s->count);
            return;
        }
        if (got < minimum || got > maximum) {
            refuse(s, name, "is %u, allowed are %u to %u", got, minimum, maximum);
            return;
        }
        *value = got;
    }
    report(s, name, *value);
}

void u(struct syntax *s, const char *name, uint32_t *value, unsigned count)
{
    u_in(s, name, value, count, 0, UINT32_MAX);
}

void ue_in(struct syntax *s, const char *name, uint32_t *value, uint32_t minimum, uint32_t maximum)
{
    if (s->failed)
        return;
    s->first = place(s);
    if (s->out) {
        bits_put_ue(s->out, *value);
    } else {
        uint32_t got;
        if (!take_ue(s, name, &got))
            return;
        if (got < minimum || got > maximum) {
            refuse(s, name, "is %u, allowed are %u to %u", got, minimum, maximum);
            return;
        }
        *value = got;
    }
    report(s, name, *value);
}

void ue(struct syntax *s, const char *name, uint32_t *value, uint32_t maximum)
{
    ue_in(s, name, value, 0, maximum);
}

void se(struct syntax *s, const char *name, int32_t *value, int32_t minimum, int32_t maximum)
{
    if (s->failed)
        return;
    s->first = place(s);
    if (s->out) {
        bits_put_se(s->out, *value);
    } else {
        uint32_t code;
        if (!take_ue(s, name, &code))
            return;
        int64_t got = code & 1 ? ((int64_t)code + 1) / 2 : -(int64_t)(code / 2);
        if (got < minimum || got > maximum) {
            refuse(s, name, "is %lld, allowed are %d to %d", (long long)got, minimum, maximum);
            return;
        }
        *value = (int32_t)got;
    }
    report(s, name, *value);
}

bool more_rbsp_data(const struct syntax *s)
{
    for (size_t last = s->count; last > s->position; last--)
        if (s->bytes[(last - 1) >> 3] >> (7 - ((last - 1) & 7)) & 1)
            return last - 1 > s->position;
    return false;
}

struct syntax syntax_reader(const uint8_t *nal, size_t bit_count, const struct syntax_options *options,
                            struct syntax_error *error)
{
    if (error)
        *error = (struct syntax_error){0};
    return (struct syntax){.bytes = nal, .count = bit_count, .options = options, .error = error, .scope = ""};
}

struct syntax syntax_writer(struct bits *out)
{
    return (struct syntax){.out = out, .start = out->count, .scope = ""};
}
