/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fields.h"
#include "player_state.h"

#include <va/va_drmcommon.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The latest object first: drivers may use an id again. */
static struct object *object_of(const struct player *player, enum object_kind kind, uint64_t recorded)
{
    for (size_t i = player->object_count; i > 0; i--)
        if (player->objects[i - 1].kind == kind && player->objects[i - 1].recorded == recorded)
            return &player->objects[i - 1];
    return NULL;
}

static uint32_t played(const struct player *player, enum object_kind kind, uint64_t recorded)
{
    const struct object *object = object_of(player, kind, recorded);
    return object ? object->played : (uint32_t)recorded;
}

static struct object *add_object(struct player *player, enum object_kind kind, uint64_t recorded, uint32_t id)
{
    player->objects = trace_resize(player->objects, player->object_count + 1, sizeof(*player->objects));
    struct object *object = &player->objects[player->object_count++];
    *object = (struct object){.kind = kind, .recorded = (uint32_t)recorded, .played = id};
    return object;
}

void player_release(struct player *player)
{
    free(player->objects);
    player->objects = NULL;
}

/* A list of ids from in[first] on, at least one element long. */
static uint32_t *id_list(const struct player *player, enum object_kind kind, const struct trace_call *call,
                         size_t first, int *count)
{
    *count = call->in_count > first ? (int)(call->in_count - first) : 0;
    uint32_t *ids = trace_allocate((size_t)*count, sizeof(*ids));
    for (int i = 0; i < *count; i++) ids[i] = played(player, kind, call->in[first + (size_t)i]);
    return ids;
}

static VAStatus create_config(struct player *player, const struct trace_call *call, const struct trace_call *recorded)
{
    size_t count = (call->in_count - 2) / 2;
    VAConfigAttrib *attributes = trace_allocate(count, sizeof(*attributes));
    for (size_t i = 0; i < count; i++)
        attributes[i] = (VAConfigAttrib){(VAConfigAttribType)call->in[2 + 2 * i], (uint32_t)call->in[3 + 2 * i]};
    VAConfigID config = VA_INVALID_ID;
    VAStatus status = player->table->vaCreateConfig(player->driver, (VAProfile)call->in[0],
                                                    (VAEntrypoint)call->in[1], attributes, (int)count, &config);
    if (status == VA_STATUS_SUCCESS && recorded->out_count)
        add_object(player, OBJECT_CONFIG, recorded->out[0], config);
    free(attributes);
    return status;
}

static VAStatus create_surfaces(struct player *player, const struct trace_call *call,
                                const struct trace_call *recorded)
{
    bool second = call->function == TRACE_CREATE_SURFACES2;
    size_t count = (size_t)call->in[3], attribute_count = (call->in_count - 4) / 4;
    if (count > 4096) return VA_STATUS_ERROR_INVALID_PARAMETER;
    VASurfaceID *surfaces = trace_allocate(count, sizeof(*surfaces));
    VASurfaceAttrib *attributes = trace_allocate(attribute_count, sizeof(*attributes));
    for (size_t i = 0; i < attribute_count; i++) {
        const uint64_t *numbers = &call->in[4 + 4 * i];
        attributes[i].type = (VASurfaceAttribType)numbers[0];
        attributes[i].flags = (uint32_t)numbers[1];
        attributes[i].value.type = (VAGenericValueType)numbers[2];
        if (numbers[2] == VAGenericValueTypeInteger) attributes[i].value.value.i = (int)numbers[3];
    }
    VAStatus status =
        second ? player->table->vaCreateSurfaces2(player->driver, (unsigned)call->in[0], (unsigned)call->in[1],
                                                  (unsigned)call->in[2], surfaces, (unsigned)count, attributes,
                                                  (unsigned)attribute_count)
               : player->table->vaCreateSurfaces(player->driver, (int)call->in[0], (int)call->in[1],
                                                 (int)call->in[2], (int)count, surfaces);
    for (size_t i = 0; status == VA_STATUS_SUCCESS && i < count && i < recorded->out_count; i++)
        add_object(player, OBJECT_SURFACE, recorded->out[i], surfaces[i]);
    free(attributes);
    free(surfaces);
    return status;
}

