"""Files read by tasks: the corpus file has the same bytes as that of one process, whatever the tasks are."""

import gzip
import json
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from tests.helpers.tasks import ShuffledTasks
from topicloom import Corpus, read
from topicloom.corpus import _file_tasks
from topicloom.corpus._executors import using
from topicloom.corpus._lines import line_pieces, numbered, text_lines
from topicloom.corpus.stored import convert_corpus
from topicloom.errors import InputError, LabelsWarning

N_DOCS = 240


@pytest.fixture(autouse=True)
def small_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of some kilobytes is large."""
    for name, size in {"_BYTES": 900, "_BYTES_OF_OWN": 700, "_LARGE": 3000, "_LARGE_PACKED": 1200, "_ROWS": 7}.items():
        monkeypatch.setattr(_file_tasks, name, size)


def some_rows(n: int = N_DOCS) -> list[dict[str, Any]]:
    rng = np.random.default_rng(5)
    return [
        {
            "text": " ".join(f"w{v}é" if v % 3 else f"W{v} The" for v in rng.geometric(0.03, rng.integers(0, 9))),
            "key": f"d{d}",
            "tags": [f"t{v}" for v in rng.integers(0, 5, rng.integers(0, 3))],
            "source": f"s{d % 4}",
            "day": (date(2024, 1, 1) + timedelta(int(rng.integers(100)))).isoformat(),
            "value": float(rng.integers(9)),
        }
        for d in range(n)
    ]


COLUMNS = {
    "id_column": "key", "label_column": "tags", "group_column": "source", "time_column": "day",
    "response_column": "value",
}  # fmt: skip
Write = Callable[[Path, list[dict[str, Any]]], dict[str, Any]]


def as_jsonl(folder: Path, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Files of several sizes, one of them large and one packed; lines end in several ways."""
    cuts = [0, 5, 6, 150, 190, len(rows)]
    for i, (a, b) in enumerate(pairwise(cuts)):
        end = "\r\n" if i == 2 else "\n"
        text = "\ufeff" * (i == 2) + "".join(json.dumps(row, ensure_ascii=False) + end for row in rows[a:b])
        if i == 3:
            (folder / f"{i}.jsonl.gz").write_bytes(gzip.compress(text.encode()))
        else:
            (folder / f"{i}.jsonl").write_bytes(text.encode())
    return COLUMNS


def as_parquet(folder: Path, rows: list[dict[str, Any]]) -> dict[str, Any]:
    for i, part in enumerate((rows[:200], rows[200:])):
        parquet.write_table(pa.Table.from_pylist(part), folder / f"part-{i}.parquet", row_group_size=30)
    return COLUMNS


