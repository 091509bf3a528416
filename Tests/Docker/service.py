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
CLUSTERS = {f"cluster/{name}": resource for name, resource in VARIANTS.items()}
#: Those that go with a cluster.
PARTS = ["cluster/migrate", "cluster/internet"]
FOLDERS = [*VARIANTS, *CLUSTERS, *PARTS]
GPUS = {"none", "intel", "amd", "both"}
PREFIX = "VATOOLBOX_SERVICE_"
TOKEN = PREFIX + "ACCESS_TOKEN"
DRAIN = PREFIX + "DRAIN_TIMEOUT"
LOCATION = PREFIX + "STORE_LOCATION"


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

def lines_of(text):
    """The keys and values of a unit, followed by its drop-ins, if there are."""
    lines = re.sub(r"\\\n\s*", " ", text).splitlines()
    return [tuple(line.split("=", 1)) for line in lines if "=" in line and not line.startswith("#")]


def environment_of(given):
    return dict(word.split("=", 1) for key, value in given if key == "Environment" for word in value.split())


def unit(text, command="serve", shared=False):
    """Complaints about a unit of systemd. `shared`: its data are on storage of several machines."""
    given = lines_of(text)
    said, environment = dict(given), environment_of(given)
    yield from settings("the unit", environment)
    if said.get("ExecStart") != f"/usr/local/bin/vatoolbox {command}" or command not in subcommands():
        yield f"starts {said.get('ExecStart')}"
    if said.get("KillMode") != "mixed":
        yield "ends the tasks together with the service, which would let them end"
    if seconds(said["TimeoutStopSec"].replace("min", "m")) <= int(environment.get(DRAIN, 3600)):
        yield f"is killed after {said['TimeoutStopSec']}, before its tasks have had {environment.get(DRAIN, 3600)} s"
    for key, value in (("NoNewPrivileges", "yes"), ("ProtectSystem", "strict"), ("CapabilityBoundingSet", "")):
        if said.get(key) != value:
            yield f"has {key}={said.get(key)}"
    missing = {"seccomp", "landlock_restrict_self"} - set(said.get("SystemCallFilter", "").split())
    if missing:
        yield f"forbids {' '.join(sorted(missing))}, by which tasks confine themselves"
    if {TOKEN, LOCATION} & set(environment) or said.get("EnvironmentFile") != "-/etc/vatoolbox/service.env":
        yield "has secrets in a file that everybody may read, or reads none"
    folder = environment.get(PREFIX + "DATA")
    yield from on_shared_storage(said, folder) if shared else on_own_disk(said, folder)


def on_own_disk(said, folder):
    if folder != "%S/" + said.get("StateDirectory", ""):
        yield "keeps its data in a folder that is not its own"
    if said.get("DynamicUser") != "yes" or "User" in said:
        yield f"has the user {said.get('User')}, and DynamicUser={said.get('DynamicUser')}"


def on_shared_storage(said, folder):
    if said.get("DynamicUser") != "no" or said.get("User") != "vatoolbox" or said.get("Group") != "vatoolbox":
        yield f"has the user {said.get('User')}, who has another number on each machine, or too many rights"
    if said.get("StateDirectory"):
        yield "has a folder on its own disk"
    for key in ("ReadWritePaths", "RequiresMountsFor", "AssertPathIsMountPoint"):
        if said.get(key) != folder:
            yield f"has its data in {folder}, and {key}={said.get(key)}"


def alike(first, second):
    """Complaints about what two units differ in, apart from what they start and where."""
    first, second = lines_of(first), lines_of(second)
    if environment_of(first) != environment_of(second):
        yield f"the environments differ: {environment_of(first)}, {environment_of(second)}"
    free = {"Environment", "Description", "ExecStart", "StateDirectory", "StateDirectoryMode"}
    for key in sorted({key for key, _ in first + second} - free):
        if dict(first).get(key) != dict(second).get(key):
            yield f"one has {key}={dict(first).get(key)}, the other {dict(second).get(key)}"


def units(alone, cluster_part, worker):
    """Complaints about the texts of all files for systemd, by file."""
    yield from ((files.UNIT, complaint) for complaint in unit(alone))
    yield from ((files.CLUSTER, complaint) for complaint in unit(f"{alone}\n{cluster_part}", shared=True))
    yield from ((files.WORKER, complaint) for complaint in unit(worker, command="worker", shared=True))
    yield from ((files.WORKER, complaint) for complaint in alike(f"{alone}\n{cluster_part}", worker))


# Kubernetes

def key(document):
    return f"{document['kind']}/{document['metadata']['name']}"


