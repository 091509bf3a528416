# SPDX-License-Identifier: GPL-2.0-or-later
"""POST /v1/encode: from body to body."""

import http.client
import json
import socket
import unittest

from rig import PATIENCE, Service, clip, frame_hashes, probe, until


class StreamTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Service("--streams-count", "2")
        cls.source = clip("source.ts", seconds=4, more=["-f", "mpegts"])

    @classmethod
    def tearDownClass(cls):
        cls.service.close()

    def encode(self, query, body):
        return self.service.request("POST", f"/v1/encode?{query}", body, {"Content-Type": "application/octet-stream"})

    def streams(self):
        return self.service.get("/v1/jobs?queue=streams").json["jobs"]

    def test_body_is_encoded(self):
        for format, kind in [("mp4", "video/mp4"), ("ts", "video/mp2t"), ("mkv", "video/x-matroska")]:
            answer = self.encode(f"codec=h264&quality=30&preset=ultrafast&format={format}", self.source.read_bytes())
            self.assertEqual(answer.status, 200, answer)
            self.assertEqual(answer.headers["Content-Type"], kind)
            path = self.service.folder / f"encoded.{format}"
            path.write_bytes(answer.body)
            streams = probe(path)["streams"]
            self.assertEqual([stream["codec_name"] for stream in streams], ["h264", "aac"])
            self.assertEqual(streams[0]["nb_read_frames"], "100")
            job = self.service.wait(answer.headers["X-Job-ID"])
            self.assertEqual((job["state"], job["queue"]), ("succeeded", "streams"))
            self.assertEqual(job["outputs"][0]["encoder"]["codec"], "h264")

    def test_answer_begins_while_the_body_is_still_being_sent(self):
        data = self.source.read_bytes()
        connection = http.client.HTTPConnection(self.service.host, self.service.port, timeout=PATIENCE)
        query = "codec=h264&preset=ultrafast&tune=zerolatency&format=ts&inputFormat=mpegts"
        connection.putrequest("POST", f"/v1/encode?{query}")
        connection.putheader("Transfer-Encoding", "chunked")
        connection.endheaders()

        def send(part):
            connection.send(f"{len(part):x}\r\n".encode() + part + b"\r\n")

        send(data)
        # libavformat reads the beginning of a stream first, which may take more than one copy of this one.
        response = None
        send(data)
        response = connection.getresponse()
        self.assertEqual(response.status, 200)
        self.assertTrue(response.read1(1000), "bytes come before the body has ended")
        job = self.service.job(response.headers["X-Job-ID"])
        self.assertEqual(job["state"], "running")
        # It is on its way to the client, and nowhere else.
        self.assertNotIn("playable", job["outputs"][0])
        self.assertEqual(self.service.get(f"/v1/jobs/{job['id']}/preview/{job['outputs'][0]['name']}").status, 404)
        send(data)
        connection.send(b"0\r\n\r\n")
        rest = response.read()
        self.assertGreater(len(rest), 1000)
        connection.close()

    def test_input_that_is_no_media_has_its_status(self):
        answer = self.encode("codec=h264", b"no film " * 5000)
        self.assertEqual((answer.status, answer.json["value"]), (400, "malformed-data"))
        self.assertEqual(self.streams()[0]["state"], "failed")

    def test_late_failure_breaks_the_connection_and_stands_in_the_job(self):
        data = self.source.read_bytes()
        connection = socket.create_connection((self.service.host, self.service.port), timeout=PATIENCE)
        query = "codec=h264&preset=ultrafast&tune=zerolatency&format=ts&inputFormat=mpegts"
        connection.sendall(
            f"POST /v1/encode?{query} HTTP/1.1\r\nHost: localhost:{self.service.port}\r\n"
            "Transfer-Encoding: chunked\r\n\r\n".encode()
        )
        for _ in range(2):
            connection.sendall(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        got = connection.recv(10000)
        self.assertTrue(got.startswith(b"HTTP/1.1 200"), got[:100])
        job = next(line for line in got.decode("latin1").split("\r\n") if line.lower().startswith("x-job-id")).split()[1]
        for process in until(lambda: [pid for pid, line in self.processes() if " - --json" in line], "it runs"):
            import os
            import signal

            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        while True:
            part = connection.recv(65536)
            if not part:
                break
            got += part
        self.assertFalse(got.endswith(b"0\r\n\r\n"), "the body has no end")
        ended = self.service.wait(job)
        self.assertEqual((ended["state"], ended["failure"]["code"]), ("failed", "worker-killed"), ended["failure"])

    def processes(self):
        import pathlib

        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                except OSError:
                    continue
                if "vatoolbox" in line and "confine" not in line:
                    yield int(entry.name), line

    def test_client_that_leaves_frees_its_place(self):
        connections = []
        for _ in range(2):
            connection = socket.create_connection((self.service.host, self.service.port))
            connection.sendall(
                f"POST /v1/encode?codec=h264&inputFormat=mpegts HTTP/1.1\r\nHost: localhost:{self.service.port}\r\n"
                "Transfer-Encoding: chunked\r\n\r\n".encode()
            )
            connections.append(connection)
        until(lambda: [job["state"] for job in self.streams()[:2]] == ["running"] * 2, "both run")
        refused = self.encode("codec=h264", b"x")
        self.assertEqual((refused.status, refused.json["code"]), (503, "unavailable"))
        self.assertTrue(refused.headers["Retry-After"])
        for connection in connections:
            connection.close()
        until(lambda: [job["state"] for job in self.streams()[:2]] == ["failed"] * 2, "both have ended")
        self.assertEqual(self.streams()[0]["failure"]["code"], "client-left")
        answer = until(
            lambda: (lambda a: a if a.status != 503 else None)(
                self.encode("codec=h264&preset=ultrafast", self.source.read_bytes())
            ),
            "there is a place again",
        )
        self.assertEqual(answer.status, 200)

    def test_wrong_parameters(self):
        for query, field in [("codec=av1", "codec"), ("quality=99", "quality"), ("format=h265&codec=h264", "codec"), ("x=1", "x")]:
            answer = self.encode(query, b"")
            self.assertEqual((answer.status, answer.json["field"]), (400, field), query)

    def test_queue_of_streams_takes_no_other_jobs(self):
        with Service() as service:
            upload = service.upload(clip())["id"]
            outputs = [{"kind": "file", "name": "a.mp4"}]
            body = {"input": {"upload": upload}, "outputs": outputs, "queue": "streams"}
            refused = service.post("/v1/jobs", body)
            self.assertEqual((refused.status, refused.json["field"]), (400, "/queue"))
            hop = service.request("PUT", "/v1/queues/night", {"hop": {"after": 0, "queue": "streams"}})
            self.assertEqual((hop.status, hop.json["field"]), (400, "/hop"))
            self.assertEqual(service.request("DELETE", "/v1/queues/streams").status, 409)

    def test_streams_of_a_killed_service_have_ended(self):
        with Service() as service:
            connection = socket.create_connection((service.host, service.port))
            connection.sendall(
                f"POST /v1/encode?codec=h264&inputFormat=mpegts HTTP/1.1\r\nHost: localhost:{service.port}\r\n"
                "Transfer-Encoding: chunked\r\n\r\n".encode()
            )
            until(lambda: [job["state"] for job in service.get("/v1/jobs").json["jobs"]] == ["running"], "it runs")
            service.kill()
            connection.close()
            service.start()
            job = service.get("/v1/jobs").json["jobs"][0]
            self.assertEqual(job["state"], "cancelled")
            self.assertEqual(service.post(f"/v1/jobs/{job['id']}/retry").status, 409)

    def test_no_stream_begins_while_the_node_drains(self):
        with Service() as service:
            service.post("/v1/drain")
            answer = service.request("POST", "/v1/encode?codec=h264", b"x", {"Content-Type": "application/octet-stream"})
            self.assertEqual((answer.status, answer.json["code"]), (503, "unavailable"))
            service.post("/v1/resume")
