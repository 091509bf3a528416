# SPDX-License-Identifier: GPL-2.0-or-later
"""Sessions whose driver fails: each entry point that an encode reaches, in each way that it can fail, and what takes
over. Every picture shows its number, and must come out once, in order, of a stream that decodes without complaints."""

import json
import re
import shutil
import subprocess
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from runner.journal import read_journal
from runner.launch import end_group, run, termination
from runner.media import tool_environment
from runner.places import DRIVERS, build, client_environment

SIZE, FRAMES = 64, 120
# By which a program's memory may grow in a group of sessions: its heap settles after some hundred. Before the first of
# them there was no x265, whose threads bring it to 120 MiB, where it stays through 1,600 sessions.
ALLOWED_KIB = {"h264": 32768, "hevc": 131072}
FIRST, SECOND = "/dev/dri/renderD128", "/dev/dri/renderD129"
# What makes a client upload by images and wait for surfaces, as it must with AMD's driver.
BY_IMAGES = "derive-image=no sync-buffer=no"

# What the status of each entry point says when it fails; 0x1 where a driver has nothing better to say.
STATUSES = {"vaEndPicture": 0x18, "vaCreateBuffer": 0x2, "vaCreateContext": 0x2, "vaCreateSurfaces2": 0x2}
ACTIONS = ("error", "hang", "segv", "abort", "device-lost")
CODED_ACTIONS = ("error", "size-0", "overflow", "garbage", "hang", "segv", "abort", "device-lost")
CODED = {"error": "status:0x8000", "size-0": "size:0", "garbage": "status:0x0300001a"}
OCCURRENCES = ("1st", "5th", "every")
SURVIVORS = ("same", "second", "software")
CRASHES = ("segv", "abort")


class Row(NamedTuple):
    """One session."""

    target: str  # an entry point, or the pictures as the driver codes them
    action: str
    occurrence: str  # of the call, in each encoder that fails
    survivor: str  # `same`: the next encoder on the device works; else the device fails for good, and this one does not
    isolation: str
    b_frames: int
    limits: str  # of the driver
    codec: str = "h264"

    def __str__(self):
        return (f"{self.target} {self.occurrence}={self.action} {self.isolation} b={self.b_frames} {self.survivor}" +
                (" images" if self.limits else "") + ("" if self.codec == "h264" else f" {self.codec}"))

    @property
    def fault(self):
        """As REFERENCE_DRIVER_FAULTS."""
        occurrence = {"1st": "1", "5th": "5", "every": "*"}[self.occurrence]
        action = f"status:{STATUSES.get(self.target, 1):#x}" if self.action == "error" else self.action
        if self.target == "coded":
            action = CODED.get(self.action, self.action)
        elif self.action == "overflow":
            action = "status:0x25"
        return f"{self.target}@128{'#1' if self.survivor == 'same' else ''}:{occurrence}={action}"

    @property
    def leaves_a_thread(self):
        """What hangs in the program's own process stays there."""
        return self.action == "hang" and self.isolation == "in-process"

    @property
    def is_unjudged(self):
        """The driver does not know that a picture was cut short if a fault says so in its place, and would find fault
        with the picture that comes again."""
        return (self.target, self.action) == ("vaMapBuffer", "overflow")

    @property
    def is_refusal(self):
        """A driver that has never started and says that it does not is not tried again: without another encoder there
        is no session, and no frame is taken."""
        return (self.target, self.survivor) == ("vaInitialize", "same") and self.action in ("error", "device-lost")

    def words(self, patience):
        """What HardwareScenarios is asked for; `patience` multiplies the deadlines."""
        devices = {"same": [FIRST], "second": [FIRST, SECOND], "software": [FIRST, "software"]}[self.survivor]
        return [f"width={SIZE}", f"height={SIZE}", f"frames={FRAMES}", "pictures=numbered", "interval=30",
                f"codec={self.codec}", f"b-frames={self.b_frames}", f"isolation={self.isolation}",
                f"devices={','.join(devices)}",
                "creation-pause=1", f"frame-deadline={100 * patience}", f"creation-deadline={2000 * patience}"]


