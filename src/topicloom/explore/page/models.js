// models.js: several models, or chains of one, side by side: flows between their topics, matches, splits.
//
//   modelFlows(data, pair)     {forward, backward}: of each flow the share of the topic it leaves and of the one it enters
"use strict";

const SPLIT_PART = 0.1; // a part of a split has at least this share of the topic,
const MAINLY = 0.5; // and comes from it by at least this share

const modelTopicName = (data, m, k) => (m === 0 && core.topics[k] ? topicName(k) : (data.topics[m][k].name ?? data.topics[m][k].label));
const modelNumbered = (data, m, k) => `${k} ${modelTopicName(data, m, k)}`;

function renderModels(view, _, query) {
  const data = core.models;
  const pairs = data.flows.length;
  const chosen = /^\d+$/.test(query.pair ?? "") && Number(query.pair) < pairs ? Number(query.pair) : 0;
  const box = el("div", { class: "stack" });
  const draw = (pair) => box.replaceChildren(...matchSections(data, pair));
  draw(chosen);
  const control = pairs > 1 && picker("Compare", "pair", data.flows.map((_, p) => [p, `${data.names[p]} and ${data.names[p + 1]}`]), chosen, (value) => {
    draw(Number(value));
    setQuery({ ...currentAddress().query, pair: value });
  });
  fill(view, {}, [
    el("h1", {}, "Models"),
    el("p", { class: "lead" }, `${data.names.map((name, m) => `${name}: ${plural(data.topics[m].length, "topic")}`).join("; ")}. The other views show ${data.names[0]}.`),
    section("Flows between topics", {}, flowChart(data), el("div", { id: "flow-topic", class: "flow-topic", role: "status", hidden: true })),
    control && el("p", { class: "pickers" }, control),
    box,
  ]);
  const [m, k] = (query.topic ?? "").split(".").map(Number);
  if (data.topics[m]?.[k]) flowDetails(view.querySelector("#flow-topic"), data, m, k);
}

// -- flows -----------------------------------------------------------------------------------------------------------

// Topics of each model in an order with few crossings: each stands at the mean place of what flows into it.
function flowOrder(data) {
  const orders = [sortRows(data.topics[0].map((_, k) => k), (k) => data.topics[0][k].share, "descending")];
  const settle = (from, own, incoming) => {
    const place = new Map();
    let at = 0;
    for (const k of from) {
      place.set(k, at + incoming.size(k) / 2);
      at += incoming.size(k);
    }
    const mean = own.map((k) => {
      const flows = incoming.of(k);
      const total = sum(flows.map((flow) => flow[1]));
      return total ? sum(flows.map(([other, weight]) => place.get(other) * weight)) / total : Infinity;
    });
    return sortRows(own, (k) => (Number.isFinite(mean[own.indexOf(k)]) ? mean[own.indexOf(k)] : 1e9), "ascending");
  };
  const into = (p) => ({ size: (k) => data.topics[p][k].share, of: (k) => data.flows[p].filter((flow) => flow[1] === k).map(([from, , weight]) => [from, weight]) });
  const outOf = (p) => ({ size: (k) => data.topics[p + 1][k].share, of: (k) => data.flows[p].filter((flow) => flow[0] === k).map(([, to, weight]) => [to, weight]) });
  for (let m = 1; m < data.topics.length; m += 1) orders[m] = settle(orders[m - 1], data.topics[m].map((_, k) => k), into(m - 1));
  for (let round = 0; round < 3; round += 1) {
    for (let m = data.topics.length - 2; m >= 0; m -= 1) orders[m] = settle(orders[m + 1], orders[m], outOf(m));
    for (let m = 1; m < data.topics.length; m += 1) orders[m] = settle(orders[m - 1], orders[m], into(m - 1));
  }
  return orders;
}

const LEAST_FLOW = 0.05; // of both topics; smaller flows are drawn if asked for

