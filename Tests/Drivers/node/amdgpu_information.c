/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the amdgpu kernel driver tells of the chip. */
#include "amdgpu.h"

#include "drm_core.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#define GIB (1ull << 30)
#define MIB (1ull << 20)

/* Versions of firmware as the kernel encodes them: recent ones that every encoder of the VA driver accepts. */
enum {
    GRAPHICS_FIRMWARE = 0xa7,
    GRAPHICS_FEATURE = 53,
    UVD_FIRMWARE = 1 << 24 | 130 << 16 | 16 << 8,
    VCE_FIRMWARE = 53 << 24 | 26 << 16 | 16 << 8,
    VCN_ENCODER_MAJOR_SHIFT = 20,
    VCN_ENCODER_MINOR_SHIFT = 12,
};

static uint64_t memory_of_card(const struct chip *chip)
{
    return chip->amd.integrated ? 512 * MIB : 8 * GIB;
}

static void give(const struct drm_amdgpu_info *query, const void *answer, size_t size)
{
    memcpy((void *)(uintptr_t)query->return_pointer, answer, size < query->return_size ? size : query->return_size);
}

static int give_number(const struct drm_amdgpu_info *query, uint64_t number)
{
    give(query, &number, sizeof number);
    return 0;
}

static bool has_block(const struct chip *chip, uint32_t type)
{
    bool has_vcn = chip->amd.video == VIDEO_VCN;

    switch (type) {
    case AMDGPU_HW_IP_GFX:
    case AMDGPU_HW_IP_COMPUTE:
    case AMDGPU_HW_IP_DMA:
        return true;
    case AMDGPU_HW_IP_UVD:
    case AMDGPU_HW_IP_UVD_ENC:
    case AMDGPU_HW_IP_VCE:
        return !has_vcn;
    case AMDGPU_HW_IP_VCN_DEC: /* from version 4 on the encoder's ring takes commands for the decoder, too */
        return has_vcn && chip->amd.video_major < 4;
    case AMDGPU_HW_IP_VCN_ENC:
        return has_vcn && (!chip->amd.decodes_only || chip->amd.video_major >= 4);
    case AMDGPU_HW_IP_VCN_JPEG:
        return has_vcn;
    default:
        return false;
    }
}

/* The whole version of a block, by which Mesa tells chips of graphics version 11 and later apart. Older headers call
 * the field padding, so it is written by its place. */
static void put_version(const struct chip *chip, bool is_video, struct drm_amdgpu_info_hw_ip *block)
{
    const struct amd_traits *amd = &chip->amd;
    uint32_t version = is_video ? amd->video_major << 16 | amd->video_minor << 8 | amd->video_revision
                                : amd->graphics_major << 16 | amd->graphics_minor << 8;
    size_t place = offsetof(struct drm_amdgpu_info_hw_ip, available_rings) + sizeof block->available_rings;

    if (amd->graphics_major >= 11)
        memcpy((uint8_t *)block + place, &version, sizeof version);
}

static int give_block(const struct chip *chip, const struct drm_amdgpu_info *query)
{
    uint32_t type = query->query_hw_ip.type;
    struct drm_amdgpu_info_hw_ip block = {0};

    if (type >= AMDGPU_HW_IP_NUM)
        return EINVAL;
    if (has_block(chip, type)) {
        bool is_video = type >= AMDGPU_HW_IP_UVD;

        block.hw_ip_version_major = is_video ? chip->amd.video_major : chip->amd.graphics_major;
        block.hw_ip_version_minor = is_video ? chip->amd.video_minor : chip->amd.graphics_minor;
        block.available_rings = 1;
        block.ib_start_alignment = 256;
        block.ib_size_alignment = 64;
        put_version(chip, is_video, &block);
    }
    give(query, &block, sizeof block);
    return 0;
}

static int give_block_count(const struct chip *chip, const struct drm_amdgpu_info *query)
{
    uint32_t count = has_block(chip, query->query_hw_ip.type);

    give(query, &count, sizeof count);
    return 0;
}

static int give_firmware(const struct chip *chip, const struct drm_amdgpu_info *query)
{
    struct drm_amdgpu_info_firmware firmware = {.ver = GRAPHICS_FIRMWARE, .feature = GRAPHICS_FEATURE};

    switch (query->query_fw.fw_type) {
    case AMDGPU_INFO_FW_UVD:
        firmware.ver = UVD_FIRMWARE;
        break;
    case AMDGPU_INFO_FW_VCE:
        firmware.ver = VCE_FIRMWARE;
        break;
    case AMDGPU_INFO_FW_VCN:
        firmware.ver = 1u << VCN_ENCODER_MAJOR_SHIFT | chip->amd.video_firmware << VCN_ENCODER_MINOR_SHIFT;
        break;
    }
    give(query, &firmware, sizeof firmware);
    return 0;
}

