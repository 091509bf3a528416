/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waves of intra refresh over scenes of 4 by 3 macroblocks: whole ones give no finding, wherever they begin, and those
 * that leave something out or go on in a picture that predicts from further back give theirs. */
#include "h264_changes.h"

static const struct wave_scene {
    const char *order; /* of pictures: an IDR picture, P, or R, which is P but predicts from the last two */
    const char *parts; /* by picture: column 0 to 3, row A to C, or - for none */
    const char *expected;
} scenes[] = {
    {"iPPPPPPP", "-0123012", ""},
    {"iPPPPPPP", "-1230123", ""},
    {"iPPPPPPP", "-3210321", ""},
    {"iPPPPPPP", "-0-1-23-", ""},
    {"iPPPPPPP", "-ABCABCA", ""},
    {"iPPPPPPP", "-0123ABC", ""},
    {"iPPPPPPP", "-0102012", "intra-refresh-gap"},
    {"iPPPPPPP", "-0130123", "intra-refresh-gap"},
    {"iPPPPPPP", "-ABA----", "intra-refresh-gap"},
    {"iPPPPPPP", "-012A---", "intra-refresh-gap"},
    {"iPPPPPPP", "-013----", ""},
    {"iPPPiPPP", "-013-012", ""},
    {"iPPRPPPP", "-0123012", "intra-refresh-reference"},
    {"iPPPPRPP", "-0123012", ""},
    {"iPPRPPPP", "-01-2301", ""},
    {"iPPRPPPP", "-0101230", ""},
};

static struct scene scene;

/* The picture predicts from the last reference picture alone. */
static void refer_to_latest(struct planned_picture *picture)
{
    for (uint32_t k = 0; k < picture->slice_count; k++) {
        picture->headers[k].num_ref_idx_active_override_flag = 1;
        picture->headers[k].num_ref_idx_active_minus1[0] = 0;
        picture->slices[k].num_ref_idx_active_override_flag = 1;
        picture->slices[k].num_ref_idx_l0_active_minus1 = 0;
        picture->slices[k].RefPicList0[1] = invalid_picture();
    }
}

static void renew(struct planned_picture *picture, char part)
{
    bool row = part >= 'A';
    VAEncMiscParameterRIR refresh = {
        .intra_insertion_location = (uint16_t)(row ? part - 'A' : part - '0'), .intra_insert_size = 1};
    refresh.rir_flags.bits.enable_rir_column = !row;
    refresh.rir_flags.bits.enable_rir_row = row;
    plan_misc(&picture->miscs, VAEncMiscParameterTypeRIR, &refresh, sizeof refresh);
}

static bool run(const struct wave_scene *wave, bool packed)
{
    char order[SCENE_PICTURES] = "";
    for (unsigned i = 0; wave->order[i]; i++)
        order[i] = wave->order[i] == 'R' ? 'P' : wave->order[i];
    struct scene_options options = {VAProfileH264Main, VA_RC_CQP, packed, true, false, 1, order, true};
    plan_scene(&scene, &options);
    scene.config.limits.intra_refresh = VA_ENC_INTRA_REFRESH_ROLLING_COLUMN | VA_ENC_INTRA_REFRESH_ROLLING_ROW;
    for (uint32_t i = 0; i < scene.count; i++) {
        if (wave->order[i] == 'P')
            refer_to_latest(&scene.pictures[i]);
        if (wave->parts[i] != '-')
            renew(&scene.pictures[i], wave->parts[i]);
    }
    heard_count = 0;
    struct checker *checker = checker_create(&scene.config, (struct journal_place){1, UINT32_MAX, UINT32_MAX});
    for (uint32_t i = 0; i < scene.count; i++)
        submit(&scene, checker, i);
    checker_destroy(checker);
    bool right = heard_count == count_words(wave->expected) && (!heard_count || expects(wave->expected, heard[0]));
    if (!right)
        printf("%s %s: expected: %s\n", wave->order, wave->parts, wave->expected);
    for (unsigned i = 0; !right && i < heard_count; i++)
        printf("    came: %s: %s\n", heard[i], details[i]);
    return right;
}

int main(void)
{
    bool right = true;
    journal_listen(hear, NULL);
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++)
        right = run(&scenes[i], i % 2) && right;
    return !right;
}
