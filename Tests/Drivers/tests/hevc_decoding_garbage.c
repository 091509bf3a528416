/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random HEVC pictures for decoding, some of them damaged: whatever a client submits, judging and rebuilding end, and
 * what was judged to be decodable can be rebuilt or is refused with a reason.
 *
 *   hevc_decoding_garbage [PICTURES [SEED]]     prints how many were taken and rebuilt */
#include "../decoding/rebuild_hevc.h"
#include "support/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SURFACES 24
#define SLICES 3

struct submitted {
    VAPictureParameterBufferHEVC picture;
    VAIQMatrixBufferHEVC matrix;
    VASliceParameterBufferHEVC slices[SLICES];
    uint8_t data[SLICES][64];
    struct submitted_buffer buffers[2 + 2 * SLICES];
};

static struct random chance;
static struct rebuild_surface surfaces[SURFACES]; /* the id is the index */

static struct rebuild_surface look_up(void *token, VASurfaceID id)
{
    (void)token;
    return id < SURFACES ? surfaces[id] : (struct rebuild_surface){.surface = {.id = id}};
}

/* Pictures that were decoded lately, as references. */
static void plan_references(VAPictureParameterBufferHEVC *picture, uint32_t target)
{
    for (uint32_t i = 0; i < HEVC_FRAMES; i++) {
        VAPictureHEVC *frame = &picture->ReferenceFrames[i];
        *frame = (VAPictureHEVC){.picture_id = VA_INVALID_SURFACE, .flags = VA_PICTURE_HEVC_INVALID};
        if (picture->slice_parsing_fields.bits.IdrPicFlag || i >= 4 || random_chance(&chance, 30))
            continue;
        frame->picture_id = (target + SURFACES - 1 - i) % SURFACES;
        frame->pic_order_cnt = picture->CurrPic.pic_order_cnt - 1 - (int32_t)i;
        frame->flags = i == 3 ? VA_PICTURE_HEVC_RPS_LT_CURR | VA_PICTURE_HEVC_LONG_TERM_REFERENCE
                              : VA_PICTURE_HEVC_RPS_ST_CURR_BEFORE;
    }
}

static void plan_picture(VAPictureParameterBufferHEVC *picture, uint32_t number)
{
    const bool idr = number == 0 || random_chance(&chance, 10);
    *picture = (VAPictureParameterBufferHEVC){
        .CurrPic = {.picture_id = number % SURFACES, .pic_order_cnt = idr ? 0 : (int32_t)(number % 4096)},
        .pic_width_in_luma_samples = 64,
        .pic_height_in_luma_samples = 48,
        .sps_max_dec_pic_buffering_minus1 = 5,
        .log2_diff_max_min_luma_coding_block_size = 1,
        .log2_diff_max_min_transform_block_size = 2,
    };
    picture->pic_fields.bits.chroma_format_idc = 1;
    picture->pic_fields.bits.scaling_list_enabled_flag = random_chance(&chance, 30);
    picture->pic_fields.bits.weighted_pred_flag = random_chance(&chance, 30);
    picture->pic_fields.bits.tiles_enabled_flag = random_chance(&chance, 20);
    picture->num_tile_columns_minus1 = picture->num_tile_rows_minus1 = 1;
    picture->slice_parsing_fields.bits.IdrPicFlag = picture->slice_parsing_fields.bits.RapPicFlag = idr;
    picture->slice_parsing_fields.bits.sps_temporal_mvp_enabled_flag = 1;
    plan_references(picture, number % SURFACES);
}

static void plan_slices(struct submitted *submitted, uint32_t count)
{
    uint8_t named[HEVC_FRAMES];
    uint32_t length = 0;
    for (uint8_t i = 0; i < HEVC_FRAMES; i++)
        if (hevc_frame_is_used(&submitted->picture.ReferenceFrames[i]))
            named[length++] = i;
    for (uint32_t i = 0; i < count; i++) {
        VASliceParameterBufferHEVC *slice = &submitted->slices[i];
        *slice = (VASliceParameterBufferHEVC){
            .slice_data_size = sizeof(submitted->data[0]), .slice_data_byte_offset = 6, .slice_segment_address = i * 2,
            .collocated_ref_idx = 0xff, .num_ref_idx_l0_active_minus1 = (uint8_t)(length ? length - 1 : 0)};
        memset(slice->RefPicList, 0xff, sizeof(slice->RefPicList));
        slice->LongSliceFlags.fields.slice_type = length ? HEVC_SLICE_P : HEVC_SLICE_I;
        slice->LongSliceFlags.fields.LastSliceOfPic = i + 1 == count;
        for (uint32_t k = 0; k < length; k++)
            slice->RefPicList[0][k] = named[random_below(&chance, length)];
        for (size_t k = 0; k < sizeof(submitted->data[i]); k++)
            submitted->data[i][k] = (uint8_t)(random_chance(&chance, 50) ? 0 : random_below(&chance, 256));
    }
}

static void damage(void *bytes, size_t size)
{
    uint8_t *at = (uint8_t *)bytes + random_below(&chance, (uint32_t)size);
    *at = (uint8_t)(random_chance(&chance, 50) ? random_below(&chance, 256) : *at ^ 1u << random_below(&chance, 8));
}

