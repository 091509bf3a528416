// SPDX-License-Identifier: GPL-2.0-or-later
// A new job: files that are uploaded, or a place that the service reads; and what is made of them.

import {get, idempotencyKey, json, post, segment, upload} from "./api.js";
import {h} from "./dom.js";
import {bytes, lastComponent, plural, span} from "./format.js";
import {fields} from "./form.js";
import {button, fact, icon, problemNotice, sign, toast} from "./parts.js";
import {FIRST_FORM, fittingRungs, freeName, makeRequest} from "./request.js";
import {changed, reload, reloadLists} from "./store.js";
import {summary} from "./tracks.js";

let form = {...FIRST_FORM};
let files = [];
let errors = {};
let problem = null;
let plans = [];
let isBusy = false;
let number = 0;
let uploads = Promise.resolve();
const keys = new Map();

export const create = {
  title: () => "New job",
  open() {
    reload("presets", "queues", "capabilities");
  },
  render() {
    return [
      h("div", {class: "title"}, h("h1", {tabindex: "-1"}, "New job")),
      h("form", {class: "create", novalidate: true, onsubmit: event => {
        event.preventDefault();
        submit();
      }},
      source(),
      fields(form, errors, change),
      problem && problemNotice(problem),
      h("div", {class: "submit"},
        h("button", {type: "submit", class: "button primary", disabled: isBusy}, submitText()),
        button("Show the plan", plan, {disabled: isBusy, "aria-describedby": "plan-hint"}),
        h("p", {class: "muted small", id: "plan-hint"}, "The plan says which encoder will be used, and why.")),
      plans.map(showPlan)),
    ];
  },
};

window.addEventListener("beforeunload", event => {
  if (files.some(file => file.state === "uploading" || file.state === "queued")) event.preventDefault();
});

function change(name, value) {
  form = {...form, [name]: value};
  delete errors[name];
  plans = [];
  changed();
}

function submitText() {
  const isUpload = form.source === "upload";
  if (isBusy) return isUpload && files.some(file => file.state !== "ready") ? "Waiting for the upload" : "Starting";
  return isUpload && files.length > 1 ? `Encode ${files.length} files` : "Encode";
}

/// Takes files, from a drop or the button, and begins to upload them one after another.
export function addFiles(list) {
  form = {...form, source: "upload"};
  delete errors.file;
  for (const file of list) {
    number += 1;
    const entry = {number, file, state: "queued", sent: 0, controller: new AbortController()};
    files = [...files, entry];
    entry.done = uploads = uploads.catch(() => {}).then(() => send(entry));
  }
  changed();
}

async function send(entry) {
  if (entry.controller.signal.aborted) return;
  entry.state = "uploading";
  entry.startedAt = Date.now();
  changed();
  try {
    const {uploads: known} = await get("/v1/uploads");
    entry.name = freeName(entry.file.name, new Set(known.map(one => one.name)));
    entry.upload = await upload(entry.name, entry.file, {signal: entry.controller.signal, onProgress: sent => {
      entry.sent = sent;
      changed();
    }});
    entry.state = "ready";
    changed();
    entry.report = await post("/v1/probe", {input: {upload: entry.upload.id}}).catch(error => {
      entry.warning = error.message;
    });
    if (form.rungs === FIRST_FORM.rungs && entry.report)
      form = {...form, rungs: fittingRungs(form.rungs, entry.report)};
  } catch (error) {
    if (error.name === "AbortError") return;
    entry.state = "failed";
    entry.problem = error;
  }
  changed();
}

function removeFile(entry) {
  entry.controller.abort();
  files = files.filter(one => one !== entry);
  if (entry.upload) json("DELETE", `/v1/uploads/${segment(entry.upload.id)}`).catch(() => {});
  changed();
}

function tryAgain(entry) {
  files = files.filter(one => one !== entry);
  addFiles([entry.file]);
}

function source() {
  const choose = (value, text) => h("button", {type: "button", class: "tab",
    "aria-pressed": String(form.source === value), onclick: () => change("source", value)}, text);
  return h("fieldset", {class: "panel"}, h("legend", null, "Input"),
    h("div", {class: "tabs", role: "group", "aria-label": "Where the input is"}, choose("upload", "Upload"),
      choose("place", "Path or address")),
    form.source === "upload" ? [
      h("div", {class: "dropzone"}, icon("upload"), h("p", null, "Drop video files here, or"),
        h("label", {class: "button"}, files.length ? "Add files" : "Choose files",
          h("input", {type: "file", class: "hidden", multiple: true, id: "files",
            accept: "video/*,.mkv,.ts,.m2ts,.mxf,.y4m,.h264,.h265,.hevc",
            "aria-describedby": errors.file ? "error-file" : null, onchange: event => {
              addFiles([...event.target.files]);
              event.target.value = "";
            }}))),
      errors.file && h("p", {class: "error", id: "error-file"}, errors.file),
      files.length > 0 && h("ul", {class: "rows"}, files.map(fileRow)),
    ] : h("label", {class: "field"}, h("span", {class: "label"}, "Path under a media root, or an http(s) address"),
      h("input", {type: "text", id: "place", value: form.place, placeholder: "media/films/holiday.mov",
        spellcheck: "false", autocomplete: "off", "aria-invalid": errors.place ? "true" : null,
        "aria-describedby": errors.place ? "error-place" : null,
        oninput: event => change("place", event.target.value)}),
      errors.place && h("span", {class: "error", id: "error-place"}, errors.place)));
}

