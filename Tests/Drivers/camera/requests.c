/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The requests, answered as the kernel's core of Video4Linux and its queues (videobuf2) do. */
#define _GNU_SOURCE
#include "camera.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int identify(struct device *device, struct v4l2_capability *answer)
{
    const struct settings *settings = &device->settings;

    memset(answer, 0, sizeof *answer);
    memcpy(answer->driver, settings->driver, sizeof answer->driver);
    memcpy(answer->card, settings->name, sizeof answer->card);
    memcpy(answer->bus_info, settings->bus, sizeof answer->bus_info);
    answer->device_caps = settings->capabilities | V4L2_CAP_EXT_PIX_FORMAT;
    /* Those of all nodes of the device together. */
    answer->capabilities = answer->device_caps | V4L2_CAP_DEVICE_CAPS | V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_META_CAPTURE;
    return 0;
}

/* --- Formats --- */

static int describe_format(struct device *device, struct v4l2_fmtdesc *answer)
{
    if (answer->type != device->format.type || answer->index >= device->settings.format_count)
        return EINVAL;
    answer->pixelformat = device->settings.formats[answer->index].code;
    bool is_coded = answer->pixelformat == V4L2_PIX_FMT_MJPEG || answer->pixelformat == V4L2_PIX_FMT_H264;
    answer->flags = is_coded ? V4L2_FMT_FLAG_COMPRESSED : 0;
    memset(answer->description, 0, sizeof answer->description);
    memcpy(answer->description, &answer->pixelformat, 4);
    return 0;
}

static const struct format_settings *format_with(struct device *device, uint32_t code)
{
    for (unsigned index = 0; index < device->settings.format_count; index++)
        if (device->settings.formats[index].code == code)
            return &device->settings.formats[index];
    return NULL;
}

static int describe_size(struct device *device, struct v4l2_frmsizeenum *answer)
{
    const struct format_settings *format = format_with(device, answer->pixel_format);

    if (!device->settings.lists_sizes)
        return ENOTTY;
    if (!format || answer->index >= format->size_count)
        return EINVAL;
    const struct size_settings *size = &format->sizes[answer->index];
    if (size->width_step == 0) {
        answer->type = V4L2_FRMSIZE_TYPE_DISCRETE;
        answer->discrete.width = size->width;
        answer->discrete.height = size->height;
        return 0;
    }
    bool is_continuous = size->width_step == 1 && size->height_step == 1;
    answer->type = is_continuous ? V4L2_FRMSIZE_TYPE_CONTINUOUS : V4L2_FRMSIZE_TYPE_STEPWISE;
    answer->stepwise = (struct v4l2_frmsize_stepwise){size->least_width,  size->width,  size->width_step,
                                                      size->least_height, size->height, size->height_step};
    return 0;
}

static unsigned clamped(unsigned value, unsigned least, unsigned most, unsigned step)
{
    value = value < least ? least : value > most ? most : value;
    return step ? least + (value - least) / step * step : value;
}

static const struct size_settings *size_with(const struct format_settings *format, unsigned width, unsigned height)
{
    for (unsigned index = 0; format && index < format->size_count; index++) {
        const struct size_settings *size = &format->sizes[index];
        if (clamped(width, size->least_width, size->width, size->width_step) == width &&
            clamped(height, size->least_height, size->height, size->height_step) == height)
            return size;
    }
    return NULL;
}

static int describe_interval(struct device *device, struct v4l2_frmivalenum *answer)
{
    const struct format_settings *format = format_with(device, answer->pixel_format);
    const struct size_settings *size = size_with(format, answer->width, answer->height);

    if (!device->settings.lists_sizes)
        return ENOTTY;
    if (!size || answer->index >= (size->rates_are_range ? 1 : size->rate_count))
        return EINVAL;
    if (!size->rates_are_range) {
        answer->type = V4L2_FRMIVAL_TYPE_DISCRETE;
        answer->discrete = (struct v4l2_fract){1, size->rates[answer->index]};
        return 0;
    }
    answer->type = V4L2_FRMIVAL_TYPE_CONTINUOUS;
    answer->stepwise.min = (struct v4l2_fract){1, size->rates[1]};
    answer->stepwise.max = (struct v4l2_fract){1, size->rates[0]};
    answer->stepwise.step = (struct v4l2_fract){1, 1};
    return 0;
}

static unsigned distance(unsigned one, unsigned other)
{
    return one > other ? one - other : other - one;
}

