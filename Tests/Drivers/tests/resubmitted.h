/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Scenes in which a picture comes out cut short and is submitted again, with those that were submitted behind it.
 * Included behind a codec's scenes (h264_changes.h, hevc_changes.h) and idr_pictures_repeat: whether an IDR picture may
 * follow an equal one. */
#ifndef DRIVERS_TESTS_RESUBMITTED_H
#define DRIVERS_TESTS_RESUBMITTED_H

static struct scene scene;

static struct checker *begin(const struct scene_options *options)
{
    plan_scene(&scene, options);
    heard_count = 0;
    return checker_create(&scene.config, (struct journal_place){1, UINT32_MAX, UINT32_MAX});
}

static bool fail(const struct scene_options *options, uint32_t cut, uint32_t behind, const char *what)
{
    printf("%s, picture %u cut short, %u behind it, packed %d: %s\n", options->order, cut, behind, options->packed,
           what);
    for (unsigned i = 0; i < heard_count; i++)
        printf("    came: %s: %s\n", heard[i], details[i]);
    return false;
}

static const struct understood_picture *submit_from(struct checker *checker, uint32_t first, uint32_t end)
{
    const struct understood_picture *picture = NULL;
    for (uint32_t i = first; i < end; i++)
        picture = submit(&scene, checker, i);
    return picture;
}

/* Everything is as it was. The second attempt is cut short as well. */
static bool is_right(const struct scene_options *options, uint32_t cut, uint32_t behind)
{
    struct checker *checker = begin(options);
    submit_from(checker, 0, cut + 1 + behind);
    for (unsigned attempt = 0; attempt < 2; attempt++) {
        scene.overflowed = 1u << cut;
        const struct understood_picture *picture = submit(&scene, checker, cut);
        if (!picture->resumes || picture->resumed_picture != cut)
            return fail(options, cut, behind, "was not recognised");
        scene.overflowed = 0;
        if (attempt == 0)
            submit_from(checker, cut + 1, cut + 1 + behind);
    }
    for (uint32_t i = cut + 1; i < scene.count; i++)
        if (submit(&scene, checker, i)->resumes)
            return fail(options, cut, behind, "another picture was taken for one that comes again");
    checker_destroy(checker);
    return heard_count == 0 || fail(options, cut, behind, "has findings");
}

/* A driver says nothing of the sort: the same submissions are mistakes. Only an IDR picture may come at any time. */
static bool is_wrong_without_reason(const struct scene_options *options, uint32_t cut, uint32_t behind)
{
    if (options->order[cut] == 'i' && (behind > 0 || idr_pictures_repeat))
        return true;
    struct checker *checker = begin(options);
    submit_from(checker, 0, cut + 1 + behind);
    bool resumes = submit(&scene, checker, cut)->resumes;
    checker_destroy(checker);
    return (!resumes && heard_count > 0) || fail(options, cut, behind, "passes though nothing was cut short");
}

#endif
