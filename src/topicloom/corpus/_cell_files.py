"""Files of single-cell genomics: h5ad, and what 10x Genomics writes, a folder or an HDF5 file.

What a file says of its sizes is compared with what it holds before anything is read, and matrices of HDF5 are read in
parts, so that a file of any size takes the memory of its corpus alone.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from topicloom._types import AnyArray
from topicloom.corpus._cells import Block, Cells, Choice, NotCountsError, compressed, to_corpus
from topicloom.corpus._checks import check_choice, shown
from topicloom.corpus._limits import Limits
from topicloom.corpus._lines import malformed, text_lines
from topicloom.corpus._matrix_files import mtx_matrix
from topicloom.corpus.anndata import blocks_of, finished, metadata, remedy
from topicloom.corpus.corpus import Corpus
from topicloom.errors import InputError, MissingExtraError, counted, there_are

Vocabulary = tuple[str, ...] | None
Blocks = Callable[[], Iterator[Block]]

CELL_OPTIONS = ("binarize", "min_cells", "max_cells")
H5AD_OPTIONS = (*CELL_OPTIONS, "layer", "label_column", "group_column", "response_column", "time_column")
TENX_OPTIONS = (*CELL_OPTIONS, "feature_type")
_MATRICES = ("matrix.mtx.gz", "matrix.mtx")
_FEATURES = ("features.tsv", "genes.tsv", "peaks.bed")
_PER_BYTE = 1 << 16  # values that a byte of a packed file may stand for


# -- h5ad ------------------------------------------------------------------------------------------------------------


def read_h5ad(
    path: Path,
    vocabulary: Vocabulary,
    *,
    layer: str | None = None,
    binarize: bool = False,
    min_cells: int | float = 0,
    max_cells: int | float = 1.0,
    label_column: str | None = None,
    group_column: str | None = None,
    response_column: str | None = None,
    time_column: str | None = None,
) -> Corpus:
    """A file of anndata: its matrix or a layer, the names of cells and features, and columns of ``obs``."""
    columns = {"label": label_column, "group": group_column, "response": response_column, "time": time_column}
    with _opened(path) as file:
        if not all(_is_group(file, name) for name in ("obs", "var")) or ("X" not in file and "layers" not in file):
            raise InputError(
                f"{path} is HDF5 but no h5ad file of anndata 0.7 or later: it has no groups obs and var, or no matrix."
            )
        layers = file["layers"] if _is_group(file, "layers") else {}
        known = ", ".join(map(repr, layers)) or "none"
        if layer is not None and layer not in layers:
            raise InputError(f"layer={shown(layer)}: {path} has no such layer; it has {known}.")
        if layer is None and "X" not in file:
            raise InputError(f"{path} has no X; name the layer that holds the counts with layer=. There are: {known}.")
        cells, features = _index(path, file["obs"]), _index(path, file["var"])
        obs = _columns(path, file["obs"], cells, [name for name in columns.values() if name is not None])
        about = metadata(obs, **columns)
        where = f"{path}: X" if layer is None else f"{path}: the layer {layer!r}"
        matrix = file["X"] if layer is None else layers[layer]
        blocks = _h5_matrix(matrix, (len(cells), len(features)), where)
        others = {"X": file["X"]} if layer is not None and "X" in file else {}
        others |= {name: layers[name] for name in layers if name != layer}
        try:
            corpus = to_corpus(
                Cells(where, blocks, cells, features), Choice(binarize, min_cells, max_cells, vocabulary)
            )
        except NotCountsError as error:
            raise InputError(f"{error}{remedy({n: _Peek(m) for n, m in others.items()}, None, binarize)}") from None
    return finished(corpus, about, layer, binarize, None)


class _Peek:
    """A matrix of HDF5 as ``remedy`` looks at matrices."""

    def __init__(self, item: Any) -> None:
        self.shape = tuple(getattr(item, "shape", ()))
        self._item = item
        if hasattr(item, "keys"):
            self.format, self.group = "csr", item

    def __getitem__(self, rows: slice) -> Any:
        return self._item[rows]


def _h5_matrix(item: Any, shape: tuple[int, int], where: str) -> Blocks:
    """Blocks of a matrix as anndata writes it: a dataset, or a group with its encoding."""
    if not hasattr(item, "keys"):
        if tuple(item.shape) != shape:
            raise InputError(
                f"{where} has shape {tuple(item.shape)}; with the names of obs and var it must be {shape}."
            )
        _check_claim(item, where)
        return blocks_of(item, shape, where)
    encoding = str(item.attrs.get("encoding-type", ""))
    if encoding not in ("csr_matrix", "csc_matrix"):
        raise InputError(f"{where} is stored as {encoding or 'something unknown'!r}, not as a matrix of counts.")
    said = tuple(np.asarray(item.attrs.get("shape", shape)).ravel().tolist())
    if said != shape:
        raise InputError(f"{where} has shape {said}; with the names of obs and var it must be {shape}.")
    return compressed(encoding[:3], _parts(item, where), shape)


def _parts(group: Any, where: str) -> dict[str, Any]:
    """The three datasets of a sparse matrix."""
    found = {name: group.get(name) for name in ("data", "indices", "indptr")}
    for name, part in found.items():
        if not hasattr(part, "shape"):
            raise InputError(f"{where} is damaged: it has no {name}. Write the file again.")
        _check_claim(part, f"{where}/{name}")
    return found


def _check_claim(dataset: Any, where: str) -> None:
    """Refuse a dataset that claims more values than its bytes can stand for."""
    stored = int(dataset.id.get_storage_size())
    if dataset.size > stored * _PER_BYTE:
        raise InputError(
            f"{where} claims {counted(int(dataset.size), 'entries')} and has {stored} bytes: it is damaged."
        )


def _is_group(file: Any, name: str) -> bool:
    return name in file and hasattr(file[name], "keys")


def _index(path: Path, frame: Any) -> tuple[str, ...]:
    """The names of rows of a data frame as anndata writes it."""
    name = frame.attrs.get("_index", "_index")
    name = name.decode() if isinstance(name, bytes) else str(name)
    if name not in frame:
        raise InputError(f"{path}: {frame.name} has no names; expected them in {name!r}.")
    return tuple(map(str, _strings(path, frame[name])))


def _strings(path: Path, item: Any) -> Sequence[Any]:
    """A vector of strings: a dataset, or a group of values with a mask."""
    dataset = item["values"] if hasattr(item, "keys") and "values" in item else item
    if len(getattr(dataset, "shape", ())) != 1:
        raise InputError(f"{path}: {item.name} must be a vector of names.")
    _check_claim(dataset, f"{path}: {item.name}")
    values = dataset.asstr()[:] if dataset.dtype.kind in "OS" else dataset[:]
    return list(values)


def _columns(path: Path, frame: Any, cells: Sequence[str], names: list[str]) -> Any:
    """Columns of ``obs`` as a data frame; no other is read."""
    if not names:
        return None
    import pandas as pd

    try:
        from anndata.io import read_elem
    except ImportError:
        raise _needs("anndata") from None
    known = [name for name in frame if name != frame.attrs.get("_index", "_index")]
    read = {}
    for name in dict.fromkeys(names):
        if name not in known:
            raise InputError(
                f"{path}: obs has no column {shown(name)}; it has {', '.join(map(repr, known)) or 'none'}."
            )
        values = read_elem(frame[name])
        if len(values) != len(cells):
            raise InputError(
                f"{path}: the column {name!r} has {len(values)} entries for {counted(len(cells), 'cells')}."
            )
        read[name] = values
    return pd.DataFrame(read)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """A file of HDF5; whatever is wrong with it is an error of ours."""
    try:
        import h5py
    except ImportError:
        raise _needs("h5py") from None
    try:
        with h5py.File(path, "r") as file:
            yield file
    except (InputError, MissingExtraError, MemoryError):
        raise
    except Exception as error:  # h5py and anndata have many ways to say that a file is damaged
        reason = (str(error) or type(error).__name__).splitlines()[0][:200]
        raise InputError(f"{path}: not a readable HDF5 file: {reason}. Fetch or write it again.") from None


def _needs(package: str) -> MissingExtraError:
    return MissingExtraError(f"reading this file needs {package}; install it with pip install 'topicloom[cells]'.")


# -- 10x Genomics ----------------------------------------------------------------------------------------------------


def read_10x(
    path: Path,
    vocabulary: Vocabulary,
    *,
    binarize: bool = False,
    min_cells: int | float = 0,
    max_cells: int | float = 1.0,
    feature_type: str | None = None,
) -> Corpus:
    """What Cell Ranger writes: a folder with matrix, features and barcodes, or a ``.h5`` file of all three."""
    choice = Choice(binarize, min_cells, max_cells, vocabulary)
    if path.is_dir():
        corpus = _chosen(path, _folder(path), feature_type, choice)
    else:
        with _opened(path) as file:
            corpus = _chosen(path, _h5_file(path, file), feature_type, choice)
    return finished(corpus, {}, None, binarize, None)


def is_10x(folder: Path) -> bool:
    """Whether a folder holds a matrix of 10x Genomics."""
    return any((folder / name).is_file() for name in _MATRICES)


Found = tuple[Blocks, list[str], list[tuple[str, str, str]]]  # matrix, cells, features: id, name, type


def _chosen(path: Path, found: Found, feature_type: str | None, choice: Choice) -> Corpus:
    blocks, cells, features = found
    types = Counter(kind for _, _, kind in features)
    if feature_type is not None:
        check_choice("feature_type", feature_type, sorted(types))
    elif len(types) > 1:
        listed = ", ".join(f"{kind!r} ({n:,})" for kind, n in types.items())
        raise InputError(f"{path} has features of several types: {listed}. Name one of them with feature_type=.")
    names = _distinct(features)
    chosen = None if feature_type is None else np.array([kind == feature_type for _, _, kind in features], bool)
    return to_corpus(Cells(str(path), blocks, tuple(cells), names, chosen), choice)


def _distinct(features: Sequence[tuple[str, str, str]]) -> tuple[str, ...]:
    """Names of features; one that several share gets its id."""
    often = Counter(name for _, name, _ in features)
    return tuple(name if often[name] == 1 else f"{name} ({id})" for id, name, _ in features)


def _folder(path: Path) -> Found:
    matrix = next((path / name for name in _MATRICES if (path / name).is_file()), None)
    if matrix is None:
        raise InputError(f"{path} has no matrix.mtx or matrix.mtx.gz; expected a folder as Cell Ranger writes it.")
    file = _beside(path, _FEATURES)
    cells = [line.rstrip("\r\n").split("\t")[0] for line in text_lines(_beside(path, ("barcodes.tsv",)))]
    features = list(_bed(file) if ".bed" in file.suffixes else _tsv(file))
    counts = mtx_matrix(matrix, Limits(matrix, None), named=True, transpose=True)
    for name, n, have in (("cells", len(cells), counts.shape[0]), ("features", len(features), counts.shape[1])):
        if n != have:
            raise InputError(f"{path}: {matrix.name} has {counted(have, name)}, and {there_are(n, 'names')} of them.")
    return blocks_of(counts, counts.shape, str(matrix)), cells, features


def _beside(path: Path, names: Sequence[str]) -> Path:
    for name in names:
        for file in (path / f"{name}.gz", path / name):
            if file.is_file():
                return file
    raise InputError(f"{path} has no {' or '.join(names)}, plain or gzipped, beside its matrix.")


def _tsv(path: Path) -> Iterator[tuple[str, str, str]]:
    """Features: id, name and, in files of Cell Ranger 3 and later, type."""
    for number, line in enumerate(text_lines(path), 1):
        fields = line.rstrip("\r\n").split("\t")
        if not fields[0] or not fields[min(1, len(fields) - 1)]:
            raise malformed(path, number, line, "a feature: its id, its name and its type, separated by tabs")
        yield fields[0], fields[min(1, len(fields) - 1)], fields[2] if len(fields) > 2 else ""


def _bed(path: Path) -> Iterator[tuple[str, str, str]]:
    for number, line in enumerate(text_lines(path), 1):
        if line.startswith("#"):
            continue
        fields = line.split()
        if len(fields) < 3 or not re.fullmatch(r"\d+", fields[1]) or not re.fullmatch(r"\d+", fields[2]):
            raise malformed(path, number, line, "a region: chromosome, start and end")
        name = f"{fields[0]}:{fields[1]}-{fields[2]}"
        yield name, name, "Peaks"


def _h5_file(path: Path, file: Any) -> Found:
    """Cell Ranger's HDF5: the group ``matrix`` of version 3, or the one genome of version 2."""
    groups = [name for name in file if _is_group(file, name)]
    if len(groups) != 1:
        raise InputError(
            f"{path} has {counted(len(groups), 'groups')}; expected the one group of a matrix that Cell Ranger writes."
        )
    group = file[groups[0]]
    names: Mapping[str, Any] = group["features"] if _is_group(group, "features") else group
    keys = ("id", "name", "feature_type") if names is not group else ("genes", "gene_names", None)
    for key in (*keys[:2], "barcodes", "shape"):
        if key not in (group if key in ("barcodes", "shape") else names):
            raise InputError(
                f"{path}: the group {groups[0]!r} has no {key}; expected a matrix that Cell Ranger writes."
            )
    ids, titles = (_strings(path, names[str(key)]) for key in keys[:2])
    kinds = _strings(path, names[keys[2]]) if keys[2] is not None and keys[2] in names else [""] * len(ids)
    cells = list(map(str, _strings(path, group["barcodes"])))
    shape: AnyArray = np.asarray(group["shape"][:])
    if not len(ids) == len(titles) == len(kinds) or shape.tolist() != [len(ids), len(cells)]:
        raise InputError(
            f"{path}: the matrix has shape {shape.tolist()}, with {counted(len(ids), 'features')} and "
            f"{counted(len(cells), 'cells')}; features × cells must agree."
        )
    blocks = compressed("csr", _parts(group, str(path)), (len(cells), len(ids)))
    return blocks, cells, [(str(i), str(n), str(k)) for i, n, k in zip(ids, titles, kinds, strict=True)]
