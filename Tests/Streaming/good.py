# SPDX-License-Identifier: GPL-2.0-or-later
"""Good presentations, made by the command, and the clips that they are made of."""

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from runner.places import build

NAME = "show.m3u8"
OUTPUT = "OUTPUT"  # among options: the path of the presentation
FAST = ("--preset", "superfast", "--asm", "avx2")


class Bad(Exception):
    """What is wrong with a presentation, or why there is none."""


@dataclass(frozen=True)
class Clip:
    """What ffmpeg generates."""

    seconds: float
    size: str = "320x180"
    rate: str = "25"
    sounds: tuple = ()  # pairs of a language and a number of channels
    sample_rate: int = 48000
    sounding: tuple = None  # when sound begins, and how long it lasts
    container: str = "mp4"
    video: tuple = ("-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p")

    def make(self, path):
        command = ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", f"testsrc2=size={self.size}:rate={self.rate}"]
        for number in range(len(self.sounds)):
            start, length = self.sounding or (0, self.seconds)
            command += ["-itsoffset", str(start), "-f", "lavfi", "-t", str(length), "-i",
                        f"sine=frequency={300 + 250 * number}:sample_rate={self.sample_rate}"]
        command += ["-map", "0:v"]
        for number, (language, channels) in enumerate(self.sounds):
            command += ["-map", f"{number + 1}:a", f"-metadata:s:a:{number}", f"language={language}", f"-ac:a:{number}",
                        str(channels)]
        run([*command, "-t", str(self.seconds), *self.video, "-c:a", "aac", path])


SOUNDS = (("eng", 2), ("ger", 2))
HDR = ("-pix_fmt", "yuv420p10le", "-color_primaries", "bt2020", "-color_trc", "smpte2084", "-colorspace", "bt2020nc",
       "-c:v", "libx265",
       "-preset", "ultrafast", "-x265-params",
       "log-level=none:colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc:hdr10=1:max-cll=1000,400:"
       "master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,1)")
FAILING_GPU = "vaEndPicture:60=status:0x18;vaCreateContext:3+=status:0x12"


@dataclass(frozen=True)
class Case:
    """A presentation."""

    name: str
    clip: Clip
    options: tuple
    faults: str = None  # of the reference driver, on a simulated GPU
    switches: int = 0  # how often an encoder takes over

    def encode(self, program, folder):
        """Makes the presentation in a folder; returns what the command reports."""
        folder.mkdir(parents=True, exist_ok=True)
        source = folder / f"clip.{self.clip.container}"
        self.clip.make(source)
        options = [str(folder / NAME) if word == OUTPUT else word for word in self.options]
        command = [str(program), "encode", str(source), *FAST, "-o", str(folder / NAME), "--json", *options]
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("LIBVA_", "REFERENCE_",
                                                                                                 "RENDER_"))}
        with tempfile.TemporaryDirectory() as home:
            if self.faults is not None:
                drivers = build()
                environment |= {"LD_PRELOAD": str(drivers / "librender_node.so"), "RENDER_NODES": "128=generic",
                                "LIBVA_DRIVERS_PATH": str(drivers), "LIBVA_DRIVER_NAME": "libref",
                                "LIBVA_MESSAGING_LEVEL": "0",
                                "REFERENCE_DRIVER_FAULTS": self.faults}
                command += ["--isolation", "in-process"]
            environment |= {"HOME": home, "XDG_CACHE_HOME": home, "XDG_RUNTIME_DIR": home}
            told = json.loads(run(command, environment))
        source.unlink()
        outputs = told.get("outputs", [told])
        found = sum(len(output.get("switches") or []) for output in outputs)
        if found < self.switches:
            raise Bad(f"{found} encoders took over, {self.switches} were to fail")
        return [output["frames"]["out"] for output in outputs]


def run(command, environment=None, limit=600):
    ended = subprocess.run([str(word) for word in command], env=environment, stdin=subprocess.DEVNULL,
                           capture_output=True, text=True,
                           timeout=limit)
    if ended.returncode:
        raise Bad(f"{' '.join(map(str, command))}: exit status {ended.returncode}: "
                  f"{ended.stdout[-500:]}{ended.stderr[-500:]}")
    return ended.stdout


