// SPDX-License-Identifier: GPL-2.0-or-later
//
// Linux calls that Swift's C library module does not show: those behind _GNU_SOURCE and those with variable arguments.
// Each returns what the call returns and leaves errno alone.

#ifndef CLINUX_H
#define CLINUX_H

#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

/// memfd_create(2) with close-on-exec and sealing allowed.
int linux_memfd_create(const char *_Nonnull name);

/// fcntl(F_ADD_SEALS) with F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL: the size can never change again.
int linux_seal_size(int fd);

/// fcntl(F_GET_SEALS): a bit mask of F_SEAL_*, or -1.
int linux_get_seals(int fd);

/// pthread_setname_np(3) for the calling thread; the name has at most 15 bytes.
int linux_name_thread(const char *_Nonnull name);

/// renameat2(2) with RENAME_NOREPLACE: fails with EEXIST if there is something under the new name.
int linux_rename_without_replacing(const char *_Nonnull from, const char *_Nonnull to);

/// writev(2) that raises neither SIGPIPE nor SIGXFSZ in the calling thread, whatever the process does with these signals:
/// the error is EPIPE or EFBIG, and that is all.
ssize_t linux_writev_without_signal(int fd, const struct iovec *_Nonnull pieces, int count);

/// mallopt(3) with M_MMAP_THRESHOLD: blocks of at least so many bytes go back to the system when they are freed. Without
/// the call the C library raises that size by itself.
void linux_return_blocks_from(int bytes);

#endif
