"""Readers of files that hold counts: UCI bag-of-words, LDA-C, a folder."""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TypeVar

import numpy as np

from topicloom._types import AnyArray, Int32Array, Int64Array
from topicloom.corpus._columns import as_number, joined_groups, to_group
from topicloom.corpus._limits import Limits
from topicloom.corpus._lines import NumberBlock, malformed, number_blocks, open_bytes, text_lines, word_list
from topicloom.corpus._matrix_files import read_npz
from topicloom.corpus._streams import GrowingArray, pointers, room_for
from topicloom.corpus.corpus import Corpus, default_vocabulary
from topicloom.errors import InputError, counted, there_are

Vocabulary = tuple[str, ...] | None
_Value = TypeVar("_Value")
_LARGEST = np.iinfo(np.int32).max


def _corpus(words: Int32Array, lengths: AnyArray, vocabulary: Vocabulary, n_words: int) -> Corpus:
    names = default_vocabulary(n_words) if vocabulary is None else vocabulary
    return Corpus(words=words, doc_ptr=pointers(lengths), vocabulary=names)


def _repeat(words: AnyArray, counts: AnyArray) -> Int32Array:
    return np.repeat(words.astype(np.int32), counts)


# -- UCI bag-of-words --------------------------------------------------------------------------------------

_UCI_ENTRY = "'document word count', three whole numbers"


def read_uci(path: Path, vocabulary: Vocabulary, *, max_size: int | None = None) -> Corpus:
    """Three header lines (documents, words, entries), then 'document word count' lines numbered from 1."""
    words, in_order, limits = GrowingArray(), True, Limits(path, max_size)
    with open_bytes(path) as file:
        n_docs, n_words, n_entries = _uci_header(path, file, vocabulary)
        possible = min(n_entries, _most_lines(path))
        limits.check_sizes(n_docs, n_words, named=vocabulary is not None, entries=possible)
        lengths = np.zeros(n_docs, np.int64)
        latest = 0
        for docs, ids, counts in _uci_entries(path, file, n_docs, n_words):
            limits.add(counts)
            np.add.at(lengths, docs, counts)
            in_order = in_order and bool(docs[0] >= latest and np.all(docs[1:] >= docs[:-1]))
            latest = docs[-1]
            words.append(_repeat(ids, counts) if in_order else np.empty(0, np.int32))
    if limits.entries != n_entries:
        raise InputError(
            f"{path}: line 3 promises {counted(n_entries, 'entries')} but the file has {limits.entries}. "
            "It may be cut short; fetch or write it again."
        )
    stream = words.finish() if in_order else _uci_sorted(path, lengths, vocabulary)
    return _corpus(stream, lengths, vocabulary, n_words)


def _most_lines(path: Path) -> int:
    """An upper bound of the entries in a file of this size, however well it is packed."""
    if not path.is_file():
        return sys.maxsize
    with open(path, "rb") as file:
        most = 1032 if file.read(2) == b"\x1f\x8b" else 1  # deflate's best
    return path.stat().st_size * most // 6  # '1 1 1\\n'


def _uci_header(path: Path, file: IO[bytes], vocabulary: Vocabulary) -> tuple[int, int, int]:
    sizes = []
    for line, what in enumerate(("documents", "words", "entries"), 1):
        found = file.readline(1000).decode("utf-8", "replace")
        if not re.fullmatch(r"[ \t]*\d{1,18}[ \t\r\n]*", found, re.ASCII):
            raise malformed(path, line, found, f"the number of {what}")
        sizes.append(int(found))
    n_docs, n_words, n_entries = sizes
    if not (1 <= n_docs <= _LARGEST and 1 <= n_words <= _LARGEST):
        raise InputError(
            f"{path}: the header gives {counted(n_docs, 'documents')} and {counted(n_words, 'words')}; "
            "both must be 1 or more, and below 2**31."
        )
    if vocabulary is not None and len(vocabulary) != n_words:
        raise InputError(f"{path}: line 2 gives {counted(n_words, 'words')} but the vocabulary has {len(vocabulary)}.")
    return n_docs, n_words, n_entries


def _uci_entries(
    path: Path, file: IO[bytes], n_docs: int, n_words: int
) -> Iterator[tuple[Int64Array, Int64Array, Int64Array]]:
    """Documents and words numbered from 0, and counts, a block of lines at a time."""
    for block in number_blocks(path, file, _UCI_ENTRY, first_line=4):
        docs, words, counts = (column.copy() for column in block.rows(3, _UCI_ENTRY).T)
        if not len(docs):
            continue
        docs -= 1
        words -= 1
        lowest, highest = min(docs.min(), words.min()), counts.max()
        if lowest < 0 or docs.max() >= n_docs or words.max() >= n_words or highest > _LARGEST:
            wrong = (docs < 0) | (docs >= n_docs) | (words < 0) | (words >= n_words) | (counts > _LARGEST)
            expected = f"a document from 1 to {n_docs}, a word from 1 to {n_words} and a count below 2**31"
            raise block.error(int(block.starts[3 * int(np.argmax(wrong))]), expected)
        yield docs, words, counts


