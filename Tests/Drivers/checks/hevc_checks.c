/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What HEVC is to the files that codecs share. */
#include "hevc_checks.h"

static uint32_t unit_type(const uint8_t *nal)
{
    return nal[0] >> 1 & 63u;
}

static enum unit_class unit_class(uint32_t type)
{
    if (hevc_is_slice(type))
        return UNIT_SLICE;
    switch (type) {
    case HEVC_NAL_VPS: return UNIT_VPS;
    case HEVC_NAL_SPS: return UNIT_SPS;
    case HEVC_NAL_PPS: return UNIT_PPS;
    case HEVC_NAL_AUD: return UNIT_AUD;
    case HEVC_NAL_FILLER: return UNIT_FILLER;
    case HEVC_NAL_PREFIX_SEI:
    case HEVC_NAL_SUFFIX_SEI: return UNIT_SEI;
    default: return UNIT_OTHER;
    }
}

static bool read_vps(void *set, const uint8_t *nal, size_t bit_count, size_t *end, struct syntax_error *error)
{
    return hevc_read_vps(set, nal, bit_count, end, NULL, error);
}

static bool read_sps(void *set, const uint8_t *nal, size_t bit_count, size_t *end, struct syntax_error *error)
{
    return hevc_read_sps(set, nal, bit_count, end, NULL, error);
}

static bool read_pps(void *set, const uint8_t *nal, size_t bit_count, size_t *end, struct syntax_error *error)
{
    return hevc_read_pps(set, nal, bit_count, end, NULL, error);
}

static void write_vps(struct bits *bits, const void *set)
{
    hevc_write_vps(bits, set);
}

static void write_sps(struct bits *bits, const void *set)
{
    hevc_write_sps(bits, set);
}

static void write_pps(struct bits *bits, const void *set)
{
    hevc_write_pps(bits, set);
}

static uint32_t vps_id(const void *set)
{
    return ((const struct hevc_vps *)set)->vps_video_parameter_set_id;
}

static uint32_t sps_id(const void *set)
{
    return ((const struct hevc_sps *)set)->sps_seq_parameter_set_id;
}

static uint32_t pps_id(const void *set)
{
    return ((const struct hevc_pps *)set)->pps_pic_parameter_set_id;
}

static struct sequence_rate sequence_rate(const union sequence_parameters *given)
{
    const VAEncSequenceParameterBufferHEVC *sequence = &given->hevc;
    struct sequence_rate rate = {.bits_per_second = sequence->bits_per_second};
    if (sequence->vui_fields.bits.vui_timing_info_present_flag && sequence->vui_num_units_in_tick &&
        sequence->vui_time_scale) {
        rate.numerator = sequence->vui_time_scale;
        rate.denominator = sequence->vui_num_units_in_tick;
    }
    return rate;
}

static struct slice_extent slice_extent(const union slice_parameters *slice)
{
    return (struct slice_extent){slice->hevc.slice_segment_address, slice->hevc.num_ctu_in_slice};
}

static void identify(const union picture_parameters *picture, const union slice_parameters *slice,
                     struct picture_identity *identity)
{
    (void)slice;
    identity->order_count = picture->hevc.decoded_curr_pic.pic_order_cnt;
    identity->idr = picture->hevc.pic_fields.bits.idr_pic_flag;
}

/* While a picture is understood: those that its reference picture set keeps. */
static bool reference(const struct checker *checker, uint32_t index, VASurfaceID *surface)
{
    const struct hevc_dpb *dpb = checker->have_headers ? &checker->hevc.dpb : &checker->dpb.hevc;
    for (uint32_t i = 0; i < dpb->count; i++) {
        if (dpb->pictures[i].marking == HEVC_UNUSED || index-- > 0)
            continue;
        *surface = dpb->pictures[i].surface;
        return true;
    }
    return false;
}

static void name_objects(struct understood_picture *picture)
{
    picture->reconstruction = picture->picture.hevc.decoded_curr_pic.picture_id;
    picture->coded_buffer = picture->picture.hevc.coded_buf;
}

