/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pictures of HEVC that are submitted again: right ones give no finding, whatever came between. */
#include "hevc_changes.h"

static const bool idr_pictures_repeat = true;

#include "resubmitted.h"

#define ORDERS 4
static const char *const orders[ORDERS] = {"iPPPPPP", "iPBBPBBPiPP", "iPBBcrrP", "iLLLL"};

static bool run_scenes(void)
{
    bool right = true;
    unsigned scenes = 0;
    for (unsigned n = 0; n < ORDERS * 4; n++) {
        struct scene_options options = {VAProfileHEVCMain, n & 1 ? VA_RC_CBR : VA_RC_CQP, n & 2, n & 2, n & 2, 2,
                                        orders[n / 4], strchr(orders[n / 4], 'L') != NULL};
        uint32_t count = (uint32_t)strlen(options.order);
        for (uint32_t cut = 0; cut < count; cut++)
            for (uint32_t behind = 0; cut + behind < count; behind++, scenes++) {
                right = is_right(&options, cut, behind) && right;
                right = is_wrong_without_reason(&options, cut, behind) && right;
            }
    }
    printf("%u scenes\n", scenes);
    return right;
}

/* Picture 5 is coded into a surface that picture 4 refers to, and then picture 4 comes again. */
static bool finds_overwritten_reference(void)
{
    struct checker *checker = begin(&bases[OWN]);
    scene.pictures[5].picture.decoded_curr_pic.picture_id = scene.pictures[4].picture.reference_frames[0].picture_id;
    submit_from(checker, 0, 6);
    scene.overflowed = 1u << 4;
    submit(&scene, checker, 4);
    checker_destroy(checker);
    bool found = false;
    for (unsigned i = 0; i < heard_count; i++)
        found = found || strcmp(heard[i], "reference-overwritten") == 0;
    return found || fail(&bases[OWN], 4, 1, "an overwritten reference is not found");
}

/* Picture 5 is coded into a surface that its own reference picture set gives up, and comes again. */
static bool allows_surface_that_is_given_up(void)
{
    struct checker *checker = begin(&bases[OWN]);
    scene.pictures[5].picture.decoded_curr_pic.picture_id = scene.pictures[0].picture.decoded_curr_pic.picture_id;
    submit_from(checker, 0, 7);
    scene.overflowed = 1u << 5;
    bool resumes = submit(&scene, checker, 5)->resumes;
    checker_destroy(checker);
    return (resumes && heard_count == 0) || fail(&bases[OWN], 5, 1, "a surface that was given up is missed");
}

int main(void)
{
    journal_listen(hear, NULL);
    return !run_scenes() || !finds_overwritten_reference() || !allows_surface_that_is_given_up();
}
