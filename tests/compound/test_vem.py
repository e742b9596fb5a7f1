"""Variational EM for collections: its bound is that of the paper, is a bound, and never falls."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from scipy.special import gammaln

from tests.oracles import compound
from tests.oracles import lda as oracle
from topicloom.compound import vem
from topicloom.datasets import synthetic_compound
from topicloom.engine.prior import make_prior
from topicloom.engine.run import Plan, advance, start_chain
from topicloom.lda.variational.sampler import Settings, variational_sampler

ETA = 0.3


def small(seed: int, n_topics: int, n_collections: int):
    rng = np.random.default_rng(seed)
    docs = [rng.integers(0, 6, rng.integers(0, 12)).tolist() for _ in range(4 * n_collections)]
    docs[0] = docs[0] or [0]
    row = np.concatenate((np.arange(n_collections), rng.integers(0, n_collections, 3 * n_collections)))
    corpus = oracle.tiny_corpus(docs, 6)
    return corpus, row


def chain_of(corpus, row, own: vem.Settings, *, learn_beta: bool = False, rounds: int = 10, seed: int = 0):
    n_topics = len(own.alpha)
    rows = np.full((row.max() + 1, n_topics), own.gamma / n_topics)
    prior = make_prior(rows, np.full(corpus.n_words, ETA), corpus.n_docs, alpha_row=row)
    plan = Plan(
        seed=seed, max_iter=100, burn_in=None, thin=1, estimator="standard", learn_beta=learn_beta,
        learn_more=own.learn_gamma or own.alpha_prior is not None, learn_from=2, learn_every=1, trace_every=1,
    )  # fmt: skip
    sampler = variational_sampler(Settings("vb", 0.0, 1e-3, rounds), corpus, vem.with_collections(own, row))
    return start_chain(sampler, corpus, prior, seed, 0), plan, sampler


def test_the_bound_is_the_papers() -> None:
    corpus, row = small(1, 3, 2)
    own = vem.Settings(2.3, np.array([0.4, 1.1, 0.7]))
    chain, plan, sampler = chain_of(corpus, row, own)
    for _ in range(5):
        advance(sampler, corpus, chain, plan)
        state = chain.state
        expected = compound.vem_bound(corpus, row, state.word.T, state.doc, state.tau, ETA, 2.3, own.alpha)
        assert sampler.final_value(sampler, corpus, chain, plan) == pytest.approx(expected, rel=1e-12)


def test_the_bound_is_below_the_evidence() -> None:
    """log p(w) of a tiny corpus with two topics, all topics listed and mixtures integrated over."""
    case = compound.exact()
    corpus, pi = case.corpus, compound.quantiles(compound.ALPHA)
    logs = []
    for z in case.states:
        counts = np.zeros((corpus.n_docs, 2))
        np.add.at(counts, (corpus.token_docs, z), 1)
        words = np.zeros((2, 2))
        np.add.at(words, (z, corpus.words), 1)
        value = sum(oracle._dirichlet_multinomial(n, np.full(2, ETA)) for n in words)
        for j in range(2):
            value += np.log(np.exp(compound.mixture_log_density(counts[j == compound.ROW], pi)).mean())
        logs.append(value)
    evidence = np.logaddexp.reduce(logs)
    own = vem.Settings(compound.GAMMA, np.full(2, compound.ALPHA))
    chain, plan, sampler = chain_of(corpus, compound.ROW, own)
    for _ in range(60):
        advance(sampler, corpus, chain, plan)
    assert evidence - 6 < chain.trace.log_joint[-1] < evidence


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10_000), n_topics=st.integers(1, 4), n_collections=st.integers(1, 3),
    alpha=st.floats(0.02, 20), gamma=st.floats(0.05, 60), learn=st.booleans(), rounds=st.integers(1, 12),
)  # fmt: skip
def test_the_bound_never_falls(seed, n_topics, n_collections, alpha, gamma, learn, rounds) -> None:
    corpus, row = small(seed, n_topics, n_collections)
    own = vem.Settings(gamma, np.full(n_topics, alpha), learn, (2.0, 1.0) if learn else None)
    chain, plan, sampler = chain_of(corpus, row, own, learn_beta=learn, rounds=rounds, seed=seed)
    last = sampler.final_value(sampler, corpus, chain, plan)
    for _ in range(12):
        advance(sampler, corpus, chain, plan)
        now = sampler.final_value(sampler, corpus, chain, plan)
        assert now >= last - 1e-9 * abs(last)
        last = now
    np.testing.assert_allclose(chain.prior.alpha.sum(axis=1), chain.state.hyper[0, 0])
    assert np.all(chain.state.tau > 0)


def test_mixtures_are_at_a_maximum() -> None:
    rng = np.random.default_rng(2)
    for n_docs, gamma, alpha in ((40, 2.0, 1.0), (3, 0.3, 0.1), (500, 20.0, 0.5)):
        theta = rng.dirichlet(np.array([0.1, 1.0, 0.4, 0.8]), n_docs)
        mean_log = np.log(theta + 1e-4).sum(axis=0)
        args = (gamma, np.full(4, alpha), float(n_docs), mean_log)
        omega, a = vem.fit_mixture(np.full(4, 0.25), 4 * alpha, *args)
        for _ in range(3):
            omega, a = vem.fit_mixture(omega, a, *args)
        assert omega.sum() == pytest.approx(1)

        def value(x: np.ndarray, args=args) -> float:
            share = np.exp(x[:4]) / np.exp(x[:4]).sum()
            return vem.mixture_value(share, np.exp(x[4]), *args)

        slope = approx_fprime(np.append(np.log(omega), np.log(a)), value, 1e-6)
        assert np.abs(slope).max() < 1e-3 * max(1.0, n_docs)


def test_gamma_and_alpha_are_at_their_maximum() -> None:
    rng = np.random.default_rng(3)
    tau = rng.uniform(0.5, 30, (3, 4))
    seen = vem.Evidence(np.array([20, 5, 60]), -rng.uniform(1, 4, (3, 4)) * np.array([[20], [5], [60]]))
    gamma = vem.fit_gamma(tau, 1.0, seen)

    def of_gamma(x: float) -> float:
        omega, a = vem.split(tau)
        return sum(
            vem.mixture_value(omega[j], a[j], x, np.ones(4), seen.n_docs[j], seen.mean_log[j])
            + seen.n_docs[j] * gammaln(x)
            for j in range(3)
        )

    assert of_gamma(gamma) > max(of_gamma(gamma * 1.01), of_gamma(gamma / 1.01))
    alpha = vem.fit_alpha(tau, 1.0, (2.0, 3.0))

    def of_alpha(x: float) -> float:
        return vem.collections_part(tau, 1.0, np.full(4, x), np.zeros(3, int), (2.0, 3.0))

    assert of_alpha(alpha) > max(of_alpha(alpha * 1.01), of_alpha(alpha / 1.01))


def test_the_upper_bound_of_log_gamma_holds() -> None:
    """Eq. 65, on which the bound rests, by Monte Carlo."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        rho, scale = rng.uniform(0.3, 20, 4), rng.uniform(0.1, 30)
        draws = rng.dirichlet(rho, 4000)[:, 0]
        values = gammaln(scale * draws)
        mean = rho[0] / rho.sum()
        right = gammaln(scale * mean) + scale / rho.sum() * (1 - mean)
        right += (1 - scale * mean) * (np.log(mean) + compound.digamma(rho.sum()) - compound.digamma(rho[0]))
        assert values.mean() - 5.3 * values.std() / np.sqrt(len(values)) < right


def test_collections_are_found() -> None:
    data = synthetic_compound(2, 60, 40, 3, doc_length=60, alpha=1.0, gamma=2.0, eta=0.1, seed=3)
    row = np.repeat([0, 1], 60)
    own = vem.Settings(1.0, np.ones(3), True)
    chain, plan, sampler = chain_of(data.corpus, row, own, learn_beta=True)
    for _ in range(60):
        advance(sampler, data.corpus, chain, plan)
    phi = (chain.state.word / chain.state.word.sum(axis=0)).T
    order = [np.abs(phi - topic).sum(axis=1).argmin() for topic in data.phi]
    assert sorted(order) == [0, 1, 2]
    omega = vem.split(chain.state.tau)[0][:, order]
    shares = np.array([data.theta[row == j].mean(axis=0) for j in range(2)])
    assert np.abs(omega - shares).sum(axis=1).max() < 0.3
