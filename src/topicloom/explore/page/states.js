// states.js: states of a hidden Markov model: transitions as a graph or a matrix, emissions, sequences.
"use strict";

const MOST_NODES = 12; // more are shown as a matrix
const LEAST_EDGE = 0.05;
const stays = (data, s) => data.transitions[s][s];
const nextStates = (data, s) => sortRows(data.transitions[s].map((_, to) => to).filter((to) => to !== s), (to) => data.transitions[s][to], "descending");

async function renderStates(view) {
  const data = family("states");
  await withDocs();
  fill(view, {}, [
    el("h1", {}, "States"),
    el("p", { class: "lead" }, `${plural(data.n, "state")}. From one ${core.word_name} to the next the model goes from state to state; each state has ${core.word_name}s of its own.`),
    transitionSection(data),
    section("States", {}, stateTable(data)),
    emissionSection(data),
    sequenceSection(data),
  ]);
}

function stateTable(data) {
  const rows = data.stationary.map((_, s) => ({ s, data: { state: s } }));
  const most = Math.max(...data.stationary);
  const follow = (s) => nextStates(data, s).slice(0, 2).filter((to) => data.transitions[s][to] >= 0.01);
  const symbols = (s) => data.symbols[s].slice(0, 6).map(([symbol]) => wordText(symbol));
  const columns = [
    { title: "State", value: (row) => row.s, cell: (row) => topicLink(row.s), class: "topic-cell" },
    { title: "In the long run", numeric: true, value: (row) => data.stationary[row.s], cell: (row) => barCell(data.stationary[row.s], most, colorOf(row.s)), about: "Share of the time that the chain spends in the state, by its transitions alone", class: "share-cell" },
    { title: "At the start", numeric: true, value: (row) => data.start[row.s], cell: (row) => percent(data.start[row.s]), about: `Probability that a ${core.doc_name} begins in the state`, class: "measure-cell" },
    { title: "Stays", numeric: true, value: (row) => stays(data, row.s), cell: (row) => percent(stays(data, row.s)), about: "Probability that the next state is the same" },
    { title: "Then goes to", value: (row) => follow(row.s).map((to) => `${numbered(to)} ${percent(data.transitions[row.s][to])}`).join(", "), cell: (row) => el("span", { class: "link-list" }, follow(row.s).map((to) => el("span", { class: "with-share" }, topicLink(to), percent(data.transitions[row.s][to], 0)))), class: "topic-cell measure-cell" },
    { title: `${capital(core.word_name)}s`, value: (row) => symbols(row.s).join(" "), cell: (row) => wordList(symbols(row.s)), class: "words-cell" },
  ];
  return table({ name: "states", caption: "States", columns, rows, sort: [1, "descending"], step: 200 });
}

// -- transitions -----------------------------------------------------------------------------------------------------

const transitionRows = (data) => [["from", "from name", "to", "to name", "probability"], ...data.transitions.flatMap((row, from) => row.map((p, to) => [from, topicName(from), to, topicName(to), p]))];

function transitionSection(data) {
  const small = data.n <= MOST_NODES;
  let least = LEAST_EDGE;
  const graph = small && figure({
    name: "transitions",
    title: "Transitions between states",
    note: "Areas of circles: time spent in a state in the long run. Width of arrows: probability of the transition; it has the colour of the state that it leaves. Point at a state to see its own alone.",
    draw: (drawing, width) => drawGraph(drawing, width, data, least),
    rows: () => transitionRows(data),
  });
  const table_ = figure({
    name: "transition-matrix",
    title: "Transition probabilities",
    note: "Rows: from. Columns: to.",
    draw: (drawing, width) => matrix(drawing, width, { rows: data.stationary.map((_, s) => ({ label: numbered(s), href: link("topic", [s]) })), columns: data.stationary.map((_, s) => ({ label: data.n > 8 ? String(s) : numbered(s), href: link("topic", [s]) })), values: data.transitions, format: (p, i) => (i === undefined || p >= 0.005 ? percent(p, 0) : ""), lines: (i, j) => [`probability ${percent(data.transitions[i][j], 2)}`], key: "probability", corner: "from \\ to" }),
    rows: () => transitionRows(data),
  });
  const scrolled = wide(table_, 120 + 18 * data.n);
  scrolled.hidden = small;
  const limit = small && picker("Arrows from", "least", [0.01, 0.02, 0.05, 0.1, 0.2, 0.3].map((p) => [p, percent(p, 0)]), least, (value) => {
    least = Number(value);
    graph.redraw();
  });
  const tabs = small && segmented("Transitions as", [["graph", "Graph"], ["matrix", "Matrix"]], "graph", (id) => {
    graph.hidden = id !== "graph";
    limit.hidden = graph.hidden;
    scrolled.hidden = id === "graph";
  });
  return section("Transitions", { tools: small && el("span", { class: "pickers" }, limit, tabs) }, graph, scrolled);
}

