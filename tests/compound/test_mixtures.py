"""Mixtures of collections, with topics, against the posterior."""

import numpy as np
import pytest
from scipy.stats import kstest

from tests.engine.test_tables import by_count_of
from tests.helpers.mutating import REJECT
from tests.oracles import compound
from tests.oracles import lda as oracle
from topicloom.compound import mixtures
from topicloom.compound.mixtures import Mixing, Mixtures
from topicloom.compound.sampler import with_mixtures
from topicloom.datasets import synthetic_compound
from topicloom.engine.documents_by_count import documents_by_count, expected_tables
from topicloom.engine.prior import make_prior
from topicloom.engine.run import Chain, Plan, advance
from topicloom.engine.sampler import Key, Schedule
from topicloom.engine.shards import Loads, start_shards
from topicloom.lda.gibbs import get_sampler
from topicloom.numerics.rng import stream


def test_documents_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    data = synthetic_compound(3, [7, 1, 12], 20, 4, doc_length=9.0, seed=1)
    corpus = data.corpus
    row = np.repeat([0, 1, 2], [7, 1, 12])
    prior = make_prior(np.ones((3, 4)), np.ones(20), 20, alpha_row=row)
    expected = np.zeros((20, 12), int)
    np.add.at(expected, (corpus.token_docs, row[corpus.token_docs] * 4 + data.z), 1)
    for block in (1 << 20, 20):  # at once, and as a corpus of many blocks
        monkeypatch.setattr("topicloom.engine.documents_by_count._BLOCK", block)
        for n_jobs in (1, 2, 3, 30):
            for found, right in zip(
                documents_by_count(corpus, data.z, prior, n_jobs), by_count_of(expected), strict=True
            ):
                np.testing.assert_array_equal(found, right)


def test_density_and_slopes_are_those_of_the_definition() -> None:
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 6, (9, 4))
    counts[:, 2] = 0
    alpha, gamma = np.array([0.4, 1.2, 0.7, 2.0]), 2.3
    found = by_count_of(counts)

    def by_definition(phi: np.ndarray) -> float:
        size = np.abs(phi)
        a = gamma * size / size.sum()
        value = np.sum((alpha - 1) * np.log(size) - size)
        return float(value + np.sum(compound.gammaln(a + counts) - compound.gammaln(a)))

    phi, drift = np.array([0.8, -1.4, 0.05, 2.2]), np.empty(4)
    other = np.array([1.1, 0.2, -0.7, 0.4])
    value = mixtures.log_density(0, found, gamma, alpha, phi, drift)
    slopes = (drift - 1) / phi  # eq. 39; drift is |φ| times it times the sign, plus one
    change = mixtures.log_density(0, found, gamma, alpha, other, np.empty(4)) - value
    assert change == pytest.approx(by_definition(other) - by_definition(phi), rel=1e-12)
    for k in range(4):
        step = np.zeros(4)
        step[k] = 1e-6
        numeric = (by_definition(phi + step) - by_definition(phi - step)) / 2e-6
        assert slopes[k] == pytest.approx(numeric, rel=1e-6, abs=1e-6)
    tables = np.empty(4)
    a = gamma * np.abs(phi) / np.abs(phi).sum()
    expected_tables(found, a, tables)
    exact = [sum(compound.table_probability(n, a[k]) @ np.arange(n + 1) for n in counts[:, k]) for k in range(4)]
    np.testing.assert_allclose(tables, exact, rtol=1e-12)


# -- topics and mixtures together ------------------------------------------------------------------------------------


def mover(
    step, method: str, kernel: str = "dense", *, n_steps: int = 1, log_step: float = -0.3,
    schedule: Schedule = Schedule(),  # noqa: B008 (it cannot change)
):  # fmt: skip
    """A sweep over topics, then a step of the mixtures."""
    case = compound.exact()
    sampler = get_sampler(kernel)
    rng = np.random.default_rng(7)

    def move(z: np.ndarray, share: np.ndarray, replicate: int) -> tuple[np.ndarray, np.ndarray]:
        prior, key = case.prior(share), Key(41, replicate, 1)
        state = sampler.restore(case.corpus, z, 2)
        state, _ = sampler.sweep(case.corpus, state, prior, key, schedule)
        pi = np.column_stack((share, 1 - share))
        phi = pi * rng.gamma(2 * compound.ALPHA, size=(2, 1)) * rng.choice([-1, 1], (2, 2))
        now = Mixtures(
            pi, np.log(pi), phi, np.full(2, log_step), np.zeros(2), compound.GAMMA, np.full(2, compound.ALPHA)
        )
        mixing = Mixing(method, n_steps=n_steps, adapt_until=0)
        after = step(case.corpus, state.z, prior, now, mixing, key, False)
        np.testing.assert_allclose(after.alpha, compound.GAMMA * now.pi)
        return state.z, now.pi[:, 0]

    return move


