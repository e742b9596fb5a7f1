"""``topicloom search-topics``."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.invoking import Run

OPTIONS = ["--sweeps", "20", "--chains", "2", "--stop-words", "english", "--alpha", "0.1", "--beta", "0.1"]


def test_table_and_verdict(run: Run, files: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib").use("agg")
    out, picture = tmp_path / "found.json", tmp_path / "found.png"
    result = run("search-topics", files / "texts.txt", "-k", "2,3,6", *OPTIONS, "--out", out, "--plot", picture)
    assert result.exit_code == 0, result.output
    assert "recommended" in result.stdout
    assert "Recommended: " in result.stderr
    assert "at most 6 fits" in result.stderr
    assert 3 in json.loads(out.read_text())["cannot_tell_apart"]
    assert picture.stat().st_size > 1000


def test_json_csv_and_going_on(run: Run, document: Callable[..., Any], files: Path, tmp_path: Path) -> None:
    command = [
        "search-topics",
        files / "texts.txt",
        "--topics",
        "3,2",
        *OPTIONS,
        "--keep",
        tmp_path / "kept",
        "--quiet",
    ]
    found = document(*command)
    assert [row["n_topics"] for row in found["rows"]] == [2, 3]
    assert len(list((tmp_path / "kept").iterdir())) == 4
    assert document(*command, "--jobs", "1") == found
    table = list(csv.DictReader(io.StringIO(run(*command, "--csv").stdout)))
    assert float(table[1]["completion"]) == found["rows"][1]["completion"]


def test_what_cannot_be_searched_is_refused_in_one_line(refused: Callable[..., str], files: Path) -> None:
    texts = files / "texts.txt"
    assert refused("search-topics", texts, "-k", "5,x").startswith("--topics 5,x: expected whole numbers")
    assert refused("search-topics", texts, "-k", "0").startswith("--topics[0]=0 must be a whole number")
    assert refused("search-topics", texts, "-k", "5", "--test-share", "2").startswith("--test-share 2.0 must be")
    assert refused("search-topics", texts, "-k", "5", "--folds", "0").startswith("--folds 0 must be a whole number")
