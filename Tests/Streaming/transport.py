# SPDX-License-Identifier: GPL-2.0-or-later
"""MPEG-2 transport streams: ISO/IEC 13818-1, with ADTS of ISO/IEC 14496-3."""

import functools
from fractions import Fraction

import parameter_sets
from media import Malformed, Stretch, Track, Unit, byte_stream

RATES = [96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350]
H264, HEVC, ADTS, AC3, EAC3, METADATA = 0x1B, 0x24, 0x0F, 0x81, 0x87, 0x15


def checksum(data):
    """The CRC of tables: annex A."""
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte << 24
        for _ in range(8):
            value = (value << 1 ^ (0x04C11DB7 if value >> 31 else 0)) & 0xFFFFFFFF
    return value


def packets(data):
    """PID, start of a unit, counter, position of the packet, payload."""
    if not data or len(data) % 188:
        raise Malformed(f"{len(data)} bytes are not whole packets of a transport stream")
    for start in range(0, len(data), 188):
        if data[start] != 0x47:
            raise Malformed(f"no packet of a transport stream at {start}")
        pid, control = int.from_bytes(data[start + 1:start + 3], "big") & 0x1FFF, data[start + 3]
        payload = b""
        if control & 0x10:
            skip = 5 + data[start + 4] if control & 0x20 else 4
            payload = data[start + skip:start + 188]
        yield pid, bool(data[start + 1] & 0x40), control & 15, start, payload


def section(payload):
    """A table that fits into a packet, without its CRC."""
    table = payload[1 + payload[0]:]
    size = 3 + (int.from_bytes(table[1:3], "big") & 0xFFF)
    if size > len(table) or checksum(table[:size]):
        raise Malformed("the CRC of a table is wrong")
    return table[:size - 4]


def streams_of(table):
    """The stream types of a program map by PID."""
    position, found = 12 + (int.from_bytes(table[10:12], "big") & 0xFFF), {}
    while position + 5 <= len(table):
        pid = int.from_bytes(table[position + 1:position + 3], "big") & 0x1FFF
        found[pid] = table[position]
        position += 5 + (int.from_bytes(table[position + 3:position + 5], "big") & 0xFFF)
    return found


def stamp(field):
    return (field[0] >> 1 & 7) << 30 | field[1] << 22 | field[2] >> 1 << 15 | field[3] << 7 | field[4] >> 1


def elementary(packet):
    """PTS, DTS and payload of a PES packet."""
    if packet[:3] != b"\0\0\1" or len(packet) < 14 or not packet[7] & 0x80:
        raise Malformed("no PES packet with a time")
    shown = stamp(packet[9:14])
    decoded = stamp(packet[14:19]) if packet[7] & 0x40 else shown
    return shown, decoded, packet[9 + packet[8]:]


@functools.lru_cache(1024)
def segment(data):
    """Reads a segment with one elementary stream of video or audio."""
    counters, problems, streams, maps = {}, [], {}, set()
    open_packets, whole, first = {}, [], []
    for pid, starts, counter, place, payload in packets(data):
        if len(first) < 2:
            first.append(pid)
        if payload and pid != 0x1FFF:
            begin, last = counters.get(pid, (counter, counter - 1))
            if counter != (last + 1) % 16:
                problems.append(("7.2", f"the counter of PID {pid} is {counter} after {last} at byte {place}"))
            counters[pid] = (begin, counter)
        if pid == 0 and starts:
            table = section(payload)
            programs = [(int.from_bytes(table[index:index + 2], "big"), int.from_bytes(table[index + 2:index + 4],
                                                                                       "big")
                         & 0x1FFF) for index in range(8, len(table) - 3, 4)]
            maps |= {target for number, target in programs if number}
        elif pid in maps and starts:
            streams |= streams_of(section(payload))
        elif pid in streams:
            if starts:
                open_packets[pid] = [place, b"", place]
                whole.append((pid, open_packets[pid]))
            if pid in open_packets:
                open_packets[pid][1:] = [open_packets[pid][1] + payload, place + 188]
    if len(maps) != 1:
        problems.append(("RFC 3.2a", f"there are {len(maps)} programs"))
    if first[:1] != [0] or not set(first[1:]) & maps:
        problems.append(("RFC 3.2b", "it does not begin with a PAT and a PMT"))
    media = {pid: kind for pid, kind in streams.items() if kind != METADATA}
    if not media:
        raise Malformed("no stream")
    kinds = [b"vide" if kind in (H264, HEVC) else b"soun" for kind in media.values()]
    pid, kind = min(media.items(), key=lambda item: item[1] not in (H264, HEVC))
    track = Track("video" if kind in (H264, HEVC) else "audio",
                  {H264: "avc3", HEVC: "hev1", ADTS: "mp4a", AC3: "ac-3", EAC3: "ec-3"}.get(kind, f"type {kind}"), True)
    track.codec = track.entry
    read = video if track.kind == "video" else audio
    units = [unit for number, (start, content, end) in whole if number == pid for unit in read(track, start, content,
                                                                                               end)]
    if not units:
        raise Malformed("no samples")
    return Stretch(units, track, kinds, problems, METADATA in streams.values(), counters)


def video(track, start, content, end):
    shown, decoded, payload = elementary(content)
    nals = byte_stream(payload)
    if track.sequence is None and track.problem is None:
        is_hevc = track.entry == "hev1"
        track.sets = [nal for nal in nals if (nal[0] >> 1 & 63 in (32, 33, 34) if is_hevc else nal[0] & 31 in (7, 8))]
        sequence = next((nal for nal in track.sets if is_hevc or nal[0] & 31 == 7), None)
        try:
            if sequence and not is_hevc:
                track.sequence, track.codec = parameter_sets.h264(sequence), f"avc1.{sequence[1:4].hex()}"
        except (ValueError, IndexError) as error:
            track.problem = str(error)
    return [Unit(Fraction(decoded, 90000), Fraction(shown, 90000), None, start, end, None, nals)]


def audio(track, start, content, end):
    shown, _, payload = elementary(content)
    units, time, position = [], Fraction(shown, 90000), 0
    while track.entry == "mp4a" and position + 7 <= len(payload):
        header = int.from_bytes(payload[position:position + 7], "big")
        size, rate = header >> 13 & 0x1FFF, header >> 34 & 15
        if header >> 44 != 0xFFF or size < 7 or rate >= len(RATES):
            raise Malformed("no ADTS frame")
        layout = header >> 30 & 7
        track.channels, track.sample_rate = {7: 8}.get(layout, layout), RATES[rate]
        track.object_type = (header >> 38 & 3) + 1
        track.codec = f"mp4a.40.{track.object_type}"
        duration = Fraction(1024, track.sample_rate)
        units.append(Unit(time, time, duration, start, end))
        time, position = time + duration, position + size
    return units or [Unit(time, time, None, start, end)]
