# SPDX-License-Identifier: GPL-2.0-or-later
"""A strict reader of playlists: RFC 8216, with the tags of rfc8216bis. It accepts nothing that the grammar forbids, and
collects what is wrong as pairs of a clause of RFC 8216 and a text."""

import re
import urllib.parse
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction

QUOTED, INTEGER, FLOAT = "quoted string", "decimal integer", "decimal float"
SIZE, WORD = "resolution", "enumerated string"
FORMS = {
    QUOTED: re.compile(r'"[^"\r\n]*"'),
    INTEGER: re.compile(r"\d{1,20}"),
    FLOAT: re.compile(r"\d+(\.\d+)?"),
    SIZE: re.compile(r"\d+x\d+"),
    WORD: re.compile(r'[^",\s]+'),
}
ATTRIBUTE = re.compile(r'([A-Z0-9-]+)=("[^"\r\n]*"|[^",\s]+)(,(?=.)|$)')

# The attributes of each tag, with their forms; those in the second set are required.
ATTRIBUTES = {
    "EXT-X-MAP": ({"URI": QUOTED, "BYTERANGE": QUOTED}, {"URI"}),
    "EXT-X-MEDIA": ({"TYPE": WORD, "URI": QUOTED, "GROUP-ID": QUOTED, "LANGUAGE": QUOTED, "ASSOC-LANGUAGE": QUOTED,
                     "NAME": QUOTED, "DEFAULT": WORD, "AUTOSELECT": WORD, "FORCED": WORD, "INSTREAM-ID": QUOTED,
                     "CHARACTERISTICS": QUOTED, "CHANNELS": QUOTED, "STABLE-RENDITION-ID": QUOTED,
                     "BIT-DEPTH": INTEGER, "SAMPLE-RATE": INTEGER}, {"TYPE", "GROUP-ID", "NAME"}),
    "EXT-X-STREAM-INF": ({"BANDWIDTH": INTEGER, "AVERAGE-BANDWIDTH": INTEGER, "CODECS": QUOTED, "SCORE": FLOAT,
                          "SUPPLEMENTAL-CODECS": QUOTED, "RESOLUTION": SIZE, "FRAME-RATE": FLOAT, "HDCP-LEVEL": WORD,
                          "ALLOWED-CPC": QUOTED, "VIDEO-RANGE": WORD, "REQ-VIDEO-LAYOUT": QUOTED,
                          "STABLE-VARIANT-ID": QUOTED, "AUDIO": QUOTED, "VIDEO": QUOTED, "SUBTITLES": QUOTED,
                          "CLOSED-CAPTIONS": None, "PATHWAY-ID": QUOTED}, {"BANDWIDTH"}),
    "EXT-X-I-FRAME-STREAM-INF": ({"BANDWIDTH": INTEGER, "AVERAGE-BANDWIDTH": INTEGER, "CODECS": QUOTED, "SCORE": FLOAT,
                                  "RESOLUTION": SIZE, "HDCP-LEVEL": WORD, "VIDEO-RANGE": WORD, "VIDEO": QUOTED,
                                  "URI": QUOTED}, {"BANDWIDTH", "URI"}),
}
CLAUSES = {"EXT-X-MAP": "4.3.2.5", "EXT-X-MEDIA": "4.3.4.1", "EXT-X-STREAM-INF": "4.3.4.2",
           "EXT-X-I-FRAME-STREAM-INF": "4.3.4.3"}
WORDS = {
    ("EXT-X-MEDIA", "TYPE"): {"AUDIO", "VIDEO", "SUBTITLES", "CLOSED-CAPTIONS"},
    ("EXT-X-MEDIA", "DEFAULT"): {"YES", "NO"}, ("EXT-X-MEDIA", "AUTOSELECT"): {"YES", "NO"},
    ("EXT-X-MEDIA", "FORCED"): {"YES", "NO"},
    ("EXT-X-STREAM-INF", "VIDEO-RANGE"): {"SDR", "HLG", "PQ"},
    ("EXT-X-I-FRAME-STREAM-INF", "VIDEO-RANGE"): {"SDR", "HLG", "PQ"},
}
OF_SEGMENTS = {"EXTINF", "EXT-X-BYTERANGE", "EXT-X-DISCONTINUITY", "EXT-X-MAP", "EXT-X-PROGRAM-DATE-TIME"}
OF_MEDIA = {"EXT-X-TARGETDURATION", "EXT-X-MEDIA-SEQUENCE", "EXT-X-DISCONTINUITY-SEQUENCE", "EXT-X-ENDLIST",
            "EXT-X-PLAYLIST-TYPE", "EXT-X-I-FRAMES-ONLY"}
OF_MULTIVARIANT = {"EXT-X-MEDIA", "EXT-X-STREAM-INF", "EXT-X-I-FRAME-STREAM-INF"}
# Tags that may appear once, with their clauses.
ONCE = {"EXT-X-VERSION": "4.3.1.2", "EXT-X-INDEPENDENT-SEGMENTS": "4.3.5.1", "EXT-X-TARGETDURATION": "4.3.3.1",
        "EXT-X-MEDIA-SEQUENCE": "4.3.3.2", "EXT-X-DISCONTINUITY-SEQUENCE": "4.3.3.3", "EXT-X-ENDLIST": "4.3.3.4",
        "EXT-X-PLAYLIST-TYPE": "4.3.3.5", "EXT-X-I-FRAMES-ONLY": "4.3.3.6"}
DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:?\d\d)")


@dataclass
class Segment:
    uri: str
    duration: Fraction
    bytes: tuple = None  # offset and length; None: the whole file
    map: str = None
    map_bytes: tuple = None
    is_discontinuity: bool = False
    date: datetime = None


@dataclass
class Playlist:
    """What a playlist says. Values of tags that are missing or wrong are None."""

    problems: list = field(default_factory=list)
    version: int = None
    is_independent: bool = False
    is_multivariant: bool = False
    # Of media playlists
    target: int = None
    kind: str = None
    is_complete: bool = False
    is_i_frames: bool = False
    segments: list = field(default_factory=list)
    # Of multivariant playlists: dictionaries of attributes; variants have "URI" too.
    media: list = field(default_factory=list)
    variants: list = field(default_factory=list)
    i_frames: list = field(default_factory=list)

    @property
    def duration(self):
        return sum((segment.duration for segment in self.segments), Fraction(0))


def attributes(tag, text, complain):
    """The attributes of a tag as text, quotes removed."""
    found, position = {}, 0
    forms, required = ATTRIBUTES[tag]
    while position < len(text):
        match = ATTRIBUTE.match(text, position)
        if not match:
            complain("4.2", f"{tag}: no attribute list at {text[position:position + 40]!r}")
            break
        name, value, position = match[1], match[2], match.end()
        if name in found:
            complain("4.2", f"{tag}: {name} is there twice")
        form = forms.get(name)
        if form and not FORMS[form].fullmatch(value):
            complain("4.2", f"{tag}: {name} is no {form}: {value}")
            continue
        if name in forms and value not in WORDS.get((tag, name), {value}):
            complain(CLAUSES[tag], f"{tag}: {name}={value} is not defined")
        found[name] = value.strip('"') if value.startswith('"') else value
        if name == "CLOSED-CAPTIONS" and not value.startswith('"') and value != "NONE":
            complain("4.3.4.2", f"{tag}: {name} is neither quoted nor NONE")
    for name in sorted(required - set(found)):
        complain(CLAUSES[tag], f"{tag} has no {name}")
    return found


def byte_range(text, complain, clause="4.3.2.2"):
    match = re.fullmatch(r"(\d+)(@(\d+))?", text)
    if not match or int(match[1]) == 0:
        return complain(clause, f"no byte range: {text!r}")
    return (int(match[3]) if match[3] else None, int(match[1]))


