# SPDX-License-Identifier: GPL-2.0-or-later
"""Counter-examples: for each rule that is checked, a fault that is planted into the good recording. It must be caught
by that rule and by no other.

A fault is a rule, and a function that changes the list of entries. None in its place: the good recording itself breaks
this rule, a SHOULD."""

import re
from fractions import Fraction

import good_live
import live_rules
from live_recording import Recording

HIGH, LOW = "/live/720p/index.m3u8", "/live/360p/index.m3u8"


# Which entries

def number(entry):
    """The number of parts that a playlist of the good recording has."""
    match = re.search(r"_HLS_msn=(\d+)&_HLS_part=(\d)", entry.url)
    return 4 * int(match[1]) + int(match[2]) + 1 if match else 1 if entry.url.endswith(".m3u8") else 999


def playlists(entries, first=0, last=99999, path=""):
    return [entry for entry in entries if entry.body and entry.path.endswith(path or ".m3u8")
            and first <= number(entry) <= last]


def media(entries, name):
    return [entry for entry in entries if entry.path.endswith("/" + name)]


# Changes

def swap(old, new, first=0, last=9999, path="", count=0):
    """Replaces a regular expression in the playlists with `first` to `last` parts."""
    def apply(entries):
        changed = 0
        for entry in playlists(entries, first, last, path):
            text = re.sub(old, new, entry.body.decode(), count=count, flags=re.MULTILINE)
            body = text.encode("utf-8", "surrogateescape")
            changed += body != entry.body
            entry.body = body
        assert changed, f"nothing changes by {old}"
    return apply


def line(start, new="", first=0, last=9999, path="", count=0):
    """Replaces the lines that begin so."""
    return swap(rf"^{start}[^\n]*\n", new, first, last, path, count)


def end(new, first=0, last=9999, path=""):
    """Adds a line at the end."""
    return swap(r"\Z", new + "\n", first, last, path)


def both(*functions):
    def apply(entries):
        for function in functions:
            function(entries)
    return apply


def field(name, value, choose):
    def apply(entries):
        chosen = choose(entries)
        assert chosen, "no entry is chosen"
        for entry in chosen:
            setattr(entry, name, value(entry) if callable(value) else value)
    return apply


def headers(name, value):
    def apply(entries):
        for entry in playlists(entries):
            entry.headers[name] = value
    return apply


def drop(choose):
    def apply(entries):
        for entry in choose(entries):
            entries.remove(entry)
    return apply


def add(url, sent, time, parts=None, status=200, skip=False, change=lambda lines: lines):
    """Adds a response; the playlist is that with a number of parts."""
    def apply(entries):
        rendition = url.split("/")[2]
        lines = None if parts is None else change(good_live.text(rendition, parts, skip))
        entries.append(good_live.response(url, Fraction(str(sent)), Fraction(str(time)), lines, status))
    return apply


def delayed(choose, seconds):
    """Lets responses, and all after them, come later."""
    def apply(entries):
        chosen = choose(entries)
        start = min(entry.time for entry in chosen)
        for entry in entries:
            if entry.time >= start:
                entry.time += seconds
                entry.sent += seconds if entry not in chosen and entry.sent > start else 0
    return apply


def plain(*functions, **shape):
    """Takes a stream without parts in place of the good one, and changes that."""
    def apply(entries):
        entries[:] = good_live.plain_entries(good_live.Shape(**shape))
        both(*functions)(entries)
    return apply


def other(*functions, **shape):
    """Takes another stream with parts in place of the good one, and changes that."""
    def apply(entries):
        entries[:] = good_live.entries(good_live.Shape(**shape))
        both(*functions)(entries)
    return apply


def multivariant(entries):
    """Adds the playlist that makes the two others variants."""
    lines = ["#EXTM3U", "#EXT-X-VERSION:6"]
    for path in (HIGH, LOW):
        lines += ["#EXT-X-STREAM-INF:BANDWIDTH=1000000", path]
    entries.append(good_live.response("/live/index.m3u8", 1, 1, lines))


def versions(*chosen, path=HIGH):
    """The playlists without parts that have these numbers of segments."""
    return lambda entries: [entry for entry in entries if entry.path == path and int(entry.time / 4) in chosen]


def again(count, time, change=lambda lines: lines):
    """Adds the playlist without parts with a number of segments, at some time."""
    def apply(entries):
        lines = change(good_live.plain_text(count, good_live.GOOD))
        entries.append(good_live.response(HIGH, Fraction(str(time)), Fraction(str(time)), lines))
    return apply


def at(parts, path=HIGH):
    return lambda entries: playlists(entries, parts, parts, path)


