// draw.js: elements, tooltips, downloads, figures, tables. Text reaches the page as text nodes and attributes alone.
//
//   el(tag, attributes, ...children)    an HTML element; svg(…) an SVG element. Children: nodes, strings, numbers, null (left out), arrays.
//                                       attributes: class, text, dir, any attribute; style: {property: value} (custom properties too),
//                                       data: {name: value}, on: {event: listener}; null and false are left out, true is an empty one
//   button(text, onclick, attributes)
//   segmented(legend, [[id, title], …], chosen, onchange)   a choice of a few, as radio buttons
//   tip(target, lines)                  a tooltip on hover and focus; lines: array of strings, or a function that returns one
//   announce(text)                      tells screen readers
//   swatch(k), topicLink(k), wordLink(w), docLink(at)       links with the colours and names of the data
//   section(title, options, ...children)                    a card with an <h2>; options: {about, class, id, tools}
//   figure({name, title, note, height, draw, rows, tools})  a frame: draw(svg, width) fills an <svg> and returns its height; it is called
//                                       again when the width or the theme changes. rows() gives lists for CSV. The element has .redraw()
//   table({name, caption, columns, rows, sort, step, onHover, empty, note})   sortable, arrow keys, CSV, "show more"
//                                       column: {title, value: row => number|string|null, cell: row => node|string, csv: row => value,
//                                       numeric, about, class}; sort: [column number, "ascending"|"descending"]. The element has .setRows(rows)
//   barCell(value, most, color, text)   a number with a bar, for tables
//   saveCsv(name, rows), saveText(name, text, type), saveSvg(name, svg, title), savePng(name, svg, title)
//   dialog(title, content, buttons)     a modal window; buttons: [[text, action, isMain], …]; an action that returns false keeps it open
"use strict";

const SVG = "http://www.w3.org/2000/svg";

// Characters that no screen shows and no SVG file may hold become U+FFFD, one for one, so that offsets in texts stay right.
const visible = (text) => wellFormed(String(text)).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\ufffe\uffff]/g, "\ufffd");

// -- elements --------------------------------------------------------------------------------------------------------

const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

function fill(element, attributes = {}, children = []) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "style") for (const [property, given] of Object.entries(value)) element.style.setProperty(property, given);
    else if (name === "data") Object.assign(element.dataset, value);
    else if (name === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (name === "text") element.textContent = visible(value);
    else element.setAttribute(name, value === true ? "" : visible(value));
  }
  const nodes = children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
  element.append(...nodes.map((child) => (child instanceof Node ? child : visible(child))));
  return element;
}

const button = (text, onclick, attributes = {}) => el("button", { type: "button", on: { click: onclick }, ...attributes }, text);

let choices = 0;

function segmented(legend, options, chosen, onchange) {
  const group = `choice-${(choices += 1)}`;
  return el(
    "fieldset",
    { class: "segmented" },
    el("legend", { class: "unseen" }, legend),
    options.map(([id, title]) =>
      el(
        "label",
        {},
        el("input", { type: "radio", name: group, value: id, checked: id === chosen, on: { change: () => onchange(id) } }),
        el("span", {}, title),
      ),
    ),
  );
}

function section(title, { about = null, tools = [], ...attributes } = {}, ...children) {
  const head = el("div", { class: "card-head" }, el("h2", {}, title), el("div", { class: "card-tools" }, tools));
  return el("section", { ...attributes, class: `card ${attributes.class ?? ""}` }, head, about && el("p", { class: "about" }, about), children);
}

function announce(text) {
  document.getElementById("live").textContent = text;
}

// -- links -----------------------------------------------------------------------------------------------------------

const swatch = (k) => el("span", { class: "swatch", style: { "--topic": colorOf(k) }, "aria-hidden": "true" });

function topicLink(k, { number: numbered = true, query = {} } = {}) {
  const members = names.group(k).length > 1 && names.group(k)[0] === k ? names.group(k) : [k];
  const name = members.length > 1 ? viewTopic(k).name : topicName(k);
  return el(
    "a",
    { class: "topic-link", href: link("topic", [k], query) },
    swatch(k),
    numbered && el("span", { class: "topic-number" }, members.join("+")),
    el("span", { class: "topic-name", dir: "auto" }, short(name)),
  );
}

const wordLink = (word, attributes = {}) => el("a", { class: "word-link", href: link("word", [word]), dir: "auto", ...attributes }, short(word, 60));

const docLink = (at) => el("a", { class: "doc-link", href: link("document", [docs.row[at]]), dir: "auto" }, short(docTitle(at)));

// -- tooltips --------------------------------------------------------------------------------------------------------

function tip(target, lines) {
  const box = document.getElementById("tip");
  const open = () => {
    const given = typeof lines === "function" ? lines() : lines;
    box.replaceChildren(...given.filter(Boolean).map((line, i) => el("div", { class: i ? "" : "tip-head", dir: "auto" }, short(line, 300))));
    box.hidden = false;
    const at = target.getBoundingClientRect();
    const { width, height } = box.getBoundingClientRect();
    const above = at.top - height - 8;
    box.style.left = `${clamp(at.left + at.width / 2 - width / 2, 8, Math.max(8, innerWidth - width - 8))}px`;
    box.style.top = `${above > 8 ? above : Math.min(at.bottom + 8, innerHeight - height - 8)}px`;
  };
  const close = () => {
    box.hidden = true;
  };
  target.addEventListener("pointerenter", open);
  target.addEventListener("pointerleave", close);
  target.addEventListener("focusin", () => target.matches(":focus-visible") && open());
  target.addEventListener("focusout", close);
  return target;
}

