# SPDX-License-Identifier: GPL-2.0-or-later
"""vatoolbox stream to HTTP Live Streaming: a folder, and its own server with low latency.

Needs curl, ffmpeg, openssl, chromium and, for HTTP/2, the Python module h2 (python3-h2)."""

import os
import pathlib
import re
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
import unittest
import urllib.error
import urllib.request

import delays
import hls_client
import hls_page
import rig

CHART = "test,size=320x240,rate=30"
LIVE = ["--preset", "ultrafast", "--bitrate", "500k"]
JUDGE = rig.ROOT / "Tests" / "Streaming" / "live" / "check_live.py"


class HLS(unittest.TestCase):
    def setUp(self):
        self.folder = rig.Folder(self)

    def stream(self, address, *arguments, **more):
        run = rig.Run(self, "stream", *LIVE, "--video", CHART, "--audio", "test", "--to", address, *arguments, **more)
        self.delays = delays.Delays(self, run.process.pid, os.getpid())
        return run

    def live(self, run, count=30):
        return run.wait_for(lambda now: now["outputs"][0]["sentFrames"] >= count, f"{count} sent pictures")

    def judge(self, recorder, name):
        self.assertEqual(recorder.failures, [])
        self.assertEqual(self.errors(recorder, name), [])

    def errors(self, recorder, name):
        """What is against the rules, without what the delays of a busy machine explain."""
        folder = self.folder / name
        recorder.store(folder)
        done = subprocess.run([sys.executable, str(JUDGE), str(folder)], capture_output=True, text=True, check=False)
        self.assertIn("playlists", done.stdout, done.stderr)
        return [line for line in done.stdout.splitlines() if ": error: " in line and not self.is_explained(line)]

    def is_explained(self, line):
        """Whether a part or a segment came as late as the command and the client have waited for a processor."""
        match = re.search(r"rule 6\.2\.1[gh]: .* none for ([0-9.]+) s until ([0-9.]+), allowed ([0-9.]+) s", line)
        if match is None:
            return False
        late, end, allowed = map(float, match.groups())
        return late - allowed <= self.delays.between(end - late, end)

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

    def test_a_late_part_is_an_error(self):
        run, url = self.serve(options="segment=4&part=0.5")
        recorder = hls_client.Recorder(url, hls_client.Plain, tells_protocol=False)
        following = threading.Thread(target=recorder.follow, args=(20,))
        following.start()
        rig.wait_until(lambda: len(recorder.media) > 10, "some media")
        # A command that is stopped does not wait for a processor.
        run.send(signal.SIGSTOP)
        time.sleep(8)
        run.send(signal.SIGCONT)
        following.join(rig.PATIENCE)
        run.end()
        self.assertEqual(recorder.failures, [])
        self.assertTrue(any("6.2.1h" in line for line in self.errors(recorder, "recording")))

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
        seconds = int(os.environ.get("VATOOLBOX_PAGE_SECONDS", "120"))
        run, url = self.serve(options="segment=4&part=1")
        page = hls_page.Page(url)
        self.addCleanup(page.close)
        found = page.watch(seconds, look=lambda: {"page": page.memory(),
                                                  "server": hls_page.proportional(run.process.pid)})
        run.end()
        last = found[-1]
        behind = sorted(one["behind"] for one in found)
        early, late = found[len(found) // 5:len(found) // 4], found[-len(found) // 20:]
        memory = {name: [statistics.median(one[name] for one in some) / 1e6 for some in (early, late)]
                  for name in ("page", "server")}
        steps = [after["behind"] - before["behind"] for before, after in zip(found, found[1:])]
        print(f"\n{last}; behind: {behind[0]:.2f} to {behind[-1]:.2f} s, median {statistics.median(behind):.2f} s, "
              f"95 % within {behind[len(behind) * 95 // 100]:.2f} s, largest pause {max(steps):.2f} s; memory in MB after a quarter and at the end: "
              + ", ".join(f"{name} {before:.0f}, {after:.0f}" for name, (before, after) in memory.items()))
        self.assertEqual((last["stalls"], last["jumps"], last["errors"]), (0, 0, 0))
        self.assertGreater(last["frames"], (seconds - 10) * 30 * 0.95)
        # Three parts behind the end, a part that is not complete, and a second for encoding.
        self.assertLess(statistics.median(behind), 5)
        if os.environ.get("VATOOLBOX_STRICT"):
            self.assertLess(max(steps), 0.5)
            self.assertLess(behind[len(behind) * 95 // 100], 4)
        for before, after in memory.values():
            self.assertLess(after, before * 1.25 + 50)

    def test_the_page_starts_without_a_stall(self):
        # At every age of a stream: one that has just begun has less than the hold-back.
        run, url = self.serve(options="segment=4&part=1")
        for _ in range(int(os.environ.get("VATOOLBOX_PAGE_STARTS", "5"))):
            page = hls_page.Page(url)
            self.addCleanup(page.close)
            found = page.watch(5)
            page.close()
            self.assertEqual((found[-1]["stalls"], found[-1]["jumps"], found[-1]["errors"]), (0, 0, 0))
        run.end()

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
