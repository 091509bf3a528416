/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libfaulty_drv_video.so: a VA driver that can do nothing but fail, for those who have to outlive drivers: also at
 * moments at which the reference driver cannot, as the loading of its file, and in ways in which a driver lies.
 *
 * FAULTY_DRIVER is MOMENT=ACTION. MOMENT:
 *   load        the constructor, within dlopen
 *   initialize  __vaDriverInit
 *   profiles, entrypoints, terminate   vaQueryConfigProfiles, vaQueryConfigEntrypoints, vaTerminate
 *   attributes, config, surfaces       vaGetConfigAttributes, vaCreateConfig, vaQuerySurfaceAttributes
 *   unload      the destructor, within dlclose or exit
 * ACTION:
 *   segv, abort, fpe  the process ends by that signal
 *   exit              the process ends with status 1, as radeonsi ends it
 *   hang              the call never returns
 *   fail              the call fails (not load, unload)
 *   desert            every descriptor from 3 on is closed, then the call never returns
 *   shout             ten thousand lines on standard error, then SIGABRT
 *   many              profiles, entrypoints: more are listed than the driver had said that it has; surfaces: the list
 *                     is said to have four thousand million entries
 *   negative          profiles, entrypoints: the list has a negative length
 *   vendor            initialize: the driver's name is long, has control characters and is no UTF-8
 *   wild              initialize: the driver's name is at an address where nothing is
 * Without the variable it lists H.264 High for encoding, with constant quantisers; of surfaces it says nothing. */
#include <va/va.h>
#include <va/va_backend.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROFILES = 1, ENTRYPOINTS = 2, VENDOR_LENGTH = 9000 };

static char vendor[VENDOR_LENGTH + 1];

/* What to do at that moment; "" for nothing. */
static const char *action_at(const char *moment)
{
    const char *text = getenv("FAULTY_DRIVER");
    size_t length = strlen(moment);
    if (!text || strncmp(text, moment, length) != 0 || text[length] != '=') return "";
    return text + length + 1;
}

static void raise_default(int number)
{
    signal(number, SIG_DFL);
    raise(number);
}

static void hang(void)
{
    for (;;) pause();
}

/* Does what is to be done at that moment. False: the call fails. */
static _Bool pass(const char *moment)
{
    const char *action = action_at(moment);
    if (*action) fprintf(stderr, "libfaulty: %s at %s\n", action, moment);
    if (strcmp(action, "segv") == 0) raise_default(SIGSEGV);
    if (strcmp(action, "abort") == 0) abort();
    if (strcmp(action, "fpe") == 0) raise_default(SIGFPE);
    if (strcmp(action, "exit") == 0) exit(1);
    if (strcmp(action, "hang") == 0) hang();
    if (strcmp(action, "desert") == 0) {
        for (int descriptor = 3; descriptor < 4096; descriptor++) close(descriptor);
        hang();
    }
    if (strcmp(action, "shout") == 0) {
        for (int line = 0; line < 10000; line++) fprintf(stderr, "libfaulty: line %d of ten thousand\n", line);
        abort();
    }
    return strcmp(action, "fail") != 0;
}

__attribute__((constructor)) static void load(void) { pass("load"); }
__attribute__((destructor)) static void unload(void) { pass("unload"); }

/* How many entries a list has at that moment, where the driver has said `honest`. */
static int length_at(const char *moment, int honest)
{
    const char *action = action_at(moment);
    if (strcmp(action, "many") == 0) return 1000000;
    return strcmp(action, "negative") == 0 ? -1000000 : honest;
}

static VAStatus query_profiles(VADriverContextP context, VAProfile *profiles, int *count)
{
    (void)context;
    if (!pass("profiles")) return VA_STATUS_ERROR_OPERATION_FAILED;
    profiles[0] = VAProfileH264High;
    *count = length_at("profiles", PROFILES);
    return VA_STATUS_SUCCESS;
}

static VAStatus query_entrypoints(VADriverContextP context, VAProfile profile, VAEntrypoint *entrypoints, int *count)
{
    (void)context;
    (void)profile;
    if (!pass("entrypoints")) return VA_STATUS_ERROR_OPERATION_FAILED;
    entrypoints[0] = VAEntrypointVLD;
    entrypoints[1] = VAEntrypointEncSlice;
    *count = length_at("entrypoints", ENTRYPOINTS);
    return VA_STATUS_SUCCESS;
}

