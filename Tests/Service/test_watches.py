# SPDX-License-Identifier: GPL-2.0-or-later
"""Watched folders: what appears there becomes a job, once."""

import os
import pathlib
import shutil
import tempfile
import unittest

from rig import Service, clip, file_output, frame_hashes, probe, until


class WatchTests(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="media-"))
        (self.root / "in").mkdir()
        self.service = Service("--disk-reserve", "0", "--media-roots", f"media={self.root}", "--watch-interval", "0.1")

    def tearDown(self):
        self.service.close()
        shutil.rmtree(self.root)

    def watch(self, name="incoming", status=201, settle=0, path="media/in", **more):
        job = {"input": {"path": path}, "outputs": [file_output()], "labels": {"a": "b"}}
        answer = self.service.request("PUT", f"/v1/watches/{name}", {"job": job, "settle": settle, **more})
        self.assertEqual(answer.status, status, answer)
        return answer.json

    def put(self, name, source=None):
        """Puts a file into the folder as programs should: under another name until it is complete."""
        target = self.root / "in" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source or clip(), f"{target}.part")
        os.rename(f"{target}.part", target)

    def jobs(self):
        return {job["id"]: job for job in self.service.get("/v1/jobs?limit=100").json["jobs"]}

    def wait_for(self, count):
        """Waits for jobs to succeed, and returns them by their inputs."""
        found = until(lambda: (lambda jobs: len(jobs) >= count and jobs)(self.jobs()), f"{count} jobs")
        return {job["request"]["input"]["path"]: job for job in (self.service.wait(name) for name in found)}

    def state(self, name="incoming"):
        return self.service.get(f"/v1/watches/{name}").json

    def scans(self, count=3):
        """Waits until the folder was read a few times more."""
        for _ in range(count):
            last = self.state().get("lastScan")
            until(lambda: self.state().get("lastScan") not in (last, None), "the folder is read again")

    def test_files_become_jobs(self):
        self.put("before.mp4")
        made = self.watch()
        self.assertEqual((made["name"], made["submitted"], made["recursive"]), ("incoming", 0, True))
        self.put("deep/er/after é.mp4")
        self.put("notes.txt")
        self.put(".hidden.mp4")
        jobs = self.wait_for(2)
        self.assertEqual(set(jobs), {"media/in/before.mp4", "media/in/deep/er/after é.mp4"})
        for job in jobs.values():
            self.assertEqual((job["state"], job["labels"]), ("succeeded", {"a": "b", "watch": "incoming"}))
            self.assertEqual(len(frame_hashes(self.service.file(job["id"], "out.mp4"))), len(frame_hashes(clip())))
        self.scans()
        self.assertEqual(len(self.jobs()), 2, "each once")
        self.assertEqual((self.state()["submitted"], self.state()["settling"]), (2, 0))
        self.assertEqual([watch["name"] for watch in self.service.get("/v1/watches").json["watches"]], ["incoming"])

    def test_a_file_that_is_replaced_is_another_one(self):
        self.watch()
        self.put("a.mp4")
        self.wait_for(1)
        other = clip("other.mp4", seconds=1)
        self.put("a.mp4", other)
        until(lambda: len(self.jobs()) == 2, "a second job")
        newest = self.service.wait(max(self.jobs()))
        self.assertEqual(int(probe(self.service.file(newest["id"], "out.mp4"))["streams"][0]["nb_read_frames"]), 25)

    def test_a_file_that_grows_waits(self):
        self.watch(settle=86400)
        self.put("a.mp4")
        until(lambda: self.state()["settling"] == 1, "the file is seen")
        self.scans()
        self.assertEqual(self.jobs(), {})
        self.watch(status=200, settle=0)
        self.wait_for(1)

    def test_nothing_is_encoded_again_after_a_restart(self):
        self.watch()
        self.put("a.mp4")
        self.wait_for(1)
        for end in (self.service.kill, self.service.stop):
            end()
            self.service.start()
            self.scans()
            self.assertEqual(len(self.jobs()), 1)
        # The memory of the folder is lost, that of the jobs is not.
        self.assertEqual(self.service.request("DELETE", "/v1/watches/incoming").status, 204)
        self.assertEqual(self.service.get("/v1/watches/incoming").status, 404)
        self.watch()
        until(lambda: self.state()["submitted"] == 1, "the file is found again")
        self.assertEqual(len(self.jobs()), 1)

    def test_a_pause(self):
        self.watch(paused=True)
        self.put("a.mp4")
        self.watch("other", path="media/in", paused=False)
        self.wait_for(1)
        self.assertEqual(self.state()["submitted"], 0)
        self.watch(status=200)
        until(lambda: len(self.jobs()) == 2, "the pause is over")

    def test_a_folder_that_goes_and_comes(self):
        self.watch()
        self.put("a.mp4")
        self.wait_for(1)
        os.rename(self.root / "in", self.root / "away")
        until(lambda: "There is no such folder" in self.state().get("problem", ""), "the problem shows")
        os.rename(self.root / "away", self.root / "in")
        until(lambda: "problem" not in self.state(), "it is over")
        self.scans()
        self.assertEqual(len(self.jobs()), 1)
        self.assertTrue(any("a watched folder makes no jobs" in line for line in self.service.lines))

    def test_what_is_refused(self):
        outside = pathlib.Path(tempfile.mkdtemp(prefix="outside-"))
        os.symlink(outside, self.root / "way-out")
        shutil.copyfile(clip(), self.root / "file.mp4")
        for path, code in (("media/none", "not-found"), ("media/way-out", "not-found"), ("other/in", "not-found"),
                           ("media/file.mp4", "not-found"), ("media/../in", "invalid-request"),
                           ("media", "invalid-request")):
            with self.subTest(path):
                answer = self.watch(status=404 if code == "not-found" else 400, path=path)
                self.assertEqual((answer["code"], answer["field"].split("/")[-1]), (code, "path"))
        for change in ({"job": {"input": {"upload": "a"}, "outputs": [file_output()]}},
                       {"job": {"input": {"path": "media/in"}, "preset": "none"}}, {"settle": -1}, {"recursive": 1},
                       {"job": {"input": {"path": "media/in"}, "outputs": [file_output()], "queue": "streams"}}):
            with self.subTest(change):
                job = {"input": {"path": "media/in"}, "outputs": [file_output()]}
                answer = self.service.request("PUT", "/v1/watches/x", {"job": job, **change})
                self.assertIn(answer.status, (400, 404), answer)
        self.assertEqual(self.service.get("/v1/watches").json, {"watches": []})
        shutil.rmtree(outside)

    def test_a_file_that_is_refused_keeps_no_other_from_becoming_a_job(self):
        self.put("a" + 40 * "\u0301" + ".mp4")  # no request has such a name
        self.watch()
        self.put("b.mp4")
        self.assertEqual(set(self.wait_for(1)), {"media/in/b.mp4"})
        until(lambda: "\u0301" in self.state().get("problem", ""), "the problem shows")

    def test_what_is_added_to_jobs_must_be_allowed(self):
        job = {"input": {"path": "media/in"}, "outputs": [file_output()]}
        for count, status in ((32, 400), (31, 201)):
            labels = {f"l{number}": "" for number in range(count)}
            answer = self.service.request("PUT", "/v1/watches/full", {"job": {**job, "labels": labels}})
            self.assertEqual(answer.status, status, answer)

    def test_results_do_not_become_jobs(self):
        (self.root / "out").mkdir()
        self.service.close()
        self.service = Service("--disk-reserve", "0", "--media-roots", f"media={self.root},same={self.root}/in",
                               "--media-writable", "media,same", "--watch-interval", "0.1")

        def put(name, source, destination):
            job = {"input": {"path": source}, "outputs": [file_output()], "destination": {"path": destination}}
            return self.service.request("PUT", f"/v1/watches/{name}", {"job": job, "settle": 0})

        for destination in ("media/in", "media/in/done", "same/done"):
            refused = put("a", "media/in", destination)
            self.assertEqual((refused.status, refused.json["field"]), (400, "/job/destination/path"), destination)
        self.assertEqual(put("a", "media/in", "media/out").status, 201)
        refused = put("b", "media/out", "media/in/again")
        self.assertEqual((refused.status, refused.json["field"]), (400, "/job/destination/path"))
        self.put("one/film.mp4")
        self.put("one/film.mkv", clip("film.mkv"))
        self.wait_for(2)
        found = sorted(str(path.relative_to(self.root)) for path in (self.root / "out").rglob("*.mp4") if path.is_file())
        self.assertEqual(found, ["out/one/film.mkv/out.mp4", "out/one/film.mp4/out.mp4"])

    def test_links_lead_nowhere(self):
        outside = pathlib.Path(tempfile.mkdtemp(prefix="outside-"))
        shutil.copyfile(clip(), outside / "secret.mp4")
        os.symlink(outside / "secret.mp4", self.root / "in" / "link.mp4")
        os.symlink(outside, self.root / "in" / "folder")
        self.watch()
        self.put("a.mp4")
        self.assertEqual(set(self.wait_for(1)), {"media/in/a.mp4"})
        self.scans()
        self.assertEqual(len(self.jobs()), 1)
        shutil.rmtree(outside)


if __name__ == "__main__":
    unittest.main()