static uint32_t list_buffers(struct submitted *submitted, uint32_t slices)
{
    uint32_t count = 0;
    submitted->buffers[count++] = (struct submitted_buffer){.type = VAPictureParameterBufferType, .count = 1,
                                                            .size = sizeof(submitted->picture),
                                                            .data = &submitted->picture};
    if (submitted->picture.pic_fields.bits.scaling_list_enabled_flag)
        submitted->buffers[count++] = (struct submitted_buffer){
            .type = VAIQMatrixBufferType, .size = sizeof(submitted->matrix), .count = 1, .data = &submitted->matrix};
    for (uint32_t i = 0; i < slices; i++) {
        submitted->buffers[count++] = (struct submitted_buffer){.type = VASliceParameterBufferType, .count = 1,
                                                                .size = sizeof(submitted->slices[i]),
                                                                .data = &submitted->slices[i]};
        submitted->buffers[count++] = (struct submitted_buffer){
            .type = VASliceDataBufferType, .size = sizeof(submitted->data[i]), .count = 1, .data = submitted->data[i]};
    }
    return count;
}

static void shorten(struct submitted_buffer *buffer)
{
    const uint32_t less = random_below(&chance, 64);
    buffer->size -= less < buffer->size ? less : buffer->size;
}

static void damage_some(struct submitted *submitted, uint32_t slices, uint32_t *buffers)
{
    if (random_chance(&chance, 40))
        return;
    for (uint32_t i = 0; i < 1 + random_below(&chance, 3); i++)
        switch (random_below(&chance, 8)) {
        case 0: damage(&submitted->matrix, sizeof(submitted->matrix)); break;
        case 1: shorten(&submitted->buffers[random_below(&chance, *buffers)]); break;
        case 2: *buffers -= random_below(&chance, *buffers); break;
        case 3: case 4: case 5: damage(&submitted->picture, offsetof(VAPictureParameterBufferHEVC, va_reserved)); break;
        default: damage(&submitted->slices[random_below(&chance, slices)],
                        offsetof(VASliceParameterBufferHEVC, va_reserved));
        }
}

/* Sanitizers see what is read beyond the end. */
static void isolate(struct submitted_buffer *buffers, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        void *copy = malloc(buffers[i].size ? buffers[i].size : 1);
        if (!copy)
            abort();
        memcpy(copy, buffers[i].data, buffers[i].size);
        buffers[i].data = copy;
    }
}

static bool rebuild(void *rebuilder, const struct rebuild_picture *picture)
{
    struct rebuilt *rebuilt = calloc(1, sizeof(*rebuilt));
    if (!rebuilder || !rebuilt)
        abort();
    bool good = hevc_rebuilding.rebuild(rebuilder, picture, NULL, rebuilt);
    if (good ? rebuilt->unit_count == 0 || !rebuilt->units[rebuilt->unit_count - 1].target : !rebuilt->failure)
        abort();
    for (uint32_t i = 0; i < rebuilt->unit_count; i++)
        bits_release(&rebuilt->units[i].stream);
    free(rebuilt);
    if (random_chance(&chance, 5))
        hevc_rebuilding.lost(rebuilder);
    return good;
}

int main(int count, char **arguments)
{
    const uint32_t pictures = count > 1 ? (uint32_t)atoi(arguments[1]) : 2000;
    chance.state = count > 2 ? (uint64_t)atoi(arguments[2]) : 1;
    static struct submitted submitted;
    uint32_t taken = 0, done = 0;
    void *rebuilder = hevc_rebuilding.create(VAProfileHEVCMain, 64, 48);
    for (uint32_t i = 0; i < SURFACES; i++)
        surfaces[i].surface = (struct submitted_surface){.id = i, .width = 64, .height = 48, .valid = true,
                                                         .rt_format = VA_RT_FORMAT_YUV420, .in_context = true};
    memset(&submitted.matrix, 16, sizeof(submitted.matrix));
    for (uint32_t number = 0; number < pictures; number++) {
        const uint32_t slices = 1 + random_below(&chance, SLICES);
        const struct rebuild_scene scene = {look_up, NULL};
        plan_picture(&submitted.picture, number);
        plan_slices(&submitted, slices);
        uint32_t buffers = list_buffers(&submitted, slices);
        damage_some(&submitted, slices, &buffers);
        isolate(submitted.buffers, buffers);
        struct rebuild_picture picture = {
            .place = JOURNAL_NOWHERE, .profile = VAProfileHEVCMain, .context_width = 64, .context_height = 48,
            .buffers = submitted.buffers, .buffer_count = buffers, .target = surfaces[number % SURFACES],
            .number = number + 1};
        if (hevc_rebuilding.judge(&picture, &scene) == VA_STATUS_SUCCESS) {
            bool good = rebuild(rebuilder, &picture);
            taken++;
            done += good;
            surfaces[number % SURFACES].number = good ? number + 1 : 0;
        }
        for (uint32_t i = 0; i < buffers; i++)
            free((void *)submitted.buffers[i].data);
    }
    hevc_rebuilding.destroy(rebuilder);
    printf("{\"pictures\": %u, \"taken\": %u, \"rebuilt\": %u}\n", pictures, taken, done);
    return 0;
}
