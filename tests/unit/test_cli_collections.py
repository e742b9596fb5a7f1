"""The command line of models of collections: fit from a file, prevalence, new documents, and what is refused."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import topicloom
from topicloom.cli import app

THEMES = {"water": "river water fish boat", "money": "money loan credit rate"}


def run(*arguments: object) -> Result:
    env = {"COLUMNS": "160", "FORCE_COLOR": None, "PY_COLORS": None, "GITHUB_ACTIONS": None}
    return CliRunner(env=env).invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


def refused(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    return result.stderr.splitlines()[-1]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents of two years, the first mostly about water, the second mostly about money."""
    folder = tmp_path_factory.mktemp("collections")
    rng = np.random.default_rng(3)
    for part, n in (("train", 60), ("test", 10)):
        with (folder / f"{part}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["text", "year"])
            for d in range(n):
                share = 0.8 if d % 2 else 0.2
                words = [rng.choice(THEMES["water" if rng.random() < share else "money"].split()) for _ in range(25)]
                writer.writerow([" ".join(words), 1991 if d % 2 else 1992])
    result = run("fit-collections", folder / "train.csv", "--out", folder / "model", "--group-column", "year",
                 "--topics", 2, "--beta", 0.1, "--sweeps", 60)  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "2 collections" in result.stderr
    assert "1991" in result.stdout
    return folder


def test_prevalence(files: Path) -> None:
    model = topicloom.load(files / "model")
    shown = run("prevalence", files / "model", "--words", 2)
    assert "90% intervals" in shown.stdout
    records = json.loads(run("prevalence", files / "model", "--json").stdout)
    assert [record["collection"] for record in records] == ["1991", "1991", "1992", "1992"]
    np.testing.assert_allclose([record["mean"] for record in records], model.pi_draws_.mean(axis=0).ravel())
    rows = list(csv.DictReader(run("prevalence", files / "model", "--csv").stdout.splitlines()))
    assert list(rows[0]) == ["collection", "topic", "mean", "lower", "upper"]
    change = json.loads(run("prevalence", files / "model", "--difference", "1991,1992", "--json").stdout)
    assert max(record["probability"] for record in change) == 1.0
    assert "P(> 0)" in run("prevalence", files / "model", "--trend").stdout


def test_new_documents_and_scores_know_their_collection(files: Path) -> None:
    model = topicloom.load(files / "model")
    done = run("transform", files / "model", files / "test.csv", "--group-column", "year", "--json")
    theta = np.array([record["topics"] for record in json.loads(done.stdout)["doc_topics"]])
    rows = list(csv.DictReader((files / "test.csv").read_text().splitlines()))
    expected = model.transform([row["text"] for row in rows], [row["year"] for row in rows])
    np.testing.assert_allclose(theta, expected)
    with_group, without = (
        json.loads(
            run("evaluate", files / "model", files / "test.csv", "--measures", "perplexity", *more, "--json").stdout
        )["scores"]["perplexity"]
        for more in (["--group-column", "year"], [])
    )
    assert with_group != without


def test_more_sweeps_and_other_inference(files: Path, tmp_path: Path) -> None:
    done = run("fit-collections", files / "train.csv", "--out", tmp_path / "vem", "--group-column", "year",
               "--topics", 2, "--inference", "vem", "--collection-prior", "learn", "--json")  # fmt: skip
    summary = json.loads(done.stdout)
    assert summary["collections"] == ["1991", "1992"]
    assert summary["gamma"] > 0
    assert run("resume", tmp_path / "vem", "--quiet").exit_code == 0
    alone = run("fit-collections", files / "train.csv", "--out", tmp_path / "one", "--topics", 2, "--sweeps", 5)
    assert "all are one collection" in alone.stderr


def test_what_is_refused(files: Path, tmp_path: Path) -> None:
    fit = ["fit-collections", files / "train.csv", "--out", tmp_path / "x"]
    assert "--collection-prior many: expected a number" in refused(*fit, "--collection-prior", "many")
    assert "inference='gibbs' is not known" in refused(*fit, "--inference", "gibbs")
    assert "--concentration -1.0 must be" in refused(*fit, "--concentration", -1)
    assert not (tmp_path / "x").exists()
    assert "expected two of 1991,1992" in refused("prevalence", files / "model", "--difference", "1991,2001")
    assert "one at a time" in refused("prevalence", files / "model", "--difference", "1991,1992", "--trend")
    run("fit", files / "train.csv", "--out", tmp_path / "plain", "--topics", 2, "--sweeps", 3)
    assert "has no collections" in refused("prevalence", tmp_path / "plain")
