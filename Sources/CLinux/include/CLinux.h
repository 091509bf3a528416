// SPDX-License-Identifier: GPL-2.0-or-later
//
// Linux calls that Swift's C library module does not export: those behind _GNU_SOURCE and those with variable
// arguments. Each returns the result of the call and leaves errno unchanged.

#ifndef CLINUX_H
#define CLINUX_H

#include "CLinuxConfinement.h"

#include <spawn.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

/// memfd_create(2) with close-on-exec and sealing allowed.
int linux_memfd_create(const char *_Nonnull name);

/// fcntl(F_ADD_SEALS) with F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL: the size can never change again.
int linux_seal_size(int fd);

/// The same without F_SEAL_SEAL: other seals may follow.
int linux_fix_size(int fd);

/// As linux_seal_size with F_SEAL_FUTURE_WRITE: existing mappings stay writable, and no process can write in any other way, map
/// it writable or punch holes. Kernels older than 5.1 set only the other seals.
int linux_seal_for_readers(int fd);

/// The bits of fcntl(F_GET_SEALS) that prevent a change of the size: F_SEAL_SHRINK | F_SEAL_GROW.
int linux_seals_of_size(void);

/// fcntl(F_GET_SEALS): a bit mask of F_SEAL_*, or -1.
int linux_get_seals(int fd);

/// Opens the file of a descriptor again, for reading only, close-on-exec; -1 if that is not allowed or /proc is not
/// available.
int linux_open_again(int fd);

/// pthread_setname_np(3) for the calling thread; the name has at most 15 bytes.
int linux_name_thread(const char *_Nonnull name);

/// Marks the calling thread with a number, 0 for none, for calls into foreign code that calls back on the same thread.
///
/// @return The previous mark.
uintptr_t linux_mark_thread(uintptr_t mark);

/// Returns the mark of the calling thread.
uintptr_t linux_thread_mark(void);

/// renameat2(2) with RENAME_NOREPLACE: fails with EEXIST if the new name exists.
int linux_rename_without_replacing(const char *_Nonnull from, const char *_Nonnull to);

/// renameat2(2) with RENAME_EXCHANGE: both names exist, and each gets what the other one was, in one step.
int linux_exchange_names(const char *_Nonnull one, const char *_Nonnull other);

/// The size of an open file in bytes, by fstat(2): for modules that import Dispatch or Foundation, where Swift attributes
/// `struct stat` to one of these or to Glibc, whichever the compiler happens to load first.
///
/// @param is_regular 1 if it is a regular file; it is 0 for a folder or a device.
/// @return The size, or -1.
long long linux_file_size(int descriptor, int *_Nonnull is_regular);

/// openat2(2) for reading, close-on-exec, of a path below a folder: with RESOLVE_BENEATH and RESOLVE_NO_MAGICLINKS, so
/// that neither `..` nor a link leads out (EXDEV).
///
/// @param follows_links Whether links that stay below the folder are followed; if not, they fail with ELOOP.
/// @return A descriptor, or -1. A kernel before 5.6 has no such call (ENOSYS).
int linux_open_beneath(int folder, const char *_Nonnull path, int follows_links);

/// writev(2) that raises neither SIGPIPE nor SIGXFSZ in the calling thread, whatever the process does with these
/// signals; it only fails with EPIPE or EFBIG.
ssize_t linux_writev_without_signal(int fd, const struct iovec *_Nonnull pieces, int count);

/// mallopt(3) with M_MMAP_THRESHOLD: blocks of at least this size are returned to the system when they are freed.
/// Without this call, the C library raises the threshold dynamically.
void linux_return_blocks_from(int bytes);

/// mallopt(3) with M_ARENA_MAX: threads share at most this many arenas. Each arena keeps the most that was ever in use in
/// it at once, and without this call there may be eight for each core. Only for the start of a process: arenas that
/// exist remain.
void linux_limit_arenas(int count);

/// secure_getenv(3): returns the variable, or NULL in a program with more privileges than its user.
const char *_Nullable linux_environment(const char *_Nonnull name);

/// posix_spawn_file_actions_addclosefrom_np(3): closes all descriptors from `first` on in the new process.
int linux_spawn_close_from(posix_spawn_file_actions_t *_Nonnull actions, int first);

