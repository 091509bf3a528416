/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Open render nodes and what they hold: buffer objects and synchronisation objects.
 *
 * The descriptor of an open node is a memfd, known by its inode, so that duplicates need no care. A buffer object is
 * a memfd too: exporting it is a duplicate, and the client's mappings are real. One lock guards everything here. */
#ifndef DRIVERS_NODE_NODES_H
#define DRIVERS_NODE_NODES_H

#include "settings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* Mappings of buffer objects are made at offsets from here on: OBJECT_OFFSET + handle * OBJECT_OFFSET_STEP. */
#define OBJECT_OFFSET (1ull << 44)
#define OBJECT_OFFSET_STEP (1ull << 12)

/* When submitted work is done. */
enum completion {
    COMPLETION_DONE,
    COMPLETION_NEVER,
};

/* A buffer object, shared by all handles of this process. */
struct object {
    int descriptor;              /* of its memfd; owned */
    dev_t device;                /* together with the inode: what the memfd is known by */
    ino_t inode;
    uint64_t size;               /* bytes */
    unsigned references;         /* handles and mappings into GPU address spaces */
    uint8_t *bytes;              /* where the shim has mapped it, NULL before object_bytes */
    uint64_t address;            /* i915: where it was last bound in GPU address space */
    uint32_t tiling, stride;     /* i915: as set */
    enum completion completion;  /* of the last submission that used it */
    uint64_t amdgpu_flags, amdgpu_domains, amdgpu_tiling;
    uint32_t amdgpu_metadata_size, amdgpu_metadata[64];
    uint64_t amdgpu_metadata_flags;
};

/* A synchronisation object (DRM syncobj): a fence and a timeline at once. */
struct syncobj {
    bool used, signalled, hangs; /* hangs: waits for work that never completes */
    uint64_t point;              /* of the timeline */
};

struct drm_file;

/* What an open file adds for its kernel interface. */
struct i915_file;
struct xe_file;
struct amdgpu_file;

/* One opening of a node. */
struct drm_file {
    bool used;
    dev_t device;
    ino_t inode;
    const struct node_settings *node;
    struct object **objects;     /* by handle, NULL where there is none; handle 0 is never used */
    uint32_t object_capacity;
    struct syncobj *syncobjs;    /* by handle, likewise */
    uint32_t syncobj_capacity;
    struct i915_file *i915;      /* owned; NULL until needed */
    struct xe_file *xe;
    struct amdgpu_file *amdgpu;
};

/* Reads the settings and makes the tree, once; every hook calls it first. False when no nodes are asked for. */
bool shim_is_active(void);
const struct settings *shim_settings(void);

/* The node that a file of the tree stands for; NULL for any other file. */
const struct node_settings *node_of_tree_file(const struct stat *status);

/* The node whose descriptor this is, for which no lock is needed; NULL for any other descriptor. */
const struct node_settings *node_of_descriptor(int descriptor);

/* Whether the descriptor is that of a memfd, of the shim or not. */
bool is_memfd(int descriptor);

/* Rewrites what stat tells of a node, when it is one. */
void node_adjust_status(mode_t *mode, uid_t *owner, gid_t *group, dev_t *number, const struct node_settings *node);

/* Opens a node. Returns the descriptor or -1 with errno. `flags` as for open. */
int node_open(const struct node_settings *node, int flags);

/* What the kernel says to who may use the node: 0 or an errno. */
int node_access_error(const struct node_settings *node);

/* True once the node has vanished. */
bool node_is_gone(const struct node_settings *node);

/* Counts the requests and submissions of a node in this process; the count is the occurrence, from 1. */
uint64_t node_count_request(const struct node_settings *node);
uint64_t node_count_submission(const struct node_settings *node);

void nodes_lock(void);
void nodes_unlock(void);

/* Lock held. The open file of a descriptor; adopts one that another process has opened. NULL when it is no node. */
struct drm_file *file_of_descriptor(int descriptor);

/* To be called before a descriptor is closed: frees what the open file holds if it is the last descriptor of it. */
void node_descriptor_closes(int descriptor);

/* Lock held. Buffer objects. Those that return int return 0 or an errno. */
int object_create(struct drm_file *file, uint64_t size, uint32_t *handle);
/* An object of the client's own memory. */
int object_create_from_memory(struct drm_file *file, void *memory, uint64_t size, uint32_t *handle);
int object_import(struct drm_file *file, int descriptor, uint32_t *handle);
int object_export(struct drm_file *file, uint32_t handle, int flags, int *descriptor);
int object_close(struct drm_file *file, uint32_t handle);
struct object *object_of_handle(struct drm_file *file, uint32_t handle);
/* When the work on an exported object is done; COMPLETION_DONE for any other descriptor. Takes the lock. */
enum completion object_completion_of_descriptor(int descriptor);
void object_retain(struct object *object);
void object_release(struct object *object);

/* The object's bytes, mapped for the shim; NULL when that fails. */
uint8_t *object_bytes(struct object *object);

/* Maps a buffer object for the client; MAP_FAILED and errno. Takes the lock. */
void *object_map(int descriptor, void *address, size_t length, int protection, int flags, uint64_t offset);

/* Lock held. A free synchronisation object; its handle, or 0 when there is no memory. */
uint32_t syncobj_create(struct drm_file *file);
struct syncobj *syncobj_of_handle(struct drm_file *file, uint32_t handle);

/* Lock held. Frees all that an open file holds here. */
void file_release_objects(struct drm_file *file);

#endif
