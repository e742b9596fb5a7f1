"""Later commands read new files as the fit read its own, say where they were told otherwise, and never guess."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import topicloom
from topicloom.cli import app
from topicloom.corpus import formats
from topicloom.explore.report import command_of

THEMES = {"water": "river water fish boat lake shore", "money": "money loan credit rate cash debt"}
COLUMNS = ["name", "text", "review", "tags", "stars", "price"]


def run(*arguments: object) -> Result:
    env = {"COLUMNS": "120", "FORCE_COLOR": None, "PY_COLORS": None, "GITHUB_ACTIONS": None}
    return CliRunner(env=env).invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


def done(*arguments: object) -> Result:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result


def refused(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    return result.stderr.splitlines()[-1]


def rows_of(n: int, seed: int) -> list[list[Any]]:
    """Reviews of two themes; the column ``text`` holds something else in words that the model knows, too."""
    rng = np.random.default_rng(seed)
    rows = []
    for d in range(n):
        theme = "water" if d % 2 else "money"
        other = "money" if d % 2 else "water"
        text, review = (" ".join(rng.choice(THEMES[name].split(), 12)) for name in (other, theme))
        rows.append([f"d{d}", text, review, theme, 1 + d % 2, float(d % 2)])
    return rows


def write_table(path: Path, rows: list[list[Any]], columns: list[str], delimiter: str = ",") -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(columns)
        writer.writerows([[row[COLUMNS.index(name)] for name in columns] for row in rows])
    return path


FITS: dict[str, list[object]] = {
    "fit": ["--topics", 2, "--sweeps", 20],
    "fit-labels": ["--label-column", "tags", "--sweeps", 20, "--burn-in", 10, "--method", "cvb0"],
    "fit-supervised": ["--task", "numbers", "--response-column", "price", "--topics", 2, "--sweeps", 10,
                       "--burn-in", 5],
    "fit-collections": ["--group-column", "stars", "--topics", 2, "--sweeps", 20],
    "fit-hdp": ["--initial-topics", 2, "--sweeps", 20],
}  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Semicolons between the columns, texts in ``review``: a model of each kind is fitted to them."""
    folder = tmp_path_factory.mktemp("reading")
    write_table(folder / "train.csv", rows_of(40, 1), COLUMNS, ";")
    write_table(folder / "test.csv", rows_of(10, 2), COLUMNS, ";")
    write_table(folder / "comma.csv", rows_of(10, 2), COLUMNS)
    write_table(folder / "short.csv", rows_of(10, 2), ["name", "text", "price"], ";")
    for command, own in FITS.items():
        done(command, folder / "train.csv", "--out", folder / command, "--delimiter", ";", "--text-column", "review",
             "--id-column", "name", "--quiet", *own)  # fmt: skip
    return folder


NAMED: dict[str, list[str]] = {
    "fit": [],
    "fit-labels": ["--label-column", "tags"],
    "fit-supervised": ["--response-column", "price"],
    "fit-collections": ["--group-column", "stars"],
    "fit-hdp": [],
}


@pytest.mark.parametrize("command", FITS)
def test_evaluate_and_transform_and_predict_read_as_the_fit_did(files: Path, command: str) -> None:
    model, named = files / command, ["--delimiter", ";", "--text-column", "review"]
    plain = done("evaluate", model, files / "test.csv", "--json")
    spelled_out = done("evaluate", model, files / "test.csv", *named, *NAMED[command], "--json")
    assert json.loads(plain.stdout) == json.loads(spelled_out.stdout)
    assert "as asked" not in plain.stderr + spelled_out.stderr
    for other in ["transform"] if command in ("fit", "fit-collections", "fit-hdp") else ["transform", "predict"]:
        more = NAMED[command] if command == "fit-collections" else []
        found = done(other, model, files / "test.csv")
        assert found.stdout == done(other, model, files / "test.csv", *named, "--id-column", "name", *more).stdout
        assert [line.split(",")[0] for line in found.stdout.splitlines()[1:]] == [f"d{d}" for d in range(10)]


