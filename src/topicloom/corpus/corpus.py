"""One immutable corpus, however the text came in.

A corpus is a stream of word numbers, document after document, with pointers to where each document starts.
Whether the "words" are words, genomic regions or products does not matter here.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from hashlib import blake2b
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp

from topicloom._types import AnyArray, BoolArray, FloatArray, Int32Array, Int64Array
from topicloom.corpus import _texts
from topicloom.corpus._checks import (
    as_array,
    check_each,
    check_encodable,
    check_finite,
    check_length,
    first_repeat,
    frozen,
    items,
    label_set,
    plain,
    read_only,
    shown,
    texts,
)
from topicloom.corpus._columns import as_times
from topicloom.corpus.pruning import Pruning, document_frequency, kept_words
from topicloom.corpus.text_options import TextOptions as TextOptions
from topicloom.errors import InputError, counted

_KNOWN = ("ids", "labels", "groups", "responses", "times")
_CHUNK = 1 << 22  # entries of the stream looked at together
R = TypeVar("R")


class WordIndex(NamedTuple):
    """The tokens ordered by word: those of word v are ``token[ptr[v]:ptr[v + 1]]``, in document order."""

    ptr: Int64Array
    token: Int64Array


class Pairs(NamedTuple):
    """Distinct (document, word) pairs with their counts or weights, as a CSR triple."""

    ptr: Int64Array
    word: Int32Array
    count: FloatArray  # type: ignore[assignment]  # hides tuple.count, which nobody needs here


@dataclass(frozen=True, eq=False, repr=False)
class Corpus:
    """Documents as a stream of word numbers, with everything that is known about each document.

    The words of document ``d`` are ``words[doc_ptr[d]:doc_ptr[d + 1]]``. A corpus never changes; arrays are read-only.
    Rows are never dropped, so metadata stay aligned. Make one with :func:`from_texts`, :func:`from_matrix`,
    :func:`from_frame` or :func:`read`.

    Parameters
    ----------
    words : array of int, shape (n_tokens,)
        Word number of each token, document after document.
    doc_ptr : array of int, shape (n_docs + 1,)
        Where each document begins; the last entry is the number of tokens.
    vocabulary : sequence of str
        The words.
    weights : array of float, shape (n_tokens,), default=None
        What each entry counts (tf-idf, say). Samplers need whole tokens and refuse a corpus with weights.
    ordered : bool, default=False
        Whether words are in the order of the text.
    ids : sequence of str, default=None
        Names of the documents.
    labels : sequence of sequence of str, default=None
        Labels of each document.
    groups : sequence of hashable, default=None
        Group of each document, such as its collection.
    responses : array of float, shape (n_docs,), default=None
        Numbers to predict.
    times : array, shape (n_docs,), default=None
        Times: numbers, dates or text.
    unknown : array of int, shape (n_docs,), default=None
        Tokens of each document outside of a given vocabulary.
    text_options : TextOptions, default=None
        How texts were cut into words.
    reading : mapping, default=None
        Columns and options by which files or frames were read.
    texts : sequence of str, default=None
        The original texts. They change no fit and no ``fingerprint``.

    Examples
    --------
    >>> from topicloom import Corpus
    >>> corpus = Corpus([0, 1, 1, 2], [0, 2, 4], ["river", "water", "money"], ids=["a", "b"])
    >>> corpus
    Corpus(2 documents, 3 words, 4 tokens, with ids)
    >>> corpus.to_matrix().toarray().tolist()
    [[1, 1, 0], [0, 1, 1]]
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
    reading: Mapping[str, Any] | None = None  # columns and options it was read by, for new documents
    texts: Sequence[str] | None = None  # as they were before they were cut; those of a file are read when asked for

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "words", frozen("words", self.words, np.int32))
        put(self, "doc_ptr", frozen("doc_ptr", self.doc_ptr, np.int64))
        put(self, "vocabulary", texts("vocabulary", items("vocabulary", self.vocabulary)))
        for name in ("weights", "responses"):
            if getattr(self, name) is not None:
                put(self, name, frozen(name, getattr(self, name), np.float64))
        if self.unknown is not None:
            put(self, "unknown", frozen("unknown", self.unknown, np.int64))
        if self.times is not None:
            put(self, "times", frozen("times", as_times(self.times), None))
        for name in ("ids", "groups", "labels"):
            if getattr(self, name) is not None:
                put(self, name, items(name, getattr(self, name)))
        if self.labels is not None:
            put(self, "labels", tuple(label_set(d, labels) for d, labels in enumerate(self.labels)))
            check_encodable("labels", {label for labels in self.labels for label in labels})
        if self.ids is not None:
            put(self, "ids", texts("ids", self.ids))
        if self.groups is not None:
            put(self, "groups", tuple(map(plain, self.groups)))
            check_encodable("groups", {group for group in self.groups if isinstance(group, str)})
        if self.texts is not None:
            put(self, "texts", _texts.checked(self.texts))
        self._check()

    def _check(self) -> None:
        words, ptr = self.words, self.doc_ptr
        if len(ptr) < 2:
            raise InputError("the corpus has no documents; at least one is needed.")
        if ptr[0] != 0 or ptr[-1] != len(words) or np.any(np.diff(ptr) < 0):
            raise InputError(
                f"doc_ptr must rise from 0 to the number of tokens, {len(words)}; it goes from {ptr[0]} to "
                f"{ptr[-1]}" + (", and falls in between." if np.any(np.diff(ptr) < 0) else ".")
            )
        self._check_words()
        if self.weights is not None:
            check_length("weights", len(self.weights), len(words), "entries of the stream")
            check_finite("weights", self.weights)
            if np.any(self.weights < 0):
                where = int(np.argmax(self.weights < 0))
                raise InputError(f"weights: entry {where} is {self.weights[where]}; none may be negative.")
        for name in ("ids", "labels", "groups", "responses", "times", "unknown", "texts"):
            value = getattr(self, name)
            if value is not None:
                check_length(name, len(value), self.n_docs, "documents")
        if self.responses is not None:
            check_finite("responses", self.responses)
        if self.groups is not None:
            check_each("groups", self.groups, Hashable, "hashable, such as a string or a number")

    def _check_words(self) -> None:
        words, vocabulary = self.words, self.vocabulary
        if not vocabulary:
            raise InputError(
                "the vocabulary is empty: no word is left. Check the tokenizer, stop words, min_df, max_df."
            )
        if len(set(vocabulary)) != len(vocabulary):
            raise InputError(f"the vocabulary has the word {first_repeat(vocabulary)!r} twice; words must be distinct.")
        low, high = (int(words.min()), int(words.max())) if len(words) else (0, 0)
        if low < 0 or high >= len(vocabulary):
            bad = low if low < 0 else high
            where = int(np.searchsorted(self.doc_ptr, int(np.argmax(words == bad)), side="right")) - 1
            raise InputError(
                f"document {where}: word number {bad} is outside the vocabulary of {counted(len(vocabulary), 'words')} "
                "(numbers start at 0)."
            )

    # -- sizes ---------------------------------------------------------------------------------------------

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
        return read_only(np.diff(self.doc_ptr))

    @cached_property
    def word_counts(self) -> Int64Array:
        """Number of entries of the stream for each word."""
        counts = np.zeros(self.n_words, np.int64)
        for start in range(0, self.n_tokens, _CHUNK):  # counting casts to 8 bytes an entry: not all at once
            counts += np.bincount(self.words[start : start + _CHUNK], minlength=self.n_words)
        return read_only(counts)

    @property
    def empty_docs(self) -> BoolArray:
        """Mask of documents without a single known word: their estimates are the prior's mean."""
        return np.equal(self.doc_lengths, 0)

    def __len__(self) -> int:
        return self.n_docs

    def __repr__(self) -> str:
        known = [name for name in (*_KNOWN, "unknown", "texts") if getattr(self, name) is not None]
        extra = f", with {', '.join(known)}" if known else ""
        sizes = ((self.n_docs, "documents"), (self.n_words, "words"), (self.n_tokens, "tokens"))
        return f"Corpus({', '.join(counted(n, what) for n, what in sizes)}{extra})"

    def _repr_html_(self) -> str:
        from topicloom.corpus.html import corpus_html  # for notebooks alone

        return corpus_html(self)

    # -- other views of the same tokens --------------------------------------------------------------------

    @cached_property
    def by_word(self) -> WordIndex:
        """Token numbers ordered by word (computed on first use, 8 bytes per token)."""
        ptr = np.zeros(self.n_words + 1, np.int64)
        np.cumsum(self.word_counts, out=ptr[1:])
        return WordIndex(read_only(ptr), read_only(np.argsort(self.words, kind="stable")))

    @cached_property
    def token_docs(self) -> Int32Array:
        """Document number of each token (computed on first use, 4 bytes per token)."""
        return read_only(np.repeat(np.arange(self.n_docs, dtype=np.int32), self.doc_lengths))

    def to_matrix(self) -> sp.csr_array:
        """Counts (int64), or summed weights (float64), as a sorted documents × words CSR matrix."""
        data = np.ones(self.n_tokens, np.int64) if self.weights is None else self.weights.copy()
        shape = (self.n_docs, self.n_words)
        matrix = sp.csr_array((data, self.words.copy(), self.doc_ptr.copy()), shape=shape)
        matrix.sum_duplicates()
        return matrix

    @cached_property
    def pairs(self) -> Pairs:
        """Distinct (document, word) pairs, words ascending within a document."""
        matrix = self.to_matrix()
        return Pairs(
            read_only(matrix.indptr.astype(np.int64)),
            read_only(matrix.indices.astype(np.int32)),
            read_only(matrix.data.astype(np.float64)),
        )

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the tokens and the vocabulary: the same documents in the same order have the same one."""
        digest = blake2b(digest_size=16)
        for array in (self.doc_ptr, self.words, self.weights):
            digest.update(b"|" if array is None else np.ascontiguousarray(array).data)
        digest.update("\0".join(self.vocabulary).encode(errors="surrogatepass"))
        return digest.hexdigest()

    # -- parts ---------------------------------------------------------------------------------------------

    def select(self, documents: Sequence[int] | AnyArray) -> "Corpus":
        """The given documents (numbers or a mask), in the given order, with the same vocabulary."""
        index = as_array("documents", documents)
        if index.dtype == bool:
            check_length("the mask", len(index), self.n_docs, "documents")
            index = np.flatnonzero(index)
        if index.size == 0:
            raise InputError("no document is selected; a corpus needs at least one.")
        if index.ndim != 1 or index.dtype.kind not in "iu":
            raise InputError(f"documents must be a list of whole numbers or a mask, not {shown(documents)}.")
        if index.min() < -self.n_docs or index.max() >= self.n_docs:
            raise InputError(f"a document number is outside 0 to {self.n_docs - 1}.")
        index = index.astype(np.int64) % self.n_docs
        lengths = self.doc_lengths[index]
        ptr = np.concatenate(([0], np.cumsum(lengths)))
        take = np.repeat(self.doc_ptr[index] - ptr[:-1], lengths) + np.arange(ptr[-1])
        return self._with_stream(take, ptr, documents=index)

    def keep_tokens(self, mask: BoolArray) -> "Corpus":
        """The same documents, with only the tokens of the stream that ``mask`` marks."""
        mask = as_array("mask", mask)
        if mask.dtype != bool or mask.ndim != 1:
            raise InputError(f"the mask must hold True or False for each token, not {mask.dtype} values.")
        check_length("the mask", len(mask), self.n_tokens, "tokens")
        kept = np.concatenate(([0], np.cumsum(mask)))
        return self._with_stream(np.flatnonzero(mask), kept[self.doc_ptr], documents=None)

    def _with_stream(self, take: AnyArray, ptr: AnyArray, documents: Int64Array | None) -> "Corpus":
        changes: dict[str, Any] = {"words": read_only(self.words[take]), "doc_ptr": ptr}
        if self.weights is not None:
            changes["weights"] = read_only(self.weights[take])
        if documents is not None:
            changes |= self.metadata_of(documents)
        return replace(self, **changes)

    def metadata_of(self, documents: Int64Array) -> dict[str, Any]:
        """What is known of these documents, by field."""
        changes: dict[str, Any] = {}
        for name in ("ids", "labels", "groups"):
            value = getattr(self, name)
            if value is not None:
                changes[name] = tuple(value[d] for d in documents)
        for name in ("responses", "times", "unknown"):
            value = getattr(self, name)
            if value is not None:
                changes[name] = value[documents]
        if self.texts is not None:
            changes["texts"] = _texts.taken(self.texts, documents)
        return changes

    def with_vocabulary(self, vocabulary: Sequence[str]) -> "Corpus":
        """The same documents in another vocabulary; words that it lacks are left out and counted in ``unknown``."""
        vocabulary = texts("vocabulary", items("vocabulary", vocabulary))
        if vocabulary == self.vocabulary:
            return self
        index = {word: v for v, word in enumerate(vocabulary)}
        number = np.array([index.get(word, -1) for word in self.vocabulary], np.int32)
        known = number[self.words] >= 0
        short = self.keep_tokens(known)
        lost = self.doc_lengths - short.doc_lengths
        unknown = lost if self.unknown is None else lost + self.unknown
        return replace(short, words=number[short.words], vocabulary=vocabulary, unknown=unknown)

    def prune(self, *, min_df: int | float = 1, max_df: int | float = 1.0, max_words: int | None = None) -> "Corpus":
        """The same documents with fewer words; no document is dropped, even if none of its words is left.

        Parameters
        ----------
        min_df, max_df : int or float, default=1 and 1.0
            Least and largest number (an int) or share (a float) of documents with a word.
        max_words : int, default=None
            Keeps the words with the largest total count, ties in alphabetical order.

        Returns
        -------
        Corpus
            Words keep their order; what is left out does not count as unknown.

        Examples
        --------
        >>> from topicloom import from_matrix
        >>> from_matrix([[2, 0, 1], [1, 1, 0]], ["ant", "bee", "cow"]).prune(min_df=2).vocabulary
        ('ant',)
        """
        pruning = Pruning(min_df, max_df, max_words).check()
        if pruning.keeps_all:
            return self
        keep = kept_words(pruning, self.vocabulary, self.n_docs, self._totals, self._frequency)
        short, number = self.keep_tokens(keep[self.words]), np.cumsum(keep, dtype=np.int32) - 1
        vocabulary = tuple(word for word, kept in zip(self.vocabulary, keep.tolist(), strict=True) if kept)
        return replace(short, words=read_only(number[short.words].astype(np.int32)), vocabulary=vocabulary)

    def _totals(self) -> AnyArray:
        """Tokens, or summed weights, of each word."""
        return self.word_counts if self.weights is None else np.bincount(self.words, self.weights, self.n_words)

    def _frequency(self) -> Int64Array:
        """Number of documents with each word."""
        there = self if self.weights is None else self.keep_tokens(self.weights > 0)
        return document_frequency(there.words, there.doc_ptr, self.n_words)

    def with_metadata(
        self,
        *,
        ids: Sequence[str] | None = None,
        labels: Sequence[Sequence[str]] | None = None,
        groups: Sequence[Hashable] | None = None,
        responses: Sequence[float] | AnyArray | None = None,
        times: Sequence[Any] | AnyArray | None = None,
        texts: Sequence[str] | None = None,
    ) -> "Corpus":
        """A copy with the given metadata, one value per document; what is not given stays as it is.

        ``texts`` are the documents' original texts, to be shown beside results.
        """
        given = {"ids": ids, "labels": labels, "groups": groups, "responses": responses, "times": times, "texts": texts}
        changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        return replace(self, **changes)


def with_reading(corpus: Corpus, **reading: Any) -> Corpus:
    """A copy that knows how it was read, beside what it knew. Its data are shared and not checked once more."""
    known = {**(corpus.reading or {}), **{name: value for name, value in reading.items() if value is not None}}
    found = copy(corpus)
    object.__setattr__(found, "reading", known or None)
    return found


def check_corpus(corpus: Any) -> None:
    if not isinstance(corpus, Corpus):
        raise InputError(f"corpus is {shown(corpus)}; expected a Corpus, as topicloom.from_texts or from_matrix gives.")


def default_vocabulary(n_words: int) -> tuple[str, ...]:
    """Names for words that have none: ``word0``, ``word1``, …"""
    return tuple(f"word{j}" for j in range(n_words))


def once(function: Callable[[Corpus], R]) -> Callable[[Corpus], R]:
    """The same function, asked once for a corpus, which cannot change: the answer is kept as long as the corpus is."""
    answers: WeakKeyDictionary[Corpus, R] = WeakKeyDictionary()

    @wraps(function)
    def answer(corpus: Corpus) -> R:
        if corpus not in answers:
            answers[corpus] = function(corpus)
        return answers[corpus]

    return answer
