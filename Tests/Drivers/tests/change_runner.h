/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a table of changes: each makes one thing of a right scene wrong and names the findings that must come, all of
 * them and no other. Included behind a codec's scenes (h264_changes.h, hevc_changes.h), which define struct scene,
 * plan_scene, submit, enum base and bases. */
#ifndef DRIVERS_TESTS_CHANGE_RUNNER_H
#define DRIVERS_TESTS_CHANGE_RUNNER_H

#include <stdio.h>
#include <string.h>

/* A function of changes: number `n` of its table. With `s` NULL it only tells base and expected names. False: the
 * table has no such number. */
typedef bool (*changes)(unsigned n, struct scene *s, enum base *base, const char **expected, const char **what);

#define CHANGE(from, names, ...) \
    if (n-- == 0) { \
        *base = from; \
        *expected = names; \
        *what = #__VA_ARGS__; \
        if (s) { \
            __VA_ARGS__; \
        } \
        return true; \
    }

#define PIC(k) (&s->pictures[k])
#define END(k) s->count = (k) + 1

static char heard[64][64];
static char details[64][256];
static unsigned heard_count;

static inline void hear(void *token, struct journal_place place, const char *name, const char *clause,
                        const char *detail)
{
    (void)token;
    for (unsigned i = 0; i < heard_count; i++)
        if (strcmp(heard[i], name) == 0)
            return;
    if (heard_count == 64)
        return;
    snprintf(details[heard_count], sizeof details[0], "picture %u slice %d (%s): %s", place.picture, (int)place.slice,
             clause, detail);
    snprintf(heard[heard_count++], sizeof heard[0], "%s", name);
}

static inline bool expects(const char *expected, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = expected; (at = strstr(at, name)); at += length)
        if ((at == expected || at[-1] == ' ') && (at[length] == 0 || at[length] == ' '))
            return true;
    return false;
}

static inline unsigned count_words(const char *text)
{
    unsigned words = 0;
    for (const char *at = text; *at; at++)
        words += *at != ' ' && (at == text || at[-1] == ' ');
    return words;
}

static inline bool run_change(changes table, unsigned n, unsigned *failed)
{
    static struct scene scene;
    enum base base;
    const char *expected, *what;
    if (!table(n, NULL, &base, &expected, &what))
        return false;
    plan_scene(&scene, &bases[base]);
    table(n, &scene, &base, &expected, &what);
    heard_count = 0;
    struct checker *checker = checker_create(&scene.config, (struct journal_place){1, UINT32_MAX, UINT32_MAX});
    for (uint32_t i = 0; i < scene.count; i++)
        submit(&scene, checker, i);
    checker_destroy(checker);
    bool right = heard_count == count_words(expected);
    for (unsigned i = 0; i < heard_count; i++)
        right = right && expects(expected, heard[i]);
    if (right)
        return true;
    ++*failed;
    printf("%s\n    expected: %s\n", what, expected);
    for (unsigned i = 0; i < heard_count; i++)
        printf("    came: %s: %s\n", heard[i], details[i]);
    return true;
}

static inline int run_changes(changes table)
{
    unsigned total = 0, failed = 0;
    journal_listen(hear, NULL);
    while (run_change(table, total, &failed))
        total++;
    printf("%u changes, %u not found as expected\n", total, failed);
    return failed != 0;
}

#endif
