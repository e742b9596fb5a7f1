"""Collapsed Gibbs sampling word by word, at a cost that follows the number of topics in a document (exact).

For large corpora, in which frequent words have long lists of topics. The weight of topic k for a token of word v
(CGS_p eq. 1), divided by β_v, is

    (n_dk + α_k) · f_k        with  f_k = (1 + n_kv / β_v) / (n_k + Σβ),

the token itself taken out of all counts. While one word's tokens are drawn, f changes for two topics whenever a token
moves, and it is 1 / (n_k + Σβ) for all topics that the word does not have, so that reaching a word costs the length of
its list. The part n_dk f_k is non-zero for the topics of the document alone. The sum of the other, α_k f_k, is kept:
that of α_k / (n_k + Σβ) over all topics for all words together, and the rest over the word's list. Where α differs
between documents, the largest α of each topic is in its place, and a draw is accepted with the probability that makes
up for it, otherwise all is drawn again: the topic has exactly the distribution that it should have. What is refused too
often is drawn from all weights, which changes nothing in that.

The order of the tokens is what makes this quick with many topics. What is looked up at random is one number per topic,
of one word; of a document only its few topics are read, which lie side by side; and so that these are near, too,
documents are taken some thousand at a time. (F+LDA by Yu and others, 2015, goes word by word, too, with its sums in a
tree.)
"""

from collections.abc import Callable

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array, UInt64Array
from topicloom.corpus.corpus import Corpus
from topicloom.engine.blocks import Block, Range, room_to_list, tokens_of
from topicloom.engine.count_lists import SHIFT, TOPIC
from topicloom.engine.prior import Prior
from topicloom.engine.sampler import register
from topicloom.engine.shards import Draw, Loads
from topicloom.engine.state import SparseState, rebuild_lists
from topicloom.lda.gibbs import sparse
from topicloom.lda.gibbs.in_blocks import BlockSampler, sampler_in_blocks
from topicloom.lda.gibbs.sparse import search_blocks, search_boost, search_but, set_alpha
from topicloom.lda.gibbs.topic_lines import (
    ALPHA,
    BETA_SUM,
    BLOCK,
    INVERSE,
    INVERSE_OUT,
    LINE,
    SHARE,
    TOTAL,
    ListScratch,
    fill,
    list_scratch,
)  # fmt: skip
from topicloom.lda.gibbs.word_order import WordScratch, gather, list_documents, scatter, steps_of, word_scratch
from topicloom.numerics.jit import bare_kernel, step
from topicloom.numerics.prefetch import prefetch
from topicloom.numerics.rng import uniform
from topicloom.numerics.sums import dot, sum_of

_AHEAD, _SOON = 16, 8  # tokens from now for which is asked where their documents' topics are, and for these
_OWN_LINE = 16  # entries of a document in a cache line
# nanoseconds per token, topic of its document, and entry of a word's list when the sampler reaches it
TOKEN_COST, TOPIC_COST, ENTRY_COST = 45.0, 1.1, 5.0
_REFUSED = 1000  # draws for one token after which its topic is drawn from all weights


@step
def _reach(
    start: int, size: int, entries: Int64Array, per: float, row: Int32Array, factor: FloatArray, coef: FloatArray
) -> float:
    """Factors for a word; returns the sum of α_k n_kv / β_v (n_k + Σβ). ``row`` gets 2 n_kv, plus 1 if listed."""
    pulled = 0.0
    for j in range(start, start + size):
        k, n = entries[j] & TOPIC, entries[j] >> SHIFT
        row[k] = 2 * n + 1
        factor[k] *= 1.0 + n * per
        pulled += coef[k] * (n * per)
    return pulled


@bare_kernel
def _leave(
    start: int, size: int, entries: Int64Array, row: Int32Array, factor: FloatArray, lines: FloatArray
) -> int:  # fmt: skip
    """The word's list as its row says, and factors as of a word without tokens; returns the list's length."""
    stop = start
    for j in range(start, start + size):
        k, n = entries[j] & TOPIC, np.int64(row[entries[j] & TOPIC] >> 1)
        if n > 0:
            entries[stop] = (n << SHIFT) + k
            stop += 1
        row[k] = 0
        factor[k] = lines[k, INVERSE]
    return int(stop - start)


