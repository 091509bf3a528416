# SPDX-License-Identifier: GPL-2.0-or-later
"""Why lines are not run, as people wrote it down."""

from fnmatch import fnmatchcase


class Reasons:
    """The entries of a file, one a line: FILE | FUNCTION | REASON. The first two are patterns of the shell; FUNCTION may
    be "words" that stand in the lines instead, or only "words" of which each of them consists. The first entry that fits
    a place gives its reason."""

    def __init__(self, path):
        self.entries, self.used = [], set()
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if line.strip() and not line.startswith("#"):
                parts = [part.strip() for part in line.split(" | ", 2)]
                if len(parts) != 3 or not all(parts):
                    raise ValueError(f"{path}:{number}: an entry is FILE | FUNCTION | REASON")
                self.entries.append(parts)

    def reason(self, place):
        for number, (file, function, reason) in enumerate(self.entries):
            if fits(file, function, place):
                self.used.add(number)
                return reason
        return None

    def unused(self, targets):
        """Entries for these targets that no place needed."""
        return [f"{file} | {function}" for number, (file, function, _) in enumerate(self.entries)
                if number not in self.used and file.split("/", 1)[0] in {"*", *targets}]


def fits(file, function, place):
    if not fnmatchcase(place.file, f"Sources/{file}"):
        return False
    if function.startswith('only "'):
        return all(line.strip() == function[6:-1] for line in place.source)
    if function.startswith('"'):
        return any(function[1:-1] in line for line in place.source)
    return fnmatchcase(place.function, function)
