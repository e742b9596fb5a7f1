"""MALLET's lines: name, label, text."""

import random
from pathlib import Path

from tests.fuzz.mutate import damaged, packed
from tests.fuzz.naive import AS_WORDS, Expected, attempted, lines_of, of_texts
from tests.fuzz.texts import text
from topicloom.corpus.formats import read


def write(rng: random.Random, folder: Path) -> None:
    mark = rng.choice((" ", "\t"))
    labels = ("-", "news", "sport") if mark == " " else ("-", "news", "news sport", "")
    lines = [f"d{i}{mark}{rng.choice(labels)}{mark}{text(rng)}" for i in range(rng.randrange(1, 6))]
    content = damaged(rng, "".join(f"{line}\n" for line in lines).encode())
    (folder / "a.mallet").write_bytes(packed(rng, content))


def attempt(folder: Path) -> str:
    return attempted(lambda: read(folder / "a.mallet", **AS_WORDS), lambda: parse(folder / "a.mallet"))


def parse(path: Path) -> Expected:
    ids, labels, texts = [], [], []
    for line in lines_of(path):
        if not line.strip():
            continue
        parts = line.split("\t", 2)
        if len(parts) == 3 and parts[0] and not any(map(str.isspace, parts[0])):
            name, label, rest = parts
        else:
            name, label, *more = line.split(None, 2)
            rest = more[0] if more else ""
        ids.append(name)
        labels.append(() if label == "-" else tuple(dict.fromkeys(label.split())))
        texts.append(rest)
    return of_texts(texts, ids=ids, labels=labels)
