# SPDX-License-Identifier: GPL-2.0-or-later
"""What ffprobe and a reader of headers say of an output."""

import json
import re

from runner.launch import run
from runner.media import tool_environment
from runner.places import Problem


def probe(path, *entries):
    """ffprobe's JSON about the first video stream."""
    ended = run(["ffprobe", "-v", "error", "-select_streams", "v:0", *entries, "-of", "json", str(path)],
                tool_environment(), 120)
    try:
        return json.loads(ended.output)
    except json.JSONDecodeError as error:
        raise Problem(f"ffprobe says of {path}: {ended.output.strip()[-300:]}") from error


def stream_of(path):
    """What describes the stream: profile, level, has_b_frames, width, height, colours."""
    return probe(path, "-show_streams")["streams"][0]


def times_of(path, is_reordered=True):
    """Decode and presentation times of each packet, in units of the container's. Where MPEG-2 transport streams tell one
    time it is both (H.222.0 2.4.3.7); libavformat guesses others if there are B slices, though nothing is reordered."""
    packets = probe(path, "-show_entries", "packet=pts,dts")["packets"]
    if not is_reordered:
        return [(packet.get("pts"), packet.get("pts")) for packet in packets]
    return [(packet.get("dts"), packet.get("pts")) for packet in packets]


def time_base_of(stream):
    numerator, denominator = stream["time_base"].split("/")
    return int(numerator) / int(denominator)


def elements_of(path, *names):
    """Values of syntax elements in the headers of the stream, each as often as it occurs in the first pictures."""
    ended = run(["ffmpeg", "-nostdin", "-hide_banner", "-v", "trace", "-i", str(path), "-map", "0:v:0", "-c", "copy",
                 "-frames:v", "1", "-bsf:v", "trace_headers", "-f", "null", "-"], tool_environment(), 120)
    found = {name: [] for name in names}
    for line in ended.output.splitlines():
        match = re.search(r"\]\s+\d+\s+([\w\[\]]+)\s+[01]+ = (-?\d+)$", line)
        if match and match[1] in found:
            found[match[1]].append(int(match[2]))
    return found


def told_depth(path, described):
    """How many pictures a decoder is told to hold back. HEVC says it outright, which libavformat makes more of where B
    slices stand for those of P pictures."""
    if described["codec_name"] != "hevc":
        return described["has_b_frames"]
    name = "sps_max_num_reorder_pics[0]"
    return max(elements_of(path, name)[name], default=None)


def level_numbers(text, codec="h264"):
    """ffprobe's numbers of a level's name, such as 31 for 3.1, and 93 in HEVC; 1b is 9 in some profiles, 11 with a flag
    in others."""
    if text == "1b":
        return 9, 11
    whole, _, part = text.removesuffix("-high").partition(".")
    return ((int(whole) * 10 + int(part or 0)) * (3 if codec == "hevc" else 1),)


def reorder_depth(order):
    """How many pictures come before one that is shown before them, at most; `order`: of presentation, in decoding
    order."""
    return max((sum(later > value for later in order[:index]) for index, value in enumerate(order)), default=0)
