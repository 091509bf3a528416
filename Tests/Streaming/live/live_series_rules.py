# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules for the changes of playlists, and for the playlists of a presentation among each other."""

from fractions import Fraction

from live_rules import MUST, SHOULD, rule

SLACK = Fraction(1, 4)  # of times, in seconds: clients see a change a little later than it is made


@rule("6.2.1a", MUST, "The target duration does not change", "all versions of a playlist")
def constant_target(recording):
    for before, after in recording.pairs():
        if before.playlist.target != after.playlist.target:
            yield f"{after.url}: {before.playlist.target} becomes {after.playlist.target}"


@rule("6.2.1b", MUST, "Part target, server control and type do not change",
      "all versions of a playlist; the list of the allowed changes does not have them")
def constants(recording):
    for before, after in recording.pairs():
        for name in ("part_target", "control", "kind", "is_independent"):
            if getattr(before.playlist, name) != getattr(after.playlist, name):
                yield f"{after.url}: {name}"


@rule("6.2.1c", MUST, "The tags of a segment that is listed do not change", "URI and tags of all segments by number")
def constant_segments(recording):
    for before, after in recording.pairs():
        if shifted(before, after):
            continue
        for number, old in before.segments.items():
            new = after.segments.get(number)
            if new is None:
                continue
            was, now = old.lasting, new.lasting
            for name in was:
                if was[name] != now[name]:
                    yield f"{after.url}: {name} of segment {number} ({old.uri})"


@rule("6.2.1d", MUST, "The parts that are listed do not change, and all of a segment go at once",
      "parts of all segments by number")
def constant_parts(recording):
    for before, after in recording.pairs():
        if shifted(before, after) or after.edge < before.edge:
            continue
        for number, old in before.everything.items():
            new = after.everything.get(number)
            if new is None or not old.parts or not new.parts and new.uri is not None:
                continue
            if new.parts[:len(old.parts)] != old.parts:
                yield f"{after.url}: parts of segment {number}"
            elif old.uri is not None and len(new.parts) > len(old.parts):
                yield f"{after.url}: segment {number} gets parts after its end"


@rule("6.2.1e", MUST, "Nothing that was added disappears from the end", "the last segment and part by number")
def no_retreat(recording):
    for before, after in recording.pairs():
        if after.edge < before.edge:
            yield f"{after.url}: {before.edge} becomes {after.edge}"


@rule("6.2.1f", MUST, "A playlist that has ended does not grow", "versions after EXT-X-ENDLIST")
def end(recording):
    for before, after in recording.pairs():
        if before.playlist.is_complete and (not after.playlist.is_complete or after.edge != before.edge):
            yield after.url


def late(series, edge, limit):
    """The responses that show that nothing was added for too long."""
    known, since = None, None
    for entry in series:
        now = edge(entry)
        if known is not None and entry.time - since > limit and (now == known or entry.sent <= since + limit):
            yield entry, entry.time - since
            since = entry.time
        if now != known:
            known, since = now, entry.time
        if entry.playlist.is_complete:
            return


def lateness(entry, time, limit):
    return f"{entry.url}: none for {float(time):.2f} s until {float(entry.time):.2f}, allowed {float(limit):.2f} s"


@rule("6.2.1g", MUST, "A segment is added within 1.5 target durations", "responses that lack one, or waited for it")
def pace(recording):
    for series in recording.series.values():
        target = series[0].playlist.target or 0
        limit = target * Fraction(3, 2) + SLACK
        for entry, time in late(series, lambda entry: entry.playlist.last, limit):
            yield lateness(entry, time, limit)


@rule("6.2.1h", MUST, "A part is added within a part target", "responses that lack one, or waited for it")
def part_pace(recording):
    for series in recording.series.values():
        target = series[0].playlist.part_target
        if target:
            for entry, time in late(series, lambda entry: entry.edge, target + SLACK):
                yield lateness(entry, time, target + SLACK)


@rule("6.2.1i", MUST, "Dates are those of the media, with overlaps below a second", "each date and that of the next "
      "segment, with the duration between")
def dates(recording):
    for entry in recording.playlists:
        last = None
        for number, segment in sorted(entry.everything.items()):
            if segment.date and last and number == last[0] + 1:
                gap = Fraction(str((segment.date - last[1].date).total_seconds())) - last[1].duration
                if gap <= -1 or gap >= 1 and not segment.is_discontinuity:
                    yield f"{entry.path}: {segment.date} of segment {number} is {float(gap):+.3f} s off"
            last = (number, segment) if segment.date else None


