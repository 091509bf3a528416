# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether the files for Compose and Kubernetes that start the service fit the service, the image and each other.

Functions take values, as the files say them, and return complaints."""

import copy
import re

import files
import yaml

KUBERNETES = files.ROOT / "docker" / "kubernetes"
#: The folders that a user applies, and the resource of each.
VARIANTS = {"base": None, "intel-i915": "gpu.intel.com/i915", "intel-xe": "gpu.intel.com/xe", "amd": "amd.com/gpu"}
GPUS = {"none", "intel", "amd", "both"}
PREFIX = "VATOOLBOX_SERVICE_"
TOKEN = PREFIX + "ACCESS_TOKEN"
DRAIN = PREFIX + "DRAIN_TIMEOUT"


def known_variables():
    """The variables that the service accepts."""
    source = (files.ROOT / "Sources/EncodingService/Settings/Setting.swift").read_text()
    table = source[source.index("static let all"):source.index("// MARK: Kinds")]
    keys = re.findall(r"\.(?:text|list|integer|seconds|bytes|choice)\(\s*\"([a-z.-]+)\"", table)
    return {PREFIX + re.sub("[.-]", "_", key).upper() for key in keys} | {PREFIX + "CONFIG"}


def image():
    """What the Dockerfile says of the service: its variables, and the port."""
    said = files.instructions()
    variables = dict(word.split("=", 1) for keyword, text in said if keyword == "ENV" for word in text.split())
    return variables, [int(text) for keyword, text in said if keyword == "EXPOSE"]


def dockerfile():
    variables, ports = image()
    if ports != [8080]:
        yield f"docker/Dockerfile exposes {ports}, and the service listens on 8080"
    if variables.get(PREFIX + "LISTEN_HOST") != "0.0.0.0":
        yield "docker/Dockerfile lets the service listen where nobody reaches it"
    folder = variables.get(PREFIX + "DATA")
    runs = " ".join(text for keyword, text in files.instructions() if keyword == "RUN")
    if not folder or not re.search(rf"--owner vatoolbox --group vatoolbox --mode 0700 {folder}(\s|$)", runs):
        yield f"docker/Dockerfile makes no folder {folder} that only its user can read"
    yield from settings("docker/Dockerfile", variables)


def settings(where, names):
    """Complaints about variables with the service's prefix that it would refuse."""
    for name in names:
        if name.startswith(PREFIX) and name not in known_variables():
            yield f"{where} sets {name}, which is no setting"


def seconds(text):
    """The seconds of a duration such as 11m or 1h30m."""
    units = {"s": 1, "m": 60, "h": 3600}
    return sum(int(number) * units[unit] for number, unit in re.findall(r"(\d+)([smh])", text))


def data_folder():
    return image()[0][PREFIX + "DATA"]


# Compose

def compose(document):
    """Complaints about docker/compose.service.yaml, as a value without its variables replaced."""
    services = document["services"]
    if set(services) != GPUS | {"prometheus", "grafana"}:
        yield f"there are the services {' '.join(sorted(services))}"
        return
    for name, service in services.items():
        for complaint in confined(service) if name in GPUS else guarded(service):
            yield f"{name}: {complaint}"
        expected = [name] if name in GPUS else ["monitoring"]
        if service.get("profiles") != expected:
            yield f"{name}: its profiles are {service.get('profiles')}"
        for volume in service["volumes"]:
            if isinstance(volume, str) and volume.startswith("./"):
                source = files.ROOT / "docker" / volume.split(":")[0]
                if not source.is_file() or not volume.endswith(":ro"):
                    yield f"{name}: mounts {volume}, which is no file, or can be written"
    for name in GPUS:
        for complaint in serving(services[name]):
            yield f"{name}: {complaint}"
        has_device = bool(services[name].get("devices") or services[name].get("device_cgroup_rules"))
        if has_device == (name == "none") or has_device != ("group_add" in services[name]):
            yield f"{name}: has a device without its group, or none"
    for name, service in services.items():
        for image_name in [service["image"]]:
            if name not in GPUS and not re.search(r":v?\d+\.\d+\.\d+$", image_name):
                yield f"{name}: the image {image_name} has no version"


