"""Several paths: the exact posterior of all paths jointly, and what it says about φ."""

import itertools

import numpy as np
import pytest
from scipy.special import gammainc, gammaln
from scipy.stats import beta as beta_distribution
from scipy.stats import kstest, norm

from tests.oracles import lda as oracle
from topicloom.engine.blocks import Tokens
from topicloom.engine.multipath import repeated, repeated_prior
from topicloom.engine.prior import make_prior
from topicloom.engine.sampler import Key, Schedule
from topicloom.engine.state import rebuild_counts
from topicloom.lda.gibbs import get_sampler, partial, sampler_names
from topicloom.numerics import variates as gamma
from topicloom.numerics.jit import kernel as compiled
from topicloom.numerics.rng import path_key, stream

EXACT = [name for name in sampler_names() if get_sampler(name).exact]
REPLICATES, SWEEPS = 10_000, 2


def sampled(case: oracle.Case, n_paths: int) -> oracle.Case:
    return oracle.Case(repeated(case.corpus, n_paths), repeated_prior(case.prior, n_paths))


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("which", oracle.path_cases())
def test_the_posterior_of_all_paths_is_invariant(name: str, which: str) -> None:
    case, kernel = oracle.path_cases()[which], get_sampler(name)
    corpus, prior = sampled(case, 2)

    def sweep(z: np.ndarray, replicate: int) -> np.ndarray:
        state = kernel.restore(corpus, z, case.n_topics)
        for t in range(SWEEPS):
            state, _ = kernel.sweep(corpus, state, prior, Key(41, replicate, t), Schedule())
        return state.z

    p = oracle.invariance(case, sweep, REPLICATES, seed=42, n_paths=2)
    assert p > oracle.FALSE_ALARM, f"p = {p:.3g}"


def test_the_posterior_is_reached_from_a_bad_start() -> None:
    case, kernel = oracle.path_cases()["two topics"], get_sampler("partial")
    corpus, prior = sampled(case, 2)
    states, p = oracle.posterior(case, 2)
    observed = np.zeros(len(states))
    for chain in range(2000):
        state = kernel.restore(corpus, np.zeros(corpus.n_tokens, int), case.n_topics)
        for t in range(25):
            state, _ = kernel.sweep(corpus, state, prior, Key(43, chain, t), Schedule())
        observed[oracle.state_number(state.z, case.n_topics)] += 1
    assert oracle.chi_square(observed, p) > oracle.FALSE_ALARM


