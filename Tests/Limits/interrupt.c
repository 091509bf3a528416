// SPDX-License-Identifier: GPL-2.0-or-later
//
// Preloaded into a program, it has every third call that a signal may interrupt fail with EINTR instead of being made, as
// in a storm of signals. A program has to make the call again; what it reads and writes is then what it is without.
// INTERRUPT_MARK names a file that is there once twenty calls have failed, so that a storm that never came is seen.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static int strikes(void)
{
    static atomic_uint calls;
    unsigned number = atomic_fetch_add(&calls, 1);
    if (number % 3 != 0)
        return 0;
    const char *mark = number == 3 * 20 ? getenv("INTERRUPT_MARK") : NULL;
    int file = mark ? open(mark, O_CREAT | O_WRONLY | O_CLOEXEC, 0600) : -1;
    if (file >= 0)
        close(file);
    errno = EINTR;
    return 1;
}

#define INTERRUPTED(type, name, parameters, arguments)                        \
    type name parameters                                                      \
    {                                                                         \
        static type(*real) parameters;                                        \
        if (!real)                                                            \
            real = (type(*) parameters)dlsym(RTLD_NEXT, #name);               \
        return strikes() ? (type)-1 : real arguments;                         \
    }

INTERRUPTED(ssize_t, read, (int file, void *bytes, size_t count), (file, bytes, count))
INTERRUPTED(ssize_t, write, (int file, const void *bytes, size_t count), (file, bytes, count))
INTERRUPTED(ssize_t, pread, (int file, void *bytes, size_t count, off_t at), (file, bytes, count, at))
INTERRUPTED(ssize_t, pread64, (int file, void *bytes, size_t count, off64_t at), (file, bytes, count, at))
INTERRUPTED(ssize_t, pwrite64, (int file, const void *bytes, size_t count, off64_t at), (file, bytes, count, at))
INTERRUPTED(ssize_t, readv, (int file, const struct iovec *pieces, int count), (file, pieces, count))
INTERRUPTED(ssize_t, writev, (int file, const struct iovec *pieces, int count), (file, pieces, count))
INTERRUPTED(ssize_t, recvmsg, (int file, struct msghdr *message, int flags), (file, message, flags))
INTERRUPTED(ssize_t, sendmsg, (int file, const struct msghdr *message, int flags), (file, message, flags))
INTERRUPTED(int, poll, (struct pollfd *files, nfds_t count, int timeout), (files, count, timeout))
INTERRUPTED(int, epoll_wait, (int file, struct epoll_event *events, int count, int timeout), (file, events, count, timeout))
INTERRUPTED(pid_t, waitpid, (pid_t process, int *status, int options), (process, status, options))
INTERRUPTED(int, waitid, (idtype_t type, id_t id, siginfo_t *information, int options), (type, id, information, options))
