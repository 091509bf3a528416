/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside the maker of mutations: mutations.c walks the trace, the others make the changes of one kind of thing. */
#ifndef DRIVERS_MUTATION_MUTATIONS_STATE_H
#define DRIVERS_MUTATION_MUTATIONS_STATE_H

#include "../h264/syntax.h"
#include "../hevc/syntax.h"
#include "mutations.h"

#define NO_CALL SIZE_MAX

/* A buffer that is alive in the walk. */
struct walked_buffer {
    uint32_t id, type; /* VABufferType */
    size_t created;    /* the call that created it */
    size_t filled;     /* the call that brought its bytes: the same, or a later vaUnmapBuffer; NO_CALL: none yet */
};

struct walk {
    const struct trace *trace;
    struct mutation_list *list;
    struct walked_buffer *buffers;
    size_t buffer_count;
    uint32_t *surfaces; /* all that the trace creates, for "another surface" */
    size_t surface_count;
    char picture[24];
    bool wanted; /* changes of this picture are made */
    struct walked_buffer packed; /* the last packed header's parameters */
    bool have_packed;
    bool hevc; /* the trace is of an HEVC encode */
    union {
        struct h264_sps h264;
        struct hevc_sps hevc;
    } sps;
    union {
        struct h264_pps h264;
        struct hevc_pps hevc;
    } pps;
    bool have_sps, have_pps;
};

/* Adds a mutation with one change that replaces the call by `replacement`, which the list then owns. A second change
 * may be added to what this returns. */
struct mutation *walk_replace(struct walk *walk, size_t call, struct trace_call replacement, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
struct mutation *walk_change(struct walk *walk, size_t call, enum change_kind kind, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* NULL when no such buffer is alive; valid until the next call is walked. */
struct walked_buffer *walk_buffer(const struct walk *walk, uint64_t id);

/* What a buffer is called in names: its field table's name, "packed.data", "coded", "buffer-TYPE". */
const char *walk_buffer_name(const struct walk *walk, const struct walked_buffer *buffer, char text[32]);

/* Values worth trying in place of `value` in a field of `width` bits; returns how many, each with a label. */
struct candidate {
    const char *label;
    uint64_t value;
};
#define MOST_CANDIDATES 16
size_t candidates_of(uint64_t value, unsigned width, struct candidate candidates[MOST_CANDIDATES]);

/* A buffer of parameters: every field of it. */
void mutate_fields(struct walk *walk, const struct walked_buffer *buffer);

/* The bytes of a packed header: every syntax element in it and every bit of what has no description. Keeps the
 * parameter sets that it meets. */
void mutate_packed(struct walk *walk, const struct walked_buffer *data);

/* The call itself: its arguments; left out; made twice. */
void mutate_call(struct walk *walk, size_t call);

/* Reads the parameter sets of a packed header without making mutations. */
void walk_parameter_sets(struct walk *walk, const struct walked_buffer *data);

#endif
