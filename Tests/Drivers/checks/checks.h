/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The judge: whether what an application handed to the driver for one H.264 or HEVC encode is consistent, in itself,
 * with what came before it in the context, with the config it made and with the standard. Pure bookkeeping: it never
 * touches libva or pixels, and speaks only through journal_finding.
 *
 * Where codecs differ, values are unions with a member for each; which one counts goes by codec_of. */
#ifndef DRIVERS_CHECKS_CHECKS_H
#define DRIVERS_CHECKS_CHECKS_H

#include "../common/journal.h"
#include "../h264/syntax.h"
#include "../hevc/syntax.h"

#include <va/va.h>
#include <va/va_enc_h264.h>
#include <va/va_enc_hevc.h>

enum codec { CODEC_H264, CODEC_HEVC };

/* Of a profile that is encoded here. */
enum codec codec_of(VAProfile profile);

/* What a picture or slice may predict from: nothing, one list, or two. */
enum coded_type { CODED_P, CODED_B, CODED_I };
#define CODED_TYPES 3

/* What the driver advertised for a profile and entrypoint (the persona, after its limits). */
struct persona_limits {
    uint32_t rate_controls;     /* VA_RC_* bits */
    uint32_t packed_headers;    /* VA_ENC_PACKED_HEADER_* bits */
    uint32_t maximum_references[2]; /* list 0, list 1 (0: no B slices) */
    uint32_t maximum_slices;
    uint32_t slice_structures;  /* VA_ENC_SLICE_STRUCTURE_* bits */
    uint32_t maximum_quality_level; /* 1 or less: quality levels are not supported */
    uint32_t minimum_width, minimum_height, maximum_width, maximum_height;
    uint32_t maximum_roi_regions;
    uint32_t intra_refresh; /* VA_ENC_INTRA_REFRESH_* bits */
    bool maximum_frame_size, trellis;
    uint32_t prediction_directions; /* VA_PREDICTION_DIRECTION_* bits */
    uint32_t rt_formats;            /* VA_RT_FORMAT_* bits of surfaces */
    /* HEVC only: */
    VAConfigAttribValEncHEVCFeatures hevc_features;
    VAConfigAttribValEncHEVCBlockSizes hevc_block_sizes;
    uint32_t width_alignment, height_alignment; /* of the coded picture, luma samples; 0: that of coding blocks */
};

struct submitted_config {
    VAProfile profile;
    VAEntrypoint entrypoint;
    uint32_t rate_control;    /* exactly one VA_RC_* bit (0 when the application gave none: driver's default, CQP) */
    uint32_t packed_headers;  /* bits the application asked for */
    struct persona_limits limits;
};

/* One buffer of vaRenderPicture, in the order rendered. Data are the application's bytes at vaRenderPicture. */
struct submitted_buffer {
    VABufferID id;
    VABufferType type;
    uint32_t size, count; /* bytes per element and elements, as in vaCreateBuffer */
    const void *data;
};

/* What is known of a surface that the application names. */
struct submitted_surface {
    VASurfaceID id;
    uint32_t width, height; /* as created */
    uint32_t rt_format, fourcc;
    bool valid;             /* created and not destroyed */
    bool in_context;        /* among the render targets of vaCreateContext, or that list was empty */
};

struct submission {
    struct journal_place place;
    VAContextID context;
    uint32_t context_width, context_height; /* of vaCreateContext */
    struct submitted_surface input;         /* vaBeginPicture's target */
    const struct submitted_buffer *buffers;
    uint32_t buffer_count;
    /* Looks a surface up by id; never NULL. */
    struct submitted_surface (*surface)(void *token, VASurfaceID id);
    /* Size in bytes of the coded buffer, and whether it is one: 0 when it is not. */
    uint32_t (*coded_buffer_size)(void *token, VABufferID id);
    /* Whether the picture of the context with this number (journal_place) came out cut short, because its coded buffer
     * was too small. NULL: none did. */
    bool (*overflowed)(void *token, uint32_t picture);
    void *token;
};

#define CHECKS_MAXIMUM_SLICES 256
#define CHECKS_MAXIMUM_REFERENCES 32 /* of a list */

/* What the driver needs to code the picture: the checker reads it out of the buffers once. Misc parameters persist
 * over pictures as VA-API says; parameter sets too. */
struct understood_reference {
    VASurfaceID surface;          /* valid when the picture is codable */
    int32_t picture_order_count;  /* of the frame, as its own headers said */
    bool long_term;
};

union sequence_parameters {
    VAEncSequenceParameterBufferH264 h264;
    VAEncSequenceParameterBufferHEVC hevc;
};

union picture_parameters {
    VAEncPictureParameterBufferH264 h264;
    VAEncPictureParameterBufferHEVC hevc;
};

