#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The reference driver as a decoder of H.264: ffmpeg and GStreamer decode streams of x264, and of field_streams.py, on
it; every picture equals that of a software decoder that reads the stream itself. Then what clients do with decoded
surfaces, failures on demand, and mistakes that are planted in what ffmpeg submits."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
DRIVERS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(DRIVERS), str(DRIVERS / "tests")]

from field_streams import Remix  # noqa: E402
from runner import media  # noqa: E402
from runner.commands import reason_without  # noqa: E402
from runner.journal import read_journal  # noqa: E402
from runner.launch import run  # noqa: E402
from runner.places import build, client_environment  # noqa: E402

NODE = "/dev/dri/renderD128"
DECODES = "decode=h264,hevc"
# ffmpeg gives the format of surfaces without VA_SURFACE_ATTRIB_SETTABLE.
FFMPEG_HABITS = {"surface-attribute-flags"}

# Parameters of x264, with options of ffmpeg where something else is needed. Sizes are 112x80 unless given.
X264 = {
    "cabac": "bframes=3",
    "cavlc": "bframes=3:cabac=0",
    "baseline": ("cabac=0:bframes=0:ref=3:8x8dct=0", "-profile:v", "baseline"),
    "main": ("bframes=2:8x8dct=0", "-profile:v", "main"),
    "pyramid": "bframes=4:b-pyramid=normal:ref=4:b-adapt=0",
    "strict-pyramid": "bframes=4:b-pyramid=strict:b-adapt=0",
    "open-gop": "open-gop=1:bframes=3:keyint=8:b-adapt=0",
    "16-references": "ref=16:bframes=0:keyint=40:subme=5",
    "16-references-pyramid": "ref=16:bframes=4:b-pyramid=normal:keyint=40:b-adapt=0",
    "weighted-p": ("weightp=2:bframes=0:ref=4", "-vf", "fade=in:0:20"),
    "weighted-b": "weightb=1:bframes=5:b-adapt=0:direct=temporal:ref=5",
    "weighted-fade": ("weightb=1:weightp=2:bframes=3:b-adapt=0:direct=auto:ref=5", "-vf", "fade=in:0:20"),
    "temporal": "direct=temporal:bframes=3:b-adapt=0",
    "spatial": "direct=spatial:bframes=3:b-adapt=0",
    "no-8x8-inference": "direct=spatial:bframes=3:b-adapt=0:level=1:ref=1",
    "8x8": "8x8dct=1:partitions=all:trellis=2",
    "jvt-matrices": "cqm=jvt:8x8dct=1:bframes=1",
    "own-matrices": "cqmfile=matrices.cfg:8x8dct=1:bframes=1",
    "slices": "slices=3:bframes=2",
    "slices-within-rows": "slice-max-mbs=5:cabac=0",
    "mbaff-top": ("interlaced=1:tff=1:bframes=3:ref=4:b-adapt=0", "-s", "112x96"),
    "mbaff-bottom": ("interlaced=1:bff=1:bframes=3:ref=4:cabac=0:direct=temporal:b-adapt=0", "-s", "112x96"),
    "mbaff-weighted": ("interlaced=1:tff=1:bframes=3:ref=5:weightb=1:direct=temporal:8x8dct=1", "-s", "112x96"),
    "fake-interlaced": ("fake-interlaced=1:bframes=2", "-s", "112x96"),
    "constrained-intra": "constrained-intra=1",
    "no-deblocking": "no-deblock=1",
    "deblocking": "deblock=-4,5:bframes=1",
    "qp-low": "qp=1:bframes=2",
    "qp-high": "qp=51",
    "chroma-qp": "chroma-qp-offset=-9",
    "intra-refresh": "intra-refresh=1:bframes=0",
    "cropped": ("bframes=2", "-s", "102x74"),
    "cropped-fields": ("bframes=2:interlaced=1:tff=1", "-s", "106x76"),
    "small": ("bframes=2", "-s", "16x16"),
    "delimiters": "bframes=3:aud=1:nal-hrd=vbr:vbv-maxrate=300:vbv-bufsize=300:pic-struct=1",
}

