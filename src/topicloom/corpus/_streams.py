"""Token streams while they grow, and their distinct pairs some documents at a time, in little memory."""

from array import array
from collections.abc import Iterator
from typing import Any

import numpy as np

from topicloom._types import AnyArray, Int32Array, Int64Array
from topicloom.corpus._checks import read_only

BLOCK_TOKENS = 1 << 20


class GrowingArray:
    """A vector that grows at its end where it stands: an array of the standard library, which does not fill or
    double its memory."""

    def __init__(self, dtype: type[np.int32 | np.int64 | np.float64] = np.int32) -> None:
        self._dtype = np.dtype(dtype)
        self._items: array[Any] = array({"int32": "i", "int64": "q", "float64": "d"}[self._dtype.name])

    def __len__(self) -> int:
        return len(self._items)

    def append(self, chunk: AnyArray) -> None:
        if len(chunk):
            self._items.frombytes(np.ascontiguousarray(chunk, self._dtype).data.cast("B"))

    def finish(self) -> AnyArray:
        """The vector, read-only, without a copy; nothing can be appended afterwards."""
        return read_only(np.frombuffer(self._items, self._dtype))


def pointers(lengths: AnyArray) -> Int64Array:
    """Where each document starts and the last one ends."""
    ptr = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=ptr[1:])
    return read_only(ptr)


def document_blocks(doc_ptr: Int64Array, tokens: int = BLOCK_TOKENS) -> Iterator[tuple[int, int]]:
    """Ranges of whole documents that hold about so many tokens (one document at least)."""
    first, n_docs = 0, len(doc_ptr) - 1
    while first < n_docs:
        last = int(np.searchsorted(doc_ptr, doc_ptr[first] + tokens, side="right")) - 1
        last = min(max(last, first + 1), first + tokens, n_docs)
        yield first, last
        first = last


def block_pairs(
    words: Int32Array,
    doc_ptr: Int64Array,
    n_words: int,
    block: tuple[int, int],
    weights: AnyArray | None = None,
) -> tuple[Int64Array, Int64Array, AnyArray]:
    """(document, word, count or summed weight) of the distinct pairs in a range of documents, in order."""
    first, last = block
    start, end = doc_ptr[first], doc_ptr[last]
    docs = np.repeat(np.arange(first, last), np.diff(doc_ptr[first : last + 1]))
    keys = docs * n_words + words[start:end]
    if weights is None:
        distinct, counts = np.unique(keys, return_counts=True)
    else:
        distinct, which = np.unique(keys, return_inverse=True)
        counts = np.bincount(which, weights=weights[start:end], minlength=len(distinct))
    return distinct // n_words, distinct % n_words, counts