def ladder(codec, *rungs):
    return ("--codec", codec, "--ladder", ",".join(rungs))


SHORT = ("--segment-duration", "3")
# Rates at which x264 needs no higher level than the size and the frame rate do; it counts twice the average as the peak.
RUNGS = ("180p:200k", "90p:100k")
# The first five are also the presentations of the self-test.
CASES = (
    Case("fmp4", Clip(8, sounds=SOUNDS), (*ladder("h264", *RUNGS), *SHORT, "--dash", "--start-date",
                                          "2026-01-31T12:00:00Z")),
    Case("ts", Clip(8, sounds=SOUNDS[:1]), (*ladder("h264", *RUNGS), *SHORT, "--segment-format", "ts")),
    Case("hevc", Clip(8, sounds=SOUNDS[:1]), (*ladder("hevc", *RUNGS), *SHORT, "--profile", "main10")),
    Case("hdr", Clip(5, video=HDR), (*ladder("hevc", *RUNGS), *SHORT)),
    Case("switch", Clip(8), (*ladder("h264", *RUNGS), *SHORT), FAILING_GPU, 1),
    Case("three rungs, 6 s", Clip(20, "640x360", "30000/1001", SOUNDS, 44100),
         (*ladder("h264", "360p:800k", "270p:400k", "180p:150k"), "--dash")),
    Case("transport streams, 6 s", Clip(14, "640x360", "24000/1001", SOUNDS, 44100),
         (*ladder("h264", "360p:800k", "270p:400k", "180p:120k"), "--segment-format", "ts", "--start-date",
          "2026-01-31T12:00:00Z")),
    Case("B-frames and 50 fps", Clip(8, rate="50", sounds=SOUNDS[:1]), (*ladder("h264", *RUNGS), "--b-frames", "3",
                                                                        "--dash")),
    Case("no sound", Clip(7), (*ladder("h264", *RUNGS), "--dash")),
    Case("HEVC without sound", Clip(7), (*ladder("hevc", *RUNGS), "--dash", "--b-frames", "2")),
    Case("both codecs", Clip(7, sounds=SOUNDS[:1]),
         ("--codec", "h264", "--variant", "avc", "--size", "320x180", "--bitrate", "300k", "-o", OUTPUT, "--codec",
          "hevc", "--variant",
          "hevc", "--size", "320x180", "--bitrate", "150k")),
    Case("mono and stereo", Clip(7, sounds=(("eng", 1), ("fre", 2), ("und", 2))), (*ladder("h264", *RUNGS), "--dash")),
    Case("stereo and 5.1", Clip(7, sounds=(("eng", 2), ("eng", 6))), ladder("h264", *RUNGS)),
    Case("sound copied from Matroska", Clip(7, sounds=SOUNDS[:1], container="mkv"), (*ladder("h264", *RUNGS),
                                                                                     "--dash")),
    Case("sound encoded from Matroska", Clip(7, sounds=SOUNDS, container="mkv"), (*ladder("h264", *RUNGS), "--audio",
                                                                                  "aac", "--dash")),
    Case("sound from 2 s to 5 s", Clip(7, sounds=SOUNDS[:1], sounding=(2, 3)), (*ladder("h264", *RUNGS), "--audio",
                                                                                "aac", "--dash")),
    Case("switch in transport streams", Clip(8, sounds=SOUNDS[:1]), (*ladder("h264", *RUNGS), *SHORT,
                                                                     "--segment-format", "ts"), FAILING_GPU, 1),
    Case("GPU", Clip(8, sounds=SOUNDS[:1]), (*ladder("h264", *RUNGS), "--dash"), ""),
)
SELF_TEST = ("fmp4", "ts", "hevc", "hdr", "switch")
SAMPLE = ("fmp4", "ts", "hevc", "switch")
# MUST rules that the content of a presentation breaks, not its form.
ALLOWED = {"hdr": {"1.24", "6.16"}}


def files(folder):
    """The files of a presentation as a dictionary."""
    from presentation import Presentation
    return Presentation.load(Path(folder) / NAME).files
