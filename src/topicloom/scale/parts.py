"""A part of the words with its counts: what travels between workers, and the state that compiled code sees of it."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array
from topicloom.engine import count_lists as lists
from topicloom.engine.blocks import Range
from topicloom.engine.state import SparseState, State
from topicloom.engine.threads import private

DENSE, LISTS = "dense", "lists"  # forms of counts
A = TypeVar("A", bound=AnyArray)
_NONE = np.zeros(0, np.uint16)


class Packed(NamedTuple):
    """The counts of some words as they travel: rows, or sizes of lists and the entries in use, side by side."""

    words: Range
    counts: AnyArray  # [words, K] or entries
    sizes: AnyArray | None  # of lists
    totals: Int64Array | None = None  # [K] the part's own tokens, of one that travels whole
    share: FloatArray | None = None  # [K] of each topic

    @property
    def nbytes(self) -> int:
        return sum(0 if array is None else int(array.nbytes) for array in self[1:])


@dataclass
class Part:
    """A part of the words where it is at home, or on a visit."""

    words: Range
    rows: Int32Array | None  # [words, K]
    listed: SparseState | None  # lists, numbered from the part's first word
    totals: Int64Array  # [K] the part's own tokens
    share: FloatArray  # [K] the part's share of each topic (``engine.exact_shards``)

    @property
    def form(self) -> str:
        return DENSE if self.rows is not None else LISTS

    def state(self, z: AnyArray, list_ptr: Int64Array, n_words: int) -> Any:
        """The state of a sampler whose words are numbered as in the corpus; none but the part's may be looked at."""
        first = self.words[0]
        if self.rows is not None:
            return State(z, numbered_from(first, self.rows, n_words), self.totals)
        own = cast(SparseState, self.listed)
        sizes, entries = numbered_from(first, own.list_size, n_words), numbered_from(int(list_ptr[first]), own.entries)
        return SparseState(z, list_ptr, sizes, entries, self.totals)

    def listed_of(self, words: Range) -> SparseState:
        """The lists of some words, where they are."""
        own, start, stop = cast(SparseState, self.listed), words[0] - self.words[0], words[1] - self.words[0]
        return own._replace(list_ptr=own.list_ptr[start : stop + 1], list_size=own.list_size[start:stop])

    def packed(self, words: Range | None = None) -> Packed:
        """The counts of the part, or of some of its words, for a journey."""
        whole = (self.totals, self.share) if words is None else (None, None)
        words = self.words if words is None else words
        if self.rows is not None:
            return Packed(words, self.rows[words[0] - self.words[0] : words[1] - self.words[0]], None, *whole)
        some = self.listed_of(words)
        entries = np.empty(int(some.list_size.sum(dtype=np.int64)), np.int64)
        lists.pack(some, entries)
        return Packed(words, entries, some.list_size, *whole)


def empty_part(words: Range, form: str, n_topics: int, list_ptr: Int64Array, counts: bool = True) -> Part:
    """A part without tokens; with ``counts=False`` its counts are yet to be filled."""
    n, totals, share = words[1] - words[0], private(np.zeros(n_topics, np.int64)), private(np.ones(n_topics))
    if form == DENSE:
        rows = np.zeros((n, n_topics), np.int32) if counts else np.empty((n, n_topics), np.int32)
        return Part(words, rows, None, totals, share)
    own = list_ptr[words[0] : words[1] + 1] - list_ptr[words[0]]
    return Part(
        words, None, SparseState(_NONE, own, np.zeros(n, np.int32), np.empty(own[-1], np.int64), totals), totals, share
    )


def unpacked(pieces: list[Packed], words: Range, n_topics: int, list_ptr: Int64Array) -> Part:
    """The part that packed pieces make, which lie side by side."""
    part = empty_part(words, DENSE if pieces[0].sizes is None else LISTS, n_topics, list_ptr, counts=False)
    for (start, stop), given, sizes, totals, share in pieces:
        if totals is not None and share is not None:
            part.totals[:], part.share[:] = totals, share
        start, stop = start - words[0], stop - words[0]
        if part.rows is not None:
            part.rows[start:stop] = given
        else:
            own = cast(SparseState, part.listed)
            assert sizes is not None
            own.list_size[start:stop] = sizes
            some = own._replace(list_ptr=own.list_ptr[start : stop + 1], list_size=own.list_size[start:stop])
            lists.unpack(given, some)
    return part


def in_form(part: Part, form: str, n_topics: int, list_ptr: Int64Array) -> Part:
    """The part with its counts in a form, lists in order."""
    if part.form == form:
        return part
    other = empty_part(part.words, form, n_topics, list_ptr, counts=False)
    if other.rows is not None:
        lists.spread(cast(SparseState, part.listed), other.rows)
    else:
        assert part.rows is not None
        own = cast(SparseState, other.listed)
        lists.gather(part.rows, own)
        lists.sort_lists(0, len(own.list_size), own)
    return other


def numbered_from(first: int, array: A, n: int | None = None) -> A:
    """The array for code that numbers its rows from ``first`` on; it must look at no others.

    A sampler knows words by their numbers in the corpus, while a worker has the counts of some words alone. ``n`` is
    the number of rows that the whole would have.
    """
    about = dict(array.__array_interface__)
    about["data"] = (about["data"][0] - first * array.strides[0], False)
    about["shape"] = (first + len(array) if n is None else n, *array.shape[1:])
    return cast(A, np.asarray(SimpleNamespace(__array_interface__=about, owner=array)))
