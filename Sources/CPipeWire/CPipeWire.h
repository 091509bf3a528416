// SPDX-License-Identifier: GPL-2.0-or-later
//
// PipeWire, for capture of pictures. Swift imports neither the macros that call methods of objects nor functions with
// variable arguments, so those that capture needs are functions here.

#ifndef CPIPEWIRE_H
#define CPIPEWIRE_H

#include <errno.h>
#include <fcntl.h>
#include <pipewire/pipewire.h>
#include <spa/buffer/meta.h>
#include <spa/debug/types.h>
#include <spa/param/format-utils.h>
#include <spa/param/video/format-utils.h>
#include <spa/param/video/type-info.h>
#include <spa/pod/builder.h>
#include <spa/utils/result.h>
#include <string.h>
#include <sys/stat.h>

/// The data blocks of a buffer that are supported: 4:2:0 in three planes needs most.
#define PIPEWIRE_BLOCKS 3

// Loops and objects

/// Whether the name of a type is that of nodes.
static inline int pipewire_is_node(const char *_Nonnull type) { return strcmp(type, PW_TYPE_INTERFACE_Node) == 0; }

static inline void pipewire_enter(struct pw_loop *_Nonnull loop) { pw_loop_enter(loop); }
static inline void pipewire_leave(struct pw_loop *_Nonnull loop) { pw_loop_leave(loop); }
static inline int pipewire_descriptor(struct pw_loop *_Nonnull loop) { return pw_loop_get_fd(loop); }

/// Handles what has arrived, without waiting.
static inline int pipewire_iterate(struct pw_loop *_Nonnull loop) { return pw_loop_iterate(loop, 0); }

/// Makes properties of one key.
static inline struct pw_properties *_Nullable pipewire_properties(const char *_Nonnull key, const char *_Nonnull value)
{
    return pw_properties_new(key, value, NULL);
}

static inline void pipewire_listen_core(struct pw_core *_Nonnull core, struct spa_hook *_Nonnull hook,
    const struct pw_core_events *_Nonnull events, void *_Nullable data)
{
    pw_core_add_listener(core, hook, events, data);
}

/// Asks for a `done` event.
///
/// @return The number of the event, or minus errno.
static inline int pipewire_sync(struct pw_core *_Nonnull core) { return pw_core_sync(core, PW_ID_CORE, 0); }

/// Asks for the objects of the server.
static inline struct pw_registry *_Nullable pipewire_registry(struct pw_core *_Nonnull core,
    struct spa_hook *_Nonnull hook, const struct pw_registry_events *_Nonnull events, void *_Nullable data)
{
    struct pw_registry *registry = pw_core_get_registry(core, PW_VERSION_REGISTRY, 0);
    if (registry != NULL)
        pw_registry_add_listener(registry, hook, events, data);
    return registry;
}

static inline void pipewire_remove_hook(struct spa_hook *_Nonnull hook) { spa_hook_remove(hook); }

/// Links a stream that receives with a node (pw_stream_connect), once the session manager does so; it is not linked
/// with another node later.
///
/// @return 0, or minus errno.
static inline int pipewire_receive(struct pw_stream *_Nonnull stream, uint32_t node,
    const struct spa_pod *_Nullable *_Nullable parameters, uint32_t count)
{
    enum pw_stream_flags flags = PW_STREAM_FLAG_AUTOCONNECT | PW_STREAM_FLAG_DONT_RECONNECT;
    int status = pw_stream_connect(stream, PW_DIRECTION_INPUT, node, flags, parameters, count);
    return status < 0 ? status : 0;
}

/// Asks a node for the formats that it offers (SPA_PARAM_EnumFormat): `param` events, before a later `done` of the
/// core.
///
/// @return The proxy of the node, to be destroyed by pw_proxy_destroy; NULL without memory.
static inline struct pw_proxy *_Nullable pipewire_ask_for_formats(struct pw_registry *_Nonnull registry, uint32_t node,
    struct spa_hook *_Nonnull hook, const struct pw_node_events *_Nonnull events, void *_Nullable data)
{
    struct pw_node *proxy
        = (struct pw_node *)pw_registry_bind(registry, node, PW_TYPE_INTERFACE_Node, PW_VERSION_NODE, 0);
    if (proxy == NULL)
        return NULL;
    pw_node_add_listener(proxy, hook, events, data);
    pw_node_enum_params(proxy, 0, SPA_PARAM_EnumFormat, 0, UINT32_MAX, NULL);
    return (struct pw_proxy *)proxy;
}

