/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which packed headers came, their order in the access unit (H.264 7.4.1.2.3), and what delimiters and SEI say. */
#include "checker.h"

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
        if (!collected->headers[unit->header].taken)
            continue;
        if (place < 0) {
            if (unit->type != H264_NAL_FILLER && unit->type != UINT32_MAX)
                finding(checker, "access-unit-unit-type", "H.264 7.4.1 Table 7-1",
                        "nal_unit_type %u is none of a header in these profiles", unit->type);
            continue;
        }
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

static bool any_sent(const bool *sent, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (sent[i])
            return true;
    return false;
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

/* The id of a packed parameter set; UINT32_MAX when it cannot be read. */
static uint32_t parameter_set_id(const struct packed_unit *unit)
{
    struct h264_sps sps;
    struct h264_pps pps;
    if (unit->type == H264_NAL_SPS && h264_read_sps(&sps, unit->bytes, unit->bit_count, NULL, NULL, NULL))
        return sps.seq_parameter_set_id;
    if (unit->type == H264_NAL_PPS && h264_read_pps(&pps, unit->bytes, unit->bit_count, NULL, NULL, NULL))
        return pps.pic_parameter_set_id;
    return UINT32_MAX;
}

static bool packed_set_came(const struct checker *checker, uint32_t type, uint32_t id)
{
    const struct collected *collected = &checker->collected;
    for (uint32_t i = 0; i < collected->unit_count; i++)
        if (collected->units[i].type == type && collected->headers[collected->units[i].header].taken &&
            parameter_set_id(&collected->units[i]) == id)
            return true;
    return false;
}

/* A packed parameter set that the picture does not name helps nobody: the one that it names is missing. */
static void check_packed_ids(struct checker *checker)
{
    const VAEncPictureParameterBufferH264 *picture = &checker->picture.picture;
    if (packed_unit_came(checker, H264_NAL_SPS) &&
        !packed_set_came(checker, H264_NAL_SPS, picture->seq_parameter_set_id))
        finding(checker, "packed-sequence-id", "H.264 7.4.2.2 seq_parameter_set_id",
                "the IDR picture comes with a packed SPS, but not with the one that it names, %u",
                picture->seq_parameter_set_id);
    if (packed_unit_came(checker, H264_NAL_PPS) &&
        !packed_set_came(checker, H264_NAL_PPS, picture->pic_parameter_set_id))
        finding(checker, "packed-picture-id", "H.264 7.4.3 pic_parameter_set_id",
                "the IDR picture comes with a packed PPS, but not with the one that it names, %u",
                picture->pic_parameter_set_id);
}

void check_access_unit(struct checker *checker)
{
    bool idr = checker->collected.picture && checker->picture.picture.pic_fields.bits.idr_pic_flag;
    check_unit_order(checker);
    if (!idr)
        return;
    if (packed_kind_configured(checker, VAEncPackedHeaderSequence) && !packed_unit_came(checker, H264_NAL_SPS))
        finding(checker, "packed-sequence-missing", "va.h VA_ENC_PACKED_HEADER_SEQUENCE",
                "the config asks for a packed SPS, the IDR picture has none");
    if (packed_kind_configured(checker, VAEncPackedHeaderPicture) && !packed_unit_came(checker, H264_NAL_PPS))
        finding(checker, "packed-picture-missing", "va.h VA_ENC_PACKED_HEADER_PICTURE",
                "the config asks for a packed PPS, the IDR picture has none");
    check_packed_ids(checker);
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
        if (!(allowed[primary] >> (checker->picture.slices[i].header.slice_type % 5) & 1)) {
            finding(checker, "access-unit-delimiter-type", "H.264 7.4.2.4",
                    "primary_pic_type %u, but a slice has slice_type %u", primary,
                    checker->picture.slices[i].header.slice_type);
            return;
        }
    if (unit->bytes[0] >> 5)
        finding(checker, "access-unit-delimiter-ref-idc", "H.264 7.4.1", "nal_ref_idc is %u", unit->bytes[0] >> 5);
}

/* H.264 7.3.2.3: the messages fill the unit; returns whether a buffering period was among them. */
static bool check_messages(struct checker *checker, const struct packed_unit *unit)
{
    size_t size = (unit->bit_count + 7) / 8, at = 1;
    bool buffering = false;
    if (unit->bytes[0] >> 5)
        finding(checker, "sei-nal-ref-idc", "H.264 7.4.1", "nal_ref_idc is %u", unit->bytes[0] >> 5);
    while (at < size && !(unit->bytes[at] == 0x80 && at + 1 == size)) {
        size_t type = 0, length = 0;
        while (at < size && unit->bytes[at] == 0xff) {
            type += 255;
            at++;
        }
        type += at < size ? unit->bytes[at++] : 0;
        while (at < size && unit->bytes[at] == 0xff) {
            length += 255;
            at++;
        }
        length += at < size ? unit->bytes[at++] : 0;
        if (length >= size - at || at >= size) {
            finding(checker, "sei-size", "H.264 7.3.2.3.1", "message of type %zu has %zu bytes, %zu are left", type,
                    length, size - at);
            return buffering;
        }
        buffering = buffering || type == 0;
        at += length;
    }
    if (at >= size)
        finding(checker, "sei-trailing-bits", "H.264 7.3.2.11", "the unit has no stop bit behind its messages");
    return buffering;
}

void check_access_unit_content(struct checker *checker)
{
    const struct collected *collected = &checker->collected;
    const struct h264_sps *sps = &checker->picture.sps;
    bool buffering = false;
    for (uint32_t i = 0; i < collected->unit_count; i++) {
        const struct packed_unit *unit = &collected->units[i];
        if (!collected->headers[unit->header].taken)
            continue;
        if (unit->type == H264_NAL_AUD)
            check_delimiter(checker, unit);
        else if (unit->type == H264_NAL_SEI)
            buffering |= check_messages(checker, unit);
    }
    bool schedules = sps->vui_parameters_present_flag &&
                     (sps->vui.nal_hrd_parameters_present_flag || sps->vui.vcl_hrd_parameters_present_flag);
    if (checker->picture.idr && schedules && !buffering)
        finding(checker, "sei-buffering-period-missing", "H.264 D.2.2",
                "the SPS has HRD parameters, the IDR picture has no buffering period SEI message");
    if (!checker->picture.idr && checker->history.has_active_sps && any_sent(checker->sps_sent_now, 32) &&
        memcmp(&checker->history.active, sps, sizeof *sps) != 0)
        finding(checker, "sps-changed-outside-idr", "H.264 7.4.1.2.1",
                "the SPS differs from the one that the latest IDR picture activated");
}
