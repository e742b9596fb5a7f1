"""Why this class? Words of a text that speak for and against it, in a table and in the order of the text."""

from topicloom import MedLDAClassifier, datasets

corpus = datasets.addresses()
eras = ["before 1900" if year < 1900 else "after 1900" for year in corpus.times.tolist()]
model = MedLDAClassifier(8, random_state=0).fit(corpus, eras)

text = "The treasury paid its bonds, and jobs came back to working families."
print("predicted:", model.predict([text])[0])
for row in model.explain([text], labels="after 1900", frame="rows"):
    print(f"{row['word']:10} {row['contribution']:+.3f}")

marked = text
tokens = model.explain_tokens([text], labels="after 1900", frame="rows")
for row in sorted(tokens, key=lambda row: -row["start"]):  # from the end, so that places stay right
    sign = "+" if row["contribution"] > 0 else "-"
    marked = marked[: row["end"]] + f"[{sign}]" + marked[row["end"] :]
print(marked)
