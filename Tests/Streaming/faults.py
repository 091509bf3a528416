# SPDX-License-Identifier: GPL-2.0-or-later
"""Counter-examples: for each rule that is checked, a fault that is planted into a good presentation.

A fault is a rule, the name of the presentation, and a function that changes its files, a dictionary of bytes by path.
None in place of the function: the presentation itself breaks this rule, a SHOULD."""

import fnmatch
import re

import boxes
import parameter_sets
import transport

MAIN = "show.m3u8"
VIDEO, FIRST = "show/*p/index.m3u8", "show/180p/index.m3u8"
TRICKS, SOUND = "show/*p/iframes.m3u8", "show/audio-1/index.m3u8"
INIT, SOUND_INIT = "show/*p/init-1.mp4", "show/audio-1/init-1.mp4"
SECOND = "show/180p/00002.m4s"
VARIANT, TRICK, MEDIA = r"(?<=#EXT-X-STREAM-INF:)", r"(?<=#EXT-X-I-FRAME-STREAM-INF:)", r"(?<=#EXT-X-MEDIA:)"


# Changes of files

def change(paths, function):
    """Changes the bytes of all files with matching paths; at least one must change."""
    def apply(files):
        before = dict(files)
        for path in fnmatch.filter(list(files), paths):
            files[path] = function(files[path])
        assert files != before, f"nothing changes in {paths}"
    return apply


def swap(paths, old, new, count=0):
    """Replaces a regular expression."""
    encode = lambda text: text.encode() if isinstance(text, str) else text  # noqa: E731
    new = new if callable(new) else encode(new)
    return change(paths, lambda data: re.sub(encode(old), new, data, count=count, flags=re.MULTILINE | re.DOTALL))


def line(paths, start, new=""):
    """Replaces all lines that begin so."""
    return swap(paths, rf"^{start}[^\n]*\n", new)


def both(*functions):
    def apply(files):
        for function in functions:
            function(files)
    return apply


def scaled(factor):
    return lambda match: str(int(int(match[0]) * factor)).encode()


def number_at(data, place, value, size=4):
    return data[:place] + value.to_bytes(size, "big") + data[place + size:]


# Changes of boxes

def positions(data, kind):
    """Where the bodies of boxes of a kind begin."""
    return [match.end() for match in re.finditer(re.escape(kind), data)]


def field(paths, kind, offset, value, size=4, which=None):
    """Sets a number in boxes. value: a number, or a function of the old one."""
    def edit(data):
        for index, place in enumerate(positions(data, kind)):
            if which in (None, index):
                old = int.from_bytes(data[place + offset:place + offset + size], "big")
                data = number_at(data, place + offset, value(old) if callable(value) else value, size)
        return data
    return change(paths, edit)


def rename(paths, old, new):
    return change(paths, lambda data: data.replace(old, new))


def append(paths, kind, size):
    return change(paths, lambda data: data + (size + 8).to_bytes(4, "big") + kind + bytes(size))


def movie(paths, arrange):
    """Changes the list of the boxes in moov, each as bytes."""
    def edit(data):
        box = boxes.tree(data).one(b"moov")
        parts = arrange([data[child.start:child.end] for child in box.children])
        content = b"".join(parts)
        return data[:box.start] + (len(content) + 8).to_bytes(4, "big") + b"moov" + content + data[box.end:]
    return change(paths, edit)


def with_sound_track(files):
    """Adds the track of the audio to the initialization sections of the video."""
    data = files[SOUND_INIT]
    track = boxes.tree(data).one(b"moov", b"trak")
    movie(INIT, lambda parts: parts[:2] + [data[track.start:track.end]] + parts[2:])(files)


def second_section(playlist, function, source=None):
    """Gives the last segment of a playlist its own initialization section, a changed copy."""
    def apply(files):
        folder = playlist.rsplit("/", 1)[0]
        files[f"{folder}/init-2.mp4"] = function(files[source or f"{folder}/init-1.mp4"])
        swap(playlist, rb"(#EXTINF:[^\n]*\n[^\n#]*\n#EXT-X-ENDLIST)", rb'#EXT-X-MAP:URI="init-2.mp4"\n\1')(files)
    return apply


# Changes of parameter sets

def escaped(data):
    """Emulation prevention: H.264 7.4.1.1."""
    result, zeros = bytearray(), 0
    for byte in data:
        if zeros >= 2 and byte <= 3:
            result.append(3)
            zeros = 0
        result.append(byte)
        zeros = zeros + 1 if byte == 0 else 0
    return bytes(result)


def edit_sequence(paths, function, header=2):
    """Changes the sequence parameter sets in initialization sections, without their headers; sizes must stay."""
    def edit(data):
        track = boxes.initialization(data).track
        for unit in track.sets:
            kind = unit[0] >> 1 & 63 if header == 2 else unit[0] & 31
            if kind == (33 if header == 2 else 7):
                raw = function(bytearray(unit[header:].replace(b"\0\0\3", b"\0\0")), track.sequence)
                new = unit[:header] + escaped(raw)
                assert len(new) == len(unit), "the parameter set has another size"
                data = data.replace(unit, new)
        return data
    return change(paths, edit)


