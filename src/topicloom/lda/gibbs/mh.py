"""The sampler "mh": Metropolis-Hastings sampling whose cost per token does not depend on the number of topics (exact).

The target for a token of word v in document d is the collapsed conditional (CGS_p eq. 1), with the token itself taken
out of all counts:

    p(k) ∝ (n_kv + β_kv) · (n_dk + α_k) / (n_k + Σβ_k).

Steps alternate between two proposals, each of which knows one factor (LightMedLDA eqs. 18 to 20, in our form):

    by word      q(k) ∝ n_kv + β_kv    the topic of a random other token of the word, or one drawn by β,
    by document  q(k) ∝ n_dk + α_k     the topic of a random other token of the document, or one drawn by α.

A step from topic s to t is accepted with probability min(1, p(t) q(s) / p(s) q(t)). The factor that the proposal knows
cancels, so the step by word never looks at n_kv, and the step by document never at n_dk.

Why it is exact: p and q are functions of the *other* tokens alone. Given those, every step is one of a chain on one
token's topic with stationary distribution p, so every step, and any number of them, leaves the posterior invariant.

That is why nothing here is stale, unlike in LightLDA. An alias table of the word made when the sweep began remembers
topics that tokens had then, this token's among them: it is another proposal for each topic that the token may be in,
and a ratio that takes it for one distribution is not that of the way back, not even with the table's own values divided
out. A document count frozen at the token's old topic fails for the same reason. The posterior moves under both
(tests/lda/test_mutants_mh.py), while picking a random token is always up to date and needs no table.

Picking a token of a word reads a copy of z in word order, in which the tokens of a word lie side by side.
"""

from typing import NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array, UInt64Array
from topicloom.corpus.corpus import Corpus
from topicloom.engine.blocks import Block, Range, Tokens, room_to_list, tokens_of
from topicloom.engine.exact_shards import sweep_blocks_exactly
from topicloom.engine.prior import Prior
from topicloom.engine.sampler import Info, Key, Sampler, Schedule, register
from topicloom.engine.shards import Draw
from topicloom.engine.state import AnyState, State, rebuild_counts
from topicloom.engine.threads import cut, run_parallel
from topicloom.lda.gibbs import dense
from topicloom.lda.gibbs.joint import log_joint
from topicloom.numerics.alias import build_aliases, draw_alias
from topicloom.numerics.jit import kernel
from topicloom.numerics.prefetch import own_token, own_tokens
from topicloom.numerics.rng import uniform
from topicloom.numerics.search import first_from

_PARTS = 16  # of the words, for threads; changes no draw


class Scratch(NamedTuple):
    """What proposals draw from beside the state, made anew for each sweep and shared by its blocks.

    A block writes to ``z_by_word`` only where its own words are, so blocks do not meet there either.
    """

    word_ptr: Int64Array
    token: Int64Array
    z_by_word: AnyArray  # z in the order of the words
    alpha_keep: FloatArray  # alias tables of the rows of α
    alpha_other: Int32Array
    boost_sum: FloatArray
    boost_keep: FloatArray  # and of the seed words' boosts
    boost_other: Int32Array


@kernel
def find_first(word_ptr: Int64Array, token: Int64Array, word_start: int, word_stop: int, start: int) -> Int64Array:
    """Where, in word order, the tokens from number ``start`` on begin for each of a range of words."""
    first = np.empty(max(word_stop - word_start, 0), np.int64)
    for v in range(word_start, word_stop):
        first[v - word_start] = first_from(token, word_ptr[v], word_ptr[v + 1], start)
    return first


