# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether anything grows with the number of frames or sessions: memory, descriptors, threads, processes, and what the
driver keeps for the client."""

import json
import os
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from runner.journal import read_journal
from runner.launch import end_group
from runner.places import build, client_environment

# What heaps may do without a leak: no frame or session leaves as much as a picture.
ALLOWED_KIB = 4096
# Threads of Swift's pools, which start when they are first needed, and stay.
ALLOWED_THREADS = 2
QUIET_SECONDS = 30


@dataclass
class State:
    """A process and its children."""

    processes: int
    descriptors: int
    threads: int
    kibibytes: int

    def __str__(self):
        return (f"{self.processes:3} processes {self.descriptors:4} descriptors {self.threads:4} threads "
                f"{self.kibibytes:8} KiB")


def tree_of(process):
    """The process and its descendants that have not ended."""
    found, open_ones = [], [process]
    while open_ones:
        current = open_ones.pop()
        try:
            if Path(f"/proc/{current}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                continue
            found.append(current)
            for task in os.listdir(f"/proc/{current}/task"):
                open_ones += map(int, Path(f"/proc/{current}/task/{task}/children").read_text().split())
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def state_of(process):
    """What the kernel says; proportional memory, since pictures are shared with helpers. Without files: how much of a
    library is a process's own depends on who else has it loaded."""
    state = State(0, 0, 0, 0)
    for each in tree_of(process):
        try:
            descriptors, threads = len(os.listdir(f"/proc/{each}/fd")), len(os.listdir(f"/proc/{each}/task"))
            rollup = Path(f"/proc/{each}/smaps_rollup").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        state.processes += 1
        state.descriptors += descriptors
        state.threads += threads
        state.kibibytes += sum(int(line.split()[1]) for line in rollup.splitlines()
                               if line.startswith(("Pss_Anon:", "Pss_Shmem:")))
    return state


def first_states(states):
    """The states that the last one is compared with. Heaps settle in the first hundred sessions or so: of short trials,
    only the second half is judged."""
    quarter, half = len(states) // 4, len(states) // 2
    return [state for _, state in states[:(quarter if states[quarter][0] >= 100 else half) + 1]]


def growth_of(states, pools):
    """What is wrong with states, each of which has the number of what was done before it; `pools` descriptors may be
    added. Compared is the most of the first states: where encoders fail, one may be seen without a helper."""
    if len(states) < 4:
        return [f"{len(states)} states were seen"]
    first, last = first_states(states), states[-1][1]

    def most(name):
        return max(getattr(state, name) for state in first)

    allowed = {"processes": 0, "descriptors": pools, "threads": ALLOWED_THREADS}
    complaints = [f"{name} grow: {most(name)} to {getattr(last, name)}"
                  for name, more in allowed.items() if getattr(last, name) > most(name) + more]
    if last.kibibytes > most("kibibytes") + ALLOWED_KIB:
        complaints.append(f"memory grows: {most('kibibytes')} to {last.kibibytes} KiB")
    return complaints


