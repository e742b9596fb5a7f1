"""Every command that prints a table prints it readable at any width, and as csv, JSON and Parquet."""

import ast
import csv
import inspect
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
import pytest
from typer.testing import CliRunner, Result

import topicloom
from tests.cli.invoking import PLAIN, THEMES
from topicloom import cli
from topicloom._layout import cell_width
from topicloom.cli import _tables
from topicloom.cli._run import show_json
from topicloom.cli._tables import Output, columns_of, rows_of, show_table, write_parquet

NO_TABLE = {"convert", "explore", "name", "report", "warmup"}  # what they say is a line or a file
BY_DOCUMENT = {"transform"}  # writes a line per document, with options of its own
LONG = "a group whose name goes on and on"


def with_tables() -> set[str]:
    """Commands that have the three options, found in the application."""
    names = set()
    for command in cli.app.registered_commands:
        assert command.callback is not None
        of = inspect.unwrap(command.callback)
        if any(parameter.annotation is Output for parameter in inspect.signature(of).parameters.values()):
            names.add((command.name or of.__name__).replace("_", "-"))
    return names


def test_every_command_either_has_tables_in_every_form_or_is_known_to_have_none() -> None:
    every = {(c.name or c.callback.__name__).replace("_", "-") for c in cli.app.registered_commands if c.callback}
    assert every - with_tables() == NO_TABLE | BY_DOCUMENT
    assert set(CALLS) | {"demo"} == with_tables()  # tests/cli/test_cli.py has that of demo
    for source in Path(cli.__file__).parent.glob("*.py"):
        tree = ast.walk(ast.parse(source.read_text(encoding="utf-8")))
        if source.name not in ("_tables.py", "explain.py"):  # the table of explanations has colours
            assert not any(isinstance(node, ast.ImportFrom) and node.module == "rich.table" for node in tree)


# -- all commands --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents with everything, and a model of each kind with a named topic."""
    folder = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(5)
    with (folder / "all.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "id", "label", "group", "response"])
        for d in range(36):
            text = " ".join(rng.choice(THEMES[d % 3].split(), 8))
            writer.writerow([text, f"doc-{d}", ["water", "money", "sport"][d % 3], f"{LONG} {d % 12}", d % 3])
    roles = ["--id-column", "id"]
    fits = {
        "plain": ["fit", "-k", 5, "-n", 60, "--chains", 2],
        "labels": ["fit-labels", "--label-column", "label", "--sweeps", 3, "--burn-in", 2, "--thin", 1],
        "groups": ["fit-collections", "-k", 9, "-n", 6, "--burn-in", 2, "--thin", 1, "--group-column", "group"],
        "classes": ["fit-supervised", "-k", 3, "-n", 3, "--burn-in", 2, "--thin", 1, "--label-column", "label"],
    }
    for name, (command, *options) in fits.items():
        done = call([command, folder / "all.csv", "--out", folder / name, "--quiet", *roles, *options])
        assert done.exit_code == 0, done.output
    done = call(["fit-hmm", folder / "all.csv", "--out", folder / "states", "--quiet", "-n", 3])
    assert done.exit_code == 0, done.output
    for name in ("plain", "groups"):
        call(["name", folder / name, "1=space and other worlds"])
    return folder


def call(arguments: Sequence[object], width: int = 100) -> Result:
    return CliRunner(env={**PLAIN, "COLUMNS": str(width)}).invoke(cli.app, list(map(str, arguments)))


FIT = ["all.csv", "-n", 3, "--out", "OUT"]
CALLS: dict[str, list[Any]] = {
    "fit": [*FIT, "-k", 12],
    "fit-labels": [*FIT, "--label-column", "label", "--burn-in", 2, "--thin", 1],
    "fit-supervised": [*FIT, "--label-column", "label", "-k", 3, "--burn-in", 2, "--thin", 1],
    "fit-collections": [*FIT, "--group-column", "group", "-k", 9, "--burn-in", 2, "--thin", 1],
    "fit-hdp": FIT,
    "fit-hmm": ["all.csv", "-n", 3, "--out", "OUT", "--states", 3],
    "decode": ["states", "all.csv"],
    "resume": ["plain"],
    "topics": ["plain"],
    "evaluate": ["labels", "all.csv"],
    "predict": ["labels", "all.csv", "--probabilities"],
    "info": ["plain"],
    "prevalence": ["groups"],
    "search-topics": ["all.csv", "--topics", "2,3", "--sweeps", 4, "--chains", 2, "--quiet", "--keep", "search"],
    "compare": ["plain", "groups"],
    "diagnose": ["plain"],
    "docs": ["plain", "--topic", "space and other worlds"],
    "explain": ["labels", "all.csv", "--document", "doc-3"],
    "label-report": ["labels", "all.csv"],
    "region-sets": ["plain", "--method", "top", "--top", 3],
}
MORE = [["prevalence", "groups", "--trend"], ["diagnose", "plain", "--bootstrap", 2], ["evaluate", "plain"]]


@pytest.mark.parametrize("arguments", [[name, *given] for name, given in CALLS.items()] + MORE, ids=str)
def test_every_form(arguments: list[Any], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)

    def again(*more: object, width: int = 100) -> str:
        out = tmp_path / f"run-{len(list(tmp_path.iterdir()))}"
        result = call([out if argument == "OUT" else argument for argument in arguments] + list(more), width)
        assert result.exit_code == 0, result.output
        return result.stdout

    printed = again("--csv", "--parquet", tmp_path / "t.parquet")
    header, *rows = csv.reader(io.StringIO(printed))
    assert rows
    table = parquet.read_table(tmp_path / "t.parquet")
    assert table.column_names == header
    assert [["" if v is None else str(v) for v in row.values()] for row in table.to_pylist()] == rows
    document = json.loads(again("--json"), parse_constant=pytest.fail)  # no NaN, no Infinity
    assert document
    if arguments[0] == "predict":
        return  # prints csv
    shown = again(width=60)
    assert max((cell_width(line) for line in shown.splitlines() if line[:1] in "┏┃┡│└"), default=0) <= 60
    assert "…" not in shown


def test_only_a_file_is_written_unless_more_is_asked_for(folder: Path, tmp_path: Path) -> None:
    result = call(["topics", folder / "plain", "--parquet", tmp_path / "t.parquet"])
    assert (result.stdout, result.stderr) == ("", f"topicloom: the table is in {tmp_path / 't.parquet'}.\n")
    assert parquet.read_table(tmp_path / "t.parquet").column_names == ["topic", "name", "rank", "word", "probability"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--csv", "--json"], "--csv and --json both go to standard output; give one of them."),
        (["--parquet", "none/t.parquet"], "--parquet none/t.parquet: there is no folder none. Make it first."),
    ],
)
def test_what_cannot_be_printed_is_refused_at_once(options: list[str], message: str, tmp_path: Path) -> None:
    result = call(["fit", "no-such-file.txt", "--out", tmp_path / "x", *options])
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"topicloom: {message}\n")


