# SPDX-License-Identifier: GPL-2.0-or-later
"""Requests of clients who mean no good: paths, headers, bodies, connections, keys, and files that are bombs."""

import json
import os
import pathlib
import re
import socket
import struct
import subprocess
import tempfile
import unittest
import urllib.parse
import zlib

import chaos
from rig import PATIENCE, Service, clip, file_output, slow_output, until


def raw(service, data, patience=PATIENCE):
    """Sends bytes as they are, and returns everything that comes until the service closes or `patience` is over."""
    with socket.create_connection((service.host, service.port), timeout=patience) as connection:
        answer = b""
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            while part := connection.recv(65536):
                answer += part
        except OSError:
            pass
        return answer


def statuses(answer):
    return [int(status) for status in re.findall(rb"HTTP/1\.[01] (\d{3})", answer)]


class PathTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="films-"))
        cls.root = cls.folder / "root"
        (cls.root / "sub").mkdir(parents=True)
        data = clip().read_bytes()
        (cls.root / "a.mp4").write_bytes(data)
        (cls.folder / "secret.mp4").write_bytes(data)
        (cls.root / "link-out").symlink_to("../secret.mp4")
        (cls.root / "absolute").symlink_to(cls.folder / "secret.mp4")
        (cls.root / "folder-out").symlink_to("..")
        (cls.root / "loop").symlink_to("loop")
        (cls.root / "descriptor").symlink_to("/proc/self/fd/0")
        (cls.root / "process").symlink_to("/proc/self/root/etc/passwd")
        (cls.root / "inside").symlink_to("a.mp4")
        os.mkfifo(cls.root / "fifo")
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(cls.root / "socket"))
        if os.geteuid() == 0:
            os.mknod(cls.root / "device", 0o600 | 0o020000, os.makedev(1, 5))
        cls.service = Service("--media-roots", f"films={cls.root}", "--disk-reserve", "0")

    @classmethod
    def tearDownClass(cls):
        cls.service.close()
        subprocess.run(["rm", "-r", cls.folder], check=True)

    ESCAPES = [
        "films/../secret.mp4", "films/sub/../../secret.mp4", "films/./../secret.mp4", "films//etc/passwd",
        "films/%2e%2e/secret.mp4", "films/..%2fsecret.mp4", "films/..\\secret.mp4", "../films/a.mp4", "/etc/passwd",
        "etc/passwd", "films", "films/", "films/.", "films/..", "films/link-out", "films/absolute",
        "films/folder-out/secret.mp4", "films/loop", "films/descriptor", "films/process", "films/fifo", "films/socket",
        "films/device", "films/sub", "films/a.mp4/", "films/a.mp4/../../secret.mp4", "films/a.mp4\0.mkv",
        "films/" + "x" * 300, "films/" + "x/" * 3000 + "a.mp4", "FILMS/a.mp4", "films/a.mp4\n", "films/none.mp4", "",
    ]

    def test_paths_do_not_leave_their_root(self):
        before = self.service.get("/v1/jobs").json["jobs"]
        for path in self.ESCAPES:
            with self.subTest(path[:50]):
                body = {"input": {"path": path}, "outputs": [file_output()]}
                answer = self.service.post("/v1/jobs", body)
                self.assertIn(answer.status, (400, 404), answer)
                self.assertEqual(answer.headers["Content-Type"], "application/problem+json")
                self.assertNotIn(str(self.folder), answer.body.decode(), "the path of the root is not told")
        self.assertEqual(self.service.get("/v1/jobs").json["jobs"], before)

    def test_paths_within_the_root_are_read(self):
        for path in ["films/a.mp4", "films/inside"]:
            job = self.service.wait(self.service.submit({"path": path}))
            self.assertEqual(job["state"], "succeeded", job)
            self.assertEqual(self.service.request("DELETE", f"/v1/jobs/{job['id']}").status, 204)

    def test_link_that_is_set_after_the_submission_is_not_followed(self):
        target = self.root / "changing.mp4"
        target.write_bytes(clip().read_bytes())
        self.service.request("PUT", "/v1/queues/later", {"paused": True})
        job = self.service.submit({"path": "films/changing.mp4"}, queue="later")
        target.unlink()
        target.symlink_to("../secret.mp4")
        self.service.post("/v1/queues/later/resume")
        ended = self.service.wait(job)
        self.assertEqual(ended["state"], "failed", ended)
        self.service.request("DELETE", f"/v1/jobs/{job}")
        target.unlink()

    @unittest.skipIf(os.geteuid() == 0, "root may read everything")
    def test_file_without_rights_says_so(self):
        path = self.root / "locked.mp4"
        path.write_bytes(b"x")
        path.chmod(0)
        answer = self.service.post("/v1/jobs", {"input": {"path": "films/locked.mp4"}, "outputs": [file_output()]})
        self.assertEqual(answer.status, 404)
        self.assertIn("may not read", answer.json["title"] + answer.json.get("detail", ""))

    def test_results_have_no_other_paths(self):
        job = self.service.wait(self.service.submit({"path": "films/a.mp4"}))["id"]
        base = f"/v1/jobs/{job}/files"
        self.assertEqual(self.service.get(f"{base}/out.mp4").status, 200)
        for path in [
            ".published", "%2epublished", "..", "../0/out.mp4", "../../../keys.json", "%2e%2e/%2e%2e/links.key",
            "..%2f..%2f..%2fjobs.sqlite", "%2fetc%2fpasswd", "//etc/passwd", "out.mp4/..", "out.mp4%00",
            "out.mp4%00.mkv", "out.mp4%2f..%2f.published", "./out.mp4", "%c0%ae%c0%ae/links.key", "%", "%zz", "",
            "OUT.MP4", "out.mp4;x", "0/out.mp4", "..%5c..%5clinks.key", "x" * 5000,
        ]:
            with self.subTest(path[:40]):
                answer = self.service.get(f"{base}/{path}")
                self.assertIn(answer.status, (400, 404), answer)
                self.assertEqual(answer.headers["Content-Type"], "application/problem+json")

    def test_names_of_outputs_stay_in_their_folder(self):
        for name in ["../a.mp4", "/tmp/a.mp4", "a/b.mp4", ".a.mp4", "..", "a\0.mp4", "a\n.mp4", "", "x" * 300 + ".mp4"]:
            with self.subTest(name[:20]):
                body = {"input": {"path": "films/a.mp4"}, "outputs": [file_output(name)]}
                answer = self.service.post("/v1/jobs", body)
                self.assertEqual(answer.status, 400, answer)
        # What programs take for something else is a name here.
        names = ["-version.mkv", "%d.mkv", "pipe:1.mkv", "file:a.mkv", "a|b.mkv", "$(id).mkv", "'\".mkv", "<b>.mkv"]
        jobs = {name: self.service.submit({"path": "films/a.mp4"}, file_output(name)) for name in names}
        for name, job in jobs.items():
            with self.subTest(name):
                ended = self.service.wait(job)
                self.assertEqual(ended["state"], "succeeded", ended)
                self.assertEqual([file["path"] for file in ended["outputs"][0]["files"]], [name])
                self.assertEqual(self.service.get(ended["outputs"][0]["files"][0]["url"]).status, 200)

    def test_inputs_do_not_name_other_files(self):
        """Playlists are files that name others."""
        secret = self.folder / "secret.mp4"
        texts = {
            "list.m3u8": f"#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n{secret}\n#EXT-X-ENDLIST\n",
            "file.m3u8": f"#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\nfile://{secret}\n#EXT-X-ENDLIST\n",
            "list.ffconcat": f"ffconcat version 1.0\nfile {secret}\n",
            "list.mpd": f"<MPD><Period><BaseURL>file://{secret}</BaseURL></Period></MPD>",
        }
        for name, text in texts.items():
            path = self.service.folder / name
            path.write_text(text)
            upload = self.service.upload(path)["id"]
            for form in [None, "hls", "concat", "dash"]:
                with self.subTest(name, format=form):
                    source = {"upload": upload} | ({"format": form} if form else {})
                    answer = self.service.post("/v1/jobs", {"input": source, "outputs": [file_output()], "attempts": 1})
                    if answer.status == 201:
                        ended = self.service.wait(answer.json["id"])
                        self.assertEqual(ended["state"], "failed", ended)
                    else:
                        self.assertEqual(answer.status, 400, answer)


class HeaderTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Service("--disk-reserve", "0")

    @classmethod
    def tearDownClass(cls):
        cls.service.close()

    def head(self, line, *fields):
        return "\r\n".join([line, f"Host: localhost:{self.service.port}", *fields, "", ""]).encode()

    def test_malformed_requests_are_refused(self):
        head, put = self.head, "PUT /v1/uploads/x HTTP/1.1"
        cases = {
            "two lengths": head(put, "Content-Length: 3", "Content-Length: 4") + b"abcd",
            "length and chunks": head(put, "Content-Length: 3", "Transfer-Encoding: chunked") + b"0\r\n\r\n",
            "negative length": head(put, "Content-Length: -1"),
            "length that is no number": head(put, "Content-Length: 3x") + b"abc",
            "length beyond all numbers": head(put, "Content-Length: 99999999999999999999"),
            "chunk that is no number": head(put, "Transfer-Encoding: chunked") + b"zz\r\nabc\r\n0\r\n\r\n",
            "chunk without an end": head(put, "Transfer-Encoding: chunked") + b"3\r\nabcdef\r\n",
            "chunk beyond all numbers": head(put, "Transfer-Encoding: chunked") + b"ffffffffffffffffff\r\nabc",
            "unknown coding": head(put, "Transfer-Encoding: gzip") + b"abc",
            "large header": head("GET /v1 HTTP/1.1", "X-Large: " + "x" * 20000),
            "many headers": head("GET /v1 HTTP/1.1", *[f"X-{number}: x" for number in range(500)]),
            "large target": head("GET /v1/" + "x" * 40000 + " HTTP/1.1"),
            "space before the colon": head("GET /v1 HTTP/1.1", "X-Space : x"),
            "NUL in a header": head("GET /v1 HTTP/1.1", "X-Null: a\0b"),
            "no version": b"GET /v1\r\n\r\n",
            "version 9": b"GET /v1 HTTP/9.9\r\n\r\n",
            "no request": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),
            "preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        }
        for name, data in cases.items():
            with self.subTest(name):
                found = statuses(raw(self.service, data))
                self.assertTrue(all(400 <= status < 500 or status in (501, 505) for status in found), found)
                self.assertLessEqual(len(found), 1)
        self.assertEqual(self.service.get("/v1").status, 200)
        self.assertEqual(self.service.get("/v1/uploads").json["uploads"], [])
        self.assertEqual(list((self.service.data / "uploads").iterdir()), [])

    def test_garbage_behind_a_request_is_no_request(self):
        found = statuses(raw(self.service, self.head("GET /v1 HTTP/1.1") + b"GARBAGE\r\n\r\n"))
        self.assertEqual(found[:1], [200])
        self.assertTrue(all(status == 400 for status in found[1:]), found)
        # A body that looks like a request is a body.
        inner = self.head("DELETE /v1/queues/default HTTP/1.1")
        data = self.head("POST /v1/jobs HTTP/1.1", f"Content-Length: {len(inner)}", "Connection: close") + inner
        self.assertEqual(statuses(raw(self.service, data)), [400])

    def test_many_requests_in_one_go_are_answered_in_order(self):
        request = self.head("GET /v1/errors/not-found HTTP/1.1")
        last = self.head("GET /v1 HTTP/1.1", "Connection: close")
        self.assertEqual(statuses(raw(self.service, request * 200 + last)), [200] * 201)

    def test_lists_of_ranges_cost_nothing(self):
        job = self.service.wait(self.service.submit(self.service.upload(clip(), "ranges.mp4")["id"]))
        url = job["outputs"][0]["files"][0]["url"]
        size = job["outputs"][0]["files"][0]["size"]
        for header in ["bytes=" + "0-," * 3000 + "0-", "bytes=0-1,5-6", "bytes=1-0", "bytes=--1", "bytes=x-y",
                       f"bytes={2**70}-", f"bytes=0-{2**63}", f"bytes=-{2**63}", "bytes=-0", "items=0-1"]:
            with self.subTest(header[:30]):
                answer = self.service.get(url, Range=header)
                self.assertIn(answer.status, (200, 206, 416), answer)
                if answer.status != 416:
                    self.assertLessEqual(len(answer.body), size)
        self.service.request("DELETE", "/v1/uploads/ranges.mp4")

    def test_bodies_that_are_no_request(self):
        upload = {"input": {"upload": "x"}, "outputs": [file_output()]}
        cases = {
            "too large": (b'{"queue": "' + b"x" * (1 << 20) + b'"}', 413),
            "deep array": (b"[" * 100_000, 400), "deep object": (b'{"input":' * 50_000, 400),
            "deep value": (b'{"input":' + b"[" * 5000 + b"]" * 5000 + b"}", 400),
            "no text": (b'{"queue": "\xff\xfe"}', 400), "half a pair": (b'{"queue": "\\ud800"}', 400),
            "large number": (b'{"priority": 1e999}', 400), "many digits": (b'{"priority": ' + b"9" * 10000 + b"}", 400),
            "twice": (b'{"queue": "a", "queue": "b"}', 400), "UTF-16": ('{"queue": "a"}'.encode("utf-16"), 400),
            "empty": (b"", 400), "null": (b"null", 400), "text": (b'"x"', 400), "rest": (b"{} {}", 400),
            "NUL in a label": (json.dumps({**upload, "labels": {"a": "\0"}}).encode(), 400),
            "NUL in a share": (json.dumps({**upload, "share": "\0"}).encode(), 400),
            "NUL in a queue": (json.dumps({**upload, "queue": "\0"}).encode(), 400),
            "many outputs": (json.dumps({**upload, "outputs": [file_output()] * 1000}).encode(), 400),
        }
        for name, (body, status) in cases.items():
            with self.subTest(name):
                try:
                    answer = self.service.request("POST", "/v1/jobs", body, {"Content-Type": "application/json"})
                except (BrokenPipeError, ConnectionResetError):
                    self.assertEqual(status, 413)
                    continue
                self.assertEqual(answer.status, status, answer)
                self.assertEqual(answer.headers["Content-Type"], "application/problem+json")

    def test_names_are_never_pages(self):
        name = "<img src=x onerror=alert(1)>.mp4"
        upload = self.service.upload(clip(), name)
        job = self.service.submit(upload["id"], file_output(name), labels={"title": "<script>alert(1)</script>"})
        url = self.service.wait(job)["outputs"][0]["files"][0]["url"]
        for path in [f"/v1/jobs/{job}", "/v1/jobs", "/v1/uploads", f"/v1/uploads/{urllib.parse.quote(name)}", url,
                     f"/v1/jobs/{job}/log", f"/v1/jobs/{job}/events", "/v1/jobs/<script>", "/<script>", f"{url}x"]:
            with self.subTest(path):
                answer = self.service.get(path)
                self.assertNotIn("html", answer.headers["Content-Type"])
                self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff")
                self.assertIn("default-src 'none'", answer.headers["Content-Security-Policy"])
        page = self.service.get("/")
        self.assertEqual(page.status, 200)
        self.assertIn("script-src 'self'", page.headers["Content-Security-Policy"])
        self.assertNotIn("unsafe", page.headers["Content-Security-Policy"])
        self.service.request("DELETE", f"/v1/uploads/{upload['id']}")

    def test_other_sites_are_refused(self):
        port, body = self.service.port, {"paused": True}
        for headers in [
            {"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site"}, {"Host": "evil.example"}, {"Host": f"evil.example:{port}"},
            {"Host": f"127.0.0.1.evil.example:{port}"}, {"Host": f"localhost.evil.example:{port}"}, {"Host": ""},
            {"Origin": f"http://localhost:{port + 1}"},
        ]:
            with self.subTest(headers):
                answer = self.service.request("PUT", "/v1/queues/crossed", body, headers)
                self.assertEqual((answer.status, answer.json["code"]), (403, "cross-site"))
        self.assertEqual(self.service.get("/v1/queues/crossed").status, 404)
        same = {"Host": f"localhost:{port}", "Origin": f"http://localhost:{port}", "Sec-Fetch-Site": "same-origin"}
        self.assertEqual(self.service.request("GET", "/v1", headers=same).status, 200)


