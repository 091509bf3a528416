/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* memfd_create */
#include "application.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

bool application_read(const void *pointer, void *copy, size_t size)
{
    int file = memfd_create("application", MFD_CLOEXEC);
    bool whole = file >= 0 && syscall(SYS_write, file, pointer, size) == (long)size &&
                 pread(file, copy, size, 0) == (ssize_t)size;
    if (file >= 0)
        close(file);
    return whole;
}
