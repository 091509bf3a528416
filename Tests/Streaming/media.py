# SPDX-License-Identifier: GPL-2.0-or-later
"""What the readers of fragmented MP4 and of transport streams find in a segment."""

import functools
import re
import statistics
from dataclasses import dataclass, field
from fractions import Fraction


class Malformed(Exception):
    """Bytes that are no segment."""


@dataclass
class Unit:
    """A sample: an access unit or an audio frame. Times are seconds on the timeline of the presentation."""

    decode: Fraction
    presentation: Fraction
    duration: Fraction  # as stored; in transport streams that of the codec, None for video
    start: int  # the bytes of the segment with all of it
    end: int
    is_sync: bool = None  # as marked in the container; None where it has no mark
    nals: list = field(default_factory=list)  # NAL units with their headers


@dataclass
class Track:
    """A track as its initialization section or its program map describes it."""

    kind: str  # "video" or "audio"
    entry: str  # of the sample description; in transport streams avc3, hev1, mp4a
    is_transport: bool
    timescale: int = 90000
    codec: str = None  # RFC 6381, from the parameter sets or the AAC configuration
    sets: list = field(default_factory=list)  # NAL units of the sample description, or of the first access unit
    record: bytes = b""  # avcC or hvcC
    sequence: object = None  # parameter_sets.Sequence
    problem: str = None  # why there is none
    channels: int = None
    sample_rate: int = None
    object_type: int = None  # of AAC


@dataclass
class Stretch:
    """The units of one segment, with what only one container has."""

    units: list
    track: Track
    tracks: list  # kinds of all tracks in the segment
    problems: list  # pairs of a rule and a text
    timed_metadata: bool = False
    counters: dict = field(default_factory=dict)  # transport streams: first and last continuity counter of each PID
    loudness: bool = None  # fMP4: whether there is a `ludt` box

    @functools.cached_property
    def times(self):
        """The presentation times, in order."""
        return sorted(unit.presentation for unit in self.units)

    @property
    def start(self):
        """The first time; an edit list removes what is before zero."""
        return max(self.times[0], Fraction(0))

    @functools.cached_property
    def last(self):
        """What is presented last."""
        return max(self.units, key=lambda unit: unit.presentation)

    @functools.cached_property
    def step(self):
        """The usual time from one picture, or audio frame, to the next; None for a single one."""
        steps = [after - before for before, after in zip(self.times, self.times[1:])]
        return statistics.median_low(steps) if steps else None

    @property
    def is_hevc(self):
        return self.track.entry in ("hvc1", "hev1")

    @functools.cached_property
    def key_times(self):
        return sorted(unit.presentation for unit in self.units if is_idr(unit, self.is_hevc))


def unit_type(nal, is_hevc):
    return nal[0] >> 1 & 63 if is_hevc else nal[0] & 31


def is_idr(unit, is_hevc):
    types = [unit_type(nal, is_hevc) for nal in unit.nals]
    return any(kind in ((19, 20) if is_hevc else (5,)) for kind in types)


def is_intra(unit, is_hevc):
    """Whether all slices are of random access pictures."""
    types = [unit_type(nal, is_hevc) for nal in unit.nals]
    slices = [kind for kind in types if (kind < 32 if is_hevc else 1 <= kind <= 5)]
    return bool(slices) and all(kind in range(16, 22) if is_hevc else kind == 5 for kind in slices)


def length_prefixed(data):
    """The NAL units of an MP4 sample with prefixes of four bytes."""
    nals, position = [], 0
    while position < len(data):
        size = int.from_bytes(data[position:position + 4], "big")
        if size == 0 or position + 4 + size > len(data):
            raise Malformed(f"a NAL unit of {size} bytes in a sample with {len(data) - position} bytes left")
        nals.append(data[position + 4:position + 4 + size])
        position += 4 + size
    return nals


def byte_stream(data):
    """The NAL units of annex B, without trailing zeros."""
    starts = [match.end() for match in re.finditer(b"\0\0\1", data)]
    ends = [start - 3 for start in starts[1:]] + [len(data)]
    return [data[start:end].rstrip(b"\0") for start, end in zip(starts, ends) if data[start:end].rstrip(b"\0")]


def messages(nal, is_hevc):
    """The types and payloads of an SEI NAL unit."""
    data = nal[2 if is_hevc else 1:].replace(b"\0\0\3", b"\0\0")
    found, position = [], 0
    while position + 2 < len(data):
        values = []
        for _ in range(2):
            value = 0
            while position < len(data) and data[position] == 255:
                value, position = value + 255, position + 1
            if position >= len(data):
                return found
            values.append(value + data[position])
            position += 1
        found.append((values[0], data[position:position + values[1]]))
        position += values[1]
    return found


def sei(unit, is_hevc):
    """The SEI messages of an access unit."""
    kinds = (39, 40) if is_hevc else (6,)
    return [message for nal in unit.nals if unit_type(nal, is_hevc) in kinds for message in messages(nal, is_hevc)]


def has_captions(unit, is_hevc):
    """Whether it has the caption data of ATSC A/53: an SEI message of the type 4 with the identifier GA94."""
    return any(kind == 4 and payload[:7] == b"\xb5\x00\x31GA94" for kind, payload in sei(unit, is_hevc))
