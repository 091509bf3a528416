// SPDX-License-Identifier: GPL-2.0-or-later
//
// libyuv (Debian: libyuv-dev, which ships no pkg-config file).

#ifndef CLIBYUV_SHIM_H
#define CLIBYUV_SHIM_H

#include <libyuv/compare.h>
#include <libyuv/planar_functions.h>
#include <libyuv/convert.h>
#include <libyuv/convert_argb.h>
#include <libyuv/scale.h>

#endif
