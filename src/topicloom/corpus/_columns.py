"""A table's cell to a document's id, labels, group, response or time; files and frames share the rules."""

import json
from collections.abc import Callable, Hashable, Iterable
from datetime import UTC, date, datetime
from math import isfinite, isnan
from numbers import Integral, Real
from typing import Any

import numpy as np

from topicloom._types import AnyArray

# A converter refuses a value by a ValueError that says what was expected; the caller knows the place.


def to_id(value: object) -> str:
    if _missing(value):
        raise ValueError("an id")
    return str(value)


def to_labels(value: object) -> tuple[str, ...]:
    """Labels from a list, a JSON list, or a string of labels separated by blanks; none from nothing."""
    if isinstance(value, str):
        if not value.lstrip().startswith("["):
            return tuple(value.split())
        try:
            value = json.loads(value)
        except ValueError:
            raise ValueError('labels separated by blanks, or a JSON list such as ["a", "b"]') from None
    if isinstance(value, Iterable):
        labels = tuple(value)
        flat = not any(_missing(label) or isinstance(label, list | dict | tuple) for label in labels)
        if not flat or isinstance(value, dict | bytes):
            raise ValueError("labels, as a string or a flat list")
        return tuple(map(str, labels))
    return () if _missing(value) else (str(value),)


def to_group(value: object) -> Hashable:
    if _missing(value) or not isinstance(value, Hashable):
        raise ValueError("a group: a string or a number")
    return value


def to_response(value: object) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
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
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    if isinstance(value, Integral) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, Real) and not isinstance(value, bool) and isfinite(value):
        return float(value)
    raise ValueError(_TIME)


_TIME = "a time: a number or an ISO date such as 2024-05-31"


def _parsed_time(text: str) -> int | float | datetime:
    parsers: tuple[Callable[[str], Any], ...] = (int, float, datetime.fromisoformat)
    for parse in parsers:
        try:
            return to_time(parse(text))
        except ValueError:
            continue
    raise ValueError(_TIME)


def time_kind(value: int | float | datetime) -> str:
    return "date" if isinstance(value, datetime) else "number"


def joined_times(values: list[int | float | datetime]) -> AnyArray:
    """Times of one kind as one array: int64, float64 or datetime64."""
    dates = bool(values) and isinstance(values[0], datetime)
    return np.array(values, "datetime64[us]") if dates else np.array(values)


def _missing(value: object) -> bool:
    """None, NaN, or a frame library's own mark of nothing."""
    if value is None or (isinstance(value, Real) and isnan(value)):
        return True
    return type(value).__name__ in ("NAType", "NaTType")
