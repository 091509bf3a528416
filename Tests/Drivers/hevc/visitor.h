/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the descriptions of HEVC's syntax structures share. */
#ifndef DRIVERS_HEVC_VISITOR_H
#define DRIVERS_HEVC_VISITOR_H

#include "../common/visitor.h"
#include "syntax.h"

/* H.265 7.3.1.2; the type is in the header. */
void hevc_nal_unit_header(struct syntax *s, struct hevc_nal_header *v);

/* H.265 7.3.3 with profilePresentFlag 1 */
void hevc_profile_tier_level(struct syntax *s, struct hevc_profile_tier_level *v, uint32_t max_sub_layers_minus1);

/* H.265 E.2.1 */
void hevc_vui_parameters(struct syntax *s, struct hevc_vui *v, uint32_t max_sub_layers_minus1);

/* H.265 E.2.2 with commonInfPresentFlag 1 */
void hevc_hrd_parameters(struct syntax *s, struct hevc_hrd *v, uint32_t max_sub_layers_minus1);

/* H.265 7.3.4 */
void hevc_scaling_list_data(struct syntax *s, struct hevc_scaling_lists *v);

/* H.265 7.3.7: set `index` of the SPS, or, with num_short_term_ref_pic_sets, the slice's own. */
void hevc_short_term_ref_pic_set(struct syntax *s, const struct hevc_sps *sps, struct hevc_short_term_rps *v,
                                 uint32_t index);

/* Ceil(Log2(count)) */
static inline unsigned bits_for(uint32_t count)
{
    return count > 1 ? 32 - (unsigned)__builtin_clz(count - 1) : 0;
}

#endif
