/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Devices, their open files, and the thread that fills their buffers. */
#define _GNU_SOURCE
#include "camera.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

pthread_mutex_t camera_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t camera_changed = PTHREAD_COND_INITIALIZER;

static struct device *devices[MOST_DEVICES];
static struct file files[MOST_FILES];

_Noreturn void camera_fail(const char *what)
{
    fprintf(stderr, "fake camera: %s\n", what);
    _exit(3);
}

struct file *file_of(int descriptor)
{
    return descriptor >= 0 && descriptor < MOST_FILES && files[descriptor].device ? &files[descriptor] : NULL;
}

bool is_camera_path(const char *path)
{
    const char *folder = getenv("FAKE_CAMERAS");
    size_t length = folder ? strlen(folder) : 0;

    if (length == 0 || strncmp(path, folder, length) != 0 || strncmp(path + length, "/video", 6) != 0)
        return false;
    const char *number = path + length + 6;
    return *number != '\0' && strspn(number, "0123456789") == strlen(number);
}

static ino_t inode_of(const char *path)
{
    struct stat status;

    return syscall(SYS_newfstatat, AT_FDCWD, path, &status, 0) == 0 ? status.st_ino : 0;
}

bool device_is_gone(struct device *device)
{
    if (!device->is_gone && inode_of(device->path) != device->inode) {
        device->is_gone = true;
        device_wake(device);
    }
    return device->is_gone;
}

void device_wake(struct device *device)
{
    for (int descriptor = 0; descriptor < MOST_FILES; descriptor++)
        if (files[descriptor].device == device)
            eventfd_write(descriptor, 1);
    pthread_cond_broadcast(&camera_changed);
}

static struct device *find(const char *path)
{
    ino_t inode = inode_of(path);
    unsigned place = MOST_DEVICES;

    for (unsigned index = 0; index < MOST_DEVICES; index++) {
        struct device *device = devices[index];
        if (!device)
            place = place == MOST_DEVICES ? index : place;
        else if (!device_is_gone(device) && device->inode == inode && strcmp(device->path, path) == 0)
            return device;
    }
    struct device *device = inode && place < MOST_DEVICES ? calloc(1, sizeof *device) : NULL;
    if (!device || !settings_read(path, &device->settings)) {
        free(device);
        return NULL;
    }
    snprintf(device->path, sizeof device->path, "%s", path);
    device->inode = inode;
    device->owner = -1;
    const struct format_settings *first = &device->settings.formats[0];
    bool is_planar = device->settings.is_planar;
    device->format.type = is_planar ? V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE : V4L2_BUF_TYPE_VIDEO_CAPTURE;
    if (is_planar) {
        device->format.fmt.pix_mp.pixelformat = first->code;
        device->format.fmt.pix_mp.width = first->sizes[0].width;
        device->format.fmt.pix_mp.height = first->sizes[0].height;
    } else {
        device->format.fmt.pix.pixelformat = first->code;
        device->format.fmt.pix.width = first->sizes[0].width;
        device->format.fmt.pix.height = first->sizes[0].height;
    }
    format_lay_out(&device->settings, &device->format);
    device->interval = (struct v4l2_fract){1, first->sizes[0].rate_count ? first->sizes[0].rates[0] : 30};
    devices[place] = device;
    return device;
}

int camera_open(const char *path, int flags)
{
    struct device *device = find(path);
    int error = !device ? ENOENT : device->settings.open_error;

    if (!error && device->settings.busy == 'o')
        error = EBUSY;
    if (error) {
        errno = error;
        return -1;
    }
    int descriptor = eventfd(0, EFD_NONBLOCK | (flags & O_CLOEXEC ? EFD_CLOEXEC : 0));
    if (descriptor >= MOST_FILES)
        camera_fail("there are too many descriptors");
    if (descriptor >= 0) {
        files[descriptor] = (struct file){device, flags};
        device->users++;
    }
    return descriptor;
}

void camera_close(int descriptor)
{
    struct file *file = file_of(descriptor);

    if (!file)
        return;
    struct device *device = file->device;
    if (device->owner == descriptor)
        device_free_buffers(device, descriptor);
    file->device = NULL;
    device->users--;
    if (device->users == 0 && device_is_gone(device)) {
        for (unsigned index = 0; index < MOST_DEVICES; index++)
            if (devices[index] == device)
                devices[index] = NULL;
        free(device);
    }
}

/* --- Buffers --- */

uint32_t plane_offset(unsigned index, unsigned plane)
{
    return (index * MOST_PLANES + plane) << 20;
}

int device_allocate(struct device *device, unsigned count)
{
    uint32_t sizes[MOST_PLANES], rows[MOST_PLANES];

    device->plane_count = format_planes(&device->format, sizes, rows);
    for (unsigned index = 0; index < count; index++) {
        struct buffer *buffer = &device->buffers[index];
        memset(buffer, 0, sizeof *buffer);
        for (unsigned plane = 0; plane < device->plane_count; plane++) {
            buffer->length[plane] = sizes[plane];
            buffer->memory[plane] = memfd_create("fake-camera", MFD_CLOEXEC);
            if (buffer->memory[plane] < 0 || ftruncate(buffer->memory[plane], sizes[plane]) != 0)
                camera_fail("no memory");
        }
    }
    device->buffer_count = count;
    return 0;
}

