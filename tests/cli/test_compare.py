"""``compare``: what it prints, and the message of every bad input."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import topicloom
from tests.cli.invoking import PLAIN, Run
from topicloom.cli import app
from topicloom.diagnostics.comparison import compare_all


@pytest.fixture(scope="module")
def other(files: Path, model: Path) -> Path:
    """A model of the same words with one topic, in two chains."""
    directory = files / "a-directory-with-a-long-name-as-people-have-them" / "one-topic"
    args = ["fit", files / "texts.txt", "--out", directory, "-k", "1", "-n", "20", "--stop-words", "english"]
    result = CliRunner().invoke(app, [*map(str, args), "--chains", "2"])
    assert result.exit_code == 0, result.output
    return directory


@pytest.fixture(scope="module")
def data(files: Path) -> list[Any]:
    return ["--data", files / "new.jsonl", "--text-column", "body"]


def test_compare(run: Run, document: Callable[..., Any], model: Path, other: Path, data: list[Any]) -> None:
    found = document("compare", other, model, *data)
    assert found["documents"] == 7
    assert found["unknown_share"] == 20 / 92
    (own,) = found["measures"].values()
    assert own["best"] == str(model)
    assert [row["verdict"] for row in own["models"]] == ["best", "worse"]
    assert [row["n_fits"] for row in own["models"]] == [1, 2]
    assert own["models"][1]["monte_carlo_error"] is None
    fitted = {str(path): topicloom.load(path) for path in (other, model)}
    texts = topicloom.read(data[1], text_column="body").with_vocabulary(fitted[str(model)].vocabulary_)
    expected = compare_all(fitted, texts).difference(str(model), str(other))
    assert own["models"][1]["difference"] == -expected.value
    assert own["models"][1]["error"] == expected.error
    assert own["verdicts"] == [expected.verdict]
    shown = run("compare", other, model, *data)
    assert f"{model} beats {other} by " in shown.stdout.replace("\n", " ")
    assert "42 tokens" not in shown.stdout  # half of them are scored
    assert f"one fit of {model}: how much another fit would differ is not part of the error." in shown.stderr


def test_all_measures_as_tables(run: Run, model: Path, other: Path, data: list[Any]) -> None:
    every = ["--measures", "completion,left-to-right,annealed", "--runs", 3, "--particles", 5, "--temperatures", 50]
    rows = list(csv.DictReader(run("compare", model, other, *data, *every, "--csv").stdout.splitlines()))
    assert [row["measure"] for row in rows] == ["completion"] * 2 + ["left-to-right"] * 2 + ["annealed"] * 2
    for row in rows:
        assert np.exp(-float(row["per_token"])) == pytest.approx(float(row["perplexity"]))
    assert rows[1]["monte_carlo_error"] == rows[0]["ess"] == ""
    assert float(rows[3]["monte_carlo_error"]) > 0
    assert 1 <= float(rows[4]["ess"]) <= 5


def test_tables_fit_into_80_columns(
    model: Path, other: Path, data: list[Any], files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    args = ["compare", "model", other.relative_to(files), *data]
    result = CliRunner(env={**PLAIN, "COLUMNS": "80"}).invoke(app, [str(arg) for arg in args])
    assert result.exit_code == 0, result.output
    table = [line for line in result.stdout.splitlines() if line[:1] in "┏┃┡│└"]
    assert len(table) > 5
    assert max(map(len, table)) <= 80
    for heading in ("model", "nats/token", "perplexity", "behind the best"):
        assert heading in table[1]
    assert any("│ best" in line for line in table)  # numbers and verdicts stay whole, names are folded
    assert any("±" in line and "worse" in line for line in table)


def test_without_data_the_documents_of_the_fit_are_scored(run: Run, model: Path, other: Path) -> None:
    result = run("compare", model, other, "--seed", 3, "--samples", 2)
    assert result.exit_code == 0
    assert "the documents of the fit are scored, which flatters models with more topics" in result.stderr


def test_bad_requests_of_compare_are_told(
    run: Run, refused: Callable[..., str], files: Path, model: Path, other: Path, data: list[Any], tmp_path: Path
) -> None:
    assert "give at least two directories" in refused("compare", model, *data)
    assert "given twice" in refused("compare", model, model, *data)
    assert "--measures bound: not known" in refused("compare", model, other, *data, "--measures", "bound")
    assert "there is no file" in refused("compare", model, other, "--data", "none.txt")
    quiet = [*data, "--measures", "left-to-right"]
    assert "--runs 1 must be a whole number of at least 2" in last(run("compare", model, other, *quiet, "--runs", 1))
    assert "--particles 0" in last(run("compare", model, other, *quiet, "--particles", 0))
    assert "--samples 0" in last(run("compare", model, other, *data, "--samples", 0))
    cold = [*data, "--measures", "annealed", "--temperatures", 0]
    assert "--temperatures 0 must be" in last(run("compare", model, other, *cold))
    run("fit", files / "texts.txt", "--out", tmp_path / "all", "-k", 2, "-n", 5)  # with "the" among its words
    assert "has another vocabulary" in last(run("compare", model, tmp_path / "all", *data))
    assert "fitted on different documents; give held-out ones with --data" in refused(
        "compare", model, tmp_path / "all"
    )


def last(result: Any) -> str:
    assert result.exit_code == 2
    assert result.stdout == ""
    return str(result.stderr.splitlines()[-1])
