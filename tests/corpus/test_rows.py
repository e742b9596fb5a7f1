"""Tables without a data-frame library: what they print, and that every result has one."""

import inspect

import numpy as np
import pytest

from topicloom import CompoundLDA, LabeledLDA, MedLDAClassifier, from_texts
from topicloom.corpus import Rows, frames
from topicloom.diagnostics.topics import TopicDiagnostics, topic_diagnostics
from topicloom.errors import InputError
from topicloom.evaluation.convergence import summary


def test_rows_are_a_sequence_with_columns_by_name():
    rows = Rows({"topic": np.arange(3), "share": np.array([0.5, np.nan, 1e-9]), "word": ["a", "b\n c", None]})
    assert (len(rows), rows.columns) == (3, ("topic", "share", "word"))
    assert rows["topic"] == [0, 1, 2]
    assert rows[0] == {"topic": 0, "share": 0.5, "word": "a"}
    assert type(rows[0]["share"]) is float
    assert rows[-1]["word"] is None
    assert rows[:1] == Rows({"topic": [0], "share": [0.5], "word": ["a"]})
    assert [row["topic"] for row in rows] == [0, 1, 2]
    assert str(rows).splitlines() == [
        "topic   share  word", "    0  0.5000  a", "    1     nan  b c", "    2   1e-09  –",
    ]  # fmt: skip
    assert str(Rows({})) == "no rows"
    assert str(rows[3:]) == "no rows; columns topic, share, word"
    assert "<table" in rows._repr_html_()
    assert "&lt;b&gt;" in Rows({"word": ["<b>"]})._repr_html_()
    with pytest.raises(KeyError, match="no column 'words'; there are 'topic', 'share', 'word'"):
        rows["words"]
    with pytest.raises(InputError, match="equally long"):
        Rows({"a": [1], "b": [1, 2]})


def test_wide_and_long_rows_print_whole_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    rows = Rows({"id": [f"doc-{d}" for d in range(70)], **{f"topic_{k}": np.full(70, 0.25) for k in range(20)}})
    printed = str(rows).splitlines()
    assert max(map(len, printed)) <= 60
    assert sum(line.startswith("id ") for line in printed) == 4  # blocks, each with the ids
    assert all(f"topic_{k}" in str(rows) for k in range(20))
    assert printed[-1] == "… 10 more rows"


def test_a_plain_install_has_every_table(monkeypatch):
    """Every method that takes ``frame`` gives rows, equal to those of a data frame."""
    corpus = from_texts(["river bank river", "loan money bank"] * 6).with_metadata(
        labels=[("water",), ("money",)] * 6, groups=["left", "right"] * 6
    )
    options = {"random_state": 0, "max_iter": 6, "burn_in": 3, "thin": 1}
    compound = CompoundLDA(2, **options).fit(corpus)
    labeled = LabeledLDA(method="gibbs", **options).fit(corpus)
    supervised = MedLDAClassifier(2, **options).fit(corpus)
    given = {"top_docs": (0,), "differences": ("left", "right"), "explain": (corpus,), "explain_tokens": (corpus,)}
    sources = [compound, labeled, supervised, topic_diagnostics(compound), summary(np.zeros((2, 8)) + np.arange(8))]
    found, seen = [], set()
    for source in sources:
        for name, method in inspect.getmembers(source, inspect.ismethod):
            if not name.startswith("_") and "frame" in inspect.signature(method).parameters:
                found.append((method, given.get(name, ())))
                seen.add(name)
    assert seen >= {"topics_frame", "doc_topics_frame", "top_docs", "prevalence", "differences", "trends"}
    assert seen >= {"class_topics", "words_frame", "to_frame"}
    assert isinstance(sources[3], TopicDiagnostics)
    framed = [method(*arguments, frame="pandas") for method, arguments in found]
    monkeypatch.setattr(frames, "find_spec", lambda name: None)
    for (method, arguments), frame in zip(found, framed, strict=True):
        rows = method(*arguments)
        assert isinstance(rows, Rows)
        assert rows.columns == tuple(frame.columns)
        for name in rows.columns:
            assert rows[name] == frame[name].tolist() or np.isnan(rows[name]).any()
