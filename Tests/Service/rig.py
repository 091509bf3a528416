# SPDX-License-Identifier: GPL-2.0-or-later
"""A service under test: the built program in a folder of its own, and clips that ffmpeg makes."""

import base64
import hashlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
#: How long anything may take on a slow machine. Nothing passes because of it.
PATIENCE = 120


def programs():
    """The folder of the built programs."""
    folder = os.environ.get("VATOOLBOX_PROGRAMS")
    if folder:
        return pathlib.Path(folder)
    shown = subprocess.run(["swift", "build", "--show-bin-path"], cwd=ROOT, check=True, capture_output=True, text=True)
    return pathlib.Path(shown.stdout.strip())


PROGRAMS = programs()
CLIPS = pathlib.Path(tempfile.mkdtemp(prefix="clips-"))


def clip(name="clip.mp4", seconds=2, size="320x180", rate=25, more=(), sound=True):
    """The path of a clip, which is made once."""
    path = CLIPS / name
    if not path.exists():
        sources = ["-f", "lavfi", "-i", f"testsrc2=size={size}:rate={rate}:duration={seconds}"]
        if sound:
            sources += ["-f", "lavfi", "-i", f"sine=frequency=440:duration={seconds}", "-c:a", "aac"]
        command = ["ffmpeg", "-v", "error", "-y", *sources, "-c:v", "libx264", "-preset", "ultrafast", *more, str(path)]
        subprocess.run(command, check=True)
    return path


def remove_clips():
    shutil.rmtree(CLIPS, ignore_errors=True)


