"""First topics, each drawn given those before it: the online start of Griffiths and Steyvers (2004).

A token of word v is placed in topic k with weight (n_kv + β_v) (n_dk + α_k) / (n_k + Σβ), counts being those of the
tokens placed so far. It costs about one sweep of ``sparse``, whose lists it builds, and lists are short from the
outset: from topics drawn at random a frequent word has all topics in its list, and the first sweeps go through them.

The weight of a frequent word, whose list is long, is split in three,

    n_kv · n_dk / (n_k + Σβ)  +  n_kv · α_k / (n_k + Σβ)  +  β_v · (n_dk + α_k) / (n_k + Σβ).

The first part is non-zero only for the topics of the document. The third is β_v times a sum that is kept for all words
together. The second, the word's *pull*, is spread over the word's whole list, but few draws fall into it. Its sum is
kept for topic totals as they were some time ago: too large, as totals only grow. So a draw from it is accepted with the
probability that makes up for the difference, otherwise all is drawn again, and the topic has exactly the distribution
that it should have without a sum over the list. A long word's counts are a row over all topics until the end.

Documents are taken in strides, so that the first ones to form topics come from the whole corpus, which may be sorted,
and files are still read in order.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array, UInt64Array
from topicloom.corpus.corpus import Corpus
from topicloom.engine.blocks import Tokens, tokens_of
from topicloom.engine.count_lists import ONE, SHIFT, TOPIC, find, sort_lists
from topicloom.engine.prior import Prior
from topicloom.engine.sampler import Key
from topicloom.engine.state import SparseState, new_assignments, new_lists
from topicloom.lda.gibbs.sparse import _AHEAD, _REFRESH, ask_for, leave, search_blocks, search_boost, set_alpha
from topicloom.lda.gibbs.topic_lines import (
    ALPHA,
    BETA_SUM,
    BLOCK,
    DOC,
    INVERSE,
    NOWHERE,
    PLACE,
    TOTAL,
    ListScratch,
    fill,
    list_scratch,
)  # fmt: skip
from topicloom.numerics.jit import bare_kernel, step
from topicloom.numerics.prefetch import prefetch
from topicloom.numerics.rng import Purpose, stream, uniform
from topicloom.numerics.sums import dot, sum_first, sum_of

STRIDE = 8
_SOON = 2  # tokens from now whose rows are asked for
_FAR = 1 << 17  # cells of rows beyond which they are: near caches are full
_REFUSED = 1000  # draws for one token after which the sums are those of now
SHORT, SEEDED = -1, -2  # in place of a word's row: it has none; it has none and is a seed word
_ROOM = 4  # a word has a row only if it has a token for so many of its cells: rows take twice what lists do at the most
_MOST = 1 << 31  # tokens of a word, more than which a row's cell cannot hold


class Rows(NamedTuple):
    """Counts of frequent words, and what draws for them need."""

    row_of: Int32Array  # [V] a word's row, or what else it is
    words: Int32Array  # [R] the words that have rows, ascending
    rows: Int32Array  # [R, K] their counts
    largest: FloatArray  # [K] the largest α of any document
    pulls: FloatArray  # [R] sums of ``pull`` over the words' tokens
    pull: FloatArray  # [K] ``largest`` over totals, with Σβ, as they were some time ago
    share: FloatArray  # [K + 1] n_dk / (n_k + Σβ) of the document's topics


@bare_kernel
def _sum_pulls(frequent: Rows, state: SparseState, lines: FloatArray) -> int:
    """Sum up the pulls of the long words for topic totals as they are now; returns how many numbers were looked at."""
    long_words, rows, pulls, pull = frequent.words, frequent.rows, frequent.pulls, frequent.pull
    list_ptr, list_size, entries = state.list_ptr, state.list_size, state.entries
    for k in range(pull.shape[0]):
        pull[k] = frequent.largest[k] / (lines[k, TOTAL] + lines[k, BETA_SUM])
    looked_at = pull.shape[0]
    for r in range(long_words.shape[0]):
        v = long_words[r]
        pulls[r] = 0.0
        for j in range(list_ptr[v], list_ptr[v] + list_size[v]):
            k = entries[j] & TOPIC
            pulls[r] += rows[r, k] * pull[k]
        looked_at += list_size[v]
    return int(looked_at)


@step
def _search_pull(
    rows: Int32Array, r: int, start: int, size: int, entries: Int64Array, pull: FloatArray, u: float
) -> int:
    """The topic in whose stretch of the running sum of a word's pulls u falls."""
    k = entries[start] & TOPIC
    for j in range(start, start + size):
        k = entries[j] & TOPIC
        u -= rows[r, k] * pull[k]
        if u < 0.0:
            break
    return int(k)