@pytest.mark.parametrize("name", EXACT)
def test_weights_are_ratios_of_the_joint_of_all_paths(name: str) -> None:
    kernel = get_sampler(name)
    for seed in range(20):
        case, _ = oracle.random_case(seed, 3, 4, 5)
        corpus, prior = sampled(case, 3)
        z = np.random.default_rng(seed).integers(0, 5, corpus.n_tokens)
        state = kernel.restore(corpus, z, 5)
        for token in range(corpus.n_tokens):
            logs = np.empty(5)
            for k in range(5):
                other = z.copy()
                other[token] = k
                logs[k] = oracle.multipath_log_joint(case.corpus, other.reshape(3, -1), case.prior)
            expected = np.exp(logs - logs.max())
            weight = kernel.conditional(corpus, state, prior, token)
            np.testing.assert_allclose(weight / weight.sum(), expected / expected.sum(), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", sampler_names())
def test_log_joint_is_that_of_all_paths(name: str) -> None:
    kernel = get_sampler(name)
    for seed in range(10):
        case, _ = oracle.random_case(seed, 3, 4, 5)
        corpus, prior = sampled(case, 3)
        z = np.random.default_rng(seed).integers(0, 5, corpus.n_tokens)
        ours = kernel.log_joint(corpus, kernel.restore(corpus, z, 5), prior)
        theirs = oracle.multipath_log_joint(case.corpus, z.reshape(3, -1), case.prior)
        assert ours == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize("n_paths", [1, 2, 3])
def test_phi_has_the_density_of_the_lemma(n_paths: int) -> None:
    """Mean of φ over all states of all paths, each the estimate from shared counts, against ∫ φ P(φ) P(w | φ)^m dφ.

    Two words and two topics, so that φ is a point of the unit square; P(w | φ) sums over all assignments, θ integrated
    out.
    """
    corpus = oracle.tiny_corpus([[0, 1], [1]], 2)
    alpha, beta = np.array([0.7, 1.6]), np.array([2.0, 3.0])
    case = oracle.Case(corpus, make_prior(alpha, beta, 2))
    states, p = oracle.posterior(case, n_paths)
    words = np.tile(corpus.words, n_paths)
    first = np.zeros(2)
    for z, weight in zip(states, p, strict=True):
        for k in range(2):
            counts = np.bincount(words[z == k], minlength=2) + beta
            first[k] += weight * counts[0] / counts.sum()
    x, w = np.polynomial.legendre.leggauss(40)
    x, w = (x + 1) / 2, w / 2
    grid = np.array(list(itertools.product(x, x)))  # φ_k(word 0) of both topics
    weight = np.outer(w, w).ravel() * np.prod(grid ** (beta[0] - 1) * (1 - grid) ** (beta[1] - 1), axis=1)
    likelihood = np.zeros(len(grid))
    for z in oracle.all_states(3, 2):
        of_z = np.exp(
            sum(oracle._dirichlet_multinomial(np.bincount(part, minlength=2), alpha) for part in (z[:2], z[2:]))
        )
        of_w = np.prod([grid[:, k] if v == 0 else 1 - grid[:, k] for v, k in zip(corpus.words, z, strict=True)], axis=0)
        likelihood += of_z * of_w
    density = weight * likelihood**n_paths
    np.testing.assert_allclose(first, density @ grid / density.sum(), rtol=1e-10)


def test_a_path_by_itself_is_not_distributed_as_a_plain_chain() -> None:
    """The paper's section 1.2 says that it is; lemma 3.1, tested above, is what holds."""
    case = oracle.path_cases()["two topics"]
    states, p = oracle.posterior(case, 2)
    single, q = oracle.posterior(case)
    marginal = np.zeros(len(single))
    for z, weight in zip(states, p, strict=True):
        marginal[oracle.state_number(z[: case.corpus.n_tokens], 2)] += weight
    assert np.abs(marginal - q).max() > 1e-3


# -- the partially collapsed sampler -----------------------------------------------------------------------------------


def test_tokens_given_phi_have_their_exact_distribution() -> None:
    """One document of three tokens: its assignments given φ, from the definition, are invariant under the sweep."""
    rng = np.random.default_rng(3)
    words, ptr = np.array([0, 2, 2], np.int32), np.array([0, 3])
    alpha, phi = np.array([[0.3, 0.8, 0.5]]), rng.dirichlet(np.full(3, 0.5), 3).T.copy()
    mass, prior = np.empty((1, 3)), make_prior(alpha, np.ones(3), 1)
    partial.smooth(0, 3, phi, alpha, mass)
    np.testing.assert_allclose(mass[0], phi @ alpha[0], rtol=1e-12)
    states = np.array(list(oracle.all_states(3, 3)))
    logs = [
        oracle._dirichlet_multinomial(np.bincount(z, minlength=3), alpha[0]) + np.log(phi[words, z]).sum()
        for z in states
    ]
    p = np.exp(logs) / np.exp(logs).sum()
    observed = np.zeros(27)
    for replicate, start in enumerate(rng.choice(27, 20_000, p=p)):
        z, work = states[start].astype(np.uint16), np.zeros(2, np.int64)
        key = path_key(5, replicate)
        partial.sweep_documents(0, 1, Tokens(words, ptr), z, phi, mass, prior, key, work)
        observed[oracle.state_number(z, 3)] += 1
    assert oracle.chi_square(observed, p) > oracle.FALSE_ALARM


def test_phi_is_drawn_from_its_dirichlet() -> None:
    """Means, variances and one marginal, with empty topics, seed words, shapes below and above 1."""
    corpus = oracle.tiny_corpus([[0, 0, 1, 2], [1, 3]], 4)
    prior = make_prior(np.full(3, 0.5), np.array([0.05, 0.4, 1.3, 0.2]), 2, {1: np.array([2.0, 0.0, 0.3])})
    state = rebuild_counts(corpus, np.array([0, 0, 1, 0, 1, 1]), 3)
    n = 20_000
    draws = np.array([partial.draw_phi(corpus, state, prior, Key(1, 0, t), Schedule()) for t in range(n)])
    shape = state.word_topic + oracle.beta_matrix(prior)
    mean, total = shape / shape.sum(axis=0), shape.sum(axis=0)
    variance = mean * (1 - mean) / (total + 1)
    np.testing.assert_allclose(draws.sum(axis=1), 1.0, rtol=1e-12)
    assert np.abs((draws.mean(axis=0) - mean) / np.sqrt(variance / n)).max() < norm.isf(oracle.FALSE_ALARM / 24)
    assert np.abs(draws.var(axis=0) / variance - 1).max() < 0.1
    for v, k in ((0, 0), (1, 2), (3, 1)):
        exact = beta_distribution(shape[v, k], total[k] - shape[v, k])
        assert kstest(np.clip(draws[:, v, k], 1e-300, 1 - 1e-16), exact.cdf).pvalue > oracle.FALSE_ALARM


def test_a_tiny_prior_of_an_empty_topic_still_gives_a_distribution() -> None:
    corpus = oracle.tiny_corpus([[0, 1, 2]], 3)
    prior = make_prior(np.ones(2), np.full(3, 1e-6), 1)
    state = rebuild_counts(corpus, np.zeros(3, int), 2)
    for t in range(20):
        phi = partial.draw_phi(corpus, state, prior, Key(0, 0, t), Schedule())
        np.testing.assert_allclose(phi.sum(axis=0), 1.0)


@compiled
def many_gammas(rng: np.ndarray, shape: float, out: np.ndarray) -> None:
    for i in range(len(out)):
        out[i] = gamma.log_gamma(rng, shape)


@compiled
def many_normals(rng: np.ndarray, out: np.ndarray) -> None:
    for i in range(len(out)):
        out[i] = gamma.normal(rng)


@pytest.mark.parametrize("shape", [0.02, 0.5, 1.0, 3.7, 1e5])
def test_gamma_variates(shape: float) -> None:
    out = np.empty(40_000)
    many_gammas(stream(1, int(shape * 100)), shape, out)
    # P(X ≤ x) → x^a / Γ(a + 1) for the smallest, which are below any number.
    below = np.where(out < -600, np.exp(shape * np.minimum(out, 0) - gammaln(shape + 1)), gammainc(shape, np.exp(out)))
    assert kstest(below, "uniform").pvalue > oracle.FALSE_ALARM


def test_normal_variates() -> None:
    out = np.empty(40_000)
    many_normals(stream(2), out)
    assert kstest(out, "norm").pvalue > oracle.FALSE_ALARM
