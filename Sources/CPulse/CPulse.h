// SPDX-License-Identifier: GPL-2.0-or-later

#ifndef CPULSE_H
#define CPULSE_H

#include <pulse/pulseaudio.h>

#endif
