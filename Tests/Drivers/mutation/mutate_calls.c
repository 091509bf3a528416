/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mutations_state.h"

#include <va/va.h>

#include <string.h>

/* What the fixed arguments of a call are named; a '#' stands for ids, which get ids that are wrong. */
static const char *const arguments[TRACE_FUNCTION_COUNT][5] = {
    [TRACE_CREATE_CONFIG] = {"profile", "entrypoint"},
    [TRACE_DESTROY_CONFIG] = {"#config"},
    [TRACE_CREATE_SURFACES2] = {"format", "width", "height"},
    [TRACE_CREATE_SURFACES] = {"width", "height", "format"},
    [TRACE_CREATE_CONTEXT] = {"#config", "picture_width", "picture_height", "flag"},
    [TRACE_DESTROY_CONTEXT] = {"#context"},
    [TRACE_CREATE_BUFFER] = {"#context", "type", "size", "num_elements"},
    [TRACE_MAP_BUFFER] = {"#buffer"},
    [TRACE_UNMAP_BUFFER] = {"#buffer"},
    [TRACE_DESTROY_BUFFER] = {"#buffer"},
    [TRACE_BEGIN_PICTURE] = {"#context", "#surface"},
    [TRACE_RENDER_PICTURE] = {"#context"},
    [TRACE_END_PICTURE] = {"#context"},
    [TRACE_SYNC_SURFACE] = {"#surface"},
    [TRACE_SYNC_BUFFER] = {"#buffer"},
    [TRACE_QUERY_SURFACE_STATUS] = {"#surface"},
};

/* Functions that only move pixels, or only ask: leaving them out or repeating them is the application's own choice. */
static bool about_pixels(enum trace_function function)
{
    switch (function) {
    case TRACE_PUT_IMAGE:
    case TRACE_GET_IMAGE:
    case TRACE_CREATE_IMAGE:
    case TRACE_DERIVE_IMAGE:
    case TRACE_EXPORT_SURFACE:
    case TRACE_QUERY_SURFACE_STATUS: return true;
    default: return false;
    }
}

/* What a buffer is for, in brackets, where the call creates one. */
static const char *purpose_of(const struct walk *walk, const struct trace_call *call, char text[48])
{
    char name[32];
    *text = 0;
    if (call->function == TRACE_CREATE_BUFFER && call->out_count)
        snprintf(text, 48, "(%s)", walk_buffer_name(walk, walk_buffer(walk, call->out[0]), name));
    return text;
}

static void replace_argument(struct walk *walk, size_t call, size_t index, const char *name, const char *label,
                             uint64_t value)
{
    struct trace_call changed = trace_call_copy(&walk->trace->calls[call]);
    changed.in[index] = value;
    char purpose[48];
    walk_replace(walk, call, changed, "%s%s.%s=%s", trace_function_name(changed.function),
                 purpose_of(walk, &changed, purpose), name, label);
}

static void mutate_argument(struct walk *walk, size_t index, size_t argument, const char *name)
{
    const struct trace_call *call = &walk->trace->calls[index];
    uint64_t value = call->in[argument];
    if (*name != '#') {
        struct candidate candidates[MOST_CANDIDATES];
        size_t count = candidates_of(value, 32, candidates);
        for (size_t c = 0; c < count; c++)
            replace_argument(walk, index, argument, name, candidates[c].label, candidates[c].value);
        return;
    }
    replace_argument(walk, index, argument, name + 1, "invalid", VA_INVALID_ID);
    replace_argument(walk, index, argument, name + 1, "unknown", 0x7ffffff0);
    for (size_t s = 0; strcmp(name, "#surface") == 0 && s < walk->surface_count; s++)
        if (walk->surfaces[s] != value) {
            replace_argument(walk, index, argument, name + 1, "another", walk->surfaces[s]);
            break;
        }
}

static void mutate_attributes(struct walk *walk, size_t index)
{
    const struct trace_call *call = &walk->trace->calls[index];
    bool config = call->function == TRACE_CREATE_CONFIG;
    if (!config && call->function != TRACE_CREATE_SURFACES2) return;
    for (size_t i = config ? 2 : 4; i + 1 < call->in_count; i += config ? 2 : 4) {
        struct candidate candidates[MOST_CANDIDATES];
        size_t value = config ? i + 1 : i + 3, count = candidates_of(call->in[value], 32, candidates);
        char name[48];
        snprintf(name, sizeof(name), "attribute[%u]", (unsigned)call->in[i]);
        for (size_t c = 0; c < count; c++)
            replace_argument(walk, index, value, name, candidates[c].label, candidates[c].value);
        snprintf(name, sizeof(name), "attribute[%u].type", (unsigned)call->in[i]);
        replace_argument(walk, index, i, name, "unadvertised", 1000);
    }
}

/* Leaves one buffer or render target out of a list, or names it twice. */
static void mutate_list(struct walk *walk, size_t index)
{
    const struct trace_call *call = &walk->trace->calls[index];
    bool render = call->function == TRACE_RENDER_PICTURE;
    if (!render && call->function != TRACE_CREATE_CONTEXT) return;
    for (size_t i = render ? 1 : 4; i < call->in_count; i++) {
        char text[32];
        const char *name = render ? walk_buffer_name(walk, walk_buffer(walk, call->in[i]), text) : "render_targets";
        struct trace_call shorter = trace_call_copy(call);
        memmove(&shorter.in[i], &shorter.in[i + 1], (shorter.in_count - i - 1) * sizeof(*shorter.in));
        shorter.in_count--;
        walk_replace(walk, index, shorter, "%s.%s=dropped", trace_function_name(call->function), name);
        struct trace_call longer = trace_call_copy(call);
        longer.in = trace_resize(longer.in, longer.in_count + 1, sizeof(*longer.in));
        memmove(&longer.in[i + 1], &longer.in[i], (longer.in_count - i) * sizeof(*longer.in));
        longer.in_count++;
        walk_replace(walk, index, longer, "%s.%s=twice", trace_function_name(call->function), name);
        struct trace_call unknown = trace_call_copy(call);
        unknown.in[i] = 0x7ffffff0;
        walk_replace(walk, index, unknown, "%s.%s=unknown", trace_function_name(call->function), name);
    }
}

void mutate_call(struct walk *walk, size_t index)
{
    const struct trace_call *call = &walk->trace->calls[index];
    for (size_t i = 0; i < 5 && arguments[call->function][i]; i++)
        mutate_argument(walk, index, i, arguments[call->function][i]);
    mutate_attributes(walk, index);
    mutate_list(walk, index);
    if (about_pixels(call->function) || call->function == TRACE_TERMINATE) return;
    char purpose[48];
    const char *name = trace_function_name(call->function);
    walk_change(walk, index, CHANGE_DROP, "%s%s=dropped", name, purpose_of(walk, call, purpose));
    walk_change(walk, index, CHANGE_REPEAT, "%s%s=twice", name, purpose_of(walk, call, purpose));
}