// States on a circle so that those with many transitions between them are neighbours: the best exchange, until none is left.
function circleOrder(data) {
  const order = data.stationary.map((_, s) => s);
  const bond = (a, b) => data.stationary[a] * data.transitions[a][b] + data.stationary[b] * data.transitions[b][a];
  const cost = () => {
    let total = 0;
    for (let i = 0; i < order.length; i += 1) {
      for (let j = i + 1; j < order.length; j += 1) total += bond(order[i], order[j]) * Math.min(j - i, order.length - j + i);
    }
    return total;
  };
  let best = cost();
  for (let round = 0, better = true; better && round < 20; round += 1) {
    better = false;
    for (let i = 0; i < order.length; i += 1) {
      for (let j = i + 1; j < order.length; j += 1) {
        [order[i], order[j]] = [order[j], order[i]];
        const now = cost();
        if (now < best - 1e-12) [best, better] = [now, true];
        else [order[i], order[j]] = [order[j], order[i]];
      }
    }
  }
  return order;
}

function drawGraph(drawing, width, data, least) {
  const narrow = width < 520;
  const height = clamp(width * (narrow ? 1.05 : 0.62), 320, 620);
  const biggest = narrow ? 22 : 34;
  const [side, above] = narrow ? [78, biggest + 50] : [170, biggest + 56];
  const top = Math.max(...data.stationary);
  const nodes = [];
  circleOrder(data).forEach((s, i) => {
    const angle = (2 * Math.PI * i) / data.n - Math.PI / 2;
    const r = Math.max(9, biggest * Math.sqrt(data.stationary[s] / top));
    nodes[s] = { s, r, angle, x: Math.cos(angle), y: Math.sin(angle) };
  });
  // The circle is stretched to the room that there is.
  const fit = (axis, middle, half) => {
    const [low, high] = [Math.min(...nodes.map((node) => node[axis])), Math.max(...nodes.map((node) => node[axis]))];
    for (const node of nodes) node[axis] = high - low > 1e-9 ? middle + half * (2 * ((node[axis] - low) / (high - low)) - 1) : middle;
  };
  fit("x", width / 2, Math.min(width / 2 - side, height * 0.72));
  fit("y", height / 2, height / 2 - above);
  const edges = data.transitions.flatMap((row, from) => row.map((p, to) => ({ from, to, p }))).filter((edge) => edge.p >= least);
  edges.sort((a, b) => a.p - b.p);
  const labelled = edges.length <= 3 * data.n + 4;
  const lines_ = edges.map((edge) => graphEdge(edge, nodes, { width, height, labelled }));
  const marks = nodes.map((node) => graphNode(node, data, { width, narrow, least }));
  const shine = (s) => {
    drawing.classList.toggle("focused", s !== null);
    lines_.forEach((line, i) => line.classList.toggle("lit", edges[i].from === s));
    marks.forEach((mark, t) => mark.classList.toggle("lit", t === s || edges.some((edge) => edge.from === s && edge.to === t)));
  };
  marks.forEach((mark, s) => {
    mark.addEventListener("pointerenter", () => shine(s));
    mark.addEventListener("pointerleave", () => shine(null));
    mark.addEventListener("focusin", () => shine(s));
    mark.addEventListener("focusout", () => shine(null));
  });
  drawing.append(...lines_, ...marks);
  return height;
}

