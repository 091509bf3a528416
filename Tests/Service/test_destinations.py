# SPDX-License-Identifier: GPL-2.0-or-later
"""Inputs in stores and results delivered to stores and folders, judged by boto3 and by ffmpeg."""

import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading
import unittest

import stores
from rig import CLIPS, Service, clip, file_output, frame_hashes, until


def setUpModule():
    stores.install()


def tearDownModule():
    stores.uninstall()


def noise():
    """A clip of which good copies are large."""
    path = CLIPS / "noise.mp4"
    if not path.exists():
        source = ["-f", "lavfi", "-i", "color=gray:size=640x360:rate=25:duration=2,noise=alls=100:allf=t"]
        subprocess.run(
            ["ffmpeg", "-v", "error", "-y", *source, "-c:v", "libx264", "-preset", "ultrafast", "-crf", "20", str(path)],
            check=True,
        )
    return path


def large_output(name="large.mp4"):
    return file_output(name, quality=1)


class StoreTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.store = stores.Store()
        cls.faults = stores.Faults(cls.store)
        cls.secrets = pathlib.Path(tempfile.mkdtemp(prefix="secrets-"))
        (cls.secrets / "main").write_text(f"{cls.store.key}\n{cls.store.secret}\n")
        cls.flags = [
            "--s3-stores", f"main={cls.faults.url},wrong={cls.faults.url}", "--disk-reserve", "0",
            "--s3-credential-files", f"main={cls.secrets / 'main'}", "--workers-count", "2",
        ]
        cls.environment = {"VATOOLBOX_SERVICE_S3_CREDENTIALS": f"wrong={cls.store.key}:not-the-secret"}
        cls.service = Service(*cls.flags, environment=cls.environment)
        cls.upload = cls.service.upload(clip())["id"]
        cls.noise = cls.service.upload(noise())["id"]

    @classmethod
    def tearDownClass(cls):
        cls.service.close()
        cls.faults.close()
        cls.store.close()
        shutil.rmtree(cls.secrets)

    def setUp(self):
        self.faults.rule, self.faults.seen = (lambda request: None), []
        self.prefix = self.id().rsplit(".", 1)[-1]

    def place(self, prefix=None, store="main", bucket="films", **more):
        return {"s3": {"bucket": bucket, "prefix": prefix or self.prefix, "store": store}, **more}

    def submit(self, source, *outputs, service=None, **more):
        more.setdefault("destination", self.place())
        return (service or self.service).submit(source, *outputs, **more)

    def assert_delivered(self, job, service=None):
        """Every result is in the store as it is in the service."""
        service = service or self.service
        self.assertEqual(job["state"], "succeeded", (job.get("failure"), service.lines[-5:]))
        delivered = {entry["path"]: entry for entry in job["deliveredTo"]["files"]}
        files = [file for output in job["outputs"] for file in output["files"]]
        self.assertEqual(set(delivered), {file["path"] for file in files})
        for file in files:
            entry = delivered[file["path"]]
            key = entry["location"].removeprefix("s3://films/")
            self.assertEqual(hashlib.sha256(self.store.body(key)).hexdigest(), file["sha256"], key)
            head = self.store.s3.head_object(Bucket="films", Key=key)
            self.assertEqual((head["ContentLength"], head["ContentType"]), (file["size"], file["type"]))
            self.assertEqual(head["Metadata"]["sha256"], file["sha256"])
        self.assertEqual(self.store.uploads(), [])
        self.assertEqual(list((service.data / "transfers").iterdir()), [])

    def assert_fails(self, job, code, *texts):
        self.assertEqual(job["state"], "failed", job)
        self.assertEqual(job["failure"]["code"], code, job["failure"])
        self.assertEqual(job["deliveredTo"]["failure"]["code"], code)
        for text in texts:
            self.assertIn(text, job["failure"]["message"])
        # What was encoded is there all the same.
        self.assertEqual(job["outputs"][0]["state"], "succeeded")
        self.assertEqual(self.store.uploads(), [])

    # Inputs

    def test_an_object_is_encoded_like_an_upload(self):
        self.store.s3.put_object(Bucket="films", Key="in put/filmé+1.mp4", Body=clip().read_bytes())
        source = {"s3": {"bucket": "films", "key": "in put/filmé+1.mp4", "store": "main"}}
        job = self.service.wait(self.service.submit(source))
        self.assertEqual(job["state"], "succeeded", job.get("failure"))
        reference = self.service.wait(self.service.submit(self.upload))
        self.assertEqual(
            frame_hashes(self.service.file(job["id"], "out.mp4")),
            frame_hashes(self.service.file(reference["id"], "out.mp4")),
        )
        report = self.service.post("/v1/probe", {"input": source})
        self.assertEqual((report.status, report.json["size"]), (200, clip().stat().st_size))

    def test_a_broken_object_is_resumed(self):
        self.store.s3.put_object(Bucket="films", Key="resumed.mp4", Body=clip().read_bytes())
        cuts = [("cut", 40_000), ("cut", 30_000)]
        self.faults.rule = lambda request: cuts.pop(0) if request.command == "GET" and cuts else None
        job = self.service.wait(self.service.submit({"s3": {"bucket": "films", "key": "resumed.mp4", "store": "main"}}))
        self.assertEqual(job["state"], "succeeded", job.get("failure"))
        ranges = [headers.get("Range") for method, _, headers in self.faults.seen if method == "GET"]
        # What was on the way when the connection broke may be lost.
        self.assertIsNone(ranges[0])
        begins = [int(text.removeprefix("bytes=").rstrip("-")) for text in ranges[1:]]
        self.assertEqual(len(begins), 2)
        self.assertTrue(0 < begins[0] <= 40_000 and begins[0] < begins[1] <= begins[0] + 30_000, begins)

    def test_objects_that_cannot_be_read(self):
        for source, code in [
            ({"bucket": "films", "key": "none", "store": "main"}, "NoSuchKey"),
            ({"bucket": "none", "key": "none", "store": "main"}, "NoSuchBucket"),
            ({"bucket": "films", "key": "none", "store": "wrong"}, "SignatureDoesNotMatch"),
        ]:
            job = self.service.wait(self.service.submit({"s3": source}))
            self.assertEqual(job["failure"]["code"], "storage-failed")
            self.assertIn(code, job["failure"]["message"])
            self.assertFalse(job["failure"]["retriable"])
        answer = self.service.post("/v1/jobs", {"input": {"s3": {"bucket": "films", "key": "x"}}, "outputs": [file_output()]})
        self.assertEqual((answer.status, answer.json["field"]), (404, "/input/s3/store"))

    # Destinations

    def test_files_and_playlists_are_delivered(self):
        playlist = {
            "kind": "hls", "name": "show.m3u8", "ladder": [{"height": 90, "bitRate": 100_000}, {"height": 180, "bitRate": 300_000}],
            "segmentDuration": 1,
        }
        job = self.service.wait(self.submit(self.upload, file_output("a b+é.mp4"), playlist))
        self.assert_delivered(job)
        self.assertEqual(job["deliveredTo"]["location"], f"s3://films/{self.prefix}")
        puts = self.faults.paths("PUT")
        # Players find a playlist when all that it names is there.
        self.assertTrue(puts[-1].endswith("/show.m3u8"), puts)
        self.assertIn(f"{self.prefix}/a b+é.mp4", self.store.keys(self.prefix))
        self.assertEqual([attempt["outcome"] for attempt in job["attempts"]], ["succeeded"] * 3)

    def test_large_files_go_in_parts(self):
        job = self.service.wait(self.submit(self.noise, large_output()))
        self.assert_delivered(job)
        self.assertGreater(job["deliveredTo"]["files"][0]["size"], 8 << 20)
        self.assertIn("partNumber=2", "".join(self.faults.paths("PUT")))

    def test_busy_store(self):
        slow = [(503, b"<Error><Code>SlowDown</Code></Error>"), (500, b""), ("cut", 0)]

        def rule(request):
            # An answer that is lost: the store has done what it was asked for.
            is_part = "partNumber" in request.path
            return slow.pop(0) if slow and (is_part or request.command == "POST" and slow[0][0] != "cut") else None

        self.faults.rule = rule
        self.assert_delivered(self.service.wait(self.submit(self.noise, large_output())))
        self.assertEqual(slow, [])

    def test_refusals(self):
        self.assert_fails(
            self.service.wait(self.submit(self.upload, destination=self.place(store="wrong"))),
            "storage-failed", "403",
        )
        self.assert_fails(
            self.service.wait(self.submit(self.upload, destination=self.place(bucket="none"))),
            "storage-failed", "NoSuchBucket",
        )
        for destination, field in [
            ({"s3": {"bucket": "films"}}, "/destination/s3/store"), ({"path": "films/x"}, "/destination/path"),
            ({"s3": {"bucket": "films", "store": "other"}}, "/destination/s3/store"),
        ]:
            body = {"input": {"upload": self.upload}, "outputs": [file_output()], "destination": destination}
            answer = self.service.post("/v1/jobs", body)
            self.assertEqual((answer.status, answer.json["field"]), (404, field), answer)
        for destination in {}, {"s3": {"bucket": "films", "store": "main"}, "path": "a/b"}:
            body = {"input": {"upload": self.upload}, "outputs": [file_output()], "destination": destination}
            self.assertEqual(self.service.post("/v1/jobs", body).status, 400)
        log = "".join(self.service.lines)
        self.assertNotIn(self.store.secret, log)
        self.assertNotIn("not-the-secret", log)

    def test_another_file_stays(self):
        key = f"{self.prefix}/out.mp4"
        self.store.s3.put_object(Bucket="films", Key=key, Body=b"precious")
        job = self.service.wait(self.submit(self.upload))
        self.assert_fails(job, "destination-conflict", f"s3://films/{key}")
        self.assertEqual(self.store.body(key), b"precious")
        # The same without the question beforehand, as if it had come in between.
        self.store.s3.delete_object(Bucket="films", Key=key)

        def race(request):
            if request.command == "PUT":
                self.store.s3.put_object(Bucket="films", Key=key, Body=b"faster")

        self.faults.rule = race
        job = self.service.wait(self.submit(self.upload))
        self.assert_fails(job, "destination-conflict")
        self.assertEqual(self.store.body(key), b"faster")
        # A retry delivers only.
        self.faults.rule = lambda request: None
        self.store.s3.delete_object(Bucket="films", Key=key)
        self.service.post(f"/v1/jobs/{job['id']}/retry")
        job = self.service.wait(job["id"])
        self.assert_delivered(job)
        self.assertEqual(sum(attempt["output"] == 0 for attempt in job["attempts"]), 1)
        other = self.service.wait(self.submit(self.upload, file_output(quality=40), destination=self.place(overwrite=True)))
        self.assert_delivered(other)

    def test_store_without_conditions(self):
        def ignorant(request):
            return (501, b"<Error><Code>NotImplemented</Code></Error>") if request.headers.get("If-None-Match") else None

        self.faults.rule = ignorant
        self.assert_delivered(self.service.wait(self.submit(self.upload)))

    def test_a_failed_upload_leaves_no_parts(self):
        def refuse(request):
            return (403, b"<Error><Code>AccessDenied</Code></Error>") if "partNumber=2" in request.path else None

        self.faults.rule = refuse
        self.assert_fails(self.service.wait(self.submit(self.noise, large_output())), "storage-failed", "AccessDenied")

    def test_a_cancelled_delivery_leaves_no_parts(self):
        reached, go = threading.Event(), threading.Event()

        def hold(request):
            if "partNumber=2" in request.path:
                reached.set()
                go.wait(60)

        self.faults.rule = hold
        job = self.submit(self.noise, large_output())
        self.assertTrue(reached.wait(120))
        self.assertEqual(self.service.job(job)["deliveredTo"]["state"], "running")
        self.service.post(f"/v1/jobs/{job}/cancel")
        self.assertEqual(self.service.wait(job)["state"], "cancelled")
        go.set()
        until(lambda: not self.store.uploads(), "the parts are removed")
        self.assertEqual(self.store.keys(self.prefix), [])

    def test_a_killed_service_delivers_once_and_leaves_no_parts(self):
        with Service(*self.flags, environment=self.environment) as service:
            reached, go = threading.Event(), threading.Event()

            def hold(request):
                if "partNumber=2" in request.path and not go.is_set():
                    reached.set()
                    go.wait(60)

            self.faults.rule = hold
            job = self.submit(service.upload(noise())["id"], large_output(), file_output("small.mp4"), service=service)
            self.assertTrue(reached.wait(120))
            service.kill()
            self.assertEqual(len(self.store.uploads()), 1)
            go.set()
            service.start()
            found = service.wait(job)
            until(lambda: not self.store.uploads(), "the parts are removed")
            until(lambda: not list((service.data / "transfers").iterdir()), "the notes are removed")
            self.assert_delivered(found, service)
            self.assertEqual(self.store.keys(self.prefix), [f"{self.prefix}/large.mp4", f"{self.prefix}/small.mp4"])
            encodes = [attempt for attempt in found["attempts"] if attempt["output"] == 0]
            self.assertEqual(len(encodes), 1)

    def test_settings_are_printed_without_secrets(self):
        from rig import PROGRAMS

        environment = dict(os.environ, **self.environment)
        printed = subprocess.run(
            [str(PROGRAMS / "vatoolbox"), "serve", "--print-config", *self.flags], env=environment, check=True,
            capture_output=True, text=True,
        ).stdout
        self.assertIn("s3.credentials: set", printed)
        self.assertIn(f"main={self.faults.url}", printed)
        for secret in self.store.secret, "not-the-secret":
            self.assertNotIn(secret, printed)


class FolderTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = pathlib.Path(tempfile.mkdtemp(prefix="root-"))
        cls.outside = pathlib.Path(tempfile.mkdtemp(prefix="outside-"))
        (cls.root / "leads-out").symlink_to(cls.outside)
        cls.service = Service(
            "--media-roots", f"films={cls.root},others={cls.outside}", "--media-writable", "films", "--disk-reserve", "0"
        )
        cls.upload = cls.service.upload(clip())["id"]

    @classmethod
    def tearDownClass(cls):
        cls.service.close()
        shutil.rmtree(cls.root)
        shutil.rmtree(cls.outside)

    def deliver(self, path, *outputs, **more):
        destination = {"path": path, **more}
        return self.service.wait(self.service.submit(self.upload, *outputs, destination=destination))

    def files(self):
        return sorted(str(path.relative_to(self.root)) for path in self.root.rglob("*") if path.is_file())

    def test_results_are_copied(self):
        playlist = {"kind": "hls", "name": "show.m3u8", "ladder": [{"height": 90, "bitRate": 100_000}]}
        job = self.deliver("films/new/folder", file_output(), playlist)
        self.assertEqual(job["state"], "succeeded", job.get("failure"))
        for output in job["outputs"]:
            for file in output["files"]:
                content = (self.root / "new/folder" / file["path"]).read_bytes()
                self.assertEqual(hashlib.sha256(content).hexdigest(), file["sha256"])
        self.assertEqual(len(frame_hashes(self.root / "new/folder/out.mp4")), 50)
        self.assertFalse([name for name in self.files() if "partial" in name])
        self.assertEqual(list((self.service.data / "transfers").iterdir()), [])
        self.assertEqual({entry["location"] for entry in job["deliveredTo"]["files"]} >= {"films/new/folder/out.mp4"}, True)
        # The same once more changes nothing.
        before = (self.root / "new/folder/out.mp4").stat().st_ino
        self.assertEqual(self.deliver("films/new/folder", file_output())["state"], "succeeded")
        self.assertEqual((self.root / "new/folder/out.mp4").stat().st_ino, before)

    def test_others_may_read_what_is_delivered(self):
        before = os.umask(0o077)
        try:
            service = Service("--media-roots", f"films={self.root}", "--media-writable", "films", "--disk-reserve", "0")
        finally:
            os.umask(before)
        with service:
            upload = service.upload(clip())["id"]
            job = service.wait(service.submit(upload, destination={"path": "films/modes/of"}))
            self.assertEqual(job["state"], "succeeded", job.get("failure"))
        for path, mode in ("modes", 0o755), ("modes/of", 0o755), ("modes/of/out.mp4", 0o644):
            self.assertEqual((self.root / path).stat().st_mode & 0o777, mode, path)

    def test_names_with_combining_characters(self):
        """A slash with a combining character after it is a slash."""
        path = "films/\u0301a/\u0302b"
        job = self.deliver(path, file_output())
        self.assertEqual(job["state"], "succeeded", job.get("failure"))
        self.assertEqual(len(frame_hashes(self.root / "\u0301a/\u0302b/out.mp4")), 50)

    def test_another_file_stays_unless_it_is_to_be_replaced(self):
        (self.root / "taken").mkdir()
        (self.root / "taken/out.mp4").write_bytes(b"precious")
        job = self.deliver("films/taken", file_output())
        self.assertEqual(job["failure"]["code"], "destination-conflict", job)
        self.assertEqual((self.root / "taken/out.mp4").read_bytes(), b"precious")
        self.assertEqual(self.deliver("films/taken", file_output(), overwrite=True)["state"], "succeeded")
        self.assertEqual(len(frame_hashes(self.root / "taken/out.mp4")), 50)
        self.assertEqual([name for name in self.files() if name.startswith("taken")], ["taken/out.mp4"])

    def test_nothing_is_written_outside(self):
        (self.root / "file").write_bytes(b"x")
        (self.root / "link").mkdir()
        (self.outside / "victim").write_bytes(b"x")
        (self.root / "link/out.mp4").symlink_to(self.outside / "victim")
        self.assertEqual(self.deliver("films/leads-out/a", file_output())["state"], "failed")
        self.assertEqual(self.deliver("films/file/a", file_output())["state"], "failed")
        self.assertEqual(self.deliver("films/link", file_output())["failure"]["code"], "destination-conflict")
        self.assertEqual(self.deliver("films/link", file_output(), overwrite=True)["state"], "succeeded")
        self.assertEqual((self.outside / "victim").read_bytes(), b"x")
        self.assertEqual(os.listdir(self.outside), ["victim"])
        for path, status in ("others/x", 404), ("none/x", 404), ("films/../x", 400), ("films/", 400), ("/etc", 400):
            body = {"input": {"upload": self.upload}, "outputs": [file_output()], "destination": {"path": path}}
            self.assertEqual(self.service.post("/v1/jobs", body).status, status, path)


if __name__ == "__main__":
    unittest.main()
