"""Half characters and byte order marks are dealt with where text comes in, and fields of any length where it is CSV."""

import csv
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import topicloom
from topicloom import HMM, LDA, CompoundLDA, DependencyLDA, LabeledLDA, MedLDAClassifier, PriorLDA
from topicloom.corpus import _csv, formats
from topicloom.errors import InputError

HALF, MARK = "\ud83d", "\ufeff"
X = np.array([[2, 0, 1], [0, 3, 1], [1, 1, 0], [4, 0, 0]])
KEPT = {"max_iter": 4, "burn_in": 2, "thin": 1, "random_state": 0}
CLASSES = ["a" + HALF, "b", "b", "b"]


def corpus(**metadata: Any) -> topicloom.Corpus:
    return topicloom.from_matrix(X, vocabulary=["x", "y", "z"]).with_metadata(**metadata)


DOORS: dict[str, Callable[[], Any]] = {
    "texts": lambda: LDA(2, max_iter=2).fit(["one " + HALF, "two"]),
    "from_texts": lambda: topicloom.from_texts(["one " + HALF, "two"]),
    "words of a tokenizer": lambda: topicloom.from_texts(["one"], tokenizer=lambda text: [text, HALF]),
    "vocabulary of texts": lambda: topicloom.from_texts(["one"], vocabulary=["one", HALF]),
    "vocabulary": lambda: topicloom.from_matrix(X, vocabulary=["x", HALF, "z"]),
    "ids": lambda: corpus(ids=CLASSES),
    "labels": lambda: corpus(labels=[[name] for name in CLASSES]),
    "groups": lambda: corpus(groups=CLASSES),
    "times": lambda: corpus(times=CLASSES),
    "groups of a fit": lambda: CompoundLDA(2, **KEPT).fit(X, groups=CLASSES),
    "LabeledLDA": lambda: LabeledLDA(**KEPT).fit(X, [[name] for name in CLASSES]),
    "PriorLDA": lambda: PriorLDA(**KEPT).fit(X, [[name] for name in CLASSES]),
    "DependencyLDA": lambda: DependencyLDA(**KEPT).fit(X, [[name] for name in CLASSES]),
    "classes": lambda: MedLDAClassifier(2, **KEPT).fit(X, CLASSES),
    "classes in an array": lambda: MedLDAClassifier(2, **KEPT).fit(X, np.array(CLASSES)),
    "label sets": lambda: MedLDAClassifier(2, **KEPT).fit(X, [[name] for name in CLASSES]),
    "symbols": lambda: HMM(2, **KEPT).fit([CLASSES, CLASSES[:2]]),
    "alphabet": lambda: HMM(2, **KEPT, alphabet=["b", HALF]).fit([["b", "b"]]),
}


@pytest.mark.parametrize("door", DOORS)
def test_half_a_character_is_refused_at_every_door(door: str) -> None:
    """Not after the fit, when the model is saved."""
    with pytest.raises(InputError, match=r"lone surrogate"):
        DOORS[door]()


RECORD = {"text": "one two", "id": "1", "label": ["a"], "group": "g", "time": "2020"}
COLUMNS = {f"{name}_column": name for name in ("id", "label", "group", "time")}


