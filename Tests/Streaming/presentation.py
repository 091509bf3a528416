# SPDX-License-Identifier: GPL-2.0-or-later
"""A presentation: its playlists, and the media that they refer to, all in memory."""

import functools
import statistics
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import boxes
import playlists
import transport
from media import Malformed

DENSE = Fraction(1, 2)


@dataclass
class Part:
    """A segment of a media playlist, with its bytes and what they contain."""

    listed: playlists.Segment
    path: str
    data: bytes = None
    section: bytes = None  # the initialization section
    stretch: object = None  # media.Stretch


@dataclass
class Rendition:
    """A media playlist. `tag` has the attributes by which the multivariant playlist refers to it."""

    path: str
    tag: dict
    playlist: playlists.Playlist
    parts: list = field(default_factory=list)

    @property
    def read(self):
        """The segments that could be read."""
        return [part for part in self.parts if part.stretch]

    @property
    def track(self):
        first = next((part for part in self.parts if part.stretch), None)
        return first.stretch.track if first else None

    @property
    def tracks(self):
        """The different tracks, as initialization sections or first segments describe them."""
        found = []
        for part in self.read:
            if part.stretch.track not in found:
                found.append(part.stretch.track)
        return found

    @property
    def is_hevc(self):
        return bool(self.track) and self.track.entry in ("hvc1", "hev1")

    @functools.cached_property
    def units(self):
        return [unit for part in self.read for unit in part.stretch.units]

    @functools.cached_property
    def step(self):
        """The usual time from one picture, or audio frame, to the next."""
        steps = [part.stretch.step for part in self.read if part.stretch.step is not None]
        if steps:
            return statistics.median_low(steps)
        if self.tag.get("FRAME-RATE"):
            return 1 / Fraction(self.tag["FRAME-RATE"])
        return self.units[0].duration or Fraction(0) if self.units else Fraction(0)

    @property
    def start(self):
        return min(part.stretch.start for part in self.read)

    def end_of(self, part):
        # The last duration in MP4 may be that of the decode times; pictures last until the next one.
        last = part.stretch.last
        return last.presentation + (last.duration or self.step if self.track.kind == "audio" else self.step)

    @property
    def end(self):
        return max(self.end_of(part) for part in self.read)

    def key_times(self):
        return sorted(time for part in self.read for time in part.stretch.key_times)

    @property
    def sizes(self):
        """The durations, and the numbers of bytes."""
        return [(part.listed.duration, part.listed.bytes[1] if part.listed.bytes else len(part.data or b""))
                for part in self.parts]

    @property
    def average(self):
        """The average segment bit rate: RFC 8216 4.1."""
        seconds = sum(duration for duration, _ in self.sizes)
        return 8 * sum(size for _, size in self.sizes) / seconds if seconds else Fraction(0)

    @property
    def peak(self):
        """The peak segment bit rate: of successive segments with 0.5 to 1.5 target durations (RFC 8216 4.1)."""
        target, sizes, rates = self.playlist.target or 1, self.sizes, []
        for first in range(len(sizes)):
            seconds, size = Fraction(0), 0
            for duration, count in sizes[first:]:
                seconds, size = seconds + duration, size + count
                if seconds > target * Fraction(3, 2):
                    break
                if seconds >= target * DENSE:
                    rates.append(8 * size / seconds)
        return max(rates, default=self.average)


