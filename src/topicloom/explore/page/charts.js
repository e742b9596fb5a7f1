// charts.js: charts on SVG. Each fills an <svg> of a given width and returns its height; use them inside figure({draw}).
//
//   scale([low, high], [from, to])      a linear scale: a function with .ticks(n)
//   textWidth(text, font), fitted(text, width, font)        measuring and cutting labels
//   bars(svg, width, {rows, format, axis, most, labelWidth, mark})      horizontal bars
//                                       row: {label, value, href, color, mark, low, high, text, lines, data, dot}
//                                       mark: a second value, drawn as a line (e.g. the corpus); low, high: an interval; dot: a dot for the bar
//   lines(svg, width, {x, labels, series, counts, countName, format, height})    lines with bands over time, and columns of counts below
//                                       series: [{name, color, points: [[mean, low, high] or null, …]}]
//   legend([[color, text, kind], …])    kind: "bar", "line", "band", "mark"; an HTML element
//   heat(svg, width, {rows, columns, values, format, href})             a matrix of signed values, blue below 0 and orange above
"use strict";

const FONT = '12.5px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", sans-serif';
const SMALL = FONT.replace("12.5px", "11px");

function scale([low, high], [from, to]) {
  const span = high - low || 1;
  const place = (x) => from + ((x - low) / span) * (to - from);
  place.ticks = (n) => niceTicks(low, high, n);
  return place;
}

function niceTicks(low, high, n = 5) {
  const raw = (high - low || 1) / n;
  const unit = 10 ** Math.floor(Math.log10(raw));
  const step = unit * [1, 2, 2.5, 5, 10].find((factor) => factor * unit >= raw * 0.999);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i += 1) ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}

// A number of percent with as many digits as a step of the axis needs.
function axisFormat(ticks, format) {
  if (format !== percent) return format;
  const step = ticks.length > 1 ? 100 * (ticks[1] - ticks[0]) : 100;
  const digits = clamp(Math.ceil(-Math.log10(step) - 1e-9), 0, 4);
  const places = Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-6 ? digits + 1 : digits;
  return (x) => `${(100 * x).toFixed(places)}%`;
}

const ruler = document.createElement("canvas").getContext("2d");
const widths = new Map();

function textWidth(text, font = FONT) {
  const key = `${font}\n${text}`;
  if (!widths.has(key)) {
    if (widths.size > 20000) widths.clear();
    ruler.font = font;
    widths.set(key, ruler.measureText(text).width);
  }
  return widths.get(key);
}

function fitted(text, width, font = FONT) {
  const characters = Array.from(visible(text).slice(0, 400)); // longer ones never fit
  const whole = characters.join("");
  if (whole.length === visible(text).length && textWidth(whole, font) <= width) return whole;
  let [low, high] = [0, characters.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (textWidth(`${characters.slice(0, middle).join("").trimEnd()}…`, font) <= width) low = middle;
    else high = middle - 1;
  }
  return `${characters.slice(0, low).join("").trimEnd()}…`;
}

// -- horizontal bars -------------------------------------------------------------------------------------------------

function bars(drawing, width, { rows, format = percent, axis = "", most = null, labelWidth = null, height = 24 }) {
  const widest = Math.max(0, ...rows.map((row) => Math.min(400, textWidth(visible(row.label).slice(0, 100)))));
  const left = labelWidth ?? clamp(widest + 14, 40, Math.max(90, width * 0.42));
  const texts = rows.map((row) => row.text ?? format(row.value));
  const right = Math.max(30, ...texts.map((text) => textWidth(text, SMALL))) + 12;
  const values = rows.flatMap((row) => [row.value, row.mark ?? 0, row.high ?? 0, row.low ?? 0]).filter(Number.isFinite);
  const [low, high] = [Math.min(0, ...values), most ?? (Math.max(...values, 0) || 1)];
  const x = scale([low, high], [left, Math.max(left + 20, width - right)]);
  const bottom = rows.length * height + 6;
  const ticks = x.ticks(clamp(Math.floor((width - left - right) / 80), 1, 6));
  const tickText = axisFormat(ticks, format);
  for (const tick of ticks) {
    drawing.append(svg("line", { class: "grid", x1: x(tick), x2: x(tick), y1: 0, y2: bottom }));
    drawing.append(svg("text", { class: "tick", x: x(tick), y: bottom + 14, "text-anchor": "middle" }, tickText(tick)));
  }
  rows.forEach((row, i) => drawing.append(barRow(row, texts[i], { x, y: i * height + height / 2 + 2, left, height })));
  drawing.append(svg("line", { class: "axis", x1: x(Math.max(low, 0)), x2: x(Math.max(low, 0)), y1: 0, y2: bottom }));
  if (axis) drawing.append(svg("text", { class: "axis-name", x: (left + width - right) / 2, y: bottom + 30, "text-anchor": "middle" }, fitted(axis, width - 8, SMALL)));
  return bottom + (axis ? 38 : 22);
}

