# SPDX-License-Identifier: GPL-2.0-or-later
"""What users do in the dashboard. Each scenario raises Wrong if something does not happen as it should."""

import json
import re

from model import HOSTILE, HOSTILE_LABEL, REMEDY
from page import Wrong
from service import PAGES, POLICY, TYPES

SCENARIOS = []
HEADING = "document.querySelector('main h1')"
FOCUSED = "document.activeElement"


def scenario(needs=None):
    """Adds a scenario for any service, or for the mock or the built service ("mock", "real")."""
    def add(function):
        SCENARIOS.append((function, needs))
        return function
    return add


def check(condition, text):
    if not condition:
        raise Wrong(text)


def submit_clip(run):
    """Drops the clip and submits it. Returns the path of the job."""
    page = run.page
    page.open("#/")
    page.drop(run.clip)
    page.wait("location.hash === '#/new'", "a dropped file opens the view of a new job")
    page.wait("find('.upload')?.innerText.includes('sound')", "the upload ends, and the input is described")
    page.click("button", "Encode")
    page.wait("/^#\\/jobs\\/[0-9a-z]{26}$/.test(location.hash)", "the page of the new job opens")
    return page.evaluate("location.hash")


@scenario()
def every_file_is_embedded_and_served(run):
    names = {path.name for path in PAGES.iterdir()}
    embedded = set(re.findall(r'PAGE\("([^"]+)"', (PAGES.parent / "dashboard.c").read_text()))
    check(names == embedded, f"dashboard.c and the folder of pages differ in {sorted(names ^ embedded)}")
    page = run.page
    page.open("#/")
    for name in sorted(names):
        path = "/" if name == "index.html" else f"/dashboard/{name}"
        answer = page.evaluate(f"""fetch({json.dumps(path)}).then(async answer => ({{status: answer.status,
          type: answer.headers.get("Content-Type"), policy: answer.headers.get("Content-Security-Policy"),
          text: await answer.text()}}))""")
        check(answer["status"] == 200, f"{path} answers {answer['status']}")
        check(answer["type"].split(";")[0] == TYPES[name.split(".")[-1]].split(";")[0], f"{path} is {answer['type']}")
        check(answer["text"] == (PAGES / name).read_text(), f"{path} is not the file of this copy of the sources")
        if path == "/":
            check(answer["policy"] == POLICY, f"the policy of / is {answer['policy']}")


@scenario()
def overview_shows_the_node(run):
    page = run.page
    page.open("#/")
    for text in ("Node", "Jobs", "Disk", "Load", "Encoder", "Running", "Queues", "default", "Ended lately"):
        page.has(text)
    page.wait("find('.connection.good')", "the page follows the events")


@scenario()
def a_dropped_file_is_encoded_verified_and_played(run):
    page = run.page
    page.open("#/")
    if run.mock:
        run.mock.upload_gate.clear()
    page.drop(run.clip)
    page.wait("location.hash === '#/new'", "a dropped file opens the view of a new job")
    if run.mock:
        # The mock takes one half and waits, so the bar must stand between its ends.
        page.wait("(value => value > 0 && value < 100)(Number(find('.upload [role=progressbar]')"
                  "?.getAttribute('aria-valuenow')))", "the upload has a bar that has begun and not ended")
        page.screenshot(run.folder, "upload")
        run.mock.upload_gate.set()
    page.wait("find('.upload')?.innerText.includes('sound')", "the upload ends, and the input is described")
    name = page.evaluate("find('.upload .row-name').textContent")
    check(name.startswith(run.clip.stem.split("/")[-1]), f"the upload is called {name}")
    page.click("button", "Show the plan")
    page.wait("find('[aria-label=Plan] pre')?.innerText.includes('encode')", "the plan has the command")
    page.screenshot(run.folder, "plan")
    # From here on, progress is that of the job.
    page.evaluate("seen.progress.clear()")
    page.click("button", "Encode")
    page.wait("/^#\\/jobs\\/[0-9a-z]{26}$/.test(location.hash)", "the page of the new job opens")
    page.wait(f"{HEADING}.textContent === {json.dumps(name)}", "the job is called like its file")
    page.wait("find('.title .badge', 'Succeeded')", "the job succeeds", run.patience)
    seen = page.evaluate("({badges: [...seen.badges], progress: [...seen.progress], said: seen.said})")
    check("Running" in seen["badges"], f"the states that were seen: {seen['badges']}")
    check(sum(0 < value < 100 for value in seen["progress"]) >= 2, f"the progress that was seen: {seen['progress']}")
    page.wait("seen.said.some(text => text.includes('succeeded'))", "a screen reader hears of the success")
    page.wait("/verified: [\\d,.\\u202f ]+ frames compared/.test(document.querySelector('main').innerText)",
              "the verification is shown")
    play(page)
    page.wait("document.querySelectorAll('.compare tbody tr').length >= 6", "the tracks are compared")
    page.click("summary", "Log")
    page.wait("find('.log')?.textContent.length > 20", "the log is shown")
    page.click("summary", "Request")
    page.wait("find('pre.code')?.checkVisibility()", "the request is shown")
    page.screenshot(run.folder, "result")
    job = page.evaluate("location.hash")
    page.click("button", "Delete")
    page.wait("find('dialog')?.open", "a dialog asks")
    page.click("dialog button", "Delete the job")
    page.wait("location.hash === '#/jobs'", "after the deletion, the list of jobs is shown")
    page.collect()
    page.tolerated = ("404",)
    page.go(job)
    page.wait("find('.notice.bad')", "the deleted job is gone, and the page says so")


