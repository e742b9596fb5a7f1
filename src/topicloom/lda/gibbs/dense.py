"""Collapsed Gibbs sampling for LDA that looks at every topic for every token (CGS_p eq. 1).

The weight of topic k for a token of word v in document d is, with the token itself taken out of all counts,

    (n_kv + β_kv) · (n_dk + α_k) / (n_k + Σ_v β_kv).

The last two factors do not depend on the word and are kept per document in ``coef``; only the two topics that a token
leaves and joins change, so the loop over topics is two additions and a multiplication on contiguous memory
(``numerics.simd``). Document counts are built when the sampler reaches a document and are never stored: 4 bytes per
topic-word cell, none per document.
"""

from collections.abc import Callable

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array, UInt64Array
from topicloom.corpus.corpus import Corpus
from topicloom.engine.blocks import Block, Range, Tokens, room_to_list, tokens_of
from topicloom.engine.prior import Prior
from topicloom.engine.sampler import Key, register
from topicloom.engine.shards import Draw, Loads
from topicloom.engine.soft_counts import DenseScratch, dense_scratch
from topicloom.engine.state import AnyState, State, rebuild_counts
from topicloom.lda.gibbs.first_topics import first_topics
from topicloom.lda.gibbs.in_blocks import BlockSampler, sampler_in_blocks
from topicloom.numerics.jit import bare_kernel, kernel, step
from topicloom.numerics.prefetch import own_tokens, prefetch
from topicloom.numerics.rng import uniform
from topicloom.numerics.simd import LANES, put, search_lanes, weigh, weigh_boosted

_AHEAD = 6  # tokens from now whose rows are asked for
_LINE = 16  # counts in a cache line
TOKEN_COST, TOPIC_COST = 27.0, 0.12  # nanoseconds per token, and per topic (``benchmarks/crossover.py``)
FAR_COST = 0.6  # more per topic, for words whose counts are not in the cache
_TOPIC_LOAD = 0.21  # per topic in the cut into parts, on which chains depend


@step
def enter_document(
    z: AnyArray, start: int, stop: int, alpha: FloatArray, topic: Int64Array, beta_sum: FloatArray,
    share: FloatArray, doc: Int32Array, coef: FloatArray,
) -> None:  # fmt: skip
    """Count the document's topics and set the factors that do not depend on the word."""
    doc[:] = 0
    for i in range(start, stop):
        doc[z[i]] += 1
    for k in range(coef.shape[0]):
        coef[k] = (doc[k] + alpha[k]) * share[k] / (topic[k] + beta_sum[k])


@bare_kernel
def sweep_block(
    block: Block, tokens: Tokens, state: State, prior: Prior, scratch: DenseScratch, listed: Int64Array,
    share: FloatArray, stream: UInt64Array, work: Int64Array,
) -> None:  # fmt: skip
    """Draw the topic of every token of a block.

    Weights are made with all tokens counted, once for a run of tokens of one word: taking a token out, and a move,
    change the weights of one and of two topics. ``listed`` has room for the tokens of the longest document, or none
    if a document's tokens of the block lie side by side (``own_tokens``); ``work`` returns how many tokens changed and
    how many weights were computed.
    """
    words, doc_ptr, z, word_topic, topic = tokens.words, tokens.doc_ptr, state.z, state.word_topic, state.topic
    alpha, alpha_row, beta, beta_sum = prior.alpha, prior.alpha_row, prior.beta, prior.beta_sum
    boost_row, boost = prior.boost_row, prior.boost
    weight, coef, doc, lane_sums = scratch.weight, scratch.coef, scratch.doc, scratch.lane_sums
    word_start, word_stop = block.word_start, block.word_stop
    n_topics, n_tokens = topic.shape[0], words.shape[0]
    any_seeded, is_listed = boost.shape[0] > 0, listed.shape[0] > 0
    alone = word_start == 0 and word_stop == word_topic.shape[0]  # no other thread writes into rows
    changed, weighed = 0, 0
    for d in range(block.doc_start, block.doc_stop):
        a = alpha[alpha_row[d]]
        begin, end = doc_ptr[d], doc_ptr[d + 1]
        first, n = own_tokens(begin, end, words, word_start, word_stop, listed)
        if n == 0:
            continue
        last = n_tokens - 1 if alone else first + n - 1  # whose row is asked for
        enter_document(z, begin, end, a, topic, beta_sum, share, doc, coef)
        weighed_word, total_all = -1, 0.0
        for j in range(n):
            if is_listed:
                i, ahead = listed[j], listed[min(j + _AHEAD, n - 1)]
            else:
                i, ahead = first + j, min(first + j + _AHEAD, last)
            later = np.int64(words[ahead])
            prefetch(word_topic, later * n_topics)
            prefetch(word_topic, later * n_topics + _LINE)
            v = words[i]
            row = word_topic[v]
            seeded = any_seeded and boost_row[v] >= 0
            if v != weighed_word:
                weighed_word = v
                weighed += n_topics
                if seeded:
                    total_all = weigh_boosted(row, beta[v], boost[boost_row[v]], coef, weight, lane_sums)
                else:
                    total_all = weigh(row, beta[v], coef, weight, lane_sums)
            old = np.int64(z[i])
            b = beta[v] + boost[boost_row[v], old] if seeded else beta[v]
            coef_out = (doc[old] - 1 + a[old]) * share[old] / (topic[old] - 1 + beta_sum[old])
            stay = (row[old] - 1 + b) * coef_out
            counted = weight[old]
            sum_out = total_all - counted + stay
            u = uniform(stream) * sum_out
            if u < stay:  # the commonest outcome once a chain has settled, so it comes first
                continue
            put(weight, lane_sums, old, 0.0)
            new = search_lanes(weight, lane_sums, u - stay)
            if new == old:  # only by rounding, at the end of a lane
                put(weight, lane_sums, old, counted)
                continue
            put(weight, lane_sums, old, stay)
            row[old] -= 1
            topic[old] -= 1
            doc[old] -= 1
            coef[old] = coef_out
            row[new] += 1
            topic[new] += 1
            doc[new] += 1
            coef[new] = (doc[new] + a[new]) * share[new] / (topic[new] + beta_sum[new])
            b = beta[v] + boost[boost_row[v], new] if seeded else beta[v]
            joined = (row[new] + b) * coef[new]
            total_all = sum_out - weight[new] + joined
            put(weight, lane_sums, new, joined)
            z[i] = new
            changed += 1
    work[0] = changed
    work[1] = weighed


