"""A table's cell to a document's id, labels, group, response or time; files and frames share the rules."""

import json
import re
import sys
from collections.abc import Callable, Hashable, Iterable, Sequence, Set
from contextlib import suppress
from datetime import UTC, date, datetime, time
from math import isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np

from topicloom._types import AnyArray
from topicloom.corpus._checks import check_encodable, is_encodable, shown
from topicloom.errors import InputError

NO_SURROGATE = "text without lone surrogates, which no file can hold"

# A converter refuses a value by a ValueError that says what was expected; the caller knows the place.


def to_id(value: object) -> str:
    if is_missing(value) or not is_encodable(str(value)):
        raise ValueError("an id" if is_missing(value) else NO_SURROGATE)
    return str(value)


def to_labels(value: object, separator: str | None = None) -> tuple[str, ...]:
    """Labels from a list, a JSON list, or a string: one label, or several with the separator between them.

    A blank as separator stands for any run of blanks. Nothing, or an empty string, has no labels.
    """
    if isinstance(value, str):
        if not value.lstrip().startswith("["):
            return _split(value, separator)
        text = value
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            if separator == "" or not re.match(r"\s*\[\s*[\"'\[{]", text):  # "[sic] a name" is no list
                return _split(text, separator)
            raise ValueError('labels as text, or a JSON list such as ["a", "b"]') from None
    if isinstance(value, Iterable):
        labels = tuple(value)
        flat = not any(is_missing(label) or isinstance(label, list | dict | tuple) for label in labels)
        if not flat or isinstance(value, dict | bytes):
            raise ValueError("labels, as a string or a flat list")
        if not is_encodable("".join(map(str, labels))):
            raise ValueError(NO_SURROGATE)
        names = map(str, labels)
        return tuple(sorted(names) if isinstance(value, Set) else names)  # a set's order is by chance
    return () if is_missing(value) else (str(value),)


def _split(text: str, separator: str | None) -> tuple[str, ...]:
    if not separator:
        return (text.strip(),) if text.strip() else ()
    parts = text.split(None if separator == " " else separator)
    return tuple(part.strip() for part in parts if part.strip())


def to_group(value: object) -> Hashable:
    """A group as its cell has it; ``joined_groups`` decides what a column of them holds."""
    if is_missing(value) or not isinstance(value, Hashable) or (isinstance(value, str) and not value.strip()):
        raise ValueError("a group: text, a number or a date")
    if isinstance(value, str) and not is_encodable(value):
        raise ValueError(NO_SURROGATE)
    return value


# A leading zero makes a number a code, such as a postal code.
_NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_MOST_DIGITS = 300
_LARGEST_FLOAT = sys.float_info.max


def group_value(label: Hashable) -> Hashable:
    """A label as the number, or the date and time, that it is or that its text is; any other as it is."""
    plain = label.item() if isinstance(label, np.number) else label
    if isinstance(plain, str):
        return _parsed_group(plain)
    if isinstance(plain, date | np.datetime64) and not is_missing(plain):  # a datetime is a date
        with suppress(ValueError):
            return to_time(plain)
    return plain


def _parsed_group(label: str) -> Hashable:
    text = label.strip()
    if len(text) <= _MOST_DIGITS and _NUMBER.fullmatch(text):
        number = int(text) if text.lstrip("+-").isdigit() else float(text)
        return number if isfinite(number) else label
    try:
        return to_time(datetime.fromisoformat(text)) if "-" in text else label
    except ValueError:
        return label


def group_kind(value: Hashable) -> str:
    """ "number", "date" or "other", of a value that ``group_value`` gives."""
    if isinstance(value, datetime) and value.tzinfo is None:
        return "date"
    number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST_FLOAT
    return "number" if number else "other"


def joined_groups(labels: Sequence[Hashable]) -> list[Hashable]:
    """Groups of one kind: numbers if all are numbers, dates if all are dates, otherwise as they are.

    Text counts as the number or the ISO date that it is written as. Numbers with leading zeros stay text.
    """
    values: list[Any] = [group_value(label) for label in labels]
    kinds = {group_kind(value) for value in values}
    if kinds == {"number"}:
        return [float(value) for value in values] if any(isinstance(value, float) for value in values) else values
    if kinds == {"date"}:
        return [value.date() for value in values] if all(value.time() == time() for value in values) else values
    return list(labels)


def saved_groups(labels: Iterable[Hashable]) -> list[Any]:
    """Groups as JSON holds them: a date as {"date": "2024-05-31"}."""
    return [{"date": label.isoformat()} if isinstance(label, date) else label for label in labels]


def restored_groups(saved: Iterable[Any]) -> tuple[Hashable, ...]:
    """The groups that ``saved_groups`` made so."""
    return tuple(_restored_date(label.get("date")) if isinstance(label, dict) else label for label in saved)


