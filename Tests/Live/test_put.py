# SPDX-License-Identifier: GPL-2.0-or-later
"""vatoolbox stream to servers of HLS by HTTP PUT: nginx, and one that fails in every way."""

import pathlib
import subprocess
import sys
import time
import unittest

import hls_client
import put_server
import rig
from test_hls import HLS

CHART = "test,size=320x240,rate=30"


class Nginx:
    """nginx that stores by PUT and delivers what it has."""

    def __init__(self, test, folder):
        self.folder = folder.path / "nginx"
        self.root = self.folder / "root"
        self.root.mkdir(parents=True)
        self.port = rig.free_port()
        (self.folder / "nginx.conf").write_text(f"""
            daemon off; master_process off; user root; error_log {self.folder}/error.log; pid {self.folder}/pid;
            events {{}}
            http {{
                log_format short '$request_method $status $connection'; access_log {self.folder}/log short;
                client_body_temp_path {self.folder}/body; client_max_body_size 64m;
                gzip on; gzip_min_length 0; gzip_types application/vnd.apple.mpegurl;
                types {{ application/vnd.apple.mpegurl m3u8; video/mp4 mp4 m4s; }}
                server {{ listen 127.0.0.1:{self.port}; root {self.root};
                    location / {{ dav_methods PUT DELETE; create_full_put_path on; }}
                }}
            }}
        """)
        self.program = rig.Program(test, "nginx", "-p", self.folder, "-c", self.folder / "nginx.conf")
        rig.wait_until(self.answers, "nginx answers")

    def answers(self):
        done = subprocess.run(["curl", "-s", "-o", "/dev/null", self.url], check=False)
        return done.returncode == 0

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/"

    def requests(self, method):
        """The status and the connection of each request with a method."""
        lines = [line.split() for line in (self.folder / "log").read_text().splitlines()]
        return [(int(status), connection) for name, status, connection in lines if name == method]


class Put(HLS):
    def begin(self, server, *arguments, query="segment=1", user="", scheme="http", **more):
        address = f"hls:put:{scheme}://{user}127.0.0.1:{server.port}/live/?{query}"
        return self.stream(address, "--key-interval", "1", *arguments, **more)

    def wait_for_segments(self, server, count):
        rig.wait_until(lambda: server.text("/video/index.m3u8").count("#EXTINF") >= count, f"{count} segments")

    def assert_all_is_there(self, server, document):
        """Everything that was encoded is on the server, and ffmpeg decodes it."""
        self.assertEqual(server.problems, [])
        text = server.text("/video/index.m3u8")
        self.assertTrue(text.endswith("#EXT-X-ENDLIST\n"), text)
        self.assertNotIn("#EXT-X-GAP", text)
        server.store(self.folder.path / "stored")
        playlist = self.folder / "stored" / "live" / "index.m3u8"
        self.assertEqual(rig.decode_errors(playlist), "")
        found = rig.stream(rig.probe(playlist), "video")
        self.assertEqual(int(found["nb_read_frames"]), document["outputs"][0]["sentFrames"])
        return text


class ToNginx(Put):
    def test_players_get_a_stream_that_keeps_all_rules(self):
        nginx = Nginx(self, self.folder)
        run = self.begin(nginx, query="segment=2&window=12")
        recorder = hls_client.Recorder(nginx.url + "live/", hls_client.Plain)
        recorder.follow(40)
        run.end()
        self.judge(recorder, "recording")
        self.assertGreater(len(recorder.media), 20)
        self.assertTrue((nginx.root / "live/video/index.m3u8").read_text().endswith("#EXT-X-ENDLIST\n"))
        stored = nginx.requests("PUT")
        self.assertEqual({status for status, _ in stored} - {201, 204}, set())
        # A few connections for all files of a moment, which stay open.
        self.assertLessEqual(len({connection for _, connection in stored}), 4)

    def test_old_segments_are_deleted(self):
        nginx = Nginx(self, self.folder)
        run = self.begin(nginx, query="segment=1&window=6")
        self.live(run, 30 * 40)
        self.assertLess(len(list((nginx.root / "live/video").glob("*.m4s"))), 25)
        self.assertEqual({status for status, _ in nginx.requests("DELETE")}, {204})
        run.end()

    def test_ffmpeg_reads_all(self):
        nginx = Nginx(self, self.folder)
        run = self.begin(nginx, query="segment=2&dvr=all")
        self.live(run, 300)
        document = run.end()
        found = rig.stream(rig.probe(nginx.url + "live/index.m3u8"), "video")
        self.assertEqual(int(found["nb_read_frames"]), document["outputs"][0]["sentFrames"])
        self.assertEqual(rig.decode_errors(nginx.url + "live/index.m3u8"), "")