@kernel
def conditional(token: int, d: int, tokens: Tokens, state: State, prior: Prior, weight: FloatArray) -> None:
    """The weights from which ``sweep_block`` would draw this token's topic; leaves the state as it was."""
    words, doc_ptr, z, word_topic, topic = tokens.words, tokens.doc_ptr, state.z, state.word_topic, state.topic
    beta, beta_sum, boost_row, boost = prior.beta, prior.beta_sum, prior.boost_row, prior.boost
    coef = np.empty(topic.shape[0], np.float64)
    doc = np.empty(topic.shape[0], np.int32)
    lane_sums = np.empty(LANES + 1, np.float64)
    a = prior.alpha[prior.alpha_row[d]]
    share = np.ones(topic.shape[0], np.float64)
    enter_document(z, doc_ptr[d], doc_ptr[d + 1], a, topic, beta_sum, share, doc, coef)
    v, old = words[token], z[token]
    word_topic[v, old] -= 1
    topic[old] -= 1
    doc[old] -= 1
    coef[old] = (doc[old] + a[old]) / (topic[old] + beta_sum[old])
    if boost_row[v] < 0:
        weigh(word_topic[v], beta[v], coef, weight, lane_sums)
    else:
        weigh_boosted(word_topic[v], beta[v], boost[boost_row[v]], coef, weight, lane_sums)
    word_topic[v, old] += 1
    topic[old] += 1


def make_draw(
    corpus: Corpus, words: Range, prior: Prior, kernel: Callable[..., None] = sweep_block,
    share: FloatArray | None = None,
) -> Draw:  # fmt: skip
    """Draws blocks of these words."""
    tokens, scratch, listed = tokens_of(corpus), dense_scratch(prior), room_to_list(corpus, words)
    shares, work = np.ones(prior.n_topics) if share is None else share, np.zeros(2, np.int64)

    def draw(docs: Range, state: AnyState, rng: AnyArray) -> Int64Array:
        kernel(Block(docs[0], docs[1], words[0], words[1]), tokens, state, prior, scratch, listed, shares, rng, work)
        return work

    return draw


def init(corpus: Corpus, prior: Prior, key: Key) -> State:
    return rebuild_counts(corpus, first_topics(corpus, prior, key), prior.n_topics)


def conditional_of(corpus: Corpus, state: AnyState, prior: Prior, token: int) -> FloatArray:
    weight = np.empty(prior.n_topics)
    conditional(token, int(corpus.token_docs[token]), tokens_of(corpus), state.as_dense(), prior, weight)
    return weight


DENSE = BlockSampler(
    number=0,
    form=lambda _, state: state.as_dense(),
    make_draw=make_draw,
    loads=lambda _, prior: Loads(25.0, 20.0 + _TOPIC_LOAD * prior.n_topics),
    in_pieces=True,
)
register(sampler_in_blocks("dense", init, rebuild_counts, conditional_of, {"dense": DENSE}))
