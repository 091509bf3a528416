/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SEI units (H.265 7.3.2.4, Annex D): the messages fill the unit and stand in the right kind of unit; those that the
 * HRD lives by agree with the SPS and with the HRD that the driver was given; those on colour volumes are in range. */
#include "../hevc/visitor.h"
#include "hevc_checks.h"

#include <stdio.h>
#include <string.h>

/* What of the picture's messages is known while they are read. */
struct messages {
    bool any, buffering, timing;
};

static bool has_schedules(const struct hevc_sps *sps)
{
    return sps->vui_parameters_present_flag && sps->vui.vui_hrd_parameters_present_flag &&
           (sps->vui.hrd.nal_hrd_parameters_present_flag || sps->vui.hrd.vcl_hrd_parameters_present_flag);
}

/* D.2.1: a payload ends with its last element, or with a one and zeros up to the next byte. */
static bool ends_here(const struct syntax *s)
{
    size_t left = s->count - s->position;
    if (s->failed || left > 7)
        return false;
    return left == 0 || (s->bytes[s->position / 8] & ((1u << left) - 1)) == 1u << (left - 1);
}

static void check_end(struct checker *checker, const struct syntax *s, const char *word, const char *clause)
{
    char name[64];
    if (ends_here(s))
        return;
    snprintf(name, sizeof name, "sei-%s-size", word);
    finding(checker, name, clause, "%zu bits, the elements end at %zu", s->count, s->position);
}

/* D.2.2, the schedules of one kind */
static void read_initial_delays(struct checker *checker, struct syntax *s, bool nal, bool alternative)
{
    const struct hevc_sps *sps = &checker->picture.sps.hevc;
    const struct hevc_hrd *hrd = &sps->vui.hrd;
    unsigned length = hrd->initial_cpb_removal_delay_length_minus1 + 1;
    if (!(nal ? hrd->nal_hrd_parameters_present_flag : hrd->vcl_hrd_parameters_present_flag))
        return;
    uint32_t count = hrd->sub_layers[sps->sps_max_sub_layers_minus1].cpb_cnt_minus1 + 1;
    for (uint32_t i = 0; i < count && !s->failed; i++) {
        uint32_t delay = 0, other = 0;
        u(s, "initial_cpb_removal_delay", &delay, length);
        u(s, "initial_cpb_removal_offset", &other, length);
        if (alternative) {
            u(s, "initial_alt_cpb_removal_delay", &other, length);
            u(s, "initial_alt_cpb_removal_offset", &other, length);
        }
        struct schedule schedule = hevc_schedule(sps, nal, i);
        if (!s->failed)
            check_initial_delay(checker, &schedule, i == 0, delay, "H.265 D.3.2");
    }
}

/* D.2.2 */
static void check_buffering_period(struct checker *checker, struct syntax *s)
{
    const struct hevc_sps *sps = &checker->picture.sps.hevc;
    const struct hevc_hrd *hrd = &sps->vui.hrd;
    uint32_t id = 0, alternative = 0, ignored = 0;
    ue(s, "bp_seq_parameter_set_id", &id, 15);
    if (!s->failed)
        expect(checker, "sei-sps-id", "H.265 D.3.2 bp_seq_parameter_set_id", id, sps->sps_seq_parameter_set_id);
    if (!has_schedules(sps)) {
        finding(checker, "sei-buffering-period-unexpected", "H.265 D.3.2", "the SPS has no HRD parameters");
        return;
    }
    if (!hrd->sub_pic_hrd_params_present_flag)
        u(s, "irap_cpb_params_present_flag", &alternative, 1);
    if (alternative) {
        u(s, "cpb_delay_offset", &ignored, hrd->au_cpb_removal_delay_length_minus1 + 1);
        u(s, "dpb_delay_offset", &ignored, hrd->dpb_output_delay_length_minus1 + 1);
    }
    u(s, "concatenation_flag", &ignored, 1);
    u(s, "au_cpb_removal_delay_delta_minus1", &ignored, hrd->au_cpb_removal_delay_length_minus1 + 1);
    bool both = hrd->sub_pic_hrd_params_present_flag || alternative;
    read_initial_delays(checker, s, true, both);
    read_initial_delays(checker, s, false, both);
    check_end(checker, s, "buffering-period", "H.265 D.2.2");
}

