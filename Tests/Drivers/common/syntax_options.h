/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What readers of syntax structures are told, and what they tell. */
#ifndef DRIVERS_COMMON_SYNTAX_OPTIONS_H
#define DRIVERS_COMMON_SYNTAX_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

/* Where reading stopped. */
struct syntax_error {
    char element[64]; /* the syntax element, "" when none failed */
    size_t bit;       /* from the start of the NAL unit header */
    char reason[96];
};

/* Called for every syntax element in coded order: its name with indices ("marking[1].long_term_pic_num"), where its
 * bits stand, counted from the start of the NAL unit header, and its value. */
typedef void (*syntax_tracer)(void *token, const char *name, size_t first_bit, size_t bit_count, int64_t value);

struct syntax_options {
    syntax_tracer tracer; /* or NULL */
    void *token;
};

#endif
