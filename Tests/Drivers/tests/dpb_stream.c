/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Follows a progressive Annex B stream with the model of the DPB and prints one line per picture:
 *
 *     COUNT-OF-IDR-PICTURES ORDER-COUNT FRAME-NUM TYPE
 *
 * and one with "wrong:" wherever the model finds that the stream breaks a rule. */
#include "../h264/dpb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct h264_sps sps;
static struct h264_pps pps[256];
static struct h264_dpb dpb;
static struct h264_slice_header header;
static struct h264_order_count order_count;
static bool open_picture;
static uint32_t idr_pictures, pictures;

static void commit(void)
{
    char reason[160] = "";
    if (open_picture && !h264_dpb_commit(&dpb, &sps, &header, &order_count, pictures++, reason, sizeof reason))
        printf("wrong: marking of picture %u: %s\n", pictures - 1, reason);
    open_picture = false;
}

static void begin(void)
{
    bool idr = header.nal_unit_type == H264_NAL_IDR_SLICE;
    uint32_t expected = h264_dpb_expected_frame_num(&dpb, &sps, idr);
    idr_pictures += idr;
    if (header.frame_num != expected)
        printf("wrong: frame_num %u, expected %u\n", header.frame_num, expected);
    order_count = h264_dpb_order_count(&dpb, &sps, &header);
    printf("%u %d %u %c\n", idr_pictures, h264_frame_order_count(order_count.top, order_count.bottom),
           header.frame_num, "PBI"[header.slice_type % 5]);
    open_picture = true;
}

/* The list of the slice, and the modifications that this model would write for it: they must lead to the same. */
static void check_list(unsigned list)
{
    char reason[160] = "";
    int32_t order = h264_frame_order_count(order_count.top, order_count.bottom);
    struct h264_reference_list initial = h264_dpb_initial_list(&dpb, &sps, &header, order, list);
    struct h264_reference_list coded = initial, again = initial;
    if (!h264_dpb_modify_list(&dpb, &sps, &header, list, &coded, reason, sizeof reason))
        printf("wrong: modification of list %u of picture %u: %s\n", list, pictures, reason);
    for (uint32_t i = 0; i < coded.count; i++)
        if (coded.entries[i] < 0) {
            printf("wrong: entry %u of list %u of picture %u has no picture\n", i, list, pictures);
            return;
        }
    static struct h264_slice_header own;
    own = header;
    if (!h264_dpb_express_list(&dpb, &sps, &own, &initial, &coded, list) ||
        !h264_dpb_modify_list(&dpb, &sps, &own, list, &again, reason, sizeof reason) ||
        memcmp(again.entries, coded.entries, coded.count * sizeof coded.entries[0]) != 0)
        printf("wrong: list %u of picture %u cannot be expressed\n", list, pictures);
}

static void take(const uint8_t *nal, size_t size)
{
    unsigned type = nal[0] & 31;
    struct h264_pps read;
    uint32_t id;
    if (type == H264_NAL_SPS) {
        commit();
        h264_read_sps(&sps, nal, size * 8, NULL, NULL, NULL);
    } else if (type == H264_NAL_PPS && h264_read_pps(&read, nal, size * 8, NULL, NULL, NULL)) {
        commit();
        pps[read.pic_parameter_set_id] = read;
    } else if ((type == H264_NAL_SLICE || type == H264_NAL_IDR_SLICE) && h264_read_slice_pps_id(nal, size * 8, &id)) {
        struct h264_slice_header next;
        if (!h264_read_slice_header(&next, &sps, &pps[id], nal, size * 8, NULL, NULL, NULL))
            printf("wrong: a slice header cannot be read\n");
        if (next.first_mb_in_slice == 0)
            commit();
        header = next;
        if (next.first_mb_in_slice == 0)
            begin();
        if (header.slice_type % 5 != H264_SLICE_I)
            check_list(0);
        if (header.slice_type % 5 == H264_SLICE_B)
            check_list(1);
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
    commit();
    return 0;
}
