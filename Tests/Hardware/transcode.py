# SPDX-License-Identifier: GPL-2.0-or-later
"""Streams that the reference driver decodes and encodes again, with the pictures on the device: what the encoder reads
is what ffmpeg decodes, and whatever fails in the decoder or the encoder, every frame comes out once, in order."""

import hashlib
import json
import os
import re
import signal
import subprocess
import tempfile
import threading
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from runner import media
from runner.journal import read_journal
from runner.launch import end_group, run, termination
from runner.places import Problem, build, client_environment

FRAMES = 60
# What libavutil does wrong with every driver.
HABITS = {"surface-attribute-flags"}
# dB. A frame that shows another number has 14 dB at most; the edges of a scaled one depend on the filter.
LEAST_LIKENESS, LEAST_SCALED_LIKENESS = 30, 20
# Of each encoder; a decoder's is fixed.
FRAME_DEADLINE = 4000
# A helper that is to be killed after so many frames of 60 still works when this is seen.
EARLY = 20
TIMEOUT = 150
# Frames that stay on the device as long as the consumer keeps none beside those that its encoders have: what
# DecompressionOptions.encoderPictureLimit promises.
ENCODERS_NEED = 32


class Row(NamedTuple):
    """One transcode without a fault."""

    source: str
    codec: str
    size: tuple
    outputs: int = 1
    device_frames: int = 32
    bits: int = 8
    frames: int = FRAMES
    hold: int = 0  # frames that the consumer keeps and reads
    isolation: str = "process"  # of the encoders

    def __str__(self):
        return (f"{self.source} to {self.codec} {self.size[0]}x{self.size[1]} outputs={self.outputs} "
                f"device-frames={self.device_frames} bits={self.bits} hold={self.hold} {self.isolation}")

    @property
    def words(self):
        words = [f"source={self.source}", f"codec={self.codec}", f"width={self.size[0]}", f"height={self.size[1]}",
                 f"frames={self.frames}", f"sessions={self.outputs}", f"device-frames={self.device_frames}",
                 f"hold={self.hold}", f"isolation={self.isolation}", "interval=20"]
        return words + (["bits=10", "format=p010"] if self.bits == 10 else [])

    def size_of(self, output):
        return tuple(extent >> output & ~1 for extent in self.size)


class FaultRow(NamedTuple):
    """One transcode in which the driver fails, or the helper process is killed."""

    faults: str  # REFERENCE_DRIVER_FAULTS; "" to kill the helper
    source: str = "h264"
    codec: str = "h264"
    outputs: int = 2
    device_frames: int = 32
    hold: int = 10
    kills: tuple = ()  # after so many frames
    open_gop: bool = False
    persona: str = "intel"
    may_not_fire: bool = False

    size = (176, 144)
    frames = FRAMES

    def __str__(self):
        what = self.faults or f"killed after {', '.join(map(str, self.kills))} frames"
        return (f"{what} {self.source} to {self.codec} outputs={self.outputs} device-frames={self.device_frames} "
                f"hold={self.hold}" + (" open-gop" if self.open_gop else "") +
                ("" if self.persona == "intel" else f" {self.persona}"))

    @property
    def words(self):
        words = [f"source={self.source}", f"codec={self.codec}", f"width={self.size[0]}", f"height={self.size[1]}",
                 f"frames={self.frames}", f"sessions={self.outputs}", f"device-frames={self.device_frames}",
                 f"hold={self.hold}", "interval=20", "pictures=numbered", "policy=any", "creation-pause=1",
                 f"frame-deadline={FRAME_DEADLINE}"]
        return words + (["open-gop=on"] if self.open_gop else [])

    def size_of(self, output):
        return tuple(extent >> output & ~1 for extent in self.size)


