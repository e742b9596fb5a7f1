"""Vectors of numbers: a normal distribution with a full covariance per state, with normal-inverse-Wishart priors."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import lgamma, log, pi, sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import multigammaln

from topicloom._types import AnyArray, FloatArray, UInt64Array
from topicloom.files.checks import Contents, Expected
from topicloom.hmm.emissions.base import Emission
from topicloom.hmm.emissions.gaussian import LEAST_SHARE
from topicloom.hmm.emissions.predictive import register
from topicloom.hmm.emissions.sums import filled, logs_to_shares, some_rows
from topicloom.hmm.state import Observed, Own
from topicloom.numerics.jit import as_input, kernel
from topicloom.numerics.variates import log_gamma, normal


@kernel
def triangular(matrix: FloatArray, out: FloatArray) -> bool:
    """The lower triangle L with L Lᵀ = matrix; False if there is none."""
    for i in range(matrix.shape[0]):
        for j in range(i + 1):
            value = matrix[i, j]
            for k in range(j):
                value -= out[i, k] * out[j, k]
            if i == j:
                if not value > 0.0:
                    return False
                out[i, i] = sqrt(value)
            else:
                out[i, j] = value / out[j, j]
    return True


@kernel
def distance(lower: FloatArray, values: FloatArray, mean: FloatArray, work: FloatArray) -> float:
    """(x − μ)ᵀ (L Lᵀ)⁻¹ (x − μ)."""
    total = 0.0
    for i in range(mean.shape[0]):
        value = values[i] - mean[i]
        for j in range(i):
            value -= lower[i, j] * work[j]
        value /= lower[i, i]
        work[i] = value
        total += value * value
    return total


class VectorNumberSums(NamedTuple):
    """What the collapsed sampler keeps of vectors, which are taken less the prior's mean; and what follows from it."""

    values: FloatArray  # [U, F] less the prior's mean
    n: FloatArray  # [K]
    total: FloatArray  # [K, F]
    square: FloatArray  # [K, F, F] sums of products, with the prior's scale
    weight: float  # of the prior's mean, in observations
    freedom: float
    mean: FloatArray  # [K, F] of the posterior
    lower: FloatArray  # [K, F, F] triangle of the posterior's scale
    half_log: FloatArray  # [K] half the logarithm of the determinant of that scale
    work: FloatArray  # [F]


@kernel
def refresh(kept: VectorNumberSums, state: int) -> None:
    """Mean and triangle of a state from its sums."""
    square, total, mean, lower = kept.square, kept.total, kept.mean, kept.lower
    w = kept.weight + kept.n[state]
    size = total.shape[1]
    for f in range(size):
        mean[state, f] = total[state, f] / w
    scale = np.empty((size, size))
    for f in range(size):
        for g in range(size):
            scale[f, g] = square[state, f, g] - w * mean[state, f] * mean[state, g]
    triangular(scale, lower[state])
    value = 0.0
    for f in range(size):
        value += log(lower[state, f, f])
    kept.half_log[state] = value


def predict(kept: VectorNumberSums, row: int, above: FloatArray, below: FloatArray) -> None:
    """Multivariate Student's t; what all states share is left out."""
    size = kept.total.shape[1]
    missing = np.isnan(kept.values[row, 0])
    for k in range(kept.n.shape[0]):
        value = 0.0
        if not missing:
            w, nu = kept.weight + kept.n[k], kept.freedom + kept.n[k]
            apart = distance(kept.lower[k], kept.values[row], kept.mean[k], kept.work)
            value = lgamma(0.5 * (nu + 1.0)) - lgamma(0.5 * (nu + 1.0 - size)) - kept.half_log[k]
            value += 0.5 * size * log(w / (w + 1.0)) - 0.5 * (nu + 1.0) * log(1.0 + apart * w / (w + 1.0))
        above[k] = value
        below[k] = 1.0
    logs_to_shares(above)


@kernel
def change(kept: VectorNumberSums, row: int, state: int, sign: float) -> None:
    values, total, square = kept.values, kept.total, kept.square
    if np.isnan(values[row, 0]):
        return
    kept.n[state] += sign
    for f in range(total.shape[1]):
        total[state, f] += sign * values[row, f]
        for g in range(total.shape[1]):
            square[state, f, g] += sign * values[row, f] * values[row, g]
    refresh(kept, state)


def remove(kept: VectorNumberSums, row: int, state: int) -> None:
    change(kept, row, state, -1.0)


def add(kept: VectorNumberSums, row: int, state: int) -> None:
    change(kept, row, state, 1.0)


register(VectorNumberSums, predict, remove, add)


