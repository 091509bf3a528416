# SPDX-License-Identifier: GPL-2.0-or-later
"""Pictures that have another format or size than the video: converted by the GPU where it can, by the processor where
it cannot, and alike."""

import hashlib
import json
import subprocess
from pathlib import Path

from runner.launch import run
from runner.places import build, client_environment
from scenario import Scenario

GIVEN_UP = "conversion of pictures"
FRAMES = 10
# Of what both paths make, of luma and chroma in dB: scaling filters differ at edges, rounding elsewhere.
LEAST_PSNR = 40, 34


def conversions(journal):
    """The driver's entries of what its processing unit has made, without those of test cards."""
    entries = [entry for entry in journal.entries if entry.get("kind") == "conversion"]
    return entries[1:]


def hashes(path, length):
    samples = Path(path).read_bytes()
    return [hashlib.md5(samples[start:start + length]).hexdigest() for start in range(0, len(samples), length)]


def in_place(program, folder, memory, form, length, *options, copied=0, **driver):
    """Every picture is converted as it was made, and that is what is coded; it is copied as often as it must be."""
    scenario = Scenario(program, folder, f"frames={FRAMES}", f"memory={memory}", f"format={form}", "b-frames=0",
                        *options, **driver)
    scenario.check_whole(FRAMES)
    if scenario.complaints:
        return scenario.complaints
    made = conversions(scenario.journal)
    scenario.expect("pictures converted by the encoder", scenario.of_kind("end")[0]["converted"], FRAMES)
    scenario.expect("pictures copied", scenario.of_kind("end")[0]["copied"], copied)
    scenario.expect("what was converted", [entry["source_md5"] for entry in made],
                    hashes(f"{scenario.output}.nv12", length))
    scenario.expect("what was coded", [entry["source_md5"] for entry in scenario.pictures],
                    [entry["target_md5"] for entry in made])
    scenario.expect("formats that were made", {entry["target_format"] for entry in made},
                    {"p010" if "bits=10" in options else "nv12"})
    scenario.expect("sources in memory of others", {entry["imported"] for entry in made}, {copied == 0})
    scenario.expect("adjustments", scenario.events("adjusted"), [])
    return scenario.complaints


def given_up(program, folder, converted, *options, failed=0, **driver):
    """No frame is lost with the processing unit; that it is not used any more is told."""
    scenario = Scenario(program, folder, f"frames={FRAMES}", "memory=owned", "format=bgra", "b-frames=0", *options,
                        **driver)
    scenario.expect("status", scenario.ended.status, 0)
    scenario.expect("frames", sorted(sample["frame"] for sample in scenario.samples), list(range(FRAMES)))
    if scenario.complaints:
        return scenario.complaints
    end = scenario.of_kind("end")[0]
    scenario.require(end["converted"] in converted, f"{end['converted']} pictures were converted by the encoder")
    scenario.expect("encoders that failed", end["failed"], failed)
    scenario.expect("times that it was told",
                    [event["property"] for event in scenario.events("adjusted")], [GIVEN_UP])
    return scenario.complaints


# Encodes on both paths, by the command.

class Clip:
    """A short clip in one format of pixels, without loss; without a container if it is raw."""

    def __init__(self, folder, form, size=(320, 180), is_raw=False):
        self.path = Path(folder) / f"{form}.{'raw' if is_raw else 'nut'}"
        size = "x".join(map(str, size))
        self.words = ["--input-pixel-format", form, "--input-size", size, "--input-fps", "25"] if is_raw else []
        self.decoding = ["-f", "rawvideo", "-pixel_format", form, "-video_size", size, "-framerate", "25"]
        if not self.path.exists():
            subprocess.run(["ffmpeg", "-y", "-v", "error", "-f", "lavfi", "-i", f"testsrc2=size={size}:rate=25",
                            "-frames:v", "5", "-pix_fmt", form, "-c:v", "rawvideo",
                            *(["-f", "rawvideo"] if is_raw else []), self.path], check=True)


def encode(command, clip, output, limits, options, isolation="in-process", faults=""):
    journal = output.with_suffix(".journal")
    journal.unlink(missing_ok=True)
    environment = client_environment(build(), limits=limits, faults=faults, journal=journal)
    words = [str(command), "encode", str(clip.path), "-o", str(output), "--overwrite", "--json", "--require-hardware",
             "--isolation", isolation, "--qp", "12", *clip.words, *options]
    ended = run(words, environment, 120)
    document = json.loads(ended.output[ended.output.index("{"):]) if ended.status == 0 else None
    found = [line for line in journal.read_text().splitlines() if '"finding"' in line] if journal.exists() else []
    return ended, document, found


