"""What a compiled sweep goes through: some documents, the words of one part, and the tokens of a corpus."""

from typing import NamedTuple

import numpy as np

from topicloom._types import Int32Array, Int64Array
from topicloom.corpus.corpus import Corpus, once
from topicloom.engine import counts
from topicloom.engine.threads import private

Range = tuple[int, int]


class Tokens(NamedTuple):
    """The tokens of a corpus, document by document."""

    words: Int32Array  # [N] the word of each token, document by document
    doc_ptr: Int64Array  # [D + 1] where each document's tokens start


class Block(NamedTuple):
    """Some documents and some words: the tokens that one call draws."""

    doc_start: int
    doc_stop: int
    word_start: int
    word_stop: int


def tokens_of(corpus: Corpus) -> Tokens:
    return Tokens(corpus.words, corpus.doc_ptr)


def whole(corpus: Corpus) -> Block:
    """All documents and all words."""
    return Block(0, corpus.n_docs, 0, corpus.n_words)


@once
def _longest(corpus: Corpus) -> int:
    return int(corpus.doc_lengths.max(initial=1))


@once
def _side_by_side(corpus: Corpus) -> bool:
    """Whether documents' tokens are in the order of their words, as those of a matrix are."""
    return counts.in_order(corpus.words, corpus.doc_ptr)


def room_to_list(corpus: Corpus, words: Range) -> Int64Array:
    """Room to list a document's tokens of a range of words; empty if these lie side by side anyway."""
    listed = words != (0, corpus.n_words) and not _side_by_side(corpus)
    return private(np.empty(_longest(corpus) if listed else 0, np.int64))
