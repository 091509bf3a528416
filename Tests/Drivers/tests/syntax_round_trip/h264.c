/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../../h264/syntax.h"
#include "codec.h"

static struct h264_sps parameter_set_sps[32];
static struct h264_pps parameter_set_pps[256];

/* Reads one unit of any known type and writes it; true when it could be read. */
static bool visit(const uint8_t *nal, size_t bit_count, size_t *end, struct bits *again, struct syntax_error *error,
                  const struct syntax_options *options, bool keep)
{
    unsigned type = bit_count < 8 ? 0 : nal[0] & 31;
    if (type == H264_NAL_SPS) {
        static struct h264_sps sps;
        if (!h264_read_sps(&sps, nal, bit_count, end, options, error))
            return false;
        h264_write_sps(again, &sps);
        if (keep)
            parameter_set_sps[sps.seq_parameter_set_id] = sps;
        return true;
    }
    if (type == H264_NAL_PPS) {
        static struct h264_pps pps;
        if (!h264_read_pps(&pps, nal, bit_count, end, options, error))
            return false;
        h264_write_pps(again, &pps);
        if (keep)
            parameter_set_pps[pps.pic_parameter_set_id] = pps;
        return true;
    }
    uint32_t id;
    if (!h264_read_slice_pps_id(nal, bit_count, &id))
        return false;
    const struct h264_pps *pps = &parameter_set_pps[id];
    const struct h264_sps *sps = &parameter_set_sps[pps->seq_parameter_set_id];
    static struct h264_slice_header header;
    if (!h264_read_slice_header(&header, sps, pps, nal, bit_count, end, options, error))
        return false;
    h264_write_slice_header(again, &header, sps, pps);
    return true;
}

static unsigned type(const uint8_t *nal)
{
    return nal[0] & 31;
}

static bool is_parameter_set(const uint8_t *nal)
{
    return type(nal) == H264_NAL_SPS || type(nal) == H264_NAL_PPS;
}

static bool is_known(const uint8_t *nal)
{
    return is_parameter_set(nal) || type(nal) == H264_NAL_SLICE || type(nal) == H264_NAL_IDR_SLICE;
}

/* A PPS may end before its extension. */
static bool may_be_cut(const uint8_t *nal)
{
    return type(nal) == H264_NAL_PPS;
}

const struct codec h264_codec = {visit, type, is_known, is_parameter_set, may_be_cut};
