/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "personas.h"

#include "../common/environment.h"

#include <stdio.h>
#include <string.h>

#define ALL_PACKED_HEADERS \
    (VA_ENC_PACKED_HEADER_SEQUENCE | VA_ENC_PACKED_HEADER_PICTURE | VA_ENC_PACKED_HEADER_SLICE | \
     VA_ENC_PACKED_HEADER_MISC | VA_ENC_PACKED_HEADER_RAW_DATA)

#define ROLLING_REFRESH (VA_ENC_INTRA_REFRESH_ROLLING_COLUMN | VA_ENC_INTRA_REFRESH_ROLLING_ROW)

#define ALL_FORMATS ((1u << PIXEL_SURFACES) - 1)
/* Without those that only range extensions of HEVC code. */
#define COMMON_FORMATS ((1u << PIXEL_P012) - 1)

const VAProfile persona_profiles[] = {VAProfileH264ConstrainedBaseline, VAProfileH264Main, VAProfileH264High,
                                      VAProfileHEVCMain, VAProfileHEVCMain10, VAProfileHEVCMain12,
                                      VAProfileHEVCMain422_10, VAProfileHEVCMain422_12, VAProfileHEVCMain444, VAProfileHEVCMain444_10,
                                      VAProfileHEVCMain444_12, VAProfileMPEG2Main};
const unsigned persona_profile_count = sizeof(persona_profiles) / sizeof(persona_profiles[0]);

static const struct persona personas[] = {
    {
        .name = "intel",
        .full_entrypoint = true,
        .low_power_entrypoint = true,
        .full = {
            .rate_controls = VA_RC_CQP | VA_RC_CBR | VA_RC_VBR | VA_RC_ICQ | VA_RC_QVBR | VA_RC_AVBR,
            .packed_headers = ALL_PACKED_HEADERS,
            .maximum_references = {4, 2},
            .maximum_slices = 256,
            .slice_structures = VA_ENC_SLICE_STRUCTURE_ARBITRARY_MACROBLOCKS |
                                VA_ENC_SLICE_STRUCTURE_ARBITRARY_ROWS | VA_ENC_SLICE_STRUCTURE_EQUAL_ROWS,
            .maximum_quality_level = 7,
            .minimum_width = 32, .minimum_height = 32, .maximum_width = 4096, .maximum_height = 4096,
            .maximum_roi_regions = 8,
            .intra_refresh = ROLLING_REFRESH,
            .maximum_frame_size = true,
            .trellis = true,
        },
        .low_power = {
            .rate_controls = VA_RC_CQP | VA_RC_CBR | VA_RC_VBR | VA_RC_QVBR,
            .packed_headers = ALL_PACKED_HEADERS,
            .maximum_references = {3, 0},
            .maximum_slices = 256,
            .slice_structures = VA_ENC_SLICE_STRUCTURE_ARBITRARY_ROWS | VA_ENC_SLICE_STRUCTURE_EQUAL_ROWS,
            .maximum_quality_level = 7,
            .minimum_width = 32, .minimum_height = 32, .maximum_width = 4096, .maximum_height = 4096,
            .maximum_roi_regions = 8,
            .intra_refresh = ROLLING_REFRESH,
            .maximum_frame_size = true,
        },
        .derives_images = true,
        .syncs_buffers = true,
        .takes_pointers = true,
        .formats = ALL_FORMATS,
        .processes_video = true,
        .processes_wide_gamut = true,
        .reports_qp = true,
    },
    {
        .name = "amd",
        .full_entrypoint = true,
        .full = {
            .rate_controls = VA_RC_CQP | VA_RC_CBR | VA_RC_VBR,
            .packed_headers = VA_ENC_PACKED_HEADER_NONE,
            .maximum_references = {1, 0},
            .maximum_slices = 1,
            .slice_structures = VA_ENC_SLICE_STRUCTURE_ARBITRARY_ROWS | VA_ENC_SLICE_STRUCTURE_EQUAL_ROWS,
            .minimum_width = 16, .minimum_height = 16, .maximum_width = 4096, .maximum_height = 2304,
        },
        .formats = ALL_FORMATS,
        .processes_video = true,
    },
    {
        /* What radeonsi of Mesa 25.0 lists on VCN 4 (RDNA 3); smaller pictures are taken than by the real one. Of slice
         * structures those that it keeps to: it lists arbitrary macroblocks, too. */
        .name = "amd-25",
        .full_entrypoint = true,
        .full = {
            .rate_controls = VA_RC_CQP | VA_RC_CBR | VA_RC_VBR | VA_RC_QVBR,
            .packed_headers = ALL_PACKED_HEADERS,
            .maximum_references = {1, 1},
            .maximum_slices = 128,
            .slice_structures = VA_ENC_SLICE_STRUCTURE_EQUAL_ROWS | VA_ENC_SLICE_STRUCTURE_EQUAL_MULTI_ROWS,
            .maximum_quality_level = 32,
            .minimum_width = 16, .minimum_height = 16, .maximum_width = 4096, .maximum_height = 4096,
            .maximum_roi_regions = 32,
            .intra_refresh = ROLLING_REFRESH,
            .maximum_frame_size = true,
        },
        .syncs_buffers = true,
        .formats = ALL_FORMATS,
        .processes_video = true,
    },
    {
        .name = "low-power",
        .low_power_entrypoint = true,
        .low_power = {
            .rate_controls = VA_RC_CQP,
            .packed_headers = ALL_PACKED_HEADERS,
            .maximum_references = {3, 0},
            .maximum_slices = 64,
            .slice_structures = VA_ENC_SLICE_STRUCTURE_ARBITRARY_ROWS | VA_ENC_SLICE_STRUCTURE_EQUAL_ROWS,
            .maximum_quality_level = 7,
            .minimum_width = 32, .minimum_height = 32, .maximum_width = 4096, .maximum_height = 4096,
            .intra_refresh = ROLLING_REFRESH,
        },
        .derives_images = true,
        .syncs_buffers = true,
        .takes_pointers = true,
        .formats = ALL_FORMATS,
        .processes_video = true,
        .processes_wide_gamut = true,
        .reports_qp = true,
    },
};

