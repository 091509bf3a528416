// SPDX-License-Identifier: GPL-2.0-or-later
// What several views are made of.

import {askAgain} from "./api.js";
import {h, render} from "./dom.js";
import {ago, bitRate, clock, frames, moment, percent, span, speed} from "./format.js";
import {PHASES, STATE_NAMES, WAITING, remedyParts, title} from "./jobs.js";

const PATHS = {
  waiting: "M8 4.5V8l2.3 1.4",
  running: "M6.3 5.2v5.6L10.8 8z", succeeded: "M4.9 8.2 7 10.3l4.1-4.5",
  failed: "M5.7 5.7l4.6 4.6M10.3 5.7 5.7 10.3",
  cancelled: "M5.2 8h5.6", warning: "M8 4.6v4M8 11v.2",
};

/// A sign in a circle; the text beside it says the same.
export function sign(name) {
  return h("svg", {class: "sign", viewBox: "0 0 16 16", "aria-hidden": "true", focusable: "false"},
    h("circle", {cx: 8, cy: 8, r: 6.75}), h("path", {d: PATHS[name] ?? PATHS.warning}));
}

const STROKES = {
  add: "M8 3v10M3 8h10",
  sun: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6M8 1v1.6M8 13.4V15M1 8h1.6"
    + "M13.4 8H15M3 3l1.2 1.2M11.8 11.8 13 13M3 13l1.2-1.2M11.8 4.2 13 3",
  moon: "M13.5 9.6A6 6 0 0 1 6.4 2.5a6 6 0 1 0 7.1 7.1z",
  copy: "M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z",
  download: "M8 2.5v7.5M4.8 7 8 10.2 11.2 7M2.5 13.5h11",
  upload: "M8 11V3M4.8 6.2 8 3l3.2 3.2M2.5 13.5h11",
  auto: "M2 3h12v8H2zM6 14h4M8 11v3", back: "M9.5 3.5 5 8l4.5 4.5",
};

