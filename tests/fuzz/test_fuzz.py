"""Some thousands of damaged inputs; ``make fuzz`` has as many as one asks for."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz.harness import targets
from topicloom.corpus.formats import FORMATS as FORMATS_OF_READ

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
ROOT = Path(__file__).parents[2]
DIRECTORIES = ("crafted", "directories", "values")
FORMATS = sorted(targets().keys() - set(DIRECTORIES))


def _python(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _fuzzed(cases: int, names: tuple[str, ...] | list[str]) -> dict[str, dict[str, int]]:
    """Counts of every target; the run itself ends with an error if one of them has a failure."""
    chosen = [word for name in names for word in ("--target", name)]
    lines = _python("tests.fuzz", "--jobs", "1", "--cases", str(cases), *chosen).splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("target"))
    columns = lines[at].split()[1:-1]
    rows = [line.split() for line in lines[at + 1 : at + 2 + len(names)]]
    return {name: dict(zip(columns, map(int, counts[:-1]), strict=True)) for name, *counts in rows}


def _assert_nothing_failed(found: dict[str, dict[str, int]], cases: int) -> None:
    every = found.pop("all")
    assert every["cases"] >= 0.99 * cases
    assert every["cases"] == every["clean"] + every["read"]
    assert [every[name] for name in ("other", "crash", "hang", "memory")] == [0, 0, 0, 0]


def test_files_of_every_format_are_refused_or_read_as_they_are() -> None:
    found = _fuzzed(8000, FORMATS)
    _assert_nothing_failed(found, 8000)
    assert sorted(found) == FORMATS
    others = {"10x", "h5ad"}  # HDF5 and Matrix Market: tests/corpus/test_cell_files.py has damaged ones
    assert {*FORMATS_OF_READ} - others | {"archives", "corpus_file", "headerless", "mallet_state", "vocabulary"} == set(
        FORMATS
    )
    for counts in found.values():  # both happen, or the target tests nothing
        assert counts["clean"] >= 0.1 * counts["cases"]
        assert counts["read"] >= 0.1 * counts["cases"]


def test_crafted_and_damaged_directories_are_refused() -> None:
    found = _fuzzed(4500, DIRECTORIES)
    _assert_nothing_failed(found, 4500)
    assert found["crafted"]["clean"] == found["crafted"]["cases"] == 1500
    assert found["values"]["read"] > 0


# -- the harness itself --------------------------------------------------------------------------------------------

EXPECTED = {
    "abort": "crash", "segfault": "crash", "exit": "crash", "hang": "hang", "foreign": "other", "wrong value": "other",
    "memory": "memory", "memory, told as input": "memory", "none": "clean",
}  # fmt: skip


@pytest.fixture(scope="module")
def broken() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_python("tests.fuzz.broken"))
    return found


@pytest.mark.parametrize("name", EXPECTED)
def test_the_harness_notices(name: str, broken: dict[str, Any]) -> None:
    tally = broken[name]
    counts = {what: tally[what] for what in ("clean", "read", "other", "crash", "hang", "memory")}
    assert counts == dict.fromkeys(counts, 0) | {"read": 4, EXPECTED[name]: 1}
    failures = tally["failures"]
    assert len(failures) == (name != "none")
    assert all(f"--target {name} --seed 2" in failure for failure in failures)


def test_crafted_directories_are_noticed_if_ranges_are_not_checked() -> None:
    tally = json.loads(_python("tests.fuzz.broken", "--unchecked"))["unchecked"]
    assert tally["other"] + tally["crash"] + tally["hang"] >= 20
    assert tally["clean"] > 0
