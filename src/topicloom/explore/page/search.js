// search.js: search over words and documents.
//
//   search(query)      {words: [number in docs.terms, …], docs: [position, …] (the best), n: how many documents, ms}
"use strict";

const MOST_WORDS = 60;
const MOST_DOCS = 200;

// Without case, width and accents, so that "resume" finds "Résumé".
const folded = (text) => wellFormed(text).normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

let searchTexts = null;

function prepareSearch() {
  if (searchTexts) return;
  searchTexts = { terms: docs.terms.map(folded), heads: docs.title.map((title, at) => folded(title === docs.id[at] ? title : `${title}\n${docs.id[at]}`)) };
  wordIndex();
  for (let i = 0; i < 4; i += 1) search("e"); // so that the first search of the user meets compiled code
}

// All parts of the query must be found in a document: as the beginning of one of its words, or anywhere in its title or id.
function search(query) {
  const began = performance.now();
  prepareSearch();
  const parts = folded(query.slice(0, 200)).split(/\s+/u).filter(Boolean).slice(0, 8);
  if (!parts.length) return { words: [], docs: [], n: 0, ms: 0 };
  const words = matchingWords(parts);
  const scores = new Float64Array(docs.row.length);
  const found = new Uint8Array(docs.row.length);
  parts.forEach((part, i) => scorePart(part, i, scores, found));
  return { words, ...bestDocs(scores, found, parts.length), ms: performance.now() - began };
}

// Those that have all parts: how many, and the best of them. Numbers are sorted first, which is quick, and then documents down to the last
// number that is wanted.
function bestDocs(scores, found, parts) {
  const values = scores.filter((_, at) => found[at] === parts).sort();
  const least = values.length > MOST_DOCS ? values[values.length - MOST_DOCS] : -Infinity;
  const hits = [];
  for (let at = 0; at < found.length; at += 1) if (found[at] === parts && scores[at] >= least) hits.push(at);
  hits.sort((a, b) => scores[b] - scores[a] || a - b);
  return { docs: hits.slice(0, MOST_DOCS), n: values.length };
}

function matchingWords(parts) {
  const ranked = [];
  searchTexts.terms.forEach((term, w) => {
    let rank = 0;
    for (const part of parts) {
      if (term.startsWith(part)) rank = Math.max(rank, term === part ? 4 : 3);
      else if (rank < 2 && part.length > 2 && term.includes(part)) rank = 2;
    }
    if (rank) ranked.push([rank + (core.words.share[w] ?? 0), w]);
  });
  return ranked.sort((a, b) => b[0] - a[0]).map((entry) => entry[1]);
}

function scorePart(part, i, scores, found) {
  const index = wordIndex();
  const n = docs.row.length;
  const hit = (at, score) => {
    if (found[at] < i) return; // an earlier part was not found
    found[at] = i + 1;
    scores[at] += score;
  };
  if (index) {
    searchTexts.terms.forEach((term, w) => {
      if (!term.startsWith(part)) return;
      const [from, to] = [index.start[w], index.start[w + 1]];
      const rarity = Math.log(1 + n / (1 + to - from)) * (term === part ? 2 : 1);
      for (let j = from; j < to; j += 1) hit(index.docs[j], rarity * (1 + Math.log(index.counts[j])));
    });
  }
  searchTexts.heads.forEach((head, at) => head.includes(part) && hit(at, 3));
}

// -- the view --------------------------------------------------------------------------------------------------------

async function renderSearch(view, _parts, query) {
  const text = query.q ?? "";
  const box = document.getElementById("query");
  if (document.activeElement !== box) box.value = text;
  await withDocs();
  const results = el("div", { id: "results", class: "results" });
  view.append(el("h1", {}, "Search"), results);
  fillResults(results, text);
}

function fillResults(results, text) {
  const found = search(text);
  results.dataset.ms = found.ms.toFixed(2);
  results.dataset.query = text;
  const summary = text.trim() ? `${plural(found.words.length, core.word_name)} and ${plural(found.n, core.doc_name)} for “${short(text)}”, in ${found.ms.toFixed(1)} ms.` : say("Type in the box above. All parts must be in a document; the beginning of a word is enough.");
  const sampled = core.documents.sampled ? ` Searched: the ${count(core.documents.n)} of ${count(core.documents.of)} ${core.doc_name}s that are in this page.` : "";
  results.replaceChildren(el("p", { class: "lead", id: "found", dir: "auto" }, summary, sampled), ...(text.trim() ? [foundWords(found.words), foundDocs(found)] : []));
  announce(summary);
}

function foundWords(words) {
  const entry = (w) => {
    const topics = (core.words.topics[w] ?? []).slice(0, 3).map(([k, p]) => tip(el("a", { class: "chip", href: link("topic", [k]), "aria-label": `${say("Topic")} ${k} ${short(topicName(k))}` }, swatch(k), String(k)), [`${k} ${topicName(k)}`, `${percent(p)} of "${docs.terms[w]}"`]));
    return el("li", {}, wordLink(docs.terms[w]), el("span", { class: "chips" }, topics));
  };
  return section(`${capital(core.word_name)}s`, {}, words.length ? el("ul", { class: "word-hits" }, words.slice(0, MOST_WORDS).map(entry)) : el("p", { class: "none" }, "None."));
}

function foundDocs({ docs: list, n }) {
  const columns = [
    { title: capital(core.doc_name), value: (row) => docs.title[row.at], csv: (row) => docs.row[row.at], cell: (row) => docLink(row.at), class: "title-cell" },
    { title: say("Largest topic"), value: (row) => docs.topics[row.at][0]?.[0] ?? null, cell: (row) => largestTopic(row.at), class: "topic-cell" },
    { title: "Tokens", numeric: true, value: (row) => docs.tokens[row.at], class: "minor" },
  ];
  const rows = list.map((at) => ({ at, data: { row: docs.row[at] } }));
  const note = n > list.length ? `The best ${count(list.length)} of ${count(n)}.` : null;
  return section(`${capital(core.doc_name)}s`, {}, table({ name: "search", caption: "Documents found", columns, rows, step: 25, empty: "None.", note }));
}

// Typing shows results at once; the address follows, so that it can be kept.
function startSearch() {
  const box = document.getElementById("query");
  let waiting = null;
  const go = () => {
    const results = document.getElementById("results");
    if (currentAddress().name !== "search" || !results) location.hash = link("search", [], { q: box.value });
    else {
      setQuery({ q: box.value });
      fillResults(results, box.value);
    }
  };
  box.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(go, 120);
  });
  document.getElementById("find").addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(waiting);
    go();
  });
}

route("search", renderSearch, { nav: "Search", order: 20 });
