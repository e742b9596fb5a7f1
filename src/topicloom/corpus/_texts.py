"""The original texts of documents: kept up to a size; in a file they are bytes, decoded when they are asked for."""

import codecs
from collections.abc import Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np

from topicloom._types import AnyArray, Int64Array
from topicloom.corpus._checks import items, shown
from topicloom.corpus._checks import texts as checked_texts
from topicloom.errors import InputError, StorageError

KEPT_CHARACTERS = 50_000_000  # of all texts together, if nobody says that they are to be kept
_CHUNK = 1 << 24  # bytes looked at together


class KeptTexts:
    """Texts on their way into a corpus: kept as long as they are not too many, all of them or none."""

    def __init__(self, keep: bool | None) -> None:
        if keep is not None and not isinstance(keep, bool | np.bool_):
            raise InputError(f"keep_texts={shown(keep)} must be True, False or None.")
        self._limit = KEPT_CHARACTERS if keep is None else None
        self._found: list[str] | None = None if keep is not None and not keep else []
        self._characters = 0

    def note(self, text: str) -> None:
        """One more text."""
        if self._found is None:
            return
        self._characters += len(text)
        if self._limit is not None and self._characters > self._limit:
            self._found = None
        else:
            self._found.append(text)

    @property
    def wanted(self) -> bool:
        """Whether more texts may still be kept."""
        return self._found is not None

    @property
    def found(self) -> tuple[str, ...] | None:
        return None if self._found is None else tuple(self._found)


class StoredTexts(Sequence[str]):
    """Texts as UTF-8, which lies in memory or in a file: one is decoded when it is asked for.

    It equals any other sequence of the same texts.
    """

    def __init__(self, data: AnyArray, ptr: Int64Array, path: Path | None = None, order: Int64Array | None = None):
        self._data, self._ptr, self._path, self._order = data, ptr, path, order

    def __len__(self) -> int:
        return len(self._ptr) - 1 if self._order is None else len(self._order)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(self._text(d) for d in range(*index.indices(len(self))))
        d = int(index)
        if not -len(self) <= d < len(self):
            raise IndexError(f"document {d} of {len(self)}")
        return self._text(d % len(self))

    def _text(self, d: int) -> str:
        at = d if self._order is None else int(self._order[d])
        try:
            return self._data[self._ptr[at] : self._ptr[at + 1]].tobytes().decode()
        except UnicodeDecodeError as error:
            where = "its texts" if self._path is None else self._path
            raise StorageError(
                f"{where} cannot be used: the text of document {at} is not UTF-8 ({error.reason}). "
                "Restore it from a copy."
            ) from None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StoredTexts | tuple | list):
            return NotImplemented
        return len(self) == len(other) and all(own == text for own, text in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # compared by content

    def __repr__(self) -> str:
        return f"<{len(self)} texts>"

    def take(self, documents: Int64Array) -> "StoredTexts":
        """The texts of these documents; none is read."""
        order = documents if self._order is None else self._order[documents]
        return StoredTexts(self._data, self._ptr, self._path, order)

    def check(self) -> None:
        """Refuse bytes that are not UTF-8, or texts that begin within a character; some bytes at a time."""
        starts = self._ptr[:-1][np.diff(self._ptr) > 0]
        if np.any((self._data[starts] & 0xC0) == 0x80):
            raise InputError("a text begins within a character.")
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            for start in range(0, len(self._data), _CHUNK):
                decoder.decode(self._data[start : start + _CHUNK].tobytes())
            decoder.decode(b"", final=True)
        except UnicodeDecodeError as error:
            raise InputError(f"its texts are not UTF-8 ({error.reason}).") from None

    def arrays(self) -> tuple[AnyArray, Int64Array] | None:
        """Bytes and where each text begins, as they are; None if these are some of the texts, or in another order."""
        return (self._data, self._ptr) if self._order is None else None


def checked(texts: Any) -> Sequence[str]:
    """Texts as a corpus has them: those of a file as they are, others as a tuple of strings that a file can hold."""
    return texts if isinstance(texts, StoredTexts) else checked_texts("texts", items("texts", texts))


def taken(texts: Sequence[str], documents: Int64Array) -> Sequence[str]:
    """The texts of these documents."""
    if isinstance(texts, StoredTexts):
        return texts.take(documents)
    return tuple(texts[d] for d in documents.tolist())


def packed(texts: Sequence[str]) -> tuple[AnyArray, Int64Array]:
    """All texts as UTF-8, and where each begins; the last entry is where they end."""
    as_they_are = texts.arrays() if isinstance(texts, StoredTexts) else None
    if as_they_are is not None:
        return as_they_are
    encoded = [text.encode() for text in texts]
    ptr = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(text) for text in encoded], out=ptr[1:])
    return np.frombuffer(b"".join(encoded), np.uint8), ptr
