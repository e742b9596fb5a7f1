"""LDA-C."""

import random
from pathlib import Path

from tests.fuzz.mutate import damaged, packed
from tests.fuzz.naive import Expected, attempted, byte_lines
from topicloom.corpus.formats import read


def write(rng: random.Random, folder: Path) -> None:
    lines = []
    for _ in range(rng.randrange(1, 6)):
        words = rng.sample(range(9), rng.randrange(5))
        lines.append(" ".join([str(len(words)), *(f"{word}:{rng.randrange(4)}" for word in words)]))
    content = damaged(rng, "".join(f"{line}\n" for line in lines).encode())
    (folder / "a.ldac").write_bytes(packed(rng, content))


def attempt(folder: Path) -> str:
    return attempted(lambda: read(folder / "a.ldac"), lambda: parse(folder / "a.ldac"))


def parse(path: Path) -> Expected:
    rows, top = [], -1
    for line in byte_lines(path):
        size, *pairs = line.split()
        assert int(size) == len(pairs)
        row: dict[int, float] = {}
        for pair in pairs:
            word, count = map(int, pair.split(b":"))
            row[word] = row.get(word, 0.0) + count
            top = max(top, word)
        rows.append(row)
    return Expected(counts=rows, vocabulary=[f"word{v}" for v in range(top + 1)])
