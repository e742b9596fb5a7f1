"""First topics, each drawn given those before it: the on-line start of Griffiths and Steyvers (2004).

A token of word v is placed in topic k with weight (n_kv + β_v) (n_dk + α_k) / (n_k + Σβ), counts being those of the
tokens placed so far. It costs about one sweep of ``gibbs_sparse``, whose lists it builds, and lists are short from the
outset: from topics drawn at random a frequent word has all topics in its list, and the first sweeps go through them.

Documents are taken in strides, so that the first ones to form topics come from the whole corpus, which may be sorted,
and files are still read in order.
"""

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array, UInt64Array
from topicloom.kernels._jit import kernel
from topicloom.kernels.gibbs_sparse import (
    _AHEAD,
    _BLOCK,
    _LINE,
    _ONE,
    _SHIFT,
    _TOPIC,
    _find,
    _search_blocks,
    _search_boost,
    _sum_blocks,
)
from topicloom.kernels.prefetch import prefetch
from topicloom.kernels.rng import uniform
from topicloom.kernels.sums import dot, sum_of

STRIDE = 8


@kernel
def _join(entries: Int64Array, start: int, size: int, at: int, new: int) -> int:
    """One more token of topic ``new``, whose entry is ``at`` or the list's end; returns the list's length."""
    if at == start + size:
        entries[at] = _ONE + new
        return size + 1
    e = entries[at] + _ONE
    if at > start and entries[at - 1] < e:
        entries[at] = entries[at - 1]
        at -= 1
    entries[at] = e
    return size


@kernel
def place_tokens(
    words: Int32Array, doc_ptr: Int64Array, z: AnyArray, list_ptr: Int64Array, list_size: Int32Array,
    entries: Int64Array, topic: Int64Array, alpha: FloatArray, alpha_row: Int32Array, beta: FloatArray,
    beta_sum: FloatArray, boost_row: Int32Array, boost: FloatArray, stream: UInt64Array,
) -> None:  # fmt: skip
    """Fill z, lists and totals. Lists are left nearly in order; ``gibbs_sparse.sort_lists`` puts them in order."""
    n_topics, n_docs, n_tokens = topic.shape[0], doc_ptr.shape[0] - 1, words.shape[0]
    weight, coef, inverse = np.empty(n_topics), np.empty(n_topics), np.empty(n_topics)
    blocks = np.empty(((n_topics - 1) >> _BLOCK) + 1, np.float64)
    doc = np.zeros(n_topics, np.int32)
    list_size[:] = 0
    topic[:] = 0
    for k in range(n_topics):
        inverse[k] = 1.0 / beta_sum[k]
    for first in range(STRIDE):
        for d in range(first, n_docs, STRIDE):
            a = alpha[alpha_row[d]]
            for k in range(n_topics):
                coef[k] = a[k] * inverse[k]
            _sum_blocks(coef, blocks)
            total_coef = sum_of(blocks)
            for i in range(doc_ptr[d], doc_ptr[d + 1]):
                v = words[i]
                start, size = list_ptr[v], list_size[v]
                if i + _AHEAD < n_tokens:
                    prefetch(entries, list_ptr[words[i + _AHEAD]])
                    prefetch(entries, list_ptr[words[i + _AHEAD]] + _LINE)
                for j in range(size):
                    e = entries[start + j]
                    weight[j] = (e >> _SHIFT) * coef[e & _TOPIC]
                total = sum_of(weight[:size])
                smooth, seeded = beta[v] * total_coef, 0.0
                if boost_row[v] >= 0:
                    seeded = dot(boost[boost_row[v]], coef)
                u = uniform(stream) * (total + smooth + seeded)
                if u < total:
                    at = start
                    while at < start + size - 1 and u >= weight[at - start]:
                        u -= weight[at - start]
                        at += 1
                    new = entries[at] & _TOPIC
                else:
                    if u < total + smooth or seeded == 0.0:
                        new = _search_blocks(coef, blocks, (u - total) / beta[v])
                    else:
                        new = _search_boost(boost[boost_row[v]], coef, u - total - smooth)
                    at = _find(entries, start, size, new)
                list_size[v] = _join(entries, start, size, at, new)
                z[i] = new
                topic[new] += 1
                doc[new] += 1
                inverse[new] = 1.0 / (topic[new] + beta_sum[new])
                c = (doc[new] + a[new]) * inverse[new]
                total_coef += c - coef[new]
                blocks[new >> _BLOCK] += c - coef[new]
                coef[new] = c
            for i in range(doc_ptr[d], doc_ptr[d + 1]):
                doc[z[i]] = 0
