# SPDX-License-Identifier: GPL-2.0-or-later
"""What docs/openapi.json says about requests and answers: the mock may not differ from the service."""

import json
import re
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "Tests" / "API"))

import schema  # noqa: E402


class Contract:
    """The document, and the differences that were found. Several threads may use it."""

    def __init__(self):
        self.document = json.loads((ROOT / "docs" / "openapi.json").read_text())
        self.differences, self.lock = [], threading.Lock()
        # Fixed paths come before those with parameters; only the path of a file has several components.
        self.paths = [(re.compile(re.sub(r"\{(\w+)\}", lambda found: ".+" if found[1] == "path" else "[^/]+", path)
                                  + "$"), operations)
                      for path, operations in sorted(self.document["paths"].items(), key=lambda item: "{" in item[0])]

    def operation(self, method, path):
        for pattern, operations in self.paths:
            if pattern.match(path) and method.lower() in operations:
                return operations[method.lower()]
        return None

    def needs_key(self, method, path):
        """Whether a service with keys refuses the request without one."""
        operation = self.operation(method, path)
        return operation is None or "401" in operation["responses"]

    def errors(self, wanted, value):
        whole = {**wanted, "components": self.document["components"]}
        for error in schema.Validator(whole, format_checker=schema.FORMATS).iter_errors(value):
            yield f"{error.json_path}: {error.message[:300]}"

    def refused_body(self, method, path, value):
        """Why the service would refuse the body of a request, or None."""
        operation = self.operation(method, path) or {}
        content = operation.get("requestBody", {}).get("content", {}).get("application/json")
        return next(self.errors(content["schema"], value), None) if content else None

    def refused_query(self, method, path, query):
        """The parameter of a query that the service does not have, or None."""
        operation = self.operation(method, path) or {}
        known = {one["name"] for one in operation.get("parameters", []) if one["in"] == "query"}
        return next((name for name in query if name not in known | {"signature", "expires"}), None)

    def judge(self, method, path, status, kind, value):
        """Notes in which ways an answer is not one of the service."""
        operation = self.operation(method, path)
        if not operation:
            return self.note(f"{method} {path}: the service has no such operation") if status != 404 else None
        answer = operation["responses"].get(str(status))
        if not answer:
            return self.note(f"{method} {path}: the service does not answer {status}")
        if "$ref" in answer:
            answer = self.document["components"]["responses"][answer["$ref"].rsplit("/", 1)[1]]
        content = answer.get("content", {})
        if status != 204 and kind not in content and "*/*" not in content:
            return self.note(f"{method} {path}: {status} with {kind}; the service sends {' or '.join(content)}")
        wanted = content.get(kind, {}).get("schema")
        if wanted and "json" in kind:
            for difference in self.errors(wanted, value):
                self.note(f"{method} {path}, {status}, {difference}")
        return None

    def judge_event(self, event):
        """Notes in which ways an event is not one of the service."""
        schemas = self.document["components"]["schemas"]
        found = list(self.errors({"$ref": "#/components/schemas/Event"}, event))
        known = re.search(r"may be added: ([\w, -]+)", schemas["Event"]["properties"]["type"]["description"])[1]
        if event["type"] not in known.split(", "):
            found.append(f"the type {event['type']} is none of {known}")
        if event["type"] == "progress":
            found += self.errors({"$ref": "#/components/schemas/Progress"}, event["data"])
        for difference in found:
            self.note(f"an event: {difference}")

    def note(self, text):
        # IDs differ from run to run.
        text = re.sub(r"\b[0-9a-z]{26}\b", "ID", text)
        with self.lock:
            if text not in self.differences:
                self.differences.append(text)
