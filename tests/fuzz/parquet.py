"""Parquet: damaged bytes, and columns of other types."""

import random
from datetime import date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.fuzz.mutate import damaged_bytes
from tests.fuzz.naive import AS_WORDS, COLUMNS, Expected, attempted, of_records
from tests.fuzz.texts import record
from topicloom.corpus.formats import read

SHARE = 0.1


def write(rng: random.Random, folder: Path) -> None:
    n = rng.randrange(1, 5)
    rows = [record(rng) for _ in range(n)]
    columns = {name: pa.array([row[name] for row in rows], pa.string()) for name in rows[0]}
    for _ in range(rng.choice((0, 1, 1, 2))):
        name = rng.choice(sorted(columns))
        columns[name] = rng.choice(_OTHERS)(n)
        if rng.random() < 0.1:
            columns.pop(name)
    table = pa.table(columns)
    path = folder / "a.parquet"
    how = rng.choice(("none", "snappy", "gzip"))
    pq.write_table(table, path, compression=how, use_dictionary=rng.random() < 0.5, write_statistics=False)
    if rng.random() < 0.5:
        path.write_bytes(damaged_bytes(rng, path.read_bytes()))


_OTHERS = (
    lambda n: pa.array([1, 2, 3, 4][:n]),
    lambda n: pa.array([0.5, float("nan"), float("inf"), 1.0][:n]),
    lambda n: pa.array([None] * n, pa.string()),
    lambda n: pa.array([None] * n),
    lambda n: pa.array([["a", "b"]] * n),
    lambda n: pa.array([{"a": 1}] * n),
    lambda n: pa.array([b"\xff", b"x"] * 2)[:n],
    lambda n: pa.array([True] * n),
    lambda n: pa.array([date(2020, 1, 1)] * n),
    lambda n: pa.array([datetime(2020, 1, 1, 10)] * n),
    lambda n: pa.array([2**62] * n, pa.timestamp("us")),
    lambda n: pa.array([5] * n, pa.timestamp("ns", "UTC")),
    lambda n: pa.array([1] * n, pa.duration("s")),
    lambda n: pa.array(["x"] * n).dictionary_encode(),
    lambda n: pa.array([["a"], []] * 2, pa.list_(pa.string()))[:n],
    lambda n: pa.array([["e\u0301", " b", ""], ["B", "a b"]] * 2, pa.large_list(pa.string()))[:n],
    lambda n: pa.array([["a"], None] * 2, pa.list_(pa.string()))[:n],
    lambda n: pa.array(["x"] * n, pa.large_string()),
)


def attempt(folder: Path) -> str:
    path = folder / "a.parquet"
    return attempted(lambda: read(path, **COLUMNS, **AS_WORDS), lambda: parse(path))


def parse(path: Path) -> Expected:
    """The cells by pyarrow, a column and a row at a time; the rest as for any table."""
    table = pq.read_table(path, columns=sorted(set(COLUMNS.values())), use_threads=False)
    return of_records([{name: table.column(name)[i].as_py() for name in table.column_names} for i in range(len(table))])
