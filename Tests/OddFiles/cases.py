# SPDX-License-Identifier: GPL-2.0-or-later
"""Odd files: how each is made, what is promised of it, and whether that holds.

A case makes its input with ffmpeg, has it encoded by the built command, and holds the output against the input by what
ffmpeg and ffprobe say of both. `outcome` is the promise, in the words of docs/odd-files.md."""

import re
import struct

from case import CASES, X264, Run, case, joined, moving  # noqa: F401 (Run and CASES are for who runs the cases)
from media import entries, ffmpeg, frame_times, packet_times, psnr, stream, tool

# MARK: - Times

SOUND = ("-f", "lavfi", "-i")


@case("three hours at a variable frame rate",
      "every picture with its own timestamp; audio in sync; no more memory than for a minute", True)
def three_hours(run):
    seconds, source = 3 * 3600, run.path("in.mkv")
    ffmpeg("-f", "lavfi", "-i", f"testsrc2=size=64x48:rate=4:duration={seconds}", *SOUND,
           f"sine=frequency=440:sample_rate=8000:duration={seconds}", "-vf", "setpts=(N+0.8*random(1))*0.25/TB",
           "-fps_mode", "passthrough", "-enc_time_base", "1/1000", *X264, "-pix_fmt", "yuv420p", "-c:a", "aac",
           "-b:a", "16k", source)
    short = run.path("short.mkv")
    ffmpeg("-i", source, "-t", "60", "-c", "copy", short)
    least = run.encode(short)
    result = run.encode(source)
    if not run.done(result) or not run.done(least):
        return
    times = packet_times(result.output)
    run.same_times(times, packet_times(source))
    run.expect(times[-1] > seconds - 1, f"the last picture is at {times[-1]}")
    sound = packet_times(result.output, "a:0")
    run.expect(abs(sound[-1] - times[-1]) < 0.6, f"sound ends at {sound[-1]}, pictures at {times[-1]}")
    run.expect(result.peak < least.peak + 60, f"{result.peak} MiB, {least.peak} for a minute")


@case("timestamps jump ahead by an hour (TS)",
      "the gap is closed and counted as a discontinuity; every picture is encoded")
def clock_jumps(run):
    result = run.encode(with_jump(run, "-mpegts_flags", "+initial_discontinuity"))
    if run.done(result):
        run.same_times(frame_times(result.output), [index / 25 for index in range(100)], 0.06)
        run.expect(result.document["problems"]["discontinuities"] == 1, f"{result.document['problems']}")


@case("two TS files joined by `cat`", "the same; packets appear to be lost at the joint, so the exit status is 3")
def joined_files(run):
    result = run.encode(with_jump(run))
    if run.done(result, status=3):
        run.same_times(frame_times(result.output), [index / 25 for index in range(100)], 0.06)


def with_jump(run, *options):
    first = moving(run, "a.ts", "-bf", "0")
    return joined(run, "in.ts", first, moving(run, "b.ts", "-bf", "0", "-output_ts_offset", "3600", *options))


@case("timestamps wrap around at 33 bits (TS)", "times continue; nothing is reported, because nothing is wrong")
def clock_wraps(run):
    # 2^33 ticks of 90 kHz are 95,443.7 seconds.
    source = moving(run, "in.ts", "-output_ts_offset", "95442.7")
    result = run.encode(source)
    if run.done(result):
        run.same_times(frame_times(result.output), [index / 25 for index in range(50)])
        run.alike(psnr(source, result.output))
        run.expect(not result.document["problems"]["discontinuities"], f"{result.document['problems']}")


@case("one timestamp is an hour ahead (Matroska)",
      "that picture is moved to its place, all others stay; the audio is complete")
def stray_time(run):
    def made(name, *options):
        ffmpeg("-f", "lavfi", "-i", "testsrc2=size=160x90:rate=25:duration=4", *SOUND, "sine=duration=4", *X264, "-bf",
               "0", "-pix_fmt", "yuv420p", "-c:a", "aac", *options, run.path(name))
        return run.path(name)

    whole = made("whole.mkv")
    for stream in ("v", "a"):
        # Not by a copy: ffmpeg 7 takes the times of sound that it copies from `dts` alone.
        source = made(f"in-{stream}.mkv", f"-bsf:{stream}", r"setts=pts=if(eq(N\,50)\,PTS+3600/TB\,PTS)")
        for words in ((), ("--fps", "25")):
            result = run.encode(source, *words)
            if run.done(result):
                run.same_times(frame_times(result.output), frame_times(whole))
                run.same_times(packet_times(result.output, "a:0"), packet_times(whole, "a:0"), 0.03)
                run.expect(result.document["problems"]["repairedTimes"] == 1, f"{result.document['problems']}")


