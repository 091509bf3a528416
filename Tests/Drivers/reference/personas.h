/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the driver pretends to be: REFERENCE_DRIVER_PERSONA, changed by REFERENCE_DRIVER_LIMITS. */
#ifndef DRIVERS_REFERENCE_PERSONAS_H
#define DRIVERS_REFERENCE_PERSONAS_H

#include "../checks/checks.h"
#include "pixels.h"

/* What is listed of H.264; without it the driver lists a decoder of MPEG-2 instead. */
enum persona_h264 { H264_ENCODED, H264_DECODED, H264_NOT_LISTED };

/* What is encoded of HEVC: as REFERENCE_DRIVER_LIMITS says, else Main and Main 10 where H.264 is encoded.
 * HEVC_MAIN_422: Main, Main 10 and 4:2:2 of up to 10 bits; HEVC_MAIN_444: these and 4:4:4 of up to 10 bits; HEVC_ALL:
 * 12 bits as well. */
enum persona_hevc {
    HEVC_LIKE_H264,
    HEVC_NOT_LISTED,
    HEVC_MAIN,
    HEVC_MAIN_10,
    HEVC_MAIN_422,
    HEVC_MAIN_444,
    HEVC_ALL,
};

/* What vaExportSurfaceHandle states, and of which memory. */
enum persona_export {
    EXPORT_LINEAR,          /* the surface's own memory, which is linear */
    EXPORT_TWO_OBJECTS,     /* the same, with an object for each plane */
    EXPORT_TILED,           /* a copy in tiles */
    EXPORT_IMPLICIT,        /* the surface's memory without a modifier */
    EXPORT_TWO_MODIFIERS,   /* two objects, one of them tiled as it is stated */
    EXPORT_TILED_AS_LINEAR, /* a copy in tiles, stated to be linear */
    EXPORT_REMEMBERED,      /* the same, and imports know of the tiles nevertheless */
    EXPORT_LINEAR_AS_TILED, /* the surface's memory, stated to be tiled */
    EXPORT_WRONG_OFFSET,    /* that of the last plane is one row too large */
    EXPORT_WRONG_PITCH,     /* smaller than it is */
    EXPORT_COMPRESSED,      /* other samples, for decoded pictures only */
    EXPORT_WRONG_DECODED,   /* the wrong offset, for decoded pictures only */
};

/* Codecs that are decoded: H.264; HEVC Main and, with its format of surfaces, Main 10. */
enum { PERSONA_DECODES_H264 = 1, PERSONA_DECODES_HEVC = 2 };

struct persona {
    const char *name;
    uint32_t decodes; /* PERSONA_DECODES_* bits; H264_DECODED adds the first one */
    enum persona_h264 h264;
    enum persona_hevc hevc;
    char vendor[128]; /* what vaQueryVendorString says */
    bool full_entrypoint, low_power_entrypoint; /* VAEntrypointEncSlice, VAEntrypointEncSliceLP */
    struct persona_limits full, low_power, hevc_full, hevc_low_power;
    bool derives_images; /* false: vaDeriveImage is refused, as for tiled surfaces */
    bool syncs_buffers;  /* false: vaSyncBuffer is unimplemented */
    bool takes_pointers; /* surfaces can be made of the client's memory (VA_SURFACE_ATTRIB_MEM_TYPE_USER_PTR) */
    uint32_t formats;    /* of surfaces: 1 << enum pixel_kind; images have those, I420 and YV12 */
    uint32_t format_list[PIXEL_SURFACES]; /* the same as VA_FOURCC_* */
    uint32_t format_count, convertible_count; /* the first ones are those that VideoProc takes */
    bool processes_video;      /* VAEntrypointVideoProc */
    bool processes_wide_gamut; /* with BT.2020 and colours that are stated by their numbers */
    enum persona_export exports;
    bool reports_qp;     /* average QP and number of passes in the coded buffer's status */
};

/* False when a variable cannot be understood: `problem` then says which and why. */
bool persona_read(struct persona *persona, char *problem, size_t size);

/* Whether the profile is listed, and whether it is for encoding or decoding. */
bool persona_has_profile(const struct persona *persona, VAProfile profile);
bool persona_encodes(const struct persona *persona, VAProfile profile);
bool persona_decodes(const struct persona *persona, VAProfile profile);
bool persona_has_entrypoint(const struct persona *persona, VAProfile profile, VAEntrypoint entrypoint);
/* personas_hevc.c, likewise for profiles of range extensions alone. */
bool persona_encodes_extension(const struct persona *persona, VAProfile profile);
bool persona_has_low_power_extension(VAProfile profile);
/* VA_RT_FORMAT_* bits of the surfaces that are coded. */
uint32_t profile_rt_formats(VAProfile profile);

bool persona_has_format(const struct persona *persona, const struct pixel_format *format);
/* The format of surfaces that are created without naming one, or NULL. */
const struct pixel_format *persona_format_for(const struct persona *persona, uint32_t rt_format);
/* VA_RT_FORMAT_* bits of all formats. */
uint32_t persona_rt_formats(const struct persona *persona);

/* personas_hevc.c: what HEVC differs in from H.264, whose limits are there. */
void persona_add_hevc(struct persona *persona);

/* The limits for a profile: constrained baseline has no B slices (H.264 A.2.1.1). */
struct persona_limits persona_limits_for(const struct persona *persona, VAProfile profile, VAEntrypoint entrypoint);

/* Of all surfaces. */
void persona_largest(const struct persona *persona, uint32_t *width, uint32_t *height);

/* The value that vaGetConfigAttributes reports, or VA_ATTRIB_NOT_SUPPORTED. */
uint32_t persona_attribute(const struct persona_limits *limits, VAConfigAttribType type);

/* Of pictures that are decoded, in each direction. */
#define DECODING_MINIMUM_SIZE 16

extern const VAProfile persona_profiles[];
extern const unsigned persona_profile_count;

#endif
