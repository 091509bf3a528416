# SPDX-License-Identifier: GPL-2.0-or-later
"""A client of live HLS over HTTP/1.1 or HTTP/2, whose responses check_live.py can judge."""

import gzip
import http.client
import json
import pathlib
import re
import socket
import ssl
import threading
import time
import urllib.parse

LIMIT = 60


class Answer:
    def __init__(self, status, headers, body, begun):
        self.status, self.headers, self.body, self.begun = status, headers, body, begun

    @property
    def text(self):
        body = gzip.decompress(self.body) if self.headers.get("content-encoding") == "gzip" else self.body
        return body.decode()


class Plain:
    """A connection with HTTP/1.1."""

    protocol = "http/1.1"

    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        if parts.scheme == "https":
            self.connection = http.client.HTTPSConnection(parts.hostname, parts.port, timeout=LIMIT,
                                                          context=unverified())
        else:
            self.connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=LIMIT)

    def get(self, path, headers=()):
        self.connection.request("GET", path, headers={"Accept-Encoding": "gzip", **dict(headers)})
        answer = self.connection.getresponse()
        begun = time.time()
        return Answer(answer.status, {key.lower(): value for key, value in answer.getheaders()}, answer.read(), begun)

    def close(self):
        self.connection.close()


def unverified():
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


class Multiplexed:
    """A connection with HTTP/2, one request at a time."""

    protocol = "h2"

    def __init__(self, url):
        import h2.connection
        import h2.events
        self.events = h2.events
        parts = urllib.parse.urlsplit(url)
        context = unverified()
        context.set_alpn_protocols(["h2"])
        self.authority = parts.netloc
        self.socket = context.wrap_socket(socket.create_connection((parts.hostname, parts.port), LIMIT),
                                          server_hostname=parts.hostname)
        assert self.socket.selected_alpn_protocol() == "h2", self.socket.selected_alpn_protocol()
        self.state = h2.connection.H2Connection()
        self.state.initiate_connection()
        self.socket.sendall(self.state.data_to_send())

    def get(self, path, headers=()):
        stream = self.state.get_next_available_stream_id()
        self.state.send_headers(stream, [(":method", "GET"), (":path", path), (":scheme", "https"),
                                         (":authority", self.authority), ("accept-encoding", "gzip"),
                                         *dict(headers).items()], end_stream=True)
        self.socket.sendall(self.state.data_to_send())
        status, found, body, begun = 0, {}, b"", None
        while True:
            data = self.socket.recv(65536)
            if not data:
                raise ConnectionError("the server has closed the connection")
            for event in self.state.receive_data(data):
                if isinstance(event, self.events.ResponseReceived):
                    begun = time.time()
                    found = {as_text(key): as_text(value) for key, value in event.headers}
                    status = int(found[":status"])
                elif isinstance(event, self.events.DataReceived):
                    body += event.data
                    self.state.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                elif isinstance(event, self.events.StreamReset):
                    raise ConnectionError("the server has reset the stream")
                elif isinstance(event, self.events.StreamEnded):
                    self.socket.sendall(self.state.data_to_send())
                    return Answer(status, found, body, begun)
            self.socket.sendall(self.state.data_to_send())

    def close(self):
        self.socket.close()


def as_text(value):
    return value.decode() if isinstance(value, bytes) else value


class Listed:
    """What a client needs of a media playlist."""

    def __init__(self, text):
        self.is_ended = "#EXT-X-ENDLIST" in text
        self.blocks = "CAN-BLOCK-RELOAD=YES" in text
        self.target = int(re.search(r"#EXT-X-TARGETDURATION:(\d+)", text)[1])
        first = int(re.search(r"#EXT-X-MEDIA-SEQUENCE:(\d+)", text)[1])
        skip = re.search(r"SKIPPED-SEGMENTS=(\d+)", text)
        lines = text.splitlines()
        self.segments = [line for line in lines if line and not line.startswith("#")]
        self.parts = re.findall(r'#EXT-X-PART:[^\n]*URI="([^"]*)"', text)
        self.maps = re.findall(r'#EXT-X-MAP:URI="([^"]*)"', text)
        self.hint = (re.search(r'#EXT-X-PRELOAD-HINT:TYPE=PART,URI="([^"]*)"', text) or [None, None])[1]
        self.last = first + (int(skip[1]) if skip else 0) + len(self.segments) - 1
        last = max((index for index, line in enumerate(lines) if line in self.segments), default=-1)
        self.open_parts = sum(line.startswith("#EXT-X-PART:") for line in lines[last + 1:])


