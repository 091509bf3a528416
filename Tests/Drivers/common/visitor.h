/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What one description of a syntax structure is visited by: a reader, a writer, and a tracer beside either. A
 * description calls one function per syntax element, in coded order; each function reads into the value, or writes
 * the value, and reports the element. After a failure every call does nothing. */
#ifndef DRIVERS_COMMON_VISITOR_H
#define DRIVERS_COMMON_VISITOR_H

#include "bits.h"
#include "syntax_options.h"

struct syntax {
    struct bits *out; /* where to write; NULL: reading */
    size_t start;     /* where the NAL unit begins in `out`, in bits */
    const uint8_t *bytes; /* what to read */
    size_t count, position; /* of `bytes`, in bits */
    size_t first;           /* where the latest element begins, from the NAL unit's start */
    const struct syntax_options *options; /* or NULL */
    struct syntax_error *error;           /* or NULL */
    const char *scope; /* goes before the elements' names: "nal_hrd." */
    char name[96];     /* scratch for names with indices */
    bool failed;
};

/* u(n) of any value, and of `minimum` to `maximum`. `count` is 0 to 32. */
void u(struct syntax *s, const char *name, uint32_t *value, unsigned count);
void u_in(struct syntax *s, const char *name, uint32_t *value, unsigned count, uint32_t minimum, uint32_t maximum);

/* ue(v) of 0, or `minimum`, to `maximum`. */
void ue(struct syntax *s, const char *name, uint32_t *value, uint32_t maximum);
void ue_in(struct syntax *s, const char *name, uint32_t *value, uint32_t minimum, uint32_t maximum);

/* se(v) of `minimum` to `maximum`. */
void se(struct syntax *s, const char *name, int32_t *value, int32_t minimum, int32_t maximum);

/* A name with indices, valid until the next call: indexed(s, "modification[%u][%u].value", 0, 1). */
const char *indexed(struct syntax *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* more_rbsp_data() of 7.2; reading only. */
bool more_rbsp_data(const struct syntax *s);

/* Ends the visit: the structure breaks a rule that no single range states. */
void refuse(struct syntax *s, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Starts a reading visit. */
struct syntax syntax_reader(const uint8_t *nal, size_t bit_count, const struct syntax_options *options,
                            struct syntax_error *error);

/* Starts a writing visit that appends to `out`. */
struct syntax syntax_writer(struct bits *out);

#endif
