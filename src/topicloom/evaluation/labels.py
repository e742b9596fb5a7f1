"""How good are predicted label sets, rankings of labels, and probabilities: functions over documents × labels arrays.

Where scikit-learn has a measure it is scikit-learn's, with its conventions: a label without a true or predicted
document has F1 = 0, and so has a document without labels, true or predicted.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from topicloom._types import AnyArray, BoolArray, FloatArray, Int64Array
from topicloom.corpus._checks import as_array, as_numbers, check_whole
from topicloom.errors import InputError


def label_set_scores(true: Any, predicted: Any) -> dict[str, float]:
    """F1 of predicted label sets.

    Parameters
    ----------
    true : array or sparse matrix of shape (n_docs, n_labels)
        1 where a document has a label, otherwise 0.
    predicted : array or sparse matrix of shape (n_docs, n_labels)
        1 where a label was predicted, otherwise 0.

    Returns
    -------
    dict of str to float
        ``micro_f1`` over all pairs, ``macro_f1`` (mean over labels) and ``example_f1`` (mean over documents).

    Examples
    --------
    >>> scores = label_set_scores([[1, 0], [1, 1]], [[1, 0], [0, 1]])
    >>> {name: round(value, 2) for name, value in scores.items()}
    {'micro_f1': 0.8, 'macro_f1': 0.83, 'example_f1': 0.83}
    """
    from sklearn.metrics import f1_score

    truth = _indicator("true", true)
    answer = _indicator("predicted", predicted)
    _check_shapes(truth, answer)
    kinds = {"micro_f1": "micro", "macro_f1": "macro", "example_f1": "samples"}
    return {name: float(f1_score(truth, answer, average=average, zero_division=0)) for name, average in kinds.items()}


def label_ranking_scores(true: Any, scores: FloatArray) -> dict[str, float]:
    """How well the labels of each document are ranked.

    Parameters
    ----------
    true : array or sparse matrix of shape (n_docs, n_labels)
        1 where a document has a label, otherwise 0.
    scores : array of shape (n_docs, n_labels)
        Any scores by which labels are ranked, higher is better.

    Returns
    -------
    dict of str to float
        ``one_error`` is the share of documents whose best label is wrong; documents without a label do not count.
        ``coverage`` is the number of labels to go through until all true ones are found. ``ranking_loss`` is the share
        of wrongly ordered pairs of a true and another label. ``average_precision`` is scikit-learn's.

    Examples
    --------
    >>> label_ranking_scores([[1, 0, 0], [0, 1, 0]], [[0.9, 0.1, 0.2], [0.6, 0.5, 0.1]])
    {'one_error': 0.5, 'coverage': 1.5, 'ranking_loss': 0.25, 'average_precision': 0.75}
    """
    from sklearn.metrics import coverage_error, label_ranking_average_precision_score, label_ranking_loss

    truth, scores = _indicator("true", true), as_numbers("scores", scores)
    _check_shapes(truth, scores)
    some = truth.any(axis=1)
    best = np.argmax(scores, axis=1)
    missed = ~truth[np.arange(len(truth)), best]
    return {
        "one_error": float(missed[some].mean()) if some.any() else 0.0,
        "coverage": float(coverage_error(truth, scores)),
        "ranking_loss": float(label_ranking_loss(truth, scores)),
        "average_precision": float(label_ranking_average_precision_score(truth, scores)),
    }


def label_calibration(true: Any, probability: FloatArray, n_bins: int = 10) -> dict[str, float]:
    """How far probabilities of labels are from what happens.

    Parameters
    ----------
    true : array or sparse matrix of shape (n_docs, n_labels)
        1 where a document has a label, otherwise 0.
    probability : array of shape (n_docs, n_labels)
        Predicted probabilities.
    n_bins : int, default=10
        Groups of (document, label) pairs, equal in size, by probability.

    Returns
    -------
    dict of str to float
        ``calibration_error`` is the mean over pairs of the distance between their group's mean probability and its
        share of true labels. ``brier`` is the mean squared error. ``mean_probability`` and ``base_rate`` should be
        alike.

    Examples
    --------
    >>> scores = label_calibration([[0, 1], [0, 1]], [[0.1, 0.7], [0.3, 0.9]], n_bins=2)
    >>> {name: round(value, 3) for name, value in scores.items()}
    {'calibration_error': 0.2, 'brier': 0.05, 'mean_probability': 0.5, 'base_rate': 0.5}
    """
    truth, p = _pairs(true, probability)
    expected, observed, size = calibration_bins(true, probability, n_bins)
    return {
        "calibration_error": float(sum(abs(expected - observed) * size) / len(p)),
        "brier": float(np.mean((p - truth) ** 2)),
        "mean_probability": float(p.mean()),
        "base_rate": float(truth.mean()),
    }


class CalibrationBins(NamedTuple):
    """Groups of (document, label) pairs by probability, lowest first.

    Attributes
    ----------
    expected : array of shape (n_bins,)
        Mean probability of each group.
    observed : array of shape (n_bins,)
        Share of true labels in each group.
    size : array of shape (n_bins,)
        Pairs in each group.
    """

    expected: FloatArray  # mean probability
    observed: FloatArray  # share of true labels
    size: Int64Array  # pairs


def calibration_bins(true: Any, probability: FloatArray, n_bins: int = 10) -> CalibrationBins:
    """Group (document, label) pairs by probability: what is expected, and what is so.

    Parameters
    ----------
    true : array or sparse matrix of shape (n_docs, n_labels)
        1 where a document has a label, otherwise 0.
    probability : array of shape (n_docs, n_labels)
        Predicted probabilities.
    n_bins : int, default=10
        Groups, equal in size. Groups without a pair are left out.

    Returns
    -------
    CalibrationBins
        ``expected``, ``observed`` and ``size`` of each group.

    Examples
    --------
    >>> bins = calibration_bins([[0, 1], [0, 1]], [[0.1, 0.7], [0.3, 0.9]], 2)
    >>> bins.expected.tolist(), bins.observed.tolist()
    ([0.2, 0.8], [0.0, 1.0])
    """
    truth, p = _pairs(true, probability)
    check_whole("n_bins", n_bins, 1)
    groups = [group for group in np.array_split(np.argsort(p, kind="stable"), n_bins) if len(group)]
    return CalibrationBins(
        np.array([p[group].mean() for group in groups]),
        np.array([truth[group].mean() for group in groups]),
        np.array([len(group) for group in groups], np.int64),
    )


def _pairs(true: Any, probability: FloatArray) -> tuple[BoolArray, FloatArray]:
    truth, p = _indicator("true", true), as_numbers("probability", probability)
    _check_shapes(truth, p)
    return truth.ravel(), p.ravel()


def _indicator(name: str, values: Any) -> BoolArray:
    is_sparse: bool = sp.issparse(values)  # named, because narrowing here would hide the attributes from mypy
    dense: AnyArray = values.toarray() if is_sparse else as_array(name, values)
    if dense.ndim != 2 or not np.all((dense == 0) | (dense == 1)):
        raise InputError(f"{name} must be a documents × labels matrix of 0 and 1.")
    return dense.astype(bool)


def _check_shapes(truth: BoolArray, other: FloatArray | BoolArray) -> None:
    if truth.shape != other.shape:
        raise InputError(f"the true labels have shape {truth.shape}, what is scored has {other.shape}.")
