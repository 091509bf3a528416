# SPDX-License-Identifier: GPL-2.0-or-later
"""Command lines of other people's VA-API clients for a row of the table."""

import os
import re
import threading
from pathlib import Path

from .launch import run
from .media import tool_environment
from .places import Problem

DEVICE = "/dev/dri/renderD128"


def make_source(folder, size, frames, rate=25, bits=8):
    """A file of moving, coloured things with some noise, Y4M of 8 bits or FFV1 in Matroska of 10 bits, all of which
    vary; made once per folder."""
    path = Path(folder) / f"source-{size[0]}x{size[1]}-{frames}.{'mkv' if bits == 10 else 'y4m'}"
    if not path.exists():
        # Threads may want the same one at the same time.
        made = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}{path.suffix}")
        planes = "lum='lum(X,Y)+mod(X+Y+N,4)':cb='cb(X,Y)+mod(X,3)':cr='cr(X,Y)+mod(Y,3)'"
        form = ["-vf", f"format=yuv420p10le,geq={planes}", "-c:v", "ffv1"] if bits == 10 else ["-pix_fmt", "yuv420p"]
        ended = run(["ffmpeg", "-nostdin", "-v", "error", "-y", "-f", "lavfi", "-i",
                     f"testsrc2=size={size[0]}x{size[1]}:rate={rate}", "-frames:v", str(frames), *form, str(made)],
                    tool_environment(), 120)
        if ended.status != 0:
            raise Problem(f"ffmpeg makes no source: {ended.output}")
        made.rename(path)
    return path


def bit_rate(size):
    """A rate in bits per second that suits the size and stays below every level's limit for it."""
    return max(100_000, size[0] * size[1] * 2)


FFMPEG_PROFILES = {"constrained-baseline": "constrained_baseline", "main-10": "main10"}


def pixel_format(row):
    """What the row's surfaces hold, by the name that ffmpeg has for it."""
    return "p010le" if row.profile == "main-10" else "nv12"


def gstreamer_format(row):
    return "P010_10LE" if row.profile == "main-10" else "NV12"


