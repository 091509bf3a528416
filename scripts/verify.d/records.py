# SPDX-License-Identifier: GPL-2.0-or-later
"""Stores the results of areas in one folder per commit, so that a run can be interrupted."""

import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def output(*command):
    """The output of a program; empty if it does not exist or fails."""
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def commit():
    """The verified version: the id of the commit, and the time if there are uncommitted changes."""
    name = output("git", "rev-parse", "--short=12", "HEAD") or "unknown"
    changed = output("git", "status", "--porcelain", "--", ".", ":!docs/verification.md")
    return f"{name}+{time.strftime('%Y%m%d-%H%M%S')}" if changed else name


def folder(name):
    """The folder of a commit. It is created if necessary."""
    path = ROOT / ".build" / "verification" / name
    path.mkdir(parents=True, exist_ok=True)
    return path