# One value of what ffmpeg submits for decoding (mistakes/mistakes.c): each changes pictures, or is found, or both.
MISTAKES = {
    "bipredictive": """
        picture.CurrPic.picture_id@5+1 picture.CurrPic.flags@5^2 picture.CurrPic.TopFieldOrderCnt@1+2
        picture.CurrPic.TopFieldOrderCnt@*+-5 picture.CurrPic.BottomFieldOrderCnt@1+2
        picture.ReferenceFrames[0].picture_id@5+1000 picture.ReferenceFrames[0].flags@5^1
        picture.ReferenceFrames[0].flags@5^0x18 picture.ReferenceFrames[0].frame_idx@5+1
        picture.ReferenceFrames[0].TopFieldOrderCnt@5+2 picture.picture_width_in_mbs_minus1@5+1
        picture.picture_height_in_mbs_minus1@5+1 picture.picture_height_in_mbs_minus1@5+-1
        picture.bit_depth_luma_minus8@5+1 picture.num_ref_frames@5+-4 picture.seq_fields@5^1 picture.seq_fields@5^0x10
        picture.seq_fields@5^0x20 picture.seq_fields@5^0x40 picture.pic_init_qp_minus26@5+1
        picture.chroma_qp_index_offset@5+1 picture.second_chroma_qp_index_offset@5+1
        picture.pic_fields@*^1 picture.pic_fields@*^4 picture.pic_fields@*^8 picture.pic_fields@*^0x10
        picture.pic_fields@*^0x20 picture.pic_fields@*^0x40 picture.pic_fields@*^0x100 picture.pic_fields@1^0x400
        picture.frame_num@1+1 matrix.ScalingList4x4[0][1]@*+4 matrix.ScalingList4x4[3][1]@*+4
        matrix.ScalingList8x8[0][1]@*+4 matrix.ScalingList8x8[1][1]@*+4 slice.slice_data_size@5+-6
        slice.slice_data_size@5+1000 slice.slice_data_offset@5+1 slice.slice_data_flag@5+1
        slice.slice_data_bit_offset@5+8 slice.slice_data_bit_offset@5+-8 slice.first_mb_in_slice@5+1
        slice.slice_type@1+1 slice.slice_type@3+1 slice.direct_spatial_mv_pred_flag@*^1
        slice.num_ref_idx_l0_active_minus1@5+1 slice.num_ref_idx_l0_active_minus1@5+-1
        slice.num_ref_idx_l1_active_minus1@5+1 slice.cabac_init_idc@5+1 slice.slice_qp_delta@5+1
        slice.disable_deblocking_filter_idc@*+1 slice.slice_alpha_c0_offset_div2@*+1 slice.slice_beta_offset_div2@*+2
        slice.RefPicList0[0]@*~ slice.RefPicList0[0].picture_id@5+1000 slice.RefPicList1[0].picture_id@5+1000
    """,
    "explicit": """
        slice.luma_log2_weight_denom@*+1 slice.luma_weight_l0_flag@*^1 slice.luma_weight_l0[0]@*+3
        slice.luma_offset_l0[0]@*+3 slice.slice_data_bit_offset@5+1 slice.slice_data_bit_offset@5+-1
        picture.pic_fields@*^2 slice.RefPicList0[0]@*~ slice.slice_qp_delta@5+1
    """,
    "fields": """
        picture.CurrPic.flags@5^6 picture.pic_fields@5^0x20 picture.CurrPic.TopFieldOrderCnt@*+7
        picture.CurrPic.BottomFieldOrderCnt@*+7 slice.RefPicList0[0]@*~ slice.first_mb_in_slice@5+1
    """,
}


def matrices():
    values = {"INTRA4X4_LUMA": 16, "INTRA4X4_CHROMAU": 16, "INTRA4X4_CHROMAV": 16, "INTER4X4_LUMA": 16,
              "INTER4X4_CHROMAU": 16, "INTER4X4_CHROMAV": 16, "INTRA8X8_LUMA": 64, "INTER8X8_LUMA": 64}
    return "".join(f"{name} = {','.join(str(6 + (7 * i * i + 5 * i + n) % 50) for i in range(count))}\n"
                   for n, (name, count) in enumerate(values.items()))


