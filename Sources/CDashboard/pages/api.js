// SPDX-License-Identifier: GPL-2.0-or-later
// Requests to the service. The key stays in the storage of this tab's session.

const KEY = "key";
let askForKey = async () => null;
let asking = null;
let isDismissed = false;

/// What a request throws: a problem document of the service, or that it cannot be reached (status 0).
export class Problem extends Error {
  constructor(status, document) {
    super(document.detail || document.title || `The service answered ${status}.`);
    this.status = status;
    this.code = document.code ?? (status === 0 ? "offline" : `http-${status}`);
    this.field = document.field;
    this.value = document.value;
    this.allowed = document.allowed;
    this.remedies = document.remedies ?? [];
    this.requestID = document.requestID;
  }

  static offline() {
    return new Problem(0, {detail: "The service cannot be reached.",
      remedies: ["Check that vatoolbox-service runs, and the connection to it."]});
  }
}

/// Sets who is asked for a key: a function of whether one was refused, which returns one, or null.
export function setKeySource(source) {
  askForKey = source;
}

export function key() {
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return null;
  }
}

export function setKey(value) {
  if (value) sessionStorage.setItem(KEY, value);
  else sessionStorage.removeItem(KEY);
}

export function authorization() {
  return key() ? {Authorization: `Bearer ${key()}`} : {};
}

/// Asks for a key once, however many requests were refused; not again after a user has dismissed the question. Returns
/// whether there is a new one.
export async function renewKey(refused) {
  if (key() !== refused) return true;
  if (isDismissed) return false;
  asking ??= askForKey(refused !== null).finally(() => { asking = null; });
  const given = await asking;
  if (given) setKey(given);
  else isDismissed = true;
  return Boolean(given);
}

/// Lets the next refused request ask for a key again, because a user wants to go on.
export function askAgain() {
  isDismissed = false;
}

/// An address from a path and the values of a query; those that are empty are left out.
export function address(path, query = {}) {
  const values = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    for (const one of [value].flat()) if (one !== undefined && one !== null && one !== "") values.append(name, one);
  return values.size ? `${path}?${values}` : path;
}

/// Sends a request and returns its response, which is a success. Throws Problem.
export async function send(method, path, {query, body, headers = {}, signal} = {}) {
  for (;;) {
    const used = key();
    let response;
    try {
      response = await fetch(address(path, query), {method, signal, cache: "no-store",
        headers: {Accept: "application/json", ...body === undefined ? {} : {"Content-Type": "application/json"},
          ...authorization(), ...headers},
        body: body === undefined ? undefined : JSON.stringify(body)});
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw Problem.offline();
    }
    if (response.ok) return response;
    if (response.status === 401 && await renewKey(used)) continue;
    throw new Problem(response.status, await problemDocument(response));
  }
}

async function problemDocument(response) {
  try {
    return await response.json();
  } catch {
    return {detail: `The service answered ${response.status} ${response.statusText}.`};
  }
}

/// Sends a request and returns the JSON of the response.
export async function json(method, path, options) {
  const response = await send(method, path, options);
  return response.status === 204 ? null : response.json();
}

export const get = (path, query, signal) => json("GET", path, {query, signal});
export const post = (path, body, options = {}) => json("POST", path, {body, ...options});

/// The path of a segment that may hold any character.
export const segment = text => encodeURIComponent(text);
export const jobPath = (id, rest = "") => `/v1/jobs/${segment(id)}${rest}`;

/// A random key, which makes a repeated request harmless. `crypto.randomUUID` is missing on plain HTTP.
export function idempotencyKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, "0")).join("");
}

/// An address that the browser can load by itself, for players and downloads: signed if requests need a key. What the
/// service returns is reduced to this origin, which a proxy may have renamed.
export async function openable(url, {expiresIn = 6 * 3600, download = false} = {}) {
  const place = new URL(url, location.origin);
  if (download) place.searchParams.set("download", "true");
  const path = place.pathname + place.search;
  if (!key()) return path;
  const link = new URL((await post("/v1/links", {path, method: "GET", expiresIn})).url, location.origin);
  return link.pathname + link.search;
}

/// Uploads a file, which fetch cannot do with progress. `onProgress` gets sent and total bytes.
export function upload(name, file, {onProgress, signal}) {
  const used = key();
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const fail = (status, document) => reject(new Problem(status, document));
    request.open("PUT", `/v1/uploads/${segment(name)}`);
    request.responseType = "text";
    request.setRequestHeader("Content-Type", "application/octet-stream");
    for (const [header, value] of Object.entries(authorization())) request.setRequestHeader(header, value);
    request.upload.onprogress = event => onProgress(event.loaded, event.total);
    request.onload = () => {
      let document = {};
      try {
        document = JSON.parse(request.responseText);
      } catch {
        document = {detail: `The service answered ${request.status} ${request.statusText}.`};
      }
      if (request.status < 300) resolve(document);
      else fail(request.status, document);
    };
    request.onerror = () => reject(Problem.offline());
    request.onabort = () => reject(new DOMException("The upload was stopped.", "AbortError"));
    signal?.addEventListener("abort", () => request.abort());
    request.send(file);
  }).catch(async error => {
    if (error.status === 401 && await renewKey(used)) return upload(name, file, {onProgress, signal});
    throw error;
  });
}
