"""R-hat, effective sample sizes and errors against ArviZ, against slow versions, and against what is known of AR(1)."""

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import norm, rankdata

from tests.evaluation.make_reference import KINDS, PROBS, REFERENCE, Draws
from topicloom.errors import InputError
from topicloom.evaluation import _draws
from topicloom.evaluation.convergence import (
    autocorrelation,
    ess_bulk,
    ess_mean,
    ess_tail,
    mcse_mean,
    mcse_quantile,
    mcse_sd,
    rhat,
    summary,
    verdict,
)

MEASURES = {f.__name__: f for f in (rhat, ess_bulk, ess_tail, ess_mean, mcse_mean, mcse_sd)}
CASES = json.loads(REFERENCE.read_text(encoding="utf-8"))["cases"]
STANDARD_ERRORS = 5.4  # a false alarm in 1e7 runs


def normal(seed: int, *shape: int) -> Draws:
    return np.random.default_rng(seed).normal(size=shape)


def ar1(seed: int, phi: float, *shape: int) -> Draws:
    draws = normal(seed, *shape)
    draws[:, 1:] *= math.sqrt(1 - phi**2)
    for t in range(1, shape[1]):
        draws[:, t] += phi * draws[:, t - 1]
    return draws


def every_measure(draws: Any) -> dict[str, Any]:
    return {name: f(draws) for name, f in MEASURES.items()} | {"mcse_quantile": mcse_quantile(draws, 0.3)}


# -- ArviZ ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['kind']}-{case['arguments'][0]}")
def test_measures_are_those_of_arviz(case: dict[str, Any]) -> None:
    draws = KINDS[case["kind"]](*case["arguments"])
    assert draws[0, 0] == pytest.approx(case["first"], rel=1e-12)  # else the seeds do not give the same draws here
    assert np.abs(draws).sum() == pytest.approx(case["sum"], rel=1e-12)
    for name, measure in MEASURES.items():
        assert measure(draws) == pytest.approx(case[name], rel=1e-6), name
    assert [mcse_quantile(draws, prob) for prob in PROBS] == pytest.approx(case["mcse_quantile"], rel=1e-6)


def test_reference_has_every_kind_and_says_what_made_it() -> None:
    content = json.loads(REFERENCE.read_text(encoding="utf-8"))
    assert {case["kind"] for case in CASES} == set(KINDS)
    assert {case["arguments"][1] for case in CASES} >= {1, 2, 4}
    assert content["arviz"]
    assert content["made by"] == "tests/evaluation/make_reference.py"


# -- slow versions of one quantity, by the letter of the paper ------------------------------------------------


def slow_halves(draws: Draws) -> Draws:
    half = draws.shape[1] // 2
    return np.array([part for chain in draws for part in (chain[:half], chain[-half:])])


def slow_scores(chains: Draws) -> Draws:
    return np.asarray(norm.ppf((rankdata(chains).reshape(chains.shape) - 0.375) / (chains.size + 0.25)))


def slow_scale(chains: Draws) -> float:
    n = chains.shape[1]
    within = np.mean([np.var(chain, ddof=1) for chain in chains])
    between = n * np.var([chain.mean() for chain in chains], ddof=1)
    if within < 1e-20:
        return math.inf if between > 1e-20 else math.nan
    return math.sqrt(((n - 1) / n * within + between / n) / within)


def slow_rhat(draws: Draws) -> float:
    chains = slow_halves(draws)
    both = [slow_scale(slow_scores(c)) for c in (chains, np.abs(chains - np.median(chains)))]
    return max((value for value in both if not math.isnan(value)), default=math.nan)


def slow_autocovariance(chain: Draws) -> Draws:
    n, moved = len(chain), chain - chain.mean()
    return np.array([sum(moved[t] * moved[t + lag] for t in range(n - lag)) / n for lag in range(n)])


