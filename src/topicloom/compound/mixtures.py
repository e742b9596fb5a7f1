"""Topic mixtures of collections as a step of a chain: π_j drawn given the topics, γ and α learned (compound LDA).

A collection's documents have the Dirichlet parameter γπ_j, a row of the prior's α, so that every sampler of LDA draws
the topics. After its sweep the mixtures are drawn anew, by auxiliary variables (AGS, eqs. 11 to 15) or by Langevin
dynamics (MGS, eqs. 33 to 39), and become the prior of the next. All that both need to know of the topics are numbers of
documents by their counts (``engine.documents_by_count``), whose cell c is topic c % K of collection c // K.
"""

from dataclasses import dataclass, field, replace
from math import exp, inf, lgamma, log, sqrt
from typing import Literal

import numpy as np
from scipy.special import digamma

from topicloom._types import AnyArray, FloatArray, Int64Array, UInt64Array
from topicloom.corpus.corpus import Corpus
from topicloom.engine.documents_by_count import DocumentsByCount, documents_by_count, expected_tables, slope
from topicloom.engine.learn_priors import MOST, RATE, SMALLEST, runs_away
from topicloom.engine.prior import Prior
from topicloom.engine.sampler import Key
from topicloom.engine.tables import draw_tables
from topicloom.numerics.jit import kernel, reducing_kernel
from topicloom.numerics.rng import Purpose, uniform
from topicloom.numerics.rng import stream as random_stream
from topicloom.numerics.special import log as quick_log
from topicloom.numerics.variates import log_gamma, normal

Method = Literal["ags", "mgs", "fixed"]
SMALLEST_SHARE = 1e-150  # a mixture's entry is kept above this, so that γπ and its logarithm stay ordinary numbers
_ROUNDS, _CLOSE = 20, 1e-5
_SHRINKS = 1000  # of a slice, by far more than leave anything of it
_DECAY = 0.6  # of the adaptation of step sizes: gains of t^-0.6


@dataclass(frozen=True)
class Mixing:
    """How mixtures are drawn and what is learned with them."""

    method: Method
    learn_gamma: bool = False
    alpha_prior: tuple[float, float] | None = None  # shape and rate of α's gamma prior; None: α is fixed
    n_steps: int = 1  # of Langevin dynamics, in a sweep
    acceptance: float = 0.574
    adapt_until: int = 100  # the last sweep that adapts step sizes
    thin: int = 5  # sweeps between recorded draws


@dataclass
class Mixtures:
    """Mixtures as they stand, and the draws recorded so far: all of it is in a checkpoint."""

    pi: FloatArray  # [J, K]
    log_pi: FloatArray  # its logarithm, which may be smaller than that of any number
    phi: FloatArray  # [J, K] π_j before it is normalised, for Langevin dynamics
    log_step: FloatArray  # [J] logarithm of its step size
    acceptance: FloatArray  # [J] chance of acceptance in the last sweep
    gamma: float
    alpha: FloatArray  # [K]
    sweeps: list[int] = field(default_factory=list)
    draws: list[FloatArray] = field(default_factory=list)  # of π, [J, K] each
    gammas: list[float] = field(default_factory=list)
    alphas: list[float] = field(default_factory=list)  # mean of α
    kept: FloatArray | None = None  # [J, K] Σ γπ over kept samples, as each was drawn with

    def set_pi(self, log_pi: FloatArray) -> None:
        self.log_pi = log_pi
        self.pi = np.maximum(np.exp(log_pi), SMALLEST_SHARE)

    def rows(self) -> FloatArray:
        """γπ_j, the prior of each collection's documents."""
        return self.gamma * self.pi

    def keep(self, rows: FloatArray) -> None:
        """Add the prior that a kept sample was drawn with to their sum."""
        self.kept = rows.copy() if self.kept is None else self.kept + rows


