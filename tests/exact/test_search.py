"""The search for the drawn topic, at every length that takes another path through it."""

import numpy as np
import pytest

from topicloom.kernels.search import search


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 18, 100, 127, 128, 129, 145, 300, 1000])
def test_every_stretch_leads_to_its_own_topic(n: int) -> None:
    weight = np.random.default_rng(n).integers(1, 9, n).astype(float)  # whole numbers: sums have no rounding
    ends = np.cumsum(weight)
    for k in range(n):
        start = ends[k] - weight[k]
        assert search(weight, start) == k
        assert search(weight, start + weight[k] / 2) == k
        assert search(weight, np.nextafter(ends[k], 0)) == k


def test_rounding_past_the_end_stays_inside() -> None:
    for n in (1, 16, 17, 129, 257):
        assert search(np.ones(n), n + 1.0) == n - 1


def test_weights_of_zero_are_never_drawn() -> None:
    weight = np.zeros(40)
    weight[[3, 20, 33]] = 1.0
    assert {search(weight, u) for u in np.linspace(0, 3, 301)[:-1]} == {3, 20, 33}
