# SPDX-License-Identifier: GPL-2.0-or-later
"""What the hardware encoder is asked for, row by row, and what it cannot be asked for."""

from collections import namedtuple

from covering import covering, uncovered

Row = namedtuple("Row", "persona low_power profile control b_frames entropy slices size gop depth isolation container")

SIZES = ((64, 64), (176, 144), (642, 358), (1280, 720), (1920, 1080))
SMALL_SIZES = ((64, 64), (176, 144), (178, 102))
LARGEST = (4096, 2304)

VALUES = Row(
    persona=("intel", "amd", "amd-25", "low-power"),
    low_power=("off", "on"),
    profile=("baseline", "main", "high"),
    control=("cqp", "cbr", "vbr", "icq", "qvbr", "avbr"),
    b_frames=("off", "2", "pyramid"),
    entropy=("cavlc", "cabac"),
    slices=(1, 4),
    size=SIZES,
    gop=("closed", "open"),
    depth=(1, 4),
    isolation=("in-process", "process"),
    container=("mp4", "ts", "h264"),
)

# HEVC has one way to code symbols. What its pictures have 10 bits of is 10 bits in the source, too.
HEVC_VALUES = VALUES._replace(profile=("hevc-main", "hevc-main10"), entropy=("cabac",), container=("mp4", "ts", "hevc"))

# Format range extensions: chroma format and bits of the pictures are those of the profile. `hevc-main422-8` is 8 bits in
# the profile of 10.
EXTENDED_PROFILES = ("hevc-main12", "hevc-main422-8", "hevc-main422-10", "hevc-main422-12", "hevc-main444",
                     "hevc-main444-10", "hevc-main444-12")
EXTENDED_VALUES = HEVC_VALUES._replace(persona=("intel", "low-power"), profile=EXTENDED_PROFILES)
# What CI tries of them: fewer ways to control the rate, of which each has to meet every profile.
EXTENDED_SAMPLE = EXTENDED_VALUES._replace(control=("cqp", "vbr"), entropy=("cabac",), container=("mp4", "hevc"))
# Those that the personas list for the low-power entrypoint (Tests/Drivers/README.md).
LOW_POWER_PROFILES = ("hevc-main422-8", "hevc-main422-10", "hevc-main444", "hevc-main444-10")

# The indices of the dimensions that is_possible looks at.
RULED = [Row._fields.index(name) for name in ("persona", "low_power", "profile", "control", "b_frames", "entropy")]

# Rate controls of the reference driver's personas, by entrypoint (Tests/Drivers/README.md).
CONTROLS = {
    ("intel", "off"): ("cqp", "cbr", "vbr", "icq", "qvbr", "avbr"),
    ("intel", "on"): ("cqp", "cbr", "vbr", "qvbr"),
    ("amd", "off"): ("cqp", "cbr", "vbr"),
    ("amd-25", "off"): ("cqp", "cbr", "vbr", "qvbr"),
    ("low-power", "on"): ("cqp",),
}


def why_impossible(row):
    """What speaks against a row: the name of the option that cannot be had, and of the reason; None: nothing."""
    row = Row(*row)
    if (row.persona, row.low_power) not in CONTROLS:
        return "low_power"
    if row.control not in CONTROLS[row.persona, row.low_power]:
        return "control"
    if row.low_power == "on" and row.profile in EXTENDED_PROFILES and row.profile not in LOW_POWER_PROFILES:
        return "profile"
    if row.b_frames != "off" and not has_b_frames(row):
        return "b_frames"
    if row.entropy == "cabac" and row.profile == "baseline":
        return "entropy"
    return None


def has_b_frames(row):
    """The AMD-like persona of today has them for H.264 alone."""
    of_persona = {("intel", "off"): True, ("amd-25", "off"): codec_of(row) == "h264"}
    return row.profile != "baseline" and of_persona.get((row.persona, row.low_power), False)


def is_possible(row):
    return why_impossible(row) is None


def is_of_persona(row, persona):
    return not persona or row.persona == persona


def cost(row):
    return Row(*row).size[0]


def codec_of(row):
    return "hevc" if row.profile.startswith("hevc") else "h264"


def bits_of(row):
    return next((bits for bits in (10, 12) if row.profile.endswith(str(bits))), 8)


