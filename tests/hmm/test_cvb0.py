"""CVB0: the same as by listing all paths, how near it is to the exact posterior, and what it refuses."""

import itertools
from pathlib import Path

import numpy as np
import pytest

import topicloom
from tests.hmm.test_mutants import mutate
from tests.oracles import hmm as oracle
from tests.oracles.lda import all_states
from topicloom import HMM
from topicloom.errors import InputError, MemoryLimitError
from topicloom.hmm import cvb0, forward_backward
from topicloom.hmm.state import Known, make_hmm_prior, make_known, make_parameters

CASES = {name: case for name, case in oracle.cases().items() if case.n_paths == 1}
# Largest distance from the exact P(state at a place), and the mean one; the plain variational method (digammas of all
# counts) is off by 0.085 in the mean in the best case, and by 0.64 in the worst.
APART = {
    "sticky": 0.04, "starts": 0.19, "one path": 0.05, "one path, three states": 0.03, "missing": 0.02
}  # fmt: skip


def by_sequence(case: oracle.HMMCase, pairs: np.ndarray) -> list[np.ndarray]:
    return [pairs[a:b] for a, b in itertools.pairwise(case.corpus.doc_ptr.tolist())]


def start(case: oracle.HMMCase) -> tuple[list[np.ndarray], np.ndarray]:
    """Beliefs by chance, of each sequence and end to end."""
    rng = np.random.default_rng(4)
    paths = [list(all_states(len(own), case.n_states)) for own in oracle.sequences(case)]
    xi = oracle.pair_shares(case, paths, [rng.dirichlet(np.ones(len(own))) for own in paths])
    return xi, np.concatenate(xi)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("n_iter", [1, 2, 30])
def test_the_same_as_by_listing_all_paths(name: str, n_iter: int) -> None:
    case = CASES[name]
    xi, pairs = start(case)
    prior = make_hmm_prior(case.initial, case.transition, case.emission)
    state = cvb0.Beliefs(pairs.copy())
    for _ in range(n_iter):
        old = state.pairs.sum(axis=1)
        state, moved = cvb0.iterate(case.corpus, state, prior)
        assert moved == pytest.approx(np.abs(state.pairs.sum(axis=1) - old).sum() / 2)
    wanted = np.concatenate(oracle.cvb0(case, xi, n_iter))
    np.testing.assert_allclose(state.pairs, wanted, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_nearer_to_the_posterior_than_what_keeps_a_places_own_counts(name: str) -> None:
    case = CASES[name]
    prior = make_hmm_prior(case.initial, case.transition, case.emission)
    state = cvb0.Beliefs(start(case)[1])
    for _ in range(200):
        state, moved = cvb0.iterate(case.corpus, state, prior)
    assert moved < 1e-6
    assert np.abs(state.pairs.sum(axis=1) - oracle.marginals(case)).mean() < APART[name]


def test_beliefs_under_known_parameters() -> None:
    case = CASES["missing"]
    known = make_known(*(np.array(x) for x in ([0.3, 0.7], [[0.6, 0.4], [0.1, 0.9]], [[0.2, 0.8], [0.5, 0.5]])))
    prior = make_hmm_prior(case.initial, case.transition, case.emission)
    state = cvb0.from_known(case.corpus, known, prior)
    shown = make_parameters(known.moves[2], known.moves[:2], np.vstack((known.emission, np.ones(2))).T)
    wanted = np.concatenate(forward_backward.posteriors(case.corpus, shown)[1])
    np.testing.assert_allclose(state.pairs.sum(axis=1), wanted, atol=1e-12)
    for x, own in zip(by_sequence(case, state.pairs), oracle.sequences(case), strict=True):
        paths, p = oracle.listed(own, known.moves[2], known.moves[:2], known.emission.T)
        np.testing.assert_allclose(x, oracle.pair_shares(case._replace(corpus=case.corpus), [paths], [p / p.sum()])[0])


def test_parameters_are_the_mean_given_expected_counts(sequences: list[np.ndarray]) -> None:
    model = HMM(2, method="cvb0", max_iter=400, random_state=0).fit(sequences)
    assert model.converged_
    pairs = model.chains_[0].state.pairs
    first = np.array([a for a, b in itertools.pairwise(model.corpus_.doc_ptr.tolist()) if b > a])
    inner = np.setdiff1d(np.arange(len(pairs)), first)
    moves = pairs[inner].sum(axis=0) + 1
    np.testing.assert_allclose(model.transition_, moves / moves.sum(axis=1, keepdims=True))
    starts = pairs[first, 0].sum(axis=0) + 1
    np.testing.assert_allclose(model.initial_, starts / starts.sum())
    emission = np.stack([np.bincount(model.corpus_.words, pairs.sum(axis=1)[:, k], 4) for k in range(2)]) + 1
    np.testing.assert_allclose(model.emission_, emission / emission.sum(axis=1, keepdims=True))
    gibbs = HMM(2, burn_in=200, thin=2, max_iter=1000, random_state=0).fit(sequences)
    order = [0, 1] if abs(model.emission_ - gibbs.emission_).max() < 0.3 else [1, 0]
    assert np.abs(model.emission_[order] - gibbs.emission_).max() < 0.03
    assert np.abs(model.transition_[order][:, order] - gibbs.transition_).max() < 0.03


def test_what_can_never_be_stays_so() -> None:
    X = [np.array([0, 0, 1, 1, 1, 2]), np.array([0, 1, 1, 2, 2])] * 4
    prior = {"initial_prior": [1, 0, 0], "transition_prior": np.triu(np.ones((3, 3)))}
    model = HMM(3, method="cvb0", **prior, random_state=0).fit(X)
    assert np.array_equal(model.initial_, [1, 0, 0])
    assert np.all(np.tril(model.transition_, -1) == 0)


def test_a_sparse_start_that_forbids_everything_is_overcome() -> None:
    prior = make_hmm_prior(np.ones(2), np.ones((2, 2)), np.ones((2, 2)))
    corpus = CASES["sticky"].corpus
    never = Known(np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]), {"emission": np.array([[1.0, 0.5], [0.0, 0.5]])})
    state = cvb0.from_known(corpus, never, prior)
    assert np.all(np.isfinite(state.pairs))
    np.testing.assert_allclose(state.pairs.sum(axis=(1, 2)), 1)


