/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "faults.h"

#include "../common/environment.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

enum action { STATUS, DELAY, HANG, SEGMENTATION_FAULT, ABORT, DEVICE_LOST, SIZE, OVERFLOW, NEGATIVE };

enum argument { NO_ARGUMENT, NUMBER, DURATION };

static const struct {
    const char *name;
    enum action action;
    enum argument argument;
    bool coded_only; /* `negative` is for `processed` and `decoded` as well */
} actions[] = {
    {"status", STATUS, NUMBER, false},     {"delay", DELAY, DURATION, false},
    {"hang", HANG, NO_ARGUMENT, false},    {"segv", SEGMENTATION_FAULT, NO_ARGUMENT, false},
    {"abort", ABORT, NO_ARGUMENT, false},  {"device-lost", DEVICE_LOST, NO_ARGUMENT, false},
    {"size", SIZE, NUMBER, true},          {"overflow", OVERFLOW, NO_ARGUMENT, true},
    {"negative", NEGATIVE, NO_ARGUMENT, true},
};

#define ENTRY_NAME(name, parameters, arguments, refused) #name,
static const char *const targets[FAULT_TARGETS] = {
    "vaInitialize", "coded", "processed", "decoded", DRIVER_ENTRY_POINTS(ENTRY_NAME) PROCESSING_ENTRY_POINTS(ENTRY_NAME)};
#undef ENTRY_NAME

struct fault {
    enum fault_target target;
    uint64_t node, display; /* 0: any */
    uint64_t first, last; /* occurrences, both included */
    uint64_t chance;      /* of one in so many calls among them; 0: each */
    enum action action;
    uint64_t value;
};

#define MOST_FAULTS 64
#define LONGEST_TEXT 4096

#define NODES 256 /* more than the numbers of render nodes go to */

static struct {
    pthread_mutex_t lock; /* for all but what is lost; whether count is 0 is also read without it */
    char text[LONGEST_TEXT];
    struct fault faults[MOST_FAULTS];
    atomic_size_t count;
    uint64_t calls[FAULT_TARGETS];
    atomic_bool device_lost;
    atomic_bool node_lost[NODES];
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
    char *chance = environment_cut(text, '~');
    if (chance && (!environment_number(chance, UINT32_MAX, &fault->chance) || fault->chance == 0))
        return false;
    size_t length = strlen(text);
    bool onwards = length > 0 && text[length - 1] == '+';
    if (onwards && chance)
        return false;
    if (onwards)
        text[length - 1] = 0;
    if (!environment_number(text, UINT32_MAX, &fault->first) || fault->first == 0)
        return false;
    if (!onwards && !chance)
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
        bool negated = actions[i].action == NEGATIVE && (fault->target == TARGET_processed || fault->target == TARGET_decoded);
        if (actions[i].coded_only && fault->target != TARGET_coded && !negated)
            return false;
        if (actions[i].action == STATUS && fault->target == TARGET_processed)
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
    char *display = environment_cut(text, '#');
    char *node = environment_cut(text, '@');
    if (display && (!environment_number(display, UINT32_MAX, &fault->display) || fault->display == 0))
        return "a display is a number from 1";
    if (node && (!environment_number(node, NODES - 1, &fault->node) || fault->node == 0))
        return "a node is a number such as 128";
    for (enum fault_target i = 0; i < FAULT_TARGETS; i++)
        if (strcmp(text, targets[i]) == 0)
            fault->target = i;
    if (fault->target == FAULT_TARGETS)
        return "there is no such target";
    if (fault->target == TARGET_vaCreateSurfaces) /* libva calls the other one only */
        fault->target = TARGET_vaCreateSurfaces2;
    if (!read_occurrence(occurrence, fault))
        return "an occurrence is N, N+, N~M or *";
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
        for (size_t i = 0; i < NODES; i++)
            atomic_store(&state.node_lost[i], false);
    }
    pthread_mutex_unlock(&state.lock);
    return understood;
}

/* The number of the next display: each writes one byte to the file that all share. */
static uint64_t take_number(const char *path)
{
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0)
        return 0;
    off_t end = write(file, ".", 1) == 1 ? lseek(file, 0, SEEK_CUR) : 0;
    close(file);
    return end > 0 ? (uint64_t)end : 0;
}

