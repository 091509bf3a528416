# SPDX-License-Identifier: GPL-2.0-or-later
"""Broken environments, each set up for real where that can be done, and what has to be said of each: the cause by its
stable name, and words of the explanation and of the remedies.

Nodes that the kernel itself refuses are made in mount and user namespaces, with other users and control groups; GPUs
and drivers are those of Tests/Drivers, and the distribution's own drivers on fake nodes."""

import ctypes
import json
import os
import platform
import shutil
import struct
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from runner.launch import run
from runner.places import build, compiler
from runner.releases import Driver
from runner.waiting import wait_until
from runner.commands import DEVICE, make_source

# A render node that no machine has: its driver does not answer, who may open it is for the kernel to say.
NODE, MINOR, GROUP, USER = "/dev/dri/renderD191", 191, 993, 4711


class Impossible(Exception):
    """The kernel, or what is installed, does not allow the set-up; the text says what is missing."""


@dataclass(frozen=True)
class Environment:
    name: str
    cause: str
    says: tuple = ()  # words of the explanation
    remedy: tuple = ()  # words of the remedies
    node: str = ""  # a chip of the fake node (Tests/Drivers/node); none: /dev as the stage makes it
    settings: dict = field(default_factory=dict)
    stage: str = ""  # shell commands, in a mount namespace of the program's own
    launcher: tuple = ()  # what runs the program: another user, other limits
    prepare: object = None  # makes files: (folder) -> settings
    options: tuple = ()  # of `vatoolbox encode`
    commands: tuple = ("probe", "encode")  # or "decode"


def reference(limits="", faults="", vendor="", persona="intel", **settings):
    """Settings for the reference driver."""
    values = {"LIBVA_DRIVERS_PATH": "{drivers}", "LIBVA_DRIVER_NAME": "libref", "REFERENCE_DRIVER_LIMITS": limits,
              "REFERENCE_DRIVER_FAULTS": faults, "REFERENCE_DRIVER_VENDOR": vendor,
              "REFERENCE_DRIVER_PERSONA": persona, **settings}
    return {name: value for name, value in values.items() if value}


# MARK: - Stages

HIDDEN = "mount -t tmpfs tmpfs /sys/class\n"  # A GPU of this machine is not to be seen.


def dev(*lines, kernel=()):
    """A /dev of our own, with these commands in it, and the nodes that the kernel has according to sysfs."""
    devices = "\n".join(f"cp -a /dev/{name} $new/" for name in ("null", "zero", "full", "random", "urandom"))
    nodes = "".join(f"mkdir -p /sys/class/drm/{name}\n" for name in kernel)
    return (f"{HIDDEN}{nodes}new=$(mktemp -d)\nmount -t tmpfs -o mode=755 tmpfs $new\n{devices}\n"
            "ln -s /proc/self/fd $new/fd\nmkdir -m 1777 $new/shm\nmount --move $new /dev\nrmdir $new\n"
            + "\n".join(lines))


def node(mode="0660", group=GROUP, name=NODE):
    return f"mkdir -p /dev/dri\nmknod {name} c 226 {MINOR}\nchown 0:{group} {name}\nchmod {mode} {name}"


AS_USER = ("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups")
IN_GROUP = ("setpriv", f"--reuid={USER}", f"--regid={USER}", f"--groups={GROUP}")
PODMAN = "mount -t tmpfs -o mode=755 tmpfs /run\ntouch /run/.containerenv"


def hidden_drivers():
    folder = subprocess.run(["pkg-config", "--variable=driverdir", "libva"], capture_output=True, text=True)
    return f"mount -t tmpfs tmpfs {folder.stdout.strip()}"


# MARK: - Files of drivers

def shared_library(path, text, *flags):
    made = subprocess.run([compiler(), "-shared", "-fPIC", "-x", "c", "-", "-o", str(path), "-x", "none", *flags],
                          input=text, text=True, capture_output=True)
    if made.returncode != 0:
        raise Impossible(f"the compiler makes no shared library: {made.stderr[-200:]}")


def truncated_driver(folder):
    (folder / "iHD_drv_video.so").write_bytes((build() / "libref_drv_video.so").read_bytes()[:40])
    return {"LIBVA_DRIVERS_PATH": str(folder)}


