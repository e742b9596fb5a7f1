"""What notebooks show of models: topics of a fitted one, scikit-learn's box of one that is not."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn

import topicloom
from tests.helpers.markup import seen
from topicloom import HMM, LDA, CompoundLDA, LabeledLDA, MedLDAClassifier, VariationalLDA, from_texts
from topicloom.engine.estimator import html

TEXTS = ["goal <team> coach goal"] * 3 + ["vote law party vote", "vote law", "law party"]
QUICK: dict[str, Any] = {"max_iter": 6, "trace_every": 2, "random_state": 0}


def words(corpus_texts: list[str]) -> topicloom.Corpus:
    return from_texts(corpus_texts, token_pattern=r"\S+")


@pytest.fixture(scope="module")
def model() -> LDA:
    return LDA(2, n_chains=2, burn_in=2, **QUICK).fit(words(TEXTS))


def test_topics_sizes_and_parameters(model: LDA) -> None:
    text = seen(model._repr_html_())
    assert text.startswith("LDA 2 topics · 6 documents · 6 words · 6 sweeps · 2 chains")
    shares = np.array(model.trace_.topic_sizes[-1]) / model.corpus_.n_tokens
    for k, own in enumerate(model.top_words(8)):
        assert f"{k} {shares[k]:.1%} {' '.join(own)}" in text
    assert "<team>" in text
    assert "Parameters (6 changed)" in text
    assert "n_components 2" in text
    bundle = model._repr_mimebundle_()
    assert bundle == {"text/plain": repr(model), "text/html": model._repr_html_()}


def test_names_and_verdict_if_there_are_any(model: LDA, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(model), "topic_names_", ("<i>sport</i>", None))
    monkeypatch.setattr(type(model), "verdict_", "The chains agree. R-hat is 1.", raising=False)
    text = seen(model._repr_html_())
    assert "0 <i>sport</i> " in text
    assert "The chains agree. R-hat is 1." in text


def test_nothing_is_computed_or_read_for_it(model: LDA, tmp_path: Path) -> None:
    """A model that was saved without its corpus has no θ; scikit-learn's own box would ask for it."""
    model.save(tmp_path / "model", corpus=False)
    loaded = topicloom.load(tmp_path / "model")
    assert seen(loaded._repr_html_()) == seen(model._repr_html_())
    assert loaded._doc_topic is None


def test_a_model_that_is_not_fitted_has_the_box_of_scikit_learn(model: LDA) -> None:
    assert "sk-estimator" in LDA(3)._repr_html_()
    assert "sk-estimator" in LDA(3)._repr_mimebundle_()["text/html"]
    with sklearn.config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert list(model._repr_mimebundle_()) == ["text/plain"]


def test_all_kinds() -> None:
    corpus, sides = words(TEXTS), ["sport"] * 3 + ["<state>"] * 3
    keeping = {**QUICK, "burn_in": 2}
    labeled = seen(LabeledLDA(**keeping).fit(corpus, [[side] for side in sides])._repr_html_())
    assert labeled.startswith("LabeledLDA 2 topics")
    assert "<state> 40.0%" in labeled  # 8 of 20 tokens
    for fitted in (
        CompoundLDA(2, **QUICK).fit(corpus, groups=sides), MedLDAClassifier(2, **keeping).fit(corpus, sides),
        VariationalLDA(2, tol=0.0, **QUICK).fit(corpus),
        VariationalLDA(2, method="scvb0", batch_size=3, **QUICK).partial_fit(corpus),
    ):  # fmt: skip
        assert seen(fitted._repr_html_()).startswith(f"{type(fitted).__name__} 2 topics")
    states = HMM(2, **QUICK).fit([["<a>", "b", "b"], ["b", "<a>"]])
    text = seen(states._repr_html_())
    assert text.startswith("HMM 2 states · 2 symbols · 6 sweeps")
    assert f"{states.transition_[0, 0]:.1%} 1 ({states.transition_[0, 1]:.0%})" in text
    assert "<a>" in text


def test_of_very_many_topics_the_largest_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "_MOST", 2)
    text = seen(html._topics_table(np.eye(4), np.array([3.0, 9.0, 1.0, 7.0]), "abcd", None))
    assert text.startswith("topic share words 1 45.0% b")
    assert "3 35.0% d" in text
    assert "The 2 largest of 4 are shown." in text
    assert "15.0%" not in text
