# SPDX-License-Identifier: GPL-2.0-or-later
"""What ffmpeg and ffprobe make of files, for tests that compare what comes out of `vatoolbox encode` with what went in."""

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path


class Failed(Exception):
    """A program that should have worked did not; the text is its command and what it said."""


def tool(*words):
    """Runs a program; returns its standard output and what it said on standard error."""
    ended = subprocess.run([str(word) for word in words], capture_output=True, stdin=subprocess.DEVNULL)
    if ended.returncode != 0:
        raise Failed(f"{' '.join(map(str, words))}\n{ended.stderr.decode(errors='replace')[-1500:]}")
    return ended.stdout, ended.stderr.decode(errors="replace")


def ffmpeg(*words):
    """Runs ffmpeg, quiet but for errors."""
    return tool("ffmpeg", "-nostdin", "-v", "error", "-y", *words)


def entries(path, section, streams="v:0"):
    """A list of what ffprobe shows of a section, such as `frame=pts_time,width`, as dictionaries."""
    kind = section.split("=")[0]
    shown, _ = tool("ffprobe", "-v", "error", "-select_streams", streams, "-show_entries", section, "-of", "json", path)
    found = json.loads(shown)
    return found["format"] if kind == "format" else found.get(f"{kind}s", [])


def stream(path, fields, streams="v:0"):
    """What ffprobe shows of one stream."""
    return entries(path, f"stream={fields}", streams)[0]


def frame_times(path):
    """When each picture is shown, in seconds, in the order in which a decoder gives them."""
    return [float(frame["pts_time"]) for frame in entries(path, "frame=pts_time")]


def packet_times(path, streams="v:0"):
    """When each packet is shown, in seconds, in that order; much faster than decoding."""
    return sorted(float(packet["pts_time"]) for packet in entries(path, "packet=pts_time", streams))


def psnr(reference, coded, reference_filters="null", coded_filters="null", reference_options=()):
    """The decibels of all samples between two files' pictures, taken in order; infinite if they are equal."""
    counted = "settb=1/25,setpts=N,format=yuv420p"
    graph = (f"[0:v]{reference_filters},{counted}[a];[1:v]{coded_filters},{counted}[b];"
             "[a][b]psnr=shortest=0:repeatlast=0")
    _, said = tool("ffmpeg", "-nostdin", "-y", *reference_options, "-i", reference, "-i", coded, "-fps_mode",
                   "passthrough", "-lavfi", graph, "-f", "null", "-")
    found = re.findall(r"PSNR .*average:(\S+)", said)
    if not found:
        raise Failed(f"no PSNR between {reference} and {coded}:\n{said[-1000:]}")
    return float(found[-1])


@dataclass
class Encoded:
    """What one run of `vatoolbox encode` came to."""

    status: int
    said: str
    document: dict
    output: Path
    peak: int  # MiB that the command held at most


class Encoder:
    """Runs `vatoolbox encode`."""

    def __init__(self, program, folder, options=()):
        self.program, self.folder, self.options = program, folder, list(options)
        self.count = 0

    def __call__(self, source, *options, suffix="mp4"):
        """Encodes a file, fast and well, into a new one. Errors are in what is returned."""
        self.count += 1
        output = self.folder / f"out-{self.count}.{suffix}"
        quality = [] if any(option in options for option in ("--qp", "--bitrate", "--crf")) else ["--qp", "8"]
        command = [self.program, "encode", source, "-o", output, "--json", "--preset", "ultrafast", "--device",
                   "software", *quality, *self.options, *options]
        with open(self.folder / "stdout", "wb") as shown, open(self.folder / "stderr", "wb") as said:
            process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=shown,
                                       stderr=said)
            _, ending, usage = os.wait4(process.pid, 0)
            status = process.returncode = os.waitstatus_to_exitcode(ending)
        said = (self.folder / "stderr").read_text(errors="replace")
        try:
            document = json.loads((self.folder / "stdout").read_text())
        except ValueError:
            document = {}
        return Encoded(status, said, document, output, usage.ru_maxrss // 1024)
