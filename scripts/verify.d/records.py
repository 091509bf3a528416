# SPDX-License-Identifier: GPL-2.0-or-later
"""Where areas keep what they have found out, one folder for each commit, so that a run can be interrupted."""

import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def output(*command):
    """What a program prints; nothing if it is not there or fails."""
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def commit():
    """What is verified: a commit's id, and the time if something in the tree is not committed."""
    name = output("git", "rev-parse", "--short=12", "HEAD") or "unknown"
    changed = output("git", "status", "--porcelain", "--", ".", ":!docs/verification.md")
    return f"{name}+{time.strftime('%Y%m%d-%H%M%S')}" if changed else name


def folder(name):
    """The folder of a commit, made if need be."""
    path = ROOT / ".build" / "verification" / name
    path.mkdir(parents=True, exist_ok=True)
    return path
