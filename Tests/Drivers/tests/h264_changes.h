/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Scenes of H.264 to change. */
#ifndef DRIVERS_TESTS_H264_CHANGES_H
#define DRIVERS_TESTS_H264_CHANGES_H

#include "submissions.h"

/* The scenes that changes start from. */
enum base {
    PACKED,   /* Main, CABAC, CBR with HRD, B pictures, two slices, all headers packed, delimiters */
    OWN,      /* Main, CABAC, CQP, B pictures, no packed headers */
    BASELINE, /* Constrained Baseline, CQP, P pictures, packed without emulation prevention */
    HIGH,     /* High, CQP, packed */
};

static const struct scene_options bases[] = {
    [PACKED] = {VAProfileH264Main, VA_RC_CBR, true, true, true, 2, "iPBBPBBPiPP", true},
    [OWN] = {VAProfileH264Main, VA_RC_CQP, false, false, false, 2, "iPBBPBBPiPP", true},
    [BASELINE] = {VAProfileH264ConstrainedBaseline, VA_RC_CQP, true, false, false, 1, "iPPPP", false},
    [HIGH] = {VAProfileH264High, VA_RC_CQP, true, true, false, 1, "iPBBPBBP", true},
};

#include "change_runner.h"

#endif