def mixer(step, method: str, alpha: float, n_moves: int, log_step: float, n_steps: int = 1):
    """Steps of the mixtures alone, topics as they are. The mixtures' class is that of the module that has the step."""
    corpus = oracle.tiny_corpus([[0] * len(z) for z in compound.TOPICS], 1)
    z = np.array([k for doc in compound.TOPICS for k in doc])
    first = make_prior(np.ones((2, 2)), np.ones(1), corpus.n_docs, alpha_row=compound.TOPIC_ROW)
    rng = np.random.default_rng(7)
    mixing = Mixing(method, n_steps=n_steps, adapt_until=0)

    def move(share: np.ndarray, replicate: int) -> np.ndarray:
        pi = np.column_stack((share, 1 - share))
        phi = pi * rng.gamma(2 * alpha, size=(2, 1)) * rng.choice([-1, 1], (2, 2))
        steps, parameter = np.full(2, log_step), np.full(2, alpha)
        now = step.__globals__["Mixtures"](pi, np.log(pi), phi, steps, np.zeros(2), compound.GAMMA, parameter)
        prior = first._replace(alpha=now.rows())
        for t in range(n_moves):
            prior = step(corpus, z, prior, now, mixing, Key(43, replicate, t + 1), False)
        return now.pi[:, 0]

    return move


@pytest.mark.parametrize("alpha", [0.3, 2.0])
@pytest.mark.parametrize("method", ["ags", "mgs"])
def test_mixtures_given_topics_are_invariant(method: str, alpha: float) -> None:
    p = compound.mixtures_invariance(mixer(mixtures.step, method, alpha, 4, -0.5), alpha, 4000, seed=9)
    assert p > oracle.FALSE_ALARM, f"p = {p:.3g}"


@pytest.mark.parametrize(
    ("method", "kernel", "n_steps"),
    [("ags", "dense", 1), ("ags", "sparse", 1), ("mgs", "dense", 1), ("mgs", "mh", 3)],
)
def test_posterior_of_topics_and_mixtures_is_invariant(method: str, kernel: str, n_steps: int) -> None:
    p = compound.invariance(mover(mixtures.step, method, kernel, n_steps=n_steps), 5000, seed=8)
    assert p > oracle.FALSE_ALARM, f"p = {p:.3g}"


@pytest.mark.parametrize(("method", "kernel"), [("ags", "dense"), ("ags", "words"), ("mgs", "sparse"), ("mgs", "auto")])
def test_posterior_is_invariant_where_words_are_drawn_apart(method: str, kernel: str) -> None:
    assert start_shards(compound.exact().corpus, 2, 3, Loads()).words.tolist() == [[0, 1], [1, 2]]
    p = compound.invariance(mover(mixtures.step, method, kernel, schedule=Schedule(3)), 5000, seed=13)
    assert p > oracle.FALSE_ALARM, f"p = {p:.3g}"


def test_totals_that_lag_behind_are_rejected() -> None:
    lagging = mover(mixtures.step, "ags", schedule=Schedule(3, exact=False))
    assert compound.invariance(lagging, 20_000, seed=13) < REJECT


