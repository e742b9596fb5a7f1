// overview.js: the map of topics, the table of topics, the tree.
"use strict";

let showHidden = false;

function renderOverview(view) {
  const topics = viewTopics({ hidden: showHidden });
  const map = topicMap(topics);
  const hidden = core.topics.filter((_, k) => names.isHidden(k)).length;
  fill(view, {}, [
    el("h1", { dir: "auto" }, short(core.title, 300)),
    el("p", { class: "lead" }, `${core.kind} with ${plural(core.topics.length, say("topic"))}, fitted to ${plural(core.n_docs, core.doc_name)}.`),
    tiles(),
    hidden > 0 && hiddenNotice(hidden),
    core.topics.length > 1 && el("div", { class: "split wide-left" }, section(say("Map of topics"), { class: "map-card" }, map), section(say("Tree of topics"), { class: "tree-card" }, topicTree(topics))),
    topicsSection(topics, map.highlight),
  ]);
}

function tiles() {
  const { n, of, sampled } = core.documents;
  const entries = [
    [`${core.doc_name}s`, count(core.n_docs), sampled ? `${count(n)} of them are in this page` : null],
    [`${core.word_name}s`, count(core.n_words), "in the vocabulary"],
    ["tokens", count(core.n_tokens), `${number(core.n_tokens / Math.max(1, core.n_docs))} per ${core.doc_name}`],
    [say("topics"), count(core.topics.length), core.verdict ? null : core.kind],
  ];
  const list = entries.map(([name, value, note]) => el("div", { class: "tile" }, el("dt", {}, name), el("dd", { class: "tile-value" }, value), note && el("dd", { class: "tile-note" }, note)));
  const cut = core.verdict && short(core.verdict, 180);
  const verdict = cut && el("div", { class: "tile tile-wide" }, el("dt", {}, "convergence"), el("dd", { class: "tile-text" }, cut, cut !== core.verdict && [" ", el("a", { href: link("about") }, "More")]));
  return el("dl", { class: "tiles" }, list, verdict);
}

const shareNote = () => {
  const known = core.topics.some((topic) => topic.interval);
  return say(`Share: of all tokens${known ? `, with ${percent(core.level, 0)} intervals` : ""}. Documents: those whose largest topic it is.`);
};

function hiddenNotice(n) {
  const turn = () => {
    showHidden = !showHidden;
    show();
  };
  return el("p", { class: "notice" }, `${plural(n, say("topic is"), say("topics are"))} hidden in this browser. `, button(showHidden ? "Hide again" : "Show", turn, { class: "link" }));
}

// -- table -----------------------------------------------------------------------------------------------------------

const FEW_MEASURES = 3;
let allMeasures = false;

function topicsSection(topics, onHover) {
  const n = Object.keys(core.topics[0]?.measures ?? {}).length;
  const listing = el("div", {}, topicTable(topics, onHover));
  const box = el("input", { type: "checkbox", id: "all-measures", checked: allMeasures });
  box.addEventListener("change", () => {
    allMeasures = box.checked;
    listing.replaceChildren(topicTable(topics, onHover));
  });
  const tools = n > FEW_MEASURES && el("label", { class: "switch" }, box, `All ${n} measures`);
  return section(say("Topics"), { about: shareNote(), tools }, listing);
}

function topicTable(topics, onHover) {
  const most = Math.max(...topics.map((topic) => topic.share));
  const shownMeasures = Object.keys(core.topics[0]?.measures ?? {}).slice(0, allMeasures ? undefined : FEW_MEASURES);
  const chains = core.topics.some((topic) => topic.chains);
  const words = (topic) => byRelevance(topicWords(topic.members), core.lambda).slice(0, 8).map((entry) => entry.word);
  const columns = [
    { title: say("Topic"), value: (topic) => topic.k, csv: (topic) => topic.members.join("+"), cell: (topic) => topicLink(topic.k), class: "topic-cell" },
    { title: say("Words"), value: (topic) => words(topic).join(" "), cell: (topic) => wordList(words(topic)), class: "words-cell" },
    { title: "Share", numeric: true, value: (topic) => topic.share, cell: shareCell(most), class: "share-cell" },
    { title: `${capital(core.doc_name)}s`, numeric: true, value: (topic) => topic.docs },
    ...(chains ? [{ title: "Chains", numeric: true, value: (topic) => single(topic)?.chains?.[0] ?? null, cell: (topic) => chainText(single(topic)?.chains), about: "In how many chains the topic was found", class: "measure-cell" }] : []),
    ...shownMeasures.map((name) => {
      const format = columnFormat(core.topics.map((topic) => topic.measures[name]));
      const value = (topic) => single(topic)?.measures[name] ?? null;
      return { title: capital(name), numeric: true, value, cell: (topic) => format(value(topic)), about: core.measures_about?.[name], class: "measure-cell" };
    }),
  ];
  return table({ name: "topics", caption: say("Topics"), columns, rows: topics.map((topic) => ({ ...topic, data: { topic: topic.k } })), sort: [2, "descending"], step: 200, onHover });
}

