# SPDX-License-Identifier: GPL-2.0-or-later
"""Sections 7 and 8: segments and media playlists."""

from fractions import Fraction

from rules import MUST, SHOULD, inapplicable, rule, seconds, unchecked
from video_rules import frame_rate, starts_with_idr

LIVE = "files, not live"


def neighbours(rendition):
    """Successive segments of a rendition."""
    return zip(rendition.read, rendition.read[1:])


def boundaries(rendition):
    return [part.stretch.start for part in rendition.read]


@rule("7.1", MUST, "Media is continuous across segments", "the first time of each segment and the last of the one "
      "before, to half a picture or audio frame")
def continuous(show):
    for rendition in show.media:
        for before, after in neighbours(rendition):
            gap = after.stretch.start - rendition.end_of(before)
            if abs(gap) > rendition.step / 2 + Fraction(1, 1000) and not after.listed.is_discontinuity:
                yield f"{after.path} begins {float(gap) * 1000:+.1f} ms after the end of the one before"


@rule("7.2", MUST, "Continuity counters and times of transport streams are sequential",
      "counters of all packets of all PIDs, decode times, in and across segments")
def counters(show):
    for rendition in show.media:
        if not rendition.track.is_transport:
            continue
        last = {}
        for part in rendition.read:
            if part.listed.is_discontinuity:
                last = {}
            for pid, (first, end) in part.stretch.counters.items():
                if pid in last and first != (last[pid] + 1) % 16:
                    yield f"{part.path}: the counter of PID {pid} begins with {first} after {last[pid]}"
                last[pid] = end
        times = [unit.decode for unit in rendition.units]
        if any(after <= before for before, after in zip(times, times[1:])):
            yield f"{rendition.path}: decode times do not rise"


@rule("7.3", MUST, "tfdt continues the decode times and durations of the segment before",
      "each sample of fMP4 begins where the one before ends, to one tick")
def decode_times(show):
    for rendition in show.media:
        end = None
        for part in rendition.read if not rendition.track.is_transport else []:
            end = None if part.listed.is_discontinuity else end
            for unit in part.stretch.units:
                if end is not None and abs(end - unit.decode) > Fraction(1, part.stretch.track.timescale):
                    yield f"{part.path}: a sample at {float(unit.decode):.6f} s, expected at {float(end):.6f} s"
                end = unit.decode + unit.duration


@rule("7.4", MUST, "Video segments begin with an IDR picture", "NAL unit types of the first access unit")
def begins_with_idr(show):
    for video in show.videos:
        for part in video.read:
            if not starts_with_idr(part, video.is_hevc):
                yield part.path


@rule("7.5", SHOULD, "The target duration is 6 s", "EXT-X-TARGETDURATION of variants and audio")
def target_duration(show):
    for rendition in show.media:
        if rendition.playlist.target != 6:
            yield f"{rendition.path}: {rendition.playlist.target} s"


@rule("7.6", SHOULD, "Segments have nominally 6 s", "all EXTINF but the last, to half a second")
def nominal_duration(show):
    for rendition in show.media:
        odd = [part for part in rendition.parts[:-1] if abs(part.listed.duration - 6) > Fraction(1, 2)]
        if odd:
            first = odd[0].listed
            yield f"{rendition.path}: {len(odd)} segments, such as {first.uri} with {float(first.duration):.3f} s"


@rule("7.7", MUST, "No segment exceeds the target duration by more than 0.5 s", "the times of its samples")
def longest(show):
    for rendition in show.media:
        for part in rendition.read:
            seconds = rendition.end_of(part) - part.stretch.start
            # The last audio frame of a segment may begin just before its end.
            if rendition.playlist.target and seconds > rendition.playlist.target + Fraction(1, 2) + rendition.step:
                yield f"{part.path} has {float(seconds):.3f} s"


inapplicable("7.8", SHOULD, "xHE-AAC segments begin with an immediate playout frame", "vatoolbox writes no xHE-AAC")


@rule("8.1", MUST, "Sums of EXTINF of any successive segments are within one picture of the real duration",
      "the difference to the times of samples at every boundary")
def sums(show):
    for rendition in show.media:
        listed, errors = Fraction(0), [Fraction(0)]
        for part, following in zip(rendition.read, rendition.read[1:] + [None]):
            listed += part.listed.duration
            real = (following.stretch.start if following else rendition.end) - rendition.read[0].stretch.start
            errors.append(listed - real)
        allowed = max(show.video_step, rendition.step) + Fraction(1, 1000)
        if max(errors) - min(errors) > allowed:
            yield f"{rendition.path}: {float(max(errors) - min(errors)):.3f} s"