function flowChart(data) {
  let all = false;
  const orders = flowOrder(data);
  const topics = Math.max(...data.topics.map((own) => own.length));
  const chart = figure({
    name: "flows",
    title: `Flows between topics: ${data.names.join(", ")}`,
    note: `Height of a topic: its share of the corpus. Width of a ribbon: the share that goes from a topic to a topic of the next model. Point at a topic or a ribbon to follow it; a topic of ${data.names[0]} opens its page.`,
    draw: (drawing, width) => drawFlows(drawing, width, { data, orders, all, height: clamp(topics * 30, 320, 1600) }),
    rows: () => [["model", "topic", "name", "next model", "next topic", "next name", "weight"], ...data.flows.flatMap((own, p) => own.map(([from, to, weight]) => [data.names[p], from, modelTopicName(data, p, from), data.names[p + 1], to, modelTopicName(data, p + 1, to), weight]))],
  });
  const box = el("input", { type: "checkbox", id: "small-flows", on: { change: () => chart.redraw((all = box.checked)) } });
  return [el("label", { class: "switch" }, box, `flows below ${percent(LEAST_FLOW, 0)} of both topics, too`), wide(chart, 170 * data.names.length)];
}

function drawFlows(drawing, width, { data, orders, all, height }) {
  const head = 26;
  const last = data.names.length - 1;
  const bar = 14;
  const widest = Math.max(...[0, last].flatMap((m) => data.topics[m].map((_, k) => textWidth(visible(modelNumbered(data, m, k)).slice(0, 100), SMALL))));
  const outside = clamp(widest + 14, 60, width / (data.names.length + 1.5));
  const x = scale([0, last], [outside, width - outside - bar]);
  const columns = orders.map((order, m) => flowColumn(data, order, m, { x: x(m), top: head, height }));
  const ribbons = data.flows.flatMap((own, p) => flowRibbons(own, columns[p], columns[p + 1], { data, p, bar })).filter((ribbon) => all || ribbon.large);
  const nodes = columns.flatMap((column, m) => [...column.values()].map((node) => flowNode(node, data, m, { bar, last, width, outside, x })));
  const heads = data.names.map((name, m) => svg("text", { class: "flow-head", x: m === 0 ? x(0) + bar : m === last ? x(m) : x(m) + bar / 2, y: 14, "text-anchor": m === 0 ? "end" : m === last ? "start" : "middle" }, fitted(name, m === 0 || m === last ? outside : (x(1) - x(0)) * 0.9)));
  flowLights(drawing, nodes, ribbons);
  drawing.append(...heads, ...ribbons.map((ribbon) => ribbon.mark), ...nodes.map((node) => node.mark));
  return head + height + 6;
}

// Places of a model's topics. What flows may be more than the share that is given: the larger of both counts.
function flowColumn(data, order, m, { x, top, height }) {
  const sums = (flows, side, k) => sum((flows ?? []).filter((flow) => flow[side] === k).map((flow) => flow[2]));
  const size = new Map(order.map((k) => [k, Math.max(1e-4, data.topics[m][k].share, sums(data.flows[m], 0, k), sums(data.flows[m - 1], 1, k))]));
  const gap = order.length > 1 ? Math.min(10, (0.3 * height) / (order.length - 1)) : 0;
  const unit = (height - gap * (order.length - 1)) / sum([...size.values()]);
  let y = top;
  return new Map(order.map((k) => {
    const node = { m, k, x, y, height: size.get(k) * unit, unit, outgoing: y, incoming: y };
    y += node.height + gap;
    return [k, node];
  }));
}

