# SPDX-License-Identifier: GPL-2.0-or-later
"""The mock service: the routes that the dashboard uses, strict about requests, under the same security policy."""

import http.server
import json
import secrets
import socket
import sys
import threading
import time
import traceback
import urllib.parse
from pathlib import Path

from contract import Contract
from model import DEVICES, ENDED, Model, Refusal, report, stamp

PAGES = Path(__file__).resolve().parent.parent.parent / "Sources" / "CDashboard" / "pages"
POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
          "media-src 'self' blob:; "
          "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'")
TYPES = {"html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8",
         "svg": "image/svg+xml"}
EXTENSIONS = {"file": (".mp4", ".mov", ".mkv", ".ts", ".h264", ".h265", ".m4v"), "hls": (".m3u8",),
              "thumbnails": (".png",),
              "sprite": (".vtt",)}
SUMMARY = ("id", "state", "cancelRequested", "queue", "priority", "share", "labels", "createdAt", "startedAt",
           "endedAt",
           "expiresAt", "progress", "failure", "waiting", "warnings")


def check_names(value):
    """Refuses names of outputs that the document does not describe."""
    for index, output in enumerate(value.get("outputs", [])):
        place, name = f"/outputs/{index}", output["name"]
        if not name.endswith(EXTENSIONS[output["kind"]]):
            raise Refusal(400, "invalid-request", f"The name {name} is not allowed.", field=f"{place}/name", value=name)
        if (output["kind"] == "hls") != bool(output.get("ladder")):
            raise Refusal(400, "invalid-request", "A ladder belongs to hls.", field=f"{place}/ladder")


def readable(job):
    return {name: value for name, value in job.items() if name not in ("speed", "fraction", "held", "wobble")}


