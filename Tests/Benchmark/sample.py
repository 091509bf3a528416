# SPDX-License-Identifier: GPL-2.0-or-later
"""A report of a benchmark that never ran, in the form of docs/bench-report.md, with everything that a page must cope with:
many encoders, a fake GPU, failed runs, dropped frames, missing figures, and names that are markup."""

import json
import math
import random

HOSTILE = "<script>alert('clip')</script>&\".y4m"
POINTS = ("1M", "2M", "4M", "8M")
RATES = {"1M": 1e6, "2M": 2e6, "4M": 4e6, "8M": 8e6}
# Name: codec, preset, frames per second at 720p, gain in dB against x264 medium, latency in seconds, hardware?
ENCODERS = {
    "x264 ultrafast": ("h264", "ultrafast", 410, -2.6, 0.012, False),
    "x264 veryfast": ("h264", "veryfast", 240, -0.9, 0.35, False),
    "x264 medium": ("h264", "medium", 96, 0.0, 0.9, False),
    "x264 slow": ("h264", "slow", 51, 0.35, 1.1, False),
    "x265 ultrafast": ("hevc", "ultrafast", 120, 0.1, 0.5, False),
    "x265 medium": ("hevc", "medium", 28, 1.6, 1.3, False),
    "renderD128 H.264 full": ("h264", None, 520, -0.5, 0.009, True),
    "renderD128 H.264 low power": ("h264", None, 830, -1.2, 0.006, True),
    "renderD128 HEVC full": ("hevc", None, 390, 1.0, 0.011, True),
}


def histogram(values):
    least, per_decade = 1e-5, 12
    steps = [math.floor(math.log10(max(value, least) / least) * per_decade) for value in values]
    first, last = min(steps), max(steps)
    counts = [steps.count(step) for step in range(first, last + 1)]
    return {"counts": counts, "edges": [least * 10 ** (step / per_decade) for step in range(first, last + 2)]}


def latency(draw, typical):
    values = sorted(typical * draw.lognormvariate(0, 0.25) for _ in range(300))
    at = lambda share: values[min(int(share * len(values)), len(values) - 1)]
    return {"p50": at(0.5), "p90": at(0.9), "p99": at(0.99), "maximum": values[-1], "histogram": histogram(values)}


def planes(value, other):
    return {"value": {"y": value, "u": value + other, "v": value + other, "all": value + other / 3}}


