// topic.js: one topic: its words, prevalence, related topics, documents, measures.
//
//   topicWords(members)             [{word, phi, share}, …] of a topic, or of merged ones (weighted by their shares)
//   relevance(entry, lambda)        λ log φ + (1 − λ) log(φ / p(w))
//   byRelevance(words, lambda)      sorted, largest first, with .relevance
//   passage(target, at, {topic, …}) fills an element with a document's text, words coloured by topic (document.js)
"use strict";

const WORDS_SHOWN = 30;
const MANY_GROUPS = 20; // more are shown on demand

// -- words -----------------------------------------------------------------------------------------------------------

// Sievert & Shirley (2014), eq. 1.
const relevance = ({ phi, share }, lambda) => lambda * Math.log(phi) + (1 - lambda) * Math.log(phi / share);

function topicWords(members) {
  const shareOf = (word) => core.words.share[wordNumber(word)];
  if (members.length === 1) return core.topics[members[0]].words.map(([word, phi]) => ({ word, phi, share: shareOf(word) }));
  const total = sum(members.map((k) => core.topics[k].share));
  const known = members.map((k) => new Map(core.topics[k].words));
  const words = [...new Set(known.flatMap((map) => [...map.keys()]))];
  return words.map((word) => {
    const joint = members.map((k, i) => core.topics[k].share * (known[i].get(word) ?? estimate(word, k)));
    return { word, phi: sum(joint) / total, share: shareOf(word) };
  });
}

// φ of a word that is not in the topic's own list, from p(topic | word); 0 below 0.01.
function estimate(word, k) {
  const w = wordNumber(word);
  const found = core.words.topics[w].find(([topic]) => topic === k);
  return found ? (found[1] * core.words.share[w]) / core.topics[k].share : 0;
}

function byRelevance(words, lambda) {
  return words.map((entry) => ({ ...entry, relevance: relevance(entry, lambda) })).sort((a, b) => b.relevance - a.relevance);
}

function rankedWords(topic, order, lambda) {
  const words = topicWords(topic.members);
  if (order === "relevance") return byRelevance(words, lambda).slice(0, WORDS_SHOWN);
  const known = new Map(words.map((entry) => [entry.word, entry]));
  return core.topics[topic.k][order].map((word) => known.get(word)).filter(Boolean).map((entry) => ({ ...entry, relevance: relevance(entry, lambda) }));
}

const ORDERS = {
  relevance: "λ = 1: most frequent in the topic. λ = 0: most particular to it.",
  frex: "FREX: frequent and exclusive, the harmonic mean of two ranks.",
  lift: "Lift: probability in the topic over probability in the corpus.",
};

function wordsSection(topic, query) {
  let lambda = clamp(Number.parseFloat(query.lambda ?? core.lambda), 0, 1);
  if (Number.isNaN(lambda)) lambda = core.lambda;
  let order = Object.hasOwn(ORDERS, query.by ?? "") && topic.members.length === 1 ? query.by : "relevance";
  const output = el("output", { class: "lambda-value", for: "lambda" });
  const about = el("p", { class: "about" });
  const slider = el("input", { type: "range", id: "lambda", min: 0, max: 1, step: 0.01, value: lambda, "aria-label": "λ, from 0 (particular to the topic) to 1 (frequent in it)" });
  const control = el("div", { class: "lambda" }, el("label", { for: "lambda" }, "λ"), slider, output);
  const rows = () => rankedWords(topic, order, lambda);
  const chart = figure({
    name: `topic-${topic.k}-words`,
    title: "Words",
    label: `${say("Words of topic")} ${topic.members.join("+")} (${short(topic.name)})`,
    draw: (drawing, width) => drawWords(drawing, width, rows(), topic.color),
    rows: () => [[core.word_name, "in topic", "in corpus", "relevance", "lambda"], ...rows().map((entry) => [entry.word, entry.phi, entry.share, entry.relevance, lambda])],
  });
  const update = () => {
    output.textContent = lambda.toFixed(2);
    slider.setAttribute("aria-valuetext", lambda.toFixed(2));
    about.textContent = ORDERS[order];
    control.hidden = order !== "relevance";
    chart.redraw();
  };
  slider.addEventListener("input", () => {
    lambda = Number(slider.value);
    setQuery({ lambda: slider.value });
    update();
  });
  const choose = (id) => {
    order = id;
    setQuery({ lambda: lambda === core.lambda ? null : lambda, by: id === "relevance" ? null : id });
    update();
  };
  const tabs = topic.members.length === 1 && segmented("Order of words", [["relevance", "Relevance"], ["frex", "FREX"], ["lift", "Lift"]], order, choose);
  update();
  const keys = legend([[topic.color, "in this topic"], [null, "in the corpus", "mark"]]);
  const merged = topic.members.length > 1 && el("p", { class: "note" }, "Merged in view: φ is the mean of the topics, weighted by their shares.");
  return section(say("Words"), { class: "words-card", tools: tabs }, control, about, keys, chart, merged);
}

