// SPDX-License-Identifier: GPL-2.0-or-later
//
// The X protocol by XCB, with the extensions that screen capture needs, and timers (timerfd_create(2)) and events
// (eventfd(2)) as descriptors, which Swift's C library module does not export. Swift attributes the structures of the C
// library to whichever module it loads first, and lets only files that import that module use them, so the calls that
// have such structures are functions here.

#ifndef CXCB_SHIM_H
#define CXCB_SHIM_H

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include <xcb/composite.h>
#include <xcb/damage.h>
#include <xcb/randr.h>
#include <xcb/shm.h>
#include <xcb/xcb.h>
#include <xcb/xcbext.h>
#include <xcb/xfixes.h>

/// The extensions whose identifiers are mutable globals of XCB, which Swift does not let use.
enum xcb_shim_extension {
    XCB_SHIM_SHARED_MEMORY,
    XCB_SHIM_DAMAGE,
    XCB_SHIM_FIXES,
    XCB_SHIM_RANDR,
    XCB_SHIM_COMPOSITE,
};

static inline xcb_extension_t *_Nonnull xcb_shim_identifier(enum xcb_shim_extension extension) {
    switch (extension) {
    case XCB_SHIM_SHARED_MEMORY: return &xcb_shm_id;
    case XCB_SHIM_DAMAGE: return &xcb_damage_id;
    case XCB_SHIM_FIXES: return &xcb_xfixes_id;
    case XCB_SHIM_RANDR: return &xcb_randr_id;
    case XCB_SHIM_COMPOSITE: return &xcb_composite_id;
    }
    return &xcb_shm_id;
}

/// xcb_prefetch_extension_data: asks for an extension without waiting.
static inline void xcb_shim_ask(xcb_connection_t *_Nonnull connection, enum xcb_shim_extension extension) {
    xcb_prefetch_extension_data(connection, xcb_shim_identifier(extension));
}

/// xcb_get_extension_data: waits for the answer.
///
/// @return The number of the extension's first event, or -1 if the server does not have the extension.
static inline int xcb_shim_first_event(xcb_connection_t *_Nonnull connection, enum xcb_shim_extension extension) {
    const xcb_query_extension_reply_t *reply =
        xcb_get_extension_data(connection, xcb_shim_identifier(extension));
    return reply != NULL && reply->present ? reply->first_event : -1;
}

/// timerfd_create(2) for CLOCK_MONOTONIC, close-on-exec.
static inline int xcb_shim_timer(void) {
    return timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
}

/// timerfd_settime(2): the timer is readable from a time of CLOCK_MONOTONIC on.
static inline int xcb_shim_set_timer(int timer, long long nanoseconds) {
    const struct itimerspec time = {
        .it_value = {.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000}};
    return timerfd_settime(timer, TFD_TIMER_ABSTIME, &time, NULL);
}

/// eventfd(2), close-on-exec and non-blocking.
static inline int xcb_shim_event(void) {
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

/// eventfd_write(3) with 1: the event is readable.
static inline void xcb_shim_set_event(int event) {
    eventfd_write(event, 1);
}

/// eventfd_read(3): the event is not readable any more.
static inline void xcb_shim_reset_event(int event) {
    eventfd_t count;
    eventfd_read(event, &count);
}

/// Blocks SIGPIPE in the calling thread.
///
/// @return Whether it was not blocked before, and has to be unblocked.
static inline int xcb_shim_block_pipe_signal(void) {
    sigset_t pipe, before;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigemptyset(&before);
    return pthread_sigmask(SIG_BLOCK, &pipe, &before) == 0 && !sigismember(&before, SIGPIPE);
}

/// Unblocks SIGPIPE in the calling thread.
///
/// @param discards Whether one that is pending is discarded (sigtimedwait(2)).
static inline void xcb_shim_unblock_pipe_signal(int discards) {
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    const struct timespec now = {0, 0};
    while (discards && sigtimedwait(&pipe, NULL, &now) < 0 && errno == EINTR) {
    }
    pthread_sigmask(SIG_UNBLOCK, &pipe, NULL);
}

/// Whether a connection is one of AF_UNIX.
static inline int xcb_shim_is_local(int descriptor) {
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    return getsockname(descriptor, (struct sockaddr *)&address, &size) == 0 && address.ss_family == AF_UNIX;
}

/// Connects to a socket of AF_UNIX, and ends the connection.
///
/// @param is_abstract Whether the path is a name of Linux without a file.
/// @return 0, or errno.
static inline int xcb_shim_reach(const char *_Nonnull path, int is_abstract) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t count = strlen(path), first = is_abstract ? 1 : 0;
    if (count + first > sizeof address.sun_path) return ENAMETOOLONG;
    memcpy(address.sun_path + first, path, count);
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return errno;
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + first + count);
    int status = connect(descriptor, (const struct sockaddr *)&address, size) == 0 ? 0 : errno;
    close(descriptor);
    return status;
}

#endif
