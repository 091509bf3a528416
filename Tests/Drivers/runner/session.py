# SPDX-License-Identifier: GPL-2.0-or-later
"""One judged run of a client."""

import os
import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from . import media
from .allow import split_findings
from .journal import Finding, read_journal
from .launch import run
from .places import Problem, build, client_environment
from .verdict import Verdict, equal_count

OUTPUT_SUFFIXES = (".h264", ".264", ".h265", ".265", ".hevc", ".mp4", ".m4v", ".mov", ".ts", ".mkv", ".flv")


@dataclass
class Request:
    """What to run and how to judge it."""

    command: list
    client: str = ""  # the name that the allow-list knows it by; "": from the command
    output: Path | None = None  # None: the last file with a known suffix that the command names
    source: Path | None = None
    source_size: tuple | None = None  # of a raw source
    persona: str = "intel"
    limits: str = ""
    faults: str = ""
    node: str = "generic"
    effort: str = ""
    timeout: float = 60
    allowed: list = field(default_factory=list)  # allow.Allowed
    second_decoder: bool = False
    real: bool = False  # on this machine's own device
    least_psnr: float = 25  # dB against the source, on a real device; lossy coding of common pictures has more
    environment: dict = field(default_factory=dict)  # further variables of the client
    test_encodes: bool = False  # the client makes some of its own, which are not judged against output and source


def client_name(command):
    program = Path(command[0]).name
    if not program.startswith("gst-launch"):
        return program
    for word in command:
        if re.fullmatch(r"va\w*h26\d\w*enc", word):
            return "gstreamer-vaapi" if word.startswith("vaapi") else "gstreamer-va"
    return "gstreamer"


def output_of(command):
    """The output that a command names: the last argument, or value of location=, with a suffix of a video file."""
    for word in reversed(command):
        path = word.split("=", 1)[1] if word.startswith(("location=", "--output=")) else word
        if path.endswith(OUTPUT_SUFFIXES):
            return Path(path)
    raise Problem(f"no word of the command names an output ({', '.join(OUTPUT_SUFFIXES)}); say it with --output")


def real_device():
    """The first render node of this machine that opens; None when there is none."""
    for node in sorted(Path("/dev/dri").glob("renderD*")):
        try:
            os.close(os.open(node, os.O_RDWR | os.O_CLOEXEC))
            return node
        except OSError:
            continue
    return None


def judge(request):
    """Runs the client and returns the Verdict."""
    output = Path(request.output or output_of(request.command))
    name = request.client or client_name(request.command)
    if request.source and not Path(request.source).exists():
        raise Problem(f"{request.source}: no such source")
    if output.exists():
        output.unlink()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal"
        environment = None if request.real else client_environment(
            build(), node=request.node, persona=request.persona, limits=request.limits, faults=request.faults,
            effort=request.effort, journal=path, extra=request.environment)
        try:
            ended = run(request.command, environment, request.timeout)
        except OSError as error:
            raise Problem(f"{request.command[0]}: {error.strerror}") from error
        verdict = Verdict(name, ended)
        if request.real:
            verdict.real = str(real_device())
        else:
            read_verdict(verdict, read_journal(path), request)
    if not output.exists() or not output.stat().st_size:
        verdict.problems.append(f"no output in {output}")
        return verdict
    judge_stream(verdict, output, request)
    return verdict


def read_verdict(verdict, journal, request):
    """Takes over what the driver said."""
    excused, rest = split_findings(request.allowed, verdict.client, journal.findings)
    verdict.excused = len(excused)
    verdict.findings = [finding for finding in rest if not finding.is_leak]
    verdict.leaks = [finding for finding in rest if finding.is_leak]
    verdict.damaged = journal.damaged
    verdict.journal = journal
    if journal.damaged:
        verdict.problems.append(f"{journal.damaged} damaged lines in the journal")
    whole = verdict.ended.status >= 0 and not verdict.ended.timed_out and not journal.faults
    if whole and journal.never_terminated:
        left = Finding("display-never-terminated", "va.h vaTerminate", f"{journal.never_terminated} displays",
                       None, None, None)
        known, _ = split_findings(request.allowed, verdict.client, [left])
        verdict.excused += len(known)
        if not known:
            verdict.problems.append(f"{left.detail} never terminated")


def judge_stream(verdict, output, request):
    """Decodes what the client wrote and holds it against source and reconstruction."""
    verdict.decoded = media.decode_with_ffmpeg(output)
    if verdict.real:
        if request.source:
            judge_against_source(verdict, output, request)
        return
    pixels = media.surface_format(output)
    sent = media.source_md5s(request.source, request.source_size, pixels) if request.source else []
    if request.test_encodes and request.effort != "skip":
        verdict.journal = verdict.journal.without_test_encodes(set(sent))
    pictures = verdict.journal.in_presentation_order()
    if request.effort == "skip":  # the driver computes no sums
        verdict.exact = None
        require_count(verdict, "were coded", len(pictures))
        if request.source:
            require_count(verdict, "were sent", len(sent))
        return
    reconstructions = [picture.reconstruction for picture in pictures]
    verdict.exact = equal_count(verdict.decoded.frames, reconstructions)
    if request.source:
        verdict.source = equal_count([picture.source for picture in pictures], sent)
    if request.second_decoder and verdict.journal.codec == "HEVC":
        verdict.second = media.decode_with_libde265(output)
        compare_exactly(verdict.second, reconstructions)
    elif request.second_decoder:
        verdict.second = media.decode_with_openh264(output)
        compare_second(verdict.second, reconstructions, pictures != verdict.journal.pictures)


def judge_against_source(verdict, output, request):
    """Where there is no reconstruction to compare with: as many frames as were sent, that look like them."""
    require_count(verdict, "were sent", len(media.source_md5s(request.source, request.source_size)))
    verdict.psnr = media.psnr(output, request.source, request.source_size)
    if verdict.psnr is None:
        verdict.problems.append("ffmpeg gives no PSNR")
    elif verdict.psnr < request.least_psnr:
        verdict.problems.append(f"PSNR below {request.least_psnr:g} dB")


def require_count(verdict, origin, count):
    if len(verdict.decoded.frames) != count:
        verdict.problems.append(f"{count} frames {origin}")


def compare_exactly(decoded, reconstructions):
    """Holds a decoder's frames against the reconstruction, in their order."""
    same, total = equal_count(decoded.frames, reconstructions)
    if same != total:
        decoded.complaints.append(f"{same} of {total} frames are those of the reconstruction")


def compare_second(decoded, reconstructions, reordered):
    """Holds openh264's frames against the reconstruction. It decodes B pictures rightly, but puts reordered pictures
    out in a wrong order, and at an IDR picture the next one twice instead of the last of the period before (2.3.1):
    then each of its frames must be one of the reconstruction, and they must be as many."""
    strange = len(set(decoded.frames) - set(reconstructions))
    if len(decoded.frames) != len(reconstructions):
        decoded.complaints.append(f"{len(decoded.frames)} frames, {len(reconstructions)} were coded")
    elif strange:
        decoded.complaints.append(f"{strange} of {len(decoded.frames)} frames are not of the reconstruction")
    elif not reordered and decoded.frames != reconstructions:
        decoded.complaints.append("its frames are in another order")