def play(page):
    page.wait("find('video')?.readyState >= 1", "the video has its metadata")
    page.evaluate("(() => { const video = find('video'); video.muted = true; return video.play().then(() => 1); })()")
    page.wait("(video => video.currentTime > 0.3 && video.videoWidth > 0 && !video.error)(find('video'))",
              "the result plays")
    page.evaluate("find('video').pause()")


@scenario()
def a_cancelled_job_is_retried(run):
    page = run.page
    job = submit_clip(run)
    page.wait("find('.title button', 'Cancel')", "a job that has not ended can be cancelled")
    page.click(".title button", "Cancel")
    page.wait("find('dialog')?.open && find('dialog').contains(document.activeElement)", "the dialog has the focus")
    page.click("dialog button", "Cancel the job")
    page.wait("find('.title .badge', 'Cancelled')", "the job is cancelled", run.patience)
    page.evaluate("seen.badges.clear()")
    page.click(".title button", "Retry")
    page.wait("find('.title .badge', 'Succeeded')", "the job succeeds after the retry", run.patience)
    page.wait("document.querySelectorAll('.attempt').length >= 1", "the attempts are listed")
    page.go("#/jobs?text=" + page.evaluate(f"{json.dumps(job)}.slice(7)"))
    page.wait("document.querySelectorAll('table.jobs tbody tr').length === 1", "the text finds the job by its ID")
    page.click("table.jobs tbody input")
    page.has("1 job selected")
    page.click(".bulk button", "Delete 1")
    page.click("dialog button", "Delete the job")
    page.has("No job fits these filters.")


@scenario(needs="mock")
def many_jobs_are_filtered_paged_and_retried(run):
    page = run.page
    page.open("#/jobs")
    rows = "document.querySelectorAll('table.jobs tbody tr').length"
    page.wait(f"{rows} === 50", "the first page has 50 jobs")
    page.click("button", "Show more")
    page.wait(f"{rows} === 100", "the second page follows the first")
    page.click(".tab", "Failed")
    page.wait(f"{rows} > 20 && [...document.querySelectorAll('table.jobs tbody .badge')].every(one => "
              "one.textContent === 'Failed')", "only failed jobs are shown")
    page.evaluate("find('input[placeholder=\"key:value\"]').focus()")
    page.type("batch:2")
    page.wait(f"{rows} === 4", "the label leaves four jobs")
    check("label=batch%3A2" in page.evaluate("location.hash"), "the address holds the filter")
    page.click("thead input")
    page.has("4 jobs selected")
    check(page.evaluate("find('.bulk button', 'Cancel').disabled"), "failed jobs can be cancelled")
    page.screenshot(run.folder, "bulk")
    page.click(".bulk button", "Retry 4")
    page.wait("find('.toast')?.innerText.includes('4 jobs retried')", "a message says what was done")
    page.wait(f"{rows} === 0 || find('.empty')", "the retried jobs leave the list of failed ones")
    page.go("#/jobs?label=batch%3A2&state=succeeded")
    page.wait(f"{rows} >= 16", "the retried jobs succeed")
    page.go("#/jobs?text=onerror")
    page.wait(f"{rows} === 1", "the text finds the file with markup in its name")
    check(page.evaluate("find('tbody th a').textContent") == HOSTILE, "the name is not shown as it is")


