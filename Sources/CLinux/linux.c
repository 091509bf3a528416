// SPDX-License-Identifier: GPL-2.0-or-later

#define _GNU_SOURCE
#include "CLinux.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>

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