def psnr(one, other, *decoding):
    """Of luma, and of the worse chroma, in dB; with options by which the other one is read."""
    filters = "[1:v]format=yuv420p[other];[0:v][other]psnr" if decoding else "psnr"
    command = ["ffmpeg", "-v", "info", "-i", one, *decoding, "-i", other, "-lavfi", filters, "-f", "null", "-"]
    compared = subprocess.run(command, capture_output=True, text=True).stderr
    words = dict(word.split(":") for word in compared.split("PSNR ", 1)[1].split("\n")[0].split())
    return float(words["y"]), min(float(words["u"]), float(words["v"]))


def pixel_format(path):
    return subprocess.run(["ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries", "stream=pix_fmt", "-of",
                           "csv=p=0", path], capture_output=True, text=True).stdout.strip()


def alike(program, folder, form, *options):
    """The decoded output of both paths, compared."""
    folder, complaints = Path(folder), []
    clip = Clip(folder, form)
    outputs = []
    for name, limits, count in (("gpu", "", 5), ("processor", "video-processing=no", 0)):
        outputs.append(folder / f"{name}.{'hevc' if 'hevc' in options else 'h264'}")
        ended, document, found = encode(Path(program).parent / "vatoolbox", clip, outputs[-1], limits, options)
        complaints += found[:4]
        if ended.status != 0:
            return complaints + [f"{name}: {ended.description}: {ended.output[-400:]}"]
        if document["frames"]["convertedByEncoder"] != count:
            complaints.append(f"{name}: {document['frames']}, expected {count} converted by the encoder")
    wanted = "yuv420p10le" if "10" in options else "yuv420p"
    if {pixel_format(output) for output in outputs} != {wanted}:
        complaints.append(f"{[pixel_format(output) for output in outputs]}, expected {wanted}")
    found = psnr(*outputs)
    if any(one < least for one, least in zip(found, LEAST_PSNR)):
        complaints.append(f"PSNR {found} dB, expected at least {LEAST_PSNR}")
    return complaints


