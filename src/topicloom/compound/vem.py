"""Variational EM for compound LDA (algorithm 3; eqs. 63 to 76, 86 to 94).

q(π_j) is a Dirichlet distribution with the parameter τ_j = a_j ω_j, Σ_k ω_jk = 1. Documents see it as the prior γω_j,
so that topics and documents are those of variational Bayes with a row of α for each collection, and its state has τ, γ
and α beside it. What collections add to its bound, and what τ, γ and α do to it, is here. Every step is Newton's with
safeguards: it stays where the bound is defined, and is shortened until the bound does not fall, so that the bound never
does.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from topicloom._types import FloatArray, Int32Array, Int64Array
from topicloom.corpus.corpus import Corpus
from topicloom.engine.checks import check_prior
from topicloom.engine.learn_priors import MOST, runs_away
from topicloom.engine.prior import Prior
from topicloom.files.checks import Contents
from topicloom.lda.variational import bayes as vb
from topicloom.lda.variational.batch import bound
from topicloom.lda.variational.sampler import Collections
from topicloom.lda.variational.state import PairIndex, VariationalState

_ROUNDS, _CLOSE = 50, 1e-8
_HALVINGS = 40
_EDGE = 0.95  # of the way to the simplex's border that a step may go
_LIMITS = (1e-6, 1e6)  # of γ, α and the a_j


class Settings(NamedTuple):
    """Where γ and α start, and what is learned."""

    gamma: float
    alpha: FloatArray  # [K]
    learn_gamma: bool = False
    alpha_prior: tuple[float, float] | None = None  # shape and rate; None: α is fixed


class Evidence(NamedTuple):
    """What documents tell about their collections."""

    n_docs: Int64Array  # [J] documents with words
    mean_log: FloatArray  # [J, K] Σ_d E[log θ_jdk]
    mass: float = np.inf  # mean tokens, or their weight, of a document


def split(tau: FloatArray) -> tuple[FloatArray, FloatArray]:
    """ω [J, K] and a [J]."""
    a = tau.sum(axis=1)
    return tau / a[:, None], a


# -- what an iteration does --------------------------------------------------------------------------------------------


def with_collections(settings: Settings, rows: Int32Array) -> Collections:
    """What an iteration of variational Bayes does with collections; ``rows`` has that of each document."""

    def check(file: Contents, corpus: Corpus) -> None:
        check_prior(file, rows)
        shape = file.arrays["state_hyper"].shape if "state_hyper" in file.arrays else ()
        if shape != (1, 1 + file.sizes["K"]):
            file.fail("the array 'state_hyper' does not have one entry more than there are topics")

    return Collections(
        start=lambda state, prior: start_collections(state, prior, settings),
        fit=lambda pairs, state, prior, learn: fit_collections(pairs, state, prior, settings, learn),
        bound=lambda pairs, state, prior, n_jobs: bound_with_collections(pairs, state, prior, settings, n_jobs),
        check=check,
    )


def bound_with_collections(
    pairs: PairIndex, state: VariationalState, prior: Prior, settings: Settings, n_jobs: int
) -> float:
    """The bound (63)."""
    gamma, alpha = float(state.hyper[0, 0]), state.hyper[0, 1:]
    own = collections_part(state.tau, gamma, alpha, _used_docs(pairs, prior), settings.alpha_prior)
    return bound(pairs, state, "vb", prior, n_jobs) + own


def _used_docs(pairs: PairIndex, prior: Prior) -> Int64Array:
    """Documents with words of each row of α."""
    used = np.diff(pairs.ptr) > 0
    return np.bincount(prior.alpha_row[used], minlength=len(prior.alpha)).astype(np.int64)


def start_collections(state: VariationalState, prior: Prior, settings: Settings) -> VariationalState:
    """The state with mixtures of collections that know nothing yet."""
    tau = prior.alpha / prior.alpha.sum(axis=1, keepdims=True) * max(float(settings.alpha.sum()), 1.0)
    return state._replace(tau=tau, hyper=np.concatenate(([settings.gamma], settings.alpha))[None, :])


def fit_collections(
    pairs: PairIndex, state: VariationalState, prior: Prior, settings: Settings, learn: bool
) -> tuple[VariationalState, Prior, float]:
    """Mixtures, then γ and α where they are learned; also how far, relatively, these two moved."""
    used = np.diff(pairs.ptr) > 0
    mass = float(pairs.count.sum()) / max(int(used.sum()), 1)
    seen = Evidence(_used_docs(pairs, prior), np.empty_like(state.tau), mass)
    vb.mean_log_by_row(state.doc, used, prior.alpha_row, seen.mean_log)
    gamma, alpha, moved = float(state.hyper[0, 0]), state.hyper[0, 1:].copy(), 0.0
    tau = fit_mixtures(state.tau, gamma, alpha, seen)
    if learn and settings.learn_gamma:
        new = fit_gamma(tau, gamma, seen)
        gamma, moved = new, abs(new - gamma) / gamma
    if learn and settings.alpha_prior is not None:
        one = fit_alpha(tau, float(alpha[0]), settings.alpha_prior)
        alpha, moved = np.full_like(alpha, one), max(moved, abs(one - alpha[0]) / alpha[0])
    prior = prior._replace(alpha=gamma * split(tau)[0])
    state.doc[~used] = prior.alpha[prior.alpha_row[~used]]  # documents without words have no other parameters
    return state._replace(tau=tau, hyper=np.concatenate(([gamma], alpha))[None, :]), prior, moved


# -- its bound -----------------------------------------------------------------------------------------------------


def collections_part(
    tau: FloatArray, gamma: float, alpha: FloatArray, n_docs: Int64Array, alpha_prior: tuple[float, float] | None
) -> float:
    """What the bound (63) has beside that of variational Bayes with the priors γω_j."""
    omega, a = split(tau)
    logs = digamma(tau) - digamma(a)[:, None]
    gap = np.sum((1 - gamma * omega) * (np.log(omega) - logs), axis=1) + gamma * (tau.shape[1] - 1) / a  # eq. 65
    own = np.sum((alpha - tau) * logs + gammaln(tau) - gammaln(alpha), axis=1) - gammaln(a) + gammaln(alpha.sum())
    return float(np.sum(own - n_docs * gap)) + _log_prior(float(alpha[0]), alpha_prior)


def _log_prior(alpha: float, prior: tuple[float, float] | None) -> float:
    return 0.0 if prior is None else (prior[0] - 1.0) * float(np.log(alpha)) - prior[1] * alpha


def mixture_value(
    omega: FloatArray, a: float, gamma: float, alpha: FloatArray, n_docs: float, mean_log: FloatArray
) -> float:
    """The bound as a function of one collection's ω and a (eq. 67), but for a constant."""
    tau = a * omega
    logs = digamma(tau) - digamma(a)
    value = np.sum((alpha - tau) * logs + gammaln(tau)) - gammaln(a)
    value -= n_docs * (gamma * (len(omega) - 1) / a + np.sum(gammaln(gamma * omega)))
    return float(
        value - n_docs * np.sum((1 - gamma * omega) * (np.log(omega) - logs)) + gamma * np.sum(omega * mean_log)
    )


