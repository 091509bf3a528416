/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside the player: one call at a time. */
#ifndef DRIVERS_MUTATION_PLAYER_STATE_H
#define DRIVERS_MUTATION_PLAYER_STATE_H

#include "player.h"

enum object_kind { OBJECT_CONFIG, OBJECT_CONTEXT, OBJECT_SURFACE, OBJECT_BUFFER, OBJECT_IMAGE };

/* An object of the trace and of this play. */
struct object {
    enum object_kind kind;
    uint32_t recorded, played;
    bool coded;    /* a buffer of VAEncCodedBufferType */
    void *mapping; /* of a buffer; NULL while not mapped */
    size_t size, element_size; /* bytes of a buffer; 0 for an image's element */
    uint32_t type;             /* VABufferType */
    uint32_t buffer;           /* of an image, the recorded one */
};

struct player {
    VADriverContextP driver;
    struct VADriverVTable *table;
    struct play *play;
    FILE *print;
    struct object *objects;
    size_t object_count;
};

/* Makes the call; returns its status. What it creates stands for what `recorded` created (they differ where `call`
 * is a change of it). */
uint32_t player_call(struct player *player, const struct trace_call *call, const struct trace_call *recorded);

void player_release(struct player *player);

#endif
