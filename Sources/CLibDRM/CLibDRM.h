// SPDX-License-Identifier: GPL-2.0-or-later

#ifndef CLIBDRM_H
#define CLIBDRM_H

#include <sys/sysmacros.h>
#include <xf86drm.h>

#endif
