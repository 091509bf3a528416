/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rate_control.h"

#include <stdlib.h>

/* Bits that a picture of a type takes fall by this factor per step of QP, about 2^(-1/6). */
#define STEP 0.89

/* The share of bits that a picture of a type gets, against a P picture. */
static const double weights[CODED_TYPES] = {[CODED_P] = 1.0, [CODED_B] = 0.6, [CODED_I] = 4.0};

struct rate_control {
    struct understood_rate rate;
    struct rate_picture picture; /* being coded */
    int repeated;                /* times it was coded again */
    double budget;               /* bits per picture at the rate */
    double arrival;              /* bits that reach a decoder's buffer per picture: the largest rate */
    double fullness;             /* bits in the decoder's buffer before the picture is taken out (C.1.2); by the HRD */
    double debt;                 /* bits spent so far above the budget; negative: saved */
    struct {
        bool known;
        double bits; /* of the last picture of the type */
        int qp;      /* at this QP */
    } last[CODED_TYPES];
};

struct rate_control *rate_control_create(void)
{
    return calloc(1, sizeof(struct rate_control));
}

void rate_control_destroy(struct rate_control *control)
{
    free(control);
}

struct rate_history {
    struct {
        bool known;
        uint32_t picture;
        struct rate_control control;
    } kept[RATE_HISTORY_KEPT];
    unsigned next;
};

struct rate_history *rate_history_create(void)
{
    return calloc(1, sizeof(struct rate_history));
}

void rate_history_keep(struct rate_history *history, uint32_t picture, const struct rate_control *control)
{
    unsigned place = history->next++ % RATE_HISTORY_KEPT;
    history->kept[place].known = true;
    history->kept[place].picture = picture;
    history->kept[place].control = *control;
}

void rate_history_restore(const struct rate_history *history, uint32_t picture, struct rate_control *control)
{
    for (unsigned i = 0; i < RATE_HISTORY_KEPT; i++)
        if (history->kept[i].known && history->kept[i].picture == picture)
            *control = history->kept[i].control;
}

static bool follows_a_rate(uint32_t rate_control)
{
    return rate_control & (VA_RC_CBR | VA_RC_VBR | VA_RC_QVBR | VA_RC_AVBR);
}

static int bounded(const struct understood_rate *rate, int qp)
{
    int least = rate->minimum_qp ? (int)rate->minimum_qp : 1, most = rate->maximum_qp ? (int)rate->maximum_qp : 51;
    if (most > 51)
        most = 51;
    if (least > most)
        least = most;
    return qp < least ? least : qp > most ? most : qp;
}

static double picture_rate(const struct understood_rate *rate)
{
    if (rate->frame_rate_numerator && rate->frame_rate_denominator)
        return (double)rate->frame_rate_numerator / rate->frame_rate_denominator;
    return 30;
}

static void take_rate(struct rate_control *control, const struct understood_rate *rate)
{
    if (rate->reset)
        *control = (struct rate_control){.debt = 0};
    bool first = control->rate.hrd_buffer_size == 0;
    bool has_target = rate->rate_control != VA_RC_CBR && rate->target_percentage > 0 && rate->target_percentage <= 100;
    double arrival = rate->bits_per_second / picture_rate(rate);
    double budget = has_target ? arrival * rate->target_percentage / 100 : arrival;
    if (budget != control->budget)
        control->debt = 0;
    control->rate = *rate;
    control->budget = budget;
    control->arrival = arrival;
    if (first)
        control->fullness = rate->hrd_initial_fullness ? rate->hrd_initial_fullness : rate->hrd_buffer_size * 0.75;
    if (control->fullness > rate->hrd_buffer_size)
        control->fullness = rate->hrd_buffer_size;
}

/* The bits that the picture may have at most; 0: no bound. */
static double most_bits(const struct rate_control *control)
{
    double most = control->rate.maximum_frame_size * 8.0;
    if (control->rate.hrd_buffer_size && follows_a_rate(control->rate.rate_control) &&
        (most == 0 || control->fullness < most))
        most = control->fullness;
    return most;
}

/* A guess for the first picture of a type, by bits per macroblock. */
static int first_qp(const struct rate_control *control, double wanted)
{
    for (int type = 0; type < CODED_TYPES; type++)
        if (control->last[type].known)
            return control->last[type].qp;
    double per_macroblock = wanted / (control->picture.macroblocks ? control->picture.macroblocks : 1);
    int qp = 16;
    for (double bits = 60; bits > per_macroblock && qp < 51; bits *= STEP)
        qp++;
    return qp;
}

