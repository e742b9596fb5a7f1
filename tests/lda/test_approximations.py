"""Approximations are as near to the exact posterior as docs/performance/approximations.md says, and it can be seen."""

import numpy as np
import pytest

from tests.oracles import lda as oracle
from topicloom.datasets import synthetic_lda
from topicloom.engine import shards as blocks
from topicloom.engine.prior import make_prior
from topicloom.engine.sampler import Key, Schedule
from topicloom.lda.gibbs import get_sampler

SWEEPS, WARM_UP = 6000, 20
CASE = oracle.cases()["two topics"]  # six tokens, three documents, three words: 64 states

# Largest total variation distance, and largest error of P(z_i = z_j), of a chain's states; noise is in them.
NOISE = (0.05, 0.025)
BOUNDS = {
    ("dense", Schedule()): NOISE,
    ("sparse", Schedule()): NOISE,
    ("dense", Schedule(n_shards=2, exact=False)): (0.09, 0.06),
    ("sparse", Schedule(n_shards=2, exact=False)): (0.09, 0.06),
    ("sparse", Schedule(n_shards=8, exact=False)): (0.09, 0.06),
    ("warp", Schedule(n_mh=1)): (0.11, 0.05),
    ("warp", Schedule(n_mh=2)): (0.14, 0.08),
    ("warp", Schedule(n_mh=4)): (0.17, 0.10),
}


def together(states: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Probability that two tokens have one topic, for all pairs."""
    return np.einsum("s,sij->ij", p, states[:, :, None] == states[:, None, :])


def distances(name: str, schedule: Schedule, case: oracle.Case = CASE) -> tuple[float, float]:
    """Of the states that a chain visits, from the posterior; it starts from a draw of that posterior."""
    kernel = get_sampler(name)
    states, p = oracle.posterior(case)
    start = states[np.random.default_rng(1).choice(len(states), p=p)]
    state, progress = kernel.restore(case.corpus, start, case.n_topics), None
    seen = np.zeros(len(states))
    for sweep in range(WARM_UP + SWEEPS):
        state, _, progress = kernel.run(case.corpus, state, case.prior, Key(2, 0, sweep), schedule, 1, progress)
        if sweep >= WARM_UP:
            seen[oracle.state_number(state.z, case.n_topics)] += 1
    q = seen / SWEEPS
    return float(np.abs(q - p).sum() / 2), float(np.abs(together(states, q) - together(states, p)).max())


@pytest.mark.parametrize(
    ("name", "schedule"), BOUNDS, ids=[f"{name}, {s.n_shards} shards, {s.n_mh} steps" for name, s in BOUNDS]
)
def test_tiny_corpora_are_sampled_within_the_bounds(name: str, schedule: Schedule) -> None:
    distance, pair = distances(name, schedule)
    assert distance < BOUNDS[name, schedule][0]
    assert pair < BOUNDS[name, schedule][1]


def test_shards_that_lag_are_about_as_near_as_those_that_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in large corpora, on a tiny one whose documents are in pieces of their own; 256 states, so with more noise."""
    corpus = oracle.tiny_corpus([[0], [1], [2], [0], [1], [2], [3], [3]], 4)
    case = oracle.Case(corpus, make_prior(np.array([0.3, 0.9]), np.full(4, 0.4), 8))
    meet = distances("dense", Schedule(n_shards=2, exact=False), case)
    monkeypatch.setattr(blocks, "LEAST", 0)
    monkeypatch.setattr(blocks, "PER_TOPIC", 0)
    lag = distances("dense", Schedule(n_shards=2, exact=False), case)
    assert lag != meet
    assert lag[0] < 0.12
    assert lag[1] < 0.06


def test_the_measure_tells_an_approximation_from_the_exact_sampler() -> None:
    distance, pair = distances("warp", Schedule(n_mh=4))
    assert distance > 2 * NOISE[0]
    assert pair > 2 * NOISE[1]


def test_on_larger_corpora_little_is_left_of_it() -> None:
    """Mean log joint probability a token, of chains that start from the true topics and so in one mode."""
    truth = synthetic_lda(200, 150, 8, doc_length=60, seed=5)
    corpus, prior = truth.corpus, make_prior(np.full(8, 0.1), np.full(150, 0.05), 200)

    def settles_at(name: str, schedule: Schedule) -> float:
        kernel = get_sampler(name)
        values = []
        for chain in range(2):
            state = kernel.restore(corpus, truth.z, 8)
            for sweep in range(80):
                state, _ = kernel.sweep(corpus, state, prior, Key(6, chain, sweep), schedule)
                if sweep >= 30:
                    values.append(kernel.log_joint(corpus, state, prior))
        return float(np.mean(values)) / corpus.n_tokens

    exact = settles_at("dense", Schedule())
    for n_shards in (2, 8):
        assert settles_at("dense", Schedule(n_shards, exact=False)) == pytest.approx(exact, abs=0.003)
    assert settles_at("warp", Schedule(n_mh=2)) == pytest.approx(exact, abs=0.01)
