# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults that the checks of the files for operation have to find, planted one at a time."""

import copy
import json

import files
import monitoring
import service as serving
import yaml

DOCKER = files.ROOT / "docker"
#: An exposition without a fault.
EXPOSITION = """\
# HELP vatoolbox_store_usable Whether the job store can be used
# TYPE vatoolbox_store_usable gauge
vatoolbox_store_usable 1
# HELP vatoolbox_attempts_total Attempts
# TYPE vatoolbox_attempts_total counter
vatoolbox_attempts_total{outcome="failed"} 2
vatoolbox_attempts_total{outcome="lost"} 0
# HELP vatoolbox_wait_seconds Waits
# TYPE vatoolbox_wait_seconds histogram
vatoolbox_wait_seconds_bucket{le="0.5"} 1
vatoolbox_wait_seconds_bucket{le="1.0"} 3
vatoolbox_wait_seconds_bucket{le="+Inf"} 4
vatoolbox_wait_seconds_sum 6.5
vatoolbox_wait_seconds_count 4
"""


def replaced(text, *pairs):
    for old, new in pairs:
        assert text.count(old) >= 1, old
        text = text.replace(old, new, 1)
    return text


def expositions():
    for what, *pairs in [
        ("a series that occurs twice", ('outcome="lost"', 'outcome="failed"')),
        ("a counter without _total", *[("attempts_total", "attempts")] * 4),
        ("a gauge that ends in _total", ("_total counter", "_total gauge")),
        ("a metric without HELP", ("# HELP vatoolbox_store_usable Whether the job store can be used\n", "")),
        ("a metric without TYPE", ("# TYPE vatoolbox_store_usable gauge\n", "")),
        ("HELP that occurs twice", ("# TYPE vatoolbox_st", "# HELP vatoolbox_store_usable Again\n# TYPE vatoolbox_st")),
        ("a metric in the wrong place", ("vatoolbox_store_usable 1\n", ""),
         ("6.5\n", "6.5\nvatoolbox_store_usable 1\n")),
        ("buckets that are not cumulative", ('le="1.0"} 3', 'le="1.0"} 0')),
        ("buckets without +Inf", ('vatoolbox_wait_seconds_bucket{le="+Inf"} 4\n', "")),
        ("buckets in the wrong order", ('le="0.5"', 'le="2.0"')),
        ("another count than the last bucket", ("_count 4", "_count 5")),
        ("a histogram without a sum", ("vatoolbox_wait_seconds_sum 6.5\n", "")),
        ("a negative counter", ('"failed"} 2', '"failed"} -2')),
        ("not a number", ("usable 1", "usable NaN")),
        ("milliseconds", *[("wait_seconds", "wait_ms")] * 7),
        ("another prefix", *[("vatoolbox_store", "service_store")] * 3),
        ("capitals", *[("store_usable", "storeUsable")] * 3),
        ("a label of Prometheus", ('outcome="failed"', 'instance="failed"')),
        ("a value with a quotation mark", ('outcome="lost"', 'outcome="lo"st"')),
        ("no line feed at the end", ("_count 4\n", "_count 4")),
        ("an empty line with a number", ("usable 1\n", "usable 1\n12\n")),
    ]:
        yield f"/metrics: {what}", monitoring.exposition(replaced(EXPOSITION, *pairs))
    yield "/metrics: a counter that decreases", monitoring.grown(EXPOSITION, replaced(EXPOSITION, ("} 2", "} 1")))
    yield "/metrics: a series that ends", monitoring.grown(
        EXPOSITION, replaced(EXPOSITION, ('vatoolbox_attempts_total{outcome="failed"} 2\n', "")))


def changed(document, path, value):
    """A copy of a document with another value at a place, or without it."""
    document = copy.deepcopy(document)
    place = document
    for part in path[:-1]:
        place = place[part]
    if value is None:
        del place[path[-1]]
    elif isinstance(place, list) and path[-1] == len(place):
        place.append(value)
    else:
        place[path[-1]] = value
    return document


