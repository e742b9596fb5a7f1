"""Collapsed Gibbs sampling whose cost follows the number of topics in which a word occurs (exact).

The weight of topic k for a token of word v (CGS_p eq. 1) is split as

    n_kv · c_k  +  β_v · c_k        with  c_k = (n_dk + α_k) / (n_k + Σβ),

the token itself taken out of all counts. The first part is non-zero only for the topics in the word's list; the
second is β_v times a sum that is kept up to date as tokens move, in blocks, so that a draw from it looks at one block's
topics alone. A word's list holds its topics and their counts side by side, the larger counts first, so that searches
end early.
"""

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array, UInt64Array
from topicloom.kernels._jit import kernel
from topicloom.kernels.prefetch import prefetch
from topicloom.kernels.rng import uniform
from topicloom.kernels.search import search
from topicloom.kernels.sums import dot, sum_of

_SHIFT = 32  # an entry of a list is count · 2³² + topic: one load gives both, and larger counts compare larger
_ONE = 1 << _SHIFT
_TOPIC = _ONE - 1
_BLOCK = 6  # log₂ of the topics whose factors are summed together
_AHEAD = 6  # tokens from now whose lists are asked for
_LINE = 8  # entries in a cache line
_REFRESH = 64  # documents after which the kept sum is made anew, so that rounding does not pile up


@kernel
def _search_boost(boost: FloatArray, coef: FloatArray, u: float) -> int:
    found = 0
    for k in range(coef.shape[0]):
        if boost[k] > 0.0:
            found = k
            u -= boost[k] * coef[k]
            if u < 0.0:
                break
    return found


@kernel
def _find(entries: Int64Array, start: int, size: int, k: int) -> int:
    """Where topic k stands in a word's list, or the list's end."""
    j = start
    while j < start + size and entries[j] & _TOPIC != k:
        j += 1
    return j


@kernel
def _move(entries: Int64Array, start: int, size: int, own: int, at: int, new: int) -> int:
    """Move one token of a list from entry ``own`` to entry ``at``, of topic ``new``; returns the list's length."""
    e = entries[own] - _ONE
    if e < _ONE:  # its topic leaves the list: the last entry takes its place
        size -= 1
        entries[own] = entries[start + size]
        if at == start + size:
            at = own
        elif at > start + size:
            at = start + size
    else:
        entries[own] = e
    if at == start + size:
        entries[at] = _ONE + new
        return size + 1
    e = entries[at] + _ONE
    if at > start and entries[at - 1] < e:  # nearly in order is enough until the sweep ends
        entries[at] = entries[at - 1]
        at -= 1
    entries[at] = e
    return size


@kernel
def _sum_blocks(coef: FloatArray, blocks: FloatArray) -> None:
    for b in range(blocks.shape[0]):
        blocks[b] = sum_of(coef[b << _BLOCK : (b + 1) << _BLOCK])


@kernel
def _search_blocks(coef: FloatArray, blocks: FloatArray, u: float) -> int:
    """The topic in whose stretch of the running sum of ``coef`` u falls: looks at one block's topics alone."""
    b, last = 0, blocks.shape[0] - 1
    while b < last and u >= blocks[b]:
        u -= blocks[b]
        b += 1
    return (b << _BLOCK) + search(coef[b << _BLOCK : (b + 1) << _BLOCK], u)


@kernel
def _mend(
    entries: Int64Array, start: int, size: int, own: int, at: int, new: int, coef: FloatArray, weight: FloatArray
) -> float:  # fmt: skip
    """Weigh anew the entries that ``_move`` may have changed; returns the weight of the topic that was joined."""
    joined = 0.0
    for j in (own - 1, own, at - 1, at):
        if 0 <= j < size:
            k = entries[start + j] & _TOPIC
            weight[j] = (entries[start + j] >> _SHIFT) * coef[k]
            if k == new:
                joined = weight[j]
    return joined


@kernel
def _enter(
    d: int, z: AnyArray, a: FloatArray, inverse: FloatArray, doc: Int32Array, met: Int64Array, met_in: Int64Array,
    coef: FloatArray, blocks: FloatArray,
) -> int:  # fmt: skip
    """Count a document's topics, note each once in ``met``, and set their factors; returns how many there are."""
    n_met = 0
    for k in z:
        met[n_met] = k
        n_met += met_in[k] != d
        met_in[k] = d
        doc[k] += 1
    for k in met[:n_met]:
        c = (doc[k] + a[k]) * inverse[k]
        blocks[k >> _BLOCK] += c - coef[k]
        coef[k] = c
    return n_met


@kernel
def _leave(
    met: Int64Array, a: FloatArray, inverse: FloatArray, doc: Int32Array, coef: FloatArray, blocks: FloatArray
) -> None:
    """Back to the prior's share for the topics that the document has or had."""
    for k in met:
        doc[k] = 0
        c = a[k] * inverse[k]
        blocks[k >> _BLOCK] += c - coef[k]
        coef[k] = c


