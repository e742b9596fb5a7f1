"""Counts: independent Poisson distributions per state and feature, with gamma priors."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import lgamma, log
from typing import NamedTuple, Self

import numpy as np
from scipy.special import gammaln

from topicloom._types import AnyArray, FloatArray, UInt64Array
from topicloom.files.checks import Expected
from topicloom.hmm.emissions.base import Emission
from topicloom.hmm.emissions.predictive import register
from topicloom.hmm.emissions.sums import filled, logs_to_shares, some_rows, weighted_sums
from topicloom.hmm.state import Observed, Own
from topicloom.numerics.jit import as_input, kernel
from topicloom.numerics.rng import uniform
from topicloom.numerics.variates import log_gamma

_LEAST = 1e-12  # of a rate: with 0, a state could never have a count again


class CountSums(NamedTuple):
    """What the collapsed sampler keeps of counts."""

    values: FloatArray  # [U, F]
    n: FloatArray  # [K, F] observations of each state
    total: FloatArray  # [K, F] and their sums
    shape: FloatArray  # [F]
    rate: FloatArray  # [F]


def predict(kept: CountSums, row: int, above: FloatArray, below: FloatArray) -> None:
    """Negative binomial; what all states share is left out."""
    values, n, total, shape, rate = kept.values, kept.n, kept.total, kept.shape, kept.rate
    for k in range(n.shape[0]):
        value = 0.0
        for f in range(n.shape[1]):
            x = values[row, f]
            if x == x:  # not missing
                a, b = shape[f] + total[k, f], rate[f] + n[k, f]
                value += lgamma(a + x) - lgamma(a) + a * log(b / (b + 1.0)) - x * log(b + 1.0)
        above[k] = value
        below[k] = 1.0
    logs_to_shares(above)


def remove(kept: CountSums, row: int, state: int) -> None:
    for f in range(kept.n.shape[1]):
        x = kept.values[row, f]
        if x == x:  # not missing
            kept.n[state, f] -= 1.0
            kept.total[state, f] -= x


def add(kept: CountSums, row: int, state: int) -> None:
    for f in range(kept.n.shape[1]):
        x = kept.values[row, f]
        if x == x:  # not missing
            kept.n[state, f] += 1.0
            kept.total[state, f] += x


register(CountSums, predict, remove, add)


@kernel
def draw_rates(shape: FloatArray, rate: FloatArray, rng: UInt64Array, out: FloatArray) -> None:
    for k in range(out.shape[0]):
        for f in range(out.shape[1]):
            out[k, f] = np.exp(log_gamma(rng, shape[k, f]) - log(rate[k, f]))


@dataclass(frozen=True)
class Poisson(Emission):
    """Parameters are ``rates`` [K, F]; a rate has the density of Gamma(shape, rate)."""

    n_states: int
    shape: FloatArray  # [F]; 1 with a rate of 0 is flat
    rate: FloatArray  # [F]

    name = "poisson"

    def log_densities(self, own: Own, seen: Observed, out: FloatArray | None = None) -> FloatArray:
        rates, x = own["rates"], seen.values
        there = ~np.isnan(x)
        known = np.where(there, x, 0.0)
        out = np.empty((seen.n_rows, self.n_states)) if out is None else out
        out[:] = 0.0
        for f in range(x.shape[1]):
            logs = known[:, f, None] * np.log(rates[None, :, f]) - rates[None, :, f] - gammaln(known[:, f, None] + 1)
            out += np.where(there[:, f, None], logs, 0.0)
        return out

    def _counted(self, weights: FloatArray, seen: Observed) -> tuple[FloatArray, FloatArray]:
        """Shape and rate of the posterior [K, F]."""
        n, total, _ = weighted_sums(weights, seen.values, np.zeros(len(self.shape)))
        return self.shape + total, self.rate + n

    def draw(self, weights: FloatArray, seen: Observed, rng: UInt64Array) -> Own:
        shape, rate = self._counted(weights, seen)
        rates = np.empty(shape.shape)
        draw_rates(shape, rate, rng, rates)
        return {"rates": np.maximum(rates, _LEAST)}

    def mean(self, weights: FloatArray, seen: Observed) -> Own:
        shape, rate = self._counted(weights, seen)
        return {"rates": np.maximum(shape / rate, _LEAST)}

    def maximised(self, weights: FloatArray, seen: Observed, old: Own) -> Own:
        shape, rate = self._counted(weights, seen)
        there = rate > 0
        return {"rates": np.where(there, np.maximum((shape - 1) / np.where(there, rate, 1), _LEAST), old["rates"])}

    def log_prior(self, own: Own) -> float:
        return float(np.sum((self.shape - 1) * np.log(own["rates"]) - self.rate * own["rates"]))

    def log_marginal(self, weights: FloatArray, seen: Observed) -> float:
        shape, rate = self._counted(weights, seen)
        by_state = self.shape * np.log(self.rate) - gammaln(self.shape) + gammaln(shape) - shape * np.log(rate)
        factorials = np.nansum(gammaln(seen.values + 1), axis=1)
        return float(by_state.sum() - np.sum(weights.sum(axis=1) * factorials))

    def predictive(self, weights: FloatArray, seen: Observed) -> CountSums:
        n, total, _ = weighted_sums(weights, seen.values, np.zeros(len(self.shape)))
        return CountSums(as_input(seen.values), n, total, as_input(self.shape), as_input(self.rate))

    def first(self, seen: Observed, rng: UInt64Array) -> Own:
        """Halfway between the means and some observations."""
        mean = weighted_mean(seen)
        return {"rates": np.maximum((filled(some_rows(seen, self.n_states, rng), mean) + mean) / 2, _LEAST) * (
            0.75 + 0.5 * np.array([[uniform(rng)] for _ in range(self.n_states)])
        )}  # fmt: skip

    def for_maximum(self, least: float = 1.0) -> Self:
        return type(self)(self.n_states, np.maximum(self.shape, 1.0), self.rate)

    @property
    def n_features(self) -> int:
        return len(self.shape)

    def sample(self, own: Own, states: AnyArray, rng: np.random.Generator) -> AnyArray:
        return rng.poisson(own["rates"][states])

    def expected(self) -> Mapping[str, Expected]:
        return {"rates": Expected("f8", (self.n_states, len(self.shape)), positive=True)}


def weighted_mean(seen: Observed) -> FloatArray:
    """Of each feature [F], over places where it is known; 0 of a feature that never is."""
    n, total, _ = weighted_sums(seen.row_counts()[:, None], seen.values, np.zeros(seen.values.shape[1]))
    return np.asarray(total[0] / np.maximum(n[0], 1))
