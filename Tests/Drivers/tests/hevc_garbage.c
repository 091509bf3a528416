/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Damaged scenes of HEVC; see damage.h. */
#include "hevc_submissions.h"

#include "damage.h"

int main(int count, char **arguments)
{
    static struct scene scene;
    static const char *const orders[] = {"iPBBPBBPiPP", "iPBBcrrP", "iPPPP", "iLLLL"};
    unsigned rounds = count > 1 ? (unsigned)atoi(arguments[1]) : 2000, codable = 0, pictures = 0;
    state = count > 2 ? (uint64_t)atoi(arguments[2]) : 1;
    for (unsigned round = 0; round < rounds; round++) {
        uint32_t order = chance(4);
        struct scene_options options = {
            .profile = chance(2) ? VAProfileHEVCMain : VAProfileHEVCMain10, .order = orders[order],
            .rate_control = chance(2) ? VA_RC_CQP : VA_RC_CBR, .slices = 1 + chance(3), .packed = chance(4) != 0,
            .emulation = chance(2), .aud = chance(2), .low_delay = order == 3,
        };
        plan_scene(&scene, &options);
        submit_damaged(&scene, &pictures, &codable);
    }
    return end_garbage(pictures, codable);
}
