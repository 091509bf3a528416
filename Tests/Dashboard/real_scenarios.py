# SPDX-License-Identifier: GPL-2.0-or-later
"""What users do with the dashboard of the built service. Importing it adds the scenarios to the others."""

import time

from scenarios import FOCUSED, audit_at_every_size, check, give_key, play, scenario

KEY = "a secret of the test"


@scenario(needs="real")
def a_file_is_watched_while_it_grows(run):
    page, real = run.page, run.real
    job = real.begin_growing()
    page.open(f"#/jobs/{job}")
    page.wait("find('p', 'What is encoded so far')", "the preview says what it is")
    loaded = "find('video')?.readyState >= 1"
    end = time.monotonic() + run.patience
    while time.monotonic() < end:
        page.click("button", "Load the newest")
        page.wait(f"{loaded} || find('p', 'There is not enough to play yet.')", "the preview is loaded, or says why not")
        if page.evaluate(loaded) and page.evaluate("find('video').duration > 0.5"):
            break
    play(page)
    page.screenshot(run.folder, "real-growing")
    check(real.service.job(job)["state"] == "running", "the preview was seen at the end only")
    real.service.post(f"/v1/jobs/{job}/cancel")
    page.wait("find('.title .badge', 'Cancelled') && !find('video')", "the preview ends with the job", run.patience)


@scenario(needs="real")
def a_service_at_work_is_shown(run):
    page, real = run.page, run.real
    real.furnish()
    page.open("#/")
    page.wait("document.querySelectorAll('.cards .card').length === 1", "the running job has a card")
    page.wait("document.querySelectorAll('ol.rows > li').length === 7", "the jobs that wait are listed")
    page.go(f"#/jobs/{real.jobs['succeeded']}")
    page.wait("find('[aria-label=\"Send succeeded again\"]')", "the report to the receiver is named by its event")
    play(page)
    page.wait("[...document.querySelectorAll('.compare tbody tr')].some(one => "
              "one.innerText.startsWith('Picture\\t1280 × 720\\t'))", "the input is described beside the result")
    page.go(f"#/jobs/{real.jobs['ladder']}")
    play(page)
    page.wait("[...document.querySelectorAll('.gallery img')].filter(one => one.naturalWidth > 0).length > 0",
              "pictures are shown")
    page.go(f"#/jobs/{real.jobs['failed']}")
    page.has("Why it failed")
    page.go(f"#/jobs/{real.jobs['running']}")
    page.wait("document.querySelectorAll('.spark-line').length === 3", "curves are drawn")
    routes = {"overview": "#/", "jobs": "#/jobs"}
    states = ("running", "succeeded", "ladder", "failed", "waiting-0", "waiting-6")
    routes |= {state: f"#/jobs/{real.jobs[state]}" for state in states}
    audit_at_every_size(run, routes, prefix="real-")


@scenario(needs="real")
def a_service_that_was_killed_comes_back(run):
    page, real = run.page, run.real
    real.furnish()
    page.open(f"#/jobs/{real.jobs['running']}")
    page.wait("find('.title .badge', 'Running')", "the job runs")
    page.wait("find('.connection.good')", "the page follows the events")
    page.tolerated = ("ERR_", "Failed to load resource")
    real.kill()
    page.wait("find('.banner')?.innerText.includes('No connection to the service')", "the page says that it is offline")
    real.start()
    page.wait("find('.connection.good') && !find('.banner')", "the page is online again")
    page.wait("document.querySelectorAll('.attempt').length >= 2 && find('.title .badge', 'Running')",
              "the job runs again, in another attempt", run.patience)
    page.collect()
    page.tolerated = ()


@scenario(needs="real")
def a_real_key_is_asked_for(run):
    page, real = run.page, run.real
    real.furnish()
    page.leave()
    page.tolerated = ("401",)
    real.restart(key=KEY)
    try:
        page.chromium.open(page.base + f"#/jobs/{real.jobs['succeeded']}")
        page.wait(f"find('dialog')?.contains({FOCUSED})", "a dialog asks for the key")
        give_key(page, KEY)
        page.click("summary", "Log")
        page.wait("find('.log')?.textContent.length > 20", "the log is shown")
        page.collect()
        page.tolerated = ()
        page.go("#/")
        page.drop(run.clip)
        page.wait("location.hash === '#/new'", "a dropped file opens the view of a new job")
        page.wait("find('.upload')?.innerText.includes('sound')", "it is uploaded with the key")
        page.tolerated = ("401",)
        page.click("button", "Forget the key")
        page.wait("find('dialog')?.innerText.includes('needs a key')", "a forgotten key is asked for")
        check(page.evaluate("sessionStorage.length") == 0, "the key is not forgotten")
    finally:
        page.leave()
        real.restart()
    page.collect()
    page.tolerated = ()