@pytest.mark.parametrize("method", ["ags", "mgs"])
def test_joint_of_mixtures_topics_and_words_is_invariant(method: str) -> None:
    """Draw everything from the model, run the chain: mixtures and topics must be distributed as before (Geweke)."""
    alpha, gamma, n = np.array([0.5, 1.3, 0.8]), 2.5, 3000
    rng = np.random.default_rng(11)
    row = np.array([0, 0, 1])
    mixing = Mixing(method, n_steps=2, adapt_until=0, thin=9)
    start = mixtures.start_mixtures(np.full((2, 3), 1 / 3), gamma, alpha)  # each chain has its own in its place
    kernel = with_mixtures(get_sampler("auto"), mixing, start, row)
    plan = Plan(12, 3, None, 1, "standard", trace_every=9)
    pis, firsts, lasts = np.empty((n, 2, 3)), np.empty((n, 3)), np.empty((n, 3))
    for replicate in range(n):
        pi = rng.dirichlet(alpha, 2)
        z = np.concatenate([rng.choice(3, 5, p=rng.dirichlet(gamma * pi[j])) for j in row])
        topics = rng.dirichlet(np.full(4, 0.4), 3)
        corpus = oracle.tiny_corpus(
            [[int(rng.choice(4, p=topics[k])) for k in z[5 * d : 5 * d + 5]] for d in range(3)], 4
        )
        prior = make_prior(gamma * pi, np.full(4, 0.4), 3, alpha_row=row)
        phi = pi * rng.gamma(alpha.sum(), size=(2, 1))
        now = Mixtures(pi, np.log(pi), phi, np.full(2, -0.2), np.zeros(2), gamma, alpha)
        chain = Chain(replicate, 0, kernel.restore(corpus, z, 3), prior, extra=now)
        for _ in range(3):
            advance(kernel, corpus, chain, plan)
        pis[replicate] = chain.extra.pi
        firsts[replicate] = np.bincount(z[:10], minlength=3)
        lasts[replicate] = np.bincount(chain.state.z[:10], minlength=3)
    for j in range(2):
        for k in range(3):
            p = kstest(pis[:, j, k], "beta", args=(alpha[k], alpha.sum() - alpha[k])).pvalue
            assert p > oracle.FALSE_ALARM, f"collection {j}, topic {k}: p = {p:.3g}"
    for k in range(3):
        difference = lasts[:, k] - firsts[:, k]
        assert abs(difference.mean()) < 5.3 * difference.std() / np.sqrt(n)
        squares = lasts[:, k] ** 2 - firsts[:, k] ** 2
        assert abs(squares.mean()) < 5.3 * squares.std() / np.sqrt(n)


def test_alpha_is_drawn_from_its_posterior() -> None:
    """α from its prior, mixtures given α, then a step for α: distributed as before."""
    rng, path = np.random.default_rng(3), stream(9)
    before = rng.gamma(2.0, 1 / 3.0, 3000)
    after = []
    for alpha in before:
        x = np.log(rng.gamma(alpha + 1, size=(2, 4))) + np.log(rng.random((2, 4))) / alpha
        log_pi = x - np.logaddexp.reduce(x, axis=1, keepdims=True)
        for _ in range(3):
            alpha = mixtures.draw_alpha(log_pi, alpha, (2.0, 3.0), path)
        after.append(alpha)
    assert kstest(after, "gamma", args=(2.0, 0.0, 1 / 3.0)).pvalue > oracle.FALSE_ALARM


def test_gamma_maximises_the_likelihood() -> None:
    data = synthetic_compound(2, 150, 30, 4, doc_length=50, gamma=2.2, alpha=1.0, seed=2)
    corpus, row = data.corpus, np.repeat([0, 1], 150)
    prior = make_prior(np.ones((2, 4)), np.ones(30), 300, alpha_row=row)
    now = mixtures.start_mixtures(data.pi, 1.0, np.ones(4))
    found = documents_by_count(corpus, data.z, prior)
    for _ in range(100):
        now.gamma = mixtures.learn_gamma(found, corpus.doc_lengths, now)

    def log_posterior(gamma: float) -> float:
        counts = np.zeros((300, 4))
        np.add.at(counts, (corpus.token_docs, data.z), 1)
        rows = gamma * data.pi[row]
        return (
            sum(oracle._dirichlet_multinomial(n, a) for n, a in zip(counts, rows, strict=True)) - mixtures.RATE * gamma
        )

    best = now.gamma
    assert abs(log_posterior(best * 1.0001) - log_posterior(best / 1.0001)) < 2e-2 * 2e-4 * 1e4
    assert log_posterior(best) > max(log_posterior(best * 0.98), log_posterior(best * 1.02))
    assert best == pytest.approx(2.2, rel=0.15)


def test_step_sizes_reach_the_stated_acceptance_and_then_stay() -> None:
    data = synthetic_compound(2, 100, 40, 5, doc_length=60, alpha=1.0, seed=3)
    prior = make_prior(np.ones((2, 5)), np.ones(40), 200, alpha_row=np.repeat([0, 1], 100))
    now = mixtures.start_mixtures(np.full((2, 5), 0.2), 1.0, np.ones(5))
    mixing = Mixing("mgs", n_steps=5, acceptance=0.4, adapt_until=400)
    seen = []
    for t in range(1, 901):
        prior = mixtures.step(data.corpus, data.z, prior, now, mixing, Key(5, 0, t), False)
        if t == 400:
            fixed = now.log_step.copy()
        seen.append(now.acceptance.mean())
    np.testing.assert_array_equal(now.log_step, fixed)
    assert np.mean(seen[500:]) == pytest.approx(0.4, abs=0.05)
