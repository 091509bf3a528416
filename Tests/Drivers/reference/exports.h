/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Surfaces' memory for others, as the persona states it, truly or not. */
#ifndef DRIVERS_REFERENCE_EXPORTS_H
#define DRIVERS_REFERENCE_EXPORTS_H

#include "driver.h"

#define MODIFIER_LINEAR 0
#define MODIFIER_INVALID 0x00ffffffffffffffULL /* implicit: by the buffer's own metadata */
#define MODIFIER_TILED 0x0100000000000001ULL   /* drm_fourcc.h I915_FORMAT_MOD_X_TILED: tiles of 512 bytes by 8 rows */

/* Whether imported memory of that modifier is tiled. */
bool is_tiled(const struct surface_memory *memory, uint64_t modifier, enum persona_export exports);

/* Replaces imported memory, which is tiled, by a linear copy. */
VAStatus untile(struct surface_memory *memory);

#endif
