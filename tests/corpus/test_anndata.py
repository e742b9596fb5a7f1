"""AnnData objects as corpora: every kind of matrix gives the same one, and what holds no counts is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("anndata", reason="AnnData objects need the extra cells")

import anndata
import pandas as pd

import topicloom
from topicloom import LDA, VariationalLDA, from_anndata, from_matrix
from topicloom.corpus import _cells
from topicloom.corpus.anndata import is_anndata, new_cells
from topicloom.errors import FewFeaturesWarning, InputError, UnknownWordsWarning

N_CELLS, N_FEATURES = 30, 24
NAMES = tuple(f"chr1:{100 * v}-{100 * v + 50}" for v in range(N_FEATURES))


def counted() -> np.ndarray:
    counts = np.random.default_rng(0).poisson(0.5, (N_CELLS, N_FEATURES))
    counts[5], counts[:, 7] = 0, 0  # a cell without counts, a feature that no cell has
    return counts


COUNTS = counted()


def table(matrix: Any, **layers: Any) -> anndata.AnnData:
    obs = pd.DataFrame(
        {
            "type": pd.Categorical(["B cell", "T"] * (N_CELLS // 2)),
            "batch": np.arange(N_CELLS) % 3,
            "age": np.linspace(20, 60, N_CELLS),
        },
        index=[f"cell{d}" for d in range(N_CELLS)],
    )
    return anndata.AnnData(matrix, obs=obs, var=pd.DataFrame(index=list(NAMES)), layers=layers)


MATRICES: dict[str, Callable[[np.ndarray], Any]] = {
    "dense": lambda counts: counts.astype(np.float32),
    "csr_matrix": lambda counts: sp.csr_matrix(counts.astype(np.float32)),
    "csr_array": sp.csr_array,
    "csc_matrix": lambda counts: sp.csc_matrix(counts.astype(np.uint8)),
    "csc_array": lambda counts: sp.csc_array(counts.astype(np.float64)),
    "unsorted": lambda counts: _unsorted(sp.csr_matrix(counts)),
}


def _unsorted(matrix: Any) -> Any:
    """The same with the entries of each row the other way round, and a stored zero."""
    other = matrix[:, ::-1].copy()
    other.indices = (matrix.shape[1] - 1 - other.indices).astype(np.int32)
    rows = sp.csr_matrix((other.data, other.indices, other.indptr), shape=matrix.shape)
    rows.has_sorted_indices = False
    return rows


@pytest.fixture(params=[1 << 18, 5], ids=["whole", "in parts"])
def _parts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_cells, "BLOCK_ENTRIES", request.param)


@pytest.mark.usefixtures("_parts")
@pytest.mark.parametrize("kind", MATRICES)
def test_every_kind_of_matrix_gives_the_corpus_of_its_counts(kind: str, tmp_path: Path) -> None:
    adata = table(MATRICES[kind](COUNTS), raw=MATRICES[kind](2 * COUNTS))
    whole = from_matrix(COUNTS, NAMES).fingerprint
    corpus = from_anndata(adata)
    assert corpus.fingerprint == whole
    assert corpus.ids == tuple(adata.obs_names)
    assert from_anndata(adata, layer="raw").fingerprint == from_matrix(2 * COUNTS, NAMES).fingerprint
    assert from_anndata(adata, layer="raw", binarize=True).fingerprint == from_matrix(COUNTS > 0, NAMES).fingerprint

    having = (COUNTS > 0).sum(axis=0)
    keep = (having >= 10) & (having <= 0.5 * N_CELLS)
    assert 0 < keep.sum() < N_FEATURES - 1
    short = from_matrix(COUNTS[:, keep], np.array(NAMES)[keep].tolist())
    found = from_anndata(adata, min_cells=10, max_cells=0.5)
    assert found.fingerprint == short.fingerprint
    assert (found.n_docs, found.unknown) == (N_CELLS, None)

    rows, columns = slice(3, 20), slice(None, None, 2)
    part = from_matrix(COUNTS[rows, columns], NAMES[columns]).fingerprint
    assert from_anndata(adata[rows, columns]).fingerprint == part  # a view
    adata.write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    try:
        assert from_anndata(backed).fingerprint == whole
        assert from_anndata(backed, min_cells=10, max_cells=0.5).fingerprint == short.fingerprint
        assert from_anndata(backed[rows, columns]).fingerprint == part
    finally:
        backed.file.close()


def test_columns_of_obs_become_metadata() -> None:
    adata = table(sp.csr_matrix(COUNTS))
    adata.obs["day"] = pd.date_range("2024-01-01", periods=N_CELLS)
    corpus = from_anndata(adata, label="type", group="batch", response="age", time="day")
    assert corpus.labels is not None
    assert corpus.labels[:2] == (("B cell",), ("T",))  # one label, blank and all
    assert corpus.groups is not None
    assert corpus.groups[:4] == (0, 1, 2, 0)
    assert corpus.responses is not None
    assert corpus.responses[-1] == 60
    assert corpus.times is not None
    assert corpus.times[1] == np.datetime64("2024-01-02")


def test_a_model_reads_new_cells_as_those_of_its_fit(tmp_path: Path) -> None:
    adata = table(np.log1p(COUNTS), counts=sp.csr_matrix(3 * COUNTS))
    model = LDA(3, max_iter=3, random_state=0).fit(from_anndata(adata, layer="counts", binarize=True))
    model.save(tmp_path / "model")
    expected = model.transform(from_matrix(COUNTS > 0, NAMES))
    without = table(sp.csr_matrix(2 * COUNTS))  # no such layer: X is read
    other = np.random.default_rng(1).permutation(N_FEATURES)
    for fitted in (model, topicloom.load(tmp_path / "model")):
        for new in (adata, without, without[:, other], without[:, other].copy()):
            np.testing.assert_array_equal(fitted.transform(new), expected)
    few = model.transform(without[:, :10])  # features that are not there count as 0
    np.testing.assert_array_equal(few, model.transform(from_matrix(COUNTS[:, :10] > 0, NAMES[:10])))
    same = LDA(3, max_iter=3, random_state=0).fit(table(sp.csr_matrix(COUNTS)))
    assert same.fingerprint_ == LDA(3, max_iter=3, random_state=0).fit(from_matrix(COUNTS, NAMES)).fingerprint_
    assert VariationalLDA(2, max_iter=2, tol=0).fit(without).vocabulary_ == NAMES


def test_unknown_features_are_counted_and_told() -> None:
    model = LDA(2, max_iter=2, random_state=0).fit(table(sp.csr_matrix(COUNTS))[:, :12])
    adata = table(sp.csr_matrix(COUNTS))
    corpus = new_cells(adata, model.vocabulary_, None)
    assert corpus.unknown is not None
    assert corpus.unknown.tolist() == COUNTS[:, 12:].sum(axis=1).tolist()
    with pytest.warns(UnknownWordsWarning):
        model.transform(adata)


def test_cells_with_few_features_are_told_and_kept() -> None:
    adata = table(sp.csr_matrix(COUNTS))
    short = int(((COUNTS > 0).sum(axis=1) < 9).sum())
    assert 1 < short < N_CELLS
    with pytest.warns(FewFeaturesWarning, match=f"{short} cells of {N_CELLS}"):
        corpus = from_anndata(adata, min_features=9)
    assert corpus.n_docs == N_CELLS


LOG, COUNTED = np.log1p(COUNTS), sp.csr_matrix(COUNTS)


def _nameless() -> anndata.AnnData:
    adata = table(COUNTED)
    adata.var_names = ["same"] * N_FEATURES
    return adata


class Several:
    """What a MuData object looks like."""

    mod: dict[str, Any] = {"rna": 1, "atac": 2}  # noqa: RUF012


WRONG: dict[str, tuple[Callable[[], Any], dict[str, Any], str]] = {
    "logs, counts in a layer": (lambda: table(LOG, counts=COUNTED), {}, r"adata.X.*cell 'cell.*layer='counts'"),
    "logs in a layer": (lambda: table(COUNTED, log=LOG), {"layer": "log"}, "Counts are in adata.X"),
    "logs alone": (lambda: table(sp.csc_matrix(LOG)), {}, "scanpy users keep.*binarize=True"),
    "scaled": (lambda: table(LOG - 0.1), {"binarize": True}, "-0.1; expected whole numbers"),
    "missing": (lambda: table(np.where(COUNTS > 2, np.nan, COUNTS)), {}, "does not hold counts"),
    "too large": (lambda: table(COUNTS * 2.0**40), {}, "below 2"),
    "no layer": (lambda: table(COUNTED, a=COUNTED), {"layer": "b"}, "no such layer; it has 'a'"),
    "no X": (lambda: table(None, a=COUNTED), {}, r"adata.X is None.*'a'"),
    "no column": (lambda: table(COUNTED), {"label": "kind"}, "no such column; it has 'type'"),
    "text as numbers": (lambda: table(COUNTED), {"response": "type"}, "row 0, column 'type'"),
    "nothing left": (lambda: table(COUNTED), {"min_cells": 31}, "no feature is left.*of 30 cells"),
    "a bound": (lambda: table(COUNTED), {"max_cells": 0}, "max_cells=0 must be a number of cells"),
    "two choices": (lambda: table(COUNTED), {"min_cells": 2, "vocabulary": ["a"]}, "min_cells and max_cells choose"),
    "binarize": (lambda: table(COUNTED), {"binarize": "yes"}, "must be True or False"),
    "min_features": (lambda: table(COUNTED), {"min_features": 0}, "min_features=0 must be a whole number"),
    "repeated names": (_nameless, {}, "'same' is there twice.*var_names_make_unique"),
    "no cells": (lambda: table(COUNTED)[:0], {}, "0 cells"),
    "several": (Several, {}, r"give one of them: mdata.mod\['rna'\]"),
    "a matrix": (lambda: COUNTS, {}, "expected an AnnData object"),
}


@pytest.mark.filterwarnings("ignore:Variable names are not unique")
@pytest.mark.parametrize("case", WRONG)
def test_what_holds_no_counts_is_refused(case: str) -> None:
    make, options, message = WRONG[case]
    with pytest.raises(InputError, match=message):
        from_anndata(make(), **options)


def test_damaged_matrices_are_refused() -> None:
    for format in ("csr", "csc"):
        for part, value in (("indices", 10**6), ("indptr", 10**6), ("indptr", -1)):
            adata = table(sp.csr_matrix(COUNTS).asformat(format))
            getattr(adata.X, part)[3] = value
            with pytest.raises(InputError, match="damaged"):
                from_anndata(adata)


def test_an_object_is_known_without_its_package() -> None:
    assert is_anndata(table(COUNTED))
    for other in (COUNTS, COUNTED, pd.DataFrame(COUNTS), "text", None, from_matrix(COUNTS)):
        assert not is_anndata(other)
    with pytest.raises(InputError, match=r"read it with topicloom.from_anndata\(adata\)"):
        from_matrix(table(COUNTED))
