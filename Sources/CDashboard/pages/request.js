// SPDX-License-Identifier: GPL-2.0-or-later
// What a form asks for, as the request of a job. Pure functions.

/// The rungs that a ladder may have, and those that it has at first.
export const RUNGS = [2160, 1440, 1080, 720, 480, 360];
export const SIZES = ["", "2160", "1440", "1080", "720", "480"];
export const FIRST_FORM = Object.freeze({
  source: "upload", place: "", kind: "mp4", codec: "auto", rate: "auto", quality: "23", bitRate: "5", height: "",
  rungs: Object.freeze([1080, 720, 480]), sound: "auto", soundRate: "", name: "", preset: "", queue: "default",
  priority: "50", device: "auto", requireHardware: false, labels: "", start: "", duration: "", poster: false,
});

/// A name for a file beside those that are taken: "clip.mp4", "clip-2.mp4".
export function freeName(wanted, taken) {
  const [stem, extension] = split(fileName(wanted));
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? stem + extension : `${stem}-${number}${extension}`;
    if (!taken.has(name)) return name;
  }
}

/// A name that the service accepts: without slashes and control characters, no dot in front, up to 200 characters.
export function fileName(text) {
  const clean = text.replace(/[/\\\u0000-\u001f\u007f]/g, "_").replace(/^\.+/, "").trim() || "file";
  const [stem, extension] = split(clean);
  return Array.from(stem).slice(0, 180).join("") + extension.slice(0, 12);
}

function split(name) {
  const dot = name.lastIndexOf(".");
  return dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ""];
}

/// The name of the result: that of the input with another extension.
export function outputName(form, inputName) {
  const extension = form.kind === "hls" ? ".m3u8" : `.${form.kind}`;
  const own = form.name.trim();
  if (own) return own.toLowerCase().endsWith(extension) ? own : own + extension;
  return split(fileName(inputName))[0] + extension;
}

/// The labels of lines such as "customer: blue".
export function labels(text) {
  const result = {};
  for (const line of text.split("\n").filter(one => one.trim())) {
    const match = /^\s*([A-Za-z0-9._-]{1,64})\s*[:=]\s*(.{0,256}?)\s*$/.exec(line);
    if (!match)
      return {error: `“${line.trim()}” is not a label. Write key: value; keys have letters, digits, . _ and -.`};
    result[match[1]] = match[2];
  }
  return {value: result};
}

function number(text, least, most) {
  const value = Number(String(text).trim().replace(",", "."));
  return String(text).trim() !== "" && Number.isFinite(value) && value >= least && value <= most ? value : undefined;
}

/// Seconds of "90", "1:30" or "1:02:03.5".
export function seconds(text) {
  if (!/^(\d+:){0,2}\d+([.,]\d+)?$/.test(text.trim())) return undefined;
  return text.trim().replace(",", ".").split(":").reduce((sum, part) => sum * 60 + Number(part), 0);
}

/// The request of a form for an input, {upload}, {path} or {url}: {request}, or {errors} by the name of a field.
/// name: that of the input's file. report: what is known of the input, or undefined.
export function makeRequest(form, input, name, report) {
  const errors = {};
  const source = {...input};
  for (const field of ["start", "duration"]) {
    if (!form[field].trim()) continue;
    source[field] = seconds(form[field]);
    if (source[field] === undefined) errors[field] = "Write seconds, or minutes:seconds, such as 1:30.";
  }
  const named = labels(form.labels);
  if (named.error) errors.labels = named.error;
  const priority = number(form.priority, 0, 100);
  if (priority === undefined || !Number.isInteger(priority)) errors.priority = "Write a whole number from 0 to 100.";
  const outputs = form.preset ? [] : [makeOutput(form, name, report, errors)];
  if (!form.preset && form.poster)
    outputs.push({kind: "thumbnails", name: `${split(fileName(name))[0]}-%d.png`, interval: 10, width: 320});
  if (Object.keys(errors).length) return {errors};
  return {request: {input: source, outputs, ...form.preset ? {preset: form.preset} : {}, queue: form.queue || "default",
    priority, labels: named.value, device: form.device || "auto", requireHardware: form.requireHardware}};
}

function makeOutput(form, name, report, errors) {
  const video = {codec: form.codec};
  if (form.rate === "quality") {
    video.quality = number(form.quality, 0, 51);
    if (video.quality === undefined) errors.quality = "Write a number from 0 (best) to 51.";
  }
  if (form.rate === "bitRate" && form.kind !== "hls") {
    const megabits = number(form.bitRate, 0.01, 1000);
    if (megabits === undefined) errors.bitRate = "Write megabits per second, from 0.01 to 1000.";
    else video.bitRate = Math.round(megabits * 1e6);
  }
  const audio = {codec: form.sound};
  if (["aac", "opus"].includes(form.sound) && form.soundRate.trim()) {
    const kilobits = number(form.soundRate, 6, 1024);
    if (kilobits === undefined) errors.soundRate = "Write kilobits per second, from 6 to 1024.";
    else audio.bitRate = Math.round(kilobits * 1000);
  }
  const output = {kind: form.kind === "hls" ? "hls" : "file", name: outputName(form, name), video, audio};
  if (/[/\u0000-\u001f\u007f]/.test(output.name) || output.name.startsWith(".") || output.name.length > 200)
    errors.name = "Write a name of up to 200 characters, without slashes, and without a dot in front.";
  if (form.kind === "hls") {
    if (!form.rungs.length) errors.rungs = "Choose at least one size.";
    output.ladder = RUNGS.filter(height => form.rungs.includes(height)).map(height => ({height}));
  } else if (form.height) Object.assign(video, size(Number(form.height), report));
  if (output.kind === "file" && /\.(mp4|m4v|mov)$/i.test(output.name)) output.preview = true;
  return output;
}

/// The height, and the width that keeps the aspect ratio if the input's size is known; both are even.
function size(height, report) {
  const track = report?.tracks.find(one => one.kind === "video" && one.width && one.height);
  if (!track) return {height};
  const isTurned = Math.abs(track.rotation ?? 0) % 180 === 90;
  const [width, lines] = isTurned ? [track.height, track.width] : [track.width, track.height];
  return {width: Math.max(16, Math.round(width * height / lines / 2) * 2), height};
}

/// The rungs of a ladder that are not above the input, at least the lowest.
export function fittingRungs(rungs, report) {
  const height = report?.tracks.find(track => track.kind === "video")?.height;
  if (!height) return rungs;
  const fitting = rungs.filter(rung => rung <= height);
  return fitting.length ? fitting : [RUNGS.at(-1)];
}
