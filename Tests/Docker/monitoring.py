# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether what the service tells of itself, and what the dashboard and the alerts ask, fit together.

Functions here take texts and values, and return complaints. Needs prometheus-client and promql-parser from PyPI."""

import json
import math
import re

import promql_parser
import yaml
from prometheus_client.parser import text_string_to_metric_families

PREFIX = "vatoolbox_"
#: Metrics that Prometheus makes itself.
OWN = {"up", "ALERTS"}
SUFFIXES = {"histogram": ("_bucket", "_sum", "_count"), "summary": ("", "_sum", "_count")}
UNITS = {"seconds", "bytes", "ratio", "info", "total"}
#: Parts of names whose unit is none of Prometheus' base units.
OTHER_UNITS = re.compile(r"_(ms|milliseconds|minutes|hours|kb|mb|gb|kilobytes|megabytes|percent|bits)(_|$)")


# What /metrics says

def families(text):
    """The metric families of an exposition, by name, as Prometheus' own parser of Python reads them."""
    return {family.name if family.type != "counter" else family.name + "_total": family
            for family in text_string_to_metric_families(text)}


def exposition(text):
    """Complaints about an exposition in Prometheus' text format."""
    yield from form(text)
    try:
        read = families(text)
    except ValueError as error:
        yield f"/metrics cannot be parsed: {error}"
        return
    for name, family in read.items():
        yield from naming(name, family)
        yield from values(name, family)


def form(text):
    """What a tolerant parser does not see: the order of lines, and what is said twice."""
    if not text.endswith("\n"):
        yield "/metrics does not end with a line feed"
    seen, current, series, kinds = set(), None, set(), {}
    for line in text.splitlines():
        if line.startswith("# "):
            words = line.split(" ", 3)
            if len(words) < 4 or words[1] not in ("HELP", "TYPE"):
                yield f"a comment is neither HELP nor TYPE, or is empty: {line}"
                continue
            if (words[1], words[2]) in seen:
                yield f"{words[2]} has {words[1]} twice"
            if words[1] == "TYPE":
                kinds[words[2]] = words[3]
                # The parser adds the suffix where it is missing.
                if words[2].endswith("_total") != (words[3] == "counter"):
                    yield f"{words[2]} is a {words[3]}; counters, and only they, end in _total"
                if words[2] != current:
                    yield f"TYPE of {words[2]} does not follow its HELP"
            else:
                current = words[2]
            seen.add((words[1], words[2]))
            continue
        identity = line.rsplit(" ", 1)[0]
        name = re.match(r"[a-zA-Z_:][a-zA-Z0-9_:]*", identity)
        if not name:
            yield f"no line of a metric: {line}"
            continue
        names = {f"{current}{suffix}" for suffix in SUFFIXES.get(kinds.get(current), ("",))}
        if name.group() not in names:
            yield f"{name.group()} is not below its own HELP and TYPE"
        if identity in series:
            yield f"there are two of {identity}"
        series.add(identity)
    for kind, name in seen:
        if ("HELP" if kind == "TYPE" else "TYPE", name) not in seen:
            yield f"{name} has only {kind}"


def naming(name, family):
    """Prometheus' conventions for names."""
    if not name.startswith(PREFIX) or not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        yield f"{name} does not begin with {PREFIX}, or is not in snake_case"
    if family.type not in ("counter", "gauge", "histogram"):
        yield f"{name} is a {family.type}"
    if OTHER_UNITS.search(name):
        yield f"{name} is not in a base unit (seconds, bytes)"
    if family.type == "histogram" and not UNITS & {name.rsplit("_", 1)[1]}:
        yield f"{name} does not end in its unit"
    if not family.documentation or family.documentation.endswith("."):
        yield f"{name} has no help, or one with a full stop"
    for sample in family.samples:
        for label, value in sample.labels.items():
            if not re.fullmatch(r"[a-z][a-z_]*", label) or label in ("job", "instance"):
                yield f"{name} has the label {label}"
            if label != "le" and len(value) > 128:
                yield f"{name} has a label of {len(value)} characters"


def values(name, family):
    """What the values of each kind have to be."""
    for sample in family.samples:
        if math.isnan(sample.value) or math.isinf(sample.value):
            yield f"{sample.name} is {sample.value}"
        if family.type in ("counter", "histogram") and sample.value < 0:
            yield f"{sample.name} is {sample.value}"
    if family.type == "histogram":
        yield from histogram(name, family)


def histogram(name, family):
    groups = {}
    for sample in family.samples:
        labels = tuple(sorted(item for item in sample.labels.items() if item[0] != "le"))
        group = groups.setdefault(labels, {"buckets": []})
        if sample.name.endswith("_bucket"):
            group["buckets"].append((float(sample.labels["le"]), sample.value))
        else:
            group[sample.name.rsplit("_", 1)[1]] = sample.value
    for group in groups.values():
        bounds = [bound for bound, _ in group["buckets"]]
        counts = [count for _, count in group["buckets"]]
        if bounds != sorted(set(bounds)) or bounds[-1:] != [math.inf]:
            yield f"{name} has buckets up to {bounds}: not in order, or without +Inf"
        if counts != sorted(counts):
            yield f"{name} has buckets that are not cumulative: {counts}"
        if group.get("count") != (counts or [None])[-1] or "sum" not in group:
            yield f"{name} has no sum, or another count ({group.get('count')}) than its last bucket"


