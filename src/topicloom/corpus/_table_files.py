"""Readers of files that hold texts: lines, MALLET lines, CSV and TSV, JSON lines, Parquet."""

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from topicloom.corpus._checks import is_encodable
from topicloom.corpus._columns import (
    NO_SURROGATE,
    MissingColumnError,
    joined_groups,
    joined_times,
    time_kind,
    to_group,
    to_id,
    to_labels,
    to_response,
    to_time,
)
from topicloom.corpus._csv import Error, csv_reader
from topicloom.corpus._lines import malformed, text_lines
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.text import from_texts
from topicloom.errors import InputError, MissingExtraError

Vocabulary = tuple[str, ...] | None
Row = tuple[str, Mapping[str, Any]]  # the place in the file, and the value of each role

_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    "id": to_id,
    "label": to_labels,
    "group": to_group,
    "response": to_response,
    "time": to_time,
}


class _Metadata:
    """Collects what a table says about each document while its texts flow past."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._found: dict[str, list[Any]] = {}

    def texts(self, rows: Iterable[Row]) -> Iterator[str]:
        for place, row in rows:
            for role, value in row.items():
                if role != "text":
                    self._found.setdefault(role, []).append(self._convert(place, role, value))
            if not isinstance(row["text"], str):
                raise malformed(self._path, place, row["text"], "a text (write '' for a document without text)")
            if not is_encodable(row["text"]):
                raise malformed(self._path, place, row["text"], NO_SURROGATE)
            yield row["text"]

    def _convert(self, place: str, role: str, value: object) -> Any:
        try:
            converted = _CONVERTERS[role](value)
        except ValueError as error:
            raise malformed(self._path, place, value, str(error)) from None
        if role == "time" and self._found.get(role):
            kind = time_kind(self._found[role][0])
            if time_kind(converted) != kind:
                raise malformed(self._path, place, value, f"a {kind}, as the times before it")
        return converted

    def fields(self) -> dict[str, Any]:
        names = {"id": "ids", "label": "labels", "group": "groups", "response": "responses"}
        given = {names[role]: values for role, values in self._found.items() if role != "time"}
        if "groups" in given:
            given["groups"] = joined_groups(given["groups"])
        times: list[int | float | datetime] = self._found.get("time", [])
        return {**given, "times": joined_times(times)} if times else given


def corpus_of_rows(path: Path, rows: Iterable[Row], vocabulary: Vocabulary, options: dict[str, Any]) -> Corpus:
    """Texts and what the rows say about them."""
    metadata = _Metadata(path)
    corpus = from_texts(metadata.texts(rows), vocabulary=vocabulary, **options)
    return corpus.with_metadata(**metadata.fields())


# -- lines -------------------------------------------------------------------------------------------------


def read_txt(path: Path, vocabulary: Vocabulary, *, encoding: str = "utf-8", **options: Any) -> Corpus:
    """One document a line; a blank line is a document without words."""
    return _without_breaks(corpus_of_rows(path, txt_rows(path, encoding), vocabulary, options))


def txt_rows(path: Path, encoding: str) -> Iterator[Row]:
    return ((f"line {n}", {"text": line}) for n, line in enumerate(text_lines(path, encoding), 1))


def _without_breaks(corpus: Corpus) -> Corpus:
    """Kept texts without what ended their lines, which a tokenizer has seen."""
    return (
        corpus if corpus.texts is None else corpus.with_metadata(texts=[text.rstrip("\r\n") for text in corpus.texts])
    )


def read_mallet(path: Path, vocabulary: Vocabulary, *, encoding: str = "utf-8", **options: Any) -> Corpus:
    """One document a line: name, label, text. Between tabs there may be several labels, or none; ``-`` is none."""
    return _without_breaks(corpus_of_rows(path, mallet_rows(path, encoding), vocabulary, options))


_MALLET_TABS = re.compile(r"(\S+)\t([^\t]*)\t(.*)", re.DOTALL)


def mallet_rows(path: Path, encoding: str) -> Iterator[Row]:
    for number, line in enumerate(text_lines(path, encoding), 1):
        tabbed = _MALLET_TABS.fullmatch(line)
        fields = list(tabbed.groups()) if tabbed else line.split(None, 2)
        if not fields:
            continue
        if len(fields) < 2:
            raise malformed(path, number, line, "'name label text'")
        name, label, text = [*fields, ""][:3]
        yield f"line {number}", {"id": name, "label": [] if label == "-" else label.split(), "text": text}


# -- tables -------------------------------------------------------------------------------------------------

COLUMN_OPTIONS = ("text_column", *(f"{role}_column" for role in _CONVERTERS))


def split_roles(options: dict[str, Any]) -> tuple[dict[str, str], dict[str, Any]]:
    """Which column plays which role, and the options that are left for the texts."""
    columns = {"text_column": "text", **options}
    named = {name.removesuffix("_column"): columns.pop(name, None) for name in COLUMN_OPTIONS}
    return {role: column for role, column in named.items() if column is not None}, columns


def _check_columns(path: Path, roles: Mapping[str, str], columns: Iterable[str], place: str) -> None:
    columns = list(columns)
    for role, column in roles.items():
        if column not in columns:
            raise MissingColumnError(f"{path}, {place}", role, column, columns)


def read_csv(
    path: Path,
    vocabulary: Vocabulary,
    *,
    delimiter: str = ",",
    quote: str | None = '"',
    encoding: str = "utf-8",
    **options: Any,
) -> Corpus:
    """A table with a header line. ``quote=None`` reads quotation marks as any other character."""
    roles, text_options = split_roles(options)
    return corpus_of_rows(path, csv_rows(path, roles, encoding, delimiter, quote), vocabulary, text_options)


def csv_rows(path: Path, roles: Mapping[str, str], encoding: str, delimiter: str, quote: str | None) -> Iterator[Row]:
    lines = text_lines(path, encoding, newline="")
    try:
        if quote is None:
            reader = csv_reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE)
        else:
            reader = csv_reader(lines, delimiter=delimiter, quotechar=quote, strict=True)
    except (TypeError, ValueError, Error):
        raise InputError(
            f"delimiter={delimiter!r} and quote={quote!r} cannot be used: each must be one character, the two must "
            "differ, and quote may be None."
        ) from None
    return _csv_rows(path, reader, roles, delimiter)


def read_tsv(path: Path, vocabulary: Vocabulary, *, delimiter: str = "\t", **options: Any) -> Corpus:
    """As CSV, with tabs."""
    return read_csv(path, vocabulary, delimiter=delimiter, **options)


def _csv_rows(path: Path, reader: Any, roles: Mapping[str, str], delimiter: str) -> Iterator[Row]:
    records = _csv_records(path, reader)
    header = next(records, (1, []))[1]
    if len(header) == 1:
        _check_delimiter(path, header[0], roles, delimiter)
    _check_columns(path, roles, header, "line 1")
    where = {role: header.index(column) for role, column in roles.items()}
    for line, record in records:
        if not record:
            continue  # a blank line
        if len(record) != len(header):
            expected = f"{len(header)} fields, as many as the header has"
            raise malformed(path, line, record, expected)
        yield f"line {line}", {role: record[i] for role, i in where.items()}


def _check_delimiter(path: Path, header: str, roles: Mapping[str, str], delimiter: str) -> None:
    """A header of one field that holds the wanted columns between other characters: say which."""
    for other in (";", "\t", ",", "|"):
        columns = [column.strip().strip("\"'") for column in header.split(other)]
        if other != delimiter and len(columns) > 1 and (roles["text"] in columns or header not in roles.values()):
            raise InputError(
                f"{path}, line 1: the header is one field, {header[:60]!r}. Its columns look separated by {other!r}, "
                f"not {delimiter!r}; give delimiter={other!r}."
            )


def _csv_records(path: Path, reader: Any) -> Iterator[tuple[int, list[str]]]:
    """Records with the line on which each begins."""
    while True:
        line = reader.line_num + 1
        try:
            record = next(reader)
        except StopIteration:
            return
        except Error as error:
            raise InputError(
                f"{path}, line {line}: the record that begins here has broken quotation marks ({error}). "
                "Double a quotation mark inside a quoted field, or give quote=None if there is no quoting."
            ) from None
        yield line, record


def read_jsonl(path: Path, vocabulary: Vocabulary, *, encoding: str = "utf-8", **options: Any) -> Corpus:
    """One JSON object a line."""
    roles, text_options = split_roles(options)
    return corpus_of_rows(path, jsonl_rows(path, roles, encoding), vocabulary, text_options)


def jsonl_rows(path: Path, roles: Mapping[str, str], encoding: str) -> Iterator[Row]:
    for number, line in enumerate(text_lines(path, encoding), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise malformed(path, number, line, f"one JSON object ({error})") from None
        if not isinstance(record, dict):
            raise malformed(path, number, line, "one JSON object")
        _check_columns(path, roles, record, f"line {number}")
        yield f"line {number}", {role: record[column] for role, column in roles.items()}


def read_parquet(path: Path, vocabulary: Vocabulary, **options: Any) -> Corpus:
    """A Parquet file, some thousand rows at a time; only the named columns are read."""
    roles, text_options = split_roles(options)
    return corpus_of_rows(path, parquet_rows(path, roles), vocabulary, text_options)


def parquet_rows(path: Path, roles: Mapping[str, str]) -> Iterator[Row]:
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise MissingExtraError(
            "reading Parquet needs pyarrow; install it with pip install 'topicloom[parquet]'."
        ) from None
    row = 0
    try:
        with parquet.ParquetFile(path, pre_buffer=False) as file:  # or all that was read stays in memory
            _check_columns(path, roles, file.schema_arrow.names, "its schema")
            for batch in file.iter_batches(batch_size=4096, columns=sorted(set(roles.values()))):
                columns = {role: batch.column(column).to_pylist() for role, column in roles.items()}
                for values in zip(*columns.values(), strict=True):
                    row += 1
                    yield f"row {row}", dict(zip(columns, values, strict=True))
    except (InputError, MemoryError):
        raise
    except Exception as error:  # pyarrow has a dozen ways to say that a file is damaged
        after = f", after row {row}" if row else ""
        raise InputError(f"{path}{after}: not a readable Parquet file: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0][:200]
