# SPDX-License-Identifier: GPL-2.0-or-later
"""A strict reader of live media playlists and delta updates: draft-pantos-hls-rfc8216bis-22. It collects what is wrong
as pairs of the number of a rule and a text."""

import functools
import re
from dataclasses import dataclass, field, replace
from datetime import datetime
from fractions import Fraction

from playlists import ATTRIBUTE, DATE, FLOAT, FORMS, INTEGER, QUOTED, WORD

# The attributes of each tag, with their forms; those in the second set are required. The last is the clause.
ATTRIBUTES = {
    "EXT-X-SERVER-CONTROL": ({"CAN-SKIP-UNTIL": FLOAT, "CAN-SKIP-DATERANGES": WORD, "HOLD-BACK": FLOAT,
                              "PART-HOLD-BACK": FLOAT, "CAN-BLOCK-RELOAD": WORD}, set(), "4.4.3.8"),
    "EXT-X-PART-INF": ({"PART-TARGET": FLOAT}, {"PART-TARGET"}, "4.4.3.7"),
    "EXT-X-MAP": ({"URI": QUOTED, "BYTERANGE": QUOTED}, {"URI"}, "4.4.4.5"),
    "EXT-X-PART": ({"URI": QUOTED, "DURATION": FLOAT, "INDEPENDENT": WORD, "BYTERANGE": QUOTED, "GAP": WORD},
                   {"URI", "DURATION"}, "4.4.4.9"),
    "EXT-X-SKIP": ({"SKIPPED-SEGMENTS": INTEGER, "RECENTLY-REMOVED-DATERANGES": QUOTED}, {"SKIPPED-SEGMENTS"},
                   "4.4.5.2"),
    "EXT-X-PRELOAD-HINT": ({"TYPE": WORD, "URI": QUOTED, "BYTERANGE-START": INTEGER, "BYTERANGE-LENGTH": INTEGER},
                           {"TYPE", "URI"}, "4.4.5.3"),
    "EXT-X-RENDITION-REPORT": ({"URI": QUOTED, "LAST-MSN": INTEGER, "LAST-PART": INTEGER}, {"URI"}, "4.4.5.4"),
}
# Tags of a whole playlist, each at most once, with the clauses.
ONCE = {"EXT-X-VERSION": "4.4.1.2", "EXT-X-INDEPENDENT-SEGMENTS": "4.4.2.1", "EXT-X-TARGETDURATION": "4.4.3.1",
        "EXT-X-MEDIA-SEQUENCE": "4.4.3.2", "EXT-X-DISCONTINUITY-SEQUENCE": "4.4.3.3", "EXT-X-ENDLIST": "4.4.3.4",
        "EXT-X-PLAYLIST-TYPE": "4.4.3.5", "EXT-X-PART-INF": "4.4.3.7", "EXT-X-SERVER-CONTROL": "4.4.3.8",
        "EXT-X-SKIP": "4.4.5.2"}
# Tags that come before the parts of their segment.
OF_FIRST_PART = {"EXT-X-DISCONTINUITY", "EXT-X-MAP", "EXT-X-PROGRAM-DATE-TIME"}


@dataclass(frozen=True)
class Part:
    uri: str
    duration: Fraction
    bytes: tuple = None  # offset and length
    is_independent: bool = False
    is_gap: bool = False


@dataclass(frozen=True)
class Segment:
    uri: str = None  # None: the segment is not complete
    duration: Fraction = Fraction(0)
    map: tuple = None  # URI and byte range
    is_discontinuity: bool = False
    is_gap: bool = False
    date: datetime = None
    parts: tuple = ()

    @property
    def lasting(self):
        """What never changes while the segment is listed, as names and values."""
        return {"URI": self.uri, "EXTINF": self.duration, "EXT-X-MAP": self.map, "EXT-X-GAP": self.is_gap,
                "EXT-X-DISCONTINUITY": self.is_discontinuity, "EXT-X-PROGRAM-DATE-TIME": self.date}

    @property
    def part_duration(self):
        return sum((part.duration for part in self.parts), Fraction(0))


