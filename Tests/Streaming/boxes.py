# SPDX-License-Identifier: GPL-2.0-or-later
"""Fragmented MP4: ISO/IEC 14496-12 and 14496-15."""

import functools
from dataclasses import dataclass, field
from fractions import Fraction

import parameter_sets
from media import Malformed, Stretch, Track, Unit, length_prefixed

PARENTS = {b"moov", b"trak", b"mdia", b"minf", b"stbl", b"mvex", b"moof", b"traf", b"edts", b"dinf", b"udta"}
# Bytes between the header of a box and the boxes in it.
PREFIXES = {b"stsd": 8, b"avc1": 78, b"avc3": 78, b"hvc1": 78, b"hev1": 78, b"vp09": 78, b"mp4a": 28, b"ac-3": 28,
            b"ec-3": 28, b"fLaC": 28, b"alac": 28, b"dref": 8}


@dataclass
class Box:
    kind: bytes
    start: int  # of the header
    end: int
    data: bytes = field(repr=False)  # of the file
    children: list = field(default_factory=list)

    @property
    def body(self):
        return self.data[self.start + 8:self.end]

    def number(self, offset, size=4):
        """A number at an offset of the body."""
        return int.from_bytes(self.data[self.start + 8 + offset:self.start + 8 + offset + size], "big")

    def all(self, *path):
        found = [child for child in self.children if child.kind == path[0]]
        return found if len(path) == 1 else [box for child in found for box in child.all(*path[1:])]

    def one(self, *path):
        found = self.all(*path)
        if not found:
            raise Malformed(f"no {'/'.join(part.decode() for part in path)} in {self.kind.decode() or 'the file'}")
        return found[0]


def boxes(data, start=0, end=None, is_cut=False):
    """is_cut: whether an mdat may go on behind the end, as in the byte range of an I-frame."""
    found, end = [], len(data) if end is None else end
    while start < end:
        size, kind = int.from_bytes(data[start:start + 4], "big"), data[start + 4:start + 8]
        if is_cut and kind == b"mdat":
            size = min(size, end - start)
        if size < 8 or start + size > end:
            raise Malformed(f"a box {kind!r} of {size} bytes where {end - start} are left")
        box = Box(kind, start, start + size, data)
        if kind in PARENTS or kind in PREFIXES:
            box.children = boxes(data, start + 8 + PREFIXES.get(kind, 0), start + size)
        found.append(box)
        start += size
    return found


def tree(data, is_cut=False):
    return Box(b"", -8, len(data), data, boxes(data, is_cut=is_cut))


@dataclass
class Initialization:
    track: Track
    number: int  # track_ID
    kinds: list  # of all tracks
    defaults: tuple  # of trex: duration, size, flags
    shift: Fraction  # that the edit list subtracts from presentation times
    edits: list  # duration, media time, rate
    problems: list  # pairs of a rule and a text


