/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reference lists (8.3.4). */
#include "dpb.h"

/* RefPicListTemp0 or RefPicListTemp1 before it is repeated: 8-8 and 8-10. Returns its length, NumPicTotalCurr. */
static uint32_t initial(const struct hevc_reference_set *set, unsigned list, int32_t out[3 * HEVC_MAXIMUM_REFERENCES])
{
    uint32_t count = 0;
    uint32_t first = list == 0 ? set->before_count : set->after_count;
    uint32_t second = list == 0 ? set->after_count : set->before_count;
    for (uint32_t i = 0; i < first; i++)
        out[count++] = list == 0 ? set->before[i] : set->after[i];
    for (uint32_t i = 0; i < second; i++)
        out[count++] = list == 0 ? set->after[i] : set->before[i];
    for (uint32_t i = 0; i < set->long_term_count; i++)
        out[count++] = set->long_term[i];
    return count;
}

static uint32_t length(const struct hevc_slice_header *header, unsigned list)
{
    if (header->slice_type == HEVC_SLICE_I || (list == 1 && header->slice_type != HEVC_SLICE_B))
        return 0;
    uint32_t count = header->num_ref_idx_active_minus1[list] + 1;
    return count <= HEVC_MAXIMUM_REFERENCES ? count : HEVC_MAXIMUM_REFERENCES;
}

bool hevc_dpb_list(const struct hevc_slice_header *header, const struct hevc_reference_set *set, unsigned list,
                   struct hevc_reference_list *reference_list)
{
    int32_t pictures[3 * HEVC_MAXIMUM_REFERENCES];
    uint32_t total = initial(set, list, pictures), count = length(header, list);
    bool modified = header->ref_pic_list_modification_flag[list];
    *reference_list = (struct hevc_reference_list){.count = count};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t entry = modified ? header->list_entry[list][i] : total ? i % total : 0;
        reference_list->entries[i] = entry < total ? pictures[entry] : -1;
    }
    return total > 0 || count == 0;
}

bool hevc_dpb_express_list(struct hevc_slice_header *header, const struct hevc_reference_set *set,
                           const struct hevc_reference_list *wanted, unsigned list, bool modifications_allowed)
{
    int32_t pictures[3 * HEVC_MAXIMUM_REFERENCES];
    uint32_t total = initial(set, list, pictures), count = length(header, list);
    bool initial_order = true;
    if (wanted->count != count || (count > 0 && total == 0))
        return false;
    header->ref_pic_list_modification_flag[list] = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t entry = i % total;
        if (pictures[entry] != wanted->entries[i]) {
            initial_order = false;
            for (entry = 0; entry < total && pictures[entry] != wanted->entries[i];)
                entry++;
        }
        if (entry == total || wanted->entries[i] < 0)
            return false;
        header->list_entry[list][i] = entry;
    }
    if (initial_order)
        return true;
    header->ref_pic_list_modification_flag[list] = 1;
    return modifications_allowed && total > 1;
}