// -- downloads -------------------------------------------------------------------------------------------------------

const slug = (text) => wellFormed(text).replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "").slice(0, 60).toLowerCase() || "topics";

function save(name, blob) {
  const address = URL.createObjectURL(blob);
  const anchor = el("a", { href: address, download: `${slug(core.title)}-${name}` });
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

const saveText = (name, text, type) => save(name, new Blob([text], { type }));

function saveCsv(name, rows) {
  const field = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  saveText(`${name}.csv`, rows.map((row) => `${row.map(field).join(",")}\r\n`).join(""), "text/csv;charset=utf-8");
}

const KEPT_STYLES = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linejoin", "opacity",
  "font-family", "font-size", "font-weight", "text-anchor", "dominant-baseline", "paint-order", "visibility",
];

// A drawing as a file of its own: what style sheets say becomes attributes, in the light theme, under its title.
function standalone(drawing, title) {
  const root = document.documentElement;
  const theme = root.dataset.theme;
  root.dataset.theme = "light";
  const copy = drawing.cloneNode(true);
  const originals = [drawing, ...drawing.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((element, i) => {
    const style = getComputedStyle(originals[i]);
    for (const property of KEPT_STYLES) element.setAttribute(property, style.getPropertyValue(property));
    const needless = ["class", "style", "tabindex", "role", "aria-label"];
    for (const { name } of [...element.attributes]) if (needless.includes(name) || name.startsWith("data-")) element.removeAttribute(name);
  });
  root.dataset.theme = theme;
  const [width, height] = [Number(drawing.getAttribute("width")), Number(drawing.getAttribute("height"))];
  const head = 30;
  const body = svg("g", { transform: `translate(0 ${head})` });
  body.append(...copy.childNodes);
  const name = svg("text", { x: 4, y: 19, "font-family": "sans-serif", "font-size": "14", "font-weight": "600", fill: "#1c2430" }, title);
  const result = svg("svg", { width, height: height + head, viewBox: `0 0 ${width} ${height + head}` });
  result.append(svg("rect", { width: "100%", height: "100%", fill: "#ffffff" }), name, body);
  return { text: new XMLSerializer().serializeToString(result), width, height: height + head };
}

const saveSvg = (name, drawing, title) => saveText(`${name}.svg`, standalone(drawing, title).text, "image/svg+xml");

function savePng(name, drawing, title) {
  const { text, width, height } = standalone(drawing, title);
  const image = new Image();
  const address = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  image.onload = () => {
    const scale = Math.min(2, 8000 / Math.max(width, height));
    const canvas = el("canvas", { width: Math.round(width * scale), height: Math.round(height * scale) });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => save(`${name}.png`, blob), "image/png");
    URL.revokeObjectURL(address);
  };
  image.onerror = () => announce("The picture could not be made.");
  image.src = address;
}

// The small menu of a figure or table. choices: [[text, label, action], …]
function downloads(options) {
  const buttons = options.map(([text, label, action]) => button(text, action, { class: "link", "aria-label": label, "data-save": text.toLowerCase() }));
  return el("span", { class: "downloads" }, buttons);
}

// -- figures ---------------------------------------------------------------------------------------------------------

function figure({ name, title, note = null, draw, rows = null, tools = [], label = title }) {
  const drawing = svg("svg", { role: "group", "aria-label": label, class: "drawing" });
  const frame = el("div", { class: "frame" }, drawing);
  const saves = downloads([
    ...(rows ? [["CSV", `${label}: download as CSV`, () => saveCsv(name, rows())]] : []),
    ["SVG", `${label}: download as SVG`, () => saveSvg(name, drawing, label)],
    ["PNG", `${label}: download as PNG`, () => savePng(name, drawing, label)],
  ]);
  const foot = el("div", { class: "foot" }, el("figcaption", { class: "note" }, note), saves);
  const result = el("figure", { class: "figure", data: { figure: name } }, el("div", { class: "figure-tools" }, tools), frame, foot);
  let width = 0;
  result.redraw = () => {
    if (width < 40) return;
    drawing.replaceChildren();
    const height = Math.ceil(draw(drawing, width));
    fill(drawing, { width, height, viewBox: `0 0 ${width} ${height}` });
  };
  new ResizeObserver(() => {
    const now = Math.floor(frame.clientWidth);
    if (Math.abs(now - width) < 2) return;
    width = now;
    result.redraw();
  }).observe(frame);
  return result;
}

// -- tables ----------------------------------------------------------------------------------------------------------

const collator = new Intl.Collator(undefined, { numeric: true });

function compared(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return collator.compare(String(a), String(b));
}