@bare_kernel
def _drop_left(start: int, size: int, entries: Int64Array, row: Int32Array) -> int:
    """Leave topics that the word has left out of its list, which has room for those that it has; returns its length."""
    stop = start
    for j in range(start, start + size):
        k = entries[j] & TOPIC
        if row[k] >> 1 > 0:
            entries[stop] = entries[j]
            stop += 1
        else:
            row[k] = 0
    return int(stop - start)


@step
def _weigh(
    own: AnyArray, at: int, n: int, old: int, shift: int, factor: FloatArray, weight: FloatArray
) -> tuple[float, int]:
    """Fill ``weight`` with n_dk f_k of the document's topics; returns the sum, and where topic ``old`` stands."""
    mask = (1 << shift) - 1
    even, odd, o = 0.0, 0.0, 0  # two sums, as each addition waits for the one before it
    for j in range(0, n - 1, 2):
        e, f = np.int64(own[at + j]), np.int64(own[at + j + 1])
        k, other = e & mask, f & mask
        w = (e >> shift) * factor[k]
        x = (f >> shift) * factor[other]
        if k == old:
            o = j
        if other == old:
            o = j + 1
        weight[j] = w
        weight[j + 1] = x
        even += w
        odd += x
    if n & 1:
        e = np.int64(own[at + n - 1])
        k = e & mask
        w = (e >> shift) * factor[k]
        if k == old:
            o = n - 1
        weight[n - 1] = w
        even += w
    return even + odd, o


@bare_kernel
def _find(own: AnyArray, at: int, n: int, k: int, mask: int) -> int:
    """Where topic k stands among the n of a document, or n."""
    j = 0
    while j < n and np.int64(own[at + j]) & mask != k:
        j += 1
    return j


@step
def _search_list(
    start: int, size: int, entries: Int64Array, row: Int32Array, coef: FloatArray, per: float, u: float
) -> int:
    """The topic of the word's list in whose stretch of α_k n_kv / β_v (n_k + Σβ) u falls."""
    j = start
    k = int(entries[j] & TOPIC)
    u -= coef[k] * ((row[k] >> 1) * per)
    while u >= 0.0 and j < start + size - 1:
        j += 1
        k = int(entries[j] & TOPIC)
        u -= coef[k] * ((row[k] >> 1) * per)
    return k


@bare_kernel
def _draw_whole(
    own: AnyArray, at: int, n: int, o: int, old: int, mask: int, stay: float, alpha: FloatArray, factor: FloatArray,
    weight: FloatArray, stream: UInt64Array,
) -> int:  # fmt: skip
    """A token's topic from the weights of all topics, one after the other; no draw is refused.

    With a tiny β nearly all of the lines sums may be the token's own, and draws from them would be refused for hours.
    """
    total = stay
    for j in range(n):
        total += weight[j] if j != o else 0.0
    for k in range(factor.shape[0]):
        total += alpha[k] * factor[k] if k != old else 0.0
    u = uniform(stream) * total - stay
    if u < 0.0:
        return old
    for j in range(n):
        u -= weight[j] if j != o else 0.0
        if u < 0.0:
            return int(own[at + j]) & mask
    found = old
    for k in range(factor.shape[0]):
        if k != old:
            found = k
            u -= alpha[k] * factor[k]
            if u < 0.0:
                break
    return found


@bare_kernel
def _pull_anew(start: int, size: int, entries: Int64Array, row: Int32Array, coef: FloatArray, per: float) -> float:
    """The sum of α_k n_kv / β_v (n_k + Σβ) over the word's list, without what rounding has added to it."""
    pulled = 0.0
    for j in range(start, start + size):
        k = entries[j] & TOPIC
        pulled += coef[k] * ((row[k] >> 1) * per)
    return pulled


@step
def _move_own(own: AnyArray, at: int, n: int, o: int, j: int, new: int, shift: int) -> int:
    """Move a token of a document from entry o to entry j, or if that is n to topic ``new``; returns their number."""
    one = np.int64(1) << shift
    left = np.int64(own[at + o]) - one
    if j < n:
        own[at + j] += one
        if left >= one:
            own[at + o] = left
        else:
            n -= 1
            own[at + o] = own[at + n]
    elif left >= one:
        own[at + o] = left
        own[at + n] = one + new
        n += 1
    else:
        own[at + o] = one + new
    own[at - 1] = n
    return n


