"""Learned α and β: the fixed point is the maximum of an independently written posterior, and finds the truth."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize_scalar

from tests.oracles import lda as oracle
from topicloom.corpus import Corpus
from topicloom.datasets import synthetic_lda
from topicloom.engine.learn_priors import RATE, SMALLEST, learn_alpha, learn_beta
from topicloom.engine.prior import Prior, make_prior
from topicloom.engine.state import State, rebuild_counts


@pytest.fixture(scope="module")
def truth() -> tuple[Corpus, State, np.ndarray]:
    """Documents and topics drawn from the model, with the true assignments."""
    alpha = np.array([0.1, 0.4, 1.5, 0.2])
    data = synthetic_lda(1500, 60, 4, doc_length=40, alpha=alpha, beta=0.3, seed=5)
    return data.corpus, rebuild_counts(data.corpus, data.z, 4), alpha


def settle(step, prior: Prior) -> Prior:
    for _ in range(200):
        prior = step(prior)
    return prior


def test_alpha_maximises_the_posterior(truth: tuple[Corpus, State, np.ndarray]) -> None:
    corpus, state, *_ = truth
    prior = settle(
        lambda p: learn_alpha(corpus, state, p), make_prior(np.full(4, 0.7), np.full(60, 0.1), corpus.n_docs)
    )
    counts = np.zeros((corpus.n_docs, 4))
    np.add.at(counts, (corpus.token_docs, state.z), 1)

    def log_posterior(alpha: np.ndarray) -> float:
        return sum(oracle._dirichlet_multinomial(row, alpha) for row in counts) - RATE * alpha.sum()

    best = prior.alpha[0]
    gradient = approx_fprime(best, log_posterior, 1e-6) * best
    assert np.max(np.abs(gradient)) < 0.05  # against a log likelihood of about 50,000
    for factor in (0.97, 1.03):
        for k in range(4):
            other = best.copy()
            other[k] *= factor
            assert log_posterior(other) < log_posterior(best)


def test_alpha_is_found_again(truth: tuple[Corpus, State, np.ndarray]) -> None:
    corpus, state, alpha = truth
    prior = settle(
        lambda p: learn_alpha(corpus, state, p), make_prior(np.full(4, 1.0), np.full(60, 0.1), corpus.n_docs)
    )
    np.testing.assert_allclose(prior.alpha[0], alpha, rtol=0.15)


def test_one_alpha_for_all_topics_maximises_the_posterior_and_is_found_again() -> None:
    data = synthetic_lda(1500, 60, 4, doc_length=40, alpha=0.4, beta=0.3, seed=6)
    state = rebuild_counts(data.corpus, data.z, 4)
    prior = settle(
        lambda p: learn_alpha(data.corpus, state, p, symmetric=True), make_prior(np.full(4, 2.0), np.ones(60), 1500)
    )
    counts = np.zeros((1500, 4))
    np.add.at(counts, (data.corpus.token_docs, data.z), 1)

    def loss(log_alpha: float) -> float:
        alpha = np.full(4, np.exp(log_alpha))
        return RATE * alpha[0] - sum(oracle._dirichlet_multinomial(row, alpha) for row in counts)

    best = minimize_scalar(loss, bounds=(np.log(1e-2), np.log(10)), method="bounded", options={"xatol": 1e-9})
    assert np.ptp(prior.alpha[0]) == 0
    assert prior.alpha[0, 0] == pytest.approx(float(np.exp(best.x)), rel=1e-3)
    assert prior.alpha[0, 0] == pytest.approx(0.4, rel=0.1)


def test_beta_maximises_the_posterior_and_is_found_again() -> None:
    data = synthetic_lda(400, 300, 20, doc_length=100, alpha=0.5, beta=0.3, seed=6)
    state = rebuild_counts(data.corpus, data.z, 20)
    prior = settle(lambda p: learn_beta(state, p), make_prior(np.ones(20), np.full(300, 1.0), 400))

    def loss(log_beta: float) -> float:
        b = np.full(300, np.exp(log_beta))
        return RATE * b[0] - sum(oracle._dirichlet_multinomial(n.astype(float), b) for n in state.word_topic.T)

    found = float(prior.beta[0])
    best = minimize_scalar(loss, bounds=(np.log(1e-3), np.log(10)), method="bounded", options={"xatol": 1e-9})
    assert found == pytest.approx(float(np.exp(best.x)), rel=1e-3)
    assert found == pytest.approx(0.3, rel=0.1)
    np.testing.assert_allclose(prior.beta_sum, found * 300)


def test_every_step_raises_the_posterior(truth: tuple[Corpus, State, np.ndarray]) -> None:
    corpus, state, *_ = truth
    small = corpus.select(range(60))
    z = state.z[: small.n_tokens]
    part = rebuild_counts(small, z, 4)
    prior = make_prior(np.full(4, 5.0), np.full(60, 3.0), small.n_docs)
    before = oracle.log_joint(small, z, prior) - RATE * (prior.alpha.sum() + prior.beta[0])
    for _ in range(4):
        prior = learn_beta(part, learn_alpha(small, part, prior))
        after = oracle.log_joint(small, z, prior) - RATE * (prior.alpha.sum() + prior.beta[0])
        assert after >= before - 1e-9
        before = after


def test_a_topic_without_tokens_keeps_a_positive_prior() -> None:
    corpus = oracle.tiny_corpus([[0, 1], [1, 1, 0]], 2)
    state = rebuild_counts(corpus, np.zeros(5, int), 3)
    prior = settle(lambda p: learn_beta(state, learn_alpha(corpus, state, p)), make_prior(np.ones(3), np.ones(2), 2))
    assert np.all(prior.alpha >= SMALLEST)
    assert np.all(np.isfinite(prior.alpha))
    assert np.all(prior.beta >= SMALLEST)


def test_a_handful_of_words_does_not_send_the_priors_away() -> None:
    """Four sentences hold no evidence on how uneven topics are; without a hyperprior β would grow without bound."""
    corpus = oracle.tiny_corpus([[0, 1, 2, 3], [1, 2, 3, 0], [4, 5, 6, 7], [5, 4, 7, 6]], 8)
    state = rebuild_counts(corpus, np.arange(16) % 2, 2)
    prior = settle(lambda p: learn_beta(state, learn_alpha(corpus, state, p)), make_prior(np.ones(2), np.ones(8), 4))
    assert prior.beta[0] < 10
    assert np.all(prior.alpha < 10)
