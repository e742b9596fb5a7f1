"""Vectors of counts: a multinomial distribution per state, with a Dirichlet prior."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import lgamma
from typing import NamedTuple, Self

import numpy as np
from scipy.special import gammaln

from topicloom._types import AnyArray, FloatArray, UInt64Array
from topicloom.files.checks import Contents, Expected
from topicloom.hmm.emissions.base import Emission
from topicloom.hmm.emissions.categorical import dirichlet_multinomials, log_dirichlet, normalised
from topicloom.hmm.emissions.predictive import register
from topicloom.hmm.emissions.sums import filled, logs_to_shares, some_rows, weighted_sums
from topicloom.hmm.state import Observed, Own
from topicloom.numerics.jit import as_input
from topicloom.numerics.variates import dirichlets


class VectorSums(NamedTuple):
    """What the collapsed sampler keeps of vectors of counts."""

    values: FloatArray  # [U, V]
    counts: FloatArray  # [K, V] with the prior added
    total: FloatArray  # [K] the same, summed


def predict(kept: VectorSums, row: int, above: FloatArray, below: FloatArray) -> None:
    """Dirichlet-multinomial; what all states share is left out."""
    values, counts, total = kept.values, kept.counts, kept.total
    missing = np.isnan(values[row, 0])
    for k in range(total.shape[0]):
        value, size = 0.0, 0.0
        if not missing:
            for v in range(values.shape[1]):
                x = values[row, v]
                if x > 0.0:
                    value += lgamma(counts[k, v] + x) - lgamma(counts[k, v])
                    size += x
            value -= lgamma(total[k] + size) - lgamma(total[k])
        above[k] = value
        below[k] = 1.0
    logs_to_shares(above)


def remove(kept: VectorSums, row: int, state: int) -> None:
    if not np.isnan(kept.values[row, 0]):
        for v in range(kept.values.shape[1]):
            kept.counts[state, v] -= kept.values[row, v]
            kept.total[state] -= kept.values[row, v]


def add(kept: VectorSums, row: int, state: int) -> None:
    if not np.isnan(kept.values[row, 0]):
        for v in range(kept.values.shape[1]):
            kept.counts[state, v] += kept.values[row, v]
            kept.total[state] += kept.values[row, v]


register(VectorSums, predict, remove, add)


@dataclass(frozen=True)
class Multinomial(Emission):
    """Parameters are ``emission`` [K, V]. A vector is known or missing as a whole."""

    prior: FloatArray  # [K, V]

    name = "multinomial"

    @property
    def n_states(self) -> int:  # type: ignore[override]
        return len(self.prior)

    def log_densities(self, own: Own, seen: Observed, out: FloatArray | None = None) -> FloatArray:
        there = np.asarray(~np.isnan(seen.values).any(axis=1))
        known = np.where(there[:, None], seen.values, 0.0)
        with np.errstate(divide="ignore"):
            logs = np.log(own["emission"])
        shared = gammaln(known.sum(axis=1) + 1) - gammaln(known + 1).sum(axis=1)
        out = np.empty((seen.n_rows, self.n_states)) if out is None else out
        for k in range(self.n_states):
            parts = known * np.maximum(logs[k], -1e300)  # 0 · log 0 is 0
            out[:, k] = np.where(there, shared + parts.sum(axis=1), 0.0)
        return out

    def _sums(self, weights: FloatArray, seen: Observed) -> FloatArray:
        return weighted_sums(weights, seen.values, np.zeros(seen.values.shape[1]))[1]

    def draw(self, weights: FloatArray, seen: Observed, rng: UInt64Array) -> Own:
        emission = np.empty(self.prior.shape)
        dirichlets(rng, np.ascontiguousarray(self.prior + self._sums(weights, seen)), emission)
        return {"emission": emission}

    def mean(self, weights: FloatArray, seen: Observed) -> Own:
        emission = self.prior + self._sums(weights, seen)
        return {"emission": emission / emission.sum(axis=1, keepdims=True)}

    def maximised(self, weights: FloatArray, seen: Observed, old: Own) -> Own:
        return {"emission": normalised(self._sums(weights, seen) + (self.prior - 1), old["emission"])}

    def log_prior(self, own: Own) -> float:
        return log_dirichlet(own["emission"], self.prior)

    def log_marginal(self, weights: FloatArray, seen: Observed) -> float:
        there = np.asarray(~np.isnan(seen.values).any(axis=1))
        known = np.where(there[:, None], seen.values, 0.0)
        shared = gammaln(known.sum(axis=1) + 1) - gammaln(known + 1).sum(axis=1)
        within = dirichlet_multinomials(self._sums(weights, seen), self.prior)
        return within + float(np.sum(weights.sum(axis=1) * np.where(there, shared, 0.0)))

    def predictive(self, weights: FloatArray, seen: Observed) -> VectorSums:
        counts = self.prior + self._sums(weights, seen)
        return VectorSums(as_input(seen.values), counts, counts.sum(axis=1))

    def first(self, seen: Observed, rng: UInt64Array) -> Own:
        """A draw from the prior, with some observations in it."""
        rows = filled(some_rows(seen, self.n_states, rng), np.zeros(seen.values.shape[1]))
        emission = np.empty(self.prior.shape)
        dirichlets(rng, np.ascontiguousarray(self.prior + 0.1 + rows), emission)
        return {"emission": emission}

    def for_maximum(self, least: float = 1.0) -> Self:
        return type(self)(np.maximum(self.prior, least))

    @property
    def n_features(self) -> int:
        return int(self.prior.shape[1])

    def sample(self, own: Own, states: AnyArray, rng: np.random.Generator) -> AnyArray:
        """One count each: how many a place has is not part of the model."""
        return rng.multinomial(1, own["emission"][states])

    def expected(self) -> Mapping[str, Expected]:
        return {"emission": Expected("f8", (self.n_states, self.prior.shape[1]), low=0, high=1 + 1e-6)}

    def check(self, file: Contents) -> None:
        file.sums_to("emission", file.arrays["emission"].sum(axis=1), 1.0)

    @property
    def n_symbols(self) -> int:
        return int(self.prior.shape[1])
