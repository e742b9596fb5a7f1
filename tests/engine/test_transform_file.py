"""``transform_file``: every kind of file in and out, the numbers of ``transform``, and no half file after a failure."""

import csv
import gzip
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import topicloom
from topicloom.errors import InputError, SkippedFilesWarning, UnknownWordsWarning

THEMES = ("bread oven flour bread", "violin sonata concert", "river boat water river")
TEXTS = [f"{THEMES[d % 3]} {THEMES[d % 2]}" * (d % 4) + " zebra" * (d == 9) for d in range(23)]


@pytest.fixture(scope="module")
def model() -> topicloom.LDA:
    return topicloom.LDA(3, max_iter=30, random_state=0).fit([text for text in TEXTS if "zebra" not in text])


@pytest.fixture(scope="module")
def theta(model: topicloom.LDA) -> np.ndarray:
    return model.transform(TEXTS)


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sources")
    rows = [{"body": text, "name": f"n{d}"} for d, text in enumerate(TEXTS)]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "new.jsonl").write_text(lines)
    (folder / "new.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    (folder / "new.txt").write_text("".join(text + "\n" for text in TEXTS))
    (folder / "new.mallet").write_text("".join(f"n{d}\t-\t{text}\n" for d, text in enumerate(TEXTS)))
    for name, delimiter in (("new.csv", ","), ("new.tsv", "\t"), ("semicolon.csv", ";")):
        with (folder / name).open("w", newline="") as file:
            writer = csv.DictWriter(file, ["body", "name"], delimiter=delimiter)
            writer.writeheader()
            writer.writerows(rows)
    return folder


COLUMNS = {"text_column": "body", "id_column": "name"}
OF: dict[str, dict[str, Any]] = {
    "new.jsonl": COLUMNS, "new.jsonl.gz": COLUMNS, "new.csv": COLUMNS, "new.tsv": COLUMNS, "new.txt": {},
    "new.mallet": {}, "semicolon.csv": {**COLUMNS, "delimiter": ";"},
}  # fmt: skip


@pytest.mark.parametrize("name", OF)
@pytest.mark.parametrize("chunk_size", [1, 5, 1000])
def test_every_source_gives_the_numbers_of_transform(
    model: topicloom.LDA, theta: np.ndarray, sources: Path, tmp_path: Path, name: str, chunk_size: int
) -> None:
    done = model.transform_file(sources / name, tmp_path / "a.csv", chunk_size=chunk_size, **OF[name])
    rows = read_csv(tmp_path / "a.csv")
    assert [row["id"] for row in rows] == [str(d) if name == "new.txt" else f"n{d}" for d in range(len(TEXTS))]
    np.testing.assert_array_equal([[float(row[f"topic_{k}"]) for k in range(3)] for row in rows], theta)
    assert [int(row["unknown"]) for row in rows] == [int(d == 9) for d in range(len(TEXTS))]
    assert (done.documents, done.unknown, done.empty) == (23, 1, 6)
    assert done.tokens == sum(int(row["tokens"]) for row in rows)


def test_folders_and_several_files_are_one_source(
    model: topicloom.LDA, theta: np.ndarray, sources: Path, tmp_path: Path
) -> None:
    """In the order that ``topicloom.read`` has, across the ends of chunks; a table may have no line of names."""
    folder = tmp_path / "new"
    (folder / "sub").mkdir(parents=True)
    for d, text in enumerate(TEXTS):
        (folder / ("sub" if d % 2 else ".") / f"{d:02}.txt").write_text(text)
    corpus = topicloom.read(folder, vocabulary=model.vocabulary_)
    expected = model.transform(corpus)
    every = [folder, str(folder / "**/*.txt"), sorted(folder.rglob("*.txt"))]
    for source in every:
        model.transform_file(source, tmp_path / "a.csv", chunk_size=7)
        rows = read_csv(tmp_path / "a.csv")
        assert tuple(row["id"] for row in rows) == corpus.ids
        np.testing.assert_array_equal([[float(row[f"topic_{k}"]) for k in range(3)] for row in rows], expected)
    assert not np.array_equal(expected, theta)  # the order is that of the names
    for name, rows in (("1.csv", TEXTS[:9]), ("2.csv", TEXTS[9:])):
        (tmp_path / name).write_text("".join(f'{len(text)};"{text}"\n' for text in rows))
    named = {"header": False, "delimiter": "semicolon", "text_column": "1"}
    model.transform_file([tmp_path / "1.csv", tmp_path / "2.csv"], tmp_path / "a.npy", chunk_size=4, **named)
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), theta)
    (folder / "more.text").write_text("river")
    with pytest.warns(SkippedFilesWarning, match=r"passed over: 1 with \.text"):
        assert model.transform_file(folder, tmp_path / "a.npy").documents == 23
    assert model.transform_file(folder, tmp_path / "a.npy", suffix="").documents == 24


