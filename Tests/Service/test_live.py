# SPDX-License-Identifier: GPL-2.0-or-later
"""Live jobs: started, switched and stopped over HTTP, killed, and started again; what arrives is decoded."""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import unittest

from rig import PATIENCE, PROGRAMS, ROOT, Service, clip, reference_gpus, slow_output, until

FIRST, SECOND = (320, 240), (64, 48)


def free_port(kind=socket.SOCK_DGRAM):
    with socket.socket(socket.AF_INET, kind) as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def chart(size=FIRST):
    return {"test": {"width": size[0], "height": size[1], "frameRate": 25}}


def picture(source):
    """The average luma of the first picture that can be decoded."""
    command = ["ffmpeg", "-v", "error", "-i", source, "-frames:v", "1", "-vf", "scale=1:1,format=gray", "-f",
               "rawvideo", "-"]
    return subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL).stdout[0]


def receive(url, target, seconds=2):
    """Receives a part of a stream into a file."""
    command = ["ffmpeg", "-v", "error", "-y", "-i", url, "-t", str(seconds), "-c", "copy", "-f", "mpegts", str(target)]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def streams(path):
    """The sizes and numbers of pictures that decode, by the kind of track; errors fail."""
    command = ["ffprobe", "-v", "error", "-count_frames", "-show_streams", "-of", "json", str(path)]
    shown = subprocess.run(command, check=True, capture_output=True, text=True)
    return {one["codec_type"]: one for one in json.loads(shown.stdout)["streams"]}


class LiveCase(unittest.TestCase):
    FLAGS = ("--network-allow", "127.0.0.0/8")

    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="media-"))
        roots = ["--media-roots", f"media={self.root}", "--media-writable", "media"]
        self.service = Service("--disk-reserve", "0", *roots, *self.FLAGS)

    def tearDown(self):
        if self._outcome.result.errors or self._outcome.result.failures:
            print("".join(self.service.lines[-20:]))
        self.service.close()
        shutil.rmtree(self.root)

    def request(self, *outputs, inputs=None, **more):
        more.setdefault("encoding", {"keyFrameInterval": 0.5, "device": "software", "bitRate": 300_000})
        return {"name": "test", "inputs": inputs or [chart()], "outputs": list(outputs), **more}

    def start(self, *outputs, status=201, **more):
        answer = self.service.post("/v1/live", self.request(*outputs, **more))
        self.assertEqual(answer.status, status, answer)
        return answer.json["id"] if status == 201 else answer.json

    def job(self, name):
        answer = self.service.get(f"/v1/live/{name}")
        self.assertEqual(answer.status, 200, answer)
        return answer.json

    def wait(self, name, is_so, what):
        def reached():
            job = self.job(name)
            return job if is_so(job) else None

        return until(reached, f"{what}: {self.job(name)}")

    def wait_for(self, name, *states):
        return self.wait(name, lambda job: job["state"] in states, f"it is {states}")

    def wait_until_live(self, name, frames=10):
        """Waits until all outputs have sent pictures."""
        def is_live(job):
            outputs = job.get("statistics", {}).get("outputs", [])
            return outputs and all(one["state"] == "live" and one["sentFrames"] >= frames for one in outputs)

        return self.wait(name, is_live, "all outputs send")

    def programs(self):
        """The processes that the service has started, directly or not, by their names."""
        parents, names = {}, {}
        for entry in pathlib.Path("/proc").iterdir():
            try:
                text = (entry / "stat").read_text()
            except OSError:
                continue
            if entry.name.isdigit():
                names[int(entry.name)] = text[text.index("(") + 1:text.rindex(")")]
                parents[int(entry.name)] = int(text[text.rindex(")") + 1:].split()[1])
        found = {}
        for number in names:
            ancestor = parents[number]
            while ancestor in parents and ancestor != self.service.process.pid:
                ancestor = parents[ancestor]
            if ancestor == self.service.process.pid:
                found[number] = names[number]
        return found

    def processes(self):
        return [number for number, name in self.programs().items() if name == "vatoolbox-live"]

    def process(self):
        return until(lambda: len(self.processes()) == 1 and self.processes()[0], "there is one process")


