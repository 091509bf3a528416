/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rate control as a whole: config, sequence parameters, misc parameters and the SPS's HRD and timing together. */
#include "checker.h"

#define CLAUSE_SEQUENCE "va_enc_h264.h VAEncSequenceParameterBufferH264"

static bool aims_at_bit_rate(const struct checker *checker)
{
    return !(checker->config.rate_control & (VA_RC_CQP | VA_RC_NONE | VA_RC_ICQ));
}

void check_rate(struct checker *checker)
{
    const struct understood_rate *rate = &checker->rate;
    const VAEncSequenceParameterBufferH264 *sequence = &checker->picture.sequence;
    uint32_t mode = checker->config.rate_control;
    if (!(mode & checker->config.limits.rate_controls))
        finding(checker, "rate-control-not-advertised", "va.h VAConfigAttribRateControl",
                "the config has 0x%x, the driver advertises 0x%x", mode, checker->config.limits.rate_controls);
    if (!aims_at_bit_rate(checker))
        return;
    if (rate->bits_per_second == 0 && !checker->rate_control_given)
        finding(checker, "rate-bits-per-second-missing", "va.h VAEncMiscParameterRateControl.bits_per_second",
                "neither sequence nor misc parameters give a bit rate");
    if (rate->frame_rate_numerator == 0)
        finding(checker, "frame-rate-missing", "va.h VAEncMiscParameterFrameRate",
                "neither sequence nor misc parameters give a frame rate");
    if (!checker->collected.sequence || !checker->rate_control_given || mode & (VA_RC_QVBR | VA_RC_AVBR))
        return;
    uint64_t target = (uint64_t)rate->bits_per_second * rate->target_percentage / 100;
    if (sequence->bits_per_second && (sequence->bits_per_second < target - target / 100 ||
                                      sequence->bits_per_second > rate->bits_per_second))
        finding(checker, "sequence-bits-per-second", CLAUSE_SEQUENCE ".bits_per_second",
                "given %u, rate control aims at %llu, at most %u", sequence->bits_per_second,
                (unsigned long long)target, rate->bits_per_second);
    if (sequence->bits_per_second == 0)
        finding(checker, "sequence-bits-per-second-zero", CLAUSE_SEQUENCE ".bits_per_second", "given 0");
}

/* True when `coded` in steps of `unit` is `wanted`, rounded either way. */
static bool rounded(uint64_t coded, uint64_t unit, uint64_t wanted)
{
    return coded > wanted ? coded - wanted < unit : wanted - coded < unit;
}

/* E.2.2 against the misc parameters: the schedule that decoders assume is the one that the driver keeps. */
static void check_schedule(struct checker *checker, const struct h264_hrd *hrd)
{
    const struct understood_rate *rate = &checker->rate;
    uint64_t bit_rate_unit = 1ull << (6 + hrd->bit_rate_scale), size_unit = 1ull << (4 + hrd->cpb_size_scale);
    uint64_t bit_rate = ((uint64_t)hrd->bit_rate_value_minus1[0] + 1) * bit_rate_unit;
    uint64_t size = ((uint64_t)hrd->cpb_size_value_minus1[0] + 1) * size_unit;
    bool constant = checker->config.rate_control & VA_RC_CBR;
    if (!rounded(bit_rate, bit_rate_unit, rate->bits_per_second))
        finding(checker, "hrd-bit-rate", "H.264 E.2.2 bit_rate_value_minus1",
                "the SPS has %llu bit/s, rate control %u", (unsigned long long)bit_rate, rate->bits_per_second);
    if (rate->hrd_buffer_size && !rounded(size, size_unit, rate->hrd_buffer_size))
        finding(checker, "hrd-cpb-size", "va.h VAEncMiscParameterHRD.buffer_size", "the SPS has %llu bits, HRD %u",
                (unsigned long long)size, rate->hrd_buffer_size);
    if (!rate->hrd_buffer_size)
        finding(checker, "hrd-buffer-missing", "va.h VAEncMiscParameterHRD",
                "the SPS has HRD parameters, but no HRD misc buffer came");
    if (constant && !hrd->cbr_flag[0])
        finding(checker, "hrd-cbr-flag-clear", "H.264 E.2.2 cbr_flag", "is 0, the config's rate control is constant");
    if (!constant && hrd->cbr_flag[0])
        finding(checker, "hrd-cbr-flag-set", "H.264 E.2.2 cbr_flag", "is 1, the config's rate control is 0x%x",
                checker->config.rate_control);
}

static void check_timing(struct checker *checker, const struct h264_vui *vui)
{
    const struct understood_rate *rate = &checker->rate;
    if (!checker->frame_rate_given || !vui->timing_info_present_flag || !rate->frame_rate_denominator)
        return;
    /* E.2.1: pictures are a frame's time apart only then; else the VUI states a clock, and the rate may change. */
    if (!vui->fixed_frame_rate_flag)
        return;
    /* 16 bits of numerator and denominator may round: a part in 10,000. */
    double given = (double)rate->frame_rate_numerator / rate->frame_rate_denominator;
    double coded = (double)vui->time_scale / (2.0 * vui->num_units_in_tick);
    if (given < coded * 0.9999 || given > coded * 1.0001)
        finding(checker, "frame-rate-differs-from-vui", "va.h VAEncMiscParameterFrameRate.framerate",
                "given %.4f Hz, the SPS has %.4f", given, coded);
}

void check_hrd(struct checker *checker)
{
    const struct h264_sps *sps = &checker->picture.sps;
    const struct h264_vui *vui = &sps->vui;
    bool sent = checker->sps_sent_now[sps->seq_parameter_set_id & 31];
    if (!sent && !checker->rate.changed)
        return;
    if (sps->vui_parameters_present_flag)
        check_timing(checker, vui);
    if (!sps->vui_parameters_present_flag ||
        (!vui->nal_hrd_parameters_present_flag && !vui->vcl_hrd_parameters_present_flag))
        return;
    if (!aims_at_bit_rate(checker)) {
        finding(checker, "hrd-without-bit-rate", "H.264 E.1.1 nal_hrd_parameters_present_flag",
                "the SPS has HRD parameters, the config's rate control is 0x%x", checker->config.rate_control);
        return;
    }
    if (vui->nal_hrd_parameters_present_flag)
        check_schedule(checker, &vui->nal_hrd);
    if (vui->vcl_hrd_parameters_present_flag)
        check_schedule(checker, &vui->vcl_hrd);
}
