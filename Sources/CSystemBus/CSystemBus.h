// SPDX-License-Identifier: GPL-2.0-or-later

#ifndef CSYSTEMBUS_H
#define CSYSTEMBUS_H

#include <systemd/sd-bus.h>

#endif
