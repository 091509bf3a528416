/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "skipping.h"

#include <stdlib.h>
#include <string.h>

static struct skipped_key key_of(const struct job *job, const struct job_slice *slice)
{
    struct skipped_key key;
    memset(&key, 0, sizeof(key)); /* keys are compared byte by byte */
    key.type = slice->header.h264.slice_type % 5;
    key.direct_spatial_mv_pred_flag = slice->header.h264.direct_spatial_mv_pred_flag;
    key.entropy_coding_mode_flag = job->pps.h264.entropy_coding_mode_flag;
    key.cabac_init_idc = slice->header.h264.cabac_init_idc;
    key.width_in_mbs = job->width_in_mbs;
    key.first_mb_in_slice = slice->header.h264.first_mb_in_slice;
    key.macroblock_count = slice->block_count;
    key.slice_qp = 26 + job->pps.h264.pic_init_qp_minus26 + slice->header.h264.slice_qp_delta;
    return key;
}

static const struct bits *find(const struct skipped_slices *slices, const struct skipped_key *key)
{
    for (unsigned i = 0; i < slices->count; i++)
        if (memcmp(&slices->kept[i].key, key, sizeof(*key)) == 0)
            return &slices->kept[i].data;
    return NULL;
}

static bool all_known(const struct skipped_slices *slices, const struct job *job)
{
    for (uint32_t i = 0; i < job->slice_count; i++) {
        struct skipped_key key = key_of(job, &job->slices[i]);
        if (key.type == H264_SLICE_I || !find(slices, &key))
            return false;
    }
    return job->slice_count > 0;
}

/* H.264 7.3.4: cabac_alignment_one_bit before CABAC's data; 7.3.2.11 after CAVLC's. */
static void append_slice(const struct job *job, const struct job_slice *slice, const struct bits *data,
                         struct bits *stream)
{
    struct bits nal = {.bytes = NULL};
    bits_append(&nal, slice->nal.bytes, 0, slice->nal.count);
    if (job->pps.h264.entropy_coding_mode_flag) {
        unsigned missing = (8 - nal.count % 8) % 8;
        bits_put(&nal, (1u << missing) - 1, missing);
        bits_append(&nal, data->bytes, 0, data->count);
    } else {
        bits_append(&nal, data->bytes, 0, data->count);
        bits_trail(&nal);
    }
    if (slice->prefix.count)
        bits_append(stream, slice->prefix.bytes, 0, slice->prefix.count);
    bits_frame_nal_unit(stream, &nal);
    stream->failed = stream->failed || nal.failed;
    bits_release(&nal);
}

bool skipped_append(const struct skipped_slices *slices, const struct job *job, struct bits *stream)
{
    if (!all_known(slices, job))
        return false;
    for (uint32_t i = 0; i < job->slice_count; i++) {
        struct skipped_key key = key_of(job, &job->slices[i]);
        append_slice(job, &job->slices[i], find(slices, &key), stream);
    }
    return true;
}

/* The bits of the NAL unit without rbsp_trailing_bits. */
static size_t without_trailing_bits(const uint8_t *nal, size_t size)
{
    size_t count = size * 8;
    while (count > 0 && !(nal[(count - 1) / 8] >> (7 - (count - 1) % 8) & 1))
        count--;
    return count ? count - 1 : 0;
}

void skipped_learn(struct skipped_slices *slices, const struct job *job, const struct job_slice *slice,
                   const struct bits *stream, size_t start)
{
    const size_t start_code = 4;
    size_t end = stream->count / 8;
    struct skipped_key key = key_of(job, slice);
    if (key.type == H264_SLICE_I || stream->failed || end < start + start_code || find(slices, &key))
        return;
    uint8_t *nal = malloc(end - start);
    if (!nal)
        return;
    size_t size = bits_remove_emulation(nal, stream->bytes + start + start_code, end - start - start_code);
    bool cabac = key.entropy_coding_mode_flag;
    size_t first = cabac ? (slice->nal.count + 7) / 8 * 8 : slice->nal.count;
    size_t last = cabac ? size * 8 : without_trailing_bits(nal, size);
    struct bits data = {.bytes = NULL};
    if (last > first)
        bits_append(&data, nal, first, last - first);
    free(nal);
    unsigned place = slices->count < SKIPPED_KEPT ? slices->count++ : slices->next++ % SKIPPED_KEPT;
    bits_release(&slices->kept[place].data);
    slices->kept[place].key = key;
    slices->kept[place].data = data;
}

void skipped_release(struct skipped_slices *slices)
{
    for (unsigned i = 0; i < slices->count; i++)
        bits_release(&slices->kept[i].data);
    slices->count = 0;
}
