"""Readers of tables as text: CSV and TSV, with a line of names or without."""

import csv
from collections.abc import Iterator, Mapping
from typing import Any

from topicloom.corpus._checks import shown
from topicloom.corpus._columns import MissingColumnError
from topicloom.corpus._csv import Error, csv_reader
from topicloom.corpus._lines import Source, malformed, text_lines
from topicloom.corpus._separators import delimiter_of, name_of
from topicloom.corpus._sources import Files
from topicloom.corpus._table_files import COLUMN_OPTIONS, Documents, Row, check_columns, split_roles
from topicloom.errors import InputError

_DELIMITERS = ("\t", ";", ",", "|")


def read_csv(
    files: Files,
    *,
    delimiter: str = ",",
    quote: str | None = '"',
    header: bool = True,
    label_separator: str | None = None,
    encoding: str = "utf-8",
    **options: Any,
) -> Documents:
    """Tables with a line of names, unless ``header=False``; ``quote=None`` takes quotation marks for any character."""
    if not isinstance(header, bool):
        raise InputError(f"header={shown(header)} must be True or False.")
    given = options if header else {name: _number(name, options[name]) for name in COLUMN_OPTIONS if name in options}
    roles, _ = split_roles(given)
    if not header and "text_column" not in options:
        del roles["text"]
    _, text_options = split_roles(options)
    mark = delimiter_of(delimiter)

    def rows(_: str, source: Source) -> Iterator[Row]:
        reader = _reader(text_lines(source, encoding, newline=""), mark, quote)
        records = _records(source, reader)
        return _named(source, records, roles, mark) if header else _numbered(source, records, roles, mark)

    _reader(iter(()), mark, quote)
    return Documents(files, rows, text_options, label_separator)


def read_tsv(files: Files, *, delimiter: str = "\t", **options: Any) -> Documents:
    """As CSV, with tabs."""
    return read_csv(files, delimiter=delimiter, **options)


def _reader(lines: Iterator[str], delimiter: str, quote: str | None) -> Any:
    try:
        if quote is None:
            return csv_reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE)
        return csv_reader(lines, delimiter=delimiter, quotechar=quote, strict=True)
    except (TypeError, ValueError, Error):
        raise InputError(
            f"delimiter={delimiter!r} and quote={quote!r} cannot be used: each must be one character, the two must "
            "differ, and quote may be None."
        ) from None


def _named(
    source: Source, records: Iterator[tuple[int, list[str]]], roles: Mapping[str, str], delimiter: str
) -> Iterator[Row]:
    """Rows of a table whose first line names the columns."""
    header = next(records, (1, []))[1]
    if len(header) == 1 and (other := _other_delimiter(header[0], delimiter)):
        columns = [column.strip().strip("\"'") for column in header[0].split(other)]
        if roles["text"] in columns or header[0] not in roles.values():
            raise _wrong_delimiter(source, "the header", header[0], delimiter, other)
    check_columns(source, roles, header, "line 1")
    where = {role: header.index(column) for role, column in roles.items()}
    return _rows(source, records, where, len(header), "the header")


def _numbered(
    source: Source, records: Iterator[tuple[int, list[str]]], roles: Mapping[str, str], delimiter: str
) -> Iterator[Row]:
    """Rows of a table whose columns have numbers alone."""
    line, first = next(((line, record) for line, record in records if record), (1, []))
    if not first:
        return
    unclear = "text" not in roles or max(map(int, roles.values())) > 0
    if len(first) == 1 and unclear and (other := _other_delimiter(first[0], delimiter)):
        raise _wrong_delimiter(source, "the first record", first[0], delimiter, other)
    if "text" not in roles and len(first) > 1:
        raise MissingColumnError(f"{source}, line {line}", "text", None, _numbered_cells(first), header=False)
    where = {role: int(column) for role, column in {"text": "0", **roles}.items()}
    for role, column in where.items():
        if column >= len(first):
            raise MissingColumnError(f"{source}, line {line}", role, str(column), _numbered_cells(first), header=False)
    yield Row(source, f"line {line}", {role: first[i] for role, i in where.items()})
    yield from _rows(source, records, where, len(first), "the first record")


def _rows(
    source: Source, records: Iterator[tuple[int, list[str]]], where: Mapping[str, int], width: int, first: str
) -> Iterator[Row]:
    for line, record in records:
        if not record:
            continue  # a blank line
        if len(record) != width:
            raise malformed(source, line, record, f"{width} fields, as many as {first} has")
        yield Row(source, f"line {line}", {role: record[i] for role, i in where.items()})


def _number(option: str, column: Any) -> str | None:
    """The number of a column, of a table without names."""
    if column is None:
        return None
    text = str(column)
    if isinstance(column, bool) or not (text.isascii() and text.isdecimal()):
        raise InputError(f"{option}={shown(column)} must be a number: without a header line, columns count from 0.")
    return str(int(text[:10]))


def _numbered_cells(record: list[str]) -> list[str]:
    return [f"{i} ({cell if len(cell) <= 20 else cell[:20] + '…'})" for i, cell in enumerate(record)]


def _other_delimiter(line: str, delimiter: str) -> str | None:
    """The character that cuts a line of one field into the most columns."""
    counts = {other: line.count(other) for other in _DELIMITERS if other != delimiter}
    best = max(counts, key=lambda other: counts[other])
    return best if counts[best] else None


def _wrong_delimiter(source: Source, what: str, line: str, delimiter: str, other: str) -> InputError:
    return InputError(
        f"{source}, line 1: {what} is one field, {line[:60]!r}. Its columns look separated by "
        f"{name_of(other)!r}, not {name_of(delimiter)!r}; give delimiter={name_of(other)!r}."
    )


def _records(source: Source, reader: Any) -> Iterator[tuple[int, list[str]]]:
    """Records with the line on which each begins."""
    while True:
        line = reader.line_num + 1
        try:
            record = next(reader)
        except StopIteration:
            return
        except Error as error:
            raise InputError(
                f"{source}, line {line}: the record that begins here has broken quotation marks ({error}). "
                "Double a quotation mark inside a quoted field, or give quote=None if there is no quoting."
            ) from None
        yield line, record
