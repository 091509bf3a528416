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


class Codec:
    """What of a codec's streams and pictures differs here."""

    def __init__(self, name, size, columns, rows, block):
        """`size` of the pictures, in luma samples and in blocks that a wave renews; `block`: 16x16 samples of one."""
        self.name, self.size, self.columns, self.rows, self.block = name, size, columns, rows, block

    def type_of(self, unit):
        """nal_unit_type: H.264 7.3.1, H.265 7.3.1.2."""
        return unit[3] & 31 if self.name == "h264" else unit[3] >> 1 & 63

    def is_slice(self, unit):
        return self.type_of(unit) in (1, 5) if self.name == "h264" else self.type_of(unit) < 32

    def is_first_slice(self, unit):
        """first_mb_in_slice 0; first_slice_segment_in_pic_flag."""
        return unit[4 if self.name == "h264" else 5] & 0x80 != 0

    def messages(self, unit):
        """What stands behind the header of a NAL unit with messages that come before slices; empty: of another one."""
        if self.type_of(unit) != {"h264": 6, "hevc": 39}[self.name]:
            return b""
        return unit[4 if self.name == "h264" else 5:]


# HEVC with blocks of 64x64, which the command prefers.
H264 = Codec("h264", (178, 102), 12, 7, 1)
HEVC = Codec("hevc", (384, 256), 6, 4, 16)


class Encode:
    """One run of `vatoolbox encode` that gave a whole and exact stream without a finding, else `complaints`."""

    def __init__(self, program, folder, codec, *options, frames, persona="intel", limits=""):
        self.folder, self.codec, self.frames, self.complaints = folder, codec, frames, []
        self.output = folder / f"output.{codec.name}"
        ten_bits = "main10" in options
        source = source_of(folder, codec.size, frames, 10 if ten_bits else 8)
        command = [str(program), "encode", str(source), "-o", str(self.output), "--json", "--device", DEVICE,
                   "--require-hardware", "--codec", codec.name, *options]
        verdict = session.judge(session.Request(
            command, client="vatoolbox", output=self.output, source=source, persona=persona, limits=limits, timeout=120,
            test_encodes=True, second_decoder=codec.name == "hevc" and media.has_libde265()))
        self.document = document_in(verdict.ended.output)
        kept = {(picture.context, picture.number) for picture in verdict.journal.pictures}
        self.pictures = [entry for entry in verdict.journal.entries if entry.get("kind") == "picture"
                         and ((entry["process"], entry["context"]), entry["picture"]) in kept]
        if not verdict.good or len(self.pictures) != frames:
            self.complaints += [verdict.line(), *map(str, verdict.findings[:6]), json.dumps(self.document.get("error")),
                                *(verdict.decoded.complaints[:4] if verdict.decoded else []),
                                *(verdict.second.complaints[:4] if verdict.second else [])]

    def require(self, condition, what):
        if not condition:
            self.complaints.append(what)


# The stream in parts.

def nal_units(data):
    """The NAL units of a stream in Annex B, with their start codes."""
    starts = [match.start() for match in re.finditer(b"\x00\x00\x01", data)]
    return [data[start:end] for start, end in zip(starts, starts[1:] + [len(data)])]


def access_units(codec, data):
    """Lists of NAL units; each access unit of ours begins with a delimiter, or with its first slice."""
    found, has_slice = [[]], False
    for unit in nal_units(data):
        is_slice = codec.is_slice(unit)
        begins = not is_slice or codec.is_first_slice(unit)
        if has_slice and begins:
            found.append([])
            has_slice = False
        found[-1].append(unit)
        has_slice = has_slice or is_slice
    return found


def message_types(messages):
    """Payload types of messages (H.264 7.3.2.3, H.265 7.3.5)."""
    payload, found = messages.replace(b"\x00\x00\x03", b"\x00\x00").rstrip(b"\x00"), []
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


def is_recovery_point(codec, units):
    """Whether a recovery point (H.264 D.1.8, H.265 D.2.8) is among the messages."""
    return any(6 in message_types(codec.messages(unit)) for unit in units)


def decode_leniently(path):
    """Sums of all frames, also of those before which something is missing."""
    sums = path.with_suffix(".md5")
    run(["ffmpeg", "-nostdin", "-v", "quiet", "-y", "-threads", "1", "-flags", "+output_corrupt", "-i", str(path),
         "-map", "0:v:0", "-fps_mode", "passthrough", "-f", "framemd5", "-pix_fmt", media.surface_format(path), str(sums)],
        media.tool_environment(), 60)
    return media.frame_md5s(sums.read_text()) if sums.exists() else []


def check_recovery(encode, period):
    """Whoever begins at a recovery point finds the parameter sets there, and has exact pictures from the end of the
    wave on."""
    units = access_units(encode.codec, encode.output.read_bytes())
    points = [index for index, unit in enumerate(units) if is_recovery_point(encode.codec, unit)]
    expected = list(range(1, encode.frames, period))
    encode.require(points == expected, f"recovery points are at {points}, expected {expected}")
    for point in points:
        whole = encode.frames - (point + period - 1)  # the last picture of the wave, and those after it
        if whole <= 0:
            break
        part = encode.folder / f"part.{encode.codec.name}"
        part.write_bytes(b"".join(unit for access_unit in units[point:] for unit in access_unit))
        decoded = decode_leniently(part)
        right = [picture["reconstruction_md5"] for picture in encode.pictures[-whole:]]
        wrong = [index for index, (one, other) in enumerate(zip(decoded[-whole:], right)) if one != other]
        encode.require(len(decoded) >= whole and not wrong,
                       f"from picture {point} on {len(decoded)} pictures come out; of the last {whole}, {len(wrong)} "
                       f"are not exact: {wrong[:12]}")


