# SPDX-License-Identifier: GPL-2.0-or-later
"""Sections 9 to 16: multivariant playlists, delivery, protection."""

from fractions import Fraction

from rules import MAY, MUST, SHOULD, inapplicable, rule, unchecked
from video_rules import frame_rate, is_hdr

PLAIN_SUFFIXES = (".m3u8", ".mp4", ".m4s", ".ts", ".aac", ".vtt")


def missing(show, name, found, among=lambda tag: True):
    for tag in found:
        if among(tag) and name not in tag:
            yield f"{tag.get('URI')} has no {name}"


def has_video(show):
    videos = {video.path for video in show.videos}
    paths = {variant.tag["URI"]: variant.path for variant in show.variants}
    return lambda tag: paths.get(tag.get("URI")) in videos


@rule("9.1", MUST, "EXT-X-STREAM-INF has CODECS", "attributes")
def variant_codecs(show):
    yield from missing(show, "CODECS", show.multivariant.variants)


@rule("9.2", MUST, "EXT-X-STREAM-INF has RESOLUTION if there is video", "attributes")
def variant_resolution(show):
    yield from missing(show, "RESOLUTION", show.multivariant.variants, has_video(show))


@rule("9.3", MUST, "EXT-X-I-FRAME-STREAM-INF has CODECS", "attributes")
def i_frame_codecs(show):
    yield from missing(show, "CODECS", show.multivariant.i_frames)


@rule("9.4", MUST, "EXT-X-I-FRAME-STREAM-INF has RESOLUTION", "attributes")
def i_frame_resolution(show):
    yield from missing(show, "RESOLUTION", show.multivariant.i_frames)


def muxed(show):
    return [video for video in show.videos if any(b"soun" in part.stretch.tracks for part in video.read)]


@rule("9.5", SHOULD, "Video and audio are separate streams", "tracks of the segments of variants")
def separate(show):
    for video in muxed(show):
        yield video.path


@rule("9.6", MUST, "Multichannel audio is a separate stream", "variants with audio in their segments beside CHANNELS "
      "above 2")
def separate_multichannel(show):
    if any(int(tag.get("CHANNELS", "2").split("/")[0]) > 2 for tag in show.multivariant.media):
        for video in muxed(show):
            yield video.path


@rule("9.7", MUST, "Alternative audio is a separate stream", "variants with audio in their segments beside several "
      "EXT-X-MEDIA")
def separate_alternatives(show):
    if sum(tag.get("TYPE") == "AUDIO" for tag in show.multivariant.media) > 1:
        for video in muxed(show):
            yield video.path


inapplicable("9.8", MUST, "With several video angles, audio is separate", "vatoolbox writes one angle")


@rule("9.9", MUST, "There are several bit rates of video", "variants with different BANDWIDTH")
def several(show):
    rates = {tag.get("BANDWIDTH") for tag in show.multivariant.variants}
    if len(rates) < 2:
        yield f"there are {len(rates)}"


@rule("9.10", SHOULD, "HD has two variants of the highest resolution", "RESOLUTION from 720 lines on")
def highest_resolution(show):
    sizes = [tuple(map(int, tag["RESOLUTION"].split("x"))) for tag in show.multivariant.variants if "RESOLUTION" in tag]
    if sizes and max(sizes)[1] >= 720 and sizes.count(max(sizes)) < 2:
        yield f"one of {max(sizes)[0]}x{max(sizes)[1]}"


@rule("9.11", SHOULD, "With IDR pictures first, the multivariant playlist has EXT-X-INDEPENDENT-SEGMENTS", "tags")
def independent(show):
    if not show.multivariant.is_independent:
        yield show.main


@rule("9.12", MUST, "Without it, all video playlists have EXT-X-INDEPENDENT-SEGMENTS", "tags")
def independent_playlists(show):
    if not show.multivariant.is_independent:
        for video in show.videos:
            if not video.playlist.is_independent:
                yield video.path


@rule("9.13", MUST, "BANDWIDTH is the largest sum of peak bit rates of renditions that play together",
      "no less than the measured peaks of the variant and of its highest audio rendition, to a ten thousandth")