# -- Newton's method with safeguards ---------------------------------------------------------------------------------


def _climb(value: Callable[[float], float], old: float, size: float) -> float:
    """The largest of size, size/2, size/4, … at which ``value`` is not below ``old``; 0 if there is none."""
    for _ in range(_HALVINGS):
        if value(size) >= old:
            return size
        size *= 0.5
    return 0.0


def _maximise_log(
    x: float, value: Callable[[float], float], slopes: Callable[[float], tuple[float, float]]
) -> float:  # fmt: skip
    """A maximum over x > 0 by Newton's method on log x; each step raises the value."""
    at = value(x)
    for _ in range(_ROUNDS):
        first, second = slopes(x)
        g, h = x * first, x * x * second + x * first
        step = float(np.clip(-g / h if h < 0 else np.sign(g), -2.0, 2.0))
        low, high = np.log(_LIMITS[0] / x), np.log(_LIMITS[1] / x)
        step = float(np.clip(step, low, high))
        taken = step * _climb(lambda t, x=x, step=step: value(x * np.exp(t * step)), at, 1.0)  # type: ignore[misc]
        x *= float(np.exp(taken))
        at = value(x)
        if abs(taken) < _CLOSE:
            break
    return x


def fit_mixture(
    omega: FloatArray, a: float, gamma: float, alpha: FloatArray, n_docs: float, mean_log: FloatArray
) -> tuple[FloatArray, float]:
    """ω and a of one collection in turn, until they stay (algorithm 3, lines 12 to 14)."""

    def over_a(x: float) -> float:
        return mixture_value(omega, x, gamma, alpha, n_docs, mean_log)

    def slopes_of_a(x: float) -> tuple[float, float]:
        """Eqs. 74 and 75."""
        rest = alpha + n_docs - x * omega - gamma * n_docs * omega
        edge = (len(omega) - 1) * gamma * n_docs
        by_k = omega * polygamma(1, x * omega) - polygamma(1, x)
        first = np.sum(by_k * rest) + edge / x**2
        second = np.sum((omega**2 * polygamma(2, x * omega) - polygamma(2, x)) * rest)
        return float(first), float(second - np.sum(omega * by_k) - 2 * edge / x**3)

    for _ in range(_ROUNDS):
        new_omega = _step_omega(omega, a, gamma, alpha, n_docs, mean_log)
        moved = float(np.abs(new_omega - omega).sum())
        omega = new_omega
        new_a = _maximise_log(a, over_a, slopes_of_a)
        settled = moved < _CLOSE and abs(new_a - a) < _CLOSE * a
        a = new_a
        if settled:
            break
    return omega, a


