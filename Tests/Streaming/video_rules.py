# SPDX-License-Identifier: GPL-2.0-or-later
"""Sections 1 and 6: video and trick play."""

from fractions import Fraction

from media import has_captions, is_idr, is_intra, messages, sei, unit_type
from rules import MAY, MUST, SHOULD, inapplicable, rule, unchecked

H264, HEVC = ("avc1", "avc3"), ("hvc1", "hev1")
# The largest frame and the most luma samples, or macroblocks, per second: H.264 Table A-1, HEVC Tables A.8 and A.9.
H264_LEVELS = [(10, 99, 1485), (11, 396, 3000), (12, 396, 6000), (13, 396, 11880), (20, 396, 11880), (21, 792, 19800),
               (22, 1620, 20250), (30, 1620, 40500), (31, 3600, 108000), (32, 5120, 216000), (40, 8192, 245760),
               (41, 8192, 245760), (42, 8704, 522240), (50, 22080, 589824), (51, 36864, 983040), (52, 36864, 2073600),
               (60, 139264, 4177920), (61, 139264, 8355840), (62, 139264, 16711680)]
HEVC_LEVELS = [(30, 36864, 552960), (60, 122880, 3686400), (63, 245760, 7372800), (90, 552960, 16588800),
               (93, 983040, 33177600), (120, 2228224, 66846720), (123, 2228224, 133693440), (150, 8912896, 267386880),
               (153, 8912896, 534773760), (156, 8912896, 1069547520), (180, 35651584, 1069547520),
               (183, 35651584, 2139095040), (186, 35651584, 4278190080)]
RATES = [Fraction(24000, 1001), 24, 25, Fraction(30000, 1001), 30, 50, Fraction(60000, 1001), 60]
PQ, HLG, BT2020 = 16, 18, 9


def described(show):
    """The variants, each with the sequence parameter sets of its tracks."""
    for video in show.videos:
        for track in video.tracks:
            if track.sequence:
                yield video, track, track.sequence


def is_h264(track):
    return track.entry in H264


def frame_rate(video):
    return 1 / video.step if video.step else Fraction(0)


def is_hdr(rendition):
    return any(track.sequence and track.sequence.transfer in (PQ, HLG) for track in rendition.tracks)


@rule("1.1", MUST, "Video is H.264, HEVC, Dolby Vision or AV1", "sample entries, stream types")
def codecs(show):
    for video in show.videos:
        if video.track.entry not in H264 + HEVC + ("dvh1", "dvhe", "av01"):
            yield f"{video.path}: {video.track.entry}"


@rule("1.2", MUST, "H.264 is in fragmented MP4 or transport streams", "the first bytes of every segment of a variant")
def container(show):
    for variant in show.variants:
        for part in variant.parts:
            if part.data is not None and part.data[:1] != b"\x47" and part.data[4:8] not in (b"styp", b"moof", b"sidx",
                                                                                             b"emsg"):
                yield f"{part.path} is neither"


@rule("1.3a", SHOULD, "Some H.264 variants are at most High Profile, level 4.1", "sequence parameter sets")
def some_h264(show):
    levels = [sequence for _, track, sequence in described(show) if is_h264(track)]
    if levels and not any(sequence.profile <= 100 and sequence.level <= 41 for sequence in levels):
        yield f"the lowest level is {min(sequence.level for sequence in levels) / 10}"


@rule("1.3b", MUST, "H.264 is at most High Profile, level 5.2 (iOS 6.0, tvOS 5.1, macOS 5.0)",
      "sequence parameter sets")
def all_h264(show):
    for video, track, sequence in described(show):
        if is_h264(track) and (sequence.profile > 100 or sequence.level > 52):
            yield f"{video.path}: profile {sequence.profile}, level {sequence.level / 10}"


@rule("1.4", SHOULD, "H.264 has High Profile rather than Main or Baseline", "sequence parameter sets")
def high(show):
    for video, track, sequence in described(show):
        if is_h264(track) and sequence.profile < 100:
            yield f"{video.path}: profile {sequence.profile}"


@rule("1.5", MUST, "HEVC is in fragmented MP4", "stream types of transport streams")
def hevc_container(show):
    for video in show.videos:
        if video.track.is_transport and video.is_hevc:
            yield f"{video.path} has HEVC in a transport stream"


