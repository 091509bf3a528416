# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs one program in a process group of its own, with a deadline."""

import os
import signal
import subprocess
import time
from dataclasses import dataclass


@dataclass
class Ended:
    """How a program ended."""

    status: int  # exit status, or minus the signal's number
    timed_out: bool
    output: str  # of both streams, undecodable bytes replaced
    seconds: float

    @property
    def description(self):
        if self.timed_out:
            return f"killed after {self.seconds:.0f} s"
        if self.status < 0:
            return f"ended by {signal.Signals(-self.status).name}"
        return f"exit status {self.status}"


class Termination:
    """Makes SIGTERM end the program by SystemExit, so that what it runs is killed first, but never while a program is
    about to start: its process group would be lost."""

    def __init__(self):
        self.starting = False
        self.pending = None

    def install(self):
        signal.signal(signal.SIGTERM, self.handle)

    def handle(self, number, _):
        if self.starting:
            self.pending = number
        else:
            raise SystemExit(128 + number)

    def start(self, *arguments, **options):
        """subprocess.Popen; a signal that came meanwhile counts afterwards."""
        self.starting = True
        try:
            process = subprocess.Popen(*arguments, **options)
        finally:
            self.starting = False
        if self.pending is not None:
            end_group(process)
            process.wait()
            raise SystemExit(128 + self.pending)
        return process


termination = Termination()


def run(command, environment=None, timeout=60, folder=None):
    """Runs the command. Whatever it started dies with it: at the deadline, and when it leaves something behind."""
    start = time.monotonic()
    process = termination.start(command, env=environment, cwd=folder, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    timed_out = False
    try:
        output, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        timed_out = True
        end_group(process)
        output, _ = process.communicate()
    except BaseException:
        end_group(process)
        process.wait()
        raise
    end_group(process)
    return Ended(process.returncode, timed_out, output.decode(errors="replace"), time.monotonic() - start)


def end_group(process):
    """Kills the process group that `process` leads, if anything of it is left."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