/* What is nearest to the request, as VIDIOC_S_FMT sets it. */
static int adjust(struct device *device, struct v4l2_format *request)
{
    if (request->type != device->format.type)
        return EINVAL;
    bool is_planar = device->settings.is_planar;
    uint32_t code = is_planar ? request->fmt.pix_mp.pixelformat : request->fmt.pix.pixelformat;
    unsigned width = is_planar ? request->fmt.pix_mp.width : request->fmt.pix.width;
    unsigned height = is_planar ? request->fmt.pix_mp.height : request->fmt.pix.height;
    const struct format_settings *format = format_with(device, code);
    if (!format)
        format = &device->settings.formats[0];
    unsigned best_width = 0, best_height = 0, best = UINT_MAX;
    for (unsigned index = 0; index < format->size_count; index++) {
        const struct size_settings *size = &format->sizes[index];
        unsigned near_width = clamped(width, size->least_width, size->width, size->width_step);
        unsigned near_height = clamped(height, size->least_height, size->height, size->height_step);
        unsigned error = distance(width, near_width) + distance(height, near_height);
        if (error < best) {
            best = error;
            best_width = near_width;
            best_height = near_height;
        }
    }
    if (is_planar) {
        request->fmt.pix_mp.pixelformat = format->code;
        request->fmt.pix_mp.width = best_width;
        request->fmt.pix_mp.height = best_height;
    } else {
        request->fmt.pix.pixelformat = format->code;
        request->fmt.pix.width = best_width;
        request->fmt.pix.height = best_height;
    }
    format_lay_out(&device->settings, request);
    return 0;
}

static int set_format(struct device *device, struct v4l2_format *request)
{
    if (device->buffer_count > 0 || device->settings.busy == 'f')
        return EBUSY;
    int error = adjust(device, request);
    if (!error)
        device->format = *request;
    return error;
}

static int set_interval(struct device *device, struct v4l2_streamparm *request, bool is_set)
{
    if (request->type != device->format.type)
        return EINVAL;
    bool is_planar = device->settings.is_planar;
    unsigned width = is_planar ? device->format.fmt.pix_mp.width : device->format.fmt.pix.width;
    unsigned height = is_planar ? device->format.fmt.pix_mp.height : device->format.fmt.pix.height;
    const struct size_settings *size = size_with(format_with(device, format_code(&device->format)), width, height);
    if (!size || size->rate_count == 0)
        return ENOTTY;
    struct v4l2_fract wanted = is_set ? request->parm.capture.timeperframe : device->interval;
    if (is_set && device->streams)
        return EBUSY;
    double rate = wanted.numerator ? (double)wanted.denominator / wanted.numerator : size->rates[0];
    unsigned best = size->rates[0];
    for (unsigned index = 1; index < size->rate_count && !size->rates_are_range; index++)
        if ((rate - size->rates[index]) * (rate - size->rates[index]) < (rate - best) * (rate - best))
            best = size->rates[index];
    if (size->rates_are_range && rate >= size->rates[0] && rate <= size->rates[1])
        device->interval = wanted;
    else
        device->interval = (struct v4l2_fract){1, best};
    memset(&request->parm, 0, sizeof request->parm);
    request->parm.capture.capability = V4L2_CAP_TIMEPERFRAME;
    request->parm.capture.timeperframe = device->interval;
    return 0;
}

/* --- Buffers --- */

static int request_buffers(struct device *device, int descriptor, struct v4l2_requestbuffers *request)
{
    if (request->type != device->format.type || request->memory != V4L2_MEMORY_MMAP)
        return EINVAL;
    if ((device->owner >= 0 && device->owner != descriptor) || device->settings.busy == 'b')
        return EBUSY;
    if (device->owner == descriptor)
        device_free_buffers(device, descriptor);
    request->capabilities = V4L2_BUF_CAP_SUPPORTS_MMAP | V4L2_BUF_CAP_SUPPORTS_ORPHANED_BUFS;
    if (request->count == 0)
        return 0;
    unsigned most = device->settings.buffers;
    request->count = request->count < most ? request->count : most;
    device->owner = descriptor;
    device->is_waiting_for_buffers = true;
    return device_allocate(device, request->count);
}

static int describe_buffer(struct device *device, unsigned index, struct v4l2_buffer *answer)
{
    struct buffer *buffer = &device->buffers[index];
    bool is_filled = buffer->state == BUFFER_DONE || buffer->used[0] > 0;

    answer->index = index;
    answer->flags = buffer->flags | (buffer->state == BUFFER_QUEUED ? V4L2_BUF_FLAG_QUEUED : 0) |
                    (buffer->state == BUFFER_DONE ? V4L2_BUF_FLAG_DONE : 0);
    answer->field = device->settings.field;
    answer->timestamp = buffer->time;
    answer->sequence = buffer->sequence;
    answer->memory = V4L2_MEMORY_MMAP;
    if (!device->settings.is_planar) {
        answer->m.offset = plane_offset(index, 0);
        answer->length = buffer->length[0];
        answer->bytesused = is_filled ? buffer->used[0] : 0;
        return 0;
    }
    if (!answer->m.planes || answer->length < device->plane_count)
        return EINVAL;
    answer->length = device->plane_count;
    for (unsigned plane = 0; plane < device->plane_count; plane++) {
        answer->m.planes[plane].m.mem_offset = plane_offset(index, plane);
        answer->m.planes[plane].length = buffer->length[plane];
        answer->m.planes[plane].bytesused = is_filled ? buffer->used[plane] : 0;
        answer->m.planes[plane].data_offset = is_filled ? device->settings.offset : 0;
    }
    return 0;
}

