/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Converts one picture by VideoProc:
 *
 *   driver_processing [OPTION...] FORMAT WIDTHxHEIGHT SOURCE FORMAT WIDTHxHEIGHT TARGET
 *
 * SOURCE and TARGET are files of rows without gaps; with -m they are left alone. Options: -r and -R
 * X,Y,WIDTH,HEIGHT (regions of source and target), -b COLOUR (0xAARRGGBB), -s and -S STANDARD[,MATRIX]
 * (VAProcColorStandardType and matrix_coefficients of either side), -f and -F RANGE (VA_SOURCE_RANGE_*), -m SCENARIO
 * (does one thing wrong). Prints
 * calls that fail with their statuses. */
#include "support/client.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <va/va_vpp.h>

static const struct format {
    const char *name;
    uint32_t fourcc, rt_format;
    unsigned row_bytes, planes; /* per column, in the first plane; the second has half of the rows */
} formats[] = {
    {"nv12", VA_FOURCC_NV12, VA_RT_FORMAT_YUV420, 1, 2}, {"p010", VA_FOURCC_P010, VA_RT_FORMAT_YUV420_10, 2, 2},
    {"bgra", VA_FOURCC_BGRA, VA_RT_FORMAT_RGB32, 4, 1},  {"bgrx", VA_FOURCC_BGRX, VA_RT_FORMAT_RGB32, 4, 1},
    {"rgba", VA_FOURCC_RGBA, VA_RT_FORMAT_RGB32, 4, 1},  {"rgbx", VA_FOURCC_RGBX, VA_RT_FORMAT_RGB32, 4, 1},
    {"yuy2", VA_FOURCC_YUY2, VA_RT_FORMAT_YUV422, 2, 1}, {"p012", VA_FOURCC_P012, VA_RT_FORMAT_YUV420_12, 2, 2},
};

struct picture {
    const struct format *format;
    unsigned width, height;
    VASurfaceID surface;
};

static struct client client;
static struct picture source, target;
static unsigned failures;

static void check(const char *call, VAStatus status)
{
    if (status == VA_STATUS_SUCCESS)
        return;
    printf("%s 0x%x\n", call, (unsigned)status);
    failures++;
}
#define CALL(name, ...) check(#name, name(client.display, __VA_ARGS__))

static void open_picture(struct picture *picture, const char *name, const char *size)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (strcmp(formats[i].name, name) == 0)
            picture->format = &formats[i];
    if (!picture->format || sscanf(size, "%ux%u", &picture->width, &picture->height) != 2)
        exit(2);
    VASurfaceAttrib attribute = {
        .type = VASurfaceAttribPixelFormat, .flags = VA_SURFACE_ATTRIB_SETTABLE,
        .value = {.type = VAGenericValueTypeInteger, .value.i = (int32_t)picture->format->fourcc}};
    CALL(vaCreateSurfaces, picture->format->rt_format, picture->width, picture->height, &picture->surface, 1,
         &attribute, 1);
}

/* Moves rows between the stream and an image. */
static void move_rows(const struct picture *picture, const VAImage *image, uint8_t *data, FILE *stream, bool in)
{
    for (unsigned plane = 0; plane < picture->format->planes; plane++) {
        unsigned columns = (plane || picture->format->fourcc == VA_FOURCC_YUY2) ? (picture->width + 1) / 2 * 2
                                                                                 : picture->width;
        unsigned rows = plane ? (picture->height + 1) / 2 : picture->height;
        for (unsigned row = 0; row < rows; row++) {
            uint8_t *first = data + image->offsets[plane] + (size_t)row * image->pitches[plane];
            size_t bytes = (size_t)columns * picture->format->row_bytes;
            if ((in ? fread(first, 1, bytes, stream) : fwrite(first, 1, bytes, stream)) != bytes)
                exit(3);
        }
    }
}

