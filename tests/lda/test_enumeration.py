"""The exact posterior of tiny corpora is invariant under every exact kernel."""

import numpy as np
import pytest

from tests.oracles import lda as oracle
from topicloom.engine.sampler import Key, Schedule
from topicloom.lda.gibbs import get_sampler, sampler_names

EXACT = [name for name in sampler_names() if get_sampler(name).exact]
REPLICATES, SWEEPS = 12_000, 2


def sweeper(name: str, case: oracle.Case, seed: int):
    kernel = get_sampler(name)

    def sweep(z: np.ndarray, replicate: int) -> np.ndarray:
        state = kernel.restore(case.corpus, z, case.n_topics)
        for t in range(SWEEPS):
            state, _ = kernel.sweep(case.corpus, state, case.prior, Key(seed, replicate, t), Schedule())
        return state.z

    return sweep


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("which", oracle.cases())
def test_posterior_is_invariant(name: str, which: str) -> None:
    case = oracle.cases()[which]
    p = oracle.invariance(case, sweeper(name, case, seed=11), REPLICATES, seed=12)
    assert p > oracle.FALSE_ALARM, f"p = {p:.3g}"


@pytest.mark.parametrize("name", EXACT)
def test_posterior_is_reached_from_a_bad_start(name: str) -> None:
    """From one fixed state, after many sweeps, every state is visited as often as the posterior says."""
    case = oracle.cases()["three topics"]
    kernel = get_sampler(name)
    states, p = oracle.posterior(case)
    observed = np.zeros(len(states))
    for chain in range(3000):
        state = kernel.restore(case.corpus, np.zeros(case.corpus.n_tokens, int), case.n_topics)
        for t in range(25):
            state, _ = kernel.sweep(case.corpus, state, case.prior, Key(13, chain, t), Schedule())
        observed[oracle.state_number(state.z, case.n_topics)] += 1
    assert oracle.chi_square(observed, p) > oracle.FALSE_ALARM


@pytest.mark.parametrize("name", EXACT)
def test_joint_of_words_and_topics_is_invariant(name: str) -> None:
    """Draw topics and words from the model, then sweep the topics: the pair must be distributed as before (Geweke)."""
    n_words, n_topics, length = 2, 2, 4
    rng = np.random.default_rng(21)
    alpha, beta = np.array([0.4, 1.1]), np.array([0.3, 0.8])
    prior = oracle.make_prior(alpha, beta, 1)
    kernel = get_sampler(name)
    words = list(oracle.all_states(length, n_words))
    corpora = [oracle.tiny_corpus([list(w)], n_words) for w in words]
    exact = np.array(
        [np.exp(oracle.log_joint(c, np.array(z), prior)) for c in corpora for z in oracle.all_states(length, n_topics)]
    )
    assert exact.sum() == pytest.approx(1)
    observed = np.zeros(len(exact))
    for replicate in range(12_000):
        theta = rng.dirichlet(alpha)
        phi = rng.dirichlet(beta, n_topics)
        z = rng.choice(n_topics, size=length, p=theta)
        w = [int(rng.random() < phi[k, 1]) for k in z]
        which = oracle.state_number(np.array(w), n_words)
        state = kernel.restore(corpora[which], z, n_topics)
        state, _ = kernel.sweep(corpora[which], state, prior, Key(22, replicate, 0), Schedule())
        observed[which * n_topics**length + oracle.state_number(state.z, n_topics)] += 1
    assert oracle.chi_square(observed, exact) > oracle.FALSE_ALARM
