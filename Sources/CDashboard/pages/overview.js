// SPDX-License-Identifier: GPL-2.0-or-later
// The first view: the node, what runs, what waits, and what has ended lately.

import {act, changeQueue, drainNode, resumeNode} from "./actions.js";
import {h} from "./dom.js";
import {bytes, percent, plural, span} from "./format.js";
import {canCancel, inputText, isEnded, outputsText, runningTime, title} from "./jobs.js";
import {badge, button, curves, empty, icon, loaded, positionText, progressBar, progressText, section, sign,
  waitingText, when} from "./parts.js";
import {reload, resource, state} from "./store.js";

const RECENT = 6;

export const overview = {
  title: () => "Overview",
  open() {
    reload("capabilities", "recent");
  },
  render() {
    return [
      h("div", {class: "title"}, h("h1", {tabindex: "-1"}, "Overview"),
        h("a", {class: "button primary", href: "#/new"}, icon("add"), "New job")),
      h("div", {class: "tiles"}, tiles()),
      running(), queues(), recent(),
    ];
  },
};

function tiles() {
  const status = resource("status"), value = status.value;
  if (!value) return loaded(status, () => null, () => reload("status"), 2);
  const disk = value.disk ?? {};
  const used = disk.total ? 1 - disk.free / disk.total : undefined;
  return [
    tile("Node", value.draining ? "Draining" : "Ready",
      value.draining ? "Running jobs finish, none starts"
        : `Up ${span((Date.now() - Date.parse(value.startedAt)) / 1000)}`,
      value.draining ? "warning" : "good",
      value.draining ? button("Resume", resumeNode, {kind: "small"}) : button("Drain", drainNode, {kind: "small"})),
    tile("Jobs", plural(value.running, "running", "running"), `${value.waiting} waiting`),
    tile("Disk", `${bytes(disk.free)} free`, disk.low ? "Low: no job starts until there is space"
      : `of ${bytes(disk.total)}; jobs wait below ${bytes(disk.watermark)}`, disk.low ? "bad" : "", used !== undefined
      && h("div", {class: "meter", role: "meter", "aria-label": "Disk in use", "aria-valuemin": "0",
        "aria-valuemax": "100", "aria-valuenow": Math.round(used * 100)},
      h("div", {class: `meter-fill ${disk.low ? "bad" : ""}`, style: {width: `${(used * 100).toFixed(1)}%`}}))),
    loadTile(value),
    encoderTile(),
  ];
}

function loadTile({processors, load, memory}) {
  const known = processors?.busy !== undefined;
  const used = `${bytes(memory.total - memory.available)} of ${bytes(memory.total)} of memory in use`;
  return tile("Load", known ? `${percent(processors.busy)} busy` : String(Number(load.toFixed(2))),
    known ? `of ${plural(processors.count, "processor")}; ${used}` : used);
}

function encoderTile() {
  const value = resource("capabilities").value;
  if (!value) return null;
  const usable = value.devices.filter(device => device.usable && !device.suspended);
  const link = h("a", {href: "#/devices", class: "small"}, usable.length ? "Devices" : "Why, and what to do");
  return usable.length
    ? tile("Encoder", plural(usable.length, "GPU"), usable.map(device => device.vendor || device.driver || device.node)
      .join(", "), "good", link)
    : tile("Encoder", value.softwareEncoders.length ? "Software" : "None", "No GPU is used", "warning", link);
}

function tile(name, value, text, kind = "", extra = null) {
  return h("div", {class: `tile ${kind}`, key: name}, h("h2", {class: "label"}, name),
    h("p", {class: "tile-value"}, kind && sign({good: "succeeded", warning: "warning", bad: "warning"}[kind]), value),
    h("p", {class: "muted small"}, text), extra && h("div", {class: "tile-extra"}, extra));
}

