"""SVMlight, with labels, responses or queries."""

import random
from pathlib import Path

from tests.fuzz.mutate import damaged, packed
from tests.fuzz.naive import Expected, attempted, groups_of, lines_of
from topicloom.corpus.formats import read


def write(rng: random.Random, folder: Path) -> None:
    kind = rng.choice(("label", "labels", "response", "none"))
    targets = {"label": ("1", "-1"), "labels": ("1,2", "", "3"), "response": ("0.5", "2", "-1e-2"), "none": ("0",)}
    values = rng.choice((("1", "2", "0"), ("0.5", "1e0", "3.25")))
    base, queries, lines = rng.randrange(2), rng.random() < 0.2, []
    for _ in range(rng.randrange(1, 6)):
        words = sorted(rng.sample(range(base, base + 8), rng.randrange(1, 5)))
        fields = [rng.choice(targets[kind]), *([f"qid:{rng.randrange(3)}"] * queries)]
        lines.append(" ".join([*fields, *(f"{word}:{rng.choice(values)}" for word in words)]))
    if rng.random() < 0.2:
        lines.insert(0, "# a note")
    content = damaged(rng, "".join(f"{line}\n" for line in lines).encode())
    (folder / "a.svm").write_bytes(packed(rng, content))
    if rng.random() < 0.2:
        (folder / "a.svm.labels").write_bytes(damaged(rng, b"news\nsport\narts\n"))


def attempt(folder: Path) -> str:
    return attempted(lambda: read(folder / "a.svm"), lambda: parse(folder / "a.svm"))


def parse(path: Path) -> Expected:
    goals, queries, rows = [], [], []
    for line in lines_of(path):
        fields = line.split("#")[0].split()
        if not fields:
            continue
        goals.append("" if ":" in fields[0] else fields.pop(0))
        queries.append(fields.pop(0)[4:] if fields and fields[0].startswith("qid:") else None)
        row: dict[int, float] = {}
        for one in fields:
            index, value = one.split(":")
            row[int(index)] = row.get(int(index), 0.0) + float(value)
        rows.append({index: value for index, value in row.items() if value})
    seen = {index for row in rows for index in row}
    base = 0 if 0 in seen else 1
    expected = Expected(
        counts=[{index - base: value for index, value in row.items()} for row in rows],
        vocabulary=[f"word{v}" for v in range(max(seen, default=base) - base + 1)],
        groups=None if None in queries else groups_of(queries),
    )
    if all(goal in ("", "0") for goal in goals):
        return expected
    whole = all(part.strip("+-").isdecimal() for goal in goals if goal for part in goal.split(","))
    if not whole:
        expected.responses = [float(goal) for goal in goals]
        return expected
    names = path.with_name("a.svm.labels")
    known = lines_of(names) if names.exists() else None
    sets = [goal.split(",") if goal else [] for goal in goals]
    shown = [[known[int(n) - 1] if known else n.removeprefix("+") for n in numbers] for numbers in sets]
    expected.labels = [tuple(dict.fromkeys(names)) for names in shown]
    return expected
