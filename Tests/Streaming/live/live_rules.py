# SPDX-License-Identifier: GPL-2.0-or-later
"""The rules for live and Low-Latency HLS, in own words: draft-pantos-hls-rfc8216bis-22 by clause, and those of Apple's
"HLS Authoring Specification for Apple devices" with an A before their number. B.1 is the draft's profile for
servers."""

import importlib
import re

from rules import CHECKED, MAY, MUST, SHOULD, UNCHECKED, Finding, Rule

__all__ = ["MAY", "MUST", "SHOULD", "CHECKED", "UNCHECKED", "RULES", "rule", "reading", "unchecked", "judge", "table"]
SECTIONS = ("live_text_rules", "live_series_rules", "live_delivery_rules")
RULES = {}


def add(one):
    if one.number in RULES:
        raise ValueError(f"two rules {one.number}")
    RULES[one.number] = one


def rule(number, level, text, how):
    """Makes a function the check of a rule. It yields a text for each violation in a recording."""
    def register(check):
        add(Rule(number, level, text, CHECKED, how, check))
        return check
    return register


def reading(number, level, text, how="while reading"):
    add(Rule(number, level, text, CHECKED, how))


def unchecked(number, level, text, why):
    add(Rule(number, level, text, UNCHECKED, why))


def load():
    for name in SECTIONS:
        importlib.import_module(name)


def judge(recording):
    """The findings, each text once. A recording with a playlist that breaks the grammar is not judged further: what was
    not read would break many rules."""
    found = [Finding(RULES[number], f"{entry.url}: {text}") for entry in recording.playlists
             for number, text in entry.playlist.problems]
    if found:
        return list(dict.fromkeys(found))
    for one in RULES.values():
        if one.check:
            found += [Finding(one, text) for text in one.check(recording)]
    return list(dict.fromkeys(found))


def order(number):
    """Clauses of the draft by their numbers, then B.1, then Apple's rules."""
    words = [(int(word), "") if word.isdigit() else (0, word) for word in re.findall(r"\d+|[A-Za-z]+", number)]
    return ("0" if number[0].isdigit() else "2" if number[0] == "A" else "1", words)


def table():
    """All rules as a table in Markdown."""
    lines = ["| Rule | Level | Text | State | How, or why not |", "|---|---|---|---|---|"]
    for one in sorted(RULES.values(), key=lambda one: order(one.number)):
        lines.append(f"| {one.number} | {one.level} | {one.text} | {one.state} | {one.how} |")
    return "\n".join(lines)
