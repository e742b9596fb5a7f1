"""Matrix Market."""

import random
from pathlib import Path

from tests.fuzz.mutate import damaged, packed
from tests.fuzz.naive import Expected, attempted, byte_lines
from topicloom.corpus.formats import read


def write(rng: random.Random, folder: Path) -> None:
    layout = rng.choice(("coordinate", "coordinate", "array"))
    field = rng.choice(("integer", "real", "pattern" if layout == "coordinate" else "double", "unsigned-integer"))
    symmetry = rng.choice(("general", "general", "symmetric", "skew-symmetric"))
    rows = rng.randrange(1, 6)
    columns = rng.randrange(1, 7) if symmetry == "general" else rows
    values = {"pattern": ("",), "integer": ("1", "2", "0"), "unsigned-integer": ("1", "7")}.get(
        field, ("0.5", "1e1", "2.")
    )
    banner = f"%%MatrixMarket matrix {layout} {field} {symmetry}"
    if layout == "array":
        cells = rows * columns if symmetry == "general" else rows * (rows + (1 if symmetry == "symmetric" else -1)) // 2
        body, sizes = [rng.choice(values) for _ in range(cells)], f"{rows} {columns}"
    else:
        places = [(rng.randrange(rows) + 1, rng.randrange(columns) + 1) for _ in range(rng.randrange(9))]
        body = [f"{i} {j} {rng.choice(values)}".strip() for i, j in places]
        sizes = f"{rows} {columns} {len(body)}"
    lines = [banner, *(["% a note"] * rng.randrange(2)), sizes, *body]
    content = damaged(rng, "".join(f"{line}\n" for line in lines).encode())
    (folder / "a.mtx").write_bytes(packed(rng, content))


def attempt(folder: Path) -> str:
    return attempted(lambda: read(folder / "a.mtx"), lambda: parse(folder / "a.mtx"))


def parse(path: Path) -> Expected:
    lines = byte_lines(path)
    _, _, layout, field, symmetry = lines[0].decode(errors="replace").lower().split()
    body = [line.split() for line in lines[1:] if line.strip() and not line.startswith(b"%")]
    n_rows, n_columns = map(int, body[0][:2])
    if layout == "array":
        first = {"general": lambda j: 0, "skew-symmetric": lambda j: j + 1}.get(symmetry, lambda j: j)
        places = [(i, j) for j in range(n_columns) for i in range(first(j), n_rows)]
        values = [float(value) for (value,) in body[1:]]
    else:
        places = [(int(entry[0]) - 1, int(entry[1]) - 1) for entry in body[1:]]
        values = [1.0 if field == "pattern" else float(entry[2]) for entry in body[1:]]
        assert len(values) == int(body[0][2])
        assert all(len(entry) == (2 if field == "pattern" else 3) for entry in body[1:])
    assert len(places) == len(values)
    rows: list[dict[int, float]] = [{} for _ in range(n_rows)]
    for (i, j), value in zip(places, values, strict=True):
        rows[i][j] = rows[i].get(j, 0.0) + value
        if symmetry != "general" and i != j:
            rows[j][i] = rows[j].get(i, 0.0) + (-value if symmetry == "skew-symmetric" else value)
    return Expected(counts=rows, vocabulary=[f"word{v}" for v in range(n_columns)])
