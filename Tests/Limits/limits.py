# SPDX-License-Identifier: GPL-2.0-or-later
"""`vatoolbox encode` where the system gives little: descriptors, memory, room for files, interrupted calls.

Either the output is whole and the status 0, or there is an error on standard error, a status other than 0, and neither
an output under the final name nor a temporary file beside it. Never a deadline, and a signal only where memory ran out."""

import contextlib
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from runner.launch import run
from runner.places import client_environment

FRAMES = 30


@dataclass(frozen=True)
class Place:
    """Where frames are encoded."""

    name: str
    options: tuple
    environment: dict = field(hash=False, default_factory=dict)


def places(built):
    """Software; the reference driver in this process and in a helper."""
    gpu = client_environment(built)
    return [Place("x264", ("--device", "software", "--preset", "ultrafast"), dict(os.environ)),
            Place("GPU in the process", ("--isolation", "in-process", "--require-hardware"), gpu),
            Place("GPU in a helper", ("--isolation", "process", "--require-hardware"), gpu)]


@contextlib.contextmanager
def held(place):
    """The place's fake node, made and kept by another process: what makes it is not what is tried here."""
    holder = subprocess.Popen(["cat"], env=place.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        holder.stdin.write(b"there\n")
        holder.stdin.flush()
        holder.stdout.readline()
        yield
    finally:
        holder.stdin.close()
        holder.wait()


class Bench:
    """Encodes one clip again and again, and looks at what each run leaves."""

    def __init__(self, program, folder, size="160x90"):
        self.program, self.folder = program, Path(folder)
        self.source, self.output = self.folder / "clip.y4m", self.folder / "out.mp4"
        make = ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", f"testsrc2=size={size}:rate=30", "-frames:v",
                str(FRAMES), "-pix_fmt", "yuv420p", self.source]
        subprocess.run(make, check=True)
        self.names = set(os.listdir(self.folder))

    def encode(self, place, launcher=(), may_give_up=False, environment=None):
        """One run; returns whether it came to an output, and what is wrong with what it left.

        may_give_up: a signal may end it, or it may wait for ever; the temporary file may then be there."""
        self.output.unlink(missing_ok=True)
        command = [*launcher, self.program, "encode", self.source, "-o", self.output, "--qp", "30", "--quiet",
                   *place.options]
        ended = run([str(word) for word in command], environment or place.environment,
                    timeout=20 if may_give_up else 120)
        left = set(os.listdir(self.folder)) - self.names - {self.output.name}
        gave_up = may_give_up and (ended.timed_out or ended.status < 0)
        problems = [f"left behind: {', '.join(sorted(left))}"] if left and not gave_up else []
        for name in left:
            (self.folder / name).unlink()
        if ended.timed_out and not gave_up:
            problems.append("it did not end")
        elif ended.status == 0:
            problems += self.look()
        else:
            if self.output.exists():
                problems.append(f"{ended.description}, and an output")
            if ended.status < 0 and not gave_up:
                problems.append(f"{ended.description}: {ended.output[-300:]}")
            if ended.status > 0 and not ended.output.strip():
                problems.append(f"{ended.description}, and nothing is said")
        return ended.status == 0, problems

    def look(self):
        if not self.output.exists():
            return ["status 0, and no output"]
        count = subprocess.run(["ffprobe", "-v", "error", "-count_frames", "-show_entries", "stream=nb_read_frames",
                                "-of", "csv=p=0", self.output], capture_output=True, text=True)
        found = count.stdout.strip()
        return [] if found == str(FRAMES) else [f"{found} frames, not {FRAMES} {count.stderr[-200:]}"]


def limited(**limits):
    """A launcher that sets limits of `setrlimit` by `prlimit`'s names, and starts a program."""
    return ["prlimit", *(f"--{name}={value}:{value}" for name, value in limits.items())]


def descriptors(bench, place, least=5, most=80):
    """Every number of descriptors. With less than five, libraries give up before the program's first instruction."""
    passed, problems = [], []
    for count in range(least, most):
        good, found = bench.encode(place, limited(nofile=count))
        passed += [count] if good else []
        problems += [f"{count} descriptors: {problem}" for problem in found]
    if not passed:
        problems.append(f"not even {most - 1} descriptors are enough")
    enough = next((count for count in range(least, most) if all(more in passed for more in range(count, most))), None)
    return f"enough: {enough}", problems


def memory(bench, place, most=4096):
    """Address space from next to none to enough. The runtime ends a process that cannot allocate, and Dispatch waits as
    long as it cannot make a thread; neither can be caught. Nothing may be under the final name even then."""
    passed, problems = [], []
    sizes = [8 << step for step in range(4)] + list(range(96, 1024, 48)) + list(range(1024, most + 1, 256))
    for size in sizes:
        good, found = bench.encode(place, limited(**{"as": size << 20}), may_give_up=True)
        passed += [size] if good else []
        problems += [f"{size} MiB: {problem}" for problem in found]
    if not passed:
        problems.append(f"not even {most} MiB are enough")
    return f"enough: {min(passed, default=0)} MiB of addresses", problems


def room(bench, place):
    """Files of every size up to the output's: what a full disk does, but for the signal."""
    good, problems = bench.encode(place)
    whole = bench.output.stat().st_size if good else 0
    count = 0
    for size in sorted({0, 1, 100, *range(512, whole, max(512, whole // 24))}):
        good, found = bench.encode(place, limited(fsize=size))
        problems += [f"{size} bytes: {problem}" for problem in found]
        problems += [f"{size} bytes were enough for {whole}"] if good and size < whole else []
        count += 1
    return f"{count} sizes below {whole} bytes", problems


def interruptions(bench, place, library):
    """Every third call fails with EINTR."""
    preload = " ".join(filter(None, [str(library), place.environment.get("LD_PRELOAD", "")]))
    mark = Path(library).parent / "mark"
    mark.unlink(missing_ok=True)
    settings = {"LD_PRELOAD": preload, "INTERRUPT_MARK": str(mark)}
    good, problems = bench.encode(place, environment={**place.environment, **settings})
    problems += [] if mark.exists() else ["not twenty calls were interrupted"]
    return "whole" if good else "", problems if good else problems + ["it failed"]


def stops(bench, place, times=40):
    """Stopped and continued all the time, which interrupts calls in the kernel."""
    script = ("import os, signal, subprocess, sys, time\n"
              "child = subprocess.Popen(sys.argv[2:])\n"
              "for _ in range(int(sys.argv[1])):\n"
              "    if child.poll() is not None: break\n"
              "    os.kill(child.pid, signal.SIGSTOP); time.sleep(0.002)\n"
              "    os.kill(child.pid, signal.SIGCONT); time.sleep(0.004)\n"
              "sys.exit(child.wait())\n")
    good, problems = bench.encode(place, [sys.executable, "-c", script, str(times)])
    return "whole" if good else "", problems if good else problems + ["it failed"]
