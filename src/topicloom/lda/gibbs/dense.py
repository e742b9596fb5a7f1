"""Collapsed Gibbs sampling for LDA that looks at every topic for every token (CGS_p eq. 1).

The weight of topic k for a token of word v in document d is, with the token itself taken out of all counts,

    (n_kv + β_kv) · (n_dk + α_k) / (n_k + Σ_v β_kv).

The last two factors do not depend on the word and are kept per document in ``coef``; only the two topics that a token
leaves and joins change, so the loop over topics is two additions and a multiplication on contiguous memory (``lanes``).
Document counts are built when a document is entered and never stored: 4 bytes a topic-word cell, none a document.
"""

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array, UInt64Array
from topicloom.numerics.jit import bare_kernel, kernel, step
from topicloom.numerics.prefetch import own_tokens, prefetch
from topicloom.numerics.rng import uniform
from topicloom.numerics.simd import LANES, put, search_lanes, weigh, weigh_boosted

_AHEAD = 6  # tokens from now whose rows are asked for
_LINE = 16  # counts in a cache line


@step
def enter_document(
    z: AnyArray, start: int, stop: int, alpha: FloatArray, topic: Int64Array, beta_sum: FloatArray,
    doc: Int32Array, coef: FloatArray,
) -> None:  # fmt: skip
    """Count the document's topics and set the factors that do not depend on the word."""
    doc[:] = 0
    for i in range(start, stop):
        doc[z[i]] += 1
    for k in range(coef.shape[0]):
        coef[k] = (doc[k] + alpha[k]) / (topic[k] + beta_sum[k])


@bare_kernel
def sweep_block(
    doc_start: int, doc_stop: int, word_start: int, word_stop: int,
    words: Int32Array, doc_ptr: Int64Array, z: AnyArray, word_topic: Int32Array, topic: Int64Array,
    alpha: FloatArray, alpha_row: Int32Array, beta: FloatArray, beta_sum: FloatArray,
    boost_row: Int32Array, boost: FloatArray, weight: FloatArray, coef: FloatArray, doc: Int32Array,
    lanes: FloatArray, mine: Int64Array, stream: UInt64Array, work: Int64Array,
) -> None:  # fmt: skip
    """Draw the topic of every token of the given documents whose word is in the given range.

    Weights are made with all tokens counted, once for a run of tokens of one word: taking a token out, and a move,
    change the weights of one and of two topics. ``weight``, ``coef`` and ``doc`` are scratch, a number a topic,
    and ``lanes``, and so is ``mine``, a number for each token of the longest document, or none where a document's
    tokens of the range lie side by side (``own_tokens``); ``work`` returns how many tokens changed and how many weights
    were computed.
    """
    n_topics, n_tokens = topic.shape[0], words.shape[0]
    any_seeded, listed = boost.shape[0] > 0, mine.shape[0] > 0
    alone = word_start == 0 and word_stop == word_topic.shape[0]  # no other thread writes into rows
    changed, weighed = 0, 0
    for d in range(doc_start, doc_stop):
        a = alpha[alpha_row[d]]
        begin, end = doc_ptr[d], doc_ptr[d + 1]
        first, n = own_tokens(begin, end, words, word_start, word_stop, mine)
        if n == 0:
            continue
        last = n_tokens - 1 if alone else first + n - 1  # whose row is asked for
        enter_document(z, begin, end, a, topic, beta_sum, doc, coef)
        weighed_word, total_all = -1, 0.0
        for j in range(n):
            i, ahead = (mine[j], mine[min(j + _AHEAD, n - 1)]) if listed else (first + j, min(first + j + _AHEAD, last))
            later = np.int64(words[ahead])
            prefetch(word_topic, later * n_topics)
            prefetch(word_topic, later * n_topics + _LINE)
            v = words[i]
            row = word_topic[v]
            seeded = any_seeded and boost_row[v] >= 0
            if v != weighed_word:
                weighed_word = v
                weighed += n_topics
                if seeded:
                    total_all = weigh_boosted(row, beta[v], boost[boost_row[v]], coef, weight, lanes)
                else:
                    total_all = weigh(row, beta[v], coef, weight, lanes)
            old = np.int64(z[i])
            b = beta[v] + boost[boost_row[v], old] if seeded else beta[v]
            coef_out = (doc[old] - 1 + a[old]) / (topic[old] - 1 + beta_sum[old])
            stay = (row[old] - 1 + b) * coef_out
            counted = weight[old]
            sum_out = total_all - counted + stay
            u = uniform(stream) * sum_out
            if u < stay:  # the commonest outcome once a chain has settled, so it comes first
                continue
            put(weight, lanes, old, 0.0)
            new = search_lanes(weight, lanes, u - stay)
            if new == old:  # only by rounding, at the end of a lane
                put(weight, lanes, old, counted)
                continue
            put(weight, lanes, old, stay)
            row[old] -= 1
            topic[old] -= 1
            doc[old] -= 1
            coef[old] = coef_out
            row[new] += 1
            topic[new] += 1
            doc[new] += 1
            coef[new] = (doc[new] + a[new]) / (topic[new] + beta_sum[new])
            b = beta[v] + boost[boost_row[v], new] if seeded else beta[v]
            joined = (row[new] + b) * coef[new]
            total_all = sum_out - weight[new] + joined
            put(weight, lanes, new, joined)
            z[i] = new
            changed += 1
    work[0] = changed
    work[1] = weighed


@kernel
def conditional(
    token: int, d: int, words: Int32Array, doc_ptr: Int64Array, z: AnyArray, word_topic: Int32Array,
    topic: Int64Array, alpha: FloatArray, alpha_row: Int32Array, beta: FloatArray, beta_sum: FloatArray,
    boost_row: Int32Array, boost: FloatArray, weight: FloatArray,
) -> None:  # fmt: skip
    """The weights from which ``sweep`` would draw this token's topic; leaves the state as it was."""
    coef = np.empty(topic.shape[0], np.float64)
    doc = np.empty(topic.shape[0], np.int32)
    lanes = np.empty(LANES + 1, np.float64)
    a = alpha[alpha_row[d]]
    enter_document(z, doc_ptr[d], doc_ptr[d + 1], a, topic, beta_sum, doc, coef)
    v, old = words[token], z[token]
    word_topic[v, old] -= 1
    topic[old] -= 1
    doc[old] -= 1
    coef[old] = (doc[old] + a[old]) / (topic[old] + beta_sum[old])
    if boost_row[v] < 0:
        weigh(word_topic[v], beta[v], coef, weight, lanes)
    else:
        weigh_boosted(word_topic[v], beta[v], boost[boost_row[v]], coef, weight, lanes)
    word_topic[v, old] += 1
    topic[old] += 1
