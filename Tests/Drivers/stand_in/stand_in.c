/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libcoded_stand_in.so: preloaded before a program that encodes H.264 or HEVC by libva on a device that codes nothing, as the
 * fake render nodes are for the vendors' drivers. Where the driver gives zeros it puts what a device would have coded,
 * as far as that is known: the packed headers of the picture, each slice header with noise behind it; or, without
 * packed headers, slices of the right type with noise. No decoder makes pictures of that, but a client goes on beyond
 * its first picture, and the driver sees all that it does then.
 *
 * Mesa 25 gives headers in segments of their own, which stay. Then what the device codes begins with the slices.
 *
 * It believes the client in everything: a picture's buffers are those that are created after its picture parameters. */
#include <va/va.h>
#include <va/va_enc_h264.h>
#include <va/va_enc_hevc.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOOK __attribute__((visibility("default")))

enum { PICTURES = 64, ROOM = 4096, NOISE = 24 };

/* A coded buffer, and what its picture is to look like. */
struct picture {
    VABufferID output;
    /* What the header of a slice's NAL unit is, where the client writes none. */
    unsigned char unit[2];
    size_t unit_length;
    size_t length;
    /* Where the first slice begins. */
    size_t slices;
    _Bool has_slices;
    unsigned char bytes[ROOM];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct picture pictures[PICTURES];
static size_t picture_count;
/* The picture whose buffers are being created; NULL before the first one. */
static struct picture *current;
/* The header whose data come next. */
static VAEncPackedHeaderParameterBuffer header;
static _Bool has_slice_header;

static void fail(const char *reason)
{
    fprintf(stderr, "libcoded_stand_in: %s\n", reason);
    abort();
}

static void *real(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    if (!function) fail("the program has no libva");
    return function;
}

static struct picture *picture_of(VABufferID output)
{
    for (size_t index = 0; index < picture_count; index++)
        if (pictures[index].output == output) return &pictures[index];
    return NULL;
}

static void put(unsigned char byte)
{
    if (current->length == ROOM) fail("a picture's headers are longer than there is room for");
    current->bytes[current->length++] = byte;
}

/* A start code stays as it is; in what follows it bytes are inserted that keep it free of other ones (H.264 7.4.1). */
static void put_unit(const unsigned char *bytes, size_t count, _Bool has_emulation)
{
    size_t zeros = 0, start = 0;
    while (start < count && bytes[start] == 0) start++;
    start = start >= 2 && start < count && bytes[start] == 1 ? start + 1 : 0;
    for (size_t index = 0; index < count; index++) {
        if (index >= start && !has_emulation && zeros >= 2 && bytes[index] <= 3) {
            put(3);
            zeros = 0;
        }
        put(bytes[index]);
        zeros = index >= start && bytes[index] == 0 ? zeros + 1 : 0;
    }
}

/* What stands for a slice's macroblocks: no zero byte, so that nothing in it looks like a start code. */
static void put_noise(void)
{
    for (int index = 0; index < NOISE; index++) put((unsigned char)(0x81 + (index * 37 + (int)current->length) % 126));
    put(0x80);
}

static void take_picture(VABufferID output)
{
    current = picture_of(output);
    if (!current) {
        if (picture_count == PICTURES) fail("there are more coded buffers than there is room for");
        current = &pictures[picture_count++];
    }
    current->output = output;
    current->length = current->slices = 0;
    current->has_slices = 0;
    has_slice_header = 0;
}

static void take_h264(const VAEncPictureParameterBufferH264 *parameters)
{
    take_picture(parameters->coded_buf);
    current->unit_length = 1;
    current->unit[0] = parameters->pic_fields.bits.idr_pic_flag        ? 0x65
                       : parameters->pic_fields.bits.reference_pic_flag ? 0x41
                                                                        : 0x01;
}

static void take_hevc(const VAEncPictureParameterBufferHEVC *parameters)
{
    take_picture(parameters->coded_buf);
    current->unit_length = 2;
    current->unit[0] = (unsigned char)(parameters->nal_unit_type << 1);
    current->unit[1] = 1;
}

/* Takes note that a slice follows. */
static void begin_slice(void)
{
    if (!current->has_slices) current->slices = current->length;
    current->has_slices = 1;
}

static void take_header(const unsigned char *bytes)
{
    if (header.type == VAEncPackedHeaderSlice) begin_slice();
    put_unit(bytes, (header.bit_length + 7) / 8, header.has_emulation_bytes != 0);
    has_slice_header = header.type == VAEncPackedHeaderSlice;
    if (has_slice_header) put_noise();
}

static void take_slices(unsigned int count)
{
    if (has_slice_header) {
        has_slice_header = 0;
        return;
    }
    begin_slice();
    while (count-- > 0) {
        static const unsigned char start[] = {0, 0, 0, 1};
        for (size_t index = 0; index < sizeof start; index++) put(start[index]);
        for (size_t index = 0; index < current->unit_length; index++) put(current->unit[index]);
        put_noise();
    }
}

HOOK VAStatus vaCreateBuffer(VADisplay display, VAContextID context, VABufferType type, unsigned int size,
                             unsigned int count, void *data, VABufferID *buffer)
{
    static __typeof__(&vaCreateBuffer) next;
    pthread_mutex_lock(&lock);
    if (!next) *(void **)&next = real("vaCreateBuffer");
    if (data && type == VAEncPictureParameterBufferType) {
        if (size == sizeof(VAEncPictureParameterBufferH264)) take_h264(data);
        if (size == sizeof(VAEncPictureParameterBufferHEVC)) take_hevc(data);
    }
    if (data && current) {
        if (type == VAEncPackedHeaderParameterBufferType) header = *(VAEncPackedHeaderParameterBuffer *)data;
        if (type == VAEncPackedHeaderDataBufferType) take_header(data);
        if (type == VAEncSliceParameterBufferType) take_slices(count);
    }
    pthread_mutex_unlock(&lock);
    return next(display, context, type, size, count, data, buffer);
}

/* Puts a picture where the driver has what the device coded: into the first segment that is not a unit of the driver's. */
static void put_picture(const struct picture *picture, VACodedBufferSegment *first)
{
    VACodedBufferSegment *segment = first;
    while (segment->status & VA_CODED_BUF_STATUS_SINGLE_NALU && segment->next) segment = segment->next;
    if (!segment->buf || segment->size == 0) return;
    size_t start = segment == first ? 0 : picture->slices, length = picture->length - start;
    if (length > segment->size) fail("the device codes less than the headers (RENDER_NODES_CODED_SIZE)");
    memset(segment->buf, 0, segment->size);
    memcpy(segment->buf, picture->bytes + start, length);
}

HOOK VAStatus vaMapBuffer(VADisplay display, VABufferID buffer, void **address)
{
    static __typeof__(&vaMapBuffer) next;
    pthread_mutex_lock(&lock);
    if (!next) *(void **)&next = real("vaMapBuffer");
    pthread_mutex_unlock(&lock);
    VAStatus status = next(display, buffer, address);
    if (status != VA_STATUS_SUCCESS) return status;
    pthread_mutex_lock(&lock);
    const struct picture *picture = picture_of(buffer);
    if (picture && *address) put_picture(picture, *address);
    pthread_mutex_unlock(&lock);
    return status;
}