def ffmpeg_command(row, source, output, key_interval=6, extra=()):
    rate = bit_rate(row.size)
    control = {
        "cqp": ["-qp", "26"],
        "cbr": ["-b:v", str(rate), "-maxrate", str(rate)],
        "vbr": ["-b:v", str(rate), "-maxrate", str(rate * 3 // 2)],
        "icq": ["-global_quality", "26"],
        "qvbr": ["-b:v", str(rate), "-maxrate", str(rate * 3 // 2), "-global_quality", "26"],
        "avbr": ["-b:v", str(rate)],
    }[row.rate_control]
    b_frames = {"0": ["-bf", "0"], "2": ["-bf", "2"], "2-pyramid": ["-bf", "3", "-b_depth", "2"]}[row.b_frames]
    return ["ffmpeg", "-nostdin", "-hide_banner", "-v", "warning", "-y", "-vaapi_device", DEVICE, "-i", str(source),
            "-vf", f"format={pixel_format(row)},hwupload", "-c:v", f"{row.codec}_vaapi",
            "-rc_mode", row.rate_control.upper(), *control, *b_frames,
            *(["-coder", row.entropy] if row.codec == "h264" else []), "-slices", str(row.slices),
            "-g", str(key_interval), "-profile:v", FFMPEG_PROFILES.get(row.profile, row.profile),
            *(["-low_power", "1"] if row.low_power else []), *extra, str(output)]


def gstreamer_va_command(row, source, output, key_interval=6, extra=()):
    kilobits = bit_rate(row.size) // 1000
    control = {
        "cqp": ["qpi=26", "qpp=28", "qpb=30"],
        "cbr": [f"bitrate={kilobits}"],
        "vbr": [f"bitrate={kilobits}", "target-percentage=80"],
        "icq": ["qpi=26"],
        "qvbr": [f"bitrate={kilobits}", "qpi=26"],
    }[row.rate_control]
    b_frames = {"0": ["b-frames=0"], "2": ["b-frames=2"], "2-pyramid": ["b-frames=3", "b-pyramid=true"]}[row.b_frames]
    encoder = "h264" if row.codec == "h264" else "h265"
    entropy = [f"cabac={str(row.entropy == 'cabac').lower()}"] if row.codec == "h264" else []
    reader = ["matroskademux", "!", "avdec_ffv1"] if str(source).endswith(".mkv") else ["y4mdec"]
    exact = ["chroma-mode=none", "matrix-mode=none", "dither=none"] if row.profile == "main-10" else []
    return ["gst-launch-1.0", "-q", "filesrc", f"location={source}", "!", *reader, "!", "videoconvert", *exact, "!",
            f"video/x-raw,format={gstreamer_format(row)}", "!", f"va{encoder}{'lp' if row.low_power else ''}enc",
            f"rate-control={row.rate_control}", *control, *b_frames, *entropy,
            f"num-slices={row.slices}", f"key-int-max={key_interval}", *extra, "!",
            f"video/x-{encoder},profile={row.profile},stream-format=byte-stream", "!", "filesink",
            f"location={output}"]


def gstreamer_vaapi_command(row, source, output, key_interval=6, extra=()):
    """GStreamer's plug-in vaapi (1.22) has five coded buffers and waits once for one, then takes the wake-up for a
    buffer: it loses pictures, ends, or hangs when its output thread is late. So pyramids are low, and frames come no
    faster than it can take."""
    kilobits = bit_rate(row.size) // 1000
    control = {
        "cqp": ["init-qp=26"],
        "cbr": [f"bitrate={kilobits}"],
        "vbr": [f"bitrate={kilobits}", "target-percentage=80"],
        "icq": ["quality-factor=26"],
        "qvbr": [f"bitrate={kilobits}", "quality-factor=26"],
    }[row.rate_control]
    b_frames = {"0": ["max-bframes=0"], "2": ["max-bframes=2"],
                "2-pyramid": ["prediction-type=hierarchical-b", "temporal-levels=3"]}[row.b_frames]
    return ["gst-launch-1.0", "-q", "filesrc", f"location={source}", "!", "y4mdec", "!", "videoconvert", "!",
            "video/x-raw,format=NV12", "!", "identity", "sleep-time=30000", "!", "vaapih264enc",
            f"rate-control={row.rate_control}", *control, *b_frames,
            f"cabac={str(row.entropy == 'cabac').lower()}", f"num-slices={row.slices}",
            f"keyframe-period={key_interval}", f"tune={'low-power' if row.low_power else 'none'}", *extra, "!",
            f"video/x-h264,profile={row.profile},stream-format=byte-stream", "!", "filesink", f"location={output}"]


COMMANDS = {"ffmpeg": ffmpeg_command, "gstreamer-va": gstreamer_va_command,
            "gstreamer-vaapi": gstreamer_vaapi_command}


def command_for(row, source, output, **options):
    return COMMANDS[row.program](row, source, output, extra=row.extra, **options)


def has_element(name, environment):
    """Whether GStreamer offers an element on the device that the environment shows."""
    try:
        return run(["gst-inspect-1.0", "--exists", name], environment, 60).status == 0
    except FileNotFoundError:
        return False


def has_plug_in(name):
    """Whether the file of a GStreamer plug-in lies beside GStreamer's own elements. It says nothing about what the
    plug-in finds on a device."""
    try:
        ended = run(["gst-inspect-1.0", "coreelements"], {**tool_environment(), "LC_ALL": "C"}, 60)
    except FileNotFoundError:
        return False
    file = re.search(r"^ *Filename +(\S.*)$", ended.output, re.M)
    if not file:
        raise Problem(f"gst-inspect-1.0 does not say where coreelements are: {ended.output.strip()[-400:]}")
    return Path(file[1]).with_name(f"libgst{name}.so").exists()


def reason_without(element, plug_in, environment):
    """Why an element cannot be had on the device that the environment shows: "" when it can. A plug-in that is
    installed and does not offer it is a Problem: then the shim or the driver is broken, and skipping would hide it."""
    if not has_plug_in(plug_in):
        return f"GStreamer's plug-in {plug_in} is not installed"
    if not has_element(element, environment):
        raise Problem(f"GStreamer's plug-in {plug_in} is installed, but offers no {element} on the reference driver")
    return ""