/* D.2.3; `buffering`: the picture begins a buffering period */
static void check_pic_timing(struct checker *checker, struct syntax *s, bool buffering)
{
    const struct hevc_sps *sps = &checker->picture.sps.hevc;
    const struct hevc_hrd *hrd = &sps->vui.hrd;
    uint32_t pic_struct = 0, source = 0, ignored = 0, removal = 0;
    if (sps->vui.frame_field_info_present_flag) {
        u_in(s, "pic_struct", &pic_struct, 4, 0, 12);
        u_in(s, "source_scan_type", &source, 2, 0, 2);
        u(s, "duplicate_flag", &ignored, 1);
        if (!s->failed && pic_struct != 0 && pic_struct != 7 && pic_struct != 8)
            finding(checker, "sei-pic-struct", "H.265 Table D.2", "%u, but the sequence has frames only", pic_struct);
        if (!s->failed && source == 0)
            finding(checker, "sei-source-scan", "H.265 D.3.3 source_scan_type", "is 0, the source is progressive");
    }
    if (has_schedules(sps)) {
        u(s, "au_cpb_removal_delay_minus1", &removal, hrd->au_cpb_removal_delay_length_minus1 + 1);
        u(s, "pic_dpb_output_delay", &ignored, hrd->dpb_output_delay_length_minus1 + 1);
        if (hrd->sub_pic_hrd_params_present_flag)
            u(s, "pic_dpb_output_du_delay", &ignored, hrd->dpb_output_delay_du_length_minus1 + 1);
        if (!s->failed && !buffering && removal + 1 <= checker->history.removal_delay)
            finding(checker, "sei-cpb-removal-delay", "H.265 D.3.3", "%u, the picture before had %u", removal + 1,
                    checker->history.removal_delay);
        checker->history.removal_delay = buffering ? 0 : removal + 1;
    }
    if (!hrd->sub_pic_hrd_params_present_flag)
        check_end(checker, s, "pic-timing", "H.265 D.2.3");
}

/* D.2.28 and D.3.28: colour primaries in steps of 0.00002, luminance of 0.0001 candela per square metre. */
static void check_mastering_display(struct checker *checker, struct syntax *s)
{
    uint32_t x = 0, y = 0, most = 0, least = 0;
    for (unsigned i = 0; i < 4; i++) { /* three primaries and the white point */
        u(s, "display_primaries_x", &x, 16);
        u(s, "display_primaries_y", &y, 16);
        if (!s->failed && (x > 50000 || y > 50000))
            finding(checker, "sei-mastering-primaries", "H.265 D.3.28", "%s %u is %u, %u; allowed are 0 to 50000",
                    i < 3 ? "primary" : "white point", i, x, y);
    }
    u(s, "max_display_mastering_luminance", &most, 32);
    u(s, "min_display_mastering_luminance", &least, 32);
    if (!s->failed && least >= most)
        finding(checker, "sei-mastering-luminance", "H.265 D.3.28", "the least, %u, is not below the most, %u", least,
                most);
    check_end(checker, s, "mastering-display", "H.265 D.2.28");
}

/* D.2.35 and D.3.35 */
static void check_content_light(struct checker *checker, struct syntax *s)
{
    uint32_t content = 0, average = 0;
    u(s, "max_content_light_level", &content, 16);
    u(s, "max_pic_average_light_level", &average, 16);
    if (!s->failed && content && average > content)
        finding(checker, "sei-content-light", "H.265 D.3.35", "the largest average, %u, is above the largest light, %u",
                average, content);
    check_end(checker, s, "content-light", "H.265 D.2.35");
}

enum {
    BUFFERING_PERIOD = 0, PIC_TIMING = 1, FILLER_PAYLOAD = 3, USER_DATA_REGISTERED = 4, USER_DATA_UNREGISTERED = 5,
    POST_FILTER_HINT = 22, PICTURE_HASH = 132, MASTERING_DISPLAY = 137, CONTENT_LIGHT = 144,
};

