"""Errors over documents and chains, the one-standard-error rule, and what halving drops."""

import numpy as np
import pytest

from tests.diagnostics import naive_search as naive
from topicloom.diagnostics.search_rounds import plan_rounds, tasks_of
from topicloom.diagnostics.search_rule import (
    Look,
    Scores,
    compare,
    difference,
    hopeless,
    look_at,
    per_token,
    rank,
    widened,
)
from topicloom.errors import InputError


def scores(values: np.ndarray, tokens: int | np.ndarray = 10, fold: np.ndarray | None = None) -> Scores:
    n = values.shape[1]
    return Scores(values, np.broadcast_to(tokens, n), np.zeros(n, np.int64) if fold is None else fold)


def drawn(rng: np.random.Generator, n_chains: int, n_docs: int, doc: float, chain: float, rest: float) -> np.ndarray:
    """Scores of documents of ten tokens with known standard deviations per token."""
    of_doc, of_chain = doc * rng.normal(size=n_docs), chain * rng.normal(size=(n_chains, 1))
    return 10 * (-7 + of_doc + of_chain + rest * rng.normal(size=(n_chains, n_docs)))


def test_the_two_way_decomposition() -> None:
    for seed in range(5):
        values = drawn(np.random.default_rng(seed), 4, 30, 0.3, 0.1, 0.2)
        found = per_token(scores(values))
        mean, documents, chains = naive.two_way(values, 10)
        assert found.mean == pytest.approx(mean, rel=1e-12)
        assert found.documents == pytest.approx(documents, rel=1e-12)
        assert found.chains == pytest.approx(chains, rel=1e-9)
        assert found.error**2 == pytest.approx(documents**2 + chains**2, rel=1e-9)


def test_errors_are_those_of_repeated_experiments() -> None:
    rng = np.random.default_rng(0)
    runs = [per_token(scores(drawn(rng, 3, 40, 0.5, 0.2, 0.3))) for _ in range(3000)]
    actual = np.std([run.mean for run in runs])
    assert np.sqrt(np.mean([run.error**2 for run in runs])) == pytest.approx(actual, rel=0.06)


def test_folds_have_chains_of_their_own() -> None:
    rng = np.random.default_rng(1)

    def once() -> tuple[float, float]:
        parts = [drawn(rng, 3, 20, 0.3, 0.3, 0.2) for _ in range(2)]
        found = per_token(scores(np.concatenate(parts, axis=1), fold=np.repeat([0, 1], 20)))
        return found.mean, found.error**2

    means, squares = np.array([once() for _ in range(3000)]).T
    assert np.sqrt(squares.mean()) == pytest.approx(means.std(), rel=0.06)


def test_differences_are_paired_over_documents() -> None:
    rng = np.random.default_rng(2)
    first = drawn(rng, 2, 50, 1.0, 0.0, 0.0)
    second = first - 0.5  # the same in every document
    found = difference(scores(second), scores(first))
    assert found.mean == pytest.approx(-0.05)
    assert found.error == pytest.approx(0.0, abs=1e-12)
    assert per_token(scores(first)).error > 0.05
    with pytest.raises(InputError, match="different documents"):
        difference(scores(first), scores(second, tokens=11))


def test_long_documents_weigh_more() -> None:
    tokens = np.array([1, 9])
    found = per_token(scores(np.array([[-2.0, -9.0]]), tokens))
    assert found.mean == pytest.approx(-1.1)
    assert np.isnan(found.chains)
    assert found.error == found.documents


def test_scores_that_cannot_be_used_are_refused() -> None:
    for bad in (
        scores(np.zeros((1, 1))),
        scores(np.zeros((0, 3))),
        scores(np.full((1, 3), np.nan)),
        scores(np.zeros((1, 3)), tokens=0),
        Scores(np.zeros((1, 3)), np.ones(2, np.int64), np.zeros(3, np.int64)),
    ):
        with pytest.raises(InputError):
            per_token(bad)
    with pytest.raises(InputError):
        compare([None, None], 2.0)


# -- the rule ------------------------------------------------------------------------------------------------


def test_one_standard_error_rule_by_hand() -> None:
    gap = np.array([-0.5, -0.009, 0.0, -0.015, np.nan, -0.03])
    error = np.array([0.1, 0.01, 0.0, 0.01, np.nan, 0.01])
    many = np.array([1e6, 1e6, np.nan, 1e6, np.nan, 1e6])
    found = rank(gap, error, many, 2.0)
    assert found.highest == 2
    assert found.within_one.tolist() == [False, True, True, False, False, False]
    assert found.together.tolist() == [False, True, True, True, False, False]
    # With two degrees of freedom one error stands for 1.32 and two for 4.53.
    few = rank(gap, error, np.where(np.isnan(many), np.nan, 2.0), 2.0)
    assert few.within_one.tolist() == [False, True, True, False, False, False]
    assert few.together.tolist() == [False, True, True, True, False, True]


