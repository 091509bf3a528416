/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A client that decodes H.264, on /dev/dri/renderD128.
 *
 *   driver_decoding pictures COUNT        I pictures of grey macroblocks, each waited for; prints the status of each
 *   driver_decoding time COUNT WxH        P pictures of one slice with four references; prints the microseconds of CPU
 *                                         time that a picture takes
 *   driver_decoding garbage ROUNDS SEED   pictures with damaged parameters and random data; nothing may crash
 *
 * Prints "CALL STATUS" for calls that fail, garbage aside. */
#include "support/client.h"
#include "support/random.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SURFACES 6
#define LARGEST 65536

struct decoding {
    VADisplay display;
    int node;
    uint32_t width, height;
    VAConfigID config;
    VAContextID context;
    VASurfaceID surfaces[SURFACES];
    uint32_t pictures;
};

struct picture {
    VAPictureParameterBufferH264 parameters;
    VAIQMatrixBufferH264 matrices;
    VASliceParameterBufferH264 slice;
    uint8_t data[LARGEST];
    uint32_t size;
};

static bool open_decoder(struct decoding *decoding)
{
    int major, minor;
    decoding->node = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
    decoding->display = vaGetDisplayDRM(decoding->node);
    if (client_report("vaInitialize", vaInitialize(decoding->display, &major, &minor)))
        return false;
    if (client_report("vaCreateConfig", vaCreateConfig(decoding->display, VAProfileH264High, VAEntrypointVLD, NULL, 0,
                                                       &decoding->config)))
        return false;
    if (client_report("vaCreateSurfaces",
                      vaCreateSurfaces(decoding->display, VA_RT_FORMAT_YUV420, decoding->width, decoding->height,
                                       decoding->surfaces, SURFACES, NULL, 0)))
        return false;
    return !client_report("vaCreateContext",
                          vaCreateContext(decoding->display, decoding->config, (int)decoding->width,
                                          (int)decoding->height, VA_PROGRESSIVE, decoding->surfaces, SURFACES,
                                          &decoding->context));
}

static void close_decoder(struct decoding *decoding)
{
    client_report("vaDestroyContext", vaDestroyContext(decoding->display, decoding->context));
    client_report("vaDestroySurfaces", vaDestroySurfaces(decoding->display, decoding->surfaces, SURFACES));
    client_report("vaDestroyConfig", vaDestroyConfig(decoding->display, decoding->config));
    client_report("vaTerminate", vaTerminate(decoding->display));
    close(decoding->node);
}

static const VAPictureH264 none = {.picture_id = VA_INVALID_SURFACE, .flags = VA_PICTURE_H264_INVALID};

/* An I picture whose macroblocks are grey: Intra_16x16 with DC prediction takes the byte 0x27 in CAVLC. */
static void make_picture(const struct decoding *decoding, struct picture *picture)
{
    const uint32_t columns = (decoding->width + 15) / 16, rows = (decoding->height + 15) / 16;
    memset(picture, 0, sizeof(*picture));
    VAPictureParameterBufferH264 *parameters = &picture->parameters;
    parameters->CurrPic = (VAPictureH264){.picture_id = decoding->surfaces[decoding->pictures % SURFACES],
                                          .flags = VA_PICTURE_H264_SHORT_TERM_REFERENCE};
    for (unsigned i = 0; i < 16; i++)
        parameters->ReferenceFrames[i] = none;
    parameters->picture_width_in_mbs_minus1 = (uint16_t)(columns - 1);
    parameters->picture_height_in_mbs_minus1 = (uint16_t)(rows - 1);
    parameters->num_ref_frames = 4;
    parameters->seq_fields.bits.chroma_format_idc = 1;
    parameters->seq_fields.bits.frame_mbs_only_flag = 1;
    parameters->seq_fields.bits.direct_8x8_inference_flag = 1;
    parameters->pic_fields.bits.reference_pic_flag = 1;
    memset(&picture->matrices, 16, sizeof(picture->matrices));
    picture->data[0] = 0x65;
    picture->size = 4 + columns * rows;
    memset(picture->data + 4, 0x27, columns * rows);
    picture->data[picture->size++] = 0x80;
    VASliceParameterBufferH264 *slice = &picture->slice;
    slice->slice_data_size = picture->size;
    slice->slice_data_bit_offset = 32;
    slice->slice_type = 2;
    for (unsigned i = 0; i < 32; i++)
        slice->RefPicList0[i] = slice->RefPicList1[i] = none;
}

