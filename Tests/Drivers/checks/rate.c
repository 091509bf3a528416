/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rate control and the other misc parameters, which persist over pictures: what they say, and whether each buffer is
 * right in itself and was advertised. rate_checks.c judges their sum. */
#include "checker.h"

#include <string.h>

#define CLAUSE_RATE "va.h VAEncMiscParameterRateControl"
#define CLAUSE_HRD "va.h VAEncMiscParameterHRD"

/* Modes that aim at a bit rate. */
#define BIT_RATE_MODES \
    (VA_RC_CBR | VA_RC_VBR | VA_RC_VCM | VA_RC_VBR_CONSTRAINED | VA_RC_QVBR | VA_RC_AVBR | VA_RC_TCBRC)

void understand_sequence_rate(struct checker *checker)
{
    struct sequence_rate given = checker->codec->sequence_rate(&checker->picture.sequence);
    struct sequence_rate before = checker->codec->sequence_rate(&checker->previous_sequence);
    if (!checker->rate_control_given ||
        (checker->had_sequence && given.bits_per_second != before.bits_per_second))
        checker->rate.bits_per_second = given.bits_per_second;
    if (!checker->frame_rate_given && given.denominator) {
        checker->rate.frame_rate_numerator = (uint32_t)given.numerator;
        checker->rate.frame_rate_denominator =
            given.denominator > UINT32_MAX ? UINT32_MAX : (uint32_t)given.denominator;
    }
}

static void rate_flags(struct checker *checker, const VAEncMiscParameterRateControl *given)
{
    uint32_t controls = checker->config.limits.rate_controls;
    expect(checker, "rate-flags-reserved", CLAUSE_RATE ".rc_flags.reserved", given->rc_flags.bits.reserved, 0);
    expect(checker, "rate-temporal-id", CLAUSE_RATE ".rc_flags.temporal_id", given->rc_flags.bits.temporal_id, 0);
    if (given->rc_flags.bits.mb_rate_control && !(controls & VA_RC_MB))
        finding(checker, "rate-macroblock-control-not-advertised", CLAUSE_RATE ".rc_flags.mb_rate_control",
                "given %u, VA_RC_MB is not advertised", given->rc_flags.bits.mb_rate_control);
    expect_range(checker, "rate-macroblock-control", CLAUSE_RATE ".rc_flags.mb_rate_control",
                 given->rc_flags.bits.mb_rate_control, 0, 2);
    if (given->rc_flags.bits.enable_parallel_brc && !(controls & VA_RC_PARALLEL))
        finding(checker, "rate-parallel-not-advertised", CLAUSE_RATE ".rc_flags.enable_parallel_brc",
                "VA_RC_PARALLEL is not advertised");
    if (given->rc_flags.bits.cfs_I_frames && !(controls & VA_RC_CFS))
        finding(checker, "rate-constant-frame-size-not-advertised", CLAUSE_RATE ".rc_flags.cfs_I_frames",
                "VA_RC_CFS is not advertised");
    expect(checker, "rate-dynamic-scaling", CLAUSE_RATE ".rc_flags.enable_dynamic_scaling",
           given->rc_flags.bits.enable_dynamic_scaling, 0);
    expect(checker, "rate-frame-tolerance", CLAUSE_RATE ".rc_flags.frame_tolerance_mode",
           given->rc_flags.bits.frame_tolerance_mode, 0);
}