@dataclass
class LivePlaylist:
    """What one response says. Values of tags that are missing or wrong are None."""

    problems: list = field(default_factory=list)
    tags: set = field(default_factory=set)
    version: int = None
    target: int = None
    part_target: Fraction = None
    control: dict = None
    first: int = 0
    discontinuity: int = 0
    kind: str = None
    is_independent: bool = False
    is_complete: bool = False
    skip: dict = None
    segments: list = field(default_factory=list)  # the complete ones
    open: Segment = None
    hints: list = field(default_factory=list)
    reports: list = field(default_factory=list)

    @property
    def skipped(self):
        return int(self.skip.get("SKIPPED-SEGMENTS", 0)) if self.skip is not None else 0

    @property
    def last(self):
        """The number of the last complete segment."""
        return self.first + self.skipped + len(self.segments) - 1

    def number(self, name, fallback=None):
        """A decimal attribute of EXT-X-SERVER-CONTROL."""
        value = (self.control or {}).get(name)
        return Fraction(value) if value is not None else fallback


class Reader:
    def __init__(self, data):
        self.result = LivePlaylist()
        self.next = {}  # what tags say about the next segment
        self.parts = []
        self.map = None
        self.has_begun = False
        self.read(data)

    def complain(self, rule, text):
        self.result.problems.append((rule, text))

    def read(self, data):
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            return self.complain("4.1", f"the text is not UTF-8: {error}")
        if re.search(r"[\0-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f\ufeff]", text.replace("\t", "")):
            self.complain("4.1", "there are control characters or a byte order mark")
        lines = [line.removesuffix("\r") for line in text.split("\n")]
        if lines[0] != "#EXTM3U":
            self.complain("4.4.1.1", f"the first line is {lines[0]!r}")
        for line in lines[1:]:
            if line.startswith("#EXT"):
                name, _, value = line[1:].partition(":")
                self.tag(name, value)
            elif line and not line.startswith("#"):
                self.uri(line)
        self.finish()

    def attributes(self, tag, text):
        found, position = {}, 0
        forms, required, clause = ATTRIBUTES[tag]
        while position < len(text):
            match = ATTRIBUTE.match(text, position)
            if not match:
                self.complain("4.2", f"{tag}: no attribute list at {text[position:position + 40]!r}")
                break
            name, value, position = match[1], match[2], match.end()
            if name in found:
                self.complain("4.2", f"{tag}: {name} is there twice")
            if name in forms and not FORMS[forms[name]].fullmatch(value):
                self.complain("4.2", f"{tag}: {name} is no {forms[name]}: {value}")
                continue
            found[name] = value.strip('"')
        for name in sorted(required - set(found)):
            self.complain(clause, f"{tag} has no {name}")
        for name in {"CAN-BLOCK-RELOAD", "CAN-SKIP-DATERANGES", "INDEPENDENT", "GAP"} & set(found):
            if found[name] != "YES":
                self.complain(clause, f"{tag}: {name}={found[name]} is not defined")
        return found

    def tag(self, name, value):
        result = self.result
        if name in ONCE and name in result.tags:
            self.complain(ONCE[name], f"{name} is there twice")
        result.tags.add(name)
        if name in OF_FIRST_PART and self.parts:
            self.complain("4.4.4.9c", f"{name} is behind a part of its segment")
        found = self.attributes(name, value) if name in ATTRIBUTES else {}
        if name == "EXT-X-PART":
            self.part(found)
        elif name == "EXT-X-MAP":
            self.map = (found.get("URI"), found.get("BYTERANGE"))
        elif name == "EXT-X-PART-INF":
            result.part_target = Fraction(found["PART-TARGET"]) if "PART-TARGET" in found else None
        elif name == "EXT-X-SERVER-CONTROL":
            result.control = found
        elif name == "EXT-X-SKIP":
            result.skip = found
            if self.has_begun or self.next or self.parts:
                self.complain("4.4.5.2", "EXT-X-SKIP is behind a segment")
        elif name == "EXT-X-PRELOAD-HINT":
            result.hints.append(found)
            if found.get("TYPE") not in ("PART", "MAP", None):
                self.complain("4.4.5.3", f"the type of a hint is {found['TYPE']}")
        elif name == "EXT-X-RENDITION-REPORT":
            result.reports.append(found)
        else:
            self.plain(name, value)

    def plain(self, name, value):
        result = self.result
        if name in ("EXT-X-MEDIA-SEQUENCE", "EXT-X-DISCONTINUITY-SEQUENCE", "EXT-X-VERSION", "EXT-X-TARGETDURATION"):
            if not re.fullmatch(r"\d{1,20}", value):
                return self.complain(ONCE[name], f"{name} is no decimal integer: {value!r}")
            if "SEQUENCE" in name and (self.has_begun or self.next or self.parts):
                self.complain(ONCE[name], f"{name} is after the first segment")
            setattr(result, {"EXT-X-MEDIA-SEQUENCE": "first", "EXT-X-DISCONTINUITY-SEQUENCE": "discontinuity",
                             "EXT-X-VERSION": "version", "EXT-X-TARGETDURATION": "target"}[name], int(value))
        elif name == "EXT-X-PLAYLIST-TYPE":
            result.kind = value
            if value not in ("VOD", "EVENT"):
                self.complain("4.4.3.5", f"the type {value!r} is not defined")
        elif name == "EXT-X-INDEPENDENT-SEGMENTS":
            result.is_independent = True
        elif name == "EXT-X-ENDLIST":
            result.is_complete = True
        elif name == "EXTINF":
            duration, comma, _ = value.partition(",")
            if not comma or not FORMS[FLOAT].fullmatch(duration):
                return self.complain("4.4.4.1", f"no duration with a comma: {value!r}")
            self.next[name] = Fraction(duration)
        elif name == "EXT-X-PROGRAM-DATE-TIME":
            if not DATE.fullmatch(value):
                return self.complain("4.4.4.6", f"no date and time with a time zone: {value!r}")
            self.next[name] = datetime.fromisoformat(value.replace("Z", "+00:00"))
        elif name in ("EXT-X-DISCONTINUITY", "EXT-X-GAP"):
            self.next[name] = True
        else:
            self.complain("4.1", f"the tag {name} is none that this judge knows")

    def byte_range(self, text, clause):
        match = re.fullmatch(r"(\d+)@(\d+)", text)
        if not match or int(match[1]) == 0:
            return self.complain(clause, f"no byte range with an offset: {text!r}")
        return (int(match[2]), int(match[1]))

    def part(self, found):
        self.parts.append(Part(
            found.get("URI"), Fraction(found.get("DURATION", 0)),
            self.byte_range(found["BYTERANGE"], "4.4.4.9") if "BYTERANGE" in found else None,
            "INDEPENDENT" in found, "GAP" in found))

    def segment(self, uri):
        return Segment(uri, self.next.get("EXTINF", Fraction(0)), self.map, "EXT-X-DISCONTINUITY" in self.next,
                       "EXT-X-GAP" in self.next, self.next.get("EXT-X-PROGRAM-DATE-TIME"), tuple(self.parts))

    def uri(self, line):
        if line != line.strip() or re.search(r'[\s"<>\\^`{|}]', line) or re.search(r"%(?![0-9A-Fa-f]{2})", line):
            self.complain("4.1", f"no URI: {line!r}")
        if "EXTINF" not in self.next:
            self.complain("4.4.4.1", f"{line} has no EXTINF")
        self.has_begun = True
        self.result.segments.append(self.segment(line))
        self.next, self.parts = {}, []

    def finish(self):
        if self.parts:
            self.result.open = self.segment(None)
        elif self.next:
            self.complain("4.1", "tags of a segment are at the end, without a segment")
        if self.result.target is None:
            self.complain("4.4.3.1", "there is no EXT-X-TARGETDURATION")


@functools.lru_cache(maxsize=None)
def read(data):
    """Reads the bytes of a playlist. The result is shared, so it is not to be changed."""
    return Reader(data).result


def numbered(playlist, known):
    """The complete segments by number, those that are skipped from `known`, the one that is not complete, and the
    numbers that are missing in `known`."""
    found, missing = {}, []
    current = None
    for number in range(playlist.first, playlist.first + playlist.skipped):
        if number in known:
            current = known[number].map
            found[number] = replace(known[number], parts=())
        else:
            missing.append(number)

    def mapped(segment):
        # A delta update does not repeat EXT-X-MAP.
        is_inherited = segment and segment.map is None and playlist.skip is not None
        return replace(segment, map=current) if is_inherited else segment

    for offset, segment in enumerate(playlist.segments):
        found[playlist.first + playlist.skipped + offset] = mapped(segment)
    return found, mapped(playlist.open), missing
