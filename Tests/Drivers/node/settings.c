/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Sets one node's setting from its text; false when the text is not understood. */
typedef bool (*setting_parser)(struct node_settings *node, const char *text);

static _Noreturn void refuse(const char *variable, const char *value, const char *expected)
{
    dprintf(STDERR_FILENO, "render node shim: %s is \"%s\"; expected %s\n", variable, value, expected);
    _exit(2);
}

static bool parse_number(const char *text, int base, uint64_t maximum, uint64_t *number)
{
    char *end;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    unsigned long long value = strtoull(text, &end, base);
    if (errno != 0 || *end != '\0' || value > maximum)
        return false;
    *number = value;
    return true;
}

static bool parse_error(const char *text, int *error)
{
    static const struct {
        const char *name;
        int value;
    } errors[] = {
        {"EACCES", EACCES}, {"EAGAIN", EAGAIN}, {"EBUSY", EBUSY},   {"ECANCELED", ECANCELED}, {"EFAULT", EFAULT},
        {"EINTR", EINTR},   {"EINVAL", EINVAL}, {"EIO", EIO},       {"ENODEV", ENODEV},       {"ENOENT", ENOENT},
        {"ENOMEM", ENOMEM}, {"ENOSPC", ENOSPC}, {"ENXIO", ENXIO},   {"EPERM", EPERM},         {"ETIME", ETIME},
    };

    for (size_t index = 0; index < sizeof errors / sizeof errors[0]; index++)
        if (strcmp(errors[index].name, text) == 0) {
            *error = errors[index].value;
            return true;
        }
    return false;
}

static bool parse_deny(struct node_settings *node, const char *text)
{
    if (!parse_error(text, &node->open_error) || (node->open_error != EACCES && node->open_error != EPERM))
        return false;
    if (node->open_error == EACCES)
        node->mode = 0600;
    return true;
}

static bool parse_mode(struct node_settings *node, const char *text)
{
    uint64_t mode;

    if (!parse_number(text, 8, 07777, &mode))
        return false;
    node->mode = (mode_t)mode;
    return true;
}

static bool parse_owner(struct node_settings *node, const char *text)
{
    uint64_t owner;

    if (!parse_number(text, 10, UINT32_MAX, &owner))
        return false;
    node->owner = (uid_t)owner;
    return true;
}

static bool parse_group(struct node_settings *node, const char *text)
{
    uint64_t group;

    if (!parse_number(text, 10, UINT32_MAX, &group))
        return false;
    node->group = (gid_t)group;
    return true;
}

static bool parse_occurrence(const char *text, uint64_t *occurrence)
{
    return parse_number(text, 10, NEVER - 1, occurrence) && *occurrence > 0;
}

static bool parse_vanish(struct node_settings *node, const char *text)
{
    return parse_occurrence(text, &node->vanish_at);
}

static bool parse_vanish_file(struct node_settings *node, const char *text)
{
    if (text[0] != '/' || strlen(text) >= sizeof node->vanish_file)
        return false;
    strcpy(node->vanish_file, text);
    return true;
}

static bool parse_refuse(struct node_settings *node, const char *text)
{
    char error[16];
    const char *at = strchr(text, '@');
    size_t length = at ? (size_t)(at - text) : strlen(text);

    if (length >= sizeof error)
        return false;
    memcpy(error, text, length);
    error[length] = '\0';
    node->refuse_at = 1;
    return parse_error(error, &node->refusal_error) && (at == NULL || parse_occurrence(at + 1, &node->refuse_at));
}

static bool parse_hang(struct node_settings *node, const char *text)
{
    return parse_occurrence(text, &node->hang_at);
}

static bool parse_reset(struct node_settings *node, const char *text)
{
    return parse_occurrence(text, &node->reset_at);
}

static bool parse_coded_size(struct node_settings *node, const char *text)
{
    return parse_number(text, 10, 1u << 30, &node->coded_size);
}

static bool parse_huc(struct node_settings *node, const char *text)
{
    node->huc_firmware = strcmp(text, "present") == 0;
    return node->huc_firmware || strcmp(text, "absent") == 0;
}

static struct node_settings *node_numbered(struct settings *settings, uint64_t number)
{
    for (unsigned index = 0; index < settings->node_count; index++)
        if (settings->nodes[index].number == number)
            return &settings->nodes[index];
    return NULL;
}