class Transcode:
    """One run of `HardwareScenarios transcode`: what it said, what the driver said, and the streams."""

    def __init__(self, program, folder, row, *words, faults="", kills=(), persona="intel"):
        self.row, self.folder, self.complaints = row, Path(folder), []
        self.output = self.folder / f"stream.{row.codec}"
        journal = self.folder / "journal"
        self.command = [str(program), "transcode", str(self.output), *row.words, *words]
        self.environment = client_environment(
            build(), persona=persona, limits="decode=h264,hevc", faults=faults, journal=journal,
            extra={"REFERENCE_DRIVER_DISPLAYS": str(self.folder / "displays"), "SWIFT_BACKTRACE": "enable=no"})
        output, self.status, self.killed = converse(self.command, self.environment, kills)
        self.said = [json.loads(line) for line in output.splitlines() if line.startswith('{"')]
        self.rest = [line for line in output.splitlines() if not line.startswith('{"')]
        self.journal = read_journal(journal)

    def of_kind(self, kind):
        return [line for line in self.said if line.get("kind") == kind]

    def events(self, *names):
        return [event for event in self.of_kind("event") if event["name"] in names]

    @property
    def failures(self):
        return self.events("failed", "decoder failed")

    def expect(self, what, given, expected):
        if given != expected:
            self.complaints.append(f"{what}: {given!r}, expected {expected!r}")

    def require(self, condition, what):
        if not condition:
            self.complaints.append(what)

    def path(self, output):
        return self.output if output == 0 else Path(f"{self.output}.{output}")

    @property
    def source(self):
        """The stream that was decoded, by a name that says its codec."""
        path = self.folder / f"source.{self.row.source}"
        if not path.exists():
            path.symlink_to(f"{self.output.name}.source")
        return path

    @property
    def summary(self):
        """Who finished, and how."""
        end = (self.of_kind("end") or [{}])[0]
        outputs = self.of_kind("output")
        return (f"{end.get('onDevice')} frames on the device, copies {[line['copied'] for line in outputs]}, "
                f"decoder {end.get('decoder')}, failed {end.get('failed')} and {[line['failed'] for line in outputs]}, "
                f"repeated {[line['repeated'] for line in outputs]}")

    # What holds whatever fails.

    def check_frames(self):
        """Every frame came out of the decoder once and in order, and out of every encoder; returns whether there is an
        end."""
        end = self.of_kind("end")
        if self.status != 0 or not end:
            errors = [line["text"] for line in self.of_kind("error")]
            self.complaints.append(f"ended with {self.status} after {len(self.of_kind('frame'))} frames: "
                                   f"{errors or self.rest[-3:]}; " + "; ".join(e["error"] for e in self.failures[-3:]))
            return False
        numbers = list(range(self.row.frames))
        frames = self.of_kind("frame")
        self.expect("decoded frames", [frame["frame"] for frame in frames], numbers)
        # A driver that finds the data of a picture damaged is believed.
        damaging = any((fault["target"], fault["action"]) == ("decoded", "status") for fault in self.journal.faults)
        if not damaging:
            self.require(not any(frame["damaged"] for frame in frames), "a frame is said to be damaged")
        damage = self.events("lost", "without frame", *([] if damaging else ["damaged"]))
        self.expect("events of damage", [event["name"] for event in damage], [])
        self.expect("outputs", len(self.of_kind("output")), self.row.outputs)
        samples = defaultdict(list)
        for sample in self.of_kind("sample"):
            samples[sample["index"]].append(sample)
        for output in range(self.row.outputs):
            name, own = f"output {output}", samples[output]
            shown = sorted(own, key=lambda sample: sample["pts"])
            self.expect(f"frames of {name}", [sample["frame"] for sample in shown], numbers)
            self.require(all(round(sample["pts"] * 25) == sample["frame"] for sample in own), f"{name}: wrong times")
            self.require(all(sample["dts"] <= sample["pts"] for sample in own), f"{name}: decode times are too large")
            self.require(all(one["dts"] < other["dts"] for one, other in zip(own, own[1:])),
                         f"{name}: decode times do not increase")
        return True

    def decoded_source(self):
        decoded = media.decode_with_ffmpeg(self.source)
        self.complaints += [f"source: {line}" for line in decoded.complaints[:2]]
        self.expect("frames of the source", len(decoded.frames), self.row.frames)
        return decoded.frames

    def check_held(self, expected):
        """What the consumer read of the frames that it kept."""
        if not self.row.hold:
            return
        width, height = self.row.size
        size = width * height * 3 // 2 * (2 if getattr(self.row, "bits", 8) == 10 else 1)
        with open(f"{self.output}.frames", "rb") as file:
            sums = [hashlib.md5(frame).hexdigest() for frame in iter(lambda: file.read(size), b"")]
        wrong = [index for index, (one, other) in enumerate(zip(sums, expected)) if one != other]
        self.require(len(sums) == len(expected) and not wrong,
                     f"the consumer read {len(sums)} frames, of which these are wrong: {wrong}")

    # Without faults.

    def pictures_of(self, output):
        """The pictures that an encoder of the output's size was given, in the order of presentation."""
        size = self.row.size_of(output)
        sizes = {(entry["process"], entry["context"]): (entry["width"], entry["height"])
                 for entry in self.journal.entries if entry.get("kind") == "picture"}
        return [picture for picture in self.journal.in_presentation_order() if sizes[picture.context] == size]

    def check_driver(self):
        self.complaints += [str(finding) for finding in self.journal.findings if finding.name not in HABITS][:6]
        self.expect("displays that were never terminated", self.journal.never_terminated, 0)
        self.expect("lines of the journal that a process did not finish", self.journal.damaged, 0)

    def check_whole(self, plain):
        """Judges a transcode without a fault.

        plain: the same one with all pictures in memory, for those that are scaled."""
        if not self.check_frames():
            return self.complaints
        self.expect("failures", [event["error"] for event in self.failures], [])
        self.check_driver()
        source = self.decoded_source()
        self.check_held(source)
        end = self.of_kind("end")[0]
        self.check_copies(end["onDevice"])
        for output in range(self.row.outputs):
            pictures = self.pictures_of(output)
            given = [picture.source for picture in pictures]
            expected = source if output == 0 else [picture.source for picture in plain.pictures_of(output)]
            if given != expected:
                same = sum(one == other for one, other in zip(given, expected))
                self.complaints.append(f"output {output} was encoded from {len(given)} pictures, of which {same} of "
                                       f"{len(expected)} are right")
            decoded = media.decode_with_ffmpeg(self.path(output))
            self.complaints += decoded.complaints[:2]
            self.require(decoded.frames == [picture.reconstruction for picture in pictures],
                         f"output {output} does not decode to the driver's reconstruction")
        return self.complaints

    def check_copies(self, on_device):
        row = self.row
        # A process that cannot read the device's surfaces has every picture copied.
        readable = on_device if row.isolation == "process" else 0
        if row.device_frames >= ENCODERS_NEED + row.hold:
            self.expect("frames on the device", on_device, row.frames)
        self.require(on_device <= row.frames and (on_device > 0) == (row.device_frames > 0),
                     f"{on_device} frames on the device")
        for line in self.of_kind("output"):
            name = f"output {line['index']}"
            if row.isolation == "process":
                self.expect(f"copies of {name}", line["copied"], row.frames - readable)
            self.expect(f"device of {name}", line["device"], "/dev/dri/renderD128")
            self.expect(f"repeated frames of {name}", line["repeated"], 0)

    # With faults.

    def check_survival(self):
        """Judges a transcode whose driver or helper failed."""
        row = self.row
        fired = [(fault["target"], fault["action"]) for fault in self.journal.faults]
        if row.faults:
            # Another codec or number of outputs makes fewer calls than those that were counted.
            self.require(bool(fired) or row.may_not_fire, "the fault did not fire")
        else:
            # The last frames may be there before the program's output has told of earlier ones.
            least = sum(frames <= EARLY for frames in row.kills)
            self.require(least <= self.killed <= len(row.kills), f"{self.killed} helpers were killed, expected {least}")
        if not self.check_frames():
            return self.complaints
        # libavcodec ends a picture that could not be begun.
        habits = HABITS | ({"end-without-begin"} if ("vaBeginPicture", "status") in fired else set())
        if ("vaCreateBuffer", "status") in fired:
            # Nor does it ask whether all buffers of a picture exist.
            habits |= {"decoding-buffer-missing"}
        if any(target in ("vaGetImage", "vaCreateImage", "vaUnmapBuffer") for target, _ in fired):
            # Then surfaces are or stay mapped to be read, which encoders do at the same time.
            habits |= {"surface-mapped-while-encoding"}
        if ("vaSyncSurface", "status") in fired:
            # Nobody can wait where waiting is refused.
            habits |= {"surface-destroyed-in-use"}
        if row.open_gop:
            # A decoder that begins at an open random access point lists references that it does not have.
            habits |= {"reference-without-picture"}
        self.complaints += [str(finding) for finding in self.journal.findings if finding.name not in habits][:6]
        self.check_helpers()
        self.check_named(fired)
        self.check_held(self.decoded_source())
        for output in range(row.outputs):
            decoded = media.decode_with_ffmpeg(self.path(output))
            self.complaints += [f"output {output}: {line}" for line in decoded.complaints[:2]]
            self.expect(f"frames that output {output} decodes to", len(decoded.frames), row.frames)
            least = LEAST_SCALED_LIKENESS if output else LEAST_LIKENESS
            found = likeness(self.path(output), self.source, row.size_of(output), self.folder)
            bad = [f"{number}: {value} dB" for number, value in enumerate(found) if value < least]
            self.require(len(found) == row.frames and not bad,
                         f"output {output}: {len(found)} frames compared, these are others: {', '.join(bad[:8])}")
        return self.complaints

    def check_helpers(self):
        """Nothing is created in a helper process in which an encoder has failed: its display may be in any state."""
        failed = set()
        encoders = [entry["context"] for entry in self.journal.entries if entry.get("kind") == "picture"]
        for entry in self.journal.entries:
            if entry.get("kind") == "context" and failed:
                self.require(entry["context"] not in encoders, "an encoder was created in a helper that had failed")
            if entry.get("kind") == "initialise":
                failed.clear()
            if entry.get("kind") == "fault" and (entry["target"], entry["action"]) == ("vaEndPicture", "status") and \
                    self.events("failed") and not self.events("decoder failed"):
                failed.add(entry["target"])

    def check_named(self, fired):
        """A failure that the session met is told, and names the call, the signal, or what was late."""
        texts = [event["error"] for event in self.failures]
        self.require(all(texts), "a failure without a reason")
        repeated = sum(line["repeated"] + line["failed"] for line in self.of_kind("output"))
        failed = self.of_kind("end")[0]["failed"]
        self.require(bool(texts) or repeated + failed == 0, "frames were repeated, and nothing was told")
        if not self.row.faults:
            if self.killed:
                self.require(any("SIGKILL" in text for text in texts), f"no signal is named: {texts[:3]}")
            return
        for target, action in dict.fromkeys(fired):
            if action == "status" and target in ("vaEndPicture", "vaBeginPicture", "vaRenderPicture", "vaSyncSurface"):
                self.require(not texts or any(target in text for text in texts), f"{target} is not named: {texts[:3]}")
            elif action in ("segv", "abort") and target.startswith("vaDestroy") and repeated + failed == 0:
                # A helper that ends badly when everything has come out of it is nobody's concern.
                pass
            elif action in ("segv", "abort"):
                self.require(any(re.search("signal|SIG", text) for text in texts), f"no signal is named: {texts[:3]}")
            elif action == "hang":
                self.require(bool(texts), f"{action} is not told")


