# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules of RFC 8216 (with rfc8216bis), of the containers, and of this project (V)."""

import xml.etree.ElementTree as xml
from datetime import timedelta
from fractions import Fraction

import boxes
from media import is_idr, is_intra, unit_type
from playlists import resolve
from rules import MUST, SHOULD, reading, rule, seconds
from video_rules import HLG, PQ, frame_rate

reading("RFC 3", MUST, "Segments are fragmented MP4, transport streams or packed audio")
reading("RFC 3.2a", MUST, "A transport stream segment has one program", "program association tables")
reading("RFC 3.2b", SHOULD, "A transport stream segment begins with a PAT and a PMT", "its first two packets")
reading("RFC 3.3a", MUST, "An initialization section has ftyp, with iso6 or later, before moov", "boxes")
reading("RFC 3.3b", MUST, "moov has a track for each in the segments, without samples", "track numbers; sample tables")
reading("RFC 3.3c", MUST, "mvex follows the last track", "boxes")
reading("RFC 3.3d", MUST, "Durations in mvhd and tkhd are zero", "boxes")
reading("RFC 3.3e", MUST, "Each track fragment has tfdt", "boxes")
reading("RFC 3.3f", MUST, "Fragments are addressed relative to moof", "flags of tfhd")
reading("RFC 3.3g", MUST, "There are no external data references", "dref")
reading("RFC 4.1", MUST, "Playlists are UTF-8 without control characters, tags are known and not mixed, URIs are valid "
        "and exist")
reading("RFC 4.2", MUST, "Attribute lists follow the grammar, without duplicates, values have their types")
reading("RFC 4.3.1.1", MUST, "EXTM3U is the first line")
reading("RFC 4.3.1.2", MUST, "EXT-X-VERSION is there once at most, a decimal integer")
reading("RFC 4.3.2", MUST, "Tags of a segment are there once for each")
reading("RFC 4.3.2.1", MUST, "Each segment has an EXTINF with a decimal duration and a comma")
reading("RFC 4.3.2.2", MUST, "Byte ranges are in their files, and have offsets unless they continue")
reading("RFC 4.3.2.5", MUST, "EXT-X-MAP has a URI that exists")
reading("RFC 4.3.2.6", MUST, "EXT-X-PROGRAM-DATE-TIME is a date and time of ISO 8601 with a time zone")
reading("RFC 4.3.3.1", MUST, "There is one EXT-X-TARGETDURATION, which no rounded EXTINF exceeds")
reading("RFC 4.3.3.2", MUST, "EXT-X-MEDIA-SEQUENCE is there once at most, before the first segment")
reading("RFC 4.3.3.3", MUST, "EXT-X-DISCONTINUITY-SEQUENCE is there once at most, before the first segment")
reading("RFC 4.3.3.4", MUST, "EXT-X-ENDLIST is there once, as VOD never changes")
reading("RFC 4.3.3.5", MUST, "EXT-X-PLAYLIST-TYPE is VOD or EVENT, once at most")
reading("RFC 4.3.3.6", MUST, "EXT-X-I-FRAMES-ONLY is there once at most")
reading("RFC 4.3.4.1", MUST, "EXT-X-MEDIA has TYPE, GROUP-ID and NAME, and defined values")
reading("RFC 4.3.4.2", MUST, "EXT-X-STREAM-INF has BANDWIDTH and defined values, and a URI follows")
reading("RFC 4.3.4.3", MUST, "EXT-X-I-FRAME-STREAM-INF has BANDWIDTH, URI and defined values")
reading("RFC 4.3.5.1", MUST, "EXT-X-INDEPENDENT-SEGMENTS is there once at most")
reading("RFC 7", MUST, "EXT-X-VERSION is no lower than the tags need")


@rule("RFC 4.3.2.6b", MUST, "Dates agree with the durations, and are there for all renditions or for none (6.2.1)",
      "the step from one "
      "segment's date to the next, to a picture or audio frame; the date at the same time of other renditions")
def dates(show):
    origins = {}
    for rendition in show.variants + show.audio + show.i_frames:
        time, dated = Fraction(0), []
        for part in rendition.parts:
            if part.listed.date:
                dated.append(part.listed.date - timedelta(seconds=float(time)))
            time += part.listed.duration
        origins[rendition.path] = dated
        allowed = timedelta(seconds=float(show.tolerance) + 0.002)
        if dated and max(dated) - min(dated) > allowed:
            yield f"{rendition.path}: they differ from the durations by {max(dated) - min(dated)}"
    firsts = [dated[0] if dated else None for dated in origins.values()]
    known = [date for date in firsts if date]
    if known and (None in firsts or max(known) - min(known) > timedelta(seconds=float(show.tolerance) + 0.002)):
        yield f"the first dates are {sorted(set(map(str, firsts)))}"


