"""Files read by tasks of an executor: each reads some files, or a piece of a large one, and cuts its texts into words.

What comes back are numbers of words, what the words are, and metadata. They are put together in the order of the
documents, so that the corpus is the one that is read in a single process.
"""

import os
import platform
from array import array
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from topicloom.corpus._cutting import Cutter
from topicloom.corpus._executors import Executor
from topicloom.corpus._given import Documents as Given
from topicloom.corpus._lines import Member, Piece, Source, is_gzipped, numbered
from topicloom.corpus._numbering import Numberer, Numbers, Part, Stream, stream_of
from topicloom.corpus._table_files import Documents, Like, Metadata, Row
from topicloom.corpus._texts import KeptTexts
from topicloom.errors import InputError

_BYTES = 1 << 24  # of files that a task reads, if they have so many
_BYTES_OF_OWN = 1 << 20  # the same with a function of the caller's, which may take long
_LARGE = 1 << 25  # bytes of a file from which it is read in pieces or, if it has none, row by row by the caller
_LARGE_PACKED = 1 << 23
_ROWS = 1 << 14  # that travel to a task together, unless their texts have
_CHARACTERS = 1 << 21


_File: TypeAlias = tuple[int, str, Source | tuple[Row, ...]]  # rank, name, and what to read; or rows that were read


class _Task(NamedTuple):
    """What a task reads."""

    files: tuple[_File, ...]
    texts: bool  # whether texts are wanted


class _Read(NamedTuple):
    """Documents as numbers of words, and all else that they bring."""

    part: Part
    ranks: "array[int]"
    found: Mapping[str, list[Any]]
    cells: Mapping[str, int]
    texts: list[str]


@dataclass(frozen=True)
class _Reader:
    """What tasks do; it is sent to workers, with the functions that it holds."""

    rows_of: Callable[[str, Source], Iterator[Row]]
    label_separator: object
    like: Like
    cutter: Cutter

    def __call__(self, task: _Task) -> _Read:
        for _, _, source in task.files:
            path = source.path if isinstance(source, Piece) else source
            if isinstance(path, Path) and not path.exists():
                raise InputError(
                    f"{path} is not there on {platform.node()}, where a task was to read it. All machines must see the "
                    "files under the same path, as on a shared file system."
                )
        try:
            return self._read(task)
        except InputError:  # which names a line, though in a piece it is not known how many were before
            counted = tuple(
                (rank, name, numbered(source) if isinstance(source, Piece) else source)
                for rank, name, source in task.files
            )
            if counted == task.files:
                raise
            return self._read(task._replace(files=counted))

    def _read(self, task: _Task) -> _Read:
        metadata = Metadata(self.label_separator, self.like)
        numberer, texts, ranks = Numberer(self.cutter), list[str](), array("i")
        for rank, name, source in task.files:
            rows = self.rows_of(name, source) if isinstance(source, Path | Member | Piece) else source
            for text in metadata.texts(rows):
                numberer.add(metadata.row, text)
                ranks.append(rank)
                if task.texts and isinstance(text, str):
                    texts.append(text)
        return _Read(numberer.take(), ranks, metadata.found, metadata.labels.cells, texts)


def by_tasks(documents: Documents, executor: Executor, metadata: Metadata, ranks: "array[int]") -> Given:
    """The documents, which are read when they are numbered; ``metadata`` and ``ranks`` are filled then."""
    like = _first(documents)

    def all_numbered(cutter: Cutter, kept: KeptTexts) -> Stream:
        reader = _Reader(documents.rows_of, documents.label_separator, like, cutter)
        least = _BYTES if cutter.by_default and cutter.normalizer is None else _BYTES_OF_OWN
        tasks = _tasks(documents, least, kept)
        first = list(islice(tasks, 2))
        if len(first) < 2:  # nothing need be sent
            return stream_of(_joined((reader(task) for task in first), metadata, ranks, kept))
        return stream_of(_joined(executor.map(reader, chain(first, tasks)), metadata, ranks, kept))

    return Given(like.kind or "texts", iter(()), all_numbered)


def _first(documents: Documents) -> Like:
    """What the first document is."""
    metadata = Metadata(documents.label_separator)
    rows = (row for _, name, source in documents.files for row in documents.rows_of(name, source))
    with closing(rows):
        next(metadata.texts(rows), None)
    return metadata.like


def _joined(
    found: Generator[_Read, None, None], metadata: Metadata, ranks: "array[int]", kept: KeptTexts
) -> Generator[Part, None, None]:
    """Parts in the numbers of one stream."""
    numbers = Numbers()
    with closing(found):
        for read in found:
            own, new = numbers.of(read.part.new)
            metadata.add(read.found, read.cells)
            ranks.extend(read.ranks)
            for text in read.texts:
                kept.note(text)
            yield Part(own[read.part.words], read.part.lengths, new)


# -- tasks -------------------------------------------------------------------------------------------------------------


def _tasks(documents: Documents, least: int, kept: KeptTexts) -> Iterator[_Task]:
    """Tasks of about equal size, in the order in which files are read."""
    some: list[_File] = []
    size = 0
    for rank, name, source in documents.files:
        found = None if isinstance(source, Member) else _pieces(documents, Path(os.path.abspath(str(source))), least)
        for piece, n_bytes in found or ():
            some.append((rank, name, piece))
            size += n_bytes
            if size >= least:
                yield _Task(tuple(some), kept.wanted)
                some, size = [], 0
        if found is None:
            if some:
                yield _Task(tuple(some), kept.wanted)
                some, size = [], 0
            for rows in _together(documents.rows_of(name, source)):
                yield _Task(((rank, name, rows),), kept.wanted)
    if some:
        yield _Task(tuple(some), kept.wanted)


def _pieces(documents: Documents, path: Path, least: int) -> list[tuple[Source, int]] | None:
    """A file, or pieces of a large one, with their bytes; None if it is large and has no pieces."""
    try:
        size = path.stat().st_size
        if size <= _LARGE and not (size > _LARGE_PACKED and is_gzipped(path)):
            return [(path, size)]
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from None
    pieces = documents.pieces(path, least)
    return None if pieces is None else [(piece, max(size // len(pieces), 1)) for piece in pieces]


def _together(rows: Iterator[Row]) -> Iterator[tuple[Row, ...]]:
    """Some rows at a time, in a form that can be sent."""
    some: list[Row] = []
    size = 0
    for row in rows:
        some.append(row._replace(source=Path(str(row.source))))
        size += len(row.cells["text"] or ())
        if len(some) >= _ROWS or size >= _CHARACTERS:
            yield tuple(some)
            some, size = [], 0
    if some:
        yield tuple(some)
