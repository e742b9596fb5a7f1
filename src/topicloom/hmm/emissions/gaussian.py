"""Numbers: independent normal distributions per state and feature, with normal-inverse-gamma priors."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import lgamma, log, pi
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from topicloom._types import AnyArray, FloatArray, UInt64Array
from topicloom.files.checks import Expected
from topicloom.hmm.emissions.base import Emission
from topicloom.hmm.emissions.predictive import register
from topicloom.hmm.emissions.sums import filled, logs_to_shares, some_rows, weighted_sums
from topicloom.hmm.state import Observed, Own
from topicloom.numerics.jit import as_input, kernel
from topicloom.numerics.variates import log_gamma, normal

LEAST_SHARE = 1e-6  # of a feature's variance, below which no state's may fall: one place alone would have none


class NumberSums(NamedTuple):
    """What the collapsed sampler keeps of numbers, which are taken less the prior's mean."""

    values: FloatArray  # [U, F]
    centre: FloatArray  # [F] the prior's mean
    n: FloatArray  # [K, F]
    total: FloatArray  # [K, F]
    square: FloatArray  # [K, F]
    weight: float  # of the prior's mean, in observations
    shape: float
    scale: FloatArray  # [F]


def predict(kept: NumberSums, row: int, above: FloatArray, below: FloatArray) -> None:
    """Student's t; what all states share is left out."""
    values, centre, n, total, square, scale = kept.values, kept.centre, kept.n, kept.total, kept.square, kept.scale
    weight, shape = kept.weight, kept.shape
    for k in range(n.shape[0]):
        value = 0.0
        for f in range(n.shape[1]):
            x = values[row, f] - centre[f]
            if x == x:  # not missing
                w, a = weight + n[k, f], shape + 0.5 * n[k, f]
                mean = total[k, f] / w
                b = scale[f] + 0.5 * max(square[k, f] - w * mean * mean, 0.0)
                wide = 2.0 * b * (w + 1.0) / w
                value += lgamma(a + 0.5) - lgamma(a) - 0.5 * log(pi * wide)
                value -= (a + 0.5) * log(1.0 + (x - mean) * (x - mean) / wide)
        above[k] = value
        below[k] = 1.0
    logs_to_shares(above)


def remove(kept: NumberSums, row: int, state: int) -> None:
    for f in range(kept.n.shape[1]):
        x = kept.values[row, f] - kept.centre[f]
        if x == x:  # not missing
            kept.n[state, f] -= 1.0
            kept.total[state, f] -= x
            kept.square[state, f] -= x * x


def add(kept: NumberSums, row: int, state: int) -> None:
    for f in range(kept.n.shape[1]):
        x = kept.values[row, f] - kept.centre[f]
        if x == x:  # not missing
            kept.n[state, f] += 1.0
            kept.total[state, f] += x
            kept.square[state, f] += x * x


register(NumberSums, predict, remove, add)


@kernel
def fill_densities(values: FloatArray, means: FloatArray, precisions: FloatArray, out: FloatArray) -> None:
    """The sum of −(x − μ)²/2σ² + log(σ⁻¹ (2π)^−½) over known numbers."""
    n_states = means.shape[0]
    constant = np.empty(means.shape)
    for k in range(n_states):
        for f in range(means.shape[1]):
            constant[k, f] = 0.5 * log(precisions[k, f] / (2.0 * pi))
    for u in range(values.shape[0]):
        for k in range(n_states):
            value = 0.0
            for f in range(values.shape[1]):
                x = values[u, f]
                if x == x:  # not missing
                    d = x - means[k, f]
                    value += constant[k, f] - 0.5 * d * d * precisions[k, f]
            out[u, k] = value


@kernel
def draw_normals(
    mean: FloatArray, weight: FloatArray, shape: FloatArray, scale: FloatArray, rng: UInt64Array, out: FloatArray
) -> None:
    """Variances by inverse gamma, means given these: [2, K, F] of means and variances."""
    for k in range(mean.shape[0]):
        for f in range(mean.shape[1]):
            variance = np.exp(log(scale[k, f]) - log_gamma(rng, shape[k, f]))
            out[1, k, f] = variance
            out[0, k, f] = mean[k, f] + normal(rng) * np.sqrt(variance / weight[k, f])


