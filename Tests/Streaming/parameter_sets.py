# SPDX-License-Identifier: GPL-2.0-or-later
"""What sequence parameter sets say: H.264 7.3.2.1.1 with annex E, HEVC 7.3.2.2 with annex E."""

from dataclasses import dataclass
from fractions import Fraction

# Indices of Table E-1: the pixel aspect ratios.
RATIOS = [None, (1, 1), (12, 11), (10, 11), (16, 11), (40, 33), (24, 11), (20, 11), (32, 11), (80, 33), (18, 11),
          (15, 11), (64, 33), (160, 99), (4, 3), (3, 2), (2, 1)]


class Bits:
    def __init__(self, unit):
        """unit: a NAL unit without its header."""
        self.data = unit.replace(b"\0\0\3", b"\0\0")
        self.position = 0

    def read(self, count=1):
        end = self.position + count
        if end > 8 * len(self.data):
            raise ValueError("a parameter set ends too early")
        first, last = self.position // 8, (end + 7) // 8
        value = int.from_bytes(self.data[first:last], "big") >> (8 * last - end)
        self.position = end
        return value & ((1 << count) - 1)

    def ue(self):
        zeros = 0
        while not self.read():
            zeros += 1
            if zeros > 32:
                raise ValueError("no Exp-Golomb code")
        return (1 << zeros) - 1 + (self.read(zeros) if zeros else 0)

    def se(self):
        code = self.ue()
        return (code + 1) // 2 if code % 2 else -(code // 2)


@dataclass
class Sequence:
    """A sequence parameter set. Colours are those of H.273; 2 is unspecified."""

    profile: int
    level: int  # in tenths for H.264 (41 is 4.1), in thirtieths for HEVC (123 is 4.1)
    width: int
    height: int
    depth: int
    is_high_tier: bool = False
    is_progressive: bool = True
    ratio: Fraction = Fraction(1)
    primaries: int = 2
    transfer: int = 2
    matrix: int = 2
    frame_rate: Fraction = None
    colour_bit: int = None  # the position of colour_primaries, if it is there


def read_vui(bits, result, is_hevc):
    if bits.read():
        index = bits.read(8)
        pair = (bits.read(16), bits.read(16)) if index == 255 else RATIOS[index] if index < len(RATIOS) else None
        result.ratio = Fraction(*pair) if pair and pair[1] else Fraction(1)
    if bits.read():  # overscan
        bits.read()
    if bits.read():
        bits.read(4)
        if bits.read():
            result.colour_bit = bits.position
            result.primaries, result.transfer, result.matrix = bits.read(8), bits.read(8), bits.read(8)
    if bits.read():  # positions of chroma samples
        bits.ue(), bits.ue()
    if is_hevc:
        bits.read(3)
        if bits.read():  # default display window
            [bits.ue() for _ in range(4)]
    if bits.read():
        tick, scale = bits.read(32), bits.read(32)
        if tick:
            result.frame_rate = Fraction(scale, tick if is_hevc else 2 * tick)


def skip_scaling_lists(bits, count):
    for index in range(count):
        if bits.read():
            last, following = 8, 8
            for _ in range(16 if index < 6 else 64):
                if following:
                    following = (last + bits.se()) % 256
                last = following or last


def h264(unit):
    """unit: the NAL unit with its header."""
    bits = Bits(unit[1:])
    profile, _, level = bits.read(8), bits.read(8), bits.read(8)
    bits.ue()
    chroma, depth = 1, 8
    if profile in (100, 110, 122, 244, 44, 83, 86, 118, 128):
        chroma = bits.ue()
        if chroma == 3:
            bits.read()
        depth = 8 + bits.ue()
        bits.ue(), bits.read()
        if bits.read():
            skip_scaling_lists(bits, 12 if chroma == 3 else 8)
    bits.ue()
    kind = bits.ue()
    if kind == 0:
        bits.ue()
    elif kind == 1:
        bits.read(), bits.se(), bits.se()
        [bits.se() for _ in range(bits.ue())]
    bits.ue(), bits.read()
    width, height = 16 * (bits.ue() + 1), 16 * (bits.ue() + 1)
    is_progressive = bits.read() == 1
    if not is_progressive:
        height *= 2
        bits.read()
    bits.read()
    if bits.read():
        across, down = (2 if chroma in (1, 2) else 1), (2 if chroma == 1 else 1) * (1 if is_progressive else 2)
        left, right, top, bottom = (bits.ue() for _ in range(4))
        width, height = width - across * (left + right), height - down * (top + bottom)
    result = Sequence(profile, level, width, height, depth, is_progressive=is_progressive)
    if bits.read():
        read_vui(bits, result, False)
    return result


