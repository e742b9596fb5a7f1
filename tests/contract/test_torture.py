"""A few random kills of every kind of model; ``make torture`` has hundreds."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("seed", [1, 2])
def test_kills_leave_whole_models(seed: int) -> None:
    models = {1: ["LDA", "LabeledLDA", "HMM"], 2: ["LDA cvb0", "MedLDAClassifier", "CompoundLDA"]}[seed]
    command = ["-m", "tests.torture", "--kills", "18", "--seed", str(seed), "--reading", "0.5" if seed == 1 else "0"]
    done = subprocess.run(
        [sys.executable, *command, "--models", *models], cwd=ROOT, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "18 kills" in done.stdout
    assert done.stdout.count(" 0 mixed") == (3 if seed == 1 else 0)