def test_memory_is_asked_for_first(sequences: list[np.ndarray]) -> None:
    with pytest.raises(MemoryLimitError, match=r'method="cvb0" needs [\d,.]+ GB for 621 symbols, 500 states'):
        HMM(500, method="cvb0", n_chains=10_000, start={"n_runs": 1}).fit(sequences)


def test_draws_and_others_are_refused(sequences: list[np.ndarray], tmp_path: Path) -> None:
    with pytest.raises(InputError, match='is for symbols, and emission is "poisson"'):
        HMM(2, method="cvb0", emission="poisson").fit([[1, 2]])
    with pytest.raises(InputError, match='method="cvb0" has none'):
        HMM(2, method="cvb0", n_paths=2).fit(sequences)
    with pytest.raises(InputError, match='method="cvb0" integrates them out'):
        HMM(2, method="cvb0", start={"initial": [0.5, 0.5]}, fixed=["initial"]).fit(sequences)
    model = HMM(2, method="cvb0", max_iter=5, tol=0, random_state=0).fit(sequences)
    with pytest.raises(InputError, match='need method="gibbs"'):
        model.draw_parameters(3)
    model.save(tmp_path / "m")
    more, straight = topicloom.resume(tmp_path / "m", max_iter=9), model.set_params(max_iter=9).fit(sequences)
    assert more.fingerprint_ == straight.fingerprint_


WRONG = {
    "": (),
    "a symbol counts itself": ("n_emission[v, k] - own[k]", "n_emission[v, k] - 0 * own[k]"),
    "a state's symbols count this one": ("(shown[k] - own[k])", "shown[k]"),
    "a move counts itself": ("n_moves[i, k] - row[p, k]", "n_moves[i, k]"),
    "moves out of a state count this one": ("total -= row[p, k]", "total -= 0 * row[p, k]"),
    "no prior of symbols": (", 0.0) + emission[v, k])", ", 0.0))"),
    "a first symbol moves like the others": ("n_rows = 1 if t == first else n_states", "n_rows = n_states"),
    "no way back": ("share = row[p, k] * beta[k]", "share = row[p, k]"),
}


def furthest(change: tuple[str, ...]) -> float:
    """Largest distance from the listing, after two iterations of the package's source with one change."""
    module = mutate("hmm.cvb0", *([change] if change else []))
    apart = []
    for case in CASES.values():
        xi, pairs = start(case)
        prior = make_hmm_prior(case.initial, case.transition, case.emission)
        state = module.Beliefs(pairs.copy())
        with np.errstate(all="ignore"):
            for _ in range(2):
                state, _ = module.iterate(case.corpus, state, prior)
        apart.append(np.nan_to_num(np.abs(state.pairs - np.concatenate(oracle.cvb0(case, xi, 2))), nan=1.0).max())
    return max(apart)


@pytest.mark.parametrize("name", WRONG)
def test_wrong_updates_are_rejected(name: str) -> None:
    assert bool(furthest(WRONG[name]) < 1e-12) is (name == "")