def test_parquet_needs_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)
    result = call(["topics", "x", "--parquet", "t.parquet"])
    assert "--parquet needs pyarrow; install it with pip install 'topicloom[parquet]'." in result.stderr


# -- names ---------------------------------------------------------------------------------------------------------


def test_tables_show_names(folder: Path) -> None:
    named = "space and other worlds"
    for arguments in (["prevalence", "groups"], ["prevalence", "groups", "--trend"], ["topics", "plain"]):
        rows = list(
            csv.DictReader(io.StringIO(call([arguments[0], folder / arguments[1], *arguments[2:], "--csv"]).stdout))
        )
        assert {row["topic"]: row["name"] for row in rows}["1"] == named
        assert {row["name"] for row in rows} == {"", named}
        assert "space and" in call([arguments[0], folder / arguments[1], *arguments[2:]], 200).stdout
    diagnosis = call(["diagnose", folder / "plain"])
    assert named in diagnosis.stdout
    found = json.loads(call(["diagnose", folder / "plain", "--json"]).stdout)["topics"]
    assert [topic["name"] for topic in found][:2] == [None, named]
    assert topicloom.load(folder / "groups").prevalence()["name"].tolist()[:2] == ["", named]


# -- tables --------------------------------------------------------------------------------------------------------


def test_wide_tables_are_printed_in_blocks(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_tables, "table_width", lambda: 60)
    monkeypatch.setenv("COLUMNS", "60")
    columns = [("topic", True), ("words", False), *((f"collection {j}", True) for j in range(12))]
    rows = [[str(k), "river bank boats " * 3, *(f"{j}.{k} (1.1-22.2)" for j in range(12))] for k in range(100)]
    show_table("Shares", columns, rows)
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 60
    assert printed.count("┏") > 3
    assert printed.count("│    99 │") == printed.count("┏")  # each block begins with the topic
    assert all(f"{j}.{k} (1.1-22.2)" in printed for j in range(12) for k in (0, 50, 99))  # whole, on one line
    show_table(None, [("", False)], [["a\x1b[31mred\x07"]])
    assert "\x1b" not in capsys.readouterr().out


def test_values_of_every_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns = {"a": [1, "x", None], "b": np.array([0.5, np.nan, np.inf]), "c": [np.int64(3), np.str_("y"), None]}
    assert rows_of(columns)[0] == {"a": 1, "b": 0.5, "c": 3}
    assert columns_of(rows_of(columns))["c"] == [3, "y", None]
    write_parquet(tmp_path / "t.parquet", columns)
    assert parquet.read_table(tmp_path / "t.parquet")["a"].to_pylist() == ["1", "x", None]
    show_json({"rows": rows_of(columns), "at": (float("nan"),)})
    found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert [row["b"] for row in found["rows"]] == [0.5, None, None]
    assert found["at"] == [None]


def test_the_table_is_made_only_where_it_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    def never() -> Any:
        raise AssertionError

    made: Callable[[], dict[str, list[int]]] = lambda: {"a": [1]}  # noqa: E731
    Output().show(never, lambda: print("for a reader"), never)
    Output(csv=True).show(made, never, never)
    Output(json=True).show(never, never, lambda: 5)
    Output(json=True).show(made, never)
    assert capsys.readouterr().out == 'for a reader\na\n1\n5\n[\n  {\n    "a": 1\n  }\n]\n'
