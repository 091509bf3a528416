# SPDX-License-Identifier: GPL-2.0-or-later
"""Headless Chromium, driven by its DevTools protocol over a pair of pipes."""

import base64
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "Hardware"))

import browser  # noqa: E402


class Failure(Exception):
    """The browser is missing, says no, or nothing at all."""


class Chromium:
    """The browser, with one page. What the page does unasked is in `events`, as (method, parameters)."""

    def __init__(self, limit=120):
        program = browser.chromium()
        if not program:
            raise Failure("chromium is missing")
        self.limit, self.number, self.events, self.rest = limit, 0, [], b""
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()
        command = [program, "--headless=new", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage",
                   "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}"]
        if os.geteuid() == 0:
            command.append("--no-sandbox")
        environment = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "RENDER_NODES")}
        environment |= {"HOME": self.profile.name}
        # The browser reads descriptor 3 and writes descriptor 4.
        shell = ["bash", "-c", f'exec "$@" 3<&{to_browser} 4>&{from_browser}', "bash", *command]
        self.log = open(Path(self.profile.name) / "log", "w+")
        self.process = subprocess.Popen(shell, pass_fds=(to_browser, from_browser), stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=self.log, env=environment, start_new_session=True)
        os.close(to_browser)
        os.close(from_browser)
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.write_end)
        os.close(self.read_end)
        self.log.close()
        self.profile.cleanup()

    def call(self, method, **parameters):
        """Calls a method of the protocol and returns its result."""
        self.number += 1
        number = self.number
        message = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.write_end, data):]
        while True:
            answer = self.receive()
            if answer.get("id") == number:
                if "error" in answer:
                    raise Failure(f"{method}: {answer['error']}")
                return answer["result"]

    def receive(self):
        """The next message; events are kept as well."""
        while b"\0" not in self.rest:
            if not self.is_readable():
                raise Failure(f"no answer in {self.limit} s: {Path(self.log.name).read_text()[-1500:]}")
            data = os.read(self.read_end, 1 << 20)
            if not data:
                raise Failure(f"the browser has ended: {Path(self.log.name).read_text()[-1500:]}")
            self.rest += data
        message, _, self.rest = self.rest.partition(b"\0")
        message = json.loads(message)
        if "method" in message:
            self.events.append((message["method"], message["params"]))
        return message

    def is_readable(self):
        return bool(select.select([self.read_end], [], [], self.limit)[0])

    def show(self, width, height, scheme, scale=1):
        """Sets the size of the screen in CSS pixels and the colour scheme that the user prefers."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale,
                  mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, url):
        """Opens a page and waits until it is loaded."""
        self.events.clear()
        self.call("Page.navigate", url=url)
        end = time.monotonic() + self.limit
        while not any(method == "Page.loadEventFired" for method, _ in self.events):
            if time.monotonic() > end:
                raise Failure(f"{url} is not loaded in {self.limit} s")
            self.receive()

    def evaluate(self, expression):
        """The value of a script's expression."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise Failure(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def press(self, key, code, text=""):
        """Presses a key and lets it go."""
        common = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def screenshot(self, path, whole=True, area=None):
        """Writes a picture of the page, all of it or what is on the screen, or an area (x, y, width, height)."""
        options = {"format": "png", "captureBeyondViewport": whole}
        if area:
            options["clip"] = dict(zip(("x", "y", "width", "height"), area)) | {"scale": 1}
            options["captureBeyondViewport"] = True
        Path(path).write_bytes(base64.b64decode(self.call("Page.captureScreenshot", **options)["data"]))
