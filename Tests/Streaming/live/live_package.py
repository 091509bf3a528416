# SPDX-License-Identifier: GPL-2.0-or-later
"""The second judge: the package m3u8 of the Python Package Index, which runs in another Python."""

import json
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

PRINTER = """
import json, sys, m3u8
def hint(one):
    found = one.preload_hint
    return found and [found.hint_type, found.uri]
def version(path):
    one = m3u8.load(path)
    return {
        "version": int(one.version), "target": one.target_duration, "first": one.media_sequence or 0,
        "discontinuity": one.discontinuity_sequence or 0, "end": one.is_endlist,
        "part_target": one.part_inf.part_target if one.part_inf else None,
        "skipped": one.skip.skipped_segments if one.skip else 0, "hint": hint(one),
        "reports": [[report.uri, report.last_msn, report.last_part] for report in one.rendition_reports],
        "segments": [[part.uri, part.duration, part.init_section.uri if part.init_section else None,
                      part.discontinuity, bool(part.gap_tag),
                      [[piece.uri, piece.duration, piece.independent == "YES", piece.gap == "YES"]
                       for piece in part.parts]] for part in one.segments]}
print(json.dumps([version(path) for path in json.load(sys.stdin)]))
"""


def described(entry):
    """What this judge reads, in the form of the printer, which knows only the last hint."""
    one = entry.playlist
    optional = lambda value: int(value) if value is not None else None  # noqa: E731
    # The package leaves these tags to the segment when it is complete.
    opened = [replace(one.open, map=None, is_discontinuity=False)] if one.open else []
    segments = [*one.segments, *opened]
    return {
        "version": one.version, "target": one.target, "first": one.first, "discontinuity": one.discontinuity,
        "end": one.is_complete, "part_target": float(one.part_target) if one.part_target else None,
        "skipped": one.skipped, "hint": [one.hints[-1]["TYPE"], one.hints[-1]["URI"]] if one.hints else None,
        "reports": [[report["URI"], optional(report.get("LAST-MSN")), optional(report.get("LAST-PART"))]
                    for report in one.reports],
        "segments": [[part.uri, float(part.duration) if part.uri else None, part.map and part.map[0],
                      part.is_discontinuity, part.is_gap,
                      [[piece.uri, float(piece.duration), piece.is_independent, piece.is_gap] for piece in part.parts]]
                     for part in segments]}


def compare(recording, python):
    """Texts about what the package reads in another way."""
    entries = recording.playlists
    with tempfile.TemporaryDirectory() as name:
        paths = []
        for number, entry in enumerate(entries):
            path = Path(name) / f"{number}.m3u8"
            path.write_bytes(entry.body)
            paths.append(str(path))
        ended = subprocess.run([str(python), "-c", PRINTER], input=json.dumps(paths), capture_output=True, text=True)
    if ended.returncode:
        return [f"the package m3u8 fails: {ended.stderr[-500:]}"]
    differences = []
    for entry, found in zip(entries, json.loads(ended.stdout)):
        for key, value in described(entry).items():
            if found[key] != value:
                differences.append(f"{entry.url}: the package m3u8 reads {key} as {str(found[key])[:300]}, not "
                                   f"{str(value)[:300]}")
    return differences