def compose():
    document = yaml.safe_load(files.SERVICE.read_text())
    environment = ["services", "intel", "environment"]
    for what, path, value in [
        ("an unknown setting", [*environment, "VATOOLBOX_SERVICE_HOST"], "0.0.0.0"),
        ("no token", [*environment, serving.TOKEN], None),
        ("a token in the file", [*environment, serving.TOKEN], "secret"),
        ("a token that may be empty", [*environment, serving.TOKEN], "${VATOOLBOX_TOKEN:-}"),
        ("a grace period that is too short", ["services", "none", "stop_grace_period"], "10m"),
        ("a root that can be written", ["services", "amd", "read_only"], False),
        ("capabilities", ["services", "both", "cap_add"], ["SYS_ADMIN"]),
        ("new privileges", ["services", "both", "security_opt"], []),
        ("a public port", ["services", "none", "ports"], ["8080:8080"]),
        ("a public port of Prometheus", ["services", "prometheus", "ports"], ["9090:9090"]),
        ("no name", ["services", "intel", "hostname"], None),
        ("no check of health", ["services", "intel", "healthcheck"], None),
        ("a check by a program that is not there", ["services", "intel", "healthcheck", "test"], ["CMD", "curl"]),
        ("no limit of processes", ["services", "grafana", "pids_limit"], None),
        ("no volume for the data", ["services", "none", "volumes"], ["data:/data"]),
        ("a device without its group", ["services", "amd", "group_add"], None),
        ("a GPU without a device", ["services", "intel", "devices"], None),
        ("a file that is not there", ["services", "grafana", "volumes", 0], "./grafana/other.yaml:/x:ro"),
        ("an image without a version", ["services", "grafana", "image"], "grafana/grafana:latest"),
        ("a profile that starts by itself", ["services", "prometheus", "profiles"], None),
        ("the root user", ["services", "none", "user"], "0:0"),
    ]:
        yield f"Compose: {what}", serving.compose(changed(document, path, value))


def units():
    texts = [file.read_text() for file in (files.UNIT, files.CLUSTER, files.WORKER)]
    for what, index, old, new in [
        *((what, index, old, new) for index in (0, 2) for what, old, new in [
            ("a setting that is none", "SERVICE_DRAIN_TIMEOUT", "SERVICE_DRAIN"),
            ("an end before that of the tasks", "TimeoutStopSec=62min", "TimeoutStopSec=60min"),
            ("SIGTERM for tasks", "KillMode=mixed", "KillMode=control-group"),
            ("a file system that it may change", "ProtectSystem=strict", "ProtectSystem=full"),
            ("capabilities", "CapabilityBoundingSet=", "CapabilityBoundingSet=CAP_SYS_ADMIN"),
            ("tasks that cannot confine themselves", " landlock_restrict_self", ""),
            ("no secrets", "EnvironmentFile=-/etc/vatoolbox/service.env", "EnvironmentFile=-/etc/service.env"),
            ("secrets", "Environment=", f"Environment={serving.TOKEN}=secret "),
            ("another command", "/usr/local/bin/vatoolbox ", "/usr/local/bin/vatoolbox encode "),
        ]),
        ("another folder", 0, "StateDirectory=vatoolbox", "StateDirectory=service"),
        ("root", 0, "DynamicUser=yes", "DynamicUser=no"),
        *((what, index, old, new) for index in (1, 2) for what, old, new in [
            ("a user of this machine", "DynamicUser=no", "DynamicUser=yes"),
            ("root", "User=vatoolbox", "User=root"),
            ("a folder that may not be written", "ReadWritePaths=/srv/vatoolbox", "ReadWritePaths=/srv/data"),
            ("a folder that is not mounted", "AssertPathIsMountPoint=/srv/vatoolbox\n", ""),
            ("no wait for the folder", "RequiresMountsFor=/srv/vatoolbox\n", ""),
            ("another folder", "VATOOLBOX_SERVICE_DATA=/srv/vatoolbox", "VATOOLBOX_SERVICE_DATA=/var/lib/vatoolbox"),
        ]),
        ("a folder on the disk", 1, "StateDirectory=\n", ""),
        ("a limit that is missing", 2, "RestrictNamespaces=yes\n", ""),
        ("a limit that differs", 2, "DeviceAllow=char-drm rw", "DeviceAllow=char-input rw"),
        ("a limit that the other has not", 0, "LockPersonality=yes\n", ""),
        ("another time to drain", 2, "DRAIN_TIMEOUT=3600", "DRAIN_TIMEOUT=60"),
    ]:
        changed_texts = [replaced(text, (old, new)) if place == index else text for place, text in enumerate(texts)]
        name = (files.UNIT, files.CLUSTER, files.WORKER)[index].name
        yield f"{name}: {what}", serving.units(*changed_texts)


