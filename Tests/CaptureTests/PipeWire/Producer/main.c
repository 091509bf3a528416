// SPDX-License-Identifier: GPL-2.0-or-later
//
// A source of pictures for the tests of PipeWireStream: a node with a moving pattern. Byte x of row y of plane p of
// picture n is (3x + 5y + 17p + 7n) mod 256, and all pictures are numbered in their headers.
//
// Usage: PipeWireProducer KEY=VALUE..., with
//   remote=PATH name=NAME class=MEDIA-CLASS format=BGRx|BGRA|NV12|YUY2|I420|RGBx size=WxH rate=N
//   memory=shared|sealed|unsealed|dmabuf   who allocates: the server, or this program as memory files or "DMA-BUFs"
//   modifiers=N,N,...                      for DMA-BUFs; the last one is chosen
//   also=sealed                            offers memory files besides DMA-BUFs
//   picture=number                         instead of the pattern: black, with the number of the picture in 16 squares from
//                                          the upper left corner, white for a bit that is set, the highest bit first
//   tell=times                             prints "picture NUMBER NANOSECONDS" for each
//   padding=N                              bytes at the end of rows
//   crop=WxH+X+Y transform=N               metadata
//   time=monotonic|zero|none               times of the headers; none: no headers
//   lose=N corrupt=N empty=N               every Nth picture is left out, marked as corrupt, or has no bytes
//   resize=N:WxH                           another size from picture N on
//   frames=N                               ends after N pictures
// It prints "node ID" when the node exists, "format NAME MEMORY" for each format, and ends with its input.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pipewire/pipewire.h>
#include <spa/debug/types.h>
#include <spa/param/format-utils.h>
#include <spa/param/video/format-utils.h>
#include <spa/param/video/type-info.h>
#include <spa/pod/builder.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct producer {
    struct pw_main_loop *loop;
    struct pw_stream *stream;
    struct spa_source *timer;
    const char *memory, *time, *modifiers;
    bool has_other_memory, is_numbered, tells_times;
    uint32_t format;
    int width, height, rate, padding, transform, lose, corrupt, empty, frames, resize_at, resize_width, resize_height;
    struct spa_region crop;
    uint64_t number;
    bool is_named;
};

static const char *format_name(uint32_t format)
{
    const char *name = spa_debug_type_find_short_name(spa_type_video_format, format);
    return name != NULL ? name : "unknown";
}

static const struct spa_pod *metadata(void *memory, uint32_t type, size_t size)
{
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(memory, 1024);
    return spa_pod_builder_add_object(&builder, SPA_TYPE_OBJECT_ParamMeta, SPA_PARAM_Meta, SPA_PARAM_META_type,
        SPA_POD_Id(type), SPA_PARAM_META_size, SPA_POD_Int((int)size));
}

static int plane_count(uint32_t format)
{
    return format == SPA_VIDEO_FORMAT_NV12 ? 2 : format == SPA_VIDEO_FORMAT_I420 ? 3 : 1;
}

static int row_bytes(const struct producer *self, int plane)
{
    switch (self->format) {
    case SPA_VIDEO_FORMAT_NV12: return self->width;
    case SPA_VIDEO_FORMAT_I420: return plane == 0 ? self->width : self->width / 2;
    case SPA_VIDEO_FORMAT_YUY2: return self->width * 2;
    default: return self->width * 4;
    }
}

static int bytes_per_row(const struct producer *self, int plane)
{
    int padding = self->format == SPA_VIDEO_FORMAT_I420 && plane > 0 ? self->padding / 2 : self->padding;
    return row_bytes(self, plane) + padding;
}

static int rows(const struct producer *self, int plane) { return plane == 0 ? self->height : self->height / 2; }

static int picture_bytes(const struct producer *self)
{
    int count = 0;
    for (int plane = 0; plane < plane_count(self->format); plane++)
        count += bytes_per_row(self, plane) * rows(self, plane);
    return count;
}

static bool allocates(const struct producer *self) { return strcmp(self->memory, "shared") != 0; }
static bool is_dma_buf(const struct producer *self) { return strcmp(self->memory, "dmabuf") == 0; }