def bandwidth(show):
    for variant in show.variants:
        measured = show.measured(variant)[0]
        if int(variant.tag.get("BANDWIDTH", 0)) < measured * Fraction(9999, 10000):
            yield f"{variant.path}: {variant.tag.get('BANDWIDTH')}, the sum is {float(measured):.0f}"


@rule("9.14", MUST, "EXT-X-STREAM-INF has AVERAGE-BANDWIDTH", "attributes")
def has_average(show):
    yield from missing(show, "AVERAGE-BANDWIDTH", show.multivariant.variants)


@rule("9.15", MUST, "EXT-X-STREAM-INF with video has FRAME-RATE", "attributes")
def has_frame_rate(show):
    yield from missing(show, "FRAME-RATE", show.multivariant.variants, has_video(show))


@rule("9.16", MUST, "VIDEO-RANGE is there unless everything is SDR", "attributes; transfer functions of parameter sets")
def has_range(show):
    if any(is_hdr(rendition) for rendition in show.videos + show.tricks):
        yield from missing(show, "VIDEO-RANGE", show.multivariant.variants + show.multivariant.i_frames)


@rule("9.17", SHOULD, "Renditions of one language go from general to specific",
      "those without CHARACTERISTICS come first")
def ordered(show):
    seen = set()
    for tag in show.multivariant.media:
        key = (tag.get("TYPE"), tag.get("GROUP-ID"), tag.get("LANGUAGE"))
        if "CHARACTERISTICS" in tag:
            seen.add(key)
        elif key in seen:
            yield f"{tag.get('NAME')} comes after one with CHARACTERISTICS"


inapplicable("9.18", SHOULD, "EXT-X-CONTENT-STEERING has PATHWAY-ID", "vatoolbox writes none; RFC 4.1 reports the tag")


@rule("9.19", MUST, "SCORE is on every variant, or on none", "attributes")
def score(show):
    found = ["SCORE" in tag for tag in show.multivariant.variants]
    if any(found) and not all(found):
        yield f"on {sum(found)} of {len(found)}"


@rule("9.20", MUST, "No variant is audio alone (tvOS)", "tracks of the variants")
def audio_only(show):
    for variant in show.variants:
        if variant.track and variant.track.kind == "audio":
            yield variant.path


@rule("9.21", SHOULD, "A variant has at most 192 kbit/s (iOS: MUST if delivered over cellular networks)", "BANDWIDTH")
def cellular(show):
    rates = [int(tag.get("BANDWIDTH", 0)) for tag in show.multivariant.variants]
    if rates and min(rates) > 192_000:
        yield f"the lowest has {min(rates)} bit/s"


@rule("9.22", SHOULD, "For old devices on cellular networks, it is H.264 in a transport stream (iOS)",
      "the container of these variants")
def old_cellular(show):
    low = [video for video in show.videos if int(video.tag.get("BANDWIDTH", 0)) <= 192_000]
    if not any(video.track.is_transport and video.track.entry == "avc3" for video in low):
        yield "there is none"


@rule("9.23", SHOULD, "Each codec and frame rate has the full range of variants (AirPlay)",
      "as many variants for each rate of a codec; x, 2x and x/2 are one rate")
def full_range(show):
    counts = {}
    for video in show.videos:
        rate, factors = frame_rate(video), (Fraction(1, 2), 1, 2)
        same = [key for key in counts if key[0] == video.is_hevc and key[1]
                and any(abs(rate / key[1] - factor) < Fraction(1, 100) for factor in factors)]
        key = same[0] if same else (video.is_hevc, rate)
        counts[key] = counts.get(key, 0) + 1
    if len(set(counts.values())) > 1:
        yield ", ".join(f"{count} {'HEVC' if is_hevc else 'H.264'} at {float(rate):.3f} fps"
                        for (is_hevc, rate), count in counts.items())


inapplicable("9.24", SHOULD, "HDR is there as Dolby Vision and as HDR10 (AirPlay)", "vatoolbox writes no Dolby Vision")

