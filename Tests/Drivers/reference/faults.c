/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "faults.h"

#include "../common/environment.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum action { STATUS, DELAY, HANG, SEGMENTATION_FAULT, ABORT, DEVICE_LOST, SIZE, OVERFLOW };

enum argument { NO_ARGUMENT, NUMBER, DURATION };

static const struct {
    const char *name;
    enum action action;
    enum argument argument;
    bool coded_only;
} actions[] = {
    {"status", STATUS, NUMBER, false},     {"delay", DELAY, DURATION, false},
    {"hang", HANG, NO_ARGUMENT, false},    {"segv", SEGMENTATION_FAULT, NO_ARGUMENT, false},
    {"abort", ABORT, NO_ARGUMENT, false},  {"device-lost", DEVICE_LOST, NO_ARGUMENT, false},
    {"size", SIZE, NUMBER, true},          {"overflow", OVERFLOW, NO_ARGUMENT, true},
};

#define ENTRY_NAME(name, parameters, arguments, refused) #name,
static const char *const targets[FAULT_TARGETS] = {"vaInitialize", "coded", DRIVER_ENTRY_POINTS(ENTRY_NAME)};
#undef ENTRY_NAME

struct fault {
    enum fault_target target;
    uint64_t first, last; /* occurrences, both included */
    enum action action;
    uint64_t value;
};

#define MOST_FAULTS 64
#define LONGEST_TEXT 4096

static struct {
    pthread_mutex_t lock; /* for all but device_lost; whether count is 0 is also read without it */
    char text[LONGEST_TEXT];
    struct fault faults[MOST_FAULTS];
    atomic_size_t count;
    uint64_t calls[FAULT_TARGETS];
    atomic_bool device_lost;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Entry points that reach the device, and what drivers say there once it is gone. */
static const struct {
    enum fault_target entry;
    VAStatus status;
} device_entries[] = {
    {TARGET_vaInitialize, VA_STATUS_ERROR_UNKNOWN},
    {TARGET_vaCreateContext, VA_STATUS_ERROR_ALLOCATION_FAILED},
    {TARGET_vaCreateSurfaces, VA_STATUS_ERROR_ALLOCATION_FAILED},
    {TARGET_vaCreateSurfaces2, VA_STATUS_ERROR_ALLOCATION_FAILED},
    {TARGET_vaEndPicture, VA_STATUS_ERROR_ENCODING_ERROR},
    {TARGET_vaSyncSurface, VA_STATUS_ERROR_OPERATION_FAILED},
    {TARGET_vaSyncSurface2, VA_STATUS_ERROR_OPERATION_FAILED},
    {TARGET_vaSyncBuffer, VA_STATUS_ERROR_OPERATION_FAILED},
    {TARGET_vaPutImage, VA_STATUS_ERROR_OPERATION_FAILED},
    {TARGET_vaGetImage, VA_STATUS_ERROR_OPERATION_FAILED},
};

static bool read_occurrence(char *text, struct fault *fault)
{
    fault->last = UINT64_MAX;
    if (strcmp(text, "*") == 0) {
        fault->first = 1;
        return true;
    }
    size_t length = strlen(text);
    bool onwards = length > 0 && text[length - 1] == '+';
    if (onwards)
        text[length - 1] = 0;
    if (!environment_number(text, UINT32_MAX, &fault->first) || fault->first == 0)
        return false;
    if (!onwards)
        fault->last = fault->first;
    return true;
}

static bool read_action(char *text, struct fault *fault)
{
    char *argument = environment_cut(text, ':');
    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
        if (strcmp(text, actions[i].name) != 0)
            continue;
        fault->action = actions[i].action;
        if (actions[i].coded_only && fault->target != TARGET_coded)
            return false;
        if (actions[i].argument == NO_ARGUMENT)
            return argument == NULL;
        if (!argument)
            return false;
        return actions[i].argument == NUMBER ? environment_number(argument, UINT32_MAX, &fault->value)
                                             : environment_duration(argument, &fault->value);
    }
    return false;
}

/* What is wrong with "TARGET:OCCURRENCE=ACTION"; NULL when nothing is. */
static const char *read_fault(char *text, struct fault *fault)
{
    *fault = (struct fault){.target = FAULT_TARGETS};
    char *action = environment_cut(text, '=');
    char *occurrence = environment_cut(text, ':');
    if (!action || !occurrence)
        return "the form is TARGET:OCCURRENCE=ACTION";
    for (enum fault_target i = 0; i < FAULT_TARGETS; i++)
        if (strcmp(text, targets[i]) == 0)
            fault->target = i;
    if (fault->target == FAULT_TARGETS)
        return "there is no such target";
    if (fault->target == TARGET_vaCreateSurfaces) /* libva calls the other one only */
        fault->target = TARGET_vaCreateSurfaces2;
    if (!read_occurrence(occurrence, fault))
        return "an occurrence is N, N+ or *";
    if (!read_action(action, fault))
        return "there is no such action for the target";
    return NULL;
}

