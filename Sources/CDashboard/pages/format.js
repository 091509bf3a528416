// SPDX-License-Identifier: GPL-2.0-or-later
// Figures as text. Pure functions.

const DASH = "–";
const isNumber = value => typeof value === "number" && Number.isFinite(value);

/// 1536 → "1.5 kB": powers of 1000, as disks and networks are sold.
export function bytes(value) {
  return scaled(value, ["B", "kB", "MB", "GB", "TB", "PB"]);
}

/// 5120000 → "5.12 Mbit/s".
export function bitRate(value) {
  return scaled(value, ["bit/s", "kbit/s", "Mbit/s", "Gbit/s"]);
}

function scaled(value, units) {
  if (!isNumber(value)) return DASH;
  let index = 0;
  while (Math.abs(value) >= 999.5 && index < units.length - 1) {
    value /= 1000;
    index += 1;
  }
  return `${digits(value, index === 0 ? 0 : 3)} ${units[index]}`;
}

/// A number with about so many significant digits, without zeros at the end.
function digits(value, significant) {
  if (significant === 0 || Math.abs(value) >= 100) return String(Math.round(value));
  return String(Number(value.toPrecision(significant)));
}

/// 3725 → "1:02:05"; for positions and lengths of media.
export function clock(seconds) {
  if (!isNumber(seconds)) return DASH;
  const whole = Math.max(0, Math.round(seconds));
  const pad = number => String(number).padStart(2, "0");
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  return hours ? `${hours}:${pad(minutes)}:${pad(whole % 60)}` : `${minutes}:${pad(whole % 60)}`;
}

/// 3725 → "1 h 2 min"; for how long something takes.
export function span(seconds) {
  if (!isNumber(seconds)) return DASH;
  if (seconds < 9.95) return `${Number(Math.max(0, seconds).toFixed(1))} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return parts(Math.floor(whole / 60), "min", whole % 60, "s");
  if (whole < 86400) return parts(Math.floor(whole / 3600), "h", Math.floor(whole / 60) % 60, "min");
  return parts(Math.floor(whole / 86400), "d", Math.floor(whole / 3600) % 24, "h");
}

function parts(first, unit, second, smaller) {
  return second ? `${first} ${unit} ${second} ${smaller}` : `${first} ${unit}`;
}

/// How long ago a time is: "just now", "5 min ago", "3 h ago", or a date.
export function ago(time, now = Date.now()) {
  const seconds = (now - Date.parse(time)) / 1000;
  if (!isNumber(seconds)) return DASH;
  if (seconds < 0) return `in ${span(-seconds)}`;
  if (seconds < 10) return "just now";
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
  if (seconds < 7 * 86400) return `${Math.floor(seconds / 86400)} d ago`;
  return new Date(time).toLocaleDateString();
}

/// A time in the user's zone.
export function moment(time) {
  return time ? new Date(time).toLocaleString(undefined, {dateStyle: "medium", timeStyle: "medium"}) : DASH;
}

/// 0.4567 → "46 %".
export function percent(fraction) {
  return isNumber(fraction) ? `${Math.floor(Math.min(1, Math.max(0, fraction)) * 100)} %` : DASH;
}

/// 123.4 → "123 fps".
export function frames(value) {
  return isNumber(value) ? `${digits(value, 3)} fps` : DASH;
}

/// 4.2 → "4.2×", the speed in relation to playing.
export function speed(value) {
  return isNumber(value) ? `${digits(value, value < 1 ? 2 : 3)}×` : DASH;
}

/// "30000/1001" → "29.97 fps".
export function frameRate(text) {
  if (!text) return DASH;
  const [numerator, denominator = "1"] = String(text).split("/");
  const rate = Number(numerator) / Number(denominator);
  return isNumber(rate) ? `${Number(rate.toFixed(3))} fps` : String(text);
}

/// 1500 → "1,500", in the manner of the user's language.
export function count(value) {
  return isNumber(value) ? value.toLocaleString() : DASH;
}

/// "1 job", "3 jobs".
export function plural(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

const CODECS = {h264: "H.264", hevc: "HEVC", av1: "AV1", vp9: "VP9", vp8: "VP8", aac: "AAC", opus: "Opus", flac: "FLAC",
  mp3: "MP3", ac3: "AC-3", eac3: "E-AC-3", pcm: "PCM", mpeg2video: "MPEG-2", mpeg4: "MPEG-4", prores: "ProRes"};

/// "h264" → "H.264"; names without a better one stay.
export function codec(name) {
  return name ? CODECS[name] ?? name : DASH;
}

/// The last component of a path or an address.
export function lastComponent(text) {
  const path = String(text ?? "").replace(/[?#].*$/s, "").replace(/\/+$/, "");
  return path.slice(path.lastIndexOf("/") + 1) || String(text ?? "");
}