const single = (topic) => (topic.members.length === 1 ? core.topics[topic.k] : null);
const chainText = (chains) => (chains ? `${chains[0]} of ${chains[1]}` : "–");
const wordList = (words) => words.map((word, i) => [i ? " " : "", wordLink(word, { class: "word-link plain" })]);

const shareCell = (most) => (topic) => {
  const cell = barCell(topic.share, most, topic.color);
  return topic.interval ? tip(cell, [percent(topic.share), `${percent(core.level, 0)} interval: ${range(topic.interval)}`]) : cell;
};

// -- map -------------------------------------------------------------------------------------------------------------

function topicMap(topics) {
  const frame = { zoom: 1, x: 0, y: 0 };
  const circles = new Map();
  const turn = (factor) => () => {
    frame.zoom = clamp(frame.zoom * factor, 1, 40);
    if (frame.zoom === 1) [frame.x, frame.y] = [0, 0];
    result.redraw();
  };
  const tools = el("span", { class: "zoom" }, button("−", turn(1 / 1.5), { "aria-label": "Zoom out", class: "small" }), button("+", turn(1.5), { "aria-label": "Zoom in", class: "small" }));
  const explained = core.map.explained;
  const over = core.map.n_words < core.n_words ? ` over ${count(core.map.n_words)} words` : "";
  const note = say(`Distance: ${core.map.measure}${over}. The two axes show ${percent(explained[0] + explained[1], 0)} of it. Areas: shares of the tokens. Drag to move; arrow keys go from topic to topic.`);
  const result = figure({
    name: "map",
    title: say("Map of topics"),
    note,
    tools,
    rows: () => [["topic", "name", "share", "x", "y"], ...topics.map((topic) => [topic.members.join("+"), topic.name, topic.share, topic.x, topic.y])],
    draw: (drawing, width) => drawMap(drawing, width, { topics, frame, circles, redraw: () => result.redraw() }),
  });
  result.highlight = (topic) => circles.forEach((circle, k) => circle.classList.toggle("lit", k === topic?.k));
  return result;
}

function drawMap(drawing, width, { topics, frame, circles, redraw }) {
  const height = clamp(width * 0.78, 300, 560);
  const size = Math.min(width, height);
  const radius = (share) => Math.max(4, Math.sqrt(share) * size * 0.26 * Math.sqrt(Math.min(frame.zoom, 3)));
  const biggest = Math.max(...topics.map((topic) => radius(topic.share)), 4);
  const extent = (axis) => [Math.min(...topics.map((topic) => topic[axis])), Math.max(...topics.map((topic) => topic[axis]))];
  const [[left, right], [bottom, top]] = [extent("x"), extent("y")];
  const margin = Math.min(biggest, size * 0.2) + 8;
  // One scale for both axes: distances are what the map shows.
  const unit = frame.zoom * Math.min((width - 2 * margin) / (right - left || 1), (height - 2 * margin) / (top - bottom || 1));
  const places = topics.map((topic) => ({
    topic,
    r: radius(topic.share),
    cx: width / 2 + frame.x + (topic.x - (left + right) / 2) * unit,
    cy: height / 2 + frame.y - (topic.y - (bottom + top) / 2) * unit,
  }));
  places.sort((a, b) => b.r - a.r);
  circles.clear();
  const clip = svg("clipPath", { id: "map-clip" }, svg("rect", { width, height }));
  const ground = svg("rect", { class: "map-ground", width, height, rx: 6 });
  const layer = svg("g", { "clip-path": "url(#map-clip)" });
  const centre = [width / 2 + frame.x - ((left + right) / 2) * unit, height / 2 + frame.y + ((bottom + top) / 2) * unit];
  layer.append(svg("line", { class: "grid", x1: centre[0], x2: centre[0], y1: 0, y2: height }), svg("line", { class: "grid", x1: 0, x2: width, y1: centre[1], y2: centre[1] }));
  const marks = places.map((place, i) => mapCircle(place, i === 0));
  marks.forEach((mark, i) => circles.set(places[i].topic.k, mark));
  layer.append(...marks, ...mapLabels(places, width, height));
  layer.addEventListener("keydown", (event) => moveOnMap(event, places, marks));
  drawing.append(clip, ground, layer);
  dragMap(drawing, frame, redraw);
  return height;
}