@bare_kernel
def _pull_now(rows: Int32Array, r: int, start: int, size: int, entries: Int64Array, lines: FloatArray) -> float:
    """The sum of a word's pulls for topic totals as they are."""
    total = 0.0
    for j in range(start, start + size):
        k = entries[j] & TOPIC
        total += rows[r, k] * (lines[k, ALPHA] * lines[k, INVERSE])
    return total


@bare_kernel
def _search_pull_now(
    rows: Int32Array, r: int, start: int, size: int, entries: Int64Array, lines: FloatArray, u: float
) -> int:
    """The topic in whose stretch of that sum u falls."""
    k = entries[start] & TOPIC
    for j in range(start, start + size):
        k = entries[j] & TOPIC
        u -= rows[r, k] * (lines[k, ALPHA] * lines[k, INVERSE])
        if u < 0.0:
            break
    return int(k)


@step
def _weigh_own(rows: Int32Array, r: int, met: AnyArray, own: FloatArray, n_met: int, weight: FloatArray) -> float:
    """Fill ``weight`` with n_kv n_dk / (n_k + Σβ) of the document's topics; returns the sum."""
    even, odd = 0.0, 0.0  # two sums, as each addition waits for the one before it
    for j in range(0, n_met - 1, 2):
        w = rows[r, met[j]] * own[j]
        weight[j] = w
        even += w
        w = rows[r, met[j + 1]] * own[j + 1]
        weight[j + 1] = w
        odd += w
    if n_met & 1:
        w = rows[r, met[n_met - 1]] * own[n_met - 1]
        weight[n_met - 1] = w
        even += w
    return even + odd


@bare_kernel
def _count_lists(frequent: Rows, state: SparseState) -> None:
    """Counts from the rows into the lists, whose entries are topics alone."""
    entries = state.entries
    for r in range(frequent.words.shape[0]):
        v = frequent.words[r]
        for j in range(state.list_ptr[v], state.list_ptr[v] + state.list_size[v]):
            entries[j] += np.int64(frequent.rows[r, entries[j]]) << SHIFT


@step
def _join_long(rows: Int32Array, r: int, start: int, size: int, entries: Int64Array, new: int) -> int:
    """One more token of a long word in a topic; returns the list's length. Counts are in the row alone."""
    if rows[r, new] == 0:
        entries[start + size] = new
        size += 1
    rows[r, new] += 1
    return size


@step
def _join(entries: Int64Array, start: int, size: int, at: int, new: int) -> int:
    """One more token of topic ``new``, whose entry is ``at`` or the list's end; returns the list's length."""
    if at == start + size:
        entries[at] = ONE + new
        return size + 1
    e = entries[at] + ONE
    if at > start and entries[at - 1] < e:
        entries[at] = entries[at - 1]
        at -= 1
    entries[at] = e
    return size


@step
def _place_listed(
    v: int, start: int, size: int, seeded: bool, total_coef: float, state: SparseState, prior: Prior,
    scratch: ListScratch, stream: UInt64Array,
) -> tuple[int, int]:  # fmt: skip
    """The topic of a token by its word's list, and where it stands there."""
    entries, weight, coef, blocks = state.entries, scratch.weight, scratch.coef, scratch.blocks
    beta, boost_row, boost = prior.beta, prior.boost_row, prior.boost
    for j in range(size):
        e = entries[start + j]
        weight[j] = (e >> SHIFT) * coef[e & TOPIC]
    total = sum_first(weight, size)
    smooth, lift = beta[v] * total_coef, 0.0
    if seeded:
        lift = dot(boost[boost_row[v]], coef)
    u = uniform(stream) * (total + smooth + lift)
    if u < total:
        at = start
        while at < start + size - 1 and u >= weight[at - start]:
            u -= weight[at - start]
            at += 1
        return entries[at] & TOPIC, at
    if u < total + smooth or not seeded:
        new = search_blocks(coef, blocks, (u - total) / beta[v])
    else:
        new = search_boost(boost[boost_row[v]], coef, u - total - smooth)
    return new, find(entries, start, size, new)


