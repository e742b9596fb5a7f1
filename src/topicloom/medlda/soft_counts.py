"""Soft counts of a supervised model: each token's full conditional, labels included, in place of its drawn topic.

Given the other tokens and η, with the augmented variables integrated out, the conditional is that of LDA times
exp(−losses) of the document with the token in topic k. The second factor depends on the document, on k and on the topic
that the token has now, not on its word, so it is computed once for each topic of a document.
"""

from math import exp

import numpy as np

from topicloom._types import AnyArray, FloatArray
from topicloom.engine.blocks import Block, Tokens
from topicloom.engine.prior import Prior
from topicloom.medlda.augment import log_pseudo_likelihood
from topicloom.medlda.state import MedState
from topicloom.numerics.jit import kernel
from topicloom.numerics.search import put_in_order
from topicloom.numerics.sums import sum_of


@kernel
def weigh_losses(own: int, d: int, n_tokens: int, sums: FloatArray, state: MedState, out: FloatArray) -> None:
    """exp(−losses) of a document for each topic that a token of topic ``own`` may have instead, up to a factor.

    ``sums`` is Σ_k n_dk η_kc of all tokens.
    """
    eta, leaving, loss, epsilon = state.eta, state.eta[own], state.supervision.loss, state.supervision.epsilon
    target, weight = state.supervision.target[d], state.supervision.weight[d]
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
    block: Block, tokens: Tokens, state: MedState, prior: Prior, out_doc: FloatArray, out_word: FloatArray
) -> None:
    """Σ_j T(z_dj = k) for the given documents and words, added to the outputs; one without rows is left out."""
    words, doc_ptr = tokens.words, tokens.doc_ptr
    z, word_topic, topic, eta = state.z, state.word_topic, state.topic, state.eta
    alpha, alpha_row, beta, beta_sum = prior.alpha, prior.alpha_row, prior.beta, prior.beta_sum
    word_start, word_stop = block.word_start, block.word_stop
    n_topics = topic.shape[0]
    weight, coef, losses, sums = np.empty(n_topics), np.empty(n_topics), np.empty(n_topics), np.empty(eta.shape[1])
    doc = np.empty(n_topics, np.int32)
    longest = 0
    for d in range(block.doc_start, block.doc_stop):
        longest = max(longest, doc_ptr[d + 1] - doc_ptr[d])
    keys = np.empty(longest, np.int64)
    for d in range(block.doc_start, block.doc_stop):
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
                weigh_losses(own, d, end - begin, sums, state, losses)
                for k in range(n_topics):
                    coef[k] = losses[k] * (doc[k] + a[k]) / (topic[k] + beta_sum[k])
                coef[own] = losses[own] * (doc[own] - 1 + a[own]) / (topic[own] - 1 + beta_sum[own])
            row = word_topic[v]
            for k in range(n_topics):
                weight[k] = (row[k] + beta[v]) * coef[k]
            weight[own] = (row[own] - 1 + beta[v]) * coef[own]
            scale = (j - i) / sum_of(weight)
            if out_doc.shape[0] > 0:
                for k in range(n_topics):
                    out_doc[d, k] += weight[k] * scale
            if out_word.shape[0] > 0:
                for k in range(n_topics):
                    out_word[v, k] += weight[k] * scale
            i = j
