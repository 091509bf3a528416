# SPDX-License-Identifier: GPL-2.0-or-later
"""Pictures to encode: moving, and of which every frame differs."""

from pathlib import Path

from runner.commands import make_source
from runner.launch import run
from runner.media import tool_environment
from runner.places import Problem

COLOURS = ["-color_range", "tv", "-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709"]


def source_of(folder, size, frames):
    """A file with the pictures, made once per folder. Large ones say what their colours mean, small ones do not."""
    plain = make_source(folder, size, frames)
    if size[0] < 642:
        return plain
    path = Path(folder) / plain.with_suffix(".mkv").name
    if not path.exists():
        made = path.with_suffix(".new.mkv")
        ended = run(["ffmpeg", "-nostdin", "-v", "error", "-y", "-i", str(plain), "-c:v", "rawvideo", *COLOURS,
                     str(made)], tool_environment(), 120)
        if ended.status != 0:
            raise Problem(f"ffmpeg makes no source: {ended.output}")
        made.rename(path)
    return path
