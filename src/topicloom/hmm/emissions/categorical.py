"""Symbols: a categorical distribution per state, with a Dirichlet prior."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from scipy.special import gammaln

from topicloom._types import FloatArray, UInt64Array
from topicloom.files.checks import Contents, Expected
from topicloom.hmm.emissions.base import Emission, Table
from topicloom.hmm.emissions.predictive import register
from topicloom.hmm.state import Observed, Own
from topicloom.numerics.jit import as_input, kernel
from topicloom.numerics.variates import dirichlets


class SymbolSums(NamedTuple):
    """What the collapsed sampler keeps of symbols."""

    n: FloatArray  # [U, K] the chain's own counts, which the sampler itself keeps
    prior: FloatArray  # [V, K]
    total: FloatArray  # [K] of counts of symbols
    prior_total: FloatArray  # [K]


def predict(kept: SymbolSums, row: int, above: FloatArray, below: FloatArray) -> None:
    n, prior, total, prior_total = kept.n, kept.prior, kept.total, kept.prior_total
    if row < prior.shape[0]:
        for k in range(total.shape[0]):
            above[k] = n[row, k] + prior[row, k]
            below[k] = total[k] + prior_total[k]
    else:
        above[:] = 1.0
        below[:] = 1.0


def remove(kept: SymbolSums, row: int, state: int) -> None:
    if row < kept.prior.shape[0]:
        kept.total[state] -= 1.0


def add(kept: SymbolSums, row: int, state: int) -> None:
    if row < kept.prior.shape[0]:
        kept.total[state] += 1.0


register(SymbolSums, predict, remove, add)


@kernel
def fill_totals(n: FloatArray, prior: FloatArray, total: FloatArray, prior_total: FloatArray) -> None:
    """Symbols of each state, one after the other: the sampler's bits depend on the order of the prior's sum."""
    for k in range(total.shape[0]):
        for v in range(prior.shape[0]):
            total[k] += n[v, k]
            prior_total[k] += prior[v, k]


@dataclass(frozen=True)
class Categorical(Emission):
    """Parameters are ``emission`` [V, K], by symbol so that loops over states read neighbours."""

    prior: FloatArray  # [V, K]; where it is 0 the state never has the symbol

    name = "categorical"

    @property
    def n_states(self) -> int:  # type: ignore[override]
        return int(self.prior.shape[1])

    @property
    def has_zeros(self) -> bool:  # type: ignore[override]
        return bool(np.any(self.prior == 0))

    def counted(self, weights: FloatArray) -> FloatArray:
        """Without those of a missing symbol, which tell nothing."""
        return weights[: len(self.prior)]

    def table(self, own: Own, seen: Observed, room: Table | None = None) -> tuple[FloatArray, FloatArray | None]:
        emission = own["emission"]
        if seen.n_rows == len(emission):
            return as_input(emission), None
        return as_input(np.vstack((emission, np.ones((seen.n_rows - len(emission), emission.shape[1]))))), None

    def log_densities(self, own: Own, seen: Observed, out: FloatArray | None = None) -> FloatArray:
        with np.errstate(divide="ignore"):
            logs: FloatArray = np.log(self.table(own, seen)[0])
        return logs

    def draw(self, weights: FloatArray, seen: Observed, rng: UInt64Array) -> Own:
        by_state = np.empty(self.prior.T.shape)
        dirichlets(rng, np.ascontiguousarray((self.prior + self.counted(weights)).T), by_state)
        return {"emission": as_input(by_state.T)}

    def mean(self, weights: FloatArray, seen: Observed) -> Own:
        emission = self.counted(weights) + self.prior
        return {"emission": as_input(emission / emission.sum(axis=0))}

    def maximised(self, weights: FloatArray, seen: Observed, old: Own) -> Own:
        counts = np.where(self.prior > 0, self.counted(weights) + (self.prior - 1), 0.0)
        return {"emission": as_input(normalised(counts.T, old["emission"].T).T)}

    def log_prior(self, own: Own) -> float:
        return log_dirichlet(own["emission"], self.prior)

    def log_marginal(self, weights: FloatArray, seen: Observed) -> float:
        return dirichlet_multinomials(self.counted(weights).T, self.prior.T)

    def predictive(self, weights: FloatArray, seen: Observed) -> SymbolSums:
        kept = SymbolSums(weights, self.prior, np.zeros(self.n_states), np.zeros(self.n_states))
        fill_totals(weights, kept.prior, kept.total, kept.prior_total)
        return kept

    def first(self, seen: Observed, rng: UInt64Array) -> Own:
        return self.draw(np.zeros((seen.n_rows, self.n_states)), seen, rng)

    def for_maximum(self, least: float = 1.0) -> Self:
        return type(self)(as_input(np.where(self.prior > 0, np.maximum(self.prior, least), 0.0)))

    def expected(self) -> Mapping[str, Expected]:
        return {"emission": Expected("f8", (len(self.prior), self.n_states), low=0, high=1 + 1e-6)}

    def by_state(self, own: Own) -> Own:
        return {"emission": own["emission"].T}

    def from_state(self, own: Own) -> Own:
        return {name: as_input(value.T) for name, value in own.items()}

    def check(self, file: Contents) -> None:
        file.sums_to("emission", file.arrays["emission"].sum(axis=0), 1.0)

    @property
    def n_symbols(self) -> int:
        return len(self.prior)


def normalised(counts: FloatArray, old: FloatArray) -> FloatArray:
    """Rows of counts that sum to one; where nothing was counted the old row stays."""
    totals = counts.sum(axis=1, keepdims=True)
    return np.where(totals > 0, counts / np.where(totals > 0, totals, 1), old)


def log_dirichlet(values: FloatArray, a: FloatArray) -> float:
    """Σ (a − 1) log φ: the log density up to a constant."""
    extra = a > 1
    with np.errstate(divide="ignore"):
        return float(np.sum((a[extra] - 1) * np.log(values[extra])))


def dirichlet_multinomials(n: FloatArray, a: FloatArray) -> float:
    """Σ over rows of log Γ(Σa)/Γ(Σa + Σn) ∏ Γ(a + n)/Γ(a); what can never be has no part in it."""
    if np.any(a == 0):
        n, a = n + 0.0, a + 0.0
        cells = float(np.sum((gammaln(n + a + (a == 0)) - gammaln(a + (a == 0)))[a > 0]))
    else:
        cells = float(np.sum(gammaln(n + a) - gammaln(a)))
    totals = float(np.sum(gammaln(a.sum(axis=1)) - gammaln((n + a).sum(axis=1))))
    return cells + totals
