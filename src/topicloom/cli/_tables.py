"""How commands print tables: for a reader, or with ``--csv``, ``--json`` and ``--parquet`` for programs.

A command that prints a table has a parameter ``output: Output``, which gives it the three options, and ends with::

    output.show(
        {"topic": [0, 1], "share": [0.4, 0.6]},  # the table: its columns, with all digits
        lambda: show_table(None, [("topic", True), ("share", True)], [["0", "40.0%"], ["1", "60.0%"]]),
        document={"topics": 2},  # what --json prints; by default the table's rows
    )

``Output`` refuses, before the command starts, options that exclude each other and files that cannot be written.
``show_table`` prints a table that fits the terminal: wide ones in several blocks, each with the first column.
"""

import csv as csv_text
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from topicloom.cli._run import say, show_json
from topicloom.errors import InputError, MissingExtraError

Columns = Mapping[str, Any]
"""Columns of a table by name: lists or arrays, all of one length."""


@dataclass(frozen=True)
class Output:
    """Output"""

    csv: Annotated[bool, typer.Option("--csv", help="Print comma-separated values with all digits.")] = False
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False
    parquet: Annotated[
        Path | None,
        typer.Option("--parquet", help="Write the table to a Parquet file.", metavar="FILE", show_default=False),
    ] = None

    def __post_init__(self) -> None:
        if self.csv and self.json:
            raise InputError("--csv and --json both go to standard output; give one of them.")
        if self.parquet is not None:
            _parquet_module()
            if not self.parquet.parent.is_dir():
                raise InputError(f"--parquet {self.parquet}: there is no folder {self.parquet.parent}. Make it first.")

    @property
    def asked(self) -> bool:
        """Whether the table is wanted for programs, in any form."""
        return self.csv or self.json or self.parquet is not None

    def show(
        self,
        columns: Columns | Callable[[], Columns],
        shown: Callable[[], None],
        document: Any | Callable[[], Any] = None,
    ) -> None:
        """The table in the form that was asked for, or as ``shown`` prints it for a reader.

        Parameters
        ----------
        columns : mapping of str to sequence, or callable that returns one
            The table, for ``--csv`` and ``--parquet``. A callable is only called if one of them is given.
        shown : callable
            Prints the table for a reader.
        document : object or callable that returns one, default=None
            What ``--json`` prints. None: the table's rows as objects.
        """
        if self.parquet is not None:
            write_parquet(self.parquet, _called(columns))
            say(f"the table is in {self.parquet}.")
        if self.csv:
            write_csv(sys.stdout, _called(columns))
        elif self.json:
            show_json(rows_of(_called(columns)) if document is None else _called(document))
        elif self.parquet is None:
            shown()


def _called(value: Any) -> Any:
    return value() if callable(value) else value


# -- tables for programs -------------------------------------------------------------------------------------------


def columns_of(rows: Sequence[Mapping[str, Any]], names: Sequence[str] | None = None) -> dict[str, list[Any]]:
    """Columns of rows that all have the same keys."""
    return {name: [row[name] for row in rows] for name in (names or (rows[0] if rows else ()))}


def rows_of(columns: Columns) -> list[dict[str, Any]]:
    """Rows of a table, with plain values."""
    lists = [_plain_values(values) for values in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


def write_rows(file: IO[str], header: Sequence[str], rows: Iterable[Iterable[Any]]) -> None:
    """A table as values with commas."""
    writer = csv_text.writer(file, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)


def write_csv(file: IO[str], columns: Columns) -> None:
    """The same, from columns."""
    write_rows(file, list(columns), zip(*map(_plain_values, columns.values()), strict=True))


def write_parquet(path: Path, columns: Columns) -> None:
    """A table as a Parquet file. A column of several kinds of values is one of text."""
    from topicloom.corpus._lines import replacing
    from topicloom.corpus.frames import to_frame

    plain = {name: _of_one_kind(_plain_values(values)) for name, values in columns.items()}
    with replacing(path) as file:
        _parquet_module().write_table(to_frame(plain, "pyarrow"), file)


def _plain_values(values: Any) -> list[Any]:
    """Values of Python; dates and whatever else a file does not know as text."""
    listed = values.tolist() if hasattr(values, "tolist") else [v.item() if hasattr(v, "item") else v for v in values]
    return [value if value is None or isinstance(value, bool | int | float | str) else str(value) for value in listed]


def _of_one_kind(values: list[Any]) -> list[Any]:
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) <= 1 or kinds == {int, float}:
        return values
    return [None if value is None else str(value) for value in values]


def _parquet_module() -> Any:
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise MissingExtraError("--parquet needs pyarrow; install it with pip install 'topicloom[parquet]'.") from None
    return parquet


# -- tables for a reader -------------------------------------------------------------------------------------------


def show_table(
    title: str | None, columns: Sequence[tuple[str, bool]], rows: Sequence[Sequence[str]], keys: int = 1
) -> None:
    """A table on standard output, in several blocks if it is wider than the terminal.

    Parameters
    ----------
    title : str, optional
        A line above it.
    columns : sequence of (str, bool)
        Heading, and whether the column holds numbers, which stand on the right and are never broken.
    rows : sequence of sequence of str
    keys : int, default=1
        How many columns begin every block.
    """
    from topicloom._layout import Frame, blocks, width_of

    if title is not None:
        typer.echo(_printable(title))
    cells = [[_printable(cell) for cell in row] for row in rows]
    widths = [width_of(name, [row[i] for row in cells], numeric) for i, (name, numeric) in enumerate(columns)]
    for block in blocks(widths, table_width(), Frame(1, 3), min(keys, len(columns))):
        _print_block([(columns[i], width) for i, width in block], [[row[i] for i, _ in block] for row in cells])


def _print_block(columns: Sequence[tuple[tuple[str, bool], int]], rows: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table

    from topicloom._layout import wrapped

    table = Table(show_header=any(heading for (heading, _), _ in columns))
    for (heading, numeric), width in columns:
        justify: Any = "right" if numeric else "left"
        table.add_column(wrapped(heading, width), justify=justify, overflow="fold", min_width=width, max_width=width)
    for row in rows:
        table.add_row(*(wrapped(cell, width) for cell, (_, width) in zip(row, columns, strict=True)))
    console = Console(file=sys.stdout, markup=False, highlight=False)
    console.print(table, crop=False, no_wrap=False)


def table_width() -> int:
    """Columns of the terminal that a table is shown on."""
    from rich.console import Console

    return Console(file=sys.stdout).width


def _printable(text: str) -> str:
    """The text without characters that control terminals; ends of lines stay."""
    return "".join(" " if unicodedata.category(c) == "Cc" and c != "\n" else c for c in text)


def one_line(text: str) -> str:
    """The text on one line, without characters that control terminals."""
    return _printable(" ".join(text.split()))
