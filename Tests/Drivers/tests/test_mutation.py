#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The judge judged: recorded traffic of ffmpeg and GStreamer is played to the reference driver with one field, one
syntax element or one call changed at a time. Each change is noticed, or mutation/harmless.txt says why it need not be.

    test_mutation.py [--full] [--seed N] [--trace NAME] [--keep FOLDER]

Without --full a seeded sample of every trace; with it every change, and unused entries of harmless.txt fail, too."""

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from runner import mutation  # noqa: E402
from runner.allow import read_allow_list, split_findings  # noqa: E402
from runner.commands import reason_without  # noqa: E402
from runner.journal import Finding  # noqa: E402
from runner.launch import run  # noqa: E402
from runner.places import ALLOW_LIST, Problem, build, client_environment  # noqa: E402

SAMPLE = 350  # changes of each trace without --full


def traces_at_hand(built, only):
    names = [name for name in mutation.TRACES if only in name]
    if not shutil.which("ffmpeg"):
        print("skipped: ffmpeg is not installed, which makes the pictures")
        return []
    reason = reason_without("vah264enc", "va", client_environment(built))
    if reason:
        left_out = [name for name in names if "gstreamer" in name]
        print(f"skipped: {reason}: {', '.join(left_out)}")
        names = [name for name in names if name not in left_out]
    return names


def check_unchanged(name, trace, built, allowed):
    """Problems with the trace when nothing is changed."""
    faithful, found, text = mutation.replay_unchanged(name, trace, built)
    problems = [] if faithful else [f"{name}: not played back as recorded:\n{text[-1500:]}"]
    findings = [Finding(*item, None, None, None) for item in found]
    _, rest = split_findings(allowed, mutation.TRACES[name].program, findings)
    return problems + [f"{name}: unchanged, and yet: {finding}" for finding in rest]


def work(name, folder, built, allowed, options):
    """Records a trace, plays it unchanged and changed."""
    trace = mutation.record(name, folder, built)
    problems = check_unchanged(name, trace, built, allowed)
    return problems, [] if problems else mutation.mutate(name, trace, built, *options)


def report(score, harmless, full):
    for broken in score.broken[:40]:
        print(f"DRIVER {broken.outcome}: {broken.trace}, picture {broken.picture}: {broken.name}: {broken.what}")
    kinds = Counter((item.outcome, item.name, item.trace) for item in score.unexplained)
    for (outcome, name, trace), count in sorted(kinds.items())[:400]:
        print(f"UNEXPLAINED {outcome}: {name} ({trace}, {count})")
    unused = [entry for entry in harmless if full and not entry.uses and entry.is_needed]
    for entry in unused:
        print(f"harmless.txt:{entry.line}: nothing used this entry ({entry.name})")
    return unused


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sample", type=int, default=SAMPLE)
    parser.add_argument("--trace", default="", help="traces whose name contains this")
    parser.add_argument("--keep", type=Path, help="folder for the traces and all outcomes")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    arguments = parser.parse_args()
    built = build()
    fields = run([built / "mutation" / "replay", "--fields"], None, 20)
    print(f"tables: {fields.output.strip()}")
    try:
        names = traces_at_hand(built, arguments.trace)
    except Problem as problem:
        print(f"FAILED {problem}")
        return 1
    if not names:
        return 77
    allowed, harmless = read_allow_list(ALLOW_LIST), mutation.read_harmless()
    chance = random.Random(arguments.seed)
    options = {name: ["--all-pictures"] if arguments.full else
               ["--sample", str(arguments.sample), "--seed", str(chance.getrandbits(30))] for name in names}
    score, problems, start = mutation.Score(), [], time.monotonic()
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(arguments.jobs) as pool:
        folder = arguments.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for size in (mutation.SIZE, mutation.HEVC_SIZE):
            mutation.make_source(folder, size, mutation.FRAMES)
        tasks = {name: pool.submit(work, name, folder, built, allowed, options[name]) for name in names}
        for name, task in tasks.items():
            try:
                found, mutations = task.result()
            except Problem as problem:
                found, mutations = [str(problem)], []
            problems += found
            for item in mutations:
                score.add(item, harmless)
            outcomes = Counter(item.outcome for item in mutations)
            print(f"{name:28}" + "".join(f"{count:7} {outcome}" for outcome, count in sorted(outcomes.items())))
            if arguments.keep:
                (folder / f"{name}.outcomes").write_text("".join(
                    f"{item.outcome}\t{item.name}\t{item.picture}\t{item.what}\n" for item in mutations))
    for problem in problems:
        print(f"FAILED {problem}")
    unused = report(score, harmless, arguments.full and not arguments.trace)
    print(f"{score}, in {time.monotonic() - start:.0f} s")
    return 1 if problems or fields.status or score.unexplained or score.broken or unused else 0


if __name__ == "__main__":
    sys.exit(main())
