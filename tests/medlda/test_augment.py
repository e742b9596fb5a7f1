"""Inverse Gaussian and Pólya-Gamma variates against their densities, and the losses that they stand for."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln

from tests.oracles import lda as oracle
from tests.oracles import medlda as mo
from topicloom.medlda import augment
from topicloom.medlda.sampler import LOSSES
from topicloom.medlda.state import Supervision
from topicloom.numerics import exponent
from topicloom.numerics.jit import kernel
from topicloom.numerics.rng import path_key, stream

Z_LIMIT = stats.norm.isf(oracle.FALSE_ALARM / 2)


@kernel
def _inverse_gaussians(s, rate, out):
    for i in range(out.shape[0]):
        out[i] = augment.inverse_gaussian(s, rate)


@kernel
def _polya_gammas(s, shape, tilt, out):
    for i in range(out.shape[0]):
        out[i] = augment.polya_gamma(s, shape, tilt)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 40, 1003])
def test_exponentials_of_many_numbers(n: int) -> None:
    x = np.random.default_rng(n).normal(size=n) * 300
    top = exponent.largest(x)
    assert top == x.max()
    out = np.empty(n)
    exponent.exponentials(x, top, out, np.empty(n))
    np.testing.assert_allclose(out, np.exp(np.maximum(x - top, -700)), rtol=4e-16)


@pytest.mark.parametrize("rate", [0.0, 1e-12, 1e-3, 0.3, 1.0, 7.0, 400.0])
def test_inverse_gaussian(rate: float) -> None:
    draws = np.empty(40_000)
    _inverse_gaussians(stream(81), rate, draws)
    law = stats.levy() if rate < 1e-9 else stats.invgauss(1 / rate)
    assert stats.kstest(draws, law.cdf).pvalue > oracle.FALSE_ALARM


# -- Pólya-Gamma ---------------------------------------------------------------------------------------------------

SHAPES = [(0.3, 0.0), (1.0, 0.0), (1.0, 2.5), (1.6, -4.0), (2.0, 30.0), (13.7, 0.4), (204.8, 0.0), (204.8, -6.0)]
FAR = [(1.0, 1000.5), (0.3, -2000.0), (204.8, 5e4)]  # beyond which no sum is drawn


def log_laplace(b: float, z: float, t: np.ndarray) -> np.ndarray:
    """log E exp(−t ω) (Polson, Scott and Windle 2013)."""
    there = np.sqrt(0.5 * (z * z / 2 + t))
    return b * (np.logaddexp(z / 2, -z / 2) - np.logaddexp(there, -there))  # log cosh, both less log 2


def pg_density(b: float, z: float, x: np.ndarray, terms: int = 200) -> np.ndarray:
    """The density as an alternating series, for shapes at which it converges."""
    n = np.arange(terms)[:, None]
    logs = gammaln(n + b) - gammaln(n + 1) - gammaln(b) + np.log(2 * n + b) - (2 * n + b) ** 2 / (8 * x)
    series = np.sum((-1.0) ** n * np.exp(logs), axis=0)
    return 2 ** (b - 1) * np.cosh(z / 2) ** b * np.exp(-z * z * x / 2) * series / np.sqrt(2 * np.pi * x**3)


@pytest.mark.parametrize(("b", "z"), [*SHAPES, *FAR])
def test_polya_gamma_has_its_laplace_transform(b: float, z: float) -> None:
    draws = np.empty(60_000)
    _polya_gammas(stream(82), b, z, draws)
    mean, sd = augment.polya_gamma_mean(b, z), np.sqrt(augment.polya_gamma_variance(b, z))
    assert abs(draws.mean() - mean) / sd * np.sqrt(len(draws)) < Z_LIMIT
    for t in np.array([0.2, 1.0, 3.0]) / sd:
        e = np.exp(-t * (draws - mean))
        exact = np.exp(log_laplace(b, z, t) + t * mean)
        assert abs(e.mean() - exact) / e.std() * np.sqrt(len(draws)) < Z_LIMIT


@pytest.mark.parametrize(("b", "z"), [(0.6, 0.0), (1.0, 0.0), (1.0, 3.0), (1.6, 1.0), (2.5, -2.0)])
def test_polya_gamma_has_its_density(b: float, z: float) -> None:
    draws = np.empty(60_000)
    _polya_gammas(stream(83), b, z, draws)
    x = np.geomspace(b * b / 8 / 45, draws.max() * 2, 40_000)
    density = np.maximum(pg_density(b, z, x), 0)
    cdf = np.concatenate(([0], np.cumsum(0.5 * (density[1:] + density[:-1]) * np.diff(x))))
    assert cdf[-1] == pytest.approx(1, abs=1e-5)
    assert stats.kstest(draws, lambda v: np.interp(v, x, cdf / cdf[-1])).pvalue > oracle.FALSE_ALARM


@pytest.mark.parametrize("z", [0.0, 1e-3, 0.0299, 0.0301, 1.0, 12.0, 80.0])
def test_polya_gamma_cumulants(z: float) -> None:
    """Mean and variance are those of the sum of gammas; the third cumulant of what is drawn is next to it."""
    k = np.arange(2_000_000) + 0.5
    c = 1 / (2 * np.pi**2 * k**2 + 0.5 * z * z)
    tail = 1 / (2 * np.pi**2 * (k[-1] + 0.5))  # Σ over the terms beyond, of 1/(2π² k²)
    variance = float(np.sum(c**2))
    assert augment.polya_gamma_mean(1.0, z) == pytest.approx(float(c.sum()) + tail, rel=1e-9)
    assert augment.polya_gamma_variance(1.0, z) == pytest.approx(variance, rel=1e-9)
    n = augment._TERMS + int(z)
    rest_mean, rest_variance = float(c[n:].sum()) + tail, float(np.sum(c[n:] ** 2))
    drawn = 2 * rest_variance**2 / rest_mean  # third cumulant of a gamma variate of this mean and variance
    assert abs(2 * float(np.sum(c[n:] ** 3)) - drawn) / variance**1.5 < 6e-6


# -- the losses ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if loss != "squared"])
@pytest.mark.parametrize(("y", "here"), [(1.0, 0.4), (1.0, 1.7), (-1.0, 0.6), (-1.0, -2.0)])
def test_the_augmented_variables_stand_for_the_loss(loss: str, y: float, here: float) -> None:
    """E exp(q(f) − q(f₀)) over draws given f₀, with q = pull f − ½ curve f², is the loss's own ratio."""
    assert worst_ratio(augment.augment, loss, y, here) < Z_LIMIT


