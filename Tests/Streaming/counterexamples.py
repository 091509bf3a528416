# SPDX-License-Identifier: GPL-2.0-or-later
"""The counter-examples, and the self-test that plants each of them."""

import re

import boxes
import rules
from faults import (FIRST, INIT, MAIN, MEDIA, SECOND, SOUND, SOUND_INIT, TRICK, TRICKS, VARIANT, VIDEO, append,
                    avc_level, both,
                    captions, change, colour, configuration, edit_sequence, entry_channels, field, first_unit,
                    hevc_tier,
                    last_dropped, later, line, movie, number_at, packet, rename, scaled, second_section, subtitles,
                    swap, table,
                    whole_segments, with_hevc, with_sound_track)
from presentation import Presentation

SOUND_INITS = "show/audio-*/init-1.mp4"
SMALL, SMALL_INIT = "show/90p/index.m3u8", "show/90p/init-1.mp4"
DESCRIBES = ',CHARACTERISTICS="public.accessibility.describes-video"'


def interlaced(raw, _):
    raw[6] = raw[6] & 0x3F | 0x40
    return bytes(raw)


def other_set(data):
    """Changes a byte of the picture parameter set in an initialization section."""
    unit = boxes.initialization(data).track.sets[-1]
    return data.replace(unit, unit[:2] + bytes([unit[2] ^ 1]) + unit[3:])


def rate(factor, paths=INIT):
    return field(paths, b"mdhd", 12, lambda scale: int(scale * factor))


def two_programs(body):
    return body + b"\0\x02\xf1\0"


def backwards(data):
    """The DTS of the first packet with both times moves behind its PTS."""
    place = re.search(rb"\x00\x00\x01\xe0..[\x80-\xbf]\xc0\x0a", data, re.DOTALL).end()
    return data[:place + 5] + bytes([data[place + 5] | 8]) + data[place + 6:]



def without_tail(files):
    files[SECOND] = files[SECOND][:-100]


def extra_file(files):
    files["show/180p/notes.m4s"] = b"\0"


def renamed(name):
    def apply(files):
        files[f"show/180p/{name}"] = files.pop(SECOND)
        swap(FIRST, "00002.m4s", name)(files)
    return apply


def muxed_with_surround(files):
    both(with_sound_track, swap(MAIN, 'CHANNELS="2"', 'CHANNELS="6"'))(files)


