# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables of the results of sessions whose driver fails, and the part of docs/reliability.md that contains them."""

from collections import Counter

import failover

ACTIONS = ("error", "hang", "segv", "abort", "device-lost", "overflow", "size-0", "garbage")
FINISHERS = {"128": "the GPU that failed", "129": "the second GPU", "x264": "x264", "x265": "x265", "": "refused"}

INTRODUCTION = """\
# What happens when a driver fails

Whatever the driver does, a session outputs every frame that it has accepted exactly once and in order, in a stream that
plays. `scripts/verify failover` proves this on the reference driver of [Tests/Drivers](../Tests/Drivers/README.md). It
makes every entry point that an encode calls fail, in every way that the call can fail, and compares the result with
this part of the page.

Each session encodes 120 numbered pictures of 64x64 and meets one fault: in the first call, in the fifth call, or in
every call of each encoder. The sessions differ in:

- B-frames: with and without.
- Process: the encoder runs in the program's own process or in a helper process. Crashes are tested in helper processes
  only, because they would end the program.
- Recovery: the device works again for the next encoder, a second GPU takes over, or a software encoder takes over
  (x264 for H.264, x265 for HEVC).

The deadline is 100 ms for a frame and 2 s for the creation of an encoder. After each session, the numbers are read from
the decoded pictures. The decoder must not have reported errors, every failure must have been reported with its reason,
and no process, thread, descriptor or mapping may remain, except threads that hang in the program's own process.

"""

RULES = """\

## When an encoder is given up

- The session retries a failure on the same device. It gives the device up after 5 failed creations or 20 consecutive
  failed frames. The frame count restarts when a frame and all frames with earlier presentation times are done, so a
  helper that is killed from time to time never reaches the limit.
- The session gives a device up after two missed deadlines (`SessionLimits.missedDeadlines`), during creation or while
  encoding, because each of them takes the whole deadline. A missed deadline no longer counts after 250 frames, or after
  one frame if there is no other candidate.
- Time during which the program itself is stopped does not count: SIGSTOP, a debugger, a paused container. The session
  detects a stop by an alarm that is late by more than an eighth of the deadline. After a stop, it may replace encoders
  in helpers.
- Under load, x265's lookahead may return nothing for a frame. From then on, it holds one more frame. The session allows
  up to 8 such frames. Then it drains the encoder, and the next frame starts a new one.
- If an encoder in the program's own process hangs, the session abandons it with its thread and its device. It retries
  the device only in a helper process, because a helper process can be killed.
- A driver that reports a missing feature, or that does not start, is not retried. A driver that has worked in the same
  session is retried, even if its device disappears for a moment. The session then waits between attempts, almost four
  seconds in total (`SessionLimits.creationPause`), but does not wait in real-time mode.
- A picture that does not fit its coded buffer is encoded again with a larger buffer, up to three times, before it
  counts as failed.
- Garbage in a coded picture's status, and failures of calls that only release resources, have no effect.
"""


def taken_over(results):
    """The number of sessions in which a new encoder had to take over, without deadlines missed by a busy machine."""
    return sum(result.failed > (0 if result.row.action in ("hang", *failover.CRASHES) else result.missed)
               and not result.row.is_refusal for result in results)


def exact(results):
    """The numbers of sessions, of those in which a new encoder took over, of refused ones, and of failed ones."""
    counts = {"anew": taken_over(results), "refused": sum(result.row.is_refusal for result in results),
              "FAILED": sum(bool(result.complaints) for result in results)}
    return ", ".join([str(len(results)), *(f"{count} {name}" for name, count in counts.items() if count)])


def rounded(results):
    """The same without values that depend on timing: calls that end an encoder may coincide with frames of the next."""
    refused = sum(result.row.is_refusal for result in results)
    text = f"{len(results)} anew" if taken_over(results) > 0.45 * (len(results) - refused) else str(len(results))
    return text + (f", {refused} refused" if refused else "")


def table(results, cell=exact):
    """A Markdown table of the results by entry point and action."""
    targets = sorted({result.row.target for result in results}, key=lambda target: (target == "coded", target))
    lines = ["| call | " + " | ".join(ACTIONS) + " |", "|---" * (len(ACTIONS) + 1) + "|"]
    for target in targets:
        chosen = [[result for result in results if (result.row.target, result.row.action) == (target, action)]
                  for action in ACTIONS]
        name = "pictures" if target == "coded" else f"`{target}`"
        lines.append(f"| {name} | " + " | ".join(cell(some) if some else "–" for some in chosen) + " |")
    return "\n".join(lines)


def finishers(results):
    """Which encoders finished the sessions, by the encoder that was available to take over."""
    lines = []
    for survivor in failover.SURVIVORS:
        counts = Counter(FINISHERS[result.finisher] for result in results if result.row.survivor == survivor)
        lines.append(f"{survivor:9}" + ", ".join(f"{name} {count}" for name, count in sorted(counts.items())))
    return "\n".join(lines)


def document(results):
    """The part of the page. Nothing in it depends on timing. It does not state how many encoders failed, or which
    encoder finished a session, because an encoder that fails now and then may or may not be given up."""
    lost = sum(bool(result.complaints) for result in results)
    tables = "".join(
        f"## {title}\n\n{table([result for result in results if result.row.codec == codec], rounded)}\n\n"
        for codec, title in (("h264", "H.264"), ("hevc", "HEVC")))
    return (INTRODUCTION + f"{len(results)} sessions; in {lost} of them, the outcome was wrong.\n\n"
            "The tables show the number of sessions. `anew`: a new encoder took over in about half of them or more.\n"
            "In the others, the encoder recovered, or the fault came after the last frame.\n\n"
            + tables +
            "`refused`: the driver does not start and there is no alternative, so no session is created and the\n"
            "error states the reason. `–`: the call does not have this fault. `overflow` of `vaMapBuffer` is the\n"
            "status 0x25, which Intel's driver returns for an overflow.\n" + RULES)
