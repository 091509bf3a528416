# SPDX-License-Identifier: GPL-2.0-or-later
"""The results of sessions whose driver fails, as tables, and the part of docs/reliability.md that is made of them."""

from collections import Counter

import failover

ACTIONS = ("error", "hang", "segv", "abort", "device-lost", "overflow", "size-0", "garbage")
FINISHERS = {"128": "the GPU that failed", "129": "the second GPU", "x264": "x264", "x265": "x265", "": "refused"}

INTRODUCTION = """\
# What happens when a driver fails

Every frame that a session has accepted comes out once and in order, in a stream that plays, whatever the driver does.
The proof runs on the reference driver of [Tests/Drivers](../Tests/Drivers/README.md) and fails every entry point that
an encode calls, in every way that the call can fail. `scripts/verify failover` repeats it and compares the result with
this part of the page.

Each session encodes 120 numbered pictures of 64x64 and meets one fault: in the first call, in the fifth, or in every
call of each encoder; with and without B-frames; with the encoder in the program's own process (without crashes, which
would end that process) and in a helper process; and with one of three ways out: the device works again for the next
encoder, a second GPU takes over, or x264 does (x265 for HEVC). The deadline is 100 ms for a frame and 2 s for the
creation of an encoder. Afterwards, the numbers are read from the decoded pictures. The decoder must not have reported
errors, every failure must have been reported with its reason, and no process, thread, descriptor or mapping may remain,
except threads that hang in the program's own process.

"""

RULES = """\

## When an encoder is given up

- A failure is retried on the same device: up to 5 creations and 20 consecutive failed frames. The count restarts when a
  frame and all frames with earlier presentation times are done, so a helper that is killed from time to time never
  reaches the limit.
- Two missed deadlines are the limit (`SessionLimits.missedDeadlines`), during creation or at work, because each costs
  the whole deadline. After 250 frames, a missed deadline no longer counts; if there is no other candidate, after one.
- Time in which the program itself is stopped does not count: SIGSTOP, a debugger, a paused container. The session
  detects it by an alarm that fires late by an eighth of the deadline. It may replace encoders in helpers afterwards.
- Under load, x265's lookahead may return nothing for a frame and then holds one more frame from there on. The session
  allows up to 8; then it drains the encoder, and the next frame starts a new one.
- If an encoder in the program's own process hangs, the session abandons it with its thread and device. The device is
  then retried in a helper process only, which can be killed.
- A driver that reports that it lacks a feature, or that does not start, is not retried. A driver that has worked in the
  same session is, even if its device has disappeared for a moment: the session waits between attempts, almost four
  seconds in total (`SessionLimits.creationPause`), but not in real-time mode.
- A picture that does not fit its coded buffer is encoded again with a larger one, up to three times, before it counts
  as failed.
- Garbage in a coded picture's status, and failures of calls that only release resources, have no effect.
"""


def taken_over(results):
    """In how many sessions a new encoder had to take over. A deadline that a busy machine missed does not count."""
    return sum(result.failed > (0 if result.row.action in ("hang", *failover.CRASHES) else result.missed)
               and not result.row.is_refusal for result in results)


def exact(results):
    """Sessions, in how many of them a new encoder took over, which were refused, which went wrong."""
    counts = {"anew": taken_over(results), "refused": sum(result.row.is_refusal for result in results),
              "FAILED": sum(bool(result.complaints) for result in results)}
    return ", ".join([str(len(results)), *(f"{count} {name}" for name, count in counts.items() if count)])


def rounded(results):
    """The same without what depends on the moment: calls of an encoder's end meet frames of the next one, or do not."""
    refused = sum(result.row.is_refusal for result in results)
    text = f"{len(results)} anew" if taken_over(results) > 0.45 * (len(results) - refused) else str(len(results))
    return text + (f", {refused} refused" if refused else "")


def table(results, cell=exact):
    """By entry point and action."""
    targets = sorted({result.row.target for result in results}, key=lambda target: (target == "coded", target))
    lines = ["| call | " + " | ".join(ACTIONS) + " |", "|---" * (len(ACTIONS) + 1) + "|"]
    for target in targets:
        chosen = [[result for result in results if (result.row.target, result.row.action) == (target, action)]
                  for action in ACTIONS]
        name = "pictures" if target == "coded" else f"`{target}`"
        lines.append(f"| {name} | " + " | ".join(cell(some) if some else "–" for some in chosen) + " |")
    return "\n".join(lines)


def finishers(results):
    """Which encoder finished, by who stood by."""
    lines = []
    for survivor in failover.SURVIVORS:
        counts = Counter(FINISHERS[result.finisher] for result in results if result.row.survivor == survivor)
        lines.append(f"{survivor:9}" + ", ".join(f"{name} {count}" for name, count in sorted(counts.items())))
    return "\n".join(lines)


def document(results):
    """The part of the page. Nothing in it depends on the moment: not who finished where an encoder that fails every now and then is
    either given up or not, nor how many failed."""
    lost = sum(bool(result.complaints) for result in results)
    tables = "".join(
        f"## {title}\n\n{table([result for result in results if result.row.codec == codec], rounded)}\n\n"
        for codec, title in (("h264", "H.264"), ("hevc", "HEVC")))
    return (INTRODUCTION + f"{len(results)} sessions; in {lost} of them, the outcome was wrong.\n\n"
            "The tables show the number of sessions. `anew`: in about half of them or more, a new encoder took over; in the\n"
            "others, the encoder recovered or the fault came after the last frame.\n\n"
            + tables +
            "`refused`: the driver does not start and there is no alternative; no session is created, and the error gives the\n"
            "reason. `–`: the fault does not exist there. `overflow` of `vaMapBuffer` is the status 0x25, which Intel's driver\n"
            "returns for it.\n" + RULES)