static void rate_quantisers(struct checker *checker, const VAEncMiscParameterRateControl *given)
{
    expect_range(checker, "rate-initial-qp", CLAUSE_RATE ".initial_qp", given->initial_qp, 0, 51);
    expect_range(checker, "rate-minimum-qp", CLAUSE_RATE ".min_qp", given->min_qp, 0, 51);
    expect_range(checker, "rate-maximum-qp", CLAUSE_RATE ".max_qp", given->max_qp, 0, 51);
    if (given->max_qp && given->min_qp > given->max_qp)
        finding(checker, "rate-qp-order", CLAUSE_RATE ".min_qp", "min_qp %u is above max_qp %u", given->min_qp,
                given->max_qp);
    if (given->initial_qp && (given->initial_qp < given->min_qp ||
                              (given->max_qp && given->initial_qp > given->max_qp)))
        finding(checker, "rate-initial-qp-outside", CLAUSE_RATE ".initial_qp", "%u is outside %u to %u",
                given->initial_qp, given->min_qp, given->max_qp);
    if (checker->config.rate_control & VA_RC_ICQ)
        expect_range(checker, "rate-icq-quality", CLAUSE_RATE ".ICQ_quality_factor",
                     given->ICQ_quality_factor ? given->ICQ_quality_factor : given->quality_factor, 1, 51);
    else
        expect(checker, "rate-icq-quality-unused", CLAUSE_RATE ".ICQ_quality_factor", given->ICQ_quality_factor, 0);
    if (checker->config.rate_control & VA_RC_QVBR)
        expect_range(checker, "rate-quality", CLAUSE_RATE ".quality_factor", given->quality_factor, 1, 51);
    else if (!(checker->config.rate_control & VA_RC_ICQ))
        expect(checker, "rate-quality-unused", CLAUSE_RATE ".quality_factor", given->quality_factor, 0);
}

static void rate_control(struct checker *checker, const void *data)
{
    VAEncMiscParameterRateControl given;
    memcpy(&given, data, sizeof given);
    struct understood_rate *rate = &checker->rate;
    uint32_t mode = checker->config.rate_control;
    if (mode & (VA_RC_CQP | VA_RC_NONE))
        finding(checker, "rate-control-under-cqp", CLAUSE_RATE, "the config's rate control is 0x%x", mode);
    if (mode & BIT_RATE_MODES) {
        expect_range(checker, "rate-target-percentage", CLAUSE_RATE ".target_percentage", given.target_percentage,
                     mode & VA_RC_CBR ? 0 : 1, 100);
        if (given.window_size == 0)
            finding(checker, "rate-window-zero", CLAUSE_RATE ".window_size", "given 0");
        if (given.bits_per_second == 0)
            finding(checker, "rate-bits-per-second-zero", CLAUSE_RATE ".bits_per_second", "given 0");
    }
    rate_flags(checker, &given);
    rate_quantisers(checker, &given);
    expect_range(checker, "rate-basic-unit-size", CLAUSE_RATE ".basic_unit_size", given.basic_unit_size, 0,
                 (int64_t)((checker->submission->context_width + 15) / 16) *
                     ((checker->submission->context_height + 15) / 16));
    if (!(mode & VA_RC_TCBRC))
        expect(checker, "rate-target-frame-size", CLAUSE_RATE ".target_frame_size", given.target_frame_size, 0);
    expect_reserved(checker, "rate-reserved", CLAUSE_RATE ".va_reserved", given.va_reserved, VA_PADDING_LOW);
    checker->rate_control_given = true;
    rate->bits_per_second = given.bits_per_second;
    rate->target_percentage = mode & VA_RC_CBR || given.target_percentage == 0 || given.target_percentage > 100
                                  ? 100 : given.target_percentage;
    rate->window_milliseconds = given.window_size;
    rate->initial_qp = given.initial_qp > 51 ? 51 : given.initial_qp;
    rate->minimum_qp = given.min_qp > 51 ? 51 : given.min_qp;
    rate->maximum_qp = given.max_qp > 51 ? 51 : given.max_qp;
    rate->icq_quality = mode & VA_RC_ICQ
                            ? given.ICQ_quality_factor ? given.ICQ_quality_factor : given.quality_factor : 0;
    rate->qvbr_quality = mode & VA_RC_QVBR ? given.quality_factor : 0;
    rate->no_bit_stuffing = given.rc_flags.bits.disable_bit_stuffing;
    rate->reset = rate->reset || given.rc_flags.bits.reset;
    rate->changed = rate->changed || rate->reset;
}

