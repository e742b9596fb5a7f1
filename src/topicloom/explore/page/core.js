// core.js: data, state, names, routes. First of the scripts; all of them are one module and share one scope.
//
//   unpack(id)                     reads a gzip + base64 block of the page: Promise of the parsed JSON
//   core, docs                     the blocks "data-core" and "data-docs" (docs is null until it is read; see withDocs)
//   withDocs()                     Promise of docs
//   textOf(position)               Promise of {text, cut, tokens} of a document in the page, or null
//   docTitle(at)                   what a document is called
//   position(row)                  where a document of the corpus is in docs, or -1
//   wordNumber(text)               number of a word in core.words, or -1; wordText(number) the other way round
//   docs.terms                     texts of all words that docs.words numbers
//   on(event, f), emit(event, …)   events: "names" (renamed, hidden, merged, annotated), "theme"
//
//   names                          what the user gave: names.of(k), .note(k), .isHidden(k), .group(k); .rename, .annotate, .hide, .merge,
//                                  .split, .clear, .toJSON, .fromJSON
//   topicName(k)                   the user's name, else the model's, else the label
//   viewTopics({hidden})           topics as shown: merged ones are one entry {k, members, share, interval, docs, x, y, color, name}
//   viewTopic(k)                   that entry of one topic
//   colorOf(k)                     "#rrggbb"
//
//   route(name, render, options)   registers a view; render(view, parts, query) fills the element `view` and must add one <h1>.
//                                  It may be async. options: {nav: "Title" or () => "Title", when: () => boolean, order: number}
//   link(name, parts, query)       "#/topic/3?lambda=0.4"
//   setQuery(query)                replaces the query of the current address without a new view
//   show()                         renders the current address again
//
//   percent(x, digits), number(x), count(n), range([low, high]), plural(n, "word")   numbers as shown
//   columnFormat(values)           a format for numbers of one column
//   short(text, most)              a long name, cut
//   say("Topics of the word")      with the model's own names for topic, word and document; capital(text)
"use strict";

let core = null;
let docs = null;
let docsPromise = null;

// -- reading ---------------------------------------------------------------------------------------------------------

