// SPDX-License-Identifier: GPL-2.0-or-later
//
// Calls by which a process gives up rights for good: Landlock, seccomp, capabilities. glibc has no functions for the first
// two, and headers of a distribution may be older than its kernel, so the numbers are here. Each returns what the call
// returns and leaves errno alone.

#ifndef CLINUX_CONFINEMENT_H
#define CLINUX_CONFINEMENT_H

#include <linux/filter.h>
#include <stdint.h>

/// landlock_create_ruleset(2) with LANDLOCK_CREATE_RULESET_VERSION: which version of Landlock the kernel has, or -1.
int linux_landlock_version(void);

/// landlock_create_ruleset(2): a descriptor, close-on-exec, of rules that deny the rights given.
///
/// @param files LANDLOCK_ACCESS_FS_* bits; @param network LANDLOCK_ACCESS_NET_*; @param scopes LANDLOCK_SCOPE_*. Bits that
/// the kernel does not know are EINVAL or E2BIG.
int linux_landlock_create(uint64_t files, uint64_t network, uint64_t scopes);

/// landlock_add_rule(2) for what lies below an open path: the rights given are allowed there.
int linux_landlock_allow(int rules, int path, uint64_t files);

/// landlock_restrict_self(2): from now on the rules hold for the calling thread, and for threads that it starts.
int linux_landlock_restrict(int rules);

/// open(2) with O_PATH and close-on-exec: a name for what is there, that gives no access to it. By the C library, so that
/// it is what a preloaded library shows there.
int linux_open_path(const char *_Nonnull path);

/// seccomp(2) with SECCOMP_SET_MODE_FILTER.
///
/// @param all_threads Whether the filter is for all threads of the process (SECCOMP_FILTER_FLAG_TSYNC).
/// @return 0; -1 on error; the id of a thread that cannot take the filter, when there is none for any.
int linux_seccomp_filter(const struct sock_filter *_Nonnull program, unsigned short count, int all_threads);

/// capset(2): the calling thread, and threads that it starts, have no capability any more.
int linux_drop_capabilities(void);

/// prctl(PR_SET_DUMPABLE) with 0: other processes of the same user can neither trace this one nor read its memory.
int linux_forbid_tracing(void);

/// dl_iterate_phdr(3): calls for each library that is loaded, the program itself excepted.
///
/// @param body Takes the path as the dynamic linker knows it, and the context.
void linux_each_library(void (*_Nonnull body)(const char *_Nonnull path, void *_Nullable context), void *_Nullable context);

#endif
