# SPDX-License-Identifier: GPL-2.0-or-later
"""Long sessions, sessions with continuous faults, and many consecutive or simultaneous sessions: no frame is lost, and
nothing grows."""

import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import endurance
import failover
import torture

# Faults of the reference driver: the target, the first call of a display that may fail, the average number of calls
# between faults, and the action. Each hang takes a deadline, and the GPU is given up after two hangs within 250 frames,
# so hangs begin late; all other faults may begin with the first call. Together, they end an encoder about every
# 250 frames, and more often during its creation.
FAULTS = (
    ("coded", 1, 3000, "status:0x8000"), ("coded", 1, 3000, "size:0"), ("coded", 1, 3000, "overflow"),
    ("vaEndPicture", 1, 3000, "status:0x18"), ("vaEndPicture", 1, 3000, "device-lost"),
    ("vaSyncBuffer", 1, 3000, "status:0x1"), ("vaCreateBuffer", 1, 20000, "status:0x2"),
    ("vaMapBuffer", 1, 20000, "device-lost"), ("vaCreateContext", 1, 12, "status:0x2"),
)
# Faults that a process or a thread does not survive.
FATAL_FAULTS = (
    ("vaRenderPicture", 1, 8000, "segv"), ("coded", 1, 3000, "abort"), ("vaCreateContext", 1, 25, "segv"),
    ("coded", 300, 5000, "hang"), ("vaEndPicture", 300, 5000, "hang"),
)
DEADLINES = ("frame-deadline=3000", "creation-deadline=10000")
SMALL = (f"width={failover.SIZE}", f"height={failover.SIZE}", "pictures=numbered", "b-frames=2", "interval=250")


@dataclass
class Outcome:
    """The outcome of a trial."""

    name: str
    amount: str
    states: list
    complaints: list
    failed: int | None = None  # encoders; None if no encoder can fail
    seconds: float = 0.0
    notes: list = field(default_factory=list)