static void frame_rate(struct checker *checker, const void *data)
{
    VAEncMiscParameterFrameRate given;
    memcpy(&given, data, sizeof given);
    const char *clause = "va.h VAEncMiscParameterFrameRate";
    uint32_t numerator = given.framerate & 0xffff, denominator = given.framerate >> 16;
    if (numerator == 0)
        finding(checker, "frame-rate-zero", "va.h VAEncMiscParameterFrameRate.framerate", "given 0x%x",
                given.framerate);
    expect(checker, "frame-rate-temporal-id", clause, given.framerate_flags.bits.temporal_id, 0);
    expect(checker, "frame-rate-flags-reserved", clause, given.framerate_flags.bits.reserved, 0);
    expect_reserved(checker, "frame-rate-reserved", clause, given.va_reserved, VA_PADDING_LOW);
    if (numerator == 0)
        return;
    checker->frame_rate_given = true;
    checker->rate.frame_rate_numerator = numerator;
    checker->rate.frame_rate_denominator = denominator ? denominator : 1;
}

static void hrd(struct checker *checker, const void *data)
{
    VAEncMiscParameterHRD given;
    memcpy(&given, data, sizeof given);
    if (checker->config.rate_control & (VA_RC_CQP | VA_RC_NONE))
        finding(checker, "hrd-under-cqp", CLAUSE_HRD, "the config's rate control is 0x%x",
                checker->config.rate_control);
    if (given.buffer_size == 0)
        finding(checker, "hrd-buffer-size-zero", CLAUSE_HRD ".buffer_size", "given 0");
    else if (given.initial_buffer_fullness > given.buffer_size)
        finding(checker, "hrd-fullness-beyond-size", CLAUSE_HRD ".initial_buffer_fullness", "%u of %u bits",
                given.initial_buffer_fullness, given.buffer_size);
    expect_reserved(checker, "hrd-reserved", CLAUSE_HRD ".va_reserved", given.va_reserved, VA_PADDING_LOW);
    checker->rate.hrd_buffer_size = given.buffer_size;
    checker->rate.hrd_initial_fullness = given.initial_buffer_fullness;
}

static void maximum_frame_size(struct checker *checker, const void *data)
{
    /* Named as an array of words: the structure's first member is deprecated. type, max_frame_size, va_reserved. */
    uint32_t words[2 + VA_PADDING_LOW];
    memcpy(words, data, sizeof words);
    const char *clause = "va.h VAEncMiscParameterBufferMaxFrameSize";
    if (!checker->config.limits.maximum_frame_size)
        finding(checker, "maximum-frame-size-not-advertised", "va.h VAConfigAttribMaxFrameSize", "given %u bits",
                words[1]);
    expect(checker, "maximum-frame-size-type", clause, words[0], VAEncMiscParameterTypeMaxFrameSize);
    expect_reserved(checker, "maximum-frame-size-reserved", clause, words + 2, VA_PADDING_LOW);
    checker->rate.maximum_frame_size = (uint32_t)(((uint64_t)words[1] + 7) / 8);
}

static void quality_level(struct checker *checker, const void *data)
{
    VAEncMiscParameterBufferQualityLevel given;
    memcpy(&given, data, sizeof given);
    uint32_t maximum = checker->config.limits.maximum_quality_level;
    const char *clause = "va.h VAEncMiscParameterBufferQualityLevel";
    if (maximum <= 1)
        finding(checker, "quality-level-not-advertised", "va.h VAConfigAttribEncQualityRange", "given %u",
                given.quality_level);
    else
        expect_range(checker, "quality-level-beyond-maximum", clause, given.quality_level, 0, maximum);
    expect_reserved(checker, "quality-level-reserved", clause, given.va_reserved, VA_PADDING_LOW);
    checker->rate.quality_level = given.quality_level > maximum ? maximum : given.quality_level;
}

