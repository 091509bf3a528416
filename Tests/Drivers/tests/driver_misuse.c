/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Does one thing wrong with objects, buffers or their order, and tidies up: driver_misuse SCENARIO. Prints the calls
 * that fail; what the driver found wrong is in its journal. `driver_misuse list` prints the scenarios' names. */
#include "support/client.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define REPORT(name, ...) client_report(#name, name(__VA_ARGS__))

static void nothing_wrong(struct client *client)
{
    client_submit(client);
    client_collect(client, 0, NULL);
}

static void begin_inside_picture(struct client *client)
{
    REPORT(vaBeginPicture, client->display, client->context, client->inputs[0]);
    REPORT(vaBeginPicture, client->display, client->context, client->inputs[1]);
    client_fill(client, 0, 0);
    client_render(client);
    REPORT(vaEndPicture, client->display, client->context);
    client_collect(client, 0, NULL);
}

static void render_outside_picture(struct client *client)
{
    client_render(client);
}

static void end_without_begin(struct client *client)
{
    REPORT(vaEndPicture, client->display, client->context);
}

static void begin_invalid_surface(struct client *client)
{
    REPORT(vaBeginPicture, client->display, client->context, 0x12345);
}

static void map_without_sync(struct client *client)
{
    void *mapped;
    client_submit(client);
    REPORT(vaMapBuffer, client->display, client->coded[0], &mapped);
    REPORT(vaUnmapBuffer, client->display, client->coded[0]);
}

static void map_unused_coded_buffer(struct client *client)
{
    void *mapped;
    REPORT(vaMapBuffer, client->display, client->coded[2], &mapped);
    REPORT(vaUnmapBuffer, client->display, client->coded[2]);
}

static void map_twice(struct client *client)
{
    void *mapped;
    client_submit(client);
    client_collect(client, 0, NULL);
    REPORT(vaMapBuffer, client->display, client->coded[0], &mapped);
    REPORT(vaMapBuffer, client->display, client->coded[0], &mapped);
    REPORT(vaUnmapBuffer, client->display, client->coded[0]);
}

static void unmap_not_mapped(struct client *client)
{
    REPORT(vaUnmapBuffer, client->display, client->coded[0]);
}

static void destroy_mapped_buffer(struct client *client)
{
    uint8_t bytes[16] = {0};
    void *mapped;
    VABufferID buffer;
    REPORT(vaCreateBuffer, client->display, client->context, VAEncMiscParameterBufferType, sizeof(bytes), 1, bytes,
           &buffer);
    REPORT(vaMapBuffer, client->display, buffer, &mapped);
    REPORT(vaDestroyBuffer, client->display, buffer);
}

static void destroy_twice(struct client *client)
{
    uint8_t bytes[16] = {0};
    VABufferID buffer;
    REPORT(vaCreateBuffer, client->display, client->context, VAEncMiscParameterBufferType, sizeof(bytes), 1, bytes,
           &buffer);
    REPORT(vaDestroyBuffer, client->display, buffer);
    REPORT(vaDestroyBuffer, client->display, buffer);
}

static void wrong_kind_of_id(struct client *client)
{
    REPORT(vaDestroyBuffer, client->display, client->inputs[0]);
    REPORT(vaSyncSurface, client->display, client->config);
}

/* The picture's coding takes longer by a fault, so that the order is certain. */
static void destroy_coded_buffer_in_use(struct client *client)
{
    client_submit(client);
    REPORT(vaDestroyBuffer, client->display, client->coded[0]);
    REPORT(vaSyncSurface, client->display, client->inputs[0]);
    REPORT(vaCreateBuffer, client->display, client->context, VAEncCodedBufferType, 4096, 1, NULL, &client->coded[0]);
}

static void destroy_surface_in_use(struct client *client)
{
    client_submit(client);
    REPORT(vaDestroySurfaces, client->display, client->inputs, 1);
    client_collect(client, 0, NULL);
    REPORT(vaCreateSurfaces, client->display, VA_RT_FORMAT_YUV420, 64, 64, client->inputs, 1, NULL, 0);
}