/* The same as a P picture whose references are the four pictures before. */
static void refer(const struct decoding *decoding, struct picture *picture)
{
    for (unsigned i = 0; i < 4 && i < decoding->pictures; i++) {
        const uint32_t number = decoding->pictures - 1 - i;
        const VAPictureH264 reference = {.picture_id = decoding->surfaces[number % SURFACES],
                                         .frame_idx = number,
                                         .flags = VA_PICTURE_H264_SHORT_TERM_REFERENCE,
                                         .TopFieldOrderCnt = (int32_t)number * 2,
                                         .BottomFieldOrderCnt = (int32_t)number * 2};
        picture->parameters.ReferenceFrames[i] = picture->slice.RefPicList0[i] = reference;
        picture->slice.num_ref_idx_l0_active_minus1 = (uint8_t)i;
        picture->slice.slice_type = 0;
    }
    picture->parameters.frame_num = (uint16_t)decoding->pictures;
    picture->parameters.CurrPic.TopFieldOrderCnt = picture->parameters.CurrPic.BottomFieldOrderCnt =
        (int32_t)decoding->pictures * 2;
}

static VAStatus create(struct decoding *decoding, VABufferType type, size_t size, void *data, VABufferID *buffer)
{
    return vaCreateBuffer(decoding->display, decoding->context, type, (unsigned)size, 1, data, buffer);
}

static VAStatus submit(struct decoding *decoding, struct picture *picture)
{
    VABufferID buffers[4];
    const VASurfaceID target = decoding->surfaces[decoding->pictures++ % SURFACES];
    VAStatus status = create(decoding, VAPictureParameterBufferType, sizeof(picture->parameters), &picture->parameters,
                             &buffers[0]);
    status |= create(decoding, VAIQMatrixBufferType, sizeof(picture->matrices), &picture->matrices, &buffers[1]);
    status |= create(decoding, VASliceParameterBufferType, sizeof(picture->slice), &picture->slice, &buffers[2]);
    status |= create(decoding, VASliceDataBufferType, picture->size, picture->data, &buffers[3]);
    if (status)
        return status;
    status = vaBeginPicture(decoding->display, decoding->context, target);
    if (!status)
        status = vaRenderPicture(decoding->display, decoding->context, buffers, 4);
    if (!status)
        status = vaEndPicture(decoding->display, decoding->context);
    for (unsigned i = 0; i < 4; i++)
        vaDestroyBuffer(decoding->display, buffers[i]);
    return status;
}

static void print_errors(struct decoding *decoding, VASurfaceID surface)
{
    void *list = NULL;
    if (vaQuerySurfaceError(decoding->display, surface, VA_STATUS_ERROR_DECODING_ERROR, &list) != VA_STATUS_SUCCESS)
        return;
    for (const VASurfaceDecodeMBErrors *error = list; error->status != -1; error++)
        printf("macroblocks %u to %u\n", error->start_mb, error->end_mb);
}

static int run_pictures(struct decoding *decoding, unsigned count)
{
    static struct picture picture;
    for (unsigned i = 0; i < count; i++) {
        make_picture(decoding, &picture);
        const VASurfaceID surface = decoding->surfaces[decoding->pictures % SURFACES];
        client_report("vaEndPicture", submit(decoding, &picture));
        const VAStatus status = vaSyncSurface(decoding->display, surface);
        printf("picture %u 0x%x\n", i, status);
        if (status == VA_STATUS_ERROR_DECODING_ERROR)
            print_errors(decoding, surface);
    }
    return 0;
}

