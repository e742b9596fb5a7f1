"""Readers of files that hold texts: lines, files, MALLET lines, JSON lines, Parquet. Of tables: `_csv_files`."""

import json
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from topicloom.corpus._archives import is_archive
from topicloom.corpus._checks import is_encodable, resolve_jobs
from topicloom.corpus._columns import (
    NO_SURROGATE,
    MissingColumnError,
    joined_groups,
    joined_times,
    time_kind,
    to_group,
    to_id,
    to_response,
    to_time,
)
from topicloom.corpus._cutting import DEFAULT_PATTERN
from topicloom.corpus._executors import Executor, current_executor
from topicloom.corpus._given import Documents as Given
from topicloom.corpus._labels import LabelCells
from topicloom.corpus._limits import check_unpacked
from topicloom.corpus._lines import (
    BLOCK_BYTES,
    Piece,
    Source,
    first_line,
    is_gzipped,
    line_pieces,
    malformed,
    open_bytes,
    text_lines,
)
from topicloom.corpus._sources import Files
from topicloom.corpus._streams import reordered
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.text import from_texts
from topicloom.errors import InputError, MissingExtraError

Vocabulary = tuple[str, ...] | None
ROLES = ("id", "label", "group", "response", "time")
_WORTH = 1 << 27  # bytes of lines below which starting processes takes longer than cutting
COLUMN_OPTIONS = ("text_column", *(f"{role}_column" for role in ROLES))


class Row(NamedTuple):
    """A document: where it is, and the value of each role."""

    source: Source
    place: str
    cells: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.source}, {self.place}"


@dataclass
class Like:
    """What the first document is, which all others must be, too."""

    kind: Literal["texts", "words"] | None = None
    time: str | None = None


class Metadata:
    """Collects what files say about each document while its texts, or lists of words, flow past."""

    def __init__(self, separator: object, like: "Like | None" = None) -> None:
        self.labels = LabelCells(separator) if like is None else LabelCells(separator, np.inf)
        self.like = like or Like()
        self.row: Row | None = None  # whose text was last given
        self._converters: dict[str, Callable[[Any], Any]] = {
            "id": to_id,
            "label": self.labels,
            "group": to_group,
            "response": to_response,
            "time": to_time,
        }
        self.found: dict[str, list[Any]] = {}

    def texts(self, rows: Iterable[Row]) -> Iterator[str | list[str]]:
        for row in rows:
            for role, value in row.cells.items():
                if role != "text":
                    self.found.setdefault(role, []).append(self._convert(row, role, value))
            text = row.cells["text"]
            if self.like.kind is None:
                self.like.kind = "words" if isinstance(text, list) else "texts"
            if self.like.kind == "words":
                self._check_words(row, text)
            elif not isinstance(text, str):
                raise malformed(row.source, row.place, text, "a text (write '' for a document without text)")
            if not is_encodable(text if isinstance(text, str) else "".join(text)):
                raise malformed(row.source, row.place, text, NO_SURROGATE)
            self.row = row
            yield text

    def _check_words(self, row: Row, words: object) -> None:
        if not isinstance(words, list):
            raise malformed(row.source, row.place, words, "a list of words, as the first document is")
        if not all(type(word) is str for word in words):
            raise malformed(row.source, row.place, words, "a list of words, each of them a text")

    def _convert(self, row: Row, role: str, value: object) -> Any:
        try:
            converted = self._converters[role](value)
        except ValueError as error:
            raise malformed(row.source, row.place, value, str(error)) from None
        if role == "time":
            kind = self.like.time = self.like.time or time_kind(converted)
            if time_kind(converted) != kind:
                raise malformed(row.source, row.place, value, f"a {kind}, as the times before it")
        return converted

    def add(self, found: Mapping[str, list[Any]], cells: Mapping[str, int]) -> None:
        """What was collected elsewhere of the documents that follow."""
        for role, values in found.items():
            self.found.setdefault(role, []).extend(values)
        self.labels.add(cells)

    def fields(self) -> dict[str, Any]:
        names = {"id": "ids", "label": "labels", "group": "groups", "response": "responses"}
        given = {names[role]: values for role, values in self.found.items() if role != "time"}
        if "groups" in given:
            given["groups"] = joined_groups(given["groups"])
        times: list[int | float | datetime] = self.found.get("time", [])
        return {**given, "times": joined_times(times)} if times else given


