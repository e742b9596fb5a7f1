"""First topics, each drawn given those before it; the kernel is ``lda.gibbs.start_kernels``."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array
from topicloom.corpus.corpus import Corpus
from topicloom.engine import count_lists as lists
from topicloom.engine.prior import Prior
from topicloom.engine.sampler import Key
from topicloom.engine.state import SparseState, new_assignments, new_lists
from topicloom.lda.gibbs import start_kernels as gibbs_start
from topicloom.lda.gibbs import topic_lines as kept
from topicloom.lda.gibbs.scratch import new_topics
from topicloom.numerics.rng import Purpose, stream

_ROOM = 4  # a word has a row only if it has a token for so many of its cells: rows take twice what lists do at the most
_MOST = 1 << 31  # tokens of a word, more than which a row's cell cannot hold


class Rows(NamedTuple):
    """Of frequent words, in the order in which the kernel takes them."""

    row_of: Int32Array  # [V] a word's row, or what else it is
    words: Int32Array  # [R] the words that have rows, ascending
    rows: Int32Array  # [R, K] their counts
    largest: FloatArray  # [K] the largest α of any document
    pulls: FloatArray  # [R] sums of ``pull`` over the words' tokens
    pull: FloatArray  # [K] ``largest`` over totals, with Σβ, as they were some time ago
    share: FloatArray  # [K + 1] n_dk / (n_k + Σβ) of the document's topics


def frequent(corpus: Corpus, prior: Prior) -> Int32Array:
    """The words that have rows."""
    n = corpus.word_counts
    return np.flatnonzero((_ROOM * n >= prior.n_topics) & (n < _MOST) & (prior.boost_row < 0)).astype(np.int32)


def new_rows(prior: Prior, words: Int32Array) -> Rows:
    """Rows without counts, and no pulls yet."""
    row_of = np.where(prior.boost_row < 0, gibbs_start.SHORT, gibbs_start.SEEDED).astype(np.int32)
    row_of[words] = np.arange(len(words))
    K = prior.n_topics
    rows = np.zeros((len(words), K), np.int32)
    return Rows(row_of, words, rows, prior.alpha.max(axis=0), np.zeros(len(words)), np.zeros(K), np.zeros(K + 1))


def place_first(
    corpus: Corpus, state: SparseState, prior: Prior, rows: Rows, rng: AnyArray,
    kernel: Callable[..., None] = gibbs_start.place_tokens,
) -> None:  # fmt: skip
    """Fill z, lists and totals."""
    topics = new_topics(prior)
    kept.fill(np.zeros(prior.n_topics, np.int64), prior.beta_sum, topics.kept)
    kernel(corpus.words, corpus.doc_ptr, *state[:4], *prior.by_lists, *rows, *topics, rng)
    state.topic[:] = topics.kept[:, kept.TOTAL]


def place_on_line(corpus: Corpus, prior: Prior, key: Key) -> SparseState:
    """First topics, each token's drawn given those before it."""
    state = new_lists(corpus, new_assignments(corpus, prior.n_topics), prior.n_topics)
    rows = new_rows(prior, frequent(corpus, prior))
    place_first(corpus, state, prior, rows, stream(key.seed, Purpose.START, key.chain))
    lists.sort_lists(0, corpus.n_words, *state[1:4])
    return state
