// SPDX-License-Identifier: GPL-2.0-or-later
//
// The requests of Video4Linux2 that capture needs. Swift imports neither their numbers nor unions with pointers, so
// each request is a function here, with a structure that has the fields for single-planar and multi-planar capture
// alike. Each of them repeats a call that a signal has interrupted, and returns 0, or minus errno.
//
// Beside them are calls whose constants Swift imports with types that depend on what else a module imports.

#ifndef CVIDEO4LINUX_H
#define CVIDEO4LINUX_H

#include <errno.h>
#include <linux/videodev2.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>

/// The memory planes of a picture that are supported: 4:2:0 in three planes needs most.
#define VIDEO_PLANES 3

/// eventfd(2), close-on-exec and without blocking; -1 with errno.
static inline int video_event(void)
{
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

/// Makes an event readable.
static inline void video_event_signal(int event)
{
    eventfd_write(event, 1);
}

/// Makes an event unreadable.
static inline void video_event_clear(int event)
{
    eventfd_t value;
    eventfd_read(event, &value);
}

/// inotify_init1(2), close-on-exec and without blocking; -1 with errno.
static inline int video_watch(void)
{
    return inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
}

static inline int video_request(int descriptor, unsigned long request, void *_Nonnull argument)
{
    int status;
    do {
        status = ioctl(descriptor, request, argument);
    } while (status < 0 && errno == EINTR);
    return status < 0 ? -errno : 0;
}

static inline int video_is_planar(uint32_t type)
{
    return type == V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE;
}

/// What a node says of itself; texts end with a zero byte.
struct video_identity {
    char driver[17];
    char name[33];
    char bus[33];
    /// What this node can do: V4L2_CAP_*.
    uint32_t capabilities;
};

/// VIDIOC_QUERYCAP.
static inline int video_identify(int descriptor, struct video_identity *_Nonnull identity)
{
    struct v4l2_capability answer = {0};
    int status = video_request(descriptor, VIDIOC_QUERYCAP, &answer);
    memset(identity, 0, sizeof *identity);
    if (status < 0)
        return status;
    memcpy(identity->driver, answer.driver, sizeof answer.driver);
    memcpy(identity->name, answer.card, sizeof answer.card);
    memcpy(identity->bus, answer.bus_info, sizeof answer.bus_info);
    int is_own = (answer.capabilities & V4L2_CAP_DEVICE_CAPS) != 0;
    identity->capabilities = is_own ? answer.device_caps : answer.capabilities;
    return 0;
}

/// A format that a device offers.
struct video_offer {
    uint32_t pixel_format;
    /// V4L2_FMT_FLAG_*.
    uint32_t flags;
    char description[33];
};

/// VIDIOC_ENUM_FMT; -EINVAL behind the last one.
static inline int video_offer(int descriptor, uint32_t type, uint32_t index, struct video_offer *_Nonnull offer)
{
    struct v4l2_fmtdesc answer = {.index = index, .type = type};
    int status = video_request(descriptor, VIDIOC_ENUM_FMT, &answer);
    memset(offer, 0, sizeof *offer);
    offer->pixel_format = answer.pixelformat;
    offer->flags = answer.flags;
    memcpy(offer->description, answer.description, sizeof answer.description);
    return status;
}

/// Sizes of a format: one if the least and the largest are the same.
struct video_sizes {
    uint32_t least_width, largest_width, width_step;
    uint32_t least_height, largest_height, height_step;
    /// Whether it is one of a list.
    int is_discrete;
};

/// VIDIOC_ENUM_FRAMESIZES; -EINVAL behind the last ones.
static inline int video_sizes(int descriptor, uint32_t pixel_format, uint32_t index, struct video_sizes *_Nonnull sizes)
{
    struct v4l2_frmsizeenum answer = {.index = index, .pixel_format = pixel_format};
    int status = video_request(descriptor, VIDIOC_ENUM_FRAMESIZES, &answer);
    memset(sizes, 0, sizeof *sizes);
    sizes->is_discrete = answer.type == V4L2_FRMSIZE_TYPE_DISCRETE;
    if (sizes->is_discrete) {
        sizes->least_width = sizes->largest_width = answer.discrete.width;
        sizes->least_height = sizes->largest_height = answer.discrete.height;
        sizes->width_step = sizes->height_step = 1;
    } else {
        sizes->least_width = answer.stepwise.min_width;
        sizes->largest_width = answer.stepwise.max_width;
        sizes->width_step = answer.stepwise.step_width;
        sizes->least_height = answer.stepwise.min_height;
        sizes->largest_height = answer.stepwise.max_height;
        sizes->height_step = answer.stepwise.step_height;
    }
    return status;
}

/// Times from picture to picture, in seconds: one if the least and the longest are the same.
struct video_intervals {
    struct v4l2_fract least, longest, step;
    /// Whether it is one of a list.
    int is_discrete;
};

/// VIDIOC_ENUM_FRAMEINTERVALS; -EINVAL behind the last ones.
static inline int video_intervals(
    int descriptor, uint32_t pixel_format, uint32_t width, uint32_t height, uint32_t index,
    struct video_intervals *_Nonnull intervals)
{
    struct v4l2_frmivalenum answer = {.index = index, .pixel_format = pixel_format, .width = width, .height = height};
    int status = video_request(descriptor, VIDIOC_ENUM_FRAMEINTERVALS, &answer);
    memset(intervals, 0, sizeof *intervals);
    intervals->is_discrete = answer.type == V4L2_FRMIVAL_TYPE_DISCRETE;
    if (intervals->is_discrete) {
        intervals->least = intervals->longest = answer.discrete;
    } else {
        intervals->least = answer.stepwise.min;
        intervals->longest = answer.stepwise.max;
        intervals->step = answer.stepwise.step;
    }
    return status;
}

/// A format that is asked for, or set.
struct video_format {
    uint32_t type;
    uint32_t width, height;
    uint32_t pixel_format;
    /// V4L2_FIELD_*.
    uint32_t field;
    uint32_t colorspace, ycbcr_encoding, quantization, transfer;
    uint32_t plane_count;
    uint32_t bytes_per_row[VIDEO_PLANES];
    uint32_t byte_count[VIDEO_PLANES];
};

static inline void video_format_to(const struct video_format *_Nonnull format, struct v4l2_format *_Nonnull request)
{
    memset(request, 0, sizeof *request);
    request->type = format->type;
    if (video_is_planar(format->type)) {
        request->fmt.pix_mp.width = format->width;
        request->fmt.pix_mp.height = format->height;
        request->fmt.pix_mp.pixelformat = format->pixel_format;
        request->fmt.pix_mp.field = format->field;
    } else {
        request->fmt.pix.width = format->width;
        request->fmt.pix.height = format->height;
        request->fmt.pix.pixelformat = format->pixel_format;
        request->fmt.pix.field = format->field;
        request->fmt.pix.priv = V4L2_PIX_FMT_PRIV_MAGIC;
    }
}

static inline void video_format_from(const struct v4l2_format *_Nonnull answer, struct video_format *_Nonnull format)
{
    memset(format, 0, sizeof *format);
    format->type = answer->type;
    if (video_is_planar(answer->type)) {
        const struct v4l2_pix_format_mplane *picture = &answer->fmt.pix_mp;
        format->width = picture->width;
        format->height = picture->height;
        format->pixel_format = picture->pixelformat;
        format->field = picture->field;
        format->colorspace = picture->colorspace;
        format->ycbcr_encoding = picture->ycbcr_enc;
        format->quantization = picture->quantization;
        format->transfer = picture->xfer_func;
        format->plane_count = picture->num_planes;
        for (uint32_t plane = 0; plane < picture->num_planes && plane < VIDEO_PLANES; plane++) {
            format->bytes_per_row[plane] = picture->plane_fmt[plane].bytesperline;
            format->byte_count[plane] = picture->plane_fmt[plane].sizeimage;
        }
    } else {
        const struct v4l2_pix_format *picture = &answer->fmt.pix;
        format->width = picture->width;
        format->height = picture->height;
        format->pixel_format = picture->pixelformat;
        format->field = picture->field;
        format->colorspace = picture->colorspace;
        if (picture->priv == V4L2_PIX_FMT_PRIV_MAGIC) {
            format->ycbcr_encoding = picture->ycbcr_enc;
            format->quantization = picture->quantization;
            format->transfer = picture->xfer_func;
        }
        format->plane_count = 1;
        format->bytes_per_row[0] = picture->bytesperline;
        format->byte_count[0] = picture->sizeimage;
    }
}

/// VIDIOC_G_FMT of the structure's type.
static inline int video_get_format(int descriptor, struct video_format *_Nonnull format)
{
    struct v4l2_format request = {.type = format->type};
    int status = video_request(descriptor, VIDIOC_G_FMT, &request);
    if (status == 0)
        video_format_from(&request, format);
    return status;
}

/// VIDIOC_TRY_FMT: what VIDIOC_S_FMT would set.
static inline int video_try_format(int descriptor, struct video_format *_Nonnull format)
{
    struct v4l2_format request;
    video_format_to(format, &request);
    int status = video_request(descriptor, VIDIOC_TRY_FMT, &request);
    if (status == 0)
        video_format_from(&request, format);
    return status;
}

/// VIDIOC_S_FMT: sets what is nearest to the format, and returns it.
static inline int video_set_format(int descriptor, struct video_format *_Nonnull format)
{
    struct v4l2_format request;
    video_format_to(format, &request);
    int status = video_request(descriptor, VIDIOC_S_FMT, &request);
    if (status == 0)
        video_format_from(&request, format);
    return status;
}

/// VIDIOC_G_PARM: the time from picture to picture.
///
/// @param is_settable Set to whether VIDIOC_S_PARM changes it (V4L2_CAP_TIMEPERFRAME).
static inline int video_get_interval(
    int descriptor, uint32_t type, struct v4l2_fract *_Nonnull interval, int *_Nonnull is_settable)
{
    struct v4l2_streamparm request = {.type = type};
    int status = video_request(descriptor, VIDIOC_G_PARM, &request);
    *interval = request.parm.capture.timeperframe;
    *is_settable = (request.parm.capture.capability & V4L2_CAP_TIMEPERFRAME) != 0;
    return status;
}

/// VIDIOC_S_PARM: sets the time from picture to picture to the nearest that there is, and returns it.
static inline int video_set_interval(int descriptor, uint32_t type, struct v4l2_fract *_Nonnull interval)
{
    struct v4l2_streamparm request = {.type = type};
    request.parm.capture.timeperframe = *interval;
    int status = video_request(descriptor, VIDIOC_S_PARM, &request);
    if (status == 0)
        *interval = request.parm.capture.timeperframe;
    return status;
}

/// VIDIOC_REQBUFS of mapped memory. No buffers end the queue.
///
/// @param count Set to how many there are.
static inline int video_request_buffers(int descriptor, uint32_t type, uint32_t *_Nonnull count)
{
    struct v4l2_requestbuffers request = {.count = *count, .type = type, .memory = V4L2_MEMORY_MMAP};
    int status = video_request(descriptor, VIDIOC_REQBUFS, &request);
    *count = status == 0 ? request.count : 0;
    return status;
}

/// A memory plane of a buffer.
struct video_plane {
    /// What mmap takes for it.
    uint32_t offset, length;
    /// How many bytes were filled, those before the picture included.
    uint32_t bytes_used;
    /// How many bytes come before the picture.
    uint32_t data_offset;
};

/// A buffer of a queue.
struct video_buffer {
    uint32_t index;
    /// V4L2_BUF_FLAG_*.
    uint32_t flags;
    /// V4L2_FIELD_*.
    uint32_t field;
    uint32_t sequence;
    /// In nanoseconds.
    int64_t time;
    uint32_t plane_count;
    struct video_plane planes[VIDEO_PLANES];
};

/// A request about one buffer.
static inline int video_buffer_request(
    int descriptor, unsigned long number, uint32_t type, struct video_buffer *_Nonnull buffer)
{
    struct v4l2_plane planes[VIDEO_MAX_PLANES];
    struct v4l2_buffer request = {.index = buffer->index, .type = type, .memory = V4L2_MEMORY_MMAP};
    memset(planes, 0, sizeof planes);
    if (video_is_planar(type)) {
        request.m.planes = planes;
        request.length = buffer->plane_count != 0 ? buffer->plane_count : VIDEO_MAX_PLANES;
    }
    int status = video_request(descriptor, number, &request);
    if (status < 0)
        return status;
    buffer->index = request.index;
    buffer->flags = request.flags;
    buffer->field = request.field;
    buffer->sequence = request.sequence;
    buffer->time = (int64_t)request.timestamp.tv_sec * 1000000000 + (int64_t)request.timestamp.tv_usec * 1000;
    if (!video_is_planar(type)) {
        buffer->plane_count = 1;
        buffer->planes[0] = (struct video_plane){request.m.offset, request.length, request.bytesused, 0};
        return 0;
    }
    buffer->plane_count = request.length;
    for (uint32_t plane = 0; plane < request.length && plane < VIDEO_PLANES; plane++) {
        buffer->planes[plane].offset = planes[plane].m.mem_offset;
        buffer->planes[plane].length = planes[plane].length;
        buffer->planes[plane].bytes_used = planes[plane].bytesused;
        buffer->planes[plane].data_offset = planes[plane].data_offset;
    }
    return 0;
}

/// VIDIOC_QUERYBUF of the buffer's index.
static inline int video_query_buffer(int descriptor, uint32_t type, struct video_buffer *_Nonnull buffer)
{
    return video_buffer_request(descriptor, VIDIOC_QUERYBUF, type, buffer);
}

/// VIDIOC_QBUF of the buffer's index and number of planes.
static inline int video_queue_buffer(int descriptor, uint32_t type, struct video_buffer *_Nonnull buffer)
{
    return video_buffer_request(descriptor, VIDIOC_QBUF, type, buffer);
}

/// VIDIOC_DQBUF: -EAGAIN if none is filled and the device was opened with O_NONBLOCK.
static inline int video_take_buffer(int descriptor, uint32_t type, struct video_buffer *_Nonnull buffer)
{
    return video_buffer_request(descriptor, VIDIOC_DQBUF, type, buffer);
}

/// VIDIOC_EXPBUF of one memory plane.
///
/// @param exported Set to a DMA-BUF, close-on-exec, which belongs to the caller.
static inline int video_export_buffer(
    int descriptor, uint32_t type, uint32_t index, uint32_t plane, int flags, int *_Nonnull exported)
{
    struct v4l2_exportbuffer request = {.type = type, .index = index, .plane = plane, .flags = (uint32_t)flags};
    int status = video_request(descriptor, VIDIOC_EXPBUF, &request);
    *exported = status == 0 ? request.fd : -1;
    return status;
}

/// VIDIOC_STREAMON or VIDIOC_STREAMOFF.
static inline int video_stream(int descriptor, uint32_t type, int is_on)
{
    int value = (int)type;
    return video_request(descriptor, is_on ? VIDIOC_STREAMON : VIDIOC_STREAMOFF, &value);
}

/// A control.
struct video_control {
    uint32_t id;
    /// V4L2_CTRL_TYPE_*.
    uint32_t type;
    /// V4L2_CTRL_FLAG_*.
    uint32_t flags;
    /// How many values it has.
    uint32_t count;
    char name[33];
    int64_t minimum, maximum, default_value;
    uint64_t step;
};

/// VIDIOC_QUERY_EXT_CTRL.
///
/// @param is_next Whether to find the one with the least id above `id`; -EINVAL behind the last one.
static inline int video_control(int descriptor, uint32_t id, int is_next, struct video_control *_Nonnull control)
{
    struct v4l2_query_ext_ctrl request = {.id = is_next ? id | V4L2_CTRL_FLAG_NEXT_CTRL : id};
    int status = video_request(descriptor, VIDIOC_QUERY_EXT_CTRL, &request);
    memset(control, 0, sizeof *control);
    control->id = request.id;
    control->type = request.type;
    control->flags = request.flags;
    control->count = request.elems;
    memcpy(control->name, request.name, sizeof request.name);
    control->minimum = request.minimum;
    control->maximum = request.maximum;
    control->default_value = request.default_value;
    control->step = request.step;
    return status;
}

/// An item of a menu: its name, or its value for a menu of integers.
struct video_menu_item {
    char name[33];
    int64_t value;
};

/// VIDIOC_QUERYMENU; -EINVAL for an index that the menu does not have, also between others.
static inline int video_menu_item(int descriptor, uint32_t id, uint32_t index, struct video_menu_item *_Nonnull item)
{
    struct v4l2_querymenu request = {.id = id, .index = index};
    int status = video_request(descriptor, VIDIOC_QUERYMENU, &request);
    memset(item, 0, sizeof *item);
    memcpy(item->name, request.name, sizeof request.name);
    item->value = request.value;
    return status;
}

/// VIDIOC_G_EXT_CTRLS or VIDIOC_S_EXT_CTRLS of one control.
static inline int video_control_value(int descriptor, uint32_t id, uint32_t type, int is_set, int64_t *_Nonnull value)
{
    struct v4l2_ext_control control = {.id = id};
    struct v4l2_ext_controls request = {.which = V4L2_CTRL_WHICH_CUR_VAL, .count = 1, .controls = &control};
    int is_wide = type == V4L2_CTRL_TYPE_INTEGER64;
    if (is_wide)
        control.value64 = *value;
    else
        control.value = (int32_t)*value;
    int status = video_request(descriptor, is_set ? VIDIOC_S_EXT_CTRLS : VIDIOC_G_EXT_CTRLS, &request);
    if (status == 0)
        *value = is_wide                          ? control.value64
                 : type == V4L2_CTRL_TYPE_BITMASK ? (int64_t)(uint32_t)control.value
                                                  : (int64_t)control.value;
    return status;
}

#endif