const edgeWidth = (p) => 0.8 + 9 * p;
const loopSize = (p) => 14 + 0.6 * edgeWidth(p);

function graphEdge({ from, to, p }, nodes, { width, height, labelled }) {
  const [a, b] = [nodes[from], nodes[to]];
  const thick = edgeWidth(p);
  const head = 5 + thick * 0.9;
  let [path, tipAt, direction, label] = ["", null, null, null];
  if (from === to) {
    // A loop on the outer side of its circle.
    const [cos, sin] = [Math.cos(a.angle), Math.sin(a.angle)];
    const size = loopSize(p);
    const centre = [a.x + cos * (a.r + size * 0.72), a.y + sin * (a.r + size * 0.72)];
    const turn = 2.35;
    const at = (angle) => [centre[0] + size * Math.cos(angle), centre[1] + size * Math.sin(angle)];
    const [start, end] = [at(a.angle - turn), at(a.angle + turn)];
    tipAt = end;
    direction = [-Math.sin(a.angle + turn), Math.cos(a.angle + turn)];
    path = `M${start[0].toFixed(1)} ${start[1].toFixed(1)}A${size} ${size} 0 1 1 ${end[0].toFixed(1)} ${end[1].toFixed(1)}`;
    label = centre;
  } else {
    const [dx, dy] = [b.x - a.x, b.y - a.y];
    const distance = Math.hypot(dx, dy) || 1;
    // Both directions bend to their own right, so that they stay apart.
    const bend = 0.16 * distance;
    const middle = [(a.x + b.x) / 2 - (dy / distance) * bend, (a.y + b.y) / 2 + (dx / distance) * bend];
    const toward = (point, node, gap) => {
      const length = Math.hypot(point[0] - node.x, point[1] - node.y) || 1;
      return [node.x + ((point[0] - node.x) / length) * gap, node.y + ((point[1] - node.y) / length) * gap];
    };
    const start = toward(middle, a, a.r + 1);
    tipAt = toward(middle, b, b.r + 2);
    const base = toward(middle, b, b.r + 2 + head * 0.8);
    const length = Math.hypot(tipAt[0] - base[0], tipAt[1] - base[1]) || 1;
    direction = [(tipAt[0] - base[0]) / length, (tipAt[1] - base[1]) / length];
    path = `M${start[0].toFixed(1)} ${start[1].toFixed(1)}Q${middle[0].toFixed(1)} ${middle[1].toFixed(1)} ${base[0].toFixed(1)} ${base[1].toFixed(1)}`;
    // Nearer to where the arrow begins: labels of both directions, and of crossing arrows, stay apart.
    const t = 0.4;
    label = [0, 1].map((i) => (1 - t) ** 2 * start[i] + 2 * t * (1 - t) * middle[i] + t ** 2 * base[i]);
  }
  const shape = arrowHead(tipAt, direction, head);
  const text = percent(p, 0);
  const edge = svg(
    "g",
    { class: "edge", data: { from, to } },
    svg("path", { class: "edge-line", d: path, stroke: colorOf(from), "stroke-width": thick.toFixed(2), "stroke-opacity": (0.38 + 0.52 * p).toFixed(2) }),
    svg("path", { d: shape, fill: colorOf(from), "fill-opacity": (0.5 + 0.45 * p).toFixed(2) }),
    svg("text", { class: labelled ? "edge-text" : "edge-text extra", x: clamp(label[0], 12, width - 12), y: clamp(label[1] + 4, 10, height - 4), "text-anchor": "middle" }, text),
  );
  return tip(edge, [`${numbered(from)} → ${numbered(to)}`, `probability ${percent(p)}`]);
}

function arrowHead([x, y], [dx, dy], size) {
  const back = [x - dx * size, y - dy * size];
  const half = size * 0.5;
  return `M${x.toFixed(1)} ${y.toFixed(1)}L${(back[0] - dy * half).toFixed(1)} ${(back[1] + dx * half).toFixed(1)}L${(back[0] + dy * half).toFixed(1)} ${(back[1] - dx * half).toFixed(1)}Z`;
}

