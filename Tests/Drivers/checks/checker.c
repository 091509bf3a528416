/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "checker.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void state(struct checker *checker, uint32_t slice, const char *name, const char *clause, const char *format,
                  va_list arguments)
{
    char detail[512];
    struct journal_place place = checker->place;
    place.slice = slice;
    vsnprintf(detail, sizeof detail, format, arguments);
    journal_finding(place, name, clause, "%s", detail);
}

void finding(struct checker *checker, const char *name, const char *clause, const char *format, ...)
{
    if (!checker->judging)
        return;
    va_list arguments;
    va_start(arguments, format);
    state(checker, UINT32_MAX, name, clause, format, arguments);
    va_end(arguments);
}

void slice_finding(struct checker *checker, uint32_t slice, const char *name, const char *clause, const char *format,
                   ...)
{
    if (!checker->judging)
        return;
    va_list arguments;
    va_start(arguments, format);
    state(checker, slice, name, clause, format, arguments);
    va_end(arguments);
}

void expect(struct checker *checker, const char *name, const char *clause, int64_t given, int64_t expected)
{
    if (given != expected)
        finding(checker, name, clause, "given %lld, expected %lld", (long long)given, (long long)expected);
}

void slice_expect(struct checker *checker, uint32_t slice, const char *name, const char *clause, int64_t given,
                  int64_t expected)
{
    if (given != expected)
        slice_finding(checker, slice, name, clause, "given %lld, expected %lld", (long long)given,
                      (long long)expected);
}

void expect_range(struct checker *checker, const char *name, const char *clause, int64_t given, int64_t minimum,
                  int64_t maximum)
{
    if (given < minimum || given > maximum)
        finding(checker, name, clause, "given %lld, allowed are %lld to %lld", (long long)given, (long long)minimum,
                (long long)maximum);
}

void expect_reserved(struct checker *checker, const char *name, const char *clause, const uint32_t *words,
                     size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (words[i]) {
            finding(checker, name, clause, "word %zu is 0x%x, must be zero", i, words[i]);
            return;
        }
}

