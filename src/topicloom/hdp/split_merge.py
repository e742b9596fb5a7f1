"""Splitting a topic in two, or merging two, at once: what moves of single tokens take very long for.

Two tokens i and j are picked, whatever their topics are. If they have one topic c, it is to be split, otherwise their
topics a and b are to be merged. A split gives shares s and 1 − s of β_c to a and b, s uniform, puts i into a and j into
b, and then all other tokens of c, document by document, into either, each given those before it with the weight

    w_a = (n_da + α₀ β_a) (n_av + η_v) / (n_a + Σ_v η_v),

and w_b alike (sequential allocation, Dahl 2003; for topics in place of tables, Wang and Blei 2012). The joint of the
topics is a product of such weights, and β has the density γ^K β_rest^(γ−1) Π_k 1/β_k, so that a split is accepted with

    γ / (s (1 − s)) · w_a(i) w_b(j) / (w_c(i) w_c(j)) · Π (w_a + w_b) / w_c

over all other tokens, and a merge with its inverse, for the split that leads back.
"""

from math import log
from typing import NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int64Array, UInt64Array
from topicloom.corpus.corpus import Corpus, once
from topicloom.engine.blocks import Tokens, tokens_of
from topicloom.engine.prior import Prior
from topicloom.hdp.state import TOPIC, HDPState
from topicloom.numerics.jit import bare_kernel
from topicloom.numerics.rng import below, uniform

_LARGE, _SMALL = 1e100, 1e-100  # of a product, before its logarithm is taken


class Pair(NamedTuple):
    """Two tokens, their documents, and the document that comes first."""

    i: int
    j: int
    doc_i: int
    doc_j: int
    first: int


class Halves(NamedTuple):
    """What becomes of a topic, or of two."""

    words: Int64Array  # [V, 2] tokens of each word
    second: Int64Array  # [tokens] those of the second half, without j


@once
def by_word(corpus: Corpus) -> tuple[Int64Array, Int64Array]:
    """Tokens sorted by their words, and where each word's tokens start."""
    return np.argsort(corpus.words, kind="stable"), np.concatenate(([0], np.cumsum(corpus.word_counts)))


@bare_kernel
def allocate(
    tokens: Tokens, z: AnyArray, of: tuple[int, int], pair: Pair, base: tuple[float, float], beta: FloatArray,
    beta_sum: float, halves: Halves, stream: UInt64Array,
) -> tuple[float, int]:  # fmt: skip
    """log Π (w_a + w_b) / w_c of a split, the anchors' factors included, and how many tokens its second half has.

    ``of`` are the topics a and b. If they are the same, tokens are put into either, otherwise they are where they are.
    ``base`` are α₀ β_a and α₀ β_b.
    """
    words, doc_ptr, count = tokens.words, tokens.doc_ptr, halves.words
    a, b, splits = of[0], of[1], of[0] == of[1]
    base_a, base_b = base
    v, w, n_docs = words[pair.i], words[pair.j], doc_ptr.shape[0] - 1
    is_one_doc, is_one_word = pair.doc_i == pair.doc_j, v == w
    total = log(base_a) + log(base_b) - log(base_a + base_b) - log(base_a + base_b + is_one_doc)
    total += log(beta[w] / beta_sum) - log((beta[w] + is_one_word) / (1.0 + beta_sum))
    count[v, 0] += 1
    count[w, 1] += 1
    n_a, n_b, n_second, product = 1, 1, 0, 1.0
    for t in range(n_docs):
        d = (pair.first + t) % n_docs
        in_a, in_b = 1 if d == pair.doc_i else 0, 1 if d == pair.doc_j else 0
        for i in range(doc_ptr[d], doc_ptr[d + 1]):
            if (z[i] != a and z[i] != b) or i == pair.i or i == pair.j:
                continue
            v = words[i]
            of_a = (in_a + base_a) * (count[v, 0] + beta[v]) / (n_a + beta_sum)
            of_b = (in_b + base_b) * (count[v, 1] + beta[v]) / (n_b + beta_sum)
            of_both = (in_a + in_b + base_a + base_b) * (count[v, 0] + count[v, 1] + beta[v]) / (n_a + n_b + beta_sum)
            product *= (of_a + of_b) / of_both
            if product > _LARGE or product < _SMALL:
                total += log(product)
                product = 1.0
            if uniform(stream) * (of_a + of_b) < of_a if splits else z[i] == a:
                count[v, 0] += 1
                in_a, n_a = in_a + 1, n_a + 1
            else:
                count[v, 1] += 1
                in_b, n_b = in_b + 1, n_b + 1
                if splits:
                    halves.second[n_second] = i
                    n_second += 1
    return total + log(product), n_second


