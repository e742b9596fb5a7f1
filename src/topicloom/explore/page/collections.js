// collections.js: collections of compound LDA: mixtures π with intervals, differences of two, trends.
"use strict";

const SMALL_WIDTH = 210; // least width of a small chart
const ordered = (data) => data.values.length > 1 && data.values.every(Number.isFinite);
const levelNote = () => `${percent(core.level, 0)} interval`;

function renderCollections(view, [given], query) {
  const data = family("collections");
  if (given !== undefined) return renderCollection(view, given, data);
  const range_ = ordered(data) ? `, from ${data.names[0]} to ${data.names.at(-1)}` : "";
  fill(view, {}, [
    el("h1", {}, "Collections"),
    el("p", { class: "lead" }, `${plural(data.names.length, "collection")}${range_}. Each has a mixture π of topics of its own, from which its ${core.doc_name}s' shares are drawn.`),
    ordered(data) ? smallCharts(data) : mixtureMatrix(data),
    el("div", { class: "split" }, topicOverCollections(data, query), data.names.length > 1 && differenceSection(data, query)),
    data.trends && trendSection(data),
    section("Collections", {}, collectionTable(data)),
  ]);
  return undefined;
}

const pointText = ([mean, low, high], digits = 1) => `${percent(mean, digits)} (${range([low, high], (x) => percent(x, digits))})`;
const mixtureRows = (data) => [["collection", `${core.doc_name}s`, "topic", "name", "mean", "low", "high"], ...data.names.flatMap((name, j) => data.pi[j].map((point, k) => [name, data.docs[j], k, topicName(k), ...point]))];
const bySize = (data) => sortRows(shownTopics(), (k) => sum(data.pi.map((row, j) => row[k][0] * data.docs[j])), "descending");

// -- all topics ------------------------------------------------------------------------------------------------------

function smallCharts(data) {
  let same = false;
  let limit = 24;
  const order = data.trends ? sortRows(shownTopics(), (k) => data.trends[k][0], "descending") : bySize(data);
  const chart = figure({
    name: "collections",
    title: "Topics over the collections",
    note: `Line: mean of π. Band: ${levelNote()}.${data.trends ? " Topics that rise are first." : ""}${moreIsHidden()}`,
    draw: (drawing, width) => drawSmall(drawing, width, data, order.slice(0, limit), same),
    rows: () => mixtureRows(data),
  });
  const more = button(`Show all ${order.length} topics`, () => {
    limit = Infinity;
    more.hidden = true;
    chart.redraw();
  }, { class: "more", hidden: order.length <= limit });
  const tools = segmented("Scales of the charts", [["own", "Own scales"], ["same", "One scale"]], "own", (id) => {
    same = id === "same";
    chart.redraw();
  });
  return section("Topics over the collections", { tools }, chart, more);
}

function drawSmall(drawing, width, data, topics, same) {
  const columns = Math.max(1, Math.floor(width / SMALL_WIDTH));
  const [cell, height] = [width / columns, 118];
  const all = Math.max(1e-9, ...topics.flatMap((k) => data.pi.map((row) => row[k][2])));
  topics.forEach((k, i) => {
    const high = same ? all : Math.max(1e-9, ...data.pi.map((row) => row[k][2]));
    const group = svg("g", { transform: `translate(${((i % columns) * cell).toFixed(1)} ${Math.floor(i / columns) * height})`, class: "bar-row" });
    drawing.append(smallChart(group, cell - 14, height, data, k, high));
  });
  return Math.ceil(topics.length / columns) * height;
}