function drawWords(drawing, width, rows, color) {
  return bars(drawing, width, {
    rows: rows.map((entry) => ({
      label: entry.word,
      value: entry.phi,
      mark: entry.share,
      color,
      href: link("word", [entry.word]),
      data: { word: entry.word, relevance: entry.relevance },
      lines: [entry.word, `${percent(entry.phi, 2)} of the topic`, `${percent(entry.share, 2)} of the corpus`, `relevance ${number(entry.relevance)}`],
    })),
    axis: "share of the tokens",
    height: 21,
  });
}

// -- prevalence ------------------------------------------------------------------------------------------------------

// The sum over merged topics has no interval: those of its parts do not add up.
function prevalenceOf(data, members) {
  if (members.length === 1) return data.topics[members[0]];
  return data.labels.map((_, i) => {
    const parts = members.map((k) => data.topics[k][i]).filter(Boolean);
    return parts.length ? [sum(parts.map((part) => part[0])), null, null] : null;
  });
}

const intervalNote = (members) =>
  members.length > 1 ? "Merged topics: sums of the means, without intervals." : `Lines and bars: ${percent(core.level, 0)} intervals of the mean.`;

const prevalenceRows = (data, points) => [[data.name, "mean", "low", "high", `${core.doc_name}s`], ...data.labels.map((label, i) => [label, ...(points[i] ?? [null, null, null]), data.docs[i]])];

function timeSection(topic) {
  const data = core.times;
  const points = prevalenceOf(data, topic.members);
  const chart = figure({
    name: `topic-${topic.k}-${slug(data.name)}`,
    title: `Prevalence by ${data.name}`,
    label: `${say("Topic")} ${topic.members.join("+")} (${short(topic.name)}) by ${data.name}`,
    note: topic.members.length > 1 ? intervalNote(topic.members) : say(`Line: mean share of the topic. Band: ${percent(core.level, 0)} interval of the mean. Columns: number of documents.`),
    draw: (drawing, width) => lines(drawing, width, { x: data.values, labels: data.labels, series: [{ name: topic.name, color: topic.color, points }], counts: data.docs, countName: `${core.doc_name}s` }),
    rows: () => prevalenceRows(data, points),
  });
  return section(`By ${data.name}`, {}, chart);
}

function groupSection(topic, data) {
  const points = prevalenceOf(data, topic.members);
  const all = data.labels.map((label, i) => ({ label, point: points[i], docs: data.docs[i] })).filter((row) => row.point);
  const largest = all.toSorted((a, b) => b.point[0] - a.point[0]).slice(0, MANY_GROUPS);
  let rows = all.length > MANY_GROUPS ? largest : all;
  const more = all.length > MANY_GROUPS && button(`Show all ${count(all.length)}`, () => {
    rows = rows === all ? largest : all;
    more.textContent = rows === all ? `Show the ${MANY_GROUPS} largest` : `Show all ${count(all.length)}`;
    chart.redraw();
  }, { class: "more" });
  const chart = figure({
    name: `topic-${topic.k}-${slug(data.name)}`,
    title: `Prevalence by ${data.name}`,
    label: `${say("Topic")} ${topic.members.join("+")} (${short(topic.name)}) by ${data.name}`,
    note: topic.members.length > 1 ? intervalNote(topic.members) : say(`Dot: mean share of the topic. Line: ${percent(core.level, 0)} interval of the mean. n: number of documents.`),
    draw: (drawing, width) =>
      bars(drawing, width, {
        rows: rows.map(({ label, point, docs: n }) => ({
          label,
          value: point[0],
          low: point[1] ?? NaN,
          high: point[2] ?? NaN,
          dot: true,
          color: topic.color,
          text: `${percent(point[0])} · n = ${count(n)}`,
          lines: [label, `${percent(point[0])}${point[1] === null ? "" : ` (${range(point.slice(1))})`}`, plural(n, core.doc_name)],
        })),
      }),
    rows: () => prevalenceRows(data, points),
  });
  return section(`By ${data.name}`, { tools: more }, chart);
}

// -- beside them -----------------------------------------------------------------------------------------------------

function relatedSection(topic) {
  const related = core.topics[topic.k].related.filter(([other]) => !topic.members.includes(other));
  const columns = [
    { title: say("Topic"), value: (row) => topicName(row[0]), csv: (row) => row[0], cell: (row) => topicLink(row[0]), class: "topic-cell" },
    { title: "Similarity", numeric: true, value: (row) => row[1], cell: (row) => barCell(row[1], 1, colorOf(row[0]), number(row[1])) },
  ];
  return section(say("Related topics"), {}, table({ name: `topic-${topic.k}-related`, caption: say("Related topics"), columns, rows: related, empty: say("No other topic is near.") }));
}

