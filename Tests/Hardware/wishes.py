# SPDX-License-Identifier: GPL-2.0-or-later
"""Regions of interest and intra refresh through the command: that the driver gets them, and that what they are for
comes of them."""

import json
import re

from encode import document_in
from runner import media, session
from runner.commands import DEVICE
from runner.launch import run
from sources import source_of

SIZE = (178, 102)
COLUMNS, ROWS = 12, 7  # macroblocks of that


class Encode:
    """One run of `vatoolbox encode` that gave a whole and exact stream without a finding, else `complaints`."""

    def __init__(self, program, folder, *options, frames, persona="intel", limits=""):
        self.folder, self.frames, self.complaints = folder, frames, []
        self.output = folder / "output.h264"
        source = source_of(folder, SIZE, frames)
        command = [str(program), "encode", str(source), "-o", str(self.output), "--json", "--device", DEVICE,
                   "--require-hardware", *options]
        verdict = session.judge(session.Request(command, client="vatoolbox", output=self.output, source=source,
                                                persona=persona, limits=limits, timeout=120, test_encodes=True))
        self.document = document_in(verdict.ended.output)
        kept = {(picture.context, picture.number) for picture in verdict.journal.pictures}
        self.pictures = [entry for entry in verdict.journal.entries if entry.get("kind") == "picture"
                         and ((entry["process"], entry["context"]), entry["picture"]) in kept]
        if not verdict.good or len(self.pictures) != frames:
            self.complaints += [verdict.line(), *map(str, verdict.findings[:6]), json.dumps(self.document.get("error")),
                                *(verdict.decoded.complaints[:4] if verdict.decoded else [])]

    def require(self, condition, what):
        if not condition:
            self.complaints.append(what)


# The stream in parts.

def nal_units(data):
    """The NAL units of a stream in Annex B, with their start codes."""
    starts = [match.start() for match in re.finditer(b"\x00\x00\x01", data)]
    return [data[start:end] for start, end in zip(starts, starts[1:] + [len(data)])]


def type_of(unit):
    return unit[3] & 31


def access_units(data):
    """Lists of NAL units; each access unit of ours begins with a delimiter, or with its first slice."""
    found, has_slice = [[]], False
    for unit in nal_units(data):
        is_slice = type_of(unit) in (1, 5)
        begins = not is_slice or unit[4] & 0x80 != 0  # first_mb_in_slice 0
        if has_slice and begins:
            found.append([])
            has_slice = False
        found[-1].append(unit)
        has_slice = has_slice or is_slice
    return found


def messages_of(unit):
    """Payload types of the messages in an SEI NAL unit (H.264 7.3.2.3)."""
    payload, found = unit[4:].replace(b"\x00\x00\x03", b"\x00\x00").rstrip(b"\x00"), []
    while len(payload) > 2:
        numbers = []
        for _ in ("type", "size"):
            number = 0
            while payload[0] == 255:
                number, payload = number + 255, payload[1:]
            numbers.append(number + payload[0])
            payload = payload[1:]
        found.append(numbers[0])
        payload = payload[numbers[1]:]
    return found


def is_recovery_point(units):
    """Whether a recovery point (H.264 D.1.8) is among the messages."""
    return any(type_of(unit) == 6 and 6 in messages_of(unit) for unit in units)


def decode_leniently(path):
    """Sums of all frames, also of those before which something is missing."""
    sums = path.with_suffix(".md5")
    run(["ffmpeg", "-nostdin", "-v", "quiet", "-y", "-threads", "1", "-flags", "+output_corrupt", "-i", str(path),
         "-map", "0:v:0", "-fps_mode", "passthrough", "-f", "framemd5", "-pix_fmt", "nv12", str(sums)],
        media.tool_environment(), 60)
    return media.frame_md5s(sums.read_text()) if sums.exists() else []