def refresh(program, folder, codec, period, stripes, blocks, *options, persona="intel", limits=""):
    """`stripes` of `blocks` blocks each are renewed within `period` pictures, again and again."""
    encode = Encode(program, folder, codec, "--intra-refresh", "--keyframe-interval", str(period), "--b-frames", "off",
                    *options, frames=3 * period + 2, persona=persona, limits=limits)
    if encode.complaints:
        return encode.complaints
    idr = [index for index, entry in enumerate(encode.pictures) if entry["idr"]]
    encode.require(idr == [0], f"IDR pictures are {idr}")
    intra = [entry["intra_macroblocks"] for entry in encode.pictures[1:]]
    least = stripes // period * blocks * codec.block
    encode.require(min(intra) >= least, f"a picture has {min(intra)} intra macroblocks, {least} have to be renewed")
    for first in range(0, 3 * period, period):
        encode.require(sum(intra[first:first + period]) >= stripes * blocks * codec.block,
                       f"the wave from picture {first + 1} on has {sum(intra[first:first + period])} intra macroblocks")
    check_recovery(encode, period)
    return encode.complaints


def regions(program, folder, codec, given, offsets, *options, persona="intel"):
    """Quantizers are lower or higher where the command was told so. `offsets`: the least and the most of a picture,
    beside its own."""
    words = [word for region in given for word in ("--roi", region)]
    encode = Encode(program, folder, codec, *words, *options, frames=20, persona=persona)
    if not encode.complaints:
        for index, entry in enumerate(encode.pictures):
            found = entry["qp_least"], entry["qp_most"]
            wanted = tuple(min(max(entry["qp"] + offset, 0), 51) for offset in offsets)
            encode.require(found == wanted, f"picture {index}: quantizers {found}, expected {wanted}")
        encode.require(not encode.document["adjustments"], f"adjustments: {encode.document['adjustments']}")
    return encode.complaints[:8]


def of_both_codecs(codec):
    """What either codec is asked for, by name."""
    columns, rows = (codec, codec.columns, codec.columns, codec.rows), (codec, codec.rows, codec.rows, codec.columns)
    stripes = columns[2:]
    return {
        "waves of columns": (refresh, *columns, "--qp", "28"),
        "short waves of columns, slices": (refresh, codec, codec.columns * 5 // 12, *stripes, "--qp", "28", "--slices",
                                           "3"),
        "waves of rows, in process": (refresh, *rows, "--qp", "28", "--isolation", "in-process",
                                      dict(limits="intra-refresh=0x2")),
        "waves of columns, variable rate, low-power entrypoint": (refresh, codec, codec.columns * 2 // 3, *stripes,
                                                                  "--bitrate", "400k", "--low-power", "on"),
        "a better region": (regions, codec, ["16,16,48,32,-8"], (-8, 0), "--qp", "30"),
        "a better and a worse region, B-frames": (regions, codec, ["0,0,40,40,-5", "100,20,70,70,6"], (-5, 6), "--qp",
                                                  "30", "--b-frames", "2"),
        "a region with a variable rate, in process": (regions, codec, ["16,16,48,32,-8"], (-8, 0), "--bitrate", "300k",
                                                      "--isolation", "in-process"),
        "the first of overlapping regions": (regions, codec, ["0,0,{},{},-4".format(*codec.size),
                                                              "0,0,{},{},9".format(*codec.size)], (-4, -4), "--qp",
                                             "30"),
    }


def all_wishes(full):
    """Names, and functions of the command and a folder."""
    found = of_both_codecs(H264) | {f"HEVC: {name}": wish for name, wish in of_both_codecs(HEVC).items()}
    stripes = H264.columns, H264.rows
    found["waves of columns, constant rate, CAVLC"] = (refresh, H264, H264.columns, *stripes, "--cbr", "--bitrate",
                                                       "384k", "--entropy", "cavlc")
    found["HEVC: waves of columns, constant rate, 10 bits"] = (
        refresh, HEVC, HEVC.columns, HEVC.columns, HEVC.rows, "--cbr", "--bitrate", "768k", "--profile", "main10")
    found["HEVC: a better region, 10 bits"] = (
        regions, HEVC, ["64,64,48,32,-8"], (-8, 0), "--qp", "30", "--profile", "main10")
    amd = dict(persona="amd-25")
    found["waves on AMD"] = (refresh, H264, H264.columns, H264.columns, H264.rows, "--qp", "28", amd)
    found["HEVC: waves on AMD"] = (refresh, HEVC, HEVC.columns, HEVC.columns, HEVC.rows, "--qp", "28", amd)
    found["a better region on AMD"] = (regions, H264, ["64,64,48,32,-8"], (-8, 0), "--qp", "30", amd)
    found["HEVC: a better region on AMD"] = (regions, HEVC, ["64,64,48,32,-8"], (-8, 0), "--qp", "30", amd)
    if full:
        for name, codec in (("", H264), ("HEVC: ", HEVC)):
            stripes = codec.columns, codec.rows
            found[f"{name}waves on low power"] = (refresh, codec, codec.columns, *stripes, "--qp", "28",
                                                  dict(persona="low-power"))
            found[f"{name}the shortest waves"] = (refresh, codec, 2, *stripes, "--qp", "28")
    return found


def judge(program, folder, wish):
    """Complaints about one of them."""
    function, *arguments = wish
    named = arguments.pop() if isinstance(arguments[-1], dict) else {}
    return function(program, folder, *arguments, **named)
