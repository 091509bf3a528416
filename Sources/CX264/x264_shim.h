// SPDX-License-Identifier: GPL-2.0-or-later
//
// x264, and as functions those of its macros that Swift does not import or would fold into constants.

#ifndef CX264_SHIM_H
#define CX264_SHIM_H

#include <stdarg.h>
#include <stdint.h>

#include <x264.h>

/// x264_encoder_open: a macro there, because the symbol carries the build number.
static inline x264_t *x264_shim_encoder_open(x264_param_t *parameters) {
    return x264_encoder_open(parameters);
}

/// Whether the library was built for that bit depth: X264_BIT_DEPTH is 0 for all of them.
static inline int x264_shim_has_bit_depth(int depth) {
    return X264_BIT_DEPTH == 0 ? depth == 8 || depth == 10 : X264_BIT_DEPTH == depth;
}

#endif
