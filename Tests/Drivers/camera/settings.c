/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the description of a camera. */
#define _GNU_SOURCE
#include "camera.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool numbers_contain(const struct number_list *list, unsigned number)
{
    for (unsigned index = 0; index < list->count; index++)
        if (list->numbers[index] == number)
            return true;
    return false;
}

static void read_numbers(char *text, struct number_list *list)
{
    char *rest = NULL;

    for (char *word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        unsigned first, last;
        int count = sscanf(word, "%u-%u", &first, &last);

        for (unsigned number = first; count >= 1 && number <= (count == 2 ? last : first); number++)
            if (list->count < MOST_NUMBERS)
                list->numbers[list->count++] = number;
    }
}

/* WxH, or WxH-WxH/WxH; then perhaps @RATE,RATE or @RATE-RATE. */
static bool read_size(char *word, struct size_settings *size)
{
    char *rates = strchr(word, '@');

    if (rates)
        *rates++ = '\0';
    int count = sscanf(word, "%ux%u-%ux%u/%ux%u", &size->least_width, &size->least_height, &size->width, &size->height,
                       &size->width_step, &size->height_step);
    if (count == 2) {
        size->width = size->least_width;
        size->height = size->least_height;
    } else if (count != 6) {
        return false;
    }
    if (!rates)
        return true;
    size->rates_are_range = sscanf(rates, "%u-%u", &size->rates[0], &size->rates[1]) == 2;
    size->rate_count = size->rates_are_range ? 2 : 0;
    char *rest = NULL;
    for (char *rate = strtok_r(rates, ",", &rest); rate && !size->rates_are_range; rate = strtok_r(NULL, ",", &rest))
        if (size->rate_count < MOST_RATES)
            size->rates[size->rate_count++] = (unsigned)atoi(rate);
    return true;
}

static bool read_format(char *text, struct settings *settings)
{
    if (settings->format_count == MOST_FORMATS)
        return false;
    struct format_settings *format = &settings->formats[settings->format_count++];
    char *rest = NULL, *word = strtok_r(text, " ", &rest);
    if (!word || strlen(word) != 4)
        return false;
    format->code = v4l2_fourcc(word[0], word[1], word[2], word[3]);
    while ((word = strtok_r(NULL, " ", &rest)))
        if (format->size_count == MOST_SIZES || !read_size(word, &format->sizes[format->size_count++]))
            return false;
    return format->size_count > 0;
}

/* ID TYPE MIN MAX STEP DEFAULT FLAGS NAME */
static bool read_control(const char *text, struct settings *settings)
{
    if (settings->control_count == MOST_CONTROLS)
        return false;
    struct control_settings *control = &settings->controls[settings->control_count++];
    struct v4l2_query_ext_ctrl *query = &control->query;
    long long minimum, maximum, default_value;
    unsigned long long step;
    int end = 0;
    if (sscanf(text, "%i %u %lld %lld %llu %lld %i %n", (int *)&query->id, &query->type, &minimum, &maximum, &step,
               &default_value, (int *)&query->flags, &end) != 7)
        return false;
    query->minimum = minimum;
    query->maximum = maximum;
    query->step = step;
    query->default_value = default_value;
    query->elem_size = 4;
    query->elems = 1;
    snprintf(query->name, sizeof query->name, "%s", text + end);
    control->value = default_value;
    return true;
}

/* INDEX NAME, of the latest control */
static bool read_item(const char *text, struct settings *settings)
{
    if (settings->control_count == 0)
        return false;
    struct control_settings *control = &settings->controls[settings->control_count - 1];
    int end = 0;
    if (control->item_count == MOST_ITEMS)
        return false;
    unsigned item = control->item_count++;
    if (sscanf(text, "%u %n", &control->items[item].index, &end) != 1)
        return false;
    snprintf(control->items[item].name, sizeof control->items[item].name, "%s", text + end);
    return true;
}