def chroma_of(row):
    """As FFmpeg's names of pixel formats have it."""
    return next((chroma for chroma in ("422", "444") if chroma in row.profile), "420")


def pixel_format_of(row):
    """What is decoded, by FFmpeg's name."""
    return f"yuv{chroma_of(row)}p" + (f"{bits_of(row)}le" if bits_of(row) > 8 else "")


def slices_of(row):
    """How many slices a picture has: as many as are asked for, or as there is room for with HEVC's large blocks, or as
    there are with equal numbers of rows in all but the last."""
    if row.persona == "amd-25":
        lines = -(-row.size[1] // (16 if codec_of(row) == "h264" else 64))
        return min((-(-lines // height) for height in range(lines, 0, -1)), key=lambda count: abs(count - row.slices))
    if codec_of(row) == "h264":
        return row.slices
    columns, lines = ((side + 63) // 64 for side in row.size)
    takes_blocks = (row.persona, row.low_power) == ("intel", "off")
    return min(row.slices, columns * lines if takes_blocks else lines)


def table(seed, sizes=SIZES, values=VALUES):
    """The rows of a codec's table, which has every possible pair of values, and the largest picture once."""
    dimensions = values._replace(size=sizes)
    rows = [Row(*row) for row in covering(dimensions, is_possible, RULED, seed, cost=cost)]
    lacking = uncovered(rows, dimensions, is_possible)
    if lacking:
        raise AssertionError(f"the table lacks {len(lacking)} pairs, such as {min(lacking, key=repr)}")
    if sizes is SIZES:
        rows.append(Row("intel", "off", values.profile[-1], "cqp", "pyramid", "cabac", 4, LARGEST, "closed", 4, "process", "mp4"))
    return rows


def describe(row):
    """The row in one line, which no other row has."""
    entrypoint = "low-power entrypoint" if row.low_power == "on" else "full entrypoint"
    return (f"{row.persona} {entrypoint} {row.profile} {row.control} b={row.b_frames} {row.entropy} "
            f"slices={row.slices} {row.size[0]}x{row.size[1]} {row.gop} depth={row.depth} {row.isolation} {row.container}")


def frames_of(row):
    """Several groups of pictures where pictures are small; fewer of large ones."""
    return {64: 40, 176: 30, 178: 24, 642: 18, 1280: 14, 1920: 12, 4096: 4}[row.size[0]]


def rate_of(row):
    """Bits per second that suit the size, of those that H.264 tells exactly."""
    return max(102_400, row.size[0] * row.size[1] * 2 // 6400 * 6400)


def limits_of(row):
    """REFERENCE_DRIVER_LIMITS. The AMD-like persona takes one slice; later chips of AMD take many."""
    if row.profile in EXTENDED_PROFILES:
        return "hevc=all"
    return "slices=128" if row.persona == "amd" and row.slices > 1 else ""


def options_of(row):
    """The options of `vatoolbox encode`."""
    rate = str(rate_of(row))
    peak = str(rate_of(row) * 3 // 2)
    control = {
        "cqp": ["--qp", "26"],
        "cbr": ["--cbr", "--bitrate", rate],
        "vbr": ["--bitrate", rate, "--peak-bitrate", peak],
        "icq": ["--crf", "26"],
        "qvbr": ["--crf", "26", "--peak-bitrate", peak],
        "avbr": ["--bitrate", rate],
    }[row.control]
    b_frames = {"off": ["--b-frames", "off"], "2": ["--b-frames", "2", "--no-b-pyramid"],
                "pyramid": ["--b-frames", "3"]}[row.b_frames]
    # libavcodec (5.1 to 7.1) loses residuals of 12 bits with quantizers of 50 and 51: see docs/command.md.
    if bits_of(row) == 12 and row.control != "cqp":
        control += ["--max-qp", "49"]
    codec = ["--codec", "hevc"] if codec_of(row) == "hevc" else ["--entropy", row.entropy]
    profile = ["--profile", row.profile]
    if row.profile == "hevc-main422-8":
        profile = ["--profile", "hevc-main422-10", "--bit-depth", "8"]
    return ["--rate-control", row.control, *control, *profile, *b_frames, *codec,
            "--slices", str(slices_of(row)), *(["--open-gop"] if row.gop == "open" else []), "--low-power", row.low_power,
            "--async-depth", str(row.depth), "--isolation", row.isolation, "--keyframe-interval", "10"]
