# SPDX-License-Identifier: GPL-2.0-or-later
"""The reference driver's journal: one JSON object per line."""

import json
from collections import Counter
from dataclasses import dataclass, field, replace


@dataclass
class Finding:
    name: str
    clause: str
    detail: str
    context: int | None
    picture: int | None
    slice: int | None

    @property
    def is_leak(self):
        return self.name.startswith("leak")

    def __str__(self):
        place = f"picture {self.picture}: " if self.picture is not None else ""
        return f"{self.name} ({self.clause}): {place}{self.detail}"


@dataclass
class Picture:
    context: tuple  # process and id
    number: int  # begun in the context before it
    poc: int
    idr: bool
    source: str  # MD5 of the visible samples, NV12 or P010
    reconstruction: str
    codec: str = "H.264"
    bit_depth: int = 8


@dataclass
class Journal:
    findings: list = field(default_factory=list)
    pictures: list = field(default_factory=list)  # decode order
    faults: list = field(default_factory=list)  # as in the file
    resubmissions: int = 0  # how often the client went back to a picture that was cut short
    entries: list = field(default_factory=list)  # every line, as it was
    discarded: int = 0  # pictures that are not among `pictures`, because they were submitted again
    displays: Counter = field(default_factory=Counter)  # by process: how many were initialised and not terminated
    damaged: int = 0  # lines that are no JSON: a process died while it wrote

    @property
    def never_terminated(self):
        """How many displays no vaTerminate followed."""
        return sum(count for count in self.displays.values() if count > 0)

    @property
    def codec(self):
        """Of the last picture: a client may try others first."""
        return self.pictures[-1].codec if self.pictures else "H.264"

    def without_test_encodes(self, sent):
        """The same, but for pictures of contexts that received none of the frames with these sums: a client may try an
        encoder with pictures of its own before it uses it."""
        used = {picture.context for picture in self.pictures if picture.source in sent}
        return replace(self, pictures=[picture for picture in self.pictures if picture.context in used])

    def in_presentation_order(self):
        """The pictures by picture order count within each period that an IDR picture starts, context by context."""
        contexts = {}
        for picture in self.pictures:
            periods = contexts.setdefault(picture.context, [])
            if picture.idr or not periods:
                periods.append([])
            periods[-1].append(picture)
        return [picture for periods in contexts.values() for period in periods
                for picture in sorted(period, key=lambda picture: picture.poc)]


def context_of(entry):
    """Which context an entry is about: ids are unique in their process only."""
    return entry.get("process"), entry["context"]


def read_journal(path):
    journal = Journal()
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError:
        return journal
    resubmissions = []
    for line in lines:
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:
            journal.damaged += 1
            continue
        journal.entries.append(entry)
        kind = entry.get("kind")
        if kind == "finding":
            journal.findings.append(Finding(entry["name"], entry["clause"], entry["detail"], entry.get("context"),
                                            entry.get("picture"), entry.get("slice")))
        elif kind == "picture":
            journal.pictures.append(Picture(context_of(entry), entry["picture"], entry["poc"], bool(entry["idr"]),
                                            entry.get("source_md5", ""), entry.get("reconstruction_md5", ""),
                                            entry.get("codec", "H.264"), entry.get("bit_depth", 8)))
        elif kind == "fault":
            journal.faults.append(entry)
        elif kind in ("initialise", "terminate"):
            journal.displays[entry["process"]] += 1 if kind == "initialise" else -1
        elif kind == "resubmission":
            resubmissions.append((context_of(entry), range(entry["resumed"], entry["picture"])))
    kept = [picture for picture in journal.pictures
            if not any(picture.context == context and picture.number in numbers for context, numbers in resubmissions)]
    journal.resubmissions = len(resubmissions)
    journal.discarded = len(journal.pictures) - len(kept)
    journal.pictures = kept
    return journal