async function unpack(id) {
  const block = document.getElementById(id);
  if (!block) throw new Error(`The page has no block "${id}".`);
  if (typeof DecompressionStream !== "function") {
    throw new Error("This browser cannot unpack the page's data. Use a version of Chrome, Edge, Firefox or Safari from 2023 or later.");
  }
  const bytes = fromBase64(block.textContent.trim());
  block.textContent = ""; // the parsed data are kept; the packed ones are not needed twice
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

function fromBase64(text) {
  if (typeof Uint8Array.fromBase64 === "function") return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i += 1) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function readCore() {
  core = await unpack("data-core");
  core.words.number = new Map(core.words.text.map((text, i) => [wellFormed(text), i]));
  for (const topic of core.topics) {
    topic.words = topic.words.map(([word, phi]) => [wordText(word), phi]);
    topic.frex = topic.frex.map(wordText);
    topic.lift = topic.lift.map(wordText);
  }
  names.load();
}

function withDocs() {
  docsPromise ??= unpack("data-docs").then((block) => {
    docs = block;
    docs.position = new Map(docs.row.map((row, i) => [row, i]));
    docs.terms = core.words.text.concat(docs.vocabulary ?? []);
    return docs;
  });
  return docsPromise;
}

const textBlocks = new Map();

async function textOf(at) {
  const size = core.documents.per_block;
  const i = Math.floor(at / size);
  const id = `data-texts-${i}`;
  if (!size || (!textBlocks.has(i) && !document.getElementById(id))) return null;
  if (!textBlocks.has(i)) textBlocks.set(i, unpack(id));
  return (await textBlocks.get(i)).docs[at % size] ?? null;
}

// What a document is called: its title, or its number if it has none but that.
function docTitle(at) {
  const title = docs.title[at] || docs.id[at];
  return !title || title === String(docs.row[at]) ? `${capital(core.doc_name)} ${docs.row[at]}` : title;
}

const position = (row) => docs.position.get(row) ?? -1;
const wordText = (word) => (typeof word === "number" ? core.words.text[word] : word);
const wordNumber = (text) => core.words.number.get(wellFormed(text)) ?? -1;

// Half of a surrogate pair cannot be part of an address; it is shown as U+FFFD everywhere.
function wellFormed(text) {
  return text.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd");
}

// -- events ----------------------------------------------------------------------------------------------------------

const listeners = new Map();

function on(event, listener) {
  listeners.set(event, [...(listeners.get(event) ?? []), listener]);
}

function emit(event, ...given) {
  for (const listener of listeners.get(event) ?? []) listener(...given);
}

// -- what the browser remembers --------------------------------------------------------------------------------------

// Storage may be missing or forbidden, e.g. for files opened from a disk: then things last until the page is closed.
const memory = {
  get(key) {
    try {
      return localStorage.getItem(key);
    } catch {
      return null;
    }
  },
  set(key, value) {
    try {
      if (value === null) localStorage.removeItem(key);
      else localStorage.setItem(key, value);
      return true;
    } catch {
      return false;
    }
  },
};

const fingerprint = () => core.fingerprint ?? `${core.title}:${core.topics.map((topic) => topic.label).join("|")}`;

const names = {
  given: { names: {}, notes: {}, hidden: [], merged: [] },
  stored: true,

  load() {
    const text = memory.get(`topicloom:${fingerprint()}`);
    if (!text) return;
    try {
      this.given = checkedNames(JSON.parse(text));
    } catch {
      // Something else wrote under our key: start anew rather than show half of it.
    }
  },
  save() {
    const empty = this.edits() === 0;
    this.stored = memory.set(`topicloom:${fingerprint()}`, empty ? null : JSON.stringify(this.toJSON()));
    emit("names");
  },
  edits() {
    const { names: named, notes, hidden, merged } = this.given;
    return Object.keys(named).length + Object.keys(notes).length + hidden.length + merged.length;
  },
  toJSON() {
    return { topicloom: "topic names", version: 1, fingerprint: fingerprint(), ...this.given };
  },
  fromJSON(data) {
    this.given = checkedNames(data);
    this.save();
  },
  clear() {
    this.given = { names: {}, notes: {}, hidden: [], merged: [] };
    this.save();
  },
  of: (k) => names.given.names[k] ?? null,
  note: (k) => names.given.notes[k] ?? "",
  isHidden: (k) => names.given.hidden.includes(k),
  group: (k) => names.given.merged.find((group) => group.includes(k)) ?? [k],
  rename(k, text) {
    put(this.given.names, k, text.trim());
    this.save();
  },
  annotate(k, text) {
    put(this.given.notes, k, text.trim());
    this.save();
  },
  hide(k, hidden) {
    this.given.hidden = this.given.hidden.filter((other) => other !== k).concat(hidden ? [k] : []);
    this.given.hidden.sort((a, b) => a - b);
    this.save();
  },
  merge(k, other) {
    const group = [...new Set([...this.group(k), ...this.group(other)])];
    this.given.merged = this.given.merged.filter((old) => !old.some((member) => group.includes(member))).concat([group]);
    this.save();
  },
  split(k) {
    this.given.merged = this.given.merged.filter((group) => !group.includes(k));
    this.save();
  },
};

function put(record, k, text) {
  if (text) record[k] = text;
  else delete record[k];
}

const MOST_TEXT = 10000;

// Names come from a file that the user picks: what is not as exported is refused, with the reason.
function checkedNames(data) {
  if (data === null || typeof data !== "object" || data.topicloom !== "topic names") throw new Error("This is not a file of topic names.");
  if (data.version !== 1) throw new Error(`The file has version ${data.version}; this page reads version 1.`);
  const topic = (k) => Number.isInteger(k) && k >= 0 && k < core.topics.length;
  const record = (given, what) => {
    const result = {};
    for (const [key, text] of Object.entries(given ?? {})) {
      if (!/^\d+$/.test(key) || !topic(Number(key))) throw new Error(`${what} has topic ${key}; this model has topics 0 to ${core.topics.length - 1}.`);
      if (typeof text !== "string") throw new Error(`${what} of topic ${key} must be text.`);
      if (text.length > MOST_TEXT) throw new Error(`${what} of topic ${key} has ${count(text.length)} characters; at most ${count(MOST_TEXT)}.`);
      put(result, Number(key), text.trim());
    }
    return result;
  };
  const hidden = data.hidden ?? [];
  const merged = data.merged ?? [];
  if (!Array.isArray(hidden) || !hidden.every(topic)) throw new Error(`"hidden" must list topics of this model.`);
  const flat = Array.isArray(merged) ? merged.flat() : [null];
  if (!flat.every(topic) || new Set(flat).size < flat.length || !merged.every((group) => Array.isArray(group) && group.length > 1)) {
    throw new Error(`"merged" must list groups of two or more topics, each topic once.`);
  }
  return { names: record(data.names, "names"), notes: record(data.notes, "notes"), hidden: [...new Set(hidden)], merged };
}

// -- topics as they are shown ----------------------------------------------------------------------------------------

const colorOf = (k) => (/^#[0-9a-f]{6}$/i.test(core.topics[k]?.color ?? "") ? core.topics[k].color : "#888888");

const topicName = (k) => names.of(k) ?? core.topics[k].name ?? core.topics[k].label;

function viewTopic(k) {
  const members = names.group(k);
  if (members.length === 1) {
    const { share, interval, docs: n, x, y } = core.topics[k];
    return { k, members, name: topicName(k), share, interval, docs: n, x, y, color: colorOf(k), hidden: names.isHidden(k) };
  }
  const all = members.map((member) => core.topics[member]);
  const share = sum(all.map((topic) => topic.share));
  const mean = (f) => sum(all.map((topic) => f(topic) * topic.share)) / share;
  const head = members[0];
  return {
    k: head,
    members,
    name: names.of(head) ?? members.map(topicName).join(" + "),
    share,
    interval: null,
    docs: sum(all.map((topic) => topic.docs)),
    x: mean((topic) => topic.x),
    y: mean((topic) => topic.y),
    color: colorOf(head),
    hidden: names.isHidden(head),
  };
}

function viewTopics({ hidden = false } = {}) {
  const heads = core.topics.map((_, k) => k).filter((k) => names.group(k)[0] === k && (hidden || !names.isHidden(k)));
  return heads.map(viewTopic);
}

// -- routes ----------------------------------------------------------------------------------------------------------

const routes = new Map();

function route(name, render, { nav = null, when = () => true, order = 50 } = {}) {
  routes.set(name, { name, render, nav, when, order });
}

function link(name, parts = [], query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const tail = given.map(([key, value]) => `${key}=${encodeURIComponent(wellFormed(String(value)))}`).join("&");
  const path = [name, ...parts].filter((part) => part !== "").map((part) => encodeURIComponent(wellFormed(String(part))));
  return `#/${path.join("/")}${tail ? `?${tail}` : ""}`;
}

function currentAddress() {
  const [path, tail = ""] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const query = {};
  for (const pair of tail.split("&").filter(Boolean)) {
    const [key, value = ""] = pair.split(/=(.*)/s);
    query[decoded(key)] = decoded(value);
  }
  const [name, ...parts] = path.split("/").map(decoded);
  return { name, parts, query };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function setQuery(query) {
  const { name, parts } = currentAddress();
  const address = link(name, parts, query);
  try {
    history.replaceState(null, "", address);
  } catch {
    // Some browsers forbid it for files; the view is right, only its address is not.
  }
  emit("address");
}

let shown = 0;

async function show({ focus = false } = {}) {
  const { name, parts, query } = currentAddress();
  const found = routes.get(name);
  const turn = (shown += 1);
  const view = el("div", { class: "page" });
  try {
    if (found?.when()) await found.render(view, parts, query);
    else missing(view, `There is no view "${name}" in this page.`);
  } catch (error) {
    console.error(error);
    view.replaceChildren();
    missing(view, `This view could not be shown: ${error.message}`);
  }
  if (turn !== shown) return; // another view was asked for meanwhile
  const main = document.getElementById("view");
  const top = scrollY;
  main.replaceChildren(view);
  main.dataset.route = name || "overview";
  const heading = view.querySelector("h1");
  document.title = short(heading && name ? `${heading.textContent} · ${core.title}` : core.title);
  emit("shown", name);
  if (focus && heading) {
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
    scrollTo(0, 0);
  } else scrollTo(0, top);
}

function missing(view, message) {
  view.append(el("h1", {}, "Not found"), el("p", {}, message), el("p", {}, el("a", { href: "#/" }, "Go to the overview")));
}

// -- numbers ---------------------------------------------------------------------------------------------------------

const sum = (values) => values.reduce((total, value) => total + value, 0);
const clamp = (x, low, high) => Math.min(high, Math.max(low, x));
const counts = new Intl.NumberFormat("en-US");
const count = (n) => counts.format(n);

function percent(x, digits = 1) {
  if (x === null || x === undefined || Number.isNaN(x)) return "–";
  const text = (100 * x).toFixed(digits);
  return x > 0 && Number(text) === 0 ? `< ${10 ** -digits}%` : `${text}%`;
}

// Three decimals below 10, one below 1000, none above.
function number(x) {
  if (x === null || x === undefined || Number.isNaN(x)) return "–";
  if (Number.isInteger(x)) return count(x).replace("-", "−");
  const size = Math.abs(x);
  const text = size >= 1000 ? count(Math.round(x)) : size >= 0.001 ? x.toFixed(size >= 10 ? 1 : 3) : x.toExponential(1);
  return text.replace("-", "−");
}

const range = (interval, format = percent) => (interval ? `${format(interval[0])} to ${format(interval[1])}` : "");
// What a topic, word and document are called in this model. say("Topics of the word") may become "States of the symbol". Not for texts of the data.
function say(text) {
  const given = { topic: core.topic_name, word: core.word_name, document: core.doc_name };
  return text.replace(/\b(topic|word|document)(s?)\b/gi, (whole, name, s) => {
    const other = given[name.toLowerCase()] ?? name.toLowerCase();
    return (name[0] < "a" ? other.charAt(0).toUpperCase() + other.slice(1) : other) + s;
  });
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

// Numbers of one column with the same number of decimals.
function columnFormat(values) {
  const known = values.filter((value) => Number.isFinite(value));
  const most = Math.max(0, ...known.map(Math.abs));
  const digits = known.every(Number.isInteger) || most >= 1000 ? 0 : most >= 10 ? 1 : 3;
  return (x) => (Number.isFinite(x) ? x.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits }).replace("-", "−") : "–");
}

// Names and titles may be of any length; what is shown of them is not.
const short = (text, most = 160) => (text.length > most ? `${wellFormed(text.slice(0, most - 1))}…` : text);
const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;
