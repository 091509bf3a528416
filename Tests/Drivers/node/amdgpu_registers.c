/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The few registers of AMD chips that clients may read: how surfaces are laid out in memory. */
#include "amdgpu.h"

#include <errno.h>

/* Addresses in dwords. */
enum {
    BACKEND_DISABLE = 0x263d,
    USER_BACKEND_DISABLE = 0x263f,
    ADDRESS_CONFIG = 0x263e,
    TILE_MODES = 0x2644,
    MACRO_TILE_MODES = 0x2664,
    MEMORY_CONFIG = 0x9d8,
    RASTER_CONFIG = 0xa0d4,
    RASTER_CONFIG_1 = 0xa0d5,

    TILE_MODE_COUNT = 32,
    MACRO_TILE_MODE_COUNT = 16,
};

/* Fields of a tile mode (register GB_TILE_MODE0 of graphics version 8). */
enum {
    LINEAR_ALIGNED = 1, ONE_D_THIN = 2, ONE_D_THICK = 3, TWO_D_THIN = 4, PARTIAL_THIN = 5, TWO_D_THICK = 7,
    TWO_D_EXTRA_THICK = 8, PARTIAL_THICK = 9, THREE_D_THIN = 12, THREE_D_THICK = 13, THREE_D_EXTRA_THICK = 14,

    FOUR_PIPES = 5, EIGHT_PIPES = 12,          /* 16x16, 32x32_16x16 */
    DISPLAY = 0, THIN = 1, DEPTH = 2, ROTATED = 3, THICK = 4,
};

/* `split` is the logarithm of the bytes at which a tile is split, less 6, for depth; of the samples for others. */
#define TILE_MODE(array, pipes, micro, split)                                                                         \
    ((array) << 2 | (pipes) << 6 | (micro) << 22 | ((micro) == DEPTH ? (split) << 11 : (split) << 25))

/* Polaris 10. */
static const uint32_t tile_modes[TILE_MODE_COUNT] = {
    TILE_MODE(TWO_D_THIN, EIGHT_PIPES, DEPTH, 0),          TILE_MODE(TWO_D_THIN, EIGHT_PIPES, DEPTH, 1),
    TILE_MODE(TWO_D_THIN, EIGHT_PIPES, DEPTH, 2),          TILE_MODE(TWO_D_THIN, EIGHT_PIPES, DEPTH, 3),
    TILE_MODE(TWO_D_THIN, EIGHT_PIPES, DEPTH, 5),          TILE_MODE(ONE_D_THIN, EIGHT_PIPES, DEPTH, 5),
    TILE_MODE(PARTIAL_THIN, EIGHT_PIPES, DEPTH, 5),        TILE_MODE(PARTIAL_THIN, FOUR_PIPES, DEPTH, 5),
    TILE_MODE(LINEAR_ALIGNED, EIGHT_PIPES, DISPLAY, 0),    TILE_MODE(ONE_D_THIN, EIGHT_PIPES, DISPLAY, 1),
    TILE_MODE(TWO_D_THIN, EIGHT_PIPES, DISPLAY, 1),        TILE_MODE(PARTIAL_THIN, EIGHT_PIPES, DISPLAY, 3),
    TILE_MODE(PARTIAL_THIN, FOUR_PIPES, DISPLAY, 3),       TILE_MODE(ONE_D_THIN, EIGHT_PIPES, THIN, 1),
    TILE_MODE(TWO_D_THIN, EIGHT_PIPES, THIN, 1),           TILE_MODE(THREE_D_THIN, EIGHT_PIPES, THIN, 1),
    TILE_MODE(PARTIAL_THIN, EIGHT_PIPES, THIN, 3),         TILE_MODE(PARTIAL_THIN, FOUR_PIPES, THIN, 3),
    TILE_MODE(ONE_D_THICK, EIGHT_PIPES, THIN, 0),          TILE_MODE(ONE_D_THICK, EIGHT_PIPES, THICK, 0),
    TILE_MODE(TWO_D_THICK, EIGHT_PIPES, THICK, 0),         TILE_MODE(THREE_D_THICK, EIGHT_PIPES, THICK, 0),
    TILE_MODE(PARTIAL_THICK, EIGHT_PIPES, THICK, 0),       TILE_MODE(PARTIAL_THICK, FOUR_PIPES, THICK, 0),
    TILE_MODE(TWO_D_THICK, EIGHT_PIPES, THIN, 0),          TILE_MODE(TWO_D_EXTRA_THICK, EIGHT_PIPES, THICK, 0),
    TILE_MODE(THREE_D_EXTRA_THICK, EIGHT_PIPES, THICK, 0), TILE_MODE(ONE_D_THIN, EIGHT_PIPES, ROTATED, 1),
    TILE_MODE(TWO_D_THIN, EIGHT_PIPES, ROTATED, 1),        TILE_MODE(PARTIAL_THIN, EIGHT_PIPES, ROTATED, 3),
    TILE_MODE(PARTIAL_THIN, FOUR_PIPES, ROTATED, 3),
};

/* Logarithms of bank width, bank height and aspect; of the banks less 1. */
#define MACRO_TILE_MODE(width, height, aspect, banks) ((width) | (height) << 2 | (aspect) << 4 | ((banks) - 1) << 6)

/* Chips with eight pipes; by bytes of a tile, first without and then with partial residency. */
static const uint32_t macro_tile_modes[MACRO_TILE_MODE_COUNT] = {
    MACRO_TILE_MODE(0, 2, 2, 4), MACRO_TILE_MODE(0, 2, 2, 4), MACRO_TILE_MODE(0, 2, 2, 4),
    MACRO_TILE_MODE(0, 2, 2, 4), MACRO_TILE_MODE(0, 1, 1, 4), MACRO_TILE_MODE(0, 0, 0, 4),
    MACRO_TILE_MODE(0, 0, 0, 4), 0,                           MACRO_TILE_MODE(0, 3, 2, 4),
    MACRO_TILE_MODE(0, 2, 2, 4), MACRO_TILE_MODE(0, 1, 1, 4), MACRO_TILE_MODE(0, 0, 1, 4),
    MACRO_TILE_MODE(0, 0, 0, 3), MACRO_TILE_MODE(0, 0, 0, 2), MACRO_TILE_MODE(0, 0, 0, 2),
};

static int value_of(const struct chip *chip, uint32_t address, uint32_t *value)
{
    bool has_tables = chip->amd.graphics_major < 9;

    *value = 0;
    if (address == ADDRESS_CONFIG)
        *value = chip->amd.address_config;
    else if (address == BACKEND_DISABLE || address == USER_BACKEND_DISABLE)
        *value = 0;
    else if (!has_tables)
        return EINVAL;
    else if (address >= TILE_MODES && address < TILE_MODES + TILE_MODE_COUNT)
        *value = tile_modes[address - TILE_MODES];
    else if (address >= MACRO_TILE_MODES && address < MACRO_TILE_MODES + MACRO_TILE_MODE_COUNT)
        *value = macro_tile_modes[address - MACRO_TILE_MODES];
    else if (address == RASTER_CONFIG)
        *value = 0x16000012;
    else if (address == RASTER_CONFIG_1)
        *value = 0x0000002a;
    else if (address == MEMORY_CONFIG)
        *value = 0x00007002; /* 16 banks, two ranks */
    else
        return EINVAL;
    return 0;
}

int amdgpu_read_registers(const struct chip *chip, uint32_t first, uint32_t count, uint32_t *values)
{
    int error = 0;

    for (uint32_t index = 0; index < count && error == 0; index++)
        error = value_of(chip, first + index, &values[index]);
    return error;
}
