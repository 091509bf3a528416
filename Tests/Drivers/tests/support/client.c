/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* memfd_create */
#include "client.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

VAStatus client_report(const char *call, VAStatus status)
{
    if (status != VA_STATUS_SUCCESS) {
        printf("%s 0x%x\n", call, (unsigned)status);
        fflush(stdout);
    }
    return status;
}

/* Returns from the calling function when the call fails. */
#define CHECK(name, ...) \
    do { \
        VAStatus check_status = client_report(#name, name(__VA_ARGS__)); \
        if (check_status != VA_STATUS_SUCCESS) \
            return check_status; \
    } while (0)

static void ignore_message(void *token, const char *message)
{
    (void)token, (void)message;
}

VAStatus client_open_display(struct client *client)
{
    int major, minor;
    client->node = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
    client->display = vaGetDisplayDRM(client->node);
    if (!client->display) {
        printf("vaGetDisplayDRM failed\n");
        return VA_STATUS_ERROR_INVALID_DISPLAY;
    }
    vaSetInfoCallback(client->display, ignore_message, NULL);
    vaSetErrorCallback(client->display, ignore_message, NULL);
    VAStatus status = client_report("vaInitialize", vaInitialize(client->display, &major, &minor));
    if (status != VA_STATUS_SUCCESS)
        client_close_display(client);
    return status;
}

static VAStatus choose_entrypoint(struct client *client)
{
    VAEntrypoint list[16];
    int count = 0;
    CHECK(vaQueryConfigEntrypoints, client->display, VAProfileH264Main, list, &count);
    client->entrypoint = list[0];
    return VA_STATUS_SUCCESS;
}

static uint32_t whole(uint32_t size)
{
    return (size + 15) / 16 * 16;
}

static uint32_t input_size(const struct client *client, uint32_t size)
{
    return client->import ? size : whole(size);
}

/* One surface in memory that ends with the last row of chroma. */
static VAStatus import_input(struct client *client, VASurfaceID *surface)
{
    uint32_t pitch = client->width + 24, size = pitch * client->height + pitch * client->height / 2;
    VADRMPRIMESurfaceDescriptor descriptor = {
        .fourcc = VA_FOURCC_NV12,
        .width = client->width,
        .height = client->height,
        .num_objects = 1,
        .objects = {{.fd = memfd_create("input", MFD_CLOEXEC), .size = size}},
        .num_layers = 1,
        .layers = {{.drm_format = VA_FOURCC_NV12, .num_planes = 2, .offset = {0, pitch * client->height},
                    .pitch = {pitch, pitch}}},
    };
    VASurfaceAttrib attributes[2] = {
        {.type = VASurfaceAttribMemoryType, .flags = VA_SURFACE_ATTRIB_SETTABLE,
         .value = {.type = VAGenericValueTypeInteger, .value.i = VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2}},
        {.type = VASurfaceAttribExternalBufferDescriptor, .flags = VA_SURFACE_ATTRIB_SETTABLE,
         .value = {.type = VAGenericValueTypePointer, .value.p = &descriptor}},
    };
    if (ftruncate(descriptor.objects[0].fd, size) != 0)
        return VA_STATUS_ERROR_ALLOCATION_FAILED;
    CHECK(vaCreateSurfaces, client->display, VA_RT_FORMAT_YUV420, client->width, client->height, surface, 1, attributes,
          2);
    close(descriptor.objects[0].fd);
    return VA_STATUS_SUCCESS;
}

static VAStatus create_inputs(struct client *client)
{
    VAStatus status = VA_STATUS_SUCCESS;
    for (unsigned i = 0; client->import && status == VA_STATUS_SUCCESS && i < CLIENT_INPUTS; i++)
        status = import_input(client, &client->inputs[i]);
    if (!client->import)
        CHECK(vaCreateSurfaces, client->display, VA_RT_FORMAT_YUV420, whole(client->width), whole(client->height),
              client->inputs, CLIENT_INPUTS, NULL, 0);
    return status;
}

VAStatus client_open_encoder(struct client *client, uint32_t width, uint32_t height)
{
    VAConfigAttrib attributes[] = {{VAConfigAttribRTFormat, VA_RT_FORMAT_YUV420},
                                   {VAConfigAttribRateControl,
                                    client->bits_per_second ? VA_RC_CBR : VA_RC_CQP}};
    client->width = width;
    client->height = height;
    client->frames = 0;
    client->sent_bits_per_second = 0;
    VAStatus status = choose_entrypoint(client);
    if (status != VA_STATUS_SUCCESS)
        return status;
    CHECK(vaCreateConfig, client->display, VAProfileH264Main, client->entrypoint, attributes, 2, &client->config);
    status = create_inputs(client);
    if (status != VA_STATUS_SUCCESS)
        return status;
    CHECK(vaCreateSurfaces, client->display, VA_RT_FORMAT_YUV420, whole(width), whole(height),
          client->reconstructions, CLIENT_RECONSTRUCTIONS, NULL, 0);
    CHECK(vaCreateContext, client->display, client->config, (int)whole(width), (int)whole(height), VA_PROGRESSIVE,
          NULL, 0, &client->context);
    uint32_t size = client->coded_size ? client->coded_size : whole(width) * whole(height) * 2 + 4096;
    for (unsigned i = 0; i < CLIENT_INPUTS; i++)
        CHECK(vaCreateBuffer, client->display, client->context, VAEncCodedBufferType, size, 1, NULL,
              &client->coded[i]);
    return VA_STATUS_SUCCESS;
}

/* A gradient with a square that moves 4 samples per frame. */
static void draw(uint8_t *data, const VAImage *image, uint32_t frame)
{
    for (uint32_t y = 0; y < image->height; y++)
        for (uint32_t x = 0; x < image->width; x++) {
            bool inside = x / 16 == frame / 4 % 4 && y < 16;
            data[image->offsets[0] + y * image->pitches[0] + x] = inside ? 220 : (uint8_t)(40 + x / 8 * 4 + y / 16 * 3);
        }
    for (uint32_t y = 0; y < image->height / 2u; y++)
        for (uint32_t x = 0; x < image->width; x++)
            data[image->offsets[1] + y * image->pitches[1] + x] = (uint8_t)(x % 2 ? 100 + y / 8 : 140 - frame % 16);
}

VAStatus client_fill(struct client *client, uint32_t slot, uint32_t frame)
{
    VAImageFormat format = {.fourcc = VA_FOURCC_NV12, .byte_order = VA_LSB_FIRST, .bits_per_pixel = 12};
    VAImage image;
    void *data;
    uint32_t width = input_size(client, client->width), height = input_size(client, client->height);
    CHECK(vaCreateImage, client->display, &format, (int)width, (int)height, &image);
    CHECK(vaMapBuffer, client->display, image.buf, &data);
    draw(data, &image, frame);
    CHECK(vaUnmapBuffer, client->display, image.buf);
    CHECK(vaPutImage, client->display, client->inputs[slot], image.image_id, 0, 0, width, height, 0, 0, width, height);
    CHECK(vaDestroyImage, client->display, image.image_id);
    return VA_STATUS_SUCCESS;
}

static VAStatus render_one(struct client *client, VABufferType type, void *data, unsigned size)
{
    VABufferID buffer;
    CHECK(vaCreateBuffer, client->display, client->context, type, size, 1, data, &buffer);
    VAStatus status = client_report("vaRenderPicture", vaRenderPicture(client->display, client->context, &buffer, 1));
    CHECK(vaDestroyBuffer, client->display, buffer);
    return status;
}

static VAStatus render_sequence(struct client *client)
{
    VAEncSequenceParameterBufferH264 sequence = {
        .level_idc = 41,
        .intra_period = 1000,
        .intra_idr_period = 1000,
        .ip_period = 1,
        .bits_per_second = client->bits_per_second,
        .max_num_ref_frames = 1,
        .picture_width_in_mbs = (uint16_t)(whole(client->width) / 16),
        .picture_height_in_mbs = (uint16_t)(whole(client->height) / 16),
        .frame_cropping_flag = whole(client->width) != client->width || whole(client->height) != client->height,
        .frame_crop_right_offset = (whole(client->width) - client->width) / 2,
        .frame_crop_bottom_offset = (whole(client->height) - client->height) / 2,
    };
    sequence.seq_fields.bits.chroma_format_idc = 1;
    sequence.seq_fields.bits.frame_mbs_only_flag = 1;
    sequence.seq_fields.bits.direct_8x8_inference_flag = 1;
    sequence.seq_fields.bits.log2_max_frame_num_minus4 = 4;
    sequence.seq_fields.bits.log2_max_pic_order_cnt_lsb_minus4 = 4;
    return render_one(client, VAEncSequenceParameterBufferType, &sequence, sizeof(sequence));
}

/* A misc parameter buffer holds its type and one structure. */
#define RENDER_MISC(client, misc_type, ...) \
    do { \
        struct { \
            VAEncMiscParameterType type; \
            __typeof__(__VA_ARGS__) value; \
        } misc = {misc_type, __VA_ARGS__}; \
        VAStatus misc_status = render_one(client, VAEncMiscParameterBufferType, &misc, sizeof(misc)); \
        if (misc_status != VA_STATUS_SUCCESS) \
            return misc_status; \
    } while (0)

static VAStatus render_rate(struct client *client)
{
    uint32_t rate = client->bits_per_second;
    RENDER_MISC(client, VAEncMiscParameterTypeFrameRate, (VAEncMiscParameterFrameRate){.framerate = 25});
    RENDER_MISC(client, VAEncMiscParameterTypeHRD,
                (VAEncMiscParameterHRD){.buffer_size = rate, .initial_buffer_fullness = rate / 4 * 3});
    VAEncMiscParameterRateControl control = {
        .bits_per_second = rate, .target_percentage = 100, .window_size = 1000};
    control.rc_flags.bits.disable_bit_stuffing = client->no_bit_stuffing;
    RENDER_MISC(client, VAEncMiscParameterTypeRateControl, control);
    client->sent_bits_per_second = rate;
    return VA_STATUS_SUCCESS;
}

static VAPictureH264 no_picture(void)
{
    return (VAPictureH264){.picture_id = VA_INVALID_SURFACE, .flags = VA_PICTURE_H264_INVALID};
}

static VAPictureH264 picture_of(const struct client *client, uint32_t frame)
{
    return (VAPictureH264){
        .picture_id = client->reconstructions[frame % (client->hasty ? 2 : CLIENT_RECONSTRUCTIONS)],
        .frame_idx = frame,
        .flags = VA_PICTURE_H264_SHORT_TERM_REFERENCE,
        .TopFieldOrderCnt = (int32_t)(2 * frame),
        .BottomFieldOrderCnt = (int32_t)(2 * frame),
    };
}

static VAStatus render_picture(struct client *client)
{
    uint32_t frame = client->frames;
    VAEncPictureParameterBufferH264 picture = {
        .CurrPic = picture_of(client, frame),
        .coded_buf = client->coded[frame % CLIENT_INPUTS],
        .frame_num = (uint16_t)(frame % 256),
        .pic_init_qp = 26,
    };
    picture.CurrPic.flags = 0;
    for (unsigned i = 0; i < 16; i++)
        picture.ReferenceFrames[i] = no_picture();
    if (frame > 0)
        picture.ReferenceFrames[0] = picture_of(client, frame - 1);
    picture.pic_fields.bits.idr_pic_flag = frame == 0;
    picture.pic_fields.bits.reference_pic_flag = 1;
    picture.pic_fields.bits.entropy_coding_mode_flag = 1;
    picture.pic_fields.bits.deblocking_filter_control_present_flag = 1;
    picture.pic_fields.bits.constrained_intra_pred_flag = client->refresh != 0;
    return render_one(client, VAEncPictureParameterBufferType, &picture, sizeof(picture));
}

static VAStatus render_slice(struct client *client)
{
    uint32_t frame = client->frames;
    VAEncSliceParameterBufferH264 slice = {
        .num_macroblocks = whole(client->width) / 16 * (whole(client->height) / 16),
        .macroblock_info = VA_INVALID_ID,
        .slice_type = frame == 0 ? 2 : 0,
        .pic_order_cnt_lsb = (uint16_t)(2 * frame % 256),
    };
    for (unsigned i = 0; i < 32; i++)
        slice.RefPicList0[i] = slice.RefPicList1[i] = no_picture();
    if (frame > 0)
        slice.RefPicList0[0] = picture_of(client, frame - 1);
    return render_one(client, VAEncSliceParameterBufferType, &slice, sizeof(slice));
}

/* The frame's part of a wave over the picture, from left to right or from top to bottom. */
static VAStatus render_refresh(struct client *client)
{
    unsigned length = whole(client->refresh == 'c' ? client->width : client->height) / 16;
    unsigned steps = (length + client->refresh_size - 1) / client->refresh_size;
    unsigned first = (client->frames - 1) % steps * client->refresh_size;
    unsigned left = length - first;
    VAEncMiscParameterRIR refresh = {
        .intra_insertion_location = (uint16_t)first,
        .intra_insert_size = (uint16_t)(left < client->refresh_size ? left : client->refresh_size),
        .qp_delta_for_inserted_intra = (uint8_t)client->refresh_qp_delta,
    };
    refresh.rir_flags.bits.enable_rir_column = client->refresh == 'c';
    refresh.rir_flags.bits.enable_rir_row = client->refresh == 'r';
    RENDER_MISC(client, VAEncMiscParameterTypeRIR, refresh);
    return VA_STATUS_SUCCESS;
}

static VAStatus render_regions(struct client *client)
{
    VAEncMiscParameterBufferROI regions = {
        .num_roi = client->region_count,
        .max_delta_qp = 51,
        .min_delta_qp = -51,
        .roi = client->regions ? client->regions : (VAEncROI *)(uintptr_t)4096,
    };
    regions.roi_flags.bits.roi_value_is_qp_delta = !client->priorities;
    /* Without the type's own structure: it holds a pointer, before which there is no padding. */
    uint8_t misc[sizeof(VAEncMiscParameterType) + sizeof(regions)];
    VAEncMiscParameterType type = VAEncMiscParameterTypeROI;
    memcpy(misc, &type, sizeof(type));
    memcpy(misc + sizeof(type), &regions, sizeof(regions));
    return render_one(client, VAEncMiscParameterBufferType, misc, sizeof(misc));
}

VAStatus client_render(struct client *client)
{
    VAStatus status = client->frames == 0 ? render_sequence(client) : VA_STATUS_SUCCESS;
    if (status == VA_STATUS_SUCCESS && client->bits_per_second != client->sent_bits_per_second)
        status = render_rate(client);
    if (status == VA_STATUS_SUCCESS)
        status = render_picture(client);
    bool renews = client->refresh && client->frames > 0 && client->frames != client->refresh_left_out;
    if (status == VA_STATUS_SUCCESS && renews)
        status = render_refresh(client);
    if (status == VA_STATUS_SUCCESS && client->region_count > 0)
        status = render_regions(client);
    if (status == VA_STATUS_SUCCESS)
        status = render_slice(client);
    return status;
}

VAStatus client_submit(struct client *client)
{
    uint32_t slot = client->frames % CLIENT_INPUTS;
    VAStatus status = VA_STATUS_SUCCESS;
    if (!client->still || client->frames < CLIENT_INPUTS)
        status = client_fill(client, slot, client->frames);
    if (status != VA_STATUS_SUCCESS)
        return status;
    CHECK(vaBeginPicture, client->display, client->context, client->inputs[slot]);
    status = client_render(client);
    VAStatus end = client_report("vaEndPicture", vaEndPicture(client->display, client->context));
    if (status == VA_STATUS_SUCCESS && end == VA_STATUS_SUCCESS)
        client->frames++;
    return status != VA_STATUS_SUCCESS ? status : end;
}

VAStatus client_collect(struct client *client, uint32_t frame, FILE *file)
{
    uint32_t slot = frame % CLIENT_INPUTS;
    void *mapped;
    VAStatus synchronised = vaSyncBuffer(client->display, client->coded[slot], VA_TIMEOUT_INFINITE);
    if (synchronised == VA_STATUS_ERROR_UNIMPLEMENTED)
        CHECK(vaSyncSurface, client->display, client->inputs[slot]);
    else if (client_report("vaSyncBuffer", synchronised) != VA_STATUS_SUCCESS)
        return synchronised;
    CHECK(vaMapBuffer, client->display, client->coded[slot], &mapped);
    const VACodedBufferSegment *segment = mapped;
    client->cut_short = (segment->status & VA_CODED_BUF_STATUS_SLICE_OVERFLOW_MASK) != 0;
    printf("frame %u size %u status 0x%x\n", frame, segment->size, segment->status & 0xff00);
    if (file && !(client->resumes && client->cut_short))
        fwrite(segment->buf, 1, segment->size, file);
    CHECK(vaUnmapBuffer, client->display, client->coded[slot]);
    return VA_STATUS_SUCCESS;
}

void client_resume(struct client *client, uint32_t frame)
{
    client->frames = frame;
    client->sent_bits_per_second = 0;
}

VAStatus client_close_encoder(struct client *client)
{
    for (unsigned i = 0; i < CLIENT_INPUTS; i++)
        CHECK(vaDestroyBuffer, client->display, client->coded[i]);
    CHECK(vaDestroyContext, client->display, client->context);
    CHECK(vaDestroySurfaces, client->display, client->inputs, CLIENT_INPUTS);
    CHECK(vaDestroySurfaces, client->display, client->reconstructions, CLIENT_RECONSTRUCTIONS);
    CHECK(vaDestroyConfig, client->display, client->config);
    return VA_STATUS_SUCCESS;
}

VAStatus client_close_display(struct client *client)
{
    CHECK(vaTerminate, client->display);
    close(client->node);
    return VA_STATUS_SUCCESS;
}