class Presentation:
    """files: the bytes of all files by their paths relative to the folder of the multivariant playlist `main`."""

    def __init__(self, files, main):
        self.files, self.main, self.problems = files, main, []
        self.multivariant = self.playlist(main)
        self.variants = [self.rendition(tag) for tag in self.multivariant.variants]
        self.audio = [self.rendition(tag) for tag in self.multivariant.media
                      if tag.get("TYPE") == "AUDIO" and "URI" in tag]
        self.i_frames = [self.rendition(tag) for tag in self.multivariant.i_frames if "URI" in tag]

    @classmethod
    def load(cls, path):
        """Reads a presentation: the multivariant playlist, the folder of the same name, and the manifest beside it."""
        path = Path(path)
        folder = path.with_suffix("")
        found = [path, *sorted(folder.rglob("*"))] + [path.with_suffix(".mpd")]
        return cls({str(file.relative_to(path.parent)): file.read_bytes() for file in found if file.is_file()},
                   path.name)

    def playlist(self, path):
        result = playlists.read(self.files[path])
        self.problems += [(f"RFC {clause}", f"{path}: {text}") for clause, text in result.problems]
        return result

    def rendition(self, tag):
        path = playlists.resolve(self.main, tag["URI"])
        if path not in self.files:
            self.problems.append(("RFC 4.1", f"{self.main}: {tag['URI']} does not exist"))
            return Rendition(path, tag, playlists.Playlist())
        result = Rendition(path, tag, self.playlist(path))
        result.parts = [self.part(path, segment, result.playlist.is_i_frames) for segment in result.playlist.segments]
        return result

    def part(self, base, segment, is_cut):
        part = Part(segment, playlists.resolve(base, segment.uri))
        complain = lambda rule, text: self.problems.append((rule, f"{base}: {segment.uri}: {text}"))  # noqa: E731
        if segment.map is not None:
            part.section = self.files.get(playlists.resolve(base, segment.map))
            if part.section is None:
                return complain("RFC 4.3.2.5", f"its initialization section {segment.map} does not exist") or part
            if segment.map_bytes:
                part.section = part.section[segment.map_bytes[0] or 0:][:segment.map_bytes[1]]
        data = self.files.get(part.path)
        if data is None:
            return complain("RFC 4.1", "it does not exist") or part
        if segment.bytes and sum(segment.bytes) > len(data):
            return complain("RFC 4.3.2.2", f"the byte range ends at {sum(segment.bytes)} of {len(data)} bytes") or part
        part.data = data[segment.bytes[0]:sum(segment.bytes)] if segment.bytes else data
        try:
            if part.data[:1] == b"\x47":
                part.stretch = transport.segment(part.data)
            elif part.section is not None:
                begin = boxes.initialization(part.section)
                self.problems += [(rule, f"{base}: {segment.map}: {text}") for rule, text in begin.problems]
                part.stretch = boxes.segment(part.data, part.section, is_cut)
            elif part.data[4:8] in (b"styp", b"moof", b"sidx"):
                return complain("8.20", "there is no EXT-X-MAP for it") or part
            else:
                raise Malformed("it is neither fragmented MP4 nor a transport stream")
        except (Malformed, IndexError, ValueError) as error:
            return complain("RFC 3", str(error)) or part
        self.problems += [(rule, f"{base}: {segment.uri}: {text}") for rule, text in part.stretch.problems]
        return part

    @property
    def media(self):
        """The variants and the audio renditions that could be read."""
        return [rendition for rendition in self.variants + self.audio if rendition.read]

    @property
    def videos(self):
        return [rendition for rendition in self.variants if rendition.track and rendition.track.kind == "video"]

    @property
    def sounds(self):
        return [rendition for rendition in self.audio if rendition.track]

    @property
    def tricks(self):
        return [rendition for rendition in self.i_frames if rendition.track]

    def group(self, variant):
        """The audio renditions that can be played with a variant."""
        return [rendition for rendition in self.audio if rendition.tag.get("GROUP-ID") == variant.tag.get("AUDIO", 0)]

    def measured(self, variant):
        """The peak and the average bit rate of a variant with the audio of the highest ones."""
        group = self.group(variant)
        return (variant.peak + max((rendition.peak for rendition in group), default=0),
                variant.average + max((rendition.average for rendition in group), default=0))

    @property
    def video_step(self):
        """The duration of a picture, the longest of all variants."""
        return max((video.step for video in self.videos), default=Fraction(0))

    @property
    def tolerance(self):
        """The times of tracks can be equal to the length of a picture or of an audio frame, whichever is longer."""
        return max((rendition.step for rendition in self.media), default=Fraction(0)) * Fraction(101, 100)
