# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs `vatoolbox encode` on the reference driver and holds everything that came of it against everything that was
asked for: output, document, journal."""

import functools
import json
import tempfile
from pathlib import Path

import rows
import stream
from runner import media, session
from runner.commands import DEVICE
from runner.launch import run
from runner.places import Problem

# What va.h calls them.
RATE_CONTROLS = {"cbr": 0x2, "vbr": 0x4, "cqp": 0x10, "icq": 0x40, "qvbr": 0x400, "avbr": 0x800}
PROFILES = {"baseline": 13, "main": 6, "high": 7, "hevc-main": 17, "hevc-main10": 18, "hevc-main12": 23,
            "hevc-main422-8": 24, "hevc-main422-10": 24, "hevc-main422-12": 25, "hevc-main444": 26,
            "hevc-main444-10": 27, "hevc-main444-12": 28}
ENTRYPOINTS = {"off": 6, "on": 8}
PROFILE_NAMES = {"baseline": "Constrained Baseline", "main": "Main", "high": "High", "hevc-main": "Main",
                 "hevc-main10": "Main 10", "hevc-main12": "Main 12", "hevc-main422-8": "Main 4:2:2 10",
                 "hevc-main422-10": "Main 4:2:2 10", "hevc-main422-12": "Main 4:2:2 12", "hevc-main444": "Main 4:4:4",
                 "hevc-main444-10": "Main 4:4:4 10", "hevc-main444-12": "Main 4:4:4 12"}
COLOURS = ("color_range", "color_space", "color_transfer", "color_primaries")


class Encode:
    """One run of the command for a row."""

    def __init__(self, program, row, source, folder, device=DEVICE):
        self.row = row
        self.source = source
        self.frames = rows.frames_of(row)
        self.output = Path(folder) / f"output.{row.container}"
        self.command = [str(program), "encode", str(source), "-o", str(self.output), "--json", "--overwrite",
                        "--device", device, "--require-hardware", *rows.options_of(row)]
        self.complaints = []
        self.verdict = None
        self.document = {}

    def request(self):
        return session.Request(self.command, client="vatoolbox", output=self.output, source=self.source,
                               persona=self.row.persona, limits=rows.limits_of(self.row), timeout=120,
                               test_encodes=True, environment={"VATOOLBOX_PROOF": "on"})

    def judge(self):
        """Everything that is not as it should be, as sentences."""
        try:
            self.verdict = session.judge(self.request())
            self.document = document_in(self.verdict.ended.output)
            self.hear_verdict()
            if self.output.exists() and self.output.stat().st_size and not self.complaints:
                self.check_document()
                self.check_journal()
                self.check_stream()
                self.check_second_decoder()
        except Problem as problem:
            self.complaints.append(str(problem))
        return self.complaints

    def expect(self, what, given, expected):
        if given != expected:
            self.complaints.append(f"{what}: {given!r}, expected {expected!r}")

    def hear_verdict(self):
        verdict = self.verdict
        if not verdict.good:
            self.complaints.append(verdict.line())
            self.complaints += [str(finding) for finding in (verdict.findings + verdict.leaks)[:8]]
            self.complaints += (verdict.decoded.complaints if verdict.decoded else [])[:4]
            error = self.document.get("error")
            self.complaints += [json.dumps(error)] if error else []
            self.complaints += [] if error or verdict.ended.status == 0 else verdict.ended.output.splitlines()[-6:]
        for fault in verdict.journal.faults if verdict.journal else []:
            self.complaints.append(f"a fault fired that nobody asked for: {fault}")

    # What the command says.

    def check_document(self):
        row, document = self.row, self.document
        self.expect("status", document.get("status"), "done")
        frames = document["frames"]
        self.expect("frames", {name: frames[name] for name in ("in", "out", "dropped", "repeated")},
                    {"in": self.frames, "out": self.frames, "dropped": 0, "repeated": 0})
        self.expect("device", document["encoder"]["device"], DEVICE)
        self.expect("isolation", document["encoder"]["isolation"], row.isolation)
        self.expect("size", (document["output"]["width"], document["output"]["height"]), row.size)
        self.expect("adjustments", document["adjustments"], [])

    # What the driver says.

    def pictures(self):
        """The journal's entries of the pictures that are in the output, in decoding order."""
        kept = {(picture.context, picture.number) for picture in self.verdict.journal.pictures}
        return [entry for entry in self.verdict.journal.entries if entry.get("kind") == "picture"
                and ((entry["process"], entry["context"]), entry["picture"]) in kept]

    def check_journal(self):
        row, pictures = self.row, self.pictures()
        configs = [entry for entry in self.verdict.journal.entries if entry.get("kind") == "config"]
        wanted = (PROFILES[row.profile], ENTRYPOINTS[row.low_power], RATE_CONTROLS[row.control])
        if wanted not in [(entry["profile"], entry["entrypoint"], entry["rate_control"]) for entry in configs]:
            self.complaints.append(f"no config has profile, entrypoint, rate control {wanted}: {configs}")
        self.expect("slices", {entry["slices"] for entry in pictures}, {rows.slices_of(row)})
        b_pictures = self.b_pictures(pictures)
        if row.b_frames == "off":
            self.expect("B pictures", len(b_pictures), 0)
        elif len(b_pictures) * 2 < len(pictures) // 2:
            self.complaints.append(f"few B pictures: {len(b_pictures)} of {len(pictures)}")
        pyramid = any(entry["reference"] for entry in b_pictures)
        self.expect("B pictures as references", pyramid, row.b_frames == "pyramid")
        self.check_key_frames(pictures)
        self.check_depth(pictures)

    @staticmethod
    def b_pictures(pictures):
        """Those that are shown before a picture that was coded before them. Drivers without P slices have B slices for
        other pictures, too."""
        found, latest = [], 0
        for entry in pictures:
            latest = entry["poc"] if entry["idr"] else max(latest, entry["poc"])
            if entry["type"] == "B" and entry["poc"] < latest:
                found.append(entry)
        return found

    def check_key_frames(self, pictures):
        distances, since = [], 0
        for entry in pictures:
            if entry["type"] == "I":
                distances.append(since)
                since = 0
            since += 1
        if max(distances + [since]) > 10 + (3 if self.row.b_frames != "off" else 0):
            self.complaints.append(f"I pictures are {distances} pictures apart, asked for was 10 at most")
        if not pictures[0]["idr"]:
            self.complaints.append("the first picture is no IDR picture")

    def check_depth(self, pictures):
        """No more pictures are with the driver at a time than was asked for."""
        for index, entry in enumerate(pictures):
            under_way = sum(before["ended_us"] > entry["submitted_us"] for before in pictures[:index]) + 1
            if under_way > self.row.depth:
                self.complaints.append(f"{under_way} pictures were with the driver when picture {index} was submitted")
                return

    # What the output says.

    def check_stream(self):
        row, described = self.row, stream.stream_of(self.output)
        encoder = self.document["encoder"]
        name = PROFILE_NAMES[row.profile]
        self.expect("profile", described["profile"], "Rext" if row.profile in rows.EXTENDED_PROFILES else name)
        self.expect("profile in the document", encoder["profile"].lower().replace("-", " "), name.lower())
        if described["level"] not in stream.level_numbers(encoder["level"], rows.codec_of(row)):
            self.complaints.append(f"level {encoder['level']} in the document, {described['level']} in the stream")
        self.expect("size of the stream", (described["width"], described["height"]), row.size)
        given = stream.stream_of(self.source)
        # libavcodec says of HEVC that tells nothing that its range is limited.
        silent = {"color_range": "tv"} if rows.codec_of(row) == "hevc" else {}
        for name in COLOURS:
            self.expect(name, described.get(name), given.get(name, silent.get(name)))
        self.expect("codec of the stream", described["codec_name"], rows.codec_of(row))
        self.expect("format of the pictures", described["pix_fmt"], rows.pixel_format_of(row))
        if rows.codec_of(row) == "h264":
            elements = stream.elements_of(self.output, "entropy_coding_mode_flag", "first_mb_in_slice")
            self.expect("entropy_coding_mode_flag", set(elements["entropy_coding_mode_flag"]),
                        {int(row.entropy == "cabac")})
        self.check_depth_told(stream.told_depth(self.output, described))
        if row.container not in ("h264", "hevc"):
            self.check_times(described)

    def check_depth_told(self, told):
        """What the stream promises is kept, and no more than the structure needs; few pictures may not need it all."""
        needed, structure = self.needed_depth(), {"off": 0, "2": 1, "pyramid": 2}[self.row.b_frames]
        if not needed <= told <= structure or (told != needed and self.frames >= 10):
            self.complaints.append(f"has_b_frames is {told}, needed are {needed}, and {structure} for "
                                   f"b={self.row.b_frames}")

    def needed_depth(self):
        """How many pictures a decoder must hold back, by the order of the driver's pictures."""
        order, start, latest = [], 0, 0
        for entry in self.pictures():
            if entry["idr"]:
                start = latest
            order.append(start + entry["poc"])
            latest = max(latest, order[-1] + 1)
        return stream.reorder_depth(order)

    def check_times(self, described):
        is_reordered = self.row.container != "ts" or stream.told_depth(self.output, described) > 0
        times = stream.times_of(self.output, is_reordered)
        self.expect("packets", len(times), self.frames)
        if any(dts is None or pts is None for dts, pts in times):
            self.complaints.append("packets without times")
            return
        if any(later[0] <= earlier[0] for earlier, later in zip(times, times[1:])):
            self.complaints.append(f"decode times do not increase: {[dts for dts, _ in times]}")
        late = [(dts, pts) for dts, pts in times if dts > pts]
        if late:
            self.complaints.append(f"decode times above presentation times: {late[:4]}")
        shown = sorted(pts for _, pts in times)
        base = stream.time_base_of(described)
        if any(abs((pts - shown[0]) * base - index / 25) > base for index, pts in enumerate(shown)):
            self.complaints.append(f"presentation times are not the source's: {shown[:8]} of {described['time_base']}")
        if self.row.container == "mp4":
            self.expect("first presentation time", shown[0], 0)

    def check_second_decoder(self):
        """HEVC with libde265, Baseline with openh264: the same frames as the driver's reconstruction, and ffmpeg's."""
        decoder = second_decoder(self.row)
        if not decoder:
            return
        codec = rows.codec_of(self.row)
        with tempfile.TemporaryDirectory() as folder:
            annex_b = Path(folder) / f"stream.{codec}"
            ended = run(["ffmpeg", "-nostdin", "-v", "error", "-i", str(self.output), "-c", "copy", "-f", codec,
                         str(annex_b)], media.tool_environment(), 60)
            decoded = decoder(annex_b)
            self.complaints += decoded.complaints + ([ended.output.strip()] if ended.status else [])
            reconstructions = [picture.reconstruction for picture in self.verdict.journal.in_presentation_order()]
            if decoded.frames != reconstructions:
                self.complaints.append(f"{decoded.decoder} decodes something else")


has_openh264 = functools.cache(media.has_openh264)
has_libde265 = functools.cache(media.has_libde265)


def second_decoder(row):
    """What decodes the row's stream beside ffmpeg; None: nothing that is installed."""
    if rows.codec_of(row) == "hevc":
        return media.decode_with_libde265 if has_libde265() else None
    return media.decode_with_openh264 if row.profile == "baseline" and has_openh264() else None


def document_in(output):
    """The JSON document among what a program has printed."""
    decoder, at = json.JSONDecoder(), output.find("{")
    while at >= 0:
        try:
            found, _ = decoder.raw_decode(output, at)
            if isinstance(found, dict) and "status" in found:
                return found
        except json.JSONDecodeError:
            pass
        at = output.find("{", at + 1)
    return {}
