# SPDX-License-Identifier: GPL-2.0-or-later
"""What a driver does not have, or the standard forbids: it is refused with the reason before the driver hears of it, or
done differently and reported. The driver never finds anything."""

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
USUAL = rows.Row("intel", "off", "main", "cqp", "off", "cabac", 1, (64, 64), "closed", 1, "process", "mp4")


@dataclass(frozen=True)
class Refusal:
    row: rows.Row
    what: str = ""
    limits: str = ""
    size: tuple = (64, 64)
    extra: tuple = ()

    def __str__(self):
        return self.what or rows.describe(self.row)


def by_rule():
    """One row for each way in which values of the table exclude each other."""
    found = {}
    for persona, low_power in sorted(rows.CONTROLS) + [("amd", "on"), ("low-power", "off")]:
        usual = USUAL._replace(persona=persona, low_power=low_power)
        changes = [usual] + [usual._replace(control=control) for control in rows.VALUES.control]
        changes += [usual._replace(b_frames=b_frames) for b_frames in rows.VALUES.b_frames]
        changes += [usual._replace(profile="baseline", entropy="cavlc", b_frames="2"),
                    usual._replace(profile="baseline")]
        for row in changes:
            reason = rows.why_impossible(row)
            if reason:
                found[persona, low_power, reason, getattr(row, reason), row.profile] = Refusal(row)
    return list(found.values())


def all_refusals():
    amd = USUAL._replace(persona="amd")
    return by_rule() + [
        Refusal(amd._replace(slices=4), "amd, which has one slice: slices=4"),
        Refusal(USUAL, "smaller than the driver encodes: 16x16", size=(16, 16)),
        Refusal(amd, "larger than the driver encodes: 1024x720", "size=640x480", size=(1024, 720)),
        Refusal(USUAL, "more bits than the driver has: 10", extra=("--bit-depth", "10")),
        Refusal(USUAL, "a level that does not hold the size", size=(642, 358), extra=("--level", "1.1")),
        Refusal(USUAL._replace(isolation="in-process", control="cbr"), "in process: a rate control that is missing",
                "rate-controls=cqp"),
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
    told = [f"{each['property']}: {each['requested']} -> {each['used']} ({each['reason']})"
            for each in document.get("adjustments", [])]
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
    if left:
        return "", f"was refused and left {left}"
    if error.get("callStatus") is not None:
        return "", f"was refused by the driver first: {json.dumps(error)}"
    allowed = f" [allowed: {error['allowed']}]" if error.get("allowed") else ""
    return f"refused: {error['message']}{allowed}", None
