/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles, entrypoints, attributes and configs. */
#include "decoding.h"
#include "processing.h"

#include <va/va_drmcommon.h>

VAStatus entry_vaQueryConfigProfiles(VADriverContextP context, VAProfile *profile_list, int *num_profiles)
{
    *num_profiles = 0;
    for (unsigned i = 0; i < persona_profile_count; i++)
        if (persona_has_profile(&driver_of(context)->persona, persona_profiles[i]))
            profile_list[(*num_profiles)++] = persona_profiles[i];
    if (driver_of(context)->persona.processes_video)
        profile_list[(*num_profiles)++] = VAProfileNone;
    return VA_STATUS_SUCCESS;
}

VAStatus entry_vaQueryConfigEntrypoints(VADriverContextP context, VAProfile profile, VAEntrypoint *entrypoint_list,
                                        int *num_entrypoints)
{
    static const VAEntrypoint known[] = {VAEntrypointVLD, VAEntrypointEncSlice, VAEntrypointEncSliceLP};
    const struct persona *persona = &driver_of(context)->persona;
    *num_entrypoints = 0;
    if (profile == VAProfileNone && persona->processes_video) {
        entrypoint_list[(*num_entrypoints)++] = VAEntrypointVideoProc;
        return VA_STATUS_SUCCESS;
    }
    if (!persona_has_profile(persona, profile))
        return VA_STATUS_ERROR_UNSUPPORTED_PROFILE;
    if (profile == VAProfileMPEG2Main) {
        entrypoint_list[(*num_entrypoints)++] = VAEntrypointVLD;
        return VA_STATUS_SUCCESS;
    }
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (persona_has_entrypoint(persona, profile, known[i]))
            entrypoint_list[(*num_entrypoints)++] = known[i];
    return VA_STATUS_SUCCESS;
}

static VAStatus find_pair(const struct driver *driver, VAProfile profile, VAEntrypoint entrypoint)
{
    if (profile == VAProfileNone && driver->persona.processes_video)
        return entrypoint == VAEntrypointVideoProc ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_UNSUPPORTED_ENTRYPOINT;
    if (!persona_has_profile(&driver->persona, profile) || profile == VAProfileMPEG2Main)
        return VA_STATUS_ERROR_UNSUPPORTED_PROFILE;
    if (!persona_has_entrypoint(&driver->persona, profile, entrypoint))
        return VA_STATUS_ERROR_UNSUPPORTED_ENTRYPOINT;
    return VA_STATUS_SUCCESS;
}

static uint32_t attribute_of(const struct persona *persona, VAEntrypoint entrypoint,
                             const struct persona_limits *limits, VAConfigAttribType type)
{
    if (entrypoint == VAEntrypointVideoProc)
        return processing_attribute(persona, type);
    return entrypoint == VAEntrypointVLD ? decoding_attribute(limits, type) : persona_attribute(limits, type);
}

VAStatus entry_vaGetConfigAttributes(VADriverContextP context, VAProfile profile, VAEntrypoint entrypoint,
                                     VAConfigAttrib *attrib_list, int num_attribs)
{
    const struct driver *driver = driver_of(context);
    VAStatus status = find_pair(driver, profile, entrypoint);
    if (status != VA_STATUS_SUCCESS)
        return status;
    struct persona_limits limits = persona_limits_for(&driver->persona, profile, entrypoint);
    for (int i = 0; i < num_attribs; i++)
        attrib_list[i].value = attribute_of(&driver->persona, entrypoint, &limits, attrib_list[i].type);
    return VA_STATUS_SUCCESS;
}

static VAStatus refuse_attribute(const VAConfigAttrib *attribute, uint32_t advertised, VAStatus status)
{
    if (advertised == VA_ATTRIB_NOT_SUPPORTED)
        journal_finding(JOURNAL_NOWHERE, "attribute-not-advertised", "va.h vaCreateConfig",
                        "attribute %d is 0x%x; it is not supported for this profile and entrypoint",
                        attribute->type, attribute->value);
    else
        journal_finding(JOURNAL_NOWHERE, "attribute-value-not-advertised", "va.h vaCreateConfig",
                        "attribute %d is 0x%x; advertised is 0x%x", attribute->type, attribute->value, advertised);
    return status;
}

/* An attribute that the application sets: bits out of the advertised ones, for rate control exactly one of them.
 * The others state a limit and may only be repeated. */