static const struct spa_pod *offer(
    struct producer *self, void *memory, uint32_t size, bool has_modifiers, int64_t fixed)
{
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(memory, size);
    struct spa_pod_frame object, choice;
    struct spa_rectangle rectangle = SPA_RECTANGLE((uint32_t)self->width, (uint32_t)self->height);
    struct spa_fraction rate = SPA_FRACTION((uint32_t)self->rate, 1);
    spa_pod_builder_push_object(&builder, &object, SPA_TYPE_OBJECT_Format, SPA_PARAM_EnumFormat);
    spa_pod_builder_add(&builder, SPA_FORMAT_mediaType, SPA_POD_Id(SPA_MEDIA_TYPE_video), SPA_FORMAT_mediaSubtype,
        SPA_POD_Id(SPA_MEDIA_SUBTYPE_raw), SPA_FORMAT_VIDEO_format, SPA_POD_Id(self->format), 0);
    if (has_modifiers && fixed >= 0) {
        spa_pod_builder_prop(&builder, SPA_FORMAT_VIDEO_modifier, SPA_POD_PROP_FLAG_MANDATORY);
        spa_pod_builder_long(&builder, fixed);
    } else if (has_modifiers) {
        spa_pod_builder_prop(
            &builder, SPA_FORMAT_VIDEO_modifier, SPA_POD_PROP_FLAG_MANDATORY | SPA_POD_PROP_FLAG_DONT_FIXATE);
        spa_pod_builder_push_choice(&builder, &choice, SPA_CHOICE_Enum, 0);
        const char *text = self->modifiers;
        spa_pod_builder_long(&builder, strtoll(text, NULL, 0));
        while (text != NULL) {
            spa_pod_builder_long(&builder, strtoll(text, NULL, 0));
            text = strchr(text, ',');
            text = text == NULL ? NULL : text + 1;
        }
        spa_pod_builder_pop(&builder, &choice);
    }
    spa_pod_builder_add(&builder, SPA_FORMAT_VIDEO_size, SPA_POD_Rectangle(&rectangle), SPA_FORMAT_VIDEO_framerate,
        SPA_POD_Fraction(&rate), 0);
    return spa_pod_builder_pop(&builder, &object);
}

static uint32_t offers(struct producer *self, uint8_t (*memory)[1024], const struct spa_pod **parameters)
{
    uint32_t count = 0;
    if (self->modifiers != NULL) {
        parameters[count] = offer(self, memory[count], 1024, true, -1);
        count++;
    }
    if (!is_dma_buf(self) || self->modifiers == NULL || self->has_other_memory) {
        parameters[count] = offer(self, memory[count], 1024, false, -1);
        count++;
    }
    return count;
}

static void on_timer(void *data, uint64_t expirations)
{
    struct producer *self = data;
    (void)expirations;
    pw_stream_trigger_process(self->stream);
}

static void set_timer(struct producer *self, bool is_on)
{
    struct timespec first = {.tv_nsec = 1}, period = {.tv_nsec = 1000000000L / self->rate};
    struct timespec none = {0};
    struct pw_loop *loop = pw_main_loop_get_loop(self->loop);
    pw_loop_update_timer(loop, self->timer, is_on ? &first : &none, is_on ? &period : &none, false);
}

static void on_state(void *data, enum pw_stream_state old, enum pw_stream_state state, const char *error)
{
    struct producer *self = data;
    (void)old;
    if (state == PW_STREAM_STATE_PAUSED && !self->is_named) {
        self->is_named = true;
        printf("node %u\n", pw_stream_get_node_id(self->stream));
    }
    if (state == PW_STREAM_STATE_ERROR)
        printf("error %s\n", error);
    set_timer(self, state == PW_STREAM_STATE_STREAMING);
    if (state == PW_STREAM_STATE_UNCONNECTED)
        pw_main_loop_quit(self->loop);
}