static void quantization(struct checker *checker, const void *data)
{
    VAEncMiscParameterQuantization given;
    memcpy(&given, data, sizeof given);
    const char *clause = "va.h VAEncMiscParameterQuantization";
    if (!checker->config.limits.trellis)
        finding(checker, "trellis-not-advertised", "va.h VAConfigAttribEncQuantization", "flags 0x%x",
                given.quantization_flags.value);
    if (given.quantization_flags.bits.disable_trellis && (given.quantization_flags.value & 0xe))
        finding(checker, "trellis-contradiction", clause, "flags 0x%x", given.quantization_flags.value);
    expect(checker, "trellis-flags-reserved", clause, given.quantization_flags.bits.reserved, 0);
    expect(checker, "trellis-reserved", clause, given.va_reserved, 0);
}

/* What of the picture is renewed, as far as it lies within; intra_refresh.c judges it among those before. */
static void refreshed_blocks(struct checker *checker, uint32_t length, const VAEncMiscParameterRIR *given)
{
    uint32_t end = (uint32_t)given->intra_insertion_location + given->intra_insert_size;
    if (given->intra_insertion_location >= length || length > CHECKS_WAVE_BLOCKS)
        return;
    checker->collected.refreshed = (struct refreshed_blocks){
        .by_column = given->rir_flags.bits.enable_rir_column,
        .first = given->intra_insertion_location,
        .end = end < length ? end : length,
        .length = length,
    };
}

static void intra_refresh(struct checker *checker, const void *data)
{
    VAEncMiscParameterRIR given;
    memcpy(&given, data, sizeof given);
    const char *clause = "va.h VAEncMiscParameterRIR";
    uint32_t columns = (checker->submission->context_width + 15) / 16;
    uint32_t rows = (checker->submission->context_height + 15) / 16;
    uint32_t advertised = checker->config.limits.intra_refresh;
    bool by_column = given.rir_flags.bits.enable_rir_column, by_row = given.rir_flags.bits.enable_rir_row;
    if ((by_column && !(advertised & VA_ENC_INTRA_REFRESH_ROLLING_COLUMN)) ||
        (by_row && !(advertised & VA_ENC_INTRA_REFRESH_ROLLING_ROW)) || !advertised)
        finding(checker, "intra-refresh-not-advertised", "va.h VAConfigAttribEncIntraRefresh",
                "flags 0x%x, advertised are 0x%x", given.rir_flags.value, advertised);
    if (by_column && by_row)
        finding(checker, "intra-refresh-contradiction", clause, "columns and rows at once");
    if (by_column || by_row) {
        uint32_t limit = by_column ? columns : rows;
        if ((uint32_t)given.intra_insertion_location + given.intra_insert_size > limit)
            finding(checker, "intra-refresh-outside", clause, "%u from %u on, of %u", given.intra_insert_size,
                    given.intra_insertion_location, limit);
        expect_range(checker, "intra-refresh-qp-delta", clause, (int8_t)given.qp_delta_for_inserted_intra, -51, 51);
    }
    if (by_column != by_row)
        refreshed_blocks(checker, by_column ? columns : rows, &given);
    expect(checker, "intra-refresh-flags-reserved", clause, given.rir_flags.bits.reserved, 0);
    expect_reserved(checker, "intra-refresh-reserved", clause, given.va_reserved, VA_PADDING_LOW);
}

/* The regions stand behind a pointer into the application, which only the driver follows (reference/wishes.c). */
static void regions_of_interest(struct checker *checker, const void *data)
{
    VAEncMiscParameterBufferROI given;
    memcpy(&given, data, sizeof given);
    const char *clause = "va.h VAEncMiscParameterBufferROI";
    uint32_t maximum = checker->config.limits.maximum_roi_regions;
    if (maximum == 0)
        finding(checker, "roi-not-advertised", "va.h VAConfigAttribEncROI", "%u regions", given.num_roi);
    else
        expect_range(checker, "roi-count", clause, given.num_roi, 0, maximum);
    if (given.num_roi && !given.roi)
        finding(checker, "roi-pointer-missing", clause, "%u regions, no pointer", given.num_roi);
    if (given.num_roi && !(checker->config.rate_control & (VA_RC_CQP | VA_RC_NONE)) &&
        !given.roi_flags.bits.roi_value_is_qp_delta)
        finding(checker, "roi-priority-not-advertised", "va.h VAConfigAttribValEncROI.roi_rc_priority_support",
                "roi_value_is_qp_delta is 0");
    if (given.min_delta_qp > given.max_delta_qp)
        finding(checker, "roi-delta-order", clause, "min_delta_qp %d is above max_delta_qp %d", given.min_delta_qp,
                given.max_delta_qp);
    expect(checker, "roi-flags-reserved", clause, given.roi_flags.bits.reserved, 0);
    expect_reserved(checker, "roi-reserved", clause, given.va_reserved, VA_PADDING_LOW);
}

