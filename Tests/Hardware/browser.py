# SPDX-License-Identifier: GPL-2.0-or-later
"""Headless Chromium as a player: it plays files to their ends and reads the numbers off their pictures."""

import base64
import http.server
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

PAGE = Path(__file__).resolve().parent / "player.html"
TYPES = {".html": "text/html", ".mp4": "video/mp4", ".mkv": "video/x-matroska"}


def chromium():
    """The program; None where it is not installed."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def install():
    """Installs the program if it is missing and the user is root. Needs Tests/Drivers among the paths of modules."""
    from runner.places import Problem
    if chromium():
        return
    if os.geteuid() != 0:
        raise Problem("chromium is missing: sudo apt-get install chromium, or --without-browser")
    print("installing chromium", flush=True)
    command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0 or not chromium():
        raise Problem(f"chromium cannot be installed: {done.stdout[-600:]}")


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves the page, the list of what to play, and the files, whole or in parts."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/list":
            return self.answer(json.dumps(self.server.items).encode(), "application/json")
        name = self.path.lstrip("/")
        path = PAGE if name == "" else self.server.folder / name
        if "/" in name or not path.is_file():
            return self.answer(b"", "text/plain", 404)
        return self.answer(path.read_bytes(), TYPES.get(path.suffix, "application/octet-stream"))

    def answer(self, data, kind, status=200):
        asked = self.headers.get("Range", "")
        first, last = 0, len(data) - 1
        if status == 200 and asked.startswith("bytes="):
            begin, _, end = asked[len("bytes="):].partition("-")
            first, last, status = int(begin or 0), min(int(end or last), last), 206
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(last - first + 1))
        if status == 206:
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
        self.end_headers()
        self.wfile.write(data[first:last + 1])

    def do_POST(self):
        told = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.results, self.server.picture = told["results"], base64.b64decode(told["picture"])
        self.answer(b"", "text/plain")
        self.server.is_done.set()

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    """A server whose client may go away in the middle of an answer, as a player does that seeks."""

    daemon_threads = True

    def handle_error(self, *_):
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(*_)


def play(folder, items, limit=900, screenshot=None):
    """What the browser saw of each item: `file` in the folder, `by` ("src" or "MediaSource", with a `type`), the number
    of `frames` and their `rate`. A list like that of the items, or a string that says why there is none.

    screenshot: where to put a picture of the page at the end, a PNG."""
    server = Server(("127.0.0.1", 0), Handler)
    server.folder, server.items, server.results = Path(folder), items, None
    server.is_done = threading.Event()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
            return run_browser(server, profile, limit, screenshot and Path(screenshot))
    finally:
        server.shutdown()
        server.server_close()


def run_browser(server, profile, limit, screenshot, query=""):
    command = [chromium(), "--headless=new", "--disable-gpu", "--no-first-run", f"--user-data-dir={profile}",
               "--autoplay-policy=no-user-gesture-required", "--disable-dev-shm-usage", "--mute-audio"]
    if os.geteuid() == 0:
        command.append("--no-sandbox")
    page = f"http://127.0.0.1:{server.server_address[1]}/{query}"
    environment = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "RENDER_NODES")}
    environment |= {"HOME": profile, "XDG_CONFIG_HOME": profile, "XDG_CACHE_HOME": profile}
    with open(Path(profile) / "log", "w+") as log:
        # With a port for debugging the page lives until the browser is ended.
        browser = subprocess.Popen([*command, "--remote-debugging-port=0", page], stdin=subprocess.DEVNULL, stdout=log,
                                   stderr=log, env=environment, start_new_session=True)
        try:
            if not server.is_done.wait(limit):
                log.seek(0)
                return f"no answer in {limit} s: {log.read()[-1500:]}"
        finally:
            os.killpg(browser.pid, signal.SIGKILL)
            browser.wait()
    if screenshot:
        screenshot.write_bytes(server.picture)
    return server.results
