"""Soft counts: each token's full conditional in place of its drawn topic (CGS_p, eqs. 40, 41, 49).

With the counts of one sample held fixed, the conditional of a token depends only on its document, its word and its own
current topic (which is what gets excluded), so it is computed once for each distinct such triple.
"""

from typing import NamedTuple

import numpy as np

from topicloom._types import FloatArray, Int32Array, Int64Array
from topicloom.engine.blocks import Block, Tokens
from topicloom.engine.prior import Prior
from topicloom.engine.state import State
from topicloom.engine.threads import private
from topicloom.numerics.jit import bare_kernel
from topicloom.numerics.search import put_in_order
from topicloom.numerics.simd import LANES, weigh, weigh_boosted

_LINE = 8  # float64 numbers in a cache line


@bare_kernel
def _add_scaled(out: FloatArray, weight: FloatArray, scale: float) -> None:
    for k in range(weight.shape[0]):
        out[k] += weight[k] * scale


class DenseScratch(NamedTuple):
    """What a kernel that looks at every topic writes into."""

    weight: FloatArray  # [K] of a token's topics
    coef: FloatArray  # [K] (n_dk + α_k) / (n_k + Σβ) of the current document
    doc: Int32Array  # [K] n_dk of the current document
    lane_sums: FloatArray  # [LANES + 1] see ``numerics.simd``


@bare_kernel
def add_soft_counts(
    block: Block, tokens: Tokens, state: State, prior: Prior, out_doc: FloatArray, out_word: FloatArray,
    scratch: DenseScratch, keys: Int64Array,
) -> None:  # fmt: skip
    """Add Σ_j T(z_dj = k) to ``out_doc[d]`` and ``out_word[v]`` for the documents and words of a block.

    An output with no rows is left out. A cell always receives its terms in the same order (by document, then by word
    and current topic), whichever blocks the calls cut the work into. ``keys`` is scratch with room for the tokens of
    the longest document.
    """
    words, doc_ptr, z, word_topic, topic = tokens.words, tokens.doc_ptr, state.z, state.word_topic, state.topic
    beta, beta_sum, boost_row, boost = prior.beta, prior.beta_sum, prior.boost_row, prior.boost
    weight, coef, doc, lane_sums = scratch.weight, scratch.coef, scratch.doc, scratch.lane_sums
    n_topics = topic.shape[0]
    for d in range(block.doc_start, block.doc_stop):
        start, stop = doc_ptr[d], doc_ptr[d + 1]
        a = prior.alpha[prior.alpha_row[d]]
        doc[:] = 0
        n = np.int64(0)  # not a literal, for which a sort would be compiled in vain
        for i in range(start, stop):
            doc[z[i]] += 1
            if block.word_start <= words[i] < block.word_stop:
                keys[n] = np.int64(words[i]) * n_topics + z[i]
                n += 1
        if n == 0:
            continue
        for k in range(n_topics):
            coef[k] = (doc[k] + a[k]) / (topic[k] + beta_sum[k])
        put_in_order(keys, n)
        i = 0
        while i < n:
            key = keys[i]
            j = i + 1
            while j < n and keys[j] == key:
                j += 1
            v, own = key // n_topics, key % n_topics
            # The token is taken out of the three counts of its own topic; all others are as they stand.
            counted = coef[own]
            coef[own] = 0.0
            b = beta[v]
            if boost_row[v] < 0:
                total = weigh(word_topic[v], b, coef, weight, lane_sums)
            else:
                total = weigh_boosted(word_topic[v], b, boost[boost_row[v]], coef, weight, lane_sums)
                b += boost[boost_row[v], own]
            coef[own] = counted
            w = (word_topic[v, own] - 1 + b) * (doc[own] - 1 + a[own]) / (topic[own] - 1 + beta_sum[own])
            weight[own] = w
            scale = (j - i) / (total + w)
            if out_doc.shape[0] > 0:
                _add_scaled(out_doc[d], weight, scale)
            if out_word.shape[0] > 0:
                _add_scaled(out_word[v], weight, scale)
            i = j


def dense_scratch(prior: Prior) -> DenseScratch:
    """For one thread, apart from what others write."""
    n = -(-prior.n_topics // _LINE) * _LINE
    room = private(np.zeros(3 * n + LANES + 1))
    weight, coef, doc = (room[i * n : i * n + prior.n_topics] for i in range(3))
    return DenseScratch(weight, coef, doc.view(np.int32)[: prior.n_topics], room[3 * n :])
