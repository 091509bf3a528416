# SPDX-License-Identifier: GPL-2.0-or-later
"""What a driver does not have, or the standard forbids, of either codec: it is refused with the reason, with what was
given and with what is allowed, before the driver hears of it, or done differently and reported. The driver never finds
anything."""

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

import rows
from encode import document_in
from runner import media
from runner.commands import DEVICE, make_source
from runner.journal import read_journal
from runner.launch import run
from runner.places import build, client_environment

FRAMES = 6
USUAL = {
    "h264": rows.Row("intel", "off", "main", "cqp", "off", "cabac", 1, (64, 64), "closed", 1, "process", "mp4"),
    "hevc": rows.Row("intel", "off", "hevc-main", "cqp", "off", "cabac", 1, (64, 64), "closed", 1, "process", "mp4"),
}


@dataclass(frozen=True)
class Refusal:
    row: rows.Row
    what: str = ""
    limits: str = ""
    size: tuple = (64, 64)
    extra: tuple = ()

    def __str__(self):
        return self.what or rows.describe(self.row)


def by_rule(codec):
    """One row for each way in which values of the codec's table exclude each other."""
    found = {}
    for persona, low_power in sorted(rows.CONTROLS) + [("amd", "on"), ("low-power", "off")]:
        usual = USUAL[codec]._replace(persona=persona, low_power=low_power)
        changes = [usual] + [usual._replace(control=control) for control in rows.VALUES.control]
        changes += [usual._replace(b_frames=b_frames) for b_frames in rows.VALUES.b_frames]
        if codec == "h264":
            changes += [usual._replace(profile="baseline", entropy="cavlc", b_frames="2"),
                        usual._replace(profile="baseline")]
        for row in changes:
            reason = rows.why_impossible(row)
            if reason:
                found[persona, low_power, reason, getattr(row, reason), row.profile] = Refusal(row)
    return list(found.values())


def of_both_codecs(codec):
    """What is asked for beside the table, and cannot be had of either codec."""
    usual, wide = USUAL[codec], (642, 358)
    amd = usual._replace(persona="amd")

    def refusal(row, what, *limits, **rest):
        return Refusal(row, f"{codec}: {what}", *limits, **rest)

    return by_rule(codec) + [
        refusal(amd._replace(slices=4, size=wide), "amd, which has one slice: slices=4", size=wide),
        refusal(usual, "smaller than the driver encodes: 16x16", size=(16, 16)),
        refusal(amd, "larger than the driver encodes: 1024x720", "size=640x480", size=(1024, 720)),
        refusal(usual, "more bits than the profile has: 10", extra=("--bit-depth", "10")),
        refusal(usual, "more bits than any encoder has: 14", extra=("--bit-depth", "14")),
        refusal(usual, "more chroma than the profile has: 4:2:2", extra=("--chroma", "4:2:2")),
        refusal(usual, "a codec that the driver has not", f"{codec}=none"),
        refusal(usual, "a level that does not hold the size", size=wide, extra=("--level", "1.1" if codec == "h264"
                                                                                else "1")),
        refusal(usual, "a level that there is not", extra=("--level", "7")),
        refusal(usual._replace(isolation="in-process", control="cbr"), "in process: a rate control that is missing",
                "rate-controls=cqp"),
        refusal(amd, "amd, which knows no regions", extra=("--roi", "0,0,16,16,-5")),
        refusal(amd, "amd, which knows no intra refresh", extra=("--intra-refresh",)),
        refusal(usual._replace(b_frames="2"), "intra refresh with B-frames", extra=("--intra-refresh",)),
        refusal(amd, "amd, which limits no frame", extra=("--max-frame-size", "20k")),
        refusal(usual, "a quality level beyond the driver's", extra=("--quality-level", "9")),
        refusal(usual, "more slices than the level has", size=(642, 358), extra=("--slices", "64", "--level", "3")),
        refusal(usual._replace(b_frames="2"), "B-frames that do not fill temporal layers",
                extra=("--temporal-layers", "3")),
    ]


