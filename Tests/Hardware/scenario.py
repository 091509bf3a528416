# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs HardwareScenarios, a program that uses sessions as applications do, on the reference driver."""

import json
from pathlib import Path

from runner import media
from runner.journal import read_journal
from runner.launch import run
from runner.places import build, client_environment


class Scenario:
    """One run of `HardwareScenarios encode`: what it said, what the driver said, and the stream."""

    def __init__(self, program, folder, *options, persona="intel", limits="", faults="", vendor="", timeout=120,
                 settings=None):
        self.folder = Path(folder)
        self.codec = "hevc" if "codec=hevc" in options else "h264"
        self.output = self.folder / f"stream.{self.codec}"
        journal = self.folder / "journal"
        journal.unlink(missing_ok=True)
        self.complaints = []
        self.command = [str(program), "encode", str(self.output), *options]
        extra = (settings or {}) | ({"REFERENCE_DRIVER_VENDOR": vendor} if vendor else {})
        environment = client_environment(build(), persona=persona, limits=limits, faults=faults, journal=journal,
                                         extra=extra)
        self.ended = run(self.command, environment, timeout)
        self.said = [json.loads(line) for line in self.ended.output.splitlines() if line.startswith('{"')]
        self.samples = self.of_kind("sample")
        self.journal = read_journal(journal)
        kept = {(picture.context, picture.number) for picture in self.journal.pictures}
        self.pictures = [entry for entry in self.journal.entries if entry.get("kind") == "picture"
                         and ((entry["process"], entry["context"]), entry["picture"]) in kept]

    def of_kind(self, kind):
        return [line for line in self.said if line.get("kind") == kind]

    def events(self, name):
        return [event for event in self.of_kind("event") if event["name"] == name]

    def expect(self, what, given, expected):
        if given != expected:
            self.complaints.append(f"{what}: {given!r}, expected {expected!r}")

    def require(self, condition, what):
        if not condition:
            self.complaints.append(what)

    def check_whole(self, frames):
        """All frames came out once and in order, decode to the reconstruction, and nothing was found."""
        self.expect("status", self.ended.status, 0)
        if self.ended.status != 0:
            self.complaints.append(self.ended.output[-400:])
        self.expect("frames", sorted(sample["frame"] for sample in self.samples), list(range(frames)))
        self.complaints += [str(finding) for finding in self.journal.findings[:6]]
        self.expect("displays that were never terminated", self.journal.never_terminated, 0)
        self.check_times()
        if not self.complaints:
            self.check_stream(self.output, [picture.reconstruction
                                            for picture in self.journal.in_presentation_order()])

    def check_times(self):
        times = [(sample["dts"], sample["pts"]) for sample in self.samples]
        self.require(all(dts <= pts for dts, pts in times), "a decode time is above its presentation time")
        self.require(all(one[0] < other[0] for one, other in zip(times, times[1:])), "decode times do not increase")

    def check_stream(self, path, expected):
        decoded = media.decode_with_ffmpeg(path)
        self.complaints += decoded.complaints[:4]
        if decoded.frames != expected:
            same = sum(one == other for one, other in zip(decoded.frames, expected))
            self.complaints.append(f"decodes to {len(decoded.frames)} frames, {same} of the {len(expected)} expected")
        if self.codec == "hevc" and media.has_libde265():
            other = media.decode_with_libde265(path)
            self.complaints += other.complaints[:4]
            self.require(other.frames == expected, f"libde265 decodes {len(other.frames)} frames, or other ones")

    # The stream in parts.

    def picture_of(self, frame):
        """The driver's entry of a frame; samples and pictures come in the same order."""
        index = [sample["frame"] for sample in self.samples].index(frame)
        return self.pictures[index]

    def check_without(self, left_out, what):
        """The stream without these frames decodes to the reconstructions of all others."""
        data, path = self.output.read_bytes(), self.folder / f"part.{self.codec}"
        kept = [sample for sample in self.samples if sample["frame"] not in left_out]
        path.write_bytes(b"".join(data[sample["offset"]:sample["offset"] + sample["size"]] for sample in kept))
        expected = [self.picture_of(frame)["reconstruction_md5"]
                    for frame in sorted(sample["frame"] for sample in kept)]
        before = len(self.complaints)
        self.check_stream(path, expected)
        if self.codec == "hevc":
            # Reference picture sets keep what was lost though nothing refers to it, which H.265 8.3.2 has decoders
            # ignore; libavcodec tells it. Where a picture referred to it, its frame would be another.
            self.complaints[before:] = [text for text in self.complaints[before:]
                                        if "Could not find ref with POC" not in text]
        self.complaints[before:] = [f"{what}: {text}" for text in self.complaints[before:]]

    def decoded_from(self, frame):
        """What a decoder shows that begins at a frame, which need not be a key frame; it has the parameter sets."""
        data, path = self.output.read_bytes(), self.folder / f"rest.{self.codec}"
        first = data[:self.samples[0]["size"]].split(b"\0\0\0\1")
        sets = [unit for unit in first if unit and self.is_parameter_set(unit)]
        start = next(sample["offset"] for sample in self.samples if sample["frame"] == frame)
        path.write_bytes(b"".join(b"\0\0\0\1" + unit for unit in sets) + data[start:])
        return media.decode_with_ffmpeg(path)

    def is_parameter_set(self, unit):
        """H.264 table 7-1, HEVC table 7-1."""
        return unit[0] >> 1 & 63 in (32, 33, 34) if self.codec == "hevc" else unit[0] & 31 in (7, 8)

    def depends_on(self, frame):
        """The frames that a frame depends on, by what the driver predicted from."""
        frames = {(entry["process"], entry["context"], entry["picture"]): sample["frame"]
                  for entry, sample in zip(self.pictures, self.samples)}
        by_frame = {sample["frame"]: entry for entry, sample in zip(self.pictures, self.samples)}
        found, open_ones = set(), [frame]
        while open_ones:
            entry = by_frame[open_ones.pop()]
            for number in entry["references"]:
                other = frames[entry["process"], entry["context"], number]
                if other not in found:
                    found.add(other)
                    open_ones.append(other)
        return found