def slow_ess(chains: Draws) -> float:
    """Geyer's initial monotone sequence: the pairs of autocorrelations while they are positive, never rising."""
    n_chains, n = chains.shape
    covariance = np.mean([slow_autocovariance(chain) for chain in chains], axis=0)
    total = covariance[0] + np.var([chain.mean() for chain in chains], ddof=1)
    if np.all(chains == chains[0, 0]):
        return float(chains.size)
    rho = [1.0] + [1 - (covariance[0] * n / (n - 1) - covariance[lag]) / total for lag in range(1, n)]
    time, least = -1.0, math.inf
    for first in range(0, n, 2):
        pair = rho[first] + rho[first + 1]
        assume(abs(pair) > 1e-9)  # where it is 0, rounding decides whether the sequence ends here
        if pair <= 0 or first + 3 > n - 2:
            time += rho[first] if pair >= 0 or rho[first] > 0 else 0.0
            break
        least = min(least, pair)
        time += 2 * least
    return n_chains * n / max(time, 1 / math.log10(n_chains * n))


@st.composite
def some_draws(draw: st.DrawFn) -> Draws:
    """Few draws with or without ties, trends and chains that differ."""
    n_chains, n_draws, seed = draw(st.integers(1, 4)), draw(st.integers(4, 24)), draw(st.integers(0, 2**32))
    draws = normal(seed, n_chains, n_draws)
    if draw(st.booleans()):
        draws = draws.cumsum(axis=1)
    draws[0] += draw(st.sampled_from([0, 0, 3]))
    if draw(st.booleans()):
        draws = np.round(draws * draw(st.sampled_from([0.3, 1, 4])))
    return draws


@settings(max_examples=300, deadline=None, derandomize=True)
@given(some_draws())
def test_measures_are_those_of_slow_versions(draws: Draws) -> None:
    chains = slow_halves(draws)
    assert rhat(draws) == pytest.approx(slow_rhat(draws), rel=1e-9, nan_ok=True)
    assert ess_mean(draws) == pytest.approx(slow_ess(chains), rel=1e-9)
    assert ess_bulk(draws) == pytest.approx(slow_ess(slow_scores(chains)), rel=1e-9)
    tails = [slow_ess(slow_halves((draws <= np.quantile(draws, prob)).astype(float))) for prob in (0.05, 0.95)]
    assert ess_tail(draws) == pytest.approx(min(tails), rel=1e-9)
    assert mcse_mean(draws) == pytest.approx(draws.std(ddof=1) / math.sqrt(slow_ess(chains)), rel=1e-9, abs=1e-15)


@pytest.mark.parametrize(("n_chains", "n_draws"), [(1, 4), (3, 5), (2, 64)])
def test_autocorrelation_is_the_sum_of_products(n_chains: int, n_draws: int) -> None:
    draws = normal(1, n_chains, n_draws, 3).cumsum(axis=1)
    found = autocorrelation(draws)
    assert found.shape == (n_chains, n_draws, 3)
    for c in range(n_chains):
        for q in range(3):
            slow = slow_autocovariance(draws[c, :, q])
            assert found[c, :, q] == pytest.approx(slow / slow[0], abs=1e-12)
    np.testing.assert_array_equal(autocorrelation(draws, 2), found[:, :3])
    np.testing.assert_allclose(autocorrelation(draws[:, :, 1], 3), found[:, :4, 1], atol=1e-14)


# -- properties -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("transform", [np.exp, np.cbrt, np.arctan, lambda x: 3 * x - 7])
def test_bulk_measures_depend_on_ranks_only(transform: Any) -> None:
    draws = ar1(2, 0.5, 4, 200, 10)
    np.testing.assert_array_equal(ess_bulk(transform(draws)), ess_bulk(draws))
    draws[0] += 1.5  # R-hat is then that of the places of the chains, not of their widths
    np.testing.assert_array_equal(rhat(transform(draws)), rhat(draws))


def test_nothing_depends_on_the_unit_or_on_the_order_of_chains() -> None:
    draws = ar1(3, 0.5, 4, 101, 7)
    for name, found in every_measure(draws).items():
        unit = 1000.0 if name.startswith("mcse") else 1.0
        np.testing.assert_allclose(every_measure(1000 * draws - 5)[name], unit * found, rtol=1e-9, err_msg=name)
        np.testing.assert_allclose(every_measure(draws[::-1])[name], found, rtol=1e-9, err_msg=name)


def test_many_quantities_are_as_each_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = np.where(np.arange(9) % 2, ar1(4, 0.8, 3, 50, 9), np.round(ar1(5, 0.8, 3, 50, 9)))
    together = every_measure(draws)
    monkeypatch.setattr(_draws, "_DRAWS_PER_BLOCK", 400)  # blocks of 2 quantities
    in_blocks = every_measure(np.asfortranarray(draws))
    for name, found in together.items():
        alone = [every_measure(draws[:, :, q])[name] for q in range(9)]
        assert all(isinstance(value, float) for value in alone)
        np.testing.assert_allclose(found, alone, rtol=1e-12, err_msg=name)
        np.testing.assert_allclose(found, in_blocks[name], rtol=1e-12, err_msg=name)


