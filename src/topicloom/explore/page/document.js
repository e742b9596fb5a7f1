// document.js: one document, and the table of documents.
//
//   docFacts(at)                          a line of what is known of a document
//   excerpt(target, at, members)          the passage of a document in which topics are strongest, coloured
//   colouredText(target, entry, options)  a document's text with its words coloured by topic; options: {from, to, own}
"use strict";

const PART = 20000; // characters that are shown at once
const EXCERPT = 420;

// -- texts with colours ----------------------------------------------------------------------------------------------

// Tokens with places of their own: start is relative to the end of the one before.
function placedTokens(entry) {
  if (entry.placed) return entry.placed;
  let end = 0;
  entry.placed = entry.tokens.map(([start, length, topic, share]) => {
    const from = end + start;
    end = from + length;
    return { from, to: end, topic, share: share / 15 };
  });
  return entry.placed;
}

function token(text, topic, share, own) {
  const mark = el("span", { class: own ? "token own" : "token", data: { topic }, style: { "--topic": colorOf(topic), "--shade": `${Math.round(12 + 46 * share)}%` } }, text);
  mark.token = { topic, share };
  return mark;
}

function colouredText(target, entry, { from = 0, to = Infinity, own = [] } = {}) {
  const nodes = [];
  if (entry.text === null) {
    for (const [word, topic, share] of entry.tokens.slice(from, to)) nodes.push(token(word, topic, share / 15, own.includes(topic)), " ");
    target.append(...nodes);
    return;
  }
  let at = from;
  const end = Math.min(to, entry.text.length);
  for (const mark of placedTokens(entry)) {
    if (mark.from < at) continue;
    if (mark.to > end) break;
    if (mark.from > at) nodes.push(visible(entry.text.slice(at, mark.from)));
    nodes.push(token(entry.text.slice(mark.from, mark.to), mark.topic, mark.share, own.includes(mark.topic)));
    at = mark.to;
  }
  if (at < end) nodes.push(visible(entry.text.slice(at, end)));
  target.append(...nodes);
}

// One listener for all words of a text.
function tokenTips(target) {
  const box = document.getElementById("tip");
  target.addEventListener("pointerover", (event) => {
    const given = event.target.token;
    box.hidden = !given;
    if (!given) return;
    const push = Number.isFinite(given.push) ? `, weight ${signedNumber(given.push)}` : "";
    box.replaceChildren(el("div", { class: "tip-head", dir: "auto" }, `${given.topic} ${topicName(given.topic)}`), el("div", {}, `p = ${given.share.toFixed(2)}${push}`));
    const at = event.target.getBoundingClientRect();
    const { width, height } = box.getBoundingClientRect();
    box.style.left = `${clamp(at.left, 8, Math.max(8, innerWidth - width - 8))}px`;
    box.style.top = `${at.top > height + 12 ? at.top - height - 6 : at.bottom + 6}px`;
  });
  target.addEventListener("pointerleave", () => (box.hidden = true));
  target.addEventListener("click", (event) => {
    if (!event.target.token || !getSelection().isCollapsed) return;
    const given = event.target.textContent;
    const known = [given, given.toLowerCase()].find((word) => termNumber(word) >= 0);
    if (known !== undefined) location.hash = link("word", [known]);
  });
}

async function excerpt(target, at, members) {
  const entry = await textOf(at);
  if (!entry) return target.append(el("span", { class: "none" }, "The text is not in this page."));
  if (entry.text === null) colouredText(target, entry, { to: 60, own: members });
  else {
    const [from, to] = bestWindow(entry, members);
    if (from > 0) target.append("… ");
    colouredText(target, entry, { from, to, own: members });
    if (to < entry.text.length || entry.cut) target.append(" …");
  }
  if (!entry.text && !entry.tokens.length) target.append(el("span", { class: "none" }, "(empty)"));
  return tokenTips(target);
}

// The window of EXCERPT characters with the most of the given topics, moved to where tokens begin and end.
function bestWindow(entry, members) {
  const marks = placedTokens(entry);
  if (entry.text.length <= EXCERPT * 1.2 || !marks.length) return [0, Math.min(entry.text.length, EXCERPT * 1.2)];
  const weight = (mark) => (members.includes(mark.topic) ? mark.share : 0);
  let [first, total, best, from, to] = [0, 0, -1, 0, 0];
  marks.forEach((mark, last) => {
    total += weight(mark);
    while (mark.to - marks[first].from > EXCERPT && first < last) total -= weight(marks[first++]);
    if (total > best + 1e-9) [best, from, to] = [total, marks[first].from, Math.max(mark.to, Math.min(entry.text.length, marks[first].from + EXCERPT))];
  });
  const inside = marks.find((mark) => mark.from < to && mark.to > to);
  return [from < 60 ? 0 : from, inside ? inside.to : to];
}

