// families.js: what kinds of models add. Here: charts that several of them use, labels and classes.
//
//   signedRows(svg, width, {rows, format, tick, axis, ends})    bars or dots with intervals, to the left and right of 0
//                                       row: {label, value, low, high, dot, color, text, brief, href, lines, data}
//   matrix(svg, width, {rows, columns, values, signed, format, lines, key, corner})    a heat map: blue below 0, orange above, or one hue
//                                       rows, columns: [{label, href}, …]; format(value, i, j): text of a cell, without i and j of the key;
//                                       lines(i, j): what the tooltip adds; key: what a colour means
//   wide(figure, width)                 a figure that keeps a least width and scrolls beside
//   foldAway(summary, ...children)        details that are closed at first
//   picker(text, id, options, chosen, onchange)    a select box with its label; options: [[value, title], …]
//   readdress(address)                  replaces the address without a new view
//   signedNumber(x), points(x, digits)  "+1.2" and percentage points
"use strict";

const family = (kind) => core?.family?.[kind] ?? null;
const signedNumber = (x) => (Number.isFinite(x) ? `${x > 0 ? "+" : ""}${number(x)}` : "–");
const signedTick = (x) => `${x > 0 ? "+" : x < 0 ? "−" : ""}${Number(Math.abs(x).toPrecision(6))}`;
const numbered = (k) => `${k} ${topicName(k)}`;
const shownTopics = () => core.topics.map((_, k) => k).filter((k) => !names.isHidden(k));
const moreIsHidden = () => (core.topics.some((_, k) => names.isHidden(k)) ? " Hidden topics are left out." : "");

function points(x, digits = 1) {
  if (!Number.isFinite(x)) return "–";
  const text = Math.abs(100 * x).toFixed(digits);
  return `${Number(text) === 0 ? "" : x < 0 ? "−" : "+"}${text}`;
}

// As many digits as it takes to tell the values apart.
function pointDigits(values) {
  const most = Math.max(0, ...values.filter(Number.isFinite).map((x) => Math.abs(100 * x)));
  return most > 0 ? clamp(1 - Math.floor(Math.log10(most)), 1, 6) : 1;
}

function readdress(address) {
  try {
    history.replaceState(null, "", address);
  } catch {
    // Some browsers forbid it for files; the view is right, only its address is not.
  }
  emit("address");
}

// -- charts ----------------------------------------------------------------------------------------------------------

function wide(chart, width) {
  chart.style.setProperty("min-width", `${Math.round(width)}px`);
  return el("div", { class: "scroll-x" }, chart);
}

const foldAway = (summary, ...children) => el("details", { class: "folded" }, el("summary", {}, summary), children);

function picker(text, id, options, chosen, onchange) {
  const field = el("select", { id, on: { change: () => onchange(field.value) } }, options.map(([value, title]) => el("option", { value, selected: String(value) === String(chosen) }, short(title, 70))));
  return el("label", { class: "field inline" }, text, field);
}