@functools.lru_cache(512)
def initialization(data):
    """Reads an initialization section."""
    top = tree(data)
    problems = []
    if [box.kind for box in top.children[:2]] != [b"ftyp", b"moov"]:
        problems.append(("RFC 3.3a", f"it begins with {[box.kind.decode() for box in top.children[:2]]}"))
    file_type = top.one(b"ftyp").body
    brands = [file_type[:4]] + [file_type[index:index + 4] for index in range(8, len(file_type), 4)]
    if not any(brand[:3] == b"iso" and brand[3:] >= b"6" or brand == b"cmfc" for brand in brands):
        problems.append(("RFC 3.3a", f"no brand is iso6 or later: {brands}"))
    movie = top.one(b"moov")
    tracks = movie.all(b"trak")
    order = [box.kind for box in movie.children]
    if b"mvex" not in order or not tracks or b"trak" in order[order.index(b"mvex"):]:
        problems.append(("RFC 3.3c", "no mvex follows the last trak"))
    for name in (b"mvhd", b"tkhd"):
        for box in movie.all(name) + movie.all(b"trak", name):
            version, offset = box.number(0, 1), 16 if name == b"mvhd" else 20
            if box.number(offset if version == 0 else offset + 8, 4 if version == 0 else 8):
                problems.append(("RFC 3.3d", f"the duration in {name.decode()} is not zero"))
    for box in tracks:
        table = box.one(b"mdia", b"minf", b"stbl")
        counts = [(b"stts", 4), (b"stsc", 4), (b"stsz", 8), (b"stco", 4)]
        if any(part.number(offset) for name, offset in counts for part in table.all(name)):
            problems.append(("RFC 3.3b", "a sample table is not empty"))
        if any(not entry.number(0, 4) & 1 for entry in box.one(b"mdia", b"minf", b"dinf", b"dref").children):
            problems.append(("RFC 3.3g", "a data reference is external"))
    if not tracks or not movie.all(b"mvex", b"trex"):
        raise Malformed("no track")
    first = tracks[0]
    header = first.one(b"tkhd")
    track = read_track(first)
    extends = movie.one(b"mvex", b"trex")
    kinds = [box.one(b"mdia", b"hdlr").body[8:12] for box in tracks]
    edits = read_edits(first)
    shift = sum((Fraction(max(media, 0), track.timescale) for _, media, _ in edits[:1]), Fraction(0))
    return Initialization(track, header.number(12 if header.number(0, 1) == 0 else 20), kinds,
                          tuple(extends.number(offset) for offset in (12, 16, 20)), shift, edits, problems)


def read_edits(box):
    edits = []
    for table in box.all(b"edts", b"elst"):
        wide = table.number(0, 1) == 1
        size = 8 if wide else 4
        for index in range(table.number(4)):
            offset = 8 + index * (2 * size + 4)
            media = table.number(offset + size, size)
            media -= (1 << 8 * size) if media >> 8 * size - 1 else 0
            edits.append((table.number(offset, size), media, Fraction(table.number(offset + 2 * size), 65536)))
    return edits


def read_track(box):
    header = box.one(b"mdia", b"mdhd")
    timescale = header.number(12 if header.number(0, 1) == 0 else 20)
    description = box.one(b"mdia", b"minf", b"stbl", b"stsd")
    if not description.children or not timescale:
        raise Malformed("no sample description, or no timescale")
    entry = description.children[0]
    is_video = box.one(b"mdia", b"hdlr").body[8:12] == b"vide"
    track = Track("video" if is_video else "audio", entry.kind.decode("latin-1"), False, timescale,
                  entry.kind.decode("latin-1"))
    try:
        if is_video:
            read_video(track, entry)
        else:
            read_audio(track, entry)
    except (ValueError, IndexError, Malformed) as error:
        track.problem = str(error)
    return track


def read_video(track, entry):
    if track.entry in ("avc1", "avc3"):
        track.record = record = entry.one(b"avcC").body
        position, counts = 6, (record[5] & 31, None)
        for count in counts:
            if count is None:
                count, position = record[position], position + 1
            for _ in range(count):
                size = int.from_bytes(record[position:position + 2], "big")
                track.sets.append(record[position + 2:position + 2 + size])
                position += 2 + size
        sequence = next(unit for unit in track.sets if unit[0] & 31 == 7)
        track.sequence = parameter_sets.h264(sequence)
        track.codec = f"{track.entry}.{sequence[1:4].hex()}"
    elif track.entry in ("hvc1", "hev1"):
        track.record = record = entry.one(b"hvcC").body
        position = 23
        for _ in range(record[22]):
            count, position = int.from_bytes(record[position + 1:position + 3], "big"), position + 3
            for _ in range(count):
                size = int.from_bytes(record[position:position + 2], "big")
                track.sets.append(record[position + 2:position + 2 + size])
                position += 2 + size
        sequence = next(unit for unit in track.sets if unit[0] >> 1 & 63 == 33)
        track.sequence = parameter_sets.hevc(sequence)
        track.codec = parameter_sets.hevc_name(track.entry, parameter_sets.Bits(sequence[3:]).data[:12])