@pytest.mark.parametrize("command", FITS)
def test_a_column_that_is_missing_is_told_and_never_replaced(files: Path, command: str) -> None:
    for other in ("evaluate", "transform", *(["predict"] if command in ("fit-labels", "fit-supervised") else [])):
        assert refused(other, files / command, files / "short.csv") == (
            f"topicloom: {files / 'short.csv'}, line 1: there is no column 'review', from which the fit read its texts"
            "; there are 'name', 'text', 'price'. Name the right one with --text-column."
        )


def test_other_columns_that_are_missing(files: Path) -> None:
    test = files / "short.csv"
    text = ["--text-column", "text"]
    assert refused("transform", files / "fit-collections", test, *text).endswith(
        "there is no column 'stars', from which the fit read its groups; there are 'name', 'text', 'price'. Name the "
        "right one with --group-column, or give --group-column '' to read none."
    )
    done("transform", files / "fit-collections", test, *text, "--group-column", "")
    assert "from which the fit read its labels" in refused("evaluate", files / "fit-labels", test, *text)
    done("predict", files / "fit-labels", test, *text)  # new documents have no labels
    write_table(files / "nameless.csv", rows_of(4, 2), ["review"], ";")
    assert "or give --id-column '' to read none." in refused("transform", files / "fit", files / "nameless.csv")
    found = done("transform", files / "fit", files / "nameless.csv", "--id-column", "").stdout
    assert [line.split(",")[0] for line in found.splitlines()[1:]] == ["0", "1", "2", "3"]
    done("evaluate", files / "fit", files / "nameless.csv")  # which needs no names


def test_what_is_given_is_used_and_said(files: Path) -> None:
    asked = done("evaluate", files / "fit", files / "comma.csv", "--delimiter", ",", "--text-column", "text", "--json")
    assert "topicloom: --delimiter , is used, as asked; the fit had ;." in asked.stderr
    assert "topicloom: --text-column text is used, as asked; the fit had review." in asked.stderr
    texts = [row[1] for row in rows_of(10, 2)]
    scores = json.loads(asked.stdout)["scores"]
    assert scores["perplexity"] == topicloom.load(files / "fit").perplexity(texts)


def test_files_of_other_formats_take_what_means_something_to_them(files: Path, tmp_path: Path) -> None:
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in rows_of(10, 2)]
    (tmp_path / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "test.txt").write_text("".join(f"{row['review']}\n" for row in rows))
    write_table(tmp_path / "test.tsv", rows_of(10, 2), COLUMNS, "\t")
    expected = done("evaluate", files / "fit", files / "test.csv", "--json").stdout
    for name in ("test.jsonl", "test.txt", "test.tsv"):
        assert done("evaluate", files / "fit", tmp_path / name, "--json").stdout == expected


def test_how_it_was_read_survives_saving_and_more_sweeps(files: Path, tmp_path: Path) -> None:
    topicloom.load(files / "fit").save(tmp_path / "again")
    topicloom.load(files / "fit").save(tmp_path / "small", corpus=False)
    expected = done("transform", files / "fit", files / "test.csv").stdout
    assert done("transform", tmp_path / "again", files / "test.csv").stdout == expected
    assert done("transform", tmp_path / "small", files / "test.csv").stdout == expected
    done("resume", tmp_path / "again", "--sweeps", 22, "--quiet")
    done("transform", tmp_path / "again", files / "test.csv")


def test_a_model_that_was_fitted_in_python_remembers_how_read_read(files: Path, tmp_path: Path) -> None:
    corpus = topicloom.read(files / "train.csv", delimiter="semicolon", text_column="review", id_column="name")
    topicloom.LDA(2, max_iter=3, random_state=0).fit(corpus).save(tmp_path / "m")
    named = ["--delimiter", ";", "--text-column", "review", "--id-column", "name"]
    plain = done("transform", tmp_path / "m", files / "test.csv")
    assert plain.stdout == done("transform", tmp_path / "m", files / "test.csv", *named).stdout
    assert "there is no column 'review', from which the fit read its texts" in refused(
        "transform", tmp_path / "m", write_table(tmp_path / "plain.csv", rows_of(4, 2), ["text"])
    )
    from_matrix = topicloom.LDA(2, max_iter=3, random_state=0).fit(topicloom.from_texts(["river money"] * 3))
    from_matrix.save(tmp_path / "n")
    done("transform", tmp_path / "n", tmp_path / "plain.csv")  # nothing was read, and options have their defaults


