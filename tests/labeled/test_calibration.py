"""Probabilities of labels: offsets and slopes of each label, how far they are shrunk, and that they never fall."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from topicloom.labeled.calibration import Calibration, _fit_labels, fit_calibration, from_arrays, to_arrays


def case(n: int, spread: float, seed: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Logits, truth, offsets and slopes of twelve labels."""
    rng = np.random.default_rng(seed)
    logit = rng.normal(-1.5, 1.2, (n, 12))
    offset, slope = rng.normal(0, spread, 12), np.exp(rng.normal(0, spread / 2, 12))
    p = 1 / (1 + np.exp(-(offset + slope * logit)))
    return logit, rng.random(p.shape) < p, offset, slope


def test_offsets_and_slopes_are_found_where_there_is_data() -> None:
    logit, truth, offset, slope = case(20_000, 0.8)
    found = _fit_labels(logit, truth)
    np.testing.assert_allclose(found[0], offset, atol=0.15)
    np.testing.assert_allclose(found[1], slope, atol=0.12)


def test_labels_that_are_alike_are_left_alike() -> None:
    logit, truth, _, _ = case(200, 0.0)
    offset, slope = _fit_labels(logit, truth)
    assert np.abs(offset).max() < 0.2
    assert np.abs(slope - 1).max() < 0.15


def test_a_label_with_few_documents_is_hardly_moved() -> None:
    logit, truth, _, _ = case(3000, 0.8)
    logit[:, 0], truth[:, 0] = -9.0, False  # nothing is known of it
    truth[7, 0] = True
    offset, slope = _fit_labels(logit, truth)
    assert 0 < offset[0] + (slope[0] - 1) * -9.0 < 3  # by itself it would be moved by 1


def test_they_are_the_most_probable_ones_given_the_variances() -> None:
    """Against a numerical optimum for one label; the variance of either kind follows from all labels."""
    logit, truth, _, _ = case(400, 0.8)
    offset, slope = _fit_labels(logit, truth)
    p = 1 / (1 + np.exp(-logit))
    weight = p * (1 - p)
    centre = (weight * logit).sum(axis=0) / weight.sum(axis=0)
    scale = np.sqrt((weight * (logit - centre) ** 2).sum() / weight.sum())
    a, b = offset - centre * (1 - slope), (slope - 1) * scale
    x = (logit - centre) / scale

    def loss(variances: np.ndarray, ab: np.ndarray, k: int) -> float:
        eta = logit[:, k] + ab[0] + ab[1] * x[:, k]
        return float(np.sum(np.logaddexp(0, eta) - truth[:, k] * eta) + 0.5 * np.sum(ab**2 / variances))

    ab = np.stack([a, b])
    eta = logit + a + b * x
    w = 1 / (1 + np.exp(-eta)) * (1 / (1 + np.exp(eta)))
    variances = np.array([0.5, 0.2])
    for _ in range(200):  # EM's fixed point, with the modes found above
        h = np.array(
            [[w.sum(0) + 1 / variances[0], (w * x).sum(0)], [(w * x).sum(0), (w * x * x).sum(0) + 1 / variances[1]]]
        )
        inverse = np.linalg.inv(h.transpose(2, 0, 1))
        variances = np.array([np.mean(ab[i] ** 2 + inverse[:, i, i]) for i in (0, 1)])
    for k in (0, 5):
        best: Any = minimize(lambda ab, k=k: loss(variances, ab, k), np.zeros(2), tol=1e-12)
        np.testing.assert_allclose(ab[:, k], best.x, atol=0.01)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_probabilities_never_fall_where_the_share_rises(sign: float) -> None:
    """Also where the labels' truth falls with it, in part or everywhere."""
    rng = np.random.default_rng(4)
    counts = rng.gamma(0.3, 20.0, (600, 5))
    log_share = np.log((counts + 0.2) / (counts.sum(axis=1, keepdims=True) + 1))
    p = 1 / (1 + np.exp(-(sign * (log_share + 2.0) ** 2 - 1.0 + np.array([2.0, 0.0, -2.0, 0.5, 0.0]) * log_share)))
    rate = np.array([0.5, 0.3, 0.2, 0.6, 0.1])
    found = fit_calibration(counts, rate, rng.random(p.shape) < p)
    assert (found.slope > 0).all()
    row = np.full((200, 5), 10.0)
    for k in range(5):
        ramp = row.copy()
        ramp[:, k] = np.linspace(0, 500, 200)
        assert (np.diff(found.probability(ramp, rate)[:, k]) >= 0).all()


def test_labels_that_a_second_model_has_not_seen_have_nothing_of_their_own() -> None:
    rng = np.random.default_rng(5)
    counts, rate = rng.gamma(0.5, 10.0, (300, 4)), np.array([0.4, 0.3, 0.2, 0.01])
    truth = rng.random((300, 4)) < counts / counts.sum(axis=1, keepdims=True)
    found = fit_calibration(counts, rate, truth, np.array([True, True, True, False]))
    assert (found.offset[3], found.slope[3]) == (0.0, 1.0)
    assert np.isfinite(found.probability(counts, rate)).all()


def test_files() -> None:
    """And those of earlier versions, whose probabilities have nothing by label."""
    found = Calibration(np.array([1.0, 0.1, 0.2]), -1.0, np.array([0.1, -0.2]), np.array([1.0, 0.7]))
    again = from_arrays(to_arrays(found))
    assert again is not None
    for one, two in zip(found, again, strict=True):
        np.testing.assert_array_equal(one, two)
    assert from_arrays(to_arrays(None)) is None
    early = from_arrays({"calibration": np.array([1.0, 0.1, 0.2, -1.0])})
    assert early is not None
    counts, rate = np.array([[3.0, 1.0]]), np.array([0.5, 0.25])
    share = (counts + np.array([[2 / 3, 1 / 3]])) / 5.0
    logit = np.log(share) + 0.1 * np.log(share) ** 2 + 0.2 * np.log(rate) - 1.0
    np.testing.assert_allclose(early.probability(counts, rate), 1 / (1 + np.exp(-logit)), rtol=1e-14)
