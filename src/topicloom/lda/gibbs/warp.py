"""The sampler "warp": two alternating orders, at a cost per token that does not grow with the number of topics.

After WarpLDA (Chen, Li, Zhu and Chen, 2016). The weight of topic k for a token of word v in document d (CGS_p eq. 1) is

    (n_dk + α_k) · (n_kv + β_kv) / (n_k + Σ_v β_kv),

the token itself taken out. Metropolis-Hastings steps that propose in proportion to one of the first two factors need
only the other one to decide. So a sweep goes through the tokens three times, each time with one short row of counts:

1. by document: propose topics, in proportion to n_dk + α_k, by looking up another token of the document or the prior;
2. by word: accept or refuse them by n_kv + β_kv; then propose, in proportion to n_kv + β_kv, in the same way;
3. by document: accept or refuse these by n_dk + α_k.

What makes this approximate: the counts behind a proposal are those of the time when it was made, and the totals n_k
those of the start of the pass. WarpLDA freezes the counts of the current row as well, and leaves the token itself in
all of them. Here the row's counts move with every token and the token is left out, at next to no cost: rare words do
not stick to their topic, and a chain gets further in each sweep.

Memory for N tokens, beside the corpus: z, 2N bytes; the order by word, 4N; during a sweep ``slots``, 2N for each
proposal and 2N more. Random numbers are SplitMix64's, the n-th of a pass found by multiplication: a token's numbers
depend on where it stands and on nothing else, so the cut into parts changes no result.

Parts of a pass own what they write, and all that they read of each other is from an earlier pass. So ``n_shards`` says
how many threads can share a sweep, and changes no result.
"""

from collections.abc import Callable
from typing import cast

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array
from topicloom.corpus.corpus import Corpus, once
from topicloom.engine.prior import Prior
from topicloom.engine.sampler import Info, Key, Sampler, Schedule, register
from topicloom.engine.state import AnyState, SparseState, new_lists, topic_dtype
from topicloom.engine.threads import cut, run_parallel
from topicloom.lda.gibbs import dense
from topicloom.lda.gibbs.first_topics import first_topics
from topicloom.lda.gibbs.joint import log_joint
from topicloom.numerics.alias import build_aliases, draw_alias
from topicloom.numerics.jit import kernel
from topicloom.numerics.rng import Purpose, mix, path_key
from topicloom.numerics.search import search_sums

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_S11 = np.uint64(11)
_TO_UNIT = 2.0**-53
Range = tuple[int, int]


@kernel
def _uniform(key: np.uint64, n: int) -> float:
    """The n-th number of the stream that starts at ``key``, in [0, 1)."""
    return np.int64(mix(key + np.uint64(n) * _GOLDEN) >> _S11) * _TO_UNIT


@kernel
def order_by_word(words: Int32Array, word_ptr: Int64Array, order: AnyArray) -> None:
    """Token numbers by word, rising within a word."""
    free = word_ptr[:-1].copy()
    for i in range(words.shape[0]):
        v = words[i]
        order[free[v]] = i
        free[v] += 1


@kernel
def propose_by_document(
    doc_start: int, doc_stop: int, doc_ptr: Int64Array, z: AnyArray, alpha_row: Int32Array, alpha_sum: FloatArray,
    keep: FloatArray, other: Int32Array, key: np.uint64, slots: AnyArray,
) -> None:  # fmt: skip
    """First pass: fill ``slots`` with each token's topic and its proposals.

    A topic in proportion to n_dk, the token left out, is the topic of another token of the document.
    """
    n_steps = slots.shape[1] - 1
    for d in range(doc_start, doc_stop):
        begin, end = doc_ptr[d], doc_ptr[d + 1]
        row = alpha_row[d]
        others, smooth = np.float64(end - begin - 1), alpha_sum[row]
        for i in range(begin, end):
            slots[i, 0] = z[i]
            for m in range(n_steps):
                x = _uniform(key, i * n_steps + m) * (others + smooth)
                if x < others:
                    j = begin + np.int64(x)
                    slots[i, m + 1] = z[j + 1 if j >= i else j]
                else:
                    slots[i, m + 1] = draw_alias(keep[row], other[row], (x - others) / smooth)