@scenario(needs="mock")
def reasons_and_remedies_are_shown(run):
    page = run.page
    page.open("#/devices")
    command = REMEDY.split(": ")[1]
    page.wait(f"[...document.querySelectorAll('code')].some(one => one.textContent === {json.dumps(command)})",
              "a remedy's command can be copied")
    for text in ("Intel UHD Graphics 770", "Not used", "permission-denied", "Suspended", "x264", "x265",
                 "HEVC Main 10"):
        page.has(text)
    page.go("#/jobs?state=failed&text=damaged-tape")
    page.click("tbody th a", "damaged-tape.ts")
    for text in ("Why it failed", "The input ends in the middle of a picture, at 12.4 s.",
                 "vatoolbox probe damaged-tape.ts",
                 "An unchanged retry will fail again."):
        page.has(text)
    page.go("#/jobs?text=documentary.mov")
    page.click("tbody th a", "documentary.mov")
    page.has("customer:" + HOSTILE_LABEL)
    page.wait("[...document.querySelectorAll('.gallery img')].filter(one => one.naturalWidth > 0).length > 0",
              "pictures are shown")
    page.has("show.m3u8, 720p")
    page.click("button", "All 17 files")
    page.wait("document.querySelectorAll('.files li').length === 21", "all files are listed")
    page.click("button", "Send succeeded again")
    page.wait("[...document.querySelectorAll('.badge')].filter(one => one.textContent === 'Delivered').length === 2",
              "the webhook was delivered")


@scenario(needs="mock")
def live_jobs_are_shown_switched_and_stopped(run):
    page = run.page
    page.open("#/live")
    for text in (HOSTILE, "srt://encoder.example:9000?passphrase=***", "rtmps://live.example/app/***", "2.4 Mbit/s",
                 "42 ms", "Connection refused", "137", "HLS from this service", "its process has ended early 2 times"):
        page.has(text)
    stage = "[...document.querySelectorAll('article')].find(one => one.innerText.includes('Main stage'))"
    used = f"{stage}.querySelector('.badge.running + .row-name').innerText"
    check(page.evaluate(used) == "srt://encoder.example:9000?passphrase=***", "the input that is used is not marked")
    page.click("article button", "Use")
    page.wait(f"{used} === {json.dumps('media/' + HOSTILE)}", "the other input is used")
    check(page.evaluate("document.querySelectorAll('article').length") == 3, "there are three live jobs")
    page.click("article button", "Stop")
    page.wait("find('dialog')?.open", "a question comes first")
    page.click("dialog button", "Stop")
    page.wait("document.querySelectorAll('section[aria-labelledby=ended] article').length === 2", "it has ended")
    with run.mock.model.changes:
        run.mock.model.live[:] = run.mock.model.live_jobs()


@scenario(needs="mock")
def a_running_job_is_watched(run):
    page = run.page
    page.open("#/")
    page.click(".cards h3 a", HOSTILE)
    page.wait("(lines => lines.length === 3 && lines.every(one => one.getAttribute('points').split(' ').length >= 4))"
              "([...document.querySelectorAll('.spark-line')])", "the curves grow with the events")
    before = page.evaluate("find('.sparks').innerText")
    page.wait(f"find('.sparks').innerText !== {json.dumps(before)}", "the figures change with the events")
    play(page)
    page.wait("find('p', 'What is encoded so far')", "the preview says what it is")
    page.click("button", "Load the newest")
    page.wait("find('video')?.readyState >= 1", "the preview is loaded again")
    page.click("summary", "Log")
    page.wait("find('.log')?.textContent.includes('encoder h264_vaapi')", "the log is shown")
    length = page.evaluate("find('.log').textContent.length")
    page.wait(f"find('.log').textContent.length > {length}", "the log grows")