@rule("RFC 4.3.4.1b", MUST, "Names in a group differ, one rendition at most is the default, and defaults have "
      "AUTOSELECT=YES", "attributes")
def groups(show):
    names, defaults = set(), set()
    for tag in show.multivariant.media:
        group = (tag.get("TYPE"), tag.get("GROUP-ID"))
        if group + (tag.get("NAME"),) in names:
            yield f"{tag.get('NAME')} is there twice"
        names.add(group + (tag.get("NAME"),))
        if tag.get("DEFAULT") == "YES":
            if group in defaults:
                yield f"{tag.get('GROUP-ID')} has two defaults"
            defaults.add(group)
            if tag.get("AUTOSELECT", "YES") != "YES":
                yield f"{tag.get('NAME')} is the default with AUTOSELECT=NO"


@rule("RFC 4.3.4.1c", MUST, "INSTREAM-ID is for closed captions, which have no URI", "attributes")
def captions(show):
    for tag in show.multivariant.media:
        is_captions = tag.get("TYPE") == "CLOSED-CAPTIONS"
        if is_captions != ("INSTREAM-ID" in tag) or is_captions and "URI" in tag:
            yield f"{tag.get('NAME')}: {tag.get('TYPE')}"


@rule("RFC 4.3.4.1d", MUST, "CHANNELS is the number of channels", "sample entries, AAC configurations, ADTS headers")
def channels(show):
    for sound in show.sounds:
        if "CHANNELS" in sound.tag and int(sound.tag["CHANNELS"].split("/")[0] or 0) != sound.track.channels:
            yield f"{sound.path}: {sound.tag['CHANNELS']}, not {sound.track.channels}"


@rule("RFC 4.3.4.1e", SHOULD, "Audio renditions have CHANNELS", "attributes")
def has_channels(show):
    for sound in show.sounds:
        if "CHANNELS" not in sound.tag:
            yield f"{sound.path} has none"


@rule("RFC 4.3.4.2b", MUST, "CODECS names every codec of the variant and its audio",
      "RFC 6381 from the real parameter sets and AAC configurations of all segments; no others")
def codecs(show):
    for variant in show.variants + show.i_frames:
        if "CODECS" not in variant.tag or not variant.track:
            continue
        tracks = variant.tracks + [track for sound in show.group(variant) for track in sound.tracks]
        found = {track.codec for track in tracks}
        listed = [name.strip() for name in variant.tag["CODECS"].split(",")]
        if found != set(listed) or len(listed) != len(set(listed)):
            yield f"{variant.path}: {variant.tag['CODECS']}, found {','.join(sorted(map(str, found)))}"


@rule("RFC 4.3.4.2c", MUST, "RESOLUTION is the size at which the video is shown",
      "size, cropping and pixel aspect ratio of the parameter sets, to one pixel")
def resolution(show):
    for variant in show.videos + show.tricks:
        for track in variant.tracks:
            if "RESOLUTION" in variant.tag and track.sequence:
                width, height = map(int, variant.tag["RESOLUTION"].split("x"))
                one = track.sequence
                if abs(width - one.width * one.ratio) > 1 or height != one.height:
                    yield f"{variant.path}: {width}x{height}, coded {one.width}x{one.height}, pixels {one.ratio}"


@rule("RFC 4.3.4.2d", MUST, "VIDEO-RANGE is that of the video", "transfer functions of the parameter sets")
def video_range(show):
    for variant in show.videos + show.tricks:
        for track in variant.tracks:
            if track.sequence:
                found = {PQ: "PQ", HLG: "HLG"}.get(track.sequence.transfer, "SDR")
                if variant.tag.get("VIDEO-RANGE", "SDR") != found:
                    yield f"{variant.path}: {variant.tag.get('VIDEO-RANGE', 'SDR')}, coded {found}"


@rule("RFC 4.3.4.2e", MUST, "FRAME-RATE is the highest frame rate", "the median step of the times, to half a percent; "
      "if "
      "steps vary, at least the largest number of pictures in a second")
