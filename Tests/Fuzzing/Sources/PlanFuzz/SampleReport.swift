// SPDX-License-Identifier: GPL-2.0-or-later

/// A report of one run, as JSON.
let sampleReport = Array(
    """
    {"clips": [{"bitDepth": 8, "color": "limited range, matrix 2, primaries 2, transfer 2 of H.273", "digest": \
    "fnv1a64:bbe069ff09471187", "frameCount": 300, "frameRate": "30", "height": 720, "id": "clip", "pixelFormat": \
    "i420", "source": "clip.y4m", "width": 1280}], "density": [], "duration": 31.4832, "encoders": [{"codec": \
    "h264", "id": "x264 veryfast", "isFakeNode": false, "isInHelper": false, "isReferenceDriver": false, "kind": \
    "software", "name": "x264 core 164", "preset": "veryfast", "settings": {"rc": "abr"}, "transfer": \
    "in-place"}], "environment": {"components": [{"name": "vatoolbox", "version": "0.1.0"}, {"detail": "its \
    libraries", "name": "ffmpeg", "version": "5.1.9-0+deb12u1"}], "containment": ["docker"], "gaps": ["no \
    governor"], "gpus": [], "kernel": "6.1", "loadAverage": 1.03, "memoryBytes": 8589934592, "operatingSystem": \
    "Debian GNU/Linux 12 (bookworm)", "processor": {"cores": 2, "logicalProcessors": 2, "microcode": "0x1000065", \
    "model": "AMD EPYC", "usableProcessors": 2}, "variables": {}}, "format": 1, "isComplete": true, "plan": \
    {"bitDepth": 8, "clips": ["clip.y4m"], "encoders": ["x264:veryfast"], "frameRate": "30", "frames": 300, \
    "modes": ["throughput"], "name": "plan.json", "pictureMemory": 536870912, "points": ["2M"], "repeats": 5, \
    "sizes": ["1280x720"], "warmups": 0}, "program": "vatoolbox 0.1.0", "remarks": [{"message": "a curve needs \
    four points; there are 1", "weight": "note"}, {"message": "nothing warms up before the first repeat", \
    "weight": "note"}], "runs": [{"clip": "clip", "encoder": "x264 veryfast", "mode": "throughput", "point": "2M", \
    "repetition": 1, "result": {"value": {"bytes": 2500917, "copiedPictures": 0, "deviations": [], "energy": \
    {"absent": "/sys/class/powercap: No such file or directory; /sys/class/hwmon: No such file or directory"}, \
    "framesDropped": 0, "framesIn": 300, "framesOut": 300, "gpuBusy": {"absent": "no GPU is open in the processes \
    that encode"}, "largestFrame": 92159, "latency": {"histogram": {"counts": [5, 127, 92, 55, 18, 3], "edges": \
    [0.2154, 0.261, 0.3162, 0.3831, 0.4642, 0.5623, 0.6813]}, "maximum": 0.5911, "p50": 0.3227, "p90": 0.43, \
    "p99": 0.5623}, "peakMemory": {"value": 172146688}, "processorTime": {"system": 0.3059, "user": 4.8168}, \
    "quality": {"frames": 300, "psnr": {"value": {"all": 30.5752, "u": 30.5814, "v": 30.5079, "y": 30.5907}}, \
    "ssim": {"value": {"all": 0.5944, "u": 0.6191, "v": 0.6201, "y": 0.5818}}, "vmaf": {"absent": "/usr/bin/ffmpeg \
    (ffmpeg 5.1.9-0+deb12u1) has no filter libvmaf"}, "xpsnr": {"absent": "/usr/bin/ffmpeg (ffmpeg \
    5.1.9-0+deb12u1) has no filter xpsnr"}}, "timeToFirstSample": 0.3319, "wallTime": 5.0628, "windows": [2801336, \
    1095256, 1979472]}}, "startedAfter": 1.8231}], "startedAt": "2026-01-01T00:00:00Z"}
    """.utf8
)
