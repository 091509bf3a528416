/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "journal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LONGEST_LINE 8192

static struct {
    pthread_once_t once;
    int file; /* -1: nothing is kept */
    bool judging;
    atomic_ulong findings;
    pthread_mutex_t listener_lock;
    journal_listener listener;
    void *listener_token;
} journal = {.once = PTHREAD_ONCE_INIT, .file = -1, .listener_lock = PTHREAD_MUTEX_INITIALIZER};

static void journal_open(void)
{
    const char *judge = getenv("REFERENCE_DRIVER_JUDGE");
    journal.judging = !judge || strcmp(judge, "off") != 0;
    const char *path = getenv("REFERENCE_DRIVER_JOURNAL");
    if (!path || !*path)
        return;
    journal.file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (journal.file < 0)
        fprintf(stderr, "reference driver: REFERENCE_DRIVER_JOURNAL %s: %s\n", path, strerror(errno));
}

/* One line under construction. What does not fit is left out; a line is always closed. */
struct line {
    char text[LONGEST_LINE];
    size_t length;
};

static void line_format(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void line_list(struct line *line, const char *format, va_list arguments)
{
    size_t room = sizeof(line->text) - line->length;
    int length = vsnprintf(line->text + line->length, room, format, arguments);
    if (length > 0)
        line->length += (size_t)length < room ? (size_t)length : room - 1;
}

static void line_format(struct line *line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    line_list(line, format, arguments);
    va_end(arguments);
}

static void line_byte(struct line *line, char byte)
{
    if (line->length + 1 < sizeof(line->text))
        line->text[line->length++] = byte;
}

/* Appends a JSON string (RFC 8259), at most `most` bytes of it. */
static void line_string(struct line *line, const char *text, size_t most)
{
    line_byte(line, '"');
    for (size_t i = 0; text[i] && i < most; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte < 0x20 || byte >= 0x7f) {
            line_format(line, "\\u%04x", byte);
            continue;
        }
        if (byte == '"' || byte == '\\')
            line_byte(line, '\\');
        line_byte(line, text[i]);
    }
    line_byte(line, '"');
}

static void line_number(struct line *line, const char *name, uint32_t value)
{
    if (value != UINT32_MAX)
        line_format(line, ",\"%s\":%u", name, value);
}

static void line_write(struct line *line)
{
    const size_t longest = sizeof(line->text) - 3;
    if (line->length > longest)
        line->length = longest;
    line_format(line, "}\n");
    ssize_t written;
    do
        written = write(journal.file, line->text, line->length);
    while (written < 0 && errno == EINTR);
}

static void tell_listener(struct journal_place place, const char *name, const char *clause, const char *detail)
{
    pthread_mutex_lock(&journal.listener_lock);
    journal_listener listener = journal.listener;
    void *token = journal.listener_token;
    pthread_mutex_unlock(&journal.listener_lock);
    if (listener)
        listener(token, place, name, clause, detail);
}

void journal_finding(struct journal_place place, const char *name, const char *clause, const char *format, ...)
{
    if (!journal_judging())
        return;
    char detail[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(detail, sizeof(detail), format, arguments);
    va_end(arguments);
    atomic_fetch_add(&journal.findings, 1);
    tell_listener(place, name, clause, detail);
    if (journal.file < 0)
        return;
    struct line line;
    line.length = 0;
    line_format(&line, "{\"kind\":\"finding\",\"name\":");
    line_string(&line, name, 128);
    line_format(&line, ",\"clause\":");
    line_string(&line, clause, 256);
    line_number(&line, "context", place.context);
    line_number(&line, "picture", place.picture);
    line_number(&line, "slice", place.slice);
    line_format(&line, ",\"detail\":");
    line_string(&line, detail, sizeof(detail));
    line_write(&line);
}

void journal_event(const char *kind, const char *fields, ...)
{
    pthread_once(&journal.once, journal_open);
    if (journal.file < 0)
        return;
    struct line line;
    line.length = 0;
    line_format(&line, "{\"kind\":");
    line_string(&line, kind, 64);
    if (*fields) {
        line_format(&line, ",");
        va_list arguments;
        va_start(arguments, fields);
        line_list(&line, fields, arguments);
        va_end(arguments);
    }
    line_write(&line);
}

bool journal_judging(void)
{
    pthread_once(&journal.once, journal_open);
    return journal.judging;
}

bool journal_is_kept(void)
{
    pthread_once(&journal.once, journal_open);
    return journal.file >= 0;
}

uint64_t journal_finding_count(void)
{
    return atomic_load(&journal.findings);
}

void journal_listen(journal_listener listener, void *token)
{
    pthread_mutex_lock(&journal.listener_lock);
    journal.listener = listener;
    journal.listener_token = token;
    pthread_mutex_unlock(&journal.listener_lock);
}
