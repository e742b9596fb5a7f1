"""From scores to label sets and probabilities: the rules that labeled models share, as functions over arrays."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from topicloom._types import BoolArray, FloatArray, Int64Array
from topicloom.numerics.blas import one_blas_thread

RULES = ("meta", "count", "threshold", "proportional")


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


def best_threshold(probability: FloatArray, truth: BoolArray) -> float:
    """The threshold at which micro-F1 is highest: labels with at least this probability are predicted."""
    p, hit = probability.ravel(), truth.ravel()
    order = np.argsort(-p, kind="stable")
    found = np.cumsum(hit[order])
    f1 = 2 * found / (np.arange(1, len(p) + 1) + hit.sum())
    last = np.flatnonzero(np.append(np.diff(p[order]) != 0, True))  # a threshold takes all of equal probability
    return float(p[order][last[np.argmax(f1[last])]])


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


# -- probabilities -------------------------------------------------------------------------------------------------


class Calibration(NamedTuple):
    """A logistic model of "this label is one of the document's", by the label's share and how common it is."""

    coef: FloatArray
    intercept: float

    def probability(self, counts: FloatArray, rate: FloatArray) -> FloatArray:
        """Of each label [D, K], from expected counts [D, K] and the labels' shares of the training documents [K]."""
        logit = np.full(counts.shape, self.intercept)
        for weight, feature in zip(self.coef, _evidence(counts, rate), strict=True):
            logit += weight * feature
        return np.asarray(1.0 / (1.0 + np.exp(-logit)))


def _evidence(counts: FloatArray, rate: FloatArray) -> list[FloatArray]:
    """Log share of a label in the document, one pseudo-count as the prior would have it; its square; log frequency."""
    share = (counts + rate / rate.sum()) / (counts.sum(axis=1, keepdims=True) + 1.0)
    log_share = np.log(share)
    return [log_share, log_share**2, np.broadcast_to(np.log(rate), counts.shape)]


def fit_calibration(counts: FloatArray, rate: FloatArray, truth: BoolArray) -> Calibration:
    """From documents that the model has not seen; with nothing to tell apart, how often labels are true."""
    hits = truth.ravel()
    if hits.all() or not hits.any():
        share = (hits.sum() + 0.5) / (len(hits) + 1.0)
        return Calibration(np.zeros(3), float(np.log(share / (1.0 - share))))
    from sklearn.linear_model import LogisticRegression

    X = np.stack([feature.ravel() for feature in _evidence(counts, rate)], axis=1)
    centre, scale = X.mean(axis=0), np.maximum(X.std(axis=0), 1e-9)
    with one_blas_thread():
        model = LogisticRegression(C=100.0, max_iter=500).fit((X - centre) / scale, hits)
    coef = model.coef_[0] / scale
    return Calibration(coef, float(model.intercept_[0] - np.sum(coef * centre)))
