# SPDX-License-Identifier: GPL-2.0-or-later
"""Pictures to encode: moving, and of which every frame differs."""

from pathlib import Path

from runner.commands import make_source
from runner.launch import run
from runner.media import tool_environment
from runner.places import Problem

# What pictures of 10 bits have below those of 8: all values, so that a lost bit shows.
LOWER_BITS = "format=yuv420p10le,geq=lum='lum(X,Y)+mod(X+Y+N,4)':cb='cb(X,Y)+mod(X+N,4)':cr='cr(X,Y)+mod(Y+N,4)'"
HDR_COLOURS = ["-color_range", "tv", "-colorspace", "bt2020nc", "-color_primaries", "bt2020", "-color_trc",
               "smpte2084"]
COLOURS = ["-color_range", "tv", "-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709"]


def source_of(folder, size, frames, bits=8):
    """A file with the pictures, made once per folder. Large ones say what their colours mean, small ones do not."""
    plain = make_source(folder, size, frames)
    if size[0] < 642 and bits == 8:
        return plain
    path = Path(folder) / plain.with_suffix(".mkv" if bits == 8 else ".10bit.mkv").name
    if not path.exists():
        made = path.with_suffix(".new.mkv")
        coding = ["-c:v", "rawvideo"] if bits == 8 else ["-vf", LOWER_BITS, "-c:v", "ffv1"]
        colours = [] if size[0] < 642 else COLOURS if bits == 8 else HDR_COLOURS
        ended = run(["ffmpeg", "-nostdin", "-v", "error", "-y", "-i", str(plain), *coding, *colours, str(made)],
                    tool_environment(), 300)
        if ended.status != 0:
            raise Problem(f"ffmpeg makes no source: {ended.output}")
        made.rename(path)
    return path