@pytest.mark.parametrize("column", RECORD)
def test_half_a_character_in_a_file_names_its_line(column: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    wrong: Any = [HALF] if column == "label" else HALF
    path.write_text("".join(json.dumps(record) + "\n" for record in (RECORD, RECORD | {"id": "2", column: wrong})))
    with pytest.raises(InputError, match=r"a.jsonl, line 2: found .*(without lone surrogates|an ISO date)"):
        topicloom.read(path, **COLUMNS)


@pytest.mark.parametrize(
    ("encoding", "half"), [("utf-8", b"\xed\xa0\xbd"), ("utf-7", b"+2D0-"), ("utf-16", b"\x3d\xd8")]
)
def test_half_a_character_in_other_encodings(encoding: str, half: bytes, tmp_path: Path) -> None:
    start, end = "one\ntwo ".encode(encoding), "\n".encode("utf-16-le" if encoding == "utf-16" else encoding)
    (tmp_path / "a.txt").write_bytes(start + half + end)
    with pytest.raises(InputError, match=rf"a.txt, line [12]: .*not {encoding}"):
        topicloom.read(tmp_path / "a.txt", encoding=encoding)


CONTENT = {
    "txt": "one two\nthree\n",
    "csv": "text,id\none two,1\nthree,2\n",
    "tsv": "text\tid\none two\t1\nthree\t2\n",
    "jsonl": '{"text": "one two", "id": "1"}\n{"text": "three", "id": "2"}\n',
    "mallet": "1 x one two\n2 y three\n",
    "uci": "2\n3\n3\n1 1 1\n1 2 1\n2 3 1\n",
    "ldac": "2 0:1 1:1\n1 2:1\n",
    "svmlight": "1 1:1 2:1\n1 3:1\n",
    "mtx": "%%MatrixMarket matrix coordinate integer general\n2 3 3\n1 1 1\n1 2 1\n2 3 1\n",
}


NUMBERS = ("uci", "ldac", "svmlight", "mtx")
MARKED = [(suffix, "utf-8-sig") for suffix in CONTENT] + [(s, "utf-16") for s in CONTENT if s not in NUMBERS]


@pytest.mark.parametrize(("suffix", "encoding"), MARKED)
def test_a_byte_order_mark_is_passed_over(suffix: str, encoding: str, tmp_path: Path) -> None:
    numbers = suffix in NUMBERS
    content, path = CONTENT[suffix], tmp_path / f"a.{suffix}"
    path.write_bytes(content.encode(encoding))
    columns = {} if numbers or suffix in ("txt", "mallet") else {"id_column": "id"}
    found = topicloom.read(path, **columns, **({} if encoding == "utf-8-sig" else {"encoding": encoding}))
    assert found.doc_lengths.tolist() == [2, 1]
    if not numbers:
        assert found.vocabulary == ("one", "three", "two")
    if suffix != "txt" and not numbers:
        assert found.ids == ("1", "2")


def test_a_byte_order_mark_in_a_vocabulary(tmp_path: Path) -> None:
    (tmp_path / "a.ldac").write_text(CONTENT["ldac"])
    words = tmp_path / "a.ldac.vocab"
    words.write_text("one\ntwo\nthree\n", encoding="utf-8-sig")
    assert topicloom.read(tmp_path / "a.ldac").vocabulary == ("one", "two", "three")
    words.write_text(f"one\n{MARK}two\nthree\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"a.ldac.vocab, line 2: .*without a byte order mark"):
        topicloom.read(tmp_path / "a.ldac")


@pytest.mark.parametrize("suffix", ["uci", "ldac", "svmlight", "mtx", "npz", "mallet", "txt"])
def test_a_byte_order_mark_is_not_written(suffix: str, tmp_path: Path) -> None:
    """A reader would drop it, and have another word."""
    marked = topicloom.from_matrix(X, vocabulary=[MARK + "x", "y", "z"])
    with pytest.raises(InputError, match=r"begins with a byte order mark \(U\+FEFF\).*remove it"):
        formats.write(marked, tmp_path / f"a.{suffix}")
    if suffix == "mallet":
        with pytest.raises(InputError, match=r"begins with a byte order mark"):
            formats.write(corpus(ids=[MARK + "1", "2", "3", "4"]), tmp_path / f"a.{suffix}")
    assert list(tmp_path.iterdir()) == []


# -- long fields of CSV ---------------------------------------------------------------------------------------------


def test_long_fields_leave_others_limit_alone(tmp_path: Path) -> None:
    """Another thread reads CSV meanwhile, with a limit of its own choice."""
    path = tmp_path / "a.csv"
    path.write_text("text\n" + "word " * 60_000 + "\n")
    before = csv.field_size_limit(1000)
    seen: set[int] = set()
    refused: list[bool] = []
    done = threading.Event()

    def other() -> None:
        while True:
            seen.add(csv.field_size_limit())
            try:
                list(csv.reader(["x" * 2000]))
            except csv.Error:
                refused.append(True)
            else:
                refused.append(False)
            if done.is_set():
                return

    thread = threading.Thread(target=other)
    thread.start()
    try:
        for _ in range(5):
            assert topicloom.read(path).n_tokens == 60_000
    finally:
        done.set()
        thread.join()
        csv.field_size_limit(before)
    assert seen == {1000}
    assert all(refused)


def test_the_reader_has_a_limit_of_its_own() -> None:
    assert csv.field_size_limit() < 2**20
    assert next(_csv.csv_reader(["x" * 2**21])) == ["x" * 2**21]
    with pytest.raises(_csv.Error):
        list(_csv.csv_reader(['"'], strict=True))
