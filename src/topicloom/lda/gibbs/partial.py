"""The sampler "partial": topics are drawn, then every token given them (multipath Gibbs, algorithm 3).

    φ_k ~ Dirichlet(β + n_k1, …, β + n_kV)         p(z_i = k | φ, z_¬i of the document) ∝ φ_kv · (n_dk¬i + α_k)

Given φ documents know nothing of each other, and have a stream each. So ``n_shards`` says how many threads can share a
sweep, and changes no result: the sampler is exact for any number of shards.

A token's weight is split into n_dk φ_kv, non-zero only for the topics of its document, and α_k φ_kv, whose sum over k
is made once per word and sweep.
"""

from math import exp
from typing import cast

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int64Array
from topicloom.corpus.corpus import Corpus
from topicloom.engine import counts
from topicloom.engine.blocks import Range, Tokens, tokens_of
from topicloom.engine.prior import Prior
from topicloom.engine.sampler import Info, Key, Sampler, Schedule, register
from topicloom.engine.state import AnyState, State, rebuild_counts
from topicloom.engine.threads import cut, run_parallel
from topicloom.lda.gibbs import dense
from topicloom.lda.gibbs.joint import log_joint
from topicloom.numerics.jit import kernel
from topicloom.numerics.rng import Purpose, combine, fill_stream, path_key, uniform
from topicloom.numerics.sums import dot
from topicloom.numerics.variates import gamma, log_gamma


@kernel
def draw_words(word_start: int, word_stop: int, state: State, prior: Prior, key: np.uint64, phi: FloatArray) -> None:
    """Gamma variates [V, K] with shapes n_kv + β_kv of these words, in the topics that have tokens.

    Each word has its own stream, so that threads can share the work.
    """
    word_topic, topic, beta, boost_row, boost = state.word_topic, state.topic, prior.beta, prior.boost_row, prior.boost
    stream = np.empty(4, np.uint64)
    for v in range(word_start, word_stop):
        fill_stream(stream, combine(key, np.uint64(v)))
        for k in range(topic.shape[0]):
            if topic[k] > 0:
                b = beta[v] + boost[boost_row[v], k] if boost_row[v] >= 0 else beta[v]
                shape = word_topic[v, k] + b
                phi[v, k] = gamma(stream, shape) if shape >= 1.0 else exp(log_gamma(stream, shape))


@kernel
def finish_topics(topic: Int64Array, prior: Prior, key: np.uint64, phi: FloatArray) -> None:
    """Draw the topics without a token, whose variates may all be too small for a number, and normalise all."""
    beta, boost_row, boost = prior.beta, prior.boost_row, prior.boost
    n_words, n_topics = phi.shape
    stream = np.empty(4, np.uint64)
    for k in range(n_topics):
        if topic[k] > 0:
            continue
        fill_stream(stream, combine(key, np.uint64(n_words + k)))
        largest = -np.inf
        for v in range(n_words):
            b = beta[v] + boost[boost_row[v], k] if boost_row[v] >= 0 else beta[v]
            phi[v, k] = log_gamma(stream, b)
            largest = max(largest, phi[v, k])
        for v in range(n_words):
            phi[v, k] = exp(phi[v, k] - largest)
    total = np.zeros(n_topics, np.float64)
    for v in range(n_words):
        for k in range(n_topics):
            total[k] += phi[v, k]
    for v in range(n_words):
        for k in range(n_topics):
            phi[v, k] /= total[k]


@kernel
def smooth(word_start: int, word_stop: int, phi: FloatArray, alpha: FloatArray, out: FloatArray) -> None:
    """Σ_k α_k φ_kv for each row of α and these words."""
    for r in range(alpha.shape[0]):
        for v in range(word_start, word_stop):
            out[r, v] = dot(phi[v], alpha[r])


@kernel
def _search_prior(phi: FloatArray, alpha: FloatArray, u: float) -> int:
    found = 0
    for k in range(alpha.shape[0]):
        w = phi[k] * alpha[k]
        if w > 0.0:
            found = k
            u -= w
            if u < 0.0:
                break
    return found