def measurement(draw, clip, encoder, point, mode, repetition, has_gpu_counters):
    codec, _, speed, gain, typical, is_hardware = ENCODERS[encoder]
    frames, pixels = clip["frameCount"], clip["width"] * clip["height"] / (1280 * 720)
    rate = RATES[point] * draw.uniform(0.97, 1.03)
    fps = speed / pixels * (1 - 0.06 * math.log2(RATES[point] / 1e6)) * draw.gauss(1, 0.012)
    if mode != "throughput":
        fps = min(fps, 30)
    wall = frames / fps
    psnr = 31 + 2.6 * math.log2(rate / 1e6 / pixels) - 0.11 * math.log2(rate / 1e6) ** 2 + gain
    cpu = wall * (0.22 if is_hardware else 7.4 if mode == "throughput" else 30 / speed * 7.4)
    absent = {"absent": "taken from the first repeat"}
    quality = {"frames": frames if repetition == 1 else 0, "psnr": absent, "ssim": absent, "vmaf": absent,
               "xpsnr": absent}
    if repetition == 1:
        quality |= {"psnr": planes(psnr, 3.1), "ssim": planes(1 - 10 ** (-(psnr - 10) / 15), 0.004),
                    "vmaf": {"value": {"mean": 100 / (1 + math.exp(-(psnr - 31) / 3)), "harmonicMean": 70,
                                       "minimum": 40, "model": "vmaf_v0.6.1"}},
                    "xpsnr": {"absent": "this ffmpeg has no filter xpsnr"}}
    busy = {"value": {"video": wall * 0.9, "render": wall * 0.2}}
    return {"value": {
        "wallTime": wall, "framesIn": frames, "framesOut": frames, "framesDropped": 0,
        "timeToFirstSample": typical + 0.02, "latency": latency(draw, typical if mode == "throughput" else typical / 6),
        "processorTime": {"user": cpu * 0.93, "system": cpu * 0.07}, "peakMemory": {"value": 210_000_000},
        "copiedPictures": frames if is_hardware else 0, "bytes": int(rate / 8 * frames / 30),
        "largestFrame": int(rate / 8 / 30 * 9), "quality": quality,
        "windows": [rate * draw.gauss(1, 0.04 if is_hardware else 0.16) for _ in range(frames // 30)],
        "gpuBusy": busy if is_hardware and has_gpu_counters else {"absent": "no GPU takes part"},
        "energy": {"value": {"package-0": wall * (21 if is_hardware else 64)}},
        "deviations": [],
    }}


def density(encoder, clip):
    speed, is_hardware = ENCODERS[encoder][2], ENCODERS[encoder][5]
    streams = int(speed / 30 * 1.1)
    trials = [{"streams": count, "isKept": count <= streams, "wallTime": 10.0,
               "results": [{"share": 1.0 if count <= streams else 0.93, "framesDropped": 0, "latencyP99": 0.4}] * count,
               "processorTime": {"user": 60.0, "system": 4.0}, "peakMemory": {"value": 200_000_000 * max(count, 1)},
               "gpuBusy": {"absent": "no GPU takes part"}, "energy": {"value": {"package-0": 240.0 if is_hardware else 650.0}}}
              for count in (1, streams, streams + 1) if count]
    return {"clip": clip, "encoder": encoder, "point": "2M", "streams": streams, "isLeastEstimate": False,
            "limit": "the rate: 93 % of 30 frames per second", "trials": trials}


def report(hostile=True, seed=1, slower=1.0):
    """slower: by which factor x264 medium takes longer than in other reports."""
    draw = random.Random(seed)
    clips = [{"id": "mixed-1280x720", "source": "generated", "content": "mixed", "width": 1280, "height": 720,
              "frameRate": "30", "frameCount": 300, "pixelFormat": "I420", "bitDepth": 8,
              "color": "limited range, BT.709", "digest": "fnv1a64:0123456789abcdef"}]
    if hostile:
        clips.append(clips[0] | {"id": HOSTILE, "source": "clips/" + HOSTILE, "width": 1920, "height": 1080,
                                 "digest": "fnv1a64:fedcba9876543210"})
        del clips[1]["content"]
    encoders = [{
        "id": name, "kind": "hardware" if facts[5] else "software", "codec": facts[0],
        "name": "VA-API" if facts[5] else name.partition(" ")[0], "settings": {"gop": "60", "bFrames": "2"},
        "transfer": "upload" if facts[5] else "in-place", "isInHelper": facts[5], "isFakeNode": facts[5] and hostile,
        "isReferenceDriver": facts[5] and hostile,
    } | ({"preset": facts[1]} if facts[1] else {}) | ({
        "device": "/dev/dri/renderD128", "driver": "Intel iHD driver 25.1.0",
        "entrypoint": "EncSliceLP" if name.endswith("low power") else "EncSlice"} if facts[5] else {})
        for name, facts in ENCODERS.items()]
    runs, clock = [], 0.0
    modes = ["throughput", "low-latency"]
    for mode in modes:
        for repetition in range(0, 4):
            for clip in clips:
                for point in POINTS:
                    for encoder in ENCODERS:
                        result = measurement(draw, clip, encoder, point, mode, repetition, not hostile)
                        value = result["value"]
                        if encoder == "x264 medium":
                            value["wallTime"] *= slower
                        if hostile and encoder == "x265 medium" and mode == "low-latency" and point == "8M":
                            value |= {"framesOut": value["framesIn"] - 100, "framesDropped": 100}
                        if hostile and encoder == "x265 medium" and clip is clips[1] and repetition == 2:
                            result = {"absent": "the encoder <b>crashed</b>"}
                        runs.append({"clip": clip["id"], "encoder": encoder, "point": point, "mode": mode,
                                     "repetition": repetition, "startedAfter": clock, "result": result})
                        clock += value["wallTime"]
    return {
        "format": 1, "program": "vatoolbox 0.0.0", "startedAt": "2026-03-01T09:30:00Z", "duration": clock,
        "isComplete": True, "clips": clips, "encoders": encoders, "runs": runs, "remarks": [],
        "density": [density(encoder, clips[0]["id"]) for encoder in ENCODERS],
        "environment": {
            "processor": {"model": "12th Gen Intel(R) Core(TM) i5-12500", "cores": 6, "logicalProcessors": 12,
                          "usableProcessors": 12, "governor": "powersave" if hostile else "performance",
                          "maximumFrequency": 4.6e9},
            "memoryBytes": 33_500_000_000, "operatingSystem": "Debian GNU/Linux 12 (bookworm)",
            "kernel": "6.12.9-amd64", "containment": [], "loadAverage": 0.1,
            "gpus": [{"node": "/dev/dri/renderD128", "name": "Intel UHD Graphics 770", "busIdentity": "8086:4690",
                      "kernelDriver": "i915", "driver": "Intel iHD driver 25.1.0",
                      "firmware": {"guc": "70.20.0", "huc": "7.9.3"}, "isFake": hostile}],
            "components": [{"name": "x264", "version": "0.164.3095"}, {"name": "x265", "version": "3.5"},
                           {"name": "libva", "version": "2.17.0"},
                           {"name": "ffmpeg", "version": "5.1.6", "detail": "with libvmaf"}],
            "variables": {"LIBVA_DRIVER_NAME": "iHD"}, "gaps": []},
        "plan": {"name": "sample", "clips": ["mixed"] + (["clips/" + HOSTILE] if hostile else []), "sizes": ["1280x720"],
                 "frameRate": "30", "frames": 300, "bitDepth": 8, "pictureMemory": 536870912, "encoders": ["x264:medium"], "points": list(POINTS), "modes": modes,
                 "repeats": 3, "warmups": 1, "price": 0.35,
                 "density": {"mode": "real-time", "rateShare": 0.98, "latencyBound": 1.0, "seconds": 10.0, "maximumStreams": 64,
                             "confirmations": 3}},
    }


def write(path, **options):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(report(**options), file)
