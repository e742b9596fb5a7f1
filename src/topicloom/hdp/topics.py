"""Drawing the topics of all tokens, given the weights of topics (Teh et al. 2006, section 5.3: direct assignment).

With the token itself taken out of all counts, a topic that others have, or that had this token alone, has the weight

    (n_kv + η_v) (n_dk + α₀ β_k) / (n_k + Σ_v η_v),

as in LDA with α_k = α₀ β_k, and a topic that no token has

    α₀ β_rest η_v / Σ_v η_v.

Such a topic gets a share b ~ Beta(1, γ) of β_rest, since topics of the process are met in proportion to their weights.
A topic that loses its last token is forgotten: its weight goes back to the rest.

Columns of counts without tokens are free for new topics, of which the first is taken. If there is none, the sweep
stops, gets more columns and continues with this token's new topic. In the end columns without tokens are left out.
"""

from typing import NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array, UInt64Array
from topicloom.corpus.corpus import Corpus
from topicloom.engine.blocks import Tokens, tokens_of
from topicloom.engine.prior import Prior
from topicloom.engine.sampler import Info
from topicloom.hdp.state import REST, SMALLEST, TOPIC, HDPState
from topicloom.numerics.jit import bare_kernel, kernel, step
from topicloom.numerics.prefetch import prefetch
from topicloom.numerics.rng import uniform
from topicloom.numerics.simd import LANES, put, search_lanes, weigh

_AHEAD = 6  # tokens from now whose rows are asked for
_LINE = 16  # counts in a cache line
_FREE = 8  # columns that a sweep has for new topics, at least


class Words(NamedTuple):
    """The prior of words, and how many topics there may be."""

    beta: FloatArray  # [V]
    beta_sum: float
    most: int


class Scratch(NamedTuple):
    """As of LDA's dense sampler, one number per column."""

    weight: FloatArray  # [columns]
    coef: FloatArray  # [columns] (n_dk + α_k) / (n_k + Σβ) of the current document
    doc: Int32Array  # [columns]
    lane_sums: FloatArray  # [LANES + 1]


class Place(NamedTuple):
    """How far a sweep has come."""

    at: Int64Array  # [3] its document, its token, and the token whose topic is to be a new one, or −1
    done: Int64Array  # [3] tokens that changed, weights that were computed; topics that have tokens


@step
def in_lanes(n: int) -> int:
    """So many columns that all lanes are full."""
    return (n + LANES - 1) // LANES * LANES


@step
def first_free(topic: Int64Array, other: int) -> int:
    """The first column without tokens but this one, or −1."""
    for k in range(topic.shape[0]):
        if topic[k] == 0 and k != other:
            return k
    return -1


@step
def used_columns(topic: Int64Array) -> int:
    """Up to the last one that has tokens, and so that all lanes are full."""
    n = topic.shape[0]
    while n > 1 and topic[n - 1] == 0:
        n -= 1
    return in_lanes(n)


@step
def enter_document(start: int, stop: int, state: HDPState, beta_sum: float, doc: Int32Array, coef: FloatArray) -> None:
    """Count the document's topics and set the factors that do not depend on the word."""
    z, topic, alpha = state.z, state.topic, state.alpha
    doc[:] = 0
    for i in range(start, stop):
        doc[z[i]] += 1
    for k in range(coef.shape[0]):
        coef[k] = (doc[k] + alpha[k]) / (topic[k] + beta_sum)


@step
def open_topic(new: int, alpha: FloatArray, level: FloatArray, stream: UInt64Array) -> None:
    """A topic that no token has had: its share of what all such topics weigh is Beta(1, γ)."""
    share = 1.0 - (1.0 - uniform(stream)) ** (1.0 / level[TOPIC])
    alpha[new] = max(share * level[REST], SMALLEST)
    level[REST] *= 1.0 - share


