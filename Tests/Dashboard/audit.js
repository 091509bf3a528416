// SPDX-License-Identifier: GPL-2.0-or-later
// What is wrong with a page for people who cannot see it well, or use no pointer. The value is a list of lines.
(() => {
  const problems = [];
  const top = document.querySelector("dialog[open]") ?? document.body;
  const all = (selector, place = document) => [...place.querySelectorAll(selector)];
  const isShown = element => element.checkVisibility({visibilityProperty: true, opacityProperty: true})
    && !element.closest("[hidden]");
  const describe = element => `${element.tagName.toLowerCase()}${element.id ? `#${element.id}` : ""}`
    + `${typeof element.className === "string" && element.className ? `.${element.className.trim().replaceAll(" ",
      ".")}` : ""}`
    + ` “${(element.textContent || element.getAttribute("aria-label") || "").trim().slice(0, 40)}”`;
  const say = (element, text) => problems.push(`${describe(element)}: ${text}`);

  // Colours are drawn on a canvas: the only way that reads every notation.
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgba = color => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = ([r, g, b, a], [r2, g2, b2]) => [r * a + r2 * (1 - a), g * a + g2 * (1 - a), b * a + b2 * (1 - a), 1];
  const luminance = color => {
    const [r, g, b] = color.slice(0, 3).map(value => value / 255)
      .map(value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (first, second) => {
    const [low, high] = [luminance(first), luminance(second)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const ground = element => {
    const layers = [];
    for (let one = element; one; one = one.parentElement) {
      const color = rgba(getComputedStyle(one).backgroundColor);
      if (color[3] > 0) layers.push(color);
      if (color[3] === 1) break;
    }
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
  };

  // Contrast of text, and of the edges of fields.
  const seen = new Set();
  const walker = document.createTreeWalker(top, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || seen.has(element) || !isShown(element)
      || element.closest(":disabled, .hidden, noscript"))
      continue;
    seen.add(element);
    const style = getComputedStyle(element);
    if (style.clipPath !== "none") continue;
    const below = ground(element), size = parseFloat(style.fontSize);
    const least = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    const ratio = contrast(over(rgba(style.color), below), below);
    if (ratio < least) say(element, `a contrast of ${ratio.toFixed(2)}, below ${least}`);
    if (size < 12) say(element, `text of ${size} px`);
  }
  for (const field of all("input:not([type=checkbox]):not([type=file]), select, textarea", top).filter(isShown)) {
    const ratio = contrast(rgba(getComputedStyle(field).borderTopColor), ground(field.parentElement));
    if (ratio < 3) say(field, `an edge with a contrast of ${ratio.toFixed(2)}, below 3`);
  }
  for (const mark of all(".bar-fill, .spark-line, .sign", top).filter(isShown)) {
    const style = getComputedStyle(mark);
    const ratio = contrast(rgba(mark.matches(".bar-fill") ? style.backgroundColor : style.stroke),
      ground(mark.parentElement));
    if (ratio < 3) say(mark, `a mark with a contrast of ${ratio.toFixed(2)}, below 3`);
  }

  // Names. The text of hidden labels counts; that of pictures without a name does not.
  const text = element => [...element.childNodes].map(node => node.nodeType === Node.TEXT_NODE ? node.data
    : node.nodeType !== Node.ELEMENT_NODE || node.getAttribute("aria-hidden") === "true"
      || getComputedStyle(node).display === "none" ? "" : node.getAttribute("aria-label") ?? node.alt
        ?? text(node)).join("");
  const named = ids => ids.split(/\s+/).map(id => document.getElementById(id)?.textContent ?? "").join(" ");
  const name = element => (element.getAttribute("aria-labelledby") ? named(element.getAttribute("aria-labelledby"))
    : element.getAttribute("aria-label") ?? ([...element.labels ?? []].map(text).join(" ") || text(element))).trim();
  const CONTROLS = "a[href], button, input, select, textarea, summary, video, [role=button], [role=progressbar], "
    + "[role=meter]";
  for (const control of all(CONTROLS, top).filter(isShown)) {
    if (!name(control)) say(control, "no name");
    else if (control.getAttribute("aria-label") && control.textContent.trim()
      && !control.getAttribute("aria-label").toLowerCase().includes(text(control).trim().toLowerCase().split(" ")[0]))
      say(control, "a name without the text that is seen");
  }
  for (const field of all("input, select, textarea", top).filter(isShown))
    if (!field.labels?.length && !field.getAttribute("aria-label")) say(field, "no label");
  for (const image of all("img", top)) if (!image.hasAttribute("alt")) say(image, "no alt");
  for (const graphic of all("svg", top))
    if (graphic.getAttribute("aria-hidden") !== "true" && !graphic.getAttribute("aria-label")) say(graphic,
      "neither hidden nor named");
  for (const scroller of all("*", top).filter(isShown)) {
    const style = getComputedStyle(scroller);
    if (/auto|scroll/.test(style.overflowX + style.overflowY) && scroller.tabIndex < 0
      && !scroller.matches("textarea, dialog")
      && (scroller.scrollWidth > scroller.clientWidth + 1 || scroller.scrollHeight > scroller.clientHeight + 1))
      say(scroller, "scrolls, but not by the keyboard");
  }

  // Structure.
  if (!document.documentElement.lang) problems.push("no language");
  if (!document.title.includes("VAToolbox")) problems.push(`the title is ${document.title}`);
  for (const [selector, what] of [["main", "main"], ["header", "banner"], ["footer", "footer"], ["nav", "navigation"]])
    if (all(selector).filter(isShown).length !== 1) problems.push(`not one landmark ${what}`);
  if (all("h1").filter(isShown).length !== 1) problems.push(`${all("h1").filter(isShown).length} headings of level 1`);
  let level = 0;
  for (const heading of all("main :is(h1, h2, h3, h4, h5, h6)").filter(isShown)) {
    const next = Number(heading.tagName[1]);
    if (next > level + 1) say(heading, `a heading of level ${next} after ${level}`);
    if (!heading.textContent.trim()) say(heading, "an empty heading");
    level = next;
  }
  if (!document.querySelector("[aria-live=polite]")) problems.push("no live region");
  const ids = all("[id]").map(element => element.id);
  for (const id of new Set(ids.filter((one,
    index) => ids.indexOf(one) !== index))) problems.push(`two elements have the ID ${id}`);
  for (const attribute of ["aria-labelledby", "aria-describedby", "aria-controls"])
    for (const element of all(`[${attribute}]`))
      for (const id of element.getAttribute(attribute).split(/\s+/))
        if (!document.getElementById(id)) say(element, `${attribute} names ${id}, which does not exist`);
  for (const table of all("table")) {
    if (!table.caption) say(table, "no caption");
    for (const head of all("th", table)) if (!head.scope) say(head, "no scope");
  }
  for (const list of all("ul, ol, dl", top)) {
    const kinds = list.tagName === "DL" ? ["DIV", "DT", "DD"] : ["LI"];
    for (const child of list.children) if (!kinds.includes(child.tagName)) say(child,
      "a child of a list that is no item");
  }

  // Focus and targets.
  for (const element of all("[tabindex]")) if (element.tabIndex > 0) say(element, "a tabindex above 0");
  for (const element of all("[aria-hidden=true]"))
    if (all("a[href], button, input, select, textarea, [tabindex='0']", element).some(isShown)) say(element,
      "hidden, but can be focused");
  for (const target of all("a[href], button, input, select, summary", top).filter(isShown)) {
    const box = target.closest("label")?.querySelector("input") === target ? target.closest("label") : target;
    if (box.classList.contains("hidden") || target.classList.contains("skip")) continue;
    const {width, height} = box.getBoundingClientRect();
    // WCAG 2.2, 2.5.8: links in a line of text are exempt.
    const isInText = target.tagName === "A" && getComputedStyle(target).display === "inline";
    if (!isInText && (width < 24 || height < 24)) say(target,
      `a target of ${width.toFixed(0)} × ${height.toFixed(0)} px`);
  }

  // Space. On a phone, innerWidth grows with what is too wide.
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) {
    problems.push(`the page is ${document.documentElement.scrollWidth} px wide`);
    for (const element of all("main *, header *").filter(isShown))
      if (element.getBoundingClientRect().right > width + 1) {
        say(element, "reaches out of the page");
        break;
      }
  }
  // Strangers' text.
  if (document.querySelector("img[src=x], main script, main style, [onerror]"))
    problems.push("a name has become markup");
  return problems;
})()
