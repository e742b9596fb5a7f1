"""``convert`` and ``info``: what they print and write, and the message of every bad input."""

import csv
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import topicloom
from tests.cli.invoking import Run
from topicloom import mallet


def test_convert_between_formats(run: Run, files: Path, tmp_path: Path) -> None:
    result = run("convert", files / "texts.txt", tmp_path / "a.uci.gz", "--stop-words", "english")
    assert result.exit_code == 0
    run("convert", tmp_path / "a.uci.gz", tmp_path / "b.data", "--to", "ldac")
    run("convert", "--from", "ldac", tmp_path / "b.data", tmp_path / "c.npz")
    expected = topicloom.read(files / "texts.txt", stop_words="english")
    found = topicloom.read(tmp_path / "c.npz")
    assert found.vocabulary == expected.vocabulary
    assert (found.to_matrix() != expected.to_matrix()).nnz == 0


def test_a_model_becomes_a_mallet_state_and_its_state_becomes_tables(run: Run, model: Path, tmp_path: Path) -> None:
    state = tmp_path / "state.gz"
    assert run("convert", model, state, "--to", "mallet-state").exit_code == 0
    fitted = topicloom.load(model)
    np.testing.assert_array_equal(mallet.read_state(state).state.z, fitted.chains_[0].state.z)
    theta, phi = fitted.estimate("cgs_p")
    for source in (state, model):
        run("convert", source, tmp_path / "docs.csv", "--to", "doc-topics")
        rows = list(csv.DictReader((tmp_path / "docs.csv").read_text().splitlines()))
        found = [[float(row[f"topic_{k}"]) for k in range(3)] for row in rows]
        np.testing.assert_allclose(found, theta, rtol=0, atol=1e-12)
        run("convert", source, tmp_path / "words.csv", "--to", "topic-words")
        rows = list(csv.DictReader((tmp_path / "words.csv").read_text().splitlines()))
        assert tuple(row["word"] for row in rows) == fitted.vocabulary_
        found = [[float(row[f"topic_{k}"]) for k in range(3)] for row in rows]
        np.testing.assert_allclose(found, phi.T, rtol=0, atol=1e-12)
        run("convert", source, tmp_path / "texts.txt")
        assert topicloom.read(tmp_path / "texts.txt").fingerprint == fitted.corpus_.fingerprint
    run("convert", state, tmp_path / "plain.csv", "--to", "doc-topics", "--estimator", "standard")
    rows = list(csv.DictReader((tmp_path / "plain.csv").read_text().splitlines()))
    found = [[float(row[f"topic_{k}"]) for k in range(3)] for row in rows]
    np.testing.assert_allclose(found, fitted.estimate("standard")[0], rtol=0, atol=1e-12)


def test_info(run: Run, document: Callable[..., Any], files: Path, model: Path, tmp_path: Path) -> None:
    corpus = topicloom.read(files / "texts.txt")
    found = document("info", files / "texts.txt")
    assert found["kind"] == "corpus"
    assert (found["documents"], found["words"], found["tokens"]) == (60, corpus.n_words, corpus.n_tokens)
    assert found["corpus_fingerprint"] == corpus.fingerprint

    fitted = topicloom.load(model)
    found = document("info", model)
    assert (found["kind"], found["status"], found["format_version"]) == ("LDA", "finished", 2)
    assert found["written_by"] == f"topicloom {topicloom.__version__}"
    assert found["sweeps_by_chain"] == {"0": 60}
    assert found["fingerprint"] == fitted.fingerprint_
    assert found["corpus_fingerprint"] == fitted.corpus_.fingerprint
    assert found["parameters"]["n_components"] == 3
    assert fitted.fingerprint_ in run("info", model).stdout

    run("convert", model, tmp_path / "state.gz", "--to", "mallet-state")
    found = document("info", tmp_path / "state.gz")
    assert (found["kind"], found["topics"], found["tokens"]) == ("MALLET state", 3, fitted.corpus_.n_tokens)


def test_a_model_without_its_corpus(
    run: Run, document: Callable[..., Any], refused: Callable[..., str], files: Path, model: Path, tmp_path: Path
) -> None:
    topicloom.load(model).save(tmp_path / "small", corpus=False)
    small = tmp_path / "small"
    assert document("info", small)["status"] == "finished"
    assert "documents" not in document("info", small)
    assert document("topics", small) == document("topics", model)
    assert run("transform", small, files / "counts.uci").stdout == run("transform", model, files / "counts.uci").stdout
    for command in (["transform", small], ["evaluate", small], ["convert", small, tmp_path / "a.txt"]):
        assert "saved without its corpus" in refused(*command)


def test_bad_files_are_told(refused: Callable[..., str], files: Path, tmp_path: Path) -> None:
    texts = files / "texts.txt"
    assert "has no topics; --to mallet-state needs a model or a MALLET state" in refused(
        "convert", texts, tmp_path / "s.gz", "--to", "mallet-state"
    )
    assert "format 'csv' is not written" in refused("convert", texts, tmp_path / "a.csv")
    assert "--format 'pdf' is not known" in refused("convert", texts, tmp_path / "a", "--to", "pdf")
    assert "there is no file" in refused("info", files / "none")
    assert "cannot be written" in refused("convert", texts, tmp_path / "no" / "a.uci")
    (tmp_path / "state.txt").write_text("#doc source pos typeindex type topic\n#alpha : 1 1\n#beta : 1\n0 NA x\n")
    assert "state.txt, line 4: found '0 NA x'" in refused("info", tmp_path / "state.txt")
    (tmp_path / "broken.ldac").write_text("2 0:1\n")
    assert "broken.ldac, line 1" in refused("fit", tmp_path / "broken.ldac", "--out", tmp_path / "m")
    (tmp_path / "empty.txt").write_text("\n\n")
    assert "no word" in refused("fit", tmp_path / "empty.txt", "--out", tmp_path / "m")
    inside_a_file = texts / "m"
    assert f"{inside_a_file} cannot be written: Not a directory." in refused("fit", texts, "--out", inside_a_file)


def test_a_missing_extra_is_named(refused: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    assert "install it with pip install 'topicloom[parquet]'." in refused("info", tmp_path / "a.parquet")


def test_texts_are_prepared_as_in_python_and_counts_are_pruned(
    run: Run, refused: Callable[..., str], tmp_path: Path
) -> None:
    source, target = tmp_path / "pages.txt", tmp_path / "pages.uci"
    source.write_text("<p>New York at www.x.org</p>\nNew York <b>t</b>ea\ntea the bank\n" * 3, encoding="utf-8")
    options = ["--strip", "html,urls", "--stop-words", "en", "--phrases", "npmi", "--phrase-min-count", "3"]
    run("convert", source, target, *options, "--ngrams", "1,2", "--min-df", "3")
    expected = topicloom.read(
        source, strip=("html", "urls"), stop_words="english", phrases={"min_count": 3}, ngrams=(1, 2), min_df=3
    )
    assert "new_york" in expected.vocabulary
    assert topicloom.read(target).vocabulary == expected.vocabulary
    run("convert", target, tmp_path / "fewer.uci", "--max-words", "1")
    assert topicloom.read(tmp_path / "fewer.uci").n_words == 1
    assert "--phrase-passes needs --phrases" in refused("convert", source, target, "--phrase-passes", "2")
    assert "--ngrams x: expected" in refused("convert", source, target, "--ngrams", "x")
