"""Scores from which on labels of a set are predicted."""

import numpy as np

from topicloom._types import BoolArray, FloatArray

FEWEST = 10  # documents with a label: of fewer, the best threshold is that of single documents


def best_thresholds(scores: FloatArray, positive: BoolArray) -> FloatArray:
    """For each column the threshold with the largest F1, halfway between two documents; 0 for a rare label."""
    out = np.zeros(scores.shape[1])
    for c in np.flatnonzero(positive.sum(axis=0) >= FEWEST):
        order = np.argsort(-scores[:, c], kind="stable")
        own, ranked = positive[order, c], scores[order, c]
        f1 = 2.0 * np.cumsum(own) / (np.arange(1, len(own) + 1) + own.sum())
        f1[:-1][ranked[:-1] == ranked[1:]] = -1.0  # no threshold parts equal scores
        best = int(np.argmax(f1))
        following = ranked[best + 1] if best + 1 < len(ranked) else ranked[best] - 1.0
        out[c] = 0.5 * (ranked[best] + following)
    return out
