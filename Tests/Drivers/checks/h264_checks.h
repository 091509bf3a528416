/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files h264_*.c share. */
#ifndef DRIVERS_CHECKS_H264_CHECKS_H
#define DRIVERS_CHECKS_H264_CHECKS_H

#include "checker.h"

/* h264_own_headers.c: parameter sets and slice headers from the VA parameters, as they would be coded; false when they
 * cannot be (out of range; refuse_picture was called). */
bool h264_make_sps(struct checker *checker, void *sps);
bool h264_make_pps(struct checker *checker, void *pps);
bool h264_make_slice_header(struct checker *checker, uint32_t slice, struct h264_slice_header *header);

/* h264_understand.c */
void h264_understand(struct checker *checker);
void h264_commit(struct checker *checker);
/* Whether the SPS in use was sent with this picture. */
bool h264_sps_sent(const struct checker *checker);

void h264_check_sequence(struct checker *checker);         /* h264_sequence.c */
void h264_check_picture(struct checker *checker);          /* h264_picture.c */
void h264_check_slice_parameters(struct checker *checker); /* h264_slices.c */
void h264_check_access_unit(struct checker *checker);      /* h264_access_unit.c */

void h264_check_sequence_sps(struct checker *checker);     /* h264_sequence.c */
void h264_check_picture_pps(struct checker *checker);      /* h264_picture.c */
void h264_check_profile(struct checker *checker);          /* h264_profile.c */
void h264_check_levels(struct checker *checker);           /* h264_levels.c */
void h264_check_hrd(struct checker *checker);              /* h264_hrd.c */
void h264_check_cropping(struct checker *checker);         /* h264_sequence.c */

void h264_check_picture_header(struct checker *checker);   /* h264_picture.c */
void h264_check_slice_headers(struct checker *checker);    /* h264_slice_headers.c */
void h264_check_common_fields(struct checker *checker);    /* h264_slices.c */
void h264_check_weights(struct checker *checker);          /* h264_weights.c */
void h264_check_references(struct checker *checker);       /* h264_references.c */
void h264_check_order(struct checker *checker);            /* h264_order.c */
void h264_check_access_unit_content(struct checker *checker); /* h264_access_unit.c */
void h264_check_enhancement(struct checker *checker);      /* h264_enhancement.c, from the one before */

/* h264_hrd.c: a schedule of the SPS. */
struct schedule h264_schedule(const struct h264_hrd *hrd, uint32_t index);

#endif
