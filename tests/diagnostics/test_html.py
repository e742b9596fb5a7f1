"""What notebooks and pages show of diagnostics: the figures of their tables, as text that does nothing."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.markup import seen
from topicloom import LDA, from_texts
from topicloom.diagnostics import (
    bootstrap_stability,
    chain_topics,
    compare,
    compare_all,
    diagnose,
    search_topics,
    stability,
    topic_diagnostics,
)
from topicloom.diagnostics.fitted import Diagnosis

TEXTS = ["goal <team> coach goal match goal"] * 6 + ["vote law party vote"] * 3 + ["law party vote court"] * 3


@pytest.fixture(scope="module")
def model() -> LDA:
    return LDA(2, n_chains=2, max_iter=20, trace_every=1, random_state=0).fit(from_texts(TEXTS, token_pattern=r"\S+"))


@pytest.fixture(scope="module")
def found(model: LDA) -> Diagnosis:
    return diagnose(model, min_ess=1)


def test_convergence(found: Diagnosis) -> None:
    text = seen(found._repr_html_())
    assert text.startswith("Convergence 2 chains · 20 sweeps each · the first 10 left out")
    assert found.verdict.text in text
    for row in found.rows():
        mark = " ▲" if row.rhat > 1.05 else ""
        assert f"{row.name} {row.quantities} {row.mean:.4g} {row.rhat:.3f}{mark}" in text
    for topic, words in zip(found.topics, found.words, strict=True):
        assert f"{topic.share:.1%} {topic.chains} of 2" in text
        assert words in text
    assert "<team>" in text


def test_the_page_has_all_of_it(model: LDA, found: Diagnosis, tmp_path: Path) -> None:
    again = bootstrap_stability(model, n_samples=2, max_iter=3)
    found.to_html(tmp_path / "page.html", again)
    text = seen((tmp_path / "page.html").read_text(encoding="utf-8"))
    for part in (found.verdict.text, str(again), "Do chains agree?", "Topics of the published chain", "<team>"):
        assert part in text
    for row in again.rows():
        assert f"{row['topic']} {row['share']:.0%} {row['lower']:.0%} to {row['upper']:.0%} {row['kind']}" in text
    assert str(again) in seen(again._repr_html_())
    nothing = replace(found, quantities=None, topics=(), words=())
    nothing.to_html(tmp_path / "page.html")
    assert "Do chains agree?" not in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_stability_over_runs(model: LDA) -> None:
    runs = stability(chain_topics(model), reference=0)
    text = seen(runs._repr_html_())
    assert f"1 run beside run 0 · a topic is in {runs.score:.0%} of them on average" in text
    for row in runs.rows():
        assert f"{row['topic']} {row['share']:.0%} {row['lower']:.0%} to {row['upper']:.0%}" in text


def test_models_compared(model: LDA) -> None:
    other = LDA(1, max_iter=3, random_state=0).fit(model.corpus_)
    several = compare_all({"<b>two</b>": model, "one": other}, model.corpus_)
    text = seen(several._repr_html_())
    for row in several.rows():
        assert f"{row['model']} {row['per_token']:.4f} {row['perplexity']:.1f} {row['difference']:.4f}" in text
    pair = compare(model, other, model.corpus_, names=("<b>", "one"))
    assert pair.verdict in seen(pair._repr_html_())


def test_numbers_of_topics(model: LDA) -> None:
    search = search_topics(model.corpus_, [1, 2], n_chains=2, max_iter=5, random_state=0, left_to_right_docs=2)
    text = seen(search._repr_html_())
    assert search.text in text
    for row in search.rows():
        assert f"{row['n_topics']} {row['completion']:.4f} {row['difference']:.4f}" in text
    assert text.count("recommended") == int(np.count_nonzero(search.within_one_se))


def test_topics(model: LDA) -> None:
    measured = topic_diagnostics(model, n_top_words=3)
    text = seen(measured._repr_html_())
    for row in measured.rows():
        words = " ".join(measured.top_words[row["topic"]][:3])
        assert f"{row['topic']} {words} {row['tokens']:,} {row['document_entropy']:.2f}" in text
