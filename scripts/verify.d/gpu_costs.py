# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions of the areas that measure what clients of a GPU cost, on the reference driver in fast mode."""

import os
import resource
import shutil
import statistics
import subprocess
import tempfile
import time

import measuring

DRIVERS = os.path.join(measuring.ROOT, ".build/drivers")


# Results of test encodes are stored here, so that the measured start is that of a machine that has encoded before.
STATE = tempfile.TemporaryDirectory(prefix="vatoolbox-state-")


# Settings of glibc's malloc: memory is kept. They do not affect a program that sets them itself, as vatoolbox does.
KEEPS_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(32 << 20), "MALLOC_TRIM_THRESHOLD_": str(1 << 30)}


def environment(effort="skip", limits="", keeps_memory=True):
    values = dict(os.environ)
    for name, value in KEEPS_MEMORY.items():
        values.pop(name, None)
        if keeps_memory:
            values[name] = value
    for name in ("REFERENCE_DRIVER_JOURNAL", "REFERENCE_DRIVER_PERSONA", "REFERENCE_DRIVER_FAULTS"):
        values.pop(name, None)
    values.update(
        LIBVA_DRIVERS_PATH=DRIVERS,
        LIBVA_DRIVER_NAME="libref",
        RENDER_NODES="128=generic",
        REFERENCE_DRIVER_EFFORT=effort,
        REFERENCE_DRIVER_LIMITS=limits,
        VATOOLBOX_STATE=STATE.name,
        REFERENCE_DRIVER_JUDGE="off",
        LD_PRELOAD=DRIVERS + "/librender_node.so",
    )
    return values


def room(byte_count):
    """A folder in memory if the file fits there twice, otherwise the usual one."""
    free = shutil.disk_usage("/dev/shm").free if os.path.isdir("/dev/shm") else 0
    available = 0
    for line in open("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            available = int(line.split()[1]) * 1024
    return "/dev/shm" if min(free, available // 2) > byte_count else None


def cost(command, limits="", keeps_memory=True):
    """User and system time in microseconds of a command and all processes that it leaves behind, and page faults."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = os.posix_spawnp(command[0], command, environment(limits=limits, keeps_memory=keeps_memory))
    status = 0
    while True:
        try:
            child, result = os.wait()
        except ChildProcessError:
            break
        if child == process:
            status = result
    if status:
        raise SystemExit(f"{command[0]} ended with status {status}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return seconds * 1e6, after.ru_minflt - before.ru_minflt


def costs_in_turn(clients, short, long, rounds):
    """Lists of microseconds and of page faults per frame, by client. A client is a function that takes the number of
    frames and returns the arguments of `cost`."""
    costs = {name: ([], []) for name in clients}
    for round in range(rounds):
        for name in rotate(list(clients), round):
            less, more = (cost(*clients[name](count)) for count in (short, long))
            for values, one, other in zip(costs[name], less, more):
                values.append((other - one) / (long - short))
    return costs


def first_sample(command, effort="skip", limits=""):
    """Milliseconds from the start of a command to the first byte of its output."""
    start = time.monotonic()
    process = subprocess.Popen(command, env=environment(effort, limits), stdout=subprocess.PIPE)
    process.stdout.read(1)
    elapsed = time.monotonic() - start
    while process.stdout.read(1 << 16):
        pass
    process.wait()
    return elapsed * 1e3


def rotate(names, round):
    return names[round % len(names) :] + names[: round % len(names)]


def line(aims, name, cost, base=None):
    """Prints a client's result of `costs_in_turn`, or a list of values, compared with that of another client and with
    the aim. Returns the figure to which the aim applies, by its name, or nothing if there is no aim.

    An aim is an upper limit and its unit: a ratio to the base of comparison, microseconds, or a number."""
    values, faults = cost if isinstance(cost, tuple) else (cost, None)
    middle, low, high = measuring.interval(values)
    limit, unit = aims.get(name, (None, None))
    figure = middle
    text = f"  {name:20}{middle:8.0f}   {low:.0f} to {high:.0f}"
    if base and base is not cost:
        others = base[0] if isinstance(base, tuple) else base
        ratio = measuring.interval([value / other for value, other in zip(values, others)])
        text += "   ratio %.2f   %.2f to %.2f" % ratio
        figure = middle if unit == "µs" else ratio[0]
    if faults:
        text += "   %.0f page faults" % statistics.median(faults)
    print(text + (f"   (aim: at most {limit} {unit})" if limit else ""))
    return {name: figure} if limit else {}


def summary(aims, figures):
    """A line that lists which aims are met."""
    missed = [f"{name} {figure:.{0 if aims[name][1] == 'µs' else 2}f} (aim {aims[name][0]})"
              for name, figure in figures.items() if figure > aims[name][0]]
    text = f"{len(figures) - len(missed)} of {len(figures)} aims met"
    return text + (f"; missed: {', '.join(missed)}" if missed else "")
