// SPDX-License-Identifier: GPL-2.0-or-later
// Live jobs: how each input and output is doing, and buttons to switch and to stop.

import {post, segment} from "./api.js";
import {confirm} from "./dialogs.js";
import {h} from "./dom.js";
import {bitRate, clock, codec, plural, span} from "./format.js";
import {badge, button, empty, fact, failure, loaded, section, toast, when} from "./parts.js";
import {reload, resource} from "./store.js";

// The service tells no events of live jobs.
const INTERVAL = 2000;
const STATES = {starting: ["waiting", "Starting"], running: ["running", "Running"], waiting: ["waiting", "Waiting"],
  stopping: ["waiting", "Stopping"], ended: ["succeeded", "Ended"], failed: ["failed", "Failed"]};
const OUTPUTS = {idle: ["waiting", "Idle"], connecting: ["waiting", "Connecting"], live: ["succeeded", "Sends"],
  waiting: ["waiting", "Lost"], failed: ["failed", "Given up"], finished: ["succeeded", "Finished"]};

let timer = null;

export const live = {
  title: () => "Live jobs",
  open() {
    reload("live");
    timer ??= setInterval(() => {
      if (!document.hidden) reload("live");
    }, INTERVAL);
  },
  close() {
    clearInterval(timer);
    timer = null;
  },
  render() {
    const jobs = resource("live");
    return [
      h("div", {class: "title"}, h("h1", {tabindex: "-1"}, "Live jobs")),
      loaded(jobs, list => {
        const ended = list.filter(isEnded), present = list.filter(job => !isEnded(job));
        return [
          section("present", "Now", null, present.length ? h("div", {class: "stack"}, present.map(panel))
            : empty("Nothing is live now.", h("p", {class: "muted small"}, "Start a live job with ",
              h("code", null, "vatoolbox live start FILE"), " or ", h("code", null, "POST /v1/live"), "."))),
          ended.length > 0 && section("ended", "Ended", null, h("div", {class: "stack"}, ended.map(panel))),
        ];
      }, () => reload("live"), 6),
    ];
  },
};

const isEnded = job => job.state === "ended" || job.state === "failed";

const sign = (names, state) => badge(...names[state] ?? ["waiting", state]);

function panel(job) {
  const {request, statistics} = job;
  return h("article", {class: "panel", key: job.id, "aria-label": request.name},
    h("div", {class: "panel-head"},
      h("div", {class: "card-name"}, h("h3", null, request.name), h("p", {class: "muted small"}, facts(job))),
      h("div", {class: "actions"}, sign(STATES, job.state),
        !isEnded(job) && button("Stop", () => stop(job), {kind: "small", disabled: job.state === "stopping",
          "aria-label": `Stop ${request.name}`}))),
    failure(job.failure),
    job.state === "waiting" && job.nextStart && h("p", null,
      `It is started again in ${span(Math.max(0, (Date.parse(job.nextStart) - Date.now()) / 1000))}.`),
    h("h4", {class: "label"}, "Inputs"),
    h("ul", {class: "rows"}, request.inputs.map((input, index) => inputRow(job, input, index))),
    h("h4", {class: "label"}, "Outputs"),
    h("ul", {class: "rows"}, request.outputs.map((output, index) =>
      outputRow(output, statistics?.outputs[index], index))));
}

function facts(job) {
  const {statistics, restarts} = job;
  const parts = [["Made ", when(job.createdAt)]];
  if (statistics?.encoder) {
    const rate = statistics.bitrate ? `, ${bitRate(statistics.bitrate)}` : "";
    parts.push([`${statistics.encoder.name}, ${codec(statistics.encoder.codec)}${rate}`]);
  }
  if (statistics) parts.push([`${clock(statistics.time)} encoded`]);
  if (restarts) parts.push([`its process has ended early ${plural(restarts, "time")}`]);
  return parts.flatMap((part, index) => index ? [" · ", ...part] : part);
}

function inputText(input) {
  return input.url ?? input.path ?? "Test chart";
}

function inputRow(job, input, index) {
  const told = job.statistics?.inputs[index], isUsed = job.input === index;
  return h("li", {class: "row live-row", key: index},
    isUsed && !isEnded(job) ? badge("running", "Used") : null,
    h("span", {class: "row-name"}, inputText(input)),
    told?.error && h("span", {class: "muted small"}, told.error),
    !isEnded(job) && !isUsed && button("Use", () => use(job, index), {kind: "small row-end",
      "aria-label": `Use ${inputText(input)} for ${job.request.name}`}));
}

function outputRow(output, told, index) {
  const hls = output.hls && (output.hls.path ? `HLS in ${output.hls.path}` : "HLS from this service");
  return h("li", {class: "row live-row", key: index},
    told && sign(OUTPUTS, told.state),
    h("span", {class: "row-name"}, output.url ?? hls),
    told && h("dl", {class: "facts"},
      fact("Rate", bitRate(told.rate)),
      fact("Queue", `${told.queueAge.toFixed(1)} s`),
      fact("Dropped", String(dropped(told))),
      fact("Round trip", told.roundTrip !== undefined && `${Math.round(told.roundTrip * 1000)} ms`),
      fact("Reconnects", told.reconnects > 0 && String(told.reconnects))),
    told?.error && h("p", {class: "small row-error"}, told.error));
}

const dropped = ({droppedFrames}) => Object.values(droppedFrames).reduce((sum, count) => sum + count, 0);

async function attempt(job, rest, body, message) {
  try {
    await post(`/v1/live/${segment(job.id)}/${rest}`, body);
    toast(message, "good");
  } catch (problem) {
    toast(`${job.request.name}: ${problem.message}`, "bad");
  }
  await reload("live");
}

async function stop(job) {
  if (!await confirm({heading: `Stop “${job.request.name}”?`, text: "Viewers see the end of the stream.", yes: "Stop",
    no: "Go back", isDangerous: true})) return;
  await attempt(job, "stop", undefined, `${job.request.name} ends.`);
}

async function use(job, index) {
  await attempt(job, "switch", {input: index}, `${job.request.name} uses ${inputText(job.request.inputs[index])}.`);
}