def test_the_squared_loss_is_quadratic_as_it_is() -> None:
    assert squared_error(augment.augment) < 1e-12


def squared_error(draw) -> float:
    """The largest error of q(f) − q(f₀) beside the loss's own difference, where nothing is to be drawn."""
    y, w, f = (np.random.default_rng(7).normal(size=(20, 2)) for _ in range(3))
    pull, curve = np.full(y.shape, np.nan), np.full(y.shape, np.nan)
    supervision = Supervision(y, np.abs(w), LOSSES["squared"], 0.3)  # ε is not for this loss
    draw((0, 20), np.arange(21), supervision, f, path_key(85), pull, curve)
    worst = 0.0
    for other in (f - 1.3, f + 0.4, f + 6.0):
        found = pull * (other - f) - 0.5 * curve * (other**2 - f**2)
        exact = mo.log_losses("squared", 0.3, y, np.abs(w), other) - mo.log_losses("squared", 0.3, y, np.abs(w), f)
        worst = max(worst, float(np.abs(found - exact).max()))
    return worst


def worst_ratio(draw, loss: str, y: float, here: float, n: int = 40_000) -> float:
    """Standard errors between the two, at worst over some f."""
    w, epsilon = 1.3, 0.25
    shape = (n, 1)
    pull, curve = np.empty(shape), np.empty(shape)
    supervision = Supervision(np.full(shape, y), np.full(shape, w), LOSSES[loss], epsilon)
    draw((0, n), np.arange(n + 1), supervision, np.full(shape, here), path_key(84), pull, curve)

    def log_loss(f: float) -> float:
        return float(mo.log_losses(loss, epsilon, np.array(y), np.array(w), np.array(f)))

    def distances(f: float) -> np.ndarray:
        """From the corners of the loss; nearer than about 0.7 times those of f₀ the ratio has no variance."""
        corners = {"hinge": [y], "logistic": [0.0], "epsilon_insensitive": [y - epsilon, y + epsilon]}[loss]
        return np.abs(f - np.array(corners))

    worst, tried = 0.0, 0
    for f in here + np.array([-3.0, -1.0, -0.6, -0.3, 0.3, 0.6, 1.0, 3.0]):
        if loss != "logistic" and np.any(distances(f) < 0.85 * distances(here)):
            continue
        tried += 1
        ratio = np.exp(pull * (f - here) - 0.5 * curve * (f * f - here * here))
        error = abs(ratio.mean() - np.exp(log_loss(f) - log_loss(here)))
        worst = max(worst, error / ratio.std() * np.sqrt(n))
    assert tried >= 2
    return float(worst)


def test_no_weight_and_no_words_draw_nothing() -> None:
    pull, curve = np.ones((3, 1)), np.ones((3, 1))
    supervision = Supervision(np.ones((3, 1)), np.array([[1.0], [0.0], [1.0]]), 0, 0.0)
    augment.augment((0, 3), np.array([0, 0, 2, 4]), supervision, np.zeros((3, 1)), path_key(1), pull, curve)
    assert pull[:, 0].tolist()[:2] == [0, 0]
    assert curve[:, 0].tolist()[:2] == [0, 0]
    assert curve[2, 0] > 0
