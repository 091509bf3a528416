/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Scenes in which a picture comes out cut short and is submitted again, with those that were submitted behind it: right
 * ones give no finding, whatever came between, and each thing that is done wrong on the way gives its own. */
#include "h264_changes.h"

static const bool idr_pictures_repeat = false;

#include "resubmitted.h"

#define ORDERS 4
static const char *orders[ORDERS] = {"iPPPPPP", "iPBBPBBPiPP", "iiiP", "iPBBiPBB"};

static bool run_scenes(void)
{
    bool right = true;
    unsigned scenes = 0;
    for (unsigned n = 0; n < ORDERS * 4; n++) {
        struct scene_options options = {VAProfileH264Main, n & 1 ? VA_RC_CBR : VA_RC_CQP, n & 2, n & 2, n & 2, 2,
                                        orders[n / 4], true};
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

/* What may be done wrong when picture 4 of the scene is cut short with two behind it. */
struct mistake {
    const char *what, *expected;
    void (*before)(void); /* before anything is submitted */
    void (*after)(void);  /* before picture 4 comes again */
    uint32_t next;        /* the picture that comes after it */
};

static void other_frame_num(void)
{
    for (unsigned k = 0; k < scene.pictures[4].slice_count; k++)
        scene.pictures[4].headers[k].frame_num++;
    scene.pictures[4].picture.frame_num++;
    scene.pictures[4].picture.CurrPic.frame_idx++;
}

static void other_input(void)
{
    scene.pictures[4].input++;
}

static void overwritten_reference(void)
{
    VASurfaceID kept = scene.pictures[4].picture.ReferenceFrames[0].picture_id;
    scene.pictures[6].picture.CurrPic.picture_id = kept;
}

static const struct mistake mistakes[] = {
    {"nothing", "", NULL, NULL, 5},
    {"another frame_num", "frame-num", NULL, other_frame_num, 7},
    {"another input",
     "frame-num poc-repeated poc-reorder-depth reference-frames-not-in-dpb reference-frames-incomplete "
     "reference-list-0-surface", NULL, other_input, 7},
    {"a reference overwritten by a discarded picture", "reference-overwritten", overwritten_reference, NULL, 7},
    {"a picture left out", "frame-num reference-frames-not-in-dpb reference-frames-incomplete reference-list-0-surface",
     NULL, NULL, 6},
};

static bool run_mistake(const struct mistake *mistake)
{
    struct scene_options options = {VAProfileH264Main, VA_RC_CQP, true, false, false, 1, "iPPPPPPP", true};
    struct checker *checker = begin(&options);
    if (mistake->before)
        mistake->before();
    submit_from(checker, 0, 7);
    if (mistake->before)
        heard_count = 0;
    scene.overflowed = 1u << 4;
    if (mistake->after)
        mistake->after();
    submit(&scene, checker, 4);
    scene.overflowed = 0;
    if (mistake->next < 7)
        submit(&scene, checker, mistake->next);
    checker_destroy(checker);
    bool right = heard_count == count_words(mistake->expected);
    for (unsigned i = 0; i < heard_count; i++)
        right = right && expects(mistake->expected, heard[i]);
    return right || fail(&options, 4, 2, mistake->what);
}

/* Own parameter sets that came with a discarded picture come again, and so do those that others had replaced. */
static bool sets_come_again(void)
{
    struct scene_options options = {VAProfileH264Main, VA_RC_CQP, false, false, false, 1, "iPPiPP", true};
    struct checker *checker = begin(&options);
    for (uint32_t i = 3; i < 6; i++) {
        scene.pictures[i].picture.chroma_qp_index_offset = scene.pictures[i].picture.second_chroma_qp_index_offset = 3;
        scene.pictures[i].sequence.level_idc = 31;
    }
    submit_from(checker, 0, 5);
    scene.overflowed = 1u << 2;
    const struct understood_picture *again = submit(&scene, checker, 2);
    bool right = again->resumes && again->sps.h264.level_idc == 30 && again->pps.h264.chroma_qp_index_offset == -2 &&
                 again->headers.count > 0;
    scene.overflowed = 0;
    const struct understood_picture *idr = submit(&scene, checker, 3);
    right = right && idr->sps.h264.level_idc == 31 && idr->pps.h264.chroma_qp_index_offset == 3 && idr->headers.count > 0;
    submit_from(checker, 4, 6);
    checker_destroy(checker);
    return (right && heard_count == 0) || fail(&options, 2, 2, "parameter sets are not as they were");
}

/* More pictures behind it than are kept: then nobody can go back. */
static bool is_forgotten(void)
{
    struct scene_options options = {VAProfileH264Main, VA_RC_CQP, true, false, false, 1, "iPPP", true};
    struct checker *checker = begin(&options);
    bool right = true;
    for (unsigned behind = 15; behind <= 16; behind++) {
        submit_from(checker, 0, 1);
        for (unsigned i = 0; i < behind; i++)
            submit(&scene, checker, 1 + i % 3); /* no stream, but pictures that count */
        scene.overflowed = 1;
        right = submit(&scene, checker, 0)->resumes == (behind == 15) && right;
        scene.overflowed = 0;
    }
    checker_destroy(checker);
    return right || fail(&options, 0, 16, "is remembered too long or not long enough");
}

int main(void)
{
    journal_listen(hear, NULL);
    bool right = run_scenes();
    for (unsigned i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++)
        right = run_mistake(&mistakes[i]) && right;
    right = sets_come_again() && right;
    right = is_forgotten() && right;
    return !right;
}
