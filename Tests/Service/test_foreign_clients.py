# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients that others have written for the protocols of the service: tuspy, standardwebhooks and m3u8 of PyPI."""

import json
import math
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.request

from proxy import Proxy, Rule
from rig import PATIENCE, Service, clip, digest, file_output, until
from test_webhooks import Receiver

PACKAGES = ["tuspy==1.1.0", "standardwebhooks==1.1.0", "m3u8==6.0.0"]
PROGRAM = pathlib.Path(__file__).resolve().parent / "foreign.py"


class ForeignClientTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="foreign-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        subprocess.run([sys.executable, "-m", "venv", cls.folder / "python"], check=True)
        cls.python = cls.folder / "python/bin/python"
        made = subprocess.run(
            [cls.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES],
            capture_output=True, text=True,
        )
        if made.returncode:
            lines = made.stderr.strip().splitlines() or ["pip says nothing"]
            raise unittest.SkipTest(f"the package index does not give {' '.join(PACKAGES)}: {lines[-1]}")
        cls.service = Service("--network-allow", "127.0.0.0/8")
        cls.addClassCleanup(lambda: cls.service.close())

    def client(self, *words, data=None, status=0):
        """What the program of others prints."""
        command = [str(self.python), str(PROGRAM), *map(str, words)]
        done = subprocess.run(command, input=data, capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, status, done.stderr)
        return json.loads(done.stdout)

    # tus

    def check_upload(self, found, path):
        """The upload is the file, and can be encoded."""
        identifier = found["url"].split("/")[-1]
        upload = self.service.get(f"/v1/uploads/{identifier}").json
        self.assertEqual((upload["complete"], upload["sha256"]), (True, digest(path)), upload)
        job = self.service.wait(self.service.submit(identifier, file_output()))
        self.assertEqual(job["state"], "succeeded", job)

    def test_tuspy_goes_on_after_it_and_the_service_were_killed(self):
        path, store = clip(), self.folder / "killed.json"
        size = path.stat().st_size // 5
        first = self.client("tus", self.service.url, path, store, size, "--parts", 2, status=9)
        self.assertEqual((first["begin"], first["end"]), (0, 2 * size))
        self.service.kill()
        self.service.start(port=self.service.port)
        second = self.client("tus", self.service.url, path, store, size)
        self.assertEqual((second["url"], second["begin"]), (first["url"], 2 * size))
        self.assertEqual(second["end"], path.stat().st_size)
        self.check_upload(second, path)

    def test_tuspy_repeats_a_part_whose_connection_broke(self):
        path, size = clip(), math.ceil(clip().stat().st_size / 3)
        with Proxy(self.service) as proxy:
            proxy.rules.append(Rule("PATCH", after_sent=size // 2))
            found = self.client("tus", proxy.url, path, self.folder / "broken.json", size, "--retries", 5)
            self.assertEqual(proxy.rules[0].times, 0)
            self.assertGreater(len(proxy.seen("PATCH")), 3)
        self.check_upload(found, path)

    # Standard Webhooks

    def verify(self, secret, headers, body):
        return self.client("webhook", secret, data=json.dumps({"headers": headers, "body": body.decode()}))

    def test_standardwebhooks_verifies_reports_also_while_the_secret_rotates(self):
        before = self.service.get("/v1/webhooks/secret").json["secret"]
        receiver = Receiver()
        self.addCleanup(receiver.close)
        upload = self.service.upload(clip())["id"]
        job = self.service.submit(upload, webhook={"url": receiver.url})
        until(lambda: receiver.got, "the report comes")
        _, headers, body = receiver.got[0]
        self.assertEqual(self.verify(before, headers, body)["payload"]["data"]["job"], job)
        self.assertIn("refused", self.verify(before, headers, body.replace(b"succeeded", b"cancelled")))

        after = self.service.post("/v1/webhooks/secret/rotate?grace=600").json["secret"]
        self.service.submit(upload, webhook={"url": receiver.url})
        until(lambda: len(receiver.got) == 2, "the second report comes")
        _, headers, body = receiver.got[1]
        for secret in (before, after):
            self.assertEqual(self.verify(secret, headers, body)["payload"]["type"], "job.succeeded")

        last = self.service.post("/v1/webhooks/secret/rotate?grace=0").json["secret"]
        self.service.submit(upload, webhook={"url": receiver.url})
        until(lambda: len(receiver.got) == 3, "the third report comes")
        _, headers, body = receiver.got[2]
        self.assertIn("payload", self.verify(last, headers, body))
        for secret in (before, after):
            self.assertIn("refused", self.verify(secret, headers, body))

    # HLS

    def check_variant(self, variant, seconds):
        self.assertTrue(variant["endlist"] and variant["independent"], variant)
        self.assertAlmostEqual(sum(variant["durations"]), seconds, delta=0.1)
        self.assertLessEqual(round(max(variant["durations"])), variant["target"])
        self.assertRegex(variant["codecs"], r"avc1\.[0-9a-fA-F]{6}")
        size = 0
        for address in [variant["map"], *variant["segments"]]:
            if address:
                with urllib.request.urlopen(address) as answer:
                    size += len(answer.read())
        # BANDWIDTH is the highest rate of any segment, so no stream is larger than it says.
        self.assertLessEqual(size * 8 / seconds, variant["bandwidth"] * 1.1)

    def test_m3u8_reads_the_playlists(self):
        source = self.service.upload(clip("hls.mp4", seconds=6))["id"]
        ladder = {"kind": "hls", "name": "show.m3u8", "segmentDuration": 2, "ladder": [{"height": 180}, {"height": 90}],
                  "video": {"preset": "ultrafast", "codec": "h264"}}
        for kind in ("fmp4", "ts"):
            with self.subTest(kind):
                job = self.service.wait(self.service.submit(source, ladder | {"segmentFormat": kind}))
                self.assertEqual(job["state"], "succeeded", job)
                found = self.client("playlist", f"{self.service.url}/v1/jobs/{job['id']}/files/show.m3u8")
                self.assertTrue(found["variant"])
                self.assertEqual([variant["resolution"] for variant in found["variants"]], [[320, 180], [160, 90]])
                for variant in found["variants"]:
                    self.check_variant(variant, 6)
                    self.assertEqual(len(variant["segments"]), 3)
                    self.assertEqual(variant["map"] is not None, kind == "fmp4")


if __name__ == "__main__":
    unittest.main()