def shifted(before, after):
    """URIs that have another number than before: the numbers do not follow the removals."""
    numbers = {segment.uri: number for number, segment in before.segments.items()}
    return [(segment.uri, numbers[segment.uri], number) for number, segment in after.segments.items()
            if numbers.get(segment.uri, number) != number]


@rule("6.2.2a", MUST, "EXT-X-MEDIA-SEQUENCE grows by one for each segment that is removed", "numbers of URIs")
def sequence(recording):
    for before, after in recording.pairs():
        for uri, old, new in shifted(before, after)[:1]:
            yield f"{after.url}: {uri} was {old} and is {new}"


@rule("6.2.2b", MUST, "EXT-X-DISCONTINUITY-SEQUENCE grows by one for each discontinuity that is removed",
      "the discontinuity sequence number of the first segment that two versions have")
def discontinuity_sequence(recording):
    for before, after in recording.pairs():
        if shifted(before, after):
            continue
        old, new = before.discontinuities, after.discontinuities
        first = min(set(old) & set(new), default=None)
        if first is None or before.everything[first].is_discontinuity != after.everything[first].is_discontinuity:
            continue
        if old[first] != new[first]:
            yield f"{after.url}: segment {first} had {old[first]} and has {new[first]}"


@rule("6.2.2c", MUST, "No segment is removed if less than three target durations remain", "durations after a removal")
def remaining(recording):
    for before, after in recording.pairs():
        removed = after.playlist.first > before.playlist.first
        listed = sum((segment.duration for segment in after.segments.values()), Fraction(0))
        if removed and not after.playlist.is_complete and listed < 3 * (after.playlist.target or 0):
            yield f"{after.url}: {float(listed)} s"


@rule("6.2.2d", MUST, "A playlist whose segments are removed has no EXT-X-PLAYLIST-TYPE", "tags")
def kind(recording):
    for path, series in recording.series.items():
        if series[-1].playlist.first > series[0].playlist.first and any(entry.playlist.kind for entry in series):
            yield path


@rule("6.2.2e", SHOULD, "Parts are removed when they are more than three target durations from the end",
      "durations from the end of a part to that of the playlist")
def old_parts(recording):
    for entry in recording.playlists:
        distance = Fraction(0)
        for segment in reversed(entry.everything.values()):
            distance += segment.duration or segment.part_duration
            if segment.parts and distance - segment.parts[0].duration > 3 * (entry.playlist.target or 0):
                yield f"{entry.url}: {segment.parts[0].uri}"


@rule("A8.17", MUST, "A playlist that will ever have a discontinuity has EXT-X-DISCONTINUITY-SEQUENCE", "all versions")
def has_discontinuity_sequence(recording):
    for path, series in recording.series.items():
        if any("EXT-X-DISCONTINUITY" in entry.playlist.tags for entry in series):
            for entry in series:
                if "EXT-X-DISCONTINUITY-SEQUENCE" not in entry.playlist.tags:
                    yield entry.url


@rule("6.2.2f", MUST, "A playlist whose segments are removed has EXT-X-MEDIA-SEQUENCE", "tags")
def has_sequence(recording):
    for path, series in recording.series.items():
        numbers = {entry.playlist.first for entry in series}
        if len(numbers) > 1:
            for entry in series:
                if "EXT-X-MEDIA-SEQUENCE" not in entry.playlist.tags:
                    yield entry.url


@rule("A8.11", MUST, "A live playlist has at least six segments", "versions after the first removal")
def six_segments(recording):
    for before, after in recording.pairs():
        if after.playlist.first > before.playlist.first and len(after.segments) < 6:
            yield f"{after.url}: {len(after.segments)}"


@rule("4.4.5.3c", MUST, "A part is where it was hinted, unless a discontinuity changes the plan",
      "the first part after a version, and its hint")
def fulfilled(recording):
    for before, after in recording.pairs():
        hint = next((one for one in before.playlist.hints if one.get("TYPE") == "PART"), None)
        if hint is None or shifted(before, after):
            continue
        number, count = before.edge
        added = after.everything.get(number + 1)
        if added and len(added.parts) > count:
            part = added.parts[count]
        elif added and added.uri and (added.parts or not count):
            added = after.everything.get(number + 2)
            part = added.parts[0] if added and added.parts else None
        else:
            part = None
        if part is None or added.is_discontinuity:
            continue
        start = int(hint.get("BYTERANGE-START", 0))
        if part.uri != hint.get("URI") or start != (part.bytes[0] if part.bytes else 0):
            yield f"{after.url}: {part.uri} was hinted as {hint.get('URI')}"


