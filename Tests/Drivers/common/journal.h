/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the reference driver and its checks saw: one JSON object per line, in the file that
 * REFERENCE_DRIVER_JOURNAL names (appended to with O_APPEND and one write per line, so that several threads and
 * processes can share it); nothing is kept when the variable is not set. */
#ifndef DRIVERS_COMMON_JOURNAL_H
#define DRIVERS_COMMON_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

/* Where a finding belongs. Fields that do not apply are UINT32_MAX. */
struct journal_place {
    uint32_t context; /* VAContextID */
    uint32_t picture; /* pictures begun in this context before this one, from 0 */
    uint32_t slice;   /* slice of the picture, from 0 */
};

#define JOURNAL_NOWHERE ((struct journal_place){UINT32_MAX, UINT32_MAX, UINT32_MAX})

/* Says that a client did something that a strict driver may refuse.
 *
 * {"kind":"finding","name":NAME,"clause":CLAUSE,"context":…,"picture":…,"slice":…,"detail":TEXT}
 *
 * `name` is stable, lower-case words joined by hyphens ("frame-num-mismatch"); `clause` names the specification's
 * clause or the C function and field ("H.264 7.4.3", "va_enc_h264.h VAEncPictureParameterBufferH264.frame_num");
 * the text states the value given and the value expected. */
void journal_finding(struct journal_place place, const char *name, const char *clause, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Adds any other line. `kind` is its kind; `fields` is the printf format of the rest of the object, JSON already
 * ("\"size\":%u"), or an empty string. */
void journal_event(const char *kind, const char *fields, ...) __attribute__((format(printf, 2, 3)));

/* False when REFERENCE_DRIVER_JUDGE is "off": checks need not run. Read once. */
bool journal_judging(void);

/* False when no file is named: what only serves the journal need not be computed. */
bool journal_is_kept(void);

/* Findings so far in this process; the replayer of mutations reads and resets it through the driver. */
uint64_t journal_finding_count(void);

/* Receives every finding beside the file, for tests and the mutation replayer that live in the same process. */
typedef void (*journal_listener)(void *token, struct journal_place place, const char *name, const char *clause,
                                 const char *detail);
void journal_listen(journal_listener listener, void *token);

#endif
