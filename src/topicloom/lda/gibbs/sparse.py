"""Collapsed Gibbs sampling whose cost follows the number of topics in which a word occurs (exact).

The weight of topic k for a token of word v (CGS_p eq. 1) is split as

    n_kv · c_k  +  β_v · c_k        with  c_k = (n_dk + α_k) / (n_k + Σβ),

the token itself taken out of all counts. The first part is non-zero only for the topics in the word's list; the
second is β_v times a sum that is kept up to date as tokens move, in blocks, so that a draw from it looks at one block's
topics alone. A word's list holds its topics and their counts side by side, the larger counts first, so that searches
end early. All else that is known of a topic lies in one cache line (``topic_lines``).
"""

from collections.abc import Callable

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int64Array, UInt64Array
from topicloom.corpus.corpus import Corpus
from topicloom.engine.blocks import Block, Range, Tokens, room_to_list, tokens_of
from topicloom.engine.count_lists import SHIFT, TOPIC, find, move, sort_lists
from topicloom.engine.prior import Prior
from topicloom.engine.sampler import Key, register
from topicloom.engine.shards import Draw, Loads
from topicloom.engine.state import AnyState, SparseState, rebuild_lists
from topicloom.lda.gibbs.first_topics import first_topics
from topicloom.lda.gibbs.in_blocks import BlockSampler, sampler_in_blocks
from topicloom.lda.gibbs.topic_lines import (
    ALPHA,
    BETA_SUM,
    BLOCK,
    DOC,
    INVERSE,
    INVERSE_OUT,
    LINE,
    NOWHERE,
    PLACE,
    SHARE,
    TOTAL,
    ListScratch,
    fill,
    list_scratch,
)  # fmt: skip
from topicloom.numerics.jit import bare_kernel, kernel, step
from topicloom.numerics.prefetch import own_token, own_tokens, prefetch
from topicloom.numerics.rng import uniform
from topicloom.numerics.search import search
from topicloom.numerics.sums import dot, sum_of

_AHEAD = 6  # tokens from now whose lists are asked for
_NEXT = 160  # tokens from now, about a document, whose topics are asked for, where topics are many
_MANY = 1 << 11  # topics beyond which they are asked for: near caches are full
_REFRESH = 64  # documents after which the running sum is made anew, so that rounding does not pile up
_ENTRY_LOAD = 1.2  # per entry of a list in the cut into parts, on which chains depend
TOKEN_COST, ENTRY_COST = 33.0, 0.7  # nanoseconds per token, and per entry of a list (``benchmarks/crossover.py``)


@bare_kernel
def search_boost(boost: FloatArray, coef: FloatArray, u: float) -> int:
    found = 0
    for k in range(coef.shape[0]):
        if boost[k] > 0.0:
            found = k
            u -= boost[k] * coef[k]
            if u < 0.0:
                break
    return found


@bare_kernel
def set_alpha(a: FloatArray, lines: FloatArray, coef: FloatArray, blocks: FloatArray) -> None:
    """Factors of a document without tokens, and their sums."""
    for k in range(coef.shape[0]):
        lines[k, ALPHA] = a[k]
        coef[k] = a[k] * lines[k, INVERSE]
    for b in range(blocks.shape[0]):
        blocks[b] = sum_of(coef[b << BLOCK : (b + 1) << BLOCK])


@bare_kernel
def search_blocks(coef: FloatArray, blocks: FloatArray, u: float) -> int:
    """The topic in whose stretch of the running sum of ``coef`` u falls: looks at one block's topics alone."""
    b, last = 0, blocks.shape[0] - 1
    while b < last and u >= blocks[b]:
        u -= blocks[b]
        b += 1
    return (b << BLOCK) + search(coef[b << BLOCK : (b + 1) << BLOCK], u)


@bare_kernel
def _mend(
    entries: Int64Array, start: int, size: int, own: int, at: int, new: int, coef: FloatArray, weight: FloatArray
) -> float:  # fmt: skip
    """Weigh anew the entries that ``move`` may have changed; returns the weight of the topic that was joined."""
    joined = 0.0
    for j in (own - 1, own, at - 1, at):
        if 0 <= j < size:
            k = entries[start + j] & TOPIC
            weight[j] = (entries[start + j] >> SHIFT) * coef[k]
            if k == new:
                joined = weight[j]
    return joined


