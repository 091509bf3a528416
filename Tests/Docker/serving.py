# SPDX-License-Identifier: GPL-2.0-or-later
"""What holds when the image serves: with a read-only root, without a network, as the user of the image."""

import contextlib
import json
import os
import shutil
import subprocess
import threading

from cases import hold
from containers import FRAMES, NODE, decoded_frames
from runner.waiting import wait_until

TOKEN = "a secret of the test"
#: Sends its standard input to the service of its container, where no HTTP client is.
CONNECT = "exec 3<>/dev/tcp/127.0.0.1/8080; cat >&3; cat <&3"


class Served:
    """A container that serves, with a folder for its data."""

    def __init__(self, containers, data, more=()):
        self.containers = containers
        options = [f"--volume={data}:/var/lib/vatoolbox", f"--env=VATOOLBOX_SERVICE_ACCESS_TOKEN={TOKEN}",
                   "--env=VATOOLBOX_SERVICE_MEDIA_ROOTS=work=/work", "--env=VATOOLBOX_SERVICE_LOG_FORMAT=json",
                   "--hostname=vatoolbox", *more]
        self.process, self.name = containers.start("serve", options=options)
        self.log = []
        self.reader = threading.Thread(target=lambda: self.log.extend(self.process.stderr))
        self.reader.start()

    def execute(self, *words, data=None):
        """Runs a program of the image in the container."""
        command = self.containers.engine.podman("exec", "--interactive", self.name, *words)
        return subprocess.run(command, env=self.containers.engine.environment, input=data, capture_output=True)

    def is_healthy(self):
        return self.execute("vatoolbox-service", "healthy").returncode == 0

    def ask(self, method, path, body=None):
        """The status and the value of an answer."""
        data = json.dumps(body).encode() if body is not None else b""
        head = (f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {TOKEN}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n")
        ended = self.execute("bash", "-c", CONNECT, data=head.encode() + data)
        first, _, answer = ended.stdout.partition(b"\r\n\r\n")
        hold(first.startswith(b"HTTP/1.1 ") and b"ransfer-encoding" not in first.lower(), ended)
        return int(first.split()[1]), json.loads(answer)

    def end(self):
        """Ends it by SIGTERM; returns its exit status."""
        self.containers.kill(self.name, "TERM")
        return self.process.wait(timeout=120)

    def close(self):
        self.containers.kill(self.name, "KILL")
        self.process.wait()
        self.reader.join()


@contextlib.contextmanager
def data_folder(containers, owner=1000):
    data = containers.engine.folder / "data"
    data.mkdir(mode=0o700)
    os.chown(data, owner, owner)
    try:
        yield data
    finally:
        shutil.rmtree(data)


def encode(served, containers, data):
    """Encodes the clip; returns the job, whose result has all frames."""
    hold(wait_until(served.is_healthy), "it is not healthy", served.log)
    status, job = served.ask("POST", "/v1/jobs", {
        "input": {"path": f"work/{containers.clip}"},
        "outputs": [{"kind": "file", "name": "out.mp4", "video": {"codec": "h264", "preset": "ultrafast"}}]})
    hold(status == 201, status, job)
    place = f"/v1/jobs/{job['id']}"
    hold(wait_until(lambda: served.ask("GET", place)[1]["state"] in ("succeeded", "failed")), job)
    _, job = served.ask("GET", place)
    hold(job["state"] == "succeeded", job, served.log)
    frames = decoded_frames(["-i", str(data / "results" / job["id"] / "0" / "out.mp4")])
    hold(frames == FRAMES, f"decoded: {frames}")
    return job


def serves(containers):
    """a job is done and its result whole; health; the log is JSON; SIGTERM; the data outlive a container"""
    with data_folder(containers) as data:
        served = Served(containers, data)
        try:
            job = encode(served, containers, data)
            hold(job["outputs"][0]["encoder"]["name"].startswith("x264"), job["outputs"])
            hold(served.end() == 0, f"status {served.process.returncode}", served.log)
        finally:
            served.close()
        lines = [json.loads(line) for line in served.log]
        hold(any(line["message"] == "listening" for line in lines), lines)
        again = Served(containers, data)
        try:
            hold(wait_until(again.is_healthy), "it is not healthy", again.log)
            status, kept = again.ask("GET", f"/v1/jobs/{job['id']}")
            hold(status == 200 and kept["state"] == "succeeded", kept)
            hold(again.end() == 0, f"status {again.process.returncode}", again.log)
        finally:
            again.close()
    hold(not containers.leftovers(), containers.leftovers())


def serves_with_a_gpu(containers):
    """a job is encoded on the GPU that the container is given, which the API names"""
    with data_folder(containers) as data:
        # The device files of the simulated GPU are in the only folder that each task may write to.
        (data / "state").mkdir(mode=0o700)
        os.chown(data / "state", 1000, 1000)
        served = Served(containers, data, containers.fake_gpu(TMPDIR="/var/lib/vatoolbox/state"))
        try:
            job = encode(served, containers, data)
            encoder = job["outputs"][0]["encoder"]
            hold(encoder.get("device") == NODE, encoder, served.log)
            _, known = served.ask("GET", "/v1/capabilities")
            hold([one["node"] for one in known["devices"] if one["usable"]] == [NODE], known)
            hold(served.end() == 0, f"status {served.process.returncode}", served.log)
        finally:
            served.close()


def token_needed(containers):
    """without a token, the service says what it needs, and does not start"""
    ended = containers.run("serve")
    hold(ended.status == 2 and "access.token" in ended.errors and len(ended.lines) == 1, ended)


def other_user(containers):
    """a user that the image does not know serves from a folder of their own"""
    with data_folder(containers, owner=12345) as data:
        options = [f"--volume={data}:/var/lib/vatoolbox", f"--env=VATOOLBOX_SERVICE_ACCESS_TOKEN={TOKEN}"]
        process, name = containers.start("serve", options=options, variables={"VATOOLBOX_USER": "12345:12345"})
        try:
            hold(wait_until(lambda: (data / "jobs.sqlite").exists()), "it has no job store")
            hold((data / "jobs.sqlite").stat().st_uid == 12345, "somebody else owns the job store")
        finally:
            containers.kill(name, "KILL")
            process.communicate()


CASES = [serves, serves_with_a_gpu, token_needed, other_user]
