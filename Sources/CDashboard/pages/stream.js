// SPDX-License-Identifier: GPL-2.0-or-later
// Server-sent events by fetch: EventSource cannot send a key.

import {Problem, authorization, key, renewKey} from "./api.js";

// The service sends a comment every 15 s.
const SILENCE = 45000;
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 15000;

/// Takes the text of a stream piece by piece and returns the events that are complete.
export class EventParser {
  #rest = "";
  #isAfterReturn = false;
  #event = {data: [], type: "message"};
  lastID = null;

  push(text) {
    // A line ends with CR, LF or both; a CR at the end of a piece may be followed by its LF in the next one.
    if (this.#isAfterReturn && text.startsWith("\n")) text = text.slice(1);
    if (text !== "") this.#isAfterReturn = text.endsWith("\r");
    const lines = (this.#rest + text).split(/\r\n|\r|\n/);
    this.#rest = lines.pop();
    return lines.flatMap(line => this.#line(line) ?? []);
  }

  #line(line) {
    if (line === "") {
      const {data, type} = this.#event;
      this.#event = {data: [], type: "message"};
      return data.length ? {type, data: data.join("\n"), id: this.lastID} : undefined;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") this.#event.data.push(value);
    else if (field === "event") this.#event.type = value;
    else if (field === "id" && !value.includes("\0")) this.lastID = value;
    return undefined;
  }
}

/// How long to wait before the next attempt, in milliseconds: doubled with each failure, with a random part so that the
/// pages of many users do not come back at once.
export function pause(failures, random = Math.random()) {
  return Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** failures) * (0.5 + random / 2);
}

/// Follows a stream until the signal aborts. onEvent gets {type, data, id}, with data from JSON; onState gets
/// {online, retryAt, retry, problem}.
export async function follow(path, {onEvent, onState, signal}) {
  const parser = {current: new EventParser()};
  let failures = 0, lastID = null;
  while (!signal.aborted) {
    const used = key();
    let problem = Problem.offline();
    try {
      await read(path, lastID, signal, async response => {
        if (response.status === 401) await renewKey(used);
        if (!response.ok) throw new Problem(response.status, {detail: `The events are refused (${response.status}).`});
        parser.current = new EventParser();
        failures = 0;
        onState({online: true});
      }, text => {
        for (const event of parser.current.push(text)) {
          lastID = event.id ?? lastID;
          onEvent({...event, data: JSON.parse(event.data)});
        }
      });
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Problem) problem = error;
    }
    const wait = pause(failures);
    failures += 1;
    await new Promise(resolve => {
      const timer = setTimeout(resolve, wait);
      const retry = () => {
        clearTimeout(timer);
        resolve();
      };
      signal.addEventListener("abort", retry, {once: true});
      onState({online: false, retryAt: Date.now() + wait, retry, problem});
    });
  }
}

async function read(path, lastID, signal, onResponse, onText) {
  const watch = new AbortController();
  const stop = () => watch.abort();
  signal.addEventListener("abort", stop, {once: true});
  let timer = setTimeout(stop, SILENCE);
  try {
    const response = await fetch(path, {signal: watch.signal, cache: "no-store",
      headers: {Accept: "text/event-stream", ...lastID === null ? {} : {"Last-Event-ID": lastID}, ...authorization()}});
    await onResponse(response);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const {value, done} = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(stop, SILENCE);
      onText(value);
    }
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
    watch.abort();
  }
}
