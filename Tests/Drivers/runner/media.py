# SPDX-License-Identifier: GPL-2.0-or-later
"""Sources, and what independent decoders make of a stream."""

import functools
import hashlib
import os
import re
import shutil
import tempfile
from array import array
from dataclasses import dataclass, field
from pathlib import Path

from .launch import run
from .places import Problem


def tool_environment():
    """Decoders run without the shim."""
    return {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "RENDER_NODES")}


@dataclass
class Decoded:
    """What a decoder said."""

    decoder: str
    frames: list = field(default_factory=list)  # MD5 of each frame, in the order of output
    complaints: list = field(default_factory=list)  # every line that it wrote at level error or above

    @property
    def clean(self):
        return not self.complaints and bool(self.frames)


def frame_md5s(text):
    """The MD5s in the output of ffmpeg's framemd5 muxer."""
    return [line.split(",")[-1].strip() for line in text.splitlines() if line and not line.startswith("#")]


def decode_with_ffmpeg(path, timeout=120):
    """Decodes strictly: any line at level error counts, and nothing is concealed in silence. Frames are as in
    the driver's journal: NV12 or P010, and planes of any other format."""
    with tempfile.TemporaryDirectory() as folder:
        sums = Path(folder) / "frames.md5"
        pixel_format = surface_format(path)
        # libavcodec's SIMD code deblocks 12 bits with sums of 16 bits, which overflow at the strongest edges.
        options = ["-cpuflags", "0"] if "12" in pixel_format else []
        ended = run(["ffmpeg", "-nostdin", "-hide_banner", "-v", "error", "-threads", "1", "-err_detect", "explode",
                     *options, "-i", str(path), "-map", "0:v:0", "-fps_mode", "passthrough", "-f", "framemd5", "-pix_fmt",
                     pixel_format, str(sums)], tool_environment(), timeout)
        decoded = Decoded("ffmpeg", complaints=[line for line in ended.output.splitlines() if line.strip()])
        if ended.status != 0:
            decoded.complaints.append(f"ffmpeg: {ended.description}")
        if sums.exists():
            decoded.frames = frame_md5s(sums.read_text())
        return decoded


def has_openh264():
    """Whether GStreamer's openh264dec is installed."""
    return shutil.which("gst-inspect-1.0") is not None and run(["gst-inspect-1.0", "--exists", "openh264dec"],
                                                               tool_environment(), 60).status == 0


def decode_with_openh264(path, timeout=120):
    """Decodes an Annex B stream with GStreamer's openh264dec."""
    decoded = Decoded("openh264")
    size = stream_size(path)
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder) / "frames.nv12"
        ended = run(["gst-launch-1.0", "-q", "filesrc", f"location={path}", "!", "h264parse", "!", "openh264dec", "!",
                     "videoconvert", "!", "video/x-raw,format=NV12", "!", "filesink", f"location={raw}"],
                    tool_environment(), timeout)
        decoded.complaints = [line for line in ended.output.splitlines() if "ERROR" in line or "WARNING" in line]
        if ended.status != 0:
            decoded.complaints.append(f"gst-launch-1.0: {ended.description}")
        if raw.exists():
            decoded.frames = raw_md5s(raw, *size, stride=4)
    return decoded


LIBDE265 = "libde265-dec265"


def has_libde265():
    """Whether libde265's command is installed."""
    return shutil.which(LIBDE265) is not None


def without_repeated_sets(data):
    """An HEVC byte stream in which no sequence parameter set follows that equals the one before it."""
    latest, kept = None, []
    for unit in re.split(b"(?=\x00\x00\x01)", data):
        if len(unit) > 5 and unit[3] >> 1 & 63 == 33:
            content = unit.rstrip(b"\x00")  # a zero of the next start code
            if content == latest:
                continue
            latest = content
        kept.append(unit)
    return b"".join(kept)


def decode_with_libde265(path, timeout=120):
    """Decodes an HEVC byte stream with libde265, which writes planes as they are coded. Its command ends with 1 where
    all went well, and says what it warns of beside how fast it was.

    libde265 (1.0.11) loses the reference pictures where a sequence parameter set comes again between pictures, which
    H.265 7.4.2.4.4 allows and waves of intra refresh need: it is given each set once."""
    decoded = Decoded("libde265")
    size = stream_size(path)
    packing = surface_format(path)
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder) / "frames.yuv"
        stream = Path(folder) / "stream.hevc"
        stream.write_bytes(without_repeated_sets(Path(path).read_bytes()))
        ended = run([LIBDE265, "-q", "-o", str(raw), str(stream)], tool_environment(), timeout)
        # Beside warnings it says how many frames there were, by hundreds and in the end.
        decoded.complaints = [line for line in ended.output.splitlines()
                              if line and "nFrames decoded" not in line and not re.fullmatch(r"frame \d+", line)]
        if ended.status not in (0, 1):
            decoded.complaints.append(f"{LIBDE265}: {ended.description}")
        if raw.exists():
            decoded.frames = planar_md5s(raw, *size, packing)
    return decoded


def of_contents(function):
    """The function of a path, called again only when the file has changed: a program is started each time."""
    remembered = functools.lru_cache(maxsize=64)(lambda path, inode, size, written, rest: function(path, *rest))

    def call(path, *rest):
        if not os.path.exists(path):
            return function(str(path), *rest)
        state = os.stat(path)
        return remembered(str(path), state.st_ino, state.st_size, state.st_mtime_ns, rest)

    return call


