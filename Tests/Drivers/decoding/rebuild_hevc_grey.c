/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What stands for references that the software decoder does not hold. */
#include "rebuild_hevc.h"

#include <string.h>

#define GREY_PPS 1

struct hevc_pps hevc_grey_pps(void)
{
    return (struct hevc_pps){.pps_pic_parameter_set_id = GREY_PPS, .uniform_spacing_flag = 1,
                             .loop_filter_across_tiles_enabled_flag = 1};
}

bool hevc_write_grey(struct hevc_coder *coder, const struct hevc_rebuilt_sets *sets,
                     const struct hevc_rebuilt_set *set, struct bits *stream)
{
    struct hevc_sps sps = sets->sps;
    struct hevc_pps pps = hevc_grey_pps();
    struct hevc_slice_header header = {
        .nal.nal_unit_type = HEVC_NAL_TRAIL_R, .first_slice_segment_in_pic_flag = 1,
        .slice_pic_parameter_set_id = GREY_PPS, .slice_type = HEVC_SLICE_I, .pic_output_flag = 1};
    struct hevc_frame source = {.picture_order_count = set->order_count}, reconstruction = source;
    struct hevc_slice_request request = {.header = &header};
    if (!hevc_rebuild_references(&header, set))
        return false;
    hevc_write_slice_header(&request.nal, &header, &sps, &pps);
    sps.scaling_list_enabled_flag = 0; /* there is nothing to scale */
    request.ctb_count = hevc_width_in_ctbs(&sps) * hevc_height_in_ctbs(&sps);
    request.qp = 26;
    bool written = !request.nal.failed &&
                   hevc_coder_begin(coder, &sps, &pps, &source, &reconstruction, HEVC_EFFORT_SKIP) &&
                   hevc_coder_slice(coder, &request, stream) && hevc_coder_end(coder);
    hevc_frame_release(&reconstruction);
    bits_release(&request.nal);
    return written;
}
