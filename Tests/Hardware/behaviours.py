# SPDX-License-Identifier: GPL-2.0-or-later
"""What sessions do on a GPU beside encoding: changes of rate, forced key frames, temporal layers, lost frames; and how
pictures come to it."""

import conversions
import memory
import stream
from scenario import Scenario

RATE_FRAMES = 200  # the second half of them after a change


def rate_of(scenario, frames):
    """Bits per second of these frames at 25 a second."""
    sizes = {sample["frame"]: sample["size"] for sample in scenario.samples}
    return sum(sizes[frame] for frame in frames) * 8 * 25 / len(frames)


def change_rate(program, folder, first, second, *options, persona="intel"):
    """A change is followed without an IDR picture or another context, at exactly the frame."""
    half = RATE_FRAMES // 2
    scenario = Scenario(program, folder, "width=320", "height=240", f"frames={RATE_FRAMES}", "interval=none",
                        f"bitrate@{half}={second}", *options, persona=persona)
    scenario.check_whole(RATE_FRAMES)
    if scenario.complaints:
        return scenario.complaints
    # Half of a half to settle.
    for frames, asked in ((range(half // 2, half), first), (range(half + half // 2, RATE_FRAMES), second)):
        got = rate_of(scenario, frames)
        scenario.require(abs(got - asked) < asked * 0.15, f"{got:.0f} bit/s came out where {asked} were asked for")
    scenario.expect("IDR pictures", sum(entry["idr"] for entry in scenario.pictures), 1)
    scenario.expect("contexts", len({(entry["process"], entry["context"]) for entry in scenario.pictures}), 1)
    rates = {sample["frame"]: entry["bits_per_second"] for sample, entry in zip(scenario.samples, scenario.pictures)}
    scenario.expect("frames at which the driver was told another rate",
                    [frame for frame in range(1, RATE_FRAMES) if rates[frame] != rates[frame - 1]], [half])
    return scenario.complaints


def change_told_rate(program, folder, first, second, *options):
    """A rate that the stream tells its decoders (H.264 E.2.2) changes with an IDR picture, at exactly the frame."""
    half = RATE_FRAMES // 2
    scenario = Scenario(program, folder, f"frames={RATE_FRAMES}", f"constant={first}", "interval=none",
                        f"bitrate@{half}={second}", *options)
    scenario.check_whole(RATE_FRAMES)
    if not scenario.complaints:
        told = [sample["frame"] for sample in scenario.samples if sample["key"]]
        scenario.expect("key frames", told, [0, half])
        for frames, rate in ((range(half), first), (range(half, RATE_FRAMES), second)):
            check_buffer(scenario, frames, rate)
    return scenario.complaints


def keep_to_buffer(program, folder, rate, *options):
    """What a constant rate promises: a decoder that takes a picture each frame never waits for one and never has too
    many of their bits (H.264 C.3)."""
    scenario = Scenario(program, folder, "frames=150", f"constant={rate}", *options)
    scenario.check_whole(150)
    if not scenario.complaints:
        check_buffer(scenario, range(150), rate)
    return scenario.complaints


def check_buffer(scenario, frames, rate):
    """The coded picture buffer of a sequence of pictures: one second long, three quarters of it full at the first."""
    capacity, full = rate, rate * 3 // 4
    for sample in [sample for sample in scenario.samples if sample["frame"] in frames]:
        bits = sample["size"] * 8
        scenario.require(bits <= full, f"frame {sample['frame']} has {bits} bits, {full} have arrived")
        full += rate // 25 - bits
        scenario.require(full <= capacity, f"{full} bits of {capacity} are there after frame {sample['frame']}")
    scenario.complaints = scenario.complaints[:4]


def force_key_frames(program, folder, *options, persona="intel"):
    """Forced key frames are IDR pictures at exactly those times, and there are no others."""
    forced = [7, 8, 23, 39]
    scenario = Scenario(program, folder, "frames=40", "interval=none", *(f"key@{frame}" for frame in forced), *options,
                        persona=persona)
    scenario.check_whole(40)
    if not scenario.complaints:
        told = [sample["frame"] for sample in scenario.samples if sample["key"]]
        coded = [sample["frame"] for sample, entry in zip(scenario.samples, scenario.pictures) if entry["idr"]]
        scenario.expect("key frames", told, [0, *forced])
        scenario.expect("IDR pictures", coded, [0, *forced])
    return scenario.complaints


def prefer_regions(program, folder, *options):
    """A region of interest has another quantizer in its own frame, and in no other."""
    frames, offset, chosen = 20, -8, (5, 12)
    scenario = Scenario(program, folder, f"frames={frames}", "b-frames=0", *options,
                        *(f"region@{frame}={offset}" for frame in chosen))
    scenario.check_whole(frames)
    if not scenario.complaints:
        spans = [entry["qp_most"] - entry["qp_least"] for entry in scenario.pictures]
        scenario.expect("quantizers apart", spans, [-offset if frame in chosen else 0 for frame in range(frames)])
    return scenario.complaints


def carry_captions(program, folder, *options, persona="intel"):
    """Captions come out with their frames, whether the driver takes such messages or not."""
    frames, chosen = 16, [0, 3, 7, 8]
    scenario = Scenario(program, folder, f"frames={frames}", *(f"captions@{frame}" for frame in chosen), *options,
                        persona=persona)
    scenario.check_whole(frames)
    if not scenario.complaints:
        shown = stream.probe(scenario.output, "-show_frames")["frames"]
        found = [number for number, frame in enumerate(shown)
                 if any("Closed Captions" in data["side_data_type"] for data in frame.get("side_data_list", []))]
        scenario.expect("frames with captions", found, chosen)
    return scenario.complaints


def keep_frames_small(program, folder, most, *options):
    """No frame is larger than was asked for."""
    scenario = Scenario(program, folder, "frames=40", "width=320", "height=240", f"largest-frame={most}", *options)
    scenario.check_whole(40)
    sizes = [sample["size"] for sample in scenario.samples]
    scenario.require(max(sizes, default=0) <= most, f"frames of up to {max(sizes, default=0)} bytes")
    scenario.require(max(sizes, default=0) > most // 2, f"no frame came near {most} bytes")
    return scenario.complaints


def begin_in_a_wave(program, folder, kind, period, *options):
    """With intra refresh there are no key frames but the first; a decoder begins at any wave, shows nothing until the
    wave is through (H.264 D.2.8), and then comes to the very pictures of the encoder."""
    frames, begin = 80, 2 * period + 1
    scenario = Scenario(program, folder, f"frames={frames}", "width=320", "height=240", f"refresh={period}", *options,
                        limits=f"intra-refresh={kind}")
    scenario.check_whole(frames)
    if scenario.complaints:
        return scenario.complaints
    scenario.expect("P pictures", [entry["type"] for entry in scenario.pictures].count("P"), frames - 1)
    decoded = scenario.decoded_from(begin)
    if scenario.codec == "hevc":
        # libavcodec knows no recovery points of HEVC: it shows what it has from the start, and tells of what it lacks.
        decoded.complaints = [line for line in decoded.complaints if "Could not find ref with POC" not in line]
        decoded.frames = decoded.frames[period - 1:]
    scenario.complaints += decoded.complaints[:4]
    right = [picture.reconstruction for picture in scenario.journal.in_presentation_order()][begin + period - 1:]
    scenario.expect("frames from a wave on", len(decoded.frames), len(right))
    wrong = [index for index, (one, other) in enumerate(zip(decoded.frames, right)) if one != other]
    scenario.expect("frames after the wave that are not exact", wrong, [])
    return scenario.complaints


def drop_layers(program, folder, layers, *options, persona="intel"):
    """The stream decodes to the right pictures when all frames above a temporal layer are left out."""
    frames, forced = 42, 21
    scenario = Scenario(program, folder, f"frames={frames}", f"layers={layers}", "interval=none", f"key@{forced}",
                        *options, persona=persona)
    scenario.check_whole(frames)
    pattern = {2: [0, 1], 3: [0, 2, 1, 2]}[layers]
    layer = {frame: pattern[(frame - (forced if frame >= forced else 0)) % len(pattern)] for frame in range(frames)}
    if scenario.complaints:
        return scenario.complaints
    for frame in range(frames):
        above = [other for other in scenario.depends_on(frame) if layer[other] > layer[frame]]
        scenario.require(not above, f"frame {frame} of layer {layer[frame]} depends on {above} of higher layers")
    for highest in range(layers - 1):
        left_out = {frame for frame in range(frames) if layer[frame] > highest}
        scenario.check_without(left_out, f"layers up to {highest}")
    return scenario.complaints


def lose_frames(program, folder, lost, told, *options, persona="intel", frames=40):
    """After frames were reported as lost nothing refers to them or to what depends on them; a receiver that has not got
    them decodes everything from the report on."""
    scenario = Scenario(program, folder, f"frames={frames}", "interval=none", f"lost@{told}={lost[0]}-{lost[-1]}",
                        *options, persona=persona)
    scenario.check_whole(frames)
    if scenario.complaints:
        return scenario.complaints
    damaged = set(lost)
    for frame in range(lost[0], told):
        if scenario.depends_on(frame) & damaged:
            damaged.add(frame)
    scenario.require(len(damaged) > len(lost) or told == lost[-1] + 1, "nothing depended on what was lost")
    for frame in range(told, frames):
        wrong = scenario.depends_on(frame) & damaged
        scenario.require(not wrong, f"frame {frame} depends on {sorted(wrong)}, which were lost or damaged")
    scenario.check_without(damaged, "without what was lost")
    return scenario.complaints


def mark_beyond_room(program, folder, level, room, *options, persona="intel"):
    """Long-term references that the level has no room for, beside one that moves, are reported; marking one of them
    fails nothing."""
    scenario = Scenario(program, folder, "frames=12", f"level={level}", "marks=12", "mark@4=1", "mark@6=11", *options,
                        persona=persona)
    scenario.check_whole(12)
    told = [event for event in scenario.events("adjusted") if event["property"] == "long-term references"]
    scenario.expect("reports", [event["used"] for event in told], [str(room)])
    scenario.expect("encoders that failed", scenario.events("failed"), [])
    return scenario.complaints


def lose_frames_of_waves(program, folder, lost, told, period, *options, frames=50):
    """Frames that are lost from waves of intra refresh: nothing refers to them afterwards, and the driver finds whole
    waves all the same."""
    scenario = Scenario(program, folder, f"frames={frames}", f"refresh={period}", "b-frames=0", "low-latency=on",
                        f"lost@{told}={lost[0]}-{lost[-1]}", *options)
    scenario.check_whole(frames)
    for frame in range(told, 0 if scenario.complaints else frames):
        wrong = scenario.depends_on(frame) & set(range(lost[0], told))
        scenario.require(not wrong, f"frame {frame} depends on {sorted(wrong)}, which were lost or damaged")
    return scenario.complaints


def split_segments(program, folder, mode, seeds, *options, persona="intel"):
    """Coded pictures that the driver hands over in segments come out as the stream that they are in one segment."""
    frames = 20
    whole = Scenario(program, folder, f"frames={frames}", *options, persona=persona)
    whole.check_whole(frames)
    if whole.complaints:
        return whole.complaints
    stream_of_one = whole.output.read_bytes()
    for seed in seeds:
        settings = {"REFERENCE_DRIVER_SEGMENTS": mode, "REFERENCE_DRIVER_SEED": str(seed)}
        divided = Scenario(program, folder, f"frames={frames}", *options, persona=persona, settings=settings)
        divided.check_whole(frames)
        counts = [entry["count"] for entry in divided.journal.entries if entry.get("kind") == "segments"]
        divided.require(len(counts) >= frames and max(counts) > 1, f"segments of pictures: {counts}")
        divided.require(divided.output.read_bytes() == stream_of_one, "it is another stream than in one segment")
        if divided.complaints:
            return [f"seed {seed}", *divided.complaints]
    return []


def of_codec(codec, full):
    """Names, and functions of a program and a folder, of either codec."""
    found = {}
    chosen = f"codec={codec}"
    for isolation in ("in-process", "process"):
        words = f"isolation={isolation}", chosen
        found[f"average rate goes down, {isolation}"] = (change_rate, 600_000, 250_000, "average=600000", *words)
        found[f"average rate without B-frames, {isolation}"] = (
            change_rate, 250_000, 500_000, "average=250000", "b-frames=0", *words)
        found[f"constant rate goes up, {isolation}"] = (
            change_rate, 250_000, 500_000, "constant=250000", "low-latency=on", *words)
        found[f"forced key frames, {isolation}"] = (force_key_frames, "b-frames=0", *words)
        found[f"forced key frames with B-frames, {isolation}"] = (force_key_frames, "b-frames=3", *words)
        found[f"2 layers, {isolation}"] = (drop_layers, 2, "b-frames=0", *words)
        found[f"3 layers, {isolation}"] = (drop_layers, 3, "b-frames=0", *words)
        found[f"a lost frame told at once, {isolation}"] = (
            lose_frames, [12], 14, "b-frames=0", "low-latency=on", *words)
        found[f"lost frames told late, {isolation}"] = (
            lose_frames, [12, 13], 24, "b-frames=0", "low-latency=on", *words)
        found[f"lost frames and a long-term reference, {isolation}"] = (
            lose_frames, [12, 13], 24, "b-frames=0", "marks=1", "mark@8=0", "low-latency=on", *words)
        # H.264 table A-1: 900 macroblocks, 9 pictures. H.265 A.4.2: 12 pictures, with the one that is decoded.
        level, room, size = ("1.1", 8, ()) if codec == "h264" else ("1", 10, ("width=128", "height=96"))
        found[f"more long-term references than there is room, {isolation}"] = (
            mark_beyond_room, level, room, *size, "b-frames=0", *words)
    # One of two is among what is lost, and another frame takes its place later.
    found["a lost long-term reference"] = (lose_frames, [12, 13], 16, "b-frames=0", "marks=2", "mark@8=0", "mark@12=1",
                                           "mark@20=1", "low-latency=on", chosen)
    found["a lost frame of a wave"] = (lose_frames_of_waves, [14], 17, 11, chosen)
    found["a lost frame of a wave and a long-term reference"] = (
        lose_frames_of_waves, [14], 17, 11, "marks=1", "mark@8=0", chosen)
    found["constant rate that the stream tells goes up"] = (change_told_rate, 256_000, 512_000, chosen)
    found["constant rate and its buffer"] = (keep_to_buffer, 512_000, "interval=30", "b-frames=3", chosen)
    found["captions"] = (carry_captions, "b-frames=3", chosen)
    found["captions on AMD"] = (carry_captions, chosen, dict(persona="amd"))
    found["regions of interest"] = (prefer_regions, "quantizer=30", chosen)
    found["regions of interest at an average rate"] = (prefer_regions, "average=500000", chosen)
    found["frames of a largest size"] = (keep_frames_small, 6000, "average=2000000", chosen)
    found["columns of intra refresh"] = (begin_in_a_wave, 1, 10, "b-frames=0", chosen)
    found["rows of intra refresh"] = (begin_in_a_wave, 2, 7, chosen)
    for mode in ("units", "bare-units", "random", "mixed"):
        found[f"segments: {mode}"] = (split_segments, mode, [1], "slices=4", "b-frames=2", chosen)
    found["segments: random, in a helper"] = (split_segments, "random", [2], "isolation=process", chosen)
    found["segments: mixed, on AMD"] = (split_segments, "mixed", [3], chosen, dict(persona="amd"))
    if full:
        # 200 pictures, each divided in its own way.
        for mode in ("random", "mixed"):
            found[f"segments: {mode}, 200 times"] = (split_segments, mode, range(10, 20), "slices=4", chosen)
        found["constant rate and its buffer, no B-frames"] = (
            keep_to_buffer, 256_000, "interval=none", "b-frames=0", chosen)
        found["constant rate and its buffer, key frames only"] = (keep_to_buffer, 640_000, "interval=1", chosen)
        amd = dict(persona="amd")
        found["average rate on AMD"] = (change_rate, 600_000, 250_000, "average=600000", chosen, amd)
        found["forced key frames on AMD"] = (force_key_frames, "b-frames=0", chosen, amd)
        found["lost frames on AMD"] = (lose_frames, [12, 13], 16, "b-frames=0", "low-latency=on", chosen, amd)
        found["forced key frames on low power"] = (force_key_frames, "b-frames=0", chosen, dict(persona="low-power"))
        found["3 layers, one at a time"] = (drop_layers, 3, "b-frames=0", "depth=1", chosen)
    return found


def all_behaviours(full):
    """Names, and functions of a program and a folder."""
    hevc = {f"HEVC: {name}": behaviour for name, behaviour in of_codec("hevc", full).items()}
    return memory.all_memories(full) | conversions.all_conversions(full) | of_codec("h264", full) | hevc


def judge(program, folder, behaviour):
    """Complaints about one of them."""
    function, *arguments = behaviour
    named = arguments.pop() if arguments and isinstance(arguments[-1], dict) else {}
    return function(program, folder, *arguments, **named)
