/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mutations_state.h"

#include "fields.h"

#include <va/va.h>
#include <va/va_enc_hevc.h>

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static struct mutation *add(struct walk *walk, struct change change, const char *format, va_list arguments)
{
    struct mutation_list *list = walk->list;
    if (list->count == list->capacity) {
        list->capacity = list->capacity * 2 + 64;
        list->items = trace_resize(list->items, list->capacity, sizeof(*list->items));
    }
    struct mutation *mutation = &list->items[list->count++];
    *mutation = (struct mutation){.changes = {change}, .change_count = 1};
    vsnprintf(mutation->name, sizeof(mutation->name), format, arguments);
    snprintf(mutation->picture, sizeof(mutation->picture), "%s", walk->picture);
    return mutation;
}

struct mutation *walk_replace(struct walk *walk, size_t call, struct trace_call replacement, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    struct mutation *mutation = add(walk, (struct change){call, CHANGE_REPLACE, replacement}, format, arguments);
    va_end(arguments);
    return mutation;
}

struct mutation *walk_change(struct walk *walk, size_t call, enum change_kind kind, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    struct mutation *mutation = add(walk, (struct change){.call = call, .kind = kind}, format, arguments);
    va_end(arguments);
    return mutation;
}

void mutations_release(struct mutation_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        for (size_t c = 0; c < list->items[i].change_count; c++)
            if (list->items[i].changes[c].kind == CHANGE_REPLACE)
                trace_call_release(&list->items[i].changes[c].replacement);
    free(list->items);
    *list = (struct mutation_list){NULL, 0, 0};
}

struct walked_buffer *walk_buffer(const struct walk *walk, uint64_t id)
{
    for (size_t i = walk->buffer_count; i > 0; i--)
        if (walk->buffers[i - 1].id == id) return &walk->buffers[i - 1];
    return NULL;
}

size_t candidates_of(uint64_t value, unsigned width, struct candidate candidates[MOST_CANDIDATES])
{
    uint64_t mask = width < 64 ? (UINT64_C(1) << width) - 1 : ~UINT64_C(0);
    const struct candidate all[] = {
        {"plus-1", (value + 1) & mask}, {"minus-1", (value - 1) & mask}, {"zero", 0},
        {"ones", mask}, {"high-bit", (value ^ (mask ^ mask >> 1)) & mask},
    };
    size_t count = 0;
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        bool known = all[i].value == (value & mask);
        for (size_t k = 0; k < count; k++) known |= candidates[k].value == all[i].value;
        if (!known) candidates[count++] = all[i];
    }
    return count;
}

/* The bytes of a buffer; NULL when there are fewer than `least`. */
static const void *bytes_of(const struct walk *walk, const struct walked_buffer *buffer, size_t least)
{
    if (!buffer || buffer->filled == NO_CALL) return NULL;
    const struct trace_call *call = &walk->trace->calls[buffer->filled];
    return call->data && call->size >= least ? call->data : NULL;
}

const char *walk_buffer_name(const struct walk *walk, const struct walked_buffer *buffer, char text[32])
{
    if (!buffer) return "unknown";
    if (buffer->type == VAEncPackedHeaderDataBufferType) return "packed.data";
    if (buffer->type == VAEncCodedBufferType) return "coded";
    const VAEncMiscParameterBuffer *misc =
        buffer->type == VAEncMiscParameterBufferType ? bytes_of(walk, buffer, sizeof(*misc)) : NULL;
    size_t size = (size_t)walk->trace->calls[buffer->created].in[2];
    const struct field_table *table = fields_of_buffer(buffer->type, size, misc ? (uint32_t)misc->type : 0);
    if (table) return table->name;
    snprintf(text, 32, misc ? "misc.%u" : "buffer-%u", misc ? (uint32_t)misc->type : buffer->type);
    return text;
}

/* Keeps the list of living buffers, and of the call that filled each, up to date. */
static void note_call(struct walk *walk, size_t index)
{
    const struct trace_call *call = &walk->trace->calls[index];
    if (call->status != VA_STATUS_SUCCESS) return;
    struct walked_buffer *buffer = call->in_count ? walk_buffer(walk, call->in[0]) : NULL;
    switch (call->function) {
    case TRACE_CREATE_BUFFER:
        walk->buffers = trace_resize(walk->buffers, walk->buffer_count + 1, sizeof(*walk->buffers));
        walk->buffers[walk->buffer_count++] = (struct walked_buffer){
            (uint32_t)call->out[0], (uint32_t)call->in[1], index, call->data ? index : NO_CALL};
        break;
    case TRACE_UNMAP_BUFFER:
        if (buffer && call->data) buffer->filled = index;
        break;
    case TRACE_DESTROY_BUFFER:
        if (buffer) *buffer = walk->buffers[--walk->buffer_count];
        break;
    case TRACE_CREATE_SURFACES:
    case TRACE_CREATE_SURFACES2:
        for (size_t i = 0; i < call->out_count; i++) {
            walk->surfaces = trace_resize(walk->surfaces, walk->surface_count + 1, sizeof(*walk->surfaces));
            walk->surfaces[walk->surface_count++] = (uint32_t)call->out[i];
        }
        break;
    default: break;
    }
}

/* What kind of picture each vaBeginPicture of the trace opens. */
struct picture {
    bool idr, reference;
    unsigned slice_type; /* modulo 5 */
    char kind[16];
    bool wanted;
};

struct pictures {
    struct picture *items;
    size_t count;
};

