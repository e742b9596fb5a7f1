"""Cells × features matrices, in memory or in HDF5, to a stream of features, some entries at a time.

The matrix is read two or three times, never as a whole: to check and count, to count again what is left of it if
features are pruned, and to put each count in its place. Beside what it is given, memory is that of the stream.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from topicloom._types import BoolArray, Int32Array, Int64Array
from topicloom.corpus._checks import first_repeat, read_only, shown, texts
from topicloom.corpus._limits import check_memory
from topicloom.corpus._matrices import as_csr, csr_from_parts
from topicloom.corpus._streams import document_blocks, pointers, room_for
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.pruning import Pruning, kept_words
from topicloom.errors import InputError

BLOCK_ENTRIES = 1 << 18  # of a matrix, looked at together
_LARGEST = np.iinfo(np.int32).max
_UNKNOWN, _LEFT_OUT = -1, -2  # in place of the number of a feature


class NotCountsError(InputError):
    """A value of the matrix is no count."""


class Block(NamedTuple):
    """Part of a matrix: some cells with all features, or some features of all cells."""

    cell: int  # the first one
    feature: int
    counts: Any  # CSR


class Cells(NamedTuple):
    """A matrix with its names. ``blocks`` can be gone through several times."""

    where: str  # its name in messages
    blocks: Callable[[], Iterator[Block]]
    cells: tuple[str, ...]
    features: tuple[str, ...]
    chosen: BoolArray | None = None  # features to read; all, if it is None


class Choice(NamedTuple):
    """What is made of the counts, and which features are kept."""

    binarize: bool = False
    min_cells: int | float = 0
    max_cells: int | float = 1.0
    vocabulary: tuple[str, ...] | None = None

    @property
    def pruning(self) -> Pruning:
        return Pruning(self.min_cells, self.max_cells)

    def check(self) -> None:
        if not isinstance(self.binarize, bool | np.bool_):
            raise InputError(f"binarize={shown(self.binarize)} must be True or False.")
        try:
            pruning = self.pruning.check()
            if self.vocabulary is not None and not pruning.any_df:
                raise InputError("min_df, max_df and max_words choose a vocabulary; leave them out when you give one.")
        except InputError as error:
            raise _in_cells(error) from None


# -- matrices in blocks ----------------------------------------------------------------------------------------------


def compressed(format: str, parts: Any, shape: tuple[int, int]) -> Callable[[], Iterator[Block]]:
    """Blocks of a CSR or CSC matrix from its ``data``, ``indices`` and ``indptr``: arrays, or datasets of HDF5."""
    n_major, n_minor = shape if format == "csr" else shape[::-1]
    data, indices, ends = (parts[name] for name in ("data", "indices", "indptr"))
    if len(ends.shape) != 1 or ends.dtype.kind not in "iu" or ends.shape[0] != n_major + 1:
        raise damaged(f"its indptr must be {n_major + 1} whole numbers, and has shape {tuple(ends.shape)}")
    ptr = np.asarray(ends[:]).astype(np.int64, copy=False)
    if ptr[0] != 0 or np.any(ptr[1:] < ptr[:-1]):
        raise damaged("its indptr must rise from 0")
    lengths = {len(data), len(indices)}
    if len(data.shape) != 1 or len(lengths) != 1 or ptr[-1] > min(lengths):
        raise damaged(f"its indptr ends at {ptr[-1]}, with {len(indices)} indices and {len(data)} values")
    return partial(_compressed_blocks, format, data, indices, ptr, n_minor)


def _compressed_blocks(format: str, data: Any, indices: Any, ptr: Int64Array, n_minor: int) -> Iterator[Block]:
    for first, last in document_blocks(ptr, BLOCK_ENTRIES):
        part = slice(int(ptr[first]), int(ptr[last]))
        parts = {"data": data[part], "indices": indices[part], "indptr": ptr[first : last + 1] - ptr[first]}
        if format == "csr":
            yield Block(first, 0, csr_from_parts("csr", parts, (last - first, n_minor)))
        else:
            yield Block(0, first, csr_from_parts("csc", parts, (n_minor, last - first)))


def by_rows(rows: Callable[[int, int], Any], shape: tuple[int, int]) -> Callable[[], Iterator[Block]]:
    """Blocks of a matrix of any kind, from a function that gives some of its rows."""
    step = max(1, BLOCK_ENTRIES * 8 // max(shape[1], 1))

    def blocks() -> Iterator[Block]:
        for first in range(0, shape[0], step):
            yield Block(first, 0, as_csr(rows(first, min(first + step, shape[0]))))

    return blocks


def damaged(why: str) -> InputError:
    return InputError(f"the matrix is damaged: {why}. Make it anew.")


# -- the corpus ------------------------------------------------------------------------------------------------------


def to_corpus(source: Cells, choice: Choice) -> Corpus:
    """Cells as documents and features as words, with the cells' names."""
    choice.check()
    features = texts("the names of features", source.features)
    if not source.cells or not features:
        raise InputError(
            f"{source.where} has {len(source.cells)} cells and {len(features)} features; at least one of each is "
            "needed."
        )
    if len(set(features)) != len(features):
        raise InputError(
            f"{source.where}: the feature {first_repeat(features)!r} is there twice; names of features must be "
            "distinct, as adata.var_names_make_unique() makes them."
        )
    chosen = np.ones(len(features), bool) if source.chosen is None else source.chosen
    unknown: Int64Array | None = None
    if choice.vocabulary is not None:
        known = {name: v for v, name in enumerate(choice.vocabulary)}
        number = np.array([known.get(name, _UNKNOWN) for name in features], np.int32)
        number[~chosen] = _LEFT_OUT
        lengths, unknown, _ = _tally(source, number, choice.binarize)
        names = choice.vocabulary
    else:
        number = np.arange(len(features), dtype=np.int32)
        lengths, _, having = _tally(source, number, choice.binarize)
        keep = _kept(having, chosen, len(source.cells), choice)
        names = features
        if not keep.all():
            names = tuple(name for name, kept in zip(features, keep, strict=True) if kept)
            number = np.where(keep, np.cumsum(keep) - 1, _LEFT_OUT).astype(np.int32)
            lengths, _, _ = _tally(source, number, choice.binarize)
    ptr = pointers(lengths)
    check_memory(source.where, int(ptr[-1]))
    words = _filled(source, number, choice.binarize, ptr)
    if np.any(np.diff(number[number >= 0]) < 0):
        _sort_documents(words, ptr, len(names))
    return Corpus(read_only(words), ptr, names, ids=source.cells, unknown=unknown)