static int find_buffer(struct device *device, struct v4l2_buffer *request)
{
    bool is_known = request->type == device->format.type && request->index < device->buffer_count;

    return is_known ? describe_buffer(device, request->index, request) : EINVAL;
}

static int queue_buffer(struct device *device, int descriptor, struct v4l2_buffer *request)
{
    if (request->type != device->format.type || request->memory != V4L2_MEMORY_MMAP ||
        request->index >= device->buffer_count)
        return EINVAL;
    if (device->owner != descriptor)
        return EBUSY;
    struct buffer *buffer = &device->buffers[request->index];
    if (buffer->state != BUFFER_IDLE)
        return EINVAL;
    if (request->reserved2 || request->request_fd)
        camera_fail("reserved fields of a buffer are not zero");
    int error = describe_buffer(device, request->index, request);
    if (error)
        return error;
    buffer->state = BUFFER_QUEUED;
    buffer->flags = 0;
    device->queued[device->queued_count++] = request->index;
    device->is_waiting_for_buffers = false;
    pthread_cond_broadcast(&camera_changed);
    return 0;
}

static int take_buffer(struct device *device, int descriptor, struct file *file, struct v4l2_buffer *request)
{
    if (request->type != device->format.type || request->memory != V4L2_MEMORY_MMAP || !device->streams)
        return EINVAL;
    if (device->owner != descriptor)
        return EBUSY;
    if (device->done_count == 0) {
        if (!(file->flags & O_NONBLOCK))
            camera_fail("VIDIOC_DQBUF would wait");
        return EAGAIN;
    }
    unsigned index = device->done[0];
    struct buffer *buffer = &device->buffers[index];
    buffer->state = BUFFER_IDLE;
    int error = describe_buffer(device, index, request);
    if (error) {
        buffer->state = BUFFER_DONE;
        return error;
    }
    memmove(device->done, device->done + 1, --device->done_count * sizeof device->done[0]);
    return 0;
}

static int export_buffer(struct device *device, struct v4l2_exportbuffer *request)
{
    if (!device->settings.exports)
        return ENOTTY;
    if (request->type != device->format.type || request->index >= device->buffer_count ||
        request->plane >= device->plane_count || request->flags & ~(uint32_t)(O_CLOEXEC | O_ACCMODE))
        return EINVAL;
    int memory = device->buffers[request->index].memory[request->plane];
    request->fd = fcntl(memory, request->flags & O_CLOEXEC ? F_DUPFD_CLOEXEC : F_DUPFD, 0);
    return request->fd >= 0 ? 0 : errno;
}

static int set_stream(struct device *device, int descriptor, const int *type, bool is_on)
{
    if ((uint32_t)*type != device->format.type)
        return EINVAL;
    if (device->owner >= 0 && device->owner != descriptor)
        return EBUSY;
    if (!is_on) {
        device_stop(device);
        return 0;
    }
    if (device->buffer_count == 0)
        return EINVAL;
    if (device->settings.busy == 's')
        return ENOSPC;
    return device->streams ? 0 : device_start(device);
}

/* --- Controls --- */

static struct control_settings *control_with(struct device *device, uint32_t id)
{
    for (unsigned index = 0; index < device->settings.control_count; index++)
        if (device->settings.controls[index].query.id == id)
            return &device->settings.controls[index];
    return NULL;
}

static bool is_ruled_out(struct device *device, uint32_t id)
{
    struct control_settings *automatic = control_with(device, device->settings.automatic);

    return automatic && id == device->settings.ruled_out && automatic->value == device->settings.automatic_value;
}

static int describe_control(struct device *device, struct v4l2_query_ext_ctrl *answer)
{
    struct control_settings *found = NULL;
    uint32_t id = answer->id & ~(uint32_t)(V4L2_CTRL_FLAG_NEXT_CTRL | V4L2_CTRL_FLAG_NEXT_COMPOUND);

    if (!(answer->id & V4L2_CTRL_FLAG_NEXT_CTRL)) {
        found = control_with(device, id);
    } else {
        for (unsigned index = 0; index < device->settings.control_count; index++) {
            struct control_settings *control = &device->settings.controls[index];
            if (control->query.id > id && (!found || control->query.id < found->query.id))
                found = control;
        }
    }
    if (!found)
        return EINVAL;
    *answer = found->query;
    if (is_ruled_out(device, found->query.id))
        answer->flags |= V4L2_CTRL_FLAG_INACTIVE;
    return 0;
}

