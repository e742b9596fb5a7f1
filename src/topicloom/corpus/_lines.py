"""Files as lines of text and as blocks of whole numbers, plain or gzipped, never held whole."""

import codecs
import gzip
import io
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import numpy as np

from topicloom._types import AnyArray, BoolArray, Int64Array
from topicloom.errors import InputError
from topicloom.files.arrays import replacing_file

BLOCK_BYTES = 1 << 18  # small enough for the parser's arrays to stay in the processor's cache
_LONGEST_NUMBER = 18  # digits that int64 holds whatever they are
_NEWLINE, _ZERO = 10, 48


class Member(NamedTuple):
    """A file in an archive, to be opened while the archive is."""

    archive: Path
    name: str
    opened: Callable[[], AbstractContextManager[IO[bytes]]]

    def __str__(self) -> str:
        return f"{self.archive}: {self.name}"


class Piece(NamedTuple):
    """A part of a file that is read by itself: some of its lines, by their bytes, or some row groups of Parquet."""

    path: Path
    start: int
    stop: int
    first: int = 0  # number of its first line or row, from 1; 0 if it is not known

    def __str__(self) -> str:
        return str(self.path)


Source = Path | Member | Piece


def malformed(path: Source, place: int | str, found: object, expected: str) -> InputError:
    """What was found at a place (a line number, or its description) and what should be there."""
    place = f"line {place}" if isinstance(place, int) else place
    shown = repr(found.strip("\r\n") if isinstance(found, str) else found)
    shown = shown if len(shown) <= 60 else shown[:60] + "…"
    return InputError(f"{path}, {place}: found {shown}, expected {expected}.")


@contextmanager
def open_bytes(path: Source) -> Iterator[IO[bytes]]:
    """The file's bytes; gzip is known by its first bytes, not by the name. A UTF-8 byte order mark is passed over.

    Members of archives are not unpacked once more.
    """
    if isinstance(path, Member):
        with path.opened() as member:
            yield _without_mark(member)
        return
    if isinstance(path, Piece):
        with open(path.path, "rb") as file, io.BufferedReader(_Part(file, path.start, path.stop)) as part:
            yield part if path.start else _without_mark(part)
        return
    try:
        raw = open(path, "rb")  # noqa: SIM115 (closed below; only its opening is guarded here)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from None
    with raw:
        try:
            if raw.peek(2)[:2] != b"\x1f\x8b":
                yield _without_mark(raw)
                return
            with io.BufferedReader(gzip.GzipFile(fileobj=raw)) as unzipped:
                yield _without_mark(unzipped)
        except (EOFError, zlib.error, gzip.BadGzipFile, struct.error) as error:
            raise InputError(
                f"{path}: the gzip data is damaged or cut short ({error}). Fetch or write the file again."
            ) from None


class _Part(io.RawIOBase):
    """Some bytes of a file."""

    def __init__(self, file: IO[bytes], start: int, stop: int) -> None:
        self._file, self._left = file, stop - start
        file.seek(start)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = self._file.read(min(len(buffer), self._left))
        buffer[: len(block)] = block
        self._left -= len(block)
        return len(block)


def is_gzipped(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(2) == b"\x1f\x8b"


def _without_mark(file: Any) -> IO[bytes]:
    """The file behind the mark that some programs put before UTF-8."""
    if file.peek(3)[:3] == codecs.BOM_UTF8:
        file.read(3)
    return cast(IO[bytes], file)


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file to write that takes the path's place only when it is complete; gzipped if named ``.gz``."""
    if not path.parent.is_dir():
        raise InputError(f"{path} cannot be written: there is no folder {path.parent}. Make it first.")
    with replacing_file(path) as raw:
        if path.suffix == ".gz":
            # No name and no time inside, so that the same corpus gives the same bytes.
            with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0, compresslevel=6) as zipped:
                yield cast(IO[bytes], zipped)
        else:
            yield raw


