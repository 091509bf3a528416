/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All changes of a trace that are worth a try: one field, element or call at a time. */
#ifndef DRIVERS_MUTATION_MUTATIONS_H
#define DRIVERS_MUTATION_MUTATIONS_H

#include "player.h"

struct mutation {
    char name[128];   /* what is changed and how: "slice.RefPicList0[1].frame_idx=plus-1" */
    char picture[24]; /* whose picture: "4 b-ref"; "setup" for what belongs to none */
    struct change changes[2];
    size_t change_count;
};

struct mutation_list {
    struct mutation *items;
    size_t count, capacity;
};

/* Fills the list. With `all_pictures` every picture is changed, else the first two and the last of each kind (idr, i,
 * p, b, each -ref where others may refer to it). Pointers into the trace are not kept. */
void mutations_make(struct mutation_list *list, const struct trace *trace, bool all_pictures);
void mutations_release(struct mutation_list *list);

#endif
