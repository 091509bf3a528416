/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What H.264 is to the files that codecs share. */
#include "h264_checks.h"

static uint32_t unit_type(const uint8_t *nal)
{
    return nal[0] & 31u;
}

static enum unit_class unit_class(uint32_t type)
{
    switch (type) {
    case H264_NAL_SLICE:
    case H264_NAL_IDR_SLICE: return UNIT_SLICE;
    case H264_NAL_SEI: return UNIT_SEI;
    case H264_NAL_SPS: return UNIT_SPS;
    case H264_NAL_PPS: return UNIT_PPS;
    case H264_NAL_AUD: return UNIT_AUD;
    case H264_NAL_FILLER: return UNIT_FILLER;
    default: return UNIT_OTHER;
    }
}

static bool read_sps(void *set, const uint8_t *nal, size_t bit_count, size_t *end, struct syntax_error *error)
{
    return h264_read_sps(set, nal, bit_count, end, NULL, error);
}

static bool read_pps(void *set, const uint8_t *nal, size_t bit_count, size_t *end, struct syntax_error *error)
{
    return h264_read_pps(set, nal, bit_count, end, NULL, error);
}

static void write_sps(struct bits *bits, const void *set)
{
    h264_write_sps(bits, set);
}

static void write_pps(struct bits *bits, const void *set)
{
    h264_write_pps(bits, set);
}

static uint32_t sps_id(const void *set)
{
    return ((const struct h264_sps *)set)->seq_parameter_set_id;
}

static uint32_t pps_id(const void *set)
{
    return ((const struct h264_pps *)set)->pic_parameter_set_id;
}

static struct sequence_rate sequence_rate(const union sequence_parameters *given)
{
    const VAEncSequenceParameterBufferH264 *sequence = &given->h264;
    struct sequence_rate rate = {.bits_per_second = sequence->bits_per_second};
    if (sequence->vui_fields.bits.timing_info_present_flag && sequence->num_units_in_tick && sequence->time_scale) {
        rate.numerator = sequence->time_scale;
        rate.denominator = (uint64_t)sequence->num_units_in_tick * 2;
    }
    return rate;
}

static struct slice_extent slice_extent(const union slice_parameters *slice)
{
    return (struct slice_extent){slice->h264.macroblock_address, slice->h264.num_macroblocks};
}

static void identify(const union picture_parameters *given, const union slice_parameters *slice,
                     struct picture_identity *identity)
{
    const VAEncPictureParameterBufferH264 *picture = &given->h264;
    identity->order_count = picture->CurrPic.TopFieldOrderCnt;
    identity->idr = picture->pic_fields.bits.idr_pic_flag;
    identity->idr_pic_id = identity->idr ? slice->h264.idr_pic_id : 0;
}

static bool reference(const struct checker *checker, uint32_t index, VASurfaceID *surface)
{
    if (index >= checker->dpb.h264.count)
        return false;
    *surface = checker->dpb.h264.pictures[index].surface;
    return true;
}

static void name_objects(struct understood_picture *picture)
{
    picture->reconstruction = picture->picture.h264.CurrPic.picture_id;
    picture->coded_buffer = picture->picture.h264.coded_buf;
}

static void check_buffers(struct checker *checker)
{
    h264_check_sequence(checker);
    if (checker->collected.picture)
        h264_check_picture(checker);
    h264_check_slice_parameters(checker);
    check_surfaces(checker);
    h264_check_access_unit(checker);
    check_rate(checker);
}

static void check_sets(struct checker *checker)
{
    h264_check_sequence_sps(checker);
    h264_check_picture_pps(checker);
    h264_check_profile(checker);
    h264_check_levels(checker);
    h264_check_hrd(checker);
    h264_check_cropping(checker);
}

static void check_headers(struct checker *checker)
{
    h264_check_picture_header(checker);
    h264_check_slice_headers(checker);
    h264_check_common_fields(checker);
    h264_check_weights(checker);
    h264_check_references(checker);
    h264_check_order(checker);
    check_intra_refresh(checker);
    h264_check_access_unit_content(checker);
}

const struct codec_checks h264_checks = {
    .sequence_buffer = "va_enc_h264.h VAEncSequenceParameterBufferH264",
    .picture_buffer = "va_enc_h264.h VAEncPictureParameterBufferH264",
    .slice_buffer = "va_enc_h264.h VAEncSliceParameterBufferH264",
    .coded_buffer = "va_enc_h264.h VAEncPictureParameterBufferH264.coded_buf",
    .current_picture = "va_enc_h264.h VAEncPictureParameterBufferH264.CurrPic",
    .packed_types = "va_enc_h264.h VAEncPackedHeaderTypeH264",
    .packed_slice = "va_enc_h264.h VAEncPackedHeaderH264_Slice",
    .trailing_bits = "H.264 7.3.2.11",
    .escapes = "H.264 7.4.1",
    .cropping = "H.264 7.4.2.1.1 frame_cropping_flag",
    /* macroblock_layer() of a macroblock has at most 3200 bits; an I_PCM macroblock of 384 bytes fits. */
    .largest_picture = "H.264 A.3.1",
    .bytes_per_macroblock = 400,
    .sequence_size = sizeof(VAEncSequenceParameterBufferH264),
    .picture_size = sizeof(VAEncPictureParameterBufferH264),
    .slice_size = sizeof(VAEncSliceParameterBufferH264),
    .unit_header_bits = 8,
    .sets = {
        [SET_SPS] = {"sps", "H.264 7.4.2.1.1", "H.264 7.4.2.2 seq_parameter_set_id", VAEncPackedHeaderSequence,
                     sizeof(struct h264_sps), 32, read_sps, write_sps, sps_id},
        [SET_PPS] = {"pps", "H.264 7.4.2.2", "H.264 7.4.3 pic_parameter_set_id", VAEncPackedHeaderPicture,
                     sizeof(struct h264_pps), 256, read_pps, write_pps, pps_id},
    },
    .unit_type = unit_type,
    .unit_class = unit_class,
    .slice_address_finding = "slice-macroblock-address",
    .slice_empty_finding = "slice-macroblocks-zero",
    .slice_total_finding = "slice-macroblocks-total",
    .slice_extent = slice_extent,
    .sequence_rate = sequence_rate,
    .name_objects = name_objects,
    .understand = h264_understand,
    .commit = h264_commit,
    .identify = identify,
    .reference = reference,
    .check_buffers = check_buffers,
    .check_sets = check_sets,
    .check_headers = check_headers,
};
