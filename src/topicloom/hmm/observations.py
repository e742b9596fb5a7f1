"""Sequences of numbers, each place a number or a vector: what is read, what may be missing, and what is refused."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from topicloom._types import AnyArray, FloatArray
from topicloom.corpus._checks import shown
from topicloom.corpus.corpus import Corpus
from topicloom.errors import InputError
from topicloom.hmm.sequences import is_missing
from topicloom.hmm.state import Observed
from topicloom.numerics.jit import as_input

_LARGEST = 1e100  # of a number, so that squares of it are numbers


class Numbers(NamedTuple):
    """Sequences of numbers end to end, NaN where one is missing."""

    values: FloatArray  # [N, F]
    doc_ptr: AnyArray
    single: bool = False  # one sequence was given, so one answer is expected


def read_numbers(X: Any, lengths: Any, kind: str, n_features: int | None = None) -> Numbers:
    """Of a matrix of places × features (one sequence), a vector, or a list of these; with ``lengths``, end to end."""
    if sp.issparse(X):
        raise InputError("X is sparse, which is not supported: every number is used. Give X.toarray().")
    if isinstance(X, Corpus | str | bytes | dict | set) or not hasattr(X, "__len__"):
        raise InputError(
            f'X is {type(X).__name__}, and emission="{kind}" needs numbers; give a matrix of places × features, a '
            "vector, or a list of these."
        )
    parts = [X] if lengths is not None or not _is_list(X) else list(X)
    single = lengths is None and not _is_list(X)
    if not parts:
        raise InputError("there are no sequences; give at least one.")
    found = [_matrix(part, "X" if len(parts) == 1 else f"sequence {s}") for s, part in enumerate(parts)]
    widths = {part.shape[1]: s for s, part in reversed(list(enumerate(found))) if len(part)}
    if len(widths) > 1:
        (one, first), (other, second) = sorted(widths.items(), key=lambda pair: pair[1])[:2]
        raise InputError(f"sequence {first} has {one} features and sequence {second} {other}; all must have the same.")
    width = next(iter(widths), n_features or 1)
    if width == 0:
        raise InputError(f"X has 0 feature(s) (shape={found[0].shape}) while a minimum of 1 is required.")
    if n_features is not None and width != n_features:
        vector = " Reshape your data: a vector is a sequence of single numbers." if width == 1 else ""
        raise InputError(f"X has {width} features, but HMM is expecting {n_features} features as input.{vector}")
    values = np.concatenate([part.reshape(-1, width) for part in found])
    sizes = _sizes(lengths, len(values)) if lengths is not None else [len(part) for part in found]
    ptr = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    _check(values, ptr, kind)
    return Numbers(values, ptr, single)


def _is_list(X: Any) -> bool:
    """Whether it is a list of sequences, and not one sequence of numbers."""
    return isinstance(X, list | tuple) and any(isinstance(x, list | tuple | np.ndarray) for x in X)


def _matrix(part: Any, where: str) -> FloatArray:
    if hasattr(part, "to_numpy"):  # frames and their columns, with marks of their own for what is missing
        part = part.to_numpy()
    if isinstance(part, np.ma.MaskedArray):
        part = np.ma.filled(part.astype(np.float64), np.nan)
    if hasattr(part, "dtype") and np.iscomplexobj(part):
        raise InputError(f"Complex data not supported: {where} has complex numbers. Give real and imaginary parts.")
    try:
        values = np.array(part, np.float64)
    except (TypeError, ValueError):
        values = _one_by_one(part, where)
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2:
        raise InputError(f"{where} has {values.ndim} dimensions; give a vector, or a matrix of places × features.")
    return values


def _one_by_one(part: Any, where: str) -> FloatArray:
    """Rows with marks for what is missing that NumPy does not know, or with rows that are None."""
    if not isinstance(part, Sequence | np.ndarray) or isinstance(part, str):
        raise InputError(f"{where} is {shown(part)}; give a vector, or a matrix of places × features.")
    width = max([len(row) for row in part if isinstance(row, list | tuple | np.ndarray)], default=1)
    out = np.full((len(part), width), np.nan)
    for t, row in enumerate(part):
        own = row if isinstance(row, list | tuple | np.ndarray) else [row] * (width if is_missing(row) else 1)
        if len(own) != width:
            raise InputError(f"{where}, place {t} has {len(own)} numbers, and others have {width}; all need the same.")
        for f, x in enumerate(own):
            if not is_missing(x):
                out[t, f] = _number(x, f"{where}, place {t}")
    return out


def _number(x: Any, where: str) -> float:
    try:
        return float(x)
    except (TypeError, ValueError) as error:
        raise InputError(f"{where} has {shown(x)}; give numbers, or None or NaN for what is missing.") from error


def _sizes(lengths: Any, n: int) -> list[int]:
    if isinstance(lengths, str | bytes) or not hasattr(lengths, "__iter__"):
        raise InputError(f"lengths={shown(lengths)} must be a list of whole numbers, the length of each sequence in X.")
    sizes = list(lengths)
    for s, size in enumerate(sizes):
        if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0:
            raise InputError(f"lengths[{s}]={shown(size)} must be a whole number of at least 0: a sequence's length.")
    if sum(sizes) != n or not sizes:
        raise InputError(f"lengths sum to {sum(sizes)} but X has {n} places; give each sequence's length.")
    return [int(size) for size in sizes]


def _check(values: FloatArray, ptr: AnyArray, kind: str) -> None:
    there = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        wrong = there & ~(np.abs(values) <= _LARGEST)
        expected = f"from −{_LARGEST:g} to {_LARGEST:g}"
        if kind in ("poisson", "multinomial"):
            wrong |= there & ((values < 0) | (values != np.floor(values)) | (values > 2**53))
            expected = "whole numbers of at least 0"
    if wrong.any():
        place, feature = map(int, np.argwhere(wrong)[0])
        raise InputError(
            f'{_where(ptr, place)} has {values[place, feature]:g}, and emission="{kind}" takes numbers {expected}; '
            "mark what is missing by NaN."
        )
    if kind in ("multinomial", "gaussian_full"):
        some = there.any(axis=1) & ~there.all(axis=1)
        if some.any():
            other = "" if kind == "multinomial" else ' With emission="gaussian" each number may be missing by itself.'
            raise InputError(
                f"{_where(ptr, int(np.argmax(some)))} has some numbers and lacks others; with "
                f'emission="{kind}" a place is known or missing as a whole. Make all of it NaN.{other}'
            )


def _where(ptr: AnyArray, place: int) -> str:
    s = int(np.searchsorted(ptr, place, "right")) - 1
    return f"sequence {s}, place {place - int(ptr[s])}"


def check_numbers(numbers: Numbers, kind: str) -> None:
    """Refuse numbers of a file that the kind does not take."""
    check_some(numbers)
    _check(numbers.values, numbers.doc_ptr, kind)


def check_some(numbers: Numbers) -> None:
    """Refuse data without a number to learn from."""
    if len(numbers.values) == 0:
        raise InputError("all sequences are empty: there is no number to learn from.")
    nothing = np.isnan(numbers.values).all(axis=0)
    if nothing.any():
        feature = int(np.argmax(nothing))
        raise InputError(f"feature {feature} is missing everywhere: there is nothing to learn from. Leave it out.")


def as_corpus(numbers: Numbers) -> Corpus:
    """The sequences' lengths, as a corpus of one word."""
    return Corpus(np.zeros(len(numbers.values), np.int32), numbers.doc_ptr, ("number",), ordered=True)


def as_rows(numbers: Numbers, kind: str) -> Observed:
    """Places by what they have: counts of the same value are one row."""
    values, n = numbers.values, len(numbers.values)
    if kind in ("poisson", "multinomial") and n:
        known = np.where(np.isnan(values), -1.0, values)
        distinct, rows = np.unique(known, axis=0, return_inverse=True)
        values, rows = np.where(distinct < 0, np.nan, distinct), rows.reshape(-1)
    else:
        rows = np.arange(n)
    ptr = np.asarray(numbers.doc_ptr, np.int64)
    return Observed(as_input(rows.astype(np.int32)), as_input(ptr), as_input(values), len(values))
