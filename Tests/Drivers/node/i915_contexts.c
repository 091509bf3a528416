/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Contexts of the i915 kernel driver: they name the engines that submissions go to. */
#include "i915.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CONTEXTS = 16, MAXIMUM_CONTEXTS = 4096 };

struct i915_context *i915_context_of(struct drm_file *file, uint32_t id)
{
    struct i915_file *i915 = file->i915;

    return id < i915->context_capacity && i915->contexts[id].exists ? &i915->contexts[id] : NULL;
}

/* A free id; UINT32_MAX without memory. */
static uint32_t free_id(struct i915_file *i915)
{
    for (uint32_t id = 1; id < i915->context_capacity; id++)
        if (!i915->contexts[id].exists)
            return id;
    uint32_t first = i915->context_capacity, grown = first == 0 ? FIRST_CONTEXTS : 2 * first;
    struct i915_context *larger =
        grown <= MAXIMUM_CONTEXTS ? realloc(i915->contexts, grown * sizeof *larger) : NULL;
    if (larger == NULL)
        return UINT32_MAX;
    memset(larger + first, 0, (grown - first) * sizeof *larger);
    larger[0].exists = true;
    i915->contexts = larger;
    i915->context_capacity = grown;
    return first == 0 ? 1 : first;
}

static int set_engines(struct drm_file *file, struct i915_context *context,
                       const struct drm_i915_gem_context_param *parameter)
{
    const struct i915_context_param_engines *map = (const void *)(uintptr_t)parameter->value;

    if (parameter->size == 0) {
        context->engine_count = 0;
        return 0;
    }
    size_t count = (parameter->size - sizeof *map) / sizeof map->engines[0];
    if (parameter->size < sizeof *map || count > I915_MAXIMUM_ENGINES)
        return EINVAL;
    for (size_t index = 0; index < count; index++) {
        const struct i915_engine_class_instance *engine = &map->engines[index];
        bool is_video = engine->engine_class == I915_ENGINE_CLASS_VIDEO;

        if (is_video && engine->engine_instance < 8 &&
            !(file->node->chip->intel.video_engines & 1u << engine->engine_instance))
            return ENOENT;
        context->engines[index] = *engine;
    }
    context->engine_count = (uint32_t)count;
    return 0;
}

static int set_parameter(struct drm_file *file, struct i915_context *context,
                         const struct drm_i915_gem_context_param *parameter)
{
    switch (parameter->param) {
    case I915_CONTEXT_PARAM_ENGINES:
        return set_engines(file, context, parameter);
    case I915_CONTEXT_PARAM_VM:
    case I915_CONTEXT_PARAM_SSEU:
    case I915_CONTEXT_PARAM_PRIORITY:
    case I915_CONTEXT_PARAM_BANNABLE:
    case I915_CONTEXT_PARAM_RECOVERABLE:
    case I915_CONTEXT_PARAM_PERSISTENCE:
    case I915_CONTEXT_PARAM_NO_ERROR_CAPTURE:
        return 0;
    case I915_CONTEXT_PARAM_PROTECTED_CONTENT:
        return ENODEV;
    default:
        return EINVAL;
    }
}

int i915_context_create(struct drm_file *file, struct drm_i915_gem_context_create_ext *create)
{
    const struct i915_user_extension *extension = NULL;
    uint32_t id = free_id(file->i915);

    if (id == UINT32_MAX)
        return ENOMEM;
    file->i915->contexts[id] = (struct i915_context){.exists = true};
    if (create->flags & I915_CONTEXT_CREATE_FLAGS_USE_EXTENSIONS)
        extension = (const void *)(uintptr_t)create->extensions;
    for (; extension != NULL; extension = (const void *)(uintptr_t)extension->next_extension) {
        const struct drm_i915_gem_context_create_ext_setparam *set = (const void *)extension;
        int error = extension->name == I915_CONTEXT_CREATE_EXT_SETPARAM
                        ? set_parameter(file, &file->i915->contexts[id], &set->param)
                        : EINVAL;

        if (error != 0) {
            file->i915->contexts[id].exists = false;
            return error;
        }
    }
    create->ctx_id = id;
    return 0;
}

int i915_context_destroy(struct drm_file *file, const struct drm_i915_gem_context_destroy *destroy)
{
    struct i915_context *context = destroy->ctx_id != 0 ? i915_context_of(file, destroy->ctx_id) : NULL;

    if (context == NULL)
        return ENOENT;
    context->exists = false;
    return 0;
}

static int get_sseu(struct drm_file *file, struct drm_i915_gem_context_param *parameter)
{
    const struct intel_traits *intel = &file->node->chip->intel;
    struct drm_i915_gem_context_param_sseu *sseu = (void *)(uintptr_t)parameter->value;

    if (parameter->size != 0) {
        if (parameter->size < sizeof *sseu)
            return EINVAL;
        sseu->slice_mask = (1u << intel->slices) - 1;
        sseu->subslice_mask = (1u << intel->subslices / intel->slices) - 1;
        sseu->min_eus_per_subslice = sseu->max_eus_per_subslice = (uint16_t)intel->units_per_subslice;
    }
    parameter->size = sizeof *sseu;
    return 0;
}

int i915_context_get_parameter(struct drm_file *file, struct drm_i915_gem_context_param *parameter)
{
    if (parameter->ctx_id != 0 && i915_context_of(file, parameter->ctx_id) == NULL)
        return ENOENT;
    switch (parameter->param) {
    case I915_CONTEXT_PARAM_GTT_SIZE:
        parameter->value = 1ull << 48;
        break;
    case I915_CONTEXT_PARAM_VM:
        parameter->value = ++file->i915->last_address_space;
        break;
    case I915_CONTEXT_PARAM_SSEU:
        return get_sseu(file, parameter);
    case I915_CONTEXT_PARAM_BANNABLE:
    case I915_CONTEXT_PARAM_RECOVERABLE:
    case I915_CONTEXT_PARAM_PERSISTENCE:
        parameter->value = 1;
        break;
    case I915_CONTEXT_PARAM_PRIORITY:
    case I915_CONTEXT_PARAM_NO_ERROR_CAPTURE:
        parameter->value = 0;
        break;
    default:
        return EINVAL;
    }
    parameter->size = 0;
    return 0;
}

int i915_context_set_parameter(struct drm_file *file, const struct drm_i915_gem_context_param *parameter)
{
    struct i915_context standard = {.exists = true};
    struct i915_context *context = parameter->ctx_id == 0 ? &standard : i915_context_of(file, parameter->ctx_id);

    return context == NULL ? ENOENT : set_parameter(file, context, parameter);
}
