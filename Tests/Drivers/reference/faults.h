/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Failures on demand: REFERENCE_DRIVER_FAULTS, a list of TARGET[@NODE][#DISPLAY]:OCCURRENCE=ACTION divided by
 * semicolons.
 *
 * TARGET is an entry point of the driver by libva's name (vaCreateSurfaces and vaCreateSurfaces2 are one),
 * `vaInitialize`, `coded` (the pictures as the driver codes them), `processed` (those that VideoProc makes), or
 * `decoded` (those that it decodes). NODE is
 * the number of a render node. DISPLAY is the number of a display, from 1, among those of all processes that share the
 * file REFERENCE_DRIVER_DISPLAYS.
 * OCCURRENCE is N (the Nth, from 1), N+ (from the Nth on), * (all) or N~M (from the Nth on, each with a chance of one in
 * M, by a generator that REFERENCE_DRIVER_SEED and the number of the display start); it counts in the whole process, over
 * displays, or in each display by itself where the target names a node or a display, or chance decides. ACTION is one of
 *   status:VALUE     the call fails with the status; for `coded`, the segment's status is the value; for `decoded`,
 *                    what is said of the picture when the client waits for its surface
 *   delay:DURATION   "5ms": the call, or the coding, takes that much longer
 *   hang             the call never returns; for `coded`, `processed` and `decoded`, the picture is never completed
 *   segv, abort      the process ends by SIGSEGV or SIGABRT
 *   device-lost      this call, and every later one that needs the device, fails: of the process, of the node that the
 *                    target names, or, as after a reset of the device, of the one display that it names or that
 *                    chance has chosen
 *   size:VALUE       `coded` only: the segment's size (the bytes stay)
 *   overflow         `coded` only: half of the picture is missing and the segment's status says so
 *   negative         not for calls: what comes out is another picture, whose luma samples are the
 *                    negative */
#ifndef DRIVERS_REFERENCE_FAULTS_H
#define DRIVERS_REFERENCE_FAULTS_H

#include "driver.h"

#include <stdatomic.h>

/* Reads the variable; what was counted goes on as long as its text stays the same. False: it cannot be understood,
 * and `problem` says why. */
bool faults_read(char *problem, size_t size);

#define FAULT_TARGET(name, parameters, arguments, refused) TARGET_##name,
enum fault_target {
    TARGET_vaInitialize,
    TARGET_coded,
    TARGET_processed,
    TARGET_decoded,
    DRIVER_ENTRY_POINTS(FAULT_TARGET) PROCESSING_ENTRY_POINTS(FAULT_TARGET) FAULT_TARGETS
};
#undef FAULT_TARGET

/* What faults know of a display. */
struct fault_display {
    uint32_t node;   /* the number of its render node; 0: none */
    uint64_t number; /* among those of REFERENCE_DRIVER_DISPLAYS; 0 without that file */
    uint64_t calls[FAULT_TARGETS];
    atomic_bool lost; /* the device was, for this display */
    uint64_t random;  /* the state of its generator */
};

/* That of a display on the descriptor of a node, to be freed with it; NULL without memory. */
struct fault_display *faults_display(int node);

/* Counts a call of the entry point and applies its faults. False: the call fails with `*status`. */
bool faults_enter(struct fault_display *display, enum fault_target entry, VAStatus *status);

/* Counts a picture as its coding starts. Delays are done inside. */
void faults_coded(struct fault_display *display, struct coded_fault *fault);

/* Counts a picture as VideoProc starts to make it. Delays are done inside; of the fault only `hang` and `negative`
 * occur. */
void faults_processed(struct fault_display *display, struct coded_fault *fault);

/* Counts a picture as its decoding starts. Delays are done inside; of the fault only `hang`, `negative` and the status
 * occur. */
void faults_decoded(struct fault_display *display, struct coded_fault *fault);

/* Whether there are any faults to come. */
bool faults_are_given(void);

/* Whether a fault has taken the device away from the display. */
bool faults_device_lost(const struct fault_display *display);

#endif
