# SPDX-License-Identifier: GPL-2.0-or-later
"""Where things are, and how they get there."""

import os
import re
import subprocess
import tempfile
from pathlib import Path

DRIVERS = Path(__file__).resolve().parent.parent
TOP = DRIVERS.parent.parent
ALLOW_LIST = DRIVERS / "tests" / "allow-list.txt"


class Problem(Exception):
    """Something that the person at the terminal can mend; its text says what."""


def output_folder():
    """DRIVERS_OUTPUT, else .build/drivers at the repository's top: what Tests/Drivers/build fills."""
    return Path(os.environ.get("DRIVERS_OUTPUT", TOP / ".build" / "drivers"))


def build():
    """Brings the shim and the driver up to date; returns their folder."""
    if "DRIVERS_OUTPUT" in os.environ or os.environ.get("DRIVERS_BUILT"):
        return output_folder()
    outcome = subprocess.run([DRIVERS / "build"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if outcome.returncode != 0:
        raise Problem(f"{DRIVERS / 'build'} failed:\n{outcome.stdout}")
    os.environ["DRIVERS_BUILT"] = "1"
    return output_folder()


def compiler():
    """The C compiler that `build` uses."""
    found = subprocess.run([DRIVERS / "compiler"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if found.returncode != 0:
        raise Problem(found.stderr.strip())
    return found.stdout.strip()


def reason_without_sanitizers(*flags):
    """Why the compiler makes no programs with these flags: "" when it does."""
    with tempfile.TemporaryDirectory() as folder:
        made = subprocess.run([compiler(), *flags, "-x", "c", "-o", Path(folder) / "program", "-"],
                              input="int main(void) { return 0; }\n", stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
    return f"{compiler()} has no sanitizers: {made.stdout.strip()[-200:]}" if made.returncode else ""


_state_folders = []


def state_folder():
    """A folder for what vatoolbox remembers of devices, gone with this process."""
    if not _state_folders:
        _state_folders.append(tempfile.TemporaryDirectory(prefix="vatoolbox-state-"))
    return Path(_state_folders[0].name)


def client_environment(folder, *, node="generic", persona="intel", limits="", faults="", journal=None, effort="",
                       driver="libref", extra=None):
    """What a client needs in its environment to meet the fake node and the reference driver. CLIENT_PRELOAD names more
    libraries that it shall load first."""
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("REFERENCE_DRIVER_", "RENDER_NODES", "LIBVA_"))}
    settings = {
        "LD_PRELOAD": " ".join([str(folder / "librender_node.so"), os.environ.get("CLIENT_PRELOAD", "")]).strip(),
        "RENDER_NODES": f"128={node}",
        "LIBVA_DRIVERS_PATH": str(folder),
        "LIBVA_DRIVER_NAME": driver,
        "LIBVA_MESSAGING_LEVEL": "1",
        "REFERENCE_DRIVER_PERSONA": persona,
        "REFERENCE_DRIVER_LIMITS": limits,
        "REFERENCE_DRIVER_FAULTS": faults,
        "REFERENCE_DRIVER_JOURNAL": str(journal or ""),
        "REFERENCE_DRIVER_EFFORT": effort,
        # The helper programs confine themselves: they write where they are told that they may.
        "VATOOLBOX_SANDBOX_WRITABLE": str(Path(journal).parent) if journal else "",
        # vatoolbox: what it knows of devices is that of this run. A driver that fails on purpose shall fail in the session
        # and not in a test encode before it, and each time anew.
        "VATOOLBOX_STATE": str(state_folder() / re.sub("[^a-z0-9]", "", f"{node}{persona}{limits}")),
        "VATOOLBOX_PROOF": "off",
        "VATOOLBOX_BREAKER": "off",
        # GStreamer: drivers that it does not know, looked at in this process. It remembers which elements there are: a
        # memory for each kind of driver, or one run would see the elements of another.
        "GST_VA_ALL_DRIVERS": "1",
        "GST_VAAPI_ALL_DRIVERS": "1",
        "GST_REGISTRY_FORK": "no",
        # Its elements tell why they give up only in this way.
        "GST_DEBUG": "1",
        "GST_DEBUG_NO_COLOR": "1",
        "GST_REGISTRY": str(folder / f"gstreamer-{node}-{persona}-{re.sub('[^a-z0-9]', '', limits)}.registry"),
    }
    environment.update({name: value for name, value in settings.items() if value})
    environment.update(extra or {})
    return environment
