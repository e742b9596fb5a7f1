"""Why something is no matrix of counts: what is wrong, where, and what to do. Looked into only once it is refused."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from topicloom._types import AnyArray
from topicloom.corpus._checks import shown
from topicloom.errors import InputError, InputTypeError, counted

KINDS = "an array, a scipy sparse matrix, a data frame or a list of rows"
_TEXTS = "give them as a list of strings, such as list(X), or make a corpus of them with topicloom.from_texts"


def why_no_counts(X: Any) -> InputError | None:
    """The reason for which X is no documents × words matrix of counts, or None if there is none."""
    if isinstance(X, np.matrix):
        return InputTypeError("X is an np.matrix; give an array, np.asarray(X).")
    if isinstance(X, list | tuple) and (wrong := _wrong_list(X)):
        return InputError(wrong)
    if (is_sparse := bool(sp.issparse(X))) and X.ndim == 2:
        return _wrong_size(X) or _wrong_sparse(X)
    try:
        values = np.empty(X.shape) if is_sparse else np.asarray(X)
    except Exception as error:  # of whatever made the object
        return InputError(f"X cannot be made an array ({error}); expected {KINDS}.")
    return _wrong_dimensions(values) or _wrong_size(values) or _wrong_type(X, values)


def _wrong_list(X: Any) -> str | None:
    if not X:
        return f"X is an empty {type(X).__name__}; give a documents × words matrix of counts, or a list of texts."
    if isinstance(X[0], str | bytes):
        strange = next((i for i, text in enumerate(X) if not isinstance(text, str)), None)
        if strange is None:
            return "X is a list of texts, not a matrix of counts; make a corpus of it with topicloom.from_texts(X)."
        return f"entry {strange} of the list is {shown(X[strange])}; every text must be a string."
    lengths = [len(row) if hasattr(row, "__len__") else None for row in X]
    if (other := next((i for i, n in enumerate(lengths) if n != lengths[0]), 0)) and None not in lengths:
        found = counted(lengths[other] or 0, "entries")
        return f"row {other} of the list has {found}, and row 0 has {lengths[0]}; all need the same."
    return None


def _wrong_dimensions(values: AnyArray) -> InputError | None:
    if values.ndim == 2:
        return None
    expected = "expected a documents × words matrix of counts with 2 dimensions"
    first = values.flat[0] if values.size else None
    if values.dtype.kind in "USO" and isinstance(first, str | bytes):
        return InputError(f"X is an array of texts of shape {values.shape}; {_TEXTS}.")
    if values.ndim == 0:
        return InputError(f"X is {shown(values[()])}; {expected}.")
    remedy = " Reshape your data: a single document is X.reshape(1, -1)." if values.ndim == 1 else ""
    return InputError(f"X has shape {values.shape}; {expected}.{remedy}")


def _wrong_size(values: Any) -> InputError | None:
    for what, n, axis in (("sample", "document", 0), ("feature", "word", 1)):
        if values.shape[axis] == 0:
            return InputError(
                f"X has 0 {what}(s) (shape={values.shape}) while a minimum of 1 is required; give at least one {n}."
            )
    return None


def _wrong_sparse(X: Any) -> InputError | None:
    entries = X.tocoo()
    if (wrong := _wrong_kind(entries.data)) is not None:
        return wrong
    bad = _bad_counts(entries.data)
    if bad is None:
        return None
    return _wrong_count(int(entries.row[bad]), f"column {entries.col[bad]}", entries.data[bad])


def _wrong_type(X: Any, values: AnyArray) -> InputError | None:
    if values.dtype.kind in "USO":
        for (doc, j), value in np.ndenumerate(values):
            if not _is_number(value):
                return _no_number(X, doc, _column(X, j), value)
        values = values.astype(np.float64)
    if (wrong := _wrong_kind(values)) is not None:
        return wrong
    bad = _bad_counts(values.ravel())
    if bad is None:
        return None
    doc, j = divmod(bad, values.shape[1])
    return _wrong_count(doc, _column(X, j), values[doc, j])


def _wrong_kind(values: AnyArray) -> InputError | None:
    if values.dtype.kind == "c":
        return InputError(f"Complex data not supported: X holds {values.dtype} values; counts must be numbers.")
    if values.dtype.kind not in "buif":
        return InputTypeError(f"X holds {values.dtype} values; counts must be numbers.")
    return None


def _bad_counts(values: AnyArray) -> int | None:
    """Where the first value stands that is no count."""
    bad = values < 0
    if values.dtype.kind == "f":
        bad |= ~np.isfinite(values)
    return int(np.argmax(bad)) if np.any(bad) else None


def _wrong_count(doc: int, column: str, value: Any) -> InputError:
    if value < 0 and np.isfinite(value):
        return InputError(f"Negative values in data: document {doc}, {column} is {value}; counts must be 0 or more.")
    missing = " Fill missing counts with 0." if np.isnan(value) else ""
    name = "NaN" if np.isnan(value) else str(value)
    return InputError(f"document {doc}, {column}: the count is {name}; counts must be finite.{missing}")


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _no_number(X: Any, doc: int, column: str, value: Any) -> InputError:
    where = f"document {doc}, {column}"
    if isinstance(value, str | bytes):
        named = column.removeprefix("column ") if hasattr(X, "columns") else None
        remedy = f"read the frame with topicloom.from_frame(X, text={named})" if named else _TEXTS
        return InputError(f"{where}: found {shown(value)}; counts must be numbers. If X holds texts, {remedy}.")
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return InputError(f"{where}: the count is missing (NaN); fill it with 0.")
    return InputTypeError(
        f"{where}: found {shown(value)}, a {type(value).__name__}; every entry of the argument must be a number, or a "
        "string of a number."
    )


def _column(X: Any, j: int) -> str:
    names = getattr(X, "column_names", None) or getattr(X, "columns", None)
    if names is None or len(names) <= j:
        return f"column {j}"
    return f"column {names[j]!r}"
