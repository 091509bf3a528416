# SPDX-License-Identifier: GPL-2.0-or-later
"""How many tasks run at a time, by how busy the machine is. What the kernel tells of that is pretended."""

import datetime
import pathlib
import tempfile
import threading
import time
import unittest

from rig import Service, clip, drivers, file_output, reference_gpus, slow_output, until, without_rights

GPU = "/dev/dri/renderD128"


class Machine:
    """Says how busy processors and an engine of a GPU are, as shares."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(exist_ok=True)
        self.processors, self.engine, self.address = 0, None, None
        self._worked, self._all, self._engine = 0.0, 0.0, 0.0
        self._ends = threading.Event()
        self._write(0)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def environment(self):
        return {"LD_PRELOAD": f"{drivers()}/libpretended_proc.so", "PRETENDED_PROC": str(self.folder)}

    def close(self):
        self._ends.set()
        self._thread.join()

    def _run(self):
        last = time.monotonic()
        while not self._ends.wait(0.1):
            now = time.monotonic()
            self._write(now - last)
            last = now

    def _write(self, seconds):
        self._worked += self.processors * seconds
        self._all += seconds
        worked, idle = round(self._worked * 1e4), round((self._all - self._worked) * 1e4)
        self._replace("stat", "".join(f"cpu{number} {worked} 0 0 {idle} 0 0 0 0 0 0\n" for number in range(256)))
        if self.engine is not None:
            self._engine += self.engine * seconds
            self._replace("fdinfo", f"drm-driver:\ti915\ndrm-client-id:\t7\ndrm-pdev:\t{self.address}\n"
                          f"drm-engine-video:\t{round(self._engine * 1e9)} ns\n")

    def _replace(self, name, text):
        new = self.folder / f"{name}.new"
        new.write_text(text)
        new.replace(self.folder / name)


class AdmissionTests(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="service-")
        self.machine = Machine(pathlib.Path(self.folder) / "proc")

    def service(self, *flags, environment):
        """A service of a user without rights: then the kernel shows it nothing of helpers, as in containers."""
        service = Service("--disk-reserve", "0", *flags, folder=self.folder, environment=environment,
                          prefix=without_rights(self.folder))
        service.owns_folder = True
        self.addCleanup(service.close)
        self.addCleanup(self.machine.close)
        return service

    def state(self, service, job):
        return service.job(job)["state"]

    def has_worked(self, service, job, seconds):
        """Whether a task has told of its progress so long after it began."""
        job = service.job(job)
        told = job.get("progress", {}).get("updatedAt")
        begin = datetime.datetime.fromisoformat(job["attempts"][0]["startedAt"])
        return told and (datetime.datetime.fromisoformat(told) - begin).total_seconds() >= seconds

    def test_more_tasks_begin_while_processors_have_time(self):
        service = self.service(environment=self.machine.environment)
        count = service.get("/v1/status").json["processors"]["count"]
        least = max(int(count / 2), 1)
        upload = service.upload(clip("admission-long.mp4", seconds=60, size="640x360"))["id"]
        self.machine.processors = 1
        until(lambda: service.get("/v1/status").json["processors"].get("busy", 0) > 0.99, "it is measured")
        jobs = [service.submit(upload, slow_output(f"{number}.mp4"), device="software") for number in range(least + 2)]
        until(lambda: [self.state(service, job) for job in jobs].count("running") == least, "some begin in any case")
        # They are part of the load after five seconds.
        until(lambda: self.has_worked(service, jobs[0], 7), "the first is part of the load")
        self.assertEqual([self.state(service, job) for job in jobs].count("running"), least)
        self.assertIn(service.job(jobs[least])["waiting"]["reason"], ["no-worker", "behind"])
        self.machine.processors = 0.3
        until(lambda: all(self.state(service, job) == "running" for job in jobs), "all run")
        status = service.get("/v1/status").json
        self.assertAlmostEqual(status["processors"]["busy"], 0.3, delta=0.05)
        self.assertEqual(status["engines"], [])
        begins = sorted(attempt["startedAt"] for job in jobs for attempt in service.job(job)["attempts"])
        self.assertEqual(len(begins), least + 2)
        metrics = service.get("/metrics").body.decode()
        self.assertRegex(metrics, r"\nvatoolbox_processors_busy_ratio 0\.\d+\n")

    def test_number_of_the_settings_is_not_exceeded(self):
        service = self.service("--workers-count", "1", environment=self.machine.environment)
        upload = service.upload(clip("admission-long.mp4", seconds=60, size="640x360"))["id"]
        jobs = [service.submit(upload, slow_output(f"{number}.mp4"), device="software") for number in range(2)]
        until(lambda: self.state(service, jobs[0]) == "running", "the first begins")
        until(lambda: self.has_worked(service, jobs[0], 7), "the first is part of the load")
        self.assertEqual(self.state(service, jobs[1]), "waiting")

    def test_tasks_wait_while_the_engines_of_the_GPU_are_busy(self):
        environment = reference_gpus(self.folder, "128=generic")
        mine = self.machine.environment
        environment |= mine | {"LD_PRELOAD": mine["LD_PRELOAD"] + ":" + environment["LD_PRELOAD"]}
        service = self.service(environment=environment)

        def device():
            devices = service.get("/v1/capabilities").json["devices"]
            return devices[0] if devices and devices[0]["usable"] else None

        self.machine.address = until(device, "the GPU is known")["pciAddress"]
        long = service.upload(clip("admission-gpu.mp4", seconds=60, size="160x96"))["id"]
        short = service.upload(clip("admission-short.mp4", seconds=1, size="160x96"))["id"]
        self.machine.processors, self.machine.engine = 0.1, 1
        first = service.submit(long, file_output("first.mp4"))
        until(lambda: service.job(first).get("progress", {}).get("time"), "something is encoded")
        until(lambda: [(engine["node"], engine["name"]) for engine in service.get("/v1/status").json["engines"]
                       if engine["busy"] > 0.99] == [(GPU, "video")], "its engine is measured")
        metrics = service.get("/metrics").body.decode()
        self.assertIn(f'\nvatoolbox_engine_busy_ratio{{node="{GPU}",engine="video"}} ', metrics)

        second = service.submit(short, file_output("second.mp4"))
        other = service.submit(short, file_output("other.mp4"), device="software")
        until(lambda: service.get(f"/v1/jobs/{second}/waiting").json.get("reason") == "devices-busy", "it says why")
        # The CPU has time.
        self.assertEqual(service.wait(other)["state"], "succeeded")
        self.assertEqual(self.state(service, first), "running")
        self.assertEqual(self.state(service, second), "waiting")

        self.machine.engine = 0.2
        ended = service.wait(second)
        self.assertEqual((ended["state"], ended["outputs"][0]["encoder"]["device"]), ("succeeded", GPU), ended)
        self.assertEqual(self.state(service, first), "running")
        self.assertEqual(service.post(f"/v1/jobs/{first}/cancel").status, 200)
        service.wait(first)


if __name__ == "__main__":
    unittest.main()