static bool read_node(const char *text, struct settings *settings)
{
    settings->is_planar = strcmp(text, "planar") == 0;
    settings->capabilities = V4L2_CAP_STREAMING;
    if (strcmp(text, "capture") == 0)
        settings->capabilities |= V4L2_CAP_VIDEO_CAPTURE;
    else if (settings->is_planar)
        settings->capabilities |= V4L2_CAP_VIDEO_CAPTURE_MPLANE;
    else if (strcmp(text, "metadata") == 0)
        settings->capabilities |= V4L2_CAP_META_CAPTURE;
    else if (strcmp(text, "output") == 0)
        settings->capabilities |= V4L2_CAP_VIDEO_OUTPUT;
    else
        return false;
    return true;
}

static bool read_line(char *line, struct settings *settings)
{
    char *text = strchr(line, ' ');

    if (text)
        *text++ = '\0';
    else
        text = line + strlen(line);
#define IS(key) (strcmp(line, key) == 0)
    if (IS("name"))
        snprintf(settings->name, sizeof settings->name, "%s", text);
    else if (IS("driver"))
        snprintf(settings->driver, sizeof settings->driver, "%s", text);
    else if (IS("bus"))
        snprintf(settings->bus, sizeof settings->bus, "%s", text);
    else if (IS("node"))
        return read_node(text, settings);
    else if (IS("format"))
        return read_format(text, settings);
    else if (IS("unlisted"))
        settings->lists_sizes = false;
    else if (IS("control"))
        return read_control(text, settings);
    else if (IS("item"))
        return read_item(text, settings);
    else if (IS("rules-out"))
        return sscanf(text, "%i %u %i", (int *)&settings->automatic, &settings->automatic_value,
                      (int *)&settings->ruled_out) == 3;
    else if (IS("padding"))
        settings->padding = (unsigned)atoi(text);
    else if (IS("offset"))
        settings->offset = (unsigned)atoi(text);
    else if (IS("color"))
        return sscanf(text, "%u %u %u %u", &settings->colorspace, &settings->encoding, &settings->quantization,
                      &settings->transfer) == 4;
    else if (IS("field"))
        settings->field = (uint32_t)atoi(text);
    else if (IS("buffers"))
        settings->buffers = (unsigned)atoi(text);
    else if (IS("unexported"))
        settings->exports = false;
    else if (IS("clock"))
        settings->clock = text[0];
    else if (IS("pace"))
        settings->pace = (unsigned)atoi(text);
    else if (IS("unnumbered"))
        settings->counts = false;
    else if (IS("lost"))
        read_numbers(text, &settings->lost);
    else if (IS("marked"))
        read_numbers(text, &settings->marked);
    else if (IS("shortened"))
        read_numbers(text, &settings->shortened);
    else if (IS("damaged"))
        read_numbers(text, &settings->damaged);
    else if (IS("stall"))
        settings->stall_at = (unsigned)atoi(text);
    else if (IS("unplug"))
        settings->unplug_at = (unsigned)atoi(text);
    else if (IS("busy"))
        settings->busy = text[0];
    else if (IS("denied"))
        settings->open_error = EACCES;
    else if (IS("payload"))
        snprintf(settings->payload, sizeof settings->payload, "%s", text);
    else
        return false;
#undef IS
    return true;
}

bool settings_read(const char *path, struct settings *settings)
{
    FILE *file = fopen(path, "re");
    char line[512];

    if (!file)
        return false;
    *settings = (struct settings){
        .name = "Fake Camera",
        .driver = "fake",
        .bus = "platform:fake",
        .capabilities = V4L2_CAP_STREAMING | V4L2_CAP_VIDEO_CAPTURE,
        .lists_sizes = true,
        .colorspace = V4L2_COLORSPACE_SRGB,
        .field = V4L2_FIELD_NONE,
        .buffers = MOST_BUFFERS,
        .exports = true,
        .clock = 's',
        .counts = true,
        .stall_at = UINT_MAX,
        .unplug_at = UINT_MAX,
    };
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char copy[sizeof line];
        memcpy(copy, line, sizeof line);
        if (line[0] != '\0' && !read_line(line, settings)) {
            fprintf(stderr, "fake camera: %s: %s\n", path, copy);
            _Exit(3);
        }
    }
    fclose(file);
    return true;
}
