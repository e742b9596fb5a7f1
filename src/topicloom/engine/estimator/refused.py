"""Why a target y cannot be used, in our own words: which entry, what it is, what was expected."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp

from topicloom.corpus._checks import shown
from topicloom.corpus._columns import is_missing
from topicloom.errors import InputError, counted, there_are, warn

CLASSES = "expected one class per document, a string or a whole number, or one list of label names per document"
NUMBERS = "expected one finite number per document"


@contextmanager
def in_own_words(y: Any, expected: str) -> Iterator[None]:
    """What scikit-learn refuses, told in our own words."""
    try:
        yield
    except (InputError, MemoryError):
        raise
    except Exception as error:  # or of whatever made y
        raise InputError(f"{_wrong(y, expected == NUMBERS)}; {expected}.") from error


def check_entries(y: Any, n_docs: int) -> None:
    """Refuse a list or an array of another length."""
    sized = hasattr(y, "__len__") and not isinstance(y, str | bytes | Mapping) and not sp.issparse(y)
    if sized and getattr(y, "ndim", 1) > 0 and len(y) != n_docs:
        raise InputError(f"y has {counted(len(y), 'entries')} but {there_are(n_docs, 'documents')}; give one for each.")


def plain_values(y: Any) -> Any:
    """The values in one dimension; none may be masked, or a date, whose number would mean nothing."""
    if np.ma.is_masked(y) or (hasattr(y, "dtype") and np.asarray(y).dtype.kind in "mM"):
        raise ValueError("masked values or dates")
    if sp.issparse(y) or np.asarray(y).shape[1:] != (1,):
        return y
    from sklearn.exceptions import DataConversionWarning

    warn(
        "A column-vector y was passed when a 1d array was expected: it is read as one value per document.",
        DataConversionWarning,
    )
    return np.asarray(y).ravel()


def _wrong(y: Any, numbers: bool) -> str:
    if isinstance(y, str | bytes | Mapping) or not hasattr(y, "__len__") or not hasattr(y, "__iter__"):
        return f"y is {shown(y)}"
    if sp.issparse(y):
        return "y is a sparse matrix"
    shape = y.shape if hasattr(y, "shape") else (len(y),)
    if len(shape) > 1 and shape[1:] != (1,):
        return f"y has shape {tuple(shape)}"
    values = y if isinstance(y, list | tuple | np.ma.MaskedArray) else np.asarray(y).ravel()
    kind = getattr(y, "dtype", "mixed")
    other = f"Unknown label type: y is an array of {kind} values" if len(values) else "y is empty"
    return next((found for i, value in enumerate(values) if (found := _wrong_entry(i, value, numbers))), other)


def _wrong_entry(i: int, value: Any, numbers: bool) -> str | None:
    plain = value.item() if isinstance(value, np.number | np.str_ | np.bytes_ | np.bool_) else value
    if value is np.ma.masked or is_missing(value):
        return f"entry {i} of y is missing ({shown(value)})"
    if not isinstance(plain, int | float | str) or (numbers and isinstance(plain, str)):
        return f"{'' if numbers else 'Unknown label type: '}entry {i} of y is {shown(value)}"
    if isinstance(plain, float) and np.isinf(plain):
        return f"entry {i} of y is infinite"
    if isinstance(plain, float) and not numbers:
        return f"y is continuous (entry {i} is {shown(value)}), which MedLDARegressor is for"
    return None
