"""Matrices of any kind to CSR, checked first: compiled code that follows a wrong index does not come back."""

from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp

from topicloom._types import AnyArray
from topicloom.corpus._checks import shown
from topicloom.corpus._limits import FREE, PER_ENTRY
from topicloom.corpus._refused import KINDS, why_no_counts
from topicloom.errors import InputError

_LARGEST = np.iinfo(np.int32).max
_NUMBERS = "counts must be numbers"
Shape = tuple[int, int]


def check_matrix_like(X: Any) -> None:
    """Refuse what only looks like a matrix: to make an array of it would take it apart, element by element."""
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        where = np.argwhere(np.ma.getmaskarray(X))[0].tolist()
        raise InputError(
            f"the entry at {where} is masked, which is no count; fill the array first, for instance X.filled(0)."
        )
    if sp.issparse(X) or isinstance(X, np.generic | int | float) or has_array(X):
        return
    if isinstance(X, list | tuple):
        for i, row in enumerate(X):
            if not (isinstance(row, list | tuple | str | bytes | np.generic | int | float) or has_array(row)):
                texts = isinstance(X[0], str)
                expected = "every text must be a string" if texts else "expected a row of numbers"
                raise InputError(f"entry {i} of the list is {shown(row)}; {expected}.")
        return
    if hasattr(X, "X") and hasattr(X, "var_names"):
        raise InputError(
            f"{type(X).__name__} is not a matrix; read it with topicloom.from_anndata(adata), or give its counts and "
            "names: topicloom.from_matrix(adata.X, list(adata.var_names), ids=list(adata.obs_names))."
        )
    raise InputError(
        f"X is of the type {type(X).__name__}; expected a documents × words matrix ({KINDS}), a list of texts, "
        "or a Corpus."
    )


def has_array(X: Any) -> bool:
    return any(hasattr(type(X), name) for name in ("__array__", "__array_interface__", "__dataframe__"))


def as_csr(X: Any) -> Any:
    """A documents × words matrix in canonical CSR form, whatever it was before. Values are checked elsewhere."""
    if sp.issparse(X):
        return _sparse_csr(X)
    check_matrix_like(X)
    try:
        dense = np.asarray(X)
    except Exception as error:  # of whatever made the object
        raise (why_no_counts(X) or InputError(f"X cannot be made an array: {error}.")) from None
    plain = dense.ndim == 2 and dense.dtype.kind in "buif"
    if not plain or (dense.dtype.kind == "f" and not np.all(np.isfinite(dense))):
        if (wrong := why_no_counts(X)) is not None:
            raise wrong
        _check_numbers(dense)
    return sp.csr_array(_native(dense))


def _sparse_csr(X: Any) -> Any:
    if X.ndim != 2:
        raise InputError(f"expected a documents × words matrix with 2 dimensions, got {X.ndim}.")
    format, parts = X.format, {}
    if format in ("csr", "csc", "bsr"):
        parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr}
    elif format == "dia":
        parts = {"data": X.data, "offsets": X.offsets}
    elif format == "lil":
        format, parts = "coo", _lil_parts(X)
    else:
        other = X.tocoo() if format == "dok" else X
        format, parts = "coo", {"data": other.data, "row": other.row, "col": other.col}
        if X.shape[0] > max(FREE, PER_ENTRY * len(other.data)):
            raise InputError(
                f"the matrix has {X.shape[0]:,} rows for {len(other.data):,} entries; "
                "give it as X.tocsr() if that is right."
            )
    return csr_from_parts(format, parts, X.shape)


def _lil_parts(X: Any) -> dict[str, AnyArray]:
    sizes = [len(columns) for columns in X.rows]
    if sizes != [len(values) for values in X.data]:
        raise InputError("the matrix is damaged: a row has more columns than values, or fewer.")
    values, columns = (np.array(list(chain.from_iterable(rows))) for rows in (X.data, X.rows))
    row = np.repeat(np.arange(len(sizes)), sizes)
    empty = not len(values)  # an array of nothing has floats
    return {"data": values.astype(X.dtype) if empty else values, "row": row, "col": columns.astype(int)}


# -- from the arrays of a sparse matrix --------------------------------------------------------------------------


def csr_from_parts(format: str, parts: Mapping[str, AnyArray], shape: Shape, *, transpose: bool = False) -> Any:
    """A canonical CSR matrix from the arrays that scipy's formats have, under scipy's names for them."""
    data = parts["data"]
    _check_numbers(data)
    if format in ("bsr", "dia"):
        format, parts = "coo", (_bsr_parts if format == "bsr" else _dia_parts)(parts, shape)
    if transpose:
        shape = shape[::-1]
        format = {"csr": "csc", "csc": "csr", "coo": "coo"}[format]
        if format == "coo":
            parts = {"data": parts["data"], "row": parts["col"], "col": parts["row"]}
    if format == "coo":
        data = parts["data"]
        if data.ndim != 1:
            raise _damaged(f"its data are {_about(data)}; expected a value for each entry")
        data = _wide(data)
        for name, limit in (("row", shape[0]), ("col", shape[1])):
            _check_indices(name, parts[name], limit, len(data))
        return sp.coo_array((data, (parts["row"], parts["col"])), shape=shape).tocsr()
    n_major, n_minor = shape if format == "csr" else shape[::-1]
    indptr, indices, values = _check_compressed(parts, n_major, n_minor)
    if values.ndim != 1:
        raise _damaged(f"its data are {_about(values)}; expected a value for each entry")
    if format == "csc":
        matrix = sp.csc_array((_wide(values), indices, indptr), shape=shape).tocsr()
        matrix.sum_duplicates()
        return matrix
    matrix = sp.csr_array((_native(values), indices, indptr), shape=shape)  # a new one: its flags are not yet set
    if not matrix.has_canonical_format:
        matrix = sp.csr_array((_wide(values), indices, indptr), shape=shape, copy=True)
        matrix.sum_duplicates()
    return matrix


