"""Priors learned by variational inference: maxima of their likelihood, in every method."""

import numpy as np
import pytest

from tests.lda.variational_fits import ALL, BATCH, fitted, small_corpus, small_counts
from topicloom import from_matrix
from topicloom.engine.prior import make_prior
from topicloom.lda.variational import batch as v
from topicloom.lda.variational.priors import fit_dirichlet, inverse_digamma, learn_priors
from topicloom.lda.variational.state import pair_index


@pytest.fixture(scope="module")
def counts() -> np.ndarray:
    return small_counts(small_corpus())


def test_inverse_digamma() -> None:
    from scipy.special import digamma

    x = np.exp(np.linspace(-10, 8, 200))
    np.testing.assert_allclose(inverse_digamma(digamma(x)), x, rtol=1e-9)


def test_dirichlet_likelihood_is_maximised() -> None:
    from scipy.special import digamma

    rng = np.random.default_rng(1)
    goal = np.log(rng.dirichlet([0.4, 1.5, 0.9], 400)).mean(axis=0)
    alpha = fit_dirichlet(goal, np.full(3, 0.1), rounds=5000)
    np.testing.assert_allclose(digamma(alpha) - digamma(alpha.sum()), goal, atol=1e-4)  # the gradient is 0
    np.testing.assert_allclose(alpha, [0.4, 1.5, 0.9], rtol=0.2)


@pytest.mark.parametrize("mode", BATCH)
def test_learned_priors_keep_counts_consistent(mode: v.Mode, counts: np.ndarray) -> None:
    corpus = from_matrix(counts)
    prior = make_prior(np.full(3, 0.4), np.full(40, 0.2), 60)
    index = pair_index(corpus)
    state = v.start(index, mode, prior, 0, 0)
    for _ in range(5):
        state, _ = v.iterate(index, state, mode, prior, v.Work())
    state, new, change = learn_priors(index, state, mode, prior, alpha=True, beta=True)
    assert change > 0
    assert len(set(new.alpha[0])) == 3  # asymmetric
    assert new.beta[0] != 0.2
    if mode != "vb":
        rebuilt = v.from_gamma(index, state.gamma, mode, new)
        np.testing.assert_allclose(state.doc, rebuilt.doc, rtol=1e-9)
        np.testing.assert_allclose(state.word, rebuilt.word, rtol=1e-9)
        np.testing.assert_allclose(state.topic, rebuilt.topic, rtol=1e-9)


@pytest.mark.parametrize("mode", ALL)
def test_every_mode_learns_its_priors(mode: str, counts: np.ndarray) -> None:
    model = fitted(mode, counts, max_iter=6)
    assert len(set(model.alpha_)) == 4
    assert model.beta_[0] != 0.25
    fixed = fitted(mode, counts, doc_topic_prior=0.3, topic_word_prior=0.2)
    np.testing.assert_array_equal(fixed.alpha_, np.full(4, 0.3))
    np.testing.assert_array_equal(fixed.beta_, np.full(40, 0.2))


@pytest.mark.parametrize("mode", ALL)
def test_every_mode_learns_one_alpha_for_all_topics(mode: str, counts: np.ndarray) -> None:
    model = fitted(mode, counts, max_iter=6, learn_priors="symmetric", topic_word_prior=0.2)
    assert len(set(model.alpha_)) == 1
    assert model.alpha_[0] != 0.25
    np.testing.assert_array_equal(model.beta_, np.full(40, 0.2))  # given, so it is not learned


@pytest.mark.parametrize("mode", BATCH)
def test_one_alpha_maximises_the_likelihood_of_the_counts(mode: v.Mode, counts: np.ndarray) -> None:
    """That of expected counts as Dirichlet-multinomial, or of VB's mean log shares as Dirichlet."""
    from scipy.optimize import minimize_scalar
    from scipy.special import digamma, gammaln

    prior, index = make_prior(np.full(3, 0.4), np.full(40, 0.2), 60), pair_index(from_matrix(counts))
    state = v.start(index, mode, prior, 0, 0)
    for _ in range(30):
        state, _ = v.iterate(index, state, mode, prior, v.Work())
    n, mean_log = state.doc - 0.4, digamma(state.doc) - digamma(state.doc.sum(axis=1))[:, None]

    def loss(a: float) -> float:
        if mode == "vb":
            return -float(60 * (gammaln(3 * a) - 3 * gammaln(a)) + (a - 1) * mean_log.sum())
        one = gammaln(3 * a) - gammaln(3 * a + n.sum(axis=1)) + np.sum(gammaln(a + n) - gammaln(a), axis=1)
        return -float(one.sum())

    for _ in range(60):
        state, prior, _ = learn_priors(index, state, mode, prior, alpha=True, beta=False, symmetric=True)
    found = float(prior.alpha[0, 0])  # VB's fixed point closes in slowly, and stops at steps of 1e-5
    assert loss(found) < min(loss(0.97 * found), loss(1.03 * found))
    best = minimize_scalar(loss, bounds=(1e-3, 5.0), method="bounded", options={"xatol": 1e-10}).x
    assert found == pytest.approx(best, rel=1e-2 if mode == "vb" else 1e-3)
