# SPDX-License-Identifier: GPL-2.0-or-later
"""The built service in the place of the mock, with jobs in every state. Needs VATOOLBOX_PROGRAMS, or a build."""

import datetime
import shutil
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "Service"))

import rig  # noqa: E402

LONG = "interview-with-a-very-long-name-that-no-space-or-break-makes-shorter-take-0001-of-0037"
#: A queue's name as long as one may be.
QUEUE = "archive-of-the-films-that-nobody-has-asked-for-since-they-came"


class Real:
    """A service with one worker, so that jobs wait, and a media root."""

    def __init__(self, folder, clip):
        self.clip, self.jobs = clip, {}
        self.media = Path(folder) / "media"
        self.media.mkdir()
        for name in (f"{LONG}.mp4", "holiday.mp4"):
            shutil.copy(clip, self.media / name)
        self.service = rig.Service("--workers-count", "1", "--media-roots", f"media={self.media}")

    @property
    def url(self):
        return self.service.url + "/"

    def stop(self):
        self.service.close()

    def kill(self):
        self.service.kill()

    def start(self, key=None):
        """Starts it again at its port, with a key that requests need."""
        self.service.environment = {"VATOOLBOX_SERVICE_ACCESS_TOKEN": key} if key else {}
        self.service.token = key
        self.service.start(port=self.service.port)

    def restart(self, key=None):
        self.kill()
        self.start(key)

    def submit(self, name, *outputs, source=None, **more):
        self.jobs[name] = self.service.submit(source or {"path": f"media/{LONG}.mp4"}, *outputs, **more)
        return self.jobs[name]

    def begin_growing(self):
        """Begins a job whose output can be played while it grows. Returns the job."""
        output = rig.file_output("growing.mp4", preset="placebo", keyFrameInterval=0.5) | {"preview": True}
        job = self.service.submit({"path": "media/holiday.mp4"}, output)
        self.service.wait(job, "running")
        return job

    def furnish(self):
        """Makes a job for each state and each reason to wait, unless they are there."""
        if self.jobs:
            return
        service = self.service
        service.upload(self.clip, "sound & <i>picture.mp4")
        done = [self.submit("succeeded", rig.file_output("holiday.mp4"), source={"path": "media/holiday.mp4"},
                            webhook={"url": "https://receiver.invalid/hook"}, labels={"customer": "blue"}),
                self.submit("ladder", {"kind": "hls", "name": "show.m3u8", "ladder": [{"height": 360}, {"height": 180}],
                                       "video": {"preset": "ultrafast"}},
                            {"kind": "thumbnails", "name": "shot-%d.png", "interval": 4, "width": 160},
                            {"kind": "sprite", "name": "scrub.vtt", "interval": 2, "width": 80},
                            source={"upload": "sound & <i>picture.mp4"}, share="customer-7", priority=70)]
        for name, wanted in zip(("succeeded", "ladder"), done):
            state = service.wait(wanted)["state"]
            assert state == "succeeded", f"the job {name} is {state}"
        (self.media / "damaged tape.mp4").write_bytes(self.clip.read_bytes()[:200_000])
        self.submit("failed", rig.file_output(f"{LONG}.mp4"), source={"path": "media/damaged tape.mp4"})
        assert service.wait(self.jobs["failed"])["state"] == "failed"
        self.furnish_queues()

    def furnish_queues(self):
        service = self.service
        now = datetime.datetime.now(datetime.timezone.utc)
        # It opens in two days.
        window = {"days": [(now.weekday() + 2) % 7 + 1], "start": 600, "length": 60}
        for name, settings in ((QUEUE, {"paused": True, "weights": {"film": 2}}), ("overnight", {"windows": [window]}),
                               ("slow", {"mostRunning": 1})):
            assert service.request("PUT", f"/v1/queues/{name}", settings).status in (200, 201)
        self.submit("running", rig.slow_output(f"{LONG}.mp4"), queue="slow", priority=90)
        service.wait(self.jobs["running"], "running")
        rig.until(lambda: service.job(self.jobs["running"]).get("progress", {}).get("fraction"), "it has progress")
        for number, queue in enumerate(("slow", "slow", "default", "default", QUEUE, QUEUE, "overnight")):
            self.submit(f"waiting-{number}", rig.file_output(f"{LONG}-{number}.mp4"), queue=queue)
