/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../../hevc/syntax.h"
#include "codec.h"

static struct hevc_sps parameter_set_sps[16];
static struct hevc_pps parameter_set_pps[64];
static struct hevc_slice_header previous; /* of the picture; dependent segments take from it */
static bool has_previous;

static unsigned type(const uint8_t *nal)
{
    return nal[0] >> 1 & 63;
}

static bool visit_slice(const uint8_t *nal, size_t bit_count, size_t *end, struct bits *again,
                        struct syntax_error *error, const struct syntax_options *options, bool keep)
{
    static struct hevc_slice_header header;
    uint32_t id;
    if (!hevc_read_slice_pps_id(nal, bit_count, &id))
        return false;
    const struct hevc_pps *pps = &parameter_set_pps[id];
    const struct hevc_sps *sps = &parameter_set_sps[pps->pps_seq_parameter_set_id];
    if (sps->pic_width_in_luma_samples == 0 ||
        !hevc_read_slice_header(&header, sps, pps, has_previous ? &previous : NULL, nal, bit_count, end, options,
                                error))
        return false;
    hevc_write_slice_header(again, &header, sps, pps);
    if (keep) {
        previous = header;
        has_previous = true;
    }
    return true;
}

static bool visit(const uint8_t *nal, size_t bit_count, size_t *end, struct bits *again, struct syntax_error *error,
                  const struct syntax_options *options, bool keep)
{
    static struct hevc_vps vps;
    static struct hevc_sps sps;
    static struct hevc_pps pps;
    switch (bit_count < 8 ? HEVC_NAL_AUD : type(nal)) {
    case HEVC_NAL_VPS:
        if (!hevc_read_vps(&vps, nal, bit_count, end, options, error))
            return false;
        hevc_write_vps(again, &vps);
        return true;
    case HEVC_NAL_SPS:
        if (!hevc_read_sps(&sps, nal, bit_count, end, options, error))
            return false;
        hevc_write_sps(again, &sps);
        if (keep)
            parameter_set_sps[sps.sps_seq_parameter_set_id] = sps;
        return true;
    case HEVC_NAL_PPS:
        if (!hevc_read_pps(&pps, nal, bit_count, end, options, error))
            return false;
        hevc_write_pps(again, &pps);
        if (keep)
            parameter_set_pps[pps.pps_pic_parameter_set_id] = pps;
        return true;
    default:
        return visit_slice(nal, bit_count, end, again, error, options, keep);
    }
}

static bool is_parameter_set(const uint8_t *nal)
{
    return type(nal) >= HEVC_NAL_VPS && type(nal) <= HEVC_NAL_PPS;
}

static bool is_known(const uint8_t *nal)
{
    return is_parameter_set(nal) || hevc_is_slice(type(nal));
}

static bool may_be_cut(const uint8_t *nal)
{
    (void)nal;
    return false;
}

const struct codec hevc_codec = {visit, type, is_known, is_parameter_set, may_be_cut};
