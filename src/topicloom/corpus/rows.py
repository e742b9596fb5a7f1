"""A table without a data-frame library: what results are where neither pandas nor polars is installed."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

from topicloom import _html, _layout
from topicloom.errors import InputError

_SHOWN = 60  # rows of a longer table that are printed
_DIGITS = 4


class Rows(Sequence[dict[str, Any]]):
    """A table as a sequence of rows, each a dict; columns are found by their names.

    Methods that return data frames return this if neither pandas nor polars is installed, or with ``frame="rows"``.
    It prints as a table, in notebooks too. ``pandas.DataFrame(list(rows))`` and ``polars.DataFrame(list(rows))`` make
    data frames of it.

    Parameters
    ----------
    columns : mapping of str to sequence
        Values of each column, all equally many. Arrays become lists.

    Attributes
    ----------
    columns : tuple of str
        Names of the columns.

    Examples
    --------
    >>> rows = Rows({"topic": [0, 1], "word": ["river", "money"], "probability": [0.25, 0.5]})
    >>> rows
    topic  word   probability
        0  river       0.2500
        1  money       0.5000
    >>> rows[1]
    {'topic': 1, 'word': 'money', 'probability': 0.5}
    >>> rows["word"]
    ['river', 'money']
    >>> [row["topic"] for row in rows if row["probability"] > 0.3]
    [1]
    """

    __slots__ = ("_columns", "_n")

    def __init__(self, columns: Mapping[str, Any]) -> None:
        self._columns = {name: _values(own) for name, own in columns.items()}
        lengths = {name: len(own) for name, own in self._columns.items()}
        if len(set(lengths.values())) > 1:
            raise InputError(f"columns of one table must be equally long; these have {lengths}.")
        self._n = next(iter(lengths.values()), 0)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self._columns)

    def __len__(self) -> int:
        return self._n

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for row in zip(*self._columns.values(), strict=True):
            yield dict(zip(self._columns, row, strict=True))

    @overload
    def __getitem__(self, key: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, key: slice) -> "Rows": ...
    @overload
    def __getitem__(self, key: str) -> list[Any]: ...
    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            if key not in self._columns:
                raise KeyError(f"there is no column {key!r}; there are {', '.join(map(repr, self._columns))}.")
            return list(self._columns[key])
        if isinstance(key, slice):
            return Rows({name: own[key] for name, own in self._columns.items()})
        return {name: own[key] for name, own in self._columns.items()}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rows) and self._columns == other._columns and self.columns == other.columns

    __hash__ = None  # type: ignore[assignment]  # a table can be changed no more than a list can

    # -- shown ---------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        if not self._n:
            return f"no rows; columns {', '.join(self._columns)}" if self._columns else "no rows"
        shown = self[:_SHOWN]
        numeric = [_are_numbers(own) for own in self._columns.values()]
        cells = [_cells(own) for own in shown._columns.values()]
        widths = [_layout.width_of(*one) for one in zip(self.columns, cells, numeric, strict=True)]
        room = max(shutil.get_terminal_size().columns, 20)
        parts = []
        for block in _layout.blocks(widths, room, _layout.Frame(-2, 2)):
            lines = list(_lines(block, [self.columns, *zip(*cells, strict=True)], numeric))
            parts.append("\n".join(lines))
        more = self._n - len(shown)
        return "\n\n".join(parts) + (f"\n… {more:,} more rows" if more else "")

    def _repr_html_(self) -> str:
        numeric = [_are_numbers(own) for own in self._columns.values()]
        shown = self[:_SHOWN]
        cells = [_cells(own) for own in shown._columns.values()]
        table = _html.table(list(zip(self.columns, numeric, strict=True)), zip(*cells, strict=True))
        more = self._n - len(shown)
        return table + (_html.escape(f"… {more:,} more rows") if more else "")


def _values(own: Any) -> list[Any]:
    return list(own.tolist()) if hasattr(own, "tolist") else [v.item() if hasattr(v, "item") else v for v in own]


def _are_numbers(own: list[Any]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in own if value is not None)


def _cells(own: list[Any]) -> list[str]:
    return [_cell(value) for value in own]


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        small = value != 0 and abs(value) < 10**-_DIGITS
        return f"{value:.{_DIGITS}g}" if small or abs(value) >= 1e6 else f"{value:.{_DIGITS}f}"
    return " ".join(str(value).split())


def _lines(block: Sequence[tuple[int, int]], rows: Sequence[Sequence[str]], numeric: Sequence[bool]) -> Iterator[str]:
    """Rows of a block, each of as many lines as its longest cell."""
    for row in rows:
        folded = [_layout.wrapped(row[i], width).split("\n") for i, width in block]
        for n in range(max(map(len, folded))):
            cells = []
            for (i, width), own in zip(block, folded, strict=True):
                text = own[n] if n < len(own) else ""
                blanks = " " * (width - _layout.cell_width(text))
                cells.append(blanks + text if numeric[i] else text + blanks)
            yield "  ".join(cells).rstrip()
