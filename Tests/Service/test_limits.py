# SPDX-License-Identifier: GPL-2.0-or-later
"""What a client may send and how often, what an input may have, and what the audit log keeps."""

import concurrent.futures
import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from rig import CLIPS, PROGRAMS, Service, clip, file_output, until

TOKEN = "a token for tests"
ENVIRONMENT = {"VATOOLBOX_SERVICE_ACCESS_TOKEN": TOKEN}


def bearer(text):
    return {"Authorization": f"Bearer {text}"}


def new_key(service, *scopes):
    answer = service.request("POST", "/v1/keys", {"name": "key", "scopes": list(scopes)}, bearer(TOKEN))
    assert answer.status == 201, answer
    return answer.json


class RateTests(unittest.TestCase):
    def test_a_key_has_a_rate(self):
        with Service("--disk-reserve", "0", "--access-requests", "1", environment=ENVIRONMENT) as service:
            one, other = new_key(service, "jobs:read")["secret"], new_key(service, "jobs:read")["secret"]

            def ask(_):
                return service.get("/v1/jobs", **bearer(one))

            refused = []
            with concurrent.futures.ThreadPoolExecutor(16) as threads:
                while not refused:
                    refused = [answer for answer in threads.map(ask, range(64)) if answer.status != 200]
            for answer in refused:
                self.assertEqual((answer.status, answer.json["code"]), (429, "rate-limited"))
                self.assertGreaterEqual(int(answer.headers["Retry-After"]), 1)
                self.assertIn("1 a second", answer.json["allowed"])
            self.assertEqual(service.get("/v1/jobs", **bearer(other)).status, 200, "another key has its own")
            for _ in range(8):
                self.assertEqual(service.get("/v1/jobs", **bearer(TOKEN)).status, 200, "the operator has no limit")
            self.assertEqual(service.get("/healthz").status, 200)
            until(lambda: ask(0).status == 200, "the key may ask again")

    def test_without_a_limit(self):
        with Service("--disk-reserve", "0", "--access-requests", "0", environment=ENVIRONMENT) as service:
            key = new_key(service, "jobs:read")["secret"]
            for _ in range(300):
                self.assertEqual(service.get("/v1/jobs", **bearer(key)).status, 200)


class GuessTests(unittest.TestCase):
    def test_guesses_are_few(self):
        # One a minute comes back, which no slow machine waits for here.
        with Service("--disk-reserve", "0", "--access-wrong-keys", "1", environment=ENVIRONMENT) as service:
            for _ in range(5):
                self.assertEqual(service.get("/v1/jobs").status, 401, "no key is no guess")
            self.assertEqual(service.get("/v1/jobs", **bearer(TOKEN)).status, 200)
            answers = [service.get("/v1/jobs", **bearer(f"guess {number}")) for number in range(3)]
            self.assertEqual((answers[-1].status, answers[-1].json["code"]), (429, "rate-limited"))
            self.assertGreaterEqual(int(answers[-1].headers["Retry-After"]), 1)
            signed = service.get("/v1/jobs?expires=9999999999&signature=abc")
            self.assertEqual(signed.status, 429, "links are guessed as well")
            right = service.get("/v1/jobs", **bearer(TOKEN))
            self.assertEqual(right.status, 200, "others may have the same address")


class AuditTests(unittest.TestCase):
    def test_changes_and_refusals_are_kept(self):
        with Service("--disk-reserve", "0", environment=ENVIRONMENT) as service:
            key = new_key(service, "jobs:read")
            secret = key["secret"]
            self.assertEqual(service.get("/v1/jobs", **bearer(secret)).status, 200)
            refused = service.request("POST", "/v1/drain", headers=bearer(secret))
            self.assertEqual(refused.status, 403)
            self.assertEqual(service.get("/v1/jobs?signature=0123&expires=1").status, 401)
            self.assertEqual(service.request("PUT", "/v1/queues/night", {"paused": True}, bearer(TOKEN)).status, 201)
            self.assertEqual(service.request("DELETE", "/v1/jobs/nothing", headers=bearer(TOKEN)).status, 400)
            for _ in range(300):
                self.assertEqual(service.get("/v1/jobs/" + "x" * 2000).status, 401)
            path = service.data / "audit.jsonl"
            self.assertEqual(path.stat().st_mode & 0o777, 0o600)
            text = path.read_text()
            lines = [json.loads(line) for line in text.splitlines()]
            strangers = [line for line in lines if "xxx" in line["path"]]
            self.assertTrue(0 < len(strangers) < 300 and max(len(line["path"]) for line in strangers) == 512)
            lines = [line for line in lines if line not in strangers]
            found = [(line["method"], line["path"], line["status"], line.get("code"), line["client"])
                     for line in lines]
            self.assertEqual(found, [
                ("POST", "/v1/keys", 201, None, ""),
                ("POST", "/v1/drain", 403, "forbidden", key["id"]),
                ("GET", "/v1/jobs", 401, "unauthorized", ""),
                ("PUT", "/v1/queues/night", 201, None, ""),
                ("DELETE", "/v1/jobs/nothing", 400, "invalid-parameter", ""),
            ])
            self.assertEqual(lines[1]["request"], refused.headers["X-Request-ID"])
            self.assertEqual({line["address"] for line in lines}, {"127.0.0.1"})
            for secret in (secret, TOKEN, "signature", "0123"):
                self.assertNotIn(secret, text)


