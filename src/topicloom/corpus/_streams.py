"""Token streams while they grow, and their distinct pairs some documents at a time, in little memory."""

import tempfile
from array import array
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import numpy as np

from topicloom._types import AnyArray, Int32Array, Int64Array
from topicloom.corpus._checks import read_only
from topicloom.files.arrays import array_in_file, cannot_write

BLOCK_TOKENS = 1 << 20


class _Place(NamedTuple):
    folder: Path
    files: ExitStack  # closes what grows there


_PLACE: ContextVar[_Place | None] = ContextVar("where streams grow", default=None)


@contextmanager
def growing_in(folder: Path) -> Iterator[None]:
    """Within this context streams grow in nameless files of the folder, not in memory."""
    with ExitStack() as files:
        token = _PLACE.set(_Place(folder, files))
        try:
            yield
        finally:
            _PLACE.reset(token)


def room_for(size: int, dtype: Any) -> AnyArray:
    """A vector to fill, in memory or in the folder where streams are to grow."""
    place = _PLACE.get()
    return np.empty(size, dtype) if place is None else array_in_file(place.folder, size, dtype)


class GrowingArray:
    """A vector that grows at its end where it stands: an array of the standard library, which does not fill or
    double its memory, or a file."""

    def __init__(self, dtype: type[np.int32 | np.int64 | np.float64] = np.int32) -> None:
        self._dtype = np.dtype(dtype)
        self._items: array[Any] = array({"int32": "i", "int64": "q", "float64": "d"}[self._dtype.name])
        self._place, self._file = _PLACE.get(), cast(IO[bytes] | None, None)
        self._in_file = 0

    def __len__(self) -> int:
        return self._in_file + len(self._items)

    def append(self, chunk: AnyArray) -> None:
        if len(chunk):
            self._items.frombytes(np.ascontiguousarray(chunk, self._dtype).data.cast("B"))
            self._move()

    def extend(self, numbers: Iterable[int]) -> None:
        self._items.extend(numbers)
        self._move()

    def _move(self, more_than: int = BLOCK_TOKENS) -> None:
        """Bring what is in memory to the file, if it is to be in one and is worth it."""
        if self._place is None or len(self._items) <= more_than:
            return
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=self._place.folder)  # noqa: SIM115 (closed when growing_in ends)
                self._place.files.callback(_close, self._file)
            self._items.tofile(self._file)
            self._file.flush()
        except OSError as error:
            raise cannot_write(self._place.folder, error) from error
        self._in_file += len(self._items)
        del self._items[:]

    def finish(self, *, writable: bool = False) -> AnyArray:
        """The vector, without a copy; nothing can be appended afterwards."""
        if self._file is None:
            found: AnyArray = np.frombuffer(self._items, self._dtype)
        else:
            self._move(more_than=0)
            found = np.memmap(self._file, self._dtype, "r+", shape=(self._in_file,)).view(np.ndarray)
        return found if writable else read_only(found)


def _close(file: IO[bytes]) -> None:
    """Close a file that is no longer needed; on a full disk it may have bytes that it cannot write."""
    with suppress(OSError):
        file.close()


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


def count_words(words: Int32Array, n_words: int) -> Int64Array:
    """How often each word number occurs, without a copy of the stream."""
    counts = np.zeros(n_words, np.int64)
    for start in range(0, len(words), BLOCK_TOKENS):
        counts += np.bincount(words[start : start + BLOCK_TOKENS], minlength=n_words)
    return counts


def compacted(words: Int32Array, doc_ptr: Int64Array) -> tuple[Int32Array, Int64Array]:
    """The stream without its negative entries, moved together where it stands, and its pointers."""
    lengths, done = np.zeros(len(doc_ptr) - 1, np.int64), 0
    for first, last in document_blocks(doc_ptr):
        part = words[doc_ptr[first] : doc_ptr[last]]
        kept = np.concatenate(([0], np.cumsum(part >= 0)))
        lengths[first:last] = np.diff(kept[doc_ptr[first : last + 1] - doc_ptr[first]])
        words[done : done + kept[-1]] = part[part >= 0]
        done += int(kept[-1])
    short = words[:done]
    # In memory a copy, so that what is not needed is given back.
    return short.copy() if _PLACE.get() is None else short, pointers(lengths)


def reordered(words: Int32Array, doc_ptr: Int64Array, order: Int64Array) -> tuple[Int32Array, Int64Array]:
    """The stream with its documents in another order, and its pointers; it is where streams grow."""
    ptr = pointers(np.diff(doc_ptr)[order])
    stream = room_for(len(words), np.int32)
    for at, d in zip(ptr.tolist(), order.tolist(), strict=False):
        found = words[doc_ptr[d] : doc_ptr[d + 1]]
        stream[at : at + len(found)] = found
    return read_only(stream), ptr


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
