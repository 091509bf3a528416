/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the coder's files share; see coder.h for what the coder promises.
 *
 * coder.c            pictures, slice segments, what is refused
 * decide.c           coding trees: which coding units there are, and of which kind
 * transform_tree.c   the transform units of a coding unit
 * residual.c         transform, quantisation and back (8.6)
 * predict.c          samples of frames; intra DC and inter prediction (8.4.4.2, 8.5.3)
 * merge.c            merge candidates (8.5.3.2.2)
 * write_unit.c       coding unit syntax (7.3.8), write_residual.c that of coefficients
 * skip.c             slices of HEVC_EFFORT_SKIP
 * deblock.c          deblocking filter (8.7.2)
 *
 * All motion vectors of a picture are zero: so is all that they are predicted from, and no difference is ever coded.
 * Coding units are 2Nx2N; intra ones of the smallest size may be NxN. All intra prediction is DC. */
#ifndef DRIVERS_HEVC_CODER_PARTS_H
#define DRIVERS_HEVC_CODER_PARTS_H

#include "../common/arithmetic.h"
#include "coder.h"
#include "tables.h"

#define MOST_CTB 64          /* largest coding tree block, luma samples */
#define MOST_CANDIDATES 5    /* MaxNumMergeCand */
#define MOST_NODES 341       /* of a transform tree from 64x64 to 4x4 */

enum { LUMA, CB, CR };

enum unit_kind {
    UNIT_MISSING, /* not coded yet */
    UNIT_INTER,
    UNIT_INTRA,
};

/* Which pictures a block is predicted from: indices into the reference lists, -1 where a list is not used. */
struct motion {
    int8_t ref_idx[2];
};

/* What later blocks and the deblocking filter need of 8x8 luma samples. */
struct unit {
    uint32_t slice;       /* its slice's number in the picture, from 1 on; 0: not coded yet */
    uint8_t kind;         /* enum unit_kind */
    int8_t qp;            /* QpY */
    struct motion motion; /* of UNIT_INTER */
    uint8_t coded;        /* which 4x4 luma blocks lie in transform units with luma coefficients: bit 2 * y + x */
    bool left_edge, top_edge; /* a transform unit begins there */
};

/* For temporal motion prediction in later pictures, by 16x16 luma samples. Bit n: predicted from list n; bit 2 + n:
 * from a long-term reference of that list. 0: intra. */
struct hevc_motion {
    uint32_t columns, rows;
    uint8_t blocks[];
};

/* The samples of a block that is square in luma, by component; rows follow each other without gap. */
struct samples {
    uint16_t of[3][MOST_CTB * MOST_CTB];
};

/* One node of a transform tree, in coding order: a node comes before its children. */
struct node {
    bool split;
    uint8_t log2_size;
    /* Bit n: block n of the component has levels; chroma of 4:2:2 has two, one below the other. Bit 0 of a node with
     * children: whether one of them has any; luma of leaves only. */
    uint8_t cbf[3];
    /* By component and block: 4 * y + x; lowest frequencies of the transform. Chroma of 4x4 luma is in the parent, but
     * for 4:4:4. */
    int16_t levels[3][2][16];
};

/* A coding unit as decided. */
struct coding {
    uint32_t x, y; /* luma samples */
    unsigned log2_size, depth;
    enum unit_kind kind;
    bool skip, merge, nxn;
    unsigned merge_idx;   /* where skip or merge */
    struct motion motion; /* of UNIT_INTER */
    int qp;               /* QpY that its residual is coded with */
    bool root_cbf;        /* rqt_root_cbf */
    unsigned node_count;
    struct node nodes[MOST_NODES];
};

/* What the deblocking filter and later slices need of a slice. */
struct slice_record {
    uint32_t address; /* SliceAddrRs */
    bool deblocking_disabled, across_slices;
    int8_t beta_offset, tc_offset; /* not halved */
    const struct hevc_motion *pictures[2][HEVC_MAXIMUM_REFERENCES]; /* of the references: tells pictures apart */
    uint16_t long_term[2];         /* bit n: entry n of the list */
};

/* The slice segment being coded. */
struct slice {
    const struct hevc_slice_request *request;
    const struct hevc_slice_header *header;
    uint32_t number; /* of its slice in the picture, from 1 on */
    unsigned active[2];      /* lengths of the reference lists; 0: list not used */
    unsigned candidate_count; /* MaxNumMergeCand */
    bool no_backward_prediction; /* NoBackwardPredFlag */
    int slice_qp;            /* SliceQpY */
    int chroma_offset[2];    /* of the PPS and the slice */
    int least_qp, most_qp;
    struct bits bits; /* NAL unit header, slice header and data, without emulation prevention */
};

/* Quantization groups (8.6.1). */
struct quantization {
    int predicted;     /* qPY_PRED of the group */
    int previous;      /* QpY of the coding unit coded last */
    int wanted;        /* QpY that the group is to have */
    int value;         /* CuQpDeltaVal */
    bool delta_coded;  /* IsCuQpDeltaCoded */
};

