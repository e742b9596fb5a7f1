"""Sparse matrices of scipy: the archive, the arrays in it, and what they say."""

import io
import random
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from tests.fuzz.mutate import damaged_bytes
from tests.fuzz.naive import Expected, attempted
from topicloom.corpus.formats import read

SHARE = 0.4
_TYPES = (
    "int32",
    "int64",
    "uint8",
    "bool",
    "float32",
    "float64",
    "uint64",
    ">i4",
    "complex64",
    "S3",
    "float16",
    "int8",
)


def write(rng: random.Random, folder: Path) -> None:
    write_npz(rng, folder / "a.npz")


def write_npz(rng: random.Random, path: Path) -> None:
    arrays = _arrays(rng)
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        _damage(rng, arrays)
    buffer = io.BytesIO()
    how = zipfile.ZIP_DEFLATED if rng.random() < 0.5 else zipfile.ZIP_STORED
    with zipfile.ZipFile(buffer, "w", how) as archive:
        for name, array in arrays.items():
            inner = io.BytesIO()
            np.lib.format.write_array(inner, np.asarray(array), allow_pickle=False)
            content = inner.getvalue()
            archive.writestr(f"{name}.npy", damaged_bytes(rng, content) if rng.random() < 0.05 else content)
    content = buffer.getvalue()
    path.write_bytes(damaged_bytes(rng, content) if rng.random() < 0.3 else content)


def _arrays(rng: random.Random) -> dict[str, Any]:
    """The arrays of a small matrix in a format by chance."""
    format = rng.choice(("csr", "csc", "bsr", "coo", "dia"))
    n_docs, n_words = rng.randrange(1, 6), rng.randrange(1, 7)
    out: dict[str, Any] = {"format": np.array(format.encode())}
    if format in ("csr", "csc"):
        major, minor = (n_docs, n_words) if format == "csr" else (n_words, n_docs)
        rows = [[rng.randrange(minor) for _ in range(rng.randrange(4))] for _ in range(major)]
        indptr = np.cumsum([0, *map(len, rows)])
        out |= {"indices": np.array([j for row in rows for j in row], np.int32), "indptr": indptr.astype(np.int32)}
        out["data"] = np.array([rng.randrange(5) for _ in range(indptr[-1])])
    elif format == "bsr":
        n_docs, n_words = 2 * n_docs, 3 * n_words
        rows = [[rng.randrange(n_words // 3) for _ in range(rng.randrange(2))] for _ in range(n_docs // 2)]
        indptr = np.cumsum([0, *map(len, rows)])
        out |= {"indices": np.array([j for row in rows for j in row], np.int32), "indptr": indptr.astype(np.int32)}
        out["data"] = np.array([rng.randrange(3) for _ in range(6 * indptr[-1])]).reshape(-1, 2, 3)
    elif format == "coo":
        n = rng.randrange(9)
        out |= {"row": np.array([rng.randrange(n_docs) for _ in range(n)], np.int32)}
        out |= {"col": np.array([rng.randrange(n_words) for _ in range(n)], np.int32)}
        out["data"] = np.array([rng.randrange(5) for _ in range(n)])
    else:
        offsets = rng.sample(range(-n_docs, n_words), rng.randrange(3))
        out["offsets"] = np.array(offsets, np.int32)
        out["data"] = np.array([rng.randrange(3) for _ in range(len(offsets) * n_words)]).reshape(-1, n_words)
    out["shape"] = np.array([n_docs, n_words])
    out["data"] = out["data"].astype(rng.choice(_TYPES[:8]))
    return out


def _damage(rng: random.Random, arrays: dict[str, Any]) -> None:
    name = rng.choice(sorted(arrays))
    array = np.asarray(arrays[name])
    how = rng.randrange(7)
    np.seterr(invalid="ignore", over="ignore")
    if how == 0:
        arrays.pop(name)
    elif how == 1 and array.dtype.kind in "iuf" and array.size:
        flat = array.astype(np.int64).ravel()
        flat[rng.randrange(flat.size)] = rng.choice((-1, 0, 1, 7, 300, 10**6 * 3, 2**31 - 1, 2**31, 2**40, -(2**62)))
        arrays[name] = flat.reshape(array.shape)
    elif how == 2:
        arrays[name] = (
            array.astype(rng.choice(_TYPES)) if array.dtype.kind in "buif" else np.array(rng.choice((b"x", b"lil")))
        )
    elif how == 3:
        arrays[name] = array.reshape(-1)[: rng.randrange(array.size + 1)]
    elif how == 4:
        arrays[name] = np.concatenate((array.reshape(-1), array.reshape(-1)))
    elif how == 5:
        arrays[name] = array.reshape(*rng.choice(((1, *array.shape), (*array.shape, 1))))
    elif array.dtype.kind in "iuf":
        arrays[name] = np.where(rng.random() < 0.5, np.nan, 0.5) + array.astype(float)


def attempt(folder: Path) -> str:
    return attempted(lambda: read(folder / "a.npz"), lambda: parse(folder / "a.npz"))


def parse(path: Path) -> Expected:
    """The arrays by numpy's own reader, the matrix entry by entry."""
    with zipfile.ZipFile(path) as archive:
        arrays = {}
        for name in archive.namelist():
            try:
                arrays[name.removesuffix(".npy")] = np.lib.format.read_array(io.BytesIO(archive.read(name)))
            except Exception:  # one that the format does not use may be damaged
                continue
    format = arrays["format"].item()
    format = format if isinstance(format, str) else format.decode()
    n_docs, n_words = arrays["shape"].tolist()
    rows: list[dict[int, float]] = [{} for _ in range(n_docs)]
    for i, j, value in _entries(format, arrays, n_docs, n_words):
        assert i >= 0
        assert 0 <= j < n_words
        rows[i][j] = rows[i].get(j, 0.0) + float(value)
    return Expected(counts=rows, vocabulary=[f"word{v}" for v in range(n_words)])


def _entries(format: str, arrays: dict[str, Any], n_docs: int, n_words: int) -> list[tuple[int, int, float]]:
    data = arrays["data"].tolist()
    if format == "coo":
        return list(zip(arrays["row"].tolist(), arrays["col"].tolist(), data, strict=True))
    if format == "dia":
        cells = [
            (j - k, j, row[j]) for k, row in zip(arrays["offsets"].tolist(), data, strict=True) for j in range(len(row))
        ]
        return [(i, j, value) for i, j, value in cells if 0 <= i < n_docs and j < n_words]
    indptr, indices = arrays["indptr"].tolist(), arrays["indices"].tolist()
    places = [(major, e) for major in range(len(indptr) - 1) for e in range(indptr[major], indptr[major + 1])]
    if format == "csr":
        return [(i, indices[e], data[e]) for i, e in places]
    if format == "csc":
        return [(indices[e], j, data[e]) for j, e in places]
    _, height, width = arrays["data"].shape
    inner = [(a, b) for a in range(height) for b in range(width)]
    return [(i * height + a, indices[e] * width + b, data[e][a][b]) for i, e in places for a, b in inner]
