"""Collapsed Gibbs sampling in which a token may only have a label of its document (CGS_p eq. 5).

As ``lda.gibbs.dense``, over the document's L labels in place of all K: ``coef``, ``weight`` and the document's counts
have one entry for each of them, in the order of ``labels``, and ``place`` leads from a label's number to that entry. A
token costs O(L), whatever K is. With all labels allowed every operation is that of ``lda.gibbs.dense``, in the same
order, so that both give the same bits. Of a document with one label nothing is left to draw.
"""

from collections.abc import Callable
from math import lgamma
from typing import NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array, UInt64Array
from topicloom.corpus.corpus import Corpus
from topicloom.engine.blocks import Block, Range, Tokens, room_to_list, tokens_of
from topicloom.engine.counts import log_rise
from topicloom.engine.prior import Prior
from topicloom.engine.shards import Draw, Loads
from topicloom.engine.state import AnyState, State
from topicloom.engine.threads import private
from topicloom.lda.gibbs.in_blocks import BlockSampler
from topicloom.numerics.jit import bare_kernel, kernel
from topicloom.numerics.prefetch import own_tokens
from topicloom.numerics.rng import uniform
from topicloom.numerics.search import put_in_order, search_sums
from topicloom.numerics.simd import LANES, put, search_lanes, weigh


class LabeledState(NamedTuple):
    """Counts as a dense matrix, beside the labels that each document's tokens may have."""

    z: AnyArray
    word_topic: Int32Array  # [V, K]
    topic: Int64Array  # [K]
    label_ptr: Int64Array  # [D + 1]
    labels: Int32Array  # the labels of document d, ascending, are labels[label_ptr[d]:label_ptr[d + 1]]

    def as_dense(self) -> State:
        """The counts alone."""
        return State(self.z, self.word_topic, self.topic)

    def add_topics(self, words: Range, out: Int64Array) -> None:
        """Add the tokens that a range of words has in each label."""
        self.as_dense().add_topics(words, out)


@bare_kernel
def weigh_own(
    row: Int32Array, beta: float, own: Int32Array, coef: FloatArray, counts: Int32Array, weight: FloatArray,
    lanes: FloatArray,
) -> float:  # fmt: skip
    """Fill ``weight``, one entry for each of the document's ``own`` labels, and return its sum."""
    for j in range(own.shape[0]):
        counts[j] = row[own[j]]
    return weigh(counts[: own.shape[0]], beta, coef, weight, lanes)


@bare_kernel
def enter_document(
    z: AnyArray, start: int, stop: int, own: Int32Array, alpha: FloatArray, topic: Int64Array, beta_sum: FloatArray,
    share: FloatArray, place: Int32Array, doc: Int32Array, coef: FloatArray,
) -> None:  # fmt: skip
    """Count the document's labels and set the factors that do not depend on the word."""
    for j in range(own.shape[0]):
        place[own[j]] = j
        doc[j] = 0
    for i in range(start, stop):
        doc[place[z[i]]] += 1
    for j in range(own.shape[0]):
        k = own[j]
        coef[j] = (doc[j] + alpha[k]) * share[k] / (topic[k] + beta_sum[k])


class LabeledScratch(NamedTuple):
    """What a sweep writes into: one entry per label of a document, except for ``place``."""

    weight: FloatArray
    coef: FloatArray  # (n_dk + α_k) / (n_k + Σβ) of the current document
    doc: Int32Array  # n_dk of the current document
    counts: Int32Array  # n_kv of the current word
    place: Int32Array  # [K] which of the document's labels a label is
    lanes: FloatArray  # [LANES + 1] see ``numerics.simd``


