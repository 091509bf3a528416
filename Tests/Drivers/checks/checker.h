/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of this folder share, whatever the codec. checker.c leads a picture through them in this order:
 * collect.c takes the buffers apart, packed.c the packed headers, rate.c the rate control; CODEC_understand.c derives
 * the parameter sets (sets.c) and slices (CODEC_own_headers.c makes those that the application leaves to the driver),
 * stream.c puts them in order; then the checks compare. */
#ifndef DRIVERS_CHECKS_CHECKER_H
#define DRIVERS_CHECKS_CHECKER_H

#include "../h264/dpb.h"
#include "../hevc/dpb.h"
#include "checks.h"

/* Why a picture cannot be coded: the first reason, for the journal. */
#define CHECKS_REASON_SIZE 160

/* What NAL units are for. UNIT_VPS to UNIT_PPS are in the order of enum set_kind. */
enum unit_class { UNIT_VPS, UNIT_SPS, UNIT_PPS, UNIT_SLICE, UNIT_SEI, UNIT_AUD, UNIT_FILLER, UNIT_OTHER };

/* Kinds of parameter sets, each of which refers to one of the kind before. H.264 has no SET_VPS. */
enum set_kind { SET_VPS, SET_SPS, SET_PPS, SET_KINDS };
#define CHECKS_MAXIMUM_SETS 256

