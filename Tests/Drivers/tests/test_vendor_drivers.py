#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The distribution's own VA drivers (Intel's iHD, AMD's radeonsi) on fake render nodes: what they list, whole encodes
of ffmpeg and GStreamer, and what programs see when a node refuses, vanishes, hangs or is reset.

    tests/test_vendor_drivers.py [--update] [TEST...]

--update writes the table of the installed release anew, which the lists are compared with: node/vendor-drivers.txt for
Debian 12, node/vendor-drivers-debian-13.txt for Debian 13."""

import errno
import functools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

DRIVERS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(DRIVERS))

from runner.places import build  # noqa: E402
from runner.releases import FFMPEG, Driver  # noqa: E402
from runner.waiting import wait_until  # noqa: E402

# By the first numbers of the drivers' versions.
TABLES = {("23", "22"): DRIVERS / "node" / "vendor-drivers.txt",
          ("25",): DRIVERS / "node" / "vendor-drivers-debian-13.txt"}
NODE = "/dev/dri/renderD128"
INTEL = ("skl", "kbl", "icl", "tgl", "adlp", "dg2", "mtl", "arl", "lnl", "bmg", "ptl")
AMD = ("polaris10", "raven", "renoir", "navi21", "navi31", "navi33", "phoenix", "strix", "navi44", "navi48")
# Chips that came after the drivers of Debian 12; they are looked at where the table of the installed version has them.
RECENT = ("mtl", "arl", "lnl", "bmg", "ptl", "navi31", "navi33", "phoenix", "strix", "navi44", "navi48")
DRIVER_FILES = {"iHD": "iHD_drv_video.so", "radeonsi": "radeonsi_drv_video.so"}
DRIVER_FOLDERS = ("/usr/lib/x86_64-linux-gnu/dri", "/usr/lib64/dri", "/usr/lib/dri")
XE = ("lnl", "bmg", "ptl")  # by their kernel driver
# From Meteor Lake on, iHD lists its low-power encoder as EncSlice.
LOW_POWER = ("skl", "kbl", "icl", "tgl", "adlp", "dg2")
FRAMES = 10
LIMIT = 60  # seconds; a start of radeonsi takes most of one on a busy machine


def driver_of(chip):
    return "iHD" if chip in INTEL else "radeonsi"


def is_installed(driver):
    return any(Path(folder, DRIVER_FILES[driver]).exists() for folder in DRIVER_FOLDERS)


def missing_package(driver):
    return {"iHD": "intel-media-va-driver", "radeonsi": "mesa-va-drivers"}[driver]


class Outcome:
    """How a program ended: status (negative for a signal), output and errors as text."""

    def __init__(self, status, output, errors):
        self.status, self.output, self.errors = status, output, errors

    def __str__(self):
        return f"status {self.status}\n{self.output}\n{self.errors}"


class VendorDriverTest(unittest.TestCase):
    """Runs programs under the shim with a folder of their own for temporary files."""

    @classmethod
    def setUpClass(cls):
        cls.built = build()
        # In memory where that can be had: every program under the shim makes a tree of links there.
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        cls.folder = Path(tempfile.mkdtemp(prefix="vendor-drivers-", dir=memory))
        cls.addClassCleanup(shutil.rmtree, cls.folder)

    def environment(self, nodes, settings):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("RENDER_NODES", "LIBVA_"))}
        nodes = nodes if "=" in nodes else f"128={nodes}"
        return kept | {
            "LD_PRELOAD": str(self.built / "librender_node.so"),
            "RENDER_NODES": nodes,
            "TMPDIR": str(self.folder),
            "HOME": str(self.folder),
            "XDG_RUNTIME_DIR": str(self.folder),
            "LIBVA_MESSAGING_LEVEL": "1",
            "MESA_SHADER_CACHE_DISABLE": "1",
            "GST_REGISTRY_FORK": "no",
        } | {f"RENDER_NODES_{name.upper()}": str(value) for name, value in settings.items()}

    def run_program(self, nodes, command, limit=LIMIT, **settings):
        self.require(*re.findall(r"[a-z][a-z0-9]+", nodes))
        process = subprocess.Popen([str(word) for word in command], env=self.environment(nodes, settings),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, errors="replace")
        try:
            output, errors = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            process.kill()
            output, errors = process.communicate()
            return Outcome(None, output, errors)
        return Outcome(process.returncode, output, errors)

    def require(self, *chips):
        for chip in chips:
            driver = driver_of(chip)
            if not is_installed(driver):
                self.skipTest(f"the VA driver {driver} is not installed (package {missing_package(driver)})")

    def known(self, *chips):
        """Those of the chips that the installed driver is not older than."""
        return [chip for chip in chips if chip not in RECENT or chip in installed_table(driver_of(chip))]

    def require_known(self, chip):
        """Skips where the installed driver is older than the chip."""
        self.require(chip)
        if not self.known(chip):
            self.skipTest(f"the installed {driver_of(chip)} is older than {chip}")

    def require_program(self, name, package):
        if shutil.which(name) is None:
            self.skipTest(f"{name} is not installed (package {package})")

    def encoding(self, nodes, codec="h264", options=(), node=NODE):
        """The command by which ffmpeg encodes FRAMES small pictures and prints a line for each packet."""
        self.require_program("ffmpeg", "ffmpeg")
        chip = re.findall(r"[a-z][a-z0-9]+", nodes)[0]
        low_power = ("-low_power", "1") if chip in LOW_POWER else ()
        size = "384x144" if chip in ("navi44", "navi48") else "176x144"  # VCN 5 takes HEVC from 384x128 on
        return ("ffmpeg", "-nostdin", "-hide_banner", "-loglevel", "warning", "-vaapi_device", node, "-f", "lavfi",
                "-i", f"testsrc2=size={size}:rate=25", "-frames:v", FRAMES, "-vf", "format=nv12,hwupload", "-c:v",
                f"{codec}_vaapi", *low_power, *(options or ("-rc_mode", "CQP", "-qp", "26")), "-f", "framecrc", "-")

    def encode(self, nodes, codec="h264", options=(), node=NODE, **settings):
        return self.run_program(nodes, self.encoding(nodes, codec, options, node), **settings)

    def hangs(self, chip, submission):
        """Whether an encode of which that submission never completes comes to wait for it without end; ends it."""
        self.require(chip)
        trace = self.folder / "trace"
        environment = self.environment(chip, {"hang": submission, "trace": trace})
        process = subprocess.Popen([str(word) for word in self.encoding(chip)], env=environment,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def is_waiting():
            """Whether the kernel was asked for that wait after the submission. It has no way back but the process's end."""
            text = trace.read_text() if trace.exists() else ""
            return " waits without end" in text.partition(f"submission {submission} hangs")[2]

        wait_until(lambda: process.poll() is not None or is_waiting(), LIMIT)
        hangs = process.poll() is None and is_waiting()
        process.kill()
        process.wait()
        trace.unlink()
        return hangs

    def packets(self, outcome):
        return [int(line.split(",")[4]) for line in outcome.output.splitlines() if line and line[0] != "#"]

    def list_capabilities(self, chip, *options, **settings):
        outcome = self.run_program(chip, (self.built / "tests" / "list_capabilities", *options, NODE), **settings)
        self.assertEqual(outcome.status, 0, outcome)
        return outcome.output.splitlines()

    drivers = {}

    def driver_with(self, chip):
        """The driver that a chip has, as it calls itself; asked once."""
        name = driver_of(chip)
        if name not in self.drivers:
            self.drivers[name] = Driver.of(self.list_capabilities(chip)[0])
        return self.drivers[name]

    def assert_sizes(self, outcome, chip, coded, frames=FRAMES, status=0):
        """That packets came as large as the driver's release makes them if the hardware codes so many bytes."""
        self.assertEqual(outcome.status, status, outcome)
        packets, allowed = self.packets(outcome), self.driver_with(chip).sizes(coded, frames)
        self.assertEqual(len(packets), len(allowed), outcome)
        self.assertTrue(all(map(range.__contains__, allowed, packets)), f"{packets}, not in {allowed}")


