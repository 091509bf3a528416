# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules for a single playlist."""

from fractions import Fraction

from live_rules import MUST, SHOULD, reading, rule, unchecked

reading("4.1", MUST, "A playlist is UTF-8 without control characters, with valid URIs and known tags")
reading("4.2", MUST, "Attribute lists have the defined form, each name once")
reading("4.4.1.1", MUST, "The first line is EXTM3U")
reading("4.4.1.2", MUST, "EXT-X-VERSION is there once, with a decimal integer")
reading("4.4.2.1", MUST, "EXT-X-INDEPENDENT-SEGMENTS is there once")
reading("4.4.3.1", MUST, "EXT-X-TARGETDURATION is there once, with a decimal integer")
reading("4.4.3.2", MUST, "EXT-X-MEDIA-SEQUENCE is there once, before the first segment")
reading("4.4.3.3", MUST, "EXT-X-DISCONTINUITY-SEQUENCE is there once, before the first segment")
reading("4.4.3.4", MUST, "EXT-X-ENDLIST is there once")
reading("4.4.3.5", MUST, "EXT-X-PLAYLIST-TYPE is there once, with EVENT or VOD")
reading("4.4.3.7", MUST, "EXT-X-PART-INF is there once, with PART-TARGET")
reading("4.4.3.8", MUST, "EXT-X-SERVER-CONTROL is there once, with defined values")
reading("4.4.4.1", MUST, "Each segment has EXTINF with a duration and a comma")
reading("4.4.4.5", MUST, "EXT-X-MAP has a URI")
reading("4.4.4.6", MUST, "EXT-X-PROGRAM-DATE-TIME has a date and time with a time zone")
reading("4.4.4.9", MUST, "EXT-X-PART has URI and DURATION, and defined values")
reading("4.4.4.9c", MUST, "Discontinuity, map and date of a segment are before its first part")
reading("4.4.5.2", MUST, "EXT-X-SKIP is there once, before the segments, with SKIPPED-SEGMENTS")
reading("4.4.5.3", MUST, "EXT-X-PRELOAD-HINT has URI and TYPE, PART or MAP")
reading("4.4.5.4", MUST, "EXT-X-RENDITION-REPORT has a URI")


def playlists(recording):
    for entry in recording.playlists:
        yield entry, entry.playlist


def parts(playlist):
    return [part for segment in [*playlist.segments, playlist.open] if segment for part in segment.parts]


def needed_version(playlist):
    if playlist.skip is not None:
        return 10 if "RECENTLY-REMOVED-DATERANGES" in playlist.skip else 9
    if "EXT-X-MAP" in playlist.tags:
        return 6
    return 3 if any(segment.duration.denominator > 1 for segment in playlist.segments) else 1


@rule("8", MUST, "EXT-X-VERSION is high enough for the tags", "3 for decimal durations, 6 for EXT-X-MAP, 9 for "
      "EXT-X-SKIP, 10 if that replaces date ranges; tags for parts need none")
def version(recording):
    for entry, playlist in playlists(recording):
        if (playlist.version or 1) < needed_version(playlist):
            yield f"{entry.url}: {playlist.version or 1}, the tags need {needed_version(playlist)}"


@rule("6.2.1j", SHOULD, "EXT-X-VERSION is no higher than the tags need", "as rule 8; 6 is allowed for every live "
      "playlist, and 10 for EXT-X-SKIP")
def low_version(recording):
    for entry, playlist in playlists(recording):
        if (playlist.version or 1) > max(needed_version(playlist), 6 if playlist.skip is None else 10):
            yield f"{entry.url}: {playlist.version}"


@rule("4.4.3.1b", MUST, "The duration of a segment, rounded, is no longer than the target duration", "EXTINF")
def target(recording):
    for entry, playlist in playlists(recording):
        for segment in playlist.segments:
            if playlist.target is not None and int(segment.duration + Fraction(1, 2)) > playlist.target:
                yield f"{entry.path}: {segment.uri} has {float(segment.duration)} s"


