/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which packed headers came, their order in the access unit (H.264 7.4.1.2.3), and what delimiters and SEI say. */
#include "h264_checks.h"

#include <string.h>

/* Where a unit may stand: earlier places come first. */
static int place_of(uint32_t type)
{
    switch (type) {
    case H264_NAL_AUD: return 0;
    case H264_NAL_SPS: return 1;
    case H264_NAL_PPS:
    case H264_NAL_SEI: return 1;
    case H264_NAL_SLICE:
    case H264_NAL_IDR_SLICE: return 2;
    default: return -1;
    }
}

static void check_unit_order(struct checker *checker)
{
    const struct collected *collected = &checker->collected;
    int latest = -1;
    bool delimited = false, named_pps = false;
    for (uint32_t i = 0; i < collected->unit_count; i++) {
        const struct packed_unit *unit = &collected->units[i];
        int place = place_of(unit->type);
        if (!collected->headers[unit->header].taken || place < 0)
            continue;
        if (unit->type == H264_NAL_AUD && delimited)
            finding(checker, "access-unit-delimiter-repeated", "H.264 7.4.1.2.3", "a second one for the same picture");
        else if (place < latest)
            finding(checker, "access-unit-order", "H.264 7.4.1.2.3", "nal_unit_type %u behind a unit of place %d",
                    unit->type, latest);
        if (unit->type == H264_NAL_SPS && named_pps)
            finding(checker, "access-unit-pps-before-sps", "H.264 7.4.1.2.1", "the SPS follows a PPS");
        delimited = delimited || unit->type == H264_NAL_AUD;
        named_pps = named_pps || unit->type == H264_NAL_PPS;
        if (place > latest)
            latest = place;
    }
}

/* A unit of the type came in a packed header that goes into the stream. */
static bool packed_unit_came(const struct checker *checker, uint32_t type)
{
    for (uint32_t i = 0; i < checker->collected.unit_count; i++)
        if (checker->collected.units[i].type == type &&
            checker->collected.headers[checker->collected.units[i].header].taken)
            return true;
    return false;
}

void h264_check_access_unit(struct checker *checker)
{
    bool idr = checker->collected.picture && checker->picture.picture.h264.pic_fields.bits.idr_pic_flag;
    check_unit_order(checker);
    if (!idr)
        return;
    if (packed_kind_configured(checker, VAEncPackedHeaderSequence) && !packed_unit_came(checker, H264_NAL_SPS))
        finding(checker, "packed-sequence-missing", "va.h VA_ENC_PACKED_HEADER_SEQUENCE",
                "the config asks for a packed SPS, the IDR picture has none");
    if (packed_kind_configured(checker, VAEncPackedHeaderPicture) && !packed_unit_came(checker, H264_NAL_PPS))
        finding(checker, "packed-picture-missing", "va.h VA_ENC_PACKED_HEADER_PICTURE",
                "the config asks for a packed PPS, the IDR picture has none");
}

/* H.264 7.4.2.4: Table 7-5. */
static void check_delimiter(struct checker *checker, const struct packed_unit *unit)
{
    static const uint8_t allowed[8] = {1 << H264_SLICE_I, 1 << H264_SLICE_I | 1 << H264_SLICE_P,
                                       1 << H264_SLICE_I | 1 << H264_SLICE_P | 1 << H264_SLICE_B, 0,
                                       0, 1 << H264_SLICE_I, 1 << H264_SLICE_I | 1 << H264_SLICE_P,
                                       1 << H264_SLICE_I | 1 << H264_SLICE_P | 1 << H264_SLICE_B};
    if (unit->bit_count != 16 || (unit->bytes[1] & 0x1f) != 0x10) {
        finding(checker, "access-unit-delimiter-size", "H.264 7.3.2.4", "%zu bits, expected 16 with the stop bit",
                unit->bit_count);
        return;
    }
    uint32_t primary = unit->bytes[1] >> 5;
    for (uint32_t i = 0; i < checker->picture.slice_count; i++)
        if (!(allowed[primary] >> (checker->picture.slices[i].header.h264.slice_type % 5) & 1)) {
            finding(checker, "access-unit-delimiter-type", "H.264 7.4.2.4",
                    "primary_pic_type %u, but a slice has slice_type %u", primary,
                    checker->picture.slices[i].header.h264.slice_type);
            return;
        }
    if (unit->bytes[0] >> 5)
        finding(checker, "access-unit-delimiter-ref-idc", "H.264 7.4.1", "nal_ref_idc is %u", unit->bytes[0] >> 5);
}

void h264_check_access_unit_content(struct checker *checker)
{
    const struct collected *collected = &checker->collected;
    const struct h264_sps *sps = &checker->picture.sps.h264;
    for (uint32_t i = 0; i < collected->unit_count; i++)
        if (collected->headers[collected->units[i].header].taken && collected->units[i].type == H264_NAL_AUD)
            check_delimiter(checker, &collected->units[i]);
    h264_check_enhancement(checker);
    if (!checker->picture.idr && checker->history.has_active_sps && any_set_sent(checker, SET_SPS) &&
        memcmp(&checker->history.active.h264, sps, sizeof *sps) != 0)
        finding(checker, "sps-changed-outside-idr", "H.264 7.4.1.2.1",
                "the SPS differs from the one that the latest IDR picture activated");
}