@rule("1.6a", SHOULD, "Some HEVC variants are at most Main 10, level 4.0, Main tier", "sequence parameter sets")
def some_hevc(show):
    levels = [sequence for _, track, sequence in described(show) if track.entry in HEVC]
    if levels and not any(one.profile <= 2 and one.level <= 120 and not one.is_high_tier for one in levels):
        yield f"the lowest level is {min(sequence.level for sequence in levels) / 30}"


@rule("1.6b", MUST, "HEVC is at most Main 10, level 5.1, High tier", "sequence parameter sets")
def all_hevc(show):
    for video, track, sequence in described(show):
        if track.entry in HEVC and (sequence.profile > 2 or sequence.level > 153):
            yield f"{video.path}: profile {sequence.profile}, level {sequence.level / 30}"


@rule("1.7", MUST, "HDR in HEVC is HDR10, HLG or Dolby Vision", "with PQ or HLG: HEVC, 10 bits, primaries and matrix "
      "of BT.2020 (H.273)")
def dynamic_range(show):
    for video, track, one in described(show):
        if one.transfer in (PQ, HLG) and (is_h264(track) or one.depth != 10 or (one.primaries, one.matrix) != (BT2020,
                                                                                                               9)):
            yield f"{video.path}: {track.entry}, {one.depth} bits, primaries {one.primaries}, matrix {one.matrix}"


def is_static_metadata(message):
    return message[0] in (137, 144)


@rule("1.8", SHOULD, "The static metadata of HDR10 is in hvcC and not in samples", "SEI messages 137 and 144 in both")
def static_metadata(show):
    for video in show.videos:
        if video.is_hevc and is_hdr(video) and any(track.sequence.transfer == PQ for track in video.tracks):
            if any(is_static_metadata(message) for unit in video.units for message in sei(unit, True)):
                yield f"{video.path}: in samples"


inapplicable("1.9", MUST, "Dolby Vision has profile 5 and at most level 7", "vatoolbox writes none; 1.1 and `CODECS` "
             "tell")


@rule("1.10", SHOULD, "Parameter sets are in the sample descriptions: avc1, hvc1", "sample entries of fMP4")
def sample_entries(show):
    for video in show.videos:
        if not video.track.is_transport and video.track.entry in ("avc3", "hev1"):
            yield f"{video.path}: {video.track.entry}"


