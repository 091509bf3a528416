// SPDX-License-Identifier: GPL-2.0-or-later
// Elements as plain values, and the changes that bring the document from one value to the next. Text comes into the
// document as text only, so names of files cannot become markup. Elements that stay keep focus, selection and playback.

const SVG = "http://www.w3.org/2000/svg";
// Set as properties: their attributes only hold initial values.
const PROPERTIES = new Set(["value", "checked", "indeterminate", "muted"]);
const RESERVED = new Set(["key", "created", "style"]);
const handlers = new WeakMap();
const rendered = new WeakMap();

/// An element: `h("button", {type: "button", onclick: f}, "Cancel")`. Properties that are null or false are left out;
/// `key` names it among its siblings, `created` is called with the node, `style` maps names to values.
export function h(tag, properties, ...children) {
  return {tag, properties: properties ?? {}, children: values(children)};
}

/// Makes the children of a node equal to the elements.
export function render(parent, elements) {
  const next = values([elements]);
  patchChildren(parent, rendered.get(parent) ?? [], next);
  rendered.set(parent, next);
}

function values(children) {
  return children.flat(Infinity)
    .filter(child => child !== null && child !== undefined && child !== false && child !== true)
    .map(child => typeof child === "object" ? child : {tag: "", text: String(child), properties: {}, children: []});
}

function patchChildren(parent, before, after) {
  const keyed = new Map(), byTag = new Map();
  for (const element of before) {
    const key = element.properties.key;
    if (key !== undefined) keyed.set(`${element.tag} ${key}`, element);
    else byTag.set(element.tag, [...byTag.get(element.tag) ?? [], element]);
  }
  const nodes = new Set();
  const matches = after.map(element => {
    const key = element.properties.key;
    const match = key !== undefined ? keyed.get(`${element.tag} ${key}`) : byTag.get(element.tag)?.shift();
    if (match && !nodes.has(match.node)) {
      nodes.add(match.node);
      return match;
    }
    return undefined;
  });
  for (const element of before) if (!nodes.has(element.node)) element.node.remove();
  let place = parent.firstChild;
  after.forEach((element, index) => {
    if (matches[index]) patch(matches[index], element);
    else create(parent, element);
    if (element.node === place) place = place.nextSibling;
    else parent.insertBefore(element.node, place);
    if (!matches[index]) element.properties.created?.(element.node);
  });
}

function create(parent, element) {
  if (element.tag === "") {
    element.node = document.createTextNode(element.text);
    return;
  }
  const isVector = element.tag === "svg" || parent.namespaceURI === SVG;
  element.node = isVector ? document.createElementNS(SVG, element.tag) : document.createElement(element.tag);
  patchChildren(element.node, [], element.children);
  setProperties(element.node, {}, element.properties);
}

function patch(old, element) {
  const node = element.node = old.node;
  if (element.tag === "") {
    if (old.text !== element.text) node.data = element.text;
    return;
  }
  patchChildren(node, old.children, element.children);
  setProperties(node, old.properties, element.properties);
}

function dispatch(event) {
  return handlers.get(event.currentTarget)?.[event.type]?.(event);
}

function setProperties(node, before, after) {
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const value = after[name];
    if (RESERVED.has(name)) continue;
    if (name.startsWith("on")) setHandler(node, name.slice(2), value);
    else if (PROPERTIES.has(name)) {
      if (value !== before[name] && node[name] !== value) node[name] = value ?? "";
    } else if (value === before[name]) continue;
    else if (value === null || value === undefined || value === false) node.removeAttribute(name);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const [name, value] of Object.entries(after.style ?? {}))
    if (before.style?.[name] !== value) node.style.setProperty(name, value);
}

function setHandler(node, type, handler) {
  const known = handlers.get(node) ?? {};
  if (!(type in known)) node.addEventListener(type, dispatch);
  handlers.set(node, {...known, [type]: handler});
}