function smallChart(group, width, height, data, k, high) {
  const left = 34;
  const tick = niceTicks(0, high, 2).at(-1);
  const x = scale([data.values[0], data.values.at(-1)], [left + 3, width - 4]);
  const y = scale([0, high * 1.05], [height - 26, 22]);
  const path = (which, order = data.values.map((_, j) => j)) => order.map((j) => `${x(data.values[j]).toFixed(1)} ${y(data.pi[j][k][which]).toFixed(1)}`).join("L");
  const back = data.values.map((_, j) => j).toReversed();
  const title = svg("a", { href: link("collections", [], { topic: k }), "aria-label": `${numbered(k)} over the collections` }, svg("text", { class: "bar-label", x: 4, y: 13 }, fitted(numbered(k), width - 8)));
  const ticks = [0, tick].map((value) => [svg("line", { class: value ? "grid" : "axis", x1: left, x2: width, y1: y(value), y2: y(value) }), svg("text", { class: "tick", x: left - 5, y: y(value) + 4, "text-anchor": "end" }, axisFormat([0, tick], percent)(value))]);
  fill(group, {}, [
    svg("rect", { class: "hit", width: width + 8, height: height - 4, fill: "transparent", rx: 4 }),
    title,
    ticks,
    svg("path", { class: "band", d: `M${path(1)}L${path(2, back)}Z`, fill: colorOf(k) }),
    svg("path", { class: "line", d: `M${path(0)}`, stroke: colorOf(k) }),
    svg("text", { class: "tick", x: left, y: height - 12 }, fitted(data.names[0], width / 2 - 20, SMALL)),
    svg("text", { class: "tick", x: width, y: height - 12, "text-anchor": "end" }, fitted(data.names.at(-1), width / 2 - 20, SMALL)),
  ]);
  const peak = data.pi.reduce((best, row, j) => (row[k][0] > data.pi[best][k][0] ? j : best), 0);
  return tip(group, [numbered(k), `${data.names[0]}: ${pointText(data.pi[0][k])}`, `${data.names.at(-1)}: ${pointText(data.pi.at(-1)[k])}`, `most in ${data.names[peak]}: ${pointText(data.pi[peak][k])}`]);
}

function mixtureMatrix(data) {
  const topics = bySize(data).slice(0, 60);
  const columns = data.names.map((name, j) => ({ label: name, href: link("collections", [j]) }));
  const chart = figure({
    name: "collections",
    title: "Topics in the collections",
    note: `Mean of π. Intervals are below, and in the CSV file.${topics.length < core.topics.length ? ` ${plural(topics.length, "topic")}.` : ""}${moreIsHidden()}`,
    draw: (drawing, width) =>
      matrix(drawing, width, { rows: topics.map((k) => ({ label: numbered(k), href: link("collections", [], { topic: k }) })), columns, values: topics.map((k) => data.pi.map((row) => row[k][0])), format: (value, i, j) => (i === undefined || !data.pi[j] ? percent(value, 0) : percent(value)), key: "share of the collection" }),
    rows: () => mixtureRows(data),
  });
  return section("Topics in the collections", {}, wide(chart, 170 + 18 * columns.length));
}

// -- one topic -------------------------------------------------------------------------------------------------------

const asTopic = (text, fallback) => (/^\d+$/.test(text ?? "") && core.topics[Number(text)] ? Number(text) : fallback);

function topicOverCollections(data, query) {
  const order = bySize(data);
  let k = asTopic(query.topic, order[0] ?? 0);
  const chart = figure({
    name: "collections-topic",
    title: "One topic in all collections",
    note: ordered(data) ? `Line: mean of π. Band: ${levelNote()}. Columns: number of ${core.doc_name}s.` : `Dot: mean of π. Line: ${levelNote()}. n: number of ${core.doc_name}s.`,
    draw: (drawing, width) => (ordered(data) ? lines(drawing, width, { x: data.values, labels: data.names, series: [{ name: topicName(k), color: colorOf(k), points: data.pi.map((row) => row[k]) }], counts: data.docs, countName: `${core.doc_name}s` }) : bars(drawing, width, { rows: collectionBars(data, k) })),
    rows: () => [["collection", `${core.doc_name}s`, "topic", "name", "mean", "low", "high"], ...data.names.map((name, j) => [name, data.docs[j], k, topicName(k), ...data.pi[j][k]])],
  });
  const page = el("p", { class: "link-list" });
  const choose = (value) => {
    k = Number(value);
    page.replaceChildren(topicLink(k));
    chart.redraw();
  };
  choose(k);
  const all = order.includes(k) ? order : [k, ...order];
  const control = picker("Topic", "collection-topic", all.map((topic) => [topic, numbered(topic)]), k, (value) => {
    choose(value);
    setQuery({ ...currentAddress().query, topic: value });
  });
  return section("One topic", { tools: control, id: "one-topic" }, page, chart);
}

