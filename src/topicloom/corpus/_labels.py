"""Cells of a table to labels, and a look at whether they were read as they were meant."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from topicloom.corpus._columns import to_labels
from topicloom.corpus._separators import label_separator_of, name_of
from topicloom.errors import LabelsWarning, counted, warn

_MOST_CELLS = 20_000  # different cells that are looked at
_CANDIDATES = (";", "|", "\t", ",", " ")
_THOUSANDS = re.compile(r"\d,\d{3}\b")


class LabelCells:
    """Converts the cells of one column, and at the end warns if they look as if they were meant otherwise."""

    def __init__(self, separator: object = None, most: float = _MOST_CELLS) -> None:
        self._separator, self._most = label_separator_of(separator), most
        self._cells: Counter[str] = Counter()

    def __call__(self, value: object) -> tuple[str, ...]:
        labels = to_labels(value, self._separator)
        if isinstance(value, str) and self._separator != "" and not value.lstrip().startswith("["):
            cell = value.strip()
            if cell and (cell in self._cells or len(self._cells) < self._most):
                self._cells[cell] += 1
        return labels

    @property
    def cells(self) -> Mapping[str, int]:
        """How often each was seen, in order of first sight."""
        return self._cells

    def add(self, cells: Mapping[str, int]) -> None:
        """What was seen elsewhere, after what was seen here."""
        for cell, n in cells.items():
            if cell in self._cells or len(self._cells) < self._most:
                self._cells[cell] += n

    def warn(self, where: str) -> None:
        """Warn once if cells hold a character that looks like a separator, or if blanks split names."""
        if self._separator == "":
            return
        found = _looks_separated(self._cells, self._separator)
        one = "label_separator='none' if each cell is one label."
        if found is not None:
            other, cells = name_of(found[0]), found[1]
            between = "" if self._separator is None else f" separated by {name_of(self._separator)!r}"
            warn(
                f"{where}: {self._count(cells)} look like several labels separated by {other!r}, such as "
                f"{_examples(cells)}, and are read as {'labels' if between else 'one label'}{between}. Give "
                f"label_separator={other!r} to split them, or {one}",
                LabelsWarning,
            )
        elif self._separator == " " and (cells := _split_names(self._cells)):
            warn(
                f"{where}: {self._count(cells)} look like names that blanks split, such as {_examples(cells)}: their "
                f"words are in no other label. Give {one}",
                LabelsWarning,
            )

    def _count(self, cells: Iterable[str]) -> str:
        return f"{sum(self._cells[cell] for cell in cells):,} of {counted(self._cells.total(), 'cells')}"


def _looks_separated(cells: Mapping[str, int], separator: str | None) -> tuple[str, list[str]] | None:
    """The character that seems to separate labels, and the cells that hold it."""
    for other in _CANDIDATES:
        if other == separator or (other == " " and separator is not None):
            continue
        holding = [cell for cell in cells if other in cell]
        if holding and _are_lists(cells, holding, other):
            return other, holding
    return None


def _are_lists(cells: Mapping[str, int], holding: list[str], other: str) -> bool:
    if other in ";|\t":
        return True
    parts = {cell: [part.strip() for part in cell.split(None if other == " " else other)] for cell in holding}
    alone = set(cells) - set(holding)
    if other == ",":  # "Washington, D.C." and "1,000" are names
        tight = any(re.search(r",\S", _THOUSANDS.sub("", cell)) for cell in holding)
        uses = Counter(part for found in parts.values() for part in set(found))
        return tight or any(n > 1 for n in uses.values()) or any(part in alone for part in uses)
    # Names share words ("health care", "health policy"); labels also stand alone.
    distinct = {part for found in parts.values() for part in found}
    return len(holding) > 1 and 2 * len(distinct & alone) >= len(distinct)


def _split_names(cells: Mapping[str, int]) -> list[str]:
    """Cells of several words that are in no other cell, although the cell is there more than once."""
    uses = Counter(word for cell in cells for word in set(cell.split()))
    several = [cell for cell in cells if len(cell.split()) > 1]
    return [cell for cell in several if cells[cell] > 1 and all(uses[word] == 1 for word in cell.split())]


def _examples(cells: list[str]) -> str:
    shown = [repr(cell if len(cell) <= 40 else cell[:40] + "…") for cell in cells[:2]]
    return " and ".join(shown)
