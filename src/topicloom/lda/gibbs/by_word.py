"""Sweeps word by word: in which steps, and with which scratch. The kernels are in ``lda.gibbs.by_word_kernels``."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int64Array
from topicloom.corpus.corpus import Corpus
from topicloom.engine.prior import Prior
from topicloom.engine.state import SparseState
from topicloom.engine.threads import cut, private
from topicloom.lda.gibbs import by_word_kernels as gibbs_words
from topicloom.lda.gibbs import topic_lines as kept
from topicloom.lda.gibbs.scratch import new_topics, own_room

AT_ONCE = 1 << 20  # tokens whose documents are taken together, so that what is kept of them is near
_NARROW, _WIDE = 16, 32  # bits of a topic and of its count in a document: where these are enough, and else
_MOST = 1 << 30  # tokens of a word, twice which is the most that a number of 32 bits can hold

Range = tuple[int, int]


class Scratch(NamedTuple):
    """For some documents at a time."""

    factor: FloatArray  # [K] (1 + (n_kv + boost) / β_v) / (n_k + Σβ) of the current word
    row: AnyArray  # [K] 2 n_kv of the current word, plus 1 for topics in its list
    place: Int64Array  # where a document's topics start
    own: AnyArray  # for each document how many topics it has, and count · 2^shift + topic of each
    shift: int
    first: Int64Array  # [V + 1] where a word's tokens start
    tokens: Int64Array  # document · 2³² + topic of the tokens, word by word


def steps_of(corpus: Corpus, docs: Range) -> list[Range]:
    """Ranges of documents that are taken together."""
    lengths = corpus.doc_lengths[docs[0] : docs[1]]
    parts = cut(lengths, -(-int(lengths.sum()) // AT_ONCE) or 1)
    return [(docs[0] + start, docs[0] + stop) for start, stop in parts]


def new_scratch(corpus: Corpus, n_topics: int, words: Range, steps: list[Range]) -> Scratch:
    """Enough for each of these steps."""
    narrow = n_topics <= 1 << _NARROW and int(corpus.doc_lengths.max(initial=0)) < 1 << _NARROW
    most_docs = max((stop - start for start, stop in steps), default=0)
    most_tokens = max((int(corpus.doc_ptr[stop] - corpus.doc_ptr[start]) for start, stop in steps), default=0)
    return Scratch(
        factor=private(np.zeros(n_topics)),
        row=private(np.zeros(n_topics, np.int32 if int(corpus.word_counts.max(initial=0)) < _MOST else np.int64)),
        place=np.empty(most_docs, np.int64),
        own=np.empty(most_docs + most_tokens, np.uint32 if narrow else np.int64),
        shift=_NARROW if narrow else _WIDE,
        first=private(np.zeros(words[1] - words[0] + 2, np.int64)),
        tokens=np.empty(most_tokens, np.int64),
    )


def sweep_words(
    corpus: Corpus, docs: Range, words: Range, state: SparseState, prior: Prior, rng: AnyArray,
    kernel: Callable[..., None] = gibbs_words.sweep_words,
) -> Int64Array:  # fmt: skip
    """One block of a sweep: the tokens of some documents and words."""
    steps, topics, largest = steps_of(corpus, docs), new_topics(prior), prior.alpha.max(axis=0)
    kept.fill(state.topic, prior.beta_sum, topics.kept)
    own, mine = new_scratch(corpus, prior.n_topics, words, steps), own_room(corpus, words)
    work = np.zeros(2, np.int64)
    for start, stop in steps:
        tokens = start, stop, *words, corpus.words, corpus.doc_ptr, state.z, own.first, own.tokens, mine
        gibbs_words.list_documents(start, stop, corpus.doc_ptr, state.z, own.row, own.place, own.own, own.shift)
        gibbs_words.gather(*tokens)
        kernel(start, words[0], *state[1:4], *prior.by_lists, largest, *topics[:4], *own, rng, work)
        gibbs_words.scatter(*tokens)
    state.topic[:] = topics.kept[:, kept.TOTAL]
    return work
