# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of encodes that other people's clients are judged by, and a small sample of it that covers every pair."""

import itertools
import random
from dataclasses import dataclass

H264 = {
    "client": ("ffmpeg", "ffmpeg-lp", "gstreamer-va", "gstreamer-va-lp", "gstreamer-vaapi", "gstreamer-vaapi-lp"),
    "persona": ("intel", "amd", "low-power"),
    "rate_control": ("cqp", "cbr", "vbr", "icq", "qvbr", "avbr"),
    "b_frames": ("0", "2", "2-pyramid"),
    "entropy": ("cabac", "cavlc"),
    "slices": (1, 3),
    "size": ((64, 64), (176, 144), (642, 358), (1920, 1080)),
    "profile": ("constrained-baseline", "main", "high"),
}
# GStreamer's plug-in vaapi is not tried.
HEVC = {
    "client": ("ffmpeg", "ffmpeg-lp", "gstreamer-va", "gstreamer-va-lp"),
    "persona": ("intel", "amd", "low-power"),
    "rate_control": ("cqp", "cbr", "vbr", "icq", "qvbr", "avbr"),
    "b_frames": ("0", "2", "2-pyramid"),
    "entropy": ("cabac",),
    "slices": (1, 2),
    "size": ((128, 128), (176, 144), (642, 358), (1920, 1080)),
    "profile": ("main", "main-10"),
}
DIMENSIONS = {"h264": H264, "hevc": HEVC}

# What each client's encoder can be asked for.
RATE_CONTROLS = {
    "ffmpeg": ("cqp", "cbr", "vbr", "icq", "qvbr", "avbr"),
    "gstreamer-va": ("cqp", "cbr", "vbr"),
    "gstreamer-vaapi": ("cqp", "cbr", "vbr", "icq", "qvbr"),
}


@dataclass(frozen=True)
class Row:
    client: str
    persona: str
    rate_control: str
    b_frames: str
    entropy: str
    slices: int
    size: tuple
    profile: str
    extra: tuple = ()  # further options of the client
    codec: str = "h264"

    @property
    def low_power(self):
        return self.client.endswith("-lp")

    @property
    def program(self):
        """The client without the choice of the entrypoint."""
        return self.client.removesuffix("-lp")

    @property
    def limits(self):
        """REFERENCE_DRIVER_LIMITS. The AMD-like persona takes one slice; later chips take many. GStreamer's plug-in va
        (1.22) writes a derived image with the pitch of an image from vaCreateImage, which ruins the picture where the
        two differ, as they do here: it is not offered derived images."""
        limits = ["slices=128"] if self.persona == "amd" and self.slices > 1 else []
        if self.program == "gstreamer-va" and self.persona != "amd":
            limits.append("derive-image=no")
        return " ".join(limits)

    def __str__(self):
        return (f"{self.codec} {self.client} {self.persona} {self.rate_control} b={self.b_frames} {self.entropy} "
                f"slices={self.slices} {self.size[0]}x{self.size[1]} {self.profile}"
                + (f" {' '.join(self.extra)}" if self.extra else ""))


# Beside the table: what else a client can be made to send.
EXTRA_ROWS = (Row("ffmpeg", "intel", "vbr", "2", "cabac", 1, (64, 64), "high",
                  ("-max_frame_size", "20000", "-quality", "3", "-aud", "1")),)


def is_possible(row):
    """Whether the standard, the persona and the client allow the combination."""
    if row.low_power != (row.persona == "low-power") and row.persona != "intel":
        return False
    # GStreamer's HEVC encoder leaves the last slice empty where rows of blocks do not divide well.
    if row.codec == "hevc" and row.program == "gstreamer-va" and row.slices > 1 and row.size[0] < 642:
        return False
    # The persona wants whole blocks of 64x16, which no client knows of.
    if row.codec == "hevc" and row.persona == "amd" and row.size != (128, 128):
        return False
    if row.b_frames != "0" and (row.low_power or row.persona == "amd" or row.profile == "constrained-baseline"):
        return False
    if row.entropy == "cabac" and row.profile == "constrained-baseline":
        return False
    offered = {"intel": ("cqp", "cbr", "vbr", "qvbr") if row.low_power else H264["rate_control"],
               "amd": ("cqp", "cbr", "vbr"), "low-power": ("cqp",)}[row.persona]
    return row.rate_control in offered and row.rate_control in RATE_CONTROLS[row.program]


def all_rows(clients, codec="h264"):
    """Every possible row for these clients."""
    rows = (Row(*values, codec=codec) for values in itertools.product(*DIMENSIONS[codec].values()))
    return [row for row in rows if row.client in clients and is_possible(row)]


def pairs_of(row):
    values = [getattr(row, name) for name in DIMENSIONS[row.codec]]
    return {(i, values[i], k, values[k]) for i, k in itertools.combinations(range(len(values)), 2)}


def pairwise(rows, seed, choices=60):
    """A sample in which every pair of values that some row has occurs: greedy, of `choices` random rows the one that
    brings most new pairs. Cheaper rows (smaller pictures) win a tie."""
    chance = random.Random(seed)
    missing = set().union(*map(pairs_of, rows))
    by_pair = {}
    for row in rows:
        for pair in pairs_of(row):
            by_pair.setdefault(pair, []).append(row)
    sample = []
    while missing:
        pair = chance.choice(sorted(missing, key=repr))
        holders = by_pair[pair]
        tried = chance.sample(holders, min(choices, len(holders)))
        best = max(tried, key=lambda row: (len(pairs_of(row) & missing), -row.size[0]))
        missing -= pairs_of(best)
        sample.append(best)
    return sample
