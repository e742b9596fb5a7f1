"""Variables that turn a loss into a Gaussian: inverse Gaussian and Pólya-Gamma variates, and one pair per document.

Given them, the logarithm of a document's pseudo-likelihood is, up to a constant, quadratic in what the classifier says
of it, f = Σ_k η_k n_dk/N_d:

    pull · f − ½ curve · f².

    loss, with weight λ                                 variable                      pull            curve
    hinge        exp(−2λ max(0, 1 − y f))               ξ ~ IG(1/(λ|1 − y f|))        λ y (1 + λ ξ)   λ² ξ
    logistic     (1 + e^{−y f})^{−λ}                    ω ~ PG(λ, f)                  λ y / 2         ω
    ε-insensitive, exp(−2λ max(0, |y − f| − ε))         ξ₁ ~ IG(1/(λ|y − f − ε|)),    λ² (ξ₁ (y − ε)  λ² (ξ₁ + ξ₂)
                                                        ξ₂ ~ IG(1/(λ|f − y − ε|))         + ξ₂ (y + ε))
    squared      exp(−½ λ (y − f)²)                     none                          λ y             λ

with y = ±1, or a number for the last two, and inverse Gaussian variables of shape 1 (LightMedLDA eqs. 8, 10, 14, 31).
The squared loss is that of supervised LDA: a normal distribution of y around f, of precision λ.

Each document has a stream of its own, so that no cut of the documents into parts changes a draw.
"""

from math import cosh, exp, log1p, pi, sqrt, tanh

import numpy as np

from topicloom._types import FloatArray, Int64Array, UInt64Array
from topicloom.engine.blocks import Range
from topicloom.medlda.state import Supervision
from topicloom.numerics.jit import kernel
from topicloom.numerics.rng import combine, fill_stream, uniform
from topicloom.numerics.variates import gamma, log_gamma, normal

HINGE, LOGISTIC, EPSILON_INSENSITIVE, SQUARED = 0, 1, 2, 3
_TERMS = 6
_SMALL = 0.03
_FAR = 1000.0  # a tilt beyond which the sum would be long, and its limit is exact to the last bit


@kernel
def inverse_gaussian(stream: UInt64Array, rate: float) -> float:
    """An inverse Gaussian variate of mean 1/rate and shape 1 (Michael, Schucany and Haas 1976); rate 0 is its limit.

    Both roots are written so that no difference of large numbers is taken, however small the rate.
    """
    y = normal(stream)
    y = max(y * y, 1e-300)
    small = 1.0 / (rate + 0.5 * y + 0.5 * sqrt(y * (4.0 * rate + y)))
    if uniform(stream) * (1.0 + rate * small) <= 1.0:
        return small
    return 1.0 / (rate * rate * small)


@kernel
def polya_gamma_mean(shape: float, tilt: float) -> float:
    z = abs(tilt)
    if z < _SMALL:
        return shape * (0.25 - z * z / 48.0 + z**4 / 480.0)
    return shape * tanh(0.5 * z) / (2.0 * z)


@kernel
def polya_gamma_variance(shape: float, tilt: float) -> float:
    z = abs(tilt)
    if z < _SMALL:
        return shape * (1.0 / 24.0 - z * z / 120.0 + 17.0 * z**4 / 13440.0)
    bell = 0.0 if z > 1400.0 else 1.0 / cosh(0.5 * z) ** 2
    return shape * (2.0 * tanh(0.5 * z) - z * bell) / (4.0 * z**3)


@kernel
def polya_gamma(stream: UInt64Array, shape: float, tilt: float) -> float:
    """A Pólya-Gamma variate PG(shape, tilt) of any positive shape, by its sum of gamma variates.

    PG(b, z) = Σ_k g_k c_k with g_k ~ Gamma(b) and c_k = 1/(2π² (k − ½)² + z²/2) (Polson, Scott and Windle 2013, eq. 2).
    The first terms are drawn; the rest of the sum, whose terms are small and all alike, is one gamma variate that has
    its mean and variance. The first cumulant that differs is the third, by less than 6·10⁻⁶/√b of σ³ whatever
    the tilt (tests/medlda/test_augment.py).

    From far out it is an inverse Gaussian variate of mean b/2z and shape b²/4, whose Laplace transform
    exp(b (z/2 − √(z²/4 + t/2))) differs from that of PG(b, z), (cosh(z/2) / cosh √(z²/4 + t/2))^b, by e^−z alone.
    """
    z = abs(tilt)
    if z > _FAR:
        return 0.25 * shape * shape * inverse_gaussian(stream, 0.5 * shape * z)
    n = _TERMS + int(z)
    mean, variance = polya_gamma_mean(shape, z), polya_gamma_variance(shape, z)
    total = 0.0
    for k in range(n):
        c = 1.0 / (2.0 * pi * pi * (k + 0.5) ** 2 + 0.5 * z * z)
        total += c * (gamma(stream, shape) if shape >= 1.0 else exp(log_gamma(stream, shape)))
        mean -= shape * c
        variance -= shape * c * c
    scale = variance / mean
    rest = mean / scale
    return total + scale * (gamma(stream, rest) if rest >= 1.0 else exp(log_gamma(stream, rest)))