@kernel
def fill_products(
    weights: FloatArray, values: FloatArray, n: FloatArray, total: FloatArray, square: FloatArray
) -> None:
    """Numbers [K], sums [K, F] and sums of products [K, F, F] of known rows."""
    size = values.shape[1]
    for u in range(values.shape[0]):
        if np.isnan(values[u, 0]):
            continue
        for k in range(weights.shape[1]):
            w = weights[u, k]
            n[k] += w
            for f in range(size):
                x = w * values[u, f]
                total[k, f] += x
                for g in range(f + 1):
                    square[k, f, g] += x * values[u, g]
    for k in range(weights.shape[1]):
        for f in range(size):
            for g in range(f):
                square[k, g, f] = square[k, f, g]


@kernel
def fill_vector_densities(values: FloatArray, means: FloatArray, lower: FloatArray, out: FloatArray) -> None:
    size = values.shape[1]
    work = np.empty(size)
    constant = np.empty(means.shape[0])
    for k in range(means.shape[0]):
        constant[k] = -0.5 * size * log(2.0 * pi)
        for f in range(size):
            constant[k] -= log(lower[k, f, f])
    for u in range(values.shape[0]):
        if np.isnan(values[u, 0]):
            out[u] = 0.0
            continue
        for k in range(means.shape[0]):
            out[u, k] = constant[k] - 0.5 * distance(lower[k], values[u], means[k], work)


@kernel
def draw_wishart(lower: FloatArray, freedom: float, rng: UInt64Array, root: FloatArray, work: FloatArray) -> None:
    """A root R of an inverse Wishart variate R Rᵀ, of the scale L Lᵀ (Bartlett): R = L A⁻ᵀ."""
    size = lower.shape[0]
    a = work
    for i in range(size):
        for j in range(i):
            a[i, j] = normal(rng)
        a[i, i] = sqrt(2.0 * np.exp(log_gamma(rng, 0.5 * (freedom - i))))
    for r in range(size):  # rows of R solve R Aᵀ = L, so A xᵀ = row
        for i in range(size):
            value = lower[r, i] if i <= r else 0.0
            for j in range(i):
                value -= a[i, j] * root[r, j]
            root[r, i] = value / a[i, i]