def guarded(service):
    """What every container has."""
    if service.get("cap_drop") != ["ALL"] or "cap_add" in service or "privileged" in service:
        yield "has capabilities"
    if service.get("security_opt") != ["no-new-privileges:true"]:
        yield f"has the security options {service.get('security_opt')}"
    if not service.get("mem_limit") or not service.get("pids_limit"):
        yield "has no limits of memory and processes"
    if service.get("network_mode") or service.get("pid") or service.get("ipc"):
        yield "shares namespaces with the host"
    for port in service.get("ports", []):
        if not re.match(r"(\$\{VATOOLBOX_PUBLISH:-)?127\.0\.0\.1:\d", port):
            yield f"is published beyond this machine: {port}"


def confined(service):
    yield from guarded(service)
    if service.get("read_only") is not True:
        yield "can write to its root"
    if not re.match(r"\$\{VATOOLBOX_USER:-1000:1000\}$", service.get("user", "")):
        yield f"runs as {service.get('user')}"


def serving(service):
    """What the service needs."""
    if service["command"] != ["serve"]:
        yield f"runs {service['command']}"
    environment = service["environment"]
    yield from settings("it", environment)
    if not environment.get(TOKEN, "").startswith("${VATOOLBOX_TOKEN:?"):
        yield "starts without a token, or with one that is written here"
    if seconds(service["stop_grace_period"]) <= int(environment.get(DRAIN, 3600)):
        yield f"is killed after {service['stop_grace_period']}, before its tasks have had {environment.get(DRAIN)} s"
    if not service.get("hostname"):
        yield "has another name after each start, by which it would have to know its tasks"
    check = service.get("healthcheck", {}).get("test", [])
    if check != ["CMD", "vatoolbox-service", "healthy"]:
        yield f"is checked by {check}"
    if not any(volume == f"data:{data_folder()}" for volume in service["volumes"]):
        yield f"keeps nothing: no volume is at {data_folder()}"
    if not any(text.split(":")[0] == "/tmp" for text in service.get("tmpfs", [])):
        yield "has no /tmp"


# systemd

def unit(text):
    """Complaints about the unit of systemd."""
    lines = re.sub(r"\\\n\s*", " ", text).splitlines()
    given = [line.split("=", 1) for line in lines if "=" in line and not line.startswith("#")]
    said = {key: value for key, value in given}
    environment = dict(word.split("=", 1) for key, value in given if key == "Environment" for word in value.split())
    yield from settings("the unit", environment)
    if said.get("ExecStart") != "/usr/local/bin/vatoolbox serve":
        yield f"starts {said.get('ExecStart')}"
    if said.get("KillMode") != "mixed":
        yield "ends the tasks together with the service, which would let them end"
    if seconds(said["TimeoutStopSec"].replace("min", "m")) <= int(environment.get(DRAIN, 3600)):
        yield f"is killed after {said['TimeoutStopSec']}, before its tasks have had {environment.get(DRAIN, 3600)} s"
    if environment.get(PREFIX + "DATA") != "%S/" + said.get("StateDirectory", ""):
        yield "keeps its data in a folder that is not its own"
    for key, value in (("DynamicUser", "yes"), ("NoNewPrivileges", "yes"), ("ProtectSystem", "strict"),
                       ("CapabilityBoundingSet", "")):
        if said.get(key) != value:
            yield f"has {key}={said.get(key)}"
    missing = {"seccomp", "landlock_restrict_self"} - set(said.get("SystemCallFilter", "").split())
    if missing:
        yield f"forbids {' '.join(sorted(missing))}, by which tasks confine themselves"


# Kubernetes

def documents(folder):
    """The resources that a folder describes, by their kinds: those of its kustomization, patched."""
    kustomization = yaml.safe_load((KUBERNETES / folder / "kustomization.yaml").read_text())
    unknown = set(kustomization) - {"apiVersion", "kind", "resources", "patches"}
    if unknown:
        raise ValueError(f"docker/kubernetes/{folder} uses {unknown}, which this check does not know")
    found = {}
    for name in kustomization["resources"]:
        if name.endswith(".yaml"):
            for document in yaml.safe_load_all((KUBERNETES / folder / name).read_text()):
                found[document["kind"]] = document
        else:
            found.update(documents((KUBERNETES / folder / name).resolve().relative_to(KUBERNETES.resolve())))
    for patch in kustomization.get("patches", []):
        for operation in yaml.safe_load(patch["patch"]):
            found[patch["target"]["kind"]] = added(found[patch["target"]["kind"]], operation)
    return found


