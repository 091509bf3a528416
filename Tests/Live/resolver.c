/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Preloaded: the name server never answers for names that end with ".hangs". For those that end with ".told", it
   answers with the address in the file REFERENCE_RESOLVER, or that there is none if the file is empty, and notes each
   question in a file with ".asked" after this name. */
#include <dlfcn.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int ends(const char *text, const char *end)
{
    size_t length = strlen(text), more = strlen(end);
    return length >= more && !strcmp(text + length - more, end);
}

static void answer(const char *path, char text[64])
{
    FILE *file = fopen(path, "r");
    if (!file || !fgets(text, 64, file))
        text[0] = 0;
    if (file)
        fclose(file);
    text[strcspn(text, "\n")] = 0;
    char asked[4096];
    snprintf(asked, sizeof asked, "%s.asked", path);
    file = fopen(asked, "a");
    if (!file)
        return;
    fprintf(file, "%s\n", text);
    fclose(file);
}

__attribute__((visibility("default"))) int getaddrinfo(const char *restrict host, const char *restrict service,
                                                       const struct addrinfo *restrict hints,
                                                       struct addrinfo **restrict result)
{
    static int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "getaddrinfo");
    int asks = host && !(hints && hints->ai_flags & AI_NUMERICHOST);
    while (asks && ends(host, ".hangs"))
        pause();
    const char *path = getenv("REFERENCE_RESOLVER");
    if (!asks || !path || !ends(host, ".told"))
        return next(host, service, hints, result);
    char address[64];
    answer(path, address);
    return address[0] ? next(address, service, hints, result) : EAI_NONAME;
}