def _wide(data: AnyArray) -> AnyArray:
    """The values in a type in which they can be summed: small ones wrap around, and booleans count once."""
    if data.dtype.kind in "iu" and len(data) and (data.max() > _LARGEST or data.min() < -_LARGEST):
        where = int(np.argmax((data > _LARGEST) | (data < -_LARGEST)))
        raise InputError(f"entry {where} of the matrix is {data[where]}; counts must be 0 or more, and below 2**31.")
    return data.astype(np.float64 if data.dtype.kind == "f" else np.int64, copy=False)


def _native(data: AnyArray) -> AnyArray:
    """The values in this machine's byte order and a type that sparse matrices have."""
    if data.dtype.kind == "f" and data.dtype.itemsize not in (4, 8):
        return data.astype(np.float64)
    if data.dtype.kind == "b":
        return data.astype(np.int64)
    return data if data.dtype.isnative else data.astype(data.dtype.newbyteorder("="))


def _check_numbers(data: AnyArray) -> None:
    if data.dtype.kind not in "buif":
        raise InputError(f"the matrix holds {data.dtype} values; {_NUMBERS}.")


def _check_indices(name: str, indices: AnyArray, limit: int, length: int) -> None:
    if indices.ndim != 1 or indices.dtype.kind not in "iu" or len(indices) != length:
        raise _damaged(f"its {name} must be {length} whole numbers, and is {_about(indices)}")
    if length and (indices.min() < 0 or indices.max() >= limit):
        where = int(np.argmax((indices < 0) | (indices >= limit)))
        raise _damaged(f"entry {where} of its {name} is {indices[where]}, outside 0 to {limit - 1}")


def _check_compressed(parts: Mapping[str, AnyArray], n_major: int, n_minor: int) -> tuple[AnyArray, AnyArray, AnyArray]:
    """(indptr, indices, data) with as many entries as indptr says."""
    indptr, indices, data = (parts[name] for name in ("indptr", "indices", "data"))
    if indptr.ndim != 1 or indptr.dtype.kind not in "iu" or len(indptr) != n_major + 1:
        raise _damaged(f"its indptr must be {n_major + 1} whole numbers, and is {_about(indptr)}")
    if indptr[0] != 0 or np.any(indptr[1:] < indptr[:-1]):
        raise _damaged("its indptr must rise from 0")
    n = int(indptr[-1])
    if indices.ndim != 1 or len(indices) != len(data) or n > len(indices):
        raise _damaged(
            f"its indptr ends at {n}, its indices are {_about(indices)} and its data {_about(data)}; they must agree"
        )
    _check_indices("indices", indices[:n], n_minor, n)
    return _signed(indptr), _signed(indices[:n]), data[:n]


def _signed(indices: AnyArray) -> AnyArray:
    """Checked indices in a type that mixes with others."""
    return indices.astype(np.int64) if indices.dtype.kind == "u" else indices


def _bsr_parts(parts: Mapping[str, AnyArray], shape: Shape) -> dict[str, AnyArray]:
    data = parts["data"]
    if data.ndim != 3 or 0 in data.shape[1:] or shape[0] % data.shape[1] or shape[1] % data.shape[2]:
        raise _damaged(f"its blocks have shape {data.shape}, into which {shape} cannot be divided")
    _, height, width = data.shape
    indptr, indices, blocks = _check_compressed(parts, shape[0] // height, shape[1] // width)
    row = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))[:, None, None] * height + np.arange(height)[:, None]
    col = indices.astype(np.int64)[:, None, None] * width + np.arange(width)
    row, col = np.broadcast_to(row, blocks.shape), np.broadcast_to(col, blocks.shape)
    return {"data": blocks.ravel(), "row": row.ravel(), "col": col.ravel()}


def _dia_parts(parts: Mapping[str, AnyArray], shape: Shape) -> dict[str, AnyArray]:
    data, offsets = parts["data"], parts["offsets"]
    if data.ndim != 2 or offsets.ndim != 1 or offsets.dtype.kind not in "iu" or len(offsets) != len(data):
        raise _damaged(
            f"its data are {_about(data)} and its offsets {_about(offsets)}; expected an offset for each row"
        )
    if len(np.unique(offsets)) != len(offsets):
        raise _damaged("it has one offset twice")
    if np.any(np.abs(offsets.astype(np.float64)) > 2**40):
        raise _damaged("it has an offset beyond its shape")
    col = np.arange(data.shape[1])
    row = col - offsets.astype(np.int64)[:, None]
    inside = (row >= 0) & (row < shape[0]) & (col < shape[1])
    return {"data": data[inside], "row": row[inside], "col": np.broadcast_to(col, data.shape)[inside]}


def _about(array: AnyArray) -> str:
    return f"of shape {array.shape} and type {array.dtype}"


def _damaged(why: str) -> InputError:
    return InputError(f"the sparse matrix is damaged: {why}. Make it anew.")
