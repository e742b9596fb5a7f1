// word.js: one word: its topics and its documents. Also the index from words to documents.
//
//   wordIndex()        {start, docs, counts}: documents of word w are docs[start[w] … start[w + 1]]; null if the page has no index
//   termNumber(text)   number of a word among docs.terms, or -1
"use strict";

let builtIndex = null;

function wordIndex() {
  if (builtIndex || !docs?.words) return builtIndex;
  const start = new Uint32Array(docs.terms.length + 1);
  const walk = (visit) =>
    docs.words.forEach((list, at) => {
      let word = 0;
      for (const [step, n] of list ?? []) visit((word += step), n, at);
    });
  walk((word) => (start[word + 1] += 1));
  for (let w = 0; w < docs.terms.length; w += 1) start[w + 1] += start[w];
  const next = start.slice();
  const found = { start, docs: new Uint32Array(start.at(-1)), counts: new Uint32Array(start.at(-1)) };
  walk((word, n, at) => {
    found.docs[next[word]] = at;
    found.counts[next[word]++] = n;
  });
  builtIndex = found;
  docs.words = null; // two million small lists would stay in memory
  return found;
}

// Number of a word among docs.terms, or -1.
function termNumber(text) {
  docs.termNumbers ??= new Map(docs.terms.map((term, i) => [wellFormed(term), i]).reverse());
  return docs.termNumbers.get(wellFormed(text)) ?? -1;
}

async function renderWord(view, [given = ""]) {
  await withDocs();
  const word = wordNumber(given);
  const term = termNumber(given);
  if (term < 0) return missing(view, `The page does not list the ${core.word_name} "${given}".`);
  const text = docs.terms[term];
  const facts = word >= 0 ? `${percent(core.words.share[word], 3)} of the tokens` : `Not among the best ${core.word_name}s of any topic.`;
  view.append(el("p", { class: "kicker" }, capital(core.word_name)), el("h1", { dir: "auto" }, short(text, 300)), el("p", { class: "facts" }, facts));
  const parts = [word >= 0 && wordTopics(word), wordDocuments(term, text)];
  view.append(el("div", { class: "split" }, parts.filter(Boolean)));
  return undefined;
}

function wordTopics(word) {
  const text = core.words.text[word];
  const phi = (k) => new Map(core.topics[k].words).get(text) ?? null;
  const rows = core.words.topics[word];
  const listed = sum(rows.map((row) => row[1]));
  const chart = figure({
    name: `word-${slug(text)}-topics`,
    title: say("Topics of the word"),
    label: `${say("Topics")} of "${short(text)}"`,
    note: say(`Share of its tokens that each topic has. Topics below 1% are left out${listed < 0.995 ? `: ${percent(1 - listed)} in all` : ""}.`),
    draw: (drawing, width) =>
      bars(drawing, width, {
        most: 1,
        rows: rows.map(([k, p]) => ({ label: `${k} ${short(topicName(k))}`, value: p, color: colorOf(k), href: link("topic", [k]), data: { topic: k }, lines: [`${k} ${topicName(k)}`, `${percent(p)} of "${text}"`, phi(k) === null ? null : `${percent(phi(k), 2)} of the topic`] })),
        axis: say("p(topic | word)"),
      }),
    rows: () => [["topic", "name", "p(topic | word)", "p(word | topic)"], ...rows.map(([k, p]) => [k, topicName(k), p, phi(k)])],
  });
  return section(say("Topics"), {}, rows.length ? chart : el("p", { class: "none" }, say("No topic has 1% of it.")));
}

function wordDocuments(term, text) {
  const index = wordIndex();
  if (!index) return section(`${capital(core.doc_name)}s`, {}, el("p", { class: "none" }, `This page has no index of ${core.word_name}s.`));
  const rows = [];
  for (let i = index.start[term]; i < index.start[term + 1]; i += 1) rows.push({ at: index.docs[i], n: index.counts[i] });
  const columns = [
    { title: capital(core.doc_name), value: (row) => docs.title[row.at], csv: (row) => docs.id[row.at], cell: (row) => docLink(row.at), class: "title-cell" },
    { title: "Count", numeric: true, value: (row) => row.n },
    { title: "Tokens", numeric: true, value: (row) => docs.tokens[row.at], class: "minor" },
    { title: say("Largest topic"), value: (row) => docs.topics[row.at][0]?.[0] ?? null, cell: (row) => largestTopic(row.at), class: "topic-cell" },
  ];
  const about = `${plural(rows.length, core.doc_name)} with it${core.documents.sampled ? `, of the ${count(core.documents.n)} in this page` : ""}.`;
  return section(`${capital(core.doc_name)}s`, { about }, table({ name: `word-${slug(text)}-documents`, caption: `Documents with ${text}`, columns, rows, sort: [1, "descending"], step: 25, empty: "None." }));
}

const largestTopic = (at) => (docs.topics[at].length ? topicLink(docs.topics[at][0][0]) : "–");

route("word", renderWord);