static int give_memory(const struct chip *chip, const struct drm_amdgpu_info *query)
{
    uint64_t card = memory_of_card(chip), visible = card < 256 * MIB ? card : 256 * MIB;
    struct drm_amdgpu_memory_info memory = {
        .vram = {.total_heap_size = card, .usable_heap_size = card, .max_allocation = card / 4 * 3},
        .cpu_accessible_vram = {.total_heap_size = visible, .usable_heap_size = visible,
                                .max_allocation = visible / 4 * 3},
        .gtt = {.total_heap_size = 8 * GIB, .usable_heap_size = 8 * GIB, .max_allocation = 6 * GIB},
    };

    give(query, &memory, sizeof memory);
    return 0;
}

static int give_memory_sizes(const struct chip *chip, const struct drm_amdgpu_info *query)
{
    struct drm_amdgpu_info_vram_gtt sizes = {
        .vram_size = memory_of_card(chip), .vram_cpu_accessible_size = 256 * MIB, .gtt_size = 8 * GIB,
    };

    give(query, &sizes, sizeof sizes);
    return 0;
}

static int give_device(const struct chip *chip, const struct drm_amdgpu_info *query)
{
    const struct amd_traits *amd = &chip->amd;
    bool is_before_nine = amd->graphics_major < 9;
    struct drm_amdgpu_info_device device = {
        .device_id = chip->device,
        .chip_rev = 1,
        .external_rev = amd->external_revision,
        .pci_rev = chip->revision,
        .family = amd->family,
        .num_shader_engines = amd->shader_engines,
        .num_shader_arrays_per_engine = amd->graphics_major >= 10 ? 2 : 1,
        .gpu_counter_freq = 100000,
        .max_engine_clock = 1500000,
        .max_memory_clock = 1000000,
        .cu_active_number = amd->compute_units,
        .enabled_rb_pipes_mask = (1u << amd->render_backends) - 1,
        .num_rb_pipes = amd->render_backends,
        .num_hw_gfx_contexts = 8,
        .ids_flags = amd->integrated ? AMDGPU_IDS_FLAGS_FUSION : 0,
        .virtual_address_offset = 0x200000,
        .virtual_address_max = is_before_nine ? 0x4000000000 : 0x800000000000,
        .virtual_address_alignment = 4096,
        .pte_fragment_size = 2 * MIB,
        .gart_page_size = 4096,
        .ce_ram_size = 32768,
        .vram_type = amd->integrated ? AMDGPU_VRAM_TYPE_DDR4 : AMDGPU_VRAM_TYPE_GDDR5,
        .vram_bit_width = amd->memory_width,
        .gc_double_offchip_lds_buf = 1,
        .wave_front_size = 64,
        .num_shader_visible_vgprs = amd->graphics_major >= 10 ? 1024 : 256,
        .num_tcc_blocks = amd->memory_width / 16,
        .gs_vgt_table_depth = 32,
        .gs_prim_buffer_depth = 1792,
        .max_gs_waves_per_vgt = 32,
        .high_va_offset = is_before_nine ? 0 : 0xffff800000000000,
        .high_va_max = is_before_nine ? 0 : 0xffffffffffe00000,
    };
    uint32_t arrays = device.num_shader_engines * device.num_shader_arrays_per_engine;

    device.num_cu_per_sh = (amd->compute_units + arrays - 1) / arrays;
    for (uint32_t engine = 0; engine < device.num_shader_engines; engine++)
        for (uint32_t array = 0; array < device.num_shader_arrays_per_engine; array++)
            /* The engines from the fifth on have the columns that the first four do not use. */
            device.cu_bitmap[engine % 4][engine / 4 * 2 + array] = (1u << device.num_cu_per_sh) - 1;
    memcpy(device.cu_ao_bitmap, device.cu_bitmap, sizeof device.cu_ao_bitmap);
    give(query, &device, sizeof device);
    return 0;
}

/* Codecs, as bits. */
enum {
    H264 = 1 << AMDGPU_INFO_VIDEO_CAPS_CODEC_IDX_MPEG4_AVC,
    HEVC = 1 << AMDGPU_INFO_VIDEO_CAPS_CODEC_IDX_HEVC,
    JPEG = 1 << AMDGPU_INFO_VIDEO_CAPS_CODEC_IDX_JPEG,
    VP9 = 1 << AMDGPU_INFO_VIDEO_CAPS_CODEC_IDX_VP9,
    AV1 = 1 << AMDGPU_INFO_VIDEO_CAPS_CODEC_IDX_AV1,
    OLD = 1 << AMDGPU_INFO_VIDEO_CAPS_CODEC_IDX_MPEG2 | 1 << AMDGPU_INFO_VIDEO_CAPS_CODEC_IDX_MPEG4 |
          1 << AMDGPU_INFO_VIDEO_CAPS_CODEC_IDX_VC1,
};

