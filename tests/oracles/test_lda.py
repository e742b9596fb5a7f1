"""The test of draws that ends early when a program is wrong beyond doubt: it never does when one is right."""

import numpy as np
import pytest

from tests.oracles import lda as oracle

SHAPES = [np.full(64, 1 / 64), np.arange(1, 244) ** -1.5, 0.7 ** np.arange(40), np.array([0.5, 0.5])]


@pytest.mark.parametrize("shape", SHAPES, ids=["flat", "long tail", "short tail", "coin"])
def test_right_draws_are_all_drawn_and_judged_by_all(shape: np.ndarray) -> None:
    p = shape / shape.sum()
    rng = np.random.default_rng(1)
    least = 1.0
    for _ in range(600):
        counts = np.zeros(len(p))
        for n in (100, 100, 200, 400, 800):  # the looks after 100, 200, 400, 800, 1600 draws
            counts += rng.multinomial(n, p)
            least = min(least, oracle._interim_p_value(counts, p))
    assert 1e-6 < least < 0.01  # as uniform numbers would be, or a little larger: nowhere near the limit
    cells = rng.choice(len(p), size=3000, p=p)
    found = oracle.drawn_p_value(lambda replicate: int(cells[replicate]), p, 3000)
    assert found == oracle.chi_square(np.bincount(cells, minlength=len(p)), p)


def test_wrong_draws_are_soon_rejected() -> None:
    p = np.full(16, 1 / 16)
    drawn: list[int] = []

    def draw(replicate: int) -> int:
        drawn.append(replicate)
        return replicate % 4

    assert oracle.drawn_p_value(draw, p, 10_000) < oracle.CERTAIN
    assert len(drawn) == 225  # the first look at which cells are expected to have ten draws


def test_a_little_wrong_is_judged_at_the_end() -> None:
    p = np.full(4, 1 / 4)
    cells = np.random.default_rng(2).choice(4, size=5000, p=[0.28, 0.24, 0.24, 0.24])
    found = oracle.drawn_p_value(lambda replicate: int(cells[replicate]), p, 5000)
    assert oracle.CERTAIN < found < 1e-4


def test_a_cell_that_cannot_be_ends_it() -> None:
    assert oracle.drawn_p_value(lambda replicate: None, np.full(2, 0.5), 10) == 0.0


def test_draws_of_one_cell_say_nothing() -> None:
    assert oracle._interim_p_value(np.array([100.0]), np.ones(1)) == 1.0
    assert oracle._interim_p_value(np.array([3.0, 1.0]), np.array([0.5, 0.5])) == 1.0
