/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Scenes of HEVC to change. */
#ifndef DRIVERS_TESTS_HEVC_CHANGES_H
#define DRIVERS_TESTS_HEVC_CHANGES_H

#include "hevc_submissions.h"

enum base {
    PACKED,    /* Main, CBR with HRD, B pictures, two slices, all headers packed, delimiters, colour volumes */
    OWN,       /* Main, CQP, B pictures, no packed headers */
    LOW_DELAY, /* Main, CQP, B pictures of the past only, as neither list may be empty; without emulation prevention */
    TEN,       /* Main 10, CQP, packed */
    TWELVE,    /* Main 12, CQP, packed */
    OPEN,      /* Main, CQP, packed, a clean random access picture with leading pictures */
};

static const struct scene_options bases[] = {
    [PACKED] = {VAProfileHEVCMain, VA_RC_CBR, true, true, true, 2, "iPBBPBBPiPP", false},
    [OWN] = {VAProfileHEVCMain, VA_RC_CQP, false, false, false, 2, "iPBBPBBPiPP", false},
    [LOW_DELAY] = {VAProfileHEVCMain, VA_RC_CQP, true, false, false, 1, "iLLLL", true},
    [TEN] = {VAProfileHEVCMain10, VA_RC_CQP, true, true, false, 1, "iPBBPBBP", false},
    [TWELVE] = {VAProfileHEVCMain12, VA_RC_CQP, true, true, false, 1, "iPBBPBBP", false},
    [OPEN] = {VAProfileHEVCMain, VA_RC_CQP, true, true, false, 1, "iPBBcrrP", false},
};

#include "change_runner.h"

#endif