def grown(before, after):
    """Complaints about counters that have decreased from one exposition to the next, or series that have gone."""
    later = {(sample.name, *sorted(sample.labels.items())): sample.value
             for family in families(after).values() for sample in family.samples}
    for name, family in families(before).items():
        if family.type == "gauge":
            continue
        for sample in family.samples:
            value = later.get((sample.name, *sorted(sample.labels.items())))
            if value is None or value < sample.value:
                yield f"{sample.name}{sample.labels} was {sample.value} and is {value}"


# What is asked of Prometheus

def asked(expression):
    """The series that an expression names: pairs of a metric's name and its labels."""
    found = []

    def enter(node):
        if isinstance(node, promql_parser.VectorSelector):
            found.append((node.name, {matcher.name for matcher in node.matchers.matchers}))
        return True

    promql_parser.walk(promql_parser.parse(expression), enter)
    return found


def known_series(text):
    """The names that can be asked for, each with its labels; `None` where /metrics has no sample to tell them."""
    series = {}
    for name, family in families(text).items():
        for suffix in SUFFIXES.get(family.type, ("",)):
            labels = [set(sample.labels) for sample in family.samples if sample.name == name + suffix]
            series[name + suffix] = set.union(*labels) if labels else None
    return series


def expression(where, text, series):
    """Complaints about an expression."""
    try:
        found = asked(text)
    except ValueError as error:
        yield f"{where}: {error}"
        return
    if not found:
        yield f"{where} asks for no metric: {text}"
    for name, labels in found:
        if name in OWN:
            continue
        if name not in series:
            yield f"{where} asks for {name}, which /metrics does not have"
        elif series[name] is not None and not labels <= series[name] | {"job", "instance"}:
            yield f"{where} asks for {name} by {sorted(labels - series[name])}, which it does not have"


# The alerts

def alerts(text):
    return [rule for group in yaml.safe_load(text)["groups"] for rule in group["rules"]]


def rules(text, tests, documentation, series):
    """Complaints about the file of alerts, its tests and its documentation."""
    tested = {}
    for test in yaml.safe_load(tests)["tests"]:
        for case in test["alert_rule_test"]:
            tested.setdefault(case["alertname"], set()).add(bool(case["exp_alerts"]))
    names = [alert["alert"] for alert in alerts(text)]
    for name in {name for name in names if names.count(name) > 1}:
        yield f"there are two alerts {name}"
    for name in set(tested) - set(names):
        yield f"a test is about {name}, which is no alert"
    for alert in alerts(text):
        name = alert["alert"]
        yield from expression(name, alert["expr"], series)
        if alert["labels"].get("severity") not in ("critical", "warning"):
            yield f"{name} has the severity {alert['labels'].get('severity')}"
        if set(alert["annotations"]) != {"summary", "description"} or "for" not in alert:
            yield f"{name} has no summary, description or time"
        if True not in tested.get(name, ()):
            yield f"{name} has no test in which it fires"
        if f"`{name}`" not in documentation:
            yield f"docs/service-operation.md does not explain {name}"


# The dashboard

def queries(text):
    """The title of a panel, its expression with values in place of variables, and whether it is for one moment."""
    found = []
    for panel in json.loads(text)["panels"]:
        for target in panel.get("targets", []):
            query = target["expr"].replace("$__rate_interval", "1m")
            found.append((panel["title"], re.sub(r"\$\{?(instance|queue)\}?", ".*", query)))
    return found


def dashboard(text, series):
    """Complaints about a dashboard of Grafana."""
    document = json.loads(text)
    variables = {item["name"]: item for item in document["templating"]["list"]}
    panels = document["panels"]
    numbers = [panel["id"] for panel in panels]
    if len(set(numbers)) != len(numbers):
        yield "two panels have the same number"
    for source in set(re.findall(r'"datasource": {[^}]*"uid": "([^"]*)"', text)) - {"${datasource}"}:
        yield f"something asks another source of data: {source}"
    taken = {}
    for panel in panels:
        place = panel["gridPos"]
        if place["x"] + place["w"] > 24:
            yield f"{panel['title']} is wider than the page"
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                other = taken.setdefault((x, y), panel["title"])
                if other != panel["title"]:
                    yield f"{panel['title']} covers {other}"
                    break
        if panel["type"] == "row":
            continue
        if not panel["targets"]:
            yield f"{panel['title']} asks nothing"
        if not panel["fieldConfig"]["defaults"].get("unit"):
            yield f"{panel['title']} has no unit"
    for name, item in variables.items():
        if item["type"] != "query":
            continue
        query = re.fullmatch(r"label_values\((.+), (\w+)\)", item["definition"])
        if not query:
            yield f"the variable {name} is not read from labels"
            continue
        selector, label = query.groups()
        yield from expression(f"the variable {name}", re.sub(r"\$\w+", ".*", selector), series)
        if label != "instance" and label not in (series.get(selector.split("{")[0]) or {label}):
            yield f"the variable {name} has no label {label}"
    for used in set(re.findall(r"\$\{?(\w+)", text)) - set(variables) - {"__rate_interval", "__all"}:
        yield f"the dashboard has no variable {used}"
    for title, query in queries(text):
        yield from expression(title, query, series)


def unused(series, dashboard_text, rules_text):
    """Complaints about metrics for which nobody asks."""
    words = [query for _, query in queries(dashboard_text)] + [alert["expr"] for alert in alerts(rules_text)]
    used = {name for query in words for name, _ in asked(query)}
    for name in sorted(set(series) - used):
        yield f"{name} is neither in the dashboard nor in an alert"
