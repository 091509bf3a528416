/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SEI units (H.264 7.3.2.3, Annex D): the messages fill the unit, and those that the HRD lives by agree with the SPS
 * and with the HRD that the driver was given. */
#include "../h264/visitor.h"
#include "h264_checks.h"

enum { BUFFERING_PERIOD = 0, PIC_TIMING = 1, RECOVERY_POINT = 6 };

/* Table of D.1.1: the types in use; those between and beyond are reserved. */
static bool is_reserved(size_t type)
{
    return (type > 56 && type < 128) || type > 205;
}

static bool has_schedules(const struct h264_vui *vui)
{
    return vui->nal_hrd_parameters_present_flag || vui->vcl_hrd_parameters_present_flag;
}

/* D.1.1: a payload ends with its last element, or with a one and zeros up to the next byte. */
static bool ends_here(const struct syntax *s)
{
    size_t left = s->count - s->position;
    if (s->failed || left > 7)
        return false;
    return left == 0 || (s->bytes[s->position / 8] & ((1u << left) - 1)) == 1u << (left - 1);
}

/* D.1.2, the schedules of one HRD */
static void read_initial_delays(struct checker *checker, struct syntax *s, const struct h264_hrd *hrd)
{
    unsigned length = hrd->initial_cpb_removal_delay_length_minus1 + 1;
    for (uint32_t i = 0; i <= hrd->cpb_cnt_minus1 && !s->failed; i++) {
        uint32_t delay = 0, offset = 0;
        u(s, "initial_cpb_removal_delay", &delay, length);
        u(s, "initial_cpb_removal_delay_offset", &offset, length);
        struct schedule schedule = h264_schedule(hrd, i);
        if (!s->failed)
            check_initial_delay(checker, &schedule, i == 0, delay, "H.264 D.2.2");
    }
}

/* D.1.2 */
static void check_buffering_period(struct checker *checker, struct syntax *s)
{
    const struct h264_sps *sps = &checker->picture.sps.h264;
    uint32_t id = 0;
    ue(s, "seq_parameter_set_id", &id, 31);
    if (!s->failed)
        expect(checker, "sei-sps-id", "H.264 D.2.2 seq_parameter_set_id", id, sps->seq_parameter_set_id);
    if (sps->vui_parameters_present_flag && sps->vui.nal_hrd_parameters_present_flag)
        read_initial_delays(checker, s, &sps->vui.nal_hrd);
    if (sps->vui_parameters_present_flag && sps->vui.vcl_hrd_parameters_present_flag)
        read_initial_delays(checker, s, &sps->vui.vcl_hrd);
    if (!ends_here(s))
        finding(checker, "sei-buffering-period-size", "H.264 D.1.2", "%zu bits, the elements end at %zu", s->count,
                s->position);
}

/* D.1.3, one clock timestamp */
static void read_clock_timestamp(struct syntax *s, uint32_t time_offset_length)
{
    uint32_t full = 0, flag = 0, ignored = 0;
    u(s, "ct_type", &ignored, 2);
    u(s, "nuit_field_based_flag", &ignored, 1);
    u_in(s, "counting_type", &ignored, 5, 0, 6);
    u(s, "full_timestamp_flag", &full, 1);
    u(s, "discontinuity_flag", &ignored, 1);
    u(s, "cnt_dropped_flag", &ignored, 1);
    u(s, "n_frames", &ignored, 8);
    static const struct { const char *name; unsigned bits; uint32_t maximum; } parts[] = {
        {"seconds_value", 6, 59}, {"minutes_value", 6, 59}, {"hours_value", 5, 23}};
    for (unsigned i = 0; i < 3; i++) {
        if (!full)
            u(s, "seconds_flag", &flag, 1);
        if (!full && !flag)
            break;
        u_in(s, parts[i].name, &ignored, parts[i].bits, 0, parts[i].maximum);
    }
    u(s, "time_offset", &ignored, time_offset_length);
}