@unittest.skipUnless(shutil.which("ffmpeg"), "ffmpeg is not installed")
class DecodingTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.built = build()
        cls.work = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.work.name)
        cls.journal = cls.folder / "journal"
        (cls.folder / "matrices.cfg").write_text(matrices())

    @classmethod
    def tearDownClass(cls):
        cls.work.cleanup()

    def stream(self, name, parameters=None, frames=24, size="112x80", pixels="yuv420p"):
        path = self.folder / f"{name}.h264"
        if path.exists():
            return path
        parameters, *options = [parameters] if isinstance(parameters, str) else parameters or self.x264(name)
        ended = run(["ffmpeg", "-nostdin", "-v", "error", "-y", "-f", "lavfi", "-i",
                     f"testsrc2=size={size}:rate=25,noise=alls=12:allf=t:all_seed=3", "-frames:v", str(frames),
                     "-pix_fmt", pixels, "-c:v", "libx264", "-x264-params", f"keyint=12:threads=1:{parameters}",
                     *options, str(path)], media.tool_environment(), 120, self.folder)
        if ended.status != 0:
            self.fail(ended.output)
        return path

    @staticmethod
    def x264(name):
        return [X264[name]] if isinstance(X264[name], str) else list(X264[name])

    def environment(self, **settings):
        self.journal.unlink(missing_ok=True)
        limits = " ".join(filter(None, (DECODES, settings.pop("limits", ""))))
        return client_environment(self.built, journal=self.journal, limits=limits, **settings)

    def decode(self, path, filters="hwdownload,format=nv12", output=("-f", "framemd5", "-"), **settings):
        return run(["ffmpeg", "-nostdin", "-v", "error", "-y", "-threads", "1", "-hwaccel", "vaapi",
                    "-hwaccel_device", NODE, "-hwaccel_output_format", "vaapi", "-i", str(path),
                    *(["-vf", filters] if filters else []), *output], self.environment(**settings), 120)

    def decode_in_software(self, path, filters="format=nv12"):
        ended = run(["ffmpeg", "-nostdin", "-v", "error", "-threads", "1", "-i", str(path), "-vf", filters, "-f",
                     "framemd5", "-"], media.tool_environment(), 120)
        return media.frame_md5s(ended.output)

    def entries(self, kind):
        return [entry for entry in read_journal(self.journal).entries if entry["kind"] == kind]

    def findings(self):
        return {entry["name"] for entry in self.entries("finding")} - FFMPEG_HABITS

    def assert_decodes(self, path, frames=None, injected=False, **settings):
        ended = self.decode(path, **settings)
        expected = self.decode_in_software(path)
        self.assertEqual(ended.status, 0, ended.output)
        self.assertEqual(media.frame_md5s(ended.output), expected)
        self.assertGreaterEqual(len(self.entries("decoded")), len(expected))
        if frames:
            self.assertEqual(len(expected), frames)
        self.assertEqual(self.findings(), set())
        if not injected:
            self.assertEqual(self.entries("injection"), [])


