"""Documents to a stream of word numbers, on one process or several: the corpus is the same."""

from array import array
from collections import defaultdict, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from uuid import uuid4

import numpy as np

from topicloom._types import Int32Array, Int64Array
from topicloom.corpus._checks import NOT_ENCODABLE, is_encodable, resolve_jobs
from topicloom.corpus._cutting import Cutter, one_form, typed
from topicloom.corpus._markup import strippers
from topicloom.corpus._streams import BLOCK_TOKENS, GrowingArray, pointers
from topicloom.errors import InputError

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    from topicloom.corpus._compiled_cutting import CompiledCutter

_BATCH_CHARACTERS = 1 << 20  # of texts that a worker gets at once
_BATCH_TEXTS = 1 << 14
_COMPILED_CHARACTERS = 1 << 22  # from which compiled code is worth loading, or compiling
_AT_ONCE = 1 << 18  # bytes that it cuts together
_WAITING = 4  # times as many may wait to be cut
_WORTH = 64  # batches below which starting processes takes longer than cutting, if the default pattern cuts


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

    def new(self, words: list[str], stop_words: frozenset[str]) -> Int32Array:
        """Numbers of distinct words, none of which is asked for again."""
        known, names, found = self.get, self.names, []
        for word in words:
            number = known(word)
            if number is None:
                number = -1 if word in stop_words else len(names)
                if number >= 0:
                    names.append(word)
            found.append(number)
        return np.array(found, np.int32)


class Numberer:
    """Takes documents one by one and gives their numbers in parts."""

    def __init__(self, cutter: Cutter, pool: "ThreadPoolExecutor | None" = None) -> None:
        # One look at each distinct word instead of one at each token; a normalizer needs the others to be gone before.
        whole = cutter.normalizer is not None
        self._cut = cutter.function() if whole else cutter.runs()
        self._numbers = _Numbers((lambda word: False) if whole else cutter.leaves_out)
        self._ids, self._ends, self._told = array("i"), array("q", [0]), 0
        self._compiled = _Compiled(cutter, self._numbers, pool) if cutter.by_default and not whole else None
        self._characters = 0

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, d: object, text: Any) -> None:
        """The text of document ``d``, which is its number or says where it is, or whatever the cutter takes."""
        if isinstance(text, str) and not is_encodable(text):
            raise InputError(f"{_named(d)} is {typed(text)}, {NOT_ENCODABLE}")
        if self._compiled is not None:
            self._characters += len(text)
            if self._characters > _COMPILED_CHARACTERS:
                self._extend(self._compiled.add(text))
                return
        try:
            found = self._cut(text)
        except InputError as error:
            raise InputError(f"{_named(d)}: {error}") from None
        self._ids.extend(map(self._numbers.__getitem__, found))
        self._ends.append(len(self._ids))

    def _extend(self, found: "Iterable[_Cut]") -> None:
        for words, ends in found:
            ends += len(self._ids)
            self._ids.frombytes(words.data.cast("B"))
            self._ends.frombytes(ends.data.cast("B"))

    def take(self) -> Part:
        """What was added since the last time."""
        if self._compiled is not None:
            self._extend(self._compiled.finish())
        words, ends = np.frombuffer(self._ids, np.int32), np.frombuffer(self._ends, np.int64)
        new = self._numbers.names[self._told :]
        self._told += len(new)
        kept = words >= 0
        if kept.all():
            part = Part(words, np.diff(ends), new)
        else:
            before = np.concatenate(([0], np.cumsum(kept)))
            part = Part(words[kept], np.diff(before[ends]), new)
        self._ids, self._ends = array("i"), array("q", [0])
        return part


_Cut: TypeAlias = tuple[Int32Array, Int64Array]  # numbers of words, and where each document ends


class _Compiled:
    """Cuts some texts at a time in compiled code, on a thread of its own if there is a pool, while others are read."""

    def __init__(self, cutter: Cutter, numbers: _Numbers, pool: "ThreadPoolExecutor | None") -> None:
        self._lowercase, self._stop_words, self._steps = cutter.lowercase, cutter.stop_words, strippers(cutter.strip)
        self._numbers, self._pool = numbers, pool
        self._waiting: deque[Future[_Cut]] = deque()
        self._translated = np.zeros(0, np.int32)  # numbers by those of the compiled code
        self._clear()

    def _clear(self) -> None:
        self._texts: list[bytes] = []
        self._size, self._ascii = 0, True

    @cached_property
    def _cutter(self) -> "CompiledCutter":
        from topicloom.corpus._compiled_cutting import CompiledCutter

        return CompiledCutter(self._lowercase)

    def add(self, text: str) -> Iterable[_Cut]:
        """One more text; what is ready of those before it."""
        for step in self._steps:
            text = step(text)
        if not text.isascii():
            self._ascii = False
            text = one_form(text, self._lowercase)
        self._texts.append(text.encode())
        self._size += len(self._texts[-1])
        return () if self._size < _AT_ONCE else self._begin(_WAITING)

    def finish(self) -> Iterable[_Cut]:
        """All that is left."""
        return self._begin(0)

    def _begin(self, n_waiting: int) -> Iterator[_Cut]:
        """Cut what was added; gives what is ready, until so many are left."""
        texts, ascii_alone = self._texts, self._ascii
        self._clear()
        if texts and not self._submit(texts, ascii_alone):
            yield self._found(texts, ascii_alone)
        while len(self._waiting) > n_waiting:
            yield self._waiting.popleft().result()

    def _submit(self, texts: list[bytes], ascii_alone: bool) -> bool:
        """Whether the thread takes the texts."""
        if self._pool is None:
            return False
        try:
            self._waiting.append(self._pool.submit(self._found, texts, ascii_alone))
        except RuntimeError:  # no threads to be had, which the first call says
            self._pool = None
            return False
        return True

    def _found(self, texts: list[bytes], ascii_alone: bool) -> _Cut:
        found, ends, new = self._cutter.cut(texts, ascii_alone)
        if new:
            self._translated = np.concatenate((self._translated, self._numbers.new(new, self._stop_words)))
        return self._translated[found], ends


def _named(d: object) -> str:
    return f"document {d}" if isinstance(d, int) else str(d)


def number(documents: Iterator[Any], cutter: Cutter, n_jobs: int | None) -> Stream:
    """All documents as one stream. Words have numbers in an order that may depend on the number of processes."""
    jobs = resolve_jobs(n_jobs)
    if jobs == 1:
        return stream_of(_in_turn(documents, cutter))
    if jobs == 2 and cutter.compiled:
        return stream_of(_ahead(documents, cutter))
    return stream_of(_side_by_side(documents, cutter, jobs))


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


def _ahead(documents: Iterator[Any], cutter: Cutter) -> Generator[Part, None, None]:
    """Documents are read on one core while those before them are cut on another; two cores need no processes."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        yield from _in_turn(documents, cutter, pool)


def _in_turn(
    documents: Iterator[Any], cutter: Cutter, pool: "ThreadPoolExecutor | None" = None
) -> Generator[Part, None, None]:
    numberer = Numberer(cutter, pool)
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
    batches, least = _batches(documents), _WORTH if cutter.compiled else 2
    first = list(islice(batches, least))
    if len(first) < least:
        texts = iter([text for _, texts in first for text in texts])
        yield from _ahead(texts, cutter) if cutter.compiled else _in_turn(texts, cutter)
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
