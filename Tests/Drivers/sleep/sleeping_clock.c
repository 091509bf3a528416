/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libsleeping_clock.so: preloaded before a program that is to find that its system was suspended. While the file that
 * SLEEPING_CLOCK names is there, CLOCK_BOOTTIME, which runs on in a suspend, is an hour ahead of what it was, and
 * CLOCK_MONOTONIC, which stands still, is as before: as after an hour of sleep. The timers of the kernel do not see it. */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *time)
{
    static int (*next)(clockid_t, struct timespec *);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "clock_gettime");
    int status = next(id, time);
    if (status == 0 && id == CLOCK_BOOTTIME) {
        const char *path = getenv("SLEEPING_CLOCK");
        if (path && access(path, F_OK) == 0)
            time->tv_sec += 3600;
    }
    return status;
}