@kernel
def sweep_block(
    doc_start: int, doc_stop: int, word_start: int, word_stop: int,
    words: Int32Array, doc_ptr: Int64Array, z: AnyArray, list_ptr: Int64Array, list_size: Int32Array,
    entries: Int64Array, topic: Int64Array,
    alpha: FloatArray, alpha_row: Int32Array, beta: FloatArray, beta_sum: FloatArray,
    boost_row: Int32Array, boost: FloatArray, stream: UInt64Array, work: Int64Array,
) -> None:  # fmt: skip
    """Draw the topic of every token of the given documents whose word is in the given range.

    ``work`` returns how many tokens changed and how many list entries were weighed.
    """
    n_topics, n_tokens = topic.shape[0], words.shape[0]
    weight = np.empty(n_topics, np.float64)
    inverse = np.empty(n_topics, np.float64)
    coef = np.empty(n_topics, np.float64)  # (n_dk + α_k) / (n_k + Σβ) of the current document
    blocks = np.empty(((n_topics - 1) >> _BLOCK) + 1, np.float64)  # sums of coef
    doc = np.zeros(n_topics, np.int32)
    met = np.empty(n_topics + 1, np.int64)  # the topics that the document has or had, each once
    met_in = np.full(n_topics, -1, np.int64)  # the last document that a topic was met in
    for k in range(n_topics):
        inverse[k] = 1.0 / (topic[k] + beta_sum[k])
    row, total_coef = -1, 0.0
    changed, weighed = 0, 0
    weighed_word, weighed_topic, own, total_list = -1, -1, 0, 0.0
    for d in range(doc_start, doc_stop):
        begin, end = doc_ptr[d], doc_ptr[d + 1]
        if alpha_row[d] != row or d % _REFRESH == 0:
            row = alpha_row[d]
            for k in range(n_topics):
                coef[k] = alpha[row, k] * inverse[k]
            _sum_blocks(coef, blocks)
        a = alpha[row]
        weighed_word = -1
        n_met = _enter(d, z[begin:end], a, inverse, doc, met, met_in, coef, blocks)
        total_coef = sum_of(blocks)
        for i in range(begin, end):
            v = words[i]
            if v < word_start or v >= word_stop:
                continue
            start = list_ptr[v]
            size = list_size[v]
            old = int(z[i])
            if i + 2 * _AHEAD < n_tokens:
                later = words[i + _AHEAD]
                prefetch(list_ptr, words[i + 2 * _AHEAD])
                if word_start <= later < word_stop:  # other words' lists are being written by other threads
                    prefetch(list_size, later)
                    prefetch(entries, list_ptr[later])
                    prefetch(entries, list_ptr[later] + _LINE)
            # The token is taken out: its old topic gets these in place of what the arrays hold.
            inverse_out = 1.0 / (topic[old] - 1 + beta_sum[old])
            coef_out = (doc[old] - 1 + a[old]) * inverse_out
            if v != weighed_word:
                weighed_word = v
                total_list = 0.0
                own = 0
                for j in range(size):
                    e = entries[start + j]
                    k = e & _TOPIC
                    w = (e >> _SHIFT) * coef[k]
                    if k == old:
                        own = j
                    weight[j] = w
                    total_list += w
                weighed += size
            elif old != weighed_topic:
                own = 0
                while entries[start + own] & _TOPIC != old:
                    own += 1
            weighed_topic = old
            stay = ((entries[start + own] >> _SHIFT) - 1) * coef_out
            total = total_list - weight[own]  # of the other topics in the list
            smooth = beta[v] * (total_coef - coef[old] + coef_out)
            seeded = 0.0
            if boost_row[v] >= 0:
                b = boost[boost_row[v]]
                seeded = dot(b, coef) + b[old] * (coef_out - coef[old])
            u = uniform(stream) * (stay + total + smooth + seeded) - stay
            if u < 0.0:  # the commonest outcome once a chain has settled, so it comes first
                continue
            at = -1
            if u < total:
                counted = weight[own]
                weight[own] = 0.0
                j = 0
                while j < size - 1 and u >= weight[j]:
                    u -= weight[j]
                    j += 1
                weight[own] = counted
                at = start + j
                new = entries[at] & _TOPIC
            else:
                counted = coef[old]
                coef[old] = coef_out
                if u < total + smooth or seeded == 0.0:
                    blocks[old >> _BLOCK] += coef_out - counted
                    new = _search_blocks(coef, blocks, (u - total) / beta[v])
                    blocks[old >> _BLOCK] += counted - coef_out
                else:
                    new = _search_boost(boost[boost_row[v]], coef, u - total - smooth)
                coef[old] = counted
            if new == old:
                continue
            if at < 0:
                at = _find(entries, start, size, new)
            joined = weight[at - start] if at < start + size else 0.0
            total_coef += coef_out - coef[old]
            blocks[old >> _BLOCK] += coef_out - coef[old]
            coef[old] = coef_out
            inverse[old] = inverse_out
            list_size[v] = _move(entries, start, size, start + own, at, new)
            topic[old] -= 1
            doc[old] -= 1
            topic[new] += 1
            doc[new] += 1
            inverse[new] = 1.0 / (topic[new] + beta_sum[new])
            c = (doc[new] + a[new]) * inverse[new]
            total_coef += c - coef[new]
            blocks[new >> _BLOCK] += c - coef[new]
            coef[new] = c
            met[n_met] = new
            n_met += met_in[new] != d
            met_in[new] = d
            z[i] = new
            changed += 1
            if i + 1 < end and words[i + 1] == v:  # its weights are used again: mend those that changed
                renewed = _mend(entries, start, list_size[v], own, at - start, new, coef, weight)
                total_list = total + stay - joined + renewed
                weighed_topic = -1
            else:
                weighed_word = -1
        _leave(met[:n_met], a, inverse, doc, coef, blocks)
    work[0] = changed
    work[1] = weighed