@scenario()
def queues_and_the_node_are_drained(run):
    page = run.page
    page.open("#/")
    page.click("button", "Pause queue default")
    page.wait("find('[aria-label=\"Queue default\"] .badge', 'Paused')", "the queue is paused")
    page.click("button", "Resume queue default")
    page.wait("find('button', 'Pause queue default')", "the queue runs again")
    page.click(".tile button", "Drain")
    page.click("dialog button", "Drain")
    page.wait("find('.tile .tile-value', 'Draining')", "the node drains")
    page.click(".tile button", "Resume")
    page.wait("find('.tile .tile-value', 'Ready')", "the node is ready again")


@scenario()
def what_is_wrong_is_said_beside_the_field(run):
    page = run.page
    page.open("#/new")
    page.click("button", "Encode")
    page.has("Choose a file first")
    page.wait(f"{FOCUSED}.id === 'files'", "the field has the focus")
    page.click(".tab", "Path or address")
    page.wait("document.getElementById('place')", "a place can be given")
    page.evaluate("document.getElementById('place').focus()")
    page.type("nowhere/at all.mov")
    page.evaluate("(() => { const one = document.getElementById('rate'); one.value = 'bitRate'; "
                  "one.dispatchEvent(new Event('change', {bubbles: true})); return 1; })()")
    page.wait("document.getElementById('bitRate')", "the bit rate can be given")
    page.evaluate("document.getElementById('bitRate').select(); document.getElementById('bitRate').focus(); 1")
    page.type("many")
    page.click("button", "Encode")
    page.wait(f"{FOCUSED}.id === 'bitRate' && {FOCUSED}.getAttribute('aria-invalid') === 'true' && "
              f"document.getElementById({FOCUSED}.getAttribute('aria-describedby')).textContent.includes('megabits')",
              "the field says what is allowed")


@scenario()
def the_keyboard_is_enough(run):
    page = run.page
    page.tolerated = () if run.mock else ("404",)
    page.open("#/")
    page.settle()
    press_until(page, f"{FOCUSED}.className === 'skip'", "the first stop is the link to the content", most=1)
    page.press("Enter")
    page.wait(f"{FOCUSED} === {HEADING}", "the link leads to the content")
    press_until(page, f"{FOCUSED}.textContent === 'New job'", "Tab reaches the button for a new job")
    page.press("Enter")
    page.wait(f"location.hash === '#/new' && {FOCUSED} === {HEADING}", "a new view has the focus on its heading")
    press_until(page, f"{FOCUSED}.textContent === 'Path or address'", "Tab reaches the kinds of inputs")
    page.press("Space")
    press_until(page, f"{FOCUSED}.id === 'place'", "Tab reaches the field")
    page.type("media/missing <b>.mov" if run.mock else "nowhere/missing <b>.mov")
    press_until(page, f"{FOCUSED}.textContent === 'HLS ladder'", "Tab reaches the containers")
    page.press("Space")
    page.wait("document.getElementById('rungs')", "the ladder can be chosen")
    press_until(page, f"{FOCUSED}.id === 'rungs'", "Tab reaches the ladder")
    page.press("Space")
    page.wait("document.getElementById('rungs').checked", "Space chooses a size")
    press_until(page, f"{FOCUSED}.textContent === 'Encode'", "Tab reaches the button")
    page.press("Enter")
    # The mock has every file below "media".
    if run.mock:
        page.wait("find('.title .badge', 'Succeeded')", "the job succeeds")
    else:
        page.wait("find('.notice.bad')?.innerText.includes('There is no such media root.')", "Enter submits")
        page.collect()
        page.tolerated = ()
    page.open("#/")
    page.settle()
    press_until(page, f"{FOCUSED}.textContent === 'Drain' && {FOCUSED}.closest('.tile')",
                "Tab reaches the node's button")
    page.press("Enter")
    page.wait(f"find('dialog')?.contains({FOCUSED})", "the dialog has the focus")
    for _ in range(6):
        page.press("Tab")
        check(page.evaluate(f"find('dialog').contains({FOCUSED}) || {FOCUSED} === document.body"),
              "the focus leaves the dialog")
    page.press("Escape")
    page.wait(f"!document.querySelector('dialog') && {FOCUSED}.textContent === 'Drain'",
              "Escape returns the focus to the button")


