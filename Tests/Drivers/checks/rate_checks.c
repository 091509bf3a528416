/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rate control as a whole: config, sequence parameters and misc parameters, and what the schedules and times that the
 * stream states have to do with them. */
#include "checker.h"

bool aims_at_bit_rate(const struct checker *checker)
{
    return !(checker->config.rate_control & (VA_RC_CQP | VA_RC_NONE | VA_RC_ICQ));
}

void check_rate(struct checker *checker)
{
    const struct understood_rate *rate = &checker->rate;
    const char *clause = checker->codec->sequence_buffer;
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
    uint32_t given = checker->codec->sequence_rate(&checker->picture.sequence).bits_per_second;
    if (given && (given < target - target / 100 || given > rate->bits_per_second))
        finding(checker, "sequence-bits-per-second", clause, "given %u, rate control aims at %llu, at most %u", given,
                (unsigned long long)target, rate->bits_per_second);
    if (given == 0)
        finding(checker, "sequence-bits-per-second-zero", clause, "bits_per_second is 0");
}

double decoders_work(const struct checker *checker, struct picture_rate rate, double own, double per_second,
                     uint32_t parts)
{
    if (checker->place.picture == 0)
        return own > per_second / parts ? own : per_second / parts;
    return rate.numerator ? per_second * (double)rate.denominator / (double)rate.numerator : 0;
}

uint64_t whole_bytes(double bytes)
{
    return bytes < UINT32_MAX ? (uint64_t)bytes : 0;
}

/* True when `coded` in steps of `unit` is `wanted`, rounded either way. */
static bool rounded(uint64_t coded, uint64_t unit, uint64_t wanted)
{
    return coded > wanted ? coded - wanted < unit : wanted - coded < unit;
}

void check_schedule(struct checker *checker, const struct schedule *schedule, const char *rate_clause,
                    const char *flag_clause)
{
    const struct understood_rate *rate = &checker->rate;
    bool constant = checker->config.rate_control & VA_RC_CBR;
    if (!rounded(schedule->bit_rate, schedule->bit_rate_unit, rate->bits_per_second))
        finding(checker, "hrd-bit-rate", rate_clause, "the SPS has %llu bit/s, rate control %u",
                (unsigned long long)schedule->bit_rate, rate->bits_per_second);
    if (rate->hrd_buffer_size && !rounded(schedule->size, schedule->size_unit, rate->hrd_buffer_size))
        finding(checker, "hrd-cpb-size", "va.h VAEncMiscParameterHRD.buffer_size", "the SPS has %llu bits, HRD %u",
                (unsigned long long)schedule->size, rate->hrd_buffer_size);
    if (!rate->hrd_buffer_size)
        finding(checker, "hrd-buffer-missing", "va.h VAEncMiscParameterHRD",
                "the SPS has HRD parameters, but no HRD misc buffer came");
    if (constant && !schedule->constant)
        finding(checker, "hrd-cbr-flag-clear", flag_clause, "is 0, the config's rate control is constant");
    if (!constant && schedule->constant)
        finding(checker, "hrd-cbr-flag-set", flag_clause, "is 1, the config's rate control is 0x%x",
                checker->config.rate_control);
}

void check_frame_rate(struct checker *checker, uint64_t time_scale, uint64_t units)
{
    const struct understood_rate *rate = &checker->rate;
    if (!checker->frame_rate_given || !rate->frame_rate_denominator)
        return;
    /* 16 bits of numerator and denominator may round: a part in 10,000. */
    double given = (double)rate->frame_rate_numerator / rate->frame_rate_denominator;
    double coded = (double)time_scale / (double)units;
    if (given < coded * 0.9999 || given > coded * 1.0001)
        finding(checker, "frame-rate-differs-from-vui", "va.h VAEncMiscParameterFrameRate.framerate",
                "given %.4f Hz, the SPS has %.4f", given, coded);
}

void check_initial_delay(struct checker *checker, const struct schedule *schedule, bool is_first, uint32_t delay,
                         const char *clause)
{
    const struct understood_rate *rate = &checker->rate;
    double most = 90000.0 * (double)schedule->size / (double)schedule->bit_rate;
    if (delay == 0 || delay > most)
        finding(checker, "sei-initial-cpb-removal-delay", clause, "%u of 90 kHz, allowed are 1 to %.0f", delay, most);
    if (!is_first || !rate->hrd_buffer_size)
        return;
    /* The SPS's bit rate may be rounded. */
    double asked = rate->bits_per_second ? rate->bits_per_second : (double)schedule->bit_rate;
    double one = 90000.0 * rate->hrd_initial_fullness / asked;
    double other = 90000.0 * rate->hrd_initial_fullness / (double)schedule->bit_rate;
    if (delay < (one < other ? one : other) - 2 || delay > (one > other ? one : other) + 2)
        finding(checker, "sei-delay-differs-from-fullness", "va.h VAEncMiscParameterHRD.initial_buffer_fullness",
                "initial_cpb_removal_delay is %u, %u bits arrive in %.0f", delay, rate->hrd_initial_fullness, one);
}
