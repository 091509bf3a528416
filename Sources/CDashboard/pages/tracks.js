// SPDX-License-Identifier: GPL-2.0-or-later
// The tracks of an input beside those of the outputs. Pure functions.

import {bitRate, bytes, clock, codec, frameRate, lastComponent} from "./format.js";

const join = (...parts) => parts.filter(part => part !== undefined && part !== null && part !== "" && part !== "–")
  .join(", ");
const known = (value, words) => value === undefined || value === null ? undefined : words(value);

/// The results of the command by output: a playlist has one for each variant.
export function results(job) {
  return job.outputs.flatMap(output => {
    const result = output.result;
    if (!result) return [];
    const list = Array.isArray(result.outputs) ? result.outputs : [result];
    return list.filter(one => one.output).map(one => ({
      name: list.length > 1 ? lastComponent(one.output.path) === "index.m3u8" || one.output.format === "hls"
        ? `${output.name}, ${one.output.height}p` : lastComponent(one.output.path) : output.name, result: one}));
  });
}

/// Rows of a table: {name, cells}, the first cell for the input. report: MediaReport, or undefined.
export function comparison(report, list) {
  const tracks = kind => report?.tracks.filter(track => track.kind === kind) ?? [];
  const video = tracks("video")[0];
  const line = (name, input, output) => ({name, cells: [input, ...list.map(({result}) => output(result))]});
  const sounds = Math.max(tracks("audio").length, ...list.map(({result}) => result.audio?.length ?? 0), 0);
  const rows = [
    line("Container", report?.format, result => result.output.format),
    line("File size", known(report?.size, bytes), result => known(result.output.bytes, bytes)),
    line("Duration", known(report?.duration, clock), result => known(result.duration, clock)),
    line("Video", known(video?.codec, codec), result => join(codec(result.encoder?.codec), result.encoder?.profile)),
    line("Picture", size(video), result => size(result.output)),
    line("Frame rate", known(video?.frameRate, frameRate), result => known(result.output.frameRate, frameRate)),
    line("Depth, chroma", depth(video), result => depth(result.output)),
    line("Dynamic range", video?.dynamicRange, result => result.output.dynamicRange),
    line("Bit rate", known(video?.bitRate ?? report?.bitRate, bitRate),
      result => known(result.bitRate?.delivered, bitRate)),
    line("Frames", undefined, result => known(result.frames?.out, String)),
    ...Array.from({length: sounds}, (_, index) => line(sounds > 1 ? `Sound ${index + 1}` : "Sound",
      sound(tracks("audio")[index]), result => sound(result.audio?.[index]))),
    ...["subtitles", "attachment", "data"].filter(kind => tracks(kind).length).map(kind =>
      line({subtitles: "Subtitles", attachment: "Attachments", data: "Data"}[kind],
        tracks(kind).map(track => join(track.language, codec(track.codec))).join("; "), () => undefined)),
  ];
  return rows.filter(row => row.cells.some(cell => cell !== undefined && cell !== ""));
}

function size(value) {
  return value?.width && value?.height ? `${value.width} × ${value.height}` : undefined;
}

function depth(value) {
  return join(known(value?.bitDepth, bits => `${bits} bits`), value?.chroma) || undefined;
}

function sound(track) {
  if (!track) return undefined;
  return join(codec(track.codec), track.copied ? "copied" : undefined,
    track.layout ?? known(track.channels, channels => `${channels} channels`),
    known(track.sampleRate, rate => `${rate / 1000} kHz`), known(track.bitRate, bitRate), track.language);
}

/// What a report says in one line: "HEVC 3840 × 2160, 29.97 fps, 10:00, 2 sound tracks".
export function summary(report) {
  const video = report.tracks.find(track => track.kind === "video");
  const sounds = report.tracks.filter(track => track.kind === "audio").length;
  return join(video ? join(codec(video.codec), size(video), known(video.frameRate, frameRate),
    video.dynamicRange && video.dynamicRange !== "SDR" ? video.dynamicRange : undefined) : "no video",
  known(report.duration, clock), sounds === 1 ? "sound" : sounds ? `${sounds} sound tracks` : "no sound",
  known(report.size, bytes));
}

/// What the command did otherwise than asked, and what it left out.
export function notes(result) {
  const problems = result.problems ?? {};
  const counted = [["decodeErrors", "decoding errors"], ["damagedFrames", "damaged frames"],
    ["readErrors", "read errors"],
    ["lostPackets", "lost packets"], ["repairedTimes", "repaired timestamps"], ["discontinuities", "discontinuities"]];
  return [
    ...(result.adjustments ?? []).map(one =>
      `${one.property}: ${one.used} in place of ${one.requested}: ${one.reason}`),
    ...result.omissions ?? [],
    ...counted.filter(([name]) => problems[name] > 0).map(([name, words]) => `${problems[name]} ${words} in the input`),
    ...problems.descriptions ?? [],
  ].map(String);
}