// Parameters

/// What a stream asks for.
struct pipewire_wish {
    /// The size; all sizes if it is 0.
    uint32_t width, height;
    /// The frame rate; all rates if the denominator is 0.
    uint32_t rate, rate_unit;
    /// The largest width and height.
    uint32_t largest;
};

/// Builds an offer of one pixel format (SPA_PARAM_EnumFormat).
///
/// @param format SPA_VIDEO_FORMAT_*.
/// @param modifiers DRM format modifiers of DMA-BUFs; memory that is mapped if there are none.
/// @return The offer in the memory, or NULL if that is too small.
static inline const struct spa_pod *_Nullable pipewire_offer(void *_Nonnull memory, uint32_t size, uint32_t format,
    struct pipewire_wish wish, const uint64_t *_Nullable modifiers, uint32_t modifier_count)
{
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(memory, size);
    struct spa_pod_frame object, choice;
    struct spa_rectangle wanted = SPA_RECTANGLE(wish.width, wish.height), least = SPA_RECTANGLE(1, 1);
    struct spa_rectangle most = SPA_RECTANGLE(wish.largest, wish.largest), usual = SPA_RECTANGLE(1920, 1080);
    struct spa_fraction rate = SPA_FRACTION(wish.rate, wish.rate_unit), variable = SPA_FRACTION(0, 1);
    struct spa_fraction highest = SPA_FRACTION(1000, 1), normal = SPA_FRACTION(60, 1);

    spa_pod_builder_push_object(&builder, &object, SPA_TYPE_OBJECT_Format, SPA_PARAM_EnumFormat);
    spa_pod_builder_add(&builder, SPA_FORMAT_mediaType, SPA_POD_Id(SPA_MEDIA_TYPE_video), SPA_FORMAT_mediaSubtype,
        SPA_POD_Id(SPA_MEDIA_SUBTYPE_raw), SPA_FORMAT_VIDEO_format, SPA_POD_Id(format), 0);
    if (modifier_count > 0) {
        uint32_t flags = SPA_POD_PROP_FLAG_MANDATORY | SPA_POD_PROP_FLAG_DONT_FIXATE;
        spa_pod_builder_prop(&builder, SPA_FORMAT_VIDEO_modifier, flags);
        spa_pod_builder_push_choice(&builder, &choice, SPA_CHOICE_Enum, 0);
        // The first value of a choice is the default, and is repeated.
        spa_pod_builder_long(&builder, (int64_t)modifiers[0]);
        for (uint32_t index = 0; index < modifier_count; index++)
            spa_pod_builder_long(&builder, (int64_t)modifiers[index]);
        spa_pod_builder_pop(&builder, &choice);
    }
    if (wish.width > 0 && wish.height > 0)
        spa_pod_builder_add(&builder, SPA_FORMAT_VIDEO_size, SPA_POD_Rectangle(&wanted), 0);
    else
        spa_pod_builder_add(
            &builder, SPA_FORMAT_VIDEO_size, SPA_POD_CHOICE_RANGE_Rectangle(&usual, &least, &most), 0);
    // A rate of 0 is a variable one, with a limit of its own.
    if (wish.rate_unit > 0)
        spa_pod_builder_add(&builder, SPA_FORMAT_VIDEO_framerate,
            SPA_POD_CHOICE_RANGE_Fraction(&rate, &variable, &rate), SPA_FORMAT_VIDEO_maxFramerate,
            SPA_POD_CHOICE_RANGE_Fraction(&rate, &variable, &rate), 0);
    else
        spa_pod_builder_add(&builder, SPA_FORMAT_VIDEO_framerate,
            SPA_POD_CHOICE_RANGE_Fraction(&normal, &variable, &highest), 0);
    const struct spa_pod *pod = (const struct spa_pod *)spa_pod_builder_pop(&builder, &object);
    return builder.state.offset > size ? NULL : pod;
}