@rule("4.4.3.7b", MUST, "EXT-X-PART-INF is there if there are parts", "tags")
def part_information(recording):
    for entry, playlist in playlists(recording):
        if parts(playlist) and "EXT-X-PART-INF" not in playlist.tags:
            yield entry.url


@rule("4.4.3.8b", MUST, "CAN-SKIP-UNTIL is at least six target durations", "attributes")
def skip_boundary(recording):
    for entry, playlist in playlists(recording):
        if playlist.number("CAN-SKIP-UNTIL", 6 * (playlist.target or 0)) < 6 * (playlist.target or 0):
            yield entry.path


@rule("4.4.3.8c", MUST, "CAN-SKIP-DATERANGES needs CAN-SKIP-UNTIL", "attributes")
def skip_ranges(recording):
    for entry, playlist in playlists(recording):
        if "CAN-SKIP-DATERANGES" in (playlist.control or {}) and "CAN-SKIP-UNTIL" not in playlist.control:
            yield entry.path


@rule("4.4.3.8d", MUST, "HOLD-BACK is at least three target durations", "attributes")
def hold_back(recording):
    for entry, playlist in playlists(recording):
        if playlist.number("HOLD-BACK", 3 * (playlist.target or 0)) < 3 * (playlist.target or 0):
            yield entry.path


@rule("4.4.3.8e", MUST, "PART-HOLD-BACK is there with EXT-X-PART-INF", "attributes")
def has_part_hold_back(recording):
    for entry, playlist in playlists(recording):
        if playlist.part_target and "PART-HOLD-BACK" not in (playlist.control or {}):
            yield entry.path


@rule("4.4.3.8f", MUST, "PART-HOLD-BACK is at least two part targets", "attributes")
def part_hold_back(recording):
    for entry, playlist in playlists(recording):
        if playlist.number("PART-HOLD-BACK", 2 * (playlist.part_target or 0)) < 2 * (playlist.part_target or 0):
            yield entry.path


@rule("A14.3", MUST, "PART-HOLD-BACK is at least three part targets", "attributes, if they keep rule 4.4.3.8f")
def apple_part_hold_back(recording):
    for entry, playlist in playlists(recording):
        target = playlist.part_target or 0
        if 2 * target <= playlist.number("PART-HOLD-BACK", 3 * target) < 3 * target:
            yield entry.path


@rule("A14.2c", SHOULD, "The part target is one second", "PART-TARGET, to a quarter")
def recommended_part_target(recording):
    for entry, playlist in playlists(recording):
        if playlist.part_target and not Fraction(3, 4) <= playlist.part_target <= Fraction(5, 4):
            yield f"{entry.path}: {float(playlist.part_target)} s"


@rule("A14.4", SHOULD, "Playlists of more than two minutes offer delta updates", "CAN-SKIP-UNTIL")
def offers_delta(recording):
    for entry, playlist in playlists(recording):
        if playlist.part_target and entry.duration > 120 and "CAN-SKIP-UNTIL" not in (playlist.control or {}):
            yield entry.path


@rule("4.4.4.9a", MUST, "A part is no longer than the part target", "DURATION")
def long_parts(recording):
    for entry, playlist in playlists(recording):
        for part in parts(playlist):
            if playlist.part_target and part.duration > playlist.part_target:
                yield f"{entry.path}: {part.uri} has {float(part.duration)} s"


@rule("4.4.4.9b", MUST, "A part has at least 85 % of the part target, unless it is the last one of its segment, "
      "independent, a gap or before one", "DURATION")
def short_parts(recording):
    for entry, playlist in playlists(recording):
        for segment in [*playlist.segments, playlist.open]:
            for part, after in zip(segment.parts, segment.parts[1:]) if segment else ():
                if part.is_independent or part.is_gap or after.is_gap or not playlist.part_target:
                    continue
                if part.duration < playlist.part_target * Fraction(85, 100):
                    yield f"{entry.path}: {part.uri} has {float(part.duration)} s"


@rule("3.2", MUST, "A segment and all its parts have the same samples",
      "the sum of the parts' durations is that of the segment, to a millisecond")
