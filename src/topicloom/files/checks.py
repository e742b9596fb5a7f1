"""Checks of what a file of ours holds, before anything is computed with it.

A digest says that a file is as it was written, not that its values make sense: compiled code indexes with many of
them and would read and write outside arrays. So every array has a declared type, shape and range, and a file that
differs is refused with a ``StorageError``.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from topicloom._types import AnyArray
from topicloom.errors import InputError, StorageError

_CHUNK = 1 << 22  # entries looked at together
_LARGEST = 2**31 - 1  # of sweeps and other numbers of a file's info
SCALARS = (str, int, float, bool)


class Expected(NamedTuple):
    """What an array must be. ``kind`` is a dtype, or "i" or "f" for any size of it.

    A name in ``shape`` is a size of the file: the first array that has it says what it is, if the caller did not.
    """

    kind: str
    shape: tuple[str | int, ...]
    low: float = -inf
    high: float = inf
    positive: bool = False  # above zero
    finite: bool = True
    optional: bool = False


class Contents:
    """Arrays and info of one file, and the sizes that its arrays must agree on."""

    def __init__(self, path: Path, arrays: Mapping[str, AnyArray], info: Any, **sizes: Any) -> None:
        self.path, self.arrays = path, arrays
        self.info = info if isinstance(info, dict) else self.fail(f"its info is {_shown(info)}, expected an object")
        self.sizes: dict[str, Any] = {name: size for name, size in sizes.items() if size is not None}
        self._known: set[str] = set()
        for name, size in self.sizes.items():
            if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0:
                self.fail(f"{name}={_shown(size)} was expected to be a whole number")

    def fail(self, what: str) -> NoReturn:
        raise StorageError(f"{self.path} cannot be used: {what}. Restore it from a copy.")

    # -- arrays --------------------------------------------------------------------------------------------------

    def expect(self, expected: Mapping[str, Expected], prefix: str = "") -> None:
        """Refuse the file unless it has these arrays."""
        for name, wanted in expected.items():
            array = self.arrays.get(prefix + name)
            self._known.add(prefix + name)
            if array is not None:
                self._check(prefix + name, array, wanted)
            elif not wanted.optional:
                self.fail(f"it has no array {prefix + name!r}")

    def expect_no_others(self) -> None:
        """Refuse the file if it has arrays that nothing has asked for."""
        others = sorted(self.arrays.keys() - self._known)
        if others:
            self.fail(f"it has the array {others[0]!r}, which does not belong into it")

    def _check(self, name: str, array: AnyArray, wanted: Expected) -> None:
        kind = array.dtype.kind if len(wanted.kind) == 1 else array.dtype.str[1:]
        if kind != wanted.kind and not (array.size == 0 and wanted.kind == "i"):  # an empty list has no type
            self.fail(f"the array {name!r} has type {array.dtype}, expected {wanted.kind}")
        shape = tuple(self.sizes.get(n, n) if isinstance(n, str) else n for n in wanted.shape)
        if array.ndim != len(shape) or any(
            not isinstance(n, str) and n != m for n, m in zip(shape, array.shape, strict=True)
        ):
            self.fail(f"the array {name!r} has shape {array.shape}, expected ({', '.join(map(str, shape))})")
        self.sizes |= {n: m for n, m in zip(shape, array.shape, strict=True) if isinstance(n, str)}
        if array.dtype.kind in "iuf" and (wanted.finite or wanted.positive or (wanted.low, wanted.high) != (-inf, inf)):
            self._check_range(name, array, wanted)

    def _check_range(self, name: str, array: AnyArray, wanted: Expected) -> None:
        flat = array.reshape(-1)
        for start in range(0, len(flat), _CHUNK):  # without a temporary array of its size
            part = flat[start : start + _CHUNK]
            for value in (part.min(), part.max()):  # NaN, if there is any
                right = wanted.low <= value <= wanted.high and not (wanted.positive and value <= 0)
                if not (right or (not wanted.finite and np.isnan(value))) or (wanted.finite and not np.isfinite(value)):
                    limits = "positive" if wanted.positive else f"from {wanted.low:g} to {wanted.high:g}"
                    self.fail(f"the array {name!r} has the value {value}, expected {limits} and finite numbers")

    def sums_to(self, name: str, found: AnyArray, wanted: AnyArray | float, tolerance: float = 1e-6) -> None:
        """Refuse the file unless sums of an array are what they must be."""
        if not np.allclose(found, wanted, rtol=tolerance, atol=tolerance):
            self.fail(f"the values of the array {name!r} do not add up to what they must")

    def equals(self, name: str, wanted: AnyArray, of: str) -> None:
        """Refuse the file unless an array is the given one."""
        if not np.array_equal(self.arrays[name], wanted):
            self.fail(f"the array {name!r} differs from that of {of}")

    # -- JSON ----------------------------------------------------------------------------------------------------

    def values(
        self, name: str, size: str | int, types: tuple[type, ...] = (str,), *, distinct: bool = True
    ) -> list[Any]:
        """A list that is kept as JSON in an array of bytes."""
        self.expect({name: Expected("u1", (f"bytes of {name}",))})
        try:
            found = json.loads(self.arrays[name].tobytes().decode())
        except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
            self.fail(f"the array {name!r} does not hold JSON ({error})")
        if not isinstance(found, list):
            self.fail(f"the array {name!r} holds {_shown(found)}, expected a list")
        wrong = [value for value in found if not isinstance(value, types) or (distinct and value != value)]
        if wrong:
            self.fail(f"the array {name!r} holds the entry {_shown(wrong[0])}, which cannot be one of its kind")
        if distinct and len({json.dumps(v) if isinstance(v, dict | list) else v for v in found}) != len(found):
            self.fail(f"the array {name!r} has an entry twice")
        wanted = self.sizes.setdefault(size, len(found)) if isinstance(size, str) else size
        if len(found) != wanted:
            self.fail(f"the array {name!r} has {len(found)} entries, expected {wanted}")
        return found

    def whole(self, name: str, low: int = 0, high: int = _LARGEST) -> int:
        """A whole number of the info."""
        value = self.entry(name)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            self.fail(f"{name} is {_shown(value)}, expected a whole number from {low} to {high}")
        return value

    def number(self, name: str, *, positive: bool = False) -> float:
        """A finite number of the info."""
        value = self.entry(name)
        right = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < inf
        if not right or (positive and value <= 0):
            self.fail(f"{name} is {_shown(value)}, expected a {'positive' if positive else 'finite'} number")
        return float(value)

    def flags(self, *names: str) -> None:
        for name in names:
            if not isinstance(self.entry(name), bool):
                self.fail(f"{name} is {_shown(self.info[name])}, expected true or false")

    def choice(self, name: str, choices: Collection[str]) -> str:
        value = self.entry(name)
        if not isinstance(value, str) or value not in choices:
            self.fail(f"{name} is {_shown(value)}, expected one of {', '.join(choices)}")
        return value

    def reading(self) -> None:
        """How a command read the file of the fit, if one did."""
        found = self.info.get("reading")
        if found is not None and not isinstance(found, dict):
            self.fail(f"reading is {_shown(found)}, expected an object")

    def entry(self, name: str) -> Any:
        """What the info has under a name."""
        return self.info[name] if name in self.info else self.fail(f"its info has no {name}")


@contextmanager
def refusing(path: Path) -> Iterator[None]:
    """What is wrong with data from a file is wrong with the file."""
    try:
        yield
    except InputError as error:
        raise StorageError(f"{path} cannot be used: {error} Restore it from a copy.") from error


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "…"


# -- corpora -------------------------------------------------------------------------------------------------------


def check_corpus(path: Path, arrays: Mapping[str, AnyArray], info: Any) -> None:
    """What ``Corpus`` itself does not check: names, types, and what JSON holds."""
    file = Contents(path, arrays, info)
    for name, kind in {"words": "i4", "doc_ptr": "i8"}.items():
        file.expect({name: Expected(kind, (name,))})
    numbers = {"weights": "f8", "responses": "f8", "unknown": "i8"}
    for name, kind in numbers.items():
        file.expect({name: Expected(kind, (name,), low=0 if name == "unknown" else -inf, optional=True)})
    file.values("vocabulary", "V", distinct=False)
    plain = (*SCALARS, type(None))
    texts = {"ids": (str,), "labels": (list,), "groups": (*plain, dict), "times_text": plain}
    for name, types in texts.items():
        if name in arrays:
            file.values(name, f"entries of {name}", types, distinct=False)
    _check_times(file)
    _check_texts(file)
    file.expect_no_others()
    file.flags("ordered", *(("mapped",) if "mapped" in file.info else ()))
    file.entry("text_options")
    file.reading()


def _check_texts(file: Contents) -> None:
    """Bytes of all texts and where each begins, both or neither."""
    present = "texts" in file.arrays or "texts_ptr" in file.arrays
    if not present:
        return
    file.expect({"texts": Expected("u1", ("bytes of texts",)), "texts_ptr": Expected("i8", ("doc_ptr",), low=0)})
    ptr = file.arrays["texts_ptr"]
    if len(ptr) == 0 or ptr[0] != 0 or ptr[-1] != file.sizes["bytes of texts"] or np.any(np.diff(ptr) < 0):
        file.fail("the array 'texts_ptr' does not rise from 0 to the number of bytes of 'texts'")


def _check_times(file: Contents) -> None:
    """Numbers, or dates, whose type is in the info."""
    times, unit = file.arrays.get("times"), file.info.get("times")
    if times is None and unit is None:
        return
    number = times.dtype.kind if times is not None and times.dtype.kind in "uf" else "i"
    file.expect({"times": Expected(number if unit is None else "i8", ("times",), finite=False)})
    try:
        right = unit is None or (isinstance(unit, str) and np.dtype(unit).kind == "M")
    except TypeError:
        right = False
    if not right:
        file.fail(f"times is {_shown(unit)}, expected a type of dates")
