/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* memfd_create */
#include "player.h"

#include "player_state.h"

#include <va/va_backend_prot.h>
#include <va/va_backend_vpp.h>
#include <va/va_drmcommon.h>

#include <dlfcn.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

bool driver_load(struct driver *driver, const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return false;
    }
    *driver = (struct driver){NULL, NULL};
    char name[32];
    for (int minor = VA_MINOR_VERSION; minor >= 0 && !driver->initialise; minor--) {
        snprintf(name, sizeof(name), "__vaDriverInit_%d_%d", VA_MAJOR_VERSION, minor);
        *(void **)&driver->initialise = dlsym(library, name);
    }
    *(void **)&driver->listen = dlsym(library, "reference_driver_listen");
    if (!driver->initialise || !driver->listen) {
        fprintf(stderr, "%s: no VA driver that tells its findings\n", path);
        return false;
    }
    return true;
}

/* Drivers may give out ids that no play before had. Puts the trace's ids in their place, so that two plays can be
 * compared, and "id" where the trace has none. Numbers count as ids when they are as large as the driver's are. */
static void with_recorded_ids(const struct player *player, const char *text, char *out, size_t size)
{
    const unsigned long least = 0x10000000, most = 0x5fffffff;
    size_t length = 0;
    while (*text && length + 16 < size) {
        char *end;
        unsigned long id = *text >= '0' && *text <= '9' ? strtoul(text, &end, 0) : 0;
        if (id < least || id > most) {
            out[length++] = *text++;
            continue;
        }
        const struct object *found = NULL;
        for (size_t i = 0; i < player->object_count; i++)
            if (player->objects[i].played == id) found = &player->objects[i];
        length += (size_t)snprintf(out + length, size - length, found ? "%08x" : "id", found ? found->recorded : 0);
        text = end;
    }
    out[length] = 0;
}

static void hear(void *token, struct journal_place place, const char *name, const char *clause, const char *detail)
{
    struct player *player = token;
    struct play *play = player->play;
    if (player->print)
        fprintf(player->print, "picture %" PRId32 " slice %" PRId32 ": %s (%s): %s\n", (int32_t)place.picture,
                (int32_t)place.slice, name, clause, detail);
    char comparable[1024];
    with_recorded_ids(player, detail, comparable, sizeof(comparable));
    place.context = 0;
    uint64_t digest = trace_digest(TRACE_DIGEST_START, (const uint8_t *)&place, sizeof(place));
    digest = trace_digest(digest, (const uint8_t *)name, strlen(name) + 1);
    digest = trace_digest(digest, (const uint8_t *)clause, strlen(clause) + 1);
    digest = trace_digest(digest, (const uint8_t *)comparable, strlen(comparable) + 1);
    if (play->finding_count == play->finding_capacity) {
        play->finding_capacity = play->finding_capacity * 2 + 16;
        play->findings = trace_resize(play->findings, play->finding_capacity, sizeof(*play->findings));
    }
    struct played_finding *finding = &play->findings[play->finding_count++];
    finding->digest = digest;
    snprintf(finding->name, sizeof(finding->name), "%s", name);
}

static int by_digest(const void *left, const void *right)
{
    uint64_t a = ((const struct played_finding *)left)->digest, b = ((const struct played_finding *)right)->digest;
    return a < b ? -1 : a > b;
}

static const struct change *change_of(const struct change *changes, size_t count, size_t call)
{
    for (size_t i = 0; i < count; i++)
        if (changes[i].call == call) return &changes[i];
    return NULL;
}

/* The parts of a VADriverContext that libva prepares for a driver on a DRM display. */
struct stage {
    struct VADriverContext context;
    struct VADriverVTable table;
    struct VADriverVTableVPP processing;
    struct VADriverVTableProt protection;
    struct drm_state drm;
};

static void set_stage(struct stage *stage)
{
    memset(stage, 0, sizeof(*stage));
    stage->drm = (struct drm_state){.fd = memfd_create("display", MFD_CLOEXEC), .auth_type = VA_DRM_AUTH_CUSTOM};
    stage->context = (struct VADriverContext){
        .vtable = &stage->table,
        .vtable_vpp = &stage->processing,
        .vtable_prot = &stage->protection,
        .drm_state = &stage->drm,
        .display_type = VA_DISPLAY_DRM_RENDERNODES,
    };
}

bool play_trace(const struct driver *driver, const struct trace *trace, const struct change *changes,
                size_t change_count, FILE *print, struct play *play)
{
    static struct stage stage;
    set_stage(&stage);
    *play = (struct play){.statuses = trace_allocate(trace->count, sizeof(uint32_t)), .coded = TRACE_DIGEST_START};
    struct player player = {.driver = &stage.context, .table = &stage.table, .play = play, .print = print};
    driver->listen(hear, &player);
    bool ready = driver->initialise(&stage.context) == VA_STATUS_SUCCESS;
    for (size_t i = 0; ready && i < trace->count; i++) {
        const struct trace_call *call = &trace->calls[i];
        const struct change *change = change_of(changes, change_count, i);
        play->statuses[i] = call->status;
        if (change && change->kind == CHANGE_DROP) continue;
        if (change && change->kind == CHANGE_REPEAT) player_call(&player, call, call);
        play->statuses[i] = player_call(&player, change && change->kind == CHANGE_REPLACE ? &change->replacement : call,
                                        call);
    }
    driver->listen(NULL, NULL);
    player_release(&player);
    close(stage.drm.fd);
    qsort(play->findings, play->finding_count, sizeof(*play->findings), by_digest);
    return ready;
}

void play_release(struct play *play)
{
    free(play->findings);
    free(play->statuses);
    *play = (struct play){0};
}