def summary(job):
    place = job["request"]["input"]
    return {name: job[name] for name in SUMMARY if name in job} | {
        "input": place.get("path") or place.get("url") or place.get("upload"),
        "outputs": [{name: output[name] for name in ("index", "kind", "name", "state")} for output in job["outputs"]]}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def model(self):
        return self.server.model

    def handle_any(self):
        if self.server.refuses:
            self.close_connection = True
            return self.connection.close()
        split = urllib.parse.urlsplit(self.path)
        self.query = urllib.parse.parse_qs(split.query)
        self.parts = [urllib.parse.unquote(part) for part in split.path.strip("/").split("/")]
        self.route = split.path
        try:
            self.answer_path(split)
        except Refusal as refusal:
            self.answer_json(refusal.document, refusal.status, kind="application/problem+json")
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        except Exception:
            traceback.print_exc()
            self.answer_json({"code": "internal", "title": "internal", "status": 500,
                              "detail": "The mock has failed."}, 500)

    do_GET = do_POST = do_PUT = do_DELETE = handle_any

    def answer_path(self, split):
        if split.path == "/":
            return self.page("index.html")
        if self.parts[0] == "dashboard" and len(self.parts) == 2:
            return self.page(self.parts[1])
        if self.parts[0] != "v1":
            raise Refusal(404, "not-found", f"There is no {split.path}.")
        self.authorize(split)
        unknown = self.server.contract.refused_query(self.command, self.route, self.query)
        if unknown:
            raise Refusal(400, "invalid-parameter", f"{unknown} is not known.", field=unknown)
        name = "_".join([self.command.lower(), *(self.parts[1:2] or ["service"])])
        handler = getattr(self, name, None)
        if not handler:
            raise Refusal(404, "not-found", f"There is no {self.command} {split.path}.")
        handler(*self.parts[2:])

    def authorize(self, split):
        if not self.server.contract.needs_key(self.command, split.path):
            return
        if not self.server.key or self.headers.get("Authorization") == f"Bearer {self.server.key}":
            return
        given = {name: values[0] for name, values in self.query.items()}
        signature = given.pop("signature", None)
        path = split.path + ("?" + urllib.parse.urlencode(given) if given else "")
        if signature and signature == self.server.signatures.get(path):
            return
        if self.command == "PUT":
            self.read_body()
        with self.model.changes:
            self.server.refusals += 1
            self.model.changes.notify_all()
        raise Refusal(401, "unauthorized", "The request has no valid key.", remedies=["Send Authorization: Bearer KEY"])

    # Answers

    def page(self, name):
        path = PAGES / name
        if "/" in name or not path.is_file():
            raise Refusal(404, "not-found", f"There is no page {name}.")
        data = path.read_bytes()
        for file, old, new in self.server.planted:
            if file == name:
                assert old.encode() in data, f"{name} has no {old}"
                data = data.replace(old.encode(), new.encode())
        self.answer(data, TYPES[path.suffix[1:]], headers={"Content-Security-Policy": POLICY})

    def answer(self, data, kind, status=200, headers=None):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("X-Content-Type-Options", "nosniff")
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def answer_json(self, value, status=200, kind="application/json"):
        self.server.contract.judge(self.command, self.route, status, kind, value)
        self.answer(json.dumps(value).encode(), kind, status)

    def read_body(self):
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def body(self):
        data = self.read_body()
        try:
            value = json.loads(data) if data else {}
        except ValueError:
            raise Refusal(400, "invalid-json", "The body is not JSON.") from None
        refused = self.server.contract.refused_body(self.command, self.route, value)
        if refused:
            raise Refusal(400, "invalid-request", refused)
        return value

    def one(self, name):
        return self.query.get(name, [""])[0]

    def job(self, identifier):
        if identifier not in self.model.jobs:
            raise Refusal(404, "not-found", f"There is no job {identifier}.",
                          remedies=["List the jobs: vatoolbox jobs"])
        return self.model.jobs[identifier]

    # Routes

    def get_service(self):
        self.answer_json({"version": "1.0.0-mock", "api": "1", "links": {"jobs": "/v1/jobs"}})

    def get_status(self):
        with self.model.changes:
            states = [job["state"] for job in self.model.jobs.values()]
        self.answer_json({"version": "1.0.0-mock", "startedAt": stamp(self.model.started - 191_000),
                          "draining": self.model.draining,
                          "running": states.count("running"), "waiting": states.count("waiting"), "load": 3.41,
                          "processors": {"count": 16, "busy": 0.42},
                          "engines": [{"node": device["node"], "name": name, "busy": busy}
                                      for device in self.server.devices if device["usable"]
                                      for name, busy in [("video", 0.83), ("video-enhance", 0.12)]],
                          "memory": {"total": 33_554_432_000, "available": 21_474_836_480},
                          "disk": {"free": 412_000_000_000, "total": 960_000_000_000, "watermark": 50_000_000_000,
                                   "low": False}})

    def get_capabilities(self):
        self.answer_json({"version": "1.0.0-mock", "checkedAt": stamp(), "devices": self.server.devices,
                          "softwareEncoders": [{"name": "x264", "codec": "h264"}, {"name": "x265", "codec": "hevc"}]}
                         | ({"absence": self.server.absence} if self.server.absence else {}))

    def get_live(self):
        with self.model.changes:
            self.answer_json({"jobs": self.model.live})

    def post_live(self, identifier, action):
        body = self.body()
        with self.model.changes:
            job = next((job for job in self.model.live if job["id"] == identifier), None)
            if not job:
                raise Refusal(404, "not-found", f"There is no live job {identifier}.")
            if action == "switch":
                job["input"] = body["input"]
            else:
                job |= {"state": "ended", "endedAt": stamp()}
                job.pop("statistics", None)
            self.answer_json(job)

    def get_presets(self):
        self.answer_json({"presets": self.model.presets})

    def queue(self, name):
        if name not in self.model.queues:
            raise Refusal(404, "not-found", f"There is no queue {name}.")
        jobs = [job["state"] for job in self.model.jobs.values() if job["queue"] == name]
        return {"name": name, **self.model.queues[name], "waiting": jobs.count("waiting"),
                "running": jobs.count("running")}

    def get_queues(self):
        with self.model.changes:
            self.answer_json({"queues": [self.queue(name) for name in self.model.queues]})

    def post_queues(self, name, action):
        self.read_body()
        self.queue(name)
        self.model.queues[name]["paused"] = action != "resume"
        self.answer_json(self.queue(name))

    def post_drain(self):
        self.read_body()
        self.model.draining = True
        self.get_status()

    def post_resume(self):
        self.read_body()
        self.model.draining = False
        self.get_status()

    def get_uploads(self):
        self.answer_json({"uploads": list(self.model.uploads.values())})

    def put_uploads(self, name):
        length, data = int(self.headers["Content-Length"]), b""
        half = length // 2
        data = self.rfile.read(half)
        # A test holds an upload here to look at its progress.
        self.server.upload_gate.wait()
        data += self.rfile.read(length - half)
        if name in {one["name"] for one in self.model.uploads.values()}:
            raise Refusal(409, "conflict", f"There is an upload {name}.", remedies=["Choose another name"])
        upload = {"id": self.model.identifier(), "name": name, "size": length, "received": length, "complete": True,
                  "createdAt": stamp(), "expiresAt": stamp(time.time() + 86400)}
        self.model.uploads[upload["id"]] = upload
        self.answer_json(upload, 201)

    def delete_uploads(self, identifier):
        self.model.uploads.pop(identifier, None)
        self.answer(b"", "application/json", 204)

    def post_probe(self):
        place = self.body()["input"]
        self.answer_json(report(place.get("path", "")))

    def post_links(self):
        body = self.body()
        signature = self.server.signatures.setdefault(body["path"], secrets.token_hex(8))
        url = f"http://internal.invalid{body['path']}{'&' if '?' in body['path'] else '?'}signature={signature}"
        self.answer_json({"url": url, "expiresAt": stamp(time.time() + body["expiresIn"])}, 201)

    def get_jobs(self, identifier=None, part=None, *rest):
        if identifier is None:
            return self.list_jobs()
        job = self.job(identifier)
        if part is None:
            with self.model.changes:
                return self.answer_json(readable(job))
        if part == "events":
            return self.stream(identifier)
        if part == "log":
            return self.log(job)
        if part == "files":
            return self.file(job, "/".join(rest))
        if part == "deliveries":
            return self.answer_json({"deliveries": self.model.deliveries.get(identifier, [])})
        raise Refusal(404, "not-found", f"There is no {part} of a job.")

    def list_jobs(self):
        with self.model.changes:
            jobs = sorted(self.model.jobs.values(), key=lambda job: (job["createdAt"], job["id"]), reverse=True)
            fits = [summary(job) for job in jobs if self.fits(job)]
        start, limit = int(self.one("cursor") or 0), int(self.one("limit") or 50)
        page = {"jobs": fits[start:start + limit]}
        if start + limit < len(fits):
            page["nextCursor"] = str(start + limit)
        self.answer_json(page)

    def fits(self, job):
        text = self.one("text").lower()
        words = " ".join([job["id"], *map(str, job["request"]["input"].values()),
                          *(one["name"] for one in job["outputs"])])
        return (self.one("state") in ("", job["state"]) and self.one("queue") in ("", job["queue"])
                and text in words.lower()
                and all(job["labels"].get(label.split(":", 1)[0]) == label.partition(":")[2]
                        for label in self.query.get("label", [])))

    def post_jobs(self, identifier=None, action=None, *rest):
        body = self.body()
        if identifier is None:
            check_names(body)
            place = body["input"]
            if "upload" in place:
                if not any(place["upload"] in (one["id"], one["name"]) for one in self.model.uploads.values()):
                    raise Refusal(404, "not-found", f"There is no upload {place['upload']}.", field="/input/upload")
            if self.one("dryRun") == "true":
                command = ["vatoolbox", "encode", "input.mov", "-o", *(one["name"] for one in body["outputs"]),
                           "--verify"]
                return self.answer_json({"request": body, "input": report(""),
                                         "warnings": ["Two subtitle tracks are omitted."],
                                         "tasks": [{"index": 0, "outputs": [0], "kind": "encode", "command": command}],
                                         "encoder": {"name": "h264_vaapi", "codec": "h264",
                                                     "device": "/dev/dri/renderD128",
                                                     "reason": "the first GPU that passed its test encode"},
                                         "targets": [], "estimate": {"duration": 41, "size": 38_400_000}})
            token = self.headers.get("Idempotency-Key")
            if token not in self.model.answered:
                self.model.answered[token] = self.model.submit(body)
            return self.answer_json(readable(self.model.answered[token]), 201)
        job = self.job(identifier)
        with self.model.changes:
            if action == "cancel":
                if job["state"] in ENDED:
                    raise Refusal(409, "invalid-state", "The job has ended.")
                job["cancelRequested"] = True
                if job["state"] == "waiting":
                    self.model.finish(job, state="cancelled")
            elif action == "retry":
                if job["state"] not in ("failed", "cancelled"):
                    raise Refusal(409, "invalid-state", "Only failed and cancelled jobs can be retried.")
                for name in ("failure", "endedAt", "fraction", "progress", "speed"):
                    job.pop(name, None)
                job.update(state="waiting", cancelRequested=False)
                for output in job["outputs"]:
                    output.update(state="waiting")
                self.model.tell(job, "waiting")
            elif action == "deliveries":
                delivery = next(one for one in self.model.deliveries[identifier] if one["id"] == rest[0])
                delivery.update(state="delivered", status=204, deliveredAt=stamp())
                delivery.pop("error", None)
                return self.answer_json(delivery, 202)
            self.answer_json(readable(job))

    def delete_jobs(self, identifier):
        job = self.job(identifier)
        if job["state"] not in ENDED:
            raise Refusal(409, "invalid-state", "The job has not ended.")
        del self.model.jobs[identifier]
        self.answer(b"", "application/json", 204)

    def log(self, job):
        text = self.model.logs[job["id"]]
        if self.one("follow") != "true":
            return self.answer(text.encode(), "text/plain; charset=utf-8")
        self.start_stream("text/plain; charset=utf-8")
        sent = 0
        while True:
            with self.model.changes:
                self.model.changes.wait_for(lambda: len(self.model.logs[job["id"]]) > sent or job["state"] in ENDED, 5)
                text, isOver = self.model.logs[job["id"]][sent:], job["state"] in ENDED
            self.chunk(text.encode())
            sent += len(text)
            if isOver or self.server.refuses:
                return self.chunk(b"", end=True)

    def file(self, job, path):
        if (job["id"], path) not in self.model.files:
            raise Refusal(404, "not-found", f"There is no file {path}.")
        data, kind = self.model.files[job["id"], path]
        first, last, status = 0, len(data) - 1, 200
        asked = self.headers.get("Range", "")
        if asked.startswith("bytes="):
            begin, _, end = asked[len("bytes="):].partition("-")
            first, last, status = int(begin or 0), min(int(end or last), last), 206
        headers = {"Accept-Ranges": "bytes"}
        if status == 206:
            headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
        if self.one("download"):
            headers["Content-Disposition"] = "attachment"
        self.answer(data[first:last + 1], kind, status, headers)

    def get_events(self):
        self.stream(None)

    def stream(self, identifier):
        model = self.model
        if "text/event-stream" not in self.headers.get("Accept", ""):
            after = int(self.one("after") or 0)
            return self.answer_json({"events": [one for one in model.events if one["number"] > after
                                                and one["type"] != "progress" and identifier in (None, one["job"])]})
        last = self.headers.get("Last-Event-ID")
        with model.changes:
            self.server.streams.append(last)
            model.changes.notify_all()
        sent = int(last) if last else len(model.events)
        self.start_stream("text/event-stream")
        self.chunk(b": hello\n\n")
        generation = self.server.generation
        while True:
            with model.changes:
                model.changes.wait_for(lambda: len(model.events) > sent or self.server.generation != generation, 15)
                events = model.events[sent:]
            if self.server.refuses:
                self.close_connection = True
                return self.connection.close()
            if self.server.generation != generation:
                return self.chunk(b"", end=True)
            sent += len(events)
            for event in events:
                self.server.contract.judge_event(event)
            text = "".join(f"id: {one['number']}\nevent: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events
                           if identifier in (None, one["job"]))
            self.chunk((text or ": alive\n\n").encode())

    def start_stream(self, kind):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def chunk(self, data, end=False):
        if data:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        if end:
            self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def log_message(self, *_):
        pass


