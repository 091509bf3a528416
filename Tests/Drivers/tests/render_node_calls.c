/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reaches /dev/dri/renderD128, a node of the kernel driver "i915", through every entry point of the C library that a
 * program may use. Prints each one that does not see it and exits with status 1. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <libdrm/drm.h>

#define NODE "/dev/dri/renderD128"
#define DEVICE "/sys/class/drm/renderD128/device"

static bool failed;

static void expect(bool condition, const char *what)
{
    if (!condition) {
        printf("%s (%s)\n", what, strerror(errno));
        failed = true;
    }
}

#define EXPECT(condition) expect(condition, #condition)

/* The forms that the headers do not declare. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int folder, const char *path, int flags);
int __openat64_2(int folder, const char *path, int flags);
int __xstat(int version, const char *path, struct stat *status);
int __xstat64(int version, const char *path, struct stat64 *status);
int __lxstat(int version, const char *path, struct stat *status);
int __lxstat64(int version, const char *path, struct stat64 *status);
int __fxstat(int version, int descriptor, struct stat *status);
int __fxstat64(int version, int descriptor, struct stat64 *status);
int __fxstatat(int version, int folder, const char *path, struct stat *status, int flags);
int __fxstatat64(int version, int folder, const char *path, struct stat64 *status, int flags);
ssize_t __readlink_chk(const char *path, char *text, size_t size, size_t room);
ssize_t __readlinkat_chk(int folder, const char *path, char *text, size_t size, size_t room);
char *__realpath_chk(const char *path, char *resolved, size_t room);

/* Whether the descriptor is of the node; closes it. */
static bool is_node(int descriptor)
{
    char name[16] = "";
    struct drm_version version = {.name = name, .name_len = sizeof name - 1};
    bool answers = descriptor >= 0 && ioctl(descriptor, DRM_IOCTL_VERSION, &version) == 0;

    if (descriptor >= 0)
        close(descriptor);
    return answers && strcmp(name, "i915") == 0;
}

static bool tells_of_node(int result, const struct stat *status)
{
    return result == 0 && S_ISCHR(status->st_mode) && status->st_rdev == makedev(226, 128);
}

static bool tells_of_node_64(int result, const struct stat64 *status)
{
    return result == 0 && S_ISCHR(status->st_mode) && status->st_rdev == makedev(226, 128);
}

static void check_opening(void)
{
    int dri = open("/dev/dri", O_RDONLY | O_DIRECTORY), top = open("/", O_RDONLY | O_DIRECTORY);
    FILE *stream = fopen(NODE, "r+"), *stream_64 = fopen64(NODE, "r+");

    EXPECT(is_node(open(NODE, O_RDWR)));
    EXPECT(is_node(open64(NODE, O_RDWR | O_CLOEXEC)));
    EXPECT(is_node(openat(AT_FDCWD, NODE, O_RDWR)));
    EXPECT(is_node(openat(dri, "renderD128", O_RDWR)));
    EXPECT(is_node(openat64(top, "dev/dri/../dri/renderD128", O_RDWR)));
    EXPECT(is_node(__open_2(NODE, O_RDWR)));
    EXPECT(is_node(__open64_2("//dev/./dri//renderD128", O_RDWR)));
    EXPECT(is_node(__openat_2(dri, "./renderD128", O_RDWR)));
    EXPECT(is_node(__openat64_2(dri, NODE, O_RDWR)));
    EXPECT(is_node(open("/dev/dri/by-path/pci-0000:00:02.0-render", O_RDWR)));
    EXPECT(open("/dev/dri/renderD129", O_RDWR) < 0 && errno == ENOENT);
    EXPECT(open("/dev/dri/card0", O_RDWR) < 0 && errno == ENOENT);
    EXPECT(stream != NULL && is_node(dup(fileno(stream))));
    EXPECT(stream_64 != NULL && is_node(dup(fileno(stream_64))));
    if (stream != NULL)
        fclose(stream);
    if (stream_64 != NULL)
        fclose(stream_64);
    close(dri);
    close(top);
}