def press_until(page, condition, what, most=80):
    """Presses Tab until a condition holds. Each stop must be seen."""
    for _ in range(most):
        page.press("Tab")
        state = page.evaluate(f"""(() => {{ const one = {FOCUSED}, style = getComputedStyle(one);
          const box = one.getBoundingClientRect();
          const ring = one.type === "file" ? getComputedStyle(one.closest("label")) : style;
          return {{done: Boolean({condition}), body: one === document.body,
            name: one.textContent.slice(0, 40) || one.id || one.getAttribute("aria-label"),
            video: one.tagName === "VIDEO",
            ring: ring.outlineStyle !== "none" && parseFloat(ring.outlineWidth) >= 2,
            seen: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth}}; }})()""")
        if not state["body"] and not state["video"]:
            check(state["ring"], f"the focus is not visible on “{state['name']}”")
            check(state["seen"], f"the focus is outside of the screen, on “{state['name']}”")
        if state["done"]:
            return
    raise Wrong(f"not within {most} presses of Tab: {what}")


@scenario()
def the_colours_can_be_chosen(run):
    page = run.page
    page.show(1280, "light")
    page.open("#/")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.click("#theme")
    check(page.evaluate(ground) == light, "the choice “light” is not light")
    page.click("#theme")
    dark = page.evaluate(ground)
    check(dark != light, "the choice “dark” changes nothing")
    page.open("#/jobs")
    check(page.evaluate(ground) == dark, "the choice is forgotten")
    page.click("#theme")
    check(page.evaluate(ground) == light, "the choice “as the system” is not that of the system")


@scenario()
def motion_is_left_out_for_those_who_ask(run):
    page = run.page
    page.chromium.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
    page.open("#/")
    moving = page.evaluate("""(() => { const one = document.createElement("div"); one.className = "bar unknown";
      const fill = document.createElement("div"); fill.className = "bar-fill";
      one.append(fill); document.body.append(one);
      const style = getComputedStyle(fill); const found = [style.animationName, style.transitionDuration];
      one.remove(); return found; })()""")
    check(moving == ["none", "0s"], f"something moves: {moving}")
    page.show(1280, "light")


@scenario(needs="mock")
def a_service_that_is_away_comes_back(run):
    page, mock = run.page, run.mock
    page.open("#/")
    page.wait("find('.connection.good')", "the page follows the events")
    page.tolerated = ("ERR_", "Failed to load resource")
    mock.refuses = True
    mock.end_streams()
    page.wait("find('.banner')?.innerText.includes('No connection to the service')", "the page says that it is offline")
    page.screenshot(run.folder, "offline")
    page.audit("offline")
    with mock.model.changes:
        job = mock.model.plain("meanwhile.mov", None)
        mock.model.begin(job, None, 0.001)
    # No event tells of this.
    devices, mock.devices = mock.devices, []
    mock.refuses = False
    page.click(".banner button", "Try now")
    page.wait("find('.connection.good') && !find('.banner')", "the page is online again")
    page.wait("find('.cards h3 a', 'meanwhile.mov')", "what happened meanwhile is shown")
    page.has("No GPU is used", "what changed without an event is shown")
    mock.devices = devices
    page.collect()
    page.tolerated = ()
    # A stream that ends is continued where it ended.
    with mock.model.changes:
        count, newest = len(mock.streams), len(mock.model.events)
        mock.end_streams()
        check(mock.model.changes.wait_for(lambda: len(mock.streams) > count, page.limit),
              "the stream is not opened again")
        last = mock.streams[-1]
    check(last and newest - 20 < int(last) <= len(mock.model.events), f"Last-Event-ID is {last}, of {newest} events")
    page.wait("find('.connection.good') && !find('.banner')", "the page follows the events again")
    with mock.model.changes:
        mock.model.finish(job, state="failed")


def give_key(page, key):
    """Gives a wrong key, then the right one, to the question on the page of a job that has succeeded."""
    page.type("wrong")
    page.press("Enter")
    page.wait("find('dialog')?.innerText.includes('refused this key')", "a wrong key is asked for again")
    page.type(key)
    page.press("Enter")
    page.wait("find('.title .badge', 'Succeeded')", "the job is shown with the key")
    play(page)
    source = page.evaluate("new URL(find('video').src).search")
    check("signature=" in source, f"the video is loaded by {source}")
    page.wait("find('.connection.good')", "the page follows the events with the key")


