/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a pipeline buffer asks for what is advertised, and what it means. */
#include "application.h"
#include "processing.h"

#define CLAUSE "va_vpp.h VAProcPipelineParameterBuffer."

struct reading {
    const struct persona *persona;
    struct journal_place place;
    VAStatus status; /* of what was refused first */
};

static void refuse(struct reading *reading, const char *name, const char *clause, VAStatus status, const char *what,
                   uint64_t given)
{
    journal_finding(reading->place, name, clause, "%s is 0x%llx", what, (unsigned long long)given);
    if (reading->status == VA_STATUS_SUCCESS)
        reading->status = status;
}

/* Fields that ask for what was not listed by vaQueryVideoProcPipelineCaps. */
static void check_unlisted(struct reading *reading, const VAProcPipelineParameterBuffer *pipeline)
{
    const uint32_t known_filter_flags = VA_FILTER_SCALING_MASK;
    const VAStatus invalid = VA_STATUS_ERROR_INVALID_PARAMETER;
    if (pipeline->num_filters)
        refuse(reading, "processing-filter", CLAUSE "filters", VA_STATUS_ERROR_UNSUPPORTED_FILTER, "num_filters",
               pipeline->num_filters);
    if (pipeline->pipeline_flags & ~(uint32_t)VA_PROC_PIPELINE_FAST)
        refuse(reading, "processing-flags", CLAUSE "pipeline_flags", invalid, "pipeline_flags",
               pipeline->pipeline_flags);
    if (pipeline->filter_flags & ~known_filter_flags)
        refuse(reading, "processing-flags", CLAUSE "filter_flags", invalid, "filter_flags", pipeline->filter_flags);
    if (pipeline->num_forward_references || pipeline->num_backward_references)
        refuse(reading, "processing-references", CLAUSE "num_forward_references", invalid, "their number",
               (uint64_t)pipeline->num_forward_references + pipeline->num_backward_references);
    if (pipeline->rotation_state != VA_ROTATION_NONE)
        refuse(reading, "processing-rotation", CLAUSE "rotation_state", invalid, "rotation_state",
               pipeline->rotation_state);
    if (pipeline->mirror_state != VA_MIRROR_NONE)
        refuse(reading, "processing-mirror", CLAUSE "mirror_state", invalid, "mirror_state", pipeline->mirror_state);
    if (pipeline->blend_state)
        refuse(reading, "processing-blend", CLAUSE "blend_state", VA_STATUS_ERROR_INVALID_PARAMETER, "its flags",
               0);
    if (pipeline->num_additional_outputs)
        refuse(reading, "processing-outputs", CLAUSE "additional_outputs", invalid, "num_additional_outputs",
               pipeline->num_additional_outputs);
    if (pipeline->input_surface_flag || pipeline->output_surface_flag)
        refuse(reading, "processing-fields", CLAUSE "input_surface_flag", invalid, "the flags",
               pipeline->input_surface_flag | pipeline->output_surface_flag);
    if (pipeline->output_hdr_metadata)
        refuse(reading, "processing-tone-mapping", CLAUSE "output_hdr_metadata", invalid, "the pointer", 1);
}

static struct conversion_region read_region(struct reading *reading, const VARectangle *pointer, const char *clause,
                                            const struct conversion_picture *picture)
{
    struct conversion_region region = {0, 0, picture->width, picture->height};
    VARectangle given;
    if (!pointer)
        return region;
    if (!application_read(pointer, &given, sizeof(given))) {
        refuse(reading, "processing-region-pointer", clause, VA_STATUS_ERROR_INVALID_PARAMETER, "the pointer",
               (uintptr_t)pointer);
        return region;
    }
    if (given.width == 0 || given.height == 0) {
        refuse(reading, "processing-region-empty", clause, VA_STATUS_ERROR_INVALID_PARAMETER, "width or height", 0);
        return region;
    }
    if (given.x < 0 || given.y < 0 || (uint32_t)given.x + given.width > picture->width ||
        (uint32_t)given.y + given.height > picture->height) {
        journal_finding(reading->place, "processing-region-outside", clause, "%ux%u at %d,%d of %ux%u", given.width,
                        given.height, given.x, given.y, picture->width, picture->height);
        reading->status = VA_STATUS_ERROR_INVALID_PARAMETER;
        return region;
    }
    return (struct conversion_region){(uint32_t)given.x, (uint32_t)given.y, given.width, given.height};
}

/* What one side states of its colours; `stated` is false when that is nothing. */
struct statement {
    bool stated;
    struct conversion_colour colour;
};

/* H.273 8.3. */
static void read_coefficients(struct reading *reading, uint8_t coefficients, struct statement *statement)
{
    statement->stated = true;
    switch (coefficients) {
    case 1:
        statement->colour.matrix = MATRIX_BT709;
        break;
    case 5:
    case 6:
        statement->colour.matrix = MATRIX_BT601;
        break;
    case 9:
        statement->colour.matrix = MATRIX_BT2020;
        break;
    case 0: /* red, green and blue: clients hand on what they know of their source */
        journal_finding(reading->place, "processing-colour-identity",
                        "va_vpp.h VAProcColorProperties.matrix_coefficients", "0 for a surface of YCbCr");
        statement->stated = false;
        break;
    case 2:
        statement->stated = false;
        break;
    default:
        refuse(reading, "processing-colour-matrix", "va_vpp.h VAProcColorProperties.matrix_coefficients",
               VA_STATUS_ERROR_INVALID_PARAMETER, "matrix_coefficients", coefficients);
    }
}