@kernel
def visit_words(
    word_start: int, word_stop: int, word_ptr: Int64Array, order: AnyArray, prior: Prior, boost_sums: FloatArray,
    size: FloatArray, key: np.uint64, slots: AnyArray, topic: Int64Array,
) -> None:  # fmt: skip
    """Second pass: decide on the documents' proposals, and replace them by the words'.

    ``size`` is n_k + Σβ as of the pass's start. ``topic`` gets the words' n_k added. ``boost_sums`` are the running
    sums of each row of ``boost``.
    """
    beta, boost_row, boost = prior.beta, prior.boost_row, prior.boost
    n_topics, n_steps = size.shape[0], slots.shape[1] - 1
    count = np.zeros(n_topics, np.int32)
    most = 0
    for v in range(word_start, word_stop):
        most = max(most, word_ptr[v + 1] - word_ptr[v])
    own = np.empty(most, slots.dtype)  # the topics of the word's tokens
    for v in range(word_start, word_stop):
        start = word_ptr[v]
        n = word_ptr[v + 1] - start
        b, seed = beta[v], boost_row[v]
        for j in range(n):
            own[j] = slots[np.int64(order[start + j]), 0]
            count[own[j]] += 1
        for j in range(n):
            i = np.int64(order[start + j])
            old = np.int64(own[j])
            k = old
            # Of the topic that the token is in now: its weight and its size, the token itself taken out.
            weight, total = count[k] - 1 + b, size[k] - 1.0
            if seed >= 0:
                weight += boost[seed, k]
            for m in range(n_steps):
                new = np.int64(slots[i, m + 1])
                out = 1 if new == old else 0
                new_weight, new_total = count[new] - out + b, size[new] - out
                if seed >= 0:
                    new_weight += boost[seed, new]
                accepted = _uniform(key, 2 * (start + j) * n_steps + m) * (weight * new_total) < new_weight * total
                k = new if accepted else k
                weight = new_weight if accepted else weight
                total = new_total if accepted else total
            if k != old:
                count[old] -= 1
                count[k] += 1
                own[j] = k
        others, smooth = np.float64(n - 1), n_topics * b
        seeded = boost_sums[seed, n_topics - 1] if seed >= 0 else 0.0
        for j in range(n):
            i = np.int64(order[start + j])
            slots[i, 0] = own[j]
            for m in range(n_steps):
                x = _uniform(key, (2 * (start + j) + 1) * n_steps + m) * (others + smooth + seeded)
                if x < others:
                    t = np.int64(x)
                    slots[i, m + 1] = own[t + 1 if t >= j else t]
                elif x < others + smooth or seeded == 0.0:
                    slots[i, m + 1] = min(np.int64((x - others) / b), n_topics - 1)
                else:
                    slots[i, m + 1] = search_sums(boost_sums[seed], x - others - smooth)
        _take_counts(own[:n], count, topic)


@kernel
def visit_documents(
    doc_start: int, doc_stop: int, doc_ptr: Int64Array, prior: Prior, size: FloatArray, key: np.uint64,
    slots: AnyArray, z: AnyArray, topic: Int64Array,
) -> int:  # fmt: skip
    """Third pass: decide on the words' proposals, and write z. Returns how many tokens differ from what z held."""
    n_steps = slots.shape[1] - 1
    count = np.zeros(size.shape[0], np.int32)
    changed = 0
    for d in range(doc_start, doc_stop):
        begin, end = doc_ptr[d], doc_ptr[d + 1]
        a = prior.alpha[prior.alpha_row[d]]
        for i in range(begin, end):
            count[slots[i, 0]] += 1
        for i in range(begin, end):
            old = np.int64(slots[i, 0])
            k = old
            weight, total = count[k] - 1 + a[k], size[k] - 1.0
            for m in range(n_steps):
                new = np.int64(slots[i, m + 1])
                out = 1 if new == old else 0
                new_weight, new_total = count[new] - out + a[new], size[new] - out
                accepted = _uniform(key, i * n_steps + m) * (weight * new_total) < new_weight * total
                k = new if accepted else k
                weight = new_weight if accepted else weight
                total = new_total if accepted else total
            if k != old:
                count[old] -= 1
                count[k] += 1
            changed += 1 if k != z[i] else 0
            z[i] = k
        _take_counts(z[begin:end], count, topic)
    return changed


@kernel
def _take_counts(topics: AnyArray, count: Int32Array, topic: Int64Array) -> None:
    """Add the counts of one row to the totals and clear them."""
    for i in range(topics.shape[0]):
        k = topics[i]
        topic[k] += count[k]
        count[k] = 0


