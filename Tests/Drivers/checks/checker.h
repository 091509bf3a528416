/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of this folder share. checker.c leads a picture through them in this order: collect.c takes the
 * buffers apart, packed.c the packed headers, rate.c the rate control; understand.c derives the parameter sets and
 * slices (own_headers.c makes those that the application leaves to the driver); then the checks compare. */
#ifndef DRIVERS_CHECKS_CHECKER_H
#define DRIVERS_CHECKS_CHECKER_H

#include "../h264/dpb.h"
#include "checks.h"

/* One NAL unit of a packed header buffer. */
struct packed_unit {
    uint32_t header;     /* index of the packed header it came in */
    uint32_t type;       /* nal_unit_type; UINT32_MAX: there was no NAL unit header */
    size_t first, size;  /* bytes in the packed header's data, start code included */
    uint8_t *bytes;      /* NAL unit header and payload without emulation prevention; owned */
    size_t bit_count;
};

/* A packed header parameter buffer with its data. */
struct packed_header {
    VAEncPackedHeaderParameterBuffer parameters;
    const uint8_t *data; /* the application's, valid during the call */
    size_t size;         /* bytes of `data` that bit_length covers and that are there */
    size_t bit_count;    /* bit_length, cut to the data */
    bool taken;          /* the persona takes this kind: it goes into the stream */
    bool before_slices;  /* no slice parameter buffer and no packed slice header came before */
    uint32_t first_unit, unit_count;
};

/* One element of the slice parameter buffers, with the packed units that belong to it. */
struct collected_slice {
    uint32_t packed; /* index of its packed slice header, UINT32_MAX: none */
};

/* The columns or rows of macroblocks from `first` to before `end` that a picture renews, of `length`. */
struct refreshed_blocks {
    bool by_column;
    uint32_t first, end, length; /* end is length at most; equal to first: none */
};

/* A packed header that is waiting for its data, while buffers are collected. */
struct collected {
    bool sequence, picture; /* received with this picture */
    uint32_t sequence_count, picture_count, slice_buffer_count;
    bool slices_ignored;    /* more slices than are handled */
    uint32_t misc_kinds;    /* bit n: a misc buffer of type n came */
    struct packed_header *headers;
    uint32_t header_count, header_capacity;
    struct packed_unit *units;
    uint32_t unit_count, unit_capacity;
    struct collected_slice slices[CHECKS_MAXIMUM_SLICES];
    uint32_t slice_count;
    struct refreshed_blocks refreshed;
    bool out_of_memory;
};

/* Why a picture cannot be coded: the first reason, for the journal. */
#define CHECKS_REASON_SIZE 160

/* Columns or rows beyond these are not followed; H.264 A.3.1 allows 543. */
#define CHECKS_WAVE_BLOCKS 1024

/* A wave of intra refresh that has not yet renewed everything. */
struct wave {
    bool running, by_column;
    uint32_t length;                           /* columns or rows of the picture */
    uint32_t covered[CHECKS_WAVE_BLOCKS / 32]; /* bit n: number n is renewed */
};

/* What is remembered of the pictures before, for checks over several pictures. */
#define CHECKS_ORDER_COUNTS 64
struct history {
    bool previous_was_idr, previous_was_unused, end_of_sequence; /* unused: for reference */
    uint32_t previous_idr_pic_id;
    uint32_t removal_delay; /* cpb_removal_delay of the latest picture since the buffering period's */
    uint32_t since_intra, since_idr, since_anchor; /* pictures since the last I, IDR, and I or P picture */
    int32_t order_counts[CHECKS_ORDER_COUNTS];     /* of the coded video sequence, a ring */
    uint32_t order_count_count;
    struct wave wave;
    VASurfaceID latest_reference; /* reconstruction of the reference picture coded last */
    bool has_active_sps;    /* an IDR picture came: `active` is its SPS */
    struct h264_sps active;
};

