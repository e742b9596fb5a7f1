"""Emissions of numbers the slow way: densities and predictives of SciPy, one observation after the other.

Shares nothing with the package but the data's form. A number that is missing is NaN.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from tests.oracles import lda as oracle
from topicloom.hmm.emissions.base import Emission
from topicloom.hmm.emissions.gaussian import Gaussian
from topicloom.hmm.emissions.gaussian_full import GaussianFull
from topicloom.hmm.emissions.multinomial import Multinomial
from topicloom.hmm.emissions.poisson import Poisson
from topicloom.hmm.state import HMMPrior, Observed, stacked
from topicloom.numerics.jit import as_input

NAN = np.nan
INITIAL = np.array([0.8, 1.4])
TRANSITION = np.array([[0.5, 0.3], [0.2, 0.6]])


class NumberCase(NamedTuple):
    seen: Observed
    prior: HMMPrior
    n_paths: int
    predictive: Callable[[np.ndarray, np.ndarray], float]  # log density of a row, given rows before it in the state
    density: Callable[[np.ndarray, int, dict[str, Any]], float]  # of a row, state and parameters

    @property
    def n(self) -> int:
        return len(self.seen.rows)


def observed(values: Any, lengths: list[int]) -> Observed:
    given = np.asarray(values, float)
    given = given[:, None] if given.ndim == 1 else given
    ptr = np.cumsum([0, *lengths])
    return Observed(as_input(np.arange(len(given), dtype=np.int32)), as_input(ptr), as_input(given), len(given))


def gaussian(row: np.ndarray, before: np.ndarray) -> float:
    """Student's t by the textbook's updates, one observation at a time."""
    total = 0.0
    for f, x in enumerate(row):
        m, w, a, b = (0.3, -0.2)[f], 0.6, 1.3, (0.7, 1.1)[f]
        for y in before[:, f][~np.isnan(before[:, f])]:
            m, w, a, b = (w * m + y) / (w + 1), w + 1, a + 0.5, b + 0.5 * w * (y - m) ** 2 / (w + 1)
        if not np.isnan(x):
            total += stats.t.logpdf(x, 2 * a, m, np.sqrt(b * (w + 1) / (a * w)))
    return float(total)


SCALE = np.array([[0.9, 0.3], [0.3, 1.4]])


def gaussian_full(row: np.ndarray, before: np.ndarray) -> float:
    if np.isnan(row).any():
        return 0.0
    m, w, nu, psi = np.array([0.3, -0.2]), 0.6, 2.7, SCALE
    for y in before[~np.isnan(before).any(axis=1)]:
        psi = psi + w / (w + 1) * np.outer(y - m, y - m)
        m, w, nu = (w * m + y) / (w + 1), w + 1, nu + 1
    df = nu - 2 + 1
    return float(stats.multivariate_t.logpdf(row, m, psi * (w + 1) / (w * df), df))


def poisson(row: np.ndarray, before: np.ndarray) -> float:
    total = 0.0
    for f, x in enumerate(row):
        known = before[:, f][~np.isnan(before[:, f])]
        a, b = 1.7 + known.sum(), (0.8, 0.4)[f] + len(known)
        if not np.isnan(x):
            total += stats.nbinom.logpmf(x, a, b / (b + 1))
    return float(total)


SHARES = np.array([[0.4, 0.9, 0.3], [0.4, 0.9, 0.3]])


def multinomial(row: np.ndarray, before: np.ndarray) -> float:
    if np.isnan(row).any():
        return 0.0
    a = SHARES[0] + before[~np.isnan(before).any(axis=1)].sum(axis=0)
    return float(stats.dirichlet_multinomial.logpmf(row.astype(int), a, int(row.sum()))) if row.sum() else 0.0


def _case(seen: Observed, emission: Emission, n_paths: int, predictive: Any, density: Any) -> NumberCase:
    return NumberCase(seen, HMMPrior(stacked(INITIAL, TRANSITION), emission), n_paths, predictive, density)


def _each(logpdf: Callable[..., Any]) -> Callable[[np.ndarray, int, dict[str, Any]], float]:
    """Of features that are independent."""

    def density(row: np.ndarray, k: int, own: dict[str, Any]) -> float:
        return sum(float(logpdf(x, f, k, own)) for f, x in enumerate(row) if not np.isnan(x))

    return density


def _whole(logpdf: Callable[..., Any]) -> Callable[[np.ndarray, int, dict[str, Any]], float]:
    return lambda row, k, own: 0.0 if np.isnan(row).any() else float(logpdf(row, k, own))


def cases() -> dict[str, NumberCase]:
    """Two features of which one, the other or both may be missing; sequences of one place and of none."""
    real = [[0.2, -1.0], [1.9, NAN], [NAN, NAN], [2.3, 0.4], [-0.8, 1.1]]
    pairs = [[0.2, -1.0], [1.9, 0.3], [NAN, NAN], [2.3, 0.4], [-0.8, 1.1]]
    counts = [[0, 3], [4, NAN], [NAN, NAN], [5, 1], [1, 0]]
    vectors = [[2, 0, 1], [0, 4, 0], [NAN, NAN, NAN], [0, 0, 0], [1, 1, 3]]
    lengths, two = [4, 0, 1], np.array([1.0, 2.0])
    flat = _each(lambda x, f, k, own: stats.norm.logpdf(x, own["means"][k, f], np.sqrt(own["covars"][k, f])))
    full = _whole(lambda row, k, own: stats.multivariate_normal.logpdf(row, own["means"][k], own["covars"][k]))
    rate = _each(lambda x, f, k, own: stats.poisson.logpmf(x, own["rates"][k, f]))
    some = _whole(lambda row, k, own: stats.multinomial.logpmf(row.astype(int), int(row.sum()), own["emission"][k]))
    mean, scale = as_input(np.array([0.3, -0.2])), as_input(np.array([0.7, 1.1]))
    one = Gaussian(2, mean, 0.6, 1.3, scale, 1e-6 * two)
    vector = GaussianFull(2, mean, 0.6, 2.7, as_input(SCALE), 1e-6 * two)
    number = Poisson(2, as_input(np.array([1.7, 1.7])), as_input(np.array([0.8, 0.4])))
    shares = Multinomial(as_input(SHARES))
    found = {
        "gaussian": (observed(real, lengths), one, gaussian, flat),
        "gaussian_full": (observed(pairs, lengths), vector, gaussian_full, full),
        "poisson": (observed(counts, lengths), number, poisson, rate),
        "multinomial": (observed(vectors, lengths), shares, multinomial, some),
    }
    short = {name: given[0].values[[0, 1, 3]] for name, given in found.items()}
    return {name: _case(seen, own, 1, p, d) for name, (seen, own, p, d) in found.items()} | {
        f"{name}, two paths": _case(observed(short[name], [2, 1]), own, 2, p, d)
        for name, (_, own, p, d) in found.items()
    }


def log_joint(case: NumberCase, z: np.ndarray) -> float:
    """log P(paths, observations), by the chain rule: one place after the other, all paths in turn."""
    moves = np.zeros((3, 2))
    prior = np.vstack((TRANSITION, INITIAL))
    before: list[list[np.ndarray]] = [[], []]
    total, width = 0.0, case.seen.values.shape[1]
    ptr = case.seen.doc_ptr.tolist()
    for path in np.asarray(z).reshape(case.n_paths, case.n):
        for start, stop in pairwise(ptr):
            p = 2
            for t in range(start, stop):
                k = int(path[t])
                total += np.log((moves[p, k] + prior[p, k]) / (moves[p].sum() + prior[p].sum()))
                moves[p, k] += 1
                row = case.seen.values[case.seen.rows[t]]
                total += case.predictive(row, np.array(before[k]).reshape(-1, width))
                before[k].append(row)
                p = k
    return float(total)


def posterior(case: NumberCase) -> tuple[np.ndarray, np.ndarray]:
    """Every setting of all paths together [S, m · N] and its exact probability [S]."""
    states = np.array(list(oracle.all_states(case.n_paths * case.n, 2)))
    logs = np.array([log_joint(case, z) for z in states])
    p = np.exp(logs - logs.max())
    return states, p / p.sum()


def invariance(case: NumberCase, sweep: Any, n: int, seed: int, known: Any) -> float:
    """p-value that the exact joint posterior of all paths is invariant under ``sweep(z [m, N], replicate)``."""
    states, p = known
    starts = np.random.default_rng(seed).choice(len(states), size=n, p=p)

    def draw(replicate: int) -> int:
        z = sweep(states[starts[replicate]].reshape(case.n_paths, case.n), replicate)
        return oracle.state_number(np.asarray(z).ravel(), 2)

    return float(oracle.drawn_p_value(draw, p, n))
