"""Collapsed variational Bayes without the Gaussian approximation (CVB eq. 15 and its appendix).

A count is a sum of independent Bernoullis, so its distribution is their convolution, and E[log(prior + count)] a sum
over it. Time grows with pairs × tokens × topics: a reference for small corpora. A token is taken out of a distribution
by deconvolution, forwards where γ ≤ ½ and backwards where it is larger, so that errors shrink from step to step; where
a long run at γ ≈ ½ lets them add up, which the sum of the result tells, the distribution is convolved afresh.
"""

import math
from typing import NamedTuple

import numpy as np

from topicloom._types import FloatArray, Int64Array
from topicloom.lda.variational.state import PairIndex
from topicloom.numerics.jit import kernel

_IMPOSSIBLE = 1e-150  # a probability that changes no sum
_CLOSE = 1e-10  # how far from 1 the probabilities of a deconvolved count may add up


class Distributions(NamedTuple):
    """The distributions of the counts of groups of pairs, by topic: w probabilities each, w = ptr[g + 1] − ptr[g].

    Those of group g and topic k begin at ``ptr[g] · K + k · w``.
    """

    ptr: Int64Array  # [groups + 1]
    pmf: FloatArray


@kernel
def convolve(pmf: FloatArray, size: int, gamma: float) -> None:
    """Add a Bernoulli to a count that is at most ``size``."""
    pmf[size + 1] = pmf[size] * gamma
    for m in range(size, 0, -1):
        pmf[m] = pmf[m] * (1.0 - gamma) + pmf[m - 1] * gamma
    pmf[0] *= 1.0 - gamma


@kernel
def deconvolve(pmf: FloatArray, size: int, gamma: float, out: FloatArray) -> float:
    """Take a Bernoulli out of a count that is at most ``size``; returns how far the result is from summing to 1.

    Where the probabilities at the ends are 0, so are those of the result.
    """
    first, last = 0, size
    while first < size and pmf[first] == 0.0:
        first += 1
    while last > first and pmf[last] == 0.0:
        last -= 1
    out[:size] = 0.0
    total = 0.0
    if gamma <= 0.5:
        below = 0.0
        for m in range(first, min(last + 1, size)):
            below = max((pmf[m] - gamma * below) / (1.0 - gamma), 0.0)
            out[m] = below
            total += below
    else:
        above = 0.0
        for m in range(last - 1, max(first - 2, -1), -1):
            above = max((pmf[m + 1] - (1.0 - gamma) * above) / gamma, 0.0)
            out[m] = above
            total += above
    return abs(total - 1.0)


@kernel
def convolve_all(
    members: Int64Array, count: FloatArray, gamma: FloatArray, k: int, without: int, out: FloatArray
) -> int:
    """The distribution of a count over the given pairs, without one token of the pair ``without``; returns its size."""
    out[0] = 1.0
    size = 0
    for i in members:
        times = int(count[i]) - (1 if i == without else 0)
        for _ in range(times):
            convolve(out, size, gamma[i, k])
            size += 1
    return size


@kernel
def convolve_likely(
    members: Int64Array, count: FloatArray, gamma: FloatArray, k: int, out: FloatArray
) -> tuple[int, int]:  # fmt: skip
    """As ``convolve_all``, for counts of which most values are all but impossible: the range of those that are not."""
    out[0] = 1.0
    first, last = 0, 0
    for i in members:
        g = gamma[i, k]
        for _ in range(int(count[i])):
            out[last + 1] = out[last] * g
            for m in range(last, first, -1):
                out[m] = out[m] * (1.0 - g) + out[m - 1] * g
            out[first] *= 1.0 - g
            last += 1
            while first < last and out[first] < _IMPOSSIBLE:
                first += 1
            while first < last and out[last] < _IMPOSSIBLE:
                last -= 1
    return first, last


@kernel
def mean_log(pmf: FloatArray, size: int, prior: float) -> float:
    """E[log(prior + n)]."""
    total = 0.0
    for m in range(size + 1):
        if pmf[m] > 0.0:
            total += pmf[m] * math.log(prior + m)
    return total


@kernel
def _mean_log_without(
    pmf: FloatArray, size: int, members: Int64Array, count: FloatArray, gamma: FloatArray, k: int, i: int,
    prior: float, work: FloatArray,
) -> float:  # fmt: skip
    if deconvolve(pmf, size, gamma[i, k], work) > _CLOSE:
        convolve_all(members, count, gamma, k, i, work)
    return mean_log(work, size - 1, prior)


@kernel
def _replace(
    pmf: FloatArray, size: int, n: int, old: float, new: float, members: Int64Array, count: FloatArray,
    gamma: FloatArray, k: int, work: FloatArray,
) -> None:  # fmt: skip
    """The distribution after n Bernoullis went from ``old`` to ``new``; γ already holds the new value."""
    for j in range(n):
        if deconvolve(pmf, size - j, old, work) > _CLOSE:
            convolve_all(members, count, gamma, k, -1, pmf)
            return
        pmf[: size - j] = work[: size - j]
    for j in range(n):
        convolve(pmf, size - n + j, new)


