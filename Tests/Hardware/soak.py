# SPDX-License-Identifier: GPL-2.0-or-later
"""Sessions that go on for long, meet faults all the time, are many, or are many at once: that no frame is lost, and that
nothing grows."""

import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import endurance
import failover
import torture

# How often an action of the reference driver comes, in so many calls of its target on the average, and from which call of
# a display on. Hangs cost a deadline each, and two in 250 frames would be the GPU's end; everything else may come at once.
# Together they end an encoder every 250 frames or so, more often while it is made.
FAULTS = (
    ("coded", 1, 3000, "status:0x8000"), ("coded", 1, 3000, "size:0"), ("coded", 1, 3000, "overflow"),
    ("vaEndPicture", 1, 3000, "status:0x18"), ("vaEndPicture", 1, 3000, "device-lost"),
    ("vaSyncBuffer", 1, 3000, "status:0x1"), ("vaCreateBuffer", 1, 20000, "status:0x2"),
    ("vaMapBuffer", 1, 20000, "device-lost"), ("vaCreateContext", 1, 12, "status:0x2"),
)
# What a process does not survive, or a thread.
FATAL_FAULTS = (
    ("vaRenderPicture", 1, 8000, "segv"), ("coded", 1, 3000, "abort"), ("vaCreateContext", 1, 25, "segv"),
    ("coded", 300, 5000, "hang"), ("vaEndPicture", 300, 5000, "hang"),
)
DEADLINES = ("frame-deadline=3000", "creation-deadline=10000")
SMALL = (f"width={failover.SIZE}", f"height={failover.SIZE}", "pictures=numbered", "b-frames=2", "interval=250")


@dataclass
class Outcome:
    """What came of a trial."""

    name: str
    amount: str
    states: list
    complaints: list
    failed: int | None = None  # encoders; None where none could
    seconds: float = 0.0
    notes: list = field(default_factory=list)


def long_session(name, program, frames, words, driver, device, faults=()):
    """One session of many numbered frames, which `device` has to finish."""
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
                   # Encoders of short trials do not live so long.
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
    """The chances are those of 100,000 frames; fewer meet as many faults."""
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
    """Sessions one after the other, finished, cancelled and dropped in turn."""
    start = time.monotonic()
    words = ("policy=software", "preset=ultrafast") if encoder == "x264" else ()
    trial, complaints, _ = endurance.many_sessions(program, isolation, sessions, "codec=h264", *words)
    return Outcome(f"{encoder}, {place(isolation)}, one after the other", f"{sessions} sessions", trial.states, complaints,
                   seconds=time.monotonic() - start)


def crowd(program, encoder, isolation, together, rounds):
    """Sessions that are there at once, and then are not; two outcomes."""
    start = time.monotonic()
    words = ("policy=software", "preset=ultrafast") if encoder == "x264" else ()
    sessions = together * rounds
    trial, complaints, _ = endurance.many_sessions(
        program, isolation, sessions, "codec=h264", *words, f"together={together}", f"pause={together}", "meet=on",
        "width=320", "height=180")
    name, seconds = f"{encoder}, {place(isolation)}", time.monotonic() - start
    # Each may hold a buffer or two that others do not need at the moment.
    growth = endurance.growth_of(trial.peaks, 2 * together)
    helpers = together if isolation == "process" else 0
    growth += [f"{state.processes} processes" for _, state in trial.peaks if state.processes < 1 + helpers][:1]
    return [Outcome(f"{name}, while {together} are there", f"{rounds} times {together} sessions", trial.peaks, growth,
                    seconds=seconds),
            Outcome(f"{name}, after {together} at once", f"{rounds} times {together} sessions", trial.states, complaints,
                    seconds=seconds)]


def table(outcomes):
    """As Markdown; of each figure the first that later ones are held against, and the last."""
    lines = ["| trial | amount | encoders failed | processes | threads | descriptors | memory, MiB | time, s |",
             "|---|---|---|---|---|---|---|---|"]
    for outcome in outcomes:
        cells = [outcome.name, outcome.amount, "–" if outcome.failed is None else str(outcome.failed)]
        ends = (endurance.first_of(outcome.states), outcome.states[-1][1]) if outcome.states else ()
        for name, unit in (("processes", 1), ("threads", 1), ("descriptors", 1), ("kibibytes", 1024)):
            values = [getattr(state, name) / unit for state in ends]
            cells.append(" to ".join(f"{value:.1f}" if unit > 1 else f"{value:.0f}" for value in values) or "–")
        lines.append("| " + " | ".join([*cells, f"{outcome.seconds:.0f}"]) + " |")
    return "\n".join(lines)


def document(outcomes, seed):
    """The part of docs/reliability.md."""
    return f"""## Long runs and many sessions

`scripts/verify soak` measures whether anything grows. The trials of one session are long: on x264 and x265, and on the
reference driver with random faults (seed {seed}): calls that return an error, a lost device, empty or oversized pictures
and, in a helper process, crashes and pictures that never come. Encoders are therefore replaced again and again. Every
frame shows its number and must come out once and in order, in a stream that decodes without errors, and the GPU must
finish the session. Consecutive sessions have 8 frames of 96x64 and are finished, cancelled and released in turn;
simultaneous sessions do the same with 320x180.

Each figure covers the program and its helpers, and gives the state after a quarter of the trial and at its end. A
larger value at the end is a failure, with an allowance of {endurance.ALLOWED_KIB // 1024} MiB of memory, {endurance.ALLOWED_THREADS} threads of
the Swift runtime's pools, and descriptors of buffers of active sessions. Memory means memory not backed by files, after
`malloc_trim` has returned free memory, which the C library otherwise keeps: without it, a program that repeatedly had
64 simultaneous sessions in its own process retains about 350 MiB.

{table(outcomes)}
"""