unchecked("10.1", MUST, "Playlists are delivered with gzip", "a server's matter")
unchecked("10.2", SHOULD, "Streams have a failover", "a server's matter")
unchecked("10.3", SHOULD, "Media does not come from a local server", "an application's matter")


@rule("10.4", SHOULD, "Media types are the recommended ones", "the usual extension of every file, by which servers "
      "choose the type")
def extensions(show):
    for path in show.files:
        if not path.endswith(PLAIN_SUFFIXES + (".mpd",)):
            yield path


for number, level, text in (("11.1", SHOULD, "Multivariant playlists are delivered with TLS"),
                            ("11.2", SHOULD, "Media playlists are delivered with TLS"),
                            ("11.3", SHOULD, "Segments are delivered with TLS"),
                            ("12.1", MUST, "TLS is 1.2 or later with forward secrecy"),
                            ("12.2", MUST, "TLS uses no insecure primitives"), ("12.3", MUST,
                                                                                "Keys have 2048 or 256 bits"),
                            ("12.4", SHOULD, "URLs of segments are not static")):
    unchecked(number, level, text, "a server's matter")


@rule("11.4", SHOULD, "URLs of segments do not reveal the content", "the file names of segments are numbers; the "
      "folder has the name that the user chose")
def revealing(show):
    for rendition in show.variants + show.audio:
        for part in rendition.parts:
            if not part.path.split("/")[-1].split(".")[0].isdigit():
                yield part.path


for number, level, text in (("13.1", SHOULD, "Protection follows FairPlay Streaming"), ("13.2", MUST,
                                                                                        "The method of FPS is "
                                                                                        "SAMPLE-AES"),
                            ("13.3", MUST, "The key format of FPS is com.apple.streamingkeydelivery"),
                            ("13.4", SHOULD, "FPS does without IV"), ("13.7", MUST,
                                                                      "Common encryption has the pattern 1:9"),
                            ("13.8", MAY, "FPS uses ALLOWED-CPC"), ("13.9", MUST,
                                                                    "Common encryption does not depend on the content"),
                            ("13.10", MAY, "Clear and encrypted samples are mixed"),
                            ("13.11", MUST, "SAMPLE-AES-CTR is not used"), ("13.5", SHOULD,
                                                                            "HD has the HDCP level TYPE-0"),
                            ("13.6", SHOULD, "More than HD has the HDCP level TYPE-1")):
    inapplicable(number, level, text, "vatoolbox does not encrypt; RFC 4.1 reports EXT-X-KEY")
for number, level, text in (("14.1", MUST, "Delivery meets the server profile of rfc8216bis"),
                            ("14.2a", MUST, "The part target is at least the P95 round trip"),
                            ("14.2b", SHOULD, "It is three times that"), ("14.2c", SHOULD, "It is one second"),
                            ("14.3", MUST, "PART-HOLD-BACK is at least three part targets"),
                            ("14.4", SHOULD, "Long playlists offer delta updates"),
                            ("14.5", SHOULD, "Delta updates can skip date ranges")):
    inapplicable(number, level, text, "files, not low latency; RFC 4.1 reports its tags")
for number, level, text in (("15.1", MUST, "Live timelines agree for all participants"), ("15.2", MUST,
                                                                                          "VOD timelines agree"),
                            ("15.3", SHOULD, "Interstitials have equal durations")):
    inapplicable(number, level, text, "SharePlay: a matter of deliveries; one presentation has one timeline (8.7)")
for number, level, text in (("16.1", MUST, "Stereo video has REQ-VIDEO-LAYOUT"), ("16.2", MUST,
                                                                                  "Stereo video has vexu boxes"),
                            ("16.3", SHOULD, "Stereo video has parallax metadata"),
                            ("16.4", MUST, "Changes between stereo and mono are discontinuities"),
                            ("16.5", MUST, "Mono sections are declared with CH-MONO"),
                            ("16.6", SHOULD, "Stereo video has multichannel audio"), ("16.7", MUST,
                                                                                      "Stereo video is MV-HEVC")):
    inapplicable(number, level, text, "vatoolbox writes no stereo video")
