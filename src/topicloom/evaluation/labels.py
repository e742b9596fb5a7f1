"""How good are predicted label sets, rankings of labels, and probabilities: functions over documents × labels arrays.

Where scikit-learn has a measure it is scikit-learn's, with its conventions: a label without a true or predicted
document has F1 = 0, and so has a document without labels, true or predicted.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from topicloom._types import AnyArray, BoolArray, FloatArray
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
    truth, p = _indicator("true", true).ravel(), as_numbers("probability", probability)
    _check_shapes(_indicator("true", true), p)
    check_whole("n_bins", n_bins, 1)
    p = p.ravel()
    groups = np.array_split(np.argsort(p, kind="stable"), n_bins)
    error = sum(abs(p[group].mean() - truth[group].mean()) * len(group) for group in groups if len(group))
    return {
        "calibration_error": float(error / len(p)),
        "brier": float(np.mean((p - truth) ** 2)),
        "mean_probability": float(p.mean()),
        "base_rate": float(truth.mean()),
    }


def _indicator(name: str, values: Any) -> BoolArray:
    is_sparse: bool = sp.issparse(values)  # named, because narrowing here would hide the attributes from mypy
    dense: AnyArray = values.toarray() if is_sparse else as_array(name, values)
    if dense.ndim != 2 or not np.all((dense == 0) | (dense == 1)):
        raise InputError(f"{name} must be a documents × labels matrix of 0 and 1.")
    return dense.astype(bool)


def _check_shapes(truth: BoolArray, other: FloatArray | BoolArray) -> None:
    if truth.shape != other.shape:
        raise InputError(f"the true labels have shape {truth.shape}, what is scored has {other.shape}.")