/* What the data of a slice of HEVC_EFFORT_SKIP depend on. Compared byte by byte: all words, no gaps. */
struct skipped_key {
    uint32_t width, height, chroma_format, ctb_log2, min_cb_log2, min_tb_log2, max_tb_log2, intra_depth;
    uint32_t address, ctb_count, slice_type, cabac_init_flag, candidate_count;
    uint32_t sao_luma, sao_chroma, transquant_bypass, pcm, pcm_least, pcm_difference;
    int32_t slice_qp;
};

/* A slice that was coded before, with its data after the header and byte_alignment(). */
struct skipped_slice {
    struct skipped_key key;
    struct bits data;
};

#define SKIPPED_KEPT 32

struct hevc_coder {
    struct hevc_sps sps;
    struct hevc_pps pps;
    const struct hevc_frame *source;
    struct hevc_frame *reconstruction;
    enum hevc_effort effort;
    bool begun;
    unsigned depth_bits;             /* bit depth */
    int qp_offset;                   /* QpBdOffset */
    unsigned ctb_log2, min_cb_log2, min_tb_log2, max_tb_log2, group_log2;
    uint32_t width, height;          /* luma samples */
    unsigned chroma_format;          /* ChromaArrayType: 1 to 3 */
    unsigned chroma_right, chroma_down; /* log2 of SubWidthC and SubHeightC */
    uint32_t ctb_columns, ctb_count; /* PicWidthInCtbsY, PicSizeInCtbsY */
    uint32_t next;                   /* first coding tree block that no segment has */
    uint32_t unit_columns, unit_count;
    struct unit *units;              /* owned, by 8x8 */
    uint32_t *reconstructed;         /* owned, by 4x4: number of the slice whose samples are there; 0: none */
    uint8_t *depth_above, *skip_above; /* owned, by 8 columns: CtDepth and cu_skip_flag of the last row above */
    uint8_t depth_left[8], skip_left[8]; /* of the column to the left, by 8 rows of the coding tree block */
    struct slice_record *slices;     /* owned, by slice number - 1 */
    uint32_t slice_count, slice_capacity;
    struct arithmetic engine;
    uint8_t contexts[HEVC_CONTEXTS];
    uint8_t kept_contexts[HEVC_CONTEXTS]; /* at the end of the segment before (9.3.2.4) */
    struct quantization quantization;
    struct hevc_figures figures;
    bool ctb_intra;                  /* all coding units of the coding tree block so far */
    struct samples ctb_source;       /* of the coding tree block, rows as for one of MOST_CTB */
    struct coding coding, best;      /* the coding unit being tried, and the best so far */
    struct samples best_samples;
    struct node kept_nodes[6];       /* transform_tree.c, by depth */
    struct samples kept_samples[6];
    struct skipped_slice skipped[SKIPPED_KEPT]; /* skip.c */
    unsigned skipped_count, next_skipped; /* `next_skipped` is replaced next once all are in use */
    char failure[160];
};

static inline int clip3(int lowest, int highest, int value)
{
    return value < lowest ? lowest : value > highest ? highest : value;
}

/* How many samples of a component lie beside each other where luma has `luma`. */
static inline unsigned component_width(const struct hevc_coder *coder, unsigned component, unsigned luma)
{
    return component == LUMA ? luma : luma >> coder->chroma_right;
}

/* And how many one below the other. */
static inline unsigned component_height(const struct hevc_coder *coder, unsigned component, unsigned luma)
{
    return component == LUMA ? luma : luma >> coder->chroma_down;
}

/* A part of a picture in samples of a component. */
struct area {
    uint32_t x, y;
    unsigned width, height;
};

/* What a component has of `size` by `size` luma samples. */
static inline struct area component_area(const struct hevc_coder *coder, unsigned component, uint32_t x, uint32_t y,
                                         unsigned size)
{
    return (struct area){component_width(coder, component, x), component_height(coder, component, y),
                         component_width(coder, component, size), component_height(coder, component, size)};
}

/* How many samples two luma samples have with their chroma: 3, 4 or 6. */
static inline unsigned samples_of_two(const struct hevc_coder *coder)
{
    return 2 + (4 >> coder->chroma_right >> coder->chroma_down);
}

/* 7.3.8.12: log2 of the size of chroma transform blocks where luma's is given. */
static inline unsigned chroma_transform_log2(const struct hevc_coder *coder, unsigned luma_log2)
{
    return coder->chroma_format == 3 ? luma_log2 : luma_log2 > 2 ? luma_log2 - 1 : 2;
}

static inline struct unit *unit_at(const struct hevc_coder *coder, uint32_t x, uint32_t y)
{
    return &coder->units[(y >> 3) * coder->unit_columns + (x >> 3)];
}

/* The unit at a place if it is coded already and in the slice (6.4.1); else NULL. */
static inline const struct unit *available_unit(const struct hevc_coder *coder, const struct slice *slice, int64_t x,
                                                int64_t y)
{
    if (x < 0 || y < 0 || x >= coder->width || y >= coder->height)
        return NULL;
    const struct unit *unit = unit_at(coder, (uint32_t)x, (uint32_t)y);
    return unit->slice == slice->number ? unit : NULL;
}

