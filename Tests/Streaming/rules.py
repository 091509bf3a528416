# SPDX-License-Identifier: GPL-2.0-or-later
"""The rules of Apple's "HLS Authoring Specification for Apple devices", in own words, with those of RFC 8216 and a few
of this project, and how each is checked.

A rule of the level MUST that is broken is an error. One of the level SHOULD is a warning, which is listed."""

import importlib
from dataclasses import dataclass

MUST, SHOULD, MAY = "MUST", "SHOULD", "MAY"
CHECKED, UNCHECKED, INAPPLICABLE = "checked", "not checkable offline", "not applicable"
SECTIONS = ("video_rules", "audio_rules", "segment_rules", "playlist_rules", "format_rules")


@dataclass(frozen=True)
class Rule:
    number: str
    level: str
    text: str
    state: str
    how: str  # how it is checked, or why it is not
    check: object = None  # a generator of texts; None for rules that reading checks


@dataclass(frozen=True)
class Finding:
    rule: Rule
    text: str

    def __str__(self):
        return f"{'error' if self.rule.level == MUST else 'warning'}: rule {self.rule.number}: {self.text}"


RULES = {}


def add(rule):
    if rule.number in RULES:
        raise ValueError(f"two rules {rule.number}")
    RULES[rule.number] = rule


def rule(number, level, text, how):
    """Makes a function the check of a rule. It yields a text for each violation."""
    def register(check):
        add(Rule(number, level, text, CHECKED, how, check))
        return check
    return register


def reading(number, level, text, how="while reading"):
    """A rule whose violations the readers report."""
    add(Rule(number, level, text, CHECKED, how))


def unchecked(number, level, text, why):
    add(Rule(number, level, text, UNCHECKED, why))


def inapplicable(number, level, text, why):
    add(Rule(number, level, text, INAPPLICABLE, why))


def seconds(times):
    """Times for a message."""
    return [round(float(time), 3) for time in times]


def load():
    for name in SECTIONS:
        importlib.import_module(name)


def judge(presentation):
    """The findings, each text once."""
    found = [Finding(RULES[number], text) for number, text in presentation.problems]
    for one in RULES.values():
        if one.check:
            found += [Finding(one, text) for text in one.check(presentation)]
    return list(dict.fromkeys(found))


def order(number):
    parts = number.replace("RFC ", "900.").replace("V", "990.").split(".")
    return [(int("".join(filter(str.isdigit, part)) or 0), part) for part in parts]


def table():
    """All rules as a table in Markdown."""
    lines = ["| Rule | Level | Text | State | How, or why not |", "|---|---|---|---|---|"]
    for one in sorted(RULES.values(), key=lambda one: order(one.number)):
        lines.append(f"| {one.number} | {one.level} | {one.text} | {one.state} | {one.how} |")
    return "\n".join(lines)


def counts():
    return {state: sum(one.state == state for one in RULES.values()) for state in (CHECKED, UNCHECKED, INAPPLICABLE)}