struct named_value {
    const char *name;
    uint32_t value;
};

static const struct named_value rate_controls[] = {
    {"cqp", VA_RC_CQP}, {"cbr", VA_RC_CBR}, {"vbr", VA_RC_VBR}, {"icq", VA_RC_ICQ}, {"qvbr", VA_RC_QVBR},
    {"avbr", VA_RC_AVBR},
};

static bool read_uint32(const char *text, uint32_t maximum, uint32_t *value)
{
    uint64_t number;
    if (!environment_number(text, maximum, &number))
        return false;
    *value = (uint32_t)number;
    return true;
}

/* Larger pictures than H.264 has are not allocated. */
static bool read_size(const char *text, uint32_t *width, uint32_t *height)
{
    const uint32_t largest = 16384;
    return environment_size(text, width, height) && *width <= largest && *height <= largest;
}

static bool read_rate_controls(char *text, uint32_t *bits)
{
    *bits = 0;
    char *rest = text;
    for (char *part; (part = environment_next(&rest, ","));) {
        uint32_t bit = 0;
        for (size_t i = 0; i < sizeof(rate_controls) / sizeof(rate_controls[0]); i++)
            if (strcmp(part, rate_controls[i].name) == 0)
                bit = rate_controls[i].value;
        if (!bit)
            return false;
        *bits |= bit;
    }
    return *bits != 0;
}

static bool read_references(char *text, uint32_t references[2])
{
    char *second = environment_cut(text, ',');
    references[1] = 0;
    return read_uint32(text, 16, &references[0]) && (!second || read_uint32(second, 16, &references[1]));
}

/* The smallest and the largest coding tree block, of 16 to 64 samples; read for H.264 as well, which has none. */
static bool read_tree_blocks(char *text, VAConfigAttribValEncHEVCBlockSizes *sizes)
{
    char *largest = environment_cut(text, ',');
    uint32_t samples[2];
    if (!largest || !read_uint32(text, 64, &samples[0]) || !read_uint32(largest, 64, &samples[1]) ||
        samples[0] > samples[1])
        return false;
    uint32_t log2[2] = {0, 0};
    for (unsigned i = 0; i < 2; i++) {
        while (8u << log2[i] < samples[i])
            log2[i]++;
        if (log2[i] == 0 || 8u << log2[i] != samples[i])
            return false;
    }
    if (!sizes->value)
        return true;
    sizes->bits.log2_min_coding_tree_block_size_minus3 = log2[0] & 3;
    sizes->bits.log2_max_coding_tree_block_size_minus3 = log2[1] & 3;
    return true;
}

