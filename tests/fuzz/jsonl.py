"""JSON lines."""

import json
import random
from pathlib import Path
from typing import Any

from tests.fuzz.mutate import damaged, packed
from tests.fuzz.naive import AS_WORDS, COLUMNS, Expected, attempted, lines_of, of_records
from tests.fuzz.texts import record
from topicloom.corpus.formats import read

_CELLS: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 10**30, 10**400, 1e400, "", "x", "\ud800", [], ["a", 1], ["a", ["b"]], {"a": 1},
    "2020-01-01", "2020-01-01T10:00:00+02:00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "nan",
)  # fmt: skip


def write(rng: random.Random, folder: Path) -> None:
    dates = rng.random() < 0.3
    lines = []
    for _ in range(rng.randrange(1, 5)):
        row = record(rng)
        if dates:
            row["time"] = rng.choice(("2020-01-01", "2020-05-01T10:00:00+02:00"))
        if rng.random() < 0.2:
            row["label"] = rng.choice((None, ["a", "b c"], 3))
        if rng.random() < 0.1:
            row[rng.choice(sorted(row))] = rng.choice(_CELLS)
        line = json.dumps(row, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
        if rng.random() < 0.05:
            line = line[:-1] + rng.choice((b', "text": "last wins"}', b', "id": 7}', b', "deep": ' + b"[" * 2000))
        lines.append(line)
    (folder / "a.jsonl").write_bytes(packed(rng, damaged(rng, b"\n".join([*lines, b""]))))


def attempt(folder: Path) -> str:
    path = folder / "a.jsonl"
    return attempted(lambda: read(path, **COLUMNS, **AS_WORDS), lambda: parse(path))


def parse(path: Path) -> Expected:
    return of_records([json.loads(line) for line in lines_of(path) if line.strip()])