struct fault_display *faults_display(int node)
{
    struct fault_display *display = calloc(1, sizeof(*display));
    struct stat status;
    const char *path = environment_text("REFERENCE_DRIVER_DISPLAYS");
    if (display && fstat(node, &status) == 0 && S_ISCHR(status.st_mode))
        display->node = minor(status.st_rdev) % NODES;
    if (display && path)
        display->number = take_number(path);
    uint64_t seed = 0;
    const char *text = environment_text("REFERENCE_DRIVER_SEED");
    if (text)
        environment_number(text, UINT32_MAX, &seed);
    if (display)
        display->random = seed << 32 | display->number;
    return display;
}

/* Whether chance strikes; SplitMix64, whose states may be numbers that follow one another. */
static bool strikes(const struct fault *fault, struct fault_display *display)
{
    if (fault->chance == 0)
        return true;
    uint64_t value = display->random += 0x9E3779B97F4A7C15;
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9;
    value = (value ^ value >> 27) * 0x94D049BB133111EB;
    return (value ^ value >> 31) % fault->chance == 0;
}

bool faults_device_lost(const struct fault_display *display)
{
    return atomic_load(&state.device_lost) || atomic_load(&state.node_lost[display->node]) ||
           atomic_load(&display->lost);
}

static void lose_device(const struct fault *fault, struct fault_display *display)
{
    if (fault->display || fault->chance)
        atomic_store(&display->lost, true);
    else if (fault->node)
        atomic_store(&state.node_lost[fault->node], true);
    else
        atomic_store(&state.device_lost, true);
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
static void apply_common(const struct fault *fault, struct fault_display *display)
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
        lose_device(fault, display);
        break;
    default:
        break;
    }
}

/* Counts a call and copies the faults that apply to it, for another display may change the list; returns how many.
 * Without any faults nothing is counted. */
static size_t take_faults(struct fault_display *display, enum fault_target target, struct fault faults[MOST_FAULTS],
                          uint64_t *call)
{
    size_t count = 0;
    if (atomic_load(&state.count) == 0)
        return 0;
    pthread_mutex_lock(&state.lock);
    *call = ++state.calls[target];
    uint64_t here = ++display->calls[target];
    for (size_t i = 0; i < state.count; i++) {
        const struct fault *fault = &state.faults[i];
        bool named = fault->node || fault->display || fault->chance;
        uint64_t counted = named ? here : *call;
        bool meant = (!fault->node || fault->node == display->node) &&
                     (!fault->display || fault->display == display->number);
        if (meant && fault->target == target && counted >= fault->first && counted <= fault->last &&
            strikes(fault, display))
            faults[count++] = *fault;
    }
    pthread_mutex_unlock(&state.lock);
    return count;
}

static bool enter(struct fault_display *display, enum fault_target target, VAStatus *status)
{
    struct fault faults[MOST_FAULTS];
    uint64_t call;
    bool goes_on = true;
    size_t count = take_faults(display, target, faults, &call);
    for (size_t i = 0; i < count; i++) {
        const struct fault *fault = &faults[i];
        journal_fault(fault, call);
        apply_common(fault, display);
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

bool faults_enter(struct fault_display *display, enum fault_target entry, VAStatus *status)
{
    bool goes_on = enter(display, entry, status);
    if (!faults_device_lost(display))
        return goes_on;
    for (size_t i = 0; i < sizeof(device_entries) / sizeof(device_entries[0]); i++) {
        if (device_entries[i].entry == entry) {
            *status = device_entries[i].status;
            return false;
        }
    }
    return goes_on;
}

static void enter_picture(struct fault_display *display, enum fault_target target, struct coded_fault *coded)
{
    *coded = (struct coded_fault){.hang = false};
    struct fault faults[MOST_FAULTS];
    uint64_t call;
    size_t count = take_faults(display, target, faults, &call);
    for (size_t i = 0; i < count; i++) {
        const struct fault *fault = &faults[i];
        journal_fault(fault, call);
        apply_common(fault, display);
        if (fault->action == HANG)
            coded->hang = true;
        if (fault->action == OVERFLOW)
            coded->overflow = true;
        if (fault->action == NEGATIVE)
            coded->negative = true;
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

bool faults_are_given(void)
{
    return atomic_load(&state.count) > 0;
}

void faults_coded(struct fault_display *display, struct coded_fault *coded)
{
    enter_picture(display, TARGET_coded, coded);
}

void faults_processed(struct fault_display *display, struct coded_fault *fault)
{
    enter_picture(display, TARGET_processed, fault);
}

void faults_decoded(struct fault_display *display, struct coded_fault *fault)
{
    enter_picture(display, TARGET_decoded, fault);
}
