"""Which words a corpus keeps: bounds on their documents and on their number. One way for texts and matrices."""

from collections.abc import Callable
from math import ceil, floor
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from topicloom._types import AnyArray, BoolArray, Int64Array
from topicloom.corpus._checks import read_only
from topicloom.corpus._streams import document_blocks
from topicloom.errors import InputError, counted


class Pruning(NamedTuple):
    """Bounds on words: on their number of documents (an int) or the share of them (a float), and how many stay."""

    min_df: int | float = 1
    max_df: int | float = 1.0
    max_words: int | None = None

    def check(self) -> "Pruning":
        """The bounds themselves, if they can be used."""
        for name, bound in (("min_df", self.min_df), ("max_df", self.max_df)):
            whole = isinstance(bound, int | np.integer) and not isinstance(bound, bool)
            share = isinstance(bound, float | np.floating) and 0 <= bound <= 1
            if not share and not (whole and bound >= (name == "max_df")):
                raise InputError(
                    f"{name}={bound!r} must be a number of documents (a whole number) or a share of them "
                    "(a float from 0.0 to 1.0)."
                )
        most = self.max_words
        if most is not None and (not isinstance(most, int | np.integer) or isinstance(most, bool) or most < 1):
            raise InputError(f"max_words={most!r} must be None or a whole number of 1 or more.")
        return self

    @property
    def any_df(self) -> bool:
        """Whether words of any number of documents are kept."""
        low = self.min_df == 0 or (self.min_df == 1 and not isinstance(self.min_df, float))
        return low and isinstance(self.max_df, float) and self.max_df == 1

    @property
    def keeps_all(self) -> bool:
        return self.any_df and self.max_words is None


def kept_words(
    pruning: Pruning,
    names: Any,
    n_docs: int,
    counts: Callable[[], AnyArray],
    frequency: Callable[[], Int64Array],
) -> BoolArray:
    """Mask of the words that stay. ``counts`` and ``frequency`` give tokens and documents of each word, if asked."""
    keep = np.ones(len(names), bool)
    if not pruning.any_df:
        keep = _within(frequency(), n_docs, pruning)
    if pruning.max_words is not None and pruning.max_words < np.count_nonzero(keep):
        # In alphabetical order; the second sort is stable, so that ties fall alphabetically and not by document order.
        ranked = np.array(sorted(np.flatnonzero(keep).tolist(), key=names.__getitem__))
        ranked = ranked[np.argsort(-counts()[ranked], kind="stable")]
        keep[ranked[pruning.max_words :]] = False
    return keep


def _within(frequency: Int64Array, n_docs: int, pruning: Pruning) -> BoolArray:
    # 0.07 * 100 is a little above 7 in floating point; a word in 7 of 100 documents is still to be kept.
    slack, (min_df, max_df, _) = 1e-9, pruning
    low = ceil(min_df * n_docs - slack) if isinstance(min_df, float | np.floating) else min_df
    high = floor(max_df * n_docs + slack) if isinstance(max_df, float | np.floating) else max_df
    keep: BoolArray = (frequency >= low) & (frequency <= high)
    if not keep.any():
        raise InputError(
            f"the vocabulary is empty: of {counted(len(frequency), 'words')} none is in at least {low} "
            f"(min_df={min_df}) and at most {high} (max_df={max_df}) of {counted(n_docs, 'documents')}. "
            "Lower min_df or raise max_df."
        )
    return keep


def document_frequency(words: AnyArray, ptr: Int64Array, n_words: int) -> Int64Array:
    """In how many documents each word is, in time that grows with the tokens alone."""
    frequency = np.zeros(n_words, np.int64)
    for first, last in document_blocks(ptr):
        start, end = int(ptr[first]), int(ptr[last])
        rows = (np.ones(end - start, np.int8), words[start:end], ptr[first : last + 1] - start)
        columns = sp.csr_array(rows, shape=(last - first, n_words)).tocsc()  # documents of each word, in order
        new = np.ones(end - start, bool)
        new[1:] = columns.indices[1:] != columns.indices[:-1]
        begins = columns.indptr[:-1][np.diff(columns.indptr) > 0]
        new[begins] = True
        frequency += np.diff(np.concatenate(([0], np.cumsum(new)))[columns.indptr])
    return read_only(frequency)