static void transfer(const struct picture *picture, const char *path, bool in)
{
    FILE *stream = fopen(path, in ? "rbe" : "wbe");
    if (!stream)
        exit(3);
    VAImageFormat format = {.fourcc = picture->format->fourcc};
    VAImage image;
    void *data = NULL;
    CALL(vaCreateImage, &format, (int)picture->width, (int)picture->height, &image);
    if (!in)
        CALL(vaGetImage, picture->surface, 0, 0, picture->width, picture->height, image.image_id);
    CALL(vaMapBuffer, image.buf, &data);
    if (!data)
        exit(1);
    move_rows(picture, &image, data, stream, in);
    fclose(stream);
    CALL(vaUnmapBuffer, image.buf);
    if (in)
        CALL(vaPutImage, picture->surface, image.image_id, 0, 0, picture->width, picture->height, 0, 0, picture->width,
             picture->height);
    CALL(vaDestroyImage, image.image_id);
}

static VAContextID context;

static void process(VAProcPipelineParameterBuffer *pipeline, unsigned size, unsigned copies)
{
    VABufferID buffer = VA_INVALID_ID;
    CALL(vaCreateBuffer, context, VAProcPipelineParameterBufferType, size, 1, pipeline, &buffer);
    CALL(vaBeginPicture, context, target.surface);
    for (unsigned i = 0; i < copies && buffer != VA_INVALID_ID; i++)
        CALL(vaRenderPicture, context, &buffer, 1);
    CALL(vaEndPicture, context);
    if (buffer != VA_INVALID_ID)
        CALL(vaDestroyBuffer, buffer);
}

/* A surface that another display made. */
static VASurfaceID foreign_surface(struct client *other)
{
    VASurfaceID surface = VA_INVALID_SURFACE;
    other->node = -1;
    if (client_open_display(other) == VA_STATUS_SUCCESS)
        check("vaCreateSurfaces", vaCreateSurfaces(other->display, VA_RT_FORMAT_YUV420, 64, 64, &surface, 1, NULL, 0));
    return surface;
}

/* Changes the pipeline as the scenario says, and processes. */
static int misuse(const char *scenario, VAProcPipelineParameterBuffer *pipeline)
{
    const unsigned whole = sizeof(*pipeline);
    static VARectangle empty = {0, 0, 0, 8}, outside = {32, 0, 64, 8}, negative = {-2, 0, 8, 8};
    static VABlendState blend;
    static VAHdrMetaData metadata;
    VABufferID filter = 1;
    VASurfaceID surface = source.surface;
    unsigned size = whole, copies = 1;
    struct client other = {.node = -1};
    VAImage image;
    bool mapped = false;
    void *data;
    if (strcmp(scenario, "short-buffer") == 0)
        size = whole - 8;
    else if (strcmp(scenario, "no-buffer") == 0)
        copies = 0;
    else if (strcmp(scenario, "two-layers") == 0)
        copies = 2;
    else if (strcmp(scenario, "filter") == 0)
        pipeline->filters = &filter, pipeline->num_filters = 1;
    else if (strcmp(scenario, "empty-region") == 0)
        pipeline->surface_region = &empty;
    else if (strcmp(scenario, "region-outside") == 0)
        pipeline->surface_region = &outside;
    else if (strcmp(scenario, "negative-region") == 0)
        pipeline->output_region = &negative;
    else if (strcmp(scenario, "region-pointer") == 0)
        pipeline->output_region = (const VARectangle *)16;
    else if (strcmp(scenario, "rotation") == 0)
        pipeline->rotation_state = VA_ROTATION_90;
    else if (strcmp(scenario, "mirror") == 0)
        pipeline->mirror_state = VA_MIRROR_HORIZONTAL;
    else if (strcmp(scenario, "blend") == 0)
        pipeline->blend_state = &blend;
    else if (strcmp(scenario, "references") == 0)
        pipeline->forward_references = &surface, pipeline->num_forward_references = 1;
    else if (strcmp(scenario, "outputs") == 0)
        pipeline->additional_outputs = &surface, pipeline->num_additional_outputs = 1;
    else if (strcmp(scenario, "fields") == 0)
        pipeline->input_surface_flag = VA_TOP_FIELD;
    else if (strcmp(scenario, "tone-mapping") == 0)
        pipeline->output_hdr_metadata = &metadata;
    else if (strcmp(scenario, "flags") == 0)
        pipeline->pipeline_flags = VA_PROC_PIPELINE_SUBPICTURES;
    else if (strcmp(scenario, "standard") == 0)
        pipeline->output_color_standard = VAProcColorStandardSMPTE240M;
    else if (strcmp(scenario, "matrix") == 0)
        pipeline->output_color_standard = VAProcColorStandardExplicit,
        pipeline->output_color_properties.matrix_coefficients = 7;
    else if (strcmp(scenario, "range") == 0)
        pipeline->output_color_properties.color_range = 3;
    else if (strcmp(scenario, "source-is-target") == 0)
        pipeline->surface = target.surface;
    else if (strcmp(scenario, "no-source") == 0)
        pipeline->surface = VA_INVALID_SURFACE;
    else if (strcmp(scenario, "foreign-source") == 0)
        pipeline->surface = foreign_surface(&other);
    else if (strcmp(scenario, "mapped-source") == 0) {
        CALL(vaDeriveImage, source.surface, &image);
        CALL(vaMapBuffer, image.buf, &data);
        mapped = true;
    } else
        return 2;
    process(pipeline, size, copies);
    if (mapped) {
        CALL(vaUnmapBuffer, image.buf);
        CALL(vaDestroyImage, image.image_id);
    }
    if (other.node >= 0)
        vaDestroySurfaces(other.display, &pipeline->surface, 1), client_close_display(&other);
    return 0;
}