def read_in_place(program, folder, form, size, isolation, limits=""):
    """Pictures of raw files are read as they are to where the device finds them: in pages if the driver takes some."""
    folder, width, height = Path(folder), *size
    clip, output = Clip(folder, form, size, is_raw=True), folder / "raw.h264"
    command, options = Path(program).parent / "vatoolbox", ("--b-frames", "off")
    ended, document, complaints = encode(command, clip, output, limits, options, isolation)
    if ended.status != 0:
        return complaints + [f"{ended.description}: {ended.output[-400:]}"]
    # The first picture is read before there is an encoder, and copied as others are.
    copied = (2 if isolation == "process" else 1) + (4 if "user-pointer=no" in limits else 0)
    if document["frames"]["copied"] != copied:
        complaints.append(f"{document['frames']}, expected {copied} copied")
    kind, length = ("picture", width * height * 3 // 2) if form == "nv12" else ("conversion", width * height * 4)
    entries = [json.loads(line) for line in output.with_suffix(".journal").read_text().splitlines()]
    # Those of test encodes and of a test card come first.
    found = [entry["source_md5"] for entry in entries if entry.get("kind") == kind][-5:]
    if found != hashes(clip.path, length):
        complaints.append(f"the device got {found}, and the file has {hashes(clip.path, length)}")
    return complaints


def given_up_in_file(program, folder, faults, converted):
    """Pictures that were left in a raw file for a processing unit are converted without it, and none is lost."""
    folder = Path(folder)
    clip, output = Clip(folder, "bgra", (176, 144), is_raw=True), folder / "raw.h264"
    command, options = Path(program).parent / "vatoolbox", ("--b-frames", "off")
    ended, document, complaints = encode(command, clip, output, "", options, "process", faults)
    if ended.status != 0:
        return complaints + [f"{ended.description}: {ended.output[-400:]}"]
    frames = document["frames"]
    if (frames["out"], frames["convertedByEncoder"]) != (5, converted):
        complaints.append(f"{frames}, expected 5 out and {converted} converted by the encoder")
    decoded = psnr(output, clip.path, *clip.decoding)
    if any(one < least for one, least in zip(decoded, LEAST_PSNR)):
        complaints.append(f"PSNR {decoded} dB, expected at least {LEAST_PSNR}")
    return complaints


NV12, BGRA, YUY2, P010 = 176 * 144 * 3 // 2, 176 * 144 * 4, 176 * 144 * 2, 176 * 144 * 3
MAIN10 = "codec=hevc", "bits=10"


def all_conversions(full):
    """Names, and functions of programs and a folder."""
    found = {}
    for isolation in ("in-process", "process"):
        words = f"isolation={isolation}"
        found[f"BGRA in DMA-BUFs, {isolation}"] = (in_place, "dma-buf", "bgra", BGRA, words)
        found[f"YUY2 in DMA-BUFs, {isolation}"] = (in_place, "dma-buf", "yuy2", YUY2, words)
    found["10 bits in DMA-BUFs"] = (in_place, "dma-buf", "p010", P010, "isolation=in-process")
    for form, length in (("nv12", NV12), ("bgra", BGRA), ("yuy2", YUY2)):
        found[f"{form} of 8 bits becoming 10, in DMA-BUFs"] = (
            in_place, "dma-buf", form, length, "isolation=in-process", *MAIN10)
    found["another size of 10 bits in DMA-BUFs"] = (
        in_place, "dma-buf", "p010", 320 * 180 * 3, "size=320x180", "isolation=in-process", *MAIN10)
    found["another size in DMA-BUFs"] = (
        in_place, "dma-buf", "bgra", 320 * 180 * 4, "size=320x180", "isolation=in-process")
    found["BGRA in pages"] = (in_place, "pool", "bgra", BGRA, "isolation=in-process")
    found["BGRA in own memory"] = (
        in_place, "owned", "bgra", BGRA, "isolation=in-process", dict(copied=FRAMES))
    found["BGRA on AMD"] = (
        in_place, "dma-buf", "bgra", BGRA, "isolation=in-process", dict(persona="amd"))
    found["BGRA on a low-power device"] = (
        in_place, "dma-buf", "bgra", BGRA, "isolation=in-process", dict(persona="low-power"))
    for isolation in ("in-process", "process"):
        words = f"isolation={isolation}"
        found[f"wrong pictures, {isolation}"] = (given_up, [0], words, dict(faults="processed:*=negative"))
        # A test card, and then two pictures per frame: this one is to be converted.
        found[f"a refused picture, {isolation}"] = (given_up, [4], words, dict(faults="vaEndPicture:10=status:0x18"))
    found["no processing context"] = (
        given_up, [0], "isolation=process", dict(faults="vaCreateContext:2=status:0x2"))
    found["a lost device"] = (given_up, range(1, FRAMES), "isolation=process",
                              dict(faults="processed:6=device-lost", failed=1))
    found["a crash"] = (given_up, range(1, FRAMES), "isolation=process", dict(faults="processed:6=segv", failed=1))
    found["no format for BGRA"] = (
        given_up, [0], "isolation=in-process", dict(limits="formats=nv12,yuy2"))
    for form in ("nv12", "bgra"):
        for isolation in ("in-process", "process"):
            found[f"{form} in a raw file, {isolation}"] = (read_in_place, form, (176, 144), isolation)
        found[f"{form} in a raw file of 642x358"] = (read_in_place, form, (642, 358), "in-process")
        found[f"{form} in a raw file, without pages"] = (
            read_in_place, form, (642, 358), "process", "user-pointer=no")
    found["wrong pictures of a raw file"] = (given_up_in_file, "processed:*=negative", 0)
    found["a refused picture of a raw file"] = (given_up_in_file, "vaEndPicture:6=status:0x18", 2)
    fits = ((), ("--size", "160x120"), ("--size", "160x120", "--fit", "aspect-fill"),
            ("--size", "160x120", "--fit", "stretch"), ("--size", "640x360"))
    # What has the encoder's format and size, or only other planes, is not converted by the unit.
    for form in ("bgra", "yuyv422", "p010le", "nv12", "yuv420p"):
        for options in fits if full or form in ("bgra", "nv12") else fits[:2]:
            if options or form not in ("nv12", "yuv420p"):
                found[" ".join([form, "on both paths", *options])] = (alike, form, *options)
    main10 = ("--codec", "hevc", "--bit-depth", "10")
    for form in ("bgra", "nv12", "p010le"):
        for options in fits if full or form == "p010le" else fits[1:2]:
            if options or form != "p010le":
                found[" ".join([form, "to 10 bits on both paths", *options])] = (alike, form, *options, *main10)
    return found
