/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the coder's files share; see coder.h for what the coder promises.
 *
 * coder.c            pictures, slices, what is refused
 * coder_macroblock.c which mode a macroblock gets, and its bookkeeping
 * coder_residual.c   transform, quantisation and back (8.5)
 * predict.c          intra and inter prediction with weights (8.3, 8.4.2)
 * direct.c           references of direct prediction (8.4.1.2)
 * cavlc.c, cabac.c   macroblock syntax (7.3.5) in either entropy coding (9.2, 9.3)
 * deblock.c          deblocking filter (8.7)
 *
 * All motion vectors of a picture are zero: no vector is ever coded, and the predictions of clause 8.4.1 derived from
 * zero vectors only are zero. All partitions of a macroblock share their references. */
#ifndef DRIVERS_H264_CODER_PARTS_H
#define DRIVERS_H264_CODER_PARTS_H

#include "../common/arithmetic.h"
#include "coder.h"
#include "tables.h"

/* Levels are kept within these bounds, so that level_prefix never exceeds 15, as all profiles allow (9.2.2.1). */
#define H264_MAXIMUM_LEVEL 2047

/* A.3.1 and A.3.2 allow 3200 bits; arithmetic coding holds some back. */
#define H264_MAXIMUM_MACROBLOCK_BITS 3168

enum macroblock_kind {
    MACROBLOCK_MISSING, /* not coded yet */
    MACROBLOCK_SKIP,    /* P_Skip, B_Skip */
    MACROBLOCK_INTER,   /* P_L0_16x16, B_L0_16x16, B_L1_16x16, B_Bi_16x16, without residual */
    MACROBLOCK_INTRA,   /* I_16x16 with DC prediction */
    MACROBLOCK_PCM,     /* I_PCM */
};

/* The samples of one macroblock. */
struct samples {
    uint8_t luma[16 * 16];
    uint8_t chroma[8 * 16]; /* 8 rows of 8 interleaved pairs of Cb and Cr */
};

/* Quantised transform coefficients, in coding order (zig-zag scan). */
struct levels {
    int16_t luma_dc[16];
    int16_t luma_ac[16][15];       /* by luma4x4BlkIdx */
    int16_t chroma_dc[2][4];       /* Cb, Cr */
    int16_t chroma_ac[2][4][15];   /* by chroma4x4BlkIdx */
};

/* What later macroblocks and the deblocking filter need of a macroblock. */
struct macroblock {
    uint32_t slice; /* its slice's number in the picture, from 1 on; 0: not coded yet */
    uint8_t kind;   /* enum macroblock_kind */
    uint8_t qp;     /* QP_Y; 0 for I_PCM, as deblocking has it (8.7.2.2) */
    int8_t ref_idx[2];       /* by list; -1: list not used. Both -1: intra */
    uint8_t cbp_luma;        /* CodedBlockPatternLuma: 0 or 15 */
    uint8_t cbp_chroma;      /* CodedBlockPatternChroma: 0 to 2 */
    uint8_t dc_coded[3];     /* whether the DC blocks of luma, Cb, Cr have levels */
    uint8_t total_coeff[24]; /* non-zero levels of each AC block: 16 of luma in raster order, 4 of Cb, 4 of Cr */
};

/* A macroblock as chosen, ready to be written. */
struct decision {
    enum macroblock_kind kind;
    int8_t ref_idx[2];
    uint8_t cbp_luma, cbp_chroma;
    int mb_qp_delta; /* of I_16x16 */
    struct levels levels;
    struct samples samples; /* the reconstruction before deblocking; for I_PCM what is transmitted */
};

/* The macroblocks around one, NULL where not available (6.4.9): A left, B above, C above right, D above left. */
struct neighbours {
    const struct macroblock *a, *b, *c, *d;
};

/* References of a macroblock, for direct prediction in later pictures and for boundary strengths. Pictures are told
 * apart by a number that is never used twice; 0: list not used. */
struct h264_motion {
    uint64_t picture; /* the picture that this belongs to */
    uint32_t macroblock_count;
    uint64_t references[][2]; /* by mbAddr and list */
};

/* The arithmetic encoder (9.3.4). */
struct cabac {
    struct arithmetic engine;
    bool previous_qp_delta_coded; /* the previous macroblock in the slice has an mb_qp_delta that is not 0 */
    uint8_t states[H264_CONTEXTS];
};

/* How the deblocking filter treats a slice. */
struct slice_filter {
    uint8_t disable_deblocking_filter_idc;
    int8_t offset_a, offset_b; /* FilterOffsetA, FilterOffsetB */
};

