# SPDX-License-Identifier: GPL-2.0-or-later
"""Services with several GPUs, of the reference driver: which ones tasks use, and after a loss."""

import os
import signal
import tempfile
import unittest

import chaos
from rig import Service, clip, file_output, probe, reference_gpus, until

NODES = ["/dev/dri/renderD128", "/dev/dri/renderD129"]


class DeviceTests(unittest.TestCase):
    def service(self, *flags):
        """A service with two GPUs that has looked at them."""
        folder = tempfile.mkdtemp(prefix="service-")
        service = Service("--disk-reserve", "0", *flags, folder=folder,
                          environment=reference_gpus(folder, "128=generic,129=generic"))
        service.owns_folder = True
        self.addCleanup(service.close)

        def usable():
            return [device["node"] for device in service.get("/v1/capabilities").json["devices"] if device["usable"]]

        until(lambda: usable() == NODES, "the GPUs are known")
        return service

    def lose(self, service, job):
        """Kills the process of a task that has encoded something. Returns its attempt."""
        until(lambda: service.job(job).get("progress", {}).get("time"), "something is encoded")
        number = len(service.job(job)["attempts"])
        os.kill(until(lambda: chaos.workers(service.data), "a process encodes")[0], signal.SIGKILL)
        until(lambda: service.job(job)["attempts"][number - 1].get("outcome"), "the attempt has ended")
        return service.job(job)["attempts"][number - 1]

    def test_task_that_is_lost_on_a_GPU_goes_to_the_next_and_then_to_the_CPU(self):
        service = self.service("--workers-count", "1")
        upload = service.upload(clip("devices-long.mp4", seconds=30))["id"]
        job = service.submit(upload, file_output(), attempts=3)
        for _ in NODES:
            self.assertEqual(self.lose(service, job)["failure"]["code"], "worker-killed")
        ended = service.wait(job)
        self.assertEqual(ended["state"], "succeeded", ended)
        self.assertNotIn("device", ended["outputs"][0]["encoder"])
        log = service.get(f"/v1/jobs/{job}/log").body.decode()
        commands = [line for line in log.splitlines() if "vatoolbox encode" in line]
        self.assertEqual(len(commands), 3, log)
        self.assertIn("--device=auto --spread", commands[0])
        first = [node for node in NODES if f"--device={node}" in commands[1]]
        self.assertEqual(len(first), 1, commands[1])
        self.assertIn("--device=software", commands[2])

    def test_task_that_is_lost_on_a_GPU_goes_to_the_CPU_if_it_is_to(self):
        service = self.service("--workers-count", "1")
        upload = service.upload(clip("devices-long.mp4", seconds=30))["id"]
        job = service.submit(upload, file_output(), afterLoss="software")
        self.lose(service, job)
        ended = service.wait(job)
        self.assertEqual(ended["state"], "succeeded", ended)
        self.assertNotIn("device", ended["outputs"][0]["encoder"])

    def test_tasks_are_spread_over_GPUs_and_beyond_their_sessions_use_the_CPU(self):
        service = self.service("--workers-count", "3", "--devices-sessions", "1")
        upload = service.upload(clip("devices.mp4", seconds=5, size="160x96"))["id"]
        # The first one tries both GPUs, so that the others find that done.
        for node in NODES:
            service.wait(service.submit(upload, file_output("first.mp4"), device=node))
        jobs = [service.submit(upload, file_output(f"{number}.mp4")) for number in range(3)]
        used = []
        for job in jobs:
            ended = service.wait(job)
            self.assertEqual(ended["state"], "succeeded", ended)
            used.append(ended["outputs"][0]["encoder"].get("device", "CPU"))
            path = service.file(job, ended["outputs"][0]["name"])
            self.assertEqual(probe(path)["streams"][0]["nb_read_frames"], "125")
        self.assertEqual(sorted(used), NODES + ["CPU"])
