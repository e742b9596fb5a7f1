"""Tokens word by word: which documents are taken together, and how their tokens are gathered and put back."""

from typing import NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int64Array
from topicloom.corpus.corpus import Corpus
from topicloom.engine.blocks import Block, Range, Tokens
from topicloom.engine.count_lists import SHIFT, TOPIC
from topicloom.engine.threads import cut, private
from topicloom.numerics.jit import bare_kernel
from topicloom.numerics.prefetch import own_token, own_tokens, prefetch

AT_ONCE = 1 << 20  # tokens whose documents are taken together, so that what is known of them is near
_NARROW, _WIDE = 16, 32  # bits of a topic and of its count in a document: if these are enough, and otherwise
_MOST = 1 << 30  # tokens of a word, twice which is the most that a number of 32 bits can hold
_AHEAD = 16  # tokens from now whose places are asked for


class WordScratch(NamedTuple):
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


def word_scratch(corpus: Corpus, n_topics: int, words: Range, steps: list[Range]) -> WordScratch:
    """Enough for each of these steps."""
    narrow = n_topics <= 1 << _NARROW and int(corpus.doc_lengths.max(initial=0)) < 1 << _NARROW
    most_docs = max((stop - start for start, stop in steps), default=0)
    most_tokens = max((int(corpus.doc_ptr[stop] - corpus.doc_ptr[start]) for start, stop in steps), default=0)
    return WordScratch(
        factor=private(np.zeros(n_topics)),
        row=private(np.zeros(n_topics, np.int32 if int(corpus.word_counts.max(initial=0)) < _MOST else np.int64)),
        place=np.empty(most_docs, np.int64),
        own=np.empty(most_docs + most_tokens, np.uint32 if narrow else np.int64),
        shift=_NARROW if narrow else _WIDE,
        first=private(np.zeros(words[1] - words[0] + 2, np.int64)),
        tokens=np.empty(most_tokens, np.int64),
    )


@bare_kernel
def list_documents(block: Block, doc_ptr: Int64Array, z: AnyArray, scratch: WordScratch) -> None:
    """The topics of each document side by side in ``scratch.own``, as count · 2^shift + topic, after their number.

    ``scratch.place`` gets where each begins. ``scratch.row`` has a number for each topic, all 0, and is left so.
    """
    row, place, own, shift = scratch.row, scratch.place, scratch.own, scratch.shift
    at, mask = 0, (1 << shift) - 1
    for d in range(block.doc_start, block.doc_stop):
        place[d - block.doc_start] = at
        n = 0
        for i in range(doc_ptr[d], doc_ptr[d + 1]):
            k = z[i]
            if row[k] == 0:
                n += 1
                row[k] = n
                own[at + n] = k
            own[at + row[k]] += 1 << shift
        own[at] = n
        for j in range(at + 1, at + n + 1):
            row[own[j] & mask] = 0
        at += 1 + min(doc_ptr[d + 1] - doc_ptr[d], row.shape[0])


@bare_kernel
def gather(block: Block, tokens: Tokens, z: AnyArray, scratch: WordScratch, listed: Int64Array) -> None:
    """The tokens of a range of words, word by word, each as the number of its document · 2³² + its topic.

    Those of the r-th word are ``scratch.tokens`` from ``first[r]`` to ``first[r + 1]``. ``listed`` is room to list a
    document's own tokens in, or none if these lie side by side (``own_tokens``).
    """
    words, doc_ptr, first, gathered = tokens.words, tokens.doc_ptr, scratch.first, scratch.tokens
    word_start, word_stop = block.word_start, block.word_stop
    n_words = word_stop - word_start
    first[:] = 0
    for d in range(block.doc_start, block.doc_stop):
        begin, n = own_tokens(doc_ptr[d], doc_ptr[d + 1], words, word_start, word_stop, listed)
        for j in range(n):
            first[words[own_token(begin, j, listed)] - word_start + 2] += 1
    for r in range(2, n_words + 2):
        first[r] += first[r - 1]
    # first[r + 1] goes from where the r-th word's tokens start to where they end, which is where the next one's start
    for d in range(block.doc_start, block.doc_stop):
        begin, n = own_tokens(doc_ptr[d], doc_ptr[d + 1], words, word_start, word_stop, listed)
        for j in range(n):
            later = own_token(begin, min(j + _AHEAD, n - 1), listed)
            prefetch(gathered, first[words[later] - word_start + 1])
            i = own_token(begin, j, listed)
            r = words[i] - word_start + 1
            gathered[first[r]] = ((d - block.doc_start) << SHIFT) + z[i]
            first[r] += 1


@bare_kernel
def scatter(block: Block, tokens: Tokens, z: AnyArray, scratch: WordScratch, listed: Int64Array) -> None:
    """The topics back to where the tokens stand in their documents."""
    words, doc_ptr, first, gathered = tokens.words, tokens.doc_ptr, scratch.first, scratch.tokens
    word_start, word_stop = block.word_start, block.word_stop
    for d in range(block.doc_start, block.doc_stop):
        begin, n = own_tokens(doc_ptr[d], doc_ptr[d + 1], words, word_start, word_stop, listed)
        for j in range(n):
            i = own_token(begin, j, listed)
            r = words[i] - word_start
            z[i] = gathered[first[r]] & TOPIC
            first[r] += 1
