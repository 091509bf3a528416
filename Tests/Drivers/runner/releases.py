# SPDX-License-Identifier: GPL-2.0-or-later
"""What releases differ in where programs and drivers fail, or put more into a stream than was coded: seen with ffmpeg 5.1
and 7.1, Mesa 22.3 and 25.0. Each fact is here once, and tests ask for it by version."""

import re
from dataclasses import dataclass

from .allow import ffmpeg_version


@dataclass(frozen=True)
class FFmpeg:
    """The ffmpeg command."""

    version: int  # the first number

    def failure(self, error):
        """The exit status after an error with that errno: until version 5 always 1, later the negative number's low byte."""
        return -error & 0xFF if self.version >= 7 else 1

    def empty_packets(self, frames):
        """How many packets come of pictures for which a driver gives nothing. Version 7 loses one that is empty when it
        drains the encoder."""
        return frames - 1 if self.version >= 7 else frames


@dataclass(frozen=True)
class Driver:
    """A VA driver, by what its vendor string says."""

    name: str  # as in the file's name: iHD, radeonsi
    version: int  # the first number

    @classmethod
    def of(cls, vendor):
        """The driver of a vendor string, such as `Mesa Gallium driver 25.0.7-2 for AMD Radeon RX 6800`."""
        found = re.search(r"(iHD driver|Mesa Gallium driver)\D*?(?: - | )(\d+)\.", vendor)
        if not found:
            raise ValueError(f"no version of iHD or Mesa in {vendor!r}")
        return cls("iHD" if found[1].startswith("iHD") else "radeonsi", int(found[2]))

    @property
    def adds_headers(self):
        """Whether the driver writes headers in front of what the hardware coded. With Mesa 22.3 all of a packet is coded by
        the hardware."""
        return self.name == "radeonsi" and self.version >= 24

    def sizes(self, coded, frames):
        """What each packet's size may be, if the hardware codes so many bytes for each picture: parameter sets and the
        encoder's name come with the first one, timing SEI of 12 or 13 bytes with each while rates are controlled."""
        if not self.adds_headers:
            return [range(coded, coded + 1)] * frames
        return [range(coded + 24, coded + 320)] + [range(coded, coded + 14)] * (frames - 1)

    @property
    def refused_submission(self):
        """How a process ends, and what it says, when the kernel refuses a submission with EIO. Only radeonsi ends it."""
        if self.version >= 24:
            return -6, ("amdgpu: The CS has been rejected, see dmesg for more information (-5)",)
        return 1, ("amdgpu: The CS has been rejected (-5)", "The process will be terminated")

    @property
    def crashes_without_device(self):
        """Whether the driver may crash, without a word, when the device vanishes."""
        return self.name == "radeonsi" and self.version >= 24

    @property
    def gives_stale_pictures(self):
        """Whether after a reset some pictures hold what an earlier one left in the buffer, and not nothing."""
        return self.name == "radeonsi" and self.version >= 24


FFMPEG = FFmpeg(ffmpeg_version())
