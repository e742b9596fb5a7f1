"""The command line of supervised topics: fit from a file, predict, evaluate, and what is refused."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import topicloom
from topicloom.cli import app

THEMES = {"water": "river water fish boat", "money": "money loan credit rate", "sport": "goal match team cup"}


def run(*arguments: object) -> Result:
    env = {"COLUMNS": "100", "FORCE_COLOR": None, "PY_COLORS": None, "GITHUB_ACTIONS": None}
    return CliRunner(env=env).invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


def refused(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    return [line for line in result.stderr.splitlines() if not line.startswith("topicloom: read ")][-1]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("supervised")
    rng = np.random.default_rng(3)
    names = list(THEMES)
    for part, n in (("train", 60), ("test", 15)):
        with (folder / f"{part}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["name", "text", "kind", "price"])
            for d in range(n):
                words = " ".join(rng.choice(THEMES[names[d % 3]].split(), 15))
                writer.writerow([f"{part}-{d}", words, names[d % 3], 10 * (d % 3)])
    shared = ["-k", "4", "--sweeps", "20", "--burn-in", "10", "--weight-precision", "10"]
    done = run("fit-supervised", folder / "train.csv", "-o", folder / "classes", "--label-column", "kind", *shared,
               "--loss", "logistic", "--loss-weight", "20")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "the model is in" in done.stderr
    assert "water" in done.stdout
    done = run("fit-supervised", folder / "train.csv", "-o", folder / "numbers", "--response-column", "price", *shared,
               "--task", "numbers", "--epsilon", "0.1", "--json", "--quiet")  # fmt: skip
    assert json.loads(done.stdout)["topics"] == 4
    return folder


def test_classes(files: Path) -> None:
    done = run("predict", files / "classes", files / "test.csv", "--id-column", "name", "--probabilities")
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert [row["labels"] for row in rows] == [list(THEMES)[d % 3] for d in range(15)]
    assert float(rows[0]["p_water"]) > 0.5
    done = run("evaluate", files / "classes", files / "test.csv", "--label-column", "kind", "--json")
    assert json.loads(done.stdout)["scores"] == {"accuracy": 1.0}
    assert type(topicloom.load(files / "classes")).__name__ == "MedLDAClassifier"
    assert json.loads(run("resume", files / "classes", "--sweeps", "25", "--json").stdout)["sweeps"] == 25


def test_numbers(files: Path) -> None:
    out = files / "prices.csv"
    assert run("predict", files / "numbers", files / "test.csv", "--id-column", "name", "--out", out).exit_code == 0
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert [row["id"] for row in rows] == [f"test-{d}" for d in range(15)]
    assert np.corrcoef([float(row["prediction"]) for row in rows], [10 * (d % 3) for d in range(15)])[0, 1] > 0.8
    done = run("evaluate", files / "numbers", files / "test.csv", "--response-column", "price")
    assert "r2" in done.stdout
    done = run("predict", files / "numbers", files / "test.csv", "--json")
    assert len(json.loads(done.stdout)["predictions"]) == 15
    assert run("predict", files / "numbers", files / "test.csv", "--out", files / "p.jsonl").exit_code == 0
    assert len((files / "p.jsonl").read_text().splitlines()) == 15
    assert run("predict", files / "numbers", files / "test.csv").stdout.splitlines()[0] == "id,prediction"


def test_what_is_refused(files: Path, tmp_path: Path) -> None:
    train, out = files / "train.csv", tmp_path / "m"
    assert "--task both: not known" in refused("fit-supervised", train, "--out", out, "--task", "both")
    assert "--epsilon is not for --task classes" in refused("fit-supervised", train, "--out", out, "--epsilon", "1")
    numbers = ("fit-supervised", train, "--out", out, "--task", "numbers")
    assert "--loss 'hinge' is not known; choose one of 'epsilon_insensitive', 'squared'" in refused(
        *numbers, "--loss", "hinge"
    )
    assert "--class-weight is not for --task numbers" in refused(*numbers, "--class-weight", "balanced")
    assert "--weight-column is read in place of --time-column here" in refused(
        *numbers, "--response-column", "price", "--weight-column", "price", "--time-column", "price"
    )
    assert "--class-weight 2: give balanced, or CLASS=WEIGHT" in refused(
        "fit-supervised", train, "--out", out, "--class-weight", "2"
    )
    for task, role in (("classes", "label"), ("numbers", "response")):
        message = refused("fit-supervised", train, "--out", out, "--task", task)
        assert f"have no {role}s to learn from; name the column that holds them with --{role}-column." in message
        assert message.endswith("are 'name', 'text', 'kind', 'price'.")
    assert not out.exists()
    assert "--rule and --n-labels are for" in refused("predict", files / "classes", train, "--rule", "count")
    assert "give a file of them" in refused("evaluate", files / "classes")
    assert "--probabilities needs" in refused("predict", files / "numbers", train, "--probabilities")


def test_weights_of_classes_and_documents(files: Path, tmp_path: Path) -> None:
    """As of the models, which keep no trace of the column of weights."""
    table = tmp_path / "weighted.csv"
    rows = list(csv.DictReader((files / "train.csv").read_text().splitlines()))
    with table.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0], "weight"])
        writer.writeheader()
        writer.writerows([row | {"weight": d % 4} for d, row in enumerate(rows)])
    how = ["-k", "4", "--sweeps", "6", "--burn-in", "3", "--json", "--quiet"]
    of_documents = ["--weight-column", "weight", *how]
    done = run("fit-supervised", table, "-o", tmp_path / "classes", "--label-column", "kind", *of_documents,
               "--class-weight", "water=3", "--class-weight", "money=0.5", "--no-calibrate")  # fmt: skip
    assert done.exit_code == 0, done.output
    model = topicloom.load(tmp_path / "classes")
    assert model.class_weight == {"water": 3.0, "money": 0.5}
    assert model.calibrate is False
    assert model.corpus_.responses is None
    given = {"n_components": 4, "max_iter": 6, "burn_in": 3, "random_state": 0, "calibrate": False}
    corpus = topicloom.read(files / "train.csv", label_column="kind")
    same = topicloom.MedLDAClassifier(class_weight={"water": 3.0, "money": 0.5}, **given)
    assert same.fit(corpus, sample_weight=np.arange(60) % 4).fingerprint_ == model.fingerprint_
    done = run("fit-supervised", table, "-o", tmp_path / "balanced", "--label-column", "kind", *how,
               "--class-weight", "balanced")  # fmt: skip
    assert topicloom.load(tmp_path / "balanced").class_weight == "balanced"
    done = run("fit-supervised", table, "-o", tmp_path / "numbers", "--response-column", "price", *of_documents,
               "--task", "numbers", "--loss", "squared")  # fmt: skip
    assert done.exit_code == 0, done.output
    numbers = topicloom.load(tmp_path / "numbers")
    assert (numbers.loss, numbers.corpus_.times) == ("squared", None)
    assert numbers._training_targets().weight.tolist() == [d % 4 for d in range(60)]
    assert run("predict", tmp_path / "numbers", files / "test.csv").exit_code == 0