function signedRows(drawing, width, { rows, format = signedNumber, tick: tickText = signedTick, axis = "", ends = null, height = 24 }) {
  const narrow = width < 460;
  const texts = rows.map((row) => (narrow ? row.brief : null) ?? row.text ?? format(row.value));
  const left = clamp(Math.max(0, ...rows.map((row) => textWidth(visible(row.label).slice(0, 100)))) + 14, 40, Math.max(90, width * (narrow ? 0.36 : 0.4)));
  const right = Math.max(24, ...texts.map((text) => textWidth(text, SMALL))) + 14;
  const values = rows.flatMap((row) => [row.value, row.low, row.high]).filter(Number.isFinite);
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
  const pad = 0.04 * (high - low || 1);
  const x = scale([low - pad, high + pad], [left, Math.max(left + 30, width - right)]);
  const top = ends ? 20 : 2;
  const bottom = top + rows.length * height + 4;
  const ticks = x.ticks(clamp(Math.floor((width - left - right) / 60), 3, 7));
  for (const tick of ticks) {
    drawing.append(svg("line", { class: tick === 0 ? "axis" : "grid", x1: x(tick), x2: x(tick), y1: top - 2, y2: bottom }));
    drawing.append(svg("text", { class: "tick", x: x(tick), y: bottom + 14, "text-anchor": "middle" }, tickText(tick)));
  }
  if (ends) {
    const room = [x(0) - left, width - right - x(0)].map((space) => Math.max(40, space - 10));
    drawing.append(svg("text", { class: "axis-name", x: x(0) - 8, y: 11, "text-anchor": "end" }, low < 0 ? fitted(`← ${ends[0]}`, Math.max(room[0], x(0) - 10), SMALL) : ""));
    drawing.append(svg("text", { class: "axis-name", x: x(0) + 8, y: 11 }, high > 0 ? fitted(`${ends[1]} →`, Math.max(room[1], width - x(0) - 10), SMALL) : ""));
  }
  rows.forEach((row, i) => drawing.append(signedRow(row, texts[i], { x, y: top + (i + 0.5) * height, left, width, height })));
  if (axis) drawing.append(svg("text", { class: "axis-name", x: clamp((left + width - right) / 2, textWidth(axis, SMALL) / 2 + 2, width), y: bottom + 31, "text-anchor": "middle" }, fitted(axis, width - 8, SMALL)));
  return bottom + (axis ? 38 : 22);
}

function signedRow(row, text, { x, y, left, width, height }) {
  const thick = Math.min(14, height - 8);
  const parts = [svg("rect", { class: "hit", x: 0, y: y - height / 2, width, height, fill: "transparent" })];
  const between = Number.isFinite(row.low) && Number.isFinite(row.high);
  const paint = row.color ? { fill: row.color } : {};
  const side = row.value < 0 ? "below" : "above";
  if (Number.isFinite(row.value)) {
    if (row.dot && between) parts.push(svg("line", { class: "whisker", x1: x(row.low), x2: x(row.high), y1: y, y2: y, stroke: row.color }));
    const [from, to] = [x(Math.min(0, row.value)), x(Math.max(0, row.value))];
    parts.push(row.dot ? svg("circle", { cx: x(row.value), cy: y, r: 4.5, ...paint }) : svg("rect", { class: `side ${side}`, x: from, y: y - thick / 2, width: Math.max(0.5, to - from), height: thick, rx: 2, ...paint }));
  }
  parts.push(svg("text", { class: "bar-value", x: width - 4, y: y + 4, "text-anchor": "end" }, text));
  const label = svg("text", { class: "bar-label", x: left - 8, y: y + 4, "text-anchor": "end" }, fitted(row.label, left - 12));
  parts.push(row.href ? svg("a", { href: row.href, "aria-label": `${short(row.label)}, ${text}` }, label) : label);
  const group = svg("g", { class: "bar-row", data: row.data ?? {} }, parts);
  return row.lines ? tip(group, row.lines) : group;
}