static void check_buffers(struct checker *checker)
{
    hevc_check_sequence(checker);
    if (checker->collected.picture)
        hevc_check_picture(checker);
    hevc_check_slice_parameters(checker);
    check_surfaces(checker);
    hevc_check_access_unit(checker);
    check_rate(checker);
}

static void check_sets(struct checker *checker)
{
    hevc_check_vps(checker);
    hevc_check_sequence_sps(checker);
    hevc_check_picture_pps(checker);
    hevc_check_features(checker);
    hevc_check_profile(checker);
    hevc_check_levels(checker);
    hevc_check_hrd(checker);
    hevc_check_window(checker);
}

static void check_headers(struct checker *checker)
{
    hevc_check_picture_header(checker);
    hevc_check_slice_headers(checker);
    hevc_check_common_fields(checker);
    hevc_check_references(checker);
    hevc_check_order(checker);
    check_intra_refresh(checker);
    hevc_check_access_unit_content(checker);
}

const struct codec_checks hevc_checks = {
    .sequence_buffer = "va_enc_hevc.h VAEncSequenceParameterBufferHEVC",
    .picture_buffer = "va_enc_hevc.h VAEncPictureParameterBufferHEVC",
    .slice_buffer = "va_enc_hevc.h VAEncSliceParameterBufferHEVC",
    .coded_buffer = "va_enc_hevc.h VAEncPictureParameterBufferHEVC.coded_buf",
    .current_picture = "va_enc_hevc.h VAEncPictureParameterBufferHEVC.decoded_curr_pic",
    .packed_types = "va_enc_hevc.h VAEncPackedHeaderTypeHEVC",
    .packed_slice = "va_enc_hevc.h VAEncPackedHeaderHEVC_Slice",
    .trailing_bits = "H.265 7.3.2.11",
    .escapes = "H.265 7.4.2",
    .cropping = "H.265 7.4.3.2.1 conformance_window_flag",
    /* No level has a MinCr below 2: 1.5 times a picture of 4:2:0, or 1.875 times with 10 bits, halved. What the rate
     * saves up for a stream's first picture comes on top. */
    .largest_picture = "H.265 A.4.2",
    .bytes_per_macroblock = 400,
    .sequence_size = sizeof(VAEncSequenceParameterBufferHEVC),
    .picture_size = sizeof(VAEncPictureParameterBufferHEVC),
    .slice_size = sizeof(VAEncSliceParameterBufferHEVC),
    .unit_header_bits = 16,
    .sets = {
        [SET_VPS] = {"vps", "H.265 7.4.3.1", "H.265 7.4.3.2.1 sps_video_parameter_set_id", VAEncPackedHeaderSequence,
                     sizeof(struct hevc_vps), 16, read_vps, write_vps, vps_id},
        [SET_SPS] = {"sps", "H.265 7.4.3.2", "H.265 7.4.3.3.1 pps_seq_parameter_set_id", VAEncPackedHeaderSequence,
                     sizeof(struct hevc_sps), 16, read_sps, write_sps, sps_id},
        [SET_PPS] = {"pps", "H.265 7.4.3.3", "H.265 7.4.7.1 slice_pic_parameter_set_id", VAEncPackedHeaderPicture,
                     sizeof(struct hevc_pps), 64, read_pps, write_pps, pps_id},
    },
    .unit_type = unit_type,
    .unit_class = unit_class,
    .slice_address_finding = "slice-segment-address",
    .slice_empty_finding = "slice-ctus-zero",
    .slice_total_finding = "slice-ctus-total",
    .slice_extent = slice_extent,
    .sequence_rate = sequence_rate,
    .name_objects = name_objects,
    .understand = hevc_understand,
    .commit = hevc_commit,
    .identify = identify,
    .reference = reference,
    .check_buffers = check_buffers,
    .check_sets = check_sets,
    .check_headers = check_headers,
};
