"""``topicloom diagnose``: the verdict, and with ``--bootstrap`` which topics other samples of documents have."""

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import topicloom
from tests.cli.invoking import Run
from tests.helpers.markup import seen
from topicloom.diagnostics import bootstrap_stability


def test_topics_that_other_samples_have(run: Run, document: Callable[..., Any], model: Path, tmp_path: Path) -> None:
    result = run("diagnose", model, "--bootstrap", 3, "--discard", 10, "--html", tmp_path / "page.html")
    assert result.exit_code == 0
    expected = bootstrap_stability(topicloom.load(model), n_samples=3)
    assert str(expected) in result.stdout
    assert "Topics by the share of 3 samples of documents that have them" in result.stdout
    assert "the first of 3 fits took" in result.stderr
    assert str(expected) in seen((tmp_path / "page.html").read_text(encoding="utf-8"))
    found = document("diagnose", model, "--bootstrap", 3, "--discard", 10, "--jobs", 1)
    assert found["bootstrap"] == expected.to_dict()
    assert "bootstrap" not in document("diagnose", model, "--discard", 10)


def test_the_table_as_csv(run: Run, model: Path) -> None:
    result = run("diagnose", model, "--bootstrap", 2, "--discard", 10, "--csv")
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [row["topic"] for row in rows] == ["0", "1", "2"]
    assert set(rows[0]) == {"topic", "share", "lower", "upper", "similarity", "kind", "name", "words"}


@pytest.mark.parametrize("n", [1, -3])
def test_too_few_samples_are_refused(refused: Callable[..., str], model: Path, n: int) -> None:
    assert (
        refused("diagnose", model, "--bootstrap", n)
        == f"--bootstrap {n}: at least 2 samples are needed, for instance 20."
    )