@bare_kernel
def sweep_words(
    block: Block, state: SparseState, prior: Prior, largest: FloatArray, topics: ListScratch, scratch: WordScratch,
    stream: UInt64Array, work: Int64Array,
) -> None:  # fmt: skip
    """Draw the topics of the gathered tokens, word by word, and make ``scratch.first`` ready for ``scatter``.

    ``largest`` has the largest α_k of any document. Topics' totals come and are left in ``topics.lines``. How many
    tokens changed, and how many weights were computed, is added to ``work``.
    """
    list_ptr, list_size, entries = state.list_ptr, state.list_size, state.entries
    alpha, alpha_row, beta = prior.alpha, prior.alpha_row, prior.beta
    boost_row, boost = prior.boost_row, prior.boost
    lines, coef, blocks, weight = topics.lines, topics.coef, topics.blocks, topics.weight
    factor, row, place, own, shift = scratch.factor, scratch.row, scratch.place, scratch.own, scratch.shift
    first, tokens, doc_start, word_start = scratch.first, scratch.tokens, block.doc_start, block.word_start
    mask, one_prior = (1 << shift) - 1, alpha.shape[0] == 1
    changed, weighed = 0, 0
    set_alpha(largest, lines, coef, blocks)
    for k in range(factor.shape[0]):
        factor[k] = lines[k, INVERSE]
    for r in range(first.shape[0] - 2):
        begin, end = first[r], first[r + 1]
        if begin == end:
            continue
        v = word_start + r
        seed, per, lift = boost_row[v], 1.0 / beta[v], 0.0
        start, size, smooth = list_ptr[v], int(list_size[v]), sum_of(blocks)
        pulled = _reach(start, size, entries, per, row, factor, coef)
        if seed >= 0:
            for k in range(factor.shape[0]):
                factor[k] += lines[k, INVERSE] * boost[seed, k] * per
            lift = dot(boost[seed], coef) * per
        weighed += size
        weighed_doc, total_own, at, n, o = -1, 0.0, 0, 0, 0
        for t in range(begin, end):
            if t + _AHEAD < end:
                prefetch(place, tokens[t + _AHEAD] >> SHIFT)
                prefetch(own, place[tokens[t + _SOON] >> SHIFT])
                prefetch(own, place[tokens[t + _SOON] >> SHIFT] + _OWN_LINE)
                prefetch(lines, (tokens[t + _SOON] & TOPIC) * LINE)
            d, old = tokens[t] >> SHIFT, tokens[t] & TOPIC
            if d != weighed_doc:
                weighed_doc, at = d, place[d] + 1
                n = int(own[at - 1])
                total_own, o = _weigh(own, at, n, old, shift, factor, weight)
                weighed += n
            else:
                o = _find(own, at, n, old, mask)
            # The token is taken out: its old topic gets these in place of what the arrays hold.
            a = 0 if one_prior else alpha_row[doc_start + d]
            inverse_out = lines[old, INVERSE_OUT]
            more = boost[seed, old] if seed >= 0 else 0.0
            factor_out = inverse_out * (1.0 + ((row[old] >> 1) - 1 + more) * per)
            stay = ((np.int64(own[at + o]) >> shift) - 1 + alpha[a, old]) * factor_out
            others = total_own - weight[o]
            new, j, refused = old, o, 0
            while True:
                u = uniform(stream) * (stay + others + pulled + smooth + lift) - stay
                if u < 0.0:  # the commonest outcome once a chain has settled, so it comes first
                    break
                if u < others:
                    j = search_but(weight, n, o, u)
                    new = np.int64(own[at + j]) & mask
                    break
                if u < others + pulled:
                    new = _search_list(start, size, entries, row, coef, per, u - others)
                elif u < others + pulled + smooth or seed < 0:
                    new = np.int64(search_blocks(coef, blocks, u - others - pulled))
                else:
                    new = np.int64(search_boost(boost[seed], coef, (u - others - pulled - smooth) / per))
                # The old topic is in these sums, with the token: what falls to it there is drawn again.
                if new != old and (one_prior or uniform(stream) * largest[new] < alpha[a, new]):
                    j = _find(own, at, n, new, mask)
                    break
                new = old
                refused += 1
                if refused == _REFUSED:
                    new = np.int64(
                        _draw_whole(own, at, n, o, old, mask, stay, alpha[a], factor, weight, stream)
                    )  # fmt: skip
                    j = _find(own, at, n, new, mask)
                    set_alpha(largest, lines, coef, blocks)
                    smooth, pulled = sum_of(blocks), _pull_anew(start, size, entries, row, coef, per)
                    lift = dot(boost[seed], coef) * per if seed >= 0 else 0.0
                    break
            if new == old:
                continue
            changed += 1
            tokens[t] = (d << SHIFT) + new
            n = _move_own(own, at, n, o, j, new, shift)
            weighed_doc = -1
            # the old topic
            row[old] -= 2
            lines[old, TOTAL] -= 1.0
            lines[old, INVERSE] = inverse_out
            lines[old, INVERSE_OUT] = lines[old, SHARE] / (lines[old, TOTAL] - 1.0 + lines[old, BETA_SUM])
            factor[old] = factor_out
            c = lines[old, ALPHA] * inverse_out
            pulled += (c * (row[old] >> 1) - coef[old] * ((row[old] >> 1) + 1)) * per
            lift += (c - coef[old]) * more * per
            smooth += c - coef[old]
            blocks[old >> BLOCK] += c - coef[old]
            coef[old] = c
            # the new topic
            if row[new] == 0:
                if start + size == list_ptr[v + 1]:
                    size = _drop_left(start, size, entries, row)
                entries[start + size] = new
                size += 1
                row[new] = 1
            row[new] += 2
            lines[new, TOTAL] += 1.0
            lines[new, INVERSE_OUT] = lines[new, INVERSE]
            lines[new, INVERSE] = lines[new, SHARE] / (lines[new, TOTAL] + lines[new, BETA_SUM])
            more = boost[seed, new] if seed >= 0 else 0.0
            factor[new] = lines[new, INVERSE] * (1.0 + ((row[new] >> 1) + more) * per)
            c = lines[new, ALPHA] * lines[new, INVERSE]
            pulled += (c * (row[new] >> 1) - coef[new] * ((row[new] >> 1) - 1)) * per
            lift += (c - coef[new]) * more * per
            smooth += c - coef[new]
            blocks[new >> BLOCK] += c - coef[new]
            coef[new] = c
        list_size[v] = _leave(start, size, entries, row, factor, lines)
        if seed >= 0:
            for k in range(factor.shape[0]):
                factor[k] = lines[k, INVERSE]
    work[0] += changed
    work[1] += weighed