class Trial:
    """A run of HardwareScenarios that pauses now and then; between pauses it does always the same. `driver` is given to
    client_environment; `seed` is what faults by chance start from."""

    # Pools of a session at work hold a descriptor or two for each picture that was ever in use at a time; those of a new
    # encoder's are small at first.
    POOLS, POOLS_OF_NEW_ENCODERS = 16, 48

    def __init__(self, program, folder, *words, settle=True, keeps=False, seed=0, **driver):
        self.journal_path = Path(folder) / "journal"
        self.journal_path.unlink(missing_ok=True)
        displays = self.journal_path.with_name("displays")  # where helpers may write
        self.environment = client_environment(
            build(), journal=self.journal_path, **{"effort": "skip", **driver},
            extra={"REFERENCE_DRIVER_SEED": str(seed), "REFERENCE_DRIVER_DISPLAYS": str(displays)})
        self.command = [str(program), *words]
        self.settle = settle  # at a pause no session is there: helpers go
        self.keeps = keeps  # what the program says
        self.told = []
        self.status = None  # with which the program ended
        self.states = []
        self.peaks = []  # states while sessions wait for each other in their middle
        self.complaints = []

    def run(self, limit):
        """Runs it to its end, at most `limit` seconds."""
        end = time.monotonic() + limit
        process = subprocess.Popen(self.command, env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        last = ""
        try:
            for line in process.stdout:
                text = line.decode(errors="replace")
                if time.monotonic() > end:
                    self.complaints.append(f"takes longer than {limit} s")
                    break
                if '"kind":"resting"' in text or '"kind":"pause"' in text:
                    place = json.loads(text)
                    is_peak = "open" in place
                    state = self.quiet_state(process.pid, self.settle and not is_peak)
                    if place["kind"] == "pause":
                        (self.peaks if is_peak else self.states).append((place["count"], state))
                    process.stdin.write(b"\n")
                    process.stdin.flush()
                    continue
                if self.keeps and text.startswith('{"'):
                    self.told.append(json.loads(text))
                if '"kind":"sample"' not in text:
                    last = text
            else:
                self.status = process.wait(60)
                if self.status != 0 or '"kind":"end"' not in last:
                    self.complaints.append(f"ended with {self.status}: {last.strip()}")
        finally:
            end_group(process)
            process.wait()
        self.journal = read_journal(self.journal_path)
        self.judge()
        return self.complaints

    def quiet_state(self, process, settle):
        """The state once it stays the same, and helpers without a session are gone if it has to settle."""
        limit, last = time.monotonic() + QUIET_SECONDS, None
        while time.monotonic() < limit:
            state = state_of(process)
            if last and (state.processes, state.descriptors, state.threads) == (
                    last.processes, last.descriptors, last.threads) and (state.processes == 1 or not settle):
                return state
            last = state
            time.sleep(0.05)
        self.complaints.append(f"does not come to rest: {last}")
        return last

    def judge(self):
        pools = self.POOLS_OF_NEW_ENCODERS if self.journal.faults else self.POOLS
        self.complaints += growth_of(self.states, 0 if self.settle else pools)
        self.complaints += [str(finding) for finding in self.journal.findings[:6]]
        # What is ended by force does not end its displays.
        if self.journal.never_terminated and not self.journal.faults:
            self.complaints.append(f"{self.journal.never_terminated} displays never terminated")

    def most(self, kind):
        """How many objects of the kind one display had at a time."""
        return max((entry["most"][kind] for entry in self.journal.entries if entry.get("kind") == "terminate"),
                   default=0)


def long_session(program, isolation, frames, *words):
    """One session of many frames, against one of few: the driver keeps no more for it."""
    with tempfile.TemporaryDirectory() as folder:
        output = str(Path(folder) / "stream.h264")
        options = ["b-frames=2", "interval=50", f"isolation={isolation}", *words]
        short = Trial(program, folder, "encode", output, "frames=400", "pause=100", *options, settle=False)
        complaints = short.run(120)
        few = {kind: short.most(kind) for kind in ("surface", "buffer", "image", "context")}
        trial = Trial(program, folder, "encode", output, f"frames={frames}", f"pause={frames // 20}", *options,
                      settle=False)
        complaints = complaints + trial.run(60 + frames // 20)
        many = {kind: trial.most(kind) for kind in few}
        # Pools grow to what was in use at a time, which depends on the moment by a few pictures, and stay there.
        for kind in few:
            if many[kind] > few[kind] + (8 if kind in ("buffer", "surface") else 0):
                complaints.append(f"{kind}s of the driver grow: {few[kind]} at a time in 400 frames, {many[kind]} in "
                                  f"{frames}")
        return trial, complaints, many


def many_sessions(program, isolation, sessions, *words):
    """Sessions that are finished, cancelled and dropped in turn."""
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(program, folder, "sessions", f"sessions={sessions}", f"pause={max(1, sessions // 20)}",
                      "frames=8", "width=96", "height=64", f"isolation={isolation}", *words)
        complaints = trial.run(60 + 2 * sessions)
        return trial, complaints, {kind: trial.most(kind) for kind in ("surface", "buffer", "context")}