def probe(path):
    """What ffprobe tells of a file."""
    command = ["ffprobe", "-v", "error", "-count_frames", "-show_format", "-show_streams", "-of", "json", str(path)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def frame_hashes(path):
    """The hash of each decoded picture."""
    command = ["ffmpeg", "-v", "error", "-xerror", "-i", str(path), "-map", "0:v", "-f", "framemd5", "-"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [line.split(",")[-1].strip() for line in text.splitlines() if not line.startswith("#")]


def until(condition, what):
    """Waits for a condition, and returns its value."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"it did not happen in {PATIENCE} s: {what}")


def drivers():
    """The folder of the test drivers, which are built."""
    subprocess.run([ROOT / "Tests/Drivers/build"], check=True, stdout=sys.stderr)
    return ROOT / ".build/drivers"


def reference_gpus(folder, nodes):
    """The environment of a service in a folder that has GPUs of the reference driver, such as `128=generic`.

    Their files lie where tasks may write."""
    built, state = drivers(), pathlib.Path(folder) / "data/state"
    state.mkdir(parents=True)
    return {
        "TMPDIR": str(state), "LD_PRELOAD": f"{built}/librender_node.so", "RENDER_NODES": nodes,
        "LIBVA_DRIVERS_PATH": str(built), "LIBVA_DRIVER_NAME": "libref",
        "REFERENCE_DRIVER_LIMITS": "decode=h264,hevc", "REFERENCE_DRIVER_EFFORT": "truthful",
    }


# Whoever this is.
USER = 12345


def without_rights(folder):
    """What comes before a command that is to run as a user without rights, who owns the folder."""
    if os.geteuid() != 0:
        return []
    for path in [folder, *pathlib.Path(folder).rglob("*")]:
        os.chown(path, USER, USER)
    return ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]


class Answer:
    """An answer of the service."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"<{self.status} {self.body[:500]!r}>"


class Service:
    """A running service with its own data."""

    def __init__(self, *flags, environment=None, folder=None, start=True, prefix=()):
        self.owns_folder = folder is None
        self.folder = pathlib.Path(folder or tempfile.mkdtemp(prefix="service-"))
        self.data = self.folder / "data"
        self.flags = list(flags)
        self.environment = environment or {}
        self.prefix = prefix
        self.process = None
        self.lines = []
        self.token = None
        if start:
            self.start()

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is not None:
            print("".join(self.lines[-40:]))
        self.close()

    def start(self, port=0):
        url = self.launch("serve", r"listening url=(\S+)", "--listen-port", str(port))
        address = urllib.parse.urlsplit(url)
        self.host, self.port = address.hostname, address.port
        return self

    def launch(self, name, pattern, *flags):
        """Starts the program with a subcommand, and returns what its log says by which it is ready."""
        environment = dict(os.environ, **self.environment)
        program = [*self.prefix, str(PROGRAMS / "vatoolbox"), name]
        command = [*program, "--data", str(self.data), *flags, *self.flags]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
        begin = len(self.lines)
        reader = threading.Thread(target=self._read, args=(self.process,), daemon=True)
        reader.start()

        def ready():
            for line in self.lines[begin:]:
                found = re.search(pattern, line)
                if found:
                    return found.group(1)
            if self.process.poll() is not None:
                raise AssertionError("the service has ended: " + "".join(self.lines[begin:]))
            return None

        return until(ready, "the service is ready")

    def work(self):
        """What attempts have in the folder, of all nodes."""
        return list((self.data / "work").glob("*/*"))

    def _read(self, process):
        with process.stderr:
            for line in process.stderr:
                self.lines.append(line)

    @property
    def url(self):
        return f"http://{self.host}:{self.port}"

    def stop(self):
        """Ends it as its manager does, and returns its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=PATIENCE)

    def kill(self):
        self.process.kill()
        self.process.wait(timeout=PATIENCE)

    def close(self):
        if self.process and self.process.poll() is None:
            self.kill()
        if self.owns_folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    # Requests

    def request(self, method, path, body=None, headers=None, raw=False):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)
        headers = dict(headers or {})
        if self.token:
            headers.setdefault("Authorization", f"Bearer {self.token}")
        if body is not None and not raw and not isinstance(body, (bytes, str)) and not hasattr(body, "read"):
            body = json.dumps(body)
            headers.setdefault("Content-Type", "application/json")
        try:
            connection.request(method, path, body, headers, encode_chunked="Transfer-Encoding" in headers)
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    def get(self, path, **headers):
        return self.request("GET", path, headers=headers)

    def post(self, path, body=None, **headers):
        return self.request("POST", path, body, headers)

    def upload(self, path, name=None):
        with open(path, "rb") as file:
            answer = self.request("PUT", f"/v1/uploads/{urllib.parse.quote(name or pathlib.Path(path).name)}", file)
        assert answer.status == 201, answer
        return answer.json

    def submit(self, source, *outputs, **more):
        """Submits a job for an upload, or for any other input."""
        source = source if isinstance(source, dict) else {"upload": source}
        answer = self.post("/v1/jobs", {"input": source, "outputs": list(outputs) or [file_output()], **more})
        assert answer.status == 201, answer
        return answer.json["id"]

    def job(self, job):
        answer = self.get(f"/v1/jobs/{job}")
        assert answer.status == 200, answer
        return answer.json

    def wait(self, job, *states):
        """Waits until a job is in one of some states, or has ended, and returns it."""
        states = states or ("succeeded", "failed", "cancelled")

        def reached():
            found = self.job(job)
            return found if found["state"] in states else None

        return until(reached, f"job {job} is {states}")

    def file(self, job, path):
        """Downloads a result into a file, and returns its path."""
        answer = self.get(f"/v1/jobs/{job}/files/{path}")
        assert answer.status == 200, answer
        target = self.folder / f"{job}-{path.replace('/', '-')}"
        target.write_bytes(answer.body)
        return target

    # What is left

    def children(self):
        """The processes that the service has started, by their command lines."""
        found = {}
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if str(self.data) in line and int(entry.name) != self.process.pid:
                found[int(entry.name)] = line
        return found


def file_output(name="out.mp4", **video):
    """An output that is encoded quickly."""
    return {"kind": "file", "name": name, "video": {"quality": 30, "preset": "ultrafast", "codec": "h264", **video}}


def slow_output(name="slow.mp4"):
    """An output that takes long."""
    return {"kind": "file", "name": name, "video": {"quality": 18, "preset": "placebo", "codec": "hevc"}}


def digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def digest_header(data):
    return "sha-256=:" + base64.b64encode(hashlib.sha256(data).digest()).decode() + ":"
