// SPDX-License-Identifier: GPL-2.0-or-later
// GPUs and encoders: which are used, why not, and what to do.

import {h} from "./dom.js";
import {codec, percent, plural} from "./format.js";
import {badge, button, empty, fact, loaded, remedies, section, sign, when} from "./parts.js";
import {reload, resource} from "./store.js";

export const devices = {
  title: () => "Devices",
  open() {
    reload("capabilities", "status");
  },
  render() {
    const capabilities = resource("capabilities");
    return [
      h("div", {class: "title"}, h("h1", {tabindex: "-1"}, "Devices"),
        h("p", {class: "muted small"}, capabilities.value && ["Checked ", when(capabilities.value.checkedAt)], " ",
          button("Look again", () => reload("capabilities"), {kind: "small", disabled: capabilities.isLoading}))),
      loaded(capabilities, value => [gpus(value), encoders(value)], () => reload("capabilities"), 6),
    ];
  },
};

function gpus({devices: list, absence}) {
  return section("gpus", "GPUs", null,
    absence && h("div", {class: "notice warning"}, sign("warning"), h("div", {class: "notice-body"},
      h("p", null, h("strong", null, absence.explanation)),
      absence.cause && h("p", {class: "small"}, "Cause ", h("code", null, absence.cause)), remedies(absence.remedies))),
    list.length ? h("div", {class: "stack"}, list.map(device))
      : !absence && empty("There is no GPU on this node. Jobs are encoded by x264 and x265."));
}

function device(value) {
  const works = value.usable && !value.suspended;
  return h("article", {class: "panel", key: value.node, "aria-label": value.vendor ?? value.node},
    h("div", {class: "panel-head"},
      h("div", null, h("h3", null, value.vendor ?? value.driver ?? value.kernelDriver ?? "GPU"),
        h("p", {class: "muted small"}, h("code", null, value.node))),
      works ? badge("succeeded", "Used") : badge(value.suspended ? "waiting" : "failed",
        value.suspended ? "Suspended" : "Not used")),
    h("p", null, works ? `Jobs with device “auto” are encoded here; ${plural(value.sessions, "session")} now.`
      : value.explanation),
    h("dl", {class: "facts"},
      fact("Driver", value.driver), fact("Kernel driver", value.kernelDriver),
      fact("PCI address", value.pciAddress && h("code", null, value.pciAddress)),
      fact("Cause", value.cause && h("code", null, value.cause)),
      fact("Busy", busy(value.node)),
      fact("Suspended until", value.suspended && when(value.suspended)),
      fact("Encodes", profiles(value.encodes)), fact("Decodes", profiles(value.decodes))),
    remedies(value.remedies));
}

// What the kernel tells of its engines, while jobs use them.
function busy(node) {
  const engines = (resource("status").value?.engines ?? []).filter(engine => engine.node === node);
  return engines.length ? engines.map(engine => `${engine.name} ${percent(engine.busy)}`).join(", ") : null;
}

function profiles(list) {
  if (!list?.length) return null;
  return h("ul", {class: "chips"}, list.map(profile => h("li", {class: "chip"}, profile)));
}

function encoders({softwareEncoders}) {
  return section("software", "Software encoders", null,
    softwareEncoders.length ? h("ul", {class: "rows panel"}, softwareEncoders.map(encoder =>
      h("li", {class: "row", key: encoder.name}, badge("succeeded", "Ready"),
        h("span", {class: "row-name"}, encoder.name), h("span", {class: "muted"}, codec(encoder.codec)))))
      : empty("There is no software encoder: jobs fail if no GPU can encode them."));
}