ENDED = 72  # the playlist that has ended
TEXT = [
    ("4.1", end("#EXT-X-UNKNOWN:1", 5, 5)),
    ("4.1", swap("#EXTM3U\n", "#EXTM3U\n# \x07\n", 5, 5)),
    ("4.1", swap("#EXTM3U\n", "#EXTM3U\n# \udcff\n", 5, 5)),
    ("4.1", swap("^s0.m4s", "s 0.m4s", 4, path=HIGH)),
    ("4.2", swap("PART-TARGET=1.0", "PART-TARGET=1.0, ", 5, 5)),
    ("4.2", swap("LAST-MSN=", "LAST-MSN=-", 5, 5)),
    ("4.2", swap("CAN-BLOCK-RELOAD=YES", "CAN-BLOCK-RELOAD=YES,CAN-BLOCK-RELOAD=YES", 5, 5)),
    ("4.4.1.1", swap("#EXTM3U", "#EXTM", 5, 5)),
    ("4.4.1.2", swap("^(#EXT-X-VERSION.*\n)", r"\1\1", 5, 5)),
    ("4.4.2.1", swap("^(#EXT-X-INDEPENDENT.*\n)", r"\1\1", 5, 5)),
    ("4.4.3.1", swap("^(#EXT-X-TARGET.*\n)", r"\1\1", 5, 5)),
    ("4.4.3.2", swap("^(#EXT-X-MEDIA-SEQ.*\n)", r"\1\1", 5, 5)),
    ("4.4.3.2", swap("^(#EXT-X-PRELOAD.*\n)", r"#EXT-X-MEDIA-SEQUENCE:0\n\1", 5, 5)),
    ("4.4.3.3", swap("^(#EXT-X-DISCONTINUITY-SEQ.*\n)", r"\1\1", 5, 5)),
    ("4.4.3.4", end("#EXT-X-ENDLIST", ENDED)),
    ("4.4.3.5", swap("^(#EXT-X-INDEPENDENT.*\n)", r"#EXT-X-PLAYLIST-TYPE:FILM\n\1", 0, 35)),
    ("4.4.3.7", swap("^(#EXT-X-PART-INF.*\n)", r"\1\1", 5, 5)),
    ("4.4.3.8", swap("^(#EXT-X-SERVER.*\n)", r"\1\1", 5, 5)),
    ("4.4.3.8", swap("RELOAD=YES", "RELOAD=NO")),
    ("4.4.4.1", swap("^#EXTINF:4.000,", "#EXTINF:4.000", 5, 5)),
    ("4.4.4.5", swap("MAP:URI=", "MAP:X=", 5, 5)),
    ("4.4.4.6", swap("(DATE-TIME.*)Z$", r"\1", 1, 72)),
    ("4.4.4.9", swap('DURATION=1.000,URI="p4.m4s"', 'URI="p4.m4s"', 5, 5)),
    ("4.4.4.9", swap('INDEPENDENT=YES', 'INDEPENDENT=NO', 5, 5)),
    ("4.4.4.9c", swap(r"^(#EXT-X-PROGRAM.*\n)(#EXT-X-PART:.*\n)", r"\2\1")),
    ("4.4.5.2", swap("^(#EXT-X-SKIP.*\n)", r"\1\1", 40, 40)),
    ("4.4.5.2", swap("SKIP:SKIPPED-SEGMENTS=3", "SKIP:X=3", 52, 52)),
    ("4.4.5.3", swap("TYPE=PART", "TYPE=FILM", 5, 5)),
    ("4.4.5.4", swap("REPORT:URI=", "REPORT:X=", 5, 5)),
    ("8", swap("VERSION:6", "VERSION:5")),
    ("8", swap("VERSION:9", "VERSION:8")),
    ("8", swap("SEGMENTS=(\\d)$", r'SEGMENTS=\1,RECENTLY-REMOVED-DATERANGES=""')),
    ("6.2.1j", swap("VERSION:6", "VERSION:7")),
    ("4.4.3.1b", plain(swap("TARGETDURATION:4", "TARGETDURATION:3"))),
    ("4.4.3.7b", line("#EXT-X-PART-INF")),
    ("4.4.3.8b", swap("UNTIL=24.0", "UNTIL=23.0")),
    ("4.4.3.8c", plain(swap("HOLD-BACK=15.0", "CAN-SKIP-DATERANGES=YES"))),
    ("4.4.3.8d", swap(",HOLD-BACK=12.0", ",HOLD-BACK=11.9")),
    ("4.4.3.8e", swap(",PART-HOLD-BACK=3.0", "")),
    ("4.4.3.8f", swap("PART-HOLD-BACK=3.0", "PART-HOLD-BACK=1.9")),
    ("A14.3", swap("PART-HOLD-BACK=3.0", "PART-HOLD-BACK=2.0")),
    ("A14.2c", both(swap("PART-TARGET=1.0", "PART-TARGET=1.3"), swap("PART-HOLD-BACK=3.0", "PART-HOLD-BACK=3.9"),
                    swap('(PART:.*m4s")$', r"\1,INDEPENDENT=YES"))),
    ("A14.4", other(swap("CAN-SKIP-UNTIL=24.0,", ""), segments=40, window=40, first=150, skips=False)),
    ("4.4.4.9a", swap('DURATION=1.000,URI="p(5|7).m4s"', r'DURATION=1.0004,URI="p\1.m4s"')),
    ("4.4.4.9b", both(swap("PART-TARGET=1.0", "PART-TARGET=1.19"), swap("PART-HOLD-BACK=3.0", "PART-HOLD-BACK=3.6"))),
    ("3.2", swap('DURATION=1.000,URI="p5.m4s"', 'DURATION=0.990,URI="p5.m4s"')),
    ("4.4.5.3b", end('#EXT-X-PRELOAD-HINT:TYPE=PART,URI="p72.m4s"', ENDED)),
    ("6.2.6a", end('#EXT-X-PRELOAD-HINT:TYPE=PART,URI="p9.m4s"', 5, 5)),
    ("B.1a", line("#EXT-X-PRELOAD-HINT", "", 5, 5)),
    ("B.1b", swap("CAN-BLOCK-RELOAD=YES,", "")),
    ("B.1c", line("#EXT-X-RENDITION-REPORT", "", 5, 5)),
    ("B.1c", swap("^(#EXT-X-RENDITION-REPORT.*\n)", r"\1\1", 5, 5)),
    ("A8.4", line("#EXT-X-PROGRAM-DATE-TIME")),
    ("6.2.1k", swap("(#EXT-X-DISCONTINUITY\n.*\n)#EXT-X-PROGRAM.*\n", r"\1")),
    ("A8.20", both(line("#EXT-X-MAP"), drop(lambda entries: media(entries, "init-1.mp4")))),
    ("A8.12", None),
]
SERIES = [
    ("6.2.1a", plain(field("body", lambda entry: entry.body.replace(b"TARGETDURATION:4", b"TARGETDURATION:5"),
                           lambda entries: versions(1, 2)(entries) + versions(1, 2, path=LOW)(entries)))),
    ("6.2.1b", swap("PART-HOLD-BACK=3.0", "PART-HOLD-BACK=3.1", 30)),
    ("6.2.1b", line("#EXT-X-INDEPENDENT", "", 5, 5)),
    ("6.2.1c", swap("init-1.mp4", "init-2.mp4", 5, 12)),
    ("6.2.1c", swap(r"^s0.m4s", "s0b.m4s", 9, 9, HIGH)),
    ("6.2.1c", swap(r"^#EXTINF:4.000,\ns2.m4s", "#EXT-X-GAP\n#EXTINF:4.000,\ns2.m4s", 20)),
    ("6.2.1d", swap('"p4.m4s"', '"p4b.m4s"', 9, 9)),
    ("6.2.1d", swap('"p4.m4s",INDEPENDENT=YES', '"p4.m4s"', 9)),
    ("6.2.1e", plain(again(5, 30))),
    ("6.2.1f", plain(again(18, 73, lambda lines: lines[:-1]))),
    ("6.2.1g", plain(delayed(versions(5), 3))),
    ("6.2.1h", delayed(at(21), 1)),
    ("6.2.1i", swap(r"T12:00:12\.000Z", "T12:00:10.500Z")),
    ("6.2.2a", swap("MEDIA-SEQUENCE:9", "MEDIA-SEQUENCE:10", ENDED)),
    ("6.2.2b", swap("^#EXT-X-DISCONTINUITY-SEQUENCE:1", "#EXT-X-DISCONTINUITY-SEQUENCE:0", ENDED - 4)),
    ("6.2.2c", plain(seconds=1, window=6)),
    ("6.2.2d", swap("^(#EXT-X-INDEPENDENT.*\n)", r"#EXT-X-PLAYLIST-TYPE:EVENT\n\1")),
    ("6.2.2e", other(keeps=4)),
    ("A8.17", line("#EXT-X-DISCONTINUITY-SEQUENCE", "", 5, 5)),
    ("6.2.2f", line("#EXT-X-MEDIA-SEQUENCE", "", 5, 5)),
    ("A8.11", plain(window=5)),
    ("4.4.5.3c", swap('HINT:TYPE=PART,URI="p6.m4s"', 'HINT:TYPE=PART,URI="p6b.m4s"')),
    ("4.4.5.3c", swap('HINT:TYPE=PART,URI="p8.m4s"', 'HINT:TYPE=PART,URI="p8.m4s",BYTERANGE-START=7')),
    ("4.4.5.3d", swap('HINT:TYPE=PART,URI="p20.m4s"', 'HINT:TYPE=PART,URI="p19.m4s"')),
    ("4.4.5.4b", swap(r"LAST-MSN=5,LAST-PART=\d", "LAST-MSN=3,LAST-PART=3")),
    ("4.4.5.4b", swap(r"LAST-MSN=5,LAST-PART=\d", "LAST-MSN=6,LAST-PART=3")),
    ("6.2.4a", plain(swap("TARGETDURATION:4", "TARGETDURATION:5", path=LOW))),
    ("6.2.4b", swap(",HOLD-BACK=12.0", ",HOLD-BACK=12.5", path=LOW)),
    ("6.2.4c", plain(swap("(#EXT-X-INDEPENDENT)", r"#EXT-X-PLAYLIST-TYPE:EVENT\n\1", path=LOW), window=99)),
    ("6.2.4d", plain(swap("^#EXT-X-DISCONTINUITY\n", "", path=LOW), window=99)),
    # Rule A8.4 asks the same of every live playlist.
    ("6.2.4e", line("#EXT-X-PROGRAM-DATE-TIME", path=LOW), "A8.4"),
    ("A8.22b", plain(multivariant, swap(r"4\.000,\ns3", "3.900,\ns3", path=LOW))),
    ("A8.22", swap(r"(DATE-TIME:.*)\.000Z", r"\1.500Z", path=LOW)),
]
DELIVERY = [
    ("6.2.5.1a", field("body", lambda entry: "\n".join(good_live.text("720p", 52)).encode(), at(52))),
    ("6.2.5.1b", swap(r"SEGMENTS=3\n#EXT-X-PROGRAM.*\n#EXTINF.*\ns.*\n", "SEGMENTS=4\n", 52, 52)),
    ("6.2.5.1c", field("url", f"{HIGH}?_HLS_msn=12&_HLS_part=3", at(52))),
    ("6.2.5.1d", drop(lambda entries: [entry for entry in entries if "720p" in entry.url and number(entry) != 64])),
    ("6.2.5.2a", field("url", f"{HIGH}?_HLS_msn=5&_HLS_part=3", at(20))),
    ("6.2.5.2b", add(f"{HIGH}?_HLS_part=1", 30.2, 30.2, 30)),
    ("6.2.5.2c", add(f"{HIGH}?_HLS_msn=20", 30.2, 40, status=503)),
    ("6.2.5.2d", add(f"{HIGH}?_HLS_msn=13", 50.1, 64.1, 64)),
    ("6.2.5.2e", add(f"{HIGH}?_HLS_msn=7&_HLS_part=2", 30.2, 30.2, status=400)),
    ("6.2.1l", field("status", 404, lambda entries: media(entries, "s1.m4s"))),
    ("6.2.1l", field("status", 404, lambda entries: media(entries, "init-1.mp4"))),
    ("6.2.6b", field("status", 404, lambda entries: media(entries, "p30.m4s"))),
    ("6.2.6b", field("time", lambda entry: entry.time + 2, lambda entries: media(entries, "p30.m4s"))),
    ("6.2.6c", field("status", 500, lambda entries: media(entries, "none.m4s"))),
    ("A8.18", field("status", 302, lambda entries: media(entries, "s1.m4s"))),
    ("A8.24", headers("Date", "Sat, 31 Jan 2026 12:00:13 GMT")),
    ("A10.1", headers("Content-Encoding", "identity")),
    ("A10.4", headers("Content-Type", "text/plain")),
    ("B.1e", field("protocol", "http/1.1", playlists)),
]
FAULTS = TEXT + SERIES + DELIVERY


def findings(entries):
    return live_rules.judge(Recording(entries))


def self_test():
    """Plants every fault. Returns what was not caught, or by another rule."""
    originals = good_live.entries()
    usual = {finding.rule.number for finding in findings(good_live.copies(originals))}
    missed = []
    for index, (rule, plant, *more) in enumerate(FAULTS):
        if plant is None:
            if rule not in usual:
                missed.append(f"fault {index}: the good recording keeps rule {rule}")
            continue
        entries = good_live.copies(originals)
        try:
            plant(entries)
        except (AssertionError, ValueError, IndexError, KeyError) as error:
            missed.append(f"fault {index} of rule {rule} cannot be planted: {error!r}")
            continue
        caught = findings(entries)
        numbers = {finding.rule.number for finding in caught} - usual
        if numbers != {rule, *more}:
            example = next((str(one) for one in caught if one.rule.number in numbers - {rule}), "")
            missed.append(f"fault {index} of rule {rule} is caught by {sorted(numbers) or 'none'}: {example}")
    checked = {one.number for one in live_rules.RULES.values() if one.state == live_rules.CHECKED}
    return missed + [f"rule {rule} has no counter-example" for rule in sorted(checked - {fault[0] for fault in FAULTS})]
