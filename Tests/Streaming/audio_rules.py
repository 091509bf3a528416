# SPDX-License-Identifier: GPL-2.0-or-later
"""Sections 2 to 5: audio, inserted media, captions and subtitles."""

from rules import MAY, MUST, SHOULD, inapplicable, rule, unchecked
from video_rules import caption_state

AAC = ("mp4a.40.2", "mp4a.40.5", "mp4a.40.29")
STEREO = AAC + ("mp4a.40.42", "alac", "fLaC", "ac-3", "ec-3")
SURROUND = ("mp4a.40.2", "mp4a.40.5", "alac", "fLaC", "ac-3", "ec-3")
NO_SUBTITLES = "vatoolbox writes no subtitles; a TYPE of SUBTITLES is reported by 5.2"
DESCRIPTION = "public.accessibility.describes-video"


def is_description(tag):
    return DESCRIPTION in tag.get("CHARACTERISTICS", "").split(",")


def tags(show, *kinds):
    return [tag for tag in show.multivariant.media if tag.get("TYPE") in kinds]


@rule("2.1", SHOULD, "Audio is an elementary stream or in fMP4", "the container of audio renditions")
def container(show):
    for sound in show.sounds:
        if sound.track.is_transport:
            yield f"{sound.path} is a transport stream"


@rule("2.2", MUST, "Stereo is AAC-LC, HE-AAC, xHE-AAC, ALAC, FLAC or a multichannel format",
      "sample entries, AAC configurations")
def stereo(show):
    for sound in show.sounds:
        if (sound.track.channels or 0) <= 2 and sound.track.codec not in STEREO:
            yield f"{sound.path}: {sound.track.codec}"


@rule("2.3", MUST, "There is stereo audio in AAC", "sample entries, channels; mono counts, because it plays as stereo")
def has_stereo_aac(show):
    if show.sounds and not any(sound.track.codec in AAC and (sound.track.channels or 9) <= 2 for sound in show.sounds):
        found = {f"{sound.track.codec} with {sound.track.channels} channels" for sound in show.sounds}
        yield f"there is {sorted(found)}"


@rule("2.4", SHOULD, "HE-AAC has at most 64 kbit/s", "the audio object type; bytes of all segments")
def high_efficiency(show):
    for sound in show.sounds:
        if sound.track.object_type in (5, 29) and sound.average > 64_000:
            yield f"{sound.path}: {float(sound.average):.0f} bit/s"


@rule("2.5", MUST, "Multichannel audio is AAC-LC, HE-AAC v1, ALAC, FLAC, AC-3 or E-AC-3", "sample entries, channels")
def multichannel(show):
    for sound in show.sounds:
        if (sound.track.channels or 0) > 2 and sound.track.codec not in SURROUND:
            yield f"{sound.path}: {sound.track.codec}"


@rule("2.6", MUST, "Beside E-AC-3 there is AC-3 for devices without E-AC-3", "sample entries")
def has_ac3(show):
    found = {sound.track.codec for sound in show.sounds}
    if "ec-3" in found and "ac-3" not in found:
        yield "there is only E-AC-3"


inapplicable("2.7", MAY, "Stereo is there at several bit rates", "a permission")
inapplicable("2.8", MAY, "A multichannel codec is there at several bit rates", "a permission")


@rule("2.9", SHOULD, "AAC has 32 to 160 kbit/s for stereo, 320 for 5.1", "bytes of all segments; a tenth more is "
      "allowed, for the container")
def bit_rates(show):
    for sound in show.sounds:
        low, high = (32_000, 160_000) if (sound.track.channels or 0) <= 2 else (0, 320_000)
        if sound.track.codec == "mp4a.40.2" and not low * 0.9 <= sound.average <= high * 1.1:
            yield f"{sound.path}: {float(sound.average):.0f} bit/s, {sound.track.channels} channels"


@rule("2.10", SHOULD, "The channel layout does not change (AirPlay; otherwise MAY)", "channels of all segments")
def one_layout(show):
    for sound in show.sounds:
        counts = {part.stretch.track.channels for part in sound.read}
        if len(counts) > 1:
            yield f"{sound.path}: {sorted(counts)} channels"


