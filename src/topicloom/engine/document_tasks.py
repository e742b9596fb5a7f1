"""Functions of documents that do not depend on each other, in tasks of the executor that is in use."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array
from topicloom.corpus._executors import current_executor
from topicloom.corpus._streams import document_blocks
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.stored import stored_tokens
from topicloom.errors import StorageError
from topicloom.files.arrays import file_of, read_digest

P = ParamSpec("P")
R = TypeVar("R")
_LEAST = 1 << 17  # tokens below which sending them takes as long as what is done with them
_MOST = 1 << 22
_PER_WORKER = 4  # tasks, so that all workers end at about the same time


def of_stored(function: Callable[[AnyArray, Int64Array], R], corpus: Corpus) -> list[R] | None:
    """``function`` of the words and starts of some documents at a time, in order, where tasks can read a corpus's file.

    Otherwise None: the corpus is not in a file, is small, or a machine does not have its file.
    """
    executor, path = current_executor(), file_of(corpus.words)
    if executor is None or path is None or not path.exists() or corpus.n_tokens < 2 * _LEAST:
        return None
    size = max(corpus.n_tokens // (_PER_WORKER * executor.n_workers), _LEAST)
    reading = _Reading(function, path, read_digest(path), corpus.n_words)
    try:
        with closing(executor.map(reading, document_blocks(corpus.doc_ptr, size))) as found:
            return list(found)
    except StorageError:
        return None


@dataclass(frozen=True)
class _Reading:
    """What a task does with documents of a file."""

    function: Callable[..., Any]
    path: Path
    digest: str
    n_words: int

    def __call__(self, docs: tuple[int, int]) -> Any:
        words, doc_ptr = stored_tokens(self.path, docs, self.n_words, self.digest)
        return self.function(words, doc_ptr - doc_ptr[0])


class Some(NamedTuple):
    """Documents on their way to a task. The vocabulary, which all have in common, is not with them."""

    words: Int32Array
    doc_ptr: Int64Array
    weights: FloatArray | None = None
    unknown: Int64Array | None = None
    groups: Sequence[Any] | None = None

    @classmethod
    def of(cls, corpus: Corpus, first: int = 0, last: int | None = None) -> "Some":
        """Documents ``first`` … ``last``."""
        docs = slice(first, corpus.n_docs if last is None else last)
        ptr = corpus.doc_ptr[docs.start : docs.stop + 1]
        tokens = slice(int(ptr[0]), int(ptr[-1]))
        return cls(
            np.array(corpus.words[tokens]),
            ptr - ptr[0],
            None if corpus.weights is None else np.array(corpus.weights[tokens]),
            None if corpus.unknown is None else corpus.unknown[docs],
            None if corpus.groups is None else corpus.groups[docs],
        )

    def corpus(self, vocabulary: tuple[str, ...], ordered: bool) -> Corpus:
        """A corpus of them."""
        return Corpus(**self._asdict(), vocabulary=vocabulary, ordered=ordered)


def over_documents(function: Callable[P, R]) -> Callable[P, R]:
    """The function, whose documents are done by tasks where an executor is in use.

    It takes a ``corpus``, ``n_jobs`` and, if it wants, ``alpha`` with an ``alpha_row`` for each document. What it
    returns, an array or a tuple of arrays, has rows in the order of the documents, which do not depend on each other.
    """
    signature = inspect.signature(function)

    @wraps(function)
    def by_tasks(*args: P.args, **kwargs: P.kwargs) -> R:
        executor = current_executor()
        given = dict(signature.bind(*args, **kwargs).arguments)
        corpus = given["corpus"]
        if executor is None or not isinstance(corpus, Corpus) or corpus.n_tokens < 2 * _LEAST:
            return function(*args, **kwargs)
        size = min(max(corpus.n_tokens // (_PER_WORKER * executor.n_workers), _LEAST), _MOST)
        blocks = list(document_blocks(corpus.doc_ptr, size))
        rows = given.pop("alpha_row", None)
        alpha = None if rows is None else np.asarray(given.pop("alpha"))
        del given["corpus"]
        doing = _Doing(by_tasks, {**given, "n_jobs": 1}, corpus.vocabulary, corpus.ordered)
        tasks = ((Some.of(corpus, *block), _prior_of(alpha, rows, block)) for block in blocks)
        with closing(executor.map(doing, tasks)) as found:
            joined: R = _joined(list(found))
            return joined

    return by_tasks


def _prior_of(alpha: AnyArray | None, rows: Any, block: tuple[int, int]) -> Mapping[str, AnyArray]:
    """α of some documents, if they have one each."""
    if alpha is None:
        return {}
    own, where = np.unique(np.asarray(rows)[slice(*block)], return_inverse=True)
    return {"alpha": alpha[own], "alpha_row": where.astype(np.int32)}


@dataclass(frozen=True)
class _Doing:
    """What a task does with its documents."""

    function: Callable[..., Any]
    arguments: Mapping[str, Any]
    vocabulary: tuple[str, ...]
    ordered: bool

    def __call__(self, task: tuple[Some, Mapping[str, AnyArray]]) -> Any:
        some, prior = task
        return self.function(corpus=some.corpus(self.vocabulary, self.ordered), **self.arguments, **prior)


def _joined(found: list[Any]) -> Any:
    if not isinstance(found[0], tuple):
        return np.concatenate(found)
    columns = [None if each[0] is None else np.concatenate(each) for each in zip(*found, strict=True)]
    kind: Any = type(found[0])
    return kind(*columns)
