"""The study of criteria for the number of topics, at a trial's size; and that the page has every option and column."""

import inspect
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from reproduce import search_topics as reproduction
from topicloom.datasets import synthetic_lda
from topicloom.diagnostics.search import search_topics

PAGE = Path(__file__).parents[2] / "docs" / "guide/number-of-topics.md"


def test_the_study_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    reproduction.main(["--quick", "--keep", str(tmp_path)])
    shown = capsys.readouterr().out
    assert "| criterion | K = 4 | all | numbers in it |" in shown
    assert "| **range** (one standard error) | " in shown
    assert "Halving dropped 0.0 of 7 numbers" in shown
    assert list(tmp_path.iterdir())


def test_corpora_follow_zipf_and_have_documents_of_many_lengths() -> None:
    settings = replace(reproduction.QUICK, docs=300, length=50.0, words=500)
    corpus, z = reproduction.make_corpus(5, settings, 0)
    assert len(z) == corpus.n_tokens
    assert np.median(corpus.doc_lengths) == pytest.approx(50, rel=0.15)
    assert corpus.doc_lengths.max() > 4 * corpus.doc_lengths.min()
    counts = np.sort(corpus.word_counts)[::-1]
    assert counts[:10].sum() > 10 * counts[-250:].sum() / 25
    assert reproduction.grid(20) == [5, 10, 14, 20, 28, 40, 80]


def test_a_chain_from_the_truth_predicts_better_than_nothing() -> None:
    settings = replace(reproduction.QUICK, docs=100, sweeps=5)
    corpus, z = reproduction.make_corpus(3, settings, 1)
    assert -np.log(corpus.n_words) < reproduction.from_truth(corpus, z, 3, 1, settings) < 0


def test_every_option_and_column_is_on_the_page() -> None:
    known = {
        name
        for text in re.findall(r"`([^`\n]+)`", PAGE.read_text(encoding="utf-8"))
        for name in re.findall(r"\w+", text)
    }
    options = {*inspect.signature(search_topics).parameters} - {"corpus", "model_parameters"}
    assert options <= known
    corpus = synthetic_lda(n_docs=30, n_words=20, n_topics=2, doc_length=10).corpus
    row = search_topics(corpus, [2], n_chains=1, max_iter=2, random_state=0).rows()[0]
    assert {name for name in row if not name.endswith("_se")} <= known