/* One limit of one entrypoint. */
static bool read_limit(struct persona_limits *limits, const char *key, char *value)
{
    if (strcmp(key, "references") == 0)
        return read_references(value, limits->maximum_references);
    if (strcmp(key, "slices") == 0)
        return read_uint32(value, CHECKS_MAXIMUM_SLICES, &limits->maximum_slices) && limits->maximum_slices > 0;
    if (strcmp(key, "slice-structures") == 0)
        return read_uint32(value, 0x3f, &limits->slice_structures);
    if (strcmp(key, "size") == 0)
        return read_size(value, &limits->maximum_width, &limits->maximum_height);
    if (strcmp(key, "minimum-size") == 0)
        return read_size(value, &limits->minimum_width, &limits->minimum_height);
    if (strcmp(key, "rate-controls") == 0)
        return read_rate_controls(value, &limits->rate_controls);
    if (strcmp(key, "quality-levels") == 0)
        return read_uint32(value, 255, &limits->maximum_quality_level);
    if (strcmp(key, "packed-headers") == 0)
        return read_uint32(value, ALL_PACKED_HEADERS, &limits->packed_headers);
    if (strcmp(key, "roi-regions") == 0)
        return read_uint32(value, 255, &limits->maximum_roi_regions);
    if (strcmp(key, "ctb") == 0)
        return read_tree_blocks(value, &limits->hevc_block_sizes);
    if (strcmp(key, "intra-refresh") == 0)
        return read_uint32(value, ROLLING_REFRESH, &limits->intra_refresh);
    return false;
}

static bool read_switch(const char *text, bool *value)
{
    *value = strcmp(text, "yes") == 0;
    return *value || strcmp(text, "no") == 0;
}

static bool read_h264(struct persona *persona, const char *text)
{
    static const char *const names[] = {[H264_ENCODED] = "encode", [H264_DECODED] = "decode", [H264_NOT_LISTED] = "none"};
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(text, names[i]) != 0)
            continue;
        persona->h264 = (enum persona_h264)i;
        return true;
    }
    return false;
}

static bool read_hevc(struct persona *persona, const char *text)
{
    static const char *const names[] = {
        [HEVC_NOT_LISTED] = "none", [HEVC_MAIN] = "main", [HEVC_MAIN_10] = "main10", [HEVC_MAIN_422] = "main422",
        [HEVC_MAIN_444] = "main444", [HEVC_ALL] = "all"};
    for (unsigned i = HEVC_NOT_LISTED; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(text, names[i]) != 0)
            continue;
        persona->hevc = (enum persona_hevc)i;
        return true;
    }
    return false;
}

static bool read_decoders(struct persona *persona, char *text)
{
    persona->decodes = 0;
    if (strcmp(text, "none") == 0)
        return true;
    char *rest = text;
    for (char *part; (part = environment_next(&rest, ","));) {
        if (strcmp(part, "h264") == 0)
            persona->decodes |= PERSONA_DECODES_H264;
        else if (strcmp(part, "hevc") == 0)
            persona->decodes |= PERSONA_DECODES_HEVC;
        else
            return false;
    }
    return persona->decodes != 0;
}

static bool read_entrypoints(struct persona *persona, char *text)
{
    persona->full_entrypoint = persona->low_power_entrypoint = false;
    char *rest = text;
    for (char *part; (part = environment_next(&rest, ","));) {
        if (strcmp(part, "slice") == 0)
            persona->full_entrypoint = true;
        else if (strcmp(part, "low-power") == 0)
            persona->low_power_entrypoint = true;
        else
            return false;
    }
    return persona->full_entrypoint || persona->low_power_entrypoint;
}