union slice_parameters {
    VAEncSliceParameterBufferH264 h264;
    VAEncSliceParameterBufferHEVC hevc;
};

union sequence_set {
    struct h264_sps h264;
    struct hevc_sps hevc;
};

union picture_set {
    struct h264_pps h264;
    struct hevc_pps hevc;
};

union slice_header {
    struct h264_slice_header h264;
    struct hevc_slice_header hevc;
};

struct understood_slice {
    enum coded_type type;
    /* Reference lists 0 and 1, as many as the header's num_ref_idx_active says (0 for lists the slice does not use).
     * They are the application's lists, even where the headers lead a decoder to others: that is a finding. */
    struct understood_reference references[2][CHECKS_MAXIMUM_REFERENCES];
    uint32_t reference_count[2];
    uint32_t first_block, block_count; /* macroblocks or coding tree blocks, within the picture when it is codable */
    union slice_parameters parameters;
    union slice_header header;       /* from the packed slice header, else made of the VA parameters */
    struct bits nal;                 /* NAL header and slice header, unescaped; owned by the checker until the next
                                        call for the same checker */
    const struct bits *prefix;       /* raw packed data that stand directly before this slice, byte-aligned, escaped
                                        with start codes as it shall appear in the stream, or NULL */
};

struct understood_rate {
    uint32_t rate_control;        /* VA_RC_* */
    uint32_t bits_per_second;     /* maximum (VAEncMiscParameterRateControl.bits_per_second), after sequence's */
    uint32_t target_percentage;   /* 1 to 100 */
    uint32_t window_milliseconds;
    uint32_t initial_qp, minimum_qp, maximum_qp, icq_quality, qvbr_quality; /* 0: not given */
    uint32_t frame_rate_numerator, frame_rate_denominator;
    uint32_t hrd_buffer_size, hrd_initial_fullness; /* bits; 0: not given */
    uint32_t maximum_frame_size;  /* bytes; 0: none */
    uint32_t quality_level;
    bool no_bit_stuffing;         /* CBR shall not fill up */
    bool changed;                 /* by this picture's buffers */
    bool reset;                   /* this picture's buffers ask for the rate control to start anew */
};

struct understood_picture {
    bool codable; /* false: sequence, picture or slice buffer missing, or headers that cannot be read */
    VAStatus refusal; /* status for vaEndPicture when not codable */
    bool resumes;     /* the application goes back to a picture that came out cut short: that one and those after it */
    uint32_t resumed_picture; /* are discarded; its number (journal_place) */
    enum codec codec;
    union sequence_parameters sequence; /* the latest */
    union picture_parameters picture;
    VASurfaceID reconstruction;
    VABufferID coded_buffer;
    uint32_t chroma_format;  /* chroma_format_idc: 1 to 3 */
    uint32_t bit_depth;      /* 8, 10 or 12 */
    uint32_t block_size;     /* luma samples that a macroblock or coding tree block has in each direction */
    uint32_t columns, rows;  /* of the coded picture in blocks; those of HEVC may reach beyond it */
    uint32_t width, height;  /* of the coded picture in luma samples */
    uint32_t left, top, shown_width, shown_height; /* what a decoder shows of it, likewise */
    union sequence_set sps; /* from the packed SPS, else made of the VA parameters */
    union picture_set pps;
    struct hevc_vps vps; /* of HEVC */
    bool idr, reference;
    int32_t picture_order_count; /* of the frame (H.264 8.2.1), from the headers */
    bool long_term;              /* the picture becomes a long-term reference */
    struct bits headers; /* what goes before the first slice: AUD, SPS, PPS, SEI as the application packed them (start
                            codes and escapes added where it said that they are missing), or own SPS/PPS at an IDR
                            when the persona or the config takes none */
    struct understood_slice *slices;
    uint32_t slice_count;
    struct understood_rate rate;
    uint64_t largest_access_unit; /* bytes that the level allows (H.264 A.3.1 MinCR, H.265 A.4.2 MinCr); 0: it
                                     is not known */
};

struct checker;

/* One per context. The config is copied. */
struct checker *checker_create(const struct submitted_config *config, struct journal_place place);
void checker_destroy(struct checker *checker);

/* Judges a picture (called from vaEndPicture) and says what it means. The result belongs to the checker and is valid
 * until its next call. Never NULL once created. Judging goes by journal_judging; understanding always happens.
 * Buffers' bytes may be hostile: sizes are checked before every read. */
const struct understood_picture *checker_picture(struct checker *checker, const struct submission *submission);

/* Drops the picture from the model of the DPB when its coding failed after checker_picture. */
void checker_picture_failed(struct checker *checker);

#endif
