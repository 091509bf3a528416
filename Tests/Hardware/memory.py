# SPDX-License-Identifier: GPL-2.0-or-later
"""Where pictures lie, and how they come to the GPU: every one as it was, and copied no more often than need be."""

import hashlib
from pathlib import Path

from scenario import Scenario

SIZE = 176, 144
KEPT = 64  # DMA-BUFs that stay imported
TOLD = "a DMA-BUF cannot be imported and is copied"
COUNT_SURFACES = "vaCreateSurfaces:*=delay:1us"  # what it takes for the journal to tell of these calls
# The device takes longer for a picture than it takes to make one.
SLOW = f"{COUNT_SURFACES};coded:*=delay:10ms"
# Surfaces are made for the first picture, for its reconstruction, and for the second picture.
REFUSE_SECOND = "vaCreateSurfaces:3=status:0x2"
TEN_BITS = "codec=hevc", "bits=10", "format=p010"
YUV422 = "codec=hevc", "chroma=4:2:2", "format=i422"


def run(program, folder, frames, *options, size=SIZE, copied=0, **driver):
    """A session whose pictures all came to the driver as they were made."""
    width, height = size
    scenario = Scenario(program, folder, f"width={width}", f"height={height}", f"frames={frames}", *options, **driver)
    scenario.check_whole(frames)
    if scenario.complaints:
        return scenario
    made = made_pictures(scenario, size, (2 if "bits=10" in options else 1) * (4 if "chroma=4:2:2" in options else 3))
    scenario.expect("different pictures", len(set(made)), frames)
    got = {sample["frame"]: entry["source_md5"] for sample, entry in zip(scenario.samples, scenario.pictures)}
    scenario.expect("frames that the driver got otherwise than they were made",
                    [frame for frame in range(frames) if got[frame] != made[frame]], [])
    if copied is not None:
        scenario.expect("pictures copied", scenario.of_kind("end")[0]["copied"], copied)
    return scenario


def made_pictures(scenario, size, halves=3):
    """The MD5s that the driver would report for the pictures. `halves`: half bytes per luma sample, with its chroma."""
    samples = Path(f"{scenario.output}.nv12").read_bytes()
    length = size[0] * size[1] * halves // 2
    return [hashlib.md5(samples[start:start + length]).hexdigest() for start in range(0, len(samples), length)]


def inputs(scenario):
    """The surface that each frame was coded from."""
    return {sample["frame"]: entry["input"] for sample, entry in zip(scenario.samples, scenario.pictures)}


def buffers(scenario):
    """The DMA-BUF that each frame lay in."""
    return {line["frame"]: line["buffer"] for line in scenario.of_kind("captured")}


def surfaces_made(scenario):
    """How many calls to make surfaces there were, in the process that made most."""
    return max((fault["occurrence"] for fault in scenario.journal.faults if fault["target"].startswith("vaCreate")),
               default=0)


def most_surfaces(scenario):
    """How many surfaces there were at a time."""
    return max(entry["most"]["surface"] for entry in scenario.journal.entries if entry.get("kind") == "terminate")


def check_releases(scenario, frames):
    """A picture's memory is given back once, after the picture was coded."""
    released = {line["frame"]: line["us"] for line in scenario.of_kind("released")}
    scenario.expect("buffers given back", len(scenario.of_kind("released")), frames)
    ended = {sample["frame"]: entry["ended_us"] for sample, entry in zip(scenario.samples, scenario.pictures)}
    scenario.expect("frames whose memory was given back before they were coded",
                    [frame for frame in range(frames) if released.get(frame, 0) < ended[frame]], [])


def import_once(program, folder, *options, size=SIZE):
    """DMA-BUFs that come around again and again are imported once each, and nothing is copied."""
    frames, count = 50, 12
    scenario = run(program, folder, frames, "memory=dma-buf", f"buffers={count}", *options, size=size,
                   faults=COUNT_SURFACES)
    if scenario.complaints:
        return scenario.complaints
    check_releases(scenario, frames)
    surfaces, places = inputs(scenario), buffers(scenario)
    scenario.expect("buffers in use", len(set(places.values())), count)
    scenario.expect("surfaces that pictures were coded from", len(set(surfaces.values())), count)
    scenario.expect("pairs of buffer and surface",
                    len({(places[frame], surfaces[frame]) for frame in range(frames)}), count)
    scenario.require(surfaces_made(scenario) < frames, "surfaces were made for every frame")
    return scenario.complaints


