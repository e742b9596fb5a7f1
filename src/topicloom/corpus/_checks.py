"""Checks and conversions at the door of the corpus: what passes them is read-only and of the right type."""

import os
import sys
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, TypeVar

import numpy as np

from topicloom._types import AnyArray, FloatArray
from topicloom.errors import InputError, counted, there_are

_Array = TypeVar("_Array", bound=AnyArray)


def read_only(array: _Array) -> _Array:
    """The array itself, which nobody else holds, made read-only."""
    array.flags.writeable = False
    return array


def check_whole(name: str, value: Any, least: int) -> int:
    """A whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{name}={shown(value)} must be a whole number of at least {least}.")
    return int(value)


def resolve_jobs(n_jobs: int | None) -> int:
    """Number of threads or processes: ``None`` is one, −1 is every core this process may use, as in scikit-learn."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise InputError(f"n_jobs={shown(n_jobs)} must be a whole number other than 0; -1 uses every core.")
    if n_jobs > 0:
        return int(n_jobs)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores + 1 + int(n_jobs))


def check_seed(seed: Any) -> None:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise InputError(f"seed={shown(seed)} must be a whole number.")


def check_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"{name}={shown(value)} is not known; choose one of {', '.join(map(repr, choices))}.")
    return str(value)


def check_number(name: str, value: Any, least: float, most: float) -> float:
    """A finite number from ``least`` to ``most``."""
    right = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not right or not least <= value <= min(most, sys.float_info.max):
        limit = f"of at least {least:g}" if np.isinf(most) else f"from {least:g} to {most:g}"
        raise InputError(f"{name}={shown(value)} must be a number {limit}.")
    return float(value)


def as_array(name: str, values: Any, dtype: Any = None) -> Any:
    """The values as an array, of this type if one is given."""
    try:
        return np.asarray(values, dtype)
    except MemoryError:
        raise
    except Exception as error:  # of whatever made the values
        expected = "an array" if dtype is None else "a number or an array of numbers"
        raise InputError(f"{name} is {shown(values)}; expected {expected}.") from error


def as_numbers(name: str, values: Any) -> FloatArray:
    """A number, or an array of them."""
    found: FloatArray = as_array(name, values, np.float64)
    return found


def frozen(name: str, values: Any, dtype: Any) -> Any:
    """The values as a read-only vector of this type; copied, unless they are one already (a memory map)."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise InputError(f"{name}: entry {int(np.argmax(np.ma.getmaskarray(values)))} is masked; each must be given.")
    try:
        given = values if isinstance(values, np.ndarray) else np.asarray(values)
    except Exception as error:  # of whatever made the values
        raise InputError(f"{name} cannot be made an array of one value per document ({error}).") from None
    if given.ndim != 1:
        raise InputError(f"{name} must have one dimension, got {given.ndim}.")
    if given is values and not given.flags.writeable and dtype in (None, given.dtype):
        return given
    if dtype is not None and given.size:
        _check_cast(name, given, np.dtype(dtype))
    return read_only(np.array(given, dtype=dtype))


def _check_cast(name: str, values: AnyArray, dtype: "np.dtype[Any]") -> None:
    """Refuse values that the type would cut, wrap or fail on."""
    expected = "a whole number" if dtype.kind == "i" else "a number"
    if values.dtype.kind == "O":
        where = next((i for i, v in enumerate(values) if not isinstance(v, int | float | np.number)), 0)
        raise InputError(f"{name}: entry {where} is {shown(values[where])}; each must be {expected}.")
    if values.dtype.kind not in "buif":
        raise InputError(f"{name} holds {values.dtype} values; each must be {expected}.")
    if dtype.kind == "i" and values.dtype != dtype:
        limits = np.iinfo(dtype)
        fits = (values >= limits.min) & (values <= limits.max)  # False for NaN
        if values.dtype.kind == "f":
            fits &= np.floor(values) == values
        if not np.all(fits):
            where = int(np.argmin(fits))
            raise InputError(f"{name}: entry {where} is {values[where]}; each must be {expected} of {dtype}.")


def items(name: str, values: Any) -> tuple[Any, ...]:
    """The entries of a sequence. A set has no order, and a dict's need not be that of its numbers."""
    if isinstance(values, str | bytes | Set | Mapping) or not isinstance(values, Iterable):
        raise InputError(f"{name} must be a sequence with one entry each, in order, not {shown(values)}.")
    return tuple(values)


def texts(name: str, values: tuple[Any, ...]) -> tuple[str, ...]:
    """Strings of Python's own type that any file can hold."""
    if not {str}.issuperset(map(type, values)):
        check_each(name, values, str, "a string")
        values = tuple(map(str, values))
    check_encodable(name, values)
    return values


def check_encodable(name: str, values: Iterable[str]) -> None:
    """Refuse strings with half a character, which cannot be written to any file."""
    values = tuple(values)
    if is_encodable("".join(values)):
        return
    where, value = next((i, value) for i, value in enumerate(values) if not is_encodable(value))
    raise InputError(f"{name}: entry {where} is {shown(value)}, {NOT_ENCODABLE}")


def is_encodable(text: str) -> bool:
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


NOT_ENCODABLE = (
    "which has a lone surrogate: bytes that were decoded wrongly. Read the text again in its own encoding, "
    "or remove it, for instance text.encode('utf-8', 'replace').decode()."
)


def shown(value: object) -> str:
    """A value for a message, in one line that is not too long; numpy's scalars as Python's own."""
    text = " ".join(repr([plain(v) for v in value[:30]] if type(value) is list else plain(value)).split())
    return text if len(text) <= 60 else text[:60] + "…"


def plain(value: Any) -> Any:
    """A numpy string, number or bool as Python's own, which files can hold."""
    return value.item() if isinstance(value, np.str_ | np.bytes_ | np.number | np.bool_) else value


def label_set(d: int, labels: Any) -> tuple[str, ...]:
    several = isinstance(labels, Iterable) and not isinstance(labels, str) and getattr(labels, "ndim", 1) > 0
    found = tuple(labels) if several else labels
    if not isinstance(found, tuple) or not all(isinstance(label, str) for label in found):
        raise InputError(
            f"document {d}: labels must be a sequence of strings, for instance ('sport',), not {shown(labels)}."
        )
    names = map(str, found)
    return tuple(sorted(names) if isinstance(labels, Set) else dict.fromkeys(names))  # a set's order is by chance


def check_each(name: str, values: tuple[Any, ...], kind: Any, expected: str) -> None:
    for i, value in enumerate(values):
        if not isinstance(value, kind):
            raise InputError(f"{name}: entry {i} is {shown(value)}; each must be {expected}.")


def check_length(what: str, have: int, want: int, of: str) -> None:
    if have != want:
        raise InputError(f"{what} has {counted(have, 'entries')} but {there_are(want, of)}; give one for each.")


def check_finite(what: str, values: FloatArray) -> None:
    if not np.all(np.isfinite(values)):
        where = int(np.argmin(np.isfinite(values)))
        raise InputError(f"{what}: entry {where} is {values[where]}; every value must be finite.")


def first_repeat(items: Sequence[str]) -> str:
    seen: set[str] = set()
    return next(item for item in items if item in seen or seen.add(item))  # type: ignore[func-returns-value]
