"""Tables without a line of names: columns are numbers, and labels have a separator of their own."""

import random
from pathlib import Path
from typing import Any

from tests.fuzz import csv
from tests.fuzz.mutate import damaged, packed
from tests.fuzz.naive import AS_WORDS, Expected, attempted, content_of, of_records
from tests.fuzz.texts import record
from topicloom.corpus.formats import read

_ROLES = ("id", "label", "text", "response")
_COLUMNS = {"id_column": 0, "label_column": "1", "text_column": 2, "response_column": 3}
_LABELS = ("", "news", "news;sport", "health care", '["a;b", "c"]', ";", " a ; b", "[sic] x;y", "['a']", "a,b")


def write(rng: random.Random, folder: Path) -> None:
    lines = []
    for _ in range(rng.randrange(1, 6)):
        row = record(rng) | {"label": rng.choice(_LABELS)}
        cells = [str(row[role]) for role in _ROLES]
        lines.append("\t".join('"' + cell.replace('"', '""') + '"' if '"' in cell else cell for cell in cells))
    content = "\n".join([*lines, ""]).encode()
    (folder / "a.tsv").write_bytes(packed(rng, damaged(rng, content)))


def attempt(folder: Path) -> str:
    path = folder / "a.tsv"
    options: dict[str, Any] = {"header": False, "label_separator": ";", **_COLUMNS, **AS_WORDS}
    return attempted(lambda: read(path, **options), lambda: parse(path))


def parse(path: Path) -> Expected:
    rows = [
        row for row in csv.records(content_of(path).decode("utf-8").removeprefix("\ufeff"), "\t") if row is not None
    ]
    assert all(len(row) == len(rows[0]) for row in rows)
    return of_records([dict(zip(_ROLES, row, strict=False)) for row in rows], separator=";")
