#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Values made at random from the schemas of an OpenAPI document, and what jsonschema says about values.

    schema.py generate DOCUMENT SEED COUNT    prints lines {"type", "json", "valid", "fieldsAreValid"}: COUNT values of
                                              each schema, half of them changed at random, whether the schema allows
                                              them, and whether it does without the rules of several keys
    schema.py judge DOCUMENT                  reads lines {"type", "json"}, prints those that are not valid, and why
"""

import datetime
import json
import random
import re
import sys

try:
    from re import _parser as parser
except ImportError:
    import sre_parse as parser

import jsonschema

NOTHING = object()


def pattern(_, expression, instance, __):
    """The keyword `pattern` with the `$` of ECMA-262, which does not match before a line break at the end."""
    # In brackets, it is a letter.
    python = re.sub(r"\[(?:\\.|[^]\\])*\]|\$", lambda found: r"\Z" if found[0] == "$" else found[0], expression)
    if isinstance(instance, str) and not re.search(python, instance):
        yield jsonschema.ValidationError(f"{instance!r} does not match {expression!r}")


def is_time(text):
    if not isinstance(text, str):
        return True
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z", text):
        return False
    try:
        datetime.datetime.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")
        return True
    except ValueError:
        return False


Validator = jsonschema.validators.extend(jsonschema.Draft202012Validator, {"pattern": pattern})
FORMATS = jsonschema.FormatChecker(formats=())
FORMATS.checks("date-time")(is_time)


class Schemas:
    def __init__(self, document):
        self.components = document["components"]
        self.names = sorted(self.components["schemas"])
        self.validators = {}

    def is_valid(self, name, value):
        return next(self.errors(name, value), None) is None

    def errors(self, name, value):
        if name not in self.validators:
            schema = {"$ref": f"#/components/schemas/{name}", "components": self.components}
            self.validators[name] = Validator(schema, format_checker=FORMATS)
        return self.validators[name].iter_errors(value)

    def resolve(self, schema):
        if "$ref" in schema:
            return self.components["schemas"][schema["$ref"].rsplit("/", 1)[1]]
        return schema


class Maker:
    """Makes values of schemas, and changes them."""

    def __init__(self, schemas, seed):
        self.schemas = schemas
        self.random = random.Random(seed)

    def make(self, schema, depth=0):
        schema = self.schemas.resolve(schema)
        if "enum" in schema:
            return self.random.choice(schema["enum"])
        kind = schema.get("type")
        if kind == "object":
            return self.object(schema, depth)
        if kind == "array":
            count = self.count(schema.get("minItems", 0), schema.get("maxItems"), depth)
            return [self.make(schema["items"], depth + 1) for _ in range(count)]
        if kind == "boolean":
            return self.random.random() < 0.5
        if kind in ("integer", "number"):
            return self.number(schema, kind)
        if kind == "string":
            return self.string(schema)
        return self.random.choice([None, True, 1.5, "text", [1, {"a": []}], {"b": 2, "a": {}}])

    def count(self, least, most, depth):
        limit = least + (3 if depth < 3 else 1)
        if self.random.random() < 0.02 and most is not None and most <= 40:
            return most
        return self.random.randint(least, limit if most is None else min(limit, most))

    def object(self, schema, depth):
        value = {}
        required = set(schema.get("required", []))
        alternatives = schema.get("oneOf") or schema.get("anyOf")
        left_out = set()
        if alternatives:
            chosen = self.random.choice(alternatives)["required"]
            required |= set(chosen)
            if "oneOf" in schema:
                left_out = {key for other in alternatives for key in other["required"]} - set(chosen)
        for key, property in schema.get("properties", {}).items():
            if key in required or key not in left_out and self.random.random() < 0.4:
                value[key] = self.make(property, depth + 1)
        if isinstance(schema.get("additionalProperties"), dict):
            names = schema.get("propertyNames", {"type": "string"})
            for _ in range(self.count(schema.get("minProperties", 0), schema.get("maxProperties"), depth)):
                value[self.string(names)] = self.make(schema["additionalProperties"], depth + 1)
        return value

    def number(self, schema, kind):
        least, most = schema.get("minimum"), schema.get("maximum")
        if "exclusiveMinimum" in schema:
            least = schema["exclusiveMinimum"] + 0.001
        least = -1000 if least is None else least
        most = least + 10**6 if most is None else most
        choice = self.random.random()
        if choice < 0.3:
            value = least if choice < 0.15 else most
        elif kind == "integer":
            value = self.random.randint(least, most)
        else:
            value = self.random.uniform(least, most)
        if "multipleOf" in schema:
            value = min(value // schema["multipleOf"] * schema["multipleOf"], most)
        return float(value) if kind == "integer" and self.random.random() < 0.1 and abs(value) < 2**53 else value

    def string(self, schema):
        if schema.get("format") == "date-time":
            moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=self.random.randint(0, 10**13))
            return moment.isoformat(timespec="milliseconds") + "Z"
        least, most = schema.get("minLength", 0), schema.get("maxLength")
        for _ in range(100):
            text = self.matching(schema["pattern"]) if "pattern" in schema else self.text()
            if self.random.random() < 0.02 and most is not None and most <= 400 and text:
                # A long row of combining characters is refused before any schema applies.
                text = (text.replace("\u0301", "x") * most)[:most]
            if least <= len(text) and (most is None or len(text) <= most):
                return text
        return "x" * least

    def text(self):
        letters = "abcXYZ019 ._-/@:%é漢😀\u0301"
        return "".join(self.random.choice(letters) for _ in range(self.random.randint(0, 12)))

    def matching(self, expression):
        """A text that a regular expression describes; lookaheads are ignored."""
        return "".join(self.part(operation, argument) for operation, argument in parser.parse(expression))

    def part(self, operation, argument):
        name = str(operation)
        if name == "LITERAL":
            return chr(argument)
        if name == "IN":
            return self.letter(argument)
        if name in ("MAX_REPEAT", "MIN_REPEAT"):
            least, most, content = argument
            count = self.random.randint(int(least), min(int(most), int(least) + 8))
            return "".join(self.part(*part) for _ in range(count) for part in content)
        if name == "SUBPATTERN":
            return "".join(self.part(*part) for part in argument[-1])
        if name == "BRANCH":
            return "".join(self.part(*part) for part in self.random.choice(argument[1]))
        if name in ("AT", "ASSERT_NOT"):
            return ""
        raise ValueError(f"schema.py cannot make texts for {name}")

    def letter(self, choices):
        if str(choices[0][0]) == "NEGATE":
            excluded = choices[1:]
            letters = "abcXYZ019 ._-@:%é漢😀\u0301\u0085"
            return self.random.choice([letter for letter in letters if not self.contains(excluded, letter)])
        name, argument = self.random.choice(choices)
        return chr(argument) if str(name) == "LITERAL" else chr(self.random.randint(*argument))

    @staticmethod
    def contains(choices, letter):
        return any(
            argument == ord(letter) if str(name) == "LITERAL" else argument[0] <= ord(letter) <= argument[1]
            for name, argument in choices
        )

    # Changes

    def change(self, schema, value):
        """The value with one change at a random place, which the schema may allow."""
        schema = self.schemas.resolve(schema)
        inner = []
        if isinstance(value, dict):
            properties = schema.get("properties", {})
            inner = [(key, properties.get(key, schema.get("additionalProperties") or {})) for key in value]
        elif isinstance(value, list):
            inner = [(index, schema.get("items", {})) for index in range(len(value))]
        if inner and self.random.random() < 0.85:
            key, part = self.random.choice(inner)
            if isinstance(part, bool):
                part = {}
            changed = self.change(part, value[key])
            copy = value.copy()
            copy[key] = changed
            return copy
        return self.replaced(schema, value)

    def replaced(self, schema, value):
        changes = [lambda: self.random.choice([None, True, 0, -1, 1.5, "", "x", [], {}, 10**15, 1e300, -0.0])]
        if isinstance(value, dict):
            changes += [lambda: self.without(value), lambda: value | {self.text(): 1}] * 2
            names = list(schema.get("properties", {}))
            if names:
                changes.append(lambda: value | {self.random.choice(names): self.random.choice([None, "", 0])})
            if "maxProperties" in schema:
                changes.append(lambda: {f"k{index}": "1" for index in range(schema["maxProperties"] + 1)})
        elif isinstance(value, list):
            changes += [lambda: value[1:], lambda: value + [None]] * 2
            if schema.get("maxItems", 1000) <= 64 and value:
                most = schema["maxItems"]
                changes.append(lambda: (value * (most + 1))[: most + self.random.choice([0, 1])])
        elif isinstance(value, str):
            changes += [lambda: self.edited(value)] * 4
            if schema.get("maxLength", 10**6) <= 10**4:
                changes.append(lambda: (value or "a") + "a" * (schema["maxLength"] + 1 - max(1, len(value))))
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            for key, step in (("minimum", -1), ("maximum", 1), ("exclusiveMinimum", 0)):
                if key in schema:
                    limit = schema[key]
                    changes += [lambda limit=limit, step=step: limit + step, lambda limit=limit: limit] * 2
            changes += [lambda: value + 1, lambda: value + 0.5, lambda: -value, lambda: str(value)]
        return self.random.choice(changes)()

    def without(self, value):
        copy = dict(value)
        if copy:
            del copy[self.random.choice(list(copy))]
        return copy

    def edited(self, text):
        letters = "\n\r\t\u0001\u001b\u007f\u0085\u2028/\\.:@%?# aZ09-_é😀"
        place = self.random.randint(0, len(text))
        letter = self.random.choice(letters)
        return self.random.choice([
            text[:place] + letter + text[place:], text[:place] + letter + text[place + 1:],
            text[:place] + text[place + 1:], text + "\n", text.upper(), "/" + text, "../" + text, text + "/..",
            text + "//",
        ])


def without_rules_of_several_keys(document):
    copy = json.loads(json.dumps(document))
    for schema in copy["components"]["schemas"].values():
        schema.pop("oneOf", None)
        schema.pop("anyOf", None)
    return Schemas(copy)


def generate(document, seed, count):
    schemas, fields = Schemas(document), without_rules_of_several_keys(document)
    maker = Maker(schemas, seed)
    for name in schemas.names:
        schema = schemas.components["schemas"][name]
        for index in range(count):
            value = maker.make(schema)
            for _ in range(index % 2 and maker.random.randint(1, 2)):
                value = maker.change(schema, value)
            record = {"type": name, "json": json.dumps(value), "valid": schemas.is_valid(name, value)}
            print(json.dumps(record | {"fieldsAreValid": fields.is_valid(name, value)}))


def judge(schemas):
    for line in sys.stdin:
        record = json.loads(line)
        for error in schemas.errors(record["type"], json.loads(record["json"])):
            print(f"{record['type']} {error.json_path}: {error.message[:300]}: {record['json'][:500]}")
            break


def main():
    with open(sys.argv[2], encoding="utf-8") as file:
        document = json.load(file)
    if sys.argv[1] == "generate":
        generate(document, int(sys.argv[3]), int(sys.argv[4]))
    else:
        judge(Schemas(document))


if __name__ == "__main__":
    main()