def described():
    return json.loads((files.ROOT / "docs" / "openapi.json").read_text())["paths"]


def of_every_pod(workload, limit):
    """Faults of the pods of a workload, whatever they do. `limit` is the resource of their GPU."""
    pod = [workload, "spec", "template", "spec"]
    container = [*pod, "containers", 0]
    yield from [
        ("variables of Services", [*pod, "enableServiceLinks"], None),
        ("rights in the cluster", [*pod, "automountServiceAccountToken"], True),
        ("root", [*pod, "securityContext", "runAsUser"], 0),
        ("no seccomp profile", [*pod, "securityContext", "seccompProfile"], None),
        ("a root that can be written", [*container, "securityContext", "readOnlyRootFilesystem"], False),
        ("privileges", [*container, "securityContext", "privileged"], True),
        ("the network of the node", [*pod, "hostNetwork"], True),
        ("a second container", [*pod, "initContainers"], [{"name": "other"}]),
        ("an unknown setting", [*container, "env", 0, "name"], "VATOOLBOX_SERVICE_WORKERS"),
        ("an unknown command", [*container, "args"], ["work"]),
        ("no limit of memory", [*container, "resources", "limits", "memory"], None),
    ]
    if limit:
        yield from [
            ("a grace period that is too short", [*pod, "terminationGracePeriodSeconds"], 3600),
            ("no group", [*pod, "securityContext", "supplementalGroups"], []),
            ("two GPUs", [*container, "resources", "limits", limit], 2),
            ("no GPU", [*container, "resources", "limits", limit], None),
            ("other labels", [workload, "spec", "selector", "matchLabels"], {"app": "vatoolbox"}),
            ("another service", [workload, "spec", "serviceName"], "other"),
            ("no place for the data", [*container, "volumeMounts", 0, "mountPath"], "/data"),
            ("no /tmp", [*container, "volumeMounts", 1, "mountPath"], "/temporary"),
        ]


def of_the_api():
    """Faults of what serves the API."""
    container = ["StatefulSet/vatoolbox", "spec", "template", "spec", "containers", 0]
    yield from of_every_pod("StatefulSet/vatoolbox", "amd.com/gpu")
    yield from [
        ("a token in the file", [*container, "env", 0], {"name": serving.TOKEN, "value": "secret"}),
        ("a worker in its place", [*container, "args"], ["worker"]),
        ("a probe of a path that is not there", [*container, "startupProbe", "httpGet", "path"], "/health"),
        ("a probe that restarts what drains", [*container, "livenessProbe", "httpGet", "path"], "/readyz"),
        ("another port", [*container, "ports", 0, "containerPort"], 80),
        ("other labels of the Service", ["Service/vatoolbox", "spec", "selector"], {"app": "vatoolbox"}),
        ("results that cannot be fetched", ["Service/vatoolbox", "spec", "publishNotReadyAddresses"], False),
    ]


def kubernetes():
    documents, paths = serving.documents("amd"), described()
    for what, path, value in [
        *of_the_api(),
        ("a volume for several pods", ["StatefulSet/vatoolbox", "spec", "volumeClaimTemplates", 0, "spec",
                                       "accessModes"], ["ReadWriteMany"]),
    ]:
        yield f"Kubernetes: {what}", serving.kubernetes(changed(documents, path, value), "amd.com/gpu", paths)