def submissions_in(trace, chip):
    """Which of the requests in a trace, counted from 1, are submissions."""
    submit = "0x49:" if chip in XE else {"iHD": "0x69:", "radeonsi": "0x44:"}[driver_of(chip)]
    requests = [line.split()[3] for line in trace.read_text().splitlines() if " request " in line]
    return [index for index, request in enumerate(requests, 1) if request == submit]


def version_of(first_line):
    """The driver's name and version without what depends on the chip or the kernel."""
    match = re.search(r"(iHD driver|Mesa Gallium driver)\D*?(?: - | )(\d+(?:\.\d+)+)", first_line)
    return f"{match[1]} {match[2]}" if match else first_line


def read_tables(paths=TABLES.values()):
    """The committed lists: by chip and driver's version, the lines."""
    tables, place = {}, None
    for path in paths:
        for line in path.read_text().splitlines():
            if match := re.fullmatch(r"\[(\S+)\] (.+)", line):
                place = match[1], match[2]
                tables[place] = []
            elif line and not line.startswith("#"):
                tables[place].append(line)
    return tables


def table_of(version, tables=TABLES):
    """The file that has the lists of that version of a driver."""
    number = version.split()[-1].split(".")[0]
    return next((path for numbers, path in tables.items() if number in numbers), None)