function matrix(drawing, width, { rows, columns, values, signed = false, format = number, lines: more = null, key = "", corner = "" }) {
  const left = clamp(Math.max(...rows.map((row) => textWidth(visible(row.label).slice(0, 80)))) + 14, 40, Math.max(70, width * 0.36));
  const cell = clamp((width - left - 30) / columns.length, 16, 130);
  const flat = cell > 64 || columns.every((column) => textWidth(visible(column.label), SMALL) < cell - 3);
  const head = flat ? 24 : Math.min(120, Math.max(...columns.map((column) => textWidth(visible(column.label).slice(0, 80), SMALL))) * 0.87) + 18;
  const height = 26;
  const most = Math.max(1e-12, ...values.flat().filter(Number.isFinite).map(Math.abs));
  if (corner) drawing.append(svg("text", { class: "axis-name", x: left - 8, y: head - 8, "text-anchor": "end" }, fitted(corner, left - 10, SMALL)));
  columns.forEach((column, j) => {
    const at = left + (j + 0.5) * cell;
    const turned = flat ? {} : { transform: `rotate(-60 ${at} ${head - 8})` };
    const label = svg("text", { class: "tick", x: at, y: head - 8, "text-anchor": flat ? "middle" : "start", ...turned }, fitted(column.label, flat ? cell - 4 : 130, SMALL));
    drawing.append(column.href ? svg("a", { href: column.href, "aria-label": short(column.label) }, label) : label);
  });
  rows.forEach((row, i) => {
    const y = head + i * height;
    const label = svg("text", { class: "bar-label", x: left - 8, y: y + height / 2 + 4, "text-anchor": "end" }, fitted(row.label, left - 12));
    drawing.append(row.href ? svg("a", { href: row.href, "aria-label": short(row.label) }, label) : label);
    columns.forEach((column, j) => {
      const value = values[i]?.[j] ?? NaN;
      const text = format(value, i, j);
      const shade = Number.isFinite(value) ? 0.05 + 0.85 * (Math.abs(value) / most) : 0;
      const kind = signed ? (value < 0 ? "below" : "above") : "level";
      const box = svg("rect", { class: `cell ${kind}`, x: left + j * cell + 1, y: y + 1, width: cell - 2, height: height - 2, rx: 2, "fill-opacity": shade.toFixed(3), data: { row: i, column: j } });
      drawing.append(tip(box, () => [`${row.label} · ${column.label}`, ...(more?.(i, j) ?? [text])]));
      if (textWidth(text, SMALL) < cell - 6) drawing.append(svg("text", { class: shade > 0.76 ? "cell-text strong" : "cell-text", x: left + (j + 0.5) * cell, y: y + height / 2 + 4, "text-anchor": "middle" }, text));
    });
  });
  return scaleKey(drawing, { left, width, top: head + rows.length * height + 12, most, signed, format, key });
}

// What the colours mean, in the drawing itself, so that a saved picture has it.
function scaleKey(drawing, { left, width, top, most, signed, format, key }) {
  const steps = signed ? [-1, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75, 1] : [0, 0.25, 0.5, 0.75, 1];
  const size = 16;
  const [first, last] = [format(signed ? -most : 0), format(most)];
  const from = Math.min(left + textWidth(first, SMALL) + 4, Math.max(textWidth(first, SMALL) + 4, width - steps.length * size - 60));
  drawing.append(svg("text", { class: "tick", x: from - 6, y: top + 9, "text-anchor": "end" }, first));
  steps.forEach((step, i) => drawing.append(svg("rect", { class: `cell ${signed ? (step < 0 ? "below" : "above") : "level"}`, x: from + i * size, y: top, width: size - 1, height: 11, "fill-opacity": (0.05 + 0.85 * Math.abs(step)).toFixed(3) })));
  const end = from + steps.length * size + 5;
  drawing.append(svg("text", { class: "tick", x: end, y: top + 9 }, last));
  const beside = end + textWidth(last, SMALL) + 14;
  const below = width - beside < Math.min(160, textWidth(key, SMALL));
  if (key) drawing.append(svg("text", { class: "axis-name", x: below ? Math.max(4, Math.min(left, width - textWidth(key, SMALL) - 4)) : beside, y: below ? top + 26 : top + 9 }, fitted(key, below ? width - 8 : width - beside, SMALL)));
  return top + (below && key ? 34 : 18);
}

// -- labels ----------------------------------------------------------------------------------------------------------

// A label is a topic of its own in most models: then a name that a user gave to the topic is the label's.
function labelName(i) {
  const { names: own, topics } = family("labels");
  const [k, ...more] = topics[i];
  return more.length || k === undefined ? own[i] : (names.of(k) ?? core.topics[k].name ?? own[i]);
}

const labelColor = (i) => colorOf(family("labels").topics[i][0] ?? -1);
const labelLink = (i) => el("a", { class: "topic-link", href: link("labels", [i]) }, el("span", { class: "swatch", style: { "--topic": labelColor(i) }, "aria-hidden": "true" }), el("span", { class: "topic-name", dir: "auto" }, short(labelName(i))));
const labelShare = (i) => sum(family("labels").topics[i].map((k) => core.topics[k].share));

