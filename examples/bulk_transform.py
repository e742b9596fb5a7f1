"""Topics of many documents with little memory: a generator of texts, read in batches, written to a CSV file."""

import csv
from collections.abc import Iterator
from itertools import islice

from topicloom import LDA, datasets

corpus = datasets.addresses()
model = LDA(5, max_iter=80, random_state=0).fit(corpus.texts, stop_words="english")


def many_texts() -> Iterator[str]:
    """As if read from a large file, one text after the other."""
    for _ in range(5):
        yield from corpus.texts


with open("shares.csv", "w", newline="", encoding="utf-8") as file:
    rows = csv.writer(file)
    rows.writerow(model.get_feature_names_out())
    texts = many_texts()
    while batch := list(islice(texts, 200)):  # a document's answer does not depend on its batch
        rows.writerows(model.transform(batch).round(4).tolist())

with open("shares.csv", encoding="utf-8") as file:
    print(sum(1 for _ in file) - 1, "documents written")
