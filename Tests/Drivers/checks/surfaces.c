/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Input, reconstruction, coded buffer and context against the size of the coded picture. */
#include "checker.h"

#include <va/va_drmcommon.h>

/* H.264 A.3.1: macroblock_layer() of a macroblock has at most 3200 bits; an I_PCM macroblock of 384 bytes fits. A
 * coded buffer that holds less than that for every macroblock can overflow with a legal picture. */
#define BYTES_PER_MACROBLOCK 400u

static uint64_t macroblocks(const struct checker *checker)
{
    const struct submission *submission = checker->submission;
    if (!checker->have_sets)
        return (uint64_t)((submission->context_width + 15) / 16) * ((submission->context_height + 15) / 16);
    const struct h264_sps *sps = &checker->picture.sps;
    return (uint64_t)(sps->pic_width_in_mbs_minus1 + 1) * (sps->pic_height_in_map_units_minus1 + 1) *
           (2 - sps->frame_mbs_only_flag);
}

static void check_coded_buffer(struct checker *checker)
{
    const struct submission *submission = checker->submission;
    uint32_t id = checker->picture.picture.coded_buf;
    uint32_t size = submission->coded_buffer_size(submission->token, id);
    const char *clause = "va_enc_h264.h VAEncPictureParameterBufferH264.coded_buf";
    if (size == 0)
        finding(checker, "coded-buffer-invalid", clause, "0x%x is no coded buffer", id);
    else if (size < macroblocks(checker) * BYTES_PER_MACROBLOCK)
        finding(checker, "coded-buffer-small", "H.264 A.3.1", "%u bytes, %llu macroblocks may take %llu", size,
                (unsigned long long)macroblocks(checker),
                (unsigned long long)macroblocks(checker) * BYTES_PER_MACROBLOCK);
}

static void check_reconstruction(struct checker *checker)
{
    const struct submission *submission = checker->submission;
    uint32_t id = checker->picture.picture.CurrPic.picture_id;
    struct submitted_surface surface = submission->surface(submission->token, id);
    const char *clause = "va_enc_h264.h VAEncPictureParameterBufferH264.CurrPic";
    if (!surface.valid) {
        finding(checker, "reconstruction-invalid", clause, "0x%x is no surface", id);
        return;
    }
    if (id == submission->input.id)
        finding(checker, "reconstruction-is-input", clause, "0x%x is the picture's input, too", id);
    if (!surface.in_context)
        finding(checker, "reconstruction-outside-context", "va.h vaCreateContext render_targets",
                "surface 0x%x is not among the context's", id);
    if (surface.rt_format != VA_RT_FORMAT_YUV420)
        finding(checker, "reconstruction-format", clause, "render target format 0x%x, expected 0x%x",
                surface.rt_format, VA_RT_FORMAT_YUV420);
    if (surface.width < submission->context_width || surface.height < submission->context_height)
        finding(checker, "reconstruction-smaller-than-context", clause, "%u x %u, the context is %u x %u",
                surface.width, surface.height, submission->context_width, submission->context_height);
}

static void check_input(struct checker *checker)
{
    const struct submission *submission = checker->submission;
    const struct submitted_surface *input = &submission->input;
    if (!input->valid) {
        finding(checker, "input-invalid", "va.h vaBeginPicture", "0x%x is no surface", input->id);
        return;
    }
    if (!input->in_context)
        finding(checker, "input-outside-context", "va.h vaCreateContext render_targets",
                "surface 0x%x is not among the context's", input->id);
    if (input->rt_format != VA_RT_FORMAT_YUV420)
        finding(checker, "input-format", "va.h VAConfigAttribRTFormat", "render target format 0x%x, expected 0x%x",
                input->rt_format, VA_RT_FORMAT_YUV420);
    if (input->width < submission->context_width || input->height < submission->context_height)
        finding(checker, "input-smaller-than-context", "va.h vaBeginPicture", "%u x %u, the context is %u x %u",
                input->width, input->height, submission->context_width, submission->context_height);
    for (uint32_t i = 0; i < checker->dpb.count; i++)
        if (checker->dpb.pictures[i].surface == input->id)
            finding(checker, "input-is-reference", "va.h vaBeginPicture",
                    "surface 0x%x still holds a reference picture", input->id);
}

static void check_context(struct checker *checker)
{
    const struct submission *submission = checker->submission;
    const struct persona_limits *limits = &checker->config.limits;
    if (submission->context_width < limits->minimum_width || submission->context_width > limits->maximum_width ||
        submission->context_height < limits->minimum_height || submission->context_height > limits->maximum_height)
        finding(checker, "context-size-beyond-limit", "va.h VAConfigAttribMaxPictureWidth",
                "%u x %u, allowed are %u x %u to %u x %u", submission->context_width, submission->context_height,
                limits->minimum_width, limits->minimum_height, limits->maximum_width, limits->maximum_height);
}

void check_surfaces(struct checker *checker)
{
    check_context(checker);
    check_input(checker);
    if (!checker->collected.picture)
        return;
    check_coded_buffer(checker);
    check_reconstruction(checker);
}

/* One direction of the cropping window, in samples. */
static void check_window(struct checker *checker, const char *direction, uint32_t coded, uint64_t cropped,
                         uint32_t context)
{
    if (cropped >= 16)
        finding(checker, "cropping-beyond-macroblock", "H.264 7.4.2.1.1 frame_cropping_flag",
                "%s: %llu of %u samples are cut off, a macroblock or more", direction, (unsigned long long)cropped,
                coded);
    /* A context of whole macroblocks does not tell what is shown. */
    if (context % 16 && coded - cropped != context && coded - cropped != context + context % 2)
        finding(checker, "cropping-differs-from-context", "va.h vaCreateContext picture_width",
                "%s: %llu samples are shown, the context has %u", direction, (unsigned long long)(coded - cropped),
                context);
}

void check_cropping(struct checker *checker)
{
    const struct h264_sps *sps = &checker->picture.sps;
    const struct submission *submission = checker->submission;
    if (!checker->sps_sent_now[sps->seq_parameter_set_id & 31] || sps->chroma_format_idc != 1)
        return;
    uint32_t fields = 2 - sps->frame_mbs_only_flag;
    uint64_t columns = 2ull * ((uint64_t)sps->frame_crop_left_offset + sps->frame_crop_right_offset);
    uint64_t rows = 2ull * fields * ((uint64_t)sps->frame_crop_top_offset + sps->frame_crop_bottom_offset);
    check_window(checker, "width", (sps->pic_width_in_mbs_minus1 + 1) * 16, columns, submission->context_width);
    check_window(checker, "height", (sps->pic_height_in_map_units_minus1 + 1) * 16 * fields, rows,
                 submission->context_height);
    if (sps->frame_cropping_flag && columns == 0 && rows == 0)
        finding(checker, "cropping-empty", "H.264 7.4.2.1.1 frame_cropping_flag", "is 1, but nothing is cut off");
}
