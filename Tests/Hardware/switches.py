# SPDX-License-Identifier: GPL-2.0-or-later
"""Files in whose middle the encoder changes: what ffmpeg, GStreamer and Chromium make of them."""

import json
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import browser
from runner import media
from runner.launch import run
from runner.places import build, compiler

WIDTH, HEIGHT, FRAMES, RATE = 128, 96, 120, 25


@dataclass(frozen=True)
class Case:
    name: str
    encoders: tuple  # parts of the encoders' names, in the order in which they work
    faults: str
    options: tuple
    reordering: int  # has_b_frames of the first encoder
    changes: bool  # whether parameter sets change
    nodes: str = "128=generic"
    has_two_drivers: bool = False


B_FRAMES = ("--b-frames", "2", "--keyframe-interval", "25")
CASES = (
    Case("GPU to x264, B-frames", ("vaapi", "x264"), "vaEndPicture:40=device-lost",
         ("--isolation", "in-process", *B_FRAMES), 1, True),
    Case("GPU to x264, none", ("vaapi", "x264"), "vaEndPicture:40=device-lost",
         ("--isolation", "in-process", "--b-frames", "0", "--keyframe-interval", "30"), 0, True),
    Case("GPU to GPU to x264", ("renderD128", "renderD129", "x264"), "vaEndPicture:40=device-lost",
         ("--isolation", "in-process", *B_FRAMES), 1, True, "128=skl,129=raven", True),
    Case("GPU again, twice", ("vaapi", "vaapi", "vaapi"), "vaEndPicture:50=segv",
         ("--isolation", "process", *B_FRAMES), 1, False),
)

# What becomes of each: name of the file, options.
OUTPUTS = (
    ("plain.mp4", ()),
    ("fragmented.mp4", ("--fragmented",)),
    ("piped.mp4", ("--format", "mp4")),
    ("plain.mov", ()),
    ("plain.mkv", ()),
    ("plain.ts", ()),
    ("plain.h264", ()),
)
BROWSED = ("plain.mp4", "fragmented.mp4", "piped.mp4", "plain.mkv")


