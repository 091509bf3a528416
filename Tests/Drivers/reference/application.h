/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory that the application's parameter buffers point to. */
#ifndef DRIVERS_REFERENCE_APPLICATION_H
#define DRIVERS_REFERENCE_APPLICATION_H

#include <stdbool.h>
#include <stddef.h>

/* Copies `size` bytes by way of the kernel, which says so where there is no memory: false then. */
bool application_read(const void *pointer, void *copy, size_t size);

#endif