@dataclass(frozen=True)
class Gaussian(Emission):
    """Parameters are ``means`` and ``covars``, the variances, both [K, F].

    σ² has the density of an inverse gamma with ``shape`` and ``scale``, μ given σ² that of N(mean, σ²/weight). A weight
    and a scale of 0 with a shape of −3/2 are flat.
    """

    n_states: int
    mean_: FloatArray  # [F]
    weight: float
    shape: float
    scale: FloatArray  # [F]
    least: FloatArray  # [F] of variances that "em" finds

    name = "gaussian"

    def log_densities(self, own: Own, seen: Observed, out: FloatArray | None = None) -> FloatArray:
        out = np.empty((seen.n_rows, self.n_states)) if out is None else out
        fill_densities(as_input(seen.values), as_input(own["means"]), as_input(1.0 / own["covars"]), out)
        return out

    def _counted(self, weights: FloatArray, seen: Observed) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Mean, weight, shape and scale of the posterior, each [K, F]."""
        n, total, square = weighted_sums(weights, seen.values, self.mean_)
        weight = self.weight + n
        offset = total / np.where(weight > 0, weight, 1.0)
        scale = self.scale + 0.5 * np.maximum(square - weight * offset * offset, 0.0)
        return self.mean_ + offset, weight, self.shape + 0.5 * n, scale

    def draw(self, weights: FloatArray, seen: Observed, rng: UInt64Array) -> Own:
        mean, weight, shape, scale = self._counted(weights, seen)
        out = np.empty((2, *mean.shape))
        draw_normals(mean, weight, shape, scale, rng, out)
        return {"means": out[0], "covars": out[1]}

    def mean(self, weights: FloatArray, seen: Observed) -> Own:
        mean, _, shape, scale = self._counted(weights, seen)
        return {"means": mean, "covars": scale / np.maximum(shape - 1.0, 0.5)}

    def maximised(self, weights: FloatArray, seen: Observed, old: Own) -> Own:
        mean, weight, shape, scale = self._counted(weights, seen)
        parts = shape + 1.5
        there = (weight > 0) & (parts > 0)
        covars = np.maximum(scale / np.where(there, parts, 1.0), self.least)
        return {"means": np.where(there, mean, old["means"]), "covars": np.where(there, covars, old["covars"])}

    def log_prior(self, own: Own) -> float:
        means, covars = own["means"], own["covars"]
        away = self.weight * (means - self.mean_) ** 2 / (2 * covars)
        return float(np.sum(-(self.shape + 1.5) * np.log(covars) - self.scale / covars - away))

    def log_marginal(self, weights: FloatArray, seen: Observed) -> float:
        _, weight, shape, scale = self._counted(weights, seen)
        found = gammaln(shape) - gammaln(self.shape) + self.shape * np.log(self.scale) - shape * np.log(scale)
        found += 0.5 * np.log(self.weight / weight) - (shape - self.shape) * np.log(2 * np.pi)
        return float(found.sum())

    def predictive(self, weights: FloatArray, seen: Observed) -> NumberSums:
        n, total, square = weighted_sums(weights, seen.values, self.mean_)
        return NumberSums(
            as_input(seen.values), as_input(self.mean_), n, total, square, float(self.weight), float(self.shape),
            as_input(self.scale),
        )  # fmt: skip

    def first(self, seen: Observed, rng: UInt64Array) -> Own:
        """Some observations as means, and the variance of all."""
        means = filled(some_rows(seen, self.n_states, rng), self.mean_)
        return {"means": means, "covars": np.tile(self.least / LEAST_SHARE, (self.n_states, 1))}

    @property
    def n_features(self) -> int:
        return len(self.mean_)

    def sample(self, own: Own, states: AnyArray, rng: np.random.Generator) -> AnyArray:
        means = own["means"][states]
        return np.asarray(means + np.sqrt(own["covars"][states]) * rng.standard_normal(means.shape))

    def expected(self) -> Mapping[str, Expected]:
        shape = (self.n_states, len(self.mean_))
        return {"means": Expected("f8", shape), "covars": Expected("f8", shape, positive=True)}