/// Builds what a stream needs of its buffers (SPA_PARAM_Buffers).
///
/// @param types A bit 1 << SPA_DATA_* for each type of memory.
static inline const struct spa_pod *_Nullable pipewire_buffers(
    void *_Nonnull memory, uint32_t size, int wanted, int least, int most, int types)
{
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(memory, size);
    return (const struct spa_pod *)spa_pod_builder_add_object(&builder, SPA_TYPE_OBJECT_ParamBuffers,
        SPA_PARAM_Buffers, SPA_PARAM_BUFFERS_buffers, SPA_POD_CHOICE_RANGE_Int(wanted, least, most),
        SPA_PARAM_BUFFERS_dataType, SPA_POD_CHOICE_FLAGS_Int(types));
}

/// Builds a request for metadata of buffers (SPA_PARAM_Meta).
///
/// @param type SPA_META_*.
static inline const struct spa_pod *_Nullable pipewire_meta(
    void *_Nonnull memory, uint32_t size, uint32_t type, int meta_size)
{
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(memory, size);
    return (const struct spa_pod *)spa_pod_builder_add_object(&builder, SPA_TYPE_OBJECT_ParamMeta, SPA_PARAM_Meta,
        SPA_PARAM_META_type, SPA_POD_Id(type), SPA_PARAM_META_size, SPA_POD_Int(meta_size));
}

/// Reads a format (SPA_PARAM_Format).
///
/// @return 0; -ENOTSUP for anything but raw pictures, or another error.
static inline int pipewire_parse(const struct spa_pod *_Nonnull pod, struct spa_video_info_raw *_Nonnull info)
{
    uint32_t type = 0, subtype = 0;
    memset(info, 0, sizeof *info);
    int status = spa_format_parse(pod, &type, &subtype);
    if (status < 0)
        return status;
    if (type != SPA_MEDIA_TYPE_video || subtype != SPA_MEDIA_SUBTYPE_raw)
        return -ENOTSUP;
    status = spa_format_video_raw_parse(pod, info);
    return status < 0 ? status : 0;
}

/// Formats that a node offers.
struct pipewire_formats {
    /// SPA_MEDIA_SUBTYPE_*.
    uint32_t subtype;
    /// SPA_VIDEO_FORMAT_*, for raw pictures.
    uint32_t count, formats[32];
    /// Whether they are in DMA-BUFs only.
    int needs_modifier;
};

/// Reads formats (SPA_PARAM_EnumFormat).
static inline void pipewire_parse_offer(const struct spa_pod *_Nonnull pod, struct pipewire_formats *_Nonnull formats)
{
    uint32_t type = 0, count = 0, choice = 0;
    memset(formats, 0, sizeof *formats);
    spa_format_parse(pod, &type, &formats->subtype);
    const struct spa_pod_prop *modifier = spa_pod_find_prop(pod, NULL, SPA_FORMAT_VIDEO_modifier);
    formats->needs_modifier = modifier != NULL && (modifier->flags & SPA_POD_PROP_FLAG_MANDATORY) != 0;
    const struct spa_pod_prop *format = spa_pod_find_prop(pod, NULL, SPA_FORMAT_VIDEO_format);
    if (format == NULL)
        return;
    const struct spa_pod *values = spa_pod_get_values(&format->value, &count, &choice);
    if (values->type != SPA_TYPE_Id || values->size != sizeof(uint32_t))
        return;
    const uint32_t *codes = (const uint32_t *)SPA_POD_BODY_CONST(values);
    for (uint32_t index = 0; index < count && index < 32; index++)
        formats->formats[formats->count++] = codes[index];
}

/// The name of a kind of pictures, such as mjpg.
static inline const char *_Nonnull pipewire_subtype_name(uint32_t subtype)
{
    const char *name = spa_debug_type_find_short_name(spa_type_media_subtype, subtype);
    return name != NULL ? name : "unknown";
}

/// The name of a pixel format, such as BGRx.
static inline const char *_Nonnull pipewire_format_name(uint32_t format)
{
    const char *name = spa_debug_type_find_short_name(spa_type_video_format, format);
    return name != NULL ? name : "unknown";
}

// Buffers