@dataclass
class Result:
    """What came of a row."""

    row: Row
    complaints: list = field(default_factory=list)
    finisher: str = ""  # 128, 129, x264 or x265
    failed: int = 0  # encoders
    missed: int = 0  # deadlines
    seconds: float = 0.0
    memory: int = 0  # KiB of the program's own, after the row
    is_repeated: bool = False  # with longer deadlines
    output: Path | None = None

    def require(self, condition, what):
        if not condition:
            self.complaints.append(what)


class Runner:
    """Runs rows in HardwareScenarios, several in one process where none leaves a thread behind."""

    def __init__(self, program, folder):
        self.program, self.folder = program, Path(folder)

    def run(self, rows, patience=1):
        """Results of rows that one process runs, in order."""
        work = Path(tempfile.mkdtemp(dir=self.folder))
        results = [Result(row, output=work / f"{index}.{row.codec}") for index, row in enumerate(rows)]
        # The driver reads its limits when a display opens, the list of nodes stays.
        environment = client_environment(build(), journal=work / "journal",
                                         extra={"RENDER_NODES": "128=generic,129=generic",
                                                "REFERENCE_DRIVER_JUDGE": "off" if rows[0].is_unjudged else "on"})
        orders = [json.dumps(dict(output=str(result.output), words=result.row.words(patience),
                                  leavesThreads=result.row.leaves_a_thread, environment={
            "REFERENCE_DRIVER_FAULTS": result.row.fault, "REFERENCE_DRIVER_LIMITS": result.row.limits,
            "REFERENCE_DRIVER_JOURNAL": str(work / "journal"),
            "REFERENCE_DRIVER_DISPLAYS": str(work / f"{index}.displays")})) for index, result in enumerate(results)]
        output, status = self.converse([str(self.program), "rows"], environment, "\n".join(orders),
                                       60 + 20 * patience * len(rows))
        told = sections(output)
        for result in results:
            judge(result, told.get(str(result.output), []), status)
        journal = read_journal(work / "journal")
        complain_of(journal, results)
        complain_of_memory(results)
        decode(results)
        shutil.rmtree(work, ignore_errors=True)
        return results

    @staticmethod
    def converse(command, environment, text, timeout):
        """What a program says that is told something, and how it ended; nothing that it started stays."""
        process = termination.start(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                    stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            output, _ = process.communicate(text.encode(), timeout=timeout)
        except subprocess.TimeoutExpired:
            end_group(process)
            output, _ = process.communicate()
        finally:
            end_group(process)
            process.wait()
        return output.decode(errors="replace"), process.returncode


def sections(output):
    """The lines between `row` and `rest`, those included, by the name of the output."""
    found, current = defaultdict(list), None
    for line in output.splitlines():
        if not line.startswith('{"'):
            continue
        entry = json.loads(line)
        current = entry["output"] if entry["kind"] == "row" else current
        if current:
            found[current].append(entry)
        current = None if entry["kind"] == "rest" else current
    return found


def judge(result, entries, status):
    """What the program told of the row."""
    row = result.row
    of = defaultdict(list)
    for entry in entries:
        of[entry["kind"]].append(entry)
    events = defaultdict(list)
    for event in of["event"]:
        events[event["name"]].append(event)
    result.failed = len(events["failed"])
    result.missed = sum("in time" in event["error"] or "no progress" in event["error"] for event in events["failed"])
    if row.is_refusal:
        told = of["error"][0]["text"] if of["error"] else "nothing"
        result.require("vaInitialize" in told and not of["sample"], f"the session was not refused, but: {told}")
        return
    if of["error"] or not of["end"]:
        result.complaints.append(of["error"][0]["text"] if of["error"] else f"the program ended with {status}")
        return
    end, samples = of["end"][0], of["sample"]
    result.finisher = end["device"].removeprefix("/dev/dri/renderD") or end["encoder"]
    result.require([sample["frame"] for sample in sorted(samples, key=lambda sample: sample["pts"])]
                   == list(range(FRAMES)), "not every frame came out once, in order")
    result.require(all(round(sample["pts"] * 25) == sample["frame"] for sample in samples), "presentation times")
    times = [(sample["dts"], sample["pts"]) for sample in samples]
    result.require(all(dts <= pts for dts, pts in times), "a decode time is above its presentation time")
    result.require(all(one[0] < other[0] for one, other in zip(times, times[1:])), "decode times do not increase")
    result.require(all(event["error"] for event in events["failed"]), "a failure without a reason")
    result.require(all(event["errors"] and all(event["errors"]) for event in events["switched"]),
                   "a switch without a reason")
    result.require(end["failed"] == result.failed, f"{end['failed']} failures, {result.failed} of them were told")
    result.require(end["repeated"] == 0 or result.failed > 0, "frames were repeated, and nothing was told")
    # What fails before any encoder has a frame is told as a failure only.
    result.require(len(events["switched"]) >= (1 if end["repeated"] else 0), "frames were repeated without a switch")
    result.require(result.finisher == "128" or result.failed > 0, "a switch without a failure")
    software = {"h264": "x264", "hevc": "x265"}[row.codec]
    allowed = {"same": "128", "second": "129", "software": software}[row.survivor]
    result.require(result.finisher in ("128", allowed), f"{result.finisher} finished")
    if not of["rest"]:
        result.complaints.append(f"the program ended with {status} after the session")
        return
    before, after = of["row"][0], of["rest"][0]
    result.seconds, result.memory = (after["us"] - before["us"]) / 1e6, after["memory"]
    result.require(after["children"] == 0, f"{after['children']} processes are left")
    if row.leaves_a_thread:
        return
    # An earlier session may have left a thread, and been told for it. The first opens what a process opens once.
    for name in ("threads", "mappings", "descriptors"):
        if name != "descriptors" or result.output.stem != "0":
            result.require(after[name] <= before[name], f"{after[name] - before[name]} {name} are left")


def complain_of(journal, results):
    """What the driver found, which is told without saying in which session, and whether every fault fired."""
    findings = [str(finding) for finding in journal.findings[:6]]
    fired = {(entry["target"], entry["action"]) for entry in journal.entries if entry.get("kind") == "fault"}
    for result in results:
        target, action = re.fullmatch(r"(\w+)@.*=([a-z-]+).*", result.row.fault).groups()
        result.require((target, action) in fired, "the fault did not fire")
        if findings and len(results) == 1:
            result.complaints += findings
    if findings and len(results) > 1:
        results[0].complaints += ["findings of the driver, in one of " + ", ".join(str(one.row) for one in results)]
        results[0].complaints += findings


def complain_of_memory(results):
    """What a session leaves on the heap of a program that runs many of them."""
    sizes = [result.memory for result in results if result.memory]
    if sizes and sizes[-1] > sizes[0] + ALLOWED_KIB[results[-1].row.codec]:
        results[-1].complaints.append(f"memory grew from {sizes[0]} to {sizes[-1]} KiB in {len(sizes)} sessions")


def decode(results):
    """Decodes the streams strictly, all at once; one by one if there are complaints, to know whose they are."""
    whole = [result for result in results if result.finisher and result.output.exists()]
    if not whole:
        return
    complaints = decode_together(whole)
    if complaints and len(whole) > 1:
        for result in whole:
            result.complaints += decode_together([result])
    elif complaints:
        whole[0].complaints += complaints
    for result in whole:
        numbers = read_numbers(result.output.with_suffix(".gray"))
        if numbers != list(range(FRAMES)):
            result.complaints.append(f"{len(numbers)} pictures decode, whose numbers are {numbers}")


def decode_together(results):
    command = ["ffmpeg", "-nostdin", "-hide_banner", "-v", "error", "-y"]
    for result in results:
        command += ["-threads", "1", "-err_detect", "explode", "-i", str(result.output)]
    for index, result in enumerate(results):
        command += ["-map", f"{index}:v", "-fps_mode", "passthrough", "-pix_fmt", "gray", "-f", "rawvideo",
                    str(result.output.with_suffix(".gray"))]
    ended = run(command, tool_environment(), 300)
    complaints = [line for line in ended.output.splitlines() if line.strip()][:4]
    return complaints + ([] if ended.status == 0 else [f"ffmpeg: {ended.description}"])


def read_numbers(path):
    """The number that each picture shows; -1 where its blocks contradict each other or are neither light nor dark."""
    if not path.exists():
        return []
    side, numbers = SIZE // 4, []
    places = [(block // 4 * side + side // 2) * SIZE + block % 4 * side + side // 2 for block in range(16)]
    with path.open("rb") as file:
        while len(picture := file.read(SIZE * SIZE)) == SIZE * SIZE:
            bits = [1 if picture[place] > 150 else 0 if picture[place] < 100 else 2 for place in places]
            right = all(one + other == 1 for one, other in zip(bits[:8], bits[8:]))
            numbers.append(sum(bit << place for place, bit in enumerate(bits[:8])) if right else -1)
    return numbers


# The table.

def entry_points():
    """Every target that the driver has."""
    text = (DRIVERS / "reference" / "entry_points.h").read_text()
    return ["vaInitialize", "coded", *re.findall(r"^ *ENTRY\((\w+),", text, re.M)]


def reached(program, folder, isolation, b_frames, limits, codec):
    """How often an undisturbed encode calls each target, by the journal."""
    counts = defaultdict(int)
    targets = entry_points()
    for start in range(0, len(targets), 50):  # the driver takes 64 faults at a time
        work = Path(tempfile.mkdtemp(dir=folder))
        row = Row("coded", "none", "every", "same", isolation, b_frames, limits, codec)
        environment = client_environment(build(), journal=work / "journal", limits=limits, faults=";".join(
            f"{target}:*=delay:1us" for target in targets[start:start + 50]))
        ended = run([str(program), "encode", str(work / f"stream.{codec}"), *row.words(100)], environment, 120)
        if ended.status != 0:
            raise RuntimeError(f"an encode without a fault fails: {ended.output[-400:]}")
        for fault in read_journal(work / "journal").faults:
            counts[fault["target"]] = max(counts[fault["target"]], fault["occurrence"])
    return counts


def table(program, folder, codec):
    """Every row that there is for a codec, and how often each entry point is reached."""
    rows, most = [], {}
    for isolation in ("in-process", "process"):
        for b_frames in (0, 2):
            plain = reached(program, folder, isolation, b_frames, "", codec)
            by_images = reached(program, folder, isolation, b_frames, BY_IMAGES, codec)
            counts = {**{target: (count, BY_IMAGES) for target, count in by_images.items()},
                      **{target: (count, "") for target, count in plain.items()}}
            for target in sorted(counts):
                most[target] = max(most.get(target, 0), counts[target][0])
                rows += rows_of(target, *counts[target], isolation, b_frames, codec)
    return rows, most


def rows_of(target, count, limits, isolation, b_frames, codec):
    actions = CODED_ACTIONS if target == "coded" else ACTIONS
    if target == "vaMapBuffer":
        actions = (*ACTIONS, "overflow")  # by 0x25, as Intel's driver tells it
    for action in actions:
        if action in CRASHES and isolation == "in-process":
            continue
        for occurrence in OCCURRENCES:
            # One call is all there are, and fewer than five have no fifth.
            if count < {"1st": 1, "5th": 5, "every": 2}[occurrence]:
                continue
            for survivor in SURVIVORS:
                yield Row(target, action, occurrence, survivor, isolation, b_frames, limits, codec)


def groups_of(rows, size=24):
    """Rows that one process runs after another; what hangs in the program's own process stays there, so that has one of
    its own. Those of one group wait alike."""
    groups = [[row] for row in rows if row.leaves_a_thread]
    alike = defaultdict(list)
    for row in rows:
        if not row.leaves_a_thread:
            alike[row.action == "hang", row.isolation, row.is_unjudged].append(row)
    for (waits, isolation, _), members in alike.items():
        step = size // 3 if waits or isolation == "process" else size
        groups += [members[start:start + step] for start in range(0, len(members), step)]
    return groups


def run_rows(program, folder, rows, tell):
    """Results of all rows; `tell` is given each group's. Rows that wait for deadlines keep no processor busy."""
    runner = Runner(program, folder)
    groups = groups_of(rows)

    def run_group(group):
        results = runner.run(group)
        for index, result in enumerate(results):
            # A deadline of a tenth of a second passes on a busy machine, too.
            if result.complaints and result.missed > 0:
                results[index] = runner.run([result.row], patience=10)[0]
                results[index].is_repeated = True
        tell(results)
        return results

    with ThreadPoolExecutor(2) as busy, ThreadPoolExecutor(4) as waiting:
        pending = [(waiting if group[0].action == "hang" else busy).submit(run_group, group) for group in groups]
        return [result for done in pending for result in done.result()]