@kernel
def build(ptr: Int64Array, order: Int64Array, count: FloatArray, gamma: FloatArray, out: Distributions) -> None:
    """The distributions of the counts of groups of pairs; those of group g are ``order[ptr[g]:ptr[g + 1]]``."""
    n_topics = gamma.shape[1]
    for g in range(ptr.shape[0] - 1):
        members = order[ptr[g] : ptr[g + 1]]
        width = out.ptr[g + 1] - out.ptr[g]
        for k in range(n_topics):
            at = out.ptr[g] * n_topics + k * width
            convolve_all(members, count, gamma, k, -1, out.pmf[at : at + width])


@kernel
def sweep(
    pairs: PairIndex, every: Int64Array, gamma: FloatArray, alpha: FloatArray, beta: FloatArray, beta_sum: FloatArray,
    of_docs: Distributions, of_words: Distributions, topic_pmf: FloatArray, work: FloatArray,
) -> float:  # fmt: skip
    """Update every pair once by eq. 15; returns Σ n Σ_k |Δγ_k|. ``every`` has the numbers of all pairs."""
    ptr, count, word_ptr, by_word = pairs.ptr, pairs.count, pairs.word_ptr, pairs.by_word
    doc_at, doc_pmf, word_at, word_pmf = of_docs.ptr, of_docs.pmf, of_words.ptr, of_words.pmf
    n_topics = gamma.shape[1]
    weight = np.empty(n_topics)
    moved = 0.0
    n_all = topic_pmf.shape[1] - 1
    for d in range(ptr.shape[0] - 1):
        doc_width = doc_at[d + 1] - doc_at[d]
        doc_pairs = every[ptr[d] : ptr[d + 1]]
        for i in range(ptr[d], ptr[d + 1]):
            v, n = pairs.word[i], int(count[i])
            word_width = word_at[v + 1] - word_at[v]
            word_pairs = by_word[word_ptr[v] : word_ptr[v + 1]]
            top = -1e300
            for k in range(n_topics):
                a, b = doc_at[d] * n_topics + k * doc_width, word_at[v] * n_topics + k * word_width
                in_doc, in_word = doc_pmf[a : a + doc_width], word_pmf[b : b + word_width]
                weight[k] = (
                    _mean_log_without(in_doc, doc_width - 1, doc_pairs, count, gamma, k, i, alpha[k], work)
                    + _mean_log_without(in_word, word_width - 1, word_pairs, count, gamma, k, i, beta[v, k], work)
                    - _mean_log_without(topic_pmf[k], n_all, every, count, gamma, k, i, beta_sum[k], work)
                )
                top = max(top, weight[k])
            total = 0.0
            for k in range(n_topics):
                weight[k] = math.exp(weight[k] - top)
                total += weight[k]
            for k in range(n_topics):
                old, new = gamma[i, k], weight[k] / total
                gamma[i, k] = new
                moved += n * abs(new - old)
                a, b = doc_at[d] * n_topics + k * doc_width, word_at[v] * n_topics + k * word_width
                in_doc, in_word = doc_pmf[a : a + doc_width], word_pmf[b : b + word_width]
                _replace(in_doc, doc_width - 1, n, old, new, doc_pairs, count, gamma, k, work)
                _replace(in_word, word_width - 1, n, old, new, word_pairs, count, gamma, k, work)
                _replace(topic_pmf[k], n_all, n, old, new, every, count, gamma, k, work)
    return moved


@kernel
def mean_log_gamma(
    ptr: Int64Array, order: Int64Array, count: FloatArray, gamma: FloatArray, prior: FloatArray, work: FloatArray
) -> float:
    """Σ_g Σ_k E[log Γ(prior_gk + n_gk) − log Γ(prior_gk)] over groups of pairs, exactly."""
    total = 0.0
    for g in range(ptr.shape[0] - 1):
        members = order[ptr[g] : ptr[g + 1]]
        for k in range(gamma.shape[1]):
            first, last = convolve_likely(members, count, gamma, k, work)
            base = math.lgamma(prior[g, k])
            for m in range(first, last + 1):
                total += work[m] * (math.lgamma(prior[g, k] + m) - base)
    return total


@kernel
def fold_in(
    pairs: PairIndex, phi: FloatArray, alpha: FloatArray, tol: float, max_rounds: int, gamma: FloatArray,
    work: FloatArray, out: FloatArray,
) -> None:  # fmt: skip
    """As ``expected_counts.expect`` with E[log(α + n)] exact; every distribution is convolved afresh."""
    ptr, words, count = pairs.ptr, pairs.word, pairs.count
    n_topics = phi.shape[1]
    weight = np.empty(n_topics)
    for d in range(ptr.shape[0] - 1):
        members = np.arange(ptr[d], ptr[d + 1])
        for i in members:
            for k in range(n_topics):
                gamma[i, k] = phi[words[i], k] * alpha[k]
            gamma[i] /= gamma[i].sum()
        for _ in range(max_rounds):
            moved = 0.0
            for i in members:
                for k in range(n_topics):
                    size = convolve_all(members, count, gamma, k, i, work)
                    weight[k] = phi[words[i], k] * math.exp(mean_log(work, size, alpha[k]))
                weight /= weight.sum()
                for k in range(n_topics):
                    moved += count[i] * abs(weight[k] - gamma[i, k])
                    gamma[i, k] = weight[k]
            if moved < tol * n_topics:
                break
        for k in range(n_topics):
            out[d, k] = 0.0
            for i in members:
                out[d, k] += count[i] * gamma[i, k]