/* The slice being coded. */
struct slice {
    const struct h264_slice_request *request;
    const struct h264_slice_header *header;
    enum h264_slice_type type;
    uint32_t number; /* in the picture, from 1 on */
    unsigned active[2]; /* lengths of the reference lists; 0: list not used */
    uint64_t pictures[2][H264_MAXIMUM_REFERENCES]; /* h264_motion.picture of the lists' entries */
    bool explicit_weights, implicit_weights;
    int16_t implicit_weight[H264_MAXIMUM_REFERENCES][H264_MAXIMUM_REFERENCES]; /* w1 by refIdxL0, refIdxL1 */
    int qp_predicted; /* QP_Y,PRED */
    uint32_t skip_run; /* CAVLC: mb_skip_run so far */
    struct cabac cabac;
    struct bits bits; /* NAL unit header, slice header and data, without emulation prevention */
};

struct h264_coder {
    struct h264_sps sps;
    struct h264_pps pps;
    const struct h264_frame *source;
    struct h264_frame *reconstruction;
    enum h264_effort effort;
    bool begun;
    uint32_t width, height, macroblock_count; /* in macroblocks */
    int chroma_offset[2];                     /* qPOffset of Cb and Cr */
    uint32_t next;                            /* first macroblock that no slice has */
    struct macroblock *macroblocks;           /* owned, macroblock_count entries */
    struct slice_filter *filters;             /* owned, by slice number - 1 */
    uint32_t slice_count, filter_capacity;
    struct h264_figures figures;
    char failure[160];
};

/* coder_macroblock.c: codes the macroblock at `address`: samples, records and bits. */
void coder_code_macroblock(struct h264_coder *coder, struct slice *slice, uint32_t address);

/* coder_residual.c. Codes source minus prediction as I_16x16 residual: fills levels, patterns and reconstruction of
 * the decision. `qp_chroma` is QP'c of Cb and Cr. */
void residual_code(struct decision *decision, const struct samples *source, const struct samples *prediction, int qp,
                   const int qp_chroma[2]);
/* About how many bits the levels take. */
uint32_t residual_estimate_bits(const struct decision *decision);
/* QPC of a chroma component whose qPOffset is given (8.5.8, 8.7.2.2 for deblocking). */
int residual_chroma_qp(int qp, int offset);

/* predict.c */
void predict_prepare_weights(const struct h264_coder *coder, struct slice *slice);
void predict_intra(const struct h264_frame *frame, uint32_t column, uint32_t row, bool left, bool above,
                   struct samples *out);
void predict_inter(const struct slice *slice, uint32_t column, uint32_t row, const int8_t ref_idx[2],
                   struct samples *out);
void samples_load(struct samples *out, const struct h264_frame *frame, uint32_t column, uint32_t row);
void samples_store(const struct samples *samples, struct h264_frame *frame, uint32_t column, uint32_t row);

/* direct.c. References of a macroblock in direct mode. False where the references of the co-located macroblock are
 * not in list 0, so that temporal direct prediction cannot be used. */
bool direct_references(const struct slice *slice, const struct neighbours *near, uint32_t address, int8_t ref_idx[2]);

/* cavlc.c, cabac.c: the bits of one macroblock, whose record is `macroblock`. */
void cavlc_write_macroblock(struct slice *slice, const struct neighbours *near, const struct macroblock *macroblock,
                            const struct decision *decision);
void cavlc_end_slice(struct slice *slice);
/* `qp` is SliceQPY. */
void cabac_begin_slice(struct slice *slice, int qp);
void cabac_write_macroblock(struct slice *slice, const struct neighbours *near, const struct macroblock *macroblock,
                            const struct decision *decision);
void cabac_write_end_of_slice_flag(struct slice *slice, bool end);

/* I_PCM samples as the syntax orders them: luma, Cb, Cr (7.3.5). */
void pcm_write_samples(struct bits *bits, const struct samples *samples);

/* deblock.c */
void deblock_picture(struct h264_coder *coder);

static inline int clip3(int lowest, int highest, int value)
{
    return value < lowest ? lowest : value > highest ? highest : value;
}

static inline uint8_t clip_sample(int value)
{
    return (uint8_t)clip3(0, 255, value);
}

static inline bool macroblock_is_intra(const struct macroblock *macroblock)
{
    return macroblock->kind >= MACROBLOCK_INTRA;
}

#endif