def skip_reference_sets(bits, count):
    """HEVC 7.3.7."""
    sizes = []
    for index in range(count):
        if index and bits.read():
            bits.read(), bits.ue()
            kept = 0
            for _ in range(sizes[-1] + 1):
                used = bits.read()
                kept += used or bits.read()
            sizes.append(kept)
            continue
        negative, positive = bits.ue(), bits.ue()
        for _ in range(negative + positive):
            bits.ue(), bits.read()
        sizes.append(negative + positive)


def skip_hevc_scaling_lists(bits):
    """HEVC 7.3.4."""
    for size in range(4):
        for _ in range(0, 6, 3 if size == 3 else 1):
            if not bits.read():
                bits.ue()
                continue
            if size > 1:
                bits.se()
            for _ in range(min(64, 1 << (4 + 2 * size))):
                bits.se()


def hevc(unit):
    """unit: the NAL unit with its header."""
    bits = Bits(unit[2:])
    bits.read(4)
    sub_layers = bits.read(3)
    bits.read()
    bits.read(2)
    is_high_tier, profile = bits.read() == 1, bits.read(5)
    bits.read(32)
    is_progressive, is_interlaced = bits.read() == 1, bits.read() == 1
    bits.read(46)
    level = bits.read(8)
    present = [(bits.read(), bits.read()) for _ in range(sub_layers)]
    if sub_layers:
        bits.read(2 * (8 - sub_layers))
    for has_profile, has_level in present:
        bits.read(88 * has_profile + 8 * has_level)
    bits.ue()
    chroma = bits.ue()
    if chroma == 3:
        bits.read()
    width, height = bits.ue(), bits.ue()
    if bits.read():
        across, down = (2 if chroma in (1, 2) else 1), (2 if chroma == 1 else 1)
        left, right, top, bottom = (bits.ue() for _ in range(4))
        width, height = width - across * (left + right), height - down * (top + bottom)
    depth = 8 + bits.ue()
    bits.ue()
    order_bits = bits.ue() + 4
    for _ in range(1 if not bits.read() else sub_layers + 1):
        bits.ue(), bits.ue(), bits.ue()
    [bits.ue() for _ in range(6)]
    if bits.read() and bits.read():
        skip_hevc_scaling_lists(bits)
    bits.read(2)
    if bits.read():
        bits.read(8), bits.ue(), bits.ue(), bits.read()
    skip_reference_sets(bits, bits.ue())
    if bits.read():
        for _ in range(bits.ue()):
            bits.read(order_bits + 1)
    bits.read(2)
    result = Sequence(profile, level, width, height, depth, is_high_tier, is_progressive and not is_interlaced)
    if bits.read():
        read_vui(bits, result, True)
    return result


def hevc_name(entry, tier):
    """The codec of RFC 6381 as ISO/IEC 14496-15 E.3 forms it.

    tier: the 12 bytes of profile_tier_level up to the level."""
    space, is_high, profile = tier[0] >> 6, tier[0] >> 5 & 1, tier[0] & 31
    flags = int(f"{int.from_bytes(tier[1:5], 'big'):032b}"[::-1], 2)
    limits = tier[5:11].rstrip(b"\0")
    parts = [entry, f"{['', 'A', 'B', 'C'][space]}{profile}", f"{flags:X}", f"{'LH'[is_high]}{tier[11]}"]
    return ".".join(parts + [f"{byte:X}" for byte in limits])
