# SPDX-License-Identifier: GPL-2.0-or-later
"""What holds when the image runs: what it says first, what it encodes with, its exit statuses, signals and pipes."""

import json
import re
import subprocess
import threading

from containers import FRAMES, GROUP, NODE, PROFILE, decoded_frames, frame_hashes
from runner.waiting import wait_until

ENCODE = ["encode", "in.mp4", "-o", "out.mp4", "--overwrite"]
DRM_FREE = "its kernel driver does not respond"  # what a node without a driver says once it may be opened


class Unmet(Exception):
    """What did not hold."""


def hold(condition, *shown):
    if not condition:
        raise Unmet("\n".join(str(thing)[-1500:] for thing in shown))


def encoded(containers, ended, first, name="out.mp4", status=0):
    """The verdict came first, the file is whole, and nothing else was written."""
    hold(ended.status == status, f"status {ended.status}", ended.errors)
    hold(ended.lines and ended.lines[0].startswith(first), f"first line is not {first}", ended.errors)
    hold(ended.output == b"", "something on standard output", ended.output)
    frames = containers.decoded(name)
    hold(frames == FRAMES, f"decoded: {frames}")
    hold(not containers.leftovers(name), containers.leftovers(name))
    containers.remove(name)


# Without a GPU

def no_gpu(containers):
    """without /dev/dri the verdict says so, and x264 encodes"""
    ended = containers.run(*ENCODE)
    encoded(containers, ended, "no GPU: There is no /dev/dri")
    hold("x264" in ended.errors.split("on the CPU:")[1].split("\n", 1)[1], "x264 is not named", ended.errors)


def converted(containers):
    """pictures that libavfilter has to convert are encoded"""
    source = containers.work / "rgb.mkv"
    subprocess.run(["ffmpeg", "-v", "error", "-i", containers.work / containers.clip, "-vf", "setfield=tff",
                    "-pix_fmt", "gbrp", "-c:v", "ffv1", source], check=True)
    try:
        ended = containers.run("encode", source.name, "-o", "out.mp4")
        hold(ended.status == 0, ended.errors)
        frames = containers.decoded("out.mp4")
        hold(frames == FRAMES, f"decoded: {frames}")
    finally:
        containers.remove(source.name, "out.mp4")


def another_user(containers):
    """a user that the image does not know writes its own files"""
    containers.give(12345)
    try:
        ended = containers.run(*ENCODE, variables={"VATOOLBOX_USER": "12345:12345"})
        owner = (containers.work / "out.mp4").stat().st_uid
        encoded(containers, ended, "no GPU: ")
        hold(owner == 12345, f"owner {owner}")
    finally:
        containers.give(1000)


def quiet(containers):
    """--json and --quiet print what they promise and nothing before it"""
    ended = containers.run(*ENCODE, "--json")
    document = json.loads(ended.output)
    hold(document["frames"]["out"] == FRAMES and ended.errors == "", ended.output, ended.errors)
    ended = containers.run(*ENCODE, "--quiet")
    hold(ended.status == 0 and ended.errors == "", ended.errors)
    ended = containers.run(*ENCODE, options=["--env=VATOOLBOX_VERDICT=off"])
    hold("no GPU" not in ended.errors.splitlines()[0], ended.errors)
    containers.remove("out.mp4")


def help_and_programs(containers):
    """no arguments are a question for help; other programs run as they are"""
    ended = containers.run()
    hold(ended.status == 0 and b"SUBCOMMANDS" in ended.output and ended.errors == "", ended)
    ended = containers.run("--version")
    hold(ended.status == 0 and ended.output.strip() and ended.errors == "", ended)
    ended = containers.run("sh", "-c", "id -u; exit 7")
    hold(ended == type(ended)(7, b"1000\n", ""), ended)
    ended = containers.run("probe")
    hold(ended.status == 0 and ended.output.count(b"There is no /dev/dri") == 1 and ended.errors == "", ended)


def statuses(containers):
    """exit statuses are those of the command"""
    for words, status in ((["encode"], 2), (["encode", "missing.mp4", "-o", "out.mp4"], 1), (["wrong"], 2),
                          ([*ENCODE[:-1], "--require-hardware"], 1)):
        ended = containers.run(*words)
        hold(ended.status == status, f"{words}: {ended.status} instead of {status}", ended.errors)
    hold(not containers.leftovers(), containers.leftovers())


def read_only(containers):
    """nothing can be written but /tmp, /work and what is known of devices; there are no capabilities"""
    ended = containers.run("sh", "-c", "touch /x /home/vatoolbox/x /usr/x /tmp/x /var/cache/vatoolbox/x x; rm x; "
                           "grep Cap /proc/self/status")
    refused = [line for line in ended.lines if "Read-only file system" in line]
    hold(len(refused) == 3 and len(ended.lines) == 3, ended)
    hold(all(int(line.split()[1], 16) == 0 for line in ended.output.decode().splitlines()), ended)