function mapCircle({ topic, cx, cy, r }, first) {
  const words = () => byRelevance(topicWords(topic.members), core.lambda).slice(0, 10).map((entry) => entry.word).join(" ");
  const mark = svg(
    "a",
    { href: link("topic", [topic.k]), class: `map-topic${topic.hidden ? " dim" : ""}`, tabindex: first ? 0 : -1, "aria-label": `${say("Topic")} ${topic.members.join(" and ")}: ${short(topic.name)}, ${percent(topic.share)}`, data: { topic: topic.k } },
    svg("circle", { cx, cy, r, fill: topic.color, stroke: topic.color }),
    r > 9 && svg("text", { class: "map-number", x: cx, y: cy + 4, "text-anchor": "middle" }, topic.members.join("+")),
  );
  return tip(mark, () => [`${topic.members.join(" + ")} · ${topic.name}`, `${percent(topic.share)}${topic.interval ? ` (${range(topic.interval)})` : ""} of the tokens`, words()]);
}

// Names beside their circles, largest topics first; a name for which there is no room is left to the tooltip.
function mapLabels(places, width, height) {
  const taken = places.map(({ cx, cy, r }) => [cx - r * 0.75, cy - r * 0.75, cx + r * 0.75, cy + r * 0.75]);
  const clash = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
  const labels = [];
  places.forEach(({ topic, cx, cy, r }, own) => {
    const text = fitted(topic.name, 150, SMALL);
    const w = textWidth(text, SMALL) + 4;
    const spots = [[cx - w / 2, cy + r + 2], [cx - w / 2, cy - r - 16], [cx + r + 3, cy - 7], [cx - r - 3 - w, cy - 7]];
    const free = spots.find(([x, y]) => {
      const box = [x, y, x + w, y + 14];
      return x > 2 && y > 2 && x + w < width - 2 && y + 14 < height - 2 && !taken.some((other, i) => i !== own && clash(box, other));
    });
    if (!free) return;
    taken.push([free[0], free[1], free[0] + w, free[1] + 14]);
    labels.push(svg("text", { class: "map-label", x: free[0] + w / 2, y: free[1] + 11, "text-anchor": "middle" }, text));
  });
  return labels;
}

// An arrow key goes to the topic that is nearest in its direction.
function moveOnMap(event, places, marks) {
  const directions = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const direction = directions[event.key];
  const from = marks.indexOf(event.target.closest(".map-topic"));
  if (!direction || from < 0) return;
  event.preventDefault();
  const cost = places.map(({ cx, cy }) => {
    const [dx, dy] = [cx - places[from].cx, cy - places[from].cy];
    const ahead = dx * direction[0] + dy * direction[1];
    const aside = Math.abs(dx * direction[1]) + Math.abs(dy * direction[0]);
    return ahead > 0.5 ? ahead + 2 * aside : Infinity;
  });
  const to = cost.indexOf(Math.min(...cost));
  if (cost[to] === Infinity) return;
  marks[from].setAttribute("tabindex", -1);
  marks[to].setAttribute("tabindex", 0);
  marks[to].focus();
}

