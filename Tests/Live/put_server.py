# SPDX-License-Identifier: GPL-2.0-or-later
"""A server that stores what is sent to it by HTTP PUT, and fails as a test asks for."""

import base64
import http.server
import posixpath
import re
import socket
import ssl
import threading
import time


class Faults:
    """What goes wrong, from a moment on until it is taken away.

    kind: close, stall or a status. stage: head (when the head of a request is read), body (in the middle of its body),
    answer (when it is read), where a status always is an answer. method and suffix tell which requests."""

    def __init__(self):
        self.lock = threading.Lock()
        self.present = None
        self.hits = 0
        self.release = threading.Event()

    def begin(self, kind, stage="answer", method="PUT", suffix="", headers=()):
        with self.lock:
            self.hits = 0
            self.release = threading.Event()
            self.present = (kind, stage, method, suffix, dict(headers))

    def end(self):
        with self.lock:
            self.present = None
            self.release.set()

    def find(self, stage, request):
        with self.lock:
            if self.present is None:
                return None
            kind, where, method, suffix, headers = self.present
            if where != stage or method != request.command or not request.path.endswith(suffix):
                return None
            self.hits += 1
            return kind, headers, self.release


class Server:
    """The files by their paths, every request, and what a player would object to."""

    def __init__(self, test, port=0, tls=None, authorization=None):
        self.files, self.requests, self.problems, self.peers = {}, [], [], set()
        self.authorization = authorization
        self.faults = Faults()
        self.lock = threading.Lock()
        self.tls = tls
        self.server = None
        self.port = port
        self.start()
        test.addCleanup(self.stop)

    def start(self):
        owner = self

        class Handler(Request):
            store = owner

        self.server = ThreadingServer(("127.0.0.1", self.port), Handler)
        self.port = self.server.server_address[1]
        if self.tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*self.tls)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True,
                                                     do_handshake_on_connect=False)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def stop(self):
        """Ends it, with all connections."""
        self.faults.end()
        if self.server is None:
            return
        self.server.shutdown()
        self.server.server_close()
        for one in list(self.server.connections):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.server = None

    def put(self, path, body):
        with self.lock:
            if path.endswith(".m3u8"):
                self.problems += [f"{path} names {name}, which is not there" for name in named(path, body.decode())
                                  if name not in self.files]
            self.files[path] = body

    def delete(self, path):
        with self.lock:
            return self.files.pop(path, None) is not None

    def text(self, suffix):
        """The playlist whose path ends so; empty if there is none."""
        with self.lock:
            return next((body.decode() for path, body in self.files.items() if path.endswith(suffix)), "")

    def count(self, suffix):
        with self.lock:
            return sum(path.endswith(suffix) for path in self.files)

    def store(self, folder):
        """Writes the files into a folder."""
        with self.lock:
            for path, body in self.files.items():
                file = folder / path.lstrip("/")
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(body)


def named(path, text):
    """The paths of what a playlist names, without what it says is missing."""
    found, is_gap = re.findall(r'#EXT-X-(?:MAP|MEDIA):[^\n]*URI="([^"]*)"', text), False
    found += [uri for uri, rest in re.findall(r'#EXT-X-PART:[^\n]*URI="([^"]*)"([^\n]*)', text) if "GAP" not in rest]
    for line in text.splitlines():
        if line == "#EXT-X-GAP":
            is_gap = True
        elif line and not line.startswith("#"):
            if not is_gap:
                found.append(line)
            is_gap = False
    return [posixpath.normpath(posixpath.join(posixpath.dirname(path), name)) for name in found]


class ThreadingServer(http.server.ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, *arguments):
        self.connections = set()
        super().__init__(*arguments)

    def process_request(self, request, client_address):
        self.connections.add(request)
        super().process_request(request, client_address)

    def handle_error(self, request, client_address):
        pass


class Request(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    store = None

    def answer(self, status, headers=()):
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        if status >= 200 and status != 204:
            self.send_header("Content-Length", "0")
        self.end_headers()

    def fail(self, stage):
        """Returns whether the request has ended."""
        fault = self.store.faults.find(stage, self)
        if fault is None:
            return False
        kind, headers, release = fault
        if kind == "stall":
            release.wait()
            return False
        self.close_connection = True
        if kind != "close":
            self.answer(kind, headers)
        return True

    def handle_one(self):
        self.store.peers.add(self.client_address)
        self.store.requests.append((time.monotonic(), self.command, self.path))
        if self.fail("head"):
            return
        count = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(count // 2)
        if self.fail("body"):
            return
        body += self.rfile.read(count - len(body))
        wanted = self.store.authorization
        if wanted and self.headers.get("Authorization") != wanted:
            self.answer(401)
        elif self.fail("answer"):
            return
        elif self.command == "PUT":
            if len(body) == count:
                self.store.put(self.path, body)
                self.answer(201)
        elif self.command == "DELETE":
            self.answer(204 if self.store.delete(self.path) else 404)
        else:
            self.answer(200 if self.path in self.store.files else 404)

    do_PUT = do_DELETE = do_HEAD = handle_one

    def log_message(self, *_):
        pass


def basic(user, password):
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
