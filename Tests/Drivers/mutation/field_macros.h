/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes a table of fields with their accessors out of a list. A file defines STRUCTURE, then LIST(X) with the lines
 * below, then LIST(FIELD_ACCESSORS) and FIELD_TABLE. */
#ifndef DRIVERS_MUTATION_FIELD_MACROS_H
#define DRIVERS_MUTATION_FIELD_MACROS_H

#include "fields.h"

/* A member; a bit-field of union.bits; an array; an array of arrays, per inner index. */
#define SCALAR(X, name) X(name, #name, name, 1, FIELD_NUMBER, USE_ONE)
#define BUFFER_ID(X, name) X(name, #name, name, 1, FIELD_BUFFER, USE_ONE)
#define BITS(X, group, name) X(name, #group "." #name, group.bits.name, 1, FIELD_NUMBER, USE_ONE)
#define ARRAY(X, name, count, use) X(name, #name "[#]", name[i], count, FIELD_NUMBER, use)
#define INNER(X, name, index, count, use)                                                                              \
    X(name##_##index, #name "[#][" #index "]", name[i][index], count, FIELD_NUMBER, use)

/* A VAPictureH264, or an array of them when `label` and `member` carry the index. */
#define PICTURE(X, prefix, label, member, count, use)                                                                  \
    X(prefix##_picture_id, label ".picture_id", member.picture_id, count, FIELD_SURFACE, use)                          \
    X(prefix##_frame_idx, label ".frame_idx", member.frame_idx, count, FIELD_NUMBER, use)                              \
    X(prefix##_flags, label ".flags", member.flags, count, FIELD_FLAGS, use)                                           \
    X(prefix##_top, label ".TopFieldOrderCnt", member.TopFieldOrderCnt, count, FIELD_NUMBER, use)                      \
    X(prefix##_bottom, label ".BottomFieldOrderCnt", member.BottomFieldOrderCnt, count, FIELD_NUMBER, use)             \
    X(prefix##_reserved_0, label ".va_reserved[0]", member.va_reserved[0], count, FIELD_NUMBER, use)                   \
    X(prefix##_reserved_1, label ".va_reserved[1]", member.va_reserved[1], count, FIELD_NUMBER, use)                   \
    X(prefix##_reserved_2, label ".va_reserved[2]", member.va_reserved[2], count, FIELD_NUMBER, use)                   \
    X(prefix##_reserved_3, label ".va_reserved[3]", member.va_reserved[3], count, FIELD_NUMBER, use)

/* Accessors are named after structure and member, since several structures have members of one name. */
#define FIELD_PASTE(prefix, structure, identifier) prefix##_##structure##_##identifier
#define FIELD_EXPAND(prefix, structure, identifier) FIELD_PASTE(prefix, structure, identifier)
#define FIELD_NAME(prefix, identifier) FIELD_EXPAND(prefix, STRUCTURE, identifier)

#define FIELD_ACCESSORS(identifier, label, member, elements, field_kind, field_use)                                    \
    static uint64_t FIELD_NAME(get, identifier)(const void *structure, unsigned i)                                     \
    {                                                                                                                  \
        (void)i;                                                                                                       \
        return (uint64_t)((const STRUCTURE *)structure)->member;                                                       \
    }                                                                                                                  \
    static void FIELD_NAME(set, identifier)(void *structure, unsigned i, uint64_t value)                               \
    {                                                                                                                  \
        (void)i;                                                                                                       \
        ((STRUCTURE *)structure)->member = (__typeof__(+((STRUCTURE *)structure)->member))value;                       \
    }

#define FIELD_ENTRY(identifier, label, member, elements, field_kind, field_use)                                        \
    {label, elements, field_kind, field_use, FIELD_NAME(get, identifier), FIELD_NAME(set, identifier)},

#define FIELD_TABLE(variable, label, list)                                                                             \
    static const struct field variable##_list[] = {list(FIELD_ENTRY)};                                                 \
    const struct field_table variable = {label, sizeof(STRUCTURE), variable##_list,                                    \
                                         sizeof(variable##_list) / sizeof(*variable##_list)};

#endif
