"""Documents to a stream of word numbers, on one process or several: the corpus is the same."""

from array import array
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from itertools import chain, islice
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from topicloom._types import Int32Array, Int64Array
from topicloom.corpus._checks import NOT_ENCODABLE, is_encodable, resolve_jobs
from topicloom.corpus._cutting import Cutter, typed
from topicloom.corpus._streams import BLOCK_TOKENS, GrowingArray, pointers
from topicloom.errors import InputError

_BATCH_CHARACTERS = 1 << 20  # of texts that a worker gets at once
_BATCH_TEXTS = 1 << 14
_WORTH = 16  # batches below which starting processes takes longer than cutting, if the default pattern cuts


class Stream(NamedTuple):
    """Word numbers, where documents begin and end, and the words."""

    words: Int32Array
    ptr: Int64Array
    names: list[str]


class Part(NamedTuple):
    """Some documents: their word numbers and lengths, and the words that were new."""

    words: Int32Array
    lengths: Int64Array
    new: list[str]


class _Numbers(dict[str, int]):
    """Numbers of words in order of first sight; -1 for those that are left out."""

    def __init__(self, leaves_out: Callable[[str], bool]) -> None:
        self.names: list[str] = []
        self._leaves_out = leaves_out

    def __missing__(self, word: str) -> int:
        number = -1 if self._leaves_out(word) else len(self.names)
        if number >= 0:
            self.names.append(word)
        self[word] = number
        return number


class Numberer:
    """Takes documents one by one and gives their numbers in parts."""

    def __init__(self, cutter: Cutter) -> None:
        # One look at each distinct word instead of one at each token; a normalizer needs the others to be gone before.
        whole = cutter.normalizer is not None
        self._cut = cutter.function() if whole else cutter.runs()
        self._numbers = _Numbers((lambda word: False) if whole else cutter.leaves_out)
        self._ids, self._ends, self._told = array("i"), array("q", [0]), 0

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, d: object, text: Any) -> None:
        """The text of document ``d``, which is its number or says where it is, or whatever the cutter takes."""
        if isinstance(text, str) and not is_encodable(text):
            raise InputError(f"{_named(d)} is {typed(text)}, {NOT_ENCODABLE}")
        try:
            found = self._cut(text)
        except InputError as error:
            raise InputError(f"{_named(d)}: {error}") from None
        self._ids.extend(map(self._numbers.__getitem__, found))
        self._ends.append(len(self._ids))

    def take(self) -> Part:
        """What was added since the last time."""
        words, ends = np.frombuffer(self._ids, np.int32), np.frombuffer(self._ends, np.int64)
        kept = words >= 0
        before = np.concatenate(([0], np.cumsum(kept)))
        new = self._numbers.names[self._told :]
        self._told += len(new)
        part = Part(words[kept], np.diff(before[ends]), new)
        self._ids, self._ends = array("i"), array("q", [0])
        return part


def _named(d: object) -> str:
    return f"document {d}" if isinstance(d, int) else str(d)


def number(documents: Iterator[Any], cutter: Cutter, n_jobs: int | None) -> Stream:
    """All documents as one stream. Words have numbers in an order that may depend on the number of processes."""
    jobs = resolve_jobs(n_jobs)
    return stream_of(_in_turn(documents, cutter) if jobs == 1 else _side_by_side(documents, cutter, jobs))


def stream_of(parts: Generator[Part, None, None]) -> Stream:
    """All parts as one stream; their words have the numbers of the stream."""
    words, lengths = GrowingArray(), GrowingArray(np.int64)
    names: list[str] = []
    with closing(parts):  # at once when something fails here, so that no process is left
        for part in parts:
            words.append(part.words)
            lengths.append(part.lengths)
            names += part.new
    ptr = pointers(lengths.finish())
    if len(ptr) == 1:
        raise InputError("texts is empty; a corpus needs at least one document.")
    return Stream(words.finish(writable=True), ptr, names)


def _in_turn(documents: Iterator[Any], cutter: Cutter) -> Generator[Part, None, None]:
    numberer = Numberer(cutter)
    for d, document in enumerate(documents):
        numberer.add(d, document)
        del document  # while the next one is made
        if len(numberer) >= BLOCK_TOKENS:
            yield numberer.take()
    yield numberer.take()


class Numbers:
    """Numbers of words in order of first sight, which parts with numbers of their own are translated to."""

    def __init__(self) -> None:
        self._numbers: defaultdict[str, int] = defaultdict()
        self._numbers.default_factory = self._numbers.__len__

    def of(self, words: list[str]) -> tuple[Int32Array, list[str]]:
        """The words' numbers, and which of them are new."""
        before = len(self._numbers)
        found = np.fromiter(map(self._numbers.__getitem__, words), np.int32, len(words))
        return found, list(islice(reversed(self._numbers), len(self._numbers) - before))[::-1]


# -- several processes -------------------------------------------------------------------------------------------------


def _side_by_side(documents: Iterator[Any], cutter: Cutter, jobs: int) -> Generator[Part, None, None]:
    """Parts in the order of the documents. Each worker has numbers of its own, which are translated here."""
    batches, least = _batches(documents), _WORTH if cutter.by_default and cutter.normalizer is None else 2
    first = list(islice(batches, least))
    if len(first) < least:
        yield from _in_turn(iter([text for _, texts in first for text in texts]), cutter)
        return
    from topicloom.corpus._processes import Processes

    numbers = Numbers()
    known: defaultdict[str, Int32Array] = defaultdict(lambda: np.zeros(0, np.int32))

    def translated(answer: tuple[str, Part]) -> Part:
        worker, part = answer
        found, new = numbers.of(part.new)
        if part.new:
            known[worker] = np.append(known[worker], found)
        return Part(known[worker][part.words], part.lengths, new)

    with closing(Processes(jobs).map(_Worker(cutter), chain(first, batches))) as answers:
        yield from map(translated, answers)


def _batches(documents: Iterator[Any]) -> Iterator[tuple[int, list[Any]]]:
    """Some documents at a time, with the number of the first."""
    first, batch, size = 0, [], 0
    for document in documents:
        batch.append(document)
        size += len(document)
        if size >= _BATCH_CHARACTERS or len(batch) >= _BATCH_TEXTS:
            yield first, batch
            first, batch, size = first + len(batch), [], 0
    if batch:
        yield first, batch


class _Worker:
    """What a process does, and what it keeps from batch to batch: its words."""

    def __init__(self, cutter: Cutter) -> None:
        self._cutter, self._name = cutter, ""

    def __call__(self, batch: tuple[int, list[Any]]) -> tuple[str, Part]:
        if not self._name:
            self._name, self._numberer = uuid4().hex, Numberer(self._cutter)
        first, documents = batch
        for d, document in enumerate(documents, first):
            self._numberer.add(d, document)
        return self._name, self._numberer.take()