function sortRows(rows, value, direction) {
  const keyed = rows.map((row, i) => [value(row), i, row]);
  const none = (x) => x === null || x === undefined || Number.isNaN(x);
  const sign = direction === "ascending" ? 1 : -1;
  keyed.sort(([a, i], [b, j]) => none(a) - none(b) || (none(a) ? 0 : sign * compared(a, b)) || i - j);
  return keyed.map((entry) => entry[2]);
}

function table({ name, caption, columns, rows, sort = null, step = 50, onHover = null, empty = "Nothing to show.", note = null }) {
  let [by, direction] = sort ?? [-1, "ascending"];
  let sorted = rows;
  let limit = step;
  const body = el("tbody");
  const heads = columns.map((column, i) => {
    const turn = () => {
      const first = column.numeric ? "descending" : "ascending";
      direction = by !== i ? first : direction === "ascending" ? "descending" : "ascending";
      by = i;
      refresh();
      announce(`Sorted by ${column.title}, ${direction}`);
    };
    const head = el("th", { scope: "col", class: `${column.numeric ? "numeric" : ""} ${column.class ?? ""}` }, button(column.title, turn, { class: "sort" }));
    return column.about ? tip(head, [column.title, column.about]) : head;
  });
  const more = button("", () => {
    limit += step * 4;
    refresh();
  }, { class: "more" });
  const nothing = el("p", { class: "none" }, empty);
  const listing = el("table", { data: { table: name } }, el("caption", { class: "unseen" }, caption), el("thead", {}, el("tr", {}, heads)), body);

  function refresh() {
    sorted = by < 0 ? rows : sortRows(rows, columns[by].value, direction);
    heads.forEach((head, i) => (i === by ? head.setAttribute("aria-sort", direction) : head.removeAttribute("aria-sort")));
    body.replaceChildren(...sorted.slice(0, limit).map(line));
    more.textContent = `Show more (${count(rows.length - limit)} left)`;
    more.hidden = rows.length <= limit;
    nothing.hidden = rows.length > 0;
    listing.hidden = rows.length === 0;
  }

  function line(row) {
    const cells = columns.map((column) => {
      const content = column.cell ? column.cell(row) : shownValue(column.value(row));
      return el("td", { class: `${column.numeric ? "numeric" : ""} ${column.class ?? ""}`, dir: column.numeric || column.cell ? null : "auto" }, content);
    });
    const hover = onHover ? { pointerenter: () => onHover(row), pointerleave: () => onHover(null) } : {};
    return el("tr", { on: hover, data: row?.data ?? {} }, cells);
  }

  const grid = () => [columns.map((column) => column.title), ...sorted.map((row) => columns.map((column) => (column.csv ?? column.value)(row)))];
  body.addEventListener("keydown", moveInTable);
  const result = el(
    "div",
    { class: "table" },
    el("div", { class: "table-scroll" }, listing),
    nothing,
    el("div", { class: "foot" }, more, el("span", { class: "note" }, note), downloads([["CSV", `${caption}: download as CSV`, () => saveCsv(name, grid())]])),
  );
  result.setRows = (given) => {
    rows = given;
    limit = step;
    refresh();
  };
  refresh();
  return result;
}

const shownValue = (value) => (typeof value === "number" ? number(value) : (value ?? "–"));

// Up and down move to the same link of the next row.
function moveInTable(event) {
  const lines = [...event.currentTarget.rows];
  const from = event.target.closest("tr");
  const at = lines.indexOf(from);
  const to = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: lines.length - 1 }[event.key];
  if (to === undefined || !lines[to]) return;
  const reachable = (row) => [...row.querySelectorAll("a, button")];
  const targets = reachable(lines[to]);
  const which = reachable(from).indexOf(event.target.closest("a, button"));
  event.preventDefault();
  (targets[which] ?? targets[0])?.focus();
}

function barCell(value, most, color, text = percent(value)) {
  const bar = el("span", { class: "bar-fill", style: { width: `${clamp((100 * value) / (most || 1), 0, 100)}%`, "--topic": color } });
  return el("span", { class: "bar-cell" }, el("span", { class: "bar-track", "aria-hidden": "true" }, bar), el("span", { class: "bar-text" }, text));
}

// -- dialogs ---------------------------------------------------------------------------------------------------------

function dialog(title, content, buttons = [["Close", () => true, true]]) {
  const window_ = el("dialog", { "aria-labelledby": "dialog-title", class: "dialog" });
  const run = (action) => async () => {
    if ((await action()) !== false) window_.close();
  };
  const row = buttons.map(([text, action, main]) => button(text, run(action), { class: main ? "main" : "" }));
  const form = el("form", { method: "dialog" }, el("h2", { id: "dialog-title" }, title), content, el("div", { class: "dialog-buttons" }, row));
  form.addEventListener("submit", (event) => {
    event.preventDefault(); // Enter in a field does what the main button does
    row[buttons.findIndex((entry) => entry[2])]?.click();
  });
  window_.append(form);
  window_.addEventListener("close", () => window_.remove());
  window_.addEventListener("click", (event) => event.target === window_ && window_.close());
  document.body.append(window_);
  window_.showModal();
  return window_;
}