def read_audio(track, entry):
    track.channels, track.sample_rate = entry.number(16, 2), entry.number(24, 4) >> 16
    if track.entry != "mp4a":
        return
    data, position = entry.one(b"esds").body, 4
    while position < len(data):  # 14496-1 7.2.6: descriptors
        tag, position, size = data[position], position + 1, 0
        while True:
            byte, position = data[position], position + 1
            size = size << 7 | byte & 127
            if byte < 128:
                break
        if tag == 3:
            position += 3
        elif tag == 4:
            track.codec, position = f"mp4a.{data[position]:02x}", position + 13
        elif tag == 5:
            configuration = data[position:position + size]
            track.object_type = configuration[0] >> 3
            track.codec += f".{track.object_type}"
            value = int.from_bytes(configuration[:2], "big")
            layout = value >> 3 & 15
            track.channels = {7: 8}.get(layout, layout) or track.channels
            break
        else:
            position += size


@functools.lru_cache(1024)
def segment(data, section, is_cut=False):
    """Reads a media segment, or the byte range of an I-frame, that follows an initialization section, both as bytes."""
    begin, top = initialization(section), tree(data, is_cut)
    units, problems, numbers = [], [], set()
    for index, box in enumerate(top.children):
        if box.kind != b"moof":
            continue
        for part in box.all(b"traf"):
            header = part.one(b"tfhd")
            numbers.add(header.number(4))
            if not part.all(b"tfdt"):
                problems.append(("RFC 3.3e", "a track fragment has no tfdt"))
                continue
            following = next((other for other in top.children[index:] if other.kind == b"mdat"), None)
            for unit in fragment_units(begin, box, part, header, following, problems):
                if is_cut and following and unit.start >= following.end:
                    break
                if not following or unit.start < following.start + 8 or unit.end > following.end:
                    raise Malformed("a sample is outside of mdat")
                if begin.track.kind == "video":
                    unit.nals = length_prefixed(data[unit.start:unit.end])
                units.append(unit)
    if numbers - {begin.number}:
        problems.append(("RFC 3.3b", f"there are tracks {sorted(numbers)}, the initialization section has "
                         f"{begin.number}"))
    if not units:
        raise Malformed("no samples")
    return Stretch(units, begin.track, begin.kinds, problems, any(box.kind == b"emsg" for box in top.children))


def fragment_units(begin, fragment, part, header, media, problems):
    flags, offset = header.number(0) & 0xFFFFFF, 8
    if flags & 1:
        problems.append(("RFC 3.3f", "a track fragment has a base data offset"))
        offset += 8
    if not flags & 0x020000:
        problems.append(("RFC 3.3f", "default-base-is-moof is not set"))
    offset += 4 if flags & 2 else 0
    defaults = list(begin.defaults)
    for index, bit in enumerate((8, 16, 32)):
        if flags & bit:
            defaults[index], offset = header.number(offset), offset + 4
    clock = part.one(b"tfdt")
    time = clock.number(4, 8 if clock.number(0, 1) == 1 else 4)
    scale = begin.track.timescale
    for run in part.all(b"trun"):
        flags, position = run.number(0) & 0xFFFFFF, 8
        place = media.start + 8 if media else fragment.end
        if flags & 1:
            place, position = fragment.start + run.number(position), position + 4
        first_flags = None
        if flags & 4:
            first_flags, position = run.number(position), position + 4
        for index in range(run.number(4)):
            values = []
            for default, bit in zip(defaults, (0x100, 0x200, 0x400)):
                if flags & bit:
                    default, position = run.number(position), position + 4
                values.append(default)
            composition = 0
            if flags & 0x800:
                composition, position = run.number(position), position + 4
                composition -= (1 << 32) if run.number(0, 1) and composition >> 31 else 0
            duration, size, marks = values
            marks = first_flags if index == 0 and first_flags is not None else marks
            shown = Fraction(time + composition, scale) - begin.shift
            yield Unit(Fraction(time, scale), shown, Fraction(duration, scale), place, place + size,
                       not marks & 0x10000)
            time, place = time + duration, place + size