function dragMap(drawing, frame, redraw) {
  let from = null;
  drawing.onpointerdown = (event) => {
    if (event.pointerType === "touch" && frame.zoom === 1) return; // a finger scrolls the page
    from = { x: event.clientX - frame.x, y: event.clientY - frame.y, moved: false };
  };
  drawing.onpointermove = (event) => {
    if (!from || !event.buttons) return;
    const [x, y] = [event.clientX - from.x, event.clientY - from.y];
    if (!from.moved && Math.hypot(x - frame.x, y - frame.y) < 4) return;
    from.moved = true;
    [frame.x, frame.y] = [x, y];
    redraw();
  };
  drawing.onpointerup = () => setTimeout(() => (from = null));
  drawing.onclick = (event) => from?.moved && event.preventDefault();
  drawing.ondragstart = (event) => event.preventDefault();
  drawing.onwheel = (event) => {
    if (!event.ctrlKey && !event.metaKey) return; // the plain wheel scrolls the page
    event.preventDefault();
    frame.zoom = clamp(frame.zoom * (event.deltaY < 0 ? 1.15 : 1 / 1.15), 1, 40);
    redraw();
  };
}

// -- tree ------------------------------------------------------------------------------------------------------------

// Leaves are topics; a row [left, right, height, size] of core.tree joins two nodes, numbered on after the topics.
function topicTree(topics) {
  const shown = new Set(topics.flatMap((topic) => topic.members));
  const result = figure({
    name: "tree",
    title: say("Tree of topics"),
    note: say("Topics that join further left are less alike. Scale: distance at which they join."),
    rows: () => [["left", "right", "height", "size"], ...core.tree],
    draw: (drawing, width) => drawTree(drawing, width, shown),
  });
  return el("div", { class: "tree-scroll" }, result);
}

function drawTree(drawing, width, shown) {
  const n = core.topics.length;
  const line = 20;
  const most = Math.max(1e-12, ...core.tree.map((row) => row[2]));
  const label = clamp(width * 0.5, 90, 240);
  // Joins are often far from 0 and near each other: the scale begins shortly below the first.
  const least = Math.min(most, ...core.tree.map((row) => row[2]));
  const low = Math.max(0, least - 0.2 * (most - least || most));
  const x = scale([low, most], [width - label - 10, 12]);
  let leaves = 0;
  const nodes = [];
  const place = (node) => {
    const stack = [node]; // deep trees would overflow a recursion
    while (stack.length) {
      const at = stack.at(-1);
      if (at < n) {
        nodes[at] = { x: x(low), y: shown.has(at) ? 12 + line * leaves++ : null, topic: at };
        stack.pop();
        continue;
      }
      const [left, right, height] = core.tree[at - n];
      if (!nodes[left]) stack.push(left);
      else if (!nodes[right]) stack.push(right);
      else {
        const known = [nodes[left], nodes[right]].filter((child) => child.y !== null);
        nodes[at] = { x: x(height), y: known.length ? sum(known.map((child) => child.y)) / known.length : null };
        if (known.length) drawing.append(treeJoin(nodes[at], known));
        stack.pop();
      }
    }
  };
  if (core.tree.length) place(n + core.tree.length - 1);
  else core.topics.forEach((_, k) => place(k));
  for (const node of nodes.filter((one) => one?.topic !== undefined && one.y !== null)) drawing.append(treeLeaf(node, label));
  const bottom = 8 + line * leaves;
  for (const tick of x.ticks(5)) drawing.append(svg("line", { class: "axis", x1: x(tick), x2: x(tick), y1: bottom, y2: bottom + 4 }), svg("text", { class: "tick", x: x(tick), y: bottom + 17, "text-anchor": "middle" }, number(tick)));
  drawing.append(svg("line", { class: "axis", x1: x(most), x2: x(low), y1: bottom, y2: bottom }));
  return bottom + 24;
}

const treeJoin = (node, children) => svg("path", { class: "branch", d: children.map((child) => `M${child.x} ${child.y}H${node.x}V${node.y}`).join("") });

function treeLeaf({ x, y, topic }, room) {
  const text = `${topic} ${short(topicName(topic))}`;
  const leaf = svg(
    "a",
    { href: link("topic", [topic]), class: "leaf", "aria-label": text },
    svg("circle", { cx: x + 5, cy: y, r: 4.5, fill: colorOf(topic) }),
    svg("text", { class: "bar-label", x: x + 15, y: y + 4 }, fitted(text, room - 10)),
  );
  return tip(leaf, [text, percent(core.topics[topic].share)]);
}

route("", renderOverview, { nav: "Overview", order: 0 });