def rate(show):
    for video in show.videos:
        declared, usual = Fraction(video.tag.get("FRAME-RATE", "0")), frame_rate(video)
        if declared and usual and abs(declared / usual - 1) > Fraction(1, 200):
            times = sorted(unit.presentation for unit in video.units)
            highest = max(sum(start <= time < start + 1 for time in times[index:index + 400])
                          for index, start in enumerate(times))
            is_variable = any(abs((after - before) * usual - 1) > Fraction(1, 2)
                              for before, after in zip(times, times[1:]))
            if not is_variable or declared < highest * Fraction(199, 200):
                yield f"{video.path}: {float(declared)}, measured {float(usual):.3f}, {highest} in a second"


@rule("RFC 4.3.4.2f", MUST, "Groups that variants name exist, and those that exist are named",
      "AUDIO, SUBTITLES, CLOSED-CAPTIONS")
def named_groups(show):
    kinds = {"AUDIO": "AUDIO", "SUBTITLES": "SUBTITLES", "CLOSED-CAPTIONS": "CLOSED-CAPTIONS", "VIDEO": "VIDEO"}
    used = set()
    for tag in show.multivariant.variants:
        for name, kind in kinds.items():
            if name in tag and tag[name] != "NONE":
                used.add((kind, tag[name]))
    there = {(tag.get("TYPE"), tag.get("GROUP-ID")) for tag in show.multivariant.media}
    for kind, group in sorted(used - there):
        yield f"there is no group {group} of the type {kind}"
    for kind, group in sorted(there - used, key=str):
        yield f"no variant names the group {group} of the type {kind}"


@rule("RFC 4.3.4.2g", MUST, "CLOSED-CAPTIONS is NONE for all variants or for none", "attributes")
def no_captions(show):
    found = [tag.get("CLOSED-CAPTIONS") == "NONE" for tag in show.multivariant.variants]
    if any(found) and not all(found):
        yield f"for {sum(found)} of {len(found)}"


@rule("RFC 4.3.5.1b", MUST, "With EXT-X-INDEPENDENT-SEGMENTS, no segment needs another one",
      "the first picture of each segment is an IDR or CRA picture")
def independent(show):
    for video in show.videos:
        if show.multivariant.is_independent or video.playlist.is_independent:
            for part in video.read:
                if not is_intra(part.stretch.units[0], video.is_hevc):
                    yield part.path


@rule("RFC 6.2.4", MUST, "Content of all variants has the same times", "the presentation times of their IDR pictures, "
      "to half a picture")
def same_times(show):
    for video in show.videos[1:]:
        ours, theirs = video.key_times(), show.videos[0].key_times()
        if any(min(abs(time - other) for other in theirs) > show.video_step / 2 for time in ours
               if theirs) and not has_switch(show):
            yield f"{video.path}: {seconds(ours)}, others {seconds(theirs)}"


def has_switch(show):
    return any(len(video.tracks) > 1 for video in show.videos)


@rule("V1", MUST, "An edit list is one edit at normal speed, which only skips composition offsets or priming",
      "elst: players ignore others")
def edits(show):
    for rendition in show.media:
        sections = {part.section for part in rendition.read if part.section}
        for section in sections:


            found = boxes.initialization(section).edits
            if len(found) > 1 or any(duration or media < 0 or speed != 1 for duration, media, speed in found):
                yield f"{rendition.path}: {[(duration, media, float(speed)) for duration, media, speed in found]}"


@rule("V2", MUST, "avcC and hvcC agree with their parameter sets", "profile, compatibility and level, byte by byte "
      "(ISO/IEC 14496-15)")
def records(show):
    for video in show.videos:
        for track in video.tracks:
            if not track.record:
                continue
            if track.entry in ("avc1", "avc3"):
                stored, coded = track.record[1:4], next(unit for unit in track.sets if unit[0] & 31 == 7)[1:4]
            else:
                unit = next(unit for unit in track.sets if unit_type(unit, True) == 33)
                stored, coded = track.record[1:13], unit[3:].replace(b"\0\0\3", b"\0\0")[:12]
            if stored != coded:
                yield f"{video.path}: {stored.hex()}, the sequence parameter set has {coded.hex()}"


@rule("V3", MUST, "Samples are marked as sync samples if and only if they are IDR pictures",
      "flags of trun and tfhd, NAL unit types")
def sync_samples(show):
    for video in show.videos:
        for part in video.read:
            wrong = [unit for unit in part.stretch.units
                     if unit.is_sync is not None and unit.is_sync != is_idr(unit, video.is_hevc)]
            if wrong:
                yield f"{part.path}: {len(wrong)} samples, the first at {float(wrong[0].presentation):.3f} s"


@rule("V4", MUST, "The manifest for DASH describes the same segments", "its initialization sections, segments, first "
      "times, durations, codecs and sizes")