@rule("8.2", MUST, "Audio and video playlists have the same target duration", "EXT-X-TARGETDURATION")
def same_target(show):
    found = {rendition.playlist.target for rendition in show.variants + show.audio}
    if len(found) > 1:
        yield f"{sorted(found, key=str)}"


@rule("8.3", MUST, "Audio and video playlists have the same duration", "sums of EXTINF, to one picture or audio frame")
def same_duration(show):
    lengths = {rendition.path: rendition.playlist.duration for rendition in show.media}
    if lengths and max(lengths.values()) - min(lengths.values()) > show.tolerance:
        yield ", ".join(f"{path} {float(length):.3f} s" for path, length in lengths.items())


inapplicable("8.4", MUST, "Live playlists have EXT-X-PROGRAM-DATE-TIME", LIVE)
unchecked("8.5", SHOULD, "EXT-X-PROGRAM-DATE-TIME is the time on air", "only the author knows it; RFC 4.3.2.6b checks "
          "that times agree")


@rule("8.6", MUST, "Playlists of VOD have EXT-X-PLAYLIST-TYPE:VOD", "all media playlists: what vatoolbox writes is "
      "complete")
def on_demand(show):
    for rendition in show.variants + show.audio + show.i_frames:
        if rendition.playlist.kind != "VOD":
            yield f"{rendition.path}: {rendition.playlist.kind}"


@rule("8.7", MUST, "All playlists of VOD cover the same time", "the times of first and last samples, to one picture or "
      "audio frame; also of I-frames")
def same_range(show):
    for name, times in (("begin", {one.path: one.start for one in show.media + show.tricks}),
                        ("end", {one.path: one.end for one in show.media})):
        if times and max(times.values()) - min(times.values()) > show.tolerance:
            yield f"they {name} at " + ", ".join(f"{path} {float(time):.3f} s" for path, time in times.items())
    for trick in show.tricks:
        end = trick.start + trick.playlist.duration
        if show.videos and abs(end - max(video.end for video in show.videos)) > show.tolerance:
            yield f"{trick.path} ends at {float(end):.3f} s"


inapplicable("8.8", MUST, "Playlists that only grow have EXT-X-PLAYLIST-TYPE:EVENT", LIVE)


@rule("8.9", MUST, "Separate audio is declared with EXT-X-MEDIA", "every media playlist in the folder is referred to")
def declared(show):
    known = {rendition.path for rendition in show.variants + show.audio + show.i_frames} | {show.main}
    for path in show.files:
        if path.endswith(".m3u8") and path not in known:
            yield f"{path} is not"


@rule("8.10", MUST, "EXT-X-MEDIA has a LANGUAGE, except for TYPE=VIDEO", "attributes")
def language(show):
    for tag in show.multivariant.media:
        if tag.get("TYPE") != "VIDEO" and not tag.get("LANGUAGE"):
            yield f"{tag.get('NAME')} has none"


inapplicable("8.11", MUST, "Live playlists have at least six segments", LIVE)
inapplicable("8.12", SHOULD, "Live playlists have at least 15 minutes (tvOS: 120)", LIVE)


def differences(before, after):
    """What the tracks of successive segments differ in, so that decoders start anew."""
    one, other = before.stretch.track, after.stretch.track
    pairs = {"sample entry": (one.entry, other.entry), "timescale": (one.timescale, other.timescale),
             "sample rate": (one.sample_rate, other.sample_rate)}
    if one.sequence and other.sequence:
        pairs["size"] = ((one.sequence.width, one.sequence.height), (other.sequence.width, other.sequence.height))
        pairs["bit depth"] = (one.sequence.depth, other.sequence.depth)
    return [name for name, (old, new) in pairs.items() if old != new]


@rule("8.13", MUST, "Breaks of encoding continuity are marked with EXT-X-DISCONTINUITY",
      "successive segments: sample entry, "
      "timescale, size, bit depth, sample rate, times (7.1); RFC 4.3.2.3 for other parameters")
def breaks(show):
    for rendition in show.media:
        for before, after in neighbours(rendition):
            changed = differences(before, after)
            if changed and not after.listed.is_discontinuity:
                yield f"{after.path}: {', '.join(changed)}"


