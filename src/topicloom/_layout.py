"""Columns of tables in a terminal: how wide each is, and which stand beside each other where not all of them fit."""

import re
from collections.abc import Sequence
from typing import NamedTuple

_PIECES = re.compile(r"\s+|[^\s/\\_-]*[/\\_-]+|[^\s/\\_-]+")  # blanks, and what a line may end with
_READABLE = 16  # characters to which a column of text may be narrowed, if its words allow it


class Width(NamedTuple):
    """How wide a column may be: not narrower than ``least``, and ``natural`` if there is room."""

    least: int
    natural: int


class Frame(NamedTuple):
    """What a table takes beside its cells: once, and for each column."""

    edge: int
    column: int


def cell_width(text: str) -> int:
    """Columns of a terminal that a line of text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def width_of(heading: str, cells: Sequence[str], numeric: bool) -> Width:
    """Numbers are never broken. Headings and text are broken between words."""
    lines = [line for cell in cells for line in cell.split("\n")]
    pieces = {*heading.split(), *(() if numeric else (piece for line in lines for piece in _PIECES.findall(line)))}
    own = max(map(cell_width, lines), default=0)
    longest = max((cell_width(piece) for piece in pieces if not piece.isspace()), default=0)
    natural = max(own, *map(cell_width, heading.split("\n")), 1)
    return Width(max(own, longest, 1) if numeric else max(min(natural, max(longest, _READABLE)), 1), natural)


def wrapped(text: str, width: int) -> str:
    """The text in lines of at most ``width``: broken at blanks, in paths and the like behind a separator.

    Only a word that is longer than a line is broken elsewhere.
    """
    return "\n".join(line for own in text.split("\n") for line in _lines(own, width))


def _lines(text: str, width: int) -> list[str]:
    if cell_width(text) <= width:
        return [text]
    lines = [""]
    for piece in _PIECES.findall(text):
        if cell_width((lines[-1] + piece).rstrip()) <= width:
            lines[-1] += piece
        elif not piece.isspace():
            lines.append(piece)
            while cell_width(lines[-1]) > width:
                lines[-1:] = _cut(lines[-1], width)
    return [line.rstrip() for line in lines if line]


def _cut(text: str, width: int) -> tuple[str, str]:
    """As much of a word as fits, one character at least, and the rest."""
    n = 1
    while n < len(text) and cell_width(text[: n + 1]) <= width:
        n += 1
    return text[:n], text[n:]


def blocks(widths: Sequence[Width], room: int, frame: Frame, keys: int = 1) -> list[list[tuple[int, int]]]:
    """The columns as blocks that fit into ``room``, below each other; the first ``keys`` columns begin each block.

    Returns
    -------
    list of list of (int, int)
        For each block its columns, each with its width. A column that is too wide for any block is given what room
        there is, and its text has to be broken.
    """
    inside = room - frame.edge
    fixed = [min(width.least, max(inside // (2 * keys) - frame.column, 1)) for width in widths[:keys]]
    free = inside - sum(fixed) - keys * frame.column
    found: list[list[int]] = [list(range(keys))]
    left = free
    for i in range(keys, len(widths)):
        need = min(widths[i].least, max(free - frame.column, 1)) + frame.column
        if need > left and len(found[-1]) > keys:
            found.append(list(range(keys)))
            left = free
        found[-1].append(i)
        left -= need
    return [_shared(block, [*fixed], widths, inside, frame.column) for block in found]


def _shared(
    block: list[int], fixed: list[int], widths: Sequence[Width], inside: int, gap: int
) -> list[tuple[int, int]]:
    """What room is left in a block goes to the columns that can use it, in equal parts."""
    free = inside - sum(fixed) - len(fixed) * gap
    given = [fixed[n] if n < len(fixed) else min(widths[i].least, max(free - gap, 1)) for n, i in enumerate(block)]
    left = inside - sum(given) - len(block) * gap
    while left > 0:
        wanting = [n for n, i in enumerate(block) if given[n] < widths[i].natural]
        if not wanting:
            break
        part = max(left // len(wanting), 1)
        for n in wanting[:left]:
            more = min(part, widths[block[n]].natural - given[n], left)
            given[n] += more
            left -= more
    return list(zip(block, given, strict=True))