static void on_format(void *data, uint32_t id, const struct spa_pod *parameter)
{
    struct producer *self = data;
    struct spa_video_info_raw info;
    uint8_t memory[4][1024];
    const struct spa_pod *parameters[4];
    memset(&info, 0, sizeof info);
    if (parameter == NULL || id != SPA_PARAM_Format || spa_format_video_raw_parse(parameter, &info) < 0)
        return;
    bool uses_dma_buf = (info.flags & SPA_VIDEO_FLAG_MODIFIER) != 0;
    const struct spa_pod_prop *modifier = spa_pod_find_prop(parameter, NULL, SPA_FORMAT_VIDEO_modifier);
    if (modifier != NULL && (modifier->flags & SPA_POD_PROP_FLAG_DONT_FIXATE) != 0) {
        const char *comma = strrchr(self->modifiers, ',');
        int64_t last = strtoll(comma == NULL ? self->modifiers : comma + 1, NULL, 0);
        parameters[0] = offer(self, memory[0], 1024, true, last);
        uint32_t count = 1 + offers(self, memory + 1, parameters + 1);
        pw_stream_update_params(self->stream, parameters, count);
        return;
    }
    printf("format %s %s\n", format_name(info.format), uses_dma_buf ? "dmabuf" : "memory");
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(memory[0], 1024);
    int type = 1 << SPA_DATA_MemFd;
    if (uses_dma_buf)
        type = 1 << SPA_DATA_DmaBuf;
    else if (!allocates(self))
        type |= 1 << SPA_DATA_MemPtr;
    parameters[0] = spa_pod_builder_add_object(&builder, SPA_TYPE_OBJECT_ParamBuffers, SPA_PARAM_Buffers,
        SPA_PARAM_BUFFERS_buffers, SPA_POD_CHOICE_RANGE_Int(8, 2, 16), SPA_PARAM_BUFFERS_blocks, SPA_POD_Int(1),
        SPA_PARAM_BUFFERS_size, SPA_POD_Int(picture_bytes(self)), SPA_PARAM_BUFFERS_stride,
        SPA_POD_Int(bytes_per_row(self, 0)), SPA_PARAM_BUFFERS_dataType, SPA_POD_CHOICE_FLAGS_Int(type));
    parameters[1] = metadata(memory[1], SPA_META_VideoCrop, sizeof(struct spa_meta_region));
    parameters[2] = metadata(memory[2], SPA_META_VideoTransform, sizeof(struct spa_meta_videotransform));
    parameters[3] = metadata(memory[3], SPA_META_Header, sizeof(struct spa_meta_header));
    pw_stream_update_params(self->stream, parameters, strcmp(self->time, "none") == 0 ? 3 : 4);
}

