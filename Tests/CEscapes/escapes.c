// SPDX-License-Identifier: GPL-2.0-or-later

#include "attempts.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct attempt *const lists[] = {
    file_attempts, process_attempts, kernel_attempts, needed_attempts, shared_attempts};

int escape_try(const char *name, const struct escape_targets *targets) {
    for (size_t list = 0; list < sizeof lists / sizeof *lists; list++) {
        for (const struct attempt *attempt = lists[list]; attempt->name != NULL; attempt++) {
            if (strcmp(attempt->name, name) == 0) {
                errno = 0;
                return attempt->run(targets);
            }
        }
    }
    return -1;
}

const char *escape_name(int index) {
    for (size_t list = 0; list < sizeof lists / sizeof *lists; list++) {
        for (const struct attempt *attempt = lists[list]; attempt->name != NULL; attempt++) {
            if (index-- == 0) {
                return attempt->name;
            }
        }
    }
    return NULL;
}

/// Stands for fcntl with F_OFD_GETLK, F_OFD_SETLK and F_OFD_SETLKW.
enum { ESCAPE_OFD_LOCK = 1 << 16 };

int escape_call_number(const char *name) {
    static const struct {
        const char *name;
        int number;
    } calls[] = {
        {"landlock_create_ruleset", 444}, {"landlock_add_rule", 445}, {"landlock_restrict_self", 446},
        {"seccomp", SYS_seccomp},         {"capset", SYS_capset},           {"renameat2", SYS_renameat2},
        {"linkat", SYS_linkat},               {"ofd_lock", ESCAPE_OFD_LOCK},
#ifdef SYS_link
        {"link", SYS_link},
#else
        {"link", SYS_linkat},
#endif
    };
    for (size_t index = 0; index < sizeof calls / sizeof *calls; index++) {
        if (strcmp(calls[index].name, name) == 0) {
            return calls[index].number;
        }
    }
    return -1;
}

int escape_start_refused(int error, const int *calls, int count, char *const *arguments) {
    struct sock_filter program[64];
    unsigned short length = 0;
    if (count > 8) {
        return E2BIG;
    }
    program[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int index = 0; index < count; index++) {
        if (calls[index] == ESCAPE_OFD_LOCK) {
            const struct sock_filter locks[] = {
                BPF_JUMP(BPF_JMP | BPF_JEQ, SYS_fcntl, 0, 6),
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
                BPF_JUMP(BPF_JMP | BPF_JEQ, F_OFD_GETLK, 2, 0),
                BPF_JUMP(BPF_JMP | BPF_JEQ, F_OFD_SETLK, 1, 0),
                BPF_JUMP(BPF_JMP | BPF_JEQ, F_OFD_SETLKW, 0, 1),
                BPF_STMT(BPF_RET, SECCOMP_RET_ERRNO | (unsigned)error),
                BPF_STMT(BPF_RET, SECCOMP_RET_ALLOW),
            };
            memcpy(&program[length], locks, sizeof locks);
            length += sizeof locks / sizeof *locks;
            continue;
        }
        program[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ, (unsigned)calls[index], 0, 1);
        program[length++] = (struct sock_filter)BPF_STMT(BPF_RET, SECCOMP_RET_ERRNO | (unsigned)error);
    }
    program[length++] = (struct sock_filter)BPF_STMT(BPF_RET, SECCOMP_RET_ALLOW);
    const struct sock_fprog filter = {.len = length, .filter = program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
        return errno;
    }
    execv(arguments[0], arguments);
    return errno;
}