def _uci_sorted(path: Path, lengths: Int64Array, vocabulary: Vocabulary) -> Int32Array:
    """A second reading for files not in document order: each token goes straight to its place."""
    ptr = pointers(lengths)
    stream, free = room_for(int(ptr[-1]), np.int32), ptr[:-1].copy()
    with open_bytes(path) as file:
        n_docs, n_words, _ = _uci_header(path, file, vocabulary)
        for docs, ids, counts in _uci_entries(path, file, n_docs, n_words):
            order = np.argsort(docs, kind="stable")
            token_docs = np.repeat(docs[order], counts[order])
            rank = np.arange(len(token_docs)) - np.searchsorted(token_docs, token_docs)
            stream[free[token_docs] + rank] = _repeat(ids[order], counts[order])
            np.add.at(free, docs, counts)
    stream.flags.writeable = False
    return stream


# -- LDA-C -------------------------------------------------------------------------------------------------

_LDAC_LINE = (
    "'n word:count … word:count' with n pairs of whole numbers (a document without words is '0', not a blank line)"
)


def read_ldac(path: Path, vocabulary: Vocabulary, *, max_size: int | None = None) -> Corpus:
    """One document per line: the number of distinct words, then that many ``word:count``, words from 0."""
    words, lengths, n_words, limits = GrowingArray(), GrowingArray(np.int64), 0, Limits(path, max_size)
    with open_bytes(path) as file:
        for block in number_blocks(path, file, _LDAC_LINE, separators=b":"):
            ids, counts, per_doc = _ldac_block(block)
            limit = _LARGEST if vocabulary is None else len(vocabulary)
            wrong = (ids >= limit) | (counts > _LARGEST)
            if wrong.any():
                which = np.searchsorted(np.cumsum(per_doc), int(np.argmax(wrong)), side="right")
                raise block.error(int(block.newlines[which]), f"words from 0 to {limit - 1} and counts below 2**31")
            limits.add(counts)
            n_words = max(n_words, int(ids.max(initial=-1)) + 1)
            ends = np.concatenate(([0], np.cumsum(counts)))[np.cumsum(per_doc)]
            lengths.append(np.diff(ends, prepend=0))
            words.append(_repeat(ids, counts))
    if not len(lengths):
        raise InputError(f"{path} is empty; expected one document per line.")
    limits.check_sizes(0, n_words, named=vocabulary is not None)
    return _corpus(words.finish(), lengths.finish(), vocabulary, n_words)


def _ldac_block(block: NumberBlock) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Words, counts, and how many of them each line has, once every line has the right form."""
    after = block.numbers_before_line_ends()
    numbers = np.diff(after, prepend=0)
    first = after - numbers
    if np.any(numbers == 0):
        raise block.error(int(block.newlines[np.argmax(numbers == 0)]), _LDAC_LINE)
    pairs = block.values[first]
    place = np.arange(len(block.values)) - np.repeat(first, numbers)
    is_word = place % 2 == 1
    # A word is followed by ':' and at once by its count; nothing else is followed by ':'.
    colon = block.raw[block.ends] == ord(":")
    joined = np.append(block.starts[1:], len(block.raw)) == block.ends + 1
    good = np.logical_and.reduceat((colon == is_word) & (joined | ~is_word), first) & (numbers == 1 + 2 * pairs)
    if not good.all():
        raise block.error(int(block.newlines[np.argmin(good)]), _LDAC_LINE)
    stray = np.flatnonzero(block.raw == ord(":"))
    if len(stray) != np.count_nonzero(is_word):
        raise block.error(int(np.setdiff1d(stray, block.ends[is_word])[0]), _LDAC_LINE)
    return block.values[is_word], block.values[(place > 0) & ~is_word], pairs


# -- a folder ----------------------------------------------------------------------------------------------


def read_folder(path: Path, vocabulary: Vocabulary, *, max_size: int | None = None) -> Corpus:
    """A folder with ``docword.npz`` and ``vocab.txt``, and where known, a line for each document in
    ``labels.txt`` (separated by blanks), ``collection.txt``, ``response.txt`` and ``ids.txt``."""
    if not (path / "docword.npz").is_file():
        raise InputError(f"{path} has no docword.npz; a corpus folder holds docword.npz and vocab.txt.")
    if vocabulary is None and (path / "vocab.txt").is_file():
        vocabulary = word_list(path / "vocab.txt")
    corpus = read_npz(path / "docword.npz", vocabulary, max_size=max_size)
    groups = _sidecar(path / "collection.txt", corpus.n_docs, to_group, "a group: text, a number or a date")
    return corpus.with_metadata(
        ids=_sidecar(path / "ids.txt", corpus.n_docs, str),
        labels=_sidecar(path / "labels.txt", corpus.n_docs, str.split),
        groups=None if groups is None else joined_groups(groups),
        responses=_sidecar(path / "response.txt", corpus.n_docs, as_number),
    )


def _sidecar(
    path: Path, n_docs: int, convert: Callable[[str], _Value], expected: str = "a number"
) -> list[_Value] | None:
    if not path.is_file():
        return None
    values = []
    for number, line in enumerate(text_lines(path), 1):
        try:
            values.append(convert(line.rstrip("\n")))
        except ValueError:
            raise malformed(path, number, line, expected) from None
    if len(values) != n_docs:
        raise InputError(f"{path} has {counted(len(values), 'lines')} but {there_are(n_docs, 'documents')}.")
    return values