async function renderLabels(view, [given]) {
  const data = family("labels");
  if (given !== undefined) return renderLabel(view, given, data);
  const all = data.names.map((_, i) => ({ i, data: { label: i } }));
  const most = Math.max(1, ...data.docs);
  const mostShare = Math.max(...all.map((row) => labelShare(row.i)));
  const columns = [
    { title: "Label", value: (row) => labelName(row.i), cell: (row) => labelLink(row.i), class: "topic-cell" },
    { title: capital(`${core.doc_name}s`), numeric: true, value: (row) => data.docs[row.i], cell: (row) => barCell(data.docs[row.i], most, labelColor(row.i), count(data.docs[row.i])), class: "share-cell" },
    { title: "Share of tokens", numeric: true, value: (row) => labelShare(row.i), cell: (row) => barCell(labelShare(row.i), mostShare, labelColor(row.i)), about: "Share of all tokens that the label's topic explains", class: "share-cell" },
    { title: "Words", value: (row) => data.words[row.i].map(wordText).slice(0, 8).join(" "), cell: (row) => wordList(data.words[row.i].map(wordText).slice(0, 8)), class: "words-cell" },
  ];
  fill(view, {}, [
    el("h1", {}, "Labels"),
    el("p", { class: "lead" }, `${plural(data.names.length, "label")} of ${plural(core.n_docs, core.doc_name)}. ${capital(core.doc_name)}s may have several, so that numbers of ${core.doc_name}s need not add up.`),
    section("Labels", {}, table({ name: "labels", caption: "Labels", columns, rows: all, sort: [1, "descending"], step: 50 })),
    reportSection(data.report, "Label", (i) => (i < data.names.length ? link("labels", [i]) : null)),
    data.names.length > 1 && data.related.some((own) => own.length) && togetherSection(data),
  ]);
  return undefined;
}

const MOST_TOGETHER = 30;

function togetherSection(data) {
  const order = sortRows(data.names.map((_, i) => i), (i) => data.docs[i], "descending").slice(0, MOST_TOGETHER);
  const both = order.map((i) => order.map((j) => (i === j ? NaN : (new Map(data.related[i]).get(j) ?? new Map(data.related[j]).get(i) ?? 0) / Math.max(1, data.docs[i]))));
  const heads = order.map((i) => ({ label: labelName(i), href: link("labels", [i]) }));
  const text = (value, i) => (i === undefined || value > 0 ? percent(value, 0) : "");
  const together = (i, j) => (both[i][j] > 0 ? [`${plural(Math.round(both[i][j] * data.docs[order[i]]), core.doc_name)} with both`, percent(both[i][j])] : ["not among the most frequent partners"]);
  const lines_ = (i, j) => (i === j ? [plural(data.docs[order[i]], core.doc_name)] : together(i, j));
  const chart = figure({
    name: "labels-together",
    title: "Labels together",
    note: `Of the ${core.doc_name}s with the label of a row, the share that also has the label of a column. Each label's ten most frequent partners are known; other cells are empty.${data.names.length > MOST_TOGETHER ? ` The ${MOST_TOGETHER} most frequent labels.` : ""}`,
    draw: (drawing, width) => matrix(drawing, width, { rows: heads, columns: heads, values: both, format: text, lines: lines_, key: `share of the row's ${core.doc_name}s` }),
    rows: () => [["label", "with", `${core.doc_name}s with both`, "share"], ...data.names.flatMap((_, i) => data.related[i].map(([j, n]) => [labelName(i), labelName(j), n, n / Math.max(1, data.docs[i])]))],
  });
  return section("Labels together", {}, wide(chart, 150 + 18 * order.length));
}

