"""From expected counts of labels to probabilities: a logistic model of all labels, then one of each.

The first model says how likely a label is by its share of the document and by how common it is. It is the same for all
labels. The second adds an offset to its logit x, and gives it a slope, by label: offset_k + slope_k · x. Offsets and
slopes are shrunk to 0 and 1 by normal priors. How much is learned from all labels together, by maximising the marginal
likelihood in Laplace's approximation (EM), so that a label with few documents is hardly moved.

Probabilities never fall where a label's share rises: the first model's parabola is cut off at its vertex, and slopes
are positive.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from topicloom._types import AnyArray, BoolArray, FloatArray
from topicloom.numerics.blas import one_blas_thread

_FAR = 20.0  # logits are cut off here
_LEAST_SLOPE = 0.05
_ROUNDS = 25
_LEAST_VARIANCE = 1e-4  # of offsets and slopes over labels


class Calibration(NamedTuple):
    """How probabilities follow from counts. Earlier versions had no offsets and slopes by label: both are empty."""

    coef: FloatArray  # of the log share, of its square and of the log frequency
    intercept: float
    offset: FloatArray  # [K]
    slope: FloatArray  # [K]

    def probability(self, counts: FloatArray, rate: FloatArray) -> FloatArray:
        """Of each label [D, K], from expected counts [D, K] and the labels' shares of the training documents [K]."""
        logit = self._shared_logit(counts, rate)
        if len(self.slope):
            logit = self.offset + self.slope * np.clip(logit, -_FAR, _FAR)
        return np.asarray(1.0 / (1.0 + np.exp(-logit)))

    def _shared_logit(self, counts: FloatArray, rate: FloatArray) -> FloatArray:
        log_share, log_rate = _evidence(counts, rate)
        by_share, by_square, by_rate = self.coef
        if len(self.slope):
            low, high = _rising(float(by_share), float(by_square))
            log_share = np.clip(log_share, low, high)
        return np.asarray(self.intercept + by_share * log_share + by_square * log_share**2 + by_rate * log_rate)


def _evidence(counts: FloatArray, rate: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Log share of a label in the document, with one pseudo-count as the frequencies have it; log frequency."""
    share = (counts + rate / rate.sum()) / (counts.sum(axis=1, keepdims=True) + 1.0)
    return np.log(share), np.broadcast_to(np.log(rate), counts.shape)


def _rising(by_share: float, by_square: float) -> tuple[float, float]:
    """Between which log shares, all below 0, the parabola rises."""
    if by_square == 0:
        return (-np.inf, 0.0) if by_share >= 0 else (0.0, 0.0)
    vertex = min(-by_share / (2.0 * by_square), 0.0)
    return (vertex, 0.0) if by_square > 0 else (-np.inf, vertex)


def fit_calibration(
    counts: FloatArray, rate: FloatArray, truth: BoolArray, seen: BoolArray | None = None
) -> Calibration:
    """From documents that the model has not seen; with nothing to tell apart, how often labels are true.

    Labels that are not among the ``seen`` ones have no offset and no slope of their own.
    """
    n_labels = truth.shape[1]
    seen = np.ones(n_labels, bool) if seen is None else seen
    offset, slope = np.zeros(n_labels), np.ones(n_labels)
    hits = truth[:, seen].ravel()
    if hits.all() or not hits.any():
        share = (hits.sum() + 0.5) / (len(hits) + 1.0)
        return Calibration(np.zeros(3), float(np.log(share / (1.0 - share))), offset, slope)
    shared = Calibration(*_fit_shared(counts[:, seen], rate[seen], hits), offset, slope)
    logit = np.clip(shared._shared_logit(counts, rate)[:, seen], -_FAR, _FAR)
    offset[seen], slope[seen] = _fit_labels(logit, truth[:, seen])
    return shared


def _fit_shared(counts: FloatArray, rate: FloatArray, hits: BoolArray) -> tuple[FloatArray, float]:
    from sklearn.linear_model import LogisticRegression

    log_share, log_rate = _evidence(counts, rate)
    X = np.stack([feature.ravel() for feature in (log_share, log_share**2, log_rate)], axis=1)
    centre, scale = X.mean(axis=0), np.maximum(X.std(axis=0), 1e-9)
    with one_blas_thread():
        model = LogisticRegression(C=100.0, max_iter=500).fit((X - centre) / scale, hits)
    coef = model.coef_[0] / scale
    return coef, float(model.intercept_[0] - np.sum(coef * centre))


def _fit_labels(logit: FloatArray, truth: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Offset and slope of each label [K], by Newton steps that alternate with the variances over labels."""
    p = 1.0 / (1.0 + np.exp(-logit))
    weight = p * (1.0 - p)
    centre = (weight * logit).sum(axis=0) / weight.sum(axis=0)  # where a label's offset and slope tell different things
    scale = max(float(np.sqrt((weight * (logit - centre) ** 2).sum() / weight.sum())), 1e-9)
    x = (logit - centre) / scale
    least = (_LEAST_SLOPE - 1.0) * scale
    a, b = np.zeros(len(centre)), np.zeros(len(centre))
    variance = [0.25, 0.1]
    for _ in range(_ROUNDS):
        p = 1.0 / (1.0 + np.exp(-(logit + a + b * x)))
        weight, miss = p * (1.0 - p), truth - p
        g_a, g_b = miss.sum(axis=0) - a / variance[0], (miss * x).sum(axis=0) - b / variance[1]
        h_a, h_b = weight.sum(axis=0) + 1.0 / variance[0], (weight * x * x).sum(axis=0) + 1.0 / variance[1]
        h_ab = (weight * x).sum(axis=0)
        bound = (b <= least) & (g_b < 0)  # the slope cannot fall further; the offset moves by itself
        det = h_a * h_b - h_ab**2
        step_a = np.where(bound, g_a / h_a, (h_b * g_a - h_ab * g_b) / det)
        step_b = np.where(bound, 0.0, (h_a * g_b - h_ab * g_a) / det)
        short = np.maximum(1.0, np.maximum(np.abs(step_a), np.abs(step_b)))
        a, b = a + step_a / short, np.maximum(b + step_b / short, least)
        found = (np.mean(a**2 + h_b / det), np.mean(b**2 + h_a / det))
        variance = [max(float(v), _LEAST_VARIANCE) for v in found]
    slope = 1.0 + b / scale
    return a + centre * (1.0 - slope), slope


def to_arrays(calibration: Calibration | None) -> dict[str, AnyArray]:
    """For a file. Of no calibration they are empty; one of an earlier version has nothing by label, and stays so."""
    if calibration is None:
        return dict.fromkeys(("calibration", "label_offset", "label_slope"), np.zeros(0))
    found: dict[str, AnyArray] = {"calibration": np.append(calibration.coef, calibration.intercept)}
    if len(calibration.slope):
        found |= {"label_offset": calibration.offset, "label_slope": calibration.slope}
    return found


def from_arrays(arrays: Mapping[str, AnyArray]) -> Calibration | None:
    """The same again; files of earlier versions have nothing by label."""
    shared, none = arrays["calibration"], np.zeros(0)
    if not len(shared):
        return None
    by_label = (arrays.get(name, none) for name in ("label_offset", "label_slope"))
    return Calibration(shared[:-1], float(shared[-1]), *by_label)