static double processor_microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int run_time(struct decoding *decoding, unsigned count)
{
    static struct picture picture;
    const double start = processor_microseconds();
    for (unsigned i = 0; i < count; i++) {
        const VASurfaceID surface = decoding->surfaces[decoding->pictures % SURFACES];
        make_picture(decoding, &picture);
        refer(decoding, &picture);
        if (client_report("vaEndPicture", submit(decoding, &picture)) ||
            client_report("vaSyncSurface", vaSyncSurface(decoding->display, surface)))
            return 1;
    }
    printf("%.1f microseconds\n", (processor_microseconds() - start) / count);
    return 0;
}

static void damage(uint8_t *bytes, size_t size, struct random *random)
{
    static const uint8_t odd[] = {0, 1, 2, 3, 4, 7, 0x7f, 0x80, 0xff, 0xfe};
    for (uint32_t hits = random_below(random, 3); hits > 0; hits--)
        bytes[random_below(random, (uint32_t)size)] =
            random_chance(random, 50) ? odd[random_below(random, sizeof(odd))] : (uint8_t)random_below(random, 256);
}

static int run_garbage(struct decoding *decoding, unsigned rounds, uint64_t seed)
{
    static struct picture picture;
    struct random random = {seed};
    unsigned accepted = 0;
    for (unsigned i = 0; i < rounds; i++) {
        make_picture(decoding, &picture);
        if (random_chance(&random, 75))
            refer(decoding, &picture);
        if (random_chance(&random, 25))
            picture.parameters.pic_fields.bits.entropy_coding_mode_flag = 1;
        if (random_chance(&random, 25)) {
            picture.parameters.seq_fields.bits.frame_mbs_only_flag = 0;
            picture.parameters.pic_fields.bits.field_pic_flag = random_below(&random, 2);
            picture.parameters.seq_fields.bits.mb_adaptive_frame_field_flag = random_below(&random, 2);
            picture.parameters.CurrPic.flags |= 2u << random_below(&random, 2);
        }
        if (random_chance(&random, 50))
            picture.slice.slice_type = (uint8_t)(random_below(&random, 3));
        picture.slice.num_ref_idx_l1_active_minus1 = (uint8_t)(random_below(&random, 2));
        damage((uint8_t *)&picture.parameters, sizeof(picture.parameters) - 16, &random);
        damage((uint8_t *)&picture.matrices, sizeof(picture.matrices), &random);
        damage((uint8_t *)&picture.slice, sizeof(picture.slice), &random);
        damage((uint8_t *)&picture.slice, 32, &random);
        damage(picture.data, picture.size, &random);
        accepted += submit(decoding, &picture) == VA_STATUS_SUCCESS;
        if (random_chance(&random, 12))
            vaSyncSurface(decoding->display, decoding->surfaces[random_below(&random, SURFACES)]);
    }
    for (unsigned i = 0; i < SURFACES; i++)
        vaSyncSurface(decoding->display, decoding->surfaces[i]);
    printf("%u of %u were accepted\n", accepted, rounds);
    return 0;
}

int main(int count, char **arguments)
{
    struct decoding decoding = {.width = 64, .height = 64};
    if (count < 3)
        return 2;
    if (strcmp(arguments[1], "time") == 0 && count > 3 &&
        sscanf(arguments[3], "%ux%u", &decoding.width, &decoding.height) != 2)
        return 2;
    if (!open_decoder(&decoding))
        return 1;
    const unsigned number = (unsigned)atoi(arguments[2]);
    int status = 2;
    if (strcmp(arguments[1], "pictures") == 0)
        status = run_pictures(&decoding, number);
    else if (strcmp(arguments[1], "time") == 0)
        status = run_time(&decoding, number);
    else if (strcmp(arguments[1], "garbage") == 0)
        status = run_garbage(&decoding, number, count > 3 ? (uint64_t)atoll(arguments[3]) : 1);
    close_decoder(&decoding);
    return status;
}