def added(document, operation):
    """A document after the operation `add` of RFC 6902, the only one that is used."""
    if operation["op"] != "add":
        raise ValueError(f"this check does not know the operation {operation['op']}")
    changed = copy.deepcopy(document)
    *path, last = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
    place = changed
    for part in path:
        place = place[int(part)] if isinstance(place, list) else place[part]
    if last == "-":
        place.append(operation["value"])
    else:
        place[last] = operation["value"]
    return changed


def kubernetes(found, resource, paths):
    """Complaints about the resources of a folder. `paths` are those of the API."""
    service, workload = found["Service"]["spec"], found["StatefulSet"]["spec"]
    template = workload["template"]
    pod, container = template["spec"], template["spec"]["containers"][0]
    if not (service["selector"] == workload["selector"]["matchLabels"] == template["metadata"]["labels"]):
        yield "the labels of Service, StatefulSet and pod differ"
    if workload["serviceName"] != found["Service"]["metadata"]["name"]:
        yield f"the StatefulSet belongs to a Service {workload['serviceName']}"
    if service.get("publishNotReadyAddresses") is not True:
        yield "results cannot be fetched while a pod drains"
    if pod.get("enableServiceLinks") is not False:
        yield "Kubernetes sets VATOOLBOX_SERVICE_HOST, which is no setting, and the service does not start"
    if pod.get("automountServiceAccountToken") is not False:
        yield "the pod gets rights in the cluster"
    yield from privileges(pod, container)
    yield from pod_settings(pod, container)
    for kind in ("startupProbe", "livenessProbe", "readinessProbe"):
        asked = container.get(kind, {}).get("httpGet", {})
        if asked.get("path") not in paths or asked.get("port") != container["ports"][0]["name"]:
            yield f"{kind} asks {asked}"
    if container["readinessProbe"]["httpGet"]["path"] != "/readyz" or \
            container["livenessProbe"]["httpGet"]["path"] != "/healthz":
        yield "a service that drains would be restarted, or one that does not work gets requests"
    port = container["ports"][0]
    if port["containerPort"] != 8080 or service["ports"][0]["targetPort"] != port["name"]:
        yield "the ports do not lead to 8080"
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    claims = {claim["metadata"]["name"] for claim in workload["volumeClaimTemplates"]}
    if mounts.get(data_folder()) not in claims or "/tmp" not in mounts:
        yield f"no claim is mounted at {data_folder()}, or nothing at /tmp"
    if any(claim["spec"]["accessModes"] != ["ReadWriteOncePod"] for claim in workload["volumeClaimTemplates"]):
        yield "several pods could open one job store"
    limits = container["resources"]["limits"]
    devices = {name: count for name, count in limits.items() if "/" in name}
    if devices != ({resource: 1} if resource else {}):
        yield f"asks for {devices}"
    if bool(pod["securityContext"]["supplementalGroups"]) != bool(resource):
        yield "has a device without the group of its node, or a group without a device"
    if "memory" not in limits:
        yield "has no limit of memory"


def privileges(pod, container):
    whole, own = pod["securityContext"], container["securityContext"]
    if whole.get("runAsNonRoot") is not True or whole.get("runAsUser") != 1000 or whole.get("fsGroup") != 1000:
        yield "does not run as the user of the image"
    if whole.get("seccompProfile") != {"type": "RuntimeDefault"}:
        yield "has no seccomp profile"
    if own != {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}:
        yield f"has the rights {own}"
    if any(pod.get(name) for name in ("hostNetwork", "hostPID", "hostIPC")) or \
            any("hostPath" in volume for volume in pod.get("volumes", [])):
        yield "shares something with its node"


def pod_settings(pod, container):
    variables = {variable["name"]: variable for variable in container["env"]}
    yield from settings("the pod", variables)
    if "secretKeyRef" not in variables.get(TOKEN, {}).get("valueFrom", {}):
        yield "the token is not from a secret"
    if container.get("args") != ["serve"]:
        yield f"runs {container.get('args')}"
    if pod["terminationGracePeriodSeconds"] <= int(variables[DRAIN]["value"]):
        yield "is killed before its tasks have had the time to end"
