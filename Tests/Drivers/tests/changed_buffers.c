/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Changes of misc parameters, of which buffers come, and of packed headers' bytes; see change_runner.h. */
#include "h264_changes.h"

/* The misc parameters of a picture as their structures. */
#define RATE(k) ((VAEncMiscParameterRateControl *)(void *)PIC(k)->miscs.misc[0].bytes)
#define HRD(k) ((VAEncMiscParameterHRD *)(void *)PIC(k)->miscs.misc[1].bytes)
#define FRAME_RATE(k) ((VAEncMiscParameterFrameRate *)(void *)PIC(k)->miscs.misc[2].bytes)
#define QUALITY(k) ((VAEncMiscParameterBufferQualityLevel *)(void *)PIC(k)->miscs.misc[3].bytes)

/* Adds a misc buffer of words to picture 1. */
static void add_words(struct scene *s, uint32_t type, uint32_t first, uint32_t second, size_t size)
{
    uint32_t words[64] = {first, second};
    plan_misc(&PIC(1)->miscs, type, words, size);
}

static bool misc_changes(unsigned n, struct scene *s, enum base *base, const char **expected, const char **what)
{
    CHANGE(PACKED, "rate-bits-per-second-zero sequence-bits-per-second hrd-bit-rate",
           RATE(0)->bits_per_second = 0; END(0))
    CHANGE(PACKED, "hrd-bit-rate", RATE(0)->bits_per_second = 1000064; END(0))
    CHANGE(PACKED, "hrd-bit-rate level-bit-rate sequence-bits-per-second", RATE(0)->bits_per_second = 12000001; END(0))
    CHANGE(PACKED, "rate-target-percentage", RATE(0)->target_percentage = 101)
    CHANGE(PACKED, "rate-window-zero", RATE(0)->window_size = 0)
    CHANGE(PACKED, "rate-initial-qp rate-initial-qp-outside", RATE(0)->initial_qp = 52)
    CHANGE(PACKED, "rate-initial-qp-outside", RATE(0)->initial_qp = 9)
    CHANGE(PACKED, "rate-qp-order rate-minimum-qp rate-initial-qp-outside", RATE(0)->min_qp = 52)
    CHANGE(PACKED, "rate-qp-order rate-initial-qp-outside", RATE(0)->max_qp = 9)
    CHANGE(PACKED, "rate-maximum-qp", RATE(0)->max_qp = 52)
    CHANGE(PACKED, "rate-basic-unit-size", RATE(0)->basic_unit_size = 13)
    CHANGE(PACKED, "rate-flags-reserved", RATE(0)->rc_flags.bits.reserved = 1)
    CHANGE(PACKED, "rate-temporal-id", RATE(0)->rc_flags.bits.temporal_id = 1)
    CHANGE(PACKED, "rate-macroblock-control-not-advertised", RATE(0)->rc_flags.bits.mb_rate_control = 1)
    CHANGE(PACKED, "rate-macroblock-control", RATE(0)->rc_flags.bits.mb_rate_control = 3;
           s->config.limits.rate_controls |= VA_RC_MB)
    CHANGE(PACKED, "rate-parallel-not-advertised", RATE(0)->rc_flags.bits.enable_parallel_brc = 1)
    CHANGE(PACKED, "rate-constant-frame-size-not-advertised", RATE(0)->rc_flags.bits.cfs_I_frames = 1)
    CHANGE(PACKED, "rate-dynamic-scaling", RATE(0)->rc_flags.bits.enable_dynamic_scaling = 1)
    CHANGE(PACKED, "rate-frame-tolerance", RATE(0)->rc_flags.bits.frame_tolerance_mode = 1)
    CHANGE(PACKED, "rate-icq-quality-unused", RATE(0)->ICQ_quality_factor = 1)
    CHANGE(PACKED, "rate-quality-unused", RATE(0)->quality_factor = 1)
    CHANGE(PACKED, "rate-target-frame-size", RATE(0)->target_frame_size = 1)
    CHANGE(PACKED, "rate-reserved", RATE(0)->va_reserved[0] = 1)
    CHANGE(PACKED, "hrd-buffer-size-zero hrd-buffer-missing", HRD(0)->buffer_size = 0; END(0))
    CHANGE(PACKED, "hrd-cpb-size", HRD(0)->buffer_size = 1000016; END(0))
    CHANGE(PACKED, "hrd-fullness-beyond-size sei-delay-differs-from-fullness",
           HRD(0)->initial_buffer_fullness = 1000001)
    CHANGE(PACKED, "sei-delay-differs-from-fullness", HRD(0)->initial_buffer_fullness = 0)
    CHANGE(PACKED, "hrd-reserved", HRD(0)->va_reserved[3] = 9)
    CHANGE(PACKED, "hrd-cpb-size level-cpb-size", HRD(0)->buffer_size = 12000001; END(0);
           HRD(0)->initial_buffer_fullness = 750000)
    CHANGE(PACKED, "frame-rate-zero", FRAME_RATE(0)->framerate = 1u << 16)
    CHANGE(PACKED, "frame-rate-differs-from-vui", FRAME_RATE(0)->framerate = 30; END(0))
    CHANGE(PACKED, "", FRAME_RATE(0)->framerate = 25)
    CHANGE(PACKED, "frame-rate-temporal-id", FRAME_RATE(0)->framerate_flags.bits.temporal_id = 1)
    CHANGE(PACKED, "frame-rate-flags-reserved", FRAME_RATE(0)->framerate_flags.bits.reserved = 1)
    CHANGE(PACKED, "frame-rate-reserved", FRAME_RATE(0)->va_reserved[1] = 1)
    CHANGE(PACKED, "quality-level-beyond-maximum", QUALITY(0)->quality_level = 8)
    CHANGE(PACKED, "quality-level-not-advertised", s->config.limits.maximum_quality_level = 1)
    CHANGE(PACKED, "quality-level-reserved", QUALITY(0)->va_reserved[1] = 1)
    CHANGE(PACKED, "misc-duplicate", PIC(0)->miscs.misc[PIC(0)->miscs.count++] = PIC(0)->miscs.misc[0])
    CHANGE(PACKED, "misc-buffer-size", PIC(8)->miscs.misc[0].size--)
    CHANGE(PACKED, "misc-buffer-size", PIC(8)->miscs.misc[0].size++)
    CHANGE(PACKED, "misc-kind-not-advertised", PIC(8)->miscs.misc[3].type = VAEncMiscParameterTypeAIR)
    CHANGE(PACKED, "misc-kind-not-advertised", PIC(8)->miscs.misc[3].type = 77)
    CHANGE(PACKED, "rate-control-not-advertised", s->config.limits.rate_controls = VA_RC_CQP)
    CHANGE(PACKED, "rate-bits-per-second-missing frame-rate-missing hrd-bit-rate hrd-buffer-missing", END(0);
           PIC(0)->miscs.count = 0; PIC(0)->sequence.bits_per_second = 0;
           PIC(0)->sequence.vui_fields.bits.timing_info_present_flag = 0;
           PIC(0)->sps.vui.timing_info_present_flag = 0; PIC(0)->sps.vui.num_units_in_tick = 0)
    CHANGE(OWN, "rate-control-under-cqp hrd-under-cqp", plan_rate(&PIC(1)->miscs))
    CHANGE(OWN, "maximum-frame-size-not-advertised",
           add_words(s, VAEncMiscParameterTypeMaxFrameSize, VAEncMiscParameterTypeMaxFrameSize, 9000, 24))
    CHANGE(OWN, "maximum-frame-size-type", s->config.limits.maximum_frame_size = true;
           add_words(s, VAEncMiscParameterTypeMaxFrameSize, 0, 9000, 24))
    CHANGE(OWN, "trellis-not-advertised", add_words(s, VAEncMiscParameterTypeQuantization, 2, 0, 8))
    CHANGE(OWN, "trellis-contradiction trellis-reserved", s->config.limits.trellis = true;
           add_words(s, VAEncMiscParameterTypeQuantization, 3, 1, 8))
    CHANGE(OWN, "intra-refresh-not-advertised", add_words(s, VAEncMiscParameterTypeRIR, 1, 1u << 16 | 3,
           sizeof(VAEncMiscParameterRIR)))
    CHANGE(OWN, "intra-refresh-outside intra-refresh-contradiction", s->config.limits.intra_refresh = 3;
           add_words(s, VAEncMiscParameterTypeRIR, 3, 2u << 16 | 3, sizeof(VAEncMiscParameterRIR)))
    CHANGE(OWN, "intra-refresh-not-advertised", s->config.limits.intra_refresh = VA_ENC_INTRA_REFRESH_ROLLING_ROW;
           add_words(s, VAEncMiscParameterTypeRIR, 1, 1u << 16 | 3, sizeof(VAEncMiscParameterRIR)))
    CHANGE(OWN, "", s->config.limits.intra_refresh = VA_ENC_INTRA_REFRESH_ROLLING_ROW;
           add_words(s, VAEncMiscParameterTypeRIR, 2, 1u << 16 | 2, sizeof(VAEncMiscParameterRIR)))
    CHANGE(PACKED, "roi-priority-not-advertised roi-pointer-missing", s->config.limits.maximum_roi_regions = 2;
           add_words(s, VAEncMiscParameterTypeROI, 1, 0, sizeof(VAEncMiscParameterBufferROI)))
    CHANGE(OWN, "roi-not-advertised", add_words(s, VAEncMiscParameterTypeROI, 0, 0,
           sizeof(VAEncMiscParameterBufferROI)))
    CHANGE(OWN, "roi-count roi-pointer-missing roi-delta-order", s->config.limits.maximum_roi_regions = 2;
           add_words(s, VAEncMiscParameterTypeROI, 3, 1u << 8, sizeof(VAEncMiscParameterBufferROI)))
    CHANGE(OWN, "maximum-slice-size-not-advertised",
           add_words(s, VAEncMiscParameterTypeMaxSliceSize, 500, 0, sizeof(VAEncMiscParameterMaxSliceSize)))
    return false;
}

