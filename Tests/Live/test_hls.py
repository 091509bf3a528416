# SPDX-License-Identifier: GPL-2.0-or-later
"""vatoolbox stream to HTTP Live Streaming: a folder, and its own server with low latency.

Needs curl, ffmpeg, openssl, chromium and, for HTTP/2, the Python module h2 (python3-h2)."""

import pathlib
import re
import socket
import statistics
import subprocess
import sys
import threading
import time
import unittest
import urllib.error
import urllib.request

import hls_client
import hls_page
import rig

CHART = "test,size=320x240,rate=30"
LIVE = ["--preset", "ultrafast", "--bitrate", "500k"]
JUDGE = rig.ROOT / "Tests" / "Streaming" / "live" / "check_live.py"


class HLS(unittest.TestCase):
    def setUp(self):
        self.folder = rig.Folder(self)

    def stream(self, address, *arguments):
        return rig.Run(self, "stream", *LIVE, "--video", CHART, "--audio", "test", "--to", address, *arguments)

    def live(self, run, count=30):
        return run.wait_for(lambda now: now["outputs"][0]["sentFrames"] >= count, f"{count} sent pictures")

    def judge(self, recorder, name):
        self.assertEqual(recorder.failures, [])
        folder = self.folder / name
        recorder.store(folder)
        done = subprocess.run([sys.executable, str(JUDGE), str(folder)], capture_output=True, text=True, check=False)
        self.assertIn("playlists", done.stdout, done.stderr)
        errors = [line for line in done.stdout.splitlines() if ": error: " in line and not self.is_only_late(line)]
        self.assertEqual(errors, [])

    @staticmethod
    def is_only_late(line):
        """Whether a part or a segment came a little late, as on a machine that is busy with other things."""
        match = re.search(r"rule 6\.2\.1[gh]: .* none for ([0-9.]+) s", line)
        return match is not None and float(match[1]) < 8

    def serve(self, scheme="http", options="part=1"):
        """Starts a server, and returns its run and its URL."""
        port = rig.free_port()
        if scheme == "https":
            certificate, key = self.folder / "cert.pem", self.folder / "key.pem"
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", str(key), "-out",
                            str(certificate), "-days", "30", "-subj", "/CN=localhost"], check=True, capture_output=True)
            options += f"&cert={certificate}&key={key}"
        run = self.stream(f"hls:{scheme}://127.0.0.1:{port}/?{options}")
        self.live(run)
        return run, f"{scheme}://127.0.0.1:{port}/"


class ToAFolder(HLS):
    def test_ffmpeg_reads_all(self):
        path = self.folder / "live"
        run = self.stream(f"hls:{path}?segment=2&dvr=all")
        self.live(run, 300)
        playlist = (path / "video" / "index.m3u8").read_text()
        self.assertNotIn("EXT-X-PART", playlist)
        self.assertNotIn("EXT-X-ENDLIST", playlist)
        document = run.end()
        self.assertTrue((path / "video" / "index.m3u8").read_text().endswith("#EXT-X-ENDLIST\n"))
        self.assertEqual(rig.decode_errors(path / "index.m3u8"), "")
        found = rig.stream(rig.probe(path / "index.m3u8"), "video")
        self.assertEqual(int(found["nb_read_frames"]), document["outputs"][0]["sentFrames"])
        self.assertEqual([name.name for name in path.rglob(".*")], [])

    def test_old_segments_are_deleted(self):
        path = self.folder / "live"
        run = self.stream(f"hls:{path}?segment=1&window=6", "--key-interval", "1")
        self.live(run, 30 * 40)
        count = len(list((path / "video").glob("*.m4s")))
        self.assertLess(count, 25)
        run.end()

    def test_a_folder_with_a_stream_is_refused(self):
        path = self.folder / "live"
        path.mkdir()
        (path / "index.m3u8").write_text("#EXTM3U\n")
        _, errors = rig.refused("stream", *LIVE, "--video", CHART, "--to", f"hls:{path}")
        self.assertIn("overwrite=1", errors)


