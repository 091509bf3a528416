# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients that finish their work whatever happens to the service, what happens to it, and the judge of the end."""

import email.utils
import http.client
import os
import pathlib
import random
import signal
import threading
import time

from rig import PATIENCE, clip, digest, digest_header, file_output, probe, until

#: What a client may see of a service that was killed: the request has had its effect, or not.
GONE = (OSError, http.client.HTTPException)


def processes(data):
    """The processes that work for a service, by their number: the arguments or the environment name its data."""
    mark, found = str(data).encode(), {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            line = (entry / "cmdline").read_bytes()
            state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
            environment = (entry / "environ").read_bytes()
        except OSError:
            continue
        if state not in "ZX" and (mark in line or b"VATOOLBOX_STATE=" + mark in environment):
            found[int(entry.name)] = line.replace(b"\0", b" ").decode(errors="replace")
    return found


def workers(data):
    """The processes that encode."""
    return [number for number, line in processes(data).items() if "vatoolbox encode " in line and "confine" not in line]


def helpers(data):
    """The processes of encoders and drivers."""
    return [number for number, line in processes(data).items() if "-helper" in line.split(" ")[0]]


def launchers(data):
    """The processes between the service and those that encode."""
    return [number for number, line in processes(data).items() if "vatoolbox-service confine" in line]


class Client(threading.Thread):
    """Uploads, submits, follows and downloads jobs, one after the other. It remembers what is wrong."""

    def __init__(self, service, numbers, seed, attempts):
        super().__init__(daemon=True)
        self.service, self.numbers, self.attempts = service, numbers, attempts
        self.dice = random.Random(seed)
        self.findings, self.jobs, self.interruptions = [], {}, 0
        #: The encoders of the outputs, as the jobs tell them.
        self.encoders = []

    def run(self):
        while True:
            try:
                number = self.numbers.pop()
            except IndexError:
                return
            try:
                self.work(number)
            except Exception as error:  # A client that breaks is a finding, too.
                self.findings.append(f"job {number}: the client has failed: {type(error).__name__}: {error}")

    def patiently(self, attempt, what):
        """Repeats a request until the service answers it."""
        end, last = time.monotonic() + PATIENCE, None
        while time.monotonic() < end:
            try:
                answer = last = attempt()
                if answer is not None and getattr(answer, "status", 0) != 503:
                    return answer
            except GONE as error:
                last = error
                self.interruptions += 1
            time.sleep(0.05)
        raise AssertionError(f"it did not happen in {PATIENCE} s: {what}; the last answer was {last!r}")

    def work(self, number):
        seconds = self.dice.choice([1, 2, 3])
        source = chaos_clip(seconds)
        upload = self.upload(source, f"{number}.mp4")
        outputs = [file_output("a.mp4")] + ([file_output("b.mkv", width=160, height=90)] if number % 3 == 0 else [])
        body = {"input": {"upload": upload}, "outputs": outputs, "attempts": self.attempts}
        submit = {"Idempotency-Key": f"job {number}"}
        job = self.patiently(lambda: self.service.post("/v1/jobs", body, **submit), "a job is submitted")
        if job.status not in (200, 201):
            return self.findings.append(f"job {number} was refused: {job}")
        identifier = job.json["id"]
        self.jobs[number] = identifier
        self.follow(identifier)
        self.check(number, identifier, seconds * 25, len(outputs))

    def upload(self, source, name):
        data = source.read_bytes()

        def attempt():
            headers = {"Repr-Digest": digest_header(data), "Content-Length": str(len(data))}
            answer = self.service.request("PUT", f"/v1/uploads/{name}", SlowBody(data, self.dice), headers)
            if answer.status == 201:
                return answer.json["id"]
            if answer.status == 409:
                # The one before has had its effect, and nobody has heard of it.
                there = self.service.get(f"/v1/uploads/{name}")
                if there.status == 200 and there.json.get("sha256") == digest(source):
                    return there.json["id"]
            raise ConnectionError(answer)

        return self.patiently(attempt, f"upload {name}")

    def follow(self, job):
        """Reads events, across interruptions, until the job has ended."""
        last, types, end = 0, [], time.monotonic() + 3 * PATIENCE
        while time.monotonic() < end and not (types and types[-1] in ("succeeded", "failed", "cancelled")):
            connection = http.client.HTTPConnection(self.service.host, self.service.port, timeout=PATIENCE)
            try:
                headers = {"Accept": "text/event-stream", "Last-Event-ID": str(last)}
                connection.request("GET", f"/v1/jobs/{job}/events", headers=headers)
                response = connection.getresponse()
                if response.status not in (200, 503):
                    return self.findings.append(f"events of {job}: {response.status} {response.read(300)}")
                for line in response:
                    name, _, value = line.decode().rstrip("\n").partition(": ")
                    if name == "id":
                        if int(value) <= last:
                            self.findings.append(f"event {value} of {job} was told after {last}")
                        last = int(value)
                    elif name == "event" and value != "progress":
                        types.append(value)
            except GONE:
                self.interruptions += 1
                time.sleep(0.05)
            finally:
                connection.close()
        for kind in ("succeeded", "output-ready"):
            if types.count(kind) != 1:
                self.findings.append(f"{job} was told to be {kind} {types.count(kind)} times: {types}")

    def check(self, number, identifier, frames, outputs):
        """The result downloads, is what the job says, and has all frames."""
        job = self.patiently(lambda: self.service.get(f"/v1/jobs/{identifier}"), "a job is read").json
        if job["state"] != "succeeded":
            return self.findings.append(f"job {number} is {job['state']}: {job.get('failure')}")
        if [len(output["files"]) for output in job["outputs"]] != [1] * outputs:
            return self.findings.append(f"job {number} has the outputs {job['outputs']}")
        if (count := [attempt.get("outcome") for attempt in job["attempts"]].count("succeeded")) != 1:
            self.findings.append(f"job {number} has {count} attempts that have succeeded")
        for output in job["outputs"]:
            self.encoders.append(output["encoder"])
            file = output["files"][0]
            answer = self.patiently(lambda: self.download(file), "a result is downloaded")
            path = self.service.folder / f"{identifier}-{output['name']}"
            path.write_bytes(answer.body)
            if answer.status != 200 or digest(path) != file["sha256"] or len(answer.body) != file["size"]:
                self.findings.append(f"job {number}: {answer.status}, {len(answer.body)} bytes differ from {file}")
            elif probe(path)["streams"][0]["nb_read_frames"] != str(frames):
                self.findings.append(f"job {number}: {output['name']} has not {frames} frames")
            path.unlink()

    def download(self, file):
        answer = self.service.get(file["url"])
        # A service that is killed breaks the connection, which http.client tells as an incomplete body.
        return answer if len(answer.body) == int(answer.headers["Content-Length"]) else None


class SlowBody:
    """A file that arrives in two parts, as over a slow connection, so that a kill can fall between them."""

    def __init__(self, data, dice):
        self.parts, self.pause = [data[: len(data) // 2], data[len(data) // 2 :]], dice.uniform(0, 0.3)

    def read(self, _):
        if len(self.parts) == 1:
            time.sleep(self.pause)
        return self.parts.pop(0) if self.parts else b""


def chaos_clip(seconds):
    return clip(f"chaos-{seconds}.mp4", seconds=seconds, size="320x180")


def every_job(service):
    """All jobs, over all pages."""
    jobs, cursor = [], ""
    while True:
        page = service.get(f"/v1/jobs?limit=200{cursor}").json
        jobs += page["jobs"]
        if "nextCursor" not in page:
            return jobs
        cursor = f"&cursor={page['nextCursor']}"


def leftovers(service):
    """What a service has in its folder that belongs to nothing. It has no running job."""
    data = service.data
    known = {job["id"] for job in every_job(service)}
    found = [f"work: {path.name}" for path in service.work()]
    for folder in (data / "results").iterdir():
        found += result_leftovers(service, folder) if folder.name in known else [f"results of no job: {folder.name}"]
    uploads = {upload["id"]: upload for upload in service.get("/v1/uploads").json["uploads"]}
    for folder in (data / "uploads").iterdir():
        upload = uploads.get(folder.name)
        if upload is None or not upload["complete"]:
            found.append(f"upload that is not complete: {folder.name} {upload}")
        elif digest(folder / "data") != upload["sha256"]:
            found.append(f"upload {folder.name} has changed")
        found += [f"file of an upload: {path}" for path in folder.iterdir() if path.name not in ("data", "info.json")]
    found += [f"log of no job: {path.name}" for path in (data / "logs").iterdir() if path.stem not in known]
    found += [f"file: {path.name}" for path in data.iterdir() if path.name.endswith(".new")]
    return found


def result_leftovers(service, folder):
    """What is wrong with the folder of a job's results."""
    job, found = service.job(folder.name), []
    expected = {file["path"] for output in job["outputs"] for file in output.get("files", [])}
    done = [attempt["number"] for attempt in job["attempts"] if attempt.get("outcome") == "succeeded"]
    for task in folder.iterdir():
        there = {str(path.relative_to(task)) for path in task.rglob("*") if path.is_file()} - {".published"}
        if not there <= expected:
            found.append(f"results that {folder.name} does not name: {there - expected}")
        token = int((task / ".published").read_text().split("\n")[0])
        if token not in done:
            found.append(f"attempt {token} of {folder.name} has published, but {done} have succeeded")
    return found


class Chaos:
    """Jobs of several clients while processes are killed."""

    def __init__(self, service, jobs, seed, clients=4, attempts=3):
        self.service, self.jobs, self.dice = service, jobs, random.Random(seed)
        self.numbers = list(range(jobs))[::-1]
        self.clients = [Client(service, self.numbers, f"{seed} {index}", attempts) for index in range(clients)]
        self.events = {}

    def run(self, misfortune, kills):
        """Lets a misfortune happen until it has happened often enough, or nothing is left to do, and judges the end.

        `misfortune` gets the service and the dice, and returns what has happened, or `None`."""
        for seconds in (1, 2, 3):
            chaos_clip(seconds)
        for client in self.clients:
            client.start()
        while any(client.is_alive() for client in self.clients):
            # The last jobs are spared: the pause before another attempt doubles with each failure.
            if sum(self.events.values()) < kills and self.numbers:
                if name := misfortune(self.service, self.dice):
                    self.events[name] = self.events.get(name, 0) + 1
            else:
                time.sleep(0.1)
        return self.findings()

    @property
    def interruptions(self):
        return sum(client.interruptions for client in self.clients)

    @property
    def encoders(self):
        return [encoder for client in self.clients for encoder in client.encoders]

    def findings(self):
        found = [finding for client in self.clients for finding in client.findings]
        ids = {job for client in self.clients for job in client.jobs.values()}
        if len(ids) != self.jobs:
            found.append(f"{len(ids)} jobs instead of {self.jobs}")
        listed = [job["id"] for job in every_job(self.service)]
        if sorted(listed) != sorted(ids):
            found.append(f"the service has {len(listed)} jobs, the clients have {len(ids)}")
        if any(job["state"] in ("waiting", "running") for job in every_job(self.service)):
            found.append("a job has not ended")
        else:
            found += leftovers(self.service)
        if status := self.service.stop():
            found.append(f"the service has ended with {status}")
        return found + [f"a process is left: {line}" for line in processes(self.service.data).values()]


def kill_service(service, dice):
    """Ends the service without a warning, and starts it as its manager does."""
    time.sleep(dice.uniform(0.02, 2.5))
    service.kill()
    service.start()
    return "services killed"


def kill_helper(service, dice):
    """Ends a process that has a GPU's driver."""
    time.sleep(dice.uniform(0.02, 0.5))
    found = helpers(service.data)
    if not found:
        return None
    try:
        os.kill(dice.choice(sorted(found)), signal.SIGKILL)
    except ProcessLookupError:
        return None
    return "helpers killed"


#: By how many seconds the clock is wrong after a jump. Not more than a day lies between two of these that are ahead, after
#: which uploads expire.
OFFSETS = [-400 * 86_400, -86_400, -3600, -60, -1, 0, 1, 60, 3600, 11 * 3600]


def jump_clock(service, dice):
    """Sets the clock of a service that has the clock of `jumping_clock`. One in four times, it is killed, too."""
    time.sleep(dice.uniform(0.1, 1.0))
    clock = service.folder / "clock"
    (service.folder / "clock.new").write_text(str(dice.choice(OFFSETS)))
    os.replace(service.folder / "clock.new", clock)
    offset = int(clock.read_text())

    def is_set():
        date = email.utils.parsedate_to_datetime(service.get("/healthz").headers["date"]).timestamp()
        return abs(date - time.time() - offset) < 5

    until(is_set, f"the service has a clock that is {offset} s ahead")
    if dice.random() < 0.25:
        kill_service(service, dice)
        return "clocks set and services killed"
    return "clocks set"


def kill_worker(service, dice):
    """Ends a process that encodes, one of its helpers, or its launcher."""
    time.sleep(dice.uniform(0.1, 1.2))
    found = {"workers": workers(service.data), "helpers": helpers(service.data), "launchers": launchers(service.data)}
    kinds = [kind for kind in ["workers", "workers", "helpers", "launchers"] if found[kind]]
    if not kinds:
        return None
    kind = dice.choice(kinds)
    try:
        os.kill(dice.choice(sorted(found[kind])), signal.SIGKILL)
    except ProcessLookupError:
        return None
    return f"{kind} killed"