@step
def ask_for(v: int, state: SparseState, prior: Prior) -> None:
    """Start to load what a draw for word v will look at; never for words whose lists another thread may write."""
    prefetch(state.list_size, v)
    prefetch(prior.beta, v)
    prefetch(state.entries, state.list_ptr[v])
    prefetch(state.entries, state.list_ptr[v] + LINE)


@bare_kernel
def _enter(z: AnyArray, lines: FloatArray, coef: FloatArray, blocks: FloatArray, met: AnyArray) -> int:
    """Count a document's topics, note each once in ``met``, and set their factors; returns how many there are."""
    n_met = 0
    for k in z:
        met[n_met] = k
        n_met += lines[k, DOC] == 0.0
        lines[k, DOC] += 1.0
    for j in range(n_met):
        k = met[j]
        c = (lines[k, DOC] + lines[k, ALPHA]) * lines[k, INVERSE]
        lines[k, PLACE] = j
        blocks[k >> BLOCK] += c - coef[k]
        coef[k] = c
    return n_met


@bare_kernel
def leave(lines: FloatArray, coef: FloatArray, blocks: FloatArray, met: AnyArray, n_met: int) -> None:
    """Back to the prior's share for the topics that the document has or had."""
    for j in range(n_met):
        k = met[j]
        lines[k, DOC] = 0.0
        lines[k, PLACE] = NOWHERE
        c = lines[k, ALPHA] * lines[k, INVERSE]
        blocks[k >> BLOCK] += c - coef[k]
        coef[k] = c


@step
def _search_smooth(old: int, coef_out: float, coef: FloatArray, blocks: FloatArray, u: float) -> int:
    """The topic in whose stretch of the factors' running sum u falls, the token taken out of its old topic's."""
    counted = coef[old]
    coef[old] = coef_out
    blocks[old >> BLOCK] += coef_out - counted
    new = search_blocks(coef, blocks, u)
    blocks[old >> BLOCK] += counted - coef_out
    coef[old] = counted
    return new


@step
def search_but(weight: FloatArray, n: int, own: int, u: float) -> int:
    """The index in whose stretch of the running sum of n weights u falls, weight ``own`` left out."""
    counted = weight[own]
    weight[own] = 0.0
    j = 0
    while j < n - 1 and u >= weight[j]:
        u -= weight[j]
        j += 1
    weight[own] = counted
    return j


@step
def _weigh_list(
    entries: Int64Array, start: int, size: int, old: int, coef: FloatArray, weight: FloatArray
) -> tuple[float, int]:  # fmt: skip
    """Fill ``weight`` with n_kv c_k of a word's topics; returns the sum, and where topic ``old`` stands."""
    even, odd, own = 0.0, 0.0, 0  # two sums, as each addition waits for the one before it
    for j in range(0, size - 1, 2):
        e, f = entries[start + j], entries[start + j + 1]
        k, other = e & TOPIC, f & TOPIC
        w = (e >> SHIFT) * coef[k]
        x = (f >> SHIFT) * coef[other]
        if k == old:
            own = j
        if other == old:
            own = j + 1
        weight[j] = w
        weight[j + 1] = x
        even += w
        odd += x
    if size & 1:
        e = entries[start + size - 1]
        k = e & TOPIC
        w = (e >> SHIFT) * coef[k]
        if k == old:
            own = size - 1
        weight[size - 1] = w
        even += w
    return even + odd, own


@step
def _draw_listed(
    v: int, old: int, own: int, coef_out: float, start: int, size: int, total_list: float, total_coef: float,
    state: SparseState, prior: Prior, scratch: ListScratch, stream: UInt64Array,
) -> tuple[int, int]:  # fmt: skip
    """The topic of a token of a word by its list; returns the topic and its entry, the list's end if it has none."""
    entries, weight, coef, blocks = state.entries, scratch.weight, scratch.coef, scratch.blocks
    beta, boost_row, boost = prior.beta, prior.boost_row, prior.boost
    seeded = boost_row[v] >= 0
    stay = ((entries[start + own] >> SHIFT) - 1) * coef_out
    total = total_list - weight[own]  # of the other topics in the list
    smooth = beta[v] * (total_coef - coef[old] + coef_out)
    lift = 0.0
    if seeded:
        b = boost_row[v]
        lift = dot(boost[b], coef) + boost[b, old] * (coef_out - coef[old])
    u = uniform(stream) * (stay + total + smooth + lift) - stay
    if u < 0.0:  # the commonest outcome once a chain has settled, so it comes first
        return old, start
    if u < total:
        j = search_but(weight, size, own, u)
        return entries[start + j] & TOPIC, start + j
    if u < total + smooth or not seeded:
        new = _search_smooth(old, coef_out, coef, blocks, (u - total) / beta[v])
    else:
        counted = coef[old]
        coef[old] = coef_out
        new = search_boost(boost[boost_row[v]], coef, u - total - smooth)
        coef[old] = counted
    return new, find(entries, start, size, new)


