/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "amdgpu.h"

#include <errno.h>

int amdgpu_request(struct drm_file *file, unsigned command, void *argument)
{
    (void)file, (void)command, (void)argument;
    return ENOTTY;
}

void amdgpu_file_free(struct amdgpu_file *amdgpu)
{
    (void)amdgpu;
}
