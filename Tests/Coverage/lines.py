# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines that were run and lines that were not, as llvm-cov of the Swift toolchain tells them."""

import json
import re
import shutil
import subprocess
from pathlib import Path

# What the compiler makes of one function: its closures, arguments left out, initial values.
PARTS_OF_A_FUNCTION = re.compile(r"^(?:(?:implicit )?closure #\d+ in |default argument \d+ of |defer #\d+ \(\) in "
                                 r"|autoclosure #\d+ in )+")


class Place:
    """Lines of a function, one after the other, that were not run. Lines without code may lie between them."""

    def __init__(self, file, function, first, last, text):
        self.file, self.function, self.first, self.last = file, function, first, last
        self.source = text[first - 1:last]

    @property
    def span(self):
        return f"{self.first}-{self.last}" if self.last > self.first else str(self.first)


class File:
    """A source file: its name below the repository's top, lines that hold code, those that were run, the other ones."""

    def __init__(self, name, counts, functions, text):
        self.name, self.total = name, len(counts)
        self.covered = sum(count > 0 for count in counts.values())
        self.places = []
        previous = None
        for line in sorted(counts):
            if counts[line] > 0:
                previous = None
                continue
            function = function_at(line, functions)
            if previous and previous.function == function:
                previous.last, previous.source = line, text[previous.first - 1:line]
            else:
                previous = Place(name, function, line, line, text)
                self.places.append(previous)


def function_at(line, functions):
    """The name of the innermost function around a line."""
    around = [(last - first, name) for first, last, name in functions if first <= line <= last]
    return min(around)[1] if around else "?"


def tool(name):
    """A program of the toolchain that `swift` is of."""
    return str(Path(shutil.which("swift")).resolve().parent / name)


def output(*command, given=None):
    return subprocess.run(list(map(str, command)), input=given, capture_output=True, text=True, check=True).stdout


def programs(folder):
    """What was built and can be run: the commands, the helpers, and the tests."""
    found = []
    for path in sorted(Path(folder).iterdir()):
        if path.is_file() and path.suffix in ("", ".xctest"):
            with open(path, "rb") as file:
                if file.read(4) == b"\x7fELF":
                    found.append(path)
    return found


def demangled(names):
    """The functions' names as they stand in the source, closures as the functions that they are in."""
    names = sorted(names)
    # A private function's name begins with its file.
    mangled = "\n".join(name.rsplit(":", 1)[-1] for name in names) + "\n"
    shown = output(tool("swift-demangle"), "--simplified", given=mangled).splitlines()
    return {name: PARTS_OF_A_FUNCTION.sub("", simple) for name, simple in zip(names, shown)}


def read(root, folder, profiles):
    """All files under Sources, with the counts of all profiles of a folder."""
    merged = Path(profiles) / "all.profdata"
    raw = sorted(Path(profiles).glob("*.profraw"))
    output(tool("llvm-profdata"), "merge", "--sparse", *raw, "-o", merged)
    built = programs(folder)
    objects = [built[0], *(word for path in built[1:] for word in ("--object", path))]
    common = [*objects, "--instr-profile", merged, "--ignore-filename-regex", r"/\.build/|/Tests/|/checkouts/"]
    counts = {}
    for line in output(tool("llvm-cov"), "export", "--format=lcov", "--skip-functions", *common).splitlines():
        if line.startswith("SF:"):
            current = counts.setdefault(line[3:], {})
        elif line.startswith("DA:"):
            number, count = line[3:].split(",")[:2]
            current[int(number)] = int(count)
    functions = {}
    exported = json.loads(output(tool("llvm-cov"), "export", "--format=text", *common))["data"][0]["functions"]
    names = demangled({function["name"] for function in exported})
    for function in exported:
        regions = [region for region in function["regions"] if region[5] == 0]
        if regions:
            span = min(region[0] for region in regions), max(region[2] for region in regions)
            functions.setdefault(function["filenames"][0], []).append((*span, names[function["name"]]))
    files = []
    for path in sorted(counts):
        if Path(path).is_relative_to(Path(root) / "Sources"):
            text = Path(path).read_text().splitlines()
            files.append(File(str(Path(path).relative_to(root)), counts[path], functions.get(path, []), text))
    return files
