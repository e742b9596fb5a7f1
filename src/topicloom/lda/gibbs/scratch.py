"""What kernels keep of the topics and write into while a sweep lasts; most of it is for those that work by lists."""

from typing import NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int64Array
from topicloom.corpus.corpus import Corpus, once
from topicloom.engine import counts
from topicloom.engine.prior import Prior
from topicloom.engine.threads import private
from topicloom.lda.gibbs import sparse as gibbs_sparse
from topicloom.lda.gibbs import topic_lines as kept


class Topics(NamedTuple):
    """In the order in which kernels take them."""

    kept: FloatArray  # [K, LINE], see ``lda.gibbs.topic_lines``
    coef: FloatArray  # [K] (n_dk + α_k) / (n_k + Σβ) of the current document
    blocks: FloatArray  # sums of ``coef``
    weight: FloatArray  # [K + 1] of the entries of a list, or of the topics of a document
    met: AnyArray  # [K + 1] the topics that the document has or had, each once


def new_topics(prior: Prior) -> Topics:
    """For one thread, apart from what others write; ``kernels.kept.fill`` tells it the totals."""
    table = private(np.zeros((prior.n_topics, kept.LINE)))
    numbers, blocks = np.zeros(prior.n_topics), np.zeros(gibbs_sparse.n_blocks(prior.n_topics))
    one_more = np.zeros(prior.n_topics + 1)
    return Topics(table, private(numbers), private(blocks), private(one_more), private(one_more.astype(np.uint32)))


@once
def _longest(corpus: Corpus) -> int:
    return int(corpus.doc_lengths.max(initial=1))


@once
def _side_by_side(corpus: Corpus) -> bool:
    """Whether documents' tokens are in the order of their words, as those of a matrix are."""
    return counts.in_order(corpus.words, corpus.doc_ptr)


def own_room(corpus: Corpus, words: tuple[int, int]) -> Int64Array:
    """To list a document's tokens of a range of words in; none where these lie side by side anyway."""
    listed = words != (0, corpus.n_words) and not _side_by_side(corpus)
    return private(np.empty(_longest(corpus) if listed else 0, np.int64))
