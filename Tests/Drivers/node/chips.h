/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The graphics chips that a render node can pretend to be. */
#ifndef DRIVERS_NODE_CHIPS_H
#define DRIVERS_NODE_CHIPS_H

#include <stdbool.h>
#include <stdint.h>

/* Which kernel driver's requests (ioctl) a node answers. */
enum kernel_interface {
    INTERFACE_GENERIC, /* only the requests that every DRM driver has */
    INTERFACE_I915,
    INTERFACE_XE,
    INTERFACE_AMDGPU,
};

/* What the i915 and xe kernel drivers tell of a chip. */
struct intel_traits {
    uint32_t video_engines;      /* bit per engine instance (VCS0, VCS1, ...) that exists */
    uint32_t enhancement_engines; /* bit per video enhancement engine instance */
    uint32_t slices, subslices, units_per_subslice; /* of the execution units */
    uint32_t graphics_version, graphics_release; /* of the generation: 9, 11, 12; xe tells 20.4 and the like */
    uint32_t media_version, media_release;       /* of the video engines, which xe tells apart from graphics */
    uint64_t local_memory;       /* bytes of memory on the card, 0 when there is none */
};

/* The blocks of an AMD chip that code video. */
enum video_block {
    VIDEO_UVD_VCE, /* decoder and HEVC encoder UVD, H.264 encoder VCE: up to version 8 of the graphics */
    VIDEO_VCN,     /* all in one */
};

/* What the amdgpu kernel driver tells of a chip. */
struct amd_traits {
    uint32_t family;            /* AMDGPU_FAMILY_... */
    uint32_t external_revision; /* tells the chips of one family apart */
    uint32_t graphics_major, graphics_minor; /* version of the graphics block */
    enum video_block video;
    uint32_t video_major, video_minor, video_revision; /* version of UVD or VCN */
    uint32_t video_firmware;    /* of VCN: the minor version of its encoder, of which the major one is 1 */
    bool decodes_only;          /* has no encoder */
    bool integrated;            /* shares the processor's memory */
    uint32_t shader_engines, compute_units, render_backends; /* units and backends of all engines */
    uint32_t address_config;    /* register GB_ADDR_CONFIG */
    uint32_t memory_width;      /* bits */
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