def forget_the_oldest(program, folder, *options):
    """No more than so many DMA-BUFs stay imported; those that were given up are imported anew."""
    count = KEPT + 8
    frames = 2 * count
    scenario = run(program, folder, frames, "memory=dma-buf", f"buffers={count}", "b-frames=0", *options)
    if scenario.complaints:
        return scenario.complaints
    check_releases(scenario, frames)
    scenario.expect("buffers in use", len(set(buffers(scenario).values())), count)
    scenario.require(len(set(inputs(scenario).values())) > count, "every buffer was imported once only")
    # References and pictures that are on their way need some more.
    scenario.require(most_surfaces(scenario) <= KEPT + 40, f"{most_surfaces(scenario)} surfaces at a time")
    return scenario.complaints


def refuse_one(program, folder, *options):
    """A DMA-BUF that the driver refuses is copied each time, and that is told once; all others are imported."""
    frames, count = 40, 8
    scenario = run(program, folder, frames, "memory=dma-buf", f"buffers={count}", "b-frames=0", *options, copied=None,
                   faults=REFUSE_SECOND)
    if scenario.complaints:
        return scenario.complaints
    check_releases(scenario, frames)
    surfaces, places = inputs(scenario), buffers(scenario)
    refused = {frame for frame in range(frames) if places[frame] == places[1]}
    scenario.expect("refusals", len(scenario.journal.faults), 1)
    scenario.require(len(refused) > 1, "the buffer was not used again")
    scenario.expect("pictures copied", scenario.of_kind("end")[0]["copied"], len(refused))
    others = [frame for frame in range(frames) if frame not in refused]
    scenario.expect("surfaces of the others", len({surfaces[frame] for frame in others}), count - 1)
    scenario.require(not {surfaces[frame] for frame in refused} & {surfaces[frame] for frame in others},
                     "a picture was copied into memory of another")
    scenario.expect("times that it was told", scenario.ended.output.count(TOLD), 1)
    return scenario.complaints


def cancel(program, folder, *options):
    """What a cancelled session leaves in the device is read there until it is coded."""
    frames = 6
    scenario = Scenario(program, folder, f"frames={frames}", "memory=dma-buf", "b-frames=0", "depth=4", "end=cancel",
                        *options, faults="coded:*=delay:200ms")
    scenario.expect("status", scenario.ended.status, 0)
    scenario.complaints += [str(finding) for finding in scenario.journal.findings[:6]]
    released = {line["frame"]: line["us"] for line in scenario.of_kind("released")}
    scenario.expect("buffers given back", sorted(released), list(range(frames)))
    made = made_pictures(scenario, SIZE)
    coded = {made.index(entry["source_md5"]): entry["ended_us"] for entry in scenario.pictures
             if entry["source_md5"] in made}
    scenario.expect("pictures that changed while they were read", len(scenario.pictures) - len(coded), 0)
    scenario.require(bool(coded), "nothing was coded")
    scenario.expect("frames whose memory was given back before they were coded",
                    [frame for frame in sorted(coded) if released.get(frame, 0) < coded[frame]], [])
    return scenario.complaints


def read_in_place(program, folder, *options, size=SIZE, faults=COUNT_SURFACES):
    """Pages of the session's pool are told to the driver once, read where they lie, and filled again after that only."""
    frames = 40
    scenario = run(program, folder, frames, "memory=pool", *options, size=size, faults=faults)
    if scenario.complaints:
        return scenario.complaints
    surfaces = set(inputs(scenario).values())
    scenario.require(len(surfaces) < frames, "no page was used again")
    scenario.require(surfaces_made(scenario) < frames, "surfaces were made for every frame")
    return scenario.complaints


def refuse_pages(program, folder, *options):
    """A driver that refuses pages is not asked again: pictures are copied, and that is told once."""
    frames = 30
    scenario = run(program, folder, frames, "memory=pool", *options, copied=frames, faults="vaCreateSurfaces:1=status:0x2")
    scenario.expect("times that it was told", scenario.ended.output.count("cannot import their memory"), 1)
    return scenario.complaints


def fail_with_pages(program, folder, *options):
    """A driver that takes pages and fails over the first picture in them gets copies from the next encoder."""
    frames = 30
    scenario = run(program, folder, frames, "memory=pool", *options, copied=frames, faults="vaEndPicture:1=status:0x18")
    scenario.expect("encoders that failed", scenario.of_kind("end")[0]["failed"], 1)
    return scenario.complaints


