#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""ffmpeg's and GStreamer's H.264 and HEVC encoders on the reference driver: every stream decodes cleanly, equals the
driver's reconstruction bit for bit and was made of the pictures that were sent; openh264 or libde265 agrees; nothing is
found but what allow-list.txt names.

    test_clients.py [--full] [--seed N] [--only TEXT] [--list]

Without --full a seeded sample that has every pair of values; with it the whole table, and unused allow-list entries
are failures, too."""

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from runner import session, table  # noqa: E402
from runner.allow import read_allow_list  # noqa: E402
from runner.commands import command_for, make_source, reason_without  # noqa: E402
from runner.media import has_libde265, has_openh264  # noqa: E402
from runner.places import ALLOW_LIST, Problem, build, client_environment  # noqa: E402

# Each client's element and plug-in, for those that are GStreamer.
ELEMENTS = {
    "h264": {"gstreamer-va": ("vah264enc", "va"), "gstreamer-va-lp": ("vah264lpenc", "va"),
             "gstreamer-vaapi": ("vaapih264enc", "vaapi"), "gstreamer-vaapi-lp": ("vaapih264enc", "vaapi")},
    "hevc": {"gstreamer-va": ("vah265enc", "va"), "gstreamer-va-lp": ("vah265lpenc", "va")},
}


def clients_at_hand(folder, codec):
    """The clients of the codec's table that this machine has, and why the others are left out."""
    clients, missing = [], []
    for client in table.DIMENSIONS[codec]["client"]:
        element = ELEMENTS[codec].get(client)
        program = "gst-launch-1.0" if element else "ffmpeg"
        reason = "" if shutil.which(program) else f"{program} is not installed"
        if not reason and element:
            reason = reason_without(*element, client_environment(folder))
        if reason:
            missing.append(f"{codec} {client}: {reason}")
        else:
            clients.append(client)
    return clients, missing


def frames_for(row, full):
    """Two periods of pictures where the picture is small; fewer of the large ones."""
    if row.size[0] >= 1920:
        return 5
    return 12 if full else 8


# What GStreamer's plug-in vaapi says when it takes a wake-up for a buffer; see README.md, "Known client errors".
LOST_BUFFER = "failed to allocate coded buffer"


def has_lost_buffer(row, verdict):
    """Whether the client ended by its own fault, which depends on the moment."""
    return row.program == "gstreamer-vaapi" and verdict.ended.status == 1 and LOST_BUFFER in verdict.ended.output


def depth(row):
    return 10 if row.profile == "main-10" else 8


def judge_row(row, folder, allowed, full, second):
    frames = frames_for(row, full)
    source = make_source(folder, row.size, frames, bits=depth(row))
    output = folder / f"{abs(hash(row)):x}.{'h264' if row.codec == 'h264' else 'h265'}"
    request = session.Request(command_for(row, source, output), client=row.program, output=output, source=source,
                              persona=row.persona, limits=row.limits, allowed=allowed,
                              second_decoder=row.codec in second)
    try:
        verdict = session.judge(request)
        for _ in range(2):
            if not has_lost_buffer(row, verdict):
                break
            print(f"again: {row}: {LOST_BUFFER}", flush=True)
            verdict = session.judge(request)
    except Problem as problem:
        return row, None, str(problem)
    finally:
        output.unlink(missing_ok=True)
    if verdict.good and len(verdict.decoded.frames) != frames:
        verdict.problems.append(f"{frames} frames were sent")
    return row, verdict, ""


def report_failure(row, verdict, problem):
    print(f"FAILED {row}")
    if problem:
        print(f"    {problem}")
        return
    print(f"    {verdict.line()}")
    complaints = verdict.decoded.complaints if verdict.decoded else []
    complaints += verdict.second.complaints if verdict.second else []
    for item in (verdict.findings + verdict.leaks)[:6] + complaints[:4]:
        print(f"    {item}")
    if verdict.ended.status != 0 or not verdict.decoded:
        print("    " + "\n    ".join(verdict.ended.output.splitlines()[-20:]))


def summarise(results, seconds):
    """Rows, passes and failures per value of each dimension."""
    counts = defaultdict(Counter)
    for row, good in results:
        for name in ("codec", *table.DIMENSIONS[row.codec]):
            value = getattr(row, name)
            counts[(name, "x".join(map(str, value)) if name == "size" else str(value))][good] += 1
    print(f"\n{'':32}{'rows':>6}{'passed':>8}{'failed':>8}")
    for (name, value), count in counts.items():
        print(f"{name:14}{value:18}{count.total():6}{count[True]:8}{count[False]:8}")
    good = sum(good for _, good in results)
    print(f"{'all':32}{len(results):6}{good:8}{len(results) - good:8}   in {seconds:.0f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="rows whose text contains this")
    parser.add_argument("--list", action="store_true", help="print the rows and end")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    arguments = parser.parse_args()
    rows = []
    for codec in table.DIMENSIONS:
        try:
            clients, missing = clients_at_hand(build(), codec)
        except Problem as problem:
            print(f"FAILED {problem}")
            return 1
        for text in missing:
            print(f"skipped: {text}")
        some = [row for row in table.all_rows(clients, codec) if arguments.only in str(row)]
        rows += some if arguments.full else table.pairwise(some, arguments.seed) if some else []
        rows += [row for row in table.EXTRA_ROWS
                 if row.codec == codec and row.client in clients and arguments.only in str(row)]
    if not rows:
        return 77
    if arguments.list:
        print("\n".join(map(str, rows)))
        return 0
    allowed = read_allow_list(ALLOW_LIST)
    second = {codec for codec, has in (("h264", has_openh264()), ("hevc", has_libde265())) if has}
    for codec in set(table.DIMENSIONS) - second:
        print(f"skipped: a second decoder of {codec}: there is no openh264dec of GStreamer's, or no libde265-dec265")
    start = time.monotonic()
    results = []
    with tempfile.TemporaryDirectory() as work, ThreadPoolExecutor(arguments.jobs) as pool:
        for size, frames, bits in {(row.size, frames_for(row, arguments.full), depth(row)) for row in rows}:
            make_source(work, size, frames, bits=bits)
        for row, verdict, problem in pool.map(
                lambda row: judge_row(row, Path(work), allowed, arguments.full, second), rows):
            good = verdict is not None and verdict.good
            results.append((row, good))
            if len(results) % 200 == 0:
                print(f"{len(results)} of {len(rows)} rows", flush=True)
            if not good:
                report_failure(row, verdict, problem)
                sys.stdout.flush()
    summarise(results, time.monotonic() - start)
    unused = [entry for entry in allowed if not entry.uses] if arguments.full and not arguments.only else []
    for entry in unused:
        print(f"allow-list.txt:{entry.line}: nothing used this entry ({entry.name}, {entry.client})")
    return 0 if all(good for _, good in results) and not unused else 1


if __name__ == "__main__":
    sys.exit(main())