// -- one document ----------------------------------------------------------------------------------------------------

function docFacts(at) {
  const facts = [["time", core.times?.name ?? "time"], ["group", "group"], ["labels", "labels"], ["response", "response"]]
    .filter(([key]) => docs[key] && docs[key][at] !== null && docs[key][at] !== undefined)
    .map(([key, name]) => `${name} ${[docs[key][at]].flat().join(", ")}`.slice(0, 300));
  const parts = [`${core.doc_name} ${docs.row[at]}`, docs.id[at] !== String(docs.row[at]) && docs.id[at] !== docs.title[at] ? docs.id[at] : null, plural(docs.tokens[at], "token"), ...facts];
  return el("p", { class: "facts", dir: "auto" }, parts.filter(Boolean).join(" · "));
}

async function renderDocument(view, [given]) {
  await withDocs();
  const at = position(Number(given));
  if (at < 0) {
    const why = core.documents.sampled ? ` The page has ${count(core.documents.n)} of ${count(core.documents.of)}.` : "";
    return missing(view, `This page does not have ${core.doc_name} ${given}.${why}`);
  }
  const entry = await textOf(at);
  view.append(el("p", { class: "kicker" }, capital(core.doc_name)), el("h1", { dir: "auto" }, short(docTitle(at), 300)), docFacts(at));
  const body = textSection(at, entry);
  view.append(el("div", { class: "split wide-left" }, el("div", { class: "stack" }, body), el("div", { class: "stack" }, topicsOfDocument(at, body), neighboursSection(at))));
  return undefined;
}

function topicsOfDocument(at, body) {
  const rows = docs.topics[at];
  const listed = sum(rows.map((row) => row[1]));
  const chart = figure({
    name: `document-${docs.row[at]}-topics`,
    title: say("Topics of the document"),
    label: `${say("Topics of document")} ${docs.row[at]}`,
    note: say(`Topics below 1% are left out${listed < 0.995 ? `: ${percent(1 - listed)} in all` : ""}.`),
    draw: (drawing, width) =>
      bars(drawing, width, { rows: rows.map(([k, theta]) => ({ label: `${k} ${short(topicName(k))}`, value: theta, color: colorOf(k), href: link("topic", [k]), data: { topic: k }, lines: [`${k} ${topicName(k)}`, `${percent(theta)} of the ${core.doc_name}`] })) }),
    rows: () => [["topic", "name", "share"], ...rows.map(([k, theta]) => [k, topicName(k), theta])],
  });
  const only = el("select", { "aria-label": say("Colour the words of"), on: { change: () => body.only(only.value) } }, el("option", { value: "" }, say("all topics")), rows.map(([k]) => el("option", { value: k }, `${k} ${short(topicName(k), 60)}`)));
  return section(say("Topics"), {}, chart, el("label", { class: "field inline" }, say("Colour the words of"), only));
}

function textSection(at, entry) {
  const text = el("div", { class: "document-text coloured", dir: "auto", id: "text" });
  const note = el("p", { class: "note", id: "speaking-note", hidden: true });
  const speaking = entry && speakingPicker(text, note);
  const result = section("Text", { class: "text-card", tools: entry && el("span", { class: "pickers" }, speaking?.field, colourSwitch(text)) }, text, note);
  if (!entry) {
    text.append(el("p", { class: "none" }, "The text is not in this page."));
    result.only = () => {};
    return result;
  }
  const whole = entry.text === null ? entry.tokens.length : entry.text.length;
  const part = entry.text === null ? PART / 5 : PART;
  const more = button("", () => add(), { class: "more" });
  let shownTo = 0;
  const add = () => {
    const to = Math.min(whole, cutAt(entry, shownTo + part));
    colouredText(text, entry, { from: shownTo, to });
    speaking?.paint();
    shownTo = to;
    more.hidden = shownTo >= whole;
    more.textContent = `Show more (${count(whole - shownTo)} ${entry.text === null ? "tokens" : "characters"} left)`;
  };
  add();
  tokenTips(text);
  result.append(more);
  if (entry.text === null) result.append(el("p", { class: "note" }, `The page has no texts: these are the ${core.doc_name}'s ${core.word_name}s, in order.`));
  if (entry.cut) result.append(el("p", { class: "note" }, `The text is cut after ${count(core.documents.cut)} characters.`));
  if (!whole) text.append(el("p", { class: "none" }, "(empty)"));
  result.only = (k) => {
    text.classList.toggle("one-topic", k !== "");
    text.querySelectorAll(".token").forEach((mark) => mark.classList.toggle("chosen", mark.dataset.topic === k));
  };
  return result;
}

