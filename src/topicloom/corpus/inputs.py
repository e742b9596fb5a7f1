"""Whatever documents are given as, to a corpus: the one way in, which ``fit`` and its companions take, too."""

from array import array
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from inspect import Parameter, signature
from typing import Any, TypedDict, Unpack

import numpy as np
import scipy.sparse as sp

from topicloom._types import AnyArray
from topicloom.corpus._checks import check_choice, items, shown
from topicloom.corpus._columns import is_missing
from topicloom.corpus._given import KINDS, Given, Kind, Missing, told_apart, warn_of_missing
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.frames import from_frame
from topicloom.corpus.matrices import from_matrix
from topicloom.corpus.registry import Normalizer, Tokenizer
from topicloom.corpus.text import Phrases, from_texts
from topicloom.errors import InputError, InputTypeError

_MOST_WORDS = 1 << 24  # that numbers of words may stand for, if no vocabulary names them
METADATA = ("ids", "labels", "groups", "responses", "times")


class ReadingBesideGroups(TypedDict, total=False):
    """How X is read, where ``groups`` are an argument of their own."""

    # columns of a frame
    text: str
    id: str | None
    label: str | None
    group: str | None
    response: str | None
    time: str | None
    label_separator: str | None
    # how texts become words
    missing: Missing
    strip: str | Sequence[str]
    tokenizer: Tokenizer | str | None
    token_pattern: str
    lowercase: bool
    stop_words: str | Collection[str] | None
    normalizer: Normalizer | str | None
    phrases: Phrases | None
    ngrams: tuple[int, int]
    n_jobs: int | None
    min_df: int | float
    max_df: int | float
    max_words: int | None
    vocabulary: Sequence[str] | Mapping[int, str] | None
    keep_texts: bool | None
    # one entry per document
    ids: Sequence[str] | None
    labels: Sequence[Sequence[str]] | None
    responses: Sequence[float] | AnyArray | None
    times: Sequence[Any] | AnyArray | None
    # of AnnData
    layer: str | None
    binarize: bool
    min_cells: int | float
    max_cells: int | float
    min_features: int | None


class Reading(ReadingBesideGroups, total=False):
    """How X is read: keyword arguments of ``fit``, and of all methods that are given documents."""

    groups: Sequence[Hashable] | None


def as_corpus(X: Any, **reading: Unpack[Reading]) -> Corpus:
    """A corpus of whatever holds documents, as ``fit`` makes it.

    Parameters
    ----------
    X : texts, lists of words, spaCy Docs, bags of words, a data frame, AnnData, a matrix of counts or a Corpus
        Texts come as a list, a column of pandas, polars or pyarrow, an array, a generator or anything else that gives
        one after the other. Bags of words are gensim's: lists of (number of a word, count).
    **reading
        How it is read: the options of ``from_frame`` for a frame, of ``from_texts`` for texts, lists of words and Docs,
        of ``from_matrix`` for a matrix. For bags of words ``vocabulary`` is a gensim ``Dictionary`` or a sequence.

    Returns
    -------
    Corpus

    Examples
    --------
    >>> from topicloom import as_corpus
    >>> as_corpus(text for text in ["river bank", "money bank"])
    Corpus(2 documents, 3 words, 4 tokens, with texts)
    >>> as_corpus([[(0, 2), (1, 1)], [(1, 3)]], vocabulary=["river", "bank"])
    Corpus(2 documents, 2 words, 6 tokens)
    """
    return corpus_of(told_apart(X), reading)


def corpus_of(given: Given, reading: Mapping[str, Any]) -> Corpus:
    """The corpus of data that have been told apart."""
    check_keywords(given.kind, reading, options_of(given.kind))
    return given.data if given.kind == "corpus" else _READERS[given.kind](given.data, **reading)


def options_of(kind: Kind) -> tuple[str, ...]:
    """The keyword arguments that say how data of a kind are read."""
    if kind == "corpus":
        return ()
    own = _keywords(_of_cells("from_anndata") if kind == "cells" else _READERS[kind])
    own = own if "vocabulary" in own or kind != "matrix" else ("vocabulary", *own)
    return own + tuple(n for n in _keywords(from_texts) if n not in METADATA) if kind == "frame" else own


def check_keywords(kind: Kind, given: Mapping[str, Any], usable: Collection[str]) -> None:
    """Refuse keyword arguments that say nothing about data of this kind."""
    for name in given:
        if name not in usable:
            which = ", ".join(usable)
            what = f"X {KINDS[kind]}" + (f"; it can be read with {which}" if which else ", which is read already")
            known = name in Reading.__annotations__
            why = f"{name}={shown(given[name])} does not apply:" if known else f"the keyword {name!r} is not known;"
            raise InputTypeError(f"{why} {what}.")