def test_tables_without_a_header_and_separated_labels_are_remembered(tmp_path: Path) -> None:
    lines = [f"d{d}\t{'sport;uk' if d % 2 else 'money'}\t{THEMES['water' if d % 2 else 'money']}\n" for d in range(12)]
    (tmp_path / "train.txt").write_text("".join(lines))
    named = ["--delimiter", "tab", "--no-header", "--text-column", "2", "--id-column", "0", "--label-column", "1"]
    told = done("fit-labels", tmp_path / "train.txt", "--out", tmp_path / "one", *named, "--method", "cvb0", "-n", 3,
                "--burn-in", 1, "-q").stderr  # fmt: skip
    assert "6 of 12 cells look like several labels separated by ';', such as 'sport;uk', and are read as one" in told
    assert "Give --label-separator ';' to split them, or --label-separator 'none' if each cell is one label." in told
    told = done("fit-labels", tmp_path / "train.txt", "--out", tmp_path / "m", *named, "--label-separator", ";", "-q",
                "--method", "cvb0", "-n", 3, "--burn-in", 1).stderr  # fmt: skip
    assert "warning" not in told
    assert topicloom.load(tmp_path / "m").classes_.tolist() == ["money", "sport", "uk"]
    plain = done("evaluate", tmp_path / "m", tmp_path / "train.txt", "--json")
    assert "asked" not in plain.stderr
    said = done("evaluate", tmp_path / "m", tmp_path / "train.txt", "--json", *named, "--label-separator", "semicolon")
    assert (said.stdout, said.stderr) == (plain.stdout, plain.stderr)
    other = done("evaluate", tmp_path / "m", tmp_path / "train.txt", "--json", "--label-separator", "none").stderr
    assert "--label-separator none is used, as asked; the fit had ;." in other
    assert done("predict", tmp_path / "m", tmp_path / "train.txt").stdout.splitlines()[1].startswith("d0,")
    assert "give --no-header" not in refused("transform", tmp_path / "m", tmp_path / "train.txt", "--header")


def test_folders_archives_and_several_files(tmp_path: Path) -> None:
    for d in range(12):
        theme = "water" if d % 2 else "money"
        path = tmp_path / "talks" / theme / f"{d:02d}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{THEMES[theme]}\n{THEMES[theme]}\n")
    done("fit", tmp_path / "talks", "--out", tmp_path / "m", "-k", 2, "-n", 5, "-q")
    model = topicloom.load(tmp_path / "m")
    assert model.corpus_.ids[:2] == ("money/00.txt", "money/02.txt")
    assert model.corpus_.labels[-1] == ("water",)
    given = [tmp_path / "talks" / "*" / "*.txt", *sorted((tmp_path / "talks").rglob("*.txt"))]
    expected = done("transform", tmp_path / "m", tmp_path / "talks").stdout
    assert done("transform", tmp_path / "m", given[0]).stdout == expected
    assert done("transform", tmp_path / "m", *given[1:]).stdout == expected
    one = done("transform", tmp_path / "m", tmp_path / "talks/water/01.txt").stdout  # not a document per line
    assert len(one.splitlines()) == 2
    assert "no file matches the pattern" in refused("info", tmp_path / "no*.txt")
    done("convert", tmp_path / "talks/money", tmp_path / "talks/water", tmp_path / "all.jsonl")
    assert len((tmp_path / "all.jsonl").read_text().splitlines()) == 12
    found = done("explore", tmp_path / "m", "--texts", tmp_path / "talks", "--out", tmp_path / "page.html").stderr
    assert "open it in a browser" in found
    assert f"topicloom fit {tmp_path / 'talks'} --out model" in (command_of(model) or "")
    assert "is a model or a run, not a corpus" in refused("fit", tmp_path / "m", "--out", tmp_path / "n")