def converse(command, environment, kills):
    """Runs a program, and kills its helper after so many frames each: its output, status and how many were killed."""
    process = termination.start(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, start_new_session=True)
    guard = threading.Timer(TIMEOUT, end_group, (process,))
    guard.start()
    lines, frames, killed, pending = [], 0, 0, list(kills)
    try:
        for line in process.stdout:
            text = line.decode(errors="replace")
            lines.append(text)
            frames += text.startswith('{"') and '"kind":"frame"' in text
            while pending and frames >= pending[0]:
                pending.pop(0)
                killed += kill_helpers(process.pid)
        # What the program has ended goes by itself; what it left is killed.
        status = process.wait()
    finally:
        guard.cancel()
        end_group(process)
        process.wait()
    return "".join(lines), status, killed


def kill_helpers(process):
    """Kills the children of a process; whether there was one."""
    children = set()
    for task in Path(f"/proc/{process}/task").iterdir():
        try:
            children |= {int(child) for child in (task / "children").read_text().split()}
        except (FileNotFoundError, ProcessLookupError):
            pass
    for child in children:
        try:
            os.kill(child, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return bool(children)


def likeness(stream, source, size, folder):
    """The PSNR in dB of each frame of a stream against the source's, which is scaled to the size."""
    found = folder / "likeness"
    ended = run(["ffmpeg", "-nostdin", "-hide_banner", "-v", "error", "-i", str(stream), "-i", str(source), "-lavfi",
                 f"[0:v]settb=1/25,setpts=N[a];[1:v]scale={size[0]}:{size[1]}:flags=bilinear,settb=1/25,setpts=N[b];"
                 f"[a][b]psnr=stats_file={found}", "-f", "null", "-"], media.tool_environment(), 120)
    if ended.status != 0 or not found.exists():
        return []
    values = re.findall(r"psnr_y:(inf|[0-9.]+)", found.read_text())
    found.unlink()
    return [float(value) for value in values]


def judge(program, row, folder, keep=None):
    """Complaints about a row, and the run."""
    folder = Path(tempfile.mkdtemp(dir=folder))
    if isinstance(row, Row):
        run_of = Transcode(program, folder, row)
        plain = run_of
        if row.outputs > 1:
            other = folder / "plain"
            other.mkdir()
            plain = Transcode(program, other, row._replace(device_frames=0, isolation="process", hold=0))
        return run_of.check_whole(plain), run_of
    run_of = Transcode(program, folder, row, faults=row.faults, kills=row.kills, persona=row.persona)
    return run_of.check_survival(), run_of


# The tables.

def all_rows():
    """Every transcode without a fault."""
    rows = []
    for source in ("h264", "hevc"):
        for codec in ("h264", "hevc"):
            for size in ((176, 144), (640, 360), (178, 142)):
                for outputs, device_frames in ((1, 32), (2, 4), (3, 1), (3, 32), (1, 0)):
                    rows.append(Row(source, codec, size, outputs, device_frames))
            rows.append(Row(source, codec, (1920, 1080), 2, frames=12))
            rows.append(Row(source, codec, (176, 144), 2, ENCODERS_NEED + 20, hold=20))
            rows.append(Row(source, codec, (176, 144), 1, device_frames=4))
            rows.append(Row(source, codec, (176, 144), 1, isolation="in-process"))
    for size in ((176, 144), (640, 360), (178, 142)):
        for outputs, device_frames, hold in ((1, 32, 0), (2, 4, 0), (3, ENCODERS_NEED + 6, 6)):
            rows.append(Row("hevc", "hevc", size, outputs, device_frames, bits=10, frames=30, hold=hold))
    return rows


# What a decoder and an encoder call while they work, and what they do on their way there.
STATUSES = {"vaEndPicture": 0x18, "vaCreateBuffer": 0x2, "vaCreateContext": 0x2, "vaCreateSurfaces2": 0x2,
            "decoded": 0x17, "coded": 0x8000}
TARGETS = ("vaInitialize", "vaCreateConfig", "vaQuerySurfaceAttributes", "vaCreateSurfaces2", "vaCreateContext",
           "vaCreateBuffer", "vaBeginPicture", "vaRenderPicture", "vaEndPicture", "vaSyncSurface", "vaSyncBuffer",
           "vaMapBuffer", "vaUnmapBuffer", "vaDeriveImage", "vaGetImage", "vaPutImage", "vaCreateImage",
           "vaDestroyImage", "vaDestroySurfaces", "vaDestroyContext", "vaDestroyBuffer", "vaDestroyConfig",
           "decoded", "coded", "processed")
# In the first display, in each helper, from then on in each helper.
MODES = {"once": "{target}#1:{number}={action}", "each": "{target}:{number}={action}",
         "ever": "{target}:{number}+={action}"}


def reached(program, folder):
    """How often a transcode with two outputs calls each target, by the journal."""
    folder = Path(tempfile.mkdtemp(dir=folder))
    counting = ";".join(f"{target}:*=delay:1us" for target in TARGETS)
    run_of = Transcode(program, folder, FaultRow(""), faults=counting)
    if run_of.status != 0:
        raise Problem(f"a transcode without a fault fails: {run_of.rest[-4:]} {run_of.said[-2:]}")
    counts = defaultdict(int)
    for fault in run_of.journal.faults:
        counts[fault["target"]] = max(counts[fault["target"]], fault["occurrence"])
    return counts


def all_faults(counts, choice, full):
    """Every fault, with places in the run that the seed chooses: one in the first calls, one later."""
    rows = []
    for target in TARGETS:
        if not counts[target]:
            continue
        for action in ("status", "segv", "abort", "device-lost"):
            if action == "status" and target == "processed":
                continue
            words = f"status:{STATUSES.get(target, 1):#x}" if action == "status" else action
            for mode, text in MODES.items():
                for number in sorted({choice.randint(1, min(counts[target], 4)), choice.randint(1, counts[target])}):
                    rows.append(random_row(choice, text.format(target=target, number=number, action=words),
                                           may_not_fire=number > 2 or "Image" in target or target == "processed"))
    for frames in ((1,), (5,), (20,), (40,), (58,), (10, 30), (5, 15, 25, 35)):
        for hold in (0, 10, 20):
            rows.append(random_row(choice, "")._replace(kills=frames, device_frames=32, hold=hold))
    if full:
        # Of these two, one waits for the deadline of a decoder, which is long.
        rows += [FaultRow("coded#1:30=hang"), FaultRow("decoded#1:30=hang")]
    return rows


# A decoder has memory for few pictures beside those on the device, so a consumer that keeps some may starve it.
HOLDS = tuple({"device_frames": frames, "hold": hold} for frames, hold in ((1, 0), (4, 0), (32, 0), (32, 10), (32, 20)))


def random_row(choice, faults, may_not_fire=False):
    return FaultRow(faults, may_not_fire=may_not_fire, source=choice.choice(("h264", "hevc")),
                    codec=choice.choice(("h264", "hevc")),
                    outputs=choice.choice((1, 2, 3)), **choice.choice(HOLDS), open_gop=choice.choice((False, True)))
