"""Topic mixtures of collections, given the topics of their documents (compound LDA eqs. 11 to 15, 33 to 39).

All that matters of the topics is, for each collection and topic (a *cell*), how many documents have at least l tokens
of it, t_l for l = 1, 2, …: with a = γπ_jk

    Π_d Γ(a + n_jdk)/Γ(a) = Π_l (a + l − 1)^t_l,

so that densities, slopes and numbers of tables cost the largest count of each cell, however many documents there are.
``ptr[c]`` is where t_1 of cell c stands in ``times``; cell c is topic c % K of collection c // K.
"""

from math import exp, inf, log, sqrt

import numpy as np

from topicloom._types import FloatArray, Int64Array, UInt64Array
from topicloom.engine.table_counts import slope
from topicloom.numerics.jit import kernel, reducing_kernel
from topicloom.numerics.rng import uniform
from topicloom.numerics.special import log as quick_log
from topicloom.numerics.variates import log_gamma, normal

SMALLEST = 1e-150  # a mixture's entry is kept above this, so that γπ and its logarithm stay ordinary numbers
_FEW, _LIKELY = 8, 0.1  # trials so few, or so likely, that each is drawn by itself
_NEVER = 1e-300  # a chance that counts as none


# -- auxiliary variables (AGS) ---------------------------------------------------------------------------------------


@kernel
def binomial(stream: UInt64Array, n: int, p: float) -> int:
    """A binomial variate: trials one by one where they are few or likely, otherwise from success to success."""
    if p < _NEVER or n == 0:
        return 0
    if p >= 1.0:
        return n
    successes = 0
    if n <= _FEW or p > _LIKELY:
        for _ in range(n):
            successes += uniform(stream) < p
        return successes
    scale = 1.0 / np.log1p(-p)
    at = -1.0
    while True:
        at += 1.0 + np.floor(log(1.0 - uniform(stream)) * scale)  # failures before the next success
        if not at < n:  # nor if it is no number
            return successes
        successes += 1


@kernel
def _thinned(stream: UInt64Array, times: Int64Array, first: int, stop: int, a: float) -> int:
    """Tables opened by tokens number ``first`` + 1 to ``stop``, all of which have chances below a/(a + first).

    Candidates come with that chance, from one to the next, and the token numbered l + 1 among them is taken with
    (a + first)/(a + l): one draw for each candidate, however many tokens there are.
    """
    n = 0
    for i in range(first, stop):
        n += times[i]
    p = a / (a + first)
    scale = 1.0 / np.log1p(-p)
    at, tables = -1.0, 0
    i, reached = first, times[first]
    while True:
        at += 1.0 + np.floor(log(1.0 - uniform(stream)) * scale)
        if not at < n:
            return tables
        while at >= reached:
            i += 1
            reached += times[i]
        tables += uniform(stream) * (a + i) < a + first


@kernel
def draw_tables(ptr: Int64Array, times: Int64Array, base: FloatArray, stream: UInt64Array, out: FloatArray) -> None:
    """out[c] = Σ_d s_jdk (eq. 15): the l-th token of a topic in a document opens a table with chance a/(a + l − 1).

    The first token opens one whatever a is, also where a is too small for that fraction. Where chances are small,
    tokens l to 2l − 1 are drawn for together.
    """
    for c in range(out.shape[0]):
        own, a = times[ptr[c] : ptr[c + 1]], base[c]
        stop = own.shape[0]
        tables = own[0] if stop > 0 else 0
        i = 1
        while i < stop:
            p = a / (a + i)
            if p < _NEVER:
                break
            if p > _LIKELY:
                tables += binomial(stream, own[i], p)
                i += 1
            else:
                end = min(stop, 2 * i)
                tables += _thinned(stream, own, i, end, a)
                i = end
        out[c] = tables


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


# -- Langevin dynamics (MGS) -----------------------------------------------------------------------------------------


@reducing_kernel
def _log_rise(times: Int64Array, a: float) -> float:
    """log Π_l (a + l − 1)^t_l."""
    total = 0.0
    for i in range(times.shape[0]):
        total += times[i] * quick_log(a + i)
    return total


@kernel
def log_density(
    first: int, ptr: Int64Array, times: Int64Array, gamma: float, alpha: FloatArray, phi: FloatArray, drift: FloatArray
) -> float:  # fmt: skip
    """log p(φ_j | z) but for a constant (eq. 33); leaves |φ_k| times its slope in |φ_k|, plus one, in ``drift``.

    ``first`` is the collection's first cell. The slope of eq. 39 times |φ_k|, with s_k the expected tables of a cell,
    is α_k − 1 − |φ_k| + s_k − π_k Σ s.
    """
    n_topics = phi.shape[0]
    total = 0.0
    for k in range(n_topics):
        total += abs(phi[k])
    value, tables = 0.0, 0.0
    for k in range(n_topics):
        x = abs(phi[k])
        a = gamma * x / total
        c = first + k
        seen = times[ptr[c] : ptr[c + 1]]
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
    """log q(to ← φ) but for a constant (eqs. 37, 38): normal about φ + ε²/2 sign(φ)·drift with variances ε²|φ|."""
    total = 0.0
    for k in range(phi.shape[0]):
        x = abs(phi[k])
        mean = phi[k] + 0.5 * step * step * (drift[k] if phi[k] > 0.0 else -drift[k])
        away = to[k] - mean
        total -= 0.5 * log(x) + away * away / (2.0 * step * step * x)
    return total


@kernel
def langevin(
    ptr: Int64Array, times: Int64Array, gamma: float, alpha: FloatArray, steps: FloatArray, n_steps: int,
    stream: UInt64Array, phi: FloatArray, accepted: FloatArray,
) -> None:  # fmt: skip
    """``n_steps`` Metropolis-adjusted Langevin steps for each collection; ``accepted`` has their mean chance."""
    n_topics = phi.shape[1]
    new, drift, new_drift = np.empty(n_topics), np.empty(n_topics), np.empty(n_topics)
    for j in range(phi.shape[0]):
        now, first, step = phi[j], j * n_topics, steps[j]
        value = log_density(first, ptr, times, gamma, alpha, now, drift)
        accepted[j] = 0.0
        for _ in range(n_steps):
            inside = True
            for k in range(n_topics):
                mean = now[k] + 0.5 * step * step * (drift[k] if now[k] > 0.0 else -drift[k])
                new[k] = mean + step * sqrt(abs(now[k])) * normal(stream)
                inside &= SMALLEST < abs(new[k]) < 1.0 / SMALLEST  # where all is finite
            u = uniform(stream)
            if not inside:
                continue
            new_value = log_density(first, ptr, times, gamma, alpha, new, new_drift)
            ratio = new_value - value
            ratio += _log_proposal(now, new, new_drift, step) - _log_proposal(new, now, drift, step)
            chance = exp(min(ratio, 0.0))
            accepted[j] += chance / n_steps
            if u < chance:
                now[:] = new
                drift[:] = new_drift
                value = new_value
