"""Scores from which on labels of a set are predicted."""

import numpy as np

from topicloom._types import BoolArray, FloatArray

FEWEST = 10  # documents with a label: of fewer, the best threshold is that of single documents
SHRINKAGE = 300.0  # documents with a label at which its threshold is halfway between its own best and that of all


def best_thresholds(scores: FloatArray, positive: BoolArray) -> FloatArray:
    """A threshold for each column, between the one with the best F1 of the column and the one of all pairs together.

    The best of a column with few documents is theirs alone: on held-out documents micro-F1 falls below that of no
    thresholds at all. So the fewer there are, the nearer a column's is to that of all.
    """
    shared = _best(scores.ravel(), positive.ravel()) if positive.any() else 0.0
    out = np.full(scores.shape[1], shared)
    number = positive.sum(axis=0)
    for c in np.flatnonzero(number >= FEWEST):
        trust = number[c] / (number[c] + SHRINKAGE)
        out[c] += trust * (_best(scores[:, c], positive[:, c]) - shared)
    return out


def _best(scores: FloatArray, positive: BoolArray) -> float:
    """The threshold with the largest F1, halfway between two documents."""
    order = np.argsort(-scores, kind="stable")
    own, ranked = positive[order], scores[order]
    f1 = 2.0 * np.cumsum(own) / (np.arange(1, len(own) + 1) + own.sum())
    f1[:-1][ranked[:-1] == ranked[1:]] = -1.0  # no threshold parts equal scores
    best = int(np.argmax(f1))
    following = ranked[best + 1] if best + 1 < len(ranked) else ranked[best] - 1.0
    return float(0.5 * (ranked[best] + following))