def read_csv(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        return list(csv.DictReader(file))


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        return [json.loads(line) for line in file]


READERS: dict[str, Callable[[Path], list[dict[str, Any]]]] = {
    "a.csv": read_csv, "a.csv.gz": read_csv, "a.jsonl": read_jsonl, "a.jsonl.gz": read_jsonl,
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("target", READERS)
def test_every_target_holds_all_or_the_largest_shares(
    model: topicloom.LDA, theta: np.ndarray, sources: Path, tmp_path: Path, target: str, dtype: Any
) -> None:
    path, expected = tmp_path / target, theta.astype(dtype)
    model.transform_file(sources / "new.txt", path, chunk_size=7, dtype=dtype)
    rows = READERS[target](path)
    found = [row["topics"] if "jsonl" in target else [row[f"topic_{k}"] for k in range(3)] for row in rows]
    np.testing.assert_array_equal(np.array(found, float).astype(dtype), expected)
    model.transform_file(sources / "new.txt", path, chunk_size=7, dtype=dtype, top_n=2)
    order = np.argsort(-theta, axis=1, kind="stable")[:, :2]
    rows = READERS[target](path)
    jsonl = "jsonl" in target
    numbers = [row["topics"] if jsonl else [row["top_1"], row["top_2"]] for row in rows]
    shares = [row["shares"] if jsonl else [row["share_1"], row["share_2"]] for row in rows]
    np.testing.assert_array_equal(np.array(numbers, int), order)
    largest = np.take_along_axis(expected, order, axis=1)
    np.testing.assert_array_equal(np.array(shares, float).astype(dtype), largest)


def test_numpy_and_parquet(model: topicloom.LDA, theta: np.ndarray, sources: Path, tmp_path: Path) -> None:
    model.transform_file(sources / "new.txt", tmp_path / "a.npy", chunk_size=4, dtype="float32")
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), theta.astype(np.float32))
    parquet = pytest.importorskip("pyarrow.parquet", reason="Parquet needs pyarrow")
    pyarrow = pytest.importorskip("pyarrow")
    names = [f"n{d}" for d in range(len(TEXTS))]
    parquet.write_table(pyarrow.table({"body": TEXTS, "name": names}), tmp_path / "in.parquet", row_group_size=6)
    model.transform_file(tmp_path / "in.parquet", tmp_path / "a.parquet", chunk_size=4, **COLUMNS)
    table = parquet.read_table(tmp_path / "a.parquet").to_pydict()
    assert table["id"] == names
    np.testing.assert_array_equal(np.transpose([table[f"topic_{k}"] for k in range(3)]), theta)
    model.transform_file(tmp_path / "in.parquet", tmp_path / "a.parquet", top_n=9, dtype="float32", **COLUMNS)
    table = parquet.read_table(tmp_path / "a.parquet").to_pydict()
    assert list(table) == ["id", "tokens", "unknown", "topics", "shares"]
    np.testing.assert_array_equal(table["topics"], np.argsort(-theta, axis=1, kind="stable"))


@pytest.mark.parametrize("method", ["cvb0", "gibbs"])
def test_chunks_and_threads_change_nothing(sources: Path, tmp_path: Path, method: Any) -> None:
    texts = [text for text in TEXTS if text]
    own = topicloom.LDA(3, max_iter=5, random_state=0, predict_options={"method": method}).fit(texts)
    expected = own.transform(TEXTS)
    for chunk_size, n_jobs in ((1, 1), (6, 2), (100, 2)):
        own.set_params(n_jobs=n_jobs).transform_file(sources / "new.txt", tmp_path / "a.npy", chunk_size=chunk_size)
        np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), expected)


