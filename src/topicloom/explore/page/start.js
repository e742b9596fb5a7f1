// start.js: navigation, keys, theme, "About"; the first view. Last of the scripts.
"use strict";

// -- about -----------------------------------------------------------------------------------------------------------

function renderAbout(view) {
  const { n, of, sampled, texts, cut } = core.documents;
  const texted = { whole: "Their texts are whole.", cut: `Their texts are cut after ${count(cut ?? 0)} characters.`, none: "Their texts are not in the page." }[texts];
  const documents = n ? `${sampled ? `A sample: ${count(n)} of ${count(of)}` : `All ${count(n)}`} ${core.doc_name}s are in this page. ${texted ?? ""}` : `No ${core.doc_name}s are in this page.`;
  const intervals = core.intervals_about ?? `All intervals hold ${percent(core.level, 0)}.`;
  const measures = Object.entries(core.measures_about ?? {});
  fill(view, {}, [
    el("h1", {}, "About"),
    el("div", { class: "split" },
      el("div", { class: "stack" },
        section("The model", {}, facts(core.about.map(([name, value]) => [name, value === null ? "–" : String(value)])), core.verdict && el("p", { class: "about" }, core.verdict)),
        core.command && section("Make it again", {}, el("pre", { class: "command", tabindex: 0 }, core.command))),
      el("div", { class: "stack" },
        section("How to read this page", {}, el("ul", { class: "prose" },
          el("li", {}, documents),
          el("li", {}, `Intervals: ${intervals}`),
          el("li", {}, say("Relevance of a word: λ log φ + (1 − λ) log(φ / p(w)), with φ its probability in the topic and p(w) in the corpus.")),
          el("li", {}, say("Topic numbers are the model's own. Names, notes, hidden and merged topics are kept in this browser alone.")),
          el("li", {}, "The page loads nothing from the network."))),
        measures.length > 0 && section("Measures", {}, facts(measures.map(([name, about]) => [capital(name), about]))),
        section("Names and notes", {}, el("div", { class: "actions" }, button("Show, import, export", namesDialog))))),
  ]);
}

const facts = (rows) => el("dl", { class: "about-list" }, rows.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", { dir: "auto" }, value))));

// -- navigation ------------------------------------------------------------------------------------------------------

function drawNavigation() {
  const { name } = currentAddress();
  const under = { topic: "", word: "", document: "documents" };
  const current = under[name] ?? name;
  const entries = [...routes.values()].filter((one) => one.nav && one.when()).sort((a, b) => a.order - b.order);
  const title = (nav) => (typeof nav === "function" ? nav() : nav);
  document.getElementById("nav").replaceChildren(...entries.map((one) => el("a", { href: link(one.name), "aria-current": one.name === current ? (one.name === name ? "page" : "true") : null }, title(one.nav))));
  const edits = names.edits();
  document.getElementById("edits").textContent = edits ? `Names (${edits})` : "Names";
}

function drawFoot() {
  const { n, of, sampled } = core.documents;
  const parts = [`${core.kind}, ${plural(core.topics.length, say("topic"))}`, plural(core.n_docs, core.doc_name), sampled && `${count(n)} of ${count(of)} shown`, "made with topicloom"];
  document.getElementById("foot").textContent = parts.filter(Boolean).join(" · ");
}

// -- theme -----------------------------------------------------------------------------------------------------------

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  document.getElementById("theme").setAttribute("aria-pressed", String(theme === "dark"));
  emit("theme", theme);
}

function startTheme() {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => ({ light: "light", dark: "dark" })[memory.get("topicloom-theme")];
  setTheme(chosen() ?? (system.matches ? "dark" : "light"));
  system.addEventListener("change", () => chosen() || setTheme(system.matches ? "dark" : "light"));
  document.getElementById("theme").addEventListener("click", () => {
    const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    memory.set("topicloom-theme", theme);
    setTheme(theme);
  });
}

// -- keys ------------------------------------------------------------------------------------------------------------

const KEYS = [
  ["/", "search"],
  ["[  ]", "previous and next topic"],
  ["↑ ↓", "from row to row of a table"],
  ["← ↑ → ↓", "from topic to topic on the map"],
  ["Enter", "open"],
  ["Esc", "close, or leave the search box"],
  ["?", "these keys"],
];

const keysDialog = () => dialog("Keys", el("dl", { class: "keys" }, KEYS.map(([key, about]) => el("div", {}, el("dt", {}, el("kbd", {}, key)), el("dd", {}, about)))));

function onKey(event) {
  if (event.key === "Escape") {
    document.getElementById("tip").hidden = true;
    if (event.target.id === "query") event.target.blur();
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog")) return;
  const action = { "/": () => document.getElementById("query").focus(), "?": keysDialog, "[": () => document.getElementById("previous")?.click(), "]": () => document.getElementById("next")?.click() }[event.key];
  if (!action) return;
  event.preventDefault();
  action();
}

// -- the first view --------------------------------------------------------------------------------------------------

async function start() {
  startTheme();
  try {
    await readCore();
  } catch (error) {
    console.error(error);
    document.getElementById("view").replaceChildren(el("p", { class: "loading problem", role: "alert" }, error.message));
    return;
  }
  document.getElementById("brand").textContent = visible(short(core.title));
  drawFoot();
  fill(document.getElementById("query"), { placeholder: say("Search words and documents"), "aria-label": say("Search words and documents") });
  startSearch();
  document.getElementById("edits").addEventListener("click", namesDialog);
  document.getElementById("keys").addEventListener("click", keysDialog);
  document.getElementById("skip").addEventListener("click", (event) => {
    event.preventDefault();
    document.getElementById("view").focus();
  });
  document.addEventListener("keydown", onKey);
  addEventListener("scroll", () => (document.getElementById("tip").hidden = true), { passive: true });
  addEventListener("hashchange", () => {
    document.getElementById("tip").hidden = true;
    show({ focus: document.activeElement?.id !== "query" });
  });
  on("shown", drawNavigation);
  on("names", drawNavigation);
  await show();
  document.documentElement.dataset.ready = Math.round(performance.now());
  withDocs().then(() => {
    document.documentElement.dataset.docs = Math.round(performance.now());
    setTimeout(prepareSearch, 50);
  }, console.error);
}

route("about", renderAbout, { nav: "About", order: 90 });
start();
