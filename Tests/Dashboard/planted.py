# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults that the checks must find: some are planted into a page, others into the program that is served."""

NEW = """(parent, tag, change) => { const one = document.createElement(tag); change(one);
         document.querySelector(parent).append(one); }"""

# For the checks of accessibility, in a page that is shown.
FAULTS = [
    ("a contrast of", "document.querySelector('h1').style.color = '#999'"),
    ("a contrast of", "document.querySelector('#main .muted').style.opacity = 1; "
                      "document.querySelector('#main .muted').style.color = 'rgb(89 98 111 / 40%)'"),
    ("text of 9 px", "document.querySelector('h1').style.fontSize = '9px'"),
    ("an edge with a contrast", "document.querySelector('#main select').style.borderColor = '#eee'"),
    ("no name", "make('main', 'button', one => {})"),
    ("no name", "document.querySelector('#theme').removeAttribute('aria-label')"),
    ("a name without the text that is seen", 
     "make('main', 'button', one => { one.textContent = 'Send'; one.setAttribute('aria-label', 'Other'); })"),
    ("no label", "make('main', 'input', one => {})"),
    ("no alt", "make('main', 'img', one => {})"),
    ("neither hidden nor named", "document.querySelector('main svg').removeAttribute('aria-hidden')"),
    ("scrolls, but not by the keyboard", 
     "make('main', 'div', one => { one.style.cssText = 'height:20px;overflow:auto'; one.innerText = 'a\\nb\\nc'; })"),
    ("no language", "document.documentElement.lang = ''"),
    ("the title is", "document.title = ''"),
    ("not one landmark main", "document.querySelector('main').hidden = true"),
    ("not one landmark navigation", "document.querySelector('nav').remove()"),
    ("2 headings of level 1", "make('main', 'h1', one => { one.textContent = 'x'; })"),
    ("a heading of level 4 after", "make('main', 'h4', one => { one.textContent = 'x'; })"),
    ("an empty heading", "make('main', 'h2', one => {})"),
    ("no live region", "document.getElementById('live').remove()"),
    ("two elements have the ID", "make('main', 'p', one => { one.id = 'main'; })"),
    ("which does not exist", "document.querySelector('h1').setAttribute('aria-describedby', 'nothing')"),
    ("no caption", "make('main', 'table', one => {})"),
    ("no scope", "make('main', 'table', one => { one.createCaption(); "
                 "one.createTHead().insertRow().append(document.createElement('th')); })"),
    ("no item", "make('main', 'ul', one => { one.append(document.createElement('p')); })"),
    ("a tabindex above 0", "make('main', 'p', one => { one.tabIndex = 3; })"),
    ("hidden, but can be focused", "document.querySelector('nav').setAttribute('aria-hidden', 'true')"),
    ("a target of", 
     "make('main', 'button', one => { one.textContent = 'x'; "
     "one.style.cssText = 'width:12px;height:12px;padding:0'; })"),
    ("px wide", "make('main', 'div', one => { one.style.cssText = 'width:3000px;height:1px'; })"),
    ("a name has become markup", "make('main', 'img', one => { one.alt = ''; one.setAttribute('src', 'x'); })"),
]