@step
def _place_long(
    r: int, start: int, size: int, n_met: int, total_coef: float, beta: float, pulled: float, frequent: Rows,
    state: SparseState, scratch: ListScratch, stream: UInt64Array,
) -> tuple[int, int]:  # fmt: skip
    """The topic of a token of a long word by its document's, and how many draws were refused.

    Totals only grow here, so that pulls for earlier ones are never too small.
    """
    rows, share, pull, entries = frequent.rows, frequent.share, frequent.pull, state.entries
    lines, coef, blocks, weight, met = scratch.lines, scratch.coef, scratch.blocks, scratch.weight, scratch.met
    total, smooth = _weigh_own(rows, r, met, share, n_met, weight), beta * total_coef
    refused = 0
    while True:
        u = uniform(stream) * (total + smooth + pulled)
        if u < total:
            j = 0
            while j < n_met - 1 and u >= weight[j]:
                u -= weight[j]
                j += 1
            return int(met[j]), refused
        if u < total + smooth or size == 0:
            return search_blocks(coef, blocks, (u - total) / beta), refused
        if refused == _REFUSED:
            return _search_pull_now(rows, r, start, size, entries, lines, u - total - smooth), refused
        new = _search_pull(rows, r, start, size, entries, pull, u - total - smooth)
        if uniform(stream) * pull[new] < lines[new, ALPHA] * lines[new, INVERSE]:
            return new, refused
        refused += 1
        if refused == _REFUSED:  # with a tiny β, pulls for no tokens are so large that next to no draw is accepted
            pulled = _pull_now(rows, r, start, size, entries, lines)


@bare_kernel
def count_given(
    tokens: Tokens, nothing: int, state: SparseState, frequent: Rows, totals: Int64Array
) -> None:  # fmt: skip
    """Count the tokens whose topics are given, as ``place_tokens`` would leave them; others have ``nothing`` in z."""
    words, z = tokens.words, state.z
    list_ptr, list_size, entries = state.list_ptr, state.list_size, state.entries
    for i in range(words.shape[0]):
        if z[i] == nothing:
            continue
        v, k = words[i], np.int64(z[i])
        start, size, r = list_ptr[v], list_size[v], np.int64(frequent.row_of[v])
        if r < 0:
            list_size[v] = _join(entries, start, size, find(entries, start, size, k), k)
        else:
            list_size[v] = _join_long(frequent.rows, r, start, size, entries, k)
        totals[k] += 1


@bare_kernel
def _enter_given(
    z: AnyArray, nothing: int, lines: FloatArray, coef: FloatArray, blocks: FloatArray, share: FloatArray, met: AnyArray
) -> int:
    """Count the topics of a document's tokens that are given; returns how many topics there are."""
    n_met = 0
    for k in z:
        if k == nothing:
            continue
        if lines[k, PLACE] == NOWHERE:
            lines[k, PLACE] = n_met
            met[n_met] = k
            n_met += 1
        lines[k, DOC] += 1.0
    for j in range(n_met):
        k = met[j]
        share[j] = lines[k, DOC] * lines[k, INVERSE]
        c = (lines[k, DOC] + lines[k, ALPHA]) * lines[k, INVERSE]
        blocks[k >> BLOCK] += c - coef[k]
        coef[k] = c
    return n_met


