/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading settings out of environment variables: texts such as "slices=4 size=1920x1088" or "a:3=b;c:4=d". */
#ifndef DRIVERS_COMMON_ENVIRONMENT_H
#define DRIVERS_COMMON_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The variable's value; NULL when it is not set or empty. */
const char *environment_text(const char *name);

/* Takes the next part off `*rest`, a writable string that separators (any of the characters) divide; blanks around
 * the part and empty parts are dropped. NULL at the end. */
char *environment_next(char **rest, const char *separators);

/* Cuts `text` at the first `separator`; returns what follows, or NULL when there is none. */
char *environment_cut(char *text, char separator);

/* Decimal, or hexadecimal with 0x; the whole text, at most `maximum`. */
bool environment_number(const char *text, uint64_t maximum, uint64_t *value);

/* A duration with its unit, "5ms", "200us" or "2s", in microseconds. */
bool environment_duration(const char *text, uint64_t *microseconds);

/* "WIDTHxHEIGHT", both from 1 to 65535. */
bool environment_size(const char *text, uint32_t *width, uint32_t *height);

#endif