def test_formats_encodings_and_matrices_are_remembered(tmp_path: Path) -> None:
    texts = [f"a{d} - größe größe maß fluß bank\n" for d in range(8)]
    (tmp_path / "train.txt").write_text("".join(texts), encoding="latin-1")
    (tmp_path / "test.txt").write_text("".join(texts[:3]), encoding="latin-1")
    done("fit", tmp_path / "train.txt", "--format", "mallet", "--encoding", "latin-1", "--out", tmp_path / "m", "-k", 2,
         "-n", 3, "-q")  # fmt: skip
    found = done("transform", tmp_path / "m", tmp_path / "test.txt")
    assert [line.split(",")[:3] for line in found.stdout.splitlines()[1:]] == [[f"a{d}", "5", "0"] for d in range(3)]

    corpus = topicloom.from_texts(["river water fish", "money loan", "fish money"] * 3)
    formats.write(corpus, tmp_path / "a.mtx")
    (tmp_path / "words.txt").write_text("".join(f"{word}\n" for word in corpus.vocabulary))
    (tmp_path / "a.mtx.vocab").unlink()
    import scipy.io

    scipy.io.mmwrite(tmp_path / "t.mtx", corpus.to_matrix().T, field="integer")
    done("fit", tmp_path / "t.mtx", "--transpose", "--vocab", tmp_path / "words.txt", "--out", tmp_path / "c", "-k", 2,
         "-n", 3, "-q")  # fmt: skip
    found = done("transform", tmp_path / "c", tmp_path / "t.mtx")
    assert [line.split(",")[2] for line in found.stdout.splitlines()[1:]] == ["0"] * 9
    asked = done("transform", tmp_path / "c", tmp_path / "a.mtx", "--no-transpose")
    assert asked.stdout == found.stdout
    assert "the fit had" in asked.stderr


def test_documents_without_labels_are_told_with_the_columns(files: Path, tmp_path: Path) -> None:
    """Of a model that was fitted to texts in Python, which remembers no column."""
    corpus = topicloom.from_texts([row[2] for row in rows_of(20, 1)], labels=[[row[3]] for row in rows_of(20, 1)])
    topicloom.LabeledLDA(max_iter=10, burn_in=5, method="cvb0", random_state=0).fit(corpus).save(tmp_path / "m")
    message = refused("evaluate", tmp_path / "m", files / "comma.csv", "--text-column", "review")
    assert "have no labels to compare with; name their column with --label-column." in message
    assert message.endswith("are 'name', 'text', 'review', 'tags', 'stars', 'price'.")


@pytest.mark.parametrize(("command", "role"), [("fit-labels", "label"), ("fit-supervised", "label")])
def test_a_fit_without_a_column_of_labels_names_those_that_there_are(
    files: Path, tmp_path: Path, command: str, role: str
) -> None:
    asked = [command, files / "comma.csv", "--out", tmp_path / "m", "--text-column", "review"]
    message = refused(*asked)
    assert f"have no {role}s to learn from; name the column that holds them with --{role}-column." in message
    assert message.endswith("are 'name', 'text', 'review', 'tags', 'stars', 'price'.")
    assert refused(*asked, f"--{role}-column", "tag").endswith(
        f"there is no column 'tag'; there are 'name', 'text', 'review', 'tags', 'stars', 'price'. Name the right one "
        f"with --{role}-column."
    )


def test_a_wrong_delimiter_is_told_with_the_right_one(files: Path, tmp_path: Path) -> None:
    asked = ["fit", files / "train.csv", "--out", tmp_path / "m", "--text-column", "review"]
    assert refused(*asked).endswith("Its columns look separated by ';', not ','; give --delimiter ';'.")
    assert refused(*asked, "--delimiter", "|").endswith("look separated by ';', not '|'; give --delimiter ';'.")
    assert "must be one character, or a name" in refused(*asked, "--delimiter", ";;")


@pytest.mark.parametrize("given", ["klingon", "stop.txt"])
def test_stop_words_are_languages_or_a_file(files: Path, tmp_path: Path, given: str) -> None:
    message = refused("fit", files / "train.csv", "--out", tmp_path / "m", "--stop-words", given)
    assert f"--stop-words {given} cannot be read: there is no such file" in message
    assert "or languages by their English names or codes" in message


def test_one_is_not_many(tmp_path: Path, files: Path) -> None:
    (tmp_path / "one.txt").write_text("river water zebra\n")
    said = done("transform", files / "fit", tmp_path / "one.txt", "--out", tmp_path / "a.csv").stderr
    assert "33.3% of the words in 1 document are unknown to the model." in said
    assert "topic proportions of 1 document are in" in said
    (tmp_path / "none.txt").write_text("zebra\n")
    assert "; 1 document has no known word and gets" in done("transform", files / "fit", tmp_path / "none.txt").stderr