class ConnectionTests(unittest.TestCase):
    def test_slow_clients_hold_only_their_own_connection(self):
        with Service("--http-idle-timeout", "2", "--disk-reserve", "0") as service:
            half = f"PUT /v1/uploads/x HTTP/1.1\r\nHost: localhost:{service.port}\r\n".encode()
            begun = half + b"Content-Length: 1000000\r\n\r\n"
            slow = [socket.create_connection((service.host, service.port), timeout=PATIENCE) for _ in range(200)]
            try:
                for index, connection in enumerate(slow):
                    connection.sendall([b"", half, begun, b"GE"][index % 4])
                for _ in range(3):
                    for connection in slow[1:8]:
                        try:
                            connection.sendall(b"x")
                        except OSError:
                            pass
                    self.assertEqual(service.get("/v1/status").status, 200)
                # Those that say nothing are closed, and leave nothing.
                for connection in slow:
                    try:
                        while connection.recv(4096):
                            pass
                    except ConnectionResetError:
                        pass
                until(lambda: not list((service.data / "uploads").iterdir()), "nothing is left of their uploads")
            finally:
                for connection in slow:
                    connection.close()
            self.assertEqual(service.stop(), 0)

    def test_watchers_do_not_keep_others_from_the_service(self):
        with Service("--disk-reserve", "0") as service:
            head = f"GET /v1/events HTTP/1.1\r\nHost: localhost:{service.port}\r\nAccept: text/event-stream\r\n\r\n"
            watchers = [socket.create_connection((service.host, service.port), timeout=PATIENCE) for _ in range(100)]
            try:
                for watcher in watchers:
                    watcher.sendall(head.encode())
                job = service.wait(service.submit(service.upload(clip())["id"]))
                self.assertEqual(job["state"], "succeeded")
            finally:
                for watcher in watchers:
                    watcher.close()


class BombTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Service("--workers-memory", "1G", "--disk-reserve", "0", "--workers-stall-timeout", "30")

    @classmethod
    def tearDownClass(cls):
        cls.service.close()

    def fails(self, name, data):
        path = self.service.folder / name
        path.write_bytes(data)
        upload = self.service.upload(path)["id"]
        job = self.service.wait(self.service.submit(upload, attempts=1))
        self.assertEqual(job["state"], "failed", job)
        self.assertEqual(self.service.get("/v1").status, 200)
        until(lambda: not chaos.processes(self.service.data).keys() - {self.service.process.pid}, "no process is left")
        return job["failure"]

    @staticmethod
    def png(width, height, rows):
        def chunk(kind, data):
            return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

        press = zlib.compressobj(9)
        row = bytes(1 + 3 * width)
        data = b"".join(press.compress(row) for _ in range(rows)) + press.flush()
        head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
        return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")

    def test_picture_that_claims_to_be_huge(self):
        self.fails("claim.png", self.png(65535, 65535, 1))

    def test_picture_that_unpacks_to_a_gigabyte(self):
        data = self.png(20000, 20000, 20000)
        self.assertLess(len(data), 2 << 20)
        self.fails("bomb.png", data)

    def test_ten_thousand_tracks(self):
        data = clip("track.mp4", seconds=1, sound=False, more=["-movflags", "+faststart"]).read_bytes()
        start = data.index(b"trak") - 4
        size = struct.unpack(">I", data[start : start + 4])[0]
        track = data[start : start + size]
        moov = data.index(b"moov") - 4
        grown = bytearray(data[:start] + track * 10_000 + data[start + size :])
        (old,) = struct.unpack(">I", data[moov : moov + 4])
        grown[moov : moov + 4] = struct.pack(">I", old + size * 9_999)
        path = self.service.folder / "tracks.mp4"
        path.write_bytes(grown)
        job = self.service.wait(self.service.submit(self.service.upload(path)["id"], attempts=1))
        self.assertIn(job["state"], ("succeeded", "failed"))
        self.assertEqual(self.service.get("/v1").status, 200)

    def test_worker_that_takes_too_much_memory_is_ended(self):
        with Service("--workers-memory", "60M", "--disk-reserve", "0") as service:
            upload = service.upload(clip("large.mp4", seconds=2, size="1920x1080"))["id"]
            job = service.wait(service.submit(upload, slow_output(), attempts=1))
            self.assertEqual((job["state"], job["failure"]["code"]), ("failed", "out-of-memory"), job)
            self.assertEqual(service.work(), [])


if __name__ == "__main__":
    unittest.main()