@pytest.mark.parametrize(("phi", "bias"), [(-0.5, 0.08), (0.0, 0.02), (0.3, 0.01), (0.6, 0.02), (0.9, 0.03)])
def test_effective_size_of_ar1(phi: float, bias: float) -> None:
    """It is N (1 - φ) / (1 + φ), but for a bias of the estimate that is known to be small."""
    draws = ar1(6, phi, 4, 1000, 200)
    expected = 4000 * (1 - phi) / (1 + phi)
    for measure in (ess_mean, ess_bulk):
        found = measure(draws)
        error = STANDARD_ERRORS * found.std() / math.sqrt(len(found))
        assert abs(found.mean() - expected) < error + bias * expected


def test_rhat_falls_and_effective_size_grows_as_the_verdict_assumes() -> None:
    draws = ar1(12, 0.9, 4, 2000, 300)
    above = [(rhat(draws[:, :n]) - 1).mean() for n in (500, 2000)]
    assert 3.5 < above[0] / above[1] < 4.5
    sizes = [ess_bulk(draws[:, :n]).mean() for n in (500, 2000)]
    assert 3.7 < sizes[1] / sizes[0] < 4.3


@pytest.mark.parametrize("phi", [0.0, 0.7])
def test_errors_are_those_of_repeated_runs(phi: float) -> None:
    draws = ar1(7, phi, 4, 500, 400)
    of_errors = {
        "mean": draws.mean(axis=(0, 1)) / mcse_mean(draws),
        "sd": (draws.std(axis=(0, 1)) - 1) / mcse_sd(draws),
        "quantile": (np.quantile(draws, 0.8, axis=(0, 1)) - norm.ppf(0.8)) / mcse_quantile(draws, 0.8),
    }
    for name, errors in of_errors.items():
        assert abs(errors.std() - 1) < STANDARD_ERRORS / math.sqrt(2 * len(errors)), name


# -- edges ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0.0, 0.1, -1e300, 1e-300])
@pytest.mark.parametrize("n_chains", [1, 4])
def test_what_never_changes_is_no_alarm(value: float, n_chains: int) -> None:
    found = every_measure(np.full((n_chains, 11), value))
    assert math.isnan(found.pop("rhat"))
    assert {found.pop(name) for name in ("ess_bulk", "ess_mean", "ess_tail")} == {10.0 * n_chains}
    assert set(found.values()) == {0.0}
    table = summary(np.full((n_chains, 11), value))
    assert table.mean[0] == table.q5[0] == table.q95[0] == value
    assert table.sd[0] == 0.0


def test_constants_that_differ_between_chains_have_infinite_rhat() -> None:
    draws = np.repeat([[0.1], [0.1], [0.3], [0.1]], 100, axis=1)
    assert rhat(draws) == math.inf
    assert rhat(np.array([[1.0, -1.0] * 10, [3.0, -3.0] * 10])) == math.inf  # of widths alone
    assert ess_bulk(draws) < 5
    draws[0, 3] = 0.2
    assert 2 < rhat(draws) < math.inf


def test_draws_that_are_not_finite_affect_their_quantity_alone() -> None:
    draws = normal(8, 2, 40, 4)
    expected = every_measure(draws)
    draws[0, 3, 1], draws[1, 39, 2] = np.nan, -np.inf
    for name, found in every_measure(draws).items():
        np.testing.assert_array_equal(np.isnan(found), [False, True, True, False], err_msg=name)
        np.testing.assert_array_equal(found[[0, 3]], expected[name][[0, 3]], err_msg=name)
    assert np.isnan(autocorrelation(draws, 3)).any(axis=(0, 1)).tolist() == [False, True, True, False]
    assert np.isnan(autocorrelation(np.ones((2, 8)), 3)).all()


@pytest.mark.parametrize("unit", [1e-300, 1e-160, 1e160, 1e300])
def test_very_small_and_very_large_draws(unit: float) -> None:
    draws = ar1(9, 0.4, 4, 60)
    scales = {"mcse_mean", "mcse_sd", "mcse_quantile"}
    expected, found = every_measure(draws), every_measure(draws * unit)
    for name in expected:
        assert found[name] / (unit if name in scales else 1.0) == pytest.approx(expected[name], rel=1e-9), name