static void check_status(void)
{
    int node = open(NODE, O_RDWR), path = open(NODE, O_PATH), dri = open("/dev/dri", O_RDONLY | O_DIRECTORY);
    struct stat status;
    struct stat64 status_64;
    struct statx extended;

    EXPECT(tells_of_node(stat(NODE, &status), &status));
    EXPECT(tells_of_node(lstat(NODE, &status), &status));
    EXPECT(tells_of_node(fstat(node, &status), &status));
    EXPECT(tells_of_node(fstat(path, &status), &status));
    EXPECT(tells_of_node(fstatat(dri, "renderD128", &status, 0), &status));
    EXPECT(tells_of_node(fstatat(node, "", &status, AT_EMPTY_PATH), &status));
    EXPECT(tells_of_node_64(stat64(NODE, &status_64), &status_64));
    EXPECT(tells_of_node_64(lstat64(NODE, &status_64), &status_64));
    EXPECT(tells_of_node_64(fstat64(node, &status_64), &status_64));
    EXPECT(tells_of_node_64(fstatat64(dri, "renderD128", &status_64, 0), &status_64));
    EXPECT(tells_of_node(__xstat(1, NODE, &status), &status));
    EXPECT(tells_of_node(__lxstat(1, NODE, &status), &status));
    EXPECT(tells_of_node(__fxstat(1, node, &status), &status));
    EXPECT(tells_of_node(__fxstatat(1, dri, "renderD128", &status, 0), &status));
    EXPECT(tells_of_node_64(__xstat64(1, NODE, &status_64), &status_64));
    EXPECT(tells_of_node_64(__lxstat64(1, NODE, &status_64), &status_64));
    EXPECT(tells_of_node_64(__fxstat64(1, node, &status_64), &status_64));
    EXPECT(tells_of_node_64(__fxstatat64(1, dri, "renderD128", &status_64, 0), &status_64));
    EXPECT(statx(AT_FDCWD, NODE, 0, STATX_BASIC_STATS, &extended) == 0 && S_ISCHR(extended.stx_mode) &&
           extended.stx_rdev_major == 226 && extended.stx_rdev_minor == 128);
    EXPECT(statx(node, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &extended) == 0 && S_ISCHR(extended.stx_mode));
    EXPECT(stat("/sys/dev/char/226:128/device/drm", &status) == 0 && S_ISDIR(status.st_mode));
    EXPECT(access(NODE, R_OK | W_OK) == 0);
    EXPECT(access(NODE, X_OK) != 0);
    EXPECT(faccessat(dri, "renderD128", F_OK, 0) == 0);
    EXPECT(euidaccess(NODE, R_OK) == 0);
    EXPECT(eaccess(NODE, W_OK) == 0);
    close(node);
    close(path);
    close(dri);
}

static int is_render_node(const struct dirent *entry)
{
    return strncmp(entry->d_name, "renderD", 7) == 0;
}

static int is_render_node_64(const struct dirent64 *entry)
{
    return strncmp(entry->d_name, "renderD", 7) == 0;
}

/* Whether the folder lists the node as a device. */
static bool lists_node(DIR *folder)
{
    struct dirent *entry;
    bool found = false;

    while (folder != NULL && (entry = readdir(folder)) != NULL)
        found = found || (strcmp(entry->d_name, "renderD128") == 0 && entry->d_type == DT_CHR);
    if (folder != NULL)
        closedir(folder);
    return found;
}

static bool lists_node_64(DIR *folder)
{
    struct dirent64 *entry;
    bool found = false;

    while (folder != NULL && (entry = readdir64(folder)) != NULL)
        found = found || (strcmp(entry->d_name, "renderD128") == 0 && entry->d_type == DT_CHR);
    if (folder != NULL)
        closedir(folder);
    return found;
}

static void check_folders(void)
{
    struct dirent **entries;
    struct dirent64 **entries_64;

    EXPECT(lists_node(opendir("/dev/dri")));
    EXPECT(lists_node_64(opendir("/dev/dri/")));
    EXPECT(lists_node(fdopendir(open("/dev/dri", O_RDONLY | O_DIRECTORY))));
    EXPECT(scandir("/dev/dri", &entries, is_render_node, alphasort) == 1);
    EXPECT(scandir64("/sys/class/drm", &entries_64, is_render_node_64, alphasort64) == 1);
    EXPECT(scandirat(AT_FDCWD, "/sys/bus/pci/devices/0000:00:02.0/drm", &entries, is_render_node, alphasort) == 1);
    EXPECT(scandir("/sys/class", &entries, NULL, alphasort) > 3); /* what else there is, too */
}

static bool links_to(ssize_t length, const char *text, const char *expected)
{
    return length == (ssize_t)strlen(expected) && memcmp(text, expected, strlen(expected)) == 0;
}