@rule("2.11", MUST, "A change of the layout is a discontinuity", "channels of successive segments")
def layouts(show):
    for sound in show.sounds:
        for before, after in zip(sound.read, sound.read[1:]):
            if before.stretch.track.channels != after.stretch.track.channels and not after.listed.is_discontinuity:
                yield f"{after.path}: {after.stretch.track.channels} channels after {before.stretch.track.channels}"


@rule("2.12", MUST, "Audio description has CHARACTERISTICS=\"public.accessibility.describes-video\"",
      "renditions whose NAME says that they are descriptions; others cannot be known")
def characteristics(show):
    for tag in tags(show, "AUDIO"):
        if any(word in tag.get("NAME", "").lower() for word in ("audio description", "described",
                                                                "dvs")) and not is_description(tag):
            yield tag["NAME"]


@rule("2.13", MUST, "Audio description has AUTOSELECT=YES", "attributes")
def autoselect(show):
    for tag in tags(show, "AUDIO"):
        if is_description(tag) and tag.get("AUTOSELECT") != "YES":
            yield tag.get("NAME", "")


@rule("2.14", SHOULD, "The name of audio description says so", "attributes: the name contains \"descri\" or \"DVS\"")
def name_of_description(show):
    for tag in tags(show, "AUDIO"):
        if is_description(tag) and not any(word in tag.get("NAME", "").lower() for word in ("descri", "dvs")):
            yield tag.get("NAME", "")


@rule("2.15", MUST, "Alternative audio has the duration of the content", "times of the first and last samples, to one "
      "picture or audio frame")
def alternative_audio(show):
    whole = [video.end for video in show.videos] or [sound.end for sound in show.sounds]
    for sound in show.sounds[1:]:
        if sound.end < max(whole) - show.tolerance:
            yield f"{sound.path} ends at {float(sound.end):.3f} s, the content at {float(max(whole)):.3f} s"


inapplicable("2.16", MAY, "Alternative audio reuses segments of the regular one", "a permission")


@rule("2.17", MUST, "A segment has at most one audio stream", "tracks of the initialization sections and program maps")
def one_stream(show):
    for rendition in show.media:
        for part in rendition.read:
            if part.stretch.tracks.count(b"soun") > 1:
                yield f"{part.path} has {part.stretch.tracks.count(b'soun')}"


unchecked("2.18", SHOULD, "Loudness is managed, unless all content has the same", "other content is unknown")


@rule("2.19", SHOULD, "Audio in fMP4 has a loudness box", "`ludt` in the initialization sections")
def loudness(show):
    for sound in show.sounds:
        if not sound.track.is_transport and not any(b"ludt" in (part.section or b"") for part in sound.parts):
            yield f"{sound.path} has none"


unchecked("2.20", SHOULD, "Without a loudness box, dialnorm states the loudness of Dolby audio",
          "Dolby audio is only copied")
unchecked("2.21", SHOULD, "Without a loudness box, AAC states its loudness",
          "FFmpeg's encoder writes no such element; 2.19 warns")
inapplicable("2.22", MUST, "xHE-AAC has loudness metadata", "vatoolbox writes none")
unchecked("2.23", MUST, "Loudness values are those of the content", "there are none; see 2.19")


@rule("2.24", MUST, "HE-AAC in fMP4 signals SBR explicitly", "the audio object type of the configuration is that in "
      "CODECS")
def explicit_sbr(show):
    for variant in show.variants:
        names = variant.tag.get("CODECS", "")
        kinds = {sound.track.object_type for sound in show.group(variant) if sound.track
                 and not sound.track.is_transport}
        for kind in (5, 29):
            if f"mp4a.40.{kind}" in names.split(",") and kind not in kinds:
                yield f"{variant.path}: CODECS={names}, configurations have the types {sorted(kinds, key=str)}"


@rule("2.25", MUST, "xHE-AAC, ALAC and FLAC are in fMP4", "CODECS of variants with audio in transport streams")
def lossless(show):
    for variant in show.variants:
        names = set(variant.tag.get("CODECS", "").split(",")) & {"alac", "fLaC", "mp4a.40.42"}
        if names and any(sound.track and sound.track.is_transport for sound in show.group(variant)):
            yield f"{variant.path}: {sorted(names)}"