def hevc_tier(index, value):
    """Sets a byte of profile_tier_level in hvcC and in the sequence parameter set."""
    def in_set(raw, _):
        raw[1 + index] = value
        return bytes(raw)
    return both(edit_sequence(INIT, in_set), field(INIT, b"hvcC", 1 + index, value, 1))


def avc_level(index, value, paths=INIT):
    """Sets a byte of the profile or level in avcC and in the sequence parameter set."""
    def in_set(raw, _):
        raw[index] = value
        return bytes(raw)
    return both(edit_sequence(paths, in_set, 1), field(paths, b"avcC", 1 + index, value, 1))


def colour(paths, index, value, header=2):
    """Sets the primaries (0), the transfer function (1) or the matrix (2) in HEVC's parameter sets."""
    def in_set(raw, sequence):
        place = sequence.colour_bit + 8 * index
        size = 8 * len(raw)
        whole = int.from_bytes(raw, "big")
        shift = size - place - 8
        return (whole & ~(255 << shift) | value << shift).to_bytes(len(raw), "big")
    return edit_sequence(paths, in_set, header)


def configuration(paths, kind, channels):
    """Sets the object type and the channels of an AudioSpecificConfig for 48 kHz."""
    value = kind << 11 | 3 << 7 | channels << 3
    return swap(paths, rb"\x11\x90(?=\x56\xe5)", value.to_bytes(2, "big"))


def entry_channels(count):
    return field("show/audio-*/init-1.mp4", b"mp4a", 16, count, 2, which=0)


# Changes of samples

def first_unit(which, old, new):
    """Changes the header of the first NAL unit of the type `old` of key frames: of the samples `which`, among those."""
    def edit(data):
        places = [match.start() for match in re.finditer(rb"mdat....", data, re.DOTALL)]
        place = places[which] + 4
        while True:
            size = int.from_bytes(data[place:place + 4], "big")
            if data[place + 4] & 31 == old:
                return number_at(data, place + 4, data[place + 4] & 0xE0 | new, 1)
            place += 4 + size
    return edit


def captions(data):
    """Puts an SEI message with caption data in the place of a picture."""
    place = data.index(b"mdat") + 4
    size = int.from_bytes(data[place:place + 4], "big")
    payload = size - 3
    count = payload // 255 + 1
    head = b"\x06\x04" + b"\xff" * ((payload - count) // 255) + bytes([(payload - count) % 255]) + b"\xb5\x00\x31GA94"
    return data[:place + 4] + head + b"\x01" * (size - len(head)) + data[place + 4 + size:]


def later(paths, seconds, which=None):
    """Moves fragments."""
    def apply(files):
        for path in fnmatch.filter(list(files), paths):
            section = next(files[name] for name in files if name.startswith(path.rsplit("/", 1)[0])
                           and "init-1" in name)
            ticks = int(seconds * boxes.initialization(section).track.timescale)
            field(path, b"tfdt", 4, lambda time: time + ticks, 8, which)(files)
    return apply


# Changes of transport streams

def packet(paths, pid, function, first_only=True):
    """Changes the first packet of a PID, or all."""
    def edit(data):
        for place in range(0, len(data), 188):
            if int.from_bytes(data[place + 1:place + 3], "big") & 0x1FFF == pid:
                data = data[:place] + function(data[place:place + 188]) + data[place + 188:]
                if first_only:
                    break
        return data
    return change(paths, edit)


def table(function):
    """Changes a table in a packet and its CRC."""
    def edit(data):
        start = 5 + data[4]
        size = 3 + (int.from_bytes(data[start + 1:start + 3], "big") & 0xFFF)
        body = function(data[start:start + size - 4])
        body = body[:1] + (0xB000 | len(body) + 1).to_bytes(2, "big") + body[3:]
        body += transport.checksum(body).to_bytes(4, "big")
        return (data[:start] + body).ljust(188, b"\xff")[:188]
    return edit


def with_hevc(files):
    """Adds one variant of HEVC, from another presentation."""
    for path, data in files.pop("hevc").items():
        if "180p" in path:
            files[path.replace("180p", "hevc-180p")] = data
        if path == MAIN:
            text = data.decode()
            chosen = re.search(r"#EXT-X-STREAM-INF:[^\n]*\n[^\n]*180p[^\n]*\n", text)[0]
            files[MAIN] += chosen.replace("180p", "hevc-180p").encode()


def last_dropped(playlist):
    return swap(playlist, r"#EXTINF:[^\n]*\n(#EXT-X-BYTERANGE[^\n]*\n)?[^\n#]*\n#EXT-X-ENDLIST", "#EXT-X-ENDLIST")


def whole_segments(files):
    """I-frame playlists whose byte ranges are whole segments."""
    for path in fnmatch.filter(list(files), TRICKS):
        folder = path.rsplit("/", 1)[0]
        swap(path, rb"#EXT-X-BYTERANGE:[^\n]*\n([^\n]*)",
             lambda match: b"#EXT-X-BYTERANGE:%d@0\n%s" % (len(files[f"{folder}/{match[1].decode()}"]),
                                                           match[1]))(files)


def subtitles(kind, extra=""):
    return swap(MAIN, r"(?=#EXT-X-STREAM-INF)", f'#EXT-X-MEDIA:TYPE={kind},GROUP-ID="s",NAME="s"{extra}\n', 1)
