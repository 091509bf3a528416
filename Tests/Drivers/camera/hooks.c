/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libfake_camera.so: the functions of the C library that lead to the fake cameras. */
#define _GNU_SOURCE
#include "camera.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HOOK __attribute__((visibility("default")))

/* What comes after this library: another one that is preloaded, or the C library. */
static int (*next_openat)(int, const char *, int, ...);
static int (*next_close)(int);
static int (*next_ioctl)(int, unsigned long, ...);
static void *(*next_mmap)(void *, size_t, int, int, int, off_t);

static void *next(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found)
        abort();
    return found;
}

/* Others may be called before the constructor of this library. */
static void find_next(void)
{
    if (next_mmap)
        return;
    next_openat = (int (*)(int, const char *, int, ...))next("openat");
    next_close = (int (*)(int))next("close");
    next_ioctl = (int (*)(int, unsigned long, ...))next("ioctl");
    next_mmap = (void *(*)(void *, size_t, int, int, int, off_t))next("mmap");
}

/* Paths of cameras in /dev lead to the folder of the descriptions; others stay as they are. */
static const char *translated(const char *path, char buffer[PATH_MAX])
{
    const char *folder = getenv("FAKE_CAMERAS");
    bool is_of_cameras = strcmp(path, "/dev") == 0 || strncmp(path, "/dev/video", strlen("/dev/video")) == 0 ||
                         strncmp(path, "/dev/v4l", strlen("/dev/v4l")) == 0;

    if (!folder || !is_of_cameras)
        return path;
    snprintf(buffer, PATH_MAX, "%s%s", folder, path + strlen("/dev"));
    return buffer;
}

HOOK DIR *opendir(const char *path)
{
    static DIR *(*real)(const char *);
    char buffer[PATH_MAX];

    if (!real)
        real = (DIR * (*)(const char *)) dlsym(RTLD_NEXT, "opendir");
    return real(translated(path, buffer));
}

static int open_through(int folder, const char *path, int flags, mode_t mode)
{
    char buffer[PATH_MAX];

    path = translated(path, buffer);
    if (!is_camera_path(path)) {
        find_next();
        return next_openat(folder, path, flags, mode);
    }
    pthread_mutex_lock(&camera_lock);
    int descriptor = camera_open(path, flags);
    int error = errno;
    pthread_mutex_unlock(&camera_lock);
    errno = error;
    return descriptor;
}

#define MODE_AFTER(last)                                                                                              \
    mode_t mode = 0;                                                                                                  \
    if ((flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE) {                                                      \
        va_list arguments;                                                                                            \
        va_start(arguments, last);                                                                                    \
        mode = va_arg(arguments, mode_t);                                                                             \
        va_end(arguments);                                                                                            \
    }

HOOK int open(const char *path, int flags, ...)
{
    MODE_AFTER(flags)
    /* Whoever creates a file writes the description of a camera. */
    return flags & O_CREAT ? (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode)
                           : open_through(AT_FDCWD, path, flags, mode);
}

HOOK int open64(const char *path, int flags, ...)
{
    MODE_AFTER(flags)
    return flags & O_CREAT ? (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode)
                           : open_through(AT_FDCWD, path, flags, mode);
}

HOOK int openat(int folder, const char *path, int flags, ...)
{
    MODE_AFTER(flags)
    return open_through(folder, path, flags, mode);
}

HOOK int close(int descriptor)
{
    if (descriptor >= 0 && descriptor < MOST_FILES) {
        pthread_mutex_lock(&camera_lock);
        camera_close(descriptor);
        pthread_mutex_unlock(&camera_lock);
    }
    find_next();
    return next_close(descriptor);
}

HOOK int ioctl(int descriptor, unsigned long request, ...)
{
    va_list arguments;

    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    pthread_mutex_lock(&camera_lock);
    struct file *file = file_of(descriptor);
    int status = file ? camera_request(descriptor, file, request, argument) : 0;
    int error = errno;
    pthread_mutex_unlock(&camera_lock);
    if (!file) {
        find_next();
        return next_ioctl(descriptor, request, argument);
    }
    errno = error;
    return status;
}

static void *map_through(void *address, size_t length, int protection, int flags, int descriptor, off_t offset)
{
    pthread_mutex_lock(&camera_lock);
    struct file *file = flags & MAP_ANONYMOUS ? NULL : file_of(descriptor);
    void *base = file ? camera_map(file, length, protection, flags, offset, address) : NULL;
    int error = errno;
    pthread_mutex_unlock(&camera_lock);
    if (!file) {
        find_next();
        return next_mmap(address, length, protection, flags, descriptor, offset);
    }
    errno = error;
    return base;
}

HOOK void *mmap(void *address, size_t length, int protection, int flags, int descriptor, off_t offset)
{
    /* Memory for the C library, also while the lock is held. */
    if (flags & MAP_ANONYMOUS || descriptor < 0)
        return (void *)syscall(SYS_mmap, address, length, protection, flags, descriptor, offset);
    return map_through(address, length, protection, flags, descriptor, offset);
}

HOOK void *mmap64(void *address, size_t length, int protection, int flags, int descriptor, off64_t offset)
{
    return mmap(address, length, protection, flags, descriptor, offset);
}

/* What the cameras among the descriptors say; the number of those that say something. */
static int look(struct pollfd *descriptors, nfds_t count, bool *has_camera)
{
    int found = 0;

    pthread_mutex_lock(&camera_lock);
    for (nfds_t index = 0; index < count; index++) {
        struct file *file = file_of(descriptors[index].fd);
        if (!file)
            continue;
        *has_camera = true;
        descriptors[index].revents = camera_events(file, descriptors[index].events);
        found += descriptors[index].revents != 0;
        /* The next change makes it readable again. */
        eventfd_t value;
        syscall(SYS_read, descriptors[index].fd, &value, sizeof value);
    }
    pthread_mutex_unlock(&camera_lock);
    return found;
}

HOOK int poll(struct pollfd *descriptors, nfds_t count, int limit)
{
    bool has_camera = false;
    struct pollfd own[16];

    if (count > 16 || (look(descriptors, count, &has_camera) == 0 && !has_camera))
        return (int)syscall(SYS_poll, descriptors, count, limit);
    for (;;) {
        int found = look(descriptors, count, &has_camera);
        memcpy(own, descriptors, count * sizeof *own);
        int status = (int)syscall(SYS_poll, own, count, found > 0 ? 0 : limit);
        if (status < 0)
            return -1;
        int total = 0;
        look(descriptors, count, &has_camera);
        pthread_mutex_lock(&camera_lock);
        for (nfds_t index = 0; index < count; index++) {
            if (!file_of(descriptors[index].fd))
                descriptors[index].revents = own[index].revents;
            total += descriptors[index].revents != 0;
        }
        pthread_mutex_unlock(&camera_lock);
        if (total > 0 || status == 0)
            return total;
    }
}
