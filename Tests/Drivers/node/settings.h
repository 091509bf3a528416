/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the environment asks of the shim. README.md has the same list for users. */
#ifndef DRIVERS_NODE_SETTINGS_H
#define DRIVERS_NODE_SETTINGS_H

#include "chips.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    FIRST_RENDER_NODE = 128, /* the kernel numbers render nodes from here ... */
    LAST_RENDER_NODE = 191,  /* ... to here */
    MAXIMUM_NODES = LAST_RENDER_NODE - FIRST_RENDER_NODE + 1,
};

/* From which occurrence on, counted from 1, something happens. */
#define NEVER UINT64_MAX

/* One render node as asked for. */
struct node_settings {
    unsigned number;             /* 128 is renderD128 */
    const struct chip *chip;
    int open_error;              /* 0, EACCES or EPERM: what opening the node fails with */
    mode_t mode;                 /* permission bits that stat tells */
    uid_t owner;
    gid_t group;
    uint64_t vanish_at;          /* the request (ioctl) from which on the node is gone */
    char vanish_file[PATH_MAX];  /* the node is gone while this file exists; empty for none */
    int refusal_error;           /* what refused submissions fail with */
    uint64_t refuse_at;          /* the submission from which on all are refused */
    uint64_t hang_at;            /* the submission from which on none completes: waits last for ever */
    uint64_t reset_at;           /* the submission from which on the GPU does nothing, but fences signal */
    uint64_t coded_size;         /* bytes that each encoded picture claims to have */
    bool huc_firmware;           /* Intel: the firmware that low-power rate control needs is there */
};

struct settings {
    unsigned node_count;
    struct node_settings nodes[MAXIMUM_NODES]; /* in rising order of number */
    char tree_key[1024];         /* the value of RENDER_NODES */
    char trace_file[PATH_MAX];   /* where to tell of requests, empty for nowhere */
};

/* Reads the environment. A value that cannot be understood ends the process with status 2 and a message, for a test
 * that runs under other conditions than it states is worth nothing. */
void settings_read(struct settings *settings);

#endif
