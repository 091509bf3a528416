/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>

#define KIND_SHIFT 28
#define SERIAL_MASK ((1u << KIND_SHIFT) - 1)

/* Given out so far, per kind, in the whole process: an id of one display is never right on another. */
static pthread_mutex_t serials_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t serials[OBJECT_KINDS];

static const char *const kind_names[OBJECT_KINDS] = {"", "config", "context", "surface", "buffer", "image"};

static uint32_t next_id(enum object_kind kind)
{
    pthread_mutex_lock(&serials_lock);
    uint32_t serial = ++serials[kind] & SERIAL_MASK;
    pthread_mutex_unlock(&serials_lock);
    return (uint32_t)kind << KIND_SHIFT | serial;
}

static bool was_given_out(enum object_kind kind, uint32_t id)
{
    uint32_t serial = id & SERIAL_MASK;
    pthread_mutex_lock(&serials_lock);
    bool known = serial != 0 && serial <= serials[kind];
    pthread_mutex_unlock(&serials_lock);
    return known;
}

void *object_create(struct driver *driver, enum object_kind kind, size_t size)
{
    struct object *object = calloc(1, size);
    if (!object)
        return NULL;
    *object = (struct object){.kind = kind, .id = next_id(kind), .references = 1};
    pthread_mutex_lock(&driver->lock);
    struct object **bucket = &driver->objects[object->id % OBJECT_BUCKETS];
    object->next = *bucket;
    *bucket = object;
    if (++driver->living[kind] > driver->most_living[kind])
        driver->most_living[kind] = driver->living[kind];
    pthread_mutex_unlock(&driver->lock);
    return object;
}

void *object_peek(struct driver *driver, enum object_kind kind, uint32_t id)
{
    struct object *object = driver->objects[id % OBJECT_BUCKETS];
    while (object && object->id != id)
        object = object->next;
    return object && object->kind == kind ? object : NULL;
}

static void judge_id(enum object_kind kind, uint32_t id, const char *call)
{
    uint32_t other = id >> KIND_SHIFT;
    char name[48];
    if (other == (uint32_t)kind && was_given_out(kind, id)) {
        snprintf(name, sizeof(name), "%s-used-after-destruction", kind_names[kind]);
        journal_finding(JOURNAL_NOWHERE, name, call, "%s 0x%08x has been destroyed", kind_names[kind], id);
        return;
    }
    snprintf(name, sizeof(name), "%s-id-invalid", kind_names[kind]);
    if (other > 0 && other < OBJECT_KINDS && was_given_out((enum object_kind)other, id))
        journal_finding(JOURNAL_NOWHERE, name, call, "0x%08x is the id of a %s, a %s is wanted", id,
                        kind_names[other], kind_names[kind]);
    else
        journal_finding(JOURNAL_NOWHERE, name, call, "no %s has ever had the id 0x%08x", kind_names[kind], id);
}

void *object_hold_locked(void *object)
{
    ((struct object *)object)->references++;
    return object;
}

void *object_find_locked(struct driver *driver, enum object_kind kind, uint32_t id, const char *call)
{
    struct object *object = object_peek(driver, kind, id);
    if (!object) {
        judge_id(kind, id, call);
        return NULL;
    }
    return object_hold_locked(object);
}

void *object_find(struct driver *driver, enum object_kind kind, uint32_t id, const char *call)
{
    pthread_mutex_lock(&driver->lock);
    void *object = object_find_locked(driver, kind, id, call);
    pthread_mutex_unlock(&driver->lock);
    return object;
}

void object_withdraw(struct driver *driver, struct object *object)
{
    struct object **place = &driver->objects[object->id % OBJECT_BUCKETS];
    while (*place && *place != object)
        place = &(*place)->next;
    if (!*place)
        return; /* another thread was faster */
    *place = object->next;
    driver->living[object->kind]--;
    object_release_locked(driver, object);
}

void object_release_locked(struct driver *driver, void *released)
{
    struct object *object = released;
    if (--object->references > 0)
        return;
    switch (object->kind) {
    case OBJECT_SURFACE:
        surface_free(driver, released);
        break;
    case OBJECT_BUFFER:
        buffer_free(driver, released);
        break;
    case OBJECT_CONTEXT:
        context_free(driver, released);
        break;
    default:
        free(released);
    }
}

void object_release(struct driver *driver, void *object)
{
    pthread_mutex_lock(&driver->lock);
    object_release_locked(driver, object);
    pthread_mutex_unlock(&driver->lock);
}

static struct object *first_of(struct driver *driver, enum object_kind kind)
{
    struct object *first = NULL;
    for (size_t i = 0; i < OBJECT_BUCKETS; i++)
        for (struct object *object = driver->objects[i]; object; object = object->next)
            if (object->kind == kind && (!first || object->id < first->id))
                first = object;
    return first;
}

static void report_leak(const struct object *object)
{
    if (object->excused)
        return;
    if (object->kind == OBJECT_BUFFER && ((const struct buffer *)object)->image != VA_INVALID_ID)
        return; /* goes with its image */
    char name[32];
    snprintf(name, sizeof(name), "leaked-%s", kind_names[object->kind]);
    char what[64] = "";
    if (object->kind == OBJECT_BUFFER)
        snprintf(what, sizeof(what), " of type %d", ((const struct buffer *)object)->type);
    journal_finding(JOURNAL_NOWHERE, name, "vaTerminate", "%s 0x%08x%s has not been destroyed",
                    kind_names[object->kind], object->id, what);
}

void objects_terminate(struct driver *driver)
{
    /* Images before the buffers that are theirs, contexts before what they use. */
    static const enum object_kind order[] = {OBJECT_CONTEXT, OBJECT_IMAGE, OBJECT_BUFFER, OBJECT_SURFACE,
                                             OBJECT_CONFIG};
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        for (struct object *object; (object = first_of(driver, order[i]));) {
            report_leak(object);
            if (object->kind == OBJECT_CONTEXT)
                context_stop(driver, (struct context *)object);
            pthread_mutex_lock(&driver->lock);
            object_withdraw(driver, object);
            pthread_mutex_unlock(&driver->lock);
        }
    }
}

/* The living object with the id, of whatever kind; with the lock held. */
static struct object *peek_any(struct driver *driver, uint32_t id)
{
    uint32_t kind = id >> KIND_SHIFT;
    return kind < OBJECT_KINDS ? object_peek(driver, (enum object_kind)kind, id) : NULL;
}

void objects_excuse(VADriverContextP context, const uint32_t *ids, int count)
{
    struct driver *driver = driver_of(context);
    pthread_mutex_lock(&driver->lock);
    for (int i = 0; i < count; i++) {
        struct object *object = peek_any(driver, ids[i]);
        if (object)
            object->excused = true;
    }
    pthread_mutex_unlock(&driver->lock);
}

void objects_unwaitable(VADriverContextP context, const uint32_t *ids, int count)
{
    struct driver *driver = driver_of(context);
    pthread_mutex_lock(&driver->lock);
    for (int i = 0; i < count; i++) {
        struct object *object = peek_any(driver, ids[i]);
        if (object)
            object->unwaitable = true;
    }
    pthread_mutex_unlock(&driver->lock);
}
