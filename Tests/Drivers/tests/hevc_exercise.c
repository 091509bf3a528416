/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes random streams coded by the HEVC coder, with the samples that any decoder must give for them.
 *
 *   hevc_exercise stream SEED FORMAT PICTURES FILE.265 FILE.yuv
 *   hevc_exercise plain ...
 *     Likewise, without what libavcodec gets wrong.
 *   hevc_exercise neutral ...
 *     Plain, and without what libde265 gets wrong with 4:2:2 and 4:4:4: chroma QP offsets, deep transform trees.
 *   hevc_exercise skip ...
 *     Likewise with the least effort; the frames mean nothing then.
 *     FORMAT is the bit depth (8, 10, 12, or 0 for any), of 4:2:0, or that behind the chroma format: 422-10, 444-8. The
 *     second file has the frames as output: cropped, planar, 8-bit samples or 16-bit little-endian ones of more bits,
 *     in output order. Prints one line of JSON: size, chroma format, bit depth, frames, slices by type,
 *     and how many luma samples of P and B pictures there are, and are intra or skipped.
 *   hevc_exercise rate flat|textured
 *     Prints bytes and squared error of one I picture at each QP.
 *   hevc_exercise wishes
 *     Prints what wishes for blocks come to.
 *   hevc_exercise memory
 *     Lets every allocation of the coder fail in turn; prints how many did.
 *   hevc_exercise hostile SEED COUNT
 *     Damages requests; prints how many the coder took. It must not crash. */
#include "hevc_exercise/exercise.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t cropped_width(const struct hevc_sps *sps)
{
    return sps->pic_width_in_luma_samples -
           hevc_crop_width(sps) * (sps->conf_win_left_offset + sps->conf_win_right_offset);
}

static uint32_t cropped_height(const struct hevc_sps *sps)
{
    return sps->pic_height_in_luma_samples -
           hevc_crop_height(sps) * (sps->conf_win_top_offset + sps->conf_win_bottom_offset);
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

static void write_frame(FILE *file, const struct hevc_sps *sps, const struct hevc_frame *frame)
{
    for (unsigned component = 0; component < 3; component++) {
        uint32_t left = exercise_width(sps, component, hevc_crop_width(sps) * sps->conf_win_left_offset);
        uint32_t top = exercise_height(sps, component, hevc_crop_height(sps) * sps->conf_win_top_offset);
        for (uint32_t y = 0; y < exercise_height(sps, component, cropped_height(sps)); y++)
            for (uint32_t x = 0; x < exercise_width(sps, component, cropped_width(sps)); x++) {
                uint16_t value = exercise_get(sps, frame, component, left + x, top + y);
                fputc(value & 255, file);
                if (sps->bit_depth_luma_minus8)
                    fputc(value >> 8, file);
            }
    }
}

/* 10, or 422-10: the chroma format, 4:2:0 unless it is said, and the bit depth. */
static struct exercise_format read_format(const char *text)
{
    char *end;
    unsigned long first = strtoul(text, &end, 10);
    if (*end != '-')
        return (struct exercise_format){.chroma = 1, .depth = (unsigned)first};
    return (struct exercise_format){.chroma = first == 444 ? 3 : first == 422 ? 2 : 1,
                                    .depth = (unsigned)strtoul(end + 1, NULL, 10)};
}

static int write_stream(enum exercise_kind kind, char *const *arguments)
{
    struct exercise exercise;
    exercise_begin(&exercise, kind, strtoull(arguments[0], NULL, 10), read_format(arguments[1]),
                   (unsigned)strtoul(arguments[2], NULL, 10));
    bool coded = exercise_run(&exercise) && !exercise.stream.failed;
    if (coded) {
        FILE *file = open_file(arguments[3]);
        fwrite(exercise.stream.bytes, 1, exercise.stream.count / 8, file);
        close_file(file, arguments[3]);
        file = open_file(arguments[4]);
        for (unsigned index = 0; index < exercise.output_count; index++)
            write_frame(file, &exercise.sps, &exercise.pictures[exercise.outputs[index]].frame);
        close_file(file, arguments[4]);
        printf("{\"width\": %u, \"height\": %u, \"chroma\": %u, \"depth\": %u, \"ctb\": %u, "
               "\"frames\": %u, \"bytes\": %zu, \"i_slices\": %u, \"p_slices\": %u, \"b_slices\": %u, "
               "\"samples\": %" PRIu64 ", \"intra\": %" PRIu64 ", \"skipped\": %" PRIu64 "}\n",
               cropped_width(&exercise.sps), cropped_height(&exercise.sps), exercise.sps.chroma_format_idc,
               8 + exercise.sps.bit_depth_luma_minus8,
               1u << hevc_ctb_log2(&exercise.sps), exercise.output_count, exercise.stream.count / 8,
               exercise.types[HEVC_SLICE_I], exercise.types[HEVC_SLICE_P], exercise.types[HEVC_SLICE_B],
               exercise.samples, exercise.intra_samples, exercise.skipped_samples);
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

static int print_wishes(void)
{
    struct exercise_wishes wishes = exercise_measure_wishes();
    printf("{\"same\": %u, \"clipped\": %u, \"least_qp\": %d, \"most_qp\": %d, \"last_qp\": %d, "
           "\"skipped_samples\": %u, \"intra_ctbs\": %u, \"intra_samples\": %u}\n",
           wishes.same, wishes.clipped, wishes.least_qp, wishes.most_qp, wishes.last_qp, wishes.skipped_samples,
           wishes.intra_ctbs, wishes.intra_samples);
    return 0;
}

int main(int argc, char **argv)
{
    static const char *const kinds[] = {"stream", "plain", "skip", "neutral"};
    for (int kind = 0; argc == 7 && kind < 4; kind++)
        if (strcmp(argv[1], kinds[kind]) == 0)
            return write_stream((enum exercise_kind)kind, argv + 2);
    if (argc == 4 && strcmp(argv[1], "hostile") == 0) {
        unsigned count = (unsigned)strtoul(argv[3], NULL, 10);
        printf("{\"requests\": %u, \"taken\": %u}\n", count, exercise_hostile(strtoull(argv[2], NULL, 10), count));
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "memory") == 0) {
        printf("{\"failures\": %u}\n", exercise_memory());
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "wishes") == 0)
        return print_wishes();
    if (argc == 3 && strcmp(argv[1], "rate") == 0)
        return print_rates(strcmp(argv[2], "flat") == 0);
    fprintf(stderr, "usage: hevc_exercise stream|plain|skip|neutral SEED FORMAT PICTURES STREAM FRAMES | "
                    "rate flat|textured | wishes | memory | hostile SEED COUNT\n");
    return 2;
}
