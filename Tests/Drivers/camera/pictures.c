/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the cameras show. */
#define _GNU_SOURCE
#include "camera.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

uint32_t format_code(const struct v4l2_format *format)
{
    return format->type == V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE ? format->fmt.pix_mp.pixelformat
                                                              : format->fmt.pix.pixelformat;
}

static void size_of(const struct v4l2_format *format, unsigned *width, unsigned *height)
{
    bool is_planar = format->type == V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE;

    *width = is_planar ? format->fmt.pix_mp.width : format->fmt.pix.width;
    *height = is_planar ? format->fmt.pix_mp.height : format->fmt.pix.height;
}

/* Bytes and row strides of the memory planes, for rows with some bytes behind them. */
static unsigned lay_out(uint32_t code, unsigned width, unsigned height, unsigned padding, uint32_t sizes[MOST_PLANES],
                        uint32_t rows[MOST_PLANES])
{
    unsigned row = width + padding;

    rows[0] = row;
    switch (code) {
    case V4L2_PIX_FMT_NV12:
    case V4L2_PIX_FMT_YUV420:
        sizes[0] = row * height * 3 / 2;
        return 1;
    case V4L2_PIX_FMT_NV12M:
        rows[1] = row;
        sizes[0] = row * height;
        sizes[1] = row * height / 2;
        return 2;
    case V4L2_PIX_FMT_YUV420M:
        rows[1] = rows[2] = row / 2;
        sizes[0] = row * height;
        sizes[1] = sizes[2] = row / 2 * (height / 2);
        return 3;
    case V4L2_PIX_FMT_YUYV:
        rows[0] = width * 2 + padding;
        sizes[0] = rows[0] * height;
        return 1;
    default:
        rows[0] = 0;
        sizes[0] = width * height * 2 + 65536;
        return 1;
    }
}

void format_lay_out(const struct settings *settings, struct v4l2_format *format)
{
    uint32_t sizes[MOST_PLANES], rows[MOST_PLANES];
    unsigned width, height;

    size_of(format, &width, &height);
    unsigned count = lay_out(format_code(format), width, height, settings->padding, sizes, rows);
    if (format->type == V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE) {
        struct v4l2_pix_format_mplane *picture = &format->fmt.pix_mp;
        memset(picture->plane_fmt, 0, sizeof picture->plane_fmt);
        picture->num_planes = (uint8_t)count;
        for (unsigned plane = 0; plane < count; plane++) {
            picture->plane_fmt[plane].bytesperline = rows[plane];
            picture->plane_fmt[plane].sizeimage = sizes[plane] + settings->offset;
        }
        picture->colorspace = settings->colorspace;
        picture->ycbcr_enc = (uint8_t)settings->encoding;
        picture->quantization = (uint8_t)settings->quantization;
        picture->xfer_func = (uint8_t)settings->transfer;
        picture->field = settings->field;
        return;
    }
    struct v4l2_pix_format *picture = &format->fmt.pix;
    picture->bytesperline = rows[0];
    picture->sizeimage = sizes[0];
    picture->colorspace = settings->colorspace;
    picture->ycbcr_enc = settings->encoding;
    picture->quantization = settings->quantization;
    picture->xfer_func = settings->transfer;
    picture->field = settings->field;
    picture->priv = V4L2_PIX_FMT_PRIV_MAGIC;
}

unsigned format_planes(const struct v4l2_format *format, uint32_t sizes[MOST_PLANES], uint32_t rows[MOST_PLANES])
{
    if (format->type != V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE) {
        sizes[0] = format->fmt.pix.sizeimage;
        rows[0] = format->fmt.pix.bytesperline;
        return 1;
    }
    for (unsigned plane = 0; plane < format->fmt.pix_mp.num_planes; plane++) {
        sizes[plane] = format->fmt.pix_mp.plane_fmt[plane].sizeimage;
        rows[plane] = format->fmt.pix_mp.plane_fmt[plane].bytesperline;
    }
    return format->fmt.pix_mp.num_planes;
}

/* The sample of a component (0 luma, 1 Cb, 2 Cr), in samples of that component. The scenarios know it too. */
static uint8_t sample(unsigned component, unsigned x, unsigned y, unsigned number)
{
    return (uint8_t)(x * (3 + 2 * component) + y * (5 + 4 * component) + number * 11 + component * 64);
}

static void draw_rows(uint8_t *target, uint32_t row, unsigned width, unsigned height, unsigned first, unsigned step,
                      unsigned component, unsigned number)
{
    for (unsigned y = 0; y < height; y++)
        for (unsigned x = 0; x < width; x++)
            target[y * row + first + x * step] = sample(component, x, y, number);
}

