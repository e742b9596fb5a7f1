"""Soft counts of a supervised model: each token's full conditional, labels included, in place of its drawn topic.

Given the other tokens and η, with the augmented variables integrated out, the conditional is that of LDA times
exp(−losses) of the document with the token in topic k. The second factor depends on the document, on k and on the topic
that the token has now, not on its word, so it is computed once for each topic of a document.
"""

from math import exp

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array
from topicloom.medlda.augment import log_pseudo_likelihood
from topicloom.numerics.jit import kernel
from topicloom.numerics.search import put_in_order
from topicloom.numerics.sums import sum_of


@kernel
def weigh_losses(
    n_tokens: int, sums: FloatArray, leaving: FloatArray, eta: FloatArray, loss: int, epsilon: float,
    target: FloatArray, weight: FloatArray, out: FloatArray,
) -> None:  # fmt: skip
    """exp(−losses) for each topic that a token may have, up to a factor; ``sums`` is Σ_k n_dk η_kc of all tokens."""
    top = -np.inf
    for k in range(eta.shape[0]):
        s = 0.0
        for c in range(eta.shape[1]):
            f = (sums[c] - leaving[c] + eta[k, c]) / n_tokens
            s += log_pseudo_likelihood(loss, epsilon, target[c], weight[c], f)
        out[k] = s
        top = max(top, s)
    for k in range(eta.shape[0]):
        out[k] = exp(out[k] - top)


@kernel
def _add_sums(z: AnyArray, begin: int, end: int, eta: FloatArray, sums: FloatArray) -> None:
    sums[:] = 0.0
    for i in range(begin, end):
        for c in range(sums.shape[0]):
            sums[c] += eta[z[i], c]


@kernel
def add_soft_counts(
    doc_start: int, doc_stop: int, word_start: int, word_stop: int, words: Int32Array, doc_ptr: Int64Array,
    z: AnyArray, word_topic: Int32Array, topic: Int64Array, eta: FloatArray, target: FloatArray, weight: FloatArray,
    loss: int, epsilon: float, alpha: FloatArray, alpha_row: Int32Array, beta: FloatArray, beta_sum: FloatArray,
    out_doc: FloatArray, out_word: FloatArray,
) -> None:  # fmt: skip
    """As ``soft_counts.add_soft_counts``: Σ_j T(z_dj = k) for the given documents and words."""
    n_topics = topic.shape[0]
    part, coef, losses, sums = np.empty(n_topics), np.empty(n_topics), np.empty(n_topics), np.empty(eta.shape[1])
    doc = np.empty(n_topics, np.int32)
    longest = 0
    for d in range(doc_start, doc_stop):
        longest = max(longest, doc_ptr[d + 1] - doc_ptr[d])
    keys = np.empty(longest, np.int64)
    for d in range(doc_start, doc_stop):
        begin, end = doc_ptr[d], doc_ptr[d + 1]
        a = alpha[alpha_row[d]]
        doc[:] = 0
        n = 0
        for i in range(begin, end):
            doc[z[i]] += 1
            if word_start <= words[i] < word_stop:
                keys[n] = np.int64(z[i]) << 32 | words[i]
                n += 1
        if n == 0:
            continue
        _add_sums(z, begin, end, eta, sums)
        put_in_order(keys, n)  # by topic, then by word
        own, i = -1, 0
        while i < n:
            key = keys[i]
            j = i + 1
            while j < n and keys[j] == key:
                j += 1
            v = key & 0xFFFFFFFF
            if key >> 32 != own:
                own = key >> 32
                weigh_losses(end - begin, sums, eta[own], eta, loss, epsilon, target[d], weight[d], losses)
                for k in range(n_topics):
                    coef[k] = losses[k] * (doc[k] + a[k]) / (topic[k] + beta_sum[k])
                coef[own] = losses[own] * (doc[own] - 1 + a[own]) / (topic[own] - 1 + beta_sum[own])
            row = word_topic[v]
            for k in range(n_topics):
                part[k] = (row[k] + beta[v]) * coef[k]
            part[own] = (row[own] - 1 + beta[v]) * coef[own]
            scale = (j - i) / sum_of(part)
            if out_doc.shape[0] > 0:
                for k in range(n_topics):
                    out_doc[d, k] += part[k] * scale
            if out_word.shape[0] > 0:
                for k in range(n_topics):
                    out_word[v, k] += part[k] * scale
            i = j
