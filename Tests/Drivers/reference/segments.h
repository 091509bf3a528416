/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a coded picture lies in the list of segments that vaMapBuffer gives: REFERENCE_DRIVER_SEGMENTS. va.h leaves it to
 * drivers. Segments are pieces of one stream of bytes, except those whose status has VA_CODED_BUF_STATUS_SINGLE_NALU,
 * each of which is one NAL unit.
 *
 *   one         one segment (the default)
 *   units       a segment for each NAL unit with its start code, and the status flag
 *   bare-units  the same without start codes
 *   random      up to 16 pieces that end anywhere: within start codes, units and slices; some are empty
 *   mixed       the same, with some of the units as in `units` and `bare-units` between them
 *
 * Pieces lie apart from each other, in reverse order, with start codes between them: a client that reads on beyond the
 * end of one finds units that are not there. Where they end follows from REFERENCE_DRIVER_SEED and the picture's place. */
#ifndef DRIVERS_REFERENCE_SEGMENTS_H
#define DRIVERS_REFERENCE_SEGMENTS_H

#include "../common/journal.h"

#include <stddef.h>
#include <va/va.h>

enum segmentation { SEGMENTS_ONE, SEGMENTS_UNITS, SEGMENTS_BARE_UNITS, SEGMENTS_RANDOM, SEGMENTS_MIXED };

/* False when the variables cannot be understood: `problem` says why. */
bool segments_read(enum segmentation *segmentation, uint64_t *seed, char *problem, size_t size);

/* A list and the memory that it refers to, to be freed as one. NULL: the picture is to stay one segment, because it is
 * empty or for want of memory. `whole` has the bytes and the status, of which the first segment gets all. */
VACodedBufferSegment *segments_make(enum segmentation segmentation, uint64_t seed, struct journal_place place,
                                    const VACodedBufferSegment *whole);

#endif
