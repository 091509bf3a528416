# SPDX-License-Identifier: GPL-2.0-or-later
"""Inputs that the service fetches: what it gets, what it resumes, and what it refuses."""

import http.server
import ssl
import subprocess
import threading
import unittest

from rig import CLIPS, Service, clip, file_output, frame_hashes, until


class Origin:
    """A server of files. `serve` maps paths to functions that answer a request; all requests are noted."""

    def __init__(self, serve, tls=None):
        self.serve, self.got, self.open = serve, [], 0
        origin = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                origin.got.append((self.path, self.headers))
                origin.open += 1
                try:
                    origin.serve[self.path.split("?")[0]](self)
                except OSError:
                    pass
                finally:
                    origin.open -= 1
                    self.close_connection = True

            def answer(self, status, body=b"", length=None, **fields):
                self.send_response(status)
                for name, value in fields.items():
                    self.send_header(name.replace("_", "-"), value)
                self.send_header("Content-Length", str(len(body) if length is None else length))
                self.end_headers()
                self.wfile.write(body)
                self.wfile.flush()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def port(self):
        return self.server.server_port

    def url(self, path, scheme="http"):
        return f"{scheme}://127.0.0.1:{self.port}{path}"

    def ranges(self, path):
        return [fields.get("Range") for asked, fields in self.got if asked == path]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def redirect(location, status=302):
    return lambda handler: handler.answer(status, Location=location)


def status(code):
    return lambda handler: handler.answer(code)


class Versions:
    """Serves a file in parts: each answer breaks off after some bytes; the last one is whole."""

    def __init__(self, data, *cuts, tags=('"one"',), chunked=False):
        self.data, self.cuts, self.tags, self.chunked = data, list(cuts), list(tags), chunked

    def __call__(self, handler):
        tag = self.tags.pop(0) if len(self.tags) > 1 else self.tags[0]
        cut = self.cuts.pop(0) if self.cuts else None
        start = 0
        asked = handler.headers.get("Range")
        if asked and handler.headers.get("If-Range") == tag:
            start = int(asked.removeprefix("bytes=").rstrip("-"))
        body = self.data[start:]
        fields = {"ETag": tag} if tag else {}
        if start:
            fields["Content-Range"] = f"bytes {start}-{len(self.data) - 1}/{len(self.data)}"
        if not self.chunked:
            return handler.answer(206 if start else 200, body[:cut], len(body), **fields)
        handler.send_response(206 if start else 200)
        for name, value in {**fields, "Transfer-Encoding": "chunked"}.items():
            handler.send_header(name, value)
        handler.end_headers()
        part = body[:cut]
        handler.wfile.write(b"%x\r\n" % len(part) + part + b"\r\n")
        if cut is None:
            handler.wfile.write(b"0\r\n\r\n")
        return handler.wfile.flush()


class FetchTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.flags = [
            "--network-allow", "127.0.0.0/8", "--inputs-limit", "20M", "--inputs-stall-timeout", "2", "--disk-reserve", "0",
        ]
        cls.service = Service(*cls.flags)
        cls.clip = clip()
        cls.data = cls.clip.read_bytes()
        uploaded = cls.service.submit(cls.service.upload(cls.clip)["id"])
        assert cls.service.wait(uploaded)["state"] == "succeeded"
        cls.hashes = frame_hashes(cls.service.file(uploaded, "out.mp4"))

    @classmethod
    def tearDownClass(cls):
        cls.service.close()

    def origin(self, serve, **more):
        origin = Origin(serve, **more)
        self.addCleanup(origin.close)
        return origin

    def fetch(self, url, *outputs, **more):
        return self.service.wait(self.service.submit({"url": url}, *outputs, **more))

    def assert_encoded(self, job):
        self.assertEqual(job["state"], "succeeded", job.get("failure"))
        result = self.service.file(job["id"], "out.mp4")
        # The same as from an upload, picture by picture.
        hashes = frame_hashes(result)
        self.assertEqual(len(hashes), 50)
        self.assertEqual(hashes, self.hashes)
        self.assert_nothing_is_left()

    def assert_nothing_is_left(self):
        work = self.service.data / "work"
        until(lambda: not [path for path in work.rglob("*") if path.is_file()], "fetched files are removed")

    def assert_fails(self, job, code, *texts):
        self.assertEqual(job["state"], "failed", job)
        self.assertEqual(job["failure"]["code"], code, job["failure"])
        for text in texts:
            self.assertIn(text, job["failure"]["message"])
        self.assertTrue(job["failure"]["remedies"])
        self.assertIn(code, [entry["code"] for entry in self.service.get("/v1/errors").json["errors"]])
        self.assert_nothing_is_left()

    # What is fetched

    def test_a_file_is_encoded_like_an_upload(self):
        origin = self.origin({"/film.mp4": Versions(self.data)})
        job = self.fetch(origin.url("/film.mp4?secret=xyzzy"))
        self.assert_encoded(job)
        self.assertEqual(origin.ranges("/film.mp4?secret=xyzzy"), [None])
        log = self.service.get(f"/v1/jobs/{job['id']}/log").body.decode()
        self.assertIn("fetches http://127.0.0.1", log)
        self.assertNotIn("xyzzy", log + "".join(self.service.lines))

    def test_chunks_without_a_length(self):
        origin = self.origin({"/film": Versions(self.data, chunked=True)})
        self.assert_encoded(self.fetch(origin.url("/film")))

    def test_redirects_are_followed_five_times(self):
        serve = {f"/{n}": redirect(f"/{n + 1}", status) for n, status in enumerate([301, 302, 303, 307, 308, 302])}
        origin = self.origin({**serve, "/5": Versions(self.data)})
        self.assert_encoded(self.fetch(origin.url("/0")))
        origin.serve = {**serve, "/6": Versions(self.data)}
        self.assert_fails(self.fetch(origin.url("/0")), "fetch-failed", "more than 5 times")

    def test_probe_and_dry_run(self):
        origin = self.origin({"/film": Versions(self.data), "/none": status(404)})
        report = self.service.post("/v1/probe", {"input": {"url": origin.url("/film")}})
        self.assertEqual((report.status, report.json["size"]), (200, len(self.data)))
        plan = self.service.post(
            "/v1/jobs?dryRun=true", {"input": {"url": origin.url("/film")}, "outputs": [file_output()]}
        )
        self.assertEqual(plan.status, 200, plan)
        self.assertEqual(plan.json["tasks"][0]["command"][2], "INPUT")
        refused = self.service.post("/v1/probe", {"input": {"url": origin.url("/none")}})
        self.assertEqual((refused.status, refused.json["code"]), (400, "invalid-request"))
        self.assertIn("404", refused.json["detail"])
        self.assert_nothing_is_left()

    def test_it_tells_that_it_fetches_and_stops_at_once(self):
        go = threading.Event()

        def slow(handler):
            handler.answer(200, self.data[:8000], 16 << 20)
            while not go.wait(0.2):
                handler.wfile.write(b"x" * 10_000)

        origin = self.origin({"/film": slow})
        job = self.service.submit({"url": origin.url("/film")})
        found = until(lambda: self.service.job(job).get("progress"), "there is progress")
        self.assertEqual(found["phase"], "fetching")
        self.assertTrue(0 < found["fraction"] <= 1)
        self.assertEqual(self.service.post(f"/v1/jobs/{job}/cancel").status, 200)
        self.assertEqual(self.service.wait(job)["state"], "cancelled")
        # The server is told by its connection, while it still sends.
        until(lambda: origin.open == 0, "the connection is closed")
        self.assertFalse(go.is_set())
        go.set()
        self.assert_nothing_is_left()

    # What is resumed

    def assert_resumed(self, origin, *sent):
        """Each request asks for what the answers before did not bring. The end of a broken answer may be lost."""
        first, *rest = origin.ranges("/film")
        self.assertIsNone(first)
        begins = [int(text.removeprefix("bytes=").rstrip("-")) for text in rest]
        self.assertEqual(len(begins), len(sent))
        for before, begin, count in zip([0, *begins], begins, sent):
            self.assertTrue(before < begin <= before + count, begins)

    def test_a_broken_body_is_resumed(self):
        for chunked in False, True:
            origin = self.origin({"/film": Versions(self.data, 5000, 7000, chunked=chunked)})
            self.assert_encoded(self.fetch(origin.url("/film")))
            self.assert_resumed(origin, 5000, 7000)

    def test_another_version_is_fetched_anew(self):
        origin = self.origin({"/film": Versions(self.data, 5000, tags=['"one"', '"two"'])})
        self.assert_encoded(self.fetch(origin.url("/film")))
        self.assert_resumed(origin, 5000)

    def test_a_file_without_a_tag_is_fetched_anew(self):
        origin = self.origin({"/film": Versions(self.data, 5000, tags=[None])})
        self.assert_encoded(self.fetch(origin.url("/film")))
        self.assertEqual(origin.ranges("/film"), [None, None])

    def test_a_body_that_always_ends_early_is_no_input(self):
        for chunked in False, True:
            origin = self.origin({"/film": Versions(self.data, *[100] * 20, chunked=chunked)})
            self.assert_fails(self.fetch(origin.url("/film"), attempts=1), "fetch-failed")
            self.assertEqual(len(origin.got), 5)

    def test_another_range_than_asked_for_is_refused(self):
        def wrong(handler):
            if handler.headers.get("Range"):
                return handler.answer(206, self.data, Content_Range=f"bytes 0-{len(self.data) - 1}/{len(self.data)}")
            return handler.answer(200, self.data[:5000], len(self.data), ETag='"one"')

        origin = self.origin({"/film": wrong})
        self.assert_fails(self.fetch(origin.url("/film"), attempts=1), "fetch-failed", "another range")

    # What is refused

    def test_statuses(self):
        busy = []

        def later(handler):
            busy.append(1)
            return Versions(self.data)(handler) if len(busy) > 2 else handler.answer(503)

        origin = self.origin({"/404": status(404), "/204": status(204), "/500": status(500), "/busy": later})
        for code in "404", "204", "500":
            job = self.fetch(origin.url(f"/{code}"), attempts=1)
            self.assert_fails(job, "fetch-failed", f"status {code}")
            self.assertEqual(job["failure"]["retriable"], code == "500")
        self.assert_encoded(self.fetch(origin.url("/busy")))

    def test_limits(self):
        def endless(handler):
            handler.send_response(200)
            handler.end_headers()
            while True:
                handler.wfile.write(b"x" * 65536)

        def silent(handler):
            handler.answer(200, self.data[:3000], len(self.data))
            threading.Event().wait(60)

        def trickle(handler):
            handler.answer(200, self.data[:3000], len(self.data))
            for byte in self.data[3000:4000]:
                handler.wfile.write(bytes([byte]))
                threading.Event().wait(0.1)

        def drip(handler):
            """Sends at once what a connection buffers, and then less than 10 KiB a second."""
            handler.answer(200, b"x" * 500_000, 20 << 20)
            while True:
                handler.wfile.write(b"x" * 400)
                threading.Event().wait(0.1)

        def steady(handler):
            handler.answer(200, b"", 20 << 20)
            for _ in range(1000):
                handler.wfile.write(b"x" * 10_000)
                threading.Event().wait(0.2)

        origin = self.origin({
            "/large": lambda handler: handler.answer(200, b"x", 1 << 40), "/endless": endless, "/silent": silent,
            "/trickle": trickle, "/drip": drip, "/steady": steady, "/empty": status(200),
        })
        self.assert_fails(self.fetch(origin.url("/large")), "input-too-large", str(1 << 40), str(20 << 20))
        self.assert_fails(self.fetch(origin.url("/endless")), "input-too-large")
        self.assert_fails(self.fetch(origin.url("/silent"), attempts=1), "fetch-failed", "in time")
        self.assert_fails(self.fetch(origin.url("/trickle"), attempts=1), "fetch-failed", "too slow", "10240")
        self.assert_fails(self.fetch(origin.url("/drip"), attempts=1), "fetch-failed", "too slow")
        self.assert_fails(self.fetch(origin.url("/steady"), timeLimit=3, attempts=1), "time-limit")
        self.assert_fails(self.fetch(origin.url("/empty"), attempts=1), "fetch-failed", "empty")

    def test_the_reserve_of_the_disk_is_kept(self):
        with Service(*self.flags[:-1], "1T") as service:
            origin = self.origin({"/film": Versions(self.data)})
            probed = service.post("/v1/probe", {"input": {"url": origin.url("/film")}})
            self.assertEqual((probed.status, probed.json["code"]), (507, "insufficient-storage"))

    def test_playlists(self):
        bodies = {
            "/a.mp4": b"#EXTM3U\n#EXT-X-VERSION:3\n", "/b": b"\xef\xbb\xbf#EXTM3U\n", "/d": b"ffconcat version 1.0\n",
            "/c": b"<?xml version='1.0'?>\n<!-- x -->\n<MPD xmlns='urn:mpeg:dash:schema:mpd:2011'></MPD>",
            "/e": b"x" + b" " * 4000 + b"<mpD xmlns='urn:mpeg:dash:schema:mpd:2011'></mpD>",
        }
        origin = self.origin({path: (lambda h, body=body: h.answer(200, body)) for path, body in bodies.items()})
        for path in bodies:
            self.assert_fails(self.fetch(origin.url(path)), "playlist-input")
        # Also if the first answers break off before anything can be seen.
        for tag in '"one"', None:
            origin.serve = {path: Versions(body, 2, 5, tags=[tag]) for path, body in bodies.items()}
            for path in bodies:
                self.assert_fails(self.fetch(origin.url(path)), "playlist-input")

    def test_private_addresses(self):
        origin = self.origin({"/": Versions(self.data)})
        with Service() as service:
            for host in [
                "127.0.0.1", "localhost", "[::1]", "10.0.0.1", "192.168.1.1", "172.16.0.1", "169.254.169.254", "0.0.0.0",
                "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b::a9fe:a9fe]", "[fd00::1]", "[fe80::1]", "2130706433",
                "0x7f.1", "0177.0.0.1", "127.1", "[2002:7f00:1::]",
            ]:
                job = service.wait(service.submit({"url": f"http://{host}:{origin.port}/"}))
                self.assertEqual(job["failure"]["code"], "address-refused", (host, job["failure"]))
                self.assertFalse(job["failure"]["retriable"])
        self.assertEqual(origin.got, [])

    def test_redirects_to_private_addresses(self):
        target = self.origin({"/": Versions(self.data)})
        urls = [
            f"http://localhost6.invalid:{target.port}/", "http://169.254.169.254/latest/meta-data", "http://[::1]/",
            "http://10.0.0.1/", "//192.168.0.1/", "ftp://127.0.0.1/", "file:///etc/passwd", "http://me:word@127.0.0.1/",
        ]
        origin = self.origin({f"/{n}": redirect(url) for n, url in enumerate(urls)})
        for number, url in enumerate(urls):
            job = self.fetch(origin.url(f"/{number}"), attempts=1)
            self.assertEqual(job["state"], "failed", url)
            refused = "address-refused" if "169." in url or "[::1]" in url or "10.0" in url or "192." in url else "fetch-failed"
            self.assertEqual(job["failure"]["code"], refused, url)
        self.assertEqual(target.got, [])

    def test_urls_with_secrets_or_other_schemes(self):
        for url in "http://me:word@127.0.0.1/", "https://me@127.0.0.1/", "ftp://127.0.0.1/", "file:///etc/passwd", "http:///x":
            answer = self.service.post("/v1/jobs", {"input": {"url": url}, "outputs": [file_output()]})
            self.assertEqual((answer.status, answer.json["field"]), (400, "/input/url"), answer)
            self.assertNotIn("word", answer.json.get("value", "") if "me:" in url else "")

    def test_malformed_hosts_and_ports(self):
        """Texts for which an HTTP client may trap: the service refuses them, goes on, and starts again."""
        texts = ["http://1.1.1.1:99999/x", "http://%5B/x", "http://%5B%5D/", "http://127.0.0.1:0/", "http://a%00b/"]
        origin = self.origin({f"/{number}": redirect(url) for number, url in enumerate(texts)})
        with Service("--network-allow", "127.0.0.0/8") as service:
            for number, url in enumerate(texts):
                for path, body in [("/v1/probe", {}), ("/v1/jobs", {"outputs": [file_output()]})]:
                    answer = service.post(path, {"input": {"url": url}, **body})
                    self.assertEqual((answer.status, answer.json["field"]), (400, "/input/url"), (url, answer))
                job = service.wait(service.submit({"url": origin.url(f"/{number}")}))
                self.assertEqual((job["state"], job["failure"]["code"]), ("failed", "fetch-failed"), (url, job))
                self.assertFalse(job["failure"]["retriable"], url)
                probed = service.post("/v1/probe", {"input": {"url": origin.url(f"/{number}")}})
                self.assertEqual((probed.status, probed.json["field"]), (400, "/input"), (url, probed))
            self.assertEqual(service.get("/healthz").status, 200)
            self.assertIsNone(service.process.poll())
            service.kill()
            service.start()
            self.assertEqual(service.get("/healthz").status, 200)

    def test_webhooks_to_malformed_hosts_and_ports(self):
        missing = self.origin({"/none": status(404)}).url("/none")
        for url in "http://1.1.1.1:99999/x", "http://%5B/x":
            with Service("--network-allow", "127.0.0.0/8") as service:
                body = {
                    "input": {"url": missing}, "outputs": [file_output()], "attempts": 1, "webhook": {"url": url},
                }
                answer = service.post("/v1/jobs", body)
                self.assertEqual(answer.status, 201, answer)
                service.wait(answer.json["id"])
                deliveries = f"/v1/jobs/{answer.json['id']}/deliveries"
                entries = until(lambda: [
                    entry for entry in service.get(deliveries).json["deliveries"] if entry["state"] == "failed"
                ], "the delivery has failed")
                self.assertIn("port 99999" if "9999" in url else "malformed host", entries[0]["error"])
                self.assertEqual(service.get("/healthz").status, 200)

    def test_a_certificate_of_an_unknown_authority_is_refused(self):
        certificate, key = CLIPS / "localhost.pem", CLIPS / "localhost.key"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
             "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)],
            check=True, capture_output=True,
        )
        secure = self.origin({"/film": Versions(self.data)}, tls=(str(certificate), str(key)))
        self.assert_fails(self.fetch(f"https://localhost:{secure.port}/film", attempts=1), "fetch-failed")
        self.assertEqual(secure.got, [])


if __name__ == "__main__":
    unittest.main()