@functools.cache
def installed_table(driver):
    """The chips in the table of the installed version of a driver."""
    class Asking(VendorDriverTest):
        pass

    Asking.setUpClass()
    first = Asking().list_capabilities("kbl" if driver == "iHD" else "renoir")[0]
    Asking.doClassCleanups()
    return {chip for chip, version in read_tables() if version == version_of(first)}


class Lists(VendorDriverTest):
    def check(self, chip):
        self.require_known(chip)
        first, *lines = self.list_capabilities(chip)
        self.assertTrue(lines, "the driver lists no encoder")
        tables, version = read_tables(), version_of(first)
        if (chip, version) not in tables:
            known = ", ".join(known for name, known in tables if name == chip)
            self.skipTest(f"{chip}: the tables are of {known}, installed is {version}; "
                          f"only looked whether something is listed ({len(lines)} lines)")
        self.assertEqual(lines, tables[chip, version], f"{table_of(version).name} differs; --update writes it anew")

    def test_vainfo_lists_the_same(self):
        self.require_program("vainfo", "vainfo")
        for chip in ("adlp", "renoir", *self.known("lnl", "navi48")):
            with self.subTest(chip=chip):
                outcome = self.run_program(chip, ("vainfo", "--display", "drm", "--device", NODE))
                self.assertEqual(outcome.status, 0, outcome)
                found = re.findall(r"VAProfile(\w+)\s*:\s*VAEntrypoint(Enc\w+)", outcome.output)
                lines = self.list_capabilities(chip)[1:]
                self.assertEqual(sorted(found), sorted(tuple(line.split()[:2]) for line in lines))

    def test_low_power_without_firmware_offers_constant_quantiser_only(self):
        for chip in ("kbl", "tgl"):
            with self.subTest(chip=chip):
                lines = [line for line in self.list_capabilities(chip, huc="absent") if line.startswith("H264")]
                self.assertEqual(len(lines), 3)
                for line in lines:
                    self.assertIn(" EncSliceLP CQP ", line)


