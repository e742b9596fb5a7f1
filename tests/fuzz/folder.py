"""A folder with a matrix, its words, and a line for each document in other files."""

import random
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from tests.fuzz import npz
from tests.fuzz.mutate import damaged
from tests.fuzz.naive import Expected, attempted, groups_of, lines_of
from topicloom.corpus.formats import read

SHARE = 0.4


def write(rng: random.Random, folder: Path) -> None:
    n_docs, n_words = rng.randrange(1, 5), rng.randrange(1, 5)
    if rng.random() < 0.2:
        npz.write_npz(rng, folder / "docword.npz")
    else:
        counts = [[rng.randrange(3) for _ in range(n_words)] for _ in range(n_docs)]
        sp.save_npz(folder / "docword.npz", sp.csr_array(np.array(counts)), compressed=False)
    cells = {
        "vocab.txt": [f"wörd{v}" for v in range(n_words)],
        "labels.txt": [rng.choice(("", "a", "a b")) for _ in range(n_docs)],
        "collection.txt": [rng.choice(rng.choice((("x", "y"), ("1", "2.5"), ("2020-01-02",)))) for _ in range(n_docs)],
        "response.txt": [rng.choice(("0.5", "-1", "1e3")) for _ in range(n_docs)],
        "ids.txt": [f"d {d}" for d in range(n_docs)],
    }
    for name, lines in cells.items():
        if rng.random() < 0.7:
            content = "".join(f"{line}\n" for line in lines).encode()
            (folder / name).write_bytes(damaged(rng, content) if rng.random() < 0.2 else content)


def attempt(folder: Path) -> str:
    return attempted(lambda: read(folder), lambda: parse(folder))


def parse(folder: Path) -> Expected:
    expected = npz.parse(folder / "docword.npz")
    found = {path.stem: lines_of(path) for path in folder.glob("*.txt")}
    expected.vocabulary = found.get("vocab", expected.vocabulary)
    expected.ids = found.get("ids")
    expected.groups = groups_of(found["collection"]) if "collection" in found else None
    expected.labels = [tuple(dict.fromkeys(line.split())) for line in found["labels"]] if "labels" in found else None
    expected.responses = [float(line) for line in found["response"]] if "response" in found else None
    return expected
