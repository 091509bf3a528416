// SPDX-License-Identifier: GPL-2.0-or-later
//
// x265, and as a function the one of its macros that Swift does not import.

#ifndef CX265_SHIM_H
#define CX265_SHIM_H

#include <x265.h>

/// x265_api_get: a macro there, because the symbol carries the build number. The functions of the library that was built
/// for that bit depth; NULL if there is none.
static inline const x265_api *x265_shim_api_get(int bit_depth) {
    return x265_api_get(bit_depth);
}

#endif
