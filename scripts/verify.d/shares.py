# SPDX-License-Identifier: GPL-2.0-or-later
"""Calculates how much of each area fits into a given time, for `scripts/verify all --budget`.

A share is a way to run an area: the arguments, and the minutes on two cores of an idle machine. The shares of an area
are listed from the smallest to the whole. An area that is not listed has only one share, the whole. `{seed}` is
replaced by the seed of the run, so that runs with different seeds test different parts."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Share:
    minutes: float
    arguments: str
    name: str = "whole"


# The assumption for areas that have not been measured.
UNKNOWN = Share(10, "")

SHARES = {
    "bench": [Share(3, "{seed}")],
    "bench-cost": [Share(1, "--only quick", "quick"), Share(6, "")],
    "benchmarks": [Share(8, "--rounds 6", "6 rounds"), Share(10, "")],
    "concurrency": [Share(1, "--sample", "sample"), Share(2, "")],
    "coverage": [Share(14, "")],
    "dashboard": [Share(6, "")],
    "decode": [Share(1, "--sample --seed {seed}", "sample"), Share(2, "")],
    "docker": [Share(11, "")],
    "documentation": [Share(1, "")],
    "drivers": [Share(4, "--sample", "sample"), Share(24, "")],
    "environments": [Share(1, "")],
    "failover": [Share(2, "--sample --seed {seed}", "sample"), Share(10, "--seed {seed}")],
    "fuzz": [Share(8, "--minutes 1", "1 minute each"), Share(25, "--minutes 4", "4 minutes each"),
             Share(55, "--minutes 10", "10 minutes each"), Share(104, "")],
    "good-files": [Share(1, "--sample --seed {seed}", "sample"), Share(10, "--seed {seed}")],
    "hardware": [Share(2, "--sample --seed {seed}", "sample"), Share(12, "--seed {seed}")],
    "hardware-cost": [Share(3, "")],
    "hardware-endurance": [Share(1, "--sample", "sample"), Share(2, "")],
    "instructions": [Share(1, "")],
    "isolation": [Share(2, "--kills 40 --seed {seed}", "40 kills"), Share(8, "--seed {seed}")],
    "isolation-cost": [Share(2, "--pairs 7", "7 pairs"), Share(8, "")],
    "isolation-sessions": [Share(1, "")],
    "jobs": [Share(0.5, "--sample --seed {seed}", "sample"), Share(2, "--seed {seed}")],
    "limits": [Share(5, "")],
    "odd-files": [Share(1, "--sample", "sample"), Share(2, "")],
    "probe-exhaustive": [Share(5, "")],
    "quality-target": [Share(2, "--sample", "sample"), Share(10, "")],
    "recording": [Share(2, "--sample --seed {seed}", "sample"), Share(11, "--seed {seed}")],
    "remux": [Share(1, "--sample --seed {seed}", "sample"), Share(2, "")],
    "release": [Share(5, "--step demo", "demo on Debian 13"), Share(18, "--step demo --step test", "README's commands"),
                Share(35, "")],
    "sanitizers": [Share(8, "address --part leaks", "leaks"), Share(18, "--part hardware --part leaks", "without suites"),
                   Share(31, "")],
    "service": [Share(1.5, "--sample --seed {seed}", "sample"), Share(15, "--seed {seed}")],
    "service-files": [Share(0.5, "--without-service", "files"), Share(1, "")],
    "session": [Share(3, "--length 5", "5 inputs"), Share(24, "")],
    "setup": [Share(0.2, "")],
    "soak": [Share(1, "--sample --seed {seed}", "sample"), Share(10, "--seed {seed}")],
    "start-cost": [Share(6, "")],
    "speed": [Share(5, "--pairs 7", "7 pairs"), Share(20, "")],
    "streaming": [Share(1, "--sample", "sample"), Share(4, "")],
    "switch-files": [Share(2, "--without-browser", "without browser"), Share(4, "")],
    "transcode": [Share(1, "--sample --seed {seed}", "sample"),
                  Share(8, "--share 8 --seed {seed}", "an eighth of the faults"), Share(30, "--seed {seed}")],
    "transcode-cost": [Share(10, "")],
}


def plan(areas, minutes, pace=1.0, shares=None):
    """The share of each area, so that all of them take at most `minutes`: first the smallest of each, then larger ones
    while there is time, with the smallest step first. Areas that are left out for lack of time have no entry.

    `pace` is the time on this machine relative to the listed times."""
    known = SHARES if shares is None else shares
    rungs = {area: known.get(area, [UNKNOWN]) for area in areas}
    chosen, left = {}, minutes / pace
    for area in sorted(areas, key=lambda area: rungs[area][0].minutes):
        if rungs[area][0].minutes <= left:
            chosen[area] = 0
            left -= rungs[area][0].minutes
    while steps := [(cost, area) for area, rung in chosen.items() if rung + 1 < len(rungs[area])
                    and (cost := rungs[area][rung + 1].minutes - rungs[area][rung].minutes) <= left]:
        cost, area = min(steps)
        chosen[area] += 1
        left -= cost
    return {area: rungs[area][chosen[area]] for area in areas if area in chosen}


def smallest(areas, shares=None):
    """The minutes that the smallest share of every area takes."""
    known = SHARES if shares is None else shares
    return sum(known.get(area, [UNKNOWN])[0].minutes for area in areas)


def self_test():
    shares = {"a": [Share(1, "-s", "part"), Share(4, "")], "b": [Share(2, "-s", "part"), Share(20, "")]}
    cases = [
        (0.5, {}), (1, {"a": 1}), (3, {"a": 1, "b": 2}), (6, {"a": 4, "b": 2}), (24, {"a": 4, "b": 20}),
        # The cheaper step comes first and leaves too little time for the other one.
        (23, {"a": 4, "b": 2}),
    ]
    for minutes, expected in cases:
        given = {area: share.minutes for area, share in plan(["a", "b"], minutes, shares=shares).items()}
        assert given == expected, f"{minutes} minutes: {given}, expected {expected}"
    halved = {area: share.minutes for area, share in plan(["a", "b"], 6, pace=2, shares=shares).items()}
    assert halved == {"a": 1, "b": 2}, halved
    assert plan(["new"], 10, shares=shares) == {"new": UNKNOWN}
    for area, rungs in SHARES.items():
        assert [share.minutes for share in rungs] == sorted(share.minutes for share in rungs), area
        assert rungs[-1].name == "whole", area