@dataclass(frozen=True)
class Documents:
    """The documents of some files, which are read when a corpus of them is made."""

    files: Files
    rows_of: Callable[[str, Source], Iterator[Row]]  # the documents of one file, of which the name is known
    text_options: Mapping[str, Any]  # of ``from_texts``
    label_separator: object = None
    lines: bool = False  # texts come with what ends their lines
    pieces: Callable[[Path, int], Sequence[Source] | None] = lambda path, size: None  # of a large file, if it has some

    def corpus(self, vocabulary: Vocabulary) -> Corpus:
        """All of them, in the order of the files' names."""
        metadata, ranks = Metadata(self.label_separator), array("i")

        def rows() -> Iterator[Row]:
            for rank, name, source in self.files:
                for row in self.rows_of(name, source):
                    ranks.append(rank)
                    yield row

        executor = current_executor() or self._processes()
        if executor is None:
            given = self._given(rows(), metadata)
        else:
            from topicloom.corpus._file_tasks import by_tasks

            given = by_tasks(self, executor, metadata, ranks)
        corpus = self._corpus(given, metadata, vocabulary)
        metadata.labels.warn(self.files.described)
        order = np.frombuffer(ranks, np.int32)
        return corpus if np.all(order[1:] >= order[:-1]) else _reordered(corpus, np.argsort(order, kind="stable"))

    def _processes(self) -> Executor | None:
        """Processes of this machine, if several are asked for and pay; reading lines takes less than starting them."""
        jobs = resolve_jobs(self.text_options.get("n_jobs", 1))
        if jobs == 1 or (self.lines and self._compiled and (jobs == 2 or self._bytes() < _WORTH)):
            return None
        from topicloom.corpus._processes import Processes

        return Processes(jobs)

    @property
    def _compiled(self) -> bool:
        """Whether compiled code cuts the texts, and nothing else is done to each of them."""
        given = {name: value for name, value in self.text_options.items() if value is not None}
        plain = given.get("token_pattern", DEFAULT_PATTERN) == DEFAULT_PATTERN
        return plain and "tokenizer" not in given and "normalizer" not in given and not given.get("strip")

    def _bytes(self) -> float:
        """Of all files; endless if they are in archives."""
        if any(is_archive(path) for path in self.files.paths):
            return float("inf")
        return sum(source.stat().st_size for _, _, source in self.files if isinstance(source, Path))

    def chunks(self, vocabulary: Vocabulary, size: int) -> Iterator[Corpus]:
        """At most ``size`` documents at a time, in the order in which they are read."""
        rows = (row for _, name, source in self.files for row in self.rows_of(name, source))
        while some := list(islice(rows, size)):
            metadata = Metadata(self.label_separator)
            yield self._corpus(self._given(some, metadata), metadata, vocabulary)

    def _given(self, rows: Iterable[Row], metadata: Metadata) -> Given:
        texts = metadata.texts(rows)
        first = list(islice(texts, 1))
        return Given(metadata.like.kind or "texts", chain(first, texts))

    def _corpus(self, given: Given, metadata: Metadata, vocabulary: Vocabulary) -> Corpus:
        corpus = from_texts(given, vocabulary=vocabulary, **self.text_options)
        corpus = corpus.with_metadata(**metadata.fields())
        return _without_breaks(corpus) if self.lines else corpus


def _reordered(corpus: Corpus, order: Any) -> Corpus:
    """The documents in another order; the stream may stay in its file."""
    words, ptr = reordered(corpus.words, corpus.doc_ptr, order)
    return replace(corpus, words=words, doc_ptr=ptr, **corpus.metadata_of(order))


# -- lines and files -----------------------------------------------------------------------------------------


def read_txt(files: Files, *, encoding: str = "utf-8", **options: Any) -> Documents:
    """One document per line; a blank line is a document without words."""

    def rows(_: str, source: Source) -> Iterator[Row]:
        for number, line in enumerate(text_lines(source, encoding), first_line(source)):
            yield Row(source, f"line {number}", {"text": line})

    return Documents(files, rows, options, lines=True, pieces=partial(line_pieces, encoding=encoding))


def _without_breaks(corpus: Corpus) -> Corpus:
    """Kept texts without what ended their lines, which a tokenizer has seen."""
    return (
        corpus if corpus.texts is None else corpus.with_metadata(texts=[text.rstrip("\r\n") for text in corpus.texts])
    )


FOLDER_LABELS = ("first", "path", "none")


def read_files(
    files: Files,
    *,
    folder_labels: str = "first",
    encoding: str = "utf-8",
    max_size: int | None = None,
    **options: Any,
) -> Documents:
    """One document a file; its id is its path, and its label the sub-folder that it is in."""
    if folder_labels not in FOLDER_LABELS:
        raise InputError(f"folder_labels={folder_labels!r} is not known; choose one of {', '.join(FOLDER_LABELS)}.")
    labelled = folder_labels != "none" and any("/" in name for name in files.names)

    def rows(name: str, source: Source) -> Iterator[Row]:
        cells: dict[str, Any] = {"id": name, "text": _whole(source, encoding, max_size)}
        if labelled:
            folders = name.rpartition("/")[0]
            cells["label"] = [folders.partition("/")[0] if folder_labels == "first" else folders] if folders else []
        yield Row(source, "its text", cells)

    return Documents(files, rows, options)


def _whole(source: Source, encoding: str, max_size: int | None) -> str:
    """The text of a file. Of one that is gzipped, the size is looked at first; that of archives was."""
    if isinstance(source, Path) and is_gzipped(source):
        size, packed = 0, source.stat().st_size
        with open_bytes(source) as file:
            while block := file.read(BLOCK_BYTES):
                size += len(block)
                check_unpacked(source, packed, size, max_size=max_size)
    return "".join(text_lines(source, encoding))


