"""Variational Bayes for LDA (CVB eqs. 4 to 6), and the same local step for its stochastic relatives.

A token's distribution over topics follows from its document's and its word's parameters, γ_k ∝ t_k(d) · w_k(v), so it
is never stored: a pair needs one dot product, a document's new parameters are sums of rows, a word's are too.
``topics[v]`` holds w and ``mix[d]`` holds t. For variational Bayes both are exp E[log ·], exp(Ψ(a_k) − Ψ(Σ a)); with
``plain`` the document's is the mean itself, which is the zero-order collapsed form.
"""

import math
from typing import NamedTuple

import numpy as np

from topicloom._types import BoolArray, FloatArray, Int32Array
from topicloom.engine.prior import DocumentPrior
from topicloom.lda.variational.state import PairIndex, Work
from topicloom.numerics.jit import bare_kernel, kernel
from topicloom.numerics.special import digamma, exp
from topicloom.numerics.sums import distance, dot, sum_of


class Fitted(NamedTuple):
    """What the documents leave when their parameters stay where they are."""

    mix: FloatArray  # [D, K] t
    scale: FloatArray  # [M] n/norm of each pair
    moved: FloatArray  # [D] how far each document went
    fit: FloatArray  # [D] Σ n log norm


@bare_kernel
def _add_scaled(out: FloatArray, row: FloatArray, scale: float) -> None:
    for k in range(row.shape[0]):
        out[k] += row[k] * scale


@bare_kernel
def _copy(row: FloatArray, out: FloatArray) -> None:
    for k in range(row.shape[0]):
        out[k] = row[k]


@bare_kernel
def _renew(row: FloatArray, alpha: FloatArray, mix: FloatArray, sums: FloatArray) -> float:
    """α̃ ← α + t Σ_i n_i w_i / norm_i (eq. 4); returns how far it moved, and leaves ``sums`` at 0."""
    for k in range(row.shape[0]):
        sums[k] = alpha[k] + mix[k] * sums[k]
    moved = distance(sums, row)
    for k in range(row.shape[0]):
        row[k] = sums[k]
        sums[k] = 0.0
    return moved


@bare_kernel
def exp_mean_log(row: FloatArray, out: FloatArray) -> None:
    """exp E[log θ_k] under a Dirichlet with the parameters ``row``."""
    base = digamma(sum_of(row))
    for k in range(row.shape[0]):
        out[k] = exp(digamma(row[k]) - base)


@bare_kernel
def _set_mix(row: FloatArray, plain: bool, mix: FloatArray) -> None:
    if plain:
        _copy(row, mix)
    else:
        exp_mean_log(row, mix)


@bare_kernel
def _rounds(
    start: int, stop: int, word: Int32Array, count: FloatArray, topics: FloatArray, alpha: FloatArray, plain: bool,
    tol: float, max_rounds: int, row: FloatArray, t: FloatArray, sums: FloatArray,
) -> None:  # fmt: skip
    """Eqs. 6 and 4 in turn for one document, until a round moves it by less than ``tol`` per topic."""
    _set_mix(row, plain, t)
    for _ in range(max_rounds):
        for i in range(start, stop):
            w = topics[word[i]]
            _add_scaled(sums, w, count[i] / dot(t, w))
        change = _renew(row, alpha, t, sums)
        _set_mix(row, plain, t)
        if change < tol * row.shape[0]:
            break


@bare_kernel
def word_topics(
    doc_start: int, doc_stop: int, pairs: PairIndex, topics: FloatArray, prior: DocumentPrior, plain: bool, work: Work,
    doc: FloatArray, scratch: FloatArray, out: FloatArray,
) -> None:  # fmt: skip
    """n γ of each pair, to ``out``, in the round that ends ``fit_documents``: they add up to α̃ − α of the document.

    ``doc[d]`` is where it starts and ends; ``scratch`` has four rows, a number per topic.
    """
    word, count, tol, n_topics = pairs.word, pairs.count, work.doc_tol, topics.shape[1]
    sums, before, t, last = scratch[0], scratch[1], scratch[2], scratch[3]
    sums[:] = 0.0
    for d in range(doc_start, doc_stop):
        start, stop = pairs.ptr[d], pairs.ptr[d + 1]
        row, alpha = doc[d], prior.alpha[prior.alpha_row[d]]
        _set_mix(row, plain, last)
        for _ in range(work.doc_rounds if start < stop else 0):
            _copy(row, before)
            _set_mix(row, plain, last)
            _rounds(start, stop, word, count, topics, alpha, plain, 0.0, 1, row, t, sums)
            if distance(row, before) < tol * n_topics:
                break
        for i in range(start, stop):
            w = topics[word[i]]
            scale = count[i] / dot(last, w)
            for k in range(n_topics):
                out[i, k] = last[k] * w[k] * scale


@bare_kernel
def _score(
    start: int, stop: int, word: Int32Array, count: FloatArray, topics: FloatArray, t: FloatArray, scale: FloatArray
) -> float:
    """Σ n log norm; leaves n/norm in ``scale``."""
    total = 0.0
    for i in range(start, stop):
        norm = dot(t, topics[word[i]])
        scale[i] = count[i] / norm
        total += count[i] * np.log(norm)
    return total


@bare_kernel
def _value(fit: float, row: FloatArray, alpha: FloatArray, t: FloatArray) -> float:
    """A document's part of the bound, without what is the same wherever its parameters are.

    Their sum is not: parameters from before α was learned anew sum to another number.
    """
    for k in range(row.shape[0]):
        fit += math.lgamma(row[k]) - (row[k] - alpha[k]) * np.log(t[k])
    return float(fit - math.lgamma(sum_of(row)))