class StreamTest(DecodingTest):
    def test_streams_of_x264(self):
        for name in X264:
            with self.subTest(name):
                self.assert_decodes(self.stream(name), 24)

    def test_monochrome(self):
        path = self.stream("grey", "bframes=2", pixels="gray")
        raw, expected = self.folder / "raw", self.folder / "expected"
        ended = self.decode(path, output=("-f", "rawvideo", str(raw)))
        self.assertEqual(ended.status, 0, ended.output)
        run(["ffmpeg", "-nostdin", "-v", "error", "-y", "-i", str(path), "-f", "rawvideo", str(expected)],
            media.tool_environment(), 60)
        self.assertEqual(raw.stat().st_size, 24 * 112 * 80 * 3 // 2)
        for frame in range(24):
            at = frame * 112 * 80 * 3 // 2
            shown = raw.read_bytes()[at:at + 112 * 80 * 3 // 2]
            self.assertEqual(shown[:112 * 80], expected.read_bytes()[at:at + 112 * 80])
            self.assertEqual(set(shown[112 * 80:]), {128})
        self.assertEqual(self.findings(), set())

    def test_parameter_sets_and_sizes_change(self):
        for names in (("cabac", "jvt-matrices", "cavlc"), ("cabac", "small", "mbaff-top", "cabac"),
                      ("weighted-fade", "temporal", "baseline")):
            with self.subTest(" ".join(names)):
                path = self.folder / "joined.h264"
                path.write_bytes(b"".join(self.stream(name).read_bytes() for name in names))
                # Filters scale to the first size: what is compared is what the driver has decoded.
                ended = self.decode(path, None, ("-autoscale", "0", "-f", "null", "-"))
                self.assertEqual(ended.status, 0, ended.output)
                self.assertEqual(self.findings(), set())
                decoded = [entry["md5"] for entry in self.entries("decoded")]
                expected = [md5 for name in names for md5 in self.decode_in_software(self.stream(name))]
                self.assertEqual(sorted(decoded), sorted(expected))

    def test_lossless_profiles_are_not_listed(self):
        path = self.stream("lossless", "qp=0:bframes=0")
        self.decode(path)
        self.assertEqual(self.entries("decoded"), [])

    def test_field_pictures_long_term_references_and_marking(self):
        for seed in range(6):
            for adaptive in (False, True):
                with self.subTest(seed=seed, adaptive=adaptive):
                    remix = Remix((96, 64), seed, adaptive, most=(4, 3, 8, 16)[seed % 4],
                                  bipred=(0, 2)[seed // 2 % 2], field_share=(0.7, 0.3)[seed % 2])
                    path = self.folder / "remix.h264"
                    path.write_bytes(remix.stream)
                    self.assert_decodes(path)
                    self.assertIn("top", {entry["fields"] for entry in self.entries("decoded")})

    def test_a_stream_that_begins_between_two_idr_pictures(self):
        """At a recovery point: pictures before it in order of output may lack references, which the client makes up."""
        data = self.stream("open-gop").read_bytes()
        units = [unit for unit in re.split(b"(?=\0\0\0\1)|(?<=[^\0])(?=\0\0\1)", data) if unit]
        kinds = [unit.lstrip(b"\0")[1] & 31 for unit in units]
        sets = [unit for unit, kind in zip(units, kinds) if kind in (7, 8)][:2]
        # Such slices begin with first_mb_in_slice 0 and slice_type 7. The message before it says that one may begin there.
        later = next(i for i, unit in enumerate(units) if i > 8 and kinds[i] == 1 and unit.lstrip(b"\0")[2] == 0x88)
        self.assertEqual(kinds[later - 1], 6)
        path = self.folder / "begun.h264"
        path.write_bytes(b"".join(sets + units[later - 1:]))
        ended = self.decode(path)
        self.assertEqual(ended.status, 0, ended.output)
        self.assertGreater(len(self.entries("decoded")), 5)
        # What is shown from the second I picture on does not depend on what is missing.
        shown, expected = media.frame_md5s(ended.output), self.decode_in_software(self.stream("open-gop"))
        self.assertEqual(shown[-8:], expected[-8:])

    def test_every_persona(self):
        for persona in ("intel", "amd", "amd-25", "low-power"):
            with self.subTest(persona):
                self.assert_decodes(self.stream("cabac"), 24, persona=persona)

    def test_only_what_the_limits_name_is_listed(self):
        ended = self.decode(self.stream("cabac"), limits="decode=none")
        self.assertEqual(self.entries("decoded"), [], ended.output)
        self.assert_decodes(self.stream("cabac"), 24, limits="h264=decode")


class SurfaceTest(DecodingTest):
    """What clients do with decoded surfaces."""

    def test_transcoding(self):
        path, output = self.stream("pyramid"), self.folder / "transcoded.h264"
        for filters in (None, "scale_vaapi=w=64:h=48"):
            with self.subTest(filters):
                ended = self.decode(path, filters, ("-c:v", "h264_vaapi", "-bf", "0", "-qp", "24", str(output)))
                self.assertEqual(ended.status, 0, ended.output)
                pictures = read_journal(self.journal).pictures
                self.assertEqual(len(pictures), 24)
                self.assertNotIn("surface-written-while-encoding", self.findings())
                decoded = media.decode_with_ffmpeg(output)
                self.assertEqual(decoded.complaints, [])
                self.assertEqual([picture.reconstruction for picture in pictures], decoded.frames)
                if not filters:
                    self.assertEqual([picture.source for picture in pictures], self.decode_in_software(path))
                else:
                    conversions = self.entries("conversion")
                    self.assertEqual([entry["source_md5"] for entry in conversions], self.decode_in_software(path))

    def test_waiting_is_in_the_order_of_submission(self):
        """However slow decoding is, what is encoded or scaled from a surface is what was decoded into it."""
        path, output = self.stream("pyramid"), self.folder / "transcoded.h264"
        for faults in ("decoded:*=delay:20ms", "processed:*=delay:20ms", "coded:*=delay:20ms"):
            with self.subTest(faults):
                ended = self.decode(path, "scale_vaapi=w=64:h=48",
                                    ("-c:v", "h264_vaapi", "-bf", "0", "-qp", "24", str(output)), faults=faults)
                self.assertEqual(ended.status, 0, ended.output)
                self.assertEqual([entry["source_md5"] for entry in self.entries("conversion")],
                                 self.decode_in_software(path))

    def test_gstreamer(self):
        """With images of its own: GStreamer 1.22 takes the rows of derived images for adjacent when it copies them."""
        reason = reason_without("vah264dec", "va", self.environment(limits="derive-image=no"))
        if reason:
            self.skipTest(reason)
        for name in ("cabac", "cavlc", "pyramid", "16-references", "weighted-fade", "own-matrices", "slices",
                     "mbaff-top", "mbaff-bottom", "open-gop", "intra-refresh"):
            with self.subTest(name):
                path = self.stream(name)
                ended = run(["gst-launch-1.0", "-q", "filesrc", f"location={path}", "!", "h264parse", "!", "vah264dec",
                             "!", "video/x-raw,format=NV12", "!", "fakesink"],
                            self.environment(limits="derive-image=no"), 60)
                self.assertEqual(ended.status, 0, ended.output)
                self.assertEqual(sorted(entry["md5"] for entry in self.entries("decoded")),
                                 sorted(self.decode_in_software(path)))
                self.assertEqual(self.findings(), set())


class FailureTest(DecodingTest):
    def client(self, *arguments, **settings):
        return run([str(self.built / "tests" / "driver_decoding"), *arguments], self.environment(**settings), 60)

    def test_nothing_wrong(self):
        ended = self.client("pictures", "8")
        self.assertEqual(ended.output.split("\n")[:-1], [f"picture {i} 0x0" for i in range(8)])
        self.assertEqual(self.findings(), set())
        self.assertEqual({entry["md5"] for entry in self.entries("decoded")}, {self.entries("decoded")[0]["md5"]})

    def test_faults(self):
        for fault, expected in {
            "vaCreateConfig:1=status:0xd": "vaCreateConfig 0xd",
            "vaCreateContext:1=status:0x2": "vaCreateContext 0x2",
            "vaBeginPicture:2=status:0x6": "vaEndPicture 0x6",
            "vaEndPicture:3=status:0x17": "vaEndPicture 0x17",
            "decoded:3=status:0x17": "picture 2 0x17\nmacroblocks 0 to 15",
            "vaSyncSurface:3=status:0x1": "picture 2 0x1",
            "decoded:3=device-lost": "picture 3 0x1",
        }.items():
            with self.subTest(fault):
                ended = self.client("pictures", "5", faults=fault)
                self.assertIn(expected, ended.output)
                self.assertFalse(ended.timed_out)
                self.assertEqual(len(self.entries("fault")), 1)

    def test_crashes_and_hangs(self):
        for fault, status in (("decoded:2=segv", -11), ("decoded:2=abort", -6)):
            with self.subTest(fault):
                self.assertEqual(self.client("pictures", "5", faults=fault).status, status)
        ended = run([str(self.built / "tests" / "driver_decoding"), "pictures", "5"],
                    self.environment(faults="decoded:2=hang"), 3)
        self.assertTrue(ended.timed_out)

    def test_a_negative_picture(self):
        self.client("pictures", "5", faults="decoded:3=negative")
        md5s = [entry["md5"] for entry in self.entries("decoded")]
        # The report comes after the fault.
        self.assertEqual([md5 == md5s[0] for md5 in md5s], [True, True, False, True, True])

    def test_skipping_decodes_nothing_and_costs_little(self):
        ended = self.client("time", "3000", "1920x1088", effort="skip")
        self.assertEqual(ended.status, 0, ended.output)
        self.assertLess(float(re.search(r"([\d.]+) microseconds", ended.output)[1]), 100)
        self.assertEqual(self.findings(), {"reference-without-picture"} & self.findings())
        self.assertTrue(all("md5" not in entry for entry in self.entries("decoded")))

    def test_garbage(self):
        for seed in ("1", "2"):
            self.assertEqual(self.client("garbage", "1500", seed).status, 0)

    def test_damaged_streams(self):
        """The client passes on what it can parse: no crash, and what could not be decoded is found."""
        data = bytearray(self.stream("pyramid").read_bytes())
        for at in range(2000, len(data), 1777):
            data[at] ^= 0x55
        path = self.folder / "damaged.h264"
        path.write_bytes(data)
        self.decode(path)
        self.assertIn("picture-not-decodable", self.findings())
        self.assertTrue(any(entry["failed"] for entry in self.entries("decoded")))


class SanitizedTest(DecodingTest):
    """A small client, the driver and all, with AddressSanitizer, LeakSanitizer and UndefinedBehaviorSanitizer."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.plain = cls.built
        cls.built = cls.plain.parent / (cls.plain.name + "-sanitize")
        outcome = subprocess.run([DRIVERS / "build", "--sanitize", "--output", cls.built], stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True)
        if outcome.returncode != 0 and "libclang_rt" in outcome.stdout:
            raise unittest.SkipTest("the compiler has no sanitizers")
        assert outcome.returncode == 0, outcome.stdout

    def sanitized(self, *arguments, **settings):
        # The shim stays the plain one: it is loaded before the sanitizers are.
        environment = self.environment(extra={"LD_PRELOAD": str(self.plain / "librender_node.so")}, **settings)
        ended = run([str(self.built / "tests" / "driver_decoding"), *arguments], environment, 300)
        self.assertNotRegex(ended.output, "Sanitizer|runtime error")
        return ended

    def test_pictures_and_faults(self):
        for settings in ({}, {"effort": "skip"}, {"faults": "decoded:2=status:0x17"}, {"faults": "decoded:2=negative"},
                         {"faults": "decoded:2=device-lost"}, {"faults": "vaEndPicture:2=status:0x17"}):
            with self.subTest(settings):
                self.sanitized("pictures", "6", **settings)

    def test_garbage(self):
        for seed in ("11", "12"):
            self.assertEqual(self.sanitized("garbage", "1500", seed).status, 0)
        self.assertEqual(self.sanitized("garbage", "3000", "13", effort="skip").status, 0)


class MistakeTest(DecodingTest):
    def decoded_with(self, path, mistake):
        library = self.built / "libdecoding_mistakes.so"
        environment = self.environment(extra={"DECODING_MISTAKE": mistake})
        environment["LD_PRELOAD"] += f" {library}"
        ended = run(["ffmpeg", "-nostdin", "-v", "error", "-threads", "1", "-hwaccel", "vaapi", "-hwaccel_device", NODE,
                     "-hwaccel_output_format", "vaapi", "-i", str(path), "-f", "null", "-"], environment, 60)
        self.assertFalse(ended.timed_out)
        self.assertGreaterEqual(ended.status, 0, ended.output)
        self.assertNotEqual(ended.status, 99, ended.output)
        return [entry["md5"] for entry in self.entries("decoded")]

    def test_mistakes_change_pictures_or_are_found(self):
        fields = self.folder / "fields.h264"
        fields.write_bytes(Remix((96, 64), 2, False, frames=12, bipred=2, field_share=1).stream)
        streams = {
            "bipredictive": self.stream("mistaken", "b-adapt=0:ref=4:direct=temporal:cqm=jvt:8x8dct=1:deblock=1,1:"
                                        "weightb=1:weightp=0:partitions=all:b-pyramid=normal:bframes=4", frames=12),
            "explicit": self.stream("explicit", ("weightp=2:bframes=0:ref=3:cabac=0", "-vf", "fade=in:0:12"),
                                    frames=12),
            "fields": fields,
        }
        for name, path in streams.items():
            good = self.decoded_with(path, "")
            self.assertEqual(self.findings(), set())
            for mistake in MISTAKES[name].split():
                with self.subTest(f"{name} {mistake}"):
                    changed = self.decoded_with(path, mistake)
                    self.assertTrue(changed != good or self.findings(), "nobody noticed")


if __name__ == "__main__":
    os.chdir(DRIVERS)
    unittest.main()