class StreamTests(LiveCase):
    def test_what_arrives_can_be_decoded(self):
        port = free_port()
        film = clip("dark.mp4", seconds=3, more=("-vf", "eq=brightness=-1"))
        shutil.copy(film, self.root / "dark, not bright.mp4")
        hls = {"segment": 1, "window": 6}
        name = self.start({"url": f"udp://127.0.0.1:{port}"}, {"hls": {"path": "media/show", **hls}}, {"hls": hls},
                          tone=True,
                          inputs=[chart(), {"path": "media/dark, not bright.mp4", "loop": True}])
        job = self.wait_until_live(name)
        self.assertEqual((job["state"], job["input"], job["restarts"]), ("running", 0, 0))
        self.assertEqual(job["statistics"]["encoder"]["codec"], "h264")
        self.assertEqual([one["address"] for one in job["statistics"]["outputs"]],
                         [f"udp://127.0.0.1:{port}", "hls:media/show", "hls:service"])
        self.assertEqual(receive(f"udp://127.0.0.1:{port}", self.root / "one.ts").wait(), 0)
        found = streams(self.root / "one.ts")
        self.assertEqual((found["video"]["width"], found["video"]["height"]), FIRST)
        self.assertGreater(int(found["video"]["nb_read_frames"]), 20)
        self.assertGreater(int(found["audio"]["nb_read_frames"]), 20)
        bright = picture(str(self.root / "one.ts"))

        # The other input, in all outputs.
        answer = self.service.post(f"/v1/live/{name}/switch", {"input": 1})
        self.assertEqual((answer.status, answer.json["input"]), (200, 1), answer)
        self.wait(name, lambda job: job["statistics"]["inputs"][1]["active"], "the other input is used")
        url = f"{self.service.url}/v1/live/{name}/hls/2/index.m3u8"
        until(lambda: picture(url) < bright - 30, "players of the service see the other input")
        until(lambda: picture(str(self.root / "show/index.m3u8")) < bright - 30, "and those of the folder")
        self.assertEqual(receive(f"udp://127.0.0.1:{port}", self.root / "two.ts").wait(), 0)
        self.assertLess(picture(str(self.root / "two.ts")), bright - 30)
        self.assertEqual((streams(self.root / "two.ts")["video"]["width"]), FIRST[0], "it keeps its size")

        answer = self.service.post(f"/v1/live/{name}/update", {"bitRate": 150_000})
        self.assertEqual(answer.status, 200, answer)
        self.wait(name, lambda job: job["statistics"]["ceiling"] == 150_000, "it has another ceiling")

        metrics = self.service.get("/metrics").body.decode()
        for index in range(3):
            self.assertIn(f'vatoolbox_live_output_up{{live="{name}",output="{index}"}} 1', metrics)
        self.assertIn('vatoolbox_live_jobs{state="running"} 1', metrics)
        self.assertEqual(self.service.get("/v1/live").json["jobs"][0]["id"], name)

        stopping = self.service.post(f"/v1/live/{name}/stop")
        self.assertIn(stopping.json["state"], ("stopping", "ended"))
        job = self.wait_for(name, "ended", "failed")
        self.assertEqual((job["state"], job.get("failure")), ("ended", None))
        self.assertEqual(self.processes(), [])
        for text in [(self.root / "show").glob("**/*.m3u8")]:
            self.assertTrue(any("#EXT-X-ENDLIST" in path.read_text() for path in text), "the playlist ends")
        self.assertNotIn(name, self.service.get("/metrics").body.decode())
        for call, body in [("switch", {"input": 0}), ("update", {"bitRate": 100_000})]:
            answer = self.service.post(f"/v1/live/{name}/{call}", body)
            self.assertEqual((answer.status, answer.json["code"]), (409, "invalid-state"), call)
        self.assertEqual(self.service.post(f"/v1/live/{name}/stop").json["state"], "ended", "once more has no effect")
        self.assertEqual(self.service.request("DELETE", f"/v1/live/{name}").status, 204)
        self.assertEqual(self.service.get(f"/v1/live/{name}").status, 404)
        self.assertEqual(list((self.service.data / "live").iterdir()), [])

    def test_a_live_url_and_a_file_that_ends(self):
        port, target = free_port(), free_port()
        command = ["ffmpeg", "-v", "error", "-re", "-stream_loop", "-1", "-i", str(clip()), "-c", "copy"]
        sender = subprocess.Popen([*command, "-f", "mpegts", f"udp://127.0.0.1:{port}"], stdin=subprocess.DEVNULL)
        self.addCleanup(sender.wait)
        self.addCleanup(sender.kill)
        name = self.start({"url": f"udp://127.0.0.1:{target}"}, inputs=[{"url": f"udp://127.0.0.1:{port}"}])
        self.wait_until_live(name)
        self.assertEqual(receive(f"udp://127.0.0.1:{target}", self.root / "live.ts").wait(), 0)
        self.assertEqual(streams(self.root / "live.ts")["video"]["width"], 320)
        self.service.post(f"/v1/live/{name}/stop")
        shutil.copy(clip(), self.root / "short.mp4")
        other = self.start({"hls": {}}, inputs=[{"path": "media/short.mp4"}])
        self.assertEqual(self.wait_for(other, "ended", "failed")["state"], "ended", "with its file")
        found = streams(f"{self.service.url}/v1/live/{other}/hls/0/index.m3u8")
        self.assertEqual(found["video"]["nb_read_frames"], "50")
        self.wait_for(name, "ended")


