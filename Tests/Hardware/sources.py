# SPDX-License-Identifier: GPL-2.0-or-later
"""Pictures to encode: moving, and of which every frame differs."""

import os
import threading
from pathlib import Path

from runner.commands import make_source
from runner.launch import run
from runner.media import tool_environment
from runner.places import Problem

# By a filter: encoders of ffmpeg 7 take primaries and transfer from pictures alone.
HDR_COLOURS = "setparams=range=tv:colorspace=bt2020nc:color_primaries=bt2020:color_trc=smpte2084"
COLOURS = "setparams=range=tv:colorspace=bt709:color_primaries=bt709:color_trc=bt709"


def finer(chroma, bits):
    """A filter that gives pictures all values of their bits below those of 8, so that a lost bit shows, and each chroma
    sample of denser formats a value of its own."""
    name = f"yuv{chroma}p" + (f"{bits}le" if bits > 8 else "")
    values, most = 1 << (bits - 8) if bits > 8 else 3, (1 << bits) - 1
    planes = [f"{plane}='min({plane}(X,Y)+mod({place},{values}),{most})'"
              for plane, place in (("lum", "X+Y+N"), ("cb", "X+N"), ("cr", "Y+N"))]
    return f"format={name},geq=" + ":".join(planes)


def source_of(folder, size, frames, bits=8, chroma="420"):
    """A file with the pictures, made once per folder. Large ones say what their colours mean, small ones do not."""
    plain = make_source(folder, size, frames)
    usual = bits == 8 and chroma == "420"
    if size[0] < 642 and usual:
        return plain
    path = Path(folder) / plain.with_suffix(".mkv" if usual else f".{chroma}.{bits}bit.mkv").name
    if not path.exists():
        made = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}.mkv")
        filters = [] if usual else [finer(chroma, bits)]
        if size[0] >= 642:
            filters.append(COLOURS if bits == 8 else HDR_COLOURS)
        coding = ["-vf", ",".join(filters), "-c:v", "rawvideo" if usual else "ffv1"]
        ended = run(["ffmpeg", "-nostdin", "-v", "error", "-y", "-i", str(plain), *coding, str(made)],
                    tool_environment(), 300)
        if ended.status != 0:
            raise Problem(f"ffmpeg makes no source: {ended.output}")
        made.rename(path)
    return path