@bare_kernel
def sweep_block(
    block: Block, tokens: Tokens, state: LabeledState, prior: Prior, scratch: LabeledScratch, listed: Int64Array,
    share: FloatArray, stream: UInt64Array, work: Int64Array,
) -> None:  # fmt: skip
    """Draw the label of every token of a block; of counts by word only the rows of the block's words are used.

    ``listed`` has room for the tokens of the longest document, or none if a document's tokens of the block lie side by
    side (``own_tokens``); ``work`` returns how many tokens changed and how many weights were computed.
    """
    words, doc_ptr, z, word_topic, topic = tokens.words, tokens.doc_ptr, state.z, state.word_topic, state.topic
    label_ptr, labels, beta, beta_sum = state.label_ptr, state.labels, prior.beta, prior.beta_sum
    alpha, alpha_row = prior.alpha, prior.alpha_row
    doc, place, counts, lanes = scratch.doc, scratch.place, scratch.counts, scratch.lanes
    is_listed = listed.shape[0] > 0
    changed, weighed = 0, 0
    for d in range(block.doc_start, block.doc_stop):
        own = labels[label_ptr[d] : label_ptr[d + 1]]
        n_own = own.shape[0]
        if n_own < 2:
            continue
        begin, end = doc_ptr[d], doc_ptr[d + 1]
        first, n = own_tokens(begin, end, words, block.word_start, block.word_stop, listed)
        if n == 0:
            continue
        a = alpha[alpha_row[d]]
        weight, coef = scratch.weight[:n_own], scratch.coef[:n_own]
        enter_document(z, begin, end, own, a, topic, beta_sum, share, place, doc, coef)
        weighed_word, total_all = -1, 0.0
        for j in range(n):
            i = listed[j] if is_listed else first + j
            v = words[i]
            row = word_topic[v]
            b = beta[v]
            if v != weighed_word:
                weighed_word = v
                weighed += n_own
                total_all = weigh_own(row, b, own, coef, counts, weight, lanes)
            old = z[i]
            at = place[old]
            coef_out = (doc[at] - 1 + a[old]) * share[old] / (topic[old] - 1 + beta_sum[old])
            stay = (row[old] - 1 + b) * coef_out
            counted = weight[at]
            sum_out = total_all - counted + stay
            u = uniform(stream) * sum_out
            if u < stay:
                continue
            put(weight, lanes, at, 0.0)
            to = search_lanes(weight, lanes, u - stay)
            if to == at:  # only by rounding, at the end of a lane
                put(weight, lanes, at, counted)
                continue
            put(weight, lanes, at, stay)
            new = own[to]
            row[old] -= 1
            topic[old] -= 1
            doc[at] -= 1
            coef[at] = coef_out
            row[new] += 1
            topic[new] += 1
            doc[to] += 1
            coef[to] = (doc[to] + a[new]) * share[new] / (topic[new] + beta_sum[new])
            joined = (row[new] + b) * coef[to]
            total_all = sum_out - weight[to] + joined
            put(weight, lanes, to, joined)
            z[i] = new
            changed += 1
    work[0] = changed
    work[1] = weighed


@kernel
def conditional(token: int, d: int, tokens: Tokens, state: LabeledState, prior: Prior, out: FloatArray) -> None:
    """The weights, by label, from which ``sweep_block`` would draw this token's; leaves the state as it was."""
    words, doc_ptr, z, word_topic, topic = tokens.words, tokens.doc_ptr, state.z, state.word_topic, state.topic
    label_ptr, labels, beta, beta_sum = state.label_ptr, state.labels, prior.beta, prior.beta_sum
    alpha, alpha_row = prior.alpha, prior.alpha_row
    own = labels[label_ptr[d] : label_ptr[d + 1]]
    weight, coef = np.empty(own.shape[0], np.float64), np.empty(own.shape[0], np.float64)
    doc, place = np.empty(own.shape[0], np.int32), np.empty(topic.shape[0], np.int32)
    counts, lanes = np.empty(own.shape[0], np.int32), np.empty(LANES + 1, np.float64)
    a = alpha[alpha_row[d]]
    share = np.ones(topic.shape[0], np.float64)
    enter_document(z, doc_ptr[d], doc_ptr[d + 1], own, a, topic, beta_sum, share, place, doc, coef)
    v, old = words[token], z[token]
    at = place[old]
    word_topic[v, old] -= 1
    coef[at] = (doc[at] - 1 + a[old]) / (topic[old] - 1 + beta_sum[old])
    weigh_own(word_topic[v], beta[v], own, coef, counts, weight, lanes)
    word_topic[v, old] += 1
    out[:] = 0.0
    for j in range(own.shape[0]):
        out[own[j]] = weight[j]


@kernel
def draw_from_prior(
    doc_ptr: Int64Array, label_ptr: Int64Array, labels: Int32Array, alpha: FloatArray, alpha_row: Int32Array,
    stream: UInt64Array, z: AnyArray,
) -> None:  # fmt: skip
    """First assignments: label k of the document with weight α_k."""
    sums_all = np.empty(alpha.shape[1], np.float64)
    for d in range(doc_ptr.shape[0] - 1):
        own = labels[label_ptr[d] : label_ptr[d + 1]]
        n_own = own.shape[0]
        a, total = alpha[alpha_row[d]], 0.0
        for j in range(n_own):
            total += a[own[j]]
            sums_all[j] = total
        sums = sums_all[:n_own]
        for i in range(doc_ptr[d], doc_ptr[d + 1]):
            if n_own == 1:
                z[i] = own[0]
            else:
                z[i] = own[search_sums(sums, uniform(stream) * total)]


@kernel
def log_joint_documents(
    doc_start: int, doc_stop: int, doc_ptr: Int64Array, z: AnyArray, label_ptr: Int64Array, labels: Int32Array,
    prior: Prior, total: float,
) -> float:  # fmt: skip
    """log p(z | α, labels) of some documents, added to ``total``.

    Each document's θ is a Dirichlet over its own labels, integrated out.
    """
    alpha, alpha_row = prior.alpha, prior.alpha_row
    doc = np.zeros(alpha.shape[1], np.int32)
    for d in range(doc_start, doc_stop):
        start, stop = doc_ptr[d], doc_ptr[d + 1]
        if start == stop:
            continue
        a, s = alpha[alpha_row[d]], 0.0
        for j in range(label_ptr[d], label_ptr[d + 1]):
            s += a[labels[j]]
        for i in range(start, stop):
            doc[z[i]] += 1
        for i in range(start, stop):
            k = z[i]
            if doc[k] > 0:  # each label of the document once; clears the counts for the next document
                total += log_rise(doc[k], a[k])
                doc[k] = 0
        total += lgamma(s) - lgamma(s + (stop - start))
    return total


