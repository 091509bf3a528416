#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The shim that fakes render nodes, by itself: every way to reach a node, permissions, loss of a node, what udev and
libdrm see, several processes, and what is left behind.

    tests/test_render_node.py [--full] [TEST...]

--full also builds and runs a Swift program, with the dynamic and with the static standard library."""

import ctypes.util
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

DRIVERS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(DRIVERS))

from runner.places import build  # noqa: E402

FULL = "--full" in sys.argv

# For Python programs under the shim.
PRELUDE = """
import ctypes, errno, fcntl, os, stat, struct, sys
VERSION = 0xc0406400  # DRM_IOCTL_VERSION

def kernel_driver(node):
    name = ctypes.create_string_buffer(32)
    request = bytearray(struct.pack("@iii4xQQQQQQ", 0, 0, 0, 31, ctypes.addressof(name), 0, 0, 0, 0))
    fcntl.ioctl(node, VERSION, request)
    return name.value.decode()

def outcome(call, *arguments):
    try:
        call(*arguments)
        return "fine"
    except OSError as error:
        return errno.errorcode[error.errno]
"""

SWIFT = """
import Glibc

var status = stat()
let found = stat("/dev/dri/renderD128", &status) == 0 && status.st_mode & S_IFMT == S_IFCHR
let node = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC)
var names: [String] = []
if let folder = opendir("/dev/dri") {
    while let entry = readdir(folder) {
        names.append(withUnsafePointer(to: &entry.pointee.d_name) {
            $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        })
    }
    closedir(folder)
}
var text = [CChar](repeating: 0, count: 4096)
let length = readlink("/sys/class/drm/renderD128/device/driver", &text, text.count - 1)
let linked = length > 0 && String(cString: text).hasSuffix("drivers/i915")
let reachable = access("/sys/dev/char/226:128/device/vendor", R_OK) == 0
print(found, node >= 0, names.contains("renderD128"), linked, reachable)
"""


class RenderNodeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.built = build()
        # In memory where that can be had: every program under the shim makes a tree of links there.
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        cls.folder = Path(tempfile.mkdtemp(prefix="render-node-", dir=memory))
        cls.addClassCleanup(shutil.rmtree, cls.folder)

    # What TMPDIR is for the programs, below the folder.
    TEMPORARY = ""

    def environment(self, nodes, settings):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RENDER_NODES")}
        added = {"LD_PRELOAD": str(self.built / "librender_node.so"), "TMPDIR": f"{self.folder}{self.TEMPORARY}"}
        if nodes is not None:
            added["RENDER_NODES"] = nodes
        return kept | added | {f"RENDER_NODES_{name.upper()}": str(value) for name, value in settings.items()}

    def run_program(self, command, nodes="128=kbl", **settings):
        return subprocess.run([str(word) for word in command], env=self.environment(nodes, settings), text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)

    def python(self, code, nodes="128=kbl", arguments=(), **settings):
        """Runs a Python program under the shim; returns the words that it printed."""
        program = PRELUDE + textwrap.dedent(code)
        outcome = self.run_program((sys.executable, "-I", "-c", program, *arguments), nodes, **settings)
        self.assertEqual((outcome.returncode, outcome.stderr), (0, ""))
        return outcome.stdout.split()

    def tearDown(self):
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("render-nodes")], [])


class Reaching(RenderNodeTest):
    def test_every_entry_point(self):
        program = self.built / "tests" / "render_node_calls"
        outcome = self.run_program((program,))
        self.assertEqual((outcome.returncode, outcome.stdout), (0, ""), outcome.stderr)

    def test_entry_points_fail_where_there_is_no_node(self):
        outcome = self.run_program((self.built / "tests" / "render_node_calls",), nodes="129=kbl")
        self.assertEqual(outcome.returncode, 1)
        self.assertGreater(len(outcome.stdout.splitlines()), 40)

    def test_gaps(self):
        words = self.python("""
            print(*sorted(os.listdir("/dev/dri")), *(kernel_driver(os.open("/dev/dri/renderD" + number, os.O_RDWR))
                                                     for number in ("129", "140")))
            """, nodes="140=navi21,129=generic")
        self.assertEqual(words, ["by-path", "renderD129", "renderD140", "generic", "amdgpu"])

    def test_without_nodes_nothing_changes(self):
        words = self.python("print(os.path.exists('/dev/dri'), os.path.exists('/sys/class/drm'))", nodes=None)
        self.assertEqual(words, [str(os.path.exists("/dev/dri")), str(os.path.exists("/sys/class/drm"))])

    def test_inherited_by_another_program(self):
        words = self.python("""
            import subprocess
            node = os.open("/dev/dri/renderD128", os.O_RDWR)
            if len(sys.argv) == 1:
                program = open("/proc/self/cmdline").read().split("\\0")[:-1]
                print(subprocess.run(program + [str(node)], pass_fds=[node], stdout=-1, text=True).stdout)
            else:
                print(kernel_driver(int(sys.argv[1])), os.readlink("/proc/self/fd/" + sys.argv[1]))
            """)
        self.assertEqual(words, ["i915", "/dev/dri/renderD128"])


class Permissions(RenderNodeTest):
    LOOK = """
        status = os.stat("/dev/dri/renderD128")
        print(outcome(os.open, "/dev/dri/renderD128", os.O_RDWR), os.access("/dev/dri/renderD128", os.R_OK | os.W_OK),
              stat.filemode(status.st_mode), status.st_uid, status.st_gid)
        """

    def test_open_to_all(self):
        self.assertEqual(self.python(self.LOOK), ["fine", "True", "crw-rw-rw-", "0", "0"])

    def test_denied_by_mode(self):
        words = self.python(self.LOOK, deny="EACCES", mode="0660", owner=0, group=992)
        self.assertEqual(words, ["EACCES", "False", "crw-rw----", "0", "992"])

    def test_denied_by_control_group(self):
        self.assertEqual(self.python(self.LOOK, deny="EPERM"), ["EPERM", "False", "crw-rw-rw-", "0", "0"])

    def test_one_of_two(self):
        words = self.python("""
            print(*(outcome(os.open, "/dev/dri/renderD" + number, os.O_RDWR) for number in ("128", "130")))
            """, nodes="128=kbl,130=navi21", deny="130=EACCES")
        self.assertEqual(words, ["fine", "EACCES"])


class Vanishing(RenderNodeTest):
    def test_at_a_request(self):
        words = self.python("""
            node = os.open("/dev/dri/renderD128", os.O_RDWR)
            print(*(outcome(kernel_driver, node) for count in range(4)),
                  outcome(os.open, "/dev/dri/renderD128", os.O_RDWR), os.path.exists("/dev/dri/renderD128"))
            """, vanish=3)
        self.assertEqual(words, ["fine", "fine", "ENODEV", "ENODEV", "ENODEV", "True"])

    def test_while_a_file_exists(self):
        gone = self.folder / "gone"
        words = self.python("""
            node = os.open("/dev/dri/renderD128", os.O_RDWR)
            print(outcome(kernel_driver, node))
            open(sys.argv[1], "w").close()
            print(outcome(kernel_driver, node), outcome(os.open, "/dev/dri/renderD128", os.O_RDWR))
            os.unlink(sys.argv[1])
            print(outcome(kernel_driver, node))
            """, arguments=(gone,), vanish_file=gone)
        self.assertEqual(words, ["fine", "ENODEV", "ENODEV", "fine"])


class Settings(RenderNodeTest):
    def test_what_is_not_understood_ends_the_program(self):
        for nodes, settings, text in (
            ("128=voodoo", {}, "RENDER_NODES is"),
            ("127=kbl", {}, "RENDER_NODES is"),
            ("128=kbl,128=kbl", {}, "RENDER_NODES is"),
            ("128=kbl", {"deny": "EIO"}, "RENDER_NODES_DENY is"),
            ("128=kbl", {"deny": "129=EPERM"}, "RENDER_NODES_DENY is"),
            ("128=kbl", {"refuse": "EIO@0"}, "RENDER_NODES_REFUSE is"),
            ("128=kbl", {"coded_size": "many"}, "RENDER_NODES_CODED_SIZE is"),
            ("128=kbl", {"huc": "yes"}, "RENDER_NODES_HUC is"),
            ("128=kbl", {"trace": "/" * 4096}, "RENDER_NODES_TRACE is"),
        ):
            with self.subTest(nodes=nodes, settings=settings):
                outcome = self.run_program(("true",), nodes, **settings)
                self.assertEqual(outcome.returncode, 2)
                self.assertIn(text, outcome.stderr)


class Libraries(RenderNodeTest):
    NODES = "128=kbl,131=navi21"

    def require_library(self, name):
        found = ctypes.util.find_library(name)
        if found is None:
            self.skipTest(f"lib{name} is not installed")
        return found

    def test_libdrm(self):
        library = self.require_library("drm")
        words = self.python("""
            library = ctypes.CDLL(sys.argv[1])
            devices = (ctypes.POINTER(ctypes.POINTER(ctypes.c_char_p)) * 8)()
            count = library.drmGetDevices2(0, devices, 8)
            print(*(device.contents[2].decode() for device in devices[:count]))
            node = os.open("/dev/dri/renderD131", os.O_RDWR)
            print(library.drmGetNodeTypeFromFd(node))
            """, nodes=self.NODES, arguments=(library,))
        self.assertEqual(sorted(words), ["/dev/dri/renderD128", "/dev/dri/renderD131", "2"])

    def test_libudev(self):
        library = self.require_library("udev")
        words = self.python("""
            library = ctypes.CDLL(sys.argv[1])
            for name in ("new", "enumerate_new", "enumerate_get_list_entry", "list_entry_get_next",
                         "device_new_from_syspath", "device_get_parent_with_subsystem_devtype"):
                getattr(library, "udev_" + name).restype = ctypes.c_void_p
            for name in ("list_entry_get_name", "device_get_devnode", "device_get_sysattr_value"):
                getattr(library, "udev_" + name).restype = ctypes.c_char_p
            pointer = ctypes.c_void_p
            udev = pointer(library.udev_new())
            enumeration = pointer(library.udev_enumerate_new(udev))
            library.udev_enumerate_add_match_subsystem(enumeration, b"drm")
            library.udev_enumerate_scan_devices(enumeration)
            entry = library.udev_enumerate_get_list_entry(enumeration)
            while entry:
                path = library.udev_list_entry_get_name(pointer(entry))
                device = pointer(library.udev_device_new_from_syspath(udev, path))
                parent = pointer(library.udev_device_get_parent_with_subsystem_devtype(device, b"pci", None))
                print(library.udev_device_get_devnode(device).decode(),
                      library.udev_device_get_sysattr_value(parent, b"device").decode())
                entry = library.udev_list_entry_get_next(pointer(entry))
            """, nodes=self.NODES, arguments=(library,))
        self.assertEqual(words, ["/dev/dri/renderD128", "0x5912", "/dev/dri/renderD131", "0x73bf"])


class TemporaryFolderWithSlash(Libraries):
    TEMPORARY = "/"


class TemporaryFolderBehindLink(Libraries):
    TEMPORARY = "/link"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.folder / "link").symlink_to(cls.folder)


class Processes(RenderNodeTest):
    def test_many_start_and_end_at_once(self):
        command = ("sh", "-c", "for count in 1 2 3; do cat /sys/class/drm/renderD128/dev || exit 1; done")
        processes = [subprocess.Popen(command, env=self.environment("128=generic", {}), text=True,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                     for _ in range(12)]
        for process in processes:
            output, _ = process.communicate(timeout=60)
            self.assertEqual((process.returncode, output), (0, "226:128\n" * 3))

    def test_child_outlives_its_parent(self):
        words = self.python("""
            done, parent = os.pipe(), os.pipe()
            if os.fork() == 0:
                os.close(done[0])
                os.close(parent[1])
                os.read(parent[0], 1)  # ends with the parent, the last one that could write
                os.write(done[1], kernel_driver(os.open("/dev/dri/renderD128", os.O_RDWR)).encode())
                sys.exit(0)
            os.close(done[1])
            if os.fork() == 0:
                os.close(parent[1])
                print(os.read(done[0], 64).decode(), flush=True)
            """)
        self.assertEqual(words, ["i915"])

    def test_what_a_process_of_the_same_number_left_is_removed(self):
        tree, = self.python("""
            import glob
            print(*glob.glob(os.environ["TMPDIR"] + "/render-nodes-*"))
            """)
        environment = self.environment("128=kbl", {})
        preloaded = environment.pop("LD_PRELOAD")
        left = 'mkdir "$1.new-$$" && touch "$1.new-$$/file" && LD_PRELOAD=$2 exec cat /sys/class/drm/renderD128/dev'
        outcome = subprocess.run(("sh", "-c", left, "sh", tree, preloaded), env=environment, text=True,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
        self.assertEqual((outcome.returncode, outcome.stdout), (0, "226:128\n"))

    def test_leaves_without_destructors(self):
        self.assertEqual(self.python("print('fine', flush=True); os._exit(0)"), ["fine"])


@unittest.skipUnless(FULL, "builds Swift programs; with --full")
class Swift(RenderNodeTest):
    def test_programs_see_the_node(self):
        if shutil.which("swiftc") is None:
            self.skipTest("swiftc is not installed")
        source = self.folder / "look.swift"
        source.write_text(SWIFT)
        for options in ((), ("-static-stdlib",)):
            with self.subTest(options=options):
                program = self.folder / "look"
                subprocess.run(("swiftc", *options, "-o", program, source), check=True, capture_output=True)
                outcome = self.run_program((program,))
                self.assertEqual((outcome.returncode, outcome.stdout), (0, "true true true true true\n"),
                                 outcome.stderr)


if __name__ == "__main__":
    unittest.main(argv=[word for word in sys.argv if word != "--full"], verbosity=2)
