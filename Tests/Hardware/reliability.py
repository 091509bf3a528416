# SPDX-License-Identifier: GPL-2.0-or-later
"""What became of sessions whose driver fails, as tables, and their part of docs/reliability.md, which is made of them
alone."""

from collections import Counter

import failover

ACTIONS = ("error", "hang", "segv", "abort", "device-lost", "overflow", "size-0", "garbage")
FINISHERS = {"128": "the GPU that failed", "129": "the second GPU", "x264": "x264", "x265": "x265", "": "refused"}

INTRODUCTION = """\
# What happens when a driver fails

Every frame that a session has accepted comes out once, in order, in a stream that plays, whatever the driver does.
This is tried on the reference driver of [Tests/Drivers](../Tests/Drivers/README.md), at every entry point that an
encode calls, in every way that the call can fail. `scripts/verify failover` repeats it, and fails if this part
does not say what it finds.

A session of 120 pictures of 64x64, each of which shows its number, meets one fault: in the first call, the fifth, or
every call of each encoder; without and with B-frames; with the encoder in the program's own process (without crashes,
which would end that) and in a helper process; and with one of three ways out: the device works again for the next
encoder, a second GPU stands by, or x264 does, for HEVC x265. A frame has 100 ms until its deadline, a creation 2 s. Afterwards the
numbers are read from the decoded pictures, the decoder must have complained about nothing, every failure must have
been told with its reason, and no process, thread, descriptor or mapping may be left, apart from threads that hang in
the program's own process.

"""

RULES = """\

## When an encoder is given up

- What fails is tried again on the same device: 5 creations, 20 failed frames in a row. A frame that has come out,
  together with all that is shown before it, ends a row; so a helper that is killed now and then is never too much.
- Two missed deadlines are enough (`SessionLimits.missedDeadlines`), in creation or at work, since each costs the whole
  deadline. 250 frames between them make the first one forgotten; one frame does, if nobody else could go on.
- Time in which the program itself stands still does not count: SIGSTOP, a debugger, a container that is paused. An alarm
  that comes late by an eighth of the deadline tells of it. Encoders in helpers may be made anew after it.
- x265's lookahead may find nothing for a frame under load, and keeps one more from then on. Up to 8 are allowed for; then
  the encoder is drained and the next frame begins a new one.
- An encoder in the program's own process that hangs is left behind, thread, device and all. The device is then tried
  again in a helper process only, where the same can be ended.
- A driver that says that it lacks what is wanted, or does not start, is not tried again. One that has worked in the
  same session is, even if its device is gone for a moment: between attempts it waits, nearly four seconds in all
  (`SessionLimits.creationPause`), but not with real-time mode.
- A picture that does not fit its coded buffer is coded again with a larger one, three times, before it counts as
  failed.
- Garbage in a coded picture's status, and calls that only tidy up, fail nothing.
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
    return (INTRODUCTION + f"{len(results)} sessions; in {lost} of them something else came out.\n\n"
            "The tables say how many sessions there were. `anew`: in about half of them or more a new encoder took\n"
            "over; in the others the fault was got over, or came after the last frame.\n\n"
            + tables +
            "`refused`: a driver that does not start, and nothing stands by: there is no session, and the error says\n"
            "why. `–`: the fault does not exist there. `overflow` of `vaMapBuffer` is the status 0x25, by which\n"
            "Intel's driver tells it.\n" + RULES)
