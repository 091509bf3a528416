/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files hevc_*.c share. */
#ifndef DRIVERS_CHECKS_HEVC_CHECKS_H
#define DRIVERS_CHECKS_HEVC_CHECKS_H

#include "checker.h"

/* hevc_own_headers.c: parameter sets and slice segment headers from the VA parameters, as they would be coded; false
 * when they cannot be (out of range; refuse_picture was called). */
bool hevc_make_vps(struct checker *checker, void *vps);
bool hevc_make_sps(struct checker *checker, void *sps);
bool hevc_make_pps(struct checker *checker, void *pps);
bool hevc_make_slice_header(struct checker *checker, uint32_t slice, struct hevc_slice_header *header);

/* hevc_understand.c */
void hevc_understand(struct checker *checker);
void hevc_commit(struct checker *checker);
/* Whether the SPS in use was sent with this picture. */
bool hevc_sps_sent(const struct checker *checker);
/* An entry of a VA list that stands for no picture. */
bool hevc_is_empty(const VAPictureHEVC *entry);
/* A digest of the SPS, to tell whether it has changed. */
uint64_t hevc_sps_digest(const struct hevc_sps *sps);

void hevc_check_sequence(struct checker *checker);         /* hevc_sequence.c */
void hevc_check_picture(struct checker *checker);          /* hevc_picture.c */
void hevc_check_slice_parameters(struct checker *checker); /* hevc_slices.c */
void hevc_check_access_unit(struct checker *checker);      /* hevc_access_unit.c */

void hevc_check_sequence_sps(struct checker *checker);     /* hevc_sequence.c */
void hevc_check_sequence_vui(struct checker *checker);     /* hevc_vui.c, from the one before */
void hevc_check_vps(struct checker *checker);              /* hevc_vps.c */
void hevc_check_picture_pps(struct checker *checker);      /* hevc_picture.c */
void hevc_check_features(struct checker *checker);         /* hevc_features.c */
void hevc_check_profile(struct checker *checker);
/* Table A.2: the flags from general_max_12bit_constraint_flag on that the profile states, as in constraint_bits[0]. */
uint32_t hevc_profile_constraints(VAProfile profile);          /* hevc_profile.c */
void hevc_check_levels(struct checker *checker);           /* hevc_levels.c */
void hevc_check_hrd(struct checker *checker);              /* hevc_hrd.c */
void hevc_check_window(struct checker *checker);           /* hevc_sequence.c */

void hevc_check_picture_header(struct checker *checker);   /* hevc_picture.c */
void hevc_check_slice_headers(struct checker *checker);    /* hevc_slice_headers.c */
void hevc_check_common_fields(struct checker *checker);    /* hevc_slices.c */
void hevc_check_references(struct checker *checker);       /* hevc_references.c */
void hevc_check_order(struct checker *checker);            /* hevc_order.c */
/* Enters into the history what kind of picture it was. */
void hevc_remember_kind(struct checker *checker);
void hevc_check_access_unit_content(struct checker *checker); /* hevc_access_unit.c */
void hevc_check_enhancement(struct checker *checker);      /* hevc_enhancement.c, from the one before */

/* hevc_hrd.c: a schedule of the highest sub-layer of the SPS's HRD; `nal`, else of the VCL's. */
struct schedule hevc_schedule(const struct hevc_sps *sps, bool nal, uint32_t index);

#endif