@dataclass(frozen=True)
class GaussianFull(Emission):
    """Parameters are ``means`` [K, F] and ``covars`` [K, F, F].

    Σ has the density of an inverse Wishart with ``freedom`` and ``scale``, μ given Σ that of N(mean, Σ/weight). A
    weight and a scale of 0 with −(F + 2) degrees of freedom are flat. A vector is known or missing as a whole.
    """

    n_states: int
    mean_: FloatArray  # [F]
    weight: float
    freedom: float
    scale: FloatArray  # [F, F]
    least: FloatArray  # [F] of variances that "em" finds

    name = "gaussian_full"

    def _lower(self, matrices: FloatArray) -> FloatArray:
        out = np.zeros(matrices.shape)
        for k, matrix in enumerate(matrices):
            triangular(np.ascontiguousarray(matrix), out[k])
        return out

    def log_densities(self, own: Own, seen: Observed, out: FloatArray | None = None) -> FloatArray:
        out = np.empty((seen.n_rows, self.n_states)) if out is None else out
        lower = self._lower(own["covars"])
        fill_vector_densities(as_input(seen.values), as_input(own["means"]), as_input(lower), out)
        return out

    def _sums(self, weights: FloatArray, seen: Observed) -> tuple[FloatArray, FloatArray, FloatArray]:
        k, size = weights.shape[1], len(self.mean_)
        n, total, square = np.zeros(k), np.zeros((k, size)), np.zeros((k, size, size))
        fill_products(as_input(weights), as_input(seen.values - self.mean_), n, total, square)
        return n, total, square

    def _counted(self, weights: FloatArray, seen: Observed) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Mean [K, F], weight [K], degrees of freedom [K] and scale [K, F, F] of the posterior."""
        n, total, square = self._sums(weights, seen)
        weight = self.weight + n
        offset = total / np.where(weight > 0, weight, 1.0)[:, None]
        scale = self.scale + square - weight[:, None, None] * (offset[:, :, None] * offset[:, None, :])
        return self.mean_ + offset, weight, self.freedom + n, scale

    def draw(self, weights: FloatArray, seen: Observed, rng: UInt64Array) -> Own:
        mean, weight, freedom, scale = self._counted(weights, seen)
        means, covars = np.empty(mean.shape), np.empty(scale.shape)
        lower, size = self._lower(scale), mean.shape[1]
        root, work = np.empty((size, size)), np.zeros((size, size))
        for k in range(self.n_states):
            draw_wishart(lower[k], float(freedom[k]), rng, root, work)
            covars[k] = np.sum(root[:, None, :] * root[None, :, :], axis=2)
            noise = np.array([normal(rng) for _ in range(size)])
            means[k] = mean[k] + np.sum(root * noise, axis=1) / np.sqrt(weight[k])
        return {"means": means, "covars": covars}

    def mean(self, weights: FloatArray, seen: Observed) -> Own:
        mean, _, freedom, scale = self._counted(weights, seen)
        return {"means": mean, "covars": scale / np.maximum(freedom - mean.shape[1] - 1, 1.0)[:, None, None]}

    def maximised(self, weights: FloatArray, seen: Observed, old: Own) -> Own:
        mean, weight, freedom, scale = self._counted(weights, seen)
        parts = freedom + mean.shape[1] + 2
        there = (weight > 0) & (parts > 0)
        covars = scale / np.where(there, parts, 1.0)[:, None, None]
        out, floor = np.array(old["covars"]), np.diag(self.least)
        for k in np.flatnonzero(there):
            lower = np.zeros(floor.shape)
            narrow = not triangular(np.ascontiguousarray(covars[k] - floor), lower)
            out[k] = covars[k] + floor if narrow else covars[k]
        return {"means": np.where(there[:, None], mean, old["means"]), "covars": out}

    def log_prior(self, own: Own) -> float:
        total = 0.0
        if self.weight == 0 and not self.scale.any():
            return total  # flat
        size = len(self.mean_)
        scale_root = self._lower(self.scale[None])[0]
        for mean, lower in zip(own["means"], self._lower(own["covars"]), strict=True):
            work = np.empty(size)
            total -= (self.freedom + size + 2) * float(np.log(np.diag(lower)).sum())
            zero = np.zeros(size)
            total -= 0.5 * sum(distance(lower, np.ascontiguousarray(scale_root[:, j]), zero, work) for j in range(size))
            total -= 0.5 * self.weight * distance(lower, mean, self.mean_, work)
        return total

    def log_marginal(self, weights: FloatArray, seen: Observed) -> float:
        _, weight, freedom, scale = self._counted(weights, seen)
        size, n = len(self.mean_), weight - self.weight
        before = self._lower(self.scale[None])[0]
        half = float(np.log(np.diag(before)).sum())
        total = 0.0
        for k, lower in enumerate(self._lower(scale)):
            total += float(multigammaln(freedom[k] / 2, size) - multigammaln(self.freedom / 2, size))
            total += self.freedom * half - freedom[k] * float(np.log(np.diag(lower)).sum())
            total += 0.5 * size * float(np.log(self.weight / weight[k])) - 0.5 * size * n[k] * float(np.log(np.pi))
        return float(total)

    def predictive(self, weights: FloatArray, seen: Observed) -> VectorNumberSums:
        n, total, square = self._sums(weights, seen)
        k, size = total.shape
        kept = VectorNumberSums(
            as_input(seen.values - self.mean_), n, total, self.scale + square, float(self.weight), float(self.freedom),
            np.empty((k, size)), np.zeros((k, size, size)), np.empty(k), np.empty(size),
        )  # fmt: skip
        for state in range(k):
            refresh(kept, state)
        return kept

    def first(self, seen: Observed, rng: UInt64Array) -> Own:
        """Some observations as means, and the variances of all."""
        means = filled(some_rows(seen, self.n_states, rng), self.mean_)
        return {"means": means, "covars": np.tile(np.diag(self.least / LEAST_SHARE), (self.n_states, 1, 1))}

    @property
    def n_features(self) -> int:
        return len(self.mean_)

    def sample(self, own: Own, states: AnyArray, rng: np.random.Generator) -> AnyArray:
        means, lower = own["means"][states], self._lower(own["covars"])[states]
        return np.asarray(means + np.sum(lower * rng.standard_normal(means.shape)[:, None, :], axis=2))

    def expected(self) -> Mapping[str, Expected]:
        k, size = self.n_states, len(self.mean_)
        return {"means": Expected("f8", (k, size)), "covars": Expected("f8", (k, size, size))}

    def check(self, file: Contents) -> None:
        check_covariances(file, file.arrays["covars"])


def check_covariances(file: Contents, covars: FloatArray) -> None:
    """Refuse a file with a matrix that is no covariance."""
    for matrix in covars:
        if not np.array_equal(matrix, matrix.T) or not triangular(np.ascontiguousarray(matrix), np.zeros(matrix.shape)):
            file.fail("the array 'covars' has a matrix that is no covariance")