def driver_without_its_library(folder):
    shared_library(folder / "libnotthere.so.7", "int needed(void) { return 0; }", "-Wl,-soname,libnotthere.so.7")
    shared_library(folder / "iHD_drv_video.so",
                   "int needed(void); int __vaDriverInit_1_0(void *driver) { return needed(); }",
                   str(folder / "libnotthere.so.7"))
    (folder / "libnotthere.so.7").unlink()
    return {"LIBVA_DRIVERS_PATH": str(folder)}


def driver_of_another_libva(folder):
    shared_library(folder / "iHD_drv_video.so", "int __vaDriverInit_9_0(void *driver) { return 0; }")
    return {"LIBVA_DRIVERS_PATH": str(folder)}


def driver_older_than_its_gpu(folder):
    """iHD before 24.2 refuses Lunar Lake. In place of later ones, the reference driver refuses."""
    variables = {"LD_PRELOAD": str(build() / "librender_node.so"), "RENDER_NODES": "128=kbl", "TMPDIR": str(folder)}
    asked = run([str(build() / "tests" / "list_capabilities"), DEVICE], os.environ | variables, 60)
    try:
        driver = Driver.of(asked.output)
    except ValueError as error:
        raise Impossible(str(error)) from error
    if driver.version < 24:
        return {}
    shutil.copy(build() / "libref_drv_video.so", folder / "iHD_drv_video.so")
    return {"LIBVA_DRIVERS_PATH": str(folder), "REFERENCE_DRIVER_FAULTS": "vaInitialize:*=status:0x12"}


def taken_away(folder):
    (folder / "gone").touch()
    return {"RENDER_NODES_VANISH_FILE": str(folder / "gone")}


def helper_of_another_version(folder, variable="VATOOLBOX_HELPER"):
    """A program that greets as a helper does whose protocol is another."""
    helper = folder / "vatoolbox-helper"
    greeting = b"VTIP" + struct.pack("<HHHHIQ", 999, 2, 0, 0, 0, 0)
    octal = "".join(f"\\{byte:03o}" for byte in greeting)
    helper.write_text(f"#!/bin/sh\nprintf '{octal}' >&3\nexec cat <&3 >&2\n")
    helper.chmod(0o755)
    return {variable: str(helper)}


def decoding_helper_of_another_version(folder):
    return helper_of_another_version(folder, "VATOOLBOX_DECODING_HELPER")


# MARK: - Control groups

class DeviceRules:
    """A control group whose processes may not open render nodes: what a container engine does without --device."""

    def __enter__(self):
        mounted = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines() if " cgroup2 " in line]
        if not mounted or not os.access(mounted[0], os.W_OK):
            raise Impossible("no control group of version 2 can be made here")
        self.folder = Path(tempfile.mkdtemp(prefix="vatoolbox-", dir=mounted[0]))
        try:
            self.attach_program()
        except OSError as error:
            self.__exit__()
            raise Impossible(f"the kernel takes no program for devices: {error}") from error
        return self

    def __exit__(self, *_):
        # Processes that were killed leave a moment later.
        wait_until(lambda: not (self.folder / "cgroup.procs").read_text())
        self.folder.rmdir()

    @property
    def join(self):
        return f"echo $$ > {self.folder}/cgroup.procs"

    def attach_program(self):
        """What decides about devices in version 2 is a BPF program: everything but major number 226 is allowed."""
        call = {"x86_64": 321, "aarch64": 280}.get(platform.machine())
        if call is None:
            raise OSError("the number of bpf(2) is not known on this machine")
        instruction = struct.Struct("<BBhi").pack
        code = b"".join([
            instruction(0x61, 0x12, 4, 0),  # r2 = context->major
            instruction(0xB7, 0, 0, 0),  # r0 = 0, refused
            instruction(0x15, 2, 1, 226),  # if r2 == 226 skip one
            instruction(0xB7, 0, 0, 1),  # r0 = 1, allowed
            instruction(0x95, 0, 0, 0),  # exit
        ])
        libc = ctypes.CDLL(None, use_errno=True)

        def bpf(command, attributes):
            result = libc.syscall(call, command, attributes, len(attributes))
            if result < 0:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
            return result

        kept = ctypes.create_string_buffer(code)
        license_text = ctypes.create_string_buffer(b"GPL")
        program = bpf(5, struct.pack("<IIQQ", 15, len(code) // 8, ctypes.addressof(kept),
                                     ctypes.addressof(license_text)) + bytes(104))
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            bpf(8, struct.pack("<IIII", folder, program, 6, 0))
        finally:
            os.close(folder)
            os.close(program)