async function renderLabel(view, given, data) {
  const i = /^\d+$/.test(given) ? Number(given) : -1;
  if (data.names[i] === undefined) return missing(view, `There is no label ${given}; this model has ${plural(data.names.length, "label")}.`);
  await withDocs();
  const name = labelName(i);
  const facts = [
    `${plural(data.docs[i], core.doc_name)} (${percent(data.docs[i] / Math.max(1, core.n_docs))})`,
    `${percent(labelShare(i))} of the tokens`,
    name !== data.names[i] ? `the model's label is ${data.names[i]}` : null,
  ];
  fill(view, {}, [
    el("header", { class: "topic-head", style: { "--topic": labelColor(i) } },
      el("p", { class: "kicker" }, el("a", { href: link("labels") }, "Labels"), ` / ${i}`),
      el("h1", { dir: "auto" }, short(name, 300)),
      el("p", { class: "facts", dir: "auto" }, facts.filter(Boolean).join(" · ")),
      el("p", { class: "label-topics" }, data.topics[i].length === 1 ? "Its topic: " : "Its topics: ", data.topics[i].map((k) => topicLink(k)))),
    el("div", { class: "split" }, labelWords(i, name, data), el("div", { class: "stack" }, labelRelated(i, name, data), labelDocuments(i, data))),
  ]);
  return undefined;
}

function labelWords(i, name, data) {
  const known = new Map(topicWords(data.topics[i]).map((entry) => [entry.word, entry]));
  const words = data.words[i].map(wordText);
  const rows = words.map((word) => known.get(word)).filter(Boolean).map((entry) => ({ ...entry, relevance: relevance(entry, core.lambda) }));
  if (!rows.length) return section("Words", {}, el("p", {}, wordList(words)));
  const chart = figure({
    name: `label-${i}-words`,
    title: "Words",
    label: `Words of the label ${name}`,
    draw: (drawing, width) => drawWords(drawing, width, rows, labelColor(i)),
    rows: () => [[core.word_name, "in label", "in corpus"], ...rows.map((entry) => [entry.word, entry.phi, entry.share])],
  });
  return section("Words", { about: `By relevance, λ = ${core.lambda}. The topic's own page has the slider.`, class: "words-card" }, legend([[labelColor(i), "in this label"], [null, "in the corpus", "mark"]]), chart);
}

function labelRelated(i, name, data) {
  const rows = data.related[i];
  if (!rows.length) return section("Labels beside it", {}, el("p", { class: "none" }, `No ${core.doc_name} has it together with another label, or the model was saved without them.`));
  const chart = figure({
    name: `label-${i}-related`,
    title: "Labels beside it",
    label: `Labels beside ${name}`,
    draw: (drawing, width) =>
      bars(drawing, width, {
        rows: rows.map(([j, n]) => ({ label: labelName(j), value: n / Math.max(1, data.docs[i]), color: labelColor(j), href: link("labels", [j]), text: `${count(n)} · ${percent(n / Math.max(1, data.docs[i]), 0)}`, data: { label: j }, lines: [labelName(j), `${plural(n, core.doc_name)} with both`, `${percent(n / Math.max(1, data.docs[i]))} of those with ${name}`, `${percent(n / Math.max(1, data.docs[j]))} of those with ${labelName(j)}`] })),
        axis: `share of the label's ${core.doc_name}s`,
      }),
    rows: () => [["label", `${core.doc_name}s with both`], ...rows.map(([j, n]) => [labelName(j), n])],
  });
  return section("Labels beside it", {}, chart);
}

function labelDocuments(i, data) {
  const share = (at) => sum(docs.topics[at].filter(([k]) => data.topics[i].includes(k)).map(([, theta]) => theta));
  // A training document has shares of its own labels alone, so shares tell labels where the page does not list them.
  const own = (at) => docs.labels?.[at] ?? docs.topics[at].map(([k]) => data.names[data.topics.findIndex((list) => list.includes(k))]);
  const rows = docs.row.map((_, at) => ({ at, own: own(at) })).filter((row) => row.own.includes(data.names[i]));
  const others = (row) => row.own.filter((label) => label !== data.names[i]).map((label) => data.names.indexOf(label)).filter((j) => j >= 0);
  const columns = [
    { title: capital(core.doc_name), value: (row) => docs.title[row.at], csv: (row) => docs.id[row.at], cell: (row) => docLink(row.at), class: "title-cell" },
    { title: "Share", numeric: true, value: (row) => share(row.at), cell: (row) => percent(share(row.at), 0) },
    ...(rows.some((row) => others(row).length) ? [{ title: "Other labels", value: (row) => others(row).map(labelName).join(", "), class: "words-cell" }] : []),
  ];
  const about = `${plural(rows.length, core.doc_name)} with it${core.documents.sampled ? `, of the ${count(core.documents.n)} in this page` : ""}.`;
  return section(`${capital(core.doc_name)}s`, { about }, table({ name: `label-${i}-documents`, caption: `Documents with the label ${data.names[i]}`, columns, rows, sort: [1, "descending"], step: 20, empty: "None." }));
}

