# SPDX-License-Identifier: GPL-2.0-or-later
"""The rules for live and Low-Latency HLS, in own words: draft-pantos-hls-rfc8216bis-22 by clause, and those of Apple's
"HLS Authoring Specification for Apple devices" with an A before their number. B.1 is the draft's profile for
servers."""

import re

from rules import CHECKED, MAY, MUST, SHOULD, UNCHECKED, Book, Finding

__all__ = ["MAY", "MUST", "SHOULD", "CHECKED", "UNCHECKED", "RULES", "rule", "reading", "unchecked", "judge", "table"]


def order(number):
    """Clauses of the draft by their numbers, then B.1, then Apple's rules."""
    words = [(int(word), "") if word.isdigit() else (0, word) for word in re.findall(r"\d+|[A-Za-z]+", number)]
    return ("0" if number[0].isdigit() else "2" if number[0] == "A" else "1", words)


BOOK = Book(("live_text_rules", "live_series_rules", "live_delivery_rules"), order)
RULES = BOOK.rules
rule, reading, unchecked, load, table = BOOK.rule, BOOK.reading, BOOK.unchecked, BOOK.load, BOOK.table


def judge(recording):
    """The findings, each text once. A recording with a playlist that breaks the grammar is not judged further: what was
    not read would break many rules."""
    found = [Finding(RULES[number], f"{entry.url}: {text}") for entry in recording.playlists
             for number, text in entry.playlist.problems]
    if found:
        return list(dict.fromkeys(found))
    return list(dict.fromkeys(BOOK.findings(recording)))
