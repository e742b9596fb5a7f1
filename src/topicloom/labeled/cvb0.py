"""CVB0 (CGS_p eq. 6) in which a pair's γ is over the labels of its document alone.

γ is one long vector: the pairs of document d, in their order, have L_d entries each, the first of them at
``gamma_ptr[d]``. The arithmetic is that of ``lda.variational.collapsed``, on the L_d entries that matter, gathered from
the counts and put back; with all labels allowed the same bits come out.
"""

from typing import NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array
from topicloom.lda.variational.collapsed import _add_to_counts, _set_gamma, weigh_mean
from topicloom.numerics.jit import kernel
from topicloom.numerics.rng import combine, fill_stream, uniform


class LabeledPairs(NamedTuple):
    """Distinct (document, word) pairs, as those of ``Corpus``, and where each document's γ begins."""

    ptr: Int64Array  # [D + 1]
    word: Int32Array  # [M]
    count: FloatArray  # type: ignore[assignment]  # [M]; hides tuple.count
    gamma_ptr: Int64Array  # [D + 1]


class SoftLabeledState(NamedTuple):
    """As ``LabeledState`` with a distribution over labels in place of each drawn one: counts are expected ones."""

    z: AnyArray  # γ of all distinct (document, word) pairs over their document's labels, one after the other
    doc: FloatArray  # α + E[n_dk], aligned with ``labels``
    word: FloatArray  # [V, K] β + E[n_vk]
    topic: AnyArray  # [K] Σ_v β + E[n_k]
    label_ptr: Int64Array
    labels: Int32Array


@kernel
def sweep(pairs: LabeledPairs, state: SoftLabeledState) -> float:
    """Update every pair once; returns Σ n Σ_k |Δγ_k|."""
    ptr, words, count, gamma_ptr = pairs.ptr, pairs.word, pairs.count, pairs.gamma_ptr
    gamma, doc, word, topic = state.z, state.doc, state.word, state.topic
    label_ptr, labels = state.label_ptr, state.labels
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
def start(pairs: LabeledPairs, label_ptr: Int64Array, key: np.uint64, gamma: AnyArray) -> None:
    """Random γ, uniform on the simplex of the document's labels; its random stream follows from its number."""
    ptr, gamma_ptr = pairs.ptr, pairs.gamma_ptr
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
def add_counts(pairs: LabeledPairs, state: SoftLabeledState) -> None:
    """Add Σ n γ to the counts of documents' labels, of words and of labels."""
    ptr, words, count, gamma_ptr = pairs.ptr, pairs.word, pairs.count, pairs.gamma_ptr
    gamma, doc, word, topic = state.z, state.doc, state.word, state.topic
    label_ptr, labels = state.label_ptr, state.labels
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
def log_likelihood(pairs: LabeledPairs, state: SoftLabeledState) -> float:
    """Σ n log Σ_k θ_dk φ_kv of the training documents, θ and φ from the counts with their priors."""
    ptr, words, count, doc, word, topic = pairs.ptr, pairs.word, pairs.count, state.doc, state.word, state.topic
    label_ptr, labels = state.label_ptr, state.labels
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
