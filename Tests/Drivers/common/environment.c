/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "environment.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *environment_text(const char *name)
{
    const char *text = getenv(name);
    return text && *text ? text : NULL;
}

static char *trimmed(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        text[--length] = 0;
    return text;
}

char *environment_next(char **rest, const char *separators)
{
    while (*rest) {
        char *part = trimmed(strsep(rest, separators));
        if (*part)
            return part;
    }
    return NULL;
}

char *environment_cut(char *text, char separator)
{
    char *found = strchr(text, separator);
    if (!found)
        return NULL;
    *found = 0;
    return found + 1;
}

bool environment_number(const char *text, uint64_t maximum, uint64_t *value)
{
    if (!isdigit((unsigned char)*text))
        return false;
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, strncmp(text, "0x", 2) == 0 ? 16 : 10);
    if (errno || *end || number > maximum)
        return false;
    *value = number;
    return true;
}

bool environment_duration(const char *text, uint64_t *microseconds)
{
    static const struct {
        const char *name;
        uint64_t microseconds;
    } units[] = {{"us", 1}, {"ms", 1000}, {"s", 1000000}};
    size_t digits = strspn(text, "0123456789");
    char number[16];
    if (digits == 0 || digits >= sizeof(number))
        return false;
    memcpy(number, text, digits);
    number[digits] = 0;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        uint64_t count;
        if (strcmp(text + digits, units[i].name) == 0 && environment_number(number, UINT32_MAX, &count)) {
            *microseconds = count * units[i].microseconds;
            return true;
        }
    }
    return false;
}

bool environment_size(const char *text, uint32_t *width, uint32_t *height)
{
    const char *separator = strchr(text, 'x');
    char first[8];
    if (!separator || (size_t)(separator - text) >= sizeof(first))
        return false;
    memcpy(first, text, (size_t)(separator - text));
    first[separator - text] = 0;
    uint64_t columns, rows;
    if (!environment_number(first, 65535, &columns) || !environment_number(separator + 1, 65535, &rows))
        return false;
    if (columns == 0 || rows == 0)
        return false;
    *width = (uint32_t)columns;
    *height = (uint32_t)rows;
    return true;
}