static void check_links(void)
{
    static const char device[] = "/sys/devices/pci0000:00/0000:00:02.0";
    char text[4096], path[64], *found;
    int node = open(NODE, O_RDWR), drm = open("/sys/class/drm", O_RDONLY | O_DIRECTORY);
    struct statfs system;

    EXPECT(links_to(readlink(DEVICE "/driver", text, sizeof text), text, "../../../bus/pci/drivers/i915"));
    EXPECT(links_to(readlinkat(drm, "renderD128/device/subsystem", text, sizeof text), text, "../../../bus/pci"));
    EXPECT(links_to(__readlink_chk(DEVICE "/subsystem", text, sizeof text, sizeof text), text, "../../../bus/pci"));
    EXPECT(links_to(__readlinkat_chk(drm, "renderD128/device/subsystem", text, sizeof text, sizeof text), text,
                    "../../../bus/pci"));
    snprintf(path, sizeof path, "/proc/self/fd/%d", node);
    EXPECT(links_to(readlink(path, text, sizeof text), text, NODE));
    snprintf(path, sizeof path, "/proc/self/fd/%d", drm);
    EXPECT(links_to(readlink(path, text, sizeof text), text, "/sys/class/drm"));
    EXPECT(realpath(DEVICE, text) != NULL && strcmp(text, device) == 0);
    EXPECT(__realpath_chk("/sys/dev/char/226:128/device", text, sizeof text) != NULL && strcmp(text, device) == 0);
    EXPECT((found = canonicalize_file_name(DEVICE)) != NULL && strcmp(found, device) == 0);
    EXPECT(fstatfs(drm, &system) == 0 && system.f_type == SYSFS_MAGIC);
    EXPECT(statfs(DEVICE, &system) == 0 && system.f_type == SYSFS_MAGIC);
    EXPECT(statfs("/dev/dri", &system) == 0 && system.f_type == TMPFS_MAGIC);
    EXPECT(chdir("/sys/class/drm") == 0 && getcwd(text, sizeof text) != NULL && strcmp(text, "/sys/class/drm") == 0);
    EXPECT(access("renderD128/dev", R_OK) == 0);
    EXPECT(chdir("/") == 0 && is_node(open("dev/dri/renderD128", O_RDWR)));
    free(found);
    close(node);
    close(drm);
}

/* From the top to the device, a component at a time and without following links, as libudev goes. */
static void check_walk(void)
{
    static const char *const components[] = {"sys", "class", "drm", "..", "..", "devices", "pci0000:00",
                                             "0000:00:02.0", "uevent"};
    int place = open("/", O_PATH | O_CLOEXEC), next = place;

    for (size_t index = 0; index < sizeof components / sizeof components[0] && next >= 0; index++) {
        next = openat(place, components[index], O_PATH | O_CLOEXEC | O_NOFOLLOW);
        close(place);
        place = next;
    }
    EXPECT(next >= 0);
    if (next >= 0)
        close(next);
}

/* A node's descriptor works in a child and as a duplicate when the first is closed. */
static void check_descriptors(void)
{
    int node = open(NODE, O_RDWR), copy = dup(node), status = 1;

    close(node);
    EXPECT(is_node(dup(copy)));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(is_node(copy) && is_node(open(NODE, O_RDWR)) ? 0 : 1);
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
    EXPECT(is_node(copy));
}

/* What a child of vfork closes stays open in its parent. */
static void check_vfork(void)
{
    int node = open(NODE, O_RDWR), status = 1;
    struct drm_prime_handle import = {.fd = memfd_create("picture", MFD_CLOEXEC)}, export;

    EXPECT(ftruncate(import.fd, 8192) == 0 && ioctl(node, DRM_IOCTL_PRIME_FD_TO_HANDLE, &import) == 0);
    pid_t child = vfork();
    if (child == 0) {
        close(node);
        _exit(0);
    }
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
    export.handle = import.handle;
    export.flags = DRM_CLOEXEC;
    EXPECT(ioctl(node, DRM_IOCTL_PRIME_HANDLE_TO_FD, &export) == 0 && lseek(export.fd, 0, SEEK_END) == 8192);
    close(import.fd);
    EXPECT(is_node(node));
}

/* More openings than can be open at a time, and half of them closed where no hook sees it. */
static void check_many_openings(void)
{
    int opened = 0;

    for (int count = 0; count < 600; count++) {
        FILE *stream = count % 2 ? fopen(NODE, "r") : NULL;
        int node = count % 2 ? -1 : open(NODE, O_RDWR);

        opened += stream != NULL || node >= 0;
        if (stream != NULL)
            fclose(stream);
        else if (node >= 0)
            close(node);
    }
    EXPECT(opened == 600);
}

static void *use_node(void *result)
{
    for (int count = 0; count < 50; count++) {
        int node = open(NODE, O_RDWR);
        struct drm_get_cap capability = {.capability = DRM_CAP_PRIME};

        if (node < 0 || ioctl(node, DRM_IOCTL_GET_CAP, &capability) != 0 || capability.value == 0)
            *(bool *)result = false;
        if (!is_node(node))
            *(bool *)result = false;
    }
    return NULL;
}

static void check_threads(void)
{
    pthread_t threads[4];
    bool succeeded[4] = {true, true, true, true};
    int children = 0;

    for (int index = 0; index < 4; index++)
        pthread_create(&threads[index], NULL, use_node, &succeeded[index]);
    fflush(stdout);
    for (int index = 0; index < 5; index++) { /* forks while the threads hold locks */
        int status = 1;
        pid_t child = fork();

        if (child == 0)
            _exit(is_node(open(NODE, O_RDWR)) ? 0 : 1);
        children += waitpid(child, &status, 0) == child && status == 0;
    }
    EXPECT(children == 5);
    for (int index = 0; index < 4; index++) {
        pthread_join(threads[index], NULL);
        EXPECT(succeeded[index]);
    }
}

int main(void)
{
    check_opening();
    check_status();
    check_folders();
    check_links();
    check_walk();
    check_descriptors();
    check_vfork();
    check_many_openings();
    check_threads();
    return failed;
}
