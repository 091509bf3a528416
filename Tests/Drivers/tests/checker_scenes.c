/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Submits right scenes of many kinds to the checker: no finding may come, and the headers that it understood must be
 * those that were planned. */
#include "submissions.h"

static unsigned findings;

static void hear(void *token, struct journal_place place, const char *name, const char *clause, const char *detail)
{
    (void)token;
    findings++;
    fprintf(stderr, "picture %u slice %d: %s (%s): %s\n", place.picture, (int)place.slice, name, clause, detail);
}

static void run(const struct scene_options *options)
{
    static struct scene scene;
    plan_scene(&scene, options);
    struct checker *checker = checker_create(&scene.config, (struct journal_place){1, UINT32_MAX, UINT32_MAX});
    for (uint32_t i = 0; i < scene.count; i++) {
        const struct understood_picture *picture = submit(&scene, checker, i);
        const struct planned_picture *planned = &scene.pictures[i];
        if (!picture->codable || picture->slice_count != planned->slice_count ||
            picture->picture_order_count != planned->picture.CurrPic.TopFieldOrderCnt ||
            picture->idr != (planned->type == 'i') || picture->reference != (planned->type != 'B')) {
            fprintf(stderr, "%s: picture %u is not what was planned\n", options->order, i);
            exit(1);
        }
        bool bare = planned->type != 'i' && !planned->send_aud && !(options->packed && planned->sei.send);
        if ((picture->headers.count == 0) != bare) {
            fprintf(stderr, "%s: picture %u has %zu bits of headers\n", options->order, i, picture->headers.count);
            exit(1);
        }
        for (uint32_t k = 0; k < picture->slice_count; k++) {
            struct bits nal = {0};
            struct h264_slice_header header = planned->headers[k];
            if (!options->packed)
                header.nal_ref_idc = picture->slices[k].header.h264.nal_ref_idc;
            h264_write_slice_header(&nal, &header, &planned->sps, &planned->pps);
            if (nal.count != picture->slices[k].nal.count ||
                memcmp(nal.bytes, picture->slices[k].nal.bytes, (nal.count + 7) / 8)) {
                fprintf(stderr, "%s: slice %u of picture %u has another header\n", options->order, k, i);
                exit(1);
            }
            bits_release(&nal);
        }
    }
    checker_destroy(checker);
}

/* Parameter sets that were lost with a failed picture come again with the next one. */
static void lose_parameter_sets(void)
{
    static struct scene scene;
    struct scene_options options = {VAProfileH264Main, VA_RC_CQP, false, false, false, 1, "iPPPP", true};
    plan_scene(&scene, &options);
    for (uint32_t i = 2; i < 5; i++)
        scene.pictures[i].picture.chroma_qp_index_offset = scene.pictures[i].picture.second_chroma_qp_index_offset = 3;
    struct checker *checker = checker_create(&scene.config, JOURNAL_NOWHERE);
    bool sent[5];
    for (uint32_t i = 0; i < 5; i++) {
        sent[i] = submit(&scene, checker, i)->headers.count != 0;
        if (i == 2)
            checker_picture_failed(checker);
    }
    checker_destroy(checker);
    if (!sent[0] || sent[1] || !sent[2] || !sent[3] || sent[4]) {
        fprintf(stderr, "own parameter sets came with the pictures %d %d %d %d %d\n", sent[0], sent[1], sent[2], sent[3],
                sent[4]);
        exit(1);
    }
}

int main(void)
{
    lose_parameter_sets();
    static const VAProfile profiles[] = {VAProfileH264ConstrainedBaseline, VAProfileH264Main, VAProfileH264High};
    static const char *orders[] = {"iPPPP", "iPBBPBBPiPP", "iiiP", "iPBBiPBB"};
    static const uint32_t controls[] = {VA_RC_CQP, VA_RC_CBR, VA_RC_VBR};
    unsigned scenes = 0;
    journal_listen(hear, NULL);
    for (unsigned n = 0; n < 3 * 4 * 3 * 3 * 8; n++) {
        struct scene_options options = {
            .profile = profiles[n % 3], .order = orders[n / 3 % 4], .rate_control = controls[n / 12 % 3],
            .slices = n / 36 % 3 + 1, .packed = n / 108 & 1, .emulation = n / 216 & 1, .aud = n / 432 & 1,
            .cabac = n % 3 != 0 && n / 36 % 2,
        };
        if (n % 3 == 0 && strchr(options.order, 'B'))
            continue;
        if (!options.packed)
            options.aud = false;
        run(&options);
        scenes++;
    }
    printf("%u scenes, %u findings\n", scenes, findings);
    return findings != 0;
}