static bool read_exports(struct persona *persona, const char *text)
{
    static const char *const names[] = {
        [EXPORT_LINEAR] = "linear",
        [EXPORT_TWO_OBJECTS] = "two-objects",
        [EXPORT_TILED] = "tiled",
        [EXPORT_IMPLICIT] = "implicit",
        [EXPORT_TWO_MODIFIERS] = "two-modifiers",
        [EXPORT_TILED_AS_LINEAR] = "tiled-as-linear",
        [EXPORT_REMEMBERED] = "remembered",
        [EXPORT_LINEAR_AS_TILED] = "linear-as-tiled",
        [EXPORT_WRONG_OFFSET] = "wrong-offset",
        [EXPORT_WRONG_PITCH] = "wrong-pitch",
        [EXPORT_COMPRESSED] = "compressed",
        [EXPORT_WRONG_DECODED] = "wrong-decoded",
    };
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(text, names[i]) == 0) {
            persona->exports = (enum persona_export)i;
            return true;
        }
    }
    return false;
}

static bool read_formats(struct persona *persona, char *text)
{
    persona->formats = 0;
    char *rest = text;
    for (char *part; (part = environment_next(&rest, ","));) {
        unsigned kind = 0;
        while (kind < PIXEL_SURFACES && strcmp(part, pixel_formats[kind].name) != 0)
            kind++;
        if (kind == PIXEL_SURFACES)
            return false;
        persona->formats |= 1u << kind;
    }
    return persona->formats & 1u << PIXEL_NV12;
}

static bool read_setting(struct persona *persona, const char *key, char *value)
{
    if (strcmp(key, "derive-image") == 0)
        return read_switch(value, &persona->derives_images);
    if (strcmp(key, "sync-buffer") == 0)
        return read_switch(value, &persona->syncs_buffers);
    if (strcmp(key, "user-pointer") == 0)
        return read_switch(value, &persona->takes_pointers);
    if (strcmp(key, "video-processing") == 0)
        return read_switch(value, &persona->processes_video);
    if (strcmp(key, "export") == 0)
        return read_exports(persona, value);
    if (strcmp(key, "formats") == 0)
        return read_formats(persona, value);
    if (strcmp(key, "entrypoints") == 0)
        return read_entrypoints(persona, value);
    if (strcmp(key, "decode") == 0)
        return read_decoders(persona, value);
    if (strcmp(key, "h264") == 0)
        return read_h264(persona, value);
    if (strcmp(key, "hevc") == 0)
        return read_hevc(persona, value);
    struct persona_limits *const all[] = {&persona->full, &persona->low_power, &persona->hevc_full,
                                          &persona->hevc_low_power};
    bool read = true;
    for (unsigned i = 0; read && i < sizeof(all) / sizeof(all[0]); i++) {
        char copy[128]; /* which reading cuts up */
        snprintf(copy, sizeof(copy), "%s", value);
        read = read_limit(all[i], key, copy);
    }
    return read;
}

static bool read_settings(struct persona *persona, const char *text, char *problem, size_t size)
{
    char copy[1024];
    if (strlen(text) >= sizeof(copy)) {
        snprintf(problem, size, "REFERENCE_DRIVER_LIMITS is longer than %zu bytes", sizeof(copy) - 1);
        return false;
    }
    strcpy(copy, text);
    char *rest = copy;
    for (char *part; (part = environment_next(&rest, " ;\t\n"));) {
        char *value = environment_cut(part, '=');
        char whole[128];
        snprintf(whole, sizeof(whole), "%s=%s", part, value ? value : "");
        if (!value || !read_setting(persona, part, value)) {
            snprintf(problem, size, "REFERENCE_DRIVER_LIMITS: \"%s\" is not understood", whole);
            return false;
        }
    }
    return true;
}

/* An entrypoint that only the limits have added is like the other one. */
static void complete_entrypoints(struct persona *persona)
{
    if (persona->full.maximum_slices == 0)
        persona->full = persona->low_power;
    if (persona->low_power.maximum_slices == 0) {
        persona->low_power = persona->full;
        persona->low_power.maximum_references[1] = 0;
    }
}

static void list_formats(struct persona *persona)
{
    for (unsigned i = 0; i < PIXEL_SURFACES; i++)
        if (persona->formats & 1u << i) {
            persona->format_list[persona->format_count++] = pixel_formats[i].image.fourcc;
            persona->convertible_count += pixel_is_convertible(&pixel_formats[i]);
        }
}