class Reader:
    def __init__(self, data):
        self.result = Playlist()
        self.names = []
        self.seen_segment = False
        self.next = {}  # what tags say about the next segment
        self.map, self.map_bytes, self.has_map = None, None, False
        self.ends = {}  # of the last byte range of a resource
        self.pending = None  # the attributes of a variant whose URI comes next
        self.read(data)

    def complain(self, clause, text):
        self.result.problems.append((clause, text))

    def read(self, data):
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            return self.complain("4.1", f"the text is not UTF-8: {error}")
        if re.search(r"[\0-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f\ufeff]", text):
            self.complain("4.1", "there are control characters or a byte order mark")
        lines = text.split("\n")
        if lines[0].rstrip("\r") != "#EXTM3U":
            self.complain("4.3.1.1", f"the first line is {lines[0]!r}")
        for line in lines[1:]:
            line = line.removesuffix("\r")
            if self.pending is not None and (not line or line.startswith("#")):
                self.complain("4.3.4.2", "no URI follows EXT-X-STREAM-INF")
                self.pending = None
            if line.startswith("#EXT"):
                name, _, value = line[1:].partition(":")
                self.tag(name, value)
            elif line and not line.startswith("#"):
                self.uri(line)
        self.finish()

    def tag(self, name, value):
        if name in ONCE and name in self.names:
            self.complain(ONCE[name], f"{name} is there twice")
        self.names.append(name)
        if name in OF_MULTIVARIANT:
            return self.multivariant(name, attributes(name, value, self.complain))
        if name in OF_SEGMENTS:
            return self.of_segment(name, value)
        self.of_playlist(name, value)

    def multivariant(self, name, found):
        self.result.is_multivariant = True
        if name == "EXT-X-STREAM-INF":
            self.pending = found
        else:
            (self.result.media if name == "EXT-X-MEDIA" else self.result.i_frames).append(found)

    def number(self, name, value):
        if re.fullmatch(r"\d{1,20}", value):
            return int(value)
        return self.complain(ONCE[name], f"{name} is no decimal integer: {value!r}")

    def of_playlist(self, name, value):
        result = self.result
        if name in ("EXT-X-MEDIA-SEQUENCE", "EXT-X-DISCONTINUITY-SEQUENCE"):
            self.number(name, value)
            if self.seen_segment or self.next:
                self.complain(ONCE[name], f"{name} is after the first segment")
        elif name == "EXT-X-VERSION":
            result.version = self.number(name, value)
        elif name == "EXT-X-TARGETDURATION":
            result.target = self.number(name, value)
        elif name == "EXT-X-PLAYLIST-TYPE":
            result.kind = value
            if value not in ("VOD", "EVENT"):
                self.complain("4.3.3.5", f"the type {value!r} is not defined")
        elif name == "EXT-X-INDEPENDENT-SEGMENTS":
            result.is_independent = True
        elif name == "EXT-X-ENDLIST":
            result.is_complete = True
        elif name == "EXT-X-I-FRAMES-ONLY":
            result.is_i_frames = True
        elif name != "EXTM3U":
            self.complain("4.1", f"the tag {name} is none that this judge knows")
        else:
            self.complain("4.3.1.1", "EXTM3U is there twice")

    def of_segment(self, name, value):
        if name == "EXT-X-MAP":
            found = attributes(name, value, self.complain)
            self.map, self.has_map = found.get("URI"), True
            self.map_bytes = byte_range(found["BYTERANGE"], self.complain, "4.3.2.5") if "BYTERANGE" in found else None
        elif name in self.next:
            self.complain("4.3.2", f"{name} is there twice for a segment")
        elif name == "EXTINF":
            duration, comma, _ = value.partition(",")
            if not comma or not FORMS[FLOAT].fullmatch(duration):
                self.complain("4.3.2.1", f"no duration with a comma: {value!r}")
            elif "." in duration and (self.result.version or 1) < 3:
                self.complain("4.3.2.1", f"the duration {duration} needs version 3")
            self.next[name] = Fraction(duration) if FORMS[FLOAT].fullmatch(duration) else Fraction(0)
        elif name == "EXT-X-BYTERANGE":
            self.next[name] = byte_range(value, self.complain)
        elif name == "EXT-X-PROGRAM-DATE-TIME":
            if not DATE.fullmatch(value):
                self.complain("4.3.2.6", f"no date and time with a time zone: {value!r}")
            else:
                self.next[name] = datetime.fromisoformat(value.replace("Z", "+00:00"))
        else:
            self.next[name] = True

    def uri(self, line):
        if line != line.strip() or re.search(r'[\s"<>\\^`{|}]', line) or re.search(r"%(?![0-9A-Fa-f]{2})", line):
            self.complain("4.1", f"no URI: {line!r}")
        if self.pending is not None:
            self.result.variants.append(self.pending | {"URI": line})
            self.pending = None
            return
        self.seen_segment = True
        if "EXTINF" not in self.next:
            self.complain("4.3.2.1", f"{line} has no EXTINF")
        chosen = self.next.get("EXT-X-BYTERANGE")
        if chosen and chosen[0] is None:
            if line not in self.ends:
                self.complain("4.3.2.2", f"the byte range of {line} has no offset, and none precedes it")
            chosen = (self.ends.get(line, 0), chosen[1])
        if chosen:
            self.ends[line] = sum(chosen)
        self.result.segments.append(Segment(
            line, self.next.get("EXTINF", Fraction(0)), chosen, self.map, self.map_bytes,
            "EXT-X-DISCONTINUITY" in self.next, self.next.get("EXT-X-PROGRAM-DATE-TIME")))
        self.next = {}

    def finish(self):
        result, names = self.result, set(self.names)
        if self.pending is not None:
            self.complain("4.3.4.2", "no URI follows EXT-X-STREAM-INF")
        if "EXTINF" in self.next:
            self.complain("4.3.2.1", "no segment follows EXTINF")
        of_media = names & (OF_MEDIA | OF_SEGMENTS) or result.segments
        if result.is_multivariant and of_media:
            self.complain("4.1", "tags of media playlists and of multivariant playlists are mixed")
        if not result.is_multivariant:
            if result.target is None:
                self.complain("4.3.3.1", "there is no EXT-X-TARGETDURATION")
            for segment in result.segments:
                if result.target is not None and int(segment.duration + Fraction(1, 2)) > result.target:
                    self.complain("4.3.3.1", f"{segment.uri} has {float(segment.duration)} s, more than the target")
            if result.kind == "VOD" and not result.is_complete:
                self.complain("4.3.3.4", "a playlist of the type VOD has no EXT-X-ENDLIST")
        self.check_version(names)

    def check_version(self, names):
        """Clause 7: the version that the features need."""
        result = self.result
        needed = 1
        if any(segment.duration.denominator > 1 for segment in result.segments):
            needed = 3
        if "EXT-X-BYTERANGE" in names or result.is_i_frames:
            needed = 4
        if self.has_map:
            needed = 5 if result.is_i_frames else 6
        if any(medium.get("INSTREAM-ID", "").startswith("SERVICE") for medium in result.media):
            needed = 7
        if (result.version or 1) < needed:
            self.complain("7", f"version {result.version or 1}; the tags need {needed}")


def read(data):
    """Reads the bytes of a playlist."""
    return Reader(data).result


def resolve(base, uri):
    """The path, relative to the folder of the multivariant playlist, that a URI in the playlist at `base` refers to."""
    return urllib.parse.unquote(urllib.parse.urljoin(base, uri))