static VAStatus get_attributes(VADriverContextP context, VAProfile profile, VAEntrypoint entrypoint,
                               VAConfigAttrib *attributes, int count)
{
    (void)context;
    (void)profile;
    (void)entrypoint;
    if (!pass("attributes")) return VA_STATUS_ERROR_OPERATION_FAILED;
    for (int index = 0; index < count; index++) {
        _Bool is_known = attributes[index].type == VAConfigAttribRateControl;
        attributes[index].value = is_known ? VA_RC_CQP : VA_ATTRIB_NOT_SUPPORTED;
    }
    return VA_STATUS_SUCCESS;
}

static VAStatus create_config(VADriverContextP context, VAProfile profile, VAEntrypoint entrypoint,
                              VAConfigAttrib *attributes, int count, VAConfigID *config)
{
    (void)context;
    (void)profile;
    (void)entrypoint;
    (void)attributes;
    (void)count;
    if (!pass("config")) return VA_STATUS_ERROR_OPERATION_FAILED;
    *config = 1;
    return VA_STATUS_SUCCESS;
}

static VAStatus destroy_config(VADriverContextP context, VAConfigID config)
{
    (void)context;
    (void)config;
    return VA_STATUS_SUCCESS;
}

static VAStatus query_surface_attributes(VADriverContextP context, VAConfigID config, VASurfaceAttrib *attributes,
                                         unsigned int *count)
{
    (void)context;
    (void)config;
    if (!pass("surfaces")) return VA_STATUS_ERROR_OPERATION_FAILED;
    _Bool is_lie = strcmp(action_at("surfaces"), "many") == 0;
    if (is_lie && attributes) memset(attributes, 0, *count * sizeof *attributes);
    *count = is_lie ? 4000000000u : 0;
    return VA_STATUS_SUCCESS;
}

static VAStatus terminate(VADriverContextP context)
{
    (void)context;
    return pass("terminate") ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_OPERATION_FAILED;
}

static VAStatus refuse(void) { return VA_STATUS_ERROR_UNIMPLEMENTED; }

/* libva wants every entry of the table; the table is nothing but pointers to functions. */
static void fill_table(struct VADriverVTable *table)
{
    VAStatus (*const function)(void) = refuse;
    for (size_t place = 0; place < sizeof *table; place += sizeof function)
        memcpy((char *)table + place, &function, sizeof function);
    table->vaTerminate = terminate;
    table->vaQueryConfigProfiles = query_profiles;
    table->vaQueryConfigEntrypoints = query_entrypoints;
    table->vaGetConfigAttributes = get_attributes;
    table->vaCreateConfig = create_config;
    table->vaDestroyConfig = destroy_config;
    table->vaQuerySurfaceAttributes = query_surface_attributes;
}

static const char *vendor_text(void)
{
    const char *action = action_at("initialize");
    if (strcmp(action, "wild") == 0) return (const char *)64;
    if (strcmp(action, "vendor") != 0) return "VAToolbox faulty driver";
    const char start[] = "\x1b[2J\xff\n";
    memset(vendor, 'x', VENDOR_LENGTH);
    memcpy(vendor, start, sizeof start - 1);
    return vendor;
}

/* __vaDriverInit_1_17, for the version of libva's headers. */
#define PASTE(major, minor) __vaDriverInit_##major##_##minor
#define ENTRY_SYMBOL(major, minor) PASTE(major, minor)
VAStatus ENTRY_SYMBOL(VA_MAJOR_VERSION, VA_MINOR_VERSION)(VADriverContextP context);

__attribute__((visibility("default"))) VAStatus
ENTRY_SYMBOL(VA_MAJOR_VERSION, VA_MINOR_VERSION)(VADriverContextP context)
{
    if (!pass("initialize")) return VA_STATUS_ERROR_OPERATION_FAILED;
    context->version_major = VA_MAJOR_VERSION;
    context->version_minor = VA_MINOR_VERSION;
    context->max_profiles = PROFILES;
    context->max_entrypoints = ENTRYPOINTS;
    context->max_attributes = 1;
    context->max_image_formats = 1;
    context->max_subpic_formats = 1;
    context->max_display_attributes = 1;
    context->str_vendor = vendor_text();
    fill_table(context->vtable);
    return VA_STATUS_SUCCESS;
}
