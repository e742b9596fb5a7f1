"""Weights and the search for the drawn topic, at every length that takes another path through it."""

import importlib
import inspect
from collections.abc import Callable

import numba
import numpy as np
import pytest

from tests.helpers.mutating import compiled_mutant
from tests.helpers.sweeping import plain_steps, sweep_once, undecorated
from tests.oracles import lda as oracle
from topicloom.corpus import Corpus
from topicloom.engine.blocks import room_to_list
from topicloom.engine.state import rebuild_counts
from topicloom.lda.gibbs import dense as gibbs_dense
from topicloom.numerics import simd as lanes
from topicloom.numerics.prefetch import own_token, own_tokens
from topicloom.numerics.rng import stream
from topicloom.numerics.search import search

LENGTHS = [1, 2, 3, 4, 7, 15, 16, 17, 20, 31, 32, 33, 39, 100, 128, 145]


@numba.njit
def weigh(row, beta, boost, coef, weight, sums):
    if boost.shape[0] == 0:
        return lanes.weigh(row, beta, coef, weight, sums)
    return lanes.weigh_boosted(row, beta, boost, coef, weight, sums)


WITHOUT_VECTORS = {  # in plain Python, and as they are compiled if Numba cannot build the code in vectors
    False: (lanes.weigh, numba.njit(lanes.weigh)),
    True: (lanes.weigh_boosted, numba.njit(lanes.weigh_boosted)),
}


def lane_of(k: int, n: int) -> int:
    return k % lanes.LANES if k // lanes.LANES < n // lanes.LANES else lanes.LANES


@numba.njit
def search_lanes(weight, sums, u):
    return lanes.search_lanes(weight, sums, u)


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


@pytest.mark.parametrize("boosted", [False, True])
@pytest.mark.parametrize("n", LENGTHS)
def test_weights_in_lanes(n: int, boosted: bool) -> None:
    rng = np.random.default_rng(n)
    for gap in (0, 1, 3, 8):  # wherever the arrays lie, they need not start where a vector does
        row, coef = rng.integers(0, 9, n + gap).astype(np.int32)[gap:], rng.random(n + gap)[gap:]
        boost = rng.random(n + gap)[gap:] if boosted else np.zeros(0)
        weight, sums = np.full(n + 1, -1.0), np.full(lanes.LANES + 2, -1.0)
        total = weigh(row, 0.1, boost, coef, weight[:n], sums[:-1])
        expected = (row + (0.1 + boost if boosted else 0.1)) * coef
        np.testing.assert_array_equal(weight, [*expected, -1.0])  # and nothing is written beyond the end
        for plain in WITHOUT_VECTORS[boosted]:
            plain_weight, plain_sums = np.empty(n), np.empty(lanes.LANES + 1)
            plain_total = plain(row, 0.1, *([boost] if boosted else []), coef, plain_weight, plain_sums)
            np.testing.assert_array_equal(plain_weight, expected)
            np.testing.assert_array_equal(sums, [*plain_sums, -1.0])  # to the last bit
            assert total == plain_total
        np.testing.assert_allclose(total, expected.sum(), rtol=1e-14)
        of_lanes = np.zeros(lanes.LANES + 1)
        np.add.at(of_lanes, [lane_of(k, n) for k in range(n)], expected)
        np.testing.assert_allclose(sums[:-1], of_lanes, rtol=1e-14)


@pytest.mark.parametrize("n", LENGTHS)
def test_every_stretch_of_a_lane_leads_to_its_own_topic(n: int) -> None:
    weight = np.random.default_rng(n).integers(1, 9, n).astype(float)
    sums, lane = np.zeros(lanes.LANES + 1), np.array([lane_of(k, n) for k in range(n)])
    np.add.at(sums, lane, weight)
    start = 0.0
    for k in np.lexsort((np.arange(n), lane)):
        for u in (start, start + weight[k] / 2, np.nextafter(start + weight[k], 0)):
            assert search_lanes(weight, sums, u) == k
        start += weight[k]
    assert 0 <= search_lanes(weight, sums, start + 1.0) < n  # rounding past the end stays inside


