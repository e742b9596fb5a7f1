"""Checks and conversions at the door of the corpus: what passes them is read-only and of the right type."""

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, TypeVar

import numpy as np

from topicloom._types import AnyArray, FloatArray
from topicloom.errors import InputError

_Array = TypeVar("_Array", bound=AnyArray)


def read_only(array: _Array) -> _Array:
    """The array itself, which nobody else holds, made read-only."""
    array.flags.writeable = False
    return array


def frozen(name: str, values: Any, dtype: Any) -> Any:
    """The values as a read-only vector of this type; copied, unless they are one already (a memory map)."""
    given = values if isinstance(values, np.ndarray) else np.asarray(values)
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
        shown = repr(values) if len(repr(values)) <= 60 else repr(values)[:60] + "…"
        raise InputError(f"{name} must be a sequence with one entry each, in order, not {shown}.")
    return tuple(values)


def label_set(d: int, labels: Any) -> tuple[str, ...]:
    found = labels if isinstance(labels, str) or not isinstance(labels, Iterable) else tuple(labels)
    if not isinstance(found, tuple) or not all(isinstance(label, str) for label in found):
        raise InputError(
            f"document {d}: labels must be a sequence of strings, for instance ('sport',), not {labels!r}."
        )
    return tuple(dict.fromkeys(found))


def check_each(name: str, values: tuple[Any, ...], kind: Any, expected: str) -> None:
    for i, value in enumerate(values):
        if not isinstance(value, kind):
            raise InputError(f"{name}: entry {i} is {value!r}; each must be {expected}.")


def check_length(what: str, have: int, want: int, of: str) -> None:
    if have != want:
        raise InputError(f"{what} has {have} entries but there are {want} {of}; give one for each.")


def check_finite(what: str, values: FloatArray) -> None:
    if not np.all(np.isfinite(values)):
        where = int(np.argmin(np.isfinite(values)))
        raise InputError(f"{what}: entry {where} is {values[where]}; every value must be finite.")


def first_repeat(items: Sequence[str]) -> str:
    seen: set[str] = set()
    return next(item for item in items if item in seen or seen.add(item))  # type: ignore[func-returns-value]