function flowRibbons(flows, left, right, { data, p, bar }) {
  const places = (map) => new Map([...map.keys()].map((k, i) => [k, i]));
  const [fromPlace, toPlace] = [places(left), places(right)];
  const ordered_ = [...flows].sort((a, b) => fromPlace.get(a[0]) - fromPlace.get(b[0]) || toPlace.get(a[1]) - toPlace.get(b[1]));
  const starts = new Map();
  for (const [from, to, weight] of ordered_) {
    const node = left.get(from);
    starts.set(`${from}.${to}`, node.outgoing);
    node.outgoing += weight * node.unit;
  }
  const byTarget = [...ordered_].sort((a, b) => toPlace.get(a[1]) - toPlace.get(b[1]) || fromPlace.get(a[0]) - fromPlace.get(b[0]));
  const ribbons = byTarget.map(([from, to, weight]) => {
    const [a, b] = [left.get(from), right.get(to)];
    const [y0, y1] = [starts.get(`${from}.${to}`), b.incoming];
    const [h0, h1] = [weight * a.unit, weight * b.unit];
    b.incoming += h1;
    const [x0, x1] = [a.x + bar, b.x];
    const middle = (x0 + x1) / 2;
    const f = (value) => value.toFixed(1);
    const d = `M${f(x0)} ${f(y0)}C${f(middle)} ${f(y0)} ${f(middle)} ${f(y1)} ${f(x1)} ${f(y1)}V${f(y1 + h1)}C${f(middle)} ${f(y1 + h1)} ${f(middle)} ${f(y0 + h0)} ${f(x0)} ${f(y0 + h0)}Z`;
    const mark = svg("path", { class: "ribbon", d, fill: flowColor(data, p, from), data: { pair: p, from, to } });
    const share = (total) => percent(weight / Math.max(total, 1e-12), 0);
    tip(mark, [`${modelNumbered(data, p, from)} → ${modelNumbered(data, p + 1, to)}`, `${percent(weight)} of the corpus`, `${share(data.topics[p][from].share)} of the topic in ${data.names[p]}`, `${share(data.topics[p + 1][to].share)} of the topic in ${data.names[p + 1]}`]);
    const large = weight >= LEAST_FLOW * Math.min(data.topics[p][from].share, data.topics[p + 1][to].share);
    return { mark, p, from, to, large };
  });
  return ribbons;
}

// The first model has the page's colours. Topics of others have the colour of the topic that they match, back to the first.
function flowColor(data, m, k) {
  let at = k;
  for (let p = m - 1; p >= 0; p -= 1) {
    const matched = data.matches[p].indexOf(at);
    const strongest = () => data.flows[p].filter((flow) => flow[1] === at).sort((a, b) => b[2] - a[2])[0]?.[0] ?? -1;
    at = matched >= 0 ? matched : strongest();
    if (at < 0) return "#888888";
  }
  return core.topics[at] ? colorOf(at) : "#888888";
}

function flowNode(node, data, m, { bar, last, width, outside, x }) {
  const { k } = node;
  const own = data.topics[m][k];
  const end = m === 0;
  const at = end ? node.x - 6 : node.x + bar + 6;
  const room = m === 0 ? node.x - 10 : m === last ? width - at - 2 : Math.max(40, (x(1) - x(0)) * 0.6);
  const text = node.height >= 9 || data.topics[m].length <= 40 ? fitted(modelNumbered(data, m, k), Math.min(room, outside + 200), SMALL) : "";
  const label = svg("text", { class: `flow-label${m > 0 && m < last ? " inner" : ""}`, x: at, y: node.y + node.height / 2 + 4, "text-anchor": end ? "end" : "start" }, text);
  const shape = [svg("rect", { x: node.x, y: node.y, width: bar, height: Math.max(1.5, node.height), rx: 2, fill: flowColor(data, m, k) }), svg("rect", { class: "hit", x: Math.min(at, node.x), y: node.y - 2, width: bar + 4, height: Math.max(8, node.height + 4), fill: "transparent" }), label];
  const name = `${data.names[m]}, topic ${short(modelNumbered(data, m, k))}, ${percent(own.share)}`;
  const mark = m === 0
    ? svg("a", { class: "flow-node", href: link("topic", [k]), "aria-label": name, data: { model: m, topic: k } }, shape)
    : svg("a", { class: "flow-node", href: link("models", [], { ...currentAddress().query, topic: `${m}.${k}` }), "aria-label": name, data: { model: m, topic: k } }, shape);
  if (m > 0) mark.addEventListener("click", (event) => {
    event.preventDefault();
    setQuery({ ...currentAddress().query, topic: `${m}.${k}` });
    flowDetails(document.getElementById("flow-topic"), data, m, k);
  });
  tip(mark, [`${modelNumbered(data, m, k)} (${data.names[m]})`, `${percent(own.share)} of the corpus`, own.words.join(" ")]);
  return { mark, m, k };
}