function measuresSection(topic) {
  const { measures, chains } = core.topics[topic.k];
  const entries = Object.entries(measures ?? {});
  if (topic.members.length > 1 || (!entries.length && !chains)) return null;
  const rows = entries.map(([name, value]) => [capital(name), number(value), core.measures_about?.[name]]);
  if (chains) rows.unshift(["Chains", chainText(chains), say("In how many of the model's chains the topic was found.")]);
  const list = rows.map(([name, value, about]) => el("div", { class: "measure" }, el("dt", {}, name), el("dd", { class: "measure-value" }, value), about && el("dd", { class: "measure-about" }, about)));
  return section("Measures", {}, el("dl", { class: "measures" }, list));
}

function noteSection(topic) {
  const note = names.note(topic.k);
  return note ? section("Note", { class: "note-card" }, el("p", { class: "user-note", dir: "auto" }, note)) : null;
}

// -- documents -------------------------------------------------------------------------------------------------------

function documentsSection(topic) {
  const best = topic.members.flatMap((k) => core.topics[k].top_docs).sort((a, b) => b[1] - a[1]);
  const list = el("ol", { class: "passages" });
  const more = button("Show more", () => add(10), { class: "more" });
  let next = 0;
  const add = async (n) => {
    await withDocs();
    const rows = best.slice(next, next + n);
    next += n;
    more.hidden = next >= best.length;
    list.append(...rows.filter(([row]) => position(row) >= 0).map(([row, share]) => passageCard(position(row), share, topic)));
  };
  add(5);
  const sampled = core.documents.sampled ? ` The page has ${count(core.documents.n)} of ${count(core.documents.of)} ${core.doc_name}s.` : "";
  const about = best.length ? say(`Those with the largest share of the topic, best first.${sampled} Colours: topics of the words; the stronger, the surer.`) : say("No document of this topic is in the page.");
  return section(`${capital(core.doc_name)}s`, { about, class: "docs-card" }, list, more);
}

function passageCard(at, share, topic) {
  const text = el("p", { class: "passage", dir: "auto" });
  const card = el("li", { class: "passage-card" }, el("div", { class: "passage-head" }, docLink(at), el("span", { class: "passage-share" }, percent(share))), docFacts(at), text);
  excerpt(text, at, topic.members);
  return card;
}

// -- the view --------------------------------------------------------------------------------------------------------

function renderTopic(view, [given], query) {
  const k = /^\d+$/.test(given ?? "") ? Number(given) : -1;
  if (!core.topics[k]) return missing(view, `This model has topics 0 to ${core.topics.length - 1}; there is no topic ${given}.`);
  const alone = names.group(k)[0] !== k;
  const topic = alone ? { ...viewTopic(k), ...core.topics[k], k, members: [k], name: topicName(k), color: colorOf(k) } : viewTopic(k);
  view.append(topicHead(topic, alone));
  const side = [noteSection(topic), core.times && timeSection(topic), ...(core.groups ?? []).map((group) => groupSection(topic, group)), relatedSection(topic), measuresSection(topic)];
  view.append(el("div", { class: "topic-grid" }, wordsSection(topic, query), el("div", { class: "stack" }, side), documentsSection(topic)));
  return undefined;
}

function topicHead(topic, alone) {
  const order = core.topics.map((_, k) => k);
  const step = (by) => order[(topic.k + by + order.length) % order.length];
  const facts = [
    `${percent(topic.share)} of the tokens${topic.interval ? ` (${percent(core.level, 0)} interval ${range(topic.interval)})` : ""}`,
    `${say("largest topic of")} ${plural(topic.docs, core.doc_name)}`,
    core.topics[topic.k].chains && topic.members.length === 1 ? `found in ${chainText(core.topics[topic.k].chains)} chains` : null,
  ].filter(Boolean);
  return el(
    "header",
    { class: "topic-head", style: { "--topic": topic.color } },
    el("div", { class: "head-row" },
      el("p", { class: "kicker" }, `${say("Topic")} ${topic.members.join(" + ")}`),
      el("span", { class: "steps" },
        el("a", { href: link("topic", [step(-1)]), id: "previous", "aria-label": "Previous topic", "aria-keyshortcuts": "[" }, "←"),
        el("a", { href: link("topic", [step(1)]), id: "next", "aria-label": "Next topic", "aria-keyshortcuts": "]" }, "→"))),
    el("h1", { dir: "auto" }, short(topic.name, 300)),
    el("p", { class: "facts" }, facts.join(" · ")),
    alone && el("p", { class: "notice" }, say("In the overview this topic is merged into "), topicLink(names.group(topic.k)[0]), "."),
    topic.hidden && el("p", { class: "notice" }, say("This topic is hidden in the overview.")),
    topicActions(topic.k),
  );
}

route("topic", renderTopic);