class Encodes(VendorDriverTest):
    def check(self, chip, codec):
        self.require_known(chip)
        if chip == "dg2" and "mtl" not in installed_table("iHD"):
            self.skipTest("iHD 23.1 of Debian's main section jumps to address 0 when a surface of dg2 is mapped: its "
                          "copy kernels were removed")
        if chip == "ptl" or (codec == "hevc" and chip in ("skl", "kbl")):  # iHD 25.2 lists VP9 alone for Panther Lake
            outcome = self.encode(chip, codec)
            profile = "H264High" if codec == "h264" else "HEVCMain"
            self.assertEqual(outcome.status, FFMPEG.failure(errno.ENOSYS), outcome)
            self.assertIn(f"No usable encoding entrypoint found for profile VAProfile{profile}", outcome.errors)
            return
        constant_rate = ("-rc_mode", "CBR", "-b:v", "500k")
        for options in (("-rc_mode", "CQP", "-qp", "26"), constant_rate) if codec == "h264" else (constant_rate,):
            with self.subTest(options=options):
                outcome = self.encode(chip, codec, options, coded_size=1234)
                self.assert_sizes(outcome, chip, 1234)

    def test_two_nodes_at_once(self):
        nodes = "128=kbl,131=navi21"
        sizes = "128=700,131=900"
        for node, size, name in ((NODE, 700, "kbl"), ("/dev/dri/renderD131", 900, "navi21")):
            with self.subTest(chip=name):
                options = ("-low_power", "1" if name == "kbl" else "0", "-qp", "26")
                outcome = self.encode(nodes, options=options, node=node, coded_size=sizes)
                self.assert_sizes(outcome, name, size)

    def test_two_drivers_in_one_process(self):
        for nodes in ((NODE, "/dev/dri/renderD131"), ("/dev/dri/renderD131", NODE)):
            with self.subTest(nodes=nodes):
                outcome = self.run_program("128=kbl,131=navi21", (self.built / "tests" / "list_capabilities", *nodes))
                self.assertEqual(outcome.status, 0, outcome)
                drivers = [line for line in outcome.output.splitlines() if line.startswith("driver ")]
                found = {node: "iHD" if "iHD" in line else "Mesa" for node, line in zip(nodes, drivers)}
                self.assertEqual(found, {NODE: "iHD", "/dev/dri/renderD131": "Mesa"})

    MAPPING = "format=nv12,hwupload,hwmap=derive_device=drm,format=drm_prime"

    def map_surfaces(self, chip, filters, encoder):
        self.require_program("ffmpeg", "ffmpeg")
        command = ("ffmpeg", "-nostdin", "-loglevel", "warning", "-init_hw_device", f"drm=node:{NODE}",
                   "-init_hw_device", "vaapi=va@node", "-filter_hw_device", "va", "-f", "lavfi", "-i",
                   "testsrc2=size=176x144:rate=25", "-frames:v", FRAMES, "-vf", f"{self.MAPPING},{filters}", *encoder,
                   "-f", "framecrc", "-")
        outcome = self.run_program(chip, command)
        self.assertEqual(outcome.status, 0, outcome)
        return self.packets(outcome)

    def test_surfaces_are_exported(self):
        for chip in ("kbl", "tgl", "polaris10", "navi21", *self.known("mtl", "lnl", "bmg", "navi31", "navi48")):
            with self.subTest(chip=chip):
                sizes = self.map_surfaces(chip, "hwdownload,format=nv12", ("-c:v", "rawvideo"))
                self.assertEqual(sizes, [176 * 144 * 3 // 2] * FRAMES)

    def test_exported_surfaces_are_imported_on_intel(self):
        """radeonsi exports two objects per surface, which ffmpeg 5.1 cannot import."""
        for chip in ("kbl", "tgl", *self.known("mtl", "lnl", "bmg")):
            with self.subTest(chip=chip):
                low_power = ("-low_power", "1") if chip in LOW_POWER else ()
                encoder = ("-c:v", "h264_vaapi", *low_power, "-qp", "26")
                self.assertEqual(self.map_surfaces(chip, "hwmap=derive_device=vaapi,format=vaapi", encoder),
                                 [1000] * FRAMES)

    def test_two_processes_and_two_threads_share_a_node(self):
        self.require("kbl")
        source = ("-f", "lavfi", "-i", "testsrc2=size=176x144:rate=25")
        encoder = ("-frames:v", FRAMES, "-vf", "format=nv12,hwupload", "-c:v", "h264_vaapi", "-low_power", "1", "-qp",
                   "26", "-f", "null", "-")
        command = ("ffmpeg", "-nostdin", "-loglevel", "error", "-vaapi_device", NODE, *source, *encoder, *encoder)
        environment = self.environment("kbl", {})
        processes = [subprocess.Popen([str(word) for word in command], env=environment, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                     for _ in range(2)]
        for process in processes:
            output, _ = process.communicate(timeout=LIMIT)
            self.assertEqual(process.returncode, 0, output)
        self.assertEqual(os.listdir(self.folder), [])


class GStreamer(VendorDriverTest):
    """Both plugins, with no others in the registry: scanning all of them takes longer than the test."""

    PLUGINS = ("libgstcoreelements.so", "libgstvideotestsrc.so", "libgstva.so", "libgstvaapi.so")

    def check(self, chip, element, options):
        self.require_program("gst-launch-1.0", "gstreamer1.0-tools")
        plugins = self.folder / "plugins"
        plugins.mkdir(exist_ok=True)
        for name in self.PLUGINS:
            found = next(Path("/usr/lib").glob(f"**/gstreamer-1.0/{name}"), None)
            if found is None:
                self.skipTest(f"GStreamer's {name} is not installed")
            if not (plugins / name).exists():
                (plugins / name).symlink_to(found)
        output = self.folder / "coded"
        os.environ.update({"GST_PLUGIN_SYSTEM_PATH": str(plugins), "GST_VAAPI_ALL_DRIVERS": "1",
                           "GST_VA_ALL_DRIVERS": "1", "GST_REGISTRY": str(self.folder / f"registry-{chip}")})
        pipeline = (f"videotestsrc num-buffers={FRAMES} ! video/x-raw,format=NV12,width=176,height=144 ! {element} "
                    f"{options} ! filesink location={output}")
        outcome = self.run_program(chip, ("gst-launch-1.0", "-q", *pipeline.split()), coded_size=800)
        self.assertEqual(outcome.status, 0, outcome)
        sizes = self.driver_with(chip).sizes(800, FRAMES)
        self.assertIn(output.stat().st_size, range(sum(map(min, sizes)), sum(map(max, sizes)) + 1))

    def test_va_on_intel(self):
        self.check("kbl", "vah264lpenc", "rate-control=cbr bitrate=500")

    def test_vaapi_on_intel(self):
        self.check("tgl", "vaapih264enc", "tune=low-power rate-control=cqp")

    def test_va_on_amd(self):
        self.check("navi21", "vah265enc", "")

    def test_vaapi_on_amd(self):
        self.check("raven", "vaapih264enc", "")


class Refusals(VendorDriverTest):
    def assert_refused(self, outcome, *texts):
        self.assertEqual(outcome.status, FFMPEG.failure(errno.EINVAL), outcome)
        for text in texts:
            self.assertIn(text, outcome.errors)
        self.assertEqual(self.packets(outcome), [])

    def test_permission_denied(self):
        self.assert_refused(self.encode("kbl", deny="EACCES"), f"No VA display found for device {NODE}")
        outcome = self.run_program("kbl", (self.built / "tests" / "list_capabilities", NODE), deny="EACCES")
        self.assertEqual((outcome.status, outcome.errors), (1, f"{NODE}: Permission denied\n"))

    def test_refused_by_device_control_group(self):
        self.assert_refused(self.encode("kbl", deny="EPERM"), f"No VA display found for device {NODE}")
        outcome = self.run_program("kbl", (self.built / "tests" / "list_capabilities", NODE), deny="EPERM")
        self.assertEqual((outcome.status, outcome.errors), (1, f"{NODE}: Operation not permitted\n"))

    def test_vainfo_of_a_node_that_denies(self):
        self.require_program("vainfo", "vainfo")
        outcome = self.run_program("kbl", ("vainfo", "--display", "drm", "--device", NODE), deny="EACCES")
        self.assertNotEqual(outcome.status, 0, outcome)
        self.assertNotIn("VAProfile", outcome.output)

    def test_gone_before_it_is_opened(self):
        gone = self.folder / "gone"
        gone.touch()
        self.addCleanup(gone.unlink)
        outcome = self.run_program("kbl", (self.built / "tests" / "list_capabilities", NODE), vanish_file=gone)
        self.assertEqual((outcome.status, outcome.errors), (1, f"{NODE}: No such device\n"))


class Failures(VendorDriverTest):
    def test_intel_submission_refused(self):
        outcome = self.encode("kbl", refuse="EIO@4")
        self.assertEqual(outcome.status, FFMPEG.failure(errno.EIO), outcome)
        self.assertIn("Failed to end picture encode issue: 24 (internal encoding error)", outcome.errors)
        self.assertEqual(self.packets(outcome), [1000, 1000])

    def test_submission_refused_by_xe(self):
        self.require_known("lnl")
        outcome = self.encode("lnl", refuse="EIO@12")
        self.assertEqual(outcome.status, FFMPEG.failure(errno.EIO), outcome)
        self.assertIn("Failed to end picture encode issue: 24 (internal encoding error)", outcome.errors)

    def test_amd_submission_refused_ends_the_process(self):
        status, texts = self.driver_with("renoir").refused_submission
        outcome = self.encode("renoir", refuse="EIO@4")
        self.assertEqual(outcome.status, status, outcome)
        for text in texts:
            self.assertIn(text, outcome.errors)

    def test_hanging_submission_is_waited_for_without_end(self):
        for chip in ("kbl", "renoir", *self.known("lnl")):
            with self.subTest(chip=chip):
                self.assertTrue(self.hangs(chip, 4))

    def test_intel_reset(self):
        for chip in ("kbl", *self.known("lnl")):
            with self.subTest(chip=chip):
                outcome = self.encode(chip, reset=3)
                self.assertEqual(outcome.status, FFMPEG.failure(errno.EIO), outcome)
                self.assertIn("Failed to map output buffers: 24 (internal encoding error)", outcome.errors)

    def test_amd_reset_gives_empty_packets(self):
        outcome = self.encode("renoir", reset=3)
        self.assertEqual(outcome.status, 0, outcome)
        packets = self.packets(outcome)
        self.assertEqual(len(packets), FFMPEG.empty_packets(FRAMES))
        self.assertIn(packets[0], self.driver_with("renoir").sizes(1000, 1)[0])
        left = {1000} if self.driver_with("renoir").gives_stale_pictures else set()
        self.assertEqual(set(packets[3:]), {0} | left)

    def test_nothing_coded(self):
        for chip in ("kbl", "renoir"):
            with self.subTest(chip=chip):
                self.assert_sizes(self.encode(chip, coded_size=0), chip, 0, FFMPEG.empty_packets(FRAMES))

    def submissions_by_request(self, chip):
        """Which requests of an encode, counted from 1, are its submissions."""
        trace = self.folder / "trace"
        self.encode(chip, trace=trace)
        submissions = submissions_in(trace, chip)
        trace.unlink()
        return submissions

    def test_vanishes_while_encoding(self):
        for chip in ("kbl", "renoir", *self.known("lnl")):
            with self.subTest(chip=chip):
                submissions = self.submissions_by_request(chip)
                outcome = self.encode(chip, vanish=submissions[5])
                self.assertNotEqual(outcome.status, 0, outcome)
                self.assertLess(len(self.packets(outcome)), FRAMES)
                crashes = outcome.status == -signal.SIGSEGV and self.driver_with(chip).crashes_without_device
                if not crashes:
                    self.assertRegex(outcome.errors, "No such device|rejected.* \\(-19\\)|Failed to")


class Leftovers(VendorDriverTest):
    def test_nothing_is_left(self):
        """Neither files in the temporary folder nor processes; memfds end with the last process."""
        for chip in ("kbl", "renoir"):
            with self.subTest(chip=chip):
                self.encode(chip)
                self.run_program(chip, ("vainfo", "--display", "drm", "--device", NODE))
                self.assertEqual(os.listdir(self.folder), [])
                self.assertEqual(processes_with(f"TMPDIR={self.folder}"), [])

    def test_what_a_killed_process_leaves_goes_with_the_next(self):
        self.assertTrue(self.hangs("kbl", 3))
        self.assertEqual(len(os.listdir(self.folder)), 1)
        self.run_program("tgl", ("true",))
        self.assertEqual(os.listdir(self.folder), [])


def processes_with(setting):
    """Other processes whose environment has a setting."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if setting.encode() in (entry / "environ").read_bytes().split(b"\0"):
                    found.append((entry.name, (entry / "cmdline").read_bytes()))
            except OSError:
                pass
    return found


def add_tests():
    """One test per chip, so that a failure names it."""
    for chip in INTEL + AMD:
        setattr(Lists, f"test_{chip}", lambda self, chip=chip: self.check(chip))
    for chip in INTEL + AMD:
        for codec in ("h264", "hevc"):
            setattr(Encodes, f"test_{codec}_on_{chip}", lambda self, chip=chip, codec=codec: self.check(chip, codec))


def update():
    """Writes the table from the installed drivers."""
    lists = Lists()
    Lists.setUpClass()
    text = ["# SPDX-License-Identifier: GPL-2.0-or-later",
            "# What the distribution's VA drivers list for encoding on the fake render nodes; written by",
            "# tests/test_vendor_drivers.py --update. After a chip's name the driver and its version; then profile,",
            "# entrypoint, rate controls, packed headers, references in lists 0 and 1, slices, quality levels and the",
            "# largest size, and of HEVC Main and Main 10 directions of prediction, features and block sizes as",
            "# numbers; \"-\" is what the driver does not state."]
    path = table_of(version_of(lists.list_capabilities("kbl")[0]))
    for chip in INTEL + AMD:
        if chip in RECENT and path == TABLES["23", "22"]:
            continue
        first, *lines = lists.list_capabilities(chip)
        text += ["", f"[{chip}] {version_of(first)}", *lines]
    if path is None:
        sys.exit("no table is kept for the installed versions; add their numbers to TABLES")
    path.write_text("\n".join(text) + "\n")
    Lists.doClassCleanups()


add_tests()
if __name__ == "__main__":
    if "--update" in sys.argv:
        update()
    else:
        unittest.main(verbosity=2)