@rule("2.26", SHOULD, "Beside other non-Dolby multichannel audio there is multichannel AAC", "sample entries, channels")
def multichannel_aac(show):
    found = {sound.track.codec for sound in show.sounds if (sound.track.channels or 0) > 2}
    if found & {"alac", "fLaC"} and not found & set(AAC):
        yield f"there is {sorted(found)}"


@rule("2.27", MUST, "Audio description has a LANGUAGE", "attributes")
def language_of_description(show):
    for tag in tags(show, "AUDIO"):
        if is_description(tag) and not tag.get("LANGUAGE"):
            yield tag.get("NAME", "")


inapplicable("2.28", MAY, "Enhanced speech has a characteristic", "a permission")

for number, level, text in (
        ("3.1", MAY, "Ads are in media playlists or interstitials"), ("3.2", SHOULD,
                                                                      "Ads have the codecs of the content"),
        ("3.3", SHOULD, "Ads have the aspect ratio of the content"), ("3.4", SHOULD,
                                                                      "Ads have at most the bandwidth of the variant"),
        ("3.5", SHOULD, "Ads have a similar frame rate (AirPlay)")):
    inapplicable(number, level, text, "vatoolbox inserts nothing")


@rule("4.1", SHOULD, "There are captions", "EXT-X-MEDIA of the types CLOSED-CAPTIONS and SUBTITLES")
def has_captions(show):
    if not tags(show, "CLOSED-CAPTIONS", "SUBTITLES"):
        yield "there are none"


inapplicable("4.2", MAY, "Captions are CEA-608, CEA-708, WebVTT or IMSC1", "a list; see 4.3 and 5.2")


@rule("4.3", MUST, "Closed captions are in the video segments", "with EXT-X-MEDIA: SEI messages with the data of A/53 "
      "in every variant")
def captions_are_there(show):
    if tags(show, "CLOSED-CAPTIONS"):
        for video, has in caption_state(show):
            if not has:
                yield f"{video.path} has none"


@rule("4.4", MUST, "Closed captions are declared, with a LANGUAGE", "EXT-X-MEDIA where there are SEI messages with the "
      "data of A/53")
def captions_are_declared(show):
    declared = tags(show, "CLOSED-CAPTIONS")
    for video, has in caption_state(show):
        if has and not declared:
            yield f"{video.path} has undeclared captions"
    for tag in declared:
        if not tag.get("LANGUAGE"):
            yield f"{tag.get('NAME')} has no LANGUAGE"


for number, level, text in (
        ("4.5", MUST, "Subtitles for the deaf have their characteristics"), ("4.6", MUST,
                                                                             "Subtitles for the deaf have "
                                                                             "AUTOSELECT=YES"),
        ("4.7", MUST, "Subtitles have a LANGUAGE"), ("4.8", MAY, "A reference to 2.12 to 2.16"), ("5.1", MAY,
                                                                                                  "There are "
                                                                                                  "subtitles"),
        ("5.3", MUST, "WebVTT has X-TIMESTAMP-MAP"), ("5.4", MUST, "IMSC1 is in fMP4"),
        ("5.5", MUST, "Subtitles exist for the whole content"), ("5.6", MUST,
                                                                 "Live subtitles have the target duration of the "
                                                                 "media"),
        ("5.7", MAY, "Subtitles of VOD have a longer target duration"), ("5.8", MUST,
                                                                         "Regular subtitles contain the forced ones"),
        ("5.9", SHOULD, "Forced subtitles replace burnt-in text"), ("5.10", SHOULD,
                                                                    "CODECS names the kind of subtitles"),
        ("5.11", SHOULD, "Forced subtitles have AUTOSELECT=YES")):
    inapplicable(number, level, text, NO_SUBTITLES)


@rule("5.2", MUST, "Subtitles are WebVTT or IMSC1 in fMP4", "there are none: this judge cannot check any")
def subtitles(show):
    for tag in tags(show, "SUBTITLES"):
        yield f"{tag.get('NAME')}: this judge does not know subtitles"