@kernel
def sweep_documents(
    doc_start: int, doc_stop: int, tokens: Tokens, z: AnyArray, phi: FloatArray, mass: FloatArray, prior: Prior,
    key: np.uint64, work: Int64Array,
) -> None:  # fmt: skip
    """Draw the topic of every token of the given documents, each from a stream of its own.

    ``mass`` is what ``smooth`` made. ``work`` returns how many tokens changed and how many weights were computed.
    """
    words, doc_ptr, alpha, alpha_row = tokens.words, tokens.doc_ptr, prior.alpha, prior.alpha_row
    n_topics = alpha.shape[1]
    stream = np.empty(4, np.uint64)
    doc = np.zeros(n_topics, np.int32)
    place = np.empty(n_topics, np.int32)  # of a topic in ``listed``
    listed = np.empty(n_topics, np.int32)  # the document's topics
    weight = np.empty(n_topics, np.float64)
    changed, weighed = 0, 0
    for d in range(doc_start, doc_stop):
        fill_stream(stream, combine(key, np.uint64(d)))
        row = alpha_row[d]
        size = 0
        for i in range(doc_ptr[d], doc_ptr[d + 1]):
            k = z[i]
            if doc[k] == 0:
                place[k] = size
                listed[size] = k
                size += 1
            doc[k] += 1
        for i in range(doc_ptr[d], doc_ptr[d + 1]):
            v, old = words[i], z[i]
            doc[old] -= 1
            if doc[old] == 0:  # the last of the list takes its place
                size -= 1
                place[listed[size]] = place[old]
                listed[place[old]] = listed[size]
            total = 0.0
            for j in range(size):
                w = doc[listed[j]] * phi[v, listed[j]]
                weight[j] = w
                total += w
            weighed += size
            u = uniform(stream) * (total + mass[row, v])
            if u < total:
                j = 0
                while j < size - 1 and u >= weight[j]:
                    u -= weight[j]
                    j += 1
                new = listed[j]
            else:
                new = _search_prior(phi[v], alpha[row], u - total)
                weighed += n_topics
            if doc[new] == 0:
                place[new] = size
                listed[size] = new
                size += 1
            doc[new] += 1
            if new != old:
                z[i] = new
                changed += 1
        for j in range(size):
            doc[listed[j]] = 0
    work[0] = changed
    work[1] = weighed


def draw_phi(corpus: Corpus, state: State, prior: Prior, key: Key, schedule: Schedule) -> FloatArray:
    """φ by word [V, K], each column drawn from Dirichlet(n_k + β)."""
    phi = np.empty(state.word_topic.shape)
    number = path_key(key.seed, Purpose.SWEEP, key.chain, key.sweep, 0)

    def draw(words: Range) -> None:
        draw_words(words[0], words[1], state, prior, number, phi)

    run_parallel(draw, cut(corpus.word_counts, schedule.n_shards), schedule.n_jobs)
    finish_topics(state.topic, prior, number, phi)
    return phi


def _sweep(corpus: Corpus, state: AnyState, prior: Prior, key: Key, schedule: Schedule) -> tuple[AnyState, Info]:
    counted = cast(State, state)
    phi = draw_phi(corpus, counted, prior, key, schedule)
    mass = np.empty((len(prior.alpha), corpus.n_words))
    smooth(0, corpus.n_words, phi, prior.alpha, mass)
    number = path_key(key.seed, Purpose.SWEEP, key.chain, key.sweep, 1)

    def visit(docs: Range) -> Int64Array:
        work = np.zeros(2, np.int64)
        sweep_documents(docs[0], docs[1], tokens_of(corpus), counted.z, phi, mass, prior, number, work)
        return work

    work = np.sum(run_parallel(visit, cut(corpus.doc_lengths, schedule.n_shards), schedule.n_jobs), axis=0)
    counts.rebuild(corpus.words, counted.z, counted.word_topic, counted.topic)
    return counted, Info(int(work[0]), int(work[1]))


# Its ``conditional`` is that of a token with φ integrated out, which a sweep leaves as it is. The tests of this sampler
# hold ``sweep_documents`` to its own weights, given φ.
register(Sampler("partial", dense.init, rebuild_counts, _sweep, log_joint, dense.conditional_of, exact=True))