static VAStatus create_context(struct player *player, const struct trace_call *call,
                               const struct trace_call *recorded)
{
    int count;
    VASurfaceID *targets = id_list(player, OBJECT_SURFACE, call, 4, &count);
    VAContextID context = VA_INVALID_ID;
    VAStatus status = player->table->vaCreateContext(player->driver, played(player, OBJECT_CONFIG, call->in[0]),
                                                     (int)call->in[1], (int)call->in[2], (int)call->in[3], targets,
                                                     count, &context);
    if (status == VA_STATUS_SUCCESS && recorded->out_count)
        add_object(player, OBJECT_CONTEXT, recorded->out[0], context);
    free(targets);
    return status;
}

/* Puts this play's ids in the place of the trace's. `bytes` holds elements of `size` bytes. */
static void translate(const struct player *player, uint32_t type, uint8_t *bytes, size_t total, size_t size)
{
    const struct field_table *table = fields_of_buffer(type, size, 0);
    if (!table || type == VAEncMiscParameterBufferType || size < table->size) return;
    for (size_t start = 0; start + table->size <= total; start += size)
        for (size_t f = 0; f < table->field_count; f++) {
            const struct field *field = &table->fields[f];
            if (field->kind != FIELD_SURFACE && field->kind != FIELD_BUFFER) continue;
            enum object_kind kind = field->kind == FIELD_SURFACE ? OBJECT_SURFACE : OBJECT_BUFFER;
            for (unsigned i = 0; i < field->count; i++)
                field->set(bytes + start, i, played(player, kind, field->get(bytes + start, i)));
        }
}

static VAStatus create_buffer(struct player *player, const struct trace_call *call, const struct trace_call *recorded)
{
    uint32_t type = (uint32_t)call->in[1], size = (uint32_t)call->in[2], elements = (uint32_t)call->in[3];
    size_t wanted = (size_t)size * elements, total = wanted > call->size ? wanted : call->size;
    uint8_t *bytes = NULL;
    if (call->data && total < (size_t)1 << 28) {
        bytes = trace_allocate(total, 1);
        memcpy(bytes, call->data, call->size);
        translate(player, type, bytes, total, size);
    }
    VABufferID id = VA_INVALID_ID;
    VAStatus status = player->table->vaCreateBuffer(player->driver, played(player, OBJECT_CONTEXT, call->in[0]),
                                                    (VABufferType)type, size, elements, bytes, &id);
    if (status == VA_STATUS_SUCCESS && recorded->out_count) {
        struct object *object = add_object(player, OBJECT_BUFFER, recorded->out[0], id);
        object->type = type;
        object->size = wanted;
        object->element_size = size;
        object->coded = type == VAEncCodedBufferType;
    }
    free(bytes);
    return status;
}

static VAStatus map_buffer(struct player *player, const struct trace_call *call, const struct trace_call *recorded)
{
    struct object *buffer = object_of(player, OBJECT_BUFFER, call->in[0]);
    void *data = NULL;
    VAStatus status = player->table->vaMapBuffer(player->driver, played(player, OBJECT_BUFFER, call->in[0]), &data);
    if (status != VA_STATUS_SUCCESS || !buffer) return status;
    buffer->mapping = data;
    if (!buffer->coded) return status;
    struct play *play = player->play;
    uint64_t digest = TRACE_DIGEST_START, size = 0;
    for (const VACodedBufferSegment *segment = data; segment; segment = segment->next) {
        digest = trace_digest(digest, segment->buf, segment->size);
        size += segment->size;
    }
    play->coded = trace_digest(play->coded, (const uint8_t *)&size, sizeof(size));
    play->coded = trace_digest(play->coded, (const uint8_t *)&digest, sizeof(digest));
    play->coded_count++;
    play->coded_equal += recorded->out_count == 2 && recorded->out[0] == size && recorded->out[1] == digest;
    return status;
}