bool persona_read(struct persona *persona, char *problem, size_t size)
{
    const char *name = environment_text("REFERENCE_DRIVER_PERSONA");
    const struct persona *found = name ? NULL : &personas[0];
    for (size_t i = 0; name && i < sizeof(personas) / sizeof(personas[0]); i++)
        if (strcmp(personas[i].name, name) == 0)
            found = &personas[i];
    if (!found) {
        snprintf(problem, size, "REFERENCE_DRIVER_PERSONA is \"%s\"; known are intel, amd, amd-25, low-power", name);
        return false;
    }
    *persona = *found;
    complete_entrypoints(persona);
    persona_add_hevc(persona);
    const char *limits = environment_text("REFERENCE_DRIVER_LIMITS");
    if (limits && !read_settings(persona, limits, problem, size))
        return false;
    if (persona->hevc < HEVC_MAIN_422)
        persona->formats &= COMMON_FORMATS;
    list_formats(persona);
    const char *vendor = environment_text("REFERENCE_DRIVER_VENDOR");
    if (vendor)
        snprintf(persona->vendor, sizeof(persona->vendor), "%s", vendor);
    else
        snprintf(persona->vendor, sizeof(persona->vendor), "VAToolbox reference driver (%s)", persona->name);
    return true;
}

bool persona_encodes(const struct persona *persona, VAProfile profile)
{
    bool hevc = persona->hevc == HEVC_LIKE_H264 ? persona->h264 == H264_ENCODED : persona->hevc != HEVC_NOT_LISTED;
    switch (profile) {
    case VAProfileH264ConstrainedBaseline:
    case VAProfileH264Main:
    case VAProfileH264High:
        return persona->h264 == H264_ENCODED;
    case VAProfileHEVCMain:
        return hevc;
    case VAProfileHEVCMain10:
        return hevc && persona->hevc != HEVC_MAIN && persona->formats & 1u << PIXEL_P010;
    default:
        return hevc && persona_encodes_extension(persona, profile);
    }
}

bool persona_decodes(const struct persona *persona, VAProfile profile)
{
    switch (profile) {
    case VAProfileH264ConstrainedBaseline:
    case VAProfileH264Main:
    case VAProfileH264High:
        return persona->h264 == H264_DECODED ||
               (persona->decodes & PERSONA_DECODES_H264 && persona->h264 != H264_NOT_LISTED);
    case VAProfileHEVCMain:
        return persona->decodes & PERSONA_DECODES_HEVC;
    case VAProfileHEVCMain10:
        return persona->decodes & PERSONA_DECODES_HEVC && persona->formats & 1u << PIXEL_P010;
    default:
        return false;
    }
}

bool persona_has_profile(const struct persona *persona, VAProfile profile)
{
    if (profile == VAProfileMPEG2Main)
        return persona->h264 == H264_NOT_LISTED;
    return persona_encodes(persona, profile) || persona_decodes(persona, profile);
}

bool persona_has_entrypoint(const struct persona *persona, VAProfile profile, VAEntrypoint entrypoint)
{
    if (entrypoint == VAEntrypointVLD)
        return persona_decodes(persona, profile);
    if (!persona_encodes(persona, profile))
        return false;
    return (entrypoint == VAEntrypointEncSlice && persona->full_entrypoint) ||
           (entrypoint == VAEntrypointEncSliceLP && persona->low_power_entrypoint &&
            persona_has_low_power_extension(profile));
}

bool persona_has_format(const struct persona *persona, const struct pixel_format *format)
{
    return persona->formats & 1u << pixel_kind(format);
}

const struct pixel_format *persona_format_for(const struct persona *persona, uint32_t rt_format)
{
    for (unsigned i = 0; i < PIXEL_SURFACES; i++)
        if (pixel_formats[i].rt_format == rt_format && persona_has_format(persona, &pixel_formats[i]))
            return &pixel_formats[i];
    return NULL;
}

uint32_t persona_rt_formats(const struct persona *persona)
{
    uint32_t rt_formats = 0;
    for (unsigned i = 0; i < PIXEL_SURFACES; i++)
        if (persona_has_format(persona, &pixel_formats[i]))
            rt_formats |= pixel_formats[i].rt_format;
    return rt_formats;
}