void device_free_buffers(struct device *device, int descriptor)
{
    device_stop(device);
    for (unsigned index = 0; index < device->buffer_count; index++)
        for (unsigned plane = 0; plane < device->plane_count; plane++)
            syscall(SYS_close, device->buffers[index].memory[plane]); /* close() is a hook, and takes the lock. */
    device->buffer_count = 0;
    if (device->owner == descriptor)
        device->owner = -1;
}

void *camera_map(struct file *file, size_t length, int protection, int flags, off_t offset, void *address)
{
    struct device *device = file->device;

    for (unsigned index = 0; index < device->buffer_count; index++)
        for (unsigned plane = 0; plane < device->plane_count; plane++) {
            struct buffer *buffer = &device->buffers[index];
            if (plane_offset(index, plane) != (uint64_t)offset)
                continue;
            uint32_t most = (buffer->length[plane] + 4095) & ~4095u;
            if (!(flags & MAP_SHARED) || !(protection & PROT_READ) || length > most)
                break;
            return (void *)syscall(SYS_mmap, address, length, protection, flags, buffer->memory[plane], 0L);
        }
    errno = EINVAL;
    return MAP_FAILED;
}

short camera_events(struct file *file, short wanted)
{
    struct device *device = file->device;

    if (device_is_gone(device))
        return POLLERR | POLLHUP | POLLPRI;
    if (!device->streams || device->is_waiting_for_buffers)
        return POLLERR;
    return device->done_count > 0 ? wanted & (POLLIN | POLLRDNORM) : 0;
}

/* --- The sensor --- */

/* Writes down a picture: its number, and its time in nanoseconds or "lost". */
static void journal(unsigned number, const struct timeval *time)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/journal", getenv("FAKE_CAMERAS"));
    FILE *file = fopen(path, "ae");
    if (!file)
        return;
    if (time)
        fprintf(file, "%u %lld\n", number, (long long)time->tv_sec * 1000000000 + time->tv_usec * 1000);
    else
        fprintf(file, "%u lost\n", number);
    fclose(file);
}

static void fill(struct device *device, unsigned number)
{
    const struct settings *settings = &device->settings;
    unsigned index = device->queued[0];
    struct buffer *buffer = &device->buffers[index];

    memmove(device->queued, device->queued + 1, --device->queued_count * sizeof device->queued[0]);
    struct timespec now;
    clock_gettime(settings->clock == 'r' ? CLOCK_REALTIME : CLOCK_MONOTONIC, &now);
    buffer->time = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    buffer->sequence = settings->counts ? number : 0;
    buffer->flags = settings->clock == 'u' ? V4L2_BUF_FLAG_TIMESTAMP_UNKNOWN : V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC;
    if (settings->clock == 's')
        buffer->flags |= V4L2_BUF_FLAG_TSTAMP_SRC_SOE;
    if (settings->clock == 'u')
        buffer->time = (struct timeval){0, 0};
    picture_write(device, buffer, number);
    if (numbers_contain(&settings->marked, number)) {
        buffer->flags |= V4L2_BUF_FLAG_ERROR;
        buffer->used[0] /= 2;
    }
    buffer->state = BUFFER_DONE;
    device->done[device->done_count++] = index;
    journal(number, &buffer->time);
    device_wake(device);
}

static void wait_for(unsigned microseconds)
{
    struct timespec end;

    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += (long)microseconds * 1000;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&camera_changed, &camera_lock, &end);
}

static int64_t present(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void *sense(void *argument)
{
    struct device *device = argument;
    const struct settings *settings = &device->settings;

    pthread_mutex_lock(&camera_lock);
    int64_t due = present() + (settings->pace ? settings->pace : 1000);
    while (device->streams && !device_is_gone(device)) {
        bool is_due = present() >= due && device->next < settings->stall_at;
        if (!is_due || (settings->pace == 0 && device->queued_count == 0)) {
            wait_for(1000);
            continue;
        }
        if (device->next >= settings->unplug_at) {
            /* Not before the reader has all earlier pictures. */
            if (device->done_count == 0)
                unlink(device->path);
            wait_for(1000);
            continue;
        }
        unsigned number = device->next++;
        if (device->queued_count > 0 && !numbers_contain(&settings->lost, number))
            fill(device, number);
        else
            journal(number, NULL);
        due = settings->pace ? due + settings->pace : present() + 1000;
    }
    pthread_mutex_unlock(&camera_lock);
    return NULL;
}

int device_start(struct device *device)
{
    device->streams = true;
    device->next = 0;
    device->has_sensor = pthread_create(&device->sensor, NULL, sense, device) == 0;
    return device->has_sensor ? 0 : ENOMEM;
}

void device_stop(struct device *device)
{
    device->streams = false;
    if (device->has_sensor) {
        device->has_sensor = false;
        pthread_cond_broadcast(&camera_changed);
        pthread_mutex_unlock(&camera_lock);
        pthread_join(device->sensor, NULL);
        pthread_mutex_lock(&camera_lock);
    }
    device->queued_count = device->done_count = 0;
    device->is_waiting_for_buffers = true;
    for (unsigned index = 0; index < device->buffer_count; index++)
        device->buffers[index].state = BUFFER_IDLE;
}
