"""Learning α and β: Minka's fixed point for the Dirichlet-multinomial, as a step of its own between sweeps.

α (one value a topic) maximises p(z | α) p(α), β (one value for all words) p(w | z, β) p(β), given the current z. The
sums of digamma differences run over distinct counts only, so a step costs far less than a sweep.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import digamma

from topicloom._types import AnyArray, FloatArray, Int64Array
from topicloom.corpus._streams import document_blocks
from topicloom.corpus.corpus import Corpus
from topicloom.inference.kernel import Prior
from topicloom.inference.state import AnyState, count_histogram
from topicloom.kernels.counts import document_pairs

RATE = 1.0  # of the exponential hyperprior on each α_k and on β; nothing beside a corpus, and keeps tiny ones finite
SMALLEST = 1e-6  # a topic without a single token would otherwise be driven to exactly 0 and could never come back
_ROUNDS, _CLOSE = 20, 1e-5


class Histogram(NamedTuple):
    """Distinct counts and how often they occur, for each of several categories."""

    category: Int64Array
    value: Int64Array
    times: Int64Array


def document_histogram(corpus: Corpus, z: AnyArray, n_topics: int) -> Histogram:
    """How often each count n_dk occurs for each topic."""
    distinct, times = np.empty(0, np.int64), np.empty(0, np.int64)
    for first, last in document_blocks(corpus.doc_ptr):  # 8 bytes a token, but never for all of them
        ptr = corpus.doc_ptr[first : last + 1]
        pairs = np.empty(ptr[-1] - ptr[0], np.int64)
        found = document_pairs(ptr, z, np.zeros(n_topics, np.int64), pairs)
        values, counts = np.unique(pairs[:found], return_counts=True)
        distinct, where = np.unique(np.concatenate((distinct, values)), return_inverse=True)
        times = np.bincount(where, np.concatenate((times, counts)), minlength=len(distinct)).astype(np.int64)
    return Histogram(distinct % n_topics, distinct // n_topics, times)


def learn_alpha(corpus: Corpus, state: AnyState, prior: Prior) -> Prior:
    """α ← α_k Σ_d[Ψ(n_dk + α_k) − Ψ(α_k)] / (Σ_d[Ψ(N_d + Σα) − Ψ(Σα)] + rate), repeated until it settles."""
    topics = document_histogram(corpus, state.z, prior.n_topics)
    lengths, times = np.unique(corpus.doc_lengths[corpus.doc_lengths > 0], return_counts=True)
    if len(lengths) == 0:
        return prior
    alpha = prior.alpha[0].copy()
    for _ in range(_ROUNDS):
        rise = topics.times * (digamma(topics.value + alpha[topics.category]) - digamma(alpha[topics.category]))
        top = np.bincount(topics.category, rise, minlength=len(alpha))
        total = alpha.sum()
        bottom = np.sum(times * (digamma(lengths + total) - digamma(total)))
        new = np.maximum(alpha * top / (bottom + RATE), SMALLEST)
        settled = np.max(np.abs(new - alpha) / alpha) < _CLOSE
        alpha = new
        if settled:
            break
    return prior._replace(alpha=alpha[None, :])


def learn_beta(state: AnyState, prior: Prior) -> Prior:
    """β ← β Σ_kv[Ψ(n_kv + β) − Ψ(β)] / (V Σ_k[Ψ(n_k + Vβ) − Ψ(Vβ)] + rate), repeated until it settles."""
    by_count = count_histogram(state)
    counts = np.flatnonzero(by_count)
    times = by_count[counts]
    if len(counts) == 0:
        return prior
    n_words = len(prior.beta)
    beta = float(prior.beta[0])
    for _ in range(_ROUNDS):
        top = np.sum(times * (digamma(counts + beta) - digamma(beta)))
        bottom = n_words * np.sum(digamma(state.topic + n_words * beta) - digamma(n_words * beta))
        new = max(beta * top / (bottom + RATE), SMALLEST)
        settled = abs(new - beta) / beta < _CLOSE
        beta = float(new)
        if settled:
            break
    betas: FloatArray = np.full(n_words, beta)
    return prior._replace(beta=betas, beta_sum=np.full(prior.n_topics, beta * n_words))
