"""Tables with tabs."""

import random
from pathlib import Path

from tests.fuzz.csv import parse, write_table
from tests.fuzz.naive import AS_WORDS, COLUMNS, attempted
from topicloom.corpus.formats import read


def write(rng: random.Random, folder: Path) -> None:
    write_table(rng, folder / "a.tsv", "\t")


def attempt(folder: Path) -> str:
    path = folder / "a.tsv"
    return attempted(lambda: read(path, **COLUMNS, **AS_WORDS), lambda: parse(path, "\t"))
