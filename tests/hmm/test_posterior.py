"""Draws of a fitted model's parameters, with states aligned; intervals and criteria."""

import numpy as np
import pytest

from tests.hmm.ways import LENGTHS
from topicloom import HMM
from topicloom.errors import InputError
from topicloom.hmm.posterior import matched


@pytest.mark.parametrize("sampler", ["collapsed", "blocked"])
def test_draws_are_of_the_posterior_and_aligned(sampler: str) -> None:
    """One state is always 0, so the posterior of the emission is known; relabelled chains come back in order."""
    X = [np.array([0] * 30 + [1] * 10)]
    model = HMM(1, sampler=sampler, max_iter=5, n_chains=2, random_state=0).fit(X)
    draws = model.draw_parameters(1500)
    assert draws["emission"].shape == (2, 1500, 1, 2)
    share = draws["emission"][..., 0, 0]
    assert share.mean() == pytest.approx(31 / 42, abs=5 * share.std() / np.sqrt(3000))
    assert share.std() == pytest.approx(np.sqrt(31 * 11 / (42**2 * 43)), rel=0.1)
    before = model.fingerprint_
    again = model.draw_parameters(1500)
    assert all(np.array_equal(draws[name], again[name]) for name in draws)
    assert model.fingerprint_ == before


def test_states_of_all_chains_have_one_numbering(sequences) -> None:
    model = HMM(2, sampler="blocked", max_iter=30, n_chains=4, random_state=1).fit(sequences)
    draws = model.draw_parameters(40)
    apart = np.abs(draws["emission"].mean(axis=1) - model.emission_).max()
    assert apart < 0.15
    ends = model.intervals(0.95, n_draws=40)
    assert set(ends) == {"initial", "transition", "emission"}
    low, high = ends["transition"]
    assert np.all(low < high)
    assert np.all((low < model.transition_) & (model.transition_ < high))
    narrow = model.intervals(0.5, n_draws=40)["transition"]
    assert np.all(narrow[0] >= low)
    assert np.all(narrow[1] <= high)


def test_numbering_that_agrees_most() -> None:
    published = np.array([0, 0, 0, 1, 1, 2, 2, 2])
    path = np.array([2, 2, 1, 0, 0, 1, 1, 1], np.uint16)
    assert matched(published, path, 3).tolist() == [2, 0, 1]


@pytest.mark.parametrize("kind", ["gaussian", "gaussian_full", "poisson", "multinomial"])
def test_draws_of_numbers(kind: str) -> None:
    rng = np.random.default_rng(2)
    z = np.arange(300) // 30 % 2
    X = rng.poisson(2 + 8 * z[:, None], (300, 2)).astype(float) + (
        0.01 * rng.normal(size=(300, 2)) if "g" in kind else 0
    )
    model = HMM(2, emission=kind, max_iter=10, random_state=0).fit(X)
    draws = model.draw_parameters(30)
    for name in draws:
        value = getattr(model, f"{name}_")
        assert draws[name].shape == (1, 30, *value.shape)
        spread = draws[name][0].std(axis=0) + 1e-9
        assert np.all(np.abs(draws[name][0].mean(axis=0) - value) < 4 * spread + 0.05 * np.abs(value))
    assert np.isfinite(model.waic([X[:50], X[50:]]))


def test_free_parameters(sequences) -> None:
    em = HMM(2, method="em", random_state=0).fit(sequences)
    n = sum(LENGTHS)
    assert em.aic(sequences) == pytest.approx(-2 * em.score(sequences) + 2 * (1 + 2 + 6))
    assert em.bic(sequences) == pytest.approx(-2 * em.score(sequences) + np.log(n) * 9)
    assert em.bic([[0, None, 1], [None]]) == pytest.approx(-2 * em.score([[0, None, 1], [None]]) + np.log(2) * 9)
    right = HMM(2, method="em", initial_prior=[1, 0], transition_prior=[[1, 1], [0, 1]], random_state=0).fit(sequences)
    assert right._n_free() == 0 + 1 + 6
    X = np.random.default_rng(0).normal(size=(40, 3))
    free = {"gaussian": 1 + 2 + 12, "gaussian_full": 1 + 2 + 2 * (3 + 6)}
    for kind, number in free.items():
        assert HMM(2, emission=kind, method="em", tol=1.0, random_state=0).fit(X)._n_free() == number
    start = {"transition": [[0.9, 0.1], [0.1, 0.9]]}
    assert HMM(2, method="em", start=start, fixed=["transition"], random_state=0).fit(sequences)._n_free() == 7


def test_waic_prefers_the_states_that_are_there(sequences) -> None:
    cut = [own[i : i + 20] for own in sequences for i in range(0, len(own), 20)]
    one, two = (HMM(k, sampler="blocked", max_iter=40, random_state=0).fit(cut) for k in (1, 2))
    assert two.waic(n_draws=40) < one.waic(n_draws=40)
    assert two.waic(cut, n_draws=40) == pytest.approx(two.waic(n_draws=40))


def test_the_long_run() -> None:
    model = HMM(3, method="em", max_iter=3, tol=100.0, random_state=0).fit([[0, 1, 2, 0, 1, 1, 2, 0]])
    model.transition_ = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])  # a cycle
    assert np.allclose(model.stationary_, 1 / 3)
    model.transition_ = np.array([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    model.initial_ = np.array([0.5, 0.5, 0.0])
    assert np.allclose(model.stationary_, [0, 0.75, 0.25])
    model.transition_ = np.array([[0.9, 0.1, 0.0], [0.3, 0.5, 0.2], [0.0, 0.4, 0.6]])
    assert np.allclose(model.stationary_, np.sum(model.stationary_[:, None] * model.transition_, axis=0))


def test_what_has_no_draws_is_refused(sequences) -> None:
    for way in ({"method": "em"}, {"n_paths": 2, "max_iter": 3}):
        with pytest.raises(InputError, match="draws from the posterior need"):
            HMM(2, random_state=0, **way).fit(sequences).draw_parameters()
    with pytest.raises(InputError, match="level=2 must be a number from 0 to 1"):
        HMM(2, max_iter=3, random_state=0).fit(sequences).intervals(2)
