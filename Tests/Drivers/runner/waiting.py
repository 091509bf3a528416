# SPDX-License-Identifier: GPL-2.0-or-later
"""Waiting for what no event tells of: the state of other processes, and files that they write."""

import time

# Seconds that something which has to come may take, on a machine that is busy with other things.
PATIENCE = 60


def wait_until(condition, seconds=PATIENCE, pause=0.02):
    """Whether something is so within a generous time; it is asked for again after every pause."""
    limit = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= limit:
            return False
        time.sleep(pause)
    return True
