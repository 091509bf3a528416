# SPDX-License-Identifier: GPL-2.0-or-later
"""The rules of Apple's "HLS Authoring Specification for Apple devices", in own words, with those of RFC 8216 and a few
of this project, and how each is checked.

A rule of the level MUST that is broken is an error. One of the level SHOULD is a warning, which is listed."""

import importlib
from dataclasses import dataclass

MUST, SHOULD, MAY = "MUST", "SHOULD", "MAY"
CHECKED, UNCHECKED, INAPPLICABLE = "checked", "not checkable offline", "not applicable"


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


class Book:
    """The rules of some specifications."""

    def __init__(self, sections, order):
        """sections: the modules whose functions are the checks; order: returns the sort key of a rule's number."""
        self.sections, self.order, self.rules = sections, order, {}

    def _add(self, one):
        if one.number in self.rules:
            raise ValueError(f"two rules {one.number}")
        self.rules[one.number] = one

    def rule(self, number, level, text, how):
        """Makes a function the check of a rule. It yields a text for each violation."""
        def register(check):
            self._add(Rule(number, level, text, CHECKED, how, check))
            return check
        return register

    def reading(self, number, level, text, how="while reading"):
        """Adds a rule whose violations the readers report."""
        self._add(Rule(number, level, text, CHECKED, how))

    def unchecked(self, number, level, text, why):
        self._add(Rule(number, level, text, UNCHECKED, why))

    def inapplicable(self, number, level, text, why):
        self._add(Rule(number, level, text, INAPPLICABLE, why))

    def load(self):
        for name in self.sections:
            importlib.import_module(name)

    def findings(self, subject):
        """What the checks find."""
        return [Finding(one, text) for one in self.rules.values() if one.check for text in one.check(subject)]

    def table(self):
        """All rules as a table in Markdown."""
        lines = ["| Rule | Level | Text | State | How, or why not |", "|---|---|---|---|---|"]
        for one in sorted(self.rules.values(), key=lambda one: self.order(one.number)):
            lines.append(f"| {one.number} | {one.level} | {one.text} | {one.state} | {one.how} |")
        return "\n".join(lines)


def order(number):
    parts = number.replace("RFC ", "900.").replace("V", "990.").split(".")
    return [(int("".join(filter(str.isdigit, part)) or 0), part) for part in parts]


BOOK = Book(("video_rules", "audio_rules", "segment_rules", "playlist_rules", "format_rules"), order)
RULES = BOOK.rules
rule, reading, unchecked, inapplicable = BOOK.rule, BOOK.reading, BOOK.unchecked, BOOK.inapplicable
load, table = BOOK.load, BOOK.table


def seconds(times):
    """Times for a message."""
    return [round(float(time), 3) for time in times]


def judge(presentation):
    """The findings, each text once."""
    found = [Finding(RULES[number], text) for number, text in presentation.problems]
    return list(dict.fromkeys(found + BOOK.findings(presentation)))


def counts():
    return {state: sum(one.state == state for one in RULES.values()) for state in (CHECKED, UNCHECKED, INAPPLICABLE)}
