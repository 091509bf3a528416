# SPDX-License-Identifier: GPL-2.0-or-later
"""Drivers that fail under `vatoolbox encode`: every frame comes out once whatever happens, what happened is told, and
where nothing is left to encode with there is an error and no file."""

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

import stream
from encode import document_in
from runner import media
from runner.commands import DEVICE
from runner.journal import read_journal
from runner.launch import run
from runner.places import build, client_environment
from scenario import Scenario
from sources import source_of

SIZE, FRAMES = (176, 144), 30


@dataclass(frozen=True)
class Fault:
    fault: str  # REFERENCE_DRIVER_FAULTS
    noticed: bool = True  # a frame fails; else nothing shows but in the journal
    resubmissions: int = 0
    only: str = ""  # an isolation, where the other would end the command itself


# What fails, and whether that fails a frame. Occurrences are counted per process: another helper fails anew.
FAULTS = (
    Fault("coded:6=size:0"),
    Fault("coded:6+=size:0"),
    Fault("coded:1=size:0"),
    Fault("coded:6=status:0x8000"),
    Fault("coded:6=status:0x03000000", noticed=False),
    Fault("coded:6=status:0x1a", noticed=False),
    Fault("coded:6=overflow", noticed=False, resubmissions=1),
    Fault("coded:1=overflow", noticed=False, resubmissions=1),
    Fault("coded:6=overflow;coded:12=overflow", noticed=False, resubmissions=2),
    Fault("coded:6=device-lost"),
    Fault("vaBeginPicture:6=status:0x1"),
    Fault("vaRenderPicture:9=status:0x12"),
    Fault("vaEndPicture:6=status:0x18"),
    Fault("vaEndPicture:6=device-lost"),
    Fault("vaEndPicture:*=status:0x18"),
    Fault("vaSyncBuffer:6=status:0x1"),
    Fault("vaMapBuffer:20=status:0x1", noticed=None),
    Fault("vaCreateContext:*=status:0x2"),
    Fault("vaInitialize:*=status:0x1"),
    Fault("vaCreateConfig:1=status:0xd", noticed=None),
    Fault("vaEndPicture:6=segv", only="process"),
    Fault("vaSyncBuffer:6=abort", only="process"),
    Fault("coded:6=segv", only="process"),
)


class FaultyEncode:
    """One run of the command with a fault."""

    def __init__(self, program, fault, codec, isolation, folder, *options):
        self.fault = fault
        self.complaints = []
        self.source = source_of(folder, SIZE, FRAMES)
        with tempfile.TemporaryDirectory() as scratch:
            self.output, journal = Path(scratch) / "output.mp4", Path(scratch) / "journal"
            command = [str(program), "encode", str(self.source), "-o", str(self.output), "--json", "--isolation",
                       isolation, "--bitrate", "300k", "--keyframe-interval", "12", "--b-frames", "2", "--codec", codec,
                       *options]
            environment = client_environment(build(), faults=fault.fault, journal=journal)
            self.ended = run(command, environment, 240)
            self.document = document_in(self.ended.output)
            self.journal = read_journal(journal)
            self.left = sorted(path.name for path in Path(scratch).iterdir() if path.name != "journal")
            self.judge()

    def require(self, condition, what):
        if not condition:
            self.complaints.append(what)

    def judge(self):
        raise NotImplementedError


