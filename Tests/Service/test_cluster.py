# SPDX-License-Identifier: GPL-2.0-or-later
"""One service on several nodes: jobs in PostgreSQL, one folder of data, workers that come, are killed and wait."""

import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import chaos
from rig import PATIENCE, PROGRAMS, Service, clip, digest, file_output, probe, slow_output, until


def server_programs():
    """The folder of PostgreSQL's programs."""
    named = os.environ.get("VATOOLBOX_POSTGRESQL")
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    return pathlib.Path(named) if named else found[-1] if found else None


class Server:
    """A PostgreSQL server in a folder of its own, reachable by a socket there."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="postgresql-", dir="/tmp")
        self.user = []
        if os.geteuid() == 0:
            # It refuses to run as root.
            account = pwd.getpwnam("postgres")
            os.chown(self.folder, account.pw_uid, account.pw_gid)
            self.user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        self.run("initdb", "-D", f"{self.folder}/data", "-U", "vatoolbox", "-A", "trust", "--no-sync", "-E", "UTF8")
        self.start()

    #: What must never be shown.
    secret = "xyzzy-password"

    @property
    def location(self):
        return f"host={self.folder} user=vatoolbox dbname=postgres password={self.secret}"

    def run(self, program, *arguments):
        command = [*self.user, server_programs() / program, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True, cwd=self.folder)

    def query(self, sql):
        return self.run("psql", "-h", self.folder, "-U", "vatoolbox", "-d", "postgres", "-Atc", sql).stdout.strip()

    def start(self):
        # The server outlives the command that starts it.
        options = f"-c listen_addresses= -c unix_socket_directories={self.folder} -c fsync=off"
        command = [*self.user, server_programs() / "pg_ctl", "-D", f"{self.folder}/data", "-l", f"{self.folder}/log",
                   "-w", "-o", options, "start"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=self.folder)

    def stop(self):
        """Ends it as a crash would."""
        self.run("pg_ctl", "-D", f"{self.folder}/data", "-m", "immediate", "stop")

    def close(self):
        if (pathlib.Path(self.folder) / "data/postmaster.pid").exists():
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


class Worker(Service):
    """A running worker."""

    def start(self):
        self.launch("worker", r"the worker takes tasks node=(\S+)")
        return self


def node(attempt):
    return attempt["worker"].split("/")[0]


def cluster(*arguments, location=None):
    environment = dict(os.environ, **({"VATOOLBOX_SERVICE_STORE_LOCATION": location} if location else {}))
    command = [PROGRAMS / "vatoolbox", "cluster", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, env=environment)


@unittest.skipUnless(server_programs(), "PostgreSQL is not installed")
class ClusterTests(unittest.TestCase):
    flags = ("--disk-reserve", "0", "--workers-count", "1", "--workers-nice", "0")

    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.close)
        migrated = cluster("migrate", location=self.server.location)
        self.assertEqual(migrated.returncode, 0, migrated)
        self.folder = tempfile.mkdtemp(prefix="cluster-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.nodes = []

    def tearDown(self):
        for member in self.nodes:
            self.assertNotIn(self.server.secret, "".join(member.lines))

    def member(self, kind, name, *flags):
        environment = {"VATOOLBOX_SERVICE_STORE_LOCATION": self.server.location}
        started = kind(*self.flags, "--store-node", name, *flags, environment=environment, folder=self.folder)
        self.addCleanup(started.close)
        self.nodes.append(started)
        return started

    def api(self, *flags):
        """The node that serves the API, and does no task itself."""
        service = self.member(Service, "api", *flags)
        self.assertEqual(service.post("/v1/drain").status, 200)
        return service

    def refused(self, command, name, location=None):
        environment = dict(os.environ, VATOOLBOX_SERVICE_STORE_LOCATION=location or self.server.location)
        line = [PROGRAMS / "vatoolbox", command, "--data", f"{self.folder}/data", "--store-node", name]
        line += ["--listen-port", "0"]
        return subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE, env=environment)

    # What nodes do

    def test_workers_share_the_jobs(self):
        service = self.api()
        workers = [self.member(Worker, name) for name in ("a", "b")]
        upload = service.upload(clip("shared.mp4", seconds=6))["id"]
        jobs = [service.submit(upload, file_output(preset="medium")) for _ in range(10)]
        ended = [service.wait(job) for job in jobs]
        self.assertEqual([job["state"] for job in ended], ["succeeded"] * 10, ended)
        attempts = [attempt for job in ended for attempt in job["attempts"]]
        self.assertEqual(len(attempts), 10)
        self.assertEqual({node(attempt) for attempt in attempts}, {"a", "b"})
        for job in ended:
            path = service.file(job["id"], "out.mp4")
            self.assertEqual(digest(path), job["outputs"][0]["files"][0]["sha256"])
        self.assertEqual(probe(path)["streams"][0]["nb_read_frames"], "150")
        self.assertEqual(chaos.leftovers(service), [])
        found = cluster("doctor", location=self.server.location)
        self.assertIn("a/", found.stdout)
        # This server does not write to the disk.
        self.assertIn("fsync is off", found.stdout)
        self.assertEqual(found.returncode, 1, found)
        for worker in workers:
            self.assertEqual(worker.stop(), 0)

    def test_worker_finishes_what_it_does_and_gives_back_at_the_second_signal(self):
        service = self.api()
        worker = self.member(Worker, "a")
        upload = service.upload(clip("minute.mp4", seconds=30))["id"]
        first = service.submit(upload)
        until(lambda: chaos.workers(service.data), "a process encodes")
        second = service.submit(upload, slow_output())
        self.assertEqual(worker.stop(), 0)
        self.assertEqual(service.wait(first)["state"], "succeeded")
        waits = service.job(second)
        self.assertEqual((waits["attempts"], waits["waiting"]["reason"]), ([], "no-worker"))
        worker.start()
        until(lambda: chaos.workers(service.data), "a process encodes")
        worker.process.send_signal(signal.SIGTERM)
        until(lambda: any("ends when its tasks have ended" in line for line in worker.lines[-5:]), "it drains")
        worker.process.send_signal(signal.SIGTERM)
        self.assertEqual(worker.process.wait(timeout=PATIENCE), 0)
        self.assertEqual([attempt["outcome"] for attempt in service.job(second)["attempts"]], ["released"])

    def test_preview_of_a_task_on_another_node(self):
        service = self.api()
        self.member(Worker, "a")
        job = service.submit(service.upload(clip("minute.mp4", seconds=30))["id"], file_output("a.mkv", preset="slow"))
        until(lambda: service.get(f"/v1/jobs/{job}/preview/a.mkv").status == 200, "it can be played")
        service.post(f"/v1/jobs/{job}/cancel")
        self.assertEqual(service.wait(job)["state"], "cancelled")

    def parted(self, **video):
        return {**file_output(preset="veryslow", **video), "parts": 3}

    def test_workers_share_one_file(self):
        service = self.api()
        for name in ("a", "b"):
            self.member(Worker, name)
        # Chunks of about 30 s.
        job = service.submit(service.upload(clip("long.mp4", seconds=120, rate=10, size="160x90"))["id"], self.parted(quality=30))
        ended = service.wait(job)
        self.assertEqual(ended["state"], "succeeded", ended)
        attempts = ended["attempts"]
        self.assertEqual([attempt["outcome"] for attempt in attempts], ["succeeded"] * 4)
        self.assertEqual({node(attempt) for attempt in attempts[:3]}, {"a", "b"})
        chunks = ended["outputs"][0]["result"]["chunks"]
        self.assertGreaterEqual(chunks["count"], 3)
        self.assertEqual((chunks["reused"], chunks["repeated"]), (chunks["count"], 0))
        path = service.file(job, "out.mp4")
        self.assertEqual(probe(path)["streams"][0]["nb_read_frames"], "1200")
        self.assertEqual(ended["outputs"][0]["verification"]["frames"], 1200)
        self.assertEqual(chaos.leftovers(service), [])
        until(lambda: not os.listdir(f"{service.data}/chunks"), "nobody needs the chunks")

    def test_part_of_a_killed_worker_goes_to_another_node(self):
        service = self.api()
        workers = {name: self.member(Worker, name) for name in ("a", "b")}
        job = service.submit(service.upload(clip("long.mp4", seconds=120, rate=10, size="160x90"))["id"], self.parted(quality=30))

        def chunks():
            return list(pathlib.Path(service.data).glob(f"chunks/{job}/0-*/[0-9]*.txt"))

        until(chunks, "there is a chunk")
        lost = node(service.job(job)["attempts"][0])
        workers.pop(lost).kill()
        ended = service.wait(job)
        self.assertEqual(ended["state"], "succeeded", ended)
        self.assertIn("lost", [attempt["outcome"] for attempt in ended["attempts"]])
        self.assertEqual(probe(service.file(job, "out.mp4"))["streams"][0]["nb_read_frames"], "1200")
        until(lambda: not os.listdir(f"{service.data}/chunks"), "nobody needs the chunks")

    # What happens to them

    def test_task_of_a_killed_worker_goes_to_another_node(self):
        service = self.api()
        workers = {name: self.member(Worker, name) for name in ("a", "b")}
        job = service.submit(service.upload(clip("minute.mp4", seconds=30))["id"], file_output(preset="medium"))
        running = until(lambda: service.job(job)["attempts"], "a worker has it")[0]
        until(lambda: chaos.workers(service.data), "a process encodes")
        lost = node(running)
        begin = time.monotonic()
        workers.pop(lost).kill()
        until(lambda: len(service.job(job)["attempts"]) == 2, "another worker has it")
        # The lease, the upkeep, and a slow machine.
        self.assertLess(time.monotonic() - begin, 15 + 10)
        ended = service.wait(job)
        self.assertEqual(ended["state"], "succeeded", ended)
        self.assertEqual([attempt["outcome"] for attempt in ended["attempts"]], ["lost", "succeeded"])
        self.assertEqual([node(attempt) for attempt in ended["attempts"]], [lost, *workers])
        # What the killed one has left is removed when it comes back.
        self.member(Worker, lost)
        self.assertEqual(chaos.leftovers(service), [])

    def test_worker_that_comes_back_gets_no_task_of_others_back(self):
        service = self.api()
        workers = {name: self.member(Worker, name) for name in ("a", "b")}
        upload = service.upload(clip("minute.mp4", seconds=30))["id"]
        jobs = [service.submit(upload, file_output(preset="medium")) for _ in range(2)]
        until(lambda: len(chaos.workers(service.data)) == 2, "two processes encode")
        workers["a"].kill()
        workers["a"].start()
        ended = [service.wait(job) for job in jobs]
        self.assertEqual([job["state"] for job in ended], ["succeeded"] * 2, ended)
        outcomes = {node(job["attempts"][0]): [attempt["outcome"] for attempt in job["attempts"]] for job in ended}
        self.assertEqual(outcomes, {"a": ["released", "succeeded"], "b": ["succeeded"]})

    def test_encoding_goes_on_while_the_database_is_away(self):
        service = self.api()
        worker = self.member(Worker, "a")
        job = service.submit(service.upload(clip("minute.mp4", seconds=30))["id"])
        until(lambda: chaos.workers(service.data), "a process encodes")
        self.server.stop()
        until(lambda: any("waits for the job store" in line for line in worker.lines), "it has encoded all")
        self.assertEqual(service.get("/healthz").status, 200)
        self.assertEqual(service.get(f"/v1/jobs/{job}").status, 503)
        # For longer than a lease.
        time.sleep(20)
        self.server.start()
        ended = service.wait(job)
        self.assertEqual(ended["state"], "succeeded", ended)
        self.assertEqual([attempt["outcome"] for attempt in ended["attempts"]], ["succeeded"])
        self.assertEqual(chaos.leftovers(service), [])

    def test_attempt_in_doubt_of_a_node_that_is_gone_is_settled(self):
        service = self.api("--store-lease", "2")
        worker = self.member(Worker, "a", "--store-lease", "2")
        job = service.submit(service.upload(clip("minute.mp4", seconds=30))["id"], file_output(preset="slow"))
        until(lambda: chaos.workers(service.data), "a process encodes")
        worker.kill()
        # As if it had ended between the intent and the result.
        self.server.query("UPDATE vatoolbox.leases SET result = '{}', intent = '{}'")
        self.member(Worker, "b", "--store-lease", "2")
        ended = service.wait(job)
        self.assertEqual(ended["state"], "succeeded", ended)
        self.assertEqual([node(attempt) for attempt in ended["attempts"]], ["a", "b"])

    # Who may be a node

    def test_second_process_of_a_name_and_second_api_are_refused(self):
        self.api()
        self.member(Worker, "a")
        second = self.refused("worker", "a")
        self.assertEqual(second.returncode, 2, second)
        self.assertIn("another process is the node a", second.stderr)
        second = self.refused("serve", "other")
        self.assertEqual(second.returncode, 2, second)
        self.assertIn("another process is serving the API", second.stderr)
        self.assertEqual(self.refused("worker", "a/b").returncode, 2)

    def test_folder_that_is_not_mounted_is_refused(self):
        self.api()
        folder = self.folder
        self.folder = f"{folder}/elsewhere"
        os.makedirs(f"{self.folder}/data")
        refused = self.refused("worker", "a")
        self.folder = folder
        self.assertEqual(refused.returncode, 2, refused)
        self.assertIn("the folder is not the one in which the other nodes", refused.stderr)
        self.assertIn(f"{folder}/elsewhere/data", refused.stderr)

    def test_worker_needs_no_token_at_an_address_that_others_can_reach(self):
        self.api()
        worker = self.member(Worker, "a", "--listen-host", "0.0.0.0")
        self.assertEqual(worker.stop(), 0)

    def test_worker_needs_a_database_that_is_prepared(self):
        command = [PROGRAMS / "vatoolbox", "worker", "--data", f"{self.folder}/data"]
        alone = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(alone.returncode, 2, alone)
        self.assertIn("store.location", alone.stderr)
        self.server.query("CREATE DATABASE empty")
        location = self.server.location.replace("dbname=postgres", "dbname=empty")
        empty = self.refused("worker", "a", location)
        self.assertEqual(empty.returncode, 1, empty)
        self.assertIn("vatoolbox cluster migrate", empty.stderr)
        found = cluster("doctor", location=location)
        self.assertEqual(found.returncode, 1, found)
        self.assertIn("run vatoolbox cluster migrate", found.stdout)
        for malformed in (f"postgres//u:{self.server.secret}@h/d", f"password={self.server.secret} x"):
            answer = self.refused("worker", "a", malformed)
            self.assertEqual(answer.returncode, 2, answer)
            self.assertNotIn(self.server.secret, answer.stderr + answer.stdout)


if __name__ == "__main__":
    unittest.main()
