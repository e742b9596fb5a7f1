"""Where chains begin: short runs, starting values, fixed parameters, and moves that can never be."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import topicloom
from tests.oracles import hmm as hmm_oracle
from tests.oracles import lda as oracle
from topicloom import HMM
from topicloom.datasets import addresses
from topicloom.engine.sampler import Key
from topicloom.errors import InputError, InputTypeError
from topicloom.hmm import em, gibbs, starts, values
from topicloom.hmm.sampler import Start
from topicloom.hmm.sequences import training_corpus
from topicloom.hmm.state import HMMPrior, Known, make_hmm_prior, observed_symbols

SYMBOLS = [[0, 0, 1, 1, 2, 2, 0, 1], [0, 1, 2], [0, 0, 0, 2]] * 6


@cache
def letters(n: int) -> list[str]:
    return list(re.sub("[^a-z]+", " ", " ".join(addresses().texts or ()).lower())[:n])


def vowels_apart(model: HMM) -> bool:
    second = model.emission_[1] > model.emission_[0]
    number = {letter: v for v, letter in enumerate(model.alphabet_)}
    vowels = [second[number[letter]] for letter in "aeiou"]
    others = [second[number[letter]] for letter in "tnsrhldcm"]
    return (all(vowels) and not any(others)) or (all(others) and not any(vowels))


@pytest.mark.parametrize("way", [{"method": "em"}, {"max_iter": 20}], ids=["em", "gibbs"])
def test_vowels_are_found(way) -> None:
    """Of single runs about half end in a poor mode."""
    found = [vowels_apart(HMM(2, random_state=seed, **way).fit([letters(20_000)])) for seed in range(20)]
    assert sum(found) >= 19


def test_runs_in_one_mode_count_once() -> None:
    """The same parameters with the states numbered otherwise, twice; and others."""
    seen = observed_symbols(training_corpus([list("aaabbbbaaabbbcc")] * 30, None)[0])
    prior = make_hmm_prior(np.ones(2), np.ones((2, 2)), np.ones((2, 3)))
    one = em.improved(seen, gibbs.draw_from_prior(seen, prior, Key(3, 0, 0)), prior, 200)
    turned = Known(one.moves[[1, 0, 2]][:, [1, 0]].copy(), {"emission": one.emission[:, [1, 0]].copy()})
    other = make_hmm_prior(np.ones(2), np.ones((2, 2)), np.ones((2, 3)))
    flat = Known(np.full((3, 2), 0.5), {"emission": np.full((3, 2), 1 / 3)})
    left = starts._in_order(seen, [one, turned, flat, one], other, 3)
    assert len(left) == 2
    assert em.log_posterior(seen, left[0], prior) > em.log_posterior(seen, left[1], prior)


@pytest.mark.parametrize("way", [{"method": "em"}, {"method": "cvb0"}, {"max_iter": 3}], ids=["em", "cvb0", "gibbs"])
@pytest.mark.parametrize("emission", ["categorical", "multinomial"])
def test_symbols_that_short_runs_do_not_see_stay_possible(way, emission: str) -> None:
    x = np.random.default_rng(0).integers(0, 3, 60_000)
    seen = observed_symbols(training_corpus([x], None)[0])
    cuts = starts.part_of(seen)
    assert len(cuts.rows) < len(x)
    x[[1500, 1501]] = 3, 4  # in a piece that is left out
    if emission == "multinomial":
        if way.get("method") == "cvb0":
            pytest.skip("of symbols alone")
        x = np.eye(5)[x]
    model = HMM(2, emission=emission, random_state=0, **{"max_iter": 8, "tol": 0.0, **way}).fit([x])
    assert np.isfinite(model.score([x]))
    assert np.all(model.emission_.sum(axis=0) > 0)


def test_the_best_of_the_short_runs_goes_on() -> None:
    seen = observed_symbols(training_corpus([list("ababcc")] * 40, None)[0])
    prior = make_hmm_prior(np.ones(3), np.ones((3, 3)), np.ones((3, 3)))
    key = Key(5, 0, 0)
    best = starts.best_start(seen, prior, key, 6, 10, {})
    value = em.log_posterior(seen, best, prior)
    for run in range(6):
        alone = em.improved(seen, gibbs.draw_from_prior(seen, prior, key, run), prior, 10)
        assert value >= em.log_posterior(seen, alone, prior) - 1e-9
    again = starts.best_start(seen, prior, key, 6, 10, {})
    assert np.array_equal(best.emission, again.emission)


def test_short_runs_see_a_part_of_large_data() -> None:
    rng = np.random.default_rng(0)
    corpus = topicloom.Corpus(
        rng.integers(0, 3, 90_000), np.array([0, 50_000, 50_000, 90_000]), ("a", "b", "c"), ordered=True
    )
    part = starts.part_of(observed_symbols(corpus))
    assert 15_000 < len(part.rows) <= 21_000
    assert np.diff(part.doc_ptr).max() <= starts.BLOCK
    assert part.doc_ptr[-1] == len(part.rows)


def test_there_are_fewer_short_runs_with_many_states() -> None:
    assert [values.usual_runs(k) for k in (1, 2, 3, 4, 8, 100)] == [32, 32, 21, 16, 8, 8]


def test_one_run_is_the_start_of_earlier_versions() -> None:
    one = HMM(2, max_iter=3, start={"n_runs": 1}, random_state=0).fit(SYMBOLS)
    key = Key(0, 0, 0)
    prior = make_hmm_prior(np.ones(2), np.ones((2, 2)), np.ones((2, 3)))
    state = gibbs.init(one.corpus_, prior, 1, key)
    for sweep in range(1, 4):
        state, _ = gibbs.sweep(one.corpus_, state, prior, key._replace(sweep=sweep), "collapsed")
    assert np.array_equal(one.chains_[0].state.z, state.z)


# -- values --------------------------------------------------------------------------------------------------------

VALUES = {
    "initial": [0.85, 0.15], "transition": [[0.7, 0.3], [0.2, 0.8]], "emission": [[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]]
}  # fmt: skip


def test_all_values_given_are_where_em_begins() -> None:
    model = HMM(2, method="em", start=VALUES, max_iter=1, tol=0, random_state=0)
    fits = [model.set_params(random_state=seed).fit(SYMBOLS).fingerprint_ for seed in (0, 1)]
    assert fits[0] == fits[1]
    prior = make_hmm_prior(np.ones(2), np.ones((2, 2)), np.ones((2, 3)))
    given = starts.best_start(observed_symbols(model.corpus_), prior, Key(0, 0, 0), 1, 0, Start(1, 0, {
        "initial": np.array(VALUES["initial"]), "transition": np.array(VALUES["transition"]),
        "emission": np.array(VALUES["emission"]).T,
    }).values)  # fmt: skip
    after, _ = em.iterate(model.corpus_, given, prior)
    np.testing.assert_array_equal(model.emission_, after.emission.T)


@pytest.mark.parametrize(
    "way", [{"method": "em"}, {"sampler": "blocked", "burn_in": 5}, {"sampler": "partial"}], ids=str
)
@pytest.mark.parametrize("fixed", [["emission"], ["initial", "transition"], ["transition"]], ids=str)
def test_fixed_parameters_stay(way, fixed, tmp_path: Path) -> None:
    model = HMM(2, start=VALUES, fixed=fixed, max_iter=15, tol=0, random_state=0, **way).fit(SYMBOLS)
    for name, value in VALUES.items():
        assert np.array_equal(getattr(model, f"{name}_"), value) is (name in fixed)
    model.save(tmp_path / "m")
    loaded = topicloom.load(tmp_path / "m")
    assert loaded.fingerprint_ == model.fingerprint_
    assert loaded.fixed == fixed
    assert loaded.chains_[0].sweep == 15


@pytest.mark.parametrize("sampler", ["partial", "blocked"])
def test_the_posterior_given_fixed_parameters(sampler: str) -> None:
    """By listing: with the emission fixed, a path's probability is that of its moves times the symbols'."""
    case = hmm_oracle.cases()["one path"]
    shares = np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]])
    prior = make_hmm_prior(case.initial, case.transition, case.emission)
    prior = prior._replace(fixed={"emission": np.ascontiguousarray(shares.T)})
    no_symbols = case._replace(emission=np.full(case.emission.shape, 1e9))  # nothing is learned of it
    states = np.array(list(oracle.all_states(case.corpus.n_tokens, 2)))
    logs = [
        hmm_oracle.log_joint(no_symbols, z) + np.log(shares[z, case.corpus.words]).sum() for z in states
    ]  # fmt: skip
    state = gibbs.restore(case.corpus, states[77].reshape(1, -1), 2)
    differences = np.array([
        gibbs.log_joint(case.corpus, gibbs.restore(case.corpus, z.reshape(1, -1), 2), prior) for z in states[:40]
    ]) - logs[:40]  # fmt: skip
    assert np.ptp(differences) < 1e-6
    p = np.exp(np.array(logs) - max(logs))

    def sweep(z: np.ndarray, replicate: int) -> np.ndarray:
        state = gibbs.restore(case.corpus, z, 2)
        for t in range(2):
            state, _ = gibbs.sweep(case.corpus, state, prior, Key(71, replicate, t), sampler)
        return state.z

    assert hmm_oracle.invariance(case, sweep, 2500, 72, (states, p / p.sum())) > oracle.FALSE_ALARM
    assert state.z.shape == (1, 8)


# -- what can never be ---------------------------------------------------------------------------------------------

RIGHT = {"initial_prior": [1, 0, 0], "transition_prior": np.triu(np.ones((3, 3)))}


@pytest.mark.parametrize(
    "way", [{"method": "em", "tol": 0}, {"sampler": "blocked"}, {"sampler": "blocked", "n_paths": 2}], ids=str
)
def test_left_to_right(way) -> None:
    rng = np.random.default_rng(1)
    X = [np.concatenate([rng.integers(0, 2, 8) + k for k in range(3)]) for _ in range(12)]
    model = HMM(3, **RIGHT, max_iter=30, random_state=0, **way).fit(X)
    assert np.array_equal(model.initial_, [1, 0, 0])
    assert np.all(np.tril(model.transition_, -1) == 0)
    assert np.allclose(model.transition_.sum(axis=1), 1)
    for path in model.predict(X):
        assert np.all(np.diff(path) >= 0)
        assert path[0] == 0
    if way.get("method") != "em":
        z = model.chains_[0].state.z[0][: len(X[0])]
        assert np.all(np.diff(z.astype(int)) >= 0)


def test_the_posterior_with_zeros_by_listing() -> None:
    """Moves and symbols that can never be, and a state that nothing leads back from."""
    initial, transition = np.array([0.8, 0.0]), np.array([[0.5, 0.7], [0.0, 0.9]])
    emission = np.array([[0.4, 0.9, 0.0], [0.3, 0.6, 0.8]])
    prior = make_hmm_prior(initial, transition, emission)
    corpus = oracle.tiny_corpus([[0, 1, 0, 2], [1, 1, 2]], 3)
    case = hmm_oracle.HMMCase(corpus, initial, transition, emission, 1)
    states = np.array(list(oracle.all_states(7, 2)))
    with np.errstate(all="ignore"):
        logs = np.array([hmm_oracle.log_joint(case, z) for z in states])
    possible = np.isfinite(logs)
    states, logs = states[possible], logs[possible]
    assert 2 < len(states) < 20
    for z, value in zip(states, logs, strict=True):
        assert gibbs.log_joint(corpus, gibbs.restore(corpus, z.reshape(1, -1), 2), prior) == pytest.approx(value)
    number = {tuple(z): i for i, z in enumerate(states)}
    p = np.exp(logs - logs.max())
    observed = np.zeros(len(states))
    for chain in range(1500):
        state = gibbs.init(corpus, prior, 1, Key(81, chain, 0))
        for t in range(12):
            state, _ = gibbs.sweep(corpus, state, prior, Key(81, chain, t + 1), "blocked")
        observed[number[tuple(state.z[0].tolist())]] += 1
    assert oracle.chi_square(observed, p / p.sum()) > oracle.FALSE_ALARM


# -- refusals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": {"runs": 3}}, "start has the key 'runs', which is not known"),
        ({"start": {"means": [1, 2]}}, "start has the key 'means'"),
        ({"start": {"n_runs": 0}}, r"start\['n_runs'\]=0 must be a whole number of at least 1"),
        ({"start": {"initial": [0.5, 0.6]}}, r"start\['initial'\] must have probabilities"),
        ({"start": {"emission": [[1.0, 0.0]]}}, r"start\['emission'\] has shape \(1, 2\)"),
        ({"fixed": "emission"}, "fixed='emission' must be None or a list"),
        ({"fixed": ["means"]}, r"fixed=\['means'\] must be"),
        ({"fixed": ["emission"]}, "fixed has 'emission', but start has no 'emission'"),
        ({"fixed": ["initial"], "start": {"initial": [0.5, 0.5]}}, "integrates them out; use sampler"),
        ({"transition_prior": [[1, 0], [1, 1]]}, 'use sampler="blocked"'),
        ({"transition_prior": [[0, 0], [1, 1]]}, "transition_prior has a row of zeros"),
        ({"emission": "gauss"}, "emission='gauss' is not known"),
        ({"emission_prior": {"shape": 1}}, "must be a number, a vector or a matrix"),
        ({"emission": "poisson", "emission_prior": 2.0}, "must be None or a dict"),
        ({"emission": "poisson", "emission_prior": {"scale": 1}}, "emission_prior has the key 'scale'"),
        ({"emission": "poisson", "emission_prior": {"rate": 0}}, r"emission_prior\['rate'\] contains 0"),
        ({"emission": "gaussian", "emission_prior": {"shape": -1}}, r"emission_prior\['shape'\]=-1 must be"),
        ({"emission": "gaussian", "alphabet": 3}, 'alphabet names symbols, and emission="gaussian" has none'),
        ({"emission": "gaussian", "burn_in": 2, "keep_draws": "emission"}, "keep_draws has"),
    ],
)  # fmt: skip
def test_what_cannot_be_a_start_is_refused(options, message: str) -> None:
    model = HMM(2, max_iter=4, **options)
    with pytest.raises(InputError, match=message):
        model.fit([[0, 1, 1], [0, 2]])
    assert not hasattr(model, "seed_")
    with pytest.raises(InputTypeError, match="start=5 must be None or a dict"):
        HMM(2, start=5).fit([[0, 1]])


def test_no_path_is_possible() -> None:
    model = HMM(2, method="em", emission_prior=[[1, 0], [1, 0]], alphabet=2, random_state=0)
    with pytest.raises(InputError, match="sequence 1 has no possible path"):
        model.fit([[0, 0], [0, 1]])
    with pytest.raises(InputError, match="sequence 0 has no possible path"):
        HMM(2, sampler="blocked", initial_prior=[1, 0], transition_prior=[[0, 1], [0, 1]], alphabet=2,
            emission_prior=[[1, 0], [1, 1]], random_state=0).fit([[1, 0]])  # fmt: skip


def test_known_parameters_in_their_usual_form() -> None:
    prior = HMMPrior(np.ones((3, 2)), make_hmm_prior(np.ones(2), np.ones((2, 2)), np.ones((2, 3))).emission)
    assert not prior.has_zeros
    assert Known(np.ones((3, 2)), {"emission": np.ones((3, 2))}).emission.shape == (3, 2)