class FromAServer(HLS):
    def test_http1_keeps_all_rules_for_a_minute(self):
        run, url = self.serve(options="segment=2&part=0.5&window=20")
        # Parts need HTTP/2, says rule B.1e, so the recording does not tell the protocol.
        recorder = hls_client.Recorder(url, hls_client.Plain, tells_protocol=False)
        recorder.follow(60)
        run.end()
        self.judge(recorder, "recording")
        self.assertGreater(len(recorder.media), 200)

    def test_http2_keeps_all_rules_for_a_minute(self):
        run, url = self.serve("https", "segment=4&part=1")
        recorder = hls_client.Recorder(url, hls_client.Multiplexed)
        recorder.follow(60)
        run.end()
        self.judge(recorder, "recording")
        self.assertGreater(len(recorder.media), 100)

    def test_the_end_reaches_players(self):
        run, url = self.serve()
        recorder = hls_client.Recorder(url, hls_client.Plain, tells_protocol=False)
        following = threading.Thread(target=recorder.follow, args=(rig.PATIENCE,))
        following.start()
        rig.wait_until(lambda: len(recorder.media) > 10, "some media")
        run.end()
        following.join(rig.PATIENCE)
        self.assertFalse(following.is_alive())
        self.judge(recorder, "recording")
        self.assertTrue(any("#EXT-X-ENDLIST" in text for text in recorder.bodies.values()))

    def test_what_was_received_decodes(self):
        run, url = self.serve(options="segment=2&part=0.5&window=3600")
        recorder = hls_client.Recorder(url, hls_client.Plain, tells_protocol=False)
        recorder.follow(15)
        run.end()
        for name in ("video", "audio-1"):
            paths = [path for path in recorder.media if path.startswith(f"/{name}/")]
            start = next(path for path in paths if "-init-" in path)
            parts = sorted((path for path in paths if "-part-" in path),
                           key=lambda path: int(re.search(r"-part-(\d+)", path)[1]))
            numbers = [int(re.search(r"-part-(\d+)", path)[1]) for path in parts]
            self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(numbers))))
            first = next(index for index, number in enumerate(numbers) if number % 4 == 1)
            file = self.folder / f"{name}.mp4"
            file.write_bytes(b"".join(recorder.media[path] for path in [start, *parts[first:]]))
            self.assertEqual(rig.decode_errors(file), "")

    def test_many_players(self):
        run, url = self.serve(options="segment=2&part=0.5")
        players, failures, seconds = 200, [], 20
        end = time.monotonic() + seconds
        counts = [0] * players

        def play(number):
            try:
                connection = hls_client.Plain(url)
                listed = hls_client.Listed(connection.get("/video/index.m3u8").text)
                while time.monotonic() < end:
                    query = f"?_HLS_msn={listed.last + 1}&_HLS_part={listed.open_parts}"
                    answer = connection.get("/video/index.m3u8" + query)
                    if answer.status != 200:
                        failures.append((answer.status, answer.body[:100]))
                        break
                    listed = hls_client.Listed(answer.text)
                    counts[number] += 1
                connection.close()
            except Exception as error:  # pylint: disable=broad-except
                failures.append(repr(error))

        threads = [threading.Thread(target=play, args=(number,)) for number in range(players)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(rig.PATIENCE)
        self.assertEqual(failures, [])
        # Every player saw nearly every part of a stream that went on in real time.
        self.assertGreater(statistics.median(counts), seconds * 2 * 0.8, sorted(counts))
        self.assertEqual(run.latest()["outputs"][0]["state"], "live")
        run.end()

    def test_players_that_take_nothing_hold_nobody_up(self):
        run, url = self.serve(options="segment=2&part=0.5")
        recorder = hls_client.Recorder(url, hls_client.Plain, tells_protocol=False)
        connection = hls_client.Plain(url)
        name = hls_client.Listed(connection.get("/video/index.m3u8?_HLS_msn=1").text).segments[-1]
        connection.close()
        host, port = url.removeprefix("http://").rstrip("/").split(":")
        sockets = []
        for _ in range(50):
            one = socket.create_connection((host, int(port)))
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            one.sendall(f"GET /video/{name} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode() * 50)
            sockets.append(one)
        recorder.follow(15)
        for one in sockets:
            one.close()
        run.end()
        self.judge(recorder, "recording")

    def test_the_page_plays_without_a_stall(self):
        run, url = self.serve(options="segment=4&part=1")
        page = hls_page.Page(url)
        self.addCleanup(page.close)
        found = page.watch(120)
        run.end()
        last = found[-1]
        behind = [one["behind"] for one in found]
        print(f"\n{last}; behind: {min(behind):.2f} to {max(behind):.2f} s, median {statistics.median(behind):.2f} s")
        self.assertEqual((last["stalls"], last["jumps"], last["errors"]), (0, 0, 0))
        self.assertGreater(last["frames"], 110 * 30)
        # Three parts behind the end, a part that is not complete, and a second for encoding.
        self.assertLess(statistics.median(behind), 5)

    def test_a_port_in_use_is_told(self):
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            one.listen()
            address = f"hls:http://127.0.0.1:{one.getsockname()[1]}/"
            _, errors = rig.refused("stream", *LIVE, "--video", CHART, "--to", address)
        self.assertIn("in use", errors)

    def test_nothing_else_can_be_asked_for(self):
        run, url = self.serve()
        for path in ("../../../../etc/passwd", "%2e%2e/etc/passwd", "video/", "video"):
            with self.assertRaises(urllib.error.HTTPError) as caught:
                urllib.request.urlopen(url + path)
            caught.exception.close()
            self.assertEqual(caught.exception.code, 404)
        run.end()


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
    unittest.main()
