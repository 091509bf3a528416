# SPDX-License-Identifier: GPL-2.0-or-later
"""Headless Chromium plays a ladder from a server that becomes slow and fast again, and a variant whose encoder changes.
"""

import http.server
import json
import tempfile
import threading
import time
from pathlib import Path

import browser
from good import CASES, NAME, Bad, Case, Clip, ladder
from presentation import Presentation
from reading import TYPES

PAGE = Path(__file__).resolve().parent / "player.html"
SECONDS = 36
LADDER = Case("Chromium", Clip(SECONDS, "640x360", sounds=(("eng", 2),)),
              (*ladder("h264", "360p:1500k", "270p:600k", "180p:200k"), "--segment-duration", "2"))
SWITCH = next(case for case in CASES if case.name == "switch")
# Bits per second from a number of video segments on: the highest variant fits, the middle, the lowest, the highest.
PHASES = ((0, 40e6), (4, 1.5e6), (8, 500e3), (12, 40e6))
FAST = ((0, 40e6),)
ONE = "one.m3u8"


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
    def __init__(self, folder, phases):
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder, self.phases, self.results, self.is_done = folder, phases, None, threading.Event()
        self.served, self.lock = 0, threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def rate(self, path):
        """The rate for a file, by the number of video segments that were served before."""
        if path.suffix != ".m4s" or "audio" in path.parent.name:
            return None
        with self.lock:
            number, self.served = self.served, self.served + 1
        return [rate for first, rate in self.phases if number >= first][-1]


def play(folder, name, phases, limit=400):
    """What the page reports of a presentation."""
    server = Server(folder, phases)
    try:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
            result = browser.run_browser(server, profile, limit, None, query=f"?{name}")
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
    yield from told["errors"]
    if not told.get("ended"):
        yield f"it stops at {told.get('time')} s"
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
    if show.audio and told.get("soundBytes") == 0:
        yield "no sound is decoded"


def judge_switches(told, show):
    """The errors of a playback from a server that becomes slow and fast again."""
    rises = [height(one["to"]) > height(one["from"]) for one in told["switches"]]
    if set(rises) != {True, False}:
        yield f"it does not switch down and up: {told['switches']}"
    heights = [height(variant.tag["RESOLUTION"]) for variant in show.variants]
    played = [height(size) for size in told["segments"]]
    if (min(played), max(played)) != (min(heights), max(heights)):
        yield f"the variants that are played have {sorted(set(played))} lines, there are {sorted(heights)}"
    if len(set(told["sizes"])) < 2:
        yield f"the video element shows only {told['sizes']}"


def self_test(show):
    """Wrong reports of a page, which must be noticed. Returns those that are not."""
    low, high = sorted((variant.tag["RESOLUTION"] for variant in show.variants), key=height)
    down, up = {"from": high, "to": low, "at": 1}, {"from": low, "to": high, "at": 2}
    good = {"errors": [], "ended": True, "time": float(show.variants[0].end), "frames": len(show.variants[0].units),
            "corrupted": 0, "buffered": 1, "soundBytes": 9, "segments": [high, low, high], "switches": [down, up],
            "sizes": [high, low, high]}
    wrong = [{"errors": ["refused"]}, {"ended": False}, {"time": 1.0}, {"frames": 9}, {"corrupted": 1}, {"buffered": 2},
             {"soundBytes": 0}, {"segments": [high]}, {"switches": [down]}, {"switches": [up]}, {"sizes": [high]}]
    missed = [f"the report of a playback with {change} is accepted" for change in wrong
              if not [*judge(good | change, show), *judge_switches(good | change, show)]]
    return missed + [f"a good report is refused: {text}" for text in [*judge(good, show), *judge_switches(good, show)]]


def one_variant(show):
    """The multivariant playlist with only the variant whose encoder changed, and its presentation."""
    changed = next(variant for variant in show.variants if len(variant.tracks) > 1)
    lines = show.files[show.main].decode().splitlines()
    place = lines.index(changed.tag["URI"])
    text = "\n".join([lines[0], lines[place - 1], lines[place], ""]).encode()
    return text, Presentation(show.files | {ONE: text}, ONE)


def verify(program, scratch):
    """Plays a ladder, and a variant with a change of the encoder. Returns the number of failures."""
    browser.install()
    folder = scratch / "browser"
    LADDER.encode(program, folder)
    show = Presentation.load(folder / NAME)
    told = play(folder, NAME, PHASES)
    failures = report("a ladder", told, [*judge(told, show), *judge_switches(told, show)])

    folder = scratch / "browser-switch"
    SWITCH.encode(program, folder)
    text, show = one_variant(Presentation.load(folder / NAME))
    (folder / ONE).write_bytes(text)
    told = play(folder, ONE, FAST)
    return failures + report("a change of the encoder", told, list(judge(told, show)))


def report(name, told, complaints):
    for text in complaints:
        print(f"Chromium, {name}: {text}")
    switches = ", ".join(f"{one['from']} to {one['to']} at {one['at']:.1f} s" for one in told["switches"])
    print(f"Chromium, {name}: {told.get('frames')} frames to {told.get('time')} s, {told.get('dropped')} of them not "
          f"shown"
          + (f"; {switches}" if switches else ""), flush=True)
    return 1 if complaints else 0
