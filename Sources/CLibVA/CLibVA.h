// SPDX-License-Identifier: GPL-2.0-or-later

#ifndef CLIBVA_H
#define CLIBVA_H

#include <dlfcn.h>
#include <va/va.h>
#include <va/va_drm.h>
#include <va/va_drmcommon.h>
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

/* Arrays of unnamed structures, which Swift's importer leaves out of VADRMPRIMESurfaceDescriptor. Indices are the
 * caller's duty: below 4. */
typedef struct {
    int fd;
    uint32_t size;
    uint64_t modifier;
} clibva_prime_object;

typedef struct {
    uint32_t object, offset, pitch;
} clibva_prime_plane;

static inline void clibva_set_prime_object(VADRMPRIMESurfaceDescriptor *surface, size_t index,
                                           clibva_prime_object object) {
    surface->objects[index].fd = object.fd;
    surface->objects[index].size = object.size;
    surface->objects[index].drm_format_modifier = object.modifier;
}

static inline clibva_prime_object clibva_get_prime_object(const VADRMPRIMESurfaceDescriptor *surface, size_t index) {
    clibva_prime_object object = {surface->objects[index].fd, surface->objects[index].size,
                                  surface->objects[index].drm_format_modifier};
    return object;
}

static inline void clibva_set_prime_layer(VADRMPRIMESurfaceDescriptor *surface, size_t layer, uint32_t format,
                                          uint32_t planes) {
    surface->layers[layer].drm_format = format;
    surface->layers[layer].num_planes = planes;
}

static inline uint32_t clibva_get_prime_format(const VADRMPRIMESurfaceDescriptor *surface, size_t layer) {
    return surface->layers[layer].drm_format;
}

static inline uint32_t clibva_get_prime_plane_count(const VADRMPRIMESurfaceDescriptor *surface, size_t layer) {
    return surface->layers[layer].num_planes;
}

static inline void clibva_set_prime_plane(VADRMPRIMESurfaceDescriptor *surface, size_t layer, size_t index,
                                          clibva_prime_plane plane) {
    surface->layers[layer].object_index[index] = plane.object;
    surface->layers[layer].offset[index] = plane.offset;
    surface->layers[layer].pitch[index] = plane.pitch;
}

static inline clibva_prime_plane clibva_get_prime_plane(const VADRMPRIMESurfaceDescriptor *surface, size_t layer,
                                                        size_t index) {
    clibva_prime_plane plane = {surface->layers[layer].object_index[index], surface->layers[layer].offset[index],
                                surface->layers[layer].pitch[index]};
    return plane;
}

#endif