function fileRow(entry) {
  const fraction = entry.file.size ? entry.sent / entry.file.size : 0;
  const rate = entry.sent / Math.max(0.001, (Date.now() - entry.startedAt) / 1000);
  const words = {queued: "Waits for the upload before", failed: entry.problem?.message, ready: entry.report
    ? summary(entry.report) : entry.warning ?? "Uploaded",
  uploading: `${bytes(entry.sent)} of ${bytes(entry.file.size)}, ${bytes(rate)}/s, `
    + `${span((entry.file.size - entry.sent) / Math.max(rate, 1))} left`}[entry.state];
  return h("li", {key: entry.number, class: "upload"},
    h("div", {class: "row"},
      sign({ready: entry.warning ? "warning" : "succeeded", failed: "failed"}[entry.state] ?? "waiting"),
      h("span", {class: "row-name break"}, entry.name ?? entry.file.name),
      entry.state === "failed" && button("Try again", () => tryAgain(entry), {kind: "small"}),
      button(entry.state === "uploading" ? "Stop" : "Remove", () => removeFile(entry),
        {kind: "small quiet", "aria-label": `Remove ${entry.file.name}`})),
    h("p", {class: `small ${entry.state === "failed" || entry.warning ? "error" : "muted"}`}, words),
    entry.state === "uploading" && h("div", {class: "bar", role: "progressbar",
      "aria-label": `Upload of ${entry.file.name}`, "aria-valuemin": "0", "aria-valuemax": "100",
      "aria-valuenow": Math.floor(fraction * 100)},
    h("div", {class: "bar-fill", style: {width: `${(fraction * 100).toFixed(1)}%`}})));
}

/// The inputs with their names, when they are there: uploads are awaited.
async function inputs() {
  if (form.source === "place") {
    const place = form.place.trim();
    if (!place) {
      errors = {place: "Write where the input is, such as media/holiday.mov or https://example.com/holiday.mov."};
      return [];
    }
    return [{input: /^https?:\/\//i.test(place) ? {url: place} : {path: place}, name: lastComponent(place)}];
  }
  if (!files.length) {
    errors = {file: "Choose a file first, or drop one on the page."};
    return [];
  }
  const isPending = entry => entry.state === "queued" || entry.state === "uploading";
  // More files may be added while the first ones are uploaded.
  while (files.some(isPending)) await Promise.allSettled(files.filter(isPending).map(entry => entry.done));
  const failed = files.find(entry => entry.state === "failed");
  if (failed) throw failed.problem;
  // The name of the upload, not its ID: it is what people see in lists of jobs.
  return files.map(entry => ({input: {upload: entry.upload.name}, name: entry.file.name, report: entry.report}));
}

/// The requests of the form; none, with the errors shown and the first one focused, if it is not complete.
async function requests() {
  errors = {};
  const made = (await inputs()).map(({input, name, report}) => makeRequest(form, input, name, report));
  for (const one of made) errors = {...errors, ...one.errors};
  const first = Object.keys(errors)[0];
  if (first) {
    changed();
    requestAnimationFrame(() => requestAnimationFrame(() => {
      const control = document.getElementById({file: "files"}[first] ?? first);
      const details = control?.closest("details");
      if (details) details.open = true;
      control?.focus();
    }));
    return [];
  }
  return made.map(({request}) => request);
}

async function busy(work) {
  isBusy = true;
  problem = null;
  plans = [];
  changed();
  try {
    await work();
  } catch (error) {
    problem = error;
  }
  isBusy = false;
  changed();
}

function submit() {
  return busy(async () => {
    const wanted = await requests();
    const jobs = [];
    // Each job that was accepted leaves the form, so that a second attempt after a failure submits the others only.
    for (const request of wanted) {
      jobs.push(await submitOnce(request));
      if (form.source === "upload") files = files.filter(entry => entry.upload?.name !== request.input.upload);
    }
    if (!jobs.length) return;
    toast(`${plural(jobs.length, "job")} submitted.`, "good");
    form = {...form, place: "", name: ""};
    reloadLists();
    // Who has gone elsewhere during the upload stays there.
    if (location.hash === "#/new") location.hash = jobs.length === 1 ? `#/jobs/${jobs[0].id}` : "#/jobs";
  });
}

/// Submits a request. If the answer is lost and the user tries again, the service returns the job that it has made.
async function submitOnce(request) {
  const text = JSON.stringify(request);
  if (!keys.has(text)) keys.set(text, idempotencyKey());
  const job = await post("/v1/jobs", request, {headers: {"Idempotency-Key": keys.get(text)}});
  keys.delete(text);
  return job;
}

function plan() {
  return busy(async () => {
    for (const request of await requests())
      plans = [...plans, await post("/v1/jobs", request, {query: {dryRun: "true"}})];
  });
}

function showPlan(value) {
  const {encoder, estimate} = value;
  return h("section", {class: "panel", "aria-label": "Plan"}, h("h2", null, "Plan"),
    h("dl", {class: "facts"},
      encoder && fact("Encoder", h("strong", null, encoder.name),
        encoder.device ? ` on ${encoder.device}` : " on the CPU", `: ${encoder.reason}`),
      value.input && fact("Input", summary(value.input)),
      fact("Takes about", estimate?.duration !== undefined && span(estimate.duration)),
      fact("Makes about", estimate?.size !== undefined && bytes(estimate.size))),
    value.warnings?.length > 0 && h("ul", {class: "notes"}, value.warnings.map(text => h("li", null, text))),
    value.tasks.map(task => h("pre", {class: "code", tabindex: "0", role: "region",
      "aria-label": `Command of task ${task.index}`, key: task.index}, task.command.map(quoted).join(" "))));
}

/// An argument as a shell takes it.
function quoted(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
