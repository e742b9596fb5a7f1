"""A variational run that is killed and then resumed ends in the same bits as one that was left alone."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from safetensors import safe_open

import topicloom
from tests.helpers.saved import file_of
from topicloom import VariationalLDA
from topicloom.corpus import formats
from topicloom.files.arrays import read_arrays

ITERATIONS = 400
PARAMS = {"n_components": 12, "max_iter": ITERATIONS, "tol": 0.0, "random_state": 7, "batch_size": 50}
FIT = ["-k", "12", "-n", str(ITERATIONS), "--tol", "0", "--seed", "7", "--batch-size", "50", "--quiet"]
TOPICLOOM = "from topicloom.cli import main; main()"

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")


def iterations_done(directory: Path) -> int:
    path = directory / "chain-0.safetensors"
    if not path.exists():
        return 0
    with safe_open(path, framework="numpy") as file:
        return int(json.loads(file.metadata()["info"])["sweep"])


@pytest.mark.parametrize("mode", ["cvb0", "cvb", "vb", "scvb0"])
def test_killed_and_resumed(mode: str, tmp_path: Path) -> None:
    made = topicloom.datasets.synthetic_lda(n_docs=200, n_words=300, n_topics=12, doc_length=40, seed=5)
    formats.write(made.corpus, tmp_path / "made.npz")
    corpus = topicloom.read(tmp_path / "made.npz")
    VariationalLDA(**PARAMS, method=mode, checkpoint_dir=tmp_path / "straight").fit(corpus)
    out = tmp_path / "killed"
    command = ["fit", tmp_path / "made.npz", "--out", out, "--method", mode, "--checkpoint-every", "2", *FIT]
    process = subprocess.Popen([sys.executable, "-c", TOPICLOOM, *map(str, command)])
    deadline = time.monotonic() + 120
    while iterations_done(out) < 30:
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < deadline, "the run makes no progress"
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=30)
    assert json.loads((out / "manifest.json").read_text())["status"] == "running"
    assert 30 <= iterations_done(out) < ITERATIONS
    topicloom.resume(out, n_jobs=2)
    for role in ("chain-0", "model"):
        found, expected = (content(file_of(folder, role)) for folder in (out, tmp_path / "straight"))
        assert found == expected


def content(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """All bits of a file, and its info; a fit by command also says how its documents were read."""
    arrays, info, _ = read_arrays(path)
    said = {name: value for name, value in info.items() if name not in ("run", "reading")}
    return {name: (a.dtype.str, a.shape, a.tobytes()) for name, a in arrays.items()}, said
