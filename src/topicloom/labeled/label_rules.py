"""From scores to label sets: the rules that labeled models share, as functions over arrays."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from topicloom._types import BoolArray, FloatArray, Int64Array
from topicloom.numerics.blas import one_blas_thread

RULES = ("auto", "threshold", "meta", "count", "proportional")
CHOSEN = ("meta", "threshold")  # what "auto" chooses from; the first, where there are no held-out documents


# -- label sets ----------------------------------------------------------------------------------------------------


def best_labels(scores: FloatArray, sizes: Int64Array) -> BoolArray:
    """The ``sizes[d]`` best labels of each document; of equal scores the label with the smaller number."""
    order = np.argsort(-scores, axis=1, kind="stable")
    chosen = np.zeros(scores.shape, bool)
    np.put_along_axis(chosen, order, np.arange(scores.shape[1]) < sizes[:, None], axis=1)
    return chosen


def proportional(scores: FloatArray, share: FloatArray) -> BoolArray:
    """Each label for that share of the documents which it fits best, at least one if it is known."""
    n_docs = len(scores)
    sizes = np.where(share > 0, np.clip(np.rint(share * n_docs), 1, n_docs), 0).astype(np.int64)
    return np.ascontiguousarray(best_labels(np.ascontiguousarray(scores.T), sizes).T)


def above(probability: FloatArray, threshold: float) -> BoolArray:
    """Labels with at least this probability, and each document's likeliest one."""
    chosen = probability >= threshold
    chosen[np.arange(len(chosen)), probability.argmax(axis=1)] = True
    return chosen


def best_threshold(probability: FloatArray, truth: BoolArray) -> float:
    """The threshold at which micro-F1 of ``above`` is highest."""
    p = probability.copy()
    p[np.arange(len(p)), p.argmax(axis=1)] = 1.0  # of each document one label is predicted in any case
    p, hit = p.ravel(), truth.ravel()
    order = np.argsort(-p, kind="stable")
    found = np.cumsum(hit[order])
    f1 = 2 * found / (np.arange(1, len(p) + 1) + hit.sum())
    last = np.flatnonzero(np.append(np.diff(p[order]) != 0, True))  # a threshold takes all of equal probability
    return float(p[order][last[np.argmax(f1[last])]])


def micro_f1(truth: BoolArray, chosen: BoolArray) -> float:
    """Of label sets, 0 if there is none at all."""
    n = int(truth.sum() + chosen.sum())
    return 2.0 * float((truth & chosen).sum()) / n if n else 0.0


# -- the number of labels ------------------------------------------------------------------------------------------


class MetaLabeler(NamedTuple):
    """A linear model of the number of labels on a document's words (Tang, Rajan and Narayanan 2009)."""

    coef: FloatArray  # [V]
    intercept: float

    def sizes(self, counts: Any, most: int) -> Int64Array:
        predicted = features(counts) @ self.coef + self.intercept
        sizes: Int64Array = np.clip(np.rint(predicted), 1, max(most, 1)).astype(np.int64)
        return sizes


def features(counts: Any) -> Any:
    """Documents' words as the linear model sees them: log(1 + n), rows of length 1."""
    from sklearn.preprocessing import normalize

    return normalize(sp.csr_array(counts).astype(np.float64).log1p())


def fit_meta_labeler(counts: Any, sizes: Int64Array, penalty: float = 1.0) -> MetaLabeler:
    from sklearn.linear_model import Ridge

    with one_blas_thread():
        model = Ridge(alpha=penalty, solver="lsqr", tol=1e-6).fit(features(counts), sizes)
    return MetaLabeler(np.asarray(model.coef_, np.float64), float(model.intercept_))
