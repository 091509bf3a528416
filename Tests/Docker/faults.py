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
    text = files.UNIT.read_text()
    for what, old, new in [
        ("a setting that is none", "SERVICE_DRAIN_TIMEOUT", "SERVICE_DRAIN"),
        ("an end before that of the tasks", "TimeoutStopSec=62min", "TimeoutStopSec=60min"),
        ("SIGTERM for tasks", "KillMode=mixed", "KillMode=control-group"),
        ("another folder", "StateDirectory=vatoolbox", "StateDirectory=service"),
        ("a file system that it may change", "ProtectSystem=strict", "ProtectSystem=full"),
        ("capabilities", "CapabilityBoundingSet=", "CapabilityBoundingSet=CAP_SYS_ADMIN"),
        ("root", "DynamicUser=yes", "DynamicUser=no"),
        ("tasks that cannot confine themselves", " landlock_restrict_self", ""),
    ]:
        yield f"systemd: {what}", serving.unit(replaced(text, (old, new)))


def kubernetes():
    described = json.loads((files.ROOT / "docs" / "openapi.json").read_text())["paths"]
    documents = serving.documents("amd")
    pod = ["StatefulSet", "spec", "template", "spec"]
    container = [*pod, "containers", 0]
    for what, path, value in [
        ("variables of Services", [*pod, "enableServiceLinks"], None),
        ("rights in the cluster", [*pod, "automountServiceAccountToken"], True),
        ("a grace period that is too short", [*pod, "terminationGracePeriodSeconds"], 30),
        ("root", [*pod, "securityContext", "runAsUser"], 0),
        ("no seccomp profile", [*pod, "securityContext", "seccompProfile"], None),
        ("no group", [*pod, "securityContext", "supplementalGroups"], []),
        ("a root that can be written", [*container, "securityContext", "readOnlyRootFilesystem"], False),
        ("privileges", [*container, "securityContext", "privileged"], True),
        ("the network of the node", [*pod, "hostNetwork"], True),
        ("a token in the file", [*container, "env", 0], {"name": serving.TOKEN, "value": "secret"}),
        ("an unknown setting", [*container, "env", 1, "name"], "VATOOLBOX_SERVICE_WORKERS"),
        ("a probe of a path that is not there", [*container, "startupProbe", "httpGet", "path"], "/health"),
        ("a probe that restarts what drains", [*container, "livenessProbe", "httpGet", "path"], "/readyz"),
        ("another port", [*container, "ports", 0, "containerPort"], 80),
        ("no volume for the data", [*container, "volumeMounts", 0, "mountPath"], "/data"),
        ("two GPUs", [*container, "resources", "limits", "amd.com/gpu"], 2),
        ("no limit of memory", [*container, "resources", "limits", "memory"], None),
        ("a volume for several pods", ["StatefulSet", "spec", "volumeClaimTemplates", 0, "spec", "accessModes"],
         ["ReadWriteMany"]),
        ("other labels", ["Service", "spec", "selector"], {"app": "vatoolbox"}),
        ("results that cannot be fetched", ["Service", "spec", "publishNotReadyAddresses"], False),
    ]:
        if path[-1] == "name":  # of the variable, not of the one for the time to drain
            path = [*path[:-2], 2, "name"]
        yield f"Kubernetes: {what}", serving.kubernetes(changed(documents, path, value), "amd.com/gpu", described)


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
    yield from queries()
