"""Data frames of three libraries to a corpus, and results back in the caller's own kind."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from topicloom.corpus import Rows, frames
from topicloom.corpus.frames import from_frame, to_frame
from topicloom.errors import InputError, MissingExtraError

each_library = pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])

ROWS = {
    "body": ["a cat sat", "", "the dog"],
    "key": [7, 8, 9],
    "tags": ["x y", None, '["new york"]'],
    "part": ["u", "v", "u"],
    "score": [1.5, 2.0, -3.0],
    "when": [dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1, 12), dt.datetime(2022, 5, 1)],
}


@each_library
def test_texts_with_metadata(make):
    corpus = from_frame(
        make(ROWS),
        text="body",
        id="key",
        label="tags",
        group="part",
        response="score",
        time="when",
        stop_words=["the"],
    )
    assert corpus.vocabulary == ("cat", "dog", "sat")
    assert corpus.doc_lengths.tolist() == [2, 0, 1]
    assert corpus.ordered
    assert corpus.text_options.stop_words == ("the",)
    assert corpus.ids == ("7", "8", "9")
    assert corpus.labels == (("x y",), (), ("new york",))
    assert corpus.groups == ("u", "v", "u")
    assert corpus.responses.tolist() == [1.5, 2.0, -3.0]
    assert np.array_equal(corpus.times, np.array(ROWS["when"], "datetime64[us]"))


@each_library
def test_counts(make):
    frame = make({"cat": [1, 0, 2], "name": ["a", "b", "c"], "dog": [0.0, 0.0, 1.0], "seen": [True, False, False]})
    corpus = from_frame(frame, id="name")
    assert corpus.vocabulary == ("cat", "dog", "seen")
    assert corpus.to_matrix().toarray().tolist() == [[1, 0, 1], [0, 0, 0], [2, 1, 0]]
    assert corpus.ids == ("a", "b", "c")
    assert not corpus.ordered


@each_library
def test_fractions_become_weights(make):
    corpus = from_frame(make({"cat": [0.5, 0.0], "dog": [0.0, 2.0]}))
    assert corpus.weights.tolist() == [0.5, 2.0]


@each_library
def test_lists_of_labels_and_dates(make):
    frame = make(
        {
            "t": ["some", "words"],
            "l": [["x", "y z"], []],
            "d": [dt.date(2020, 2, 29), dt.date(1999, 1, 1)],
            "n": [2020, 1999],
        }
    )
    corpus = from_frame(frame, text="t", label="l", time="d")
    assert corpus.labels == (("x", "y z"), ())
    assert np.array_equal(corpus.times, np.array(["2020-02-29", "1999-01-01"], "datetime64[us]"))
    years = from_frame(frame, text="t", time="n").times
    assert years.tolist() == [2020, 1999]
    assert years.dtype == np.int64


@each_library
def test_times_with_a_zone_are_in_utc(make):
    zone = dt.timezone(dt.timedelta(hours=2))
    corpus = from_frame(make({"t": ["words"], "w": [dt.datetime(2020, 1, 1, 12, tzinfo=zone)]}), text="t", time="w")
    assert corpus.times.tolist() == [dt.datetime(2020, 1, 1, 10)]


def test_many_rows_and_a_shifted_index():
    n = 10_000
    frame = pd.DataFrame({"t": [f"w{i % 7} common" for i in range(n)]}, index=np.arange(n) + 5)
    corpus = from_frame(frame, text="t")
    assert corpus.n_docs == n
    assert corpus.vocabulary == ("common", *(f"w{i}" for i in range(7)))


def test_pandas_of_many_kinds():
    assert from_frame(pd.DataFrame([[1, 2], [3, 4]])).vocabulary == ("0", "1")
    sparse = pd.DataFrame.sparse.from_spmatrix(pd.DataFrame([[0, 2], [1, 0]]).astype("Sparse[int]").sparse.to_coo())
    assert from_frame(sparse).to_matrix().toarray().tolist() == [[0, 2], [1, 0]]
    nullable = pd.DataFrame({"a": pd.array([1, 2], "Int64"), "b": pd.array([0, 1], "Int8")})
    assert from_frame(nullable).to_matrix().toarray().tolist() == [[1, 0], [2, 1]]
    categories = pd.DataFrame({"t": pd.Categorical(["aa bb", "cc"]), "g": pd.Categorical(["u", "v"])})
    assert from_frame(categories, text="t", group="g").groups == ("u", "v")


@each_library
@pytest.mark.parametrize(
    ("columns", "options", "parts"),
    [
        ({"t": ["a", None]}, {"text": "t"}, ["row 1 of the column 't' is missing", "None", 'missing="empty"']),
        ({"t": [1, 2]}, {"text": "t"}, ["row 0 of the column 't' holds the number 1, not a text"]),
        ({"t": ["a"], "u": [1]}, {"text": "x"}, ["text='x'", "'t', 'u'"]),
        ({"t": ["a"]}, {"text": "t", "time": "when"}, ["time='when'", "'t'"]),
        ({"t": ["a"]}, {}, ["column 't'", "not counts", "text="]),
        ({"t": [dt.date(2020, 1, 1)]}, {}, ["column 't'", "not counts"]),
        ({"c": [1, None]}, {}, ["row 1", "column 'c'", "null"]),
        ({"c": [1, -2]}, {}, ["document 1", "-2", "'c'"]),
        ({"c": [1.0, float("inf")]}, {}, ["document 1", "inf", "'c'"]),
        ({"i": ["a"]}, {"id": "i"}, ["no column is left"]),
        ({"t": []}, {"text": "t"}, ["no rows"]),
        ({"c": [1]}, {"lowercase": False}, ["'lowercase'", "text="]),
        ({"t": ["aa", "b"], "i": ["x", None]}, {"text": "t", "id": "i"}, ["row 1", "column 'i'", "an id"]),
        ({"t": ["aa", "b"], "i": ["x", None]}, {"text": "t", "group": "i"}, ["row 1", "a group"]),
        ({"t": ["aa", "b"], "i": [1.0, None]}, {"text": "t", "response": "i"}, ["row 1", "finite number"]),
        ({"t": ["aa", "b"], "i": ["1", "x"]}, {"text": "t", "response": "i"}, ["row 1", "'x'"]),
        ({"t": ["aa", "b"], "i": [1999, None]}, {"text": "t", "time": "i"}, ["row 1", "a time"]),
        ({"t": ["aa", "b"], "i": ["1999", "2020-01-01"]}, {"text": "t", "time": "i"}, ["row 1", "a number"]),
        ({"t": ["1", "2"]}, {"text": "t"}, ["vocabulary is empty"]),
    ],
)
def test_bad_frames(make, columns, options, parts):
    with pytest.raises(InputError) as caught:
        from_frame(make(columns), **options)
    for part in parts:
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (np.eye(2), "not ndarray"),
        (["a text"], "not list"),
        ({"t": ["a"]}, "not dict"),
        (pd.Series(["a"]), "not Series"),
        (pl.LazyFrame({"t": ["a"]}), "lazy; call its collect"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "cannot be used"),
    ],
)
def test_what_is_no_frame(frame, message):
    with pytest.raises(InputError, match=message):
        from_frame(frame)


def test_a_long_list_of_columns_is_cut():
    with pytest.raises(InputError, match=r"'c19' and 30 more"):
        from_frame(pd.DataFrame({f"c{i}": [1] for i in range(50)}), id="x")


# -- results --------------------------------------------------------------------------------------------------

RESULT = {"topic": np.arange(3), "word": ["a", "b", "c"], "share": np.array([0.5, 0.25, 0.25])}


@pytest.mark.parametrize(
    ("like", "kind"),
    [
        (None, pd.DataFrame),
        ("pandas", pd.DataFrame),
        ("polars", pl.DataFrame),
        ("pyarrow", pa.Table),
        (pd.DataFrame({"x": [1]}), pd.DataFrame),
        (pl.DataFrame({"x": [1]}), pl.DataFrame),
        (pl.LazyFrame({"x": [1]}), pl.DataFrame),
        (pa.table({"x": [1]}), pa.Table),
    ],
)
def test_to_frame(like, kind):
    frame = to_frame(RESULT, like)
    assert isinstance(frame, kind)
    columns = {name: [getattr(v, "as_py", lambda v=v: v)() for v in frame[name]] for name in RESULT}
    assert columns == {"topic": [0, 1, 2], "word": ["a", "b", "c"], "share": [0.5, 0.25, 0.25]}


def test_read_only_columns_fit_every_library():
    fixed = np.arange(3)
    fixed.flags.writeable = False
    for like in ("pandas", "polars", "pyarrow"):
        assert len(to_frame({"a": fixed}, like)) == 3


def test_to_frame_refuses():
    with pytest.raises(InputError, match="equally long"):
        to_frame({"a": [1], "b": [1, 2]})
    with pytest.raises(InputError, match="frame='excel'"):
        to_frame(RESULT, "excel")
    with pytest.raises(InputError, match="not ndarray"):
        to_frame(RESULT, np.eye(2))


def test_to_frame_prefers_pandas_then_polars_then_plain_rows(monkeypatch):
    monkeypatch.setattr(frames, "find_spec", lambda name: None if name == "pandas" else object())
    assert isinstance(to_frame(RESULT), pl.DataFrame)
    with pytest.raises(MissingExtraError, match="pip install pandas"):
        to_frame(RESULT, "pandas")
    monkeypatch.setattr(frames, "find_spec", lambda name: None)
    rows = to_frame(RESULT)
    assert isinstance(rows, Rows)
    assert to_frame(RESULT, "rows") == to_frame(RESULT, rows) == rows
