/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "chips.h"

#include <stddef.h>
#include <string.h>

#define INTEL(chip_name, pci_device, pci_revision, ...)                                                               \
    {                                                                                                                 \
        .name = chip_name, .kernel_driver = "i915", .interface = INTERFACE_I915, .vendor = 0x8086,                    \
        .device = pci_device, .revision = pci_revision, .version_major = 1, .version_minor = 6,                       \
        .description = "Intel Graphics", .intel = {__VA_ARGS__}                                                       \
    }

#define AMD(chip_name, pci_device, pci_revision, ...)                                                                 \
    {                                                                                                                 \
        .name = chip_name, .kernel_driver = "amdgpu", .interface = INTERFACE_AMDGPU, .vendor = 0x1002,                \
        .device = pci_device, .revision = pci_revision, .version_major = 3, .version_minor = 49,                      \
        .description = "AMD GPU", .amd = {__VA_ARGS__}                                                                \
    }

static const struct chip chips[] = {
    {
        .name = "generic", .kernel_driver = "generic", .interface = INTERFACE_GENERIC, .vendor = 0x1234,
        .device = 0x1111, .revision = 2, .version_major = 1, .description = "Render node without a GPU",
    },
    INTEL("skl", 0x1912, 0x06, .video_engines = 1, .enhancement_engines = 1, .slices = 1, .subslices = 3,
          .units_per_subslice = 8, .graphics_version = 9),
    INTEL("kbl", 0x5912, 0x04, .video_engines = 1, .enhancement_engines = 1, .slices = 1, .subslices = 3,
          .units_per_subslice = 8, .graphics_version = 9),
    INTEL("icl", 0x8a52, 0x07, .video_engines = 1, .enhancement_engines = 1, .slices = 1, .subslices = 8,
          .units_per_subslice = 8, .graphics_version = 11),
    INTEL("tgl", 0x9a49, 0x01, .video_engines = 5, .enhancement_engines = 1, .slices = 1, .subslices = 6,
          .units_per_subslice = 16, .graphics_version = 12),
    INTEL("adlp", 0x46a6, 0x0c, .video_engines = 5, .enhancement_engines = 1, .slices = 1, .subslices = 6,
          .units_per_subslice = 16, .graphics_version = 12),
    INTEL("dg2", 0x56a0, 0x08, .video_engines = 5, .enhancement_engines = 3, .slices = 8, .subslices = 32,
          .units_per_subslice = 16, .graphics_version = 12, .local_memory = 8ull << 30),
};

const struct chip *chip_at(unsigned index)
{
    return index < sizeof chips / sizeof chips[0] ? &chips[index] : NULL;
}

const struct chip *chip_named(const char *name)
{
    const struct chip *chip;

    for (unsigned index = 0; (chip = chip_at(index)) != NULL; index++)
        if (strcmp(chip->name, name) == 0)
            return chip;
    return NULL;
}
