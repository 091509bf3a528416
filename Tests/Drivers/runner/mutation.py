# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces of clients' VA traffic, and what the judge makes of each change of them."""

import re
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from .allow import is_client
from .commands import command_for, make_source
from .launch import run
from .places import DRIVERS, Problem, client_environment
from .table import EXTRA_ROWS, Row

HARMLESS = DRIVERS / "mutation" / "harmless.txt"
SIZE = (64, 64)
HEVC_SIZE = (128, 128)
FRAMES = 8
CAUGHT, REFUSED, SILENT = "caught", "refused", ("obeyed", "ignored")
BROKEN = ("crashed", "hung", "not-played", "playing")


def row(client, persona, rate_control, b_frames="0", entropy="cabac", slices=1, profile="high"):
    return Row(client, persona, rate_control, b_frames, entropy, slices, SIZE, profile)


def hevc_row(client, persona, rate_control, b_frames="0", slices=1, profile="main"):
    return Row(client, persona, rate_control, b_frames, "cabac", slices, HEVC_SIZE, profile, codec="hevc")


# What is recorded, by name. Names start with the persona: harmless.txt tells them apart by that.
TRACES = {
    "intel-ffmpeg-cqp-b": row("ffmpeg", "intel", "cqp", "2-pyramid"),
    "intel-ffmpeg-cbr": row("ffmpeg", "intel", "cbr", "0", "cavlc", 1, "main"),
    "intel-ffmpeg-vbr-slices": row("ffmpeg", "intel", "vbr", "2", "cabac", 3),
    "intel-ffmpeg-extras": EXTRA_ROWS[0],
    "intel-ffmpeg-baseline": row("ffmpeg", "intel", "cqp", "0", "cavlc", 1, "constrained-baseline"),
    "intel-gstreamer-cqp-b": row("gstreamer-va", "intel", "cqp", "2-pyramid"),
    "intel-gstreamer-vbr": row("gstreamer-va", "intel", "vbr", "0", "cavlc", 1, "main"),
    "intel-gstreamer-cbr-slices": row("gstreamer-va", "intel", "cbr", "2", "cabac", 3),
    "amd-ffmpeg-cqp": row("ffmpeg", "amd", "cqp"),
    "amd-ffmpeg-cbr": row("ffmpeg", "amd", "cbr", "0", "cavlc", 1, "main"),
    "amd-gstreamer-vbr": row("gstreamer-va", "amd", "vbr"),
    "low-power-ffmpeg-cqp": row("ffmpeg-lp", "low-power", "cqp"),
    "intel-hevc-ffmpeg-cqp-b": hevc_row("ffmpeg", "intel", "cqp", "2-pyramid"),
    "intel-hevc-ffmpeg-vbr-slices": hevc_row("ffmpeg", "intel", "vbr", "2", 2),
    "intel-hevc-ffmpeg-cbr-10": hevc_row("ffmpeg", "intel", "cbr", "0", 1, "main-10"),
    "intel-hevc-gstreamer-cqp-b": hevc_row("gstreamer-va", "intel", "cqp", "2"),
    "amd-hevc-ffmpeg-cqp": hevc_row("ffmpeg", "amd", "cqp"),
    "low-power-hevc-ffmpeg-cqp": hevc_row("ffmpeg-lp", "low-power", "cqp"),
}

@dataclass
class Mutation:
    trace: str
    outcome: str
    name: str
    picture: str
    what: str


@dataclass
class Harmless:
    name: str  # pattern (fnmatch, brackets literal) on the mutation's name
    trace: str  # pattern on trace and kind of picture, "intel-ffmpeg-cbr/p-ref" or ".../setup"
    outcome: str  # "obeyed" or "ignored"
    clause: str
    why: str
    line: int
    client: str = "*"  # for which client, as in allow-list.txt: "ffmpeg>=6"
    uses: int = field(default=0, compare=False)

    @property
    def is_needed(self):
        """Whether a trace can have such a change with the clients that are installed."""
        return any(is_client(self.client, row.program) for row in TRACES.values())

    def explains(self, mutation):
        place = f"{mutation.trace}/{mutation.picture.split()[-1]}"
        return (self.outcome == mutation.outcome and matches(self.trace, place)
                and matches(self.name, mutation.name) and is_client(self.client, TRACES[mutation.trace].program))


def matches(pattern, name):
    """Whether a pattern with '*', '?' and alternatives '{a,b}' is the whole name. Brackets stand for themselves."""
    text = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
    text = re.sub(r"\\\{(.*?)\\\}", lambda found: "(?:" + found[1].replace(",", "|") + ")", text)
    return re.fullmatch(text, name) is not None