static void on_add(void *data, struct pw_buffer *buffer)
{
    struct producer *self = data;
    struct spa_data *block = &buffer->buffer->datas[0];
    if (!allocates(self))
        return;
    int bytes = picture_bytes(self);
    bool is_sealed = strcmp(self->memory, "unsealed") != 0;
    block->type = (block->type & (1 << SPA_DATA_DmaBuf)) != 0 ? SPA_DATA_DmaBuf : SPA_DATA_MemFd;
    block->flags = SPA_DATA_FLAG_READWRITE;
    block->fd = memfd_create("picture", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    block->mapoffset = 0;
    block->maxsize = (uint32_t)bytes;
    if (ftruncate((int)block->fd, bytes) < 0)
        abort();
    if (is_sealed)
        fcntl((int)block->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    block->data = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, (int)block->fd, 0);
}

static void on_remove(void *data, struct pw_buffer *buffer)
{
    struct producer *self = data;
    struct spa_data *block = &buffer->buffer->datas[0];
    if (!allocates(self))
        return;
    munmap(block->data, block->maxsize);
    close((int)block->fd);
}

static bool is_every(const struct producer *self, int period)
{
    return period > 0 && self->number % (uint64_t)period == (uint64_t)period - 1;
}

#define SQUARE 32

static void draw_number(const struct producer *self, uint8_t *bytes)
{
    for (int bit = 0; bit < 16; bit++) {
        for (int y = 0; y < SQUARE; y++)
            memset(bytes + y * bytes_per_row(self, 0) + bit * SQUARE * 4, self->number >> (15 - bit) & 1 ? 255 : 0,
                SQUARE * 4);
    }
}

static void draw(const struct producer *self, uint8_t *bytes)
{
    if (self->is_numbered) {
        draw_number(self, bytes);
        return;
    }
    for (int plane = 0; plane < plane_count(self->format); plane++) {
        for (int y = 0; y < rows(self, plane); y++) {
            for (int x = 0; x < row_bytes(self, plane); x++)
                bytes[x] = (uint8_t)(3 * x + 5 * y + 17 * plane + 7 * (int)self->number);
            bytes += bytes_per_row(self, plane);
        }
    }
}

static void on_process(void *data)
{
    struct producer *self = data;
    struct pw_buffer *buffer = NULL;
    self->number++;
    if (self->frames > 0 && self->number > (uint64_t)self->frames) {
        pw_main_loop_quit(self->loop);
        return;
    }
    if (self->resize_at > 0 && self->number == (uint64_t)self->resize_at) {
        uint8_t memory[4][1024];
        const struct spa_pod *parameters[4];
        self->width = self->resize_width;
        self->height = self->resize_height;
        pw_stream_update_params(self->stream, parameters, offers(self, memory, parameters));
        return;
    }
    if (is_every(self, self->lose) || (buffer = pw_stream_dequeue_buffer(self->stream)) == NULL)
        return;
    struct spa_buffer *contents = buffer->buffer;
    struct spa_data *block = &contents->datas[0];
    if (block->data == NULL || block->maxsize < (uint32_t)picture_bytes(self)) {
        pw_stream_queue_buffer(self->stream, buffer);
        return;
    }
    bool is_empty = is_every(self, self->empty), is_corrupt = is_every(self, self->corrupt);
    if (!is_empty)
        draw(self, block->data);
    block->chunk->offset = 0;
    block->chunk->size = is_empty ? 0 : (uint32_t)picture_bytes(self);
    block->chunk->stride = bytes_per_row(self, 0);
    block->chunk->flags = is_corrupt ? SPA_CHUNK_FLAG_CORRUPTED : 0;
    struct spa_meta_header *header = spa_buffer_find_meta_data(contents, SPA_META_Header, sizeof *header);
    if (header != NULL) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        bool is_monotonic = strcmp(self->time, "monotonic") == 0;
        header->pts = is_monotonic ? SPA_TIMESPEC_TO_NSEC(&now) : (int64_t)self->number * 1000000;
        header->flags = 0;
        header->seq = self->number;
        if (self->tells_times)
            printf("picture %llu %lld\n", (unsigned long long)self->number, (long long)header->pts);
    }
    struct spa_meta_region *crop = spa_buffer_find_meta_data(contents, SPA_META_VideoCrop, sizeof *crop);
    if (crop != NULL)
        crop->region = self->crop;
    struct spa_meta_videotransform *transform
        = spa_buffer_find_meta_data(contents, SPA_META_VideoTransform, sizeof *transform);
    if (transform != NULL)
        transform->transform = (uint32_t)self->transform;
    pw_stream_queue_buffer(self->stream, buffer);
}

static const struct pw_stream_events events = {
    PW_VERSION_STREAM_EVENTS,
    .state_changed = on_state,
    .param_changed = on_format,
    .add_buffer = on_add,
    .remove_buffer = on_remove,
    .process = on_process,
};

static void on_input(void *data, int descriptor, uint32_t mask)
{
    struct producer *self = data;
    char byte;
    (void)mask;
    if (read(descriptor, &byte, 1) <= 0)
        pw_main_loop_quit(self->loop);
}

static uint32_t format_named(const char *name)
{
    uint32_t all[] = {SPA_VIDEO_FORMAT_BGRx, SPA_VIDEO_FORMAT_BGRA, SPA_VIDEO_FORMAT_NV12, SPA_VIDEO_FORMAT_YUY2,
        SPA_VIDEO_FORMAT_I420, SPA_VIDEO_FORMAT_RGBx};
    for (size_t index = 0; index < sizeof all / sizeof *all; index++) {
        if (strcmp(format_name(all[index]), name) == 0)
            return all[index];
    }
    return SPA_VIDEO_FORMAT_UNKNOWN;
}

