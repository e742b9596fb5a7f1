"""A start from more topics, which are merged: gains against the joint, and what a start depends on."""

from typing import Any

import numpy as np
import pytest

from topicloom import LDA
from topicloom.datasets import synthetic_lda
from topicloom.engine.prior import make_prior
from topicloom.engine.sampler import Key, Schedule
from topicloom.errors import InputError
from topicloom.lda.gibbs import get_sampler
from topicloom.lda.gibbs.joint import log_joint
from topicloom.lda.gibbs.merged_start import merge_gains, merge_pairs, start_with_more, topics_of_start

MADE = synthetic_lda(n_docs=60, n_words=30, n_topics=4, doc_length=20.0, seed=2)
CORPUS = MADE.corpus


def test_gains_are_differences_of_the_joint() -> None:
    alpha, beta, k = 0.3, 0.1, 5
    sampler, z = get_sampler("dense"), np.random.default_rng(0).integers(0, k, CORPUS.n_tokens)
    prior = make_prior(np.full(k, alpha), np.full(CORPUS.n_words, beta), CORPUS.n_docs)

    def joint(z: Any) -> float:  # an empty topic adds nothing, and Σα is the same
        return log_joint(CORPUS, sampler.restore(CORPUS, z, k), prior)

    gains = merge_gains(CORPUS, sampler.restore(CORPUS, z, k), alpha, beta)
    for a in range(k):
        for b in range(k):
            expected = joint(np.where(z == a, b, z)) - joint(z) if a > b else -np.inf
            np.testing.assert_allclose(gains[a, b], expected, rtol=1e-9)


def test_pairs_are_disjoint_and_numbers_have_no_gaps() -> None:
    gains = np.full((5, 5), -np.inf)
    gains[np.tril_indices(5, -1)] = -10.0
    gains[3, 1], gains[4, 3], gains[2, 0] = 5.0, 4.0, 3.0
    assert merge_pairs(gains, 2).tolist() == [0, 1, 0, 1, 2]
    assert merge_pairs(gains, 1).tolist() == [0, 1, 2, 1, 3]


def test_a_topic_that_is_there_twice_is_merged() -> None:
    z = MADE.z.copy()
    half = np.random.default_rng(1).random(len(z)) < 0.5
    z[(z == 2) & half] = 4
    gains = merge_gains(CORPUS, get_sampler("auto").restore(CORPUS, z, 5), 0.1, 0.1)
    assert np.unravel_index(np.argmax(gains), gains.shape) == (4, 2)


@pytest.mark.parametrize("name", ["auto", "mh", "warp"])
def test_a_start_follows_from_seed_and_chain(name: str) -> None:
    sampler, k = get_sampler(name), 7
    prior = make_prior(np.full(k, 0.1), np.full(CORPUS.n_words, 0.1), CORPUS.n_docs)

    def start(*key: int) -> Any:
        return start_with_more(sampler, 20, CORPUS, prior, Key(*key, 0), Schedule())

    state = start(1, 0)
    assert topics_of_start(k) == 11
    assert len(state.topic) == k
    assert int(state.topic.sum()) == CORPUS.n_tokens
    np.testing.assert_array_equal(state.z, start(1, 0).z)
    assert not np.array_equal(state.z, start(1, 1).z)
    assert not np.array_equal(state.z, start(2, 0).z)


def test_models_start_so_on_any_number_of_threads() -> None:
    def fit(**options: Any) -> LDA:
        return LDA(4, max_iter=3, n_chains=2, random_state=0, **options).fit(CORPUS)

    one = fit(sampler_options={"start_sweeps": 10})
    assert one.fingerprint_ == fit(sampler_options={"start_sweeps": 10}, n_jobs=2).fingerprint_
    assert one.fingerprint_ != fit().fingerprint_
    assert fit(sampler_options={"start_sweeps": 0}).fingerprint_ == fit().fingerprint_


@pytest.mark.parametrize("n_topics", [1, 2, 3])
def test_few_topics(n_topics: int) -> None:
    model = LDA(n_topics, max_iter=2, random_state=0, sampler_options={"start_sweeps": 5}).fit(CORPUS)
    assert model.topic_word_.shape == (n_topics, CORPUS.n_words)


@pytest.mark.parametrize(
    "bad", [{"start_sweeps": -1}, {"start_sweeps": 1.5}, {"seed_words": [["w0"]]}, {"n_components": 5000}]
)
def test_what_a_start_cannot_be_is_refused(bad: dict[str, Any]) -> None:
    sweeps = bad.pop("start_sweeps", 5)
    with pytest.raises(InputError, match="start_sweeps"):
        LDA(**{"n_components": 3, "max_iter": 2, **bad}, sampler_options={"start_sweeps": sweeps}).fit(CORPUS)
