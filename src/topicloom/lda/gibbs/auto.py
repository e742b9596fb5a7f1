"""The sampler "auto": before sweeps it chooses the one of dense, sparse and word by word that will be the quickest.

All three draw from the same conditional. Which comes next depends on the state alone, so a resumed run chooses as an
uninterrupted one. Dense and sparse also go through the tokens in the same order: with one shard they are one transition
in two programs, and choosing between them by the state changes nothing but time. Word by word is another order, so that
strictly a choice by the state is not exact. It is offered only where it may be the quickest, with very many topics.
"""

from typing import NamedTuple

import numpy as np

from topicloom._types import FloatArray, Int32Array, Int64Array
from topicloom.corpus.corpus import Corpus, once
from topicloom.engine import counts
from topicloom.engine.prior import Prior
from topicloom.engine.sampler import Key, register
from topicloom.engine.state import AnyState, rebuild_lists, topics_of_documents
from topicloom.lda.gibbs import by_word, dense, sparse
from topicloom.lda.gibbs.in_blocks import sampler_in_blocks
from topicloom.lda.gibbs.online_start import place_online
from topicloom.lda.gibbs.word_order import steps_of

_DOCS, _TOKENS = 128, 1024  # by so many is judged how many topics documents and words have
_ONLINE = 500  # from so many topics on the first ones are placed one after the other
_BY_WORD = 1000  # from so many topics on sweeps may go word by word; with fewer that was never the quickest
_CACHE = 8 << 20  # bytes of the caches that a core may count on, about


class Shape(NamedTuple):
    """What the time of a sweep follows, on average over the tokens."""

    entries: float  # length of the list of a token's word
    topics: float  # number of topics in a token's document
    coming: float  # entries that are looked at when the sampler reaches a word, word by word
    searched: float  # share of a list that draws from the prior search, word by word


@once
def _running_shares(corpus: Corpus) -> tuple[FloatArray, FloatArray]:
    """Numbers of words: 0, 1, 2, 4, 8, … and all; and the share of the tokens that so many frequent words have."""
    n_words = corpus.n_words
    numbers = np.array([0, *(1 << np.arange(n_words.bit_length())), n_words])
    running = np.concatenate(([0], np.cumsum(np.sort(corpus.word_counts)[::-1])))
    return numbers.astype(float), running[numbers] / max(corpus.n_tokens, 1)


def far_share(corpus: Corpus, n_topics: int) -> float:
    """Share of the tokens whose words' rows of counts are not in the cache, if those of the most frequent words are."""
    return 1.0 - float(np.interp(_CACHE / (4 * n_topics), *_running_shares(corpus)))


class _Sample(NamedTuple):
    """The documents and tokens by which a corpus is judged."""

    docs: Int64Array
    words: Int32Array  # of the tokens
    coming: FloatArray  # how often the sampler reaches the token's word, per token of it


@once
def _sample(corpus: Corpus) -> _Sample:
    def spread(n: int, most: int) -> Int64Array:
        """At most so many of 0 … n − 1, at equal distances."""
        few = min(n, most)
        return np.arange(few) * (n - 1) // max(few - 1, 1)

    words = corpus.words[spread(corpus.n_tokens, _TOKENS)]
    n_steps = len(steps_of(corpus, (0, corpus.n_docs)))
    docs = spread(corpus.n_docs, _DOCS)
    return _Sample(docs, words, n_steps / corpus.word_counts[words])


def shape_of(corpus: Corpus, state: AnyState, prior: Prior) -> Shape:
    """By a look at some documents and tokens, which depend on the corpus alone."""
    sample = _sample(corpus)
    z, ptr = topics_of_documents(corpus, state.z, sample.docs)
    topics, length = counts.mean_topics(np.arange(len(sample.docs)), ptr, z, np.full(prior.n_topics, -1))
    pulled = float(prior.alpha.max(axis=0).sum())
    sizes, n = state.list_sizes(sample.words), max(len(sample.words), 1)
    return Shape(
        entries=float(np.sum(sizes)) / n,
        topics=topics,
        coming=float(np.sum(sizes * sample.coming)) / n,  # not by BLAS, whose threads would take the cores
        searched=0.5 * pulled / (pulled + length),  # few draws get there
    )


def _densely(corpus: Corpus, prior: Prior) -> float:
    far = dense.FAR_COST * far_share(corpus, prior.n_topics)
    return dense.TOKEN_COST + (dense.TOPIC_COST + far) * prior.n_topics


def _by_lists(entries: float) -> float:
    return sparse.TOKEN_COST + sparse.ENTRY_COST * entries


def expected(corpus: Corpus, state: AnyState, prior: Prior) -> dict[str, float]:
    """What a token is expected to take in the next sweep, by sampler."""
    of = shape_of(corpus, state, prior)
    return {
        "dense": _densely(corpus, prior),
        "sparse": _by_lists(of.entries),
        "words": by_word.TOKEN_COST
        + by_word.TOPIC_COST * of.topics
        + by_word.ENTRY_COST * of.coming
        + sparse.ENTRY_COST * of.searched * of.entries,
    }


def _from_prior(corpus: Corpus, prior: Prior) -> bool:
    return prior.n_topics < _ONLINE


def init(corpus: Corpus, prior: Prior, key: Key) -> AnyState:
    """With many topics each token's is drawn given those before it, so that no sweep meets lists of all topics.

    With few topics sweeps from random ones are quick, and such a start is the better one: what is placed first binds
    what comes after (docs/performance/samplers.md has figures). From there words are in about as many topics as they
    can be, and counts have at once the form that the first sweep takes.
    """
    if not _from_prior(corpus, prior):
        return place_online(corpus, prior, key)
    sizes = np.minimum(corpus.word_counts[_sample(corpus).words], prior.n_topics)
    in_lists = _by_lists(float(np.sum(sizes)) / max(len(sizes), 1)) < _densely(corpus, prior)
    return (sparse if in_lists else dense).init(corpus, prior, key)


def quickest(corpus: Corpus, state: AnyState, prior: Prior) -> str:
    costs = expected(corpus, state, prior)
    if prior.n_topics < _BY_WORD:
        del costs["words"]
    return min(costs, key=costs.__getitem__)


BLOCK_SAMPLERS = {"dense": dense.DENSE, "sparse": sparse.SPARSE, "words": by_word.WORDS}
register(sampler_in_blocks("auto", init, rebuild_lists, sparse.conditional_of, BLOCK_SAMPLERS, quickest, _from_prior))