@kernel
def sweep_block(
    block: Block, tokens: Tokens, state: State, prior: Prior, scratch: Scratch, listed: Int64Array, n_mh: int,
    by_word: bool, by_doc: bool, of_part: FloatArray, stream: UInt64Array, work: Int64Array,
) -> None:  # fmt: skip
    """Take ``n_mh`` steps of each kind for every token of a block.

    ``by_word`` and ``by_doc`` leave out one of the proposals, for tests. ``of_part`` has the shares of the topics that
    the words' part has. ``work`` returns how many tokens changed and how many topics were proposed.
    """
    words, doc_ptr, z, word_topic, topic = tokens.words, tokens.doc_ptr, state.z, state.word_topic, state.topic
    alpha, alpha_row, beta, beta_sum = prior.alpha, prior.alpha_row, prior.beta, prior.beta_sum
    boost_row, boost = prior.boost_row, prior.boost
    word_ptr, z_by_word, alpha_keep, alpha_other = (
        scratch.word_ptr, scratch.z_by_word, scratch.alpha_keep, scratch.alpha_other,
    )  # fmt: skip
    boost_sum, boost_keep, boost_other = scratch.boost_sum, scratch.boost_keep, scratch.boost_other
    word_start, word_stop = block.word_start, block.word_stop
    n_topics = topic.shape[0]
    doc = np.zeros(n_topics, np.int32)
    share = np.empty(n_topics, np.float64)  # n_dk + α_k of the current document
    total = np.empty(n_topics, np.float64)  # n_k + Σβ_k, over the part's share
    for k in range(n_topics):
        total[k] = (topic[k] + beta_sum[k]) / of_part[k]
    place = find_first(word_ptr, scratch.token, word_start, word_stop, doc_ptr[block.doc_start])
    r, alpha_sum = -1, 0.0
    changed, visited = 0, 0
    for d in range(block.doc_start, block.doc_stop):
        begin, end = doc_ptr[d], doc_ptr[d + 1]
        if alpha_row[d] != r:
            r = alpha_row[d]
            share[:] = alpha[r]
            alpha_sum = alpha[r].sum()
        a = alpha[r]
        for i in range(begin, end):
            doc[z[i]] += 1
        for i in range(begin, end):
            share[z[i]] = doc[z[i]] + a[z[i]]
        first, n_own = own_tokens(begin, end, words, word_start, word_stop, listed)
        for m in range(n_own):
            i = own_token(first, m, listed)
            v = words[i]
            own = place[v - word_start]  # tokens of a word are met in the order in which they lie in z_by_word
            place[v - word_start] += 1
            row, b, seed = word_topic[v], beta[v], boost_row[v]
            of_word, of_doc = word_ptr[v + 1] - word_ptr[v] - 1, end - begin - 1  # other tokens
            flat = b * n_topics
            mass = of_word + flat + (boost_sum[seed] if seed >= 0 else 0.0)
            old = int(z[i])
            row[old] -= 1
            topic[old] -= 1
            doc[old] -= 1
            share[old] = doc[old] + a[old]
            total[old] = (topic[old] + beta_sum[old]) / of_part[old]
            s = old
            for _ in range(n_mh):
                if by_word:
                    u = uniform(stream) * mass
                    if u < of_word:
                        j = word_ptr[v] + int(u)
                        t = int(z_by_word[j + 1 if j >= own else j])
                    elif seed < 0 or u < of_word + flat:
                        t = min(int((u - of_word) / b), n_topics - 1)
                    else:
                        t = draw_alias(boost_keep[seed], boost_other[seed], (u - of_word - flat) / boost_sum[seed])
                    if t != s and uniform(stream) * share[s] * total[t] < share[t] * total[s]:
                        s = t
                if by_doc:
                    u = uniform(stream) * (of_doc + alpha_sum)
                    if u < of_doc:
                        j = begin + int(u)
                        t = int(z[j + 1 if j >= i else j])
                    else:
                        t = draw_alias(alpha_keep[r], alpha_other[r], (u - of_doc) / alpha_sum)
                    if t != s:
                        here, there = row[s] + b, row[t] + b
                        if seed >= 0:
                            here += boost[seed, s]
                            there += boost[seed, t]
                        if uniform(stream) * here * total[t] < there * total[s]:
                            s = t
            row[s] += 1
            topic[s] += 1
            doc[s] += 1
            share[s] = doc[s] + a[s]
            total[s] = (topic[s] + beta_sum[s]) / of_part[s]
            visited += 1
            if s != old:
                z[i] = s
                z_by_word[own] = s
                changed += 1
        for i in range(begin, end):  # leave the document: back to the prior's share
            doc[z[i]] = 0
            share[z[i]] = a[z[i]]
    work[0] = changed
    work[1] = visited * n_mh * (int(by_word) + int(by_doc))


