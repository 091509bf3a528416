/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "field_macros.h"

#include <va/va.h>

/* VAEncMiscParameterBufferMaxFrameSize.type is deprecated, yet still there to be changed. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#define STRUCTURE VAEncMiscParameterBuffer
#define MISC_HEADER_FIELDS(X)                                                                                   \
    SCALAR(X, type)
MISC_HEADER_FIELDS(FIELD_ACCESSORS)
FIELD_TABLE(fields_misc_header, "misc", MISC_HEADER_FIELDS)
#undef STRUCTURE

#define STRUCTURE VAEncPackedHeaderParameterBuffer
#define PACKED_FIELDS(X)                                                                                        \
    SCALAR(X, type)                                                                                                    \
    SCALAR(X, bit_length)                                                                                              \
    SCALAR(X, has_emulation_bytes)                                                                                     \
    ARRAY(X, va_reserved, VA_PADDING_LOW, USE_ALL)
PACKED_FIELDS(FIELD_ACCESSORS)
FIELD_TABLE(fields_packed, "packed", PACKED_FIELDS)
#undef STRUCTURE

#define STRUCTURE VAEncMiscParameterRateControl
#define RATE_CONTROL_FIELDS(X)                                                                                         \
    SCALAR(X, bits_per_second)                                                                                         \
    SCALAR(X, target_percentage)                                                                                       \
    SCALAR(X, window_size)                                                                                             \
    SCALAR(X, initial_qp)                                                                                              \
    SCALAR(X, min_qp)                                                                                                  \
    SCALAR(X, basic_unit_size)                                                                                         \
    BITS(X, rc_flags, reset)                                                                                           \
    BITS(X, rc_flags, disable_frame_skip)                                                                              \
    BITS(X, rc_flags, disable_bit_stuffing)                                                                            \
    BITS(X, rc_flags, mb_rate_control)                                                                                 \
    BITS(X, rc_flags, temporal_id)                                                                                     \
    BITS(X, rc_flags, cfs_I_frames)                                                                                    \
    BITS(X, rc_flags, enable_parallel_brc)                                                                             \
    BITS(X, rc_flags, enable_dynamic_scaling)                                                                          \
    BITS(X, rc_flags, frame_tolerance_mode)                                                                            \
    BITS(X, rc_flags, reserved)                                                                                        \
    SCALAR(X, ICQ_quality_factor)                                                                                      \
    SCALAR(X, max_qp)                                                                                                  \
    SCALAR(X, quality_factor)                                                                                          \
    SCALAR(X, target_frame_size)                                                                                       \
    ARRAY(X, va_reserved, VA_PADDING_LOW, USE_ALL)
RATE_CONTROL_FIELDS(FIELD_ACCESSORS)
FIELD_TABLE(fields_rate_control, "misc.rate-control", RATE_CONTROL_FIELDS)
#undef STRUCTURE

#define STRUCTURE VAEncMiscParameterFrameRate
#define FRAME_RATE_FIELDS(X)                                                                                           \
    SCALAR(X, framerate)                                                                                               \
    BITS(X, framerate_flags, temporal_id)                                                                              \
    BITS(X, framerate_flags, reserved)                                                                                 \
    ARRAY(X, va_reserved, VA_PADDING_LOW, USE_ALL)
FRAME_RATE_FIELDS(FIELD_ACCESSORS)
FIELD_TABLE(fields_frame_rate, "misc.frame-rate", FRAME_RATE_FIELDS)
#undef STRUCTURE

#define STRUCTURE VAEncMiscParameterHRD
#define HRD_FIELDS(X)                                                                                                  \
    SCALAR(X, initial_buffer_fullness)                                                                                 \
    SCALAR(X, buffer_size)                                                                                             \
    ARRAY(X, va_reserved, VA_PADDING_LOW, USE_ALL)
HRD_FIELDS(FIELD_ACCESSORS)
FIELD_TABLE(fields_hrd, "misc.hrd", HRD_FIELDS)
#undef STRUCTURE

#define STRUCTURE VAEncMiscParameterBufferMaxFrameSize
#define MAXIMUM_FRAME_SIZE_FIELDS(X)                                                                                   \
    SCALAR(X, type)                                                                                                    \
    SCALAR(X, max_frame_size)                                                                                          \
    ARRAY(X, va_reserved, VA_PADDING_LOW, USE_ALL)
MAXIMUM_FRAME_SIZE_FIELDS(FIELD_ACCESSORS)
FIELD_TABLE(fields_maximum_frame_size, "misc.max-frame-size", MAXIMUM_FRAME_SIZE_FIELDS)
#undef STRUCTURE

#define STRUCTURE VAEncMiscParameterBufferQualityLevel
#define QUALITY_LEVEL_FIELDS(X)                                                                                        \
    SCALAR(X, quality_level)                                                                                           \
    ARRAY(X, va_reserved, VA_PADDING_LOW, USE_ALL)
QUALITY_LEVEL_FIELDS(FIELD_ACCESSORS)
FIELD_TABLE(fields_quality_level, "misc.quality-level", QUALITY_LEVEL_FIELDS)
#undef STRUCTURE

#define STRUCTURE VAEncMiscParameterQuantization
#define QUANTIZATION_FIELDS(X)                                                                                         \
    BITS(X, quantization_flags, disable_trellis)                                                                       \
    BITS(X, quantization_flags, enable_trellis_I)                                                                      \
    BITS(X, quantization_flags, enable_trellis_P)                                                                      \
    BITS(X, quantization_flags, enable_trellis_B)                                                                      \
    BITS(X, quantization_flags, reserved)                                                                              \
    SCALAR(X, va_reserved)
QUANTIZATION_FIELDS(FIELD_ACCESSORS)
FIELD_TABLE(fields_quantization, "misc.quantization", QUANTIZATION_FIELDS)
#undef STRUCTURE

#define STRUCTURE VAEncMiscParameterMaxSliceSize
#define MAXIMUM_SLICE_SIZE_FIELDS(X)                                                                                   \
    SCALAR(X, max_slice_size)                                                                                          \
    ARRAY(X, va_reserved, VA_PADDING_LOW, USE_ALL)
MAXIMUM_SLICE_SIZE_FIELDS(FIELD_ACCESSORS)
FIELD_TABLE(fields_maximum_slice_size, "misc.max-slice-size", MAXIMUM_SLICE_SIZE_FIELDS)
#undef STRUCTURE

#define STRUCTURE VAEncMiscParameterRIR
#define INTRA_REFRESH_FIELDS(X)                                                                                        \
    BITS(X, rir_flags, enable_rir_column)                                                                              \
    BITS(X, rir_flags, enable_rir_row)                                                                                 \
    BITS(X, rir_flags, reserved)                                                                                       \
    SCALAR(X, intra_insertion_location)                                                                                \
    SCALAR(X, intra_insert_size)                                                                                       \
    SCALAR(X, qp_delta_for_inserted_intra)                                                                             \
    ARRAY(X, va_reserved, VA_PADDING_LOW, USE_ALL)
INTRA_REFRESH_FIELDS(FIELD_ACCESSORS)
FIELD_TABLE(fields_intra_refresh, "misc.rir", INTRA_REFRESH_FIELDS)
#undef STRUCTURE

#define STRUCTURE VAEncMiscParameterSkipFrame
#define SKIP_FRAME_FIELDS(X)                                                                                           \
    SCALAR(X, skip_frame_flag)                                                                                         \
    SCALAR(X, num_skip_frames)                                                                                         \
    SCALAR(X, size_skip_frames)                                                                                        \
    ARRAY(X, va_reserved, VA_PADDING_LOW, USE_ALL)
SKIP_FRAME_FIELDS(FIELD_ACCESSORS)
FIELD_TABLE(fields_skip_frame, "misc.skip-frame", SKIP_FRAME_FIELDS)
#undef STRUCTURE