// -- classes ---------------------------------------------------------------------------------------------------------

const MOST_ROWS = 40;

function renderClasses(view, [given]) {
  const data = family("classes");
  if (data.numbers) return renderResponse(view, data);
  const chosen = /^\d+$/.test(given ?? "") && data.names[Number(given)] !== undefined ? Number(given) : 0;
  const served = data.weights.some(Boolean);
  const box = el("div", { class: "stack" });
  const draw = (c) => box.replaceChildren(classSection(c, data, (next) => {
    readdress(link("classes", [next]));
    draw(Number(next));
  }));
  draw(chosen);
  fill(view, {}, [
    el("h1", {}, "Classes"),
    el("p", { class: "lead" }, `A ${core.doc_name}'s value for a class is the mean weight η of its ${core.word_name}s' topics. The larger it is, the more the model is for that class.`),
    served && weightsSection(data),
    box,
    reportSection(data.report, "Class", (c) => (c < data.names.length ? link("classes", [c]) : null)),
    data.confusion && confusionSection(data),
    section("All classes", {}, classTable(data)),
  ]);
  return undefined;
}

// Of three classes or more, weights against each other: what a topic adds to all of them alike tells none apart.
const compares = (data) => data.names.length > 2 && data.weights.filter(Boolean).length > 1;

function contrasts(data) {
  if (!compares(data)) return data.weights;
  const own = data.weights.filter(Boolean);
  const mean = core.topics.map((_, k) => sum(own.map((row) => row[k])) / own.length);
  return data.weights.map((row) => row?.map((value, k) => value - mean[k]) ?? null);
}

// Topics, by the class that they push most; within it the strongest first.
function classOrder(given) {
  const own = given.filter(Boolean);
  const best = (k) => own.reduce((found, row, c) => (row[k] > own[found][k] ? c : found), 0);
  const topics = shownTopics().map((k) => [k, best(k)]);
  return topics.sort(([a, i], [b, j]) => i - j || own[j][b] - own[i][a]).map(([k]) => k);
}

function weightsSection(data) {
  const against = contrasts(data);
  const all = classOrder(against);
  let by = "class";
  let limit = MOST_ROWS;
  let shown_ = against;
  const strength = (k) => Math.max(...against.filter(Boolean).map((row) => Math.abs(row[k])));
  const strongest = new Set(sortRows(all, strength, "descending").slice(0, MOST_ROWS));
  const topics = () => (by === "class" ? all : [...all].sort((a, b) => a - b)).filter((k) => limit > MOST_ROWS || strongest.has(k));
  const columns = data.names.map((name, c) => ({ label: name, href: link("classes", [c]) }));
  const chart = figure({
    name: "class-weights",
    title: "Weights of topics for classes",
    note: `Blue: a topic pushes away from the class. Orange: toward it.${compares(data) ? " Against the others: weight η less the topic's mean over all classes, which is what tells classes apart." : ""}${data.weights.every(Boolean) ? "" : " Classes without colours were learned by another chain than the one whose topics this page shows."}${moreIsHidden()}`,
    draw: (drawing, width) => matrix(drawing, width, { rows: topics().map((k) => ({ label: numbered(k), href: link("topic", [k]) })), columns, values: topics().map((k) => shown_.map((row) => row?.[k] ?? NaN)), signed: true, format: weightText, lines: (i, c) => weightLines(data, against, c, topics()[i]), key: shown_ === data.weights ? "weight η" : "weight η less the mean of the classes" }),
    rows: () => [["topic", "name", ...data.names], ...topics().map((k) => [k, topicName(k), ...data.weights.map((row) => row?.[k] ?? null)])],
  });
  const more = button(`Show all ${all.length} topics`, () => {
    limit = Infinity;
    more.hidden = true;
    chart.redraw();
  }, { class: "more", hidden: all.length <= MOST_ROWS });
  const sorted = segmented("Order of topics", [["class", "By class"], ["number", "By number"]], by, (id) => {
    by = id;
    chart.redraw();
  });
  const kinds = compares(data) && segmented("Which weights", [["against", "Against the others"], ["weights", "Weights η"]], "against", (id) => {
    shown_ = id === "weights" ? data.weights : against;
    chart.redraw();
  });
  const values = table({
    name: "class-weights",
    caption: "Weights of topics for classes",
    columns: [{ title: "Topic", value: (k) => k, cell: (k) => topicLink(k), class: "topic-cell" }, ...data.names.map((name, c) => ({ title: short(name, 40), numeric: true, value: (k) => data.weights[c]?.[k] ?? null, cell: (k) => signedNumber(data.weights[c]?.[k]) }))],
    rows: all,
    sort: [0, "ascending"],
    step: 200,
  });
  return section("Weights of topics", { tools: el("span", { class: "pickers" }, kinds, sorted) }, wide(chart, 170 + 18 * columns.length), more, foldAway("Weights η as a table", values));
}