def check_recovery(encode, period):
    """Whoever begins at a recovery point finds the parameter sets there, and has exact pictures from the end of the wave
    on."""
    units = access_units(encode.output.read_bytes())
    points = [index for index, unit in enumerate(units) if is_recovery_point(unit)]
    expected = list(range(1, encode.frames, period))
    encode.require(points == expected, f"recovery points are at {points}, expected {expected}")
    for point in points:
        whole = encode.frames - (point + period - 1)  # the last picture of the wave, and those after it
        if whole <= 0:
            break
        part = encode.folder / "part.h264"
        part.write_bytes(b"".join(unit for access_unit in units[point:] for unit in access_unit))
        decoded = decode_leniently(part)
        right = [picture["reconstruction_md5"] for picture in encode.pictures[-whole:]]
        wrong = [index for index, (one, other) in enumerate(zip(decoded[-whole:], right)) if one != other]
        encode.require(len(decoded) >= whole and not wrong,
                       f"from picture {point} on {len(decoded)} pictures come out; of the last {whole}, {len(wrong)} "
                       f"are not exact: {wrong[:12]}")


def refresh(program, folder, period, stripes, blocks, *options, persona="intel", limits=""):
    """`stripes` of `blocks` macroblocks each are renewed within `period` pictures, again and again."""
    encode = Encode(program, folder, "--intra-refresh", "--keyframe-interval", str(period), "--b-frames", "off",
                    *options, frames=3 * period + 2, persona=persona, limits=limits)
    if encode.complaints:
        return encode.complaints
    idr = [index for index, entry in enumerate(encode.pictures) if entry["idr"]]
    encode.require(idr == [0], f"IDR pictures are {idr}")
    intra = [entry["intra_macroblocks"] for entry in encode.pictures[1:]]
    least = stripes // period * blocks
    encode.require(min(intra) >= least, f"a picture has {min(intra)} intra macroblocks, {least} have to be renewed")
    for first in range(0, 3 * period, period):
        encode.require(sum(intra[first:first + period]) >= stripes * blocks,
                       f"the wave from picture {first + 1} on has {sum(intra[first:first + period])} intra macroblocks")
    check_recovery(encode, period)
    return encode.complaints


def regions(program, folder, given, offsets, *options, persona="intel"):
    """Quantizers are lower or higher where the command was told so. `offsets`: the least and the most of a picture,
    beside its own."""
    words = [word for region in given for word in ("--roi", region)]
    encode = Encode(program, folder, *words, *options, frames=20, persona=persona)
    if not encode.complaints:
        for index, entry in enumerate(encode.pictures):
            found = entry["qp_least"], entry["qp_most"]
            wanted = tuple(min(max(entry["qp"] + offset, 0), 51) for offset in offsets)
            encode.require(found == wanted, f"picture {index}: quantizers {found}, expected {wanted}")
        encode.require(not encode.document["adjustments"], f"adjustments: {encode.document['adjustments']}")
    return encode.complaints[:8]


def all_wishes(full):
    """Names, and functions of the command and a folder."""
    columns, rows = (COLUMNS, ROWS), (ROWS, COLUMNS)
    found = {
        "waves of columns": (refresh, COLUMNS, *columns, "--qp", "28"),
        "short waves of columns, slices": (refresh, 5, *columns, "--qp", "28", "--slices", "3"),
        "waves of rows, in process": (refresh, ROWS, *rows, "--qp", "28", "--isolation", "in-process",
                                      dict(limits="intra-refresh=0x2")),
        "waves of columns, variable rate, low-power entrypoint": (refresh, 8, *columns, "--bitrate", "400k",
                                                                  "--low-power", "on"),
        "waves of columns, constant rate, CAVLC": (refresh, COLUMNS, *columns, "--cbr", "--bitrate", "384k",
                                                   "--entropy", "cavlc"),
        "a better region": (regions, ["16,16,48,32,-8"], (-8, 0), "--qp", "30"),
        "a better and a worse region, B-frames": (regions, ["0,0,40,40,-5", "100,20,70,70,6"], (-5, 6), "--qp", "30",
                                                  "--b-frames", "2"),
        "a region with a variable rate, in process": (regions, ["16,16,48,32,-8"], (-8, 0), "--bitrate", "300k",
                                                      "--isolation", "in-process"),
        "the first of overlapping regions": (regions, ["0,0,178,102,-4", "0,0,178,102,9"], (-4, -4), "--qp", "30"),
    }
    if full:
        low = dict(persona="low-power")
        found["waves on low power"] = (refresh, COLUMNS, *columns, "--qp", "28", low)
        found["the shortest waves"] = (refresh, 2, *columns, "--qp", "28")
    return found


def judge(program, folder, wish):
    """Complaints about one of them."""
    function, *arguments = wish
    named = arguments.pop() if isinstance(arguments[-1], dict) else {}
    return function(program, folder, *arguments, **named)
