"""CVB0 (CGS_p eq. 6) in which a pair's γ is over the labels of its document alone.

γ is one long vector: the pairs of document d, in their order, have L_d entries each, the first of them at
``gamma_ptr[d]``. The arithmetic is that of ``variational_collapsed``, on the L_d entries that matter, gathered from the
counts and put back; with all labels allowed the same bits come out.
"""

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array
from topicloom.lda.variational.collapsed import _add_to_counts, _set_gamma, weigh_mean
from topicloom.numerics.jit import kernel
from topicloom.numerics.rng import combine, fill_stream, uniform


@kernel
def sweep(
    ptr: Int64Array, words: Int32Array, count: FloatArray, gamma_ptr: Int64Array, label_ptr: Int64Array,
    labels: Int32Array, gamma: AnyArray, doc: FloatArray, word: FloatArray, topic: FloatArray,
) -> float:  # fmt: skip
    """Update every pair once; returns Σ n Σ_k |Δγ_k|. ``doc`` is aligned with ``labels``; counts hold their prior."""
    n_topics = topic.shape[0]
    weight_all, word_all, topic_all = np.empty(n_topics), np.empty(n_topics), np.empty(n_topics)
    moved = 0.0
    for d in range(ptr.shape[0] - 1):
        own = labels[label_ptr[d] : label_ptr[d + 1]]
        n_own = own.shape[0]
        if n_own < 2:
            continue
        weight, own_word, own_topic = weight_all[:n_own], word_all[:n_own], topic_all[:n_own]
        own_doc = doc[label_ptr[d] : label_ptr[d + 1]]
        for j in range(n_own):
            own_topic[j] = topic[own[j]]
        at = gamma_ptr[d]
        for i in range(ptr[d], ptr[d + 1]):
            row, n = word[words[i]], count[i]
            g = gamma[at : at + n_own]
            at += n_own
            if n <= 0.0:
                continue
            for j in range(n_own):
                own_word[j] = row[own[j]]
            total = weigh_mean(g, min(n, 1.0), own_doc, own_word, own_topic, weight)
            moved += _set_gamma(g, weight, 1.0 / total, n)
            _add_to_counts(weight, own_doc, own_word, own_topic)
            for j in range(n_own):
                row[own[j]] = own_word[j]
        for j in range(n_own):
            topic[own[j]] = own_topic[j]
    return moved


@kernel
def start(
    ptr: Int64Array, gamma_ptr: Int64Array, label_ptr: Int64Array, key: np.uint64, gamma: AnyArray
) -> None:  # fmt: skip
    """Random γ, uniform on the simplex of the document's labels; its stream follows from its number."""
    stream = np.empty(4, np.uint64)
    for d in range(ptr.shape[0] - 1):
        n_own = label_ptr[d + 1] - label_ptr[d]
        fill_stream(stream, combine(key, np.uint64(d)))
        row = np.empty(n_own)
        for i in range(ptr[d + 1] - ptr[d]):
            total = 0.0
            for j in range(n_own):
                row[j] = -np.log(1.0 - uniform(stream))
                total += row[j]
            for j in range(n_own):
                gamma[gamma_ptr[d] + i * n_own + j] = row[j] / total


@kernel
def add_counts(
    ptr: Int64Array, words: Int32Array, count: FloatArray, gamma_ptr: Int64Array, label_ptr: Int64Array,
    labels: Int32Array, gamma: AnyArray, doc: FloatArray, word: FloatArray, topic: FloatArray,
) -> None:  # fmt: skip
    """Add Σ n γ to the counts of documents' labels, of words and of labels."""
    for d in range(ptr.shape[0] - 1):
        first, n_own = label_ptr[d], label_ptr[d + 1] - label_ptr[d]
        at = gamma_ptr[d]
        for i in range(ptr[d], ptr[d + 1]):
            row, n = word[words[i]], count[i]
            for j in range(n_own):
                x, k = n * np.float64(gamma[at + j]), labels[first + j]
                doc[first + j] += x
                row[k] += x
                topic[k] += x
            at += n_own


@kernel
def log_likelihood(
    ptr: Int64Array, words: Int32Array, count: FloatArray, label_ptr: Int64Array, labels: Int32Array, doc: FloatArray,
    word: FloatArray, topic: FloatArray,
) -> float:  # fmt: skip
    """Σ n log Σ_k θ_dk φ_kv of the training documents, θ and φ from the counts with their priors."""
    total = 0.0
    for d in range(ptr.shape[0] - 1):
        size = 0.0
        for j in range(label_ptr[d], label_ptr[d + 1]):
            size += doc[j]
        for i in range(ptr[d], ptr[d + 1]):
            row, p = word[words[i]], 0.0
            for j in range(label_ptr[d], label_ptr[d + 1]):
                p += doc[j] * row[labels[j]] / topic[labels[j]]
            total += count[i] * np.log(p / size)
    return total