/* A picture that the application may have to submit again, with what was there before it. */
struct past_picture {
    uint32_t number; /* journal_place.picture */
    uint64_t serial; /* checker.serial when it was submitted */
    VASurfaceID input, reconstruction;
    int32_t order_count; /* CurrPic.TopFieldOrderCnt */
    bool idr;
    uint32_t idr_pic_id; /* where idr */
    bool sent_own_sps, sent_own_pps;
    struct h264_dpb dpb;
    struct history history;
    struct understood_rate rate;
    bool rate_control_given, frame_rate_given, had_sequence;
    VAEncSequenceParameterBufferH264 sequence;
};

/* How many pictures an application may have submitted before it learns that the first of them was cut short. */
#define CHECKS_PAST_PICTURES 16

/* A parameter set that gave way to another one. */
struct replaced_set {
    uint64_t serial; /* checker.serial of the picture that brought the other one */
    uint32_t id;
    struct h264_sps *sps; /* one of both; owned */
    struct h264_pps *pps;
    bool is_sps;
};

struct checker {
    struct submitted_config config;
    struct journal_place place;
    const struct submission *submission; /* the current one */
    bool judging;
    struct collected collected;
    /* Latest parameter sets as the stream carries them; owned, NULL: never sent. */
    struct h264_sps *sps[32];
    struct h264_pps *pps[256];
    bool sps_sent_now[32], pps_sent_now[256]; /* with this picture */
    bool have_sequence;  /* a usable sequence buffer came, now or before */
    VAEncSequenceParameterBufferH264 previous_sequence; /* before this picture */
    bool had_sequence;
    struct bits own_sps, own_pps; /* framed NAL units that the driver made and sent last */
    bool sends_own_sps, sends_own_pps; /* with this picture */
    bool lost_own_sps, lost_own_pps;   /* with a picture that failed: the next one must send them */
    struct understood_picture picture;
    struct bits prefixes[CHECKS_MAXIMUM_SLICES];
    uint32_t slice_capacity;
    uint32_t slice_pps[CHECKS_MAXIMUM_SLICES];
    struct understood_rate rate; /* persists */
    bool rate_control_given;     /* a rate control buffer came, ever */
    bool frame_rate_given;       /* likewise a frame rate buffer */
    struct h264_dpb dpb, dpb_before; /* `dpb` includes the latest picture once it was judged */
    struct history history, history_before;
    /* `rate` and its company before the latest picture. */
    struct understood_rate rate_before;
    bool rate_control_given_before, frame_rate_given_before;
    uint64_t serial; /* pictures so far, whatever became of them */
    struct past_picture past[CHECKS_PAST_PICTURES]; /* number k is at k modulo the capacity */
    uint64_t past_first, past_end; /* numbers that are there */
    struct replaced_set *replaced; /* in their order; owned */
    uint32_t replaced_count, replaced_capacity;
    struct h264_order_count order_count;
    bool have_sets;    /* picture.sps and picture.pps are this picture's */
    bool have_headers; /* and so are all slice headers and the order count */
};