class SupportTests(unittest.TestCase):
    def test_the_bundle_has_no_secrets(self):
        root = pathlib.Path(tempfile.mkdtemp(prefix="media-"))
        self.addCleanup(shutil.rmtree, root)
        (root / "in").mkdir()
        with Service("--disk-reserve", "0", "--media-roots", f"media={root}", environment=ENVIRONMENT) as service:
            key = new_key(service, "jobs:read", "jobs:write", "uploads:write")["secret"]
            self.assertEqual(service.get("/v1/support", **bearer(key)).status, 403)
            service.token = key
            service.request("PUT", "/v1/uploads/broken.mp4", b"no media")
            job = service.submit("broken.mp4", webhook={"url": "http://127.0.0.1:9/hook?secret=hidden"})
            watched = {"input": {"path": "media/in"}, "outputs": [file_output()],
                       "webhook": {"url": "http://user:hidden@127.0.0.1:9/hook?secret=hidden"}}
            answer = service.request("PUT", "/v1/watches/a", {"job": watched}, bearer(TOKEN))
            self.assertEqual(answer.status, 201, answer)
            self.assertEqual(service.wait(job)["state"], "failed")
            answer = service.get("/v1/support", **bearer(TOKEN))
            self.assertEqual(answer.status, 200, answer)
            self.assertIn("attachment", answer.headers["Content-Disposition"])
            bundle = answer.json
            self.assertEqual(bundle["settings"]["access.token"], "set")
            self.assertEqual(bundle["settings"]["disk.reserve"], "0")
            self.assertEqual([failed["id"] for failed in bundle["failedJobs"]], [job])
            self.assertTrue(any("attempt has failed" in line for line in bundle["log"]), bundle["log"][-5:])
            self.assertIn("vatoolbox_", bundle["metrics"])
            self.assertTrue(bundle["system"].startswith("Linux "))
            secret = service.get("/v1/webhooks/secret", **bearer(TOKEN)).json["secret"]
            for text in (TOKEN, key, "hidden", secret, secret.removeprefix("whsec_")):
                self.assertNotIn(text, answer.body.decode())


class InputTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Service("--disk-reserve", "0", "--inputs-pixels", "60000", "--inputs-tracks", "2",
                              "--inputs-duration", "5")

    @classmethod
    def tearDownClass(cls):
        cls.service.close()

    def refused(self, path, *words):
        """No way into the service takes the file."""
        service, name = self.service, path.name
        service.upload(path, name)
        probe = service.post("/v1/probe", {"input": {"upload": name}})
        self.assertEqual(probe.status, 400, probe)
        outputs = [file_output(), {"kind": "sprite", "name": "s.vtt"}]
        plan = service.post("/v1/jobs?dryRun=true", {"input": {"upload": name}, "outputs": outputs})
        self.assertEqual(plan.status, 400, plan)
        messages = [json.dumps(answer.json) for answer in (probe, plan)]
        for output in outputs:
            job = service.wait(service.submit(name, output, attempts=3))
            self.assertEqual((job["state"], job["failure"]["code"]), ("failed", "unsupported"), job)
            self.assertEqual(len(job["attempts"]), 1, "another attempt finds the same")
            messages.append(json.dumps(job["failure"]))
        for message in messages:
            for word in words:
                self.assertIn(word, message)

    def test_pixels(self):
        self.refused(clip("limit-wide.mp4", size="320x200"), "pixels", "at most 60000 pixels")

    def test_tracks(self):
        more = ("-map", "0", "-map", "1", "-map", "1", "-c:a", "aac", "-shortest")
        self.refused(clip("limit-tracks.mkv", more=more), "tracks", "at most 2")

    def test_duration(self):
        self.refused(clip("limit-long.mp4", seconds=8), "seconds", "5 seconds")

    def test_what_is_within_the_limits(self):
        service = self.service
        service.upload(clip())
        job = service.wait(service.submit("clip.mp4"))
        self.assertEqual(job["state"], "succeeded", job)

    def test_a_picture_that_grows_later(self):
        """The headers state a size that is allowed; the pictures that follow are larger."""
        small, large = clip("limit-small.ts", seconds=1), clip("limit-large.ts", seconds=1, size="1280x720")
        grown = CLIPS / "grown.ts"
        grown.write_bytes(small.read_bytes() + large.read_bytes())
        self.service.upload(grown)
        job = self.service.wait(self.service.submit("grown.ts"))
        self.assertEqual((job["state"], job["failure"]["code"]), ("failed", "damaged-input"), job)

    def test_a_stream(self):
        body = clip("limit-wide.ts", size="320x200").read_bytes()
        answer = self.service.request("POST", "/v1/encode?codec=h264&format=ts", body, raw=True)
        self.assertEqual(answer.status, 400, answer)
        self.assertIn("pixels", answer.json["detail"])


class SettingsTests(unittest.TestCase):
    def test_limits_of_the_command(self):
        """The same limits, as a user of the command meets them."""
        source, program = clip("limit-wide.mp4", size="320x200"), str(PROGRAMS / "vatoolbox")
        for command in (["encode", source, "-o", "null"], ["inspect", source],
                        ["thumbnails", source, "-o", CLIPS / "none-%d.png"]):
            for limits, status, word in (("pixels=63999", 1, "320x200"), ("tracks=1", 1, "tracks"),
                                         ("pixels=64000,tracks=2,duration=3", 0, ""), ("pixels=0", 2, "pixels=1…"),
                                         ("pixels=1,pixels=2", 2, "at most once"), ("", 2, "--input-limits"),
                                         ("depth=8", 2, "tracks=1…1000")):
                with self.subTest((command[0], limits)):
                    extra = ["--overwrite"] if command[0] == "thumbnails" else []
                    ended = subprocess.run([program, *map(str, command), *extra, f"--input-limits={limits}"],
                                           capture_output=True, text=True, stdin=subprocess.DEVNULL)
                    self.assertEqual(ended.returncode, status, ended.stderr)
                    self.assertIn(word, ended.stderr)




if __name__ == "__main__":
    unittest.main()