class FailingServer(Put):
    #: How a server fails for a time that is shorter than the silence.
    SHORT = [("close", "head"), ("close", "body"), ("close", "answer"), ("stall", "head"), ("stall", "body"),
             ("stall", "answer"), (500, "answer"), (503, "answer"), (429, "answer")]

    def test_short_failures_lose_nothing(self):
        server = put_server.Server(self)
        run = self.begin(server, query="segment=1&dvr=all", *["--silence", "30"])
        self.wait_for_segments(server, 1)
        for kind, stage in self.SHORT:
            for suffix in (".m4s", "index.m3u8"):
                with self.subTest(kind=kind, stage=stage, suffix=suffix):
                    server.faults.begin(kind, stage, suffix=suffix)
                    rig.wait_until(lambda: server.faults.hits > (0 if kind == "stall" else 2), "the fault")
                    server.faults.end()
                    self.wait_for_segments(server, server.text("/video/index.m3u8").count("#EXTINF") + 1)
        document = run.end()
        self.assertEqual(document["outputs"][0]["reconnects"], 0)
        self.assert_all_is_there(server, document)

    def test_a_part_is_stored_before_it_is_named(self):
        server = put_server.Server(self)
        run = self.begin(server, query="segment=2&part=0.5&dvr=all")
        self.wait_for_segments(server, 4)
        self.assertIn("#EXT-X-PART:", server.text("/video/index.m3u8"))
        self.assert_all_is_there(server, run.end())

    def test_a_server_that_is_gone_for_long_gets_the_stream_again(self):
        server = put_server.Server(self)
        run = self.begin(server, "--silence", "2", query="segment=1&dvr=all")
        self.wait_for_segments(server, 2)
        server.stop()
        run.wait_for(lambda now: now["outputs"][0]["state"] == "waiting", "the loss")
        frames = run.latest()["frames"]
        run.wait_for(lambda now: now["frames"] > frames + 180, "six seconds")
        server.start()
        begun = time.monotonic()
        run.wait_for(lambda now: now["outputs"][0]["state"] == "live", "the server again")
        back = time.monotonic() - begun
        self.wait_for_segments(server, server.text("/video/index.m3u8").count("#EXTINF") + 3)
        document = run.end()
        print(f"\nback after {back:.1f} s; {document['outputs'][0]['reconnects']} reconnects")
        text = server.text("/video/index.m3u8")
        self.assertEqual(server.problems, [])
        self.assertIn("#EXT-X-DISCONTINUITY\n", text)
        self.assertIn("#EXT-X-GAP\n", text)
        self.assertTrue(text.endswith("#EXT-X-ENDLIST\n"), text)
        self.assertGreaterEqual(document["outputs"][0]["reconnects"], 1)

    def test_files_that_have_waited_for_longer_than_a_connection_may_take_are_sent(self):
        server = put_server.Server(self)
        # Files wait for three segments, 18 seconds, and a connection may take 10.
        run = self.begin(server, "--silence", "2", query="segment=6&dvr=all")
        self.wait_for_segments(server, 1)
        server.stop()
        frames = run.latest()["frames"]
        run.wait_for(lambda now: now["frames"] > frames + 30 * 18, "a segment has waited for 12 seconds")
        server.start()
        run.wait_for(lambda now: now["outputs"][0]["state"] == "live", "the server again")
        self.assert_all_is_there(server, run.end())

    def test_a_server_that_stalls_is_left(self):
        for stage in ("head", "body", "answer"):
            with self.subTest(stage=stage):
                server = put_server.Server(self)
                run = self.begin(server, "--silence", "2", query="segment=1&dvr=all")
                self.wait_for_segments(server, 2)
                server.faults.begin("stall", stage)
                run.wait_for(lambda now: now["outputs"][0]["state"] == "waiting", "the loss")
                self.assertIn("in time", run.latest()["outputs"][0]["error"])
                frames = run.latest()["frames"]
                run.wait_for(lambda now: now["frames"] > frames + 60, "two seconds of the encoder")
                server.faults.end()
                run.wait_for(lambda now: now["outputs"][0]["state"] == "live", "the server again")
                self.wait_for_segments(server, server.text("/video/index.m3u8").count("#EXTINF") + 2)
                run.end()
                self.assertEqual(server.problems, [])

    def test_a_refusal_ends_the_output(self):
        for status, stage, allowed in [(403, "answer", "403"), (405, "answer", "405"), (409, "head", "409"),
                                       (413, "head", "413"), (301, "answer", "https://elsewhere/live")]:
            with self.subTest(status=status):
                server = put_server.Server(self)
                server.faults.begin(status, stage, headers={"Location": "https://elsewhere/live/?token=abc"})
                run = self.begin(server)
                run.process.wait(rig.PATIENCE)
                self.assertEqual(run.process.returncode, 1)
                rig.wait_until(lambda: allowed in run.errors, "the message")
                self.assertNotIn("abc", run.errors)
                self.assertEqual(server.files, {})

    def test_a_server_that_refuses_to_delete_keeps_the_stream(self):
        server = put_server.Server(self)
        server.faults.begin(405, method="DELETE")
        run = self.begin(server, query="segment=1&window=6")
        rig.wait_until(lambda: server.faults.hits > 0, "a deletion")
        self.wait_for_segments(server, 6)
        last = server.count(".m4s")
        rig.wait_until(lambda: server.count(".m4s") > last + 4, "more segments")
        self.assertEqual(run.latest()["outputs"][0]["state"], "live")
        run.end()
        self.assertLessEqual(server.faults.hits, 4)
        self.assertEqual(run.errors.count("does not delete"), 1, run.errors)
        self.assertEqual(server.problems, [])


