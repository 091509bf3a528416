# SPDX-License-Identifier: GPL-2.0-or-later
"""Uploads in parts, by the protocol tus 1.0.0."""

import base64
import hashlib
import os
import socket
import unittest

from rig import Service, clip, digest, file_output, until

TYPE = "application/offset+octet-stream"


class TusTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Service()
        cls.data = clip().read_bytes()

    @classmethod
    def tearDownClass(cls):
        cls.service.close()

    def call(self, method, path, body=None, **headers):
        named = {"Tus-Resumable": "1.0.0", **{name.replace("_", "-"): value for name, value in headers.items()}}
        return self.service.request(method, path, body, {name: value for name, value in named.items() if value})

    def begin(self, length=None, name="film.mp4", **headers):
        metadata = "filename " + base64.b64encode(name.encode()).decode()
        length = {"Upload_Length": str(length)} if length is not None else {}
        answer = self.call("POST", "/v1/tus", Upload_Metadata=metadata, **length, **headers)
        self.assertEqual(answer.status, 201, answer)
        return answer.headers["Location"]

    def send(self, path, data, offset, **headers):
        return self.call("PATCH", path, data, Content_Type=TYPE, Upload_Offset=str(offset), **headers)

    def test_options_tell_the_extensions(self):
        answer = self.service.request("OPTIONS", "/v1/tus")
        self.assertEqual(answer.status, 204)
        self.assertEqual(answer.headers["Tus-Version"], "1.0.0")
        self.assertIn("checksum", answer.headers["Tus-Extension"])

    def test_upload_in_parts_becomes_an_input(self):
        data, place = self.data, len(self.data) // 3
        path = self.begin(len(data))
        self.assertEqual(self.send(path, data[:place], 0).headers["Upload-Offset"], str(place))
        head = self.call("HEAD", path)
        self.assertEqual((head.headers["Upload-Offset"], head.headers["Upload-Length"]), (str(place), str(len(data))))
        wrong = self.send(path, data[place:], place + 1)
        self.assertEqual((wrong.status, wrong.json["allowed"]), (409, str(place)))
        self.assertEqual(self.send(path, data[place:], place).status, 204)
        upload = self.service.get(f"/v1/uploads/{path.split('/')[-1]}").json
        self.assertEqual((upload["complete"], upload["sha256"]), (True, digest(clip())))
        job = self.service.wait(self.service.submit(upload["id"], file_output()))
        self.assertEqual(job["state"], "succeeded", job)

    def test_a_connection_that_breaks_keeps_what_was_received(self):
        data = self.data
        path = self.begin(len(data), "broken.mp4")
        connection = socket.create_connection((self.service.host, self.service.port))
        head = (
            f"PATCH {path} HTTP/1.1\r\nHost: localhost:{self.service.port}\r\nTus-Resumable: 1.0.0\r\n"
            f"Content-Type: {TYPE}\r\nUpload-Offset: 0\r\nContent-Length: {len(data)}\r\n\r\n"
        )
        connection.sendall(head.encode() + data[:5000])
        until(lambda: self.call("HEAD", path).headers["Upload-Offset"] == "5000", "the bytes are there")
        connection.close()
        # The request has the upload until the service sees that the client has gone.
        until(lambda: self.send(path, data[5000:], 5000).status == 204, "the upload goes on")
        self.assertEqual(self.service.get(f"/v1/uploads/{path.split('/')[-1]}").json["sha256"], digest(clip()))

    def test_checksums(self):
        path = self.begin(10, "sums.bin")
        right = "sha1 " + base64.b64encode(hashlib.sha1(b"12345").digest()).decode()
        wrong = self.send(path, b"12346", 0, Upload_Checksum=right)
        self.assertEqual((wrong.status, wrong.json["code"]), (460, "checksum-mismatch"))
        self.assertEqual(self.call("HEAD", path).headers["Upload-Offset"], "0")
        self.assertEqual(self.send(path, b"12345", 0, Upload_Checksum=right).status, 204)
        strong = "sha256 " + base64.b64encode(hashlib.sha256(b"67890").digest()).decode()
        self.assertEqual(self.send(path, b"67890", 5, Upload_Checksum=strong).headers["Upload-Offset"], "10")
        self.assertEqual(self.send(path, b"1", 10, Upload_Checksum="md5 AAAA").status, 400)

    def test_length_may_come_later(self):
        path = self.begin(name="later.bin", Upload_Defer_Length="1")
        self.assertEqual(self.call("HEAD", path).headers["Upload-Defer-Length"], "1")
        self.assertEqual(self.send(path, b"abc", 0).status, 204)
        self.assertEqual(self.send(path, b"def", 3, Upload_Length="6").status, 204)
        self.assertTrue(self.service.get(f"/v1/uploads/{path.split('/')[-1]}").json["complete"])
        self.assertEqual(self.send(path, b"g", 6).status, 413)

    def test_first_bytes_come_with_the_creation(self):
        answer = self.call("POST", "/v1/tus", b"xyz", Upload_Length="3", Content_Type=TYPE)
        self.assertEqual((answer.status, answer.headers["Upload-Offset"]), (201, "3"))

    def test_parts_are_joined(self):
        data, parts = self.data, []
        for start in range(0, len(data), 30000):
            piece = data[start : start + 30000]
            path = self.begin(len(piece), "part", Upload_Concat="partial")
            self.assertEqual(self.send(path, piece, 0).status, 204)
            parts.append(path)
        final = self.begin(name="joined.mp4", Upload_Concat="final;" + " ".join(parts))
        upload = self.service.get(f"/v1/uploads/{final.split('/')[-1]}").json
        self.assertEqual(upload["sha256"], digest(clip()))
        self.assertEqual(self.send(final, b"x", len(data)).status, 403)

    def test_termination_and_errors(self):
        path = self.begin(5, "gone.bin")
        self.assertEqual(self.call("DELETE", path).status, 204)
        self.assertEqual(self.call("HEAD", path).status, 404)
        self.assertEqual(self.call("POST", "/v1/tus").status, 400)
        self.assertEqual(self.call("POST", "/v1/tus", Upload_Length="-1").status, 400)
        self.assertEqual(self.call("POST", "/v1/tus", Upload_Length="9" * 30).status, 400)
        old = self.service.request("HEAD", path, headers={"Tus-Resumable": "0.2.2"})
        self.assertEqual((old.status, old.headers["Tus-Version"]), (412, "1.0.0"))

    def test_uploads_go_on_after_a_kill(self):
        with Service() as service:
            own, self.__class__.service = self.__class__.service, service
            try:
                path = self.begin(len(self.data), "killed.mp4")
                self.send(path, self.data[:1000], 0)
                service.kill()
                service.start()
                self.assertEqual(self.call("HEAD", path).headers["Upload-Offset"], "1000")
                self.assertEqual(self.send(path, self.data[1000:], 1000).status, 204)
                self.assertEqual(service.get(f"/v1/uploads/{path.split('/')[-1]}").json["sha256"], digest(clip()))
            finally:
                self.__class__.service = own