/// Whether nobody can shorten the file of a descriptor, which would end a process that has it mapped: a memory file
/// whose size is sealed, or a device.
static inline int pipewire_is_lasting(int descriptor)
{
    struct stat status;
    if (fstat(descriptor, &status) == 0 && !S_ISREG(status.st_mode))
        return 1;
    // F_GET_SEALS and F_SEAL_SHRINK of <linux/fcntl.h>, which <fcntl.h> has for _GNU_SOURCE only.
    int seals = fcntl(descriptor, 1034);
    return seals >= 0 && (seals & 2) != 0;
}

/// The size of a file, or -1 for a device.
static inline int64_t pipewire_file_size(int descriptor)
{
    struct stat status;
    return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) ? (int64_t)status.st_size : -1;
}

/// Whether two descriptors are those of one file. From Linux 5.3 on, each DMA-BUF has an inode of its own.
static inline int pipewire_is_same(int one, int other)
{
    struct stat first, second;
    return fstat(one, &first) == 0 && fstat(other, &second) == 0 && first.st_dev == second.st_dev
        && first.st_ino == second.st_ino;
}

/// A data block of a buffer.
struct pipewire_block {
    /// SPA_DATA_*.
    uint32_t type;
    int descriptor;
    /// Where the block begins in the memory of the descriptor, and its size.
    uint32_t map_offset, byte_count;
    /// The address, for SPA_DATA_MemPtr only.
    void *_Nullable address;
    /// What is in it: the offset in the block, the size, the length of a row; SPA_CHUNK_FLAG_*.
    uint32_t offset, filled;
    int32_t bytes_per_row;
    uint32_t flags;
};

/// A buffer as it is at present.
struct pipewire_picture {
    uint32_t block_count;
    struct pipewire_block blocks[PIPEWIRE_BLOCKS];
    /// Whether there is a header, and its contents: SPA_META_HEADER_FLAG_*, nanoseconds, a number that counts up.
    int has_header;
    uint32_t header_flags;
    int64_t time;
    uint64_t sequence;
    /// The part of the picture that is valid; a width of 0 for all of it.
    int32_t crop_x, crop_y;
    uint32_t crop_width, crop_height;
    /// SPA_META_TRANSFORMATION_*.
    uint32_t transform;
};

static inline void pipewire_describe(const struct pw_buffer *_Nonnull buffer, struct pipewire_picture *_Nonnull picture)
{
    struct spa_buffer *contents = buffer->buffer;
    memset(picture, 0, sizeof *picture);
    picture->block_count = contents->n_datas;
    for (uint32_t index = 0; index < contents->n_datas && index < PIPEWIRE_BLOCKS; index++) {
        const struct spa_data *data = &contents->datas[index];
        struct pipewire_block *block = &picture->blocks[index];
        block->type = data->type;
        block->descriptor = (int)data->fd;
        block->map_offset = data->mapoffset;
        block->byte_count = data->maxsize;
        block->address = data->type == SPA_DATA_MemPtr ? data->data : NULL;
        // Of a DMA-BUF, the offset of the plane is stated here, and often no size.
        int wraps = data->type != SPA_DATA_DmaBuf && data->maxsize > 0;
        block->offset = wraps ? data->chunk->offset % data->maxsize : data->chunk->offset;
        block->filled = data->chunk->size;
        block->bytes_per_row = data->chunk->stride;
        block->flags = (uint32_t)data->chunk->flags;
    }
    const struct spa_meta_header *header = (const struct spa_meta_header *)spa_buffer_find_meta_data(
        contents, SPA_META_Header, sizeof *header);
    if (header != NULL) {
        picture->has_header = 1;
        picture->header_flags = header->flags;
        picture->time = header->pts;
        picture->sequence = header->seq;
    }
    const struct spa_meta_region *crop = (const struct spa_meta_region *)spa_buffer_find_meta_data(
        contents, SPA_META_VideoCrop, sizeof *crop);
    if (crop != NULL && spa_meta_region_is_valid(crop)) {
        picture->crop_x = crop->region.position.x;
        picture->crop_y = crop->region.position.y;
        picture->crop_width = crop->region.size.width;
        picture->crop_height = crop->region.size.height;
    }
    const struct spa_meta_videotransform *transform = (const struct spa_meta_videotransform *)spa_buffer_find_meta_data(
        contents, SPA_META_VideoTransform, sizeof *transform);
    if (transform != NULL)
        picture->transform = transform->transform;
}

#endif
