/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRIVERS_COMMON_WISH_H
#define DRIVERS_COMMON_WISH_H

#include <stdbool.h>
#include <stdint.h>

/* What is wanted of one block of a picture beside what its slice says. */
struct wish {
    int8_t qp_offset; /* added to the slice's QP, in P and B slices too, where it also decides what is skipped */
    bool intra;       /* intra, whatever the slice's type; of H.264 I_16x16 or I_PCM */
};

#endif
