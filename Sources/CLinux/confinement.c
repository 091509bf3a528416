// SPDX-License-Identifier: GPL-2.0-or-later

#define _GNU_SOURCE
#include "CLinuxConfinement.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// The same numbers on every architecture.
enum { landlock_create_ruleset = 444, landlock_add_rule = 445, landlock_restrict_self = 446 };
enum { landlock_version_flag = 1, landlock_rule_path_beneath = 1 };

struct ruleset_attributes {
    uint64_t files;
    uint64_t network;
    uint64_t scopes;
};

struct path_beneath_attributes {
    uint64_t files;
    int32_t path;
} __attribute__((packed));

int linux_landlock_version(void) {
    return (int)syscall(landlock_create_ruleset, NULL, 0, landlock_version_flag);
}

int linux_landlock_create(uint64_t files, uint64_t network, uint64_t scopes) {
    // Kernels with a shorter structure require zeros in the rest.
    const struct ruleset_attributes attributes = {.files = files, .network = network, .scopes = scopes};
    return (int)syscall(landlock_create_ruleset, &attributes, sizeof attributes, 0);
}

int linux_landlock_allow(int rules, int path, uint64_t files) {
    const struct path_beneath_attributes attributes = {.files = files, .path = path};
    return (int)syscall(landlock_add_rule, rules, landlock_rule_path_beneath, &attributes, 0);
}

int linux_landlock_restrict(int rules) {
    return (int)syscall(landlock_restrict_self, rules, 0);
}

int linux_open_path(const char *path) {
    return open(path, O_PATH | O_CLOEXEC);
}

int linux_seccomp_filter(const struct sock_filter *program, unsigned short count, int all_threads) {
    const struct sock_fprog filter = {.len = count, .filter = (struct sock_filter *)program};
    unsigned flags = all_threads ? SECCOMP_FILTER_FLAG_TSYNC : 0;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter);
}

int linux_drop_capabilities(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    return (int)syscall(SYS_capset, &header, none);
}

int linux_forbid_tracing(void) {
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

struct library_visit {
    void (*body)(const char *path, void *context);
    void *context;
};

static int visit_library(struct dl_phdr_info *library, size_t size, void *data) {
    (void)size;
    const struct library_visit *visit = data;
    // The program itself has an empty name here, and the library that the kernel provides has no file.
    if (library->dlpi_name != NULL && library->dlpi_name[0] != '\0') {
        visit->body(library->dlpi_name, visit->context);
    }
    return 0;
}

void linux_each_library(void (*body)(const char *path, void *context), void *context) {
    struct library_visit visit = {.body = body, .context = context};
    dl_iterate_phdr(visit_library, &visit);
}