def manifest(show):
    name = show.main.removesuffix(".m3u8") + ".mpd"
    if name not in show.files:
        return
    space = "{urn:mpeg:dash:schema:mpd:2011}"
    try:
        root = xml.fromstring(show.files[name])
    except xml.ParseError as error:
        yield str(error)
        return
    known = {}
    for rendition in show.media:
        section = rendition.playlist.segments[0].map
        known[resolve(rendition.path, section) if section else None] = rendition
    found = root.findall(f".//{space}Representation")
    if len(found) != len(known):
        yield f"{len(found)} representations of {len(known)} renditions"
    for one in found:
        template = one.find(f"{space}SegmentTemplate")
        rendition = known.get(template.get("initialization"))
        if not rendition:
            yield f"{one.get('id')}: {template.get('initialization')} is not in the playlists"
            continue
        yield from (f"{one.get('id')}: {text}" for text in differences(show, one, template, rendition, space))


def differences(show, one, template, rendition, space):
    scale, time, starts, ends = int(template.get("timescale", 1)), 0, [], []
    for element in template.iter(f"{space}S"):
        time = int(element.get("t", time))
        for _ in range(int(element.get("r", 0)) + 1):
            starts.append(Fraction(time, scale))
            time += int(element.get("d"))
            ends.append(Fraction(time, scale))
    real = [part.stretch.start for part in rendition.read]
    if len(starts) != len(real) or any(abs(listed - time) > Fraction(2, 1000) for listed, time in zip(starts, real)):
        yield f"segments at {[float(time) for time in starts]}, really {[round(float(time), 3) for time in real]}"
    if ends and abs(ends[-1] - rendition.end) > rendition.step:
        yield f"the end is {float(ends[-1])} s, really {float(rendition.end):.3f} s"
    names = [template.get("media").replace("$Number%05d$", f"{number + 1:05}") for number in range(len(starts))]
    if names != [part.path for part in rendition.parts]:
        yield f"segments {names[:2]}"
    if one.get("codecs") != rendition.track.codec:
        yield f"codecs {one.get('codecs')}, really {rendition.track.codec}"
    sequence = rendition.track.sequence
    if sequence and (one.get("width"), one.get("height")) != (str(sequence.width), str(sequence.height)):
        yield f"size {one.get('width')}x{one.get('height')}"


@rule("V5", MUST, "Every file of the folder is used", "paths of the playlists")
def used(show):
    paths = {show.main, show.main.removesuffix(".m3u8") + ".mpd"}
    for rendition in show.variants + show.audio + show.i_frames:
        paths.add(rendition.path)
        for part in rendition.parts:
            paths |= {part.path, resolve(rendition.path, part.listed.map) if part.listed.map else part.path}
    for path in sorted(set(show.files) - paths):
        yield path


@rule("V6", SHOULD, "Each AAC frame lasts 1024 samples", "durations of samples, the last one of a track excepted; "
      "steps "
      "of PES packets, to two ticks")
def audio_frames(show):
    for sound in show.sounds:
        if sound.track.codec != "mp4a.40.2" or not sound.track.sample_rate:
            continue
        usual, times = Fraction(1024, sound.track.sample_rate), [unit.decode for unit in sound.units]
        allowed = Fraction(2, sound.track.timescale)
        wrong = [after - before for before, after in zip(times, times[1:]) if abs(after - before - usual) > allowed]
        if wrong:
            samples = float(wrong[0] * sound.track.sample_rate)
            yield f"{sound.path}: {len(wrong)} frames, such as one of {samples:.1f} samples"


@rule("V7", MUST, "Parameter sets in samples are those of the sample description", "NAL units of key frames in fMP4")
def parameter_sets(show):
    for video in show.videos:
        for part in video.read:
            track = part.stretch.track
            kinds = (32, 33, 34) if video.is_hevc else (7, 8)
            if track.is_transport:
                continue
            for unit in part.stretch.units:
                other = [nal for nal in unit.nals if unit_type(nal, video.is_hevc) in kinds and nal not in track.sets]
                if other:
                    yield f"{part.path}: {float(unit.presentation):.3f} s"
                    break


@rule("V8", MUST, "Pictures are decoded before they are shown, in the order of decode times", "all samples of variants")
def order(show):
    for video in show.videos:
        for part in video.read:
            late = [unit for unit in part.stretch.units if unit.decode > unit.presentation + shift_of(part)]
            if late:
                yield f"{part.path}: {len(late)} pictures"


def shift_of(part):
    """An edit list moves presentation times only."""


    return boxes.initialization(part.section).shift if part.section else 0