static void write_surface_in_use(struct client *client)
{
    client_submit(client);
    client_fill(client, 0, 1);
    client_collect(client, 0, NULL);
}

static void reuse_pending_coded_buffer(struct client *client)
{
    client_submit(client);
    REPORT(vaDestroyBuffer, client->display, client->coded[1]);
    client->coded[1] = client->coded[0];
    client_submit(client);
    client_collect(client, 0, NULL);
    REPORT(vaCreateBuffer, client->display, client->context, VAEncCodedBufferType, 4096, 1, NULL, &client->coded[1]);
}

static void destroy_reference(struct client *client)
{
    client_submit(client);
    client_collect(client, 0, NULL);
    REPORT(vaDestroySurfaces, client->display, client->reconstructions, 1);
    client_submit(client);
    REPORT(vaCreateSurfaces, client->display, VA_RT_FORMAT_YUV420, 64, 64, client->reconstructions, 1, NULL, 0);
}

static void coded_buffer_too_small(struct client *client)
{
    REPORT(vaDestroyBuffer, client->display, client->coded[0]);
    REPORT(vaCreateBuffer, client->display, client->context, VAEncCodedBufferType, 40, 1, NULL, &client->coded[0]);
    nothing_wrong(client);
}

static void leave_everything(struct client *client)
{
    VAImageFormat format = {.fourcc = VA_FOURCC_I420};
    VAImage image;
    REPORT(vaCreateImage, client->display, &format, 64, 64, &image);
    client->context = VA_INVALID_ID;
}

static void context_inside_picture(struct client *client)
{
    REPORT(vaBeginPicture, client->display, client->context, client->inputs[0]);
}

