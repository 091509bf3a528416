// SPDX-License-Identifier: GPL-2.0-or-later
// The log of a job, which grows while it runs.

import {jobPath, send} from "./api.js";
import {h} from "./dom.js";
import {isEnded} from "./jobs.js";
import {button, toast} from "./parts.js";
import {changed} from "./store.js";

// Characters that are kept; what is before is in the whole log.
const MOST = 400000;

let following = null;
let status = "";
let place = null;
let attempts = 0;

/// The part of the view. It is read when it is opened.
export function log(job) {
  // A retry continues the log, so an open one is read again.
  if (following && following.id === job.id && attempts !== job.attempts.length && following.isOver) open(job);
  const toggle = event => event.target.open ? open(job) : stopLog();
  return h("details", {class: "panel", key: `log ${job.id}`, ontoggle: toggle},
    h("summary", null, "Log"),
    h("p", {class: "between small"}, h("span", {class: "muted", role: "status"}, status),
      button("Save as a file", () => save(job), {kind: "small"})),
    h("pre", {class: "code log", tabindex: "0", role: "region", "aria-label": "Log of the job",
      created: node => { place = node; }}));
}

export function stopLog() {
  following?.controller.abort();
  following = null;
}

async function open(job) {
  stopLog();
  const mine = following = {id: job.id, controller: new AbortController(), isOver: false};
  attempts = job.attempts.length;
  place.textContent = "";
  tell("Loading");
  try {
    const response = await send("GET", jobPath(job.id, "/log"), {query: isEnded(job) ? {} : {follow: "true"},
      headers: {Accept: "text/plain"}, signal: mine.controller.signal});
    tell(isEnded(job) ? "" : "Follows the job");
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const {value, done} = await reader.read();
      if (done) break;
      append(value);
    }
    tell(place.textContent ? "Complete" : "The log is empty.");
  } catch (error) {
    if (error.name !== "AbortError") tell(`The log cannot be read: ${error.message}`);
  }
  mine.isOver = true;
}

function tell(text) {
  status = text;
  changed();
}

function append(text) {
  const isAtEnd = place.scrollHeight - place.scrollTop - place.clientHeight < 40;
  place.append(text);
  if (place.textContent.length > MOST) place.textContent = place.textContent.slice(-MOST);
  if (isAtEnd) place.scrollTop = place.scrollHeight;
}

async function save(job) {
  try {
    const response = await send("GET", jobPath(job.id, "/log"), {headers: {Accept: "text/plain"}});
    const anchor = document.createElement("a");
    anchor.href = URL.createObjectURL(await response.blob());
    anchor.download = `${job.id}.log`;
    anchor.click();
    URL.revokeObjectURL(anchor.href);
  } catch (problem) {
    toast(problem.message, "bad");
  }
}