def text_lines(path: Source, encoding: str = "utf-8", newline: str | None = None) -> Iterator[str]:
    """Lines of a text with their ends; bytes that do not decode are an error that names their line."""
    first = first_line(path)
    number = first - 1
    with open_bytes(path) as file:
        try:
            text = io.TextIOWrapper(file, encoding=encoding, errors="surrogateescape", newline=newline)
        except (LookupError, TypeError, ValueError):
            raise InputError(f"encoding={encoding!r} is not the name of a text encoding that Python knows.") from None
        with text:
            try:
                for number, line in enumerate(text, first):
                    if not line.isascii():
                        line = _checked(path, number, line, encoding)
                    if line:
                        yield line
            except UnicodeError as error:  # encodings of several bytes cannot all escape a wrong one
                raise InputError(
                    f"{path}, line {number + 1}: found bytes that are not {encoding} ({error}). "
                    "Name the file's encoding with encoding=."
                ) from None


def first_line(path: Source) -> int:
    """The number of the first line; 2 in place of one that is not known."""
    return (path.first or 2) if isinstance(path, Piece) else 1


def _checked(path: Source, number: int, line: str, encoding: str) -> str:
    """The line without a byte order mark, if every byte of it could be decoded."""
    try:
        line.encode("utf-8")
    except UnicodeEncodeError as error:
        byte = ord(line[error.start]) - 0xDC00
        found = f"the byte 0x{byte:02x}" if 0 <= byte < 256 else f"half a character, {line[error.start]!r},"
        likely = "utf-16" if number == 1 and byte in (0xFE, 0xFF) and error.start == 0 else "latin-1"
        raise InputError(
            f"{path}, line {number}: {found} at character {error.start + 1} is not {encoding}. "
            f"Name the file's encoding, for instance encoding={likely!r}."
        ) from None
    return line.removeprefix("\ufeff") if number == 1 else line


# -- pieces ------------------------------------------------------------------------------------------------------------

_ONE_BYTE = ("ascii", "utf-8", "iso8859", "cp125")  # encodings in which the byte of a line's end is nothing else


def line_pieces(path: Path, size: int, encoding: str) -> list[Piece] | None:
    """A file in pieces of whole lines and of about so many bytes; None if its bytes do not say where lines end."""
    try:
        known = codecs.lookup(encoding).name.startswith(_ONE_BYTE) and not encoding.lower().endswith("sig")
    except (LookupError, TypeError):
        return None  # which is refused where it is read
    if not known or is_gzipped(path):
        return None
    edges, end = [0], path.stat().st_size
    with open(path, "rb") as file:
        while edges[-1] + size < end:
            file.seek(edges[-1] + size)
            while (block := file.readline(BLOCK_BYTES)) and not block.endswith(b"\n"):
                pass
            edges.append(file.tell())
    edges = [*edges, end] if edges[-1] < end else edges
    return [Piece(path, *both, first=int(both[0] == 0)) for both in pairwise(edges)]


def numbered(piece: Piece) -> Piece:
    """The same lines with the number of the first, for which those before it are counted."""
    if piece.first:
        return piece
    with open_bytes(Piece(piece.path, 0, piece.start)) as file, io.TextIOWrapper(file, "latin-1") as text:
        return piece._replace(first=1 + sum(1 for _ in text))


def word_list(path: Path, encoding: str = "utf-8") -> tuple[str, ...]:
    """One word per line, line j for word j; blank and repeated lines are errors."""
    seen: dict[str, int] = {}
    for number, line in enumerate(text_lines(path, encoding), 1):
        word = line.rstrip("\n")
        if not word.strip():
            raise malformed(path, number, line, "a word: line j names word j, so no line may be blank")
        if word.startswith("\ufeff"):
            raise malformed(path, number, line, "a word without a byte order mark (U+FEFF) before it")
        if word in seen:
            raise InputError(f"{path}, line {number}: the word {word!r} is already on line {seen[word]}.")
        seen[word] = number
    if not seen:
        raise InputError(f"{path} is empty; expected one word per line.")
    return tuple(seen)


# -- blocks of whole numbers ---------------------------------------------------------------------------------


