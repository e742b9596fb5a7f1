"""Sums over rows of numbers, weighted by states, in the order of the rows; and what else these emissions share."""

from math import exp

import numpy as np

from topicloom._types import FloatArray, UInt64Array
from topicloom.hmm.state import Observed
from topicloom.numerics.jit import as_input, kernel
from topicloom.numerics.rng import uniform

LEAST_LOG = -600.0  # as of tables: far below the best state, but not 0


@kernel
def logs_to_shares(values: FloatArray) -> None:
    """exp(values − their highest), in place."""
    top = values[0]
    for k in range(1, values.shape[0]):
        top = max(top, values[k])
    for k in range(values.shape[0]):
        values[k] = exp(max(values[k] - top, LEAST_LOG))


@kernel
def fill_table(logs: FloatArray, top: FloatArray) -> None:
    """Each row's highest into ``top``, and exp(row − highest) in place."""
    n_states = logs.shape[1]
    for u in range(logs.shape[0]):
        best = logs[u, 0]
        for k in range(1, n_states):
            best = max(best, logs[u, k])
        top[u] = best
        for k in range(n_states):
            value = logs[u, k] - best
            logs[u, k] = 1.0 if value == 0.0 else exp(max(value, LEAST_LOG))


@kernel
def fill_sums(
    weights: FloatArray, values: FloatArray, centre: FloatArray, n: FloatArray, total: FloatArray, square: FloatArray
) -> None:
    """Numbers, sums and sums of squares [F, K] of values less a centre, of those that are known."""
    for u in range(values.shape[0]):
        for f in range(values.shape[1]):
            x = values[u, f]
            if x == x:  # not missing
                d = x - centre[f]
                for k in range(weights.shape[1]):
                    w = weights[u, k]
                    n[f, k] += w
                    total[f, k] += w * d
                    square[f, k] += w * d * d


def weighted_sums(
    weights: FloatArray, values: FloatArray, centre: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The same by state [K, F]."""
    shape = (values.shape[1], weights.shape[1])
    n, total, square = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    fill_sums(as_input(weights), as_input(values), as_input(centre), n, total, square)
    return np.ascontiguousarray(n.T), np.ascontiguousarray(total.T), np.ascontiguousarray(square.T)


def some_rows(seen: Observed, n: int, rng: UInt64Array) -> FloatArray:
    """Observations [n, F] by chance, apart from each other: each is drawn by its squared distance to those before it.

    Features are measured by their spread, and missing ones have no part in a distance.
    """
    counts = seen.row_counts() * ~np.isnan(seen.values).all(axis=1)
    spread = np.sqrt(np.maximum(np.nan_to_num(variances(seen)), 1e-300))
    scaled = np.nan_to_num(seen.values / spread, nan=0.0)
    there = ~np.isnan(seen.values)
    chosen: list[int] = []
    weight = counts.copy()
    nearest = np.full(seen.n_rows, np.inf)
    for _ in range(n):
        if not weight.sum() > 0:
            weight = counts if counts.sum() > 0 else np.ones(seen.n_rows)
        sums = np.cumsum(weight)
        row = int(min(np.searchsorted(sums, uniform(rng) * sums[-1], "right"), seen.n_rows - 1))
        chosen.append(row)
        apart = np.sum(np.where(there & there[row], (scaled - scaled[row]) ** 2, 0.0), axis=1)
        nearest = np.minimum(nearest, apart)
        weight = counts * nearest
    return np.array(seen.values[chosen])


def variances(seen: Observed) -> FloatArray:
    """Of each feature [F] over all places where it is known; 1 of one that does not vary."""
    weights = seen.row_counts()[:, None]
    n, total, _ = weighted_sums(weights, seen.values, np.zeros(seen.values.shape[1]))
    mean = total[0] / np.maximum(n[0], 1)
    _, _, square = weighted_sums(weights, seen.values, mean)
    found = square[0] / np.maximum(n[0], 1)
    return np.asarray(np.where(found > 0, found, 1.0))


def filled(values: FloatArray, by: FloatArray) -> FloatArray:
    """With numbers in the place of those that are missing."""
    return np.where(np.isnan(values), by, values)
