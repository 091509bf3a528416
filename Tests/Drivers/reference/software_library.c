/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads the library with the software decoder: only programs that decode pay for it. */
#define _GNU_SOURCE /* dladdr */
#include "decoding.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static struct {
    pthread_mutex_t lock;
    bool tried;
    const struct software_functions *functions;
} library = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The library lies beside the driver. */
static const struct software_functions *load(void)
{
    Dl_info self;
    char path[4096];
    if (!dladdr((void *)&library, &self) || !self.dli_fname)
        return NULL;
    const char *end = strrchr(self.dli_fname, '/');
    const int folder = end ? (int)(end - self.dli_fname) + 1 : 0;
    snprintf(path, sizeof(path), "%.*s%s", folder, self.dli_fname, SOFTWARE_LIBRARY);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const struct software_functions *functions = handle ? dlsym(handle, SOFTWARE_SYMBOL) : NULL;
    if (!functions)
        fprintf(stderr, "reference driver: no software decoder: %s\n", dlerror());
    return functions;
}

const struct software_functions *software_functions_load(void)
{
    pthread_mutex_lock(&library.lock);
    if (!library.tried)
        library.functions = load();
    library.tried = true;
    const struct software_functions *functions = library.functions;
    pthread_mutex_unlock(&library.lock);
    return functions;
}
