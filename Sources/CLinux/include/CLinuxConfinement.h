// SPDX-License-Identifier: GPL-2.0-or-later
//
// Calls by which a process gives up rights permanently: Landlock, seccomp, capabilities. glibc has no functions for the
// first two, and a distribution's headers may be older than its kernel, so the numbers are defined here. Each returns
// the result of the call and leaves errno unchanged.

#ifndef CLINUX_CONFINEMENT_H
#define CLINUX_CONFINEMENT_H

#include <linux/filter.h>
#include <stdint.h>

/// landlock_create_ruleset(2) with LANDLOCK_CREATE_RULESET_VERSION: returns the kernel's Landlock version, or -1.
int linux_landlock_version(void);

/// landlock_create_ruleset(2): returns a close-on-exec descriptor of rules that deny the given rights.
///
/// @param files LANDLOCK_ACCESS_FS_* bits; @param network LANDLOCK_ACCESS_NET_*; @param scopes LANDLOCK_SCOPE_*. Bits
///     that the kernel does not support cause EINVAL or E2BIG.
int linux_landlock_create(uint64_t files, uint64_t network, uint64_t scopes);

/// landlock_add_rule(2) for everything below an open path: allows the given rights there.
int linux_landlock_allow(int rules, int path, uint64_t files);

/// landlock_restrict_self(2): applies the rules to the calling thread, and to threads that it starts from now on.
int linux_landlock_restrict(int rules);

/// open(2) with O_PATH and close-on-exec: a descriptor that identifies a file without access to it. It is opened
/// through the C library, so that it is the file that a preloaded library shows at the path.
int linux_open_path(const char *_Nonnull path);

/// seccomp(2) with SECCOMP_SET_MODE_FILTER.
///
/// @param all_threads Whether the filter applies to all threads of the process (SECCOMP_FILTER_FLAG_TSYNC).
/// @return 0; -1 on error; the id of a thread that cannot use the filter, in which case no thread uses it.
int linux_seccomp_filter(const struct sock_filter *_Nonnull program, unsigned short count, int all_threads);

/// capset(2): removes all capabilities of the calling thread, and of threads that it starts from now on.
int linux_drop_capabilities(void);

/// prctl(PR_SET_DUMPABLE) with 0: other processes of the same user can neither trace this one nor read its memory.
int linux_forbid_tracing(void);

/// dl_iterate_phdr(3): calls `body` for each loaded library, except for the program itself.
///
/// @param body Receives the path as the dynamic linker knows it, and the context.
void linux_each_library(void (*_Nonnull body)(const char *_Nonnull path, void *_Nullable context), void *_Nullable context);

#endif
