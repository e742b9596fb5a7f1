"""A corpus from a documents × words matrix."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from topicloom._types import AnyArray
from topicloom.corpus._checks import check_length, items, read_only
from topicloom.corpus._limits import FREE, PER_ENTRY, check_memory
from topicloom.corpus._matrices import as_csr
from topicloom.corpus.corpus import Corpus, default_vocabulary
from topicloom.corpus.pruning import Pruning
from topicloom.errors import InputError


def from_matrix(
    X: Any,
    vocabulary: Sequence[str] | None = None,
    *,
    ids: Sequence[str] | None = None,
    labels: Sequence[Sequence[str]] | None = None,
    groups: Sequence[Hashable] | None = None,
    responses: Sequence[float] | AnyArray | None = None,
    times: Sequence[Any] | AnyArray | None = None,
    min_df: int | float = 1,
    max_df: int | float = 1.0,
    max_words: int | None = None,
) -> Corpus:
    """Corpus from a documents × words matrix of counts.

    If all entries are whole numbers, they become tokens. Otherwise all become ``weights`` of one entry per document and
    word. A matrix keeps no word order, so ``ordered`` is False.

    Parameters
    ----------
    X : array or sparse matrix, shape (n_docs, n_words)
        Counts, none of them negative.
    vocabulary : sequence of str, default=None
        The words; ``word0``, ``word1``, … by default.
    ids, labels, groups, responses, times : sequence, default=None
        Metadata, one entry per document.
    min_df, max_df : int or float, default=1 and 1.0
        Least and largest number (an int) or share (a float) of documents with a word; others are left out.
    max_words : int, default=None
        Keep only this many of the most frequent words.

    Returns
    -------
    Corpus

    Examples
    --------
    >>> from topicloom import from_matrix
    >>> from_matrix([[2, 0, 1], [0, 3, 1]], ["river", "money", "bank"])
    Corpus(2 documents, 3 words, 7 tokens)
    """
    pruning = Pruning(min_df, max_df, max_words).check()
    matrix = as_csr(X)
    if 0 in matrix.shape:
        raise InputError(f"the matrix has shape {matrix.shape}; at least one document and one word are needed.")
    n_words = matrix.shape[1]
    if vocabulary is None and n_words > max(FREE, PER_ENTRY * matrix.nnz):
        raise InputError(
            f"the matrix has {n_words:,} columns for {matrix.nnz:,} entries; give a vocabulary if that is right."
        )
    vocabulary = default_vocabulary(n_words) if vocabulary is None else items("vocabulary", vocabulary)
    check_length("vocabulary", len(vocabulary), n_words, "columns of the matrix")
    _check_counts(matrix, vocabulary)
    counts = matrix.data
    weighted = counts.dtype.kind == "f" and bool(np.any(counts != np.floor(counts)))
    # A stored zero is no token, so that a document of zeros counts as empty.
    repeats = (counts != 0 if weighted else counts).astype(np.int64)
    check_memory("the matrix", int(repeats.sum()))
    corpus = Corpus(
        words=read_only(np.repeat(matrix.indices.astype(np.int32), repeats)),
        doc_ptr=np.concatenate(([0], np.cumsum(repeats)))[matrix.indptr],
        vocabulary=vocabulary,
        weights=counts[counts != 0] if weighted else None,
    )
    known = corpus.with_metadata(ids=ids, labels=labels, groups=groups, responses=responses, times=times)
    return known.prune(**pruning._asdict())


def _check_counts(matrix: Any, vocabulary: tuple[str, ...]) -> None:
    data = matrix.data
    bad = (data < 0) | (data > np.iinfo(np.int32).max)  # NaN is neither
    if data.dtype.kind == "f":
        bad |= np.isnan(data)
    if np.any(bad):
        entry = int(np.argmax(bad))
        doc = int(np.searchsorted(matrix.indptr, entry, side="right")) - 1
        word = vocabulary[matrix.indices[entry]]
        raise InputError(
            f"document {doc}: the count {data[entry]} for {word!r} is not usable; "
            "counts must be finite, 0 or more, and below 2**31."
        )
