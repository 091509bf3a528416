# SPDX-License-Identifier: GPL-2.0-or-later
"""How long the threads of processes have waited for a processor, from which it is known what a busy machine explains."""

import pathlib
import threading
import time


class Delays:
    """Looks at processes until it is stopped.

    The kernel counts for each thread the time that it was ready to run and did not: the second number of
    /proc/PID/task/TID/schedstat. A process that waits for anything else, or is stopped, does not add to it."""

    def __init__(self, test, *processes):
        self.processes = processes
        self.known = {}  # the delay of each thread in ns
        self.samples = [(time.time(), 0)]  # the times, and for how long any thread has waited until then, in seconds
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._look, daemon=True)
        self.thread.start()
        test.addCleanup(self.stop)

    def stop(self):
        self.ended.set()
        self.thread.join()

    def _look(self):
        own = str(threading.get_native_id())
        while not self.ended.wait(0.1):
            total = 0
            for process in self.processes:
                for path in pathlib.Path(f"/proc/{process}/task").glob("*/schedstat"):
                    if path.parent.name == own:
                        continue
                    try:
                        now = int(path.read_text().split()[1])
                    except (OSError, IndexError):
                        continue  # the thread has ended
                    total += now - self.known.get(path, now)
                    self.known[path] = now
            now, (before, waited) = time.time(), self.samples[-1]
            # Threads that wait at the same time do so once.
            self.samples.append((now, waited + min(total / 1e9, max(now - before, 0))))

    def between(self, begin, end):
        """For how many seconds any of the threads has waited, in a time that has these two moments."""
        before = max((one for one in self.samples if one[0] <= begin), default=self.samples[0])
        after = min((one for one in self.samples if one[0] >= end), default=self.samples[-1])
        return after[1] - before[1]