static void maximum_slice_size(struct checker *checker, const void *data)
{
    VAEncMiscParameterMaxSliceSize given;
    memcpy(&given, data, sizeof given);
    if (!(checker->config.limits.slice_structures & VA_ENC_SLICE_STRUCTURE_MAX_SLICE_SIZE))
        finding(checker, "maximum-slice-size-not-advertised", "va.h VAConfigAttribEncSliceStructure", "given %u",
                given.max_slice_size);
    expect_reserved(checker, "maximum-slice-size-reserved", "va.h VAEncMiscParameterMaxSliceSize", given.va_reserved,
                    VA_PADDING_LOW);
}

/* The kinds that are understood. */
static const struct misc_kind {
    VAEncMiscParameterType type;
    size_t size;
    void (*take)(struct checker *checker, const void *data);
} misc_kinds[] = {
    {VAEncMiscParameterTypeRateControl, sizeof(VAEncMiscParameterRateControl), rate_control},
    {VAEncMiscParameterTypeFrameRate, sizeof(VAEncMiscParameterFrameRate), frame_rate},
    {VAEncMiscParameterTypeHRD, sizeof(VAEncMiscParameterHRD), hrd},
    {VAEncMiscParameterTypeMaxFrameSize, (2 + VA_PADDING_LOW) * sizeof(uint32_t), maximum_frame_size},
    {VAEncMiscParameterTypeQualityLevel, sizeof(VAEncMiscParameterBufferQualityLevel), quality_level},
    {VAEncMiscParameterTypeQuantization, sizeof(VAEncMiscParameterQuantization), quantization},
    {VAEncMiscParameterTypeRIR, sizeof(VAEncMiscParameterRIR), intra_refresh},
    {VAEncMiscParameterTypeROI, sizeof(VAEncMiscParameterBufferROI), regions_of_interest},
    {VAEncMiscParameterTypeMaxSliceSize, sizeof(VAEncMiscParameterMaxSliceSize), maximum_slice_size},
};

void understand_rate(struct checker *checker, const struct submitted_buffer *buffer)
{
    uint64_t size = (uint64_t)buffer->size * buffer->count;
    uint32_t type;
    if (!buffer->data || size < sizeof type) {
        finding(checker, "misc-buffer-size", "va.h VAEncMiscParameterBuffer", "%llu bytes hold no type",
                (unsigned long long)size);
        return;
    }
    memcpy(&type, buffer->data, sizeof type);
    if (type < 32 && checker->collected.misc_kinds & 1u << type)
        finding(checker, "misc-duplicate", "va.h VAEncMiscParameterBuffer", "a second one of type %u", type);
    checker->collected.misc_kinds |= type < 32 ? 1u << type : 0;
    for (size_t i = 0; i < sizeof misc_kinds / sizeof misc_kinds[0]; i++) {
        if ((uint32_t)misc_kinds[i].type != type)
            continue;
        size_t expected = offsetof(VAEncMiscParameterBuffer, data) + misc_kinds[i].size;
        if (size != expected)
            finding(checker, "misc-buffer-size", "va.h VAEncMiscParameterBuffer",
                    "type %u has %llu bytes, expected %zu", type, (unsigned long long)size, expected);
        if (size >= expected)
            misc_kinds[i].take(checker,
                               (const uint8_t *)buffer->data + offsetof(VAEncMiscParameterBuffer, data));
        return;
    }
    finding(checker, "misc-kind-not-advertised", "va.h VAEncMiscParameterType",
            "type %u belongs to no attribute that the driver advertises", type);
}