def _kept(having: Int64Array, chosen: BoolArray, n_cells: int, choice: Choice) -> BoolArray:
    """Features of those chosen that enough cells have, and not too many."""
    if choice.pruning.any_df and choice.min_cells == 0:
        return chosen
    keep, found = chosen.copy(), having[chosen]
    try:
        keep[chosen] = kept_words(choice.pruning, found, n_cells, lambda: found, lambda: found)
        return keep
    except InputError as error:
        raise _in_cells(error) from None


def _in_cells(error: InputError) -> InputError:
    """What is said of documents with a word, said of cells with a feature."""
    message = str(error)
    for words, cells in (
        ("min_df, max_df and max_words choose", "min_cells and max_cells choose"),
        ("min_df", "min_cells"),
        ("max_df", "max_cells"),
        ("the vocabulary is empty", "no feature is left"),
        ("documents", "cells"),
        ("document", "cell"),
        ("words", "features"),
    ):
        message = message.replace(words, cells)
    return InputError(message)


def _tokens(source: Cells, block: Block, binarize: bool) -> Int64Array:
    """How many tokens each entry of a block stands for, once all are known to be counts."""
    values = block.counts.data
    if values.dtype.kind == "f" or (len(values) and (values.min() < 0 or values.max() > _LARGEST)):
        wrong = ~((values >= 0) & (values <= _LARGEST))  # NaN is neither
        if not binarize:
            wrong |= values != np.floor(values)
        if wrong.any():
            raise _no_count(source, block, int(np.argmax(wrong)))
    tokens: Int64Array = (values > 0 if binarize else values).astype(np.int64)
    return tokens