class NumberBlock(NamedTuple):
    """Some whole lines, and every number in them with the bytes it spans.

    ``values`` are right for those of digits alone that are not ``too_long``.
    """

    path: Path
    raw: AnyArray
    first_line: int
    newlines: Int64Array
    starts: Int64Array
    ends: Int64Array
    values: Int64Array

    def error(self, position: int, expected: str) -> InputError:
        """The error of the line that holds this byte."""
        line = int(np.searchsorted(self.newlines, position))
        start = 0 if line == 0 else int(self.newlines[line - 1]) + 1
        found = self.raw[start : int(self.newlines[line])].tobytes().decode("utf-8", "replace")
        return malformed(self.path, self.first_line + line, found, expected)

    @property
    def too_long(self) -> BoolArray:
        return self.ends - self.starts > _LONGEST_NUMBER

    @property
    def marked(self) -> BoolArray:
        """Numbers with more than digits: signs, points, exponents."""
        before = np.concatenate(([0], np.cumsum((self.raw < _ZERO) | (self.raw >= _ZERO + 10))))
        return np.not_equal(before[self.ends], before[self.starts])

    def whole(self, part: slice, expected: str) -> Int64Array:
        """Some of the numbers, each of which must be digits alone."""
        wrong = (self.marked | self.too_long)[part]
        if wrong.any():
            raise self.error(int(self.starts[part][np.argmax(wrong)]), expected + ", none beyond 18 digits")
        return self.values[part]

    def numbers_before_line_ends(self) -> Int64Array:
        return np.searchsorted(self.starts, self.newlines)

    def rows(self, width: int, expected: str) -> Int64Array:
        """The numbers as rows of so many; blank lines are passed over, any other count is an error."""
        n_lines = len(self.newlines)
        if len(self.values) != width * n_lines or not (
            np.all(self.ends[width - 1 :: width] <= self.newlines)
            and np.all(self.starts[width::width] > self.newlines[:-1])
        ):
            counts = np.diff(self.numbers_before_line_ends(), prepend=0)
            wrong = (counts != width) & (counts != 0)
            if wrong.any():
                raise self.error(int(self.newlines[np.argmax(wrong)]), expected)
        return self.values.reshape(-1, width)


def number_blocks(
    path: Path, file: IO[bytes], expected: str, first_line: int = 1, separators: bytes = b""
) -> Iterator[NumberBlock]:
    """The rest of the file as numbers between blanks, line ends and the given separators."""
    for block in _blocks(path, file, expected, first_line, separators):
        if block.too_long.any():
            raise block.error(int(block.starts[np.argmax(block.too_long)]), expected + ", none beyond 18 digits")
        yield block


def word_blocks(path: Path, file: IO[bytes], expected: str, first_line: int, marks: bytes) -> Iterator[NumberBlock]:
    """The rest of the file as numbers between blanks and line ends that may have the given marks in them."""
    return _blocks(path, file, expected, first_line, b"", marks)


def _blocks(
    path: Path, file: IO[bytes], expected: str, first_line: int, separators: bytes, marks: bytes = b""
) -> Iterator[NumberBlock]:
    kind = np.zeros(256, np.uint8)  # 0: not allowed, 1: in a number, 2: between numbers
    kind[_ZERO : _ZERO + 10] = 1
    kind[list(marks)] = 1
    kind[list(b" \t\r\n" + separators)] = 2
    while text := file.read(BLOCK_BYTES):
        if not text.endswith(b"\n"):
            text += file.readline()
        text += b"\n" * (not text.endswith(b"\n"))  # the last line may lack its end
        raw = np.frombuffer(text, np.uint8)
        kinds = kind[raw]
        block = _parse(path, raw, first_line, kinds == 1)
        if np.count_nonzero(kinds) != len(raw):
            raise block.error(int(np.argmin(kinds)), expected)
        yield block
        first_line += len(block.newlines)


def _parse(path: Path, raw: AnyArray, first_line: int, digit: BoolArray) -> NumberBlock:
    edges = np.flatnonzero(digit[1:] != digit[:-1]) + 1
    if digit[0]:
        edges = np.concatenate(([0], edges))
    starts, ends = edges[::2], edges[1::2]  # the block ends with a line end, so that every start has its end
    lengths, place = ends - starts, ends - 1
    values = (raw[place] - _ZERO).astype(np.int64)
    # Digits are added from the right, at each turn only for the numbers that are long enough.
    longer, power = np.flatnonzero(lengths > 1), 1
    place, lengths = place[longer], lengths[longer]
    while len(longer) and power < _LONGEST_NUMBER:
        place -= 1
        values[longer] += (raw[place] - _ZERO) * np.int64(10**power)
        power += 1
        still = lengths > power
        longer, place, lengths = longer[still], place[still], lengths[still]
    return NumberBlock(path, raw, first_line, np.flatnonzero(raw == _NEWLINE), starts, ends, values)
