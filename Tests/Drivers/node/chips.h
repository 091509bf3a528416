/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The graphics chips that a render node can pretend to be. */
#ifndef DRIVERS_NODE_CHIPS_H
#define DRIVERS_NODE_CHIPS_H

#include <stdint.h>

/* Which kernel driver's requests (ioctl) a node answers. */
enum kernel_interface {
    INTERFACE_GENERIC, /* only the requests that every DRM driver has */
    INTERFACE_I915,
    INTERFACE_AMDGPU,
};

/* What the i915 kernel driver tells of a chip. */
struct intel_traits {
    uint32_t video_engines;      /* bit per engine instance (VCS0, VCS1, ...) that exists */
    uint32_t enhancement_engines; /* bit per video enhancement engine instance */
    uint32_t slices, subslices, units_per_subslice; /* of the execution units */
    uint32_t graphics_version;   /* generation: 9, 11, 12 */
    uint64_t local_memory;       /* bytes of memory on the card, 0 when there is none */
};

/* What the amdgpu kernel driver tells of a chip. */
struct amd_traits {
    uint32_t family;             /* AMDGPU_FAMILY_... */
    uint32_t external_revision;  /* tells the chips of one family apart */
    uint32_t graphics_major, graphics_minor; /* version of the graphics block */
    uint32_t video_encode_block; /* AMDGPU_HW_IP_VCE, or AMDGPU_HW_IP_VCN_ENC */
    uint32_t video_major, video_minor;       /* version of the video block */
    uint32_t video_firmware;     /* version of the encoder's firmware, as the block's driver encodes it */
    uint32_t integrated;         /* 1 when the chip shares the processor's memory */
    uint32_t shader_engines, compute_units, render_backends; /* compute units and backends in total */
    uint32_t address_config;     /* GB_ADDR_CONFIG register */
    uint32_t video_memory_width; /* bits */
};

struct chip {
    const char *name;            /* as in RENDER_NODES */
    const char *kernel_driver;   /* as drmGetVersion and sysfs name it */
    enum kernel_interface interface;
    uint16_t vendor, device;     /* PCI */
    uint8_t revision;
    int version_major, version_minor, version_patch; /* of the kernel driver */
    const char *description;     /* of the kernel driver */
    struct intel_traits intel;
    struct amd_traits amd;
};

/* The chip of that name, or NULL. */
const struct chip *chip_named(const char *name);

/* The chip at a place of the table, or NULL behind its end. */
const struct chip *chip_at(unsigned index);

#endif
