# SPDX-License-Identifier: GPL-2.0-or-later
"""What docker/Dockerfile, the files of docker/ for Compose, and .dockerignore say, as values."""

import json
import re
import shlex
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DOCKERFILE, COMPOSE, IGNORED = ROOT / "docker" / "Dockerfile", ROOT / "docker" / "compose.yaml", ROOT / ".dockerignore"
PROGRAMS = ["vatoolbox", "vatoolbox-helper", "vatoolbox-decoding-helper", "vatoolbox-service", "vatoolbox-live"]
SERVICE = ROOT / "docker" / "compose.service.yaml"
UNIT, WORKER = ROOT / "systemd" / "vatoolbox.service", ROOT / "systemd" / "vatoolbox-worker.service"
#: What makes UNIT one of several machines.
CLUSTER = ROOT / "systemd" / "vatoolbox.service.d" / "cluster.conf"


def instructions():
    """The Dockerfile's instructions in order, each a keyword and its text on one line."""
    lines = [line for line in DOCKERFILE.read_text().splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [tuple(line.split(None, 1)) for line in joined.splitlines() if line.strip()]


def copied():
    """The paths that COPY takes from the repository."""
    sources = []
    for keyword, text in instructions():
        if keyword == "COPY" and "--from=" not in text:
            sources += [word for word in text.split()[:-1] if not word.startswith("--")]
    return sources


def installed_for_the_build():
    """The packages that the build stage installs by name."""
    runs = [text for keyword, text in instructions() if keyword == "RUN" and "g++" in text]
    words = shlex.split(runs[0].split("--no-install-recommends")[1].split("&&")[0])
    return set(words)


def compose(environment):
    """The compose file with variables of the environment, or their defaults, in place."""
    import yaml  # python3-yaml

    def value(match):
        return environment.get(match.group(1), match.group(2))

    return yaml.safe_load(re.sub(r"\$\{(\w+):-([^}]*)\}", value, COMPOSE.read_text()))


def run_options(service, environment):
    """The options of `docker run`, which podman has as well, that do what a compose service says.

    Every key must be known here, so that none is left untested."""
    options = []
    for key, value in compose(environment)["services"][service].items():
        if key in ("image", "build", "profiles"):
            continue
        option = {"user": "--user", "volumes": "--volume", "tmpfs": "--tmpfs", "cap_drop": "--cap-drop",
                  "security_opt": "--security-opt", "network_mode": "--network", "devices": "--device",
                  "group_add": "--group-add", "read_only": "--read-only"}[key]
        if value is True:
            options.append(option)
            continue
        for word in value if isinstance(value, list) else [value]:
            # podman knows this one by its older name only
            options += [option, "no-new-privileges" if word == "no-new-privileges:true" else word]
    return options


def labels_and_entrypoint():
    """The text of LABEL and the words of ENTRYPOINT."""
    found = {keyword: text for keyword, text in instructions() if keyword in ("LABEL", "ENTRYPOINT", "USER")}
    return found["LABEL"], json.loads(found["ENTRYPOINT"]), found["USER"]