/* Applies one "VALUE" (to every node) or "NUMBER=VALUE" (to one). */
static bool apply_item(struct settings *settings, char *item, setting_parser parse)
{
    char *equals = strchr(item, '=');
    uint64_t number;
    struct node_settings *node;

    if (equals == NULL) {
        bool understood = settings->node_count > 0;

        for (unsigned index = 0; index < settings->node_count; index++)
            understood = understood && parse(&settings->nodes[index], item);
        return understood;
    }
    *equals = '\0';
    if (!parse_number(item, 10, LAST_RENDER_NODE, &number))
        return false;
    node = node_numbered(settings, number);
    return node != NULL && parse(node, equals + 1);
}

static void apply_variable(struct settings *settings, const char *variable, setting_parser parse, const char *expected)
{
    const char *value = getenv(variable);
    char copy[2 * PATH_MAX], *rest, *item;

    if (value == NULL || *value == '\0')
        return;
    if (strlen(value) >= sizeof copy)
        refuse(variable, value, "a shorter text");
    strcpy(copy, value);
    for (item = strtok_r(copy, ",", &rest); item != NULL; item = strtok_r(NULL, ",", &rest))
        if (!apply_item(settings, item, parse))
            refuse(variable, value, expected);
}

/* Adds one "NUMBER=CHIP". */
static bool add_node(struct settings *settings, char *item)
{
    char *equals = strchr(item, '=');
    uint64_t number;
    unsigned place = settings->node_count;

    if (equals == NULL)
        return false;
    *equals = '\0';
    const struct chip *chip = chip_named(equals + 1);
    if (!parse_number(item, 10, LAST_RENDER_NODE, &number) || number < FIRST_RENDER_NODE || chip == NULL ||
        node_numbered(settings, number) != NULL)
        return false;
    for (; place > 0 && settings->nodes[place - 1].number > number; place--)
        settings->nodes[place] = settings->nodes[place - 1];
    settings->nodes[place] = (struct node_settings){
        .number = (unsigned)number, .chip = chip, .mode = 0666, .vanish_at = NEVER, .refuse_at = NEVER,
        .hang_at = NEVER, .reset_at = NEVER, .coded_size = 1000, .huc_firmware = true,
    };
    settings->node_count++;
    return true;
}

static void read_nodes(struct settings *settings)
{
    const char *value = getenv("RENDER_NODES");
    char copy[sizeof settings->tree_key], *rest, *item;

    if (value == NULL)
        return;
    if (strlen(value) >= sizeof copy)
        refuse("RENDER_NODES", value, "a shorter text");
    strcpy(settings->tree_key, value);
    strcpy(copy, value);
    for (item = strtok_r(copy, ",", &rest); item != NULL; item = strtok_r(NULL, ",", &rest))
        if (!add_node(settings, item))
            refuse("RENDER_NODES", value, "NUMBER=CHIP,... with distinct numbers from 128 to 191 and known chips");
}

void settings_read(struct settings *settings)
{
    const char *trace = getenv("RENDER_NODES_TRACE");

    memset(settings, 0, sizeof *settings);
    read_nodes(settings);
    if (settings->node_count == 0)
        return;
    apply_variable(settings, "RENDER_NODES_DENY", parse_deny, "EACCES or EPERM");
    apply_variable(settings, "RENDER_NODES_MODE", parse_mode, "an octal mode");
    apply_variable(settings, "RENDER_NODES_OWNER", parse_owner, "a user's number");
    apply_variable(settings, "RENDER_NODES_GROUP", parse_group, "a group's number");
    apply_variable(settings, "RENDER_NODES_VANISH", parse_vanish, "the number of a request, from 1");
    apply_variable(settings, "RENDER_NODES_VANISH_FILE", parse_vanish_file, "an absolute path");
    apply_variable(settings, "RENDER_NODES_REFUSE", parse_refuse, "ERROR or ERROR@SUBMISSION, as EIO@3");
    apply_variable(settings, "RENDER_NODES_HANG", parse_hang, "the number of a submission, from 1");
    apply_variable(settings, "RENDER_NODES_RESET", parse_reset, "the number of a submission, from 1");
    apply_variable(settings, "RENDER_NODES_CODED_SIZE", parse_coded_size, "a number of bytes, at most 2^30");
    apply_variable(settings, "RENDER_NODES_HUC", parse_huc, "present or absent");
    if (trace == NULL)
        return;
    if (strlen(trace) >= sizeof settings->trace_file)
        refuse("RENDER_NODES_TRACE", trace, "a shorter path");
    strcpy(settings->trace_file, trace);
}