def make_source(path):
    """Numbered pictures: eight squares are the number's bits, the lowest first; below, something moves."""
    with open(path, "wb") as file:
        file.write(b"YUV4MPEG2 W%d H%d F%d:1 Ip A1:1 C420jpeg\n" % (WIDTH, HEIGHT, RATE))
        for frame in range(FRAMES):
            bits = b"".join(bytes([235 if frame >> bit & 1 else 16]) * 16 for bit in range(8))
            stripes = bytes(100 + (column + 3 * frame) // 8 % 2 * 60 for column in range(WIDTH))
            moved = stripes[8:] + stripes[:8]
            below = b"".join(moved if row // 8 % 2 else stripes for row in range(HEIGHT - 32))
            file.write(b"FRAME\n" + bits * 32 + below + bytes([128]) * (WIDTH * HEIGHT // 2))


def numbers_of(luma):
    """The numbers of pictures of which there is luma only."""
    numbers = []
    for start in range(0, len(luma) - WIDTH * HEIGHT + 1, WIDTH * HEIGHT):
        row = luma[start + 8 * WIDTH:]
        numbers.append(sum((row[16 * bit + 8] > 128) << bit for bit in range(8)))
    return numbers


def two_drivers(folder, scratch):
    """A folder with the drivers of two makers: the reference driver as Intel's, and as AMD's with its persona."""
    target = Path(scratch) / "drivers"
    target.mkdir()
    (target / "iHD_drv_video.so").write_bytes((folder / "libref_drv_video.so").read_bytes())
    # The dynamic linker takes libraries of one name for one.
    name = b"libtwo_drv_video.so"
    other = target / name.decode()
    other.write_bytes((folder / "libref_drv_video.so").read_bytes().replace(b"libref_drv_video.so", name))
    code = '#include <stdlib.h>\n__attribute__((constructor)) static void choose(void)' \
           ' { setenv("REFERENCE_DRIVER_PERSONA", "amd", 1); }\n'
    command = [compiler(), "-shared", "-fPIC", "-o", target / "radeonsi_drv_video.so", "-x", "c", "-", "-x", "none"]
    subprocess.run([*command, other, "-Wl,--no-as-needed", f"-Wl,-rpath,{target}"], input=code, text=True, check=True)
    return target


class Outcome:
    """One output of one case, and what is wrong with it."""

    def __init__(self, program, case, name, options, source, folder, drivers):
        self.case, self.name = case, name
        self.path = Path(folder) / f"{case.name.replace(' ', '-').replace(',', '')}-{name}"
        self.complaints = []
        self.facts = {}
        self.browsed = {}
        with tempfile.TemporaryDirectory() as home:
            self.encode(program, options, source, drivers, home)
        if not self.complaints:
            self.judge()

    def require(self, condition, what):
        if not condition:
            self.complaints.append(what)

    def encode(self, program, options, source, drivers, home):
        target = "-" if self.name.startswith("piped") else str(self.path)
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("LIBVA_", "REFERENCE_DRIVER_", "RENDER_NODES"))}
        environment |= {
            "LD_PRELOAD": str(build() / "librender_node.so"), "RENDER_NODES": self.case.nodes,
            "LIBVA_DRIVERS_PATH": str(drivers), "LIBVA_MESSAGING_LEVEL": "0",
            "REFERENCE_DRIVER_FAULTS": self.case.faults,
            # What is remembered of failures here is not for the next case.
            "HOME": home, "XDG_CACHE_HOME": home, "XDG_RUNTIME_DIR": home,
        }
        if not self.case.has_two_drivers:
            environment["LIBVA_DRIVER_NAME"] = "libref"
        command = [str(program), "encode", str(source), "-o", target, "--bitrate", "500k", "--codec", "h264",
                   *self.case.options, *options]
        with open(self.path if target == "-" else os.devnull, "wb") as output:
            ended = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.PIPE, timeout=300)
        said = ended.stderr.decode(errors="replace")
        self.require(ended.returncode == 0, f"exit status {ended.returncode}: {said[-400:]}")
        takers = re.findall(r"warning: (?:a new encoder of )?(.*?) takes over ", said)
        wanted = self.case.encoders[1:]
        self.require(len(takers) == len(wanted) and all(part in taker for part, taker in zip(wanted, takers)),
                     f"{wanted} should take over, told is {takers}: {said[-400:]}")

    # Judges

    def judge(self):
        wanted = list(range(FRAMES))
        self.facts["ffmpeg"] = self.compare("ffmpeg", wanted, *self.decode_with_ffmpeg())
        readers = {"mp4": "qtdemux", "mov": "qtdemux", "mkv": "matroskademux", "ts": "tsdemux"}
        reader = readers.get(self.name.split(".")[-1])
        decoder = self.gstreamer_decoder()
        if decoder:
            self.facts["GStreamer"] = self.compare("GStreamer", wanted, *self.decode_with_gstreamer(reader, decoder))
        self.judge_streams()

    def compare(self, who, wanted, numbers, complaints):
        right = sum(number == frame for frame, number in zip(wanted, numbers))
        self.require(numbers == wanted, f"{who} shows {len(numbers)} frames, {right} of them right")
        self.complaints += [f"{who}: {line}" for line in complaints[:3]]
        return f"{right}/{len(numbers)}"

    def decode_with_ffmpeg(self):
        command = ["ffmpeg", "-nostdin", "-v", "error", "-err_detect", "explode", "-i", self.path, "-map", "0:v",
                   "-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt", "gray", "-"]
        ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        complaints = ended.stderr.decode(errors="replace").splitlines()
        return numbers_of(ended.stdout), complaints + ([] if ended.returncode == 0 else [f"status {ended.returncode}"])

    def gstreamer_decoder(self):
        """The best one that is installed. openh264dec mistakes the order of B-frames before every key frame."""
        if shutil.which("gst-inspect-1.0") and run(["gst-inspect-1.0", "--exists", "avdec_h264"], None, 60).status == 0:
            return "avdec_h264"
        return "openh264dec" if self.case.reordering == 0 and media.has_openh264() else None

    def decode_with_gstreamer(self, reader, decoder):
        raw = self.path.with_suffix(".gray")
        elements = [["filesrc", f"location={self.path}"], ["h264parse"], [decoder], ["videoconvert"],
                    ["video/x-raw,format=GRAY8"], ["filesink", f"location={raw}"]]
        if reader:
            elements.insert(1, [reader])
        line = [word for element in elements for word in ("!", *element)][1:]
        ended = run(["gst-launch-1.0", "-q", *line], None, 120)
        complaints = [line for line in ended.output.splitlines() if "ERROR" in line or "WARNING" in line]
        luma = raw.read_bytes() if raw.exists() else b""
        raw.unlink(missing_ok=True)
        return numbers_of(luma), complaints + ([] if ended.status == 0 else [ended.description])

    def judge_streams(self):
        entries = "stream=codec_tag_string,has_b_frames:format=duration:packet=pts_time,dts_time,flags"
        ended = run(["ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries", entries, "-of", "json",
                     str(self.path)], None, 60)
        told = json.loads(ended.output)
        stream, packets = told["streams"][0], told["packets"]
        extension = self.name.split(".")[-1]
        # Containers with a header tell of the first encoder.
        if extension in ("mp4", "mov", "mkv"):
            depth = stream["has_b_frames"]
            self.require(depth == self.case.reordering, f"depth of reordering {depth}")
        if extension in ("mp4", "mov"):
            is_streamed = not self.name.startswith("plain")
            entry = "avc3" if self.case.changes or is_streamed else "avc1"
            self.facts["entry"] = stream["codec_tag_string"]
            self.require(stream["codec_tag_string"] == entry, f"sample entry {stream['codec_tag_string']}, not {entry}")
        if extension != "h264":
            shown = sorted(float(packet["pts_time"]) for packet in packets)
            # Matroska has no decode times.
            timed = [packet for packet in packets if "dts_time" in packet]
            decoded = [float(packet["dts_time"]) for packet in timed]
            steps = [round((time - shown[0]) * RATE, 1) for time in shown]
            self.require(steps == [float(frame) for frame in range(FRAMES)], f"presentation times {steps}")
            self.require(all(one < other for one, other in zip(decoded, decoded[1:])), "decode times do not rise")
            self.require(all(float(packet["dts_time"]) <= float(packet["pts_time"]) for packet in timed),
                         "a picture is decoded after it is shown")
            self.require(abs(float(told["format"]["duration"]) - FRAMES / RATE) < 0.002,
                         f"duration {told['format']['duration']}")
            self.require(extension == "ts" or shown[0] == 0, f"the first picture is at {shown[0]}")
        self.facts["keys"] = sum("K" in packet["flags"] for packet in packets)
        units = self.unit_types()
        keys = [index for index, unit in enumerate(units) if unit == 5 and units[index - 1] != 5]
        described = sum({7, 8} <= set(units[max(0, index - 6):index]) for index in keys)
        self.facts["sets"] = f"{described}/{len(keys)}"
        self.require(described == len(keys) >= 5, f"{described} of {len(keys)} key frames have parameter sets")

    def unit_types(self):
        """Types of NAL units, in decoding order, as they are in the file."""
        command = ["ffmpeg", "-nostdin", "-v", "error", "-i", self.path, "-c", "copy", "-map", "0:v", "-f", "data", "-"]
        data = subprocess.run(command, stdout=subprocess.PIPE, timeout=60, check=True).stdout
        if self.name.endswith((".ts", ".h264")):
            return [data[match.end()] & 31 for match in re.finditer(b"\0\0\1", data)]
        types, position = [], 0
        while position + 5 <= len(data):
            types.append(data[position + 4] & 31)
            position += 4 + int.from_bytes(data[position:position + 4], "big")
        return types

    # Chromium

    def items(self):
        """What Chromium is to play of it."""
        item = {"file": self.path.name, "frames": FRAMES, "rate": RATE, "by": "src"}
        if self.complaints or self.name not in BROWSED:
            return []
        if self.name != "fragmented.mp4":
            return [item]
        data = self.path.read_bytes()
        record = data.index(b"avcC") + 4
        kind = f'video/mp4; codecs="avc3.{data[record + 1:record + 4].hex()}"'
        return [item, item | {"by": "MediaSource", "type": kind}]

    def take(self, seen):
        """Judges what Chromium saw."""
        who = "Chromium" + (" (MediaSource)" if seen["by"] == "MediaSource" else "")
        numbers = seen.get("numbers") or []
        right = sum(number == frame for frame, number in enumerate(numbers))
        self.browsed[seen["by"]] = f"{seen.get('decoded', 0)}, {right}"
        self.require(seen["error"] is None, f"{who}: {seen['error']}")
        self.require(seen.get("decoded") == FRAMES, f"{who} decodes {seen.get('decoded')} frames on the way to the end")
        self.require(numbers == list(range(FRAMES)), f"{who} finds {right} of {FRAMES} frames by seeking")


def browse(outcomes, folder, screenshot=None):
    """Has Chromium play what it can; returns why it did not, or None."""
    items = [(outcome, item) for outcome in outcomes for item in outcome.items()]
    seen = browser.play(folder, [item for _, item in items], screenshot=screenshot)
    if isinstance(seen, str):
        return seen
    for (outcome, _), result in zip(items, seen):
        outcome.take(result)
    return None