static struct submitted_buffer *find_buffer(struct submitted_buffer *buffers, uint32_t count, VABufferType type,
                                            uint32_t which)
{
    for (uint32_t i = 0; i < count; i++)
        if (buffers[i].type == type && which-- == 0)
            return &buffers[i];
    abort();
}

static void drop(struct submitted_buffer *buffers, uint32_t *count, struct submitted_buffer *buffer)
{
    free((void *)(uintptr_t)buffer->data);
    memmove(buffer, buffer + 1, (size_t)(buffers + *count - buffer - 1) * sizeof *buffer);
    --*count;
}

/* What is done to the buffers of one picture: a kind of buffer, which one, and how. */
enum deed { DROP, DOUBLE, SHORTEN, LENGTHEN, NO_ELEMENTS, TWO_ELEMENTS, RETYPE, SET_BYTE };

static struct {
    uint32_t picture, which;
    VABufferType type;
    enum deed deed;
    uint32_t value, offset; /* RETYPE: the other type; SET_BYTE: what, where */
} doing;

static void do_it(struct scene *scene, uint32_t picture, struct submitted_buffer *buffers, uint32_t *count)
{
    (void)scene;
    if (picture != doing.picture)
        return;
    struct submitted_buffer *buffer = find_buffer(buffers, *count, doing.type, doing.which);
    uint8_t *copy = malloc(buffer->size * 2 + 1);
    memcpy(copy, buffer->data, buffer->size);
    memcpy(copy + buffer->size, buffer->data, buffer->size);
    switch (doing.deed) {
    case DROP: drop(buffers, count, buffer); break;
    case DOUBLE:
        buffers[*count] = *buffer;
        buffers[(*count)++].data = copy;
        return;
    case SHORTEN: buffer->size--; break;
    case LENGTHEN: case TWO_ELEMENTS:
        free((void *)(uintptr_t)buffer->data);
        buffer->data = copy;
        buffer->size += doing.deed == LENGTHEN;
        buffer->count += doing.deed == TWO_ELEMENTS;
        return;
    case NO_ELEMENTS: buffer->count = 0; break;
    case RETYPE: buffer->type = (VABufferType)doing.value; break;
    case SET_BYTE: ((uint8_t *)(uintptr_t)buffer->data)[doing.offset] = (uint8_t)doing.value; break;
    }
    free(copy);
}

