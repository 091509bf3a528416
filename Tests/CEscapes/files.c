// SPDX-License-Identifier: GPL-2.0-or-later
//
// Files, folders and devices that an encoder has nothing to do with.

#include "attempts.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_and_close(const char *path, int flags) {
    int file = open(path, flags | O_CLOEXEC, 0600);
    if (file < 0) {
        return errno;
    }
    close(file);
    return 0;
}

/// A path in the folder; valid until the next call.
static const char *inside(const struct escape_targets *targets, const char *name) {
    static char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", targets->folder, name);
    return path;
}

/// Makes a file of its own in a folder, and removes it.
static int make_file(const char *folder) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/escape-%d", folder, (int)getpid());
    int result = open_and_close(path, O_WRONLY | O_CREAT | O_EXCL);
    if (result == 0) {
        unlink(path);
    }
    return result;
}

static int read_secret(const struct escape_targets *targets) {
    return open_and_close(inside(targets, "secret"), O_RDONLY);
}

static int read_secret_by_link(const struct escape_targets *targets) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "/proc/self/root%s/secret", targets->folder);
    return open_and_close(path, O_RDONLY);
}

static int list_folder(const struct escape_targets *targets) {
    return open_and_close(targets->folder, O_RDONLY | O_DIRECTORY);
}

static int write_file(const struct escape_targets *targets) {
    return open_and_close(inside(targets, "changeable"), O_WRONLY);
}

static int make_in_folder(const struct escape_targets *targets) {
    return make_file(targets->folder);
}

static int make_in_tmp(const struct escape_targets *targets) {
    (void)targets;
    return make_file("/tmp");
}

static int make_in_shm(const struct escape_targets *targets) {
    (void)targets;
    return make_file("/dev/shm");
}

static int make_in_home(const struct escape_targets *targets) {
    (void)targets;
    const char *home = getenv("HOME");
    return home == NULL ? ENOENT : make_file(home);
}

static int make_in_device_folder(const struct escape_targets *targets) {
    (void)targets;
    return make_file("/dev");
}

static int make_folder(const struct escape_targets *targets) {
    return outcome(mkdir(inside(targets, "folder"), 0700));
}

static int remove_file(const struct escape_targets *targets) {
    return outcome(unlink(inside(targets, "removable")));
}

static int make_link(const struct escape_targets *targets) {
    return outcome(symlink("secret", inside(targets, "link")));
}

static int truncate_file(const struct escape_targets *targets) {
    return outcome(truncate(inside(targets, "changeable"), 0));
}

static int change_mode(const struct escape_targets *targets) {
    return outcome(chmod(inside(targets, "changeable"), 0600));
}

static int open_other_device(const struct escape_targets *targets) {
    (void)targets;
    return open_and_close("/dev/full", O_RDWR);
}

static int write_to_program(const struct escape_targets *targets) {
    (void)targets;
    // A library of the system may be read and never be written.
    return open_and_close("/usr/lib/os-release", O_WRONLY);
}

static int list_processes(const struct escape_targets *targets) {
    (void)targets;
    return open_and_close("/proc", O_RDONLY | O_DIRECTORY);
}

static int open_of_victim(const struct escape_targets *targets, const char *name, int flags) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)targets->victim, name);
    return open_and_close(path, flags);
}

static int read_environment(const struct escape_targets *targets) {
    return open_of_victim(targets, "environ", O_RDONLY);
}

static int read_command(const struct escape_targets *targets) {
    return open_of_victim(targets, "cmdline", O_RDONLY);
}

static int open_memory(const struct escape_targets *targets) {
    return open_of_victim(targets, "mem", O_RDWR);
}

static int open_by_handle(const struct escape_targets *targets) {
    union {
        struct file_handle handle;
        char bytes[sizeof(struct file_handle) + MAX_HANDLE_SZ];
    } handle = {0};
    handle.handle.handle_bytes = MAX_HANDLE_SZ;
    int mount;
    syscall(SYS_name_to_handle_at, AT_FDCWD, inside(targets, "secret"), &handle, &mount, 0);
    int file = (int)syscall(SYS_open_by_handle_at, AT_FDCWD, &handle, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return errno;
    }
    close(file);
    return 0;
}

const struct attempt file_attempts[] = {
    {"read-secret", read_secret},
    {"read-secret-by-link", read_secret_by_link},
    {"list-folder", list_folder},
    {"write-file", write_file},
    {"make-in-folder", make_in_folder},
    {"make-in-tmp", make_in_tmp},
    {"make-in-shm", make_in_shm},
    {"make-in-home", make_in_home},
    {"make-in-device-folder", make_in_device_folder},
    {"make-folder", make_folder},
    {"remove-file", remove_file},
    {"make-link", make_link},
    {"truncate-file", truncate_file},
    {"change-mode", change_mode},
    {"open-other-device", open_other_device},
    {"write-to-program", write_to_program},
    {"list-processes", list_processes},
    {"read-environment", read_environment},
    {"read-command", read_command},
    {"open-memory", open_memory},
    {"open-by-handle", open_by_handle},
    {NULL, NULL},
};
