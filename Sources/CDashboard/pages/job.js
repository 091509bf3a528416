// SPDX-License-Identifier: GPL-2.0-or-later
// One job: how far it is, what it made and how that was checked, what failed, and its log.

import {act} from "./actions.js";
import {get, jobPath, json, post, segment} from "./api.js";
import {h} from "./dom.js";
import {codec, plural, span} from "./format.js";
import {canCancel, canDelete, canRetry, inputText, isEnded, runningTime, title} from "./jobs.js";
import {log, stopLog} from "./log.js";
import {badge, button, copyButton, curves, fact, failure, icon, loaded, positionText, progressBar, progressText,
  section, sign, toast, waitingText, when} from "./parts.js";
import {files, preview} from "./player.js";
import {addSample, forget, learn, load, onEvents, resource, soon, state} from "./store.js";
import {comparison, notes, results} from "./tracks.js";

const RELOAD_PAUSE = 200;

let id = null;
let stopFollowing = null;
const reloadSoon = soon(() => {
  if (stopFollowing) reloadJob();
}, RELOAD_PAUSE);

export const jobView = {
  title: () => resource("job").value ? title(resource("job").value) : "Job",
  open(_, [given]) {
    if (id !== given) for (const name of ["job", "input", "deliveries"]) forget(name);
    id = given;
    reloadJob();
    stopFollowing ??= onEvents(event => {
      if (event !== null && event.job !== id) return;
      reloadSoon();
    });
  },
  close() {
    stopFollowing?.();
    stopFollowing = null;
    stopLog();
  },
  render() {
    return [
      h("p", {class: "crumb small"}, h("a", {href: "#/jobs"}, icon("back"), "All jobs")),
      resource("job").value === undefined
        && h("h1", {tabindex: "-1"}, resource("job").problem ? "Job" : "Loading the job"),
      loaded(resource("job"), show, reloadJob, 8),
    ];
  },
};

async function reloadJob() {
  const wanted = id;
  await load("job", async () => learn([await get(jobPath(wanted))])[0]);
  const job = resource("job").value;
  if (!job || job.id !== id) return;
  if (job.progress && job.state === "running") addSample(id, job.progress);
  if (job.request.webhook) load("deliveries", async () => (await get(jobPath(id, "/deliveries"))).deliveries);
  if (job.state === "succeeded" && state.resources.input === undefined && !job.request.input.url) loadInput(job);
}

function loadInput(job) {
  return load("input", () => post("/v1/probe", {input: job.request.input}));
}

function show(job) {
  return [head(job), now(job), job.failure && section("failure", "Why it failed", null, failure(job.failure)),
    job.warnings?.length > 0 && h("div", {class: "notice warning", key: "warnings"}, sign("warning"),
      h("ul", {class: "notice-body plain"}, job.warnings.map(text => h("li", null, text)))),
    outputs(job), tracks(job), attempts(job), log(job), deliveries(job), request(job)];
}

function head(job) {
  const labels = Object.entries(job.labels ?? {});
  return h("div", {key: "head"},
    h("div", {class: "title"},
      h("div", {class: "title-name"}, h("h1", {tabindex: "-1"}, title(job)),
        job.cancelRequested && !isEnded(job) ? badge("cancelled", "Cancelling") : badge(job.state)),
      h("div", {class: "actions"},
        canRetry(job) && button("Retry", () => act("retry", [job]), {kind: "primary"}),
        canCancel(job) && button("Cancel", () => act("cancel", [job])),
        canDelete(job) && button("Delete", async () => {
          if ((await act("remove", [job])).length) location.hash = "#/jobs";
        }, {kind: "danger"}))),
    h("dl", {class: "facts wide-facts"},
      fact("Input", h("span", {class: "break"}, inputText(job))), fact("Queue", job.queue),
      fact("Priority", job.priority), fact("Share", job.share), fact("Submitted", when(job.createdAt)),
      fact("Started", job.startedAt && when(job.startedAt)),
      fact("Ended", job.endedAt && when(job.endedAt)), fact("Ran", job.startedAt && span(runningTime(job))),
      fact("Deadline", job.deadline && when(job.deadline)),
      fact("Expires", job.expiresAt && isEnded(job) && when(job.expiresAt)),
      fact("Labels", labels.length > 0 && h("ul", {class: "chips"}, labels.map(([key, value]) => h("li", {key},
        h("a", {class: "chip", href: `#/jobs?${new URLSearchParams({label: `${key}:${value}`})}`},
          `${key}:${value}`))))),
      fact("ID", h("span", {class: "command"}, h("code", null, job.id), copyButton(job.id, "Copy the ID")))));
}

function now(job) {
  if (job.state === "waiting") return h("div", {class: "notice", key: "now"}, sign("waiting"),
    h("div", {class: "notice-body"}, h("p", null, h("strong", null, waitingText(job.waiting))),
      job.waiting?.message && h("p", null, job.waiting.message)));
  if (job.state !== "running") return null;
  return h("section", {class: "panel", key: "now", "aria-label": "Progress"}, progressBar(job),
    h("p", {class: "between"}, h("strong", null, progressText(job)),
      h("span", {class: "muted number"}, positionText(job.progress))),
    curves(job, state.samples.get(job.id)));
}

function outputs(job) {
  return section("outputs", "Outputs", null, h("div", {class: "stack"}, job.outputs.map(output =>
    h("article", {class: "panel", key: output.index, "aria-label": `Output ${output.name}`},
      h("div", {class: "panel-head"}, h("h3", {class: "break"}, output.name),
        h("div", {class: "actions"}, verification(output), badge(output.state))),
      encoder(output.encoder), h("div", {class: "media"}, preview(output)), files(output)))));
}

