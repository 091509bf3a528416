/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Preloaded into a client that decodes: changes one value of what it submits, for tests of the judge and of the
 * reference driver's decoder.
 *
 *   DECODING_MISTAKE=BUFFER.FIELD@NUMBER+VALUE     adds (as often in the buffer as there are elements)
 *   DECODING_MISTAKE=BUFFER.FIELD@NUMBER^VALUE     flips bits
 *   DECODING_MISTAKE=BUFFER.FIELD@NUMBER~          swaps the value with the one behind it, of the same size
 *
 * BUFFER is picture, matrix or slice (parameters); FIELD is one of the table's, or OFFSET:SIZE in bytes; NUMBER counts
 * the buffers of that type that the client creates, from 0; `*` is all of them. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <va/va.h>

struct place {
    const char *name;
    VABufferType type;
    size_t offset, size;
};

#define PLACE(buffer, type, structure, field) \
    {buffer "." #field, type, offsetof(structure, field), sizeof(((structure *)0)->field)}
#define OF_PICTURE(field) PLACE("picture", VAPictureParameterBufferType, VAPictureParameterBufferH264, field)
#define OF_MATRIX(field) PLACE("matrix", VAIQMatrixBufferType, VAIQMatrixBufferH264, field)
#define OF_SLICE(field) PLACE("slice", VASliceParameterBufferType, VASliceParameterBufferH264, field)

static const struct place places[] = {
    OF_PICTURE(CurrPic.picture_id), OF_PICTURE(CurrPic.flags), OF_PICTURE(CurrPic.TopFieldOrderCnt),
    OF_PICTURE(CurrPic.BottomFieldOrderCnt), OF_PICTURE(ReferenceFrames[0]), OF_PICTURE(ReferenceFrames[0].picture_id),
    OF_PICTURE(ReferenceFrames[0].flags), OF_PICTURE(ReferenceFrames[0].frame_idx),
    OF_PICTURE(ReferenceFrames[0].TopFieldOrderCnt), OF_PICTURE(picture_width_in_mbs_minus1),
    OF_PICTURE(picture_height_in_mbs_minus1), OF_PICTURE(bit_depth_luma_minus8), OF_PICTURE(num_ref_frames),
    OF_PICTURE(seq_fields), OF_PICTURE(pic_init_qp_minus26), OF_PICTURE(chroma_qp_index_offset),
    OF_PICTURE(second_chroma_qp_index_offset), OF_PICTURE(pic_fields), OF_PICTURE(frame_num),
    OF_MATRIX(ScalingList4x4[0][1]), OF_MATRIX(ScalingList4x4[3][1]), OF_MATRIX(ScalingList8x8[0][1]),
    OF_MATRIX(ScalingList8x8[1][1]), OF_SLICE(slice_data_size), OF_SLICE(slice_data_offset),
    OF_SLICE(slice_data_flag), OF_SLICE(slice_data_bit_offset), OF_SLICE(first_mb_in_slice), OF_SLICE(slice_type),
    OF_SLICE(direct_spatial_mv_pred_flag), OF_SLICE(num_ref_idx_l0_active_minus1),
    OF_SLICE(num_ref_idx_l1_active_minus1), OF_SLICE(cabac_init_idc), OF_SLICE(slice_qp_delta),
    OF_SLICE(disable_deblocking_filter_idc), OF_SLICE(slice_alpha_c0_offset_div2),
    OF_SLICE(slice_beta_offset_div2), OF_SLICE(RefPicList0[0]), OF_SLICE(RefPicList0[0].picture_id),
    OF_SLICE(RefPicList1[0]), OF_SLICE(RefPicList1[0].picture_id), OF_SLICE(luma_log2_weight_denom),
    OF_SLICE(luma_weight_l0_flag), OF_SLICE(luma_weight_l0[0]), OF_SLICE(luma_offset_l0[0]),
    OF_SLICE(chroma_weight_l0[0][0]), OF_SLICE(chroma_offset_l0[0][0]),
};

static struct mistake {
    bool given, every;
    VABufferType type;
    size_t offset, size;
    unsigned long number;
    char action;
    long value;
    unsigned long seen;
} mistake;

static void stop(const char *text)
{
    fprintf(stderr, "DECODING_MISTAKE: \"%s\" is not understood\n", text);
    exit(99);
}

static bool find_place(const char *name, struct mistake *found)
{
    static const struct {
        const char *prefix;
        VABufferType type;
    } types[] = {{"picture.", VAPictureParameterBufferType}, {"matrix.", VAIQMatrixBufferType},
                 {"slice.", VASliceParameterBufferType}};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        if (strcmp(places[i].name, name) == 0) {
            found->type = places[i].type;
            found->offset = places[i].offset;
            found->size = places[i].size;
            return true;
        }
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        const size_t length = strlen(types[i].prefix);
        found->type = types[i].type;
        if (strncmp(name, types[i].prefix, length) == 0)
            return sscanf(name + length, "%zu:%zu", &found->offset, &found->size) == 2;
    }
    return false;
}

__attribute__((constructor)) static void read_mistake(void)
{
    const char *text = getenv("DECODING_MISTAKE");
    if (!text || !*text)
        return;
    char name[128];
    const char *at = strchr(text, '@');
    if (!at || (size_t)(at - text) >= sizeof(name))
        stop(text);
    snprintf(name, sizeof(name), "%.*s", (int)(at - text), text);
    if (!find_place(name, &mistake))
        stop(text);
    char *end = (char *)at + 2;
    mistake.every = at[1] == '*';
    if (!mistake.every)
        mistake.number = strtoul(at + 1, &end, 10);
    mistake.action = *end;
    if (!*end || !strchr("+^~", *end))
        stop(text);
    mistake.value = strtol(end + 1, NULL, 0);
    mistake.given = true;
}

static void change(unsigned char *element, size_t size)
{
    const size_t needed = mistake.action == '~' ? 2 * mistake.size : mistake.size;
    if (mistake.offset + needed > size)
        return;
    unsigned char *at = element + mistake.offset;
    if (mistake.action == '~') {
        for (size_t i = 0; i < mistake.size; i++) {
            const unsigned char kept = at[i];
            at[i] = at[i + mistake.size];
            at[i + mistake.size] = kept;
        }
        return;
    }
    unsigned long value = 0;
    memcpy(&value, at, mistake.size < sizeof(value) ? mistake.size : sizeof(value));
    value = mistake.action == '+' ? value + (unsigned long)mistake.value : value ^ (unsigned long)mistake.value;
    memcpy(at, &value, mistake.size < sizeof(value) ? mistake.size : sizeof(value));
}

__attribute__((visibility("default"))) VAStatus
vaCreateBuffer(VADisplay display, VAContextID context, VABufferType type, unsigned int size, unsigned int count,
               void *data, VABufferID *buffer)
{
    VAStatus (*real)(VADisplay, VAContextID, VABufferType, unsigned int, unsigned int, void *, VABufferID *);
    *(void **)&real = dlsym(RTLD_NEXT, "vaCreateBuffer");
    unsigned char *copy = NULL;
    if (mistake.given && type == mistake.type && data) {
        if (mistake.every || mistake.seen == mistake.number)
            copy = malloc((size_t)size * count);
        mistake.seen++;
    }
    if (copy) {
        memcpy(copy, data, (size_t)size * count);
        for (unsigned i = 0; i < count; i++)
            change(copy + (size_t)i * size, size);
    }
    VAStatus status = real(display, context, type, size, count, copy ? copy : data, buffer);
    free(copy);
    return status;
}
