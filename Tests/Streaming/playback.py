# SPDX-License-Identifier: GPL-2.0-or-later
"""Headless Chromium plays a ladder from a server that becomes slow and fast again."""

import http.server
import json
import tempfile
import threading
import time
from pathlib import Path

import browser
from good import NAME, Bad, Case, Clip, ladder
from presentation import Presentation
from reading import TYPES

PAGE = Path(__file__).resolve().parent / "player.html"
SECONDS = 36
LADDER = Case("Chromium", Clip(SECONDS, "640x360", sounds=(("eng", 2),)),
              (*ladder("h264", "360p:1500k", "270p:600k", "180p:200k"), "--segment-duration", "2"))
# Bits per second from a number of video segments on: the highest variant fits, only the lowest does, the highest does.
PHASES = ((0, 40e6), (5, 700e3), (11, 40e6))


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves the page and the presentation; segments of video at the rate of the phase."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        name = self.path.split("?")[0].lstrip("/")
        path = PAGE if name == "" else self.server.folder / name
        if not path.is_file() or ".." in name:
            return self.answer(b"", "text/plain", 404)
        data = path.read_bytes()
        self.answer(data, TYPES.get(path.suffix, "application/octet-stream"), rate=self.server.rate(path))

    def answer(self, data, kind, status=200, rate=None):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        start = time.monotonic()
        for place in range(0, len(data), 8192):
            self.wfile.write(data[place:place + 8192])
            if rate:
                time.sleep(max(0, 8 * (place + 8192) / rate - (time.monotonic() - start)))

    def do_POST(self):
        told = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.results, self.server.picture = told["results"], b""
        self.answer(b"", "text/plain")
        self.server.is_done.set()

    def log_message(self, *_):
        pass


class Server(browser.Server):
    def __init__(self, folder):
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder, self.results, self.is_done = folder, None, threading.Event()
        self.served, self.lock = 0, threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def rate(self, path):
        """The rate for a file, by the number of video segments that were served before."""
        if path.suffix != ".m4s" or "audio" in path.parent.name:
            return None
        with self.lock:
            number, self.served = self.served, self.served + 1
        return [rate for first, rate in PHASES if number >= first][-1]


def play(folder, limit=400):
    """What the page reports."""
    server = Server(folder)
    try:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
            result = browser.run_browser(server, profile, limit, None, query=f"?{NAME}")
    finally:
        server.shutdown()
        server.server_close()
    if isinstance(result, str):
        raise Bad(result)
    return result


def height(size):
    return int(size.split("x")[1])


def judge(told, show):
    """The errors of a playback."""
    def is_rising(one):
        return height(one["to"]) > height(one["from"])

    sizes, switches = told["segments"], told["switches"]
    lowest = min(sizes, key=height)
    yield from told["errors"]
    if not told.get("ended"):
        yield f"it ends at {told.get('time')} s"
        return
    end = float(min(rendition.end for rendition in show.media))
    if told["time"] < end - 0.1:
        yield f"the end is at {told['time']} s, not at {end:.3f} s"
    # Each picture is decoded once; after a switch, none is missing.
    pictures = len(show.variants[0].units)
    if abs(told["frames"] - pictures) > 2 or told["corrupted"]:
        yield f"{told['frames']} frames are decoded of {pictures}, {told['corrupted']} corrupted"
    if told["buffered"] != 1:
        yield f"there are {told['buffered']} buffered ranges"
    if not any(not is_rising(one) for one in switches) or not any(is_rising(one) for one in switches):
        yield f"it does not switch down and up: {switches}"
    if height(lowest) != min(height(variant.tag["RESOLUTION"]) for variant in show.variants):
        yield f"the lowest variant that is played is {lowest}"
    if len(set(told["sizes"])) < 2:
        yield f"the video element shows only {told['sizes']}"
    if told.get("soundBytes") == 0:
        yield "no sound is decoded"


def verify(program, scratch):
    """Makes a ladder, plays it, and judges the playback. Returns the number of failures."""
    browser.install()
    LADDER.encode(program, scratch / "browser")
    show = Presentation.load(scratch / "browser" / NAME)
    told = play(scratch / "browser")
    complaints = list(judge(told, show))
    for text in complaints:
        print(f"Chromium: {text}")
    switches = ", ".join(f"{one['from']} to {one['to']} at {one['at']:.1f} s" for one in told["switches"])
    print(f"Chromium: {told.get('frames')} frames, {told.get('dropped')} not shown, to {told.get('time')} s; "
          f"{switches}", flush=True)
    return 1 if complaints else 0
