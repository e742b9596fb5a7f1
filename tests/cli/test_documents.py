"""``docs``, ``name`` and ``report``: what they print, what they keep, and the message of every bad input."""

import csv
import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import topicloom
from tests.cli.invoking import PLAIN, Run
from topicloom.cli import app
from topicloom.explore.report import command_of


@pytest.fixture
def own(model: Path, tmp_path: Path) -> Path:
    """A copy of the model."""
    (tmp_path / "model").mkdir()
    for path in model.iterdir():
        (tmp_path / "model" / path.name).write_bytes(path.read_bytes())
    return tmp_path / "model"


def test_docs_shows_ids_shares_and_texts(run: Run, document: Callable[..., Any], files: Path, model: Path) -> None:
    lines = (files / "texts.txt").read_text().splitlines()
    fitted = topicloom.load(model)
    expected = fitted.top_docs(1, 4, text_length=None)
    found = document("docs", model, "--topic", 1, "--n", 4, "--whole")
    assert (found["topic"], found["name"], found["label"]) == (1, None, fitted.topic_labels()[1])
    assert [row["document"] for row in found["documents"]] == expected["document"].tolist()
    assert [row["share"] for row in found["documents"]] == expected["share"].tolist()
    assert [row["text"] for row in found["documents"]] == [lines[d] for d in expected["document"]]
    cut = document("docs", model, "--topic", 1, "--n", 1, "--text-length", 10)["documents"][0]["text"]
    assert len(cut) <= 10
    assert cut.endswith("…")
    rows = list(csv.DictReader(run("docs", model, "-t", 1, "-n", 4, "--csv", "--text-length", 0).stdout.splitlines()))
    assert [row["id"] for row in rows] == expected["id"].tolist()
    assert "text" not in rows[0]


def test_docs_can_be_read_on_eighty_columns(own: Path, tmp_path: Path) -> None:
    texts = ["\x1b[31mriver\x1b[0m " + "river water fish " * 30, "東京" * 60 + " loan", "money loan"]
    corpus = topicloom.from_texts(texts, ids=["a", "b[red]", "c"])
    topicloom.LDA(2, max_iter=5, random_state=0).fit(corpus).save(tmp_path / "m")
    for number in (0, 1):
        call = ["docs", str(tmp_path / "m"), "--topic", str(number), "--whole"]
        shown = CliRunner(env={**PLAIN, "COLUMNS": "80"}).invoke(app, call).stdout
        from rich.cells import cell_len

        assert max(map(cell_len, shown.splitlines())) <= 80
        assert "\x1b" not in shown
        assert "b[red]" in shown
        assert "東京" in shown
        assert shown.startswith(f"Topic {number}: ")


def test_a_model_without_texts_says_so(run: Run, tmp_path: Path, files: Path) -> None:
    args = ("--out", tmp_path / "m", "-k", 2, "-n", 3, "--no-texts", "--quiet")
    assert run("fit", files / "texts.txt", *args).exit_code == 0
    result = run("docs", tmp_path / "m", "--topic", 0, "-n", 2)
    assert result.stdout.startswith("Topic 0: ")
    assert "keeps no texts; fit again with --keep-texts" in result.stderr


def test_names_are_kept_and_shown(run: Run, document: Callable[..., Any], own: Path) -> None:
    before = topicloom.load(own).fingerprint_
    found = document("name", own, "2=ships & rivers", "0=money")
    assert found["names"] == {"0": "money", "2": "ships & rivers"}
    fitted = topicloom.load(own)
    assert fitted.topic_names_ == ("money", None, "ships & rivers")
    assert fitted.fingerprint_ == before
    table = run("topics", own).stdout
    assert "name" in table
    assert "ships & rivers" in table
    assert [topic["name"] for topic in document("topics", own)] == ["money", None, "ships & rivers"]
    rows = list(csv.DictReader(run("topics", own, "--csv", "--words", 1).stdout.splitlines()))
    assert [row["name"] for row in rows] == ["money", "", "ships & rivers"]
    assert run("docs", own, "--topic", "money").stdout.startswith("Topic 0: money")
    header = run("transform", own).stdout.splitlines()[0]
    assert header == "id,tokens,unknown,money,topic_1,ships & rivers"
    assert document("transform", own)["topic_names"] == ["money", None, "ships & rivers"]
    assert "1 topic of 3 have" in run("name", own, "0=").stderr
    assert topicloom.load(own).topic_names_ == (None, None, "ships & rivers")