class Recorder:
    """Follows a presentation like a player, and keeps all responses."""

    def __init__(self, url, kind=Plain, skips=True, tells_protocol=True):
        self.url, self.kind, self.skips, self.tells_protocol = url, kind, skips, tells_protocol
        self.base = urllib.parse.urlsplit(url).path or "/"
        self.entries, self.bodies, self.failures = [], {}, []
        self.lock = threading.Lock()
        self.media = {}  # the bytes of parts, segments and initialization sections by path

    def get(self, connection, path):
        sent = time.time()
        answer = connection.get(path)
        entry = {"url": path, "sent": sent, "time": answer.begun, "status": answer.status, "headers": answer.headers}
        if self.tells_protocol:
            entry["protocol"] = connection.protocol
        with self.lock:
            if path.partition("?")[0].endswith(".m3u8") and answer.status == 200:
                entry["body"] = f"{len(self.bodies):05}.m3u8"
                self.bodies[entry["body"]] = answer.text
            elif answer.status == 200:
                self.media[path] = answer.body
            self.entries.append(entry)
        return answer

    def begin(self, limit=LIMIT):
        """Waits for the multivariant playlist, and returns the paths of the media playlists."""
        connection = self.kind(self.url)
        end = time.monotonic() + limit
        while True:
            answer = self.get(connection, self.base + "index.m3u8")
            if answer.status == 200 or time.monotonic() > end:
                break
            time.sleep(0.1)
        connection.close()
        text = answer.text
        found = re.findall(r'URI="([^"]*\.m3u8)"', text)
        found += [line for line in text.splitlines() if line and not line.startswith("#")]
        return [self.base + path for path in dict.fromkeys(found)]

    def follow(self, seconds):
        """Follows all media playlists, each on threads of its own, until they end or for a time."""
        end = time.monotonic() + seconds
        threads = [threading.Thread(target=self.guarded, args=(self.follow_one, path, end)) for path in self.begin()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def guarded(self, body, *arguments):
        try:
            body(*arguments)
        except Exception as error:  # pylint: disable=broad-except
            self.failures.append(f"{arguments[0]}: {error!r}")

    def follow_one(self, path, end):
        connection, media, hints = self.kind(self.url), self.kind(self.url), None
        listed, seen, count = Listed(self.get(connection, path).text), set(), 0
        while not listed.is_ended and time.monotonic() < end:
            base = path.rpartition("/")[0] + "/"
            if hints:
                hints.join(LIMIT)
            for name in listed.maps + listed.segments[-1:] + listed.parts[-4:]:
                if name not in seen:
                    seen.add(name)
                    if base + name not in self.media:
                        self.get(media, base + name)
            query = f"?_HLS_msn={listed.last + 1}" if listed.blocks else ""
            if not listed.blocks:
                time.sleep(listed.target / 2)
            if listed.hint:
                seen.add(listed.hint)
                hints = threading.Thread(target=self.guarded, args=(self.get_hint, base + listed.hint))
                hints.start()
                query += f"&_HLS_part={listed.open_parts}"
            count += 1
            if self.skips and listed.blocks and count % 3 == 0:
                query += "&_HLS_skip=YES"
            answer = self.get(connection, path + query)
            if answer.status != 200:
                self.failures.append(f"{path}{query}: {answer.status} {answer.body[:200]}")
                time.sleep(0.5)
                answer = self.get(connection, path)
            listed = Listed(answer.text)
        for connection in (connection, media):
            connection.close()

    def get_hint(self, path):
        connection = self.kind(self.url)
        self.get(connection, path)
        connection.close()

    def store(self, folder):
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in self.bodies.items():
            (folder / name).write_text(text)
        (folder / "log.json").write_text(json.dumps(sorted(self.entries, key=lambda entry: entry["time"]), indent=1))
