/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A simple closed loop: picks each picture's QP from what earlier pictures cost and from how far the stream is ahead
 * of or behind its rate. It stands in for a vendor's, so that a client can see the asked rate being followed. */
#ifndef DRIVERS_REFERENCE_RATE_CONTROL_H
#define DRIVERS_REFERENCE_RATE_CONTROL_H

#include "../checks/checks.h"

struct rate_control;

struct rate_picture {
    enum coded_type type;
    int header_qp;        /* of the first slice, by parameter set and slice header */
    uint32_t macroblocks;
};

/* What the control was before each of the last pictures, so that they can be coded again. */
#define RATE_HISTORY_KEPT 16
struct rate_history;

struct rate_history *rate_history_create(void);

/* Keeps how the control is before the picture with the number; numbers grow. */
void rate_history_keep(struct rate_history *history, uint32_t picture, const struct rate_control *control);

/* Makes the control as it was before the picture with the number, if that is still known. */
void rate_history_restore(const struct rate_history *history, uint32_t picture, struct rate_control *control);

struct rate_control *rate_control_create(void);
void rate_control_destroy(struct rate_control *control);

/* QP for the next picture, or -1: each slice's own (CQP). Calls to this and to rate_control_coded alternate. */
int rate_control_qp(struct rate_control *control, const struct understood_rate *rate,
                    const struct rate_picture *picture);

/* QP for coding the picture again because `bits` are more than its largest size, or than the decoder's buffer holds by
 * the HRD; -1: they are not, or it cannot get smaller. */
int rate_control_smaller(struct rate_control *control, int qp, uint64_t bits);

/* Takes note of what the picture has cost; returns the bytes of filler data that the rate asks for (CBR), 0 or at
 * least FILLER_SMALLEST, and at most `room`, the bytes that the picture leaves of its coded buffer. */
uint32_t rate_control_coded(struct rate_control *control, int qp, uint64_t bits, uint32_t room);

#define FILLER_SMALLEST 7 /* start code, NAL unit header of one or two bytes, trailing bits */

#endif