const collectionBars = (data, k) =>
  data.names.map((name, j) => ({ label: name, value: data.pi[j][k][0], low: data.pi[j][k][1], high: data.pi[j][k][2], dot: true, color: colorOf(k), href: link("collections", [j]), text: `${percent(data.pi[j][k][0])} · n = ${count(data.docs[j])}`, lines: [name, pointText(data.pi[j][k]), plural(data.docs[j], core.doc_name)] }));

// -- differences -----------------------------------------------------------------------------------------------------

// Collection `to` less `from`. Without the pair in the page, means alone.
function difference(data, from, to) {
  const found = data.differences.find((pair) => pair.first === to && pair.second === from);
  if (found) return { known: true, topics: found.topics };
  const turned = data.differences.find((pair) => pair.first === from && pair.second === to);
  if (turned) return { known: true, topics: turned.topics.map(([mean, low, high, probability]) => [-mean, -high, -low, 1 - probability]) };
  return { known: false, topics: data.pi[from].map((point, k) => [data.pi[to][k][0] - point[0], null, null, null]) };
}

const asCollection = (data, text, fallback) => (/^\d+$/.test(text ?? "") && data.names[Number(text)] !== undefined ? Number(text) : fallback);

function differenceSection(data, query) {
  const last = data.names.length - 1;
  let pair = [asCollection(data, query.from, 0), asCollection(data, query.to, last)];
  const note = el("p", { class: "about" });
  const rows = () => {
    const { topics } = difference(data, ...pair);
    return sortRows(shownTopics(), (k) => topics[k][0], "descending").map((k) => ({ k, point: topics[k] }));
  };
  const strongest = () => {
    const all = rows();
    return all.length > MOST_ROWS ? [...all.slice(0, MOST_ROWS / 2), ...all.slice(-MOST_ROWS / 2)] : all;
  };
  const chart = figure({
    name: "collections-difference",
    title: "Difference of two collections",
    note: `Percentage points. Dot: mean of the difference of π. Line: ${levelNote()}. P: probability that the topic has more in the second one chosen.`,
    draw: (drawing, width) => signedRows(drawing, width, { rows: strongest().map(({ k, point }) => changeRow(k, point, { digits: 1 })), tick: (x) => signedTick(100 * x), ends: [`more in ${data.names[pair[0]]}`, `more in ${data.names[pair[1]]}`] }),
    rows: () => [["topic", "name", "from", "to", "mean", "low", "high", "probability"], ...rows().map(({ k, point }) => [k, topicName(k), data.names[pair[0]], data.names[pair[1]], ...point])],
  });
  const update = () => {
    note.textContent = pair[0] === pair[1] ? "Choose two different collections." : difference(data, ...pair).known ? "" : "The page has intervals of neighbouring collections and of the first and the last. Of this pair it has the difference of the means alone.";
    note.hidden = !note.textContent;
    chart.hidden = pair[0] === pair[1];
    chart.redraw();
  };
  const options = data.names.map((name, j) => [j, name]);
  const turn = (which) => (value) => {
    pair = pair.with(which, Number(value));
    setQuery({ ...currentAddress().query, from: pair[0], to: pair[1] });
    update();
  };
  const controls = el("span", { class: "pickers" }, picker("From", "from", options, pair[0], turn(0)), picker("to", "to", options, pair[1], turn(1)));
  update();
  return section("Difference", { tools: controls, id: "difference" }, note, chart);
}

const chance = (p) => (p >= 0.995 ? "> 0.99" : p < 0.005 ? "< 0.01" : p.toFixed(2));

function changeRow(k, [mean, low, high, probability], { digits, extra = null }) {
  const known = Number.isFinite(probability);
  return {
    label: numbered(k),
    value: mean,
    low: low ?? NaN,
    high: high ?? NaN,
    dot: true,
    color: colorOf(k),
    href: link("collections", [], { ...currentAddress().query, topic: k }),
    data: { topic: k },
    text: `${points(mean, digits)}${known ? ` · P ${chance(probability)}` : ""}`,
    brief: points(mean, digits),
    lines: [numbered(k), `${points(mean, digits)} points${known ? ` (${points(low, digits)} to ${points(high, digits)})` : ""}`, known ? `probability of more: ${probability.toFixed(3)}` : null, extra],
  };
}

// -- trends ----------------------------------------------------------------------------------------------------------

