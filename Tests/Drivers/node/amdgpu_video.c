/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The encoder blocks of AMD chips. Their commands are packages: size in bytes, kind, parameters; one of them tells
 * where the feedback about the coded picture goes. */
#include "amdgpu.h"

#include "trace.h"

#include <string.h>

enum {
    HEADER_DWORDS = 2,
    FEEDBACK_DWORDS = 16,

    /* Kinds of the package that names the feedback buffer. */
    VCE_FEEDBACK = 0x05000005,
    UVD_FEEDBACK = 0x12,
    VCN_1_FEEDBACK = 0x10,
    VCN_2_FEEDBACK = 0x15,
};

/* How an encoder block tells of a picture, by dword of the feedback. */
struct feedback_layout {
    uint32_t kind;          /* of the package */
    unsigned address_dword; /* of the package's parameters: upper half of the address, the lower half follows */
    unsigned done_dword;    /* not 0 when there is a picture */
    unsigned size_dword;    /* bytes of the picture */
};

static struct feedback_layout layout_of(const struct chip *chip, uint32_t block)
{
    if (block == AMDGPU_HW_IP_VCE)
        return (struct feedback_layout){VCE_FEEDBACK, 0, 1, 4};
    if (block == AMDGPU_HW_IP_UVD_ENC)
        return (struct feedback_layout){UVD_FEEDBACK, 1, 1, 6};
    return (struct feedback_layout){chip->amd.video_major == 1 ? VCN_1_FEEDBACK : VCN_2_FEEDBACK, 1, 1, 6};
}

static void give_feedback(struct drm_file *file, const struct feedback_layout *layout, const uint32_t *parameters)
{
    uint64_t address = (uint64_t)parameters[layout->address_dword] << 32 | parameters[layout->address_dword + 1];
    uint32_t feedback[FEEDBACK_DWORDS] = {0};
    uint8_t *bytes = amdgpu_memory(file->amdgpu, address, sizeof feedback);

    if (bytes == NULL) {
        trace("feedback goes to 0x%llx, which is not mapped", (unsigned long long)address);
        return;
    }
    feedback[layout->done_dword] = 1;
    feedback[layout->size_dword] = (uint32_t)file->node->coded_size;
    memcpy(bytes, feedback, sizeof feedback);
}

void amdgpu_run_video(struct drm_file *file, uint32_t block, uint64_t address, uint32_t size)
{
    struct feedback_layout layout = layout_of(file->node->chip, block);

    if (block != AMDGPU_HW_IP_VCE && block != AMDGPU_HW_IP_UVD_ENC && block != AMDGPU_HW_IP_VCN_ENC)
        return;
    const uint32_t *dwords = (const void *)amdgpu_memory(file->amdgpu, address, size);
    uint32_t count = size / 4, place = 0;

    if (dwords == NULL) {
        trace("commands at 0x%llx are not mapped", (unsigned long long)address);
        return;
    }
    while (place + HEADER_DWORDS <= count) {
        uint32_t length = dwords[place] / 4;

        if (length < HEADER_DWORDS || length > count - place)
            break;
        if (dwords[place + 1] == layout.kind && length >= HEADER_DWORDS + layout.address_dword + 2)
            give_feedback(file, &layout, dwords + place + HEADER_DWORDS);
        place += length;
    }
}
