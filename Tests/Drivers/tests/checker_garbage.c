/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Damaged scenes of H.264; see damage.h. */
#include "submissions.h"

#include "damage.h"

int main(int count, char **arguments)
{
    static struct scene scene;
    static const VAProfile profiles[] = {VAProfileH264ConstrainedBaseline, VAProfileH264Main, VAProfileH264High};
    unsigned rounds = count > 1 ? (unsigned)atoi(arguments[1]) : 2000, codable = 0, pictures = 0;
    state = count > 2 ? (uint64_t)atoi(arguments[2]) : 1;
    for (unsigned round = 0; round < rounds; round++) {
        uint32_t profile = chance(3);
        struct scene_options options = {
            .profile = profiles[profile], .order = profile ? "iPBBPBBPiPP" : "iPPPP",
            .rate_control = chance(2) ? VA_RC_CQP : VA_RC_CBR, .slices = 1 + chance(3), .packed = chance(4) != 0,
            .emulation = chance(2), .aud = chance(2), .cabac = profile && chance(2),
        };
        plan_scene(&scene, &options);
        submit_damaged(&scene, &pictures, &codable);
    }
    return end_garbage(pictures, codable);
}