class DeviceTests(LiveCase):
    def setUp(self):
        folder = tempfile.mkdtemp(prefix="service-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="media-"))
        self.service = Service("--disk-reserve", "0", environment=reference_gpus(folder, "128=generic"), folder=folder)

    def test_a_gpu_encodes(self):
        encoding = {"keyFrameInterval": 0.5, "requireHardware": True, "codec": "h264", "bitRate": 500_000}
        name = self.start({"hls": {"segment": 1, "window": 6}}, encoding=encoding)
        job = self.wait_until_live(name, frames=50)
        self.assertEqual(job["statistics"]["encoder"]["device"], "/dev/dri/renderD128")
        self.service.post(f"/v1/live/{name}/stop")
        self.wait_for(name, "ended", "failed")
        found = streams(f"{self.service.url}/v1/live/{name}/hls/0/index.m3u8")
        self.assertGreater(int(found["video"]["nb_read_frames"]), 25)


def is_stopped(process):
    """Whether all threads of a process are stopped. They go on for a moment after the signal."""
    states = [path.read_text().rpartition(")")[2].split()[0]
              for path in pathlib.Path(f"/proc/{process}/task").glob("*/stat")]
    return states and set(states) == {"T"}


class FaultTests(LiveCase):
    def test_a_process_that_is_killed_is_started_again(self):
        name = self.start({"hls": {"segment": 1, "window": 6}}, inputs=[chart(), chart(SECOND)])
        self.wait_until_live(name)
        self.service.post(f"/v1/live/{name}/switch", {"input": 1})
        first = self.process()
        os.kill(first, signal.SIGKILL)
        job = self.wait(name, lambda job: job["restarts"] == 1, "the end is noticed")
        self.assertEqual(job["failure"]["code"], "worker-killed")
        job = self.wait_until_live(name)
        self.assertEqual((job["state"], job["input"]), ("running", 1))
        self.assertTrue(job["statistics"]["inputs"][1]["active"], "the input is the one that was used")
        self.assertNotEqual(self.process(), first)

    def test_a_process_that_somebody_else_ends_is_started_again(self):
        name = self.start({"hls": {"segment": 1, "window": 6}})
        self.wait_until_live(name)
        first = self.process()
        os.kill(first, signal.SIGTERM)
        job = self.wait(name, lambda job: job["restarts"] == 1, "the end is noticed")
        self.assertEqual((job["failure"]["code"], job["failure"]["retriable"]), ("worker-killed", True), job)
        self.assertIn("not by the service", job["failure"]["message"])
        self.assertEqual(self.wait_until_live(name)["state"], "running")
        self.assertNotEqual(self.process(), first)

    def test_a_process_that_takes_no_commands_changes_nothing(self):
        name = self.start({"hls": {"segment": 1, "window": 6}}, inputs=[chart(), chart(SECOND)])
        self.wait_until_live(name)
        record = self.service.data / "live" / f"{name}.json"
        stored = record.read_bytes()
        first = self.process()
        os.kill(first, signal.SIGSTOP)
        until(lambda: is_stopped(first), "every thread has stopped, that of the commands too")
        # Its pipe is full, as when it has not read for long.
        pipe = os.open(f"/proc/{first}/fd/0", os.O_WRONLY | os.O_NONBLOCK)
        with self.assertRaises(BlockingIOError):
            while True:
                os.write(pipe, b"\n" * 4096)
        os.close(pipe)
        for call, body in [("switch", {"input": 1}), ("update", {"bitRate": 150_000})]:
            answer = self.service.post(f"/v1/live/{name}/{call}", body)
            self.assertEqual((answer.status, answer.json["code"]), (503, "unavailable"), answer)
            self.assertIn("nothing is changed", answer.json["detail"])
        self.assertEqual(self.job(name)["input"], 0)
        self.assertEqual(record.read_bytes(), stored)
        os.kill(first, signal.SIGKILL)
        self.wait(name, lambda job: job["restarts"] == 1, "the end is noticed")
        # While it waits, a change is one of the next process.
        answer = self.service.post(f"/v1/live/{name}/update", {"bitRate": 200_000})
        self.assertEqual(answer.status, 200, answer)
        job = self.wait_until_live(name)
        self.assertEqual((job["input"], job["request"]["encoding"]["bitRate"]), (0, 200_000))
        self.assertTrue(job["statistics"]["inputs"][0]["active"])
        self.assertEqual(job["statistics"]["ceiling"], 200_000)

    def test_jobs_go_on_after_a_restart_of_the_service(self):
        name = self.start({"hls": {"segment": 1, "window": 6}}, inputs=[chart(), chart(SECOND)])
        ended = self.start({"hls": {}})
        self.wait_until_live(name)
        self.service.post(f"/v1/live/{ended}/stop")
        self.wait_for(ended, "ended")
        self.service.post(f"/v1/live/{name}/switch", {"input": 1})
        self.assertEqual(self.service.stop(), 0)
        text = "".join(path.read_text() for path in (self.service.data / "live").glob("**/*.m3u8"))
        self.assertIn("#EXT-X-ENDLIST", text, "the stream was ended, not broken off")
        for end in (lambda: None, self.service.kill):
            end()
            self.service.start()
            job = self.wait_until_live(name)
            self.assertEqual((job["input"], job["restarts"]), (1, 0))
            self.assertEqual(self.job(ended)["state"], "ended")
            self.process()

    def test_a_stop_while_the_service_drains_is_no_pause(self):
        shutil.copy(clip("long.mp4", seconds=60, size="640x360"), self.root / "long.mp4")
        name = self.start({"hls": {"segment": 1, "window": 6}})
        self.wait_until_live(name)
        other = self.start({"hls": {}})
        # A task for which the service waits.
        job = self.service.submit({"path": "media/long.mp4"}, slow_output())
        self.service.wait(job, "running")
        self.service.process.send_signal(signal.SIGTERM)
        until(lambda: not self.processes(), "the processes of live jobs end")
        self.assertEqual(self.service.post(f"/v1/live/{name}/stop").json["state"], "ended")
        self.service.post(f"/v1/jobs/{job}/cancel")
        self.assertEqual(self.service.process.wait(timeout=PATIENCE), 0)
        self.service.start()
        self.assertEqual(self.job(name)["state"], "ended")
        self.wait_until_live(other)

    def test_changes_that_meet_the_end_change_nothing(self):
        name = self.start({"hls": {"segment": 1, "window": 6}}, inputs=[chart(), chart(SECOND)])
        self.wait_until_live(name)
        answers = []

        def change(begin):
            for number in range(begin, begin + 1000):
                call, body = ("update", {"bitRate": 100_000 + number})
                if number % 3 == 0:
                    call, body = ("switch", {"input": number % 2})
                answer = self.service.post(f"/v1/live/{name}/{call}", body)
                answers.append((call, body, answer))
                if answer.status != 200:
                    break

        threads = [threading.Thread(target=change, args=(begin,)) for begin in (0, 5000, 10_000)]
        for thread in threads:
            thread.start()
        until(lambda: len(answers) > 30, "changes")
        self.service.post(f"/v1/live/{name}/stop")
        for thread in threads:
            thread.join()
        job = self.wait_for(name, "ended", "failed")
        self.assertEqual(job["state"], "ended")
        self.assertEqual({answer.status for _, _, answer in answers}, {200, 409})
        # What is on the disk is what the answers say.
        self.service.kill()
        self.service.start()
        stored = self.job(name)
        for key in ("state", "input", "endedAt"):
            self.assertEqual(stored[key], job[key])
        self.assertEqual(stored["request"], job["request"])
        rates = {body["bitRate"] for call, body, answer in answers if call == "update" and answer.status == 200}
        self.assertIn(job["request"]["encoding"]["bitRate"], rates)

    def test_a_file_that_is_away_for_a_while_is_waited_for(self):
        shutil.copy(clip(seconds=20, name="pause.mp4"), self.root / "pause.mp4")
        name = self.start({"hls": {}}, inputs=[{"path": "media/pause.mp4", "loop": True}])
        self.wait_until_live(name)
        self.service.kill()
        (self.root / "pause.mp4").rename(self.root / "away.mp4")
        self.service.start()
        job = self.wait(name, lambda job: job["restarts"] > 0, "the file is missed")
        self.assertIn(job["state"], ("waiting", "starting"))
        (self.root / "away.mp4").rename(self.root / "pause.mp4")
        self.wait_until_live(name)

    def test_a_job_that_cannot_work_fails(self):
        port = free_port(socket.SOCK_STREAM)
        refused = self.start({"url": f"rtmp://127.0.0.1:{port}/live/key"}, restarts=0)
        private = self.start({"url": "udp://localhost.localdomain.invalid:5000"}, restarts=0)
        job = self.wait_for(refused, "failed", "ended")
        self.assertEqual(job["state"], "failed")
        self.assertIn("no connection", job["failure"]["message"])
        self.assertEqual(self.wait_for(private, "failed", "ended")["state"], "failed")
        self.assertEqual(self.processes(), [])


class PrivateAddressTests(LiveCase):
    FLAGS = ()

    def test_private_addresses_are_refused(self):
        port = free_port()
        for place, url in [("outputs", f"udp://127.0.0.1:{port}"),
                           ("outputs", f"srt://[::1]:{port}?passphrase=1234567890"),
                           ("outputs", f"rtmp://10.1.2.3:{port}/live/key"), ("outputs", f"srt://:{port}?mode=listener"),
                           ("outputs", "udp://239.1.1.1:5000"), ("inputs", f"udp://:{port}"),
                           ("inputs", "rtsp://1.1.1.1/stream"), ("inputs", "rtmp://user:pass@192.168.1.1/live/key")]:
            with self.subTest(url):
                request = self.request({"hls": {}})
                request[place] = [{"url": url}]
                answer = self.service.post("/v1/live", request)
                self.assertEqual((answer.status, answer.json["field"]), (400, f"/{place}/0/url"), answer)
                self.assertNotIn("1234567890", answer.body.decode())
                self.assertNotIn("pass@", answer.body.decode())
        # Names are looked up by the process.
        for outputs, inputs in [([{"url": f"udp://localhost:{port}"}], None),
                                ([{"hls": {}}], [{"url": f"srt://localhost:{port}"}])]:
            job = self.wait_for(self.start(*outputs, inputs=inputs), "failed", "running")
            self.assertEqual((job["state"], job["failure"]["code"]), ("failed", "invalid-argument"), job)
            self.assertIn("the address of localhost is not public", job["failure"]["message"])


class NameServerTests(LiveCase):
    FLAGS = ("--network-allow", "127.0.0.0/8")

    def setUp(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="service-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="media-"))
        # Where its processes may read and write.
        (folder / "data/state").mkdir(parents=True)
        self.answer = folder / "data/state/answer"
        library = folder / "resolver.so"
        source = ROOT / "Tests" / "Live" / "resolver.c"
        subprocess.run(["cc", "-O1", "-fPIC", "-shared", "-o", library, source, "-ldl"], check=True)
        environment = {"LD_PRELOAD": str(library), "REFERENCE_RESOLVER": str(self.answer)}
        self.service = Service("--disk-reserve", "0", *self.FLAGS, environment=environment, folder=folder)

    def outlast(self, name):
        """The name server tells something wrong while the process of a live job begins, and is right later."""
        job = self.wait(name, lambda job: job["restarts"] >= 2 and job["state"] == "waiting", "the answer is wrong")
        self.assertEqual((job["failure"]["code"], job["failure"]["retriable"]), ("invalid-argument", True), job)
        self.assertIn("is not public", job["failure"]["message"])
        self.answer.write_text("127.0.0.1")
        self.wait_until_live(name)

    def test_wrong_answers_are_outlasted(self):
        self.answer.write_text("127.0.0.1")
        name = self.start({"url": f"udp://receiver.told:{free_port()}"})
        self.wait_until_live(name)
        self.answer.write_text("10.9.9.9")
        os.kill(self.process(), signal.SIGKILL)
        self.outlast(name)
        self.answer.write_text("10.9.9.9")
        self.service.kill()
        self.service.start()
        self.outlast(name)

    def test_a_wrong_answer_at_the_start_is_a_failure(self):
        self.answer.write_text("10.9.9.9")
        job = self.wait_for(self.start({"url": f"udp://receiver.told:{free_port()}"}), "failed", "running")
        self.assertEqual((job["state"], job["restarts"]), ("failed", 0))


class EnvironmentTests(LiveCase):
    #: The variables of commands that have secrets, with which somebody has started the service.
    SECRETS = ("VATOOLBOX_STREAM_KEY", "VATOOLBOX_STREAM_ID", "VATOOLBOX_PASSPHRASE", "VATOOLBOX_AUTHORIZATION",
               "VATOOLBOX_KEY", "VATOOLBOX_SERVICE_ACCESS_TOKEN")

    def test_workers_have_no_secrets_of_commands(self):
        self.service.stop()
        secret = "a-secret-of-its-own"
        self.service.environment = {name: secret for name in self.SECRETS} | {"VATOOLBOX_FFMPEG": "/told/to/workers"}
        self.service.token = secret
        self.service.start()
        self.wait_until_live(self.start({"hls": {"segment": 1, "window": 6}}))
        programs = self.programs()
        self.assertIn("vatoolbox-live", programs.values())
        for number, program in programs.items():
            content = pathlib.Path(f"/proc/{number}/environ").read_bytes()
            if program == "vatoolbox-live":
                self.assertIn(b"/told/to/workers", content)
                self.assertNotIn(secret.encode(), content, program)


class SecretTests(LiveCase):
    KEY, PHRASE, IDENTIFIER = "very-secret-key", "very-secret-phrase", "very-secret-stream"

    def test_secrets_are_nowhere(self):
        port, closed = free_port(), free_port(socket.SOCK_STREAM)
        received = self.root / "received.ts"
        command = ["srt-live-transmit", "-q", f"srt://:{port}?mode=listener&passphrase={self.PHRASE}", "file://con"]
        with open(received, "wb") as file:
            receiver = subprocess.Popen(command, stdout=file, stdin=subprocess.DEVNULL)
        self.addCleanup(receiver.wait)
        self.addCleanup(receiver.kill)
        name = self.start(
            {"url": f"srt://127.0.0.1:{port}?latency=200&passphrase={self.PHRASE}&streamid={self.IDENTIFIER}"},
            {"url": f"rtmp://user:{self.PHRASE}@127.0.0.1:{closed}/live/{self.KEY}?token={self.KEY}"},
            restarts=0)
        self.wait(name, lambda job: any(one["state"] == "live" and one["sentFrames"] > 25
                                        for one in job.get("statistics", {}).get("outputs", [])), "SRT is live")
        lost = self.wait(name, lambda job: job["statistics"]["outputs"][1].get("error"), "RTMP has an error")
        shown = [one["url"] for one in lost["request"]["outputs"]]
        self.assertTrue(shown[0].endswith("?latency=200&passphrase=***&streamid=***"), shown)
        self.assertRegex(shown[1], r"^rtmp://\*\*\*@127\.0\.0\.1:\d+/live/\*\*\*$")
        secrets = [text.encode() for text in (self.KEY, self.PHRASE, self.IDENTIFIER)]
        for number, program in list(self.programs().items()) + [(self.service.process.pid, "service")]:
            for file in ("cmdline", "environ"):
                content = pathlib.Path(f"/proc/{number}/{file}").read_bytes()
                self.assertFalse([one for one in secrets if one in content], f"{file} of {program}")
        paths = ["/v1/live", f"/v1/live/{name}", "/metrics", "/v1/support", "/v1/events"]
        for path in paths:
            content = self.service.get(path, Accept="application/json").body
            self.assertFalse([one for one in secrets if one in content], path)
        self.service.post(f"/v1/live/{name}/stop")
        self.wait_for(name, "ended")
        log = "".join(self.service.lines).encode()
        self.assertFalse([one for one in secrets if one in log], "log")
        for path in self.service.data.rglob("*"):
            if path.is_file() and path != self.service.data / "live" / f"{name}.json":
                self.assertFalse([one for one in secrets if one in path.read_bytes()], path)
        self.assertEqual((self.service.data / "live" / f"{name}.json").stat().st_mode & 0o77, 0, "for its owner only")
        receiver.terminate()
        receiver.wait()
        self.assertGreater(int(streams(received)["video"]["nb_read_frames"]), 10, "it arrived")


class CommandTests(LiveCase):
    def vatoolbox(self, *arguments, status=0, **more):
        command = [str(PROGRAMS / "vatoolbox"), "live", *arguments, "--url", self.service.url]
        done = subprocess.run(command, capture_output=True, text=True, **more)
        self.assertEqual(done.returncode, status, done)
        return done

    def test_the_command(self):
        self.assertEqual(self.vatoolbox().stdout, "no live jobs\n")
        request = self.request({"url": f"rtmp://127.0.0.1:{free_port(socket.SOCK_STREAM)}/live/a-key"}, {"hls": {}},
                               inputs=[chart(), chart(SECOND)])
        started = self.vatoolbox("start", "-", "--json", input=json.dumps(request))
        name = json.loads(started.stdout)["id"]
        self.assertNotIn("a-key", started.stdout)
        self.wait(name, lambda job: job["state"] == "running", "it runs")
        self.assertIn(name, self.vatoolbox("list", "--state", "running").stdout)
        self.vatoolbox("switch", name, "2")
        shown = self.vatoolbox("show", name).stdout
        self.assertRegex(shown, r"input 2 +test chart, used")
        self.assertRegex(shown, r"output 1 +rtmp://127.0.0.1:\d+/live/\*\*\*")
        self.assertIn("has no such input", self.vatoolbox("switch", name, "3", status=1).stderr)
        self.assertIn("has not ended", self.vatoolbox("delete", name, status=1).stderr)
        self.assertIn(name, self.vatoolbox("stop", name).stdout)
        self.wait_for(name, "ended")
        self.vatoolbox("delete", name)
        self.assertEqual(json.loads(self.vatoolbox("--json").stdout), {"jobs": []})
        file = self.root / "request.json"
        file.write_text('{"name": "x"}')
        self.assertIn("/inputs", self.vatoolbox("start", str(file), status=2).stderr)
        self.assertIn("cannot be read", self.vatoolbox("start", str(self.root / "none"), status=2).stderr)


class RequestTests(LiveCase):
    FLAGS = ("--network-allow", "127.0.0.0/8", "--live-count", "2")

    def test_bad_requests(self):
        (self.root / "taken").mkdir()
        (self.root / "taken/index.m3u8").write_text("#EXTM3U\n")
        good = self.request({"hls": {}})
        bad = [
            ({"name": ""}, 400, "/name"), ({"inputs": []}, 400, "/inputs"), ({"outputs": []}, 400, "/outputs"),
            ({"inputs": [{}]}, 400, "/inputs/0"),
            ({"inputs": [{"url": "http://example.com/x"}]}, 400, "/inputs/0/url"),
            ({"inputs": [{"url": "file:///etc/passwd"}]}, 400, "/inputs/0/url"),
            ({"inputs": [{"path": "media/none.mp4"}]}, 404, "/inputs/0/path"),
            ({"inputs": [{"path": "media/../x"}]}, 400, "/inputs/0/path"),
            ({"inputs": [{"test": {}, "path": "media/a"}]}, 400, "/inputs/0/test"),
            ({"outputs": [{"url": "hls:/tmp/x"}]}, 400, "/outputs/0/url"),
            ({"outputs": [{"url": "rtmp://a/b c"}]}, 400, "/outputs/0/url"),
            ({"outputs": [{"hls": {"path": "other/x"}}]}, 404, "/outputs/0/hls/path"),
            ({"outputs": [{"hls": {"path": "media/a?b"}}]}, 400, "/outputs/0/hls/path"),
            ({"outputs": [{"hls": {"path": "media/taken"}}]}, 409, "/outputs/0/hls/path"),
            ({"outputs": [{"hls": {"segment": 1, "window": 5}}]}, 400, "/outputs/0/hls/window"),
            ({"outputs": [{"hls": {"segment": 4, "window": 20}}]}, 400, "/outputs/0/hls/window"),
            ({"outputs": [{"hls": {"segment": 1}}], "encoding": {"keyFrameInterval": 2}}, 400,
             "/outputs/0/hls/segment"),
            ({"outputs": [{"hls": {"path": "media/x"}}] * 2}, 409, "/outputs/1/hls/path"),
            ({"encoding": {"width": 640}}, 400, "/encoding/height"),
            ({"encoding": {"bitRate": 1}}, 400, "/encoding/bitRate"),
            ({"restarts": -1}, 400, "/restarts"), ({"more": 1}, 400, "/more"),
        ]
        for change, status, field in bad:
            with self.subTest(change):
                answer = self.service.post("/v1/live", {**good, **change})
                self.assertEqual((answer.status, answer.json.get("field")), (status, field), answer)
                self.assertIn("application/problem+json", answer.headers["Content-Type"])
        unknown = "0" * 26
        for method, path, body in [("GET", unknown, None), ("POST", f"{unknown}/stop", None), ("DELETE", unknown, None),
                                   ("POST", f"{unknown}/switch", {"input": 0}),
                                   ("GET", f"{unknown}/hls/0/index.m3u8", None)]:
            self.assertEqual(self.service.request(method, f"/v1/live/{path}", body).status, 404, path)
        self.assertEqual(self.service.get("/v1/live/x").status, 400)
        self.assertEqual(self.service.get("/v1/live").json, {"jobs": []})
        self.assertEqual(self.processes(), [])

    def test_limits_pages_and_idempotency(self):
        request = self.request({"hls": {}})
        answers = [self.service.post("/v1/live", request, **{"Idempotency-Key": "a"}) for _ in range(2)]
        self.assertEqual([one.status for one in answers], [201, 200])
        first = answers[0].json["id"]
        self.assertEqual(answers[1].json["id"], first)
        other = self.service.post("/v1/live", {**request, "name": "other"}, **{"Idempotency-Key": "a"})
        self.assertEqual((other.status, other.json["code"]), (409, "idempotency-conflict"))
        second = self.start({"hls": {}})
        refusal = self.start({"hls": {}}, status=429)
        self.assertEqual((refusal["code"], refusal["allowed"]), ("rate-limited", "2 live jobs"))
        page = self.service.get("/v1/live?limit=1").json
        self.assertEqual(([one["id"] for one in page["jobs"]], page["nextCursor"]), ([second], second))
        page = self.service.get(f"/v1/live?limit=1&cursor={second}").json
        self.assertEqual(([one["id"] for one in page["jobs"]], page.get("nextCursor")), ([first], None))
        answer = self.service.request("DELETE", f"/v1/live/{first}")
        self.assertEqual((answer.status, answer.json["code"]), (409, "invalid-state"))
        answer = self.service.post(f"/v1/live/{first}/switch", {"input": 1})
        self.assertEqual((answer.status, answer.json["allowed"]), (400, "0...0"))
        answer = self.service.get(f"/v1/live/{first}/hls/1/index.m3u8")
        self.assertEqual(answer.status, 404)
        self.service.post(f"/v1/live/{first}/stop")
        self.wait_for(first, "ended")
        self.assertEqual([one["id"] for one in self.service.get("/v1/live?state=ended").json["jobs"]], [first])
        third = self.start({"hls": {}})
        self.assertEqual(self.service.post("/v1/drain").status, 200)
        self.service.post(f"/v1/live/{third}/stop")
        self.wait_for(third, "ended")
        self.assertEqual(self.start({"hls": {}}, status=503)["code"], "unavailable")

    def test_permissions(self):
        keys = {}
        for name, scopes in [("admin", ["admin"]), ("reader", ["jobs:read"]), ("uploader", ["uploads:write"]),
                             ("writer", ["jobs:read", "jobs:write"])]:
            keys[name] = self.service.post("/v1/keys", {"name": name, "scopes": scopes}).json["secret"]
            self.service.token = keys["admin"]

        def call(who, method, path, body=None):
            headers = {"Authorization": f"Bearer {keys[who]}"} if who else {"Authorization": "Bearer x"}
            return self.service.request(method, f"/v1/live{path}", body, headers)

        request = self.request({"hls": {}})
        self.assertEqual(call(None, "POST", "", request).status, 401)
        self.assertEqual(call("reader", "POST", "", request).status, 403)
        name = call("writer", "POST", "", request).json["id"]
        self.assertEqual(call("reader", "GET", f"/{name}").status, 200)
        self.assertEqual(call("uploader", "GET", f"/{name}").status, 403)
        self.assertEqual(call("uploader", "GET", f"/{name}/hls/0/index.m3u8").status, 403)
        for path, body in [("stop", None), ("switch", {"input": 0}), ("update", {"bitRate": 100_000})]:
            self.assertEqual(call("reader", "POST", f"/{name}/{path}", body).status, 403, path)
        self.assertEqual(call("writer", "POST", f"/{name}/stop").status, 200)


if __name__ == "__main__":
    unittest.main()
