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
    """F1 of predicted label sets: ``micro_f1``, ``macro_f1`` (mean over labels) and ``example_f1`` (over documents)."""
    from sklearn.metrics import f1_score

    truth = _indicator("true", true)
    answer = _indicator("predicted", predicted)
    _check_shapes(truth, answer)
    kinds = {"micro_f1": "micro", "macro_f1": "macro", "example_f1": "samples"}
    return {name: float(f1_score(truth, answer, average=average, zero_division=0)) for name, average in kinds.items()}


def label_ranking_scores(true: Any, scores: FloatArray) -> dict[str, float]:
    """How well labels are ranked for each document.

    ``one_error``: share of documents whose best-ranked label is not theirs; ``coverage``: labels to go through until
    all true ones are found; ``ranking_loss``: share of wrongly ordered pairs of a true and another label;
    ``average_precision``. Documents without a true label are left out of ``one_error``.
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

    ``calibration_error``: |mean probability − share of true labels| over ``n_bins`` groups of (document, label) pairs,
    equal in size, by probability; ``brier``: mean squared error; ``mean_probability`` and ``base_rate``:
    the two that should be alike.
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
    """Groups of (document, label) pairs by probability, least first."""

    expected: FloatArray  # mean probability
    observed: FloatArray  # share of true labels
    size: Int64Array  # pairs


def calibration_bins(true: Any, probability: FloatArray, n_bins: int = 10) -> CalibrationBins:
    """``n_bins`` groups of (document, label) pairs by probability, equal in size: what is expected and what is so.

    Examples
    --------
    >>> calibration_bins([[0, 1], [0, 1]], [[0.1, 0.7], [0.3, 0.9]], 2).expected.tolist()
    [0.2, 0.8]
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