def start_mixtures(pi: FloatArray, gamma: float, alpha: FloatArray) -> Mixtures:
    """Mixtures before the first sweep."""
    n = len(pi)
    phi = pi * alpha.sum()  # about where its prior is
    return Mixtures(pi, np.log(pi), phi, np.full(n, log(0.1)), np.zeros(n), float(gamma), alpha.copy())


def step(
    corpus: Corpus, z: AnyArray, prior: Prior, now: Mixtures, mixing: Mixing, key: Key, learn: bool, n_jobs: int = 1
) -> Prior:  # fmt: skip
    """Draw the mixtures given the topics, learn what is to be learned; returns the prior of the next sweep."""
    if mixing.method != "fixed" or (learn and mixing.learn_gamma):
        by_count = documents_by_count(corpus, z, prior, n_jobs)
        rng = random_stream(key.seed, Purpose.MIXTURES, key.chain, key.sweep)
        if mixing.method == "ags":
            draw_auxiliary(by_count, prior, now, rng)
        elif mixing.method == "mgs":
            draw_langevin(by_count, now, mixing, rng, key.sweep)
        if mixing.alpha_prior is not None:
            now.alpha = np.full_like(now.alpha, draw_alpha(now.log_pi, now.alpha[0], mixing.alpha_prior, rng))
            _rescale(now, rng)
        if learn and mixing.learn_gamma:
            now.gamma = learn_gamma(by_count, corpus.doc_lengths, now)
        prior = prior._replace(alpha=now.rows())
    if key.sweep % mixing.thin == 0:
        now.sweeps.append(key.sweep)
        now.draws.append(now.pi.copy())
        now.gammas.append(now.gamma)
        now.alphas.append(float(now.alpha.mean()))
    return prior


def draw_auxiliary(by_count: DocumentsByCount, prior: Prior, now: Mixtures, rng: AnyArray) -> None:
    """Tables by the Antoniak scheme, then π_j from its Dirichlet distribution (eqs. 14, 15)."""
    tables = np.empty(prior.alpha.size)
    draw_tables(by_count, prior.alpha.ravel(), rng, tables)
    log_pi = np.empty_like(now.log_pi)
    draw_log_dirichlet(rng, tables.reshape(log_pi.shape) + now.alpha, log_pi)
    now.set_pi(log_pi)


def draw_langevin(by_count: DocumentsByCount, now: Mixtures, mixing: Mixing, rng: AnyArray, sweep: int) -> None:
    """Metropolis-adjusted Langevin steps, and step sizes that come nearer to the acceptance wanted (eqs. 33 to 39)."""
    steps = np.exp(now.log_step)
    move_langevin(by_count, now.gamma, now.alpha, steps, mixing.n_steps, rng, now.phi, now.acceptance)
    sizes = np.abs(now.phi)
    now.set_pi(np.log(sizes) - np.log(sizes.sum(axis=1, keepdims=True)))
    if sweep <= mixing.adapt_until:
        now.log_step = now.log_step + sweep**-_DECAY * (now.acceptance - mixing.acceptance)


def _rescale(now: Mixtures, rng: AnyArray) -> None:
    """Draw Σ_k |φ_jk| anew: a gamma variate of shape Σα, whatever the mixture is. A new α calls for a new one."""
    total = np.array([exp(log_gamma(rng, float(now.alpha.sum()))) for _ in now.phi])
    now.phi = np.maximum(now.pi * total[:, None], SMALLEST_SHARE)


