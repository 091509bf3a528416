/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "chips.h"

#include <stddef.h>
#include <string.h>

#include <libdrm/amdgpu_drm.h>

/* Families of amdgpu_drm.h that older headers do not have (GC_11_0_0, GC_11_0_1, GC_11_5_0 and GC_12_0_0 there). */
enum { FAMILY_GRAPHICS_11 = 145, FAMILY_PHOENIX = 148, FAMILY_GRAPHICS_11_5 = 150, FAMILY_GRAPHICS_12 = 152 };

#define INTEL(chip_name, pci_device, pci_revision, ...)                                                               \
    {                                                                                                                 \
        .name = chip_name, .kernel_driver = "i915", .interface = INTERFACE_I915, .vendor = 0x8086,                    \
        .device = pci_device, .revision = pci_revision, .version_major = 1, .version_minor = 6,                       \
        .description = "Intel Graphics", .intel = {__VA_ARGS__}                                                       \
    }

/* Chips of Xe2 and later, for which there is only the new kernel driver. */
#define INTEL_XE(chip_name, pci_device, pci_revision, ...)                                                            \
    {                                                                                                                 \
        .name = chip_name, .kernel_driver = "xe", .interface = INTERFACE_XE, .vendor = 0x8086, .device = pci_device,  \
        .revision = pci_revision, .version_major = 1, .version_minor = 1, .description = "Intel Xe2 Graphics",        \
        .intel = {__VA_ARGS__}                                                                                        \
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
    INTEL("mtl", 0x7d55, 0x08, .video_engines = 5, .enhancement_engines = 1, .slices = 2, .subslices = 8,
          .units_per_subslice = 16, .graphics_version = 12),
    INTEL("arl", 0x7d51, 0x00, .video_engines = 5, .enhancement_engines = 1, .slices = 2, .subslices = 8,
          .units_per_subslice = 16, .graphics_version = 12),
    INTEL_XE("lnl", 0x64a0, 0x04, .video_engines = 1, .enhancement_engines = 1, .slices = 1, .subslices = 8,
             .units_per_subslice = 8, .graphics_version = 20, .graphics_release = 4, .media_version = 20),
    INTEL_XE("bmg", 0xe20b, 0x00, .video_engines = 5, .enhancement_engines = 3, .slices = 5, .subslices = 20,
             .units_per_subslice = 8, .graphics_version = 20, .graphics_release = 1, .media_version = 13,
             .media_release = 1, .local_memory = 12ull << 30),
    INTEL_XE("ptl", 0xb080, 0x00, .video_engines = 1, .enhancement_engines = 1, .slices = 1, .subslices = 12,
             .units_per_subslice = 8, .graphics_version = 30, .media_version = 30),
    AMD("polaris10", 0x67df, 0xc7, .family = AMDGPU_FAMILY_VI, .external_revision = 0x50, .graphics_major = 8,
        .video = VIDEO_UVD_VCE, .video_major = 6, .video_minor = 3, .shader_engines = 4, .compute_units = 36,
        .render_backends = 8, .address_config = 0x22011003, .memory_width = 256),
    AMD("raven", 0x15dd, 0xc6, .family = AMDGPU_FAMILY_RV, .external_revision = 0x01, .graphics_major = 9,
        .video = VIDEO_VCN, .video_major = 1, .video_firmware = 9, .integrated = true, .shader_engines = 1,
        .compute_units = 11, .render_backends = 2, .address_config = 0x24000042, .memory_width = 128),
    AMD("renoir", 0x1636, 0xc9, .family = AMDGPU_FAMILY_RV, .external_revision = 0x91, .graphics_major = 9,
        .video = VIDEO_VCN, .video_major = 2, .video_firmware = 20, .integrated = true, .shader_engines = 1,
        .compute_units = 8, .render_backends = 2, .address_config = 0x24000042, .memory_width = 128),
    AMD("navi21", 0x73bf, 0xc1, .family = AMDGPU_FAMILY_NV, .external_revision = 0x28, .graphics_major = 10,
        .video = VIDEO_VCN, .video_major = 3, .video_firmware = 33, .shader_engines = 4, .compute_units = 80,
        .render_backends = 16, .address_config = 0x00000444, .memory_width = 256),
    AMD("navi24", 0x743f, 0xc1, .family = AMDGPU_FAMILY_NV, .external_revision = 0x46, .graphics_major = 10,
        .video = VIDEO_VCN, .video_major = 3, .video_firmware = 33, .decodes_only = true, .shader_engines = 1,
        .compute_units = 16, .render_backends = 4, .address_config = 0x00000041, .memory_width = 64),
    AMD("navi31", 0x744c, 0xc8, .family = FAMILY_GRAPHICS_11, .external_revision = 0x01, .graphics_major = 11,
        .video = VIDEO_VCN, .video_major = 4, .video_firmware = 24, .shader_engines = 6, .compute_units = 96,
        .render_backends = 24, .address_config = 0x00000545, .memory_width = 384),
    AMD("navi33", 0x7480, 0xcf, .family = FAMILY_GRAPHICS_11, .external_revision = 0x10, .graphics_major = 11,
        .video = VIDEO_VCN, .video_major = 4, .video_revision = 4, .video_firmware = 24, .shader_engines = 2,
        .compute_units = 32, .render_backends = 8, .address_config = 0x00000343, .memory_width = 128),
    AMD("phoenix", 0x15bf, 0xc4, .family = FAMILY_PHOENIX, .external_revision = 0x01, .graphics_major = 11,
        .video = VIDEO_VCN, .video_major = 4, .video_revision = 2, .video_firmware = 24, .integrated = true,
        .shader_engines = 1, .compute_units = 12, .render_backends = 4, .address_config = 0x00000242,
        .memory_width = 128),
    AMD("strix", 0x150e, 0xd1, .family = FAMILY_GRAPHICS_11_5, .external_revision = 0x11, .graphics_major = 11,
        .graphics_minor = 5, .video = VIDEO_VCN, .video_major = 4, .video_revision = 5, .video_firmware = 24,
        .integrated = true, .shader_engines = 1, .compute_units = 16, .render_backends = 4,
        .address_config = 0x00000242, .memory_width = 128),
    AMD("navi44", 0x7590, 0xc0, .family = FAMILY_GRAPHICS_12, .external_revision = 0x40, .graphics_major = 12,
        .video = VIDEO_VCN, .video_major = 5, .video_firmware = 9, .shader_engines = 2, .compute_units = 32,
        .render_backends = 8, .address_config = 0x00000343, .memory_width = 128),
    AMD("navi48", 0x7550, 0xc0, .family = FAMILY_GRAPHICS_12, .external_revision = 0x50, .graphics_major = 12,
        .video = VIDEO_VCN, .video_major = 5, .video_firmware = 9, .shader_engines = 4, .compute_units = 64,
        .render_backends = 16, .address_config = 0x00000444, .memory_width = 256),
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