def test_few_chains_widen_the_bounds_as_students_t_does() -> None:
    from scipy.stats import norm, t

    for freedom in (1.0, 2.5, 30.0):
        for errors in (1.0, 2.0):
            expected = t.ppf(norm.cdf(errors), freedom)
            assert widened(errors, np.array([freedom]))[0] == pytest.approx(expected, rel=1e-9)
    assert widened(2.0, np.array([np.nan, np.inf])).tolist() == pytest.approx([2.0, 2.0], abs=1e-6)


def test_degrees_of_freedom() -> None:
    rng = np.random.default_rng(4)
    alike = drawn(rng, 1, 30, 0.3, 0.0, 0.0).repeat(3, axis=0)
    assert per_token(scores(alike)).freedom == pytest.approx(29)  # chains add nothing
    assert per_token(scores(drawn(rng, 3, 30, 0.0, 1.0, 0.001))).freedom == pytest.approx(2, abs=0.01)  # nothing else
    assert per_token(scores(drawn(rng, 1, 30, 0.3, 0.0, 0.1))).freedom == pytest.approx(29)


def test_compare_finds_the_highest_and_leaves_out_what_was_dropped() -> None:
    rng = np.random.default_rng(3)
    base = drawn(rng, 2, 40, 1.0, 0.0, 0.01)
    noise = rng.normal(size=40)
    near = base + noise - noise.mean() - 0.001
    found = compare([scores(base - 3), None, scores(base), scores(near)], 2.0)
    assert found.highest == 2
    assert found.within_one.tolist() == [False, False, True, True]
    assert found.difference[0] == pytest.approx(-0.3)
    assert np.isnan(found.difference[1])


# -- halving -------------------------------------------------------------------------------------------------


def test_hopeless_ones_are_dropped_and_never_the_leader() -> None:
    gap, error = np.array([-0.5, -0.03, 0.0, -0.005, -0.5]), np.array([0.01, 0.01, 0.0, 0.0001, 0.01])
    gain = np.array([0.01, 0.01, 0.01, 0.01, 0.3])
    at = Look(2, gap, error, np.nan)
    # The second is within four errors, the fourth within the margin, the last may still win by further sweeps.
    assert hopeless(at, gain, 3.0, 4.0, 0.01).tolist() == [True, False, False, False, False]
    assert hopeless(at, gain, 1.0, 4.0, 0.01).tolist() == [True, False, False, False, True]
    # With two degrees of freedom four errors stand for 126.
    assert not hopeless(at._replace(freedom=2.0), gain, 1.0, 4.0, 0.01).any()
    assert not hopeless(Look(0, np.zeros(1), np.zeros(1), np.nan), np.zeros(1), 3.0, 0.0, 0.0).any()


def test_a_look_has_one_noise_of_chains_for_all() -> None:
    rng = np.random.default_rng(6)
    base = drawn(rng, 1, 40, 1.0, 0.0, 0.0)
    moved = [base - 1 + shift * np.array([[1.0], [-1.0]]) for shift in (0.0, 0.2, 0.4)]
    at = look_at([scores(one) for one in (*moved, base.repeat(2, axis=0))])
    assert at.leader == 3
    assert at.freedom == 4  # one of each number
    assert at.difference[:3] == pytest.approx(np.full(3, -0.1))
    # Variances of the means over two chains, per token: shift² / 100; twice their mean.
    assert at.error == pytest.approx(np.full(4, np.sqrt(2 * (0.2**2 + 0.4**2) / 100 / 4)))
    one = look_at([scores(base), scores(base - 1)])
    assert np.isnan(one.freedom)
    assert one.error == pytest.approx([0, 0], abs=1e-12)


def test_halving_keeps_the_best_and_drops_what_is_far_below() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        docs = rng.normal(size=60)
        means = np.array([-1.0, -0.6, -0.01, 0.0, -0.03])
        found = [
            scores(10 * (mean + docs + 0.02 * rng.normal(size=(2, 1)) + 0.05 * rng.normal(size=(2, 60))))
            for mean in means
        ]
        dropped = hopeless(look_at(found), np.zeros(5), 1.5, 4.0, 0.02)
        assert dropped.tolist() == [True, True, False, False, False]


def test_rounds_grow_and_the_last_has_everything() -> None:
    folds = [np.arange(400), np.arange(300)]
    rounds = plan_rounds(800, 4, folds, True)
    assert [one.sweeps for one in rounds] == [100, 266, 800]
    assert [one.n_chains for one in rounds] == [1, 2, 4]
    assert [one.n_folds for one in rounds] == [1, 1, 2]
    assert [one.n_docs for one in rounds] == [75, 150, 400]
    assert plan_rounds(800, 4, folds, False) == rounds[-1:]
    assert len(plan_rounds(60, 4, folds, True)) == 1  # too short for a look
    assert len(tasks_of([2, 3], rounds[0], last=False)) == 2  # which are scored at half the sweeps, too
    assert len(tasks_of([2, 3], rounds[-1], last=True)) == 16
