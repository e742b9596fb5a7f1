"""The command line of labeled models: fit from a file, predict, evaluate, and what is refused."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import topicloom
from topicloom.cli import app

THEMES = {"water": "river water fish boat", "money": "money loan credit rate", "sport": "goal match team cup"}
Run = Callable[..., Result]


def run(*arguments: object) -> Result:
    env = {"COLUMNS": "100", "FORCE_COLOR": None, "PY_COLORS": None, "GITHUB_ACTIONS": None}
    return CliRunner(env=env).invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("labels")
    rng = np.random.default_rng(3)
    names = list(THEMES)
    for part, n in (("train", 60), ("test", 15)):
        with (folder / f"{part}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["name", "text", "tags"])
            for d in range(n):
                own = [names[d % 3]] if d % 2 else [names[d % 3], names[(d + 1) % 3]]
                words = " ".join(rng.choice(" ".join(THEMES[name] for name in own).split(), 20))
                writer.writerow([f"{part}-{d}", words, " ".join(own)])
    args = ["fit-labels", folder / "train.csv", "--out", folder / "model", "--label-column", "tags", "--sweeps", "40",
            "--burn-in", "20", "--holdout", "0.3", "--label-separator", "space"]  # fmt: skip
    result = run(*args)
    assert result.exit_code == 0, result.output
    assert "the model is in" in result.stderr
    assert "water" in result.stdout
    return folder


def refused(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    return [line for line in result.stderr.splitlines() if not line.startswith("topicloom: read ")][-1]


def test_predict_and_evaluate(files: Path) -> None:
    done = run("predict", files / "model", files / "test.csv", "--id-column", "name", "--out", files / "labels.csv")
    assert done.exit_code == 0, done.output
    rows = list(csv.DictReader((files / "labels.csv").read_text().splitlines()))
    assert [row["id"] for row in rows] == [f"test-{d}" for d in range(15)]
    model = topicloom.load(files / "model")
    texts = [row["text"] for row in csv.DictReader((files / "test.csv").read_text().splitlines())]
    read = [tuple(json.loads(row["labels"])) if row["labels"][:1] == "[" else (row["labels"],) for row in rows]
    assert read == model.predict_labels(texts)
    assert any(len(own) > 1 for own in read)
    back = topicloom.read(files / "labels.csv", text_column="id", label_column="labels")
    assert list(back.labels or ()) == read
    done = run("evaluate", files / "model", files / "test.csv", "--label-column", "tags", "--json")
    scores = json.loads(done.stdout)["scores"]
    assert scores["micro_f1"] > 0.8
    assert scores["average_precision"] > 0.9
    assert set(scores) >= {"macro_f1", "example_f1", "one_error", "coverage", "ranking_loss", "calibration_error"}
    done = run(
        "evaluate", files / "model", files / "test.csv", "--label-column", "tags", "--measures", "micro_f1,brier"
    )
    assert "brier" in done.stdout
    assert "coverage" not in done.stdout


@pytest.mark.parametrize("rule", ["meta", "threshold"])
def test_evaluate_and_score_agree_on_labels_that_training_never_saw(files: Path, tmp_path: Path, rule: str) -> None:
    rows = list(csv.DictReader((files / "test.csv").read_text().splitlines()))
    with (tmp_path / "unseen.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "tags"])
        writer.writerows([row["text"], row["tags"] + (" new" if d % 2 else " newer")] for d, row in enumerate(rows))
    model = topicloom.load(files / "model").set_params(label_rule=rule)
    model.save(tmp_path / "model")
    scores: list[float] = []
    for file, told in (("test.csv", False), ("unseen.csv", True)):
        path = files / file if file == "test.csv" else tmp_path / file
        done = run("evaluate", tmp_path / "model", path, "--label-column", "tags", "--json")
        assert ("that the model has never seen: 2; they count as missed" in done.stderr) == told
        scores.append(json.loads(done.stdout)["scores"]["micro_f1"])
        own = [row["tags"].split() + (["new" if d % 2 else "newer"] if told else []) for d, row in enumerate(rows)]
        assert scores[-1] == model.score([row["text"] for row in rows], own)
    assert scores[1] < scores[0] - 0.1


def test_predictions_in_other_forms(files: Path) -> None:
    done = run("predict", files / "model", files / "test.csv", "--probabilities", "--json", "--rule", "count",
               "--n-labels", "1")  # fmt: skip
    records = json.loads(done.stdout)["predictions"]
    assert all(len(record["labels"]) == 1 for record in records)
    assert set(records[0]["probabilities"]) == set(THEMES)
    done = run("predict", files / "model", files / "test.csv", "--probabilities")
    assert done.stdout.splitlines()[0] == "id,labels,p_money,p_sport,p_water"
    out = files / "labels.jsonl"
    assert run("predict", files / "model", files / "test.csv", "--out", out).exit_code == 0
    assert len(out.read_text().splitlines()) == 15


def test_the_other_commands_know_the_model(files: Path) -> None:
    assert "sport" in run("topics", files / "model").stdout
    again = run("resume", files / "model", "--sweeps", "45", "--json")
    assert json.loads(again.stdout)["sweeps"] == 45
    assert json.loads(run("info", files / "model", "--json").stdout)["sweeps"] == 45


@pytest.mark.parametrize("kind", ["labeled", "dependency"])
def test_the_other_models(files: Path, kind: str) -> None:
    out = files / kind
    more = ["--label-topics", "2"] if kind == "dependency" else []
    done = run("fit-labels", files / "train.csv", "--out", out, "--label-column", "tags", "--model", kind, "--sweeps",
               "60", "--quiet", "--json", "--method", "cvb0", "--label-separator", " ", *more)  # fmt: skip
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["labels"] == 3
    assert type(topicloom.load(out)).__name__ == {"labeled": "LabeledLDA", "dependency": "DependencyLDA"}[kind]


def test_what_is_refused(files: Path, tmp_path: Path) -> None:
    train = files / "train.csv"
    assert "--model best: not known" in refused("fit-labels", train, "--out", tmp_path / "m", "--model", "best")
    assert "--label-topics is for" in refused("fit-labels", train, "--out", tmp_path / "m", "--label-topics", "3")
    message = refused("fit-labels", train, "--out", tmp_path / "m")
    assert "have no labels to learn from; name the column that holds them with --label-column." in message
    assert message.endswith("The columns of " + str(train) + " are 'name', 'text', 'tags'.")
    assert not (tmp_path / "m").exists()
    assert "not an empty directory" in refused("fit-labels", train, "--out", files / "model")
    assert "label_rule" not in refused("fit-labels", train, "--out", tmp_path / "m", "--label-rule", "x")
    assert "give a file of them" in refused("evaluate", files / "model")
    assert "--measures nothing: not known" in refused(
        "evaluate", files / "model", files / "test.csv", "--label-column", "tags", "--measures", "nothing"
    )
    assert "must end in .csv or .jsonl" in refused("predict", files / "model", files / "test.csv", "--out", "x.npy")
    (tmp_path / "plain.txt").write_text("river water\ngoal team\n" * 4)
    assert run("fit", tmp_path / "plain.txt", "--out", tmp_path / "lda", "-k", "2", "-n", "3", "-q").exit_code == 0
    assert "has no labels to predict" in refused("predict", tmp_path / "lda", tmp_path / "plain.txt")


# -- explanations and reports ------------------------------------------------------------------------------------------


def test_explanations_are_the_model_s(files: Path) -> None:
    model = topicloom.load(files / "model")
    new = files / "new.csv"
    new.write_text('name,text\na,"River! The fish, the fish; a LOAN."\n7,match team\nempty,zebra\n')
    asked = ("explain", files / "model", new, "--id-column", "name")
    texts = ["River! The fish, the fish; a LOAN.", "match team", "zebra"]
    with pytest.warns(topicloom.errors.UnknownWordsWarning):
        frame = model.explain(texts, labels=["water", "money"], top=2, frame="pandas")
    frame["id"] = [["a", "7", "empty"][d] for d in frame["document"]]
    rows = list(csv.DictReader(run(*asked, "--label", "water", "-l", "money", "-w", "2", "--csv").stdout.splitlines()))
    assert [row["word"] or None for row in rows] == frame["word"].tolist()
    assert [float(row["contribution"]) for row in rows] == frame["contribution"].tolist()
    assert [row["id"] for row in rows] == frame["id"].tolist()
    tokens = json.loads(run(*asked, "-d", "a", "--topic", "1", "--tokens", "--json").stdout)["tokens"]
    assert [texts[0][row["start"] : row["end"]] for row in tokens] == ["River", "fish", "fish", "LOAN"]
    assert {(row["document"], row["topic"], row["name"]) for row in tokens} == {(0, 1, "sport")}
    one = json.loads(run(*asked, "-d", "7", "-d", "0", "--best", "1", "--json").stdout)["words"]
    assert [row["id"] for row in one] == ["7"] * 2 + ["a"] * 3  # names before numbers
    shown = run(*asked, "-d", "a").stdout  # not a terminal: marks in the place of colours
    assert "River[1]! The fish[1], the fish[1]; a LOAN[2]." in shown
    assert "words for it" in shown
    assert all(len(line) <= 100 for line in shown.splitlines())


def test_labels_are_reported(files: Path) -> None:
    asked = ("label-report", files / "model", files / "test.csv")
    whole = json.loads(run(*asked, "--json").stdout)
    rows = list(csv.DictReader(run(*asked, "--sort", "name", "--csv").stdout.splitlines()))
    assert [row["label"] for row in rows] == ["money", "sport", "water"]
    assert {row["label"]: float(row["f1"]) for row in rows} == {own["label"]: own["f1"] for own in whole["labels"]}
    scores = json.loads(run("evaluate", files / "model", files / "test.csv", "--json").stdout)["scores"]
    assert whole["averages"]["micro"]["f1"] == scores["micro_f1"]
    assert whole["averages"]["samples"]["f1"] == scores["example_f1"]
    assert sum(whole["calibration"]["size"]) == 3 * whole["documents"] == 45
    shown = run(*asked).stdout
    assert "expected" in shown
    assert "15 documents; 0.0% have no predicted label" in shown


def test_wrong_questions_are_refused(files: Path) -> None:
    model, test = files / "model", files / "test.csv"
    assert "'zebra' is no label" in refused("explain", model, test, "--label", "zebra")
    assert "--document 99: there is no such document" in refused("explain", model, test, "-d", "99")
    assert "give topics or labels" in refused("explain", model, test, "-t", "0", "-l", "water")
    assert "--tokens says what --csv, --json and --parquet give" in refused("explain", model, test, "--tokens")
    assert "--sort zebra: not known" in refused("label-report", model, test, "--sort", "zebra")
    (files / "bare.csv").write_text("text\nriver\n")
    assert "there is no column 'tags'" in refused("label-report", model, files / "bare.csv")


@pytest.mark.parametrize("width", ["60", "80"])
def test_many_labels_with_long_names_keep_to_the_terminal(width: str, capsys: pytest.CaptureFixture[str]) -> None:
    from topicloom.cli.label_report import _show
    from topicloom.evaluation import label_report

    rng = np.random.default_rng(0)
    truth = rng.random((30, 200)) < 0.1
    names = [f"a label with a very long name of its own, number {k}" for k in range(200)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", width)
        found = label_report(truth, truth, truth * 0.9, names)
        _show(found, found.order("support"))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= int(width)
    assert "F1" in lines[1]
    assert "1.00 │" in lines[3]  # numbers are not cut
    assert len(lines) < 200 + 40  # a line per label
