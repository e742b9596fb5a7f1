"""Groups that are numbers or dates are numbers or dates, from every kind of file, in every order, and after saving."""

import json
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import csr_array, save_npz

import topicloom
from tests.helpers.saved import file_of, put
from topicloom import CompoundLDA
from topicloom.compound import groups as _groups
from topicloom.corpus._columns import joined_groups
from topicloom.corpus.stored import load_corpus, save_corpus
from topicloom.errors import InputError
from topicloom.files.arrays import read_arrays, to_bytes


def _csv(folder: Path, cells: list[Any], delimiter: str = ",") -> tuple[Any, ...]:
    path = folder / ("a.csv" if delimiter == "," else "a.tsv")
    path.write_text(f"text{delimiter}g\n" + "".join(f"river{delimiter}{cell}\n" for cell in cells))
    return topicloom.read(path, group_column="g").groups  # type: ignore[return-value]


def _jsonl(folder: Path, cells: list[Any]) -> tuple[Any, ...]:
    (folder / "a.jsonl").write_text("".join(json.dumps({"text": "river", "g": cell}) + "\n" for cell in cells))
    return topicloom.read(folder / "a.jsonl", group_column="g").groups  # type: ignore[return-value]


def _parquet(folder: Path, cells: list[Any]) -> tuple[Any, ...]:
    pq.write_table(pa.table({"text": ["river"] * len(cells), "g": cells}), folder / "a.parquet")
    return topicloom.read(folder / "a.parquet", group_column="g").groups  # type: ignore[return-value]


def _frame(make: Callable[[dict[str, Any]], Any]) -> Callable[[Path, list[Any]], tuple[Any, ...]]:
    def groups(folder: Path, cells: list[Any]) -> tuple[Any, ...]:
        frame = make({"text": ["river"] * len(cells), "g": cells})
        return topicloom.from_frame(frame, text="text", group="g").groups  # type: ignore[return-value]

    return groups


def _folder(folder: Path, cells: list[Any]) -> tuple[Any, ...]:
    save_npz(folder / "docword.npz", csr_array(np.ones((len(cells), 1), np.int32)))
    (folder / "vocab.txt").write_text("river\n")
    (folder / "collection.txt").write_text("".join(f"{cell}\n" for cell in cells))
    return topicloom.read(folder).groups  # type: ignore[return-value]


SOURCES: dict[str, Callable[[Path, list[Any]], tuple[Any, ...]]] = {
    "csv": _csv,
    "tsv": lambda folder, cells: _csv(folder, cells, "\t"),
    "jsonl": _jsonl,
    "parquet": _parquet,
    "pandas": _frame(pd.DataFrame),
    "polars": _frame(pl.DataFrame),
    "pyarrow": _frame(pa.table),
    "folder": _folder,
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["10.0", "2.0", "1.0"], [10.0, 2.0, 1.0]),
        (["2015", "987", "-3"], [2015, 987, -3]),
        (["2", "10", "1.5"], [2.0, 10.0, 1.5]),
        (["2015-03-01", "2014-12-31", "2015-01-01"], [date(2015, 3, 1), date(2014, 12, 31), date(2015, 1, 1)]),
        (["2015-03-01T12:00", "2014-12-31", "2015-01-01"],
         [datetime(2015, 3, 1, 12), datetime(2014, 12, 31), datetime(2015, 1, 1)]),
        (["007", "10", "9"], ["007", "10", "9"]),
        (["10", "9", "east"], ["10", "9", "east"]),
        (["nan", "inf", "1_000"], ["nan", "inf", "1_000"]),
    ],
)  # fmt: skip
def test_a_column_is_numbers_or_dates_if_all_of_it_is(
    source: str, cells: list[str], expected: list[Any], tmp_path: Path
) -> None:
    found = SOURCES[source](tmp_path, cells)
    assert list(found) == expected
    assert [type(value) for value in found] == [type(value) for value in expected]


@pytest.mark.parametrize("source", ["jsonl", "parquet", "pandas", "polars", "pyarrow"])
def test_what_is_a_number_already_stays_one(source: str, tmp_path: Path) -> None:
    for cells in ([10, 9, 2015], [10.0, 2.5, 1.0]):
        found = SOURCES[source](tmp_path, list(cells))
        assert list(found) == cells
        assert {type(value) for value in found} == {type(cells[0])}


def test_dates_of_frames_and_mixed_columns() -> None:
    stamps = pd.DataFrame({"text": ["river bank"] * 2, "g": pd.to_datetime(["2020-05-01", "2019-01-01"])})
    assert topicloom.from_frame(stamps, text="text", group="g").groups == (date(2020, 5, 1), date(2019, 1, 1))
    assert joined_groups([1, "2", 3.5]) == [1.0, 2.0, 3.5]
    assert joined_groups([1, "q", True]) == [1, "q", True]
    assert joined_groups([True, False]) == [True, False]
    assert joined_groups(["9" * 5000, "1"]) == ["9" * 5000, "1"]


@pytest.mark.parametrize("source", ["csv", "folder"])
def test_an_empty_cell_is_refused(source: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"line \d.*expected a group: text, a number or a date"):
        SOURCES[source](tmp_path, ["1", " ", "3"])


def test_groups_come_back_from_a_file_as_they_were(tmp_path: Path) -> None:
    corpus = topicloom.from_texts(["river bank"] * 6)
    groups = (1, 2.0, "2015", date(2020, 1, 2), datetime(2020, 1, 2, 3, 4), True)
    save_corpus(corpus.with_metadata(groups=groups), tmp_path / "a.safetensors")
    found = load_corpus(tmp_path / "a.safetensors").groups
    assert found == groups
    assert [type(value) for value in found] == [type(value) for value in groups]