# For the scenarios, in what is served: the scenario that must fail, the file, a text in it, and what takes its place.
PROGRAM = [
    ("every view is accessible", "dom.js", "document.createTextNode(element.text)",
     "document.createRange().createContextualFragment(element.text || ' ').firstChild ?? document.createTextNode('')"),
    ("overview shows", "dom.js", "node.style.setProperty(name, value)",
     "node.setAttribute('style', `${name}:${value}`)"),
    ("overview shows", "app.js", "acceptDrops();\nstart();",
     "acceptDrops();\nstart();\nfetch('http://127.0.0.1:9/').catch(() => {});"),
    ("overview shows", "app.js", "acceptDrops();\nstart();", "acceptDrops();\nstart();\nconsole.warn('oh');"),
    ("a dropped file", "app.js", "addFiles([...event.dataTransfer.files]);", ""),
    ("a dropped file", "api.js", "request.upload.onprogress =", "request.unused ="),
    ("a dropped file", "store.js", 'if (event.type === "progress") {', 'if (event.type === "progress") { return;'),
    ("a dropped file", "store.js", "announce(`${nameOf", "(() => {})(`${nameOf"),
    ("a dropped file", "job.js", "`verified: ${plural(value.comparedFrames", "`${plural(value.comparedFrames"),
    ("a dropped file", "player.js", "src: value,", "src: value + '0',"),
    ("a cancelled job", "jobs.js", 'rest: "/retry"', 'rest: "/cancel"'),
    ("many jobs", "history.js", "[...value.jobs, ...learn", "[...learn"),
    ("many jobs", "history.js", 'const FILTERS = ["state", "queue", "label", "text"];',
     'const FILTERS = ["state", "queue", "text"];'),
    ("reasons and remedies", "devices.js", "remedies(value.remedies)", "null"),
    ("live jobs", "live.js", "{input: index}", "{input: 0}"),
    ("live jobs", "live.js", '"stop", undefined', '"switch", {input: 0}'),
    ("live jobs", "live.js", "fact(\"Dropped\", String(dropped(told)))", "null"),
    ("a running job", "store.js", "[...samples, progress].slice(", "[progress].slice("),
    ("a running job", "log.js", 'isEnded(job) ? {} : {follow: "true"}', "{}"),
    ("queues and the node", "actions.js", '/${action}`), `Queue', '/pause`), `Queue'),
    ("what is wrong", "create.js", "control?.focus();", ""),
    ("the keyboard", "app.js", "heading.focus({preventScroll: true});", ""),
    ("the keyboard", "dialogs.js", "opener.focus();", "opener.blur();"),
    ("the keyboard", "base.css", "outline: 2px solid var(--accent);", "outline: none;"),
    ("the colours", "app.js", 'localStorage.setItem("theme", next);', ""),
    ("motion", "base.css", "animation: none !important;", ""),
    ("comes back", "stream.js", '"Last-Event-ID": lastID', '"X-Unused": lastID'),
    ("comes back", "store.js", "if (isBack) {", "if (false) {"),
    ("a key", "api.js", "if (!key()) return path;", "return path;"),
    ("a key", "api.js", "else isDismissed = true;", ""),
    ("a key", "api.js", "sessionStorage.removeItem(KEY);", ""),
    ("an empty service", "overview.js", '"Nothing runs now."', '""'),
    ("every view is accessible", "app.css", "grid-template-columns: minmax(0, 1fr);", "grid-template-columns: 420px;"),
]
LIMIT = 6


def program_self_test(run, scenarios, only=None):
    """Serves the pages with each fault. Returns those with which the scenario passes."""
    missed = []
    run.page.limit = run.patience = LIMIT
    for part, file, old, new in PROGRAM:
        if only and only not in part:
            continue
        function = next(one for one in scenarios if part in one.__name__.replace("_", " "))
        run.mock.planted = [(file, old, new)]
        problems = run.attempt(function, run)
        run.mock.planted = []
        print(f"{'found' if problems else 'NOT FOUND'}  {file}: {old[:60]!r}: {' '.join(problems)[:600]!r}", flush=True)
        if not problems:
            missed.append(f"{file}: {old} as {new}")
    return missed


def self_test(page):
    """Plants each fault into a fresh page. Returns those that the checks do not find."""
    missed = []
    page.show(1280, "light")
    for words, fault in FAULTS:
        page.open("#/jobs")
        page.settle()
        page.problems = []
        page.audit("before")
        clean = [line for line in page.problems if words in line]
        # Without another drawing that would repair the page.
        page.evaluate(f"""(async () => {{
          const frame = window.requestAnimationFrame; window.requestAnimationFrame = () => 0;
          await new Promise(done => frame(() => frame(done))); const make = {NEW}; {fault}; return 1; }})()""")
        page.problems = []
        page.audit("after")
        if clean or not any(words in line for line in page.problems):
            missed.append(f"{words}: {fault}")
    return missed
