# SPDX-License-Identifier: GPL-2.0-or-later
"""Uploads in one request."""

import socket
import unittest

from rig import Service, clip, digest, digest_header, file_output, until


class UploadTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Service("--uploads-limit", "3000000")

    @classmethod
    def tearDownClass(cls):
        cls.service.close()

    def folders(self):
        return list((self.service.data / "uploads").iterdir())

    def test_upload_is_kept_with_its_digest(self):
        data = clip().read_bytes()
        answer = self.service.request("PUT", "/v1/uploads/a.mp4", data, {"Repr-Digest": digest_header(data)})
        self.assertEqual(answer.status, 201, answer)
        upload = answer.json
        self.assertEqual((upload["size"], upload["received"], upload["complete"]), (len(data), len(data), True))
        self.assertEqual(upload["sha256"], digest(clip()))
        self.assertEqual(self.service.get("/v1/uploads/a.mp4").json, upload)
        self.assertEqual(self.service.get(f"/v1/uploads/{upload['id']}").json, upload)
        self.assertIn(upload, self.service.get("/v1/uploads").json["uploads"])
        taken = self.service.request("PUT", "/v1/uploads/a.mp4", data)
        self.assertEqual((taken.status, taken.json["code"]), (409, "conflict"))
        self.assertEqual(self.service.request("DELETE", "/v1/uploads/a.mp4").status, 204)
        self.assertEqual(self.service.get("/v1/uploads/a.mp4").status, 404)

    def test_wrong_digest_keeps_nothing(self):
        before = self.folders()
        answer = self.service.request("PUT", "/v1/uploads/b.mp4", b"abc", {"Repr-Digest": digest_header(b"abd")})
        self.assertEqual((answer.status, answer.json["code"]), (460, "checksum-mismatch"))
        self.assertEqual(self.folders(), before)

    def test_too_large_upload_is_refused_before_and_during(self):
        before = self.folders()
        announced = self.service.request("PUT", "/v1/uploads/c.mp4", b"", {"Content-Length": "3000001"})
        self.assertEqual((announced.status, announced.json["code"]), (413, "too-large"))

        def chunks():
            for _ in range(40):
                yield b"x" * 100000

        try:
            answer = self.service.request("PUT", "/v1/uploads/c.mp4", chunks(), {"Transfer-Encoding": "chunked"}, raw=True)
            self.assertEqual(answer.status, 413, answer)
        except (BrokenPipeError, ConnectionResetError):
            pass  # The service need not read what it has refused.
        until(lambda: self.folders() == before, "nothing is left of it")

    def test_client_that_leaves_leaves_nothing(self):
        before = self.folders()
        connection = socket.create_connection((self.service.host, self.service.port))
        head = f"PUT /v1/uploads/d.mp4 HTTP/1.1\r\nHost: localhost:{self.service.port}\r\nContent-Length: 1000000\r\n\r\n"
        connection.sendall(head.encode() + b"x" * 1000)
        until(lambda: len(self.folders()) > len(before), "the upload has begun")
        connection.close()
        until(lambda: self.folders() == before, "nothing is left of it")
        self.assertEqual(self.service.get("/v1/uploads/d.mp4").status, 404)

    def test_upload_of_a_waiting_job_is_not_deleted(self):
        self.service.upload(clip(), "needed.mp4")
        self.service.request("PUT", "/v1/queues/later", {"paused": True})
        job = self.service.submit("needed.mp4", file_output(), queue="later")
        refused = self.service.request("DELETE", "/v1/uploads/needed.mp4")
        self.assertEqual((refused.status, refused.json["code"]), (409, "invalid-state"))
        self.service.post(f"/v1/jobs/{job}/cancel")
        self.service.wait(job, "cancelled")
        until(lambda: self.service.request("DELETE", "/v1/uploads/needed.mp4").status == 204, "it can be deleted")