def all_refusals():
    hevc = USUAL["hevc"]
    return of_both_codecs("h264") + of_both_codecs("hevc") + [
        Refusal(hevc._replace(profile="hevc-main10"), "hevc: a profile that the driver has not: Main 10", "hevc=main"),
        Refusal(hevc._replace(profile="hevc-main422-10"), "hevc: a profile that the driver has not: Main 4:2:2 10",
                "hevc=main10"),
        Refusal(hevc._replace(profile="hevc-main12", low_power="on"), "hevc: Main 12 of the low-power encoder", "hevc=all"),
        Refusal(hevc._replace(profile="hevc-main444-10"), "hevc: 4:4:4 of 10 bits without a surface for it",
                "hevc=all formats=nv12,p010"),
        Refusal(hevc, "hevc: a profile of another codec", extra=("--profile", "high")),
        Refusal(USUAL["h264"], "h264: a profile of another codec", extra=("--codec", "h264", "--profile", "hevc-main")),
        Refusal(hevc, "hevc: coding of symbols that it has not", extra=("--entropy", "cavlc")),
        Refusal(hevc, "hevc: a tier that the level has not", extra=("--level", "3-high")),
        Refusal(hevc, "hevc: more slices than the picture has blocks", size=(642, 358),
                extra=("--slices", "128")),
        Refusal(hevc._replace(persona="amd"), "hevc: smaller than AMD encodes: 48x48", size=(48, 48)),
    ]


def judge(program, refusal, folder):
    """What came of it, in words, and what is wrong with that (None: nothing)."""
    source = make_source(folder, refusal.size, FRAMES)
    with tempfile.TemporaryDirectory() as scratch:
        output, journal = Path(scratch) / "output.mp4", Path(scratch) / "journal"
        command = [str(program), "encode", str(source), "-o", str(output), "--json", "--device", DEVICE,
                   "--require-hardware", *rows.options_of(refusal.row), *refusal.extra]
        environment = client_environment(build(), persona=refusal.row.persona, limits=refusal.limits, journal=journal)
        ended = run(command, environment, 60)
        document = document_in(ended.output)
        kept = read_journal(journal)
        if kept.findings or kept.never_terminated:
            return "", f"the driver has findings: {[str(finding) for finding in kept.findings[:4]]}"
        if ended.status == 0:
            return judge_adjusted(document, output)
        return judge_refused(ended, document, Path(scratch))


def judge_adjusted(document, output):
    adjustments = document.get("adjustments", [])
    told = [f"{each['property']}: {each['requested']} -> {each['used']} ({each['reason']})" for each in adjustments]
    if not all(each[name] for each in adjustments for name in ("property", "requested", "used", "reason")):
        return "", f"what was asked for, what became of it, or why, is not said: {adjustments}"
    if not told:
        return "", "was accepted, and nothing is said about it"
    if not media.decode_with_ffmpeg(output).clean:
        return "", "was done differently, and does not decode"
    return "adjusted: " + "; ".join(told), None


def judge_refused(ended, document, scratch):
    error = document.get("error") or {}
    left = [path.name for path in scratch.iterdir() if path.name != "journal"]
    if ended.status not in (1, 2) or ended.timed_out:
        return "", f"ended with {ended.description}: {ended.output[-300:]}"
    if not error.get("message"):
        return "", f"was refused without a reason: {ended.output[-300:]}"
    if not error.get("given") or not (error.get("allowed") or error.get("cause") == "gpu-without-encoder"):
        return "", f"what was given, and what is allowed, is not said: {json.dumps(error)}"
    if left:
        return "", f"was refused and left {left}"
    if error.get("callStatus") is not None:
        return "", f"was refused by the driver first: {json.dumps(error)}"
    return f"refused: {error['message']} [given: {error['given']}; allowed: {error.get('allowed') or 'nothing'}]", None
