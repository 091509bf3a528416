/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plays a trace to a VA driver without libva and notes what the driver makes of it. */
#ifndef DRIVERS_MUTATION_PLAYER_H
#define DRIVERS_MUTATION_PLAYER_H

#include "../common/journal.h"
#include "trace.h"

#include <va/va_backend.h>

enum change_kind { CHANGE_REPLACE, CHANGE_DROP, CHANGE_REPEAT };

/* What is done to one call of the trace. Ids in the replacement are the trace's own; those that it does not know go
 * to the driver as they are. */
struct change {
    size_t call; /* index into the trace */
    enum change_kind kind;
    struct trace_call replacement; /* for CHANGE_REPLACE; owned by whoever made the change */
};

struct played_finding {
    char name[64];
    uint64_t digest; /* of picture, slice, name, clause and detail, the latter with the trace's ids */
};

/* What came of one play. */
struct play {
    struct played_finding *findings; /* sorted by digest */
    size_t finding_count, finding_capacity;
    uint32_t *statuses; /* per call of the trace; the recorded one for a call that was dropped */
    uint64_t coded;     /* digest of all coded buffers mapped, in order, with their sizes */
    size_t coded_count, coded_equal; /* coded buffers mapped; those among them whose bytes are as recorded */
};

/* A driver's library, loaded but not initialised. */
struct driver {
    VADriverInit initialise;
    void (*listen)(journal_listener listener, void *token); /* reference_driver_listen */
};

/* False, with a sentence on stderr: no driver, or one that does not tell its findings. */
bool driver_load(struct driver *driver, const char *path);

/* Plays the trace from start to end with the changes. `print` receives every finding as a line, or is NULL.
 * False: the driver did not initialise. Not for several threads at once. */
bool play_trace(const struct driver *driver, const struct trace *trace, const struct change *changes,
                size_t change_count, FILE *print, struct play *play);
void play_release(struct play *play);

#endif
