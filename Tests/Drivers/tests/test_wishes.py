#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the reference driver does with wishes for parts of a picture, regions of interest and intra refresh, and what it
finds wrong with them."""

import os
import shutil
import unittest
from pathlib import Path

from test_driver import DriverTest, kinds

DRIVERS = Path(__file__).resolve().parent.parent
COLUMNS, ROWS = 5, 3  # macroblocks of the pictures here
SIZE = ["-s", f"{16 * COLUMNS}x{16 * ROWS - 6}"]
QP = 26  # what the client asks for


@unittest.skipUnless(shutil.which("ffmpeg"), "ffmpeg is not installed")
class WishTest(DriverTest):
    def encode(self, *options, frames=14, **settings):
        """The pictures of a stream that decodes to its reconstruction."""
        stream = self.folder / "stream.h264"
        ended = self.client("driver_client", "-n", str(frames), *SIZE, "-o", str(stream), *options, **settings)
        self.assertEqual(ended.status, 0, ended.output)
        pictures = kinds(self.journal, "picture")
        if settings.get("effort") != "skip" and "faults" not in settings:
            self.assertEqual(len(pictures), frames)
            self.assert_exact(stream)
        self.stream = stream.read_bytes()
        return pictures

    def test_waves_are_intra(self):
        self.assertEqual(min(picture["intra_macroblocks"] for picture in self.encode()), 0)
        for refresh, blocks in (("c1", ROWS), ("r1", COLUMNS), ("c2", ROWS), ("c5", COLUMNS * ROWS)):
            with self.subTest(refresh):
                pictures = self.encode("-R", refresh)
                self.assertEqual(self.findings(), [])
                for picture in pictures[1:]:
                    self.assertEqual(picture["type"], "P")
                    self.assertGreaterEqual(picture["intra_macroblocks"], blocks)

    def test_inserted_blocks_have_a_qp_of_their_own(self):
        for delta in (-4, 7):
            with self.subTest(delta):
                pictures = self.encode("-R", f"c1,{delta}")
                self.assertEqual({(picture["qp_least"], picture["qp_most"]) for picture in pictures[1:]},
                                 {(min(QP, QP + delta), max(QP, QP + delta))})
                self.assertEqual((pictures[0]["qp_least"], pictures[0]["qp_most"]), (QP, QP))

    def test_waves_that_leave_something_out_are_found(self):
        self.encode("-R", "c1", "-G", "3")
        self.assertEqual(self.findings(), ["intra-refresh-gap"])
        self.encode("-R", "c1", "-G", "3", frames=6)
        self.assertEqual(self.findings(), [], "the wave has not started again")

    def test_only_what_is_advertised_may_be_asked_for(self):
        for settings, found in (({"persona": "amd"}, True), ({"limits": "intra-refresh=0x2"}, True),
                                ({"limits": "intra-refresh=0x0"}, True), ({"limits": "intra-refresh=0x1"}, False),
                                ({"persona": "low-power"}, False)):
            with self.subTest(str(settings)):
                self.encode("-R", "c1", frames=2, **settings)
                self.assertEqual(self.findings(), ["intra-refresh-not-advertised"] if found else [])

    def test_regions_have_a_qp_of_their_own(self):
        plain = self.encode()
        for value in (-12, 9):
            with self.subTest(value):
                pictures = self.encode("-Q", f"16,16,17,8,{value}")
                self.assertEqual(self.findings(), [])
                for picture in pictures:
                    self.assertEqual((picture["qp_least"], picture["qp_most"]),
                                     (min(QP, QP + value), max(QP, QP + value)))
                sizes = pictures[0]["size"], plain[0]["size"]
                self.assertEqual(sizes[0] > sizes[1], value < 0, sizes)

    def test_the_first_of_overlapping_regions_counts(self):
        first, second = "0,0,80,42,-3", "0,0,80,42,6"
        for regions, qp in (((first, second), QP - 3), ((second, first), QP + 6)):
            for picture in self.encode("-Q", regions[0], "-Q", regions[1], frames=3):
                self.assertEqual((picture["qp_least"], picture["qp_most"]), (qp, qp))

    def test_quantizers_stay_within_their_range(self):
        for picture in self.encode("-Q", "0,0,16,16,-51", "-Q", "16,0,16,16,51", frames=3):
            self.assertEqual((picture["qp_least"], picture["qp_most"]), (0, 51))

    def test_regions_go_with_a_rate(self):
        for picture in self.encode("-b", "300000", "-Q", "16,16,32,16,-8"):
            self.assertEqual(picture["qp_least"], max(0, picture["qp_most"] - 8))
        self.assertEqual(self.findings(), [])

    def test_regions_that_are_wrong_are_found(self):
        for arguments, expected in ((["-Q", "70,0,16,16,-2"], "roi-rectangle-outside"),
                                    (["-Q", "-1,0,16,16,-2"], "roi-rectangle-outside"),
                                    (["-Q", "0,40,16,16,-2"], "roi-rectangle-outside"),
                                    (["-Q", "0,0,0,16,-2"], "roi-rectangle-empty"),
                                    (["-Q", "0,0,16,16,-52"], "roi-delta-outside"),
                                    (["-b", "300000", "-Q", "0,0,16,16,60"], "roi-delta-outside"),
                                    (["-b", "300000", "-p", "-Q", "0,0,16,16,-3"], "roi-priority-not-advertised"),
                                    (["-b", "300000", "-p", "-Q", "0,0,16,16,4"],
                                     "roi-priority roi-priority-not-advertised"),
                                    (["-Q", "nowhere"], "roi-pointer-invalid")):
            with self.subTest(" ".join(arguments)):
                self.encode(*arguments, frames=1)
                self.assertEqual(self.findings(), expected.split())

    def test_wishes_come_again_with_their_pictures(self):
        wishes = ["-R", "c2", "-Q", "16,16,32,16,-8", "-w"]
        self.encode(*wishes)
        undisturbed = self.stream
        for numbers in ((3,), (4, 5), (2, 6, 9)):
            with self.subTest(numbers):
                self.encode(*wishes, faults=";".join(f"coded:{number}=overflow" for number in numbers))
                self.assertEqual(self.stream, undisturbed)
                self.assertEqual(self.findings(), [])

    def test_skipping_ignores_wishes(self):
        pictures = self.encode("-R", "c1", "-Q", "16,16,32,16,-8", effort="skip")
        self.assertEqual(self.findings(), [])
        self.assertEqual([picture["intra_macroblocks"] for picture in pictures[1:]], [0] * 13)
        self.assertEqual({(picture["qp_least"], picture["qp_most"]) for picture in pictures}, {(QP, QP)})


if __name__ == "__main__":
    os.chdir(DRIVERS)
    unittest.main()
