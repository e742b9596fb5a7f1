"""The three samplers of hidden Markov models leave the exact joint posterior of all paths as it is."""

from functools import cache

import numpy as np
import pytest
from scipy.stats import beta as beta_distribution
from scipy.stats import kstest

from tests.oracles import hmm as hmm_oracle
from tests.oracles import lda as oracle
from topicloom.engine.blocks import tokens_of
from topicloom.engine.sampler import Key
from topicloom.hmm import forward_backward, gibbs
from topicloom.hmm.emissions.categorical import Categorical
from topicloom.hmm.state import Parameters, as_observed, make_hmm_prior, make_parameters
from topicloom.numerics import variates as gamma
from topicloom.numerics.rng import stream

REPLICATES, SWEEPS = 12_000, 2
CASES = list(hmm_oracle.cases())


@cache
def case_of(which: str):
    case = hmm_oracle.cases()[which]
    return case, make_hmm_prior(case.initial, case.transition, case.emission), hmm_oracle.posterior(case)


@pytest.mark.parametrize("sampler", gibbs.SAMPLERS)
@pytest.mark.parametrize("which", CASES)
def test_joint_posterior_of_all_paths_is_invariant(sampler: str, which: str) -> None:
    case, prior, known = case_of(which)

    def sweep(z: np.ndarray, replicate: int) -> np.ndarray:
        state = gibbs.restore(case.corpus, z, case.n_states)
        for t in range(SWEEPS):
            state, _ = gibbs.sweep(case.corpus, state, prior, Key(41, replicate, t), sampler)
        return state.z

    p = hmm_oracle.invariance(case, sweep, REPLICATES, seed=42, known=known)
    assert p > oracle.FALSE_ALARM, f"p = {p:.3g}"


@pytest.mark.parametrize("sampler", gibbs.SAMPLERS)
def test_joint_posterior_is_reached_from_a_bad_start(sampler: str) -> None:
    case, prior, (states, p) = case_of("two paths, three states")
    observed = np.zeros(len(states))
    for chain in range(2500):
        state = gibbs.restore(case.corpus, np.zeros((case.n_paths, case.corpus.n_tokens), int), case.n_states)
        for t in range(20):
            state, _ = gibbs.sweep(case.corpus, state, prior, Key(43, chain, t), sampler)
        observed[oracle.state_number(state.z.ravel(), case.n_states)] += 1
    assert oracle.chi_square(observed, p) > oracle.FALSE_ALARM


def test_the_target_is_the_power_of_the_likelihood() -> None:
    """Two ways to the same joint: parameters integrated out, and P(φ) P(w | φ)^m (lemma 3.1), on average over φ."""
    case, _, (states, _) = case_of("two paths")
    summed = sum(np.exp(hmm_oracle.log_joint(case, z)) for z in states)
    rng = np.random.default_rng(5)
    draws = np.empty(20_000)
    for i in range(len(draws)):
        initial = rng.dirichlet(case.initial)
        transition = np.array([rng.dirichlet(row) for row in case.transition])
        emission = np.array([rng.dirichlet(row) for row in case.emission])
        likelihood = 1.0
        for sequence in hmm_oracle.sequences(case):
            if sequence:  # by the forward recursion, written as matrices
                a = initial * emission[:, sequence[0]]
                for v in sequence[1:]:
                    a = (a @ transition) * emission[:, v]
                likelihood *= a.sum()
        draws[i] = likelihood**case.n_paths
    error = draws.std() / np.sqrt(len(draws))
    assert abs(draws.mean() - summed) < 5.4 * error
    assert error < 0.02 * summed


