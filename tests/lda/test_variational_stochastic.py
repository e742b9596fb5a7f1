"""Streams of documents: ``partial_fit``, and each step of stochastic inference against its definition."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import topicloom
from tests.lda.variational_fits import BATCH, STREAM, small_corpus, small_counts
from topicloom import LDA, CompoundLDA, VariationalLDA, from_matrix
from topicloom.corpus import Corpus
from topicloom.engine.prior import make_prior
from topicloom.errors import InputError, StorageError
from topicloom.lda.variational import batch as v
from topicloom.lda.variational import stochastic


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return small_corpus()


@pytest.fixture(scope="module")
def counts(corpus: Corpus) -> np.ndarray:
    return small_counts(corpus)


@pytest.mark.parametrize("mode", STREAM)
def test_partial_fit_learns_from_a_stream(mode: str, corpus: Corpus, tmp_path: Path) -> None:
    flat = LDA(1, max_iter=1, random_state=0).fit(corpus).perplexity(corpus)
    model = VariationalLDA(4, method=mode, random_state=0, batch_size=10, total_samples=60, topic_word_prior=0.1)
    for _ in range(40):
        for first in range(0, 60, 20):
            model.partial_fit(corpus.select(np.arange(first, first + 20)))
    assert model.n_iter_ == 40 * 6
    assert model.perplexity(corpus) < 0.85 * flat
    with pytest.raises(StorageError, match="keeps no documents"):
        _ = model.doc_topic_
    model.save(tmp_path / "stream")
    loaded = topicloom.load(tmp_path / "stream")
    model.partial_fit(corpus)
    loaded.partial_fit(corpus)
    assert loaded.fingerprint_ == model.fingerprint_  # it goes on where it was


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_components", 4), ("method", "other"), ("doc_topic_prior", 0.3), ("topic_word_prior", [0.1] * 5),
        ("seed_words", {0: ["w1"]}), ("seed_weight", 0.9),
    ],
)  # fmt: skip
@pytest.mark.parametrize("mode", STREAM)
def test_a_stream_keeps_what_it_was_made_with(mode: str, name: str, value: Any, corpus: Corpus, tmp_path: Path) -> None:
    made = VariationalLDA(3, method=mode, random_state=0, total_samples=60).partial_fit(corpus)
    made.save(tmp_path / "model")
    value = value if name != "method" else {"scvb0": "svb", "svb": "scvb0"}[mode]
    for model in (made, topicloom.load(tmp_path / "model")):
        before, old = model.fingerprint_, getattr(model, name)
        with pytest.raises(InputError, match=f"^{name} was .* cannot change it"):
            model.set_params(**{name: value}).partial_fit(corpus)
        assert model.fingerprint_ == before
        model.set_params(**{name: old}).partial_fit(corpus)
        assert model.fingerprint_ != before


@pytest.mark.parametrize("mode", ["gibbs", "cvb_exact", *BATCH])
def test_a_mode_without_partial_fit_names_those_that_have_it(mode: str, corpus: Corpus) -> None:
    for model in (LDA(2) if mode == "gibbs" else VariationalLDA(2, method=mode), CompoundLDA(2)):
        assert not hasattr(model, "partial_fit")
        with pytest.raises(AttributeError, match="partial_fit") as told:
            model.partial_fit(corpus)
        reason = told.value.__cause__ or told.value  # which scikit-learn names as the cause
        assert 'method="scvb0" or method="svb"' in str(reason)


def test_only_streams_have_partial_fit(corpus: Corpus) -> None:
    assert not hasattr(VariationalLDA(method="cvb0"), "partial_fit")
    assert not hasattr(LDA(), "partial_fit")
    assert hasattr(VariationalLDA(method="svb"), "partial_fit")


@pytest.mark.parametrize("mode", STREAM)
def test_a_step_is_its_definition(mode: stochastic.StochasticMode, counts: np.ndarray) -> None:
    """Counts after a batch are (1 − ρ) times the old ones plus ρ D/|B| times the batch's expected ones."""
    from scipy.special import digamma

    corpus = from_matrix(counts)
    prior = make_prior(np.array([0.3, 0.6, 0.2]), np.full(40, 0.2), 60)
    steps = stochastic.Steps(batch_size=5, offset=2.0, decay=0.6, total_docs=60)
    state = stochastic.start(prior, 0, 0)
    for _ in range(30):  # the common factor becomes small
        before = state.counts * state.scale[0]
        batch = stochastic.take_batch(corpus, np.arange(10, 15))
        t = int(state.batches[0])
        stochastic.learn_batch(batch, state, mode, prior, steps, v.Work(1e-12, 5000))
    word = before + 0.2
    topics = np.exp(digamma(word) - digamma(word.sum(axis=0))) if mode == "svb" else word / word.sum(axis=0)
    expected = np.zeros((40, 3))
    for d in range(10, 15):
        row = prior.alpha[0] + counts[d].sum() / 3
        for _ in range(3000):
            mix = np.exp(digamma(row)) if mode == "svb" else row
            gamma = topics * mix
            gamma /= gamma.sum(axis=1, keepdims=True)
            row = prior.alpha[0] + counts[d] @ gamma
        expected += counts[d][:, None] * gamma
    rho = (2.0 + t) ** -0.6
    after = state.counts * state.scale[0]
    np.testing.assert_allclose(after, (1 - rho) * before + rho * 60 / 5 * expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(state.topic, after.sum(axis=0), rtol=1e-9)


def test_a_first_step_of_one_forgets_the_start(counts: np.ndarray) -> None:
    prior = make_prior(np.full(3, 0.5), np.full(40, 0.2), 60)
    state = stochastic.start(prior, 0, 0)
    steps = stochastic.Steps(offset=1.0, total_docs=60)
    batch = stochastic.take_batch(from_matrix(counts), np.arange(60))
    stochastic.learn_batch(batch, state, "svb", prior, steps, v.Work())
    assert state.counts.sum() == pytest.approx(counts.sum())
