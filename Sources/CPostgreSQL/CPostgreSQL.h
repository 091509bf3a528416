// SPDX-License-Identifier: GPL-2.0-or-later
//
// libpq, the C interface of PostgreSQL.

#ifndef CPOSTGRESQL_H
#define CPOSTGRESQL_H

/* Otherwise, this module would own what libpq-fe.h includes of the C library. */
#pragma clang module import SwiftGlibc

#include <libpq-fe.h>

#endif
