"""Files, a model, and ways to call a command."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import topicloom
from tests.cli.invoking import PLAIN, THEMES, Run
from topicloom.cli import app
from topicloom.corpus import formats


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts of three themes, some held out (with unknown words), and the same as counts."""
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(3)

    def text(d: int, length: int) -> str:
        words = THEMES[d % 3].split() + ["bank"] * (d % 3 < 2)
        return " ".join(rng.choice(words, length))

    (folder / "texts.txt").write_text("".join(text(d, 20) + " The\n" for d in range(60)))
    with (folder / "new.jsonl").open("w") as file:
        for d in range(6):
            file.write(json.dumps({"name": f"doc-{d}", "body": text(d, 12) + " zebra" * 3}) + "\n")
        file.write(json.dumps({"name": "strange", "body": "zebra zebra"}) + "\n")
    corpus = topicloom.from_texts([THEMES[d % 3] for d in range(5)])
    formats.write(corpus, folder / "counts.uci")
    return folder


@pytest.fixture(scope="module")
def model(files: Path) -> Path:
    args = ["fit", files / "texts.txt", "--out", files / "model", "-k", "3", "-n", "60", "--stop-words", "english"]
    result = CliRunner().invoke(app, list(map(str, args)))
    assert result.exit_code == 0, result.output
    return files / "model"


@pytest.fixture
def run() -> Run:
    def call(*arguments: object) -> Result:
        return CliRunner(env=PLAIN).invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)

    return call


@pytest.fixture
def document(run: Run) -> Callable[..., Any]:
    """What a command prints with --json: exactly one document on standard output."""

    def call(*arguments: object) -> Any:
        result = run(*arguments, "--json")
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    return call


@pytest.fixture
def refused(run: Run) -> Callable[..., str]:
    """The one line that a refused command prints."""

    def call(*arguments: object) -> str:
        result = run(*arguments)
        assert result.exit_code == 2
        assert result.stdout == ""
        lines = [line for line in result.stderr.splitlines() if not line.startswith("topicloom: read ")]
        assert len(lines) == 1, result.stderr
        assert lines[0].startswith("topicloom: ")
        return lines[0].removeprefix("topicloom: ")

    return call
