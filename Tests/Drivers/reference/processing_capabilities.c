/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is advertised of VideoProc. */
#include "processing.h"

/* Lists of a display's answers: the application neither owns nor frees them. */
static VAProcColorStandardType standards_of_all[] = {
    VAProcColorStandardBT601, VAProcColorStandardBT709, VAProcColorStandardSRGB, VAProcColorStandardBT2020,
    VAProcColorStandardExplicit,
};
#define STANDARDS (sizeof(standards_of_all) / sizeof(standards_of_all[0]))
#define STANDARDS_WITHOUT_WIDE_GAMUT 3 /* those before BT.2020 */

static uint32_t written_formats[] = {VA_FOURCC_NV12, VA_FOURCC_P010};

static uint32_t standard_count(const struct persona *persona)
{
    return persona->processes_wide_gamut ? STANDARDS : STANDARDS_WITHOUT_WIDE_GAMUT;
}

bool processing_has_standard(const struct persona *persona, VAProcColorStandardType standard)
{
    for (uint32_t i = 0; i < standard_count(persona); i++)
        if (standards_of_all[i] == standard)
            return true;
    return false;
}

bool processing_writes_format(const struct pixel_format *format)
{
    return pixel_kind(format) == PIXEL_NV12 || pixel_kind(format) == PIXEL_P010;
}

uint32_t processing_attribute(const struct persona *persona, VAConfigAttribType type)
{
    uint32_t rt_formats = 0;
    for (uint32_t i = 0; i < persona->convertible_count; i++)
        rt_formats |= pixel_format(persona->format_list[i])->rt_format;
    return type == VAConfigAttribRTFormat ? rt_formats : VA_ATTRIB_NOT_SUPPORTED;
}

/* The context, which must be one of VideoProc, with a reference more, or NULL. */
static struct context *find_context(struct driver *driver, VAContextID id, const char *call)
{
    struct context *context = object_find(driver, OBJECT_CONTEXT, id, call);
    if (!context || context->processor)
        return context;
    journal_finding(JOURNAL_NOWHERE, "context-entrypoint", call, "context 0x%08x is not of VideoProc", id);
    object_release(driver, context);
    return NULL;
}

VAStatus entry_vaQueryVideoProcFilters(VADriverContextP driver_context, VAContextID id, VAProcFilterType *filters,
                                       unsigned int *num_filters)
{
    struct driver *driver = driver_of(driver_context);
    struct context *context = find_context(driver, id, "vaQueryVideoProcFilters");
    (void)filters;
    if (!context)
        return VA_STATUS_ERROR_INVALID_CONTEXT;
    *num_filters = 0;
    object_release(driver, context);
    return VA_STATUS_SUCCESS;
}

VAStatus entry_vaQueryVideoProcFilterCaps(VADriverContextP driver_context, VAContextID id, VAProcFilterType type,
                                          void *filter_caps, unsigned int *num_filter_caps)
{
    struct driver *driver = driver_of(driver_context);
    struct context *context = find_context(driver, id, "vaQueryVideoProcFilterCaps");
    (void)type, (void)filter_caps;
    if (!context)
        return VA_STATUS_ERROR_INVALID_CONTEXT;
    *num_filter_caps = 0;
    object_release(driver, context);
    return VA_STATUS_ERROR_UNSUPPORTED_FILTER;
}

VAStatus entry_vaQueryVideoProcPipelineCaps(VADriverContextP driver_context, VAContextID id, VABufferID *filters,
                                            unsigned int num_filters, VAProcPipelineCaps *caps)
{
    struct driver *driver = driver_of(driver_context);
    struct context *context = find_context(driver, id, "vaQueryVideoProcPipelineCaps");
    (void)filters;
    if (!context)
        return VA_STATUS_ERROR_INVALID_CONTEXT;
    object_release(driver, context);
    if (num_filters) {
        journal_finding(JOURNAL_NOWHERE, "processing-filter", "va_vpp.h vaQueryVideoProcFilters",
                        "%u filters are given, none was listed", num_filters);
        return VA_STATUS_ERROR_UNSUPPORTED_FILTER;
    }
    const struct persona *persona = &driver->persona;
    uint32_t width, height;
    persona_largest(persona, &width, &height);
    *caps = (VAProcPipelineCaps){
        .pipeline_flags = VA_PROC_PIPELINE_FAST,
        .filter_flags = VA_FILTER_SCALING_DEFAULT | VA_FILTER_SCALING_FAST | VA_FILTER_SCALING_HQ,
        .input_color_standards = standards_of_all,
        .num_input_color_standards = standard_count(persona),
        .output_color_standards = standards_of_all,
        .num_output_color_standards = standard_count(persona),
        .num_input_pixel_formats = persona->convertible_count,
        .input_pixel_format = driver->persona.format_list,
        .num_output_pixel_formats = persona->formats & 1u << PIXEL_P010 ? 2 : 1,
        .output_pixel_format = written_formats,
        .max_input_width = width, .max_input_height = height,
        .min_input_width = PROCESSING_MINIMUM_SIZE, .min_input_height = PROCESSING_MINIMUM_SIZE,
        .max_output_width = width, .max_output_height = height,
        .min_output_width = PROCESSING_MINIMUM_SIZE, .min_output_height = PROCESSING_MINIMUM_SIZE,
    };
    return VA_STATUS_SUCCESS;
}