@kernel
def document_counts(
    doc_ptr: Int64Array, z: AnyArray, label_ptr: Int64Array, labels: Int32Array, n_topics: int, out: FloatArray
) -> None:
    """Fill ``out``, aligned with ``labels``, with n_dk."""
    place = np.empty(n_topics, np.int64)
    out[:] = 0.0
    for d in range(doc_ptr.shape[0] - 1):
        for j in range(label_ptr[d], label_ptr[d + 1]):
            place[labels[j]] = j
        for i in range(doc_ptr[d], doc_ptr[d + 1]):
            out[place[z[i]]] += 1.0


@kernel
def add_soft_counts(
    block: Block, tokens: Tokens, state: LabeledState, prior: Prior, out_doc: FloatArray, out_word: FloatArray
) -> None:
    """Add each token's full conditional over its document's labels (CGS_p eqs. 40, 41), as ``soft_counts`` does.

    ``out_doc`` is aligned with ``labels``, ``out_word`` is words × labels; one with no entries is left out.
    """
    words, doc_ptr, z, word_topic, topic = tokens.words, tokens.doc_ptr, state.z, state.word_topic, state.topic
    label_ptr, labels, beta, beta_sum = state.label_ptr, state.labels, prior.beta, prior.beta_sum
    alpha, alpha_row = prior.alpha, prior.alpha_row
    n_topics = topic.shape[0]
    weight_all, coef_all = np.empty(n_topics, np.float64), np.empty(n_topics, np.float64)
    doc, place, share = np.empty(n_topics, np.int32), np.empty(n_topics, np.int32), np.ones(n_topics, np.float64)
    counts, lanes = np.empty(n_topics, np.int32), np.empty(LANES + 1, np.float64)
    longest = 0
    for d in range(block.doc_start, block.doc_stop):
        longest = max(longest, doc_ptr[d + 1] - doc_ptr[d])
    keys = np.empty(longest, np.int64)
    for d in range(block.doc_start, block.doc_stop):
        start, stop, first = doc_ptr[d], doc_ptr[d + 1], label_ptr[d]
        own = labels[first : label_ptr[d + 1]]
        n_own, n = own.shape[0], np.int64(0)
        a = alpha[alpha_row[d]]
        weight, coef = weight_all[:n_own], coef_all[:n_own]
        enter_document(z, start, stop, own, a, topic, beta_sum, share, place, doc, coef)
        for i in range(start, stop):
            if block.word_start <= words[i] < block.word_stop:
                keys[n] = np.int64(words[i]) * n_topics + z[i]
                n += 1
        put_in_order(keys, n)
        i = 0
        while i < n:
            key = keys[i]
            j = i + 1
            while j < n and keys[j] == key:
                j += 1
            v, old = key // n_topics, key % n_topics
            at = place[old]
            # The token is taken out of the three counts of its own label; all others are as they stand.
            coef_in = coef[at]
            coef[at] = 0.0
            total = weigh_own(word_topic[v], beta[v], own, coef, counts, weight, lanes)
            coef[at] = coef_in
            w = (word_topic[v, old] - 1 + beta[v]) * (doc[at] - 1 + a[old]) / (topic[old] - 1 + beta_sum[old])
            weight[at] = w
            scale = (j - i) / (total + w)
            if out_doc.shape[0] > 0:
                for m in range(n_own):
                    out_doc[first + m] += weight[m] * scale
            if out_word.shape[0] > 0:
                for m in range(n_own):
                    out_word[v, own[m]] += weight[m] * scale
            i = j


def make_draw(
    corpus: Corpus, words: Range, prior: Prior, kernel: Callable[..., None] = sweep_block,
    share: FloatArray | None = None,
) -> Draw:  # fmt: skip
    """Draws blocks of these words."""
    k, shares = prior.n_topics, np.ones(prior.n_topics) if share is None else share
    tokens, listed, work = tokens_of(corpus), room_to_list(corpus, words), np.zeros(2, np.int64)
    numbers, whole = private(np.zeros(2 * k + LANES + 1)), private(np.zeros(3 * k, np.int32))
    scratch = LabeledScratch(
        numbers[:k], numbers[k : 2 * k], whole[:k], whole[k : 2 * k], whole[2 * k :], numbers[2 * k :]
    )

    def draw(docs: Range, state: AnyState, rng: AnyArray) -> Int64Array:
        kernel(Block(*docs, *words), tokens, state, prior, scratch, listed, shares, rng, work)
        return work

    return draw


# Loads do not depend on the label lists, so that all processes that have some of the documents cut the words alike.
LABELED = BlockSampler(
    number=0,
    form=lambda _, state: state,
    make_draw=make_draw,
    loads=lambda corpus, prior: Loads(25.0, 25.0),
    in_pieces=True,
)
