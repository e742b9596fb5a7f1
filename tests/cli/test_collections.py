"""The command line of models of collections: fit from a file, prevalence, new documents, and what is refused."""

import csv
import json
import sys
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
    assert [record["collection"] for record in records] == [1991, 1991, 1992, 1992]
    np.testing.assert_allclose([record["mean"] for record in records], model.pi_draws_.mean(axis=0).ravel())
    rows = list(csv.DictReader(run("prevalence", files / "model", "--csv").stdout.splitlines()))
    assert list(rows[0]) == ["collection", "topic", "mean", "lower", "upper"]
    change = json.loads(run("prevalence", files / "model", "--difference", "1991,1992", "--json").stdout)
    assert max(record["probability"] for record in change) == 1.0
    assert "P(> 0)" in run("prevalence", files / "model", "--trend").stdout


@pytest.fixture(scope="module")
def rated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reviews with ratings from 1.0 to 11.5; the worse the rating, the more about money."""
    folder = tmp_path_factory.mktemp("rated")
    rng = np.random.default_rng(4)
    with (folder / "reviews.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "rating"])
        for d in range(132):
            rating = 1 + (d % 22) / 2
            words = [rng.choice(THEMES["water" if rng.random() < rating / 12 else "money"].split()) for _ in range(20)]
            writer.writerow([" ".join(words), rating])
        writer.writerow(["money " * 20, 100.0])  # one document, far away
    result = run("fit-collections", folder / "reviews.csv", "--out", folder / "model", "--group-column", "rating",
                 "--topics", 2, "--beta", 0.1, "--sweeps", 60, "--quiet")  # fmt: skip
    assert result.exit_code == 0, result.output
    return folder


def test_trends_go_by_the_value_of_numbers_and_say_so(rated: Path) -> None:
    ratings = [*(1 + j / 2 for j in range(22)), 100.0]
    found = json.loads(run("prevalence", rated / "model", "--trend", "--json").stdout)
    assert [entry["collection"] for entry in found["order"]] == ratings
    assert [entry["at"] for entry in found["order"]] == ratings
    assert [entry["documents"] for entry in found["order"]] == [6] * 22 + [1]
    assert found["unit"] == "unit"
    model = topicloom.load(rated / "model")
    assert list(model.collections_) == ratings
    weight = np.sqrt(model.collection_docs_)
    slopes = [np.polyfit(ratings, model.pi_[:, k], 1, w=weight)[0] for k in range(2)]
    np.testing.assert_allclose([record["mean"] for record in found["topics"]], slopes, atol=1e-12)
    shown = " ".join(run("prevalence", rated / "model", "--trend").stdout.split())
    assert "Change of shares per unit. Order of the collections" in shown
    assert "1.0 (6), 1.5 (6), 2.0 (6)" in shown
    assert "9.5 (6), 10.0 (6), 10.5 (6), 11.0 (6), 11.5 (6), 100.0 (1)" in shown
    assert "+" in run("prevalence", rated / "model", "--difference", "1,11.5").stdout


def test_many_collections_fit_80_columns(rated: Path) -> None:
    env = {"COLUMNS": "80", "FORCE_COLOR": None, "PY_COLORS": None, "GITHUB_ACTIONS": None}
    shown = CliRunner(env=env).invoke(app, ["prevalence", str(rated / "model")]).stdout.splitlines()
    assert max(map(len, shown)) <= 80
    model = topicloom.load(rated / "model")
    lines = [line.split("│") for line in shown if line.startswith("│")]
    assert [line[1].strip() for line in lines] == [str(label) for label in model.collections_]  # one line each
    for line, pi in zip(lines, model.pi_draws_.mean(axis=0), strict=True):
        assert [cell.split()[0] for cell in line[3:-1]] == [f"{100 * share:.1f}" for share in pi]


@pytest.mark.parametrize("question", [[], ["--trend"], ["--difference", "1991,1992"]])
@pytest.mark.parametrize("form", ["--csv", "--json", None])
def test_prevalence_needs_no_data_frames(
    files: Path, question: list[str], form: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pandas", "polars", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr("topicloom.corpus.frames.find_spec", lambda name: None)
    result = run("prevalence", files / "model", *question, *([] if form is None else [form]))
    assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) > 2


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
        for more in (["--group-column", "year"], ["--group-column", ""])
    )
    assert with_group != without


def test_more_sweeps_and_other_inference(files: Path, tmp_path: Path) -> None:
    done = run("fit-collections", files / "train.csv", "--out", tmp_path / "vem", "--group-column", "year",
               "--topics", 2, "--method", "vem", "--collection-prior", "learn", "--json")  # fmt: skip
    summary = json.loads(done.stdout)
    assert summary["collections"] == [1991, 1992]
    assert summary["gamma"] > 0
    assert run("resume", tmp_path / "vem", "--quiet").exit_code == 0
    alone = run("fit-collections", files / "train.csv", "--out", tmp_path / "one", "--topics", 2, "--sweeps", 5)
    assert "all are one collection" in alone.stderr


def test_what_is_refused(files: Path, tmp_path: Path) -> None:
    fit = ["fit-collections", files / "train.csv", "--out", tmp_path / "x"]
    assert "--collection-prior many: expected a number" in refused(*fit, "--collection-prior", "many")
    assert "--method 'gibbs' is not known" in refused(*fit, "--method", "gibbs")
    assert "--concentration -1.0 must be" in refused(*fit, "--concentration", -1)
    assert not (tmp_path / "x").exists()
    assert "expected two of 1991,1992" in refused("prevalence", files / "model", "--difference", "1991,2001")
    assert "one at a time" in refused("prevalence", files / "model", "--difference", "1991,1992", "--trend")
    run("fit", files / "train.csv", "--out", tmp_path / "plain", "--topics", 2, "--sweeps", 3)
    assert "has no collections" in refused("prevalence", tmp_path / "plain")
