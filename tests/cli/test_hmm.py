"""Hidden Markov models from the command line: symbols and numbers in files, missing ones, states that are printed."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import topicloom
from tests.cli.invoking import Run
from topicloom import HMM

NAN = float("nan")
NUMBERS = [[0.1, 5.0], [0.3, 5.2], [NAN, 5.1], [4.0, 1.0], [4.2, NAN], [4.1, 0.8]] * 5


@pytest.fixture
def table(tmp_path: Path) -> Path:
    lines = [
        f"{'a' if t < 20 else 'b'},{x if x == x else 'NA'},{y if y == y else ''}" for t, (x, y) in enumerate(NUMBERS)
    ]
    (tmp_path / "t.csv").write_text("place,x,y\n" + "\n".join(lines) + "\n")
    return tmp_path / "t.csv"


def test_symbols(tmp_path: Path, run: Run) -> None:
    (tmp_path / "w.txt").write_text("a b b NA a\n\nb b a\n")
    done = run("fit-hmm", tmp_path / "w.txt", "-o", tmp_path / "m", "-n", 12, "--seed", 4, "-q", "--csv")
    assert done.exit_code == 0, done.output
    sequences = [["a", "b", "b", None, "a"], [], ["b", "b", "a"]]
    own = HMM(2, max_iter=12, random_state=4).fit(sequences)
    assert topicloom.load(tmp_path / "m").fingerprint_ == own.fingerprint_
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [float(row["emission_b"]) for row in rows] == pytest.approx(own.emission_[:, 1])
    found = run("decode", tmp_path / "m", tmp_path / "w.txt", "--csv")
    decoded = list(csv.DictReader(io.StringIO(found.stdout)))
    assert [int(row["state"]) for row in decoded] == np.concatenate(own.predict(sequences)).tolist()
    assert [row["sequence"] for row in decoded] == list("00000222")
    more = run("resume", tmp_path / "m", "-n", 20, "-q")
    assert more.exit_code == 0, more.output
    assert "long run" in run("resume", tmp_path / "m").stdout


def test_priors_and_starts(tmp_path: Path, run: Run) -> None:
    (tmp_path / "w.txt").write_text("a b b c a\nb b a\n")
    sequences = [["a", "b", "b", "c", "a"], ["b", "b", "a"]]
    fit = ["fit-hmm", tmp_path / "w.txt", "-n", 9, "-q", "--sampler", "blocked", "-o"]

    def same(name: str, options: list[Any], **given: Any) -> None:
        done = run(*fit, tmp_path / name, *options)
        assert done.exit_code == 0, done.output
        own = HMM(2, sampler="blocked", max_iter=9, random_state=0, **given).fit(sequences)
        assert topicloom.load(tmp_path / name).fingerprint_ == own.fingerprint_

    rows = [[0.9, 0.1], [0.2, 0.8]]
    (tmp_path / "start.json").write_text(json.dumps({"transition": rows}))
    same("one", ["--initial-prior", "1,0", "--transition-prior", "1,2;0,1", "--emission-prior", 0.5],
         initial_prior=[1, 0], transition_prior=[[1, 2], [0, 1]], emission_prior=0.5)  # fmt: skip
    same("two", ["--start", tmp_path / "start.json", "--start-runs", 3, "--fixed", "transition"],
         start={"n_runs": 3, "transition": rows}, fixed=["transition"])  # fmt: skip
    (tmp_path / "n.csv").write_text("x\n1\n2\n0\n7\n")
    done = run("fit-hmm", tmp_path / "n.csv", "--emission", "poisson", "--emission-prior", '{"shape": 2}', "-n", 5,
               "-q", "-o", tmp_path / "p")  # fmt: skip
    assert done.exit_code == 0, done.output
    own = HMM(2, emission="poisson", emission_prior={"shape": 2}, max_iter=5, random_state=0).fit(
        [[1.0], [2], [0], [7]], [4]
    )
    assert topicloom.load(tmp_path / "p").fingerprint_ == own.fingerprint_


def test_characters(tmp_path: Path, run: Run) -> None:
    (tmp_path / "c.txt").write_text("0110\n01?0\n")
    done = run("fit-hmm", tmp_path / "c.txt", "-o", tmp_path / "m", "-n", 5, "-q", "--characters", "--missing", "?")
    assert done.exit_code == 0, done.output
    assert topicloom.load(tmp_path / "m").alphabet_ == ("0", "1")


def test_numbers(tmp_path: Path, table: Path, document: Callable[..., Any], run: Run) -> None:
    fit = ["fit-hmm", table, "--emission", "gaussian", "--sequence-column", "place", "-n", 15, "-q"]
    found = document(*fit, "-o", tmp_path / "m")
    own = HMM(2, emission="gaussian", max_iter=15, random_state=0).fit(NUMBERS, [20, 10])
    assert found["means"] == own.means_.tolist()
    assert found["fingerprint"] == own.fingerprint_
    rows = document("decode", tmp_path / "m", table, "--sequence-column", "place", "--method", "posterior")
    states = own.decode(NUMBERS, "posterior", lengths=[20, 10])[1]
    assert [row["state"] for row in rows] == states.tolist()
    assert json.loads(json.dumps(rows))[0]["place"] == 0
    assert "log probability" in run("decode", tmp_path / "m", table, "--sequence-column", "place").stdout


def test_what_cannot_be_read_is_refused(tmp_path: Path, table: Path, refused: Callable[..., str]) -> None:
    out = ["--out", tmp_path / "m"]
    (tmp_path / "none.txt").write_text("")
    assert refused("fit-hmm", tmp_path / "none.txt", *out).endswith("is empty; give a sequence per line.")
    assert refused("fit-hmm", table, *out, "--states", 0) == "--states 0 must be a whole number of at least 1."
    assert "--sequence-column is for tables" in refused("fit-hmm", table, *out, "--sequence-column", "place")
    gaussian = ["fit-hmm", table, *out, "--emission", "gaussian"]
    assert "line 2: 'a' is not a number" in refused(*gaussian)
    assert "has no column 'who'; it has place, x, y." in refused(*gaussian, "--sequence-column", "who")
    assert "--characters is for symbols" in refused(*gaussian, "--characters")
    symbols = ["fit-hmm", table, *out]
    assert refused(*symbols, "--start-runs", 0) == "--start-runs 0 must be a whole number of at least 1."
    assert "expected numbers, with commas between them" in refused(*symbols, "--initial-prior", "1,x")
    assert "this is not JSON (" in refused(*symbols, "--start", '{"initial": ')
    assert "expected values by name" in refused(*symbols, "--start", "[1, 2]")
    assert "--initial-prior has shape (3,)" in refused(*symbols, "--initial-prior", "1,2,3")
    assert "--fixed ['moves'] must be None or a list of" in refused(*symbols, "--fixed", "moves")
    table.write_text("place,x\na,1\nb,2\na,3\n")
    assert "sequence 'a' goes on after another" in refused(*gaussian, "--sequence-column", "place")
    table.write_text("place,x\na\n")
    assert "line 2: 1 entry, expected 2." in refused(*gaussian)
    assert not (tmp_path / "m").exists()
