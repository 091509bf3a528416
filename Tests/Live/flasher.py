#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Flashes a window of an X server and beeps through PulseAudio at the same moments, once a second.

    flasher.py DISPLAY SERVER SINK

The sound server says when a sample will be heard; the window becomes white at that moment, for a tenth of a second.
Prints a line per flash: the time of CLOCK_MONOTONIC at which the beep is heard, and by how much the window was late."""

import ctypes
import ctypes.util
import math
import struct
import sys
import threading
import time

RATE = 48000
CHUNK = RATE // 100
BEEP = RATE // 10


def library(name):
    return ctypes.CDLL(ctypes.util.find_library(name) or f"lib{name}.so")


class Window:
    """A window over the upper left quarter of the screen, black or white."""

    def __init__(self, display):
        self.x = library("X11")
        self.x.XOpenDisplay.restype = ctypes.c_void_p
        for name in ("XDefaultRootWindow", "XCreateSimpleWindow"):
            getattr(self.x, name).restype = ctypes.c_ulong
        self.display = ctypes.c_void_p(self.x.XOpenDisplay(display.encode()))
        if not self.display:
            raise SystemExit(f"flasher: no display {display}")
        root = self.x.XDefaultRootWindow(self.display)
        screen = self.x.XDefaultScreen(self.display)
        width, height = self.x.XDisplayWidth(self.display, screen), self.x.XDisplayHeight(self.display, screen)
        self.window = ctypes.c_ulong(self.x.XCreateSimpleWindow(
            self.display, ctypes.c_ulong(root), 0, 0, width // 4, height // 4, 0, ctypes.c_ulong(0), ctypes.c_ulong(0)))
        self.x.XMapWindow(self.display, self.window)
        self.x.XSync(self.display, 0)

    def show(self, is_white):
        self.x.XSetWindowBackground(self.display, self.window, ctypes.c_ulong(0xFFFFFF if is_white else 0))
        self.x.XClearWindow(self.display, self.window)
        self.x.XSync(self.display, 0)


class SampleSpec(ctypes.Structure):
    _fields_ = [("format", ctypes.c_int), ("rate", ctypes.c_uint32), ("channels", ctypes.c_uint8)]


class BufferSizes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in ("maximum", "target", "prebuffer", "minimum", "fragment")]


class Sound:
    """A stream to a sink, with the time at which what is written next will be heard."""

    def __init__(self, server, sink):
        self.pulse = library("pulse-simple")
        self.pulse.pa_simple_new.restype = ctypes.c_void_p
        self.pulse.pa_simple_get_latency.restype = ctypes.c_uint64
        # Signed 16-bit samples, little endian.
        spec = SampleSpec(3, RATE, 1)
        none = 2 ** 32 - 1
        sizes = BufferSizes(none, RATE * 2 // 10, none, none, none)
        error = ctypes.c_int()
        self.stream = ctypes.c_void_p(self.pulse.pa_simple_new(
            server.encode(), b"flasher", 1, sink.encode(), b"beeps", ctypes.byref(spec), None, ctypes.byref(sizes),
            ctypes.byref(error)))
        if not self.stream:
            raise SystemExit(f"flasher: no sound server {server}: {error.value}")

    def write(self, samples):
        error = ctypes.c_int()
        if self.pulse.pa_simple_write(self.stream, samples, ctypes.c_size_t(len(samples)), ctypes.byref(error)) < 0:
            raise SystemExit(f"flasher: the sound server is gone: {error.value}")

    def heard_at(self):
        error = ctypes.c_int()
        latency = self.pulse.pa_simple_get_latency(self.stream, ctypes.byref(error))
        return time.monotonic() + latency / 1e6


def main():
    window, sound = Window(sys.argv[1]), Sound(sys.argv[2], sys.argv[3])
    moments, is_filled = [], threading.Condition()

    def flash():
        while True:
            with is_filled:
                is_filled.wait_for(lambda: moments)
                moment = moments.pop(0)
            time.sleep(max(moment - time.monotonic(), 0))
            window.show(True)
            late = time.monotonic() - moment
            time.sleep(max(moment + 0.1 - time.monotonic(), 0))
            window.show(False)
            print(f"{moment:.6f} {late:.6f}", flush=True)

    threading.Thread(target=flash, daemon=True).start()
    silence = bytes(CHUNK * 2)
    beep = struct.pack(f"<{BEEP}h", *(int(12000 * math.sin(2 * math.pi * 1000 * index / RATE)) for index in range(BEEP)))
    # The latency is not known before the stream plays.
    for _ in range(100):
        sound.write(silence)
    count = 0
    while True:
        if count % 100 == 0:
            with is_filled:
                moments.append(sound.heard_at())
                is_filled.notify()
        part = count % 100 * CHUNK * 2
        sound.write(beep[part:part + CHUNK * 2] if part < len(beep) else silence)
        count += 1


if __name__ == "__main__":
    main()