def _restored_date(text: Any) -> date:
    try:
        return date.fromisoformat(text) if "T" not in text else datetime.fromisoformat(text)
    except (TypeError, ValueError):
        raise InputError(f"a group is {shown(text)}, which is no date.") from None


class MissingColumnError(InputError):
    """A table lacks a column that was asked for."""

    def __init__(
        self, place: str, role: str, column: str | None, columns: Iterable[str], *, header: bool = True
    ) -> None:
        self.place, self.role, self.column = place, role, column
        names = [repr(name) if header else name for name in columns]
        more = f" and {len(names) - 20} more" if len(names) > 20 else ""
        self.columns = (", ".join(names[:20]) + more) or "none"
        lacks = "it is not said which column holds the texts" if column is None else f"there is no column {column!r}"
        remedy = "Name the right one" if header else "Without a header line columns have numbers; give the right one"
        super().__init__(f"{place}: {lacks}; there are {self.columns}. {remedy} with {role}_column=.")


def as_number(text: str) -> float:
    """The number of a file's cell; Python would also take digits of other scripts, and underscores."""
    if not text.isascii() or "_" in text:
        raise ValueError("a number")
    return float(text)


def to_response(value: object) -> float:
    try:
        number = as_number(value) if isinstance(value, str) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if isinstance(value, bool) or not isfinite(number):
        raise ValueError("a response: a finite number")
    return number


def to_time(value: object) -> int | float | datetime:
    """A number as it is; a date or an ISO string as a date and time, in UTC where it names a zone."""
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, str):
        return _parsed_time(value.strip())
    if isinstance(value, datetime) and not is_missing(value):
        try:
            return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
        except OverflowError:  # within a day of year 1 or 9999
            raise ValueError(_TIME) from None
    if isinstance(value, date) and not is_missing(value):
        return datetime(value.year, value.month, value.day)
    if isinstance(value, Integral) and not isinstance(value, bool) and abs(int(value)) < 2**63:
        return int(value)
    if isinstance(value, Real) and not isinstance(value, bool):
        with suppress(OverflowError):  # of a whole number
            if isfinite(number := float(value)):
                return number
    raise ValueError(_TIME)


_TIME = "a time: a number or an ISO date such as 2024-05-31"


def _parsed_time(text: str) -> int | float | datetime:
    if not text.isascii() or "_" in text:
        raise ValueError(_TIME)
    parsers: tuple[Callable[[str], Any], ...] = (int, float, datetime.fromisoformat)
    for parse in parsers:
        try:
            return to_time(parse(text))
        except (ValueError, OverflowError):
            continue
    raise ValueError(_TIME)


def time_kind(value: int | float | datetime) -> str:
    return "date" if isinstance(value, datetime) else "number"


def joined_times(values: list[int | float | datetime]) -> AnyArray:
    """Times of one kind as one array: int64, float64 or datetime64."""
    dates = bool(values) and isinstance(values[0], datetime)
    return np.array(values, "datetime64[us]") if dates else np.array(values)


def as_times(values: Any) -> AnyArray:
    """Times as one array; none may be missing, and of mixed objects each must be a time."""
    try:
        given = values if isinstance(values, np.ndarray) else np.asarray(values)
        if given.dtype.kind == "O" and given.ndim == 1:
            given = _converted_times(given)
    except InputError:
        raise
    except Exception as error:  # of whatever made the values
        raise InputError(f"times cannot be made an array of one value per document ({error}).") from None
    if given.dtype.kind not in "biufMU":
        raise InputError(f"times holds {given.dtype} values; each must be {_TIME}.")
    if given.dtype.kind == "U" and given.ndim == 1:
        check_encodable("times", given.tolist())
    missing = np.isnat(given) if given.dtype.kind == "M" else given != given
    if np.any(missing):
        where = int(np.argmax(missing))
        raise InputError(f"times: entry {where} is {given.ravel()[where]}; every document needs a time, or none.")
    return given


def _converted_times(given: AnyArray) -> AnyArray:
    found: list[int | float | datetime] = []
    for i, value in enumerate(given):
        try:
            found.append(to_time(value))
            if time_kind(found[i]) != time_kind(found[0]):
                raise ValueError(f"a {time_kind(found[0])} as before it")
        except (ValueError, OverflowError) as error:
            raise InputError(f"times: entry {i} is {shown(value)}, expected {error}.") from None
    return joined_times(found)


def is_missing(value: object) -> bool:
    """None, NaN, or a frame library's own mark of nothing."""
    if value is None or (isinstance(value, Real) and value != value):
        return True
    if isinstance(value, np.datetime64) and np.isnat(value):
        return True
    return type(value).__name__ in ("NAType", "NaTType")