function graphNode({ s, x, y, r, angle }, data, { width, narrow, least }) {
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  const out = r + (stays(data, s) >= least ? 1.72 * loopSize(stays(data, s)) + 0.5 * edgeWidth(stays(data, s)) + 4 : 8); // past the loop
  const anchor = Math.abs(cos) < 0.35 ? "middle" : cos > 0 ? "start" : "end";
  const at = anchor === "middle" ? [x, y + Math.sign(sin) * (out + 4) + 4] : [x + cos * out, y + sin * out + 4];
  const room = anchor === "middle" ? (narrow ? 150 : 260) : anchor === "start" ? width - at[0] - 2 : at[0] - 2;
  const mark = svg(
    "a",
    { href: link("topic", [s]), class: "graph-node", "aria-label": `State ${s}: ${short(topicName(s))}, ${percent(data.stationary[s])} in the long run`, data: { state: s } },
    svg("circle", { cx: x, cy: y, r, fill: colorOf(s), stroke: colorOf(s) }),
    svg("text", { class: "map-number", x, y: y + 4, "text-anchor": "middle" }, s),
    svg("text", { class: "graph-name", x: at[0], y: at[1], "text-anchor": anchor }, fitted(topicName(s), Math.max(24, room), SMALL)),
  );
  const next = nextStates(data, s).slice(0, 3).filter((to) => data.transitions[s][to] >= 0.005).map((to) => `${percent(data.transitions[s][to], 0)} to ${numbered(to)}`);
  return tip(mark, [numbered(s), `${percent(data.stationary[s])} in the long run · ${percent(data.start[s])} at the start`, `stays: ${percent(stays(data, s))}`, ...next]);
}

// -- emissions -------------------------------------------------------------------------------------------------------

function emissionSection(data) {
  let n = 10;
  const chart = figure({
    name: "emissions",
    title: `${capital(core.word_name)}s of each state`,
    note: `Probability of each ${core.word_name} in the state. All states have one scale.`,
    draw: (drawing, width) => drawEmissions(drawing, width, data, n),
    rows: () => [["state", "name", core.word_name, "probability"], ...data.symbols.flatMap((own, s) => own.map(([symbol, p]) => [s, topicName(s), wordText(symbol), p]))],
  });
  const longest = Math.max(...data.symbols.map((own) => own.length));
  const control = longest > 10 && segmented("How many", [["10", "10"], ["20", "20"], ["30", "30"]], "10", (id) => {
    n = Number(id);
    chart.redraw();
  });
  return section(`${capital(core.word_name)}s of each state`, { tools: control }, chart);
}

function drawEmissions(drawing, width, data, n) {
  const most_ = Math.max(1, Math.floor(width / 205));
  const columns = Math.ceil(data.n / Math.ceil(data.n / most_)); // rows of the same length
  const cell = width / columns;
  const lists = data.symbols.map((own) => own.slice(0, n));
  const most = Math.max(1e-9, ...lists.flat().map(([, p]) => p));
  const line = 19;
  let top = 0;
  for (let start = 0; start < lists.length; start += columns) {
    const row = lists.slice(start, start + columns);
    row.forEach((own, i) => drawing.append(emissionBlock(start + i, own, { x: i * cell, y: top, width: cell - 16, line, most })));
    top += 34 + line * Math.max(...row.map((own) => own.length));
  }
  return top;
}

function emissionBlock(s, own, { x: left, y: top, width, line, most }) {
  const label = clamp(Math.max(0, ...own.map(([symbol]) => textWidth(visible(wordText(symbol)).slice(0, 60)))) + 10, 24, width * 0.46);
  const x = scale([0, most], [label, width - 44]);
  const title = svg("a", { href: link("topic", [s]), "aria-label": `State ${numbered(s)}` }, svg("text", { class: "bar-label block-title", x: 18, y: 15 }, fitted(numbered(s), width - 30)));
  const rows = own.map(([symbol, p], i) => {
    const [word, y] = [wordText(symbol), 26 + i * line + line / 2];
    const text = svg("a", { href: link("word", [word]), "aria-label": `${short(word)}, ${percent(p)}` }, svg("text", { class: "bar-label", x: label - 6, y: y + 4, "text-anchor": "end" }, fitted(word, label - 8)));
    const bar = svg("rect", { x: label, y: y - 6, width: Math.max(0.5, x(p) - label), height: 12, rx: 2, fill: colorOf(s) });
    return tip(svg("g", { class: "bar-row" }, svg("rect", { class: "hit", y: y - line / 2, width, height: line, fill: "transparent" }), bar, svg("text", { class: "bar-value", x: x(p) + 5, y: y + 4 }, percent(p)), text), [`${word} · ${numbered(s)}`, percent(p, 2)]);
  });
  return svg("g", { transform: `translate(${left.toFixed(1)} ${top})` }, svg("rect", { x: 2, y: 6, width: 10, height: 10, rx: 2, fill: colorOf(s) }), title, rows);
}