// What is pointed at, and what it flows to and comes from, stays; all else fades.
function flowLights(drawing, nodes, ribbons) {
  const shine = (lit) => {
    drawing.classList.toggle("focused", lit !== null);
    for (const ribbon of ribbons) ribbon.mark.classList.toggle("lit", Boolean(lit?.(ribbon)));
    for (const node of nodes) node.mark.classList.toggle("lit", ribbons.some((ribbon) => ribbon.mark.classList.contains("lit") && ((ribbon.p === node.m && ribbon.from === node.k) || (ribbon.p + 1 === node.m && ribbon.to === node.k))));
  };
  const bind = (mark, lit) => {
    mark.addEventListener("pointerenter", () => shine(lit));
    mark.addEventListener("pointerleave", () => shine(null));
    mark.addEventListener("focusin", () => shine(lit));
    mark.addEventListener("focusout", () => shine(null));
  };
  for (const node of nodes) bind(node.mark, (ribbon) => (ribbon.p === node.m && ribbon.from === node.k) || (ribbon.p + 1 === node.m && ribbon.to === node.k));
  for (const ribbon of ribbons) bind(ribbon.mark, (other) => other === ribbon);
}

// A topic of another model than the first, which has no page of its own.
function flowDetails(box, data, m, k) {
  const own = data.topics[m][k];
  const flows = [
    ...(data.flows[m - 1] ?? []).filter((flow) => flow[1] === k).map(([from, , weight]) => ({ text: `from ${data.names[m - 1]}`, m: m - 1, k: from, weight })),
    ...(data.flows[m] ?? []).filter((flow) => flow[0] === k).map(([, to, weight]) => ({ text: `to ${data.names[m + 1]}`, m: m + 1, k: to, weight })),
  ].sort((a, b) => b.weight - a.weight).slice(0, 8);
  const line = (flow) => el("li", {}, `${percent(flow.weight / Math.max(own.share, 1e-12), 0)} ${flow.text}: `, modelTopic(data, flow.m, flow.k));
  box.replaceChildren(
    el("h3", { dir: "auto" }, short(modelNumbered(data, m, k))),
    el("p", { class: "facts" }, `${data.names[m]} · ${percent(own.share)} of the corpus`),
    el("p", { dir: "auto" }, knownWords(own.words)),
    el("ul", { class: "flow-list" }, flows.map(line)),
  );
  box.hidden = false;
}

const knownWords = (words) => words.map((word, i) => [i ? " " : "", wordNumber(word) >= 0 ? wordLink(word, { class: "word-link plain" }) : el("span", { class: "word-link plain" }, short(word, 60))]);

const modelTopic = (data, m, k) =>
  m === 0 && core.topics[k]
    ? topicLink(k)
    : el("a", { class: "topic-link", href: link("models", [], { ...currentAddress().query, topic: `${m}.${k}` }) }, el("span", { class: "swatch", style: { "--topic": flowColor(data, m, k) }, "aria-hidden": "true" }), el("span", { class: "topic-number" }, k), el("span", { class: "topic-name", dir: "auto" }, short(modelTopicName(data, m, k))));

// -- matches ---------------------------------------------------------------------------------------------------------

function modelFlows(data, pair) {
  const [left, right] = [data.topics[pair], data.topics[pair + 1]];
  return data.flows[pair].map(([from, to, weight]) => ({ from, to, weight, forward: weight / Math.max(left[from].share, 1e-12), backward: weight / Math.max(right[to].share, 1e-12) }));
}

