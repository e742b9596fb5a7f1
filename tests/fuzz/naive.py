"""What a file means, found the slow way, and the comparison with what was read."""

import gzip
import json
import math
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from topicloom.corpus.corpus import Corpus
from topicloom.errors import InputError, MissingExtraError, StorageError

LARGEST_FLOAT = sys.float_info.max
OURS = (InputError, StorageError, MissingExtraError)


@dataclass
class Expected:
    """A corpus as plain lists: of each document its words in order, or the count of each word number."""

    tokens: list[list[str]] = field(default_factory=list)
    counts: list[dict[int, float]] = field(default_factory=list)
    vocabulary: list[str] | None = None
    ids: list[str] | None = None
    labels: list[tuple[str, ...]] | None = None
    groups: list[Any] | None = None
    responses: list[float] | None = None
    times: list[Any] | None = None
    texts: list[str] | None = None  # compared only if they are given


def attempted(read: Callable[[], Corpus], parse: Callable[[], Expected]) -> str:
    """Read, and compare what was accepted with the naive reading."""
    try:
        corpus = read()
    except OURS as error:
        return refused(error)
    compare(corpus, parse())
    return "read"


def refused(error: BaseException) -> str:
    """ "clean", unless it was the lack of memory that refused an input, and not what is wrong with it."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, MemoryError) or "of memory left" in str(cause):
            raise MemoryError(str(error)) from error
        cause = cause.__cause__ or cause.__context__
    return "clean"


def compare(corpus: Corpus, expected: Expected) -> None:
    if expected.counts:
        found = count_matrix(corpus)
        wanted = [{word: count for word, count in doc.items() if count} for doc in expected.counts]
        same(found, wanted, "counts")
    else:
        ends = corpus.doc_ptr.tolist()
        words = [corpus.vocabulary[v] for v in corpus.words.tolist()]
        same([words[a:b] for a, b in pairwise(ends)], expected.tokens, "tokens")
    if expected.vocabulary is not None:
        same(list(corpus.vocabulary), expected.vocabulary, "vocabulary")
    for name in ("ids", "labels", "groups", "responses", "times"):
        value, wanted_value = getattr(corpus, name), getattr(expected, name)
        if isinstance(value, np.ndarray):
            value = value.tolist()
        same(None if value is None else list(value), wanted_value, name)
    if corpus.texts is not None and expected.texts is not None:
        same(list(corpus.texts), expected.texts, "texts")


def same(found: Any, wanted: Any, what: str) -> None:
    if not _equal(found, wanted):
        raise AssertionError(f"{what}: read {found!r:.150}, the naive parser has {wanted!r:.150}")


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_equal, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_equal(a[key], b[key]) for key in a)
    if {type(a), type(b)} <= {int, float} and float in (type(a), type(b)):
        return a == b or math.isclose(a, b, rel_tol=1e-12)
    return type(a) is type(b) and a == b


def count_matrix(corpus: Corpus) -> list[dict[int, float]]:
    words, ends = corpus.words.tolist(), corpus.doc_ptr.tolist()
    weights = [1] * len(words) if corpus.weights is None else corpus.weights.tolist()
    rows = []
    for start, end in pairwise(ends):
        row: dict[int, float] = defaultdict(float)
        for i in range(start, end):
            row[words[i]] += weights[i]
        rows.append({word: float(count) for word, count in row.items() if count})
    return rows


# -- bytes, lines, words ------------------------------------------------------------------------------------------


def content_of(path: Path) -> bytes:
    content = path.read_bytes()
    if content.startswith(b"\x1f\x8b"):
        content = gzip.decompress(content)
    return content.removeprefix(b"\xef\xbb\xbf")


def lines_of(path: Path) -> list[str]:
    """Lines of a text without their ends, whichever of three those are."""
    text = content_of(path).decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return text.split("\n")[:-1] if text.endswith("\n") or not text else text.split("\n")


def byte_lines(path: Path) -> list[bytes]:
    """Lines as number files have them: only the line feed ends one."""
    content = content_of(path)
    return content.split(b"\n")[:-1] if content.endswith(b"\n") or not content else content.split(b"\n")


def words_of(text: str) -> list[str]:
    """As ``token_pattern=r"\\S+"`` without lower case."""
    return unicodedata.normalize("NFC", text).split()


AS_WORDS: dict[str, Any] = {"token_pattern": r"\S+", "lowercase": False}


def of_texts(texts: Iterable[str | list[str]], **metadata: Any) -> Expected:
    """Of texts, or of lists of words, which are words as they are."""
    tokens = [text if isinstance(text, list) else words_of(text) for text in texts]
    return Expected(tokens=tokens, vocabulary=sorted({word for words in tokens for word in words}), **metadata)


# -- cells of a table ------------------------------------------------------------------------------------------------


COLUMNS = {f"{role}_column": role for role in ("text", "id", "label", "group", "response", "time")}


def of_records(records: Sequence[dict[str, Any]], separator: str = "") -> Expected:
    """Rows of a table; those of one without groups and times have none."""
    known = records[0].keys() if records else ()
    times = [time_of(record["time"]) for record in records] if "time" in known else None
    if times is not None and any(isinstance(time, float) for time in times):
        times = [float(time) for time in times]
    return of_texts(
        (record["text"] for record in records),
        ids=[str(record["id"]) for record in records],
        labels=[labels_of(record["label"], separator) for record in records],
        groups=groups_of([record["group"] for record in records]) if "group" in known else None,
        responses=[float(record["response"]) for record in records],
        times=times,
    )


def labels_of(cell: Any, separator: str = "") -> tuple[str, ...]:
    if isinstance(cell, str) and cell.lstrip().startswith("["):
        try:
            cell = json.loads(cell)
        except (ValueError, RecursionError):
            assert cell.lstrip()[1:].lstrip()[:1] not in tuple("\"'[{")
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ()
    if isinstance(cell, str):
        found = [part.strip() for part in (cell.split(separator) if separator else [cell]) if part.strip()]
    else:
        found = cell if isinstance(cell, list) else [cell]
    return tuple(dict.fromkeys(map(str, found)))


def groups_of(cells: Sequence[Any]) -> list[Any]:
    """All cells as numbers or all as dates, if each is one or is written as one; otherwise as they are."""
    numbers = [_number_of(cell) for cell in cells]
    if None not in numbers:
        return [float(n) for n in numbers] if any(isinstance(n, float) for n in numbers) else numbers
    dates = [_date_of(cell) for cell in cells]
    if None in dates:
        return list(cells)
    midnight = all((d.hour, d.minute, d.second, d.microsecond) == (0, 0, 0, 0) for d in dates)
    return [d.date() for d in dates] if midnight else dates


def _number_of(cell: Any) -> int | float | None:
    number = cell
    if isinstance(cell, str):
        text = cell.strip()
        mantissa, _, power = text.lower().partition("e")
        whole, _, part = mantissa.lstrip("+-").partition(".")
        digits = whole + part + power.lstrip("+-")
        coded = len(whole) > 1 and whole[0] == "0"  # as postal codes are
        if coded or len(text) > 300 or not (digits.isascii() and digits.isdigit()):
            return None
        try:
            number = int(text) if text.lstrip("+-").isdigit() else float(text)
        except ValueError:
            return None
    if isinstance(number, bool) or not isinstance(number, int | float):
        return None
    return number if -LARGEST_FLOAT <= number <= LARGEST_FLOAT else None


def _date_of(cell: Any) -> Any:
    if not isinstance(cell, str | date) or (isinstance(cell, str) and "-" not in cell):
        return None
    try:
        return time_of(datetime.fromisoformat(cell.strip()) if isinstance(cell, str) else cell)
    except (ValueError, OverflowError):
        return None


def time_of(cell: Any) -> Any:
    if isinstance(cell, str):
        text = cell.strip()
        try:
            number = int(text)
            return number if abs(number) < 2**63 else float(text)
        except ValueError:
            pass
        try:
            return float(text)
        except ValueError:
            cell = datetime.fromisoformat(text)
    if hasattr(cell, "to_pydatetime"):  # with nanoseconds, which times do not keep
        cell = cell.to_pydatetime(warn=False)
    if isinstance(cell, datetime):
        return cell.astimezone(UTC).replace(tzinfo=None) if cell.tzinfo else cell
    if isinstance(cell, date):
        return datetime(cell.year, cell.month, cell.day)
    return cell