def documents(folder):
    """The resources that a folder describes, by their kinds and names: those of its kustomization, patched."""
    kustomization = yaml.safe_load((KUBERNETES / folder / "kustomization.yaml").read_text())
    unknown = set(kustomization) - {"apiVersion", "kind", "resources", "patches"}
    if unknown:
        raise ValueError(f"docker/kubernetes/{folder} uses {unknown}, which this check does not know")
    found = {}
    for name in kustomization["resources"]:
        if name.endswith(".yaml"):
            for document in yaml.safe_load_all((KUBERNETES / folder / name).read_text()):
                found[key(document)] = document
        else:
            found.update(documents((KUBERNETES / folder / name).resolve().relative_to(KUBERNETES.resolve())))
    for patch in kustomization.get("patches", []):
        target = patch["target"]
        chosen = [name for name, document in found.items() if document["kind"] == target["kind"]
                  and target.get("name", document["metadata"]["name"]) == document["metadata"]["name"]]
        if not chosen or set(target) - {"kind", "name"}:
            raise ValueError(f"docker/kubernetes/{folder} patches {target}, which is not there, or not understood")
        for name in chosen:
            for operation in yaml.safe_load(patch["patch"]):
                found[name] = patched(found[name], operation)
    return found


def patched(document, operation):
    """A document after an operation of RFC 6902: `add` or `remove`, the only ones that are used."""
    if operation["op"] not in ("add", "remove"):
        raise ValueError(f"this check does not know the operation {operation['op']}")
    changed = copy.deepcopy(document)
    *path, last = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
    place = changed
    for part in path:
        place = place[int(part)] if isinstance(place, list) else place[part]
    if operation["op"] == "remove":
        del place[int(last) if isinstance(place, list) else last]
    elif last == "-":
        place.append(operation["value"])
    else:
        place[last] = operation["value"]
    return changed


def kubernetes(found, resource, paths):
    """Complaints about the resources of a folder for one machine. `paths` are those of the API."""
    workload = found["StatefulSet/vatoolbox"]["spec"]
    yield from api(found, resource, paths)
    container = workload["template"]["spec"]["containers"][0]
    claims = {claim["metadata"]["name"] for claim in workload["volumeClaimTemplates"]}
    if mounts(container).get(data_folder()) not in claims:
        yield f"no claim is mounted at {data_folder()}"
    if any(claim["spec"]["accessModes"] != ["ReadWriteOncePod"] for claim in workload["volumeClaimTemplates"]):
        yield "several pods could open one job store"


def api(found, resource, paths):
    """Complaints about the Service, and the StatefulSet whose pods serve the API."""
    service, workload = found["Service/vatoolbox"]["spec"], found["StatefulSet/vatoolbox"]["spec"]
    container = workload["template"]["spec"]["containers"][0]
    yield from stateful(found, "vatoolbox", resource)
    if service.get("publishNotReadyAddresses") is not True:
        yield "results cannot be fetched while a pod drains"
    if container.get("args") != ["serve"]:
        yield f"runs {container.get('args')}"
    if not is_secret(container, TOKEN):
        yield "the token is not from a secret"
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


def stateful(found, name, resource):
    """Complaints about a StatefulSet and its Service, whatever its pods do."""
    service, workload = found[f"Service/{name}"]["spec"], found[f"StatefulSet/{name}"]["spec"]
    template = workload["template"]
    pod, container = template["spec"], template["spec"]["containers"][0]
    if not (service["selector"] == workload["selector"]["matchLabels"] == template["metadata"]["labels"]):
        yield "the labels of Service, StatefulSet and pod differ"
    if workload["serviceName"] != name or service.get("clusterIP") != "None":
        yield f"the StatefulSet belongs to a Service {workload['serviceName']}, or its pods have no names there"
    yield from pod_rules(pod, container)
    if pod["terminationGracePeriodSeconds"] <= int(variables(container).get(DRAIN, {"value": 3600})["value"]):
        yield "is killed before its tasks have had the time to end"
    if "/tmp" not in mounts(container):
        yield "nothing is mounted at /tmp"
    devices = {name: count for name, count in container["resources"]["limits"].items() if "/" in name}
    if devices != ({resource: 1} if resource else {}):
        yield f"asks for {devices}"
    if bool(pod["securityContext"]["supplementalGroups"]) != bool(resource):
        yield "has a device without the group of its node, or a group without a device"


