"""Alias tables hold the distribution they were made from, and a draw follows the table."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topicloom.numerics.alias import build_alias, build_aliases, draw_alias


def table(weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    keep, other = np.empty(len(weight)), np.empty(len(weight), np.int32)
    build_alias(weight, keep, other)
    return keep, other


def implied(keep: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Probability of each topic: what its own column keeps, and what other columns give to it."""
    return (keep + np.bincount(other, weights=1 - keep, minlength=len(keep))) / len(keep)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    weight=st.lists(st.one_of(st.just(0.0), st.floats(1e-9, 1e9)), min_size=1, max_size=60).filter(lambda w: sum(w) > 0)
)
def test_a_table_implies_its_weights(weight: list[float]) -> None:
    w = np.array(weight)
    keep, other = table(w)
    assert np.all((keep >= 0) & (keep <= 1))
    np.testing.assert_allclose(implied(keep, other), w / w.sum(), rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("n", [1, 2, 100, 5000])
def test_equal_weights_keep_every_column(n: int) -> None:
    keep, _ = table(np.full(n, 0.1))
    np.testing.assert_allclose(keep, 1, rtol=1e-12)


def test_a_draw_follows_the_table() -> None:
    """u run through a fine grid: each topic gets its share of the grid, to within one point a column."""
    weight = np.array([0.3, 5.0, 0.0, 1.2, 0.01, 2.5, 2.5])
    keep, other = table(weight)
    n = 70_000
    hits = np.bincount([draw_alias(keep, other, (i + 0.5) / n) for i in range(n)], minlength=7)
    assert np.max(np.abs(hits - weight / weight.sum() * n)) <= 7
    assert hits[2] == 0
    assert draw_alias(keep, other, np.nextafter(1.0, 0.0)) in range(7)


def test_rows_have_their_own_tables() -> None:
    weight = np.random.default_rng(3).uniform(0, 1, (4, 11))
    keep, other = np.empty((4, 11)), np.empty((4, 11), np.int32)
    build_aliases(weight, keep, other)
    for r in range(4):
        np.testing.assert_allclose(implied(keep[r], other[r]), weight[r] / weight[r].sum(), rtol=1e-12)