def _no_count(source: Cells, block: Block, entry: int) -> NotCountsError:
    cell = block.cell + int(np.searchsorted(block.counts.indptr, entry, side="right")) - 1
    feature = block.feature + int(block.counts.indices[entry])
    return NotCountsError(
        f"{source.where} does not hold counts: cell {shown(source.cells[cell])}, feature "
        f"{shown(source.features[feature])} is {block.counts.data[entry]:g}; expected whole numbers of 0 or more, "
        "below 2**31."
    )


def _tally(source: Cells, number: Int32Array, binarize: bool) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Tokens of each cell that are of known features and of unknown ones, and the number of cells with a feature."""
    known, unknown = np.zeros((2, len(source.cells)), np.int64)
    having = np.zeros(len(source.features), np.int64)
    for block in source.blocks():
        counts, tokens = block.counts, _tokens(source, block, binarize)
        features = counts.indices.astype(np.int64) + block.feature
        rows = slice(block.cell, block.cell + counts.shape[0])
        known[rows] += _row_sums(tokens * (number[features] >= 0), counts.indptr)
        unknown[rows] += _row_sums(tokens * (number[features] == _UNKNOWN), counts.indptr)
        last = block.feature + counts.shape[1]
        having[block.feature : last] += np.bincount(counts.indices[tokens > 0], minlength=counts.shape[1])
    return known, unknown, having


def _row_sums(values: Int64Array, ptr: Int64Array) -> Int64Array:
    before = np.concatenate(([0], np.cumsum(values)))
    return np.diff(before[ptr])


def _filled(source: Cells, number: Int32Array, binarize: bool, ptr: Int64Array) -> Int32Array:
    """The stream: each block's tokens after those of their cells in the blocks before it."""
    words, free = room_for(int(ptr[-1]), np.int32), ptr[:-1].copy()
    for block in source.blocks():
        counts, tokens = block.counts, _tokens(source, block, binarize)
        features = number[counts.indices.astype(np.int64) + block.feature]
        tokens[features < 0] = 0
        lengths = _row_sums(tokens, counts.indptr)
        rows = slice(block.cell, block.cell + counts.shape[0])
        place = np.repeat(free[rows] - (np.cumsum(lengths) - lengths), lengths)
        place += np.arange(len(place))
        words[place] = np.repeat(features, tokens)
        free[rows] += lengths
    return words


def _sort_documents(words: Int32Array, ptr: Int64Array, n_words: int) -> None:
    """Bring the words of each document into ascending order, in place."""
    for first, last in document_blocks(ptr, BLOCK_ENTRIES):
        part = slice(ptr[first], ptr[last])
        docs = np.repeat(np.arange(last - first), np.diff(ptr[first : last + 1]))
        words[part] = np.sort(docs * n_words + words[part]) % n_words


def few_features(corpus: Corpus, least: int) -> int:
    """How many cells have fewer than so many distinct features."""
    short = 0
    for first, last in document_blocks(corpus.doc_ptr, BLOCK_ENTRIES):
        words = corpus.words[corpus.doc_ptr[first] : corpus.doc_ptr[last]]
        new = np.ones(len(words), np.int64)
        new[1:] = words[1:] != words[:-1]  # ascending within a cell
        ptr = corpus.doc_ptr[first : last + 1] - corpus.doc_ptr[first]
        starts = ptr[:-1][np.diff(ptr) > 0]
        new[starts] = 1
        short += int(np.count_nonzero(_row_sums(new, ptr) < least))
    return short