@rule("RFC 4.3.2.3", SHOULD, "A change of encoding parameters is marked with EXT-X-DISCONTINUITY",
      "the parameter sets of successive "
      "segments. A marked change needs marks in all renditions (8.15), which an encoder that fails in one of them "
      "cannot give")
def parameters(show):
    for rendition in show.media:
        for before, after in neighbours(rendition):
            if before.stretch.track.sets != after.stretch.track.sets and not after.listed.is_discontinuity:
                yield f"{after.path} has other parameter sets"


@rule("8.14", MUST, "Changes of the frame rate are discontinuities", "the median step of the times in successive "
      "segments, to 10 %")
def rates(show):
    for video in show.videos:
        steps = []
        for part in video.read:
            steps.append(part.stretch.step if len(part.stretch.units) > 4 else None)
        for part, before, after in zip(video.read[1:], steps, steps[1:]):
            if before and after and abs(after / before - 1) > Fraction(1, 10) and not part.listed.is_discontinuity:
                yield f"{part.path}: {float(1 / after):.3f} after {float(1 / before):.3f} fps"


@rule("8.15", MUST, "Discontinuities are at the same times in all renditions",
      "EXT-X-DISCONTINUITY, to one picture or audio frame")
def same_discontinuities(show):
    marks = {}
    for rendition in show.variants + show.audio:
        time, found = Fraction(0), []
        for part in rendition.parts:
            if part.listed.is_discontinuity:
                found.append(time)
            time += part.listed.duration
        marks[rendition.path] = found
    first = next(iter(marks.values()), [])
    for path, found in marks.items():
        if len(found) != len(first) or any(abs(one - other) > show.tolerance for one, other in zip(found, first)):
            yield f"{path}: {[float(time) for time in found]}, others {[float(time) for time in first]}"


@rule("8.16", SHOULD, "Codecs do not change at discontinuities", "sample entries of successive segments")
def same_codec(show):
    for rendition in show.media:
        entries = list(dict.fromkeys(part.stretch.track.entry for part in rendition.read))
        if len(entries) > 1:
            yield f"{rendition.path}: {entries}"


inapplicable("8.17", MUST, "Live content with discontinuities always has EXT-X-DISCONTINUITY-SEQUENCE", LIVE)
unchecked("8.18", MUST, "Media is not redirected", "a server's matter")
inapplicable("8.19", SHOULD, "EXT-X-DATERANGE marks programmes and interstitials", "vatoolbox inserts nothing")


@rule("8.20", MUST, "Playlists with fMP4 have EXT-X-MAP", "segments that begin with a box")
def has_map(show):
    yield from ()  # Reported while reading.


@rule("8.21", SHOULD, "Metadata is in playlists, not in the media", "`emsg` boxes; streams of the type 0x15 in "
      "transport streams")
def metadata(show):
    for rendition in show.media:
        for part in rendition.read:
            if part.stretch.timed_metadata:
                yield part.path


@rule("8.22", SHOULD, "All renditions have segment boundaries at the same times (AirPlay: MUST)",
      "the first times of segments, to one picture or audio frame")
def same_boundaries(show):
    renditions = [rendition for rendition in show.media if len(rendition.read) == len(rendition.parts)]
    for rendition in renditions[1:]:
        ours, theirs = boundaries(rendition), boundaries(renditions[0])
        if len(ours) != len(theirs) or any(abs(one - other) > show.tolerance for one, other in zip(ours, theirs)):
            yield f"{rendition.path}: {seconds(ours)}, others {seconds(theirs)}"


inapplicable("8.23", SHOULD, "xHE-AAC has EXT-X-INDEPENDENT-SEGMENTS", "vatoolbox writes no xHE-AAC")
unchecked("8.24", SHOULD, "A live playlist is invalid when Last-Modified is old", "a client's and a server's matter")


@rule("8.25", SHOULD, "Frame rates at discontinuities are similar: x, 2x, x/2 (AirPlay)",
      "the frame rates of all variants")
def similar_rates(show):
    found = sorted({frame_rate(video) for video in show.videos if video.step})
    for rate in found[1:]:
        ratio = rate / found[0]
        if min(abs(ratio - factor) for factor in (1, 2, 4)) > Fraction(1, 100):
            yield f"{float(found[0]):.3f} and {float(rate):.3f} fps"


