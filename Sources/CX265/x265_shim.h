// SPDX-License-Identifier: GPL-2.0-or-later
//
// x265, and as a function the one of its macros that Swift does not import.

#ifndef CX265_SHIM_H
#define CX265_SHIM_H

#include <stdio.h>
#include <stdlib.h>
#include <x265.h>

/// x265_api_get: a macro there, because the symbol carries the build number. The functions of the library that was built
/// for that bit depth; NULL if there is none.
static inline const x265_api *x265_shim_api_get(int bit_depth) {
    return x265_api_get(bit_depth);
}

/* Strings of parameters: pointers in older versions of x265, memory of their own in newer ones (4.0). */
static inline void x265_shim_point(void *field, size_t size, const char *text) {
    (void)size;
    *(const char **)field = text;
}

static inline void x265_shim_copy(void *field, size_t size, const char *text) {
    snprintf((char *)field, size, "%s", text);
}

#define X265_SHIM_SET(field, text) \
    _Generic((field), const char *: x265_shim_point, char *: x265_shim_copy)(&(field), sizeof(field), (text))

/// Sets the threads of pools, in x265's own form. `text` has to live as long as the parameters are used.
static inline void x265_shim_set_pools(x265_param *parameters, const char *text) {
    X265_SHIM_SET(parameters->numaPools, text);
}

/// Sets the mastering display, in x265's own form. `text` has to live as long as the parameters are used.
static inline void x265_shim_set_mastering_display(x265_param *parameters, const char *text) {
    X265_SHIM_SET(parameters->masteringDisplayColorVolume, text);
}

static inline void x265_shim_free(void *field) {
    free(*(void **)field);
    *(void **)field = NULL;
}

static inline void x265_shim_keep(void *field) {
    (void)field;
}

#define X265_SHIM_FREE(field) \
    _Generic((field), const char *: x265_shim_free, char *: x265_shim_keep)(&(field))

/// Frees the strings of parameters that x265_encoder_parameters has filled in: x265 3.5 copies them and leaves the copies to
/// its caller. Of older versions it is not known whether they do.
static inline void x265_shim_free_strings(x265_param *parameters) {
#if X265_BUILD >= 199
    X265_SHIM_FREE(parameters->numaPools);
    X265_SHIM_FREE(parameters->masteringDisplayColorVolume);
#else
    (void)parameters;
#endif
}

#endif
