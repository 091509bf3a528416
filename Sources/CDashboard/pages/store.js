// SPDX-License-Identifier: GPL-2.0-or-later
// What the page knows of the service, and how it learns it: lists are loaded, events say what has changed.

import {Problem, get} from "./api.js";
import {inOrder, title} from "./jobs.js";
import {follow} from "./stream.js";

const MOST_SAMPLES = 120;
// At most one reload of the lists in this time, in milliseconds, however many events come.
const RELOAD_PAUSE = 400;
const STATUS_INTERVAL = 5000;
// A browser has six connections to a service of HTTP/1.1, for all its tabs: a page that nobody looks at gives its back.
const HIDDEN_PAUSE = 30000;

export const state = {
  connection: {online: null},
  resources: {},
  samples: new Map(),
};

const listeners = new Set();
const followers = new Set();
const names = new Map();
const sequence = {};
let announce = () => {};

/// Calls the function after each change.
export function subscribe(listener) {
  listeners.add(listener);
}

export function changed() {
  listeners.forEach(listener => listener());
}

/// Calls the function for each event of a job that is not progress. Returns how to stop that.
export function onEvents(follower) {
  followers.add(follower);
  return () => followers.delete(follower);
}

export function setAnnouncer(speaker) {
  announce = speaker;
}

/// A resource: {value?, problem?, isLoading}.
export function resource(name) {
  return state.resources[name] ?? {isLoading: true};
}

/// Loads a resource. The value before stays until the new one is there; an answer that was overtaken is dropped.
export async function load(name, loader) {
  const number = sequence[name] = (sequence[name] ?? 0) + 1;
  const before = state.resources[name];
  state.resources[name] = {value: before?.value, problem: before?.problem, isLoading: true};
  try {
    const value = await loader();
    if (sequence[name] !== number) return;
    state.resources[name] = {value, isLoading: false};
  } catch (error) {
    if (error.name === "AbortError" || sequence[name] !== number) return;
    const problem = error instanceof Problem ? error : new Problem(0, {detail: String(error)});
    state.resources[name] = {value: before?.value, problem, isLoading: false};
  }
  changed();
}

/// Forgets a resource, so that another thing of the name does not show the old one.
export function forget(name) {
  sequence[name] = (sequence[name] ?? 0) + 1;
  delete state.resources[name];
}

/// Remembers what jobs are called, for messages about them.
export function learn(jobs) {
  for (const job of jobs) names.set(job.id, title(job));
  return jobs;
}

export const nameOf = id => names.get(id) ?? `job ${id}`;

const jobs = query => async () => learn((await get("/v1/jobs", query)).jobs);

const LOADERS = {
  service: () => get("/v1"),
  status: () => get("/v1/status"),
  queues: async () => (await get("/v1/queues")).queues,
  running: jobs({state: "running", limit: 100}),
  waiting: async () => inOrder(await jobs({state: "waiting", limit: 100})()),
  recent: jobs({limit: 50}),
  capabilities: () => get("/v1/capabilities"),
  presets: async () => (await get("/v1/presets")).presets,
  live: async () => (await get("/v1/live", {limit: 100})).jobs,
};

export function reload(...wanted) {
  return Promise.all(wanted.map(name => load(name, LOADERS[name])));
}

export const reloadLists = () => reload("running", "waiting", "recent", "queues", "status");

/// A function that does the work soon, once for many calls.
export function soon(work, pause = RELOAD_PAUSE) {
  let timer = null;
  return () => {
    timer ??= setTimeout(() => {
      timer = null;
      work();
    }, pause);
  };
}

const reloadSoon = soon(reloadLists);

let following = null;
let hiding = null;

/// Begins to follow the service, as long as the page is seen.
export function start() {
  reload("service", "capabilities", "presets");
  reloadLists();
  followEvents();
  setInterval(() => {
    if (!document.hidden && state.connection.online) reload("status");
  }, STATUS_INTERVAL);
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hiding);
    if (document.hidden) hiding = setTimeout(stopEvents, HIDDEN_PAUSE);
    else resumeEvents();
  });
  // A page that the browser keeps for its back button would keep the connection, too.
  addEventListener("pagehide", stopEvents);
  addEventListener("pageshow", resumeEvents);
}

function stopEvents() {
  following?.abort();
  following = null;
}

function resumeEvents() {
  if (following) return;
  followEvents();
  reloadSoon();
  followers.forEach(follower => follower(null));
}

function followEvents() {
  following = new AbortController();
  follow("/v1/events", {
    signal: following.signal,
    onEvent: event => receive(event.data),
    onState: connection => {
      const isBack = connection.online && state.connection.online === false;
      if (connection.online !== state.connection.online && state.connection.online !== null)
        announce(connection.online ? "The service is back." : "The service cannot be reached.");
      state.connection = connection;
      if (isBack) {
        // What happened meanwhile may be more than the events that the service repeats.
        reload("service", "capabilities");
        reloadSoon();
        followers.forEach(follower => follower(null));
      }
      changed();
    },
  });
}

/// An event of the service: progress changes what is known, all else reloads it.
export function receive(event) {
  if (event.type === "progress") {
    addSample(event.job, event.data);
    for (const name of ["running", "recent", "job", "history"]) applyProgress(state.resources[name]?.value, event);
    return changed();
  }
  const words = {succeeded: "succeeded", failed: "failed", cancelled: "was cancelled", started: "has started"}[event.type];
  // After a connection the service may repeat events that are long over.
  if (words && Date.now() - Date.parse(event.time) < 60000) announce(`${nameOf(event.job)} ${words}.`);
  if (event.type === "succeeded" || event.type === "failed" || event.type === "cancelled")
    state.samples.delete(event.job);
  followers.forEach(follower => follower(event));
  return reloadSoon();
}

function applyProgress(value, event) {
  const list = Array.isArray(value) ? value : value?.jobs ?? (value ? [value] : []);
  for (const job of list)
    if (job.id === event.job && job.state === "running" && !(job.progress?.updatedAt > event.data.updatedAt))
      job.progress = event.data;
}

/// Adds a point to the curves of a job.
export function addSample(id, progress) {
  const samples = state.samples.get(id) ?? [];
  if (samples.at(-1)?.updatedAt >= progress.updatedAt) return;
  state.samples.set(id, [...samples, progress].slice(-MOST_SAMPLES));
}
