// SPDX-License-Identifier: GPL-2.0-or-later
// The fields of a new job. Nothing has to be filled in.

import {h} from "./dom.js";
import {RUNGS, SIZES} from "./request.js";
import {resource} from "./store.js";

const KINDS = [["mp4", "MP4"], ["mkv", "Matroska"], ["mov", "QuickTime"], ["ts", "MPEG-TS"], ["hls", "HLS ladder"]];
const CODECS = [["auto", "Automatic"], ["h264", "H.264: plays everywhere"], ["hevc", "HEVC: smaller files"]];
const RATES = [["auto", "Automatic"], ["quality", "Constant quality"], ["bitRate", "Bit rate"]];
const SOUNDS = [["auto", "Automatic: copy what fits"], ["copy", "Copy"], ["aac", "AAC"], ["opus", "Opus"],
  ["none", "No sound"]];

/// change(name, value) is called with each input.
export function fields(form, errors, change) {
  const presets = resource("presets").value ?? [];
  const context = {form, errors, change};
  return [
    h("fieldset", {class: "panel"}, h("legend", null, "Output"),
      presets.length > 0 && h("div", {class: "fields"}, select(context, "preset", "Preset", [
        ["", "No preset: choose below"],
        ...presets.map(({name, description}) => [name, description ? `${name}: ${description}` : name])])),
      form.preset ? h("p", {class: "muted small"}, "The preset decides about outputs, video and sound.")
        : output(context)),
    h("details", {class: "panel"}, h("summary", null, "More: part, queue, device, labels"), more(context)),
  ];
}

function output(context) {
  const {form, errors, change} = context;
  const isLadder = form.kind === "hls";
  return [
    h("div", {class: "tabs", role: "group", "aria-label": "Container"}, KINDS.map(([value, text]) =>
      h("button", {type: "button", class: "tab", "aria-pressed": String(form.kind === value),
        onclick: () => change("kind", value)}, text))),
    isLadder && h("div", {class: "field", role: "group", "aria-labelledby": "rungs-label",
      "aria-describedby": errors.rungs ? "error-rungs" : null},
    h("span", {class: "label", id: "rungs-label"}, "Sizes of the ladder"),
    h("div", {class: "checks"}, RUNGS.map((height, index) => h("label", {class: "check-field", key: height},
      h("input", {type: "checkbox", id: index ? null : "rungs", checked: form.rungs.includes(height),
        onchange: event => change("rungs", event.target.checked ? [...form.rungs, height]
          : form.rungs.filter(one => one !== height))}), `${height}p`))),
    errors.rungs && h("span", {class: "error", id: "error-rungs"}, errors.rungs)),
    h("div", {class: "fields"},
      select(context, "codec", "Video codec", CODECS),
      !isLadder && select(context, "height", "Size", SIZES.map(value =>
        [value, value ? `${value}p` : "Same as the input"])),
      select(context, "rate", "Rate control", isLadder ? RATES.slice(0, 2) : RATES),
      form.rate === "quality" && text(context, "quality", "Quality (0 best, 51 smallest)", {inputmode: "decimal"}),
      form.rate === "bitRate" && !isLadder && text(context, "bitRate", "Bit rate in Mbit/s", {inputmode: "decimal"}),
      select(context, "sound", "Sound", SOUNDS),
      ["aac", "opus"].includes(form.sound) && text(context, "soundRate", "Sound in kbit/s",
        {inputmode: "decimal", placeholder: "automatic"}),
      text(context, "name", "File name", {placeholder: "that of the input"})),
    check(context, "poster", "Also a picture every ten seconds"),
  ];
}

function more(context) {
  const queues = resource("queues").value ?? [{name: "default"}];
  const devices = resource("capabilities").value?.devices ?? [];
  return [
    h("div", {class: "fields"},
      text(context, "start", "Start at", {placeholder: "0:00"}),
      text(context, "duration", "Duration", {placeholder: "to the end"}),
      select(context, "queue", "Queue", queues.map(({name}) => [name, name])),
      text(context, "priority", "Priority (0 to 100)", {inputmode: "numeric"}),
      select(context, "device", "Device", [["auto", "Automatic"], ["software", "CPU only"],
        ...devices.map(({node, vendor}) => [node, vendor ? `${vendor} (${node})` : node])])),
    check(context, "requireHardware", "Fail if no GPU can encode it"),
    h("label", {class: "field"}, h("span", {class: "label"}, "Labels, one per line"),
      h("textarea", {id: "labels", rows: 2, value: context.form.labels, placeholder: "customer: blue",
        spellcheck: "false", oninput: event => context.change("labels", event.target.value),
        ...invalid(context, "labels")}),
      error(context, "labels")),
  ];
}

function select({form, change}, name, label, options) {
  return h("label", {class: "field", key: name}, h("span", {class: "label"}, label),
    h("select", {id: name, value: form[name], onchange: event => change(name, event.target.value)},
      options.map(([value, words]) => h("option", {value, key: value}, words))));
}

function text(context, name, label, attributes = {}) {
  return h("label", {class: "field", key: name}, h("span", {class: "label"}, label),
    h("input", {type: "text", id: name, value: context.form[name], autocomplete: "off", spellcheck: "false",
      ...attributes, ...invalid(context, name), oninput: event => context.change(name, event.target.value)}),
    error(context, name));
}

function check({form, change}, name, label) {
  return h("label", {class: "check-field", key: name}, h("input", {type: "checkbox", id: name, checked: form[name],
    onchange: event => change(name, event.target.checked)}), label);
}

const invalid = ({errors}, name) => errors[name] ? {"aria-invalid": "true", "aria-describedby": `error-${name}`} : {};
const error = ({errors}, name) => errors[name] && h("span", {class: "error", id: `error-${name}`}, errors[name]);