def sweep_block(
    corpus: Corpus, docs: Range, words: Range, state: SparseState, prior: Prior, rng: AnyArray,
    kernel: Callable[..., None] = sweep_words, share: FloatArray | None = None,
) -> Int64Array:  # fmt: skip
    """Draw the topic of every token of a block, some documents at a time."""
    steps, topics, largest = steps_of(corpus, docs), list_scratch(prior), prior.alpha.max(axis=0)
    shares = np.ones(prior.n_topics) if share is None else share
    fill(state.topic, prior.beta_sum, shares, topics.lines)
    tokens, listed = tokens_of(corpus), room_to_list(corpus, words)
    scratch, work = word_scratch(corpus, prior.n_topics, words, steps), np.zeros(2, np.int64)
    for start, stop in steps:
        block = Block(start, stop, words[0], words[1])
        list_documents(block, tokens.doc_ptr, state.z, scratch)
        gather(block, tokens, state.z, scratch, listed)
        kernel(block, state, prior, largest, topics, scratch, rng, work)
        scatter(block, tokens, state.z, scratch, listed)
    state.topic[:] = topics.lines[:, TOTAL]
    return work


def make_draw(corpus: Corpus, words: Range, prior: Prior, share: FloatArray | None = None) -> Draw:
    """Draws blocks of these words."""
    return lambda docs, state, rng: sweep_block(corpus, docs, words, state, prior, rng, share=share)


WORDS = BlockSampler(
    number=2,
    form=lambda corpus, state: state.as_lists(corpus),
    make_draw=make_draw,
    loads=lambda *_: Loads(),
    in_pieces=False,
    finish=sparse.sorting,
)
register(sampler_in_blocks("words", sparse.init, rebuild_lists, sparse.conditional_of, {"words": WORDS}))