/* decide.c: decides on, reconstructs and writes one coding tree block. */
void code_ctb(struct hevc_coder *coder, struct slice *slice, uint32_t address);

/* skip.c: likewise for HEVC_EFFORT_SKIP, without samples and records. */
void skip_ctb(struct hevc_coder *coder, struct slice *slice, uint32_t address);
/* Appends the data of such a slice as they were coded before; false: they were not. */
bool skip_recall(struct hevc_coder *coder, struct slice *slice);
/* Keeps the data that begin at `start` (bits) of the slice's NAL unit. */
void skip_learn(struct hevc_coder *coder, const struct slice *slice, size_t start);
void skip_release(struct hevc_coder *coder);

/* transform_tree.c. Codes source minus prediction of coder->coding, into its nodes and the frame. `prediction`, where
 * the unit is not intra, has the samples that are predicted, rows of the unit's size. Returns the squared error of all
 * components; `bits` receives about how many bits the tree takes. */
uint64_t transform_tree_code(struct hevc_coder *coder, struct slice *slice, const struct samples *prediction,
                             uint32_t *bits);

/* residual.c. Transforms and quantises `size` by `size` differences (rows of that length) with Qp'; true when there
 * are levels. `sine`: 4x4 luma of intra units. */
bool residual_quantise(const int16_t *difference, unsigned log2_size, int qp, bool sine, bool intra, bool hide_signs,
                       int16_t levels[16]);
/* The differences that levels stand for (8.6.2 to 8.6.4). */
void residual_restore(const int16_t levels[16], unsigned log2_size, unsigned depth_bits, int qp, bool sine,
                      int16_t *difference);
uint32_t hevc_estimate_bits(const int16_t levels[16]);
/* The part of the differences' squared sum that the 16 lowest frequencies do not have. */
uint64_t residual_lost(const int16_t *difference, unsigned log2_size);
/* Qp'Y, Qp'Cb or Qp'Cr (8.6.1). */
int residual_qp(const struct hevc_coder *coder, const struct slice *slice, unsigned component, int qp);
/* Squared quantiser step by Qp', times 16. */
uint64_t residual_squared_step(int qp);

/* predict.c. A component's place is in its own samples. */
void frame_load(const struct hevc_coder *coder, const struct hevc_frame *frame, unsigned component, struct area area,
                uint16_t *out, unsigned out_pitch);
void frame_store(const struct hevc_coder *coder, struct hevc_frame *frame, unsigned component, struct area area,
                 const uint16_t *samples);
/* 8.4.4.2: `size` by `size` samples of DC prediction, from the reconstruction. */
void hevc_predict_intra(const struct hevc_coder *coder, const struct slice *slice, unsigned component, uint32_t x,
                        uint32_t y, unsigned size, uint16_t *out);
void hevc_predict_inter(const struct hevc_coder *coder, const struct slice *slice, struct motion motion,
                        unsigned component, struct area area, uint16_t *out);
/* Notes that luma samples are reconstructed, or, with slice 0, that they are not. */
void mark_reconstructed(struct hevc_coder *coder, uint32_t x, uint32_t y, unsigned size, uint32_t slice);

/* merge.c: the candidates of a coding unit; always slice->candidate_count of them. */
void merge_candidates(const struct hevc_coder *coder, const struct slice *slice, uint32_t x, uint32_t y, unsigned size,
                      struct motion candidates[MOST_CANDIDATES]);

/* write_unit.c */
void write_begin_segment(struct hevc_coder *coder, struct slice *slice);
void write_end_of_segment_flag(struct hevc_coder *coder, struct slice *slice, bool end);
void write_bin(struct hevc_coder *coder, struct slice *slice, unsigned context, unsigned bin);
void write_bypass(struct hevc_coder *coder, struct slice *slice, uint32_t value, unsigned count);
void write_sao(struct hevc_coder *coder, struct slice *slice, uint32_t address); /* sample_adaptive_offset off */
void write_split_cu_flag(struct hevc_coder *coder, struct slice *slice, uint32_t x, uint32_t y, unsigned depth,
                         bool split);
/* The unit in `coding`; sets its QpY. */
void write_unit(struct hevc_coder *coder, struct slice *slice, struct coding *coding);
/* cu_skip_flag and merge_idx of a skipped unit. */
void write_skipped(struct hevc_coder *coder, struct slice *slice, uint32_t x, uint32_t y, unsigned merge_idx);
/* What split_cu_flag and cu_skip_flag of later units depend on. */
void note_unit(struct hevc_coder *coder, uint32_t x, uint32_t y, unsigned size, unsigned depth, bool skip);

/* write_residual.c: 7.3.8.11 */
void write_residual(struct hevc_coder *coder, struct slice *slice, unsigned component, unsigned log2_size,
                    const int16_t levels[16]);

/* decide.c: 8.6.1, at the first coding unit of a quantization group. */
void begin_quantization_group(struct hevc_coder *coder, const struct slice *slice, uint32_t x, uint32_t y);

/* deblock.c */
void hevc_deblock_picture(struct hevc_coder *coder);

#endif
