// SPDX-License-Identifier: GPL-2.0-or-later
//
// What an encoder that has been taken over would try, and what an encoder must be able to do. Each attempt is made by the
// bare system call where a C library could stand between.

#ifndef CESCAPES_H
#define CESCAPES_H

#include <stdint.h>
#include <sys/types.h>

/// What there is to reach. All of it is the test's own.
struct escape_targets {
    /// A folder that no rule names, with the files `secret`, `removable` and `changeable`.
    const char *_Nonnull folder;
    /// Another process, and where it has memory.
    pid_t victim;
    uint64_t victim_memory;
    /// The name, without the leading zero, of an abstract socket on which somebody listens.
    const char *_Nonnull socket;
    /// A device or a file in a folder of devices, to which requests are allowed.
    const char *_Nonnull device;
    /// A library to load.
    const char *_Nonnull library;
};

/// Tries it.
///
/// @return 0 if it worked, else errno; -1 if there is no attempt of that name here.
int escape_try(const char *_Nonnull name, const struct escape_targets *_Nonnull targets);

/// Names of attempts, in order; NULL behind the last.
const char *_Nullable escape_name(int index);

/// Replaces this process by a program for which system calls fail, as on an older kernel or in a container.
///
/// @param error What the calls fail with.
/// @param calls The numbers of the calls, at most 8.
/// @return errno, if that failed.
int escape_start_refused(
    int error, const int *_Nonnull calls, int count, char *_Nullable const *_Nonnull arguments);

/// The number of a call by name: landlock_create_ruleset, landlock_add_rule, landlock_restrict_self, seccomp, capset,
/// renameat2, link, linkat; ofd_lock, which is fcntl where it locks by open files; -1 for others.
int escape_call_number(const char *_Nonnull name);

#endif
