// SPDX-License-Identifier: GPL-2.0-or-later

#ifndef CLIBVA_H
#define CLIBVA_H

#include <dlfcn.h>
#include <va/va.h>
#include <va/va_drm.h>
#include <va/va_str.h>

#ifndef __USE_GNU
/* glibc has these always and declares them for _GNU_SOURCE only, which Swift's importer does not define. */
typedef struct {
    const char *dli_fname;
    void *dli_fbase;
    const char *dli_sname;
    void *dli_saddr;
} Dl_info;
int dladdr(const void *address, Dl_info *info);
#endif

/* The file that libva was loaded from, as the dynamic linker names it; NULL when it does not know. */
static inline const char *clibva_loaded_file(void) {
    Dl_info info;
    return dladdr((const void *)vaInitialize, &info) != 0 ? info.dli_fname : 0;
}

#endif
