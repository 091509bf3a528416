/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "wishes.h"

#include "application.h"

#include <stdlib.h>
#include <string.h>

#define CLAUSE_REGION "va.h VAEncROI"

/* As many as VAConfigAttribValEncROI can say. */
#define MOST_REGIONS 255

/* The first misc parameter of the type, copied into `structure`; false: there is none, or it is too short. */
static bool find_misc(const struct submitted_buffer *buffers, uint32_t count, VAEncMiscParameterType type,
                      void *structure, size_t size)
{
    const size_t start = offsetof(VAEncMiscParameterBuffer, data);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t given;
        if (buffers[i].type != VAEncMiscParameterBufferType || (uint64_t)buffers[i].size * buffers[i].count < start)
            continue;
        memcpy(&given, buffers[i].data, sizeof(given));
        if (given != (uint32_t)type || (uint64_t)buffers[i].size * buffers[i].count < start + size)
            continue;
        memcpy(structure, (const uint8_t *)buffers[i].data + start, size);
        return true;
    }
    return false;
}

static bool make_room(struct job *job)
{
    if (!job->wishes)
        job->wishes = calloc((size_t)job->width_in_mbs * job->height_in_mbs, sizeof(job->wishes[0]));
    return job->wishes != NULL;
}

static void judge(const struct job *job, bool right, const char *name, const char *detail, uint32_t region)
{
    if (!right && journal_judging())
        journal_finding(job->place, name, CLAUSE_REGION, "region %u: %s", region, detail);
}

static bool has_constant_qp(const struct job *job)
{
    return (job->rate.rate_control & (VA_RC_CQP | VA_RC_NONE)) != 0;
}

/* Whether the region's value is a difference of QPs; else it is a priority. */
static bool holds_qp(const struct job *job, const VAEncMiscParameterBufferROI *given)
{
    return has_constant_qp(job) || given->roi_flags.bits.roi_value_is_qp_delta;
}

static void judge_region(const struct job *job, const VAEncMiscParameterBufferROI *given, const VAEncROI *region,
                         uint32_t number)
{
    const VARectangle *rectangle = &region->roi_rectangle;
    uint32_t columns = job->width_in_mbs * 16, rows = job->height_in_mbs * 16;
    judge(job, rectangle->width > 0 && rectangle->height > 0, "roi-rectangle-empty", "the rectangle is empty", number);
    judge(job, rectangle->x >= 0 && rectangle->y >= 0 && (uint32_t)rectangle->x + rectangle->width <= columns &&
          (uint32_t)rectangle->y + rectangle->height <= rows, "roi-rectangle-outside",
          "the rectangle is not within the picture", number);
    if (!holds_qp(job, given))
        judge(job, region->roi_value >= -3 && region->roi_value <= 3, "roi-priority", "not within -3 to 3", number);
    else if (!has_constant_qp(job))
        judge(job, region->roi_value >= given->min_delta_qp && region->roi_value <= given->max_delta_qp,
              "roi-delta-outside", "roi_value is not within min_delta_qp to max_delta_qp", number);
    else
        judge(job, region->roi_value >= -51 && region->roi_value <= 51, "roi-delta-outside",
              "roi_value is not within -51 to 51", number);
}

static uint32_t least(int64_t value, uint32_t limit)
{
    return value < 0 ? 0 : value < limit ? (uint32_t)value : limit;
}

/* Every macroblock that the rectangle touches. */
static void wish_region(struct job *job, const VAEncROI *region)
{
    const VARectangle *rectangle = &region->roi_rectangle;
    if (!rectangle->width || !rectangle->height)
        return;
    uint32_t left = least(rectangle->x / 16, job->width_in_mbs), top = least(rectangle->y / 16, job->height_in_mbs);
    uint32_t right = least(((int64_t)rectangle->x + rectangle->width + 15) / 16, job->width_in_mbs);
    uint32_t bottom = least(((int64_t)rectangle->y + rectangle->height + 15) / 16, job->height_in_mbs);
    for (uint32_t row = top; row < bottom; row++)
        for (uint32_t column = left; column < right; column++)
            job->wishes[row * job->width_in_mbs + column].qp_offset = region->roi_value;
}

static bool gather_regions(struct job *job, const VAEncMiscParameterBufferROI *given)
{
    VAEncROI regions[MOST_REGIONS];
    uint32_t count = given->num_roi < MOST_REGIONS ? given->num_roi : MOST_REGIONS;
    if (count == 0 || !given->roi)
        return true;
    if (!application_read(given->roi, regions, count * sizeof(regions[0]))) {
        if (journal_judging())
            journal_finding(job->place, "roi-pointer-invalid", "va.h VAEncMiscParameterBufferROI.roi",
                            "there are no %u regions at %p", count, (void *)given->roi);
        return true;
    }
    for (uint32_t i = 0; i < count; i++)
        judge_region(job, given, &regions[i], i);
    if (!holds_qp(job, given))
        return true;
    if (!make_room(job))
        return false;
    /* The first one of those that overlap counts. */
    for (uint32_t i = count; i-- > 0;)
        wish_region(job, &regions[i]);
    return true;
}

/* Columns or rows that are coded anew; their QP differs from what it would be otherwise. */
static bool gather_refresh(struct job *job, const VAEncMiscParameterRIR *given)
{
    bool columns = given->rir_flags.bits.enable_rir_column, rows = given->rir_flags.bits.enable_rir_row;
    if (columns == rows || given->intra_insert_size == 0 || job_type(job) == CODED_I)
        return true;
    if (!make_room(job))
        return false;
    uint32_t first = given->intra_insertion_location, end = first + given->intra_insert_size;
    for (uint32_t row = 0; row < job->height_in_mbs; row++)
        for (uint32_t column = 0; column < job->width_in_mbs; column++) {
            uint32_t place = columns ? column : row;
            struct wish *wish = &job->wishes[row * job->width_in_mbs + column];
            if (place < first || place >= end)
                continue;
            int offset = wish->qp_offset + (int8_t)given->qp_delta_for_inserted_intra;
            wish->qp_offset = (int8_t)(offset < -51 ? -51 : offset > 51 ? 51 : offset);
            wish->intra = true;
        }
    return true;
}

bool wishes_gather(struct job *job, const struct submitted_buffer *buffers, uint32_t count)
{
    VAEncMiscParameterBufferROI regions;
    VAEncMiscParameterRIR refresh;
    if (find_misc(buffers, count, VAEncMiscParameterTypeROI, &regions, sizeof(regions)) &&
        !gather_regions(job, &regions))
        return false;
    return !find_misc(buffers, count, VAEncMiscParameterTypeRIR, &refresh, sizeof(refresh)) ||
           gather_refresh(job, &refresh);
}