@of_contents
def stream_description(path):
    """What ffprobe says of the first video stream: "WIDTH,HEIGHT,PIXELS", and whatever it grumbles about."""
    return run(["ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries", "stream=width,height,pix_fmt",
                "-of", "csv=p=0", path], tool_environment(), 60).output


def stream_size(path):
    """Width and height of the first video stream, as ffprobe reads them."""
    # ffprobe may grumble first: where ffmpeg makes a byte stream of MP4, SEI messages come before the SPS.
    match = re.search(r"^(\d+),(\d+)", stream_description(path), re.M)
    if not match:
        raise Problem(f"{path}: no video stream: {stream_description(path).strip()}")
    return int(match[1]), int(match[2])


def surface_format(path):
    """The pixel format, in ffmpeg's words, that the driver's journal has the frames of a stream in."""
    found = re.search(r"^\d+,\d+,yuvj?(4\d\d)p(10le|12le)?$", stream_description(path), re.M)
    chroma, depth = (found[1], found[2] or "") if found else ("420", "")
    if chroma == "420" and depth != "12le":
        return "p010le" if depth else "nv12"
    return f"yuv{chroma}p{depth}"


def raw_md5s(path, width, height, stride=1):
    """MD5s of the frames of a raw NV12 file. Rows may be padded to a multiple of `stride` bytes."""
    pitch = (width + stride - 1) // stride * stride
    rows = height + (height + 1) // 2
    chroma = (width + 1) // 2 * 2
    sums = []
    with open(path, "rb") as file:
        while len(frame := file.read(pitch * rows)) == pitch * rows:
            digest = hashlib.md5()
            for row in range(rows):
                digest.update(frame[row * pitch:row * pitch + (width if row < height else chroma)])
            sums.append(digest.hexdigest())
    return sums


def planar_md5s(path, width, height, packing):
    """MD5s of the frames of a raw planar file as the driver's journal has them: 4:2:0 of 8 or 10 bits with chroma
    interleaved and samples in the upper bits of 16 (of P010), other formats as they are."""
    if packing.startswith("yuv"):
        area = width * height * (2 if packing.endswith("le") else 1)
        if packing.startswith("yuv444"):
            size = 3 * area
        elif packing.startswith("yuv422"):
            size = 2 * area
        else:
            size = area * 3 // 2
        with open(path, "rb") as file:
            return [hashlib.md5(frame).hexdigest() for frame in iter(lambda: file.read(size), b"")]
    kind, shift = ("H", 6) if packing == "p010le" else ("B", 0)
    bytes_each = 2 if shift else 1
    luma, chroma = width * height * bytes_each, (width + 1) // 2 * ((height + 1) // 2) * bytes_each
    sums = []
    with open(path, "rb") as file:
        while len(frame := file.read(luma + 2 * chroma)) == luma + 2 * chroma:
            # One number of all samples: none has a bit that reaches the next one.
            frame = (int.from_bytes(frame, "little") << shift).to_bytes(len(frame), "little")
            packed = array(kind, bytes(2 * chroma))
            packed[0::2] = array(kind, frame[luma:luma + chroma])
            packed[1::2] = array(kind, frame[luma + chroma:])
            sums.append(hashlib.md5(frame[:luma] + packed.tobytes()).hexdigest())
    return sums


@of_contents
def converted_md5s(path, pixels):
    """MD5s of the frames of a file that says what it holds, converted to these pixels."""
    ended = run(["ffmpeg", "-nostdin", "-v", "error", "-i", path, "-f", "framemd5", "-pix_fmt", pixels, "-"],
                tool_environment(), 120)
    if ended.status != 0:
        raise Problem(f"{path}: {ended.output.strip()}")
    return frame_md5s(ended.output)


def source_md5s(path, size=None, pixels="nv12"):
    """MD5s of the frames of a source as a surface has them: a file that says what it holds, converted to these pixels
    where it has others, or raw NV12 of the size given."""
    path = Path(path)
    if not path.exists():
        raise Problem(f"{path}: no such source")
    if path.suffix in (".y4m", ".mkv"):
        return converted_md5s(path, pixels)
    if not size:
        raise Problem(f"{path}: a raw source needs --source-size WIDTHxHEIGHT")
    return raw_md5s(path, *size)


def psnr(stream, source, size=None):
    """Average PSNR in dB of a stream against its source; None when ffmpeg cannot tell. The Nth frame is held
    against the Nth: filters pair frames by time, so both get one time base and times that count frames."""
    raw = ["-f", "rawvideo", "-pix_fmt", "nv12", "-s", f"{size[0]}x{size[1]}"] if size else []
    ended = run(["ffmpeg", "-nostdin", "-hide_banner", "-i", str(stream), *raw, "-i", str(source), "-lavfi",
                 "[0:v]settb=1/25,setpts=N[a];[1:v]settb=1/25,setpts=N[b];[a][b]psnr", "-f", "null", "-"],
                tool_environment(), 300)
    match = re.search(r"average:(inf|[0-9.]+)", ended.output)
    return float(match[1]) if match else None