/* D.2.1: which messages stand in prefix and suffix units. */
static void check_place(struct checker *checker, size_t type, bool suffix)
{
    bool either = type == FILLER_PAYLOAD || type == USER_DATA_REGISTERED || type == USER_DATA_UNREGISTERED ||
                  type == 17 || type == POST_FILTER_HINT;
    if (!either && suffix != (type == PICTURE_HASH || type == 146))
        finding(checker, suffix ? "sei-type-in-suffix" : "sei-type-in-prefix", "H.265 D.2.1", "payload type %zu", type);
}

/* payload_type and payload_size of 7.3.5: bytes of 255, then the rest. */
static size_t read_number(const struct packed_unit *unit, size_t size, size_t *at)
{
    size_t number = 0;
    while (*at < size && unit->bytes[*at] == 0xff) {
        number += 255;
        ++*at;
    }
    return number + (*at < size ? unit->bytes[(*at)++] : 0);
}

static void check_message(struct checker *checker, size_t type, struct syntax *s, struct messages *messages)
{
    switch (type) {
    case BUFFERING_PERIOD:
        check_buffering_period(checker, s);
        messages->buffering = true;
        break;
    case PIC_TIMING:
        check_pic_timing(checker, s, messages->buffering);
        messages->timing = true;
        break;
    case MASTERING_DISPLAY:
    case CONTENT_LIGHT:
        if (!hevc_is_irap(checker->picture.slices[0].header.hevc.nal.nal_unit_type))
            finding(checker, "sei-colour-volume-place", "H.265 D.3.28", "payload type %zu at no random access point",
                    type);
        if (type == MASTERING_DISPLAY)
            check_mastering_display(checker, s);
        else
            check_content_light(checker, s);
        break;
    default:
        break;
    }
    messages->any = true;
}

static void check_unit(struct checker *checker, const struct packed_unit *unit, struct messages *messages)
{
    size_t size = (unit->bit_count + 7) / 8, at = 2;
    while (at < size && !(unit->bytes[at] == 0x80 && at + 1 == size)) {
        size_t type = read_number(unit, size, &at), length = read_number(unit, size, &at);
        if (at >= size || length >= size - at) {
            finding(checker, "sei-size", "H.265 7.3.5", "message of type %zu has %zu bytes, %zu are left", type,
                    length, size - at);
            return;
        }
        check_place(checker, type, unit->type == HEVC_NAL_SUFFIX_SEI);
        if (type > 205)
            finding(checker, "sei-type-reserved", "H.265 D.2.1", "payload type %zu", type);
        struct syntax s = syntax_reader(unit->bytes + at, length * 8, NULL, NULL);
        check_message(checker, type, &s, messages);
        at += length;
    }
    if (at >= size)
        finding(checker, "sei-trailing-bits", "H.265 7.3.2.11", "the unit has no stop bit behind its messages");
}

void hevc_check_enhancement(struct checker *checker)
{
    const struct collected *collected = &checker->collected;
    const struct hevc_sps *sps = &checker->picture.sps.hevc;
    struct messages messages = {false, false, false};
    for (uint32_t i = 0; i < collected->unit_count; i++)
        if (collected->headers[collected->units[i].header].taken && collected->units[i].class == UNIT_SEI)
            check_unit(checker, &collected->units[i], &messages);
    /* D.3.2 and D.3.3: present where the SPS promises them, and only there. */
    bool promised = has_schedules(sps) || (sps->vui_parameters_present_flag && sps->vui.frame_field_info_present_flag);
    if (messages.timing && !promised)
        finding(checker, "sei-pic-timing-unexpected", "H.265 D.3.3",
                "the SPS has neither HRD parameters nor frame_field_info_present_flag");
    if (hevc_is_irap(checker->picture.slices[0].header.hevc.nal.nal_unit_type) && has_schedules(sps) &&
        !messages.buffering)
        finding(checker, "sei-buffering-period-missing", "H.265 D.3.2",
                "the SPS has HRD parameters, the random access point has no buffering period SEI message");
    if (promised && !messages.timing)
        finding(checker, "sei-pic-timing-missing", "H.265 D.3.3",
                "the SPS has HRD parameters or field information, the picture has no picture timing SEI message");
}