// Two digits are enough beside a colour.
function weightText(value) {
  if (!Number.isFinite(value)) return "–";
  const text = Math.abs(value).toFixed(2);
  return `${Number(text) === 0 ? "" : value < 0 ? "−" : "+"}${text}`;
}

const weightLines = (data, against, c, k) => [`η = ${signedNumber(data.weights[c]?.[k])}`, compares(data) && against[c] ? `${signedNumber(against[c][k])} against the mean of the classes` : null];

function classSection(c, data, choose) {
  const n = data.n[c];
  const about = `${n === null ? "" : `${plural(n, core.doc_name)}. `}Longer bars push more; those to the right are for the class.`;
  const control = picker("Class", "class", data.names.map((name, i) => [i, name]), c, choose);
  return section("What pushes a class", { about, tools: control, id: "one-class" }, pushes(c, data, `class-${c}`, [`away from ${data.names[c]}`, `toward ${data.names[c]}`]));
}

function pushes(c, data, name, ends) {
  const weights = contrasts(data)[c];
  const topics = weights ? sortRows(shownTopics(), (k) => weights[k], "descending") : [];
  const strong = topics.length > MOST_ROWS ? [...topics.slice(0, MOST_ROWS / 2), ...topics.slice(-MOST_ROWS / 2)] : topics;
  const words = pushingWords(c, data);
  const topicChart = figure({
    name: `${name}-topics`,
    title: "Topics",
    label: `Topics, ${ends.join(" and ")}`,
    note: `${compares(data) ? "Weight η of each topic, less its mean over all classes." : "Weight η of each topic."}${strong.length < topics.length ? ` The ${MOST_ROWS} that push most.` : ""}${moreIsHidden()}`,
    draw: (drawing, width) => signedRows(drawing, width, { ends, rows: strong.map((k) => ({ label: numbered(k), value: weights[k], href: link("topic", [k]), data: { topic: k }, lines: [numbered(k), ...weightLines(data, contrasts(data), c, k), core.topics[k].words.slice(0, 8).map(([word]) => word).join(" ")] })) }),
    rows: () => [["topic", "name", "weight", "against the mean of the classes"], ...topics.map((k) => [k, topicName(k), data.weights[c][k], weights[k]])],
  });
  const wordChart = figure({
    name: `${name}-words`,
    title: "Words",
    label: `${capital(core.word_name)}s, ${ends.join(" and ")}`,
    note: `What one token of the ${core.word_name} adds on average: Σ p(topic | ${core.word_name}) η${compares(data) ? ", less its mean over all classes" : ""}. In order of what all its tokens together add.`,
    draw: (drawing, width) => signedRows(drawing, width, { ends, height: 21, rows: words.map(([word, value]) => ({ label: word, value, href: link("word", [word]), data: { word }, lines: [word, signedNumber(value)] })) }),
    rows: () => [[core.word_name, "push"], ...words],
  });
  const none = el("p", { class: "none" }, "This class was learned by another chain than the one whose topics this page shows, so only its words are known here.");
  return el("div", { class: "split" }, el("div", {}, el("h3", {}, "Topics"), weights ? topicChart : none), el("div", {}, el("h3", {}, `${capital(core.word_name)}s`), words.length ? wordChart : el("p", { class: "none" }, "None.")));
}