function running() {
  const jobs = resource("running");
  return section("running", "Running", null, loaded(jobs, list => list.length
    ? h("ul", {class: "cards"}, list.map(runningCard))
    : empty("Nothing runs now.", h("a", {class: "button", href: "#/new"}, icon("upload"), "Encode a file"),
      h("p", {class: "muted small"}, "You can also drop a file anywhere on this page.")), () => reload("running")));
}

function runningCard(job) {
  return h("li", {key: job.id, class: "card"},
    h("div", {class: "card-head"},
      h("div", {class: "card-name"},
        h("h3", null, h("a", {href: `#/jobs/${job.id}`, title: inputText(job)}, title(job))),
        h("p", {class: "muted small clip"}, `→ ${outputsText(job)}`)),
      job.cancelRequested ? badge("cancelled", "Cancelling")
        : button("Cancel", () => act("cancel", [job]), {kind: "small quiet", "aria-label": `Cancel ${title(job)}`})),
    progressBar(job),
    h("p", {class: "between small"}, h("span", null, progressText(job)),
      h("span", {class: "muted number"}, positionText(job.progress))),
    curves(job, state.samples.get(job.id)));
}

function queues() {
  const all = resource("queues"), waiting = resource("waiting").value ?? [];
  return section("queues", "Queues", null, loaded(all, list => h("div", {class: "stack"}, list.map(queue =>
    queuePanel(queue, waiting.filter(job => job.queue === queue.name)))), () => reload("queues", "waiting")));
}

function queuePanel(queue, jobs) {
  const control = (text, action, kind) => button(text, () => changeQueue(queue.name, action),
    {kind: `small ${kind}`, "aria-label": `${text} queue ${queue.name}`});
  const shown = jobs.slice(0, 20);
  return h("section", {class: "panel", key: queue.name, "aria-label": `Queue ${queue.name}`},
    h("div", {class: "panel-head"},
      h("div", null, h("h3", null, queue.name, " ", queue.paused && badge("cancelled", "Paused")),
        h("p", {class: "muted small"}, `${queue.running} running, ${queue.waiting} waiting`,
          queue.mostRunning !== undefined && `, at most ${queue.mostRunning} at a time`,
          queue.windows?.length > 0 && `, open ${plural(queue.windows.length, "window")} a week`)),
      h("div", {class: "actions"}, queue.paused ? control("Resume", "resume", "")
        : [control("Pause", "pause", "quiet"), control("Drain", "drain", "quiet")])),
    shown.length > 0 && h("ol", {class: "rows"}, shown.map(job => h("li", {key: job.id, class: "row"},
      h("a", {class: "row-name", href: `#/jobs/${job.id}`, title: inputText(job)}, title(job)),
      h("span", {class: "row-text muted small", title: job.waiting?.message ?? ""}, waitingText(job.waiting)),
      canCancel(job) && button("Cancel", () => act("cancel", [job]),
        {kind: "small quiet", "aria-label": `Cancel ${title(job)}`})))),
    queue.waiting > shown.length && h("p", {class: "more small"},
      h("a", {href: `#/jobs?state=waiting&queue=${encodeURIComponent(queue.name)}`},
        `All ${plural(queue.waiting, "waiting job")}`)));
}

function recent() {
  return section("recent", "Ended lately", h("a", {href: "#/jobs", class: "small"}, "All jobs"),
    loaded(resource("recent"), list => {
      const ended = list.filter(isEnded).slice(0, RECENT);
      return ended.length ? h("ul", {class: "rows panel"}, ended.map(job => h("li", {key: job.id, class: "row"},
        badge(job.state), h("a", {class: "row-name", href: `#/jobs/${job.id}`, title: inputText(job)}, title(job)),
        h("span", {class: "row-text muted small"}, job.failure?.message ?? `in ${span(runningTime(job))}`),
        h("span", {class: "muted small row-end"}, when(job.endedAt))))) : empty("No job has ended yet.");
    }, () => reload("recent")));
}

