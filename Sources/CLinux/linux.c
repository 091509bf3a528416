// SPDX-License-Identifier: GPL-2.0-or-later

#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int linux_memfd_create(const char *name) {
    return memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

int linux_seal_size(int fd) {
    return fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
}

int linux_fix_size(int fd) {
    return fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
}

int linux_seal_for_readers(int fd) {
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
    int result = fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL);
    // Linux 5.0 and older do not support this seal, and then set none of the others either.
    return result != 0 && errno == EINVAL ? linux_seal_size(fd) : result;
}

int linux_seals_of_size(void) {
    return F_SEAL_SHRINK | F_SEAL_GROW;
}

int linux_get_seals(int fd) {
    return fcntl(fd, F_GET_SEALS);
}

int linux_open_again(int fd) {
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

int linux_name_thread(const char *name) {
    return pthread_setname_np(pthread_self(), name);
}

static _Thread_local uintptr_t thread_mark;

uintptr_t linux_mark_thread(uintptr_t mark) {
    uintptr_t previous = thread_mark;
    thread_mark = mark;
    return previous;
}

uintptr_t linux_thread_mark(void) {
    return thread_mark;
}

int linux_rename_without_replacing(const char *from, const char *to) {
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);
}

int linux_exchange_names(const char *one, const char *other) {
    return renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE);
}

long long linux_file_size(int descriptor, int *is_regular) {
    struct stat status;
    if (fstat(descriptor, &status) != 0)
        return -1;
    *is_regular = S_ISREG(status.st_mode);
    return status.st_size;
}

int linux_open_beneath(int folder, const char *path, int follows_links) {
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY};
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | (follows_links ? 0 : RESOLVE_NO_SYMLINKS);
    return (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
}

ssize_t linux_writev_without_signal(int fd, const struct iovec *pieces, int count) {
    sigset_t quiet, before, pending;
    sigemptyset(&quiet);
    sigaddset(&quiet, SIGPIPE);
    sigaddset(&quiet, SIGXFSZ);
    sigemptyset(&pending);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &quiet, &before);

    ssize_t written = writev(fd, pieces, count);
    int error = errno;

    int raised = written >= 0 ? 0 : error == EPIPE ? SIGPIPE : error == EFBIG ? SIGXFSZ : 0;
    if (raised != 0 && !sigismember(&pending, raised)) {
        sigset_t own;
        sigemptyset(&own);
        sigaddset(&own, raised);
        const struct timespec now = {0, 0};
        while (sigtimedwait(&own, NULL, &now) < 0 && errno == EINTR) {
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return written;
}

void linux_return_blocks_from(int bytes) {
    mallopt(M_MMAP_THRESHOLD, bytes);
}

void linux_limit_arenas(int count) {
    mallopt(M_ARENA_MAX, count);
}

int linux_event_descriptor(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

int linux_pipe(int ends[2]) {
    return pipe2(ends, O_CLOEXEC);
}

int linux_message_sockets(int sockets[2]) {
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets);
}

union descriptor_message {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(LINUX_MESSAGE_DESCRIPTORS * sizeof(int))];
};

ssize_t linux_send_message(
    int socket, const void *bytes, size_t count, const int *descriptors, int descriptor_count) {
    if (descriptor_count < 0 || descriptor_count > LINUX_MESSAGE_DESCRIPTORS) {
        errno = EINVAL;
        return -1;
    }
    union descriptor_message control = {0};
    struct iovec piece = {.iov_base = (void *)bytes, .iov_len = count};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    if (descriptor_count > 0) {
        size_t size = (size_t)descriptor_count * sizeof(int);
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(size);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(size);
        memcpy(CMSG_DATA(header), descriptors, size);
    }
    ssize_t sent;
    do {
        sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    return sent;
}

ssize_t linux_receive_message(
    int socket, int waits, void *bytes, size_t capacity, int *descriptors, int *descriptor_count) {
    *descriptor_count = 0;
    union descriptor_message control = {0};
    struct iovec piece = {.iov_base = bytes, .iov_len = capacity};
    struct msghdr message = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    ssize_t received;
    do {
        received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | (waits ? 0 : MSG_DONTWAIT));
    } while (received < 0 && errno == EINTR);
    if (received < 0) {
        return received;
    }
    for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header != NULL; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        int count = (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        for (int index = 0; index < count && *descriptor_count < LINUX_MESSAGE_DESCRIPTORS; index++) {
            memcpy(&descriptors[(*descriptor_count)++], CMSG_DATA(header) + (size_t)index * sizeof(int), sizeof(int));
        }
    }
    if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
        errno = EMSGSIZE;
        return -1;
    }
    return received;
}

