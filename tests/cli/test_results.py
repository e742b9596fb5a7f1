"""``topics``, ``transform`` and ``evaluate``: what they print and write, and the message of every bad input."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import topicloom
from tests.cli.invoking import THEMES, Run


def test_topics(run: Run, document: Callable[..., Any], model: Path) -> None:
    fitted = topicloom.load(model)
    found = document("topics", model, "--words", 4)
    assert [topic["topic"] for topic in found] == [0, 1, 2]
    assert sum(topic["share"] for topic in found) == pytest.approx(1.0)
    assert [[word["word"] for word in topic["words"]] for topic in found] == fitted.top_words(4)
    rows = list(csv.DictReader(run("topics", model, "--csv", "--words", 4).stdout.splitlines()))
    assert len(rows) == 12
    assert [row["word"] for row in rows[:4]] == fitted.top_words(4)[0]
    assert float(rows[0]["probability"]) == fitted.topic_word_[0].max()
    assert " ".join(fitted.top_words(4)[2]) in run("topics", model, "--words", 4).stdout


def test_shares_are_those_of_the_tokens(document: Callable[..., Any], files: Path, tmp_path: Path) -> None:
    document("fit", files / "texts.txt", "--out", tmp_path / "m", "-k", 3, "-n", 20, "--estimator", "standard")
    shares = [topic["share"] for topic in document("topics", tmp_path / "m")]
    z = topicloom.load(tmp_path / "m").chains_[0].state.z
    np.testing.assert_allclose(shares, np.bincount(z, minlength=3) / len(z))


def test_transform_writes_every_format(
    run: Run, document: Callable[..., Any], files: Path, model: Path, tmp_path: Path
) -> None:
    args = ["transform", model, files / "new.jsonl", "--text-column", "body", "--id-column", "name"]
    texts = [json.loads(line)["body"] for line in (files / "new.jsonl").read_text().splitlines()]
    fitted = topicloom.load(model)
    with pytest.warns(topicloom.errors.UnknownWordsWarning):
        expected = fitted.transform(texts)

    printed = run(*args)
    assert "of the words in 7 documents are unknown to the model; 1 document has no known word" in printed.stderr
    rows = list(csv.DictReader(printed.stdout.splitlines()))
    assert [row["id"] for row in rows] == [*(f"doc-{d}" for d in range(6)), "strange"]
    assert [int(row["unknown"]) for row in rows] == [3, 3, 3, 3, 3, 3, 2]
    np.testing.assert_array_equal([[float(row[f"topic_{k}"]) for k in range(3)] for row in rows], expected)

    run(*args, "--out", tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == printed.stdout
    run(*args, "--out", tmp_path / "a.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), expected)
    run(*args, "--out", tmp_path / "a.jsonl")
    records = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert records[6] == {"id": "strange", "tokens": 0, "unknown": 2, "topics": expected[6].tolist()}
    assert document(*args)["doc_topics"] == records
    assert document(*args)["unknown_share"] == 20 / 92


def test_transform_of_counts_goes_by_names_of_words(run: Run, files: Path, model: Path) -> None:
    rows = list(csv.DictReader(run("transform", model, files / "counts.uci").stdout.splitlines()))
    fitted = topicloom.load(model)
    expected = fitted.transform([THEMES[d % 3] for d in range(5)])
    np.testing.assert_array_equal([[float(row[f"topic_{k}"]) for k in range(3)] for row in rows], expected)


def test_transform_without_input_gives_the_training_documents(document: Callable[..., Any], model: Path) -> None:
    found = document("transform", model)
    expected = topicloom.load(model).doc_topic_
    np.testing.assert_array_equal([row["topics"] for row in found["doc_topics"]], expected)


def test_evaluate(run: Run, document: Callable[..., Any], files: Path, model: Path) -> None:
    fitted = topicloom.load(model)
    corpus = fitted.corpus_
    found = document("evaluate", model, "--words", 4)["scores"]
    assert found == {
        "coherence c_npmi": pytest.approx(topicloom.evaluation.coherence(fitted.topic_word_, corpus, n_words=4).mean()),
        "diversity": topicloom.evaluation.topic_diversity(fitted.topic_word_, corpus.n_words),
    }
    new = [files / "new.jsonl", "--text-column", "body"]
    every = "perplexity,left-to-right,coherence,diversity"
    found = document("evaluate", model, *new, "--measures", every, "--words", 3, "--coherence", "u_mass")
    assert len(found["by_topic"]["coherence u_mass"]) == 3
    assert 1 < found["scores"]["perplexity"] < fitted.corpus_.n_words
    assert -3 < found["scores"]["left-to-right log-likelihood/token"] < 0
    shown = run("evaluate", model, *new, "--measures", "perplexity").stdout
    assert f"{found['scores']['perplexity']:.4f}" in shown
    assert "coherence" not in shown


def test_bad_requests_of_results_are_told(refused: Callable[..., str], files: Path, model: Path) -> None:
    assert "the name must end in .csv, .jsonl, .parquet or .npy" in refused("transform", model, "--out", "theta.xlsx")
    assert "there is no file" in refused("transform", model, files / "none.txt")
    assert "--measures r2: not known" in refused("evaluate", model, "--measures", "r2")
    assert "--measures perplexity scores held-out documents" in refused("evaluate", model, "--measures", "perplexity")
    assert "--coherence 'c_x' is not known" in refused("evaluate", model, "--coherence", "c_x")
    assert "--words 0 must be" in refused("topics", model, "--words", 0)
