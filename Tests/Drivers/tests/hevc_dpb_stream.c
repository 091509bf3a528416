/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Follows an HEVC Annex B stream with the model of the DPB and prints the pictures as they are put out:
 *
 *     COUNT-OF-SEQUENCES ORDER-COUNT
 *
 * and one line with "wrong:" wherever the model finds that the stream breaks a rule. */
#include "../hevc/dpb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct hevc_sps sps;
static struct hevc_pps pps[64];
static struct hevc_dpb dpb;
static struct hevc_slice_header header; /* of the picture's last segment */
static struct hevc_reference_set set;
static int32_t order_count;
static bool open_picture, has_sps;
static uint32_t sequences;

/* Surfaces stand for the sequence that a picture belongs to. */
static void print(struct hevc_outputs *outputs)
{
    for (uint32_t i = 0; i < outputs->count; i++)
        printf("%u %d\n", outputs->pictures[i].surface, outputs->pictures[i].order_count);
    outputs->count = 0;
}

static void end_picture(void)
{
    char reason[160] = "";
    struct hevc_outputs outputs = {.count = 0};
    if (open_picture && !hevc_dpb_end(&dpb, &sps, &header, order_count, sequences, &outputs, reason, sizeof reason))
        printf("wrong: %s\n", reason);
    print(&outputs);
    open_picture = false;
}

static void begin_picture(void)
{
    char reason[160] = "";
    struct hevc_outputs outputs = {.count = 0};
    order_count = hevc_dpb_order_count(&dpb, &sps, &header);
    if (!hevc_dpb_begin(&dpb, &sps, &header, order_count, &set, &outputs, reason, sizeof reason))
        printf("wrong: picture %d: %s\n", order_count, reason);
    print(&outputs);
    sequences += hevc_is_irap(header.nal.nal_unit_type) && dpb.no_rasl_output;
    open_picture = true;
}

/* The list of the slice, and how the model would express it: both must lead to the same. */
static void check_list(unsigned list)
{
    struct hevc_reference_list coded, again;
    struct hevc_slice_header own = header;
    if (!hevc_dpb_list(&header, &set, list, &coded) ||
        !hevc_dpb_express_list(&own, &set, &coded, list, true) || !hevc_dpb_list(&own, &set, list, &again) ||
        memcmp(&coded, &again, sizeof coded) != 0)
        printf("wrong: list %u of picture %d cannot be expressed\n", list, order_count);
}

static void take_slice(const uint8_t *nal, size_t size)
{
    uint32_t id;
    struct hevc_slice_header next;
    if (!has_sps || !hevc_read_slice_pps_id(nal, size * 8, &id) ||
        !hevc_read_slice_header(&next, &sps, &pps[id], open_picture ? &header : NULL, nal, size * 8, NULL, NULL,
                                NULL)) {
        printf("wrong: a slice segment header cannot be read\n");
        return;
    }
    if (next.first_slice_segment_in_pic_flag)
        end_picture();
    header = next;
    if (next.first_slice_segment_in_pic_flag)
        begin_picture();
    check_list(0);
    check_list(1);
}

static void take(const uint8_t *nal, size_t size)
{
    unsigned type = nal[0] >> 1 & 63;
    struct hevc_pps read;
    if (type == HEVC_NAL_SPS) {
        end_picture();
        has_sps = hevc_read_sps(&sps, nal, size * 8, NULL, NULL, NULL);
    } else if (type == HEVC_NAL_PPS && hevc_read_pps(&read, nal, size * 8, NULL, NULL, NULL)) {
        end_picture();
        pps[read.pps_pic_parameter_set_id] = read;
    } else if (type == HEVC_NAL_EOS) {
        end_picture();
        dpb.ended = true;
    } else if (hevc_is_slice(type)) {
        take_slice(nal, size);
    }
}

int main(int count, char **arguments)
{
    static uint8_t bytes[4 << 20];
    FILE *file = count > 1 ? fopen(arguments[1], "rb") : NULL;
    if (!file)
        return 2;
    size_t size = fread(bytes, 1, sizeof bytes, file), unit = SIZE_MAX;
    fclose(file);
    for (size_t at = 0; at <= size; at++) {
        bool code = at + 3 <= size && bytes[at] == 0 && bytes[at + 1] == 0 && bytes[at + 2] == 1;
        if (!code && at != size)
            continue;
        size_t length = unit == SIZE_MAX ? 0 : at - unit;
        while (length && bytes[unit + length - 1] == 0)
            length--;
        if (length)
            take(bytes + unit, bits_remove_emulation(bytes + unit, bytes + unit, length));
        unit = at + 3;
        at += 2;
    }
    end_picture();
    struct hevc_outputs outputs = {.count = 0};
    hevc_dpb_flush(&dpb, &outputs);
    print(&outputs);
    return 0;
}