#define DO(k, kind, nth, how, ...) \
    s->change_buffers = do_it; \
    doing.picture = (k); \
    doing.which = (nth); \
    doing.type = kind; \
    doing.deed = how; \
    doing.value = (uint32_t[]){__VA_ARGS__ + 0, 0}[0]; \
    doing.offset = 0; \
    END(k)
#define AT(place) doing.offset = (place)

#define SEQUENCE VAEncSequenceParameterBufferType
#define PICTURE VAEncPictureParameterBufferType
#define SLICE VAEncSliceParameterBufferType
#define PARAMETER VAEncPackedHeaderParameterBufferType
#define DATA VAEncPackedHeaderDataBufferType
#define BIT_LENGTH offsetof(VAEncPackedHeaderParameterBuffer, bit_length)
#define EMULATION offsetof(VAEncPackedHeaderParameterBuffer, has_emulation_bytes)

static bool buffer_changes(unsigned n, struct scene *s, enum base *base, const char **expected, const char **what)
{
    CHANGE(PACKED, "sequence-buffer-duplicate", DO(0, SEQUENCE, 0, DOUBLE))
    CHANGE(PACKED, "sequence-buffer-size sequence-buffer-missing picture-not-codable", DO(0, SEQUENCE, 0, SHORTEN))
    CHANGE(PACKED, "sequence-buffer-size", DO(0, SEQUENCE, 0, LENGTHEN))
    CHANGE(PACKED, "sequence-buffer-count", DO(0, SEQUENCE, 0, TWO_ELEMENTS))
    CHANGE(PACKED, "sequence-buffer-count sequence-buffer-missing picture-not-codable", DO(0, SEQUENCE, 0, NO_ELEMENTS))
    CHANGE(PACKED, "picture-buffer-duplicate picture-buffer-after-slice", DO(1, PICTURE, 0, DOUBLE))
    CHANGE(PACKED, "picture-buffer-missing picture-not-codable", DO(1, PICTURE, 0, DROP))
    CHANGE(PACKED, "picture-buffer-size picture-buffer-missing picture-not-codable", DO(1, PICTURE, 0, SHORTEN))
    CHANGE(PACKED, "picture-buffer-count", DO(1, PICTURE, 0, TWO_ELEMENTS))
    CHANGE(PACKED, "slice-buffer-missing picture-not-codable packed-slice-surplus", END(1);
           DO(1, SLICE, 0, DROP); PIC(1)->slice_count = 1)
    CHANGE(PACKED, "packed-slice-surplus slice-macroblocks-total picture-not-codable", DO(1, SLICE, 1, DROP))
    CHANGE(PACKED, "packed-slice-missing slice-macroblock-address picture-not-codable", DO(1, SLICE, 1, DOUBLE))
    CHANGE(PACKED, "slice-buffer-size slice-macroblocks-total packed-slice-surplus picture-not-codable",
           DO(1, SLICE, 1, SHORTEN))
    CHANGE(PACKED, "slice-buffer-size", DO(1, SLICE, 1, LENGTHEN))
    CHANGE(PACKED, "buffer-kind-unexpected packed-slice-surplus slice-macroblocks-total picture-not-codable",
           DO(1, SLICE, 1, RETYPE, VAIQMatrixBufferType))
    CHANGE(PACKED, "packed-data-without-parameter packed-sequence-missing sei-buffering-period-size "
           "sei-pic-timing-size sei-pic-timing-unexpected", DO(0, PARAMETER, 1, DROP))
    CHANGE(PACKED, "packed-parameter-without-data packed-sequence-missing sei-buffering-period-size "
           "sei-pic-timing-size sei-pic-timing-unexpected", DO(0, DATA, 1, DROP))
    CHANGE(PACKED, "packed-parameter-without-data packed-slice-missing", DO(1, DATA, 3, DROP))
    CHANGE(PACKED, "packed-parameter-buffer-size packed-data-without-parameter", DO(1, PARAMETER, 0, SHORTEN))
    CHANGE(PACKED, "packed-parameter-buffer-count", DO(1, PARAMETER, 0, TWO_ELEMENTS))
    CHANGE(PACKED, "packed-parameter-reserved",
           DO(1, PARAMETER, 0, SET_BYTE, 1); AT(sizeof(VAEncPackedHeaderParameterBuffer) - 1))
    CHANGE(PACKED, "packed-type-unknown", DO(1, PARAMETER, 0, SET_BYTE, 9))
    CHANGE(PACKED, "packed-sequence-holds-aud packed-sequence-unit-missing", DO(1, PARAMETER, 0, SET_BYTE, 1))
    CHANGE(PACKED, "packed-picture-holds-sps packed-picture-unit-missing", DO(0, PARAMETER, 1, SET_BYTE, 2))
    CHANGE(PACKED, "packed-raw-holds-slice packed-slice-missing packed-bit-length-fraction",
           DO(0, PARAMETER, 5, SET_BYTE, 4))
    CHANGE(PACKED, "packed-emulation-flag", DO(0, PARAMETER, 1, SET_BYTE, 2); AT(EMULATION))
    CHANGE(PACKED, "packed-escapes-present", DO(0, PARAMETER, 1, SET_BYTE, 0); AT(EMULATION))
    CHANGE(HIGH, "packed-sps-unreadable", DO(0, DATA, 0, SET_BYTE, 0xe7); AT(4))
    CHANGE(HIGH, "packed-start-code-missing packed-sequence-holds-other packed-sequence-unit-missing "
           "packed-sequence-missing packed-escapes-missing", DO(0, DATA, 0, SET_BYTE, 2); AT(3))
    CHANGE(HIGH, "packed-bit-length-zero packed-data-beyond-bit-length packed-start-code-missing "
           "packed-sequence-unit-missing packed-sequence-missing", DO(0, PARAMETER, 0, SET_BYTE, 0); AT(BIT_LENGTH);
           PIC(0)->sps.vui_parameters_present_flag = 0)
    return false;
}

