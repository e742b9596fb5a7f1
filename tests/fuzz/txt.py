"""One text per line."""

import random
from pathlib import Path

from tests.fuzz.mutate import damaged, packed
from tests.fuzz.naive import AS_WORDS, attempted, lines_of, of_texts
from tests.fuzz.texts import text
from topicloom.corpus.formats import read


def write(rng: random.Random, folder: Path) -> None:
    lines = [text(rng) for _ in range(rng.randrange(1, 6))]
    content = damaged(rng, "".join(f"{line}\n" for line in lines).encode())
    (folder / "a.txt").write_bytes(packed(rng, content))


def attempt(folder: Path) -> str:
    return attempted(lambda: read(folder / "a.txt", **AS_WORDS), lambda: of_texts(lines_of(folder / "a.txt")))
