#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""VideoProc in the reference driver: the same samples as by the rules of reference/conversion.h, done again here; what
it lists; what it finds in clients that err; faults; and ffmpeg's and GStreamer's converters on it."""

import random
import shutil
import sys
import unittest
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import test_driver  # noqa: E402
from test_driver import PERSONAS, DriverTest, kinds  # noqa: E402

from runner.launch import run  # noqa: E402
from runner.places import client_environment  # noqa: E402

PLANES = {"nv12": ((1, 1, 1), (2, 2, 2)), "p010": ((2, 1, 1), (4, 2, 2)), "yuy2": ((4, 2, 1),)}  # bytes, columns, rows
NONE, BT601, BT709, BT2020, EXPLICIT = 0, 1, 2, 12, 13  # VAProcColorStandardType
WEIGHTS = {"bt601": (2990, 1140), "bt709": (2126, 722), "bt2020": (2627, 593)}
WHITE, CENTRE = 255 * 256, 128 * 256


def rounded(value):
    """The integer next to a fraction, the greater one of two."""
    return (2 * value.numerator + value.denominator) // (2 * value.denominator)


def ratio(numerator, denominator):
    return rounded(Fraction(numerator, denominator))


def sizes_of(form, width, height):
    """Bytes of a row, and rows, of each plane."""
    planes = PLANES.get(form, ((4, 1, 1),))
    return [(-(-width // columns) * unit, -(-height // rows)) for unit, columns, rows in planes]


class Picture:
    def __init__(self, form, width, height, data):
        self.form, self.width, self.height, self.data = form, width, height, data
        self.rows = sizes_of(form, width, height)
        self.starts = [sum(size * count for size, count in self.rows[:plane]) for plane in range(len(self.rows))]

    def byte(self, plane, row, place):
        return self.data[self.starts[plane] + row * self.rows[plane][0] + place]

    def word(self, plane, row, index):
        return (self.byte(plane, row, 2 * index) & 0xC0) + 256 * self.byte(plane, row, 2 * index + 1)

    def pixel(self, x, y, background):
        """Three components on the scale of 16 bits."""
        if self.form == "nv12":
            chroma = [256 * self.byte(1, y // 2, x // 2 * 2 + i) for i in (0, 1)]
            return [256 * self.byte(0, y, x), *chroma]
        if self.form == "p010":
            return [self.word(0, y, x), *(self.word(1, y // 2, x // 2 * 2 + i) for i in (0, 1))]
        if self.form == "yuy2":
            chroma = [256 * self.byte(0, y, x // 2 * 4 + i) for i in (1, 3)]
            return [256 * self.byte(0, y, 2 * x), *chroma]
        parts = [256 * self.byte(0, y, 4 * x + i) for i in range(3)]
        alpha = self.byte(0, y, 4 * x + 3) if self.form.endswith("a") else 255
        parts = parts[::-1] if self.form.startswith("b") else parts
        return [ratio(alpha * part + (255 - alpha) * back, 255) for part, back in zip(parts, background)]


def shares(index, source, target):
    """Pairs of a source pixel and its part in a pixel of the target."""
    if target <= source:
        start, end = Fraction(index * source, target), Fraction((index + 1) * source, target)
        pairs = [(k, min(end, k + 1) - max(start, k)) for k in range(int(start), -(-end.numerator // end.denominator))]
        return [(k, Fraction(target, source) * part) for k, part in pairs]
    centre = (Fraction(2 * index + 1, 2) * source / target) - Fraction(1, 2)
    centre = min(max(centre, 0), source - 1)
    low = int(centre)
    return [(low, 1 - (centre - low))] + ([(low + 1, centre - low)] if centre > low else [])


class Space:
    def __init__(self, matrix, full, depth):
        self.red, self.blue = WEIGHTS[matrix]
        self.green = 10000 - self.red - self.blue
        peak = ((1 << depth) - 1) << (16 - depth)
        self.start, self.span, self.chroma = (0, peak, peak) if full else (16 * 256, 219 * 256, 224 * 256)

    def numbers(self):
        return self.red, self.blue, self.start, self.span, self.chroma

    def to_rgb(self, pixel):
        luma = ratio((pixel[0] - self.start) * WHITE, self.span)
        red = luma + ratio(2 * (10000 - self.red) * (pixel[2] - CENTRE) * WHITE, 10000 * self.chroma)
        blue = luma + ratio(2 * (10000 - self.blue) * (pixel[1] - CENTRE) * WHITE, 10000 * self.chroma)
        return [red, ratio(10000 * luma - self.red * red - self.blue * blue, self.green), blue]

    def from_rgb(self, pixel):
        luma = self.red * pixel[0] + self.green * pixel[1] + self.blue * pixel[2]
        return [self.start + ratio(luma * self.span, 10000 * WHITE),
                CENTRE + ratio((10000 * pixel[2] - luma) * self.chroma, 2 * (10000 - self.blue) * WHITE),
                CENTRE + ratio((10000 * pixel[0] - luma) * self.chroma, 2 * (10000 - self.red) * WHITE)]


class Conversion:
    """What the driver is to do, by its written rules; matrices None: red, green and blue."""

    def __init__(self, target, size, source_colour, target_colour, from_region, to_region, background):
        self.target, self.size = target, size
        self.depth = 10 if target == "p010" else 8
        self.source_colour, self.target_colour = source_colour, target_colour
        self.from_region, self.to_region, self.background = from_region, to_region, background

    def run(self, source):
        width, height = self.size
        space = Space(*self.target_colour, self.depth)
        back = [256 * (self.background >> shift & 0xFF) for shift in (16, 8, 0)]
        pixels = [[space.from_rgb(back)] * width for _ in range(height)]
        x, y, columns, rows = self.to_region
        for row in range(rows):
            pixels[y + row][x:x + columns] = [self.pixel(source, space, back, column, row) for column in range(columns)]
        return self.written(pixels)

    def pixel(self, source, space, back, column, row):
        x, y, width, height = self.from_region
        sums = [Fraction(0)] * 3
        for line, share in shares(row, height, self.to_region[3]):
            for place, part in shares(column, width, self.to_region[2]):
                sums = [total + share * part * value
                        for total, value in zip(sums, source.pixel(x + place, y + line, back))]
        mean = [rounded(total) for total in sums]
        if self.source_colour is None:
            return space.from_rgb(mean)
        own = Space(*self.source_colour, 10 if source.form == "p010" else 8)
        return mean if own.numbers() == space.numbers() else space.from_rgb(own.to_rgb(mean))

    def sample(self, value):
        sample = min(max(ratio(value, 1 << (16 - self.depth)), 0), (1 << self.depth) - 1)
        return bytes([sample]) if self.depth == 8 else (sample << 6).to_bytes(2, "little")

    def written(self, pixels):
        width, height = self.size
        out = [self.sample(pixel[0]) for line in pixels for pixel in line]
        for y in range(0, height, 2):
            for x in range(0, width, 2):
                block = [pixel for line in pixels[y:y + 2] for pixel in line[x:x + 2]]
                out += [self.sample(ratio(sum(pixel[i] for pixel in block), len(block))) for i in (1, 2)]
        return b"".join(out)


class ArithmeticTest(DriverTest):
    def convert(self, source_form, source_size, target_form, target_size, data, *options, **settings):
        (self.folder / "source").write_bytes(data)
        size = "{}x{}".format
        ended = self.client("driver_processing", *options, source_form, size(*source_size), str(self.folder / "source"),
                            target_form, size(*target_size), str(self.folder / "target"), **settings)
        self.assertEqual((ended.status, ended.output), (0, ""))
        self.assertEqual(self.findings(), [])
        return (self.folder / "target").read_bytes()

    def check(self, source_form, source_size, target_form, target_size, *, standards=(BT709, BT709),
              full=(False, False), regions=(None, None), background=0xFF000000, seed=1):
        names = {BT601: "bt601", BT709: "bt709", BT2020: "bt2020"}
        rgb = source_form not in PLANES
        data = random.Random(seed).randbytes(sum(a * b for a, b in sizes_of(source_form, *source_size)))
        options = ["-s", str(standards[0]), "-S", str(standards[1]), "-b", hex(background)]
        options += ["-f", "2" if full[0] else "0", "-F", "2" if full[1] else "1"]
        for flag, region in zip(("-r", "-R"), regions):
            options += [flag, ",".join(map(str, region))] if region else []
        result = self.convert(source_form, source_size, target_form, target_size, data, *options)
        whole = [region or (0, 0, *size) for region, size in zip(regions, (source_size, target_size))]
        conversion = Conversion(target_form, target_size, None if rgb else (names[standards[0]], full[0]),
                                (names[standards[1]], full[1]), *whole, background)
        expected = conversion.run(Picture(source_form, *source_size, data))
        wrong = [i for i, (a, b) in enumerate(zip(result, expected)) if a != b]
        self.assertEqual((len(result), wrong[:5]), (len(expected), []))

    def test_every_format_to_both(self):
        for source in ("nv12", "p010", "yuy2", "bgra", "bgrx", "rgba", "rgbx"):
            for target in ("nv12", "p010"):
                with self.subTest(f"{source} to {target}"):
                    self.check(source, (36, 22), target, (36, 22), background=0x00C08030)

    def test_sizes(self):
        for source, target in (((40, 30), (20, 16)), ((33, 17), (16, 16)), ((20, 16), (50, 44)), ((18, 44), (40, 20)),
                               ((64, 64), (17, 19))):
            for form in ("nv12", "bgrx"):
                with self.subTest(f"{form} {source} to {target}"):
                    self.check(form, source, "nv12", target)

    def test_regions_and_background(self):
        for regions in ((None, (0, 4, 32, 16)), (None, (5, 3, 21, 17)), ((3, 5, 16, 9), None),
                        ((7, 1, 20, 20), (8, 0, 16, 24))):
            with self.subTest(regions):
                self.check("yuy2", (40, 26), "nv12", (32, 24), regions=regions, background=0xFF20D060)

    def test_colours(self):
        for source in ("nv12", "p010", "bgrx"):
            for standards in ((BT601, BT709), (BT709, BT2020), (BT2020, BT601), (BT709, BT709)):
                for full in ((False, True), (True, False), (True, True)):
                    if source == "bgrx" and not full[0]:
                        continue  # red, green and blue are always of full range
                    with self.subTest(f"{source} {standards} {full}"):
                        self.check(source, (20, 16), "p010", (20, 16), standards=standards, full=full)

    def test_known_colours(self):
        """White, black, red, green and blue, as tables of BT.709 and BT.601 have them."""
        colours = {0xFFFFFF: ((235, 128, 128), (235, 128, 128)), 0x000000: ((16, 128, 128), (16, 128, 128)),
                   0xFF0000: ((63, 102, 240), (81, 90, 240)), 0x00FF00: ((173, 42, 26), (145, 54, 34)),
                   0x0000FF: ((32, 240, 118), (41, 240, 110))}
        for colour, expected in colours.items():
            for standard, (luma, blue, red) in zip((BT709, BT601), expected):
                with self.subTest(f"{colour:06x} {standard}"):
                    data = colour.to_bytes(3, "little") + b"\0"
                    result = self.convert("bgrx", (16, 16), "nv12", (16, 16), data * 256, "-S", str(standard))
                    self.assertEqual(result, bytes([luma]) * 256 + bytes([blue, red]) * 64)

    def test_each_side_states_what_the_other_does_not(self):
        data = random.Random(3).randbytes(16 * 16 * 3 // 2)
        self.assertEqual(self.convert("nv12", (16, 16), "nv12", (16, 16), data, "-s", str(BT2020)), data)
        self.assertEqual(self.convert("nv12", (16, 16), "nv12", (16, 16), data, "-S", f"{EXPLICIT},9"), data)
        event, = kinds(self.journal, "conversion")
        self.assertEqual((event["source_matrix"], event["target_matrix"]), ("bt2020", "bt2020"))


MISUSES = {
    "short-buffer": (["buffer-size", "processing-buffer-missing"], ["vaCreateBuffer 0x12", "vaEndPicture 0x12"]),
    "no-buffer": (["processing-buffer-missing"], ["vaEndPicture 0x12"]),
    "two-layers": (["processing-layers"], ["vaEndPicture 0x12"]),
    "filter": (["processing-filter"], ["vaEndPicture 0x20"]),
    "empty-region": (["processing-region-empty"], ["vaEndPicture 0x12"]),
    "region-outside": (["processing-region-outside"], ["vaEndPicture 0x12"]),
    "negative-region": (["processing-region-outside"], ["vaEndPicture 0x12"]),
    "region-pointer": (["processing-region-pointer"], ["vaEndPicture 0x12"]),
    "rotation": (["processing-rotation"], ["vaEndPicture 0x12"]),
    "mirror": (["processing-mirror"], ["vaEndPicture 0x12"]),
    "blend": (["processing-blend"], ["vaEndPicture 0x12"]),
    "references": (["processing-references"], ["vaEndPicture 0x12"]),
    "outputs": (["processing-outputs"], ["vaEndPicture 0x12"]),
    "fields": (["processing-fields"], ["vaEndPicture 0x12"]),
    "tone-mapping": (["processing-tone-mapping"], ["vaEndPicture 0x12"]),
    "flags": (["processing-flags"], ["vaEndPicture 0x12"]),
    "standard": (["processing-colour-standard"], ["vaEndPicture 0x12"]),
    "matrix": (["processing-colour-matrix"], ["vaEndPicture 0x12"]),
    "range": (["processing-colour-range"], ["vaEndPicture 0x12"]),
    "source-is-target": (["processing-source-is-target"], ["vaEndPicture 0x6"]),
    "no-source": (["surface-id-invalid"], ["vaEndPicture 0x6"]),
    "foreign-source": (["surface-used-after-destruction"], ["vaEndPicture 0x6"]),
    "mapped-source": (["surface-mapped-while-processing"], []),
}


class MisuseTest(DriverTest):
    def misuse(self, scenario, source=("nv12", "64x64"), target=("nv12", "64x64"), **settings):
        return self.client("driver_processing", "-m", scenario, *source, "-", *target, "-", **settings)

    def test_each_misuse_is_found_and_nothing_else(self):
        for scenario, (findings, refusals) in MISUSES.items():
            with self.subTest(scenario):
                ended = self.misuse(scenario)
                self.assertEqual(ended.output.split("\n")[:-1], refusals)
                self.assertEqual(self.findings(), sorted(findings))
                self.assertEqual(kinds(self.journal, "terminate")[0]["findings"], len(findings))

    def convert(self, *words, **settings):
        """Converts black, by options, format and size of the source, and format and size of the target."""
        return self.client("driver_processing", *words[:-2], "/dev/zero", *words[-2:], str(self.folder / "target"),
                           **settings)

    def test_what_cannot_be_written_or_is_not_listed(self):
        ended = self.convert("nv12", "64x64", "bgra", "64x64")
        self.assertIn("vaEndPicture 0x6\n", ended.output)
        self.assertEqual(self.findings(), ["processing-target-format"])
        ended = self.convert("p012", "64x64", "nv12", "64x64", limits="hevc=all")
        self.assertIn("vaEndPicture 0x6\n", ended.output)
        self.assertEqual(self.findings(), ["processing-source-format"])
        self.convert("nv12", "8x64", "nv12", "64x64")
        self.assertEqual(self.findings(), ["processing-source-size"])
        self.convert("-S", str(BT2020), "nv12", "64x64", "nv12", "64x64", persona="amd")
        self.assertEqual(self.findings(), ["processing-colour-standard"])
        ended = self.convert("nv12", "64x64", "nv12", "64x64", limits="video-processing=no")
        self.assertIn("vaCreateConfig 0xc\n", ended.output)
        ended = self.convert("p010", "64x64", "nv12", "64x64", limits="formats=nv12")
        self.assertIn("vaCreateSurfaces 0xe\n", ended.output)


class FaultTest(DriverTest):
    def convert(self, faults, timeout=60):
        source = self.folder / "source"
        source.write_bytes(bytes(range(256)) * 24)
        return self.client("driver_processing", "nv12", "64x64", str(source), "nv12", "64x64",
                           str(self.folder / "target"), faults=faults, timeout=timeout)

    def test_another_picture_comes_out(self):
        self.assertEqual(self.convert("processed:1=negative").status, 0)
        source, target = ((self.folder / name).read_bytes() for name in ("source", "target"))
        self.assertEqual(target, bytes(255 - sample for sample in source[:4096]) + source[4096:])
        self.assertEqual([fault["target"] for fault in kinds(self.journal, "fault")], ["processed"])

    def test_statuses_hangs_and_lost_devices(self):
        self.assertIn("vaEndPicture 0x18\n", self.convert("vaEndPicture:1=status:0x18").output)
        self.assertIn("vaGetImage 0x1\n", self.convert("processed:1=device-lost").output)
        self.assertTrue(self.convert("processed:1=hang", timeout=3).timed_out)
        ended = self.client("driver_processing", "-m", "mapped-source", "nv12", "64x64", "-", "nv12", "64x64", "-",
                            faults="processed:1=hang")
        self.assertEqual(ended.status, 0, ended.output)  # whoever does not wait can end

    def test_only_what_pictures_can_do(self):
        for fault in ("processed:1=status:0x1", "processed:1=size:0", "processed:1=overflow"):
            self.assertIn("vaInitialize 0x12", self.convert(fault).output)


@unittest.skipUnless(shutil.which("ffmpeg"), "ffmpeg is not installed")
class FfmpegTest(DriverTest):
    def ffmpeg(self, form, filters, target, *output, **settings):
        command = ["ffmpeg", "-v", "error", "-init_hw_device", "vaapi=gpu:/dev/dri/renderD128", "-f", "lavfi",
                   "-i", "testsrc2=size=322x180:rate=25", "-frames:v", "3", "-vf",
                   f"format={form},hwupload,scale_vaapi={filters},hwdownload,format={target}", *output]
        if self.journal.exists():
            self.journal.unlink()
        environment = client_environment(self.built, journal=self.journal, **settings)
        ended = run(command, environment, 60)
        self.assertEqual((ended.status, ended.output), (0, ""))
        # Surfaces go before contexts when it encodes, too. It says of what it makes what it knows of the source.
        known = {"surface-destroyed-before-context"}
        known |= {"processing-colour-identity"} if form.startswith("bgr") else set()
        self.assertLessEqual(set(self.findings()), known)
        self.assertEqual(len(kinds(self.journal, "conversion")), 3)

    def test_scale_vaapi_converts(self):
        for persona in PERSONAS:
            for form, target in (("bgra", "nv12"), ("bgr0", "nv12"), ("yuyv422", "nv12"), ("p010le", "nv12"),
                                 ("nv12", "p010le"), ("nv12", "nv12")):
                with self.subTest(f"{persona} {form} to {target}"):
                    made = self.folder / "frames"
                    options = f"w=160:h=120:format={target.removesuffix('le')}"
                    self.ffmpeg(form, options, target, "-f", "framemd5", "-y", str(made), persona=persona)
                    hashes = [line.split()[-1] for line in made.read_text().splitlines() if not line.startswith("#")]
                    self.assertEqual(hashes, [event["target_md5"] for event in kinds(self.journal, "conversion")])


@unittest.skipUnless(shutil.which("gst-launch-1.0"), "GStreamer is not installed")
class GStreamerTest(DriverTest):
    def test_vapostproc_converts(self):
        for form, target in (("BGRx", "NV12"), ("YUY2", "NV12"), ("P010_10LE", "NV12"), ("NV12", "P010_10LE")):
            with self.subTest(f"{form} to {target}"):
                made = self.folder / "made"
                command = ["gst-launch-1.0", "-q", "videotestsrc", "num-buffers=3", "!",
                           f"video/x-raw,format={form},width=320,height=180", "!", "vapostproc", "!",
                           f"video/x-raw,format={target},width=160,height=120", "!", "filesink", f"location={made}"]
                if self.journal.exists():
                    self.journal.unlink()
                environment = client_environment(self.built, journal=self.journal)
                environment["GST_REGISTRY"] = str(self.folder / "registry")
                ended = run(command, environment, 120)
                self.assertEqual(ended.status, 0, ended.output)
                self.assertEqual(len(kinds(self.journal, "conversion")), 3)
                self.assertEqual(self.findings(), [])


class SanitizedTest(test_driver.SanitizedTest):
    test_clients = test_misuses = test_faults = None  # those are done there

    def test_conversions(self):
        shim = {"LD_PRELOAD": str(self.plain / "librender_node.so")}
        for options in ((), ("-R", "3,5,41,33"), ("-r", "1,1,17,63")):
            ended = self.client("driver_processing", *options, "yuy2", "64x64", "/dev/zero", "p010", "50x46",
                                str(self.folder / "target"), extra=shim)
            self.assertEqual((ended.status, ended.output), (0, ""))
        for scenario in MISUSES:
            ended = self.client("driver_processing", "-m", scenario, "nv12", "64x64", "-", "nv12", "64x64", "-",
                                extra=shim)
            self.assertNotRegex(ended.output, "Sanitizer|runtime error")


if __name__ == "__main__":
    unittest.main()
