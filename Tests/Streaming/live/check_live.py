#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges recorded responses of a server of live or Low-Latency HLS.

usage: check_live.py [--rules] [--self-test] [--strict] [--package PYTHON] [FOLDER...]

A folder has the file log.json and the bodies of the playlists (see live_recording.py). Broken MUST rules are errors;
SHOULD rules that are not kept are listed, and are errors with --strict. --rules prints the table of all rules: how each
is checked, or why it is not. --self-test plants a fault for each rule into a good recording, which must be caught by
this rule and by no other. --package names a Python that has the package m3u8, which must read the same."""

import argparse
import collections
import sys
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import live_rules  # noqa: E402
import live_package  # noqa: E402
import live_recording  # noqa: E402


def judge(folder, is_strict, python):
    """Prints what is wrong. Returns the number of errors."""
    found = live_recording.Recording.load(folder)
    findings = live_rules.judge(found)
    errors = [one for one in findings if one.rule.level == live_rules.MUST or is_strict]
    for one in errors:
        print(f"{folder}: {one}")
    warnings = collections.Counter(one.rule.number for one in findings if one not in errors)
    if warnings:
        print(f"{folder}: SHOULD not kept: " + ", ".join(f"{number} ({count})" for number, count in warnings.items()))
    differences = live_package.compare(found, python) if python else []
    for text in differences:
        print(f"{folder}: {text}")
    print(f"{folder}: {len(found.series)} playlists, {len(found.playlists)} versions, {len(found.entries)} responses, "
          f"{len(errors) + len(differences)} errors")
    if not found.playlists:
        raise live_recording.Bad(f"{folder}: there is no media playlist")
    return len(errors) + len(differences)


def self_test():
    import live_counterexamples
    missed = live_counterexamples.self_test()
    for text in missed:
        print(text)
    faults = live_counterexamples.FAULTS
    count = len({fault[0] for fault in faults})
    print(f"live: {len(faults)} planted faults of {count} rules, {len(missed)} not caught")
    return len(missed)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="*")
    parser.add_argument("--rules", action="store_true", help="print the table of the rules")
    parser.add_argument("--self-test", action="store_true", help="plant a fault for each rule")
    parser.add_argument("--strict", action="store_true", help="SHOULD rules are errors too")
    parser.add_argument("--package", metavar="PYTHON", help="a Python with the package m3u8, the second judge")
    options = parser.parse_args()
    live_rules.load()
    if options.rules:
        print(live_rules.table())
        return 0
    errors = self_test() if options.self_test else 0
    return errors + sum(judge(folder, options.strict, options.package) for folder in options.folder)


if __name__ == "__main__":
    try:
        sys.exit(1 if main() else 0)
    except live_recording.Bad as bad:
        sys.exit(f"check_live: {bad}")