def test_one_chain_is_compared_by_its_halves() -> None:
    assert rhat(normal(10, 1, 1000)) < 1.02
    assert rhat(normal(10, 1, 1000) + np.linspace(0, 3, 1000)) > 1.3
    assert rhat(np.arange(10.0)[None] >= 5) == math.inf


def test_whole_numbers_and_short_floats_are_taken() -> None:
    draws = np.random.default_rng(11).integers(0, 9, (4, 30))
    for other in (draws.astype(np.float32), draws.astype(np.int8), draws.tolist()):
        assert every_measure(other) == every_measure(draws)


@pytest.mark.parametrize(
    ("draws", "message"),
    [
        (np.zeros((4, 3)), r"draws has 3 per chain .*expected at least 4.*Record more draws"),
        (np.zeros((4, 0)), r"draws has 0 per chain"),
        (np.zeros(100), r"shape \(100,\); expected \(n_chains, n_draws\).*draws\[numpy.newaxis\]"),
        (np.zeros((2, 9, 2, 2)), r"expected \(n_chains, n_draws\)"),
        (np.zeros((0, 9)), "at least one chain and one quantity"),
        (np.zeros((2, 9, 0)), "at least one chain and one quantity"),
        (np.full((2, 9), "a"), "expected numbers"),
        (np.zeros((2, 9), complex), "expected numbers"),
        ([[1.0, 2.0], [1.0]], "expected an array"),
        (np.ma.masked_less(normal(1, 2, 9), 0), "masked"),
    ],
)
def test_what_cannot_be_used_is_refused(draws: Any, message: str) -> None:
    for measure in (*MEASURES.values(), autocorrelation, summary, lambda x: mcse_quantile(x, 0.5)):
        with pytest.raises(InputError, match=message):
            measure(draws)


def test_parameters_are_checked() -> None:
    draws = normal(1, 2, 9)
    for prob in (0.0, 1, -0.1, math.nan, "0.5"):
        with pytest.raises(InputError, match="prob="):
            mcse_quantile(draws, prob)  # type: ignore[arg-type]
    for lag in (-1, 9, 1.5):
        with pytest.raises(InputError, match="max_lag="):
            autocorrelation(draws, lag)  # type: ignore[arg-type]
    for names in (["a", "b"], "a", [1]):
        with pytest.raises(InputError, match="names"):
            summary(draws, names)  # type: ignore[arg-type]
    table = summary(draws)
    for option in ({"max_rhat": 1.0}, {"max_rhat": 0.9}, {"min_ess": -1}, {"sweeps_per_draw": 0}):
        with pytest.raises(InputError, match=next(iter(option))):
            verdict(table, **option)  # type: ignore[arg-type]


# -- the table and its meaning --------------------------------------------------------------------------------


def test_a_summary_has_each_measure_of_each_quantity() -> None:
    draws = ar1(13, 0.5, 3, 41, 5)
    table = summary(draws, list("abcde"))
    assert (table.names, table.n_chains, table.n_draws) == (("a", "b", "c", "d", "e"), 3, 41)
    expected = {
        "mean": draws.mean(axis=(0, 1)),
        "sd": draws.std(axis=(0, 1), ddof=1),
        "mcse": mcse_mean(draws),
        "q5": np.quantile(draws, 0.05, axis=(0, 1)),
        "q95": np.quantile(draws, 0.95, axis=(0, 1)),
        "rhat": rhat(draws),
        "ess_bulk": ess_bulk(draws),
        "ess_tail": ess_tail(draws),
    }
    for name, values in expected.items():
        np.testing.assert_allclose(getattr(table, name), values, rtol=1e-12, err_msg=name)
    rows = table.rows()
    assert [row.name for row in rows] == list("abcde")
    assert rows[2]._asdict() == {"name": "c"} | {name: getattr(table, name)[2] for name in expected}
    assert [row[1:] for row in summary(draws[:, :, 2]).rows()] == [pytest.approx(rows[2][1:], rel=1e-12)]
    assert summary(draws[:, :, 2]).names == ("0",)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_a_summary_as_a_frame(kind: str) -> None:
    table = summary(normal(14, 2, 20, 3), ["x", "y", "z"])
    frame = table.to_frame(kind)
    columns = frame.column_names if kind == "pyarrow" else list(frame.columns)
    assert columns == ["name", "mean", "sd", "mcse", "q5", "q95", "rhat", "ess_bulk", "ess_tail"]
    assert np.asarray(frame["rhat"]).tolist() == table.rhat.tolist()