// A part ends at the end of a token, never within one.
function cutAt(entry, to) {
  if (entry.text === null) return to;
  const inside = placedTokens(entry).find((mark) => mark.from < to && mark.to > to);
  return inside ? inside.to : to;
}

function colourSwitch(text) {
  const box = el("input", { type: "checkbox", id: "colours", checked: true, on: { change: () => text.classList.toggle("coloured", box.checked) } });
  return el("label", { class: "switch" }, box, say("Colour words by topic"));
}

// -- neighbours ------------------------------------------------------------------------------------------------------

// Bhattacharyya coefficient of the topics' shares: 1 if they are equal.
function neighbours(at, n = 10) {
  const own = new Float64Array(core.topics.length);
  for (const [k, theta] of docs.topics[at]) own[k] = Math.sqrt(theta);
  const scores = docs.topics.map((topics, other) => [other, other === at ? -1 : topics.reduce((total, [k, theta]) => total + own[k] * Math.sqrt(theta), 0)]);
  return scores.sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, n).filter(([, score]) => score > 0);
}

function neighboursSection(at) {
  const columns = [
    { title: capital(core.doc_name), value: (row) => docs.title[row[0]], csv: (row) => docs.row[row[0]], cell: (row) => docLink(row[0]), class: "title-cell" },
    { title: "Similarity", numeric: true, value: (row) => row[1], cell: (row) => number(row[1]) },
  ];
  const about = say("By topics: Bhattacharyya coefficient of the shares, 1 if they are equal.");
  return section("Neighbours", { about }, table({ name: `document-${docs.row[at]}-neighbours`, caption: "Neighbours", columns, rows: neighbours(at), empty: "None in this page." }));
}

// -- table of documents ----------------------------------------------------------------------------------------------

async function renderDocuments(view, _parts, query) {
  await withDocs();
  const all = docs.row.map((row, at) => ({ at, row, data: { row } }));
  const topic = /^\d+$/.test(query.topic ?? "") && core.topics[Number(query.topic)] ? Number(query.topic) : null;
  const theta = (row) => (topic === null ? (docs.topics[row.at][0]?.[1] ?? null) : (docs.topics[row.at].find(([k]) => k === topic)?.[1] ?? null));
  const rows = topic === null ? all : all.filter((row) => theta(row) !== null);
  const optional = [["time", capital(core.times?.name ?? "time")], ["group", "Group"], ["labels", "Labels"], ["response", "Response"]].filter(([key]) => docs[key]);
  const columns = [
    { title: "Number", numeric: true, value: (row) => row.row, cell: (row) => String(row.row) },
    { title: "Title", value: (row) => docs.title[row.at], cell: (row) => docLink(row.at), class: "title-cell" },
    { title: say(topic === null ? "Largest topic" : "Topic"), value: (row) => topic ?? docs.topics[row.at][0]?.[0] ?? null, cell: (row) => (topic === null ? largestTopic(row.at) : topicLink(topic)), class: "topic-cell" },
    { title: "Share", numeric: true, value: theta, cell: (row) => (theta(row) === null ? "–" : barCell(theta(row), 1, colorOf(topic ?? docs.topics[row.at][0][0]))), class: "share-cell" },
    { title: "Tokens", numeric: true, value: (row) => docs.tokens[row.at], class: "minor" },
    ...optional.map(([key, title]) => ({ title, value: (row) => (Array.isArray(docs[key][row.at]) ? docs[key][row.at].join(", ") : docs[key][row.at]), cell: (row) => [docs[key][row.at] ?? "–"].flat().join(", ") })),
  ];
  const list = table({ name: "documents", caption: `${capital(core.doc_name)}s`, columns, rows, sort: topic === null ? [0, "ascending"] : [3, "descending"], empty: "None." });
  const choose = el("select", { id: "by-topic", on: { change: () => (location.hash = link("documents", [], { topic: choose.value })) } }, el("option", { value: "" }, say("all topics")), core.topics.map((_, k) => el("option", { value: k, selected: k === topic }, `${k} ${short(topicName(k), 60)}`)));
  const { n, of, sampled } = core.documents;
  const about = sampled ? say(`A sample: ${count(n)} of ${count(of)} documents are in this page. It has each topic's best documents and others evenly from all groups, times and topics.`) : `All ${count(n)} ${core.doc_name}s.`;
  view.append(el("h1", {}, `${capital(core.doc_name)}s`), el("p", { class: "lead", id: "sample" }, about), section(topic === null ? say("All topics") : topicName(topic), { tools: el("label", { class: "field inline" }, say("Topic"), choose) }, list));
}

route("document", renderDocument);
route("documents", renderDocuments, { nav: () => `${capital(core.doc_name)}s`, when: () => core.documents.n > 0, order: 10 });