def test_other_types_are_not_read_as_if_they_were_the_right_ones() -> None:
    numbers = np.ones(20)
    with pytest.raises(AssertionError):
        weigh(np.ones(20, np.int64), 0.1, np.zeros(0), numbers, numbers.copy(), np.zeros(lanes.LANES + 1))


@pytest.mark.parametrize("n_topics", [16, 37])
def test_a_sweep_in_vectors_is_the_sweep_without(n_topics: int) -> None:
    """Enumeration has few topics, which fill no lanes but in plain Python, where there may be two."""
    names: dict[str, object] = {"__name__": "plain"}
    exec(undecorated(inspect.getsource(importlib.import_module("topicloom.lda.gibbs.dense"))), names)
    names.update(plain_steps(names))
    case, z = oracle.random_case(5, 6, 8, n_topics)
    states = [rebuild_counts(case.corpus, z.copy(), n_topics) for _ in range(2)]
    for t in range(20):
        for sweep, state in zip((gibbs_dense.sweep_block, names["sweep_block"]), states, strict=True):
            sweep_once(sweep, case.corpus, state, case.prior, stream(7, t))
        np.testing.assert_array_equal(states[0].z, states[1].z)
    assert np.any(states[0].z != z)


RANGES = [(0, 9), (0, 4), (4, 9), (3, 5), (8, 9), (0, 1), (9, 9), (4, 4)]


def check_own_tokens(own_tokens: Callable[..., tuple[int, int]], first: int, last: int, in_order: bool) -> None:
    words = np.random.default_rng(0).integers(0, 9, 200).astype(np.int32)
    for start, stop in [(0, 200), (50, 120), (7, 8), (20, 23), (7, 7)]:
        if in_order:
            words[start:stop].sort()
        room = np.empty(0 if in_order else 200, np.int64)
        begin, n = own_tokens(start, stop, words, first, last, room)
        found = [own_token(begin, j, room) for j in range(n)]
        assert found == [j for j in range(start, stop) if first <= words[j] < last]


@pytest.mark.parametrize("in_order", [False, True])
@pytest.mark.parametrize(("first", "last"), RANGES)
def test_a_block_finds_its_own_tokens_and_no_others(first: int, last: int, in_order: bool) -> None:
    check_own_tokens(own_tokens, first, last, in_order)


@pytest.mark.parametrize(
    ("change", "in_order"),
    [
        (("words[begin] < word)", "words[begin] <= word)"), True),
        (("< word else 0", "<= word else 0"), True),
        (("n -= half", "n = half"), True),
        (("stop = _first_from(begin, end, words, word_stop)", "stop = end - 1"), True),
        (("words[end - 1] >= word_stop", "words[end - 1] > word_stop"), True),
        (("word_stop - word_start)", "word_stop - word_start + 1)"), False),
    ],
)
def test_blocks_with_wrong_tokens_are_rejected(change: tuple[str, str], in_order: bool) -> None:
    wrong = compiled_mutant("numerics.prefetch", change).own_tokens

    def check() -> None:
        for first, last in RANGES:
            check_own_tokens(wrong, first, last, in_order)

    with pytest.raises(AssertionError):
        check()


def test_without_room_all_tokens_are_its_own_where_all_words_are() -> None:
    words, none = np.array([3, 1, 8, 0, 2, 2, 1, 4], np.int32), np.empty(0, np.int64)
    assert own_tokens(2, 7, words, 0, 9, none) == (2, 5)
    assert [own_token(2, j, none) for j in range(5)] == [2, 3, 4, 5, 6]


@pytest.mark.parametrize("texts", [False, True])
def test_tokens_are_listed_only_where_they_do_not_lie_side_by_side(texts: bool) -> None:
    words = np.array([0, 1, 1, 0, 0, 2, 2, 1 if texts else 2], np.int32)
    corpus = Corpus(words, np.array([0, 0, 3, 8, 8]), ("a", "b", "c"))
    assert len(room_to_list(corpus, (0, 3))) == 0
    assert len(room_to_list(corpus, (0, 2))) == len(room_to_list(corpus, (1, 3))) == (5 if texts else 0)
