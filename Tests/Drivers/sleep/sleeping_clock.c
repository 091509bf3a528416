/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libsleeping_clock.so: preloaded before a program whose clocks are to differ.
 *
 * While the file that SLEEPING_CLOCK names is there, CLOCK_BOOTTIME, which runs on in a suspend, is an hour ahead of what
 * it was, and CLOCK_MONOTONIC, which stands still, is as before: as after an hour of sleep. The timers of the kernel do
 * not see it.
 *
 * The file that JUMPING_CLOCK names has the seconds by which CLOCK_REALTIME is ahead, or behind if they are negative: as
 * after an administrator or a time server has set the clock. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long long seconds_ahead(void)
{
    const char *path = getenv("JUMPING_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0)
        return 0;
    char text[32];
    ssize_t count = read(file, text, sizeof text - 1);
    close(file);
    text[count > 0 ? count : 0] = 0;
    return atoll(text);
}

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
    } else if (status == 0 && id == CLOCK_REALTIME) {
        time->tv_sec += seconds_ahead();
    }
    return status;
}

__attribute__((visibility("default"))) int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
    static int (*next)(struct timeval *, void *);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "gettimeofday");
    int status = next(time, zone);
    if (status == 0)
        time->tv_sec += seconds_ahead();
    return status;
}

__attribute__((visibility("default"))) time_t time(time_t *result)
{
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0)
        return (time_t)-1;
    if (result)
        *result = now.tv_sec;
    return now.tv_sec;
}
