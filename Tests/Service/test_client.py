# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands that ask a service, as people and scripts use them: submit, jobs, logs, drain, resume, status."""

import http.server
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import unittest

from proxy import Proxy, Rule
from rig import PATIENCE, PROGRAMS, Service, clip, digest, frame_hashes, slow_output, until

QUICK = ["--codec", "h264", "--crf", "30", "--preset", "ultrafast"]
SLOW = ["--codec", "hevc", "--crf", "18", "--preset", "placebo"]


def environment(service, **more):
    kept = {name: value for name, value in os.environ.items() if name not in ("VATOOLBOX_URL", "VATOOLBOX_KEY")}
    return {**kept, **({"VATOOLBOX_URL": service.url} if service else {}), **more}


def vatoolbox(service, *arguments, **options):
    """Runs a command to its end."""
    command = [str(PROGRAMS / "vatoolbox"), *map(str, arguments)]
    more = options.pop("environment", {})
    return subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE, env=environment(service, **more), **options
    )


class Running:
    """A command that runs, and what it has printed."""

    def __init__(self, service, *arguments):
        command = [str(PROGRAMS / "vatoolbox"), *map(str, arguments)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(service)
        )
        self.out, self.error = [], []
        self.readers = [
            threading.Thread(target=self._read, args=pair, daemon=True)
            for pair in ((self.process.stdout, self.out), (self.process.stderr, self.error))
        ]
        for reader in self.readers:
            reader.start()

    def _read(self, stream, lines):
        for line in stream:
            lines.append(line)

    def first_line(self):
        return until(lambda: self.out or self.process.poll() is not None and [""], "a line")[0].strip()

    def text(self):
        return "".join(self.out)

    def wait(self):
        status = self.process.wait(timeout=PATIENCE)
        for reader in self.readers:
            reader.join()
        return status

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class ClientTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Service("--workers-count", "2")

    @classmethod
    def tearDownClass(cls):
        cls.service.close()

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="client-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def submit(self, *arguments):
        """Submits without waiting, and returns the ID of the job."""
        done = vatoolbox(self.service, "submit", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"^[0-9a-z]{26}\n$")
        return done.stdout.strip()

    # submit

    def test_download_has_the_frames_of_encode(self):
        done = vatoolbox(self.service, "submit", clip(), "-o", "{name}-small.mkv", *QUICK, "--download", self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        job = self.service.job(done.stdout.strip())
        self.assertEqual(job["state"], "succeeded")
        name = f"{clip().stem}-small.mkv"
        self.assertEqual(os.listdir(self.folder), [name])
        self.assertEqual(digest(self.folder / name), job["outputs"][0]["files"][0]["sha256"])
        alone = self.folder / "alone.mkv"
        subprocess.run([PROGRAMS / "vatoolbox", "encode", clip(), "-o", alone, *QUICK, "--quiet"], check=True)
        self.assertEqual(frame_hashes(self.folder / name), frame_hashes(alone))
        # Progress is not shown where nobody looks.
        self.assertNotIn("\r", done.stderr)

    def test_playlist_is_downloaded_with_all_its_files(self):
        options = ["--ladder", "180p,90p", "--codec", "h264", "--preset", "ultrafast", "--download", self.folder]
        done = vatoolbox(self.service, "submit", clip(), "-o", "show.m3u8", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(frame_hashes(self.folder / "show/180p/index.m3u8")), 50)
        self.assertTrue((self.folder / "show.m3u8").is_file())
        self.assertEqual([path for path in self.folder.rglob("*.part")], [])

    def test_several_inputs_and_json(self):
        second = clip("second.mp4", seconds=1)
        done = vatoolbox(
            self.service, "submit", clip(), second, "-o", "{name}.mkv", *QUICK, "--download", self.folder, "--json",
            "--label", "set=json",
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        jobs = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([job["state"] for job in jobs], ["succeeded"] * 2)
        self.assertEqual({job["labels"]["set"] for job in jobs}, {"json"})
        self.assertEqual(sorted(os.listdir(self.folder)), sorted([f"{clip().stem}.mkv", "second.mkv"]))

    def test_progress_is_shown_on_a_terminal_and_erased(self):
        leader, follower = pty.openpty()
        command = [str(PROGRAMS / "vatoolbox"), "submit", str(clip("seen.mp4", seconds=8, size="640x360")), "-o", "seen.mkv"]
        command += ["--codec", "h264", "--preset", "slower", "--wait"]
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=follower, env=environment(self.service)
        )
        os.close(follower)
        shown = b""
        while True:
            try:
                data = os.read(leader, 4096)
            except OSError:
                break
            if not data:
                break
            shown += data
        os.close(leader)
        self.assertEqual(process.wait(timeout=PATIENCE), 0, shown)
        lines = shown.decode().split("\r\x1b[K")
        self.assertTrue([line for line in lines if re.search(r"\d+ %  uploading  .* of ", line)], lines)
        self.assertTrue([line for line in lines if re.search(r"\d+ %  encoding  ", line)], lines)
        self.assertTrue(all(len(line) < 80 for line in lines[:-1]), lines)
        self.assertRegex(lines[-1], r"^vatoolbox: /.*/seen.mp4 -> seen.mkv, [0-9]+ bytes, x264.*\r\n$")

    def test_failure_says_why_and_what_helps(self):
        letter = self.folder / "letter.mp4"
        letter.write_text("Dear Sir or Madam, this is no film. " * 50)
        done = vatoolbox(self.service, "submit", letter, "-o", "a.mp4", "--download", self.folder / "made")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"vatoolbox: error: .*letter.mp4: malformed-data: ")
        self.assertFalse((self.folder / "made").exists())

    def test_accepted_damage_has_its_status(self):
        cut = bytearray(clip("whole.ts", more=["-f", "mpegts"], sound=False).read_bytes())
        for place in range(len(cut) // 3, len(cut) // 3 + 20000):
            cut[place] ^= 0x5A
        damaged = self.folder / "damaged.ts"
        damaged.write_bytes(bytes(cut))
        refused = vatoolbox(self.service, "submit", damaged, "-o", "a.mp4", *QUICK, "--wait")
        self.assertEqual(refused.returncode, 1, refused.stderr)
        self.assertIn("damaged-input", refused.stderr)
        accepted = vatoolbox(
            self.service, "submit", damaged, "-o", "a.mp4", *QUICK, "--accept-damage", "--download", self.folder
        )
        self.assertEqual(accepted.returncode, 3, accepted.stderr)
        self.assertIn("vatoolbox: warning: ", accepted.stderr)
        self.assertTrue((self.folder / "a.mp4").is_file())

    def test_refusals_come_before_the_upload(self):
        before = self.service.get("/v1/uploads").json
        (self.folder / "there.mp4").write_text("mine")
        for arguments, message in [
            (["-o", "a.mp4", "--crf", "99"], r"--crf: .*given 99; allowed: 0\.\.\.51"),
            (["-o", "a.avi"], r"given -o a\.avi; allowed: \.mp4"),
            (["-o", "there.mp4", "--download", self.folder], "the output exists"),
            (["-o", "a.mp4", "--codec", "vp9"], "vp9"),
        ]:
            done = vatoolbox(self.service, "submit", clip(), *arguments)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertRegex(done.stderr, message)
        done = vatoolbox(self.service, "submit", self.folder / "missing.mp4", "-o", "a.mp4")
        self.assertEqual(done.returncode, 2)
        self.assertIn("No such file", done.stderr)
        self.assertEqual(self.service.get("/v1/uploads").json, before)
        self.assertEqual((self.folder / "there.mp4").read_text(), "mine")

    def test_refused_job_leaves_no_upload(self):
        before = self.service.get("/v1/uploads").json
        done = vatoolbox(self.service, "submit", clip(), "-o", "a.mp4", "--use-preset", "missing")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("/preset", done.stderr)
        self.assertEqual(self.service.get("/v1/uploads").json, before)

    def test_dry_run_tells_the_plan_and_leaves_nothing(self):
        uploads, jobs = self.service.get("/v1/uploads").json, self.service.get("/v1/jobs").json["jobs"]
        done = vatoolbox(self.service, "submit", clip(), "-o", "a.mp4", *QUICK, "--dry-run")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("encoder x264", done.stdout)
        self.assertEqual(self.service.get("/v1/uploads").json, uploads)
        self.assertEqual([job["id"] for job in self.service.get("/v1/jobs").json["jobs"]], [job["id"] for job in jobs])

    # Signals

    def long_job(self, *options):
        run = Running(self.service, "submit", clip("long.mp4", seconds=60, size="640x360"), "-o", "l.mp4", *SLOW, *options)
        self.addCleanup(run.kill)
        job = run.first_line()
        self.service.wait(job, "running")
        return run, job

    def test_interrupt_cancels_the_job(self):
        run, job = self.long_job("--wait")
        run.process.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(), 130, run.error)
        self.assertEqual(self.service.job(job)["state"], "cancelled")

    def test_second_interrupt_leaves_at_once(self):
        run, job = self.long_job("--wait")
        # A service that does not answer: the cancellation cannot succeed.
        self.service.process.send_signal(signal.SIGSTOP)
        try:
            run.process.send_signal(signal.SIGINT)
            until(lambda: [line for line in run.error if "cancelling" in line], "the first signal is handled")
            run.process.send_signal(signal.SIGINT)
            self.assertEqual(run.wait(), 130)
        finally:
            self.service.process.send_signal(signal.SIGCONT)
        self.service.post(f"/v1/jobs/{job}/cancel")
        self.service.wait(job)

    def test_interrupt_of_an_upload_submits_nothing(self):
        jobs = [job["id"] for job in self.service.get("/v1/jobs").json["jobs"]]
        large = self.folder / "large.mp4"
        with open(large, "wb") as file:
            file.truncate(4 << 30)
        with Proxy(self.service) as proxy:
            run = Running(proxy, "submit", large, "-o", "a.mp4", "--wait")
            self.addCleanup(run.kill)
            until(lambda: proxy.seen("^PUT /v1/uploads/"), "the upload has begun")
            run.process.send_signal(signal.SIGTERM)
            self.assertEqual(run.wait(), 130, run.error)
        self.assertEqual([job["id"] for job in self.service.get("/v1/jobs").json["jobs"]], jobs)
        until(lambda: "large-" not in self.service.get("/v1/uploads").body.decode(), "the upload is gone")

    # Broken connections

    def test_repeated_submission_makes_one_job(self):
        with Proxy(self.service) as proxy:
            proxy.rules = [
                Rule("^POST /v1/jobs$", after_answered=0),
                Rule(
                    "^POST /v1/jobs$",
                    answer=b"HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                ),
            ]
            done = vatoolbox(proxy, "submit", clip(), "-o", "a.mp4", *QUICK, "--label", "once=yes")
        self.assertEqual(done.returncode, 0, done.stderr)
        posts = proxy.seen("^POST /v1/jobs$")
        self.assertEqual(len(posts), 3)
        keys = {re.search("(?i)^idempotency-key: (.*)$", header, re.M)[1].strip() for _, header in posts}
        self.assertEqual(len(keys), 1)
        jobs = self.service.get("/v1/jobs?label=once:yes").json["jobs"]
        self.assertEqual([job["id"] for job in jobs], [done.stdout.strip()])

    def test_upload_is_sent_again_and_download_is_continued(self):
        with Proxy(self.service) as proxy:
            proxy.rules = [
                Rule("^PUT /v1/uploads/", after_sent=70_000),
                Rule("^GET /v1/jobs/.*/files/", after_answered=40_000),
                Rule("^GET /v1/jobs/.*/files/", after_answered=30_000),
                Rule("^GET /v1/jobs/.*/events", after_answered=200),
            ]
            done = vatoolbox(proxy, "submit", clip(), "-o", "a.mkv", *QUICK, "--download", self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(proxy.seen("^PUT /v1/uploads/")), 2)
        ranges = [re.search("(?i)^range: bytes=([0-9]+)-", header, re.M) for _, header in proxy.seen("/files/")]
        starts = [int(found[1]) if found else 0 for found in ranges]
        self.assertEqual(len(starts), 3)
        self.assertEqual(starts[0], 0)
        self.assertTrue(0 < starts[1] < starts[2], starts)
        file = self.service.job(done.stdout.strip())["outputs"][0]["files"][0]
        self.assertEqual(digest(self.folder / "a.mkv"), file["sha256"])
        self.assertEqual(os.listdir(self.folder), ["a.mkv"])

    def test_upload_whose_answer_is_lost_is_not_sent_twice(self):
        with Proxy(self.service) as proxy:
            proxy.rules = [Rule("^PUT /v1/uploads/", after_answered=0)]
            job = vatoolbox(proxy, "submit", clip(), "-o", "a.mp4", *QUICK)
        self.assertEqual(job.returncode, 0, job.stderr)
        names = {line.split("/")[-1] for line, _ in proxy.seen("^PUT /v1/uploads/")}
        self.assertEqual(len(names), 1)
        uploads = [upload["name"] for upload in self.service.get("/v1/uploads").json["uploads"]]
        self.assertEqual([name for name in uploads if name in names], list(names))

    # Other services

    def test_wrong_address_is_told_at_once(self):
        closed = socket.create_server(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        closed.close()
        for command in (["jobs"], ["status"], ["logs", "a" * 26], ["submit", clip(), "-o", "a.mp4"], ["drain"]):
            done = vatoolbox(None, *command, "--url", f"http://127.0.0.1:{port}")
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertRegex(done.stderr, f"error: the service at http://127.0.0.1:{port} cannot be reached: Connection refused")
            self.assertIn("vatoolbox: try: ", done.stderr)
        for url, message in [("nowhere", "no scheme"), ("http://user:secret@host", "a user or a password")]:
            done = vatoolbox(None, "jobs", "--url", url)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(message, done.stderr)
            self.assertNotIn("secret@", done.stderr)

    def test_another_program_is_recognised(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
        server.RequestHandlerClass.log_message = lambda *_: None
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        done = vatoolbox(None, "jobs", "--url", f"http://127.0.0.1:{server.server_port}")
        self.assertEqual(done.returncode, 1)
        self.assertIn("status 404 and is not one of the encoding service", done.stderr)
        mail = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(mail.close)

        def greet():
            connection, _ = mail.accept()
            connection.recv(1000)
            connection.sendall(b"220 mail.example ESMTP\r\n")
            connection.close()

        threading.Thread(target=greet, daemon=True).start()
        done = vatoolbox(None, "jobs", "--url", f"http://127.0.0.1:{mail.getsockname()[1]}")
        self.assertEqual(done.returncode, 1)
        self.assertIn("not HTTP", done.stderr)

    # jobs, logs, drain, status

    def test_table_of_jobs_fits_the_screen(self):
        job = self.submit(clip("a film with quite a long name, which does not fit.mp4"), "-o", "{name}.mkv", *QUICK, "--label", "t=1")
        self.service.wait(job)
        done = vatoolbox(self.service, "jobs", "--label", "t=1")
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 2, done.stdout)
        self.assertTrue(all(len(line) <= 80 for line in lines), done.stdout)
        self.assertRegex(lines[1], rf"^{job}  succeeded  100 %  \d+[smh] ")
        listed = json.loads(vatoolbox(self.service, "jobs", "list", "--label", "t=1", "--json").stdout)
        self.assertEqual([entry["id"] for entry in listed["jobs"]], [job])
        self.assertEqual(vatoolbox(self.service, "jobs", "--label", "t=none").stdout, "no jobs\n")
        self.assertEqual(len(vatoolbox(self.service, "jobs", "--limit", "1").stdout.splitlines()), 2)

    def test_jobs_are_shown_cancelled_retried_and_deleted(self):
        self.service.request("PUT", "/v1/queues/held", {"paused": True})
        job = self.submit(clip(), "-o", "a.mp4", *QUICK, "--queue", "held")
        shown = vatoolbox(self.service, "jobs", "show", job).stdout
        self.assertRegex(shown, r"(?m)^state +waiting$")
        self.assertRegex(shown, r"(?m)^waits +\S")
        self.assertEqual(json.loads(vatoolbox(self.service, "jobs", "show", job, "--json").stdout)["id"], job)
        self.assertEqual(vatoolbox(self.service, "jobs", "cancel", job).stdout, f"{job} cancelled\n")
        self.assertEqual(vatoolbox(self.service, "jobs", "retry", job).stdout, f"{job} waiting\n")
        refused = vatoolbox(self.service, "jobs", "delete", job, "a" * 26)
        self.assertEqual(refused.returncode, 1)
        self.assertEqual(len(re.findall("vatoolbox: error: ", refused.stderr)), 2, refused.stderr)
        vatoolbox(self.service, "jobs", "cancel", job)
        self.assertEqual(vatoolbox(self.service, "jobs", "delete", job).returncode, 0)
        self.assertEqual(self.service.get(f"/v1/jobs/{job}").status, 404)

    def test_drain_waits_and_resume_goes_on(self):
        with Service() as service:
            upload = service.upload(clip("some.mp4", seconds=8, size="640x360"))["id"]
            first = service.submit(upload, {"kind": "file", "name": "a.mp4", "video": {"preset": "slower", "codec": "h264"}})
            service.wait(first, "running")
            drained = vatoolbox(service, "drain", "--wait")
            self.assertEqual((drained.returncode, drained.stdout), (0, "0 running, 0 waiting, draining\n"))
            self.assertEqual(service.job(first)["state"], "succeeded")
            second = service.submit(upload)
            self.assertRegex(vatoolbox(service, "jobs", "show", second).stdout, r"(?m)^state +waiting$")
            self.assertIn("no task begins", vatoolbox(service, "status").stdout)
            self.assertEqual(vatoolbox(service, "resume").returncode, 0)
            self.assertEqual(service.wait(second)["state"], "succeeded")
            queue = vatoolbox(service, "drain", "default", "--wait")
            self.assertEqual(queue.stdout, "default: 0 running, 0 waiting, paused\n")
            self.assertEqual(vatoolbox(service, "resume", "default").stdout, "default: 0 running, 0 waiting\n")
            missing = vatoolbox(service, "drain", "missing")
            self.assertEqual(missing.returncode, 1)
            self.assertIn("no such queue", missing.stderr)

    def test_status_tells_the_node_the_devices_and_the_queues(self):
        text = vatoolbox(self.service, "status").stdout
        for name in ("service", "work", "disk", "memory", "CPU", "queue"):
            self.assertRegex(text, rf"(?m)^{name} +\S")
        status = json.loads(vatoolbox(self.service, "status", "--json").stdout)
        self.assertEqual(set(status), {"status", "capabilities", "queues"})
        if not any(device["usable"] for device in status["capabilities"]["devices"]):
            self.assertIn(status["capabilities"]["absence"]["cause"], text)


class KeyTests(unittest.TestCase):
    def test_keys_come_from_a_file_the_environment_or_standard_input(self):
        with Service("--access-token", "s3cret") as service:
            service.token = "s3cret"
            none = vatoolbox(service, "jobs")
            self.assertEqual(none.returncode, 1)
            self.assertRegex(none.stderr, "error: The request has no key")
            self.assertIn("vatoolbox: try: Give a key of the service.", none.stderr)
            wrong = vatoolbox(service, "jobs", environment={"VATOOLBOX_KEY": "wrong"})
            self.assertEqual(wrong.returncode, 1)
            self.assertIn("The key is not valid", wrong.stderr)
            file = service.folder / "key"
            file.write_text("s3cret\n")
            for arguments, more in [
                (["--key-file", file], {}), (["--key-file", "-"], {"input": "s3cret\n"}), (["--key", "s3cret"], {}),
                ([], {"environment": {"VATOOLBOX_KEY": "s3cret"}}),
            ]:
                done = vatoolbox(service, "jobs", *arguments, **more)
                self.assertEqual((done.returncode, done.stdout), (0, "no jobs\n"), done.stderr)
            missing = vatoolbox(service, "jobs", "--key-file", service.folder / "none")
            self.assertEqual(missing.returncode, 2, missing.stderr)
            self.assertIn("cannot be read", missing.stderr)
            self.assertEqual(service.post("/v1/keys", {"name": "first", "scopes": ["admin"]}).status, 201)
            limited = service.post("/v1/keys", {"name": "reader", "scopes": ["jobs:read"]}).json["secret"]
            refused = vatoolbox(service, "drain", environment={"VATOOLBOX_KEY": limited})
            self.assertEqual(refused.returncode, 1)
            self.assertIn("allowed: admin", refused.stderr)


class PlaceTests(unittest.TestCase):
    def test_input_below_a_media_root_is_not_uploaded(self):
        with tempfile.TemporaryDirectory() as folder, Service("--media-roots", f"films={folder}") as service:
            shutil.copy(clip(), pathlib.Path(folder) / "film.mp4")
            made = pathlib.Path(folder) / "made"
            done = vatoolbox(
                service, "submit", "--input-path", "films/film.mp4", "-o", "{name}.mkv", *QUICK, "--download", made
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(len(frame_hashes(made / "film.mkv")), 50)
            self.assertEqual(service.get("/v1/uploads").json["uploads"], [])
            outside = vatoolbox(service, "submit", "--input-path", "films/none.mp4", "-o", "a.mp4")
            self.assertEqual(outside.returncode, 1, outside.stderr)
            self.assertIn("none.mp4", outside.stderr)

    def test_upload_that_is_refused_while_it_is_sent_says_why(self):
        with tempfile.TemporaryDirectory() as folder, Service("--uploads-limit", "100000") as service:
            large = pathlib.Path(folder) / "large.mp4"
            for size in (100_001, 200 << 20):
                with open(large, "wb") as file:
                    file.truncate(size)
                done = vatoolbox(service, "submit", large, "-o", "a.mp4")
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertRegex(done.stderr, "vatoolbox: error: .*allowed: .*100000")

    def test_certificate_of_an_own_authority(self):
        with tempfile.TemporaryDirectory() as folder:
            certificate, key = f"{folder}/certificate.pem", f"{folder}/key.pem"
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                 "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", certificate],
                check=True, capture_output=True,
            )
            with Service("--tls-certificate", certificate, "--tls-key", key) as service:
                url = f"https://localhost:{service.port}"
                options = ["--url", url, "--ca-file", certificate]
                made = pathlib.Path(folder) / "made"
                done = vatoolbox(None, "submit", clip(), "-o", "a.mkv", *QUICK, "--download", made, *options)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(len(frame_hashes(made / "a.mkv")), 50)
                logged = vatoolbox(None, "logs", done.stdout.strip(), "--follow", *options)
                self.assertIn("attempt 1: ", logged.stdout)
                unknown = vatoolbox(None, "jobs", "--url", url)
                self.assertEqual(unknown.returncode, 1)
                self.assertIn("certificate is trusted", unknown.stderr)


class RestartTests(unittest.TestCase):
    def test_waiting_and_following_survive_a_crash_of_the_service(self):
        with Service() as service, tempfile.TemporaryDirectory() as folder:
            source = clip("restart.mp4", seconds=10, size="640x360", sound=False)
            options = ["--codec", "h264", "--preset", "slower", "--download", folder]
            run = Running(service, "submit", source, "-o", "r.mkv", *options)
            self.addCleanup(run.kill)
            job = run.first_line()
            logs = Running(service, "logs", job, "--follow")
            self.addCleanup(logs.kill)
            until(lambda: "attempt 1: " in logs.text(), "the log is followed")
            self.assertEqual(service.job(job)["state"], "running")
            port = service.port
            service.kill()
            service.start(port)
            self.assertEqual(service.port, port)
            self.assertEqual(run.wait(), 0, run.error)
            self.assertEqual(logs.wait(), 0, logs.error)
            state = service.job(job)
            self.assertEqual(state["state"], "succeeded")
            self.assertGreater(len(state["attempts"]), 1)
            self.assertEqual(logs.text(), service.get(f"/v1/jobs/{job}/log").body.decode())
            self.assertEqual(len(frame_hashes(pathlib.Path(folder) / "r.mkv")), 250)
            self.assertEqual(digest(pathlib.Path(folder) / "r.mkv"), state["outputs"][0]["files"][0]["sha256"])


if __name__ == "__main__":
    unittest.main()
