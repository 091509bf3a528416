// SPDX-License-Identifier: GPL-2.0-or-later
//
// libsrt, whose name for the linker is in srt.pc: srt-gnutls on Debian and Ubuntu, srt elsewhere.

#ifndef CSRT_H
#define CSRT_H

/* Otherwise, this module would own what srt.h includes of the C library. */
#pragma clang module import SwiftGlibc

#include <srt/access_control.h>
#include <srt/srt.h>

#endif