/// What was proved of an output. Without this, a success only says that the encoder did not complain.
function verification({verification: value, state: outputState}) {
  if (!value) return outputState === "succeeded" ? h("span", {class: "muted small"}, "not verified") : null;
  const text = value.comparedFrames > 0 ? `verified: ${plural(value.comparedFrames, "frame")} compared`
    : `verified: ${plural(value.frames, "frame")} decoded`;
  const quality = value.psnr?.lowest ?? (typeof value.psnr === "number" ? value.psnr : undefined);
  return h("span", {class: "verified"}, sign("succeeded"), h("span", null, text,
    value.audioTracks > 0 && `, ${plural(value.audioTracks, "sound track")}`,
    quality !== undefined && `, at least ${quality.toFixed(1)} dB`));
}

function encoder(value) {
  if (!value) return null;
  return h("dl", {class: "facts"},
    fact("Encoder", h("strong", null, value.name),
      ` (${[codec(value.codec), value.profile].filter(Boolean).join(", ")})`),
    fact("Device", value.device ? h("code", null, value.device) : "CPU"), fact("Driver", value.driver),
    fact("Reason", value.reason),
    fact("Switches", value.switches > 0 && `${plural(value.switches, "time")} to another encoder; no frame was lost`));
}

function tracks(job) {
  const list = results(job);
  if (!list.length) return null;
  const input = state.resources.input;
  const remarks = [...new Set(list.flatMap(({result}) => notes(result)))];
  return section("tracks", "Input and outputs",
    !input && button("Read the input", () => loadInput(job), {kind: "small"}),
    input?.problem && h("p", {class: "muted small"}, `The input cannot be read any more: ${input.problem.message}`),
    h("div", {class: "panel flush scroll", tabindex: "0", role: "region",
      "aria-label": "Tracks of the input and the outputs"},
      h("table", {class: "compare"}, h("caption", {class: "hidden"}, "Tracks of the input and the outputs"),
        h("thead", null, h("tr", null, h("td", null), h("th", {scope: "col"}, "Input"),
          list.map(({name}) => h("th", {scope: "col", class: "break"}, name)))),
        h("tbody", null, comparison(input?.value, list).map(row => h("tr", {key: row.name},
          h("th", {scope: "row"}, row.name), row.cells.map(cell => h("td", null, cell || "–"))))))),
    remarks.length > 0 && h("ul", {class: "notes small"}, remarks.map(text => h("li", null, text))));
}

const OUTCOMES = {succeeded: "succeeded", failed: "failed", lost: "failed", released: "cancelled",
  cancelled: "cancelled"};
const OUTCOME_NAMES = {lost: "Worker lost", released: "Given back"};

const same = (first, second) => JSON.stringify(first) === JSON.stringify(second);

function attempts(job) {
  if (!job.attempts.length) return null;
  return section("attempts", "Attempts", null, h("ol", {class: "rows panel"}, job.attempts.map((attempt, place) => {
    // The service numbers all its attempts, of whichever jobs.
    const number = job.attempts.slice(0, place + 1).filter(one => one.output === attempt.output).length;
    const outcome = OUTCOMES[attempt.outcome] ?? "running";
    return h("li", {class: "attempt", key: `${attempt.output} ${attempt.number}`},
      h("div", {class: "row"}, badge(outcome, OUTCOME_NAMES[attempt.outcome]),
        h("span", {class: "row-name"}, `Attempt ${number} at ${job.outputs[attempt.output]?.name
          ?? `task ${attempt.output}`}`),
        h("span", {class: "row-text muted small"}, [`number ${attempt.number} in the log`, attempt.worker, attempt.encoder?.name,
          attempt.endedAt && span((Date.parse(attempt.endedAt) - Date.parse(attempt.startedAt)) / 1000)]
          .filter(Boolean).join(", ")),
        h("span", {class: "muted small row-end"}, when(attempt.startedAt))),
      // What failed at last stands above already.
      same(attempt.failure, job.failure) ? null : failure(attempt.failure));
  })));
}

function deliveries(job) {
  if (!job.request.webhook) return null;
  const again = async delivery => {
    try {
      await json("POST", jobPath(job.id, `/deliveries/${segment(delivery.id)}/redeliver`));
      toast("It is sent again.", "good");
    } catch (problem) {
      toast(problem.message, "bad");
    }
    reloadJob();
  };
  return section("deliveries", "Webhook", null,
    h("p", {class: "small break"}, h("code", null, job.request.webhook.url)),
    loaded(resource("deliveries"), list => list.length ? h("ul", {class: "rows panel"}, list.map(delivery =>
      h("li", {class: "row", key: delivery.id},
        badge(delivery.state === "delivered" ? "succeeded" : delivery.state === "failed" ? "failed" : "waiting",
          {delivered: "Delivered", failed: "Failed"}[delivery.state] ?? "Pending"),
        h("span", {class: "row-name"}, delivery.type),
        h("span", {class: "row-text muted small"}, [delivery.status && `answered ${delivery.status}`,
          delivery.attempts && plural(delivery.attempts, "attempt"), delivery.error].filter(Boolean).join(", ")),
        h("span", {class: "muted small row-end"}, when(delivery.deliveredAt ?? delivery.lastAttemptAt ?? delivery.createdAt)),
        button("Send again", () => again(delivery), {kind: "small", "aria-label": `Send ${delivery.type} again`}))))
      : h("p", {class: "muted"}, "Nothing was sent yet."), reloadJob, 2));
}

function request(job) {
  const text = JSON.stringify(job.request, null, 2);
  return h("details", {class: "panel", key: "request"}, h("summary", null, "Request"),
    h("pre", {class: "code", tabindex: "0", role: "region", "aria-label": "Request as JSON"}, text),
    copyButton(text, "Copy the request"));
}