def move(
    corpus: Corpus, state: HDPState, prior: Prior, most: int, pair: Pair, stream: UInt64Array
) -> tuple[HDPState, bool]:  # fmt: skip
    """Propose what a pair of tokens says; the state after that, and whether it is a new one."""
    a, b = int(state.z[pair.i]), int(state.z[pair.j])
    splits, alpha = a == b, state.alpha
    if splits and len(alpha) >= most:
        return state, False
    share = uniform(stream) if splits else alpha[a] / (alpha[a] + alpha[b])
    whole = alpha[a] if splits else alpha[a] + alpha[b]
    base = (float(share * whole), float((1.0 - share) * whole))
    if min(base) <= 0.0:
        return state, False
    halves = Halves(np.zeros((corpus.n_words, 2), np.int64), np.empty(state.topic[a] if splits else 0, np.int64))
    ratio, n_second = allocate(
        tokens_of(corpus), state.z, (a, b), pair, base, prior.beta, float(prior.beta.sum()), halves, stream
    )
    ratio += log(state.level[TOPIC]) - log(share) - log(1.0 - share)
    if log(1.0 - uniform(stream)) >= (ratio if splits else -ratio):
        return state, False
    return (_split(state, a, pair.j, halves, n_second, base) if splits else _merged(state, a, b)), True


def _split(
    state: HDPState, a: int, j: int, halves: Halves, n_second: int, base: tuple[float, float]
) -> HDPState:  # fmt: skip
    """The second half becomes the last topic."""
    state.z[halves.second[:n_second]] = state.z[j] = len(state.topic)
    columns = halves.words.astype(np.int32)
    word_topic = np.column_stack((state.word_topic, columns[:, 1]))
    word_topic[:, a] = columns[:, 0]
    topic = np.append(state.topic, n_second + 1)
    topic[a] -= n_second + 1
    alpha = np.append(state.alpha, base[1])
    alpha[a] = base[0]
    return state._replace(word_topic=word_topic, topic=topic, alpha=alpha)


def _merged(state: HDPState, a: int, b: int) -> HDPState:
    """The first has all tokens of both, and the last takes the number of the second."""
    first, second, last = min(a, b), max(a, b), len(state.topic) - 1
    z, alpha, topic = state.z, state.alpha.copy(), state.topic.copy()
    z[z == second] = first
    z[z == last] = second if second != last else first
    for array in (alpha, topic, state.word_topic.T):
        array[first] += array[second]
        array[second] = array[last]
    word_topic = np.ascontiguousarray(state.word_topic[:, :last])
    return state._replace(word_topic=word_topic, topic=topic[:last], alpha=alpha[:last])


def pick(corpus: Corpus, number: int, stream: UInt64Array) -> Pair | None:
    """A pair of tokens of one word, or of one document, by turns; none if it would be one token."""
    i = below(stream, corpus.n_tokens)
    d, v = int(corpus.token_docs[i]), int(corpus.words[i])
    if number % 2 == 0:
        order, ptr = by_word(corpus)
        j = int(order[ptr[v] + below(stream, int(ptr[v + 1] - ptr[v]))])
    else:
        j = int(corpus.doc_ptr[d]) + below(stream, int(corpus.doc_lengths[d]))
    return None if i == j else Pair(i, j, d, int(corpus.token_docs[j]), below(stream, corpus.n_docs))


def split_and_merge(
    corpus: Corpus, state: HDPState, prior: Prior, most: int, n_tries: int, stream: UInt64Array
) -> HDPState:  # fmt: skip
    """So many proposals, one after the other."""
    for number in range(n_tries):
        pair = pick(corpus, number, stream)
        if pair is not None:
            state, _ = move(corpus, state, prior, most, pair, stream)
    return state