export function icon(name) {
  return h("svg", {class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true", focusable: "false"},
    h("path", {d: STROKES[name]}));
}

/// The state of a job or of an output.
export function badge(state, text = STATE_NAMES[state] ?? state) {
  return h("span", {class: `badge ${state}`}, sign(state), text);
}

/// A button. options: {kind, ...attributes}.
export function button(text, onclick, {kind = "", ...attributes} = {}) {
  return h("button", {type: "button", class: `button ${kind}`, onclick, ...attributes}, text);
}

/// A time as "5 min ago", with the whole of it for a pointer.
export function when(time) {
  return time ? h("time", {datetime: time, title: moment(time)}, ago(time)) : "–";
}

/// A curve of the last values, at least two, with the text that says the newest.
export function sparkline(name, values, text) {
  const known = values.filter(value => typeof value === "number");
  // The curve fills the middle of its place, so that small changes stay small and the ground is not far below.
  const least = Math.min(...known), most = Math.max(...known), range = Math.max(most - least, most * 0.1, 1e-9);
  const points = known.map((value, index) =>
    `${(index * 100 / Math.max(1, known.length - 1)).toFixed(2)},${(18 - (value - least) * 14 / range).toFixed(2)}`);
  return h("div", {class: "spark"},
    h("div", {class: "spark-text"}, h("span", {class: "muted"}, name), h("strong", {class: "number"}, text)),
    h("svg", {viewBox: "0 0 100 26", preserveAspectRatio: "none", "aria-hidden": "true", focusable: "false"},
      points.length > 1 && h("polygon", {class: "spark-area", points: `0,26 ${points.join(" ")} 100,26`}),
      h("polyline", {class: "spark-line", points: points.length > 1 ? points.join(" ") : "0,25 100,25"})));
}

/// The bar of a job. Without a fraction it moves.
export function progressBar(job) {
  const fraction = job.progress?.fraction;
  const known = typeof fraction === "number";
  return h("div", {class: known ? "bar" : "bar unknown", role: "progressbar", "aria-label": `Progress of ${title(job)}`,
    "aria-valuemin": "0", "aria-valuemax": "100", "aria-valuenow": known ? Math.floor(fraction * 100) : null,
    "aria-valuetext": progressText(job)},
    h("div", {class: "bar-fill", style: {width: known ? `${(fraction * 100).toFixed(2)}%` : "30%"}}));
}

/// "Encoding, 45 %, 2 min left".
export function progressText(job) {
  const {phase, fraction, remaining} = job.progress ?? {};
  return [phase ? PHASES[phase] ?? phase : "Starting", fraction === undefined ? null : percent(fraction),
    remaining === undefined ? null : `${span(remaining)} left`].filter(Boolean).join(", ");
}

/// The three curves of a running job.
export function curves(job, samples = []) {
  const progress = job.progress ?? {};
  const series = name => samples.map(sample => sample[name]);
  return h("div", {class: "sparks"},
    sparkline("Frames", series("framesPerSecond"), frames(progress.framesPerSecond)),
    sparkline("Speed", series("speed"), speed(progress.speed)),
    sparkline("Bit rate", series("bitRate"), bitRate(progress.bitRate)));
}

/// "12:03 of 48:10".
export function positionText(progress) {
  if (progress?.time === undefined) return null;
  return progress.expectedDuration === undefined ? clock(progress.time)
    : `${clock(progress.time)} of ${clock(progress.expectedDuration)}`;
}

/// Why a job waits, in two lines.
export function waitingText(waiting) {
  if (!waiting) return "Waiting";
  const place = waiting.position === undefined ? null : `position ${waiting.position}`;
  const opens = waiting.opensAt ? `opens ${moment(waiting.opensAt)}` : null;
  return [WAITING[waiting.reason] ?? waiting.reason, place, opens].filter(Boolean).join(", ");
}

/// A button that copies a text. Where the page may not write to the clipboard, it selects the text before it.
export function copyButton(text, name = "Copy", label = "Copy") {
  return h("button", {type: "button", class: "button small quiet", "aria-label": `${name}: ${text.slice(0, 80)}`,
    onclick: async event => {
      const control = event.currentTarget;
      try {
        await navigator.clipboard.writeText(text);
        toast("Copied.", "good");
      } catch {
        getSelection().selectAllChildren(control.previousElementSibling);
        toast("The text is selected: copy it with Ctrl+C.");
      }
    }}, icon("copy"), label);
}

/// What to do, with commands that can be copied.
export function remedies(list, heading = "What to do") {
  if (!list?.length) return null;
  return h("div", {class: "remedies"}, h("p", {class: "label"}, heading), h("ul", null, list.map(remedy => {
    const {text, command} = remedyParts(remedy);
    return h("li", null, text, command && h("span", {class: "command"}, h("code", null, command), copyButton(command)));
  })));
}

/// A failure of a job or of an attempt.
export function failure(value) {
  if (!value) return null;
  return h("div", {class: "notice bad"}, sign("failed"), h("div", {class: "notice-body"},
    h("p", null, h("strong", null, value.message)),
    h("dl", {class: "facts"}, fact("Code", h("code", null, value.code)), fact("Given", value.given),
      fact("Allowed", value.allowed), fact("Cause", value.cause && h("code", null, value.cause)),
      value.retriable === false && fact("Retry", "An unchanged retry will fail again.")),
    remedies(value.remedies)));
}

/// A name and what it has, unless that is empty.
export function fact(name, ...value) {
  const known = value.flat().filter(one => one !== null && one !== undefined && one !== false && one !== "");
  return known.length ? h("div", null, h("dt", null, name), h("dd", null, known)) : null;
}

/// What a request was answered, and what to do.
export function problemNotice(problem, retry) {
  return h("div", {class: "notice bad", role: "alert"}, sign("failed"), h("div", {class: "notice-body"},
    h("p", null, h("strong", null, problem.message)),
    problem.field && h("p", null, "Field ", h("code", null, problem.field),
      problem.allowed ? `, allowed: ${problem.allowed}` : ""),
    remedies(problem.remedies),
    problem.status === 401 && h("p", null, "The service needs a key. “Try again” asks for it."),
    problem.status === 403 && h("p", null, "The key lacks a scope for this. Use another key, or ask an administrator."),
    problem.requestID && h("p", {class: "muted small"}, "Request ", h("code", null, problem.requestID)),
    retry && button("Try again", () => {
      askAgain();
      retry();
    })));
}

/// A part of the page that is loaded: its skeleton, its problem, or what `show` makes of its value.
export function loaded(resource, show, retry, lines = 3) {
  if (resource.value !== undefined)
    return [resource.problem && resource.problem.status !== 0 && problemNotice(resource.problem, retry),
      show(resource.value)];
  if (resource.problem) return problemNotice(resource.problem, retry);
  return h("div", {class: "skeleton", role: "status"}, h("span", {class: "hidden"}, "Loading"),
    Array.from({length: lines}, () => h("div", {class: "skeleton-line"})));
}

/// What stands where there is nothing.
export function empty(text, ...actions) {
  return h("div", {class: "empty"}, h("p", null, text), actions);
}

/// A part of a view with a heading; its head may have actions.
export function section(id, heading, actions, ...content) {
  return h("section", {class: "section", key: id, "aria-labelledby": id},
    h("div", {class: "section-head"}, h("h2", {id}, heading), actions && h("div", {class: "actions"}, actions)),
      content);
}

let messages = [];
let number = 0;

/// A message for a few seconds; those about failures stay until they are closed.
export function toast(text, kind = "") {
  number += 1;
  const message = {text, kind, number};
  messages = [...messages, message].slice(-4);
  if (kind !== "bad") setTimeout(() => dismiss(message), 6000);
  showToasts();
}

function dismiss(message) {
  messages = messages.filter(one => one !== message);
  showToasts();
}

function showToasts() {
  render(document.getElementById("toasts"), messages.map(message =>
    h("div", {key: message.number, class: `toast ${message.kind}`, role: message.kind === "bad" ? "alert" : "status"},
      h("p", null, message.text), button("Close", () => dismiss(message), {kind: "small quiet"}))));
}
