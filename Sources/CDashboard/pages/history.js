// SPDX-License-Identifier: GPL-2.0-or-later
// All jobs: filters, pages by cursor, and actions on many.

import {act} from "./actions.js";
import {get} from "./api.js";
import {h} from "./dom.js";
import {percent, plural, span} from "./format.js";
import {ACTIONS, STATES, STATE_NAMES, inputText, outputsText, runningTime, title} from "./jobs.js";
import {badge, button, empty, icon, loaded, waitingText, when} from "./parts.js";
import {changed, forget, learn, load, onEvents, resource, soon} from "./store.js";

const PAGE = 50;
const TYPING_PAUSE = 300;
const FILTERS = ["state", "queue", "label", "text"];

let filter = {};
let selected = new Set();
let stopFollowing = null;
let typing = null;
let isLoadingMore = false;

const refreshSoon = soon(() => {
  if (stopFollowing) load("history", refreshed);
});

export const history = {
  title: () => "Jobs",
  open(parameters) {
    const next = Object.fromEntries(FILTERS.map(name => [name, parameters.get(name) ?? ""]));
    if (FILTERS.some(name => next[name] !== filter[name])) {
      forget("history");
      selected = new Set();
    }
    filter = next;
    load("history", first);
    stopFollowing ??= onEvents(refreshSoon);
  },
  close() {
    stopFollowing?.();
    stopFollowing = null;
  },
  render() {
    const jobs = resource("history").value?.jobs ?? [];
    return [
      h("div", {class: "title"}, h("h1", {tabindex: "-1"}, "Jobs"),
        h("a", {class: "button primary", href: "#/new"}, icon("add"), "New job")),
      filters(),
      bulk(jobs.filter(job => selected.has(job.id))),
      loaded(resource("history"), value => value.jobs.length ? [table(value.jobs), more(value)] : nothing(),
        () => load("history", first), 8),
    ];
  },
};

function query(cursor, limit = PAGE) {
  return {...filter, limit, cursor};
}

async function first() {
  const page = await get("/v1/jobs", query());
  learn(page.jobs);
  selected = new Set(page.jobs.filter(job => selected.has(job.id)).map(job => job.id));
  return page;
}

/// The first page again. If more pages are shown, those jobs stay, and the newest states replace what is known.
async function refreshed() {
  const shown = resource("history").value;
  const page = await get("/v1/jobs", query(undefined, Math.min(200, Math.max(PAGE, shown?.jobs.length ?? 0))));
  learn(page.jobs);
  const known = new Set(page.jobs.map(job => job.id));
  const beyond = page.nextCursor && shown ? shown.jobs.slice(page.jobs.length).filter(job => !known.has(job.id)) : [];
  return {jobs: [...page.jobs, ...beyond], nextCursor: beyond.length ? shown.nextCursor : page.nextCursor};
}

async function loadMore(value) {
  isLoadingMore = true;
  changed();
  await load("history", async () => {
    try {
      const page = await get("/v1/jobs", query(value.nextCursor));
      const known = new Set(value.jobs.map(job => job.id));
      return {jobs: [...value.jobs, ...learn(page.jobs).filter(job => !known.has(job.id))],
        nextCursor: page.nextCursor};
    } finally {
      isLoadingMore = false;
    }
  });
}

function go(changes) {
  const values = {...filter, ...changes};
  const search = new URLSearchParams(FILTERS.filter(name => values[name]).map(name => [name, values[name]]));
  location.replace(search.size ? `#/jobs?${search}` : "#/jobs");
}

function goSoon(changes) {
  clearTimeout(typing);
  typing = setTimeout(() => go(changes), TYPING_PAUSE);
}

function filters() {
  const queues = resource("queues").value ?? [];
  const field = (name, label, placeholder) => h("label", {class: "field"}, h("span", {class: "label"}, label),
    h("input", {type: "search", value: filter[name], placeholder, autocomplete: "off", spellcheck: "false",
      oninput: event => goSoon({[name]: event.target.value.trim()})}));
  return h("div", {class: "filters", role: "search", "aria-label": "Filter jobs"},
    h("div", {class: "tabs", role: "group", "aria-label": "State"}, ["", ...STATES].map(name =>
      h("button", {type: "button", class: "tab", "aria-pressed": String(filter.state === name),
        onclick: () => go({state: name})}, STATE_NAMES[name] ?? "All"))),
    h("div", {class: "fields"}, field("text", "Text", "name of a file, or ID"),
      field("label", "Label", "key:value"),
      h("label", {class: "field"}, h("span", {class: "label"}, "Queue"),
        h("select", {onchange: event => go({queue: event.target.value}), value: filter.queue},
          h("option", {value: ""}, "All queues"),
          queues.map(queue => h("option", {value: queue.name, key: queue.name}, queue.name))))));
}

