"""Files of single-cell genomics: h5ad and 10x give the same corpus as their matrix, and damaged ones are refused."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

pytest.importorskip("anndata", reason="files of HDF5 need the extra cells")

import anndata
import h5py
import pandas as pd

from topicloom import from_matrix, read
from topicloom.errors import InputError

COUNTS = np.random.default_rng(2).poisson(0.7, (9, 6))
CELLS = tuple(f"AAAC{d}-1" for d in range(9))
REGIONS = tuple(f"chr2:{100 * v}-{100 * v + 40}" for v in range(6))
WHOLE = from_matrix(COUNTS, REGIONS)


def write_h5ad(path: Path, matrix: Any = None, **layers: Any) -> Path:
    obs = pd.DataFrame({"kind": pd.Categorical(["a b"] * 4 + ["c"] * 5), "batch": [1, 2, 3] * 3}, index=list(CELLS))
    counts = sp.csr_matrix(COUNTS.astype(np.float32)) if matrix is None else matrix
    anndata.AnnData(counts, obs=obs, var=pd.DataFrame(index=list(REGIONS)), layers=layers).write_h5ad(path)
    return path


def write_10x(
    folder: Path, *, packed: bool = True, counts: Any = COUNTS, features: str | None = None, name: str = "features.tsv"
) -> Path:
    """A folder as Cell Ranger writes it: features × cells."""
    folder.mkdir()
    scipy.io.mmwrite(folder / "matrix.mtx", sp.coo_matrix(counts.T.astype(int)))
    text = "".join(f"{region}\t{region}\tPeaks\n" for region in REGIONS) if features is None else features
    (folder / name).write_text(text)
    (folder / "barcodes.tsv").write_text("".join(f"{cell}\n" for cell in CELLS))
    for path in list(folder.iterdir()) if packed else ():
        (folder / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    return folder


def write_10x_h5(path: Path, types: Any = None, *, old: bool = False) -> Path:
    matrix = sp.csr_matrix(COUNTS.astype(np.int32))
    with h5py.File(path, "w") as file:
        group = file.create_group("GRCh38" if old else "matrix")
        for name in ("data", "indices", "indptr"):
            group[name] = getattr(matrix, name)
        group["shape"] = np.array(matrix.shape[::-1])
        group["barcodes"] = np.array(CELLS, "S")
        names = np.array(REGIONS, "S")
        if old:
            group["genes"], group["gene_names"] = names, names
        else:
            features = group.create_group("features")
            features["id"], features["name"] = names, names
            features["feature_type"] = np.array(types or ["Peaks"] * 6, "S")
    return path


# -- what is right -----------------------------------------------------------------------------------------------------

GOOD: dict[str, Callable[[Path], Path]] = {
    "csr.h5ad": write_h5ad,
    "csc.h5ad": lambda path: write_h5ad(path, sp.csc_matrix(COUNTS)),
    "dense.h5ad": lambda path: write_h5ad(path, COUNTS.astype(np.float64)),
    "packed 10x": write_10x,
    "plain 10x": lambda path: write_10x(path, packed=False),
    "peaks.bed": lambda path: write_10x(
        path, features="".join(r.replace(":", "\t").replace("-", "\t") + "\n" for r in REGIONS), name="peaks.bed"
    ),
    "genes.tsv": lambda path: write_10x(
        path, packed=False, features="".join(f"{r}\t{r}\n" for r in REGIONS), name="genes.tsv"
    ),
    "version 3.h5": write_10x_h5,
    "version 2.h5": lambda path: write_10x_h5(path, old=True),
}


@pytest.mark.parametrize("name", GOOD)
def test_the_corpus_is_that_of_the_matrix(name: str, tmp_path: Path) -> None:
    path = GOOD[name](tmp_path / name)
    corpus = read(path)
    assert corpus.fingerprint == WHOLE.fingerprint
    assert corpus.ids == CELLS
    having = (COUNTS > 0).sum(axis=0)
    keep = having >= 5
    assert 0 < keep.sum() < 6
    short = read(path, binarize=True, min_cells=5)
    assert short.fingerprint == from_matrix(COUNTS[:, keep] > 0, np.array(REGIONS)[keep].tolist()).fingerprint
    other = read(path, vocabulary=["new", *REGIONS[::-2]])
    assert other.fingerprint == from_matrix(np.c_[0 * COUNTS[:, 0], COUNTS[:, ::-2]], other.vocabulary).fingerprint
    assert other.unknown is not None
    assert other.unknown.sum() == COUNTS[:, ::2].sum()


def test_an_h5ad_file_gives_layers_and_columns(tmp_path: Path) -> None:
    path = write_h5ad(tmp_path / "a.h5ad", np.log1p(COUNTS), counts=sp.csc_matrix(COUNTS))
    corpus = read(path, layer="counts", label_column="kind", group_column="batch", response_column="batch")
    assert corpus.fingerprint == WHOLE.fingerprint
    assert corpus.labels is not None
    assert corpus.labels[3:5] == (("a b",), ("c",))
    assert corpus.groups == (1, 2, 3) * 3
    assert corpus.responses is not None
    columns = {"label_column": "kind", "group_column": "batch", "response_column": "batch"}
    read_as = {"format": "h5ad", "told_by_name": "h5ad", "layer": "counts", "binarize": False}
    assert corpus.reading == read_as | columns
    with pytest.raises(InputError, match=r"a\.h5ad: X does not hold counts.*layer='counts'"):
        read(path)


def test_one_of_several_types_of_features_is_read(tmp_path: Path) -> None:
    types = ["Gene Expression"] * 2 + ["Peaks"] * 4
    path = write_10x_h5(tmp_path / "multi.h5", types)
    lines = "".join(f"id{v}\t{'twice' if v < 2 else r}\t{types[v]}\n" for v, r in enumerate(REGIONS))
    folder = write_10x(tmp_path / "multi", features=lines)
    for source in (path, folder):
        with pytest.raises(InputError, match=r"'Gene Expression' \(2\), 'Peaks' \(4\).*feature_type="):
            read(source)
        with pytest.raises(InputError, match="feature_type='x' is not known"):
            read(source, feature_type="x")
        peaks = read(source, feature_type="Peaks")
        assert peaks.fingerprint == from_matrix(COUNTS[:, 2:], REGIONS[2:]).fingerprint
        new = read(source, feature_type="Peaks", vocabulary=REGIONS[3:])
        assert new.unknown is not None
        assert new.unknown.sum() == COUNTS[:, 2].sum()  # genes are left out, not unknown
    genes = read(folder, feature_type="Gene Expression").vocabulary
    assert genes == ("twice (id0)", "twice (id1)")


# -- what is wrong -----------------------------------------------------------------------------------------------------


def changed(change: Callable[[Any], None]) -> Callable[[Path], Path]:
    """An h5ad file with one thing wrong in it."""

    def write(folder: Path) -> Path:
        path = write_h5ad(folder / "wrong.h5ad")
        with h5py.File(path, "r+") as file:
            change(file)
        return path

    return write


def put(name: str, value: Any) -> Callable[[Path], Path]:
    def change(file: Any) -> None:
        del file[name]
        if value is not None:
            file[name] = value

    return changed(change)


def huge(name: str, size: int) -> Callable[[Path], Path]:
    """A dataset that claims much and holds nothing."""

    def change(file: Any) -> None:
        del file[name]
        file.create_dataset(name, (size,), "i4", chunks=(1024,))

    return changed(change)


def cut(folder: Path) -> Path:
    path = write_h5ad(folder / "cut.h5ad")
    path.write_bytes(path.read_bytes()[:3000])
    return path


def some_bytes(folder: Path) -> Path:
    (folder / "text.h5ad").write_text("cells")
    return folder / "text.h5ad"


def folder_with(**files: str | None) -> Callable[[Path], Path]:
    """A folder of 10x with some files in place of others."""

    def write(folder: Path) -> Path:
        path = write_10x(folder / "tenx", packed=False)
        for name, content in files.items():
            file = path / name.replace("_", ".")
            file.unlink()
            if content is not None:
                file.write_text(content)
        return path

    return write


BAD: dict[str, tuple[Callable[[Path], Path], str]] = {
    "no HDF5": (some_bytes, "not a readable HDF5 file"),
    "cut short": (cut, "not a readable HDF5 file"),
    "other HDF5": (lambda folder: write_10x_h5(folder / "x.h5ad"), "no h5ad file of anndata"),
    "h5ad as 10x": (lambda folder: write_h5ad(folder / "x.h5"), "groups; expected the one group"),
    "no X": (put("X", None), "no groups obs and var, or no matrix|has no X"),
    "no data": (put("X/data", None), "it has no data"),
    "indices outside": (put("X/indices", np.full(int((COUNTS > 0).sum()), 7)), "damaged"),
    "negative indices": (put("X/indices", np.full(int((COUNTS > 0).sum()), -1)), "damaged"),
    "few indices": (put("X/indices", np.array([1])), "damaged"),
    "falling pointers": (put("X/indptr", np.array([0, 5, 2, 3, 3, 3, 3, 3, 3, 3])), "rise from 0"),
    "few pointers": (put("X/indptr", np.array([0, 1])), "indptr must be 10"),
    "texts as counts": (put("X/data", np.full(int((COUNTS > 0).sum()), "x", "S1")), "counts must be numbers"),
    "many entries": (huge("X/data", 2**40), "claims 1,099,511,627,776 entries"),
    "many cells": (huge("X/indptr", 2**40), "claims 1,099,511,627,776 entries"),
    "another shape": (changed(lambda file: file["X"].attrs.__setitem__("shape", [9, 7])), r"has shape \(9, 7\)"),
    "another matrix": (changed(lambda file: file["X"].attrs.__setitem__("encoding-type", "dict")), "stored as 'dict'"),
    "no names": (put("obs/_index", None), "has no names"),
    "names in two dimensions": (put("var/_index", np.full((2, 3), b"x")), "must be a vector"),
    "fractions": (put("X/data", np.full(int((COUNTS > 0).sum()), 0.5)), "X does not hold counts"),
    "no features": (folder_with(features_tsv=None), "has no features.tsv or genes.tsv or peaks.bed"),
    "few barcodes": (folder_with(barcodes_tsv="one\n"), "matrix.mtx has 9 cells, and there is 1 name"),
    "an empty line": (folder_with(features_tsv="\n" * 6), "line 1"),
    "no banner": (folder_with(matrix_mtx="1 2 3\n"), "Matrix Market"),
}


@pytest.mark.parametrize("case", BAD)
def test_damaged_files_are_refused_in_our_own_words(case: str, tmp_path: Path) -> None:
    write, message = BAD[case]
    with pytest.raises(InputError, match=message):
        read(write(tmp_path))


def test_columns_and_layers_that_are_not_there(tmp_path: Path) -> None:
    path = write_h5ad(tmp_path / "a.h5ad")
    for options, message in (
        ({"layer": "x"}, "no such layer; it has none"),
        ({"time_column": "x"}, "no column 'x'; it has"),
        ({"response_column": "kind"}, "row 0, column 'kind'"),
        ({"delimiter": ","}, "not an option of format 'h5ad'"),
    ):
        with pytest.raises(InputError, match=message):
            read(path, **options)
