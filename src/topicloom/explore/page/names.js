// names.js: rename, annotate, hide and merge topics; the list of these edits, export and import.
//
//   topicActions(k)      the buttons of a topic
//   namesDialog()        all edits, with export and import
"use strict";

function topicActions(k) {
  const members = names.group(k);
  const hidden = names.isHidden(k);
  const hide = () => {
    names.hide(k, !hidden);
    show();
    announce(hidden ? "Shown again" : "Hidden in the overview");
  };
  const split = () => {
    names.split(k);
    show();
    announce("Split again");
  };
  return el(
    "div",
    { class: "actions" },
    button("Rename", () => renameDialog(k), { id: "rename" }),
    button(names.note(k) ? "Edit note" : "Add note", () => noteDialog(k), { id: "annotate" }),
    core.topics.length > 1 && button("Merge with …", () => mergeDialog(k), { id: "merge" }),
    members.length > 1 && button("Split", split, { id: "split" }),
    button(hidden ? "Unhide" : "Hide", hide, { id: "hide" }),
  );
}

const LOCAL = "Kept in this browser. The model itself is not changed; export the names to use them in Python.";
const keptNote = () => el("p", { class: "note" }, names.stored ? LOCAL : "This browser keeps nothing for this file. Export the names before you close the page.");

function renameDialog(k) {
  const field = el("input", { type: "text", id: "new-name", value: names.of(k) ?? core.topics[k].name ?? "", placeholder: core.topics[k].label, maxlength: 200, dir: "auto", autocomplete: "off" });
  const done = (text) => () => {
    names.rename(k, text());
    show();
    announce(`Topic ${k} is now ${topicName(k)}`);
  };
  dialog(say(`Rename topic ${k}`), [el("label", { class: "field" }, "Name", field), keptNote()], [["Cancel", () => true], ["Use the label", done(() => "")], ["Rename", done(() => field.value), true]]);
  field.select();
}

function noteDialog(k) {
  const field = el("textarea", { id: "new-note", rows: 5, maxlength: 5000, dir: "auto" });
  field.value = names.note(k);
  const done = () => {
    names.annotate(k, field.value);
    show();
  };
  dialog(say(`Note on topic ${k}`), [el("label", { class: "field" }, "Note", field), keptNote()], [["Cancel", () => true], ["Save", done, true]]);
}

function mergeDialog(k) {
  const similar = new Map(core.topics[k].related);
  const others = viewTopics({ hidden: true }).filter((topic) => !topic.members.includes(k));
  others.sort((a, b) => (similar.get(b.k) ?? -1) - (similar.get(a.k) ?? -1) || a.k - b.k);
  const field = el("select", { id: "merge-with" }, others.map((topic) => el("option", { value: topic.k }, `${topic.members.join("+")} · ${short(topic.name, 60)}`)));
  const done = () => {
    names.merge(k, Number(field.value));
    if (names.group(k)[0] === k) show();
    else location.hash = link("topic", [names.group(k)[0]]);
  };
  const about = el("p", { class: "note" }, say("Merged topics are one topic in this page: shares add up, words are averaged. The most similar ones are first."));
  dialog(say(`Merge topic ${k} in view`), [el("label", { class: "field" }, "With", field), about, keptNote()], [["Cancel", () => true], ["Merge", done, true]]);
}

// -- all of them -----------------------------------------------------------------------------------------------------

function namesDialog() {
  const list = el("div", { class: "edits" });
  const problem = el("p", { class: "problem", role: "alert" });
  const fresh = (change) => () => {
    change();
    refresh();
    show();
  };
  const refresh = () => {
    const { names: named, notes, hidden, merged } = names.given;
    const lines = [
      ...Object.entries(named).map(([k, name]) => [`${say("Topic")} ${k}: ${name}`, () => names.rename(Number(k), "")]),
      ...Object.keys(notes).map((k) => [say(`Note on topic ${k}`), () => names.annotate(Number(k), "")]),
      ...hidden.map((k) => [say(`Topic ${k} is hidden`), () => names.hide(k, false)]),
      ...merged.map((group) => [say(`Topics ${group.join(" + ")} are merged`), () => names.split(group[0])]),
    ];
    const items = lines.map(([text, undo]) => el("li", {}, el("span", { dir: "auto" }, short(text)), button("Undo", fresh(undo), { class: "link", "aria-label": `Undo: ${text}` })));
    list.replaceChildren(items.length ? el("ul", {}, items) : el("p", { class: "none" }, "Nothing is renamed, hidden, merged or annotated."));
  };
  const file = el("input", { type: "file", accept: ".json,application/json", id: "names-file", class: "unseen", tabindex: -1, "aria-label": "File of topic names" });
  file.addEventListener("change", async () => {
    problem.textContent = "";
    try {
      const data = JSON.parse(await file.files[0].text());
      names.fromJSON(data);
      if (data.fingerprint !== fingerprint()) problem.textContent = "Read. Note: the names were given to another model, so they may not fit these topics.";
      refresh();
      show();
    } catch (error) {
      problem.textContent = `Not read: ${error.message}`;
    }
    file.value = "";
  });
  const stay = (action) => () => {
    action();
    return false;
  };
  refresh();
  dialog("Names and notes", [list, problem, file, el("p", { class: "note" }, "model.set_topic_names(\"names.json\") reads the exported file."), keptNote()], [
    ["Clear all", stay(() => names.edits() && fresh(() => names.clear())())],
    ["Import …", stay(() => file.click())],
    ["Export", stay(exportNames)],
    ["Close", () => true, true],
  ]);
}

function exportNames() {
  saveText("names.json", `${JSON.stringify(names.toJSON(), null, 1)}\n`, "application/json");
}