/* Debts and savings are made up for over about half the window. */
static double wanted_bits(const struct rate_control *control)
{
    double window = control->rate.window_milliseconds ? control->rate.window_milliseconds / 1000.0 : 1;
    double pictures = picture_rate(&control->rate) * window / 2;
    if (pictures < 4)
        pictures = 4;
    double wanted = (control->budget - control->debt / pictures) * weights[control->picture.type];
    double least = control->budget / 8, most = most_bits(control) * 0.8;
    if (most > 0 && wanted > most)
        wanted = most;
    return wanted < least ? least : wanted;
}

static int qp_for_bits(const struct rate_control *control, double wanted)
{
    enum coded_type type = control->picture.type;
    if (!control->last[type].known)
        return first_qp(control, wanted);
    double bits = control->last[type].bits;
    int before = control->last[type].qp, qp = before;
    while (bits > wanted && qp < before + 6) {
        bits *= STEP;
        qp++;
    }
    while (bits / STEP < wanted && qp > before - 4) {
        bits /= STEP;
        qp--;
    }
    return qp;
}

static int quality_qp(const struct understood_rate *rate, enum coded_type type)
{
    uint32_t quality = rate->rate_control == VA_RC_QVBR ? rate->qvbr_quality : rate->icq_quality;
    int qp = quality ? (int)quality : 26;
    return qp + (type == CODED_B ? 2 : type == CODED_P ? 1 : 0);
}

int rate_control_qp(struct rate_control *control, const struct understood_rate *rate,
                    const struct rate_picture *picture)
{
    take_rate(control, rate);
    control->picture = *picture;
    control->repeated = 0;
    if (rate->rate_control == VA_RC_ICQ)
        return bounded(rate, quality_qp(rate, picture->type));
    if (!follows_a_rate(rate->rate_control) || control->budget <= 0)
        return -1;
    bool first = !control->last[0].known && !control->last[1].known && !control->last[2].known;
    int qp = first && rate->initial_qp ? (int)rate->initial_qp : qp_for_bits(control, wanted_bits(control));
    if (rate->rate_control == VA_RC_QVBR && qp < quality_qp(rate, picture->type))
        qp = quality_qp(rate, picture->type);
    return bounded(rate, qp);
}

int rate_control_smaller(struct rate_control *control, int qp, uint64_t bits)
{
    double most = most_bits(control);
    if (most <= 0 || (double)bits <= most || qp < 0)
        return -1;
    int smaller = qp + 3 * control->repeated++;
    for (double expected = (double)bits; expected > most && smaller < 51; expected *= STEP)
        smaller++;
    smaller = bounded(&control->rate, smaller);
    return smaller > qp ? smaller : -1;
}

/* What CBR fills up: it stays within a picture's budget of its rate, and the decoder's buffer never overflows. Filler
 * is part of the picture, which must be in the decoder's buffer when it is taken out, and find room in its own. */
static uint32_t filler_bytes(const struct rate_control *control, uint32_t room)
{
    double missing = -control->debt - control->budget;
    double overflow = control->fullness - control->rate.hrd_buffer_size;
    if (control->rate.hrd_buffer_size && overflow > missing)
        missing = overflow;
    double most = 8.0 * room, left = control->fullness - control->arrival;
    if (control->rate.hrd_buffer_size && left < most)
        most = left;
    if (missing > most)
        missing = most;
    return missing >= 8 * FILLER_SMALLEST ? (uint32_t)(missing / 8) : 0;
}

uint32_t rate_control_coded(struct rate_control *control, int qp, uint64_t bits, uint32_t room)
{
    enum coded_type type = control->picture.type;
    if (qp >= 0) {
        control->last[type].known = true;
        control->last[type].bits = (double)bits;
        control->last[type].qp = qp;
    }
    if (!follows_a_rate(control->rate.rate_control))
        return 0;
    control->debt += (double)bits - control->budget;
    control->fullness += control->arrival - (double)bits;
    bool stuffing = control->rate.rate_control == VA_RC_CBR && !control->rate.no_bit_stuffing;
    uint32_t filler = stuffing ? filler_bytes(control, room) : 0;
    control->debt += filler * 8.0;
    control->fullness -= filler * 8.0;
    if (control->fullness > control->rate.hrd_buffer_size)
        control->fullness = control->rate.hrd_buffer_size;
    /* What is saved for long is not spent later. */
    double most_saved = control->budget * 15;
    if (control->debt < -most_saved)
        control->debt = -most_saved;
    return filler;
}
