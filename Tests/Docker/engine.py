# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds and runs images without a Docker engine: buildah builds, podman and runc run, in storage of their own.

Base images are made here, from Debian's archive and the compiler of this machine, since there is no registry to take
them from. They carry what apt and git have to know on this machine, so that nothing of it is in the Dockerfile."""

import json
import os
import re
import resource
import shutil
import subprocess
from pathlib import Path

from runner.launch import termination
from runner.places import Problem

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
# As in the official images.
SLIM = """path-exclude /usr/share/doc/*
path-include /usr/share/doc/*/copyright
path-exclude /usr/share/groff/*
path-exclude /usr/share/info/*
path-exclude /usr/share/locale/*
path-exclude /usr/share/man/*
"""
# Of the official Swift image, what takes part in compiling; and of the toolchain, what does not.
SWIFT_PACKAGES = "binutils gcc git libc6-dev tzdata".split()
CPLUSPLUS = {"bookworm": "libstdc++-12-dev", "trixie": "libstdc++-14-dev"}
LEFT_OUT = ["liblldb*", "lldb*", "*sourcekit*", "libclang.so*", "libLTO*", "embedded", "usr/share/doc"]
TOOLS = {"buildah": "buildah", "debootstrap": "debootstrap", "podman": "podman", "runc": "runc",
         "ffmpeg": "ffmpeg", "objdump": "binutils"}
# What buildah and runc leave in places that no option changes: a cache of names, and folders that are empty.
TRACES = [Path("/var/lib/containers/cache"), Path("/var/lib/containers"), Path("/run/runc"), Path("/run/containers")]


def install_tools():
    """Installs the Debian packages that are missing, as root; else says which they are."""
    missing = sorted({package for tool, package in TOOLS.items() if not shutil.which(tool)})
    if not missing:
        return
    install = ["apt-get", "install", "--yes", "--no-install-recommends", *missing]
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise Problem(f"missing: {' '.join(missing)}. Install them: sudo {' '.join(install)}")
    print(f"installing {' '.join(missing)}", flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    if subprocess.run(install, env=environment, capture_output=True).returncode != 0:
        subprocess.run(["apt-get", "update"], capture_output=True)
        made = subprocess.run(install, env=environment, capture_output=True, text=True)
        if made.returncode != 0:
            raise Problem(f"{' '.join(install)}: {made.stderr[-2000:]}")


def host_apt():
    """The archive that apt asks for Debian's packages here, the one for updates of security if any, and apt's settings
    for reaching them."""
    listed = subprocess.run(["apt-get", "indextargets", "--format", "$(ORIGIN) $(REPO_URI)", "Created-By: Packages"],
                            capture_output=True, text=True).stdout
    addresses = re.findall(r"^Debian (\S+?)/?$", listed, re.M)
    security = next((address for address in addresses if "security" in address), None)
    archive = next((address for address in addresses if address != security), "http://deb.debian.org/debian")
    settings = subprocess.run(["apt-config", "dump"], capture_output=True, text=True).stdout
    settings = re.findall(r"^Acquire::(?!IndexTargets|cdrom).*\"[^\"]+\";$", settings, re.M)
    return archive, security, "\n".join(settings) + "\n"


def host_git():
    """Options of buildah for what git is told on this machine: its settings, and the folders that they name."""
    settings = Path("/etc/gitconfig")
    if not settings.exists():
        return []
    folders = [Path(folder) for folder in re.findall(r'^\[url "(/[^"]+)"\]', settings.read_text(), re.M)]
    mounted = [settings] + [folder for folder in folders if folder.is_dir()]
    return [word for path in mounted for word in ("--volume", f"{path}:{path}:ro")]


class Engine:
    """Storage for images and containers in a folder, gone with it."""

    def __init__(self, folder):
        self.folder = Path(folder).resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "tmp").mkdir(exist_ok=True)
        # Else podman keeps its locks where all containers of the machine do.
        settings = self.folder / "containers.conf"
        settings.write_text('[engine]\nlock_type = "file"\nevents_logger = "none"\ncgroup_manager = "cgroupfs"\n'
                            'runtime = "runc"\n')
        self.storage = ["--root", str(self.folder / "storage"), "--runroot", str(self.folder / "run"),
                        "--storage-driver", "overlay"]
        self.environment = {**os.environ, "CONTAINERS_CONF": str(settings), "TMPDIR": str(self.folder / "tmp")}
        self.cgroups = set(self.our_cgroups())
        self.absent = [path for path in TRACES if not path.exists()]

    def buildah(self, *words, log=None):
        """Runs buildah; with a log, everything that it prints goes there. Returns its output."""
        command = ["buildah", *self.storage, *map(str, words)]
        with open(log or os.devnull, "w") as file:
            process = termination.start(command, env=self.environment, stdin=subprocess.DEVNULL, text=True,
                                        stdout=file if log else subprocess.PIPE,
                                        stderr=subprocess.STDOUT if log else subprocess.PIPE)
            try:
                output, errors = process.communicate()
            except BaseException:
                process.kill()
                process.wait()
                raise
        if process.returncode != 0:
            said = Path(log).read_text() if log else errors
            raise Problem(f"buildah {' '.join(map(str, words[:2]))}: {said[-3000:]}")
        return (output or "").strip()

    def podman(self, *words):
        """A command line of podman on this storage."""
        return ["podman", *self.storage, "--tmpdir", str(self.folder / "tmp" / "podman"), *map(str, words)]

    def podman_run(self, *words):
        """A command line that runs a container, within limits that need no right to raise them."""
        kinds = {"nofile": (resource.RLIMIT_NOFILE, 16384), "nproc": (resource.RLIMIT_NPROC, 4096)}
        limits = []
        for name, (kind, number) in kinds.items():
            most = resource.getrlimit(kind)[1]
            number = number if most == resource.RLIM_INFINITY else min(number, most)
            limits.append(f"--ulimit={name}={number}:{number}")
        return self.podman("run", "--rm", "--pull=never", *limits, *words)

    def has(self, image):
        return subprocess.run(["buildah", *self.storage, "inspect", "--type", "image", image], env=self.environment,
                              capture_output=True).returncode == 0

    def inspect(self, image):
        return json.loads(subprocess.run(self.podman("image", "inspect", image), env=self.environment,
                                         capture_output=True, text=True, check=True).stdout)[0]

    # Base images

    def debian(self, release):
        """An image like debian:RELEASE-slim, by its name."""
        image = f"localhost/debian:{release}-slim"
        if self.has(image):
            return image
        archive, security, settings = host_apt()
        tree = self.folder / "debian"
        made = subprocess.run(["debootstrap", "--variant=minbase", release, str(tree), archive], capture_output=True,
                              text=True)
        if made.returncode != 0:
            raise Problem(f"debootstrap {release}: {made.stdout[-2000:]}")
        (tree / "etc/apt/sources.list").unlink(missing_ok=True)
        sources = [(archive, f"{release} {release}-updates")]
        sources += [(security, f"{release}-security")] if security else []
        (tree / "etc/apt/sources.list.d/debian.sources").write_text("\n".join(
            f"Types: deb\nURIs: {address}\nSuites: {suites}\nComponents: main\nSigned-By: {KEYRING}\n"
            for address, suites in sources))
        (tree / "etc/apt/apt.conf.d/99machine").write_text(settings)
        (tree / "etc/dpkg/dpkg.cfg.d/docker").write_text(SLIM)
        for folder in ("var/cache/apt", "var/lib/apt/lists", "usr/share/man", "usr/share/locale", "usr/share/info"):
            shutil.rmtree(tree / folder, ignore_errors=True)
        for documents in (tree / "usr/share/doc").glob("*/*"):
            if documents.name != "copyright":
                shutil.rmtree(documents) if documents.is_dir() else documents.unlink()
        (tree / "var/lib/apt/lists").mkdir()
        container = self.buildah("from", "--pull-never", "scratch")
        self.buildah("add", container, tree, "/")
        self.buildah("config", "--cmd", "bash", container)
        self.buildah("commit", "--rm", container, image)
        shutil.rmtree(tree)
        return image

    def swift(self, release="bookworm"):
        """An image like swift:VERSION-RELEASE, with this machine's compiler in /usr, by its name."""
        image = f"localhost/swift:{release}"
        if self.has(image):
            return image
        compiler = shutil.which("swift")
        if not compiler:
            raise Problem("swift is not on PATH")
        toolchain = Path(compiler).resolve().parent.parent.parent
        container = self.buildah("from", "--pull-never", self.debian(release))
        self.buildah("run", "--isolation", "chroot", container, "--", "sh", "-c",
                     "apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "
                     + " ".join([*SWIFT_PACKAGES, CPLUSPLUS[release]]))
        root = self.buildah("mount", container)
        left_out = [f"--exclude={pattern}" for pattern in LEFT_OUT]
        with subprocess.Popen(["tar", "-C", toolchain, *left_out, "-cf", "-", "usr"], stdout=subprocess.PIPE) as tar:
            done = subprocess.run(["tar", "-C", root, "--keep-directory-symlink", "-xf", "-"], stdin=tar.stdout)
        self.buildah("umount", container)
        if tar.returncode != 0 or done.returncode != 0:
            raise Problem(f"the compiler in {toolchain} was not copied")
        self.buildah("commit", "--rm", container, image)
        return image

    # The end

    @staticmethod
    def our_cgroups():
        return Path("/sys/fs/cgroup").glob("*/libpod_parent")

    def close(self):
        """Ends and removes every container, and lets go of what is mounted."""
        for command in (self.podman("rm", "--all", "--force", "--time", "0"),
                        ["buildah", *self.storage, "rm", "--all"]):
            subprocess.run(command, env=self.environment, capture_output=True)
        mounts = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
        for place in reversed([place for place in mounts if Path(place).is_relative_to(self.folder)]):
            subprocess.run(["umount", place], capture_output=True)
        for cgroup in set(self.our_cgroups()) - self.cgroups:
            remove_empty(*sorted((path for path in cgroup.rglob("*") if path.is_dir()), reverse=True), cgroup)
        if TRACES[0] in self.absent:
            shutil.rmtree(TRACES[0], ignore_errors=True)
        remove_empty(*self.absent)


def remove_empty(*folders):
    """Removes folders in which nothing is."""
    for folder in folders:
        try:
            folder.rmdir()
        except OSError:
            pass