def test_names_come_from_the_explorers_file(run: Run, refused: Callable[..., str], own: Path, tmp_path: Path) -> None:
    exported = {"topicloom": "topic names", "version": 1, "fingerprint": "other", "names": {"1": "sport"}}
    (tmp_path / "names.json").write_text(json.dumps(exported))
    assert "names for the topics of another model" in refused("name", own, tmp_path / "names.json")
    assert "--any-model" in refused("name", own, tmp_path / "names.json")
    assert run("name", own, tmp_path / "names.json", "--any-model").exit_code == 0
    exported["fingerprint"] = topicloom.load(own).fingerprint_
    (tmp_path / "names.json").write_text(json.dumps(exported))
    assert run("name", own, tmp_path / "names.json").exit_code == 0
    assert topicloom.load(own).topic_names_ == (None, "sport", None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["docs", "--topic", "9"], "topic 9 does not exist; topics are numbered 0 to 2."),
        (["docs", "--topic", "space"], "no topic is named 'space'; none is."),
        (["docs", "--topic", "0", "--n", "0"], "must be a whole number of at least 1"),
        (["name", "space"], "cannot be read"),
        (["name", "3=space"], "topic 3 does not exist; topics are numbered 0 to 2."),
        (["name", "0=a", "x=space"], "no topic is named 'x'; none is."),
        (["name", "0=a", "space"], "'space': expected a topic and a name, as in 3=space"),
        (["name", "0=a", "1=a"], "topics 0 and 1 would both be named 'a'"),
        (["report", "--out", "."], "is a folder"),
    ],
)
def test_bad_input_is_told(refused: Callable[..., str], model: Path, arguments: list[str], message: str) -> None:
    assert message in refused(arguments[0], model, *arguments[1:])


# -- reports -----------------------------------------------------------------------------------------------------------


def test_a_report_says_how_to_make_the_model_again(
    document: Callable[..., Any], run: Run, files: Path, model: Path, tmp_path: Path
) -> None:
    found = document("report", model, "--out", tmp_path / "r.html", "--title", "Banks & rivers")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert found["bytes"] == (tmp_path / "r.html").stat().st_size
    assert "Banks &amp; rivers" in page
    words = shlex.split(found["command"])
    assert words[:3] == ["topicloom", "fit", str(files / "texts.txt")]
    again = tmp_path / "again"
    words[words.index("--out") + 1] = str(again)
    assert run(*words[1:], "--quiet").exit_code == 0
    assert topicloom.load(again).fingerprint_ == topicloom.load(model).fingerprint_


COMMANDS = [
    "fit {texts} --topics 3 --sweeps 4 --alpha 0.1,0.2,0.3 --beta 0.05 --fixed --sampler mh --mh-steps 3 --thin 2 "
    "--burn-in 2 --seed 7 --estimator standard --min-df 2 --max-df 0.9 --keep-case",
    "fit {texts} --topics 2 --sweeps 3 --method cvb0 --tol 0.01 --max-words 12 --no-texts",
    "fit-labels {table} --model labeled --label-column tag --text-column body --sweeps 4 --burn-in 2 --thin 1",
    "fit-supervised {table} --label-column tag --text-column body --topics 3 --sweeps 4 --burn-in 2 --loss logistic",
    "fit-collections {table} --group-column tag --text-column body --topics 2 --sweeps 4 --collection-prior learn",
    "fit-hdp {texts} --initial-topics 3 --sweeps 4 --beta 0.05 --doc-concentration 2 --max-topics 40 --seed 7",
]


@pytest.mark.parametrize("line", COMMANDS)
def test_the_command_of_every_kind_of_model_makes_it_again(run: Run, files: Path, tmp_path: Path, line: str) -> None:
    table = tmp_path / "it's a table.csv"
    texts = (files / "texts.txt").read_text().splitlines()[:20]
    table.write_text("body,tag\n" + "".join(f"{text},{'ab'[d % 2]}\n" for d, text in enumerate(texts)))
    given = line.format(texts=shlex.quote(str(files / "texts.txt")), table=shlex.quote(str(table)))
    assert run(*shlex.split(given), "--out", tmp_path / "first", "--quiet").exit_code == 0
    first = topicloom.load(tmp_path / "first")
    command = command_of(first)
    assert command is not None
    words = shlex.split(command)[1:]
    words[words.index("--out") + 1] = str(tmp_path / "second")
    assert run(*words, "--quiet").exit_code == 0
    assert topicloom.load(tmp_path / "second").fingerprint_ == first.fingerprint_
