# SPDX-License-Identifier: GPL-2.0-or-later
"""Sources, and what independent decoders make of a stream."""

import hashlib
import os
import re
import shutil
import tempfile
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
    """Decodes strictly: any line at level error counts, and nothing is concealed in silence. Frames are those of a
    driver's surfaces: NV12, or P010 where the stream has 10 bits."""
    with tempfile.TemporaryDirectory() as folder:
        sums = Path(folder) / "frames.md5"
        ended = run(["ffmpeg", "-nostdin", "-hide_banner", "-v", "error", "-threads", "1", "-err_detect", "explode",
                     "-i", str(path), "-map", "0:v:0", "-fps_mode", "passthrough", "-f", "framemd5", "-pix_fmt",
                     surface_format(path), str(sums)], tool_environment(), timeout)
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


def decode_with_libde265(path, timeout=120):
    """Decodes an HEVC byte stream with libde265, which writes planes as they are coded. Its command ends with 1 where
    all went well, and says what it warns of beside how fast it was."""
    decoded = Decoded("libde265")
    size = stream_size(path)
    packing = surface_format(path)
    planar = {"nv12": "yuv420p", "p010le": "yuv420p10le"}[packing]
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder) / "frames.yuv"
        ended = run([LIBDE265, "-q", "-o", str(raw), str(path)], tool_environment(), timeout)
        decoded.complaints = [line for line in ended.output.splitlines() if line and "nFrames decoded" not in line]
        if ended.status not in (0, 1):
            decoded.complaints.append(f"{LIBDE265}: {ended.description}")
        if raw.exists():
            # Another arrangement of the same samples.
            packed = run(["ffmpeg", "-nostdin", "-v", "error", "-f", "rawvideo", "-pix_fmt", planar, "-s",
                          f"{size[0]}x{size[1]}", "-i", str(raw), "-f", "framemd5", "-pix_fmt", packing, "-"],
                         tool_environment(), timeout)
            decoded.frames = frame_md5s(packed.output)
    return decoded


def stream_size(path):
    """Width and height of the first video stream, as ffprobe reads them."""
    ended = run(["ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries", "stream=width,height", "-of",
                 "csv=p=0", str(path)], tool_environment(), 30)
    # ffprobe may grumble first: where ffmpeg makes a byte stream of MP4, SEI messages come before the SPS.
    match = re.search(r"^(\d+),(\d+)", ended.output, re.M)
    if not match:
        raise Problem(f"{path}: no video stream: {ended.output.strip()}")
    return int(match[1]), int(match[2])


def surface_format(path):
    """The pixel format, in ffmpeg's words, of the surfaces that a stream was coded from."""
    ended = run(["ffprobe", "-v", "quiet", "-select_streams", "v:0", "-show_entries", "stream=pix_fmt", "-of", "csv=p=0",
                 str(path)], tool_environment(), 60)
    return "p010le" if "10le" in ended.output else "nv12"


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


def source_md5s(path, size=None, pixels="nv12"):
    """MD5s of the frames of a source as a surface has them: a file that says what it holds, converted to these pixels
    where it has others, or raw NV12 of the size given."""
    path = Path(path)
    if not path.exists():
        raise Problem(f"{path}: no such source")
    if path.suffix in (".y4m", ".mkv"):
        ended = run(["ffmpeg", "-nostdin", "-v", "error", "-i", str(path), "-f", "framemd5", "-pix_fmt", pixels, "-"],
                    tool_environment(), 120)
        if ended.status != 0:
            raise Problem(f"{path}: {ended.output.strip()}")
        return frame_md5s(ended.output)
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