static void draw(uint32_t code, uint8_t *planes[MOST_PLANES], const uint32_t rows[MOST_PLANES], unsigned width,
                 unsigned height, unsigned number)
{
    unsigned across = width / 2, down = height / 2;
    uint8_t *chroma = planes[0] + rows[0] * height;

    switch (code) {
    case V4L2_PIX_FMT_YUYV:
        draw_rows(planes[0], rows[0], width, height, 0, 2, 0, number);
        draw_rows(planes[0], rows[0], across, height, 1, 4, 1, number);
        draw_rows(planes[0], rows[0], across, height, 3, 4, 2, number);
        return;
    case V4L2_PIX_FMT_NV12M:
        chroma = planes[1];
        /* fall through */
    case V4L2_PIX_FMT_NV12:
        draw_rows(planes[0], rows[0], width, height, 0, 1, 0, number);
        draw_rows(chroma, rows[0], across, down, 0, 2, 1, number);
        draw_rows(chroma, rows[0], across, down, 1, 2, 2, number);
        return;
    case V4L2_PIX_FMT_YUV420M:
    case V4L2_PIX_FMT_YUV420:
        draw_rows(planes[0], rows[0], width, height, 0, 1, 0, number);
        if (code == V4L2_PIX_FMT_YUV420M) {
            draw_rows(planes[1], rows[1], across, down, 0, 1, 1, number);
            draw_rows(planes[2], rows[2], across, down, 0, 1, 2, number);
        } else {
            draw_rows(chroma, rows[0] / 2, across, down, 0, 1, 1, number);
            draw_rows(chroma + rows[0] / 2 * down, rows[0] / 2, across, down, 0, 1, 2, number);
        }
        return;
    default:
        return;
    }
}

/* Copies a file of the payload; the files are numbered from 0, and begin again behind the last one. */
static uint32_t read_payload(const char *folder, unsigned number, uint8_t *target, uint32_t length)
{
    char path[PATH_MAX + 16];
    unsigned count = 0;

    for (;; count++) {
        snprintf(path, sizeof path, "%s/%u", folder, count);
        if (access(path, R_OK) != 0)
            break;
    }
    if (count == 0)
        camera_fail("there is no payload");
    snprintf(path, sizeof path, "%s/%u", folder, number % count);
    FILE *file = fopen(path, "re");
    size_t used = file ? fread(target, 1, length, file) : 0;
    if (file)
        fclose(file);
    return (uint32_t)used;
}

void picture_write(struct device *device, struct buffer *buffer, unsigned number)
{
    const struct settings *settings = &device->settings;
    uint32_t sizes[MOST_PLANES], rows[MOST_PLANES], code = format_code(&device->format);
    uint8_t *bases[MOST_PLANES], *planes[MOST_PLANES];
    unsigned width, height, offset = settings->is_planar ? settings->offset : 0;
    unsigned count = format_planes(&device->format, sizes, rows);

    size_of(&device->format, &width, &height);
    for (unsigned plane = 0; plane < count; plane++) {
        /* mmap() is a hook, and takes the lock. */
        bases[plane] = (uint8_t *)syscall(SYS_mmap, NULL, buffer->length[plane], PROT_READ | PROT_WRITE, MAP_SHARED,
                                          buffer->memory[plane], 0L);
        if (bases[plane] == (uint8_t *)MAP_FAILED)
            camera_fail("no memory");
        memset(bases[plane], 0xEE, buffer->length[plane]);
        planes[plane] = bases[plane] + offset;
        buffer->used[plane] = sizes[plane];
    }
    if (settings->payload[0] != '\0' && (code == V4L2_PIX_FMT_MJPEG || code == V4L2_PIX_FMT_H264)) {
        uint32_t used = read_payload(settings->payload, number, planes[0], buffer->length[0] - offset);
        if (numbers_contain(&settings->damaged, number))
            memset(planes[0] + used / 2, 0xFF, used / 4);
        buffer->used[0] = offset + used;
    } else {
        draw(code, planes, rows, width, height, number);
    }
    if (numbers_contain(&settings->shortened, number)) {
        memset(bases[0] + buffer->used[0] / 2, 0, buffer->used[0] - buffer->used[0] / 2);
        buffer->used[0] /= 2;
    }
    for (unsigned plane = 0; plane < count; plane++)
        munmap(bases[plane], buffer->length[plane]);
}