static VAStatus unmap_buffer(struct player *player, const struct trace_call *call)
{
    struct object *buffer = object_of(player, OBJECT_BUFFER, call->in[0]);
    if (buffer && buffer->mapping && call->data && !buffer->coded) {
        size_t size = call->size < buffer->size ? call->size : buffer->size;
        uint8_t *bytes = memcpy(trace_allocate(size, 1), call->data, size);
        if (buffer->element_size) translate(player, buffer->type, bytes, size, buffer->element_size);
        memcpy(buffer->mapping, bytes, size);
        free(bytes);
    }
    if (buffer) buffer->mapping = NULL;
    return player->table->vaUnmapBuffer(player->driver, played(player, OBJECT_BUFFER, call->in[0]));
}

static void add_image(struct player *player, const struct trace_call *recorded, const VAImage *image)
{
    if (recorded->out_count < 2) return;
    add_object(player, OBJECT_IMAGE, recorded->out[0], image->image_id)->buffer = (uint32_t)recorded->out[1];
    struct object *buffer = add_object(player, OBJECT_BUFFER, recorded->out[1], image->buf);
    buffer->type = VAImageBufferType;
    buffer->size = image->data_size;
}

static VAStatus make_image(struct player *player, const struct trace_call *call, const struct trace_call *recorded)
{
    const uint64_t *in = call->in;
    VAImage image = {.image_id = VA_INVALID_ID};
    VAImageFormat format = {.fourcc = (uint32_t)in[0]};
    VAStatus status;
    if (call->function == TRACE_DERIVE_IMAGE) {
        status = player->table->vaDeriveImage(player->driver, played(player, OBJECT_SURFACE, in[0]), &image);
    } else {
        format.byte_order = (uint32_t)in[1];
        format.bits_per_pixel = (uint32_t)in[2];
        status = player->table->vaCreateImage(player->driver, &format, (int)in[3], (int)in[4], &image);
    }
    if (status == VA_STATUS_SUCCESS) add_image(player, recorded, &image);
    return status;
}

static VAStatus export_surface(struct player *player, const struct trace_call *call)
{
    VADRMPRIMESurfaceDescriptor descriptor = {0};
    VAStatus status = player->table->vaExportSurfaceHandle(player->driver, played(player, OBJECT_SURFACE, call->in[0]),
                                                           (uint32_t)call->in[1], (uint32_t)call->in[2], &descriptor);
    for (uint32_t i = 0; status == VA_STATUS_SUCCESS && i < descriptor.num_objects && i < 4; i++)
        close(descriptor.objects[i].fd);
    return status;
}

static VAStatus call_with_list(struct player *player, const struct trace_call *call)
{
    int count;
    bool render = call->function == TRACE_RENDER_PICTURE;
    uint32_t *ids = id_list(player, render ? OBJECT_BUFFER : OBJECT_SURFACE, call, render ? 1 : 0, &count);
    VAStatus status = render ? player->table->vaRenderPicture(player->driver,
                                                              played(player, OBJECT_CONTEXT, call->in[0]), ids, count)
                             : player->table->vaDestroySurfaces(player->driver, ids, count);
    free(ids);
    return status;
}

