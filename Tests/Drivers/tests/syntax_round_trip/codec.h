/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What ../syntax_round_trip.c needs of a codec. */
#ifndef DRIVERS_TESTS_SYNTAX_CODEC_H
#define DRIVERS_TESTS_SYNTAX_CODEC_H

#include "../../common/bits.h"
#include "../../common/syntax_options.h"

struct codec {
    /* Reads one unit of any known type and writes it; true when it could be read. `keep`: later units may refer to
     * it. */
    bool (*visit)(const uint8_t *nal, size_t bit_count, size_t *end, struct bits *again, struct syntax_error *error,
                  const struct syntax_options *options, bool keep);
    unsigned (*type)(const uint8_t *nal);         /* nal_unit_type */
    bool (*is_known)(const uint8_t *nal);         /* it is read and written */
    bool (*is_parameter_set)(const uint8_t *nal); /* trailing bits follow its last element */
    bool (*may_be_cut)(const uint8_t *nal);       /* it can be read when its end is missing */
};

extern const struct codec h264_codec, hevc_codec;

#endif
