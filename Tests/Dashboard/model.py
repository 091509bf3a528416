# SPDX-License-Identifier: GPL-2.0-or-later
"""What the mock service holds: devices, queues and jobs, some with hostile names, and how jobs go on."""

import datetime
import hashlib
import random
import subprocess
import threading
import time

HOSTILE = "<img src=x onerror=alert(1)>.mp4"
HOSTILE_LABEL = "\"><script>alert(2)</script>"
ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
HOOK = "https://hooks.example.com/encoded"
ENDED = ("succeeded", "failed", "cancelled")
REMEDY = "Add the user to the group of the node, then log in again: sudo usermod -aG render encoder"

def stamp(seconds=None):
    moment = datetime.datetime.fromtimestamp(time.time() if seconds is None else seconds, datetime.timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


SUSPENDED_UNTIL = stamp(time.time() + 30)
DEVICES = [
    {"node": "/dev/dri/renderD128", "kernelDriver": "i915", "pciAddress": "0000:00:02.0", "usable": True,
     "driver": "Intel iHD driver 23.1.1", "vendor": "Intel UHD Graphics 770", "sessions": 2,
     "encodes": ["H.264 Main", "H.264 High", "HEVC Main", "HEVC Main 10"],
     "decodes": ["H.264 High", "HEVC Main", "HEVC Main 10", "VP9 Profile 0"], "remedies": []},
    {"node": "/dev/dri/renderD129", "kernelDriver": "amdgpu", "pciAddress": "0000:03:00.0", "usable": False,
     "sessions": 0,
     "encodes": [], "decodes": [], "cause": "permission-denied",
     "explanation": "The process may not open /dev/dri/renderD129: it belongs to the group render (105), mode 0660.",
     "remedies": [REMEDY, "In a container: docker run --device /dev/dri/renderD129 --group-add 105 vatoolbox"]},
    {"node": "/dev/dri/renderD130", "kernelDriver": "xe", "pciAddress": "0000:04:00.0", "usable": True, "sessions": 0,
     "driver": "Intel iHD driver 23.1.1", "vendor": "Intel Arc A380", "suspended": SUSPENDED_UNTIL,
     "encodes": ["H.264 High", "HEVC Main"], "decodes": ["H.264 High"], "cause": "suspended",
     "explanation": "Three sessions failed in ten minutes; it is tried again in 30 s.",
     "remedies": ["Look for messages of the kernel: sudo dmesg --ctime"]},
]


class Refusal(Exception):
    """A problem document."""

    def __init__(self, status, code, detail, **more):
        super().__init__(detail)
        self.status = status
        self.document = {"type": f"/v1/errors/{code}", "title": code.replace("-", " "), "status": status, "code": code,
                         "detail": detail, "requestID": "mock", **more}


def make_video(seconds=3):
    """A film with sound that Chromium plays."""
    command = ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", f"testsrc2=size=640x360:rate=25:duration={seconds}",
               "-f", "lavfi", "-i", f"sine=frequency=440:duration={seconds}", "-c:v", "libx264", "-pix_fmt", "yuv420p",
               "-c:a", "aac", "-f", "mp4", "-movflags", "frag_keyframe+empty_moov+default_base_moof", "-"]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout


def make_picture(color):
    command = ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", f"color={color}:size=320x180:duration=0.1", "-frames:v",
               "1",
               "-f", "image2", "-c:v", "png", "-"]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout


def report(name, size=52_428_800, duration=60.0, height=1080):
    return {"format": "mov,mp4", "duration": duration, "bitRate": int(size * 8 / duration), "size": size,
            "problems": [],
            "tracks": [{"index": 0, "kind": "video", "codec": "hevc", "width": height * 16 // 9, "height": height,
                        "frameRate": "25/1", "bitDepth": 10, "chroma": "4:2:0", "dynamicRange": "HDR10",
                        "bitRate": 6_400_000},
                       {"index": 1, "kind": "audio", "codec": "aac", "sampleRate": 48000, "channels": 2,
                        "layout": "stereo",
                        "bitRate": 128_000, "language": "eng"},
                       {"index": 2, "kind": "subtitles", "codec": "mov_text", "language": "deu"}]}