@cache
def _keywords(function: Callable[..., Corpus]) -> tuple[str, ...]:
    return tuple(name for name, p in signature(function).parameters.items() if p.kind is Parameter.KEYWORD_ONLY)


# -- bags of words -------------------------------------------------------------------------------------------------


def from_bags(
    bags: Iterable[Any],
    *,
    vocabulary: Any = None,
    missing: Missing = "error",
    ids: Sequence[str] | None = None,
    labels: Sequence[Sequence[str]] | None = None,
    groups: Sequence[Hashable] | None = None,
    responses: Sequence[float] | AnyArray | None = None,
    times: Sequence[Any] | AnyArray | None = None,
) -> Corpus:
    """Corpus from bags of words: for each document (number of a word, count) pairs, read once.

    ``vocabulary`` names the words: a sequence, or a mapping from numbers such as a gensim ``Dictionary``. If it is left
    out it is that of a gensim corpus, if it has one.
    """
    vocabulary = getattr(bags, "id2word", None) if vocabulary is None else vocabulary
    names = None if vocabulary is None else _named(vocabulary)
    matrix = _bag_matrix(bags, missing, None if names is None else len(names))
    return from_matrix(
        matrix, names, ids=ids, labels=labels, groups=groups, responses=responses, times=times
    )  # fmt: skip


def _named(vocabulary: Any) -> tuple[str, ...]:
    """Words by their numbers; a number of which a mapping has no word is a word of that number."""
    if not isinstance(vocabulary, Mapping):
        return tuple(items("vocabulary", vocabulary))
    numbers = list(vocabulary.keys())
    if not all(isinstance(number, int | np.integer) and 0 <= number < _MOST_WORDS for number in numbers):
        raise InputError("vocabulary must map the numbers of words, from 0, to words, as a gensim Dictionary does.")
    known = {int(number): vocabulary[number] for number in numbers}
    return tuple(known.get(number, f"word{number}") for number in range(max(known, default=-1) + 1))


def _bag_matrix(bags: Iterable[Any], missing: Missing, n_words: int | None) -> Any:
    check_choice("missing", missing, ("error", "empty"))
    words, counts, ends, n_missing = array("q"), array("d"), array("q", [0]), 0
    for d, bag in enumerate(bags):
        if is_missing(bag):
            if missing == "error":
                raise InputError(f'document {d} is missing ({shown(bag)}). Give missing="empty", or leave it out.')
            n_missing, bag = n_missing + 1, ()
        try:
            for word, count in bag:
                words.append(word)
                counts.append(count)
        except (TypeError, ValueError, OverflowError):
            raise InputError(
                f"document {d} is {shown(bag)}; expected a bag of words, a list of (number of a word, count)."
            ) from None
        ends.append(len(words))
    warn_of_missing(n_missing, len(ends) - 1)
    columns = np.frombuffer(words, np.int64) if len(words) else np.zeros(0, np.int64)
    limit = _MOST_WORDS if n_words is None else n_words
    if len(columns) and (columns.min() < 0 or columns.max() >= limit):
        entry = int(np.argmax((columns < 0) | (columns >= limit)))
        d = int(np.searchsorted(ends, entry, side="right")) - 1
        remedy = "Give the Dictionary that the bags were made with." if n_words is not None else "Number words from 0."
        raise InputError(f"document {d}: there is no word {columns[entry]}, of {limit:,}. {remedy}")
    values = np.frombuffer(counts, np.float64) if len(counts) else np.zeros(0)
    shape = (len(ends) - 1, int(columns.max(initial=-1)) + 1 if n_words is None else n_words)
    return sp.csr_array((values, columns, np.frombuffer(ends, np.int64)), shape=shape)


# -- cells ---------------------------------------------------------------------------------------------------------


def _of_cells(name: str) -> Callable[..., Corpus]:
    """A function of the module that knows AnnData, which nothing else needs."""
    function: Callable[..., Corpus] = getattr(import_module("topicloom.corpus.anndata"), name)
    return function


def _cells(adata: Any, **options: Any) -> Corpus:
    return _of_cells("from_anndata")(adata, **options)


def new_cells(
    adata: Any, vocabulary: Sequence[str], known: Mapping[str, Any] | None, reading: Mapping[str, Any]
) -> Corpus:
    """Cells for a fitted model, read as those of its fit unless ``reading`` says otherwise."""
    check_keywords("cells", reading, options_of("cells"))
    return _of_cells("new_cells")(adata, vocabulary, known, **reading)


_READERS: Mapping[Kind, Callable[..., Corpus]] = {
    "texts": from_texts,
    "words": from_texts,
    "docs": from_texts,
    "bags": from_bags,
    "frame": from_frame,
    "cells": _cells,
    "matrix": from_matrix,
}