function bulk(jobs) {
  if (!jobs.length) return null;
  const control = name => {
    const able = jobs.filter(ACTIONS[name].allows);
    return button(`${ACTIONS[name].verb} ${able.length || ""}`.trim(), async () => {
      for (const job of await act(name, able)) selected.delete(job.id);
      load("history", refreshed);
    }, {kind: name === "remove" ? "small danger" : "small", disabled: able.length === 0});
  };
  return h("div", {class: "bulk", role: "group", "aria-label": "Actions on the selected jobs"},
    h("p", {role: "status"}, `${plural(jobs.length, "job")} selected`), control("retry"), control("cancel"),
    control("remove"), button("Clear", () => {
      selected = new Set();
      changed();
    }, {kind: "small quiet"}));
}

function table(jobs) {
  const count = jobs.filter(job => selected.has(job.id)).length;
  return h("div", {class: "panel flush"}, h("table", {class: "jobs"},
    h("caption", {class: "hidden"}, "Jobs, the newest first"),
    h("thead", null, h("tr", null,
      h("th", {class: "check", scope: "col"}, checkbox("Select all jobs of this list", count === jobs.length,
        event => {
          selected = new Set(event.target.checked ? jobs.map(job => job.id) : []);
          changed();
        }, count > 0 && count < jobs.length)),
      ["Job", "State", "Queue", "Submitted", "Ran"].map((name, index) =>
        h("th", {scope: "col", class: ["", "", "wide", "wide", "wide right"][index]}, name)))),
    h("tbody", null, jobs.map(row))));
}

function checkbox(label, checked, onchange, indeterminate = false) {
  return h("label", {class: "tick"}, h("input", {type: "checkbox", checked, indeterminate, onchange,
    "aria-label": label}));
}

function row(job) {
  const text = job.state === "running" ? percent(job.progress?.fraction)
    : job.state === "waiting" ? waitingText(job.waiting) : job.failure?.message ?? "";
  const labels = Object.entries(job.labels ?? {}).slice(0, 3);
  return h("tr", {key: job.id, class: selected.has(job.id) ? "chosen" : ""},
    h("td", {class: "check"}, checkbox(`Select ${title(job)}`, selected.has(job.id), event => {
      if (event.target.checked) selected.add(job.id);
      else selected.delete(job.id);
      changed();
    })),
    h("th", {scope: "row"}, h("a", {href: `#/jobs/${job.id}`, title: inputText(job)}, title(job)),
      h("div", {class: "about"}, h("span", {class: "muted small clip"}, outputsText(job)),
        labels.length > 0 && h("ul", {class: "chips"}, labels.map(([key, value]) => h("li", {key},
          h("button", {type: "button", class: "chip", title: "Show the jobs with this label",
            onclick: () => go({label: `${key}:${value}`})}, `${key}:${value}`)))))),
    h("td", null, badge(job.state), h("div", {class: "muted small clip reason", title: text}, text),
      h("div", {class: "muted small narrow"}, when(job.createdAt))),
    h("td", {class: "wide"}, job.queue),
    h("td", {class: "wide"}, when(job.createdAt)),
    h("td", {class: "wide right number"}, span(runningTime(job))));
}

function more(value) {
  if (!value.nextCursor) return h("p", {class: "more muted small"}, plural(value.jobs.length, "job"));
  return h("p", {class: "more"}, button(isLoadingMore ? "Loading" : "Show more", () => loadMore(value),
    {disabled: isLoadingMore}), h("span", {class: "muted small"}, ` ${value.jobs.length} shown`));
}

function nothing() {
  return FILTERS.some(name => filter[name])
    ? empty("No job fits these filters.", button("Clear the filters", () => location.replace("#/jobs")))
    : empty("There are no jobs yet.", h("a", {class: "button primary", href: "#/new"}, icon("upload"),
      "Encode a file"));
}