def test_verdict_on_chains_that_agree() -> None:
    draws = ar1(15, 0.2, 4, 1000, 3)
    table = summary(draws, ["a", "b", "c"])
    found = verdict(table)
    smallest = np.minimum(table.ess_bulk, table.ess_tail)
    widest, fewest = table.names[table.rhat.argmax()], table.names[smallest.argmin()]
    assert str(found) == (
        f"The chains agree: the largest R-hat is {table.rhat.max():.3f} (of {widest}) and the smallest effective "
        f"sample size {math.floor(smallest.min()):,} (of {fewest})."
    )
    assert (found.agree, found.enough, found.more_sweeps) == (True, True, 0)


def test_verdict_on_chains_that_agree_but_are_short() -> None:
    found = verdict(summary(normal(16, 4, 50)), min_ess=2000, sweeps_per_draw=10)
    assert found.text.startswith("The chains agree, but the draws are few: the largest R-hat is ")
    assert "at least 2,000 is wanted). Run at least about" in found.text
    assert (found.agree, found.enough) == (True, False)
    assert found.more_sweeps is not None
    assert found.more_sweeps % 100 == 0
    assert 3000 < found.more_sweeps < 12000  # about 200 effective draws of 500 sweeps per chain


def test_verdict_on_chains_that_do_not_agree() -> None:
    draws = normal(17, 4, 200, 3)
    draws[0, :, 1] += 2
    table = summary(draws, ["a", "b", "c"])
    found = verdict(table)
    assert found.text.startswith("The chains do not agree yet: the largest R-hat is 1.")
    assert "(of b; at most 1.05 is wanted) and the smallest effective sample size" in found.text
    assert found.text.endswith("the chains are in different regions and may stay there.")
    assert not found.agree
    by_rhat = verdict(table, min_ess=0).more_sweeps
    assert by_rhat is not None
    exact = 200 * ((table.rhat[1] - 1) / 0.05 - 1)
    assert exact <= by_rhat < 1.1 * exact + 1
    assert f"at least about {by_rhat:,} more sweeps per chain: the" in verdict(table, min_ess=0).text


def test_verdict_just_beyond_what_is_wanted_shows_it() -> None:
    size = np.array([399.99])
    table = replace(summary(normal(18, 4, 100)), rhat=np.array([1.05001]), ess_bulk=size, ess_tail=size)
    text = verdict(table).text
    assert "R-hat is 1.051 (of 0; at most 1.05 is wanted)" in text
    assert "size 399 (of 0; at least 400 is wanted)" in text
    assert "Run at least about 1 more sweep per chain: the" in verdict(table, min_ess=0).text


def test_verdict_at_the_edges() -> None:
    draws = normal(19, 4, 2000, 3)
    draws[:, :, 1] = 7.0
    passed_over = verdict(summary(draws, ["a", "still", "c"]))
    assert passed_over.agree
    assert passed_over.enough
    assert "still" not in passed_over.text
    nothing = verdict(summary(draws[:, :, 1]))
    assert (nothing.agree, nothing.enough, nothing.more_sweeps) == (True, True, 0)
    assert "nothing to compare" in nothing.text
    draws[2, :, 1] = 8.0
    stuck = verdict(summary(draws, ["a", "still", "c"]))
    assert (stuck.agree, stuck.more_sweeps) == (False, None)
    assert "R-hat is infinite (of still; at most 1.05 is wanted)" in stuck.text
    draws[0, 0, 2] = np.nan
    unknown = verdict(summary(draws, ["a", "still", "c"]))
    assert (unknown.agree, unknown.enough, unknown.more_sweeps) == (False, False, None)
    assert "draws of 1 quantity are NaN or infinite (the first is c)" in unknown.text


def test_verdict_on_one_chain_says_that_it_is_one() -> None:
    found = verdict(summary(normal(20, 1, 1000)))
    assert found.agree
    assert found.text.startswith("The halves of the one chain agree: ")
    assert found.text.endswith("One chain cannot show what another would find: run several.")
