"""Results go back into the AnnData object, match by name, and are written and read as h5ad."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("anndata", reason="AnnData objects need the extra cells")

import anndata

import topicloom
from topicloom import LDA, cells, from_anndata
from topicloom.datasets import synthetic_cells
from topicloom.errors import InputError

SMALL: dict[str, Any] = {"predict_options": {"burn_in": 2, "n_samples": 1}}


@pytest.fixture
def adata() -> anndata.AnnData:
    return synthetic_cells(60, 50, 3, fragments_per_cell=15.0, seed=3).to_anndata()


def fitted(adata: anndata.AnnData, **options: Any) -> LDA:
    return LDA(3, max_iter=4, random_state=1, **SMALL).fit(from_anndata(adata, **options))


def test_results_are_written_and_read_again(adata: anndata.AnnData, tmp_path: Path) -> None:
    model = fitted(adata, min_cells=8).set_topic_names({1: "blood"})
    cells.annotate(adata, model)
    adata.write_h5ad(tmp_path / "a.h5ad")
    found = anndata.read_h5ad(tmp_path / "a.h5ad")
    np.testing.assert_array_equal(found.obsm["X_topics"], model.doc_topic_)
    kept = np.isin(adata.var_names, model.vocabulary_)
    assert 0 < kept.sum() < 50
    np.testing.assert_array_equal(found.var["in_topics"], kept)
    np.testing.assert_array_equal(found.varm["topics"][kept], model.topic_word_.T)
    assert not found.varm["topics"][~kept].any()
    about = found.uns["topicloom"]
    assert {name: about[name] for name in ("model", "seed", "fingerprint", "cells", "version")} == {
        "model": "LDA",
        "seed": 1,
        "fingerprint": model.fingerprint_,
        "cells": "fit",
        "version": topicloom.__version__,
    }
    assert about["topic_names"].tolist() == ["topic_0", "blood", "topic_2"]
    np.testing.assert_array_equal(about["alpha"], model.alpha_)
    parameters = about["parameters"]
    assert parameters["n_components"] == 3
    assert parameters["predict_options"] == '{"burn_in": 2, "n_samples": 1}'
    assert "burn_in" not in parameters  # None is left out
    model.save(tmp_path / "model")
    again = adata.copy()
    cells.annotate(again, topicloom.load(tmp_path / "model"))  # a loaded model gives the same
    np.testing.assert_array_equal(again.obsm["X_topics"], model.doc_topic_)


def test_cells_are_matched_by_name(adata: anndata.AnnData, tmp_path: Path) -> None:
    model = fitted(adata)
    order = np.random.default_rng(0).permutation(60)[:20]
    part = adata[:, np.arange(50)[::-1]].copy()[order].copy()
    cells.annotate(part, model)
    np.testing.assert_array_equal(part.obsm["X_topics"], model.doc_topic_[order])
    np.testing.assert_array_equal(part.varm["topics"], model.topic_word_.T[::-1])

    new = adata[order].copy()
    new.obs_names = ["other", *new.obs_names[1:]]
    cells.annotate(new, model)  # one unknown cell: all are computed
    np.testing.assert_array_equal(new.obsm["X_topics"], model.transform(new))
    assert new.uns["topicloom"]["cells"] == "transform"
    cells.annotate(part, model, transform=True)
    np.testing.assert_array_equal(part.obsm["X_topics"], new.obsm["X_topics"])
    with pytest.raises(InputError, match="transform=False: the cell 'other' was not in the fit"):
        cells.annotate(new, model, transform=False)
    model.save(tmp_path / "model", corpus=False)
    cells.annotate(part, topicloom.load(tmp_path / "model"))
    assert part.uns["topicloom"]["cells"] == "transform"


def test_what_cannot_be_annotated_is_refused(adata: anndata.AnnData) -> None:
    model = fitted(adata)
    genes = adata.copy()
    genes.var_names = [f"gene{v}" for v in range(50)]
    for given, options, message in (
        (adata[:10], {}, "is a view.*copy"),
        (adata.X, {}, "expected an AnnData object"),
        (genes, {"transform": False}, "no feature of the model: its first is 'gene0'"),
        (adata, {"transform": "no"}, "transform='no' must be"),
    ):
        with pytest.raises(InputError, match=message):
            cells.annotate(given, model, **options)
    with pytest.raises(InputError, match="expected a fitted model"):
        cells.annotate(adata, LDA())
    assert not adata.obsm