# MARK: - The table

MESA = "Mesa Gallium driver 23.1.9 for AMD Radeon RX 6800 (navi21, LLVM 16.0.6)"

ENVIRONMENTS = [
    # Nodes, as the kernel of this machine shows them.
    Environment("no /dev/dri, and the kernel has no GPU", "no-device-folder",
                ("There is no /dev/dri", "no render node"), ("lspci -nnk",), stage=dev()),
    Environment("no /dev/dri in a container, and the kernel has a GPU", "no-device-folder",
                ("although the kernel has renderD128", "was not given the GPU"),
                ("podman run --device /dev/dri", 'devices: ["/dev/dri:/dev/dri"]'),
                stage=dev(PODMAN, kernel=("renderD128",))),
    Environment("an empty /dev/dri", "no-render-node", ("/dev/dri is empty",), ("lspci -nnk",),
                stage=dev("mkdir /dev/dri")),
    Environment("a display's node only", "display-node-only", ("only card0", "is a display only"), ("lspci -nnk",),
                stage=dev("mkdir /dev/dri", "mknod /dev/dri/card0 c 226 0", "chmod 666 /dev/dri/card0")),
    Environment("not in the node's group", "permission-denied",
                (f"gid {GROUP}", "mode 0660", f"uid {USER}", f"in group {USER}"),
                (f"run --device /dev/dri --group-add {GROUP}", f'group_add: ["{GROUP}"]'),
                stage=dev(node()), launcher=AS_USER),
    Environment("not in the node's group, in a container", "permission-denied", (f"gid {GROUP}", f"uid {USER}"),
                (f"podman run --device /dev/dri --group-add {GROUP}", f'group_add: ["{GROUP}"]'),
                stage=dev(PODMAN, node()), launcher=AS_USER),
    Environment("a mode that shuts everybody out", "permission-denied", ("mode 0600", "deny access, whatever the group"),
                ("chgrp render", 'MODE="0660"'), stage=dev(node("0600")), launcher=IN_GROUP),
    Environment("a mount without devices", "permission-denied", ("its mode allows access", "nodev"),
                (f"findmnt -T {NODE}",), stage=dev(node(), "mount -o remount,nodev /dev"), launcher=IN_GROUP),
    Environment("a closed folder", "permission-denied", ("A parent folder of", f"uid {USER}"),
                ("chmod 0755 /dev/dri",), stage=dev(node("0666"), "chmod 0700 /dev/dri"), launcher=AS_USER),
    Environment("a rootless container, whose namespace has no such group", "unmapped-group",
                ("gid 65534", "user namespace does not map"), ("--group-add keep-groups", "setfacl -m"),
                stage=dev(node()), launcher=(*AS_USER, "unshare", "--user", "--map-root-user")),
    Environment("mounted as a volume, and not passed as a device", "device-not-allowed",
                ("control group", "as a volume"), ("run --device /dev/dri", 'devices: ["/dev/dri:/dev/dri"]'),
                stage=dev(node("0666"), "{rules}")),
    Environment("a node without a driver", "no-kernel-driver", ("its kernel driver does not respond",), ("sudo dmesg",),
                stage=dev(node("0666"))),
    Environment("a folder in place of a node", "not-a-device", ("is a folder", "-v"), ("--device /dev/dri",),
                stage=dev(f"mkdir -p {NODE}")),
    Environment("a node that is gone when it is opened", "node-vanished", ("does not exist",), ("ls -l /dev/dri",),
                stage=dev("mkdir /dev/dri", f"ln -s /nowhere/renderD191 {NODE}")),
    Environment("a GPU that was taken away", "no-kernel-driver", ("No such device",), ("dmesg",), node="kbl",
                prepare=taken_away),
    Environment("a GPU that is lost", "kernel-driver-silent", ("the GPU was removed or is lost",), ("dmesg",), node="kbl",
                settings={"RENDER_NODES_VANISH": "1"}),
    Environment("no descriptor left", "out-of-descriptors", ("Too many open files",), ("ulimit -n",),
                node="generic", settings=reference(), launcher=("prlimit", "--nofile=8"), commands=("probe",)),
    Environment("a device that is not there", "unknown-device", ("no such render node", DEVICE), ("vatoolbox probe",),
                node="generic", settings=reference(), options=("--device", "/dev/dri/renderD150"),
                commands=("encode",)),

    # Files of drivers.
    Environment("no driver for an Intel GPU", "driver-file-missing", ("no driver file was found", "iHD_drv_video.so"),
                ("apt-get install intel-media-va-driver", "intel-media-va-driver-non-free"), node="kbl",
                stage="{hidden_drivers}"),
    Environment("no driver for an AMD GPU", "driver-file-missing", ("radeonsi_drv_video.so",),
                ("apt-get install mesa-va-drivers",), node="navi21", stage="{hidden_drivers}"),
    Environment("LIBVA_DRIVERS_PATH leads nowhere", "driver-path-wrong",
                ("/nowhere/iHD_drv_video.so", "LIBVA_DRIVERS_PATH is /nowhere"), ("unset LIBVA_DRIVERS_PATH",),
                node="kbl", settings={"LIBVA_DRIVERS_PATH": "/nowhere"}),
    Environment("LIBVA_DRIVER_NAME names no driver", "driver-name-wrong", ("LIBVA_DRIVER_NAME is nonesuch",),
                ("unset LIBVA_DRIVER_NAME",), node="navi21", settings={"LIBVA_DRIVER_NAME": "nonesuch"}),
    Environment("AMD's driver forced upon an Intel GPU", "driver-for-other-gpu",
                ("selects radeonsi", "Intel 8086:5912", "i915"), ("unset LIBVA_DRIVER_NAME",), node="kbl",
                settings={"LIBVA_DRIVER_NAME": "radeonsi"}),
    Environment("Intel's driver forced upon an AMD GPU", "driver-for-other-gpu",
                ("selects iHD", "AMD 1002:73bf", "radeonsi"), ("unset LIBVA_DRIVER_NAME",), node="navi21",
                settings={"LIBVA_DRIVER_NAME": "iHD"}),
    Environment("a driver whose file is damaged", "driver-unloadable", ("cannot be loaded",),
                ("--reinstall intel-media-va-driver",), node="kbl", prepare=truncated_driver),
    Environment("a driver whose library is missing", "driver-unloadable", ("a library that it needs is missing",),
                ("ldd {folder}/iHD_drv_video.so",), node="kbl", prepare=driver_without_its_library),
    Environment("a driver of another libva", "driver-version-mismatch", ("not a driver for libva 2.",),
                ("nm -D {folder}/", "libva2"), node="kbl", prepare=driver_of_another_libva),

    # Drivers that do not start.
    Environment("a driver that refuses to start", "driver-initialization-failed", ("VA_STATUS_ERROR",),
                ("dmesg", "LIBVA_MESSAGING_LEVEL=2"), node="generic",
                settings=reference(faults="vaInitialize:*=status:0x12")),
    Environment("a GPU that is younger than its driver", "gpu-newer-than-driver",
                ("Intel 8086:64a0", "Lunar Lake", "since release 24.2"), ("strings ", "24.2 or newer"), node="lnl",
                settings={"LIBVA_DRIVER_NAME": "iHD"},  # libva 2.17 does not find it for the kernel driver xe
                prepare=driver_older_than_its_gpu),
    Environment("a kernel driver for which nothing encodes, with a driver", "no-va-api-encoder",
                ("nouveau", "can only decode"), ("--device software",), node="nouveau"),
    Environment("a kernel driver for which nothing encodes, without a driver", "no-va-api-encoder",
                ("nvidia-drm", "NVENC"), ("--device software",), node="nvidia"),
    Environment("a driver that crashes as it starts", "driver-crashed", ("SIGSEGV",),
                ("dmesg", "VATOOLBOX_SANDBOX=off vatoolbox probe"), node="generic",
                settings=reference(faults="vaInitialize:*=segv")),
    Environment("AMD's driver, which crashes when the GPU is lost", "driver-crashed", ("SIGSEGV",),
                ("--only-upgrade mesa-va-drivers",), node="navi21", settings={"RENDER_NODES_VANISH": "9"}),
    Environment("a driver that aborts as it is loaded", "driver-crashed", ("SIGABRT",), ("--device software",),
                node="generic", settings=reference(LIBVA_DRIVER_NAME="libfaulty", FAULTY_DRIVER="load=abort")),
    Environment("a driver that ends its process", "driver-crashed", ("status 1",), ("--device software",),
                node="generic", settings=reference(LIBVA_DRIVER_NAME="libfaulty", FAULTY_DRIVER="initialize=exit")),
    Environment("a driver that hangs as it starts", "driver-hung", ("no answer within 3 seconds",),
                ("--timeout 18", "dmesg"), node="generic", settings=reference(faults="vaInitialize:*=hang"),
                commands=("probe",)),

    # What drivers do not have.
    Environment("a Mesa without the codec", "driver-without-codec", ("lists no profile of H.264", "build of Mesa"),
                ("mesa-va-drivers-freeworld",), node="navi21", settings=reference("h264=none", vendor=MESA)),
    Environment("a Mesa that decodes only", "driver-without-codec", ("for decoding only", "build of Mesa"),
                ("--reinstall mesa-va-drivers",), node="navi21", settings=reference("h264=decode", vendor=MESA)),
    Environment("a GPU without an encoder", "gpu-without-encoder", ("for decoding only", "Navi 24"),
                ("--device software",), node="navi24", settings=reference("h264=decode", vendor=MESA)),
    Environment("an Intel driver that decodes only", "driver-without-codec", ("before Skylake",),
                ("intel-media-va-driver-non-free",), node="kbl",
                settings=reference("h264=decode", vendor="Intel iHD driver")),
    Environment("an Intel GPU without its firmware", "huc-suspected",
                ("HuC firmware", "the kernel reports that the firmware is not running"),
                ("firmware-misc-nonfree", "enable_guc=3", "dmesg | grep -i huc"), node="kbl",
                settings={"RENDER_NODES_HUC": "absent"}),
    Environment("an entrypoint that is missing", "entrypoint-missing", ("only a low-power encoder",),
                ("--low-power auto",), node="kbl", options=("--low-power", "off"), commands=("encode",)),
    Environment("a rate control that is missing", "rate-control-missing", ("no suitable rate control mode",),
                ("--qp 26",), node="navi21", settings=reference("rate-controls=cqp", persona="amd"),
                options=("--cbr", "--bitrate", "100k"), commands=("encode",)),
    Environment("a size that is too small", "size-out-of-range", ("pictures of this size",), ("--size",), node="kbl",
                options=("--size", "16x16"), commands=("encode",)),
    Environment("a profile that is missing", "profile-missing", ("the profile",), ("--profile",), node="kbl",
                options=("--profile", "high10", "--bit-depth", "10"), commands=("encode",)),

    # Drivers that fail at their work.
    Environment("a driver that makes no context", "driver-call-failed", ("VA_STATUS_ERROR",), ("dmesg",),
                node="generic", settings=reference(faults="vaCreateContext:*=status:0x1"), commands=("encode",)),
    Environment("a driver that takes no picture", "driver-call-failed", ("VA_STATUS_ERROR",), ("dmesg",),
                node="generic", settings=reference(faults="vaEndPicture:*=status:0x1"), commands=("encode",)),
    Environment("a driver that crashes at its work", "driver-crashed", ("SIGSEGV",), ("dmesg",), node="generic",
                settings=reference(faults="vaCreateContext:*=segv"), commands=("encode",)),

    # Helpers.
    Environment("no helper", "helper-missing", ("cannot be run",), ("export VATOOLBOX_HELPER=", "swift build"),
                node="generic", settings=reference(VATOOLBOX_HELPER="/nowhere/vatoolbox-helper")),
    Environment("another program in the helper's place", "helper-mismatch", (), ("unset VATOOLBOX_HELPER",),
                node="generic", settings=reference(VATOOLBOX_HELPER="/bin/false")),
    Environment("a helper of another version", "helper-mismatch", (), ("from the same version",), node="generic",
                settings=reference(), prepare=helper_of_another_version),
    Environment("no decoding helper", "helper-missing", ("cannot be run",),
                ("export VATOOLBOX_DECODING_HELPER=", "--product vatoolbox-decoding-helper"), node="generic",
                settings=reference("decode=h264", VATOOLBOX_DECODING_HELPER="/nowhere/helper"), commands=("decode",)),
    Environment("another program in the decoding helper's place", "helper-mismatch", ("/bin/false",),
                ("unset VATOOLBOX_DECODING_HELPER",), node="generic",
                settings=reference("decode=h264", VATOOLBOX_DECODING_HELPER="/bin/false"), commands=("decode",)),
    Environment("the helper that encodes in the place of the one that decodes", "helper-mismatch",
                ("has no decoders", "{programs}/vatoolbox-helper"), ("unset VATOOLBOX_DECODING_HELPER",), node="generic",
                settings=reference("decode=h264", VATOOLBOX_DECODING_HELPER="{programs}/vatoolbox-helper"),
                commands=("decode",)),
    Environment("a decoding helper of another version", "helper-mismatch", (), ("from the same version",),
                node="generic", settings=reference("decode=h264"), prepare=decoding_helper_of_another_version,
                commands=("decode",)),
]