def pod_rules(pod, container):
    """What holds for every pod."""
    if len(pod["containers"]) != 1 or pod.get("initContainers"):
        yield "has containers that nobody checks"
    if pod.get("enableServiceLinks") is not False:
        yield "Kubernetes sets VATOOLBOX_SERVICE_HOST, which is no setting, and the service does not start"
    if pod.get("automountServiceAccountToken") is not False:
        yield "the pod gets rights in the cluster"
    yield from privileges(pod, container)
    yield from settings("the pod", variables(container))
    if not container.get("args") or container["args"][0] not in subcommands():
        yield f"the program has no subcommand {container.get('args')}"
    for name in (TOKEN, LOCATION):
        if name in variables(container) and not is_secret(container, name):
            yield f"{name} is not from a secret"
    if "memory" not in container["resources"]["limits"]:
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


def subcommands():
    """What `vatoolbox-service` can be told to do, apart from what asks a service."""
    source = (files.ROOT / "Sources/VAToolboxService/Service.swift").read_text()
    cluster = (files.ROOT / "Sources/VAToolboxService/ClusterCommand.swift").read_text()
    return {*re.findall(r'case "(\w+)":', source), *re.findall(r'static let subcommand = "(\w+)"', cluster)}


def variables(container):
    return {variable["name"]: variable for variable in container.get("env", [])}


def is_secret(container, name):
    return "secretKeyRef" in variables(container).get(name, {}).get("valueFrom", {})


def mounts(container):
    return {mount["mountPath"]: mount["name"] for mount in container.get("volumeMounts", [])}


# Kubernetes, several machines

def cluster(found, resource, paths):
    """Complaints about the resources of a folder for several machines."""
    serving_set, working_set = (found[f"StatefulSet/{name}"]["spec"] for name in ("vatoolbox", "vatoolbox-worker"))
    yield from api(found, resource, paths)
    yield from (f"workers: {complaint}" for complaint in workers(found, resource))
    if serving_set["replicas"] != 1:
        yield f"{serving_set['replicas']} pods serve the API in one folder, of which one starts"
    claim = found["PersistentVolumeClaim/vatoolbox-data"]
    if claim["spec"]["accessModes"] != ["ReadWriteMany"]:
        yield f"pods share a volume of {claim['spec']['accessModes']}"
    containers = []
    for workload in (serving_set, working_set):
        pod, container = workload["template"]["spec"], workload["template"]["spec"]["containers"][0]
        containers.append(container)
        volumes = {volume["name"]: volume.get("persistentVolumeClaim", {}).get("claimName")
                   for volume in pod["volumes"]}
        if workload.get("volumeClaimTemplates") or \
                volumes.get(mounts(container).get(data_folder())) != claim["metadata"]["name"]:
            yield f"the shared volume is not at {data_folder()}"
        if not is_secret(container, LOCATION):
            yield "the location of the database is not from a secret"
        if PREFIX + "STORE_NODE" in variables(container):
            yield "all pods have one name"
    if containers[0]["image"] != containers[1]["image"]:
        yield "the pods have different images"
    if len({str(variables(container).get(LOCATION)) for container in containers}) != 1:
        yield "the pods use different databases"


def workers(found, resource):
    workload = found["StatefulSet/vatoolbox-worker"]["spec"]
    template = workload["template"]
    container, labels = template["spec"]["containers"][0], template["metadata"]["labels"]
    yield from stateful(found, "vatoolbox-worker", resource)
    if container.get("args") != ["worker"]:
        yield f"runs {container.get('args')}"
    if container.get("ports") or found["Service/vatoolbox-worker"]["spec"].get("ports"):
        yield "has ports, and a worker serves nothing"
    if any(container.get(kind) for kind in ("startupProbe", "livenessProbe", "readinessProbe")):
        yield "is asked how it is, and a worker answers nobody"
    for name in variables(container):
        if name.startswith(tuple(PREFIX + part for part in ("ACCESS_", "LISTEN_", "TLS_", "HTTP_"))):
            yield f"sets {name}, which means nothing to a worker, or is a secret that it need not know"
    if selects(found["Service/vatoolbox"]["spec"]["selector"], labels):
        yield "gets requests to the API"
    if workload.get("podManagementPolicy") != "Parallel" or not workload.get("minReadySeconds"):
        yield "pods wait for others, or are replaced by ones that do not start"
    budget = found["PodDisruptionBudget/vatoolbox-worker"]["spec"]
    if budget.get("maxUnavailable") != 1 or budget["selector"]["matchLabels"] != labels or \
            budget.get("unhealthyPodEvictionPolicy") != "AlwaysAllow":
        yield "its budget is for others, or holds up those who empty a machine"
    yield from network(found["NetworkPolicy/vatoolbox-worker"]["spec"], labels)


def selects(selector, labels):
    return selector.items() <= labels.items()


