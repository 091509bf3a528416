// SPDX-License-Identifier: GPL-2.0-or-later
// What can be said of a job and done with it. Pure functions.

import {lastComponent} from "./format.js";

export const STATES = ["waiting", "running", "succeeded", "failed", "cancelled"];
export const STATE_NAMES = {waiting: "Waiting", running: "Running", succeeded: "Succeeded", failed: "Failed",
  cancelled: "Cancelled"};
export const PHASES = {fetching: "Fetching the input", examining: "Examining the input",
  measuring: "Measuring the loudness", encoding: "Encoding", verifying: "Verifying", publishing: "Publishing"};
export const WAITING = {"queue-paused": "Queue paused", "queue-closed": "Queue closed", "queue-full": "Queue full",
  draining: "Node draining", "no-worker": "No worker", demand: "No free worker", "retry-pause": "Pause before a retry",
  behind: "In line", "disk-full": "Disk full",
  "memory-short": "Memory short", "devices-busy": "GPUs busy"};

/// The input as text: that of a summary, or the one of a request.
export function inputText(job) {
  const input = job.input ?? job.request?.input;
  if (typeof input === "string") return input;
  return input?.upload ?? input?.path ?? input?.url ?? "";
}

/// A short name: the file of the input.
export function title(job) {
  return lastComponent(inputText(job)) || job.id;
}

export const isEnded = job => ["succeeded", "failed", "cancelled"].includes(job.state);
export const canCancel = job => !isEnded(job) && !job.cancelRequested;
export const canRetry = job => job.state === "failed" || job.state === "cancelled";
export const canDelete = isEnded;

/// The actions on jobs: the method, the rest of the path, who may have it, and its words.
export const ACTIONS = {
  retry: {method: "POST", rest: "/retry", allows: canRetry, verb: "Retry", done: "retried"},
  cancel: {method: "POST", rest: "/cancel", allows: canCancel, verb: "Cancel", done: "cancelled",
    warning: "Work that was done so far is lost."},
  remove: {method: "DELETE", rest: "", allows: canDelete, verb: "Delete", done: "deleted",
    warning: "The records and all result files are deleted. This cannot be undone."},
};

/// Jobs in the order in which they will probably start.
export function inOrder(jobs) {
  return [...jobs].sort((a, b) => (a.waiting?.position ?? Infinity) - (b.waiting?.position ?? Infinity)
    || b.priority - a.priority || a.createdAt.localeCompare(b.createdAt));
}

/// What a job makes, as text: "show.m3u8, poster.png".
export function outputsText(job) {
  return (job.outputs ?? []).map(output => output.name).join(", ");
}

/// How long it ran, in seconds.
export function runningTime(job, now = Date.now()) {
  if (!job.startedAt) return undefined;
  return Math.max(0, ((job.endedAt ? Date.parse(job.endedAt) : now) - Date.parse(job.startedAt)) / 1000);
}

/// The text of a remedy, and the command in it: it follows a colon.
export function remedyParts(remedy) {
  const match = /^(.*?):\s+(.*\S)\s*$/s.exec(remedy);
  return match && /^[\w./-]+(\s|$|=)/.test(match[2]) ? {text: `${match[1]}:`, command: match[2]} : {text: remedy};
}