class Secrets(Put):
    SECRET = "swordfish-4711"

    def ended(self, run):
        """Waits for the end, and returns all that the command has told."""
        run.process.wait(rig.PATIENCE)
        for reader in run.readers:
            reader.join(rig.PATIENCE)
        told = run.output + run.errors + str(run.progress)
        self.assertNotIn(self.SECRET, told)
        self.assertNotIn(put_server.basic("joe", self.SECRET), told)
        return told

    def test_a_user_in_the_address(self):
        server = put_server.Server(self, authorization=put_server.basic("joe", self.SECRET))
        run = self.begin(server, user=f"joe:{self.SECRET}@")
        self.wait_for_segments(server, 2)
        run.send(2)
        self.ended(run)
        run = self.begin(server, user=f"joe:{self.SECRET}2@")
        self.assertIn("credentials", self.ended(run))
        self.assertEqual(run.process.returncode, 1)

    def test_a_header_in_the_environment(self):
        server = put_server.Server(self, authorization=f"Bearer {self.SECRET}")
        variable = {"VATOOLBOX_AUTHORIZATION": f"Bearer {self.SECRET}"}
        run = self.begin(server, env=variable)
        self.wait_for_segments(server, 2)
        command = pathlib.Path(f"/proc/{run.process.pid}/cmdline").read_bytes()
        self.assertNotIn(self.SECRET.encode(), command)
        run.send(2)
        self.ended(run)
        _, errors = rig.refused("stream", "--video", CHART, "--to", f"hls:put:http://joe:{self.SECRET}@127.0.0.1/live/",
                                env=variable)
        self.assertIn("must not have a user", errors)
        self.assertNotIn(self.SECRET, errors)

    def test_certificates_are_checked(self):
        certificate, key = self.folder / "cert.pem", self.folder / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", str(key), "-out",
                        str(certificate), "-days", "30", "-subj", "/CN=localhost", "-addext",
                        "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        server = put_server.Server(self, tls=(certificate, key))
        run = self.begin(server, scheme="https")
        self.assertIn("not trusted", self.ended(run))
        self.assertEqual(run.process.returncode, 1)
        self.assertEqual(server.requests, [])
        run = self.begin(server, "--ca-file", certificate, scheme="https", query="segment=1&dvr=all")
        self.wait_for_segments(server, 2)
        self.assert_all_is_there(server, run.end())


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
    unittest.main()