// -- sequences -------------------------------------------------------------------------------------------------------

function sequenceSection(data) {
  if (!data.sequences.length) return null;
  const letters = data.sequences.every((own) => own.symbols.every((symbol) => Array.from(wordText(symbol)).length === 1));
  const list = el("ol", { class: `sequences coloured${letters ? " letters" : ""}` });
  let next = 0;
  const more = button("", () => add(40), { class: "more" });
  const add = (n) => {
    list.append(...data.sequences.slice(next, next + n).map((own, i) => sequenceLine(own, next + i, letters)));
    next = Math.min(next + n, data.sequences.length);
    more.textContent = `Show more (${count(data.sequences.length - next)} left)`;
    more.hidden = next >= data.sequences.length;
  };
  add(12);
  tokenTips(list);
  const keys = el("div", { class: "legend state-keys", role: "group", "aria-label": "Colour one state alone" }, data.stationary.map((_, s) => stateKey(s, list)));
  const rows = () => [[core.doc_name, "position", core.word_name, "state", "name", "probability"], ...data.sequences.flatMap((own) => own.symbols.map((symbol, i) => [own.id, i, wordText(symbol), own.states[i], topicName(own.states[i]), own.probability[i]]))];
  const about = `Colour: the most probable state of each ${core.word_name}, given its whole ${core.doc_name}. The stronger, the surer. ${count(data.sequences.length)} of ${plural(core.n_docs, core.doc_name)}.`;
  return section(`${capital(core.doc_name)}s`, { about, class: "sequence-card" }, keys, list, el("div", { class: "foot" }, more, el("span", { class: "note" }), downloads([["CSV", `${capital(core.doc_name)}s: download as CSV`, () => saveCsv("sequences", rows())]])));
}

// A key of the legend is a switch: it leaves the colour of its state alone.
function stateKey(s, list) {
  const turn = () => {
    const on_ = key.getAttribute("aria-pressed") !== "true";
    for (const other of key.parentElement.children) other.setAttribute("aria-pressed", String(on_ && other === key));
    list.classList.toggle("one-topic", on_);
    list.dataset.only = on_ ? s : "";
    for (const mark of list.querySelectorAll(".token")) mark.classList.toggle("chosen", on_ && Number(mark.dataset.topic) === s);
  };
  const key = el("button", { type: "button", class: "state-key", "aria-pressed": "false", data: { state: s }, on: { click: turn } }, swatch(s), el("span", { dir: "auto" }, short(numbered(s), 40)));
  return key;
}

function sequenceLine(own, i, letters) {
  const only = document.querySelector(".sequences.one-topic")?.dataset.only;
  const marks = own.symbols.flatMap((symbol, j) => {
    const mark = token(wordText(symbol), own.states[j], own.probability[j], false);
    if (only && Number(only) === own.states[j]) mark.classList.add("chosen");
    return letters ? [mark] : [mark, " "];
  });
  const row = docs.row[i];
  const title = row === undefined ? el("span", {}, own.id) : el("a", { href: link("document", [row]), dir: "auto" }, short(own.id, 40));
  return el("li", { class: "sequence" }, el("span", { class: "sequence-id" }, title), el("span", { class: "sequence-text", dir: "auto" }, marks.length ? marks : el("span", { class: "none" }, "(empty)")));
}

route("states", renderStates, { nav: "States", when: () => Boolean(family("states")), order: 7 });