@bare_kernel
def fit_documents(
    doc_start: int, doc_stop: int, pairs: PairIndex, topics: FloatArray, prior: DocumentPrior, plain: bool, work: Work,
    doc: FloatArray, out: Fitted, sums: FloatArray, before: FloatArray,
) -> None:  # fmt: skip
    """Improve α̃ of each document, the topics held fixed.

    ``doc[d]`` is where it starts and ends. With ``work.fresh`` it starts from equal topics instead, so that what the
    first, meaningless topics made of it does not stay for ever; where that ends below the bound at the old parameters
    it is taken back, so the bound never falls. ``sums`` and ``before`` are scratch, one number per topic.
    """
    word, count, mix, scale, moved, fit = pairs.word, pairs.count, out.mix, out.scale, out.moved, out.fit
    fresh, tol, max_rounds = work.fresh, work.doc_tol, work.doc_rounds
    n_topics = topics.shape[1]
    sums[:] = 0.0
    for d in range(doc_start, doc_stop):
        start, stop = pairs.ptr[d], pairs.ptr[d + 1]
        row, t, alpha = doc[d], mix[d], prior.alpha[prior.alpha_row[d]]
        _copy(row, before)
        if start == stop:
            _copy(alpha, row)
            _set_mix(row, plain, t)
            fit[d], moved[d] = 0.0, 0.0
            continue
        goal = -np.inf
        if fresh:
            _set_mix(row, plain, t)
            goal = _value(_score(start, stop, word, count, topics, t, scale), row, alpha, t)
            share = (sum_of(row) - sum_of(alpha)) / n_topics
            for k in range(n_topics):
                row[k] = alpha[k] + share
        _rounds(start, stop, word, count, topics, alpha, plain, tol, max_rounds, row, t, sums)
        fit[d] = _score(start, stop, word, count, topics, t, scale)
        if fresh and _value(fit[d], row, alpha, t) < goal:
            _copy(before, row)
            _rounds(start, stop, word, count, topics, alpha, plain, tol, max_rounds, row, t, sums)
            fit[d] = _score(start, stop, word, count, topics, t, scale)
        change = 0.0
        for k in range(n_topics):
            change += abs(row[k] - before[k])
        moved[d] = change


@kernel
def log_norms(
    doc_start: int, doc_stop: int, pairs: PairIndex, topics: FloatArray, doc: FloatArray, fit: FloatArray
) -> None:
    """fit[d] = Σ n log Σ_k t_k w_k with the documents as they stand: the bound's part for words."""
    ptr, word, count = pairs.ptr, pairs.word, pairs.count
    t = np.empty(topics.shape[1])
    for d in range(doc_start, doc_stop):
        exp_mean_log(doc[d], t)
        total = 0.0
        for i in range(ptr[d], ptr[d + 1]):
            total += count[i] * np.log(dot(t, topics[word[i]]))
        fit[d] = total


@bare_kernel
def expected_word_counts(
    first: int, last: int, pairs: PairIndex, topics: FloatArray, fitted: Fitted, out: FloatArray
) -> None:
    """out[v] = Σ_d n_dv γ_dvk of the words from ``first`` to ``last`` (the sum of eq. 5).

    Pairs come ordered by word: a word's sum belongs to one caller and has one order, whatever the number of threads.
    """
    word_ptr, by_word, pair_doc, mix, scale = pairs.word_ptr, pairs.by_word, pairs.doc, fitted.mix, fitted.scale
    for v in range(first, last):
        row, w = out[v], topics[v]
        row[:] = 0.0
        for at in range(word_ptr[v], word_ptr[v + 1]):
            i = by_word[at]
            _add_scaled(row, mix[pair_doc[i]], scale[i])
        for k in range(row.shape[0]):
            row[k] *= w[k]


@bare_kernel
def exp_mean_log_topics(first: int, last: int, word: FloatArray, base: FloatArray, out: FloatArray) -> None:
    """exp E[log φ_kv] of the words from ``first`` to ``last``; ``base[k]`` is Ψ(Σ_v β̃_kv)."""
    for v in range(first, last):
        row, to = word[v], out[v]
        for k in range(base.shape[0]):
            to[k] = exp(digamma(row[k]) - base[k])


@kernel
def mean_log_columns(rows: FloatArray, use: BoolArray, out: FloatArray) -> None:
    """out[k] = Σ_d E[log θ_dk] over the rows to use."""
    out[:] = 0.0
    for d in range(rows.shape[0]):
        if use[d]:
            base = digamma(sum_of(rows[d]))
            for k in range(rows.shape[1]):
                out[k] += digamma(rows[d, k]) - base


@kernel
def mean_log_by_row(rows: FloatArray, use: BoolArray, group: Int32Array, out: FloatArray) -> None:
    """out[j, k] = Σ_d E[log θ_dk] over the rows to use of each group."""
    out[:] = 0.0
    for d in range(rows.shape[0]):
        if use[d]:
            base = digamma(sum_of(rows[d]))
            to = out[group[d]]
            for k in range(rows.shape[1]):
                to[k] += digamma(rows[d, k]) - base


@kernel
def sum_digamma(rows: FloatArray, shift: FloatArray, use: BoolArray, out: FloatArray) -> None:
    """out[k] = Σ_d Ψ(rows[d, k] + shift[k]) over the rows to use."""
    out[:] = 0.0
    for d in range(rows.shape[0]):
        if use[d]:
            row = rows[d]
            for k in range(rows.shape[1]):
                out[k] += digamma(row[k] + shift[k])
