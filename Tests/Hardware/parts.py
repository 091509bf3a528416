# SPDX-License-Identifier: GPL-2.0-or-later
"""Parts of docs/reliability.md, each between comments that say who writes it."""

from pathlib import Path

DOCUMENT = Path(__file__).resolve().parent.parent.parent / "docs" / "reliability.md"


def marks(area):
    return f"<!-- Written by scripts/verify {area} --write. -->\n", f"<!-- The end of what {area} writes. -->\n"


def read(area):
    """The area's part; None if there is none."""
    first, last = marks(area)
    text = DOCUMENT.read_text() if DOCUMENT.exists() else ""
    return text.split(first, 1)[1].split(last, 1)[0] if first in text and last in text else None


def write(area, part):
    """Puts a part in the place of the area's own; a new one at the end."""
    first, last = marks(area)
    text = DOCUMENT.read_text() if DOCUMENT.exists() else ""
    before, after = text, ""
    if read(area) is not None:
        before, rest = text.split(first, 1)
        after = rest.split(last, 1)[1]
    elif text:
        before += "\n"
    DOCUMENT.write_text(before + first + part + last + after)
