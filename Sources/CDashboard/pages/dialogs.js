// SPDX-License-Identifier: GPL-2.0-or-later
// Dialogs: the browser keeps the focus inside and returns it afterwards.

import {h, render} from "./dom.js";

let number = 0;

/// Shows a dialog until it is closed. content(close) makes its elements; close(value) ends it. Returns the value, or
/// null if it was dismissed.
function show(content) {
  const place = document.createElement("div");
  document.getElementById("dialogs").append(place);
  const opener = document.activeElement;
  return new Promise(resolve => {
    let result = null;
    const close = value => {
      result = value;
      place.querySelector("dialog").close();
    };
    const end = () => {
      place.remove();
      // The button that opened it may be gone, as after a deletion; the focus must not fall to the page.
      if (opener?.isConnected && opener !== document.body) opener.focus();
      else document.querySelector("main h1")?.focus();
      resolve(result);
    };
    number += 1;
    render(place, h("dialog", {class: "dialog", "aria-labelledby": `dialog-${number}`, onclose: end},
      content(close, `dialog-${number}`)));
    place.querySelector("dialog").showModal();
  });
}

/// Asks whether to do what cannot be undone. Returns whether the answer is yes.
export async function confirm({heading, text, yes, no = "Keep", isDangerous = false}) {
  return await show((close, id) => [
    h("h2", {id}, heading), h("p", null, text),
    h("div", {class: "dialog-actions"},
      h("button", {type: "button", class: "button", autofocus: true, onclick: () => close(false)}, no),
      h("button", {type: "button", class: `button ${isDangerous ? "danger" : "primary"}`, onclick: () => close(true)},
        yes)),
  ]) === true;
}

/// Asks for a key of the service.
export function askForKey(wasRefused) {
  let value = "";
  return show((close, id) => h("form", {onsubmit: event => {
    event.preventDefault();
    if (value.trim()) close(value.trim());
  }},
  h("h2", {id}, "Key of the service"),
  h("p", {id: `${id}-text`}, wasRefused
    ? "The service refused this key: it is wrong, has expired or was deleted. Enter another one."
    : "This service needs a key. An administrator makes one with POST /v1/keys."),
  h("label", {class: "field"}, h("span", {class: "label"}, "Key"),
    h("input", {type: "password", autocomplete: "off", spellcheck: "false", required: true, autofocus: true,
      "aria-describedby": `${id}-text`, oninput: event => { value = event.target.value; }})),
  h("p", {class: "muted small"}, "It stays in this tab and is forgotten when the tab is closed."),
  h("div", {class: "dialog-actions"},
    h("button", {type: "button", class: "button", onclick: () => close(null)}, "Not now"),
    h("button", {type: "submit", class: "button primary"}, "Use the key"))));
}