@pytest.mark.parametrize("which", CASES)
def test_log_joint(which: str) -> None:
    case, prior, (states, _) = case_of(which)
    shape = (case.n_paths, case.corpus.n_tokens)
    for z in states[:: max(1, len(states) // 50)]:
        state = gibbs.restore(case.corpus, z.reshape(shape), case.n_states)
        assert gibbs.log_joint(case.corpus, state, prior) == pytest.approx(hmm_oracle.log_joint(case, z), abs=1e-12)


def soft_by_definition(case, z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Expected (initial, transition, emission) counts, from conditionals made of ratios of the joint."""
    k = case.n_states
    initial, transition, emission = np.zeros(k), np.zeros((k, k)), np.zeros((k, case.corpus.n_words))
    for j in range(case.n_paths):
        at = 0
        for sequence in hmm_oracle.sequences(case):
            for t, v in enumerate(sequence):
                p = hmm_oracle.conditional(case, z, j, at)
                emission[:, v] += p
                if t == 0:
                    initial += p
                else:
                    transition[z[j, at - 1]] += p / 2
                if t + 1 < len(sequence):
                    transition[:, z[j, at + 1]] += p / 2
                at += 1
    return initial, transition, emission


@pytest.mark.parametrize("which", CASES)
def test_conditionals_are_ratios_of_the_joint(which: str) -> None:
    """By way of the dense estimate, which is the sum of the conditionals: every kind of place, to 1e-12."""
    case, prior, (states, _) = case_of(which)
    shape = (case.n_paths, case.corpus.n_tokens)
    for z in states[:: max(1, len(states) // 40)]:
        state = gibbs.restore(case.corpus, z.reshape(shape), case.n_states)
        soft = gibbs.expected_counts(case.corpus, state, prior, "cgs_p")
        initial, transition, emission = soft_by_definition(case, z.reshape(shape))
        assert np.abs(soft.moves[-1] - initial).max() < 1e-12
        assert np.abs(soft.moves[:-1] - transition).max() < 1e-12
        assert np.abs(soft.emission.T - emission).max() < 1e-12
        again = gibbs.restore(case.corpus, state.z, case.n_states)  # the state is as it was
        assert all(np.array_equal(a, b) for a, b in zip(state, again, strict=True))


@pytest.mark.parametrize("which", ["one path", "two paths", "two paths, three states"])
def test_dense_counts_have_the_mean_of_the_drawn_ones(which: str) -> None:
    """The theorem behind CGS_p, for an HMM: over the posterior, both estimators' counts have one mean."""
    case, prior, (states, p) = case_of(which)
    shape = (case.n_paths, case.corpus.n_tokens)
    means = {}
    for estimator in ("standard", "cgs_p"):
        total = [np.zeros(prior.moves.shape), np.zeros((case.corpus.n_words, case.n_states))]
        for z, share in zip(states, p, strict=True):
            state = gibbs.restore(case.corpus, z.reshape(shape), case.n_states)
            counts = gibbs.expected_counts(case.corpus, state, prior, estimator)
            total[0] += share * counts.moves
            total[1] += share * counts.emission
        means[estimator] = total
    for a, b in zip(means["standard"], means["cgs_p"], strict=True):
        assert np.abs(a - b).max() < 1e-12


# -- given parameters ----------------------------------------------------------------------------------------------


def random_parameters(seed: int, n_states: int, n_symbols: int, zeros: bool = False):
    rng = np.random.default_rng(seed)
    initial = rng.dirichlet(np.ones(n_states))
    transition = rng.dirichlet(np.ones(n_states), n_states)
    emission = rng.dirichlet(np.ones(n_symbols), n_states)
    if zeros:
        transition = np.triu(transition)  # left to right
        transition /= transition.sum(axis=1, keepdims=True)
        emission[0, 0] = 0
        emission /= emission.sum(axis=1, keepdims=True)
    return initial, transition, emission


DOCS = [[0, 1, 1, 2, 0], [], [2], [1, 2, 2, 2]]
MISSING = [[0, 3, 1, 3, 0], [3], [], [3, 3, 2]]  # symbol 3 is missing


def on_rows(usual, corpus):
    """Parameters with a row for a missing symbol, if there is one."""
    given = make_parameters(*usual)
    emission = Categorical(np.ones((3, len(usual[0]))))
    return Parameters(given.moves, emission.table({"emission": given.emission}, as_observed(corpus))[0])


@pytest.mark.parametrize("docs", [DOCS, MISSING], ids=["known", "missing"])
@pytest.mark.parametrize(("n_states", "zeros"), [(1, False), (2, False), (2, True), (3, False), (3, True), (5, True)])
def test_likelihood_posterior_and_best_path_by_listing(n_states: int, zeros: bool, docs: list[list[int]]) -> None:
    corpus = oracle.tiny_corpus(docs, 4 if docs is MISSING else 3)
    usual = random_parameters(n_states, n_states, 3, zeros)
    given = on_rows(usual, corpus)
    values = forward_backward.log_likelihoods(corpus, given)
    best_values, best = forward_backward.best_paths(corpus, given)
    also, shares = forward_backward.posteriors(corpus, given)
    assert np.array_equal(also, values)
    for s, sequence in enumerate(docs):
        if not sequence:
            assert values[s] == best_values[s] == 0
            assert len(best[s]) == len(shares[s]) == 0
            continue
        paths, p = hmm_oracle.listed(sequence, *usual)
        assert values[s] == pytest.approx(np.log(p.sum()), abs=1e-12)
        assert best_values[s] == pytest.approx(np.log(p.max()), abs=1e-12)
        assert hmm_oracle.path_probability(best[s], sequence, *usual) == pytest.approx(p.max(), rel=1e-12)
        expected = np.zeros((len(sequence), n_states))
        for path, q in zip(paths, p / p.sum(), strict=True):
            expected[np.arange(len(sequence)), path] += q
        assert np.abs(shares[s] - expected).max() < 1e-12


@pytest.mark.parametrize("all_docs", [DOCS, MISSING], ids=["known", "missing"])
@pytest.mark.parametrize("n_states", [1, 2, 3, 6])
def test_expected_counts_by_listing(n_states: int, all_docs: list[list[int]]) -> None:
    docs = [doc for doc in all_docs if len(doc) < 5] if n_states == 6 else all_docs
    corpus = oracle.tiny_corpus(docs, 4 if all_docs is MISSING else 3)
    usual = random_parameters(20 + n_states, n_states, 3)
    given = on_rows(usual, corpus)
    moves, emission = np.zeros((n_states + 1, n_states)), np.zeros((corpus.n_words, n_states))
    room = forward_backward.room_for_forward(corpus, n_states)
    value = forward_backward.expect(tokens_of(corpus), given, room, Parameters(moves, emission))
    expected_moves, expected_emission, total = np.zeros_like(moves), np.zeros_like(emission), 0.0
    for sequence in docs:
        if not sequence:
            continue
        paths, p = hmm_oracle.listed(sequence, *usual)
        total += np.log(p.sum())
        for path, q in zip(paths, p / p.sum(), strict=True):
            expected_moves[n_states, path[0]] += q
            for t, v in enumerate(sequence):
                expected_emission[v, path[t]] += q
                if t:
                    expected_moves[path[t - 1], path[t]] += q
    assert value == pytest.approx(total, abs=1e-12)
    assert np.abs(moves - expected_moves).max() < 1e-12
    assert np.abs(emission - expected_emission).max() < 1e-12


@pytest.mark.parametrize("n_states", [2, 4])
def test_long_sequences_neither_vanish_nor_lose_digits(n_states: int) -> None:
    """Against sums in logarithms, over 3000 symbols of which some are very improbable."""
    usual = list(random_parameters(3, n_states, 4))
    usual[2][:, 3] = 1e-120
    given = make_parameters(*usual)
    sequence = np.random.default_rng(4).integers(0, 4, 3000)
    corpus = oracle.tiny_corpus([sequence.tolist()], 4)
    initial, transition, emission = (np.log(x) for x in usual)
    a = initial + emission[:, sequence[0]]
    for v in sequence[1:]:
        a = np.logaddexp.reduce(a[:, None] + transition, axis=0) + emission[:, v]
    assert forward_backward.log_likelihoods(corpus, given)[0] == pytest.approx(np.logaddexp.reduce(a), rel=1e-13)
    share = forward_backward.posteriors(corpus, given)[1][0]
    assert np.all(np.isfinite(share))
    assert np.abs(share.sum(axis=1) - 1).max() < 1e-12


def test_impossible_sequences_have_no_probability() -> None:
    given = make_parameters(np.array([1.0, 0.0]), np.eye(2), np.array([[1.0, 0.0], [0.0, 1.0]]))
    corpus = oracle.tiny_corpus([[0, 0], [0, 1]], 2)
    assert forward_backward.log_likelihoods(corpus, given).tolist() == [0.0, -np.inf]
    assert forward_backward.best_paths(corpus, given)[0].tolist() == [0.0, -np.inf]


# -- draws ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parameter", [(0.05, 0.3), (1.0, 1.0), (0.7, 12.0), (300.0, 40.0)])
def test_dirichlet_draws(parameter: tuple[float, float]) -> None:
    rng, out = stream(77), np.empty((8000, 2))
    gamma.dirichlets(rng, np.tile(parameter, (8000, 1)), out)
    assert np.allclose(out.sum(axis=1), 1)
    # Below 1e-15 a share is a rounded 1 minus the other.
    result = kstest(np.clip(out[:, 0], 1e-300, 1), beta_distribution(*parameter).cdf)
    assert result.pvalue > oracle.FALSE_ALARM


def test_a_dirichlet_draw_with_a_tiny_parameter_is_still_one() -> None:
    rng, out = stream(78), np.empty((500, 4))
    gamma.dirichlets(rng, np.full((500, 4), 1e-4), out)
    assert np.all(np.isfinite(out))
    assert np.allclose(out.sum(axis=1), 1)


def test_simulated_sequences_follow_the_model() -> None:
    usual = random_parameters(9, 3, 4)
    states, symbols = forward_backward.simulate(make_parameters(*usual), np.full(4000, 3), seed=1)
    observed = np.zeros((3, 3, 4))
    for z, w in zip(states, symbols, strict=True):
        observed[z[0], z[1], w[2]] += 1
    initial, transition, emission = usual
    expected = initial[:, None, None] * transition[:, :, None] * (transition @ emission)[None, :, :]
    assert oracle.chi_square(observed.ravel(), expected.ravel()) > oracle.FALSE_ALARM