/// posix_spawn_file_actions_addchdir_np(3): sets the working directory of the new process.
int linux_spawn_in_folder(posix_spawn_file_actions_t *_Nonnull actions, const char *_Nonnull folder);

/// Returns whether the kernel has a character device at a path: 1 or 0. It bypasses the C library, whose answer a
/// preloaded library may have changed.
int linux_kernel_has_device(const char *_Nonnull path);

/// pidfd_open(2).
int linux_process_open(pid_t process);

/// pidfd_send_signal(2) with SIGKILL.
int linux_process_kill(int descriptor);

/// waitid(2) for a process opened by its descriptor, without waiting.
///
/// @param status Set to its exit status, or to the negative number of the signal that killed it.
/// @return 1 if it has ended and was reaped, 0 if it is running, -1 on error.
int linux_process_reap(int descriptor, int *_Nonnull status);

/// fork(2). Only for a process with a single thread: a copy of another one may only make system calls.
pid_t linux_fork(void);

/// prctl(PR_SET_CHILD_SUBREAPER): processes below this one whose parent ends become its children.
int linux_adopt_orphans(void);

/// Blocks the signals in the calling thread and returns a close-on-exec, non-blocking descriptor that is readable while
/// one of them is pending (signalfd(2)); -1 on error.
int linux_signal_descriptor(const int *_Nonnull signals, int count);

/// Takes the next signal from such a descriptor.
///
/// @return Its number, 0 if none is pending, -1 on error.
int linux_next_signal(int descriptor);

/// prctl(PR_SET_PDEATHSIG): sends SIGKILL to this process when the thread that started it ends.
int linux_die_with_parent(void);

/// prctl(PR_SET_NO_NEW_PRIVS): programs that this process starts cannot gain privileges.
int linux_forbid_new_privileges(void);

/// eventfd(2), close-on-exec and non-blocking, which is readable after eight bytes were written; -1 on error.
int linux_event_descriptor(void);

/// pipe2(2) with close-on-exec.
int linux_pipe(int ends[_Nonnull 2]);

/// socketpair(2) with AF_UNIX and SOCK_SEQPACKET, close-on-exec: each message arrives completely, with its descriptors,
/// or not at all.
int linux_message_sockets(int sockets[_Nonnull 2]);

/// sendmsg(2) of one message with descriptors by SCM_RIGHTS; at most LINUX_MESSAGE_DESCRIPTORS of them, otherwise
/// EINVAL. It neither blocks (EAGAIN) nor raises SIGPIPE (EPIPE).
ssize_t linux_send_message(
    int socket, const void *_Nonnull bytes, size_t count, const int *_Nullable descriptors, int descriptor_count);

/// recvmsg(2) of one message with its descriptors, close-on-exec; 0 at the end.
///
/// @param waits Whether to wait for a message; if not, EAGAIN if there is none.
/// @param descriptors An array of LINUX_MESSAGE_DESCRIPTORS elements; received descriptors belong to the caller.
/// @param descriptor_count Set to the number of received descriptors, also if the call fails.
/// @return The length; -1 with EMSGSIZE if the message, or the list of its descriptors, exceeds its buffer.
ssize_t linux_receive_message(
    int socket, int waits, void *_Nonnull bytes, size_t capacity, int *_Nonnull descriptors,
    int *_Nonnull descriptor_count);

#define LINUX_MESSAGE_DESCRIPTORS 4

/// ioctl(DMA_BUF_IOCTL_SYNC) for reading by the CPU: begins or ends it. A descriptor that is not a DMA-BUF needs no
/// such call, and is no error.
int linux_dma_buf_read(int fd, int begins);

/// statfs(2): the magic number of the file system of a path; -1 with errno if there is none.
long long linux_file_system(const char *_Nonnull path);

/// ioctl(TIOCGWINSZ): the number of columns of a terminal; 0 if the descriptor is none, or it does not report them.
int linux_terminal_columns(int fd);

/// Returns whether a descriptor is a DMA-BUF: 1 or 0.
int linux_is_dma_buf(int fd);

#endif