@kernel
def augment(
    docs: Range, doc_ptr: Int64Array, supervision: Supervision, value: FloatArray, key: np.uint64,
    pull: FloatArray, curve: FloatArray,
) -> None:  # fmt: skip
    """Draw the variables of each document and task and fill ``pull`` and ``curve`` [D, C]; 0 for empty documents."""
    target, weight = supervision.target, supervision.weight
    loss, epsilon = supervision.loss, supervision.epsilon
    stream = np.empty(4, np.uint64)
    for d in range(docs[0], docs[1]):
        if doc_ptr[d] == doc_ptr[d + 1]:
            pull[d] = 0.0
            curve[d] = 0.0
            continue
        fill_stream(stream, combine(key, np.uint64(d)))
        for c in range(target.shape[1]):
            y, w, f = target[d, c], weight[d, c], value[d, c]
            if w == 0.0:
                pull[d, c] = 0.0
                curve[d, c] = 0.0
            elif loss == HINGE:
                xi = inverse_gaussian(stream, w * abs(1.0 - y * f))
                pull[d, c] = w * y * (1.0 + w * xi)
                curve[d, c] = w * w * xi
            elif loss == LOGISTIC:
                pull[d, c] = 0.5 * w * y
                curve[d, c] = polya_gamma(stream, w, f)
            elif loss == SQUARED:
                pull[d, c] = w * y
                curve[d, c] = w
            else:
                above = inverse_gaussian(stream, w * abs(y - f - epsilon))
                below = inverse_gaussian(stream, w * abs(f - y - epsilon))
                pull[d, c] = w * w * (above * (y - epsilon) + below * (y + epsilon))
                curve[d, c] = w * w * (above + below)


@kernel
def log_pseudo_likelihood(loss: int, epsilon: float, y: float, w: float, f: float) -> float:
    """Minus the weighted loss of one document in one task, with nothing augmented."""
    if loss == HINGE:
        return -2.0 * w * max(0.0, 1.0 - y * f)
    if loss == LOGISTIC:
        return -w * (log1p(exp(-y * f)) if y * f > -30.0 else -y * f)
    if loss == SQUARED:
        return -0.5 * w * (y - f) * (y - f)
    return -2.0 * w * max(0.0, abs(y - f) - epsilon)


@kernel
def log_pseudo_likelihoods(doc_ptr: Int64Array, supervision: Supervision, value: FloatArray) -> float:
    """The same summed over tasks and documents that have words."""
    target, weight = supervision.target, supervision.weight
    loss, epsilon = supervision.loss, supervision.epsilon
    total = 0.0
    for d in range(target.shape[0]):
        if doc_ptr[d] < doc_ptr[d + 1]:
            for c in range(target.shape[1]):
                total += log_pseudo_likelihood(loss, epsilon, target[d, c], weight[d, c], value[d, c])
    return total


@kernel
def add_noise(
    docs: Range, share: float, value: FloatArray, key: np.uint64, pull: FloatArray, curve: FloatArray,
    seen: FloatArray,
) -> None:  # fmt: skip
    """Draw what proposals may know of each f: ``seen`` = f plus normal noise of precision share · curve.

    With it as one more variable of the model, the pseudo-likelihood gains the factor exp(−½ share · curve (seen − f)²),
    which is quadratic in f too and goes into ``pull`` and ``curve``.
    """
    stream = np.empty(4, np.uint64)
    for d in range(docs[0], docs[1]):
        fill_stream(stream, combine(key, np.uint64(d)))
        for c in range(value.shape[1]):
            more = share * curve[d, c]
            if more > 0.0:
                seen[d, c] = value[d, c] + normal(stream) / sqrt(more)
                pull[d, c] += more * seen[d, c]
                curve[d, c] += more
            else:
                seen[d, c] = value[d, c]