function trendSection(data) {
  const order = sortRows(shownTopics(), (k) => data.trends[k][0], "descending");
  const most = order.length > MOST_ROWS ? [...order.slice(0, MOST_ROWS / 2), ...order.slice(-MOST_ROWS / 2)] : order;
  const digits = pointDigits(data.trends.map((row) => row[0]));
  const span = data.values.at(-1) - data.values[0];
  const along = (k) => `${points(data.trends[k][0] * span)} points from ${data.names[0]} to ${data.names.at(-1)}, along the line`;
  const chart = figure({
    name: "collections-trends",
    title: "Trends of topics",
    note: `Slope of a line through the collections, each weighted by its ${core.doc_name}s. Dot: mean. Line: ${levelNote()}. P: probability that the topic rises.${most.length < order.length ? ` The ${MOST_ROWS} steepest.` : ""}`,
    draw: (drawing, width) => signedRows(drawing, width, { rows: most.map((k) => changeRow(k, data.trends[k], { digits, extra: along(k) })), tick: (x) => signedTick(100 * x), axis: "percentage points per unit, such as a year", ends: ["falls", "rises"] }),
    rows: () => [["topic", "name", "slope", "low", "high", "probability"], ...order.map((k) => [k, topicName(k), ...data.trends[k]])],
  });
  return section("Trends", {}, chart);
}

// -- one collection, and all of them ---------------------------------------------------------------------------------

function collectionTable(data) {
  const rows = data.names.map((name, j) => ({ j, name, data: { collection: j } }));
  const best = (j) => sortRows(shownTopics(), (k) => data.pi[j][k][0], "descending").slice(0, 3);
  const columns = [
    { title: "Collection", value: (row) => (ordered(data) ? data.values[row.j] : row.name), csv: (row) => row.name, cell: (row) => el("a", { href: link("collections", [row.j]), dir: "auto" }, short(row.name)) },
    { title: `${capital(core.doc_name)}s`, numeric: true, value: (row) => data.docs[row.j] },
    { title: "Largest topics", value: (row) => best(row.j).map((k) => `${numbered(k)} ${percent(data.pi[row.j][k][0])}`).join(", "), cell: (row) => el("span", { class: "link-list" }, best(row.j).map((k) => el("span", { class: "with-share" }, topicLink(k), percent(data.pi[row.j][k][0], 0)))) },
  ];
  return table({ name: "collections", caption: "Collections", columns, rows, step: 100 });
}

function renderCollection(view, given, data) {
  const j = asCollection(data, given, -1);
  if (j < 0) return missing(view, `There is no collection ${given}; this model has ${plural(data.names.length, "collection")}.`);
  const order = sortRows(shownTopics(), (k) => data.pi[j][k][0], "descending");
  const step = (by) => (j + by + data.names.length) % data.names.length;
  const chart = figure({
    name: `collection-${j}`,
    title: `Topics of ${data.names[j]}`,
    note: `Dot: mean of π. Line: ${levelNote()}.${moreIsHidden()}`,
    draw: (drawing, width) => bars(drawing, width, { rows: order.map((k) => ({ label: numbered(k), value: data.pi[j][k][0], low: data.pi[j][k][1], high: data.pi[j][k][2], dot: true, color: colorOf(k), href: link("topic", [k]), data: { topic: k }, lines: [numbered(k), pointText(data.pi[j][k])] })) }),
    rows: () => [["topic", "name", "mean", "low", "high"], ...order.map((k) => [k, topicName(k), ...data.pi[j][k]])],
  });
  fill(view, {}, [
    el("div", { class: "head-row" },
      el("p", { class: "kicker" }, el("a", { href: link("collections") }, "Collections")),
      data.names.length > 1 && el("span", { class: "steps" },
        el("a", { href: link("collections", [step(-1)]), id: "previous", "aria-label": "Previous collection", "aria-keyshortcuts": "[" }, "←"),
        el("a", { href: link("collections", [step(1)]), id: "next", "aria-label": "Next collection", "aria-keyshortcuts": "]" }, "→"))),
    el("h1", { dir: "auto" }, short(data.names[j], 300)),
    el("p", { class: "facts" }, plural(data.docs[j], core.doc_name)),
    section("Topics", {}, chart),
  ]);
  return undefined;
}

route("collections", renderCollections, { nav: "Collections", when: () => Boolean(family("collections")), order: 6 });