def read_harmless(path=HARMLESS):
    entries = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = [part.strip() for part in line.split(" | ")]
        if len(parts) != 5 or not all(parts) or parts[2] not in SILENT:
            raise Problem(f"{path}:{number}: NAME | TRACE | obeyed or ignored | CLAUSE | WHY is needed")
        client, _, parts[1] = parts[1].rpartition(" ")
        entries.append(Harmless(*parts, number, client or "*"))
    return entries


def record(name, folder, built):
    """Records the trace of that name; returns its file."""
    what = TRACES[name]
    trace = Path(folder) / f"{name}.trace"
    output = Path(folder) / f"{name}.{what.codec}"
    source = make_source(folder, what.size, FRAMES, bits=10 if what.profile == "main-10" else 8)
    environment = client_environment(built, persona=what.persona, limits=what.limits, driver="libmutate", extra={
        "MUTATION_TRACE": str(trace), "MUTATION_DRIVER": str(built / "libref_drv_video.so")})
    ended = run(command_for(what, source, output), environment, 60)
    if ended.status != 0 or not trace.exists():
        raise Problem(f"{name} is not recorded: {ended.description}\n{ended.output}")
    terminate_displays(trace)
    return trace


def terminate_displays(trace):
    """Ends every display that the client left to the end of its process, with the surfaces that it still had, as ffmpeg 7
    does: only then can the driver tell that something else was not destroyed."""
    surfaces = {}  # of each display that is open
    for line in trace.read_text().splitlines():
        display, function, _, _, given, _, made, _, _ = line.split()
        left = surfaces.setdefault(display, {})
        if function.startswith("vaCreateSurfaces") and made != "-":
            left.update(dict.fromkeys(made.split(",")))
        elif function == "vaDestroySurfaces":
            for surface in given.split(","):
                left.pop(surface, None)
        elif function == "vaTerminate":
            del surfaces[display]
    with trace.open("a") as lines:
        for display, left in surfaces.items():
            if left:
                lines.write(f"{display} vaDestroySurfaces 0 in {','.join(left)} out - data -\n")
            lines.write(f"{display} vaTerminate 0 in - out - data -\n")


def replay_command(name, trace, built, *options):
    return ([built / "mutation" / "replay", built / "libref_drv_video.so", trace, *options],
            {"REFERENCE_DRIVER_PERSONA": TRACES[name].persona, "REFERENCE_DRIVER_LIMITS": TRACES[name].limits,
             "PATH": "/usr/bin:/bin"})


FINDING = re.compile(r"picture (-?\d+) slice (-?\d+): (\S+) \((.*?)\): (.*)")


def replay_unchanged(name, trace, built):
    """Plays the trace as it is: whether all went as recorded, the findings as (name, clause, detail), and the text."""
    command, environment = replay_command(name, trace, built)
    ended = run(command, environment, 60)
    findings = [match.groups()[2:] for match in map(FINDING.fullmatch, ended.output.splitlines()) if match]
    return ended.status == 0, findings, ended.output


def mutate(name, trace, built, *options, timeout=3600):
    """Plays every change that the options choose; returns Mutations."""
    command, environment = replay_command(name, trace, built, "--mutate", *options)
    try:
        outcome = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 errors="replace", timeout=timeout)
    except subprocess.TimeoutExpired as error:
        raise Problem(f"{name}: replay does not end within {timeout} s") from error
    if outcome.returncode != 0:
        raise Problem(f"{name}: replay ended with {outcome.returncode}: {outcome.stderr[-400:]}")
    return [Mutation(name, *line.split("\t")) for line in outcome.stdout.splitlines()]


@dataclass
class Score:
    """What became of all changes."""

    counts: Counter = field(default_factory=Counter)
    unexplained: list = field(default_factory=list)
    broken: list = field(default_factory=list)
    caught_by: Counter = field(default_factory=Counter)  # names of findings

    def add(self, mutation, harmless):
        if mutation.outcome in BROKEN:
            self.broken.append(mutation)
            self.counts["broken"] += 1
        elif mutation.outcome in SILENT:
            entry = next((entry for entry in harmless if entry.explains(mutation)), None)
            if entry:
                entry.uses += 1
            else:
                self.unexplained.append(mutation)
            self.counts["harmless" if entry else "unexplained"] += 1
        else:
            self.counts[mutation.outcome] += 1
            if mutation.outcome == CAUGHT:
                self.caught_by.update(mutation.what.removeprefix("gone: ").split(","))

    def __str__(self):
        total = self.counts.total()
        judged = total - self.counts["harmless"]
        share = 100 * (self.counts[CAUGHT] + self.counts[REFUSED]) / judged if judged else 0
        return (f"mutation score: {total} changes: {self.counts[CAUGHT]} caught by {len(self.caught_by)} kinds of "
                f"finding, {self.counts[REFUSED]} refused, {self.counts['harmless']} harmless, "
                f"{self.counts['unexplained']} unexplained, {self.counts['broken']} broke the driver; "
                f"{share:.2f} % of what matters")
