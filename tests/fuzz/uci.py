"""UCI bag-of-words."""

import random
from pathlib import Path

from tests.fuzz.mutate import damaged, packed
from tests.fuzz.naive import Expected, attempted, byte_lines
from topicloom.corpus.formats import read


def write(rng: random.Random, folder: Path) -> None:
    n_docs, n_words = rng.randrange(1, 6), rng.randrange(1, 8)
    entries = [
        (rng.randrange(n_docs) + 1, rng.randrange(n_words) + 1, rng.randrange(4)) for _ in range(rng.randrange(9))
    ]
    if rng.random() < 0.7:
        entries.sort()
    lines = [str(n_docs), str(n_words), str(len(entries)), *(f"{d} {w} {c}" for d, w, c in entries)]
    content = damaged(rng, "".join(f"{line}\n" for line in lines).encode())
    (folder / "a.uci").write_bytes(packed(rng, content))


def attempt(folder: Path) -> str:
    return attempted(lambda: read(folder / "a.uci"), lambda: parse(folder / "a.uci"))


def parse(path: Path) -> Expected:
    lines = byte_lines(path)
    n_docs, n_words, n_entries = (int(line.decode().strip()) for line in lines[:3])
    rows: list[dict[int, float]] = [{} for _ in range(n_docs)]
    filled = [line.split() for line in lines[3:] if line.strip()]
    assert len(filled) == n_entries
    for doc, word, count in filled:
        assert 1 <= int(word) <= n_words
        assert int(doc) >= 1
        row = rows[int(doc) - 1]
        row[int(word) - 1] = row.get(int(word) - 1, 0.0) + int(count)
    return Expected(counts=rows, vocabulary=[f"word{v}" for v in range(n_words)])