void persona_largest(const struct persona *persona, uint32_t *width, uint32_t *height)
{
    const struct persona_limits *full = &persona->full, *low_power = &persona->low_power;
    *width = full->maximum_width > low_power->maximum_width ? full->maximum_width : low_power->maximum_width;
    *height = full->maximum_height > low_power->maximum_height ? full->maximum_height : low_power->maximum_height;
}

struct persona_limits persona_limits_for(const struct persona *persona, VAProfile profile, VAEntrypoint entrypoint)
{
    bool low_power = entrypoint == VAEntrypointEncSliceLP;
    struct persona_limits limits = low_power ? persona->low_power : persona->full;
    if (codec_of(profile) == CODEC_HEVC)
        limits = low_power ? persona->hevc_low_power : persona->hevc_full;
    limits.rt_formats = profile_rt_formats(profile) & persona_rt_formats(persona);
    if (profile == VAProfileH264ConstrainedBaseline)
        limits.maximum_references[1] = 0;
    if (limits.maximum_references[1] == 0)
        limits.prediction_directions = VA_PREDICTION_DIRECTION_PREVIOUS;
    else if (limits.prediction_directions == 0)
        limits.prediction_directions = VA_PREDICTION_DIRECTION_PREVIOUS | VA_PREDICTION_DIRECTION_FUTURE;
    if (entrypoint == VAEntrypointVideoProc)
        persona_largest(persona, &limits.maximum_width, &limits.maximum_height);
    if (entrypoint == VAEntrypointVLD) {
        limits.minimum_width = limits.minimum_height = DECODING_MINIMUM_SIZE;
        limits.width_alignment = limits.height_alignment = 0;
    }
    return limits;
}

static uint32_t region_attribute(const struct persona_limits *limits)
{
    if (limits->maximum_roi_regions == 0)
        return VA_ATTRIB_NOT_SUPPORTED;
    VAConfigAttribValEncROI value = {
        .bits = {.num_roi_regions = limits->maximum_roi_regions & 0xff, .roi_rc_qp_delta_support = 1},
    };
    return value.value;
}

uint32_t persona_attribute(const struct persona_limits *limits, VAConfigAttribType type)
{
    switch ((int)type) {
    case VAConfigAttribRTFormat:
        return limits->rt_formats;
    case VAConfigAttribRateControl:
        return limits->rate_controls;
    case VAConfigAttribEncPackedHeaders:
        return limits->packed_headers;
    case VAConfigAttribEncInterlaced:
        return VA_ENC_INTERLACED_NONE;
    case VAConfigAttribEncMaxRefFrames:
        return limits->maximum_references[0] | limits->maximum_references[1] << 16;
    case VAConfigAttribEncMaxSlices:
        return limits->maximum_slices;
    case VAConfigAttribEncSliceStructure:
        return limits->slice_structures;
    case VAConfigAttribMaxPictureWidth:
        return limits->maximum_width;
    case VAConfigAttribMaxPictureHeight:
        return limits->maximum_height;
    case VAConfigAttribEncQualityRange:
        return limits->maximum_quality_level > 1 ? limits->maximum_quality_level : VA_ATTRIB_NOT_SUPPORTED;
    case VAConfigAttribEncQuantization:
        return limits->trellis ? VA_ENC_QUANTIZATION_TRELLIS_SUPPORTED : VA_ATTRIB_NOT_SUPPORTED;
    case VAConfigAttribEncIntraRefresh:
        return limits->intra_refresh;
    case VAConfigAttribEncROI:
        return region_attribute(limits);
    case VAConfigAttribMaxFrameSize:
        return limits->maximum_frame_size ? 1 : VA_ATTRIB_NOT_SUPPORTED;
    case VAConfigAttribPredictionDirection:
        return limits->prediction_directions;
    case VAConfigAttribEncHEVCFeatures:
        return limits->hevc_features.value ? limits->hevc_features.value : VA_ATTRIB_NOT_SUPPORTED;
    case VAConfigAttribEncHEVCBlockSizes:
        return limits->hevc_block_sizes.value ? limits->hevc_block_sizes.value : VA_ATTRIB_NOT_SUPPORTED;
    default:
        return VA_ATTRIB_NOT_SUPPORTED;
    }
}
