/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes random streams coded by the macroblock coder, with the samples that any decoder must give for them.
 *
 *   coder_exercise stream SEED PROFILE PICTURES FILE.264 FILE.nv12
 *   coder_exercise plain ...
 *     Likewise, without modified lists and memory management operations.
 *     PROFILE is 66, 77, 100 or 0 for any. The second file has the frames as output: cropped, NV12, in output order.
 *     Prints one line of JSON: size, profile, frames and how many macroblocks of each kind there are.
 *   coder_exercise rate flat|textured
 *     Prints bytes and squared error of one I picture at each QP.
 *   coder_exercise memory
 *     Lets every allocation of the coder fail in turn; prints how many did.
 *   coder_exercise hostile SEED COUNT
 *     Damages requests; prints how many the coder took. It must not crash. */
#include "coder_exercise/exercise.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_output(const void *left, const void *right)
{
    const struct picture *a = *(struct picture *const *)left, *b = *(struct picture *const *)right;
    if (a->sequence != b->sequence)
        return a->sequence < b->sequence ? -1 : 1;
    return a->frame.picture_order_count < b->frame.picture_order_count ? -1 : 1;
}

static void write_rows(FILE *file, const uint8_t *samples, size_t pitch, size_t width, size_t rows)
{
    for (size_t y = 0; y < rows; y++)
        fwrite(samples + y * pitch, 1, width, file);
}

static size_t width_of(const struct h264_sps *sps)
{
    return (sps->pic_width_in_mbs_minus1 + 1) * (size_t)16 - sps->frame_crop_right_offset * 2;
}

static size_t height_of(const struct h264_sps *sps)
{
    return (sps->pic_height_in_map_units_minus1 + 1) * (size_t)16 - sps->frame_crop_bottom_offset * 2;
}

static FILE *open_file(const char *name)
{
    FILE *file = fopen(name, "wb");
    if (!file) {
        perror(name);
        exit(1);
    }
    return file;
}

static void close_file(FILE *file, const char *name)
{
    bool failed = ferror(file);
    if (fclose(file) != 0 || failed) {
        perror(name);
        exit(1);
    }
}

static void write_files(struct exercise *exercise, const char *stream_name, const char *frames_name)
{
    FILE *file = open_file(stream_name);
    fwrite(exercise->stream.bytes, 1, exercise->stream.count / 8, file);
    close_file(file, stream_name);
    qsort(exercise->pictures, exercise->picture_count, sizeof *exercise->pictures, compare_output);
    file = open_file(frames_name);
    for (unsigned index = 0; index < exercise->picture_count; index++) {
        const struct h264_frame *frame = &exercise->pictures[index]->frame;
        size_t width = width_of(&exercise->sps), height = height_of(&exercise->sps);
        write_rows(file, frame->luma, frame->luma_pitch, width, height);
        write_rows(file, frame->chroma, frame->chroma_pitch, width, height / 2);
    }
    close_file(file, frames_name);
}

static void print_summary(const struct exercise *exercise)
{
    static const char *const types[3] = {"p", "b", "i"};
    static const char *const kinds[5] = {"missing", "skip", "inter", "intra", "pcm"};
    printf("{\"width\": %zu, \"height\": %zu, \"profile\": %u, \"frames\": %u, \"bytes\": %zu, \"b_pictures\": %u",
           width_of(&exercise->sps), height_of(&exercise->sps), exercise->sps.profile_idc, exercise->picture_count,
           exercise->stream.count / 8, exercise->b_pictures);
    for (unsigned type = 0; type < 3; type++)
        for (unsigned kind = 1; kind < 5; kind++)
            printf(", \"%s_%s\": %u", types[type], kinds[kind], exercise->kinds[type][kind]);
    printf("}\n");
}

static int write_stream(char *const *arguments, bool plain)
{
    struct exercise exercise;
    exercise_begin(&exercise, strtoull(arguments[0], NULL, 10), (uint32_t)strtoul(arguments[1], NULL, 10),
                   (unsigned)strtoul(arguments[2], NULL, 10), plain);
    bool coded = exercise_run(&exercise) && !exercise.stream.failed;
    if (coded) {
        write_files(&exercise, arguments[3], arguments[4]);
        print_summary(&exercise);
    }
    exercise_end(&exercise);
    return coded ? 0 : 1;
}

static int print_rates(bool flat)
{
    for (int qp = 0; qp <= 51; qp++) {
        struct exercise_rate rate = exercise_measure_rate(flat, qp);
        printf("{\"qp\": %d, \"bytes\": %" PRIu64 ", \"squared_error\": %" PRIu64 "}\n", qp, rate.bytes,
               rate.squared_error);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 7 && (strcmp(argv[1], "stream") == 0 || strcmp(argv[1], "plain") == 0))
        return write_stream(argv + 2, strcmp(argv[1], "plain") == 0);
    if (argc == 4 && strcmp(argv[1], "hostile") == 0) {
        unsigned count = (unsigned)strtoul(argv[3], NULL, 10);
        printf("{\"requests\": %u, \"taken\": %u}\n", count, exercise_hostile(strtoull(argv[2], NULL, 10), count));
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "memory") == 0) {
        printf("{\"failures\": %u}\n", exercise_memory());
        return 0;
    }
    if (argc == 3 && strcmp(argv[1], "rate") == 0)
        return print_rates(strcmp(argv[2], "flat") == 0);
    fprintf(stderr, "usage: coder_exercise stream|plain SEED PROFILE PICTURES STREAM FRAMES | rate flat|textured | "
                    "memory | hostile SEED COUNT\n");
    return 2;
}
