# SPDX-License-Identifier: GPL-2.0-or-later
"""A recording: the responses of a server to one or more clients.

It is a folder with the file log.json, a list of objects in the order of their times:

    url       the path, with the query, of the request
    sent      when the request was sent, in seconds
    time      when the response began
    status    the HTTP status
    headers   an object (optional)
    protocol  "http/1.1", "h2" or "h3" (optional)
    body      the name of a file in the folder with the body, without content encoding (playlists only)

Playlists are the responses whose path ends with .m3u8; all of them are media playlists of one presentation, except
those that contain EXT-X-STREAM-INF."""

import json
import posixpath
import urllib.parse
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import live_playlists

ENDING = ".m3u8"


class Bad(Exception):
    """Why there is no recording."""


@dataclass
class Entry:
    url: str
    sent: Fraction
    time: Fraction
    status: int
    headers: dict = field(default_factory=dict)
    protocol: str = None
    body: bytes = None
    # What follows from these, for playlists:
    playlist: live_playlists.LivePlaylist = None
    segments: dict = field(default_factory=dict)  # the complete ones by number, with those that were skipped
    unknown: list = field(default_factory=list)  # the numbers of segments that were skipped and never seen
    open: live_playlists.Segment = None  # the one that is not complete

    @property
    def path(self):
        return self.url.partition("?")[0]

    @property
    def query(self):
        return dict(urllib.parse.parse_qsl(self.url.partition("?")[2], keep_blank_values=True))

    @property
    def is_playlist(self):
        return self.path.endswith(ENDING)

    def resolve(self, uri):
        """The path that a URI in this playlist refers to."""
        return posixpath.normpath(urllib.parse.urljoin(self.path, uri))

    def header(self, name):
        return next((value for key, value in self.headers.items() if key.lower() == name), None)

    @property
    def everything(self):
        """The complete segments and the open one, by number."""
        found = dict(self.segments)
        if self.open:
            found[self.playlist.last + 1] = self.open
        return found

    @property
    def duration(self):
        return sum((segment.duration or segment.part_duration for segment in self.everything.values()), Fraction(0))

    @property
    def edge(self):
        """The number of the last complete segment, and the number of parts after it."""
        return (self.playlist.last, len(self.open.parts) if self.open else 0)

    @property
    def discontinuities(self):
        """The discontinuity sequence numbers of the segments, by number."""
        found, number = {}, self.playlist.discontinuity
        for key, segment in sorted(self.everything.items()):
            number += segment.is_discontinuity
            found[key] = number
        return found


class Recording:
    def __init__(self, entries):
        self.entries = sorted(entries, key=lambda entry: entry.time)
        self.series = {}  # the playlists by path
        self.variants = set()  # the paths of those that are variants of the video
        known = {}
        for entry in self.entries:
            if not entry.is_playlist or entry.status != 200:
                continue
            if b"#EXT-X-STREAM-INF" in (entry.body or b""):
                self.variants |= {entry.resolve(line) for line in entry.body.decode().splitlines()
                                  if line and not line.startswith("#")}
                continue
            entry.playlist = live_playlists.read(entry.body or b"")
            seen = known.setdefault(entry.path, {})
            entry.segments, entry.open, entry.unknown = live_playlists.numbered(entry.playlist, seen)
            seen.update(entry.segments)
            self.series.setdefault(entry.path, []).append(entry)

    @property
    def playlists(self):
        return [entry for series in self.series.values() for entry in series]

    @property
    def requests(self):
        """All requests for media playlists, whatever the response is."""
        return [entry for entry in self.entries if entry.is_playlist and entry.path in self.series]

    @property
    def media(self):
        return [entry for entry in self.entries if not entry.is_playlist]

    def pairs(self):
        """Successive playlists of each series."""
        for series in self.series.values():
            yield from zip(series, series[1:])

    @classmethod
    def load(cls, folder):
        folder = Path(folder)
        try:
            log = json.loads((folder / "log.json").read_text())
            entries = []
            for line in log:
                body = (folder / line["body"]).read_bytes() if line.get("body") else None
                time = Fraction(str(line["time"]))
                parts = urllib.parse.urlsplit(line["url"])
                url = parts.path + (f"?{parts.query}" if parts.query else "")
                entries.append(Entry(url, Fraction(str(line.get("sent", line["time"]))), time,
                                     int(line["status"]), line.get("headers", {}), line.get("protocol"), body))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise Bad(f"{folder}: no recording: {error!r}") from error
        return cls(entries)

    def store(self, folder):
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        log = []
        for number, entry in enumerate(self.entries):
            line = {"url": entry.url, "sent": float(entry.sent), "time": float(entry.time), "status": entry.status,
                    "headers": entry.headers, "protocol": entry.protocol}
            if entry.body is not None:
                line["body"] = f"{number:05}.m3u8"
                (folder / line["body"]).write_bytes(entry.body)
            log.append(line)
        (folder / "log.json").write_text(json.dumps(log, indent=1))
