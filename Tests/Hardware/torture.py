# SPDX-License-Identifier: GPL-2.0-or-later
"""One long encode with B-frames whose helper processes are killed and stopped all the time, also right after another:
every frame comes out once, on the GPU that had it all along."""

import json
import os
import random
import signal
import subprocess
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import failover
from runner.launch import end_group, termination
from runner.places import build, client_environment

FRAMES_PER_BLOW = 50
# Many come out while a blow is on its way.
SPARE = 4
# Every so many blows a helper is stopped, which costs a deadline. Then more frames come out than it takes for a missed
# deadline to be forgotten, and than are on their way.
STOP_EVERY = 10
FORGIVEN_AFTER = 300
DEADLINE = 6000  # ms; a helper on a busy machine must not miss it by itself


class Killer(threading.Thread):
    """Hits the helpers of a process, each once, as frames come out."""

    def __init__(self, process, kills, seed):
        super().__init__(daemon=True)
        self.process, self.kills, self.random = process, kills, random.Random(seed)
        self.frames = 0  # that have come out, as somebody else counts them
        self.is_over = False
        self.dealt = Counter()
        self.hit = set()

    def helper(self):
        """A helper that was not hit yet; None if there is none."""
        try:
            tasks = os.listdir(f"/proc/{self.process}/task")
            children = {int(child) for task in tasks
                        for child in Path(f"/proc/{self.process}/task/{task}/children").read_text().split()}
        except (FileNotFoundError, ProcessLookupError):
            return None
        return next(iter(children - self.hit), None)

    def run(self):
        blow = 0
        while blow < self.kills and not self.is_over:
            # More comes out between two rows of blows than was on its way before them: five creations that end in a row
            # are the GPU's end.
            if not self.wait_for_frames(FRAMES_PER_BLOW // 2 + self.random.randrange(FRAMES_PER_BLOW // 2)):
                return
            # One blow, or up to three in a row with no regard to what has come out.
            for _ in range(min(self.random.choice((1, 1, 1, 2, 3)), self.kills - blow)):
                if not self.wait(lambda: self.helper() is not None):
                    return
                time.sleep(self.random.choice((0, 0.002, 0.02, 0.1)) * self.random.random())
                is_stop = blow % STOP_EVERY == STOP_EVERY - 1
                self.strike(self.helper(), signal.SIGSTOP if is_stop else signal.SIGKILL)
                blow += 1
                if is_stop and not self.wait_for_frames(FORGIVEN_AFTER):
                    return

    def wait_for_frames(self, count):
        target = self.frames + count
        return self.wait(lambda: self.frames >= target)

    def strike(self, helper, number):
        if helper is None:
            return
        self.hit.add(helper)
        try:
            os.kill(helper, number)
            self.dealt[number.name] += 1
        except ProcessLookupError:
            pass

    def wait(self, condition):
        while not self.is_over:
            if condition():
                return True
            time.sleep(0.001)
        return False


def run_torture(program, folder, kills, seed):
    """Whether the encode survives so many blows."""
    frames = (kills + 4) * FRAMES_PER_BLOW * SPARE
    work = Path(tempfile.mkdtemp(dir=folder))
    output = work / "stream.h264"
    command = [str(program), "encode", str(output), f"width={failover.SIZE}", f"height={failover.SIZE}",
               f"frames={frames}", "pictures=numbered", "b-frames=2", "interval=60",
               f"devices={failover.FIRST},software", f"frame-deadline={DEADLINE}"]
    start = time.monotonic()
    process = termination.start(command, env=client_environment(build()), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
    killer = Killer(process.pid, kills, seed)
    killer.start()
    guard = threading.Timer(120 + 5 * kills, end_group, (process,))
    guard.start()
    told = []
    try:
        for line in process.stdout:
            entry = json.loads(line)
            told.append(entry)
            killer.frames += entry["kind"] == "sample"
    finally:
        guard.cancel()
        killer.is_over = True
        killer.join()
        end_group(process)
        status = process.wait()
    complaints = judge(told, status, frames, output)
    blows = sum(killer.dealt.values())
    end = next((entry for entry in told if entry["kind"] == "end"), {})
    print(f"torture with seed {seed}: {blows} blows ({dict(sorted(killer.dealt.items()))}) over {frames} frames, "
          f"{end.get('failed')} encoders failed, {end.get('repeated')} frames were coded again, "
          f"{end.get('encoder')} finished, {'FAILED' if complaints else 'every frame came out once'}, {time.monotonic() - start:.0f} s")
    if blows < kills * 9 // 10:
        complaints.append(f"{blows} of {kills} blows were dealt")
    for complaint in complaints:
        print(f"       {complaint[:400]}", flush=True)
    return not complaints


def judge(told, status, frames, output, device=failover.FIRST):
    """What is wrong with a session of so many numbered frames that `device` should have finished; "" for the CPU."""
    complaints = []
    end = [entry for entry in told if entry["kind"] == "end"]
    if status != 0 or not end:
        return [f"the program ended with {status}: {told[-1] if told else 'it said nothing'}"]
    samples = [entry for entry in told if entry["kind"] == "sample"]
    if [sample["frame"] for sample in sorted(samples, key=lambda sample: sample["pts"])] != list(range(frames)):
        complaints.append("not every frame came out once, in order")
    times = [(sample["dts"], sample["pts"]) for sample in samples]
    if not all(one[0] < other[0] for one, other in zip(times, times[1:])) or not all(dts <= pts for dts, pts in times):
        complaints.append("decode times do not increase, or exceed presentation times")
    if end[0]["device"] != device:
        why = [error for entry in told if entry.get("name") == "switched" for error in entry["errors"]][-3:]
        complaints.append(f"{end[0]['encoder']} finished, though {device or 'the CPU'} put out frames all along: {why}")
    result = failover.Result(None, output=output)
    complaints += failover.decode_together([result])
    if failover.read_numbers(output.with_suffix(".gray")) != [number % 256 for number in range(frames)]:
        complaints.append("the pictures do not come in order")
    return complaints