# MARK: - Judging

def needed(environment):
    """What is not installed or allowed for a set-up (raises)."""
    if environment.stage and (os.geteuid() != 0 or not allows("unshare", "--mount", "true")):
        raise Impossible("mount namespaces need root and a kernel that allows them")
    if "--user" in environment.launcher and not allows(*environment.launcher, "true"):
        raise Impossible("the kernel allows no user namespaces")
    for program in environment.launcher[:1]:
        if not shutil.which(program):
            raise Impossible(f"{program} is not installed")


def allows(*command):
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


class Runs:
    """The command in one environment."""

    def __init__(self, program, environment, folder, rules):
        self.program, self.environment, self.folder = str(program), environment, folder
        self.texts = {"drivers": str(build()), "folder": str(folder), "rules": rules.join if rules else "",
                      "hidden_drivers": hidden_drivers(), "programs": str(Path(program).parent)}
        prepared = environment.prepare(folder) if environment.prepare else {}
        dropped = ("REFERENCE_DRIVER_", "RENDER_NODES", "LIBVA_", "FAULTY_DRIVER", "VATOOLBOX_")
        self.variables = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
        self.variables |= {"HOME": str(folder), "TMPDIR": str(folder), "MESA_SHADER_CACHE_DISABLE": "1",
                           **{name: self.fill(value) for name, value in environment.settings.items()}, **prepared}
        if environment.node:
            self.variables |= {"LD_PRELOAD": str(build() / "librender_node.so"),
                               "RENDER_NODES": f"128={environment.node}"}

    def fill(self, text):
        for name, value in self.texts.items():
            text = text.replace("{" + name + "}", value)
        return text

    def __call__(self, *arguments):
        command = [*self.environment.launcher, self.program, *arguments]
        if self.environment.stage:
            script = "set -e\n" + self.fill(self.environment.stage) + '\nexec "$@"'
            command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", *command]
        return run(command, self.variables, 120)