static bool read_list(const char *text, char *problem, size_t size)
{
    char copy[LONGEST_TEXT];
    strcpy(copy, text);
    state.count = 0;
    char *rest = copy;
    for (char *part; (part = environment_next(&rest, ";"));) {
        char whole[128];
        snprintf(whole, sizeof(whole), "%s", part);
        const char *wrong = state.count == MOST_FAULTS ? "too many faults"
                                                       : read_fault(part, &state.faults[state.count]);
        if (wrong) {
            snprintf(problem, size, "REFERENCE_DRIVER_FAULTS: \"%s\": %s", whole, wrong);
            state.count = 0;
            return false;
        }
        state.count++;
    }
    return true;
}

bool faults_read(char *problem, size_t size)
{
    const char *text = environment_text("REFERENCE_DRIVER_FAULTS");
    if (!text)
        text = "";
    if (strlen(text) >= LONGEST_TEXT) {
        snprintf(problem, size, "REFERENCE_DRIVER_FAULTS is longer than %d bytes", LONGEST_TEXT - 1);
        return false;
    }
    pthread_mutex_lock(&state.lock);
    bool understood = true;
    if (strcmp(text, state.text) != 0) {
        understood = read_list(text, problem, size);
        strcpy(state.text, understood ? text : "");
        for (size_t i = 0; i < FAULT_TARGETS; i++)
            state.calls[i] = 0;
        atomic_store(&state.device_lost, false);
    }
    pthread_mutex_unlock(&state.lock);
    return understood;
}

bool faults_device_lost(void)
{
    return atomic_load(&state.device_lost);
}

static void pass_time(uint64_t microseconds)
{
    struct timespec rest = {.tv_sec = (time_t)(microseconds / 1000000),
                            .tv_nsec = (long)(microseconds % 1000000) * 1000};
    while (nanosleep(&rest, &rest) != 0)
        continue;
}

/* Ends the process as a stray pointer of a driver does: the address is real, and not NULL. */
static void touch_forbidden_memory(void)
{
    volatile char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *page = 1;
}

static void journal_fault(const struct fault *fault, uint64_t call)
{
    const char *action = "";
    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
        if (actions[i].action == fault->action)
            action = actions[i].name;
    journal_event("fault", "\"target\":\"%s\",\"occurrence\":%llu,\"action\":\"%s\",\"value\":%llu",
                  targets[fault->target], (unsigned long long)call, action, (unsigned long long)fault->value);
}

/* The actions that entry points and pictures have in common. */
static void apply_common(const struct fault *fault)
{
    switch (fault->action) {
    case DELAY:
        pass_time(fault->value);
        break;
    case SEGMENTATION_FAULT:
        touch_forbidden_memory();
        break;
    case ABORT:
        abort();
    case DEVICE_LOST:
        atomic_store(&state.device_lost, true);
        break;
    default:
        break;
    }
}

/* Counts a call and copies the faults that apply to it, for another display may change the list; returns how many.
 * Without any faults nothing is counted. */
static size_t take_faults(enum fault_target target, struct fault faults[MOST_FAULTS], uint64_t *call)
{
    size_t count = 0;
    if (atomic_load(&state.count) == 0)
        return 0;
    pthread_mutex_lock(&state.lock);
    *call = ++state.calls[target];
    for (size_t i = 0; i < state.count; i++) {
        const struct fault *fault = &state.faults[i];
        if (fault->target == target && *call >= fault->first && *call <= fault->last)
            faults[count++] = *fault;
    }
    pthread_mutex_unlock(&state.lock);
    return count;
}

static bool enter(enum fault_target target, VAStatus *status)
{
    struct fault faults[MOST_FAULTS];
    uint64_t call;
    bool goes_on = true;
    size_t count = take_faults(target, faults, &call);
    for (size_t i = 0; i < count; i++) {
        const struct fault *fault = &faults[i];
        journal_fault(fault, call);
        apply_common(fault);
        if (fault->action == HANG)
            for (;;)
                pause();
        if (fault->action == STATUS || fault->action == DEVICE_LOST) {
            *status = fault->action == STATUS ? (VAStatus)fault->value : VA_STATUS_ERROR_OPERATION_FAILED;
            goes_on = false;
        }
    }
    return goes_on;
}

bool faults_enter(enum fault_target entry, VAStatus *status)
{
    bool goes_on = enter(entry, status);
    if (!faults_device_lost())
        return goes_on;
    for (size_t i = 0; i < sizeof(device_entries) / sizeof(device_entries[0]); i++) {
        if (device_entries[i].entry == entry) {
            *status = device_entries[i].status;
            return false;
        }
    }
    return goes_on;
}

void faults_coded(struct coded_fault *coded)
{
    *coded = (struct coded_fault){.hang = false};
    struct fault faults[MOST_FAULTS];
    uint64_t call;
    size_t count = take_faults(TARGET_coded, faults, &call);
    for (size_t i = 0; i < count; i++) {
        const struct fault *fault = &faults[i];
        journal_fault(fault, call);
        apply_common(fault);
        if (fault->action == HANG)
            coded->hang = true;
        if (fault->action == OVERFLOW)
            coded->overflow = true;
        if (fault->action == SIZE) {
            coded->has_size = true;
            coded->size = (uint32_t)fault->value;
        }
        if (fault->action == STATUS) {
            coded->has_status = true;
            coded->status = (uint32_t)fault->value;
        }
    }
}
