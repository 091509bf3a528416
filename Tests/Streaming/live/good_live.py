# SPDX-License-Identifier: GPL-2.0-or-later
"""A good recording, made by a small server that is written only for this: two playlists with parts of a second and
segments of four, a lost segment, a discontinuity with another initialization section, and an end."""

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from fractions import Fraction

from live_recording import Entry, Recording

RENDITIONS = ("720p", "360p")
TARGET = 4
CHANGE, LOST = 5, 11  # the segment with the discontinuity, and the one that is lost
START = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)
HEADERS = {"Content-Type": "application/vnd.apple.mpegurl", "Content-Encoding": "gzip",
           "Last-Modified": "Sat, 31 Jan 2026 12:00:00 GMT", "Date": "Sat, 31 Jan 2026 12:00:01 GMT"}


@dataclass(frozen=True)
class Shape:
    """What the stream and its window are like."""

    segments: int = 18
    window: int = 9
    first: int = 1  # the number of parts of the first version
    keeps: int = 3  # for how many target durations parts are listed
    skips: bool = True  # whether clients ask for delta updates
    seconds: int = 4  # the duration of segments without parts


GOOD = Shape()


def header(first, discontinuity, version, control):
    return ["#EXTM3U", f"#EXT-X-VERSION:{version}", f"#EXT-X-TARGETDURATION:{TARGET}",
            f"#EXT-X-SERVER-CONTROL:{control}", *(["#EXT-X-PART-INF:PART-TARGET=1.0"] if "PART" in control else []),
            f"#EXT-X-MEDIA-SEQUENCE:{first}", f"#EXT-X-DISCONTINUITY-SEQUENCE:{discontinuity}",
            "#EXT-X-INDEPENDENT-SEGMENTS"]


def start_of(segment, has_map, seconds):
    lines = ["#EXT-X-DISCONTINUITY"] if segment == CHANGE else []
    if has_map or segment == CHANGE:
        lines.append(f'#EXT-X-MAP:URI="init-{1 + (segment >= CHANGE)}.mp4"')
    date = (START + timedelta(seconds=seconds * segment)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    return lines + [f"#EXT-X-PROGRAM-DATE-TIME:{date}"]


def block(segment, count, has_map, has_parts):
    """The lines of a segment with a number of parts."""
    lines = start_of(segment, has_map, 4)
    for index in range(count if has_parts else 0):
        gap = ",GAP=YES" if segment == LOST else ""
        independent = "" if index else ",INDEPENDENT=YES"
        lines.append(f'#EXT-X-PART:DURATION=1.000,URI="p{4 * segment + index}.m4s"{independent}{gap}')
    if count == 4:
        lines += ["#EXT-X-GAP"] if segment == LOST else []
        lines += ["#EXTINF:4.000,", f"s{segment}.m4s"]
    return lines


def text(rendition, parts, skip=False, shape=GOOD):
    """The playlist when a number of parts is there."""
    complete, rest = divmod(parts, 4)
    first = max(0, complete - shape.window)
    ended = complete == shape.segments
    skipped = max(0, complete - 6 - first) if skip and not ended else 0
    control = (f"CAN-BLOCK-RELOAD=YES,CAN-SKIP-UNTIL={6 * TARGET}.0,HOLD-BACK={3 * TARGET}.0,PART-HOLD-BACK=3.0")
    lines = header(first, int(first > CHANGE), 9 if skipped else 6, control)
    if skipped:
        lines.append(f"#EXT-X-SKIP:SKIPPED-SEGMENTS={skipped}")
    for segment in range(first + skipped, complete):
        lines += block(segment, 4, segment == first, parts - 4 * segment <= shape.keeps * TARGET)
    if rest:
        lines += block(complete, rest, complete == first, True)
    if ended:
        return lines + ["#EXT-X-ENDLIST"]
    lines.append(f'#EXT-X-PRELOAD-HINT:TYPE=PART,URI="p{parts}.m4s"')
    last = divmod(parts - 1, 4)
    lines += [f'#EXT-X-RENDITION-REPORT:URI="../{other}/index.m3u8",LAST-MSN={last[0]},LAST-PART={last[1]}'
              for other in RENDITIONS if other != rendition]
    return lines


def response(url, sent, time, lines=None, status=200):
    body = None if lines is None else ("\n".join(lines) + "\n").encode()
    return Entry(url, Fraction(sent), Fraction(time), status, dict(HEADERS) if body else {}, "h2", body)


def entries(shape=GOOD):
    """The responses of a stream with parts."""
    found, total = [], 4 * shape.segments
    for shift, rendition in enumerate(RENDITIONS):
        base, delay = f"/live/{rendition}", Fraction(2 + shift, 100)
        found.append(response(f"{base}/index.m3u8", shape.first + delay, shape.first + delay,
                              text(rendition, shape.first, shape=shape)))
        for parts in range(shape.first + 1, total + 1):
            sent, time = parts - 1 + delay + Fraction(1, 100), parts + delay
            msn, part = divmod(parts - 1, 4)
            skip = shape.skips and parts % 3 > 0
            url = f"{base}/index.m3u8?_HLS_msn={msn}&_HLS_part={part}" + ("&_HLS_skip=YES" if skip else "")
            found.append(response(url, sent, time, text(rendition, parts, skip, shape)))
            if msn != LOST:
                found.append(response(f"{base}/p{parts - 1}.m4s", sent, time))
            if part == 3 and msn != LOST:
                found.append(response(f"{base}/s{msn}.m4s", time + Fraction(5, 100), time + Fraction(6, 100)))
        if shape.first > 1:
            continue
        found += [
            response(f"{base}/init-1.mp4", Fraction(11, 10), Fraction(12, 10)),
            # A segment that has been removed just now, and a part.
            response(f"{base}/s1.m4s", 44 + Fraction(1, 2), 44 + Fraction(6, 10)),
            response(f"{base}/p2.m4s", 20, 20),
            response(f"{base}/none.m4s", 20, 20, status=404),
            response(f"{base}/index.m3u8?_HLS_part=1", 30, 30, status=400),
            response(f"{base}/index.m3u8?_HLS_msn=99", 30, 30, status=400),
            response(f"{base}/index.m3u8?_HLS_msn={shape.segments}", total - Fraction(1, 2), total + Fraction(1, 2),
                     text(rendition, total, shape=shape)),
        ]
    return found


def plain_text(segments, shape):
    """The playlist without parts when a number of segments is there."""
    first = max(0, segments - shape.window)
    lines = header(first, int(first > CHANGE), 6, "HOLD-BACK=15.0")
    for segment in range(first, segments):
        lines += start_of(segment, segment == first, shape.seconds)
        lines += [f"#EXTINF:{shape.seconds}.000,", f"s{segment}.m4s"]
    return lines + ["#EXT-X-ENDLIST"] * (segments == shape.segments)


def plain_entries(shape=GOOD):
    """The responses of a stream without parts, whose clients ask again and again."""
    return [response(f"/live/{rendition}/index.m3u8", shape.seconds * count - Fraction(1, 10), shape.seconds * count,
                     plain_text(count, shape))
            for rendition in RENDITIONS for count in range(1, shape.segments + 1)]


def recording():
    return Recording(entries())


def copies(originals):
    """Entries that can be changed, without what follows from their bodies."""
    return [Entry(one.url, one.sent, one.time, one.status, dict(one.headers), one.protocol, one.body)
            for one in originals]