def as_tokens(folder: Path, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """As Spark writes them, with lists of words."""
    as_parquet(folder, [{**row, "text": row["text"].lower().split()} for row in rows])
    (folder / "_SUCCESS").touch()
    (folder / ".part-0.parquet.crc").write_bytes(b"crc")
    return COLUMNS


def as_csv(folder: Path, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Large files without pieces."""
    for i, part in enumerate((rows[:170], rows[170:])):
        lines = [f'"{row["text"]}\n",{row["key"]},{";".join(row["tags"])}\n' for row in part]
        (folder / f"{i}.csv").write_text("text,key,tags\n" + "".join(lines), encoding="utf-8")
    return {"id_column": "key", "label_column": "tags", "label_separator": ";"}


def as_lines(folder: Path, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Texts in mallet's lines; bare carriage returns end some."""
    lines = [f"{row['key']}\t{' '.join(row['tags'])}\t\ufeff{row['text']}" for row in rows]
    ends = ["\n", "\r", "\r", "\r", "\r"] * len(lines)
    (folder / "a.mallet").write_bytes("".join(map(str.__add__, lines, ends)).encode())
    return {}


def as_files(folder: Path, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """One document per file, some of them in an archive, whose order is another."""
    for row in rows[:120]:
        (folder / row["source"]).mkdir(exist_ok=True)
        (folder / row["source"] / f"{row['key']}.txt").write_text(row["text"], encoding="utf-8")
    return {}


WRITERS: dict[str, Write] = {
    "jsonl": as_jsonl, "parquet": as_parquet, "tokens": as_tokens, "csv": as_csv, "mallet": as_lines, "files": as_files,
}  # fmt: skip


@contextmanager
def tasks(**how: Any) -> Iterator[ShuffledTasks]:
    executor = ShuffledTasks(**how)
    with using(executor):
        yield executor


def converted(source: Any, target: Path, **options: Any) -> tuple[bytes, Corpus]:
    corpus = convert_corpus(source, target, **options)
    return target.read_bytes(), corpus


@pytest.mark.parametrize("name", WRITERS)
def test_the_bytes_are_those_of_one_process(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "source"
    folder.mkdir()
    options = WRITERS[name](folder, some_rows())
    options = {**options, **({} if name == "files" else {"format": "parquet" if name == "tokens" else name})}
    expected, corpus = converted(folder, tmp_path / "one.corpus", **options)
    assert corpus.n_docs == (120 if name == "files" else N_DOCS)
    for n_workers in (1, 3):
        with tasks(n_workers=n_workers, seed=n_workers) as executor:
            found, other = converted(folder, tmp_path / "tasks.corpus", **options)
        assert executor.n_done > 3
        assert found == expected
        assert other.fingerprint == corpus.fingerprint


def double(words: list[str]) -> list[str]:
    return [word for word in words for _ in range(2)]


@pytest.mark.parametrize(
    "options",
    [
        {"min_df": 3, "max_df": 0.6, "max_words": 20, "stop_words": "english"},
        {"phrases": {"score": "npmi", "min_count": 2, "threshold": 0.1, "passes": 2}, "keep_texts": True},
        {"ngrams": (1, 2), "min_df": 2, "lowercase": False, "token_pattern": r"\w+"},
        {"vocabulary": ["w3é", "w6é", "the"], "keep_texts": False},
        {"tokenizer": lambda text: text.split(), "normalizer": double},
        {"strip": "html", "phrases": [[("the", "w3é")]]},
    ],
)
def test_options_of_texts_are_the_same(options: dict[str, Any], tmp_path: Path) -> None:
    columns = as_jsonl(tmp_path, some_rows())
    expected = read(tmp_path, **columns, **options)
    with tasks() as executor:
        found = read(tmp_path, **columns, **options)
    assert executor.n_done > 3
    assert found.fingerprint == expected.fingerprint
    assert found.text_options == expected.text_options
    assert found.texts == expected.texts
    assert np.array_equal(found.unknown, expected.unknown)


def test_kept_texts_end_where_they_end_in_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    as_jsonl(tmp_path, some_rows())
    total = sum(len(row["text"]) for row in some_rows())
    for limit in (total, total - 1):
        monkeypatch.setattr("topicloom.corpus._texts.KEPT_CHARACTERS", limit)
        with tasks():
            assert (read(tmp_path).texts is None) == (limit < total)


def test_what_is_small_stays_here_and_archives_are_read_here(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for row in reversed(some_rows()):
            archive.writestr(f"{row['source']}/{row['key']}.txt", row["text"])
    expected = read(tmp_path / "all.zip")
    with tasks() as executor:
        found = read(tmp_path / "all.zip")
        assert executor.n_done > 3
        (tmp_path / "few.txt").write_text("a river\nanother bank\n")
        read(tmp_path / "few.txt")
        assert executor.sent == 1
    assert (found.fingerprint, found.ids, found.labels) == (expected.fingerprint, expected.ids, expected.labels)


def same_error(path: Path, **options: Any) -> str:
    with pytest.raises(InputError) as alone:
        read(path, **options)
    with tasks(), pytest.raises(InputError) as by_tasks:
        read(path, **options)
    assert str(by_tasks.value) == str(alone.value)
    return str(alone.value)


def test_errors_name_the_line(tmp_path: Path) -> None:
    path, lines = tmp_path / "a.jsonl", [json.dumps(row) for row in some_rows()]
    broken = [*lines[:200], "{", *lines[200:]]
    path.write_text("\n".join(broken))
    assert "a.jsonl, line 201: found '{'" in same_error(path)
    path.write_text("\r".join(lines[:100]) + "\n" + "\n".join([*lines[100:180], json.dumps({"text": "\ud800"})]))
    assert "a.jsonl, line 181" in same_error(path)
    changed = {**some_rows()[0], "day": 5}
    path.write_text("\n".join([*lines, json.dumps(changed)]))
    assert "line 241: found 5, expected a date" in same_error(path, **COLUMNS)
    parquet.write_table(
        pa.table({"text": ["a river"] * 99 + [None], "more": [str(d) * 20 for d in range(100)]}),
        tmp_path / "a.parquet", row_group_size=9,
    )  # fmt: skip
    assert "row 100: found None" in same_error(tmp_path / "a.parquet")
    mixed = [{"text": ["a", "b"]}] * 9 + [{"text": "a b"}]
    path.write_text("\n".join(map(json.dumps, mixed)))
    assert "line 10: found 'a b', expected a list of words" in same_error(path)


def test_functions_that_fail_or_cannot_be_sent(tmp_path: Path) -> None:
    as_jsonl(tmp_path, some_rows())

    def fails(text: str) -> Any:
        return text.split() if "w4é" not in text else None

    with tasks(), pytest.raises(InputError, match=r"jsonl, line \d+: the tokenizer returned None"):
        read(tmp_path, tokenizer=fails)


def test_a_file_that_a_worker_does_not_see(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    as_jsonl(tmp_path, some_rows())
    real = Path.exists
    monkeypatch.setattr(Path, "exists", lambda path: path.name != "4.jsonl" and real(path))
    with tasks(), pytest.raises(InputError, match=r"4\.jsonl is not there on .* under the same path"):
        read(tmp_path)


def test_label_warnings_count_all_cells(tmp_path: Path) -> None:
    columns = as_csv(tmp_path, some_rows())
    del columns["label_separator"]
    with pytest.warns(LabelsWarning) as alone:
        read(tmp_path, **columns)
    with tasks(), pytest.warns(LabelsWarning, match=re.escape(str(alone[0].message))):
        read(tmp_path, **columns)


def test_pieces_are_all_lines_once(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    content = "\ufeffone\r\ntwo\rthree\n\n" + "x" * 300 + "\n\ufefflast é"
    path.write_bytes(content.encode())
    for size in (1, 3, 7, 50, 1000):
        pieces = line_pieces(path, size, "UTF-8")
        assert pieces is not None
        found = [line for piece in pieces for line in text_lines(piece)]
        assert found == list(text_lines(path))
        firsts = [numbered(piece).first for piece in pieces]
        counts = [len(list(text_lines(piece))) for piece in pieces]
        assert firsts == [1 + sum(counts[:i]) for i in range(len(pieces))]
    assert line_pieces(path, 3, "utf-16") is None
    assert line_pieces(path, 3, "nonsense") is None
