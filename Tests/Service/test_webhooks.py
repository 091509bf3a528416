# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports of events, as a receiver of Standard Webhooks 1.0 checks them."""

import base64
import hashlib
import hmac
import http.server
import json
import threading
import time
import unittest

from rig import Service, clip, file_output, until


class Receiver:
    """A server that notes what it gets, and answers with a list of statuses, the last one from then on."""

    def __init__(self, *statuses, headers=None):
        self.statuses, self.headers, self.got = list(statuses) or [204], headers or {}, []
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append((self.path, dict(self.headers), body))
                status = receiver.statuses.pop(0) if len(receiver.statuses) > 1 else receiver.statuses[0]
                self.send_response(status)
                for name, value in receiver.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}/hook"

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def is_signed(secret, headers, body):
    """Whether one of the signatures is right, computed as the specification says."""
    lower = {name.lower(): value for name, value in headers.items()}
    text = f"{lower['webhook-id']}.{lower['webhook-timestamp']}.".encode() + body
    key = base64.b64decode(secret.removeprefix("whsec_"))
    right = "v1," + base64.b64encode(hmac.new(key, text, hashlib.sha256).digest()).decode()
    return right in lower["webhook-signature"].split(" ") and abs(int(lower["webhook-timestamp"]) - time.time()) < 300


class WebhookTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Service("--network-allow", "127.0.0.0/8")
        cls.upload = cls.service.upload(clip())["id"]

    @classmethod
    def tearDownClass(cls):
        cls.service.close()

    def deliveries(self, job):
        return self.service.get(f"/v1/jobs/{job}/deliveries").json["deliveries"]

    def test_report_is_signed_and_tells_the_end(self):
        receiver = Receiver()
        secret = self.service.get("/v1/webhooks/secret").json["secret"]
        job = self.service.submit(self.upload, webhook={"url": receiver.url}, labels={"order": "7"})
        until(lambda: receiver.got, "the report comes")
        path, headers, body = receiver.got[0]
        self.assertEqual(path, "/hook")
        self.assertTrue(is_signed(secret, headers, body))
        self.assertFalse(is_signed(secret, headers, body + b" "))
        report = json.loads(body)
        self.assertEqual((report["type"], report["data"]["job"]), ("job.succeeded", job))
        self.assertEqual(report["data"]["labels"], {"order": "7"})
        until(lambda: self.deliveries(job)[0]["state"] == "delivered", "the delivery is noted")
        self.assertEqual(len(receiver.got), 1)
        # By hand, again.
        again = self.service.post(f"/v1/jobs/{job}/deliveries/{self.deliveries(job)[0]['id']}/redeliver")
        self.assertEqual(again.status, 202, again)
        until(lambda: len(receiver.got) == 2, "the report comes again")
        lower = [{name.lower(): value for name, value in got[1].items()} for got in receiver.got]
        self.assertEqual(lower[0]["webhook-id"], lower[1]["webhook-id"])
        receiver.close()

    def test_failed_delivery_is_repeated_with_pauses(self):
        receiver = Receiver(500, 204)
        job = self.service.submit(self.upload, webhook={"url": receiver.url})
        until(lambda: receiver.got, "the report comes")
        waiting = until(lambda: [d for d in self.deliveries(job) if d["attempts"] == 1 and d.get("status") == 500], "it fails")
        self.assertEqual(waiting[0]["state"], "waiting")
        self.assertIn("nextAttemptAt", waiting[0])
        until(lambda: self.deliveries(job)[0]["state"] == "delivered", "it is delivered")
        self.assertEqual(self.deliveries(job)[0]["attempts"], 2)
        receiver.close()

    def test_events_that_are_asked_for(self):
        receiver = Receiver()
        events = ["started", "output-ready", "succeeded"]
        self.service.submit(self.upload, webhook={"url": receiver.url, "events": events})
        until(lambda: len(receiver.got) == 3, "all reports come")
        found = sorted((json.loads(body)["data"]["number"], json.loads(body)["type"]) for _, _, body in receiver.got)
        self.assertEqual([kind for _, kind in found], ["job.started", "job.output-ready", "job.succeeded"])
        receiver.close()

    def test_secret_rotates_with_both_signatures(self):
        before = self.service.get("/v1/webhooks/secret").json["secret"]
        after = self.service.post("/v1/webhooks/secret/rotate?grace=600").json["secret"]
        self.assertNotEqual(before, after)
        receiver = Receiver()
        self.service.submit(self.upload, webhook={"url": receiver.url})
        until(lambda: receiver.got, "the report comes")
        _, headers, body = receiver.got[0]
        self.assertTrue(is_signed(before, headers, body) and is_signed(after, headers, body))
        receiver.close()

    def test_report_outlives_a_kill_while_the_receiver_is_away(self):
        receiver = Receiver(503)
        service = Service("--network-allow", "127.0.0.1")
        try:
            job = service.submit(service.upload(clip())["id"], webhook={"url": receiver.url})
            service.wait(job)
            until(lambda: receiver.got, "the first attempt")
            until(lambda: service.get(f"/v1/jobs/{job}/deliveries").json["deliveries"][0]["attempts"] == 1, "it is noted")
            service.kill()
            receiver.statuses = [204]
            service.start()
            until(lambda: service.get(f"/v1/jobs/{job}/deliveries").json["deliveries"][0]["state"] == "delivered", "it comes")
            self.assertEqual({json.loads(got[2])["data"]["number"] for got in receiver.got}, {json.loads(receiver.got[0][2])["data"]["number"]})
        finally:
            service.close()
            receiver.close()

    def test_private_addresses_are_refused(self):
        with Service() as service:
            upload = service.upload(clip())["id"]
            receiver = Receiver()
            port = receiver.server.server_port
            jobs = [
                service.submit(upload, webhook={"url": url})
                for url in [
                    f"http://127.0.0.1:{port}/", f"http://localhost:{port}/", f"http://[::1]:{port}/", "http://10.0.0.1/",
                    "http://169.254.169.254/latest/meta-data", f"http://[::ffff:127.0.0.1]:{port}/", f"http://0.0.0.0:{port}/",
                    "http://[fd00::1]/", "http://[64:ff9b::7f00:1]/", f"http://2130706433:{port}/", f"http://0x7f.1:{port}/",
                ]
            ]
            for job in jobs:
                service.wait(job)
                found = until(
                    lambda: [d for d in service.get(f"/v1/jobs/{job}/deliveries").json["deliveries"] if d["attempts"]], "tried"
                )
                self.assertNotEqual(found[0]["state"], "delivered", found)
                self.assertIn("error", found[0])
            self.assertEqual(receiver.got, [])
            receiver.close()

    def test_redirect_is_not_followed(self):
        target = Receiver()
        receiver = Receiver(302, headers={"Location": target.url})
        job = self.service.submit(self.upload, webhook={"url": receiver.url})
        until(lambda: [d for d in self.deliveries(job) if d["attempts"]], "it is tried")
        self.assertEqual(self.deliveries(job)[0].get("status"), 302)
        self.assertEqual(target.got, [])
        receiver.close()
        target.close()