class Model:
    """All state, behind one lock. `changes` is notified with each event."""

    def __init__(self, pace=1.0, history=130):
        self.random = random.Random(27)
        self.changes = threading.Condition(threading.RLock())
        self.pace = pace
        self.started = time.time()
        self.draining = False
        self.events, self.jobs, self.uploads, self.answered = [], {}, {}, {}
        self.files, self.logs, self.deliveries = {}, {}, {}
        self.queues = {"default": {"paused": False, "mostRunning": 3, "windows": [], "weights": {}},
                       "overnight": {"paused": False, "windows": [{"days": [1, 2, 3, 4, 5], "start": 1320,
                                                                   "length": 480}],
                                     "weights": {}},
                       "archive": {"paused": True, "windows": [], "weights": {"film": 2}}}
        self.live = self.live_jobs()
        self.presets = [{"name": "web", "version": 3, "description": "H.264 and AAC in MP4, 1080p",
                         "createdAt": stamp(),
                         "outputs": [{"kind": "file", "name": "{input}.mp4"}]}]
        self.video, self.picture = make_video(), make_picture("teal")
        self.seed(history)
        self.stopping = threading.Event()
        threading.Thread(target=self.run, daemon=True).start()

    # Making jobs

    def live_jobs(self):
        """Live jobs in several states."""
        def output(address, state, **more):
            return {"address": address, "state": state, "reconnects": 0, "sentFrames": 0, "sentBytes": 0, "rate": 0,
                    "queueAge": 0.0, "droppedFrames": {"age": 0, "disconnected": 0, "before-key-frame": 0}} | more

        def job(number, name, state, outputs, **more):
            request = {"name": name, "inputs": [{"url": "srt://encoder.example:9000?passphrase=***", "loop": False},
                                                {"path": f"media/{HOSTILE}", "loop": True}, {"test": {}}],
                       "outputs": [{"url": one["address"]} for one in outputs] + [{"hls": {}}]}
            return {"id": number * 26, "state": state, "request": request, "input": 0, "createdAt": stamp(),
                    "restarts": 0, "messages": []} | more

        outputs = [output("rtmps://live.example/app/***", "live", sentFrames=9000, sentBytes=90_000_000,
                          rate=2_412_000, roundTrip=0.042),
                   output("srt://backup.example:9000?latency=200&streamid=***", "waiting", reconnects=3,
                          error="no connection: 192.0.2.1: Connection refused",
                          droppedFrames={"age": 12, "disconnected": 120, "before-key-frame": 5}),
                   output("hls:service", "live", sentFrames=9000, sentBytes=90_000_000, rate=2_398_000, queueAge=0.31)]
        statistics = {"time": 300.5, "frames": 9012, "repeated": 0, "bitrate": 2_400_000, "ceiling": 4_000_000,
                      "encoder": {"name": "vaapi", "codec": "h264", "device": "/dev/dri/renderD128"},
                      "outputs": outputs,
                      "inputs": [{"name": name, "active": name == "a", "pictures": 1, "losses": 0} for name in "abc"]}
        failure = {"code": "input-output", "message": "no connection: 192.0.2.1: Connection refused", "remedies": [],
                   "retriable": True}
        return [job("3", f"Main stage {HOSTILE}", "running", outputs[:2], statistics=statistics),
                job("2", "Side stage", "waiting", outputs[:1], failure=failure, restarts=2,
                    nextStart=stamp(time.time() + 8)),
                job("1", "Yesterday", "ended", outputs[:1], endedAt=stamp(self.started - 80_000))]

    def identifier(self):
        return "".join(self.random.choice(ALPHABET) for _ in range(26))

    def submit(self, request, created=None):
        with self.changes:
            outputs = request["outputs"] or [{"kind": "file", "name": "preset.mp4"}]
            job = {"id": self.identifier(), "state": "waiting", "cancelRequested": False,
                   "queue": request.get("queue", "default"),
                   "priority": request.get("priority", 50), "share": request.get("share", ""),
                   "labels": request.get("labels", {}), "request": request, "createdAt": stamp(created), "attempts": [],
                   "warnings": [], "outputs": [{"index": index, "kind": one["kind"], "name": one["name"],
                                                "state": "waiting",
                                                "files": []} for index, one in enumerate(outputs)]}
            self.jobs[job["id"]] = job
            self.logs[job["id"]] = "queued\n"
            self.tell(job, "waiting", created)
            return job

    def tell(self, job, kind, moment=None, data=None):
        with self.changes:
            self.events.append({"number": len(self.events) + 1, "time": stamp(moment), "job": job["id"], "type": kind,
                                "data": data or {}})
            self.changes.notify_all()

    def seed(self, history):
        now = time.time()
        names = ["interview.mov", "trailer-4k.mp4", "lecture-07.mkv", "b-roll drone 3.mov", "podcast-ep-112.mkv",
                 "promo.mp4"]
        for number in range(history):
            name = f"{number:03d}-{names[number % len(names)]}"
            job = self.plain(name, now - 90_000 + number * 600, labels={"batch": str(number // 20)})
            self.finish(job, now - 89_800 + number * 600, ["succeeded", "succeeded", "succeeded", "failed",
                                                           "cancelled"][number % 5])
        self.seed_special(now)
        self.seed_waiting(now)
        for name, fraction, speed in (("conference-keynote.mov", 0.42, 0.0004), (HOSTILE, 0.71, 0.0002)):
            job = self.plain(name, now - 400)
            self.begin(job, now - 300, speed)
            for step in range(60):
                self.advance(job, fraction * (step + 1) / 60, now - 300 + 5 * step)
        self.jobs[job["id"]]["outputs"][0]["playable"] = self.store(job, "preview.mp4", self.video, "video/mp4")["url"]

    def plain(self, name, created, labels=None, queue="default", outputs=None, **more):
        stem = name.rsplit(".", 1)[0].replace("/", "_")
        film = {"kind": "file", "name": f"{stem}.mp4", "video": {"codec": "auto"}, "audio": {"codec": "auto"}}
        request = {"input": {"path": f"media/{name}"}, "outputs": outputs or [film], "queue": queue,
                   "labels": labels or {}, **more}
        return self.submit(request, created)

    def seed_special(self, now):
        ladder = self.plain("documentary.mov", now - 4000, labels={"customer": HOSTILE_LABEL}, outputs=[
            {"kind": "hls", "name": "show.m3u8", "ladder": [{"height": 1080}, {"height": 720}]},
            {"kind": "thumbnails", "name": "documentary-%d.png"}], webhook={"url": HOOK})
        self.finish(ladder, now - 3500, "succeeded")
        self.deliveries[ladder["id"]] = [
            {"id": "d1", "event": 3, "type": "started", "url": HOOK, "state": "delivered", "status": 204, "attempts": 1,
             "createdAt": stamp(now - 3900), "deliveredAt": stamp(now - 3900)},
            {"id": "d2", "event": 90, "type": "succeeded", "url": HOOK, "state": "failed", "status": 503, "attempts": 6,
             "createdAt": stamp(now - 3500), "lastAttemptAt": stamp(now - 3000),
             "error": "the receiver answered 503 six times"}]
        broken = self.plain("damaged-tape.ts", now - 2000, labels={"customer": "blue"})
        self.finish(broken, now - 1900, "failed")
        good = self.plain("holiday.mov", now - 900, labels={"customer": "blue"})
        self.finish(good, now - 700, "succeeded")
        good["warnings"] = ["The input has 10 bits; H.264 keeps 8."]

    def seed_waiting(self, now):
        reasons = [("default", {"reason": "demand", "message": "Every worker that could take it is busy.",
                                "position": 1}),
                   ("default", {"reason": "behind", "message": "One job is before it.", "position": 2}),
                   ("overnight", {"reason": "queue-closed", "message": "The queue opens at 22:00.", "position": 1,
                                  "opensAt": stamp(now + 7 * 3600)}),
                   ("archive", {"reason": "queue-paused", "message": "The queue is paused.", "position": 1}),
                   ("archive", {"reason": "queue-paused", "message": "The queue is paused.", "position": 2})]
        for number, (queue, waiting) in enumerate(reasons):
            job = self.plain(f"reel-{number + 1:02d}.mxf", now - 300 + number, queue=queue)
            job["waiting"] = waiting
            job["held"] = True

    # How a job goes on

    def begin(self, job, moment=None, speed=None):
        with self.changes:
            job.update(state="running", startedAt=stamp(moment))
            job.pop("waiting", None)
            job["speed"] = speed
            encoder = {"name": "h264_vaapi", "codec": "h264", "profile": "high", "device": "/dev/dri/renderD128",
                       "driver": "Intel iHD driver 23.1.1", "switches": 0,
                       "reason": "the first GPU that passed its test encode"}
            number = len(job["attempts"]) + 1
            for output in job["outputs"]:
                output.update(state="running", encoder=encoder)
            job["attempts"].append({"number": number, "output": 0, "worker": "node-1/1", "startedAt": stamp(moment),
                                    "encoder": encoder})
            self.logs[job["id"]] += f"attempt {number}\nencoder h264_vaapi on /dev/dri/renderD128\n"
            self.tell(job, "started", moment)

    def advance(self, job, fraction, moment=None):
        with self.changes:
            duration = 2890.0
            wobble = job["wobble"] = min(1.25, max(0.7, job.get("wobble", 1) + self.random.uniform(-0.05, 0.05)))
            phase = "verifying" if fraction > 0.9 else "encoding"
            job["fraction"] = fraction
            job["progress"] = {"phase": phase, "fraction": round(fraction, 4), "time": round(duration * fraction, 2),
                               "expectedDuration": duration, "framesPerSecond": round(148 * wobble, 1),
                               "speed": round(5.9 * wobble, 2), "bitRate": int(5_100_000 * wobble),
                               "remaining": round(duration * (1 - fraction) / 5.9, 1), "updatedAt": stamp(moment)}
            self.logs[job["id"]] += f"{fraction * 100:.1f} % {148 * wobble:.0f} fps\n"
            self.tell(job, "progress", moment, dict(job["progress"]))

    def finish(self, job, moment=None, state="succeeded", failure=None):
        with self.changes:
            if not job["attempts"]:
                self.begin(job, (moment or time.time()) - 73)
            attempt = job["attempts"][-1]
            attempt.update(endedAt=stamp(moment), outcome=state)
            job.update(state=state, endedAt=stamp(moment), expiresAt=stamp((moment or time.time()) + 2592000))
            job.pop("progress", None)
            for output in job["outputs"]:
                output["state"] = state
                output.pop("playable", None)
            if state == "failed":
                job["failure"] = attempt["failure"] = failure or {
                    "code": "malformed-data", "message": "The input ends in the middle of a picture, at 12.4 s.",
                    "given": "1,204 of 2,880 packets", "allowed": "an input whose pictures can be decoded",
                    "remedies": ["Copy the input again, and compare its checksum",
                                 "Look at what can be read: vatoolbox probe damaged-tape.ts"], "retriable": False}
                for output in job["outputs"]:
                    output.pop("encoder", None)
            if state == "succeeded":
                for output, wanted in zip(job["outputs"], job["request"]["outputs"] or job["outputs"]):
                    self.publish(job, output, wanted)
            self.logs[job["id"]] += f"{state}\n"
            self.tell(job, state, moment)

    def publish(self, job, output, wanted):
        name = output["name"]
        if output["kind"] == "thumbnails":
            output["files"] = [self.store(job, name.replace("%d", str(number)), self.picture, "image/png")
                               for number in range(4)]
            output.pop("encoder", None)
            return
        output["verification"] = {"frames": 1500, "comparedFrames": 1500, "audioTracks": 1}
        result = {"output": {"path": name, "format": "hls" if output["kind"] == "hls" else "mp4",
                             "bytes": len(self.video),
                             "width": 1920, "height": 1080, "chroma": "4:2:0", "bitDepth": 8, "frameRate": "25/1"},
                  "encoder": {"name": "h264_vaapi", "codec": "h264", "profile": "high", "level": "4.0"},
                  "audio": [{"codec": "aac", "copied": True, "sampleRate": 48000, "channels": 2, "layout": "stereo",
                             "bitRate": 128_000}],
                  "bitRate": {"control": "average", "delivered": 5_112_400}, "frames": {"in": 1500, "out": 1500},
                  "duration": 60.0, "omissions": ["1 subtitle track: MP4 holds none of this codec"],
                  "adjustments": [], "problems": {"repairedTimes": 2, "descriptions": []}}
        if output["kind"] == "hls":
            stem = name.rsplit(".", 1)[0]
            heights = [rung["height"] for rung in wanted["ladder"]]
            output["files"] = [self.store(job, name, b"#EXTM3U\n", "application/vnd.apple.mpegurl")]
            output["files"] += [self.store(job, f"{stem}/{height}p/{number:05d}.m4s", self.video[:4000 + number],
                                           "video/iso.segment")
                                for height in heights for number in range(8)]
            result = {"outputs": [result | {"output": result["output"] | {"height": height, "width": height * 16 // 9}}
                                  for height in heights]}
        else:
            output["files"] = [self.store(job, name, self.video, "video/mp4")]
        output["result"] = result

    def store(self, job, path, data, kind):
        from urllib.parse import quote
        self.files[job["id"], path] = (data, kind)
        return {"path": path, "size": len(data), "sha256": hashlib.sha256(data).hexdigest(), "type": kind,
                "url": f"/v1/jobs/{job['id']}/files/{quote(path)}"}

    def run(self):
        """Starts jobs and lets those that run go on, a few times a second."""
        while not self.stopping.wait(0.2):
            with self.changes:
                running = [job for job in self.jobs.values() if job["state"] == "running"]
                for job in running:
                    fraction = min(1, job.get("fraction", 0) + (job["speed"] or 0.08) * self.pace)
                    if job["cancelRequested"]:
                        self.finish(job, state="cancelled")
                    elif fraction >= 1 and not job["speed"]:
                        self.finish(job)
                    elif not job["speed"] or fraction < 0.99:
                        self.advance(job, fraction)
                for job in self.jobs.values():
                    queue = self.queues[job["queue"]]
                    if job["state"] == "waiting" and not job.get("held") and not queue["paused"] and not self.draining:
                        self.begin(job)
