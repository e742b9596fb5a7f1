"""The examples run, stay short, and are all in their table."""

import ast
import re
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))
MOST_LINES = 40
# Packages that a script needs and topicloom does not.
NEEDS = {
    "cells_anndata": ("anndata", "the example needs the extra cells"),
    "dataframe_of_reviews": ("pandas", "the example needs pandas"),
}


@pytest.mark.parametrize("script", [pytest.param(path, id=path.stem) for path in SCRIPTS])
def test_an_example_runs_and_prints(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if script.stem in NEEDS:
        package, reason = NEEDS[script.stem]
        pytest.importorskip(package, reason=reason)
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out.strip()


def test_examples_are_short_and_say_what_they_show() -> None:
    assert len(SCRIPTS) >= 12
    for script in SCRIPTS:
        text = script.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= MOST_LINES, script.name
        assert ast.get_docstring(ast.parse(text)), f"{script.name} does not say what it shows"


def test_the_table_lists_every_example_and_what_it_needs() -> None:
    table = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| \[(\w+)\.py\]\(\1\.py\) \|[^|]*\|([^|]*)\|$", table, flags=re.MULTILINE))
    assert set(rows) == {script.stem for script in SCRIPTS}
    assert {name for name, needs in rows.items() if needs.strip()} == set(NEEDS)
