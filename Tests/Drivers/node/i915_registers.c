/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "i915_registers.h"

#include "drm_core.h"
#include "trace.h"

enum {
    GENERAL_REGISTERS = 0x600, /* of 8 bytes each, counted from the engine's first register */
    GENERAL_REGISTERS_END = 0x680,
    BLOCK_MASK = 0xfff,        /* address within a block of registers */
};

/* Engines have the general purpose registers at the same place of their blocks; one set serves all. */
static uint32_t canonical(uint32_t address)
{
    uint32_t within = address & BLOCK_MASK;

    address &= 0x7ffffc;
    return within >= GENERAL_REGISTERS && within < GENERAL_REGISTERS_END ? within : address;
}

static uint32_t remembered(const struct i915_engine *engine, uint32_t address)
{
    for (unsigned index = 0; index < engine->count; index++)
        if (engine->registers[index].address == address)
            return engine->registers[index].value;
    return 0;
}

uint32_t i915_read_register(const struct node_settings *node, const struct i915_engine *engine, uint32_t address)
{
    address = canonical(address);
    trace("register 0x%x is read", address);
    (void)node;
    return remembered(engine, address);
}

void i915_write_register(struct i915_engine *engine, uint32_t address, uint32_t value)
{
    address = canonical(address);
    for (unsigned index = 0; index < engine->count; index++)
        if (engine->registers[index].address == address) {
            engine->registers[index].value = value;
            return;
        }
    if (engine->count < I915_REGISTERS)
        engine->registers[engine->count++] = (struct i915_register){address, value};
}

uint64_t i915_general_register(const struct i915_engine *engine, uint32_t number)
{
    uint32_t address = GENERAL_REGISTERS + 8 * (number & 15);

    return remembered(engine, address) | (uint64_t)remembered(engine, address + 4) << 32;
}

void i915_set_general_register(struct i915_engine *engine, uint32_t number, uint64_t value)
{
    uint32_t address = GENERAL_REGISTERS + 8 * (number & 15);

    i915_write_register(engine, address, (uint32_t)value);
    i915_write_register(engine, address + 4, (uint32_t)(value >> 32));
}

uint64_t i915_time_stamp(void)
{
    return (uint64_t)(monotonic_nanoseconds() / 52);
}