void refuse_picture(struct checker *checker, VAStatus status, const char *format, ...)
{
    if (!checker->picture.codable)
        return;
    checker->picture.codable = false;
    checker->picture.refusal = status;
    char reason[CHECKS_REASON_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    finding(checker, "picture-not-codable", "va.h vaEndPicture", "%s", reason);
}

bool grow(void **elements, uint32_t *capacity, uint32_t count, size_t size)
{
    if (count < *capacity)
        return true;
    uint32_t larger = *capacity ? *capacity * 2 : 8;
    void *moved = realloc(*elements, larger * size);
    if (!moved)
        return false;
    *elements = moved;
    *capacity = larger;
    return true;
}

enum codec codec_of(VAProfile profile)
{
    switch (profile) {
    case VAProfileHEVCMain:
    case VAProfileHEVCMain10:
    case VAProfileHEVCMain12:
    case VAProfileHEVCMain422_10:
    case VAProfileHEVCMain422_12:
    case VAProfileHEVCMain444:
    case VAProfileHEVCMain444_10:
    case VAProfileHEVCMain444_12:
        return CODEC_HEVC;
    default:
        return CODEC_H264;
    }
}

struct checker *checker_create(const struct submitted_config *config, struct journal_place place)
{
    struct checker *checker = calloc(1, sizeof *checker);
    if (!checker)
        return NULL;
    checker->config = *config;
    checker->place = place;
    checker->picture.codec = codec_of(config->profile);
    checker->codec = checker->picture.codec == CODEC_HEVC ? &hevc_checks : &h264_checks;
    if (!checker->config.rate_control)
        checker->config.rate_control = VA_RC_CQP;
    checker->rate.rate_control = checker->config.rate_control;
    checker->rate.target_percentage = 100;
    return checker;
}

/* What belongs to the latest picture only. */
static void forget_picture(struct checker *checker)
{
    forget_collected(checker);
    for (uint32_t i = 0; i < checker->slice_capacity; i++)
        bits_release(&checker->picture.slices[i].nal);
    checker->picture.headers.count = 0;
    checker->picture.headers.failed = false;
    for (uint32_t i = 0; i < CHECKS_MAXIMUM_SLICES; i++)
        bits_release(&checker->prefixes[i]);
    memset(checker->set_sent_now, 0, sizeof checker->set_sent_now);
}

void checker_destroy(struct checker *checker)
{
    if (!checker)
        return;
    forget_picture(checker);
    bits_release(&checker->picture.headers);
    free(checker->picture.slices);
    forget_replaced(checker, true);
    free(checker->replaced);
    free(checker->collected.headers);
    free(checker->collected.units);
    for (unsigned kind = 0; kind < SET_KINDS; kind++) {
        bits_release(&checker->own[kind]);
        for (unsigned i = 0; i < CHECKS_MAXIMUM_SETS; i++)
            free(checker->sets[kind][i]);
    }
    free(checker);
}

/* Starts the result afresh; what VA-API lets persist stays. */
static void begin_picture(struct checker *checker, const struct submission *submission)
{
    struct understood_picture *picture = &checker->picture;
    forget_picture(checker);
    checker->submission = submission;
    checker->place = submission->place;
    checker->judging = journal_judging();
    checker->have_sets = checker->have_headers = false;
    resume_picture(checker);
    forget_replaced(checker, false);
    checker->serial++;
    checker->dpb_before = checker->dpb;
    checker->history_before = checker->history;
    checker->rate_before = checker->rate;
    checker->rate_control_given_before = checker->rate_control_given;
    checker->frame_rate_given_before = checker->frame_rate_given;
    checker->previous_sequence = picture->sequence;
    checker->had_sequence = checker->have_sequence;
    memset(checker->sends_own, 0, sizeof checker->sends_own);
    picture->codable = true;
    picture->refusal = VA_STATUS_SUCCESS;
    picture->slice_count = 0;
    picture->idr = picture->reference = picture->long_term = false;
    picture->picture_order_count = 0;
    picture->largest_access_unit = 0;
    picture->reconstruction = VA_INVALID_SURFACE;
    picture->coded_buffer = VA_INVALID_ID;
    memset(&picture->picture, 0, sizeof picture->picture);
    memset(&picture->sps, 0, checker->codec->sets[SET_SPS].size);
    memset(&picture->pps, 0, checker->codec->sets[SET_PPS].size);
}

/* Parameter sets, slice headers, order of the stream and references, as far as the buffers have them. */
static void understand_picture(struct checker *checker)
{
    struct understood_picture *picture = &checker->picture;
    if (checker->collected.picture)
        checker->codec->name_objects(picture);
    require_buffers(checker);
    if (!picture->codable)
        return;
    checker->codec->understand(checker);
    if (!checker->have_headers)
        return;
    require_coverage(checker);
    for (uint32_t i = 0; i < picture->slice_count; i++)
        for (uint32_t list = 0; list < 2; list++)
            for (uint32_t k = 0; k < picture->slices[i].reference_count[list]; k++)
                require_reference(checker, i, list, k);
    require_surfaces(checker);
    assemble_stream(checker);
}

static void commit_picture(struct checker *checker)
{
    checker->codec->commit(checker);
    for (unsigned kind = 0; kind < SET_KINDS; kind++)
        checker->lost_own[kind] = checker->lost_own[kind] && !checker->sends_own[kind];
    keep_past(checker);
}

const struct understood_picture *checker_picture(struct checker *checker, const struct submission *submission)
{
    begin_picture(checker, submission);
    collect_buffers(checker);
    read_packed_headers(checker);
    understand_picture(checker);
    checker->picture.rate = checker->rate;
    if (checker->judging) {
        checker->codec->check_buffers(checker);
        if (checker->have_sets)
            checker->codec->check_sets(checker);
        if (checker->have_headers) {
            checker->codec->check_headers(checker);
            check_references_kept(checker);
        }
    }
    if (checker->picture.codable)
        commit_picture(checker);
    checker->submission = NULL;
    return &checker->picture;
}

void checker_picture_failed(struct checker *checker)
{
    checker->dpb = checker->dpb_before;
    checker->history = checker->history_before;
    forget_latest(checker);
    for (unsigned kind = 0; kind < SET_KINDS; kind++)
        checker->lost_own[kind] = checker->lost_own[kind] || checker->sends_own[kind];
}