# -- models --------------------------------------------------------------------------------------------------------


RATINGS = ["1.0", "2.0", "9.0", "10.0"]


def _corpus(labels: list[Any]) -> topicloom.Corpus:
    """Water gives way to money from the first label to the last; the last has but one document."""
    rng = np.random.default_rng(5)
    texts, groups = [], []
    for j, label in enumerate(labels):
        for _ in range(1 if j == len(labels) - 1 else 12):
            words = np.where(rng.random(20) < 0.1 + 0.25 * j, "money", "water")
            texts.append(" ".join(words))
            groups.append(label)
    return topicloom.from_texts(texts).with_metadata(groups=groups)


@pytest.fixture(scope="module")
def fitted() -> dict[str, CompoundLDA]:
    """The same documents with the same labels, as text and as numbers."""
    quick = {"topic_word_prior": 0.1, "max_iter": 40, "random_state": 0}
    labels: dict[str, list[Any]] = {"text": RATINGS, "numbers": [float(rating) for rating in RATINGS]}
    return {kind: CompoundLDA(2, **quick).fit(_corpus(own)) for kind, own in labels.items()}


def test_trends_go_by_value_even_if_labels_are_text(fitted: dict[str, CompoundLDA]) -> None:
    for kind, model in fitted.items():
        order = [list(map(float, model.collections_)).index(rating) for rating in (1.0, 2.0, 9.0, 10.0)]
        weight = np.sqrt([12, 12, 12, 1])
        slopes = [np.polyfit([1, 2, 9, 10], model.pi_[order, k], 1, w=weight)[0] for k in range(2)]
        found = model.trends(frame="polars")
        np.testing.assert_allclose(found["mean"], slopes, atol=1e-12, err_msg=kind)
        assert found["probability"].max() == 1.0
        shown = model.prevalence(frame="polars")["collection"].to_list()
        assert list(map(float, shown)) == [1.0, 1.0, 2.0, 2.0, 9.0, 9.0, 10.0, 10.0]
    assert fitted["text"].collections_ == ("1.0", "10.0", "2.0", "9.0")  # labels that were given stay as they are
    assert fitted["numbers"].collections_ == (1.0, 2.0, 9.0, 10.0)


@pytest.mark.parametrize("kind", ["text", "numbers"])
def test_labels_are_known_by_their_value(fitted: dict[str, CompoundLDA], kind: str) -> None:
    """So that a model that was saved with labels as text knows those of a file that is read today, and the reverse."""
    model = fitted[kind]
    documents = ["water water money", "money money"]
    as_text, as_numbers = model.transform(documents, ["2.0", "10.0"]), model.transform(documents, [2, 10.0])
    np.testing.assert_array_equal(as_text, as_numbers)
    np.testing.assert_array_equal(
        model.differences("10", "1", frame="polars")["mean"], model.differences(10.0, 1.0, frame="polars")["mean"]
    )
    with pytest.raises(InputError, match="'7' is no collection"):
        model.differences("7", "1")


@pytest.mark.parametrize("labels", [[2009, 2015, 987], [date(2019, 5, 1), date(2020, 1, 1), date(987, 1, 1)]])
def test_a_saved_model_keeps_the_kind_of_its_labels(labels: list[Any], tmp_path: Path) -> None:
    model = CompoundLDA(2, max_iter=5, random_state=0).fit(_corpus(labels))
    model.save(tmp_path)
    found = topicloom.load(tmp_path)
    assert found.collections_ == model.collections_ == tuple(sorted(labels))
    assert found.corpus_.groups == model.corpus_.groups
    np.testing.assert_array_equal(found.trends(frame="polars")["mean"], model.trends(frame="polars")["mean"])


def test_a_model_of_an_earlier_version_is_read(fitted: dict[str, CompoundLDA], tmp_path: Path) -> None:
    """Its file has labels of collections as plain JSON, and does not say how documents were read."""
    fitted["text"].save(tmp_path)
    arrays, info, _ = read_arrays(file_of(tmp_path, "model"))
    del info["reading"]
    arrays["collections"] = to_bytes(["1.0", "10.0", "2.0", "9.0"])
    put(tmp_path, "model", (arrays, info))
    found = topicloom.load(tmp_path)
    np.testing.assert_array_equal(found.trends(frame="polars")["mean"], fitted["text"].trends(frame="polars")["mean"])


def test_where_labels_stand() -> None:
    days = _groups.in_order(["2021-01-01", "2020-01-01", "2020-07-01"])
    assert days.numbers == [1, 2, 0]
    assert days.unit == "year"
    assert days.times is not None
    np.testing.assert_allclose(np.diff(days.times), np.array([182, 184]) / 365.25, atol=1e-9)
    assert _groups.in_order(["b", "a", "10"]) == ([2, 1, 0], None, None)
    assert _groups.in_order([("x", 2), "a", 3]) == ([0, 1, 2], None, None)
    stamps = np.array(["2021-01-01", "2020-01-01"], "datetime64[ns]")
    corpus = topicloom.from_texts(["river bank", "bank river"])
    assert _groups.with_groups(corpus, stamps, every=True).groups == (datetime(2021, 1, 1), datetime(2020, 1, 1))


def test_times_of_text_that_are_numbers_are_numbers() -> None:
    theta = np.array([[0.5, 0.5], [0.2, 0.8]])
    found = topicloom.evaluation.topic_weights(theta, np.array(["10.0", "2.0"]))
    assert found.times.tolist() == [2, 10]
