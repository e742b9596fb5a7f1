"""What sweeps by lists are handed: which words' tokens are drawn by their documents' topics, and their scratch.

The kernels are in ``kernels.long_words``, which says what the arrays mean.
"""

from typing import NamedTuple

import numpy as np

from topicloom._types import AnyArray, BoolArray, FloatArray, Int32Array, Int64Array
from topicloom.corpus.corpus import Corpus
from topicloom.inference.kernel import Prior
from topicloom.inference.parallel import private
from topicloom.inference.state import SparseState, State, list_sizes
from topicloom.kernels import counts, gibbs_sparse, long_words

_LOOKED_AT = 256  # documents by which their number of topics is judged
_LONGER = 1.5  # a list must be so many times as long as what would be looked at in its place
_ROOM = 4  # a word has a row only if it has a token for so many of its cells: rows take twice what lists do at the most
_MOST = 1 << 30  # tokens of a word, twice which is the most that a row's cell can hold


class LongWords(NamedTuple):
    """In the order in which kernels take them."""

    row_of: Int32Array  # [V] a word's row, or what else it is
    words: Int32Array  # [R] the long words, ascending
    rows: Int32Array  # [R, K]
    largest: FloatArray  # [K] the largest α of any document
    pulls: FloatArray  # [R] sums of ``pull`` over the words' tokens
    stale: FloatArray  # [K] totals, with Σβ, for which the pulls were summed up
    pull: FloatArray  # [K] ``largest`` over ``stale``


class Topics(NamedTuple):
    """What kernels that work by lists keep of the topics and write into, in the order in which they take it."""

    kept: FloatArray  # [K, LINE]
    coef: FloatArray  # [K] (n_dk + α_k) / (n_k + Σβ) of the current document
    blocks: FloatArray  # sums of ``coef``
    met: AnyArray  # [K + 1] the topics that the document has or had, each once
    share: FloatArray  # [K + 1] n_dk / (n_k + Σβ) of these
    weight: FloatArray  # [K + 1] of the entries of a list, or of the topics in ``met``


class Choice(NamedTuple):
    words: Int32Array
    work: FloatArray  # [V] weights that a token of a word is expected to take


def keep(totals: Int64Array, prior: Prior) -> Topics:
    """For one thread, apart from what others write."""
    numbers, one_more = np.zeros(prior.n_topics), np.zeros(prior.n_topics + 1)
    kept = np.zeros((prior.n_topics, long_words.LINE))
    kept[:, long_words.TOTAL] = totals
    kept[:, long_words.BETA_SUM] = prior.beta_sum
    kept[:, long_words.INVERSE] = 1.0 / (totals + prior.beta_sum)
    less, has_any = totals - 1 + prior.beta_sum, totals > 0
    np.divide(1.0, less, out=kept[:, long_words.INVERSE_OUT], where=has_any)
    kept[:, long_words.PLACE] = long_words.NOWHERE
    blocks = np.zeros(gibbs_sparse.n_blocks(prior.n_topics))
    met = private(one_more.astype(np.uint32))
    return Topics(private(kept), private(numbers), private(blocks), met, private(one_more), private(one_more))


def choose(corpus: Corpus, state: State | SparseState, prior: Prior) -> Choice:
    """The words whose lists are longer than what a draw by the document looks at, judged by the state alone."""
    n = min(corpus.n_docs, _LOOKED_AT)
    looked_at = np.arange(n) * (corpus.n_docs - 1) // max(n - 1, 1)
    topics, length = counts.mean_topics(looked_at, corpus.doc_ptr, state.z, np.full(prior.n_topics, -1))
    pulled = prior.alpha.max(axis=0).sum()
    in_vain = 0.5 * pulled / (pulled + length)  # share of the list that is searched, as few draws come to that
    sizes = list_sizes(state)
    is_long = _may_be(corpus, prior) & ((1 - in_vain) * sizes > _LONGER * topics)
    work = np.where(is_long, topics + in_vain * sizes, sizes)
    return Choice(np.flatnonzero(is_long).astype(np.int32), work)


def mean_work(corpus: Corpus, choice: Choice) -> float:
    """Weights that a token is expected to take, on average over all.

    Not by a product of vectors: BLAS has threads of its own, which go on spinning for a while where ours are to work.
    """
    return float(np.sum(corpus.word_counts * choice.work) / max(corpus.n_tokens, 1))


def candidates(corpus: Corpus, prior: Prior) -> Int32Array:
    """All words that may have rows."""
    return np.flatnonzero(_may_be(corpus, prior)).astype(np.int32)


def _may_be(corpus: Corpus, prior: Prior) -> BoolArray:
    return may_have_row(corpus.word_counts, prior.n_topics) & (prior.boost_row < 0)


def may_have_row(counts: Int64Array, n_topics: int) -> BoolArray:
    """By a word's number of tokens."""
    return np.asarray((_ROOM * counts >= n_topics) & (counts < _MOST))


def new_rows(prior: Prior, words: Int32Array) -> LongWords:
    """Rows without counts, and no pulls yet."""
    row_of = np.where(prior.boost_row < 0, long_words.SHORT, long_words.SEEDED).astype(np.int32)
    row_of[words] = np.arange(len(words))
    K = prior.n_topics
    rows = np.zeros((len(words), K), np.int32)
    return LongWords(row_of, words, rows, prior.alpha.max(axis=0), np.zeros(len(words)), np.zeros(K), np.zeros(K))


def part_of(long: LongWords, words: tuple[int, int], state: SparseState, topics: Topics) -> LongWords:
    """The scratch for one range of words, whose pulls are summed up for the totals of the topics."""
    own = long._replace(stale=np.zeros_like(long.stale), pull=np.zeros_like(long.pull))
    if len(long.words):
        long_words.sum_pulls(*words, own.words, own.rows, *state[1:4], topics.kept, *own[3:])
    return own


def limits(part: LongWords, words: tuple[int, int], state: SparseState, topics: Topics) -> tuple[float, int]:
    """By how much any topic's total has shrunk since the pulls were summed up, and what it costs to do so anew."""
    bound = max(1.0, float(np.max(part.stale * topics.kept[:, long_words.INVERSE])))
    own = part.words[(part.words >= words[0]) & (part.words < words[1])]
    return bound, len(part.stale) + int(state.list_size[own].sum())