@scenario(needs="mock")
def a_key_is_asked_for(run):
    page, mock = run.page, run.mock
    job = next(one for one in mock.model.jobs.values() if one["request"]["input"].get("path") == "media/holiday.mov")
    page.tolerated = ("401",)
    mock.key = "a secret"
    try:
        page.leave()
        page.chromium.open(page.base + f"#/jobs/{job['id']}")
        page.wait(f"find('dialog')?.contains({FOCUSED})", "a dialog asks for the key")
        page.has("needs a key", selector="dialog")
        page.screenshot(run.folder, "key")
        page.audit("key")
        page.press("Escape")
        page.wait("!document.querySelector('dialog') && find('.notice.bad', '')?.innerText.includes('needs a key')",
                  "a page without a key says what it needs")
        with mock.model.changes:
            count = mock.refusals
            check(mock.model.changes.wait_for(lambda: mock.refusals > count + 1, page.limit), "the page gives up")
        check(page.evaluate("document.querySelector('dialog') === null"), "who has declined is asked again")
        page.audit("without a key")
        page.click("main button", "Try again")
        page.wait(f"find('dialog')?.contains({FOCUSED})", "the question is asked again")
        give_key(page, "a secret")
        page.collect()
        page.tolerated = ("401",)
        page.click("button", "Forget the key")
        page.wait("find('dialog')?.innerText.includes('needs a key')", "a forgotten key is asked for")
        check(page.evaluate("sessionStorage.length") == 0, "the key is not forgotten")
    finally:
        mock.key = None
    page.open("#/")
    page.collect()
    page.tolerated = ()


@scenario(needs="mock")
def an_empty_service_says_what_to_do(run):
    page, mock = run.page, run.mock
    with mock.model.changes:
        jobs, mock.model.jobs = mock.model.jobs, {}
    devices, mock.devices = mock.devices, []
    mock.absence = {"cause": "no-device-folder", "explanation": "There is no /dev/dri, so no GPU can be used.",
                    "remedies": ["In a container: docker run --device /dev/dri vatoolbox"]}
    try:
        for route, text in (("#/", "Nothing runs now."), ("#/", "No GPU is used"), ("#/jobs", "There are no jobs yet."),
                            ("#/devices", "There is no /dev/dri"), ("#/nowhere", "There is no such page")):
            page.open(route)
            page.has(text)
            page.audit(f"empty {route}")
        page.open("#/")
        page.settle()
        page.screenshot(run.folder, "empty")
    finally:
        with mock.model.changes:
            mock.model.jobs = jobs
        mock.devices, mock.absence = devices, None


SCREENS = (360, 1280)
SCHEMES = ("light", "dark")


@scenario()
def every_view_is_accessible(run):
    routes = {"overview": "#/", "jobs": "#/jobs", "live": "#/live", "devices": "#/devices", "new": "#/new"}
    if run.mock:
        for name, place in (("running", f"media/{HOSTILE}"), ("succeeded", "media/holiday.mov"),
                            ("ladder", "media/documentary.mov"),
                            ("failed", "media/damaged-tape.ts")):
            routes[name] = "#/jobs/" + next(job["id"] for job in run.mock.model.jobs.values()
                                            if job["request"]["input"].get("path") == place)
    audit_at_every_size(run, routes)


def audit_at_every_size(run, routes, prefix=""):
    """Audits views and the dialog, on a phone and a desktop, light and dark."""
    page = run.page
    for width in SCREENS:
        for scheme in SCHEMES:
            page.show(width, scheme)
            for name, route in routes.items():
                page.open(route)
                page.settle()
                page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; }); 1")
                page.settle()
                page.audit(f"{prefix}{name}, {width} px, {scheme}")
                page.screenshot(run.folder, f"{prefix}{name}-{width}-{scheme}")
            page.open("#/")
            page.click(".tile button", "Drain")
            page.wait("find('dialog')?.open", "the dialog opens")
            page.audit(f"{prefix}dialog, {width} px, {scheme}")
            page.screenshot(run.folder, f"{prefix}dialog-{width}-{scheme}")
            page.press("Escape")
    page.show(1280, "light")
