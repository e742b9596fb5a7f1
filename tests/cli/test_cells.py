"""Commands on cells × features: fitting h5ad files, new cells, regions of topics."""

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("anndata", reason="h5ad files need the extra cells")

import numpy as np

import topicloom
from tests.cli.invoking import Run
from topicloom import cells
from topicloom.datasets import synthetic_cells

DATA = synthetic_cells(60, 50, 3, fragments_per_cell=15.0, seed=3)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    adata = DATA.to_anndata()
    adata.layers["counts"] = adata.X * 2
    adata.X = adata.X * 0.5
    path = tmp_path_factory.mktemp("cells") / "cells.h5ad"
    adata.write_h5ad(path)
    return path


def test_a_fit_of_cells_and_what_follows(file: Path, run: Run, document: Callable[..., Any], tmp_path: Path) -> None:
    result = run("fit", file, "-o", tmp_path / "wrong", "-k", "3")
    assert result.exit_code == 2
    assert "give --layer 'counts'" in result.stderr
    options = ("--layer", "counts", "--binarize", "--min-cells", "5", "--group-column", "type")
    fit = document("fit", file, "-o", tmp_path / "model", "-k", "3", "-n", "5", *options)
    model = topicloom.load(tmp_path / "model")
    assert fit["words"] == len(model.vocabulary_) < 50
    adata = topicloom.from_anndata(DATA.to_anndata(), min_cells=5, group="type")
    assert model.corpus_.fingerprint == adata.fingerprint  # all counts are 2, and stand for 1
    assert model.corpus_.groups == adata.groups

    found = document(
        "transform", tmp_path / "model", file, "--out", tmp_path / "theta.npy"
    )  # layer and ones as in the fit
    assert found["unknown_share"] < 0.5
    np.testing.assert_array_equal(np.load(tmp_path / "theta.npy"), model.transform(adata))

    table = run("region-sets", tmp_path / "model", "--out", tmp_path / "beds", "--csv")
    sets = cells.feature_sets(model)
    rows = list(csv.reader(io.StringIO(table.stdout)))
    assert rows[0] == ["topic", "name", "rank", "feature", "score"]
    assert [row[3] for row in rows[1:] if row[0] == "1"] == sets.members(1)
    lines = (tmp_path / "beds" / "topic_1.bed").read_text().splitlines()
    assert sorted(line.split("\t")[3] for line in lines) == sorted(sets.members(1))
    top = document("region-sets", tmp_path / "model", "--method", "top", "--top", "4", "--no-smooth")
    assert [one["features"] for one in top] == model.top_words(4)
    shown = run("region-sets", tmp_path / "model")
    assert "threshold" in shown.stdout
    assert "--top 0 must be" in run("region-sets", tmp_path / "model", "--method", "top", "--top", "0").stderr