@bare_kernel
def place_tokens(
    tokens: Tokens, docs: Int64Array, nothing: int, state: SparseState, prior: Prior, frequent: Rows,
    scratch: ListScratch, stream: UInt64Array,
) -> None:  # fmt: skip
    """Place the tokens that have no topic yet, one document after the other.

    These have ``nothing`` in z; if it is no topic's number but negative, no token has a topic. Lists, rows and the
    totals in ``scratch.lines`` come with the tokens that have one, and are left with all, lists nearly in order:
    ``sort_lists`` puts them in order.
    """
    words, doc_ptr, z, beta = tokens.words, tokens.doc_ptr, state.z, prior.beta
    list_ptr, list_size, entries = state.list_ptr, state.list_size, state.entries
    row_of, rows, pulls, pull, share = frequent.row_of, frequent.rows, frequent.pulls, frequent.pull, frequent.share
    lines, coef, blocks, met = scratch.lines, scratch.coef, scratch.blocks, scratch.met
    n_tokens = words.shape[0]
    row, wasted, patience, far, stale = -1, 1, 0, rows.size > _FAR, False
    for entered in range(docs.shape[0]):
        d = docs[entered]
        if prior.alpha_row[d] != row or entered % _REFRESH == 0:
            row = prior.alpha_row[d]
            set_alpha(prior.alpha[row], lines, coef, blocks)
        if wasted > patience:  # as much was looked at in vain as new sums look at
            patience = _sum_pulls(frequent, state, lines)
            wasted = 0
        n_met = 0
        if nothing >= 0:
            n_met = _enter_given(z[doc_ptr[d] : doc_ptr[d + 1]], nothing, lines, coef, blocks, share, met)
        total_coef = sum_of(blocks)
        for i in range(doc_ptr[d], doc_ptr[d + 1]):
            if nothing >= 0 and z[i] != nothing:
                continue
            v = words[i]
            if i + _AHEAD < n_tokens:
                ask_for(words[i + _AHEAD], state, prior)
                prefetch(row_of, words[i + _AHEAD])
            if far and i + _SOON < doc_ptr[d + 1] and row_of[words[i + _SOON]] >= 0:
                for j in range(n_met):  # the counts that a draw for a long word will look at
                    prefetch(rows, int(row_of[words[i + _SOON]]) * rows.shape[1] + met[j])
            start, size, r = list_ptr[v], list_size[v], np.int64(row_of[v])
            if r < 0:
                new, at = _place_listed(
                    v, start, size, r == SEEDED, total_coef, state, prior, scratch, stream
                )  # fmt: skip
                list_size[v] = _join(entries, start, size, at, new)
            else:
                new, refused = _place_long(
                    r, start, size, n_met, total_coef, beta[v], pulls[r], frequent, state, scratch, stream
                )  # fmt: skip
                wasted += refused * size
                stale = refused == _REFUSED
                list_size[v] = _join_long(rows, r, start, size, entries, new)
                pulls[r] += pull[new]
            z[i] = new
            if lines[new, PLACE] == NOWHERE:
                lines[new, PLACE] = n_met
                met[n_met] = new
                n_met += 1
            lines[new, TOTAL] += 1.0
            lines[new, DOC] += 1.0
            inverse = 1.0 / (lines[new, TOTAL] + lines[new, BETA_SUM])
            lines[new, INVERSE] = inverse
            share[int(lines[new, PLACE])] = lines[new, DOC] * inverse
            c = (lines[new, DOC] + lines[new, ALPHA]) * inverse
            total_coef += c - coef[new]
            blocks[new >> BLOCK] += c - coef[new]
            coef[new] = c
            if stale:
                patience = _sum_pulls(frequent, state, lines)
                wasted, stale = 0, False
        leave(lines, coef, blocks, met, n_met)
    _count_lists(frequent, state)


def frequent_words(corpus: Corpus, prior: Prior) -> Int32Array:
    """The words that have rows."""
    n = corpus.word_counts
    return np.flatnonzero((_ROOM * n >= prior.n_topics) & (n < _MOST) & (prior.boost_row < 0)).astype(np.int32)


def new_rows(prior: Prior, words: Int32Array) -> Rows:
    """Rows without counts, and no pulls yet."""
    row_of = np.where(prior.boost_row < 0, SHORT, SEEDED).astype(np.int32)
    row_of[words] = np.arange(len(words))
    K = prior.n_topics
    rows = np.zeros((len(words), K), np.int32)
    return Rows(row_of, words, rows, prior.alpha.max(axis=0), np.zeros(len(words)), np.zeros(K), np.zeros(K + 1))


def in_strides(n_docs: int) -> Int64Array:
    """All documents in strides."""
    return np.concatenate([np.arange(first, n_docs, STRIDE) for first in range(STRIDE)])


def place_first(
    corpus: Corpus, state: SparseState, prior: Prior, rows: Rows, rng: AnyArray,
    kernel: Callable[..., None] = place_tokens, nothing: int = -1,
) -> None:  # fmt: skip
    """Fill z, lists and totals. Topics that are in z stay as they are, if tokens without one have ``nothing`` there."""
    scratch, totals = list_scratch(prior), np.zeros(prior.n_topics, np.int64)
    docs, tokens = in_strides(corpus.n_docs), tokens_of(corpus)
    state.list_size[:] = 0
    rows.rows[:] = 0
    if nothing >= 0:
        count_given(tokens, nothing, state, rows, totals)
    fill(totals, prior.beta_sum, np.ones(prior.n_topics), scratch.lines)
    kernel(tokens, docs, nothing, state, prior, rows, scratch, rng)
    state.topic[:] = scratch.lines[:, TOTAL]


def place_others(corpus: Corpus, z: AnyArray, nothing: int, prior: Prior, rng: AnyArray) -> SparseState:
    """The topics of tokens that have ``nothing`` in z, each drawn given those that have one and those before it."""
    state = new_lists(corpus, z, prior.n_topics)
    place_first(corpus, state, prior, new_rows(prior, frequent_words(corpus, prior)), rng, nothing=nothing)
    sort_lists(0, corpus.n_words, state)
    return state


def place_online(corpus: Corpus, prior: Prior, key: Key) -> SparseState:
    """First topics, each token's drawn given those before it."""
    rng = stream(key.seed, Purpose.START, key.chain)
    return place_others(corpus, new_assignments(corpus, prior.n_topics), -1, prior, rng)
