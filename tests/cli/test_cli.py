"""The command line as a whole: help, its page, and commands that compile or show."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import topicloom
from tests.cli.invoking import PLAIN, Run
from topicloom.cli import app
from topicloom.corpus.corpus import Corpus

COMMANDS = [str(command.callback.__name__).replace("_", "-") for command in app.registered_commands if command.callback]


# -- the command itself ------------------------------------------------------------------------------------------


def test_help_lists_every_command_and_imports_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['topicloom', '--help']\n"
        "from topicloom.cli import main\n"
        "try: main()\n"
        "except SystemExit: print([m for m in ('numpy', 'numba', 'scipy', 'sklearn') if m in sys.modules])"
    )
    plain = {name: value for name, value in os.environ.items() if name not in PLAIN}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=plain)
    for name in COMMANDS:
        assert f" {name} " in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


def test_version(run: Run) -> None:
    assert run("--version").stdout == f"topicloom {topicloom.__version__}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(run: Run, command: str) -> None:
    result = run(command, "--help")
    assert result.exit_code == 0
    assert "Usage: " in result.stdout


def test_the_page_on_the_command_line_shows_the_help_of_every_command_and_invents_no_option(run: Run) -> None:
    page = (Path(__file__).parents[2] / "docs" / "guide" / "command-line.md").read_text(encoding="utf-8")
    page = page.replace(" \\\n", "")  # lines of commands that go on
    assert sorted(re.findall(r"^```\{command-help\} ([a-z-]+)$", page, re.MULTILINE)) == sorted(COMMANDS)
    existing = set()
    for command in COMMANDS:
        shown = re.sub(r"\x1b\[[\d;]*m", "", run(command, "--help").stdout)  # colours, where they are forced
        options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", shown))
        existing |= options
        lines = re.findall(rf"^topicloom {command}(?![\w-]).*$", page, re.MULTILINE)
        assert lines or command == "warmup", f"the page has no example of {command}"
        for line in lines:
            assert set(re.findall(r"--[a-z][a-z-]+", line)) <= options, line
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", page)) <= existing


def test_an_unknown_option_is_an_error_of_usage(run: Run, files: Path) -> None:
    result = run("fit", files / "texts.txt", "--out", files / "x", "--topic-count", "3")
    assert result.exit_code == 2
    assert "--topic-count" in result.stderr


# -- the rest ----------------------------------------------------------------------------------------------------


def test_warmup(run: Run, document: Callable[..., Any]) -> None:
    found = document("warmup")
    assert found["seconds"] > sum(part["seconds"] for part in found["parts"].values()) > 0
    assert "dense" in found["samplers"]
    assert sum(part["compiled"] for part in found["parts"].values()) == len(found["kernels"])
    assert found["files"] > 100
    assert found["bytes"] > 1e6
    assert Path(found["folder"]).is_dir()
    result = run("warmup")
    assert (
        result.stderr
        == "topicloom: compiling all samplers and measures: up to some minutes, less if some is there already.\n"
    )
    *parts, ready, where = result.stdout.splitlines()
    assert [line.partition(":")[0] for line in parts] == [*found["parts"]]
    assert all(line.endswith(" functions compiled") for line in parts)
    assert ready.startswith("ready in ")
    assert where.startswith(f"Compiled code is in {found['folder']}: {found['files']} files, ")


def test_demo(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """On a small corpus in the place of the docstrings, which take some seconds to read."""
    made = topicloom.datasets.synthetic_lda(n_docs=120, n_words=60, n_topics=4, doc_length=40, seed=1).corpus
    corpus = made.with_metadata(groups=["left", "right"] * 60)

    def docstrings() -> Corpus:
        return corpus

    monkeypatch.setattr(topicloom.datasets, "docstrings", docstrings)
    monkeypatch.chdir(tmp_path)
    result = run("demo", "--topics", 4, "--sweeps", 60, "--json")
    found = json.loads(result.stdout)
    assert found["page"] == (tmp_path / "topicloom-demo.html").as_uri()
    assert (found["documents"], found["held_out"], found["words"]) == (108, 12, 60)
    shares = [topic["share"] for topic in found["topics"]]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1.0)
    assert {topic["package"] for topic in found["topics"]} <= {"left", "right"}
    scores = {(row["phi"], row["theta"]): row["perplexity"] for row in found["perplexity"]}
    assert len(scores) == 4
    assert all(1 < value < 60 for value in scores.values())
    shown = run("demo", "--topics", 4, "--sweeps", 60, "--page", "own.html").stdout
    assert (tmp_path / "own.html").as_uri() in shown
    assert (tmp_path / "own.html").read_text(encoding="utf-8").lower().startswith("<!doctype html>")
    for value in scores.values():
        assert f"{value:.1f}" in shown
    lower = "CGS_p" if scores["cgs_p", "cgs_p"] < scores["standard", "standard"] else "standard"
    assert f"{lower} is lower by" in shown