/* The functions that take images and a place. */
static VAStatus copy_image(struct player *player, const struct trace_call *call)
{
    const uint64_t *in = call->in;
    VASurfaceID surface = played(player, OBJECT_SURFACE, in[0]);
    if (call->function == TRACE_GET_IMAGE)
        return player->table->vaGetImage(player->driver, surface, (int)in[1], (int)in[2], (unsigned)in[3],
                                         (unsigned)in[4], played(player, OBJECT_IMAGE, in[5]));
    const struct object *image = object_of(player, OBJECT_IMAGE, in[1]);
    const struct object *buffer = image ? object_of(player, OBJECT_BUFFER, image->buffer) : NULL;
    if (buffer && buffer->mapping && call->data)
        memcpy(buffer->mapping, call->data, call->size < buffer->size ? call->size : buffer->size);
    return player->table->vaPutImage(player->driver, surface, played(player, OBJECT_IMAGE, in[1]), (int)in[2],
                                     (int)in[3], (unsigned)in[4], (unsigned)in[5], (int)in[6], (int)in[7],
                                     (unsigned)in[8], (unsigned)in[9]);
}

uint32_t player_call(struct player *player, const struct trace_call *call, const struct trace_call *recorded)
{
    const struct VADriverVTable *table = player->table;
    VADriverContextP driver = player->driver;
    const uint64_t *in = call->in;
    VASurfaceStatus surface_status;
    VAStatus status = VA_STATUS_ERROR_UNIMPLEMENTED;
    switch (call->function) {
    case TRACE_CREATE_CONFIG: status = create_config(player, call, recorded); break;
    case TRACE_DESTROY_CONFIG: status = table->vaDestroyConfig(driver, played(player, OBJECT_CONFIG, in[0])); break;
    case TRACE_CREATE_SURFACES:
    case TRACE_CREATE_SURFACES2: status = create_surfaces(player, call, recorded); break;
    case TRACE_RENDER_PICTURE:
    case TRACE_DESTROY_SURFACES: status = call_with_list(player, call); break;
    case TRACE_CREATE_CONTEXT: status = create_context(player, call, recorded); break;
    case TRACE_DESTROY_CONTEXT:
        status = table->vaDestroyContext(driver, played(player, OBJECT_CONTEXT, in[0]));
        break;
    case TRACE_CREATE_BUFFER: status = create_buffer(player, call, recorded); break;
    case TRACE_MAP_BUFFER: status = map_buffer(player, call, recorded); break;
    case TRACE_UNMAP_BUFFER: status = unmap_buffer(player, call); break;
    case TRACE_DESTROY_BUFFER: status = table->vaDestroyBuffer(driver, played(player, OBJECT_BUFFER, in[0])); break;
    case TRACE_BEGIN_PICTURE:
        status = table->vaBeginPicture(driver, played(player, OBJECT_CONTEXT, in[0]),
                                       played(player, OBJECT_SURFACE, in[1]));
        break;
    case TRACE_END_PICTURE: status = table->vaEndPicture(driver, played(player, OBJECT_CONTEXT, in[0])); break;
    case TRACE_SYNC_SURFACE: status = table->vaSyncSurface(driver, played(player, OBJECT_SURFACE, in[0])); break;
    case TRACE_SYNC_BUFFER:
        status = table->vaSyncBuffer(driver, played(player, OBJECT_BUFFER, in[0]), in[1]);
        break;
    case TRACE_QUERY_SURFACE_STATUS:
        status = table->vaQuerySurfaceStatus(driver, played(player, OBJECT_SURFACE, in[0]), &surface_status);
        break;
    case TRACE_CREATE_IMAGE:
    case TRACE_DERIVE_IMAGE: status = make_image(player, call, recorded); break;
    case TRACE_DESTROY_IMAGE: status = table->vaDestroyImage(driver, played(player, OBJECT_IMAGE, in[0])); break;
    case TRACE_GET_IMAGE:
    case TRACE_PUT_IMAGE: status = copy_image(player, call); break;
    case TRACE_EXPORT_SURFACE: status = export_surface(player, call); break;
    case TRACE_TERMINATE: status = table->vaTerminate(driver); break;
    case TRACE_FUNCTION_COUNT: break;
    }
    return (uint32_t)status;
}