SECTION_1 = [
    ("1.1", "fmp4", rename(INIT, b"avc1", b"vp09")),
    ("1.2", "fmp4", change(SECOND, lambda data: b"\0\0\0\1" + data[4:8].replace(b"moof", b"\x09\xf0\0\0") + data[8:])),
    ("1.3a", "fmp4", avc_level(2, 51)),
    ("1.3b", "fmp4", avc_level(0, 110)),
    ("1.3b", "fmp4", avc_level(2, 60)),
    ("1.4", "fmp4", avc_level(0, 77)),
    ("1.5", "ts", packet("show/*p/*.ts", 4096, table(lambda body: body.replace(b"\x1b\xe1\0", b"\x24\xe1\0")), False)),
    ("1.6a", "hevc", hevc_tier(11, 153)),
    ("1.6b", "hevc", hevc_tier(11, 186)),
    ("1.6b", "hevc", hevc_tier(0, 4)),
    ("1.7", "hdr", colour(INIT, 0, 1)),
    ("1.8", "hdr", None),
    ("1.10", "fmp4", rename(INIT, b"avc1", b"avc3")),
    ("1.11", "switch", avc_level(2, 51)),
    ("1.11", "hevc", hevc_tier(11, 153)),
    ("1.12", "hevc", None),
    ("1.13", "fmp4", change(SECOND, first_unit(1, 5, 1))),
    ("1.14", "hevc", edit_sequence(INIT, interlaced)),
    ("1.18", "fmp4", rate(0.5)),
    ("1.19", "fmp4", rate(4)),
    ("1.20", "hdr", rate(2)),
    ("1.21", "hdr", colour(SMALL_INIT, 0, 1)),
    ("1.23", "fmp4", with_hevc),
    ("1.24", "hdr", None),
    ("1.26", "fmp4", swap(MAIN, r"(?<=AVERAGE-BANDWIDTH=)\d+", scaled(1.2))),
    ("1.27", "fmp4", swap(MAIN, r"(?<=INF:BANDWIDTH=)\d+", scaled(1.2))),
    ("1.30", "fmp4", append(SECOND, b"free", 900_000)),
    ("1.32", "fmp4", swap(MAIN, r"(#EXT-X-STREAM-INF[^\n]*\n[^\n]*\n)(#EXT-X-STREAM-INF[^\n]*\n[^\n]*\n)", r"\2\1")),
    ("1.33", "fmp4", swap(MAIN, "RESOLUTION=320x180", "RESOLUTION=240x180")),
    ("1.34", "fmp4", swap(MAIN, r"(?<=INF:)BANDWIDTH=\d+([^\n]*)RESOLUTION=320x180",
                          r"BANDWIDTH=16000000\1RESOLUTION=3840x2160")),
    ("1.35", "hdr", swap("show/*p/*.m4s", rb"\x4e\x01\x89\x18", b"\x4e\x01\x05\x18")),
]
SECTION_2 = [
    ("2.1", "ts", None),
    ("2.2", "fmp4", rename(SOUND_INIT, b"mp4a", b"Opus")),
    ("2.3", "fmp4", configuration(SOUND_INITS, 2, 6)),
    ("2.4", "fmp4", configuration(SOUND_INITS, 5, 2)),
    ("2.5", "fmp4", configuration(SOUND_INIT, 29, 6)),
    ("2.6", "fmp4", rename(SOUND_INIT, b"mp4a", b"ec-3")),
    ("2.9", "fmp4", append("show/audio-1/00002.m4s", b"free", 200_000)),
    ("2.10", "fmp4", second_section(SOUND, lambda data: data.replace(b"\x11\x90\x56", b"\x11\x88\x56"))),
    ("2.11", "fmp4", second_section(SOUND, lambda data: data.replace(b"\x11\x90\x56", b"\x11\x88\x56"))),
    ("2.12", "fmp4", swap(MAIN, 'NAME="ger"', 'NAME="Audio Description"')),
    ("2.13", "fmp4", swap(MAIN, 'DEFAULT=NO,AUTOSELECT=YES', f"DEFAULT=NO,AUTOSELECT=NO{DESCRIBES}")),
    ("2.14", "fmp4", swap(MAIN, 'DEFAULT=NO', f"DEFAULT=NO{DESCRIBES}")),
    ("2.15", "fmp4", last_dropped("show/audio-2/index.m3u8")),
    ("2.17", "fmp4", movie(SOUND_INIT, lambda parts: parts[:2] + parts[1:])),
    ("2.19", "fmp4", None),
    ("2.24", "fmp4", swap(MAIN, "mp4a.40.2", "mp4a.40.5")),
    ("2.25", "ts", swap(MAIN, "mp4a.40.2", "fLaC")),
    ("2.26", "fmp4", both(entry_channels(6), rename(SOUND_INITS, b"mp4a", b"fLaC"))),
    ("2.27", "fmp4", swap(MAIN, 'LANGUAGE="de",DEFAULT=NO', f"DEFAULT=NO{DESCRIBES}")),
    ("4.1", "fmp4", None),
    ("4.3", "fmp4", subtitles("CLOSED-CAPTIONS", ',LANGUAGE="en",INSTREAM-ID="CC1"')),
    ("4.4", "fmp4", change(SECOND, captions)),
    ("4.4", "fmp4", subtitles("CLOSED-CAPTIONS", ',INSTREAM-ID="CC1"')),
    ("5.2", "fmp4", subtitles("SUBTITLES", ',LANGUAGE="en",URI="s.m3u8"')),
]
SECTION_6 = [
    ("6.1", "fmp4", line(MAIN, "#EXT-X-I-FRAME-STREAM-INF")),
    ("6.2", "fmp4", None),
    ("6.4", "fmp4", both(swap(MAIN, "RESOLUTION=160x90", "RESOLUTION=320x180"), line(MAIN,
                                                                                     '#EXT-X-I-FRAME[^\n]*/90p/'))),
    ("6.5", "fmp4", whole_segments),
    ("6.6", "fmp4", line(MAIN, '#EXT-X-I-FRAME[^\n]*/90p/')),
    ("6.8", "fmp4", line(TRICKS, "#EXT-X-I-FRAMES-ONLY")),
    ("6.9", "fmp4", swap(MAIN, TRICK + r"BANDWIDTH=\d+", "BANDWIDTH=9999999")),
    ("6.10", "fmp4", swap(TRICKS, "@0$", "@8")),
    ("6.13", "fmp4", with_hevc),
    ("6.14", "hevc", None),
    ("6.15", "hdr", line(MAIN, '#EXT-X-I-FRAME[^\n]*/90p/')),
    ("6.16", "hdr", None),
    ("RFC 4.3.3.6b", "fmp4", whole_segments),
    ("RFC 4.3.3.6b", "ts", swap(TRICKS, r"(?<=BYTERANGE:)\d+", scaled(3))),
    ("RFC 4.3.3.6b", "fmp4", swap(TRICKS, r"#EXTINF:2.000", "#EXTINF:1.900")),
]
SECTION_7 = [
    ("7.1", "fmp4", later(SECOND, 1)),
    ("7.2", "ts", packet("show/180p/00002.ts", 256, lambda data: number_at(data, 3, data[3] ^ 7, 1))),
    ("7.2", "ts", swap(FIRST, "00002.ts", "00001.ts")),
    ("7.3", "fmp4", later(SECOND, 0.002)),
    ("7.3", "fmp4", later("show/180p/00001.m4s", 0.002, 1)),
    ("7.4", "fmp4", change(SECOND, first_unit(0, 5, 1))),
    ("7.5", "fmp4", None),
    ("7.6", "fmp4", None),
    ("7.7", "fmp4", swap(VIDEO, "DURATION:3", "DURATION:2")),
    ("8.1", "fmp4", both(swap(FIRST, "EXTINF:3.000", "EXTINF:2.900", 1), swap(FIRST, "EXTINF:2.000", "EXTINF:2.100"))),
    ("8.2", "fmp4", swap(SOUND, "DURATION:3", "DURATION:4")),
    ("8.3", "fmp4", last_dropped(SOUND)),
    ("8.6", "fmp4", line(SOUND, "#EXT-X-PLAYLIST-TYPE")),
    ("8.7", "fmp4", last_dropped(FIRST)),
    ("8.7", "fmp4", last_dropped(TRICKS)),
    ("8.9", "fmp4", line(MAIN, '#EXT-X-MEDIA[^\n]*"ger"')),
    ("8.10", "fmp4", swap(MAIN, 'LANGUAGE="de",', "")),
    ("8.13", "fmp4", second_section(FIRST, lambda data: data, SMALL_INIT)),
    ("RFC 4.3.2.3", "fmp4", second_section(FIRST, other_set)),
    ("8.14", "fmp4", second_section(FIRST, lambda data: number_at(data, data.index(b"mdhd") + 16, 6400))),
    ("8.15", "fmp4", swap(FIRST, r"(#EXTINF[^\n]*\n00002)", r"#EXT-X-DISCONTINUITY\n\1")),
    ("8.16", "fmp4", second_section(FIRST, lambda data: data.replace(b"avc1", b"avc3"))),
    ("8.20", "fmp4", line(VIDEO, "#EXT-X-MAP")),
    ("8.21", "fmp4", append(SECOND, b"emsg", 20)),
    ("8.22", "fmp4", later(SECOND, 1)),
    ("8.25", "fmp4", rate(0.625, SMALL_INIT)),
]
SECTION_9 = [
    ("9.1", "fmp4", swap(MAIN, VARIANT + r'([^\n]*)CODECS="[^"]*",', r"\1")),
    ("9.2", "fmp4", swap(MAIN, VARIANT + r"([^\n]*)RESOLUTION=\d+x\d+,", r"\1")),
    ("9.3", "fmp4", swap(MAIN, TRICK + r'([^\n]*)CODECS="[^"]*",', r"\1")),
    ("9.4", "fmp4", swap(MAIN, TRICK + r"([^\n]*)RESOLUTION=\d+x\d+,", r"\1")),
    ("9.5", "fmp4", with_sound_track),
    ("9.6", "fmp4", muxed_with_surround),
    ("9.7", "fmp4", with_sound_track),
    ("9.9", "fmp4", swap(MAIN, r"#EXT-X-STREAM-INF[^\n]*\nshow/90p[^\n]*\n", "")),
    ("9.10", "fmp4", swap(MAIN, "RESOLUTION=320x180", "RESOLUTION=1280x720")),
    ("9.11", "fmp4", line(MAIN, "#EXT-X-INDEPENDENT-SEGMENTS")),
    ("9.12", "fmp4", both(line(MAIN, "#EXT-X-INDEPENDENT-SEGMENTS"), line(VIDEO, "#EXT-X-INDEPENDENT-SEGMENTS"))),
    ("9.13", "fmp4", swap(MAIN, VARIANT + r"BANDWIDTH=(\d+)", lambda match: b"BANDWIDTH=%d" % (int(match[1]) * 0.97))),
    ("9.14", "fmp4", swap(MAIN, VARIANT + r"([^\n]*)AVERAGE-BANDWIDTH=\d+,", r"\1")),
    ("9.15", "fmp4", swap(MAIN, r"FRAME-RATE=[\d.]+,", "")),
    ("9.16", "hdr", swap(MAIN, "VIDEO-RANGE=PQ,", "")),
    ("9.17", "fmp4", both(swap(MAIN, 'LANGUAGE="de"', 'LANGUAGE="en"'), swap(MAIN, 'DEFAULT=YES',
                                                                             f"DEFAULT=YES{DESCRIBES}"))),
    ("9.19", "fmp4", swap(MAIN, VARIANT, "SCORE=2.0,", 1)),
    ("9.20", "fmp4", swap(MAIN, r"^show/90p/index", "show/audio-1/index")),
    ("9.21", "switch", swap(MAIN, VARIANT + r"BANDWIDTH=\d+", "BANDWIDTH=999999")),
    ("9.22", "fmp4", None),
    ("9.23", "fmp4", with_hevc),
    ("10.4", "fmp4", renamed("00002.bin")),
    ("11.4", "fmp4", renamed("holiday.m4s")),
]
FORMATS = [
    ("RFC 3", "fmp4", without_tail),
    ("RFC 3", "ts", change("show/180p/00002.ts", lambda data: data[:-50])),
    ("RFC 3.2a", "ts", packet("show/180p/00002.ts", 0, table(two_programs))),
    ("RFC 3.2b", "ts", change("show/180p/00002.ts", lambda data: data[188:] + data[:188])),
    ("RFC 3.3a", "fmp4", change(INIT, lambda data: data.replace(b"iso5iso6", b"iso4iso5"))),
    ("RFC 3.3b", "fmp4", field(INIT, b"stsz", 8, 1)),
    ("RFC 3.3b", "fmp4", field(INIT, b"tkhd", 12, 7)),
    ("RFC 3.3c", "fmp4", movie(INIT, lambda parts: [parts[0], parts[2], parts[1], *parts[3:]])),
    ("RFC 3.3d", "fmp4", field(INIT, b"tkhd", 20, 5)),
    ("RFC 3.3d", "fmp4", field(INIT, b"mvhd", 16, 5)),
    ("RFC 3.3e", "fmp4", change(SECOND, lambda data: data.replace(b"tfdt", b"free", 1))),
    ("RFC 3.3f", "fmp4", field(SECOND, b"tfhd", 0, lambda flags: flags & ~0x020000)),
    ("RFC 3.3g", "fmp4", field(INIT, b"url ", 0, 0)),
    ("RFC 4.1", "fmp4", swap(MAIN, "#EXTM3U\n", "#EXTM3U\n#EXT-X-UNKNOWN:1\n")),
    ("RFC 4.1", "fmp4", swap(FIRST, "#EXTM3U\n", "#EXTM3U\n# \u00ff\x07\n")),
    ("RFC 4.1", "fmp4", swap(FIRST, "#EXTM3U\n", b"#EXTM3U\n# \xff\n")),
    ("RFC 4.1", "fmp4", swap(MAIN, "#EXTM3U\n", "#EXTM3U\n#EXT-X-TARGETDURATION:6\n")),
    ("RFC 4.1", "fmp4", swap(FIRST, "00002.m4s", "00009.m4s")),
    ("RFC 4.1", "fmp4", swap(FIRST, "00002.m4s", "0000 2.m4s")),
    ("RFC 4.2", "fmp4", swap(MAIN, VARIANT, "FRAME-RATE=25.000,", 1)),
    ("RFC 4.2", "fmp4", swap(MAIN, "DEFAULT=YES", "DEFAULT=YES, AUTOSELECT", 1)),
    ("RFC 4.2", "fmp4", swap(MAIN, r"BANDWIDTH=(\d)", r"BANDWIDTH=-\1")),
    ("RFC 4.2", "fmp4", swap(MAIN, r'AUDIO="audio"', "AUDIO=audio")),
    ("RFC 4.3.1.1", "fmp4", swap(FIRST, "#EXTM3U\n", "\n")),
    ("RFC 4.3.1.1", "fmp4", swap(FIRST, "#EXTM3U\n", "#EXTM3U\n#EXTM3U\n")),
    ("RFC 4.3.1.2", "fmp4", swap(MAIN, "#EXT-X-VERSION:6", "#EXT-X-VERSION:6\n#EXT-X-VERSION:6")),
    ("RFC 4.3.2", "fmp4", swap(FIRST, "(#EXTINF:3.000,\n)(?=00002)", r"\1\1")),
    ("RFC 4.3.2.1", "fmp4", swap(FIRST, "#EXTINF:3.000,\n(?=00002)", "")),
    ("RFC 4.3.2.1", "fmp4", swap(FIRST, "EXTINF:3.000,", "EXTINF:3.000")),
    ("RFC 4.3.2.1", "fmp4", swap(FIRST, "EXTINF:3.000,", "EXTINF:3s,")),
    ("RFC 4.3.2.2", "fmp4", swap(TRICKS, r"BYTERANGE:\d+@", "BYTERANGE:99999999@")),
    ("RFC 4.3.2.2", "fmp4", swap(TRICKS, "@0", "")),
    ("RFC 4.3.2.5", "fmp4", swap(FIRST, "init-1", "init-7")),
    ("RFC 4.3.2.5", "fmp4", swap(FIRST, 'MAP:URI="', 'MAP:X="')),
    ("RFC 4.3.2.6", "fmp4", swap(FIRST, "(DATE-TIME:[^\n]*)Z", r"\1")),
    ("RFC 4.3.2.6b", "fmp4", swap(FIRST, "T12:00:03", "T12:00:04")),
    ("RFC 4.3.2.6b", "fmp4", line(SOUND, "#EXT-X-PROGRAM-DATE-TIME")),
    ("RFC 4.3.3.1", "fmp4", line(FIRST, "#EXT-X-TARGETDURATION")),
    ("RFC 4.3.3.1", "fmp4", swap(VIDEO, "DURATION:3", "DURATION:2")),
    ("RFC 4.3.3.2", "fmp4", swap(FIRST, "#EXT-X-ENDLIST", "#EXT-X-MEDIA-SEQUENCE:0\n#EXT-X-ENDLIST")),
    ("RFC 4.3.3.2", "fmp4", swap(FIRST, "SEQUENCE:0", "SEQUENCE:first")),
    ("RFC 4.3.3.3", "fmp4", swap(FIRST, "#EXT-X-ENDLIST", "#EXT-X-DISCONTINUITY-SEQUENCE:0\n#EXT-X-ENDLIST")),
    ("RFC 4.3.3.4", "fmp4", line(FIRST, "#EXT-X-ENDLIST")),
    ("RFC 4.3.3.5", "fmp4", swap(FIRST, "TYPE:VOD", "TYPE:FILM")),
    ("RFC 4.3.3.6", "fmp4", swap(TRICKS, "#EXT-X-I-FRAMES-ONLY", "#EXT-X-I-FRAMES-ONLY\n#EXT-X-I-FRAMES-ONLY")),
    ("RFC 4.3.4.1", "fmp4", swap(MAIN, 'NAME="ger",', "")),
    ("RFC 4.3.4.1", "fmp4", swap(MAIN, "TYPE=AUDIO", "TYPE=SOUND")),
    ("RFC 4.3.4.1b", "fmp4", swap(MAIN, 'NAME="ger"', 'NAME="eng"')),
    ("RFC 4.3.4.1b", "fmp4", swap(MAIN, "DEFAULT=NO", "DEFAULT=YES")),
    ("RFC 4.3.4.1b", "fmp4", swap(MAIN, "DEFAULT=YES,AUTOSELECT=YES", "DEFAULT=YES,AUTOSELECT=NO")),
    ("RFC 4.3.4.1c", "fmp4", swap(MAIN, MEDIA, 'INSTREAM-ID="CC1",', 1)),
    ("RFC 4.3.4.1d", "fmp4", swap(MAIN, 'CHANNELS="2"', 'CHANNELS="1"')),
    ("RFC 4.3.4.1e", "fmp4", swap(MAIN, ',CHANNELS="2"', "")),
    ("RFC 4.3.4.2", "fmp4", swap(MAIN, "^show/90p/index.m3u8\n", "")),
    ("RFC 4.3.4.2", "fmp4", swap(MAIN, VARIANT + r"BANDWIDTH=\d+,", "")),
    ("RFC 4.3.4.2", "fmp4", swap(MAIN, "RANGE=SDR", "RANGE=LOW")),
    ("RFC 4.3.4.2b", "fmp4", swap(MAIN, VARIANT + r'([^\n]*)avc1.64', r"\1avc1.4d")),
    ("RFC 4.3.4.2b", "fmp4", swap(MAIN, ",mp4a.40.2", "")),
    ("RFC 4.3.4.2b", "hevc", swap(MAIN, r"\.L\d+", ".L123")),
    ("RFC 4.3.4.2b", "ts", swap(MAIN, "avc1.64", "avc1.42")),
    ("RFC 4.3.4.2c", "fmp4", swap(MAIN, "320x180", "322x180")),
    ("RFC 4.3.4.2c", "hevc", swap(MAIN, "320x180", "320x184")),
    ("RFC 4.3.4.2d", "fmp4", swap(MAIN, "RANGE=SDR", "RANGE=PQ")),
    ("RFC 4.3.4.2e", "fmp4", swap(MAIN, "RATE=25.000", "RATE=24.000")),
    ("RFC 4.3.4.2f", "fmp4", swap(MAIN, 'AUDIO="audio"', 'AUDIO="sound"')),
    ("RFC 4.3.4.2g", "fmp4", swap(MAIN, "CLOSED-CAPTIONS=NONE", 'CLOSED-CAPTIONS="s"', 1)),
    ("RFC 4.3.4.3", "fmp4", swap(MAIN, TRICK + '([^\n]*),URI="[^"]*"', r"\1")),
    ("RFC 4.3.5.1", "fmp4", swap(FIRST, "(#EXT-X-INDEPENDENT-SEGMENTS\n)", r"\1\1")),
    ("RFC 4.3.5.1b", "fmp4", change(SECOND, first_unit(0, 5, 1))),
    ("RFC 6.2.4", "fmp4", later("show/90p/*.m4s", 0.1)),
    ("RFC 7", "fmp4", swap(FIRST, "VERSION:7", "VERSION:3")),
    ("V1", "fmp4", field(INIT, b"elst", 12, 0xFFFFFFFF)),
    ("V1", "fmp4", field(INIT, b"elst", 8, 400)),
    ("V2", "fmp4", field(INIT, b"avcC", 3, 41, 1)),
    ("V2", "hevc", field(INIT, b"hvcC", 12, 93, 1)),
    ("V3", "fmp4", field(SECOND, b"trun", 12, 0x01010000)),
    ("V3", "fmp4", field(SECOND, b"tfhd", 16, 0x02000000)),
    ("V4", "fmp4", swap("show.mpd", 't="0"', 't="1000"')),
    ("V4", "fmp4", swap("show.mpd", r'codecs="avc1\.64', 'codecs="avc1.42')),
    ("V4", "fmp4", swap("show.mpd", 'media="show/90p', 'media="show/180p')),
    ("V5", "fmp4", extra_file),
    ("V6", "fmp4", field(SOUND_INIT, b"mdhd", 12, 44100)),
    ("V7", "switch", change("show/*p/init-2.mp4", other_set)),
    ("V8", "fmp4", both(field(SECOND, b"trun", 0, lambda flags: flags | 1 << 24), field(SECOND, b"trun", 28,
                                                                                        0xFFFF0000))),
    ("V8", "ts", change("show/180p/00002.ts", backwards)),
]
FAULTS = SECTION_1 + SECTION_2 + SECTION_6 + SECTION_7 + SECTION_9 + FORMATS


def numbers(files):
    return {finding.rule.number for finding in rules.judge(Presentation(files, MAIN))}


def self_test(bases):
    """Plants every fault. bases: the files of the good presentations by name. Returns what was not caught."""
    usual, missed = {name: numbers(files) for name, files in bases.items()}, []
    for index, (rule, base, plant) in enumerate(FAULTS):
        if plant is None:
            caught = rule in usual[base]
        else:
            files = dict(bases[base])
            if plant is with_hevc:
                files["hevc"] = bases["hevc"]
            try:
                plant(files)
            except (AssertionError, AttributeError, ValueError, IndexError, KeyError) as error:
                missed.append(f"fault {index} (rule {rule} in {base}) cannot be planted: {error!r}")
                continue
            caught = rule not in usual[base] and rule in numbers(files)
        if not caught:
            missed.append(f"fault {index} of rule {rule} in {base} is not caught" +
                          (": the good presentation has it" if rule in usual[base] else ""))
    checked = {rule.number for rule in rules.RULES.values() if rule.state == rules.CHECKED}
    missed += [f"rule {rule} has no counter-example" for rule in sorted(checked - {fault[0] for fault in FAULTS})]
    return missed