static bool config_changes(unsigned n, struct scene *s, enum base *base, const char **expected, const char **what)
{
    CHANGE(PACKED, "packed-sequence-not-configured", s->config.packed_headers = 0x1e)
    CHANGE(PACKED, "packed-picture-not-configured", s->config.packed_headers = 0x1d)
    CHANGE(PACKED, "packed-slice-not-configured", s->config.packed_headers = 0x1b)
    CHANGE(PACKED, "packed-misc-not-configured", s->config.packed_headers = 0x17)
    CHANGE(PACKED, "packed-raw-not-configured", s->config.packed_headers = 0x0f)
    CHANGE(HIGH, "packed-sequence-not-advertised packed-picture-not-advertised packed-slice-not-advertised",
           s->config.limits.packed_headers = 0)
    CHANGE(PACKED, "packed-sequence-missing", PIC(8)->send_sps = false)
    CHANGE(PACKED, "packed-picture-missing", PIC(8)->send_pps = false)
    CHANGE(OWN, "packed-sequence-missing packed-picture-missing packed-slice-missing",
           s->config.limits.packed_headers = s->config.packed_headers = 7)
    CHANGE(OWN, "cropping-differs-from-context", s->context_width = 63)
    CHANGE(OWN, "", s->context_width = 62; s->context_height = 44)
    CHANGE(OWN, "stream-starts-without-idr picture-not-codable",
           PIC(0)->picture.pic_fields.bits.idr_pic_flag = 0; END(0))
    return false;
}

int main(void)
{
    int failed = run_changes(misc_changes);
    failed |= run_changes(buffer_changes);
    failed |= run_changes(config_changes);
    return failed;
}