class WithSuccessor(FaultyEncode):
    """x264 or x265 stands by."""

    def judge(self):
        document = self.document
        if self.ended.status != 0 or not self.left:
            self.complaints.append(f"{self.ended.description}: {self.ended.output[-400:]}")
            return
        self.require(bool(self.journal.faults), "the fault did not fire")
        frames = document["frames"]
        self.require((frames["in"], frames["out"], frames["dropped"]) == (FRAMES, FRAMES, 0), f"frames: {frames}")
        decoded = media.decode_with_ffmpeg(self.output)
        self.complaints += decoded.complaints[:4]
        self.require(len(decoded.frames) == FRAMES, f"{len(decoded.frames)} frames decode")
        self.require(len(set(decoded.frames)) == FRAMES, "a frame comes twice")
        times = stream.times_of(self.output)
        self.require(sorted(pts for _, pts in times) == [index * times_step(times) for index in range(FRAMES)],
                     f"presentation times: {sorted(pts for _, pts in times)}")
        self.require(all(one[0] < other[0] for one, other in zip(times, times[1:])), "decode times do not increase")
        likeness = media.psnr(self.output, self.source)
        self.require(likeness is not None and likeness > 25,
                     f"PSNR {likeness} dB: frames are missing or in another order")
        self.complaints += [str(finding) for finding in self.journal.findings[:6]]
        self.judge_report(frames)

    def judge_report(self, frames):
        told = [line for line in self.ended.output.splitlines() if "encoder" in line.lower()] or \
            self.document["encoder"]["rejected"]
        switched = self.document["encoder"]["device"] is None or frames["repeated"] > 0
        if self.fault.noticed is True:
            self.require(bool(told), "nothing is said about the failure")
            self.require(switched, "no frame was encoded again, and the encoder is the GPU's")
        elif self.fault.noticed is False:
            self.require(frames["repeated"] == 0, f"{frames['repeated']} frames were encoded again")
            self.require(self.document["encoder"]["device"] == DEVICE, "the encoder was given up")
            self.require(self.journal.resubmissions == self.fault.resubmissions,
                         f"{self.journal.resubmissions} times pictures were submitted again")
            reconstructions = [picture.reconstruction for picture in self.journal.in_presentation_order()]
            self.require(media.decode_with_ffmpeg(self.output).frames == reconstructions,
                         "the output is not what the driver reconstructed")


class WithoutSuccessor(FaultyEncode):
    """Nothing else may encode: either it goes on after all, or there is a clear error."""

    def judge(self):
        if self.ended.status == 0:
            self.require(self.left == ["output.mp4"], f"left {self.left}")
            self.require(len(media.decode_with_ffmpeg(self.output).frames) == FRAMES, "frames are missing")
            return
        error = self.document.get("error") or {}
        self.require(self.ended.status == 1 and not self.ended.timed_out, self.ended.description)
        self.require(bool(error.get("message")), f"no reason: {self.ended.output[-300:]}")
        self.require(self.left == [], f"left {self.left}")
        permanent = "*" in self.fault.fault or "+" in self.fault.fault
        self.require(permanent or "sync" in self.fault.fault or self.fault.noticed is not False,
                     f"ended although the driver has not failed: {json.dumps(error)}")


def times_step(times):
    shown = sorted(pts for _, pts in times)
    return shown[1] - shown[0]


def hang(program, folder, codec, isolation):
    """A picture that never comes back: the deadline counts, and x264 or x265 goes on with every frame."""
    scenario = Scenario(program, folder, "frames=30", "b-frames=2", "frame-deadline=1500", f"isolation={isolation}",
                        f"codec={codec}", "policy=any", faults="coded:8=hang", timeout=120)
    scenario.expect("status", scenario.ended.status, 0)
    scenario.expect("frames", sorted(sample["frame"] for sample in scenario.samples), list(range(30)))
    scenario.check_times()
    scenario.require(bool(scenario.events("failed")), "nothing is said about the failure")
    decoded = media.decode_with_ffmpeg(scenario.output)
    scenario.complaints += decoded.complaints[:4]
    scenario.expect("decoded frames", len(decoded.frames), 30)
    return scenario.complaints


def of_codec(codec, library, full):
    """The faults of a codec, of which the library stands by."""
    found = {}
    for fault in FAULTS if full else FAULTS[:1] + FAULTS[6:8] + FAULTS[12:13]:
        for isolation in ("process", "in-process"):
            if fault.only not in ("", isolation):
                continue
            found[f"{fault.fault}, {isolation}, {library} stands by"] = (
                lambda command, _, folder, fault=fault, isolation=isolation:
                WithSuccessor(command, fault, codec, isolation, folder).complaints)
            found[f"{fault.fault}, {codec}, {isolation}, nothing stands by"] = (
                lambda command, _, folder, fault=fault, isolation=isolation:
                WithoutSuccessor(command, fault, codec, isolation, folder, "--require-hardware").complaints)
    for isolation in ("process", "in-process"):
        found[f"coded:8=hang, {codec}, {isolation}"] = (
            lambda _, scenarios, folder, isolation=isolation: hang(scenarios, folder, codec, isolation))
    return found


def all_faults(full):
    """Names, and functions of command, scenario program and folder that give complaints."""
    return of_codec("h264", "x264", full) | of_codec("hevc", "x265", full)