@kernel
def conditional(
    token: int, d: int, words: Int32Array, doc_ptr: Int64Array, z: AnyArray, list_ptr: Int64Array,
    list_size: Int32Array, entries: Int64Array, topic: Int64Array, alpha: FloatArray, alpha_row: Int32Array,
    beta: FloatArray, beta_sum: FloatArray, boost_row: Int32Array, boost: FloatArray, weight: FloatArray,
) -> None:  # fmt: skip
    """The weights from which ``sweep_block`` would draw this token's topic, its parts put together."""
    a = alpha[alpha_row[d]]
    v, old = words[token], z[token]
    coef = np.empty(topic.shape[0], np.float64)
    coef[:] = a
    for i in range(doc_ptr[d], doc_ptr[d + 1]):
        coef[z[i]] += 1.0
    coef[old] -= 1.0
    for k in range(topic.shape[0]):
        coef[k] *= 1.0 / (topic[k] - (1 if k == old else 0) + beta_sum[k])
        weight[k] = beta[v] * coef[k]
        if boost_row[v] >= 0:
            weight[k] += boost[boost_row[v], k] * coef[k]
    for j in range(list_ptr[v], list_ptr[v] + list_size[v]):
        k = entries[j] & _TOPIC
        weight[k] += (entries[j] >> _SHIFT) * coef[k]
        if k == old:
            weight[k] -= coef[k]


@kernel
def sort_lists(
    word_start: int, word_stop: int, list_ptr: Int64Array, list_size: Int32Array, entries: Int64Array
) -> None:
    """Put lists in falling order, which depends on the counts alone and not on how they came about."""
    for v in range(word_start, word_stop):
        start = list_ptr[v]
        for j in range(start + 1, start + list_size[v]):
            e = entries[j]
            i = j
            while i > start and entries[i - 1] < e:
                entries[i] = entries[i - 1]
                i -= 1
            entries[i] = e


@kernel
def rebuild_lists(
    words: Int32Array, z: AnyArray, list_ptr: Int64Array, list_size: Int32Array, entries: Int64Array, topic: Int64Array
) -> None:  # fmt: skip
    """Fill the lists and totals that the assignments imply."""
    list_size[:] = 0
    topic[:] = 0
    for i in range(words.shape[0]):
        v = words[i]
        at = _find(entries, list_ptr[v], list_size[v], z[i])
        if at == list_ptr[v] + list_size[v]:
            entries[at] = z[i]
            list_size[v] += 1
        entries[at] += _ONE
        topic[z[i]] += 1
    sort_lists(0, list_size.shape[0], list_ptr, list_size, entries)


@kernel
def spread(list_ptr: Int64Array, list_size: Int32Array, entries: Int64Array, word_topic: Int32Array) -> None:
    """Fill the dense matrix of counts."""
    word_topic[:] = 0
    for v in range(list_size.shape[0]):
        for j in range(list_ptr[v], list_ptr[v] + list_size[v]):
            word_topic[v, entries[j] & _TOPIC] = entries[j] >> _SHIFT


@kernel
def gather(word_topic: Int32Array, list_ptr: Int64Array, list_size: Int32Array, entries: Int64Array) -> None:
    """Fill the lists from the dense matrix of counts."""
    for v in range(word_topic.shape[0]):
        j = list_ptr[v]
        for k in range(word_topic.shape[1]):
            if word_topic[v, k] > 0:
                entries[j] = (np.int64(word_topic[v, k]) << _SHIFT) + k
                j += 1
        list_size[v] = j - list_ptr[v]
    sort_lists(0, list_size.shape[0], list_ptr, list_size, entries)