@rule("4.4.5.3d", MUST, "A hint is for something that is not listed yet", "URIs and offsets")
def fresh_hint(recording):
    for entry in recording.playlists:
        parts = {(part.uri, part.bytes[0] if part.bytes else 0) for segment in entry.everything.values()
                 for part in segment.parts}
        for hint in entry.playlist.hints:
            if hint.get("TYPE") == "PART" and (hint.get("URI"), int(hint.get("BYTERANGE-START", 0))) in parts:
                yield f"{entry.url}: {hint['URI']}"


@rule("4.4.5.4b", MUST, "Reports are as up to date as their playlist, with LAST-MSN and LAST-PART unless they are its "
      "own",
      "the versions of the other playlist that were delivered before and after")
def reports(recording):
    for entry in recording.playlists:
        own = last_part(entry)
        for report in entry.playlist.reports:
            other = recording.series.get(entry.resolve(report.get("URI", "")), [])
            told = (int(report.get("LAST-MSN", own[0])), int(report.get("LAST-PART", own[1])))
            older = [last_part(one) for one in other if one.time <= entry.time - SLACK]
            newer = [last_part(one) for one in other if one.time >= entry.time + SLACK]
            if older and told < max(older) or newer and told > min(newer):
                yield f"{entry.url}: {report['URI']}: {told}"


def last_part(entry):
    """The number and the index of the last part, or of the last segment and -1."""
    for number, segment in sorted(entry.everything.items(), reverse=True):
        return (number, len(segment.parts) - 1)
    return (-1, -1)


@rule("6.2.4a", MUST, "All playlists have the same target duration", "the last version of each")
def same_target(recording):
    found = {path: series[0].playlist.target for path, series in recording.series.items()}
    if len(set(found.values())) > 1:
        yield f"{found}"


@rule("6.2.4b", MUST, "All playlists have the same EXT-X-SERVER-CONTROL", "the first version of each")
def same_control(recording):
    found = [series[0].playlist.control for series in recording.series.values()]
    if any(control != found[0] for control in found):
        yield f"{found}"


@rule("6.2.4c", MUST, "All playlists have the same type", "the first version of each")
def same_kind(recording):
    found = {path: series[0].playlist.kind for path, series in recording.series.items()}
    if len(set(found.values())) > 1:
        yield f"{found}"


def by_date(series):
    """The numbers, segments and discontinuity sequence numbers of a playlist by date."""
    found = {}
    for entry in series:
        numbers = entry.discontinuities
        for number, segment in entry.everything.items():
            if segment.date:
                found.setdefault(segment.date, (segment, numbers[number]))
    return found


@rule("6.2.4d", MUST, "Matching content has matching discontinuity sequence numbers", "segments of the same date")
def same_discontinuities(recording):
    found = [by_date(series) for series in recording.series.values()]
    for other in found[1:]:
        for date in sorted(set(found[0]) & set(other)):
            if found[0][date][1] != other[date][1]:
                yield f"at {date}: {found[0][date][1]} and {other[date][1]}"
                break


@rule("6.2.4e", MUST, "All playlists have dates if one has", "EXT-X-PROGRAM-DATE-TIME, if one playlist has none")
def all_dated(recording):
    found = {path: bool(by_date(series)) for path, series in recording.series.items()}
    if len(set(found.values())) > 1:
        yield f"{found}"


@rule("A8.22", SHOULD, "All playlists have segment boundaries at the same times",
      "dates of segments, where they overlap")
def same_boundaries(recording):
    found = [sorted(by_date(series)) for series in recording.series.values()]
    for other in found[1:]:
        if not other or not found[0]:
            continue
        start, stop = max(found[0][0], other[0]), min(found[0][-1], other[-1])
        one, two = ({date for date in dates if start <= date <= stop} for dates in (found[0], other))
        if one != two:
            yield f"{min(one ^ two)}"


@rule("A8.22b", SHOULD, "Variants have the same segments", "dates and durations of the segments of all variants, where "
      "they overlap")
def same_segments(recording):
    found = [{date: segment.duration for date, (segment, _) in by_date(recording.series[path]).items() if segment.uri}
             for path in sorted(recording.variants & set(recording.series))]
    for other in found[1:]:
        if not other or not found[0]:
            continue
        start, stop = max(min(found[0]), min(other)), min(max(found[0]), max(other))
        for date in sorted(date for date in set(found[0]) | set(other) if start <= date <= stop):
            if found[0].get(date) != other.get(date):
                yield f"at {date}: {found[0].get(date)} and {other.get(date)} s"
                break