def learn_gamma(by_count: DocumentsByCount, lengths: AnyArray, now: Mixtures) -> float:
    """γ ← γ Σ π_jk [Ψ(n_jdk + γπ_jk) − Ψ(γπ_jk)] / (Σ_jd [Ψ(n_jd + γ) − Ψ(γ)] + rate), until it settles (eq. 20)."""
    sizes, times = np.unique(lengths[lengths > 0], return_counts=True)
    if len(sizes) == 0:
        return now.gamma
    pi, gamma = now.pi.ravel(), now.gamma
    tables = np.empty(pi.size)

    def step(gamma: float) -> float:
        expected_tables(by_count, gamma * pi, tables)
        bottom = np.sum(times * (digamma(sizes + gamma) - digamma(gamma)))
        return max(float(tables.sum() / (bottom + RATE)), SMALLEST)

    for _ in range(_ROUNDS):
        new = step(gamma)
        settled = abs(new - gamma) / gamma < _CLOSE
        gamma = new
        if settled:
            break
    mass = float(np.sum(sizes * times) / times.sum())
    return now.gamma if runs_away(now.gamma, gamma, MOST * mass, lambda most: step(most) > most) else gamma


def log_alpha_density(alpha: float, log_pi: FloatArray, prior: tuple[float, float]) -> float:
    """log p(log α | π): J symmetric Dirichlet densities, a gamma prior, and α for the change of variable."""
    n_rows, n_topics = log_pi.shape
    shape, rate = prior
    value = n_rows * (lgamma(n_topics * alpha) - n_topics * lgamma(alpha)) + (alpha - 1.0) * float(log_pi.sum())
    return float(value + shape * log(alpha) - rate * alpha)


def draw_alpha(log_pi: FloatArray, alpha: float, prior: tuple[float, float], rng: AnyArray) -> float:
    """One number α for all topics given the mixtures: a slice sampler's step on log α (Neal 2003)."""

    def density(x: float) -> float:
        return log_alpha_density(exp(x), log_pi, prior) if abs(x) < 300 else -np.inf

    x = log(alpha)
    height = density(x) + log(1.0 - uniform(rng))
    low = x - uniform(rng)
    high = low + 1.0
    while density(low) > height:
        low -= 1.0
    while density(high) > height:
        high += 1.0
    for _ in range(_SHRINKS):
        new = low + uniform(rng) * (high - low)
        if density(new) > height:
            return exp(new)
        low, high = (new, high) if new < x else (low, new)
    return alpha  # the interval has shrunk to where it was


# -- auxiliary variables (AGS), compiled -----------------------------------------------------------------------------


@kernel
def draw_log_dirichlet(stream: UInt64Array, parameter: FloatArray, out: FloatArray) -> None:
    """The logarithm of a Dirichlet variate for every row (eq. 14)."""
    for j in range(parameter.shape[0]):
        top = -inf
        for k in range(parameter.shape[1]):
            out[j, k] = log_gamma(stream, parameter[j, k])
            top = max(top, out[j, k])
        total = 0.0
        for k in range(parameter.shape[1]):
            total += exp(out[j, k] - top)
        for k in range(parameter.shape[1]):
            out[j, k] -= top + log(total)


# -- Langevin dynamics (MGS), compiled -------------------------------------------------------------------------------


@reducing_kernel
def _log_rise(n_docs: Int64Array, a: float) -> float:
    """log Π_l (a + l − 1)^t_l of one cell."""
    total = 0.0
    for i in range(n_docs.shape[0]):
        total += n_docs[i] * quick_log(a + i)
    return total


@kernel
def log_density(
    first: int, by_count: DocumentsByCount, gamma: float, alpha: FloatArray, phi: FloatArray, drift: FloatArray
) -> float:
    """log p(φ_j | z) up to a constant (eq. 33); leaves |φ_k| times its slope in |φ_k|, plus one, in ``drift``.

    ``first`` is the collection's first cell. The slope of eq. 39 times |φ_k|, with s_k the expected tables of a cell,
    is α_k − 1 − |φ_k| + s_k − π_k Σ s.
    """
    ptr, n_docs = by_count.ptr, by_count.n_docs
    n_topics = phi.shape[0]
    total = 0.0
    for k in range(n_topics):
        total += abs(phi[k])
    value, tables = 0.0, 0.0
    for k in range(n_topics):
        x = abs(phi[k])
        a = gamma * x / total
        c = first + k
        seen = n_docs[ptr[c] : ptr[c + 1]]
        expected = 0.0
        if seen.shape[0] > 0:
            value += _log_rise(seen, a)
            expected = a * slope(seen, a)
        value += (alpha[k] - 1.0) * log(x) - x
        drift[k] = alpha[k] - x + expected
        tables += expected
    for k in range(n_topics):
        drift[k] -= abs(phi[k]) / total * tables
    return value