def clusters():
    documents, paths = serving.documents("cluster/amd"), described()
    worker = ["StatefulSet/vatoolbox-worker", "spec"]
    container = [*worker, "template", "spec", "containers", 0]
    of_api = ["StatefulSet/vatoolbox", "spec"]
    policy, budget = (["NetworkPolicy/vatoolbox-worker", "spec"], ["PodDisruptionBudget/vatoolbox-worker", "spec"])
    location = {"name": serving.LOCATION, "value": "postgresql://a:b@c/d"}
    other = {"name": serving.LOCATION, "valueFrom": {"secretKeyRef": {"name": "other", "key": "location"}}}
    for what, path, value in [
        *((f"API: {what}", path, value) for what, path, value in of_the_api()),
        ("API: two that serve", [*of_api, "replicas"], 2),
        ("API: a volume of its own", [*of_api, "volumeClaimTemplates"], [{"metadata": {"name": "data"}}]),
        ("API: a password in the file", [*of_api, "template", "spec", "containers", 0, "env", -1], location),
        ("API: no database", [*of_api, "template", "spec", "containers", 0, "env", -1], None),
        ("API: another claim", [*of_api, "template", "spec", "volumes", 1, "persistentVolumeClaim", "claimName"], "x"),
        ("a volume for one pod", ["PersistentVolumeClaim/vatoolbox-data", "spec", "accessModes"], ["ReadWriteOnce"]),
        *of_every_pod(worker[0], "amd.com/gpu"),
        ("a service in its place", [*container, "args"], ["serve"]),
        ("a password in the file", [*container, "env", 0], location),
        ("another database", [*container, "env", 0], other),
        ("an address at which it does not listen", [*container, "env", 1, "name"], "VATOOLBOX_SERVICE_LISTEN_HOST"),
        ("a token that it need not know", [*container, "env", 4],
         {"name": serving.TOKEN, "valueFrom": {"secretKeyRef": {"name": "vatoolbox", "key": "token"}}}),
        ("one name for all", [*container, "env", 4], {"name": "VATOOLBOX_SERVICE_STORE_NODE", "value": "a"}),
        ("a probe", [*container, "livenessProbe"], {"exec": {"command": ["vatoolbox-service", "healthy"]}}),
        ("a port", [*container, "ports"], [{"containerPort": 8080}]),
        ("another image", [*container, "image"], "vatoolbox:old"),
        ("another claim", [*worker, "template", "spec", "volumes", 1, "persistentVolumeClaim", "claimName"], "x"),
        ("requests to the API", [*worker, "template", "metadata", "labels"], {"app.kubernetes.io/name": "vatoolbox"}),
        ("one after the other", [*worker, "podManagementPolicy"], "OrderedReady"),
        ("a version that does not start", [*worker, "minReadySeconds"], None),
        ("a budget for nobody", [*budget, "selector", "matchLabels"], {"app": "vatoolbox"}),
        ("a budget that stops everything", [*budget, "maxUnavailable"], 0),
        ("a policy for nobody", [*policy, "podSelector", "matchLabels"], {"app": "vatoolbox"}),
        ("connections from others", [*policy, "ingress"], [{}]),
        ("no rule for connections from others", [*policy, "policyTypes"], ["Egress"]),
        ("connections to everything", [*policy, "egress"], [{}]),
        ("connections to another port", [*policy, "egress", 1, "ports", 0, "port"], 22),
        ("no names", [*policy, "egress", 0, "ports"], [{"protocol": "TCP", "port": 5432}]),
    ]:
        yield f"cluster: {what}", serving.cluster(changed(documents, path, value), "amd.com/gpu", paths)


