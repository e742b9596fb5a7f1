"""Tables with commas."""

import random
from pathlib import Path

from tests.fuzz.mutate import damaged, packed
from tests.fuzz.naive import AS_WORDS, COLUMNS, Expected, attempted, content_of, of_records
from tests.fuzz.texts import record
from topicloom.corpus.formats import read


def write(rng: random.Random, folder: Path) -> None:
    write_table(rng, folder / "a.csv", ",")


def attempt(folder: Path) -> str:
    path = folder / "a.csv"
    return attempted(lambda: read(path, **COLUMNS, **AS_WORDS), lambda: parse(path, ","))


def write_table(rng: random.Random, path: Path, mark: str) -> None:
    rows = [record(rng) for _ in range(rng.randrange(1, 5))]
    names = [*rows[0], *(["other"] * rng.randrange(2))]
    lines = [
        mark.join(names),
        *(mark.join(_quoted(rng, str(row.get(name, "")), mark) for name in names) for row in rows),
    ]
    content = damaged(rng, rng.choice(("\n", "\r\n")).join([*lines, ""]).encode())
    path.write_bytes(packed(rng, content))


def _quoted(rng: random.Random, cell: str, mark: str) -> str:
    if rng.random() < 0.1:
        cell += rng.choice(("\n", mark, '"', "\r\nmore"))
    needs = any(c in cell for c in '"\r\n' + mark)
    return '"' + cell.replace('"', '""') + '"' if needs or rng.random() < 0.2 else cell


def parse(path: Path, mark: str) -> Expected:
    text = content_of(path).decode("utf-8").removeprefix("\ufeff")
    rows = [row for row in records(text, mark) if row is not None]
    header, *body = rows
    assert all(len(row) == len(header) for row in body)
    return of_records([{role: row[header.index(role)] for role in COLUMNS.values()} for row in body])


def records(text: str, mark: str) -> list[list[str] | None]:
    """Character by character; a line without any is None."""
    rows: list[list[str] | None] = []
    i = 0
    while i < len(text):
        row: list[str] = []
        if text[i] in "\r\n":
            rows.append(None)
            i += 2 if text.startswith("\r\n", i) else 1
            continue
        while True:
            cell, i = _cell(text, i, mark)
            row.append(cell)
            if i < len(text) and text[i] == mark:
                i += 1
                continue
            break
        rows.append(row)
        if i < len(text):
            assert text[i] in "\r\n"
            i += 2 if text.startswith("\r\n", i) else 1
    return rows


def _cell(text: str, i: int, mark: str) -> tuple[str, int]:
    if i < len(text) and text[i] == '"':
        cell, i = "", i + 1
        while True:
            end = text.index('"', i)
            cell, i = cell + text[i:end], end + 1
            if i < len(text) and text[i] == '"':
                cell, i = cell + '"', i + 1
                continue
            return cell, i
    end = i
    while end < len(text) and text[end] not in mark + "\r\n":
        end += 1
    return text[i:end], end
