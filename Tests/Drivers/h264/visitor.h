/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the descriptions of H.264's syntax structures share. */
#ifndef DRIVERS_H264_VISITOR_H
#define DRIVERS_H264_VISITOR_H

#include "../common/visitor.h"
#include "syntax.h"

/* H.264 7.3.1: forbidden_zero_bit, nal_ref_idc, nal_unit_type. */
void h264_nal_unit_header(struct syntax *s, uint32_t *nal_ref_idc, uint32_t *nal_unit_type);

#endif