@case("timestamps begin below zero", "the output begins at zero; intervals are kept")
def begins_below_zero(run):
    unchanged = ("-avoid_negative_ts", "disabled", "-muxdelay", "0", "-muxpreload", "0")
    source = moving(run, "in.ts", "-bf", "0", "-output_ts_offset", "-1.5", *unchanged)
    run.expect(frame_times(source)[0] < 0, "the input does not begin below zero")
    result = run.encode(source)
    if run.done(result):
        times = frame_times(result.output)
        run.expect(abs(times[0]) < 0.001, f"the output begins at {times[0]}")
        run.same_times(times, frame_times(source))


@case("repeated timestamps", "every picture, each slightly after the one before; the repairs are counted")
def times_repeat(run):
    source, even = run.path("in.mkv"), moving(run, "even.mkv", coding=("-c:v", "mjpeg", "-q:v", "2"), pixels="yuvj420p")
    ffmpeg("-i", even, "-c", "copy", "-bsf:v", "setts=ts=80*floor(N/2)", source)
    given = packet_times(source)
    run.expect(len(set(given)) == len(given) // 2, "the input's times do not repeat")
    result = run.encode(source)
    if run.done(result):
        times = frame_times(result.output)
        run.expect(len(times) == len(given), f"{len(times)} pictures, not {len(given)}")
        run.expect(all(b > a for a, b in zip(times, times[1:])), "times do not rise")
        run.expect(max(abs(a - b) for a, b in zip(times, given)) < 0.041, "times are far from the input's")
        run.expect(result.document["problems"]["repairedTimes"] > 0, f"{result.document['problems']}")


@case("ten minutes between pictures", "the gaps are kept")
def long_gaps(run):
    source = moving(run, "in.mkv", "-fps_mode", "passthrough", rate="1", seconds=4, filters="setpts=N*600/TB")
    result = run.encode(source)
    if run.done(result):
        run.same_times(frame_times(result.output), [0, 600, 1200, 1800])


@case("1 frame per second", "the rate is kept")
def one_frame_per_second(run):
    rate_is_kept(run, "1", 5)


@case("240 frames per second", "the rate is kept")
def many_frames_per_second(run):
    rate_is_kept(run, "240", 1)


@case("23.976 frames per second", "the exact fraction is kept")
def film_rate(run):
    rate_is_kept(run, "24000/1001", 2)


def rate_is_kept(run, rate, seconds):
    source = moving(run, "in.mp4", rate=rate, seconds=seconds)
    result = run.encode(source)
    if run.done(result):
        given, found = (stream(path, "r_frame_rate,avg_frame_rate") for path in (source, result.output))
        run.expect(given == found, f"{found}, not {given}")
        run.same_times(frame_times(result.output), frame_times(source), 0.0002)


@case("packed B-frames without timestamps (AVI)", "every picture, evenly spaced, in order")
def avi_without_times(run):
    source = moving(run, "in.avi", "-bf", "2", coding=("-c:v", "mpeg4", "-q:v", "2"))
    result = run.encode(source)
    if run.done(result):
        times = frame_times(result.output)
        run.same_times(times, [index / 25 for index in range(50)])
        run.alike(psnr(source, result.output))


@case("one picture", "one picture")
def one_picture(run):
    source = moving(run, "in.mp4", "-frames:v", "1")
    result = run.encode(source)
    if run.done(result):
        run.expect(len(frame_times(result.output)) == 1, "not one picture")


# MARK: - Pictures that change

@case("a slide show with audio", "audio before the first coded picture is kept, whatever its amount")
def slides(run):
    # Nearly 3 MB of sound for each picture, of which the encoder wants more than 40 before it gives the first.
    source = run.path("in.mkv")
    ffmpeg("-f", "lavfi", "-i", "testsrc2=size=64x48:rate=1/30:duration=2400", *SOUND,
           "sine=frequency=440:sample_rate=48000:duration=2400", *X264, "-pix_fmt", "yuv420p", "-c:a", "pcm_s16le", source)
    result = run.encode(source, "--preset", "medium", "--crf", "8", suffix="mkv")
    if run.done(result):
        run.same_times(packet_times(result.output), packet_times(source))
        run.expect(sound(result.output) == sound(source), "the sound is another")
        run.alike(psnr(source, result.output))


def sound(path):
    """A digest of the coded sound."""
    return tool("ffmpeg", "-nostdin", "-v", "error", "-i", path, "-map", "0:a", "-c", "copy", "-f", "md5", "-")[0]


@case("the size changes in mid-stream", "the initial size is kept; later pictures are scaled to fit, with bars")
def size_changes(run):
    first, second = moving(run, "a.h264", size="320x240"), moving(run, "b.h264", size="160x90")
    result = run.encode(joined(run, "in.h264", first, second))
    if run.done(result):
        sizes = {(frame["width"], frame["height"]) for frame in entries(result.output, "frame=width,height")}
        run.expect(sizes == {(320, 240)}, f"sizes {sizes}")
        run.expect(len(frame_times(result.output)) == 100, f"{len(frame_times(result.output))} pictures")
        later = run.path("later.mkv")
        part = "select=gte(n\\,50),crop=320:180:0:30"
        ffmpeg("-i", result.output, "-vf", part, "-fps_mode", "passthrough", *X264, later)
        decibels = psnr(second, later, reference_filters="scale=320:180:flags=bilinear")
        run.expect(decibels > 26, f"{decibels} dB in the part that was fitted in")


@case("8 bits become 10 in mid-stream", "the initial depth is kept; every picture is encoded")
def depth_changes(run):
    first, second = moving(run, "a.h264"), moving(run, "b.h264", pixels="yuv420p10le")
    format_changes(run, first, second)


@case("4:2:0 becomes 4:4:4 in mid-stream", "the output is 4:2:0 throughout; every picture is encoded")
def chroma_changes(run):
    first, second = moving(run, "a.h264"), moving(run, "b.h264", pixels="yuv444p")
    format_changes(run, first, second)


def format_changes(run, first, second):
    result = run.encode(joined(run, "in.h264", first, second))
    if run.done(result):
        formats = {frame["pix_fmt"] for frame in entries(result.output, "frame=pix_fmt")}
        run.expect(formats == {"yuv420p"}, f"formats {formats}")
        for part, source in enumerate((first, second)):
            cut = f"select=between(n\\,{50 * part}\\,{50 * part + 49})"
            run.alike(psnr(source, result.output, coded_filters=cut))


@case("a phone's clip with a rotation matrix", "the pictures are rotated; the output needs no matrix")
def turned(run):
    upright = moving(run, "upright.mp4", size="160x90")
    source = run.path("in.mp4")
    source.write_bytes(with_quarter_turn(upright.read_bytes()))
    run.expect(stream(source, "width:stream_side_data=rotation").get("side_data_list"), "the input has no matrix")
    result = run.encode(source)
    if run.done(result):
        found = stream(result.output, "width,height")
        run.expect((found["width"], found["height"]) == (90, 160), f"{found}")
        matrix = stream(result.output, "width:stream_side_data=rotation").get("side_data_list")
        run.expect(not matrix, f"the output has a matrix: {matrix}")
        run.alike(psnr(source, result.output))  # ffmpeg turns its input by itself


def with_quarter_turn(file):
    """An MP4 file whose track is shown turned by a quarter. ffmpeg 5 and 7 have no option in common for that."""
    # tkhd, ISO/IEC 14496-12 8.3.2: version and flags, 20 bytes of times and identifier, 8 reserved, 8 of layer, volume.
    start = file.index(b"tkhd") + 4 + 4 + 20 + 8 + 8
    return file[:start] + struct.pack(">9i", 0, 1 << 16, 0, -1 << 16, 0, 0, 0, 0, 1 << 30) + file[start + 36:]


# MARK: - Sizes and formats

@case("16x16", "encoded at this size by both codecs")
def smallest(run):
    size_is_kept(run, "16x16", 25)


@case("8192x4320", "encoded at this size by both codecs")
def largest(run):
    size_is_kept(run, "8192x4320", 2)


def size_is_kept(run, size, frames):
    source = moving(run, "in.mkv", "-frames:v", str(frames), size=size)
    for codec in ("h264", "hevc"):
        result = run.encode(source, "--codec", codec)
        if run.done(result):
            found = stream(result.output, "width,height,codec_name")
            run.expect(found == {"codec_name": codec, "width": int(size.split("x")[0]),
                                 "height": int(size.split("x")[1])}, f"{found}")
            run.alike(psnr(source, result.output))


@case("odd sizes: 333x251", "rounded down to 332x250, with a note")
def odd_size(run):
    source = moving(run, "in.mkv", size="333x251", pixels="yuv444p")
    result = run.encode(source)
    if run.done(result):
        found = stream(result.output, "width,height")
        run.expect((found["width"], found["height"]) == (332, 250), f"{found}")
        run.expect(result.document["adjustments"], "nothing is said of it")


@case("non-square pixels", "the pixel aspect ratio is kept")
def not_square(run):
    source = moving(run, "in.mp4", filters="setsar=4/3")
    result = run.encode(source)
    if run.done(result):
        found = stream(result.output, "sample_aspect_ratio")
        run.expect(found["sample_aspect_ratio"] == "4:3", f"{found}")


@case("full range (JPEG)", "stays full range, and the stream says so")
def full_range(run):
    source = moving(run, "in.mkv", coding=("-c:v", "mjpeg", "-q:v", "2"), pixels="yuvj420p")
    result = run.encode(source)
    if run.done(result):
        found = stream(result.output, "color_range")
        run.expect(found.get("color_range") == "pc", f"{found}")


@case("grayscale", "encoded as 4:2:0 without colour")
def grey(run):
    source = moving(run, "in.mkv", coding=("-c:v", "ffv1"), pixels="gray")
    result = run.encode(source)
    if run.done(result):
        run.alike(psnr(source, result.output))


@case("an animated GIF", "encoded as 4:2:0 with the original timestamps")
def animated_gif(run):
    source = moving(run, "in.gif", coding=(), pixels="rgb8", rate="10")
    result = run.encode(source)
    if run.done(result):
        run.same_times(frame_times(result.output), frame_times(source), 0.011)


@case("a still picture (PNG)", "one picture")
def still(run):
    source = run.path("in.png")
    ffmpeg("-f", "lavfi", "-i", "testsrc2=size=160x90", "-frames:v", "1", source)
    result = run.encode(source)
    if run.done(result):
        run.expect(len(frame_times(result.output)) == 1, "not one picture")


# MARK: - Interlaced video, captions, other streams

@case("interlaced, upper field first", "one progressive frame from two fields, unless --deinterlace off")
def upper_field_first(run):
    interlaced(run, "tff", "1")


@case("interlaced, lower field first", "one progressive frame from two fields, unless --deinterlace off")
def lower_field_first(run):
    interlaced(run, "bff", "0")


def interlaced(run, mode, top):
    source = moving(run, "in.mkv", "-flags", "+ildct+ilme", "-top", top, "-x264-params", f"{mode}=1", rate="50",
                    filters=f"interlace=scan={mode}", size="160x96")
    run.expect(entries(source, "frame=interlaced_frame")[0]["interlaced_frame"] == 1, "the input is not interlaced")
    result = run.encode(source)
    if run.done(result):
        run.expect(len(frame_times(result.output)) == 50, f"{len(frame_times(result.output))} pictures")
        run.expect(not entries(result.output, "frame=interlaced_frame")[0]["interlaced_frame"], "still interlaced")
        run.expect(result.document["input"]["interlaced"], "the report does not say that the input is interlaced")
        # Combs of a moving picture are what deinterlacing removes: the output is nearer to bwdif's than to the input.
        decibels = psnr(source, result.output, reference_filters="bwdif=mode=send_frame:deint=all")
        run.expect(decibels > psnr(source, result.output) + 1, f"{decibels} dB from what bwdif makes of it")
    kept = run.encode(source, "--deinterlace", "off")
    if run.done(kept):
        run.alike(psnr(source, kept.output))


def with_captions(run):
    """An H.264 stream with captions before each picture: ATSC A/53 part 4, 6.2.3; two bytes of text in each."""
    plain = moving(run, "plain.h264", "-bf", "0", "-aud", "1")
    delimiter, output = b"\0\0\0\1\x09", b""
    for index, unit in enumerate(plain.read_bytes().split(delimiter)[1:]):
        triplets = bytes([0xFC, 0x41 + index % 26, 0x61 + index % 26, 0xFD, 0x80, 0x80])
        message = b"\xB5\x00\x31GA94\x03\x42\xFF" + triplets + b"\xFF"
        captions = b"\0\0\0\1\x06\x04" + struct.pack("B", len(message)) + message + b"\x80"
        output += delimiter + unit[:1] + captions + unit[1:]
    source = run.path("in.h264")
    source.write_bytes(output)
    return source


def captions(path):
    frames = entries(path, "frame=pts_time:frame_side_data_list")
    kinds = [[data["side_data_type"] for data in frame.get("side_data_list", [])] for frame in frames]
    return sum(any("Closed Captions" in kind for kind in found) for found in kinds), len(frames)


@case("captions in the video (A/53)", "each stays with its picture, in both codecs and every container")
def embedded_captions(run):
    source = with_captions(run)
    run.expect(captions(source) == (50, 50), f"captions in the input: {captions(source)}")
    for codec, suffix in (("h264", "mp4"), ("hevc", "mp4"), ("h264", "ts"), ("hevc", "mkv")):
        result = run.encode(source, "--codec", codec, suffix=suffix)
        if run.done(result):
            found = captions(result.output)
            run.expect(found == (50, 50), f"captions in {codec} in {suffix}: {found}")


@case("captions at another frame rate", "each appears once, in order; those of a dropped picture move to the next one")
def captions_at_another_rate(run):
    source = with_captions(run)
    for rate, count, carrying in (("50", 100, 50), ("12.5", 25, 25)):
        result = run.encode(source, "--fps", rate, "--b-frames", "off")
        if run.done(result):
            found = captions(result.output)
            run.expect(found == (carrying, count), f"captions at {rate}: {found}")
            plain = run.path("out.h264")
            ffmpeg("-i", result.output, "-c", "copy", "-bsf:v", "h264_mp4toannexb", plain)
            messages = re.findall(rb"GA94\x03.\xFF((?:[\xFC\xFD]..)+)", plain.read_bytes(), re.DOTALL)
            text = b"".join(b"".join(re.findall(rb"\xFC(..)", message)) for message in messages)
            wanted = b"".join(bytes([0x41 + index % 26, 0x61 + index % 26]) for index in range(50))
            run.expect(text == wanted, f"text at {rate}: {text}")


@case("audio longer than the video", "both are complete")
def longer_sound(run):
    source = run.path("in.mp4")
    ffmpeg("-f", "lavfi", "-i", "testsrc2=size=160x90:rate=25:duration=1", *SOUND, "sine=duration=4", *X264, "-pix_fmt",
           "yuv420p", "-c:a", "aac", source)
    result = run.encode(source)
    if run.done(result):
        run.expect(len(frame_times(result.output)) == 25, "pictures are lost")
        run.expect(packet_times(result.output, "a:0")[-1] > 3.9, "sound is lost")


@case("a cover picture next to the video", "the video is encoded, not the cover")
def cover(run):
    source, plain = run.path("in.mp4"), moving(run, "plain.mp4")
    ffmpeg("-f", "lavfi", "-i", "color=red:size=64x64", "-frames:v", "1", run.path("cover.png"))
    ffmpeg("-i", run.path("cover.png"), "-i", plain, "-map", "0", "-map", "1", "-c", "copy", "-disposition:v:0",
           "attached_pic", source)
    result = run.encode(source)
    if run.done(result):
        run.expect(len(frame_times(result.output)) == 50, "it is not the video that was encoded")
        run.alike(psnr(plain, result.output))


@case("audio only", "an error: there is no video; nothing is written")
def sound_only(run):
    source = run.path("in.m4a")
    ffmpeg(*SOUND, "sine=duration=1", "-c:a", "aac", source)
    result = run.encode(source)
    run.done(result, status=1)
    run.expect(not result.output.exists(), "there is an output")
    run.expect("video" in result.said, f"not said: {result.said}")


@case("a hole (TS)", "everything before and after it is encoded; data is missing, so the exit status is 3")
def hole(run):
    whole = moving(run, "whole.ts", "-bf", "0", "-g", "10", seconds=8)
    data, source = whole.read_bytes(), run.path("in.ts")
    middle = len(data) // 2 // 188 * 188
    source.write_bytes(data[:middle] + bytes(200_000) + data[middle:])
    result = run.encode(source)
    if run.done(result, status=3):
        count = len(frame_times(result.output))
        run.expect(190 <= count <= 200, f"{count} pictures")
        run.expect(result.document["problems"]["readErrors"] > 0, f"{result.document['problems']}")


@case("truncated in the middle (TS)", "everything that is there is encoded")
def cut(run):
    whole = moving(run, "whole.ts")
    source = run.path("in.ts")
    data = whole.read_bytes()
    source.write_bytes(data[: len(data) * 2 // 3])
    result = run.encode(source)
    run.expect(result.status in (0, 3), f"exit status {result.status}: {result.said[-300:]}")
    if result.output.exists():
        count = len(frame_times(result.output))
        run.expect(20 <= count < 50, f"{count} pictures")
    else:
        run.expect(False, "no output")
