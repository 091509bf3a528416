// SPDX-License-Identifier: GPL-2.0-or-later
// Results in the browser: players, pictures, and files to download.

import {openable} from "./api.js";
import {h} from "./dom.js";
import {bytes} from "./format.js";
import {button, copyButton, icon, problemNotice, toast} from "./parts.js";
import {changed} from "./store.js";

const PLAYLIST = "application/vnd.apple.mpegurl";
const TYPES = {mp4: "video/mp4", m4v: "video/mp4", mov: "video/mp4", mkv: "video/x-matroska", webm: "video/webm",
  m3u8: PLAYLIST};
const MOST_PICTURES = 24;
const MOST_FILES = 6;

const links = new Map();
const unplayable = new Set();
const reloads = new Map();
const opened = new Set();

/// The address that the browser may load, or undefined until it is known.
function link(url) {
  if (!links.has(url)) {
    links.set(url, {});
    openable(url).then(value => links.set(url, {value}), problem => links.set(url, {problem})).finally(changed);
  }
  return links.get(url);
}

function plays(path, type) {
  const kind = type?.startsWith("video/") || type === PLAYLIST ? type : TYPES[path.split(".").pop().toLowerCase()];
  return kind !== undefined && document.createElement("video").canPlayType(kind) !== "";
}

/// What of an output can be seen: what was encoded so far, the video, or the pictures.
export function preview(output) {
  if (output.state === "running" && output.playable) return growing(output);
  if (output.state !== "succeeded") return null;
  const pictures = output.files.filter(file => file.type?.startsWith("image/"));
  if (pictures.length) return gallery(output, pictures);
  const playlist = output.files.find(file => file.path === output.name);
  const file = playlist ?? output.files.find(one => plays(one.path, one.type));
  if (!file) return null;
  if (!plays(file.path, file.type) || unplayable.has(file.url)) return h("p", {class: "muted small"},
    "This browser does not play ", h("code", null, file.path), ". Download it, or open its address in a player.");
  return video(file.url, file.url, `Result ${output.name}`);
}

function growing(output) {
  const url = output.playable;
  const count = reloads.get(url) ?? 0;
  if (!plays(new URL(url, location.origin).pathname)) return null;
  return h("div", {class: "preview"}, unplayable.has(`${url} ${count}`)
    ? h("p", {class: "muted small"}, "There is not enough to play yet.")
    : video(url, `${url} ${count}`, `Preview of ${output.name}`),
  h("p", {class: "between small"}, h("span", {class: "muted"}, "What is encoded so far"),
    button("Load the newest", () => {
      reloads.set(url, count + 1);
      links.delete(url);
      changed();
    }, {kind: "small"})));
}

function video(url, key, label) {
  const {value, problem} = link(url);
  if (problem) return problemNotice(problem, () => {
    links.delete(url);
    changed();
  });
  if (!value) return h("div", {class: "skeleton video"});
  return h("video", {key, class: "video", controls: true, preload: "metadata", playsinline: true, src: value,
    "aria-label": label, onerror: () => {
      unplayable.add(key);
      changed();
    }});
}

function gallery(output, pictures) {
  return h("ul", {class: "gallery"}, pictures.slice(0, MOST_PICTURES).map((file, index) => {
    const {value} = link(file.url);
    return h("li", {key: file.url}, value ? h("img", {src: value, loading: "lazy", alt: `Picture ${index + 1}`})
      : h("div", {class: "skeleton-line"}));
  }), pictures.length > MOST_PICTURES && h("li", {class: "muted small"},
    `and ${pictures.length - MOST_PICTURES} more`));
}

/// The files of an output, with what proves that a copy is whole.
export function files(output) {
  if (!output.files?.length) return null;
  const all = opened.has(output.name) || output.files.length <= MOST_FILES;
  const shown = all ? output.files : output.files.slice(0, MOST_FILES);
  return h("div", {class: "files"}, h("ul", {class: "rows"}, shown.map(file => h("li", {class: "row", key: file.path},
    h("span", {class: "row-name clip", title: file.path}, file.path),
    h("span", {class: "muted small number"}, bytes(file.size)),
    h("button", {type: "button", class: "button small", "aria-label": `Download ${file.path}`,
      onclick: () => download(file)}, icon("download"), h("span", {class: "wide-inline"}, "Download")),
    h("span", {class: "hidden"}, file.sha256), copyButton(file.sha256, `Copy the SHA-256 of ${file.path}`,
      "SHA-256")))),
  !all && button(`All ${output.files.length} files`, () => {
    opened.add(output.name);
    changed();
  }, {kind: "small"}));
}

async function download(file) {
  try {
    const anchor = document.createElement("a");
    anchor.href = await openable(file.url, {download: true, expiresIn: 3600});
    anchor.download = "";
    anchor.click();
  } catch (problem) {
    toast(problem.message, "bad");
  }
}