@bare_kernel
def sweep_block(
    block: Block, tokens: Tokens, state: SparseState, prior: Prior, scratch: ListScratch, listed: Int64Array,
    stream: UInt64Array, work: Int64Array,
) -> None:  # fmt: skip
    """Draw the topic of every token of a block.

    ``listed`` has room for the tokens of the longest document, or none if a document's tokens of the block lie side by
    side (``own_tokens``). Topics' totals come and are left in ``scratch.lines``. ``work`` returns how many tokens
    changed and how many weights were computed.
    """
    words, doc_ptr, z = tokens.words, tokens.doc_ptr, state.z
    list_ptr, list_size, entries = state.list_ptr, state.list_size, state.entries
    lines, coef, blocks, weight, met = scratch.lines, scratch.coef, scratch.blocks, scratch.weight, scratch.met
    word_start, word_stop = block.word_start, block.word_stop
    n_tokens, many, is_listed = words.shape[0], lines.shape[0] > _MANY, listed.shape[0] > 0
    alone = word_start == 0 and word_stop == list_size.shape[0]  # no other thread writes into lists
    row, total_coef = -1, 0.0
    changed, weighed = 0, 0
    weighed_topic, own, at, total_weight, stay = -1, 0, 0, 0.0, 0.0
    for d in range(block.doc_start, block.doc_stop):
        begin, end = doc_ptr[d], doc_ptr[d + 1]
        if prior.alpha_row[d] != row or d % _REFRESH == 0:
            row = prior.alpha_row[d]
            set_alpha(prior.alpha[row], lines, coef, blocks)
        first, n = own_tokens(begin, end, words, word_start, word_stop, listed)
        if n == 0:
            continue
        last = n_tokens - 1 if alone else first + n - 1  # whose list is asked for
        for j in range(min(_AHEAD, n)):
            ask_for(words[own_token(first, j, listed)], state, prior)
        weighed_word = -1
        n_met = _enter(z[begin:end], lines, coef, blocks, met)
        total_coef = sum_of(blocks)
        for t in range(n):
            if is_listed:
                i, soon, later = listed[t], listed[min(t + _AHEAD, n - 1)], listed[min(t + 2 * _AHEAD, n - 1)]
            else:
                i = first + t
                soon, later = min(i + _AHEAD, last), min(i + 2 * _AHEAD, last)
            v = words[i]
            if many and i + _NEXT < n_tokens:
                prefetch(lines, int(z[i + _NEXT]) * LINE)
                prefetch(coef, int(z[i + _NEXT]))
            prefetch(list_ptr, words[later])
            ask_for(words[soon], state, prior)
            start, size, old = list_ptr[v], list_size[v], np.int64(z[i])
            # The token is taken out: its old topic gets these in place of what the arrays hold.
            inverse_out = lines[old, INVERSE_OUT]
            coef_out = (lines[old, DOC] - 1.0 + lines[old, ALPHA]) * inverse_out
            if v != weighed_word:
                total_weight, own = _weigh_list(entries, start, size, old, coef, weight)
                weighed += size
            elif old != weighed_topic:
                own = find(entries, start, size, old) - start
            weighed_topic = int(old)
            new, at = _draw_listed(
                v, old, own, coef_out, start, size, total_weight, total_coef, state, prior, scratch, stream
            )  # fmt: skip
            weighed_word = v
            if new == old:
                continue
            changed += 1
            z[i] = new
            total_weight -= weight[own] + (weight[at - start] if at < start + size else 0.0)
            stay = ((entries[start + own] >> SHIFT) - 1) * coef_out
            list_size[v] = move(entries, start, size, start + own, at, new)
            # the old topic
            lines[old, TOTAL] -= 1.0
            lines[old, DOC] -= 1.0
            lines[old, INVERSE] = inverse_out
            lines[old, INVERSE_OUT] = lines[old, SHARE] / (lines[old, TOTAL] - 1.0 + lines[old, BETA_SUM])
            total_coef += coef_out - coef[old]
            blocks[old >> BLOCK] += coef_out - coef[old]
            coef[old] = coef_out
            # the new topic
            lines[new, TOTAL] += 1.0
            lines[new, DOC] += 1.0
            inverse = lines[new, SHARE] / (lines[new, TOTAL] + lines[new, BETA_SUM])
            lines[new, INVERSE_OUT] = lines[new, INVERSE]
            lines[new, INVERSE] = inverse
            c = (lines[new, DOC] + lines[new, ALPHA]) * inverse
            total_coef += c - coef[new]
            blocks[new >> BLOCK] += c - coef[new]
            coef[new] = c
            if lines[new, PLACE] == NOWHERE:
                lines[new, PLACE] = n_met
                met[n_met] = new
                n_met += 1
            if i + 1 < end and words[i + 1] == v:  # the weights are used again: those that change are mended
                total_weight += stay + _mend(entries, start, list_size[v], own, at - start, new, coef, weight)
                weighed_topic = -1
            else:
                weighed_word = -1
        leave(lines, coef, blocks, met, n_met)
    work[0] = changed
    work[1] = weighed