static void unadvertised_attributes(struct client *client)
{
    VAConfigAttrib attributes[] = {{VAConfigAttribRateControl, VA_RC_CBR | VA_RC_VBR},
                                   {VAConfigAttribRateControl, VA_RC_VCM},
                                   {VAConfigAttribEncJPEG, 1},
                                   {VAConfigAttribRTFormat, VA_RT_FORMAT_YUV444},
                                   {VAConfigAttribEncMaxSlices, 999}};
    VAConfigID config;
    for (unsigned i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
        REPORT(vaCreateConfig, client->display, VAProfileH264Main, client->entrypoint, &attributes[i], 1, &config);
    REPORT(vaCreateConfig, client->display, VAProfileHEVCSccMain, client->entrypoint, NULL, 0, &config);
    REPORT(vaCreateConfig, client->display, VAProfileH264Main, VAEntrypointVLD, NULL, 0, &config);
}

static void unadvertised_sizes(struct client *client)
{
    VAContextID context;
    VASurfaceID surface;
    REPORT(vaCreateContext, client->display, client->config, 8192, 8192, VA_PROGRESSIVE, NULL, 0, &context);
    REPORT(vaCreateContext, client->display, client->config, 0, 0, VA_PROGRESSIVE, NULL, 0, &context);
    REPORT(vaCreateSurfaces, client->display, VA_RT_FORMAT_YUV420, 8192, 64, &surface, 1, NULL, 0);
    REPORT(vaCreateSurfaces, client->display, VA_RT_FORMAT_YUV411, 64, 64, &surface, 1, NULL, 0);
}

static void wrong_buffers(struct client *client)
{
    VABufferID buffer;
    REPORT(vaCreateBuffer, client->display, client->context, VASliceDataBufferType, 16, 1, NULL, &buffer);
    REPORT(vaCreateBuffer, client->display, client->context, VAEncMiscParameterBufferType, 0, 1, NULL, &buffer);
    REPORT(vaCreateBuffer, client->display, 77, VAEncMiscParameterBufferType, 16, 1, NULL, &buffer);
}

static void destroy_target_before_context(struct client *client)
{
    VASurfaceID targets[2];
    VAContextID context;
    REPORT(vaCreateSurfaces, client->display, VA_RT_FORMAT_YUV420, 64, 64, targets, 2, NULL, 0);
    REPORT(vaCreateContext, client->display, client->config, 64, 64, VA_PROGRESSIVE, targets, 2, &context);
    REPORT(vaDestroySurfaces, client->display, targets, 2);
    REPORT(vaDestroyContext, client->display, context);
}

/* The wait was too short. */
static void map_after_timeout(struct client *client)
{
    void *mapped;
    client_submit(client);
    REPORT(vaSyncBuffer, client->display, client->coded[0], 1000);
    REPORT(vaSyncSurface2, client->display, client->inputs[0], 0);
    REPORT(vaMapBuffer, client->display, client->coded[0], &mapped);
    REPORT(vaUnmapBuffer, client->display, client->coded[0]);
}

static void render_mapped_buffer(struct client *client)
{
    uint8_t bytes[sizeof(VAEncMiscParameterBuffer) + sizeof(VAEncMiscParameterFrameRate)] = {0};
    void *mapped;
    VABufferID buffer;
    REPORT(vaCreateBuffer, client->display, client->context, VAEncMiscParameterBufferType, sizeof(bytes), 1, bytes,
           &buffer);
    REPORT(vaMapBuffer, client->display, buffer, &mapped);
    REPORT(vaBeginPicture, client->display, client->context, client->inputs[0]);
    REPORT(vaRenderPicture, client->display, client->context, &buffer, 1);
    REPORT(vaUnmapBuffer, client->display, buffer);
    REPORT(vaDestroyBuffer, client->display, buffer);
}

static void import(struct client *client, VADRMPRIMESurfaceDescriptor descriptor)
{
    VASurfaceID surface;
    VASurfaceAttrib attributes[2] = {
        {.type = VASurfaceAttribMemoryType, .flags = VA_SURFACE_ATTRIB_SETTABLE,
         .value = {.type = VAGenericValueTypeInteger, .value.i = VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2}},
        {.type = VASurfaceAttribExternalBufferDescriptor, .flags = VA_SURFACE_ATTRIB_SETTABLE,
         .value = {.type = VAGenericValueTypePointer, .value.p = &descriptor}},
    };
    if (REPORT(vaCreateSurfaces, client->display, VA_RT_FORMAT_YUV420, 64, 64, &surface, 1, attributes, 2) ==
        VA_STATUS_SUCCESS)
        REPORT(vaDestroySurfaces, client->display, &surface, 1);
}

static void broken_imports(struct client *client)
{
    VADRMPRIMESurfaceDescriptor right, wrong;
    REPORT(vaExportSurfaceHandle, client->display, client->inputs[0], VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2,
           VA_EXPORT_SURFACE_READ_WRITE | VA_EXPORT_SURFACE_COMPOSED_LAYERS, &right);
    import(client, right);
    wrong = right, wrong.fourcc = VA_FOURCC_P010;
    import(client, wrong);
    wrong = right, wrong.height = 32;
    import(client, wrong);
    wrong = right, wrong.objects[0].drm_format_modifier = 1;
    import(client, wrong);
    wrong = right, wrong.objects[0].size *= 2;
    import(client, wrong);
    wrong = right, wrong.objects[0].fd = -1;
    import(client, wrong);
    wrong = right, wrong.layers[0].pitch[0] = 32;
    import(client, wrong);
    wrong = right, wrong.layers[0].offset[1] = wrong.objects[0].size - 64;
    import(client, wrong);
    wrong = right, wrong.layers[0].object_index[1] = 1;
    import(client, wrong);
    wrong = right, wrong.num_layers = 3;
    import(client, wrong);
    close(right.objects[0].fd);
    REPORT(vaExportSurfaceHandle, client->display, client->inputs[0], VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2,
           VA_EXPORT_SURFACE_READ_WRITE, &wrong);
}

static atomic_bool over;

/* Whoever comes second is refused, whatever it does. Ends when that has happened often enough. */
static void *begin_and_end(void *token)
{
    struct client *client = token;
    unsigned refused = 0;
    while (!atomic_load(&over)) {
        if (vaBeginPicture(client->display, client->context, client->inputs[0]) == VA_STATUS_SUCCESS)
            vaEndPicture(client->display, client->context);
        else if (++refused == 50)
            atomic_store(&over, true);
    }
    return NULL;
}

static void one_context_in_two_threads(struct client *client)
{
    pthread_t threads[2];
    for (unsigned i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, begin_and_end, client);
    for (unsigned i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    vaEndPicture(client->display, client->context);
}

/* Inputs whose samples are not those that are coded, and an image that a surface's samples do not fit. */
static void other_formats(struct client *client)
{
    static const unsigned formats[] = {VA_RT_FORMAT_YUV420_10, VA_RT_FORMAT_RGB32, VA_RT_FORMAT_YUV422};
    VAImageFormat planar = {.fourcc = VA_FOURCC_I420};
    VAImage image;
    REPORT(vaCreateImage, client->display, &planar, 64, 64, &image);
    for (unsigned i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        VASurfaceID own = client->inputs[0];
        REPORT(vaCreateSurfaces, client->display, formats[i], 64, 64, client->inputs, 1, NULL, 0);
        REPORT(vaBeginPicture, client->display, client->context, client->inputs[0]);
        client_render(client);
        REPORT(vaEndPicture, client->display, client->context);
        REPORT(vaPutImage, client->display, client->inputs[0], image.image_id, 0, 0, 64, 64, 0, 0, 64, 64);
        REPORT(vaDestroySurfaces, client->display, client->inputs, 1);
        client->inputs[0] = own;
    }
    REPORT(vaDestroyImage, client->display, image.image_id);
}

static const struct {
    const char *name;
    void (*act)(struct client *client);
} scenarios[] = {
    {"nothing-wrong", nothing_wrong},
    {"begin-inside-picture", begin_inside_picture},
    {"render-outside-picture", render_outside_picture},
    {"end-without-begin", end_without_begin},
    {"begin-invalid-surface", begin_invalid_surface},
    {"map-without-sync", map_without_sync},
    {"map-unused-coded-buffer", map_unused_coded_buffer},
    {"map-twice", map_twice},
    {"unmap-not-mapped", unmap_not_mapped},
    {"destroy-mapped-buffer", destroy_mapped_buffer},
    {"destroy-twice", destroy_twice},
    {"wrong-kind-of-id", wrong_kind_of_id},
    {"destroy-coded-buffer-in-use", destroy_coded_buffer_in_use},
    {"destroy-surface-in-use", destroy_surface_in_use},
    {"write-surface-in-use", write_surface_in_use},
    {"reuse-pending-coded-buffer", reuse_pending_coded_buffer},
    {"destroy-reference", destroy_reference},
    {"coded-buffer-too-small", coded_buffer_too_small},
    {"leave-everything", leave_everything},
    {"context-inside-picture", context_inside_picture},
    {"unadvertised-attributes", unadvertised_attributes},
    {"unadvertised-sizes", unadvertised_sizes},
    {"wrong-buffers", wrong_buffers},
    {"destroy-target-before-context", destroy_target_before_context},
    {"map-after-timeout", map_after_timeout},
    {"render-mapped-buffer", render_mapped_buffer},
    {"broken-imports", broken_imports},
    {"other-formats", other_formats},
    {"one-context-in-two-threads", one_context_in_two_threads},
};
#define SCENARIOS (sizeof(scenarios) / sizeof(scenarios[0]))

static int act(void (*scenario)(struct client *client))
{
    struct client client = {.node = -1};
    if (client_open_display(&client) != VA_STATUS_SUCCESS)
        return 1;
    if (client_open_encoder(&client, 64, 64) != VA_STATUS_SUCCESS)
        return 1;
    scenario(&client);
    if (client.context != VA_INVALID_ID)
        client_close_encoder(&client);
    return client_close_display(&client) == VA_STATUS_SUCCESS ? 0 : 1;
}

int main(int count, char **arguments)
{
    for (size_t i = 0; count == 2 && i < SCENARIOS; i++) {
        if (strcmp(arguments[1], "list") == 0)
            printf("%s\n", scenarios[i].name);
        else if (strcmp(arguments[1], scenarios[i].name) == 0)
            return act(scenarios[i].act);
    }
    return count == 2 && strcmp(arguments[1], "list") == 0 ? 0 : 2;
}