def needed_level(track, sequence, rate):
    if is_h264(track):
        size = -(-sequence.width // 16) * -(-sequence.height // 16)
        levels = H264_LEVELS
    else:
        size, levels = sequence.width * sequence.height, HEVC_LEVELS
    fitting = [(level, limits) for level, *limits in levels if size <= limits[0] and size * rate <= limits[1]]
    # Levels with the same limits differ in their bitrate only.
    return max((level for level, limits in fitting if limits == fitting[0][1]), default=255)


@rule("1.11", SHOULD, "The level is no higher than the size and the frame rate need", "H.264 Table A-1, HEVC Table A.8")
def level(show):
    for video, track, sequence in described(show):
        needed = needed_level(track, sequence, frame_rate(video) * Fraction(999, 1000))
        if sequence.level > needed:
            yield f"{video.path}: level_idc {sequence.level} where {needed} is enough"


@rule("1.12", SHOULD, "Some video is H.264", "sample entries, stream types")
def some_video_is_h264(show):
    if show.videos and not any(is_h264(video.track) for video in show.videos):
        yield "no variant is H.264"


@rule("1.13", SHOULD, "There is an IDR picture every two seconds", "NAL unit types and times of all access units")
def idr_interval(show):
    for video in show.videos:
        times = video.key_times() + [video.end]
        longest = max((after - before for before, after in zip(times, times[1:])), default=0)
        if longest > 2 + video.step / 2:
            yield f"{video.path}: {float(longest):.3f} s without an IDR picture"


@rule("1.14", MUST, "Interlaced sources are deinterlaced", "frame_mbs_only_flag, general_progressive_source_flag; "
      "whether the pictures show comb lines is not checked")
def progressive(show):
    for video, _, sequence in described(show):
        if not sequence.is_progressive:
            yield f"{video.path} is coded as interlaced"


unchecked("1.15", SHOULD, "30i sources become 60p, not 30p", "the source is unknown")
inapplicable("1.16", SHOULD, "Live video from NTSC or ATSC has 60 or 59.94 fps", "files, not live")
inapplicable("1.17", SHOULD, "Live video from PAL has 50 fps", "files, not live")


@rule("1.18", SHOULD, "VOD has one of 23.976, 24, 25, 29.97, 30, 50, 59.94 and 60 fps",
      "the median step of the times; whether it is that of the source is not checked")
def usual_rate(show):
    for video in show.videos:
        rate = frame_rate(video)
        if not any(abs(rate / usual - 1) < Fraction(1, 2500) for usual in RATES):
            yield f"{video.path}: {float(rate):.3f} fps"


@rule("1.19", MUST, "No frame rate is above 60 fps", "the median step of the times")
def highest_rate(show):
    for video in show.videos:
        if frame_rate(video) > Fraction(601, 10):
            yield f"{video.path}: {float(frame_rate(video)):.3f} fps"


@rule("1.20", SHOULD, "HDR is also there with at most 30 fps (tvOS: MUST)", "frame rates of variants with PQ or HLG")
def slow_hdr(show):
    rates = [frame_rate(video) for video in show.videos if is_hdr(video)]
    if rates and min(rates) > Fraction(301, 10):
        yield f"the lowest rate is {float(min(rates)):.3f} fps"


@rule("1.21", SHOULD, "Streams have one colour space", "the colour primaries and matrices of all variants of one codec "
      "and range")
def colour_space(show):
    found = {}
    for _, track, one in described(show):
        found.setdefault((is_h264(track), one.transfer in (PQ, HLG)), set()).add((one.primaries, one.matrix))
    for spaces in found.values():
        if len(spaces) > 1:
            yield f"primaries and matrices {sorted(spaces)}"


unchecked("1.22", SHOULD, "VOD keeps the colour space of the material", "the source is unknown; tests of `encode` "
          "compare it")


@rule("1.23", SHOULD, "Each codec has all bandwidths (AirPlay: MUST)", "the resolutions of the variants of each codec")
def all_bandwidths(show):
    sizes = {}
    for video in show.videos:
        sizes.setdefault(is_h264(video.track), set()).add(video.tag.get("RESOLUTION"))
    if len(sizes) > 1 and sizes[True] != sizes[False]:
        yield f"H.264 {sorted(sizes[True], key=str)}, HEVC {sorted(sizes[False], key=str)}"


@rule("1.24", MUST, "There are SDR streams", "transfer functions of sequence parameter sets")
def standard_range(show):
    if show.videos and all(is_hdr(video) for video in show.videos):
        yield "all variants have PQ or HLG"


inapplicable("1.25", MAY, "Tables of possible bit rates", "examples, not a requirement")


def deviation(declared, measured):
    return abs(measured - declared) / declared if declared else Fraction(1)


@rule("1.26", MUST, "The average bit rate is within 10 % of AVERAGE-BANDWIDTH",
      "bytes of all segments over EXTINF, of a variant and its audio")
def average(show):
    for variant in show.variants:
        declared, measured = int(variant.tag.get("AVERAGE-BANDWIDTH", 0)), show.measured(variant)[1]
        if declared and deviation(declared, measured) > Fraction(1, 10):
            yield f"{variant.path}: {declared} declared, {float(measured):.0f} measured"


@rule("1.27", MUST, "The peak bit rate is within 10 % of BANDWIDTH", "the highest of successive segments with 0.5 to "
      "1.5 target durations, of a variant and its audio")
def peak(show):
    for variant in show.variants:
        declared, measured = int(variant.tag.get("BANDWIDTH", 0)), show.measured(variant)[0]
        if declared and deviation(declared, measured) > Fraction(1, 10):
            yield f"{variant.path}: {declared} declared, {float(measured):.0f} measured"


inapplicable("1.28", MUST, "The average bit rate of live content is below 110 % of AVERAGE-BANDWIDTH",
             "files, not live")
inapplicable("1.29", MUST, "The peak bit rate of live content is below 125 % of BANDWIDTH", "files, not live")


@rule("1.30", SHOULD, "The peak bit rate is at most 200 % of the average", "both as measured, of a variant and its "
      "audio")
def ratio_of_peak(show):
    for variant in show.variants:
        highest, usual = show.measured(variant)
        if highest > 2 * usual:
            yield f"{variant.path}: {float(highest):.0f} to {float(usual):.0f}"


inapplicable("1.31", MAY, "Variants differ in their frame rates", "a permission")


@rule("1.32", SHOULD, "The first variant has 2000 kbit/s (iOS: 730 kbit/s for cellular delivery)",
      "it is the one nearest to it")
def default_variant(show):
    rates = [int(variant.tag.get("AVERAGE-BANDWIDTH", 0)) for variant in show.videos]
    sounds = max((sound.average for sound in show.sounds), default=0)
    distances = [abs(rate - sounds - 2_000_000) for rate in rates]
    if distances and distances[0] > min(distances) + 1000:
        yield f"it has {rates[0]} bit/s"


@rule("1.33", SHOULD, "All variants have the same aspect ratio", "RESOLUTION, apart from rounding to even numbers")
def aspect_ratio(show):
    sizes = [tuple(map(int, tag["RESOLUTION"].split("x"))) for tag in show.multivariant.variants if "RESOLUTION" in tag]
    for width, height in sizes[1:]:
        first = sizes[0]
        # A side that is off by two pixels changes the product by twice the other side.
        if abs(first[0] * height - first[1] * width) > 2 * max(first) + 2 * max(width, height):
            yield f"{width}x{height} beside {first[0]}x{first[1]}"


@rule("1.34", SHOULD, "Some UHD variants have at most 15 Mbit/s", "BANDWIDTH of variants from 3840 pixels on")
def ultra_hd(show):
    rates = [int(tag["BANDWIDTH"]) for tag in show.multivariant.variants
             if int(tag.get("RESOLUTION", "0x0").split("x")[0]) >= 3840 and "BANDWIDTH" in tag]
    if rates and min(rates) > 15_000_000:
        yield f"the lowest has {min(rates)} bit/s"


@rule("1.35", SHOULD, "HDR10 has the mastering display and the content light level",
      "SEI messages 137 and 144 in hvcC or samples")
def light_levels(show):
    for video in show.videos:
        for track in video.tracks:
            if track.sequence and track.sequence.transfer == PQ:
                stored = [one for unit in track.sets if unit_type(unit, True) == 39 for one in messages(unit, True)]
                stored += [one for unit in video.units for one in sei(unit, True)]
                missing = {137, 144} - {kind for kind, _ in stored}
                if missing:
                    yield f"{video.path}: no SEI messages {sorted(missing)}"


inapplicable("1.36", MUST, "MV-HEVC is for stereo video only", "vatoolbox writes none")
inapplicable("1.37", MUST, "AV1 is at most level 6.2", "vatoolbox writes none")
inapplicable("1.38", MUST, "Encrypted fMP4 has senc, or saiz and saio (AirPlay)", "vatoolbox does not encrypt")


# Trick play

@rule("6.1", MUST, "There are I-frame playlists", "EXT-X-I-FRAME-STREAM-INF")
def has_i_frames(show):
    if show.videos and not show.i_frames:
        yield "there is none"


@rule("6.2", SHOULD, "I-frame renditions have one frame per second", "their EXTINF")
def dense(show):
    for trick in show.i_frames:
        longest = max((part.listed.duration for part in trick.parts), default=0)
        if longest > Fraction(21, 20):
            yield f"{trick.path}: a frame lasts {float(longest):.3f} s"


inapplicable("6.3", MAY, "I-frames of the normal content are used", "a permission, which vatoolbox uses")


@rule("6.4", SHOULD, "With several bit rates at a size, the I-frames are those of the lowest",
      "the segments of the I-frames are those of that variant")
def source_of_i_frames(show):
    for trick in show.tricks:
        same = [video for video in show.videos if video.tag.get("RESOLUTION") == trick.tag.get("RESOLUTION")]
        lowest = min(same, key=lambda video: video.average, default=None)
        tricks = [one for one in show.tricks if one.tag.get("RESOLUTION") == trick.tag.get("RESOLUTION")]
        used = {part.path for one in tricks for part in one.parts}
        if len(same) > 1 and not used & {part.path for part in lowest.parts}:
            yield f"{trick.path} has no frames of {lowest.path}"


@rule("6.5", SHOULD, "The bit rate of I-frames is that of the video times their rate, divided by eight",
      "no more than twice that, for the variant of the same size")
def rate_of_i_frames(show):
    for trick in show.tricks:
        same = [video for video in show.videos if video.tag.get("RESOLUTION") == trick.tag.get("RESOLUTION")]
        if same and trick.playlist.duration:
            rate = len(trick.parts) / trick.playlist.duration
            wanted = max(video.average for video in same) * rate / 8
            if trick.average > 2 * wanted:
                yield f"{trick.path}: {float(trick.average):.0f} bit/s, where {float(wanted):.0f} are recommended"


@rule("6.6", SHOULD, "There are several I-frame playlists with different bit rates", "BANDWIDTH")
def several_i_frames(show):
    rates = {tag.get("BANDWIDTH") for tag in show.multivariant.i_frames}
    if show.i_frames and len(rates) < 2:
        yield f"there is {len(rates)}"


inapplicable("6.7", MAY, "Tables of possible bit rates of I-frames", "examples, not a requirement")


@rule("6.8", MUST, "I-frame playlists have EXT-X-I-FRAMES-ONLY", "tags")
def i_frames_only(show):
    for trick in show.i_frames:
        if not trick.playlist.is_i_frames:
            yield trick.path


@rule("6.9", MUST, "The peak bit rate of I-frames is calculated as HLS defines it",
      "within 10 % of the highest of successive byte ranges with 0.5 to 1.5 target durations")
def peak_of_i_frames(show):
    for trick in show.tricks:
        declared = int(trick.tag.get("BANDWIDTH", 0))
        if declared and deviation(declared, trick.peak) > Fraction(1, 10):
            yield f"{trick.path}: {declared} declared, {float(trick.peak):.0f} measured"


@rule("6.10", MUST, "I-frame segments of fMP4 include their moof", "the first box of each byte range")
def moof(show):
    for trick in show.i_frames:
        for part in trick.parts:
            if part.section is not None and part.data is not None and part.data[4:8] != b"moof":
                yield f"{trick.path}: {part.listed.bytes} begins with {part.data[4:8]}"


inapplicable("6.11", MUST, "Live I-frame playlists have the target duration of the others", "files, not live")
inapplicable("6.12", MAY, "I-frame playlists of VOD have other target durations", "a permission")


@rule("6.13", MUST, "Each video codec has I-frames of that codec or mjpg (AirPlay)", "sample entries of both")
def codec_of_i_frames(show):
    codecs = {track.entry for trick in show.tricks for track in trick.tracks}
    for video in show.videos:
        if show.tricks and video.track.entry not in codecs:
            yield f"{video.path}: {video.track.entry}, I-frames have {sorted(codecs)}"


@rule("6.14", SHOULD, "Some trick play content is H.264", "sample entries, stream types")
def h264_i_frames(show):
    if show.tricks and not any(is_h264(trick.track) for trick in show.tricks):
        yield "no I-frame playlist is H.264"


@rule("6.15", SHOULD, "HDR trick play is there at all resolutions", "RESOLUTION of variants and of I-frames with PQ or "
      "HLG")
def hdr_i_frames(show):
    normal = {video.tag.get("RESOLUTION") for video in show.videos if is_hdr(video)}
    tricks = {trick.tag.get("RESOLUTION") for trick in show.tricks if is_hdr(trick)}
    if tricks and normal - tricks:
        yield f"none for {sorted(normal - tricks)}"


@rule("6.16", MUST, "There are SDR trick play streams", "transfer functions of sequence parameter sets")
def sdr_i_frames(show):
    if show.tricks and all(is_hdr(trick) for trick in show.tricks):
        yield "all have PQ or HLG"


inapplicable("6.17", MAY, "I-frames are mjpg", "a permission; vatoolbox writes none")
inapplicable("6.18", SHOULD, "Trick play is monoscopic (visionOS)", "vatoolbox writes no stereo video")
inapplicable("6.19", MAY, "An I-frame playlist has a height of 160 pixels (visionOS)", "a permission")


@rule("RFC 4.3.3.6b", MUST, "Each segment of an I-frame playlist is one I-frame",
      "each byte range has exactly one access unit, an IDR or CRA picture, complete and at the time that EXTINF says")
def one_i_frame(show):
    for trick in show.tricks:
        time = trick.read[0].stretch.units[0].presentation
        for part in trick.parts:
            units = part.stretch.units if part.stretch else []
            whole = [unit for unit in units if is_intra(unit, trick.is_hevc)]
            if len(units) != 1 or len(whole) != 1:
                yield (f"{trick.path}: {part.listed.uri} {part.listed.bytes}: {len(units)} pictures, "
                       f"{len(whole)} of them I-frames")
            elif abs(whole[0].presentation - time) > trick.parts[0].listed.duration / 1000 + Fraction(1, 1000):
                yield (f"{trick.path}: {part.listed.uri} {part.listed.bytes} is at {float(whole[0].presentation):.3f} "
                       f"s, not {float(time):.3f} s")
            time += part.listed.duration


def starts_with_idr(part, is_hevc):
    return is_idr(part.stretch.units[0], is_hevc)


def caption_state(show):
    """Whether the video has captions, for each variant."""
    return [(video, any(has_captions(unit, video.is_hevc) for unit in video.units)) for video in show.videos]