function barRow(row, text, { x, y, left, height }) {
  const thick = Math.min(14, height - 8);
  const [from, to] = [x(Math.min(0, row.value)), x(Math.max(0, row.value))];
  const shape = row.dot
    ? svg("circle", { class: "mean", cx: x(row.value), cy: y, r: 4.5, fill: row.color })
    : svg("rect", { class: "bar-shape", x: from, y: y - thick / 2, width: Math.max(0.5, to - from), height: thick, rx: 2, fill: row.color, opacity: row.faint ? 0.45 : null });
  const parts = [svg("rect", { class: "hit", x: 0, y: y - height / 2, width: "100%", height, fill: "transparent" })];
  const between = Number.isFinite(row.low) && Number.isFinite(row.high);
  if (between && row.dot) parts.push(svg("line", { class: "whisker", x1: x(row.low), x2: x(row.high), y1: y, y2: y, stroke: row.color }));
  parts.push(shape);
  if (between && !row.dot) parts.push(whisker(x(row.low), x(row.high), y));
  if (Number.isFinite(row.mark)) parts.push(svg("line", { class: "reference", x1: x(row.mark), x2: x(row.mark), y1: y - thick / 2 - 2, y2: y + thick / 2 + 2 }));
  const furthest = Math.max(x(row.value), between ? x(row.high) : 0, Number.isFinite(row.mark) ? x(row.mark) : 0);
  parts.push(svg("text", { class: "bar-value", x: furthest + 7, y: y + 4 }, text));
  const label = svg("text", { class: "bar-label", x: left - 8, y: y + 4, "text-anchor": "end" }, fitted(row.label, left - 12));
  const group = svg("g", { class: "bar-row", data: row.data ?? {} }, parts, row.href ? svg("a", { href: row.href, "aria-label": `${short(row.label)}, ${text}` }, label) : label);
  return row.lines ? tip(group, row.lines) : group;
}

function whisker(from, to, y) {
  return svg("path", { class: "error-bar", d: `M${from} ${y}H${to}M${from} ${y - 3}V${y + 3}M${to} ${y - 3}V${y + 3}` });
}

// -- lines over time -------------------------------------------------------------------------------------------------

