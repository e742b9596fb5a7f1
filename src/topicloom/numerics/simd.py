"""Weights of all topics and their sums in lanes, several topics at a time in the processor's vector registers.

A lane is every sixteenth topic: topic k is in lane k mod 16. The topics that do not fill a last round of lanes, up to
15, are added up apart, as one more lane. The sums of the lanes cost nothing beyond the sum of all weights, and a draw
looks at them and then at the topics of one lane.

The additions are written out in vectors (``numba_private``), in place of a loop that LLVM may turn into some: their
order is the same on every machine. The functions in this file add in the same order, one number after the other. They
run in plain Python, and are compiled if Numba cannot build the code in vectors.
"""

from collections.abc import Callable

from numba.extending import overload, register_jitable

from topicloom._types import FloatArray, Int32Array
from topicloom.numerics import numba_private
from topicloom.numerics.jit import PART_OF_A_KERNEL, private_or_public, step

LANES = 16


def weigh(row: Int32Array, beta: float, coef: FloatArray, weight: FloatArray, lane_sums: FloatArray) -> float:
    """Fill ``weight`` with (row + β) · coef and ``lane_sums`` [LANES + 1]; returns the sum of all weights."""
    for k in range(weight.shape[0]):
        weight[k] = (row[k] + beta) * coef[k]
    return _add_up(weight, lane_sums)


def weigh_boosted(
    row: Int32Array, beta: float, boost: FloatArray, coef: FloatArray, weight: FloatArray, lane_sums: FloatArray
) -> float:
    """As ``weigh`` for a seed word, whose prior differs from topic to topic."""
    for k in range(weight.shape[0]):
        weight[k] = (row[k] + (beta + boost[k])) * coef[k]
    return _add_up(weight, lane_sums)


@register_jitable
def _add_up(weight: FloatArray, lane_sums: FloatArray) -> float:
    """Fill ``lane_sums`` and return the sum of all weights, each by the same additions as the code in vectors."""
    n = weight.shape[0]
    main = n - n % LANES
    _add_by_lane(weight, main, lane_sums)
    half = LANES // 2
    while half > 0:  # fold the lanes onto their first half, until one number is left
        for lane in range(half):
            lane_sums[lane] += lane_sums[lane + half]
        half //= 2
    total = lane_sums[0]
    _add_by_lane(weight, main, lane_sums)  # again: there was no other room for folding
    k, a, b, c, d, ones = main, 0.0, 0.0, 0.0, 0.0, 0.0
    while k + 4 <= n:
        a, b, c, d = a + weight[k], b + weight[k + 1], c + weight[k + 2], d + weight[k + 3]
        k += 4
    while k < n:
        ones += weight[k]
        k += 1
    rest = ((a + c) + (b + d)) + ones
    lane_sums[LANES] = rest
    return float(total + rest)


@register_jitable
def _add_by_lane(weight: FloatArray, main: int, lane_sums: FloatArray) -> None:
    lane_sums[:LANES] = 0.0
    for start in range(0, main, LANES):
        for lane in range(LANES):
            lane_sums[lane] += weight[start + lane]


# Numba hands over types in place of values, and wants the same annotations as in the functions that are returned.
@overload(weigh, jit_options=PART_OF_A_KERNEL)
def _(
    row: Int32Array, beta: float, coef: FloatArray, weight: FloatArray, lane_sums: FloatArray
) -> Callable[..., float]:
    in_vectors = numba_private.vector_weights(LANES)
    return private_or_public(in_vectors and in_vectors[0], weigh)


@overload(weigh_boosted, jit_options=PART_OF_A_KERNEL)
def _(
    row: Int32Array, beta: float, boost: FloatArray, coef: FloatArray, weight: FloatArray, lane_sums: FloatArray
) -> Callable[..., float]:
    in_vectors = numba_private.vector_weights(LANES)
    return private_or_public(in_vectors and in_vectors[1], weigh_boosted)


@step
def put(weight: FloatArray, lane_sums: FloatArray, k: int, new: float) -> None:
    """Another weight for topic k, and its lane's sum with it."""
    n_topics = weight.shape[0]
    lane_sums[k % LANES if k < n_topics - n_topics % LANES else LANES] += new - weight[k]
    weight[k] = new


@step
def search_lanes(weight: FloatArray, lane_sums: FloatArray, u: float) -> int:
    """The topic in whose stretch of the running sum of the weights u falls, the sum taken lane by lane."""
    n_topics = weight.shape[0]
    main = n_topics - n_topics % LANES
    last = LANES if main < n_topics else LANES - 1
    lane = 0
    while lane < last and u >= lane_sums[lane]:
        u -= lane_sums[lane]
        lane += 1
    k, pace, stop = (lane, LANES, main) if lane < LANES else (main, 1, n_topics)
    while k + pace < stop and u >= weight[k]:
        u -= weight[k]
        k += pace
    return k
