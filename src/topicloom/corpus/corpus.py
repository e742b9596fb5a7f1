"""One immutable corpus, however the text came in.

A corpus is a stream of word numbers, document after document, with pointers to where each document starts.
Whether the "words" are words, genomic regions or products does not matter here.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from topicloom._types import AnyArray, BoolArray, FloatArray, Int32Array, Int64Array
from topicloom.errors import InputError


class TextOptions(NamedTuple):
    """How texts were cut into words, so that new texts can be cut the same way."""

    token_pattern: str
    lowercase: bool


class WordIndex(NamedTuple):
    """The same tokens ordered by word: tokens of word v are ``token[ptr[v]:ptr[v + 1]]``, in document order."""

    ptr: Int64Array
    token: Int64Array


class Pairs(NamedTuple):
    """Distinct (document, word) pairs with their counts or weights, as a CSR triple."""

    ptr: Int64Array
    word: Int32Array
    count: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Corpus:
    """Documents as a stream of word numbers, with everything that is known about each document.

    ``words[doc_ptr[d]:doc_ptr[d + 1]]`` are the words of document ``d``. With ``weights`` each entry of the stream
    stands for that much of a token (tf-idf, say) and samplers, which need whole tokens, refuse the corpus.
    ``ordered`` says whether the stream keeps the order of the text. Arrays are made read-only; rows are never
    dropped, so metadata stay aligned, and empty documents are marked by ``empty_docs``.
    """

    words: Int32Array
    doc_ptr: Int64Array
    vocabulary: tuple[str, ...]
    weights: FloatArray | None = None
    ordered: bool = False
    ids: tuple[str, ...] | None = None
    labels: tuple[tuple[str, ...], ...] | None = None
    groups: tuple[Hashable, ...] | None = None
    responses: FloatArray | None = None
    times: AnyArray | None = None
    unknown: Int64Array | None = None  # tokens of each document that are not in a given vocabulary
    text_options: TextOptions | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "words", _frozen(self.words, np.int32))
        put(self, "doc_ptr", _frozen(self.doc_ptr, np.int64))
        put(self, "vocabulary", tuple(self.vocabulary))
        for name in ("weights", "responses"):
            if getattr(self, name) is not None:
                put(self, name, _frozen(getattr(self, name), np.float64))
        if self.unknown is not None:
            put(self, "unknown", _frozen(self.unknown, np.int64))
        if self.times is not None:
            put(self, "times", _frozen(np.asarray(self.times), None))
        for name in ("ids", "groups"):
            if getattr(self, name) is not None:
                put(self, name, tuple(getattr(self, name)))
        if self.labels is not None:
            put(self, "labels", tuple(_label_set(d, labels) for d, labels in enumerate(self.labels)))
        self._check()

    def _check(self) -> None:
        words, ptr = self.words, self.doc_ptr
        if ptr.ndim != 1 or words.ndim != 1 or len(ptr) < 2:
            raise InputError("the corpus has no documents; at least one is needed.")
        if ptr[0] != 0 or ptr[-1] != len(words) or np.any(np.diff(ptr) < 0):
            raise InputError(
                f"doc_ptr must rise from 0 to the number of tokens, {len(words)}; it goes from {ptr[0]} to {ptr[-1]}."
            )
        if not self.vocabulary:
            raise InputError("the vocabulary is empty: no word is left. Check the tokenizer, stop words, min_df and max_df.")
        if len(set(self.vocabulary)) != len(self.vocabulary):
            raise InputError(f"the vocabulary has the word {_first_repeat(self.vocabulary)!r} twice; words must be distinct.")
        if len(words):
            low, high = int(words.min()), int(words.max())
            if low < 0 or high >= len(self.vocabulary):
                bad = low if low < 0 else high
                where = int(np.searchsorted(ptr, int(np.argmax(words == bad)), side="right")) - 1
                raise InputError(
                    f"document {where}: word number {bad} is outside the vocabulary of {len(self.vocabulary)} words "
                    "(numbers start at 0)."
                )
        if self.weights is not None:
            _check_length("weights", len(self.weights), len(words), "entries of the stream")
            _check_finite("weights", self.weights)
            if np.any(self.weights < 0):
                raise InputError("weights must not be negative.")
        for name in ("ids", "labels", "groups", "responses", "times", "unknown"):
            value = getattr(self, name)
            if value is not None:
                _check_length(name, len(value), self.n_docs, "documents")
        if self.responses is not None:
            _check_finite("responses", self.responses)

    # -- sizes ---------------------------------------------------------------------------------------------------

    @property
    def n_docs(self) -> int:
        return len(self.doc_ptr) - 1

    @property
    def n_words(self) -> int:
        """Size of the vocabulary."""
        return len(self.vocabulary)

    @property
    def n_tokens(self) -> int:
        """Length of the stream."""
        return len(self.words)

    @cached_property
    def doc_lengths(self) -> Int64Array:
        return _frozen(np.diff(self.doc_ptr), np.int64)

    @property
    def empty_docs(self) -> BoolArray:
        """Mask of documents without a single known word: their estimates are the prior's mean."""
        return self.doc_lengths == 0

    def __len__(self) -> int:
        return self.n_docs

    def __repr__(self) -> str:
        known = [f.name for f in fields(self)[5:11] if getattr(self, f.name) is not None]
        extra = f", with {', '.join(known)}" if known else ""
        return f"Corpus({self.n_docs:,} documents, {self.n_words:,} words, {self.n_tokens:,} tokens{extra})"

    # -- other views of the same tokens --------------------------------------------------------------------------

    @cached_property
    def by_word(self) -> WordIndex:
        """Token numbers ordered by word (computed on first use, 8 bytes a token)."""
        ptr = np.zeros(self.n_words + 1, np.int64)
        np.cumsum(np.bincount(self.words, minlength=self.n_words), out=ptr[1:])
        return WordIndex(_frozen(ptr, np.int64), _frozen(np.argsort(self.words, kind="stable"), np.int64))

    @cached_property
    def token_docs(self) -> Int32Array:
        """Document number of each token (computed on first use, 4 bytes a token)."""
        return _frozen(np.repeat(np.arange(self.n_docs, dtype=np.int32), self.doc_lengths), np.int32)

    def to_matrix(self) -> sp.csr_array:
        """Counts (int64), or summed weights (float64), as a documents × words CSR matrix in canonical form."""
        data = np.ones(self.n_tokens, np.int64) if self.weights is None else self.weights.copy()
        matrix = sp.csr_array((data, self.words.copy(), self.doc_ptr.copy()), shape=(self.n_docs, self.n_words))
        matrix.sum_duplicates()
        return matrix

    @cached_property
    def pairs(self) -> Pairs:
        """Distinct (document, word) pairs, words ascending within a document."""
        matrix = self.to_matrix()
        return Pairs(
            _frozen(matrix.indptr, np.int64), _frozen(matrix.indices, np.int32), _frozen(matrix.data, np.float64)
        )

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the tokens and the vocabulary: the same documents in the same order have the same one."""
        digest = blake2b(digest_size=16)
        for array in (self.doc_ptr, self.words, self.weights):
            digest.update(b"|" if array is None else np.ascontiguousarray(array).data)
        digest.update("\0".join(self.vocabulary).encode())
        return digest.hexdigest()

    # -- parts ---------------------------------------------------------------------------------------------------

    def select(self, documents: Sequence[int] | AnyArray) -> "Corpus":
        """The given documents (numbers or a mask), in the given order, with the same vocabulary."""
        index = np.asarray(documents)
        if index.dtype == bool:
            _check_length("the mask", len(index), self.n_docs, "documents")
            index = np.flatnonzero(index)
        index = index.astype(np.int64)
        if len(index) == 0:
            raise InputError("no document is selected; a corpus needs at least one.")
        if index.min() < -self.n_docs or index.max() >= self.n_docs:
            raise InputError(f"a document number is outside 0 to {self.n_docs - 1}.")
        index %= self.n_docs
        lengths = self.doc_lengths[index]
        ptr = np.concatenate(([0], np.cumsum(lengths)))
        take = np.repeat(self.doc_ptr[index] - ptr[:-1], lengths) + np.arange(ptr[-1])
        return self._with_stream(take, ptr, documents=index)

    def keep_tokens(self, mask: BoolArray) -> "Corpus":
        """The same documents, with only the tokens of the stream that ``mask`` marks."""
        _check_length("the mask", len(mask), self.n_tokens, "tokens")
        kept = np.concatenate(([0], np.cumsum(mask)))
        return self._with_stream(np.flatnonzero(mask), kept[self.doc_ptr], documents=None)

    def _with_stream(self, take: AnyArray, ptr: AnyArray, documents: Int64Array | None) -> "Corpus":
        changes: dict[str, Any] = {"words": self.words[take], "doc_ptr": ptr}
        if self.weights is not None:
            changes["weights"] = self.weights[take]
        if documents is not None:
            for name in ("ids", "labels", "groups"):
                value = getattr(self, name)
                if value is not None:
                    changes[name] = tuple(value[d] for d in documents)
            for name in ("responses", "times", "unknown"):
                value = getattr(self, name)
                if value is not None:
                    changes[name] = value[documents]
        return replace(self, **changes)

    def with_metadata(
        self,
        *,
        ids: Sequence[str] | None = None,
        labels: Sequence[Sequence[str]] | None = None,
        groups: Sequence[Hashable] | None = None,
        responses: Sequence[float] | AnyArray | None = None,
        times: Sequence[Any] | AnyArray | None = None,
    ) -> "Corpus":
        """A copy with the given metadata, one value a document; what is not given stays as it is."""
        given = {"ids": ids, "labels": labels, "groups": groups, "responses": responses, "times": times}
        return replace(self, **{name: value for name, value in given.items() if value is not None})


def from_matrix(
    X: Any,
    vocabulary: Sequence[str] | None = None,
    *,
    ids: Sequence[str] | None = None,
    labels: Sequence[Sequence[str]] | None = None,
    groups: Sequence[Hashable] | None = None,
    responses: Sequence[float] | AnyArray | None = None,
    times: Sequence[Any] | AnyArray | None = None,
) -> Corpus:
    """Corpus from a documents × words count matrix (any scipy sparse format, or dense).

    Whole numbers become tokens; if any entry is fractional, all are kept as weights. Without a vocabulary the words
    are named ``word0``, ``word1``, …
    """
    matrix = _as_csr(X)
    n_docs, n_words = matrix.shape
    if vocabulary is None:
        vocabulary = [f"word{j}" for j in range(n_words)]
    _check_length("vocabulary", len(vocabulary), n_words, "columns of the matrix")
    vocabulary = tuple(vocabulary)
    _check_counts(matrix, vocabulary)
    counts = matrix.data.astype(np.int64) if matrix.dtype.kind != "f" else matrix.data
    weights = None
    if counts.dtype.kind == "f" and np.any(counts != np.floor(counts)):
        words, ptr, weights = matrix.indices, matrix.indptr, counts
    else:
        repeats = counts.astype(np.int64)
        words = np.repeat(matrix.indices.astype(np.int32), repeats)
        ptr = np.concatenate(([0], np.cumsum(repeats)))[matrix.indptr]
    return Corpus(
        words=words,
        doc_ptr=ptr,
        vocabulary=vocabulary,
        weights=weights,
        ids=None if ids is None else tuple(ids),
        labels=None if labels is None else tuple(map(tuple, labels)),
        groups=None if groups is None else tuple(groups),
        responses=None if responses is None else np.asarray(responses, np.float64),
        times=None if times is None else np.asarray(times),
    )


def _as_csr(X: Any) -> Any:
    if sp.issparse(X):
        if X.dtype.kind not in "buif":
            raise InputError(f"the matrix holds {X.dtype} values; counts must be numbers.")
        matrix = sp.csr_array(X)
    else:
        dense = np.asarray(X)
        if dense.ndim != 2:
            raise InputError(
                f"expected a documents × words matrix with 2 dimensions, got {dense.ndim}. "
                "For texts use topicloom.from_texts."
            )
        if dense.dtype.kind not in "buif":
            raise InputError(f"the matrix holds {dense.dtype} values; counts must be numbers.")
        if dense.dtype.kind == "f" and not np.all(np.isfinite(dense)):
            where = np.argwhere(~np.isfinite(dense))[0]
            raise InputError(f"document {where[0]}: the count in column {where[1]} is {dense[tuple(where)]}; counts must be finite.")
        matrix = sp.csr_array(dense)
    if matrix.shape[0] == 0 or matrix.shape[1] == 0:
        raise InputError(f"the matrix has shape {matrix.shape}; at least one document and one word are needed.")
    if matrix.dtype.kind == "b":
        matrix = matrix.astype(np.int64)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def _check_counts(matrix: Any, vocabulary: tuple[str, ...]) -> None:
    data = matrix.data
    bad = ~np.isfinite(data) | (data < 0) if data.dtype.kind == "f" else data < 0
    if np.any(bad):
        entry = int(np.argmax(bad))
        doc = int(np.searchsorted(matrix.indptr, entry, side="right")) - 1
        word = vocabulary[matrix.indices[entry]]
        raise InputError(
            f"document {doc}: the count {data[entry]} for {word!r} is not usable; counts must be finite and 0 or more."
        )


def _frozen(array: Any, dtype: Any) -> Any:
    """The array, read-only, of this type. A memory map stays one; a writeable array of the caller's is copied."""
    out = np.asarray(array, dtype=dtype) if not isinstance(array, np.memmap) or array.dtype != dtype else array
    if out.flags.writeable:
        if out is array:
            out = out.copy()
        out.flags.writeable = False
    return out


def _label_set(d: int, labels: Any) -> tuple[str, ...]:
    if isinstance(labels, str) or not all(isinstance(label, str) for label in labels):
        raise InputError(
            f"document {d}: labels must be a sequence of strings, for instance ('sport',), not {labels!r}."
        )
    return tuple(dict.fromkeys(labels))


def _check_length(what: str, have: int, want: int, of: str) -> None:
    if have != want:
        raise InputError(f"{what} has {have} entries but there are {want} {of}; give one for each.")


def _check_finite(what: str, values: FloatArray) -> None:
    if not np.all(np.isfinite(values)):
        where = int(np.argmin(np.isfinite(values)))
        raise InputError(f"{what}: entry {where} is {values[where]}; every value must be finite.")


def _first_repeat(items: Sequence[str]) -> str:
    seen: set[str] = set()
    return next(item for item in items if item in seen or seen.add(item))  # type: ignore[func-returns-value]
