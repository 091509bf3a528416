/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "i915_registers.h"

#include "drm_core.h"

enum {
    GENERAL_REGISTERS = 0x600, /* of 8 bytes each, counted from the engine's first register */
    GENERAL_REGISTERS_END = 0x680,
    BLOCK_MASK = 0xfff,        /* address within a block of registers */
};

/* Registers that count the bytes of the coded picture, with and without its headers, by where they are in their
 * engine's space: H.264, then HEVC. Engines start at 0x12000 up to version 10 of the graphics, from 0x1c0000 on since
 * version 11; commands may also count from the start of their own engine. */
static const uint32_t coded_size_registers[] = {
    0x128a0, 0x128a4, 0x1e9a0, 0x1e9a4, /* up to version 10, absolute */
    0x008a0, 0x008a4, 0x028a0, 0x028a4, /* from version 11 on, counted from the engine's start */
};

/* Engines since version 11: two video engines and an enhancement engine in each 64 KiB, in steps of 16 KiB. */
enum { FIRST_NEW_ENGINE = 0x1c0000, LAST_NEW_ENGINE = 0x1fffff, NEW_ENGINE_MASK = 0x3fff };

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

/* HUC_STATUS2: the firmware is there. */
static const uint32_t firmware_status_registers[] = {0x0d3b0, 0x023b0};
enum { FIRMWARE_IS_LOADED = 1 << 6 };

static uint32_t within_engine(uint32_t address)
{
    return address >= FIRST_NEW_ENGINE && address <= LAST_NEW_ENGINE ? address & NEW_ENGINE_MASK : address;
}

static bool is_firmware_status(uint32_t address)
{
    return address == firmware_status_registers[0] || address == firmware_status_registers[1];
}

static bool counts_coded_bytes(uint32_t address)
{
    for (size_t index = 0; index < sizeof coded_size_registers / sizeof coded_size_registers[0]; index++)
        if (coded_size_registers[index] == address)
            return true;
    return false;
}

uint32_t i915_read_register(const struct node_settings *node, const struct i915_engine *engine, uint32_t address)
{
    address = canonical(address);
    if (counts_coded_bytes(within_engine(address)))
        return (uint32_t)node->coded_size;
    if (is_firmware_status(within_engine(address)))
        return node->huc_firmware ? FIRMWARE_IS_LOADED : 0;
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
