// SPDX-License-Identifier: GPL-2.0-or-later
//
// Parts of the kernel that an encoder has no use for, and other ways to the same calls.

#include "attempts.h"

#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/// The outcome of a call that returns a descriptor.
static int closed(long descriptor) {
    if (descriptor < 0) {
        return errno;
    }
    close((int)descriptor);
    return 0;
}

static int mount_memory(const struct escape_targets *targets) {
    if (mount("none", targets->folder, "tmpfs", 0, NULL) != 0) {
        return errno;
    }
    umount2(targets->folder, MNT_DETACH);
    return 0;
}

static int new_namespace(const struct escape_targets *targets) {
    (void)targets;
    return outcome(unshare(CLONE_NEWUTS));
}

static int enter_namespace(const struct escape_targets *targets) {
    (void)targets;
    return outcome(setns(-1, CLONE_NEWUTS));
}

static int change_root(const struct escape_targets *targets) {
    (void)targets;
    return outcome(chroot("/"));
}

static int change_user(const struct escape_targets *targets) {
    (void)targets;
    return outcome(syscall(SYS_setuid, getuid()));
}

static int make_map(const struct escape_targets *targets) {
    (void)targets;
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.map_type = BPF_MAP_TYPE_ARRAY;
    attributes.key_size = 4;
    attributes.value_size = 4;
    attributes.max_entries = 1;
    return closed(syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof attributes));
}

static int open_counter(const struct escape_targets *targets) {
    (void)targets;
    struct perf_event_attr attributes = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attributes,
        .config = PERF_COUNT_SW_TASK_CLOCK,
        .exclude_kernel = 1,
    };
    return closed(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0));
}

static int make_ring(const struct escape_targets *targets) {
    (void)targets;
    struct io_uring_params parameters = {0};
    return closed(syscall(SYS_io_uring_setup, 4, &parameters));
}

static int take_faults(const struct escape_targets *targets) {
    (void)targets;
    return closed(syscall(SYS_userfaultfd, 1 /* UFFD_USER_MODE_ONLY */));
}

static int use_keys(const struct escape_targets *targets) {
    (void)targets;
    return outcome(syscall(SYS_keyctl, 0 /* KEYCTL_GET_KEYRING_ID */, -3 /* of the session */, 0, 0, 0));
}

static int read_kernel_log(const struct escape_targets *targets) {
    (void)targets;
    return outcome(syscall(SYS_syslog, 10 /* SYSLOG_ACTION_SIZE_BUFFER */, NULL, 0));
}

static int type_into_terminal(const struct escape_targets *targets) {
    (void)targets;
    char letter = 'x';
    return outcome(ioctl(STDIN_FILENO, 0x5412 /* TIOCSTI */, &letter));
}

/// Traceable again, and alive when the client is not.
static int change_process_options(const struct escape_targets *targets) {
    (void)targets;
    return outcome(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
}

static int outlive_client(const struct escape_targets *targets) {
    (void)targets;
    return outcome(prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0));
}

static int raise_file_limit(const struct escape_targets *targets) {
    (void)targets;
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0) {
        return errno;
    }
    return outcome(setrlimit(RLIMIT_FSIZE, &limit));
}

#ifdef __x86_64__
/// The call by which 32-bit programs ask for their number.
static int call_as_32_bit(const struct escape_targets *targets) {
    (void)targets;
    long result = 20;
    __asm__ volatile("int $0x80" : "+a"(result) : : "r8", "r9", "r10", "r11", "memory");
    return (int)result < 0 ? (int)-result : 0;
}

static int call_by_x32_number(const struct escape_targets *targets) {
    (void)targets;
    return outcome(syscall(0x40000000 + SYS_getpid));
}
#endif

static int call_of_the_future(const struct escape_targets *targets) {
    (void)targets;
    return outcome(syscall(2000));
}

const struct attempt kernel_attempts[] = {
    {"mount", mount_memory},
    {"new-namespace", new_namespace},
    {"enter-namespace", enter_namespace},
    {"change-root", change_root},
    {"change-user", change_user},
    {"make-map", make_map},
    {"open-counter", open_counter},
    {"make-ring", make_ring},
    {"take-faults", take_faults},
    {"use-keys", use_keys},
    {"read-kernel-log", read_kernel_log},
    {"type-into-terminal", type_into_terminal},
    {"change-process-options", change_process_options},
    {"outlive-client", outlive_client},
    {"raise-file-limit", raise_file_limit},
#ifdef __x86_64__
    {"call-as-32-bit", call_as_32_bit},
    {"call-by-x32-number", call_by_x32_number},
#endif
    {"call-of-the-future", call_of_the_future},
    {NULL, NULL},
};
