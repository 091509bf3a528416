#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Pages of benchmark reports in headless Chromium: on a phone and a desktop, light and dark.

usage: Tests/Benchmark/pages.py [--program FILE] [--keep FOLDER] [PAGE...]

Without pages they are made by `vatoolbox bench report` of reports that never ran (sample.py), one of which has markup in
all its names. A page must say nothing on the console, ask for nothing, need no scrolling sideways, be legible in both
colour schemes, sort its tables and pick out series by the keyboard, and show its charts without scripts.

--keep: where screenshots of the pages go."""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(ROOT / "scripts" / "verify.d")]

import devtools  # noqa: E402
import measuring  # noqa: E402
import sample  # noqa: E402

SCREENS = {"phone": (390, 844), "desktop": (1440, 900)}
SCHEMES = ("light", "dark")
# What a page does that it should not, as events of the DevTools protocol.
COMPLAINTS = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded", "Page.javascriptDialogOpening")

SCRIPT = r"""
(() => {
  const problems = [];
  const rgb = text => (text.match(/[\d.]+/g) || []).slice(0, 3).map(Number);
  const light = color => { const [r, g, b] = rgb(color).map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const ground = element => { for (let e = element; e; e = e.parentElement) {
    const color = getComputedStyle(e).backgroundColor; if (color !== "rgba(0, 0, 0, 0)") return color; } return "rgb(255, 255, 255)"; };
  const check = (selector, property, least) => { for (const element of document.querySelectorAll(selector)) {
    const ratio = contrast(getComputedStyle(element)[property], ground(element));
    if (ratio < least) { problems.push(`${selector} has a contrast of ${ratio.toFixed(2)}: ${element.textContent.slice(0, 40)}`); break; } } };
  check("h1,h2,h3,p,td,th,small,dt,dd,summary,a,li,caption,footer", "color", 4.5);
  check("svg text", "fill", 4.5);
  check("svg .l", "stroke", 3);
  check("svg .bar, svg .m", "fill", 3);
  if (document.documentElement.scrollWidth > innerWidth) problems.push(`it is ${document.documentElement.scrollWidth} wide`);
  for (const svg of document.querySelectorAll("figure svg[role=img]")) {
    const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
    for (const text of svg.querySelectorAll("text"))
      if (parseFloat(getComputedStyle(text).fontSize) * scale < 8.5) { problems.push(`small text: ${text.textContent}`); break; }
    for (const id of svg.getAttribute("aria-labelledby").split(" "))
      if (!document.getElementById(id)?.textContent) problems.push(`no ${id} of a chart`);
    if (!svg.closest("figure").querySelector("table")) problems.push(`a chart has no table: ${svg.id}`);
  }
  for (const table of document.querySelectorAll("table")) if (!table.caption) problems.push("a table has no caption");
  const columns = row => [...row.cells].length;
  for (const table of document.querySelectorAll("table"))
    for (const row of table.rows) if (columns(row) !== columns(table.rows[0])) { problems.push("a table is ragged"); break; }
  return {problems, charts: document.querySelectorAll("figure svg[role=img]").length,
          ground: getComputedStyle(document.body).backgroundColor};
})()
"""

SORT = r"""
(() => {
  const table = document.querySelector("#points table") || document.querySelector("table");
  const column = [...table.tHead.rows[0].cells].findIndex(cell => cell.textContent.startsWith("Speed"));
  const head = table.tHead.rows[0].cells[column], values = [...table.tBodies[0].rows]
    .map(row => row.cells[column].dataset.v).filter(v => v !== undefined).map(Number);
  const isSorted = sign => values.every((v, i) => i === 0 || sign * (values[i - 1] - v) <= 0);
  head.querySelector("button").focus();
  return {sort: head.getAttribute("aria-sort"), up: isSorted(1), down: isSorted(-1), rows: values.length,
          focused: document.activeElement === head.querySelector("button")};
})()
"""

PICK = r"""
(() => {
  const figure = document.querySelector("figure:has(.legend button)");
  const button = figure.querySelector(".legend button");
  button.focus();
  return {pressed: button.getAttribute("aria-pressed"), dim: figure.querySelectorAll(".dim").length,
          series: figure.querySelectorAll("svg[role=img] [data-series]").length};
})()
"""


def check(chromium, page, keep):
    """What is wrong with a page, as lines."""
    problems, grounds = [], {}
    url = page.resolve().as_uri()
    for screen, (width, height) in SCREENS.items():
        for scheme in SCHEMES:
            chromium.show(width, height, scheme, scale=2 if screen == "phone" else 1)
            chromium.open(url)
            found = chromium.evaluate(SCRIPT)
            grounds[scheme] = found["ground"]
            lines = found["problems"]
            try:
                lines += keyboard(chromium)
            except devtools.Failure as failure:
                lines.append(f"the keyboard does nothing: {str(failure)[-200:]}")
            if found["charts"] == 0:
                lines.append("there is no chart")
            lines += [f"{method}: {str(parameters)[:300]}" for method, parameters in chromium.events if method in COMPLAINTS]
            asked = [parameters["request"]["url"] for method, parameters in chromium.events
                     if method == "Network.requestWillBeSent"]
            lines += [f"it asks for {address[:100]}" for address in asked if address not in (url, "data:,")]
            problems += [f"{screen}, {scheme}: {line}" for line in lines]
            if keep:
                chromium.screenshot(keep / f"{page.stem}-{screen}-{scheme}.png")
    if grounds["light"] == grounds["dark"]:
        problems.append("it looks the same in light and dark")
    return problems + without_scripts(chromium, url)


def keyboard(chromium):
    """Sorts a table and picks a series out of a chart, with the Enter key alone."""
    problems = []
    chromium.evaluate(SORT)
    for order, wanted in (("descending", "down"), ("ascending", "up"), ("descending", "down")):
        chromium.press("Enter", 13, "\r")
        state = chromium.evaluate(SORT)
        if state["sort"] != order or not state[wanted] or not state["focused"] or state["rows"] < 2:
            problems.append(f"Enter does not sort {order}: {state}")
    before = chromium.evaluate(PICK)
    chromium.press("Enter", 13, "\r")
    after = chromium.evaluate(PICK)
    if before["pressed"] != "false" or after["pressed"] != "true" or not 0 < after["dim"] < after["series"]:
        problems.append(f"Enter does not pick out a series: {before}, then {after}")
    chromium.press("Enter", 13, "\r")
    return problems


def without_scripts(chromium, url):
    chromium.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        chromium.open(url)
        root = chromium.call("DOM.getDocument")["root"]["nodeId"]
        count = lambda selector: len(chromium.call("DOM.querySelectorAll", nodeId=root, selector=selector)["nodeIds"])
        problems = []
        if count("figure svg[role=img]") == 0:
            problems.append("without scripts it has no charts")
        if count("button"):
            problems.append("without scripts it has buttons, which do nothing")
        return problems
    finally:
        chromium.call("Emulation.setScriptExecutionDisabled", value=False)


def make_pages(program, folder):
    pages = []
    for name, options in (("hostile", {}), ("plain", {"hostile": False})):
        place = folder / name
        place.mkdir()
        sample.write(place / "sample.json", **options)
        command = [program, "bench", "report", str(place / "sample.json"), str(place)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        pages.append((place / "report.html").rename(place / f"{name}.html"))
    return pages


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, metavar="FILE", help="vatoolbox (default: it is built)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    parser.add_argument("pages", type=Path, nargs="*", metavar="PAGE")
    arguments = parser.parse_args()
    if arguments.keep:
        arguments.keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="vatoolbox-pages-") as folder:
        pages = arguments.pages
        if not pages:
            program = arguments.program or measuring.build("vatoolbox", "debug")
            pages = make_pages(program, Path(folder))
        wrong = 0
        with devtools.Chromium() as chromium:
            for page in pages:
                problems = check(chromium, page, arguments.keep)
                wrong += bool(problems)
                print(f"{page.name}: {'right' if not problems else 'WRONG'} on {', '.join(SCREENS)}, {', '.join(SCHEMES)}")
                for problem in problems:
                    print(f"  {problem}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except devtools.Failure as failure:
        sys.exit(f"Tests/Benchmark/pages.py: {failure}")