def network(policy, labels):
    """Complaints about what workers may connect to: names and the database."""
    if policy["podSelector"] != {"matchLabels": labels}:
        yield f"the policy is for {policy['podSelector']}"
    if set(policy["policyTypes"]) != {"Ingress", "Egress"} or policy.get("ingress"):
        yield "others may connect to it"
    # A rule without ports is for all of them.
    ports = [(port.get("protocol"), port.get("port")) for rule in policy["egress"] for port in rule.get("ports", [{}])]
    if set(ports) != {("UDP", 53), ("TCP", 53), ("TCP", 5432)}:
        yield f"it may connect to {ports}"


def migration(found, whole):
    """Complaints about the job that makes the tables, before the resources `whole` are there."""
    workload = found["Job/vatoolbox-migrate"]["spec"]
    pod, container = workload["template"]["spec"], workload["template"]["spec"]["containers"][0]
    yield from pod_rules(pod, container)
    if container.get("args", [])[:-1] != ["cluster", "migrate", "--grant"]:
        yield f"runs {container.get('args')}"
    if not is_secret(container, LOCATION):
        yield "the location of the database is not from a secret"
    pods = whole["StatefulSet/vatoolbox-worker"]["spec"]["template"]["spec"]["containers"][0]
    if variables(container).get(LOCATION) == variables(pods).get(LOCATION):
        yield "the pods could change the tables: they have the same role"
    if container["image"] != pods["image"]:
        yield "makes the tables of another version"
    if pod.get("restartPolicy") != "Never" or not workload.get("ttlSecondsAfterFinished"):
        yield "its failures are not kept, or it is in the way of the next one"
    if container.get("ports") or pod.get("volumes"):
        yield "has what it does not need"


def internet(found, whole):
    """Complaints about the policy that lets workers fetch inputs."""
    policy = found["NetworkPolicy/vatoolbox-worker-internet"]["spec"]
    labels = whole["StatefulSet/vatoolbox-worker"]["spec"]["template"]["metadata"]["labels"]
    if policy["podSelector"] != {"matchLabels": labels} or policy["policyTypes"] != ["Egress"] or "ingress" in policy:
        yield "it is for others than workers, or lets others connect"
    for rule in policy["egress"]:
        if {(port["protocol"], port["port"]) for port in rule.get("ports", [])} != {("TCP", 80), ("TCP", 443)}:
            yield f"it opens {rule.get('ports')}"
        for block in rule.get("to", [{}]):
            block = block.get("ipBlock", {"cidr": "any"})
            private = PRIVATE.get(block["cidr"])
            if private is None or not private <= set(block.get("except", [])):
                yield f"it opens private addresses of {block['cidr']}"


#: Of all addresses, those that nobody has outside.
PRIVATE = {"0.0.0.0/0": {"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16"},
           "::/0": {"fc00::/7", "fe80::/10"}}


def starts(secrets):
    """What pods and units start: where it is said, the arguments of `vatoolbox`, and the variables.

    `secrets` has the values of variables that are not in the files, as a function of their names."""
    of_image = image()[0]
    for folder in FOLDERS:
        for name, document in documents(folder).items():
            for container in document["spec"].get("template", {}).get("spec", {}).get("containers", []):
                given = {key: variable["value"] if "value" in variable else secrets(key)
                         for key, variable in variables(container).items()}
                yield f"docker/kubernetes/{folder}: {name}", container["args"], of_image | given
    alone, part, worker = (file.read_text() for file in (files.UNIT, files.CLUSTER, files.WORKER))
    for file, text in ((files.UNIT, alone), (files.CLUSTER, f"{alone}\n{part}"), (files.WORKER, worker)):
        lines = lines_of(text)
        given = {key: value.replace("%S", "/var/lib") for key, value in environment_of(lines).items()}
        if file != files.UNIT:
            given[LOCATION] = secrets(LOCATION)
        yield str(file.relative_to(files.ROOT)), dict(lines)["ExecStart"].split()[1:], given


def manifests(paths):
    """Complaints about all folders of docker/kubernetes, by folder."""
    for folder, resource in VARIANTS.items():
        yield from ((folder, complaint) for complaint in kubernetes(documents(folder), resource, paths))
    for folder, resource in CLUSTERS.items():
        yield from ((folder, complaint) for complaint in cluster(documents(folder), resource, paths))
    whole = documents("cluster/base")
    for folder, check in zip(PARTS, (migration, internet)):
        yield from ((folder, complaint) for complaint in check(documents(folder), whole))
    there = {str(file.parent.relative_to(KUBERNETES)) for file in KUBERNETES.rglob("kustomization.yaml")}
    for folder in sorted(there ^ set(FOLDERS)):
        yield folder, "is not checked, or not there"