/* States a finding at the checker's place; `slice_finding` at a slice of it. */
void finding(struct checker *checker, const char *name, const char *clause, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void slice_finding(struct checker *checker, uint32_t slice, const char *name, const char *clause, const char *format,
                   ...) __attribute__((format(printf, 5, 6)));

/* A finding unless the values are equal. */
void expect(struct checker *checker, const char *name, const char *clause, int64_t given, int64_t expected);
void slice_expect(struct checker *checker, uint32_t slice, const char *name, const char *clause, int64_t given,
                  int64_t expected);

/* A finding unless minimum <= given <= maximum. */
void expect_range(struct checker *checker, const char *name, const char *clause, int64_t given, int64_t minimum,
                  int64_t maximum);

/* A finding unless the words (va_reserved) are all zero. */
void expect_reserved(struct checker *checker, const char *name, const char *clause, const uint32_t *words,
                     size_t count);

/* Ends the codability of the picture, and says why; a finding "picture-not-codable" goes with the first. */
void refuse_picture(struct checker *checker, VAStatus status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* True when any of the flags is set. */
bool any_sent(const bool *sent, uint32_t count);

/* Enlarges an owned array to hold `count` + 1 elements of `size` bytes; false when memory is out. */
bool grow(void **elements, uint32_t *capacity, uint32_t count, size_t size);

/* collect.c: buffers to checker->collected, picture.sequence, picture.picture, picture.slices[].parameters. */
void collect_buffers(struct checker *checker);
void forget_collected(struct checker *checker);

/* packed.c: packed headers to NAL units, parameter sets to checker->sps and pps. */
void read_packed_headers(struct checker *checker);
bool packed_kind_taken(const struct checker *checker, uint32_t type);
bool packed_kind_configured(const struct checker *checker, uint32_t type);

/* rate.c */
void understand_rate(struct checker *checker, const struct submitted_buffer *buffer);
void understand_sequence_rate(struct checker *checker);
/* own_headers.c: parameter sets and slice headers from the VA parameters, as they would be coded; false when they
 * cannot be (out of range; refuse_picture was called). */
bool make_sps(struct checker *checker, struct h264_sps *sps);
bool make_pps(struct checker *checker, const struct h264_sps *sps, struct h264_pps *pps);
bool make_slice_header(struct checker *checker, uint32_t slice, struct h264_slice_header *header);

/* understand.c: fills checker->picture; commit_picture enters it into the DPB and the history. */
void understand_picture(struct checker *checker);
void commit_picture(struct checker *checker);

/* The checks proper, all led by check_everything. Those of the first group need no parameter sets, those of the
 * second need have_sets, those of the third have_headers. */
void check_everything(struct checker *checker);

void check_sequence(struct checker *checker);       /* sequence.c */
void check_picture(struct checker *checker);        /* picture.c */
void check_slice_parameters(struct checker *checker); /* slices.c */
void check_surfaces(struct checker *checker);       /* surfaces.c */
void check_access_unit(struct checker *checker);    /* access_unit.c */
void check_rate(struct checker *checker);           /* rate_checks.c */

void check_sequence_sps(struct checker *checker);   /* sequence.c */
void check_picture_pps(struct checker *checker);    /* picture.c */
void check_profile(struct checker *checker);        /* profile.c */
void check_levels(struct checker *checker);         /* levels.c */
void check_hrd(struct checker *checker);            /* rate_checks.c */
void check_cropping(struct checker *checker);       /* surfaces.c */

void check_picture_header(struct checker *checker); /* picture.c */
void check_slice_headers(struct checker *checker);  /* slice_headers.c */
void check_common_fields(struct checker *checker);  /* slices.c */
void check_weights(struct checker *checker);        /* weights.c */
void check_references(struct checker *checker);     /* references.c */
void check_order(struct checker *checker);          /* order.c */
void check_access_unit_content(struct checker *checker); /* access_unit.c */
void check_enhancement(struct checker *checker);    /* enhancement.c, from check_access_unit_content */

/* intra_refresh.c: the picture's part of a wave; enters it into the history. */
void check_intra_refresh(struct checker *checker);
void remember_intra_refresh(struct checker *checker);

/* order.c: enters the picture into the history. */
void remember_picture(struct checker *checker);

/* resubmission.c. Goes back to how things were before a picture that came out cut short, if that is what the submission
 * repeats; tells so in `picture`. Before begin_picture. */
void resume_picture(struct checker *checker);
/* Keeps the picture that was judged, with what was there before it; forgets it when it comes to nothing. */
void keep_past(struct checker *checker);
void forget_latest(struct checker *checker);
/* Puts a parameter set, owned from now on, where an older one may be. */
void replace_sps(struct checker *checker, uint32_t id, struct h264_sps *sps);
void replace_pps(struct checker *checker, uint32_t id, struct h264_pps *pps);
/* Frees replaced sets that nobody can go back to, or all. */
void forget_replaced(struct checker *checker, bool all);

#endif