int main(int count, char **arguments)
{
    struct producer self = {.memory = "shared", .time = "monotonic", .format = SPA_VIDEO_FORMAT_BGRx, .width = 64,
        .height = 48, .rate = 50};
    const char *remote = NULL, *name = "producer", *class = "Video/Source";
    for (int index = 1; index < count; index++) {
        char *value = strchr(arguments[index], '=');
        if (value == NULL)
            return 2;
        *value++ = 0;
        const char *key = arguments[index];
        if (strcmp(key, "remote") == 0) remote = value;
        else if (strcmp(key, "name") == 0) name = value;
        else if (strcmp(key, "class") == 0) class = value;
        else if (strcmp(key, "format") == 0) self.format = format_named(value);
        else if (strcmp(key, "size") == 0) sscanf(value, "%dx%d", &self.width, &self.height);
        else if (strcmp(key, "rate") == 0) self.rate = atoi(value);
        else if (strcmp(key, "memory") == 0) self.memory = value;
        else if (strcmp(key, "modifiers") == 0) self.modifiers = value;
        else if (strcmp(key, "also") == 0) self.has_other_memory = strcmp(value, "sealed") == 0;
        else if (strcmp(key, "picture") == 0) self.is_numbered = strcmp(value, "number") == 0;
        else if (strcmp(key, "tell") == 0) self.tells_times = strcmp(value, "times") == 0;
        else if (strcmp(key, "padding") == 0) self.padding = atoi(value);
        else if (strcmp(key, "crop") == 0)
            sscanf(value, "%ux%u+%d+%d", &self.crop.size.width, &self.crop.size.height, &self.crop.position.x,
                &self.crop.position.y);
        else if (strcmp(key, "transform") == 0) self.transform = atoi(value);
        else if (strcmp(key, "time") == 0) self.time = value;
        else if (strcmp(key, "lose") == 0) self.lose = atoi(value);
        else if (strcmp(key, "corrupt") == 0) self.corrupt = atoi(value);
        else if (strcmp(key, "empty") == 0) self.empty = atoi(value);
        else if (strcmp(key, "resize") == 0)
            sscanf(value, "%d:%dx%d", &self.resize_at, &self.resize_width, &self.resize_height);
        else if (strcmp(key, "frames") == 0) self.frames = atoi(value);
        else return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    pw_init(NULL, NULL);
    self.loop = pw_main_loop_new(NULL);
    struct pw_loop *loop = pw_main_loop_get_loop(self.loop);
    self.timer = pw_loop_add_timer(loop, on_timer, &self);
    pw_loop_add_io(loop, STDIN_FILENO, SPA_IO_IN | SPA_IO_HUP, false, on_input, &self);
    struct pw_properties *properties = pw_properties_new(PW_KEY_MEDIA_CLASS, class, PW_KEY_NODE_NAME, name,
        PW_KEY_NODE_DESCRIPTION, "Moving pattern", PW_KEY_REMOTE_NAME, remote, NULL);
    self.stream = pw_stream_new_simple(loop, "pattern", properties, &events, &self);
    uint8_t memory[4][1024];
    const struct spa_pod *parameters[4];
    uint32_t offered = offers(&self, memory, parameters);
    enum pw_stream_flags flags = PW_STREAM_FLAG_DRIVER
        | (allocates(&self) ? PW_STREAM_FLAG_ALLOC_BUFFERS : PW_STREAM_FLAG_MAP_BUFFERS);
    if (self.stream == NULL
        || pw_stream_connect(self.stream, PW_DIRECTION_OUTPUT, PW_ID_ANY, flags, parameters, offered) < 0) {
        fprintf(stderr, "no stream: %s\n", strerror(errno));
        return 1;
    }
    pw_main_loop_run(self.loop);
    pw_stream_destroy(self.stream);
    pw_main_loop_destroy(self.loop);
    return 0;
}