def document_in(ended):
    """The JSON document among what was said."""
    start = ended.output.find("{\n")
    if start < 0:
        return {}
    try:
        return json.JSONDecoder().raw_decode(ended.output[start:])[0]
    except ValueError:
        return {}


def lacking(environment, runs, cause, explanation, remedies, what):
    """What is missing in what was said."""
    complaints = []
    if cause != environment.cause:
        complaints.append(f"{what}: the cause is {cause}")
    for word in environment.says:
        if runs.fill(word) not in explanation:
            complaints.append(f"{what}: the explanation has no '{runs.fill(word)}': {explanation}")
    for word in environment.remedy:
        if runs.fill(word) not in "\n".join(remedies):
            complaints.append(f"{what}: no remedy has '{runs.fill(word)}': {remedies}")
    if not remedies:
        complaints.append(f"{what}: there is no remedy")
    return complaints


def judge_probe(environment, runs):
    patience = ("--timeout", "3") if environment.cause == "driver-hung" else ()
    ended = runs("probe", "--json", *patience)
    document = document_in(ended)
    told = [document.get("absence")]
    for each in document.get("renderNodes", []):
        told += [each["refusal"], *each["limitations"]]
    told = [each for each in told if each]
    if ended.status != 0 or not told:
        return [f"probe --json: {ended.description}, nothing is refused: {ended.output[-400:]}"]
    first = told[0]
    complaints = lacking(environment, runs, first["cause"], first["explanation"], first["remedies"], "probe --json")
    shown = runs("probe", *patience)
    # Lines are broken where they are full.
    text = "".join(shown.output.split())
    for word in [environment.cause, *environment.remedy]:
        if "".join(runs.fill(word).split()) not in text:
            complaints.append(f"probe: does not show '{runs.fill(word)}': {shown.output[-1500:]}")
    return complaints