def copy_without_room(program, folder, *options):
    """DMA-BUFs that end with the picture's last row, so that the last macroblocks lie partly behind them: the video
    processor copies them, or without one the CPU."""
    frames = 30
    words = ("memory=dma-buf", "room=no", *options)
    other = run(program, folder, frames, *words, size=(642, 358))
    scenario = run(program, folder, frames, *words, size=(642, 358), copied=frames, limits="video-processing=no")
    for each in (other, scenario):
        if not each.complaints:
            check_releases(each, frames)
    scenario.expect("times that it was told", scenario.ended.output.count(TOLD), 1)
    scenario.expect("times that the CPU's copies were told with a processor", other.ended.output.count(TOLD), 0)
    imported = sum(entry["imported"] for entry in other.journal.entries if entry["kind"] == "conversion")
    other.expect("pictures that the processor copied", imported, frames)
    return other.complaints + scenario.complaints


def copy_between_rows(program, folder, *options):
    """DMA-BUFs whose second plane begins within a row: Intel's newer driver would begin to read with the row, and is not
    given them; others are."""
    frames = 30
    words = ("memory=dma-buf", "gap=64", *options)
    other = run(program, folder, frames, *words)
    scenario = run(program, folder, frames, *words, copied=frames, vendor="Intel iHD driver for a test - 23.1.1")
    for each in (other, scenario):
        if not each.complaints:
            check_releases(each, frames)
    scenario.expect("times that it was told", scenario.ended.output.count(TOLD), 1)
    scenario.expect("times that the other driver's copies were told", other.ended.output.count(TOLD), 0)
    return other.complaints + scenario.complaints


def copy_rearranged(program, folder, *options):
    """DMA-BUFs with a plane for each component of 4:2:2 are copied into the packed surfaces of the driver."""
    frames = 30
    scenario = run(program, folder, frames, "memory=dma-buf", *YUV422, *options, copied=frames, limits="hevc=all")
    if not scenario.complaints:
        check_releases(scenario, frames)
        scenario.expect("times that it was told", scenario.ended.output.count(TOLD), 1)
    return scenario.complaints


def copy_once(program, folder, memory, *options, copies=1, **driver):
    """Pictures in the processor's memory are copied: as often as is told, into surfaces that are used again."""
    frames = 30
    scenario = run(program, folder, frames, f"memory={memory}", *options, copied=copies * frames, **driver)
    if not scenario.complaints:
        scenario.require(len(set(inputs(scenario).values())) < frames, "each picture has a surface of its own")
    return scenario.complaints


def all_memories(full):
    """Names, and functions of a program and a folder."""
    found = {}
    for isolation in ("in-process", "process"):
        words = f"isolation={isolation}"
        found[f"DMA-BUFs, {isolation}"] = (import_once, "b-frames=2", words)
        found[f"a DMA-BUF that is refused, {isolation}"] = (refuse_one, words)
        found[f"DMA-BUFs without room for macroblocks, {isolation}"] = (copy_without_room, words)
        found[f"DMA-BUFs whose planes begin within rows, {isolation}"] = (copy_between_rows, words)
        found[f"DMA-BUFs of 4:2:2 in planes, {isolation}"] = (copy_rearranged, words)
        found[f"DMA-BUFs of 10 bits, {isolation}"] = (import_once, *TEN_BITS, words)
        if full:
            found[f"DMA-BUFs of 642x358, {isolation}"] = (import_once, words, dict(size=(642, 358)))
            found[f"DMA-BUFs one at a time, {isolation}"] = (import_once, "b-frames=0", "depth=1", words)
            found[f"more DMA-BUFs than are kept, {isolation}"] = (forget_the_oldest, words)
    found["DMA-BUFs of a cancelled session"] = (cancel, "isolation=in-process")
    here = "isolation=in-process"
    found["the session's memory"] = (read_in_place, "b-frames=2", here)
    found["the session's memory of 10 bits"] = (read_in_place, *TEN_BITS, here)
    found["the session's memory of 642x358"] = (read_in_place, here, dict(size=(642, 358)))
    found["the session's memory, slowly"] = (read_in_place, "b-frames=0", "depth=4", here, dict(faults=SLOW))
    found["the session's memory, refused"] = (refuse_pages, here)
    found["the session's memory, taken in vain"] = (fail_with_pages, here)
    found["the session's memory, not taken"] = (
        copy_once, "pool", "b-frames=2", here, dict(limits="user-pointer=no"))
    found["the session's memory, process"] = (copy_once, "pool", "b-frames=2", "isolation=process")
    found["own memory"] = (copy_once, "owned", "isolation=in-process")
    found["own memory, process"] = (copy_once, "owned", "isolation=process", dict(copies=2))
    if full:
        found["own memory on AMD"] = (copy_once, "owned", "isolation=in-process", dict(copies=2, persona="amd"))
    else:
        found["more DMA-BUFs than are kept"] = (forget_the_oldest, "isolation=in-process")
    return found
