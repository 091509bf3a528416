# SPDX-License-Identifier: GPL-2.0-or-later
"""What the service does when it is killed, frozen, ended, or has no disk."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

import chaos
from rig import PATIENCE, PROGRAMS, Service, clip, digest, file_output, probe, slow_output, until


def outcomes(job):
    return [attempt.get("outcome") for attempt in job["attempts"]]


def minute():
    """A clip that takes some seconds to encode."""
    return clip("minute.mp4", seconds=30, size="320x180")


class KillTests(unittest.TestCase):
    def test_jobs_survive_kills_of_the_service(self):
        with Service("--workers-count", "2", "--disk-reserve", "0") as service:
            trial = chaos.Chaos(service, jobs=8, seed="service")
            self.assertEqual(trial.run(chaos.kill_service, 5), [])
            self.assertTrue(trial.events)

    def test_jobs_survive_kills_of_their_processes(self):
        with Service("--workers-count", "2", "--disk-reserve", "0") as service:
            trial = chaos.Chaos(service, jobs=8, seed="worker", attempts=10)
            self.assertEqual(trial.run(chaos.kill_worker, 6), [])
            self.assertTrue(trial.events)

    def test_what_was_not_put_in_its_place_is_removed(self):
        with Service("--disk-reserve", "0") as service:
            upload = service.upload(clip())["id"]
            service.kill()
            left = [service.data / name for name in ("keys.json.new", "presets/a.json.new", "watches/a.json.new",
                                                     f"uploads/{upload}/info.json.new")]
            for path in left:
                path.write_text("{")
            service.start()
            self.assertEqual([path for path in left if path.exists()], [])
            self.assertEqual(service.wait(service.submit(upload))["state"], "succeeded")

    def test_processes_end_with_the_service(self):
        with Service("--workers-count", "2", "--disk-reserve", "0") as service:
            service.submit(service.upload(minute())["id"], slow_output())
            until(lambda: chaos.workers(service.data), "a process encodes")
            service.kill()
            until(lambda: not chaos.processes(service.data), "no process is left")

    def test_task_goes_on_at_once_on_a_node_of_another_name(self):
        """A container has another host name with each start."""
        if os.geteuid() != 0:
            self.skipTest("only root can name a machine")

        def named(name):
            return ["unshare", "--uts", "sh", "-c", f'hostname {name} && exec "$@"', "sh"]

        with Service("--disk-reserve", "0", "--store-lease", "3600", prefix=named("first")) as service:
            job = service.submit(service.upload(minute())["id"], file_output())
            until(lambda: chaos.workers(service.data), "a process encodes")
            service.kill()
            service.prefix = named("second")
            service.start()
            ended = service.wait(job)
            self.assertEqual(outcomes(ended), ["released", "succeeded"])
            self.assertEqual([item["worker"].split("/")[0] for item in ended["attempts"]], ["first", "second"])

    def test_upload_that_a_kill_has_broken_off_can_be_sent_again(self):
        with Service("--disk-reserve", "0") as service:
            connection = socket.create_connection((service.host, service.port))
            head = f"PUT /v1/uploads/a.mp4 HTTP/1.1\r\nHost: localhost:{service.port}\r\nContent-Length: 999999\r\n\r\n"
            connection.sendall(head.encode() + b"x" * 1000)
            until(lambda: list((service.data / "uploads").iterdir()), "the upload has begun")
            service.kill()
            connection.close()
            service.start()
            self.assertEqual(list((service.data / "uploads").iterdir()), [])
            self.assertEqual(service.get("/v1/uploads/a.mp4").status, 404)
            self.assertEqual(service.upload(clip(), "a.mp4")["sha256"], digest(clip()))

    def test_files_of_deleted_jobs_are_removed_at_the_next_start(self):
        with Service("--disk-reserve", "0") as service:
            service.kill()
            gone = "0" * 26
            (service.data / "results" / gone / "0").mkdir(parents=True)
            (service.data / "results" / gone / "0" / "out.mp4").write_bytes(b"x")
            (service.data / "logs" / f"{gone}.log").write_text("x")
            (service.data / "work" / "node" / "17").mkdir(parents=True)
            (service.data / "work" / "node" / "17" / "out.mp4").write_bytes(b"x")
            service.start()
            self.assertEqual(chaos.leftovers(service), [])


class FreezeTests(unittest.TestCase):
    def test_frozen_service_keeps_its_tasks(self):
        flags = ["--disk-reserve", "0", "--store-lease", "1", "--workers-stall-timeout", "2"]
        with Service(*flags) as service:
            job = service.submit(service.upload(minute())["id"], file_output())
            until(lambda: chaos.workers(service.data), "a process encodes")
            service.process.send_signal(signal.SIGSTOP)
            # Until its leases have ended, and the time without progress.
            time.sleep(3)
            service.process.send_signal(signal.SIGCONT)
            ended = service.wait(job)
            self.assertEqual(outcomes(ended), ["succeeded"], ended["attempts"])
            self.assertEqual(probe(service.file(job, "out.mp4"))["streams"][0]["nb_read_frames"], "750")

    def test_frozen_worker_is_ended_and_its_task_repeated(self):
        with Service("--disk-reserve", "0", "--workers-stall-timeout", "2") as service:
            job = service.submit(service.upload(minute())["id"], file_output())
            frozen = until(lambda: chaos.workers(service.data), "a process encodes")[0]
            os.kill(frozen, signal.SIGSTOP)
            ended = service.wait(job)
            self.assertEqual(outcomes(ended), ["failed", "succeeded"], ended["attempts"])
            self.assertEqual(ended["attempts"][0]["failure"]["code"], "stalled")
            self.assertFalse(pathlib.Path(f"/proc/{frozen}").exists())


class EndTests(unittest.TestCase):
    def drain(self, number):
        with Service("--disk-reserve", "0", "--workers-count", "1") as service:
            upload = service.upload(minute())["id"]
            first, second = service.submit(upload, file_output()), service.submit(upload, file_output())
            until(lambda: chaos.workers(service.data), "a process encodes")
            service.process.send_signal(number)
            until(lambda: service.get("/readyz").status == 503, "the service drains")
            self.assertEqual(service.process.wait(timeout=PATIENCE), 0)
            self.assertEqual(chaos.processes(service.data), {})
            self.assertTrue((service.data / "jobs.sqlite.backup").exists())
            service.start()
            one = service.job(first)
            self.assertEqual((one["state"], outcomes(one)), ("succeeded", ["succeeded"]))
            two = service.wait(second)
            self.assertEqual((two["state"], outcomes(two)), ("succeeded", ["succeeded"]))
            # The names of workers have the number of the service's process.
            self.assertNotEqual(one["attempts"][0]["worker"], two["attempts"][0]["worker"])
            self.assertEqual(chaos.leftovers(service), [])

    def test_SIGTERM_lets_tasks_end_and_begins_no_other(self):
        self.drain(signal.SIGTERM)

    def test_SIGINT_lets_tasks_end_and_begins_no_other(self):
        self.drain(signal.SIGINT)

    def test_second_signal_gives_tasks_back_at_once(self):
        with Service("--disk-reserve", "0") as service:
            job = service.submit(service.upload(clip("long.mp4", seconds=60, size="640x360"))["id"], slow_output())
            until(lambda: chaos.workers(service.data), "a process encodes")
            service.process.send_signal(signal.SIGTERM)
            until(lambda: service.get("/readyz").status == 503, "the service drains")
            service.process.send_signal(signal.SIGINT)
            self.assertEqual(service.process.wait(timeout=PATIENCE), 0)
            self.assertEqual(chaos.processes(service.data), {})
            self.assertEqual(service.work(), [])
            service.start()
            until(lambda: len(service.job(job)["attempts"]) == 2, "the task is tried again")
            self.assertEqual(outcomes(service.job(job)), ["released", None])
            service.post(f"/v1/jobs/{job}/cancel")
            service.wait(job, "cancelled")

    def test_end_of_the_drain_time_gives_tasks_back(self):
        with Service("--disk-reserve", "0", "--drain-timeout", "0.5") as service:
            job = service.submit(service.upload(clip("long.mp4", seconds=60, size="640x360"))["id"], slow_output())
            until(lambda: chaos.workers(service.data), "a process encodes")
            self.assertEqual(service.stop(), 0)
            self.assertEqual(chaos.processes(service.data), {})
            service.start()
            until(lambda: len(service.job(job)["attempts"]) == 2, "the task is tried again")

    def test_stream_of_events_ends_with_the_service(self):
        with Service("--disk-reserve", "0") as service:
            with socket.create_connection((service.host, service.port), timeout=PATIENCE) as watcher:
                head = f"GET /v1/events HTTP/1.1\r\nHost: localhost:{service.port}\r\nAccept: text/event-stream\r\n\r\n"
                watcher.sendall(head.encode())
                self.assertIn(b"200", watcher.recv(100))
                self.assertEqual(service.stop(), 0)


class StoreTests(unittest.TestCase):
    def serve(self, data):
        command = [PROGRAMS / "vatoolbox", "serve", "--data", data, "--listen-port", "0"]
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)

    def test_second_service_says_that_the_store_is_open(self):
        with Service("--disk-reserve", "0") as service:
            second = self.serve(service.data)
            self.assertEqual(second.returncode, 1, second)
            self.assertIn("another process has the job store open", second.stderr)
            self.assertEqual(service.get("/readyz").status, 200)

    def test_damaged_store_goes_back_to_its_backup_and_says_so(self):
        with Service("--disk-reserve", "0", "--store-backup-interval", "1") as service:
            upload = service.upload(clip())["id"]
            kept = service.wait(service.submit(upload))["id"]
            self.assertEqual(service.stop(), 0)
            backup = (service.data / "jobs.sqlite.backup").read_bytes()
            service.start()
            lost = service.wait(service.submit(upload))["id"]
            service.kill()
            # The backup of a time before the second job.
            (service.data / "jobs.sqlite.backup").write_bytes(backup)
            store = service.data / "jobs.sqlite"
            store.write_bytes(b"\x5a" * store.stat().st_size)
            for ending in ("-wal", "-shm"):
                pathlib.Path(f"{store}{ending}").unlink(missing_ok=True)
            service.start()
            said = [line for line in service.lines if "has gone back to its last backup" in line]
            self.assertEqual(len(said), 1, service.lines)
            self.assertEqual(service.job(kept)["state"], "succeeded")
            sha256 = service.job(kept)["outputs"][0]["files"][0]["sha256"]
            self.assertEqual(digest(service.file(kept, "out.mp4")), sha256)
            self.assertEqual(service.get(f"/v1/jobs/{lost}").status, 404)
            # What was published is not lost with its job.
            self.assertTrue((service.data / "unknown" / lost / "results/0/out.mp4").exists())
            self.assertEqual(service.wait(service.submit(upload))["state"], "succeeded")
            service.kill()
            service.start()
            self.assertTrue((service.data / "unknown" / lost / "results/0/out.mp4").exists())

    def test_damaged_store_without_a_backup_is_an_error(self):
        with Service("--disk-reserve", "0") as service:
            service.kill()
            (service.data / "jobs.sqlite").write_bytes(b"\x5a" * 65536)
            for ending in ("-wal", "-shm"):
                (service.data / f"jobs.sqlite{ending}").unlink(missing_ok=True)
            second = self.serve(service.data)
            self.assertEqual(second.returncode, 1, second)
            self.assertIn("job store", second.stderr)
            # Nothing of it is thrown away.
            self.assertEqual((service.data / "jobs.sqlite").stat().st_size, 65536)


class DiskTests(unittest.TestCase):
    """A disk of its own, which is small."""

    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest("only root can mount a file system")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="disk-"))
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "none", self.folder], capture_output=True)
        if mounted.returncode != 0:
            self.folder.rmdir()
            self.skipTest(f"no file system can be mounted: {mounted.stderr.decode()}")
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.addCleanup(subprocess.run, ["umount", "-l", self.folder], check=True)

    def fill(self, leave):
        """Takes space until so much is left, and returns the file that has it."""
        ballast = self.folder / "ballast"
        status = os.statvfs(self.folder)
        with open(ballast, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, status.f_bavail * status.f_frsize - leave)
        return ballast

    def test_full_disk_refuses_uploads_and_lets_jobs_wait(self):
        with Service("--disk-reserve", "4M", folder=self.folder) as service:
            upload = service.upload(clip())["id"]
            ballast = self.fill(2 << 20)
            refused = service.request("PUT", "/v1/uploads/more.mp4", b"x")
            self.assertEqual((refused.status, refused.json["code"]), (507, "insufficient-storage"))
            job = service.submit(upload)
            until(lambda: service.get(f"/v1/jobs/{job}/waiting").json.get("reason") == "disk-full", "the job says why")
            self.assertEqual(service.job(job)["waiting"]["reason"], "disk-full")
            self.assertEqual(service.get("/readyz").status, 503)
            self.assertTrue(service.get("/v1/status").json["disk"]["low"])
            self.assertEqual(service.job(job)["attempts"], [])
            ballast.unlink()
            self.assertEqual(service.wait(job)["state"], "succeeded")
            until(lambda: service.get("/readyz").status == 200, "it is ready again")
            self.assertEqual(chaos.leftovers(service), [])

    def test_upload_that_fills_the_disk_is_refused_and_leaves_nothing(self):
        with Service("--disk-reserve", "0", folder=self.folder) as service:
            def chunks():
                for _ in range(400):
                    yield b"x" * 100_000

            try:
                answer = service.request("PUT", "/v1/uploads/big", chunks(), {"Transfer-Encoding": "chunked"}, raw=True)
                self.assertEqual((answer.status, answer.json["code"]), (507, "insufficient-storage"))
            except (BrokenPipeError, ConnectionResetError):
                pass  # The service need not read what it has refused.
            until(lambda: not list((service.data / "uploads").iterdir()), "nothing is left of it")
            self.assertEqual(service.get("/v1/uploads").json["uploads"], [])
            self.assertEqual(service.upload(clip())["complete"], True)

    def test_file_that_grows_stays_in_fragments_where_a_copy_has_no_room(self):
        with Service("--disk-reserve", "0", folder=self.folder) as service:
            job = service.submit(service.upload(clip())["id"], file_output("a.mp4") | {"preview": True})
            ended = service.wait(job)
            self.assertEqual(ended["state"], "succeeded", ended)
            self.assertIn("too little space for a second copy", str(ended["warnings"]))
            path = service.file(job, "a.mp4")
            self.assertIn(b"moof", path.read_bytes())
            self.assertEqual(probe(path)["streams"][0]["nb_read_frames"], "50")
            self.assertEqual(chaos.leftovers(service), [])

    def test_job_that_fills_the_disk_goes_on_when_there_is_space(self):
        with Service("--disk-reserve", "64K", folder=self.folder) as service:
            upload = service.upload(minute())["id"]
            ballast = self.fill(1 << 20)
            # Pictures of which the disk holds only the first few.
            job = service.submit(upload, file_output("big.mkv", quality=0))
            until(lambda: "disk-full" in str(service.job(job).get("waiting")), "the job waits for space")
            found = service.job(job)
            self.assertEqual((found["state"], set(outcomes(found))), ("waiting", {"released"}), found)
            self.assertEqual(service.work(), [])
            ballast.unlink()
            ended = service.wait(job)
            self.assertEqual(ended["state"], "succeeded", ended)
            self.assertEqual(probe(service.file(job, "big.mkv"))["streams"][0]["nb_read_frames"], "750")
            self.assertEqual(chaos.leftovers(service), [])


class MemoryTests(unittest.TestCase):
    def test_without_memory_one_task_runs_at_a_time(self):
        with Service("--disk-reserve", "0", "--memory-reserve", "1000T", "--workers-count", "2") as service:
            service.upload(clip())
            service.upload(clip("half-a-minute.mp4", seconds=30))
            first = service.submit("half-a-minute.mp4", slow_output())
            service.wait(first, "running")
            second = service.submit("clip.mp4")
            until(lambda: service.get(f"/v1/jobs/{second}/waiting").json.get("reason") == "memory-short",
                  "the job says why it waits")
            self.assertEqual(service.get("/v1/status").json["running"], 1)
            service.post(f"/v1/jobs/{first}/cancel")
            self.assertEqual(service.wait(second)["state"], "succeeded", "one may always run")
            self.assertTrue(any("memory is short" in line for line in service.lines))


if __name__ == "__main__":
    unittest.main()