static int describe_item(struct device *device, struct v4l2_querymenu *answer)
{
    struct control_settings *control = control_with(device, answer->id);

    for (unsigned index = 0; control && index < control->item_count; index++) {
        if (control->items[index].index != answer->index)
            continue;
        if (control->query.type == V4L2_CTRL_TYPE_INTEGER_MENU)
            answer->value = atoll(control->items[index].name);
        else
            memcpy(answer->name, control->items[index].name, sizeof answer->name);
        return 0;
    }
    return EINVAL;
}

static int use_controls(struct device *device, struct v4l2_ext_controls *request, bool is_set)
{
    if (request->which != V4L2_CTRL_WHICH_CUR_VAL || request->reserved[0])
        return EINVAL;
    for (unsigned index = 0; index < request->count; index++) {
        struct v4l2_ext_control *value = &request->controls[index];
        struct control_settings *control = control_with(device, value->id);
        request->error_idx = request->count;
        if (!control)
            return EINVAL;
        const struct v4l2_query_ext_ctrl *query = &control->query;
        bool is_wide = query->type == V4L2_CTRL_TYPE_INTEGER64;
        if (is_set) {
            if (query->flags & V4L2_CTRL_FLAG_READ_ONLY)
                return EACCES;
            int64_t wanted = is_wide ? value->value64 : value->value;
            if (query->type == V4L2_CTRL_TYPE_INTEGER || is_wide) {
                wanted = wanted < query->minimum ? query->minimum : wanted > query->maximum ? query->maximum : wanted;
            } else if (query->type == V4L2_CTRL_TYPE_BUTTON) {
                wanted = 0;
            } else if (query->type != V4L2_CTRL_TYPE_BITMASK &&
                       (wanted < query->minimum || wanted > query->maximum)) {
                return ERANGE;
            }
            control->value = wanted;
        } else if (query->flags & V4L2_CTRL_FLAG_WRITE_ONLY) {
            return EACCES;
        }
        if (is_wide)
            value->value64 = control->value;
        else
            value->value = (int32_t)control->value;
    }
    return 0;
}

/* Returns 0 or an errno. */
static int answer(int descriptor, struct file *file, unsigned long request, void *argument)
{
    struct device *device = file->device;

    if (device_is_gone(device))
        return ENODEV;
    switch (request) {
    case VIDIOC_QUERYCAP: return identify(device, argument);
    case VIDIOC_ENUM_FMT: return describe_format(device, argument);
    case VIDIOC_ENUM_FRAMESIZES: return describe_size(device, argument);
    case VIDIOC_ENUM_FRAMEINTERVALS: return describe_interval(device, argument);
    case VIDIOC_G_FMT:
        if (((struct v4l2_format *)argument)->type != device->format.type)
            return EINVAL;
        *(struct v4l2_format *)argument = device->format;
        return 0;
    case VIDIOC_TRY_FMT: return adjust(device, argument);
    case VIDIOC_S_FMT: return set_format(device, argument);
    case VIDIOC_G_PARM: return set_interval(device, argument, false);
    case VIDIOC_S_PARM: return set_interval(device, argument, true);
    case VIDIOC_REQBUFS: return request_buffers(device, descriptor, argument);
    case VIDIOC_QUERYBUF: return find_buffer(device, argument);
    case VIDIOC_QBUF: return queue_buffer(device, descriptor, argument);
    case VIDIOC_DQBUF: return take_buffer(device, descriptor, file, argument);
    case VIDIOC_EXPBUF: return export_buffer(device, argument);
    case VIDIOC_STREAMON: return set_stream(device, descriptor, argument, true);
    case VIDIOC_STREAMOFF: return set_stream(device, descriptor, argument, false);
    case VIDIOC_QUERY_EXT_CTRL: return describe_control(device, argument);
    case VIDIOC_QUERYMENU: return describe_item(device, argument);
    case VIDIOC_G_EXT_CTRLS: return use_controls(device, argument, false);
    case VIDIOC_S_EXT_CTRLS: return use_controls(device, argument, true);
    default: return ENOTTY;
    }
}

int camera_request(int descriptor, struct file *file, unsigned long request, void *argument)
{
    int error = answer(descriptor, file, request, argument);

    if (error == 0)
        return 0;
    errno = error;
    return -1;
}
