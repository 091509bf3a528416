/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What happens on the nodes, one line each, in the file that RENDER_NODES_TRACE names. */
#ifndef DRIVERS_NODE_TRACE_H
#define DRIVERS_NODE_TRACE_H

/* Adds a line, with a single write, so that several threads and processes can share the file. */
void trace(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
