/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an application wants of single macroblocks of a picture: regions of interest and intra refresh. */
#ifndef DRIVERS_REFERENCE_WISHES_H
#define DRIVERS_REFERENCE_WISHES_H

#include "jobs.h"

/* Sets `job->wishes` to what the picture's misc parameters say, NULL where they say nothing. The job's size, slices and
 * rate are set. Regions stand in the application's memory, which is read here, before vaEndPicture returns; what is
 * wrong with them is a finding. False: out of memory. */
bool wishes_gather(struct job *job, const struct submitted_buffer *buffers, uint32_t count);

#endif
