// SPDX-License-Identifier: GPL-2.0-or-later
//
// What drivers and encoders do.

#include "attempts.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void *nothing(void *argument) {
    return argument;
}

static int run_thread(const struct escape_targets *targets) {
    (void)targets;
    pthread_t thread;
    int error = pthread_create(&thread, NULL, nothing, NULL);
    return error != 0 ? error : pthread_join(thread, NULL);
}

static int load_library(const struct escape_targets *targets) {
    void *library = dlopen(targets->library, RTLD_NOW | RTLD_LOCAL);
    return library == NULL ? ELIBACC : 0;
}

static int write_to_null(const struct escape_targets *targets) {
    (void)targets;
    int file = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int result = outcome(file < 0 ? -1 : write(file, "x", 1));
    close(file);
    return result;
}

static int read_random(const struct escape_targets *targets) {
    (void)targets;
    char byte;
    int file = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    int result = outcome(file < 0 ? -1 : read(file, &byte, 1));
    close(file);
    return result != 0 ? result : outcome(getrandom(&byte, 1, 0));
}

/// Every thread of a C library asks for its stack so.
static int read_own_maps(const struct escape_targets *targets) {
    (void)targets;
    int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    close(file);
    return outcome(file);
}

static int read_device_tree(const struct escape_targets *targets) {
    (void)targets;
    int folder = open("/sys/devices/system/cpu", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    close(folder);
    return outcome(folder);
}

static int share_memory(const struct escape_targets *targets) {
    (void)targets;
    int file = memfd_create("needed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0 || ftruncate(file, 4096) != 0 || fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
        return errno;
    }
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return memory == MAP_FAILED ? errno : outcome(munmap(memory, 4096));
}

/// As a compiler in a driver does.
static int run_written_code(const struct escape_targets *targets) {
    (void)targets;
#if defined(__x86_64__)
    static const unsigned char code[] = {0xB8, 0x2A, 0, 0, 0, 0xC3};
#else
    static const unsigned code[] = {0x52800540, 0xD65F03C0};
#endif
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return errno;
    }
    memcpy(memory, code, sizeof code);
    if (mprotect(memory, 4096, PROT_READ | PROT_EXEC) != 0) {
        return errno;
    }
    __builtin___clear_cache((char *)memory, (char *)memory + sizeof code);
    int (*function)(void);
    memcpy(&function, &memory, sizeof function);
    int result = function() == 42 ? 0 : EFAULT;
    munmap(memory, 4096);
    return result;
}

static int signal_itself(const struct escape_targets *targets) {
    (void)targets;
    return outcome(kill(getpid(), 0)) != 0 ? errno : outcome(raise(SIGURG));
}

static int lower_own_priority(const struct escape_targets *targets) {
    (void)targets;
    errno = 0;
    return nice(1) == -1 ? errno : 0;
}

static int compare_own_descriptors(const struct escape_targets *targets) {
    (void)targets;
    return outcome(syscall(SYS_kcmp, getpid(), getpid(), 0 /* KCMP_FILE */, 1, 2));
}

static int wait_a_moment(const struct escape_targets *targets) {
    (void)targets;
    const struct timespec moment = {0, 1000};
    return outcome(clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL));
}

static int open_device(const struct escape_targets *targets) {
    int file = open(targets->device, O_RDWR | O_CLOEXEC);
    close(file);
    return outcome(file);
}

/// A DRM request, to a device that does not know it.
static int request(const char *path) {
    char structure[64] = {0};
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) {
        return errno;
    }
    int result = outcome(ioctl(file, _IOWR('d', 0, structure), structure));
    close(file);
    return result;
}

static int request_of_device(const struct escape_targets *targets) {
    return request(targets->device);
}

static int request_of_null(const struct escape_targets *targets) {
    (void)targets;
    return request("/dev/null");
}

static int open_file_limit(const struct escape_targets *targets) {
    (void)targets;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return errno;
    }
    return outcome(setrlimit(RLIMIT_NOFILE, &limit));
}

const struct attempt needed_attempts[] = {
    {"run-thread", run_thread},
    {"load-library", load_library},
    {"write-to-null", write_to_null},
    {"read-random", read_random},
    {"read-own-maps", read_own_maps},
    {"read-device-tree", read_device_tree},
    {"share-memory", share_memory},
    {"run-written-code", run_written_code},
    {"signal-itself", signal_itself},
    {"lower-own-priority", lower_own_priority},
    {"compare-own-descriptors", compare_own_descriptors},
    {"wait-a-moment", wait_a_moment},
    {"open-file-limit", open_file_limit},
    {"open-device", open_device},
    {"request-of-device", request_of_device},
    {"request-of-null", request_of_null},
    {NULL, NULL},
};