static void read_standard(const char *text, VAProcColorStandardType *standard, VAProcColorProperties *properties)
{
    unsigned number = 0, coefficients = 0;
    sscanf(text, "%u,%u", &number, &coefficients);
    *standard = (VAProcColorStandardType)number;
    properties->matrix_coefficients = (uint8_t)coefficients;
}

static const VARectangle *read_region(const char *text, VARectangle *region)
{
    unsigned x, y, width, height;
    if (sscanf(text, "%u,%u,%u,%u", &x, &y, &width, &height) != 4)
        exit(2);
    *region = (VARectangle){(int16_t)x, (int16_t)y, (uint16_t)width, (uint16_t)height};
    return region;
}

int main(int count, char **arguments)
{
    static VARectangle from, to;
    VAProcPipelineParameterBuffer pipeline = {.output_background_color = 0xff000000};
    const char *scenario = NULL;
    VAConfigID config;
    int outcome = 0;
    for (int option; (option = getopt(count, arguments, "r:R:b:s:S:f:F:m:")) != -1;) {
        switch (option) {
        case 'r': pipeline.surface_region = read_region(optarg, &from); break;
        case 'R': pipeline.output_region = read_region(optarg, &to); break;
        case 'b': pipeline.output_background_color = (uint32_t)strtoul(optarg, NULL, 0); break;
        case 's': read_standard(optarg, &pipeline.surface_color_standard, &pipeline.input_color_properties); break;
        case 'S': read_standard(optarg, &pipeline.output_color_standard, &pipeline.output_color_properties); break;
        case 'f': pipeline.input_color_properties.color_range = (uint8_t)atoi(optarg); break;
        case 'F': pipeline.output_color_properties.color_range = (uint8_t)atoi(optarg); break;
        case 'm': scenario = optarg; break;
        default: return 2;
        }
    }
    client.node = -1;
    if (count - optind != 6 || client_open_display(&client) != VA_STATUS_SUCCESS)
        return 2;
    open_picture(&source, arguments[optind], arguments[optind + 1]);
    open_picture(&target, arguments[optind + 3], arguments[optind + 4]);
    CALL(vaCreateConfig, VAProfileNone, VAEntrypointVideoProc, NULL, 0, &config);
    CALL(vaCreateContext, config, (int)target.width, (int)target.height, VA_PROGRESSIVE, &target.surface, 1, &context);
    if (failures)
        return 1;
    pipeline.surface = source.surface;
    if (scenario) {
        outcome = misuse(scenario, &pipeline);
    } else {
        transfer(&source, arguments[optind + 2], true);
        process(&pipeline, sizeof(pipeline), 1);
        transfer(&target, arguments[optind + 5], false);
    }
    CALL(vaDestroyContext, context);
    CALL(vaDestroyConfig, config);
    CALL(vaDestroySurfaces, &source.surface, 1);
    CALL(vaDestroySurfaces, &target.surface, 1);
    check("vaTerminate", client_close_display(&client));
    return outcome ? outcome : failures ? 1 : 0;
}