@bare_kernel
def sweep_tokens(
    tokens: Tokens, state: HDPState, prior: Words, scratch: Scratch, stream: UInt64Array, place: Place
) -> bool:  # fmt: skip
    """Draw topics from ``place`` on; false if a token's topic is a new one and there is no column for it."""
    words, doc_ptr, beta, beta_sum = tokens.words, tokens.doc_ptr, prior.beta, prior.beta_sum
    z, word_topic, topic, alpha, level = state.z, state.word_topic, state.topic, state.alpha, state.level
    lane_sums, at, done, stride = scratch.lane_sums, place.at, place.done, word_topic.shape[1]
    columns, last, changed, weighed = used_columns(topic), words.shape[0] - 1, 0, 0
    for d in range(at[0], doc_ptr.shape[0] - 1):
        weight, coef, doc = scratch.weight[:columns], scratch.coef[:columns], scratch.doc[:columns]
        enter_document(doc_ptr[d], doc_ptr[d + 1], state, beta_sum, doc, coef)
        weighed_word, total_all = -1, 0.0
        for i in range(max(doc_ptr[d], at[1]), doc_ptr[d + 1]):
            later = np.int64(words[min(i + _AHEAD, last)])
            prefetch(word_topic, later * stride)
            prefetch(word_topic, later * stride + _LINE)
            v = words[i]
            row, b, old = word_topic[v], beta[v], np.int64(z[i])
            if v != weighed_word:
                weighed_word = v
                weighed += columns
                total_all = weigh(row, b, coef, weight, lane_sums)
            is_last = topic[old] == 1
            coef_out = (doc[old] - 1 + alpha[old]) / (topic[old] - 1 + beta_sum)
            stay = (row[old] - 1 + b) * coef_out
            sum_out = total_all - weight[old] + stay
            unseen = level[REST] * b / beta_sum if done[2] - is_last < prior.most else 0.0
            u = -1.0 if i == at[2] else uniform(stream) * (sum_out + unseen)
            if 0.0 <= u < stay:
                continue
            if u < stay + unseen:
                new, weighed_word = first_free(topic, old), -1
                if new < 0:
                    at[0], at[1], at[2] = d, i, i
                    done[0] += changed
                    done[1] += weighed
                    return False
                open_topic(new, alpha, level, stream)
                done[2] += 1
                if new >= columns:
                    columns = in_lanes(new + 1)
                    weight, coef, doc = scratch.weight[:columns], scratch.coef[:columns], scratch.doc[:columns]
                    for k in range(new, columns):
                        doc[k], coef[k] = 0, 0.0
            else:
                counted = weight[old]
                put(weight, lane_sums, old, 0.0)
                new = search_lanes(weight, lane_sums, u - stay - unseen)
                if new == old or topic[new] == 0:  # only by rounding, at the end of a lane
                    put(weight, lane_sums, old, counted)
                    continue
            row[old] -= 1
            topic[old] -= 1
            doc[old] -= 1
            if is_last:  # and so forgotten
                level[REST] += alpha[old]
                alpha[old], coef_out, sum_out, stay = 0.0, 0.0, sum_out - stay, 0.0
                done[2] -= 1
            row[new] += 1
            topic[new] += 1
            doc[new] += 1
            coef[old], coef[new] = coef_out, (doc[new] + alpha[new]) / (topic[new] + beta_sum)
            joined = (row[new] + b) * coef[new]
            total_all = sum_out - weight[new] + joined
            put(weight, lane_sums, old, stay)
            put(weight, lane_sums, new, joined)
            z[i] = new
            changed += 1
    done[0] += changed
    done[1] += weighed
    return True


@kernel
def renumber(z: AnyArray, number: Int32Array) -> None:
    for i in range(z.shape[0]):
        z[i] = number[z[i]]


def _widened(state: HDPState, n: int) -> HDPState:
    """The same with columns for n topics, the last of them without tokens."""
    more = n - len(state.topic)
    return state._replace(
        word_topic=np.pad(state.word_topic, ((0, 0), (0, more))),
        topic=np.pad(state.topic, (0, more)),
        alpha=np.pad(state.alpha, (0, more)),
    )


def _narrowed(state: HDPState) -> HDPState:
    """The same without the columns that have no tokens."""
    used = np.flatnonzero(state.topic)
    if used[-1] >= len(used):
        number = np.zeros(len(state.topic), np.int32)
        number[used] = np.arange(len(used))
        renumber(state.z, number)
    word_topic = np.ascontiguousarray(state.word_topic[:, used])
    return state._replace(word_topic=word_topic, topic=state.topic[used], alpha=state.alpha[used])


def _scratch(n: int) -> Scratch:
    return Scratch(np.zeros(n), np.zeros(n), np.zeros(n, np.int32), np.zeros(LANES + 1))


def sweep_topics(
    corpus: Corpus, state: HDPState, prior: Prior, most: int, stream: UInt64Array, free: int = _FREE
) -> tuple[HDPState, Info]:  # fmt: skip
    """Draw the topic of every token; ``free`` columns for new topics are there at first."""
    words = Words(prior.beta, float(prior.beta.sum()), most)
    place = Place(np.array([0, 0, -1]), np.array([0, 0, len(state.topic)]))
    state = _widened(state, in_lanes(len(state.topic) + free))
    while not sweep_tokens(tokens_of(corpus), state, words, _scratch(len(state.topic)), stream, place):
        state = _widened(state, 2 * len(state.topic))
    return _narrowed(state), Info(int(place.done[0]), int(place.done[1]))


def conditional(corpus: Corpus, state: HDPState, prior: Prior, token: int) -> FloatArray:
    """Weights of a token's topics, and in the end of those without tokens, from which ``sweep_topics`` draws."""
    d, v, own = int(corpus.token_docs[token]), int(corpus.words[token]), int(state.z[token])
    without = np.zeros(len(state.topic), np.int64)
    without[own] = 1
    doc = np.bincount(state.z[corpus.doc_ptr[d] : corpus.doc_ptr[d + 1]], minlength=len(state.topic)) - without
    total = prior.beta.sum()
    weight = (state.word_topic[v] - without + prior.beta[v]) * (doc + state.alpha) / (state.topic - without + total)
    return np.append(weight, state.level[REST] * prior.beta[v] / total)