def read_mallet(files: Files, *, encoding: str = "utf-8", **options: Any) -> Documents:
    """One document per line: name, label, text. Between tabs there may be several labels, or none; ``-`` is none."""

    def rows(_: str, source: Source) -> Iterator[Row]:
        return _mallet_rows(source, encoding)

    return Documents(files, rows, options, lines=True, pieces=partial(line_pieces, encoding=encoding))


_MALLET_TABS = re.compile(r"(\S+)\t([^\t]*)\t(.*)", re.DOTALL)


def _mallet_rows(source: Source, encoding: str) -> Iterator[Row]:
    for number, line in enumerate(text_lines(source, encoding), first_line(source)):
        tabbed = _MALLET_TABS.fullmatch(line)
        fields = list(tabbed.groups()) if tabbed else line.split(None, 2)
        if not fields:
            continue
        if len(fields) < 2:
            raise malformed(source, number, line, "'name label text'")
        name, label, text = [*fields, ""][:3]
        yield Row(source, f"line {number}", {"id": name, "label": [] if label == "-" else label.split(), "text": text})


# -- records with named fields -------------------------------------------------------------------------------


def split_roles(options: dict[str, Any]) -> tuple[dict[str, str], dict[str, Any]]:
    """Which column plays which role, and the options that are left for the texts."""
    columns = {"text_column": "text", **options}
    named = {name.removesuffix("_column"): columns.pop(name, None) for name in COLUMN_OPTIONS}
    return {role: column for role, column in named.items() if column is not None}, columns


def check_columns(source: Source, roles: Mapping[str, str], columns: Iterable[str], place: str) -> None:
    columns = list(columns)
    for role, column in roles.items():
        if column not in columns:
            raise MissingColumnError(f"{source}, {place}", role, column, columns)


def read_jsonl(
    files: Files, *, label_separator: str | None = None, encoding: str = "utf-8", **options: Any
) -> Documents:
    """One JSON object per line."""
    roles, text_options = split_roles(options)

    def rows(_: str, source: Source) -> Iterator[Row]:
        return _jsonl_rows(source, roles, encoding)

    return Documents(files, rows, text_options, label_separator, pieces=partial(line_pieces, encoding=encoding))


def _jsonl_rows(source: Source, roles: Mapping[str, str], encoding: str) -> Iterator[Row]:
    for number, line in enumerate(text_lines(source, encoding), first_line(source)):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise malformed(source, number, line, f"one JSON object ({error})") from None
        if not isinstance(record, dict):
            raise malformed(source, number, line, "one JSON object")
        check_columns(source, roles, record, f"line {number}")
        yield Row(source, f"line {number}", {role: record[column] for role, column in roles.items()})


def read_parquet(files: Files, *, label_separator: str | None = None, **options: Any) -> Documents:
    """Parquet files, some thousand rows at a time; only the named columns are read."""
    roles, text_options = split_roles(options)

    def rows(_: str, source: Source) -> Iterator[Row]:
        return _parquet_rows(source, roles)

    return Documents(files, rows, text_options, label_separator, pieces=_row_groups)


def _row_groups(path: Path, size: int) -> list[Piece] | None:
    """A file in pieces of whole row groups and of at least so many bytes; None if it cannot be read."""
    pieces, start, row, packed = list[Piece](), 0, 1, 0
    try:
        with _parquet().ParquetFile(path) as file:
            for i in range(file.metadata.num_row_groups):
                packed += file.metadata.row_group(i).total_byte_size
                if packed >= size or i + 1 == file.metadata.num_row_groups:
                    pieces.append(Piece(path, start, i + 1, row))
                    row += sum(file.metadata.row_group(j).num_rows for j in range(start, i + 1))
                    start, packed = i + 1, 0
    except (MissingExtraError, MemoryError):
        raise
    except Exception:  # it is said where the file is read
        return None
    return pieces


def _parquet() -> Any:
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise MissingExtraError(
            "reading Parquet needs pyarrow; install it with pip install 'topicloom[parquet]'."
        ) from None
    return parquet


def _parquet_rows(source: Source, roles: Mapping[str, str]) -> Iterator[Row]:
    piece = source if isinstance(source, Piece) else None
    path = source if piece is None else piece.path
    if not isinstance(path, Path):
        raise InputError(f"{path} cannot be read within an archive, since Parquet is packed by itself; unpack it.")
    parquet, row = _parquet(), 0 if piece is None else piece.first - 1
    groups = None if piece is None else list(range(piece.start, piece.stop))
    try:
        with parquet.ParquetFile(path, pre_buffer=False) as file:  # or all that was read stays in memory
            check_columns(path, roles, file.schema_arrow.names, "its schema")
            for batch in file.iter_batches(4096, groups, sorted(set(roles.values()))):
                columns = {role: batch.column(column).to_pylist() for role, column in roles.items()}
                for values in zip(*columns.values(), strict=True):
                    row += 1
                    yield Row(path, f"row {row}", dict(zip(columns, values, strict=True)))
    except (InputError, MemoryError):
        raise
    except Exception as error:  # pyarrow has a dozen ways to say that a file is damaged
        after = f", after row {row}" if row else ""
        raise InputError(f"{path}{after}: not a readable Parquet file: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0][:200]