@kernel
def fill_lists(word_start: int, word_stop: int, word_ptr: Int64Array, order: AnyArray, state: SparseState) -> None:
    """Fill the words' lists (count · 2³² + topic), the largest count first, otherwise in the order of the tokens."""
    z, list_ptr, entries, n_topics = state.z, state.list_ptr, state.entries, state.topic.shape[0]
    count = np.zeros(n_topics, np.int32)
    for v in range(word_start, word_stop):
        for j in range(word_ptr[v], word_ptr[v + 1]):
            count[z[np.int64(order[j])]] += 1
        first = list_ptr[v]
        n = 0
        for j in range(word_ptr[v], word_ptr[v + 1]):
            k = np.int64(z[np.int64(order[j])])
            if count[k] > 0:
                entry = (np.int64(count[k]) << 32) + k
                count[k] = 0
                if n > 0 and entry > entries[first]:
                    entries[first + n] = entries[first]
                    entries[first] = entry
                else:
                    entries[first + n] = entry
                n += 1
        state.list_size[v] = n


@once
def _by_word(corpus: Corpus) -> tuple[Int64Array, AnyArray]:
    """As ``corpus.by_word`` in 4 bytes per token: where each word's tokens begin, and their numbers."""
    ptr = np.concatenate(([0], np.cumsum(corpus.word_counts, dtype=np.int64)))
    order = np.empty(corpus.n_tokens, np.uint32 if corpus.n_tokens < 1 << 32 else np.int64)
    order_by_word(corpus.words, ptr, order)
    return ptr, order


def _init(corpus: Corpus, prior: Prior, key: Key) -> AnyState:
    return _restore(corpus, first_topics(corpus, prior, key), prior.n_topics)


def _restore(corpus: Corpus, z: AnyArray, n_topics: int) -> SparseState:
    z = np.ascontiguousarray(z, topic_dtype(n_topics))
    state = new_lists(corpus, z, n_topics)
    state.topic[:] = np.bincount(z, minlength=n_topics)
    ptr, order = _by_word(corpus)
    fill_lists(0, corpus.n_words, ptr, order, state)
    return state


def _sweep(corpus: Corpus, state: AnyState, prior: Prior, key: Key, schedule: Schedule) -> tuple[AnyState, Info]:
    lists = cast(SparseState, state)
    z, topic = lists.z, lists.topic
    n_topics, (word_ptr, order) = prior.n_topics, _by_word(corpus)
    docs, words = cut(corpus.doc_lengths, schedule.n_shards), cut(corpus.word_counts, schedule.n_shards)
    slots = np.empty((len(z), 1 + schedule.n_mh), z.dtype)
    keep, other = np.empty(prior.alpha.shape), np.empty(prior.alpha.shape, np.int32)
    build_aliases(prior.alpha, keep, other)
    alpha_sum, boost_sums = prior.alpha.sum(axis=1), np.cumsum(prior.boost, axis=1)
    stream = [path_key(key.seed, Purpose.SWEEP, key.chain, key.sweep, number) for number in range(3)]

    def propose(docs: Range) -> None:
        propose_by_document(
            docs[0], docs[1], corpus.doc_ptr, z, prior.alpha_row, alpha_sum, keep, other, stream[0], slots
        )

    def pass_by_word(words: Range, size: FloatArray, counted: Int64Array) -> int:
        visit_words(words[0], words[1], word_ptr, order, prior, boost_sums, size, stream[1], slots, counted)
        return 0  # who changed for good is known after the last pass

    def pass_by_document(docs: Range, size: FloatArray, counted: Int64Array) -> int:
        return visit_documents(docs[0], docs[1], corpus.doc_ptr, prior, size, stream[2], slots, z, counted)

    def count(visit: Callable[[Range, FloatArray, Int64Array], int], parts: list[Range]) -> int:
        """A pass that sees the totals of its start and leaves those of its end."""
        size = topic + prior.beta_sum
        tasks = [(part, np.zeros(n_topics, np.int64)) for part in parts]
        changed = run_parallel(lambda task: visit(task[0], size, task[1]), tasks, schedule.n_jobs)
        topic[:] = np.sum([counted for _, counted in tasks], axis=0)
        return sum(changed)

    run_parallel(propose, docs, schedule.n_jobs)
    count(pass_by_word, words)
    changed = count(pass_by_document, docs)
    run_parallel(lambda part: fill_lists(part[0], part[1], word_ptr, order, lists), words, schedule.n_jobs)
    return lists, Info(changed, 2 * schedule.n_mh * len(z))


# Its ``conditional`` has the exact weights, which the steps are aimed at.
register(Sampler("warp", _init, _restore, _sweep, log_joint, dense.conditional_of, exact=False))