@kernel
def _log_proposal(to: FloatArray, phi: FloatArray, drift: FloatArray, step: float) -> float:
    """log q(to ← φ) up to a constant (eqs. 37, 38): normal about φ + ε²/2 sign(φ)·drift with variances ε²|φ|."""
    total = 0.0
    for k in range(phi.shape[0]):
        x = abs(phi[k])
        mean = phi[k] + 0.5 * step * step * (drift[k] if phi[k] > 0.0 else -drift[k])
        away = to[k] - mean
        total -= 0.5 * log(x) + away * away / (2.0 * step * step * x)
    return total


@kernel
def move_langevin(
    by_count: DocumentsByCount, gamma: float, alpha: FloatArray, steps: FloatArray, n_steps: int, stream: UInt64Array,
    phi: FloatArray, accepted: FloatArray,
) -> None:  # fmt: skip
    """``n_steps`` Metropolis-adjusted Langevin steps for each collection; ``accepted`` has their mean chance."""
    n_topics = phi.shape[1]
    new, drift, new_drift = np.empty(n_topics), np.empty(n_topics), np.empty(n_topics)
    for j in range(phi.shape[0]):
        now, first, step = phi[j], j * n_topics, steps[j]
        value = log_density(first, by_count, gamma, alpha, now, drift)
        accepted[j] = 0.0
        for _ in range(n_steps):
            inside = True
            for k in range(n_topics):
                mean = now[k] + 0.5 * step * step * (drift[k] if now[k] > 0.0 else -drift[k])
                new[k] = mean + step * sqrt(abs(now[k])) * normal(stream)
                inside &= SMALLEST_SHARE < abs(new[k]) < 1.0 / SMALLEST_SHARE  # where all is finite
            u = uniform(stream)
            if not inside:
                continue
            new_value = log_density(first, by_count, gamma, alpha, new, new_drift)
            ratio = new_value - value
            ratio += _log_proposal(now, new, new_drift, step) - _log_proposal(new, now, drift, step)
            chance = exp(min(ratio, 0.0))
            accepted[j] += chance / n_steps
            if u < chance:
                now[:] = new
                drift[:] = new_drift
                value = new_value


# -- what a checkpoint holds -----------------------------------------------------------------------------------------


def to_arrays(now: Mixtures) -> dict[str, AnyArray]:
    shape = now.log_pi.shape
    return {
        "pi": now.pi, "log_pi": now.log_pi, "phi": now.phi, "log_step": now.log_step, "acceptance": now.acceptance,
        "gamma": np.array([now.gamma]), "alpha": now.alpha, "sweeps": np.array(now.sweeps, np.int64),
        "draws": np.array(now.draws).reshape(-1, *shape), "gammas": np.array(now.gammas, np.float64),
        "alphas": np.array(now.alphas, np.float64), "kept": np.zeros((0, 0)) if now.kept is None else now.kept,
    }  # fmt: skip


def from_arrays(arrays: dict[str, AnyArray]) -> Mixtures:
    own = Mixtures(
        arrays["pi"], arrays["log_pi"], arrays["phi"], arrays["log_step"], arrays["acceptance"],
        float(arrays["gamma"][0]), arrays["alpha"],
    )  # fmt: skip
    return replace(
        own,
        sweeps=arrays["sweeps"].tolist(),
        draws=list(arrays["draws"]),
        gammas=arrays["gammas"].tolist(),
        alphas=arrays["alphas"].tolist(),
        kept=arrays["kept"] if arrays["kept"].size else None,
    )
