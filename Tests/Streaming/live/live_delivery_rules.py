# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules for the responses of servers: delivery directives, and what HTTP says."""

import email.utils
from fractions import Fraction

from live_rules import MUST, SHOULD, rule, unchecked
from live_series_rules import SLACK


def number(query, name):
    return int(query[name]) if query.get(name, "").isdigit() else None


def has(entry, msn, part):
    """Whether a playlist has what a request waits for."""
    last, count = entry.edge
    if part is None or not any(segment.parts for segment in entry.everything.values()):
        return msn <= last
    if msn == last:
        listed = entry.segments[last].parts if last in entry.segments else ()
        return part < len(listed) or not listed or count > 0
    return msn < last or msn == last + 1 and part < count


def state_before(recording, entry):
    """The last version of the playlist that a client had when it sent a request."""
    return max((one for one in recording.series[entry.path] if one.time <= entry.sent and one is not entry),
               key=lambda one: one.time, default=None)


def state_after(recording, entry):
    """The first version that was delivered after a request was sent."""
    return min((one for one in recording.series[entry.path] if one.time >= entry.sent and one is not entry),
               key=lambda one: one.time, default=None)


@rule("6.2.5.1a", MUST, "A request with _HLS_skip gets a delta update if that is offered and there is something to "
      "skip",
      "segments beyond the skip boundary")
def delta(recording):
    for entry in recording.playlists:
        boundary = entry.playlist.number("CAN-SKIP-UNTIL")
        if entry.query.get("_HLS_skip") not in ("YES", "v2") or boundary is None or entry.playlist.is_complete:
            continue
        distance = sum((segment.duration for segment in list(entry.segments.values())[1:]), Fraction(0))
        if distance > boundary and entry.playlist.skip is None:
            yield entry.url


@rule("6.2.5.1b", MUST, "Only segments beyond the skip boundary are skipped",
      "durations to the end of the last segment")
def boundary(recording):
    for entry in recording.playlists:
        limit = entry.playlist.number("CAN-SKIP-UNTIL")
        kept = sum((segment.duration for segment in entry.playlist.segments), Fraction(0))
        if entry.playlist.skip is not None and limit is not None and kept < limit:
            yield f"{entry.url}: {float(kept)} s remain"


@rule("6.2.5.1c", MUST, "A delta update is sent only to a request with _HLS_skip, where it is offered, before the end",
      "queries, CAN-SKIP-UNTIL and EXT-X-ENDLIST")
def asked(recording):
    for entry in recording.playlists:
        is_offered = "CAN-SKIP-UNTIL" in (entry.playlist.control or {}) and not entry.playlist.is_complete
        if entry.playlist.skip is not None and ("_HLS_skip" not in entry.query or not is_offered):
            yield entry.url


@rule("6.2.5.1d", MUST, "What is skipped was in the playlist before", "numbers of earlier responses")
def known(recording):
    for entry in recording.playlists:
        if entry.unknown:
            yield f"{entry.url}: segments {entry.unknown}"


@rule("6.2.5.2a", MUST, "A response has what the request waited for", "_HLS_msn and _HLS_part of responses with 200")
def waited(recording):
    for entry in recording.playlists:
        msn, part = number(entry.query, "_HLS_msn"), number(entry.query, "_HLS_part")
        can_block = "CAN-BLOCK-RELOAD" in (entry.playlist.control or {})
        if msn is not None and can_block and not entry.playlist.is_complete and not has(entry, msn, part):
            yield entry.url


@rule("6.2.5.2b", MUST, "_HLS_part without _HLS_msn gets 400", "responses to such requests")
def lonely_part(recording):
    for entry in recording.requests:
        if "_HLS_part" in entry.query and "_HLS_msn" not in entry.query and entry.status != 400:
            if not (entry.playlist and entry.playlist.is_complete):
                yield f"{entry.url}: {entry.status}"


@rule("6.2.5.2c", SHOULD, "A request that is too far ahead gets 400",
      "_HLS_msn more than two beyond the last segment of a version that was delivered after the request")
def too_far(recording):
    for entry in recording.requests:
        msn, after = number(entry.query, "_HLS_msn"), state_after(recording, entry)
        if msn is not None and after and not after.playlist.is_complete and entry.status != 400:
            if msn > after.playlist.last + 2 and not (entry.playlist and entry.playlist.is_complete):
                yield f"{entry.url}: {entry.status}"


@rule("6.2.5.2d", SHOULD, "A request that waits for three target durations gets 503", "times of requests and responses")
def timeout(recording):
    for entry in recording.requests:
        target = recording.series[entry.path][0].playlist.target or 0
        if entry.time - entry.sent > 3 * target + 4 * SLACK and entry.status != 503:
            yield f"{entry.url}: {entry.status} after {float(entry.time - entry.sent):.1f} s"


@rule("6.2.5.2e", MUST, "A request that is allowed gets the playlist",
      "errors for requests with directives no more than two beyond the last segment of a version that the client had, "
      "and no more than three parts")
