"""A file of word numbers with its words in a damaged file beside it, and matrices that lie on their side."""

import json
import random
from pathlib import Path

from tests.fuzz import ldac, mtx, uci
from tests.fuzz.mutate import damaged, packed
from tests.fuzz.naive import Expected, attempted, lines_of
from topicloom.corpus.formats import read

SHARE = 0.4
_CONTENT = {
    "ldac": "1 0:1\n2 4:2 1:1\n0\n",
    "uci": "3\n5\n3\n1 1 1\n2 5 2\n2 2 1\n",
    "mtx": "%%MatrixMarket matrix coordinate integer general\n3 5 3\n1 1 1\n2 5 2\n2 2 1\n",
}
_SIDEWAYS = "%%MatrixMarket matrix coordinate integer general\n5 3 3\n1 1 1\n5 2 2\n2 2 1\n"
_PARSERS = {"ldac": ldac.parse, "uci": uci.parse, "mtx": mtx.parse}


def write(rng: random.Random, folder: Path) -> None:
    kind, sideways = rng.choice(sorted(_CONTENT)), rng.random() < 0.5
    content = (_SIDEWAYS if kind == "mtx" and sideways else _CONTENT[kind]).encode()
    (folder / f"a.{kind}").write_bytes(damaged(rng, content) if rng.random() < 0.2 else content)
    words = ["river", "Straße", "a b", "東京", "x", "y"][: rng.choice((5, 5, 5, 6))]
    vocabulary = damaged(rng, "".join(f"{word}\n" for word in words).encode())
    (folder / f"a.{kind}.vocab").write_bytes(packed(rng, vocabulary))
    (folder / "case.json").write_text(json.dumps({"kind": kind, "sideways": kind == "mtx" and sideways}))


def attempt(folder: Path) -> str:
    case = json.loads((folder / "case.json").read_text())
    path = folder / f"a.{case['kind']}"
    options = {"transpose": True} if case["sideways"] else {}
    return attempted(lambda: read(path, **options), lambda: parse(path, case["kind"], case["sideways"]))


def parse(path: Path, kind: str, sideways: bool) -> Expected:
    expected = _PARSERS[kind](path)
    names = lines_of(path.with_name(path.name + ".vocab"))
    if sideways:
        assert expected.vocabulary is not None
        n_docs, rows = len(expected.vocabulary), expected.counts
        assert len(names) == len(rows)
        expected.counts = [{v: row[d] for v, row in enumerate(rows) if d in row} for d in range(n_docs)]
    top = max((word for row in expected.counts for word in row), default=-1)
    assert top < len(names)
    expected.vocabulary = names
    return expected