function lines(drawing, width, { x: values, labels, series, counts: columns = null, countName = "documents", format = percent, height = 220 }) {
  const points = series.flatMap((one) => one.points).filter(Boolean);
  const high = Math.max(1e-6, ...points.map((point) => point[2] ?? point[0]));
  const low = Math.min(0, ...points.map((point) => point[1] ?? point[0]));
  const guess = axisFormat(niceTicks(low, high, 4), format);
  const left = Math.max(34, ...niceTicks(low, high, 4).map((tick) => textWidth(guess(tick), SMALL) + 12));
  const pad = columns ? Math.max(10, textWidth(count(Math.max(...columns)), SMALL) / 2) : 14;
  const x = scale([Math.min(...values), Math.max(...values)], values.length > 1 ? [left + pad, width - pad - 6] : [(left + width) / 2, width]);
  const y = scale([low, high * 1.04], [height, 8]);
  for (const tick of y.ticks(4)) {
    drawing.append(svg("line", { class: tick === 0 ? "axis" : "grid", x1: left, x2: width - 4, y1: y(tick), y2: y(tick) }));
    drawing.append(svg("text", { class: "tick", x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, guess(tick)));
  }
  for (const one of series) drawing.append(lineWithBand(one, values, x, y));
  const bottom = timeLabels(drawing, values, labels, x, height);
  const total = columns ? countColumns(drawing, { values, columns, x, left, width, top: bottom + 12, countName }) : bottom;
  drawing.append(hoverColumns({ values, labels, series, columns, countName, x, width, height: total, format }));
  return total + 4;
}

function lineWithBand(one, values, x, y) {
  const known = one.points.map((point, i) => [point, x(values[i])]).filter(([point]) => point);
  const path = (which, list) => list.map(([point, at]) => `${at.toFixed(1)} ${y(point[which]).toFixed(1)}`).join("L");
  const band = known.every(([point]) => Number.isFinite(point[1]) && Number.isFinite(point[2]));
  return svg(
    "g",
    { data: { series: one.name } },
    band && known.length > 1 && svg("path", { class: "band", d: `M${path(1, known)}L${path(2, known.toReversed())}Z`, fill: one.color }),
    known.length > 1 && svg("path", { class: "line", d: `M${path(0, known)}`, stroke: one.color }),
    known.map(([point, at]) => svg("circle", { cx: at, cy: y(point[0]), r: known.length > 60 ? 1.5 : 3, fill: one.color })),
    band && known.length === 1 && svg("line", { class: "whisker", x1: known[0][1], x2: known[0][1], y1: y(known[0][0][1]), y2: y(known[0][0][2]), stroke: one.color }),
  );
}

// Labels of time that do not touch: as many as there is room for, evenly spaced in number.
function timeLabels(drawing, values, labels, x, top) {
  const room = Math.max(20, ...labels.map((label) => Math.min(120, textWidth(visible(label), SMALL)))) + 14;
  let last = -Infinity;
  labels.forEach((label, i) => {
    const at = x(values[i]);
    drawing.append(svg("line", { class: "axis", x1: at, x2: at, y1: top, y2: top + 4 }));
    if (at - last < room) return;
    last = at;
    drawing.append(svg("text", { class: "tick", x: at, y: top + 17, "text-anchor": "middle" }, fitted(label, 120, SMALL)));
  });
  return top + 22;
}

function countColumns(drawing, { values, columns, x, left, width, top, countName }) {
  const height = 44;
  const most = Math.max(1, ...columns);
  const places = values.map((value) => x(value));
  const gap = Math.min(...places.slice(1).map((place, i) => place - places[i]), 40);
  const thick = clamp(gap * 0.7, 1, 24);
  const y = scale([0, most], [top + height, top + 12]);
  drawing.append(svg("text", { class: "axis-name", x: left, y: top + 4 }, `${countName} (at most ${count(most)})`));
  columns.forEach((n, i) => drawing.append(svg("rect", { class: "column", x: places[i] - thick / 2, y: y(n), width: thick, height: Math.max(0, top + height - y(n)) })));
  drawing.append(svg("line", { class: "axis", x1: left, x2: width - 4, y1: top + height, y2: top + height }));
  return top + height + 4;
}

function hoverColumns({ values, labels, series, columns, countName, x, width, height, format }) {
  const places = values.map((value) => x(value));
  return svg(
    "g",
    {},
    places.map((place, i) => {
      const from = i ? (places[i - 1] + place) / 2 : Math.max(0, place - 20);
      const to = i + 1 < places.length ? (places[i + 1] + place) / 2 : Math.min(width, place + 20);
      const column = svg("rect", { class: "hover", x: from, y: 0, width: Math.max(1, to - from), height, fill: "transparent" });
      const say = (one) => `${series.length > 1 ? `${one.name}: ` : ""}${one.points[i] ? format(one.points[i][0]) : "–"}${Number.isFinite(one.points[i]?.[1]) ? ` (${range(one.points[i].slice(1), format)})` : ""}`;
      return tip(column, [labels[i], ...series.slice(0, 12).map(say), columns && `${count(columns[i])} ${countName}`]);
    }),
  );
}

// -- a matrix of signed values ---------------------------------------------------------------------------------------

function heat(drawing, width, { rows, columns, values, format = number, href = null, rowWidth = null }) {
  const left = rowWidth ?? clamp(Math.max(...rows.map((row) => textWidth(row))) + 14, 40, width * 0.35);
  const cell = clamp((width - left - 4) / columns.length, 14, 90);
  const top = Math.min(110, Math.max(...columns.map((column) => textWidth(visible(column).slice(0, 80), SMALL)))) + 12;
  const flat = cell > 60;
  const height = 26;
  const head = flat ? 22 : top;
  const most = Math.max(1e-12, ...values.flat().filter(Number.isFinite).map(Math.abs));
  columns.forEach((column, j) => {
    const at = left + (j + 0.5) * cell;
    const turned = flat ? {} : { transform: `rotate(-60 ${at} ${head - 8})` };
    drawing.append(svg("text", { class: "tick", x: at, y: head - 8, "text-anchor": flat ? "middle" : "start", ...turned }, fitted(column, flat ? cell - 6 : 110, SMALL)));
  });
  rows.forEach((row, i) => {
    const y = head + i * height;
    const label = svg("text", { class: "bar-label", x: left - 8, y: y + height / 2 + 4, "text-anchor": "end" }, fitted(row, left - 12));
    drawing.append(href ? svg("a", { href: href(i) }, label) : label);
    columns.forEach((column, j) => {
      const value = values[i][j];
      const shade = Number.isFinite(value) ? Math.abs(value) / most : 0;
      const box = svg("rect", { class: value < 0 ? "cell below" : "cell above", x: left + j * cell + 1, y: y + 1, width: cell - 2, height: height - 2, rx: 2, "fill-opacity": (0.06 + 0.84 * shade).toFixed(3) });
      drawing.append(tip(box, [`${row} · ${column}`, format(value)]));
      if (cell > 44) drawing.append(svg("text", { class: "cell-text", x: left + (j + 0.5) * cell, y: y + height / 2 + 4, "text-anchor": "middle" }, format(value)));
    });
  });
  return head + rows.length * height + 4;
}

function legend(entries) {
  return el(
    "div",
    { class: "legend" },
    entries.map(([color, text, kind = "bar"]) => el("span", { class: "legend-entry" }, el("span", { class: `key key-${kind}`, style: color ? { "--topic": color } : {}, "aria-hidden": "true" }), text)),
  );
}
