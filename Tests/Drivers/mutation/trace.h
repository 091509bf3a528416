/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A client's VA traffic as a driver sees it, kept as text: one line per call,
 *
 *     DISPLAY FUNCTION STATUS in N,N,… out N,N,… data HEX
 *
 * numbers unsigned and decimal, lists and data "-" when empty. DISPLAY tells the displays of all recorded processes
 * apart. Queries, which change nothing in the driver, are not kept. What the numbers mean:
 *
 * function               in                                                 out              data
 * vaCreateConfig         profile, entrypoint, (attribute, value)…           config
 * vaDestroyConfig        config
 * vaCreateSurfaces2      format, width, height, count, attributes…          surfaces…
 * vaCreateSurfaces       width, height, format, count                       surfaces…
 * vaDestroySurfaces      surfaces…
 * vaCreateContext        config, width, height, flag, surfaces…             context
 * vaDestroyContext       context
 * vaCreateBuffer         context, type, size, elements                      buffer           initial bytes, if given
 * vaMapBuffer            buffer                                             bytes, digest of what is coded in it
 * vaUnmapBuffer          buffer                                                              bytes, unless coded
 * vaDestroyBuffer        buffer
 * vaBeginPicture         context, surface
 * vaRenderPicture        context, buffers…
 * vaEndPicture           context
 * vaSyncSurface          surface
 * vaSyncBuffer           buffer, nanoseconds
 * vaQuerySurfaceStatus   surface                                            VASurfaceStatus
 * vaDeriveImage          surface                                            image, its buffer, bytes
 * vaCreateImage          fourcc, byte order, bits per pixel, width, height  image, its buffer, bytes
 * vaDestroyImage         image
 * vaPutImage             surface, image, x, y, w, h of source, then of target                bytes, while it is mapped
 * vaGetImage             surface, x, y, w, h, image
 * vaExportSurfaceHandle  surface, memory type, flags
 * vaTerminate
 *
 * Attributes of surfaces are four numbers each: type, flags, type of value, value (0 for a pointer).
 */
#ifndef DRIVERS_MUTATION_TRACE_H
#define DRIVERS_MUTATION_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum trace_function {
    TRACE_CREATE_CONFIG,
    TRACE_DESTROY_CONFIG,
    TRACE_CREATE_SURFACES2,
    TRACE_CREATE_SURFACES,
    TRACE_DESTROY_SURFACES,
    TRACE_CREATE_CONTEXT,
    TRACE_DESTROY_CONTEXT,
    TRACE_CREATE_BUFFER,
    TRACE_MAP_BUFFER,
    TRACE_UNMAP_BUFFER,
    TRACE_DESTROY_BUFFER,
    TRACE_BEGIN_PICTURE,
    TRACE_RENDER_PICTURE,
    TRACE_END_PICTURE,
    TRACE_SYNC_SURFACE,
    TRACE_SYNC_BUFFER,
    TRACE_QUERY_SURFACE_STATUS,
    TRACE_DERIVE_IMAGE,
    TRACE_CREATE_IMAGE,
    TRACE_DESTROY_IMAGE,
    TRACE_PUT_IMAGE,
    TRACE_GET_IMAGE,
    TRACE_EXPORT_SURFACE,
    TRACE_TERMINATE,
    TRACE_FUNCTION_COUNT
};

struct trace_call {
    enum trace_function function;
    uint32_t status; /* VAStatus */
    uint64_t *in, *out; /* owned */
    size_t in_count, out_count;
    uint8_t *data; /* owned; NULL when there are none */
    size_t size;   /* bytes in data */
};

struct trace {
    struct trace_call *calls;
    size_t count;
};

const char *trace_function_name(enum trace_function function);

/* Writes a call as one line with one write, so that several threads and processes may share the file.
 * `descriptor` was opened with O_APPEND. */
bool trace_write(int descriptor, const char *display, const struct trace_call *call);

/* Reads the calls of the display that coded most pictures; the other displays, which only probe, are left out.
 * False, with a sentence on stderr: unreadable, or no picture in it. */
bool trace_read(struct trace *trace, const char *path);
void trace_release(struct trace *trace);

/* A deep copy; trace_call_release frees what a call owns. */
struct trace_call trace_call_copy(const struct trace_call *call);
void trace_call_release(struct trace_call *call);

/* FNV-1a with 64 bits: tells outputs apart, no more is asked of it. Start with TRACE_DIGEST_START. */
#define TRACE_DIGEST_START UINT64_C(0xcbf29ce484222325)
uint64_t trace_digest(uint64_t digest, const uint8_t *bytes, size_t size);

/* malloc, calloc and realloc that end the process when memory is out: this is a test program. */
void *trace_allocate(size_t count, size_t size);
void *trace_resize(void *memory, size_t count, size_t size);

#endif
