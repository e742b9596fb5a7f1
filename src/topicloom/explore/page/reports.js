// reports.js: how well labels of held-out documents are predicted; what words of a document say for a class.
//
//   reportSection(report, title, href) a table of precision, recall, F1 and expected documents, if there is a report
//   speakingPicker(text, note)         a choice of a class by which the words of a text are coloured; null without classes
"use strict";

function reportSection(report, title, href) {
  if (!report) return null;
  const rows = report.rows.map(([name, n, predicted, precision, recall, f1, expected], i) => ({ i, name, n, predicted, precision, recall, f1, expected, data: { label: i } }));
  const off = (row) => row.expected && (row.n < row.expected[1] || row.n > row.expected[2]);
  const share = (key, title, about) => ({ title, about, numeric: true, value: (row) => row[key], cell: (row) => percent(row[key], 0) });
  const columns = [
    { title, value: (row) => row.name, cell: (row) => (href(row.i) ? el("a", { href: href(row.i), dir: "auto" }, short(row.name)) : el("span", { dir: "auto" }, short(row.name))), class: "topic-cell" },
    { title: capital(`${core.doc_name}s`), numeric: true, value: (row) => row.n, about: `Held-out ${core.doc_name}s that have it` },
    { title: "Predicted", numeric: true, value: (row) => row.predicted, class: "minor" },
    share("precision", "Precision", "Of the predicted, the share that has it"),
    share("recall", "Recall", "Of those that have it, the share that is predicted"),
    share("f1", "F1"),
    ...(rows.some((row) => row.expected) ? [{ title: "Expected", numeric: true, value: (row) => row.expected?.[0] ?? null, cell: (row) => (row.expected ? el("span", { class: off(row) ? "problem" : "" }, `${number(row.expected[0])} (${row.expected[1]}–${row.expected[2]})${off(row) ? " !" : ""}`) : "–"), about: `Sum of the probabilities and, in brackets, where the number of ${core.doc_name}s is with probability ${percent(report.level, 0)} if they are right` }] : []),
  ];
  const [precision, recall, f1] = report.averages.micro;
  const facts = [plural(report.docs, `held-out ${core.doc_name}`), `micro F1 ${percent(f1)} (precision ${percent(precision)}, recall ${percent(recall)})`, `macro F1 ${percent(report.averages.macro[2])}`, report.without > 0 ? `${percent(report.without)} without a predicted label` : null];
  const note = rows.some(off) ? el("p", { class: "note" }, "A mark (!) says that there are more or fewer than the probabilities allow for.") : null;
  return section("How well they are predicted", { about: `${facts.filter(Boolean).join("; ")}.`, id: "report" }, table({ name: "label-report", caption: "Predictions of held-out documents", columns, rows, sort: [1, "descending"], step: 50 }), note);
}

// Words in the colours of a class: each by the weight of its topic, orange for the class and blue against it.
function speakingPicker(text, note) {
  const data = family("classes");
  const known = data?.weights.map((row, c) => (row ? c : -1)).filter((c) => c >= 0) ?? [];
  if (!known.length) return null;
  const against = contrasts(data);
  let chosen = "";
  const paint = () => {
    const weights = chosen === "" ? null : against[Number(chosen)];
    const most = weights ? Math.max(1e-12, ...weights.map(Math.abs)) : 1;
    for (const mark of text.querySelectorAll(".token")) {
      const { topic, share } = mark.token;
      const value = weights?.[topic];
      mark.token.push = weights ? value : null;
      mark.style.setProperty("--topic", weights ? `var(--${value < 0 ? "below" : "above"})` : colorOf(topic));
      mark.style.setProperty("--shade", weights ? `${Math.round((60 * Math.abs(value)) / most)}%` : `${Math.round(12 + 46 * share)}%`);
    }
    note.textContent = weights ? `Orange words speak for ${data.numbers ? "a higher number" : data.names[Number(chosen)]}, blue ones against it, by the weight η of their topics${compares(data) ? " less its mean over all classes" : ""}.` : "";
    note.hidden = !weights;
  };
  const own = data.numbers ? known.slice(-1) : known;
  const field = picker("Words speak for", "speaking", [["", say("(topics)")], ...own.map((c) => [c, data.names[c]])], "", (value) => {
    chosen = value;
    paint();
  });
  return { field, paint: () => chosen !== "" && paint() };
}
