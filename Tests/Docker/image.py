# SPDX-License-Identifier: GPL-2.0-or-later
"""What is in the image, and what is not."""

import re
import subprocess

from cases import hold
from files import PROGRAMS

BUILD_TOOLS = "ar as c++ cc clang cmake cpp g++ gcc git ld make pkg-config python3 swift swiftc".split()
DRIVERS = {"no": {"intel-media-va-driver", "mesa-va-drivers"},
           "yes": {"intel-media-va-driver-non-free", "i965-va-driver-shaders", "mesa-va-drivers"}}


def inside(containers, script, image=None):
    """The lines that a script prints in the image, or in another one, started as root without the entrypoint."""
    command = containers.engine.podman_run("--network=none", "--user=0:0", "--entrypoint=sh",
                                           image or containers.image, "-c", script)
    made = subprocess.run(command, env=containers.engine.environment, capture_output=True, text=True)
    hold(made.returncode == 0, made.stderr)
    return made.stdout.splitlines()


def needs(containers, program):
    """The libraries that a program of the image is linked to, as objdump of this machine reads them, and libavfilter,
    which the command loads when it needs it."""
    copy = containers.engine.folder / program
    with open(copy, "wb") as file:
        subprocess.run(containers.engine.podman_run("--network=none", "--entrypoint=cat", containers.image,
                                                    f"/usr/local/bin/{program}"),
                       env=containers.engine.environment, stdout=file, check=True)
    headers = subprocess.run(["objdump", "-p", copy], capture_output=True, text=True, check=True).stdout
    loaded = re.findall(rb"libavfilter\.so\.\d+", copy.read_bytes())
    copy.unlink()
    return set(re.findall(r"NEEDED\s+(\S+)", headers)) | {name.decode() for name in loaded}


def size(containers):
    """the image's size, and the largest packages"""
    total = containers.engine.inspect(containers.image)["Size"]
    base = containers.engine.inspect(containers.base)["Size"]
    sizes = inside(containers, "dpkg-query --show --showformat '${Installed-Size} ${Package}\\n' | sort -rn | head -5")
    largest = ", ".join(f"{line.split()[1]} {int(line.split()[0]) / 1000:.0f} MB" for line in sizes)
    print(f"        {total / 1e6:.0f} MB, of which the base {base / 1e6:.0f} MB; largest: {largest}")
    hold(total < 1.2e9, f"{total} bytes")


def no_build_tools(containers):
    """no compilers, no headers, no set-user-id programs, no package lists"""
    found = inside(containers, f"command -v {' '.join(BUILD_TOOLS)} || true; "
                   "dpkg-query --show --showformat '${Package}\\n' | grep -e '-dev$' || true; "
                   "find / -xdev -type f -perm /6000; ls /var/lib/apt/lists")
    hold(not found, found)


def packages(containers):
    """what was installed by name is what the programs need, and the drivers; no library is missing"""
    programs = " ".join(f"/usr/local/bin/{name}" for name in PROGRAMS)
    missing = inside(containers, f"ldd {programs} | grep 'not found' || true")
    hold(not missing, missing)
    libraries = set.union(*(needs(containers, program) for program in PROGRAMS))
    owners = inside(containers, f"dpkg-query --search {' '.join('*/' + name for name in sorted(libraries))}")
    needed = {line.split(":")[0] for line in owners if not line.startswith("diversion by ")}
    base = set(inside(containers, "dpkg-query --show --showformat '${Package}\\n'", containers.base))
    named = set(inside(containers, "apt-mark showmanual")) - base
    hold(named == (needed - base) | DRIVERS[containers.nonfree], "named", sorted(named), "needed", sorted(needed))


def places(containers):
    """the helpers are beside the command, drivers are where libva looks, license and sources are there"""
    paths = [f"/usr/local/bin/{name}" for name in PROGRAMS]
    paths += [f"/usr/lib/x86_64-linux-gnu/dri/{name}_drv_video.so" for name in ("iHD", "radeonsi")]
    inside(containers, f"ls {' '.join(paths)}")
    text = "\n".join(inside(containers, "cd /usr/share/doc/vatoolbox && cat LICENSE SOURCES debian-sources"))
    hold("GNU GENERAL PUBLIC LICENSE" in text and "snapshot.debian.org" in text, text[:200])
    folder = "/usr/share/doc/vatoolbox/swift-packages"
    licenses = inside(containers, f"cd {folder} && ls Package.resolved */LICENSE*")
    named = inside(containers, f"grep -c '\"identity\"' {folder}/Package.resolved")
    hold(len(licenses) == int(named[0]) + 1, "licenses", licenses, "packages", named)
    hold(re.search(r"^x264 2:\S+$", text, re.M) and re.search(r"^ffmpeg \S+$", text, re.M), text[-500:])


def lean_helper(containers):
    """the helper that encodes starts without FFmpeg's libraries, and that which decodes without libavformat's"""
    encoding, decoding = (needs(containers, name) for name in PROGRAMS[1:3])
    hold(not [name for name in encoding if name.startswith(("libav", "libsw"))], encoding)
    hold({name.split(".")[0] for name in decoding if name.startswith(("libav", "libsw"))} == {"libavcodec", "libavutil"},
         decoding)


def configuration(containers):
    """user, environment and labels"""
    config = containers.engine.inspect(containers.image)["Config"]
    hold(config["User"] == "1000:1000" and config["WorkingDir"] == "/work", config)
    names = {word.split("=")[0] for word in config["Env"]}
    hold({"HOME", "MESA_SHADER_CACHE_DISABLE"} <= names and not any(name.startswith("LIBVA") for name in names), names)
    hold(config["ExposedPorts"] == {"8080/tcp": {}} and "Healthcheck" not in config, config)
    labels = config["Labels"]
    hold(labels["org.opencontainers.image.licenses"] == "GPL-2.0-or-later", labels)
    hold("SOURCES" in labels["org.vatoolbox.source-offer"], labels)
    hold(labels["org.opencontainers.image.revision"] == containers.revision, labels)


CASES = [size, no_build_tools, packages, places, lean_helper, configuration]
