// SPDX-License-Identifier: GPL-2.0-or-later
//
// The files of the dashboard, which the program contains: no file has to be installed beside it.

#ifndef CDASHBOARD_H
#define CDASHBOARD_H

#include <stddef.h>

/// A file of the dashboard.
struct dashboard_file {
    /// Its name, such as `app.css`.
    const char *_Nonnull name;
    const unsigned char *_Nonnull bytes;
    size_t count;
};

/// Returns a file by its index, from 0 on; its name is empty after the last one.
struct dashboard_file dashboard_file(size_t index);

#endif
