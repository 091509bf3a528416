# SPDX-License-Identifier: GPL-2.0-or-later
"""Jobs as clients see them: sent, followed, verified, downloaded."""

import json
import os
import signal
import subprocess
import tempfile
import unittest

import chaos
from rig import PROGRAMS, Service, clip, digest, digest_header, file_output, frame_hashes, probe, slow_output, until
from rig import without_rights


def niceness(pid):
    return os.getpriority(os.PRIO_PROCESS, pid)


class JobTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Service("--workers-count", "2")
        cls.upload = cls.service.upload(clip())["id"]

    @classmethod
    def tearDownClass(cls):
        cls.service.close()

    def test_file_is_encoded_verified_and_downloaded(self):
        service = self.service
        job = service.wait(service.submit(self.upload, file_output()))
        self.assertEqual(job["state"], "succeeded", job)
        output = job["outputs"][0]
        self.assertEqual(output["state"], "succeeded")
        self.assertEqual(output["verification"]["frames"], 50)
        self.assertEqual(output["verification"]["comparedFrames"], 50)
        self.assertEqual(output["encoder"]["codec"], "h264")
        path = service.file(job["id"], "out.mp4")
        self.assertEqual(output["files"][0]["sha256"], digest(path))
        self.assertEqual(output["files"][0]["size"], path.stat().st_size)
        streams = probe(path)["streams"]
        self.assertEqual([stream["codec_name"] for stream in streams], ["h264", "aac"])
        self.assertEqual(streams[0]["nb_read_frames"], "50")

    def test_result_is_that_of_the_command(self):
        service = self.service
        job = service.wait(service.submit(self.upload, file_output("same.mkv")))
        self.assertEqual(job["state"], "succeeded", job)
        alone = service.folder / "alone.mkv"
        command = ["encode", str(clip()), "-o", str(alone), "--crf", "30", "--preset", "ultrafast", "--codec", "h264"]
        subprocess.run([PROGRAMS / "vatoolbox", *command, "--quiet", "--overwrite"], check=True)
        self.assertEqual(frame_hashes(service.file(job["id"], "same.mkv")), frame_hashes(alone))

    def test_several_outputs_and_a_ladder(self):
        service = self.service
        ladder = {"kind": "hls", "name": "show.m3u8", "ladder": [{"height": 180}, {"height": 90}], "dash": True}
        ladder["video"] = {"preset": "ultrafast", "codec": "h264"}
        job = service.wait(service.submit(self.upload, file_output(), file_output("small.mkv", width=160, height=90), ladder))
        self.assertEqual(job["state"], "succeeded", job)
        self.assertEqual([output["state"] for output in job["outputs"]], ["succeeded"] * 3)
        self.assertEqual(len(job["attempts"]), 2)
        self.assertEqual(probe(service.file(job["id"], "small.mkv"))["streams"][0]["width"], 160)
        paths = {file["path"] for file in job["outputs"][2]["files"]}
        self.assertLessEqual({"show.m3u8", "show.mpd", "show/180p/index.m3u8", "show/90p/index.m3u8"}, paths)
        # A player reads it over HTTP.
        found = probe(f"{service.url}/v1/jobs/{job['id']}/files/show.m3u8")
        self.assertIn("50", [stream.get("nb_read_frames") for stream in found["streams"]])

    def test_events_tell_all_steps_and_go_on_from_the_last_one(self):
        service = self.service
        job = service.submit(self.upload)
        text = service.get(f"/v1/jobs/{job}/events", Accept="text/event-stream").body.decode()
        types = [line[7:] for line in text.splitlines() if line.startswith("event: ")]
        expected = ["waiting", "attempt-started", "started", "output-ready", "succeeded"]
        self.assertEqual([kind for kind in types if kind != "progress"], expected)
        numbers = [int(line[4:]) for line in text.splitlines() if line.startswith("id: ")]
        self.assertEqual(numbers, sorted(numbers))
        rest = service.get(
            f"/v1/jobs/{job}/events", Accept="text/event-stream", **{"Last-Event-ID": str(numbers[2])}
        ).body.decode()
        self.assertEqual([int(line[4:]) for line in rest.splitlines() if line.startswith("id: ")], numbers[3:])
        listed = service.get(f"/v1/jobs/{job}/events").json["events"]
        self.assertEqual([event["number"] for event in listed], numbers)

    def test_idempotency_key_gives_the_same_job(self):
        service = self.service
        body = {"input": {"upload": self.upload}, "outputs": [file_output()]}
        first = service.post("/v1/jobs", body, **{"Idempotency-Key": "order 17"})
        again = service.post("/v1/jobs", body, **{"Idempotency-Key": "order 17"})
        self.assertEqual((first.status, again.status), (201, 200))
        self.assertEqual(first.json["id"], again.json["id"])
        # The order of keys does not matter.
        turned = json.dumps({"outputs": [file_output()], "input": {"upload": self.upload}})
        self.assertEqual(service.post("/v1/jobs", turned, **{"Idempotency-Key": "order 17"}).json["id"], first.json["id"])
        other = service.post("/v1/jobs", {**body, "priority": 9}, **{"Idempotency-Key": "order 17"})
        self.assertEqual((other.status, other.json["code"]), (409, "idempotency-conflict"))

    def test_cancelled_job_ends_at_once_and_leaves_nothing(self):
        service = self.service
        long = service.upload(clip("long.mp4", seconds=60, size="640x360"), "long.mp4")["id"]
        job = service.submit(long, slow_output())
        service.wait(job, "running")
        encoders = until(lambda: [pid for pid, line in service.children().items() if "vatoolbox encode " in line
                                  and " confine " not in line], "a process works")
        self.assertEqual([niceness(pid) for pid in encoders],
                         [min(niceness(service.process.pid) + 10, 19)] * len(encoders))
        self.assertEqual(service.post(f"/v1/jobs/{job}/cancel").status, 200)
        ended = service.wait(job)
        self.assertEqual(ended["state"], "cancelled")
        until(lambda: not service.children(), "no process is left")
        until(lambda: not service.work(), "no file is left")
        self.assertEqual(service.get(f"/v1/jobs/{job}/files/slow.mp4").status, 404)
        # It can be retried, and cancelled again.
        self.assertEqual(service.post(f"/v1/jobs/{job}/retry").status, 200)
        service.wait(job, "running")
        service.post(f"/v1/jobs/{job}/cancel")
        service.wait(job, "cancelled")
        self.assertEqual(service.request("DELETE", f"/v1/jobs/{job}").status, 204)
        self.assertEqual(service.get(f"/v1/jobs/{job}").status, 404)
        self.assertEqual(service.request("DELETE", "/v1/uploads/long.mp4").status, 204)

    def test_failure_says_why_and_what_to_do(self):
        service = self.service
        text = service.folder / "letter.mp4"
        text.write_text("Dear Sir or Madam, this is no film. " * 50)
        upload = service.upload(text)["id"]
        job = service.wait(service.submit(upload))
        self.assertEqual(job["state"], "failed")
        self.assertEqual(job["failure"]["code"], "malformed-data", job["failure"])
        self.assertFalse(job["failure"]["retriable"])
        self.assertEqual(len(job["attempts"]), 1)
        self.assertEqual(job["attempts"][0]["failure"]["code"], "malformed-data")
        log = service.get(f"/v1/jobs/{job['id']}/log").body.decode()
        self.assertIn("vatoolbox encode", log)
        self.assertIn("malformed-data", log)

    def test_truncated_input_fails_unless_damage_is_accepted(self):
        service = self.service
        whole = clip("whole.ts", more=["-f", "mpegts"], sound=False).read_bytes()
        cut = bytearray(whole)
        for place in range(len(cut) // 3, len(cut) // 3 + 20000):
            cut[place] ^= 0x5A
        path = service.folder / "damaged.ts"
        path.write_bytes(bytes(cut))
        upload = service.upload(path)["id"]
        job = service.wait(service.submit(upload))
        self.assertEqual((job["state"], job["failure"]["code"]), ("failed", "damaged-input"), job)
        self.assertEqual(service.get(f"/v1/jobs/{job['id']}/files/out.mp4").status, 404)
        job = service.wait(service.submit(upload, damagedInput="accept"))
        self.assertEqual(job["state"], "succeeded", job)
        self.assertTrue(job["warnings"])

    def test_queue_pauses_and_resumes(self):
        service = self.service
        self.assertEqual(service.request("PUT", "/v1/queues/night", {"paused": True}).status, 201)
        job = service.submit(self.upload, queue="night")
        waiting = service.get(f"/v1/jobs/{job}/waiting").json
        self.assertEqual(waiting["reason"], "queue-paused")
        self.assertEqual(service.job(job)["waiting"]["reason"], "queue-paused")
        listed = {item["id"]: item.get("waiting") for item in service.get("/v1/jobs").json["jobs"]}
        self.assertEqual(listed[job], waiting)
        self.assertEqual(service.request("DELETE", "/v1/queues/night").status, 409)
        self.assertEqual(service.post("/v1/queues/night/resume").json["paused"], False)
        self.assertEqual(service.wait(job)["state"], "succeeded")
        drained = service.post("/v1/queues/night/drain?wait=true").json
        self.assertEqual((drained["paused"], drained["running"]), (True, 0))

    def test_lists_have_filters_and_pages(self):
        service = self.service
        jobs = [service.submit(self.upload, labels={"set": "pages", "part": str(index)}) for index in range(5)]
        found, cursor = [], ""
        while True:
            page = service.get(f"/v1/jobs?label=set:pages&limit=2{cursor}").json
            found += [job["id"] for job in page["jobs"]]
            if "nextCursor" not in page:
                break
            cursor = f"&cursor={page['nextCursor']}"
        self.assertEqual(found, jobs[::-1])
        one = service.get("/v1/jobs?label=set:pages&label=part:3").json["jobs"]
        self.assertEqual([job["id"] for job in one], [jobs[3]])
        for job in jobs:
            service.wait(job)
        self.assertEqual(service.get("/v1/jobs?label=set:pages&state=failed").json["jobs"], [])

    def test_ranges_and_validators_of_results(self):
        service = self.service
        job = service.wait(service.submit(self.upload))["id"]
        path = f"/v1/jobs/{job}/files/out.mp4"
        whole = service.get(path)
        self.assertEqual(whole.headers["Repr-Digest"], digest_header(whole.body))
        self.assertEqual(whole.headers["Content-Type"], "video/mp4")
        part = service.get(path, Range="bytes=10-19")
        self.assertEqual((part.status, part.body), (206, whole.body[10:20]))
        self.assertEqual(part.headers["Content-Range"], f"bytes 10-19/{len(whole.body)}")
        self.assertEqual(service.get(path, Range="bytes=-7").body, whole.body[-7:])
        self.assertEqual(service.get(path, Range="bytes=100-").body, whole.body[100:])
        self.assertEqual(service.get(path, Range=f"bytes={len(whole.body)}-").status, 416)
        self.assertEqual(service.get(path, **{"If-None-Match": whole.headers["ETag"]}).status, 304)
        old = service.get(path, Range="bytes=0-1", **{"If-Range": '"other"'})
        self.assertEqual((old.status, old.body), (200, whole.body))
        head = service.request("HEAD", path)
        self.assertEqual((head.status, head.headers["Content-Length"]), (200, str(len(whole.body))))
        named = service.get(path + "?download=true").headers["Content-Disposition"]
        self.assertEqual(named, "attachment; filename*=UTF-8''out.mp4")

    def test_dry_run_tells_the_plan_and_does_nothing(self):
        service = self.service
        before = service.get("/v1/jobs").json["jobs"]
        body = {"input": {"upload": self.upload}, "outputs": [file_output()]}
        plan = service.post("/v1/jobs?dryRun=true", body)
        self.assertEqual(plan.status, 200, plan)
        self.assertEqual(plan.json["encoder"]["codec"], "h264")
        self.assertGreater(plan.json["estimate"]["duration"], 0)
        self.assertGreater(plan.json["estimate"]["size"], 0)
        self.assertIn("--crf=30.0", plan.json["tasks"][0]["command"])
        self.assertEqual(service.get("/v1/jobs").json["jobs"], before)
        impossible = {**body, "requireHardware": True}
        refused = service.post("/v1/jobs?dryRun=true", impossible)
        self.assertEqual(refused.status, 400, refused)

    def test_presets_have_versions(self):
        service = self.service
        made = service.request("PUT", "/v1/presets/small", {"outputs": [file_output("small.mp4", width=160, height=90)]})
        self.assertEqual((made.status, made.json["version"]), (201, 1))
        changed = service.request("PUT", "/v1/presets/small", {"outputs": [file_output("small.mp4", width=80, height=46)]})
        self.assertEqual((changed.status, changed.json["version"]), (200, 2))
        for preset, width in [("small@1", 160), ("small", 80)]:
            answer = service.post("/v1/jobs", {"input": {"upload": self.upload}, "preset": preset})
            self.assertEqual(answer.status, 201, answer)
            job = service.wait(answer.json["id"])
            self.assertEqual(job["state"], "succeeded", job)
            self.assertEqual(job["request"]["preset"], "small@1" if preset == "small@1" else "small@2")
            self.assertEqual(probe(service.file(job["id"], "small.mp4"))["streams"][0]["width"], width)
        self.assertEqual(service.request("DELETE", "/v1/presets/small").status, 204)
        gone = service.post("/v1/jobs", {"input": {"upload": self.upload}, "preset": "small"})
        self.assertEqual((gone.status, gone.json["field"]), (404, "/preset"))

    def test_pictures(self):
        service = self.service
        outputs = [
            {"kind": "thumbnails", "name": "shot-%02d.png", "interval": 0.5, "width": 160},
            {"kind": "sprite", "name": "scrub.vtt", "interval": 0.25, "width": 80},
            file_output(width=160),
        ]
        job = service.wait(service.submit(self.upload, *outputs))
        self.assertEqual(job["state"], "succeeded", job)
        shots = [file["path"] for file in job["outputs"][0]["files"]]
        self.assertEqual(shots, ["shot-01.png", "shot-02.png", "shot-03.png", "shot-04.png"])
        self.assertEqual(probe(service.file(job["id"], shots[2]))["streams"][0]["width"], 160)
        sprite = {file["path"]: file["type"] for file in job["outputs"][1]["files"]}
        self.assertEqual(sprite["scrub.vtt"], "text/vtt")
        self.assertIn("scrub-1.jpg", sprite)
        text = service.get(f"/v1/jobs/{job['id']}/files/scrub.vtt").body.decode()
        self.assertIn("scrub-1.jpg#xywh=", text)
        # A height that follows from the width.
        video = probe(service.file(job["id"], "out.mp4"))["streams"][0]
        self.assertEqual((video["width"], video["height"]), (160, 90))

    def test_what_is_encoded_so_far_can_be_played(self):
        service = self.service
        long = service.upload(clip("long-preview.mp4", seconds=40, size="640x360"), "long-preview.mp4")["id"]
        outputs = [file_output("a.mp4", preset="slow", keyFrameInterval=1) | {"preview": True},
                   file_output("b.ts", preset="slow", keyFrameInterval=1), file_output("c.mp4")]
        job = service.submit(long, *outputs)

        def playable():
            return [output.get("playable") for output in service.job(job)["outputs"]]

        base = f"/v1/jobs/{job}/preview"
        until(lambda: playable()[:2] == [f"{base}/a.mp4", f"{base}/b.ts"], "outputs can be played")
        self.assertIsNone(playable()[2])
        refused = service.get(f"{base}/c.mp4")
        self.assertEqual((refused.status, refused.json["code"]), (404, "not-found"))

        def frames(path):
            answer = service.get(path)
            if answer.status != 200:
                return []
            target = service.folder / f"so-far{os.path.splitext(path)[1]}"
            target.write_bytes(answer.body)
            # It may end in the midst of a picture, or before the first.
            command = ["ffmpeg", "-v", "quiet", "-i", str(target), "-map", "0:v", "-f", "framemd5", "-"]
            text = subprocess.run(command, capture_output=True, text=True).stdout
            return [line.split(",")[-1].strip() for line in text.splitlines() if line and line[0] != "#"]

        found = [until(lambda: frames(f"{base}/{name}"), f"{name} has pictures") for name in ("a.mp4", "b.ts")]
        # It must not end while its preview is looked at.
        encoders = chaos.workers(service.data)
        for encoder in encoders:
            os.kill(encoder, signal.SIGSTOP)
        headers = service.get(f"{base}/a.mp4").headers
        self.assertEqual((headers["content-type"], headers["cache-control"]), ("video/mp4", "no-store"))
        part = service.get(f"{base}/a.mp4", Range="bytes=4-7")
        self.assertEqual((part.status, part.body), (206, b"ftyp"))
        link = service.post("/v1/links", {"path": f"{base}/a.mp4"}).json["url"]
        self.assertEqual(service.get(link).status, 200)
        self.assertEqual(service.get(f"{base}/a.mp4", Range="bytes=4-7", **{"If-Range": headers["etag"]}).status, 206)
        self.assertEqual(service.get(f"{base}/a.mp4", Range="bytes=4-7", **{"If-Range": '"other"'}).status, 200)
        for encoder in encoders:
            os.kill(encoder, signal.SIGCONT)
        ended = service.wait(job)
        self.assertEqual(ended["state"], "succeeded", ended)
        self.assertEqual(playable(), [None] * 3)
        self.assertEqual(service.get(f"{base}/a.mp4").status, 404)
        for name, pictures in zip(("a.mp4", "b.ts"), found):
            path = service.file(job, name)
            whole = frame_hashes(path)
            self.assertEqual(len(whole), 1000)
            # The last pictures of a stream that is cut somewhere may be broken.
            count = len(pictures) if name == "a.mp4" else max(len(pictures) - 10, 1)
            self.assertEqual(pictures[:count], whole[:count], name)
        self.assertNotIn(b"moof", service.file(job, "a.mp4").read_bytes())

    def test_file_without_rights_has_no_preview(self):
        folder = tempfile.mkdtemp(prefix="service-")
        with Service("--disk-reserve", "0", folder=folder, prefix=without_rights(folder)) as service:
            service.owns_folder = True
            upload = service.upload(clip("rights-preview.mp4", seconds=40, size="640x360"))["id"]
            job = service.submit(upload, file_output("a.mkv", preset="slow"))
            path = f"/v1/jobs/{job}/preview/a.mkv"
            until(lambda: service.get(path).status == 200, "it can be played")
            encoder = chaos.workers(service.data)[0]
            os.kill(encoder, signal.SIGSTOP)
            unfinished, = (service.data / "work").glob("*/*/.vatoolbox-*")
            unfinished.chmod(0)
            self.assertEqual(service.get(path).status, 204)
            unfinished.chmod(0o600)
            self.assertEqual(service.get(path).status, 200)

    def test_probe_tells_what_a_file_has(self):
        answer = self.service.post("/v1/probe", {"input": {"upload": self.upload}})
        self.assertEqual(answer.status, 200, answer)
        video, sound = answer.json["tracks"]
        self.assertEqual((video["kind"], video["codec"], video["width"], video["height"]), ("video", "h264", 320, 180))
        self.assertEqual((sound["kind"], sound["codec"]), ("audio", "aac"))
        self.assertAlmostEqual(answer.json["duration"], 2, delta=0.1)
        text = self.service.folder / "no-film.mp4"
        text.write_text("This is not a film. " * 100)
        refused = self.service.post("/v1/probe", {"input": {"upload": self.service.upload(text)["id"]}})
        self.assertEqual((refused.status, refused.json["field"]), (400, "/input"))