/* One NAL unit of a packed header buffer. */
struct packed_unit {
    uint32_t header;     /* index of the packed header it came in */
    uint32_t type;       /* nal_unit_type; UINT32_MAX: there was no NAL unit header */
    enum unit_class class;
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

/* What a picture that may still be referred to was, of HEVC. */
struct kept_kind {
    VASurfaceID surface;
    uint32_t type; /* nal_unit_type */
};

struct history {
    bool previous_was_idr, previous_was_unused, end_of_sequence; /* unused: for reference */
    uint32_t previous_idr_pic_id; /* H.264 */
    uint32_t removal_delay; /* cpb_removal_delay of the latest picture since the buffering period's */
    uint32_t since_intra, since_idr, since_anchor; /* pictures since the last I, IDR, and I or P picture */
    int32_t order_counts[CHECKS_ORDER_COUNTS];     /* of the coded video sequence, a ring */
    uint32_t order_count_count;
    /* HEVC: the latest random access point, whether a picture came since that is shown after it, and the latest
     * pictures, a ring. */
    int32_t irap_order_count;
    uint32_t irap_type;
    bool had_trailing;
    struct kept_kind kinds[HEVC_DPB_CAPACITY];
    uint32_t kind_count;
    struct wave wave;
    VASurfaceID latest_reference; /* reconstruction of the reference picture coded last */
    bool has_active_sps;    /* an IDR picture came: `active` is its SPS */
    union {
        struct h264_sps h264;
        uint64_t hevc; /* a digest of it */
    } active;
};

/* The model of the decoded picture buffer. */
union decoded_pictures {
    struct h264_dpb h264;
    struct hevc_dpb hevc;
};

/* An HEVC picture while it is decoded. */
struct hevc_decoding {
    struct hevc_dpb dpb; /* after the reference picture set was applied (H.265 8.3.2) */
    struct hevc_reference_set set;
    bool set_right;                  /* false: it names what is not there, as `reason` says */
    char reason[CHECKS_REASON_SIZE];
    bool skipped_leading;            /* a RASL picture that decoders do not put out */
};

/* What tells a picture from another one, by the VA parameters. */
struct picture_identity {
    VASurfaceID input;
    int32_t order_count;
    bool idr;
    uint32_t idr_pic_id; /* where idr, of H.264 */
};

/* A picture that the application may have to submit again, with what was there before it. */
struct past_picture {
    uint32_t number; /* journal_place.picture */
    uint64_t serial; /* checker.serial when it was submitted */
    VASurfaceID reconstruction;
    struct picture_identity identity;
    bool sent_own[SET_KINDS];
    union decoded_pictures dpb;
    struct history history;
    struct understood_rate rate;
    bool rate_control_given, frame_rate_given, had_sequence;
    union sequence_parameters sequence;
};

/* How many pictures an application may have submitted before it learns that the first of them was cut short. */
#define CHECKS_PAST_PICTURES 16

/* A picture that was submitted, and is not to be after all. */
struct discarded_picture {
    uint32_t number;
    VASurfaceID reconstruction;
};

/* A parameter set that gave way to another one. */
struct replaced_set {
    uint64_t serial; /* checker.serial of the picture that brought the other one */
    enum set_kind kind;
    uint32_t id;
    void *set; /* owned; NULL: there was none */
};

/* A kind of parameter sets of a codec. */
struct codec_sets {
    const char *word;   /* in names of findings: "sps"; NULL: the codec has none of the kind */
    const char *clause; /* what the elements mean */
    const char *id_clause; /* where a set of the kind is named by its id */
    uint32_t packed_type; /* VAEncPackedHeaderType that they come in */
    size_t size;        /* of the structure */
    uint32_t count;     /* ids are below */
    bool (*read)(void *set, const uint8_t *nal, size_t bit_count, size_t *end, struct syntax_error *error);
    void (*write)(struct bits *bits, const void *set);
    uint32_t (*id)(const void *set);
};

struct checker;

/* What the sequence parameters say of rate and time. */
struct sequence_rate {
    uint32_t bits_per_second;
    uint64_t numerator, denominator; /* pictures per second; 0: not given */
};

/* Macroblocks or coding tree blocks of a slice. */
struct slice_extent {
    uint32_t first, count;
};

/* What is different from codec to codec. */
struct codec_checks {
    /* Clauses: "va_enc_h264.h VAEncSequenceParameterBufferH264" and so on. */
    const char *sequence_buffer, *picture_buffer, *slice_buffer, *coded_buffer, *current_picture;
    const char *packed_types, *packed_slice, *trailing_bits, *escapes, *cropping, *largest_picture;
    /* What 256 luma samples and their chroma may take at most (`largest_picture`): a coded buffer that holds less can
     * overflow with a legal picture. */
    uint32_t bytes_per_macroblock;
    size_t sequence_size, picture_size, slice_size;
    uint32_t unit_header_bits;
    struct codec_sets sets[SET_KINDS];
    uint32_t (*unit_type)(const uint8_t *nal);
    enum unit_class (*unit_class)(uint32_t type);
    const char *slice_address_finding, *slice_empty_finding, *slice_total_finding;
    struct slice_extent (*slice_extent)(const union slice_parameters *slice);
    struct sequence_rate (*sequence_rate)(const union sequence_parameters *sequence);
    /* Tells checker->picture which surface is reconstructed and where the bits go, by its picture parameters. */
    void (*name_objects)(struct understood_picture *picture);
    /* Fills the rest of checker->picture; refuses what is not codable. */
    void (*understand)(struct checker *checker);
    /* Enters the picture into the model of the DPB and the history. */
    void (*commit)(struct checker *checker);
    /* Reads what tells the picture from others out of its picture and first slice parameters. */
    void (*identify)(const union picture_parameters *picture, const union slice_parameters *slice,
                     struct picture_identity *identity);
    /* The surface of the reference picture with the index, as the DPB is before the picture; false: no such index. */
    bool (*reference)(const struct checker *checker, uint32_t index, VASurfaceID *surface);
    /* The checks proper, in three groups: those that need no parameter sets, have_sets, have_headers. */
    void (*check_buffers)(struct checker *checker);
    void (*check_sets)(struct checker *checker);
    void (*check_headers)(struct checker *checker);
};

extern const struct codec_checks h264_checks, hevc_checks;

struct checker {
    struct submitted_config config;
    struct journal_place place;
    const struct submission *submission; /* the current one */
    bool judging;
    const struct codec_checks *codec;
    struct collected collected;
    /* Latest parameter sets as the stream carries them; owned, NULL: never sent. */
    void *sets[SET_KINDS][CHECKS_MAXIMUM_SETS];
    bool set_sent_now[SET_KINDS][CHECKS_MAXIMUM_SETS]; /* with this picture */
    bool have_sequence;  /* a usable sequence buffer came, now or before */
    union sequence_parameters previous_sequence; /* before this picture */
    bool had_sequence;
    struct bits own[SET_KINDS];  /* framed NAL units that the driver made and sent last */
    bool sends_own[SET_KINDS];   /* with this picture */
    bool lost_own[SET_KINDS];    /* with a picture that failed: the next one must send them */
    struct understood_picture picture;
    struct bits prefixes[CHECKS_MAXIMUM_SLICES];
    uint32_t slice_capacity;
    struct understood_rate rate; /* persists */
    bool rate_control_given;     /* a rate control buffer came, ever */
    bool frame_rate_given;       /* likewise a frame rate buffer */
    union decoded_pictures dpb, dpb_before; /* `dpb` includes the latest picture once it was judged */
    struct history history, history_before;
    /* `rate` and its company before the latest picture. */
    struct understood_rate rate_before;
    bool rate_control_given_before, frame_rate_given_before;
    uint64_t serial; /* pictures so far, whatever became of them */
    struct past_picture past[CHECKS_PAST_PICTURES]; /* number k is at k modulo the capacity */
    uint64_t past_first, past_end; /* numbers that are there */
    struct discarded_picture discarded[CHECKS_PAST_PICTURES]; /* since the current one was submitted before */
    uint32_t discarded_count;
    struct replaced_set *replaced; /* in their order; owned */
    uint32_t replaced_count, replaced_capacity;
    struct h264_order_count h264_order_count;
    struct hevc_decoding hevc;
    bool have_sets;    /* the picture's parameter sets are this picture's */
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

/* Enlarges an owned array to hold `count` + 1 elements of `size` bytes; false when memory is out. */
bool grow(void **elements, uint32_t *capacity, uint32_t count, size_t size);

/* collect.c: buffers to checker->collected, picture.sequence, picture.picture, picture.slices[].parameters. */
void collect_buffers(struct checker *checker);
void forget_collected(struct checker *checker);

/* packed.c: packed headers to NAL units, parameter sets to checker->sets. */
void read_packed_headers(struct checker *checker);
bool packed_kind_taken(const struct checker *checker, uint32_t type);
bool packed_kind_configured(const struct checker *checker, uint32_t type);

/* rate.c */
void understand_rate(struct checker *checker, const struct submitted_buffer *buffer);
void understand_sequence_rate(struct checker *checker);

/* sets.c */

/* Whether a set of the kind was sent with this picture: the one with the id, or any. */
bool set_sent(const struct checker *checker, enum set_kind kind, uint32_t id);
bool any_set_sent(const struct checker *checker, enum set_kind kind);

/* Decides on a set of the kind: the application's with the id where it packed one, else one that `make` makes of the
 * VA parameters. It is copied to `set`; the stream gets an own one where it needs it. `begins`: the picture begins a
 * sequence. The first form is for sets that only such pictures bring; the second for those that follow every change
 * of the picture parameters. False: it cannot be had (refuse_picture was called). */
typedef bool (*make_set)(struct checker *checker, void *set);
bool settle_sequence_set(struct checker *checker, enum set_kind kind, uint32_t id, bool begins, make_set make,
                         void *set);
bool settle_picture_set(struct checker *checker, enum set_kind kind, uint32_t id, bool begins, make_set make,
                        void *set);

/* Writes what was made of VA parameters and reads it back into `set`: a field that is out of its range shows there, by
 * its name in the specification. False: it cannot be read (refuse_picture was called). */
bool read_back_set(struct checker *checker, enum set_kind kind, const void *made, void *set);

/* stream.c */

/* What goes before the first slice, and between slices: packed units in their order, own parameter sets where they
 * belong. */
void assemble_stream(struct checker *checker);

/* The slice unit of the slice's packed header, or NULL. */
const struct packed_unit *slice_unit(const struct checker *checker, uint32_t slice);

/* Takes what the unit has up to bit `end`, where its slice header ends, for the slice's; false: out of memory. */
bool take_slice_header(struct checker *checker, uint32_t slice, const struct packed_unit *unit, size_t end);

/* Refuses the picture where it has no buffers to be understood from. */
void require_buffers(struct checker *checker);
/* Slices must follow each other without gap and cover the picture, else the stream cannot be decoded. */
void require_coverage(struct checker *checker);
/* What the driver codes: the surfaces and the coded buffer exist, and the picture fits in them. */
void require_surfaces(struct checker *checker);
/* Refuses a reference whose surface does not exist. */
void require_reference(struct checker *checker, uint32_t slice, uint32_t list, uint32_t entry);

/* The checks that codecs share; codec_checks.check_... lead them where parameter sets and headers are needed. */

void check_surfaces(struct checker *checker);       /* surfaces.c */
/* The picture in one direction: what is shown against the context, which may be in whole blocks of that many samples.
 * Less than `most` samples may be cut off. */
void check_window(struct checker *checker, const char *direction, uint32_t coded, uint64_t cropped, uint32_t context,
                  uint32_t block, uint32_t most);
void check_rate(struct checker *checker);           /* rate_checks.c */

/* One schedule of a hypothetical reference decoder. */
struct schedule {
    uint64_t bit_rate, bit_rate_unit, size, size_unit; /* bits; what the units of the coded values are */
    bool constant;                                     /* cbr_flag */
};

/* The schedule against rate control and HRD, with the clauses of bit_rate_value_minus1 and cbr_flag. */
void check_schedule(struct checker *checker, const struct schedule *schedule, const char *rate_clause,
                    const char *flag_clause);
/* Whether rate control aims at a bit rate. */
bool aims_at_bit_rate(const struct checker *checker);
/* Pictures per second; the denominator is 0 where nobody tells. */
struct picture_rate {
    uint64_t numerator, denominator;
};

/* How many macroblocks or luma samples a decoder of a level, which does `per_second` of them, does in the time that it
 * has for the picture: that since the picture before; for the first of the stream one part of a second, of so many
 * `parts`, and no less than it takes for the picture's own (H.264 A.3.1, H.265 A.4.2). 0: it is not known. */
double decoders_work(const struct checker *checker, struct picture_rate rate, double own, double per_second,
                     uint32_t parts);
/* A number of bytes; 0, for no limit, beyond 32 bits. */
uint64_t whole_bytes(double bytes);
/* The frame rate against a fixed one of the VUI. */
void check_frame_rate(struct checker *checker, uint64_t time_scale, uint64_t units);

/* The delay of a buffering period, of 90 kHz, for one schedule (the first one: `is_first`). */
void check_initial_delay(struct checker *checker, const struct schedule *schedule, bool is_first, uint32_t delay,
                         const char *clause);

/* slices.c: whether there are slice buffers at all, and not too many; and how they cover a picture of that many
 * blocks. */
bool check_slice_buffers(struct checker *checker);
void check_slice_layout(struct checker *checker, uint32_t columns, uint32_t rows);

/* order.c */
/* No order count comes twice; returns how many pictures that came before are shown later than this one. */
uint32_t check_order_count(struct checker *checker, const char *clause);
/* The periods of the sequence parameters are promises about picture types. */
void check_periods(struct checker *checker, uint32_t intra_period, uint32_t intra_idr_period, uint32_t ip_period);
/* The type of the picture, that of its slice that may predict most. */
enum coded_type picture_type(const struct checker *checker);
/* Enters the picture into the history, with the order count by which later ones see it. */
void remember_picture(struct checker *checker, bool forgets_order_counts, int32_t order_count);

/* intra_refresh.c: the picture's part of a wave; enters it into the history. */
void check_intra_refresh(struct checker *checker);
void remember_intra_refresh(struct checker *checker);

/* resubmission.c. Goes back to how things were before a picture that came out cut short, if that is what the submission
 * repeats; tells so in `picture`. Before begin_picture. */
void resume_picture(struct checker *checker);
/* The references of then must not have been overwritten by pictures that are discarded now. */
void check_references_kept(struct checker *checker);
/* Keeps the picture that was judged, with what was there before it; forgets it when it comes to nothing. */
void keep_past(struct checker *checker);
void forget_latest(struct checker *checker);
/* Puts a parameter set, owned from now on, where an older one may be. */
void replace_set(struct checker *checker, enum set_kind kind, uint32_t id, void *set);
/* Frees replaced sets that nobody can go back to, or all. */
void forget_replaced(struct checker *checker, bool all);

#endif
