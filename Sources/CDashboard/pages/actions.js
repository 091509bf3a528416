// SPDX-License-Identifier: GPL-2.0-or-later
// What users do to jobs, queues and the node: the question before, the requests, and the message after.

import {json, jobPath, post, segment} from "./api.js";
import {confirm} from "./dialogs.js";
import {plural} from "./format.js";
import {ACTIONS, title} from "./jobs.js";
import {toast} from "./parts.js";
import {reload, reloadLists} from "./store.js";

const AT_A_TIME = 4;

/// Retries, cancels or deletes jobs; those whose state does not allow it are left out. Returns those that were done.
export async function act(name, jobs) {
  const action = ACTIONS[name];
  const able = jobs.filter(action.allows);
  if (!able.length) return [];
  const what = able.length === 1 ? `“${title(able[0])}”` : plural(able.length, "job");
  if (action.warning && !await confirm({heading: `${action.verb} ${what}?`, text: action.warning,
    yes: `${action.verb} ${able.length === 1 ? "the job" : what}`, no: "Go back", isDangerous: true})) return [];
  const done = [], failed = [], rest = [...able];
  await Promise.all(Array.from({length: AT_A_TIME}, async () => {
    for (let job = rest.shift(); job; job = rest.shift()) {
      try {
        await json(action.method, jobPath(job.id, action.rest));
        done.push(job);
      } catch (problem) {
        failed.push({job, problem});
      }
    }
  }));
  if (done.length) toast(`${done.length === 1 ? title(done[0]) : plural(done.length, "job")} ${action.done}.`, "good");
  for (const {job, problem} of failed.slice(0, 3)) toast(`${title(job)}: ${problem.message}`, "bad");
  if (failed.length > 3) toast(`${failed.length - 3} more were refused.`, "bad");
  reloadLists();
  return done;
}

/// Does one thing and tells how it went.
async function attempt(work, message) {
  try {
    await work();
    toast(message, "good");
  } catch (problem) {
    toast(problem.message, "bad");
  }
}

export async function drainNode() {
  if (!await confirm({heading: "Drain this node?", yes: "Drain", no: "Go back",
    text: "Running jobs finish. No other job starts here until you resume."})) return;
  await attempt(() => post("/v1/drain"), "The node is draining.");
  await reload("status", "waiting");
}

export async function resumeNode() {
  await attempt(() => post("/v1/resume"), "The node takes jobs again.");
  await reload("status", "waiting");
}

/// action: pause, resume or drain.
export async function changeQueue(name, action) {
  const words = {pause: "is paused: running jobs go on", resume: "runs again", drain: "drains: running jobs finish"};
  await attempt(() => post(`/v1/queues/${segment(name)}/${action}`), `Queue ${name} ${words[action]}.`);
  await reload("queues", "waiting");
}