def test_groups_choose_the_prior(tmp_path: Path) -> None:
    groups = ["a", "b"] * 10
    model = topicloom.CompoundLDA(2, max_iter=10, random_state=0).fit(TEXTS[1:21], groups)
    rows = [{"text": text, "where": group} for text, group in zip(TEXTS[1:21], groups, strict=True)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    model.transform_file(tmp_path / "in.jsonl", tmp_path / "a.npy", group_column="where", chunk_size=3)
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), model.transform(TEXTS[1:21], groups))


@pytest.mark.parametrize("failure", [KeyboardInterrupt, InputError])
def test_a_failure_leaves_what_was_there(
    model: topicloom.LDA, sources: Path, tmp_path: Path, failure: type[BaseException]
) -> None:
    target, seen = tmp_path / "a.csv", []
    target.write_text("before")

    def stop(done: Any) -> None:
        seen.append(done.documents)
        if len(seen) == 2:
            raise failure("stop")

    with pytest.raises(failure):
        model.transform_file(sources / "new.txt", target, chunk_size=4, callback=stop)
    assert seen == [4, 8]
    assert target.read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_bad_requests_are_refused_before_anything_is_written(
    model: topicloom.LDA, sources: Path, tmp_path: Path
) -> None:
    new, matrix = sources / "new.txt", tmp_path / "counts.mtx"
    matrix.write_text("")
    (tmp_path / "empty.txt").write_text("")
    archive = sources / "new.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.write(new, "new.txt")
    cases: list[tuple[Any, str, dict[str, Any], str]] = [
        (new, "a.xlsx", {}, r"the name must end in \.csv, \.jsonl, \.parquet or \.npy"),
        (new, "a.npy", {"top_n": 2}, r"\.npy holds the shares of all topics; leave out top_n"),
        (new, "a.csv", {"top_n": 0}, r"top_n=0 must be a whole number of at least 1"),
        (new, "a.csv", {"dtype": "int8"}, r"dtype='int8' is not known"),
        (new, "a.csv", {"chunk_size": 0}, r"chunk_size=0 must be a whole number"),
        (new, "a.csv", {"id_column": "name"}, r"'id_column' is not an option of format 'txt'"),
        (sources / "new.csv", "a.csv", {}, r"there is no column 'text'"),
        (sources / "none.txt", "a.csv", {}, r"there is no file"),
        (tmp_path / "empty.txt", "a.csv", {}, r"has no documents"),
        (matrix, "a.csv", {}, r"the format 'mtx', which is not read in chunks"),
        (new, "none/a.csv", {}, r"there is no folder"),
        (archive, "a.csv", {}, r"is or has an archive, which is not read in chunks"),
        ([], "a.csv", {}, r"path is an empty list"),
    ]
    for source, target, options, message in cases:
        with pytest.raises(InputError, match=message):
            model.transform_file(source, tmp_path / target, **options)
    with pytest.raises(InputError, match=r"is the file that is read"):
        model.transform_file(sources / "new.csv", sources / "new.csv", **COLUMNS)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["counts.mtx", "empty.txt"]
    own = topicloom.LDA(2, max_iter=2).fit(topicloom.from_texts(TEXTS, tokenizer=str.split))
    with pytest.raises(InputError, match=r"give transform_file the one that cut them"):
        own.transform_file(new, tmp_path / "a.csv")
    own.transform_file(new, tmp_path / "a.npy", tokenizer=str.split)
    again = topicloom.from_texts(TEXTS, tokenizer=str.split, vocabulary=own.vocabulary_)
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), own.transform(again))


def test_unknown_words_are_told_once(model: topicloom.LDA, tmp_path: Path) -> None:
    (tmp_path / "new.txt").write_text("zebra lion\n" * 6 + "river\n")
    with pytest.warns(UnknownWordsWarning, match=r"92% of the words in 7 documents are not in") as told:
        model.transform_file(tmp_path / "new.txt", tmp_path / "a.csv", chunk_size=2)
    assert len(told) == 1