static struct statement read_yuv(struct reading *reading, VAProcColorStandardType standard,
                                 const VAProcColorProperties *properties)
{
    struct statement statement = {.stated = true, .colour = {.matrix = MATRIX_BT601}};
    switch (standard) {
    case VAProcColorStandardBT601:
        break;
    case VAProcColorStandardBT709:
        statement.colour.matrix = MATRIX_BT709;
        break;
    case VAProcColorStandardBT2020:
        statement.colour.matrix = MATRIX_BT2020;
        break;
    case VAProcColorStandardExplicit:
        read_coefficients(reading, properties->matrix_coefficients, &statement);
        break;
    default:
        statement.stated = false;
    }
    return statement;
}

static void read_range(struct reading *reading, uint8_t range, bool rgb, struct conversion_colour *colour)
{
    colour->full_range = range == VA_SOURCE_RANGE_UNKNOWN ? rgb : range == VA_SOURCE_RANGE_FULL;
    if (range > VA_SOURCE_RANGE_FULL || (rgb && !colour->full_range))
        refuse(reading, "processing-colour-range", "va_vpp.h VAProcColorProperties.color_range",
               VA_STATUS_ERROR_INVALID_PARAMETER, "color_range", range);
}

static void check_standard(struct reading *reading, VAProcColorStandardType standard)
{
    if (standard != VAProcColorStandardNone && !processing_has_standard(reading->persona, standard))
        refuse(reading, "processing-colour-standard", "va_vpp.h VAProcPipelineCaps.input_color_standards",
               VA_STATUS_ERROR_INVALID_PARAMETER, "the standard, which was not listed,", standard);
}

/* A side that states nothing has the other's matrix; where both state none it is BT.601. */
static void read_colours(struct reading *reading, const VAProcPipelineParameterBuffer *pipeline,
                         struct conversion *conversion)
{
    bool rgb = conversion_is_rgb(conversion->source.format);
    check_standard(reading, pipeline->surface_color_standard);
    check_standard(reading, pipeline->output_color_standard);
    struct statement output =
        read_yuv(reading, pipeline->output_color_standard, &pipeline->output_color_properties);
    struct statement input = {.colour = {.matrix = MATRIX_RGB}};
    if (!rgb)
        input = read_yuv(reading, pipeline->surface_color_standard, &pipeline->input_color_properties);
    if (!output.stated && input.stated)
        output.colour.matrix = input.colour.matrix;
    if (!input.stated && !rgb)
        input.colour.matrix = output.colour.matrix;
    conversion->source_colour = input.colour;
    conversion->target_colour = output.colour;
    read_range(reading, pipeline->input_color_properties.color_range, rgb, &conversion->source_colour);
    read_range(reading, pipeline->output_color_properties.color_range, false, &conversion->target_colour);
}

static void check_picture(struct reading *reading, const struct conversion_picture *picture, const char *name,
                          const char *clause)
{
    if (picture->width < PROCESSING_MINIMUM_SIZE || picture->height < PROCESSING_MINIMUM_SIZE)
        refuse(reading, name, clause, VA_STATUS_ERROR_RESOLUTION_NOT_SUPPORTED, "the smaller of width and height",
               picture->width < picture->height ? picture->width : picture->height);
}

bool processing_read(const struct driver *driver, const struct context *context,
                     const VAProcPipelineParameterBuffer *pipeline, struct conversion *conversion, VAStatus *status)
{
    struct reading reading = {
        .persona = &driver->persona,
        .place = {context->object.id, context->pictures - 1, UINT32_MAX},
        .status = VA_STATUS_SUCCESS,
    };
    check_unlisted(&reading, pipeline);
    check_picture(&reading, &conversion->source, "processing-source-size",
                  "va_vpp.h VAProcPipelineCaps.min_input_width");
    check_picture(&reading, &conversion->target, "processing-target-size",
                  "va_vpp.h VAProcPipelineCaps.min_output_width");
    if (!pixel_is_convertible(conversion->source.format))
        refuse(&reading, "processing-source-format", "va_vpp.h VAProcPipelineCaps.input_pixel_format",
               VA_STATUS_ERROR_INVALID_SURFACE, "the source's format", conversion->source.format->image.fourcc);
    if (!processing_writes_format(conversion->target.format))
        refuse(&reading, "processing-target-format", "va_vpp.h VAProcPipelineCaps.output_pixel_format",
               VA_STATUS_ERROR_INVALID_SURFACE, "the target's format", conversion->target.format->image.fourcc);
    conversion->from =
        read_region(&reading, pipeline->surface_region, CLAUSE "surface_region", &conversion->source);
    conversion->to = read_region(&reading, pipeline->output_region, CLAUSE "output_region", &conversion->target);
    conversion->background = pipeline->output_background_color;
    read_colours(&reading, pipeline, conversion);
    *status = reading.status;
    return reading.status == VA_STATUS_SUCCESS;
}