/* D.1.3 and D.2.3; `buffering`: the picture begins a buffering period */
static void check_pic_timing(struct checker *checker, struct syntax *s, bool buffering)
{
    static const uint8_t timestamps[9] = {1, 1, 1, 2, 2, 3, 3, 2, 3};
    const struct h264_vui *vui = &checker->picture.sps.h264.vui;
    const struct h264_hrd *hrd = vui->nal_hrd_parameters_present_flag ? &vui->nal_hrd : &vui->vcl_hrd;
    uint32_t removal = 0, output = 0, pic_struct = 0, flag = 0;
    if (has_schedules(vui)) {
        u(s, "cpb_removal_delay", &removal, hrd->cpb_removal_delay_length_minus1 + 1);
        u(s, "dpb_output_delay", &output, hrd->dpb_output_delay_length_minus1 + 1);
        if (!s->failed && !buffering && removal <= checker->history.removal_delay)
            finding(checker, "sei-cpb-removal-delay", "H.264 D.2.3", "%u, the picture before had %u", removal,
                    checker->history.removal_delay);
        checker->history.removal_delay = buffering ? 0 : removal;
    }
    if (vui->pic_struct_present_flag) {
        u_in(s, "pic_struct", &pic_struct, 4, 0, 8);
        for (unsigned i = 0; !s->failed && i < timestamps[pic_struct]; i++) {
            u(s, "clock_timestamp_flag", &flag, 1);
            if (flag)
                read_clock_timestamp(s, has_schedules(vui) ? hrd->time_offset_length : 24);
        }
        if (!s->failed && pic_struct != 0 && pic_struct < 7 && checker->picture.sps.h264.frame_mbs_only_flag)
            finding(checker, "sei-pic-struct", "H.264 Table D-1", "%u, but the sequence has frames only", pic_struct);
    }
    if (!ends_here(s))
        finding(checker, "sei-pic-timing-size", "H.264 D.1.3", "%zu bits, the elements end at %zu", s->count,
                s->position);
}

/* payload_type and payload_size of 7.3.2.3.1: bytes of 255, then the rest. */
static size_t read_number(const struct packed_unit *unit, size_t size, size_t *at)
{
    size_t number = 0;
    while (*at < size && unit->bytes[*at] == 0xff) {
        number += 255;
        ++*at;
    }
    return number + (*at < size ? unit->bytes[(*at)++] : 0);
}

/* What the picture's messages were. */
struct messages {
    bool any, buffering, timing, recovery;
};

static void check_unit(struct checker *checker, const struct packed_unit *unit, struct messages *messages)
{
    size_t size = (unit->bit_count + 7) / 8, at = 1;
    if (unit->bytes[0] >> 5)
        finding(checker, "sei-nal-ref-idc", "H.264 7.4.1", "nal_ref_idc is %u", unit->bytes[0] >> 5);
    while (at < size && !(unit->bytes[at] == 0x80 && at + 1 == size)) {
        size_t type = read_number(unit, size, &at), length = read_number(unit, size, &at);
        if (at >= size || length >= size - at) {
            finding(checker, "sei-size", "H.264 7.3.2.3.1", "message of type %zu has %zu bytes, %zu are left", type,
                    length, size - at);
            return;
        }
        if (is_reserved(type))
            finding(checker, "sei-type-reserved", "H.264 D.1.1", "payload type %zu", type);
        struct syntax s = syntax_reader(unit->bytes + at, length * 8, NULL, NULL);
        if (type == BUFFERING_PERIOD) {
            if (messages->any)
                finding(checker, "sei-buffering-period-order", "H.264 7.4.1.2.3",
                        "the buffering period is not the first message of the picture");
            check_buffering_period(checker, &s);
            messages->buffering = true;
        } else if (type == PIC_TIMING) {
            check_pic_timing(checker, &s, messages->buffering);
            messages->timing = true;
        } else if (type == RECOVERY_POINT) {
            messages->recovery = true;
        }
        messages->any = true;
        at += length;
    }
    if (at >= size)
        finding(checker, "sei-trailing-bits", "H.264 7.3.2.11", "the unit has no stop bit behind its messages");
}

void h264_check_enhancement(struct checker *checker)
{
    const struct collected *collected = &checker->collected;
    const struct h264_sps *sps = &checker->picture.sps.h264;
    struct messages messages = {0};
    for (uint32_t i = 0; i < collected->unit_count; i++)
        if (collected->headers[collected->units[i].header].taken && collected->units[i].type == H264_NAL_SEI)
            check_unit(checker, &collected->units[i], &messages);
    /* D.2.2 and D.2.3: present where the SPS promises them, and only there. */
    bool promised = sps->vui_parameters_present_flag && (has_schedules(&sps->vui) || sps->vui.pic_struct_present_flag);
    if (messages.timing && !promised)
        finding(checker, "sei-pic-timing-unexpected", "H.264 D.2.3",
                "the SPS has neither HRD parameters nor pic_struct_present_flag");
    if (!sps->vui_parameters_present_flag)
        return;
    if ((checker->picture.idr || messages.recovery) && has_schedules(&sps->vui) && !messages.buffering)
        finding(checker, "sei-buffering-period-missing", "H.264 D.2.2",
                "the SPS has HRD parameters, the %s has no buffering period SEI message",
                checker->picture.idr ? "IDR picture" : "recovery point");
    if (promised && !messages.timing)
        finding(checker, "sei-pic-timing-missing", "H.264 D.2.3",
                "the SPS has HRD parameters or pic_struct_present_flag, the picture has no picture timing SEI message");
}