@kernel
def conditional(token: int, d: int, tokens: Tokens, state: State, prior: Prior, weight: FloatArray) -> None:
    """The target p(k) of this token, from the factors whose ratios the steps compare; leaves the state as it was."""
    words, doc_ptr, z, word_topic, topic = tokens.words, tokens.doc_ptr, state.z, state.word_topic, state.topic
    v, old, seed = words[token], z[token], prior.boost_row[words[token]]
    doc = np.zeros(topic.shape[0], np.int32)
    for i in range(doc_ptr[d], doc_ptr[d + 1]):
        doc[z[i]] += 1
    word_topic[v, old] -= 1
    topic[old] -= 1
    doc[old] -= 1
    for k in range(topic.shape[0]):
        here = word_topic[v, k] + prior.beta[v]
        if seed >= 0:
            here += prior.boost[seed, k]
        weight[k] = here * (doc[k] + prior.alpha[prior.alpha_row[d], k]) / (topic[k] + prior.beta_sum[k])
    word_topic[v, old] += 1
    topic[old] += 1


def make_scratch(corpus: Corpus, state: AnyState, prior: Prior, n_jobs: int) -> Scratch:
    word_ptr, token = corpus.by_word
    z_by_word = np.empty(state.z.shape, state.z.dtype)

    def gather(part: Range) -> None:
        own = slice(*word_ptr[list(part)])
        np.take(state.z, token[own], out=z_by_word[own], mode="clip")

    run_parallel(gather, cut(corpus.word_counts, _PARTS), n_jobs)
    alpha_keep, alpha_other = _aliases(prior.alpha)
    boost_keep, boost_other = _aliases(prior.boost)
    boost_sum = prior.boost.sum(axis=1)
    return Scratch(word_ptr, token, z_by_word, alpha_keep, alpha_other, boost_sum, boost_keep, boost_other)


def _aliases(weight: FloatArray) -> tuple[FloatArray, Int32Array]:
    keep, other = np.empty(weight.shape), np.empty(weight.shape, np.int32)
    build_aliases(weight, keep, other)
    return keep, other


def sweep(
    corpus: Corpus,
    state: AnyState,
    prior: Prior,
    key: Key,
    schedule: Schedule,
    by_word: bool = True,
    by_doc: bool = True,
) -> tuple[AnyState, Info]:
    """One sweep; tests leave out one of the two proposals."""
    scratch = make_scratch(corpus, state, prior, schedule.n_jobs)

    def make_draw(corpus: Corpus, words: Range, prior: Prior, share: FloatArray | None = None) -> Draw:
        shares = np.ones(prior.n_topics) if share is None else share
        tokens, listed, work = tokens_of(corpus), room_to_list(corpus, words), np.zeros(2, np.int64)

        def draw(docs: Range, state: AnyState, rng: AnyArray) -> Int64Array:
            block = Block(docs[0], docs[1], words[0], words[1])
            sweep_block(
                block, tokens, state, prior, scratch, listed, schedule.n_mh, by_word, by_doc, shares, rng, work
            )  # fmt: skip
            return work

        return draw

    return sweep_blocks_exactly(make_draw, corpus, state, prior, key, schedule)


def _conditional(corpus: Corpus, state: AnyState, prior: Prior, token: int) -> FloatArray:
    weight = np.empty(prior.n_topics)
    conditional(token, int(corpus.token_docs[token]), tokens_of(corpus), state, prior, weight)
    return weight


# A proposed topic's count is looked up at random, which a dense matrix answers at once; a sweep that searched lists for
# it took 1.3 to 4 times as long (real corpora of 0.5 and 2.4 million tokens, 100 to 5,000 topics).
register(Sampler("mh", dense.init, rebuild_counts, sweep, log_joint, _conditional, exact=True))