static VAStatus set_attribute(const struct persona *persona, struct submitted_config *config,
                              const VAConfigAttrib *attribute)
{
    uint32_t advertised = attribute_of(persona, config->entrypoint, &config->limits, attribute->type);
    uint32_t value = attribute->value;
    if (advertised == VA_ATTRIB_NOT_SUPPORTED)
        return value == VA_ATTRIB_NOT_SUPPORTED
                   ? VA_STATUS_SUCCESS
                   : refuse_attribute(attribute, advertised, VA_STATUS_ERROR_ATTR_NOT_SUPPORTED);
    switch ((int)attribute->type) {
    case VAConfigAttribRTFormat:
        return value && !(value & ~advertised)
                   ? VA_STATUS_SUCCESS
                   : refuse_attribute(attribute, advertised, VA_STATUS_ERROR_UNSUPPORTED_RT_FORMAT);
    case VAConfigAttribRateControl:
        config->rate_control = value;
        return (value & advertised) == value && value && !(value & (value - 1))
                   ? VA_STATUS_SUCCESS
                   : refuse_attribute(attribute, advertised, VA_STATUS_ERROR_INVALID_VALUE);
    case VAConfigAttribEncPackedHeaders:
        config->packed_headers = value;
        return !(value & ~advertised) ? VA_STATUS_SUCCESS
                                      : refuse_attribute(attribute, advertised, VA_STATUS_ERROR_INVALID_VALUE);
    case VAConfigAttribEncSliceStructure:
    case VAConfigAttribEncQuantization:
    case VAConfigAttribPredictionDirection:
        return !(value & ~advertised) ? VA_STATUS_SUCCESS
                                      : refuse_attribute(attribute, advertised, VA_STATUS_ERROR_INVALID_VALUE);
    default:
        return value == advertised ? VA_STATUS_SUCCESS
                                   : refuse_attribute(attribute, advertised, VA_STATUS_ERROR_INVALID_VALUE);
    }
}

VAStatus entry_vaCreateConfig(VADriverContextP context, VAProfile profile, VAEntrypoint entrypoint,
                              VAConfigAttrib *attrib_list, int num_attribs, VAConfigID *config_id)
{
    struct driver *driver = driver_of(context);
    VAStatus status = find_pair(driver, profile, entrypoint);
    if (status != VA_STATUS_SUCCESS)
        return status;
    struct submitted_config submitted = {
        .profile = profile,
        .entrypoint = entrypoint,
        .limits = persona_limits_for(&driver->persona, profile, entrypoint),
    };
    for (int i = 0; i < num_attribs; i++) {
        status = set_attribute(&driver->persona, &submitted, &attrib_list[i]);
        if (status != VA_STATUS_SUCCESS)
            return status;
    }
    if (entrypoint == VAEntrypointVLD && driver->effort != EFFORT_SKIP && !software_functions_load())
        return VA_STATUS_ERROR_OPERATION_FAILED;
    struct config *config = object_create(driver, OBJECT_CONFIG, sizeof(*config));
    if (!config)
        return VA_STATUS_ERROR_ALLOCATION_FAILED;
    config->submitted = submitted;
    *config_id = config->object.id;
    journal_event("config", "\"config\":%u,\"profile\":%d,\"entrypoint\":%d,\"rate_control\":%u,"
                  "\"packed_headers\":%u", *config_id, profile, entrypoint, submitted.rate_control,
                  submitted.packed_headers);
    return VA_STATUS_SUCCESS;
}

/* Contexts made of the config may live on: nothing in va.h forbids it, and they have copies. */
VAStatus entry_vaDestroyConfig(VADriverContextP context, VAConfigID config_id)
{
    struct driver *driver = driver_of(context);
    pthread_mutex_lock(&driver->lock);
    struct config *config = object_find_locked(driver, OBJECT_CONFIG, config_id, "vaDestroyConfig");
    if (config) {
        object_withdraw(driver, &config->object);
        object_release_locked(driver, config);
    }
    pthread_mutex_unlock(&driver->lock);
    return config ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_CONFIG;
}

VAStatus entry_vaQueryConfigAttributes(VADriverContextP context, VAConfigID config_id, VAProfile *profile,
                                       VAEntrypoint *entrypoint, VAConfigAttrib *attrib_list, int *num_attribs)
{
    struct driver *driver = driver_of(context);
    struct config *config = object_find(driver, OBJECT_CONFIG, config_id, "vaQueryConfigAttributes");
    if (!config)
        return VA_STATUS_ERROR_INVALID_CONFIG;
    const struct submitted_config *submitted = &config->submitted;
    *profile = submitted->profile;
    *entrypoint = submitted->entrypoint;
    *num_attribs = 0;
    for (int type = 0; type < VAConfigAttribTypeMax; type++) {
        uint32_t value =
            attribute_of(&driver->persona, submitted->entrypoint, &submitted->limits, (VAConfigAttribType)type);
        if (value == VA_ATTRIB_NOT_SUPPORTED)
            continue;
        if (type == VAConfigAttribRateControl && submitted->rate_control)
            value = submitted->rate_control;
        if (type == VAConfigAttribEncPackedHeaders)
            value = submitted->packed_headers;
        attrib_list[(*num_attribs)++] = (VAConfigAttrib){.type = (VAConfigAttribType)type, .value = value};
    }
    object_release(driver, config);
    return VA_STATUS_SUCCESS;
}

