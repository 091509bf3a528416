/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of ITU-T H.265; see tables.c. */
#ifndef DRIVERS_HEVC_TABLES_H
#define DRIVERS_HEVC_TABLES_H

#include <stdint.h>

/* First context variable of each syntax element. */
enum {
    CTX_SAO_MERGE_FLAG = 0,
    CTX_SAO_TYPE_IDX = 1,
    CTX_SPLIT_CU_FLAG = 2,
    CTX_CU_TRANSQUANT_BYPASS_FLAG = 5,
    CTX_CU_SKIP_FLAG = 6,
    CTX_PRED_MODE_FLAG = 9,
    CTX_PART_MODE = 10,
    CTX_PREV_INTRA_LUMA_PRED_FLAG = 11,
    CTX_INTRA_CHROMA_PRED_MODE = 12,
    CTX_RQT_ROOT_CBF = 13,
    CTX_MERGE_FLAG = 14,
    CTX_MERGE_IDX = 15,
    CTX_INTER_PRED_IDC = 16,
    CTX_REF_IDX = 21,
    CTX_MVP_FLAG = 23,
    CTX_ABS_MVD_GREATER0_FLAG = 24,
    CTX_SPLIT_TRANSFORM_FLAG = 25,
    CTX_CBF_LUMA = 28,
    CTX_CBF_CHROMA = 30,
    CTX_CU_QP_DELTA_ABS = 35,
    CTX_TRANSFORM_SKIP_FLAG = 37,
    CTX_LAST_SIG_COEFF_X_PREFIX = 39,
    CTX_LAST_SIG_COEFF_Y_PREFIX = 57,
    CTX_SIG_COEFF_FLAG = 75,
    CTX_COEFF_ABS_LEVEL_GREATER1_FLAG = 117,
    CTX_COEFF_ABS_LEVEL_GREATER2_FLAG = 141,
    HEVC_CONTEXTS = 147,
};

extern const uint8_t hevc_context_initialisation[3][HEVC_CONTEXTS];
extern const int8_t hevc_cosine[32];
extern const int8_t hevc_sine[4][4];
extern const uint8_t hevc_scan[16];
extern const uint8_t hevc_level_scale[6];
extern const uint16_t hevc_quantiser_scale[6];
extern const uint8_t hevc_tc[54];

/* Table 8-10: QpC of qPi, for a ChromaArrayType of 1 to 3. */
int hevc_chroma_qp(unsigned chroma_format, int qpi);

#endif