def judge_encode(environment, runs, source):
    options = ["encode", str(source), "-o", "null", "--format", "null", "--codec", "h264",
               *environment.options]
    ended = runs(*options, "--require-hardware", "--json")
    error = document_in(ended).get("error")
    if ended.status != 1 or not error:
        return [f"encode --require-hardware: {ended.description}: {ended.output[-400:]}"]
    complaints = lacking(environment, runs, error.get("cause"), error["message"], error["remedies"],
                         "encode --require-hardware")
    lines = ended.output.splitlines()
    if not any(line.startswith("vatoolbox: try: ") for line in lines):
        complaints.append(f"encode --require-hardware: shows no remedy: {ended.output[-400:]}")

    ended = runs(*options, "--json")
    rejected = document_in(ended).get("encoder", {}).get("rejected", [])
    if ended.status != 0 or not rejected:
        return complaints + [f"encode: {ended.description}, nothing was rejected: {ended.output[-400:]}"]
    first = rejected[0]
    return complaints + lacking(environment, runs, first["cause"], first["reason"], first["remedies"], "encode")


def judge_decode(environment, runs, source):
    stream = runs.folder / "coded.mp4"
    made = subprocess.run(["ffmpeg", "-v", "error", "-i", source, "-c:v", "libx264", stream], capture_output=True, text=True)
    if made.returncode != 0:
        raise Impossible(f"ffmpeg encodes no H.264: {made.stderr[-200:]}")
    options = ["decode", str(stream), "-o", "null"]
    ended = runs(*options, "--decoder", "hardware", "--json")
    error = document_in(ended).get("error")
    if ended.status != 1 or not error:
        return [f"decode --decoder hardware: {ended.description}: {ended.output[-400:]}"]
    explanation = " ".join(str(error[name]) for name in ("message", "given", "call"))
    complaints = lacking(environment, runs, error.get("cause"), explanation, error["remedies"],
                         "decode --decoder hardware")
    if not any(line.startswith("vatoolbox: try: ") for line in ended.output.splitlines()):
        complaints.append(f"decode --decoder hardware: shows no remedy: {ended.output[-400:]}")

    # On the CPU otherwise, with the reason and what to do.
    ended = runs(*options)
    text = "".join(ended.output.split())
    wanted = ["why", "try", "5pictures", *environment.says, *environment.remedy]
    missing = [word for word in wanted if "".join(runs.fill(word).split()) not in text]
    if ended.status != 0 or missing:
        complaints.append(f"decode: {ended.description}, does not show {missing}: {ended.output[-1500:]}")
    return complaints


def judge(program, environment, work):
    """What is wrong with what is said in an environment.

    Raises `Impossible` if it cannot be set up."""
    needed(environment)
    rules = DeviceRules() if "{rules}" in environment.stage else None
    source = make_source(work, (64, 64), 5)
    with tempfile.TemporaryDirectory(dir=work) as name:
        folder = Path(name)
        folder.chmod(0o777)
        if rules:
            with rules:
                return judge_all(program, environment, folder, rules, source)
        return judge_all(program, environment, folder, None, source)


def judge_all(program, environment, folder, rules, source):
    runs = Runs(program, environment, folder, rules)
    complaints = judge_probe(environment, runs) if "probe" in environment.commands else []
    if "encode" in environment.commands:
        complaints += judge_encode(environment, runs, source)
    if "decode" in environment.commands:
        complaints += judge_decode(environment, runs, source)
    return complaints
