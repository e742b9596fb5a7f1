"""Measures of the number of topics against plain versions, at their edges, and their refusals."""

import math

import numpy as np
import pytest

from tests.diagnostics import naive_search as naive
from topicloom.corpus import Corpus
from topicloom.datasets import synthetic_lda
from topicloom.diagnostics.search_measures import (
    harmonic_mean,
    log_words_given_topics,
    mean_cosine,
    mean_divergence,
    residual_dispersion,
    singular_divergence,
)
from topicloom.errors import InputError

RNG = np.random.default_rng(5)
PHI = RNG.dirichlet(np.full(12, 0.5), 4)
THETA = RNG.dirichlet(np.full(4, 0.3), 9)
LENGTHS = RNG.integers(1, 50, 9)


def test_harmonic_mean() -> None:
    logs = -1000 + 20 * RNG.normal(size=30)
    assert harmonic_mean(logs) == pytest.approx(naive.harmonic_mean(logs), abs=1e-9)
    assert harmonic_mean([-5e6, -5e6]) == -5e6
    assert np.isfinite(harmonic_mean([-1e6, -2e6]))  # no power of e holds these
    assert min(logs) <= harmonic_mean(logs) <= np.mean(logs)


def test_words_given_topics() -> None:
    words, z = RNG.integers(0, 12, 80), RNG.integers(0, 4, 80)
    beta = RNG.uniform(0.1, 1, 12)
    counts = np.zeros((4, 12))
    np.add.at(counts, (z, words), 1)
    assert log_words_given_topics(counts, beta) == pytest.approx(naive.log_words(words, z, 4, 12, beta), rel=1e-12)
    assert log_words_given_topics(counts, 0.3) == log_words_given_topics(counts, np.full(12, 0.3))


def test_cosine_divergence_and_singular_values() -> None:
    assert mean_cosine(PHI) == pytest.approx(naive.mean_cosine(PHI), rel=1e-12)
    assert mean_divergence(PHI) == pytest.approx(naive.mean_divergence(PHI), rel=1e-12)
    expected = naive.singular_divergence(PHI, THETA, LENGTHS)
    assert singular_divergence(PHI, THETA, LENGTHS) == pytest.approx(expected, rel=1e-9)


def test_measures_do_not_depend_on_the_order_of_topics() -> None:
    order = [2, 0, 3, 1]
    assert mean_cosine(PHI[order]) == pytest.approx(mean_cosine(PHI), rel=1e-12)
    assert mean_divergence(PHI[order]) == pytest.approx(mean_divergence(PHI), rel=1e-12)
    turned = singular_divergence(PHI[order], THETA[:, order], LENGTHS)
    assert turned == pytest.approx(singular_divergence(PHI, THETA, LENGTHS), rel=1e-9)


def test_one_topic_and_more_topics_than_words() -> None:
    assert math.isnan(mean_cosine(PHI[:1]))
    assert math.isnan(mean_divergence(PHI[:1]))
    assert singular_divergence(PHI[:1], np.ones((3, 1)), [1, 2, 3]) == 0
    assert singular_divergence(np.eye(2)[[0, 1, 0]], np.full((1, 3), 1 / 3), [3]) == math.inf
    assert np.isfinite(mean_divergence(np.eye(3)))  # zeros are no alarm


def test_dispersion() -> None:
    documents = [RNG.choice(12, size=n, p=shares @ PHI).tolist() for shares, n in zip(THETA, LENGTHS + 60, strict=True)]
    ptr = np.concatenate(([0], np.cumsum([len(d) for d in documents])))
    corpus = Corpus(np.concatenate(documents), ptr, tuple("abcdefghijkl"))
    expected = naive.dispersion(PHI, THETA, documents)
    assert residual_dispersion(PHI, THETA, corpus) == pytest.approx(expected, rel=1e-10)
    assert math.isnan(residual_dispersion(PHI, THETA, corpus, tol=1e9))  # no cells


def test_dispersion_is_one_at_the_truth_and_more_with_too_few_topics() -> None:
    made = synthetic_lda(n_docs=150, n_words=40, n_topics=3, doc_length=400, beta=1.0, seed=2)
    assert residual_dispersion(made.phi, made.theta, made.corpus) == pytest.approx(1.0, abs=0.15)
    one = made.phi.mean(axis=0, keepdims=True)
    assert residual_dispersion(one, np.ones((150, 1)), made.corpus) > 2


@pytest.mark.parametrize("logs", [[], [[1.0]], [np.nan], [np.inf], "no"])
def test_harmonic_mean_refuses(logs: object) -> None:
    with pytest.raises(InputError):
        harmonic_mean(logs)


def test_hostile_arrays_are_refused() -> None:
    corpus = synthetic_lda(n_docs=9, n_words=12, n_topics=2).corpus
    for call in (
        lambda: mean_cosine([[0.5, 0.6]]),
        lambda: mean_cosine([]),
        lambda: mean_divergence([[np.nan, 1.0]]),
        lambda: singular_divergence(PHI, THETA[:, :2], LENGTHS),
        lambda: singular_divergence(PHI, THETA, LENGTHS[:3]),
        lambda: singular_divergence(PHI, THETA, np.zeros(9)),
        lambda: residual_dispersion(PHI, THETA[:3], corpus),
        lambda: residual_dispersion(PHI[:, :5], THETA, corpus),
        lambda: residual_dispersion(PHI, THETA, "corpus"),
        lambda: residual_dispersion(PHI, THETA, corpus, tol=-1),
        lambda: log_words_given_topics([[-1.0]], 1.0),
        lambda: log_words_given_topics([[1.0]], 0.0),
        lambda: log_words_given_topics([[1.0]], [1.0, 1.0]),
    ):
        with pytest.raises(InputError):
            call()