def _step_omega(
    omega: FloatArray, a: float, gamma: float, alpha: FloatArray, n_docs: float, mean_log: FloatArray
) -> FloatArray:
    """One step with the constraint Σω = 1 (eqs. 69 to 72), inside the simplex."""
    if len(omega) == 1:
        return omega
    tau = a * omega
    rest = alpha + n_docs - tau - gamma * n_docs * omega
    g = a * polygamma(1, tau) * rest - gamma * n_docs * digamma(tau) + gamma * mean_log
    g -= n_docs * (gamma * digamma(gamma * omega) + 1 / omega - gamma - gamma * np.log(tau))
    h = a * a * polygamma(2, tau) * rest - a * polygamma(1, tau) * (a + 2 * gamma * n_docs)
    h -= n_docs * (gamma**2 * polygamma(1, gamma * omega) - 1 / omega**2 - gamma / omega)
    h = -np.maximum(np.abs(h), 1e-12)  # a direction in which the bound rises, also where it is not concave
    step = (np.sum(g / h) / np.sum(1 / h) - g) / h
    falls = step < 0
    most = _EDGE * float(np.min(-omega[falls] / step[falls])) if falls.any() else 1.0

    def moved(t: float) -> FloatArray:
        new = np.maximum(omega + t * step, 1e-300)
        return np.asarray(new / new.sum())

    old = mixture_value(omega, a, gamma, alpha, n_docs, mean_log)
    t = _climb(lambda t: mixture_value(moved(t), a, gamma, alpha, n_docs, mean_log), old, min(1.0, most))
    return moved(t) if t > 0 else omega


def fit_mixtures(tau: FloatArray, gamma: float, alpha: FloatArray, seen: Evidence) -> FloatArray:
    """τ of every collection."""
    omega, a = split(tau)
    out = np.empty_like(tau)
    for j in range(len(tau)):
        found, scale = fit_mixture(omega[j], float(a[j]), gamma, alpha, float(seen.n_docs[j]), seen.mean_log[j])
        out[j] = scale * found
    return out


def fit_gamma(tau: FloatArray, gamma: float, seen: Evidence) -> float:
    """γ by Newton's method (eqs. 88, 93, 94)."""
    omega, a = split(tau)
    logs = digamma(tau) - digamma(a)[:, None]
    n, total = seen.n_docs, float(seen.n_docs.sum())
    slope = float(
        np.sum(omega * seen.mean_log)
        + np.sum(n[:, None] * omega * (np.log(omega) - logs))
        - np.sum(n / a) * (tau.shape[1] - 1)
    )

    def value(x: float) -> float:
        return float(total * gammaln(x) - np.sum(n[:, None] * gammaln(x * omega)) + x * slope)

    def slopes(x: float) -> tuple[float, float]:
        first = total * digamma(x) - np.sum(n[:, None] * omega * digamma(x * omega)) + slope
        second = total * polygamma(1, x) - np.sum(n[:, None] * omega**2 * polygamma(1, x * omega))
        return float(first), float(second)

    new = _maximise_log(gamma, value, slopes)
    most = min(MOST * seen.mass, _LIMITS[1])
    return gamma if runs_away(gamma, new, most, lambda most: slopes(most)[0] > 0) else new


def fit_alpha(tau: FloatArray, alpha: float, prior: tuple[float, float]) -> float:
    """One number α by Newton's method (eqs. 86, 89, 90), under its gamma prior."""
    n_rows, k = tau.shape
    logs = float(np.sum(digamma(tau) - digamma(tau.sum(axis=1))[:, None]))

    def value(x: float) -> float:
        return float(n_rows * (gammaln(k * x) - k * gammaln(x)) + x * logs) + _log_prior(x, prior)

    def slopes(x: float) -> tuple[float, float]:
        first = n_rows * k * (digamma(k * x) - digamma(x)) + logs + (prior[0] - 1) / x - prior[1]
        second = n_rows * (k * k * polygamma(1, k * x) - k * polygamma(1, x)) - (prior[0] - 1) / x**2
        return float(first), float(second)

    return _maximise_log(alpha, value, slopes)
