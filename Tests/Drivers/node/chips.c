/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "chips.h"

#include <stddef.h>
#include <string.h>

#include <libdrm/amdgpu_drm.h>

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
    {
        .name = "nouveau", .kernel_driver = "nouveau", .interface = INTERFACE_GENERIC, .vendor = 0x10de,
        .device = 0x1b81, .version_major = 1, .version_minor = 3, .description = "NVIDIA GPU",
    },
    {
        .name = "nvidia", .kernel_driver = "nvidia-drm", .interface = INTERFACE_GENERIC, .vendor = 0x10de,
        .device = 0x2684, .description = "NVIDIA GPU",
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
    /* Younger than many an installed driver; only that it is refused is true of it. */
    INTEL("lnl", 0x64a0, 0x04, .video_engines = 1, .enhancement_engines = 1, .slices = 1, .subslices = 8,
          .units_per_subslice = 8, .graphics_version = 20),
    AMD("polaris10", 0x67df, 0xc7, .family = AMDGPU_FAMILY_VI, .external_revision = 0x50, .graphics_major = 8,
        .video = VIDEO_UVD_VCE, .video_major = 6, .video_minor = 3, .shader_engines = 4, .compute_units = 36,
        .render_backends = 8, .address_config = 0x22011003, .memory_width = 256),
    AMD("raven", 0x15dd, 0xc6, .family = AMDGPU_FAMILY_RV, .external_revision = 0x01, .graphics_major = 9,
        .video = VIDEO_VCN, .video_major = 1, .integrated = true, .shader_engines = 1, .compute_units = 11,
        .render_backends = 2, .address_config = 0x24000042, .memory_width = 128),
    AMD("renoir", 0x1636, 0xc9, .family = AMDGPU_FAMILY_RV, .external_revision = 0x91, .graphics_major = 9,
        .video = VIDEO_VCN, .video_major = 2, .integrated = true, .shader_engines = 1, .compute_units = 8,
        .render_backends = 2, .address_config = 0x24000042, .memory_width = 128),
    AMD("navi21", 0x73bf, 0xc1, .family = AMDGPU_FAMILY_NV, .external_revision = 0x28, .graphics_major = 10,
        .video = VIDEO_VCN, .video_major = 3, .shader_engines = 4, .compute_units = 80, .render_backends = 16,
        .address_config = 0x00000444, .memory_width = 256),
    /* Decodes only; here it is for drivers that look at nothing but the PCI id. */
    AMD("navi24", 0x743f, 0xc1, .family = AMDGPU_FAMILY_NV, .external_revision = 0x46, .graphics_major = 10,
        .video = VIDEO_VCN, .video_major = 3, .shader_engines = 1, .compute_units = 16, .render_backends = 4,
        .address_config = 0x00000041, .memory_width = 64),
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