def parts_of_clusters():
    whole = serving.documents("cluster/base")
    job = ["Job/vatoolbox-migrate", "spec"]
    container = [*job, "template", "spec", "containers", 0]
    for what, path, value in [
        *of_every_pod(job[0], None),
        ("another command", [*container, "args"], ["cluster", "doctor"]),
        ("no role", [*container, "args"], ["cluster", "migrate"]),
        ("a password in the file", [*container, "env", 0], {"name": serving.LOCATION, "value": "postgresql://a@b/c"}),
        ("the role of the pods", [*container, "env", 0, "valueFrom", "secretKeyRef", "name"], "vatoolbox-store"),
        ("another image", [*container, "image"], "vatoolbox:old"),
        ("a job that stays", [*job, "ttlSecondsAfterFinished"], None),
        ("a volume", [*job, "template", "spec", "volumes"], [{"name": "data"}]),
    ]:
        documents = serving.documents("cluster/migrate")
        yield f"migration: {what}", serving.migration(changed(documents, path, value), whole)
    policy = ["NetworkPolicy/vatoolbox-worker-internet", "spec"]
    for what, path, value in [
        ("connections from others", [*policy, "policyTypes"], ["Egress", "Ingress"]),
        ("other pods", [*policy, "podSelector"], {}),
        ("everything", [*policy, "egress"], [{}]),
        ("all ports", [*policy, "egress", 0, "ports"], None),
        ("another port", [*policy, "egress", 0, "ports", 0, "port"], 25),
        ("all addresses", [*policy, "egress", 0, "to"], None),
        ("private addresses", [*policy, "egress", 0, "to", 0, "ipBlock", "except"], None),
        ("addresses of the machine's network", [*policy, "egress", 0, "to", 1, "ipBlock", "except"], ["fc00::/7"]),
        ("addresses inside", [*policy, "egress", 0, "to", 0, "ipBlock", "cidr"], "10.0.0.0/8"),
    ]:
        documents = serving.documents("cluster/internet")
        yield f"internet: {what}", serving.internet(changed(documents, path, value), whole)


def queries():
    rules, dashboard = ((DOCKER / name).read_text() for name in ("prometheus.rules.yml", "grafana/vatoolbox.json"))
    tests = (files.ROOT / "Tests/Docker/prometheus.rules.test.yml").read_text()
    names = {name for text in [alert["expr"] for alert in monitoring.alerts(rules)]
             + [query for _, query in monitoring.queries(dashboard)] for name, _ in monitoring.asked(text)}
    series = {name: None for name in names}
    series |= {"vatoolbox_store_usable": set(), "vatoolbox_queue_tasks": {"queue", "state"}}
    guide = " ".join(f"`{alert['alert']}`" for alert in monitoring.alerts(rules))

    def judged(rules=rules, tests=tests, guide=guide, series=series):
        return monitoring.rules(rules, tests, guide, series)

    yield "alerts: an unknown metric", judged(replaced(rules, ("store_usable", "store_used")))
    yield "alerts: an unknown label", judged(replaced(rules, ("store_usable ==", 'store_usable{kind="x"} ==')))
    yield "alerts: no PromQL", judged(replaced(rules, ("store_usable == 0", "store_usable == ")))
    yield "alerts: no severity", judged(replaced(rules, ("severity: critical", "severity: high")))
    yield "alerts: no test", judged(tests=replaced(tests, *[("VAToolboxDown", "VAToolboxStoreAway")] * 2))
    yield "alerts: a test of none", judged(tests=replaced(tests, ("VAToolboxDown", "VAToolboxUp")))
    yield "alerts: not explained", judged(guide=replaced(guide, ("VAToolboxErrors", "Errors")))
    for what, old, new in [
        ("an unknown metric", "vatoolbox_store_usable", "vatoolbox_store_used"),
        ("an unknown label", '$instance\\",queue=', '$instance\\",share='),
        ("an unknown variable", "$queue", "$queues"),
        ("no PromQL", "min(vatoolbox_store_usable", "min((vatoolbox_store_usable"),
        ("a panel over another", '"x": 12', '"x": 8'),
        ("a panel that is too wide", '"x": 21', '"x": 23'),
        ("two panels with one number", '"id": 3,', '"id": 2,'),
        ("no unit", '"unit": "bytes"', '"unit": ""'),
        ("another source of data", '"uid": "${datasource}"', '"uid": "other"'),
    ]:
        yield f"dashboard: {what}", monitoring.dashboard(replaced(dashboard, (old, new)), series)
    yield "a metric for which nobody asks", monitoring.unused(series | {"vatoolbox_new": None}, dashboard, rules)


def planted():
    """What each fault is, and the complaints about it."""
    yield from expositions()
    yield from compose()
    yield from units()
    yield from kubernetes()
    yield from clusters()
    yield from parts_of_clusters()
    yield from queries()