/* Those besides the formats. */
#define SURFACE_ATTRIBUTES 8
/* VASurfaceAttribAlignmentSize of libva 2.21 and later. */
#define ALIGNMENT_SIZE ((VASurfaceAttribType)10)

static VASurfaceAttrib surface_integer(VASurfaceAttribType type, uint32_t flags, uint32_t value)
{
    return (VASurfaceAttrib){
        .type = type,
        .flags = flags,
        .value = {.type = VAGenericValueTypeInteger, .value = {.i = (int32_t)value}},
    };
}

VAStatus entry_vaQuerySurfaceAttributes(VADriverContextP context, VAConfigID config_id, VASurfaceAttrib *attrib_list,
                                        unsigned int *num_attribs)
{
    struct driver *driver = driver_of(context);
    struct config *config = object_find(driver, OBJECT_CONFIG, config_id, "vaQuerySurfaceAttributes");
    if (!config)
        return VA_STATUS_ERROR_INVALID_CONFIG;
    const struct persona *persona = &driver->persona;
    const struct persona_limits *limits = &config->submitted.limits;
    const uint32_t pointers = persona->takes_pointers ? VA_SURFACE_ATTRIB_MEM_TYPE_USER_PTR : 0;
    const uint32_t get = VA_SURFACE_ATTRIB_GETTABLE, both = VA_SURFACE_ATTRIB_GETTABLE | VA_SURFACE_ATTRIB_SETTABLE;
    const bool processing = config->submitted.entrypoint == VAEntrypointVideoProc;
    const bool decoding = config->submitted.entrypoint == VAEntrypointVLD;
    VASurfaceAttrib attributes[PIXEL_SURFACES + SURFACE_ATTRIBUTES + 1] = {
        surface_integer(VASurfaceAttribMinWidth, get, processing ? PROCESSING_MINIMUM_SIZE : limits->minimum_width),
        surface_integer(VASurfaceAttribMaxWidth, get, limits->maximum_width),
        surface_integer(VASurfaceAttribMinHeight, get, processing ? PROCESSING_MINIMUM_SIZE : limits->minimum_height),
        surface_integer(VASurfaceAttribMaxHeight, get, limits->maximum_height),
        surface_integer(VASurfaceAttribMemoryType, both,
                        VA_SURFACE_ATTRIB_MEM_TYPE_VA | VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2 | pointers),
        {.type = VASurfaceAttribExternalBufferDescriptor, .flags = VA_SURFACE_ATTRIB_SETTABLE,
         .value = {.type = VAGenericValueTypePointer}},
        surface_integer(VASurfaceAttribUsageHint, both,
                        (decoding ? VA_SURFACE_ATTRIB_USAGE_HINT_DECODER : VA_SURFACE_ATTRIB_USAGE_HINT_ENCODER) |
                            VA_SURFACE_ATTRIB_USAGE_HINT_EXPORT |
                            (processing ? VA_SURFACE_ATTRIB_USAGE_HINT_VPP_READ | VA_SURFACE_ATTRIB_USAGE_HINT_VPP_WRITE
                                        : 0)),
        {.type = VASurfaceAttribDRMFormatModifiers, .flags = VA_SURFACE_ATTRIB_SETTABLE,
         .value = {.type = VAGenericValueTypePointer}},
    };
    unsigned count = SURFACE_ATTRIBUTES;
    if (limits->width_alignment) {
        /* The logarithm of the width, then that of the height, in 4 bits each. */
        uint32_t width = (uint32_t)__builtin_ctz(limits->width_alignment);
        uint32_t height = (uint32_t)__builtin_ctz(limits->height_alignment);
        attributes[count++] = surface_integer(ALIGNMENT_SIZE, get, width | height << 4);
    }
    for (uint32_t i = 0; i < persona->format_count; i++)
        if (processing ? i < persona->convertible_count
                       : (pixel_format(persona->format_list[i])->rt_format & limits->rt_formats) != 0)
            attributes[count++] = surface_integer(VASurfaceAttribPixelFormat, both, persona->format_list[i]);
    object_release(driver, config);
    unsigned room = *num_attribs;
    *num_attribs = count;
    if (!attrib_list)
        return VA_STATUS_SUCCESS;
    if (room < count)
        return VA_STATUS_ERROR_MAX_NUM_EXCEEDED;
    for (unsigned i = 0; i < count; i++)
        attrib_list[i] = attributes[i];
    return VA_STATUS_SUCCESS;
}
