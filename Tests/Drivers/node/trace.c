/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "trace.h"

#include "nodes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

void trace(const char *format, ...)
{
    const char *path = shim_settings()->trace_file;
    char line[512];
    va_list arguments;
    int error = errno;

    if (path[0] == '\0')
        return;
    int length = snprintf(line, sizeof line, "%d ", (int)getpid());
    va_start(arguments, format);
    length += vsnprintf(line + length, sizeof line - (size_t)length - 1, format, arguments);
    va_end(arguments);
    if (length > (int)sizeof line - 2)
        length = (int)sizeof line - 2;
    line[length++] = '\n';
    long descriptor = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (descriptor >= 0) {
        syscall(SYS_write, descriptor, line, length);
        syscall(SYS_close, descriptor);
    }
    errno = error;
}