def refused(recording):
    for entry in recording.requests:
        before = state_before(recording, entry)
        is_lonely = "_HLS_msn" not in entry.query and "_HLS_part" in entry.query
        if before is None or not 400 <= entry.status < 500 or is_lonely:
            continue
        msn, part = number(entry.query, "_HLS_msn"), number(entry.query, "_HLS_part")
        if "_HLS_msn" in entry.query and msn is None or "_HLS_part" in entry.query and part is None:
            continue
        last, count = before.edge
        if msn is None or msn <= last + 1 and (part is None or part <= count + 2):
            yield f"{entry.url}: {entry.status}"


def listings(recording):
    """When a path of media was listed first, and until when it must be available: that is its last listing, or for a
    removed one the time by rfc8216bis 6.2.2."""
    found = {}
    for series in recording.series.values():
        for entry in series:
            three = 3 * (entry.playlist.target or 0)
            duration = entry.duration
            for segment in entry.everything.values():
                for uri, is_gap, length in [(segment.uri, segment.is_gap, None)] + [
                        (part.uri, part.is_gap, three) for part in segment.parts]:
                    if uri is None or is_gap:
                        continue
                    first, end = found.get(entry.resolve(uri), (entry.time, entry.time))
                    available = entry.time + length if length else first + segment.duration + duration
                    found[entry.resolve(uri)] = (first, max(end, entry.time, available))
                if segment.map and segment.map[0]:
                    first, end = found.get(entry.resolve(segment.map[0]), (entry.time, entry.time))
                    found[entry.resolve(segment.map[0])] = (first, max(end, entry.time))
    return found


@rule("6.2.1l", MUST, "What is listed can be downloaded, and what was listed for as long as 6.2.2 says", "requests for "
      "media while it must be available")
def available(recording):
    found = listings(recording)
    for entry in recording.media:
        first, end = found.get(entry.path, (None, None))
        if first is not None and first <= entry.sent <= end and entry.status not in (200, 206, 304):
            if not 300 <= entry.status < 400:
                yield f"{entry.url}: {entry.status}"


@rule("6.2.6b", MUST, "A hinted part is sent when it is complete",
      "requests that were sent before the part was listed: the response does not begin more than a part target "
      "before, or fail")
def hinted(recording):
    found, hinted = listings(recording), {}
    for entry in recording.playlists:
        for hint in entry.playlist.hints:
            hinted.setdefault(entry.resolve(hint.get("URI", "")), entry)
    for entry in recording.media:
        first, by = found.get(entry.path, (None, None))[0], hinted.get(entry.path)
        if by is None or first is None or not by.time <= entry.sent < first:
            continue
        limit = (by.playlist.part_target or 0) + SLACK
        if entry.status not in (200, 206) or entry.time > first + limit or entry.time < entry.sent:
            yield f"{entry.url}: {entry.status} after {float(entry.time - entry.sent):.2f} s"


@rule("6.2.6c", SHOULD, "What is neither listed nor hinted gets 404", "requests for media")
def not_found(recording):
    found = set(listings(recording))
    for entry in recording.playlists:
        found |= {entry.resolve(hint.get("URI", "")) for hint in entry.playlist.hints}
        found |= {entry.resolve(segment.uri) for segment in entry.segments.values() if segment.uri}
        parts = [part for segment in entry.everything.values() for part in segment.parts]
        found |= {entry.resolve(part.uri) for part in parts if part.uri}
    for entry in recording.media:
        if entry.path not in found and entry.status not in (404, 410):
            yield f"{entry.url}: {entry.status}"


@rule("A8.18", MUST, "Media is not redirected", "statuses")
def redirects(recording):
    for entry in recording.media:
        if 300 <= entry.status < 400 and entry.status != 304:
            yield f"{entry.url}: {entry.status}"


@rule("A8.24", SHOULD, "A playlist is no older than three target durations", "Last-Modified and Date")
def stale(recording):
    for entry in recording.playlists:
        dates = [entry.header(name) for name in ("last-modified", "date")]
        if all(dates) and not entry.playlist.is_complete:
            modified, now = (email.utils.parsedate_to_datetime(date) for date in dates)
            if (now - modified).total_seconds() > 3 * (entry.playlist.target or 0):
                yield entry.url


@rule("A10.1", MUST, "Playlists have the content encoding gzip", "Content-Encoding")
def gzip(recording):
    for entry in recording.playlists:
        if entry.header("content-encoding") != "gzip":
            yield f"{entry.path}: {entry.header('content-encoding')}"


@rule("A10.4", SHOULD, "Playlists have their media type", "Content-Type")
def media_type(recording):
    for entry in recording.playlists:
        if (entry.header("content-type") or "").partition(";")[0].strip().lower() not in (
                "application/vnd.apple.mpegurl", "audio/mpegurl"):
            yield f"{entry.path}: {entry.header('content-type')}"


@rule("B.1e", MUST, "Playlists with parts are delivered by HTTP/2 or later", "the protocol, where the log has it")
def protocol(recording):
    for entry in recording.playlists:
        if entry.playlist.part_target and entry.protocol not in (None, "h2", "h3"):
            yield f"{entry.path}: {entry.protocol}"


for number_, level, text in (("A11.2", SHOULD, "Playlists are delivered with TLS"),
                             ("B.1f", SHOULD, "Caches keep responses to blocking requests for six target durations")):
    unchecked(number_, level, text, "the log does not tell")
