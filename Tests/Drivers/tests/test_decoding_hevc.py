#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The reference driver as a decoder of HEVC: ffmpeg and GStreamer decode streams of x265, of the coder's exercise and
of streams/ on it; every picture equals that of a software decoder that reads the stream itself. Then mistakes that are
planted in what ffmpeg submits."""

import json
import random
import re
import shutil
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True
DRIVERS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(DRIVERS))

from runner import media  # noqa: E402
from runner.commands import reason_without  # noqa: E402
from runner.journal import read_journal  # noqa: E402
from runner.launch import run  # noqa: E402
from runner.places import build, client_environment  # noqa: E402

NODE = "/dev/dri/renderD128"
DECODES = "decode=h264,hevc"
# ffmpeg gives the format of surfaces without VA_SURFACE_ATTRIB_SETTABLE.
FFMPEG_HABITS = {"surface-attribute-flags"}

# Parameters of x265; sizes are 192x112 unless given. Without deblocking, x265 3.5 hangs unless SAO is off, too.
X265 = {
    "plain": "bframes=3",
    "predicted": "bframes=0:ref=3:keyint=8",
    "8-references": "bframes=0:ref=8:keyint=40:b-pyramid=0",
    "pyramid": "bframes=7:b-adapt=0:ref=5:open-gop=0:keyint=10",
    "open-gop": "open-gop=1:keyint=8:min-keyint=8:bframes=4:b-adapt=0:ref=4:scenecut=0",
    "leading-pictures": "open-gop=0:radl=2:keyint=10:min-keyint=10:bframes=4:b-adapt=0:scenecut=0",
    "intra-refresh": "intra-refresh=1:keyint=10:bframes=0",
    "weighted": ("weightp=1:weightb=1:bframes=3:b-adapt=0:ref=4:keyint=30", "-vf", "fade=in:0:20"),
    "weighted-predicted": ("weightp=1:bframes=0:ref=4:keyint=30", "-vf", "fade=in:0:20"),
    "slices": ("slices=4:ctu=16", "-s", "192x256"),
    "no-wavefronts": "wpp=0",
    "wavefronts": ("wpp=1:ctu=16", "-s", "320x256"),
    "partitions": "amp=1:rect=1:limit-modes=0:rd=4",
    "no-sao": "sao=0:deblock=-3,4",
    "no-deblocking": "deblock=0:no-deblock=1:sao=0",
    "deblocking": "deblock=6,-6",
    "no-sign-hiding": "signhide=0",
    "transform-skip": "tskip=1:rd=4",
    "lossless-units": "cu-lossless=1:crf=4:rd=4",
    "lossless": "lossless=1:sao=0",
    "default-lists": "scaling-list=default",
    "own-lists": "scaling-list=lists.txt",
    "tree-blocks-16": "ctu=16",
    "tree-blocks-32": "ctu=32:max-tu-size=16",
    "coding-blocks-16": "min-cu-size=16",
    "coding-blocks-32": ("min-cu-size=32", "-s", "192x128"),
    "transform-trees": "tu-inter-depth=4:tu-intra-depth=4",
    "constrained-intra": "constrained-intra=1",
    "no-strong-smoothing": "strong-intra-smoothing=0",
    "temporal-layers": "temporal-layers=1:bframes=3:b-adapt=0",
    "no-temporal-vectors": "temporal-mvp=0",
    "one-candidate": "max-merge=1",
    "qp-by-unit": "aq-mode=3:qg-size=8:aq-strength=2",
    "chroma-qp": "cbqpoffs=-5:crqpoffs=6",
    "qp-low": "qp=1",
    "qp-high": "qp=51",
    "fields": "interlace=tff:bframes=3",
    "delimiters": "aud=1:hrd=1:repeat-headers=1:vbv-bufsize=500:vbv-maxrate=500:bitrate=400",
    "cropped": ("bframes=3", "-s", "190x102"),
    "small": ("bframes=3", "-s", "32x32"),
    "10-plain": "bframes=3",
    "10-weighted": ("weightp=1:weightb=1:bframes=3:b-adapt=0", "-vf", "fade=in:0:20"),
    "10-lists": "scaling-list=default:bframes=3",
    "10-lossless": "lossless=1:sao=0",
    "10-cropped": ("bframes=3:aq-mode=3", "-s", "190x102"),
}

# Where fields of the VA-API structures are: offset and size in bytes, for mistakes/mistakes.c.
FIELDS = {
    "picture.CurrPic.picture_id": "0:4", "picture.CurrPic.pic_order_cnt": "4:4",
    "picture.ReferenceFrames[0].picture_id": "28:4", "picture.ReferenceFrames[0].pic_order_cnt": "32:4",
    "picture.ReferenceFrames[0].flags": "36:4", "picture.ReferenceFrames[0]": "28:28",
    "picture.pic_width_in_luma_samples": "448:2", "picture.pic_height_in_luma_samples": "450:2",
    "picture.pic_fields": "452:4", "picture.sps_max_dec_pic_buffering_minus1": "456:1",
    "picture.bit_depth_luma_minus8": "457:1", "picture.log2_min_luma_coding_block_size_minus3": "461:1",
    "picture.log2_diff_max_min_luma_coding_block_size": "462:1",
    "picture.log2_min_transform_block_size_minus2": "463:1", "picture.log2_diff_max_min_transform_block_size": "464:1",
    "picture.max_transform_hierarchy_depth_intra": "467:1", "picture.max_transform_hierarchy_depth_inter": "468:1",
    "picture.init_qp_minus26": "469:1", "picture.diff_cu_qp_delta_depth": "470:1", "picture.pps_cb_qp_offset": "471:1",
    "picture.pps_cr_qp_offset": "472:1", "picture.log2_parallel_merge_level_minus2": "473:1",
    "picture.num_tile_columns_minus1": "474:1", "picture.column_width_minus1[0]": "476:2",
    "picture.row_height_minus1[0]": "514:2", "picture.slice_parsing_fields": "556:4",
    "picture.pps_beta_offset_div2": "565:1",
    "matrix.ScalingList4x4[0][1]": "1:1", "matrix.ScalingList8x8[3][9]": "297:1",
    "matrix.ScalingList16x16[0][2]": "482:1", "matrix.ScalingList32x32[1][0]": "928:1",
    "matrix.ScalingListDC16x16[0]": "992:1", "matrix.ScalingListDC32x32[0]": "998:1",
    "slice.slice_data_size": "0:4", "slice.slice_data_offset": "4:4", "slice.slice_data_flag": "8:4",
    "slice.slice_data_byte_offset": "12:4", "slice.slice_segment_address": "16:4", "slice.RefPicList[0][0]": "20:1",
    "slice.RefPicList[0][14]": "34:1", "slice.RefPicList[1][0]": "35:1", "slice.LongSliceFlags": "52:4",
    "slice.collocated_ref_idx": "56:1", "slice.num_ref_idx_l0_active_minus1": "57:1",
    "slice.num_ref_idx_l1_active_minus1": "58:1", "slice.slice_qp_delta": "59:1", "slice.slice_cb_qp_offset": "60:1",
    "slice.slice_cr_qp_offset": "61:1", "slice.slice_beta_offset_div2": "62:1", "slice.slice_tc_offset_div2": "63:1",
    "slice.luma_log2_weight_denom": "64:1", "slice.delta_chroma_log2_weight_denom": "65:1",
    "slice.delta_luma_weight_l0[0]": "66:1", "slice.luma_offset_l0[0]": "81:1",
    "slice.delta_chroma_weight_l0[0][0]": "96:1", "slice.ChromaOffsetL0[0][0]": "126:1",
    "slice.five_minus_max_num_merge_cand": "246:1",
}

# One value of what ffmpeg submits: each changes pictures, or is found, or both; with a name it must be found so.
MISTAKES = {
    "bipredictive": {
        "picture.CurrPic.picture_id@3+1": "picture-not-target",
        "picture.CurrPic.pic_order_cnt@3+1": "",
        "picture.CurrPic.pic_order_cnt@0+4": "idr-order-count",
        "picture.ReferenceFrames[0].picture_id@3+1000": "reference-invalid",
        "picture.ReferenceFrames[0].pic_order_cnt@3+9": "reference-order-count",
        "picture.ReferenceFrames[0].flags@3^0x10": "",
        "picture.ReferenceFrames[0].flags@3^0x20": "",
        "picture.ReferenceFrames[0].flags@3^0x30": "",
        "picture.ReferenceFrames[0].flags@3^1": "reference-list-0-entry",
        "picture.ReferenceFrames[0]@5~": "",
        "picture.pic_width_in_luma_samples@*+8": "picture-size-beyond-target",
        "picture.pic_width_in_luma_samples@*+3": "picture-size-beyond-target",
        "picture.pic_height_in_luma_samples@*+-8": "",
        "picture.pic_fields@*^1": "profile-chroma-format",
        "picture.pic_fields@*^8": "",  # pcm_enabled_flag
        "picture.pic_fields@*^0x10": "decoding-buffer-missing",  # scaling_list_enabled_flag
        "picture.pic_fields@*^0x20": "",  # transform_skip_enabled_flag
        "picture.pic_fields@*^0x40": "",  # amp_enabled_flag
        "picture.pic_fields@*^0x100": "",  # sign_data_hiding_enabled_flag
        "picture.pic_fields@*^0x200": "",  # constrained_intra_pred_flag
        "picture.pic_fields@*^0x400": "",  # cu_qp_delta_enabled_flag
        "picture.pic_fields@*^0x2000": "",  # transquant_bypass_enabled_flag
        "picture.pic_fields@*^0x4000": "tiles-count",  # tiles_enabled_flag
        "picture.pic_fields@*^0x8000": "",  # entropy_coding_sync_enabled_flag
        "picture.sps_max_dec_pic_buffering_minus1@*+-3": "reference-frames-many",
        "picture.bit_depth_luma_minus8@*+2": "target-format",
        "picture.bit_depth_luma_minus8@*+1": "target-format",
        "picture.log2_min_luma_coding_block_size_minus3@*+1": "",
        "picture.log2_diff_max_min_luma_coding_block_size@*+-1": "",
        "picture.log2_diff_max_min_luma_coding_block_size@*+3": "block-size",
        "picture.log2_min_transform_block_size_minus2@*+1": "",
        "picture.log2_diff_max_min_transform_block_size@*+-1": "",
        "picture.max_transform_hierarchy_depth_intra@*+-1": "",
        "picture.max_transform_hierarchy_depth_inter@*+1": "",
        "picture.init_qp_minus26@*+1": "",
        "picture.diff_cu_qp_delta_depth@*+1": "",
        "picture.diff_cu_qp_delta_depth@*+9": "picture-parameters-invalid",
        "picture.pps_cb_qp_offset@*+3": "",
        "picture.pps_cr_qp_offset@*+3": "",
        "picture.log2_parallel_merge_level_minus2@*+2": "",
        "picture.slice_parsing_fields@*^4": "slice-flag-not-enabled",  # sps_temporal_mvp_enabled_flag
        "picture.slice_parsing_fields@*^0x80": "",  # sample_adaptive_offset_enabled_flag
        "picture.slice_parsing_fields@3^0x800": "slice-parameters-invalid",  # RapPicFlag
        "picture.slice_parsing_fields@3^0x1000": "idr-not-rap",  # IdrPicFlag
        "picture.slice_parsing_fields@3^0x2000": "slice-type",  # IntraPicFlag
        "slice.slice_data_size@3+-6": "",
        "slice.slice_data_size@3+5000": "slice-data-outside",
        "slice.slice_data_offset@3+5000": "slice-data-outside",
        "slice.slice_data_flag@3+1": "slice-data-flag",
        "slice.slice_data_byte_offset@3+1": "",
        "slice.slice_data_byte_offset@3+-1": "",
        "slice.slice_data_byte_offset@3+9000": "slice-data-byte-offset",
        "slice.slice_segment_address@3+1": "slice-address",
        "slice.RefPicList[0][0]@3+1": "",
        "slice.RefPicList[0][0]@3+60": "reference-list-0-entry",
        "slice.RefPicList[0][0]@5~": "",
        "slice.RefPicList[0][14]@3+1": "reference-list-0-entry",
        "slice.RefPicList[1][0]@3+20": "reference-list-1-entry",
        "slice.LongSliceFlags@3^1": "slice-last",
        "slice.LongSliceFlags@3^2": "slice-dependent",
        "slice.LongSliceFlags@3^4": "",  # slice_type
        "slice.LongSliceFlags@3^8": "",
        "slice.LongSliceFlags@3^0x10": "slice-flag-not-enabled",  # color_plane_id
        "slice.LongSliceFlags@*^0x40": "",  # slice_sao_luma_flag
        "slice.LongSliceFlags@*^0x80": "",  # slice_sao_chroma_flag
        "slice.LongSliceFlags@*^0x100": "",  # mvd_l1_zero_flag
        "slice.LongSliceFlags@*^0x200": "",  # cabac_init_flag
        "slice.LongSliceFlags@3^0x400": "",  # slice_temporal_mvp_enabled_flag
        "slice.LongSliceFlags@*^0x800": "",  # slice_deblocking_filter_disabled_flag
        "slice.LongSliceFlags@*^0x1000": "",  # collocated_from_l0_flag
        "slice.collocated_ref_idx@3+20": "slice-parameters-invalid",
        "slice.num_ref_idx_l0_active_minus1@3+-1": "",
        "slice.num_ref_idx_l0_active_minus1@3+9": "reference-list-0-entry",
        "slice.num_ref_idx_l0_active_minus1@3+30": "reference-list-length",
        "slice.slice_qp_delta@3+1": "",
        "slice.slice_qp_delta@3+90": "slice-parameters-invalid",
        "slice.slice_cb_qp_offset@*+3": "slice-flag-not-enabled",
        "slice.slice_cr_qp_offset@*+3": "slice-flag-not-enabled",
        "slice.slice_beta_offset_div2@*+3": "slice-deblocking",
        "slice.slice_tc_offset_div2@*+-3": "slice-deblocking",
        "slice.five_minus_max_num_merge_cand@3+1": "",
        "slice.five_minus_max_num_merge_cand@3+7": "slice-parameters-invalid",
    },
    "lists": {
        "matrix.ScalingList4x4[0][1]@*+20": "",
        "matrix.ScalingList8x8[3][9]@*+20": "",
        "matrix.ScalingList16x16[0][2]@*+20": "",
        "matrix.ScalingListDC16x16[0]@*+9": "",
        "matrix.ScalingListDC32x32[0]@*+9": "",
        "picture.pic_fields@*^0x10": "iq-matrix-unused",
    },
    "large-lists": {
        "matrix.ScalingList32x32[1][0]@*+20": "",
    },
    "weights": {
        "slice.luma_log2_weight_denom@*+1": "",
        "slice.luma_log2_weight_denom@*+9": "slice-parameters-invalid",
        "slice.delta_chroma_log2_weight_denom@*+1": "",
        "slice.delta_luma_weight_l0[0]@*+3": "",
        "slice.luma_offset_l0[0]@*+3": "",
        "slice.delta_chroma_weight_l0[0][0]@*+3": "",
        "slice.ChromaOffsetL0[0][0]@*+3": "",
        "picture.pic_fields@*^0x800": "",
    },
    "tiles": {
        "picture.num_tile_columns_minus1@*+1": "",
        "picture.num_tile_columns_minus1@*+19": "picture-parameters-invalid",
        "picture.column_width_minus1[0]@*+1": "",
        "picture.row_height_minus1[0]@*+90": "tiles-outside",
        "picture.pic_fields@*^0x8000": "profile-tiles-and-wavefronts",
        "slice.slice_segment_address@3+1": "picture-not-decodable",
        "slice.slice_segment_address@2+-3": "slice-address",
        "slice.LongSliceFlags@2^1": "slice-last",
    },
    "tiles-in-one-slice": {
        "picture.pic_fields@*^0x20000": "",  # loop_filter_across_tiles_enabled_flag
        "picture.row_height_minus1[0]@*+1": "",
    },
    "dependent": {
        "slice.slice_segment_address@1+1": "picture-not-decodable",
        "slice.slice_segment_address@1+-1": "",
        "slice.slice_qp_delta@1+1": "slice-dependent",
        "picture.slice_parsing_fields@*^0x20": "slice-flag-not-enabled",  # dependent_slice_segments_enabled_flag
        "picture.pic_fields@*^0x8000": "",
    },
}


def scaling_lists():
    """As x265 reads them; entries and DC values follow from their places."""
    lines = []
    numbers = random.Random(5)
    for size, count in (("4X4", 16), ("8X8", 64), ("16X16", 64), ("32X32", 64)):
        for index, name in enumerate(("INTRA{}_LUMA", "INTRA{}_CHROMAU", "INTRA{}_CHROMAV", "INTER{}_LUMA",
                                      "INTER{}_CHROMAU", "INTER{}_CHROMAV")):
            if size == "32X32" and index % 3:
                continue
            lines.append(f"{name.format(size)} =")
            lines.append(", ".join(str(numbers.randint(4, 200)) for _ in range(count)) + ",")
            if count == 64 and size != "8X8":
                lines += [f"{name.format(size)}_DC =", str(numbers.randint(8, 100))]
    return "\n".join(lines) + "\n"


def units_of(stream):
    """NAL units with their start codes, and their types."""
    starts = [match.start() for match in re.finditer(b"\0\0\1", stream)] + [len(stream)]
    units = [b"\0" + stream[start:end].rstrip(b"\0") for start, end in zip(starts, starts[1:])]
    return [(unit[4] >> 1 & 63, unit) for unit in units]


def md5s_of(output):
    """Of the frames; what ffmpeg complains about does not count."""
    return media.frame_md5s("\n".join(line for line in output.splitlines() if not line.startswith("[")))


def join(units):
    return b"".join(unit for _, unit in units)


@unittest.skipUnless(shutil.which("ffmpeg"), "ffmpeg is not installed")
class DecodingTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.built = build()
        cls.work = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.work.name)
        (cls.folder / "lists.txt").write_text(scaling_lists())

    @classmethod
    def tearDownClass(cls):
        cls.work.cleanup()

    def stream(self, name, parameters=None, frames=20):
        """A stream of x265; with 10 bits if its name begins so."""
        path = self.folder / f"{name}.265"
        if path.exists():
            return path
        parameters, *options = [parameters] if isinstance(parameters, str) else parameters or (
            [X265[name]] if isinstance(X265[name], str) else X265[name])
        pixels = "yuv420p10le" if name.startswith("10-") else "yuv420p"
        ended = run(["ffmpeg", "-nostdin", "-v", "error", "-y", "-f", "lavfi", "-i",
                     "testsrc2=size=192x112:rate=25,noise=alls=12:allf=t:all_seed=3", "-frames:v", str(frames),
                     "-pix_fmt", pixels, "-c:v", "libx265", "-preset", "fast", "-x265-params",
                     f"log-level=none:keyint=12:frame-threads=1:pools=1:{parameters}", *options, str(path)],
                    media.tool_environment(), 120, self.folder)
        if ended.status != 0:
            self.fail(f"{name}: {ended.output}")
        return path

    def environment(self, journal="journal", **settings):
        path = self.journal = self.folder / journal  # other threads may set it meanwhile
        path.unlink(missing_ok=True)
        limits = " ".join(filter(None, (DECODES, settings.pop("limits", ""))))
        return client_environment(self.built, journal=path, limits=limits, **settings)

    def decode(self, path, environment, filters=("-vf", "hwdownload,format=nv12"), output=("-f", "framemd5", "-")):
        return run(["ffmpeg", "-nostdin", "-v", "error", "-y", "-threads", "1", "-hwaccel", "vaapi",
                    "-hwaccel_device", NODE, "-hwaccel_output_format", "vaapi", "-i", str(path), *filters, *output],
                   environment, 120)

    def decode_in_software(self, path, pixels="nv12"):
        ended = run(["ffmpeg", "-nostdin", "-v", "error", "-threads", "1", "-i", str(path), "-vf", f"format={pixels}",
                     "-f", "framemd5", "-"], media.tool_environment(), 120)
        return md5s_of(ended.output)

    def entries(self, kind, journal=None):
        return [entry for entry in read_journal(journal or self.journal).entries if entry["kind"] == kind]

    def findings(self, journal=None):
        return {entry["name"] for entry in self.entries("finding", journal)} - FFMPEG_HABITS

    def problem_with(self, path, pixels="nv12", known=frozenset(), **settings):
        """What is wrong with the decoding of the stream; None where nothing is. May run in several threads."""
        journal = self.folder / f"{path.name}.journal"
        ended = self.decode(path, self.environment(journal.name, **settings),
                            ("-vf", f"hwdownload,format={pixels}"))
        expected = self.decode_in_software(path, pixels)
        found = self.findings(journal)
        if ended.status != 0 or not expected:
            return f"{path.name}: {ended.output}"
        if md5s_of(ended.output) != expected:
            return f"{path.name}: pictures differ, found {found}"
        decoded = self.entries("decoded", journal)
        if len(decoded) < len(expected) or any(entry["failed"] for entry in decoded):
            return f"{path.name}: {len(decoded)} of {len(expected)} pictures were decoded"
        return f"{path.name}: found {found}" if found != known else None

    def assert_decodes(self, paths, **settings):
        """Two at a time. What begins with 10 has as many bits."""
        def pixels(path):
            return "p010le" if path.name.startswith("10-") else "nv12"

        with ThreadPoolExecutor(2) as pool:
            problems = list(pool.map(lambda path: self.problem_with(path, pixels(path), **settings), paths))
        self.assertEqual([problem for problem in problems if problem], [])


class StreamTest(DecodingTest):
    def test_streams_of_x265(self):
        with ThreadPoolExecutor(2) as pool:
            self.assert_decodes(list(pool.map(self.stream, X265)))

    def test_tiles_and_dependent_slices(self):
        self.assert_decodes(sorted((DRIVERS / "tests" / "streams").glob("*.265")))

    def test_streams_of_the_exercise(self):
        """Long-term references, predicted sets, modified lists, dependent slices."""
        paths = []
        for seed in range(1, 13):
            for depth in (8, 10):
                path = self.folder / f"{depth}-exercise-{seed}.265"
                ended = run([str(self.built / "tests" / "hevc_exercise"), "plain", str(seed), str(depth), "12",
                             str(path), str(self.folder / "frames")])
                self.assertEqual(ended.status, 0, ended.output)
                size = re.search(r'"width":\s*(\d+).*"height":\s*(\d+)', ended.output)
                if int(size[1]) >= 16 and int(size[2]) >= 16:
                    paths.append(path)
        self.assertGreater(len(paths), 18)
        self.assert_decodes(paths)

    def test_parameter_sets_and_sizes_change(self):
        paths = []
        for names in (("plain", "own-lists", "open-gop", "lossless"), ("plain", "cropped", "small", "slices", "plain"),
                      ("10-plain", "10-lists", "10-cropped")):
            paths.append(self.folder / f"{'10-' if names[0].startswith('10-') else ''}joined-{names[1]}.265")
            paths[-1].write_bytes(b"".join(self.stream(name).read_bytes() for name in names))
        self.assert_decodes(paths)

    def test_random_access(self):
        """Streams that begin or go on at a CRA picture, whose skipped leading pictures refer to what is not there; also
        as a BLA picture."""
        units = units_of(self.stream("open-gop").read_bytes())
        first = [i for i, (kind, _) in enumerate(units) if kind == 21][0]
        sets = [unit for unit in units if unit[0] in (32, 33, 34)][:3]
        broken = bytearray(units[first][1])
        broken[4] = 16 << 1
        begun, other = self.folder / "begun.265", self.folder / "broken.265"
        begun.write_bytes(join(sets + units[first:]))
        other.write_bytes(join(units[:first]) + bytes(broken) + join(units[first + 1:]))
        self.assert_decodes([begun, other])

    def test_a_lost_picture(self):
        """Its place is taken by a grey one, as in libavcodec; who refers to it is found."""
        units = units_of(self.stream("open-gop").read_bytes())
        second = [i for i, (kind, _) in enumerate(units) if kind < 32][1]
        path = self.folder / "lost.265"
        path.write_bytes(join(units[:second] + units[second + 1:]))
        self.assert_decodes([path], known={"reference-without-picture"})
        self.assertEqual(len(self.entries("injection")), 1)

    def test_transcoding(self):
        for name, profile in (("pyramid", "main"), ("10-plain", "main10")):
            with self.subTest(name):
                path, output = self.stream(name), self.folder / "transcoded.265"
                ended = self.decode(path, self.environment(), (), ("-c:v", "hevc_vaapi", "-profile:v", profile, "-qp",
                                                                   "24", str(output)))
                self.assertEqual(ended.status, 0, ended.output)
                pictures = read_journal(self.journal).in_presentation_order()
                expected = self.decode_in_software(path, "p010le" if profile == "main10" else "nv12")
                self.assertEqual([picture.source for picture in pictures], expected)

    def test_gstreamer(self):
        """With images of its own: GStreamer 1.22 takes the rows of derived images for adjacent when it copies them."""
        reason = reason_without("vah265dec", "va", self.environment(limits="derive-image=no"))
        if reason:
            self.skipTest(reason)
        paths = [self.stream(name) for name in ("plain", "pyramid", "open-gop", "weighted", "slices", "own-lists",
                                                "8-references", "wavefronts")]
        for path in (*paths, *sorted((DRIVERS / "tests" / "streams").glob("*.265"))):
            with self.subTest(path.name):
                ended = run(["gst-launch-1.0", "-q", "filesrc", f"location={path}", "!", "h265parse", "!", "vah265dec",
                             "!", "video/x-raw,format=NV12", "!", "fakesink"],
                            self.environment(limits="derive-image=no"), 60)
                self.assertEqual(ended.status, 0, ended.output)
                self.assertEqual(sorted(entry["md5"] for entry in self.entries("decoded")),
                                 sorted(self.decode_in_software(path)))
                self.assertEqual(self.findings(), set())


class MistakeTest(DecodingTest):
    def decoded_with(self, path, mistake):
        """What was decoded with the mistake, and what was found."""
        journal = f"{path.name}-{abs(hash(mistake)):x}.journal"
        environment = self.environment(journal)
        environment["LD_PRELOAD"] += f" {self.built / 'libdecoding_mistakes.so'}"
        field, at, action = mistake.partition("@")
        environment["DECODING_MISTAKE"] = f"{field.split('.')[0]}.{FIELDS[field]}{at}{action}" if mistake else ""
        ended = self.decode(path, environment, (), ("-f", "null", "-"))
        journal = self.folder / journal
        md5s = [entry.get("md5") for entry in self.entries("decoded", journal)]
        crashed = ended.timed_out or ended.status < 0 or ended.status == 99
        return md5s, self.findings(journal), ended.output if crashed else ""

    def check(self, name, path):
        good, found, output = self.decoded_with(path, "")
        self.assertEqual((found, output), (set(), ""))

        def problem_with(case):
            mistake, expected = case
            md5s, names, crash = self.decoded_with(path, mistake)
            if crash:
                return f"{mistake}: {crash}"
            if expected and expected not in names:
                return f"{mistake}: {expected} is not among {names}"
            return f"{mistake}: nobody noticed" if md5s == good and not names else None

        with ThreadPoolExecutor(2) as pool:
            problems = [problem for problem in pool.map(problem_with, MISTAKES[name].items()) if problem]
        self.assertEqual(problems, [])

    def test_garbage_only_fails(self):
        for seed in range(1, 4):
            ended = run([str(self.built / "tests" / "hevc_decoding_garbage"), "5000", str(seed)])
            self.assertEqual(ended.status, 0, ended.output)
            summary = json.loads(ended.output)
            self.assertGreater(summary["rebuilt"], 2000)
            self.assertLess(summary["taken"], 4000)

    def test_mistakes_change_pictures_or_are_found(self):
        self.check("bipredictive", self.stream(
            "mistaken", "bframes=3:b-adapt=0:ref=4:keyint=12:aq-mode=2:weightp=0:weightb=0:tu-intra-depth=2:"
            "tu-inter-depth=2:amp=1:rect=1:rd=4:crf=20", 12))

    def test_mistakes_in_lists(self):
        self.check("lists", self.stream("lists", "scaling-list=lists.txt:qp=14:bframes=0:tu-inter-depth=1", 6))
        self.check("large-lists", self.stream("large-lists", "scaling-list=lists.txt:qp=26:bframes=0:min-cu-size=32:"
                                                             "rdoq-level=0", 6))

    def test_mistakes_in_weights(self):
        self.check("weights", self.stream("weighted-predicted"))

    def test_mistakes_in_tiles(self):
        self.check("tiles", DRIVERS / "tests" / "streams" / "tiles-in-slices.265")
        self.check("tiles-in-one-slice", DRIVERS / "tests" / "streams" / "tiles.265")

    def test_mistakes_in_dependent_slices(self):
        self.check("dependent", DRIVERS / "tests" / "streams" / "wavefronts-in-slices.265")


if __name__ == "__main__":
    unittest.main(verbosity=2)
