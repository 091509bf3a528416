# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs containers of an image with the options that docker/compose.yaml gives its services."""

import os
import shutil
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path

import files
from runner.launch import termination

FRAMES = 50
GROUP = 54321  # of render nodes; no group of the machine or of the image has this number
NODE = "/dev/dri/renderD128"
PROFILE = Path("/usr/share/containers/seccomp.json")  # podman's default, which follows that of Docker


@dataclass
class Ended:
    """What a container did."""

    status: int
    output: bytes
    errors: str

    @property
    def lines(self):
        return self.errors.splitlines()


class Containers:
    """Containers of one image, which see a folder with clips as /work.

    Nodes of `nodes` are real device nodes of DRM's number, behind which this machine has no driver: what stands in the
    way before a driver is asked is the kernel's doing. GPUs that work are the shim's and the reference driver's."""

    def __init__(self, engine, image, drivers):
        self.engine, self.image, self.drivers = engine, image, drivers
        self.work = engine.folder / "work"
        self.nodes = engine.folder / "nodes"
        for folder in (self.work, self.nodes):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        self.node = self.nodes / "renderD128"
        os.mknod(self.node, stat.S_IFCHR | 0o660, os.makedev(226, 128))
        os.chmod(self.node, 0o660)  # whatever the umask
        os.chown(self.node, 0, GROUP)
        self.give(1000)
        self.clip = self.make_clip("in.mp4")
        self.count = 0

    def give(self, user):
        os.chown(self.work, user, user)

    def make_clip(self, name, frames=FRAMES):
        subprocess.run(["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", "testsrc=size=320x240:rate=25",
                        "-frames:v", str(frames), "-pix_fmt", "yuv420p", str(self.work / name)], check=True)
        return name

    # What a container is given

    def shim(self, nodes, **settings):
        """Options for fake render nodes on the machine's own drivers, or those of the image."""
        values = {"LD_PRELOAD": "/gpu/librender_node.so", "RENDER_NODES": nodes, **settings}
        return [f"--volume={self.drivers}:/gpu:ro"] + [f"--env={name}={value}" for name, value in values.items()]

    def fake_gpu(self, driver="libref", **settings):
        """Options for a GPU that works, by the reference driver; or one with the faulty driver."""
        return self.shim("128=generic", LIBVA_DRIVERS_PATH="/gpu", LIBVA_DRIVER_NAME=driver, **settings)

    # Running

    def command(self, words, name, service="none", options=(), variables=None):
        values = {"VATOOLBOX_FILES": str(self.work), "INTEL_NODE": NODE, **(variables or {})}
        given = files.run_options(service, values)
        # The node of the machine that runs this is not there: another takes its place. No run knows of earlier ones.
        stand_ins = {f"{NODE}:{NODE}": f"{self.node}:{NODE}", "state:/var/cache/vatoolbox": "/var/cache/vatoolbox"}
        given = [stand_ins.get(word, word) for word in given]
        # podman mounts folders for temporary files that Docker does not.
        return self.engine.podman_run("--interactive", "--read-only-tmpfs=false", f"--name={name}", *given, *options,
                                      self.image, *words)

    def start(self, *words, stdin=subprocess.DEVNULL, **request):
        """Starts a container; returns its process and its name."""
        self.count += 1
        name = f"case-{self.count}"
        process = termination.start(self.command(words, name, **request), env=self.engine.environment,
                                    stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return process, name

    def run(self, *words, stdin=None, seconds=120, **request):
        """Runs a container to its end, or to that of its time."""
        process, name = self.start(*words, stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
                                   **request)
        try:
            output, errors = process.communicate(stdin, timeout=seconds)
        except BaseException:
            self.kill(name, "KILL")
            process.kill()
            process.communicate()
            raise
        return Ended(process.returncode, output, errors.decode(errors="replace"))

    def kill(self, name, signal):
        subprocess.run(self.engine.podman("kill", "--signal", signal, name), env=self.engine.environment,
                       capture_output=True)

    # What came of it

    def decoded(self, name):
        """How many frames of a file decode, strictly; a text if one does not."""
        return decoded_frames(["-i", str(self.work / name)])

    def remove(self, *names):
        for name in names:
            (self.work / name).unlink(missing_ok=True)

    def leftovers(self, *expected):
        """Files in /work beside the clip and those that are expected."""
        return {path.name for path in self.work.iterdir()} - {self.clip, *expected}


def frame_hashes(source, data=None):
    """The hash of each picture that ffmpeg decodes, strictly; a text if one does not."""
    made = subprocess.run(["ffmpeg", "-v", "error", "-xerror", *source, "-map", "0:v", "-f", "framemd5", "-"],
                          input=data, capture_output=True)
    if made.returncode != 0 or made.stderr:
        return made.stderr.decode(errors="replace")
    return [line.split(",")[-1].strip() for line in made.stdout.decode().splitlines() if line and not line.startswith("#")]


def decoded_frames(source, data=None):
    """How many pictures ffmpeg decodes, strictly; a text if one does not."""
    hashes = frame_hashes(source, data)
    return hashes if isinstance(hashes, str) else len(hashes)
