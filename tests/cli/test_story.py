"""The story of a folder of speeches: its commands run, in order, on the folder that the page makes."""

import glob
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.project.test_docs import DOCS, blocks
from topicloom.cli import app

PAGE = DOCS / "tutorials" / "story-speeches.md"


def test_the_commands_of_the_story_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setenv("TOPICLOOM_CACHE", str(request.config.cache.mkdir("topicloom-docstrings")))
    monkeypatch.chdir(tmp_path)
    shown, said, n_commands = "", "", 0
    for block in blocks(PAGE):
        if block.language == "python":
            exec(compile(block.code, str(PAGE), "exec"), {})
        elif block.language == "sh":
            shown, said = "", ""
            for line in block.code.splitlines():
                words = shlex.split(line)
                assert words.pop(0) == "topicloom"
                done = CliRunner(env={"COLUMNS": "80", "FORCE_COLOR": None}).invoke(app, words, catch_exceptions=False)
                assert done.exit_code == 0, f"{line}: {done.output}"
                shown, said, n_commands = shown + done.stdout, said + done.stderr, n_commands + 1
        elif block.language == "text":  # figures differ with the versions of the packages; what is printed does not
            printed = shape(said) + shape(shown)
            assert all(line in printed for line in shape(block.code)), f"line {block.line} of the page: {said}{shown}"
    assert n_commands > 8
    assert glob.glob("*.html") == ["speeches.html"]


def shape(text: str) -> list[str]:
    """The first words of each line that begins with a word, which no figure changes."""
    return [found[0] for line in text.splitlines() if (found := re.match(r"(topicloom: )?[a-zA-Z_]+", line))]
