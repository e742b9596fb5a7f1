"""Left-to-right estimation of a document's probability given fixed topics, with a population of particles.

A particle is one guess at the topics of the tokens read so far. Reading token i, it predicts the token with
p(w_i | z_<i) = Σ_k φ_kw (n_k + α_k) / (i + Σα), and draws the token's topic in proportion to the terms of
that sum (Wallach et al. 2009, algorithm 3). Between tokens the topics already drawn may be refreshed by a
sweep of Gibbs sampling, which leaves p(z_<i | w_<i) as it is.

The mean prediction over particles, multiplied over tokens, is *not* unbiased by itself, since each particle's
past was drawn without a look at the present. So particles carry weights, and when few of them hold most of
the weight they are selected in proportion to it: a sequential Monte Carlo sampler, whose estimate of p(w) is
unbiased for any number of particles, with or without refreshing.
"""

from typing import NamedTuple

import numpy as np

from topicloom._types import FloatArray, Int32Array, Int64Array, UInt64Array
from topicloom.numerics.jit import kernel
from topicloom.numerics.rng import below, combine, fill_stream, uniform
from topicloom.numerics.sums import sum_of


class Scratch(NamedTuple):
    """Working arrays for R particles, K topics and documents up to the longest."""

    tokens: Int32Array  # [longest] in the order of reading
    topic: Int32Array  # [R, longest]
    counts: FloatArray  # [R, K] whole numbers, as floats so that sums over topics vectorise
    weight: FloatArray  # [R]
    offspring: Int64Array  # [R]
    share: FloatArray  # [K]
    stream: UInt64Array  # [4]


def scratch(longest: int, n_topics: int, n_particles: int) -> Scratch:
    return Scratch(
        tokens=np.empty(longest, np.int32),
        topic=np.empty((n_particles, longest), np.int32),
        counts=np.empty((n_particles, n_topics)),
        weight=np.empty(n_particles),
        offspring=np.empty(n_particles, np.int64),
        share=np.empty(n_topics),
        stream=np.empty(4, np.uint64),
    )


@kernel
def estimate_documents(
    first: int,
    behind: int,
    words: Int32Array,
    doc_ptr: Int64Array,
    word_topic: FloatArray,
    alpha: FloatArray,
    resample: bool,
    key: np.uint64,
    work: Scratch,
    out: FloatArray,
) -> None:
    """log p(w_d | φ, α) of documents first … behind − 1, into ``out``; φ is words × topics.

    Words must be ascending within a document: then the stream, keyed by the words, and the order of reading,
    drawn from the stream, depend on the document's counts and on nothing else.
    """
    for d in range(first, behind):
        n = doc_ptr[d + 1] - doc_ptr[d]
        tokens = work.tokens[:n]
        seed = combine(key, np.uint64(n))
        for i in range(n):
            tokens[i] = words[doc_ptr[d] + i]
            seed = combine(seed, np.uint64(tokens[i]))
        fill_stream(work.stream, seed)
        for i in range(n - 1, 0, -1):
            j = below(work.stream, i + 1)
            tokens[i], tokens[j] = tokens[j], tokens[i]
        out[d] = _estimate(tokens, word_topic, alpha, resample, work)


@kernel
def _estimate(tokens: Int32Array, word_topic: FloatArray, alpha: FloatArray, resample: bool, work: Scratch) -> float:
    topic, count, weight, stream = work.topic, work.counts, work.weight, work.stream
    n_particles = len(weight)
    alpha_sum = alpha.sum()
    count[:] = 0.0
    weight[:] = 1.0 / n_particles
    log_p = 0.0
    for i in range(len(tokens)):
        row = word_topic[tokens[i]]
        predicted = 0.0
        for r in range(n_particles):
            if resample:
                _refresh(tokens[:i], word_topic, alpha, topic[r], count[r], work.share, stream)
            total = _weigh(row, count[r], alpha, work.share)
            if total == 0.0:  # no topic has this word
                return -np.inf
            k = _draw(work.share, uniform(stream) * total)
            topic[r, i] = k
            count[r, k] += 1.0
            weight[r] *= total / (i + alpha_sum)
            predicted += weight[r]
        log_p += np.log(predicted)
        squares = 0.0
        for r in range(n_particles):
            weight[r] /= predicted
            squares += weight[r] * weight[r]
        if squares * n_particles > 2.0:  # fewer than half of the particles count
            _select(i + 1, weight, topic, count, work.offspring, stream)
            weight[:] = 1.0 / n_particles
    return log_p


@kernel
def _refresh(
    tokens: Int32Array,
    word_topic: FloatArray,
    alpha: FloatArray,
    topic: Int32Array,
    count: FloatArray,
    share: FloatArray,
    stream: UInt64Array,
) -> None:
    """One sweep of Gibbs sampling over the tokens that a particle has read."""
    for j in range(len(tokens)):
        count[topic[j]] -= 1.0
        total = _weigh(word_topic[tokens[j]], count, alpha, share)
        topic[j] = _draw(share, uniform(stream) * total)
        count[topic[j]] += 1.0


@kernel
def _select(
    n_read: int,
    weight: FloatArray,
    topic: Int32Array,
    count: FloatArray,
    offspring: Int64Array,
    stream: UInt64Array,
) -> None:
    """Systematic selection: particle r is kept R·weight[r] times on average, never more than one off.

    A particle that is kept stays where it is; its further copies take the places of those that are not.
    """
    n_particles = len(weight)
    point = uniform(stream)
    cumulative = 0.0
    chosen = 0
    for r in range(n_particles):
        cumulative += weight[r] * n_particles
        offspring[r] = 0
        while chosen < n_particles and (chosen + point < cumulative or r == n_particles - 1):
            offspring[r] += 1
            chosen += 1
    place = 0
    for r in range(n_particles):
        while offspring[r] > 1:
            while offspring[place] != 0:
                place += 1
            topic[place, :n_read] = topic[r, :n_read]
            count[place] = count[r]
            offspring[place] = 1
            offspring[r] -= 1


@kernel
def _weigh(row: FloatArray, count: FloatArray, alpha: FloatArray, share: FloatArray) -> float:
    """Fill ``share`` with φ_kw (n_k + α_k) and return the sum."""
    for k in range(len(share)):
        share[k] = row[k] * (count[k] + alpha[k])
    return sum_of(share)


@kernel
def _draw(share: FloatArray, point: float) -> int:
    """The topic whose share holds the point; rounding never leads to a topic without a share."""
    last = 0
    for k in range(len(share)):
        if share[k] > 0.0:
            last = k
            point -= share[k]
            if point < 0.0:
                return k
    return last
