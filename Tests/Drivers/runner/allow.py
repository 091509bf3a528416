# SPDX-License-Identifier: GPL-2.0-or-later
"""Findings against other people's clients that are known, one per line of tests/allow-list.txt:

    NAME | CLIENT | CLAUSE | OBSERVED | WHY

NAME is the finding's. CLIENT is a pattern (fnmatch) on the client's name, "ffmpeg" or "gstreamer-va"; "ffmpeg>=6" is
for ffmpeg from version 6 on, "gstreamer-va>=1.26" for GStreamer from 1.26 on. OBSERVED is a regular expression that the
finding's whole detail must match, so that another mistake of the same kind is not excused."""

import fnmatch
import functools
import re
import subprocess
from dataclasses import dataclass, field

from .places import Problem


@functools.cache
def ffmpeg_version():
    """The main number of the version of the ffmpeg command; 0 if there is none or it does not say one."""
    try:
        said = subprocess.run(["ffmpeg", "-version"], capture_output=True, text=True).stdout
    except OSError:
        return 0
    found = re.match(r"ffmpeg version n?(\d+)", said)
    return int(found[1]) if found else 0


@functools.cache
def gstreamer_version():
    """The two main numbers of GStreamer's version; zeros if there is none or it does not say one."""
    try:
        said = subprocess.run(["gst-launch-1.0", "--version"], capture_output=True, text=True).stdout
    except OSError:
        return 0, 0
    found = re.search(r"^GStreamer (\d+)\.(\d+)", said, re.M)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def is_client(pattern, client):
    """Whether a pattern of the list is about that client in the version that is installed."""
    name, _, least = pattern.partition(">=")
    if not fnmatch.fnmatchcase(client, name):
        return False
    version = gstreamer_version() if name.startswith("gstreamer") else (ffmpeg_version(),)
    return not least or version >= tuple(map(int, least.split(".")))


@dataclass
class Allowed:
    name: str
    client: str
    clause: str
    observed: re.Pattern
    why: str
    line: int
    uses: int = field(default=0, compare=False)

    def excuses(self, client, finding):
        return (self.name == finding.name and is_client(self.client, client)
                and self.clause == finding.clause and self.observed.fullmatch(finding.detail) is not None)


def read_allow_list(path):
    entries, lines = [], {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        parts = [part.strip() for part in text.split(" | ")]
        if len(parts) != 5 or not all(parts):
            raise Problem(f"{path}:{number}: five parts divided by ' | ' are needed, there are {len(parts)}")
        try:
            pattern = re.compile(parts[3])
        except re.error as error:
            raise Problem(f"{path}:{number}: {parts[3]!r} is no regular expression: {error}") from error
        first = lines.setdefault(tuple(parts[:4]), number)
        if first != number:
            raise Problem(f"{path}:{number}: line {first} is the same entry")
        entries.append(Allowed(parts[0], parts[1], parts[2], pattern, parts[4], number))
    return entries


def split_findings(entries, client, findings):
    """Divides findings into those that an entry excuses, which then counts the use, and the rest."""
    excused, rest = [], []
    for finding in findings:
        entry = next((entry for entry in entries if entry.excuses(client, finding)), None)
        if entry:
            entry.uses += 1
        (excused if entry else rest).append(finding)
    return excused, rest
