// SPDX-License-Identifier: GPL-2.0-or-later
// The frame of the dashboard: which view is shown, header, connection, colour scheme, and files that are dropped.

import {askAgain, key, setKey, setKeySource} from "./api.js";
import {addFiles, create} from "./create.js";
import {devices} from "./devices.js";
import {askForKey} from "./dialogs.js";
import {h, render} from "./dom.js";
import {plural, span} from "./format.js";
import {history} from "./history.js";
import {jobView} from "./job.js";
import {live} from "./live.js";
import {overview} from "./overview.js";
import {button, empty, icon, sign} from "./parts.js";
import {resource, setAnnouncer, start, state, subscribe} from "./store.js";

const ROUTES = [
  [/^\/?$/, overview], [/^\/jobs$/, history], [/^\/jobs\/([^/]+)$/, jobView], [/^\/devices$/, devices],
  [/^\/live$/, live], [/^\/new$/, create],
];
const PAGES = [["#/", "Overview"], ["#/jobs", "Jobs"], ["#/live", "Live"], ["#/devices", "Devices"]];
const THEMES = ["auto", "light", "dark"];
const SECOND = 1000;

const missing = {
  title: () => "Not found",
  render: () => [h("h1", {tabindex: "-1"}, "There is no such page"), empty("The address may be old.",
    h("a", {class: "button", href: "#/"}, "Go to the overview"))],
};

let view = null;
let shownPath = null;
let isScheduled = false;
let announcements = [];

function route() {
  const [path, query = ""] = (location.hash.slice(1) || "/").split("?");
  const [pattern, next] = ROUTES.find(([one]) => one.test(path)) ?? [/^/, missing];
  const isFirst = shownPath === null, isNew = shownPath !== path;
  if (view !== next) view?.close?.();
  view = next;
  shownPath = path;
  view.open?.(new URLSearchParams(query), (pattern.exec(path) ?? []).slice(1).map(decodeURIComponent));
  draw();
  if (!isNew || isFirst) return;
  // A screen reader hears the heading of the new view, and Tab goes on from there.
  scrollTo(0, 0);
  const heading = document.querySelector("main h1") ?? document.getElementById("main");
  heading.focus({preventScroll: true});
}

function draw() {
  isScheduled = false;
  document.title = `${view.title()} · VAToolbox`;
  render(document.getElementById("header"), header());
  render(document.getElementById("banner"), banner());
  render(document.getElementById("main"), h("div", {key: shownPath, class: "view"}, view.render()));
  render(document.getElementById("footer"), footer());
}

function schedule() {
  if (isScheduled) return;
  isScheduled = true;
  requestAnimationFrame(draw);
}

function header() {
  const running = resource("status").value?.running;
  const isCurrent = target => target === "#/" ? shownPath === "/" : shownPath.startsWith(target.slice(1));
  return h("div", {class: "header-inner"},
    h("a", {class: "brand", href: "#/", "aria-label": "VAToolbox, overview"},
      h("img", {src: "/dashboard/icon.svg", alt: "", width: 24, height: 24}),
        h("span", {class: "wide-inline"}, "VAToolbox")),
    h("nav", {"aria-label": "Main"}, h("ul", null, PAGES.map(([target, name]) => h("li", {key: target},
      h("a", {href: target, "aria-current": isCurrent(target) ? "page" : null}, name,
        target === "#/" && running > 0 && h("span", {class: "count", title: plural(running, "running job")},
          running, h("span", {class: "hidden"}, " running"))))))),
    h("div", {class: "header-end"}, connection(), themeButton()));
}

function connection() {
  const {online} = state.connection;
  const text = online ? "Online" : online === null ? "Connecting" : "Offline";
  return h("span", {class: `connection ${online ? "good" : online === null ? "" : "bad"}`, title: online
    ? "Changes appear at once" : "Changes do not appear until the connection is back"},
  h("span", {class: "dot", "aria-hidden": "true"}), h("span", {class: "wide-inline"}, text));
}

function theme() {
  return document.documentElement.dataset.theme ?? "auto";
}

function themeButton() {
  const names = {auto: "as the system", light: "light", dark: "dark"};
  return h("button", {type: "button", class: "button quiet square", id: "theme",
    "aria-label": `Colours: ${names[theme()]}. Change`, title: `Colours: ${names[theme()]}`, onclick: () => {
      const next = THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length];
      if (next === "auto") delete document.documentElement.dataset.theme;
      else document.documentElement.dataset.theme = next;
      try {
        localStorage.setItem("theme", next);
      } catch {
        // It holds until the page is left.
      }
      announce(`Colours: ${names[next]}`);
      draw();
    }}, icon({auto: "auto", light: "sun", dark: "moon"}[theme()]));
}

function banner() {
  const {online, retryAt, retry, problem} = state.connection;
  if (online !== false) return null;
  const isRefused = problem.status === 401 || problem.status === 403;
  return h("div", {class: "banner", role: "alert"}, sign("warning"),
    h("p", null, h("strong", null, isRefused ? "The service wants another key." : "No connection to the service."),
      " What you see may be old. ",
      h("span", {"aria-hidden": "true"},
        `Next attempt in ${span(Math.max(0, Math.ceil((retryAt - Date.now()) / 1000)))}.`)),
    button(isRefused ? "Enter a key" : "Try now", () => {
      askAgain();
      retry();
    }, {kind: "small"}));
}

function footer() {
  const service = resource("service").value;
  return [h("p", {class: "muted small"}, service ? `VAToolbox ${service.version}` : "VAToolbox", " · ",
    h("a", {href: "/v1/openapi.json"}, "API")),
  key() && button("Forget the key", () => {
    setKey(null);
    location.reload();
  }, {kind: "small quiet"})];
}

/// Says something to screen readers, one thing after another so that none is lost.
function announce(text) {
  announcements.push(text);
  if (announcements.length === 1) speak();
}

function speak() {
  document.getElementById("live").textContent = announcements[0];
  setTimeout(() => {
    announcements.shift();
    if (announcements.length) speak();
  }, SECOND);
}

function acceptDrops() {
  const overlay = document.getElementById("drop");
  const hasFiles = event => event.dataTransfer?.types.includes("Files");
  let depth = 0;
  const show = isOver => {
    depth = isOver ? depth : 0;
    overlay.hidden = !isOver;
  };
  addEventListener("dragenter", event => {
    if (!hasFiles(event)) return;
    depth += 1;
    show(true);
  });
  addEventListener("dragleave", event => {
    if (!hasFiles(event)) return;
    depth -= 1;
    if (depth <= 0) show(false);
  });
  addEventListener("dragover", event => {
    if (hasFiles(event)) event.preventDefault();
  });
  addEventListener("drop", event => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    show(false);
    addFiles([...event.dataTransfer.files]);
    location.hash = "#/new";
  });
}

setKeySource(askForKey);
setAnnouncer(announce);
subscribe(schedule);
addEventListener("hashchange", route);
document.querySelector(".skip").addEventListener("click", event => {
  // The address names a view, so the link may not change it.
  event.preventDefault();
  (document.querySelector("main h1") ?? document.getElementById("main")).focus();
});
acceptDrops();
start();
route();
// Ages and remaining times go on without events.
setInterval(() => {
  if (!document.hidden) schedule();
}, SECOND);
