"""How good predictions are, label by label, and how far predicted numbers are off: functions over arrays."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # its parts are loaded when they are used

from topicloom._types import BoolArray, FloatArray, Int64Array
from topicloom.corpus._checks import as_numbers, check_length, check_number, check_whole, items, shown
from topicloom.corpus.frames import to_frame
from topicloom.errors import InputError
from topicloom.evaluation.labels import CalibrationBins, _check_shapes, _indicator

_SURE_VARIANCE, _SURE_MEAN = 25.0, 100.0  # of a number of documents, below which its distribution is added up exactly
_AVERAGES = ("micro", "macro", "weighted", "samples")


@dataclass(frozen=True, eq=False)
class LabelReport:
    """What :func:`label_report` finds: arrays with an entry per label, and averages.

    Attributes
    ----------
    names : tuple
        Names of the labels.
    support, predicted : array of int
        Documents with the label, and those for which it was predicted.
    precision, recall, f1 : array
        As scikit-learn has them, 0 where they are not defined.
    mean_probability, expected : array, or None
        Mean probability of the label over all documents, and its sum: how many documents are expected to have it. None
        without probabilities.
    lower, upper : array of int, or None
        Between which ``support`` lies with probability ``level`` if every probability is right.
    averages : dict of str to dict
        ``precision``, ``recall`` and ``f1`` as "micro", "macro", "weighted" and "samples" averages.
    without_prediction, without_label : float
        Share of documents for which no label is predicted, and of those that have none.
    calibration : CalibrationBins, or None
        All (document, label) pairs by probability, in ``n_bins`` groups of equal width, without empty ones: what is
        expected and what is so.
    n_documents : int
    level : float
    """

    names: tuple[Any, ...]
    support: Int64Array
    predicted: Int64Array
    precision: FloatArray
    recall: FloatArray
    f1: FloatArray
    mean_probability: FloatArray | None
    expected: FloatArray | None
    lower: Int64Array | None
    upper: Int64Array | None
    averages: dict[str, dict[str, float]]
    without_prediction: float
    without_label: float
    calibration: CalibrationBins | None
    n_documents: int
    level: float

    def columns(self) -> dict[str, list[Any]]:
        """A list per column of :meth:`to_frame`."""
        names = ("support", "predicted", "precision", "recall", "f1")
        more = ("mean_probability", "expected", "lower", "upper") if self.expected is not None else ()
        return {"label": list(self.names), **{name: getattr(self, name).tolist() for name in (*names, *more)}}

    def order(self, by: str) -> list[int]:
        """Numbers of the labels sorted: by "support" or "f1", largest first, by "name" or by "number".

        By "calibration" those come first whose number of documents is the least likely if probabilities are right.
        """
        if by == "number":
            return list(range(len(self.names)))
        if by == "name":
            return sorted(range(len(self.names)), key=lambda k: str(self.names[k]))
        if by == "calibration":
            if self.expected is None or self.lower is None or self.upper is None:
                raise InputError("there are no probabilities, so labels cannot be sorted by their calibration.")
            half = np.maximum(self.upper - self.lower, 1) / 2
            return [int(k) for k in np.argsort(-np.abs(self.support - self.expected) / half, kind="stable")]
        if by not in ("support", "f1"):
            raise InputError(f"by={shown(by)} is not known; choose support, f1, name, number or calibration.")
        return [int(k) for k in np.argsort(-getattr(self, by), kind="stable")]

    def to_frame(self, frame: Any = None) -> Any:
        """A row per label, as a frame of "pandas", "polars" or "pyarrow"."""
        return to_frame(self.columns(), frame)


def label_report(
    true: Any,
    predicted: Any,
    probability: Any = None,
    names: Sequence[Any] | None = None,
    *,
    level: float = 0.95,
    n_bins: int = 10,
) -> LabelReport:
    """Precision, recall, F1 and calibration of each label, and their averages.

    Parameters
    ----------
    true, predicted : array of shape (n_documents, n_labels)
        Label sets as matrices of 0 and 1, dense or sparse. Of classes each row has one 1.
    probability : array of shape (n_documents, n_labels), optional
        Of each label in each document.
    names : sequence, optional
        Of the labels. Default: their numbers.
    level : float, default=0.95
        Probability of the limits between which the number of documents with a label should be.
    n_bins : int, default=10
        Groups of (document, label) pairs in ``calibration``.

    Returns
    -------
    LabelReport

    Notes
    -----
    A label's number of documents is a sum of independent yes-or-no draws, one per document, if its probabilities are
    right. ``lower`` and ``upper`` are limits of the central ``level`` of that distribution (Poisson-binomial). It is
    added up exactly where its variance is below 25; otherwise it is taken to be normal.

    Examples
    --------
    >>> from topicloom.evaluation import label_report
    >>> found = label_report([[1, 0], [1, 1], [0, 1]], [[1, 0], [0, 1], [0, 0]], names=["sport", "state"])
    >>> found.recall.tolist(), found.support.tolist()
    ([0.5, 0.5], [2, 2])
    >>> round(found.without_prediction, 2)
    0.33
    """
    from sklearn.metrics import precision_recall_fscore_support

    truth, answer = _indicator("true", true), _indicator("predicted", predicted)
    _check_shapes(truth, answer)
    check_number("level", level, 0.0, 1.0)
    n_docs, n_labels = truth.shape
    own = tuple(range(n_labels)) if names is None else items("names", names)
    check_length("names", len(own), n_labels, "labels")
    precision, recall, f1, support = precision_recall_fscore_support(truth, answer, average=None, zero_division=0)
    averages = {}
    for average in _AVERAGES:
        found = precision_recall_fscore_support(truth, answer, average=average, zero_division=0)[:3]
        averages[average] = dict(zip(("precision", "recall", "f1"), map(float, found), strict=True))
    mean = expected = lower = upper = bins = None
    if probability is not None:
        p = as_numbers("probability", probability)
        _check_shapes(truth, p)
        if not np.all((p >= 0) & (p <= 1)):
            raise InputError("probability must be from 0 to 1 everywhere.")
        mean, expected, (lower, upper) = p.mean(axis=0), p.sum(axis=0), count_limits(p, level)
        bins = _by_width(truth.ravel(), p.ravel(), check_whole("n_bins", n_bins, 1))
    return LabelReport(
        own, support.astype(np.int64), answer.sum(axis=0).astype(np.int64), precision, recall, f1, mean, expected,
        lower, upper, averages, float(1.0 - answer.any(axis=1).mean()), float(1.0 - truth.any(axis=1).mean()), bins,
        n_docs, level,
    )  # fmt: skip


def _by_width(truth: BoolArray, p: FloatArray, n_bins: int) -> CalibrationBins:
    """Groups of equal width. Nearly all probabilities of many labels are about 0: groups of equal size say less."""
    group = np.minimum((p * n_bins).astype(np.int64), n_bins - 1)
    size = np.bincount(group, minlength=n_bins)
    some = size > 0
    sums = [np.bincount(group, values, minlength=n_bins)[some] / size[some] for values in (p, truth)]
    return CalibrationBins(sums[0], sums[1], size[some].astype(np.int64))


def count_limits(probability: FloatArray, level: float) -> tuple[Int64Array, Int64Array]:
    """Central limits of Σ_d y_dk for independent y_dk of these probabilities [D, K]: two arrays [K]."""
    mean, variance = probability.sum(axis=0), (probability * (1.0 - probability)).sum(axis=0)
    exact = (variance < _SURE_VARIANCE) & (mean < _SURE_MEAN)
    tail = (1.0 - level) / 2.0
    half = scipy.stats.norm.isf(tail) * np.sqrt(variance)
    most = len(probability)
    lower = np.clip(np.ceil(mean - half - 0.5), 0, most).astype(np.int64)
    upper = np.clip(np.floor(mean + half + 0.5), 0, most).astype(np.int64)
    if exact.any():
        below = np.cumsum(_count_distribution(probability[:, exact], mean[exact], variance[exact]), axis=1)
        lower[exact] = np.argmax(below > tail + 1e-15, axis=1)
        upper[exact] = np.argmax(below >= 1.0 - tail - 1e-15, axis=1)
    return lower, upper


def _count_distribution(p: FloatArray, mean: FloatArray, variance: FloatArray) -> FloatArray:
    """p(Σ y = n) [K, N]; numbers that are never reached are left out."""
    width = min(int(np.ceil((mean + 12.0 * np.sqrt(variance)).max())) + 30, len(p) + 1)
    out = np.zeros((p.shape[1], width))
    out[:, 0] = 1.0
    for own in p:
        if not own.any():
            continue
        moved = out * own[:, None]
        out -= moved
        out[:, 1:] += moved[:, :-1]
    return out


# -- numbers ---------------------------------------------------------------------------------------------------------


def regression_scores(true: Any, predicted: Any) -> dict[str, float]:
    """How far predicted numbers are off.

    Parameters
    ----------
    true, predicted : array of shape (n_documents,)

    Returns
    -------
    dict
        ``r2`` (1 − mean squared error / variance), ``mean_absolute_error``, ``root_mean_squared_error``, and
        ``mean_error`` (predicted less true: above 0 if predictions are too high).

    Examples
    --------
    >>> from topicloom.evaluation import regression_scores
    >>> regression_scores([1.0, 2.0, 3.0], [1.0, 2.0, 4.5])["mean_error"]
    0.5
    """
    from sklearn.metrics import r2_score

    truth, answer = as_numbers("true", true), as_numbers("predicted", predicted)
    if truth.ndim != 1 or truth.shape != answer.shape or not len(truth):
        raise InputError(
            f"the true numbers have shape {truth.shape}, those predicted {answer.shape}; give one of each."
        )
    off = answer - truth
    return {
        "r2": float(r2_score(truth, answer)) if len(truth) > 1 else float("nan"),
        "mean_absolute_error": float(np.abs(off).mean()),
        "root_mean_squared_error": float(np.sqrt(np.mean(off * off))),
        "mean_error": float(off.mean()),
    }


def confusion_counts(true: BoolArray, predicted: BoolArray) -> Int64Array:
    """Documents of each true class (rows) for which each class was predicted, of classes that exclude each other."""
    return np.asarray(true.astype(np.int64).T @ predicted.astype(np.int64))