# Pipes and signals

def pipes(containers):
    """a stream goes in by standard input and out by standard output, with nothing between"""
    stream = (containers.work / containers.clip).with_suffix(".ts")
    subprocess.run(["ffmpeg", "-v", "error", "-i", containers.work / containers.clip, "-c", "copy", stream],
                   check=True)
    data = stream.read_bytes()
    stream.unlink()
    ended = containers.run("encode", "-", "-o", "-", "--format", "ts", stdin=data)
    hold(ended.status == 0 and ended.lines[0].startswith("no GPU: "), ended.errors)
    frames = decoded_frames(["-i", "-"], ended.output)
    hold(frames == FRAMES, f"decoded: {frames}")


def endless(process):
    """Feeds a process pictures until it takes no more."""
    source = subprocess.Popen(["ffmpeg", "-v", "quiet", "-f", "lavfi", "-i", "testsrc=size=320x240:rate=25",
                               "-pix_fmt", "yuv420p", "-c:v", "mpeg2video", "-f", "mpegts", "-"],
                              stdout=process.stdin, stdin=subprocess.DEVNULL)
    process.stdin.close()
    process.stdin = None
    return source


def terminated(containers):
    """SIGTERM while it encodes closes the file in good order"""
    for signal in ("TERM", "INT"):
        process, name = containers.start("encode", "-", "-o", "out.mp4", stdin=subprocess.PIPE)
        source = endless(process)
        errors = []
        reader = threading.Thread(target=lambda: errors.extend(process.stderr))
        reader.start()
        try:
            writes = wait_until(lambda: any(path.stat().st_size > 50_000 for path in containers.work.glob(".*")))
            hold(writes, "it does not write", errors)
            containers.kill(name, signal)
            process.wait(timeout=60)
        finally:
            source.kill()
            source.wait()
            containers.kill(name, "KILL")
            process.wait()
            reader.join()
        hold(process.returncode == 130, f"SIG{signal}: status {process.returncode}", b"".join(errors))
        frames = containers.decoded("out.mp4")
        hold(isinstance(frames, int) and frames > 25, f"decoded: {frames}")
        hold(not containers.leftovers("out.mp4"), containers.leftovers("out.mp4"))
        containers.remove("out.mp4")


def terminated_early(containers):
    """SIGTERM while a driver that hangs is asked for the verdict ends it at once"""
    process, name = containers.start(*ENCODE, options=containers.fake_gpu("libfaulty", FAULTY_DRIVER="load=hang"))
    try:
        def is_asked():
            top = subprocess.run(containers.engine.podman("top", name, "hpid", "args"),
                                 env=containers.engine.environment, capture_output=True, text=True)
            return "vatoolbox-helper" in top.stdout
        hold(wait_until(is_asked), "the driver was not asked")
        containers.kill(name, "TERM")
        _, errors = process.communicate(timeout=60)
    finally:
        containers.kill(name, "KILL")
        process.wait()
    hold(process.returncode == 130, f"status {process.returncode}", errors)
    hold(not containers.leftovers(), containers.leftovers())


# With a GPU

def fake_gpu(containers):
    """a GPU encodes, in a helper process, and the file decodes"""
    both = "EncSlice and EncSliceLP"
    first = f"{NODE}: H.264 by {both}, HEVC by {both}, VAToolbox reference driver"
    ended = containers.run(*ENCODE, "--require-hardware", options=containers.fake_gpu())
    encoded(containers, ended, first)
    ended = containers.run(*ENCODE, "--require-hardware", "--json", options=containers.fake_gpu())
    encoder = json.loads(ended.output)["encoder"]
    hold(encoder["device"] == NODE and encoder["isolation"] == "process", encoder)
    containers.remove("out.mp4")


def decoding_gpu(containers):
    """a GPU decodes, in a confined process of the program for that, and its pictures are the CPU's"""
    def decode(decoder, *words, options=()):
        return containers.run("decode", containers.clip, "--decoder", decoder, *words, options=options)

    gpu = containers.fake_gpu(REFERENCE_DRIVER_LIMITS="decode=h264")
    ended = decode("hardware", "-o", "-", "--verbose", options=gpu)
    hold(ended.status == 0 and "the sandbox lacks" not in ended.errors, ended.errors)
    expected = decode("software", "-o", "-", "--quiet")
    hold(expected.status == 0 and expected.errors == "", expected.errors)
    pictures = [frame_hashes(["-i", "-"], each.output) for each in (ended, expected)]
    hold(len(pictures[0]) == FRAMES and pictures[0] == pictures[1], *pictures)
    ended = decode("hardware", "-o", "null", "--json", options=gpu)
    hold(json.loads(ended.output)["decoder"]["device"] == NODE, ended.output)
    missing = "/nowhere/vatoolbox-decoding-helper"
    ended = decode("hardware", "-o", "null", options=[*gpu, f"--env=VATOOLBOX_DECODING_HELPER={missing}"])
    hold(ended.status == 1 and f"given {missing}" in ended.errors, ended.errors)


