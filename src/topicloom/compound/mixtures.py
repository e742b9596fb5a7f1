"""Topic mixtures of collections as a step of a chain: π_j drawn given the topics, γ and α learned (compound LDA).

A collection's documents have the Dirichlet parameter γπ_j, a row of the prior's α, so that every sampler of LDA draws
the topics. After its sweep the mixtures are drawn anew, by auxiliary variables (AGS, eqs. 14, 15) or by Langevin
dynamics (MGS, eqs. 33 to 39), and become the prior of the next.
"""

from dataclasses import dataclass, field, replace
from math import exp, lgamma, log
from typing import Literal

import numpy as np
from scipy.special import digamma

from topicloom._types import AnyArray, FloatArray
from topicloom.compound import mixture_kernels as kernels
from topicloom.corpus.corpus import Corpus
from topicloom.engine.learn_priors import MOST, RATE, SMALLEST, runs_away
from topicloom.engine.prior import Prior
from topicloom.engine.sampler import Key
from topicloom.engine.table_counts import Tails, expected_tables, tails
from topicloom.numerics.rng import Purpose, stream, uniform
from topicloom.numerics.variates import log_gamma

Method = Literal["ags", "mgs", "fixed"]
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
        self.pi = np.maximum(np.exp(log_pi), kernels.SMALLEST)

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
        found = tails(corpus, z, prior, n_jobs)
        rng = stream(key.seed, Purpose.MIXTURES, key.chain, key.sweep)
        if mixing.method == "ags":
            draw_auxiliary(found, prior, now, rng)
        elif mixing.method == "mgs":
            _langevin(found, now, mixing, rng, key.sweep)
        if mixing.alpha_prior is not None:
            now.alpha = np.full_like(now.alpha, draw_alpha(now.log_pi, now.alpha[0], mixing.alpha_prior, rng))
            _rescale(now, rng)
        if learn and mixing.learn_gamma:
            now.gamma = learn_gamma(found, corpus.doc_lengths, now)
        prior = prior._replace(alpha=now.rows())
    if key.sweep % mixing.thin == 0:
        now.sweeps.append(key.sweep)
        now.draws.append(now.pi.copy())
        now.gammas.append(now.gamma)
        now.alphas.append(float(now.alpha.mean()))
    return prior


def draw_auxiliary(found: Tails, prior: Prior, now: Mixtures, rng: AnyArray) -> None:
    """Tables by the Antoniak scheme, then π_j from its Dirichlet distribution (eqs. 14, 15)."""
    tables = np.empty(prior.alpha.size)
    kernels.draw_tables(*found, prior.alpha.ravel(), rng, tables)
    log_pi = np.empty_like(now.log_pi)
    kernels.draw_log_dirichlet(rng, tables.reshape(log_pi.shape) + now.alpha, log_pi)
    now.set_pi(log_pi)


def _langevin(found: Tails, now: Mixtures, mixing: Mixing, rng: AnyArray, sweep: int) -> None:
    kernels.langevin(
        *found, now.gamma, now.alpha, np.exp(now.log_step), mixing.n_steps, rng, now.phi, now.acceptance
    )  # fmt: skip
    sizes = np.abs(now.phi)
    now.set_pi(np.log(sizes) - np.log(sizes.sum(axis=1, keepdims=True)))
    if sweep <= mixing.adapt_until:
        now.log_step = now.log_step + sweep**-_DECAY * (now.acceptance - mixing.acceptance)


def _rescale(now: Mixtures, rng: AnyArray) -> None:
    """Draw Σ_k |φ_jk| anew: a gamma variate of shape Σα, whatever the mixture is. A new α calls for a new one."""
    total = np.array([exp(log_gamma(rng, float(now.alpha.sum()))) for _ in now.phi])
    now.phi = np.maximum(now.pi * total[:, None], kernels.SMALLEST)


def learn_gamma(found: Tails, lengths: AnyArray, now: Mixtures) -> float:
    """γ ← γ Σ π_jk [Ψ(n_jdk + γπ_jk) − Ψ(γπ_jk)] / (Σ_jd [Ψ(n_jd + γ) − Ψ(γ)] + rate), until it settles (eq. 20)."""
    sizes, times = np.unique(lengths[lengths > 0], return_counts=True)
    if len(sizes) == 0:
        return now.gamma
    pi, gamma = now.pi.ravel(), now.gamma
    tables = np.empty(pi.size)

    def step(gamma: float) -> float:
        expected_tables(*found, gamma * pi, tables)
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
