/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The arithmetic encoder that H.264 (9.3.4) and HEVC (9.3.5) share: the same engine, ranges and states. */
#ifndef DRIVERS_COMMON_ARITHMETIC_H
#define DRIVERS_COMMON_ARITHMETIC_H

#include "bits.h"

struct arithmetic {
    uint32_t low, range;  /* codILow, codIRange */
    uint32_t outstanding; /* bitsOutstanding */
    bool first;           /* firstBitFlag */
};

/* A context variable, pStateIdx * 2 + valMPS, from preCtxState, which is clipped to 1 to 126. */
uint8_t arithmetic_state(int preliminary);

/* At the start of slice data and after PCM samples. */
void arithmetic_start(struct arithmetic *engine);

/* EncodeDecision, with the transition of the context variable. Bits that are settled go to `bits`. */
void arithmetic_encode(struct arithmetic *engine, uint8_t *context, unsigned bin, struct bits *bits);

/* EncodeBypass */
void arithmetic_encode_bypass(struct arithmetic *engine, unsigned bin, struct bits *bits);

/* EncodeTerminate with EncodeFlush: after a bin of 1 all bits are out, the last of them being the stop bit where the
 * slice ends. */
void arithmetic_encode_terminate(struct arithmetic *engine, unsigned bin, struct bits *bits);

#endif