// A row per topic of the first model, and one per topic of the second that none of them matches.
function matchRows(data, pair) {
  const flows = modelFlows(data, pair);
  const matches = data.matches[pair];
  const parts = (from) => flows.filter((flow) => flow.from === from && flow.forward >= SPLIT_PART && flow.backward >= MAINLY).map((flow) => flow.to);
  const sources = (to) => flows.filter((flow) => flow.to === to && flow.backward >= SPLIT_PART && flow.forward >= MAINLY).map((flow) => flow.from);
  const left = data.topics[pair].map((_, from) => {
    const to = matches[from] >= 0 ? matches[from] : null;
    const [split, merged] = [parts(from), to === null ? [] : sources(to)];
    const flow = to === null ? null : (flows.find((one) => one.from === from && one.to === to)?.forward ?? 0);
    return { from, to, flow, split: split.length > 1 ? split : [], merged: merged.length > 1 ? merged : [], data: { from } };
  });
  const taken = new Set(matches.filter((to) => to >= 0));
  const right = data.topics[pair + 1].map((_, to) => to).filter((to) => !taken.has(to)).map((to) => {
    const merged = sources(to);
    const whole = left.find((row) => row.split.includes(to))?.from ?? null;
    return { from: null, to, flow: null, split: [], merged: merged.length > 1 ? merged : [], whole, data: { to } };
  });
  return [...left, ...right];
}

function matchSections(data, pair) {
  const [first, second] = [data.names[pair], data.names[pair + 1]];
  const rows = matchRows(data, pair);
  const matched = rows.filter((row) => row.from !== null && row.to !== null).length;
  const list = (topics, m) => topics.map((k) => modelNumbered(data, m, k)).join(", ");
  const what = (row) => {
    const said = [row.split.length ? `splits into ${row.split.join(", ")}` : null, row.merged.length ? `merged from ${row.merged.join(", ")}` : null].filter(Boolean);
    if (said.length) return said.join("; ");
    if (row.whole !== undefined && row.whole !== null) return `part of ${row.whole}`;
    return row.to === null ? `only in ${first}` : row.from === null ? `only in ${second}` : "match";
  };
  const side = (m, key) => [
    { title: data.names[m], value: (row) => row[key], csv: (row) => (row[key] === null ? null : modelNumbered(data, m, row[key])), cell: (row) => (row[key] === null ? "–" : modelTopic(data, m, row[key])), class: "topic-cell" },
    { title: "Share", numeric: true, value: (row) => (row[key] === null ? null : data.topics[m][row[key]].share), cell: (row) => (row[key] === null ? "–" : percent(data.topics[m][row[key]].share)), class: "measure-cell" },
    { title: "Words", value: (row) => (row[key] === null ? null : data.topics[m][row[key]].words.join(" ")), cell: (row) => (row[key] === null ? "" : knownWords(data.topics[m][row[key]].words.slice(0, 7))), class: "words-cell" },
  ];
  const columns = [
    ...side(pair, "from"),
    ...side(pair + 1, "to"),
    { title: "Flow", numeric: true, value: (row) => row.flow, cell: (row) => percent(row.flow, 0), about: "Share of the first model's topic that goes to its match", class: "measure-cell" },
    { title: "What happens", value: what, csv: (row) => [what(row), list(row.split, pair + 1), list(row.merged, pair)].filter(Boolean).join(": "), class: "what-cell" },
  ];
  const about = `${matched} of ${data.topics[pair].length} topics of ${first} have a match in ${second} (one to one, by the distance of their words). A topic splits if two topics or more of ${second} come to at least ${percent(MAINLY, 0)} from it and have at least ${percent(SPLIT_PART, 0)} of it; the same the other way round for merged ones.`;
  return [section(`${first} and ${second}`, { about }, table({ name: `matches-${pair}`, caption: `Topics of ${first} and ${second}`, columns, rows, step: 300 }))];
}

route("models", renderModels, { nav: "Models", when: () => Boolean(core?.models), order: 8 });