class Service(http.server.ThreadingHTTPServer):
    """The server. `refuses` makes it close each connection, as a service that is away; a raised `generation` ends the
    streams of events; a cleared `upload_gate` holds uploads in their middle; `planted` are faults of the pages: the
    name of a file, a text in it, and what is served in its place."""

    daemon_threads = True

    def __init__(self, port=0, key=None, pace=1.0, history=130):
        super().__init__(("127.0.0.1", port), Handler, bind_and_activate=False)
        # An upload that is held must not fit into the buffers of the connection.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        self.server_bind()
        self.server_activate()
        self.model = Model(pace, history)
        self.signatures, self.streams, self.contract = {}, [], Contract()
        self.generation, self.refusals, self.planted = 0, 0, []
        self.upload_gate = threading.Event()
        self.reset()
        self.key = key
        self.url = f"http://127.0.0.1:{self.server_address[1]}/"

    def start(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def reset(self):
        """Takes back what a check has done to the service, so that the next one finds it as it was."""
        self.refuses, self.key, self.devices, self.absence = False, None, DEVICES, None
        self.upload_gate.set()
        self.model.draining = False
        self.model.queues["default"]["paused"] = False

    def end_streams(self):
        with self.model.changes:
            self.generation += 1
            self.model.changes.notify_all()

    def stop(self):
        self.model.stopping.set()
        self.refuses = True
        self.end_streams()
        self.shutdown()
        self.server_close()

    def handle_error(self, *_):
        if not isinstance(sys.exc_info()[1], (ConnectionError, OSError)):
            super().handle_error(*_)