static void note_hevc_buffer(const struct walk *walk, struct picture *picture, const struct walked_buffer *buffer)
{
    static const unsigned types[] = {[HEVC_SLICE_B] = 1, [HEVC_SLICE_P] = 0, [HEVC_SLICE_I] = 2};
    const VAEncPictureParameterBufferHEVC *parameters = bytes_of(walk, buffer, sizeof(*parameters));
    const VAEncSliceParameterBufferHEVC *slice = bytes_of(walk, buffer, sizeof(*slice));
    if (parameters && buffer->type == VAEncPictureParameterBufferType) {
        picture->idr = parameters->pic_fields.bits.idr_pic_flag;
        picture->reference = parameters->pic_fields.bits.reference_pic_flag;
    }
    if (slice && buffer->type == VAEncSliceParameterBufferType) picture->slice_type = types[slice->slice_type % 3];
}

/* Whether the trace is of an HEVC encode. */
static bool is_hevc(const struct trace *trace)
{
    for (size_t i = 0; i < trace->count; i++) {
        const struct trace_call *call = &trace->calls[i];
        if (call->function == TRACE_CREATE_BUFFER && is_hevc_buffer((uint32_t)call->in[1], (size_t)call->in[2]))
            return true;
    }
    return false;
}

static void note_picture_buffer(const struct walk *walk, struct picture *picture, uint64_t id)
{
    const struct walked_buffer *buffer = walk_buffer(walk, id);
    if (!buffer) return;
    if (walk->hevc) {
        note_hevc_buffer(walk, picture, buffer);
        return;
    }
    const VAEncPictureParameterBufferH264 *parameters = bytes_of(walk, buffer, sizeof(*parameters));
    const VAEncSliceParameterBufferH264 *slice = bytes_of(walk, buffer, sizeof(*slice));
    if (parameters && buffer->type == VAEncPictureParameterBufferType) {
        picture->idr = parameters->pic_fields.bits.idr_pic_flag;
        picture->reference = parameters->pic_fields.bits.reference_pic_flag;
    }
    if (slice && buffer->type == VAEncSliceParameterBufferType) picture->slice_type = slice->slice_type % 5;
}

static struct pictures find_pictures(const struct trace *trace)
{
    struct pictures pictures = {NULL, 0};
    struct walk walk = {.trace = trace, .hevc = is_hevc(trace)};
    for (size_t i = 0; i < trace->count; i++) {
        const struct trace_call *call = &trace->calls[i];
        note_call(&walk, i);
        if (call->function == TRACE_BEGIN_PICTURE) {
            pictures.items = trace_resize(pictures.items, pictures.count + 1, sizeof(*pictures.items));
            pictures.items[pictures.count++] = (struct picture){.slice_type = 2};
        }
        for (size_t b = 1; pictures.count && call->function == TRACE_RENDER_PICTURE && b < call->in_count; b++)
            note_picture_buffer(&walk, &pictures.items[pictures.count - 1], call->in[b]);
    }
    free(walk.buffers);
    free(walk.surfaces);
    for (size_t i = 0; i < pictures.count; i++) {
        struct picture *picture = &pictures.items[i];
        const char *type = picture->slice_type == 0 ? "p" : picture->slice_type == 1 ? "b" : "i";
        snprintf(picture->kind, sizeof(picture->kind), "%s%s", picture->idr ? "idr" : type,
                 picture->reference && !picture->idr ? "-ref" : "");
    }
    return pictures;
}

/* The first two and the last of each kind, or all. */
static void want_pictures(struct pictures *pictures, bool all)
{
    for (size_t i = 0; i < pictures->count; i++) {
        size_t before = 0, after = 0;
        for (size_t k = 0; k < pictures->count; k++)
            if (strcmp(pictures->items[k].kind, pictures->items[i].kind) == 0) {
                before += k < i;
                after += k > i;
            }
        pictures->items[i].wanted = all || before < 2 || !after;
    }
}

static void mutate_rendered(struct walk *walk, const struct trace_call *call)
{
    for (size_t b = 1; b < call->in_count; b++) {
        const struct walked_buffer *buffer = walk_buffer(walk, call->in[b]);
        if (!buffer) continue;
        if (buffer->type == VAEncPackedHeaderDataBufferType) {
            if (walk->wanted) mutate_packed(walk, buffer);
            walk_parameter_sets(walk, buffer);
        } else if (walk->wanted && buffer->filled != NO_CALL) {
            mutate_fields(walk, buffer);
        }
        if (buffer->type == VAEncPackedHeaderParameterBufferType) {
            walk->packed = *buffer;
            walk->have_packed = true;
        }
    }
}

void mutations_make(struct mutation_list *list, const struct trace *trace, bool all_pictures)
{
    *list = (struct mutation_list){NULL, 0, 0};
    struct pictures pictures = find_pictures(trace);
    want_pictures(&pictures, all_pictures);
    struct walk walk = {.trace = trace, .list = list, .wanted = true, .picture = "setup", .hevc = is_hevc(trace)};
    size_t next = 0;
    for (size_t i = 0; i < trace->count; i++) {
        const struct trace_call *call = &trace->calls[i];
        if (call->function == TRACE_BEGIN_PICTURE) {
            const struct picture *picture = &pictures.items[next];
            snprintf(walk.picture, sizeof(walk.picture), "%zu %s", next++, picture->kind);
            walk.wanted = picture->wanted;
        }
        note_call(&walk, i);
        if (call->function == TRACE_RENDER_PICTURE) mutate_rendered(&walk, call);
        if (walk.wanted && call->status == VA_STATUS_SUCCESS) mutate_call(&walk, i);
    }
    free(pictures.items);
    free(walk.buffers);
    free(walk.surfaces);
}
