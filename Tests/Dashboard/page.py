# SPDX-License-Identifier: GPL-2.0-or-later
"""The dashboard in a browser: what a user does with it, and what it must never do."""

import json
from pathlib import Path

AUDIT = (Path(__file__).resolve().parent / "audit.js").read_text()
# What a page does that it should not, as events of the DevTools protocol.
COMPLAINTS = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded", "Page.javascriptDialogOpening")
KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, "Space": 32, "ArrowDown": 40, "ArrowUp": 38}
WATCH = """
window.violations = [];
addEventListener("securitypolicyviolation", event =>
  violations.push(`${event.effectiveDirective} blocked ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`));
// The page asks before it is left with an upload; a check that goes on may not be held up by that.
addEventListener("beforeunload", event => { if (window.isLeft) event.stopImmediatePropagation(); });
// What was seen of a state and of progress, however short.
window.seen = {badges: new Set(), progress: new Set(), said: []};
new MutationObserver(() => {
  const badge = document.querySelector(".title .badge");
  if (badge) seen.badges.add(badge.textContent);
  for (const bar of document.querySelectorAll("main [role=progressbar]"))
    if (bar.getAttribute("aria-valuenow")) seen.progress.add(Number(bar.getAttribute("aria-valuenow")));
  const said = document.getElementById("live")?.textContent;
  if (said && seen.said.at(-1) !== said) seen.said.push(said);
}).observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
"""
HELPERS = """
window.find = (selector, text) => [...document.querySelectorAll(selector)].find(element => element.checkVisibility()
  && (text === undefined || (element.getAttribute("aria-label") ?? element.textContent).trim().startsWith(text)));
"""


class Wrong(Exception):
    """Something that a user expects does not happen."""


class Page:
    """A page with its complaints. limit: how long to wait for what is expected, in seconds."""

    def __init__(self, chromium, base, limit=60):
        self.chromium, self.base, self.limit = chromium, base, limit
        self.problems, self.place = [], ""
        # Failures to load that a scenario causes on purpose, as parts of their texts.
        self.tolerated = ()
        self.width = None
        chromium.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH + HELPERS)

    def show(self, width, scheme, height=None):
        self.width = width
        self.chromium.show(width, height or (760 if width < 600 else 860), scheme, scale=2 if width < 600 else 1)

    def open(self, route="#/"):
        self.collect()
        self.leave()
        self.chromium.open(self.base + route)
        self.wait("document.querySelector('main h1')", f"the view {route} appears")

    def leave(self):
        self.evaluate("window.isLeft = true")
        self.chromium.open("about:blank")

    def go(self, route):
        self.evaluate(f"location.hash = {json.dumps(route)}; 1")

    def evaluate(self, expression):
        return self.chromium.evaluate(expression)

    def wait(self, expression, what, limit=None):
        """Waits until an expression is true, and returns its value if that is JSON."""
        limit = limit or self.limit
        # In the page, so that nothing that is there only for a moment is missed.
        script = f"""new Promise(resolve => {{
          const end = performance.now() + {limit * 1000};
          const look = () => {{
            let value = null;
            try {{ value = {expression}; }} catch (error) {{ value = null; }}
            if (value) resolve(value instanceof Node ? true : value);
            else if (performance.now() > end) resolve(null);
            else setTimeout(look, 20);
          }};
          look();
        }})"""
        value = self.evaluate(script)
        if not value:
            text = self.evaluate("document.querySelector('main')?.innerText.slice(0, 600)")
            raise Wrong(f"not within {limit} s: {what}. The page says: {text}")
        return value

    def has(self, text, what=None, limit=None, selector="main"):
        """Waits for a text."""
        self.wait(f"document.querySelector({json.dumps(selector)})?.innerText.includes({json.dumps(text)})",
                  what or f"“{text}” is shown", limit)

    def click(self, selector, text=None):
        """Clicks what a user would see, in its middle."""
        find = f"find({json.dumps(selector)}{'' if text is None else ', ' + json.dumps(text)})"
        self.wait(f"{find} && !{find}.disabled", f"there is {selector} {text or ''}")
        # What is loaded meanwhile may move it: it must stay where it is, and be what is hit there.
        self.wait("!document.querySelector('.skeleton')", "all is loaded")
        x, y = self.wait(f"""(() => {{ const one = {find}; one.scrollIntoView({{block: "center"}});
          const box = one.getBoundingClientRect(), place = [box.x + box.width / 2, box.y + box.height / 2];
          const isStill = window.lastPlace?.join() === place.join();
          window.lastPlace = place;
          return isStill && one.contains(document.elementFromPoint(...place)) && place; }})()""",
                         f"{selector} {text or ''} can be clicked")
        for kind in ("mousePressed", "mouseReleased"):
            self.chromium.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key, shift=False):
        code = KEYS[key]
        common = {"key": " " if key == "Space" else key, "code": key, "windowsVirtualKeyCode": code,
                  "modifiers": 8 if shift else 0}
        text = {"Enter": "\r", "Space": " "}.get(key, "")
        self.chromium.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **common)
        self.chromium.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text):
        self.chromium.call("Input.insertText", text=text)

    def drop(self, path):
        """Drops a file on the page, as a file manager does."""
        data = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
        for kind in ("dragEnter", "dragOver", "drop"):
            self.chromium.call("Input.dispatchDragEvent", type=kind, x=180, y=300, data=data)

    def audit(self, name):
        """Complaints of the accessibility checks."""
        for line in self.evaluate(AUDIT):
            self.problems.append(f"{name}: {line}")

    def screenshot(self, folder, name):
        if folder:
            self.evaluate("scrollTo(0, 0)")
            self.chromium.screenshot(folder / f"{name}.png")

    def collect(self):
        """Takes what the browser has told since the last time."""
        lines = []
        for line in self.evaluate("window.violations?.splice(0) ?? []"):
            lines.append(f"the policy is violated: {line}")
        events, self.chromium.events[:] = list(self.chromium.events), []
        for method, parameters in events:
            if method in COMPLAINTS and not any(part in json.dumps(parameters) for part in self.tolerated):
                lines.append(f"{method}: {json.dumps(parameters)[:400]}")
            if method == "Network.requestWillBeSent":
                url = parameters["request"]["url"]
                if not url.startswith((self.base, f"blob:{self.base}", "data:", "about:")):
                    lines.append(f"it asks another origin: {url[:120]}")
        self.problems += [f"{self.place}: {line}" for line in lines]

    def settle(self):
        """Waits until nothing is being loaded, and two frames are drawn."""
        self.wait("!document.querySelector('.skeleton')", "all is loaded")
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")
