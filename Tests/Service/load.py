# SPDX-License-Identifier: GPL-2.0-or-later
"""Many clients at one service: 200 jobs of three shares and 8 streams at a time, and what that costs.

Claims are counted, results are downloaded and their frames counted. Times are measured and compared with aims; how long
anything takes here says as much about the machine."""

import concurrent.futures
import csv
import datetime
import http.client
import json
import multiprocessing
import os
import pathlib
import statistics
import subprocess
import threading
import time

from rig import PATIENCE, PROGRAMS, Service, clip, digest, file_output, probe

RATE = 25
#: Weights of the shares.
WEIGHTS = {"one": 1, "two": 2, "four": 4}
CLIENTS, STREAMS = 20, 8
#: How far the claims of a share may be from its weight.
TOLERANCE = 0.1
#: What the memory of the service may grow by, from the first third of the load to the last.
GROWTH, GROWTH_BYTES = 1.25, 16 << 20
TICKS = os.sysconf("SC_CLK_TCK")


def seconds_since_1970(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def percentile(values, part):
    """The value that so large a part of the values does not exceed."""
    return sorted(values)[min(int(len(values) * part), len(values) - 1)] if values else float("nan")


class Recorder:
    """Rows of a table, which several threads add, as a CSV file at the end."""

    def __init__(self, *columns):
        self.columns, self.rows, self.lock = columns, [], threading.Lock()

    def add(self, *row):
        with self.lock:
            self.rows.append(row)

    def write(self, path):
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(self.columns)
            writer.writerows(self.rows)


def call(host, port, connection):
    """Sends the requests of 20 clients that look every other second, over one connection.

    It is a process of its own: the threads of this one wait for each other. Gets the jobs over `connection`, and
    sends what it has measured when it gets `None`."""
    client, jobs, rows = http.client.HTTPConnection(host, port, timeout=60), [], []
    while True:
        if connection.poll(0.1):
            jobs = connection.recv()
            if jobs is None:
                connection.send(rows)
                return
        paths = {"list of jobs": "/v1/jobs?limit=50", "capabilities": "/v1/capabilities", "status": "/v1/status"}
        if jobs:
            paths["job"] = f"/v1/jobs/{jobs[len(rows) * 7 % len(jobs)]}"
        name = sorted(paths)[len(rows) % len(paths)]
        begin = time.monotonic()
        client.request("GET", paths[name])
        answer = client.getresponse()
        answer.read()
        rows.append((time.time(), name, answer.status, (time.monotonic() - begin) * 1000))


class Caller:
    """The process that calls."""

    def __init__(self, service):
        self.connection, other = multiprocessing.Pipe()
        context = multiprocessing.get_context("spawn")
        self.process = context.Process(target=call, args=(service.host, service.port, other), daemon=True)
        self.process.start()
        other.close()

    def tell(self, jobs):
        self.connection.send(jobs)

    def end(self):
        """Returns the rows."""
        try:
            self.connection.send(None)
            return self.connection.recv()
        except (EOFError, OSError) as error:
            raise AssertionError(f"the caller has ended with {self.process.exitcode}") from error
        finally:
            self.process.join()


class Observer:
    """Threads that watch a service until they are ended."""

    def __init__(self, service):
        self.service, self.ended, self.threads = service, threading.Event(), []
        self.caller = Caller(service)
        self.events = Recorder("arrived", "number", "type", "job", "time", "data")
        self.calls = Recorder("time", "operation", "status", "milliseconds")
        self.memory = Recorder("time", "resident_bytes", "threads", "open_files")
        self.ages = Recorder("time", "job", "seconds")
        self.failures = []

    def __enter__(self):
        for work in (self.follow, self.weigh, self.watch_progress):
            thread = threading.Thread(target=self.guard, args=(work,), daemon=True)
            thread.start()
            self.threads.append(thread)
        return self

    def __exit__(self, kind, error, trace):
        self.ended.set()
        for thread in self.threads:
            thread.join()
        for row in self.caller.end():
            self.calls.add(*row)

    def guard(self, work):
        try:
            work()
        except Exception as error:
            self.failures.append(f"{work.__name__}: {error!r}")

    def connect(self):
        return http.client.HTTPConnection(self.service.host, self.service.port, timeout=60)

    def follow(self):
        """Reads the stream of events."""
        connection = self.connect()
        connection.request("GET", "/v1/events?after=0", headers={"Accept": "text/event-stream"})
        answer = connection.getresponse()
        while not self.ended.is_set():
            line = answer.readline()
            if not line:
                raise ConnectionError("the stream of events has ended")
            if line.startswith(b"data: "):
                event = json.loads(line[len(b"data: "):])
                self.events.add(time.time(), event["number"], event["type"], event["job"], event["time"],
                                json.dumps(event["data"]))
        connection.close()

    def weigh(self):
        """Measures the memory of the service."""
        place = pathlib.Path(f"/proc/{self.service.process.pid}")
        while not self.ended.wait(0.5):
            status = dict(line.split(":", 1) for line in (place / "status").read_text().splitlines())
            self.memory.add(time.time(), int(status["VmRSS"].split()[0]) << 10, int(status["Threads"]),
                            len(list((place / "fd").iterdir())))

    def watch_progress(self):
        """Asks what runs, and how old its progress is."""
        connection = self.connect()
        while not self.ended.wait(0.5):
            connection.request("GET", "/v1/jobs?state=running&limit=20")
            answer = connection.getresponse()
            now, jobs = time.time(), json.loads(answer.read())["jobs"]
            for job in jobs:
                if "progress" in job and job["progress"]["phase"] != "publishing":
                    self.ages.add(now, job["id"], now - seconds_since_1970(job["progress"]["updatedAt"]))
        connection.close()


def processor_seconds(pid):
    """The processor time of a process, and that of its children that have ended."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    own, children = int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14])
    return own / TICKS, children / TICKS


class Load:
    """One run. `findings` are what was wrong."""

    def __init__(self, jobs, streams_each, seconds=10, size="640x360"):
        self.count, self.streams_each, self.seconds_each, self.size = jobs, streams_each, seconds, size
        self.findings, self.shares, self.digests = [], {}, {}

    def run(self, folder):
        """Returns the aims as (what, aim, measured, whether it is met), and puts raw data into a folder."""
        film = {"seconds": self.seconds_each, "size": self.size, "rate": RATE}
        source = clip(f"load-{self.seconds_each}-{self.size}.mp4", **film)
        live = clip(f"load-{self.seconds_each}-{self.size}.ts", **film)
        with Service("--workers-count", "2", "--streams-count", str(STREAMS), "--disk-reserve", "0") as service:
            service.request("PUT", "/v1/queues/load", {"paused": True, "weights": WEIGHTS})
            upload = service.upload(source)["id"]
            # The first task of a service finds its programs not in memory.
            service.wait(service.submit(upload))
            processors = processor_seconds(service.process.pid)
            with Observer(service) as observer:
                begin = time.monotonic()
                jobs = self.submit(service, upload)
                observer.caller.tell(jobs)
                service.post("/v1/queues/load/resume")
                streams = self.stream(service, live)
                self.wait_for_the_end(service, observer)
                for one in streams:
                    self.findings += one.result()
                self.seconds = time.monotonic() - begin
            self.findings += observer.failures
            ended = processor_seconds(service.process.pid)
            own, children = (after - before for after, before in zip(ended, processors))
            self.check_results(service, jobs)
            self.check_streams(service)
            self.write(folder, observer)
            self.check_shares(observer)
            self.check_memory(observer)
            return self.aims(observer, own, children)

    # The load

    def submit(self, service, upload):
        """Submits the jobs of all clients while their queue is paused; returns their IDs."""
        whole = sum(WEIGHTS.values())
        # So many of each share that all have work until the end.
        shares = [share for number in range(self.count // whole + 1) for share, weight in WEIGHTS.items()
                  for _ in range(weight)][:self.count]

        def work(client):
            return [(service.submit(upload, self.output(number), queue="load", share=shares[number],
                                    labels={"client": str(client)}), shares[number])
                    for number in range(client, self.count, CLIENTS)]

        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            for made in pool.map(work, range(CLIENTS)):
                self.shares.update(made)
        return list(self.shares)

    @staticmethod
    def output(number):
        return file_output(f"film-{number}.mp4", preset="veryfast")

    def stream(self, service, source):
        """Sends streams, so many at a time, one after another; returns what will have failed in each row of them."""
        def work(row):
            found = []
            for number in range(self.streams_each):
                target = self.stream_file(service, row, number)
                command = ["curl", "-sS", "--fail-with-body", "--max-time", "600", "-X", "POST", "-T", str(source),
                           f"{service.url}/v1/encode?codec=h264&format=ts", "-o", str(target)]
                done = subprocess.run(command, capture_output=True, text=True)
                if done.returncode != 0:
                    found.append(f"stream {row}.{number}: {done.stderr}")
            return found

        pool = concurrent.futures.ThreadPoolExecutor(STREAMS)
        rows = [pool.submit(work, row) for row in range(STREAMS)]
        pool.shutdown(wait=False)
        return rows

    @staticmethod
    def stream_file(service, row, number):
        return service.folder / f"stream-{row}-{number}.ts"

    @staticmethod
    def wait_for_the_end(service, observer):
        """Waits as long as jobs end, without asking so often that it is a load of its own."""
        left, ended = float("inf"), time.monotonic()
        while left:
            queue = service.get("/v1/queues/load").json
            now = queue["waiting"] + queue["running"]
            if now < left:
                left, ended = now, time.monotonic()
            elif time.monotonic() - ended > PATIENCE:
                raise AssertionError(f"no job has ended in {PATIENCE} s, {left} are left")
            observer.ended.wait(0.5)

    # What came of it

    @staticmethod
    def frames(path):
        video = [stream for stream in probe(path)["streams"] if stream["codec_type"] == "video"]
        return int(video[0]["nb_read_frames"]) if video else 0

    def check_results(self, service, jobs):
        for identifier in jobs:
            job = service.job(identifier)
            if job["state"] != "succeeded":
                self.findings.append(f"job {identifier} is {job['state']}: {job.get('failure')}")
                continue
            file = job["outputs"][0]["files"][0]
            path = service.file(identifier, file["path"])
            if digest(path) != file["sha256"]:
                self.findings.append(f"job {identifier}: the digest of {file['path']} differs")
            if (frames := self.frames(path)) != self.seconds_each * RATE:
                self.findings.append(f"job {identifier}: {frames} frames")
            path.unlink()

    def check_streams(self, service):
        for row in range(STREAMS):
            for number in range(self.streams_each):
                target = self.stream_file(service, row, number)
                if target.exists() and (frames := self.frames(target)) != self.seconds_each * RATE:
                    self.findings.append(f"stream {row}.{number}: {frames} frames")

    def check_shares(self, observer):
        """Of the claims while all shares have tasks, each share has the part of its weight."""
        claims = [self.shares[job] for _, _, kind, job, _, _ in observer.events.rows
                  if kind == "attempt-started" and job in self.shares]
        left = {share: list(self.shares.values()).count(share) for share in WEIGHTS}
        counted = dict.fromkeys(WEIGHTS, 0)
        for share in claims:
            if not all(left.values()):
                break
            left[share] -= 1
            counted[share] += 1
        self.counted, whole = counted, sum(counted.values())
        if whole < self.count / 2:
            self.findings.append(f"only {whole} claims while all shares had tasks: {counted}")
        for share, weight in WEIGHTS.items():
            expected = whole * weight / sum(WEIGHTS.values())
            if abs(counted[share] - expected) > max(expected * TOLERANCE, 1):
                self.findings.append(f"share {share}: {counted[share]} of {whole} claims, {expected:.1f} by its weight")

    def check_memory(self, observer):
        sizes = [row[1] for row in observer.memory.rows]
        third = len(sizes) // 3
        if not third:
            self.findings.append("the memory was not measured")
            return
        self.first, self.last = statistics.median(sizes[:third]), statistics.median(sizes[-third:])
        if self.last > self.first * GROWTH + GROWTH_BYTES:
            self.findings.append(f"the service grows from {self.first / 2**20:.0f} to {self.last / 2**20:.0f} MiB")

    # What it costs

    def aims(self, observer, own, children):
        rows = []
        for name in ("job", "list of jobs", "capabilities", "status"):
            times = [row[3] for row in observer.calls.rows if row[1] == name]
            self.findings += [f"{name}: status {row[2]}" for row in observer.calls.rows
                              if row[1] == name and row[2] != 200]
            high = percentile(times, 0.99)
            measured = f"{high:.1f} ms (median {percentile(times, 0.5):.1f}, of {len(times)})"
            rows.append((f"p99 of GET {name}", "≤ 50 ms", measured, high <= 50))
        first = self.times_to_first_frame(observer)
        high = percentile(first, 0.95)
        rows.append(("p95 from claim to first frames", "≤ 1 s",
                     f"{high:.2f} s (median {percentile(first, 0.5):.2f}, of {len(first)})", high <= 1))
        ages = [row[2] for row in observer.ages.rows]
        high = percentile(ages, 0.99)
        rows.append(("p99 of the age of progress", "≤ 1 s",
                     f"{high:.2f} s (median {percentile(ages, 0.5):.2f}, of {len(ages)})", high <= 1))
        part = own / children if children else float("inf")
        rows.append(("processor time of the service, of that of its tasks", "≤ 2 %",
                     f"{part * 100:.1f} % ({own:.1f} s of {children:.1f} s)", part <= 0.02))
        return rows

    def times_to_first_frame(self, observer):
        """From each claim to the first progress that has seconds of the output, by the service's clock."""
        claimed, times = {}, []
        for _, _, kind, job, moment, data in observer.events.rows:
            if kind == "attempt-started" and job in self.shares:
                claimed[job] = seconds_since_1970(moment)
            elif kind == "progress" and job in claimed and json.loads(data).get("time", 0) > 0:
                times.append(seconds_since_1970(moment) - claimed.pop(job))
        return times

    def write(self, folder, observer):
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("events", "calls", "memory", "ages"):
            getattr(observer, name).write(folder / f"{name}.csv")

    def __str__(self):
        claims = ", ".join(f"{share} {count}" for share, count in self.counted.items())
        return (f"{self.count} jobs of {CLIENTS} clients, {STREAMS * self.streams_each} streams, {STREAMS} at a time, "
                f"in {self.seconds:.0f} s; claims {claims} (weights {':'.join(map(str, WEIGHTS.values()))}); memory "
                f"{self.first / 2**20:.0f}, then {self.last / 2**20:.0f} MiB")


def report(rows):
    """Prints the aims as a table. Returns those that are missed."""
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for what, aim, measured, isMet in rows:
        print(f"       {what:{widths[0]}}  {aim:{widths[1]}}  {measured:{widths[2]}}  {'met' if isMet else 'missed'}")
    print(f"       programs: {PROGRAMS}; {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}", flush=True)
    return [f"{what}: {measured}, aim {aim}" for what, aim, measured, isMet in rows if not isMet]
