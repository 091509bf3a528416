/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Input, reconstruction, coded buffer and context against the size of the coded picture. */
#include "checker.h"

#include <va/va_drmcommon.h>

/* Of 16x16 luma samples. */
static uint64_t macroblocks(const struct checker *checker)
{
    const struct submission *submission = checker->submission;
    uint32_t width = checker->have_sets ? checker->picture.width : submission->context_width;
    uint32_t height = checker->have_sets ? checker->picture.height : submission->context_height;
    return (uint64_t)((width + 15) / 16) * ((height + 15) / 16);
}

static void check_coded_buffer(struct checker *checker)
{
    const struct submission *submission = checker->submission;
    uint32_t id = checker->picture.coded_buffer;
    uint32_t size = submission->coded_buffer_size(submission->token, id);
    uint64_t most = macroblocks(checker) * checker->codec->bytes_per_macroblock;
    if (size == 0)
        finding(checker, "coded-buffer-invalid", checker->codec->coded_buffer, "0x%x is no coded buffer", id);
    else if (size < most)
        finding(checker, "coded-buffer-small", checker->codec->largest_picture,
                "%u bytes, %llu macroblocks may take %llu", size, (unsigned long long)macroblocks(checker),
                (unsigned long long)most);
}

static uint32_t expected_format(const struct checker *checker)
{
    static const uint32_t formats[3][3] = {
        {VA_RT_FORMAT_YUV420, VA_RT_FORMAT_YUV420_10, VA_RT_FORMAT_YUV420_12},
        {VA_RT_FORMAT_YUV422, VA_RT_FORMAT_YUV422_10, VA_RT_FORMAT_YUV422_12},
        {VA_RT_FORMAT_YUV444, VA_RT_FORMAT_YUV444_10, VA_RT_FORMAT_YUV444_12},
    };
    uint32_t chroma = checker->picture.chroma_format, depth = checker->picture.bit_depth;
    bool known = chroma >= 1 && chroma <= 3 && depth >= 8 && depth <= 12;
    return known ? formats[chroma - 1][(depth - 8) / 2] : VA_RT_FORMAT_YUV420;
}

static void check_reconstruction(struct checker *checker)
{
    const struct submission *submission = checker->submission;
    uint32_t id = checker->picture.reconstruction;
    struct submitted_surface surface = submission->surface(submission->token, id);
    const char *clause = checker->codec->current_picture;
    if (!surface.valid) {
        finding(checker, "reconstruction-invalid", clause, "0x%x is no surface", id);
        return;
    }
    if (id == submission->input.id)
        finding(checker, "reconstruction-is-input", clause, "0x%x is the picture's input, too", id);
    if (!surface.in_context)
        finding(checker, "reconstruction-outside-context", "va.h vaCreateContext render_targets",
                "surface 0x%x is not among the context's", id);
    if (surface.rt_format != expected_format(checker))
        finding(checker, "reconstruction-format", clause, "render target format 0x%x, expected 0x%x",
                surface.rt_format, expected_format(checker));
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
    if (input->rt_format != expected_format(checker))
        finding(checker, "input-format", "va.h VAConfigAttribRTFormat", "render target format 0x%x, expected 0x%x",
                input->rt_format, expected_format(checker));
    if (input->width < submission->context_width || input->height < submission->context_height)
        finding(checker, "input-smaller-than-context", "va.h vaBeginPicture", "%u x %u, the context is %u x %u",
                input->width, input->height, submission->context_width, submission->context_height);
    VASurfaceID surface;
    for (uint32_t i = 0; checker->codec->reference(checker, i, &surface); i++)
        if (surface == input->id)
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

void check_window(struct checker *checker, const char *direction, uint32_t coded, uint64_t cropped, uint32_t context,
                  uint32_t block, uint32_t most)
{
    if (cropped >= most)
        finding(checker, "cropping-beyond-macroblock", checker->codec->cropping,
                "%s: %llu of %u samples are cut off, a block or more", direction, (unsigned long long)cropped,
                coded);
    /* A context of whole blocks does not tell what is shown. */
    if (context % block && coded - cropped != context && coded - cropped != context + context % 2)
        finding(checker, "cropping-differs-from-context", "va.h vaCreateContext picture_width",
                "%s: %llu samples are shown, the context has %u", direction, (unsigned long long)(coded - cropped),
                context);
}
