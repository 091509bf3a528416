// SPDX-License-Identifier: GPL-2.0-or-later

#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>

int linux_memfd_create(const char *name) {
    return memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

int linux_seal_size(int fd) {
    return fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
}

int linux_get_seals(int fd) {
    return fcntl(fd, F_GET_SEALS);
}

int linux_name_thread(const char *name) {
    return pthread_setname_np(pthread_self(), name);
}

int linux_rename_without_replacing(const char *from, const char *to) {
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);
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
