# SPDX-License-Identifier: GPL-2.0-or-later
"""Puts together what the client, the driver and the decoders said."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Verdict:
    client: str
    ended: object  # launch.Ended
    decoded: object = None  # media.Decoded, or None when there was no output
    second: object = None
    exact: tuple | None = (0, 0)  # frames that equal the reconstruction, of how many; None: there are no sums
    source: tuple | None = None  # frames whose source arrived as sent, of how many; None: no source was given
    findings: list = field(default_factory=list)  # without those that the allow-list excuses
    excused: int = 0
    leaks: list = field(default_factory=list)
    damaged: int = 0  # journal lines that cannot be read
    journal: object = None  # journal.Journal
    psnr: float | None = None  # on a real GPU
    real: str = ""  # the real device, or "" for the reference driver
    problems: list = field(default_factory=list)  # sentences

    @property
    def decodes(self):
        return self.decoded is not None and self.decoded.clean

    @property
    def good(self):
        whole = [part for part in (self.exact, self.source) if part]
        complete = bool(self.real) or all(part == total and total > 0 for part, total in whole)
        return (self.ended.status == 0 and not self.ended.timed_out and self.decodes and complete
                and (self.second is None or self.second.clean) and not self.findings and not self.leaks
                and not self.damaged and not self.problems)

    def line(self):
        """Everything in one line."""
        parts = [self.client, f"frames {len(self.decoded.frames) if self.decoded else 0}",
                 f"decodes {'yes' if self.decodes else 'no'}"]
        if self.real:
            parts.append(f"on {self.real}")
            parts.append("PSNR " + ("unknown" if self.psnr is None else f"{self.psnr:.2f} dB"))
        else:
            if self.exact:
                parts.append(f"bit-exact {self.exact[0]}/{self.exact[1]}")
                parts.append("source " + (f"{self.source[0]}/{self.source[1]}" if self.source else "not given"))
            parts.append("findings " + count_by_name(self.findings) + (f" ({self.excused} allowed)"
                                                                       if self.excused else ""))
            parts.append("leaks " + count_by_name(self.leaks))
        if self.second is not None:
            parts.append(f"{self.second.decoder} {'agrees' if self.second.clean else 'disagrees'}")
        if self.ended.status != 0 or self.ended.timed_out:
            parts.append(f"client {self.ended.description}")
        return ", ".join(parts + self.problems)

    def as_json(self):
        return {
            "client": self.client, "good": self.good, "status": self.ended.status, "timed_out": self.ended.timed_out,
            "frames": len(self.decoded.frames) if self.decoded else 0, "decodes": self.decodes,
            "complaints": self.decoded.complaints if self.decoded else [],
            "bit_exact": list(self.exact) if self.exact else None, "source": list(self.source) if self.source else None,
            "findings": dict(Counter(finding.name for finding in self.findings)), "excused": self.excused,
            "leaks": dict(Counter(finding.name for finding in self.leaks)),
            "second_decoder": None if self.second is None else
            {"name": self.second.decoder, "agrees": self.second.clean, "complaints": self.second.complaints},
            "psnr": self.psnr, "device": self.real or "reference driver", "problems": self.problems,
            "seconds": round(self.ended.seconds, 3),
        }


def count_by_name(findings):
    if not findings:
        return "none"
    counts = Counter(finding.name for finding in findings)
    return "+".join(f"{name}:{count}" for name, count in sorted(counts.items()))


def equal_count(left, right):
    """How many elements agree, place by place, of the longer list's length."""
    return sum(a == b for a, b in zip(left, right)), max(len(left), len(right))
