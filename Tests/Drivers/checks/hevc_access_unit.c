/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which packed headers came, their order in the access unit (H.265 7.4.2.4.4), and what delimiters say. */
#include "hevc_checks.h"

/* Where a unit may stand: earlier places come first. */
static int place_of(uint32_t type)
{
    switch (type) {
    case HEVC_NAL_AUD: return 0;
    case HEVC_NAL_VPS:
    case HEVC_NAL_SPS:
    case HEVC_NAL_PPS:
    case HEVC_NAL_PREFIX_SEI: return 1;
    case HEVC_NAL_SUFFIX_SEI: return 3;
    default: return hevc_is_slice(type) ? 2 : -1;
    }
}

/* A set comes before those that refer to it. */
static void check_set_order(struct checker *checker, const struct packed_unit *unit, uint32_t *named)
{
    static const char *const names[SET_KINDS] = {
        "access-unit-sps-before-vps", "access-unit-pps-before-sps", "access-unit-pps-before-sps"};
    if (unit->class > UNIT_PPS)
        return;
    if (*named >> (unit->class + 1))
        finding(checker, names[unit->class], "H.265 7.4.2.4.2", "nal_unit_type %u follows a set that refers to it",
                unit->type);
    *named |= 1u << unit->class;
}

/* 7.4.2.2: the base layer only, and no temporal sub-layers for what holds for all. */
static void check_unit_header(struct checker *checker, const struct packed_unit *unit)
{
    uint32_t layer = (unit->bytes[0] & 1u) << 5 | unit->bytes[1] >> 3, temporal_id_plus1 = unit->bytes[1] & 7u;
    expect(checker, "unit-forbidden-bit", "H.265 7.4.2.2 forbidden_zero_bit", unit->bytes[0] >> 7, 0);
    expect(checker, "unit-layer-id", "H.265 7.4.2.2 nuh_layer_id", layer, 0);
    if (unit->class == UNIT_VPS || unit->class == UNIT_SPS)
        expect(checker, "unit-temporal-id", "H.265 7.4.2.2 nuh_temporal_id_plus1", temporal_id_plus1, 1);
}

static void check_unit_order(struct checker *checker)
{
    const struct collected *collected = &checker->collected;
    int latest = -1;
    bool delimited = false;
    uint32_t named = 0;
    for (uint32_t i = 0; i < collected->unit_count; i++) {
        const struct packed_unit *unit = &collected->units[i];
        if (!collected->headers[unit->header].taken || unit->type == UINT32_MAX)
            continue;
        int place = place_of(unit->type);
        check_unit_header(checker, unit);
        if (place < 0)
            continue;
        if (unit->type == HEVC_NAL_AUD && delimited)
            finding(checker, "access-unit-delimiter-repeated", "H.265 7.4.2.4.4", "a second one for the same picture");
        else if (place < latest)
            finding(checker, "access-unit-order", "H.265 7.4.2.4.4", "nal_unit_type %u behind a unit of place %d",
                    unit->type, latest);
        check_set_order(checker, unit, &named);
        delimited = delimited || unit->type == HEVC_NAL_AUD;
        if (place > latest)
            latest = place;
    }
}

/* A unit of the class came in a packed header that goes into the stream. */
static bool packed_unit_came(const struct checker *checker, enum unit_class class)
{
    for (uint32_t i = 0; i < checker->collected.unit_count; i++)
        if (checker->collected.units[i].class == class &&
            checker->collected.headers[checker->collected.units[i].header].taken)
            return true;
    return false;
}

void hevc_check_access_unit(struct checker *checker)
{
    bool idr = checker->collected.picture && checker->picture.picture.hevc.pic_fields.bits.idr_pic_flag;
    check_unit_order(checker);
    if (!idr)
        return;
    if (packed_kind_configured(checker, VAEncPackedHeaderSequence)) {
        if (!packed_unit_came(checker, UNIT_VPS))
            finding(checker, "packed-vps-missing", "va.h VA_ENC_PACKED_HEADER_SEQUENCE",
                    "the config asks for packed VPS and SPS, the IDR picture has no VPS");
        if (!packed_unit_came(checker, UNIT_SPS))
            finding(checker, "packed-sequence-missing", "va.h VA_ENC_PACKED_HEADER_SEQUENCE",
                    "the config asks for packed VPS and SPS, the IDR picture has no SPS");
    }
    if (packed_kind_configured(checker, VAEncPackedHeaderPicture) && !packed_unit_came(checker, UNIT_PPS))
        finding(checker, "packed-picture-missing", "va.h VA_ENC_PACKED_HEADER_PICTURE",
                "the config asks for a packed PPS, the IDR picture has none");
}

/* H.265 7.4.3.5: Table 7-2. */
static void check_delimiter(struct checker *checker, const struct packed_unit *unit)
{
    static const uint8_t allowed[3] = {1 << CODED_I, 1 << CODED_I | 1 << CODED_P,
                                       1 << CODED_I | 1 << CODED_P | 1 << CODED_B};
    if (unit->bit_count != 24 || (unit->bytes[2] & 0x1f) != 0x10) {
        finding(checker, "access-unit-delimiter-size", "H.265 7.3.2.5", "%zu bits, expected 24 with the stop bit",
                unit->bit_count);
        return;
    }
    uint32_t pic_type = unit->bytes[2] >> 5;
    for (uint32_t i = 0; i < checker->picture.slice_count; i++)
        if (pic_type > 2 || !(allowed[pic_type] >> checker->picture.slices[i].type & 1)) {
            finding(checker, "access-unit-delimiter-type", "H.265 7.4.3.5",
                    "pic_type %u, but a slice has slice_type %u", pic_type,
                    checker->picture.slices[i].header.hevc.slice_type);
            break;
        }
    expect(checker, "access-unit-delimiter-temporal-id", "H.265 7.4.2.2", unit->bytes[1] & 7u,
           checker->picture.slices[0].header.hevc.nal.nuh_temporal_id_plus1);
}

/* A parameter set in use must not change its content but at a random access point that begins a sequence. */
static void check_repeated(struct checker *checker)
{
    bool begins = hevc_is_irap(checker->picture.slices[0].header.hevc.nal.nal_unit_type) &&
                  checker->hevc.dpb.no_rasl_output;
    if (!begins && checker->history.has_active_sps && any_set_sent(checker, SET_SPS) &&
        checker->history.active.hevc != hevc_sps_digest(&checker->picture.sps.hevc))
        finding(checker, "sps-changed-outside-irap", "H.265 7.4.2.4.2",
                "the SPS differs from the one that the latest random access point activated");
}

void hevc_check_access_unit_content(struct checker *checker)
{
    const struct collected *collected = &checker->collected;
    for (uint32_t i = 0; i < collected->unit_count; i++)
        if (collected->headers[collected->units[i].header].taken && collected->units[i].type == HEVC_NAL_AUD)
            check_delimiter(checker, &collected->units[i]);
    hevc_check_enhancement(checker);
    check_repeated(checker);
}
