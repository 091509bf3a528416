/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The driver's door: what libva looks up, the vtable and the wrapper around every entry point. */
#include "driver.h"
#include "faults.h"

#include "../common/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <va/va_drmcommon.h>

/* Each entry point, with its faults before it. */
#define WRAP_ENTRY(name, parameters, arguments, refused) \
    static VAStatus wrapped_##name parameters \
    { \
        VAStatus fault_status = VA_STATUS_SUCCESS; \
        if (faults_enter(driver_of(driver)->faults, TARGET_##name, &fault_status)) \
            return entry_##name arguments; \
        refused; \
        return fault_status; \
    }
DRIVER_ENTRY_POINTS(WRAP_ENTRY)
PROCESSING_ENTRY_POINTS(WRAP_ENTRY)
#undef WRAP_ENTRY

static void fill_processing_table(struct VADriverVTableVPP *table)
{
#define ENTER_ENTRY(name, parameters, arguments, refused) table->name = wrapped_##name;
    PROCESSING_ENTRY_POINTS(ENTER_ENTRY)
#undef ENTER_ENTRY
    table->version = VA_DRIVER_VTABLE_VPP_VERSION;
}

static void fill_table(struct VADriverVTable *table)
{
#define ENTER_ENTRY(name, parameters, arguments, refused) table->name = wrapped_##name;
    DRIVER_ENTRY_POINTS(ENTER_ENTRY)
#undef ENTER_ENTRY
}

static bool read_effort(enum effort *effort, char *problem, size_t size)
{
    const char *text = environment_text("REFERENCE_DRIVER_EFFORT");
    *effort = text && strcmp(text, "skip") == 0 ? EFFORT_SKIP : EFFORT_TRUTHFUL;
    if (!text || *effort == EFFORT_SKIP || strcmp(text, "truthful") == 0)
        return true;
    snprintf(problem, size, "REFERENCE_DRIVER_EFFORT is \"%s\"; known are truthful, skip", text);
    return false;
}

static bool read_judge(char *problem, size_t size)
{
    const char *text = environment_text("REFERENCE_DRIVER_JUDGE");
    if (!text || strcmp(text, "on") == 0 || strcmp(text, "off") == 0)
        return true;
    snprintf(problem, size, "REFERENCE_DRIVER_JUDGE is \"%s\"; known are on, off", text);
    return false;
}

/* A test whose journal is lost would find nothing. */
static bool check_journal(char *problem, size_t size)
{
    const char *path = environment_text("REFERENCE_DRIVER_JOURNAL");
    if (!path || journal_is_kept())
        return true;
    snprintf(problem, size, "REFERENCE_DRIVER_JOURNAL is \"%s\", which is not open", path);
    return false;
}

static bool read_settings(struct driver *driver)
{
    char problem[512];
    driver->dump_folder = environment_text("REFERENCE_DRIVER_DUMP");
    if (persona_read(&driver->persona, problem, sizeof(problem)) &&
        read_effort(&driver->effort, problem, sizeof(problem)) && faults_read(problem, sizeof(problem)) &&
        read_judge(problem, sizeof(problem)) &&
        segments_read(&driver->segmentation, &driver->segment_seed, problem, sizeof(problem)) && check_journal(problem, sizeof(problem)))
        return true;
    fprintf(stderr, "reference driver: %s\n", problem);
    return false;
}

static struct driver *driver_create(int node)
{
    struct driver *driver = calloc(1, sizeof(*driver));
    if (driver)
        driver->faults = faults_display(node);
    if (!driver || !driver->faults) {
        free(driver);
        return NULL;
    }
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&driver->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&driver->lock, NULL);
    return driver;
}

static void driver_destroy(struct driver *driver)
{
    pthread_cond_destroy(&driver->changed);
    pthread_mutex_destroy(&driver->lock);
    free(driver->faults);
    free(driver);
}

static void describe(VADriverContextP context, const struct driver *driver)
{
    context->pDriverData = (void *)driver;
    context->version_major = VA_MAJOR_VERSION;
    context->version_minor = VA_MINOR_VERSION;
    context->max_profiles = (int)persona_profile_count + 1; /* and VAProfileNone */
    context->max_entrypoints = 3;
    context->max_attributes = VAConfigAttribTypeMax;
    context->max_image_formats = PIXEL_KINDS;
    context->max_subpic_formats = 1; /* libva wants one; none is listed */
    context->max_display_attributes = 1;
    context->str_vendor = driver->persona.vendor;
}

/* __vaDriverInit_1_17, for the version of libva's headers. */
#define PASTE(major, minor) __vaDriverInit_##major##_##minor
#define ENTRY_SYMBOL(major, minor) PASTE(major, minor)
VAStatus ENTRY_SYMBOL(VA_MAJOR_VERSION, VA_MINOR_VERSION)(VADriverContextP context);

__attribute__((visibility("default"))) VAStatus
ENTRY_SYMBOL(VA_MAJOR_VERSION, VA_MINOR_VERSION)(VADriverContextP context)
{
    const struct drm_state *node = context->drm_state;
    struct driver *driver = driver_create(node ? node->fd : -1);
    if (!driver)
        return VA_STATUS_ERROR_ALLOCATION_FAILED;
    VAStatus status = VA_STATUS_ERROR_INVALID_PARAMETER;
    if (!read_settings(driver) || !faults_enter(driver->faults, TARGET_vaInitialize, &status)) {
        driver_destroy(driver);
        return status;
    }
    describe(context, driver);
    fill_table(context->vtable);
    fill_processing_table(context->vtable_vpp);
    journal_event("initialise", "\"persona\":\"%s\",\"effort\":\"%s\",\"process\":%ld", driver->persona.name,
                  driver->effort == EFFORT_SKIP ? "skip" : "truthful", (long)getpid());
    return VA_STATUS_SUCCESS;
}

VAStatus entry_vaTerminate(VADriverContextP context)
{
    struct driver *driver = driver_of(context);
    objects_terminate(driver);
    const uint32_t *most = driver->most_living;
    journal_event("terminate",
                  "\"process\":%ld,\"findings\":%llu,\"most\":{\"config\":%u,\"context\":%u,\"surface\":%u,"
                  "\"buffer\":%u,\"image\":%u}",
                  (long)getpid(), (unsigned long long)journal_finding_count(), most[OBJECT_CONFIG],
                  most[OBJECT_CONTEXT], most[OBJECT_SURFACE], most[OBJECT_BUFFER], most[OBJECT_IMAGE]);
    driver_destroy(driver);
    context->pDriverData = NULL;
    return VA_STATUS_SUCCESS;
}

/* For programs that load the driver without libva and judge with it (the replayer of mutations): journal_listen of
 * the journal that is inside this library. */
__attribute__((visibility("default"))) void reference_driver_listen(journal_listener listener, void *token);

__attribute__((visibility("default"))) void reference_driver_listen(journal_listener listener, void *token)
{
    journal_listen(listener, token);
}