def sum_of_parts(recording):
    for entry, playlist in playlists(recording):
        for segment in playlist.segments:
            if segment.parts and abs(segment.part_duration - segment.duration) > Fraction(1, 1000):
                yield f"{entry.path}: {segment.uri}: {float(segment.part_duration)} s of {float(segment.duration)} s"


@rule("4.4.5.3b", MUST, "A playlist that has ended has no hints", "tags")
def hints_at_end(recording):
    for entry, playlist in playlists(recording):
        if playlist.is_complete and playlist.hints:
            yield entry.url


@rule("6.2.6a", SHOULD, "There is one hint of a type", "tags")
def one_hint(recording):
    for entry, playlist in playlists(recording):
        types = [hint.get("TYPE") for hint in playlist.hints]
        if len(types) != len(set(types)):
            yield entry.url


@rule("B.1a", MUST, "A playlist with parts that grows has a hint for the next one", "tags")
def has_hint(recording):
    for entry, playlist in playlists(recording):
        if parts(playlist) and not playlist.is_complete and not playlist.hints:
            yield entry.url


@rule("B.1b", MUST, "A server of parts holds back responses (CAN-BLOCK-RELOAD)", "attributes")
def can_block(recording):
    for entry, playlist in playlists(recording):
        if playlist.part_target and "CAN-BLOCK-RELOAD" not in (playlist.control or {}):
            yield entry.path


@rule("B.1c", MUST, "A playlist with parts that grows reports on each other one once", "URIs of reports, and the paths "
      "of all playlists that were asked for before")
def has_reports(recording):
    for entry, playlist in playlists(recording):
        if not playlist.part_target or playlist.is_complete:
            continue
        found = [entry.resolve(report.get("URI", "")) for report in playlist.reports]
        others = {path for path, series in recording.series.items()
                  if path != entry.path and series[0].time < entry.time}
        for path in sorted(others):
            if found.count(path) != 1:
                yield f"{entry.url}: {found.count(path)} reports on {path}"


@rule("A8.4", MUST, "A live playlist has EXT-X-PROGRAM-DATE-TIME", "a date of a segment, or of one that is skipped")
def has_date(recording):
    for entry, playlist in playlists(recording):
        if entry.everything and not any(segment.date for segment in entry.everything.values()):
            yield entry.path


@rule("6.2.1k", SHOULD, "Each discontinuity has a date", "EXT-X-PROGRAM-DATE-TIME")
def dated_discontinuities(recording):
    for entry, playlist in playlists(recording):
        for number, segment in entry.everything.items():
            if segment.is_discontinuity and segment.date is None and any(one.date for one in entry.segments.values()):
                yield f"{entry.path}: segment {number}"


@rule("A8.20", MUST, "Segments of fMP4 have EXT-X-MAP", "file names that end with .m4s or .mp4")
def has_map(recording):
    for entry, playlist in playlists(recording):
        for segment in entry.everything.values():
            name = segment.uri or (segment.parts[0].uri if segment.parts else "") or ""
            if segment.map is None and not entry.unknown and name.endswith((".m4s", ".mp4")):
                yield f"{entry.path}: {name}"


@rule("A8.12", SHOULD, "A live playlist has at least 15 minutes", "the duration when segments have been removed")
def fifteen_minutes(recording):
    for path, series in recording.series.items():
        if series[-1].playlist.first > series[0].playlist.first and series[-1].duration < 15 * 60:
            yield f"{path}: {float(series[-1].duration):.0f} s"


unchecked("A14.2a", MUST, "The part target is at least the P95 round trip", "a property of the network")
unchecked("A14.2b", SHOULD, "It is three times that", "a property of the network")
unchecked("A14.5", SHOULD, "Delta updates can skip date ranges", "this judge knows no EXT-X-DATERANGE; 4.1 reports it")
unchecked("6.2.3", MUST, "Encrypted segments have a key", "this judge knows no EXT-X-KEY; 4.1 reports it")
unchecked("B.1d", MUST, "TCP has SACK, and caches join equal requests", "not visible in responses")