def long_session(name, program, frames, words, driver, device, faults=()):
    """One session with many numbered frames. `device` must finish it."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "stream.h264"
        trial = endurance.Trial(program, folder, "encode", str(output), f"frames={frames}", f"pause={frames // 20}",
                                *SMALL, *words, settle=False, keeps=True, **driver)
        complaints = trial.run(300 + frames // 40)
        complaints += torture.judge(trial.told, trial.status, frames, output, device)
    end = next((entry for entry in trial.told if entry["kind"] == "end"), {})
    outcome = Outcome(name, f"{frames} frames", trial.states, complaints, end.get("failed"),
                      time.monotonic() - start)
    fired = Counter((entry["target"], entry["action"]) for entry in trial.journal.faults)
    complaints += [f"no {target}={action} came" for target, first, chance, action in faults
                   # Encoders of short trials end before that.
                   if frames > 10 * chance and (first == 1 or frames >= 100_000)
                   and not fired[target, action.split(":")[0]]]
    if faults:
        outcome.notes = [
            f"{end.get('created')} encoders were created, {end.get('failed')} failed, {end.get('repeated')} frames were "
            f"coded again, {trial.journal.resubmissions} times with a larger buffer",
            ", ".join(f"{target} {action} {count}" for (target, action), count in sorted(fired.items()))]
    return outcome


def software(program, codec, frames):
    words = (f"codec={codec}", "policy=software", "preset=ultrafast", "isolation=in-process")
    name = f"{ {'h264': 'x264', 'hevc': 'x265'}[codec]}, one session"
    return long_session(name, program, frames, words, {}, "")


def faulty(program, isolation, frames, seed):
    """The probabilities apply to 100,000 frames. Shorter trials use higher ones, so that as many faults occur."""
    chosen = FAULTS + (FATAL_FAULTS if isolation == "process" else ())
    scaled = [(target, first, max(2, chance * frames // 100_000) if chance > 100 else chance, action)
              for target, first, chance, action in chosen]
    driver = {"effort": "", "seed": seed,
              "faults": ";".join(f"{target}:{first}~{chance}={action}" for target, first, chance, action in scaled)}
    words = (f"isolation={isolation}", f"devices={failover.FIRST},software", *DEADLINES)
    return long_session(f"random faults, {place(isolation)}, one session", program, frames, words, driver,
                        failover.FIRST, scaled)


def place(isolation):
    return {"process": "in a helper", "in-process": "in process"}[isolation]


def many(program, encoder, isolation, sessions):
    """Consecutive sessions, which are finished, cancelled and released in turn."""
    start = time.monotonic()
    words = ("policy=software", "preset=ultrafast") if encoder == "x264" else ()
    trial, complaints, _ = endurance.many_sessions(program, isolation, sessions, "codec=h264", *words)
    return Outcome(f"{encoder}, {place(isolation)}, one after the other", f"{sessions} sessions", trial.states, complaints,
                   seconds=time.monotonic() - start)


def crowd(program, encoder, isolation, together, rounds):
    """Simultaneous sessions. Returns two outcomes: while they exist, and after they have ended."""
    start = time.monotonic()
    words = ("policy=software", "preset=ultrafast") if encoder == "x264" else ()
    sessions = together * rounds
    trial, complaints, _ = endurance.many_sessions(
        program, isolation, sessions, "codec=h264", *words, f"together={together}", f"pause={together}", "meet=on",
        "width=320", "height=180")
    name, seconds = f"{encoder}, {place(isolation)}", time.monotonic() - start
    # Each session may hold one or two buffers that the others do not need at the moment.
    growth = endurance.growth_of(trial.peaks, 2 * together)
    helpers = together if isolation == "process" else 0
    growth += [f"{state.processes} processes" for _, state in trial.peaks if state.processes < 1 + helpers][:1]
    return [Outcome(f"{name}, while {together} are there", f"{rounds} times {together} sessions", trial.peaks, growth,
                    seconds=seconds),
            Outcome(f"{name}, after {together} at once", f"{rounds} times {together} sessions", trial.states, complaints,
                    seconds=seconds)]


def table(outcomes):
    """A Markdown table. Each cell has the first value, with which later ones are compared, and the last value."""
    lines = ["| trial | amount | encoders failed | processes | threads | descriptors | memory, MiB | time, s |",
             "|---|---|---|---|---|---|---|---|"]
    for outcome in outcomes:
        cells = [outcome.name, outcome.amount, "–" if outcome.failed is None else str(outcome.failed)]
        ends = (endurance.first_states(outcome.states)[-1], outcome.states[-1][1]) if outcome.states else ()
        for name, unit in (("processes", 1), ("threads", 1), ("descriptors", 1), ("kibibytes", 1024)):
            values = [getattr(state, name) / unit for state in ends]
            cells.append(" to ".join(f"{value:.1f}" if unit > 1 else f"{value:.0f}" for value in values) or "–")
        lines.append("| " + " | ".join([*cells, f"{outcome.seconds:.0f}"]) + " |")
    return "\n".join(lines)


def document(outcomes, seed):
    """The part of docs/reliability.md."""
    return f"""## Long runs and many sessions

`scripts/verify soak` measures whether memory, descriptors, threads or processes grow.

In the trials with one session, the session is long. It runs on x264, on x265, or on the reference driver with random
faults (seed {seed}): calls that return an error, a lost device, empty or oversized pictures and, in a helper process,
crashes and pictures that are never completed. The session therefore replaces its encoder many times. Every frame shows
its number and must come out exactly once and in order, in a stream that decodes without errors. In the trials with
faults, the GPU must finish the session.

In the trials with consecutive sessions, each session encodes 8 frames of 96x64. The sessions are finished, cancelled
and released in turn. Simultaneous sessions do the same with 320x180.

Each figure covers the program and its helpers, and shows the state after a quarter of the trial and at its end. Growth
is a failure, except for {endurance.ALLOWED_KIB // 1024} MiB of memory, {endurance.ALLOWED_THREADS} threads of the Swift
runtime's pools, and descriptors of buffers of active sessions. Memory is memory that is not backed by files, measured
after `malloc_trim`. Without `malloc_trim`, the C library keeps freed memory, and a program that repeatedly had 64
simultaneous sessions in its own process retains about 350 MiB.

{table(outcomes)}
"""