@kernel
def conditional(token: int, d: int, tokens: Tokens, state: SparseState, prior: Prior, weight: FloatArray) -> None:
    """The weights from which ``sweep_block`` would draw this token's topic, its parts put together."""
    words, doc_ptr, z, topic, entries = tokens.words, tokens.doc_ptr, state.z, state.topic, state.entries
    beta, boost_row, boost = prior.beta, prior.boost_row, prior.boost
    a = prior.alpha[prior.alpha_row[d]]
    v, old = words[token], z[token]
    coef = np.empty(topic.shape[0], np.float64)
    coef[:] = a
    for i in range(doc_ptr[d], doc_ptr[d + 1]):
        coef[z[i]] += 1.0
    coef[old] -= 1.0
    for k in range(topic.shape[0]):
        coef[k] *= 1.0 / (topic[k] - (1 if k == old else 0) + prior.beta_sum[k])
        weight[k] = beta[v] * coef[k]
        if boost_row[v] >= 0:
            weight[k] += boost[boost_row[v], k] * coef[k]
    for j in range(state.list_ptr[v], state.list_ptr[v] + state.list_size[v]):
        k = entries[j] & TOPIC
        weight[k] += (entries[j] >> SHIFT) * coef[k]
        if k == old:
            weight[k] -= coef[k]


def make_draw(
    corpus: Corpus, words: Range, prior: Prior, kernel: Callable[..., None] = sweep_block,
    share: FloatArray | None = None,
) -> Draw:  # fmt: skip
    """Draws blocks of these words."""
    tokens, scratch, listed = tokens_of(corpus), list_scratch(prior), room_to_list(corpus, words)
    shares, work = np.ones(prior.n_topics) if share is None else share, np.zeros(2, np.int64)

    def draw(docs: Range, state: AnyState, rng: AnyArray) -> Int64Array:
        fill(state.topic, prior.beta_sum, shares, scratch.lines)
        kernel(Block(docs[0], docs[1], words[0], words[1]), tokens, state, prior, scratch, listed, rng, work)
        state.topic[:] = scratch.lines[:, TOTAL]
        return work

    return draw


def _expected_lengths(corpus: Corpus, prior: Prior) -> FloatArray:
    """Lengths of lists, near enough to cut words into parts of equal loads: about the root of a word's tokens."""
    return np.minimum(np.sqrt(corpus.word_counts), prior.n_topics)


def init(corpus: Corpus, prior: Prior, key: Key) -> SparseState:
    return rebuild_lists(corpus, first_topics(corpus, prior, key), prior.n_topics)


def sorting(state: AnyState) -> Callable[[Range], None]:
    """Puts lists of words in an order by counts alone, so that a state rebuilt from z goes on as this one does."""
    return lambda words: sort_lists(words[0], words[1], state)


def conditional_of(corpus: Corpus, state: AnyState, prior: Prior, token: int) -> FloatArray:
    weight = np.empty(prior.n_topics)
    conditional(token, int(corpus.token_docs[token]), tokens_of(corpus), state.as_lists(corpus), prior, weight)
    return weight


SPARSE = BlockSampler(
    number=1,
    form=lambda corpus, state: state.as_lists(corpus),
    make_draw=make_draw,
    loads=lambda corpus, prior: Loads(25.0, 30.0 + _ENTRY_LOAD * _expected_lengths(corpus, prior)),
    in_pieces=True,
    finish=sorting,
)
register(sampler_in_blocks("sparse", init, rebuild_lists, conditional_of, {"sparse": SPARSE}))