const char *linux_environment(const char *name) {
    return secure_getenv(name);
}

int linux_spawn_close_from(posix_spawn_file_actions_t *actions, int first) {
    return posix_spawn_file_actions_addclosefrom_np(actions, first);
}

int linux_spawn_in_folder(posix_spawn_file_actions_t *actions, const char *folder) {
    return posix_spawn_file_actions_addchdir_np(actions, folder);
}

int linux_kernel_has_device(const char *path) {
    struct statx status;
    long result = syscall(SYS_statx, AT_FDCWD, path, 0, STATX_TYPE, &status);
    return result == 0 && S_ISCHR(status.stx_mode);
}

int linux_process_open(pid_t process) {
    return (int)syscall(SYS_pidfd_open, process, 0);
}

int linux_process_kill(int descriptor) {
    return (int)syscall(SYS_pidfd_send_signal, descriptor, SIGKILL, NULL, 0);
}

int linux_process_reap(int descriptor, int *status) {
    siginfo_t information = {0};
    int result;
    do {
        result = waitid(P_PIDFD, (id_t)descriptor, &information, WEXITED | WNOHANG);
    } while (result < 0 && errno == EINTR);
    if (result < 0 || information.si_pid == 0) {
        return result;
    }
    *status = information.si_code == CLD_EXITED ? information.si_status : -information.si_status;
    return 1;
}

pid_t linux_fork(void) {
    return fork();
}

int linux_adopt_orphans(void) {
    return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

int linux_signal_descriptor(const int *signals, int count) {
    sigset_t set;
    sigemptyset(&set);
    for (int index = 0; index < count; index++) {
        sigaddset(&set, signals[index]);
    }
    return sigprocmask(SIG_BLOCK, &set, NULL) == 0 ? signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK) : -1;
}

int linux_next_signal(int descriptor) {
    struct signalfd_siginfo information;
    ssize_t count;
    do {
        count = read(descriptor, &information, sizeof information);
    } while (count < 0 && errno == EINTR);
    if (count < 0) {
        return errno == EAGAIN ? 0 : -1;
    }
    return (int)information.ssi_signo;
}

int linux_die_with_parent(void) {
    return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
}

int linux_forbid_new_privileges(void) {
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

int linux_dma_buf_read(int fd, int begins) {
    struct dma_buf_sync sync = {.flags = DMA_BUF_SYNC_READ | (begins ? DMA_BUF_SYNC_START : DMA_BUF_SYNC_END)};
    int status;
    do {
        status = ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync);
    } while (status == -1 && (errno == EINTR || errno == EAGAIN));
    return status == -1 && errno != ENOTTY ? -1 : 0;
}

long long linux_file_system(const char *path) {
    struct statfs system;
    return statfs(path, &system) == 0 ? (long long)(uint32_t)system.f_type : -1;
}

int linux_terminal_columns(int fd) {
    struct winsize size;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int linux_is_dma_buf(int fd) {
    struct statfs file;
    if (fstatfs(fd, &file) != 0) {
        return 0;
    }
    // Before Linux 5.3, among the files without a name, which no process can make by itself.
    struct dma_buf_sync sync = {.flags = DMA_BUF_SYNC_READ | DMA_BUF_SYNC_END};
    return file.f_type == DMA_BUF_MAGIC ||
        (file.f_type == ANON_INODE_FS_MAGIC && ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync) == 0);
}