def failing_gpu(containers):
    """a GPU whose driver crashes is named, and x264 takes over: from the start, or where a test encode came out well"""
    ended = containers.run(*ENCODE, options=containers.fake_gpu(REFERENCE_DRIVER_FAULTS="vaEndPicture:5+=segv"))
    encoded(containers, ended, f"{NODE}: not usable: test encode fails at submit")
    ended = containers.run(*ENCODE, options=containers.fake_gpu(REFERENCE_DRIVER_FAULTS="vaEndPicture:20+=segv"))
    encoded(containers, ended, f"{NODE}: H.264 by ")
    ended = containers.run(*ENCODE, options=containers.fake_gpu("libfaulty", FAULTY_DRIVER="load=segv"))
    encoded(containers, ended, f"{NODE}: not usable: the driver libfaulty crashed")


def vendor_drivers(containers):
    """libva finds the drivers of both vendors in the image by itself; Intel's is the free one, or the other"""
    ended = containers.run("probe", "--brief", "--no-encode", options=containers.shim("128=kbl,129=navi21"))
    said = ended.output.decode().splitlines()
    hold(ended.status == 0 and ended.errors == "" and len(said) == 3, ended)
    entrypoints = "EncSlice and EncSliceLP" if containers.nonfree == "yes" else "EncSliceLP"
    hold(re.match(f"{NODE}: H.264 by {entrypoints}(, HEVC by [^,]*)?, Intel iHD driver", said[0]), said)
    hold(said[1].startswith("/dev/dri/renderD129: H.264 by EncSlice, HEVC by EncSlice, Mesa Gallium driver"), said)


def wrong_group(containers):
    """a node whose group the user is not in: the verdict has the line to add, the CPU encodes; with it, it opens"""
    ended = containers.run(*ENCODE, service="intel")
    encoded(containers, ended, f"not usable: {NODE} (uid 0, gid {GROUP}, mode 0660) cannot be opened")
    hold(f" run --device /dev/dri --group-add {GROUP} ..." in ended.errors, ended.errors)
    hold(f'group_add: ["{GROUP}"]' in ended.errors, ended.errors)
    ended = containers.run(*ENCODE, service="intel", variables={"RENDER_GROUP": str(GROUP)})
    encoded(containers, ended, f"not usable: {NODE} exists, but {DRM_FREE}")


def mounted_node(containers):
    """a node that was mounted instead of passed: the verdict says how it is passed"""
    options = [f"--volume={containers.nodes}:/dev/dri", f"--group-add={GROUP}"]
    ended = containers.run(*ENCODE, options=options)
    encoded(containers, ended, f"not usable: {NODE} exists, but the device rules of this process")
    hold(" run --device /dev/dri ..." in ended.errors, ended.errors)


def group_and_gpu(containers):
    """with node and group, a GPU encodes as the compose service `intel` runs it"""
    options = containers.fake_gpu(RENDER_NODES_MODE="660", RENDER_NODES_GROUP=str(GROUP))
    ended = containers.run(*ENCODE, "--require-hardware", service="intel", options=options,
                           variables={"RENDER_GROUP": str(GROUP)})
    encoded(containers, ended, f"{NODE}: H.264 by ")


# The sandbox

def sandbox(containers):
    """the helper is confined under the default seccomp profile, and works where the profile refuses it that"""
    gpu = containers.fake_gpu()
    ended = containers.run(*ENCODE, "--require-hardware", "--verbose", options=gpu)
    hold("the sandbox lacks" not in ended.errors, "under the default profile", ended.errors)
    encoded(containers, ended, f"{NODE}: H.264 by ")
    profile = json.loads(PROFILE.read_text())
    refused = {"landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self", "seccomp"}
    for rule in profile["syscalls"]:
        rule["names"] = [name for name in rule["names"] if name not in refused]
    strict = containers.engine.folder / "strict.json"
    strict.write_text(json.dumps(profile))
    ended = containers.run(*ENCODE, "--require-hardware", options=[*gpu, f"--security-opt=seccomp={strict}"])
    hold("the sandbox lacks Landlock" in ended.errors and "the sandbox lacks seccomp" in ended.errors, ended.errors)
    encoded(containers, ended, f"{NODE}: H.264 by ")


CASES = [no_gpu, converted, another_user, quiet, help_and_programs, statuses, read_only, pipes, terminated, terminated_early,
         fake_gpu, decoding_gpu, failing_gpu, vendor_drivers, wrong_group, mounted_node, group_and_gpu, sandbox]
