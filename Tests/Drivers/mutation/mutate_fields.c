/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mutations_state.h"

#include "fields.h"

#include <va/va.h>

#include <string.h>

/* Ids that are wrong in different ways. */
static size_t id_candidates(const struct walk *walk, const struct field *field, uint64_t value,
                            struct candidate candidates[MOST_CANDIDATES])
{
    size_t count = 0;
    if (value != VA_INVALID_ID) candidates[count++] = (struct candidate){"invalid", VA_INVALID_ID};
    candidates[count++] = (struct candidate){"unknown", 0x7ffffff0};
    if (field->kind == FIELD_SURFACE) {
        for (size_t i = walk->surface_count; i > 0; i--)
            if (walk->surfaces[i - 1] != value) {
                candidates[count++] = (struct candidate){"another", walk->surfaces[i - 1]};
                break;
            }
    } else {
        for (size_t i = 0; i < walk->buffer_count; i++)
            if (walk->buffers[i].id != value && walk->buffers[i].type != VAEncCodedBufferType) {
                candidates[count++] = (struct candidate){"of-parameters", walk->buffers[i].id};
                break;
            }
        for (size_t i = 0; i < walk->buffer_count; i++)
            if (walk->buffers[i].id != value && walk->buffers[i].type == VAEncCodedBufferType) {
                candidates[count++] = (struct candidate){"another", walk->buffers[i].id};
                break;
            }
    }
    return count;
}

static size_t flag_candidates(uint64_t value, struct candidate candidates[MOST_CANDIDATES])
{
    static const char *const labels[] = {"invalid", "top-field", "bottom-field", "short-term", "long-term",
                                         "non-existing"};
    size_t count = 0;
    for (unsigned bit = 0; bit < 6; bit++)
        candidates[count++] = (struct candidate){labels[bit], value ^ (UINT64_C(1) << bit)};
    return count;
}

static size_t field_candidates(const struct walk *walk, const struct field *field, size_t size, uint64_t value,
                               struct candidate candidates[MOST_CANDIDATES])
{
    switch (field->kind) {
    case FIELD_SURFACE:
    case FIELD_BUFFER: return id_candidates(walk, field, value, candidates);
    case FIELD_FLAGS: return flag_candidates(value, candidates);
    case FIELD_UNUSED_BITS:
        candidates[0] = (struct candidate){"high-bit", value ^ 0x80000000};
        return 1;
    case FIELD_NUMBER: break;
    }
    return candidates_of(value, field_width(field, size), candidates);
}

/* "RefPicList0[#].flags" and 3 make "RefPicList0[3].flags". */
static void name_of(const struct field *field, unsigned index, char *text, size_t size)
{
    const char *mark = strchr(field->name, '#');
    if (mark)
        snprintf(text, size, "%.*s%u%s", (int)(mark - field->name), field->name, index, mark + 1);
    else
        snprintf(text, size, "%s", field->name);
}

static void mutate_field(struct walk *walk, const struct walked_buffer *buffer, const struct field_table *table,
                         const struct field *field, size_t offset)
{
    const struct trace_call *call = &walk->trace->calls[buffer->filled];
    const uint8_t *structure = call->data + offset;
    unsigned count = field_used(field, structure);
    if (field->use != USE_ONE && count < field->count) count++; /* one beyond, too */
    for (unsigned i = 0; i < count; i++) {
        struct candidate candidates[MOST_CANDIDATES];
        size_t candidate_count =
            field_candidates(walk, field, table->size, field->get(structure, i), candidates);
        for (size_t c = 0; c < candidate_count; c++) {
            struct trace_call changed = trace_call_copy(call);
            field->set(changed.data + offset, i, candidates[c].value);
            char name[64];
            name_of(field, i, name, sizeof(name));
            bool beyond = field->use != USE_ONE && i == field_used(field, structure);
            walk_replace(walk, buffer->filled, changed, "%s.%s%s=%s", table->name, name, beyond ? "(unused)" : "",
                         candidates[c].label);
        }
    }
}

/* `elements` structures, `stride` bytes apart, `offset` bytes into the buffer. */
static void mutate_table(struct walk *walk, const struct walked_buffer *buffer, const struct field_table *table,
                         size_t offset, size_t stride, size_t elements)
{
    size_t size = walk->trace->calls[buffer->filled].size;
    for (size_t e = 0; e < elements && offset + e * stride + table->size <= size; e++)
        for (size_t f = 0; f < table->field_count; f++)
            mutate_field(walk, buffer, table, &table->fields[f], offset + e * stride);
}

void mutate_fields(struct walk *walk, const struct walked_buffer *buffer)
{
    const struct trace_call *created = &walk->trace->calls[buffer->created];
    size_t stride = (size_t)created->in[2], elements = (size_t)created->in[3];
    if (buffer->type == VAEncMiscParameterBufferType) {
        VAEncMiscParameterBuffer misc;
        const struct trace_call *filled = &walk->trace->calls[buffer->filled];
        if (filled->size < sizeof(misc)) return;
        memcpy(&misc, filled->data, sizeof(misc));
        mutate_table(walk, buffer, &fields_misc_header, 0, stride, 1);
        const struct field_table *table = fields_of_buffer(buffer->type, stride, (uint32_t)misc.type);
        if (table) mutate_table(walk, buffer, table, sizeof(misc), stride, 1);
        return;
    }
    const struct field_table *table = fields_of_buffer(buffer->type, stride, 0);
    if (table) mutate_table(walk, buffer, table, 0, stride, elements);
}
