/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory-mapped registers of an Intel engine that batches use. */
#ifndef DRIVERS_NODE_I915_REGISTERS_H
#define DRIVERS_NODE_I915_REGISTERS_H

#include "i915.h"

/* A register by its address as commands give it, which is absolute or counted from the engine's first register. */
uint32_t i915_read_register(const struct node_settings *node, const struct i915_engine *engine, uint32_t address);
void i915_write_register(struct i915_engine *engine, uint32_t address, uint32_t value);

/* The general purpose registers of the command streamer, R0 to R15, of 64 bits. */
uint64_t i915_general_register(const struct i915_engine *engine, uint32_t number);
void i915_set_general_register(struct i915_engine *engine, uint32_t number, uint64_t value);

/* The engine's clock. */
uint64_t i915_time_stamp(void);

#endif