static uint32_t codecs_of(const struct amd_traits *amd, bool encodes)
{
    bool has_vcn = amd->video == VIDEO_VCN;
    uint32_t codecs = H264 | HEVC;

    if (encodes && amd->decodes_only)
        return 0;
    if (encodes)
        return has_vcn && amd->video_major >= 4 ? codecs | AV1 : codecs;
    if (has_vcn)
        codecs |= VP9;
    if (amd->decodes_only) /* Navi 24 */
        return codecs;
    codecs |= JPEG;
    if (!has_vcn || amd->video_major <= 3)
        codecs |= OLD;
    if (has_vcn && amd->video_major >= 3)
        codecs |= AV1;
    return codecs;
}

static void put_size(const struct amd_traits *amd, bool encodes, bool is_new_codec,
                     struct drm_amdgpu_info_video_codec_info *information)
{
    bool is_large = amd->video == VIDEO_VCN && amd->video_major >= 2 && is_new_codec;
    bool is_recent = amd->video == VIDEO_VCN && amd->video_major >= 4;

    information->max_width = !is_large ? 4096 : encodes && !is_recent ? 7680 : 8192;
    information->max_height = is_large ? 4352 : encodes && !is_recent ? 2304 : 4096;
    information->max_pixels_per_frame = information->max_width * information->max_height;
    information->max_level = encodes ? 0 : 186;
}

/* What the video block decodes and encodes. */
static int give_video(const struct chip *chip, const struct drm_amdgpu_info *query)
{
    struct drm_amdgpu_info_video_caps video = {0};
    bool encodes = query->video_cap.type == AMDGPU_INFO_VIDEO_CAPS_ENCODE;
    uint32_t codecs = codecs_of(&chip->amd, encodes);

    for (uint32_t codec = 0; codec < AMDGPU_INFO_VIDEO_CAPS_CODEC_IDX_COUNT; codec++)
        if (codecs & 1u << codec) {
            bool is_new = (HEVC | VP9 | AV1) & 1u << codec;

            video.codec_info[codec].valid = 1;
            put_size(&chip->amd, encodes, is_new, &video.codec_info[codec]);
        }
    give(query, &video, sizeof video);
    return 0;
}

static int give_registers(const struct chip *chip, const struct drm_amdgpu_info *query)
{
    uint32_t count = query->read_mmr_reg.count;

    if (count > 128 || query->return_size < count * sizeof(uint32_t))
        return EINVAL;
    return amdgpu_read_registers(chip, query->read_mmr_reg.dword_offset, count,
                                 (uint32_t *)(uintptr_t)query->return_pointer);
}

int amdgpu_information(struct drm_file *file, const struct drm_amdgpu_info *query)
{
    const struct chip *chip = file->node->chip;

    if (query->return_pointer == 0 || query->return_size == 0)
        return EINVAL;
    switch (query->query) {
    case AMDGPU_INFO_ACCEL_WORKING: {
        uint32_t works = 1;

        give(query, &works, sizeof works);
        return 0;
    }
    case AMDGPU_INFO_HW_IP_INFO:
        return give_block(chip, query);
    case AMDGPU_INFO_HW_IP_COUNT:
        return give_block_count(chip, query);
    case AMDGPU_INFO_FW_VERSION:
        return give_firmware(chip, query);
    case AMDGPU_INFO_DEV_INFO:
        return give_device(chip, query);
    case AMDGPU_INFO_MEMORY:
        return give_memory(chip, query);
    case AMDGPU_INFO_VRAM_GTT:
        return give_memory_sizes(chip, query);
    case AMDGPU_INFO_READ_MMR_REG:
        return give_registers(chip, query);
    case AMDGPU_INFO_VIDEO_CAPS:
        return give_video(chip, query);
    case AMDGPU_INFO_TIMESTAMP:
        return give_number(query, (uint64_t)(monotonic_nanoseconds() / 10));
    case AMDGPU_INFO_NUM_BYTES_MOVED:
    case AMDGPU_INFO_VRAM_USAGE:
    case AMDGPU_INFO_VIS_VRAM_USAGE:
    case AMDGPU_INFO_GTT_USAGE:
    case AMDGPU_INFO_NUM_EVICTIONS:
    case AMDGPU_INFO_NUM_VRAM_CPU_PAGE_FAULTS:
    case AMDGPU_INFO_VRAM_LOST_COUNTER:
        return give_number(query, 0);
    default:
        return EINVAL;
    }
}
