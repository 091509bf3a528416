/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Preloaded: the name server never answers for names that end with ".hangs". */
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>
#include <unistd.h>

__attribute__((visibility("default"))) int getaddrinfo(const char *restrict host, const char *restrict service,
                                                       const struct addrinfo *restrict hints,
                                                       struct addrinfo **restrict result)
{
    static int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "getaddrinfo");
    int asks = !hints || !(hints->ai_flags & AI_NUMERICHOST);
    const char *end = host && asks ? strstr(host, ".hangs") : NULL;
    while (end && !end[6])
        pause();
    return next(host, service, hints, result);
}