const PUSHING = 15;

// Words toward a class, those that add most first; then words away from it, those that take most last.
function pushingWords(c, data) {
  const all = data.words[c].map(([word, value]) => [wordText(word), value]);
  return [...all.filter((row) => row[1] > 0).slice(0, PUSHING), ...all.filter((row) => row[1] < 0).slice(-PUSHING)];
}

function classTable(data) {
  const rows = data.names.map((name, c) => ({ c, name, data: { class: c } }));
  const against = contrasts(data);
  const best = (c) => (against[c] ? sortRows(shownTopics(), (k) => against[c][k], "descending").filter((k) => against[c][k] > 0).slice(0, 3) : []);
  const words = (c) => pushingWords(c, data).filter((row) => row[1] > 0).slice(0, 8).map(([word]) => word);
  const columns = [
    { title: "Class", value: (row) => row.name, cell: (row) => el("a", { href: link("classes", [row.c]), dir: "auto" }, short(row.name)), class: "topic-cell" },
    ...(data.n.some((n) => n !== null) ? [{ title: `${capital(core.doc_name)}s`, numeric: true, value: (row) => data.n[row.c] }] : []),
    { title: "Topics toward it", value: (row) => best(row.c).map(numbered).join(", "), cell: (row) => el("span", { class: "link-list" }, best(row.c).map((k) => topicLink(k))) },
    { title: `${capital(core.word_name)}s toward it`, value: (row) => words(row.c).join(" "), cell: (row) => wordList(words(row.c)), class: "words-cell" },
  ];
  return table({ name: "classes", caption: "Classes", columns, rows, step: 200 });
}

function confusionSection(data) {
  const heads = data.names.map((name, c) => ({ label: name, href: link("classes", [c]) }));
  const totals = data.confusion.map((row) => sum(row));
  const right = sum(data.confusion.map((row, c) => row[c])) / Math.max(1, sum(totals));
  const shares = data.confusion.map((row, i) => row.map((n) => n / Math.max(1, totals[i])));
  const chart = figure({
    name: "confusion",
    title: "Confusion matrix",
    note: `Rows: true classes. Columns: predicted ones. Colours: shares of a row. ${percent(right)} are right.`,
    draw: (drawing, width) => matrix(drawing, width, { rows: heads, columns: heads, values: shares, format: (value, i, j) => (i === undefined ? percent(value, 0) : count(data.confusion[i][j])), key: "share of the class", corner: "true \\ predicted" }),
    rows: () => [["true", ...data.names], ...data.confusion.map((row, c) => [data.names[c], ...row])],
  });
  const columns = [{ title: "True class", value: (c) => data.names[c] }, ...data.names.map((name, j) => ({ title: short(name, 40), numeric: true, value: (c) => data.confusion[c][j] }))];
  const values = table({ name: "confusion", caption: "Confusion matrix", columns, rows: data.names.map((_, c) => c), step: 200 });
  return section("True and predicted classes", {}, wide(chart, 150 + 18 * heads.length), foldAway("The same as a table", values));
}

// Numbers instead of classes: one direction, from lower to higher.
function renderResponse(view, data) {
  fill(view, {}, [
    el("h1", {}, "Response"),
    el("p", { class: "lead" }, `The model predicts a number. What it says of a ${core.doc_name} is the mean weight η of its ${core.word_name}s' topics, so that topics to the right make it higher.`),
    section("What makes it lower or higher", {}, pushes(data.names.length - 1, data, "response", ["lower", "higher"])),
  ]);
}

route("labels", renderLabels, { nav: "Labels", when: () => Boolean(family("labels")), order: 4 });
route("classes", renderClasses, { nav: () => (family("classes").numbers ? "Response" : "Classes"), when: () => Boolean(family("classes")), order: 5 });
